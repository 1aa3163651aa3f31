/*
 * Matrix products: cuBLAS by its own choice of algorithm, or, with autotune, the fastest of
 * that choice and what cuBLASLt proposes, timed once for each shape on random numbers.
 *
 * cuBLAS is column-major. A row-major C = op(A) op(B) is its C^T = op(B)^T op(A)^T, and a
 * row-major matrix is its own transpose there: so B comes first, and both ops stay.
 */
#include <stdlib.h>

#include "kernels/cuda/cuda.h"
#include "formats/base/grow.h"

#define CANDIDATES 8 /* that cuBLASLt is asked for */

/* What tells one product from another. */
struct shape {
	struct ws_gemm gemm;
	enum ws_dtype in, out;
	bool tf32;
};

/* The algorithm of a shape. lt false: cuBLAS's own choice. */
struct choice {
	struct shape shape;
	bool lt;
	cublasLtMatmulAlgo_t algo;
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t a, b, c;
};

struct ws_cuda_gemms {
	struct choice *choices;
	int count;
	size_t capacity;
};

static struct shape shape_of(const struct ws_op *op)
{
	return (struct shape){.gemm = op->u.gemm,
	                      .in = op->in[0]->dtype,
	                      .out = op->out[0]->dtype,
	                      .tf32 = op->tf32};
}

static bool is_same(const struct shape *a, const struct shape *b)
{
	const struct ws_gemm *f = &a->gemm, *g = &b->gemm;

	return f->batch == g->batch && f->m == g->m && f->n == g->n && f->k == g->k &&
	       f->trans_a == g->trans_a && f->trans_b == g->trans_b && a->in == b->in &&
	       a->out == b->out && a->tf32 == b->tf32;
}

static cudaDataType_t data_type(enum ws_dtype dtype)
{
	return dtype == WS_DTYPE_BF16  ? CUDA_R_16BF
	       : dtype == WS_DTYPE_F16 ? CUDA_R_16F
	                               : CUDA_R_32F;
}

