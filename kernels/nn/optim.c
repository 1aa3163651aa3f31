
#include "formats/base/options.h"
#include "kernels/nn/layers.h"

/* --- loss scaling -------------------------------------------------------------------------- */

#define FIRST_SCALE 65536.0
#define GROWTH      2.0
#define BACKOFF     0.5
#define INTERVAL    2000

struct ws_loss_scale ws_loss_scale_resolve(const struct ws_precision *precision,
                                           struct ws_loss_scale asked)
{
	if (asked.kind == WS_LOSS_SCALE_DEFAULT)
		asked.kind = precision->scale_max > 0 ? WS_LOSS_SCALE_DYNAMIC : WS_LOSS_SCALE_NONE;
	return asked;
}

struct ws_tensor *ws_scaler_append(struct ws_graph *graph, struct ws_loss_scale scaling,
                                   struct ws_tensor *loss, struct ws_scaler *scaler)
{
	memset(scaler, 0, sizeof(*scaler));
	if (!loss || scaling.kind == WS_LOSS_SCALE_NONE)
		return loss;
	scaler->dynamic = scaling.kind == WS_LOSS_SCALE_DYNAMIC;
	scaler->first = scaler->dynamic ? FIRST_SCALE : scaling.value;
	scaler->rule = (struct ws_scaler_rule){GROWTH, BACKOFF, graph->precision.scale_max,
	                                       scaling.interval ? scaling.interval : INTERVAL};
	scaler->scale = ws_graph_tensor(graph, "grad scaler.scale",
	                                scaler->dynamic ? WS_ROLE_STATE : WS_ROLE_CONST,
	                                ws_dtype_exact(loss->dtype), WS_SHAPE(1));
	scaler->scale->init = (struct ws_init){WS_INIT_FILL, scaler->first};
	if (scaler->dynamic) {
		scaler->tracker = ws_graph_tensor(graph, "grad scaler.tracker", WS_ROLE_STATE,
		                                  WS_DTYPE_I32, WS_SHAPE(1));
		scaler->tracker->init = (struct ws_init){WS_INIT_FILL, 0};
	}
	ws_graph_scope_push(graph, WSNVTX_OP_loss, "grad scaler");
	struct ws_tensor *scaled = ws_op_binary(graph, WS_SUB_MUL, loss, scaler->scale);
	ws_graph_scope_pop(graph);
	return scaled;
}

static void scaler_unscale(struct ws_graph *graph, const struct ws_scaler *scaler,
                           const struct ws_update_row *list, int count)
{
	struct ws_op op = {.sub = WS_SUB_UNSCALE,
	                   .in_count = 2,
	                   .out_count = 1,
	                   .in = {list->t[WS_UPDATE_A], scaler->scale},
	                   .out = {list->t[WS_UPDATE_OUT]},
	                   .u.update = {.list = list, .count = count}};

	if (scaler->dynamic) {
		op.in[op.in_count++] = scaler->found_inf;
		op.out[op.out_count++] = scaler->found_inf;
	}
	ws_graph_append(graph, &op);
}

/* --- optimizers ---------------------------------------------------------------------------- */

#define UNARY(sub, x, alpha)           ws_op_unary(graph, WS_SUB_##sub, (x), (alpha))
#define BINARY(sub, a, b)              ws_op_binary(graph, WS_SUB_##sub, (a), (b))
#define BINARY_INTO(sub, a, b, result) ws_op_binary_into(graph, WS_SUB_##sub, (a), (b), (result))

/* A parameter on its way through the optimizer. */
struct update {
	struct ws_tensor *param;
	struct ws_tensor *target; /* the updated tensor: the parameter or its master */
	struct ws_tensor *grad;   /* of target's dtype */
	struct ws_tensor *m, *v;  /* its state; m of SGD: momentum */
	struct ws_tensor *work;   /* intermediate values */
};

WS_CHOICE_NAMES(ws_optimizer_name, WS_OPTIMIZER_LIST)
WS_CHOICE_NAMES(ws_optimizer_impl_name, WS_OPTIMIZER_IMPL_LIST)

