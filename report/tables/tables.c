/*
 * The tables of tables.def as data, and from a trace to tables of them.
 */
#include "report/tables/tables.h"

#include <stdlib.h>
#include <string.h>

#include "report/analysis/digest.h"
#include "report/base/names.h"
#include "report/pass/pass.h"
#include "report/tables/needs.h"

#define C(table, column, title, unit, type, display, definition) \
	{#column, title, unit, WS_CELL_##type, WS_DISPLAY_##display, definition},
#define T(id, name, title, sheet, what)                                           \
	static const struct ws_table_column columns_##id[] = {WS_TCOLS_##id(C)};  \
	const struct ws_table_def ws_def_##id = {                                 \
	        name, title,        sheet,                                        \
	        what, columns_##id, sizeof(columns_##id) / sizeof(*columns_##id), \
	};
WS_REPORT_TABLES(T)
WS_REQUEST_TABLES(T)
WS_DIFF_TABLES(T)
WS_AA_TABLES(T)
WS_SWEEP_TABLES(T)
#undef T
#undef C

#define T(id, name, title, sheet, what) &ws_def_##id,
/* those of every report, then those on request */
static const struct ws_table_def *const report_defs[] = {WS_REPORT_TABLES(T) WS_REQUEST_TABLES(T)};
static const struct ws_table_def *const diff_defs[] = {WS_DIFF_TABLES(T)};
static const struct ws_table_def *const aa_defs[] = {WS_AA_TABLES(T)};
static const struct ws_table_def *const sweep_defs[] = {WS_SWEEP_TABLES(T)};
#undef T

typedef enum ws_status (*builder)(const struct ws_tab *, struct ws_table *, struct ws_err *);

#define T(id, name, title, sheet, what) ws_tab_##id,
static const builder builders[] = {WS_REPORT_TABLES(T) WS_REQUEST_TABLES(T)};
#undef T

#define T(id, name, title, sheet, what) +1
enum { NREPORT = 0 WS_REPORT_TABLES(T), NKNOWN = NREPORT WS_REQUEST_TABLES(T) };
#undef T

const struct ws_table_def *const *ws_table_defs(size_t *count)
{
	*count = NREPORT;
	return report_defs;
}

const struct ws_table_def *const *ws_request_defs(size_t *count)
{
	*count = NKNOWN - NREPORT;
	return report_defs + NREPORT;
}

const struct ws_table_def *const *ws_diff_defs(size_t *count)
{
	*count = sizeof(diff_defs) / sizeof(*diff_defs);
	return diff_defs;
}

const struct ws_table_def *const *ws_aa_defs(size_t *count)
{
	*count = sizeof(aa_defs) / sizeof(*aa_defs);
	return aa_defs;
}

const struct ws_table_def *const *ws_sweep_defs(size_t *count)
{
	*count = sizeof(sweep_defs) / sizeof(*sweep_defs);
	return sweep_defs;
}

const struct ws_table_def *ws_table_def_by_name(const char *name)
{
	for (size_t i = 0; i < NKNOWN; i++)
		if (!strcmp(report_defs[i]->name, name))
			return report_defs[i];
	return NULL;
}

enum ws_status ws_table_done(const struct ws_table *t, struct ws_err *err)
{
	if (!ws_table_failed(t))
		return WS_OK;
	return WS_FAIL(err, NO_MEMORY, "no memory for the table %s", t->def->name);
}

static enum ws_status make(const struct ws_tab *tab, const struct ws_table_def *def,
                           struct ws_table **out, struct ws_err *err)
{
	struct ws_table *t;
	size_t which = 0;
	enum ws_status status;

	while (which < NKNOWN && report_defs[which] != def)
		which++;
	if (which == NKNOWN)
		return WS_FAIL(err, BUG, "%s is no table of a report", def->name);
	t = ws_table_new(def);
	if (!t)
		return WS_FAIL(err, NO_MEMORY, "no memory for the table %s", def->name);
	status = builders[which](tab, t, err);
	if (tab->sel->words[0])
		ws_table_note(t, "Filter: %s. Totals and percentages are of what it lets through.",
		              tab->sel->words);
	if (tab->sel->nothing)
		ws_table_note(t, "Nothing in the trace passes the filter.");
	if (ws_model_on_cpu(tab->m))
		ws_table_note(t,
		              "%s ran on the CPU reference: these are true times of a reference "
		              "computation, and no GPU's.",
		              ws_model_on_cpu(tab->m) == 1 ? "All kernels" : "Some kernels");
	if (status == WS_OK)
		status = ws_table_done(t, err);
	if (status == WS_OK)
		*out = t;
	else
		ws_table_free(t);
	return status;
}

