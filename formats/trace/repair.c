#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "formats/base/outfile.h"
#include "formats/trace/check.h"
#include "formats/trace/internal.h"
#include "formats/trace/map.h"

struct repair {
	struct ws_trace_map map;
	struct ws_trace_reader *reader;
	const struct ws_walk *walk;
	struct ws_sink sink;
	struct ws_check_result found; /* in the old file */
	uint64_t blocks, rows;        /* kept */
	int header_is_whole, schema_is_whole;
};

/* Whole, and what its columns hold can be decoded by somebody. */
static bool is_sound(const struct repair *r, size_t i)
{
	struct ws_block block;
	struct ws_err cause;
	enum ws_status status = ws_trace_reader_decode_stored(r->reader, i, &block, &cause);

	if (status == WS_OK)
		ws_block_release(&block);
	return status == WS_OK || status == WS_TOO_NEW;
}

static enum ws_status copy_header(struct repair *r, struct ws_err *err)
{
	uint8_t fresh[WS_FILE_HEADER_BYTES];
	struct ws_file_header header;
	const void *bytes = r->map.data;

	r->header_is_whole = ws_file_header_get(r->map.data, r->map.size, &header, NULL) == WS_OK;
	if (!r->header_is_whole) {
		ws_file_header_put(fresh, 0);
		bytes = fresh;
	}
	return ws_sink_append(&r->sink, bytes, WS_FILE_HEADER_BYTES, err);
}

/* The schema of this program in place of one that is lost: it describes the same format. */
static enum ws_status write_schema(struct repair *r, struct ws_err *err)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_SCHEMA)};
	struct ws_block_encoder encoder;
	struct ws_block_header header;
	struct ws_buf block = {0};
	enum ws_status status;

	ws_block_encoder_init(&encoder, 1);
	ws_block_schema_rows(&rows);
	ws_block_encode(&encoder, &rows, 0, &block, &header);
	status = ws_sink_append(&r->sink, block.data, block.len, err);
	ws_buf_free(&block);
	ws_row_buf_free(&rows);
	ws_block_encoder_free(&encoder);
	return status;
}

static enum ws_status copy_blocks(struct repair *r, struct ws_err *err)
{
	for (size_t i = 0; i < r->walk->nblocks; i++) {
		const struct ws_block_info *b = &r->walk->blocks[i];

		if (b->kind == WS_KIND_INDEX || !is_sound(r, i))
			continue;
		if (!r->blocks) {
			r->schema_is_whole = b->kind == WS_KIND_SCHEMA;
			if (!r->schema_is_whole)
				WS_FORWARD(write_schema(r, err));
		}
		WS_FORWARD(ws_sink_append(&r->sink, r->map.data + b->offset, b->size, err));
		r->blocks++;
		r->rows += b->rows;
	}
	WS_FAIL_IF(!r->blocks, err, CORRUPT, "it has no whole block");
	return WS_OK;
}

static enum ws_status put(struct ws_trace_writer *w, const char *key, struct ws_err *err,
                          const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static enum ws_status put(struct ws_trace_writer *w, const char *key, struct ws_err *err,
                          const char *fmt, ...)
{
	char value[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	return ws_trace_writer_meta(w, key, value, err);
}

static enum ws_status put_all(const struct repair *r, struct ws_trace_writer *w, struct ws_err *err)
{
	const struct ws_trace_summary *s = ws_trace_reader_summary(r->reader);

	WS_FORWARD(put(w, "repair.program", err, "warpsheet %s", WS_VERSION));
	WS_FORWARD(put(w, "repair.source_size", err, "%" PRIu64, s->file_size));
	WS_FORWARD(put(w, "repair.source_hash", err, "%016" PRIx64, s->file_hash));
	WS_FORWARD(put(w, "repair.source_closed", err, "%s", r->found.closed ? "yes" : "no"));
	WS_FORWARD(put(w, "repair.damage", err, "%" PRIu64, r->found.damage));
	WS_FORWARD(put(w, "repair.skipped_bytes", err, "%" PRIu64, s->skipped_bytes));
	WS_FORWARD(put(w, "repair.blocks_kept", err, "%" PRIu64, r->blocks));
	if (!r->header_is_whole)
		WS_FORWARD(put(w, "repair.base_ns", err, "lost"));
	if (!r->schema_is_whole)
		WS_FORWARD(put(w, "repair.schema", err, "of the repairing program"));
	return WS_OK;
}

/* Add the words, the index and the trailer to the copied blocks. */
static enum ws_status finish(struct repair *r, struct ws_err *err)
{
	struct ws_trace_writer *w;
	enum ws_status status;

	WS_FORWARD(ws_trace_writer_resume_raw(&w, &r->sink, err));
	status = put_all(r, w, err);
	WS_THEN(status, ws_trace_writer_close(w, err));
	ws_trace_writer_free(w);
	return status;
}

/* The old file is mapped and read; make the new one under a name of its own. */
static enum ws_status write_whole(struct repair *r, const char *to, struct ws_err *err)
{
	struct ws_outfile file;
	enum ws_status status;

	WS_FORWARD(ws_outfile_open(&file, to, err));
	status = ws_sink_open_fd(&r->sink, fileno(file.f), to, err);
	WS_THEN(status, copy_header(r, err));
	WS_THEN(status, copy_blocks(r, err));
	WS_THEN(status, finish(r, err));
	ws_sink_free(&r->sink);
	if (status == WS_OK)
		return ws_outfile_commit(&file, err);
	ws_outfile_abandon(&file);
	return status;
}

/* Check and open the old file. */
static enum ws_status read_old(struct repair *r, struct ws_err *err)
{
	WS_FORWARD(ws_trace_check_mem(r->map.data, r->map.size, NULL, NULL, &r->found, err));
	WS_FORWARD(ws_trace_reader_open_damaged(&r->reader, r->map.data, r->map.size, NULL, NULL,
	                                        err));
	r->walk = ws_trace_reader_walk(r->reader);
	return WS_OK;
}

enum ws_status ws_trace_repair(const char *from, const char *to, struct ws_check_result *kept,
                               struct ws_err *err)
{
	struct repair r = {.sink.fd = -1};
	struct ws_err cause;
	enum ws_status status;

	WS_FORWARD(ws_trace_map_open(&r.map, from, err));
	status = read_old(&r, &cause);
	WS_THEN(status, write_whole(&r, to, &cause));
	if (status == WS_OK && kept) {
		*kept = r.found;
		kept->blocks = r.blocks;
		kept->rows = r.rows;
	}
	ws_trace_reader_free(r.reader);
	ws_trace_map_close(&r.map);
	if (status != WS_OK)
		return ws_fail(err, status, cause.file, cause.line, "cannot repair %s: %s", from,
		               cause.text);
	return WS_OK;
}
