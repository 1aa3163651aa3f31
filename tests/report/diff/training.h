/*
 * A training or a window of one, made as a trace: layers of a product and an addition, with noise
 * as GPUs have it.
 */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "report/diff/diff.h"
#include "tests/environment/random.h"
#include "tests/support/trace_builder.h"

struct training {
	int steps; /* iterations, in ranges `step` or in none */
	bool in_no_steps;
	int layers;
	double size;        /* of each product: its FLOPs and its time, times this */
	int64_t gemm_ns;    /* of a product of size 1 */
	int dropped;        /* additions of each iteration that are not made */
	double between;     /* noise between recordings, relative */
	double wait_share;  /* of an iteration in which the host loads data */
	double wait_varies; /* by which that varies between recordings, relative */
	const char *device;
	double clock_mhz; /* 0 = not recorded */
};
static const struct training plain_training = {.steps = 6,
                                               .layers = 50,
                                               .size = 1,
                                               .gemm_ns = 80000,
                                               .between = 0.003,
                                               .device = "NVIDIA H100 80GB HBM3"};
#define ADD_NS 40000

static uint64_t training_state;

/* A kernel behind the one before; times scatter by 0.3 %. */
static inline void training_kernel(struct tb *b, const char *name, const char *kind, double flops,
                                   double ns, int64_t host_ns, int64_t *end_ns)
{
	const struct tb_op op = {(uint64_t)flops, 100, 50, kind, "forward", "bf16", 0};
	const int64_t dur_ns = (int64_t)(ns * exp(0.003 * random_normal(&training_state)));

	tb_push_op(b, host_ns, name, &op);
	tb_launch(b, host_ns + 1, name, *end_ns + 500, dur_ns);
	tb_pop(b, host_ns + 5);
	*end_ns += 500 + dur_ns;
}

static inline struct tb *training_build(const struct training *t)
{
	struct tb *b = tb_new();
	const double run = exp(t->between * random_normal(&training_state));
	const double wait = t->wait_share * exp(t->wait_varies * random_normal(&training_state));
	int64_t at = 1000;
	char text[64];

	tb_device(b, 0, WS_DEVICE_CUDA, t->device);
	if (t->clock_mhz > 0) {
		snprintf(text, sizeof(text), "%.0f", t->clock_mhz);
		tb_add(b, WS_KIND_META,
		       &(struct ws_row_meta){.key = {"gpu.0.end.sm_clock_mhz", 22},
		                             .value = {text, strlen(text)}});
	}
	for (int i = 0; i < t->steps; i++) {
		const int64_t begin = at;
		int64_t end;

		if (!t->in_no_steps)
			tb_push(b, at, "step");
		if (wait > 0) {
			tb_push(b, at + 1, "enumerate(DataLoader)#_Iter.__next__");
			at += (int64_t)(wait * (double)(t->layers * (t->gemm_ns + ADD_NS)));
			tb_pop(b, at);
		}
		end = at + 1000;
		for (int layer = 0; layer < t->layers; layer++) {
			training_kernel(b, "ffn", "gemm", 1e9 * t->size,
			                run * t->size * (double)t->gemm_ns, at + 10 + 20 * layer,
			                &end);
			if (layer >= t->dropped)
				training_kernel(b, "residual", "scale", 0, run * ADD_NS,
				                at + 20 + 20 * layer, &end);
		}
		if (!t->in_no_steps)
			tb_pop(b, begin > end - 100 ? begin + 1 : end);
		at = end + 1000;
	}
	return b;
}

/* A trace becomes a recording of a side. */
static inline void add_recording(struct ws_sides *sides, int side, struct tb *b)
{
	struct joined *j = tb_joined(b);

	sides_add(sides, side, j->m, &j->rows);
	joined_free(j);
	tb_free(b);
}

static inline void training_add(struct ws_sides *sides, int side, const struct training *t)
{
	add_recording(sides, side, training_build(t));
}

static inline struct ws_report *compare_sides(struct ws_sides *sides,
                                              const struct ws_diff_opts *opts,
                                              struct ws_diff_result *result)
{
	struct ws_report *report;
	struct ws_err err;

	cr_assert_eq(ws_diff_make(sides, opts, &report, result, &err), WS_OK, "%s", err.text);
	ws_sides_free(sides);
	return report;
}

/* n recordings a side. */
static inline struct ws_report *training_compare(const struct training *a, const struct training *b,
                                                 size_t n, const struct ws_diff_opts *opts,
                                                 struct ws_diff_result *result)
{
	struct ws_sides *sides = ws_sides_new();

	for (size_t i = 0; i < 2 * n; i++)
		training_add(sides, i >= n, i < n ? a : b);
	return compare_sides(sides, opts, result);
}

static inline const char *training_overall(const struct ws_report *report)
{
	const struct ws_table *t = tb_table_of(report, "diff-verdict");

	return tb_str(t, tb_find(t, 0, "subject", "overall"), "grade");
}
