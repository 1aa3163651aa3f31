#include "formats/codec/block.h"

#include <stdlib.h>

#include "formats/base/checksum.h"
#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "formats/codec/encodings.h"
#include "formats/codec/model.h"

static bool is_blob(const struct ws_kind_def *def, unsigned c)
{
	return def->columns[c].type == WS_TYPE_BLOB;
}

void ws_row_buf_reserve(struct ws_row_buf *b, uint32_t n)
{
	size_t capacity = b->capacity;

	if (n <= b->capacity)
		return;
	if (!b->columns)
		b->columns = ws_xarray(b->def->ncolumns, sizeof(*b->columns));
	for (unsigned c = 0; c < b->def->ncolumns; c++) {
		capacity = b->capacity;
		b->has_blobs |= is_blob(b->def, c);
		WS_GROW(b->columns[c].v, n, capacity);
	}
	b->capacity = capacity; /* once every column has it */
}

/* Longer than a trace can hold: what is left tells enough. */
static void add_blob(struct ws_row_buf *b, unsigned c, const struct ws_bytes *blob)
{
	const size_t len = blob->len < WS_MAX_BLOB_BYTES ? blob->len : WS_MAX_BLOB_BYTES;

	ws_buf_put(&b->columns[c].bytes, blob->ptr, len);
	b->columns[c].v[b->rows] = len;
	b->blob_bytes += len;
}

static void add_with_blobs(struct ws_row_buf *b, const void *row)
{
	for (unsigned c = 0; c < b->def->ncolumns; c++) {
		const uint8_t *field = (const uint8_t *)row + b->def->columns[c].row_offset;
		struct ws_bytes blob;

		if (!is_blob(b->def, c)) {
			b->columns[c].v[b->rows] = ws_load_u64(field);
			continue;
		}
		memcpy(&blob, field, sizeof(blob));
		add_blob(b, c, &blob);
	}
}

void ws_row_buf_add(struct ws_row_buf *b, const void *row)
{
	const uint64_t *field = row;
	const uint32_t at = b->rows;

	if (at == b->capacity)
		ws_row_buf_reserve(b, at + 1);
	if (b->has_blobs)
		add_with_blobs(b, row);
	else /* 8 bytes a column, one behind the other */
		for (const struct ws_row_column *c = b->columns, *end = c + b->def->ncolumns;
		     c < end; c++)
			c->v[at] = *field++;
	b->rows = at + 1;
}

bool ws_row_buf_is_full(const struct ws_row_buf *b)
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
	b->rows = b->capacity = 0;
	b->blob_bytes = 0;
}

void ws_block_encoder_init(struct ws_block_encoder *e, int zstd_level)
{
	*e = (struct ws_block_encoder){.z = ws_zframe_encoder_new(zstd_level)};
	ws_tokens_init(&e->tokens, 1);
	ws_residual_new(&e->residual);
	e->lanes = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*e->lanes));
}

void ws_block_encoder_free(struct ws_block_encoder *e)
{
	ws_zframe_encoder_free(e->z);
	ws_buf_free(&e->encoded);
	ws_buf_free(&e->frame);
	ws_tokens_free(&e->tokens);
	ws_residual_free(e->residual);
	free(e->lanes);
	memset(e, 0, sizeof(*e));
}

/* A column on its way into a block. */
struct column {
	const struct ws_row_buf *rows;
	unsigned position;
	const struct ws_kind_model *model; /* NULL: the block has no tokens */
	unsigned carrier;                  /* position of the column that has them */
	uint64_t tuple;                    /* positions of the columns that make them, as bits */
	const uint64_t *v;
	enum ws_type type;
	struct ws_dir_entry *best; /* the smallest form so far, which stands behind out->len */
	struct ws_buf *out;
};

/*
 * e->encoded holds a candidate for a column. When it, plain or compressed, is
 * smaller than the best so far, it takes its place.
 */
