/*
 * How sums over channels of [outer, channels, inner], or over the columns of [rows, cols], are
 * divided among blocks: each block sums a slice of some channels into scratch, a second kernel
 * adds the slices (columns.cuh). Plain C: launchers and ws_cuda_scratch_bytes() agree on sizes
 * through this file.
 *
 * The division depends on shapes alone, not on the device: so do the bits of the sums.
 */
#pragma once

#include "kernels/graph/op.h"

#define WS_COLUMNS_THREADS 256
#define WS_COLUMNS_ITEMS   8    /* of a thread and slice, at least */
#define WS_COLUMNS_BLOCKS  2048 /* enough to fill a GPU of 132 multiprocessors */
#define WS_COLUMNS_SLICES  512  /* that one block of the second kernel adds in a few turns */
#define WS_ROW_SLICES      1024

struct ws_columns {
	int64_t channels;
	int64_t items; /* rows of channels side by side or, of stretches, packs of a channel */
	int64_t slice_items; /* the last slice may have less */
	int64_t run;         /* packs of a stretch of one channel; 0: channels lie side by side */
	int width; /* elements of a pack: 16 bytes, where rows or stretches are whole such */
	int lanes; /* threads side by side, a power of two; 1 of stretches */
	int tiles, slices; /* blocks: of channels, of items */
};

/* Of an op that sums over columns or channels. */
static inline struct ws_columns ws_columns_of(const struct ws_op *op)
{
	const struct ws_tensor *t = op->in[0];
	int64_t cols = ws_tensor_cols(t), least, wanted;
	struct ws_channels ch = {t->count / cols, cols, 1}; /* REDUCE */
	struct ws_columns c;

	if (op->kind == WS_OP_BIAS_GRAD)
		ch = op->u.ch;
	else if (op->kind == WS_OP_BATCH_NORM || op->kind == WS_OP_BATCH_NORM_GRAD)
		ch = op->u.norm.ch;
	memset(&c, 0, sizeof(c));
	c.channels = ch.channels;
	c.width = 16 / (int)ws_dtype_size(t->dtype);
	if ((ch.inner > 1 ? ch.inner : ch.channels) % c.width)
		c.width = 1;
	c.lanes = 1;
	if (ch.inner > 1) {
		c.run = ch.inner / c.width;
		c.items = ch.outer * c.run;
		c.tiles = (int)ch.channels;
	} else {
		c.items = ch.outer;
		while (c.lanes < 32 && (int64_t)c.lanes * c.width < ch.channels)
			c.lanes *= 2;
		c.tiles = (int)((ch.channels + (int64_t)c.lanes * c.width - 1) /
		                ((int64_t)c.lanes * c.width));
	}
	least = WS_COLUMNS_THREADS / c.lanes * WS_COLUMNS_ITEMS;
	wanted = (WS_COLUMNS_BLOCKS + c.tiles - 1) / c.tiles;
	if (wanted > WS_COLUMNS_SLICES)
		wanted = WS_COLUMNS_SLICES;
	if (wanted > (c.items + least - 1) / least)
		wanted = (c.items + least - 1) / least;
	c.slice_items = (c.items + wanted - 1) / wanted;
	c.slices = (int)((c.items + c.slice_items - 1) / c.slice_items);
	return c;
}

/* Slices of at least 8 rows, so that the sums of RMS_NORM_GRAD are few beside the rows. */
static inline int64_t ws_row_slices(int64_t rows)
{
	int64_t slices = (rows + 7) / 8;

	return slices < WS_ROW_SLICES ? slices : WS_ROW_SLICES;
}
