/*
 * Fused attention on the GPU, inside the CUDA backend: cuDNN's flash attention, described as the
 * graph of operations that its engines know (docs/dev/kernels.md).
 */
#pragma once

#include "kernels/cuda/dnn_graph.h"

/*
 * The plan of an op, from its kind, u.attention and the dtype of its first operand. ENVIRONMENT,
 * with the cure, where cuDNN has no engine for it. Needs no GPU where the target is a description.
 */
enum ws_status ws_cuda_attention_open(const struct ws_dnn_target *target, const struct ws_op *op,
                                      bool deterministic, cudnnBackendDescriptor_t *plan,
                                      struct ws_err *err);
