/* Steps, and the statistics over the measured ones. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "report/analysis/steps.h"
#include "report/model/load.h"
#include "report/tables/tables.h"

#define NO_STEPS                                                                                  \
	"No step has finished: no range is called `step`, or the program was stopped inside the " \
	"first. `--step PATTERN` names the ranges that are steps; the table ranges lists all."

/* Columns of the phases. */
struct phase_columns {
	size_t host, gpu, window;
};
static const struct phase_columns columns_of[WS_PHASES] = {
#define OF(phase)                                                       \
	{                                                               \
		WS_TC_steps_##phase##_ns, WS_TC_steps_gpu_##phase##_ns, \
		        WS_TC_steps_window_##phase##_ns                 \
	}
        [WS_PHASE_FORWARD] = OF(forward),       [WS_PHASE_LOSS] = OF(loss),
        [WS_PHASE_BACKWARD] = OF(backward),     [WS_PHASE_OPTIMIZER] = OF(optimizer),
        [WS_PHASE_EVALUATION] = OF(evaluation), [WS_PHASE_OTHER] = OF(remainder),
#undef OF
};

static void set_batch(struct ws_table *t, struct ws_cell *row, const struct ws_batch *b)
{
	const struct ws_batch_part *c = &b->context, *g = &b->generation;

	ws_cell_set_str(t, &row[WS_TC_steps_batch], ws_batch_kind(b));
	ws_cell_set_int(&row[WS_TC_steps_requests], (int64_t)(c->requests + g->requests));
	if (c->queries || g->queries)
		ws_cell_set_int(&row[WS_TC_steps_batch_tokens], (int64_t)(c->queries + g->queries));
	if (!b->has_sums)
		return;
	ws_cell_set_int(&row[WS_TC_steps_key_tokens], (int64_t)(c->keys + g->keys));
	ws_cell_set_int(&row[WS_TC_steps_pairs], (int64_t)(c->pairs + g->pairs));
}

static void add_step(const struct ws_table_context *tab, struct ws_table *t,
                     const struct ws_step_times *times, const struct ws_stat *total,
                     const struct ws_utilization *use, uint32_t s)
{
	const struct ws_model_step *step = &tab->m->steps[s];
	const struct ws_step_gpu *gpu = &times->gpu[s];
	struct ws_cell *row = ws_table_row(t);
	int64_t total_ns = times->step_ns[s], tokens = ws_fact_number(tab->m, "tokens_per_step");
	int64_t images = ws_fact_number(tab->m, "images_per_step");

	bool has_phases = false; /* a phase has kernels: the rest is the remainder */

	struct ws_batch batch;
	const bool is_batch = ws_batch_of_name(tab->m->texts[step->name], &batch);

	ws_cell_set_int(&row[WS_TC_steps_step], step->number);
	if (is_batch)
		set_batch(t, row, &batch);
	ws_cell_set_str(t, &row[WS_TC_steps_warm_up], step->warm_up ? "yes" : "no");
	if (step->apart)
		ws_cell_set_str(t, &row[WS_TC_steps_contains], ws_step_apart_name(step->apart));
	for (int p = 0; p < WS_PHASES; p++) {
		int present = p == WS_PHASE_OTHER ? ws_step_phase_present(times, p)
		                                  : (step->phases >> p & 1);

		if (present)
			ws_cell_set_int(&row[columns_of[p].host], step->phase_ns[p]);
		/* a framework's links identify backward kernels without a range `backward` */
		has_phases |= p != WS_PHASE_OTHER && gpu->phase_ns[p];
		if (present || (gpu->phase_ns[p] && has_phases))
			ws_cell_set_int(&row[columns_of[p].gpu], gpu->phase_ns[p]);
		if (times->window_ns[s][p] >= 0)
			ws_cell_set_int(&row[columns_of[p].window], times->window_ns[s][p]);
	}
	ws_cell_set_int(&row[WS_TC_steps_host_ns], step->total_ns);
	ws_cell_set_int(&row[WS_TC_steps_kernels], (int64_t)gpu->kernels);
	ws_cell_set_int(&row[WS_TC_steps_gpu_ns], gpu->total_ns);
	if (!step->warm_up && use) {
		const int64_t step_ns = use->step_ns[s];
		double mfu = ws_stat_percent(use->model_ns[s], (double)step_ns);
		double hfu = ws_stat_percent(use->ran_ns[s], (double)step_ns);
		const char *over = ws_over_peak(fmax(mfu, hfu));

		ws_cell_set_real(&row[WS_TC_steps_mfu], mfu);
		ws_cell_set_real(&row[WS_TC_steps_hfu], hfu);
		if (over)
			ws_cell_set_str(t, &row[WS_TC_steps_check], over);
	}
	if (total_ns < 0)
		return;
	ws_cell_set_int(&row[WS_TC_steps_total_ns], total_ns);
	if (!tokens && is_batch)
		tokens = (int64_t)(batch.context.queries + batch.generation.queries);
	if (tokens)
		ws_cell_set_real(&row[WS_TC_steps_tokens_per_s],
		                 ws_stat_ratio((double)tokens * 1e9, (double)total_ns));
	if (images)
		ws_cell_set_real(&row[WS_TC_steps_images_per_s],
		                 ws_stat_ratio((double)images * 1e9, (double)total_ns));
	if (!step->warm_up && !step->apart)
		ws_cell_set_str(t, &row[WS_TC_steps_outlier],
		                ws_stat_is_outlier(total, total_ns) ? "yes" : "no");
}

