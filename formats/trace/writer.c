#include "formats/trace/writer.h"

#include <stdlib.h>
#include <unistd.h>

#include "formats/base/checksum.h"
#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "formats/trace/writer_private.h"

#define DEFAULT_ZSTD_LEVEL 1

/* --- blocks --- */

/* All that is gathered is lost, and all that will come: the file ends with its last whole block. */
static enum ws_status fail_for_good(struct ws_trace_writer *w, const struct ws_err *cause,
                                    struct ws_err *err)
{
	w->state = STATE_FAILED;
	w->failure = *cause;
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		if (ws_kind_is_event(kind))
			w->rows_lost += w->pending[kind].rows;
		ws_row_buf_clear(&w->pending[kind]);
	}
	if (err)
		*err = *cause;
	return cause->status;
}

enum ws_status ws_trace_writer_check_open(const struct ws_trace_writer *w, struct ws_err *err)
{
	if (w->state == STATE_FAILED && err)
		*err = w->failure;
	if (w->state == STATE_FAILED)
		return w->failure.status;
	WS_FAIL_IF(w->state == STATE_CLOSED, err, BUG, "the trace is closed");
	return WS_OK;
}

/* Remember a block for the index. */
void ws_trace_writer_note_block(struct ws_trace_writer *w, const struct ws_row_index *row)
{
	WS_GROW(w->blocks, w->nblocks + 1, w->blocks_capacity);
	w->blocks[w->nblocks++] = *row;
}

/* Encode and append the pending rows of a kind. */
static enum ws_status write_block(struct ws_trace_writer *w, unsigned kind, struct ws_err *err)
{
	struct ws_row_buf *rows = &w->pending[kind];
	struct ws_block_header header;
	struct ws_row_index row;

	ws_block_encode(&w->encoder, rows, w->sequence, &w->block, &header);
	row = (struct ws_row_index){w->sink.size, header.kind, header.rows, header.time_min_ns,
	                            header.time_max_ns};
	WS_FORWARD(ws_sink_append(&w->sink, w->block.data, w->block.len, err));
	w->sequence++;
	ws_row_buf_clear(rows);
	ws_trace_writer_note_block(w, &row);
	return WS_OK;
}

static bool is_thread_event(unsigned kind)
{
	return kind == WS_KIND_API || kind == WS_KIND_NVTX;
}

/* The pending api and nvtx rows as one block. */
static enum ws_status write_thread_events(struct ws_trace_writer *w, struct ws_err *err)
{
	struct ws_row_buf *api = &w->pending[WS_KIND_API], *nvtx = &w->pending[WS_KIND_NVTX];
	struct ws_row_buf *both = &w->pending[WS_KIND_THREAD_EVENT];

	ws_thread_events_merge(api, nvtx, both);
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
	if (!(is_thread_event(kind) ? w->pending[WS_KIND_API].rows + w->pending[WS_KIND_NVTX].rows
	                            : w->pending[kind].rows))
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
	return rows >= WS_MAX_BLOCK_ROWS || ws_row_buf_is_full(&w->pending[kind]);
}

