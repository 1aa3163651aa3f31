#include "formats/codec/block.h"

#include "formats/base/memory.h"

/* --- the structures of a file --- */

static const uint8_t file_magic[8] = {0x89, 'W', 'S', 'T', '\r', '\n', 0x1a, '\n'};
static const uint8_t block_magic[4] = {'W', 'S', 'B', 'K'};
static const uint8_t trailer_magic[8] = {'W', 'S', 'T', 'E', 'N', 'D', '\r', '\n'};

void ws_file_header_put(uint8_t out[WS_FILE_HEADER_BYTES], int64_t base_ns, uint64_t kept_from)
{
	struct ws_file_header h = {
	        .version_major = WS_FORMAT_MAJOR,
	        .version_minor = WS_FORMAT_MINOR,
	        .header_size = WS_FILE_HEADER_BYTES,
	        .required_features = kept_from ? WS_FEATURE_PIECES : 0,
	        .base_ns = base_ns,
	        .kept_from = kept_from,
	};

	memcpy(h.magic, file_magic, sizeof(h.magic));
	h.checksum = ws_checksum(&h, offsetof(struct ws_file_header, checksum));
	memcpy(out, &h, sizeof(h));
}

enum ws_status ws_file_header_get(const uint8_t *data, size_t size, struct ws_file_header *out,
                                  struct ws_err *err)
{
	WS_FAIL_IF(size == 0, err, CORRUPT, "the file is empty");
	if (size >= sizeof(file_magic) && memcmp(data, file_magic, sizeof(file_magic)) != 0) {
		WS_FAIL_IF(memcmp(data + 1, file_magic + 1, 3) == 0, err, CORRUPT,
		           "the file was changed by a transfer as text; copy it again as binary");
		return WS_FAIL(err, CORRUPT, "not a Warpsheet trace: unrecognised file header");
	}
	WS_FAIL_IF(size < WS_FILE_HEADER_BYTES, err, CORRUPT,
	           "the file has %zu bytes, fewer than the %u of its header", size,
	           WS_FILE_HEADER_BYTES);
	memcpy(out, data, sizeof(*out));
	WS_FAIL_IF(out->checksum != ws_checksum(data, offsetof(struct ws_file_header, checksum)),
	           err, CORRUPT, "the file header is damaged: its checksum is wrong");
	WS_FAIL_IF(out->version_major < WS_FORMAT_MAJOR, err, TOO_NEW,
	           "the file has format %u.%u of before the first release, this program reads "
	           "%u.x; record or import it again",
	           out->version_major, out->version_minor, WS_FORMAT_MAJOR);
	WS_FAIL_IF(out->version_major != WS_FORMAT_MAJOR, err, TOO_NEW,
	           "the file has format %u.%u, this program reads %u.x", out->version_major,
	           out->version_minor, WS_FORMAT_MAJOR);
	WS_FAIL_IF(out->required_features & ~WS_KNOWN_FEATURES, err, TOO_NEW,
	           "the file needs features 0x%" PRIx64 " that this program lacks",
	           out->required_features & ~WS_KNOWN_FEATURES);
	WS_FAIL_IF(out->header_size != WS_FILE_HEADER_BYTES, err, TOO_NEW,
	           "the file header has %u bytes, this program knows one of %u", out->header_size,
	           WS_FILE_HEADER_BYTES);
	WS_FAIL_IF(out->reserved ||
	                   !out->kept_from != !(out->required_features & WS_FEATURE_PIECES),
	           err, TOO_NEW,
	           "the file header uses reserved bytes that this program does not know");
	return WS_OK;
}

void ws_block_header_put(uint8_t out[WS_BLOCK_HEADER_BYTES], const struct ws_block_header *h)
{
	struct ws_block_header stored = *h;

	memcpy(stored.magic, block_magic, sizeof(stored.magic));
	stored.header_checksum =
	        ws_checksum(&stored, offsetof(struct ws_block_header, header_checksum));
	memcpy(out, &stored, sizeof(stored));
}

enum ws_status ws_block_header_get(const uint8_t *data, size_t size, uint64_t offset,
                                   struct ws_block_header *out, struct ws_err *err)
{
	char label[WS_BLOCK_LABEL_BYTES];

