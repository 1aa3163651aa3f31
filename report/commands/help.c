#include "report/commands/command.h"

enum ws_status ws_cmd_help(int argc, char **argv, struct ws_err *err)
{
	char help[] = "--help", *help_argv[] = {help, NULL};
	const struct ws_command *command;

	if (!argc || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
		ws_command_list(stdout);
		return WS_OK;
	}
	WS_FAIL_IF(argc > 1, err, USAGE, "help takes one command, not also '%s'", argv[1]);
	command = ws_command_find(argv[0]);
	if (!command)
		return ws_command_unknown(argv[0], err);
	if (command->run == ws_cmd_help) {
		ws_command_list(stdout);
		return WS_OK;
	}
	return command->run(1, help_argv, err);
}
