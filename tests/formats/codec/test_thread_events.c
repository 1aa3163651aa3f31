#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>

#include "formats/codec/block.h"
#include "formats/trace/internal.h"
#include "tests/support/trace_sample.h"

static const struct ws_trace_writer_opts defaults;

static struct ws_trace_reader *open_sample(const struct ws_sample *s)
{
	struct ws_trace_reader *r;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_open_mem(&r, s->data, s->size, &err), WS_OK), "%s",
	          err.text);
	return r;
}

/* Both have the same rows of a kind in the same order; a is the older. */
static void same_rows(const struct ws_trace_reader *a, const struct ws_trace_reader *b,
                      enum ws_kind kind)
{
	struct ws_column_data t[2];
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_load(a, kind, &t[0], &err), WS_OK), "%s", err.text);
	cr_assert(eq(int, ws_trace_reader_load(b, kind, &t[1], &err), WS_OK), "%s", err.text);
	cr_assert(eq(u64, t[0].rows, t[1].rows));
	for (unsigned c = 0; c < t[0].def->ncolumns; c++) {
		const struct ws_column *x = &t[0].columns[c], *y = &t[1].columns[c];

		/* a has none of the columns that came after it */
		cr_assert(x->present <= y->present);
		for (uint64_t i = 0; x->present && i < t[0].rows; i++) {
			if (x->type != WS_TYPE_BLOB) {
				cr_assert(eq(u64, x->v[i], y->v[i]));
				continue;
			}
			cr_assert(eq(sz, x->b[i].len, y->b[i].len));
			cr_assert(memcmp(x->b[i].ptr, y->b[i].ptr, x->b[i].len) == 0);
		}
	}
	ws_column_data_release(&t[0]);
	ws_column_data_release(&t[1]);
}

/* Nothing of it was released; the cure is to make it again. */
Test(thread_events, a_file_of_format_1_is_refused)
{
	struct ws_sample s = ws_sample_make();
	struct ws_trace_reader *r;
	struct ws_err err;

	ws_sample_poke(&s, 8, 2, 1);
	ws_sample_poke(&s, 10, 2, 1);
	ws_sample_seal_header(&s);
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, s.data, s.size, &err), WS_TOO_NEW));
	cr_assert(strstr(err.text, "format 1.1 of before the first release") != NULL, "%s",
	          err.text);
	ws_sample_free(&s);
}

/* Rows of both kinds, mixed by chance, and the same rows each kind in a file of its own. */
static void fill(struct ws_trace_writer *w[3], unsigned rows, unsigned threads)
{
	uint64_t seed = rows, t = 0;
	struct ws_err err;

	for (int k = 0; k < 3; k++)
		for (uint64_t id = 1; id <= threads; id++) {
			struct ws_row_thread thread = {.id = id, .pid = 1, .tid = id};
			uint64_t name;

			ws_trace_writer_add(w[k], WS_KIND_THREAD, &thread, &err);
			ws_trace_writer_intern(w[k], "a", 1, &name, &err);
			ws_trace_writer_intern(w[k], "b", 1, &name, &err);
		}
	for (unsigned i = 0; i < rows; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		t += seed >> 50;
		if (seed >> 32 & 1) {
			struct ws_row_api row = {.start_ns = (int64_t)t,
			                         .dur_ns = (int64_t)(seed >> 52),
			                         .thread = 1 + (seed >> 36) % threads,
			                         .name = 1,
			                         .correlation = i,
			                         .result = -(int64_t)(seed >> 63)};

			cr_assert(
			        eq(int, ws_trace_writer_add(w[0], WS_KIND_API, &row, &err), WS_OK));
			cr_assert(
			        eq(int, ws_trace_writer_add(w[1], WS_KIND_API, &row, &err), WS_OK));
		} else {
			/* now and then before the row before it, as threads are read in turn */
			struct ws_row_nvtx row = {.time_ns = (int64_t)(t - (seed >> 60) * 100),
			                          .thread = 1 + (seed >> 36) % threads,
			                          .type = (seed >> 40) % 5,
			                          .domain = (seed >> 43) % 3,
			                          .name = (seed >> 45) % 3,
			                          .range = seed >> 61,
			                          .category = seed >> 62,
			                          .color = seed >> 58};

			cr_assert(eq(int, ws_trace_writer_add(w[0], WS_KIND_NVTX, &row, &err),
			             WS_OK));
			cr_assert(eq(int, ws_trace_writer_add(w[2], WS_KIND_NVTX, &row, &err),
			             WS_OK));
		}
	}
}

