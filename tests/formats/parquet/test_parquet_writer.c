#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/parquet/writer.h"
#include "tests/support/parquet_reading.h"
#include "tests/environment/random.h"

enum { PLAIN = 0, DELTA = 5, DICTIONARY = 8 };

struct file {
	FILE *f;
	char *bytes;
	size_t size;
	struct ws_parquet_writer *w;
	struct ws_err err;
};

static void begin(struct file *f, const struct ws_parquet_column *columns, size_t n,
                  uint32_t group_rows)
{
	struct ws_parquet_opts opts = {group_rows};

	f->f = open_memstream(&f->bytes, &f->size);
	f->w = ws_parquet_writer_new(f->f, columns, n, &opts);
}

static void end_row(struct file *f)
{
	ws_parquet_end_row(f->w);
}

static struct pq_file *finish(struct file *f)
{
	struct pq_file *read;

	cr_assert(ws_parquet_finish(f->w, &f->err) == WS_OK, "%s", f->err.text);
	ws_parquet_writer_free(f->w);
	fclose(f->f);
	read = pq_read(f->bytes, f->size);
	free(f->bytes);
	return read;
}

/* A column of one type with these values reads back equal; its encoding. */
static int round_trip(enum ws_parquet_type type, const uint64_t *v, size_t n, uint32_t group_rows)
{
	struct ws_parquet_column column = {"v", type, 0};
	struct pq_file *read;
	struct file f;
	int encoding;

	begin(&f, &column, 1, group_rows);
	for (size_t i = 0; i < n; i++) {
		double real;

		memcpy(&real, &v[i], sizeof(real));
		if (type == WS_PARQUET_F64)
			ws_parquet_f64(f.w, real);
		else if (type == WS_PARQUET_U64)
			ws_parquet_u64(f.w, v[i]);
		else
			ws_parquet_i64(f.w, (int64_t)v[i]);
		end_row(&f);
	}
	read = finish(&f);
	cr_assert(eq(sz, read->rows, n));
	for (size_t i = 0; i < n; i++)
		cr_assert(eq(u64, read->columns[0].cells[i].v, v[i]), "row %zu", i);
	encoding = n ? read->columns[0].chunks[0].encoding : -1;
	pq_free(read);
	return encoding;
}

Test(parquet_writer, a_file_of_all_types_reads_back)
{
	static const struct ws_parquet_column columns[] = {
	        {"i", WS_PARQUET_I64, 0},
	        {"u", WS_PARQUET_U64, 0},
	        {"f", WS_PARQUET_F64, 1},
	        {"t", WS_PARQUET_TEXT, 1},
	};
	struct pq_file *read;
	struct file f;
	double real;

	begin(&f, columns, 4, 0);
	ws_parquet_meta(f.w, "warpsheet.trace_hash", "0123456789abcdef");
	ws_parquet_meta(f.w, "unit.i", "ns");
	ws_parquet_i64(f.w, -1);
	ws_parquet_u64(f.w, UINT64_MAX);
	ws_parquet_f64(f.w, 0.1);
	ws_parquet_str(f.w, "gemm");
	end_row(&f);
	ws_parquet_i64(f.w, 7);
	ws_parquet_u64(f.w, 0);
	ws_parquet_null(f.w);
	ws_parquet_null(f.w);
	end_row(&f);
	ws_parquet_i64(f.w, 7);
	ws_parquet_u64(f.w, 1);
	ws_parquet_f64(f.w, -2);
	ws_parquet_text(f.w, "", 0);
	end_row(&f);
	read = finish(&f);

	cr_assert(eq(sz, read->rows, 3));
	cr_assert(eq(sz, read->ngroups, 1));
	cr_assert(eq(int, pq_column(read, "i")->is_unsigned, 0));
	cr_assert(eq(int, pq_column(read, "u")->is_unsigned, 1));
	cr_assert(pq_column(read, "t")->is_text && pq_column(read, "t")->optional);
	cr_assert(eq(int, pq_column(read, "i")->optional, 0));
	cr_assert(eq(i64, pq_int(read, 0, "i"), -1));
	cr_assert(eq(u64, pq_cell(read, 0, "u")->v, UINT64_MAX));
	memcpy(&real, &pq_cell(read, 0, "f")->v, sizeof(real));
	cr_assert(real == 0.1);
	cr_assert_str_eq(pq_str(read, 0, "t"), "gemm");
	cr_assert(pq_cell(read, 1, "f")->is_null && pq_cell(read, 1, "t")->is_null);
	cr_assert_str_eq(pq_str(read, 2, "t"), "");
	cr_assert_str_eq(pq_meta(read, "warpsheet.trace_hash"), "0123456789abcdef");
	cr_assert_str_eq(pq_meta(read, "unit.i"), "ns");
	cr_assert_str_eq(read->created_by, "warpsheet version " WS_VERSION);
	pq_free(read);
}

