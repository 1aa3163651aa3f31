/*
 * Plans: what a library needs to compute an op, made before the first step, once for all ops that
 * are alike. Convolutions and fused attention have one always, matrix products when algorithms
 * are chosen by time.
 */
#pragma once

#include "kernels/cuda/dnn_graph.h"

struct ws_cuda_lt; /* gemm.c */

struct ws_cuda_plan {
	const struct ws_op *op;       /* the first of those that it is for; borrowed */
	cudnnBackendDescriptor_t dnn; /* convolutions, attention */
	struct ws_cuda_lt *lt;        /* products; NULL: cuBLAS's own choice is the fastest */
};

/* That of an op; NULL: it has none. */
const struct ws_cuda_plan *ws_cuda_plan_of(const struct ws_cuda *cuda, const struct ws_op *op);

/* --- of each library: fill in what computes plan->op ---------------------------------------- */

enum ws_status ws_cuda_gemm_plan(struct ws_cuda *cuda, struct ws_cuda_plan *plan,
                                 struct ws_err *err);
enum ws_status ws_cuda_conv_plan(struct ws_cuda *cuda, struct ws_cuda_plan *plan,
                                 struct ws_err *err);
enum ws_status ws_cuda_attention_plan(struct ws_cuda *cuda, struct ws_cuda_plan *plan,
                                      struct ws_err *err);
void ws_cuda_lt_close(struct ws_cuda_lt *lt);
