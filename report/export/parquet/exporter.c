#include "report/export/exporter.h"
#include "report/export/parquet/parquet.h"
#include "report/export/parquet/rollup.h"

static enum ws_status write(const struct ws_trace_reader *r, const struct ws_export_job *job,
                            struct ws_export_stats *stats, struct ws_err *err)
{
	struct ws_joined_rows rows = {0};
	struct ws_model *m = NULL;
	enum ws_status status = ws_joined_rows_read(&rows, r, job->trace, NULL, &m, err);

	(void)stats; /* every kind has its table */
	if (job->rollup)
		WS_THEN(status, ws_rollup_export(m, &rows, job, err));
	else
		WS_THEN(status, ws_export_parquet(r, m, &rows, job, err));
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
