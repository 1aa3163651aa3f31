#include "formats/trace/writer.h"

#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/trace/internal.h"

#define DEFAULT_ZSTD_LEVEL 1
#define DROP_ALIGN         ((uint64_t)1 << 20) /* a multiple of a file system's blocks */

/* --- the file that it writes, or memory --- */

/* An append is whole or leaves nothing behind. */
struct sink {
	int fd;            /* -1 = memory */
	char *path;        /* for messages; NULL = memory */
	struct ws_buf mem; /* data appended in memory */
	uint64_t size;     /* bytes appended */
	bool can_cut;     /* it is a regular file of our own, whose unfinished end can be cut off */
	uint64_t reserve; /* bytes of disk space to keep free behind the end, if it can be cut */
};

/* Opens the file of fd again, with a new descriptor. path is for messages. */
static enum ws_status open_sink(struct sink *s, int fd, const char *path, struct ws_err *err)
{
	struct ws_file_info info;

	s->fd = ws_file_copy_handle(fd, false);
	WS_FAIL_IF(s->fd < 0, err, IO_WRITE, "cannot open %s: %s", path, strerror(errno));
	s->path = ws_xstrdup(path);
	/* a file that another program opened, as a shell does stdout, may hold more than ours */
	s->can_cut = ws_own_file_descriptor(path) < 0 && !ws_file_look(s->fd, NULL, false, &info) &&
	             info.type == WS_FILE_REGULAR;
	return WS_OK;
}

/* Allocates space for the next blocks and for the reserve after them. */
static enum ws_status keep_room(struct sink *s, size_t len, struct ws_err *err)
{
	if (!ws_file_reserve(s->fd, s->size, len + s->reserve))
		return WS_OK;
	if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
		return WS_FAIL(err, IO_WRITE, "cannot write to %s: %s", s->path, strerror(errno));
	s->reserve = 0; /* a device, a pipe, a file system that cannot */
	return WS_OK;
}

static enum ws_status append(struct sink *s, const void *bytes, size_t len, struct ws_err *err)
{
	const uint8_t *p = bytes;
	size_t left = len;

	if (s->fd < 0) {
		ws_buf_put(&s->mem, bytes, len);
		s->size += len;
		return WS_OK;
	}
	if (s->reserve)
		WS_FORWARD(keep_room(s, len, err));
	while (left) {
		ssize_t n = write(s->fd, p, left);
		int cause = errno;

		if (n < 0 && cause == EINTR)
			continue;
		if (n < 0) {
			/* if this fails, too: a reader skips half a block */
			if (left != len && s->can_cut && !ftruncate(s->fd, (off_t)s->size))
				lseek(s->fd, (off_t)s->size, SEEK_SET);
			return WS_FAIL(err, IO_WRITE, "cannot write to %s: %s", s->path,
			               strerror(cause));
		}
		p += n;
		left -= (size_t)n;
	}
	s->size += len;
	return WS_OK;
}

/* Make a file durable and close it; memory stays. */
static enum ws_status close_sink(struct sink *s, struct ws_err *err)
{
	int cause = 0;

