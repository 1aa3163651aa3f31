#include "formats/nsys/tables.h"

#include <stdio.h>

/* WS_NSYS_KIND_launch_config … */
enum {
#define K(NAME, name, id, class, meaning) WS_NSYS_KIND_##name = WS_KIND_##NAME,
	WS_KIND_LIST(K)
#undef K
};

const struct ws_nsys_table_def ws_nsys_tables[WS_NSYS_TABLES] = {
#define TABLE(ID, name, first, KIND) {name, WS_NSYS_##ID##_##first, KIND},
#define WRITTEN(ID, name, first)     {name, WS_NSYS_##ID##_##first, 0},
#include "formats/nsys/nsys.def"
};

const struct ws_nsys_column_def ws_nsys_columns[WS_NSYS_COLUMNS] = {
#define DESCRIBED(ID, column, type, READ) \
#column, type, WS_NSYS_##ID, WS_NSYS_READ_##READ, sizeof(type) == sizeof("INTEGER NOT NULL")
#define COLUMN(ID, column, type, READ) {DESCRIBED(ID, column, type, READ), 0, 0, 0},
#define FIELD(ID, column, type, READ, kind, field, AS)                            \
	{DESCRIBED(ID, column, type, READ), WS_NSYS_KIND_##kind, WS_NSYS_AS_##AS, \
	 offsetof(struct ws_row_##kind, field)},
#include "formats/nsys/nsys.def"
};

unsigned ws_nsys_count_columns(enum ws_nsys_table table)
{
	const unsigned first = ws_nsys_tables[table].first;
	unsigned c = first;

	while (c < WS_NSYS_COLUMNS && ws_nsys_columns[c].table == table)
		c++;
	return c - first;
}

const struct ws_nsys_choice ws_nsys_choices[WS_NSYS_MEANINGS] = {
        /* an unknown one before the trace's, and no fourth */
        [WS_NSYS_AS_LAUNCH_TYPE] = {1, 3, -1, 0},
        /* CUPTI's numbers begin with "unknown"; the export's end with it */
        [WS_NSYS_AS_MEMORY_KIND] = {0, 6, 1, 7},
        [WS_NSYS_AS_MEMORY_OP] = {0, 1, 0, 0},
        /* undefined and unknown are apart there, and the parts of compiling are one */
        [WS_NSYS_AS_OVERHEAD_KIND] = {1, 10, -1, 2},
        [WS_NSYS_AS_STREAM_FLAG] = {0, 3, 0, 0},
        [WS_NSYS_AS_SYNC_TYPE] = {0, 4, 0, 0},
};

const struct ws_nsys_payload ws_nsys_payloads[WS_NSYS_PAYLOADS] = {
        {WS_NSYS_NVTX_uint64Value, 18, 8, false, false},
        {WS_NSYS_NVTX_int64Value, 17, 8, false, true},
        {WS_NSYS_NVTX_doubleValue, 20, 8, true, true},
        {WS_NSYS_NVTX_uint32Value, 16, 4, false, false},
        {WS_NSYS_NVTX_int32Value, 15, 4, false, true},
        {WS_NSYS_NVTX_floatValue, 19, 4, true, true},
};

/* --- tables of our own --- */

const enum ws_kind ws_nsys_own_kinds[] = {
#define X(NAME, name) WS_KIND_##NAME,
        WS_NSYS_OWN_LIST(X)
#undef X
};
#define X(NAME, name) \
	_Static_assert(WS_NCOLS_##name <= WS_NSYS_MAX_OWN_COLUMNS, "columns have room for them");
WS_NSYS_OWN_LIST(X)
#undef X
const size_t ws_nsys_own_kinds_count = sizeof(ws_nsys_own_kinds) / sizeof(*ws_nsys_own_kinds);

bool ws_nsys_is_own_kind(enum ws_kind kind)
{
	for (size_t i = 0; i < ws_nsys_own_kinds_count; i++)
		if (ws_nsys_own_kinds[i] == kind)
			return true;
	return false;
}

void ws_nsys_own_name(enum ws_kind kind, char name[64])
{
	snprintf(name, 64, WS_NSYS_OWN_PREFIX "%s", ws_schema_kind(kind)->name);
}

static enum ws_nsys_meaning meaning_of(const struct ws_kind_def *def, unsigned column)
{
	static const enum ws_nsys_meaning of_type[] = {
	        [WS_TYPE_U64] = WS_NSYS_AS_SIGNED,  [WS_TYPE_I64] = WS_NSYS_AS_SIGNED,
	        [WS_TYPE_F64] = WS_NSYS_AS_REAL,    [WS_TYPE_TIME] = WS_NSYS_AS_TIME,
	        [WS_TYPE_DUR] = WS_NSYS_AS_DUR,     [WS_TYPE_STR] = WS_NSYS_AS_TEXT,
	        [WS_TYPE_ENUM] = WS_NSYS_AS_SIGNED, [WS_TYPE_BLOB] = WS_NSYS_AS_BLOB,
	};
	struct ws_ref_column ref = {0};

	if (!strcmp(def->columns[column].name, "pid"))
		return WS_NSYS_AS_PROCESS;
	ws_ref_column_at(def, column, &ref);
	switch (ref.target) {
	case WS_KIND_THREAD:
		return ref.zero_is_none ? WS_NSYS_AS_THREAD_OR_NONE : WS_NSYS_AS_THREAD;
	case WS_KIND_DEVICE:
		return ref.zero_is_none ? WS_NSYS_AS_DEVICE_OR_NONE : WS_NSYS_AS_DEVICE;
	case WS_KIND_OP_CONFIG:
		return WS_NSYS_AS_OP_CONFIG;
	case WS_KIND_PAYLOAD_SCHEMA:
		return WS_NSYS_AS_PAYLOAD_SCHEMA;
	default:
		return of_type[def->columns[column].type];
	}
}

unsigned ws_nsys_own_columns(enum ws_kind kind,
                             struct ws_nsys_column_def columns[WS_NSYS_MAX_OWN_COLUMNS])
{
	const struct ws_kind_def *def = ws_schema_kind(kind);

	for (unsigned c = 0; c < def->ncolumns; c++) {
		struct ws_nsys_column_def *to = &columns[c];

		*to = (struct ws_nsys_column_def){.name = def->columns[c].name,
		                                  .type = "INTEGER",
		                                  .read = WS_NSYS_READ_INT,
		                                  .kind = (uint8_t)kind,
		                                  .meaning = (uint8_t)meaning_of(def, c),
		                                  .row_offset =
		                                          (uint16_t)def->columns[c].row_offset};
		if (to->meaning == WS_NSYS_AS_REAL) {
			to->type = "REAL";
			to->read = WS_NSYS_READ_REAL;
		} else if (to->meaning == WS_NSYS_AS_BLOB) {
			to->type = "BLOB";
			to->read = WS_NSYS_READ_TEXT;
		} else if (to->meaning == WS_NSYS_AS_DEVICE ||
		           to->meaning == WS_NSYS_AS_DEVICE_OR_NONE) {
			to->read = WS_NSYS_READ_INDEX;
		}
	}
	return def->ncolumns;
}