static unsigned stored_blocks(const struct ws_trace_reader *r, enum ws_kind kind)
{
	const struct ws_walk *walk = &r->walk;
	unsigned n = 0;

	for (size_t i = 0; i < walk->nblocks; i++)
		n += walk->blocks[i].kind == kind;
	return n;
}

/* Blocks of a kind, decoded one by one, hold the rows that loading gives. */
static void blocks_hold_the_rows(const struct ws_trace_reader *r, enum ws_kind kind)
{
	struct ws_column_data t;
	uint64_t row = 0;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_load(r, kind, &t, &err), WS_OK));
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++) {
		struct ws_block b;

		if (ws_trace_reader_block(r, i)->kind != kind)
			continue;
		cr_assert(eq(int, ws_trace_reader_decode(r, i, &b, &err), WS_OK), "%s", err.text);
		cr_assert(eq(u16, b.ncolumns, t.def->ncolumns));
		for (unsigned c = 0; c < b.ncolumns; c++)
			for (uint32_t k = 0; k < b.info.rows; k++)
				cr_assert(eq(u64, b.columns[c].v[k], t.columns[c].v[row + k]));
		row += b.info.rows;
		ws_block_release(&b);
	}
	cr_assert(eq(u64, row, t.rows));
	ws_column_data_release(&t);
}

static void compare(unsigned rows, unsigned threads, unsigned expected_blocks)
{
	struct ws_trace_reader *r[3];
	struct ws_trace_writer *w[3];
	struct ws_sample s[3];
	struct ws_sample_findings f;
	struct ws_err err;

	for (int k = 0; k < 3; k++)
		cr_assert(eq(int, ws_trace_writer_create_mem(&w[k], &defaults, &err), WS_OK));
	fill(w, rows, threads);
	for (int k = 0; k < 3; k++) {
		cr_assert(eq(int, ws_trace_writer_close(w[k], &err), WS_OK));
		s[k] = ws_sample_take(w[k]);
		r[k] = open_sample(&s[k]);
		ws_trace_writer_free(w[k]);
	}
	cr_assert(eq(u32, stored_blocks(r[0], WS_KIND_THREAD_EVENT), expected_blocks));
	same_rows(r[0], r[1], WS_KIND_API);
	same_rows(r[0], r[2], WS_KIND_NVTX);
	blocks_hold_the_rows(r[0], WS_KIND_API);
	blocks_hold_the_rows(r[0], WS_KIND_NVTX);
	ws_sample_check(&s[0], &f);
	cr_assert(eq(u64, f.result.damage + f.result.notes, 0), "%s", f.text);
	for (int k = 0; k < 3; k++) {
		ws_trace_reader_free(r[k]);
		ws_sample_free(&s[k]);
	}
}

Test(thread_events, each_kind_comes_back_in_its_own_order)
{
	compare(1, 1, 1);
	compare(100, 1, 1);
	compare(200, 1, 1);
	compare(5000, 3, 1);
	compare(WS_MAX_BLOCK_ROWS, 2, 1);
	compare(WS_MAX_BLOCK_ROWS + 1000, 40, 2);
}