static bool is_before_measured(const struct ws_model *m, size_t step)
{
	while (step < m->nsteps && !ws_step_is_measured(m, (uint32_t)step))
		step++;
	return step < m->nsteps;
}

static void note_apart(const struct ws_table_context *tab, struct ws_table *t)
{
	const char *words = ws_steps_apart_words(tab->m, tab->temp);

	if (*words)
		ws_table_note(t, "%s, and %s not measured.", words,
		              ws_steps_apart(tab->m) == 1 ? "is" : "are");
}

static void add_step_notes(const struct ws_table_context *tab, struct ws_table *t,
                           const struct ws_step_times *times, size_t shown)
{
	const struct ws_model *m = tab->m;

	if (!shown)
		ws_table_set_not_recorded(t, NO_STEPS);
	note_apart(tab, t);
	if (*ws_steps_repeat_words(m, tab->temp))
		ws_table_note(t, "%s", ws_steps_repeat_words(m, tab->temp));
	for (size_t s = 0; s < m->nsteps; s++)
		if (m->steps[s].unfinished)
			ws_table_note(t, "%s %" PRIu32 " %s, and is left out.",
			              m->steps[s].warm_up ? "Warm-up step" : "Step",
			              m->steps[s].number,
			              is_before_measured(m, s)
			                      ? "had begun before recording did"
			                      : "did not finish (the trace ends inside it)");
		else if (m->steps[s].unsound)
			ws_table_note(t, "%s %" PRIu32 " is left out: see table soundness.",
			              m->steps[s].warm_up ? "Warm-up step" : "Step",
			              m->steps[s].number);
	ws_table_note(t,
	              "Total is the step's window, its device work included. A phase's window "
	              "lasts from the first start to the last end of its kernels. GPU columns are "
	              "sums of kernel times.");
	ws_table_note(t, "%sHost columns are times of ranges on their thread, and add up to Host.",
	              times->has_windows || !times->phases
	                      ? ""
	                      : "No kernel of a phase is known, so phases have no window. ");
	if (tab->sel->has_nvtx || tab->sel->has_launched)
		ws_table_note(t, "The filter applies to the kernels and GPU columns; "
		                 "the times of the ranges are unfiltered.");
}

void ws_note_utilization(struct ws_table *t, const struct ws_utilization *use)
{
	if (use->obstacle[0])
		ws_table_note(t, "MFU and HFU are not known: %s.", use->obstacle);
	else
		ws_table_note(t,
		              "MFU and HFU are of %s. Causal attention counts the pairs that the "
		              "operation says it computes.",
		              use->basis);
	if (ws_over_peak(100 * fmax(use->model_sum_ns, use->ran_sum_ns) / (double)use->step_sum_ns))
		ws_table_note(t,
		              "MFU or HFU of the steps is %s, or the steps end before their "
		              "device work.",
		              WS_OVER_PEAK);
}

