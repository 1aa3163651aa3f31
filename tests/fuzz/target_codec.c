/*
 * Any bytes as one block, header and body, of which every column is decoded: all rows,
 * blobs. Of the reader's way to them nothing is in it, so it is quick.
 */
#include <stdlib.h>

#include "formats/codec/block.h"
#include "tests/fuzz/mutate.h"

#define MAX_BLOB_BYTES                                                            \
	(1u << 16) /* of a column of blobs: larger ones take time, not other ways \
	            */

static struct ws_block_decoder *decoder(void)
{
	static struct ws_block_decoder d;

	if (!d.z)
		ws_block_decoder_init(&d);
	/* what it remembers of another run would make this one another */
	d.carrier.stored = d.durations.stored = NULL;
	return &d;
}

static void decode(const struct ws_block_view *view, unsigned i, struct ws_block_decoder *d)
{
	static uint64_t values[WS_MAX_BLOCK_ROWS];
	static struct ws_bytes blobs[WS_MAX_BLOCK_ROWS];
	const struct ws_dir_entry *e = &view->columns[i].entry;
	struct ws_err err;
	uint8_t *bytes;

	if (e->type != WS_TYPE_BLOB) {
		ws_block_column_decode(view, i, d, values, &err);
		return;
	}
	if (e->encoded_size > MAX_BLOB_BYTES ||
	    view->columns[i].entry.encoded_size > MAX_BLOB_BYTES)
		return;
	bytes = malloc(view->columns[i].entry.encoded_size);
	if (bytes)
		ws_block_column_decode_blobs(view, i, d, bytes, blobs, &err);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ws_block_header header;
	static struct ws_block_view view;
	struct ws_err err;

	if (ws_block_header_get(data, size, 0, &header, &err) != WS_OK ||
	    header.body_size > size - WS_BLOCK_HEADER_BYTES)
		return 0;
	if (ws_block_view_open(&view, &header, data + WS_BLOCK_HEADER_BYTES, 0, &err) != WS_OK)
		return 0;
	for (unsigned i = 0; i < header.ncolumns; i++)
		decode(&view, i, decoder());
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return fuzz_mutate_block(data, size, max_size, seed, LLVMFuzzerMutate);
}