struct ws_optimizer ws_optimizer_defaults(enum ws_optimizer_kind kind)
{
	struct ws_optimizer o = WS_ADAMW_DEFAULT;

	o.kind = kind;
	if (kind == WS_OPTIMIZER_ADAM)
		o.weight_decay = 0;
	if (kind == WS_OPTIMIZER_SGD)
		o = (struct ws_optimizer){.kind = kind, .lr = 0.01, .momentum = 0.9};
	return o;
}

enum ws_optimizer_impl ws_optimizer_impl_resolve(const struct ws_optimizer *optimizer,
                                                 enum ws_fusion fusion)
{
	if (optimizer->impl != WS_OPTIMIZER_IMPL_USUAL)
		return optimizer->impl;
	if (fusion == WS_FUSION_FULL)
		return WS_OPTIMIZER_IMPL_FUSED;
	return optimizer->kind == WS_OPTIMIZER_ADAMW_CS336 ? WS_OPTIMIZER_IMPL_LOOP
	                                                   : WS_OPTIMIZER_IMPL_FOREACH;
}

static struct ws_tensor *state(struct ws_graph *graph, const struct update *u, const char *suffix)
{
	const char *name = ws_graph_text(graph, "%s.%s", u->param->name, suffix);
	struct ws_tensor *t =
	        ws_graph_tensor(graph, name, WS_ROLE_STATE, u->target->dtype, u->target->shape);

	t->init = (struct ws_init){WS_INIT_FILL, 0};
	return t;
}

/* --- the course's loop ------------------------------------------------------------- */

static void adamw_cs336(struct ws_graph *graph, const struct ws_optimizer *o,
                        const struct ws_optim *optim, const struct update *u)
{
	struct ws_tensor *p = u->target, *old, *new, *step;

	old = UNARY(SCALE, u->m, o->beta1);
	new = UNARY(SCALE, u->grad, 1 - o->beta1);
	BINARY_INTO(ADD, old, new, u->m);
	old = UNARY(SCALE, u->v, o->beta2);
	new = UNARY(SCALE, UNARY(SQUARE, u->grad, 0), 1 - o->beta2);
	BINARY_INTO(ADD, old, new, u->v);
	/* in m's dtype, as a product with a number is */
	step = ws_graph_tensor(graph, "multiply", WS_ROLE_ACTIVATION, u->m->dtype, u->m->shape);
	step = BINARY_INTO(MUL, u->m, optim->alpha, step);
	step = BINARY(DIV, step, UNARY(ADD_CONST, UNARY(SQRT, u->v, 0), o->eps));
	BINARY_INTO(SUB, p, step, p);
	step = UNARY(SCALE, p, o->lr * o->weight_decay);
	BINARY_INTO(SUB, p, step, p);
}

/* --- those of torch.optim, and the fused ones --------------------------------------- */

/* Parameters that one call of each function is for: all of them, or one of a loop. */
struct group {
	struct ws_graph *graph;
	const struct ws_optimizer *o;
	const struct ws_optim *optim;
	struct update *list;
	int count;
	bool foreach;
};

/* The tensor of a parameter. WORK: made when it is first written. */
enum slot { NONE, PARAM, GRAD, M, V, WORK };

/* out = f(a, b, c) for all of a group in one op */
static void append_update(const struct group *g, enum ws_sub sub, double alpha, enum slot out,
                          enum slot a, enum slot b, enum slot c)
{
	struct ws_graph *graph = g->graph;
	const enum slot slots[WS_UPDATE_TENSORS] = {out, a, b, c};
	struct ws_update_factors factors = {.alpha = alpha};
	struct ws_update_row *rows = ws_graph_alloc(graph, (size_t)g->count * sizeof(*rows));
	struct ws_tensor *number = sub == WS_SUB_EACH_MUL       ? g->optim->correction
	                           : sub == WS_SUB_EACH_ADDCDIV ? g->optim->alpha
	                                                        : NULL;

