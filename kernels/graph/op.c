#include "kernels/graph/op.h"

#include <ctype.h>
#include <stdio.h>

static const struct ws_op_info op_infos[] = {
#define WS_OP(KIND, name, class, payload, ...) \
	[WS_OP_##KIND] = {#name, #class, WSNVTX_OP_##payload},
#include "kernels/graph/op.def"
};

static const struct ws_sub_info sub_infos[] = {
#define WS_SUB(KIND, SUB, name, flops, autocast) \
	[WS_SUB_##SUB] = {name, #SUB, WS_OP_##KIND, flops, WS_AUTOCAST_##autocast},
#include "kernels/graph/op.def"
};

const struct ws_op_info *ws_op_info(enum ws_op_kind kind)
{
	return &op_infos[kind];
}

const struct ws_sub_info *ws_sub_info(enum ws_sub sub)
{
	return &sub_infos[sub];
}

struct ws_elementwise ws_op_elementwise(const struct ws_op *op)
{
	bool bias = op->kind == WS_OP_BIAS || op->kind == WS_OP_BIAS_ACT;
	const struct ws_channels *ch = op->kind == WS_OP_BIAS ? &op->u.ch : &op->u.bias.ch;
	struct ws_elementwise e = {.cols = ws_tensor_cols(op->out[0]), .channels = 1};

	for (int i = 0; i < op->in_count; i++)
		e.spread[i] = ws_tensor_broadcast(op->in[i], op->out[0]);
	if (!bias) {
		e.alpha = op->u.alpha;
		return e;
	}
	e.cols = ch->inner == 1 ? ch->channels : ch->inner;
	e.channels = ch->channels;
	e.spread[1] = ch->inner == 1 ? WS_BROADCAST_ROW : WS_BROADCAST_CHANNEL;
	e.alpha = op->kind == WS_OP_BIAS ? 0 : op->u.bias.alpha;
	return e;
}

const char *ws_op_kernel_name(const struct ws_op *op, char *buf, size_t size)
{
	static const char *const directions[] = {
	        [WSNVTX_DIRECTION_none] = "",
	        [WSNVTX_DIRECTION_forward] = "_fwd",
	        [WSNVTX_DIRECTION_backward] = "_bwd",
	};
	static const char *const layouts[2][2] = {{"nn", "nt"}, {"tn", "tt"}};
	const char *in = "", *out = ws_dtype_suffix(op->out[0]->dtype);
	char sub[24];
	size_t n = 0;

	for (const char *s = sub_infos[op->sub].symbol; *s && n + 1 < sizeof(sub); s++)
		sub[n++] = (char)tolower((unsigned char)*s);
	sub[n] = '\0';

#define X(name, bytes, suffix, nvtx, is_float)        \
	if (op->payload.dtype == WSNVTX_DTYPE_##nvtx) \
		in = #suffix;
	WS_DTYPE_LIST(X)
#undef X
	if (op->tf32)
		in = "tf32";
	snprintf(buf, size, "ws_%s_%s%s_%s%s%s", op_infos[op->kind].kernel_class,
	         op->kind == WS_OP_GEMM ? layouts[op->u.gemm.trans_a][op->u.gemm.trans_b] : sub,
	         directions[op->payload.direction], in, strcmp(in, out) ? "_" : "",
	         strcmp(in, out) ? out : "");
	return buf;
}
