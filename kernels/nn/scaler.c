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

void ws_scaler_unscale(struct ws_graph *graph, const struct ws_scaler *scaler,
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
