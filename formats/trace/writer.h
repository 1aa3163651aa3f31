/*
 * Writes a trace file. Rows are gathered a kind at a time and written as
 * blocks; dictionaries (strings, launch configs, …) always reach the file
 * before the first block that refers to them. Two writers given the same
 * calls make the same bytes.
 */
#pragma once

#include "formats/schema/schema.h"

struct ws_trace_reader;
struct ws_trace_writer;

struct ws_trace_writer_opts {
	int64_t base_ns; /* CLOCK_REALTIME ns of time 0 of this trace */
	/* bytes on the disk that only ws_trace_writer_last_words uses; 0 = none */
	uint32_t reserve_bytes;
	int zstd_level; /* 0 = the default, 1 */
	/* Round begin and end of api rows and the time of nvtx rows to multiples of this, 0 = do
	 * not: the lower digits are lost, and the trace is smaller. */
	uint32_t cpu_time_quantum_ns;
	/* Write pieces, the oldest of which can be dropped: a flight recording. Not into memory. */
	bool has_pieces;
};

/* Writes the file header and schema to an open file, for which the writer gets its own descriptor.
 * path is for messages. */
enum ws_status ws_trace_writer_create(struct ws_trace_writer **out, int fd, const char *path,
                                      const struct ws_trace_writer_opts *opts, struct ws_err *err);
/* The same into memory; ws_trace_writer_mem() gives the bytes after close. */
enum ws_status ws_trace_writer_create_mem(struct ws_trace_writer **out,
                                          const struct ws_trace_writer_opts *opts,
                                          struct ws_err *err);
/*
 * Continue an unclosed file of which the first `size` bytes are whole blocks
 * (ws_trace_writer_size() at the last flush): cut off the rest, load its
 * dictionaries so that ids go on, append from there. CORRUPT when these bytes
 * are no whole blocks, or the file's base time is not opts->base_ns: then it is
 * the trace of another recording, which is not touched. USAGE when the trace is
 * complete. For salvage.
 */
enum ws_status ws_trace_writer_resume(struct ws_trace_writer **out, int fd, const char *path,
                                      uint64_t size, const struct ws_trace_writer_opts *opts,
                                      struct ws_err *err);

/*
 * Add a row: row points to the struct ws_row_<kind> of that kind. Bytes are
 * copied. A full block is written at once. On IO_WRITE (disk full) the row is
 * counted in ws_trace_writer_rows_lost(), the file stays readable up to its
 * last whole block, and every later call fails alike, ws_trace_writer_close too. A BLOB over
 * WS_MAX_BLOB_BYTES is cut there.
 */
enum ws_status ws_trace_writer_add(struct ws_trace_writer *w, enum ws_kind kind, const void *row,
                                   struct ws_err *err);

/* Id of the text, adding a `string` row when it is new. Empty or NULL text is id 0. */
enum ws_status ws_trace_writer_intern(struct ws_trace_writer *w, const void *text, size_t len,
                                      uint64_t *id, struct ws_err *err);
/* Id of the payload bytes under their schema, adding a `payload` row when new. */
enum ws_status ws_trace_writer_intern_payload(struct ws_trace_writer *w, uint64_t schema,
                                              const void *bytes, size_t len, uint64_t *id,
                                              struct ws_err *err);
/* Id of the launch configuration (config->id is ignored), adding a row when new. */
enum ws_status ws_trace_writer_intern_config(struct ws_trace_writer *w,
                                             const struct ws_row_launch_config *config,
                                             uint64_t *id, struct ws_err *err);
/* Key and value of a `meta` row, both NUL-terminated. */
enum ws_status ws_trace_writer_meta(struct ws_trace_writer *w, const char *key, const char *value,
                                    struct ws_err *err);

/* WS_OK, or the writer's first error; BUG once it is closed. */
enum ws_status ws_trace_writer_check_open(const struct ws_trace_writer *w, struct ws_err *err);
/* Write every unfinished block (dictionaries first), so that the file holds all rows added. */
enum ws_status ws_trace_writer_flush(struct ws_trace_writer *w, struct ws_err *err);
/*
 * Of a file with pieces: begin the next one. It repeats all definitions so far and the pushes and
 * starts of ranges that are open, so that a reader needs no piece before it.
 */
enum ws_status ws_trace_writer_begin_piece(struct ws_trace_writer *w, int64_t time_ns,
                                           const struct ws_row_nvtx *open, size_t nopen,
                                           struct ws_err *err);
/*
 * Drop the pieces that end before time_ns, and return their disk space. Call it only if the newest
 * piece is part of the file that a later ws_trace_writer_resume() is to continue.
 */
enum ws_status ws_trace_writer_drop_before(struct ws_trace_writer *w, int64_t time_ns,
                                           struct ws_err *err);
bool ws_trace_writer_has_pieces(const struct ws_trace_writer *w);
/* Append the blocks of an open trace with the same base time as they are stored. */
enum ws_status ws_trace_writer_copy(struct ws_trace_writer *w, const struct ws_trace_reader *from,
                                    struct ws_err *err);
/* Bytes of the file that are whole blocks. */
uint64_t ws_trace_writer_size(const struct ws_trace_writer *w);
/* Rows of events (ws_kind_is_event) that could not be written. */
uint64_t ws_trace_writer_rows_lost(const struct ws_trace_writer *w);
/* Rows added so far of this kind. */
uint64_t ws_trace_writer_rows(const struct ws_trace_writer *w, enum ws_kind kind);

/*
 * After a failure for lack of disk space, writes these rows into the reserved space after the last
 * complete block. Their causes were interned and written before. Does nothing if the writer did not
 * fail in this way.
 */
enum ws_status ws_trace_writer_last_words(struct ws_trace_writer *w, const struct ws_row_loss *rows,
                                          size_t n, struct ws_err *err);
/* Flush, write index and trailer, close the file. The writer stays valid until _free. */
enum ws_status ws_trace_writer_close(struct ws_trace_writer *w, struct ws_err *err);
/* The bytes of a memory writer; borrowed until _free. */
struct ws_bytes ws_trace_writer_mem(const struct ws_trace_writer *w);
/* Frees; a file that was not closed stays as it is, readable without its index. NULL is legal. */
void ws_trace_writer_free(struct ws_trace_writer *w);
