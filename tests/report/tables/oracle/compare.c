/*
 * What the product makes beside what the oracle makes.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/ranks/ranks.h"
#include "report/sweep/sweep.h"
#include "tests/report/tables/oracle/compare.h"
#include "tests/report/tables/oracle/oracle.h"
#include "tests/support/joined.h"

static const struct {
	const char *name;
	oracle_fn make;
} tables[] = {
        {"kernel-summary", oracle_kernel_summary},
        {"kernel-launches", oracle_kernel_launches},
        {"classes", oracle_classes},
        {"ranges", oracle_ranges},
        {"range-kernels", oracle_range_kernels},
        {"step-split", oracle_step_split},
        {"api-summary", oracle_api_summary},
        {"step-statistics", oracle_step_statistics},
        {"steps", oracle_steps},
};
#define NTABLES (sizeof(tables) / sizeof(*tables))
_Static_assert(ORACLE_STREAMED == NTABLES, "all are views of a pass");

/* MFU and what follows it are younger than the oracle: test_utilization.c. */
static int has_oracle(const struct ws_table_def *def, size_t column)
{
	return def != &ws_def_steps || column < WS_TC_steps_mfu;
}

/* Sums of products of doubles depend on the order; all else is exact. */
static int same_cell(const struct ws_cell *a, const struct ws_cell *b)
{
	if (a->type != b->type)
		return 0;
	switch (a->type) {
	case WS_CELL_INT:
		return a->i == b->i;
	case WS_CELL_REAL:
		return fabs(a->r - b->r) <= 1e-12 * fabs(a->r);
	case WS_CELL_TEXT:
		return a->text.len == b->text.len && !memcmp(a->text.ptr, b->text.ptr, a->text.len);
	default:
		return 1;
	}
}

static void same_rows(const struct ws_table *a, const struct ws_table *b, int of_oracle,
                      const char *where)
{
	cr_assert(eq(sz, a->nrows, b->nrows), "%s: rows of %s", where, a->def->name);
	for (size_t row = 0; row < a->nrows; row++) {
		const struct ws_cell *x = ws_table_cells(a, row), *y = ws_table_cells(b, row);

		for (size_t c = 0; c < a->def->ncolumns; c++)
			cr_assert(same_cell(&x[c], &y[c]) || (of_oracle && !has_oracle(a->def, c)),
			          "%s: %s, row %zu, column %s", where, a->def->name, row,
			          a->def->columns[c].id);
	}
	cr_assert(eq(int, a->totals != NULL, b->totals != NULL), "%s", where);
	for (size_t i = 0; a->totals && i < a->def->ncolumns; i++)
		cr_assert(same_cell(&a->totals[i], &b->totals[i]), "%s: %s, totals, %s", where,
		          a->def->name, a->def->columns[i].id);
	cr_assert(eq(int, a->not_recorded != NULL, b->not_recorded != NULL), "%s: %s", where,
	          a->def->name);
}

void oracle_same_rows(const struct ws_table *oracle, const struct ws_table *table,
                      const char *where)
{
	same_rows(oracle, table, 1, where);
}

/* The product adds notes of its own behind those of a table. */
static void same_notes(const struct ws_table *oracle, const struct ws_table *table,
                       const char *where)
{
	cr_assert(ge(sz, table->nnotes, oracle->nnotes), "%s: notes of %s", where,
	          table->def->name);
	for (size_t i = 0; i < oracle->nnotes; i++)
		cr_assert(eq(str, table->notes[i], oracle->notes[i]), "%s", where);
}

static struct ws_table *oracle_table(struct loaded *l, size_t which, const struct ws_filter *filter)
{
	struct ws_table *t = ws_table_new(ws_table_def_by_name(tables[which].name));
	struct ws_selection sel;
	const struct oracle_tab tab = {l, l->m, &sel};
	struct ws_err err;

