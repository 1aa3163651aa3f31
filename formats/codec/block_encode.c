#include "formats/codec/block.h"

#include <stdlib.h>

#include "formats/base/checksum.h"
#include "formats/codec/encodings.h"

#define FIRST_ROWS 64u

static int is_blob(const struct ws_kind_def *def, unsigned c)
{
	return def->columns[c].type == WS_TYPE_BLOB;
}

/* Make room for one row more; cap grows only when every column has it. */
static enum ws_status grow(struct ws_row_buf *b, struct ws_err *err)
{
	uint32_t cap = b->cap ? b->cap * 2 : FIRST_ROWS;

	if (!b->columns)
		b->columns = calloc(b->def->ncolumns, sizeof(*b->columns));
	WS_FAIL_IF(!b->columns, err, NO_MEMORY, "out of memory for %s rows", b->def->name);
	for (unsigned c = 0; c < b->def->ncolumns; c++) {
		uint64_t *v = realloc(b->columns[c].v, cap * sizeof(*v));

		WS_FAIL_IF(!v, err, NO_MEMORY, "out of memory for %u %s rows", cap, b->def->name);
		b->columns[c].v = v;
	}
	b->cap = cap;
	return WS_OK;
}

static enum ws_status add_blob(struct ws_row_buf *b, unsigned c, const struct ws_bytes *blob,
                               struct ws_err *err)
{
	WS_FAIL_IF(blob->len > WS_MAX_BLOB_BYTES, err, BUG,
	           "a value of %s.%s has %zu bytes, over the limit of %u", b->def->name,
	           b->def->columns[c].name, blob->len, WS_MAX_BLOB_BYTES);
	WS_FORWARD(ws_buf_put(&b->columns[c].bytes, blob->ptr, blob->len, err));
	b->columns[c].v[b->rows] = blob->len;
	b->blob_bytes += blob->len;
	return WS_OK;
}

/* Take back the BLOBs of a row that could not be added whole. */
static void drop_blobs(struct ws_row_buf *b, unsigned ncolumns)
{
	for (unsigned c = 0; c < ncolumns; c++) {
		if (!is_blob(b->def, c))
			continue;
		b->columns[c].bytes.len -= b->columns[c].v[b->rows];
		b->blob_bytes -= b->columns[c].v[b->rows];
	}
}

enum ws_status ws_row_buf_add(struct ws_row_buf *b, const void *row, struct ws_err *err)
{
	const struct ws_kind_def *def = b->def;

	WS_FAIL_IF(b->rows >= WS_MAX_BLOCK_ROWS, err, BUG, "a %s block has no room for more rows",
	           def->name);
	if (b->rows == b->cap)
		WS_FORWARD(grow(b, err));
	for (unsigned c = 0; c < def->ncolumns; c++) {
		const uint8_t *field = (const uint8_t *)row + def->columns[c].row_offset;
		struct ws_bytes blob;
		enum ws_status status;

		if (!is_blob(def, c)) {
			b->columns[c].v[b->rows] = ws_load_u64(field);
			continue;
		}
		memcpy(&blob, field, sizeof(blob));
		status = add_blob(b, c, &blob, err);
		if (status != WS_OK) {
			drop_blobs(b, c);
			return status;
		}
	}
	b->rows++;
	return WS_OK;
}

int ws_row_buf_is_full(const struct ws_row_buf *b)
{
	return b->rows >= WS_MAX_BLOCK_ROWS || b->blob_bytes >= WS_BLOCK_BLOB_BYTES;
}

void ws_row_buf_clear(struct ws_row_buf *b)
{
	for (unsigned c = 0; b->columns && c < b->def->ncolumns; c++)
		b->columns[c].bytes.len = 0;
	b->rows = 0;
	b->blob_bytes = 0;
}

void ws_row_buf_free(struct ws_row_buf *b)
{
	for (unsigned c = 0; b->columns && c < b->def->ncolumns; c++) {
		free(b->columns[c].v);
		ws_buf_free(&b->columns[c].bytes);
	}
	free(b->columns);
	b->columns = NULL;
	b->rows = b->cap = 0;
	b->blob_bytes = 0;
}

enum ws_status ws_block_encoder_init(struct ws_block_encoder *e, int zstd_level, struct ws_err *err)
{
	memset(e, 0, sizeof(*e));
	return ws_zframe_encoder_new(&e->z, zstd_level, err);
}

void ws_block_encoder_free(struct ws_block_encoder *e)
{
	ws_zframe_encoder_free(e->z);
	ws_buf_free(&e->encoded);
	ws_buf_free(&e->frame);
	memset(e, 0, sizeof(*e));
}

/*
 * e->encoded holds a candidate for a column. When it, plain or compressed, is
 * smaller than what best says, it is put behind out->len and best says so.
 */
static enum ws_status offer(struct ws_block_encoder *e, enum ws_encoding encoding,
                            struct ws_dir_entry *best, struct ws_buf *out, struct ws_err *err)
{
	size_t size = e->encoded.len;
	size_t limit = best->stored_size - 1 < size - 1 ? best->stored_size - 1 : size - 1;
	size_t frame = 0;

	if (limit >= WS_ZFRAME_MIN_BYTES) {
		WS_FORWARD(ws_buf_reserve(&e->frame, limit, err));
		WS_FORWARD(ws_zframe_encode(e->z, e->encoded.data, size, e->frame.data, limit,
		                            &frame, err));
	}
	if (!frame && size >= best->stored_size)
		return WS_OK;

