/*
 * What a framework recorded of its operations, beside the rows of a pass. The
 * operations of a trace stand in the model as a whole: a link may lead to any
 * of them. Calls of modules are ranges; both are given to the join in order of
 * time, like rows of the file. What needs all rows, the phases of operations
 * and what backward inherits, is added to the joined rows when they are there
 * (report/joined).
 */
#pragma once

#include "report/model/load.h"

/* Starts as all zeros; free with ws_framework_free. */
struct ws_framework {
	bool is_present;
	struct ws_idmap op_of, collective_of; /* by correlation id, as the file links them */
	struct ws_module_event *events;
	uint32_t *op_order; /* by end */
	size_t nevents, nops;
	size_t next_event, next_op; /* before these everything was given to the join */
	struct ws_arena arena;
};

/* Has the trace any of it? */
bool ws_framework_is_in(const struct ws_trace_reader *r);
/* After the dictionaries and device work, whose operations it sets where a link tells them. */
enum ws_status ws_framework_load(struct ws_framework *f, struct ws_loader *l, struct ws_err *err);
void ws_framework_free(struct ws_framework *f);
