/*
 * The tables of an Nsight Systems export as an import reads and an export writes them: those of
 * nsys.def, and tables of our own for kinds of records that its schema has no table for. Our own
 * are called WARPSHEET_<kind> and have the columns of schema.def by name; other programs ignore
 * them.
 *
 * In tables of our own, a text is its StringIds id, a thread its globalTid, and a process (columns
 * `pid`) its globalPid. Where 0 means none, it is stored as NULL.
 *
 * `memory` has a table there, without the totals of frameworks. It is written to both tables, and
 * an import reads ours.
 */
#pragma once

#include "formats/foreign/importer.h"

enum ws_nsys_table {
#define TABLE(ID, name, first, KIND) WS_NSYS_##ID,
#define WRITTEN(ID, name, first)     WS_NSYS_##ID,
#include "formats/nsys/nsys.def"
	WS_NSYS_TABLES
};

/* Columns of all tables in a row; one of a table stands behind the table's first. */
enum ws_nsys_column {
#define COLUMN(ID, column, type, READ) WS_NSYS_##ID##_##column,
#include "formats/nsys/nsys.def"
	WS_NSYS_COLUMNS
};

enum ws_nsys_read {
	WS_NSYS_READ_NO,
	WS_NSYS_READ_INT,
	WS_NSYS_READ_INDEX, /* not negative */
	WS_NSYS_READ_TEXT,
	WS_NSYS_READ_REAL,
};

/* The form of a record's number in the database. */
enum ws_nsys_meaning {
	WS_NSYS_AS_NUMBER,         /* 0 is NULL, where that may be; negative ones read as 0 */
	WS_NSYS_AS_NUMBER_OR_ZERO, /* 0 is never NULL */
	WS_NSYS_AS_SIGNED,
	WS_NSYS_AS_START,
	WS_NSYS_AS_END,  /* of a duration; the column before is the start */
	WS_NSYS_AS_TIME, /* value of a missing end */
	WS_NSYS_AS_DUR,
	WS_NSYS_AS_TEXT,           /* StringIds id; 0 is NULL, where that may be */
	WS_NSYS_AS_THREAD,         /* globalTid */
	WS_NSYS_AS_THREAD_OR_NONE, /* 0 is NULL */
	WS_NSYS_AS_THREAD_OR_0,    /* NULL reads as thread 0 of the first process */
	WS_NSYS_AS_PROCESS,        /* globalPid */
	WS_NSYS_AS_DEVICE,
	WS_NSYS_AS_DEVICE_OR_NONE,
	WS_NSYS_AS_OP_CONFIG,
	WS_NSYS_AS_PAYLOAD_SCHEMA,
	WS_NSYS_AS_ID_OR_NONE, /* -1 is 2^32 - 1 */
	WS_NSYS_AS_PRIORITY, /* urgent ones are negative, and read as unsigned numbers of 32 bits */
	WS_NSYS_AS_REAL,
	WS_NSYS_AS_BLOB,
	/* numbers whose order is another there: ws_nsys_choices */
	WS_NSYS_AS_LAUNCH_TYPE,
	WS_NSYS_AS_MEMORY_KIND,
	WS_NSYS_AS_MEMORY_OP,
	WS_NSYS_AS_OVERHEAD_KIND,
	WS_NSYS_AS_STREAM_FLAG,
	WS_NSYS_AS_SYNC_TYPE,
	WS_NSYS_MEANINGS
};

struct ws_nsys_column_def {
	const char *name, *type;
	uint8_t table;       /* enum ws_nsys_table */
	uint8_t read;        /* enum ws_nsys_read */
	bool has_number;     /* always: "INTEGER NOT NULL" */
	uint8_t kind;        /* kind of record of the field; 0: none */
	uint8_t meaning;     /* enum ws_nsys_meaning */
	uint16_t row_offset; /* of the field in that kind's row */
};
extern const struct ws_nsys_column_def ws_nsys_columns[WS_NSYS_COLUMNS];

