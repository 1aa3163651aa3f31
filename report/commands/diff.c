#include "report/commands/command.h"
#include "report/tables/tables.h"

struct diff_opts {
	struct ws_destination to;
	struct ws_diff_opts diff;
	struct ws_model_opts model;
	const char *table;
};

/* Tables of a diff without --table and -o. */
static const char *const short_tables[] = {"diff-verdict", "diff-waterfall", "diff-phases",
                                           "diff-ops",     "diff-config",    NULL};

static enum ws_status check_percent(const char *name, double percent, struct ws_err *err)
{
	WS_FAIL_IF(percent < 0, err, USAGE, "--%s needs a percentage of 0 or more, not %g", name,
	           percent);
	return WS_OK;
}

enum ws_status ws_cmd_diff(int argc, char **argv, struct ws_err *err)
{
	struct diff_opts o = {.to = {.format = -1}, .diff = WS_DIFF_OPTS_DEFAULT};
	double threshold = NAN; /* not given */
	bool aa = false;
	int by_capture = 1;
	int n = 0, nb = 0, separator = -1; /* "--" between A and B if a side has several traces */
	struct ws_trace_list list[2] = {{0}};
	const struct ws_opt opts[] = {
	        WS_OPT_OUTPUT(&o.to.path),
	        WS_OPT_TABLE(&o.table, ""),
	        WS_OPT_FORMAT(&o.to.format, "; csv needs --table"),
	        WS_OPT("threshold", 0, REAL, "PCT", &threshold,
	               "exit with status 1 when B is significantly more than PCT\n"
	               "percent slower than A"),
	        WS_OPT("min-effect", 0, REAL, "PCT", &o.diff.min_effect_percent,
	               "a difference under PCT percent does not count;\n"
	               "default 1"),
	        WS_OPT("same-within", 0, REAL, "PCT", &o.diff.same_within_percent,
	               "SAME means certainly within PCT percent; default 3"),
	        WS_OPT("run-noise", 0, REAL, "PCT", &o.diff.run_noise_percent,
	               "assumed noise of a side with fewer than three runs;\n"
	               "default on a GPU: 1, or 5 or more for steps that wait"),
	        WS_OPT("force", 0, FLAG, NULL, &o.diff.force,
	               "grades and ratios even when A and B did not do the\n"
	               "same work"),
	        WS_OPT("by", 0, CHOICE, "launch|capture", &by_capture,
	               "work of a CUDA graph counts where the graph was launched,\n"
	               "or where it was captured (default)"),
	        WS_OPT_STEP(&o.model.step),
	        WS_OPT("aa", 0, FLAG, NULL, &aa,
	               "an A/A test of all recordings instead: 'warpsheet aa'"),
	        WS_OPT("rows", 0, INT, "N", &o.to.rows,
	               "at most N rows of each table; 0 = all. HTML and workbooks\n"
	               "have all"),
	        WS_OPTS_SHOWN(&o.to),
	};
	const struct ws_arguments a = WS_ARGUMENTS("diff", opts, 0, INT_MAX, ws_diff_defs);

	for (int i = 0; i < argc && separator < 0; i++)
		separator = !strcmp(argv[i], "--") ? i : -1;
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "--aa")) {
			memmove(argv + i, argv + i + 1, (size_t)(argc - i - 1) * sizeof(*argv));
			return ws_cmd_aa(argc - 1, argv, err);
		}
	WS_COMMAND_PARSE(&a, separator >= 0 ? separator : argc, argv, &n, err);
	if (separator >= 0) {
		/* options may follow the traces of B, too */
		WS_FORWARD(ws_opt_parse(opts, sizeof(opts) / sizeof(*opts), argc - separator - 1,
		                        argv + separator + 1, &nb, err));
		memmove(argv + n, argv + separator + 1, (size_t)nb * sizeof(*argv));
		separator = n;
	}
	o.model.by_launch = !by_capture;
	/* threshold: NaN if not given */
	WS_FAIL_IF(threshold < 0, err, USAGE,
	           "--threshold needs a percentage of 0 or more, not %g: B is a finding when it is "
	           "that much slower than A",
	           threshold);
	if (!isnan(threshold))
		o.diff.threshold_percent = threshold;
	WS_FORWARD(check_percent("min-effect", o.diff.min_effect_percent, err));
	WS_FORWARD(check_percent("same-within", o.diff.same_within_percent, err));
	WS_FORWARD(check_percent("run-noise", o.diff.run_noise_percent, err));
	WS_FORWARD(ws_destination_resolve(&o.to, o.table, err));
	for (int i = 0; i < n + nb; i++)
		WS_FORWARD(ws_output_check(o.to.path, argv[i], err));
	const int ntraces = n + nb, split = separator >= 0 ? separator : 1;

	WS_FAIL_IF(ntraces < 2 || split == 0 || split == ntraces, err, USAGE,
	           "diff needs two traces, see 'warpsheet help diff'");
	WS_FAIL_IF(separator < 0 && ntraces > 2, err, USAGE,
	           "too many traces ('%s'). To compare several runs per side, separate them: "
	           "diff A... -- B...",
	           argv[2]);

	struct ws_sides *sides = ws_sides_new();
	struct ws_report *report = NULL;
	struct ws_diff_result result = {0};
	const bool are_shown =
	        !o.table && (o.to.format == WS_FORMAT_HTML || o.to.format == WS_FORMAT_XLSX);
	enum ws_status status = ws_trace_list_add(&list[0], split, argv, false, err);

	WS_THEN(status, ws_trace_list_add(&list[1], ntraces - split, argv + split, false, err));
	WS_THEN(status, ws_sides_read(sides, &list[0], &list[1], &o.model, are_shown, err));
	WS_THEN(status, ws_diff_make(sides, &o.diff, &report, &result, err));
	WS_THEN(status, ws_destination_show(&o.to, report, o.table, short_tables, err));
	if (status == WS_OK && result.finding) {
		ws_ui_print("Over the threshold. %s", result.verdict);
		status = WS_FINDING;
	}
	ws_report_free(report);
	ws_sides_free(sides);
	ws_trace_list_release(&list[0]);
	ws_trace_list_release(&list[1]);
	return status;
}