	best->encoding = (uint8_t)encoding;
	best->compression = frame ? WS_COMPRESSION_ZSTD : WS_COMPRESSION_NONE;
	best->encoded_size = size;
	best->stored_size = frame ? frame : size;
	WS_FORWARD(ws_buf_reserve(out, best->stored_size, err));
	memcpy(out->data + out->len, frame ? e->frame.data : e->encoded.data, best->stored_size);
	return WS_OK;
}

/*
 * Offer each encoding that can win. constant always does. raw can only where
 * it is the smallest before compression: values without a pattern.
 */
static enum ws_status offer_fixed(struct ws_block_encoder *e, enum ws_type type, const uint64_t *v,
                                  size_t n, struct ws_dir_entry *best, struct ws_buf *out,
                                  struct ws_err *err)
{
	struct ws_encoded_sizes sizes;

	ws_codec_measure(type, v, n, &sizes);
	for (unsigned id = 1; id < WS_ENCODING_END; id++) {
		size_t size = sizes.bytes[id];

		if (!size)
			continue;
		if (id == WS_ENCODING_RAW && type != WS_TYPE_F64 &&
		    (size >= sizes.bytes[WS_ENCODING_VARINT] ||
		     size >= sizes.bytes[WS_ENCODING_DELTA]))
			continue;
		e->encoded.len = 0;
		WS_FORWARD(ws_buf_reserve(&e->encoded, size, err));
		ws_codec_encode(id, type, v, n, e->encoded.data);
		e->encoded.len = size;
		WS_FORWARD(offer(e, id, best, out, err));
		if (id == WS_ENCODING_CONSTANT)
			break;
	}
	return WS_OK;
}

/* Append the data of column c to out and fill its directory entry. */
static enum ws_status encode_column(struct ws_block_encoder *e, const struct ws_row_buf *rows,
                                    unsigned c, struct ws_dir_entry *entry, struct ws_buf *out,
                                    struct ws_err *err)
{
	const struct ws_row_column *column = &rows->columns[c];

	memset(entry, 0, sizeof(*entry));
	entry->column = rows->def->columns[c].id;
	entry->type = rows->def->columns[c].type;
	entry->stored_size = SIZE_MAX;
	if (is_blob(rows->def, c)) {
		e->encoded.len = 0;
		WS_FORWARD(ws_codec_encode_blobs(column->v, rows->rows, column->bytes.data,
		                                 column->bytes.len, &e->encoded, err));
		WS_FORWARD(offer(e, WS_ENCODING_BYTES, entry, out, err));
	} else {
		WS_FORWARD(offer_fixed(e, entry->type, column->v, rows->rows, entry, out, err));
	}
	out->len += entry->stored_size;
	return WS_OK;
}

static void set_time_range(struct ws_block_header *h, const struct ws_row_buf *rows)
{
	const uint64_t *v;

	if (rows->def->time_column < 0)
		return;
	v = rows->columns[rows->def->time_column].v;
	h->time_min_ns = h->time_max_ns = (int64_t)v[0];
	for (uint32_t i = 1; i < rows->rows; i++) {
		int64_t t = (int64_t)v[i];

		h->time_min_ns = t < h->time_min_ns ? t : h->time_min_ns;
		h->time_max_ns = t > h->time_max_ns ? t : h->time_max_ns;
	}
}

enum ws_status ws_block_encode(struct ws_block_encoder *e, const struct ws_row_buf *rows,
                               uint64_t sequence, struct ws_buf *out,
                               struct ws_block_header *header, struct ws_err *err)
{
	static const uint8_t zeros[WS_ALIGN_BYTES];
	const unsigned ncolumns = rows->def->ncolumns;
	const size_t head = WS_BLOCK_HEADER_BYTES + (size_t)ncolumns * WS_DIR_ENTRY_BYTES;

	out->len = 0;
	WS_FORWARD(ws_buf_reserve(out, head, err));
	out->len = head;
	for (unsigned c = 0; c < ncolumns; c++) {
		struct ws_dir_entry entry;

		WS_FORWARD(encode_column(e, rows, c, &entry, out, err));
		ws_dir_entry_put(out->data + WS_BLOCK_HEADER_BYTES + c * WS_DIR_ENTRY_BYTES,
		                 &entry);
	}
	WS_FORWARD(ws_buf_put(out, zeros, (0 - out->len) % WS_ALIGN_BYTES, err));

	memset(header, 0, sizeof(*header));
	header->kind = rows->def->id;
	header->ncolumns = (uint16_t)ncolumns;
	header->rows = rows->rows;
	header->body_size = out->len - WS_BLOCK_HEADER_BYTES;
	header->sequence = sequence;
	header->body_checksum = ws_checksum(out->data + WS_BLOCK_HEADER_BYTES, header->body_size);
	set_time_range(header, rows);
	ws_block_header_put(out->data, header);
	return WS_OK;
}

static struct ws_bytes bytes_of(const char *text)
{
	return (struct ws_bytes){text, strlen(text)};
}

enum ws_status ws_block_schema_rows(struct ws_row_buf *b, struct ws_err *err)
{
	for (unsigned id = 0; id < WS_KIND_END; id++) {
		const struct ws_kind_def *def = ws_schema_kind(id);

		for (unsigned c = 0; def && c < def->ncolumns; c++) {
			const struct ws_column_def *column = &def->columns[c];
			struct ws_row_schema row = {
			        .kind = id,
			        .kind_name = bytes_of(def->name),
			        .column = column->id,
			        .column_name = bytes_of(column->name),
			        .type = column->type,
			        .unit = bytes_of(column->unit),
			};

			WS_FORWARD(ws_row_buf_add(b, &row, err));
		}
	}
	return WS_OK;
}
