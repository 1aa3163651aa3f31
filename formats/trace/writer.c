#include "formats/trace/writer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "formats/codec/block.h"
#include "formats/base/checksum.h"
#include "formats/base/sink.h"
#include "formats/base/strtab.h"
#include "formats/trace/internal.h"
#include "formats/trace/map.h"
#include "formats/trace/reader.h"
#include "formats/base/grow.h"
#include "formats/trace/thread_events.h"

#define DEFAULT_ZSTD_LEVEL 1

enum state {
	STATE_OPEN,
	STATE_FAILED, /* rows are lost; failure says why */
	STATE_CLOSED,
};

struct ws_trace_writer {
	struct ws_sink sink;
	struct ws_block_encoder encoder;
	struct ws_buf block; /* being encoded */
	struct ws_row_buf pending[WS_KIND_END];
	uint8_t addable[WS_KIND_END]; /* kinds whose rows callers add */
	uint64_t rows[WS_KIND_END];
	uint64_t rows_lost;
	int64_t cpu_time_quantum_ns;
	uint64_t sequence;
	struct ws_row_index *blocks; /* written so far */
	size_t nblocks, blocks_capacity;
	struct ws_strtab strings, payloads, configs;
	struct ws_buf key; /* of a payload: schema, bytes */
	struct ws_thread_places *places;
	uint64_t *config_lanes; /* by launch_config id: what encoder.config_lanes is */
	size_t config_lanes_cap;
	enum state state;
	struct ws_err failure;
};

/* --- blocks --- */

/* All that is gathered is lost, and all that will come: the file ends with its last whole block. */
static enum ws_status fail_for_good(struct ws_trace_writer *w, const struct ws_err *cause,
                                    struct ws_err *err)
{
	w->state = STATE_FAILED;
	w->failure = *cause;
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		w->rows_lost += w->pending[kind].rows;
		ws_row_buf_clear(&w->pending[kind]);
	}
	if (err)
		*err = *cause;
	return cause->status;
}

static enum ws_status check_open(const struct ws_trace_writer *w, struct ws_err *err)
{
	if (w->state == STATE_FAILED && err)
		*err = w->failure;
	if (w->state == STATE_FAILED)
		return w->failure.status;
	WS_FAIL_IF(w->state == STATE_CLOSED, err, BUG, "the trace is closed");
	return WS_OK;
}

/* Remember a block for the index. */
static enum ws_status note_block(struct ws_trace_writer *w, const struct ws_row_index *row,
                                 struct ws_err *err)
{
	WS_FORWARD(WS_GROW(w->blocks, w->nblocks + 1, w->blocks_capacity, err));
	w->blocks[w->nblocks++] = *row;
	return WS_OK;
}

/* Encode and append the pending rows of a kind. */
static enum ws_status write_block(struct ws_trace_writer *w, unsigned kind, struct ws_err *err)
{
	struct ws_row_buf *rows = &w->pending[kind];
	struct ws_block_header header;
	struct ws_row_index row;

	WS_FORWARD(ws_block_encode(&w->encoder, rows, w->sequence, &w->block, &header, err));
	row = (struct ws_row_index){w->sink.size, header.kind, header.rows, header.time_min_ns,
	                            header.time_max_ns};
	WS_FORWARD(ws_sink_append(&w->sink, w->block.data, w->block.len, err));
	w->sequence++;
	ws_row_buf_clear(rows);
	return note_block(w, &row, err);
}

static bool is_thread_event(unsigned kind)
{
	return kind == WS_KIND_API || kind == WS_KIND_NVTX;
}

/* The pending api and nvtx rows as one block, where that is worth it; otherwise as one each. */
static enum ws_status write_thread_events(struct ws_trace_writer *w, struct ws_err *err)
{
	struct ws_row_buf *api = &w->pending[WS_KIND_API], *nvtx = &w->pending[WS_KIND_NVTX];
	struct ws_row_buf *both = &w->pending[WS_KIND_THREAD_EVENT];

