#include "kernels/nn/optim.h"

#include <math.h>

#include "formats/base/options.h"
#include "kernels/graph/ops.h"
#include "kernels/graph/ops_fused.h"

#define UNARY(sub, x, alpha)           ws_op_unary(graph, WS_SUB_##sub, (x), (alpha))
#define BINARY(sub, a, b)              ws_op_binary(graph, WS_SUB_##sub, (a), (b))
#define BINARY_INTO(sub, a, b, result) ws_op_binary_into(graph, WS_SUB_##sub, (a), (b), (result))

/* A parameter on its way through the optimizer. */
struct update {
	struct ws_tensor *param;
	struct ws_tensor *target; /* what is updated: the parameter or its master */
	struct ws_tensor *grad;   /* of target's dtype */
};

WS_CHOICE_NAMES(ws_optimizer_name, WS_OPTIMIZER_LIST)

struct ws_optimizer ws_optimizer_defaults(enum ws_optimizer_kind kind)
{
	struct ws_optimizer o = WS_ADAMW_DEFAULT;

	o.kind = kind;
	switch (kind) {
	case WS_OPTIMIZER_ADAMW:
		break;
	case WS_OPTIMIZER_ADAM:
		o.weight_decay = 0;
		break;
	case WS_OPTIMIZER_SGD:
		o = (struct ws_optimizer){.kind = kind, .lr = 0.01, .momentum = 0.9};
		break;
	}
	return o;
}

static struct ws_tensor *state(struct ws_graph *graph, const struct update *u, const char *suffix)
{
	const char *name = ws_graph_text(graph, "%s.%s", u->param->name, suffix);
	struct ws_tensor *t =
	        ws_graph_tensor(graph, name, WS_ROLE_STATE, u->target->dtype, u->target->shape);

	t->init = (struct ws_init){WS_INIT_FILL, 0};
	return t;
}

/* x times a number of its own step, in x's dtype. */
static struct ws_tensor *times(struct ws_graph *graph, struct ws_tensor *x,
                               struct ws_tensor *number)
{
	return BINARY_INTO(MUL, x, number,
	                   ws_graph_tensor(graph, "multiply", WS_ROLE_ACTIVATION, x->dtype,
	                                   x->shape));
}

/* --- the kinds --------------------------------------------------------------------- */

/* m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2 */
static void moments(struct ws_graph *graph, const struct ws_optimizer *o, struct ws_tensor *grad,
                    struct ws_tensor *m, struct ws_tensor *v)
{
	struct ws_tensor *old, *new;

	old = UNARY(SCALE, m, o->beta1);
	new = UNARY(SCALE, grad, 1 - o->beta1);
	BINARY_INTO(ADD, old, new, m);

	old = UNARY(SCALE, v, o->beta2);
	new = UNARY(SQUARE, grad, 0);
	new = UNARY(SCALE, new, 1 - o->beta2);
	BINARY_INTO(ADD, old, new, v);
}

static void adamw(struct ws_graph *graph, const struct ws_optimizer *o,
                  const struct ws_optim *optim, const struct update *u)
{
	struct ws_tensor *p = u->target, *m = state(graph, u, "m"), *v = state(graph, u, "v");
	struct ws_tensor *update;

	moments(graph, o, u->grad, m, v);
	update = times(graph, m, optim->alpha);
	update = BINARY(DIV, update, UNARY(ADD_CONST, UNARY(SQRT, v, 0), o->eps));
	BINARY_INTO(SUB, p, update, p);
	update = UNARY(SCALE, p, o->lr * o->weight_decay);
	BINARY_INTO(SUB, p, update, p);
}

/* ADAMW of all parameters as one op. */
static void adamw_fused(struct ws_graph *graph, const struct ws_optimizer *o,
                        const struct ws_optim *optim, const struct update *updates, int count)
{
	struct ws_adamw_factors factors = {o->beta1, o->beta2, o->eps, o->lr * o->weight_decay};
	struct ws_adamw_tensor *list = ws_graph_alloc(graph, (size_t)count * sizeof(*list));

	for (int i = 0; i < count; i++)
		list[i] = (struct ws_adamw_tensor){
		        .p = updates[i].target,
		        .g = updates[i].grad,
		        .m = state(graph, &updates[i], "m"),
		        .v = state(graph, &updates[i], "v"),
		};
	ws_op_adamw(graph, optim->alpha, list, count, factors);
}

