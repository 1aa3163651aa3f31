#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "formats/base/bytes.h"
#include "formats/codec/block.h"
#include "tests/support/trace_sample.h"

static struct ws_trace_reader *open_sample(const struct ws_sample *s)
{
	struct ws_trace_reader *r;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_open_mem(&r, s->data, s->size, &err), WS_OK), "%s",
	          err.text);
	return r;
}

static struct ws_column_data load(const struct ws_trace_reader *r, enum ws_kind kind)
{
	struct ws_column_data t;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_load(r, kind, &t, &err), WS_OK), "%s", err.text);
	return t;
}

/* Offset of the directory entry of a column. */
static size_t entry(size_t block, unsigned position)
{
	return block + WS_BLOCK_HEADER_BYTES + position * WS_DIR_ENTRY_BYTES;
}

Test(trace_reader, a_closed_trace_gives_all_rows_of_every_kind)
{
	struct ws_sample s = ws_sample_make();
	struct ws_trace_reader *r = open_sample(&s);
	const struct ws_trace_summary *sum = ws_trace_reader_summary(r);

	cr_assert(eq(int, sum->closed, 1));
	cr_assert(eq(u64, sum->file_size, s.size));
	cr_assert(eq(u64, sum->file_hash, ws_checksum(s.data, s.size)));
	cr_assert(eq(i64, sum->base_ns, WS_SAMPLE_BASE_NS));
	cr_assert(eq(u16, sum->version_major, 2));
	cr_assert(eq(u64, sum->damaged_blocks, 0));
	cr_assert(eq(u64, sum->skipped_bytes, 0));
	cr_assert(eq(u64, sum->unknown_blocks, 0));
	/* two of them hold two kinds */
	cr_assert(eq(u64, sum->blocks + 2, ws_trace_reader_block_count(r)));
	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		if (ws_schema_kind(kind)) {
			struct ws_column_data t = load(r, kind);

			cr_assert(gt(u64, t.rows, 0), "%s", t.def->name);
			ws_column_data_release(&t);
		}
	ws_trace_reader_free(r);
	ws_trace_reader_free(NULL);
	ws_sample_free(&s);
}

Test(trace_reader, loaded_values_are_those_written_and_outlive_the_reader)
{
	struct ws_sample s = ws_sample_make();
	struct ws_trace_reader *r = open_sample(&s);
	struct ws_column_data kernels = load(r, WS_KIND_KERNEL), strings = load(r, WS_KIND_STRING);
	const struct ws_bytes *first = &strings.columns[WS_COL_string_text].b[0];

	ws_trace_reader_free(r);
	ws_sample_free(&s);
	cr_assert(eq(u64, kernels.rows, 20));
	for (uint64_t i = 0; i < 20; i++) {
		cr_assert(eq(i64, ws_column_i64(&kernels.columns[WS_COL_kernel_start_ns], i),
		             WS_SAMPLE_KERNEL_START_NS((int64_t)(i + 1))));
		cr_assert(eq(u64, kernels.columns[WS_COL_kernel_correlation].v[i], i + 1));
		cr_assert(eq(u64, kernels.columns[WS_COL_kernel_config].v[i], i % 2 + 1));
	}
	cr_assert(eq(sz, first->len, strlen("NVIDIA H100")));
	cr_assert_arr_eq(first->ptr, "NVIDIA H100", first->len);
	ws_column_data_release(&kernels);
	ws_column_data_release(&strings);
}

