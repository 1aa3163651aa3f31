#include "formats/trace/check.h"
#include "report/commands/command.h"

static void print_finding(void *ctx, const struct ws_check_finding *finding)
{
	(void)ctx;
	printf("%s at offset %" PRIu64 ": ",
	       finding->level == WS_FINDING_DAMAGE ? "damage" : "note", finding->offset);
	ws_display_name(stdout, finding->text);
	putchar('\n');
}

/* Prints impossible records of a trace. If rows cannot be joined, the trace is damaged, which was
 * printed already.
 */
static bool print_unsound(struct ws_trace_file *f)
{
	struct ws_joined_rows rows = {0};
	struct ws_arena texts = {0};
	struct ws_model *m = NULL;
	struct ws_err ignored;
	bool is_sound = true;

	if (ws_trace_file_rows(&rows, &m, f, NULL, &ignored) == WS_OK)
		for (int law = 0; law < WS_LAWS; law++) {
			if (!ws_broken_count(&m->soundness.broken[law]))
				continue;
			is_sound = false;
			printf("unsound: %s. %s\n", ws_law_defs[law].law,
			       ws_broken_what(&texts, &m->soundness, (enum ws_law)law));
		}
	ws_arena_free(&texts);
	ws_joined_rows_free(&rows);
	ws_model_free(m);
	return !is_sound;
}

enum ws_status ws_cmd_check(int argc, char **argv, struct ws_err *err)
{
	struct ws_check_result result;
	struct ws_trace_file f;
	enum ws_status status;
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT_HELP,
	};
	const struct ws_arguments a = WS_ARGUMENTS("check", opts, 1, 1, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	if (!ws_trace_is_foreign(argv[0])) {
		const char *other = ws_import_cure(argv[0]);

		WS_FAIL_IF(other, err, CORRUPT, "%s: %s", argv[0], other);
		WS_FORWARD(ws_trace_check_file(argv[0], print_finding, NULL, &result, err));
		ws_display_name(stdout, argv[0]);
		printf(": %" PRIu64 " block%s with %" PRIu64 " row%s, %s; ", result.blocks,
		       WS_PLURAL(result.blocks), result.rows, WS_PLURAL(result.rows),
		       result.closed ? "closed" : "not closed");
		if (result.damage)
			printf("damaged, %" PRIu64 " finding%s\n", result.damage,
			       WS_PLURAL(result.damage));
		else
			puts("whole");
		status = ws_trace_file_open(&f, argv[0], err);
		if (status == WS_OK && (print_unsound(&f) || result.damage))
			status = WS_FINDING;
		ws_trace_file_close(&f);
		return result.damage ? WS_FINDING : status;
	}
	status = ws_trace_file_open(&f, argv[0], err);
	if (status == WS_OK) {
		/* the records of another profiler's file that the import could not read */
		uint64_t lost = 0;

		for (size_t i = 0; i < WS_IMPORT_LOSSES; i++)
			lost += f.stats->losses[i].count;
		ws_display_name(stdout, f.name);
		printf(": %" PRIu64 " record%s read; ", f.stats->events,
		       WS_PLURAL(f.stats->events));
		if (lost)
			printf("damaged, %" PRIu64 " lost\n", lost);
		else
			puts("whole");
		status = print_unsound(&f) || lost ? WS_FINDING : WS_OK;
	}
	ws_trace_file_close(&f);
	return status;
}