	if (api->rows < WS_THREAD_EVENTS_MIN_ROWS || nvtx->rows < WS_THREAD_EVENTS_MIN_ROWS) {
		if (api->rows)
			WS_FORWARD(write_block(w, WS_KIND_API, err));
		return nvtx->rows ? write_block(w, WS_KIND_NVTX, err) : WS_OK;
	}
	if (!w->places)
		w->places = malloc(sizeof(*w->places));
	WS_FAIL_IF(!w->places, err, NO_MEMORY, "out of memory for merging rows");
	WS_FORWARD(ws_thread_events_merge(w->places, api, nvtx, both, err));
	ws_row_buf_clear(api);
	ws_row_buf_clear(nvtx);
	return write_block(w, WS_KIND_THREAD_EVENT, err);
}

/*
 * Write the pending rows of a kind, and before them those of all dictionaries
 * that it may refer to: data refers to any, a dictionary to those of lower id.
 */
static enum ws_status write_kind(struct ws_trace_writer *w, unsigned kind, struct ws_err *err)
{
	const unsigned end = ws_schema_kind(kind)->is_dict ? kind : WS_KIND_END;
	struct ws_err cause;

	for (unsigned k = 0; k < end; k++)
		if (w->pending[k].rows && w->pending[k].def->is_dict &&
		    write_block(w, k, &cause) != WS_OK)
			return fail_for_good(w, &cause, err);
	if (!w->pending[kind].rows)
		return WS_OK;
	if ((is_thread_event(kind) ? write_thread_events(w, &cause)
	                           : write_block(w, kind, &cause)) != WS_OK)
		return fail_for_good(w, &cause, err);
	return WS_OK;
}

/* Are the pending rows of a kind enough for a block? Those of api and nvtx share one. */
static bool is_full(const struct ws_trace_writer *w, unsigned kind)
{
	uint64_t rows = w->pending[kind].rows;

	if (is_thread_event(kind))
		rows = (uint64_t)w->pending[WS_KIND_API].rows + w->pending[WS_KIND_NVTX].rows;
	return rows >= WS_MAX_BLOCK_ROWS ||
	       (w->pending[kind].has_blobs && ws_row_buf_is_full(&w->pending[kind]));
}

/* Remember on which stream a launch configuration runs: kernels of one follow each other. */
static enum ws_status note_config(struct ws_trace_writer *w,
                                  const struct ws_row_launch_config *config, struct ws_err *err)
{
	const uint64_t stream[] = {config->pid, config->device, config->context, config->stream};
	uint64_t id = config->id;

	/* ids are counted; whoever leaves gaps gets one lane for what lies behind them */
	if (id > (w->encoder.config_count ? w->encoder.config_count : 1))
		return WS_OK;
	WS_FORWARD(WS_GROW(w->config_lanes, id + 1, w->config_lanes_cap, err));
	w->encoder.config_lanes = w->config_lanes;
	if (!w->encoder.config_count)
		w->config_lanes[w->encoder.config_count++] = 0; /* there is no id 0 */
	w->config_lanes[id] = ws_checksum(stream, sizeof(stream));
	if (id == w->encoder.config_count)
		w->encoder.config_count++;
	return WS_OK;
}

/* --- rows --- */

/* t to the nearest multiple; a time at the end of all times stays. */
static int64_t rounded(int64_t t, int64_t quantum)
{
	int64_t rest = t % quantum, up = rest < 0 ? rest + quantum : rest;
	int64_t to = up * 2 < quantum ? -up : quantum - up, sum;

	return __builtin_add_overflow(t, to, &sum) ? t : sum;
}

/* Begin and end are rounded, so that what follows on another still does. */
static void round_last_row(struct ws_trace_writer *w, enum ws_kind kind)
{
	const struct ws_row_buf *rows = &w->pending[kind];
	const uint32_t i = rows->rows - 1;
	uint64_t *time = &rows->columns[rows->def->time_column].v[i];
	int64_t begin = (int64_t)*time, end;

	*time = (uint64_t)rounded(begin, w->cpu_time_quantum_ns);
	if (kind == WS_KIND_API) {
		uint64_t *dur = &rows->columns[WS_COL_api_dur_ns].v[i];

		if (!__builtin_add_overflow(begin, (int64_t)*dur, &end))
			*dur = (uint64_t)rounded(end, w->cpu_time_quantum_ns) - *time;
	}
}