/* The digest of a loaded model that these tables are views of. */
static enum ws_status digest(struct ws_digest *d, const struct ws_model *m,
                             const struct ws_selection *sel, const struct ws_table_def *const *defs,
                             size_t ndefs, struct ws_err *err)
{
	unsigned parts = 0;
	int rows;

	for (size_t i = 0; i < ndefs; i++)
		parts |= ws_table_needs(defs[i], NULL, &rows);
	return ws_digest_of_model(d, m, sel, parts, err);
}

enum ws_status ws_table_make(const struct ws_model *m, const struct ws_table_def *def,
                             const struct ws_filter *filter, struct ws_table **out,
                             struct ws_err *err)
{
	struct ws_digest d = {0};
	struct ws_selection sel;
	struct ws_tab tab = {m, &sel, &d};
	enum ws_status status;

	*out = NULL;
	status = ws_select(m, filter, &sel, err);
	if (status == WS_OK)
		status = digest(&d, m, &sel, &def, 1, err);
	if (status == WS_OK)
		status = make(&tab, def, out, err);
	ws_digest_release(&d);
	ws_selection_release(&sel);
	return status;
}

enum ws_status ws_report_make(const struct ws_model *m, const struct ws_filter *filter,
                              struct ws_report **out, struct ws_err *err)
{
	return ws_report_make_tables(m, filter, report_defs, NREPORT, out, err);
}

/* All tables from what is in tab. */
static enum ws_status make_report(const struct ws_tab *tab, const struct ws_table_def *const *defs,
                                  size_t ndefs, struct ws_report **out, struct ws_err *err)
{
	struct ws_report *report = calloc(1, sizeof(*report));
	enum ws_status status = WS_OK;

	*out = NULL;
	if (!report)
		return WS_FAIL(err, NO_MEMORY, "no memory for a report");
	report->title = "Warpsheet report";
	report->created_ns = tab->m->file.base_ns;
	report->trace = strdup(tab->m->name);
	report->filter = strdup(tab->sel->words);
	report->tables = calloc(ndefs + 1, sizeof(struct ws_table *));
	if (!report->trace || !report->filter || !report->tables)
		status = WS_FAIL(err, NO_MEMORY, "no memory for a report");
	for (size_t i = 0; i < ndefs && status == WS_OK; i++) {
		status = make(tab, defs[i], &report->tables[i], err);
		report->ntables += status == WS_OK;
	}
	if (status == WS_OK)
		*out = report;
	else
		ws_report_free(report);
	return status;
}

enum ws_status ws_report_make_tables(const struct ws_model *m, const struct ws_filter *filter,
                                     const struct ws_table_def *const *defs, size_t ndefs,
                                     struct ws_report **out, struct ws_err *err)
{
	struct ws_selection sel = {0};
	struct ws_digest d = {0};
	struct ws_tab tab = {m, &sel, &d};
	enum ws_status status;

	*out = NULL;
	status = ws_select(m, filter, &sel, err);
	if (status == WS_OK)
		status = digest(&d, m, &sel, defs, ndefs, err);
	if (status == WS_OK)
		status = make_report(&tab, defs, ndefs, out, err);
	ws_digest_release(&d);
	ws_selection_release(&sel);
	return status;
}

/* --- without loading rows ---------------------------------------------------------------- */

/* Everything, of a model without rows. */
static enum ws_status select_all(const struct ws_model *m, const struct ws_digest *d,
                                 struct ws_selection *sel, struct ws_err *err)
{
	*sel = (struct ws_selection){.kernels = d->kernels,
	                             .gpu_ns = d->gpu_ns,
	                             .measured = m->nmeasured,
	                             .step_last = INT64_MAX,
	                             .time_first_ns = INT64_MIN,
	                             .time_end_ns = INT64_MAX};
	sel->work = malloc(m->nworks + 1);
	sel->words = strdup("");
	if (!sel->work || !sel->words)
		return WS_FAIL(err, NO_MEMORY, "no memory for a selection");
	memset(sel->work, 1, m->nworks + 1);
	return WS_OK;
}

