#include "report/commands/command.h"

enum ws_status ws_cmd_version(int argc, char **argv, struct ws_err *err)
{
	bool help = false;
	int n, done;
	const struct ws_opt opts[] = {WS_OPT_HELP(&help)};
	const struct ws_arguments a = WS_ARGUMENTS("version", opts, 0, 0, NULL);

	WS_FORWARD(ws_command_parse(&a, argc, argv, &n, &done, err));
	if (!done)
		puts("warpsheet " WS_VERSION);
	return WS_OK;
}