/* A row that could not be added: it is lost, or, where the caller is to blame, was never there. */
static enum ws_status add_failed(struct ws_trace_writer *w, const struct ws_err *cause,
                                 struct ws_err *err)
{
	if (cause->status == WS_NO_MEMORY) {
		w->rows_lost++;
		return fail_for_good(w, cause, err);
	}
	if (err)
		*err = *cause;
	return cause->status;
}

/* Any row; what nearly all are has a shorter way. */
static __attribute__((noinline)) enum ws_status
add_any(struct ws_trace_writer *w, enum ws_kind kind, const void *row, struct ws_err *err)
{
	enum ws_status status;
	struct ws_err cause;

	WS_FAIL_IF((unsigned)kind >= WS_KIND_END || !w->addable[kind], err, BUG,
	           "rows of kind %u cannot be added", (unsigned)kind);
	if (w->state != STATE_OPEN) {
		w->rows_lost++;
		return check_open(w, err);
	}
	status = ws_row_buf_add(&w->pending[kind], row, &cause);
	if (status == WS_OK && w->cpu_time_quantum_ns && is_thread_event(kind))
		round_last_row(w, kind);
	if (status == WS_OK && kind == WS_KIND_LAUNCH_CONFIG)
		status = note_config(w, row, &cause);
	if (status != WS_OK)
		return add_failed(w, &cause, err);
	w->rows[kind]++;
	return is_full(w, kind) ? write_kind(w, kind, err) : WS_OK;
}

enum ws_status ws_trace_writer_add(struct ws_trace_writer *w, enum ws_kind kind, const void *row,
                                   struct ws_err *err)
{
	struct ws_row_buf *rows = (unsigned)kind < WS_KIND_END ? &w->pending[kind] : NULL;

	if (!rows || rows->rows == rows->capacity || rows->has_blobs || w->state != STATE_OPEN ||
	    w->cpu_time_quantum_ns || kind == WS_KIND_LAUNCH_CONFIG || !w->addable[kind])
		return add_any(w, kind, row, err);
	ws_row_buf_put(rows, row);
	w->rows[kind]++;
	return is_full(w, kind) ? write_kind(w, kind, err) : WS_OK;
}

enum ws_status ws_trace_writer_meta(struct ws_trace_writer *w, const char *key, const char *value,
                                    struct ws_err *err)
{
	struct ws_row_meta row = {
	        .key = {key, strlen(key)},
	        .value = {value, strlen(value)},
	};

	return ws_trace_writer_add(w, WS_KIND_META, &row, err);
}

/* --- opening --- */

static enum ws_status new_writer(struct ws_trace_writer **out,
                                 const struct ws_trace_writer_opts *opts, struct ws_err *err)
{
	int level = opts->zstd_level ? opts->zstd_level : DEFAULT_ZSTD_LEVEL;
	struct ws_trace_writer *w = calloc(1, sizeof(*w));
	enum ws_status status;

	*out = NULL;
	WS_FAIL_IF(!w, err, NO_MEMORY, "out of memory for a trace writer");
	w->cpu_time_quantum_ns = opts->cpu_time_quantum_ns;
	ws_sink_open_mem(&w->sink);
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		w->pending[kind].def = ws_schema_kind(kind);
		w->addable[kind] = w->pending[kind].def && !ws_kind_is_made(kind);
	}
	status = ws_block_encoder_init(&w->encoder, level, err);
	if (status != WS_OK) {
		ws_trace_writer_free(w);
		return status;
	}
	*out = w;
	return WS_OK;
}

/* The file header and the schema block. */
static enum ws_status begin(struct ws_trace_writer *w, int64_t base_ns, struct ws_err *err)
{
	uint8_t header[WS_FILE_HEADER_BYTES];

