#include "report/commands/command.h"

static void print_count(uint64_t count, const char *what)
{
	printf("  %12" PRIu64 "  ", count);
	ws_display_name(stdout, what);
	putchar('\n');
}

static enum ws_status import(const char *from, const char *to, struct ws_import_stats *stats,
                             struct ws_err *err)
{
	const struct ws_import_opts opts = ws_import_opts_watched(from);
	enum ws_status status = ws_output_check(to, from, err);

	WS_THEN(status, ws_import_file(from, to, &opts, stats, err));
	ws_ui_progress_end();
	return status;
}

enum ws_status ws_cmd_import(int argc, char **argv, struct ws_err *err)
{
	const char *to = NULL;
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT("output", 'o', TEXT, "FILE", &to, "the trace to write"),
	        WS_OPT_HELP,
	};
	const struct ws_arguments a = WS_ARGUMENTS("import", opts, 1, 1, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	WS_FAIL_IF(!to, err, USAGE, "import needs -o FILE: the trace to write");
	struct ws_import_stats *stats = ws_xarray(1, sizeof(*stats));
	enum ws_status status = import(argv[0], to, stats, err);
	if (status == WS_OK) {
		/* Prints what was read, kept and left out. */
		const char *path = argv[0];

		ws_display_name(stdout, path);
		printf(": %s, ", stats->source);
		ws_display_name(stdout, stats->format);
		putchar('\n');
		print_count(stats->events, "records read");
		print_count(stats->kept, "records kept");
		print_count(ws_import_left_out(stats), "records left out");
		printf("rows of the trace:\n");
		for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
			const struct ws_kind_def *def = ws_schema_kind(kind);

			if (def && !def->is_dict && stats->rows[kind])
				print_count(stats->rows[kind], def->name);
		}
		if (ws_import_left_out(stats))
			printf("left out:\n");
		for (size_t i = 0; i < stats->nskips; i++)
			print_count(stats->skips[i].count, stats->skips[i].reason);
		for (size_t i = 0; i < WS_IMPORT_LOSSES; i++)
			if (stats->losses[i].is_summed && stats->losses[i].count)
				print_count(stats->losses[i].count, stats->losses[i].reason);
		ws_import_print_damage(stats);
	}
	free(stats);
	return status;
}