Test(parquet_writer, the_bytes_of_columns_are_those_of_the_specification)
{
	static const struct ws_parquet_column columns[] = {{"i", WS_PARQUET_I64, 1},
	                                                   {"t", WS_PARQUET_TEXT, 0}};
	/* Encodings.md, DELTA_BINARY_PACKED: 7 5 3 1 2 3 4 5 has deltas -2 -2 -2 1 1 1 1, least
	 * -2, stored 0 0 0 3 3 3 3 in 2 bits; its header is block size 128, 4 miniblocks, 8
	 * values, first 7. Before it stand the levels: a run of 8 times 1. */
	static const int64_t v[] = {7, 5, 3, 1, 2, 3, 4, 5};
	static const uint8_t integers[] = {16, 1, 0x80, 0x01, 0x04, 0x08, 0x0e, 0x03, 2, 0,
	                                   0,  0, 0xc0, 0x3f, 0,    0,    0,    0,    0, 0};
	/* Encodings.md, bit packing: 0 to 7 in 3 bits is 88 c6 fa. Before it stand the width, and
	 * one group of packed numbers. */
	static const uint8_t places[] = {3, 3, 0x88, 0xc6, 0xfa};
	struct file f;

	begin(&f, columns, 2, 0);
	for (int i = 0; i < 8; i++) {
		ws_parquet_i64(f.w, v[i]);
		ws_parquet_text(f.w, &"abcdefgh"[i], 1);
		end_row(&f);
	}
	cr_assert(eq(int, ws_parquet_finish(f.w, &f.err), WS_OK));
	ws_parquet_writer_free(f.w);
	fclose(f.f);
	cr_assert(memmem(f.bytes, f.size, integers, sizeof(integers)) != NULL);
	cr_assert(memmem(f.bytes, f.size, places, sizeof(places)) != NULL);
	free(f.bytes);
}

Test(parquet_writer, the_smallest_and_largest_integers_survive_next_to_each_other)
{
	static const uint64_t v[] = {1ull << 63, INT64_MAX, 1ull << 63, 0,
	                             UINT64_MAX, INT64_MAX, 1};

	cr_assert(eq(int, round_trip(WS_PARQUET_I64, v, 7, 0), DELTA));
	cr_assert(eq(int, round_trip(WS_PARQUET_U64, v, 7, 0), DELTA));
}

Test(parquet_writer, every_count_around_the_borders_of_blocks_reads_back)
{
	uint64_t v[700];

	for (size_t i = 0; i < 700; i++)
		v[i] = i * i * 1000003 - (i % 7) * 5000;
	for (size_t n = 0; n < 300; n++)
		round_trip(WS_PARQUET_I64, v, n, 0);
	/* row groups smaller, equal and larger than the file */
	for (uint32_t group = 1; group < 700; group += 59)
		round_trip(WS_PARQUET_I64, v, 700, group);
	round_trip(WS_PARQUET_I64, v, 700, 700);
	round_trip(WS_PARQUET_I64, v, 700, 350);
}

Test(parquet_writer, integers_get_the_encoding_that_is_smaller)
{
	uint64_t v[2000], x = 1;

	for (size_t i = 0; i < 2000; i++)
		v[i] = 1000000 + i * 32;
	cr_assert(eq(int, round_trip(WS_PARQUET_I64, v, 2000, 0), DELTA));
	/* five far values in no order */
	for (size_t i = 0; i < 2000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		v[i] = (x >> 60) % 5 * 1000000007u;
	}
	cr_assert(eq(int, round_trip(WS_PARQUET_U64, v, 2000, 0), DICTIONARY));
	/* more distinct ones than a dictionary takes, and widths of all sizes */
	for (size_t i = 0; i < 2000; i++)
		v[i] = (i % 3 ? i : ~i) << i % 64;
	cr_assert(eq(int, round_trip(WS_PARQUET_U64, v, 2000, 0), DELTA));
}

Test(parquet_writer, runs_and_groups_mix_in_every_alignment)
{
	for (size_t lead = 0; lead < 20; lead++)
		for (size_t run = 1; run < 40; run++) {
			uint64_t v[200];
			size_t n = 0;

			while (n < lead)
				v[n] = (n % 3) << 40, n++;
			for (size_t i = 0; i < run; i++)
				v[n++] = 7ull << 50;
			for (size_t i = 0; i < 9; i++)
				v[n++] = (i % 2) << 40;
			round_trip(WS_PARQUET_U64, v, n, 0);
		}
}

