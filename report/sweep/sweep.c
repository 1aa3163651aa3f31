/* The table sweep, and the report of all of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/sweep/private.h"

/* As a number where the column is one. */
static void set_fact(struct ws_table *t, struct ws_cell *row, int column, struct ws_bytes value)
{
	double number;

	if (t->def->columns[column].type == WS_CELL_INT && ws_sweep_number(value, &number))
		ws_cell_set_int(&row[column], (int64_t)number);
	else if (value.len)
		ws_cell_set_text(t, &row[column], value.ptr, value.len);
}

static void add_row(const struct ws_sweep *s, struct ws_table *t, const struct ws_sweep_row *row)
{
	static const int means[] = {WS_TC_sweep_forward_ns, WS_TC_sweep_backward_ns,
	                            WS_TC_sweep_optimizer_ns, WS_TC_sweep_total_ns};
	const struct ws_sweep_run *run = row->run;
	double seconds = row->mean[WS_SWEEP_TOTAL] / 1e9;
	struct ws_cell *cells = ws_table_row(t);
	const char *check = ws_over_peak(fmax(row->mfu_percent, row->hfu_percent));
	char others[512];

	for (int i = 0; i < WS_SWEEP_FACTS; i++)
		set_fact(t, cells, WS_TC_sweep_model + i, ws_sweep_text(s, run, ws_sweep_facts[i]));
	ws_cell_set_int(&cells[WS_TC_sweep_recordings], (int64_t)row->n);
	if (run->has_steps || !row->steps)
		ws_cell_set_int(&cells[WS_TC_sweep_steps], (int64_t)row->steps);
	for (int k = 0; k <= WS_SWEEP_TOTAL; k++) {
		ws_cell_set_real(&cells[means[k]], row->mean[k]);
		ws_cell_set_real(&cells[means[k] + 1], row->std[k]);
	}
	for (int k = WS_SWEEP_FORWARD_WINDOW; k < WS_SWEEP_TIMES; k++)
		ws_cell_set_real(
		        &cells[WS_TC_sweep_window_forward_ns + k - WS_SWEEP_FORWARD_WINDOW],
		        row->mean[k]);
	if (run->tokens > 0)
		ws_cell_set_real(&cells[WS_TC_sweep_tokens], run->tokens / seconds);
	if (run->images > 0)
		ws_cell_set_real(&cells[WS_TC_sweep_images], run->images / seconds);
	ws_cell_set_real(&cells[WS_TC_sweep_tflops], run->flops / seconds / 1e12);
	ws_cell_set_real(&cells[WS_TC_sweep_mfu], row->mfu_percent);
	ws_cell_set_real(&cells[WS_TC_sweep_peak_bytes], row->peak_bytes);
	ws_cell_set_real(&cells[WS_TC_sweep_softmax], run->softmax_percent);
	ws_cell_set_real(&cells[WS_TC_sweep_speedup], row->speedup);
	ws_cell_set_real(&cells[WS_TC_sweep_low], row->low);
	ws_cell_set_real(&cells[WS_TC_sweep_high], row->high);
	set_fact(t, cells, WS_TC_sweep_status, ws_texts_get(&s->texts, row->status));
	ws_sweep_others(s, run, "", others, sizeof(others));
	if (*others)
		ws_cell_set_str(t, &cells[WS_TC_sweep_others], others);
	ws_cell_set_real(&cells[WS_TC_sweep_backward_ratio],
	                 row->mean[WS_SWEEP_BACKWARD] / row->mean[WS_SWEEP_FORWARD]);
	ws_cell_set_real(&cells[WS_TC_sweep_hfu], row->hfu_percent);
	if (check)
		ws_cell_set_str(t, &cells[WS_TC_sweep_check], check);
}

static enum ws_status fill(void *ctx, size_t which, struct ws_table **t, struct ws_err *err)
{
	struct ws_sweep *s = ctx;

	const struct ws_table_def *def = (*t)->def;

	(void)which;
	if (def == &ws_def_sweep_verdict) {
		ws_sweep_verdict(s, *t);
		return WS_OK;
	}
	if (def == &ws_def_sweep_pivot)
		return ws_sweep_pivot(s, t, err);
	s->table = *t;
	for (size_t i = 0; i < s->nrows; i++)
		add_row(s, *t, &s->rows[i]);
	ws_table_show_as(*t, WS_TC_sweep_forward_ns, "Host Forward (ns)");
	ws_table_show_as(*t, WS_TC_sweep_backward_ns, "Host Backward (ns)");
	ws_table_show_as(*t, WS_TC_sweep_optimizer_ns, "Host Optimizer (ns)");
	ws_table_note(*t, "MFU: FLOPs of the forward's matmuls and convolutions over the step's "
	                  "time and the dense peak of their dtype. With a backward, three times "
	                  "that. HFU: FLOPs of all that ran. Attention counts the pairs that its "
	                  "operation computes. Empty where the device's peak is not known.");
	if (!isnan(s->grade.run_noise))
		ws_table_note(*t,
		              "Intervals of speed-ups with fewer than three runs per side assume "
		              "%.3g %% noise between runs (--run-noise).",
		              s->grade.run_noise * 100);
	return WS_OK;
}

enum ws_status ws_sweep_make(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                             struct ws_report **out, struct ws_err *err)
{
	struct ws_report_plan plan = {.title = "Warpsheet sweep", .fill = fill, .ctx = s};
	bool on_cpu = false;
	char trace[32];

	*out = NULL;
	plan.defs = ws_sweep_defs(&plan.ndefs);
	s->opts = opts;
	for (size_t i = 0; i < s->nruns; i++)
		on_cpu |= s->runs[i].on_cpu;
	s->grade = ws_grade_opts_of(&opts->grade, on_cpu);
	/* speed-ups are of whole steps */
	if (isnan(opts->grade.run_noise_percent) && !on_cpu)
		s->grade.run_noise = WS_RUN_NOISE_STEP_PERCENT / 100;
	plan.created_ns = s->nruns ? s->runs[0].base_ns : 0;
	snprintf(trace, sizeof(trace), "%zu traces", s->nruns);
	plan.trace = trace;
	WS_FORWARD(ws_sweep_find_rows(s, err));
	WS_FORWARD(ws_report_of_plan(&plan, out, err));
	ws_sweep_answer(s, *out);
	return WS_OK;
}
