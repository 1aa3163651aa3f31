/*
 * What batch norm and its gradient share: how they walk over [outer, channels, inner].
 *
 * Three kernels each: sums of slices of every channel, the total of these with what follows from
 * it for a channel, and the elements. The first and the last divide the tensor alike (columns.h):
 * with inner = 1 a thread has 16 bytes of neighbouring channels and walks down rows; else a block
 * has one channel and walks along its stretches. So what belongs to a channel stays in registers.
 */
#pragma once

#include "kernels/cuda/own/row.cuh"

#include "kernels/cuda/own/columns.h"

#define WS_BN_THREADS WS_COLUMNS_THREADS

struct channels {
	int64_t channels, items; /* items: rows, or packs of a channel's stretches */
	int64_t slice_items;     /* the last slice may have less */
	int lanes;               /* threads that share a row; 1 of stretches */
	struct ws_divisor run;   /* packs of a stretch; 0: neighbours are of different channels */
	bool whole;              /* packs of 16 bytes; else of one element */
	float count;             /* elements of a channel */
};

/* --- walking over a slice -------------------------------------------------------------------- */

/* What a thread visits: items item, item + step, ... of a channel, or of N from it on. */
struct walk {
	int64_t channel, item, end, step;
	bool mine; /* there is such a channel */
};

/* RUN: a channel's elements lie in stretches; else those of N channels side by side. */
template <int N, bool RUN>
static __device__ __forceinline__ struct walk walk_first(const struct channels &c)
{
	int lane = (int)threadIdx.x % c.lanes;
	struct walk w;

	w.channel = RUN ? (int64_t)blockIdx.x : ((int64_t)blockIdx.x * c.lanes + lane) * N;
	w.mine = w.channel < c.channels;
	w.item = (int64_t)blockIdx.y * c.slice_items + (int)threadIdx.x / c.lanes;
	w.end = ((int64_t)blockIdx.y + 1) * c.slice_items;
	if (w.end > c.items)
		w.end = c.items;
	if (!w.mine)
		w.end = 0;
	w.step = WS_BN_THREADS / c.lanes;
	return w;
}

template <int N, bool RUN>
static __device__ __forceinline__ int64_t offset_of(const struct channels &c, const struct walk &w,
                                                    int64_t item)
{
	if (!RUN)
		return item * c.channels + w.channel;
	return (item + (ws_quotient(item, c.run) * (c.channels - 1) + w.channel) * c.run.value) * N;
}

/* Numbers of channels: of the tensor's dtype or fp32 (enum ws_dtype). */
static __device__ __forceinline__ float number(const void *numbers, int dtype, int64_t i)
{
	if (dtype == WS_DTYPE_F16)
		return ws_to_f32(((const struct ws_f16 *)numbers)[i]);
	if (dtype == WS_DTYPE_BF16)
		return ws_to_f32(((const struct ws_bf16 *)numbers)[i]);
	return ((const float *)numbers)[i];
}

static __device__ __forceinline__ void set_number(void *numbers, int dtype, int64_t i, float x)
{
	if (dtype == WS_DTYPE_F16)
		((struct ws_f16 *)numbers)[i] = ws_from_f32<struct ws_f16>(x);
	else if (dtype == WS_DTYPE_BF16)
		((struct ws_bf16 *)numbers)[i] = ws_from_f32<struct ws_bf16>(x);
	else
		((float *)numbers)[i] = x;
}

/* A kernel's body for what the tensor is like: stretches or rows, of whole packs or not. */
#define WS_BN_KERNEL(name, T, body, ...)                           \
	static __global__ void __launch_bounds__(WS_BN_THREADS, 3) \
	        name(struct channels c, __VA_ARGS__ a)             \
	{                                                          \
		constexpr int N = WS_ACCESS / sizeof(T);           \
                                                                   \
		if (c.run.value && c.whole)                        \
			body<T, N, true>(c, a);                    \
		else if (c.run.value)                              \
			body<T, 1, true>(c, a);                    \
		else if (c.whole)                                  \
			body<T, N, false>(c, a);                   \
		else                                               \
			body<T, 1, false>(c, a);                   \
	}

/* --- launching ------------------------------------------------------------------------------- */

#define WS_BN_TURNS  4 /* of a thread of the kernels of elements: small blocks end together */
#define WS_BN_GRID_Y 65535

struct bn_plan {
	struct channels sums, elements; /* they differ in their slices */
	dim3 sums_grid, elements_grid;
	int slices, item_elements;
	unsigned channel_blocks; /* of kernels with a thread for each channel and slice */
};

/* packs: of a thread and turn of the kernel of elements. */
static inline struct bn_plan plan_of(const struct ws_op *op, int packs)
{
	const struct ws_channels *ch = &op->u.norm.ch;
	bool run = ch->inner > 1;
	int n = ws_columns_width(op->in[0], run ? ch->inner : ch->channels);
	struct ws_columns columns = ws_columns_of(op);
	struct bn_plan plan = {};
	struct channels *c = &plan.sums;

	c->channels = ch->channels;
	c->items = run ? ch->outer * (ch->inner / n) : ch->outer;
	c->slice_items = columns.slice_rows;
	c->lanes = run ? 1 : columns.lanes;
	c->whole = n > 1;
	c->count = (float)(ch->outer * ch->inner);
	if (run)
		c->run = ws_divisor_of(ch->inner / n);
	plan.elements = *c;
	c = &plan.elements;
	c->slice_items = (int64_t)(WS_BN_THREADS / c->lanes) * packs * WS_BN_TURNS;
	if (ws_div_up(c->items, c->slice_items) > WS_BN_GRID_Y)
		c->slice_items = ws_div_up(c->items, WS_BN_GRID_Y);
	plan.slices = columns.slices;
	plan.sums_grid = dim3((unsigned)columns.tiles, (unsigned)columns.slices);
	plan.elements_grid =
	        dim3((unsigned)columns.tiles, (unsigned)ws_div_up(c->items, c->slice_items));
	plan.item_elements = run ? n : 1;
	plan.channel_blocks = (unsigned)ws_div_up(ch->channels, WS_WARP);
	return plan;
}
