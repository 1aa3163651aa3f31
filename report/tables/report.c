/* From a trace to tables. */
#include "report/tables/tables.h"

#include "report/page/private.h"
#include "report/replay/replay.h"

static const struct builder {
	const struct ws_table_def *def;
	const struct ws_table_query *query;
	void (*build)(const struct ws_table_context *, struct ws_table *);
} builders[] = {
#define T(id, ...) {&ws_def_##id, &ws_sql_##id, ws_tab_##id},
        WS_REPORT_TABLES(T) WS_REQUEST_TABLES(T)
#undef T
};

static const struct builder *builder_of(const struct ws_table_def *def)
{
	const struct builder *b = builders;

	while (b->def != def)
		b++;
	return b;
}

static enum ws_status make_table(struct ws_relations *relations, struct ws_query *q,
                                 const struct ws_table_def *def, const uint8_t *columns,
                                 struct ws_table **out, struct ws_err *err)
{
	const struct builder *builder = builder_of(def);
	struct ws_arena temp = {0};
	const struct ws_table_context *all = relations->tab;
	const struct ws_table_context with_temp = {all->m, all->sel, all->digest, &temp, relations},
	                              *tab = &with_temp;
	struct ws_table *t = *out = ws_table_new(def);

	/* Renames tables called CUDA: to HIP if all devices with kernels are AMD's, and to neutral
	 * names without a GPU. */
	const char *old = t->def->title, *begin = "HIP ";
	char name[128];
	bool has_amd = false, has_other = false;

	for (size_t i = 0; i < tab->m->ndevices; i++) {
		has_other |= tab->m->devices[i].kernels && !tab->m->devices[i].is_amd;
		has_amd |= tab->m->devices[i].is_amd;
	}
	if (ws_model_on_cpu(tab->m) == 1)
		ws_table_set_without_gpu(t);
	if (!ws_model_has_work(tab->m))
		ws_table_set_without_shares(t);
	if (t->without_gpu && !strncmp(old, "GPU Time", 8)) {
		begin = "Kernel ";
		old += strlen("GPU ");
	} else if (t->without_gpu && !strncmp(old, "CUDA GPU ", 9)) {
		begin = "CPU ";
		old += strlen("CUDA GPU ");
	} else if (has_amd && !has_other && !strncmp(old, "CUDA ", 5)) {
		old += strlen("CUDA ");
	} else {
		begin = NULL;
	}
	if (begin) {
		snprintf(name, sizeof(name), "%s%s", begin, old);
		ws_table_set_title(t, name, NULL);
	}

	if (*builder->query->from)
		WS_FORWARD(ws_query_table(q, t, builder->query, columns, err));
	builder->build(tab, t);
	ws_arena_free(&temp);
	if (t->not_recorded && !t->nrows)
		t->totals = NULL; /* without values the sum is unknown, not 0 */
	if (tab->sel->words[0])
		ws_table_note(t, "Filter: %s. Totals and percentages are of what it lets through.",
		              tab->sel->words);
	if (tab->sel->is_empty)
		ws_table_note(t, "Nothing in the trace passes the filter.");
	if (ws_model_on_cpu(tab->m))
		ws_table_note(t,
		              "%s ran on the CPU reference: real CPU timings; not GPU performance.",
		              ws_model_on_cpu(tab->m) == 1 ? "All kernels" : "Some kernels");
	return WS_OK;
}

/* The request. */
struct asked {
	const struct ws_filter *filter;
	const struct ws_table_def *const *defs;
	size_t ndefs;
	const uint8_t *columns; /* wanted columns of the only table; NULL: all */
	const char *sql;        /* queries of the user; NULL: none */
	unsigned parts;
	const struct ws_trace_reader *r;
	const char *name;
	const struct ws_model_opts *opts;
};

/* --- parts of a digest for each table; only these are read and joined ------------------ */

#define ALWAYS  (-1)
#define CLASSES (WS_DIGEST_PLACES | WS_DIGEST_NAMES)

/* A table, one of its columns, and the parts that it needs. Every table says if kernels ran on the
 * CPU. A table that is not listed gets all rows. */
static const struct need {
	const struct ws_table_def *def;
	int column;
	unsigned parts;
} needs[] = {
        {&ws_def_ranges, ALWAYS, WS_DIGEST_PATHS},
        {&ws_def_ranges, WS_TC_ranges_flops, WS_DIGEST_COSTS},
        {&ws_def_ranges, WS_TC_ranges_tflops, WS_DIGEST_COSTS},
        {&ws_def_ranges, WS_TC_ranges_bytes, WS_DIGEST_COSTS},
        {&ws_def_step_statistics, ALWAYS, WS_DIGEST_STEPS | WS_DIGEST_ROWS},
        {&ws_def_summary, ALWAYS, CLASSES | WS_DIGEST_STEPS | WS_DIGEST_LEFT | WS_DIGEST_ROWS},
        {&ws_def_advice, ALWAYS, WS_DIGEST_STEPS | WS_DIGEST_ROWS},
        {&ws_def_whatif, ALWAYS, WS_DIGEST_STEPS | WS_DIGEST_ROWS},
        {&ws_def_losses, ALWAYS, WS_DIGEST_NAMES | WS_DIGEST_LEFT},
        {&ws_def_method, ALWAYS, WS_DIGEST_KERNELS},
        {&ws_def_resources, ALWAYS, WS_DIGEST_KERNELS},
};

