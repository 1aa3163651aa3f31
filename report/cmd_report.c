#include "report/analysis.h"
#include "report/command.h"
#include "report/trace_open.h"

#define SHORT_ROWS 12 /* of each table in the short report */

/* What the report without --table and -o shows; a trace may lack some. */
static const char *const short_tables[] = {"summary", "kernel-summary", "step-statistics"};
#define NSHORT (sizeof(short_tables) / sizeof(*short_tables))

struct report_opts {
	struct ws_destination to;
	const char *table;
	struct ws_filter filter;
	int64_t steps[2];
	int64_t rows;
};

/* A trace with holes is reported as far as it goes, and that is said. */
static void warn_of_damage(const struct ws_trace_file *f)
{
	struct ws_trace_reader *r = NULL;
	const struct ws_trace_summary *s;

	if (ws_trace_reader_open(&r, f->path, NULL) != WS_OK)
		return; /* the analysis will say why */
	s = ws_trace_reader_summary(r);
	if (s->damaged_blocks || s->skipped_bytes)
		ws_ui_say("warning: '%s' is damaged: %llu bytes are lost; 'warpsheet check' says "
		          "where",
		          f->name, (unsigned long long)s->skipped_bytes);
	else if (!s->closed)
		ws_ui_say("note: '%s' was not closed: the recorder was stopped; all that it wrote "
		          "is here",
		          f->name);
	ws_trace_reader_free(r);
}

static enum ws_status make(const struct ws_trace_file *f, const struct report_opts *o,
                           struct ws_report **out, struct ws_err *err)
{
	struct ws_model *model = NULL;
	enum ws_status rc = ws_trace_file_model(&model, f, err);

	if (rc == WS_OK)
		rc = ws_report_make(model, &o->filter, out, err);
	ws_model_free(model);
	return rc;
}

static enum ws_status report_trace(const struct ws_trace_file *f, struct report_opts *o,
                                   struct ws_err *err)
{
	struct ws_table *slots[NSHORT];
	struct ws_report *report = NULL, view;
	int is_short = !o->table && ws_destination_is_terminal(&o->to);
	enum ws_status rc = make(f, o, &report, err);

	if (rc != WS_OK)
		goto out;
	warn_of_damage(f);
	view = *report;
	if (o->table)
		rc = ws_report_select(report, o->table, &view, slots, err);
	else if (is_short)
		ws_report_shorten(report, short_tables, NSHORT, &view, slots);
	if (rc != WS_OK)
		goto out;
	o->to.rows = o->rows >= 0 ? o->rows : is_short ? SHORT_ROWS : 0;
	rc = ws_destination_write(&o->to, &view, err);
out:
	ws_report_free(report);
	return rc;
}

enum ws_status ws_cmd_report(int argc, char **argv, struct ws_err *err)
{
	struct report_opts o = {.to = {.format = -1},
	                        .filter = WS_FILTER_ALL,
	                        .steps = {-1, -1},
	                        .rows = -1};
	struct ws_trace_file f;
	enum ws_status rc;
	int help = 0, n, done;
	const struct ws_opt opts[] = {
	        {"output", 'o', WS_OPT_TEXT, "FILE", &o.to.path,
	         "write to FILE instead of the terminal; its extension\n"
	         "tells the format: .xlsx, .csv, .json, .md or .txt"},
	        {"table", 0, WS_OPT_TEXT, "NAME", &o.table,
	         "this table only; a wrong name lists all names"},
	        {"format", 0, WS_OPT_CHOICE, WS_FORMAT_CHOICES, &o.to.format,
	         "the format, whatever FILE is called; csv needs --table"},
	        {"nvtx", 0, WS_OPT_TEXT, "PATTERN", &o.filter.nvtx,
	         "kernels launched in ranges whose path matches, e.g.\n"
	         "'step/forward*'; [domain:]path, with * and ? as in a shell"},
	        {"steps", 0, WS_OPT_RANGE, "A..B", o.steps,
	         "measured steps A to B, counted from 0; warm-up is none"},
	        {"device", 0, WS_OPT_INT, "N", &o.filter.device, "kernels of device N"},
	        {"rows", 0, WS_OPT_INT, "N", &o.rows,
	         "at most N rows of each table as text; 0 = all"},
	        WS_OPT_COLOUR(&o.to.colour),
	        WS_OPT_NO_PAGER(&o.to.no_pager),
	        WS_OPT_HELP(&help),
	};
	const struct ws_arguments a = {
	        "report",
	        "Without -o and --table: a short text report. With -o FILE.xlsx: a workbook with "
	        "all\n"
	        "tables, charts and definitions.",
	        opts,
	        sizeof(opts) / sizeof(*opts),
	        1,
	        1,
	};

	WS_FORWARD(ws_command_parse(&a, argc, argv, &n, &done, err));
	if (done)
		return WS_OK;
	WS_FORWARD(ws_destination_settle(&o.to, o.table, err));
	WS_FORWARD(ws_output_spares(o.to.path, argv[0], err));
	o.filter.step_first = o.steps[0];
	o.filter.step_last = o.steps[1];
	rc = ws_trace_file_open(&f, argv[0], err);
	if (rc == WS_OK)
		rc = report_trace(&f, &o, err);
	ws_trace_file_close(&f);
	return rc;
}
