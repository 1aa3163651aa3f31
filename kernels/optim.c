#include "kernels/optim.h"

#include <math.h>

#include "kernels/ops.h"

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

struct ws_tensor *ws_optim_adamw(struct ws_graph *graph, const struct ws_adamw *adamw)
{
	int count = graph->tensor_count;
	struct ws_tensor *alpha;

	ws_graph_phase(graph, WSNVTX_PHASE_optimizer);
	graph->kind = WSNVTX_OP_optimizer;
	alpha = ws_graph_tensor(graph, "adamw.alpha", WS_ROLE_INPUT, graph->precision.storage,
	                        WS_SHAPE(1));
	for (int i = 0; i < count && alpha; i++) {
		struct ws_tensor *p = graph->tensors[i];

		if (p->role != WS_ROLE_PARAM || !p->grad)
			continue;
		graph->layer = p->layer;
		adamw_param(graph, adamw, p, alpha);
	}
	return graph->err.status == WS_OK ? alpha : NULL;
}

double ws_adamw_alpha(const struct ws_adamw *adamw, int64_t t)
{
	return adamw->lr * sqrt(1 - pow(adamw->beta2, (double)t)) /
	       (1 - pow(adamw->beta1, (double)t));
}
