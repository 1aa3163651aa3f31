/* Many traces, from the files that a command is given. */
#pragma once

#include "report/commands/trace_list.h"
#include "report/diff/diff.h"

/*
 * fn for each, with its place: one after the other, on the caller's thread, while the next is
 * read. Never more than two are in memory. What is damaged is said on stderr.
 */
typedef void (*ws_trace_fn)(void *ctx, size_t i, const struct ws_model *m,
                            struct ws_joined_rows *rows);
/* Told of a file that cannot be read. */
typedef void (*ws_trace_failed_fn)(void *ctx, size_t i, const char *why);
/* Is this failure one of the file, so that others can be read all the same? */
static inline bool ws_is_of_file(enum ws_status status)
{
	return status == WS_IO_READ || status == WS_CORRUPT;
}
/* failed: NULL where one file that cannot be read is the failure of all. It is, too, where none can
 * be read. */
enum ws_status ws_traces_read(const struct ws_trace_list *list, const struct ws_model_opts *opts,
                              ws_trace_fn fn, ws_trace_failed_fn failed, void *ctx,
                              struct ws_err *err);

/* Add a's to side 0 and b's, which may be NULL, to side 1. are_shown: the first of each with what
 * its first screen shows. */
enum ws_status ws_sides_read(struct ws_sides *sides, const struct ws_trace_list *a,
                             const struct ws_trace_list *b, const struct ws_model_opts *opts,
                             bool are_shown, struct ws_err *err);
