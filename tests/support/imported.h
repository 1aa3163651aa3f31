/*
 * An import and the trace that came of it, for tests. Every trace made is
 * checked: damage is counted in `damage`, and tests want 0.
 */
#pragma once

#include "formats/import/import.h"
#include "formats/trace/reader.h"

struct ws_imported {
	enum ws_status status;
	struct ws_err err;
	struct ws_import_stats stats;
	struct ws_trace_reader *reader; /* NULL when the import failed */
	struct ws_column_data table[WS_KIND_END];
	uint64_t damage;                 /* findings of the check */
	struct ws_imported_texts *texts; /* copies that were given out */
};

/* Exits the test program when it cannot work at all (no temporary file). */
struct ws_imported *ws_imported_file(const char *path);
struct ws_imported *ws_imported_bytes(const void *bytes, size_t size);
void ws_imported_free(struct ws_imported *i); /* NULL is legal */

/* A cell as it is stored; 0 where the column is absent. Rows from 0. */
uint64_t ws_imported_cell(const struct ws_imported *i, enum ws_kind kind, int column, uint64_t row);
#define WS_CELL(i, KIND, kind, column, row) \
	((int64_t)ws_imported_cell((i), WS_KIND_##KIND, WS_COL_##kind##_##column, (row)))
/* The text of a string id, NUL-terminated; "" for 0. Freed with the import. */
const char *ws_imported_text(const struct ws_imported *i, uint64_t string_id);
#define WS_CELL_TEXT(i, KIND, kind, column, row) \
	ws_imported_text((i), (uint64_t)WS_CELL(i, KIND, kind, column, row))
/* The count of a loss or of what was left out, by a part of its words. */
uint64_t ws_imported_lost(const struct ws_imported *i, const char *words);
uint64_t ws_imported_skipped(const struct ws_imported *i, const char *words);
/* Some warning has these words. */
int ws_imported_warned(const struct ws_imported *i, const char *words);
