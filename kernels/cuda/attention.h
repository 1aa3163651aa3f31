/*
 * Fused attention on the GPU, inside the CUDA backend: cuDNN's flash attention, described as the
 * graph of operations that its engines know (docs/cuda-backend.md).
 */
#pragma once

#include "kernels/cuda/dnn_graph.h"

/* What tells one attention op from another. */
struct ws_cuda_attention_shape {
	struct ws_attention attention;
	enum ws_op_kind kind; /* ATTENTION, ATTENTION_GRAD */
	enum ws_dtype dtype;  /* of q */
	bool deterministic;
};

struct ws_cuda_attention {
	struct ws_cuda_attention_shape shape;
	cudnnBackendDescriptor_t plan;
	float scale, masked, one; /* read by the plan */
};

/*
 * The plan of a shape. ENVIRONMENT, with the cure, where cuDNN has no engine for it. Needs no GPU
 * where the target is a description.
 */
enum ws_status ws_cuda_attention_open(const struct ws_dnn_target *target,
                                      const struct ws_cuda_attention_shape *shape,
                                      struct ws_cuda_attention *attention, struct ws_err *err);
void ws_cuda_attention_close(struct ws_cuda_attention *attention);
