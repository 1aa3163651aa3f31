#include "report/commands/command.h"
#include "report/page/page.h"
#include "report/ranks/ranks.h"
#include "report/replay/replay.h"
#include "report/tables/tables.h"

#define SHORT_ROWS 12 /* rows of each table in the short report */

/* Tables of a report without --table and -o; a trace may lack some. */
static const char *const short_tables[] = {"summary", "whatif", "slow-step", "step-statistics",
                                           NULL};
#define NSHORT (sizeof(short_tables) / sizeof(*short_tables) - 1)

struct report_opts {
	struct ws_destination to;
	const char *table, *columns, *sort;
	struct ws_column_choice choice; /* choice of columns */
	struct ws_filter filter;
	int64_t steps[2], stream, process;
	int64_t rows;
	int scope;     /* enum ws_scope */
	int by_choice; /* position in BY_CHOICES */
	struct ws_opt_texts whatif;
	const char *time, *rules_path, *peaks_path, *step, *device_name, *timeline, *sql_path;
	double softmax_flops;
};
#define REPORT_OPTS                                                                     \
	{                                                                               \
		.to = {.format = -1}, .filter = WS_FILTER_ALL, .scope = WS_SCOPE_STEPS, \
		.steps = {-1, -1}, .stream = -1, .process = -1, .rows = -1,             \
		.by_choice = BY_CAPTURE                                                 \
	}
#define BY_CHOICES "launch|capture|gpu-time"
enum { BY_LAUNCH, BY_CAPTURE, BY_GPU_TIME };
#define SCOPE_CHOICES  "all|steps|warm-up|setup|outside"
#define MOST_SQL_BYTES ((size_t)1 << 20)

/* Reads a small file of the user, - for standard input, and appends a NUL; *text stays NULL without
 * a file. The caller frees it. */
static enum ws_status read_text(const char *path, size_t max_bytes, char **text, size_t *len,
                                struct ws_err *err)
{
	const bool is_stdin = path && !strcmp(path, "-");
	FILE *f = is_stdin ? stdin : path ? fopen(path, "rb") : NULL;
	enum ws_status status = WS_OK;

	if (!path)
		return WS_OK;
	WS_FAIL_IF(!f, err, IO_READ, "cannot open '%s': %s", path, strerror(errno));
	*text = ws_xmalloc(max_bytes + 1);
	*len = fread(*text, 1, max_bytes + 1, f);
	if (ferror(f))
		status = WS_FAIL(err, IO_READ, "cannot read '%s': %s", path, strerror(errno));
	else if (*len > max_bytes)
		status = WS_FAIL(err, USAGE, "'%s' is over %zu bytes long", path, max_bytes);
	else
		(*text)[*len] = '\0';
	if (!is_stdin)
		fclose(f);
	return status;
}

/* Files given by the user; the caller frees the texts. */
struct user_files {
	char *rules, *peaks, *sql;
	struct ws_model_opts opts;
};

static enum ws_status read_user_files(const struct report_opts *o, struct user_files *u,
                                      struct ws_err *err)
{
	size_t sql_len;

	*u = (struct user_files){.opts = {.softmax_flops = o->softmax_flops,
	                                  .step = o->step,
	                                  .device_name = o->device_name,
	                                  .by_launch = o->by_choice == BY_LAUNCH,
	                                  .progress = ws_ui_progress}};
	WS_FORWARD(
	        read_text(o->rules_path, WS_RULES_MAX_BYTES, &u->rules, &u->opts.rules_len, err));
	u->opts.rules = u->rules;
	WS_FORWARD(
	        read_text(o->peaks_path, WS_PEAKS_MAX_BYTES, &u->peaks, &u->opts.peaks_len, err));
	u->opts.peaks = u->peaks;
	return read_text(o->sql_path, MOST_SQL_BYTES, &u->sql, &sql_len, err);
}

static void free_user_files(struct user_files *u)
{
	free(u->rules);
	free(u->peaks);
	free(u->sql);
}

static enum ws_status make_tables(struct ws_trace_file *f, struct report_opts *o,
                                  const struct ws_table_def *const *defs, size_t ndefs,
                                  struct ws_report **out, struct ws_err *err)
{
	struct user_files u;
	enum ws_status status = read_user_files(o, &u, err);

