/*
 * Convolutions on the GPU, inside the CUDA backend: one struct ws_cuda_conv for each shape,
 * with the plans of cuDNN's graph API (conv_graph.c) that can compute it, of which one was chosen.
 */
#pragma once

#include "kernels/cuda/cuda.h"

#define WS_CUDA_CONV_CANDIDATES 12

enum ws_conv_role {
	WS_CONV_X, /* image or its gradient */
	WS_CONV_W, /* filters or their gradient */
	WS_CONV_Y, /* output or its gradient */
	WS_CONV_ROLES
};

/* What tells one convolution from another. */
struct ws_cuda_conv_shape {
	struct ws_conv conv;
	enum ws_op_kind kind; /* CONV, CONV_DGRAD, CONV_WGRAD */
	enum ws_dtype dtype[WS_CONV_ROLES];
	bool tf32;
};

struct ws_cuda_conv {
	struct ws_cuda_conv_shape shape;
	cudnnBackendDescriptor_t plan[WS_CUDA_CONV_CANDIDATES]; /* best first by cuDNN's estimate */
	int count;                                              /* of plans */
	int chosen;                                             /* of them */
};

/* The first operand of an op of this kind is in[] of which role, its result in which. */
struct ws_cuda_conv_roles {
	enum ws_conv_role in[2], out;
};
struct ws_cuda_conv_roles ws_cuda_conv_roles(enum ws_op_kind kind);

/* Sizes of a role's tensor, in the order n c h w (of filters k c/groups r s), and its strides. */
void ws_cuda_conv_dims(const struct ws_conv *conv, enum ws_conv_role role, int64_t dims[4],
                       int64_t strides[4]);

/* Make the plans of a shape, at least one. most: how many are wanted. */
enum ws_status ws_cuda_conv_plan(struct ws_cuda *cuda, struct ws_cuda_conv *conv, int most,
                                 struct ws_err *err);
/* data: device pointers by role. */
enum ws_status ws_cuda_conv_start(struct ws_cuda *cuda, const struct ws_cuda_conv *conv,
                                  int candidate, void *const data[WS_CONV_ROLES],
                                  struct ws_err *err);

/*
 * The operation of a shape as a finalized descriptor of cuDNN's graph API; needs no GPU.
 * parts: the descriptors that it is made of, to be destroyed after it.
 */
struct ws_cuda_conv_operation {
	cudnnBackendDescriptor_t tensor[WS_CONV_ROLES], conv, operation;
};
enum ws_status ws_cuda_conv_operation_open(const struct ws_cuda_conv_shape *shape,
                                           struct ws_cuda_conv_operation *operation,
                                           struct ws_err *err);
void ws_cuda_conv_operation_close(struct ws_cuda_conv_operation *operation);
