#include "kernels/cuda/own/columns.h"
#include "kernels/cuda/own/launch.h"
#include "kernels/cuda/own/slices.h"

uint64_t ws_cuda_scratch_bytes(const struct ws_op *op)
{
	switch (op->kind) {
	case WS_OP_REDUCE:
		return op->sub == WS_SUB_COLSUM ? ws_columns_scratch_bytes(op) : 0;
	case WS_OP_BIAS_GRAD:
		return ws_columns_scratch_bytes(op);
	case WS_OP_BATCH_NORM:
	case WS_OP_BATCH_NORM_GRAD:
		return ws_batch_norm_scratch_bytes(op);
	case WS_OP_CROSS_ENTROPY:
		return ws_cross_entropy_scratch_bytes(op);
	case WS_OP_RMS_NORM_GRAD:
		return ws_rms_norm_grad_scratch_bytes(op);
	default:
		return 0;
	}
}