	for (int i = 0; i < g->count; i++)
		for (int k = 0; k < WS_UPDATE_TENSORS; k++) {
			struct update *u = &g->list[i];

			if (slots[k] == WORK && !u->work)
				u->work = ws_graph_tensor(graph, "work", WS_ROLE_ACTIVATION,
				                          u->target->dtype, u->target->shape);
			rows[i].t[k] = (struct ws_tensor *[]){NULL, u->target, u->grad,
			                                      u->m, u->v,      u->work}[slots[k]];
		}
	ws_op_update(graph, sub, number, NULL, rows, g->count, factors,
	             g->foreach ? ws_graph_text(graph, "foreach %s", ws_sub_info(sub)->name)
	                        : NULL);
}

/* Decay that is part of the gradient: which is where. */
static enum slot decayed(const struct group *g)
{
	if (g->o->weight_decay == 0)
		return GRAD;
	append_update(g, WS_SUB_EACH_ADD, g->o->weight_decay, WORK, GRAD, PARAM, NONE);
	return WORK;
}

static void adam(const struct group *g)
{
	const struct ws_optimizer *o = g->o;
	enum slot grad = GRAD;

	if (o->kind == WS_OPTIMIZER_ADAM)
		grad = decayed(g);
	else
		append_update(g, WS_SUB_EACH_SCALE, 1 - o->lr * o->weight_decay, PARAM, PARAM, NONE,
		              NONE);
	append_update(g, WS_SUB_EACH_LERP, 1 - o->beta1, M, M, grad, NONE);
	append_update(g, WS_SUB_EACH_SCALE, o->beta2, V, V, NONE, NONE);
	append_update(g, WS_SUB_EACH_ADDCMUL, 1 - o->beta2, V, V, grad, grad);
	for (int i = 0; i < g->count; i++)
		g->list[i].work = NULL; /* new tensors from here on */
	append_update(g, WS_SUB_EACH_SQRT, 0, WORK, V, NONE, NONE);
	append_update(g, WS_SUB_EACH_MUL, 0, WORK, WORK, NONE, NONE);
	append_update(g, WS_SUB_EACH_ADD_CONST, o->eps, WORK, WORK, NONE, NONE);
	append_update(g, WS_SUB_EACH_ADDCDIV, 0, PARAM, PARAM, M, WORK);
}

static void sgd(const struct group *g)
{
	enum slot step = decayed(g);

	if (g->o->momentum != 0) {
		append_update(g, WS_SUB_EACH_SCALE, g->o->momentum, M, M, NONE, NONE);
		append_update(g, WS_SUB_EACH_ADD, 1, M, M, step, NONE);
		step = M;
	}
	append_update(g, WS_SUB_EACH_ADD, -g->o->lr, PARAM, PARAM, step, NONE);
}

static void fused(const struct group *g)
{
	static const enum ws_sub subs[] = {
	        [WS_OPTIMIZER_ADAMW_CS336] = WS_SUB_ADAMW_CS336_ALL,
	        [WS_OPTIMIZER_ADAMW] = WS_SUB_ADAMW_ALL,
	        [WS_OPTIMIZER_ADAM] = WS_SUB_ADAM_ALL,
	        [WS_OPTIMIZER_SGD] = WS_SUB_SGD_ALL,
	};
	const struct ws_optimizer *o = g->o;
	bool apart = o->kind <= WS_OPTIMIZER_ADAMW; /* decay, from the gradient */
	struct ws_update_factors f = {o->lr, o->beta1, o->beta2, o->eps,
	                              o->weight_decay * (apart ? o->lr : 1)};
	struct ws_update_row *rows = ws_graph_alloc(g->graph, (size_t)g->count * sizeof(*rows));

	if (o->kind == WS_OPTIMIZER_SGD)
		f.beta1 = o->momentum;
	for (int i = 0; i < g->count; i++) {
		const struct update *u = &g->list[i];

		rows[i] = (struct ws_update_row){{u->target, u->m, u->v, u->grad}};
	}
	ws_op_update(g->graph, subs[o->kind], g->optim->alpha, g->optim->correction, rows, g->count,
	             f, NULL);
}

