/*
 * Ops that compute each element of the result from one element of each operand; optimizers,
 * clipping and loss scaling, which do so on many tensors; dropout. Their formulas: element.h.
 */
#include <stdatomic.h>

#include "kernels/cpu/cpu.h"

/* y[i] = the formula of a sub-op: a loop for each. */
static void elements(enum ws_sub sub, int64_t n, const ws_real *a, const ws_real *b,
                     const ws_real *c, ws_real alpha, ws_real *y)
{
	switch (sub) {
#define WS_SUB(KIND, SUB, ...)                                                    \
	case WS_SUB_##SUB:                                                        \
		for (int64_t i = 0; i < n; i++)                                   \
			y[i] = ws_element(WS_SUB_##SUB, a[i], b[i], c[i], alpha); \
		break;
#include "kernels/graph/op.def"
	default:
		break;
	}
}

/* --- one element of each operand ----------------------------------------------------------- */

/* The result as rows × cols, cut into tiles; items of several tiles go to the pool. */
struct map {
	const struct ws_op *op;
	struct ws_elementwise e;
	int64_t rows, cols;
	int64_t tiles_per_row, tiles, tiles_per_item;
};

/* n elements of an operand: those of the result from a row and column on. */
static const ws_real *load(const struct map *map, int operand, int64_t row, int64_t col, int64_t n,
                           ws_real *buf)
{
	const struct ws_tensor *t = map->op->in[operand];
	ws_real one;

	switch (map->e.spread[operand]) {
	case WS_BROADCAST_SAME:
		return ws_real_load(t, row * map->cols + col, n, buf);
	case WS_BROADCAST_ROW:
		return ws_real_load(t, col, n, buf);
	case WS_BROADCAST_COL:
		break;
	case WS_BROADCAST_CHANNEL:
		row %= map->e.channels;
		break;
	default:
		row = 0;
	}
	one = *ws_real_load(t, row, 1, &one);
	for (int64_t i = 0; i < n; i++)
		buf[i] = one;
	return buf;
}

static void map_item(void *arg, int64_t item)
{
	const struct map *map = arg;
	const struct ws_op *op = map->op;
	const ws_real alpha = (ws_real)map->e.alpha;
	int64_t first = item * map->tiles_per_item;
	int64_t end = ws_min64(first + map->tiles_per_item, map->tiles);
	ws_real buf[4][WS_TILE], *y;

	for (int64_t tile = first; tile < end; tile++) {
		int64_t row = tile / map->tiles_per_row, col = tile % map->tiles_per_row * WS_TILE;
		int64_t n = ws_min64(map->cols - col, WS_TILE), offset = row * map->cols + col;
		const ws_real *in[3] = {buf[0], buf[0], buf[0]}; /* missing operands are not read */

		for (int i = 0; i < op->in_count; i++)
			in[i] = load(map, i, row, col, n, buf[i]);
		y = ws_real_target(op->out[0], offset, buf[3]);
		elements(op->sub, n, in[0], in[1], in[2], alpha, y);
		if (op->sub == WS_SUB_CAUSAL_MASK) {
			int64_t visible = row % map->cols + 1 - col;

			for (int64_t i = visible < 0 ? 0 : visible; i < n; i++)
				y[i] = alpha;
		}
		ws_real_store(op->out[0], offset, n, y);
	}
}

static void map_run(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct map map = {.op = op, .e = ws_op_elementwise(op)};
	bool flat = op->sub != WS_SUB_CAUSAL_MASK;

	/* where no operand cares for rows, one long row has fewer partial tiles */
	for (int i = 0; i < op->in_count; i++)
		flat &= map.e.spread[i] == WS_BROADCAST_SAME ||
		        map.e.spread[i] == WS_BROADCAST_SCALAR;
	map.cols = flat ? op->out[0]->count : map.e.cols;
	map.rows = op->out[0]->count / map.cols;
	int64_t tile = ws_min64(map.cols, WS_TILE);
	map.tiles_per_row = ws_div_up(map.cols, tile);
	map.tiles = map.rows * map.tiles_per_row;
	map.tiles_per_item = ws_div_up(WS_GRAIN, tile);
	ws_cpu_launch(cpu, ws_div_up(map.tiles, map.tiles_per_item), map_item, &map);
}

WS_CPU_KERNEL(unary, map_run(cpu, op))
WS_CPU_KERNEL(binary, map_run(cpu, op))
WS_CPU_KERNEL(copy, map_run(cpu, op))
WS_CPU_KERNEL(fill, map_run(cpu, op))
WS_CPU_KERNEL(bias, map_run(cpu, op))
WS_CPU_KERNEL(bias_act, map_run(cpu, op))
WS_CPU_KERNEL(squared_error, map_run(cpu, op))
WS_CPU_KERNEL(squared_error_grad, map_run(cpu, op))

/* The only op that draws random numbers. */
WS_CPU_ITEMS(dropout, ws_div_up(op->in[0]->count, WS_GRAIN))
{
	const struct ws_dropout *d = &op->u.dropout;
	const ws_real keep = (ws_real)(1 / (1 - d->p)), *x = op->in[0]->data;
	const uint32_t below = ws_rng_below(d->p);
	ws_real *y = op->out[0]->data, *mask = op->out[1]->data;
	int64_t count = op->in[0]->count, end = ws_min64((item + 1) * WS_GRAIN, count);
	uint64_t first = ws_dropout_draw(count, (uint64_t) * (const int32_t *)op->in[1]->data);

	for (int64_t i = item * WS_GRAIN; i < end; i++) {
		mask[i] = ws_rng_half(&d->rng, first + (uint64_t)i) < below ? 0 : keep;
		y[i] = x[i] * mask[i];
	}
}

/* --- many tensors: optimizers, clipping, loss scaling ----------------------------------------- */

/* All of an optimizer on n elements of p, m, v, g: a loop for each, without what a row lacks. */
static inline __attribute__((always_inline)) void
optimizer_loop(enum ws_sub sub, const struct ws_optimizer_factors *f, const ws_real *number,
               int64_t n, ws_real *const *t, bool has_m, bool has_v)
{
	ws_real *restrict p = t[WS_UPDATE_P], *restrict m = t[WS_UPDATE_M];
	ws_real *restrict v = t[WS_UPDATE_V], one_m = 0, one_v = 0;
	const ws_real *g = t[WS_UPDATE_G];

	for (int64_t i = 0; i < n; i++) {
		one_m = has_m ? m[i] : 0;
		one_v = has_v ? v[i] : 0;
		ws_optimizer_step(sub, f, number[0], number[1], &p[i], &one_m, &one_v, g[i]);
		if (has_m)
			m[i] = one_m;
		if (has_v)
			v[i] = one_v;
	}
}

static void update_tile(const struct ws_op *op, const struct ws_update_row *row, int64_t offset,
                        int64_t n)
{
	ws_real buf[WS_UPDATE_TENSORS][WS_TILE], *t[WS_UPDATE_TENSORS] = {NULL}, *a, *b, *c;
	ws_real number[2] = {(ws_real)op->u.update.factors.alpha, 0};

	for (int i = 0; i < ws_update_numbers(op); i++)
		number[i] = *ws_reals(op->in[i], 0);
	for (int k = 0; k < WS_UPDATE_TENSORS; k++) {
		if (!row->t[k])
			continue;
		if (ws_update_reads(op->sub, k))
			ws_real_load(row->t[k], offset, n, buf[k]);
		t[k] = ws_real_target(row->t[k], offset, buf[k]);
	}
	a = t[WS_UPDATE_A]; /* in the place of operands that the step lacks, too */
	b = t[WS_UPDATE_B] ? t[WS_UPDATE_B] : a;
	c = t[WS_UPDATE_C] ? t[WS_UPDATE_C] : a;
	if (ws_update_is_fused(op->sub)) {
		const struct ws_optimizer_factors f = ws_optimizer_factors_of(op);

		switch (op->sub) {
		case WS_SUB_ADAMW_CS336_ALL:
			optimizer_loop(WS_SUB_ADAMW_CS336_ALL, &f, number, n, t, true, true);
			break;
		case WS_SUB_ADAMW_ALL:
			optimizer_loop(WS_SUB_ADAMW_ALL, &f, number, n, t, true, true);
			break;
		case WS_SUB_ADAM_ALL:
			optimizer_loop(WS_SUB_ADAM_ALL, &f, number, n, t, true, true);
			break;
		default:
			optimizer_loop(WS_SUB_SGD_ALL, &f, number, n, t, t[WS_UPDATE_M], false);
		}
	} else {
		elements(op->sub, n, a, b, c, number[0], t[WS_UPDATE_OUT]);
	}
	for (int k = 0; k < WS_UPDATE_TENSORS; k++)
		if (t[k] && ws_update_writes(op->sub, k))
			ws_real_store(row->t[k], offset, n, t[k]);
}

struct walk {
	const struct ws_op *op;
	double *sums;           /* CLIP: of each item */
	atomic_bool not_finite; /* UNSCALE: an element of any tensor */
};

/* item: a stretch of one row; the items of the list follow one another. */
static void walk_item(void *arg, int64_t item)
{
	struct walk *walk = arg;
	const struct ws_update_row *row = walk->op->u.update.list;
	int64_t first, end, rest = item;
	ws_real buf[WS_TILE], y_buf[WS_TILE];
	double sum = 0;

	for (; rest >= ws_cpu_row_items(row); row++)
		rest -= ws_cpu_row_items(row);
	first = rest * WS_GRAIN;
	end = ws_min64(first + WS_GRAIN, row->t[0]->count);
	WS_EACH_TILE(offset, n, first, end) {
		if (walk->op->kind == WS_OP_CLIP) {
			const ws_real *x = ws_real_load(row->t[0], offset, n, buf);

			for (int64_t i = 0; i < n; i++)
				sum += (double)x[i] * (double)x[i];
		} else if (walk->op->kind == WS_OP_UPDATE) {
			update_tile(walk->op, row, offset, n);
		} else {
			const ws_real *x = ws_real_load(row->t[WS_UPDATE_A], offset, n, buf);
			ws_real *y = ws_real_target(row->t[WS_UPDATE_OUT], offset, y_buf);
			/* as GradScaler makes it: divided in double, rounded once */
			const ws_real inverse =
			        (ws_real)(1 / (double)*ws_reals(walk->op->in[1], 0));
			bool finite = true;

			for (int64_t i = 0; i < n; i++) {
				finite &= isfinite(x[i]) != 0;
				y[i] = x[i] * inverse;
			}
			ws_real_store(row->t[WS_UPDATE_OUT], offset, n, y);
			if (!finite)
				atomic_store(&walk->not_finite, true);
		}
	}
	if (walk->sums)
		walk->sums[item] = sum;
}

void WS_CPU_FN(update)(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct walk walk = {.op = op};

	ws_cpu_launch(cpu, ws_cpu_update_items(op), walk_item, &walk);
}

void WS_CPU_FN(clip)(struct ws_cpu *cpu, const struct ws_op *op)
{
	int64_t items = ws_cpu_update_items(op);
	struct walk walk = {.op = op, .sums = cpu->scratch};
	double sum = 0, factor;

	ws_cpu_kernel_begin(cpu, items);
	ws_pool_run(cpu->pool, items, walk_item, &walk);
	for (int64_t i = 0; i < items; i++)
		sum += walk.sums[i];
	factor = op->u.update.factors.alpha / (sqrt(sum) + WS_CLIP_EPS);
	*ws_reals(op->out[0], 0) = (ws_real)(factor < 1 ? factor : 1);
	ws_cpu_kernel_end(cpu);
}

void WS_CPU_FN(unscale)(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct walk walk = {.op = op};

	ws_cpu_launch(cpu, ws_cpu_update_items(op), walk_item, &walk);
	if (op->in_count > 2 && atomic_load(&walk.not_finite))
		*ws_reals(op->out[1], 0) = 1;
}

WS_CPU_ITEMS(scale_update, 1)
{
	ws_real *scale = op->out[0]->data;
	double value = (double)*scale;

	(void)item;
	ws_scaler_next(&op->u.scaler, *ws_reals(op->in[2], 0) != 0, &value, op->out[1]->data);
	*scale = (ws_real)value;
}

/* --- layout ---------------------------------------------------------------------------------- */

/* Ops that move elements to other places: permute, rope with its head split, by index. */

/* item: one [b] of one [a] of the operand */
WS_CPU_ITEMS(permute, op->u.dims[0] * op->u.dims[1])
{
	const int64_t *d = op->u.dims;
	size_t run_bytes = (size_t)d[3] * ws_dtype_size(op->in[0]->dtype);
	int64_t a = item / d[1], b = item % d[1];

	for (int64_t c = 0; c < d[2]; c++)
		memcpy((char *)op->out[0]->data + (size_t)((a * d[2] + c) * d[1] + b) * run_bytes,
		       (const char *)op->in[0]->data + (size_t)(item * d[2] + c) * run_bytes,
		       run_bytes);
}

/*
 * item: one time of one batch; all its heads. Those of queries and keys are rotated; behind them
 * ROPE_QKV has those of values, which are not.
 */
WS_CPU_ITEMS(rope, op->u.head.batch * op->u.head.time)
{
	const struct ws_heads *h = &op->u.head;
	bool back = op->sub == WS_SUB_ROTATE_BACK || op->sub == WS_SUB_ROTATE_QKV_BACK;
	int parts = op->kind == WS_OP_ROPE_QKV ? 3 : 1;
	const struct ws_tensor *table = op->in[back ? parts : 1];
	int64_t b = item / h->time, t = item % h->time, pairs = h->width / 2;
	const ws_real *cosine = ws_reals(table, t * pairs);
	const ws_real *sine = ws_reals(table, (h->time + t) * pairs);

	for (int64_t i = 0; i < parts * h->heads; i++) {
		int64_t part = i / h->heads, head = i % h->heads;
		int64_t merged = (parts * item * h->heads + i) * h->width;
		int64_t split = ((b * h->heads + head) * h->time + t) * h->width;
		const ws_real *x = ws_reals(op->in[back ? part : 0], back ? split : merged);
		ws_real *y = ws_reals(op->out[back ? 0 : part], back ? merged : split);

		for (int64_t j = 0; j < pairs && part < 2; j++)
			ws_rotate(x[2 * j], x[2 * j + 1], cosine[j], back ? -sine[j] : sine[j],
			          &y[2 * j]);
		if (part == 2)
			memcpy(y, x, (size_t)h->width * sizeof(*y));
	}
}

WS_CPU_KERNEL(rope_qkv, WS_CPU_FN(rope)(cpu, op))

/* --- by index --------------------------------------------------------------------------------- */

#define LOOKUP_ROWS 16 /* of an item */

WS_CPU_ITEMS(embedding, ws_div_up(op->in[1]->count, LOOKUP_ROWS))
{
	const struct ws_tensor *table = op->in[0], *out = op->out[0];
	const int32_t *index = op->in[1]->data;
	size_t row_bytes = (size_t)ws_tensor_cols(table) * ws_dtype_size(table->dtype);
	int64_t end = ws_min64((item + 1) * LOOKUP_ROWS, op->in[1]->count);

	for (int64_t row = item * LOOKUP_ROWS; row < end; row++)
		memcpy((char *)out->data + (size_t)row * row_bytes,
		       (const char *)table->data + (size_t)index[row] * row_bytes, row_bytes);
}

/* Columns of the table that one item adds to: two rows may hit the same row of the table. */
#define COLUMNS 64

WS_CPU_ITEMS(embedding_grad, ws_div_up(ws_tensor_cols(op->in[0]), COLUMNS))
{
	const int32_t *index = op->in[1]->data;
	int64_t cols = ws_tensor_cols(op->in[0]), first = item * COLUMNS;
	int64_t n = ws_min64(cols - first, COLUMNS);

	for (int64_t row = 0; row < op->in[1]->count; row++) {
		const ws_real *add = ws_reals(op->in[0], row * cols + first);
		ws_real *sum = ws_reals(op->out[0], index[row] * cols + first);

		for (int64_t i = 0; i < n; i++)
			sum[i] += add[i];
	}
}

/* One element of each row, from the row or into it. */
WS_CPU_ITEMS(gather, ws_div_up(op->in[1]->count, WS_TILE))
{
	bool scatter = op->kind == WS_OP_GATHER_GRAD;
	const int32_t *index = op->in[1]->data;
	int64_t cols = ws_tensor_cols(scatter ? op->out[0] : op->in[0]);
	int64_t end = ws_min64((item + 1) * WS_TILE, op->in[1]->count);

	for (int64_t row = item * WS_TILE; row < end; row++) {
		int64_t place = row * cols + index[row];

		*ws_reals(op->out[0], scatter ? place : row) =
		        *ws_reals(op->in[0], scatter ? row : place);
	}
}

WS_CPU_KERNEL(gather_grad, WS_CPU_FN(gather)(cpu, op))
