/*
 * Any bytes as what a traced program left in the segment: the first as the
 * definition log, the rest as a buffer of CUPTI's, handed over or in hand when
 * the program died.
 *   byte 0: 64ths of the rest that are definitions, bit 6: the program died, bit 7: it runs on;
 *   byte 1: what the collector knew of CUPTI, whose numbers follow; definitions; records
 */
#include <stdlib.h>

#include "tests/support/drain_has_all.h"
#include "recorder/drain/drain.h"
#include "recorder/shared/segment.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/recorder/cupti_sizes.h"

#define SLOT_SIZE 65536u
#define DEFS_SIZE 65536u
#define BASE      INT64_C(1700000000000000000)
#define DIED      64
#define RUNS_ON   128

enum knows {
	KNOWS_CLOCKS = 3, /* so many */
	KNOWS_SIZES = 4,
	KNOWS_FLUSH_THREAD = 8,
	KNOWS_CLOCK_STOPPED = 16,
};

static int64_t take_time(struct fuzz_input *in)
{
	return (int64_t)((uint64_t)BASE + fuzz_take_number(in));
}

static void put_knowledge(struct ws_seg_gpu *gpu, struct fuzz_input *in)
{
	unsigned knows = fuzz_take(in);

	for (unsigned i = 0; i < (knows & KNOWS_CLOCKS); i++) {
		gpu->clocks[i].apart_ns = (int64_t)fuzz_take_number(in);
		gpu->clocks[i].from_ns = take_time(in);
		atomic_store(&gpu->clocks[i].until_ns, take_time(in));
	}
	atomic_store(&gpu->nclocks, knows & KNOWS_CLOCKS);
	put_cupti_sizes(gpu, 1);
	if (knows & KNOWS_SIZES)
		for (unsigned n = fuzz_take(in) % 8; n--;)
			gpu->sizes[1].of_kind[fuzz_take(in) % WS_SEG_KINDS] =
			        (uint16_t)fuzz_take_number(in);
	if (knows & KNOWS_FLUSH_THREAD)
		atomic_store(&gpu->flush_thread, 7);
	if (knows & KNOWS_CLOCK_STOPPED)
		atomic_store(&gpu->stopped, WS_GPU_STOP_CLOCK);
}

/* The input in a segment of its own, which the caller frees. */
static struct ws_seg_header *make(struct fuzz_input in, unsigned how)
{
	const struct ws_seg_opts opts = {.thread_buffers = 1,
	                                 .ring_size = 4096,
	                                 .defs_size = DEFS_SIZE,
	                                 .slots = 1,
	                                 .slot_size = SLOT_SIZE};
	struct ws_seg_header *seg = aligned_alloc(4096, ws_seg_size(&opts));
	const uint8_t *bytes;
	size_t len;

	if (!seg)
		abort();
	memset(seg, 0, ws_seg_size(&opts));
	ws_seg_init(seg, &opts);
	seg->boot = 1; /* another one: now is real time, like BASE */
	seg->base_ns = BASE;
	seg->base_realtime_ns = BASE;
	atomic_store(&seg->owner.pid, 100);
	put_knowledge(&seg->gpu, &in);
	len = (size_t)(in.end - in.at) * (how % 64) / 64 / 8 * 8;
	bytes = fuzz_take_bytes(&in, len < DEFS_SIZE ? len : DEFS_SIZE, &len);
	memcpy(ws_seg_defs(seg), bytes, len);
	atomic_store(&seg->defs_head, len);
	bytes = fuzz_take_bytes(&in, SLOT_SIZE, &len);
	ws_slot_take(seg, 1);
	memcpy(ws_slot_bytes(seg, 0), bytes, len);
	if (!(how & (DIED | RUNS_ON)))
		ws_slot_finish(seg, 0, len);
	return seg;
}

static void use(struct fuzz_input in, unsigned how)
{
	const struct ws_trace_writer_opts opts = {.base_ns = BASE, .zstd_level = FUZZ_ZSTD_LEVEL};
	struct ws_seg_header *seg = make(in, how);
	struct ws_trace_writer *writer;
	struct ws_drain *drain;
	struct ws_err err;

	if (ws_trace_writer_create_mem(&writer, &opts, &err) != WS_OK)
		abort();
	drain = ws_drain_new(seg, writer);
	ws_drain_pass(drain);
	if (ws_drain_wants_commit(drain))
		ws_drain_commit(drain);
	if (how & DIED)
		ws_drain_program_ended(drain);
	if (how & RUNS_ON)
		ws_drain_last_pass(drain);
	ws_drain_pass(drain);
	ws_drain_statistics(drain);
	ws_drain_commit(drain);
	/* nothing that a program leaves makes a file that cannot be finished */
	if (ws_drain_error(drain, NULL) != WS_OK || !drain_has_all(drain) ||
	    ws_trace_writer_close(writer, &err) != WS_OK)
		abort();
	ws_drain_free(drain);
	ws_trace_writer_free(writer);
	free(seg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size};
	unsigned how = fuzz_take(&in);

	use(in, how);
	return 0;
}
