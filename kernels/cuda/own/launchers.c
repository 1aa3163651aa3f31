#include "kernels/cuda/own/launch.h"

#include <stddef.h>

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
