#include <errno.h>
#include <string.h>

#include "formats/base/outfile.h"
#include "report/export/chrome/chrome.h"
#include "report/export/exporter.h"
#include "report/export/gzip.h"

static bool is_compressed(const char *path)
{
	size_t len = strlen(path);

	return len > 3 && !strcasecmp(path + len - 3, ".gz");
}

static enum ws_status write(const struct ws_chrome_form *form, const struct ws_trace_reader *r,
                            const struct ws_export_job *job, struct ws_export_stats *stats,
                            struct ws_err *err)
{
	enum ws_status status = WS_OK;
	struct ws_outfile out;
	struct ws_err cause;
	FILE *gz = NULL;

	WS_FORWARD(ws_outfile_open(&out, job->to, err));
	if (is_compressed(job->to))
		status = ws_export_gzip_open(&gz, ws_outfile_name(&out), &cause);
	WS_THEN(status, ws_export_timeline(form, r, gz ? gz : out.f, job->opts, stats, &cause));
	if (gz && fclose(gz) != 0 && status == WS_OK)
		status = WS_FAIL(&cause, IO_WRITE, "%s", strerror(errno));
	return ws_outfile_end(&out, status, &cause, err);
}

static enum ws_status write_json(const struct ws_trace_reader *r, const struct ws_export_job *job,
                                 struct ws_export_stats *stats, struct ws_err *err)
{
	return write(&ws_chrome_json, r, job, stats, err);
}

static enum ws_status write_perfetto(const struct ws_trace_reader *r,
                                     const struct ws_export_job *job, struct ws_export_stats *stats,
                                     struct ws_err *err)
{
	return write(&ws_chrome_perfetto, r, job, stats, err);
}

const struct ws_exporter ws_exporter_json = {
        .name = "json",
        .extensions = {".json", ".json.gz"},
        .write = write_json,
};

const struct ws_exporter ws_exporter_perfetto = {
        .name = "perfetto",
        .extensions = {".perfetto-trace", ".pftrace"},
        .write = write_perfetto,
};
