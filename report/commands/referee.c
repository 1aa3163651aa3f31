#include "report/commands/command.h"
#include "report/tables/tables.h"

struct referee_opts {
	struct ws_destination to;
	struct ws_diff_opts diff;
	struct ws_model_opts model;
	const char *table;
};

/* Tables on a terminal. */
static const char *const short_tables[] = {"referee", NULL};

/* The path of a run of a folder that `record --ab` made: side 'a' or 'b'. For free(). */
static char *path_of(const char *folder, char side, size_t pair, const char *ending)
{
	return ws_xformat("%s/%c-r%zu%s", folder, side, pair, ending);
}

static bool has_failed(const char *folder, char side, size_t pair)
{
	char *path = path_of(folder, side, pair, ".status"), *text;
	const char *reason;

	ws_run_status_read(path, &text, &reason);
	const bool failed = reason;

	free(path);
	free(text);
	free((char *)reason);
	return failed;
}

enum ws_status ws_pairs_list(const char *folder, struct ws_trace_list list[2], size_t *failed,
                             struct ws_err *err)
{
	bool any = true;

	*failed = 0;
	for (size_t pair = 1; any; pair++) {
		char *path[2] = {path_of(folder, 'a', pair, ".wtrace"),
		                 path_of(folder, 'b', pair, ".wtrace")};
		char *status = path_of(folder, 'a', pair, ".status");
		const bool are_there = ws_file_exists(path[0]) && ws_file_exists(path[1]);

		any = are_there || ws_file_exists(path[0]) || ws_file_exists(path[1]) ||
		      ws_file_exists(status);
		if (are_there && !has_failed(folder, 'a', pair) && !has_failed(folder, 'b', pair))
			for (int s = 0; s < 2; s++) {
				WS_GROW(list[s].path, list[s].n + 1, list[s].capacity);
				list[s].path[list[s].n++] = ws_xstrdup(path[s]);
			}
		else if (any)
			++*failed;
		free(path[0]);
		free(path[1]);
		free(status);
	}
	WS_FAIL_IF(!list[0].n, err, USAGE,
	           "'%s' has no pair of runs%s. 'warpsheet record --ab -o %s -- A --- B' records "
	           "them",
	           folder, *failed ? " without a run that failed" : "", folder);
	return WS_OK;
}

static enum ws_status judge(const char *folder, const struct referee_opts *o, struct ws_err *err)
{
	struct ws_sides *sides = ws_sides_new();
	struct ws_trace_list list[2] = {{0}};
	struct ws_referee_result result = {0};
	struct ws_report *report = NULL;

	ws_sides_collect_evidence(sides);
	enum ws_status status = ws_pairs_list(folder, list, &result.pairs_failed, err);
	WS_THEN(status, ws_sides_read(sides, &list[0], &list[1], &o->model, false, err));
	WS_THEN(status, ws_referee_make(sides, &o->diff, folder, &report, &result, err));
	WS_THEN(status, ws_destination_show(&o->to, report, o->table, short_tables, err));
	if (status == WS_OK)
		status = result.verdict == WS_REFEREE_CANNOT_TELL ? WS_UNDECIDED
		         : result.is_finding                      ? WS_FINDING
		                                                  : WS_OK;
	ws_report_free(report);
	ws_sides_free(sides);
	ws_trace_list_release(&list[0]);
	ws_trace_list_release(&list[1]);
	return status;
}

enum ws_status ws_cmd_referee(int argc, char **argv, struct ws_err *err)
{
	struct referee_opts o = {.to = {.format = -1}, .diff = ws_referee_diff_opts()};
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT_OUTPUT(&o.to.path),
	        WS_OPT_TABLE(&o.table, ""),
	        WS_OPT_FORMAT(&o.to.format, "; csv needs --table"),
	        WS_OPT("min-effect", 0, REAL, "PCT", &o.diff.min_effect_percent,
	               "a difference under PCT percent is not PROVEN; default 1"),
	        WS_OPT("same-within", 0, REAL, "PCT", &o.diff.same_within_percent,
	               "SAME means certainly within PCT percent; default 1"),
	        WS_OPT_STEP(&o.model.step),
	        WS_OPTS_SHOWN(&o.to),
	};
	const struct ws_arguments a = WS_ARGUMENTS("referee", opts, 1, 1, ws_referee_defs);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	WS_FAIL_IF(o.diff.min_effect_percent < 0 || o.diff.same_within_percent < 0, err, USAGE,
	           "--min-effect and --same-within need a percentage of 0 or more");
	WS_FORWARD(ws_destination_resolve(&o.to, o.table, err));
	return judge(argv[0], &o, err);
}