	WS_THEN(status, ws_trace_file_opts(f, &u.opts, &u.opts, err));
	WS_THEN(status, ws_report_stream(f->reader, f->name, &u.opts, &o->filter, defs, ndefs,
	                                 u.sql ? NULL : o->choice.wanted, u.sql, out, err));
	ws_ui_progress_end();
	free_user_files(&u);
	return status;
}

/* Makes only the requested tables; for a wrong name all, to list them. */
static enum ws_status make_wanted(struct ws_trace_file *f, struct report_opts *o, int is_short,
                                  struct ws_report **out, struct ws_err *err)
{
	const struct ws_table_def *one = o->table ? ws_table_def_by_name(o->table) : NULL;
	const struct ws_table_def *some[NSHORT];
	const struct ws_table_def *const *all;
	size_t nall;

	if (one)
		return make_tables(f, o, &one, 1, out, err);
	if (is_short) {
		nall = 0;
		for (size_t i = 0; i < NSHORT; i++)
			if (o->whatif.n || strcmp(short_tables[i], "whatif") != 0)
				some[nall++] = ws_table_def_by_name(short_tables[i]);
		return make_tables(f, o, some, nall, out, err);
	}
	all = ws_table_defs(&nall);
	if (!o->whatif.n)
		return make_tables(f, o, all, nall, out, err);
	/* after the summary; the method stays last */
	const struct ws_table_def **with_whatif = ws_xarray(nall + 1, sizeof(*with_whatif));
	with_whatif[0] = all[0];
	with_whatif[1] = ws_table_def_by_name("whatif");
	memcpy(&with_whatif[2], &all[1], (nall - 1) * sizeof(*all));
	enum ws_status status = make_tables(f, o, with_whatif, nall + 1, out, err);
	free(with_whatif);
	return status;
}

/* --- --time ------------------------------------------------------------------------------- */

/* "1.5ms", "20us", "3s", "100" (ns). */
static bool take_time(const char **text, int64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double value = strtod(*text, &end), factor = 1;

	if (end == *text)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t len = strlen(units[i].name);

		if (!strncmp(end, units[i].name, len)) {
			factor = units[i].ns;
			end += len;
			break;
		}
	}
	value *= factor;
	if (!(value >= 0 && value < 9e18))
		return false;
	*ns = (int64_t)(value + 0.5);
	*text = end;
	return true;
}

/* A..B, A.. or ..B */
static enum ws_status parse_time(const char *text, struct ws_filter *f, struct ws_err *err)
{
	const char *p = text, *dots = strstr(text, "..");
	char first[64] = "";
	const char *q = first;

	f->has_time = 1;
	f->time_first_ns = 0;
	f->time_end_ns = INT64_MAX;
	/* strtod would consume the first dot of ".." */
	if (!dots || (size_t)(dots - text) >= sizeof(first))
		goto wrong;
	memcpy(first, text, (size_t)(dots - text));
	p = dots + 2;
	if (*first && (!take_time(&q, &f->time_first_ns) || *q))
		goto wrong;
	if (*p && (!take_time(&p, &f->time_end_ns) || *p))
		goto wrong;
	if (f->time_end_ns > f->time_first_ns && (*first || dots[2]))
		return WS_OK;
wrong:
	return WS_FAIL(err, USAGE,
	               "--time needs a range such as 1.5ms..3ms, 2s.. or ..100us, not '%s'", text);
}

/* "total_ns", "Instances,asc": by default numbers descend and texts ascend. */
static enum ws_status sort_table(struct ws_table *t, const char *by, struct ws_err *err)
{
	const char *comma = strrchr(by, ',');
	size_t column;

	if (!strcmp(by, "tree"))
		return WS_OK;
	WS_FORWARD(ws_column_find(by, comma ? (size_t)(comma - by) : strlen(by), t->def, &column,
	                          err));
	bool descending = t->def->columns[column].type != WS_CELL_TEXT;
	if (comma) {
		WS_FAIL_IF(strcmp(comma, ",asc") != 0 && strcmp(comma, ",desc") != 0, err, USAGE,
		           "--sort COLUMN,%s: write COLUMN,asc or COLUMN,desc", comma + 1);
		descending = comma[1] == 'd';
	}
	ws_table_sort(t, column, descending);
	return WS_OK;
}

static enum ws_status report_trace(struct ws_trace_file *f, struct report_opts *o,
                                   struct ws_err *err)
{
	struct ws_table *slots[NSHORT];
	struct ws_report *report = NULL, view;
	bool is_short = !o->table && ws_destination_is_terminal(&o->to);
	enum ws_status status = make_wanted(f, o, is_short, &report, err);