	WS_FAIL_IF(size < WS_BLOCK_HEADER_BYTES, err, CORRUPT,
	           "offset %" PRIu64 ": %zu bytes are too few for a block header", offset, size);
	WS_FAIL_IF(memcmp(data, block_magic, sizeof(block_magic)) != 0, err, CORRUPT,
	           "offset %" PRIu64 ": no block begins here", offset);
	memcpy(out, data, sizeof(*out));
	WS_FAIL_IF(out->header_checksum !=
	                   ws_checksum(data, offsetof(struct ws_block_header, header_checksum)),
	           err, CORRUPT, "offset %" PRIu64 ": the checksum of a block header is wrong",
	           offset);
	/* the values of a header whose checksum is right */
	ws_block_label(label, out->kind, offset);
	WS_FAIL_IF(out->kind == WS_KIND_API || out->kind == WS_KIND_NVTX, err, CORRUPT,
	           "%s: its rows belong into blocks of kind thread_event", label);
	WS_FAIL_IF(out->api_rows && out->kind != WS_KIND_THREAD_EVENT, err, CORRUPT,
	           "%s: reserved bytes of its header are not 0", label);
	WS_FAIL_IF(out->api_rows > out->rows, err, CORRUPT, "%s: %u of its %u rows are api rows",
	           label, out->api_rows, out->rows);
	WS_FAIL_IF(out->ncolumns == 0 || out->ncolumns > WS_MAX_COLUMNS, err, CORRUPT,
	           "%s: it has %u columns, not 1 to %u", label, out->ncolumns, WS_MAX_COLUMNS);
	WS_FAIL_IF(out->rows == 0 || out->rows > WS_MAX_BLOCK_ROWS, err, CORRUPT,
	           "%s: it has %u rows, not 1 to %u", label, out->rows, WS_MAX_BLOCK_ROWS);
	WS_FAIL_IF(out->body_size % WS_ALIGN_BYTES, err, CORRUPT,
	           "%s: its body size %" PRIu64 " is not a multiple of %u", label, out->body_size,
	           WS_ALIGN_BYTES);
	WS_FAIL_IF(out->body_size > WS_MAX_BODY_BYTES, err, CORRUPT,
	           "%s: its body size %" PRIu64 " is over the limit of %" PRIu64, label,
	           out->body_size, WS_MAX_BODY_BYTES);
	WS_FAIL_IF(out->rows / WS_MAX_ROWS_PER_BYTE > out->body_size + WS_BLOCK_HEADER_BYTES, err,
	           CORRUPT, "%s: it has %u rows in %" PRIu64 " bytes, more than %u in each", label,
	           out->rows, out->body_size + WS_BLOCK_HEADER_BYTES, WS_MAX_ROWS_PER_BYTE);
	WS_FAIL_IF(out->body_size < (uint64_t)out->ncolumns * WS_DIR_ENTRY_BYTES, err, CORRUPT,
	           "%s: its body of %" PRIu64 " bytes cannot hold the directory of %u columns",
	           label, out->body_size, out->ncolumns);
	WS_FAIL_IF(out->time_min_ns > out->time_max_ns, err, CORRUPT,
	           "%s: its time range ends before it begins", label);
	return WS_OK;
}

void ws_trailer_put(uint8_t out[WS_TRAILER_BYTES], uint64_t index_offset, uint64_t file_size)
{
	struct ws_trailer t = {.index_offset = index_offset, .file_size = file_size};

	t.checksum = ws_checksum(&t, offsetof(struct ws_trailer, checksum));
	memcpy(t.magic, trailer_magic, sizeof(t.magic));
	memcpy(out, &t, sizeof(t));
}

enum ws_status ws_trailer_get(const uint8_t *data, size_t size, struct ws_trailer *out,
                              struct ws_err *err)
{
	WS_FAIL_IF(size < WS_FILE_HEADER_BYTES + WS_TRAILER_BYTES, err, CORRUPT,
	           "the file is too short for a trailer");
	memcpy(out, data + size - WS_TRAILER_BYTES, sizeof(*out));
	WS_FAIL_IF(memcmp(out->magic, trailer_magic, sizeof(trailer_magic)) != 0, err, CORRUPT,
	           "the file has no trailer");
	WS_FAIL_IF(out->checksum != ws_checksum(out, offsetof(struct ws_trailer, checksum)), err,
	           CORRUPT, "the checksum of the trailer is wrong");
	return WS_OK;
}

const char *ws_block_label(char buf[WS_BLOCK_LABEL_BYTES], unsigned kind, uint64_t offset)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);

	if (def)
		snprintf(buf, WS_BLOCK_LABEL_BYTES, "%s block at offset %" PRIu64, def->name,
		         offset);
	else
		snprintf(buf, WS_BLOCK_LABEL_BYTES, "block of unknown kind %u at offset %" PRIu64,
		         kind, offset);
	return buf;
}

