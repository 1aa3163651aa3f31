/* Steps, and the statistics over the measured ones. */

#include "report/analysis/calibration.h"
#include "report/analysis/slow_step.h"
#include "report/analysis/steps.h"
#include "report/tables/tables.h"

#define NO_STEPS                                                                                  \
	"No step has finished: no range is called `step`, or the program was stopped inside the " \
	"first. `--step PATTERN` names the ranges that are steps; the table ranges lists all."

static void note_apart(const struct ws_table_context *tab, struct ws_table *t)
{
	const char *words = ws_steps_apart_words(tab->m, tab->temp);

	if (*words)
		ws_table_note(t, "%s, and %s not measured.", words,
		              ws_steps_apart(tab->m) == 1 ? "is" : "are");
	words = ws_steps_threads_words(tab->m, tab->temp);
	if (*words)
		ws_table_note(t, "%s.", words);
	words = ws_calibration_words(tab->m, tab->temp);
	if (*words)
		ws_table_note(t, "%s", words);
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
	size_t last_measured = m->nsteps; /* nsteps: none */
	const struct ws_step_times *times = ws_step_times(m, tab->sel);

	/* Displayed titles: beside the windows these are times on the host. Data formats keep their
	 * titles. */
	static const struct {
		int column;
		const char *title;
	} titles[] = {{WS_TC_steps_forward_ns, "Host Forward (ns)"},
	              {WS_TC_steps_loss_ns, "Host Loss (ns)"},
	              {WS_TC_steps_backward_ns, "Host Backward (ns)"},
	              {WS_TC_steps_optimizer_ns, "Host Optimizer (ns)"},
	              {WS_TC_steps_evaluation_ns, "Host Evaluation (ns)"},
	              {WS_TC_steps_remainder_ns, "Host Remainder (ns)"}};

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		ws_table_show_as(t, (size_t)titles[i].column, titles[i].title);
	if (!t->nrows)
		ws_table_set_not_recorded(t, NO_STEPS);
	note_apart(tab, t);
	if (*ws_steps_repeat_words(m, tab->temp))
		ws_table_note(t, "%s", ws_steps_repeat_words(m, tab->temp));
	for (size_t s = 0; s < m->nsteps; s++)
		last_measured = ws_step_is_measured(m, (uint32_t)s) ? s : last_measured;
	for (size_t s = 0; s < m->nsteps; s++)
		if (m->steps[s].unfinished)
			ws_table_note(t, "%s %" PRIu32 " %s, and is left out.",
			              m->steps[s].warm_up ? "Warm-up step" : "Step",
			              m->steps[s].number,
			              s <= last_measured && last_measured < m->nsteps
			                      ? "had begun before recording did"
			                      : "did not finish (the trace ends inside it)");
		else if (m->steps[s].unsound)
			ws_table_note(t, "%s %" PRIu32 " is left out: see table soundness.",
			              m->steps[s].warm_up ? "Warm-up step" : "Step",
			              m->steps[s].number);
	ws_table_note(t, "Total is the step's window, its device work included. A phase's window "
	                 "lasts from the first start to the last end of its kernels. GPU columns "
	                 "are sums of kernel times.");
	ws_table_note(t, "%sHost columns are times of ranges on their thread, and add up to Host.",
	              times->has_windows || !times->phases
	                      ? ""
	                      : "No kernel of a phase is known, so phases have no window. ");
	if (tab->sel->has_nvtx || tab->sel->has_launched)
		ws_table_note(t, "The filter applies to the kernels and GPU columns; "
		                 "the times of the ranges are unfiltered.");
	if (t->nrows && tab->digest->parts & WS_DIGEST_ROWS)
		ws_note_utilization(t, ws_utilization_find(m, tab->sel));
}