/* Remember on which stream a launch configuration runs: kernels of one follow each other. */
void ws_trace_writer_note_config(struct ws_trace_writer *w,
                                 const struct ws_row_launch_config *config)
{
	const uint64_t stream[] = {config->pid, config->device, config->context, config->stream};
	uint64_t id = config->id;

	/* ids are counted; whoever leaves gaps gets one lane for what lies behind them */
	if (id > (w->encoder.config_count ? w->encoder.config_count : 1))
		return;
	WS_GROW(w->config_lanes, id + 1, w->config_lanes_capacity);
	w->encoder.config_lanes = w->config_lanes;
	if (!w->encoder.config_count)
		w->config_lanes[w->encoder.config_count++] = 0; /* there is no id 0 */
	w->config_lanes[id] = ws_checksum(stream, sizeof(stream));
	if (id == w->encoder.config_count)
		w->encoder.config_count++;
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

enum ws_status ws_trace_writer_add(struct ws_trace_writer *w, enum ws_kind kind, const void *row,
                                   struct ws_err *err)
{
	WS_FAIL_IF((unsigned)kind >= WS_KIND_END || !w->addable[kind], err, BUG,
	           "rows of kind %u cannot be added", (unsigned)kind);
	if (w->state != STATE_OPEN) {
		w->rows_lost += ws_kind_is_event(kind);
		return ws_trace_writer_check_open(w, err);
	}
	ws_row_buf_add(&w->pending[kind], row);
	if (w->cpu_time_quantum_ns && is_thread_event(kind))
		round_last_row(w, kind);
	if (kind == WS_KIND_LAUNCH_CONFIG)
		ws_trace_writer_note_config(w, row);
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

struct ws_trace_writer *ws_trace_writer_new(const struct ws_trace_writer_opts *opts)
{
	int level = opts->zstd_level ? opts->zstd_level : DEFAULT_ZSTD_LEVEL;
	struct ws_trace_writer *w = ws_xarray(1, sizeof(*w));

	w->cpu_time_quantum_ns = opts->cpu_time_quantum_ns;
	ws_sink_open_mem(&w->sink);
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		w->pending[kind].def = ws_schema_kind(kind);
		w->addable[kind] = w->pending[kind].def && !ws_kind_is_made(kind);
	}
	ws_block_encoder_init(&w->encoder, level);
	return w;
}

/* The file header and the schema block. */
static enum ws_status begin(struct ws_trace_writer *w, int64_t base_ns, struct ws_err *err)
{
	uint8_t header[WS_FILE_HEADER_BYTES];

	ws_file_header_put(header, base_ns);
	WS_FORWARD(ws_sink_append(&w->sink, header, sizeof(header), err));
	ws_block_schema_rows(&w->pending[WS_KIND_SCHEMA]);
	w->rows[WS_KIND_SCHEMA] = w->pending[WS_KIND_SCHEMA].rows;
	return write_block(w, WS_KIND_SCHEMA, err);
}

enum ws_status ws_trace_writer_create(struct ws_trace_writer **out, int fd, const char *path,
                                      const struct ws_trace_writer_opts *opts, struct ws_err *err)
{
	struct ws_trace_writer *w = ws_trace_writer_new(opts);
	enum ws_status status = path ? ws_sink_open_fd(&w->sink, fd, path, err) : WS_OK;

	*out = NULL;
	WS_THEN(status, begin(w, opts->base_ns, err));
	WS_THEN(status, ws_sink_reserve(&w->sink, opts->reserve_bytes, err));
	if (status != WS_OK) {
		ws_trace_writer_free(w);
		return status;
	}
	*out = w;
	return WS_OK;
}

enum ws_status ws_trace_writer_create_mem(struct ws_trace_writer **out,
                                          const struct ws_trace_writer_opts *opts,
                                          struct ws_err *err)
{
	return ws_trace_writer_create(out, -1, NULL, opts, err);
}

/* --- finishing --- */

enum ws_status ws_trace_writer_flush(struct ws_trace_writer *w, struct ws_err *err)
{
	WS_FORWARD(ws_trace_writer_check_open(w, err));
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
	const uint64_t index_offset = w->sink.size;
	struct ws_row_buf *rows = &w->pending[WS_KIND_INDEX];
	const size_t n = w->nblocks;
	uint8_t bytes[WS_TRAILER_BYTES];

	for (size_t i = 0; i < n; i++) {
		ws_row_buf_add(rows, &w->blocks[i]);
		w->rows[WS_KIND_INDEX]++;
		if (ws_row_buf_is_full(rows) || i + 1 == n)
			WS_FORWARD(write_block(w, WS_KIND_INDEX, err));
	}
	ws_trailer_put(bytes, index_offset, w->sink.size + sizeof(bytes));
	return ws_sink_append(&w->sink, bytes, sizeof(bytes), err);
}

enum ws_status ws_trace_writer_last_words(struct ws_trace_writer *w, const struct ws_row_loss *rows,
                                          size_t n, struct ws_err *err)
{
	if (w->state != STATE_FAILED || w->failure.status != WS_IO_WRITE || !w->sink.reserve)
		return WS_OK;
	w->sink.reserve = 1;
	for (size_t i = 0; i < n; i++)
		ws_row_buf_add(&w->pending[WS_KIND_LOSS], &rows[i]);
	return write_block(w, WS_KIND_LOSS, err);
}

enum ws_status ws_trace_writer_close(struct ws_trace_writer *w, struct ws_err *err)
{
	enum ws_status status = ws_trace_writer_flush(w, err);
	struct ws_err cause;

	WS_THEN(status, write_index(w, err));
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
	free(w->config_lanes);
	free(w->blocks);
	free(w);
}