	if (s->fd < 0)
		return WS_OK;
	/* give back the space behind the end */
	if (s->reserve && ftruncate(s->fd, (off_t)s->size))
		cause = errno;
	/* some files cannot be synced, such as /dev/null */
	if (ws_file_sync(s->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
		cause = errno;
	if (close(s->fd) != 0 && !cause)
		cause = errno;
	s->fd = -1;
	WS_FAIL_IF(cause, err, IO_WRITE, "cannot write to %s: %s", s->path, strerror(cause));
	return WS_OK;
}

struct ws_trace_writer {
	struct sink sink;
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
	/* of a file with pieces: where they begin, and what each repeats */
	bool has_pieces;
	struct piece {
		uint64_t offset;
		int64_t time_ns;
	} * pieces;
	size_t npieces, pieces_capacity;
	uint64_t pieces_from; /* where the first one of all began */
	struct definitions {
		struct ws_row_buf *blocks; /* all but the last are full */
		size_t n, capacity;
	} definitions[WS_KIND_END];
	int64_t base_ns;
	struct ws_strtab strings, payloads, configs;
	struct ws_buf key;      /* the bytes that a dictionary row is interned by */
	uint64_t *config_lanes; /* by launch_config id: what encoder.config_lanes is */
	size_t config_lanes_capacity;
	enum {
		STATE_OPEN,
		STATE_FAILED, /* rows are lost; failure says why */
		STATE_CLOSED,
	} state;
	struct ws_err failure;
};

/* --- blocks --- */

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
static void note_block(struct ws_trace_writer *w, const struct ws_row_index *row)
{
	WS_GROW(w->blocks, w->nblocks + 1, w->blocks_capacity);
	w->blocks[w->nblocks++] = *row;
}

/* Append rows as one block. */
static enum ws_status write_rows(struct ws_trace_writer *w, const struct ws_row_buf *rows,
                                 struct ws_err *err)
{
	struct ws_block_header header;

	ws_block_encode(&w->encoder, rows, w->sequence, &w->block, &header);
	struct ws_row_index row = {w->sink.size, header.kind, header.rows, header.time_min_ns,
	                           header.time_max_ns};
	WS_FORWARD(append(&w->sink, w->block.data, w->block.len, err));
	w->sequence++;
	if (!w->has_pieces) /* a file with pieces is never closed */
		note_block(w, &row);
	return WS_OK;
}

/* Encode and append the pending rows of a kind. */
static enum ws_status write_block(struct ws_trace_writer *w, unsigned kind, struct ws_err *err)
{
	WS_FORWARD(write_rows(w, &w->pending[kind], err));
	ws_row_buf_clear(&w->pending[kind]);
	return WS_OK;
}

static bool is_thread_event(unsigned kind)
{
	return kind == WS_KIND_API || kind == WS_KIND_NVTX;
}

/* Append row i of api or nvtx to thread_event. column: the position there of each column. */
static void put_row(const struct ws_row_buf *from, uint32_t i, const uint8_t *column,
                    struct ws_row_buf *out)
{
	const struct ws_row_column *columns = from->columns;
	struct ws_row_column *to = out->columns;
	const uint32_t at = out->rows++;

	for (unsigned c = 0, n = from->def->ncolumns; c < n; c++)
		to[column[c]].v[at] = columns[c].v[i];
}

/*
 * Write the pending api and nvtx rows as one block of kind thread_event, in the order of their
 * times: each kind keeps its own order, and of the two next rows the earlier comes first.
 */
static enum ws_status write_thread_events(struct ws_trace_writer *w, struct ws_err *err)
{
	struct ws_row_buf *api = &w->pending[WS_KIND_API], *nvtx = &w->pending[WS_KIND_NVTX];
	struct ws_row_buf *both = &w->pending[WS_KIND_THREAD_EVENT];
	const uint32_t n = api->rows + nvtx->rows;
	uint8_t of_api[WS_NCOLS_api], of_nvtx[WS_NCOLS_nvtx];

	for (unsigned c = 0; c < WS_NCOLS_api; c++)
		of_api[c] = (uint8_t)ws_thread_events_column(WS_KIND_API, c);
	for (unsigned c = 0; c < WS_NCOLS_nvtx; c++)
		of_nvtx[c] = (uint8_t)ws_thread_events_column(WS_KIND_NVTX, c);
	ws_row_buf_reserve(both, n);
	for (unsigned c = 0; c < both->def->ncolumns; c++)
		memset(both->columns[c].v, 0, n * sizeof(*both->columns[c].v));
	for (uint32_t a = 0, e = 0; a + e < n;) {
		if (a == api->rows ||
		    (e < nvtx->rows && (int64_t)nvtx->columns[WS_COL_nvtx_time_ns].v[e] <=
		                               (int64_t)api->columns[WS_COL_api_start_ns].v[a])) {
			put_row(nvtx, e++, of_nvtx, both);
			continue;
		}
		both->columns[WS_COL_thread_event_type].v[both->rows] = WS_THREAD_EVENT_API;
		put_row(api, a++, of_api, both);
	}
	ws_row_buf_clear(api);
	ws_row_buf_clear(nvtx);
	return write_block(w, WS_KIND_THREAD_EVENT, err);
}

/* Pending rows that make one block with those of this kind: api and nvtx rows share one. */
static uint64_t pending_rows(const struct ws_trace_writer *w, unsigned kind)
{
	return is_thread_event(kind)
	               ? (uint64_t)w->pending[WS_KIND_API].rows + w->pending[WS_KIND_NVTX].rows
	               : w->pending[kind].rows;
}

/* Drop all pending rows, and all that will come: the file ends with its last whole block. */
static enum ws_status fail(struct ws_trace_writer *w, const struct ws_err *cause,
                           struct ws_err *err)
{
	w->state = STATE_FAILED;
	w->failure = *cause;
	for (unsigned k = 0; k < WS_KIND_END; k++) {
		if (ws_kind_is_event(k))
			w->rows_lost += w->pending[k].rows;
		ws_row_buf_clear(&w->pending[k]);
	}
	if (err)
		*err = *cause;
	return cause->status;
}

/*
 * Write the pending rows of a kind, and before them those of all dictionaries that they may refer
 * to: data may refer to any dictionary, a dictionary to those of lower kind ids.
 */
static enum ws_status write_kind(struct ws_trace_writer *w, unsigned kind, struct ws_err *err)
{
	const unsigned end = ws_schema_kind(kind)->is_dict ? kind : WS_KIND_END;
	enum ws_status status = WS_OK;
	struct ws_err cause;

	for (unsigned k = 0; k < end && status == WS_OK; k++)
		if (w->pending[k].rows && w->pending[k].def->is_dict)
			status = write_block(w, k, &cause);
	if (status == WS_OK && pending_rows(w, kind))
		status = is_thread_event(kind) ? write_thread_events(w, &cause)
		                               : write_block(w, kind, &cause);
	return status == WS_OK ? WS_OK : fail(w, &cause, err);
}

/* Remember which stream the kernels of a launch configuration run on: each begins after the one
 * before it on its stream. */
static void note_config(struct ws_trace_writer *w, const struct ws_row_launch_config *config)
{
	const uint64_t stream[] = {config->pid, config->device, config->context, config->stream};
	uint64_t id = config->id;

	/* ids are counted; configurations behind a gap in the ids share one lane */
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

/* The multiple of quantum nearest to t; t itself if that is not a number of 64 bits. */
static int64_t rounded(int64_t t, int64_t quantum)
{
	int64_t rest = t % quantum, up = rest < 0 ? rest + quantum : rest;
	int64_t to = up * 2 < quantum ? -up : quantum - up, sum;

	return __builtin_add_overflow(t, to, &sum) ? t : sum;
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
	if (w->cpu_time_quantum_ns && is_thread_event(kind)) {
		/* Round the begin and the end of the row added last, so that what began when
		 * another row ended still does. */
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
	if (kind == WS_KIND_LAUNCH_CONFIG)
		note_config(w, row);
	/* what rows of any later time may need */
	if (w->has_pieces &&
	    (w->pending[kind].def->is_dict || kind == WS_KIND_META || kind == WS_KIND_GRAPH_NODE)) {
		struct definitions *all = &w->definitions[kind];

		if (!all->n || ws_row_buf_is_full(&all->blocks[all->n - 1])) {
			WS_GROW(all->blocks, all->n + 1, all->capacity);
			all->blocks[all->n++] = (struct ws_row_buf){.def = w->pending[kind].def};
		}
		ws_row_buf_add(&all->blocks[all->n - 1], row);
	}
	w->rows[kind]++;
	if (pending_rows(w, kind) >= WS_MAX_BLOCK_ROWS || ws_row_buf_is_full(&w->pending[kind]))
		return write_kind(w, kind, err);
	return WS_OK;
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

/* --- dictionaries: equal rows have one id --- */

_Static_assert(offsetof(struct ws_row_string, id) == 0 &&
                       offsetof(struct ws_row_payload, id) == 0 &&
                       offsetof(struct ws_row_launch_config, id) == 0 &&
                       sizeof(struct ws_row_launch_config) ==
                               WS_NCOLS_launch_config * sizeof(uint64_t),
               "the id comes first; configurations are equal-sized fields without padding");

/* *id: of the row that has these key bytes; if there is none yet, add `row` with a new id. */
static enum ws_status intern(struct ws_trace_writer *w, struct ws_strtab *tab, const void *key,
                             size_t len, enum ws_kind kind, void *row, uint64_t *id,
                             struct ws_err *err)
{
	*id = ws_strtab_find(tab, key, len);
	if (*id)
		return WS_OK;
	WS_FORWARD(ws_trace_writer_check_open(w, err));
	*id = ws_strtab_add(tab, key, len);
	memcpy(row, id, sizeof(*id));
	return ws_trace_writer_add(w, kind, row, err);
}

/* The key of a payload, in w->key: its schema, then its bytes. */
static void payload_key(struct ws_trace_writer *w, uint64_t schema, const void *bytes, size_t len)
{
	w->key.len = 0;
	ws_buf_put(&w->key, &schema, sizeof(schema));
	ws_buf_put(&w->key, bytes, len);
}

enum ws_status ws_trace_writer_intern(struct ws_trace_writer *w, const void *text, size_t len,
                                      uint64_t *id, struct ws_err *err)
{
	struct ws_row_string row = {.text = {text, len}};

	*id = 0;
	return len ? intern(w, &w->strings, text, len, WS_KIND_STRING, &row, id, err) : WS_OK;
}

enum ws_status ws_trace_writer_intern_payload(struct ws_trace_writer *w, uint64_t schema,
                                              const void *bytes, size_t len, uint64_t *id,
                                              struct ws_err *err)
{
	struct ws_row_payload row = {.schema = schema, .bytes = {bytes, len}};

	payload_key(w, schema, bytes, len);
	return intern(w, &w->payloads, w->key.data, w->key.len, WS_KIND_PAYLOAD, &row, id, err);
}

enum ws_status ws_trace_writer_intern_config(struct ws_trace_writer *w,
                                             const struct ws_row_launch_config *config,
                                             uint64_t *id, struct ws_err *err)
{
	struct ws_row_launch_config row = *config;

	/* the key is all of it but the id */
	return intern(w, &w->configs, (const uint8_t *)config + sizeof(row.id),
	              sizeof(row) - sizeof(row.id), WS_KIND_LAUNCH_CONFIG, &row, id, err);
}

/* --- opening --- */

/* A writer that has no file yet. */
static struct ws_trace_writer *new_writer(const struct ws_trace_writer_opts *opts)
{
	int level = opts->zstd_level ? opts->zstd_level : DEFAULT_ZSTD_LEVEL;
	struct ws_trace_writer *w = ws_xarray(1, sizeof(*w));

	w->cpu_time_quantum_ns = opts->cpu_time_quantum_ns;
	w->base_ns = opts->base_ns;
	w->sink.fd = -1;
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		w->pending[kind].def = ws_schema_kind(kind);
		w->addable[kind] = w->pending[kind].def && !ws_kind_is_made(kind);
	}
	ws_block_encoder_init(&w->encoder, level);
	return w;
}

/* Reserve room if all went well so far, and give the writer to the caller; else free it. */
static enum ws_status opened(struct ws_trace_writer **out, struct ws_trace_writer *w,
                             const struct ws_trace_writer_opts *opts, enum ws_status status,
                             struct ws_err *err)
{
	/*
	 * From now on an append fails if it would leave less free space than this, and so many
	 * bytes can be appended after that (once the reserve is set to 0). IO_WRITE if there is not
	 * so much space now; a file system that cannot allocate space is no error.
	 */
	if (status == WS_OK)
		w->sink.reserve = w->sink.can_cut ? opts->reserve_bytes : 0;
	if (status == WS_OK && w->sink.reserve)
		status = keep_room(&w->sink, 0, err);
	*out = status == WS_OK ? w : NULL;
	if (status != WS_OK)
		ws_trace_writer_free(w);
	return status;
}

/* Write the file header and the schema block. */
static enum ws_status begin(struct ws_trace_writer *w, struct ws_err *err)
{
	uint8_t header[WS_FILE_HEADER_BYTES];

	ws_file_header_put(header, w->base_ns, w->has_pieces ? WS_FILE_HEADER_BYTES : 0);
	WS_FORWARD(append(&w->sink, header, sizeof(header), err));
	ws_block_schema_rows(&w->pending[WS_KIND_SCHEMA]);
	w->rows[WS_KIND_SCHEMA] = w->pending[WS_KIND_SCHEMA].rows;
	WS_FORWARD(write_block(w, WS_KIND_SCHEMA, err));
	if (!w->has_pieces)
		return WS_OK;
	WS_FAIL_IF(ws_file_give_back(w->sink.fd, w->sink.size, WS_FILE_HEADER_BYTES), err, IO_WRITE,
	           "%s: its file system cannot free the begin of a file: %s. Write to ext4, XFS, "
	           "Btrfs or tmpfs",
	           w->sink.path, strerror(errno));
	w->pieces_from = w->sink.size;
	return ws_trace_writer_begin_piece(w, 0, NULL, 0, err);
}

enum ws_status ws_trace_writer_create(struct ws_trace_writer **out, int fd, const char *path,
                                      const struct ws_trace_writer_opts *opts, struct ws_err *err)
{
	struct ws_trace_writer *w = new_writer(opts);
	enum ws_status status = path ? open_sink(&w->sink, fd, path, err) : WS_OK;

	w->has_pieces = opts->has_pieces;
	WS_THEN(status, begin(w, err));
	return opened(out, w, opts, status, err);
}

enum ws_status ws_trace_writer_create_mem(struct ws_trace_writer **out,
                                          const struct ws_trace_writer_opts *opts,
                                          struct ws_err *err)
{
	return ws_trace_writer_create(out, -1, NULL, opts, err);
}

/* --- going on with a file --- */

/* Load the interned rows of the file, so that their ids go on. The id is their first column. */
static enum ws_status load_dict(struct ws_trace_writer *w, const struct ws_trace_reader *r,
                                enum ws_kind kind, struct ws_strtab *tab, struct ws_err *err)
{
	enum ws_status status = WS_OK;
	struct ws_column_data t;

	WS_FORWARD(ws_trace_reader_load(r, kind, &t, err));
	for (unsigned c = 0; t.rows && status == WS_OK && c < t.def->ncolumns; c++)
		if (!t.columns[c].present)
			status = WS_FAIL(err, CORRUPT, "%s rows lack the column %s", t.def->name,
			                 t.def->columns[c].name);
	for (uint64_t i = 0; status == WS_OK && i < t.rows; i++) {
		if (kind == WS_KIND_LAUNCH_CONFIG)
			note_config(w,
			            &(struct ws_row_launch_config){
			                    .id = t.columns[WS_COL_launch_config_id].v[i],
			                    .pid = t.columns[WS_COL_launch_config_pid].v[i],
			                    .device = t.columns[WS_COL_launch_config_device].v[i],
			                    .context = t.columns[WS_COL_launch_config_context].v[i],
			                    .stream = t.columns[WS_COL_launch_config_stream].v[i],
			            });

		/* The bytes that row i of a dictionary was interned by, in w->key. */
		const struct ws_column *c = t.columns;

		w->key.len = 0;
		if (t.def->id == WS_KIND_STRING) {
			const struct ws_bytes *text = &c[WS_COL_string_text].b[i];

			ws_buf_put(&w->key, text->ptr, text->len);
		} else if (t.def->id == WS_KIND_PAYLOAD) {
			const struct ws_bytes *bytes = &c[WS_COL_payload_bytes].b[i];

			payload_key(w, c[WS_COL_payload_schema].v[i], bytes->ptr, bytes->len);
		} else {
			for (unsigned k = 1; k < WS_NCOLS_launch_config; k++)
				ws_buf_put(&w->key, &c[k].v[i], sizeof(uint64_t));
		}
		status = ws_strtab_load(tab, w->key.data, w->key.len, t.columns[0].v[i], err);
	}
	ws_column_data_release(&t);
	return status;
}

/* Reads the contents of the complete blocks of an unclosed file. */
static enum ws_status take_over(struct ws_trace_writer *w, const struct ws_trace_reader *r,
                                struct ws_err *err)
{
	const struct ws_walk *walk = &r->walk;

	WS_FAIL_IF(walk->skipped_bytes || !walk->nblocks, err, CORRUPT,
	           "%" PRIu64 " of the first %zu bytes are not whole blocks", walk->skipped_bytes,
	           walk->size);
	for (size_t i = 0; i < r->nparts; i++)
		if (ws_schema_kind(r->parts[i].info.kind))
			w->rows[r->parts[i].info.kind] += r->parts[i].info.rows;
	for (size_t i = 0; i < walk->nblocks; i++) {
		const struct ws_block_info *b = &walk->blocks[i];
		struct ws_row_index row = {b->offset, b->kind, b->rows, b->time_min_ns,
		                           b->time_max_ns};

		WS_FAIL_IF(b->kind == WS_KIND_INDEX && !r->summary.required_features, err, USAGE,
		           "the trace has an index: it is complete and cannot be continued");
		note_block(w, &row);
	}
	w->sequence = walk->next_sequence;
	WS_FORWARD(load_dict(w, r, WS_KIND_STRING, &w->strings, err));
	WS_FORWARD(load_dict(w, r, WS_KIND_PAYLOAD, &w->payloads, err));
	return load_dict(w, r, WS_KIND_LAUNCH_CONFIG, &w->configs, err);
}

enum ws_status ws_trace_writer_resume(struct ws_trace_writer **out, int fd, const char *path,
                                      uint64_t size, const struct ws_trace_writer_opts *opts,
                                      struct ws_err *err)
{
	struct ws_trace_writer *w = new_writer(opts);
	struct ws_trace_reader *r = NULL;
	struct ws_trace_map map = {0};
	enum ws_status status = open_sink(&w->sink, fd, path, err);
	struct ws_file_header header;

	/* read the open file, even if its name now belongs to another file */
	WS_THEN(status, ws_trace_map_take(&map, w->sink.fd, path, err));
	if (status == WS_OK) {
		/* no two recordings have one base time, which is in ns */
		if (ws_file_header_get(map.data, map.size, &header, NULL) == WS_OK &&
		    header.base_ns != opts->base_ns)
			status = WS_FAIL(err, CORRUPT, "it is the trace of another recording");
		else if (map.size < size)
			status = WS_FAIL(err, CORRUPT, "it has %zu bytes, fewer than %" PRIu64,
			                 map.size, size);
		WS_THEN(status, ws_trace_reader_open_mem(&r, map.data, (size_t)size, err));
		WS_THEN(status, take_over(w, r, err));
		w->has_pieces = header.kept_from != 0;
		if (status != WS_OK)
			ws_err_prefix(err, status, "cannot continue %s", path);
	}
	ws_trace_reader_free(r);
	ws_trace_map_close(&map);
	if (status == WS_OK &&
	    (ftruncate(w->sink.fd, (off_t)size) || lseek(w->sink.fd, (off_t)size, SEEK_SET) < 0))
		status = WS_FAIL(err, IO_WRITE, "cannot cut %s to %" PRIu64 " bytes: %s", path,
		                 size, strerror(errno));
	w->sink.size = size;
	return opened(out, w, opts, status, err);
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

/* --- pieces --- */

static enum ws_status write_piece(struct ws_trace_writer *w, const struct piece *piece,
                                  const struct ws_row_nvtx *open, size_t nopen, struct ws_err *err)
{
	struct ws_row_buf *list = &w->pending[WS_KIND_INDEX];
	struct ws_row_index row = {piece->offset, WS_KIND_INDEX, 0, piece->time_ns, piece->time_ns};

	/* the piece itself, then each block that follows and repeats what was written before */
	ws_row_buf_add(list, &row);
	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		for (size_t i = 0; i < w->definitions[kind].n; i++) {
			row.kind = kind;
			row.rows = w->definitions[kind].blocks[i].rows;
			ws_row_buf_add(list, &row);
		}
	if (nopen) {
		row.kind = WS_KIND_THREAD_EVENT;
		row.rows = nopen;
		ws_row_buf_add(list, &row);
	}
	WS_FORWARD(write_block(w, WS_KIND_INDEX, err));
	for (int dict = 1; dict >= 0; dict--)
		for (unsigned kind = 0; kind < WS_KIND_END; kind++)
			for (size_t i = 0; i < w->definitions[kind].n; i++)
				if (w->pending[kind].def->is_dict == dict)
					WS_FORWARD(write_rows(w, &w->definitions[kind].blocks[i],
					                      err));
	for (size_t i = 0; i < nopen; i++)
		ws_row_buf_add(&w->pending[WS_KIND_NVTX], &open[i]);
	return nopen ? write_thread_events(w, err) : WS_OK;
}

enum ws_status ws_trace_writer_begin_piece(struct ws_trace_writer *w, int64_t time_ns,
                                           const struct ws_row_nvtx *open, size_t nopen,
                                           struct ws_err *err)
{
	struct piece piece = {.time_ns = time_ns};
	struct ws_err cause;

	WS_FORWARD(ws_trace_writer_flush(w, err));
	piece.offset = w->sink.size;
	if (write_piece(w, &piece, open, nopen, &cause) != WS_OK) {
		/* what is written yet is none of the blocks that the piece lists */
		w->sequence += WS_MAX_BLOCK_ROWS;
		return fail(w, &cause, err);
	}
	WS_GROW(w->pieces, w->npieces + 1, w->pieces_capacity);
	w->pieces[w->npieces++] = piece;
	return WS_OK;
}

enum ws_status ws_trace_writer_drop_before(struct ws_trace_writer *w, int64_t time_ns,
                                           struct ws_err *err)
{
	uint8_t header[WS_FILE_HEADER_BYTES];
	const struct piece *first = w->pieces;
	size_t n = 0;

	WS_FORWARD(ws_trace_writer_check_open(w, err));
	while (n + 1 < w->npieces && w->pieces[n + 1].time_ns <= time_ns)
		n++;
	if (!n)
		return WS_OK;
	/* only whole pages are freed: also that of which an earlier call dropped a part */
	uint64_t from = first->offset - first->offset % DROP_ALIGN;
	if (from < w->pieces_from)
		from = w->pieces_from;
	ws_file_header_put(header, w->base_ns, first[n].offset);
	WS_FAIL_IF(ws_file_write_at(w->sink.fd, 0, header, sizeof(header)) ||
	                   ws_file_give_back(w->sink.fd, from, first[n].offset - from),
	           err, IO_WRITE, "cannot free old parts of %s: %s", w->sink.path, strerror(errno));
	w->npieces -= n;
	memmove(w->pieces, w->pieces + n, w->npieces * sizeof(*w->pieces));
	return WS_OK;
}

bool ws_trace_writer_has_pieces(const struct ws_trace_writer *w)
{
	return w->has_pieces;
}

enum ws_status ws_trace_writer_copy(struct ws_trace_writer *w, const struct ws_trace_reader *from,
                                    struct ws_err *err)
{
	const struct ws_walk *walk = &from->walk;
	struct ws_column_data piece;
	char kept_from[32];

	enum ws_status status = ws_trace_reader_load(from, WS_KIND_INDEX, &piece, err);
	const uint64_t *begin_ns =
	        status == WS_OK ? piece.columns[WS_COL_index_time_min_ns].v : NULL;
	if (begin_ns && *begin_ns) { /* 0: nothing was dropped */
		snprintf(kept_from, sizeof(kept_from), "%" PRIu64, *begin_ns);
		status = ws_trace_writer_meta(w, "record.kept_from_ns", kept_from, err);
	}
	ws_column_data_release(&piece);
	WS_FORWARD(status);
	WS_FORWARD(ws_trace_writer_flush(w, err));
	for (size_t i = 0; i < walk->nblocks; i++) {
		const struct ws_block_info *b = &walk->blocks[i];
		const struct ws_row_index row = {w->sink.size, b->kind, b->rows, b->time_min_ns,
		                                 b->time_max_ns};
		uint8_t head[WS_BLOCK_HEADER_BYTES];
		struct ws_block_header header;

		if (b->kind == WS_KIND_SCHEMA || b->kind == WS_KIND_INDEX)
			continue;
		WS_FORWARD(ws_block_header_get(walk->data + b->offset, b->size, b->offset, &header,
		                               err));
		header.sequence = w->sequence++;
		ws_block_header_put(head, &header);
		WS_FORWARD(append(&w->sink, head, sizeof(head), err));
		WS_FORWARD(append(&w->sink, walk->data + b->offset + sizeof(head),
		                  b->size - sizeof(head), err));
		note_block(w, &row);
	}
	return WS_OK;
}

/* --- the end --- */

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
	struct ws_row_buf *rows = &w->pending[WS_KIND_INDEX];
	const uint64_t index_offset = w->sink.size;
	uint8_t trailer[WS_TRAILER_BYTES];
	struct ws_err cause;

	/* the index, one row for each block so far, in as many blocks as that takes; then the
	 * trailer */
	for (size_t i = 0, n = w->nblocks; i < n && status == WS_OK; i++) {
		ws_row_buf_add(rows, &w->blocks[i]);
		w->rows[WS_KIND_INDEX]++;
		if (ws_row_buf_is_full(rows) || i + 1 == n)
			status = write_block(w, WS_KIND_INDEX, err);
	}
	if (status == WS_OK) {
		ws_trailer_put(trailer, index_offset, w->sink.size + sizeof(trailer));
		status = append(&w->sink, trailer, sizeof(trailer), err);
	}
	if (close_sink(&w->sink, &cause) != WS_OK && status == WS_OK) {
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
	if (w->sink.fd >= 0)
		close(w->sink.fd);
	free(w->sink.path);
	ws_buf_free(&w->sink.mem);
	free(w->config_lanes);
	free(w->blocks);
	free(w->pieces);
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		for (size_t i = 0; i < w->definitions[kind].n; i++)
			ws_row_buf_free(&w->definitions[kind].blocks[i]);
		free(w->definitions[kind].blocks);
	}
	free(w);
}