	cr_assert(eq(int, ws_select_rows(l->m, &l->rows, filter, &sel, &err), WS_OK), "%s",
	          err.text);
	cr_assert(eq(int, tables[which].make(&tab, t, &err), WS_OK), "%s", err.text);
	ws_selection_release(&sel);
	return t;
}

struct ws_table *oracle_product_table(struct loaded *l, const char *name,
                                      const struct ws_filter *filter)
{
	struct ws_table *t = NULL;
	struct ws_err err;

	cr_assert(eq(int, one_table(l->m, &l->rows, ws_table_def_by_name(name), filter, &t, &err),
	             WS_OK),
	          "%s", err.text);
	return t;
}

void oracle_compare_loaded(struct loaded *l, const struct ws_filter *filter, const char *where)
{
	for (size_t i = 0; i < NTABLES; i++) {
		struct ws_table *expected = oracle_table(l, i, filter);
		struct ws_table *t = oracle_product_table(l, tables[i].name, filter);

		oracle_same_rows(expected, t, where);
		same_notes(expected, t, where);
		ws_table_free(expected);
		ws_table_free(t);
	}
}

/* Rows, totals and notes, answers among them. */
static void same_tables(const struct ws_table *a, const struct ws_table *b, const char *where)
{
	same_rows(a, b, 0, where);
	cr_assert(eq(sz, a->nnotes, b->nnotes), "%s: notes of %s: %s", where, a->def->name,
	          a->nnotes ? a->notes[a->nnotes - 1] : "");
	same_notes(a, b, where);
}

/* What loaded rows say where nothing passes, the pass says, too. */
static void same_refusal(struct loaded *l, const struct ws_filter *filter, const char *refusal,
                         const char *where)
{
	struct ws_selection sel;
	struct ws_err err;

	cr_assert(eq(int, ws_select_rows(l->m, &l->rows, filter, &sel, &err), WS_OK));
	cr_assert(eq(int, ws_filter_check(l->m, &sel, filter, NULL, &err), WS_USAGE), "%s: %s",
	          where, refusal);
	cr_assert(eq(str, err.text, (char *)refusal), "%s", where);
	ws_selection_release(&sel);
}

/* Each table alone, then all in one pass; returns how many were made so. */
static unsigned compare_scope(const struct ws_trace_reader *r, struct loaded *l,
                              enum ws_scope scope, const char *where)
{
	struct ws_filter filter = WS_FILTER_ALL;
	const struct ws_table_def *defs[ORACLE_STREAMED];
	struct ws_table *expected[ORACLE_STREAMED];
	unsigned made = 0;

	filter.scope = scope;
	for (size_t i = 0; i < ORACLE_STREAMED; i++) {
		defs[i] = ws_table_def_by_name(tables[i].name);
		expected[i] = oracle_table(l, i, &filter);
	}
	/* of one scope steps, and all others at once: alone they differ in what is read, not in
	 * what is counted */
	for (size_t i = scope == WS_SCOPE_ALL ? 0 : ORACLE_STREAMED - 1; i <= ORACLE_STREAMED;
	     i++) {
		size_t first = i < ORACLE_STREAMED ? i : 0,
		       n = i < ORACLE_STREAMED ? 1 : ORACLE_STREAMED;
		struct ws_report *report = NULL;
		struct ws_err err;

		const enum ws_status status =
		        ws_report_stream(r, where, NULL, &filter, defs + first, n, NULL, &report,
		                         &err);

		if (status == WS_USAGE)
			same_refusal(l, &filter, err.text, where);
		else
			cr_assert(eq(int, status, WS_OK), "%s: %s", where, err.text);
		cr_assert(eq(int, report != NULL, status == WS_OK));
		for (size_t t = 0; report && t < n; t++) {
			oracle_same_rows(expected[first + t], report->tables[t], where);
			same_notes(expected[first + t], report->tables[t], where);
		}
		made += report != NULL;
		ws_report_free(report);
	}
	for (size_t i = 0; i < ORACLE_STREAMED; i++)
		ws_table_free(expected[i]);
	return made;
}

