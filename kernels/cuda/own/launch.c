#include "kernels/cuda/own/launch.h"

#include "kernels/cuda/own/columns.h"

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
