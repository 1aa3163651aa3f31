/*
 * Any bytes as a trace: check it, open it, decode every block, load every
 * kind. Done twice: as they are, and with all checksums made right, since
 * hardly any input would get past them otherwise.
 */
#include <stdlib.h>

#include "formats/base/bytes.h"
#include "formats/codec/container.h"
#include "tests/support/trace_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		struct ws_table_data t;
		struct ws_err err;

		if (ws_schema_kind(kind) && ws_trace_reader_load(r, kind, &t, &err) == WS_OK)
			ws_table_data_release(&t);
	}
}

static void use(const uint8_t *data, size_t size)
{
	struct ws_check_result result;
	struct ws_trace_reader *r;
	struct ws_err err;

	ws_trace_check_mem(data, size, NULL, NULL, &result, &err);
	if (ws_trace_reader_open_mem(&r, data, size, &err) != WS_OK)
		return;
	decode_all(r);
	ws_trace_reader_free(r);
}

/* Follow the lengths as the input has them, and make each checksum on the way right. */
static void seal(struct ws_sample *s)
{
	size_t offset = WS_FILE_HEADER_BYTES;

	if (s->size < WS_FILE_HEADER_BYTES + WS_TRAILER_BYTES)
		return;
	ws_sample_seal_header(s);
	ws_sample_seal_trailer(s);
	while (s->size - offset >= WS_BLOCK_HEADER_BYTES) {
		uint64_t body = ws_load_u64(s->data + offset + 16);

		ws_sample_seal_block(s, offset);
		if (body > s->size - offset - WS_BLOCK_HEADER_BYTES || body % WS_ALIGN_BYTES)
			break;
		offset += WS_BLOCK_HEADER_BYTES + body;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ws_sample sealed = {malloc(size ? size : 1), size};

	use(data, size);
	if (size)
		memcpy(sealed.data, data, size);
	seal(&sealed);
	use(sealed.data, size);
	ws_sample_free(&sealed);
	return 0;
}
