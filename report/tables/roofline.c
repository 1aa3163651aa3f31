/*
 * Roofline: rates of operations relative to the device's peaks.
 */

#include "report/analysis/costs.h"
#include "report/base/order.h"
#include "report/base/ui.h"
#include "report/tables/tables.h"

#define TOP_OPS 20

struct roofline {
	const struct ws_table_context *tab;
	struct ws_table *t;
	const struct ws_cost_groups *groups;
	size_t over_peak;
	struct ws_row_key *order; /* groups of a level */
	bool no_peaks, mask_unknown;
};

/* Data that fits into a cache need not come from memory: weights of a small optimizer, a small
 * activation. */
#define OVER_BANDWIDTH                                                                           \
	"over 100 % of the memory's bandwidth: data from a cache, or the bytes or the peak are " \
	"wrong"

/* Compares each known rate with its peak. */
static void check_peaks(struct roofline *s, struct ws_cell *row, double flops_percent,
                        double bytes_percent)
{
	const char *over = ws_over_peak(flops_percent);

	if (!over && bytes_percent > 100)
		over = OVER_BANDWIDTH;
	s->over_peak += over != NULL;
	if (over)
		ws_cell_set_str(s->t, &row[WS_TC_roofline_check], over);
}

static void set_attained(struct roofline *s, struct ws_cell *row, const struct ws_cost_group *g)
{
	const struct ws_attained a = ws_cost_group_attained(s->tab->m, g);

	ws_cell_set_real(&row[WS_TC_roofline_flops], a.flops);
	ws_cell_set_real(&row[WS_TC_roofline_bytes], a.bytes);
	ws_cell_set_real(&row[WS_TC_roofline_intensity], a.intensity);
	ws_cell_set_real(&row[WS_TC_roofline_tflops], ws_stat_ratio(a.flops, a.seconds) / 1e12);
	if (ws_class_is_product(g->class) && !g->needed_unknown) {
		ws_cell_set_real(&row[WS_TC_roofline_flops_needed], (double)g->needed);
		ws_cell_set_real(&row[WS_TC_roofline_tflops_needed],
		                 ws_stat_ratio((double)g->needed, a.seconds) / 1e12);
	}
	s->mask_unknown |= g->needed_unknown && !g->flops_unknown;
	ws_cell_set_real(&row[WS_TC_roofline_gbs], ws_stat_ratio(a.bytes, a.seconds) / 1e9);
	if (a.roof.flops_per_s > 0)
		ws_cell_set_real(&row[WS_TC_roofline_peak_tflops], a.roof.flops_per_s / 1e12);
	if (a.roof.bytes_per_s > 0)
		ws_cell_set_real(&row[WS_TC_roofline_peak_gbs], a.roof.bytes_per_s / 1e9);
	check_peaks(s, row, a.flops_percent, a.bytes_percent);
	s->no_peaks |= a.roof.flops_per_s <= 0 || a.roof.bytes_per_s <= 0;
	if (!a.bound)
		return;
	ws_cell_set_real(&row[WS_TC_roofline_attainable], a.attainable_flops_per_s / 1e12);
	ws_cell_set_real(&row[WS_TC_roofline_attained], a.percent);
	ws_cell_set_str(s->t, &row[WS_TC_roofline_bound], a.bound);
}

static void add_row(struct roofline *s, const struct ws_cost_group *g)
{
	const struct ws_model *m = s->tab->m;
	struct ws_cell *row = ws_table_row(s->t);

	ws_cell_set_str(s->t, &row[WS_TC_roofline_level], g->name ? "operation" : "class");
	if (g->name)
		ws_cell_set_model_text(s->t, &row[WS_TC_roofline_name], m, g->name);
	else if (g->class)
		ws_cell_set_model_text(s->t, &row[WS_TC_roofline_name], m, g->class);
	else
		ws_cell_set_str(s->t, &row[WS_TC_roofline_name], "(unclassified)");
	ws_cell_set_model_text(s->t, &row[WS_TC_roofline_class], m, g->class);
	ws_cell_set_model_text(s->t, &row[WS_TC_roofline_dtype], m, g->dtype);
	ws_cell_set_int(&row[WS_TC_roofline_device], (int64_t)m->devices[g->device].id);
	ws_cell_set_int(&row[WS_TC_roofline_calls], (int64_t)g->calls);
	ws_cell_set_int(&row[WS_TC_roofline_kernels], (int64_t)g->kernels);
	ws_cell_set_int(&row[WS_TC_roofline_gpu_ns], g->gpu_ns);
	ws_cell_set_share(&row[WS_TC_roofline_share], g->gpu_ns, s->tab->sel->gpu_ns);
	set_attained(s, row, g);
}