	if (status != WS_OK)
		goto out;
	ws_trace_file_print_damage(f);
	view = *report;
	if (o->table)
		status = ws_report_select(report, o->table, &view, slots, err);
	else if (is_short && !o->sql_path) {
		/* One step has no statistics. */
		const struct ws_table *last;

		ws_report_shorten(report, short_tables, &view, slots);
		if (!report->page->has_slow_step) { /* then the place before the last is its */
			view.ntables--;
			slots[view.ntables - 1] = slots[view.ntables];
		}
		last = view.tables[view.ntables - 1];
		int steps = ws_table_column_index(last->def, "steps");
		if (steps >= 0 &&
		    (!last->nrows || ws_cell_magnitude(&ws_table_cells(last, 0)[steps]) < 2))
			view.ntables--;
	}
	if (status == WS_OK && ((o->sort && strcmp(o->sort, "tree") != 0) || o->columns ||
	                        o->to.format == WS_FORMAT_CSV))
		ws_table_drop_headings(view.tables[0]);
	if (status == WS_OK && o->sort)
		status = sort_table(view.tables[0], o->sort, err);
	if (status == WS_OK && o->columns)
		slots[0] = ws_columns_take(&o->choice, view.tables[0]);
	if (status != WS_OK)
		goto out;
	o->to.has_front = is_short;
	o->to.rows = o->rows >= 0 ? o->rows : is_short ? SHORT_ROWS : 0;
	status = ws_destination_write(&o->to, &view, err);
	if (status == WS_OK && report->lacks_comm && !o->table) {
		ws_ui_print("alarm: no communication kernel ran, but there is more than one "
		            "rank: " WS_LACKS_COMM);
		status = WS_FINDING;
	}
out:
	ws_report_free(report);
	return status;
}

/* --- many ranks of one run ---------------------------------------------------------------- */

static const char *const short_rank_tables[] = {"ranks-verdict", "ranks", "collectives", NULL};

struct of_ranks {
	struct ws_ranks *ranks;
	size_t failed;
};

static void add_rank(void *ctx, size_t i, const struct ws_model *m, struct ws_joined_rows *rows)
{
	const struct of_ranks *of = ctx;

	(void)i;
	ws_ranks_add(of->ranks, m, rows);
}

static void add_unread_rank(void *ctx, size_t i, const char *why)
{
	struct of_ranks *of = ctx;

	(void)i;
	of->failed++;
	ws_ui_print("warning: %s", why);
	ws_ranks_add_failed(of->ranks, why);
}

static enum ws_status check_ranks(const struct ws_trace_list *list, const struct ws_ranks *ranks,
                                  struct ws_err *err)
{
	/* names of the runs of `record --repeat`: "mlp-r3.wtrace" */
	for (size_t i = 0; i < list->n; i++) {
		const char *dash = strrchr(list->path[i], '-');
		const size_t digits = dash && dash[1] == 'r' ? strspn(dash + 2, "0123456789") : 0;

		if (!digits || strcmp(dash + 2 + digits, ".wtrace") != 0)
			return WS_OK;
	}
	WS_FAIL_IF(ws_ranks_are_unrelated(ranks), err, USAGE,
	           "these %zu traces are repeated runs, not ranks of one run. Did you mean "
	           "'warpsheet aa' (how much they vary), 'warpsheet diff A... -- B...' or "
	           "'warpsheet sweep'? 'warpsheet report' takes one of them",
	           list->n);
	return WS_OK;
}

