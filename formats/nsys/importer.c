#include <string.h>

#include "formats/nsys/nsys.h"

static bool recognises(const char *first, size_t len)
{
	static const char magic[16] = "SQLite format 3";

	return len >= sizeof(magic) && memcmp(first, magic, sizeof(magic)) == 0;
}

/* Reports have a format that is not public. */
static const char *cure(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".nsys-rep") == 0 || strcmp(dot, ".qdrep") == 0)
	               ? "'nsys export --type sqlite' makes one of a report"
	               : NULL;
}

static enum ws_status run(struct ws_import_out *o, const char *path, struct ws_import_clock *clock,
                          struct ws_err *err)
{
	struct sqlite3 *db;
	enum ws_status status;

	WS_FORWARD(ws_import_nsys_open(&db, path, err));
	status = ws_import_nsys(o, db, clock, err);
	sqlite3_close(db);
	return status;
}

static void empty(const struct ws_import_stats *s, char *text, size_t size)
{
	(void)s;
	snprintf(text, size,
	         "it seems to be a recording without CUDA and NVTX. Record again with 'nsys "
	         "profile --trace=cuda,nvtx'");
}

const struct ws_importer ws_importer_nsys = {
        .name = "Nsight Systems SQLite export",
        .recognises = recognises,
        .run = run,
        .cure = cure,
        .empty = empty,
};
