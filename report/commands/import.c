#include <inttypes.h>

#include "formats/base/xalloc.h"
#include "report/commands/command.h"
#include "report/commands/destination.h"
#include "report/commands/traces.h"
#include "report/table/display.h"

static void print_count(uint64_t count, const char *what)
{
	printf("  %12" PRIu64 "  ", count);
	ws_display_name(stdout, what);
	putchar('\n');
}

/* What was read, what it became, and what the trace has no place for. */
static void print_stats(const char *path, const struct ws_import_stats *s)
{
	ws_display_name(stdout, path);
	printf(": %s, ", s->source);
	ws_display_name(stdout, s->format);
	putchar('\n');
	print_count(s->events, "records read");
	print_count(s->kept, "records kept");
	print_count(ws_import_left_out(s), "records left out");
	printf("rows of the trace:\n");
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		const struct ws_kind_def *def = ws_schema_kind(kind);

		if (def && !def->is_dict && s->rows[kind])
			print_count(s->rows[kind], def->name);
	}
	if (ws_import_left_out(s))
		printf("left out:\n");
	for (size_t i = 0; i < s->nskips; i++)
		print_count(s->skips[i].count, s->skips[i].reason);
	for (size_t i = 0; i < WS_IMPORT_LOSSES; i++)
		if (s->losses[i].is_summed && s->losses[i].count)
			print_count(s->losses[i].count, s->losses[i].reason);
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
	struct ws_import_stats *stats;
	enum ws_status status;
	const char *to = NULL;
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT("output", 'o', TEXT, "FILE", &to, "the trace to write"),
	        WS_OPT_HELP,
	};
	const struct ws_arguments a = WS_ARGUMENTS("import", opts, 1, 1, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	WS_FAIL_IF(!to, err, USAGE, "import needs -o FILE: the trace to write");
	stats = ws_xarray(1, sizeof(*stats));
	status = import(argv[0], to, stats, err);
	if (status == WS_OK) {
		print_stats(argv[0], stats);
		ws_import_print_damage(stats);
	}
	free(stats);
	return status;
}
