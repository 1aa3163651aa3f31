/* How long a step takes, how steady it is, and how much of the devices' arithmetic it uses. */
#include "report/analysis/steps.h"
#include "report/joined/rows.h"
#include "report/model/model.h"
#include "report/tables/summary/rows.h"

#define STEADY_PERCENT 5 /* standard deviation of the steps, of their mean */

/* FLOPs of the operations in the measured steps; -1: no operation has a number. */
static int64_t step_flops(const struct ws_table_context *tab)
{
	struct ws_joined_rows *rows = tab->sel->rows;
	const struct ws_model *m = tab->m;
	int64_t flops = 0;
	int is_known = 0;

	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, i);
		const struct ws_op_facts *op = ws_joined_range_op(m, r);

		if (!r->is_counted || op->flops < 0 || !ws_range_selected(m, tab->sel, r, i) ||
		    !ws_step_selected(m, tab->sel, ws_joined_range_step(rows, r)))
			continue;
		flops += op->flops;
		is_known = 1;
	}
	return is_known ? flops : -1;
}

/* Phases of at least a thousandth of the step. The table `steps` has all phases, and the host's
 * times. */
static void add_phases(const struct ws_summary_page *p, const struct ws_step_times *times,
                       double step_ns, enum ws_measure measure, const char *before)
{
	for (int phase = 0; phase < WS_PHASES; phase++) {
		struct ws_stat stat;
		char item[48];

		if (!ws_step_phase_present(times, phase))
			continue;
		ws_step_stat(p->tab->m, times, phase, measure, &stat);
		snprintf(item, sizeof(item), "%s%s, mean", before,
		         ws_phase_name((enum ws_phase)phase));
		if (stat.n && stat.mean >= step_ns / 1000)
			ws_page_time(p, item, stat.mean);
	}
}

/* Ranges that may be the steps, and the option to type. */
static void add_candidates(const struct ws_summary_page *p)
{
	const struct ws_step_candidates *found;
	struct ws_arena *temp = p->tab->temp;
	struct ws_steps_hint hint;

	if (p->tab->m->nmeasured) {
		ws_page_words(p, "measured steps", "none in this report: a filter leaves them out");
		return;
	}
	found = ws_step_candidates(p->tab->m, p->tab->sel);
	hint = ws_steps_hint(temp, p->tab->m, found);
	ws_page_words(p, "measured steps",
	              ws_arena_format(temp, "%s%s%s", hint.words, hint.command, hint.numbers));
	for (size_t i = 0; i < found->n; i++) {
		const struct ws_step_candidate *c = &found->best[i];
		struct ws_cell *row = ws_page_row(p, ws_bytes_of("candidate for steps"));

		ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)c->count);
		ws_cell_set_real(&row[WS_TC_summary_time_ns], c->mean_ns);
		ws_cell_set_str(p->t, &row[WS_TC_summary_text],
		                ws_arena_format(temp, "--step '%s': mean time; %.3g %% of GPU time",
		                                c->pattern, c->percent));
	}
}

static void add_step_times(const struct ws_summary_page *p, const struct ws_step_times *times)
{
	const struct ws_model *m = p->tab->m;
	int64_t tokens = ws_fact_number(m, "tokens_per_step");
	int64_t images = ws_fact_number(m, "images_per_step"), flops;
	struct ws_stat total, host;

	if (!times->nmeasured) {
		add_candidates(p);
		return;
	}
	flops = step_flops(p->tab);
	ws_step_stat(m, times, WS_PHASES, WS_MEASURE_STEP, &total);
	ws_step_stat(m, times, WS_PHASES, WS_MEASURE_WALL, &host);
	ws_page_count(p, "measured steps", total.n);
	ws_page_time(p, total.n == 1 ? "step" : "step, mean", total.mean);

	/* How steady the steps are, in words. */
	double spread = ws_stat_percent(total.std, total.mean);
	char text[160];

	if (total.n < 3)
		snprintf(text, sizeof(text), "cannot tell: %llu measured %s; 3 or more are needed",
		         (unsigned long long)total.n, total.n == 1 ? "step" : "steps");
	else
		snprintf(text, sizeof(text),
		         "%s: the standard deviation is %.1f %% of the mean over %llu steps",
		         spread > STEADY_PERCENT ? "unsteady" : "steady", spread,
		         (unsigned long long)total.n);
	ws_page_words(p, "how steady it is", text);
	if (ws_steps_apart(m))
		ws_page_words(p, "not measured", ws_steps_apart_words(m, p->tab->temp));
	if (total.n > 1) {
		ws_page_time(p, "step, sample standard deviation", total.std);
		ws_page_time(p, "step, median", total.median);
		ws_page_time(p, "step, shortest", (double)total.min);
		ws_page_time(p, "step, longest", (double)total.max);
	}

	/* Processing prompts and generating tokens are different work, so each has its own mean. */
	struct ws_batch_steps batch[WS_BATCH_KINDS];
	const size_t n = ws_step_batches(p->tab->m, times, batch);

	for (size_t i = 0; i < n; i++) {
		struct ws_cell *row =
		        ws_page_row(p, ws_bytes_of(ws_arena_format(p->tab->temp, "%s step, mean",
		                                                   batch[i].kind)));

		ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)batch[i].steps);
		ws_cell_set_real(&row[WS_TC_summary_time_ns], batch[i].ns);
		ws_cell_set_str(p->t, &row[WS_TC_summary_text],
		                ws_arena_format(p->tab->temp, "of %.4g requests and %.5g tokens",
		                                batch[i].requests, batch[i].tokens));
	}
	add_phases(p, times, total.mean, WS_MEASURE_STEP, "window of ");
	add_phases(p, times, total.mean, WS_MEASURE_GPU, "GPU time of ");
	if (host.sum != total.sum)
		ws_page_time(p, "step on the host, mean", host.mean);
	if (tokens)
		ws_page_value(p, "tokens/s", ws_stat_ratio((double)tokens * 1e9, total.mean));
	if (images)
		ws_page_value(p, "images/s", ws_stat_ratio((double)images * 1e9, total.mean));
	if (flops >= 0)
		ws_page_value(p, "TFLOP/s over the measured steps",
		              ws_stat_ratio((double)flops, (double)total.sum) / 1e3);
}

void ws_page_steps(const struct ws_summary_page *p)
{
	const struct ws_step_times *times = ws_step_times(p->tab->m, p->tab->sel);

	add_step_times(p, times);
	if (times->nmeasured)
		ws_page_utilization(p);
}
