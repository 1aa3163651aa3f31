/* An import and the trace that came of it, which is checked: damage is counted, and tests want 0. */
#pragma once

#include "formats/import/import.h"
#include "formats/schema/schema.h"

struct ws_imported {
	enum ws_status status;
	struct ws_err err;
	struct ws_import_stats stats;
	uint64_t rows[WS_KIND_END]; /* of the trace */
	uint64_t damage;            /* findings of the check */
};

/* Exits the test program when it cannot work at all (no temporary file). Free with free. */
struct ws_imported *ws_imported_file(const char *path);
struct ws_imported *ws_imported_bytes(const void *bytes, size_t size);
