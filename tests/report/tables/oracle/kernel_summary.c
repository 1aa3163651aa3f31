/*
 * CUDA GPU Kernel Summary: all executions of one kernel name in a row.
 */
#include <stdlib.h>

#include "report/kernel_info/classify.h"
#include "report/analysis/cost_ops.h"
#include "report/analysis/group.h"
#include "report/analysis/launch_stat.h"
#include "report/base/names.h"
#include "tests/report/tables/oracle/oracle.h"

/* The texts that a name was seen with, e.g. its classes: lists in order of first use. */
struct seen {
	struct ws_idmap known; /* name << 32 | text */
	uint32_t *head, *tail; /* name -> item */
	struct item {
		uint32_t text, next;
	} * items;
	size_t n, capacity;
};

enum attribute { CLASS, CLASS_BY_NAME, CLASS_BY_RANGE, DIRECTION, DTYPE, ATTRIBUTES };

struct summary {
	const struct oracle_tab *tab;
	size_t names; /* number of texts: a kernel name is one of them */
	uint32_t *group;
	struct ws_group *groups;
	uint64_t *in_steps; /* instances launched in measured steps */
	int64_t *flops;     /* -1 = not known for every instance */
	uint8_t *tensor;    /* enum ws_tensor */
	struct ws_launch_stat *launch;
	struct seen seen[ATTRIBUTES];
	uint32_t *order; /* names that have a row */
	size_t rows;
};

static void release(struct summary *s)
{
	free(s->group);
	free(s->groups);
	free(s->in_steps);
	free(s->flops);
	free(s->tensor);
	free(s->launch);
	free(s->order);
	for (int a = 0; a < ATTRIBUTES; a++) {
		ws_idmap_free(&s->seen[a].known);
		free(s->seen[a].head);
		free(s->seen[a].tail);
		free(s->seen[a].items);
	}
}

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for the kernel summary");
}

static enum ws_status allocate(struct summary *s, struct ws_err *err)
{
	size_t kernels = s->tab->l->kernels.n;

	s->names = s->tab->m->ntexts;
	s->group = calloc(kernels ? kernels : 1, sizeof(*s->group));
	s->groups = calloc(s->names, sizeof(*s->groups));
	s->in_steps = calloc(s->names, sizeof(*s->in_steps));
	s->flops = calloc(s->names, sizeof(*s->flops));
	s->tensor = calloc(s->names, sizeof(*s->tensor));
	s->launch = calloc(s->names, sizeof(*s->launch));
	s->order = calloc(s->names, sizeof(*s->order));
	if (!s->group || !s->groups || !s->in_steps || !s->flops || !s->tensor || !s->launch ||
	    !s->order)
		return no_memory(err);
	for (int a = 0; a < ATTRIBUTES; a++) {
		s->seen[a].head = calloc(s->names, sizeof(*s->seen[a].head));
		s->seen[a].tail = calloc(s->names, sizeof(*s->seen[a].tail));
		if (!s->seen[a].head || !s->seen[a].tail)
			return no_memory(err);
	}
	return WS_OK;
}

static enum ws_status see(struct seen *s, uint32_t name, uint32_t text, struct ws_err *err)
{
	uint64_t key = (uint64_t)name << 32 | text;

	/* nearly always the same as last time */
	if (!text || (s->head[name] && s->items[s->tail[name]].text == text) ||
	    ws_idmap_get(&s->known, key) != WS_NONE)
		return WS_OK;
	if (s->n == s->capacity) {
		size_t want = s->capacity ? s->capacity * 2 : 256;
		void *grown = reallocarray(s->items, want, sizeof(*s->items));

		if (!grown)
			return no_memory(err);
		s->items = grown;
		s->capacity = want;
	}
	/* item 0 is never used, so that 0 means "none" */
	s->n += s->n == 0;
	s->items[s->n] = (struct item){text, 0};
	if (s->head[name])
		s->items[s->tail[name]].next = (uint32_t)s->n;
	else
		s->head[name] = (uint32_t)s->n;
	s->tail[name] = (uint32_t)s->n;
	return ws_idmap_put(&s->known, key, (uint32_t)s->n++, err);
}

static enum ws_status gather(struct summary *s, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	const struct loaded *l = s->tab->l;
	const struct ws_selection *sel = s->tab->sel;

	for (size_t k = 0; k < l->kernels.n; k++) {
		uint32_t name = loaded_kernel_name(l, k);
		const struct ws_config *config = &m->configs[l->kernels.config[k]];

		s->group[k] = oracle_keeps_kernel(s->tab, k) ? name : WS_NONE;
		if (!oracle_keeps_kernel(s->tab, k))
			continue;
		s->in_steps[name] += (uint64_t)ws_step_selected(m, sel, l->kernels.step[k]);
		WS_FORWARD(see(&s->seen[CLASS], name, loaded_kernel_class(l, k), err));
		WS_FORWARD(see(&s->seen[CLASS_BY_NAME], name, config->name_class, err));
		WS_FORWARD(
		        see(&s->seen[CLASS_BY_RANGE], name, loaded_kernel_range_class(l, k), err));
		WS_FORWARD(see(&s->seen[DIRECTION], name, loaded_kernel_direction(l, k), err));
		WS_FORWARD(see(&s->seen[DTYPE], name, loaded_kernel_dtype(l, k), err));
		ws_launch_stat_add(&s->launch[name], config, 1, l->kernels.dur_ns[k]);
		s->tensor[name] = config->tensor;
	}
	return WS_OK;
}