uint64_t ws_body_size(uint64_t content, uint32_t rows)
{
	uint64_t least = rows / WS_MAX_ROWS_PER_BYTE;

	least = least > WS_BLOCK_HEADER_BYTES ? least - WS_BLOCK_HEADER_BYTES : 0;
	content = content > least ? content : least;
	return (content + WS_ALIGN_BYTES - 1) / WS_ALIGN_BYTES * WS_ALIGN_BYTES;
}

/* --- gathering rows --- */

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
		capacity = b->capacity; /* all columns grow equally */
		b->has_blobs |= is_blob(b->def, c);
		WS_GROW(b->columns[c].v, n, capacity);
	}
	b->capacity = capacity;
}

void ws_row_buf_add(struct ws_row_buf *b, const void *row)
{
	const uint64_t *field = row;
	const uint32_t at = b->rows;

	if (at == b->capacity)
		ws_row_buf_reserve(b, at + 1);
	if (b->has_blobs) {
		for (unsigned c = 0; c < b->def->ncolumns; c++) {
			const uint8_t *bytes = (const uint8_t *)row + b->def->columns[c].row_offset;
			struct ws_row_column *column = &b->columns[c];
			struct ws_bytes blob;

			if (!is_blob(b->def, c)) {
				column->v[b->rows] = ws_load_u64(bytes);
				continue;
			}
			memcpy(&blob, bytes, sizeof(blob));
			if (blob.len > WS_MAX_BLOB_BYTES)
				blob.len = WS_MAX_BLOB_BYTES;
			ws_buf_put(&column->bytes, blob.ptr, blob.len);
			column->v[b->rows] = blob.len;
			b->blob_bytes += blob.len;
		}
	} else /* 8 bytes per column, one after the other */
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

/* --- columns of tokens, and columns predicted from the previous row --- */

#define P(kind, column) WS_COL_##kind##_##column
#define TUPLE(...)                                \
	{                                         \
		sizeof((uint8_t[]){__VA_ARGS__}), \
		{                                 \
			__VA_ARGS__               \
		}                                 \
	}

/* The kinds whose blocks the writer codes by tokens and residuals. Readers do not need this: a
 * block contains the encodings of its columns. Positions are those in ws_kind_def.columns. */
static const struct kind_model {
	enum ws_kind kind;
	uint8_t durations; /* position; durations, also coded as residuals, without a prediction */
	/* Combinations of columns to make tokens of, best first. The first one with few enough
	 * tokens is used. Its first column carries the tokens. */
	struct {
		uint8_t count, position[WS_TOKENS_MAX_COLUMNS];
	} tuple[3];
	struct prediction {
		uint8_t position;
		enum ws_predictor predictor; /* NOTHING: no further column is predicted */
		uint8_t lane;                /* position: rows of equal value share a lane */
	} predicted[2];
} models[] = {
        /* work of a device begins when the work before it on its stream ends */
        {WS_KIND_KERNEL,
         P(kernel, dur_ns),
         {TUPLE(P(kernel, config))},
         {{P(kernel, start_ns), WS_PREDICT_END_BEFORE, P(kernel, config)}}},
        {WS_KIND_MEMCPY,
         P(memcpy, dur_ns),
         {TUPLE(P(memcpy, stream), P(memcpy, kind), P(memcpy, bytes)),
          TUPLE(P(memcpy, stream), P(memcpy, kind))},
         {{P(memcpy, start_ns), WS_PREDICT_END_BEFORE, P(memcpy, stream)}}},
        {WS_KIND_MEMSET,
         P(memset, dur_ns),
         {TUPLE(P(memset, stream), P(memset, bytes)), TUPLE(P(memset, stream))},
         {{P(memset, start_ns), WS_PREDICT_END_BEFORE, P(memset, stream)}}},
        /* a thread goes on when its call returns */
        {WS_KIND_THREAD_EVENT,
         P(thread_event, dur_ns),
         {TUPLE(P(thread_event, name), P(thread_event, type), P(thread_event, thread),
                P(thread_event, payload)),
          TUPLE(P(thread_event, name), P(thread_event, type), P(thread_event, thread)),
          TUPLE(P(thread_event, type), P(thread_event, thread))},
         {{P(thread_event, time_ns), WS_PREDICT_END_BEFORE, P(thread_event, thread)},
          {P(thread_event, correlation), WS_PREDICT_BEFORE, P(thread_event, type)}}},
        /* calls inside calls begin before the outer one ends */
        {WS_KIND_CPU_OP,
         P(cpu_op, dur_ns),
         {TUPLE(P(cpu_op, config), P(cpu_op, thread)), TUPLE(P(cpu_op, thread))},
         {{P(cpu_op, start_ns), WS_PREDICT_BEFORE, P(cpu_op, thread)}}},
        {WS_KIND_PYTHON_CALL,
         P(python_call, dur_ns),
         {TUPLE(P(python_call, name), P(python_call, thread)), TUPLE(P(python_call, thread))},
         {{P(python_call, start_ns), WS_PREDICT_BEFORE, P(python_call, thread)}}},
};

/* --- encoding --- */

void ws_block_encoder_init(struct ws_block_encoder *e, int zstd_level)
{
	*e = (struct ws_block_encoder){.z = ws_zframe_encoder_new(zstd_level),
	                               .residual = ws_residual_new()};
	ws_tokens_init(&e->tokens, 1);
	e->lanes = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*e->lanes));
}

