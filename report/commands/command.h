/*
 * What main() and the commands share. A command prints its data to stdout and
 * returns what main() makes an exit code of; main() prints the error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/options.h"
#include "formats/base/status.h"
#include "formats/import/import.h"
#include "formats/trace/reader.h"
#include "report/base/ui.h"
#include "report/diff/diff.h"
#include "report/joined/rows.h"
#include "report/table/table.h"

#include "report/commands/commands.def"

struct ws_command {
	const char *name, *arguments, *summary, *help;
};

/*
 * argv without the program's and the command's name; the command may reorder
 * it. WS_FINDING needs no error text: the finding has been printed.
 */
#define X(function, name, arguments, summary, help) \
	enum ws_status ws_cmd_##function(int argc, char **argv, struct ws_err *err);
WS_COMMANDS(X)
#undef X

/* Its place in WS_COMMANDS; -1 when there is none. */
int ws_command_find(const char *name);
/* USAGE: "unknown command 'x', did you mean 'y'?" */
enum ws_status ws_command_unknown(const char *name, struct ws_err *err);
/* The list of commands: the help of the program. */
void ws_command_list(FILE *f);

/*
 * Parse a command's options. *done = 1 when --help was among them and its
 * help has been printed. Leaves between least and most other arguments in
 * argv[0..*n); anything else is USAGE.
 */
struct ws_arguments {
	const char *command;
	const struct ws_opt *opts;
	size_t nopts;
	int min_args, max_args;
	/* the tables that --table takes, for help; NULL = there are none */
	const struct ws_table_def *const *(*tables)(size_t *count);
};
enum ws_status ws_command_parse(const struct ws_arguments *a, int argc, char **argv, int *n,
                                int *done, struct ws_err *err);

/* The same in a command, which is done when the help was. */
#define WS_COMMAND_PARSE(a, argc, argv, n, err)                                        \
	do {                                                                           \
		int done_;                                                             \
		WS_FORWARD(ws_command_parse((a), (argc), (argv), (n), &done_, (err))); \
		if (done_)                                                             \
			return WS_OK;                                                  \
	} while (0)

/* opts is an array. */
#define WS_ARGUMENTS(command, opts, least, most, tables)                           \
	{                                                                          \
		command, opts, sizeof(opts) / sizeof(*(opts)), least, most, tables \
	}

/* Options that several commands have. */
#define WS_OPT_OUTPUT(target)                                           \
	WS_OPT("output", 'o', TEXT, "FILE", (target),                   \
	       "write to FILE instead of the terminal; its extension\n" \
	       "tells the format: .xlsx, .html, .csv, .json, .md or .txt")
/* more: what else it says of the tables, or of CSV */
#define WS_OPT_TABLE(target, more) \
	WS_OPT("table", 0, TEXT, "NAME", (target), "only this table, one of those below" more)
#define WS_OPT_FORMAT(target, more)                              \
	WS_OPT("format", 0, CHOICE, WS_FORMAT_CHOICES, (target), \
	       "output format; overrides FILE's extension" more)
/* WS_COMMAND_PARSE looks for it itself */
#define WS_OPT_HELP WS_OPT("help", 'h', FLAG, NULL, &(bool){0}, "print this text")
#define WS_OPT_NO_PAGER(target) \
	WS_OPT("no-pager", 0, FLAG, NULL, (target), "do not show long output with $PAGER")
/* The last of commands that show tables; to: a destination. */
#define WS_OPTS_SHOWN(to)                                                  \
	WS_OPT("color", 0, CHOICE, WS_UI_WHEN_CHOICES, &(to)->colour,      \
	       "colour on the terminal (auto: not when NO_COLOR is set)"), \
	        WS_OPT_NO_PAGER(&(to)->no_pager), WS_OPT_HELP

