#include "recorder/shared/segment.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/shared/record.h"

#define PAGE 4096u
/* CUPTI's buffers and the rings of many threads; thousands of busy ones need more. */
#define ROOM (UINT64_C(256) << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels refuse it */
#endif

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* All products stay far below 2^64: thread buffers <= 2^13, slots <= 2^10, ring <= 2^30, defs <=
 * 2^28. */
static uint64_t commit_stride(const struct ws_seg_opts *opts)
{
	return round_up(sizeof(struct ws_seg_commit) +
	                        ((uint64_t)opts->thread_buffers + opts->slots) * sizeof(uint64_t),
	                PAGE);
}

static bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* One region after the other. */
static void lay_out(struct ws_seg_header *seg, const struct ws_seg_opts *opts)
{
	seg->commit_offset = WS_SEG_HEADER_SIZE;
	seg->commit_stride = commit_stride(opts);
	seg->threads_offset = seg->commit_offset + 2 * seg->commit_stride;
	seg->slots_offset =
	        round_up(seg->threads_offset + opts->thread_buffers * sizeof(_Atomic uint32_t), 64);
	seg->defs_offset = round_up(seg->slots_offset + opts->slots * sizeof(struct ws_slot), PAGE);
	seg->defs_size = opts->defs_size;
	seg->thread_buffers_offset = seg->defs_offset + seg->defs_size;
	seg->thread_buffer_stride = (uint64_t)WS_THREAD_BUFFER_HEADER_SIZE + opts->ring_size;
	seg->thread_buffer_count = opts->thread_buffers;
	seg->ring_size = opts->ring_size;
	seg->activity.offset =
	        seg->thread_buffers_offset + seg->thread_buffer_count * seg->thread_buffer_stride;
	seg->activity.stride = opts->slots ? opts->slot_size : 0;
	seg->activity.count = opts->slots;
	seg->total_size = seg->activity.offset + seg->activity.count * seg->activity.stride;
}

uint64_t ws_seg_size(const struct ws_seg_opts *opts)
{
	struct ws_seg_header seg;

	if (opts->thread_buffers < 1 || opts->thread_buffers > WS_SEG_MAX_THREAD_BUFFERS)
		return 0;
	if (opts->ring_size < WS_SEG_MIN_RING || opts->ring_size > WS_SEG_MAX_RING ||
	    !is_power_of_two(opts->ring_size))
		return 0;
	if (opts->defs_size < PAGE || opts->defs_size > WS_SEG_MAX_DEFS || opts->defs_size % PAGE)
		return 0;
	if (opts->slots > WS_SEG_MAX_SLOTS)
		return 0;
	if (opts->slots && (opts->slot_size < WS_SEG_MIN_SLOT ||
	                    opts->slot_size > WS_SEG_MAX_SLOT || opts->slot_size % PAGE))
		return 0;
	lay_out(&seg, opts);
	return seg.total_size;
}

/* The log's beginning: room for one definition of any size, as the collector always has. */
static uint64_t first_defs(const struct ws_seg_opts *opts)
{
	return opts->grows && opts->defs_size > WS_DEFS_AHEAD ? WS_DEFS_AHEAD : opts->defs_size;
}

uint64_t ws_seg_room(const struct ws_seg_opts *opts)
{
	const uint64_t size = ws_seg_size(opts);

	return size < ROOM ? size : ROOM;
}

uint64_t ws_seg_first_size(const struct ws_seg_opts *opts)
{
	struct ws_seg_header seg;

	lay_out(&seg, opts);
	return seg.defs_offset + first_defs(opts);
}

int ws_seg_populate_pages(void *from, uint64_t size)
{
	const uint64_t before = (uintptr_t)from % (uintptr_t)sysconf(_SC_PAGESIZE);

	return madvise((char *)from - before, size + before, MADV_POPULATE_WRITE);
}

int ws_seg_populate(const struct ws_seg_header *seg, void *from, uint64_t size)
{
	/* where all is there already this saves the faults, and may fail */
	return ws_seg_populate_pages(from, size) && seg->grows ? -1 : 0;
}

void ws_seg_init(void *mem, const struct ws_seg_opts *opts)
{
	struct ws_seg_header *seg = mem;

	lay_out(seg, opts);
	seg->grows = opts->grows;
	seg->defs_ready = first_defs(opts);
	for (uint32_t i = 0; i < opts->thread_buffers && !opts->grows; i++)
		atomic_store(ws_seg_thread_state(seg, i), WS_THREAD_BUFFER_FREE);
	for (uint32_t i = 0; i < opts->slots && !opts->grows; i++) {
		atomic_store(&ws_seg_slot(seg, i)->room, WS_ROOM_READY);
		atomic_fetch_or(&seg->slots_free[i / 64], UINT64_C(1) << (i % 64));
	}
	seg->version = WS_SEG_VERSION;
	seg->header_size = WS_SEG_HEADER_SIZE;
	atomic_store(&seg->state, WS_SEG_OPEN);
	seg->magic = WS_SEG_MAGIC;
}

/* Sums and differences of a few of these stay in 64 bits. */
static bool is_time(int64_t ns)
{
	return ns > -(INT64_C(1) << 62) && ns < INT64_C(1) << 62;
}

/* The layout is a function of the options, so it is checked by making it anew. */
const char *ws_seg_problem(const void *mem, uint64_t size)
{
	const struct ws_seg_header *seg = mem;
	struct ws_seg_header right;
	struct ws_seg_opts opts;

	if (size < WS_SEG_HEADER_SIZE)
		return "too short for a segment";
	if (seg->magic != WS_SEG_MAGIC)
		return "not a segment";
	if (seg->version != WS_SEG_VERSION || seg->header_size != WS_SEG_HEADER_SIZE)
		return "of another version";
	opts = ws_seg_opts_of(seg);
	if (!ws_seg_size(&opts) || ws_seg_size(&opts) != size || seg->total_size != size)
		return "its size does not fit its layout";
	lay_out(&right, &opts);
	if (seg->commit_offset != right.commit_offset ||
	    seg->commit_stride != right.commit_stride || seg->defs_offset != right.defs_offset ||
	    seg->thread_buffers_offset != right.thread_buffers_offset ||
	    seg->thread_buffer_stride != right.thread_buffer_stride ||
	    seg->threads_offset != right.threads_offset ||
	    seg->slots_offset != right.slots_offset ||
	    seg->activity.offset != right.activity.offset)
		return "its regions do not fit its layout";
	if (!is_time(seg->base_ns) || !is_time(seg->base_realtime_ns) ||
	    !is_time(seg->realtime_apart_ns))
		return "its clocks are out of range";
	if (atomic_load(&seg->commit_active) > 1 || atomic_load(&seg->defs_head) > seg->defs_size)
		return "its positions are out of range";
	return NULL;
}
