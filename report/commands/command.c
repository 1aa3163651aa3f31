#include "report/commands/command.h"
#include "report/base/names.h"

static const struct ws_command commands[] = {WS_COMMANDS(WS_LIST_REST)};
#define NCOMMANDS (sizeof(commands) / sizeof(*commands))

int ws_command_find(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return (int)i;
	return -1;
}

static const char *command_name(const void *ctx, size_t i)
{
	(void)ctx;
	return i < NCOMMANDS ? commands[i].name : NULL;
}

enum ws_status ws_command_unknown(const char *name, struct ws_err *err)
{
	return ws_opt_unknown_name("command", name, command_name, NULL, "see 'warpsheet help'",
	                           err);
}

void ws_command_list(FILE *f)
{
	fputs("usage: warpsheet COMMAND [arguments]\n\n"
	      "Records every kernel launch of a program, and reports it as spreadsheets.\n\n"
	      "commands:\n",
	      f);
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(f, "  %-14s %s\n", commands[i].name, commands[i].summary);
	fputs("\n'warpsheet help COMMAND' lists the options of a command. Exit status: 0 done,\n"
	      "1 finding, 2 usage, 3 input, 4 output, 5 machine, 6 cannot tell, 70 bug.\n",
	      f);
}

enum ws_status ws_command_parse(const struct ws_arguments *a, int argc, char **argv, int *n,
                                int *done, struct ws_err *err)
{
	*done = 0;
	if (ws_opt_asks_help(argc, argv)) {
		const struct ws_command *command = &commands[ws_command_find(a->command)];

		fprintf(stdout, "usage: warpsheet %s%s%s\n\n", command->name,
		        *command->arguments ? " " : "", command->arguments);
		fprintf(stdout, "%s\n\noptions:\n", command->help);
		ws_opt_print_help(stdout, a->opts, a->nopts);
		if (a->tables) {
			size_t count;
			const struct ws_table_def *const *defs = a->tables(&count);

			fputs("\ntables:\n", stdout);
			for (size_t i = 0; i < count; i++)
				fprintf(stdout, "  %-16s %s\n", defs[i]->name, defs[i]->title);
		}
		*done = 1;
		return WS_OK;
	}
	WS_FORWARD(ws_opt_parse(a->opts, a->nopts, argc, argv, n, err));
	WS_FAIL_IF(*n < a->min_args, err, USAGE, "%s needs %s, see 'warpsheet help %s'", a->command,
	           a->max_args == 2 ? "two traces" : "a trace", a->command);
	WS_FAIL_IF(*n > a->max_args, err, USAGE,
	           "%s takes no argument '%s', see 'warpsheet help %s'", a->command,
	           argv[a->max_args], a->command);
	return WS_OK;
}
