/*
 * Any bytes as what a traced program left in the segment: the first as the
 * definition log, the rest as a buffer of CUPTI's, handed over or in hand when
 * the program died.
 *   byte 0: 64ths of the input that are definitions, bit 6: the program died;
 *   then those definitions; then records
 */
#include <stdlib.h>

#include "tests/support/drain_has_all.h"
#include "recorder/drain/drain.h"
#include "recorder/shared/segment_slots.h"
#include "tests/fuzz/mutate.h"

#define SLOT_SIZE 65536u
#define DEFS_SIZE 65536u
#define BASE      INT64_C(1700000000000000000)

/* The input in a segment of its own, which the caller frees. */
static struct ws_seg_header *make(const uint8_t *data, size_t size, int died)
{
	const struct ws_seg_opts opts = {.thread_buffers = 1,
	                                 .ring_size = 4096,
	                                 .defs_size = DEFS_SIZE,
	                                 .slots = 1,
	                                 .slot_size = SLOT_SIZE};
	size_t defs = size ? (size - 1) * (data[0] % 64) / 64 / 8 * 8 : 0, rest;
	struct ws_seg_header *seg = aligned_alloc(4096, ws_seg_size(&opts));

	if (!seg)
		abort();
	memset(seg, 0, ws_seg_size(&opts));
	ws_seg_init(seg, &opts);
	seg->boot = 1; /* another one: now is real time, like BASE */
	seg->base_ns = BASE;
	seg->base_realtime_ns = BASE;
	atomic_store(&seg->owner.pid, 100);
	atomic_store(&seg->gpu.cupti_version, 130001);
	if (!size)
		return seg;
	defs = defs < DEFS_SIZE ? defs : DEFS_SIZE;
	memcpy(ws_seg_defs(seg), data + 1, defs);
	atomic_store(&seg->defs_head, defs);
	rest = size - 1 - defs < SLOT_SIZE ? size - 1 - defs : SLOT_SIZE;
	ws_slot_take(seg, 1);
	memcpy(ws_slot_bytes(seg, 0), data + 1 + defs, rest);
	if (!died)
		ws_slot_finish(seg, 0, rest);
	return seg;
}

static void use(const uint8_t *data, size_t size, int died)
{
	const struct ws_trace_writer_opts opts = {.base_ns = BASE};
	struct ws_seg_header *seg = make(data, size, died);
	struct ws_trace_writer *writer;
	struct ws_drain *drain;
	struct ws_err err;

	if (ws_trace_writer_create_mem(&writer, &opts, &err) != WS_OK ||
	    ws_drain_create(&drain, seg, writer, &err) != WS_OK)
		abort();
	ws_drain_pass(drain);
	if (died)
		ws_drain_program_ended(drain);
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
	use(data, size, size && data[0] & 64);
	return 0;
}
