/* libcublas and libcublasLt: see stub.h. */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/tensor.h"
#include "tests/stub_cuda/stub.h"

#define ATTRIBUTES 32

struct cublasContext {
	cublasMath_t math;
};

/* What a descriptor of cuBLASLt was given, by attribute. */
struct attributes {
	int64_t value[ATTRIBUTES];
};

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	*handle = calloc(1, sizeof(**handle));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
	(void)handle;
	*version = 130100;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
	return handle && stream ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size)
{
	(void)handle;
	if (!workspace || (uintptr_t)workspace % 256)
		return CUBLAS_STATUS_INVALID_VALUE;
	stub_asked("cublas workspace %zu", size);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
	handle->math = mode;
	stub_asked("cublas math %d", (int)mode);
	return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
	return status ? "CUBLAS_STATUS_STUB" : "CUBLAS_STATUS_SUCCESS";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
	return status ? "refused by the stub" : "success";
}

/* A column-major matrix of a batch. */
struct matrix {
	const void *data;
	cudaDataType type;
	int64_t ld, stride;
	int transposed, tf32;
};

/* The rows (columns, of the right operand) of one product as numbers, [count][k]. */
static void vectors(const struct matrix *m, int64_t batch, bool rows, int64_t count, int64_t k,
                    float *values)
{
	bool along = rows == (m->transposed != 0); /* k lies along a column of the memory */

	for (int64_t i = 0; i < count; i++)
		for (int64_t j = 0; j < k; j++) {
			int64_t at = along ? i * m->ld + j : j * m->ld + i;
			float value = stub_load(m->data, batch * m->stride + at, m->type);

			values[i * k + j] = m->tf32 ? stub_tf32(value, 0) : value;
		}
}

static void multiply(const struct matrix *a, const struct matrix *b, void *c, cudaDataType ctype,
                     int64_t ldc, int64_t stride_c, int64_t m, int64_t n, int64_t k,
                     int64_t batches)
{
	float *left = calloc((size_t)(m * k), sizeof(*left));
	float *right = calloc((size_t)(n * k), sizeof(*right));

	for (int64_t batch = 0; batch < batches; batch++) {
		vectors(a, batch, true, m, k, left);
		vectors(b, batch, false, n, k, right);
		for (int64_t i = 0; i < m * n; i++) {
			const float *x = left + i % m * k, *y = right + i / m * k;
			float sum = 0;

			for (int64_t j = 0; j < k; j++)
				sum += x[j] * y[j];
			stub_store(c, batch * stride_c + i / m * ldc + i % m, ctype, sum);
		}
	}
	free(left);
	free(right);
}

cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                             cublasOperation_t transb, int64_t m, int64_t n,
                                             int64_t k, const void *alpha, const void *A,
                                             cudaDataType Atype, int64_t lda, long long int strideA,
                                             const void *B, cudaDataType Btype, int64_t ldb,
                                             long long int strideB, const void *beta, void *C,
                                             cudaDataType Ctype, int64_t ldc, long long int strideC,
                                             int64_t batchCount, cublasComputeType_t computeType,
                                             cublasGemmAlgo_t algo)
{
	const int tf32 = computeType == CUBLAS_COMPUTE_32F_FAST_TF32;
	const struct matrix a = {A, Atype, lda, strideA, transa == CUBLAS_OP_T, tf32};
	const struct matrix b = {B, Btype, ldb, strideB, transb == CUBLAS_OP_T, tf32};

	(void)handle, (void)algo;
	if (lda < (transa ? k : m) || ldb < (transb ? n : k) || ldc < m || m < 1 || n < 1 ||
	    k < 1 || batchCount < 1 || *(const float *)alpha != 1 || *(const float *)beta != 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	stub_asked("cublas gemm m %lld n %lld k %lld batch %lld compute %d", (long long)m,
	           (long long)n, (long long)k, (long long)batchCount, (int)computeType);
	if (stub_setting("WS_STUB_COMPUTE"))
		multiply(&a, &b, C, Ctype, ldc, strideC, m, n, k, batchCount);
	return CUBLAS_STATUS_SUCCESS;
}

/* --- cuBLASLt: what is asked, and two algorithms ---------------------------------------------- */

static cublasStatus_t put(void *descriptor, int attribute, const void *value, size_t size)
{
	struct attributes *a = descriptor;

	if (attribute < 0 || attribute >= ATTRIBUTES || size > sizeof(*a->value))
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&a->value[attribute], value, size);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t make(void *out)
{
	void *made = calloc(1, sizeof(struct attributes));

	memcpy(out, &made, sizeof(made));
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t drop(void *descriptor)
{
	free(descriptor);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
	return make(handle);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
	return drop(handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
	(void)compute, (void)scale;
	return make(desc);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
	return drop(desc);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size)
{
	return put(desc, (int)attribute, value, size);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
	(void)type;
	return rows && columns && ld >= (int64_t)rows ? make(layout) : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
	return drop(layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void *value, size_t size)
{
	return put(layout, (int)attribute, value, size);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
	return make(preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
	return drop(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size)
{
	return put(preference, (int)attribute, value, size);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t found[], int *count)
{
	const struct attributes *p = (const void *)preference;

	(void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d;
	*count = wanted < 2 ? wanted : 2;
	memset(found, 0, (size_t)*count * sizeof(*found));
	stub_asked("cublaslt proposals %d workspace %lld reductions %lld", wanted,
	           (long long)p->value[CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES],
	           (long long)p->value[CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK]);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t a, const void *B,
                              cublasLtMatrixLayout_t b, const void *beta, const void *C,
                              cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t size,
                              cudaStream_t stream)
{
	(void)handle, (void)desc, (void)alpha, (void)A, (void)a, (void)B, (void)b, (void)beta;
	(void)C, (void)c, (void)D, (void)d, (void)algo, (void)workspace, (void)size, (void)stream;
	/* only timed here: what is computed is not looked at */
	return stub_setting("WS_STUB_COMPUTE") ? CUBLAS_STATUS_NOT_SUPPORTED
	                                       : CUBLAS_STATUS_SUCCESS;
}
