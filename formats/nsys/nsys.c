/* An Nsight Systems export as a whole. */
#include "formats/nsys/nsys.h"

static void tell_what_is_strange(struct ws_nsys *n)
{
	struct ws_trace_writer *w = n->out->w;
	uint64_t device_work = ws_trace_writer_rows(w, WS_KIND_KERNEL) +
	                       ws_trace_writer_rows(w, WS_KIND_GRAPH_LAUNCH) +
	                       ws_trace_writer_rows(w, WS_KIND_MEMCPY);

	if (ws_trace_writer_rows(w, WS_KIND_API) && !device_work)
		ws_import_warn(n->out, "there are API calls but no device work: the recording "
		                       "lacked it (WSL, missing permissions)");
	if (n->several_places)
		ws_import_warn(n->out, "records of several machines: processes and threads of the "
		                       "same number are taken for one");
}

/*
 * Are the pages sound? A damaged one gives plausible rows: nothing of a damaged database is
 * believed.
 */
static enum ws_status check_pages(sqlite3 *db, struct ws_err *err)
{
	enum ws_status status = WS_OK;
	sqlite3_stmt *stmt = NULL;
	const char *found = NULL;

	/* a CHECK of the schema would be executed */
	sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
	if (sqlite3_prepare_v2(db, "PRAGMA main.quick_check(1)", -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		found = (const char *)sqlite3_column_text(stmt, 0);
	if (!found)
		found = sqlite3_errmsg(db);
	if (strcmp(found, "ok") != 0)
		status = WS_FAIL(err, CORRUPT,
		                 "the database is damaged, its numbers cannot be trusted (%s); "
		                 "export the report again: nsys export --type sqlite",
		                 found);
	sqlite3_finalize(stmt);
	return status;
}

enum ws_status ws_import_nsys(struct ws_import_out *o, sqlite3 *db, struct ws_import_clock *clock,
                              struct ws_err *err)
{
	struct ws_nsys n;
	enum ws_status status;

	WS_FORWARD(check_pages(db, err));
	status = ws_nsys_init(&n, o, clock, db, err);
	if (status == WS_OK && !ws_nsys_has_table(&n, "StringIds") &&
	    !ws_nsys_has_table(&n, "CUPTI_ACTIVITY_KIND_KERNEL"))
		status = WS_FAIL(err, CORRUPT,
		                 "the database is not an Nsight Systems export: it has no "
		                 "table StringIds");
	if (status == WS_OK) {
		ws_nsys_import_info(&n);
		ws_nsys_import_records(&n);
		ws_nsys_import_nvtx(&n);
		ws_nsys_import_names(&n);
		tell_what_is_strange(&n);
	}
	ws_nsys_free(&n);
	return status;
}