void ws_block_encoder_free(struct ws_block_encoder *e)
{
	ws_zframe_encoder_free(e->z);
	ws_buf_free(&e->encoded);
	ws_buf_free(&e->frame);
	ws_tokens_free(&e->tokens);
	free(e->residual);
	free(e->lanes);
	memset(e, 0, sizeof(*e));
}

/* A column on its way into a block. */
struct column {
	const struct ws_row_buf *rows;
	unsigned position;
	const struct kind_model *model; /* NULL: the block has no tokens */
	unsigned carrier;               /* position of the column that carries the tokens */
	uint64_t tuple;                 /* bits: positions of the columns combined in a token */
	const uint64_t *v;
	enum ws_type type;
	struct ws_dir_entry *best; /* the smallest form so far; its bytes are after out->len */
	struct ws_buf *out;
};

/* Uses the bytes in e->encoded, plain or compressed, if they are smaller than the best form so
 * far. */
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
			frame = ws_zframe_encode_parts(e->z, e->encoded.data, size, parts,
			                               e->frame.data, limit);
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

/* Tries an encoding that needs only the column, with at most most_bytes. */
static void offer_plain(struct ws_block_encoder *e, const struct column *c, enum ws_encoding id,
                        size_t most_bytes)
{
	e->encoded.len = 0;
	ws_buf_reserve(&e->encoded, most_bytes);
	uint8_t *end = ws_codec_encode(id, c->type, c->v, c->rows->rows, e->encoded.data);
	e->encoded.len = (size_t)(end - e->encoded.data);
	offer(e, c, id, 0, NULL);
}

/* Whether an encoding is worth trying. `raw` can be the smallest only if it is so before
 * compression, for values without a pattern. */
static bool can_win(const struct ws_encoded_sizes *sizes, enum ws_encoding id, enum ws_type type)
{
	return sizes->bytes[id] && (id != WS_ENCODING_RAW || type == WS_TYPE_F64 ||
	                            (sizes->bytes[id] < sizes->bytes[WS_ENCODING_VARINT] &&
	                             sizes->bytes[id] < sizes->bytes[WS_ENCODING_DELTA]));
}
#define SAMPLE_ROWS      1024u
#define MIN_SAMPLED_ROWS 16384u

/* Tries the encodings that need only the column: all of them, or with many rows the best one for a
 * sample. */
