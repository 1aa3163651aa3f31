/*
 * What main() and the commands share. A command prints its data to stdout and
 * returns what main() makes an exit code of; main() prints the error.
 */
#pragma once

#include "report/commands/commands.def"
#include "formats/base/options.h"
#include "report/table/table.h"
#include "report/base/ui.h"

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
