#include "kernels/cuda/own/launch.h"

#include "kernels/cuda/own/columns.h"

ws_cuda_launcher *ws_cuda_launcher_of(enum ws_op_kind kind)
{
	static ws_cuda_launcher *const launchers[] = {
#define ws_cuda_gemm           NULL
#define ws_cuda_conv           NULL
#define ws_cuda_conv_dgrad     NULL
#define ws_cuda_conv_wgrad     NULL
#define ws_cuda_attention      NULL
#define ws_cuda_attention_grad NULL
#define WS_OP(KIND, name, ...) [WS_OP_##KIND] = ws_cuda_##name,
#include "kernels/graph/op.def"
	};

	return launchers[kind];
}

/* Numbers of scratch that the launcher of an op needs. */
static int64_t scratch_floats(const struct ws_op *op)
{
	switch (op->kind) {
	case WS_OP_REDUCE:
	case WS_OP_BIAS_GRAD: /* the sums of the slices */
		if (op->kind == WS_OP_REDUCE && op->sub != WS_SUB_COLSUM)
			return 0;
		return ws_columns_of(op).slices * op->out[0]->count;
	case WS_OP_BATCH_NORM:
	case WS_OP_BATCH_NORM_GRAD: /* two sums of each slice and channel */
		return ws_columns_of(op).slices * op->u.norm.ch.channels * 2;
	case WS_OP_CLIP: /* a sum for each block of each tensor */
		return (int64_t)op->u.update.count * WS_CLIP_BLOCKS;
	case WS_OP_CROSS_ENTROPY: /* the loss of each row */
		return op->in[1]->count;
	case WS_OP_RMS_NORM_GRAD: /* a sum for each slice of rows and column */
		return ws_row_slices(op->out[0]->count / op->out[1]->count) * op->out[1]->count;
	default:
		return 0;
	}
}

uint64_t ws_cuda_scratch_bytes(const struct ws_op *op)
{
	return (uint64_t)scratch_floats(op) * sizeof(float);
}
