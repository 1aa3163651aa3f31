/* What the parts of the Parquet export share. */
#pragma once

#include "formats/trace/reader.h"
#include "report/export/parquet/folder.h"
#include "report/joined/rows.h"
#include "report/records/records.h"

struct ws_parquet_export {
	const struct ws_trace_reader *r;
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	struct ws_parquet_folder folder;
	struct ws_parquet_paths paths;
};

/* kernels, nvtx and facts: joined.c. */
enum ws_status ws_parquet_export_joined(struct ws_parquet_export *x, struct ws_err *err);
/* The last of these: facts.c. */
enum ws_status ws_parquet_export_facts(struct ws_parquet_export *x, struct ws_err *err);
/* One table for each of these record kinds, as they are: kinds.c. */
enum ws_status ws_parquet_export_kinds(struct ws_parquet_export *x, struct ws_err *err);

/* KIND, name of the table */
#define WS_PARQUET_KINDS(X)             \
	X(API, "api")                   \
	X(MEMCPY, "memcpy")             \
	X(MEMSET, "memset")             \
	X(SYNC, "sync")                 \
	X(GRAPH_LAUNCH, "graph_launch") \
	X(MEMORY, "memory")             \
	X(CPU_OP, "cpu_op")             \
	X(PYTHON_CALL, "python_call")   \
	X(GPU_RANGE, "gpu_range")       \
	X(OVERHEAD, "overhead")         \
	X(COUNTER, "counter")
