#include "report/export/exporter.h"
#include "report/export/rollup.h"

static enum ws_status write(const struct ws_export_job *job, struct ws_export_stats *stats,
                            struct ws_err *err)
{
	const struct ws_export_parquet_opts opts = {job->rank, job->opts->progress,
	                                            job->opts->progress_ctx, job->fleet};
	struct ws_model *model;
	enum ws_status status;

	(void)stats; /* every kind has its table */
	if (!job->rollup)
		return ws_export_parquet(job->trace, job->to, &opts, err);
	WS_FORWARD(ws_model_open(&model, job->trace, err));
	status = ws_rollup_export(model, job->to, &opts, err);
	ws_model_free(model);
	return status;
}

const struct ws_exporter ws_exporter_parquet = {
        .name = "parquet",
        .extensions = {".parquet"},
        .has_ranks = true,
        .write = write,
};
