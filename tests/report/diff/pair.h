/* Two programs that differ a little, recorded once each and compared. */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "report/diff/diff.h"
#include "report/table/display.h"
#include "report/tables/tables.h"
#include "tests/support/trace_builder.h"

/* A program of n steps with one forward; each layer of it takes layer_ns, or 1 ns more. */
struct program {
	size_t steps;
	int64_t step_ns[8]; /* wall time of each */
	int64_t layer_ns;
	const char *kernel, *dtype;
	int layers;
	const char *extra; /* one more range in each step */
	int on_cpu;
	uint64_t flops; /* of a layer, on an H100; 0: 1000, on a GPU that nobody knows */
	int64_t unit;   /* times are multiples of it; 0: 1 ns, which is too short to be graded */
};

static inline struct tb *build(const struct program *p)
{
	struct tb *b = tb_new();
	struct tb_op op = {1000, 100, 50, "gemm", "forward", p->dtype, 0};
	uint64_t correlation = 1;
	const int64_t unit = p->unit ? p->unit : 1;
	int64_t at = 0;
	char fact[64];

	if (p->flops) {
		op.flops = p->flops;
		tb_device(b, 0, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
	}
	if (p->on_cpu)
		tb_device(b, 0, WS_DEVICE_CPU_REFERENCE, "CPU reference");
	snprintf(fact, sizeof(fact), "workload.dtype=%s", p->dtype);
	tb_mark(b, 0, fact);
	tb_mark(b, 0, "workload.batch=4");
	for (size_t i = 0; i <= p->steps; i++) {
		int64_t wall = unit * (i ? p->step_ns[i - 1] : 1000);

		tb_push(b, at, i ? "step" : "warm-up");
		tb_push(b, at + 1, "forward");
		for (int layer = 0; layer < p->layers; layer++) {
			tb_push_op(b, at + 10 + 10 * layer, "layer", &op);
			tb_call(b, at + 11 + 10 * layer, 1, correlation);
			tb_kernel(b, &(struct tb_kernel){p->kernel, at + unit * 500 * layer,
			                                 unit * (p->layer_ns + (int64_t)(i % 2)),
			                                 correlation++, 0, 100, 0});
			tb_pop(b, at + 15 + 10 * layer);
		}
		tb_pop(b, at + 200);
		if (p->extra) {
			tb_push(b, at + 210, p->extra);
			tb_call(b, at + 211, 1, correlation);
			tb_kernel(b, &(struct tb_kernel){"x", at + unit * 900, unit * 40,
			                                 correlation++, 0, 100, 0});
			tb_pop(b, at + 215);
		}
		tb_pop(b, at + wall);
		at += 100000 * unit;
	}
	return b;
}

struct pair {
	struct tb *b[2];
	struct joined *j[2];
	struct ws_report *report;
	struct ws_diff_result result;
};

/* One recording a side. */
static inline void compare_models(struct pair *p, const struct ws_diff_opts *opts)
{
	struct ws_sides *sides = ws_sides_new();
	struct ws_err err;

	for (int i = 0; i < 2; i++)
		sides_add(sides, i, p->j[i]->m, &p->j[i]->rows);
	cr_assert_eq(ws_diff_make(sides, opts, &p->report, &p->result, &err), WS_OK, "%s",
	             err.text);
	ws_sides_free(sides);
}

static inline struct pair compare_with(const struct program *a, const struct program *b,
                                       const struct ws_diff_opts *opts)
{
	struct pair p = {.b = {build(a), build(b)}};

	for (int i = 0; i < 2; i++)
		p.j[i] = tb_joined(p.b[i]);
	compare_models(&p, opts);
	return p;
}

static inline struct pair compare(const struct program *a, const struct program *b,
                                  double threshold)
{
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;

	opts.threshold_percent = threshold;
	return compare_with(a, b, &opts);
}

static inline void release(struct pair *p)
{
	ws_report_free(p->report);
	for (int i = 0; i < 2; i++) {
		joined_free(p->j[i]);
		tb_free(p->b[i]);
	}
}

static inline const struct ws_table *table(const struct pair *p, const char *name)
{
	return tb_table_of(p->report, name);
}

static inline size_t find_path(const struct ws_table *t, const char *path, const char *match)
{
	for (size_t row = 0; row < t->nrows; row++)
		if (!strcmp(tb_str(t, row, "path"), path) &&
		    !strcmp(tb_str(t, row, "match"), match))
			return row;
	cr_fatal("no row %s, %s", path, match);
}

static inline size_t find_phase(const struct ws_table *t, const char *phase, const char *measure)
{
	for (size_t row = 0; row < t->nrows; row++)
		if (!strcmp(tb_str(t, row, "phase"), phase) &&
		    !strcmp(tb_str(t, row, "measure"), measure))
			return row;
	cr_fatal("no row %s, %s", phase, measure);
}

static const struct program fp32 = {
        .steps = 4,
        .step_ns = {1000, 1010, 990, 1000},
        .layer_ns = 400, /* two of them keep the GPU busy for four fifths of a step */
        .kernel = "sgemm_fp32",
        .dtype = "fp32",
        .layers = 2,
};