	ws_file_header_put(header, base_ns);
	WS_FORWARD(ws_sink_append(&w->sink, header, sizeof(header), err));
	WS_FORWARD(ws_block_schema_rows(&w->pending[WS_KIND_SCHEMA], err));
	w->rows[WS_KIND_SCHEMA] = w->pending[WS_KIND_SCHEMA].rows;
	return write_block(w, WS_KIND_SCHEMA, err);
}

static enum ws_status create(struct ws_trace_writer **out, const char *path,
                             const struct ws_trace_writer_opts *opts, struct ws_err *err)
{
	struct ws_trace_writer *w;
	enum ws_status status;

	*out = NULL;
	WS_FORWARD(new_writer(&w, opts, err));
	status = path ? ws_sink_create(&w->sink, path, err) : WS_OK;
	if (status == WS_OK)
		status = begin(w, opts->base_ns, err);
	if (status == WS_OK)
		status = ws_sink_reserve(&w->sink, opts->reserve_bytes, err);
	if (status != WS_OK) {
		ws_trace_writer_free(w);
		return status;
	}
	*out = w;
	return WS_OK;
}

enum ws_status ws_trace_writer_create(struct ws_trace_writer **out, const char *path,
                                      const struct ws_trace_writer_opts *opts, struct ws_err *err)
{
	return create(out, path, opts, err);
}

enum ws_status ws_trace_writer_create_mem(struct ws_trace_writer **out,
                                          const struct ws_trace_writer_opts *opts,
                                          struct ws_err *err)
{
	return create(out, NULL, opts, err);
}

/* --- dictionaries --- */

/* The bytes that a payload is interned by, in w->key. */
static enum ws_status payload_key(struct ws_trace_writer *w, uint64_t schema, const void *bytes,
                                  size_t len, struct ws_err *err)
{
	w->key.len = 0;
	WS_FORWARD(ws_buf_put(&w->key, &schema, sizeof(schema), err));
	return ws_buf_put(&w->key, bytes, len, err);
}

/* The bytes that a configuration is interned by: all of it but its id, which comes first. */
#define CONFIG_KEY_BYTES (sizeof(struct ws_row_launch_config) - sizeof(uint64_t))
_Static_assert(offsetof(struct ws_row_launch_config, id) == 0 &&
                       sizeof(struct ws_row_launch_config) ==
                               WS_NCOLS_launch_config * sizeof(uint64_t),
               "the id is the first of equal-sized fields without padding");

enum ws_status ws_trace_writer_intern(struct ws_trace_writer *w, const void *text, size_t len,
                                      uint64_t *id, struct ws_err *err)
{
	struct ws_row_string row = {.text = {text, len}};

	*id = len ? ws_strtab_find(&w->strings, text, len) : 0;
	if (*id || !len)
		return WS_OK;
	WS_FORWARD(check_open(w, err));
	WS_FAIL_IF(len > WS_MAX_BLOB_BYTES, err, BUG, "a text has %zu bytes, over the limit of %u",
	           len, WS_MAX_BLOB_BYTES);
	WS_FORWARD(ws_strtab_add(&w->strings, text, len, id, err));
	row.id = *id;
	return ws_trace_writer_add(w, WS_KIND_STRING, &row, err);
}

enum ws_status ws_trace_writer_intern_payload(struct ws_trace_writer *w, uint64_t schema,
                                              const void *bytes, size_t len, uint64_t *id,
                                              struct ws_err *err)
{
	struct ws_row_payload row = {.schema = schema, .bytes = {bytes, len}};

	*id = 0;
	WS_FAIL_IF(len > WS_MAX_BLOB_BYTES, err, BUG,
	           "a payload has %zu bytes, over the limit of %u", len, WS_MAX_BLOB_BYTES);
	WS_FORWARD(payload_key(w, schema, bytes, len, err));
	*id = ws_strtab_find(&w->payloads, w->key.data, w->key.len);
	if (*id)
		return WS_OK;
	WS_FORWARD(check_open(w, err));
	WS_FORWARD(ws_strtab_add(&w->payloads, w->key.data, w->key.len, id, err));
	row.id = *id;
	return ws_trace_writer_add(w, WS_KIND_PAYLOAD, &row, err);
}

