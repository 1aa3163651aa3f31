/*
 * One column of one row group of a Parquet file: from values to pages.
 * Source: README.md and parquet.thrift of apache/parquet-format 2.10.
 */
#pragma once

#include <stdio.h>

#include "formats/parquet/encode.h"
#include "formats/parquet/thrift.h"
#include "formats/schema/schema.h"
#include "formats/base/strtab.h"
#include "formats/codec/columns.h"

enum ws_parquet_type {
	WS_PARQUET_I64,
	WS_PARQUET_U64, /* INT64 annotated as unsigned */
	WS_PARQUET_F64,
	WS_PARQUET_TEXT, /* BYTE_ARRAY annotated as STRING */
};

/* A file that is written from its beginning. */
struct ws_parquet_file {
	FILE *f; /* borrowed */
	uint64_t size;
	int error; /* errno of the first bytes that could not be written; 0: all were */
};
void ws_parquet_append(struct ws_parquet_file *file, const void *bytes, size_t len);

/* Numbers of parquet.thrift. */
enum {
	WS_PARQUET_PHYSICAL_INT64 = 2,
	WS_PARQUET_PHYSICAL_DOUBLE = 5,
	WS_PARQUET_PHYSICAL_BYTE_ARRAY = 6,
};
int32_t ws_parquet_physical(enum ws_parquet_type type);

/* The values of a column in a row group. Free with ws_parquet_values_free. */
struct ws_parquet_values {
	const char *name; /* of the column; borrowed */
	enum ws_parquet_type type;
	uint8_t optional;
	size_t rows;
	uint8_t *present; /* optional: one a row; else NULL */
	size_t n;         /* rows that have a value */
	uint64_t *v;      /* n of them; F64 as bits, TEXT as place in the dictionary */
	/* TEXT: the distinct ones, each as length in 4 bytes and bytes */
	struct ws_buf dict;
	uint32_t ndict;
	struct ws_strtab places; /* text to place + 1 */
};
/* Forgets the rows, keeps the arrays. */
void ws_parquet_values_clear(struct ws_parquet_values *c);
void ws_parquet_values_free(struct ws_parquet_values *c);

/* A least or greatest text longer than this is left out of the statistics. */
#define WS_PARQUET_MAX_STAT_BYTES 1024u

/* What making pages needs besides the values; kept from chunk to chunk. */
struct ws_parquet_chunker {
	struct ws_zframe_encoder *z;
	size_t max_rows;
	uint32_t *numbers; /* max_rows of them: indices, levels */
	struct ws_parquet_dict *dict;
	struct ws_buf levels, plain, indices, frame;
};
void ws_parquet_chunker_init(struct ws_parquet_chunker *k, size_t max_rows);
void ws_parquet_chunker_free(struct ws_parquet_chunker *k);

struct ws_parquet_chunk_size {
	uint64_t raw, stored; /* bytes with page headers, before and after compression */
};
/*
 * Append the pages of c to the file and an element ColumnChunk to the list
 * that meta is in. At most a dictionary page and one V2 data page: a row
 * group is small.
 */
void ws_parquet_chunk_write(struct ws_parquet_chunker *k, const struct ws_parquet_values *c,
                            struct ws_parquet_file *file, struct ws_thrift *meta,
                            struct ws_parquet_chunk_size *size);
