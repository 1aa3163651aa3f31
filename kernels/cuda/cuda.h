/*
 * Declarations shared by the files of the CUDA backend (docs/dev/kernels.md). C; needs the
 * toolkit's headers. Every call of CUDA, cuBLAS and cuDNN goes through the checks below.
 */
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "kernels/cuda/own/launch.h"

/* cuBLAS: NVIDIA's recommendation for Hopper. cuDNN: fixed, as it limits the algorithms. */
#define WS_CUDA_GEMM_WORKSPACE_BYTES ((uint64_t)32 << 20)
#define WS_CUDA_DNN_WORKSPACE_BYTES  ((uint64_t)256 << 20)

/* Device memory that stays free: kernels' code, local memory and printf buffers come from it. */
#define WS_CUDA_MARGIN_BYTES ((uint64_t)512 << 20)

struct ws_cuda_lt; /* gemm.c */

/*
 * The library's objects to compute an op, made before the first step, once for all equal ops.
 * Convolutions and fused attention always have one; matrix products have one if algorithms are
 * chosen by time.
 */
struct ws_cuda_plan {
	const struct ws_op *op;       /* the first of its equal ops; borrowed */
	cudnnBackendDescriptor_t dnn; /* convolutions, attention */
	struct ws_cuda_lt *lt;        /* products; NULL: cuBLAS's own choice is the fastest */
};

struct ws_cuda {
	struct ws_backend base; /* first: the two are cast into each other */
	struct ws_backend_options options;
	int sm_count;
	cudaStream_t stream; /* of the steps */
	cublasHandle_t blas;
	void *gemm_workspace, *dnn_workspace, *scratch; /* device memory, NULL: none needed */
	uint64_t scratch_bytes;

	void *block; /* of the session's tensors */
	void *table; /* planes of a batch on the device */
	uint64_t table_bytes;

	cublasLtHandle_t lt;        /* with options.autotune */
	cudnnHandle_t dnn;          /* once an op needs cuDNN */
	struct ws_cuda_plan *plans; /* of the session */
	int plan_count;
};

static inline struct ws_cuda_launch ws_cuda_launch_on(const struct ws_cuda *cuda)
{
	return (struct ws_cuda_launch){cuda->stream, cuda->scratch, cuda->scratch_bytes,
	                               cuda->sm_count};
}

/* --- checks: errors have the library's message; out of memory is NO_MEMORY, others are ENVIRONMENT
 * -------- */

enum ws_status ws_cublas_check(cublasStatus_t status, const char *call, struct ws_err *err);
enum ws_status ws_cudnn_check(cudnnStatus_t status, const char *call, struct ws_err *err);

#define WS_CUBLAS_TRY(call, err) WS_FORWARD(ws_cublas_check((call), #call, (err)))
#define WS_CUDNN_TRY(call, err)  WS_FORWARD(ws_cudnn_check((call), #call, (err)))

/* The reason why an op cannot run on a GPU; NULL: none known. */
const char *ws_cuda_op_problem(const struct ws_op *op);

/* --- memory ---------------------------------------------------------------------------------- */

/* NO_MEMORY with the bytes asked for; what: of the message. */
enum ws_status ws_cuda_malloc(void **data, uint64_t size_bytes, const char *what,
                              struct ws_err *err);
/* The same, filled with normal random numbers: algorithms are timed on these, never on zeros. */
enum ws_status ws_cuda_random(struct ws_cuda *cuda, int64_t count, enum ws_dtype dtype, void **data,
                              struct ws_err *err);

/* --- choosing algorithms by time -------------------------------------------------------------- */

/* Not used with --deterministic: the fastest algorithm differs between runs, and so would sums. */
static inline bool ws_cuda_is_timed(const struct ws_cuda *cuda)
{
	return cuda->options.autotune && !cuda->options.deterministic;
}

/* The median time of some runs on the stream of the steps, after one that is not timed. */
enum ws_status ws_cuda_time(struct ws_cuda *cuda, enum ws_status (*run)(void *arg, struct ws_err *),
                            void *arg, float *median_ms, struct ws_err *err);

/* --- ops computed by libraries
 * ---------------------------------------------------------------------
 */

/* The oldest cuDNN whose attention engines are correct without a padding mask. */
#define WS_CUDA_ATTENTION_CUDNN 91002
/* The same for the backward pass, if the context is not a multiple of 128. */
#define WS_CUDA_ODD_ATTENTION_CUDNN 91501

/* The plan of an op; NULL: it has none. */
const struct ws_cuda_plan *ws_cuda_plan_of(const struct ws_cuda *cuda, const struct ws_op *op);

enum ws_status ws_cuda_gemm_plan(struct ws_cuda *cuda, struct ws_cuda_plan *plan,
                                 struct ws_err *err);
enum ws_status ws_cuda_gemm_run(struct ws_cuda *cuda, const struct ws_op *op, struct ws_err *err);
void ws_cuda_lt_close(struct ws_cuda_lt *lt);

bool ws_cuda_is_conv(const struct ws_op *op);
enum ws_status ws_cuda_conv_plan(struct ws_cuda *cuda, struct ws_cuda_plan *plan,
                                 struct ws_err *err);
enum ws_status ws_cuda_conv_run(struct ws_cuda *cuda, const struct ws_op *op, struct ws_err *err);

bool ws_cuda_is_attention(const struct ws_op *op);
/* The reason why this attention cannot run, and what to do; NULL: none known. */
const char *ws_cuda_attention_problem(const struct ws_op *op);
/* Bytes that an op needs after cuDNN's own workspace. */
uint64_t ws_cuda_attention_workspace_bytes(const struct ws_op *op);
enum ws_status ws_cuda_attention_plan(struct ws_cuda *cuda, struct ws_cuda_plan *plan,
                                      struct ws_err *err);
enum ws_status ws_cuda_attention_run(struct ws_cuda *cuda, const struct ws_op *op,
                                     struct ws_err *err);

/* Batch norm, log_softmax and their gradients: cuDNN has one function for each. */
bool ws_cuda_is_function(const struct ws_op *op);
enum ws_status ws_cuda_function_run(struct ws_cuda *cuda, const struct ws_op *op,
                                    struct ws_err *err);

/* --- cuDNN's backend (graph) API: descriptors ------------------------------------------------- */

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

/* A tensor of a graph, identified by its id. */
struct ws_dnn_tensor {
	int64_t id;
	cudnnDataType_t type;
	int64_t dims[4], strides[4];
	bool is_virtual;  /* only between operations: has no memory */
	bool is_by_value; /* one number, read from host memory */
};
enum ws_status ws_dnn_tensor_open(const struct ws_dnn_tensor *tensor,
                                  cudnnBackendDescriptor_t *made, struct ws_err *err);

/* --- … and execution plans -------------------------------------------------------------------- */

/* The target of plans: the GPU of a handle or, without one, a described GPU. */
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

/* --- operations and plans that need no GPU ---------------------------------------------------- */

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

/*
 * The plan of an op, from its kind, u.attention and the dtype of its first operand. ENVIRONMENT,
 * with the cure, where cuDNN has no engine for it. Needs no GPU where the target is a description.
 */
enum ws_status ws_cuda_attention_open(const struct ws_dnn_target *target, const struct ws_op *op,
                                      bool deterministic, cudnnBackendDescriptor_t *plan,
                                      struct ws_err *err);
