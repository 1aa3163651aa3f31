/*
 * Traces whose rows hold anything: whole by their checksums, senseless in
 * their contents. Reports may refuse them or be senseless too, but nothing
 * may crash, hang or read what is not there (the asan preset looks).
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/schema/schema.h"
#include "tests/environment/random.h"
#include "tests/support/trace_builder.h"

static uint64_t seed;

/* Mostly small, so that ids hit; now and then an extreme. */
static uint64_t any_number(int wild)
{
	static const uint64_t extremes[] = {0,
	                                    1,
	                                    UINT64_MAX,
	                                    INT64_MAX,
	                                    (uint64_t)1 << 63,
	                                    UINT32_MAX,
	                                    (uint64_t)1 << 32,
	                                    (uint64_t)1 << 61};

	if (wild && random_u64(&seed) % 40 == 0)
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

static void add_any_row(struct ws_trace_writer *w, const struct ws_kind_def *def, int wild)
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

static struct tb *any_trace(uint64_t number, int wild)
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

static void report_and_diff(uint64_t number, int wild, unsigned *opened)
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
		report_and_diff(number, 1, &opened);
	cr_expect(opened > 0, "some pass");
	cr_expect(opened < 100, "and some are refused");
}
