/*
 * Declarations shared by main() and the commands. A command prints its data to stdout and returns a
 * status; main() converts it into an exit code and prints the error.
 */
#pragma once

#include "formats/base/options.h"
#include "formats/import/import.h"
#include "report/base/ui.h"
#include "report/diff/diff.h"

#include "report/commands/commands.def"

struct ws_command {
	const char *name, *arguments, *summary, *help;
};

/*
 * argv without the program's and the command's name; the command may reorder it. WS_FINDING needs
 * no error text, as the finding has been printed.
 */
#define X(function, name, arguments, summary, help) \
	enum ws_status ws_cmd_##function(int argc, char **argv, struct ws_err *err);
WS_COMMANDS(X)
#undef X

/* Index in WS_COMMANDS; -1 if there is no such command. */
int ws_command_find(const char *name);
/* USAGE: "unknown command 'x', did you mean 'y'?" */
enum ws_status ws_command_unknown(const char *name, struct ws_err *err);
/* The list of commands: the help of the program. */
void ws_command_list(FILE *f);

/*
 * Parses a command's options. Sets *done = 1 if --help was among them and its help has been
 * printed. Leaves between least and most other arguments in argv[0..*n); otherwise USAGE.
 */
struct ws_arguments {
	const char *command;
	const struct ws_opt *opts;
	size_t nopts;
	int min_args, max_args;
	/* the tables of --table, for help; NULL = none */
	const struct ws_table_def *const *(*tables)(size_t *count);
};
enum ws_status ws_command_parse(const struct ws_arguments *a, int argc, char **argv, int *n,
                                int *done, struct ws_err *err);

/* The same in a command, which returns if the help was printed. */
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
	       "sets the format: .xlsx, .html, .csv, .json, .md or .txt")
/* more: additional help about tables or CSV */
#define WS_OPT_TABLE(target, more) \
	WS_OPT("table", 0, TEXT, "NAME", (target), "only this table, one of those below" more)
#define WS_OPT_FORMAT(target, more)                              \
	WS_OPT("format", 0, CHOICE, WS_FORMAT_CHOICES, (target), \
	       "output format; overrides FILE's extension" more)
/* handled by WS_COMMAND_PARSE */
#define WS_OPT_HELP WS_OPT("help", 'h', FLAG, NULL, &(bool){0}, "print this text")
#define WS_OPT_NO_PAGER(target) \
	WS_OPT("no-pager", 0, FLAG, NULL, (target), "do not show long output with $PAGER")
/* The last options of commands that show tables; to: a destination. */
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

/* Destination of tables: file or terminal, and the format from the path or an option. */

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
	int64_t rows;       /* maximum rows of each table as text, CSV, JSON or Markdown; 0 = all */
	bool takes_columns; /* the command has --columns */
	bool has_front;     /* text begins with the first screen */
};
/* Determines the format. USAGE if path and format contradict each other, or for CSV with more or
 * fewer than one table. */
enum ws_status ws_destination_resolve(struct ws_destination *d, const char *table,
                                      struct ws_err *err);
/* USAGE if writing to path (NULL: stdout) would destroy the input. */
enum ws_status ws_output_check(const char *path, const char *input, struct ws_err *err);
enum ws_status ws_destination_write(const struct ws_destination *d, const struct ws_report *report,
                                    struct ws_err *err);

/* Selects the table of this name; for NULL all tables, or, on a terminal, those of `brief`
 * (NULL-terminated, at most WS_BRIEF_TABLES) that exist. */
#define WS_BRIEF_TABLES 8
enum ws_status ws_destination_show(const struct ws_destination *d, const struct ws_report *report,
                                   const char *table, const char *const *brief, struct ws_err *err);

/* Is the destination text on a terminal, which shows only some tables? */
bool ws_destination_is_terminal(const struct ws_destination *d);
/* Reduces a report to the named tables (NULL-terminated) that it has; they are borrowed and stored
 * in slots. */
void ws_report_shorten(const struct ws_report *report, const char *const *names,
                       struct ws_report *out, struct ws_table **slots);

/*
 * Reduces a report to the table of this name, borrowed from `report`; its `tables` points to *slot.
 * USAGE, listing the names, if there is none.
 */
enum ws_status ws_report_select(const struct ws_report *report, const char *name,
                                struct ws_report *out, struct ws_table **slot, struct ws_err *err);

/* Returns USAGE with the tables that begin with this name if there are several; else with the
 * nearest name. names: NULL-terminated. */
enum ws_status ws_table_unknown(const char *name, const char *(*names)(const void *ctx, size_t i),
                                const void *ctx, struct ws_err *err);

/* --columns: some columns of a table, in the given order. */

struct ws_column_choice {
	size_t *index; /* columns of the table */
	size_t n;
	uint8_t *wanted; /* per column of the table: is it needed? */
	struct ws_table_def def;
	const struct ws_table *source;
	struct ws_table *table; /* its rows are those of `source` */
};

/* Finds the column with this id or title, with or without its unit. USAGE if there is none. */
enum ws_status ws_column_find(const char *name, size_t len, const struct ws_table_def *def,
                              size_t *out, struct ws_err *err);