static void offer(struct ws_block_encoder *e, const struct column *c, enum ws_encoding encoding,
                  uint32_t parameter, const struct ws_residual_parts *parts)
{
	struct ws_dir_entry *best = c->best;
	size_t size = e->encoded.len;
	size_t limit = best->stored_size - 1 < size - 1 ? best->stored_size - 1 : size - 1;
	size_t frame = 0;

	if (limit >= WS_ZFRAME_MIN_BYTES) {
		ws_buf_reserve(&e->frame, limit);
		if (parts)
			frame = ws_zframe_encode_parts(e->z, e->encoded.data, size, parts->end,
			                               parts->count, e->frame.data, limit);
		else if (c->type == WS_TYPE_BLOB)
			frame = ws_zframe_encode_hard(e->z, e->encoded.data, size, e->frame.data,
			                              limit);
		else
			frame = ws_zframe_encode(e->z, e->encoded.data, size, e->frame.data, limit);
	}
	if (!frame && size >= best->stored_size)
		return;

	best->encoding = (uint8_t)encoding;
	best->compression = frame ? WS_COMPRESSION_ZSTD : WS_COMPRESSION_NONE;
	best->encoded_size = (uint32_t)size;
	best->stored_size = (uint32_t)(frame ? frame : size);
	best->parameter = parameter;
	ws_buf_reserve(c->out, best->stored_size);
	memcpy(c->out->data + c->out->len, frame ? e->frame.data : e->encoded.data,
	       best->stored_size);
}

/* most_bytes: that it can take. */
static void offer_plain(struct ws_block_encoder *e, const struct column *c, enum ws_encoding id,
                        size_t most_bytes)
{
	uint8_t *end;

	e->encoded.len = 0;
	ws_buf_reserve(&e->encoded, most_bytes);
	end = ws_codec_encode(id, c->type, c->v, c->rows->rows, e->encoded.data);
	e->encoded.len = (size_t)(end - e->encoded.data);
	offer(e, c, id, 0, NULL);
}

/* raw can win only where it is the smallest before compression: values without a pattern. */
static bool can_win(const struct ws_encoded_sizes *sizes, enum ws_encoding id, enum ws_type type)
{
	return sizes->bytes[id] && (id != WS_ENCODING_RAW || type == WS_TYPE_F64 ||
	                            (sizes->bytes[id] < sizes->bytes[WS_ENCODING_VARINT] &&
	                             sizes->bytes[id] < sizes->bytes[WS_ENCODING_DELTA]));
}

#define SAMPLE_ROWS      1024u
#define MIN_SAMPLED_ROWS 16384u

/*
 * The encoding that makes a sample of many rows smallest, and what it then
 * makes of all rows, about.
 */
static void choose_by_sample(struct ws_block_encoder *e, const struct column *c,
                             enum ws_encoding *id, size_t *size)
{
	const uint64_t *v = c->v + (c->rows->rows - SAMPLE_ROWS) / 2;
	struct ws_encoded_sizes sizes;

	*size = SIZE_MAX;
	ws_codec_measure(c->type, v, SAMPLE_ROWS, &sizes);
	for (unsigned k = WS_ENCODING_VARINT; k <= WS_ENCODING_RAW; k++) {
		size_t plain = sizes.bytes[k], stored;

		if (!can_win(&sizes, k, c->type))
			continue;
		e->encoded.len = 0;
		ws_buf_reserve(&e->encoded, plain);
		ws_buf_reserve(&e->frame, plain);
		ws_codec_encode(k, c->type, v, SAMPLE_ROWS, e->encoded.data);
		stored = ws_zframe_encode(e->z, e->encoded.data, plain, e->frame.data, plain);
		stored = stored ? stored : plain;
		if (stored < *size) {
			*size = stored;
			*id = k;
		}
	}
	*size = (size_t)((uint64_t)*size * c->rows->rows / SAMPLE_ROWS);
}

/* Offer the encodings that need nothing but the column, by a sample where rows are many. */
static void offer_plain_ones(struct ws_block_encoder *e, const struct column *c)
{
	const uint32_t n = c->rows->rows;
	struct ws_encoded_sizes sizes;
	enum ws_encoding chosen = WS_ENCODING_RAW;
	size_t estimate;

	if (n >= MIN_SAMPLED_ROWS) {
		choose_by_sample(e, c, &chosen, &estimate);
		if (estimate >= c->best->stored_size)
			return;
		if (chosen != WS_ENCODING_RAW) {
			offer_plain(e, c, chosen, (size_t)n * WS_VARINT_MAX);
			return;
		}
	}
	ws_codec_measure(c->type, c->v, n, &sizes);
	for (unsigned id = WS_ENCODING_VARINT; id <= WS_ENCODING_RAW; id++)
		if (can_win(&sizes, id, c->type) && (n < MIN_SAMPLED_ROWS || id == chosen))
			offer_plain(e, c, id, sizes.bytes[id]);
}