enum ws_status ws_trace_writer_intern_config(struct ws_trace_writer *w,
                                             const struct ws_row_launch_config *config,
                                             uint64_t *id, struct ws_err *err)
{
	struct ws_row_launch_config row = *config;
	const void *key = (const uint8_t *)&row + sizeof(row.id);

	*id = ws_strtab_find(&w->configs, key, CONFIG_KEY_BYTES);
	if (*id)
		return WS_OK;
	WS_FORWARD(check_open(w, err));
	WS_FORWARD(ws_strtab_add(&w->configs, key, CONFIG_KEY_BYTES, id, err));
	row.id = *id;
	return ws_trace_writer_add(w, WS_KIND_LAUNCH_CONFIG, &row, err);
}

/* --- going on with a file --- */

/* Put the bytes that row i of a dictionary was interned by into w->key. */
typedef enum ws_status (*key_fn)(struct ws_trace_writer *w, const struct ws_table_data *t,
                                 uint64_t i, struct ws_err *err);

static enum ws_status string_row_key(struct ws_trace_writer *w, const struct ws_table_data *t,
                                     uint64_t i, struct ws_err *err)
{
	const struct ws_bytes *text = &t->columns[WS_COL_string_text].b[i];

	w->key.len = 0;
	return ws_buf_put(&w->key, text->ptr, text->len, err);
}

static enum ws_status payload_row_key(struct ws_trace_writer *w, const struct ws_table_data *t,
                                      uint64_t i, struct ws_err *err)
{
	const struct ws_bytes *bytes = &t->columns[WS_COL_payload_bytes].b[i];

	return payload_key(w, t->columns[WS_COL_payload_schema].v[i], bytes->ptr, bytes->len, err);
}

static enum ws_status config_row_key(struct ws_trace_writer *w, const struct ws_table_data *t,
                                     uint64_t i, struct ws_err *err)
{
	const struct ws_column *column = t->columns;
	const struct ws_row_launch_config config = {
	        .id = column[WS_COL_launch_config_id].v[i],
	        .pid = column[WS_COL_launch_config_pid].v[i],
	        .device = column[WS_COL_launch_config_device].v[i],
	        .context = column[WS_COL_launch_config_context].v[i],
	        .stream = column[WS_COL_launch_config_stream].v[i],
	};

	WS_FORWARD(note_config(w, &config, err));
	w->key.len = 0;
	for (unsigned c = 1; c < WS_NCOLS_launch_config; c++)
		WS_FORWARD(ws_buf_put(&w->key, &t->columns[c].v[i], sizeof(uint64_t), err));
	return WS_OK;
}

/* Interned rows of the file, so that their ids go on. The id is their first column. */
static enum ws_status load_dict(struct ws_trace_writer *w, const struct ws_trace_reader *r,
                                enum ws_kind kind, struct ws_strtab *tab, key_fn key,
                                struct ws_err *err)
{
	enum ws_status status;
	struct ws_table_data t;

	WS_FORWARD(ws_trace_reader_load(r, kind, &t, err));
	status = WS_OK;
	for (unsigned c = 0; t.rows && status == WS_OK && c < t.def->ncolumns; c++)
		if (!t.columns[c].present)
			status = WS_FAIL(err, CORRUPT, "%s rows lack the column %s", t.def->name,
			                 t.def->columns[c].name);
	for (uint64_t i = 0; status == WS_OK && i < t.rows; i++) {
		status = key(w, &t, i, err);
		if (status == WS_OK)
			status = ws_strtab_load(tab, w->key.data, w->key.len, t.columns[0].v[i],
			                        err);
	}
	ws_table_data_release(&t);
	return status;
}

