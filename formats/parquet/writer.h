/*
 * Writes a Parquet file: flat columns, row groups of bounded size, V2 pages, zstd, statistics. The
 * same calls always give the same bytes. docs/reference/parquet.md describes the result.
 *
 * Values come row by row, one for each column, of the column's type. If the file could not be
 * written, ws_parquet_finish says so.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

enum ws_parquet_type {
	WS_PARQUET_I64,
	WS_PARQUET_U64, /* INT64 annotated as unsigned */
	WS_PARQUET_F64,
	WS_PARQUET_TEXT, /* BYTE_ARRAY annotated as STRING */
};

struct ws_parquet_column {
	const char *name;
	enum ws_parquet_type type;
	uint8_t optional; /* may be null */
};

struct ws_parquet_opts {
	uint32_t group_rows; /* rows of a row group; 0 = WS_PARQUET_GROUP_ROWS */
};
/* As many rows as DuckDB writes and reads at a time. This bounds the writer's memory: 9 bytes per
 * value. */
#define WS_PARQUET_GROUP_ROWS 122880u
/* A row group also ends when its distinct texts have this many bytes. */
#define WS_PARQUET_GROUP_TEXT_BYTES ((size_t)64 << 20)
#define WS_PARQUET_MAX_TEXT_BYTES   ((size_t)1 << 24)
/* A least or greatest text longer than this is left out of the statistics. */
#define WS_PARQUET_MAX_STAT_BYTES 1024u
/* More distinct integers than this get no dictionary. */
#define WS_PARQUET_MAX_DICT 4096u

struct ws_parquet_writer;

/*
 * Begin a file at the beginning of f, which is borrowed, as are the columns and
 * their names. opts may be NULL.
 */
struct ws_parquet_writer *ws_parquet_writer_new(FILE *f, const struct ws_parquet_column *columns,
                                                size_t ncolumns,
                                                const struct ws_parquet_opts *opts);
void ws_parquet_writer_free(struct ws_parquet_writer *w); /* NULL is legal */

/* Key-value metadata of the file, in the order of the calls; UTF-8. */
void ws_parquet_meta(struct ws_parquet_writer *w, const char *key, const char *value);

/* The next value of the row. */
void ws_parquet_i64(struct ws_parquet_writer *w, int64_t value);
void ws_parquet_u64(struct ws_parquet_writer *w, uint64_t value);
void ws_parquet_f64(struct ws_parquet_writer *w, double value);
/* Any bytes: those that are not UTF-8 become U+FFFD. Cut at WS_PARQUET_MAX_TEXT_BYTES. */
void ws_parquet_text(struct ws_parquet_writer *w, const void *bytes, size_t len);
void ws_parquet_str(struct ws_parquet_writer *w, const char *text); /* NUL-terminated */
void ws_parquet_null(struct ws_parquet_writer *w);
void ws_parquet_end_row(struct ws_parquet_writer *w);

/* Write the last row group and the footer, and flush. The file stays open. IO_WRITE. */
enum ws_status ws_parquet_finish(struct ws_parquet_writer *w, struct ws_err *err);
