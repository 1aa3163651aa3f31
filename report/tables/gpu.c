/*
 * One row per device: utilization and occupancy.
 */

#include "report/tables/tables.h"

/* A moment at which the number of resident blocks changes. */
struct change {
	int64_t time_ns;
	double blocks_per_sm; /* < 0: a kernel ends */
};

struct gpu {
	const struct ws_table_context *tab;
	int64_t start_ns, end_ns; /* the window, from the first step to the last */
	int64_t window_ns;        /* of it, without what was not recorded */
	size_t idle_devices;
};

/* Changes in order of time, for kernels in the order of their begins. */
struct residency {
	struct change *ends; /* ends of running kernels: a heap, the earliest first */
	size_t nends, ends_capacity;
	struct change *now; /* changes at now_ns */
	size_t nnow, now_capacity;
	int64_t now_ns, before_ns; /* before_ns: time of the last counted change */
	double blocks, covered;
	size_t running;
};

/* Sums over launches; means are weighted by execution time, as in PyTorch's TensorBoard plugin
 * (docs/reference/occupancy.md). */
struct occupancy_sums {
	uint64_t known; /* launches with an estimate */
	double weight_ns, percent_ns, kineto_ns;
};

struct device_sums {
	struct ws_union kernels, computation, busy;
	struct ws_union kernels_inside; /* the window */
	struct ws_union
	        computation_or_graphs;   /* the content of a graph traced as a whole is unknown */
	struct occupancy_sums occupancy; /* weighted by time in the window */
	struct residency residency;
	uint64_t count, without_shape, graphs;
	int64_t kernel_ns, tensor_ns, unknown_tensor_ns;
	int64_t first_ns, last_ns;
};

static int64_t overlap_ns(const struct gpu *g, int64_t start_ns, int64_t end_ns)
{
	return ws_span_overlap(g->start_ns, g->end_ns, start_ns, end_ns);
}

static void extend(struct device_sums *d, int64_t start_ns, int64_t end_ns)
{
	d->first_ns = start_ns < d->first_ns ? start_ns : d->first_ns;
	d->last_ns = end_ns > d->last_ns ? end_ns : d->last_ns;
}

/* A kernel, or a graph traced as a whole. */
static void add_running(const struct gpu *g, struct device_sums *d, int64_t start_ns,
                        int64_t end_ns)
{
	ws_union_add(&d->kernels, start_ns, end_ns);
	if (overlap_ns(g, start_ns, end_ns) > 0)
		ws_union_add(&d->kernels_inside, start_ns > g->start_ns ? start_ns : g->start_ns,
		             end_ns < g->end_ns ? end_ns : g->end_ns);
}

/* --- resident blocks --------------------------------------------------------------------- */

static void push_end(struct residency *r, struct change end)
{
	size_t at = r->nends++;

	for (; at && r->ends[(at - 1) / 2].time_ns > end.time_ns; at = (at - 1) / 2)
		r->ends[at] = r->ends[(at - 1) / 2];
	r->ends[at] = end;
}

static struct change pop_end(struct residency *r)
{
	const struct change first = r->ends[0], last = r->ends[--r->nends];
	size_t at = 0;

	for (size_t next = 1; next < r->nends; next = 2 * at + 1) {
		next += next + 1 < r->nends && r->ends[next + 1].time_ns < r->ends[next].time_ns;
		if (last.time_ns <= r->ends[next].time_ns)
			break;
		r->ends[at] = r->ends[next];
		at = next;
	}
	r->ends[at] = last;
	return first;
}

static int by_blocks(const void *pa, const void *pb)
{
	double a = ((const struct change *)pa)->blocks_per_sm,
	       b = ((const struct change *)pb)->blocks_per_sm;

	return (a > b) - (a < b);
}

/* Applies the changes at this moment, ends first. Concurrent kernels are added before the limit of
 * 1.
 */
static void change_at(const struct gpu *g, struct residency *r, int64_t time_ns)
{
	for (; r->nends && r->ends[0].time_ns == time_ns; r->nnow++) {
		WS_GROW(r->now, r->nnow + 1, r->now_capacity);
		r->now[r->nnow] = pop_end(r);
	}
	ws_sort(r->now, r->nnow, sizeof(*r->now), by_blocks);
	if (r->running)
		r->covered += (double)overlap_ns(g, r->before_ns, time_ns) * fmin(r->blocks, 1);
	for (size_t i = 0; i < r->nnow; i++) {
		r->running += r->now[i].blocks_per_sm > 0 ? 1 : (size_t)-1;
		/* resets rounding errors */
		r->blocks = r->running ? r->blocks + r->now[i].blocks_per_sm : 0;
	}
	r->nnow = 0;
	r->before_ns = time_ns;
}