static enum ws_status take_over_blocks(struct ws_trace_writer *w, const struct ws_trace_reader *r,
                                       struct ws_err *err)
{
	const struct ws_walk *walk = ws_trace_reader_walk(r);

	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++)
		if (ws_schema_kind(ws_trace_reader_block(r, i)->kind))
			w->rows[ws_trace_reader_block(r, i)->kind] +=
			        ws_trace_reader_block(r, i)->rows;
	for (size_t i = 0; i < walk->nblocks; i++) {
		const struct ws_block_info *b = &walk->blocks[i];
		struct ws_row_index row = {b->offset, b->kind, b->rows, b->time_min_ns,
		                           b->time_max_ns};

		WS_FAIL_IF(b->kind == WS_KIND_INDEX, err, USAGE,
		           "the trace has an index: it is complete and cannot be continued");
		WS_FORWARD(note_block(w, &row, err));
		if (b->sequence >= w->sequence)
			w->sequence = b->sequence + 1;
	}
	return WS_OK;
}

static enum ws_status load_dicts(struct ws_trace_writer *w, const struct ws_trace_reader *r,
                                 struct ws_err *err)
{
	WS_FORWARD(load_dict(w, r, WS_KIND_STRING, &w->strings, string_row_key, err));
	WS_FORWARD(load_dict(w, r, WS_KIND_PAYLOAD, &w->payloads, payload_row_key, err));
	return load_dict(w, r, WS_KIND_LAUNCH_CONFIG, &w->configs, config_row_key, err);
}

/* Become the writer that wrote these bytes. */
static enum ws_status take_over(struct ws_trace_writer *w, const void *data, size_t size,
                                int with_dicts, struct ws_err *err)
{
	const struct ws_trace_summary *s;
	struct ws_trace_reader *r;
	enum ws_status status;

	WS_FORWARD(ws_trace_reader_open_mem(&r, data, size, err));
	s = ws_trace_reader_summary(r);
	if (s->skipped_bytes || !s->blocks)
		status = WS_FAIL(err, CORRUPT,
		                 "%" PRIu64 " of the first %zu bytes are no whole blocks",
		                 s->skipped_bytes, size);
	else
		status = take_over_blocks(w, r, err);
	if (status == WS_OK && with_dicts)
		status = load_dicts(w, r, err);
	ws_trace_reader_free(r);
	return status;
}

static enum ws_status take_over_file(struct ws_trace_writer *w, const char *path, uint64_t size,
                                     int with_dicts, struct ws_err *err)
{
	struct ws_trace_map map;
	struct ws_err cause;
	enum ws_status status;

	WS_FORWARD(ws_trace_map_open(&map, path, err));
	if (map.size < size)
		status = WS_FAIL(&cause, CORRUPT, "it has %zu bytes, fewer than %" PRIu64, map.size,
		                 size);
	else
		status = take_over(w, map.data, (size_t)size, with_dicts, &cause);
	ws_trace_map_close(&map);
	if (status != WS_OK)
		return ws_fail(err, status, cause.file, cause.line, "cannot continue %s: %s", path,
		               cause.text);
	return ws_sink_resume(&w->sink, path, size, err);
}

static enum ws_status resume(struct ws_trace_writer **out, const char *path, uint64_t size,
                             const struct ws_trace_writer_opts *opts, int with_dicts,
                             struct ws_err *err)
{
	struct ws_trace_writer *w;
	enum ws_status status;

	*out = NULL;
	WS_FORWARD(new_writer(&w, opts, err));
	status = take_over_file(w, path, size, with_dicts, err);
	if (status == WS_OK)
		status = ws_sink_reserve(&w->sink, opts->reserve_bytes, err);
	if (status != WS_OK) {
		ws_trace_writer_free(w);
		return status;
	}
	*out = w;
	return WS_OK;
}

enum ws_status ws_trace_writer_resume(struct ws_trace_writer **out, const char *path, uint64_t size,
                                      const struct ws_trace_writer_opts *opts, struct ws_err *err)
{
	return resume(out, path, size, opts, 1, err);
}