/*
 * FLOPs belong to an operation, not to a kernel. They are a kernel's where
 * all kernels of the operation have its name; a name with one instance for
 * which that does not hold has no FLOPs.
 */
static void share_out_flops(struct summary *s, struct ws_cost_ops *costs, uint32_t *name_of)
{
	const uint32_t mixed = WS_NONE;
	struct ws_joined_rows *rows = s->tab->sel->rows;

	/* 0 is the empty text, which stands for "no kernel yet" */
	for (size_t k = 0; k < s->tab->l->kernels.n; k++) {
		uint32_t op = ws_cost_ops_of_kernel(costs, ws_joined_rows_kernel(rows, k));

		if (s->group[k] == WS_NONE || op == WS_NONE)
			continue;
		if (!name_of[op])
			name_of[op] = s->group[k];
		else if (name_of[op] != s->group[k])
			name_of[op] = mixed;
	}
	for (size_t k = 0; k < s->tab->l->kernels.n; k++) {
		uint32_t op = ws_cost_ops_of_kernel(costs, ws_joined_rows_kernel(rows, k));
		uint32_t name = s->group[k];

		if (name != WS_NONE &&
		    (op == WS_NONE || name_of[op] == mixed || ws_cost_ops_at(costs, op).flops < 0))
			s->flops[name] = -1;
	}
	for (size_t i = 0; i < costs->n; i++) {
		uint32_t name = name_of[i];

		if (name && name != mixed && s->flops[name] >= 0)
			s->flops[name] += ws_cost_ops_at(costs, i).flops;
	}
}

static enum ws_status find_flops(struct summary *s, struct ws_err *err)
{
	struct ws_cost_ops *costs;
	enum ws_status status = ws_cost_ops_find(s->tab->m, s->tab->sel, &costs, err);
	uint32_t *name_of = calloc(status == WS_OK ? costs->n + 1 : 1, sizeof(*name_of));

	if (status == WS_OK && !name_of)
		status = no_memory(err);
	if (status == WS_OK)
		share_out_flops(s, costs, name_of);
	free(name_of);
	return status;
}

static int by_summary_order(const void *pa, const void *pb, void *arg)
{
	const struct summary *s = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	const struct ws_bytes *texts = s->tab->m->texts;

	return oracle_group_compare(&s->groups[a], texts[a], &s->groups[b], texts[b]);
}

static enum ws_status set_seen(const struct summary *s, struct ws_table *t, struct ws_cell *cell,
                               enum attribute a, uint32_t name, struct ws_err *err)
{
	const struct seen *seen = &s->seen[a];
	const struct ws_bytes *texts = s->tab->m->texts;
	size_t len = 0;
	char *list;

	for (uint32_t i = seen->head[name]; i; i = seen->items[i].next)
		len += texts[seen->items[i].text].len + 2;
	if (!len)
		return WS_OK;
	list = malloc(len);
	if (!list)
		return no_memory(err);
	len = 0;
	for (uint32_t i = seen->head[name]; i; i = seen->items[i].next) {
		struct ws_bytes text = texts[seen->items[i].text];

		if (len) {
			list[len++] = ',';
			list[len++] = ' ';
		}
		memcpy(list + len, text.ptr, text.len);
		len += text.len;
	}
	ws_cell_set_text(t, cell, list, len);
	free(list);
	return WS_OK;
}

