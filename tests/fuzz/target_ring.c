/*
 * Any bytes as what a program puts into definition log, rings and buffers while the launcher reads
 * and commits: segment.h says how. What becomes of it is a whole trace.
 */
#include <stdlib.h>

#include "formats/trace/check.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/segment.h"
#include "tests/support/drain_has_all.h"

/* Whole and closed. What its rows name is the program's: rows that name nothing are told. */
static void check(const struct ws_trace_writer *w)
{
	struct ws_bytes trace = ws_trace_writer_mem(w);
	struct ws_check_result result;
	struct ws_err err;

	if (ws_trace_check_mem(trace.ptr, trace.len, NULL, NULL, &result, &err) != WS_OK ||
	    !result.closed)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ws_trace_writer_opts opts = {.base_ns = FUZZ_SEG_BASE,
	                                          .zstd_level = FUZZ_ZSTD_LEVEL};
	struct fuzz_input in = {data, data + size};
	struct ws_trace_writer *writer;
	struct ws_seg_header *seg;
	struct ws_drain *drain;
	struct ws_err err;
	size_t seg_size;

	seg = fuzz_segment(&seg_size);
	if (fuzz_take(&in) % 2)
		seg->plan.window.begin_ns = FUZZ_SEG_BASE + 64;
	if (ws_trace_writer_create_mem(&writer, &opts, &err) != WS_OK)
		abort();
	drain = ws_drain_new(seg, writer);
	while (in.at < in.end) {
		enum fuzz_step step = fuzz_segment_step(seg, &in, 0);

		if (step == FUZZ_STEP_PASS)
			ws_drain_pass(drain);
		else if (step == FUZZ_STEP_COMMIT || ws_drain_wants_commit(drain))
			ws_drain_commit(drain);
	}
	ws_drain_program_ended(drain);
	ws_drain_pass(drain);
	ws_drain_last_pass(drain);
	ws_drain_statistics(drain);
	ws_drain_commit(drain);
	/* nothing that a program leaves makes a file that cannot be finished */
	if (ws_drain_error(drain, NULL) != WS_OK || !drain_has_all(drain) ||
	    ws_trace_writer_close(writer, &err) != WS_OK)
		abort();
	check(writer);
	ws_drain_free(drain);
	ws_trace_writer_free(writer);
	return 0;
}
