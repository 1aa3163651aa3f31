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