/* Options for selecting a part of a trace, shared by report and query. */
#define FILTER_OPTS(o)                                                                     \
	WS_OPT("scope", 0, CHOICE, SCOPE_CHOICES, &(o)->scope,                             \
	       "part of the run: steps (default; the whole trace if there\n"               \
	       "are none), warm-up, setup, outside of those, or all"),                     \
	        WS_OPT("nvtx", 0, TEXT, "PATTERN", &(o)->filter.nvtx,                      \
	               "work launched in ranges whose path matches, e.g.\n"                \
	               "'step/forward*'; [domain:]path, with wildcards * and ?;\n"         \
	               "#N or #A..B at the end: only these instances, from 0"),            \
	        WS_OPT("by", 0, CHOICE, BY_CHOICES, &(o)->by_choice,                       \
	               "work of a CUDA graph counts where the graph was launched, or\n"    \
	               "where it was captured (default); gpu-time: with --nvtx, work\n"    \
	               "that ran while one of the ranges was open"),                       \
	        WS_OPT("steps", 0, RANGE, "A..B", (o)->steps,                              \
	               "measured steps A to B, by their number in `steps`"),               \
	        WS_OPT("device", 0, INT, "N", &(o)->filter.device, "kernels of device N"), \
	        WS_OPT("stream", 0, INT, "N", &(o)->stream, "kernels of stream N"),        \
	        WS_OPT("process", 0, INT, "PID", &(o)->process, "work of process PID"),    \
	        WS_OPT("kernel", 0, TEXT, "REGEX", &(o)->filter.kernel,                    \
	               "kernels whose name matches the POSIX regular expression"),         \
	        WS_OPT("time", 0, TEXT, "A..B", &(o)->time,                                \
	               "work that overlaps this time, from the trace's start, e.g.\n"      \
	               "1.5ms..3ms; units ns (default), us, ms, s")
#define MODEL_OPTS(o)                                                                  \
	WS_OPT("rules", 0, TEXT, "FILE", &(o)->rules_path,                             \
	       "extra rules for a kernel's class by its name, before\n"                \
	       "the built-in ones"),                                                   \
	        WS_OPT("peaks", 0, TEXT, "FILE", &(o)->peaks_path,                     \
	               "extra peak rates of devices, before the built-in ones"),       \
	        WS_OPT_STEP(&(o)->step),                                               \
	        WS_OPT("device-name", 0, TEXT, "NAME", &(o)->device_name,              \
	               "name of a device that the file does not name; sets its peak\n" \
	               "rates, e.g. 'AMD Instinct MI300X'")

/* Converts options that are not members of the filter. */
static enum ws_status resolve_filter(struct report_opts *o, struct ws_err *err)
{
	o->filter.scope = (enum ws_scope)o->scope;
	o->filter.step_first = o->steps[0];
	o->filter.step_last = o->steps[1];
	o->filter.has_stream = o->stream >= 0;
	o->filter.stream = (uint64_t)o->stream;
	o->filter.has_process = o->process >= 0;
	o->filter.process = (uint64_t)o->process;
	o->filter.by_gpu_time = o->by_choice == BY_GPU_TIME;
	WS_FAIL_IF(o->filter.by_gpu_time && !o->filter.nvtx, err, USAGE,
	           "--by gpu-time needs --nvtx PATTERN");
	return o->time ? parse_time(o->time, &o->filter, err) : WS_OK;
}

static const char *any_table(const void *ctx, size_t i)
{
	size_t n;
	const struct ws_table_def *const *all = ws_table_defs_all(&n);

	(void)ctx;
	return i < n ? all[i]->name : NULL;
}

static enum ws_status resolve_columns(struct report_opts *o, struct ws_err *err)
{
	const struct ws_table_def *def = o->table ? ws_table_def_by_name(o->table) : NULL;

	WS_FAIL_IF((o->columns || o->sort) && !o->table, err, USAGE,
	           "--%s needs one table: choose it with --table", o->columns ? "columns" : "sort");
	if (o->table && !def)
		return ws_table_unknown(o->table, any_table, NULL, err);
	if (def)
		o->table = def->name;
	o->to.takes_columns = true;
	if (!o->columns)
		return WS_OK;
	WS_FORWARD(ws_columns_parse(o->columns, def, &o->choice, err));
	/* ws_table_drop_headings reads it */
	const int name = ws_table_column_index(def, "name");
	if (name >= 0)
		o->choice.wanted[name] = 1;
	if (o->sort && strcmp(o->sort, "tree") != 0) {
		size_t column;

		WS_FORWARD(ws_column_find(o->sort, strcspn(o->sort, ","), def, &column, err));
		o->choice.wanted[column] = 1; /* it is needed for sorting, even if not shown */
	}
	return WS_OK;
}

