#include "report/commands/command.h"
#include "report/sweep/sweep.h"
#include "report/tables/tables.h"

struct sweep_opts {
	struct ws_destination to;
	struct ws_sweep_opts sweep;
	struct ws_model_opts model;
	const char *table;
};

/* Tables of a sweep without --table and -o. */
static const char *const short_tables[] = {"sweep-verdict", "sweep", "sweep-pivot", NULL};

struct of_run {
	struct ws_sweep *sweep;
	const char *reason;
};

/* State while reading runs. */
struct read_runs {
	size_t failed; /* files that could not be read */
	enum ws_status status;
	struct ws_err err; /* error of the first of those */
};

static void add_trace(void *ctx, size_t i, const struct ws_model *m, struct ws_joined_rows *rows)
{
	const struct of_run *run = ctx;

	(void)i;
	ws_sweep_add(run->sweep, m, rows, run->reason);
}

/* Adds a trace with its state, or a state alone. */
static enum ws_status add_run(struct ws_sweep *sweep, char *path, const struct ws_model_opts *opts,
                              struct read_runs *runs, struct ws_err *err)
{
	const struct ws_trace_list one = {.path = &path, .n = 1};
	size_t len = strlen(path), ending = strlen(".wtrace");
	bool is_trace = len > ending && !strcmp(path + len - ending, ".wtrace");
	char *status_path, *text = NULL;
	const char *reason = NULL;
	enum ws_status status = WS_OK;
	struct ws_err why;

	status_path = ws_xformat("%.*s.status", (int)(is_trace ? len - ending : len), path);
	ws_run_status_read(is_trace ? status_path : path, &text, &reason);
	if (is_trace || !ws_file_exists(path) || !strstr(path, ".status"))
		status = ws_traces_read(&one, opts, add_trace, NULL,
		                        &(struct of_run){sweep, reason}, &why);
	else if (reason)
		ws_sweep_add_failed(sweep, text, reason);
	if (ws_is_of_file(status)) {
		/* a file that cannot be read is a failed run; its facts are from its state */
		char *failure = ws_xformat("failed: %s", why.text);

		if (!runs->failed++) {
			runs->status = status;
			runs->err = why;
		}
		ws_sweep_add_failed(sweep, is_trace ? text : "", failure);
		free(failure);
		status = WS_OK;
	} else if (status != WS_OK) {
		*err = why;
	}
	free(status_path);
	free((char *)reason);
	free(text);
	return status;
}

enum ws_status ws_cmd_sweep(int argc, char **argv, struct ws_err *err)
{
	struct sweep_opts o = {.to = {.format = -1}, .sweep = {.grade = WS_DIFF_OPTS_DEFAULT}};
	struct ws_trace_list list = {0};
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT_OUTPUT(&o.to.path),
	        WS_OPT_TABLE(&o.table, ""),
	        WS_OPT_FORMAT(&o.to.format, "; csv needs --table"),
	        WS_OPT("baseline", 0, TEXT, "KEY=VALUE", &o.sweep.baseline,
	               "speed-ups are relative to KEY=VALUE, all else equal\n"
	               "(default dtype=fp32)"),
	        WS_OPT("rows", 0, TEXT, "KEY", &o.sweep.rows,
	               "fact of the pivot's rows; default model"),
	        WS_OPT("columns", 0, TEXT, "KEY", &o.sweep.columns,
	               "fact of its columns; default context, or\n"
	               "what else differs"),
	        WS_OPT("value", 0, TEXT, "COLUMN", &o.sweep.value,
	               "column of the table sweep that it shows; default\n"
	               "forward and backward, mean and deviation, and the ratio"),
	        WS_OPT("run-noise", 0, REAL, "PCT", &o.sweep.grade.run_noise_percent,
	               "as in diff, for fewer than three recordings"),
	        WS_OPT_STEP(&o.model.step),
	        WS_OPTS_SHOWN(&o.to),
	};
	const struct ws_arguments a = WS_ARGUMENTS("sweep", opts, 1, INT_MAX, ws_sweep_defs);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	WS_FAIL_IF(o.sweep.grade.run_noise_percent < 0, err, USAGE,
	           "--run-noise needs a percentage of 0 or more, not %g",
	           o.sweep.grade.run_noise_percent);
	WS_FORWARD(ws_destination_resolve(&o.to, o.table, err));
	for (int i = 0; i < n; i++)
		WS_FORWARD(ws_output_check(o.to.path, argv[i], err));
	enum ws_status status = ws_trace_list_add(&list, n, argv, true, err);
	struct ws_sweep *sweep = ws_sweep_new();
	struct ws_report *report = NULL;
	struct read_runs runs = {0};

	for (size_t i = 0; i < list.n && status == WS_OK; i++) {
		ws_ui_progress("traces", i, list.n);
		status = add_run(sweep, list.path[i], &o.model, &runs, err);
	}
	ws_ui_progress_end();
	if (status == WS_OK && runs.failed == list.n) {
		*err = runs.err;
		status = runs.status;
	}
	WS_THEN(status, ws_sweep_make(sweep, &o.sweep, &report, err));
	WS_THEN(status, ws_destination_show(&o.to, report, o.table, short_tables, err));
	if (status == WS_OK && runs.failed)
		status = WS_FINDING;
	ws_report_free(report);
	ws_sweep_free(sweep);
	ws_trace_list_release(&list);
	return status;
}
