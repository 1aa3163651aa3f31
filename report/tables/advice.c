/* Findings of the rules, the ladder, the critical path, and the savings of changes given by a
 * user. */
#include <ctype.h>

#include "report/advice/advice.h"
#include "report/tables/tables.h"

void ws_tab_advice(const struct ws_table_context *tab, struct ws_table *t)
{
	if (!ws_model_has_kernels(tab->m)) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	const struct ws_findings *a = ws_advice_find(tab);
	for (size_t i = 0; i < a->n; i++) {
		const struct ws_finding *f = &a->finding[i];
		const struct ws_rule_def *rule = &ws_rule_defs[f->rule];
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[WS_TC_advice_rule], rule->id);
		ws_cell_set_str(t, &row[WS_TC_advice_title], rule->title);
		ws_cell_set_str(t, &row[WS_TC_advice_severity], ws_severity_name(f->severity));
		ws_cell_set_str(t, &row[WS_TC_advice_scope], f->scope);
		ws_cell_set_str(t, &row[WS_TC_advice_evidence], f->evidence);
		ws_cell_set_str(t, &row[WS_TC_advice_advice], f->advice ? f->advice : rule->advice);
		ws_cell_set_real(&row[WS_TC_advice_gain_ns], f->gain_ns);
		ws_cell_set_real(&row[WS_TC_advice_gain_percent],
		                 ws_stat_percent(f->gain_ns, ws_finding_whole_ns(a, f)));
	}
	struct ws_arena texts = {0};
	const char *quiet = "";

	for (int i = 0; i < WS_RULES; i++) {
		const char *title = ws_rule_defs[i].title;
		/* "GPU left empty" stays */
		const int first = islower((unsigned char)title[1]) ? tolower(*title) : *title;

		if (!a->fired[i] && !a->not_judged[i])
			quiet = ws_arena_format(&texts, "%s%s%c%s", quiet, *quiet ? ", " : "",
			                        first, title + 1);
	}
	if (*quiet)
		ws_table_note(t, "Looked for and not found: %s.", quiet);
	ws_arena_free(&texts);
	for (int i = 0; i < WS_RULES; i++)
		if (a->not_judged[i])
			ws_table_note(t, "Not judged: %s (%s): %s.", ws_rule_defs[i].title,
			              ws_rule_defs[i].id, a->not_judged[i]);
	for (int i = 0; i < WS_RULES; i++)
		if (a->merged[i])
			ws_table_note(t,
			              "%s (%s): %llu more about the kernels of other findings, as "
			              "their alternatives.",
			              ws_rule_defs[i].title, ws_rule_defs[i].id,
			              (unsigned long long)a->merged[i]);
	for (int i = 0; i < WS_RULES; i++)
		if (a->skipped[i])
			ws_table_note(t, "%s (%s): %llu more like these, with less GPU time.",
			              ws_rule_defs[i].title, ws_rule_defs[i].id,
			              (unsigned long long)a->skipped[i]);
	if (!a->has_steps)
		ws_table_note(t, "The trace has no measured steps: the rules look at everything in "
		                 "the report, as if it were one step.");
	if (a->obstacle)
		ws_table_note(t, "Gains are upper bounds, not replayed: %s.", a->obstacle);
	else
		ws_table_note(t, "Gains are replayed: the step was played again without what the "
		                 "finding is about.");
	ws_table_note(t, "A gain is for one step; a kernel is in one gain. Shares are of the GPU "
	                 "time of the kernels that count. The definitions have the rules.");
}

/* --- relations of the replay ---------------------------------------------------------------- */

static const struct ws_findings *findings_of(const struct ws_table_context *tab)
{
	return ws_model_has_kernels(tab->m) ? ws_advice_find(tab) : NULL;
}

static size_t count_rungs(void *tab)
{
	const struct ws_findings *a = findings_of(tab);

	return a ? a->nrungs : 0;
}

#define RUNG(X)                              \
	X(name, ws_put_str(out, rung->name)) \
	X(step_ns, ws_put_real(out, rung->step_ns))

static void put_rung(void *tab, size_t row, int column, struct ws_put *out)
{
	const struct ws_ladder_rung *rung = &findings_of(tab)->rung[row];

	WS_PUT_COLUMN(column, RUNG);
}

static const struct ws_replay_stretch *critical_path(const struct ws_table_context *tab, size_t *n)
{
	return ws_replay_critical_path(ws_replay_of(tab->m, tab->sel), n);
}

static size_t count_stretches(void *tab)
{
	size_t n;

	critical_path(tab, &n);
	return n;
}