/* The gradient of the loss with weight_decay / 2 times the squares of all weights. */
static struct ws_tensor *decayed(struct ws_graph *graph, const struct ws_optimizer *o,
                                 const struct update *u)
{
	if (o->weight_decay == 0)
		return u->grad;
	return BINARY(ADD, u->grad, UNARY(SCALE, u->target, o->weight_decay));
}

static void adam(struct ws_graph *graph, const struct ws_optimizer *o, const struct ws_optim *optim,
                 const struct update *u)
{
	struct ws_tensor *p = u->target, *m = state(graph, u, "m"), *v = state(graph, u, "v");
	struct ws_tensor *update;

	moments(graph, o, decayed(graph, o, u), m, v);
	update = times(graph, UNARY(SQRT, v, 0), optim->correction);
	/* divided first: the quotient is of the order of 1, where 16 bits lose least */
	update = BINARY(DIV, m, UNARY(ADD_CONST, update, o->eps));
	BINARY_INTO(SUB, p, times(graph, update, optim->alpha), p);
}

static void sgd(struct ws_graph *graph, const struct ws_optimizer *o, const struct ws_optim *optim,
                const struct update *u)
{
	struct ws_tensor *p = u->target, *step = decayed(graph, o, u);

	(void)optim;
	if (o->momentum != 0) {
		struct ws_tensor *buffer = state(graph, u, "momentum");

		step = BINARY_INTO(ADD, UNARY(SCALE, buffer, o->momentum), step, buffer);
	}
	BINARY_INTO(SUB, p, UNARY(SCALE, step, o->lr), p);
}

/* --- the phase --------------------------------------------------------------------- */

/* The fp32 copy of a 16-bit parameter, in a mode that has them; else the parameter. */
static struct ws_tensor *target_of(struct ws_graph *graph, struct ws_tensor *param)
{
	const char *name;

	if (!graph->precision.masters || param->dtype == ws_dtype_exact(param->dtype))
		return param;
	name = ws_graph_text(graph, "%s.master", param->name);
	return ws_op_cast_into(graph, param,
	                       ws_graph_tensor(graph, name, WS_ROLE_STATE,
	                                       ws_dtype_exact(param->dtype), param->shape));
}

/* All parameters with a gradient. */
static struct update *collect(struct ws_graph *graph, int *count)
{
	struct update *list = ws_graph_alloc(graph, (size_t)graph->tensor_count * sizeof(*list));
	int tensors = graph->tensor_count;

	*count = 0;
	ws_graph_phase(graph, WSNVTX_PHASE_setup);
	for (int i = 0; i < tensors; i++) {
		struct ws_tensor *p = graph->tensors[i];

		if (p->role != WS_ROLE_PARAM || !p->grad)
			continue;
		graph->layer = p->layer;
		list[(*count)++] = (struct update){.param = p, .target = target_of(graph, p)};
	}
	return list;
}

/* The scaled gradients that have the dtype of what they update: one op for all of them. */
static void unscale_in_place(struct ws_graph *graph, struct update *list, int count,
                             const struct ws_scaler *scaler)
{
	struct ws_tensor **grads =
	        ws_graph_alloc(graph, (size_t)count * sizeof(struct ws_tensor *));
	int same = 0;

	for (int i = 0; i < count; i++)
		if (list[i].param->grad->dtype == list[i].target->dtype)
			grads[same++] = list[i].grad = list[i].param->grad;
	ws_scaler_unscale_all(graph, scaler, grads, same);
}