static bool all_equal(const uint64_t *v, uint32_t n)
{
	return memcmp(v, v + 1, (n - 1) * sizeof(*v)) == 0;
}

static unsigned column_id(const struct column *c, unsigned position)
{
	return c->rows->def->columns[position].id;
}

/* The lane of each token, at the token's first row. */
static const uint64_t *find_lanes(struct ws_block_encoder *e, const struct column *c, int position)
{
	const uint64_t *v;

	if (position < 0)
		return NULL;
	v = c->rows->columns[position].v;
	if (c->model->kind != WS_KIND_KERNEL)
		return v;
	for (uint32_t k = 0; k < e->tokens.count; k++) {
		uint64_t config = v[e->tokens.first_row[k]];

		e->lanes[e->tokens.first_row[k]] =
		        config < e->config_count ? e->config_lanes[config] : 0;
	}
	return e->lanes;
}

static void offer_residual(struct ws_block_encoder *e, const struct column *c,
                           const struct ws_kind_model_column *m)
{
	const int ends = m->predictor == WS_PREDICT_END_BEFORE;
	const struct ws_residual_how how = {
	        .predictor = m->predictor,
	        .tokens = &e->tokens,
	        .durations = ends ? c->rows->columns[c->model->durations].v : NULL,
	        .lanes = find_lanes(e, c, m->lane),
	};
	struct ws_residual_parts parts;

	e->encoded.len = 0;
	ws_residual_put(e->residual, &how, c->v, c->rows->rows, &e->encoded, &parts);
	offer(e, c, WS_ENCODING_RESIDUAL,
	      ws_parameter(column_id(c, c->carrier),
	                   ends ? column_id(c, (unsigned)c->model->durations) : 0),
	      &parts);
}

/* Column of a block that has tokens; *done when no other encoding can be better. */
static void offer_modelled(struct ws_block_encoder *e, const struct column *c, int *done)
{
	const struct ws_kind_model_column *m = ws_kind_model_column(c->model, c->position);
	const uint32_t n = c->rows->rows;

	e->encoded.len = 0;
	*done = 1;
	if (c->position == c->carrier) {
		ws_tokens_put(&e->tokens, c->type, c->v, n, &e->encoded);
		offer(e, c, WS_ENCODING_TOKEN, 0, NULL);
		return;
	}
	if (c->type == WS_TYPE_F64)
		*done = 0;
	else if (c->tuple >> c->position & 1 || ws_tokens_determine(&e->tokens, c->v, n)) {
		ws_tokens_put_values(&e->tokens, c->type, c->v, &e->encoded);
		offer(e, c, WS_ENCODING_BY_TOKEN, ws_parameter(column_id(c, c->carrier), 0), NULL);
		return;
	}
	*done = 0;
	if (m)
		offer_residual(e, c, m);
}

static void offer_fixed(struct ws_block_encoder *e, const struct column *c)
{
	int is_carrier = c->model && c->position == c->carrier, done = 0;
	struct ws_encoded_sizes sizes;

	if (!is_carrier && all_equal(c->v, c->rows->rows)) {
		ws_codec_measure(c->type, c->v, 1, &sizes);
		offer_plain(e, c, WS_ENCODING_CONSTANT, sizes.bytes[WS_ENCODING_CONSTANT]);
		return;
	}
	if (c->model)
		offer_modelled(e, c, &done);
	if (!done)
		offer_plain_ones(e, c);
}

/* Append the data of a column to out and fill its directory entry. */
static void encode_column(struct ws_block_encoder *e, const struct column *c)
{
	const struct ws_row_column *column = &c->rows->columns[c->position];

	memset(c->best, 0, sizeof(*c->best));
	c->best->column = c->rows->def->columns[c->position].id;
	c->best->type = (uint8_t)c->type;
	c->best->stored_size = UINT32_MAX;
	if (c->type == WS_TYPE_BLOB) {
		e->encoded.len = 0;
		ws_codec_encode_blobs(column->v, c->rows->rows, column->bytes.data,
		                      column->bytes.len, &e->encoded);
		offer(e, c, WS_ENCODING_BYTES, 0, NULL);

	} else {
		offer_fixed(e, c);
	}
	c->out->len += c->best->stored_size;
}

