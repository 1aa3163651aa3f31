#include <math.h>

#include "report/diff/diff.h"
#include "report/tables/report.h"
#include "report/commands/command.h"
#include "report/commands/trace_open.h"

struct diff_opts {
	struct ws_destination to;
	struct ws_diff_opts diff;
	const char *table;
};

/* What the diff without --table and -o shows. */
static const char *const short_tables[] = {"diff-verdict", "diff-phases", "diff-config"};
#define NSHORT (sizeof(short_tables) / sizeof(*short_tables))

static enum ws_status write_diff(const struct ws_report *report, const struct diff_opts *o,
                                 struct ws_err *err)
{
	struct ws_report view = *report;
	struct ws_table *slots[NSHORT];

	if (o->table)
		WS_FORWARD(ws_report_select(report, o->table, &view, slots, err));
	else if (ws_destination_is_terminal(&o->to))
		ws_report_shorten(report, short_tables, NSHORT, &view, slots);
	return ws_destination_write(&o->to, &view, err);
}

static enum ws_status diff_traces(const char *a_path, const char *b_path, const struct diff_opts *o,
                                  struct ws_err *err)
{
	struct ws_trace_file a_file = {0}, b_file = {0};
	struct ws_model *a = NULL, *b = NULL;
	struct ws_report *report = NULL;
	struct ws_diff_result result = {0};
	enum ws_status rc = ws_trace_file_open(&a_file, a_path, err);

	if (rc == WS_OK)
		rc = ws_trace_file_model(&a, &a_file, NULL, err);
	if (rc == WS_OK)
		rc = ws_trace_file_open(&b_file, b_path, err);
	if (rc == WS_OK)
		rc = ws_trace_file_model(&b, &b_file, NULL, err);
	if (rc == WS_OK)
		rc = ws_diff_make(a, b, &o->diff, &report, &result, err);
	if (rc == WS_OK)
		rc = write_diff(report, o, err);
	if (rc == WS_OK && result.finding) {
		ws_ui_say("over the threshold: %s", result.verdict);
		rc = WS_FINDING;
	}
	ws_report_free(report);
	ws_model_free(b);
	ws_model_free(a);
	ws_trace_file_close(&b_file);
	ws_trace_file_close(&a_file);
	return rc;
}

enum ws_status ws_cmd_diff(int argc, char **argv, struct ws_err *err)
{
	struct diff_opts o = {.to = {.format = -1}, .diff = {.threshold_percent = -1}};
	double threshold = NAN; /* not given */
	bool help = false;
	int n, done;
	const struct ws_opt opts[] = {
	        WS_OPT("output", 'o', TEXT, "FILE", &o.to.path,
	               "write to FILE instead of the terminal; its extension\n"
	               "tells the format: .xlsx, .csv, .json, .md or .txt"),
	        WS_OPT("table", 0, TEXT, "NAME", &o.table, "this table only, of those below"),
	        WS_OPT("format", 0, CHOICE, WS_FORMAT_CHOICES, &o.to.format,
	               "the format, whatever FILE is called; csv needs --table"),
	        WS_OPT("threshold", 0, REAL, "PCT", &threshold,
	               "exit with status 1 when B is more than PCT percent\n"
	               "slower than A, beyond noise"),
	        WS_OPT("rows", 0, INT, "N", &o.to.rows,
	               "at most N rows of each table as text; 0 = all"),
	        WS_OPT_COLOUR(&o.to.colour),
	        WS_OPT_NO_PAGER(&o.to.no_pager),
	        WS_OPT_HELP(&help),
	};
	const struct ws_arguments a = {
	        "diff",
	        "Matches the work of A and B by what it is: range path and order, never kernel "
	        "name or\n"
	        "dtype. B / A below 1 means that B is faster.",
	        opts,
	        sizeof(opts) / sizeof(*opts),
	        2,
	        2,
	        ws_diff_defs,
	};

	WS_FORWARD(ws_command_parse(&a, argc, argv, &n, &done, err));
	if (done)
		return WS_OK;
	WS_FAIL_IF(threshold < 0, err, USAGE,
	           "--threshold needs a percentage from 0, not %g: B is a finding when it is that "
	           "much slower than A",
	           threshold);
	if (!isnan(threshold))
		o.diff.threshold_percent = threshold;
	WS_FORWARD(ws_destination_settle(&o.to, o.table, err));
	WS_FORWARD(ws_output_spares(o.to.path, argv[0], err));
	WS_FORWARD(ws_output_spares(o.to.path, argv[1], err));
	return diff_traces(argv[0], argv[1], &o, err);
}