Test(parquet_writer, a_dictionary_may_have_the_most_values_and_no_more)
{
	static uint64_t v[4 * (WS_PARQUET_MAX_DICT + 1)];
	const size_t all = sizeof(v) / sizeof(v[0]);

	for (size_t i = 0; i < all; i++)
		v[i] = (i * 2654435761u) % WS_PARQUET_MAX_DICT << 44;
	cr_assert(eq(int, round_trip(WS_PARQUET_U64, v, all, 0), DICTIONARY));
	v[5] = 1;
	cr_assert(eq(int, round_trip(WS_PARQUET_U64, v, all, 0), DELTA));
}

Test(parquet_writer, reals_keep_all_their_bits)
{
	double v[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 0.1, 1e-310, 1.7976931348623157e308};
	uint64_t bits[8];

	memcpy(bits, v, sizeof(bits));
	cr_assert(eq(int, round_trip(WS_PARQUET_F64, bits, 8, 3), PLAIN));
}

Test(parquet_writer, an_empty_table_has_columns_and_no_rows)
{
	static const struct ws_parquet_column columns[] = {{"a", WS_PARQUET_I64, 0},
	                                                   {"b", WS_PARQUET_TEXT, 1}};
	struct pq_file *read;
	struct file f;

	begin(&f, columns, 2, 0);
	read = finish(&f);
	cr_assert(eq(sz, read->rows, 0));
	cr_assert(eq(sz, read->ngroups, 0));
	cr_assert(eq(sz, read->ncolumns, 2));
	cr_assert(eq(sz, read->nmeta, 0));
	pq_free(read);
}

Test(parquet_writer, columns_of_nulls_only_read_back)
{
	static const struct ws_parquet_column columns[] = {{"i", WS_PARQUET_I64, 1},
	                                                   {"f", WS_PARQUET_F64, 1},
	                                                   {"t", WS_PARQUET_TEXT, 1}};
	struct pq_file *read;
	struct file f;

	begin(&f, columns, 3, 64);
	for (size_t i = 0; i < 100; i++) {
		ws_parquet_null(f.w);
		ws_parquet_null(f.w);
		ws_parquet_null(f.w);
		end_row(&f);
	}
	read = finish(&f);
	cr_assert(eq(sz, read->ngroups, 2));
	for (size_t i = 0; i < 3; i++) {
		cr_assert(eq(i64, read->columns[i].chunks[0].null_count, 64));
		cr_assert(eq(i64, read->columns[i].chunks[1].null_count, 36));
		cr_assert(eq(int, read->columns[i].chunks[0].has_extremes, 0));
		for (size_t r = 0; r < 100; r++)
			cr_assert(read->columns[i].cells[r].is_null);
	}
	pq_free(read);
}

Test(parquet_writer, nulls_between_values_keep_their_places)
{
	static const struct ws_parquet_column columns[] = {{"i", WS_PARQUET_I64, 1},
	                                                   {"t", WS_PARQUET_TEXT, 1}};
	struct pq_file *read;
	struct file f;

	begin(&f, columns, 2, 100);
	for (int64_t i = 0; i < 1000; i++) {
		int null = i % 3 == 0 || (i > 300 && i < 400);

		if (null) {
			ws_parquet_null(f.w);
			ws_parquet_null(f.w);
		} else {
			ws_parquet_i64(f.w, i);
			ws_parquet_str(f.w, i % 2 ? "odd" : "even");
		}
		end_row(&f);
	}
	read = finish(&f);
	for (int64_t i = 0; i < 1000; i++) {
		int null = i % 3 == 0 || (i > 300 && i < 400);

		cr_assert(eq(int, pq_cell(read, (size_t)i, "i")->is_null, null));
		if (null)
			continue;
		cr_assert(eq(i64, pq_int(read, (size_t)i, "i"), i));
		cr_assert_str_eq(pq_str(read, (size_t)i, "t"), i % 2 ? "odd" : "even");
	}
	pq_free(read);
}

