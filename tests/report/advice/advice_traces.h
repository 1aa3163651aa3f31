/*
 * Traces for the tests of the advice: kernels and operations on an H100 unless a test says
 * otherwise: 132 SMs, 3,350 GB/s, bf16 989.4 TFLOP/s. Times are in us here.
 */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>

#include "report/advice/advice.h"
#include "tests/support/trace_builder.h"

#define US 1000

#define NEAR(actual, expected)                                                    \
	cr_expect(fabs((actual) - (expected)) <= 1e-9 * fabs((double)(expected)), \
	          "%.17g is not %.17g", (actual), (double)(expected))

static inline void attr(struct tb *b, const char *name, int64_t value)
{
	tb_add(b, WS_KIND_DEVICE_ATTR, &(struct ws_row_device_attr){1, tb_text(b, name), value});
}

/* Device 1: an H100, or another by name and compute capability. */
static inline struct tb *trace_on(const char *device, int64_t major, int64_t sms)
{
	struct tb *b = tb_new();

	tb_device(b, 1, WS_DEVICE_CUDA, device);
	attr(b, "compute_capability_major", major);
	attr(b, "compute_capability_minor", 0);
	attr(b, "sm_count", sms);
	return b;
}

static inline struct tb *h100(void)
{
	return trace_on("NVIDIA H100 80GB HBM3", 9, 132);
}

static uint64_t ids = 1000; /* the writer counts its own from 1 */

/* A kernel on device 1, launched at call_us. */
static inline void kernel(struct tb *b, int64_t call_us, const char *name, int64_t start_us,
                          int64_t dur_us)
{
	struct tb_kernel k = {name, start_us * US, dur_us * US, ++ids, 1, 100, 0};

	tb_call(b, call_us * US, 1, k.correlation);
	tb_kernel(b, &k);
}

enum { GEMM = 1, CONV, ATTENTION, SOFTMAX, CAST = 16 };
enum { FP32 = 1, TF32, FP16, BF16 };

/* A framework operation around one kernel. */
struct op {
	const char *name;
	int kind, dtype;
	uint64_t batch, m, n, k, flops, bytes;
};

static inline void run_op(struct tb *b, int64_t at_us, struct op op, const char *kernel_name,
                          int64_t dur_us)
{
	uint64_t id = ++ids;

	tb_add(b, WS_KIND_OP_CONFIG,
	       &(struct ws_row_op_config){.id = id,
	                                  .name = tb_text(b, op.name),
	                                  .dims = tb_text(b, "[[1]]"),
	                                  .kind = (uint64_t)op.kind,
	                                  .dtype = (uint64_t)op.dtype,
	                                  .batch = op.batch,
	                                  .m = op.m,
	                                  .n = op.n,
	                                  .k = op.k,
	                                  .cost = 2,
	                                  .flops = op.flops,
	                                  .bytes_read = op.bytes});
	tb_add(b, WS_KIND_CPU_OP,
	       &(struct ws_row_cpu_op){.start_ns = at_us * US,
	                               .dur_ns = 1 * US,
	                               .thread = 1,
	                               .config = id,
	                               .sequence = -1});
	kernel(b, at_us, kernel_name, at_us, dur_us);
}

/* The table of a finished trace, which is kept for free_all. */
static struct joined *joined;
static inline struct ws_table *advice_of(struct tb *b)
{
	joined = tb_joined(b);
	return tb_table(joined, "advice", NULL);
}

static inline void free_all(struct ws_table *t, struct tb *b)
{
	ws_table_free(t);
	joined_free(joined);
	tb_free(b);
}

static inline size_t fired(const struct ws_table *t, const char *rule)
{
	return tb_count(t, "rule", rule);
}

/* The rule was judged and found nothing. */
static inline int is_quiet(const struct ws_table *t, const char *rule)
{
	char notes[8];

	for (size_t i = 0; i < t->nnotes; i++) {
		const char *list = strstr(t->notes[i], "not found:");

		if (!list)
			continue;
		snprintf(notes, sizeof(notes), " %s,", rule);
		if (strstr(list, notes))
			return !fired(t, rule);
		snprintf(notes, sizeof(notes), " %s.", rule);
		return strstr(list, notes) && !fired(t, rule);
	}
	return 0;
}

static inline int was_not_judged(const struct ws_table *t, const char *rule)
{
	char text[32];

	snprintf(text, sizeof(text), "Not judged: %s ", rule);
	return tb_notes_say(t, text) && !fired(t, rule);
}

static inline int says(const struct ws_table *t, const char *rule, const char *part)
{
	return strstr(tb_str(t, tb_find(t, 0, "rule", rule), "evidence"), part) != NULL;
}

#define NVJET "nvjet_tst_128x64_64x4_1x2_h_bz_TNT"

static inline struct op mm(uint64_t m, uint64_t n, uint64_t k)
{
	return (struct op){
	        "aten::mm", GEMM, BF16, 1, m, n, k, 2 * m * n * k, 2 * (m * k + k * n + m * n)};
}

#define LAYOUT "void cudnn::ops::nhwcToNchwKernel<__half, __half, float, true, false>"

static inline struct op softmax(uint64_t bytes)
{
	return (struct op){.name = "aten::_softmax",
	                   .kind = SOFTMAX,
	                   .dtype = FP32,
	                   .flops = bytes / 8 * 5,
	                   .bytes = bytes};
}
