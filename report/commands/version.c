#include "report/commands/command.h"

enum ws_status ws_cmd_version(int argc, char **argv, struct ws_err *err)
{
	int n;
	const struct ws_opt opts[] = {WS_OPT_HELP};
	const struct ws_arguments a = WS_ARGUMENTS("version", opts, 0, 0, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	puts("warpsheet " WS_VERSION);
	return WS_OK;
}