Test(thread_events, cpu_times_are_rounded_when_that_is_asked_for)
{
	const struct ws_trace_writer_opts opts = {.cpu_time_quantum_ns = 16};
	static const struct {
		int64_t begin, dur, rounded_begin, rounded_dur;
	} cases[] = {{0, 0, 0, 0},
	             {7, 1, 0, 16},
	             {8, 100, 16, 96},
	             {-7, 20, 0, 16},
	             {-9, 1, -16, 16},
	             {1000, 5000, 1008, 4992},
	             {INT64_MAX, 0, INT64_MAX, 0},
	             {INT64_MIN, 1, INT64_MIN, 0}};
	const size_t n = sizeof(cases) / sizeof(*cases);
	struct ws_column_data api, nvtx, kernel;
	struct ws_trace_writer *w;
	struct ws_trace_reader *r;
	struct ws_sample s;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_create_mem(&w, &opts, &err), WS_OK));
	for (size_t i = 0; i < n; i++) {
		ws_trace_writer_add(w, WS_KIND_API,
		                    &(struct ws_row_api){.start_ns = cases[i].begin,
		                                         .dur_ns = cases[i].dur},
		                    &err);
		ws_trace_writer_add(w, WS_KIND_NVTX,
		                    &(struct ws_row_nvtx){.time_ns = cases[i].begin}, &err);
		ws_trace_writer_add(w, WS_KIND_KERNEL,
		                    &(struct ws_row_kernel){.start_ns = cases[i].begin}, &err);
	}
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	s = ws_sample_take(w);
	ws_trace_writer_free(w);
	r = open_sample(&s);
	cr_assert(eq(int, ws_trace_reader_load(r, WS_KIND_API, &api, &err), WS_OK));
	cr_assert(eq(int, ws_trace_reader_load(r, WS_KIND_NVTX, &nvtx, &err), WS_OK));
	cr_assert(eq(int, ws_trace_reader_load(r, WS_KIND_KERNEL, &kernel, &err), WS_OK));
	for (size_t i = 0; i < n; i++) {
		cr_assert(eq(i64, ws_column_i64(&api.columns[WS_COL_api_start_ns], i),
		             cases[i].rounded_begin),
		          "case %zu", i);
		cr_assert(eq(i64, ws_column_i64(&api.columns[WS_COL_api_dur_ns], i),
		             cases[i].rounded_dur),
		          "case %zu", i);
		cr_assert(eq(i64, ws_column_i64(&nvtx.columns[WS_COL_nvtx_time_ns], i),
		             cases[i].rounded_begin));
		cr_assert(eq(i64, ws_column_i64(&kernel.columns[WS_COL_kernel_start_ns], i),
		             cases[i].begin));
	}
	ws_column_data_release(&api);
	ws_column_data_release(&nvtx);
	ws_column_data_release(&kernel);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