/* 1 when the pass made them. */
static unsigned compare_tables(const struct ws_trace_reader *r, struct loaded *l,
                               const struct ws_filter *filter, const char *where)
{
	struct ws_report *streamed = NULL, *loaded = NULL;
	size_t n;
	const struct ws_table_def *const *defs = ws_table_defs(&n);
	enum ws_status status;
	struct ws_err err;

	status = ws_report_stream(r, l->m->name, NULL, filter, defs, n, NULL, &streamed, &err);
	cr_assert(status == WS_OK || status == WS_USAGE, "%s: %s", where, err.text);
	if (status == WS_USAGE)
		same_refusal(l, filter, err.text, where);
	if (!streamed)
		return 0;
	cr_assert(eq(int, ws_report_make_tables(l->m, &l->rows, filter, defs, n, &loaded, &err),
	             WS_OK),
	          "%s: %s", where, err.text);
	cr_assert(eq(str, (char *)loaded->filter, (char *)streamed->filter), "%s", where);
	cr_assert(eq(str, (char *)loaded->scope, (char *)streamed->scope), "%s", where);
	for (size_t i = 0; i < n; i++)
		same_tables(loaded->tables[i], streamed->tables[i], where);
	ws_report_free(streamed);
	ws_report_free(loaded);
	return 1;
}

void oracle_compare_tables(const struct ws_trace_reader *r, struct loaded *l, const char *where)
{
	struct ws_filter filter = WS_FILTER_ALL;

	compare_tables(r, l, &filter, where);
	filter.scope = WS_SCOPE_STEPS;
	compare_tables(r, l, &filter, where);
}

/* One of all there are; n: any number. Two of three are of the whole trace. */
static struct ws_filter filter_of(unsigned n)
{
	static const char *const patterns[] = {"forward", "*step*",    "*/b#0..2", "/step#1",
	                                       "a*",      "batch 0x1", "*Step#2"};
	static const char *const kernels[] = {"gemm|softmax", "^(ws|elem)"};
	struct ws_filter f = WS_FILTER_ALL;
	const unsigned kind = n % 12, scope = n / 12;

	f.scope = scope % 3 ? WS_SCOPE_ALL : (enum ws_scope)(scope / 3 % WS_SCOPES);
	f.by_gpu_time = kind == 5;
	if (kind <= 5 || kind == 11)
		f.nvtx = patterns[(kind + scope) % 7];
	f.kernel = kind == 6 || kind == 11 ? kernels[scope % 2] : NULL;
	f.step_first = kind == 7 || kind == 9 ? 1 : -1;
	f.step_last = kind == 7 ? 2 : -1;
	f.device = kind == 8 ? (int)(scope % 2) : -1;
	f.has_process = kind == 9;
	f.process = 100;
	f.has_stream = kind == 9;
	f.stream = 7;
	f.has_time = kind == 10 || kind == 11;
	f.time_first_ns = 700;
	f.time_end_ns = 2000000;
	return f;
}

unsigned oracle_compare_filtered(const struct ws_trace_reader *r, struct loaded *l, unsigned which,
                                 const char *where)
{
	const struct ws_filter filter = filter_of(which);
	char what[256];

	snprintf(what, sizeof(what), "%s, filter %u", where, which);
	return compare_tables(r, l, &filter, what);
}

unsigned oracle_compare_streamed(const struct ws_trace_reader *r, struct loaded *l,
                                 const char *where, unsigned *of_scopes)
{
	for (int scope = WS_SCOPE_STEPS; scope < WS_SCOPES; scope++)
		*of_scopes += compare_scope(r, l, (enum ws_scope)scope, where);
	return compare_scope(r, l, WS_SCOPE_ALL, where);
}