Test(parquet_writer, hostile_texts_become_utf8_and_nothing_else_changes)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
		size_t out_len;
	} cases[] = {
	        {"=cmd|' /C calc'!A0", 18, "=cmd|' /C calc'!A0", 18},
	        {"a\0b", 3, "a\0b", 3},
	        {"\r\n\t\x1b[31m", 8, "\r\n\t\x1b[31m", 8},
	        {"\xff", 1, "\xef\xbf\xbd", 3},
	        {"x\xc3", 2, "x\xef\xbf\xbd", 4},
	        {"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 9},
	        {"\xe2\x80\xae gpu", 7, "\xe2\x80\xae gpu", 7},
	        {"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80", 4},
	        {"", 0, "", 0},
	};
	struct ws_parquet_column column = {"t", WS_PARQUET_TEXT, 0};
	struct pq_file *read;
	struct file f;

	begin(&f, &column, 1, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ws_parquet_text(f.w, cases[i].in, cases[i].len);
		end_row(&f);
	}
	read = finish(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct pq_cell *c = pq_cell(read, i, "t");

		cr_assert(eq(sz, c->len, cases[i].out_len), "case %zu", i);
		cr_assert_arr_eq(c->text, cases[i].out, c->len, "case %zu", i);
	}
	pq_free(read);
}

Test(parquet_writer, statistics_are_the_extremes_in_the_order_of_the_type)
{
	static const struct ws_parquet_column columns[] = {{"i", WS_PARQUET_I64, 0},
	                                                   {"u", WS_PARQUET_U64, 0},
	                                                   {"f", WS_PARQUET_F64, 0},
	                                                   {"t", WS_PARQUET_TEXT, 0}};
	static const int64_t v[] = {-5, 3, INT64_MIN, 9};
	static const double reals[] = {0.0, 2.5, -0.0, 1};
	static const char *const texts[] = {"b", "\xc3\xa9", "ba", ""};
	const double zero = -0.0;
	struct pq_file *read;
	struct file f;

	begin(&f, columns, 4, 0);
	for (size_t i = 0; i < 4; i++) {
		ws_parquet_i64(f.w, v[i]);
		ws_parquet_u64(f.w, (uint64_t)v[i]);
		ws_parquet_f64(f.w, reals[i]);
		ws_parquet_str(f.w, texts[i]);
		end_row(&f);
	}
	read = finish(&f);
	cr_assert(eq(i64, (int64_t)pq_column(read, "i")->chunks[0].min.v, INT64_MIN));
	cr_assert(eq(i64, (int64_t)pq_column(read, "i")->chunks[0].max.v, 9));
	cr_assert(eq(u64, pq_column(read, "u")->chunks[0].min.v, 3));
	cr_assert(eq(u64, pq_column(read, "u")->chunks[0].max.v, (uint64_t)-5));
	cr_assert_arr_eq(&pq_column(read, "f")->chunks[0].min.v, &zero, sizeof(zero));
	cr_assert_str_eq(pq_column(read, "t")->chunks[0].min.text, "");
	cr_assert_str_eq(pq_column(read, "t")->chunks[0].max.text, "\xc3\xa9");
	pq_free(read);
}

Test(parquet_writer, a_nan_or_a_very_long_text_leaves_no_extremes)
{
	static const struct ws_parquet_column columns[] = {{"f", WS_PARQUET_F64, 0},
	                                                   {"t", WS_PARQUET_TEXT, 0}};
	static char text[WS_PARQUET_MAX_STAT_BYTES + 1];
	struct pq_file *read;
	struct file f;

	memset(text, 'x', sizeof(text));
	begin(&f, columns, 2, 1);
	ws_parquet_f64(f.w, NAN);
	ws_parquet_text(f.w, text, sizeof(text));
	end_row(&f);
	ws_parquet_f64(f.w, 1);
	ws_parquet_text(f.w, text, sizeof(text) - 1);
	end_row(&f);
	read = finish(&f);
	for (size_t i = 0; i < 2; i++) {
		cr_assert(eq(int, read->columns[i].chunks[0].has_extremes, 0));
		cr_assert(read->columns[i].chunks[1].has_extremes);
		cr_assert(eq(i64, read->columns[i].chunks[0].null_count, 0));
	}
	pq_free(read);
}

Test(parquet_writer, much_text_ends_a_row_group_before_its_rows_do)
{
	struct ws_parquet_column column = {"t", WS_PARQUET_TEXT, 0};
	const size_t size = 8 << 20, n = 10;
	char *text = calloc(1, size);
	struct pq_file *read;
	struct file f;

	begin(&f, &column, 1, 0);
	for (size_t i = 0; i < n; i++) {
		text[0] = (char)('a' + i);
		ws_parquet_text(f.w, text, size);
		end_row(&f);
	}
	read = finish(&f);
	cr_assert(eq(sz, read->ngroups, 2));
	cr_assert(eq(i64, read->columns[0].chunks[0].rows, 8));
	for (size_t i = 0; i < n; i++) {
		cr_assert(eq(sz, read->columns[0].cells[i].len, size));
		cr_assert(eq(chr, read->columns[0].cells[i].text[0], (char)('a' + i)));
	}
	pq_free(read);
	free(text);
}

