/* What is odd about the run, and what could be done: findings of the rules as rows. */
#include "report/advice/advice.h"
#include "report/tables/tables.h"

static void add_row(struct ws_table *t, const struct ws_findings *a, const struct ws_finding *f)
{
	const struct ws_rule_def *rule = &ws_rule_defs[f->rule];
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_str(t, &row[WS_TC_advice_rule], rule->id);
	ws_cell_set_str(t, &row[WS_TC_advice_title], rule->title);
	ws_cell_set_str(t, &row[WS_TC_advice_severity], ws_severity_name(f->severity));
	ws_cell_set_str(t, &row[WS_TC_advice_scope], f->scope);
	ws_cell_set_str(t, &row[WS_TC_advice_evidence], f->evidence);
	ws_cell_set_str(t, &row[WS_TC_advice_advice], f->advice ? f->advice : rule->advice);
	ws_cell_set_real(&row[WS_TC_advice_gain_ns], f->gain_ns);
	ws_cell_set_real(&row[WS_TC_advice_gain_percent], ws_stat_percent(f->gain_ns, a->step_ns));
}

static void add_notes(struct ws_table *t, const struct ws_findings *a)
{
	char quiet[WS_RULES * 6] = "";
	size_t len = 0;

	for (int i = 0; i < WS_RULES; i++)
		if (!a->fired[i] && !a->not_judged[i])
			len += (size_t)snprintf(quiet + len, sizeof(quiet) - len, "%s%s",
			                        len ? ", " : "", ws_rule_defs[i].id);
	if (len)
		ws_table_note(t, "Looked for and not found: %s.", quiet);
	for (int i = 0; i < WS_RULES; i++)
		if (a->not_judged[i])
			ws_table_note(t, "Not judged: %s %s: %s.", ws_rule_defs[i].id,
			              ws_rule_defs[i].title, a->not_judged[i]);
	for (int i = 0; i < WS_RULES; i++)
		if (a->merged[i])
			ws_table_note(t,
			              "%s: %llu more about the kernels of other findings, as their "
			              "alternatives.",
			              ws_rule_defs[i].id, (unsigned long long)a->merged[i]);
	for (int i = 0; i < WS_RULES; i++)
		if (a->skipped[i])
			ws_table_note(t, "%s: %llu more like these, with less GPU time.",
			              ws_rule_defs[i].id, (unsigned long long)a->skipped[i]);
	if (!a->has_steps)
		ws_table_note(
		        t, "The trace has no measured steps: the rules look at everything in the "
		           "report, as if it were one step.");
	ws_table_note(t, "A gain is an upper bound, for one step; a kernel is in one gain. Shares "
	                 "are of the GPU time of the kernels that count. The definitions have the "
	                 "rules.");
}

void ws_tab_advice(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_findings *a;

	if (!ws_model_has_kernels(tab->m)) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	a = ws_advice_find(tab);
	for (size_t i = 0; i < a->n; i++)
		add_row(t, a, &a->finding[i]);
	add_notes(t, a);
}
