/*
 * The Parquet files of one trace in a folder: their metadata, and that they
 * appear together or not at all.
 */
#pragma once

#include "formats/parquet/writer.h"
#include "report/export/parquet/parquet.h"
#include "formats/base/outfile.h"

#define WS_PARQUET_MAX_FIELDS 64u

/* A column as users see it. Texts are borrowed. */
struct ws_parquet_field {
	const char *name;
	enum ws_parquet_type type;
	uint8_t optional;
	const char *unit; /* "" = none */
};

struct ws_parquet_folder {
	const struct ws_model *m;
	const struct ws_export_job *job;
	struct ws_export_progress progress;
	int64_t rank; /* -1 = not known */
	struct ws_outfolder out;
};

/*
 * Make the job's folder and, when the rank is known, rank=NNNN in it; nothing in a fleet. m and
 * job must outlive f; total: rows that will be written. End f->out with _commit or _abandon,
 * also after a failure.
 */
enum ws_status ws_parquet_folder_open(struct ws_parquet_folder *f, const struct ws_model *m,
                                      const struct ws_export_job *job, uint64_t total,
                                      struct ws_err *err);

/* A file in the making. */
struct ws_parquet_table {
	struct ws_parquet_folder *folder;
	struct ws_parquet_column columns[WS_PARQUET_MAX_FIELDS];
	struct ws_outfile out;
	struct ws_parquet_writer *w;
	struct ws_parquet_table *of_fleet; /* whose writer it is; NULL: its own */
};

/* Puts all rows of a table. */
typedef enum ws_status (*ws_parquet_fill_fn)(void *ctx, struct ws_parquet_table *t,
                                             struct ws_err *err);

/*
 * Write name.parquet, with what says where it comes from as key-value
 * metadata, and the rows that fill puts; no file after a failure.
 */
enum ws_status ws_parquet_table_write(struct ws_parquet_folder *f, const char *name,
                                      const struct ws_parquet_field *fields, size_t nfields,
                                      ws_parquet_fill_fn fill, void *ctx, struct ws_err *err);

/* End a row and tell the progress. */
void ws_parquet_table_end_row(struct ws_parquet_table *t);

/* Values that may be absent. */
void ws_parquet_text_or_null(struct ws_parquet_writer *w, struct ws_bytes text); /* len 0 = null */
void ws_parquet_u64_or_null(struct ws_parquet_writer *w, uint64_t value, int known);
void ws_parquet_i64_or_null(struct ws_parquet_writer *w, int64_t value, int known);
void ws_parquet_f64_or_null(struct ws_parquet_writer *w, double value, int known);
void ws_parquet_known(struct ws_parquet_writer *w, uint64_t value);       /* 0 = null */
void ws_parquet_not_negative(struct ws_parquet_writer *w, int64_t value); /* else null */

/* Null outside steps. step: index into m->steps or WS_NONE. */
void ws_parquet_step(struct ws_parquet_writer *w, const struct ws_model *m, uint32_t step);
void ws_parquet_step_kind(struct ws_parquet_writer *w, const struct ws_model *m, uint32_t step);

/* Texts of all paths of the model's ranges; free with ws_parquet_paths_free. */
struct ws_parquet_paths {
	struct ws_bytes *text;
	size_t n;
};

void ws_parquet_paths_make(struct ws_parquet_paths *p, const struct ws_model *m);
void ws_parquet_paths_free(struct ws_parquet_paths *p);

/* One of them, which may be an empty name; null for WS_NONE. */
void ws_parquet_path_or_null(struct ws_parquet_writer *w, const struct ws_parquet_paths *paths,
                             uint32_t path);