void oracle_compare_columns(const struct ws_trace_reader *r, struct loaded *l, size_t which)
{
	const struct ws_table_def *def = ws_table_def_by_name(tables[which].name);
	struct ws_table *expected = oracle_table(l, which, NULL);
	const struct ws_filter filter = WS_FILTER_ALL;
	uint8_t *wanted = calloc(def->ncolumns, 1);

	for (size_t c = 0; c < def->ncolumns; c++) {
		struct ws_report *report = NULL;
		struct ws_err err;

		if (!has_oracle(def, c))
			continue;
		memset(wanted, 0, def->ncolumns);
		wanted[c] = 1;
		cr_assert(eq(int,
		             ws_report_stream(r, "", NULL, &filter, &def, 1, wanted, &report, &err),
		             WS_OK),
		          "%s", err.text);
		cr_assert(report != NULL);
		cr_assert(eq(sz, report->tables[0]->nrows, expected->nrows));
		for (size_t row = 0; row < expected->nrows; row++)
			cr_assert(same_cell(&ws_table_cells(expected, row)[c],
			                    &ws_table_cells(report->tables[0], row)[c]),
			          "%s, row %zu, %s", def->name, row, def->columns[c].id);
		ws_report_free(report);
	}
	free(wanted);
	ws_table_free(expected);
}

/* --- what compares traces ---------------------------------------------------------------- */

struct comparisons {
	struct ws_sides *sides;
	struct ws_sweep *sweep;
	struct ws_ranks *ranks;
	struct ws_report *report[3];
};

/* A trace with itself, as a configuration, and as a rank. */
static void compare_trace(struct comparisons *c, const struct ws_model *m,
                          struct ws_joined_rows *rows, const char *where)
{
	const struct ws_sweep_opts opts = {.grade = WS_DIFF_OPTS_DEFAULT};
	struct ws_diff_result result;
	const char *alarm;
	struct ws_err err;

	c->sides = ws_sides_new();
	c->sweep = ws_sweep_new();
	c->ranks = ws_ranks_new();
	for (int side = 0; side < 2; side++)
		cr_assert(eq(int, sides_add(c->sides, side, m, rows, &err), WS_OK), "%s: %s", where,
		          err.text);
	cr_assert(eq(int, ws_diff_make(c->sides, NULL, &c->report[0], &result, &err), WS_OK),
	          "%s: %s", where, err.text);
	cr_assert(eq(int, ws_sweep_add(c->sweep, m, rows, NULL, &err), WS_OK), "%s: %s", where,
	          err.text);
	cr_assert(eq(int, ws_sweep_make(c->sweep, &opts, &c->report[1], &err), WS_OK), "%s: %s",
	          where, err.text);
	cr_assert(eq(int, ws_ranks_add(c->ranks, m, rows, &err), WS_OK), "%s: %s", where, err.text);
	cr_assert(eq(int, ws_ranks_make(c->ranks, &c->report[2], &alarm, &err), WS_OK), "%s: %s",
	          where, err.text);
}

static void free_comparisons(struct comparisons *c)
{
	for (size_t i = 0; i < 3; i++)
		ws_report_free(c->report[i]);
	ws_sides_free(c->sides);
	ws_sweep_free(c->sweep);
	ws_ranks_free(c->ranks);
}

void oracle_compare_runs(const struct ws_trace_reader *r, struct loaded *l, const char *where)
{
	struct comparisons streamed, loaded;
	struct ws_joined_rows rows = {0};
	struct ws_model *passed;
	struct ws_err err;

	cr_assert(eq(int, ws_joined_rows_read(&rows, r, l->m->name, NULL, &passed, &err), WS_OK),
	          "%s: %s", where, err.text);
	compare_trace(&loaded, l->m, &l->rows, where);
	compare_trace(&streamed, passed, &rows, where);
	for (size_t i = 0; i < 3; i++)
		for (size_t t = 0; t < loaded.report[i]->ntables; t++)
			same_tables(loaded.report[i]->tables[t], streamed.report[i]->tables[t],
			            where);
	free_comparisons(&loaded);
	free_comparisons(&streamed);
	ws_joined_rows_free(&rows);
	ws_model_free(passed);
}