/* Adds a row of these samples; NULL: there are none. */
static struct ws_cell *add_row(struct ws_table *t, const char *phase, enum ws_measure measure,
                               const struct ws_stat *stat)
{
	if (!stat->n)
		return NULL;
	struct ws_cell *row = ws_table_row(t);
	ws_cell_set_str(t, &row[WS_TC_step_statistics_phase], phase);
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
	struct ws_stat stat;

	if (!ws_step_phase_present(times, phase) ||
	    (measure == WS_MEASURE_GPU && !ws_model_has_kernels(m)))
		return;
	ws_step_stat(m, times, phase, measure, &stat);
	struct ws_cell *row = add_row(t,
	                              phase < WS_PHASES ? ws_phase_name((enum ws_phase)phase)
	                              : measure == WS_MEASURE_WALL ? "host"
	                                                           : "total",
	                              measure, &stat);
	if (row) {
		size_t size = times->nmeasured * 12 + 1, len = 0;
		char *list = ws_xmalloc(size);

		for (size_t i = 0; i < times->nmeasured; i++) {
			uint32_t s = times->measured[i];

			if (ws_stat_is_outlier(&stat, ws_step_time(m, times, s, phase, measure)))
				len += (size_t)snprintf(list + len, size - len, "%s%" PRIu32,
				                        len ? ", " : "", m->steps[s].number);
		}
		if (len)
			ws_cell_set_text(t, &row[WS_TC_step_statistics_outliers], list, len);
		free(list);
	}
}

void ws_tab_step_statistics(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	const struct ws_step_times *times = ws_step_times(m, tab->sel);
	const int phases = times->nmeasured ? WS_PHASES + 1 : 0; /* and the total */
	int host_phases = phases - 1;

	/* the host's total, if a step is shorter on the host than with its device work */
	for (size_t i = 0; i < times->nmeasured; i++)
		if (m->steps[times->measured[i]].total_ns != times->step_ns[times->measured[i]])
			host_phases = phases;
	for (int phase = 0; phase < phases; phase++)
		add_statistics(m, t, times, phase, WS_MEASURE_STEP);
	for (int phase = 0; phase < phases; phase++)
		add_statistics(m, t, times, phase, WS_MEASURE_GPU);
	for (int phase = 0; phase < host_phases; phase++)
		if (phase != WS_PHASE_EVALUATION)
			add_statistics(m, t, times, phase, WS_MEASURE_WALL);

	/* what steps are unmeasured for */
	int64_t *ns = ws_xarray(m->nsteps + 1, sizeof(*ns));

	for (int why = WS_STEP_EVALUATES; why <= WS_STEP_PREFILLS && phases; why++) {
		struct ws_stat stat;
		size_t n = 0;

		for (size_t i = 0; i < m->nsteps; i++) {
			const struct ws_model_step *s = &m->steps[i];

			if (s->unfinished || s->unsound)
				continue;
			if (why == WS_STEP_EVALUATES && s->phases >> WS_PHASE_EVALUATION & 1)
				ns[n++] = s->phase_ns[WS_PHASE_EVALUATION];
			else if (why == WS_STEP_PREFILLS && s->apart == why)
				ns[n++] = s->total_ns;
		}
		ws_stat_of(ns, n, &stat);
		add_row(t, ws_step_apart_name((uint8_t)why), WS_MEASURE_WALL, &stat);
	}
	free(ns);
	if (!times->nmeasured)
		ws_table_set_not_recorded(t, NO_STEPS);
	note_apart(tab, t);
	if (times->nmeasured && times->nmeasured < WS_STAT_MIN_SAMPLES)
		ws_table_note(t, "Only %zu measured step%s: too few to say how much they vary.",
		              times->nmeasured, WS_PLURAL(times->nmeasured));
}

void ws_tab_slow_step(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_slow_step *s = ws_slow_step(tab->m, tab->sel);

	ws_table_answer(t, "%s", ws_slow_step_words(tab->m, tab->sel));
	if (!s->obstacle && ws_model_has_kernels(tab->m) && !ws_model_on_cpu(tab->m))
		ws_table_note(t, "%s", ws_slow_step_clock_words(s, tab->temp));
}

/* --- the five parts of a timed loop ------------------------------------------------------- */

void ws_tab_step_split(const struct ws_table_context *tab, struct ws_table *t)
{
	if (t->nrows)
		ws_table_note(t, "Wall time on the CPU. A step that does not wait for its device "
		                 "waits later: in another part, or between steps.");
	else
		ws_table_set_not_recorded(t, "%s",
		                          ws_step_times(tab->m, tab->sel)->nmeasured
		                                  ? "The steps have no phases: no range in them is "
		                                    "called forward, loss, backward or optimizer."
		                                  : NO_STEPS);
}