/* --- the phase --------------------------------------------------------------------- */

/* Gradients that the kinds can use: not scaled, in the dtype of what they update. */
static void make_grads(struct ws_graph *graph, struct update *list, int count,
                       struct ws_scaler *scaler)
{
	struct ws_update_row *rows = ws_graph_alloc(graph, (size_t)count * sizeof(*rows));
	int same = 0;

	if (scaler) {
		ws_graph_scope_push(graph, WSNVTX_OP_optimizer, "grad scaler");
	}
	if (scaler && scaler->dynamic) {
		scaler->found_inf = ws_op_fill(graph, scaler->scale->dtype, WS_SHAPE(1), 0);
		scaler->found_inf->keep = true;
	}
	/* those of the dtype of what they update in place, by one op for all of them */
	for (int i = 0; i < count && scaler; i++) {
		struct ws_tensor *grad = list[i].param->grad;

		if (grad->dtype != list[i].target->dtype)
			continue;
		list[i].grad = grad;
		rows[same++] = (struct ws_update_row){{grad, grad}};
	}
	if (same)
		scaler_unscale(graph, scaler, rows, same);
	for (int i = 0; i < count; i++) {
		struct update *u = &list[i];
		struct ws_tensor *grad = u->param->grad;

		graph->layer = u->param->layer;
		if (!u->grad && scaler) {
			u->grad = ws_graph_tensor(graph, "unscaled", WS_ROLE_ACTIVATION,
			                          u->target->dtype, grad->shape);
			rows[same] = (struct ws_update_row){{u->grad, grad}};
			scaler_unscale(graph, scaler, &rows[same++], 1);
		} else if (!u->grad) {
			u->grad = ws_op_cast(graph, grad, u->target->dtype);
		}
		u->grad->keep = true; /* like .grad of a master in PyTorch */
	}
	graph->layer = -1;
	if (scaler)
		ws_graph_scope_pop(graph);
}

struct ws_optim ws_optim_append(struct ws_graph *graph, const struct ws_optimizer *optimizer,
                                struct ws_scaler *scaler)
{
	enum ws_dtype exact = ws_dtype_exact(graph->precision.storage);
	struct ws_optim optim = {0};
	struct update *list = ws_graph_alloc(graph, (size_t)graph->tensor_count * sizeof(*list));
	int tensors = graph->tensor_count;
	int count = 0;

	/* All parameters with a gradient; those of 16 bits with their fp32 masters, in a mode that
	 * has them. */
	ws_graph_phase(graph, WSNVTX_PHASE_setup);
	for (int i = 0; i < tensors; i++) {
		struct ws_tensor *p = graph->tensors[i];

		if (p->role != WS_ROLE_PARAM || !p->grad)
			continue;
		const enum ws_dtype wide = ws_dtype_exact(p->dtype);

		graph->layer = p->layer;
		list[count] = (struct update){.param = p, .target = p};
		if (graph->precision.masters && p->dtype != wide) {
			const char *name = ws_graph_text(graph, "%s.master", p->name);
			struct ws_tensor *master =
			        ws_graph_tensor(graph, name, WS_ROLE_STATE, wide, p->shape);

			list[count].target = ws_op_cast_into(graph, p, master);
		}
		count++;
	}
	struct group all = {graph, optimizer, &optim, list, count, true};