Test(trace_reader, a_decoded_block_has_the_columns_of_the_file)
{
	struct ws_sample s = ws_sample_make();
	struct ws_trace_reader *r = open_sample(&s);
	struct ws_block block;
	struct ws_err err;
	size_t i = 0;

	while (ws_trace_reader_block(r, i)->kind != WS_KIND_META)
		i++;
	cr_assert(eq(int, ws_trace_reader_decode(r, i, &block, &err), WS_OK));
	cr_assert(eq(u16, block.info.kind, WS_KIND_META));
	cr_assert(eq(u16, block.ncolumns, 2));
	cr_assert(eq(u16, block.columns[1].id, 2));
	cr_assert(eq(u8, block.columns[1].type, WS_TYPE_BLOB));
	cr_assert(eq(sz, block.columns[1].b[0].len, 6));
	cr_assert_arr_eq(block.columns[1].b[0].ptr, "/bin/x", 6);
	ws_block_release(&block);
	cr_assert(ws_trace_reader_block(r, ws_trace_reader_block_count(r)) == NULL);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

Test(trace_reader, names_come_from_the_file)
{
	struct ws_sample s = ws_sample_make();
	struct ws_trace_reader *r = open_sample(&s);

	cr_assert_str_eq(ws_trace_reader_kind_name(r, WS_KIND_NVTX), "nvtx");
	cr_assert(ws_trace_reader_kind_name(r, 999) == NULL);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

/* --- what is no trace --- */

static const char *open_error(const void *data, size_t size, enum ws_status expected)
{
	static struct ws_err err;
	struct ws_trace_reader *r;

	cr_assert(eq(int, ws_trace_reader_open_mem(&r, data, size, &err), expected));
	cr_assert(r == NULL);
	return err.text;
}

Test(trace_reader, what_is_no_trace_is_told_so)
{
	struct ws_sample s = ws_sample_make();

	cr_assert_str_eq(open_error(s.data, 0, WS_CORRUPT), "the file is empty");
	cr_assert_str_eq(open_error(s.data, 63, WS_CORRUPT),
	                 "the file has 63 bytes, fewer than the 64 of its header");
	cr_assert_str_eq(open_error("{\"traceEvents\": []}", 19, WS_CORRUPT),
	                 "not a Warpsheet trace: unrecognised file header");
	/* CR LF became LF */
	ws_sample_remove(&s, 4, 1);
	cr_assert_str_eq(open_error(s.data, s.size, WS_CORRUPT),
	                 "the file was changed by a transfer as text; copy it again as binary");
	ws_sample_free(&s);
}

Test(trace_reader, errors_of_files_name_the_file)
{
	struct ws_trace_reader *r;
	char path[] = "/tmp/ws_test_reader_XXXXXX";
	int fd = mkstemp(path);
	char expected[128];
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_open(&r, "/nonexistent", &err), WS_IO_READ));
	cr_assert_str_eq(err.text, "cannot open /nonexistent: No such file or directory");
	cr_assert(eq(int, ws_trace_reader_open(&r, "/tmp", &err), WS_IO_READ));
	cr_assert_str_eq(err.text, "cannot read /tmp: not a regular file");
	cr_assert(eq(int, ws_trace_reader_open(&r, path, &err), WS_CORRUPT));
	snprintf(expected, sizeof(expected), "%s: the file is empty", path);
	cr_assert_str_eq(err.text, expected);
	cr_assert(r == NULL);
	close(fd);
	unlink(path);
}

/* --- growth --- */