enum ws_status ws_cmd_report(int argc, char **argv, struct ws_err *err)
{
	struct report_opts o = REPORT_OPTS;
	struct ws_trace_file f;
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT_OUTPUT(&o.to.path),
	        WS_OPT_TABLE(&o.table, "; or kernel-trace,\n"
	                               "every kernel execution (only made on request)"),
	        WS_OPT("columns", 0, TEXT, "LIST", &o.columns,
	               "with --table: only these columns (faster), by id or title,\n"
	               "separated by commas"),
	        WS_OPT("sort", 0, TEXT, "COLUMN", &o.sort,
	               "with --table: rows by this column, largest numbers first;\n"
	               "COLUMN,asc or COLUMN,desc gives the direction"),
	        WS_OPT_FORMAT(&o.to.format, "; csv needs --table"),
	        FILTER_OPTS(&o),
	        MODEL_OPTS(&o),
	        WS_OPT("timeline", 0, TEXT, "STEP", &o.timeline,
	               "HTML: measured step that the timeline draws, by its number\n"
	               "in `steps`; none: no timeline (default: the median step)"),
	        WS_OPT("whatif", 0, TEXTS, "CHANGE", &o.whatif,
	               "the step's time with a change, such as\n"
	               "'class=gemm x0.5', 'cause=data x0',\n"
	               "dtype=bf16 or gpu=H200; may be given several times"),
	        WS_OPT("sql", 0, TEXT, "FILE", &o.sql_path,
	               "adds a table for each query in FILE, as `warpsheet query`\n"
	               "makes it: its title is the comment before it"),
	        WS_OPT("softmax-flops", 0, REAL, "N", &o.softmax_flops,
	               "FLOPs per softmax element in softmax-matmul (default 5)"),
	        WS_OPT("rows", 0, INT, "N", &o.rows,
	               "at most N rows of each table; 0 = all. HTML and workbooks\n"
	               "have all"),
	        WS_OPT("top", 0, INT, "N", &o.rows, "the same as --rows"),
	        WS_OPTS_SHOWN(&o.to),
	};
	const struct ws_arguments a = WS_ARGUMENTS("report", opts, 1, INT_MAX, ws_table_defs);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	ws_memory_give_back();
	WS_FORWARD(ws_destination_resolve(&o.to, o.table, err));
	WS_FORWARD(ws_output_check(o.to.path, argv[0], err));
	WS_FAIL_IF(o.softmax_flops < 0, err, USAGE,
	           "--softmax-flops needs a number of 0 or more, not %g", o.softmax_flops);
	WS_FAIL_IF(o.table && o.sql_path, err, USAGE,
	           "--sql adds tables to a report; `warpsheet query` shows them alone");
	WS_FORWARD(resolve_filter(&o, err));

	/* The timeline: a number, or "none". By default HTML has the median step. */
	const bool is_html_report = o.to.format == WS_FORMAT_HTML && !o.table;

	o.filter.has_timeline = is_html_report && !(o.timeline && !strcmp(o.timeline, "none"));
	o.filter.timeline = -1;
	WS_FAIL_IF(o.timeline && !is_html_report, err, USAGE,
	           "--timeline is for HTML: give -o NAME.html with it");
	if (o.timeline && o.filter.has_timeline) {
		char *end = NULL;

		errno = 0;
		o.filter.timeline = strtoll(o.timeline, &end, 10);
		WS_FAIL_IF(end == o.timeline || *end || errno || o.filter.timeline < 0, err, USAGE,
		           "--timeline needs the number of a measured step, or none, not '%s'",
		           o.timeline);
	}

	const struct ws_table_def *def = o.table ? ws_table_def_by_name(o.table) : NULL;

	WS_FAIL_IF(def && !strcmp(def->name, "whatif") && !o.whatif.n, err, USAGE,
	           "table whatif needs a change: --whatif 'class=gemm x0.5'");
	for (size_t i = 0; i < o.whatif.n; i++)
		WS_FORWARD(ws_whatif_check(o.whatif.text[i], err));
	o.filter.whatif = o.whatif.text;
	o.filter.nwhatif = o.whatif.n;
	size_t nof_ranks;
	const struct ws_table_def *const *of_ranks = ws_ranks_defs(&nof_ranks);
	bool is_of_ranks = ws_trace_list_is_many(n, argv);

	for (size_t i = 0; i < nof_ranks && o.table && !def; i++)
		is_of_ranks |= !strcmp(o.table, of_ranks[i]->name);
	if (is_of_ranks) {
		struct ws_trace_list list = {0};
		struct ws_report *report = NULL;
		struct user_files u = {0};
		const char *alarm = NULL;

		WS_FAIL_IF(!ws_filter_is_all(&o.filter) || o.columns || o.sort || o.sql_path ||
		                   o.whatif.n,
		           err, USAGE, "filters, --columns, --sort, --sql and --whatif %s",
		           ws_trace_list_is_many(n, argv)
		                   ? "need a single trace; this is a run of several ranks"
		                   : "do not apply to tables of ranks");
		for (int i = 0; i < n; i++)
			WS_FORWARD(ws_output_check(o.to.path, argv[i], err));

		struct ws_ranks *ranks = ws_ranks_new();
		struct of_ranks of = {.ranks = ranks};
		enum ws_status status = ws_trace_list_add(&list, n, argv, false, err);

		WS_THEN(status, read_user_files(&o, &u, err));
		u.opts.progress = NULL; /* traces are counted */
		WS_THEN(status,
		        ws_traces_read(&list, &u.opts, add_rank, add_unread_rank, &of, err));
		WS_THEN(status, check_ranks(&list, ranks, err));
		WS_THEN(status, ws_ranks_make(ranks, &report, &alarm, err));
		o.to.rows = o.rows >= 0 ? o.rows : 0;
		WS_THEN(status,
		        ws_destination_show(&o.to, report, o.table, short_rank_tables, err));
		if (status == WS_OK && alarm)
			ws_ui_print("alarm: %s", alarm);
		if (status == WS_OK && (alarm || of.failed))
			status = WS_FINDING;
		ws_report_free(report);
		ws_ranks_free(ranks);
		free_user_files(&u);
		ws_trace_list_release(&list);
		return status;
	}
	enum ws_status status = resolve_columns(&o, err);
	if (status == WS_OK) {
		status = ws_trace_file_open(&f, argv[0], err);
		WS_THEN(status, report_trace(&f, &o, err));
		ws_trace_file_close(&f);
	}
	ws_columns_release(&o.choice);
	return status;
}