enum ws_status ws_report_stream(const struct ws_trace_reader *r, const char *name,
                                const struct ws_model_opts *opts,
                                const struct ws_table_def *const *defs, size_t ndefs,
                                const uint8_t *columns, struct ws_report **out,
                                const char **declined, struct ws_err *err)
{
	struct ws_selection sel = {0};
	struct ws_model *m = NULL;
	struct ws_digest d = {0};
	unsigned parts = 0;
	enum ws_status status;

	*out = NULL;
	*declined = NULL;
	for (size_t i = 0; i < ndefs && !*declined; i++) {
		int rows;

		parts |= ws_table_needs(defs[i], columns, &rows);
		if (rows)
			*declined = "a table needs rows";
	}
	if (*declined)
		return WS_OK;
	status = ws_pass_run(r, name, opts, parts, &m, &d, declined, err);
	if (status == WS_OK && !*declined) {
		struct ws_tab tab = {m, &sel, &d};

		status = select_all(m, &d, &sel, err);
		if (status == WS_OK)
			status = make_report(&tab, defs, ndefs, out, err);
	}
	ws_selection_release(&sel);
	ws_digest_release(&d);
	ws_model_free(m);
	return status;
}

void ws_report_free(struct ws_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->ntables; i++)
		ws_table_free(report->tables[i]);
	free(report->tables);
	/* const for its readers; made by strdup */
	free((char *)report->trace);
	free((char *)report->filter);
	free(report);
}

/* --- cells ------------------------------------------------------------------------------- */

void ws_cell_set_model_text(struct ws_table *t, struct ws_cell *cell, const struct ws_model *m,
                            uint32_t text)
{
	if (m->texts[text].len)
		ws_cell_set_text(t, cell, m->texts[text].ptr, m->texts[text].len);
}

void ws_cell_set_mean(struct ws_cell *cell, int64_t sum, uint64_t n)
{
	if (!n)
		return;
	if (n <= INT64_MAX && sum % (int64_t)n == 0)
		ws_cell_set_int(cell, sum / (int64_t)n);
	else
		ws_cell_set_real(cell, (double)sum / (double)n);
}

void ws_cells_set_stat(struct ws_cell *cells, const struct ws_stat *stat, int64_t whole)
{
	ws_cell_set_real(&cells[0], ws_stat_percent((double)stat->sum, (double)whole));
	ws_cell_set_int(&cells[1], stat->sum);
	ws_cell_set_int(&cells[2], (int64_t)stat->n);
	ws_cell_set_real(&cells[3], stat->mean);
	ws_cell_set_real(&cells[4], stat->median);
	ws_cell_set_int(&cells[5], stat->min);
	ws_cell_set_int(&cells[6], stat->max);
	ws_cell_set_real(&cells[7], stat->std);
}

void ws_cell_set_short_name(struct ws_table *t, struct ws_cell *cell, const struct ws_model *m,
                            uint32_t name)
{
	struct ws_bytes text = ws_model_short_name(m, name);

	ws_cell_set_text(t, cell, text.ptr, text.len);
}

enum ws_status ws_cells_set_path(struct ws_table *t, struct ws_cell *path, const struct ws_model *m,
                                 uint32_t p, struct ws_err *err)
{
	char *text;
	size_t len;

	if (p >= m->ranges.npaths) {
		ws_cell_set_str(t, path,
		                p == ws_path_no_range(m) ? "(in no range)" : "(no launch record)");
		return WS_OK;
	}
	WS_FORWARD(ws_path_text(&m->ranges, p, m->texts, &text, &len, err));
	ws_cell_set_text(t, path, text, len);
	free(text);
	ws_cell_set_text(t, path + 1, m->texts[m->ranges.paths[p].domain].ptr,
	                 m->texts[m->ranges.paths[p].domain].len);
	ws_cell_set_str(t, path + 2, m->ranges.paths[p].style ? "StartEnd" : "PushPop");
	return WS_OK;
}