Test(trace_reader, a_newer_minor_version_and_optional_features_are_accepted)
{
	struct ws_sample s = ws_sample_make();
	struct ws_trace_reader *r;

	ws_sample_poke(&s, 10, 2, 9);
	ws_sample_poke(&s, 24, 8, 0xff);
	ws_sample_seal_header(&s);
	r = open_sample(&s);
	cr_assert(eq(u16, ws_trace_reader_summary(r)->version_minor, 9));
	cr_assert(eq(u64, ws_trace_reader_summary(r)->optional_features, 0xff));
	cr_assert(eq(int, ws_trace_reader_summary(r)->closed, 1));
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

Test(trace_reader, an_unknown_kind_is_counted_and_skipped)
{
	struct ws_sample s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_KERNEL, 0);
	struct ws_trace_reader *r;
	struct ws_column_data t;
	struct ws_block block;
	struct ws_err err;
	size_t i = 0;

	ws_sample_poke(&s, offset + 4, 2, 999);
	ws_sample_seal_block(&s, offset);
	r = open_sample(&s);
	cr_assert(eq(u64, ws_trace_reader_summary(r)->unknown_blocks, 1));
	t = load(r, WS_KIND_KERNEL);
	cr_assert(eq(u64, t.rows, 10)); /* of the other block */
	ws_column_data_release(&t);

	/* its columns can still be looked at */
	while (ws_trace_reader_block(r, i)->kind != 999)
		i++;
	cr_assert(eq(int, ws_trace_reader_decode(r, i, &block, &err), WS_OK));
	cr_assert(eq(u64, block.columns[WS_COL_kernel_correlation].v[0], 1));
	ws_block_release(&block);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

Test(trace_reader, a_column_this_program_does_not_know_is_skipped)
{
	struct ws_sample s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_KERNEL, 0);
	struct ws_trace_reader *r;
	struct ws_column_data t;

	/* flags of one block become an unknown column of unknown type and encoding */
	ws_sample_poke(&s, entry(offset, WS_COL_kernel_flags), 2, 77);
	ws_sample_poke(&s, entry(offset, WS_COL_kernel_flags) + 2, 1, 200);
	ws_sample_poke(&s, entry(offset, WS_COL_kernel_flags) + 3, 1, 201);
	ws_sample_seal_block(&s, offset);
	r = open_sample(&s);
	t = load(r, WS_KIND_KERNEL);
	cr_assert(eq(u64, t.rows, 20));
	cr_assert(eq(u8, t.columns[WS_COL_kernel_flags].present, 1)); /* the other block has it */
	for (uint64_t i = 0; i < 20; i++)
		cr_assert(eq(u64, t.columns[WS_COL_kernel_flags].v[i], 0));
	cr_assert(eq(u64, t.columns[WS_COL_kernel_correlation].v[0], 1));
	ws_column_data_release(&t);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

Test(trace_reader, rows_of_a_block_without_a_column_give_0_and_a_column_nowhere_is_absent)
{
	struct ws_sample s = ws_sample_make();
	size_t first = ws_sample_block(&s, WS_KIND_KERNEL, 0);
	size_t second = ws_sample_block(&s, WS_KIND_KERNEL, 1);
	struct ws_trace_reader *r;
	struct ws_column_data t;

	ws_sample_poke(&s, entry(first, WS_COL_kernel_config), 2, 77);
	ws_sample_poke(&s, entry(first, WS_COL_kernel_payload), 2, 78);
	ws_sample_poke(&s, entry(second, WS_COL_kernel_payload), 2, 78);
	ws_sample_seal_block(&s, first);
	ws_sample_seal_block(&s, second);
	r = open_sample(&s);
	t = load(r, WS_KIND_KERNEL);
	for (uint64_t i = 0; i < 10; i++) {
		cr_assert(eq(u64, t.columns[WS_COL_kernel_config].v[i], 0));
		cr_assert(eq(u64, t.columns[WS_COL_kernel_config].v[i + 10], i % 2 + 1));
	}
	cr_assert(eq(u8, t.columns[WS_COL_kernel_payload].present, 0));
	cr_assert(t.columns[WS_COL_kernel_payload].v == NULL);
	ws_column_data_release(&t);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

Test(trace_reader, blobs_that_a_block_lacks_are_empty)
{
	struct ws_sample s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_STRING, 1);
	struct ws_trace_reader *r;
	struct ws_column_data t;

	ws_sample_poke(&s, entry(offset, WS_COL_string_text), 2, 77);
	ws_sample_seal_block(&s, offset);
	r = open_sample(&s);
	t = load(r, WS_KIND_STRING);
	cr_assert(gt(sz, t.columns[WS_COL_string_text].b[0].len, 0));
	cr_assert(eq(sz, t.columns[WS_COL_string_text].b[t.rows - 1].len, 0));
	ws_column_data_release(&t);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

Test(trace_reader, an_unknown_encoding_is_an_error_only_where_the_column_is_needed)
{
	struct ws_sample s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_KERNEL, 0);
	struct ws_trace_reader *r;
	struct ws_column_data t;
	struct ws_block block;
	char expected[128];
	struct ws_err err;
	size_t i = 0;

	ws_sample_poke(&s, entry(offset, WS_COL_kernel_dur_ns) + 3, 1, 9);
	ws_sample_seal_block(&s, offset);
	r = open_sample(&s);
	cr_assert(eq(int, ws_trace_reader_load(r, WS_KIND_KERNEL, &t, &err), WS_TOO_NEW));
	snprintf(expected, sizeof(expected),
	         "kernel block at offset %zu, column 2 (dur_ns): its encoding 9 needs a newer "
	         "program",
	         offset);
	cr_assert_str_eq(err.text, expected);
	cr_assert(t.columns == NULL);
	while (ws_trace_reader_block(r, i)->offset != offset)
		i++;
	cr_assert(eq(int, ws_trace_reader_decode(r, i, &block, &err), WS_TOO_NEW));
	t = load(r, WS_KIND_API); /* another kind is not concerned */
	ws_column_data_release(&t);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

Test(trace_reader, a_dumped_block_shows_the_columns_it_can)
{
	struct ws_sample s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_KERNEL, 0);
	struct ws_trace_reader *r;
	struct ws_block block;
	struct ws_err err;
	size_t i = 0;

	ws_sample_poke(&s, entry(offset, 1), 2, 77);
	ws_sample_poke(&s, entry(offset, 1) + 3, 1, 3 << 6 | WS_ENCODING_DELTA); /* compression */
	ws_sample_seal_block(&s, offset);
	r = open_sample(&s);
	while (ws_trace_reader_block(r, i)->offset != offset)
		i++;
	cr_assert(eq(int, ws_trace_reader_decode(r, i, &block, &err), WS_OK));
	cr_assert(eq(u8, block.columns[1].present, 0));
	cr_assert(eq(u16, block.columns[1].id, 77));
	cr_assert(gt(u64, block.columns[1].stored_bytes, 0));
	cr_assert(eq(u8, block.columns[2].present, 1));
	ws_block_release(&block);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

/* --- damage --- */

/* Blocks of b are those of a without the one at this offset; shift moves those behind it. */
static void assert_all_but_one(const struct ws_trace_reader *a, const struct ws_trace_reader *b,
                               size_t without, ptrdiff_t shift)
{
	size_t k = 0;

	for (size_t i = 0; i < ws_trace_reader_block_count(a); i++) {
		const struct ws_block_info *x = ws_trace_reader_block(a, i), *y;

		if (x->offset == without)
			continue;
		y = ws_trace_reader_block(b, k++);
		cr_assert(y != NULL);
		cr_assert(
		        eq(u64, y->offset, x->offset + (x->offset > without ? (size_t)shift : 0)));
		cr_assert(eq(u64, y->sequence, x->sequence));
	}
	cr_assert(eq(sz, ws_trace_reader_block_count(b), k));
}

Test(trace_reader, without_a_trailer_every_whole_block_is_found)
{
	struct ws_sample closed = ws_sample_make(), cut = ws_sample_make();
	size_t index = ws_sample_block(&closed, WS_KIND_INDEX, 0);
	struct ws_trace_reader *a = open_sample(&closed), *b;

	cut.size = index;
	b = open_sample(&cut);
	cr_assert(eq(int, ws_trace_reader_summary(b)->closed, 0));
	cr_assert(eq(u64, ws_trace_reader_summary(b)->skipped_bytes, 0));
	assert_all_but_one(a, b, index, 0);
	ws_trace_reader_free(a);
	ws_trace_reader_free(b);
	ws_sample_free(&closed);
	ws_sample_free(&cut);
}

Test(trace_reader, a_damaged_body_costs_its_block_only)
{
	struct ws_sample whole = ws_sample_make(), s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_THREAD_EVENT, 0);
	struct ws_trace_reader *a = open_sample(&whole), *b;

	s.data[offset + 280] ^= 1;
	b = open_sample(&s);
	assert_all_but_one(a, b, offset, 0);
	cr_assert(eq(u64, ws_trace_reader_summary(b)->damaged_blocks, 1));
	cr_assert(eq(u64, ws_trace_reader_summary(b)->skipped_bytes,
	             ws_sample_block_size(&whole, offset)));
	cr_assert(eq(int, ws_trace_reader_summary(b)->closed, 1)); /* it was */
	ws_trace_reader_free(a);
	ws_trace_reader_free(b);
	ws_sample_free(&whole);
	ws_sample_free(&s);
}

Test(trace_reader, a_damaged_header_costs_its_block_only)
{
	struct ws_sample whole = ws_sample_make(), s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_THREAD_EVENT, 0);
	struct ws_trace_reader *a = open_sample(&whole), *b;

	s.data[offset + 16] ^= 1; /* its length */
	b = open_sample(&s);
	assert_all_but_one(a, b, offset, 0);
	cr_assert(eq(u64, ws_trace_reader_summary(b)->damaged_blocks, 1));
	ws_trace_reader_free(a);
	ws_trace_reader_free(b);
	ws_sample_free(&whole);
	ws_sample_free(&s);
}

