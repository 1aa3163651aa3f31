/*
 * From a trace to the tables of an Nsight Systems export. docs/reference/export.md says
 * what becomes of each record.
 */
#include "report/export/nsys/nsys.h"

static enum ws_status write_events(struct ws_nsys_out *o, struct ws_err *err)
{
	for (enum ws_nsys_table table = WS_NSYS_RUNTIME; table <= WS_NSYS_MEMORY; table++)
		WS_FORWARD(ws_nsys_write_table(o, table, err));
	WS_FORWARD(ws_nsys_write_own(o, err));
	return ws_nsys_write_nvtx(o, err);
}

enum ws_status ws_export_nsys(const struct ws_trace_reader *r, const char *path,
                              const struct ws_export_opts *opts, struct ws_export_stats *stats,
                              struct ws_err *err)
{
	struct ws_nsys_out o = {.r = r,
	                        .stats = stats,
	                        .first_ns = INT64_MAX,
	                        .last_ns = INT64_MIN};
	enum ws_status status;

	ws_export_progress_begin(&o.progress, r, opts);
	status = ws_nsys_out_open(&o, path, err);
	WS_THEN(status, ws_nsys_ids_load(&o, err));
	WS_THEN(status, write_events(&o, err));
	WS_THEN(status, ws_nsys_write_info(&o, err));
	WS_THEN(status, ws_nsys_out_finish(&o, err));
	ws_nsys_out_close(&o);
	ws_nsys_ids_free(&o);
	return status;
}
