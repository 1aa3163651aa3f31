/* Notes of the tables of kernels, calls and copies, whose rows are queries. */
#include "report/analysis/energy.h"
#include "report/analysis/idle.h"
#include "report/model/load.h"
#include "report/tables/tables.h"

void ws_note_captured(const struct ws_table_context *tab, struct ws_table *t)
{
	struct ws_joined_rows *rows = tab->sel->rows;
	size_t captured = 0;

	for (size_t i = 0; i < rows->nkernels && tab->m->ngraph_nodes; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, i);

		captured += k->kind->is_captured && ws_kernel_selected(tab->m, tab->sel, k, i);
	}
	if (captured)
		ws_table_note(t,
		              "%s kernels ran in CUDA graphs and count where the program captured "
		              "them. `--by launch` counts them where the graphs were launched.",
		              ws_say_number(tab->temp, (double)captured));
}

void ws_tab_kernel_summary(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	const struct ws_digest *d = tab->digest;
	size_t graphs = 0;
	int64_t graph_ns = 0;

	for (size_t i = 0; i < m->nwork; i++)
		if (tab->sel->work[i] && m->work[i].kind == WS_WORK_GRAPH) {
			graphs++;
			graph_ns += m->work[i].dur_ns;
		}
	if (graphs)
		ws_table_note(t,
		              "%s runs of CUDA graphs were traced as a whole. Their kernels (%.3f "
		              "ms) are not in this table. `warpsheet record --graph-level node` "
		              "records them.",
		              ws_say_number(tab->temp, (double)graphs), (double)graph_ns / 1e6);
	ws_note_captured(tab, t);
	if (d->warm_up || d->setup)
		ws_table_note(t,
		              "Set-up and warm-up are in this table: %s kernels (%.3f ms) of "
		              "set-up, %s (%.3f ms) of warm-up. `--scope steps` leaves them out.",
		              ws_say_number(tab->temp, (double)d->setup), (double)d->setup_ns / 1e6,
		              ws_say_number(tab->temp, (double)d->warm_up),
		              (double)d->warm_up_ns / 1e6);
	if (!ws_model_has_kernels(m))
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	else if (!tab->sel->kernels)
		ws_table_note(t, "No kernel passes the filter.");
}

void ws_tab_kernel_launches(const struct ws_table_context *tab, struct ws_table *t)
{
	if (!ws_model_has_kernels(tab->m))
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
}

void ws_tab_range_kernels(const struct ws_table_context *tab, struct ws_table *t)
{
	if (!ws_model_has_kernels(tab->m))
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	ws_table_note(t, "A kernel counts once, in the innermost range around its launch, so "
	                 "the rows add up to all kernels. `ranges` has the inclusive times.");
}

void ws_tab_classes(const struct ws_table_context *tab, struct ws_table *t)
{
	const double all = (double)tab->sel->gpu_ns;
	int64_t unclassified_ns = 0, unclassified_by_name_ns = 0, by_range_ns = 0;

	if (!ws_model_has_kernels(tab->m)) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	for (size_t i = 0; i < tab->digest->ncells; i++) {
		const struct ws_digest_cell *c = &tab->digest->cells[i];

		unclassified_ns += ws_digest_class(tab->m, c) ? 0 : c->total_ns;
		unclassified_by_name_ns += tab->m->configs[c->config].name_class ? 0 : c->total_ns;
		by_range_ns += c->place.class ? c->total_ns : 0;
	}
	if (tab->sel->gpu_ns)
		ws_table_note(t,
		              "Unclassified: %.2f %% of the GPU time; by name alone %.2f %%. "
		              "Ranges and operations classify %.2f %%, names the rest.",
		              100 * (double)unclassified_ns / all,
		              100 * (double)unclassified_by_name_ns / all,
		              100 * (double)by_range_ns / all);
}

void ws_tab_api_summary(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;

	if (!tab->digest->ncalls)
		ws_table_set_not_recorded(t,
		                          "No API calls were recorded: the program made none, or "
		                          "they were left out (`warpsheet record --api` chooses).");
	else if (m->overheads)
		ws_table_note(t,
		              "Recording itself took %.3f ms in %s pieces (compiling, loading, "
		              "flushing buffers), some of it inside these calls.",
		              (double)m->overhead_ns / 1e6,
		              ws_say_number(tab->temp, (double)m->overheads));
}

void ws_tab_launch_latency(const struct ws_table_context *tab, struct ws_table *t)
{
	char words[256];

	if (!tab->sel->rows->nkernels || !tab->sel->rows->ncalls) {
		ws_table_set_not_recorded(t, "%s",
		                          tab->sel->rows->nkernels
		                                  ? "No API calls were recorded, so how kernels "
		                                    "were launched is not known."
		                                  : WS_NO_KERNELS);
		return;
	}
	if (tab->m->soundness.clock_is_off) {
		ws_table_set_not_recorded(t, "Cannot tell: %s.", tab->m->soundness.obstacle);
		return;
	}
	const struct ws_idle *idle = ws_idle_find_in_scope(tab->m, tab->sel);
	ws_table_note(t, "%s: %s (table idle).",
	              idle->verdict.launch_bound                           ? "Launch-bound"
	              : idle->verdict.known && !idle->verdict.may_be_bound ? "Not launch-bound"
	                                                                   : "Whether launch-bound",
	              ws_idle_words(&idle->verdict, words, sizeof(words)));
	if (tab->relations->without_launch)
		ws_table_note(t,
		              "%s kernels have no record of the call "
		              "that launched them and are left out.",
		              ws_say_number(tab->temp, (double)tab->relations->without_launch));
	ws_table_note(t, "Total is from the start of the call to the end of the kernel or the "
	                 "call, whichever is later. Queue is from the end of the call to the start "
	                 "of the kernel, where it started later.");
}

