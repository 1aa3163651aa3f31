/*
 * A trace to read, whatever the file given is: a trace, or a file of another
 * profiler, which is imported on the fly into a file without a name.
 */
#pragma once

#include "formats/import/import.h"
#include "formats/trace/reader.h"
#include "report/joined/rows.h"

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