Test(trace_reader, bytes_gone_from_a_body_cost_its_block_only)
{
	struct ws_sample whole = ws_sample_make(), s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_THREAD_EVENT, 0);
	struct ws_trace_reader *a = open_sample(&whole), *b;

	ws_sample_remove(&s, offset + 128, 64);
	b = open_sample(&s);
	assert_all_but_one(a, b, offset, -64);
	cr_assert(eq(u64, ws_trace_reader_summary(b)->damaged_blocks, 1));
	cr_assert(eq(int, ws_trace_reader_summary(b)->closed, 0)); /* the index is off now */
	ws_trace_reader_free(a);
	ws_trace_reader_free(b);
	ws_sample_free(&whole);
	ws_sample_free(&s);
}

Test(trace_reader, foreign_bytes_between_blocks_cost_no_block)
{
	struct ws_sample whole = ws_sample_make(), s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_THREAD_EVENT, 0);
	struct ws_trace_reader *a = open_sample(&whole), *b;
	char zeros[4096] = {0};

	ws_sample_insert(&s, offset, zeros, sizeof(zeros));
	b = open_sample(&s);
	cr_assert(eq(sz, ws_trace_reader_block_count(b), ws_trace_reader_block_count(a)));
	cr_assert(eq(u64, ws_trace_reader_summary(b)->damaged_blocks, 1));
	cr_assert(eq(u64, ws_trace_reader_summary(b)->skipped_bytes, sizeof(zeros)));
	ws_trace_reader_free(a);
	ws_trace_reader_free(b);
	ws_sample_free(&whole);
	ws_sample_free(&s);
}

