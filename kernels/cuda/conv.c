/* Convolutions: which there are, which plan computes each, and running them. */
#include "kernels/cuda/conv.h"
#include "kernels/cuda/dnn_graph.h"

#include <stdlib.h>

struct ws_cuda_convs {
	struct ws_cuda_conv *convs;
	int count;
};

bool ws_cuda_is_conv(const struct ws_op *op)
{
	return op->kind == WS_OP_CONV || op->kind == WS_OP_CONV_DGRAD ||
	       op->kind == WS_OP_CONV_WGRAD;
}

static void shape_of(const struct ws_op *op, struct ws_cuda_conv_shape *shape)
{
	struct ws_cuda_conv_roles roles = ws_cuda_conv_roles(op->kind);

	*shape =
	        (struct ws_cuda_conv_shape){.conv = op->u.conv, .kind = op->kind, .tf32 = op->tf32};
	shape->dtype[roles.in[0]] = op->in[0]->dtype;
	shape->dtype[roles.in[1]] = op->in[1]->dtype;
	shape->dtype[roles.out] = op->out[0]->dtype;
}

static bool is_same_conv(const struct ws_conv *a, const struct ws_conv *b)
{
	return a->layout == b->layout && a->n == b->n && a->c == b->c && a->h == b->h &&
	       a->w == b->w && a->k == b->k && a->r == b->r && a->s == b->s && a->p == b->p &&
	       a->q == b->q && a->stride == b->stride && a->pad_h == b->pad_h &&
	       a->pad_w == b->pad_w && a->groups == b->groups;
}

static bool is_same(const struct ws_cuda_conv_shape *a, const struct ws_cuda_conv_shape *b)
{
	return a->kind == b->kind && a->tf32 == b->tf32 &&
	       !memcmp(a->dtype, b->dtype, sizeof(a->dtype)) && is_same_conv(&a->conv, &b->conv);
}

static const struct ws_cuda_conv *find(const struct ws_cuda_convs *convs,
                                       const struct ws_cuda_conv_shape *shape)
{
	for (int i = 0; convs && i < convs->count; i++)
		if (is_same(&convs->convs[i].shape, shape))
			return &convs->convs[i];
	return NULL;
}

enum ws_status ws_cuda_conv_run(struct ws_cuda *cuda, const struct ws_op *op, struct ws_err *err)
{
	struct ws_cuda_conv_roles roles = ws_cuda_conv_roles(op->kind);
	const struct ws_cuda_conv *conv;
	struct ws_cuda_conv_shape shape;
	void *data[WS_CONV_ROLES];

	shape_of(op, &shape);
	conv = find(cuda->convs, &shape);
	WS_FAIL_IF(!conv, err, BUG, "op %s was not in the plan", op->message);
	data[roles.in[0]] = op->in[0]->data;
	data[roles.in[1]] = op->in[1]->data;
	data[roles.out] = op->out[0]->data;
	return ws_cuda_conv_start(cuda, conv, conv->chosen, data, err);
}

/* --- choosing by time ------------------------------------------------------------------------- */

static enum ws_status random_data(struct ws_cuda *cuda, const struct ws_cuda_conv_shape *shape,
                                  void *data[WS_CONV_ROLES], struct ws_err *err)
{
	for (int role = 0; role < WS_CONV_ROLES; role++) {
		int64_t dims[4], strides[4];

		ws_cuda_conv_dims(&shape->conv, (enum ws_conv_role)role, dims, strides);
		WS_FORWARD(ws_cuda_random(cuda, dims[0] * strides[0], shape->dtype[role],
		                          &data[role], err));
	}
	return WS_OK;
}

/* One candidate on its data. */
struct trial {
	struct ws_cuda *cuda;
	const struct ws_cuda_conv *conv;
	int candidate;
	void *data[WS_CONV_ROLES];
};

static enum ws_status run_trial(void *arg, struct ws_err *err)
{
	const struct trial *t = arg;

	return ws_cuda_conv_start(t->cuda, t->conv, t->candidate, t->data, err);
}

static enum ws_status choose(struct ws_cuda *cuda, struct ws_cuda_conv *conv, struct ws_err *err)
{
	struct trial trial = {.cuda = cuda, .conv = conv};
	float best_ms = 0, ms;
	enum ws_status status = random_data(cuda, &conv->shape, trial.data, err);

	conv->chosen = -1;
	for (; trial.candidate < conv->count && status == WS_OK; trial.candidate++) {
		/* a candidate that does not run is not chosen; others remain */
		if (ws_cuda_time(cuda, run_trial, &trial, &ms, NULL) == WS_OK &&
		    (conv->chosen < 0 || ms < best_ms)) {
			conv->chosen = trial.candidate;
			best_ms = ms;
		}
	}
	if (status == WS_OK && conv->chosen < 0)
		status = WS_FAIL(err, ENVIRONMENT,
		                 "none of cuDNN's %d plans for a convolution runs; "
		                 "try the other --layout, or without --autotune",
		                 conv->count);
	for (int i = 0; i < WS_CONV_ROLES; i++)
		cudaFree(trial.data[i]);
	return status;
}

enum ws_status ws_cuda_convs_prepare(struct ws_cuda *cuda, const struct ws_backend_plan *plan,
                                     struct ws_err *err)
{
	/* as a graph's sums must not depend on what was fastest today */
	bool timed = cuda->options.autotune && !cuda->options.deterministic;
	int ops = 0;

	for (int i = 0; i < plan->op_count; i++)
		ops += ws_cuda_is_conv(plan->ops[i]);
	cuda->convs = calloc(1, sizeof(*cuda->convs));
	WS_FAIL_IF(!cuda->convs, err, NO_MEMORY, "out of memory for plans of convolutions");
	cuda->convs->convs = calloc((size_t)ops + 1, sizeof(*cuda->convs->convs));
	WS_FAIL_IF(!cuda->convs->convs, err, NO_MEMORY, "out of memory for plans of convolutions");
	for (int i = 0; i < plan->op_count; i++) {
		struct ws_cuda_conv_shape shape;
		struct ws_cuda_conv *conv;

		if (!ws_cuda_is_conv(plan->ops[i]))
			continue;
		shape_of(plan->ops[i], &shape);
		if (find(cuda->convs, &shape))
			continue;
		conv = &cuda->convs->convs[cuda->convs->count++];
		conv->shape = shape;
		WS_FORWARD(ws_cuda_conv_plan(cuda, conv, timed ? WS_CUDA_CONV_CANDIDATES : 1, err));
		if (timed)
			WS_FORWARD(choose(cuda, conv, err));
	}
	return WS_OK;
}

void ws_cuda_convs_close(struct ws_cuda_convs *convs)
{
	for (int i = 0; convs && i < convs->count; i++)
		for (int j = 0; j < WS_CUDA_CONV_CANDIDATES; j++)
			ws_dnn_destroy(&convs->convs[i].plan[j]);
	if (convs)
		free(convs->convs);
	free(convs);
}
