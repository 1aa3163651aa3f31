#include "kernels/nn/scaler.h"

#include "kernels/graph/ops.h"

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
	struct ws_tensor *scaled;

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
	scaled = ws_op_binary(graph, WS_SUB_MUL, loss, scaler->scale);
	ws_graph_scope_pop(graph);
	return scaled;
}

void ws_scaler_begin(struct ws_graph *graph, struct ws_scaler *scaler)
{
	if (!scaler->dynamic)
		return;
	scaler->found_inf = ws_op_fill(graph, scaler->scale->dtype, WS_SHAPE(1), 0);
	scaler->found_inf->keep = true;
}

/* grad / scale into out, with the flag where one is kept. */
static struct ws_tensor *append_unscale(struct ws_graph *graph, const struct ws_scaler *scaler,
                                        struct ws_op *op, struct ws_tensor *grad,
                                        struct ws_tensor *out)
{
	op->sub = WS_SUB_UNSCALE;
	op->in_count = 2;
	op->out_count = 1;
	op->in[0] = grad;
	op->in[1] = scaler->scale;
	op->out[0] = out;
	if (scaler->dynamic) {
		op->in[op->in_count++] = scaler->found_inf;
		op->out[op->out_count++] = scaler->found_inf;
	}
	return ws_graph_append(graph, op);
}

void ws_scaler_unscale_all(struct ws_graph *graph, const struct ws_scaler *scaler,
                           struct ws_tensor *const *grads, int count)
{
	struct ws_op op = {.u.unscale = {grads, count}};

	if (count == 0)
		return;
	for (int i = 0; i < count; i++) {
		if (grads[i]->dtype != grads[0]->dtype) {
			ws_graph_fail(graph, WS_BUG,
			              "gradients of several dtypes unscaled by one op");
			return;
		}
		grads[i]->keep = true;
	}
	append_unscale(graph, scaler, &op, grads[0], grads[0]);
}

struct ws_tensor *ws_scaler_unscale(struct ws_graph *graph, const struct ws_scaler *scaler,
                                    struct ws_tensor *grad, enum ws_dtype dtype)
{
	struct ws_op op = {0};

	return append_unscale(graph, scaler, &op, grad,
	                      ws_graph_tensor(graph, "unscaled", WS_ROLE_ACTIVATION, dtype,
	                                      grad->shape));
}

void ws_scaler_end(struct ws_graph *graph, const struct ws_scaler *scaler)
{
	struct ws_op op = {.sub = WS_SUB_SCALE_UPDATE,
	                   .in_count = 3,
	                   .out_count = 2,
	                   .in = {scaler->scale, scaler->tracker, scaler->found_inf},
	                   .out = {scaler->scale, scaler->tracker},
	                   .u.scaler = scaler->rule};

	if (!scaler->dynamic)
		return;
	ws_graph_scope_push(graph, WSNVTX_OP_optimizer, "grad scaler");
	ws_graph_append(graph, &op);
	ws_graph_scope_pop(graph);
}
