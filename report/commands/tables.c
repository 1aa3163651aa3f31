#include "report/commands/command.h"
#include "report/tables/report.h"

static void list(const char *of, const struct ws_table_def *const *defs, size_t n)
{
	printf("%s\n", of);
	for (size_t i = 0; i < n; i++)
		printf("  %-18s %s\n", defs[i]->name, defs[i]->title);
}

enum ws_status ws_cmd_tables(int argc, char **argv, struct ws_err *err)
{
	static const struct {
		const char *command;
		const struct ws_table_def *const *(*defs)(size_t *count);
	} groups[] = {
	        {"report TRACE", ws_table_defs}, {"report TRACE...: ranks", ws_ranks_defs},
	        {"diff", ws_diff_defs},          {"sweep", ws_sweep_defs},
	        {"gate", ws_gate_defs},          {"aa", ws_aa_defs},
	};
	int n;
	const struct ws_opt opts[] = {WS_OPT_HELP};
	const struct ws_arguments a = WS_ARGUMENTS("tables", opts, 0, 0, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		size_t count;
		const struct ws_table_def *const *defs = groups[i].defs(&count);

		fputs(i ? "\n" : "", stdout);
		list(groups[i].command, defs, count);
	}
	return WS_OK;
}