static void change_until(const struct gpu *g, struct residency *r, int64_t until_ns)
{
	if (r->nnow)
		change_at(g, r, r->now_ns);
	while (r->nends && r->ends[0].time_ns < until_ns)
		change_at(g, r, r->ends[0].time_ns);
	r->now_ns = until_ns;
}

/* --- kernels and other work -------------------------------------------------------------- */

/* Adds other work of the device from *i on that begins no later than until_ns. */
static void add_work_until(struct gpu *g, uint32_t device, struct device_sums *d, size_t *i,
                           int64_t until_ns)
{
	const struct ws_model *m = g->tab->m;

	for (; *i < m->nwork && m->work[*i].device <= device; ++*i) {
		if (!g->tab->sel->work[*i] || m->work[*i].device != device || m->work[*i].no_time)
			continue;
		if (m->work[*i].start_ns > until_ns)
			return;

		const struct ws_work *w = &m->work[*i];
		int64_t end_ns = w->start_ns + w->dur_ns;

		extend(d, w->start_ns, end_ns);
		ws_union_add(&d->busy, w->start_ns, end_ns);
		if (w->kind != WS_WORK_GRAPH)
			continue;
		/* its kernels are not recorded, but the device is busy */
		d->graphs++;
		add_running(g, d, w->start_ns, end_ns);
		ws_union_add(&d->computation_or_graphs, w->start_ns, end_ns);
	}
}

