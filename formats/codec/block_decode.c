#include "formats/codec/block.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/xalloc.h"
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

	(void)err;
	COLUMN_FAIL_IF(c->entry.stored_size > left, CORRUPT,
	               "its %" PRIu32 " stored bytes run past the block's end, %" PRIu64
	               " are left",
	               c->entry.stored_size, left);
	COLUMN_FAIL_IF(c->entry.encoded_size == 0 || c->entry.encoded_size > WS_MAX_ENCODED_BYTES,
	               CORRUPT, "its encoded size %" PRIu32 " is not 1 to %" PRIu64,
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
	WS_FAIL_IF(header->body_size != ws_body_size((uint64_t)(pos - body), header->rows), err,
	           CORRUPT, "%s: %td bytes after its last column belong to no column", label,
	           end - pos);
	for (; pos < end; pos++)
		WS_FAIL_IF(*pos, err, CORRUPT, "%s: its padding is not 0", label);
	return WS_OK;
}

/* Could n rows take this many bytes in this encoding? Asked before memory is allocated. */
static bool size_is_possible(const struct ws_dir_entry *e, uint64_t n)
{
	switch (e->encoding) {
	case WS_ENCODING_CONSTANT:
		return e->encoded_size <= WS_VARINT_MAX;
	case WS_ENCODING_VARINT:
	case WS_ENCODING_DELTA:
		return e->encoded_size >= n && e->encoded_size <= n * WS_VARINT_MAX;
	case WS_ENCODING_RAW:
		return e->encoded_size == n * sizeof(uint64_t);
	case WS_ENCODING_TOKEN:
		return ws_tokens_size_is_possible(e->encoded_size, n);
	case WS_ENCODING_BY_TOKEN:
		return e->encoded_size <= n * WS_VARINT_MAX;
	case WS_ENCODING_RESIDUAL:
		return ws_residual_size_is_possible(e->encoded_size, n);
	default:
		return e->encoded_size >= n;
	}
}

/* The block's column with this id, or -1. */
static int find_column(const struct ws_block_view *view, unsigned id)
{
	for (unsigned k = 0; k < view->header.ncolumns; k++)
		if (view->columns[k].entry.column == id)
			return (int)k;
	return -1;
}

/* Are the columns that column i is decoded with there, and not decoded with others in turn? */
static enum ws_status check_parameter(const struct ws_block_view *view, unsigned i,
                                      struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	unsigned carrier = ws_parameter_carrier(e->parameter);
	unsigned durations = ws_parameter_durations(e->parameter);
	int needs = e->encoding == WS_ENCODING_BY_TOKEN || e->encoding == WS_ENCODING_RESIDUAL;
	int k;

	(void)err;
	COLUMN_FAIL_IF((!needs && e->parameter) ||
	                       (e->encoding == WS_ENCODING_BY_TOKEN && (!carrier || durations)),
	               CORRUPT, "its parameter is %" PRIu32 ", which its encoding %s does not have",
	               e->parameter, ws_encoding_name(e->encoding));
	k = carrier ? find_column(view, carrier) : 0;
	COLUMN_FAIL_IF(carrier && (k < 0 || view->columns[k].entry.encoding != WS_ENCODING_TOKEN),
	               CORRUPT, "column %u, which should carry its tokens, does not", carrier);
	k = durations ? find_column(view, durations) : 0;
	COLUMN_FAIL_IF(durations && (k < 0 || view->columns[k].entry.type != WS_TYPE_DUR ||
	                             ws_parameter_durations(view->columns[k].entry.parameter)),
	               CORRUPT, "column %u, which should have its durations, does not", durations);
	return WS_OK;
}

enum ws_status ws_block_column_check(const struct ws_block_view *view, unsigned i,
                                     struct ws_err *err)
{
	const struct ws_block_column *c = &view->columns[i];
	const struct ws_dir_entry *e = &c->entry;

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

	COLUMN_FAIL_IF(!ws_encoding_fits(e->encoding, e->type), CORRUPT,
	               "its encoding %s does not fit its type %s", ws_encoding_name(e->encoding),
	               ws_type_name(e->type));
	WS_FORWARD(check_parameter(view, i, err));
	COLUMN_FAIL_IF(e->compression == WS_COMPRESSION_NONE && e->stored_size != e->encoded_size,
	               CORRUPT,
	               "it is not compressed, but its sizes differ: %" PRIu32 " and %" PRIu32,
	               e->stored_size, e->encoded_size);
	COLUMN_FAIL_IF(!size_is_possible(e, view->header.rows), CORRUPT,
	               "%" PRIu32 " bytes cannot be %u rows of encoding %s", e->encoded_size,
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

void ws_block_decoder_init(struct ws_block_decoder *d)
{
	memset(d, 0, sizeof(*d));
	d->z = ws_zframe_decoder_new();
	ws_tokens_init(&d->tokens, 0);
	ws_residual_new(&d->residual);
	d->values = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*d->values));
	d->carried = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*d->carried));
	d->durations = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*d->durations));
}

