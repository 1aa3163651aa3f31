#include "recorder/shared/segment.h"

#include <sys/mman.h>

#define PAGE WS_SEG_PAGE
/* Enough for CUPTI's buffers and the rings of many threads. Only thousands of busy threads need
 * more. */
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

/* Places the regions one after the other. */
static struct ws_seg_layout lay_out(const struct ws_seg_opts *opts)
{
	struct ws_seg_layout l = {.commit_offset = WS_SEG_HEADER_SIZE};

	l.commit_stride = commit_stride(opts);
	l.threads_offset = l.commit_offset + 2 * l.commit_stride;
	l.slots_offset =
	        round_up(l.threads_offset + opts->thread_buffers * sizeof(_Atomic uint32_t), 64);
	l.defs_offset = round_up(l.slots_offset + opts->slots * sizeof(struct ws_slot), PAGE);
	l.defs_size = opts->defs_size;
	l.thread_buffers_offset = l.defs_offset + l.defs_size;
	l.thread_buffer_stride = (uint64_t)WS_THREAD_BUFFER_HEADER_SIZE + opts->ring_size;
	l.thread_buffer_count = opts->thread_buffers;
	l.ring_size = opts->ring_size;
	l.activity.offset =
	        l.thread_buffers_offset + l.thread_buffer_count * l.thread_buffer_stride;
	l.activity.stride = opts->slots ? opts->slot_size : 0;
	l.activity.count = opts->slots;
	l.total_size = l.activity.offset + l.activity.count * l.activity.stride;
	return l;
}

uint64_t ws_seg_size(const struct ws_seg_opts *opts)
{
	if (opts->thread_buffers < 1 || opts->thread_buffers > WS_SEG_MAX_THREAD_BUFFERS)
		return 0;
	if (opts->ring_size < WS_SEG_MIN_RING || opts->ring_size > WS_SEG_MAX_RING ||
	    opts->ring_size & (opts->ring_size - 1)) /* no power of two */
		return 0;
	if (opts->defs_size < PAGE || opts->defs_size > WS_SEG_MAX_DEFS || opts->defs_size % PAGE)
		return 0;
	if (opts->slots > WS_SEG_MAX_SLOTS)
		return 0;
	if (opts->slots && (opts->slot_size < WS_SEG_MIN_SLOT ||
	                    opts->slot_size > WS_SEG_MAX_SLOT || opts->slot_size % PAGE))
		return 0;
	return lay_out(opts).total_size;
}

/* Initial bytes of the log: room for one definition of any size, which the collector always
 * needs. */
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
	return lay_out(opts).defs_offset + first_defs(opts);
}

int ws_seg_populate_pages(void *from, uint64_t size)
{
	const uint64_t before = (uintptr_t)from % (uintptr_t)sysconf(_SC_PAGESIZE);

	return madvise((char *)from - before, size + before, MADV_POPULATE_WRITE);
}

int ws_seg_populate(const struct ws_seg_header *seg, void *from, uint64_t size)
{
	/* in a segment that cannot grow this only saves page faults, and may fail */
	return ws_seg_populate_pages(from, size) && seg->grows ? -1 : 0;
}

int ws_seg_give_back(const struct ws_seg_header *seg, void *from, uint64_t size)
{
	/* what shares a page with its neighbours stays */
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t before = -(uintptr_t)from % page, after = ((uintptr_t)from + size) % page;

	if (!seg->grows || before + after >= size)
		return -1;
	return madvise((char *)from + before, size - before - after, MADV_REMOVE);
}

void ws_seg_init(void *mem, const struct ws_seg_opts *opts)
{
	struct ws_seg_header *seg = mem;

	seg->layout = lay_out(opts);
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

/* --- checksums and commits --- */

/* FNV-1a by words. It detects damage but no deliberate change. Never 0. */
static uint64_t check_of(uint64_t check, const void *bytes, uint64_t size)
{
	for (uint64_t at = 0; at + 8 <= size; at += 8) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)bytes + at, sizeof(word));
		check = (check ^ word) * UINT64_C(0x100000001b3);
		check ^= check >> 32;
	}
	return check ? check : 1;
}

#define FIXED offsetof(struct ws_seg_header, fixed_check)

static uint64_t fixed_check(const struct ws_seg_header *seg)
{
	return check_of(WS_SEG_VERSION, seg, FIXED);
}

void ws_seg_seal(struct ws_seg_header *seg)
{
	seg->fixed_check = fixed_check(seg);
	memcpy((char *)seg + WS_SEG_SPARE, seg, FIXED + sizeof(seg->fixed_check));
}

uint64_t ws_seg_commit_size(const struct ws_seg_header *seg)
{
	return sizeof(struct ws_seg_commit) +
	       ((uint64_t)seg->thread_buffer_count + seg->activity.count) * sizeof(uint64_t);
}

static uint64_t commit_check(const struct ws_seg_header *seg, const struct ws_seg_commit *commit)
{
	const size_t from = offsetof(struct ws_seg_commit, file_size);

	return check_of(commit->number, &commit->file_size, ws_seg_commit_size(seg) - from);
}

void ws_seg_commit_write(const struct ws_seg_header *seg, struct ws_seg_commit *commit)
{
	struct ws_seg_commit *slot = ws_seg_commit_slot(seg, commit->number % 2);

	commit->check = commit_check(seg, commit);
	slot->check = 0;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(slot, commit, ws_seg_commit_size(seg));
	atomic_signal_fence(memory_order_seq_cst);
}

bool ws_seg_commit_read(const struct ws_seg_header *seg, struct ws_seg_commit *out)
{
	uint64_t newest = 0;

	/* a copy first: the program can write there at any time */
	for (uint32_t i = 0; i < 3; i++) {
		memcpy(out, ws_seg_commit_slot(seg, i < 2 ? i : newest % 2),
		       ws_seg_commit_size(seg));
		if (out->check == commit_check(seg, out) && out->number > newest)
			newest = out->number;
		if (i == 1 && !newest)
			return 0;
	}
	return out->number == newest && out->check == commit_check(seg, out);
}

/* --- checks --- */

bool ws_seg_is_time(int64_t ns)
{
	return ns > -(INT64_C(1) << 62) && ns < INT64_C(1) << 62;
}

/* The layout depends only on the options, so it is checked by computing it again. */
const char *ws_seg_problem(const struct ws_seg_header *seg, uint64_t size)
{
	if (size < WS_SEG_HEADER_SIZE)
		return "too short for a segment";
	if (seg->magic != WS_SEG_MAGIC)
		return "not a segment";
	if (seg->version != WS_SEG_VERSION || seg->header_size != WS_SEG_HEADER_SIZE)
		return "of another version";
	struct ws_seg_opts opts = ws_seg_opts_of(seg);
	if (!ws_seg_size(&opts))
		return "its size does not fit its layout";
	struct ws_seg_layout right = lay_out(&opts);
	if (right.total_size < size || memcmp(&right, &seg->layout, sizeof(right)) != 0)
		return "its regions do not fit its layout";
	if (!ws_seg_is_time(seg->base_ns) || !ws_seg_is_time(seg->base_realtime_ns))
		return "its clocks are out of range";
	return seg->fixed_check == fixed_check(seg) ? NULL : "its header is damaged";
}