static void add_device(struct gpu *g, struct ws_table *t, uint32_t device)
{
	const struct ws_model *m = g->tab->m;
	struct device_sums d = {0};

	/* Kernels and other work of a device, in the order in which they began. */
	const struct ws_selection *sel = g->tab->sel;
	size_t end = ws_first_kernel_of(g->tab->m, sel, device + 1), work = 0;

	d.first_ns = INT64_MAX;
	d.last_ns = INT64_MIN;
	d.residency.now_ns = INT64_MIN;
	for (size_t i = ws_first_kernel_of(g->tab->m, sel, device); i < end; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(sel->rows, i);

		if (!k->kind->timed || !ws_kernel_selected(g->tab->m, sel, k, i))
			continue;
		add_work_until(g, device, &d, &work, k->start_ns);

		const struct ws_config *config = &m->configs[k->kind->config];
		int64_t start_ns = k->start_ns, end_ns = start_ns + k->dur_ns;

		d.count++;
		d.kernel_ns += end_ns - start_ns;
		d.tensor_ns += config->tensor == WS_TENSOR_YES ? end_ns - start_ns : 0;
		d.unknown_tensor_ns +=
		        ws_config_tensor(config) == WS_TENSOR_UNKNOWN ? end_ns - start_ns : 0;
		extend(&d, start_ns, end_ns);
		add_running(g, &d, start_ns, end_ns);
		ws_union_add(&d.busy, start_ns, end_ns);
		if (k->kind->class != WS_TEXT_COMM) {
			ws_union_add(&d.computation, start_ns, end_ns);
			ws_union_add(&d.computation_or_graphs, start_ns, end_ns);
		}
		if (!config->has_occupancy) {
			d.without_shape++;
			continue;
		}
		double weight = (double)overlap_ns(g, start_ns, end_ns);
		d.occupancy.known++;
		d.occupancy.weight_ns += weight;
		d.occupancy.percent_ns += weight * config->occupancy.percent;
		d.occupancy.kineto_ns += weight * config->occupancy.kineto_percent;
		if (start_ns != d.residency.now_ns)
			change_until(g, &d.residency, start_ns);
		WS_GROW(d.residency.now, d.residency.nnow + 1, d.residency.now_capacity);
		WS_GROW(d.residency.ends, d.residency.nends + 1, d.residency.ends_capacity);
		d.residency.now[d.residency.nnow++] =
		        (struct change){start_ns, config->occupancy.blocks_per_sm};
		push_end(&d.residency, (struct change){end_ns, -config->occupancy.blocks_per_sm});
	}
	add_work_until(g, device, &d, &work, INT64_MAX);
	change_until(g, &d.residency, INT64_MAX);
	free(d.residency.ends);
	free(d.residency.now);
	int worked = d.first_ns <= d.last_ns;
	g->idle_devices += !worked;
	if (worked) {
		struct ws_cell *row = ws_table_row(t);
		const struct ws_device *listed = &m->devices[device];
		char id[24], capability[48];

		snprintf(id, sizeof(id), "%" PRIu64, listed->id);
		ws_cell_set_str(t, &row[WS_TC_gpu_device], id);
		ws_cell_set_model_text(t, &row[WS_TC_gpu_name], m, listed->name);
		if (listed->memory_bytes > 0) {
			ws_cell_set_real(&row[WS_TC_gpu_memory_gb],
			                 (double)listed->memory_bytes / 1e9);
			ws_cell_set_int(&row[WS_TC_gpu_memory_bytes], listed->memory_bytes);
		}
		if (!listed->is_amd && listed->facts.compute_capability_major >= 0 &&
		    listed->facts.compute_capability_minor >= 0) {
			snprintf(capability, sizeof(capability), "%" PRId64 ".%" PRId64,
			         listed->facts.compute_capability_major,
			         listed->facts.compute_capability_minor);
			ws_cell_set_str(t, &row[WS_TC_gpu_capability], capability);
		}
		double window = (double)g->window_ns;
		int64_t total = d.last_ns - d.first_ns - ws_unrecorded_ns(m, d.first_ns, d.last_ns);
		int64_t kernels = d.kernels.busy_ns, computation = d.computation.busy_ns;
		int64_t explained = d.computation_or_graphs.busy_ns, busy = d.busy.busy_ns;

		ws_cell_set_real(&row[WS_TC_gpu_utilization],
		                 ws_stat_percent((double)d.kernels_inside.busy_ns, window));
		if (d.occupancy.known) {
			/* the mean of min(1, blocks per SM of all running kernels), idle time as 0;
			 * unknown for kernels of a graph */
			if (window > 0 && !d.graphs)
				ws_cell_set_real(&row[WS_TC_gpu_sm_efficiency],
				                 100 * (d.residency.covered / window));
			ws_cell_set_real(&row[WS_TC_gpu_occupancy_kineto],
			                 ws_stat_ratio(d.occupancy.kineto_ns,
			                               d.occupancy.weight_ns));
			ws_cell_set_real(&row[WS_TC_gpu_occupancy],
			                 ws_stat_ratio(d.occupancy.percent_ns,
			                               d.occupancy.weight_ns));
		}
		/* 0 would be wrong if kernels of unknown use exist */
		if (d.tensor_ns || !d.unknown_tensor_ns)
			ws_cell_set_share(&row[WS_TC_gpu_tensor], d.tensor_ns, d.kernel_ns);
		ws_cell_set_share(&row[WS_TC_gpu_tensor_unknown], d.unknown_tensor_ns, d.kernel_ns);
		ws_cell_set_int(&row[WS_TC_gpu_window_ns], g->window_ns);
		ws_cell_set_int(&row[WS_TC_gpu_kernels], (int64_t)d.count);
		ws_cell_set_int(&row[WS_TC_gpu_kernel_ns], d.kernel_ns);
		ws_cell_set_int(&row[WS_TC_gpu_computation_ns], computation);
		ws_cell_set_int(&row[WS_TC_gpu_comm_exposed_ns], kernels - explained);
		if (d.graphs)
			ws_cell_set_int(&row[WS_TC_gpu_graph_ns], explained - computation);
		ws_cell_set_int(&row[WS_TC_gpu_copy_exposed_ns], busy - kernels);
		ws_cell_set_int(&row[WS_TC_gpu_busy_ns], busy);
		ws_cell_set_int(&row[WS_TC_gpu_idle_ns], total - busy);
		ws_cell_set_int(&row[WS_TC_gpu_timeline_ns], total);

		/* the program's name of the device */
		uint32_t text = ws_model_text(m, ws_resources_device(&m->resources, listed->id));
		struct ws_bytes name = m->texts[text];

		if (name.len)
			ws_table_note(t, "The program calls device %" PRIu64 " `%.*s`.", listed->id,
			              name.len > 200 ? 200 : WS_SHOWN(name));
	}
	if (d.without_shape)
		ws_table_note(t,
		              "Device %" PRIu64 ": %s kernels have no occupancy "
		              "estimate: the device's limits or the launch's shape were not "
		              "recorded. SM efficiency and occupancy leave them out.",
		              m->devices[device].id,
		              ws_say_number(g->tab->temp, (double)d.without_shape));
}

void ws_tab_gpu(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	struct gpu g = {.tab = tab};

	if (!tab->sel->rows->nkernels && !m->nwork) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	const struct ws_windows *w = ws_windows(m, tab->sel);
	if (w->n) {
		g.start_ns = w->gpu_begin_ns;
		g.end_ns = w->window[w->n - 1].end_ns;
		g.window_ns = g.end_ns - g.start_ns - ws_unrecorded_ns(m, g.start_ns, g.end_ns);
	}
	for (uint32_t i = 0; i < m->ndevices; i++)
		add_device(&g, t, i);
	if (w->n)
		ws_table_note(t, "Utilization, SM efficiency and occupancy are over %.3f ms, %s.",
		              (double)g.window_ns / 1e6,
		              w->window[0].step == WS_NONE
		                      ? "the time of the trace, which has no finished steps"
		                      : "from the start of the first step to the end of the last");
	if (g.idle_devices)
		ws_table_note(t, "%zu more devices are listed in the trace but did no work in it.",
		              g.idle_devices);
}
