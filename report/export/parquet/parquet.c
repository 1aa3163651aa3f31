#include "report/export/parquet/parquet.h"

#include "report/export/parquet/private.h"
#include "report/export/parquet/rollup.h"

/* Rows that the tables will have, for progress; facts, which are few, are not counted. */
static uint64_t count_rows(const struct ws_parquet_export *x)
{
	static const enum ws_kind kinds[] = {
#define X(KIND, table) WS_KIND_##KIND,
	        WS_PARQUET_KINDS(X)
#undef X
	};
	uint64_t rows = x->rows->nkernels + x->rows->nranges;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		rows += ws_trace_reader_count(x->r, kinds[k]);
	return rows;
}

static enum ws_status export_tables(struct ws_parquet_export *x, const struct ws_export_job *job,
                                    struct ws_err *err)
{
	ws_parquet_paths_make(&x->paths, x->m);
	WS_FORWARD(ws_parquet_folder_open(&x->folder, x->m, job, count_rows(x), err));
	WS_FORWARD(ws_parquet_export_joined(x, err));
	WS_FORWARD(ws_parquet_export_kinds(x, err));
	return ws_outfolder_commit(&x->folder.out, err);
}

static enum ws_status export_rows(const struct ws_trace_reader *r, struct ws_model *m,
                                  struct ws_joined_rows *rows, const struct ws_export_job *job,
                                  struct ws_err *err)
{
	struct ws_parquet_export x = {.r = r, .m = m, .rows = rows};
	enum ws_status status;

	ws_joined_rows_ranges_by_thread(rows, m);
	status = export_tables(&x, job, err);
	ws_outfolder_abandon(&x.folder.out);
	ws_parquet_paths_free(&x.paths);
	return status;
}

static enum ws_status write(const struct ws_trace_reader *r, const struct ws_export_job *job,
                            struct ws_export_stats *stats, struct ws_err *err)
{
	struct ws_joined_rows rows = {0};
	struct ws_model *m = NULL;
	enum ws_status status = ws_joined_rows_read(&rows, r, job->trace, NULL, true, &m, err);

	(void)stats; /* every kind has its table */
	if (job->rollup)
		WS_THEN(status, ws_rollup_export(m, &rows, job, err));
	else
		WS_THEN(status, export_rows(r, m, &rows, job, err));
	ws_joined_rows_free(&rows);
	ws_model_free(m);
	return status;
}

const struct ws_exporter ws_exporter_parquet = {
        .name = "parquet",
        .extensions = {".parquet"},
        .has_ranks = true,
        .write = write,
};
