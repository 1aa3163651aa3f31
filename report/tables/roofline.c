/*
 * Roofline: what operations attained against what the device can do.
 */
#include <math.h>
#include <stdlib.h>

#include "formats/base/grow.h"
#include "report/analysis/utilization.h"
#include "report/base/order.h"
#include "report/tables/tables.h"

#define TOP_OPS 20

/* All operations of one class, or of one name, in one dtype on one device. */
struct group {
	bool by_name;
	uint32_t class, name, dtype, device; /* name: 0 for a class */
	uint8_t tensor;                      /* of the longest kernel */
	int64_t longest_ns;
	uint64_t calls, kernels;
	int64_t gpu_ns, flops, bytes;
	bool flops_unknown, bytes_unknown;
};

struct roofline {
	const struct ws_table_context *tab;
	struct ws_table *t;
	struct ws_cost_ops *costs;
	struct group *groups;
	size_t n, capacity, over_peak;
	struct ws_strtab ids;            /* level, class, name, dtype and device -> group, from 1 */
	struct ws_row_key *order;        /* of a level */
	int64_t counted_ns, modelled_ns; /* of operations; of those that tell their FLOPs */
	bool no_peaks;
};

static void merge(struct group *to, const struct group *from)
{
	/* of kernels as long as each other one, whichever operation comes first */
	if (from->longest_ns > to->longest_ns ||
	    (from->longest_ns == to->longest_ns && from->tensor < to->tensor)) {
		to->longest_ns = from->longest_ns;
		to->tensor = from->tensor;
	}
	to->calls += from->calls;
	to->kernels += from->kernels;
	to->gpu_ns += from->gpu_ns;
	to->flops += from->flops;
	to->bytes += from->bytes;
	to->flops_unknown |= from->flops_unknown;
	to->bytes_unknown |= from->bytes_unknown;
}

/* Adds an operation to those of its class, or of its name. */
static void add_op(struct roofline *s, const struct ws_cost_op *op, bool by_name)
{
	const uint32_t key[] = {by_name, op->class, by_name ? op->name : WS_TEXT_EMPTY, op->dtype,
	                        op->device};
	const struct group group = {
	        .by_name = by_name,
	        .class = op->class,
	        .name = key[2],
	        .dtype = op->dtype,
	        .device = op->device,
	        .tensor = op->tensor,
	        .longest_ns = op->longest_ns,
	        .calls = 1,
	        .kernels = op->kernels,
	        .gpu_ns = op->gpu_ns,
	        .flops = op->flops > 0 ? op->flops : 0,
	        .bytes = op->bytes > 0 ? op->bytes : 0,
	        .flops_unknown = op->flops < 0,
	        .bytes_unknown = op->bytes < 0,
	};
	uint64_t id;

	id = ws_strtab_add(&s->ids, key, sizeof(key));
	WS_GROW(s->groups, id, s->capacity);
	if (id > s->n)
		s->groups[s->n++] = group;
	else
		merge(&s->groups[id - 1], &group);
}

static void gather(struct roofline *s)
{
	for (size_t i = 0; i < s->costs->n; i++) {
		const struct ws_cost_op op = ws_cost_ops_at(s->costs, i);

		if (!op.kernels)
			continue; /* nothing to hold against its cost */
		s->counted_ns += op.gpu_ns;
		s->modelled_ns += op.flops >= 0 ? op.gpu_ns : 0;
		add_op(s, &op, false);
		add_op(s, &op, true);
	}
	WS_NEW(s->tab->temp, s->order, s->n);
}

/* Each rate that is known against its peak, also where the other one is not. */
static void check_peaks(struct roofline *s, struct ws_cell *row, double flops_percent,
                        double bytes_percent)
{
	const char *over = ws_over_peak(fmax(flops_percent, bytes_percent));

	s->over_peak += over != NULL;
	if (over)
		ws_cell_set_str(s->t, &row[WS_TC_roofline_check], over);
}

static void set_attained(struct roofline *s, struct ws_cell *row, const struct group *g)
{
	double seconds = (double)g->gpu_ns / 1e9;
	double flops = g->flops_unknown ? NAN : (double)g->flops;
	double bytes = g->bytes_unknown ? NAN : (double)g->bytes;
	double intensity = ws_stat_ratio(flops, bytes);
	const char *bound;
	struct ws_roof roof;

	ws_roof_find(s->tab->m, g->device, g->class, g->dtype, g->tensor, &roof);
	ws_cell_set_real(&row[WS_TC_roofline_flops], flops);
	ws_cell_set_real(&row[WS_TC_roofline_bytes], bytes);
	ws_cell_set_real(&row[WS_TC_roofline_intensity], intensity);
	ws_cell_set_real(&row[WS_TC_roofline_tflops], ws_stat_ratio(flops, seconds) / 1e12);
	ws_cell_set_real(&row[WS_TC_roofline_gbs], ws_stat_ratio(bytes, seconds) / 1e9);
	if (roof.flops_per_s > 0)
		ws_cell_set_real(&row[WS_TC_roofline_peak_tflops], roof.flops_per_s / 1e12);
	if (roof.bytes_per_s > 0)
		ws_cell_set_real(&row[WS_TC_roofline_peak_gbs], roof.bytes_per_s / 1e9);
	check_peaks(s, row, 100 * ws_stat_ratio(flops, seconds * roof.flops_per_s),
	            100 * ws_stat_ratio(bytes, seconds * roof.bytes_per_s));
	s->no_peaks |= roof.flops_per_s <= 0 || roof.bytes_per_s <= 0;
	bound = isnan(intensity) ? NULL : ws_roof_bound(&roof, flops, bytes);
	if (!bound)
		return;
	ws_cell_set_real(&row[WS_TC_roofline_attainable],
	                 fmin(roof.flops_per_s, intensity * roof.bytes_per_s) / 1e12);
	ws_cell_set_real(&row[WS_TC_roofline_attained],
	                 100 * fmax(ws_stat_ratio(flops, seconds * roof.flops_per_s),
	                            ws_stat_ratio(bytes, seconds * roof.bytes_per_s)));
	ws_cell_set_str(s->t, &row[WS_TC_roofline_bound], bound);
}