/* A value that is like its neighbours in one of several ways. */
static uint64_t random_value(uint64_t *x, unsigned habit, size_t row)
{
	uint64_t r = random_u64(x);

	switch (habit % 5) {
	case 0:
		return row * 32 + r % 3;
	case 1:
		return (r % 5) << (r % 7 * 8);
	case 2:
		return row / 50 * 0x123456789abcdefu;
	case 3:
		return r >> r % 64;
	default:
		return 0 - r % 2;
	}
}

Test(parquet_writer, random_tables_read_back)
{
	uint64_t x = 88172645463325252u;

	for (unsigned round = 0; round < 150; round++) {
		static uint64_t v[3][2000];
		static uint8_t present[3][2000];
		static const char *const names[] = {"a", "b", "c"};
		struct ws_parquet_column columns[3];
		size_t rows = random_u64(&x) % 2000;
		struct pq_file *read;
		struct file f;

		for (size_t c = 0; c < 3; c++)
			columns[c] = (struct ws_parquet_column){names[c],
			                                        (enum ws_parquet_type)(
			                                                random_u64(&x) % 4),
			                                        random_u64(&x) % 2};
		begin(&f, columns, 3, 1 + random_u64(&x) % 1500);
		for (size_t i = 0; i < rows; i++) {
			for (size_t c = 0; c < 3; c++) {
				char text[24];
				double real;

				v[c][i] = random_value(&x, round + (unsigned)c, i);
				present[c][i] = !columns[c].optional || random_u64(&x) % 4;
				memcpy(&real, &v[c][i], sizeof(real));
				snprintf(text, sizeof(text), "%llu", (unsigned long long)v[c][i]);
				if (!present[c][i])
					ws_parquet_null(f.w);
				else if (columns[c].type == WS_PARQUET_I64)
					ws_parquet_i64(f.w, (int64_t)v[c][i]);
				else if (columns[c].type == WS_PARQUET_U64)
					ws_parquet_u64(f.w, v[c][i]);
				else if (columns[c].type == WS_PARQUET_F64)
					ws_parquet_f64(f.w, real);
				else
					ws_parquet_str(f.w, text);
			}
			end_row(&f);
		}
		read = finish(&f);
		cr_assert(eq(sz, read->rows, rows));
		for (size_t i = 0; i < rows; i++)
			for (size_t c = 0; c < 3; c++) {
				const struct pq_cell *cell = &read->columns[c].cells[i];

				cr_assert(eq(int, cell->is_null, !present[c][i]));
				if (cell->is_null)
					continue;
				if (cell->text)
					cr_assert(eq(u64, strtoull(cell->text, NULL, 10), v[c][i]));
				else
					cr_assert(eq(u64, cell->v, v[c][i]), "round %u", round);
			}
		pq_free(read);
	}
}

Test(parquet_writer, the_same_calls_make_the_same_bytes)
{
	static const struct ws_parquet_column columns[] = {{"i", WS_PARQUET_I64, 0},
	                                                   {"t", WS_PARQUET_TEXT, 1}};
	struct file f[2];

	for (size_t k = 0; k < 2; k++) {
		begin(&f[k], columns, 2, 100);
		for (int64_t i = 0; i < 1234; i++) {
			ws_parquet_i64(f[k].w, i * i % 977);
			ws_parquet_str(f[k].w, i % 5 ? "kernel" : "other");
			end_row(&f[k]);
		}
		cr_assert(eq(int, ws_parquet_finish(f[k].w, NULL), WS_OK));
		ws_parquet_writer_free(f[k].w);
		fclose(f[k].f);
	}
	cr_assert(eq(sz, f[0].size, f[1].size));
	cr_assert_arr_eq(f[0].bytes, f[1].bytes, f[0].size);
	free(f[0].bytes);
	free(f[1].bytes);
}

Test(parquet_writer, a_full_disk_is_told)
{
	struct ws_parquet_column column = {"i", WS_PARQUET_I64, 0};
	struct ws_parquet_writer *w;
	FILE *f = fopen("/dev/full", "w");
	struct ws_err err = {0};

	cr_assert(f != NULL);
	w = ws_parquet_writer_new(f, &column, 1, NULL);
	ws_parquet_i64(w, 1);
	ws_parquet_end_row(w);
	cr_assert(eq(int, ws_parquet_finish(w, &err), WS_IO_WRITE));
	cr_assert_not_null(strstr(err.text, "No space left"));
	ws_parquet_writer_free(w);
	fclose(f);
}
