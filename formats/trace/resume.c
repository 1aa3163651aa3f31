/*
 * Dictionaries of a trace that is written: rows that are the same have one
 * id, also where writing goes on with a file.
 */
#include <inttypes.h>

#include "formats/trace/map.h"
#include "formats/trace/reader.h"
#include "formats/trace/writer_private.h"

/* The bytes that a payload is interned by, in w->key. */
static void payload_key(struct ws_trace_writer *w, uint64_t schema, const void *bytes, size_t len)
{
	w->key.len = 0;
	ws_buf_put(&w->key, &schema, sizeof(schema));
	ws_buf_put(&w->key, bytes, len);
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
	WS_FORWARD(ws_trace_writer_check_open(w, err));
	*id = ws_strtab_add(&w->strings, text, len);
	row.id = *id;
	return ws_trace_writer_add(w, WS_KIND_STRING, &row, err);
}

enum ws_status ws_trace_writer_intern_payload(struct ws_trace_writer *w, uint64_t schema,
                                              const void *bytes, size_t len, uint64_t *id,
                                              struct ws_err *err)
{
	struct ws_row_payload row = {.schema = schema, .bytes = {bytes, len}};

	*id = 0;
	payload_key(w, schema, bytes, len);
	*id = ws_strtab_find(&w->payloads, w->key.data, w->key.len);
	if (*id)
		return WS_OK;
	WS_FORWARD(ws_trace_writer_check_open(w, err));
	*id = ws_strtab_add(&w->payloads, w->key.data, w->key.len);
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
	WS_FORWARD(ws_trace_writer_check_open(w, err));
	*id = ws_strtab_add(&w->configs, key, CONFIG_KEY_BYTES);
	row.id = *id;
	return ws_trace_writer_add(w, WS_KIND_LAUNCH_CONFIG, &row, err);
}

/* --- going on with a file --- */

/* Put the bytes that row i of a dictionary was interned by into w->key. */
typedef void (*key_fn)(struct ws_trace_writer *w, const struct ws_column_data *t, uint64_t i);

static void string_row_key(struct ws_trace_writer *w, const struct ws_column_data *t, uint64_t i)
{
	const struct ws_bytes *text = &t->columns[WS_COL_string_text].b[i];

	w->key.len = 0;
	ws_buf_put(&w->key, text->ptr, text->len);
}

static void payload_row_key(struct ws_trace_writer *w, const struct ws_column_data *t, uint64_t i)
{
	const struct ws_bytes *bytes = &t->columns[WS_COL_payload_bytes].b[i];

	payload_key(w, t->columns[WS_COL_payload_schema].v[i], bytes->ptr, bytes->len);
}

static void config_row_key(struct ws_trace_writer *w, const struct ws_column_data *t, uint64_t i)
{
	const struct ws_column *column = t->columns;
	const struct ws_row_launch_config config = {
	        .id = column[WS_COL_launch_config_id].v[i],
	        .pid = column[WS_COL_launch_config_pid].v[i],
	        .device = column[WS_COL_launch_config_device].v[i],
	        .context = column[WS_COL_launch_config_context].v[i],
	        .stream = column[WS_COL_launch_config_stream].v[i],
	};

	ws_trace_writer_note_config(w, &config);
	w->key.len = 0;
	for (unsigned c = 1; c < WS_NCOLS_launch_config; c++)
		ws_buf_put(&w->key, &t->columns[c].v[i], sizeof(uint64_t));
}

/* Interned rows of the file, so that their ids go on. The id is their first column. */
static enum ws_status load_dict(struct ws_trace_writer *w, const struct ws_trace_reader *r,
                                enum ws_kind kind, struct ws_strtab *tab, key_fn key,
                                struct ws_err *err)
{
	enum ws_status status;
	struct ws_column_data t;

	WS_FORWARD(ws_trace_reader_load(r, kind, &t, err));
	status = WS_OK;
	for (unsigned c = 0; t.rows && status == WS_OK && c < t.def->ncolumns; c++)
		if (!t.columns[c].present)
			status = WS_FAIL(err, CORRUPT, "%s rows lack the column %s", t.def->name,
			                 t.def->columns[c].name);
	for (uint64_t i = 0; status == WS_OK && i < t.rows; i++) {
		key(w, &t, i);
		status = ws_strtab_load(tab, w->key.data, w->key.len, t.columns[0].v[i], err);
	}
	ws_column_data_release(&t);
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
		ws_trace_writer_note_block(w, &row);
		if (b->sequence >= w->sequence)
			w->sequence = b->sequence + 1;
	}
	return WS_OK;
}

/* Become the writer that wrote these bytes. */
static enum ws_status take_over(struct ws_trace_writer *w, const void *data, size_t size,
                                struct ws_err *err)
{
	const struct ws_trace_summary *s;
	struct ws_trace_reader *r;
	enum ws_status status;

	WS_FORWARD(ws_trace_reader_open_mem(&r, data, size, err));
	s = ws_trace_reader_summary(r);
	if (s->skipped_bytes || !s->blocks)
		status = WS_FAIL(err, CORRUPT,
		                 "%" PRIu64 " of the first %zu bytes are not whole blocks",
		                 s->skipped_bytes, size);
	else
		status = take_over_blocks(w, r, err);
	WS_THEN(status, load_dict(w, r, WS_KIND_STRING, &w->strings, string_row_key, err));
	WS_THEN(status, load_dict(w, r, WS_KIND_PAYLOAD, &w->payloads, payload_row_key, err));
	WS_THEN(status, load_dict(w, r, WS_KIND_LAUNCH_CONFIG, &w->configs, config_row_key, err));
	ws_trace_reader_free(r);
	return status;
}

/* What the sink has open is read, whatever its name stands for by now. */
static enum ws_status take_over_file(struct ws_trace_writer *w, uint64_t size, struct ws_err *err)
{
	struct ws_trace_map map;
	struct ws_err cause;
	enum ws_status status;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", w->sink.fd);
	WS_FORWARD(ws_trace_map_open(&map, path, err));
	if (map.size < size)
		status = WS_FAIL(&cause, CORRUPT, "it has %zu bytes, fewer than %" PRIu64, map.size,
		                 size);
	else
		status = take_over(w, map.data, (size_t)size, &cause);
	ws_trace_map_close(&map);
	if (status != WS_OK)
		return ws_fail(err, status, cause.file, cause.line, "cannot continue %s: %s",
		               w->sink.path, cause.text);
	return ws_sink_cut(&w->sink, size, err);
}

enum ws_status ws_trace_writer_resume(struct ws_trace_writer **out, int fd, const char *path,
                                      uint64_t size, const struct ws_trace_writer_opts *opts,
                                      struct ws_err *err)
{
	struct ws_trace_writer *w = ws_trace_writer_new(opts);
	enum ws_status status = ws_sink_open_fd(&w->sink, fd, path, err);

	WS_THEN(status, take_over_file(w, size, err));
	WS_THEN(status, ws_sink_reserve(&w->sink, opts->reserve_bytes, err));
	*out = status == WS_OK ? w : NULL;
	if (status != WS_OK)
		ws_trace_writer_free(w);
	return status;
}