/*
 * Parses a list of ids or titles, separated by commas. USAGE if the table lacks a column, or if one
 * occurs twice. Free with ws_columns_release, also after a failure.
 */
enum ws_status ws_columns_parse(const char *list, const struct ws_table_def *def,
                                struct ws_column_choice *out, struct ws_err *err);
/* The table with only these columns; valid as long as both exist. */
struct ws_table *ws_columns_take(struct ws_column_choice *c, const struct ws_table *table);
void ws_columns_release(struct ws_column_choice *c);

/* Traces given to a command: files, and folders that stand for the traces in them. */

/* Starts as all zeros. Free with ws_trace_list_release. */
struct ws_trace_list {
	char **path;
	size_t n, capacity;
};
/*
 * Adds these in order. For a folder, adds in order of names its files that end in .wtrace, and
 * files whose content an import recognises, unless there is a .wtrace of the same name; with `runs`
 * also the states (.status) of runs without a trace. IO_READ if a folder cannot be read; USAGE if
 * it has no traces.
 */
enum ws_status ws_trace_list_add(struct ws_trace_list *list, int n, char *const *names, bool runs,
                                 struct ws_err *err);
/* Are there several names, or a folder? */
bool ws_trace_list_is_many(int n, char *const *names);
void ws_trace_list_release(struct ws_trace_list *list);
/*
 * Lists the runs of a folder that `record --ab` made: pair i is list[0].path[i] with
 * list[1].path[i]. *failed: pairs that are left out because a run failed. USAGE if there is none.
 */
enum ws_status ws_pairs_list(const char *folder, struct ws_trace_list list[2], size_t *failed,
                             struct ws_err *err);
/*
 * Reads the state that `warpsheet record --repeat` leaves beside a trace, or instead of it. *text,
 * for free(), is "" without one. *reason, for free(): why the run failed; NULL: it did not.
 */
void ws_run_status_read(const char *path, char **text, const char **reason);

/*
 * A trace to read from a given file: a trace, or a file of another profiler, which is imported into
 * an unnamed temporary file.
 */

struct ws_trace_file {
	const char *name;              /* as given; borrowed */
	struct ws_import_stats *stats; /* statistics of the import, else NULL */
	struct ws_trace_reader *reader;
	char *auto_step; /* the range chosen by --step auto; NULL = none */
};

/* Can `warpsheet import` read this file? Determined by its content. */
bool ws_trace_is_foreign(const char *path);
/*
 * Opens a trace. A file that `warpsheet import` can read is imported; messages on stderr say so and
 * list losses. Any other file is assumed to be a trace. Close also after a failure.
 */
enum ws_status ws_trace_file_open(struct ws_trace_file *f, const char *name, struct ws_err *err);
void ws_trace_file_close(struct ws_trace_file *f); /* all zero is legal */

/*
 * Completes opts (may be NULL) for this file: for step `auto`, if no range is called step, chooses
 * the best candidate and sets f->auto_step. USAGE if nothing repeats.
 */
enum ws_status ws_trace_file_opts(struct ws_trace_file *f, const struct ws_model_opts *opts,
                                  struct ws_model_opts *out, struct ws_err *err);

/* Reads its joined rows, and the model that they refer to; free both before closing the file, also
 * after a failure. opts may be NULL. */
enum ws_status ws_trace_file_rows(struct ws_joined_rows *rows, struct ws_model **m,
                                  struct ws_trace_file *f, const struct ws_model_opts *opts,
                                  struct ws_err *err);
/* Prints damage of a trace, whose intact parts are used, on stderr. */
void ws_trace_file_print_damage(const struct ws_trace_file *f);

/* Prints losses of an import, and oddities of its input, on stderr. */
void ws_import_print_damage(const struct ws_import_stats *stats);
/* Shows the progress of an import or export on a terminal. */
void ws_progress_show(void *path, uint64_t done, uint64_t total);
/* Options of an import that shows its progress on a terminal. */
struct ws_import_opts ws_import_opts_watched(const char *path);

/* Reading many traces. */

/*
 * Called for each trace with its index: one after the other, on the caller's thread, while the next
 * trace is read. At most two are in memory. Damage is printed on stderr.
 */
typedef void (*ws_trace_fn)(void *ctx, size_t i, const struct ws_model *m,
                            struct ws_joined_rows *rows);
/* Called for a file that cannot be read. */
typedef void (*ws_trace_failed_fn)(void *ctx, size_t i, const char *why);
/* Does this failure concern only the file, so that others can still be read? */
static inline bool ws_is_of_file(enum ws_status status)
{
	return status == WS_IO_READ || status == WS_CORRUPT;
}
/* failed: NULL if one unreadable file is a failure of the whole command. It is a failure, too, if
 * no file can be read. */
enum ws_status ws_traces_read(const struct ws_trace_list *list, const struct ws_model_opts *opts,
                              ws_trace_fn fn, ws_trace_failed_fn failed, void *ctx,
                              struct ws_err *err);

/* Adds the traces of a to side 0 and of b (may be NULL) to side 1. are_shown: the first trace of
 * each side includes its first screen. */
enum ws_status ws_sides_read(struct ws_sides *sides, const struct ws_trace_list *a,
                             const struct ws_trace_list *b, const struct ws_model_opts *opts,
                             bool are_shown, struct ws_err *err);