void ws_block_decoder_free(struct ws_block_decoder *d)
{
	ws_zframe_decoder_free(d->z);
	ws_buf_free(&d->scratch);
	ws_tokens_free(&d->tokens);
	ws_residual_free(d->residual);
	free(d->values);
	free(d->carried);
	free(d->durations);
	memset(d, 0, sizeof(*d));
}

/* The encoded bytes of column i, in *data: where they are stored, or in d->scratch. */
static enum ws_status inflate(const struct ws_block_view *view, unsigned i,
                              struct ws_block_decoder *d, const uint8_t **data, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	struct ws_err cause;

	*data = view->columns[i].stored;
	if (e->compression == WS_COMPRESSION_NONE)
		return WS_OK;
	d->scratch.len = 0;
	ws_buf_reserve(&d->scratch, e->encoded_size);
	if (ws_zframe_decode(d->z, *data, e->stored_size, d->scratch.data, e->encoded_size,
	                     &cause) != WS_OK)
		return column_failed(view, i, &cause, err);
	*data = d->scratch.data;
	return WS_OK;
}

/* Have the tokens that column i carries in d->tokens. */
static enum ws_status get_tokens(const struct ws_block_view *view, unsigned i,
                                 struct ws_block_decoder *d, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	const uint8_t *data;
	struct ws_err cause;

	if (d->tokens_from == view->columns[i].stored &&
	    d->tokens_checksum == view->header.body_checksum)
		return WS_OK;
	d->tokens_from = NULL;
	WS_FORWARD(ws_block_column_check(view, i, err));
	WS_FORWARD(inflate(view, i, d, &data, err));
	if (ws_tokens_get(&d->tokens, e->type, data, e->encoded_size, view->header.rows, d->carried,
	                  &cause) != WS_OK)
		return column_failed(view, i, &cause, err);
	d->tokens_from = view->columns[i].stored;
	d->tokens_checksum = view->header.body_checksum;
	return WS_OK;
}

/* The same of the column with this id; 0: none are needed. */
static enum ws_status need_tokens(const struct ws_block_view *view, unsigned id,
                                  struct ws_block_decoder *d, struct ws_err *err)
{
	int i = id ? find_column(view, id) : -1;

	return i < 0 ? WS_OK : get_tokens(view, (unsigned)i, d, err);
}

/* The only column that carries tokens, -1 = there is not one. */
static int find_carrier(const struct ws_block_view *view)
{
	int carrier = -1;

	for (unsigned i = 0; i < view->header.ncolumns; i++) {
		if (view->columns[i].entry.encoding != WS_ENCODING_TOKEN)
			continue;
		if (carrier >= 0)
			return -1;
		carrier = (int)i;
	}
	return carrier;
}

enum ws_status ws_block_tokens(const struct ws_block_view *view, struct ws_block_decoder *d,
                               struct ws_err *err)
{
	int carrier = find_carrier(view);

	if (carrier >= 0)
		return get_tokens(view, (unsigned)carrier, d, err);
	d->tokens_from = NULL;
	d->tokens.count = 0;
	return WS_OK;
}

/* A constant n times, or the values of all tokens, which are n. */
static enum ws_status decode_stored(const struct ws_block_view *view, unsigned i,
                                    struct ws_block_decoder *d, uint32_t n, uint64_t *v,
                                    struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	enum ws_status status;
	const uint8_t *data;
	struct ws_err cause;

	WS_FORWARD(inflate(view, i, d, &data, err));
	if (e->encoding == WS_ENCODING_CONSTANT)
		status = ws_codec_decode(e->encoding, e->type, data, e->encoded_size, n, v, &cause);
	else
		status =
		        ws_tokens_get_values(&d->tokens, e->type, data, e->encoded_size, v, &cause);
	return status == WS_OK ? WS_OK : column_failed(view, i, &cause, err);
}