/* columns[c] = 0: column c is not wanted; NULL: all are wanted. */
static enum ws_status add_needs(struct ws_query *q, const struct ws_table_def *def,
                                const uint8_t *columns, unsigned *parts, struct ws_err *err)
{
	const struct ws_table_query *query = builder_of(def)->query;

	if (*query->from)
		return ws_query_check_table(q, query, columns, err);

	bool known = false;

	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		const struct need *need = &needs[i];

		if (need->def != def)
			continue;
		known = true;
		if (need->column == ALWAYS || !columns || columns[need->column])
			*parts |= need->parts;
	}
	*parts |= known ? 0 : WS_DIGEST_ROWS;
	return WS_OK;
}

/* Finds the parts of a digest for the requested tables. */
static enum ws_status find_parts(struct asked *a, struct ws_err *err)
{
	struct ws_user_tables users = {.make = make_table, .needs = add_needs};
	struct ws_query *q;

	WS_FORWARD(ws_query_open(&q, err));
	ws_relations_add(q, NULL);
	ws_replay_relations_add(q, NULL);
	enum ws_status status = WS_OK;
	for (size_t i = 0; i < a->ndefs && status == WS_OK; i++)
		status = add_needs(q, a->defs[i], a->columns, &a->parts, err);
	if (a->sql && status == WS_OK) {
		ws_user_tables_add(&users, q, NULL);
		ws_query_only_reads(q);
		status = ws_user_queries_check(&users, a->sql, err);
		WS_THEN(status, ws_user_tables_parts(&users, &a->parts, err));
	}
	/* every table says if kernels ran on the CPU */
	a->parts |= ws_relations_parts(q) | ws_replay_relations_parts(q) | WS_DIGEST_KERNELS;
	ws_query_close(q);
	ws_user_tables_release(&users);
	return status;
}

/* Data of rows with a source. */
struct kept {
	struct ws_model *model;
	struct ws_digest digest;
	struct ws_arena arena; /* kinds of tables of a user's queries */
};

static void free_kept(void *kept)
{
	struct kept *k = kept;

	ws_digest_release(&k->digest);
	ws_model_free(k->model);
	ws_arena_free(&k->arena);
	free(k);
}

/* Makes the tables in the order of defs, and those of the user's queries. */
static enum ws_status make_tables(const struct ws_table_context *tab, const struct asked *a,
                                  struct ws_report *report, struct ws_err *err)
{
	struct kept *k = report->kept;
	struct ws_relations relations = {.tab = tab};
	struct ws_user_tables users = {.r = a->r, .make = make_table, .needs = add_needs};
	struct ws_query *q;

	WS_FORWARD(ws_query_open(&q, err));
	ws_relations_add(q, &relations);
	ws_replay_relations_add(q, tab);
	enum ws_status status = WS_OK;
	for (size_t i = 0; i < a->ndefs && status == WS_OK; i++) {
		if (a->opts && a->opts->progress)
			a->opts->progress("tables", i, a->ndefs);
		status = make_table(&relations, q, a->defs[i], a->columns, &report->tables[i], err);
	}
	if (a->sql && status == WS_OK) {
		ws_user_tables_add(&users, q, &relations);
		ws_query_only_reads(q);
		status = ws_user_queries_make(&users, a->sql, &k->arena, report, err);
	}
	ws_query_close(q);
	ws_user_tables_release(&users);
	ws_relations_release(&relations);
	return status;
}

/* Makes all tables from tab; the report takes over the digest, from which rows are made later. */
static enum ws_status make_report(struct ws_table_context *tab, struct ws_digest *d,
                                  const struct asked *a, struct ws_report **out, struct ws_err *err)
{
	struct ws_report *report = ws_xarray(1, sizeof(*report));
	struct kept *k = ws_xarray(1, sizeof(*k));
	enum ws_status status = WS_OK;

	k->digest = *d;
	*d = (struct ws_digest){0};
	tab->digest = &k->digest;
	report->kept = k;
	report->free_kept = free_kept;
	report->title = a->ndefs ? "Warpsheet report" : "Warpsheet query";
	report->created_ns = tab->m->file.base_ns;
	report->lacks_comm = tab->digest->parts & WS_DIGEST_LEFT && ws_model_lacks_comm(tab->m);
	report->trace = ws_xstrdup(tab->m->name);
	report->filter = ws_xstrdup(tab->sel->words);
	report->scope = ws_xstrdup(tab->sel->scope_words);
	report->tables = ws_xarray(a->ndefs + 1, sizeof(struct ws_table *));
	report->ntables = a->ndefs;
	for (size_t i = 0; i < a->ndefs && !report->page && status == WS_OK; i++)
		if (a->defs[i] == &ws_def_summary) /* and so the first screen */
			status = ws_page_make(tab, &report->page, err);
	WS_THEN(status, make_tables(tab, a, report, err));
	if (status == WS_OK)
		*out = report;
	else
		ws_report_free(report);
	return status;
}

