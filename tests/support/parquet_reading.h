/*
 * A small Parquet reader for tests, written from the format's specification
 * and not from our writer: flat columns, V2 pages, zstd, the encodings PLAIN,
 * RLE_DICTIONARY and DELTA_BINARY_PACKED. Everything it finds wrong stops the
 * test.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pq_cell {
	int is_null;
	uint64_t v; /* integers, and reals as bits */
	char *text; /* BYTE_ARRAY: allocated, NUL after it */
	size_t len;
};

/* A column of a row group as the footer describes it. */
struct pq_chunk {
	int64_t rows;
	int encoding; /* of the data page */
	int64_t null_count;
	int has_extremes;
	struct pq_cell min, max;
};

struct pq_column {
	char *name;
	int physical; /* Type of parquet.thrift */
	int optional;
	int is_text, is_unsigned; /* by the logical type */
	struct pq_cell *cells;    /* one a row of the file */
	struct pq_chunk *chunks;  /* one a row group */
};

struct pq_file {
	size_t ncolumns, rows, ngroups, nmeta;
	struct pq_column *columns;
	char **keys, **values;
	char *created_by;
};

struct pq_file *pq_read(const void *data, size_t size);
struct pq_file *pq_read_file(const char *path);
void pq_free(struct pq_file *f);

/* These stop the test when there is no such column, key or value. */
const struct pq_column *pq_column(const struct pq_file *f, const char *name);
const struct pq_cell *pq_cell(const struct pq_file *f, size_t row, const char *column);
int64_t pq_int(const struct pq_file *f, size_t row, const char *column);
const char *pq_str(const struct pq_file *f, size_t row, const char *column);
const char *pq_meta(const struct pq_file *f, const char *key);