static void put_stretch_name(const struct ws_table_context *tab, const struct ws_replay_stretch *s,
                             const struct ws_joined_kernel *k, struct ws_put *out)
{
	const struct ws_replay_facts *facts = ws_replay_facts(ws_replay_of(tab->m, tab->sel));
	const struct ws_joined_range *range = ws_joined_rows_range(tab->sel->rows, s->range);

	if (k)
		ws_put_text(out,
		            ws_model_short_name(tab->m, tab->m->configs[k->kind->config].name));
	else if (s->piece != WS_NONE)
		ws_put_str(out, ws_copy_name(ws_copy_name_of(
		                        &tab->m->work[facts->pieces[s->piece].row])));
	else if (range)
		ws_put_text(out, tab->m->texts[range->context->name]);
	else
		ws_put_str(out, "(no range)");
}

#define STRETCH(X)                                                                      \
	X(name, put_stretch_name(tab, s, k, out))                                       \
	X(what, ws_put_str(out, ws_use_defs[s->use].name))                              \
	X(class, if (k) ws_put_text(out, tab->m->texts[k->kind->class]))                \
	X(phase, if (k && k->kind->phase != WS_PHASE_OTHER)                             \
	                 ws_put_str(out, ws_phase_name((enum ws_phase)k->kind->phase))) \
	X(ns, ws_put_real(out, s->ns))

static void put_stretch(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_table_context *tab = ctx;
	const struct ws_replay_facts *facts = ws_replay_facts(ws_replay_of(tab->m, tab->sel));
	size_t n;
	const struct ws_replay_stretch *s = &critical_path(tab, &n)[row];
	const struct ws_joined_kernel *k =
	        s->piece != WS_NONE && facts->pieces[s->piece].is_kernel
	                ? ws_joined_rows_kernel(tab->sel->rows, facts->pieces[s->piece].row)
	                : NULL;

	WS_PUT_COLUMN(column, STRETCH);
}

static const struct ws_relation relations[] = {
        {"rung", RUNG(WS_COLUMN_NAME), count_rungs, put_rung},
        {"stretch", STRETCH(WS_COLUMN_NAME), count_stretches, put_stretch},
};

void ws_replay_relations_add(struct ws_query *q, const struct ws_table_context *tab)
{
	for (size_t i = 0; i < sizeof(relations) / sizeof(*relations); i++)
		ws_query_add(q, &relations[i], (void *)tab);
}

unsigned ws_replay_relations_parts(const struct ws_query *q)
{
	for (size_t i = 0; i < sizeof(relations) / sizeof(*relations); i++)
		if (ws_query_columns_read(q, &relations[i]))
			return WS_DIGEST_STEPS | WS_DIGEST_ROWS;
	return 0;
}

/* Why a table of the replay has no rows. */
static void note_replay(const struct ws_table_context *tab, struct ws_table *t)
{
	if (!ws_model_has_kernels(tab->m)) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	const struct ws_replay_facts *facts = ws_replay_facts(ws_replay_of(tab->m, tab->sel));
	if (facts->obstacle) {
		ws_table_note(t, "The step cannot be replayed: %s.", facts->obstacle);
		return;
	}
	if (facts->step != WS_NONE)
		ws_table_note(t,
		              "Step %llu is replayed, the median one. Played unchanged, %zu of %zu "
		              "steps that were tried take their recorded time within 0.5 %%.",
		              (unsigned long long)tab->m->steps[facts->step].number, facts->passed,
		              facts->checked);
}

void ws_tab_ladder(const struct ws_table_context *tab, struct ws_table *t)
{
	if (ws_model_on_cpu(tab->m))
		ws_table_note(t, "Nothing bounds a GPU here: kernels ran on the CPU reference.");
	else
		note_replay(tab, t);
}

void ws_tab_critical_path(const struct ws_table_context *tab, struct ws_table *t)
{
	note_replay(tab, t);
}

void ws_tab_whatif(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_whatif_answers *all = ws_whatif_answers(tab->sel);

	if (!ws_model_has_kernels(tab->m)) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	if (!all) {
		ws_table_set_not_recorded(t, "No change was asked about: --whatif does.");
		return;
	}
	for (size_t i = 0; i < all->n; i++) {
		const struct ws_whatif_answer *a = &all->answer[i];
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[WS_TC_whatif_change], a->change);
		ws_cell_set_real(&row[WS_TC_whatif_now_ns], a->now_ns);
		ws_cell_set_real(&row[WS_TC_whatif_then_ns], a->then_ns);
		ws_cell_set_real(&row[WS_TC_whatif_saved_ns], a->now_ns - a->then_ns);
		ws_cell_set_real(&row[WS_TC_whatif_saved_percent],
		                 ws_stat_percent(a->now_ns - a->then_ns, a->now_ns));
		ws_cell_set_real(&row[WS_TC_whatif_least_ns], a->least_ns);
		ws_cell_set_real(&row[WS_TC_whatif_most_ns], a->most_ns);
		ws_cell_set_real(&row[WS_TC_whatif_passed],
		                 ws_stat_percent((double)all->passed, (double)all->checked));
		if (*a->reason)
			ws_cell_set_str(t, &row[WS_TC_whatif_reason], a->reason);
	}
	note_replay(tab, t);
}
