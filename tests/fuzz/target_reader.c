/* Any bytes as a trace: check it, open it, decode every block, load every kind. */
#include "formats/codec/block.h"
#include "formats/trace/check.h"
#include "formats/trace/reader.h"
#include "tests/fuzz/mutate.h"

static void decode_all(const struct ws_trace_reader *r)
{
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++) {
		const struct ws_block_info *info = ws_trace_reader_block(r, i);
		struct ws_block block;
		struct ws_err err;

		ws_trace_reader_kind_name(r, info->kind);
		if (ws_trace_reader_decode(r, i, &block, &err) == WS_OK)
			ws_block_release(&block);
	}
}

static void load_all(const struct ws_trace_reader *r)
{
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		struct ws_column_data t;
		struct ws_err err;

		if (ws_schema_kind(kind) && ws_trace_reader_load(r, kind, &t, &err) == WS_OK)
			ws_column_data_release(&t);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ws_check_result result;
	struct ws_trace_reader *r;
	struct ws_err err;

	ws_trace_check_mem(data, size, NULL, NULL, &result, &err);
	if (ws_trace_reader_open_mem(&r, data, size, &err) != WS_OK)
		return 0;
	/* both decode every column: one of them for an input is enough */
	if (size / WS_ALIGN_BYTES % 2)
		decode_all(r);
	else
		load_all(r);
	ws_trace_reader_free(r);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return fuzz_mutate_trace(data, size, max_size, seed, LLVMFuzzerMutate);
}