	ws_graph_phase(graph, WSNVTX_PHASE_optimizer);
	graph->kind = WSNVTX_OP_optimizer;
	if (optimizer->kind != WS_OPTIMIZER_SGD)
		optim.alpha = ws_graph_tensor(graph, "optimizer.alpha", WS_ROLE_INPUT, exact,
		                              WS_SHAPE(1));
	if (optimizer->kind == WS_OPTIMIZER_ADAM || optimizer->kind == WS_OPTIMIZER_ADAMW)
		optim.correction = ws_graph_tensor(graph, "optimizer.correction", WS_ROLE_INPUT,
		                                   exact, WS_SHAPE(1));
	make_grads(graph, list, count, scaler);
	for (int i = 0; i < count; i++) {
		graph->layer = list[i].param->layer;
		if (optimizer->kind != WS_OPTIMIZER_SGD) {
			list[i].m = state(graph, &list[i], "m");
			list[i].v = state(graph, &list[i], "v");
		} else if (optimizer->momentum != 0) {
			list[i].m = state(graph, &list[i], "momentum");
		}
	}
	graph->layer = -1;
	graph->unless = scaler ? scaler->found_inf : NULL;
	/* the norm of all gradients; they are scaled down if it is too large */
	if (optimizer->clip_norm != 0 && count) {
		struct ws_update_row *rows = ws_graph_alloc(graph, (size_t)count * sizeof(*rows));

		ws_graph_scope_push(graph, WSNVTX_OP_optimizer, "gradient clipping");
		for (int i = 0; i < count; i++)
			rows[i] = (struct ws_update_row){{list[i].grad, list[i].grad}};
		struct ws_tensor *factor =
		        ws_op_clip_norm(graph, rows, count, optimizer->clip_norm);
		ws_op_update(graph, WS_SUB_EACH_MUL, factor, NULL, rows, count,
		             (struct ws_update_factors){0}, "scale of all gradients");
		ws_graph_scope_pop(graph);
	}
	enum ws_optimizer_impl impl = ws_optimizer_impl_resolve(optimizer, graph->fusion);
	if (impl == WS_OPTIMIZER_IMPL_FOREACH && optimizer->kind == WS_OPTIMIZER_ADAMW_CS336)
		ws_graph_fail(graph, WS_USAGE,
		              "adamw-cs336 is a loop over the parameters: loop or fused, "
		              "not foreach; adamw is PyTorch's");
	if (impl == WS_OPTIMIZER_IMPL_FUSED)
		fused(&all);
	else if (impl == WS_OPTIMIZER_IMPL_FOREACH && count)
		(optimizer->kind == WS_OPTIMIZER_SGD ? sgd : adam)(&all);
	for (int i = 0; i < count && impl == WS_OPTIMIZER_IMPL_LOOP; i++) {
		struct group one = {graph, optimizer, &optim, &list[i], 1, false};

		graph->layer = list[i].param->layer;
		if (optimizer->kind == WS_OPTIMIZER_ADAMW_CS336)
			adamw_cs336(graph, optimizer, &optim, &list[i]);
		else
			(optimizer->kind == WS_OPTIMIZER_SGD ? sgd : adam)(&one);
	}
	for (int i = 0; i < count; i++) {
		graph->layer = list[i].param->layer;
		if (list[i].target != list[i].param)
			ws_op_cast_into(graph, list[i].target, list[i].param);
	}
	graph->layer = -1;
	graph->unless = NULL;
	if (scaler && scaler->dynamic) {
		struct ws_op op = {.sub = WS_SUB_SCALE_UPDATE,
		                   .in_count = 3,
		                   .out_count = 2,
		                   .in = {scaler->scale, scaler->tracker, scaler->found_inf},
		                   .out = {scaler->scale, scaler->tracker},
		                   .u.scaler = scaler->rule};

		ws_graph_scope_push(graph, WSNVTX_OP_optimizer, "grad scaler");
		ws_graph_append(graph, &op);
		ws_graph_scope_pop(graph);
	}
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
	double alpha = optimizer->kind == WS_OPTIMIZER_ADAMW_CS336
	                       ? ws_adamw_alpha(optimizer, t)
	                       : optimizer->lr / (1 - pow(optimizer->beta1, (double)t));

	if (optim->alpha)
		WS_FORWARD(ws_exec_write(exec, optim->alpha, &alpha, err));
	if (optim->correction)
		WS_FORWARD(ws_exec_write(exec, optim->correction, &correction, err));
	return WS_OK;
}