Test(trace_reader, a_lost_schema_block_costs_only_the_names)
{
	struct ws_sample s = ws_sample_make();
	struct ws_trace_reader *r;
	struct ws_column_data t;

	s.data[WS_FILE_HEADER_BYTES + 200] ^= 1;
	r = open_sample(&s);
	cr_assert(ws_trace_reader_kind_name(r, WS_KIND_NVTX) == NULL);
	t = load(r, WS_KIND_NVTX);
	cr_assert(eq(u64, t.rows, 40));
	ws_column_data_release(&t);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

static const char *load_error(const struct ws_sample *s, enum ws_kind kind)
{
	static struct ws_err err;
	struct ws_trace_reader *r = open_sample(s);
	struct ws_column_data t;

	cr_assert(eq(int, ws_trace_reader_load(r, kind, &t, &err), WS_CORRUPT));
	cr_assert(t.columns == NULL);
	ws_trace_reader_free(r);
	return strstr(err.text, "): ") + 3; /* behind the name of the column */
}

/* Compressed columns that claim to be as large as one may be, or too small for their rows. */
Test(trace_reader, sizes_that_the_rows_cannot_have_are_refused_before_memory_is_taken)
{
	struct ws_sample s = ws_sample_make();
	size_t kernel = ws_sample_block(&s, WS_KIND_KERNEL, 0);
	size_t string = ws_sample_block(&s, WS_KIND_STRING, 0);
	size_t dur = entry(kernel, WS_COL_kernel_dur_ns), text = entry(string, WS_COL_string_text);

	ws_sample_poke(&s, dur + 3, 1, WS_COMPRESSION_ZSTD << 6 | WS_ENCODING_DELTA);
	ws_sample_poke(&s, dur + 4, 4, 101);
	ws_sample_seal_block(&s, kernel);
	cr_assert_str_eq(load_error(&s, WS_KIND_KERNEL),
	                 "101 bytes cannot be 10 rows of encoding delta");
	ws_sample_poke(&s, dur + 4, 4, WS_MAX_ENCODED_BYTES);
	ws_sample_seal_block(&s, kernel);
	cr_assert_str_eq(load_error(&s, WS_KIND_KERNEL),
	                 "268435456 bytes cannot be 10 rows of encoding delta");
	ws_sample_poke(&s, dur + 4, 4, 9);
	ws_sample_seal_block(&s, kernel);
	cr_assert_str_eq(load_error(&s, WS_KIND_KERNEL),
	                 "9 bytes cannot be 10 rows of encoding delta");

	ws_sample_poke(&s, text + 3, 1, WS_COMPRESSION_ZSTD << 6 | WS_ENCODING_BYTES);
	ws_sample_poke(&s, text + 4, 4, 12);
	ws_sample_seal_block(&s, string);
	cr_assert_str_eq(load_error(&s, WS_KIND_STRING),
	                 "12 bytes cannot be 13 rows of encoding bytes");
	ws_sample_free(&s);
}

Test(trace_reader, what_looks_like_a_block_inside_a_damaged_body_is_none)
{
	struct ws_sample whole = ws_sample_make(), s = ws_sample_make();
	size_t kernel = ws_sample_block(&s, WS_KIND_KERNEL, 0);
	struct ws_trace_reader *a = open_sample(&whole), *b;

	/* the body of the schema block gets the image of a whole block: that is its damage */
	memcpy(s.data + WS_FILE_HEADER_BYTES + 800, whole.data + kernel,
	       ws_sample_block_size(&whole, kernel));
	b = open_sample(&s);
	assert_all_but_one(a, b, WS_FILE_HEADER_BYTES, 0);
	ws_trace_reader_free(a);
	ws_trace_reader_free(b);
	ws_sample_free(&whole);
	ws_sample_free(&s);
}

/* Headers that each claim a body up to the end: hashing each of them would take hours. */
Test(trace_reader, a_file_of_bodies_inside_each_other_is_read_in_a_moment)
{
	const struct rlimit limit = {20, 20}; /* seconds of CPU: it needs a fraction of one */
	const size_t n = 300000;
	struct ws_sample s = {calloc(n + 1, WS_BLOCK_HEADER_BYTES),
	                      (n + 1) * WS_BLOCK_HEADER_BYTES};
	struct ws_trace_reader *r;

	cr_assert(zero(int, setrlimit(RLIMIT_CPU, &limit)));
	ws_file_header_put(s.data, 0, 0);
	for (size_t i = 1; i < n; i++) {
		struct ws_block_header h = {.kind = WS_KIND_META, .ncolumns = 2, .rows = 1};

		/* leave 8 bytes, so that nothing whole follows */
		h.body_size = s.size - (i + 1) * WS_BLOCK_HEADER_BYTES - 8;
		ws_block_header_put(s.data + i * WS_BLOCK_HEADER_BYTES, &h);
	}
	r = open_sample(&s);
	cr_assert(eq(sz, ws_trace_reader_block_count(r), 0));
	cr_assert(
	        eq(u64, ws_trace_reader_summary(r)->skipped_bytes, s.size - WS_FILE_HEADER_BYTES));
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}
