#include "formats/base/outfile.h"
#include "report/export/csv.h"
#include "report/export/exporter.h"

static void file_name(char name[80], enum ws_kind kind)
{
	snprintf(name, 80, "%s.csv", ws_schema_kind(kind)->name);
}

static enum ws_status write_kind(struct ws_outfolder *f, struct ws_export_csv *csv,
                                 enum ws_kind kind, struct ws_err *err)
{
	struct ws_outfile out;
	enum ws_status status;
	struct ws_err cause;
	char name[80];

	file_name(name, kind);
	WS_FORWARD(ws_outfolder_file(f, name, &out, err));
	status = ws_export_csv_kind(csv, kind, out.f, &cause);
	if (status == WS_OK) {
		ws_outfolder_add(f, &out);
		return WS_OK;
	}
	return ws_outfile_end(&out, status, &cause, err);
}

static enum ws_status write(const struct ws_trace_reader *r, const struct ws_export_job *job,
                            struct ws_export_stats *stats, struct ws_err *err)
{
	struct ws_export_csv csv;
	struct ws_outfolder f;
	enum ws_status status = ws_outfolder_open(&f, job->to, err);

	(void)stats; /* every kind has its file */
	if (status != WS_OK)
		goto out;
	status = ws_export_csv_init(&csv, r, job->opts, err);
	for (unsigned kind = 0; kind < WS_KIND_END && status == WS_OK; kind++)
		if (ws_export_csv_has(kind) && ws_trace_reader_count(r, kind))
			status = write_kind(&f, &csv, kind, err);
	ws_export_csv_free(&csv);
	if (status == WS_OK) {
		char name[80];

		/* Files of kinds that the trace lacks are of an earlier export. */
		for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
			if (!ws_export_csv_has(kind) || ws_trace_reader_count(r, kind))
				continue;
			file_name(name, kind);
			ws_outfolder_remove(&f, name);
		}
		return ws_outfolder_commit(&f, err);
	}
out:
	ws_outfolder_abandon(&f);
	return status;
}

const struct ws_exporter ws_exporter_csv = {
        .name = "csv",
        .extensions = {".csv"},
        .write = write,
};
