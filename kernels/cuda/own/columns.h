/*
 * How sums over the columns of [rows, cols], or over channels, are divided among blocks: each
 * block sums a slice of the rows into scratch, a second kernel adds the slices. Plain C:
 * launchers and ws_cuda_scratch_bytes() agree on sizes through this file.
 *
 * The division depends on shapes alone, not on the device: so do the bits of the sums.
 */
#pragma once

#include "kernels/graph/op.h"

#define WS_COLUMNS_THREADS 256
#define WS_COLUMNS_ROWS    8 /* of a thread and turn: 128 bytes on their way */

#define WS_COLUMNS_BLOCKS     1024 /* enough to fill a GPU of 132 multiprocessors */
#define WS_COLUMNS_SLICES_MAX 512  /* that one block of the second kernel adds in a few turns */
#define WS_ROW_SLICES_MAX     1024

struct ws_columns {
	int lanes;          /* threads, a power of two, that share a row; each has n columns */
	int tiles;          /* blocks side by side */
	int slices;         /* 1: the first kernel writes the result */
	int64_t slice_rows; /* the last slice may have less */
};

/* Into slices of at least `least` of `rows`, for about WS_COLUMNS_BLOCKS blocks. */
static inline void ws_columns_slice(struct ws_columns *c, int64_t rows, int64_t least)
{
	int64_t slices = (rows + least - 1) / least;
	int64_t wanted = (WS_COLUMNS_BLOCKS + c->tiles - 1) / c->tiles;

	if (slices > wanted)
		slices = wanted;
	if (slices > WS_COLUMNS_SLICES_MAX)
		slices = WS_COLUMNS_SLICES_MAX;
	c->slice_rows = (rows + slices - 1) / slices;
	c->slices = (int)((rows + c->slice_rows - 1) / c->slice_rows);
}

/* Sums of columns, of which a thread reads n at once. cols: below 2^31 */
static inline struct ws_columns ws_columns_plan(int64_t rows, int64_t cols, int n)
{
	struct ws_columns c = {1, 0, 0, 0};

	while (c.lanes < 32 && (int64_t)c.lanes * n < cols)
		c.lanes *= 2;
	c.tiles = (int)((cols + (int64_t)c.lanes * n - 1) / ((int64_t)c.lanes * n));
	ws_columns_slice(&c, rows, (int64_t)(WS_COLUMNS_THREADS / c.lanes) * WS_COLUMNS_ROWS);
	return c;
}

/* Sums over channels, each of `packs` packs that lie in stretches: a block has one channel. */
static inline struct ws_columns ws_columns_plan_channels(int64_t packs, int64_t channels)
{
	struct ws_columns c = {WS_COLUMNS_THREADS, (int)channels, 0, 0};

	ws_columns_slice(&c, packs, (int64_t)WS_COLUMNS_THREADS * WS_COLUMNS_ROWS);
	return c;
}

/* Elements that a thread of a sum reads at once: 16 bytes, where rows are whole numbers of them. */
static inline int ws_columns_width(const struct ws_tensor *t, int64_t run)
{
	int n = 16 / (int)ws_dtype_size(t->dtype);

	return run % n ? 1 : n;
}

/* Of an op that sums over columns or channels. */
static inline struct ws_columns ws_columns_of(const struct ws_op *op)
{
	const struct ws_tensor *t = op->in[0];
	int64_t cols = ws_tensor_cols(t);
	struct ws_channels ch = {t->count / cols, cols, 1}; /* REDUCE */
	int n;

	if (op->kind == WS_OP_BIAS_GRAD)
		ch = op->u.ch;
	else if (op->kind == WS_OP_BATCH_NORM || op->kind == WS_OP_BATCH_NORM_GRAD)
		ch = op->u.norm.ch;
	n = ws_columns_width(t, ch.inner > 1 ? ch.inner : ch.channels);
	return ch.inner > 1 ? ws_columns_plan_channels(ch.outer * (ch.inner / n), ch.channels)
	                    : ws_columns_plan(ch.outer, ch.channels, n);
}

/* Slices of at least 8 rows, so that the sums of RMS_NORM_GRAD are few beside the rows. */
static inline int64_t ws_row_slices(int64_t rows)
{
	int64_t slices = (rows + 7) / 8;

	return slices < WS_ROW_SLICES_MAX ? slices : WS_ROW_SLICES_MAX;
}
