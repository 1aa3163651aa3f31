#include "report/export/exporter.h"

#include "formats/base/outfile.h"

static enum ws_status write(const struct ws_trace_reader *r, const struct ws_export_job *job,
                            struct ws_export_stats *stats, struct ws_err *err)
{
	struct ws_outfile out;
	struct ws_err cause;
	enum ws_status status;

	WS_FORWARD(ws_outfile_open(&out, job->to, err));
	status = ws_export_nsys(r, ws_outfile_name(&out), job->opts, stats, &cause);
	return ws_outfile_end(&out, status, &cause, err);
}

const struct ws_exporter ws_exporter_sqlite = {
        .name = "sqlite",
        .extensions = {".sqlite", ".db"},
        .write = write,
};
