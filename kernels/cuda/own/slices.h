/*
 * How kernels that sum over rows or channels divide them: each slice's sum goes to scratch, a
 * second kernel adds them in their order. Plain C: launchers and ws_cuda_scratch_bytes() agree
 * on sizes through this file.
 */
#pragma once

#include "kernels/cuda/own/columns.h"

#define WS_SLICES_MAX 1024

/* Slices of at least 8 rows, so that their sums are few beside the rows. */
static inline int64_t ws_row_slices(int64_t rows)
{
	int64_t slices = (rows + 7) / 8;

	return slices < WS_SLICES_MAX ? slices : WS_SLICES_MAX;
}

/* Of RMS_NORM_GRAD: a sum for each slice of rows and column. */
static inline uint64_t ws_rms_norm_grad_scratch_bytes(const struct ws_op *op)
{
	const struct ws_tensor *dx = op->out[0], *weight = op->out[1];

	return (uint64_t)ws_row_slices(dx->count / weight->count) * (uint64_t)weight->count *
	       sizeof(float);
}

/* Of CROSS_ENTROPY: the loss of each row. */
static inline uint64_t ws_cross_entropy_scratch_bytes(const struct ws_op *op)
{
	return (uint64_t)op->in[1]->count * sizeof(float);
}

/* How the channels of BATCH_NORM and its gradient are divided. */
static inline struct ws_columns ws_batch_norm_columns(const struct ws_op *op)
{
	const struct ws_channels *ch = &op->u.norm.ch;
	bool runs = ch->inner > 1;
	int n = ws_columns_width(op->in[0], runs ? ch->inner : ch->channels);

	return runs ? ws_columns_plan_channels(ch->outer * (ch->inner / n), ch->channels)
	            : ws_columns_plan(ch->outer, ch->channels, n);
}

/* Of these: two sums of each slice and channel. */
static inline uint64_t ws_batch_norm_scratch_bytes(const struct ws_op *op)
{
	return (uint64_t)ws_batch_norm_columns(op).slices * (uint64_t)op->u.norm.ch.channels * 2 *
	       sizeof(float);
}
