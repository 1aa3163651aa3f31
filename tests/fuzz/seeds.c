/* fuzz_seeds CORPUS: write the traces and blocks that the corpora reader and codec begin with. */
#include <stdio.h>
#include <stdlib.h>

#include "formats/codec/block.h"
#include "tests/support/trace_sample.h"

static int write_bytes(const char *path, const uint8_t *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
		fprintf(stderr, "cannot write %s\n", path);
		return 1;
	}
	return 0;
}

static int write_seed(const char *corpus, const char *name, const struct ws_sample *s, size_t size)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/reader/%s", corpus, name);
	return write_bytes(path, s->data, size);
}

/* Its blocks by themselves, named after their kinds. */
static int write_blocks(const char *corpus, const struct ws_sample *s)
{
	size_t at = WS_FILE_HEADER_BYTES, size;
	int bad = 0;

	for (unsigned i = 0; at < s->size; i++, at += size) {
		struct ws_block_header header;
		char path[4096];

		ws_block_header_get(s->data + at, s->size - at, at, &header, NULL);
		size = ws_sample_block_size(s, at);
		snprintf(path, sizeof(path), "%s/codec/%02u_%s", corpus, i,
		         ws_schema_kind(header.kind)->name);
		bad |= write_bytes(path, s->data + at, size);
	}
	return bad;
}

/* Put a block's columns behind out->size, each as it is before compression. */
static void put_inflated(struct ws_sample *out, const struct ws_sample *s, size_t offset,
                         struct ws_zframe_decoder *z)
{
	const size_t start = out->size;
	uint8_t *body = out->data + start + WS_BLOCK_HEADER_BYTES, *pos;
	struct ws_block_header header;
	struct ws_block_view view;

	ws_block_header_get(s->data + offset, s->size - offset, offset, &header, NULL);
	ws_block_view_open(&view, &header, s->data + offset + WS_BLOCK_HEADER_BYTES, offset, NULL);
	pos = body + header.ncolumns * WS_DIR_ENTRY_BYTES;
	for (unsigned i = 0; i < header.ncolumns; i++) {
		struct ws_dir_entry entry = view.columns[i].entry;

		if (entry.compression == WS_COMPRESSION_NONE)
			memcpy(pos, view.columns[i].stored, entry.stored_size);
		else
			ws_zframe_decode(z, view.columns[i].stored, entry.stored_size, pos,
			                 entry.encoded_size, NULL);
		entry.compression = WS_COMPRESSION_NONE;
		entry.stored_size = entry.encoded_size;
		memcpy(body + i * WS_DIR_ENTRY_BYTES, &entry, sizeof(entry));
		pos += entry.encoded_size;
	}
	while ((size_t)(pos - body) % WS_ALIGN_BYTES)
		*pos++ = 0;
	header.body_size = (size_t)(pos - body);
	ws_block_header_put(out->data + start, &header);
	out->size += WS_BLOCK_HEADER_BYTES + header.body_size;
	ws_sample_seal_block(out, start);
}

/* An unclosed trace of the same blocks, not compressed: what changes in it reaches a decoder. */
static struct ws_sample inflate(const struct ws_sample *s)
{
	struct ws_sample out = {calloc(1, 1 << 20), WS_FILE_HEADER_BYTES};
	const size_t end = ws_sample_block(s, WS_KIND_INDEX, 0);
	struct ws_zframe_decoder *z;

	if (!out.data)
		abort();
	z = ws_zframe_decoder_new();
	memcpy(out.data, s->data, WS_FILE_HEADER_BYTES);
	for (size_t at = WS_FILE_HEADER_BYTES; at < end; at += ws_sample_block_size(s, at))
		put_inflated(&out, s, at, z);
	ws_zframe_decoder_free(z);
	return out;
}

/* A flight recording of two pieces, of which the first is dropped: in the file it is a hole. */
static int write_pieces(const char *corpus)
{
	const struct ws_trace_writer_opts opts = {.base_ns = WS_SAMPLE_BASE_NS, .has_pieces = 1};
	const struct ws_row_nvtx open = {.time_ns = 200000, .thread = 1, .type = WS_NVTX_PUSH};
	struct ws_trace_writer *w;
	struct ws_err err;
	char path[4096];
	int bad;

	snprintf(path, sizeof(path), "%s/reader/pieces.wtrace", corpus);
	remove(path);
	if (trace_file_create(&w, path, &opts, &err) != WS_OK)
		abort();
	bad = ws_trace_writer_begin_piece(w, 0, NULL, 0, &err) != WS_OK;
	ws_sample_fill(w);
	bad |= ws_trace_writer_begin_piece(w, 400000, &open, 1, &err) != WS_OK;
	bad |= ws_trace_writer_add(w, WS_KIND_NVTX,
	                           &(struct ws_row_nvtx){.time_ns = 400001,
	                                                 .thread = 1,
	                                                 .type = WS_NVTX_POP},
	                           &err) != WS_OK;
	bad |= ws_trace_writer_flush(w, &err) != WS_OK;
	bad |= ws_trace_writer_drop_before(w, 400000, &err) != WS_OK;
	ws_trace_writer_free(w);
	return bad;
}

static int write_seeds(const char *corpus)
{
	struct ws_sample closed = ws_sample_make(), unclosed = ws_sample_make_unclosed();
	struct ws_sample modelled = ws_sample_make_modelled(), inflated = inflate(&modelled);
	struct ws_sample small = ws_sample_make_small();
	int bad = write_seed(corpus, "closed.wtrace", &closed, closed.size);

	bad |= write_seed(corpus, "cut.wtrace", &unclosed, unclosed.size - 100);
	bad |= write_seed(corpus, "empty.wtrace", &unclosed, 0);
	bad |= write_seed(corpus, "schema.wtrace", &unclosed,
	                  ws_sample_block(&unclosed, WS_KIND_STRING, 0));
	bad |= write_seed(corpus, "modelled.wtrace", &modelled, modelled.size);
	bad |= write_seed(corpus, "small.wtrace", &small, small.size);
	bad |= write_seed(corpus, "inflated.wtrace", &inflated, inflated.size);
	bad |= write_blocks(corpus, &inflated);
	bad |= write_pieces(corpus);
	ws_sample_free(&small);
	ws_sample_free(&modelled);
	ws_sample_free(&inflated);
	ws_sample_free(&closed);
	ws_sample_free(&unclosed);
	return bad;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: fuzz_seeds CORPUS\n");
		return 2;
	}
	return write_seeds(argv[1]);
}