static void offer_plain_ones(struct ws_block_encoder *e, const struct column *c)
{
	const uint32_t n = c->rows->rows;
	struct ws_encoded_sizes sizes;
	enum ws_encoding chosen = WS_ENCODING_RAW;
	size_t estimate = SIZE_MAX;

	if (n >= MIN_SAMPLED_ROWS) {
		/* the encoding with the smallest size for a sample of the rows, and its size for
		 * all */
		const uint64_t *v = c->v + (c->rows->rows - SAMPLE_ROWS) / 2;

		ws_codec_measure(c->type, v, SAMPLE_ROWS, &sizes);
		for (unsigned k = WS_ENCODING_VARINT; k <= WS_ENCODING_RAW; k++) {
			size_t plain = sizes.bytes[k], stored;

			if (!can_win(&sizes, k, c->type))
				continue;
			e->encoded.len = 0;
			ws_buf_reserve(&e->encoded, plain);
			ws_buf_reserve(&e->frame, plain);
			ws_codec_encode(k, c->type, v, SAMPLE_ROWS, e->encoded.data);
			stored = ws_zframe_encode(e->z, e->encoded.data, plain, e->frame.data,
			                          plain);
			stored = stored ? stored : plain;
			if (stored < estimate) {
				estimate = stored;
				chosen = k;
			}
		}
		estimate = (size_t)((uint64_t)estimate * c->rows->rows / SAMPLE_ROWS);
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

static unsigned column_id(const struct column *c, unsigned position)
{
	return c->rows->def->columns[position].id;
}

/* Tries residuals, if the model of the kind has the column. */
static void offer_residual(struct ws_block_encoder *e, const struct column *c)
{
	struct ws_residual_how how = {.tokens = &e->tokens};
	const struct prediction *p = NULL;
	struct ws_residual_parts parts;
	unsigned durations = 0;

	for (unsigned i = 0; i < 2 && c->model->predicted[i].predictor; i++)
		if (c->model->predicted[i].position == c->position)
			p = &c->model->predicted[i];
	if (!p && c->position != c->model->durations)
		return;
	if (p) {
		const uint64_t *lane = c->rows->columns[p->lane].v;

		how.predictor = p->predictor;
		/* the lane of each token at its first row: the value of the column, but for kernels
		   the stream of their configuration */
		how.lanes = lane;
		for (uint32_t k = 0; c->model->kind == WS_KIND_KERNEL && k < e->tokens.count; k++) {
			const uint32_t row = e->tokens.first_row[k];

			how.lanes = e->lanes;
			e->lanes[row] =
			        lane[row] < e->config_count ? e->config_lanes[lane[row]] : 0;
		}
	}
	if (how.predictor == WS_PREDICT_END_BEFORE) {
		how.durations = c->rows->columns[c->model->durations].v;
		durations = column_id(c, c->model->durations);
	}
	e->encoded.len = 0;
	ws_residual_put(e->residual, &how, c->v, c->rows->rows, &e->encoded, &parts);
	offer(e, c, WS_ENCODING_RESIDUAL, ws_parameter(column_id(c, c->carrier), durations),
	      &parts);
}

/* Append the data of a column to out and fill its directory entry. */
static void encode_column(struct ws_block_encoder *e, const struct column *c)
{
	const struct ws_row_column *column = &c->rows->columns[c->position];
	const uint32_t n = c->rows->rows;
	const bool is_carrier = c->model && c->position == c->carrier;

	*c->best = (struct ws_dir_entry){.column = (uint16_t)column_id(c, c->position),
	                                 .type = (uint8_t)c->type,
	                                 .stored_size = UINT32_MAX};
	e->encoded.len = 0;
	if (c->type == WS_TYPE_BLOB) {
		ws_codec_encode_blobs(c->v, n, column->bytes.data, column->bytes.len, &e->encoded);
		offer(e, c, WS_ENCODING_BYTES, 0, NULL);
	} else if (is_carrier) {
		ws_tokens_put(&e->tokens, c->type, c->v, n, &e->encoded);
		offer(e, c, WS_ENCODING_TOKEN, 0, NULL);
	} else if (memcmp(c->v, c->v + 1, (n - 1) * sizeof(*c->v)) == 0) {
		offer_plain(e, c, WS_ENCODING_CONSTANT, WS_VARINT_MAX);
	} else if (c->model && c->type != WS_TYPE_F64 &&
	           (c->tuple >> c->position & 1 || ws_tokens_determine(&e->tokens, c->v, n))) {
		ws_tokens_put_values(&e->tokens, c->type, c->v, &e->encoded);
		offer(e, c, WS_ENCODING_BY_TOKEN, ws_parameter(column_id(c, c->carrier), 0), NULL);
	} else {
		if (c->model)
			offer_residual(e, c);
		offer_plain_ones(e, c);
	}
	c->out->len += c->best->stored_size;
}

#define MIN_TOKEN_ROWS 128u

void ws_block_encode(struct ws_block_encoder *e, const struct ws_row_buf *rows, uint64_t sequence,
                     struct ws_buf *out, struct ws_block_header *header)
{
	const unsigned ncolumns = rows->def->ncolumns;
	const int time = rows->def->time_column;
	struct ws_dir_entry entry;
	struct column column = {.rows = rows, .out = out, .best = &entry};
	const uint64_t *columns[WS_TOKENS_MAX_COLUMNS];
	const struct kind_model *m = NULL;

	out->len = 0;
	ws_buf_reserve(out, WS_BLOCK_HEADER_BYTES + (size_t)ncolumns * WS_DIR_ENTRY_BYTES);
	out->len = WS_BLOCK_HEADER_BYTES + (size_t)ncolumns * WS_DIR_ENTRY_BYTES;
	/* find tokens for the rows; they are used if they save space */
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (models[i].kind == rows->def->id && rows->rows >= MIN_TOKEN_ROWS)
			m = &models[i];
	for (unsigned k = 0; m && k < 3 && m->tuple[k].count; k++) {
		column.tuple = 0;
		for (unsigned i = 0; i < m->tuple[k].count; i++) {
			columns[i] = rows->columns[m->tuple[k].position[i]].v;
			column.tuple |= UINT64_C(1) << m->tuple[k].position[i];
		}
		ws_tokens_build(&e->tokens, columns, m->tuple[k].count, rows->rows);
		if (e->tokens.count) {
			column.carrier = m->tuple[k].position[0];
			column.model = m;
			break;
		}
	}
	for (unsigned c = 0; c < ncolumns; c++) {
		column.position = c;
		column.type = rows->def->columns[c].type;
		column.v = rows->columns[c].v;
		encode_column(e, &column);
		memcpy(out->data + WS_BLOCK_HEADER_BYTES + c * WS_DIR_ENTRY_BYTES, &entry,
		       sizeof(entry));
	}
	*header = (struct ws_block_header){
	        .kind = rows->def->id,
	        .ncolumns = (uint16_t)ncolumns,
	        .rows = rows->rows,
	        .body_size = ws_body_size(out->len - WS_BLOCK_HEADER_BYTES, rows->rows),
	        .sequence = sequence,
	};
	size_t content = out->len;
	ws_buf_reserve(out, WS_BLOCK_HEADER_BYTES + header->body_size - content);
	out->len = WS_BLOCK_HEADER_BYTES + header->body_size;
	memset(out->data + content, 0, out->len - content);
	header->body_checksum = ws_checksum(out->data + WS_BLOCK_HEADER_BYTES, header->body_size);
	for (uint32_t i = 0; rows->def->id == WS_KIND_THREAD_EVENT && i < rows->rows; i++)
		header->api_rows +=
		        rows->columns[WS_COL_thread_event_type].v[i] == WS_THREAD_EVENT_API;
	for (uint32_t i = 0; time >= 0 && i < rows->rows; i++) {
		const int64_t t = (int64_t)rows->columns[time].v[i];

		header->time_min_ns = !i || t < header->time_min_ns ? t : header->time_min_ns;
		header->time_max_ns = !i || t > header->time_max_ns ? t : header->time_max_ns;
	}
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

/* --- looking into a block --- */

/* "kernel block at offset 4096, column 4 (config)" */
static const char *column_label(char buf[128], const struct ws_block_view *view, unsigned i)
{
	const struct ws_block_column *c = &view->columns[i];

	if (c->position >= 0)
		snprintf(buf, 128, "%s, column %u (%s)", view->label, c->entry.column,
		         view->def->columns[c->position].name);
	else
		snprintf(buf, 128, "%s, unknown column %u", view->label, c->entry.column);
	return buf;
}

#define COLUMN_FAIL_IF(cond, code, fmt, ...)                                           \
	do {                                                                           \
		char label_[128];                                                      \
		WS_FAIL_IF(cond, err, code, "%s: " fmt, column_label(label_, view, i), \
		           ##__VA_ARGS__);                                             \
	} while (0)

enum ws_status ws_block_view_open(struct ws_block_view *view, const struct ws_block_header *header,
                                  const uint8_t *body, uint64_t offset, struct ws_err *err)
{
	const uint8_t *end = body + header->body_size;
	const uint8_t *pos = body + (size_t)header->ncolumns * WS_DIR_ENTRY_BYTES;
	uint64_t decoded_bytes = 0;

	view->def = ws_schema_kind(header->kind);
	view->offset = offset;
	view->header = *header;
	ws_block_label(view->label, header->kind, offset);
	for (unsigned i = 0; i < header->ncolumns; i++) {
		struct ws_block_column *c = &view->columns[i];

		memcpy(&c->entry, body + i * WS_DIR_ENTRY_BYTES, sizeof(c->entry));
		c->position = view->def ? ws_schema_column(view->def, c->entry.column) : -1;
		uint64_t left = (uint64_t)(end - pos);
		COLUMN_FAIL_IF(c->entry.stored_size > left, CORRUPT,
		               "its %" PRIu32 " stored bytes run past the block's end, %" PRIu64
		               " are left",
		               c->entry.stored_size, left);
		COLUMN_FAIL_IF(c->entry.encoded_size == 0 ||
		                       c->entry.encoded_size > WS_MAX_ENCODED_BYTES,
		               CORRUPT, "its encoded size %" PRIu32 " is not 1 to %" PRIu64,
		               c->entry.encoded_size, WS_MAX_ENCODED_BYTES);
		decoded_bytes += c->entry.encoded_size;
		COLUMN_FAIL_IF(decoded_bytes > WS_MAX_DECODED_BYTES, CORRUPT,
		               "the block's columns have more than %" PRIu64
		               " bytes when decompressed",
		               WS_MAX_DECODED_BYTES);
		for (unsigned k = 0; k < i; k++)
			COLUMN_FAIL_IF(view->columns[k].entry.column == c->entry.column, CORRUPT,
			               "the block has it twice");
		c->stored = pos;
		pos += c->entry.stored_size;
	}
	WS_FAIL_IF(header->body_size != ws_body_size((uint64_t)(pos - body), header->rows), err,
	           CORRUPT, "%s: %td bytes after its last column belong to no column", view->label,
	           end - pos);
	for (; pos < end; pos++)
		WS_FAIL_IF(*pos, err, CORRUPT, "%s: its padding is not 0", view->label);
	return WS_OK;
}

int ws_block_view_column(const struct ws_block_view *view, unsigned position)
{
	for (unsigned i = 0; i < view->header.ncolumns; i++)
		if (view->columns[i].position == (int)position)
			return (int)i;
	return -1;
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

enum ws_status ws_block_column_check(const struct ws_block_view *view, unsigned i,
                                     struct ws_err *err)
{
	const struct ws_block_column *c = &view->columns[i];
	const struct ws_dir_entry *e = &c->entry;
	int needs, k;

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
	unsigned carrier = ws_parameter_carrier(e->parameter);
	unsigned durations = ws_parameter_durations(e->parameter);
	needs = e->encoding == WS_ENCODING_BY_TOKEN || e->encoding == WS_ENCODING_RESIDUAL;
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
	COLUMN_FAIL_IF(e->compression == WS_COMPRESSION_NONE && e->stored_size != e->encoded_size,
	               CORRUPT,
	               "it is not compressed, but its sizes differ: %" PRIu32 " and %" PRIu32,
	               e->stored_size, e->encoded_size);
	COLUMN_FAIL_IF(!size_is_possible(e, view->header.rows), CORRUPT,
	               "%" PRIu32 " bytes cannot be %u rows of encoding %s", e->encoded_size,
	               view->header.rows, ws_encoding_name(e->encoding));
	return WS_OK;
}

/* --- decoding --- */

void ws_block_decoder_init(struct ws_block_decoder *d)
{
	*d = (struct ws_block_decoder){.z = ws_zframe_decoder_new(), .residual = ws_residual_new()};
	ws_tokens_init(&d->tokens, 0);
	d->values = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*d->values));
	d->carrier.v = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*d->carrier.v));
	d->durations.v = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*d->durations.v));
}