#define WS_OPT_STEP(target)                                               \
	WS_OPT("step", 0, TEXT, "PATTERN", (target),                      \
	       "the range that marks a step: a name or path with * and\n" \
	       "?, e.g. 'iter*'; default `step`, ProfilerStep#N, else\n"  \
	       "batches of servers, or iterations that an optimizer\n"    \
	       "marks; auto takes the best candidate of the summary")

/* Where tables go: the format that a path or an option names, the file or the terminal. */

#define WS_FORMAT_CHOICES "text|csv|json|md|html"
enum ws_format {
	WS_FORMAT_TEXT,
	WS_FORMAT_CSV,
	WS_FORMAT_JSON,
	WS_FORMAT_MD,
	WS_FORMAT_HTML,
	WS_FORMAT_XLSX,
};

struct ws_destination {
	const char *path; /* NULL = stdout */
	int format;       /* enum ws_format, -1 = by the extension of path, else text */
	int colour;       /* enum ws_ui_when */
	bool no_pager;
	int64_t rows;       /* of each table as text, CSV, JSON or Markdown; 0 = all */
	bool takes_columns; /* the command has --columns */
	bool has_front;     /* text begins with the first screen */
};
/* Settle the format. USAGE when path and format do not go together, or CSV has not one table. */
enum ws_status ws_destination_resolve(struct ws_destination *d, const char *table,
                                      struct ws_err *err);
/* USAGE when writing to path (NULL: stdout) would destroy the input. */
enum ws_status ws_output_check(const char *path, const char *input, struct ws_err *err);
enum ws_status ws_destination_write(const struct ws_destination *d, const struct ws_report *report,
                                    struct ws_err *err);

/* Only the table of this name; of NULL all, or, for people to read at once on a terminal, those of
 * `brief` (NULL behind the last, at most WS_BRIEF_TABLES) that there are. */
#define WS_BRIEF_TABLES 8
enum ws_status ws_destination_show(const struct ws_destination *d, const struct ws_report *report,
                                   const char *table, const char *const *brief, struct ws_err *err);

/* Text for people to read at once: not all tables then. */
bool ws_destination_is_terminal(const struct ws_destination *d);
/* The report with only the named tables that it has, NULL behind the last; they are borrowed, slots
 * holds them. */
void ws_report_shorten(const struct ws_report *report, const char *const *names,
                       struct ws_report *out, struct ws_table **slots);

/*
 * The report with only the table of this name, borrowed from `report`; its
 * `tables` points to *slot. USAGE lists the names when there is none.
 */
enum ws_status ws_report_select(const struct ws_report *report, const char *name,
                                struct ws_report *out, struct ws_table **slot, struct ws_err *err);

/* USAGE: the tables that begin so, where there are several; else the nearest name. names: NULL
 * behind the last. */
enum ws_status ws_table_unknown(const char *name, const char *(*names)(const void *ctx, size_t i),
                                const void *ctx, struct ws_err *err);

/* --columns: some columns of a table, in the order asked for. */

struct ws_column_choice {
	size_t *index; /* columns of the table */
	size_t n;
	uint8_t *wanted; /* one a column of the table: is it among them? */
	struct ws_table_def def;
	const struct ws_table *source;
	struct ws_table *table; /* its rows are those of `source` */
};

/* The column of this id or title, with or without its unit. USAGE when there is none. */
enum ws_status ws_column_find(const char *name, size_t len, const struct ws_table_def *def,
                              size_t *out, struct ws_err *err);
/*
 * list: ids or titles, with commas between them. USAGE when the table has no
 * such column, or one is there twice. Free with ws_columns_release, also
 * after a failure.
 */
enum ws_status ws_columns_parse(const char *list, const struct ws_table_def *def,
                                struct ws_column_choice *out, struct ws_err *err);
/* The table with these columns only, as long as both live. */
struct ws_table *ws_columns_take(struct ws_column_choice *c, const struct ws_table *table);
void ws_columns_release(struct ws_column_choice *c);

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