/* --- query -------------------------------------------------------------------------------- */

enum ws_status ws_cmd_query(int argc, char **argv, struct ws_err *err)
{
	struct report_opts o = REPORT_OPTS;
	struct ws_trace_file f;
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT_OUTPUT(&o.to.path),
	        WS_OPT_FORMAT(&o.to.format, ""),
	        WS_OPT("sql", 0, TEXT, "FILE", &o.sql_path,
	               "queries of FILE (-: standard input), with ; between them;\n"
	               "a comment before a query is the title of its table"),
	        FILTER_OPTS(&o),
	        MODEL_OPTS(&o),
	        WS_OPT("rows", 0, INT, "N", &o.rows,
	               "at most N rows of each table; 0 = all. HTML and workbooks\n"
	               "have all"),
	        WS_OPTS_SHOWN(&o.to),
	};
	const struct ws_arguments a = WS_ARGUMENTS("query", opts, 1, 2, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	WS_FAIL_IF(n == 2 && o.sql_path, err, USAGE, "give a query or --sql FILE, not both");
	WS_FORWARD(ws_destination_resolve(&o.to, "", err));
	WS_FORWARD(ws_output_check(o.to.path, argv[0], err));
	WS_FORWARD(resolve_filter(&o, err));
	enum ws_status status = ws_trace_file_open(&f, argv[0], err);
	const char *sql = n == 2 ? argv[1] : NULL;
	struct user_files u = {0};
	struct ws_report *report = NULL;

	WS_THEN(status, read_user_files(&o, &u, err));
	WS_THEN(status, ws_trace_file_opts(&f, &u.opts, &u.opts, err));
	if (status == WS_OK && !sql && !u.sql)
		report = ws_report_relations(f.name);
	else
		WS_THEN(status, ws_report_stream(f.reader, f.name, &u.opts, &o.filter, NULL, 0,
		                                 NULL, sql ? sql : u.sql, &report, err));
	ws_ui_progress_end();
	if (status == WS_OK) {
		ws_trace_file_print_damage(&f);
		o.to.rows = o.rows >= 0 ? o.rows : 0;
		if (o.to.format == WS_FORMAT_CSV && report->ntables > 1)
			status = WS_FAIL(err, USAGE,
			                 "CSV holds one table, and these are %zu queries",
			                 report->ntables);
	}
	WS_THEN(status, ws_destination_write(&o.to, report, err));
	ws_report_free(report);
	free_user_files(&u);
	ws_trace_file_close(&f);
	return status;
}