void ws_block_decoder_free(struct ws_block_decoder *d)
{
	ws_zframe_decoder_free(d->z);
	ws_buf_free(&d->scratch);
	ws_tokens_free(&d->tokens);
	free(d->residual);
	free(d->values);
	free(d->carrier.v);
	free(d->durations.v);
	memset(d, 0, sizeof(*d));
}

/* Adds the name of column i to the front of an error text. */
static enum ws_status of_column(const struct ws_block_view *view, unsigned i, enum ws_status status,
                                struct ws_err *err)
{
	char label[128];

	return status == WS_OK ? WS_OK
	                       : ws_err_prefix(err, status, "%s", column_label(label, view, i));
}

/* The encoded bytes of column i: *data points to where they are stored, or into d->scratch. */
static enum ws_status inflate(const struct ws_block_view *view, unsigned i,
                              struct ws_block_decoder *d, const uint8_t **data, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;

	*data = view->columns[i].stored;
	if (e->compression == WS_COMPRESSION_NONE)
		return WS_OK;
	d->scratch.len = 0;
	ws_buf_reserve(&d->scratch, e->encoded_size);
	WS_FORWARD(of_column(view, i,
	                     ws_zframe_decode(d->z, *data, e->stored_size, d->scratch.data,
	                                      e->encoded_size, err),
	                     err));
	*data = d->scratch.data;
	return WS_OK;
}

