/*
 * The texts of a trace by their ids, for the commands that print records as
 * they are.
 */
#pragma once

#include "formats/trace/reader.h"
#include "report/base/order.h"

struct ws_trace_names {
	struct ws_column_data strings;
	struct ws_idmap rows; /* string id -> row of strings */
};

/* The reader must outlive it. Free with ws_trace_names_release, also after a failure. */
enum ws_status ws_trace_names_load(struct ws_trace_names *names, const struct ws_trace_reader *r,
                                   struct ws_err *err);
void ws_trace_names_release(struct ws_trace_names *names);

/* ptr NULL when the trace lacks the id. */
struct ws_bytes ws_trace_name(const struct ws_trace_names *names, uint64_t id);