static void add_row(struct roofline *s, const struct group *g)
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
	ws_cell_set_real(&row[WS_TC_roofline_share],
	                 ws_stat_percent((double)g->gpu_ns, (double)s->tab->sel->gpu_ns));
	set_attained(s, row, g);
}

static void add_level(struct roofline *s, bool by_name)
{
	const struct ws_bytes *texts = s->tab->m->texts;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct group *g = &s->groups[i];

		if (g->by_name == by_name)
			s->order[n++] =
			        (struct ws_row_key){.number = {WS_DESCENDING(g->gpu_ns)},
			                            .text = {texts[g->class], texts[g->name],
			                                     texts[g->dtype]},
			                            .tie = {g->device},
			                            .row = i};
	}
	ws_row_keys_sort(s->order, n);
	for (size_t i = 0; i < n && (!by_name || i < TOP_OPS); i++)
		add_row(s, &s->groups[s->order[i].row]);
	if (by_name && n > TOP_OPS)
		ws_table_note(s->t, "Only the %d operations with the most GPU time are shown.",
		              TOP_OPS);
}

static void add_notes(struct roofline *s)
{
	const struct ws_model *m = s->tab->m;

	if (s->tab->sel->gpu_ns)
		ws_table_note(
		        s->t,
		        "The rows of classes cover %.2f %% of the GPU time. %.2f %% of it has no "
		        "FLOP model: no operation whose FLOPs are known launched it.",
		        ws_stat_percent((double)s->counted_ns, (double)s->tab->sel->gpu_ns),
		        ws_stat_percent((double)(s->tab->sel->gpu_ns - s->modelled_ns),
		                        (double)s->tab->sel->gpu_ns));
	ws_table_note(s->t, "A multiply-add is 2 FLOPs, softmax 5 per element; bytes are the least "
	                    "that must move.");
	if (s->over_peak)
		ws_table_note(s->t,
		              "%zu rows are over 100 %% of a peak, which is impossible: "
		              "their cost is too high, the peak too low, or "
		              "data came from a cache. Column Check marks them.",
		              s->over_peak);
	for (size_t i = 0; i < m->ndevices; i++)
		if (m->devices[i].kernels && m->devices[i].has_peaks)
			ws_table_note(s->t, "Peaks of device %llu: %s (%.*s).",
			              (unsigned long long)m->devices[i].id,
			              m->devices[i].peaks.pattern,
			              ws_peaks_source_len(&m->devices[i].peaks),
			              m->devices[i].peaks.source);
	if (s->no_peaks)
		ws_table_note(s->t, "Some peaks are not known: `--peaks FILE` adds a device.");
}

static void note_steps(struct ws_table *t, const struct ws_utilization *use)
{
	if (!use->why[0])
		ws_table_note(t,
		              "The measured steps have MFU %.2f %% and HFU %.2f %% (table steps).",
		              ws_stat_percent(use->model_sum_ns, (double)use->step_sum_ns),
		              ws_stat_percent(use->ran_sum_ns, (double)use->step_sum_ns));
	ws_note_utilization(t, use);
}

static enum ws_status add_rows(struct roofline *s, struct ws_err *err)
{
	const struct ws_utilization *use;

	gather(s);
	add_level(s, false);
	add_level(s, true);
	add_notes(s);
	if (!s->tab->m->nmeasured)
		return WS_OK;
	WS_FORWARD(ws_utilization_find(s->tab->m, s->tab->sel, &use, err));
	note_steps(s->t, use);
	return WS_OK;
}

enum ws_status ws_tab_roofline(const struct ws_table_context *tab, struct ws_table *t,
                               struct ws_err *err)
{
	struct roofline s = {.tab = tab, .t = t};
	enum ws_status status;

	WS_FORWARD(ws_cost_ops_find(tab->m, tab->sel, &s.costs, err));
	if (!s.costs->n) {
		ws_table_set_not_recorded(t, "The cost of no operation is known. Warpsheet's "
		                             "own steps record it; a program can "
		                             "by payloads of warpsheet_nvtx.h, PyTorch's "
		                             "profiler by record_shapes=True. All "
		                             "of the GPU time is without a FLOP model.");
		return WS_OK;
	}
	status = add_rows(&s, err);
	free(s.groups);
	ws_strtab_free(&s.ids);
	return status;
}