void ws_tab_steps(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	const struct ws_step_times *times = ws_step_times(m, tab->sel);
	const struct ws_utilization *use = NULL; /* not requested, nor anything that needs rows */
	struct ws_stat total;
	size_t shown = 0;

	/* Displayed titles: beside the windows these are times on the host. Data formats keep their
	 * titles.
	 */
	static const char *const titles[WS_PHASES] = {
	        "Host Forward (ns)",   "Host Loss (ns)",       "Host Backward (ns)",
	        "Host Optimizer (ns)", "Host Evaluation (ns)", "Host Remainder (ns)"};

	for (size_t p = 0; p < WS_PHASES; p++)
		ws_table_show_as(t, columns_of[p].host, titles[p]);
	if (tab->digest->parts & WS_DIGEST_ROWS)
		use = ws_utilization_find(m, tab->sel);
	ws_step_stat(m, times, WS_PHASES, WS_MEASURE_STEP, &total);
	for (uint32_t s = 0; s < m->nsteps; s++) {
		const struct ws_model_step *step = &m->steps[s];

		const bool is_measured = !step->warm_up && !step->apart;

		if (step->unfinished || step->unsound ||
		    (is_measured && !ws_step_selected(m, tab->sel, s)) ||
		    (!is_measured &&
		     (tab->sel->has_steps || !ws_time_selected(tab->sel, step->start_ns,
		                                               step->start_ns + step->total_ns))))
			continue;
		add_step(tab, t, times, &total, use, s);
		shown++;
	}
	add_step_notes(tab, t, times, shown);
	if (shown && use)
		ws_note_utilization(t, use);
}

static void set_outliers(const struct ws_model *m, struct ws_table *t, struct ws_cell *cell,
                         const struct ws_step_times *times, int phase, enum ws_measure measure,
                         const struct ws_stat *stat)
{
	size_t size = times->nmeasured * 12 + 1, len = 0;
	char *list = ws_xmalloc(size);

	for (size_t i = 0; i < times->nmeasured; i++) {
		uint32_t s = times->measured[i];

		if (ws_stat_is_outlier(stat, ws_step_time(m, times, s, phase, measure)))
			len += (size_t)snprintf(list + len, size - len, "%s%" PRIu32,
			                        len ? ", " : "", m->steps[s].number);
	}
	if (len)
		ws_cell_set_text(t, cell, list, len);
	free(list);
}

/* Adds a row of these samples; NULL: there are none. */
static struct ws_cell *add_row(struct ws_table *t, int phase, enum ws_measure measure,
                               const struct ws_stat *stat)
{
	struct ws_cell *row;

	if (!stat->n)
		return NULL;
	row = ws_table_row(t);
	ws_cell_set_str(t, &row[WS_TC_step_statistics_phase],
	                phase < WS_PHASES            ? ws_phase_name((enum ws_phase)phase)
	                : measure == WS_MEASURE_WALL ? "host"
	                                             : "total");
	ws_cell_set_str(t, &row[WS_TC_step_statistics_measure], ws_measure_name(measure));
	ws_cell_set_int(&row[WS_TC_step_statistics_steps], (int64_t)stat->n);
	ws_cell_set_real(&row[WS_TC_step_statistics_mean_ns], stat->mean);
	if (stat->n > 1) {
		ws_cell_set_real(&row[WS_TC_step_statistics_std_ns], stat->std);
		ws_cell_set_real(&row[WS_TC_step_statistics_cv],
		                 ws_stat_ratio(stat->std, stat->mean));
	}
	ws_cell_set_real(&row[WS_TC_step_statistics_med_ns], stat->median);
	ws_cell_set_int(&row[WS_TC_step_statistics_min_ns], stat->min);
	ws_cell_set_int(&row[WS_TC_step_statistics_max_ns], stat->max);
	return row;
}

static void add_statistics(const struct ws_model *m, struct ws_table *t,
                           const struct ws_step_times *times, int phase, enum ws_measure measure)
{
	struct ws_cell *row;
	struct ws_stat stat;

	if (!ws_step_phase_present(times, phase) ||
	    (measure == WS_MEASURE_GPU && !ws_model_has_kernels(m)))
		return;
	ws_step_stat(m, times, phase, measure, &stat);
	row = add_row(t, phase, measure, &stat);
	if (row)
		set_outliers(m, t, &row[WS_TC_step_statistics_outliers], times, phase, measure,
		             &stat);
}

/* Is the host's time of a step shorter than the step with its device work? */
static bool host_differs(const struct ws_model *m, const struct ws_step_times *times)
{
	for (size_t i = 0; i < times->nmeasured; i++)
		if (m->steps[times->measured[i]].total_ns != times->step_ns[times->measured[i]])
			return true;
	return false;
}

