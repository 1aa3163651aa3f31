/* Traces that a command is given: files, and folders that stand for the traces in them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"

/* Starts as all zeros. Free with ws_trace_list_release. */
struct ws_trace_list {
	char **path;
	size_t n, capacity;
};
/*
 * Add these, in order; of a folder, by name, its files that end in .wtrace, and those that an
 * import recognises by their content, unless a .wtrace of the same name stands for them; with
 * runs also the states (.status) of runs that left no trace.
 * IO_READ when a folder cannot be read; USAGE when it holds no trace.
 */
enum ws_status ws_trace_list_add(struct ws_trace_list *list, int n, char *const *names, bool runs,
                                 struct ws_err *err);
/* Several, or a folder of however many? */
bool ws_trace_list_is_many(int n, char *const *names);
void ws_trace_list_release(struct ws_trace_list *list);
