/*
 * What the schema of Nsight Systems has no table for: our exports carry it in
 * tables of their own, WARPSHEET_<kind>, with the columns of schema.def by
 * name, and our import reads it back. Other programs pass over them.
 *
 * In these tables a text is its StringIds id, a thread its globalTid, a
 * process (columns `pid`) its globalPid; 0 where it means none is NULL.
 *
 * `memory` has a table there, but one without the totals that frameworks tell:
 * it is in both, and an import takes ours.
 */
#pragma once

#include <string.h>

#include "formats/schema/references.h"

/* X(NAME, name): in the order of writing and reading, definitions before what names them. */
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
	X(PYTHON_CALL, python_call)       \
	X(FLOW, flow)                     \
	X(GPU_RANGE, gpu_range)           \
	X(EXTERNAL_LINK, external_link)   \
	X(COLLECTIVE, collective)         \
	X(COUNTER, counter)               \
	X(MEMORY, memory)                 \
	X(LOSS, loss)                     \
	X(CLOCK, clock)                   \
	X(PROCESS_END, process_end)

#define WS_NSYS_OWN_PREFIX "WARPSHEET_"

/* What a number of a column stands for in these tables. */
enum ws_nsys_own_value {
	WS_NSYS_OWN_PLAIN,
	WS_NSYS_OWN_TEXT,
	WS_NSYS_OWN_THREAD,
	WS_NSYS_OWN_PROCESS,
};

static inline enum ws_nsys_own_value ws_nsys_own_value(const struct ws_kind_def *def,
                                                       unsigned column)
{
	struct ws_ref_column ref;

	if (def->columns[column].type == WS_TYPE_STR)
		return WS_NSYS_OWN_TEXT;
	if (ws_ref_column_at(def, column, &ref) && ref.target == WS_KIND_THREAD)
		return WS_NSYS_OWN_THREAD;
	return strcmp(def->columns[column].name, "pid") ? WS_NSYS_OWN_PLAIN : WS_NSYS_OWN_PROCESS;
}