static bool is_kept(const struct ws_kept_column *kept, const struct ws_block_view *view, unsigned i)
{
	return kept->stored == view->columns[i].stored &&
	       kept->checksum == view->header.body_checksum;
}

static void keep(struct ws_kept_column *kept, const struct ws_block_view *view, unsigned i)
{
	kept->stored = view->columns[i].stored;
	kept->checksum = view->header.body_checksum;
}

/* Reads the tokens of column i into d->tokens and d->carrier, unless they are already there. */
static enum ws_status get_tokens(const struct ws_block_view *view, unsigned i,
                                 struct ws_block_decoder *d, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	const uint8_t *data;

	if (is_kept(&d->carrier, view, i))
		return WS_OK;
	d->carrier.stored = NULL;
	WS_FORWARD(ws_block_column_check(view, i, err));
	WS_FORWARD(inflate(view, i, d, &data, err));
	WS_FORWARD(of_column(view, i,
	                     ws_tokens_get(&d->tokens, e->type, data, e->encoded_size,
	                                   view->header.rows, d->carrier.v, err),
	                     err));
	keep(&d->carrier, view, i);
	return WS_OK;
}

/* The only column that carries tokens; -1 when there is none, or several. */
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
	d->carrier.stored = NULL;
	d->tokens.count = 0;
	return WS_OK;
}