/* Gradients that the kinds can use: not scaled, in the dtype of what they update. */
static void make_grads(struct ws_graph *graph, struct update *list, int count,
                       struct ws_scaler *scaler)
{
	if (scaler) {
		ws_graph_scope_push(graph, WSNVTX_OP_optimizer, "grad scaler");
		ws_scaler_begin(graph, scaler);
		unscale_in_place(graph, list, count, scaler);
	}
	for (int i = 0; i < count; i++) {
		struct ws_tensor *grad = list[i].param->grad;

		if (list[i].grad)
			continue;
		graph->layer = list[i].param->layer;
		grad = scaler ? ws_scaler_unscale(graph, scaler, grad, list[i].target->dtype)
		              : ws_op_cast(graph, grad, list[i].target->dtype);
		grad->keep = true; /* like .grad of a master in PyTorch */
		list[i].grad = grad;
	}
	graph->layer = -1;
	if (scaler)
		ws_graph_scope_pop(graph);
}

static struct ws_tensor *number(struct ws_graph *graph, const char *name)
{
	return ws_graph_tensor(graph, name, WS_ROLE_INPUT, ws_dtype_exact(graph->precision.storage),
	                       WS_SHAPE(1));
}

static struct ws_optim make_numbers(struct ws_graph *graph, const struct ws_optimizer *optimizer)
{
	struct ws_optim optim = {0};

	if (optimizer->kind != WS_OPTIMIZER_SGD)
		optim.alpha = number(graph, "optimizer.alpha");
	if (optimizer->kind == WS_OPTIMIZER_ADAM)
		optim.correction = number(graph, "optimizer.correction");
	return optim;
}

static void append_updates(struct ws_graph *graph, const struct ws_optimizer *optimizer,
                           const struct ws_optim *optim, const struct update *list, int count)
{
	static void (*const kinds[])(struct ws_graph *, const struct ws_optimizer *,
	                             const struct ws_optim *, const struct update *) = {
	        [WS_OPTIMIZER_ADAMW] = adamw,
	        [WS_OPTIMIZER_ADAM] = adam,
	        [WS_OPTIMIZER_SGD] = sgd,
	};

	if (graph->fusion == WS_FUSION_FULL && optimizer->kind == WS_OPTIMIZER_ADAMW) {
		adamw_fused(graph, optimizer, optim, list, count);
	} else {
		for (int i = 0; i < count; i++) {
			graph->layer = list[i].param->layer;
			kinds[optimizer->kind](graph, optimizer, optim, &list[i]);
		}
	}
	for (int i = 0; i < count; i++) {
		graph->layer = list[i].param->layer;
		if (list[i].target != list[i].param)
			ws_op_cast_into(graph, list[i].target, list[i].param);
	}
	graph->layer = -1;
}

struct ws_optim ws_optim_append(struct ws_graph *graph, const struct ws_optimizer *optimizer,
                                struct ws_scaler *scaler)
{
	struct ws_optim optim = {0};
	int count;
	struct update *list = collect(graph, &count);

	ws_graph_phase(graph, WSNVTX_PHASE_optimizer);
	graph->kind = WSNVTX_OP_optimizer;
	optim = make_numbers(graph, optimizer);
	make_grads(graph, list, count, scaler);
	graph->unless = scaler ? scaler->found_inf : NULL;
	append_updates(graph, optimizer, &optim, list, count);
	graph->unless = NULL;
	if (scaler)
		ws_scaler_end(graph, scaler);
	return optim;
}

/* --- numbers of a step ------------------------------------------------------------- */

double ws_adamw_alpha(const struct ws_optimizer *adamw, int64_t t)
{
	return adamw->lr * sqrt(1 - pow(adamw->beta2, (double)t)) /
	       (1 - pow(adamw->beta1, (double)t));
}

enum ws_status ws_optim_feed(struct ws_exec *exec, const struct ws_optimizer *optimizer,
                             const struct ws_optim *optim, int64_t t, struct ws_err *err)
{
	double correction = 1 / sqrt(1 - pow(optimizer->beta2, (double)t));
	double alpha = optimizer->kind == WS_OPTIMIZER_ADAM
	                       ? optimizer->lr / (1 - pow(optimizer->beta1, (double)t))
	                       : ws_adamw_alpha(optimizer, t);

	if (optim->alpha)
		WS_FORWARD(ws_exec_write(exec, optim->alpha, &alpha, err));
	if (optim->correction)
		WS_FORWARD(ws_exec_write(exec, optim->correction, &correction, err));
	return WS_OK;
}
