#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"
#include "formats/import/import.h"
#include "formats/trace/reader.h"
#include "report/diff/diff.h"
#include "report/joined/rows.h"

/* Traces that a command is given: files, and folders that stand for the traces in them. */

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

/*
 * A trace to read, whatever the file given is: a trace, or a file of another
 * profiler, which is imported on the fly into a file without a name.
 */

struct ws_trace_file {
	const char *name;              /* as given; borrowed */
	struct ws_import_stats *stats; /* of an import, else NULL */
	struct ws_trace_reader *reader;
	char *auto_step; /* the range that --step auto took; NULL = none */
};

/* Does `warpsheet import` understand this file? Told by its content. */
bool ws_trace_is_foreign(const char *path);
/*
 * A file that `warpsheet import` understands is imported, and one line on stderr says so; more say
 * what was lost. Any other file is taken for a trace. Close also after a failure.
 */
enum ws_status ws_trace_file_open(struct ws_trace_file *f, const char *name, struct ws_err *err);
void ws_trace_file_close(struct ws_trace_file *f); /* all zero is legal */

/*
 * opts, which may be NULL, for this file: where a step is `auto` and no range is called step, the
 * best candidate, with f->auto_step. USAGE where nothing repeats.
 */
enum ws_status ws_trace_file_opts(struct ws_trace_file *f, const struct ws_model_opts *opts,
                                  struct ws_model_opts *out, struct ws_err *err);

/* Its joined rows, and what they name; both must be freed before the file is closed, also after a
 * failure. Reports call it by its name. opts may be NULL. */
enum ws_status ws_trace_file_rows(struct ws_joined_rows *rows, struct ws_model **m,
                                  struct ws_trace_file *f, const struct ws_model_opts *opts,
                                  struct ws_err *err);
/* A trace with holes is used as far as it goes, and that is said on stderr. */
void ws_trace_file_print_damage(const struct ws_trace_file *f);

/* What an import lost, and what is strange about its input, on stderr. */
void ws_import_print_damage(const struct ws_import_stats *stats);
/* To the progress of an import or export, where somebody watches. */
void ws_progress_show(void *path, uint64_t done, uint64_t total);
/* Options of an import that shows how far it is where somebody watches. */
struct ws_import_opts ws_import_opts_watched(const char *path);

/* Many traces, from the files that a command is given. */

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
