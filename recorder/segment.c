#include "recorder/segment.h"

#define PAGE 4096u

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* All products stay far below 2^64: lanes <= 2^10, ring <= 2^30, defs <= 2^31. */
static uint64_t commit_stride(uint32_t lanes)
{
	return round_up(sizeof(struct ws_seg_commit) + lanes * sizeof(uint64_t), PAGE);
}

static int is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

uint64_t ws_seg_size(const struct ws_seg_opts *opts)
{
	if (opts->lanes < 1 || opts->lanes > WS_SEG_MAX_LANES)
		return 0;
	if (opts->ring_size < WS_SEG_MIN_RING || opts->ring_size > WS_SEG_MAX_RING ||
	    !is_power_of_two(opts->ring_size))
		return 0;
	if (opts->defs_size < PAGE || opts->defs_size > WS_SEG_MAX_DEFS || opts->defs_size % PAGE)
		return 0;
	return WS_SEG_HEADER_SIZE + 2 * commit_stride(opts->lanes) + opts->defs_size +
	       opts->lanes * ((uint64_t)WS_LANE_HEADER_SIZE + opts->ring_size);
}

void ws_seg_init(void *mem, uint64_t size, const struct ws_seg_opts *opts)
{
	struct ws_seg_header *seg = mem;

	seg->version = WS_SEG_VERSION;
	seg->header_size = WS_SEG_HEADER_SIZE;
	seg->total_size = size;
	seg->commit_offset = WS_SEG_HEADER_SIZE;
	seg->commit_stride = commit_stride(opts->lanes);
	seg->defs_offset = seg->commit_offset + 2 * seg->commit_stride;
	seg->defs_size = opts->defs_size;
	seg->lanes_offset = seg->defs_offset + seg->defs_size;
	seg->lane_stride = (uint64_t)WS_LANE_HEADER_SIZE + opts->ring_size;
	seg->lane_count = opts->lanes;
	seg->ring_size = opts->ring_size;
	atomic_store(&seg->state, WS_SEG_OPEN);
	seg->magic = WS_SEG_MAGIC;
}

/* The layout is a function of three options, so it is checked by making it anew. */
const char *ws_seg_problem(const void *mem, uint64_t size)
{
	const struct ws_seg_header *seg = mem;
	struct ws_seg_opts opts;

	if (size < WS_SEG_HEADER_SIZE)
		return "too short for a segment";
	if (seg->magic != WS_SEG_MAGIC)
		return "not a segment";
	if (seg->version != WS_SEG_VERSION || seg->header_size != WS_SEG_HEADER_SIZE)
		return "of another version";
	opts.lanes = seg->lane_count;
	opts.ring_size = seg->ring_size;
	opts.defs_size = seg->defs_size;
	if (!ws_seg_size(&opts) || ws_seg_size(&opts) != size || seg->total_size != size)
		return "its size does not fit its layout";
	if (seg->commit_offset != WS_SEG_HEADER_SIZE ||
	    seg->commit_stride != commit_stride(opts.lanes) ||
	    seg->defs_offset != seg->commit_offset + 2 * seg->commit_stride ||
	    seg->lanes_offset != seg->defs_offset + seg->defs_size ||
	    seg->lane_stride != (uint64_t)WS_LANE_HEADER_SIZE + opts.ring_size ||
	    seg->activity.count)
		return "its regions do not fit its layout";
	if (atomic_load(&seg->commit_active) > 1 || atomic_load(&seg->defs_head) > seg->defs_size)
		return "its positions are out of range";
	return NULL;
}