static enum ws_status decode_fixed(const struct ws_block_view *view, unsigned i,
                                   struct ws_block_decoder *d, const uint64_t *durations,
                                   uint64_t *v, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	static const struct ws_tokens none;
	const struct ws_residual_how how = {.tokens = ws_parameter_carrier(e->parameter)
	                                                      ? &d->tokens
	                                                      : &none,
	                                    .durations = durations};
	const uint32_t rows = view->header.rows;
	enum ws_status status;
	const uint8_t *data;
	struct ws_err cause;

	if (e->encoding == WS_ENCODING_TOKEN) {
		WS_FORWARD(get_tokens(view, i, d, err));
		ws_tokens_spread(&d->tokens, d->carried, rows, v);
		return WS_OK;
	}
	if (e->encoding == WS_ENCODING_BY_TOKEN) {
		WS_FORWARD(decode_stored(view, i, d, rows, d->values, err));
		ws_tokens_spread(&d->tokens, d->values, rows, v);
		return WS_OK;
	}
	WS_FORWARD(inflate(view, i, d, &data, err));
	if (e->encoding == WS_ENCODING_RESIDUAL)
		status = ws_residual_get(d->residual, &how, data, e->encoded_size, rows, v, &cause);
	else
		status = ws_codec_decode(e->encoding, e->type, data, e->encoded_size, rows, v,
		                         &cause);
	return status == WS_OK ? WS_OK : column_failed(view, i, &cause, err);
}

/* Have the values of column i in d->durations. */
static enum ws_status need_durations(const struct ws_block_view *view, unsigned i,
                                     struct ws_block_decoder *d, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;

	if (d->durations_from == view->columns[i].stored &&
	    d->durations_checksum == view->header.body_checksum)
		return WS_OK;
	d->durations_from = NULL;
	WS_FORWARD(ws_block_column_check(view, i, err));
	WS_FORWARD(need_tokens(view, ws_parameter_carrier(e->parameter), d, err));
	WS_FORWARD(decode_fixed(view, i, d, NULL, d->durations, err));
	d->durations_from = view->columns[i].stored;
	d->durations_checksum = view->header.body_checksum;
	return WS_OK;
}

enum ws_status ws_block_column_decode(const struct ws_block_view *view, unsigned i,
                                      struct ws_block_decoder *d, uint64_t *v, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	unsigned durations = ws_parameter_durations(e->parameter);

	WS_FORWARD(ws_block_column_check(view, i, err));
	if (d->durations_from == view->columns[i].stored &&
	    d->durations_checksum == view->header.body_checksum) {
		memcpy(v, d->durations, view->header.rows * sizeof(*v));
		return WS_OK;
	}
	if (durations)
		WS_FORWARD(need_durations(view, (unsigned)find_column(view, durations), d, err));
	if (e->encoding == WS_ENCODING_BY_TOKEN || e->encoding == WS_ENCODING_RESIDUAL)
		WS_FORWARD(need_tokens(view, ws_parameter_carrier(e->parameter), d, err));
	return decode_fixed(view, i, d, durations ? d->durations : NULL, v, err);
}

enum ws_status ws_block_column_decode_stored(const struct ws_block_view *view, unsigned i,
                                             struct ws_block_decoder *d, uint64_t *v,
                                             bool *by_token, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	int carrier = find_carrier(view);

	*by_token = carrier == (int)i ||
	            (carrier >= 0 &&
	             (e->encoding == WS_ENCODING_CONSTANT ||
	              (e->encoding == WS_ENCODING_BY_TOKEN &&
	               ws_parameter_carrier(e->parameter) == view->columns[carrier].entry.column)));
	if (!*by_token)
		return ws_block_column_decode(view, i, d, v, err);
	WS_FORWARD(ws_block_column_check(view, i, err));
	WS_FORWARD(ws_block_tokens(view, d, err));
	if (carrier == (int)i) {
		memcpy(v, d->carried, d->tokens.count * sizeof(*v));
		return WS_OK;
	}
	return decode_stored(view, i, d, d->tokens.count, v, err);
}

enum ws_status ws_block_column_decode_blobs(const struct ws_block_view *view, unsigned i,
                                            struct ws_block_decoder *d, uint8_t *bytes,
                                            struct ws_bytes *b, struct ws_err *err)
{
	const struct ws_block_column *c = &view->columns[i];
	const struct ws_dir_entry *e = &c->entry;
	struct ws_err cause;

	WS_FORWARD(ws_block_column_check(view, i, err));
	if (e->compression == WS_COMPRESSION_NONE)
		memcpy(bytes, c->stored, e->encoded_size);
	else if (ws_zframe_decode(d->z, c->stored, e->stored_size, bytes, e->encoded_size,
	                          &cause) != WS_OK)
		return column_failed(view, i, &cause, err);
	if (ws_codec_decode_blobs(bytes, e->encoded_size, view->header.rows, b, &cause) != WS_OK)
		return column_failed(view, i, &cause, err);
	return WS_OK;
}