/* Decode column i, which is a constant or by_token, to n values: n times the constant, or the
 * values of all n tokens. */
static enum ws_status decode_values(const struct ws_block_view *view, unsigned i,
                                    struct ws_block_decoder *d, uint32_t n, uint64_t *v,
                                    struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	enum ws_status status;
	const uint8_t *data;

	WS_FORWARD(inflate(view, i, d, &data, err));
	if (e->encoding == WS_ENCODING_CONSTANT)
		status = ws_codec_decode(e->encoding, e->type, data, e->encoded_size, n, v, err);
	else
		status = ws_tokens_get_values(&d->tokens, e->type, data, e->encoded_size, v, err);
	return of_column(view, i, status, err);
}

/* Decode a checked column, with the durations that its parameter names. */
static enum ws_status decode_with(const struct ws_block_view *view, unsigned i,
                                  struct ws_block_decoder *d, const uint64_t *durations,
                                  uint64_t *v, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	const unsigned carrier = ws_parameter_carrier(e->parameter);
	static const struct ws_tokens none;
	const struct ws_residual_how how = {.tokens = carrier ? &d->tokens : &none,
	                                    .durations = durations};
	const uint32_t rows = view->header.rows;
	enum ws_status status;
	const uint8_t *data;

	if (e->encoding == WS_ENCODING_TOKEN) {
		WS_FORWARD(get_tokens(view, i, d, err));
		ws_tokens_spread(&d->tokens, d->carrier.v, rows, v);
		return WS_OK;
	}
	if (carrier)
		WS_FORWARD(get_tokens(view, (unsigned)find_column(view, carrier), d, err));
	if (e->encoding == WS_ENCODING_BY_TOKEN) {
		WS_FORWARD(decode_values(view, i, d, rows, d->values, err));
		ws_tokens_spread(&d->tokens, d->values, rows, v);
		return WS_OK;
	}
	WS_FORWARD(inflate(view, i, d, &data, err));
	if (e->encoding == WS_ENCODING_RESIDUAL)
		status = ws_residual_get(d->residual, &how, data, e->encoded_size, rows, v, err);
	else
		status = ws_codec_decode(e->encoding, e->type, data, e->encoded_size, rows, v, err);
	return of_column(view, i, status, err);
}

enum ws_status ws_block_column_decode(const struct ws_block_view *view, unsigned i,
                                      struct ws_block_decoder *d, uint64_t *v, struct ws_err *err)
{
	const unsigned id = ws_parameter_durations(view->columns[i].entry.parameter);

	WS_FORWARD(ws_block_column_check(view, i, err));
	if (is_kept(&d->durations, view, i)) {
		memcpy(v, d->durations.v, view->header.rows * sizeof(*v));
		return WS_OK;
	}
	if (!id)
		return decode_with(view, i, d, NULL, v, err);
	unsigned from = (unsigned)find_column(view, id);
	if (!is_kept(&d->durations, view, from)) {
		d->durations.stored = NULL;
		WS_FORWARD(ws_block_column_check(view, from, err));
		WS_FORWARD(decode_with(view, from, d, NULL, d->durations.v, err));
		keep(&d->durations, view, from);
	}
	return decode_with(view, i, d, d->durations.v, v, err);
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
		memcpy(v, d->carrier.v, d->tokens.count * sizeof(*v));
		return WS_OK;
	}
	return decode_values(view, i, d, d->tokens.count, v, err);
}

enum ws_status ws_block_column_decode_blobs(const struct ws_block_view *view, unsigned i,
                                            struct ws_block_decoder *d, uint8_t *bytes,
                                            struct ws_bytes *b, struct ws_err *err)
{
	const struct ws_block_column *c = &view->columns[i];
	const struct ws_dir_entry *e = &c->entry;
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_block_column_check(view, i, err));
	if (e->compression == WS_COMPRESSION_NONE)
		memcpy(bytes, c->stored, e->encoded_size);
	else
		status = ws_zframe_decode(d->z, c->stored, e->stored_size, bytes, e->encoded_size,
		                          err);
	WS_THEN(status, ws_codec_decode_blobs(bytes, e->encoded_size, view->header.rows, b, err));
	return of_column(view, i, status, err);
}
