/*
 * Roofline: what operations attained against what the device can do. Its rows are a query; these
 * are its notes.
 */

#include "report/tables/tables.h"

#define TOP_OPS 20 /* as in the query of tables.def */

void ws_tab_roofline(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	const struct ws_cost_groups *groups = ws_cost_groups_find(m, tab->sel);

	if (!groups->nops) {
		ws_table_set_not_recorded(
		        t, "The cost of no operation is known. Warpsheet's own steps record it; a "
		           "program can by payloads of warpsheet_nvtx.h, PyTorch's profiler by "
		           "record_shapes=True. All of the GPU time is without a FLOP model.");
		return;
	}
	if (!ws_model_has_kernels(tab->m)) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}

	const double all_ns = (double)tab->sel->gpu_ns,
	             missing_ns = all_ns - (double)groups->modelled_ns;
	size_t over_peak = 0, names = 0;
	bool no_peaks = false, mask_unknown = false;

	for (size_t i = 0; i < t->nrows; i++) {
		const struct ws_cell *row = ws_table_cells(t, i);

		over_peak += row[WS_TC_roofline_check].type != WS_CELL_EMPTY;
		no_peaks |= row[WS_TC_roofline_peak_tflops].type == WS_CELL_EMPTY ||
		            row[WS_TC_roofline_peak_gbs].type == WS_CELL_EMPTY;
	}
	for (size_t i = 0; i < groups->n; i++) {
		names += groups->group[i].by_name;
		mask_unknown |= groups->group[i].needed_unknown && !groups->group[i].flops_unknown;
	}
	if (names > TOP_OPS)
		ws_table_note(t, "Only the %d operations with the most GPU time are shown.",
		              TOP_OPS);

	if (all_ns > 0)
		ws_table_answer(
		        t, "The rows of classes hold %s of the GPU time%s.",
		        ws_say_percent(tab->temp, 100 * (double)groups->counted_ns / all_ns),
		        missing_ns <= 0
		                ? ""
		                : ws_arena_format(
		                          tab->temp, "; %s of it has no FLOPs: %s",
		                          ws_say_percent(tab->temp, 100 * missing_ns / all_ns),
		                          m->cpu_ops.tree.n && !m->cpu_ops.with_shapes
		                                  ? "shapes were not recorded (record_shapes=True)"
		                                  : "no operation whose FLOPs are known launched "
		                                    "it"));
	ws_table_note(t, "A multiply-add is 2 FLOPs, softmax 5 per element; bytes are the least "
	                 "that must move.");
	if (mask_unknown)
		ws_table_note(t, "FLOPs Needed is empty where the mask of attention was not "
		                 "recorded.");
	if (over_peak)
		ws_table_note(t,
		              "%zu rows are over 100 %% of a peak: their cost is too high, the "
		              "peak too low, or data came from a cache. Column Check marks them.",
		              over_peak);
	for (size_t i = 0; i < m->ndevices; i++)
		if (m->devices[i].kernels && m->devices[i].has_peaks)
			ws_table_note(t, "Peaks of device %llu: %s (%.*s).",
			              (unsigned long long)m->devices[i].id,
			              m->devices[i].peaks.pattern,
			              ws_peaks_source_len(&m->devices[i].peaks),
			              m->devices[i].peaks.source);
	if (no_peaks)
		ws_table_note(t, "Some peaks are not known: `--peaks FILE` adds a device, "
		                 "`--device-name NAME` names one that the file does not.");
	if (!tab->m->nmeasured)
		return;
	const struct ws_utilization *use = ws_utilization_find(tab->m, tab->sel);
	if (!use->obstacle[0])
		ws_table_note(t,
		              "The measured steps have MFU %.2f %% and HFU %.2f %% (table steps).",
		              ws_stat_percent(use->model_sum_ns, (double)use->step_sum_ns),
		              ws_stat_percent(use->ran_sum_ns, (double)use->step_sum_ns));
	ws_note_utilization(t, use);
}
