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

/* A tensor as ws_real. */
struct conversion {
	const struct ws_tensor *t;
	ws_real *data;
	bool needed; /* data is not the tensor's own */
};

struct product {
	const struct ws_op *op;
	struct conversion a, b, c;
};

#if USE_BLAS

static void multiply(struct ws_cpu *cpu, struct product *p)
{
	const struct ws_gemm *g = &p->op->u.gemm;
	blasint m = (blasint)g->m, n = (blasint)g->n, k = (blasint)g->k;

	openblas_set_num_threads(ws_pool_threads(cpu->pool));
	for (int64_t i = 0; i < g->batch; i++)
		cblas_sgemm(CblasRowMajor, g->trans_a ? CblasTrans : CblasNoTrans,
		            g->trans_b ? CblasTrans : CblasNoTrans, m, n, k, 1,
		            p->a.data + i * g->m * g->k, g->trans_a ? m : k,
		            p->b.data + i * g->k * g->n, g->trans_b ? k : n, 0,
		            p->c.data + i * g->m * g->n, n);
}

#else

/* One row of one product: item = batch index * m + row. Accumulated in double. */
static void row_item(void *arg, int64_t item)
{
	const struct product *p = arg;
	const struct ws_gemm *g = &p->op->u.gemm;
	int64_t batch = item / g->m, row = item % g->m;
	const ws_real *a = p->a.data + batch * g->m * g->k + row * (g->trans_a ? 1 : g->k);
	const ws_real *b = p->b.data + batch * g->k * g->n;
	int64_t a_step = g->trans_a ? g->m : 1;
	int64_t b_row = g->trans_b ? 1 : g->n, b_col = g->trans_b ? g->k : 1;
	ws_real *c = p->c.data + item * g->n;
	double sum[WS_TILE];

	for (int64_t col = 0; col < g->n; col += WS_TILE) {
		int64_t n = ws_min64(g->n - col, WS_TILE);

		memset(sum, 0, (size_t)n * sizeof(*sum));
		for (int64_t k = 0; k < g->k; k++) {
			double left = a[k * a_step];
			const ws_real *right = b + k * b_row + col * b_col;

			for (int64_t j = 0; j < n; j++)
				sum[j] += left * (double)right[j * b_col];
		}
		for (int64_t j = 0; j < n; j++)
			c[col + j] = (ws_real)sum[j];
	}
}

static void multiply(struct ws_cpu *cpu, struct product *p)
{
	const struct ws_gemm *g = &p->op->u.gemm;

	ws_pool_run(cpu->pool, g->batch * g->m, row_item, p);
}

#endif

static void load_item(void *arg, int64_t item)
{
	const struct conversion *c = arg;
	int64_t first = item * WS_GRAIN;

	ws_real_load(c->t, first, ws_min64(WS_GRAIN, c->t->count - first), c->data + first);
}

static void store_item(void *arg, int64_t item)
{
	const struct conversion *c = arg;
	int64_t first = item * WS_GRAIN;

	ws_real_store(c->t, first, ws_min64(WS_GRAIN, c->t->count - first), c->data + first);
}

/* Where t's data is as ws_real: its own memory, or a workspace slot. */
static enum ws_status conversion_init(struct ws_cpu *cpu, const struct ws_tensor *t, int slot,
                                      struct conversion *c, struct ws_err *err)
{
	void *data = t->data;

	c->t = t;
	c->needed = t->dtype != WS_REAL_DTYPE;
	if (c->needed)
		WS_FORWARD(ws_cpu_workspace(cpu, slot, (uint64_t)t->count * sizeof(ws_real), &data,
		                            err));
	c->data = data;
	return WS_OK;
}

static void convert(struct ws_cpu *cpu, struct conversion *c, void (*item)(void *, int64_t))
{
	if (c->needed)
		ws_pool_run(cpu->pool, ws_div_up(c->t->count, WS_GRAIN), item, c);
}

enum ws_status WS_CPU_FN(gemm)(struct ws_cpu *cpu, const struct ws_op *op, struct ws_err *err)
{
	struct product p = {.op = op};

#if USE_BLAS
	WS_FAIL_IF(op->u.gemm.m > INT32_MAX || op->u.gemm.n > INT32_MAX || op->u.gemm.k > INT32_MAX,
	           err, ENVIRONMENT, "gemm %s: a dimension exceeds what the BLAS can take",
	           op->message);
#endif
	WS_FORWARD(conversion_init(cpu, op->in[0], 0, &p.a, err));
	WS_FORWARD(conversion_init(cpu, op->in[1], 1, &p.b, err));
	WS_FORWARD(conversion_init(cpu, op->out[0], 2, &p.c, err));

	ws_cpu_kernel_begin(cpu, op, op->u.gemm.batch * op->u.gemm.m);
	convert(cpu, &p.a, load_item);
	convert(cpu, &p.b, load_item);
	multiply(cpu, &p);
	convert(cpu, &p.c, store_item);
	ws_cpu_kernel_end();
	return WS_OK;
}