/* --- copies and fills ----------------------------------------------------------------------- */

static void note_copies(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	uint64_t copies = 0, without_size = 0;

	for (size_t i = 0; i < m->nwork; i++) {
		const bool is_copy = m->work[i].kind != WS_WORK_GRAPH;

		copies += is_copy;
		without_size += is_copy && tab->sel->work[i] && !m->work[i].bytes;
	}
	if (!copies)
		ws_table_set_not_recorded(t, "No copy or fill was recorded: the program made none, "
		                             "or they were left out (`warpsheet record "
		                             "--kernels-only` does).");
	if (without_size)
		ws_table_note(t, "Of %s copies and fills the trace does not say the size.",
		              ws_say_number(tab->temp, (double)without_size));
}

void ws_tab_memory_time(const struct ws_table_context *tab, struct ws_table *t)
{
	note_copies(tab, t);
}

void ws_tab_memory_size(const struct ws_table_context *tab, struct ws_table *t)
{
	note_copies(tab, t);
}

/* --- energy and clocks of GPUs ---------------------------------------------------------------- */

static bool has_samples(const struct ws_table_context *tab, struct ws_table *t)
{
	if (!tab->m->ngpu_samples)
		ws_table_set_not_recorded(
		        t, "No energy and clocks of a GPU were sampled: the trace is an import or "
		           "older, NVML was missing, or `--gpu-samples 0` was given.");
	return tab->m->ngpu_samples;
}

void ws_tab_energy(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	const struct ws_bytes failed = ws_meta_value(&m->meta, "gpu.samples_failed");

	if (!has_samples(tab, t))
		return;
	const struct ws_device_energy *all = ws_device_energy(m, tab->sel);

	for (size_t d = 0; d < m->ndevices; d++) {
		const struct ws_bytes name = m->texts[m->devices[d].name];

		if (!all[d].n)
			continue;
		if (!ws_energy_is_known(&all[d].steps))
			ws_table_note(t,
			              "Device %llu has %llu samples in this time; five are needed. "
			              "Record more steps, or with --gpu-samples 20.",
			              (unsigned long long)m->devices[d].id,
			              (unsigned long long)all[d].steps.samples);
		else if (!all[d].npoints)
			ws_table_note(t,
			              "The energy of device %llu is not recorded. Its GPU may be "
			              "older than Volta.",
			              (unsigned long long)m->devices[d].id);
		if (m->devices[d].is_mig)
			ws_table_note(t,
			              "Device %llu is a MIG instance: energy and power are those "
			              "of its whole GPU, other instances included.",
			              (unsigned long long)m->devices[d].id);
		if (ws_name_has(name, "GH200"))
			ws_table_note(t,
			              "Energy and power of device %llu (GH200) can be those of the "
			              "module, its CPU and memory included.",
			              (unsigned long long)m->devices[d].id);
	}
	if (failed.len)
		ws_table_note(t,
		              "NVML stopped giving a value while recording: %.*s. Samples since "
		              "then lack it.",
		              WS_SHOWN(failed));
	ws_table_note(t, "Energy is that of the whole GPU: idle power and other processes on it "
	                 "are included.");
}

void ws_tab_energy_ranges(const struct ws_table_context *tab, struct ws_table *t)
{
	if (has_samples(tab, t))
		ws_table_note(t, "By the time of the host in the range. Device work that runs "
		                 "after it counts for what follows. A range needs five samples "
		                 "of each GPU: half a second, or a tenth with --gpu-samples 20.");
}

void ws_tab_gpu_samples(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_device_energy *all = ws_device_energy(tab->m, tab->sel);
	size_t n = 0;

	for (size_t d = 0; d < tab->m->ndevices; d++)
		n += all[d].n;
	if (has_samples(tab, t) && n > t->nrows)
		ws_table_note(t,
		              "%s samples in %s rows. `warpsheet query TRACE \"SELECT * FROM "
		              "gpu_sample_record\"` has all.",
		              ws_say_number(tab->temp, (double)n),
		              ws_say_number(tab->temp, (double)t->nrows));
}

/* --- counters --------------------------------------------------------------------------------- */

void ws_tab_counters(const struct ws_table_context *tab, struct ws_table *t)
{
	if (!tab->m->ncounters)
		ws_table_set_not_recorded(t, "The program has no NVTX counters.");
}

void ws_tab_counter_samples(const struct ws_table_context *tab, struct ws_table *t)
{
	const size_t n = tab->m->ncounter_samples;

	ws_tab_counters(tab, t);
	if (n > t->nrows)
		ws_table_note(t,
		              "%s samples in %s rows. `warpsheet query TRACE \"SELECT * FROM "
		              "counter_sample\"` has all.",
		              ws_say_number(tab->temp, (double)n),
		              ws_say_number(tab->temp, (double)t->nrows));
}
