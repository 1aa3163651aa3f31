/*
 * cuDNN's backend (graph) API, as far as convolutions and attention share it: descriptors,
 * the engines that cuDNN's heuristics propose for a graph of operations, and execution plans
 * of those that may be used.
 */
#pragma once

#include "kernels/cuda/cuda.h"

/* --- descriptors ------------------------------------------------------------------------- */

/* Attributes, set in a row until one is refused. */
struct ws_dnn_setter {
	cudnnBackendDescriptor_t descriptor;
	cudnnStatus_t status;
};

enum ws_status ws_dnn_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made,
                             struct ws_dnn_setter *setter, struct ws_err *err);
void ws_dnn_set(struct ws_dnn_setter *setter, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values);
/* ENVIRONMENT when an attribute or all together are refused. what: of the message. */
enum ws_status ws_dnn_finalize(struct ws_dnn_setter *setter, const char *what, struct ws_err *err);
void ws_dnn_destroy(cudnnBackendDescriptor_t *descriptor); /* NULL afterwards */

cudnnDataType_t ws_dnn_type(enum ws_dtype dtype);

/* A tensor of a graph: ids tell its tensors apart. */
struct ws_dnn_tensor {
	int64_t id;
	cudnnDataType_t type;
	int64_t dims[4], strides[4];
	bool is_virtual;  /* only between operations: has no memory */
	bool is_by_value; /* one number, read from host memory */
};
enum ws_status ws_dnn_tensor_open(const struct ws_dnn_tensor *tensor,
                                  cudnnBackendDescriptor_t *made, struct ws_err *err);

/* --- plans --------------------------------------------------------------------------------- */

/* What plans are made for: the GPU of a handle or, without one, a GPU that is described. */
struct ws_dnn_target {
	cudnnHandle_t handle;
	cudnnBackendDescriptor_t properties;
};

/*
 * Which engines may be used. Never one that reduces in less than fp32. strict_fp32: none that
 * rounds fp32 operands to TF32. deterministic: none that gives other bits in another run, and no
 * transform (Winograd, FFT).
 */
struct ws_dnn_rules {
	bool strict_fp32, deterministic;
	uint64_t workspace_bytes; /* a plan needs at most */
};

/* May an engine of these numerical notes be used? */
bool ws_dnn_notes_fit(const struct ws_dnn_rules *rules, const cudnnBackendNumericalNote_t *notes,
                      int64_t count);

/*
 * Plans of a graph of operations, best first by cuDNN's estimate; at most `most`. *count is 0,
 * without an error, where no engine may compute it.
 */
enum ws_status ws_dnn_plans(const struct ws_dnn_target *target, const struct ws_dnn_rules *rules,
                            const cudnnBackendDescriptor_t *operations, int operation_count,
                            int most, cudnnBackendDescriptor_t *plans, int *count,
                            struct ws_err *err);

/* Start a plan in the workspace of cuDNN. data: of the tensors with these ids. */
enum ws_status ws_dnn_run(struct ws_cuda *cuda, cudnnBackendDescriptor_t plan, int count,
                          const int64_t *ids, void *const *data, struct ws_err *err);
