/* AdamW of all parameters in one kernel. The formulas and their order: optim.h. */
#include "kernels/cpu/real.h"

static void update(const struct ws_adamw_factors *f, ws_real alpha, int64_t n, const ws_real *g,
                   ws_real *restrict p, ws_real *restrict m, ws_real *restrict v)
{
	const ws_real beta1 = (ws_real)f->beta1, rest1 = (ws_real)(1 - f->beta1);
	const ws_real beta2 = (ws_real)f->beta2, rest2 = (ws_real)(1 - f->beta2);
	const ws_real eps = (ws_real)f->eps, decay = (ws_real)f->decay;

	for (int64_t i = 0; i < n; i++) {
		m[i] = beta1 * m[i] + rest1 * g[i];
		v[i] = beta2 * v[i] + rest2 * (g[i] * g[i]);
		p[i] -= m[i] * alpha / (WS_REAL_SQRT(v[i]) + eps);
		p[i] -= decay * p[i];
	}
}

/* Values to update in place: their own memory, or buf filled from them. */
static ws_real *open_values(const struct ws_tensor *t, int64_t offset, int64_t n, ws_real *buf)
{
	ws_real_load(t, offset, n, buf);
	return ws_real_target(t, offset, buf);
}

static void update_tile(const struct ws_op *op, const struct ws_adamw_tensor *t, int64_t offset,
                        int64_t n)
{
	ws_real g_buf[WS_TILE], p_buf[WS_TILE], m_buf[WS_TILE], v_buf[WS_TILE];
	const ws_real alpha = ws_real_get(op->in[0], 0);
	const ws_real *g = ws_real_load(t->g, offset, n, g_buf);
	ws_real *p = open_values(t->p, offset, n, p_buf);
	ws_real *m = open_values(t->m, offset, n, m_buf);
	ws_real *v = open_values(t->v, offset, n, v_buf);

	update(&op->u.adamw.factors, alpha, n, g, p, m, v);
	ws_real_store(t->p, offset, n, p);
	ws_real_store(t->m, offset, n, m);
	ws_real_store(t->v, offset, n, v);
}

static int64_t items_of(const struct ws_adamw_tensor *t)
{
	return ws_div_up(t->p->count, WS_GRAIN);
}

/* item: a stretch of one parameter; the items of the list follow one another. */
static void adamw_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const struct ws_adamw_tensor *t = op->u.adamw.list;
	int64_t first, end;

	for (; item >= items_of(t); t++)
		item -= items_of(t);
	first = item * WS_GRAIN;
	end = ws_min64(first + WS_GRAIN, t->p->count);
	WS_EACH_TILE(offset, n, first, end)
		update_tile(op, t, offset, n);
}

enum ws_status WS_CPU_FN(adamw)(struct ws_cpu *cpu, const struct ws_op *op, struct ws_err *err)
{
	const struct ws_adamw_all *all = &op->u.adamw;
	int64_t items = 0;

	for (int i = 0; i < all->count; i++) {
		const struct ws_adamw_tensor *t = &all->list[i];

		WS_FAIL_IF(!t->p->data || !t->g->data || !t->m->data || !t->v->data, err, BUG,
		           "op %s: a tensor of %s has no data", op->message, t->p->name);
		items += items_of(t);
	}
	ws_cpu_launch(cpu, op, items, adamw_item, &op);
	return WS_OK;
}