/* Sums are in fp32 always; fp32 operands are read as they are but in TF32 mode. */
static cublasComputeType_t compute_type(const struct shape *shape)
{
	return shape->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

static cublasOperation_t operation(bool transposed)
{
	return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* Columns of the row-major operands as they lie in memory: cuBLAS's leading dimensions. */
static int64_t a_columns(const struct ws_gemm *g)
{
	return g->trans_a ? g->m : g->k;
}

static int64_t b_columns(const struct ws_gemm *g)
{
	return g->trans_b ? g->k : g->n;
}

static enum ws_status run_blas(cublasHandle_t blas, const struct shape *shape, const void *a,
                               const void *b, void *c, struct ws_err *err)
{
	const struct ws_gemm *g = &shape->gemm;
	const float one = 1, zero = 0;

	WS_CUBLAS_TRY(cublasGemmStridedBatchedEx_64(
	                      blas, operation(g->trans_b), operation(g->trans_a), g->n, g->m, g->k,
	                      &one, b, data_type(shape->in), b_columns(g), g->k * g->n, a,
	                      data_type(shape->in), a_columns(g), g->m * g->k, &zero, c,
	                      data_type(shape->out), g->n, g->m * g->n, g->batch,
	                      compute_type(shape), CUBLAS_GEMM_DEFAULT),
	              err);
	return WS_OK;
}

static enum ws_status run_lt(struct ws_cuda *cuda, const struct choice *choice, const void *a,
                             const void *b, void *c, struct ws_err *err)
{
	const float one = 1, zero = 0;

	WS_CUBLAS_TRY(cublasLtMatmul(cuda->lt, choice->desc, &one, b, choice->a, a, choice->b,
	                             &zero, c, choice->c, c, choice->c, &choice->algo,
	                             cuda->gemm_workspace, WS_CUDA_GEMM_WORKSPACE_BYTES,
	                             cuda->stream),
	              err);
	return WS_OK;
}

static enum ws_status run_choice(struct ws_cuda *cuda, const struct choice *choice, const void *a,
                                 const void *b, void *c, struct ws_err *err)
{
	return choice->lt ? run_lt(cuda, choice, a, b, c, err)
	                  : run_blas(cuda->blas, &choice->shape, a, b, c, err);
}

static const struct choice *find_choice(const struct ws_cuda_gemms *gemms,
                                        const struct shape *shape)
{
	for (int i = 0; gemms && i < gemms->count; i++)
		if (is_same(&gemms->choices[i].shape, shape))
			return &gemms->choices[i];
	return NULL;
}

enum ws_status ws_cuda_gemm_run(struct ws_cuda *cuda, const struct ws_op *op, struct ws_err *err)
{
	const struct choice plain = {.shape = shape_of(op)};
	const struct choice *choice = find_choice(cuda->gemms, &plain.shape);

	return run_choice(cuda, choice ? choice : &plain, op->in[0]->data, op->in[1]->data,
	                  op->out[0]->data, err);
}

/* --- choosing by time ------------------------------------------------------------------------- */

static enum ws_status layout(cublasLtMatrixLayout_t *made, enum ws_dtype dtype, int64_t rows,
                             int64_t columns, const struct ws_gemm *g, struct ws_err *err)
{
	int64_t stride = rows * columns;
	int32_t batch = (int32_t)g->batch;

	WS_CUBLAS_TRY(cublasLtMatrixLayoutCreate(made, data_type(dtype), (uint64_t)rows,
	                                         (uint64_t)columns, rows),
	              err);
	WS_CUBLAS_TRY(cublasLtMatrixLayoutSetAttribute(*made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
	                                               &batch, sizeof(batch)),
	              err);
	WS_CUBLAS_TRY(cublasLtMatrixLayoutSetAttribute(*made,
	                                               CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
	                                               &stride, sizeof(stride)),
	              err);
	return WS_OK;
}

static enum ws_status describe_lt(struct choice *choice, struct ws_err *err)
{
	const struct shape *s = &choice->shape;
	const struct ws_gemm *g = &s->gemm;
	cublasOperation_t op_a = operation(g->trans_b), op_b = operation(g->trans_a);

	WS_CUBLAS_TRY(cublasLtMatmulDescCreate(&choice->desc, compute_type(s), CUDA_R_32F), err);
	WS_CUBLAS_TRY(cublasLtMatmulDescSetAttribute(choice->desc, CUBLASLT_MATMUL_DESC_TRANSA,
	                                             &op_a, sizeof(op_a)),
	              err);
	WS_CUBLAS_TRY(cublasLtMatmulDescSetAttribute(choice->desc, CUBLASLT_MATMUL_DESC_TRANSB,
	                                             &op_b, sizeof(op_b)),
	              err);
	WS_FORWARD(layout(&choice->a, s->in, b_columns(g), g->trans_b ? g->n : g->k, g, err));
	WS_FORWARD(layout(&choice->b, s->in, a_columns(g), g->trans_a ? g->k : g->m, g, err));
	return layout(&choice->c, s->out, g->n, g->m, g, err);
}

static void drop_lt(struct choice *choice)
{
	if (choice->desc)
		cublasLtMatmulDescDestroy(choice->desc);
	if (choice->a)
		cublasLtMatrixLayoutDestroy(choice->a);
	if (choice->b)
		cublasLtMatrixLayoutDestroy(choice->b);
	if (choice->c)
		cublasLtMatrixLayoutDestroy(choice->c);
	choice->desc = NULL;
	choice->a = choice->b = choice->c = NULL;
	choice->lt = false;
}

/* One algorithm on its operands. */
struct trial {
	struct ws_cuda *cuda;
	const struct choice *choice;
	void *a, *b, *c;
};

static void trial_close(struct trial *trial)
{
	cudaFree(trial->a);
	cudaFree(trial->b);
	cudaFree(trial->c);
}

static enum ws_status trial_open(struct trial *trial, struct ws_err *err)
{
	const struct shape *s = &trial->choice->shape;
	const struct ws_gemm *g = &s->gemm;

	WS_FORWARD(ws_cuda_random(trial->cuda, g->batch * g->m * g->k, s->in, &trial->a, err));
	WS_FORWARD(ws_cuda_random(trial->cuda, g->batch * g->k * g->n, s->in, &trial->b, err));
	return ws_cuda_malloc(&trial->c, (uint64_t)(g->batch * g->m * g->n) * ws_dtype_size(s->out),
	                      "timing algorithms", err);
}

static enum ws_status run_trial(void *arg, struct ws_err *err)
{
	const struct trial *t = arg;

	return run_choice(t->cuda, t->choice, t->a, t->b, t->c, err);
}

static enum ws_status ask_lt(struct ws_cuda *cuda, const struct choice *choice,
                             cublasLtMatmulHeuristicResult_t *found, int *count, struct ws_err *err)
{
	uint64_t workspace_bytes = WS_CUDA_GEMM_WORKSPACE_BYTES;
	/* parts of a split sum are added in fp32, never in the 16 bits of the result */
	uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
	cublasLtMatmulPreference_t preference = NULL;
	cublasStatus_t asked;

	WS_CUBLAS_TRY(cublasLtMatmulPreferenceCreate(&preference), err);
	asked = cublasLtMatmulPreferenceSetAttribute(preference,
	                                             CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
	                                             &workspace_bytes, sizeof(workspace_bytes));
	if (asked == CUBLAS_STATUS_SUCCESS)
		asked = cublasLtMatmulPreferenceSetAttribute(
		        preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
		        sizeof(reductions));
	if (asked == CUBLAS_STATUS_SUCCESS)
		asked = cublasLtMatmulAlgoGetHeuristic(cuda->lt, choice->desc, choice->a, choice->b,
		                                       choice->c, choice->c, preference, CANDIDATES,
		                                       found, count);
	cublasLtMatmulPreferenceDestroy(preference);
	if (asked == CUBLAS_STATUS_NOT_SUPPORTED) {
		*count = 0; /* cuBLAS itself remains */
		return WS_OK;
	}
	return ws_cublas_check(asked, "cublasLtMatmulAlgoGetHeuristic", err);
}

static enum ws_status choose(struct ws_cuda *cuda, struct choice *choice, struct trial *trial,
                             struct ws_err *err)
{
	cublasLtMatmulHeuristicResult_t found[CANDIDATES];
	float best_ms, ms;
	int count = 0, best = -1;

	WS_FORWARD(ws_cuda_time(cuda, run_trial, trial, &best_ms, err)); /* cuBLAS's own */
	WS_FORWARD(describe_lt(choice, err));
	WS_FORWARD(ask_lt(cuda, choice, found, &count, err));
	choice->lt = true;
	for (int i = 0; i < count; i++) {
		choice->algo = found[i].algo;
		/* a proposal that does not run is not chosen; others remain */
		if (found[i].state != CUBLAS_STATUS_SUCCESS ||
		    ws_cuda_time(cuda, run_trial, trial, &ms, NULL) != WS_OK || ms >= best_ms)
			continue;
		best = i;
		best_ms = ms;
	}
	if (best < 0)
		drop_lt(choice);
	else
		choice->algo = found[best].algo;
	return WS_OK;
}

static enum ws_status add_shape(struct ws_cuda *cuda, const struct shape *shape, struct ws_err *err)
{
	struct ws_cuda_gemms *gemms = cuda->gemms;
	struct trial trial = {.cuda = cuda};
	struct choice *choice;
	enum ws_status status;

	WS_FORWARD(WS_GROW(gemms->choices, (size_t)gemms->count + 1, gemms->capacity, err));
	choice = &gemms->choices[gemms->count++];
	*choice = (struct choice){.shape = *shape};
	trial.choice = choice;
	status = trial_open(&trial, err);
	WS_THEN(status, choose(cuda, choice, &trial, err));
	trial_close(&trial);
	return status;
}

enum ws_status ws_cuda_gemms_prepare(struct ws_cuda *cuda, const struct ws_backend_plan *plan,
                                     struct ws_err *err)
{
	if (!cuda->options.autotune || cuda->options.deterministic)
		return WS_OK; /* what is fastest differs from run to run, and so would sums */
	cuda->gemms = calloc(1, sizeof(*cuda->gemms));
	WS_FAIL_IF(!cuda->gemms, err, NO_MEMORY, "out of memory for the choice of algorithms");
	for (int i = 0; i < plan->op_count; i++) {
		struct shape shape;

		if (plan->ops[i]->kind != WS_OP_GEMM)
			continue;
		shape = shape_of(plan->ops[i]);
		if (!find_choice(cuda->gemms, &shape))
			WS_FORWARD(add_shape(cuda, &shape, err));
	}
	return WS_OK;
}

void ws_cuda_gemms_close(struct ws_cuda_gemms *gemms)
{
	for (int i = 0; gemms && i < gemms->count; i++)
		drop_lt(&gemms->choices[i]);
	if (gemms)
		free(gemms->choices);
	free(gemms);
}
