#include "formats/codec/block.h"

#include <inttypes.h>
#include <stdio.h>

#include "formats/codec/encodings.h"

/* "kernel block at offset 4096, column 4 (config)" */
static const char *column_label(char *buf, size_t size, const struct ws_block_view *view,
                                unsigned i)
{
	char label[WS_BLOCK_LABEL_BYTES];
	const struct ws_block_column *c = &view->columns[i];

	ws_block_label(label, view->header.kind, view->offset);
	if (c->position >= 0)
		snprintf(buf, size, "%s, column %u (%s)", label, c->entry.column,
		         view->def->columns[c->position].name);
	else
		snprintf(buf, size, "%s, unknown column %u", label, c->entry.column);
	return buf;
}

#define COLUMN_FAIL_IF(cond, code, fmt, ...)                                              \
	do {                                                                              \
		char label_[128];                                                         \
		WS_FAIL_IF(cond, err, code, "%s: " fmt,                                   \
		           column_label(label_, sizeof(label_), view, i), ##__VA_ARGS__); \
	} while (0)

/* Place column i: its stored bytes begin at *pos. */
static enum ws_status place_column(struct ws_block_view *view, unsigned i, const uint8_t **pos,
                                   const uint8_t *end, uint64_t *decoded_bytes, struct ws_err *err)
{
	struct ws_block_column *c = &view->columns[i];
	uint64_t left = (uint64_t)(end - *pos);

	COLUMN_FAIL_IF(c->entry.stored_size > left, CORRUPT,
	               "its %" PRIu64 " stored bytes run past the block's end, %" PRIu64
	               " are left",
	               c->entry.stored_size, left);
	COLUMN_FAIL_IF(c->entry.encoded_size == 0 || c->entry.encoded_size > WS_MAX_ENCODED_BYTES,
	               CORRUPT, "its encoded size %" PRIu64 " is not 1 to %" PRIu64,
	               c->entry.encoded_size, WS_MAX_ENCODED_BYTES);
	*decoded_bytes += c->entry.encoded_size;
	COLUMN_FAIL_IF(*decoded_bytes > WS_MAX_DECODED_BYTES, CORRUPT,
	               "the block's columns have more than %" PRIu64 " bytes when decompressed",
	               WS_MAX_DECODED_BYTES);
	for (unsigned k = 0; k < i; k++)
		COLUMN_FAIL_IF(view->columns[k].entry.column == c->entry.column, CORRUPT,
		               "the block has it twice");
	c->stored = *pos;
	*pos += c->entry.stored_size;
	return WS_OK;
}

enum ws_status ws_block_view_open(struct ws_block_view *view, const struct ws_block_header *header,
                                  const uint8_t *body, uint64_t offset, struct ws_err *err)
{
	const uint8_t *end = body + header->body_size;
	const uint8_t *pos = body + (size_t)header->ncolumns * WS_DIR_ENTRY_BYTES;
	char label[WS_BLOCK_LABEL_BYTES];
	uint64_t decoded_bytes = 0;

	view->def = ws_schema_kind(header->kind);
	view->offset = offset;
	view->header = *header;
	ws_block_label(label, header->kind, offset);
	for (unsigned i = 0; i < header->ncolumns; i++) {
		struct ws_block_column *c = &view->columns[i];

		ws_dir_entry_get(body + i * WS_DIR_ENTRY_BYTES, &c->entry);
		c->position = view->def ? ws_schema_column(view->def, c->entry.column) : -1;
		WS_FORWARD(place_column(view, i, &pos, end, &decoded_bytes, err));
	}
	WS_FAIL_IF(end - pos >= (ptrdiff_t)WS_ALIGN_BYTES, err, CORRUPT,
	           "%s: %td bytes behind its last column belong to none", label, end - pos);
	for (; pos < end; pos++)
		WS_FAIL_IF(*pos, err, CORRUPT, "%s: its padding is not 0", label);
	return WS_OK;
}

/* Could n rows take this many bytes in this encoding? Asked before memory is allocated. */
static int size_is_possible(const struct ws_dir_entry *e, uint64_t n)
{
	switch (e->encoding) {
	case WS_ENCODING_CONSTANT:
		return e->encoded_size <= WS_VARINT_MAX;
	case WS_ENCODING_VARINT:
	case WS_ENCODING_DELTA:
		return e->encoded_size >= n && e->encoded_size <= n * WS_VARINT_MAX;
	case WS_ENCODING_RAW:
		return e->encoded_size == n * sizeof(uint64_t);
	default:
		return e->encoded_size >= n;
	}
}

enum ws_status ws_block_column_check(const struct ws_block_view *view, unsigned i,
                                     struct ws_err *err)
{
	const struct ws_block_column *c = &view->columns[i];
	const struct ws_dir_entry *e = &c->entry;

	COLUMN_FAIL_IF(!e->reserved_is_zero, CORRUPT, "reserved bytes of its entry are not 0");
	if (c->position >= 0)
		COLUMN_FAIL_IF(view->def->columns[c->position].type != e->type, CORRUPT,
		               "its type is %u instead of %s", e->type,
		               ws_type_name(view->def->columns[c->position].type));

	COLUMN_FAIL_IF(!ws_type_name(e->type), TOO_NEW, "its type %u needs a newer program",
	               e->type);
	COLUMN_FAIL_IF(!ws_encoding_name(e->encoding), TOO_NEW,
	               "its encoding %u needs a newer program", e->encoding);
	COLUMN_FAIL_IF(e->compression > WS_COMPRESSION_ZSTD, TOO_NEW,
	               "its compression %u needs a newer program", e->compression);

	COLUMN_FAIL_IF(e->parameter, CORRUPT, "its parameter is %" PRIu64 " instead of 0",
	               e->parameter);
	COLUMN_FAIL_IF(!ws_encoding_fits(e->encoding, e->type), CORRUPT,
	               "its encoding %s does not fit its type %s", ws_encoding_name(e->encoding),
	               ws_type_name(e->type));
	COLUMN_FAIL_IF(e->compression == WS_COMPRESSION_NONE && e->stored_size != e->encoded_size,
	               CORRUPT,
	               "it is not compressed, but its sizes differ: %" PRIu64 " and %" PRIu64,
	               e->stored_size, e->encoded_size);
	COLUMN_FAIL_IF(!size_is_possible(e, view->header.rows), CORRUPT,
	               "%" PRIu64 " bytes cannot be %u rows of encoding %s", e->encoded_size,
	               view->header.rows, ws_encoding_name(e->encoding));
	return WS_OK;
}

/* Say of which column a codec or zstd speaks. */
static enum ws_status column_failed(const struct ws_block_view *view, unsigned i,
                                    const struct ws_err *cause, struct ws_err *err)
{
	char label[128];

	return ws_fail(err, cause->status, cause->file, cause->line, "%s: %s",
	               column_label(label, sizeof(label), view, i), cause->text);
}

enum ws_status ws_block_column_decode(const struct ws_block_view *view, unsigned i,
                                      struct ws_zframe_decoder *z, struct ws_buf *scratch,
                                      uint64_t *v, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	const uint8_t *data = view->columns[i].stored;
	struct ws_err cause;

	WS_FORWARD(ws_block_column_check(view, i, err));
	if (e->compression == WS_COMPRESSION_ZSTD) {
		scratch->len = 0;
		WS_FORWARD(ws_buf_reserve(scratch, e->encoded_size, err));
		if (ws_zframe_decode(z, data, e->stored_size, scratch->data, e->encoded_size,
		                     &cause) != WS_OK)
			return column_failed(view, i, &cause, err);
		data = scratch->data;
	}
	if (ws_codec_decode(e->encoding, e->type, data, e->encoded_size, view->header.rows, v,
	                    &cause) != WS_OK)
		return column_failed(view, i, &cause, err);
	return WS_OK;
}

enum ws_status ws_block_column_decode_blobs(const struct ws_block_view *view, unsigned i,
                                            struct ws_zframe_decoder *z, uint8_t *bytes,
                                            struct ws_bytes *b, struct ws_err *err)
{
	const struct ws_block_column *c = &view->columns[i];
	const struct ws_dir_entry *e = &c->entry;
	struct ws_err cause;

	WS_FORWARD(ws_block_column_check(view, i, err));
	if (e->compression == WS_COMPRESSION_NONE)
		memcpy(bytes, c->stored, e->encoded_size);
	else if (ws_zframe_decode(z, c->stored, e->stored_size, bytes, e->encoded_size, &cause) !=
	         WS_OK)
		return column_failed(view, i, &cause, err);
	if (ws_codec_decode_blobs(bytes, e->encoded_size, view->header.rows, b, &cause) != WS_OK)
		return column_failed(view, i, &cause, err);
	return WS_OK;
}
