/* Convolutions on the GPU, inside the CUDA backend: how cuDNN is told of them. */
#pragma once

#include "kernels/cuda/dnn_graph.h"

enum ws_conv_role {
	WS_CONV_X, /* image or its gradient */
	WS_CONV_W, /* filters or their gradient */
	WS_CONV_Y, /* output or its gradient */
	WS_CONV_ROLES
};

/*
 * The operation of an op as a finalized descriptor of cuDNN's graph API; needs no GPU.
 * parts: the descriptors that it is made of, to be destroyed after it.
 */
struct ws_cuda_conv_operation {
	cudnnBackendDescriptor_t tensor[WS_CONV_ROLES], conv, operation;
};
enum ws_status ws_cuda_conv_operation_open(const struct ws_op *op,
                                           struct ws_cuda_conv_operation *operation,
                                           struct ws_err *err);
void ws_cuda_conv_operation_close(struct ws_cuda_conv_operation *operation);
