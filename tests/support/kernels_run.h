/*
 * Running small graphs in tests, and checking their gradients against finite
 * differences in double (workload notes: numeric tests).
 */
#pragma once

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "kernels/run/step.h"
#include "kernels/graph/graph.h"
#include "kernels/base/rng.h"

static const struct ws_precision kernels_fp64 = {.name = "fp64",
                                                 .storage = WS_DTYPE_F64,
                                                 .low = WS_DTYPE_F64};
static const struct ws_precision kernels_fp32 = {.name = "fp32",
                                                 .storage = WS_DTYPE_F32,
                                                 .low = WS_DTYPE_F32};
static const struct ws_precision kernels_amp = {.name = "amp-bf16",
                                                .storage = WS_DTYPE_F32,
                                                .low = WS_DTYPE_BF16};

struct kernels_run {
	struct ws_pool *pool;
	struct ws_backend *backend;
	struct ws_graph *graph;
	struct ws_exec *exec;
};

#define KERNELS_OK(call)                                                 \
	do {                                                             \
		struct ws_err err_ = {0};                                \
		struct ws_err *err = &err_;                              \
		cr_assert_eq((call), WS_OK, "%s: %s", #call, err_.text); \
	} while (0)

/* An empty graph in its forward phase. */
static inline struct kernels_run kernels_open(const struct ws_precision *precision)
{
	struct kernels_run r = {0};

	KERNELS_OK(ws_pool_create(2, &r.pool, err));
	r.backend = ws_backend_cpu_open(r.pool, 0);
	r.graph = ws_graph_create(precision);
	ws_graph_phase(r.graph, WSNVTX_PHASE_forward);
	return r;
}

/* Allocate and initialise; the graph is complete. */
static inline void kernels_start(struct kernels_run *r)
{
	KERNELS_OK(ws_exec_create(r->graph, r->backend, &r->exec, err));
	KERNELS_OK(ws_exec_init(r->exec, r->pool, 7, err));
}

static inline void kernels_close(struct kernels_run *r)
{
	ws_exec_destroy(r->exec);
	ws_graph_destroy(r->graph);
	ws_backend_close(r->backend);
	ws_pool_destroy(r->pool);
}

/* The tensor of that name (the first), NULL when there is none. */
static inline struct ws_tensor *graph_find(const struct ws_graph *graph, const char *name)
{
	for (int i = 0; i < graph->tensor_count; i++)
		if (!strcmp(graph->tensors[i]->name, name))
			return graph->tensors[i];
	return NULL;
}

/* A trained tensor of normal random numbers. */
static inline struct ws_tensor *kernels_param(struct ws_graph *graph, const char *name,
                                              struct ws_shape shape)
{
	return ws_graph_param(graph, name, shape, (struct ws_init){WS_INIT_TRUNC_NORMAL, 1});
}

static inline double *kernels_read(struct kernels_run *r, const struct ws_tensor *t)
{
	double *values = calloc((size_t)t->count, sizeof(*values));

	cr_assert_not_null(values);
	KERNELS_OK(ws_exec_read(r->exec, t, values, err));
	return values;
}

static inline void kernels_write(struct kernels_run *r, struct ws_tensor *t, const double *values)
{
	KERNELS_OK(ws_exec_write(r->exec, t, values, err));
}

/* Copy a tensor of a session, by name, to the host and back: count values must be its size. */
static inline enum ws_status step_read(struct ws_step *step, const char *name, double *values,
                                       int64_t count, struct ws_err *err)
{
	struct ws_tensor *t = graph_find(step->graph, name);

	cr_assert(t && t->count == count, "%s", name);
	return ws_exec_read(step->exec, t, values, err);
}

static inline enum ws_status step_write(struct ws_step *step, const char *name,
                                        const double *values, int64_t count, struct ws_err *err)
{
	struct ws_tensor *t = graph_find(step->graph, name);

	cr_assert(t && t->count == count, "%s", name);
	return ws_exec_write(step->exec, t, values, err);
}

/* Run the forward phase (and the loss, where there is one) from scratch. */
static inline void kernels_forward(struct kernels_run *r)
{
	ws_exec_step_begin(r->exec);
	KERNELS_OK(ws_exec_phase(r->exec, WSNVTX_PHASE_forward, err));
	KERNELS_OK(ws_exec_phase(r->exec, WSNVTX_PHASE_loss, err));
}

/* --- gradient check -------------------------------------------------------------------- */

struct kernels_check {
	struct kernels_run *run;
	struct ws_tensor *y;
	double *weight; /* of each element of y in the scalar that is differentiated */
	int compared, wrong;
};

static inline double kernels_scalar(struct kernels_check *c)
{
	double *y, sum = 0;

	kernels_forward(c->run);
	y = kernels_read(c->run, c->y);
	for (int64_t i = 0; i < c->y->count; i++)
		sum += c->weight[i] * y[i];
	free(y);
	return sum;
}

/* Derivative along a direction (of size count) at values, by central difference. */
static inline double kernels_difference(struct kernels_check *c, struct ws_tensor *p,
                                        const double *values, const double *direction, double h)
{
	double *moved = calloc((size_t)p->count, sizeof(*moved)), high, low;

	for (int64_t i = 0; i < p->count; i++)
		moved[i] = values[i] + h * direction[i];
	kernels_write(c->run, p, moved);
	high = kernels_scalar(c);
	for (int64_t i = 0; i < p->count; i++)
		moved[i] = values[i] - h * direction[i];
	kernels_write(c->run, p, moved);
	low = kernels_scalar(c);
	kernels_write(c->run, p, values);
	free(moved);
	return (high - low) / (2 * h);
}

static inline void kernels_compare(struct kernels_check *c, const char *name, double grad,
                                   double difference)
{
	double larger = fmax(fabs(grad), fabs(difference));

	c->compared++;
	if (!(fabs(grad - difference) <= 1e-7 + 1e-6 * larger)) {
		c->wrong++;
		fprintf(stderr, "%s: gradient %.12g, finite difference %.12g\n", name, grad,
		        difference);
	}
}

/* Some single coordinates of p, and one direction over all of them. */
static inline void kernels_check_param(struct kernels_check *c, struct ws_tensor *p,
                                       const double *grad, int coordinates)
{
	double *values = kernels_read(c->run, p), *direction, along = 0;
	struct ws_rng rng = ws_rng_stream(3, p->name);

	direction = calloc((size_t)p->count, sizeof(*direction));
	for (int n = 0; n < coordinates && n < p->count; n++) {
		int64_t i =
		        coordinates >= p->count
		                ? n
		                : (int64_t)(ws_rng_bits(&rng, (uint64_t)n) % (uint64_t)p->count);

		direction[i] = 1;
		kernels_compare(c, p->name, grad[i],
		                kernels_difference(c, p, values, direction,
		                                   1e-5 * fmax(1, fabs(values[i]))));
		direction[i] = 0;
	}
	for (int64_t i = 0; i < p->count; i++) {
		direction[i] = ws_rng_uniform(&rng, 1000 + (uint64_t)i) - 0.5;
		along += direction[i] * grad[i];
	}
	kernels_compare(c, p->name, along, kernels_difference(c, p, values, direction, 1e-5));
	free(direction);
	free(values);
}

/*
 * Compare the gradients of all parameters with finite differences. The graph
 * must have its backward phase, seeded with `seed`. Returns how many differ;
 * compared is how many were compared.
 */
static inline int kernels_gradients_wrong(struct kernels_run *r, struct ws_tensor *y,
                                          struct ws_tensor *seed, int coordinates, int *compared)
{
	struct kernels_check c = {.run = r, .y = y};
	double **grads = calloc((size_t)r->graph->tensor_count, sizeof(*grads));

	if (seed) {
		c.weight = kernels_read(r, seed);
	} else {
		c.weight = calloc(1, sizeof(double));
		c.weight[0] = 1;
	}
	kernels_forward(r);
	KERNELS_OK(ws_exec_phase(r->exec, WSNVTX_PHASE_backward, err));
	for (int i = 0; i < r->graph->tensor_count; i++)
		if (r->graph->tensors[i]->grad)
			grads[i] = kernels_read(r, r->graph->tensors[i]->grad);
	for (int i = 0; i < r->graph->tensor_count; i++) {
		if (grads[i])
			kernels_check_param(&c, r->graph->tensors[i], grads[i], coordinates);
		free(grads[i]);
	}
	free(grads);
	free(c.weight);
	*compared = c.compared;
	return c.wrong;
}

/* Append the backward phase of y, seeded with random numbers; returns the seed tensor. */
static inline struct ws_tensor *kernels_backward(struct kernels_run *r, struct ws_tensor *y)
{
	struct ws_tensor *seed;

	KERNELS_OK(ws_graph_check(r->graph, err));
	y->keep = true;
	seed = ws_graph_tensor(r->graph, "seed", WS_ROLE_INPUT, y->dtype, y->shape);
	seed->init = (struct ws_init){WS_INIT_TRUNC_NORMAL, 1};
	KERNELS_OK(ws_graph_backward(r->graph, y, seed, err));
	return seed;
}