Test(thread_events, a_header_that_counts_wrong_is_corrupt)
{
	static const enum ws_kind kinds[] = {WS_KIND_API, WS_KIND_NVTX};
	struct ws_sample s = ws_sample_make_modelled();
	size_t offset = ws_sample_block(&s, WS_KIND_THREAD_EVENT, 0);
	struct ws_trace_reader *r;
	struct ws_sample_findings f;
	struct ws_column_data t;
	struct ws_err err;

	ws_sample_poke(&s, offset + 12, 4, ws_load_u32(s.data + offset + 12) - 1);
	ws_sample_seal_block(&s, offset);
	r = open_sample(&s);
	for (int k = 0; k < 2; k++) {
		cr_assert(eq(int, ws_trace_reader_load(r, kinds[k], &t, &err), WS_CORRUPT));
		cr_assert(strstr(err.text, "its header says") != NULL, "%s", err.text);
	}
	ws_sample_check(&s, &f);
	cr_assert(eq(u64, f.result.damage, 1), "%s", f.text);
	cr_assert(strstr(f.text, "its header says") != NULL, "%s", f.text);
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

/* Many rows that say nothing take some bytes nevertheless; fewer are no block. */
Test(thread_events, a_block_has_no_more_rows_than_its_bytes_allow)
{
	struct ws_trace_writer *w;
	struct ws_trace_reader *r;
	struct ws_sample s;
	struct ws_err err;
	size_t offset;

	cr_assert(eq(int, ws_trace_writer_create_mem(&w, &defaults, &err), WS_OK));
	for (int i = 0; i < 65536; i++)
		ws_trace_writer_add(w, WS_KIND_MEMSET, &(struct ws_row_memset){.bytes = 7}, &err);
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	s = ws_sample_take(w);
	ws_trace_writer_free(w);
	offset = ws_sample_block(&s, WS_KIND_MEMSET, 0);
	cr_assert(eq(sz, ws_sample_block_size(&s, offset), 65536 / 32));

	/* 8 bytes fewer, all else right */
	ws_sample_poke(&s, offset + 16, 8, 65536 / 32 - WS_BLOCK_HEADER_BYTES - 8);
	ws_sample_remove(&s, offset + 65536 / 32 - 8, 8);
	ws_sample_seal_block(&s, offset);
	r = open_sample(&s);
	cr_assert(eq(u32, stored_blocks(r, WS_KIND_MEMSET), 0));
	ws_trace_reader_free(r);
	ws_sample_free(&s);
}

/* Column of the first block of a kind. */
static const struct ws_block_column *column_of(const struct ws_sample *s, enum ws_kind kind,
                                               unsigned position, struct ws_block_view *view)
{
	size_t offset = ws_sample_block(s, kind, 0);
	struct ws_block_header header;
	struct ws_err err;

	ws_block_header_get(s->data + offset, s->size - offset, offset, &header, &err);
	cr_assert(eq(int,
	             ws_block_view_open(view, &header, s->data + offset + WS_BLOCK_HEADER_BYTES,
	                                offset, &err),
	             WS_OK));
	return &view->columns[position];
}

Test(thread_events, the_writer_uses_every_encoding_where_it_pays)
{
	struct ws_sample s = ws_sample_make_modelled();
	struct ws_block_view view;

	cr_assert(eq(u8, column_of(&s, WS_KIND_THREAD_EVENT, 0, &view)->entry.encoding,
	             WS_ENCODING_RESIDUAL));
	cr_assert(eq(u8, column_of(&s, WS_KIND_THREAD_EVENT, 3, &view)->entry.encoding,
	             WS_ENCODING_BY_TOKEN));
	cr_assert(eq(u8, column_of(&s, WS_KIND_THREAD_EVENT, 4, &view)->entry.encoding,
	             WS_ENCODING_TOKEN));
	cr_assert(eq(u8, column_of(&s, WS_KIND_KERNEL, WS_COL_kernel_dur_ns, &view)->entry.encoding,
	             WS_ENCODING_RESIDUAL));
	ws_sample_free(&s);
}

/* What a directory entry may say of other columns, and what not. */
Test(thread_events, parameters_that_name_no_such_column_are_corrupt)
{
	static const struct {
		unsigned position;
		uint32_t parameter;
		const char *text;
	} cases[] = {
	        {WS_COL_kernel_start_ns, 3, "column 3, which should carry its tokens, does not"},
	        {WS_COL_kernel_start_ns, 99, "column 99, which should carry its tokens, does not"},
	        {WS_COL_kernel_start_ns, 4 | 3 << 16,
	         "column 3, which should have its durations, does not"},
	        {WS_COL_kernel_graph, 4, "which its encoding constant does not have"},
	        {WS_COL_kernel_start_ns, 4,
	         "its predictor is 2, but its parameter names no durations"},
	        {WS_COL_kernel_dur_ns, 4 | 2 << 16,
	         "column 2, which should have its durations, does not"},
	        {WS_COL_kernel_config, 4, "which its encoding token does not have"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ws_sample s = ws_sample_make_modelled();
		size_t offset = ws_sample_block(&s, WS_KIND_KERNEL, 0);
		struct ws_sample_findings f;

		ws_sample_poke(&s,
		               offset + WS_BLOCK_HEADER_BYTES +
		                       cases[i].position * WS_DIR_ENTRY_BYTES + 12,
		               4, cases[i].parameter);
		ws_sample_seal_block(&s, offset);
		ws_sample_check(&s, &f);
		cr_assert(gt(u64, f.result.damage, 0));
		cr_assert(strstr(f.text, cases[i].text) != NULL, "case %zu: %s", i, f.text);
		ws_sample_free(&s);
	}
}

Test(thread_events, a_block_decodes_alone_in_any_order)
{
	struct ws_sample s = ws_sample_make_modelled();
	struct ws_trace_reader *r[2] = {open_sample(&s), open_sample(&s)};
	size_t n = ws_trace_reader_block_count(r[0]);

	for (size_t i = 0; i < n; i++) {
		struct ws_block a, b;
		struct ws_err err;

		/* one reader goes forward, one backward */
		cr_assert(eq(int, ws_trace_reader_decode(r[0], i, &a, &err), WS_OK));
		ws_block_release(&a);
		cr_assert(eq(int, ws_trace_reader_decode(r[1], n - 1 - i, &b, &err), WS_OK));
		ws_block_release(&b);
	}
	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		if (ws_schema_kind(kind))
			same_rows(r[0], r[1], kind);
	for (int k = 0; k < 2; k++)
		ws_trace_reader_free(r[k]);
	ws_sample_free(&s);
}
