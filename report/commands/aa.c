#include "report/commands/command.h"
#include "report/tables/tables.h"

struct aa_opts {
	struct ws_destination to;
	struct ws_diff_opts diff;
	struct ws_model_opts model;
};

enum ws_status ws_cmd_aa(int argc, char **argv, struct ws_err *err)
{
	struct aa_opts o = {.to = {.format = -1}, .diff = WS_DIFF_OPTS_DEFAULT};
	struct ws_trace_list list = {0};
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT_OUTPUT(&o.to.path),
	        WS_OPT_FORMAT(&o.to.format, ""),
	        WS_OPT("run-noise", 0, REAL, "PCT", &o.diff.run_noise_percent,
	               "run-to-run noise for one run against one, as in diff"),
	        WS_OPT_STEP(&o.model.step),
	        WS_OPTS_SHOWN(&o.to),
	};
	const struct ws_arguments a = WS_ARGUMENTS("aa", opts, 1, INT_MAX, ws_aa_defs);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	WS_FAIL_IF(o.diff.run_noise_percent < 0, err, USAGE,
	           "--run-noise needs a percentage of 0 or more, not %g", o.diff.run_noise_percent);
	/* the only table, so CSV needs no choice */
	WS_FORWARD(ws_destination_resolve(&o.to, "aa", err));
	for (int i = 0; i < n; i++)
		WS_FORWARD(ws_output_check(o.to.path, argv[i], err));
	enum ws_status status = ws_trace_list_add(&list, n, argv, false, err);
	struct ws_sides *sides = ws_sides_new();
	struct ws_report *report = NULL;
	char verdict[512];

	WS_THEN(status, ws_sides_read(sides, &list, NULL, &o.model, false, err));
	WS_THEN(status, ws_aa_make(sides, &o.diff, &report, verdict, err));
	if (status == WS_OK) {
		struct ws_report view = *report;

		/* people and CSV get the table; a workbook and JSON its definitions, too */
		if (o.to.format == WS_FORMAT_TEXT || o.to.format == WS_FORMAT_CSV)
			view.ntables = 1;
		status = ws_destination_write(&o.to, &view, err);
	}
	ws_report_free(report);
	ws_sides_free(sides);
	ws_trace_list_release(&list);
	return status;
}