static void add_all_statistics(const struct ws_model *m, struct ws_table *t,
                               const struct ws_step_times *times)
{
	int last = host_differs(m, times) ? WS_PHASES : WS_PHASES - 1;

	for (int phase = 0; phase <= WS_PHASES; phase++)
		add_statistics(m, t, times, phase, WS_MEASURE_STEP);
	for (int phase = 0; phase <= WS_PHASES; phase++)
		add_statistics(m, t, times, phase, WS_MEASURE_GPU);
	for (int phase = 0; phase <= last; phase++)
		if (phase == WS_PHASE_EVALUATION) {
			/* Statistics of evaluations, in steps that are unmeasured because they
			 * contain them. */
			int64_t *ns = ws_xarray(m->nsteps + 1, sizeof(*ns));
			struct ws_stat stat;
			size_t n = 0;

			for (size_t s = 0; s < m->nsteps; s++)
				if (m->steps[s].phases >> WS_PHASE_EVALUATION & 1 &&
				    !m->steps[s].unfinished && !m->steps[s].unsound)
					ns[n++] = m->steps[s].phase_ns[WS_PHASE_EVALUATION];
			ws_stat_of(ns, n, &stat);
			add_row(t, WS_PHASE_EVALUATION, WS_MEASURE_WALL, &stat);
			free(ns);
		} else
			add_statistics(m, t, times, phase, WS_MEASURE_WALL);
}

void ws_tab_step_statistics(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_step_times *times = ws_step_times(tab->m, tab->sel);

	if (!times->nmeasured)
		ws_table_set_not_recorded(t, NO_STEPS);
	if (times->nmeasured)
		add_all_statistics(tab->m, t, times);
	note_apart(tab, t);
	if (times->nmeasured && times->nmeasured < WS_STAT_MIN_SAMPLES)
		ws_table_note(t, "Only %zu measured step%s: too few to say how much they vary.",
		              times->nmeasured, times->nmeasured == 1 ? "" : "s");
}

/* --- the five parts of a timed loop ------------------------------------------------------- */

struct split {
	const char *part;
	int64_t ns;
	bool is_known; /* if false, cells are empty, because 0 would mean no time */
};

/* Splits the measured steps of the report; the overhead is the time between them. */
void ws_tab_step_split(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	int64_t sum[WS_PHASES] = {0}, first = INT64_MAX, last = INT64_MIN, steps = 0;
	unsigned known = 0;
	uint64_t n = 0;

	for (uint32_t s = 0; s < m->nsteps; s++) {
		const struct ws_model_step *step = &m->steps[s];
		int64_t start = step->start_ns;

		if (!ws_step_selected(m, tab->sel, s))
			continue;
		for (int p = 0; p < WS_PHASES; p++)
			sum[p] += step->phase_ns[p];
		known |= step->phases;
		first = start < first ? start : first;
		last = start + step->total_ns > last ? start + step->total_ns : last;
		steps += step->total_ns;
		n++;
	}
	if (!n || !known) {
		ws_table_set_not_recorded(
		        t, "%s",
		        n ? "The steps have no phases: no range in them is called "
		            "forward, loss, backward or optimizer."
		          : NO_STEPS);
		return;
	}
	/* an optimizer without backward is not backprop */
	int64_t *with_optimizer =
	        &sum[known >> WS_PHASE_BACKWARD & 1 ? WS_PHASE_BACKWARD : WS_PHASE_OTHER];
	*with_optimizer += sum[WS_PHASE_OPTIMIZER];
	const struct split parts[] = {
	        {"eval", sum[WS_PHASE_FORWARD], known >> WS_PHASE_FORWARD & 1},
	        {"loss", sum[WS_PHASE_LOSS], known >> WS_PHASE_LOSS & 1},
	        {"backprop", sum[WS_PHASE_BACKWARD], known >> WS_PHASE_BACKWARD & 1},
	        {"remainder", sum[WS_PHASE_OTHER], 1},
	        {"overhead", last - first - steps, 1},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[WS_TC_step_split_part], parts[i].part);
		ws_cell_set_int(&row[WS_TC_step_split_steps], (int64_t)n);
		if (!parts[i].is_known)
			continue;
		ws_cell_set_int(&row[WS_TC_step_split_time_ns], parts[i].ns);
		ws_cell_set_share(&row[WS_TC_step_split_share], parts[i].ns, last - first);
		ws_cell_set_mean(&row[WS_TC_step_split_per_step_ns], parts[i].ns, n);
	}
	ws_cell_set_int(&ws_table_totals(t)[WS_TC_step_split_time_ns], last - first);
	ws_table_note(t, "Wall time on the CPU. A step that does not wait for its device waits "
	                 "later: in another part, or between steps.");
}
