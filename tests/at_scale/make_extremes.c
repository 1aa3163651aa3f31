/*
 * Writes a Parquet file of what is hard to encode, FILE, and one without rows,
 * FILE.empty; read_extremes.mjs knows what is in them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/parquet/writer.h"

#define ROWS       1000
#define GROUP_ROWS 300 /* so that groups end in the middle of blocks of deltas */

static const struct ws_parquet_column columns[] = {
        {"row", WS_PARQUET_I64, 0},     {"far", WS_PARQUET_I64, 0},
        {"u", WS_PARQUET_U64, 1},       {"real", WS_PARQUET_F64, 1},
        {"text", WS_PARQUET_TEXT, 1},   {"same", WS_PARQUET_U64, 0},
        {"no_int", WS_PARQUET_I64, 1},  {"no_real", WS_PARQUET_F64, 1},
        {"no_text", WS_PARQUET_TEXT, 1}};

static void put_row(struct ws_parquet_writer *w, int64_t i)
{
	static const int64_t far[] = {INT64_MIN, INT64_MAX, 0, -1};
	static const double reals[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1e-310, 0.1};
	static const struct {
		const char *bytes;
		size_t len;
	} texts[] = {{"", 0},
	             {"nul\0inside", 10},
	             {"broken \xff", 8},
	             {"\xf0\x9f\x94\xa5", 4},
	             {"'\";\r\n\\", 6}};

	ws_parquet_i64(w, i);
	ws_parquet_i64(w, far[i % 4]);
	if (i % 2)
		ws_parquet_u64(w, UINT64_MAX - (uint64_t)i);
	else
		ws_parquet_null(w);
	if (i % 8 == 7)
		ws_parquet_null(w);
	else
		ws_parquet_f64(w, reals[i % 8]);
	if (i % 6 == 5)
		ws_parquet_null(w);
	else
		ws_parquet_text(w, texts[i % 6].bytes, texts[i % 6].len);
	ws_parquet_u64(w, 42);
	ws_parquet_null(w);
	ws_parquet_null(w);
	ws_parquet_null(w);
}

static int write_file(const char *path, int64_t rows)
{
	const struct ws_parquet_opts opts = {.group_rows = GROUP_ROWS};
	struct ws_parquet_writer *w;
	FILE *f = fopen(path, "wb");
	struct ws_err err;
	enum ws_status status;

	if (!f) {
		perror(path);
		return 1;
	}
	w = ws_parquet_writer_new(f, columns, sizeof(columns) / sizeof(columns[0]), &opts);
	for (int64_t i = 0; i < rows; i++) {
		put_row(w, i);
		ws_parquet_end_row(w);
	}
	status = ws_parquet_finish(w, &err);
	ws_parquet_writer_free(w);
	fclose(f);
	if (status != WS_OK)
		fprintf(stderr, "make_extremes: %s\n", err.text);
	return status != WS_OK;
}

int main(int argc, char **argv)
{
	char empty[4096];

	if (argc != 2) {
		fprintf(stderr, "usage: make_extremes FILE\n");
		return 2;
	}
	snprintf(empty, sizeof(empty), "%s.empty", argv[1]);
	return write_file(argv[1], ROWS) || write_file(empty, 0);
}