/* --- from a trace ------------------------------------------------------------------------- */

/* Makes a report from rows, a filter, and the sums d (empty if not made yet). says_nothing: nothing
 * passing the filter is an error. */
static enum ws_status make_selected(const struct asked *a, const struct ws_model *m,
                                    struct ws_joined_rows *rows, struct ws_digest *d,
                                    bool says_nothing, struct ws_report **out, struct ws_err *err)
{
	struct ws_selection sel = {0};
	struct ws_table_context tab = {.m = m, .sel = &sel, .digest = d};
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_filter_check_kernel(a->filter, err));
	ws_select_rows(m, rows, a->filter, &sel);
	if (says_nothing)
		status = ws_filter_check(m, &sel, a->filter, a->opts ? a->opts->step : NULL, err);
	WS_THEN(status, ws_whatif_answer(m, &sel, err));
	if (status == WS_OK && !d->parts)
		ws_digest_of_rows(d, m, &sel, a->parts);
	WS_THEN(status, make_report(&tab, d, a, out, err));
	ws_selection_release(&sel);
	return status;
}

enum ws_status ws_report_make_tables(const struct ws_model *m, struct ws_joined_rows *rows,
                                     const struct ws_filter *filter,
                                     const struct ws_table_def *const *defs, size_t ndefs,
                                     struct ws_report **out, struct ws_err *err)
{
	struct asked a = {.filter = filter, .defs = defs, .ndefs = ndefs};
	struct ws_digest d = {0};

	*out = NULL;
	WS_FORWARD(find_parts(&a, err));
	return make_selected(&a, m, rows, &d, false, out, err);
}

enum ws_status ws_report_stream(const struct ws_trace_reader *r, const char *name,
                                const struct ws_model_opts *opts, const struct ws_filter *filter,
                                const struct ws_table_def *const *defs, size_t ndefs,
                                const uint8_t *columns, const char *sql, struct ws_report **out,
                                struct ws_err *err)
{
	struct asked asked = {.filter = filter,
	                      .defs = defs,
	                      .ndefs = ndefs,
	                      .columns = columns,
	                      .sql = sql,
	                      .r = r,
	                      .name = name,
	                      .opts = opts},
	             *a = &asked;
	struct ws_joined_rows rows = {0};
	struct ws_model *m = NULL;
	struct ws_digest d = {0};
	enum ws_status status = WS_OK;

	*out = NULL;
	WS_FORWARD(find_parts(a, err));
	if (ws_filter_is_all(a->filter))
		status = ws_digest_of_trace(&d, &rows, a->r, a->name, a->opts, a->filter->scope,
		                            a->parts, &m, err);
	if (status == WS_OK && !m)
		status = ws_joined_rows_read(&rows, a->r, a->name, a->opts, &m, err);
	WS_THEN(status, make_selected(a, m, &rows, &d, true, out, err));
	ws_digest_release(&d);
	ws_joined_rows_free(&rows);

	/* Rows of the report are made from the model; without a report the model is freed. */
	struct ws_report *report = *out;
	struct kept *k = report ? report->kept : NULL;

	if (k)
		k->model = m;
	else
		ws_model_free(m);
	return status;
}

enum ws_status ws_report_of_plan(const struct ws_report_plan *plan, struct ws_report **out,
                                 struct ws_err *err)
{
	struct ws_report *report = ws_xarray(1, sizeof(*report));
	enum ws_status status = WS_OK;

	*out = NULL;
	report->title = plan->title;
	report->created_ns = plan->created_ns;
	report->trace = ws_xstrdup(plan->trace);
	report->filter = ws_xstrdup("");
	report->tables = ws_xarray(plan->ndefs, sizeof(struct ws_table *));
	for (size_t i = 0; i < plan->ndefs && status == WS_OK; i++) {
		struct ws_table **t = &report->tables[i];

		*t = ws_table_new(plan->defs[i]);
		report->ntables++;
		if (i + 1 == plan->ndefs) {
			ws_method_fill(*t, plan->defs, plan->ndefs);
			break;
		}
		if (*ws_table_query_of(plan->defs[i])->from)
			status = ws_query_table(plan->query, *t, ws_table_query_of(plan->defs[i]),
			                        NULL, err);
		WS_THEN(status, plan->fill(plan->ctx, i, t, err));
	}
	if (status == WS_OK)
		*out = report;
	else
		ws_report_free(report);
	return status;
}

void ws_report_free(struct ws_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->ntables; i++)
		ws_table_free(report->tables[i]);
	ws_page_free(report->page);
	if (report->free_kept)
		report->free_kept(report->kept);
	free(report->tables);
	/* const for its readers; made by strdup */
	free((char *)report->trace);
	free((char *)report->filter);
	free((char *)report->scope);
	free(report);
}
