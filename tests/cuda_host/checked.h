/*
 * Running small graphs op by op against the CPU reference (shadow.h), in tests.
 */
#pragma once

#include "tests/cuda_host/shadow.h"
#include "tests/cuda_host/workloads.h"
#include "tests/support/kernels_run.h"

/* Whose tensors are all of one type; the types that kernels exist for. */
static const struct ws_precision checked_precisions[] = {
        {.name = "fp32", .storage = WS_DTYPE_F32, .low = WS_DTYPE_F32},
        {.name = "bf16", .storage = WS_DTYPE_BF16, .low = WS_DTYPE_BF16},
        {.name = "fp16", .storage = WS_DTYPE_F16, .low = WS_DTYPE_F16},
};
#define CHECKED_PRECISIONS ((int)(sizeof(checked_precisions) / sizeof(*checked_precisions)))

/* What a test saw: the kernel that came nearest to its bound. */
struct checked_report {
	int ops;
	int left_out; /* cases with a kernel that no graph needs: there is none */
	struct ws_shadow_kernel worst;
};

struct checked {
	struct kernels_run run;
	struct ws_shadow *shadow;
};

static inline struct checked checked_open(const struct ws_precision *precision)
{
	struct checked c = {0};

	KERNELS_OK(ws_pool_create(1, &c.run.pool, err));
	KERNELS_OK(ws_shadow_open(c.run.pool, &c.shadow, err));
	c.run.backend = &c.shadow->base;
	c.run.graph = ws_graph_create(precision);
	ws_graph_phase(c.run.graph, WSNVTX_PHASE_forward);
	return c;
}

/* An operand of integers 0 … end - 1. */
static inline struct ws_tensor *checked_index(struct ws_graph *graph, const char *name,
                                              struct ws_shape shape, int64_t end)
{
	struct ws_tensor *t = ws_graph_tensor(graph, name, WS_ROLE_INPUT, WS_DTYPE_I32, shape);

	if (t)
		t->init.value = (double)end; /* read by checked_start(); nothing is drawn */
	return t;
}

static inline bool checked_is_operand(const struct ws_tensor *t)
{
	return ws_dtype_is_float(t->dtype) &&
	       (t->role == WS_ROLE_PARAM || t->role == WS_ROLE_INPUT);
}

/* First values: normal numbers, and indices that repeat. */
static inline void checked_start(struct checked *c)
{
	kernels_start(&c->run);
	for (int i = 0; i < c->run.graph->tensor_count; i++) {
		struct ws_tensor *t = c->run.graph->tensors[i];
		int32_t *values;

		if (t->dtype != WS_DTYPE_I32 || t->role != WS_ROLE_INPUT)
			continue;
		values = malloc(t->size_bytes);
		for (int64_t j = 0; j < t->count; j++)
			values[j] = (int32_t)((j * 7919 + 3) % (int64_t)t->init.value);
		KERNELS_OK(ws_exec_upload(c->run.exec, t, values, err));
		free(values);
	}
}

/* All phases; each op compares itself. */
static inline void checked_step(struct checked *c, const char *what)
{
	ws_exec_step_begin(c->run.exec);
	for (int phase = WSNVTX_PHASE_forward; phase <= WSNVTX_PHASE_optimizer; phase++)
		KERNELS_OK(ws_exec_phase(c->run.exec, (enum wsnvtx_phase)phase, err));
	cr_assert_eq(c->shadow->wrong, 0, "%s: %d ops differ, first %s", what, c->shadow->wrong,
	             c->shadow->first);
}

/* Numbers that arithmetic treats in ways of their own, strewn over all operands. */
static inline void checked_spoil(struct checked *c, const double *specials, int count)
{
	for (int i = 0; i < c->run.graph->tensor_count; i++) {
		struct ws_tensor *t = c->run.graph->tensors[i];
		double *values;
		int next = i;

		if (!checked_is_operand(t))
			continue;
		values = kernels_read(&c->run, t);
		for (int64_t j = i % 3; j < t->count; j += 29)
			values[j] = specials[next++ % count];
		kernels_write(&c->run, t, values);
		free(values);
	}
}

static inline void checked_close(struct checked *c, struct checked_report *report)
{
	for (int i = 0; i < c->shadow->kernel_count; i++) {
		report->ops += c->shadow->kernels[i].runs;
		if (c->shadow->kernels[i].worst >= report->worst.worst)
			report->worst = c->shadow->kernels[i];
	}
	kernels_close(&c->run);
}

static inline void checked_tell(const char *what, const struct checked_report *report)
{
	fprintf(stderr,
	        "%s: %d ops compared, largest error %.3f of its bound (%s); %d cases that no graph "
	        "has\n",
	        what, report->ops, report->worst.worst, report->worst.name, report->left_out);
	cr_assert_gt(report->ops, 0);
}

/* --- cases: an op and its gradient on rows × cols -----------------------------------------------
 */

struct checked_case {
	const char *name;
	/* Append the op; it is the result's own that the gradient is of. */
	struct ws_tensor *(*build)(struct ws_graph *graph, int64_t rows, int64_t cols);
	bool forward_only;
};

static inline bool checked_has_kernels(const struct ws_graph *graph)
{
	for (int i = 0; i < graph->op_count; i++) {
		char name[64];

		ws_op_kernel_name(graph->ops[i], name, sizeof(name));
		if (ws_is_own_kernel(graph->ops[i]) && !ws_workloads_need(name))
			return false;
	}
	return true;
}

static inline void checked_run(const struct checked_case *test, int64_t rows, int64_t cols,
                               const struct ws_precision *precision, struct checked_report *report)
{
	static const double extreme[] = {0, -0.0, 1e-40, -3e-6, 1e4, -6e4, 1e-9};
	static const double not_finite[] = {INFINITY, 1, -INFINITY, 1, NAN};
	struct checked c = checked_open(precision);
	struct ws_tensor *y = test->build(c.run.graph, rows, cols);
	char what[96];

	snprintf(what, sizeof(what), "%s, %lld × %lld, %s", test->name, (long long)rows,
	         (long long)cols, precision->name);
	KERNELS_OK(ws_graph_check(c.run.graph, err));
	if (!test->forward_only)
		kernels_backward(&c.run, y);
	if (!checked_has_kernels(c.run.graph)) {
		report->left_out++;
	} else {
		checked_start(&c);
		checked_step(&c, what);
		checked_spoil(&c, extreme, 7);
		checked_step(&c, what);
		checked_spoil(&c, not_finite, 5);
		checked_step(&c, what);
	}
	checked_close(&c, report);
}

/* All cases in all sizes and types: tails, single elements, loops that go round. */
static inline void checked_run_all(const char *name, const struct checked_case *cases, int count,
                                   const int64_t (*sizes)[2], int size_count)
{
	struct checked_report report = {0};

	for (int i = 0; i < count; i++)
		for (int s = 0; s < size_count; s++)
			for (int p = 0; p < CHECKED_PRECISIONS; p++)
				checked_run(&cases[i], sizes[s][0], sizes[s][1],
				            &checked_precisions[p], &report);
	checked_tell(name, &report);
}

#define CHECKED_COUNT(array) ((int)(sizeof(array) / sizeof(*(array))))
