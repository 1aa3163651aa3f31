/*
 * Traces whose rows hold anything: whole by their checksums, senseless in
 * their contents. Reports may refuse them or be senseless too, but nothing
 * may crash, hang or read what is not there (the asan preset looks).
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/schema/schema.h"
#include "report/export/chrome/chrome.h"
#include "tests/environment/random.h"
#include "tests/support/trace_builder.h"

static uint64_t seed;

/* Mostly small, so that ids hit; one of so many is an extreme, of 0 none. */
static uint64_t any_number(unsigned wild)
{
	static const uint64_t extremes[] = {0,
	                                    1,
	                                    UINT64_MAX,
	                                    INT64_MAX,
	                                    (uint64_t)1 << 63,
	                                    UINT32_MAX,
	                                    (uint64_t)1 << 32,
	                                    (uint64_t)1 << 61};

	if (wild && random_u64(&seed) % wild == 0)
		return extremes[random_u64(&seed) % 8];
	return random_u64(&seed) % 12;
}

static struct ws_bytes any_bytes(void)
{
	static const char *const texts[] = {"step",
	                                    "warm-up",
	                                    "flops",
	                                    "op",
	                                    "bytes",
	                                    "none",
	                                    "gemm",
	                                    "softmax",
	                                    "computing softmax",
	                                    "layer 3",
	                                    "forward",
	                                    "warpsheet",
	                                    "workload.a=b",
	                                    "_Z3addi",
	                                    "a/b\\",
	                                    "dtype",
	                                    "ProfilerStep#5",
	                                    "ProfilerStep#99999999999",
	                                    "Optimizer.step#Adam",
	                                    "enumerate(DataLoader)#x",
	                                    "nccl:all_reduce",
	                                    "sm_count",
	                                    "global_memory_bytes",
	                                    "compute_capability_major",
	                                    "workload.peak.fp32=nan"};
	static const char raw[64] = "\xff\0\x80<<<(((operator>::,\"\n\x1b[31m";
	const uint64_t ntexts = sizeof(texts) / sizeof(*texts);
	uint64_t which = random_u64(&seed) % (ntexts + 4);

	if (which < ntexts)
		return (struct ws_bytes){texts[which], strlen(texts[which])};
	return (struct ws_bytes){raw, random_u64(&seed) % sizeof(raw)};
}

static void add_any_row(struct ws_trace_writer *w, const struct ws_kind_def *def, unsigned wild)
{
	uint64_t row[64] = {0};
	struct ws_err err;

	cr_assert(def->row_size <= sizeof(row));
	for (unsigned c = 0; c < def->ncolumns; c++) {
		uint8_t *at = (uint8_t *)row + def->columns[c].row_offset;
		uint64_t value = any_number(wild);
		struct ws_bytes bytes = any_bytes();

		if (def->columns[c].type == WS_TYPE_BLOB)
			memcpy(at, &bytes, sizeof(bytes));
		else
			memcpy(at, &value, sizeof(value));
	}
	cr_assert(eq(int, ws_trace_writer_add(w, (enum ws_kind)def->id, row, &err), WS_OK), "%s",
	          err.text);
}

static struct tb *any_trace(uint64_t number, unsigned wild)
{
	struct tb *b = tb_new();

	seed = number * 0x9e3779b97f4a7c15u + 1;
	for (unsigned id = WS_KIND_META; id < WS_KIND_END; id++) {
		const struct ws_kind_def *def = ws_schema_kind(id);
		uint64_t rows = random_u64(&seed) % 60;

		for (uint64_t i = 0; def && !ws_kind_is_made(id) && i < rows; i++)
			add_any_row(tb_writer(b), def, wild);
	}
	return b;
}

static struct joined *try_to_join(struct tb *b)
{
	struct joined *j = NULL;
	struct ws_bytes bytes;
	struct ws_err err;
	enum ws_status status;

	cr_assert(eq(int, ws_trace_writer_close(tb_writer(b), &err), WS_OK), "%s", err.text);
	bytes = ws_trace_writer_mem(tb_writer(b));
	status = joined_open_mem(&j, bytes.ptr, bytes.len, "hostile", &err);
	cr_assert(status == WS_OK || status == WS_CORRUPT, "%d: %s", (int)status, err.text);
	cr_assert(eq(int, j == NULL, status != WS_OK));
	return j;
}

