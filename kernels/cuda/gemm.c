/*
 * Matrix products: cuBLAS by its own choice of algorithm, or, with autotune, the fastest of
 * that choice and what cuBLASLt proposes, timed once for each shape on random numbers.
 *
 * cuBLAS is column-major. A row-major C = op(A) op(B) is its C^T = op(B)^T op(A)^T, and a
 * row-major matrix is its own transpose there: so B comes first, and both ops stay.
 */

#include "kernels/cuda/cuda.h"

#define CANDIDATES 8 /* that cuBLASLt is asked for */

/* The description of a product for cuBLASLt. */
struct ws_cuda_lt {
	cublasLtMatmulAlgo_t algo;
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t a, b, c;
};

static cudaDataType_t data_type(enum ws_dtype dtype)
{
	return dtype == WS_DTYPE_BF16  ? CUDA_R_16BF
	       : dtype == WS_DTYPE_F16 ? CUDA_R_16F
	                               : CUDA_R_32F;
}

/* Sums are always in fp32. fp32 operands are rounded only in TF32 mode. */
static cublasComputeType_t compute_type(const struct ws_op *op)
{
	return op->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
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

/* The operands and the result of a product: those of its op, or others of their size. */
struct matrices {
	void *a, *b, *c;
};

static enum ws_status run_blas(struct ws_cuda *cuda, const struct ws_op *op,
                               const struct matrices *m, struct ws_err *err)
{
	const struct ws_gemm *g = &op->u.gemm;
	cudaDataType_t in = data_type(op->in[0]->dtype), out = data_type(op->out[0]->dtype);
	const float one = 1, zero = 0;

	WS_CUBLAS_TRY(cublasGemmStridedBatchedEx_64(cuda->blas, operation(g->trans_b),
	                                            operation(g->trans_a), g->n, g->m, g->k, &one,
	                                            m->b, in, b_columns(g), g->k * g->n, m->a, in,
	                                            a_columns(g), g->m * g->k, &zero, m->c, out,
	                                            g->n, g->m * g->n, g->batch, compute_type(op),
	                                            CUBLAS_GEMM_DEFAULT),
	              err);
	return WS_OK;
}

static enum ws_status run_lt(struct ws_cuda *cuda, const struct ws_cuda_lt *lt,
                             const struct matrices *m, struct ws_err *err)
{
	const float one = 1, zero = 0;

	WS_CUBLAS_TRY(cublasLtMatmul(cuda->lt, lt->desc, &one, m->b, lt->a, m->a, lt->b, &zero,
	                             m->c, lt->c, m->c, lt->c, &lt->algo, cuda->gemm_workspace,
	                             WS_CUDA_GEMM_WORKSPACE_BYTES, cuda->stream),
	              err);
	return WS_OK;
}

enum ws_status ws_cuda_gemm_run(struct ws_cuda *cuda, const struct ws_op *op, struct ws_err *err)
{
	const struct ws_cuda_plan *plan = ws_cuda_plan_of(cuda, op);
	const struct matrices m = {op->in[0]->data, op->in[1]->data, op->out[0]->data};

	return plan && plan->lt ? run_lt(cuda, plan->lt, &m, err) : run_blas(cuda, op, &m, err);
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

void ws_cuda_lt_close(struct ws_cuda_lt *lt)
{
	if (!lt)
		return;
	if (lt->desc)
		cublasLtMatmulDescDestroy(lt->desc);
	if (lt->a)
		cublasLtMatrixLayoutDestroy(lt->a);
	if (lt->b)
		cublasLtMatrixLayoutDestroy(lt->b);
	if (lt->c)
		cublasLtMatrixLayoutDestroy(lt->c);
	free(lt);
}

/* Times one algorithm on separate operands. */
struct trial {
	struct ws_cuda *cuda;
	const struct ws_op *op;
	const struct ws_cuda_lt *lt; /* NULL: cuBLAS */
	struct matrices m;
};

static enum ws_status run_trial(void *arg, struct ws_err *err)
{
	const struct trial *t = arg;

	return t->lt ? run_lt(t->cuda, t->lt, &t->m, err) : run_blas(t->cuda, t->op, &t->m, err);
}

/* lt: the fastest that is faster than cuBLAS, as *faster says. */
static enum ws_status choose(struct trial *trial, struct ws_cuda_lt *lt, bool *faster,
                             struct ws_err *err)
{
	cublasLtMatmulHeuristicResult_t found[CANDIDATES];
	float best_ms, ms;
	int count = 0, best = -1;
	const struct ws_op *op;
	enum ws_dtype in;

	WS_FORWARD(ws_cuda_time(trial->cuda, run_trial, trial, &best_ms, err)); /* cuBLAS's own */
	op = trial->op;
	const struct ws_gemm *g = &op->u.gemm;
	cublasOperation_t op_a = operation(g->trans_b);
	cublasOperation_t op_b = operation(g->trans_a);
	in = op->in[0]->dtype;
	WS_CUBLAS_TRY(cublasLtMatmulDescCreate(&lt->desc, compute_type(op), CUDA_R_32F), err);
	WS_CUBLAS_TRY(cublasLtMatmulDescSetAttribute(lt->desc, CUBLASLT_MATMUL_DESC_TRANSA, &op_a,
	                                             sizeof(op_a)),
	              err);
	WS_CUBLAS_TRY(cublasLtMatmulDescSetAttribute(lt->desc, CUBLASLT_MATMUL_DESC_TRANSB, &op_b,
	                                             sizeof(op_b)),
	              err);
	WS_FORWARD(layout(&lt->a, in, b_columns(g), g->trans_b ? g->n : g->k, g, err));
	WS_FORWARD(layout(&lt->b, in, a_columns(g), g->trans_a ? g->k : g->m, g, err));
	WS_FORWARD(layout(&lt->c, op->out[0]->dtype, g->n, g->m, g, err));
	uint64_t workspace_bytes = WS_CUDA_GEMM_WORKSPACE_BYTES;
	/* parts of a split sum are added in fp32, never in the 16 bits of the result */
	uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
	cublasLtMatmulPreference_t preference = NULL;

	WS_CUBLAS_TRY(cublasLtMatmulPreferenceCreate(&preference), err);
	cublasStatus_t asked =
	        cublasLtMatmulPreferenceSetAttribute(preference,
	                                             CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
	                                             &workspace_bytes, sizeof(workspace_bytes));
	if (asked == CUBLAS_STATUS_SUCCESS)
		asked = cublasLtMatmulPreferenceSetAttribute(
		        preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
		        sizeof(reductions));
	if (asked == CUBLAS_STATUS_SUCCESS)
		asked = cublasLtMatmulAlgoGetHeuristic(trial->cuda->lt, lt->desc, lt->a, lt->b,
		                                       lt->c, lt->c, preference, CANDIDATES, found,
		                                       &count);
	cublasLtMatmulPreferenceDestroy(preference);
	if (asked == CUBLAS_STATUS_NOT_SUPPORTED)
		count = 0; /* cuBLAS itself remains */
	else
		WS_FORWARD(ws_cublas_check(asked, "cublasLtMatmulAlgoGetHeuristic", err));
	trial->lt = lt;
	for (int i = 0; i < count; i++) {
		lt->algo = found[i].algo;
		/* a proposal that does not run is not chosen; others remain */
		if (found[i].state != CUBLAS_STATUS_SUCCESS ||
		    ws_cuda_time(trial->cuda, run_trial, trial, &ms, NULL) != WS_OK ||
		    ms >= best_ms)
			continue;
		best = i;
		best_ms = ms;
	}
	*faster = best >= 0;
	if (*faster)
		lt->algo = found[best].algo;
	return WS_OK;
}

enum ws_status ws_cuda_gemm_plan(struct ws_cuda *cuda, struct ws_cuda_plan *plan,
                                 struct ws_err *err)
{
	struct trial trial = {.cuda = cuda, .op = plan->op};
	struct ws_cuda_lt *lt = ws_xarray(1, sizeof(*lt));
	const struct ws_op *op = plan->op;
	enum ws_status status =
	        ws_cuda_random(cuda, op->in[0]->count, op->in[0]->dtype, &trial.m.a, err);
	bool faster = false;

	WS_THEN(status, ws_cuda_random(cuda, op->in[1]->count, op->in[1]->dtype, &trial.m.b, err));
	WS_THEN(status,
	        ws_cuda_malloc(&trial.m.c, op->out[0]->size_bytes, "timing algorithms", err));
	WS_THEN(status, choose(&trial, lt, &faster, err));
	cudaFree(trial.m.a);
	cudaFree(trial.m.b);
	cudaFree(trial.m.c);
	if (faster)
		plan->lt = lt;
	else
		ws_cuda_lt_close(lt);
	return status;
}
