/* warpsheet: finds the command, prints its error, makes the exit code. */
#include "formats/base/xalloc.h"
#include "formats/trace/reader.h"
#include "report/commands/command.h"
#include "report/query/query.h"

static enum ws_status (*const runs[])(int argc, char **argv, struct ws_err *err) = {
#define X(function, name, arguments, summary, help) ws_cmd_##function,
        WS_COMMANDS(X)
#undef X
};

enum ws_status ws_cmd_help(int argc, char **argv, struct ws_err *err)
{
	char help[] = "--help", *help_argv[] = {help, NULL};
	int command;

	if (!argc || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
		ws_command_list(stdout);
		return WS_OK;
	}
	WS_FAIL_IF(argc > 1, err, USAGE, "help takes one command, not also '%s'", argv[1]);
	command = ws_command_find(argv[0]);
	return command < 0 ? ws_command_unknown(argv[0], err) : runs[command](1, help_argv, err);
}

static enum ws_status run(int argc, char **argv, struct ws_err *err)
{
	const char *name;
	int command;

	if (argc < 2) {
		ws_command_list(stderr);
		return WS_FAIL(err, USAGE, "no command");
	}
	name = argv[1];
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	else if (!strcmp(name, "--version"))
		name = "version";
	else if (name[0] == '-')
		return WS_FAIL(err, USAGE, "options go after the command, see 'warpsheet help'");
	command = ws_command_find(name);
	if (command < 0)
		return ws_command_unknown(name, err);
	return runs[command](argc - 2, argv + 2, err);
}

int main(int argc, char **argv)
{
	struct ws_err err = {0}, late = {0};
	enum ws_status status = WS_OK, written;

	ws_trace_map_end_well_when_cut();
	ws_sqlite_begin();
	/* record runs a program, which has no limits of ours */
	if (argc > 1 && strcmp(argv[1], "record"))
		status = ws_allowance_begin(&err);
	WS_THEN(status, run(argc, argv, &err));
	written = ws_ui_stdout_finish(&late);
	if (status == WS_NO_MEMORY && *ws_allowance_text())
		ws_ui_print("%s; %s", err.text, ws_allowance_text());
	else if (status != WS_OK && err.text[0])
		ws_ui_print("%s", err.text);
	/* output that nobody got matters more than a finding in it */
	if (written != WS_OK &&
	    (status == WS_OK || status == WS_FINDING || status == WS_UNDECIDED)) {
		ws_ui_print("%s", late.text);
		status = written;
	}
	return ws_status_exit_code(status);
}