static void report_and_diff(uint64_t number, unsigned wild, unsigned *opened)
{
	struct ws_filter filter = {.nvtx = number % 2 ? "*step*" : NULL,
	                           .step_first = (int64_t)(number % 3) - 1,
	                           .step_last = -1,
	                           .device = (int64_t)(number % 4) - 1,
	                           .by_gpu_time = number % 5 == 0,
	                           .has_time = number % 7 == 0,
	                           .time_first_ns = INT64_MIN,
	                           .time_end_ns = number % 3 ? INT64_MAX : 100};
	struct tb *b[2] = {any_trace(number, wild), any_trace(number + 100000, wild)};
	struct joined *j[2] = {try_to_join(b[0]), try_to_join(b[1])};
	struct ws_report *report = NULL;
	struct ws_diff_result result;
	struct ws_err err;

	if (j[0]) {
		++*opened;
		cr_assert(eq(int, all_tables(j[0]->m, &j[0]->rows, &filter, &report, &err), WS_OK),
		          "%s", err.text);
		ws_report_free(report);
	}
	if (j[0] && j[1]) {
		struct ws_sides *sides = ws_sides_new();

		for (int i = 0; i < 2; i++)
			sides_add(sides, i, j[i]->m, &j[i]->rows);
		cr_assert(eq(int, ws_diff_make(sides, NULL, &report, &result, &err), WS_OK), "%s",
		          err.text);
		ws_sides_free(sides);
		ws_report_free(report);
	}
	for (int i = 0; i < 2; i++) {
		joined_free(j[i]);
		tb_free(b[i]);
	}
}

Test(hostile_traces, small_numbers_in_every_column_make_a_report)
{
	unsigned opened = 0;

	for (uint64_t number = 0; number < 100; number++)
		report_and_diff(number, 0, &opened);
	cr_expect(eq(uint, opened, 100));
}

Test(hostile_traces, extreme_numbers_are_refused_or_make_a_report)
{
	unsigned opened = 0;

	for (uint64_t number = 0; number < 100; number++)
		report_and_diff(number, 100, &opened);
	cr_expect(opened > 0, "some pass");
	cr_expect(opened < 100, "and some are refused");
}

/* --- exports: they end, and are whole or fail with words ------------------------------------- */

static const struct ws_export_opts opts = {0};

static void export_nsys(const struct ws_trace_reader *r)
{
	char path[] = "/tmp/ws-hostile-XXXXXX";
	struct ws_export_stats stats = {0};
	sqlite3_stmt *stmt;
	struct ws_err err;
	sqlite3 *db;

	close(mkstemp(path));
	cr_assert(eq(int, ws_export_nsys(r, path, &opts, &stats, &err), WS_OK), "%s", err.text);
	cr_assert(eq(int, sqlite3_open(path, &db), SQLITE_OK));
	cr_assert(
	        eq(int, sqlite3_prepare_v2(db, "PRAGMA quick_check", -1, &stmt, NULL), SQLITE_OK));
	cr_assert(eq(int, sqlite3_step(stmt), SQLITE_ROW));
	cr_assert_str_eq((const char *)sqlite3_column_text(stmt, 0), "ok");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	unlink(path);
}

static void export_timeline(const struct ws_trace_reader *r, const struct ws_chrome_form *form)
{
	struct ws_export_stats stats = {0};
	struct ws_err err;
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	cr_assert(eq(int, ws_export_timeline(form, r, f, &opts, &stats, &err), WS_OK), "%s",
	          err.text);
	fclose(f);
	cr_assert(gt(sz, size, 0));
	if (form == &ws_chrome_json)
		cr_assert(eq(int, memcmp(text + size - 4, "]\n}\n", 4), 0));
	free(text);
}

Test(hostile_traces, exports_are_whole)
{
	for (uint64_t number = 0; number < 150; number++) {
		struct tb *b = any_trace(number, 4);
		struct ws_trace_reader *r;
		struct ws_bytes bytes;

		cr_assert(eq(int, ws_trace_writer_close(tb_writer(b), NULL), WS_OK));
		bytes = ws_trace_writer_mem(tb_writer(b));
		cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, NULL), WS_OK));
		export_nsys(r);
		export_timeline(r, &ws_chrome_json);
		export_timeline(r, &ws_chrome_perfetto);
		ws_trace_reader_free(r);
		tb_free(b);
	}
}