#define MIN_TOKEN_ROWS 128u

/* Find tokens for these rows; what c tells of them when there are any worth it. */
static void find_tokens(struct ws_block_encoder *e, const struct ws_row_buf *rows, struct column *c)
{
	const struct ws_kind_model *m = ws_kind_model_of(rows->def->id);
	const uint64_t *columns[WS_MODEL_TUPLE];

	for (unsigned k = 0; m && rows->rows >= MIN_TOKEN_ROWS && k < WS_MODEL_CHOICES; k++) {
		if (!m->tuple[k].count)
			break;
		c->tuple = 0;
		for (unsigned i = 0; i < m->tuple[k].count; i++) {
			columns[i] = rows->columns[m->tuple[k].position[i]].v;
			c->tuple |= UINT64_C(1) << m->tuple[k].position[i];
		}
		ws_tokens_build(&e->tokens, columns, m->tuple[k].count, rows->rows);
		if (e->tokens.count) {
			c->carrier = m->tuple[k].position[0];
			c->model = m;
			return;
		}
	}
}

static uint32_t count_api_rows(const struct ws_row_buf *rows)
{
	uint32_t n = 0;

	for (uint32_t i = 0; rows->def->id == WS_KIND_THREAD_EVENT && i < rows->rows; i++)
		n += rows->columns[WS_COL_thread_event_type].v[i] == WS_THREAD_EVENT_API;
	return n;
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

static void pad_body(struct ws_buf *out, uint32_t rows)
{
	size_t size = WS_BLOCK_HEADER_BYTES +
	              (size_t)ws_body_size(out->len - WS_BLOCK_HEADER_BYTES, rows);

	ws_buf_reserve(out, size - out->len);
	memset(out->data + out->len, 0, size - out->len);
	out->len = size;
}

void ws_block_encode(struct ws_block_encoder *e, const struct ws_row_buf *rows, uint64_t sequence,
                     struct ws_buf *out, struct ws_block_header *header)
{
	const unsigned ncolumns = rows->def->ncolumns;
	const size_t head = WS_BLOCK_HEADER_BYTES + (size_t)ncolumns * WS_DIR_ENTRY_BYTES;

	struct column column = {.rows = rows, .out = out};
	struct ws_dir_entry entry;

	out->len = 0;
	ws_buf_reserve(out, head);
	out->len = head;
	find_tokens(e, rows, &column);
	column.best = &entry;
	for (unsigned c = 0; c < ncolumns; c++) {
		column.position = c;
		column.type = rows->def->columns[c].type;
		column.v = rows->columns[c].v;
		encode_column(e, &column);
		ws_dir_entry_put(out->data + WS_BLOCK_HEADER_BYTES + c * WS_DIR_ENTRY_BYTES,
		                 &entry);
	}
	pad_body(out, rows->rows);

	memset(header, 0, sizeof(*header));
	header->kind = rows->def->id;
	header->ncolumns = (uint16_t)ncolumns;
	header->rows = rows->rows;
	header->api_rows = count_api_rows(rows);
	header->body_size = out->len - WS_BLOCK_HEADER_BYTES;
	header->sequence = sequence;
	header->body_checksum = ws_checksum(out->data + WS_BLOCK_HEADER_BYTES, header->body_size);
	set_time_range(header, rows);
	ws_block_header_put(out->data, header);
}

void ws_block_schema_rows(struct ws_row_buf *b)
{
	for (unsigned id = 0; id < WS_KIND_END; id++) {
		const struct ws_kind_def *def = ws_schema_kind(id);

		for (unsigned c = 0; def && c < def->ncolumns; c++) {
			const struct ws_column_def *column = &def->columns[c];
			struct ws_row_schema row = {
			        .kind = id,
			        .kind_name = ws_bytes_of(def->name),
			        .column = column->id,
			        .column_name = ws_bytes_of(column->name),
			        .type = column->type,
			        .unit = ws_bytes_of(column->unit),
			};

			ws_row_buf_add(b, &row);
		}
	}
}
