#include <unistd.h>

#include "formats/nsys/nsys.h"

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

static void *check_aside(void *arg)
{
	struct ws_nsys_check *check = arg;

	check->status = check_pages(check->db, &check->err);
	atomic_store_explicit(&check->failed, check->status != WS_OK, memory_order_relaxed);
	return NULL;
}

enum ws_status ws_nsys_check_begin(struct ws_nsys_check *check, sqlite3 *db, struct ws_err *err)
{
	const char *name = sqlite3_db_filename(db, "main");

	*check = (struct ws_nsys_check){0};
	if (name && *name && sysconf(_SC_NPROCESSORS_ONLN) > 1 &&
	    ws_import_nsys_open(&check->db, name, NULL) == WS_OK &&
	    pthread_create(&check->thread, NULL, check_aside, check) == 0)
		return WS_OK;
	sqlite3_close(check->db);
	check->db = NULL;
	return check_pages(db, err);
}

enum ws_status ws_nsys_check_end(struct ws_nsys_check *check, struct ws_err *err)
{
	if (!check->db)
		return WS_OK;
	pthread_join(check->thread, NULL);
	sqlite3_close(check->db);
	if (check->status != WS_OK && err)
		*err = check->err;
	return check->status;
}
