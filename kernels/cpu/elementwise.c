/* Ops that compute each element of the result from one element of each operand. */
#include "kernels/cpu/real.h"

/* The result as rows × cols, cut into tiles; items of several tiles go to the pool. */
struct map {
	const struct ws_op *op;
	enum ws_broadcast mode[2];
	int64_t rows, cols;
	int64_t tiles_per_row, tiles, tiles_per_item;
};

static void map_init(struct map *map, const struct ws_op *op)
{
	const struct ws_tensor *out = op->out[0];
	bool flat = true;
	int64_t tile;

	map->op = op;
	for (int i = 0; i < op->in_count; i++) {
		map->mode[i] = ws_tensor_broadcast(op->in[i], out);
		flat &= map->mode[i] == WS_BROADCAST_SAME || map->mode[i] == WS_BROADCAST_SCALAR;
	}
	/* where no operand cares for rows, one long row has fewer partial tiles */
	flat &= op->sub != WS_SUB_CAUSAL_MASK;
	map->rows = flat ? 1 : ws_tensor_rows(out);
	map->cols = flat ? out->count : ws_tensor_cols(out);
	tile = ws_min64(map->cols, WS_TILE);
	map->tiles_per_row = ws_div_up(map->cols, tile);
	map->tiles = map->rows * map->tiles_per_row;
	map->tiles_per_item = ws_div_up(WS_GRAIN, tile);
}

struct tile {
	int64_t row, col; /* of its first element */
	int64_t count;
	int64_t offset; /* of its first element in the result */
};

static struct tile map_tile(const struct map *map, int64_t index)
{
	struct tile tile = {.row = index / map->tiles_per_row};

	tile.col = index % map->tiles_per_row * WS_TILE;
	tile.count = ws_min64(map->cols - tile.col, WS_TILE);
	tile.offset = tile.row * map->cols + tile.col;
	return tile;
}

static const ws_real *load(const struct map *map, int operand, const struct tile *tile,
                           ws_real *buf)
{
	const struct ws_tensor *t = map->op->in[operand];
	ws_real one;

	switch (map->mode[operand]) {
	case WS_BROADCAST_SAME:
		return ws_real_load(t, tile->offset, tile->count, buf);
	case WS_BROADCAST_ROW:
		return ws_real_load(t, tile->col, tile->count, buf);
	default:
		one = *ws_real_load(t, map->mode[operand] == WS_BROADCAST_COL ? tile->row : 0, 1,
		                    &one);
		for (int64_t i = 0; i < tile->count; i++)
			buf[i] = one;
		return buf;
	}
}

static void unary_tile(const struct ws_op *op, const struct tile *tile, int64_t cols,
                       const ws_real *x, ws_real *y)
{
	const ws_real alpha = (ws_real)op->u.alpha;
	const int64_t n = tile->count;

	switch (op->sub) {
		WS_EACH_OF(NEG, -x[i]);
		WS_EACH_OF(EXP, WS_REAL_EXP(x[i]));
		WS_EACH_OF(LOG, WS_REAL_LOG(x[i]));
		WS_EACH_OF(SQRT, WS_REAL_SQRT(x[i]));
		WS_EACH_OF(RSQRT, 1 / WS_REAL_SQRT(x[i]));
		WS_EACH_OF(SQUARE, x[i] * x[i]);
		WS_EACH_OF(SIGMOID, 1 / (1 + WS_REAL_EXP(-x[i])));
		WS_EACH_OF(SCALE, alpha * x[i]);
		WS_EACH_OF(ADD_CONST, x[i] + alpha);
		WS_EACH_OF(CAUSAL_MASK, tile->col + i > tile->row % cols ? alpha : x[i]);
		WS_EACH_OF(RELU, x[i] < 0 ? 0 : x[i]); /* a NaN stays one */
		WS_EACH_OF(LEAKY_RELU, x[i] < 0 ? alpha * x[i] : x[i]);
		WS_EACH_OF(TANH, WS_REAL_TANH(x[i]));
	default: /* CAST, EXPAND */
		WS_EACH(x[i]);
	}
}

static void binary_tile(const struct ws_op *op, int64_t n, const ws_real *a, const ws_real *b,
                        ws_real *y)
{
	const ws_real alpha = (ws_real)op->u.alpha;

	switch (op->sub) {
		WS_EACH_OF(ADD, a[i] + b[i]);
		WS_EACH_OF(SUB, a[i] - b[i]);
		WS_EACH_OF(MUL, a[i] * b[i]);
		WS_EACH_OF(DIV, a[i] / b[i]);
		WS_EACH_OF(RELU_GRAD, b[i] > 0 ? a[i] : 0);
		WS_EACH_OF(LEAKY_RELU_GRAD, b[i] > 0 ? a[i] : alpha * a[i]);
		WS_EACH_OF(TANH_GRAD, a[i] * (1 - b[i] * b[i]));
	default: /* SIGMOID_GRAD */
		WS_EACH(a[i] * b[i] * (1 - b[i]));
	}
}

static void map_item(void *arg, int64_t item)
{
	const struct map *map = arg;
	const struct ws_op *op = map->op;
	int64_t first = item * map->tiles_per_item;
	int64_t end = ws_min64(first + map->tiles_per_item, map->tiles);
	ws_real buf[3][WS_TILE];

	for (int64_t index = first; index < end; index++) {
		struct tile tile = map_tile(map, index);
		const ws_real *a = load(map, 0, &tile, buf[0]);
		ws_real *y = ws_real_target(op->out[0], tile.offset, buf[2]);

		if (op->kind == WS_OP_BINARY)
			binary_tile(op, tile.count, a, load(map, 1, &tile, buf[1]), y);
		else
			unary_tile(op, &tile, map->cols, a, y);
		ws_real_store(op->out[0], tile.offset, tile.count, y);
	}
}

static void map_run(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct map map;

	map_init(&map, op);
	ws_cpu_launch(cpu, ws_div_up(map.tiles, map.tiles_per_item), map_item, &map);
}

WS_CPU_KERNEL(unary, map_run(cpu, op))
WS_CPU_KERNEL(binary, map_run(cpu, op))
WS_CPU_KERNEL(copy, map_run(cpu, op))

static void fill_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	int64_t first = item * WS_GRAIN, n = ws_min64(op->out[0]->count - first, WS_GRAIN);
	ws_real *y = ws_reals(op->out[0], first);

	WS_EACH((ws_real)op->u.alpha);
}

WS_CPU_KERNEL(fill, ws_cpu_launch(cpu, ws_div_up(op->out[0]->count, WS_GRAIN), fill_item, &op))