enum ws_status ws_trace_writer_resume_raw(struct ws_trace_writer **out, const char *path,
                                          uint64_t size, struct ws_err *err)
{
	const struct ws_trace_writer_opts opts = {0};

	return resume(out, path, size, &opts, 0, err);
}

/* --- finishing --- */

enum ws_status ws_trace_writer_flush(struct ws_trace_writer *w, struct ws_err *err)
{
	WS_FORWARD(check_open(w, err));
	/* a dictionary comes before the data that uses it, each in the order of ids */
	for (int dict = 1; dict >= 0; dict--)
		for (unsigned kind = 0; kind < WS_KIND_END; kind++)
			if (w->pending[kind].rows && w->pending[kind].def->is_dict == dict)
				WS_FORWARD(write_kind(w, kind, err));
	return WS_OK;
}

/* One row for each block so far, in as many index blocks as that takes, then the trailer. */
static enum ws_status write_index(struct ws_trace_writer *w, struct ws_err *err)
{
	struct ws_trailer trailer = {.index_offset = w->sink.size};
	struct ws_row_buf *rows = &w->pending[WS_KIND_INDEX];
	const size_t n = w->nblocks;
	uint8_t bytes[WS_TRAILER_BYTES];

	for (size_t i = 0; i < n; i++) {
		WS_FORWARD(ws_row_buf_add(rows, &w->blocks[i], err));
		w->rows[WS_KIND_INDEX]++;
		if (ws_row_buf_is_full(rows) || i + 1 == n)
			WS_FORWARD(write_block(w, WS_KIND_INDEX, err));
	}
	trailer.file_size = w->sink.size + sizeof(bytes);
	ws_trailer_put(bytes, &trailer);
	return ws_sink_append(&w->sink, bytes, sizeof(bytes), err);
}

enum ws_status ws_trace_writer_last_words(struct ws_trace_writer *w, const struct ws_row_loss *rows,
                                          size_t n, struct ws_err *err)
{
	if (w->state != STATE_FAILED || w->failure.status != WS_IO_WRITE || !w->sink.reserve)
		return WS_OK;
	w->sink.reserve = 1;
	for (size_t i = 0; i < n; i++)
		WS_FORWARD(ws_row_buf_add(&w->pending[WS_KIND_LOSS], &rows[i], err));
	return write_block(w, WS_KIND_LOSS, err);
}

enum ws_status ws_trace_writer_close(struct ws_trace_writer *w, struct ws_err *err)
{
	enum ws_status status = ws_trace_writer_flush(w, err);
	struct ws_err cause;

	if (status == WS_OK)
		status = write_index(w, err);
	if (ws_sink_close(&w->sink, &cause) != WS_OK && status == WS_OK) {
		status = cause.status;
		if (err)
			*err = cause;
	}
	w->state = STATE_CLOSED;
	return status;
}

struct ws_bytes ws_trace_writer_mem(const struct ws_trace_writer *w)
{
	return (struct ws_bytes){w->sink.mem.data, w->sink.mem.len};
}

uint64_t ws_trace_writer_size(const struct ws_trace_writer *w)
{
	return w->sink.size;
}

uint64_t ws_trace_writer_rows_lost(const struct ws_trace_writer *w)
{
	return w->rows_lost;
}

uint64_t ws_trace_writer_rows(const struct ws_trace_writer *w, enum ws_kind kind)
{
	return kind < WS_KIND_END ? w->rows[kind] : 0;
}

void ws_trace_writer_free(struct ws_trace_writer *w)
{
	if (!w)
		return;
	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		ws_row_buf_free(&w->pending[kind]);
	ws_strtab_free(&w->strings);
	ws_strtab_free(&w->payloads);
	ws_strtab_free(&w->configs);
	ws_block_encoder_free(&w->encoder);
	ws_buf_free(&w->block);
	ws_buf_free(&w->key);
	ws_sink_free(&w->sink);
	free(w->places);
	free(w->config_lanes);
	free(w->blocks);
	free(w);
}