static void add_level(struct roofline *s, bool by_name)
{
	size_t n = ws_cost_groups_order(s->tab->m, s->groups, by_name, s->order);

	for (size_t i = 0; i < n && (!by_name || i < TOP_OPS); i++)
		add_row(s, &s->groups->group[s->order[i].row]);
	if (by_name && n > TOP_OPS)
		ws_table_note(s->t, "Only the %d operations with the most GPU time are shown.",
		              TOP_OPS);
}

static void add_notes(struct roofline *s)
{
	const struct ws_model *m = s->tab->m;

	const double all_ns = (double)s->tab->sel->gpu_ns,
	             missing_ns = all_ns - (double)s->groups->modelled_ns;

	if (all_ns > 0)
		ws_table_answer(
		        s->t, "The rows of classes hold %s of the GPU time%s.",
		        ws_say_percent(s->tab->temp, 100 * (double)s->groups->counted_ns / all_ns),
		        missing_ns <= 0
		                ? ""
		                : ws_arena_format(
		                          s->tab->temp, "; %s of it has no FLOPs: %s",
		                          ws_say_percent(s->tab->temp, 100 * missing_ns / all_ns),
		                          m->cpu_ops.tree.n && !m->cpu_ops.with_shapes
		                                  ? "shapes were not recorded (record_shapes=True)"
		                                  : "no operation whose FLOPs are known launched "
		                                    "it"));
	ws_table_note(s->t, "A multiply-add is 2 FLOPs, softmax 5 per element; bytes are the least "
	                    "that must move.");
	if (s->mask_unknown)
		ws_table_note(s->t, "FLOPs Needed is empty where the mask of attention was not "
		                    "recorded.");
	if (s->over_peak)
		ws_table_note(s->t,
		              "%zu rows are over 100 %% of a peak: their cost is too high, the "
		              "peak too low, or data came from a cache. Column Check marks them.",
		              s->over_peak);
	for (size_t i = 0; i < m->ndevices; i++)
		if (m->devices[i].kernels && m->devices[i].has_peaks)
			ws_table_note(s->t, "Peaks of device %llu: %s (%.*s).",
			              (unsigned long long)m->devices[i].id,
			              m->devices[i].peaks.pattern,
			              ws_peaks_source_len(&m->devices[i].peaks),
			              m->devices[i].peaks.source);
	if (s->no_peaks)
		ws_table_note(s->t, "Some peaks are not known: `--peaks FILE` adds a device, "
		                    "`--device-name NAME` "
		                    "names one that the file does not.");
}

static void note_steps(struct ws_table *t, const struct ws_utilization *use)
{
	if (!use->obstacle[0])
		ws_table_note(t,
		              "The measured steps have MFU %.2f %% and HFU %.2f %% (table steps).",
		              ws_stat_percent(use->model_sum_ns, (double)use->step_sum_ns),
		              ws_stat_percent(use->ran_sum_ns, (double)use->step_sum_ns));
	ws_note_utilization(t, use);
}

static void add_rows(struct roofline *s)
{
	const struct ws_utilization *use;

	WS_NEW(s->tab->temp, s->order, s->groups->n);
	add_level(s, false);
	add_level(s, true);
	add_notes(s);
	if (!s->tab->m->nmeasured)
		return;
	use = ws_utilization_find(s->tab->m, s->tab->sel);
	note_steps(s->t, use);
}

void ws_tab_roofline(const struct ws_table_context *tab, struct ws_table *t)
{
	struct roofline s = {.tab = tab, .t = t};

	s.groups = ws_cost_groups_find(tab->m, tab->sel);
	if (!s.groups->nops) {
		ws_table_set_not_recorded(t, "The cost of no operation is known. Warpsheet's "
		                             "own steps record it; a program can "
		                             "by payloads of warpsheet_nvtx.h, PyTorch's "
		                             "profiler by record_shapes=True. All "
		                             "of the GPU time is without a FLOP model.");
		return;
	}
	if (!ws_model_has_kernels(tab->m)) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	add_rows(&s);
}
