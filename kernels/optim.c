#include "kernels/optim.h"

#include <math.h>

#include "kernels/ops.h"
#include "kernels/ops_fused.h"

#define UNARY(sub, x, alpha)           ws_op_unary(graph, WS_SUB_##sub, (x), (alpha))
#define BINARY(sub, a, b)              ws_op_binary(graph, WS_SUB_##sub, (a), (b))
#define BINARY_INTO(sub, a, b, result) ws_op_binary_into(graph, WS_SUB_##sub, (a), (b), (result))

static struct ws_tensor *state(struct ws_graph *graph, const struct ws_tensor *param,
                               const char *suffix)
{
	const char *name = ws_graph_text(graph, "%s.%s", param->name, suffix);
	struct ws_tensor *t;

	if (!name)
		return NULL;
	t = ws_graph_tensor(graph, name, WS_ROLE_STATE, param->dtype, param->shape);
	if (t)
		t->init = (struct ws_init){WS_INIT_FILL, 0};
	return t;
}

static void adamw_param(struct ws_graph *graph, const struct ws_adamw *adamw, struct ws_tensor *p,
                        struct ws_tensor *alpha)
{
	struct ws_tensor *m = state(graph, p, "m"), *v = state(graph, p, "v");
	struct ws_tensor *old, *new, *update;

	old = UNARY(SCALE, m, adamw->beta1);
	new = UNARY(SCALE, p->grad, 1 - adamw->beta1);
	BINARY_INTO(ADD, old, new, m);

	old = UNARY(SCALE, v, adamw->beta2);
	new = UNARY(SQUARE, p->grad, 0);
	new = UNARY(SCALE, new, 1 - adamw->beta2);
	BINARY_INTO(ADD, old, new, v);

	update = BINARY(MUL, m, alpha);
	update = BINARY(DIV, update, UNARY(ADD_CONST, UNARY(SQRT, v, 0), adamw->eps));
	BINARY_INTO(SUB, p, update, p);
	update = UNARY(SCALE, p, adamw->lr * adamw->weight_decay);
	BINARY_INTO(SUB, p, update, p);
}

/* Append the ops of all parameters before tensor count that have a gradient. */
static void adamw_eager(struct ws_graph *graph, const struct ws_adamw *adamw,
                        struct ws_tensor *alpha, int count)
{
	for (int i = 0; i < count; i++) {
		struct ws_tensor *p = graph->tensors[i];

		if (p->role != WS_ROLE_PARAM || !p->grad)
			continue;
		graph->layer = p->layer;
		adamw_param(graph, adamw, p, alpha);
	}
}

/* The same as one op. */
static void adamw_fused(struct ws_graph *graph, const struct ws_adamw *adamw,
                        struct ws_tensor *alpha, int count)
{
	struct ws_adamw_factors factors = {adamw->beta1, adamw->beta2, adamw->eps,
	                                   adamw->lr * adamw->weight_decay};
	struct ws_adamw_tensor *list = ws_graph_alloc(graph, (size_t)count * sizeof(*list));
	int n = 0;

	for (int i = 0; list && i < count; i++) {
		struct ws_tensor *p = graph->tensors[i];

		if (p->role != WS_ROLE_PARAM || !p->grad)
			continue;
		list[n].p = p;
		list[n].g = p->grad;
		list[n].m = state(graph, p, "m");
		list[n].v = state(graph, p, "v");
		if (!list[n].m || !list[n].v)
			return;
		n++;
	}
	ws_op_adamw(graph, alpha, list, n, factors);
}

struct ws_tensor *ws_optim_adamw(struct ws_graph *graph, const struct ws_adamw *adamw)
{
	int count = graph->tensor_count;
	struct ws_tensor *alpha;

	ws_graph_phase(graph, WSNVTX_PHASE_optimizer);
	graph->kind = WSNVTX_OP_optimizer;
	alpha = ws_graph_tensor(graph, "adamw.alpha", WS_ROLE_INPUT, graph->precision.storage,
	                        WS_SHAPE(1));
	if (!alpha)
		return NULL;
	if (graph->fusion == WS_FUSION_FULL)
		adamw_fused(graph, adamw, alpha, count);
	else
		adamw_eager(graph, adamw, alpha, count);
	return graph->err.status == WS_OK ? alpha : NULL;
}

double ws_adamw_alpha(const struct ws_adamw *adamw, int64_t t)
{
	return adamw->lr * sqrt(1 - pow(adamw->beta2, (double)t)) /
	       (1 - pow(adamw->beta1, (double)t));
}