static enum ws_status add_row(const struct summary *s, struct ws_table *t, uint32_t name,
                              struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_group *g = &s->groups[name];
	struct ws_cell *row = ws_table_row(t);

	if (g->time.n)
		ws_cells_set_stat(row, &g->time, s->tab->sel->gpu_ns);
	else
		ws_cell_set_int(&row[WS_TC_kernel_summary_instances], 0);
	ws_cell_set_text(t, &row[WS_TC_kernel_summary_name], m->texts[name].ptr,
	                 m->texts[name].len);
	ws_cell_set_short_name(t, &row[WS_TC_kernel_summary_short_name], m, name);
	WS_FORWARD(set_seen(s, t, &row[WS_TC_kernel_summary_op_class], CLASS, name, err));
	WS_FORWARD(set_seen(s, t, &row[WS_TC_kernel_summary_direction], DIRECTION, name, err));
	WS_FORWARD(set_seen(s, t, &row[WS_TC_kernel_summary_dtype], DTYPE, name, err));
	WS_FORWARD(
	        set_seen(s, t, &row[WS_TC_kernel_summary_class_by_name], CLASS_BY_NAME, name, err));
	WS_FORWARD(set_seen(s, t, &row[WS_TC_kernel_summary_class_by_range], CLASS_BY_RANGE, name,
	                    err));
	ws_cells_set_launch(&row[WS_TC_kernel_summary_registers], &s->launch[name]);
	if (s->tensor[name] != WS_TENSOR_NOT_APPLICABLE)
		ws_cell_set_str(t, &row[WS_TC_kernel_summary_tensor],
		                ws_tensor_shown((enum ws_tensor)s->tensor[name]));
	if (s->tab->sel->measured && s->tab->sel->scope <= WS_SCOPE_STEPS)
		ws_cell_set_mean(&row[WS_TC_kernel_summary_per_step], (int64_t)s->in_steps[name],
		                 s->tab->sel->measured);
	if (s->flops[name] >= 0) {
		ws_cell_set_int(&row[WS_TC_kernel_summary_flops], s->flops[name]);
		/* FLOP/ns is 10^9 FLOP/s */
		if (!g->without_time)
			ws_cell_set_real(&row[WS_TC_kernel_summary_tflops],
			                 ws_stat_ratio((double)s->flops[name],
			                               (double)g->time.sum) /
			                         1e3);
	}
	ws_cell_set_int(&row[WS_TC_kernel_summary_without_time], (int64_t)g->without_time);
	return WS_OK;
}

static void add_totals(const struct summary *s, struct ws_table *t)
{
	struct ws_cell *row = ws_table_totals(t);
	int64_t instances = 0, without_time = 0;

	for (size_t i = 0; i < s->rows; i++) {
		instances += (int64_t)s->groups[s->order[i]].time.n;
		without_time += (int64_t)s->groups[s->order[i]].without_time;
	}
	if (s->tab->sel->gpu_ns)
		ws_cell_set_real(&row[WS_TC_kernel_summary_time_percent], 100);
	ws_cell_set_int(&row[WS_TC_kernel_summary_total_ns], s->tab->sel->gpu_ns);
	ws_cell_set_int(&row[WS_TC_kernel_summary_instances], instances);
	ws_cell_set_int(&row[WS_TC_kernel_summary_without_time], without_time);
}

/* Kernels of setup and warm-up are in the table; say how many. */
static void add_notes(const struct summary *s, struct ws_table *t)
{
	const struct ws_model *m = s->tab->m;
	const struct loaded *l = s->tab->l;
	const struct ws_selection *sel = s->tab->sel;
	size_t warm_up = 0, setup = 0, graphs = 0;
	int64_t graph_ns = 0;
	int64_t warm_up_ns = 0, setup_ns = 0;

	for (size_t k = 0; k < l->kernels.n; k++) {
		uint32_t r = l->kernels.range[k];

		if (!oracle_keeps_kernel(s->tab, k) || r == WS_NONE)
			continue;
		if (l->range_marks[r] & WS_IN_WARM_UP) {
			warm_up++;
			warm_up_ns += l->kernels.dur_ns[k];
		} else if (l->range_marks[r] & WS_IN_SETUP) {
			setup++;
			setup_ns += l->kernels.dur_ns[k];
		}
	}
	for (size_t i = 0; i < m->nwork; i++)
		if (sel->work[i] && m->work[i].kind == WS_WORK_GRAPH) {
			graphs++;
			graph_ns += m->work[i].dur_ns;
		}
	if (graphs)
		ws_table_note(
		        t,
		        "%zu runs of CUDA graphs were traced as a whole: %.3f ms of device "
		        "time whose kernels are not recorded and not in this table. `warpsheet "
		        "record --graph-level node` records them.",
		        graphs, (double)graph_ns / 1e6);
	if (warm_up || setup)
		ws_table_note(t,
		              "Set-up and warm-up are in this table: %zu kernels (%.3f ms) of "
		              "set-up, %zu (%.3f ms) of warm-up. `--scope steps` leaves them out.",
		              setup, (double)setup_ns / 1e6, warm_up, (double)warm_up_ns / 1e6);
	if (!l->kernels.n)
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	else if (!sel->kernels)
		ws_table_note(t, "No kernel passes the filter.");
}

enum ws_status oracle_kernel_summary(const struct oracle_tab *tab, struct ws_table *t,
                                     struct ws_err *err)
{
	struct summary s = {.tab = tab};
	enum ws_status status = allocate(&s, err);

	if (status == WS_OK)
		status = gather(&s, err);
	if (status == WS_OK)
		status = oracle_group_kernels(tab->l, s.group, s.names, s.groups, err);
	if (status == WS_OK)
		status = find_flops(&s, err);
	if (status != WS_OK)
		goto out;
	for (uint32_t name = 0; name < s.names; name++)
		if (s.groups[name].time.n || s.groups[name].without_time)
			s.order[s.rows++] = name;
	qsort_r(s.order, s.rows, sizeof(*s.order), by_summary_order, &s);
	for (size_t i = 0; i < s.rows && status == WS_OK; i++)
		status = add_row(&s, t, s.order[i], err);
	add_totals(&s, t);
	add_notes(&s, t);
out:
	release(&s);
	return status;
}
