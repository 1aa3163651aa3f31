#include "report/export/exporter.h"
#include "report/export/rollup.h"

static enum ws_status write(const struct ws_export_job *job, struct ws_export_stats *stats,
                            struct ws_err *err)
{
	const struct ws_export_parquet_opts opts = {job->rank, job->opts->progress,
	                                            job->opts->progress_ctx, job->fleet};
	struct ws_trace_reader *r = NULL;
	struct ws_joined_rows rows = {0};
	struct ws_model *model = NULL;
	enum ws_status status;

	(void)stats; /* every kind has its table */
	if (!job->rollup)
		return ws_export_parquet(job->trace, job->to, &opts, err);
	status = ws_trace_reader_open(&r, job->trace, err);
	WS_THEN(status, ws_joined_rows_read(&rows, r, job->trace, NULL, &model, err));
	WS_THEN(status, ws_rollup_export(model, &rows, job->to, &opts, err));
	ws_joined_rows_free(&rows);
	ws_model_free(model);
	ws_trace_reader_free(r);
	return status;
}

const struct ws_exporter ws_exporter_parquet = {
        .name = "parquet",
        .extensions = {".parquet"},
        .has_ranks = true,
        .write = write,
};
