/* Any bytes as a trace that is merged with a small sound one and, of some sizes, with itself. */
#include <stdlib.h>

#include "formats/merge/merge.h"
#include "formats/trace/check.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/trace_sample.h"

#define MAX_ROWS 4096 /* of a trace: more take time, not other ways */

static int is_small(const struct ws_trace_reader *r)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++)
		rows += ws_trace_reader_block(r, i)->rows;
	return rows <= MAX_ROWS;
}

static void check(const struct ws_trace_writer *merged)
{
	struct ws_bytes trace = ws_trace_writer_mem(merged);
	struct ws_check_result result;
	struct ws_err err;

	if (ws_trace_check_mem(trace.ptr, trace.len, NULL, NULL, &result, &err) != WS_OK ||
	    !result.closed)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ws_trace_reader *sound;
	static struct ws_sample sample;
	struct ws_trace_reader *any, *readers[3];
	struct ws_trace_writer *merged;
	struct ws_err err;

	if (!sound) {
		sample = ws_sample_make_small();
		if (ws_trace_reader_open_mem(&sound, sample.data, sample.size, &err) != WS_OK)
			abort();
	}
	if (ws_trace_reader_open_mem(&any, data, size, &err) != WS_OK)
		return 0;
	readers[0] = readers[2] = any;
	readers[1] = sound;
	if (is_small(any)) {
		if (ws_trace_merge_mem(readers, size / 8 % 4 ? 2 : 3, &merged, &err) == WS_OK)
			check(merged);
		else if (err.status == WS_BUG)
			abort();
		ws_trace_writer_free(merged);
	}
	ws_trace_reader_free(any);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return fuzz_mutate_trace(data, size, max_size, seed, LLVMFuzzerMutate);
}
