/*
 * Matrix products. In float by OpenBLAS where it was found when this was
 * built (the only place that uses it), else and in double by plain loops.
 */
#include "kernels/cpu/real.h"

#if defined(WS_HAVE_OPENBLAS) && !WS_CPU_REAL_IS_DOUBLE
#define USE_BLAS 1
#include <cblas.h>
#else
#define USE_BLAS 0
#endif

#if USE_BLAS

void WS_CPU_FN(matmul_concurrently)(void)
{
	openblas_set_num_threads(1);
}

void WS_CPU_FN(matmul)(const struct ws_matmul *p)
{
	cblas_sgemm(CblasRowMajor, p->trans_a ? CblasTrans : CblasNoTrans,
	            p->trans_b ? CblasTrans : CblasNoTrans, (blasint)p->m, (blasint)p->n,
	            (blasint)p->k, 1, p->a, (blasint)p->a_stride, p->b, (blasint)p->b_stride,
	            p->accumulate ? 1 : 0, p->c, (blasint)p->c_stride);
}

#else

void WS_CPU_FN(matmul_concurrently)(void)
{
}

/* One row of the result, accumulated in double. */
static void matmul_row(const struct ws_matmul *p, int64_t row)
{
	const ws_real *a = p->a + row * (p->trans_a ? 1 : p->a_stride);
	int64_t a_step = p->trans_a ? p->a_stride : 1;
	int64_t b_row = p->trans_b ? 1 : p->b_stride, b_col = p->trans_b ? p->b_stride : 1;
	ws_real *c = p->c + row * p->c_stride;
	double sum[WS_TILE];

	WS_EACH_TILE(col, n, 0, p->n) {
		for (int64_t j = 0; j < n; j++)
			sum[j] = p->accumulate ? (double)c[col + j] : 0;
		for (int64_t k = 0; k < p->k; k++) {
			double left = a[k * a_step];
			const ws_real *right = p->b + k * b_row + col * b_col;

			for (int64_t j = 0; j < n; j++)
				sum[j] += left * (double)right[j * b_col];
		}
		for (int64_t j = 0; j < n; j++)
			c[col + j] = (ws_real)sum[j];
	}
}

void WS_CPU_FN(matmul)(const struct ws_matmul *p)
{
	for (int64_t row = 0; row < p->m; row++)
		matmul_row(p, row);
}

#endif

/* Rows first … first + count of one product of a batch. */
static struct ws_matmul rows_of(const struct ws_op *op, int64_t batch, int64_t first, int64_t count)
{
	const struct ws_gemm *g = &op->u.gemm;

	return (struct ws_matmul){
	        .m = count,
	        .n = g->n,
	        .k = g->k,
	        .a = ws_reals(op->in[0], batch * g->m * g->k + first * (g->trans_a ? 1 : g->k)),
	        .b = ws_reals(op->in[1], batch * g->k * g->n),
	        .c = ws_reals(op->out[0], (batch * g->m + first) * g->n),
	        .a_stride = g->trans_a ? g->m : g->k,
	        .b_stride = g->trans_b ? g->k : g->n,
	        .c_stride = g->n,
	        .trans_a = g->trans_a,
	        .trans_b = g->trans_b,
	};
}

#if USE_BLAS

static void multiply(struct ws_cpu *cpu, const struct ws_op *op)
{
	openblas_set_num_threads(ws_pool_threads(cpu->pool));
	for (int64_t i = 0; i < op->u.gemm.batch; i++) {
		struct ws_matmul product = rows_of(op, i, 0, op->u.gemm.m);

		WS_CPU_FN(matmul)(&product);
	}
}

#else

static void row_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	int64_t m = op->u.gemm.m;
	struct ws_matmul product = rows_of(op, item / m, item % m, 1);

	WS_CPU_FN(matmul)(&product);
}

static void multiply(struct ws_cpu *cpu, const struct ws_op *op)
{
	ws_pool_run(cpu->pool, op->u.gemm.batch * op->u.gemm.m, row_item, &op);
}

#endif

void WS_CPU_FN(gemm)(struct ws_cpu *cpu, const struct ws_op *op)
{
	ws_cpu_kernel_begin(cpu, op->u.gemm.batch * op->u.gemm.m);
	multiply(cpu, op);
	ws_cpu_kernel_end(cpu);
}