struct ws_nsys_table_def {
	const char *name;
	enum ws_nsys_column first;
	uint8_t kind; /* of record that its rows are; 0: they are something else */
};
extern const struct ws_nsys_table_def ws_nsys_tables[WS_NSYS_TABLES];
/* The number of columns of a table of nsys.def. */
unsigned ws_nsys_count_columns(enum ws_nsys_table table);

/* Numbers in the database from first to last are those of a record plus `shift`. */
struct ws_nsys_choice {
	int64_t first, last, shift;
	int64_t unlisted; /* in the database, of all other numbers; they become 0 in a record */
};
extern const struct ws_nsys_choice ws_nsys_choices[WS_NSYS_MEANINGS];

/* --- NVTX_EVENTS --- */

enum ws_nsys_event_type {
	WS_NSYS_CATEGORY = 33,
	WS_NSYS_MARK = 34,
	WS_NSYS_THREAD_NAME = 39,
	WS_NSYS_PUSH_POP = 59,
	WS_NSYS_START_END = 60,
	WS_NSYS_IMPORTED_PUSH_POP = 70,
	WS_NSYS_IMPORTED_START_END = 71,
	WS_NSYS_DOMAIN_CREATE = 75,
	WS_NSYS_DOMAIN_DESTROY = 76,
};

/* A payload with a column of its own there: a number of one of NVTX's types. */
struct ws_nsys_payload {
	enum ws_nsys_column column;
	uint64_t schema; /* entry type of the NVTX payload extension */
	size_t bytes;
	bool is_real, is_signed;
};
#define WS_NSYS_PAYLOADS 6u
/* An import takes the first that is not NULL. */
extern const struct ws_nsys_payload ws_nsys_payloads[WS_NSYS_PAYLOADS];

/* --- tables of our own --- */

#define WS_NSYS_OWN_PREFIX      "WARPSHEET_"
#define WS_NSYS_MAX_OWN_COLUMNS 32u

/* X(NAME, name), in the order of writing and reading: definitions before rows that name them. */
#define WS_NSYS_OWN_LIST(X)               \
	X(META, meta)                     \
	X(DEVICE, device)                 \
	X(DEVICE_ATTR, device_attr)       \
	X(CONTEXT, context)               \
	X(STREAM, stream)                 \
	X(RESOURCE, resource)             \
	X(PAYLOAD_SCHEMA, payload_schema) \
	X(PAYLOAD_FIELD, payload_field)   \
	X(PAYLOAD_ENUM, payload_enum)     \
	X(PAYLOAD, payload)               \
	X(OP_CONFIG, op_config)           \
	X(CPU_OP, cpu_op)                 \
	X(GRAPH_NODE, graph_node)         \
	X(HOST_FUNCTION, host_function)   \
	X(CONTEXT_SWITCH, context_switch) \
	X(GPU_SAMPLE, gpu_sample)         \
	X(PYTHON_CALL, python_call)       \
	X(FLOW, flow)                     \
	X(GPU_RANGE, gpu_range)           \
	X(EXTERNAL_LINK, external_link)   \
	X(COLLECTIVE, collective)         \
	X(COUNTER_SERIES, counter_series) \
	X(COUNTER, counter)               \
	X(MEMORY, memory)                 \
	X(LOSS, loss)                     \
	X(CLOCK, clock)                   \
	X(PROCESS_END, process_end)

extern const enum ws_kind ws_nsys_own_kinds[];
extern const size_t ws_nsys_own_kinds_count;
void ws_nsys_own_name(enum ws_kind kind, char name[64]);
/* Fill the columns of a kind. Returns their number. */
unsigned ws_nsys_own_columns(enum ws_kind kind,
                             struct ws_nsys_column_def columns[WS_NSYS_MAX_OWN_COLUMNS]);

/* --- importing, for tests; programs do it by formats/import/import.h --- */

struct sqlite3;

enum ws_status ws_import_nsys(struct ws_import_out *o, struct sqlite3 *db,
                              struct ws_import_clock *clock, struct ws_err *err);
/* Set limits for a database that is not trusted, and let SQLite execute nothing of its schema. */
void ws_import_nsys_harden(struct sqlite3 *db);
