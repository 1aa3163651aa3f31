/* CUDA GPU Kernel Summary: all executions of one kernel name in a row. */
#include <stdlib.h>

#include "formats/base/grow.h"
#include "report/kernel_info/classify.h"
#include "report/analysis/group.h"
#include "report/analysis/launch_stat.h"
#include "report/base/names.h"
#include "report/tables/tables.h"

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
	const struct ws_table_context *tab;
	size_t names;    /* number of texts: a kernel name is one of them */
	uint32_t *group; /* cell -> name */
	struct ws_group *groups;
	uint64_t *in_steps; /* instances launched in measured steps */
	uint8_t *tensor;    /* enum ws_tensor */
	struct ws_launch_stat *launch;
	struct seen seen[ATTRIBUTES];
	uint32_t *order; /* names that have a row */
	size_t rows;
};

static enum ws_status allocate(struct summary *s, struct ws_err *err)
{
	struct ws_arena *temp = s->tab->temp;

	s->names = s->tab->m->ntexts;
	WS_NEW(temp, s->group, s->tab->digest->ncells);
	WS_NEW(temp, s->groups, s->names);
	WS_NEW(temp, s->in_steps, s->names);
	WS_NEW(temp, s->tensor, s->names);
	WS_NEW(temp, s->launch, s->names);
	WS_NEW(temp, s->order, s->names);
	for (int a = 0; a < ATTRIBUTES; a++) {
		WS_NEW(temp, s->seen[a].head, s->names);
		WS_NEW(temp, s->seen[a].tail, s->names);
	}
	return ws_arena_check(temp, "the kernel summary", err);
}

static enum ws_status add_seen(struct seen *s, uint32_t name, uint32_t text, struct ws_err *err)
{
	uint64_t key = (uint64_t)name << 32 | text;

	/* nearly always the same as last time */
	if (!text || (s->head[name] && s->items[s->tail[name]].text == text) ||
	    ws_idmap_get(&s->known, key) != WS_NONE)
		return WS_OK;
	/* item 0 is never used, so that 0 means "none" */
	s->n += s->n == 0;
	WS_FORWARD(WS_GROW(s->items, s->n + 1, s->capacity, err));
	s->items[s->n] = (struct item){text, 0};
	if (s->head[name])
		s->items[s->tail[name]].next = (uint32_t)s->n;
	else
		s->head[name] = (uint32_t)s->n;
	s->tail[name] = (uint32_t)s->n;
	return ws_idmap_put(&s->known, key, (uint32_t)s->n++, err);
}

static int by_first_kernel(const void *pa, const void *pb, void *arg)
{
	const struct ws_digest *d = arg;
	const struct ws_digest_cell *a = &d->cells[*(const uint32_t *)pa];
	const struct ws_digest_cell *b = &d->cells[*(const uint32_t *)pb];

	return a->first < b->first ? -1 : a->first > b->first;
}

static enum ws_status add_cell(struct summary *s, const struct ws_digest_cell *cell,
                               struct ws_err *err)
{
	const struct ws_config *config = &s->tab->m->configs[cell->config];
	const struct ws_kernel_place *place = &cell->place;
	uint32_t class = place->class ? place->class : config->name_class, name = config->name;

	WS_FORWARD(add_seen(&s->seen[CLASS], name, class, err));
	WS_FORWARD(add_seen(&s->seen[CLASS_BY_NAME], name, config->name_class, err));
	WS_FORWARD(add_seen(&s->seen[CLASS_BY_RANGE], name, place->class, err));
	WS_FORWARD(add_seen(&s->seen[DIRECTION], name, place->direction, err));
	return add_seen(&s->seen[DTYPE], name, place->dtype, err);
}

static enum ws_status gather(struct summary *s, struct ws_err *err)
{
	const struct ws_digest *d = s->tab->digest;
	uint32_t *cells;

	WS_NEW(s->tab->temp, cells, d->ncells);
	WS_FORWARD(ws_arena_check(s->tab->temp, "the kernel summary", err));
	ws_order_identity(cells, d->ncells);
	/* the argument of qsort_r has no const */
	qsort_r(cells, d->ncells, sizeof(*cells), by_first_kernel, (void *)d);
	for (size_t i = 0; i < d->ncells; i++) {
		const struct ws_digest_cell *cell = &d->cells[cells[i]];
		const struct ws_config *config = &s->tab->m->configs[cell->config];
		uint32_t name = config->name;

		s->group[cells[i]] = name;
		s->in_steps[name] += cell->in_steps;
		ws_launch_stat_add(&s->launch[name], config, ws_digest_cell_count(cell),
		                   cell->total_ns);
		s->tensor[name] = config->tensor;
		WS_FORWARD(add_cell(s, cell, err));
	}
	return WS_OK;
}

static int by_summary_order(const void *pa, const void *pb, void *arg)
{
	const struct summary *s = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	const struct ws_bytes *texts = s->tab->m->texts;

	return ws_group_compare(&s->groups[a], texts[a], &s->groups[b], texts[b]);
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
	list = ws_arena_alloc(s->tab->temp, len);
	WS_FORWARD(ws_arena_check(s->tab->temp, "the kernel summary", err));
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
	return WS_OK;
}

static enum ws_status add_row(const struct summary *s, struct ws_table *t, uint32_t name,
                              struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_digest *d = s->tab->digest;
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
	if (d->flops && !d->flops_unknown[name]) {
		ws_cell_set_int(&row[WS_TC_kernel_summary_flops], d->flops[name]);
		/* FLOP/ns is 10^9 FLOP/s */
		if (!g->without_time)
			ws_cell_set_real(&row[WS_TC_kernel_summary_tflops],
			                 ws_stat_ratio((double)d->flops[name],
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
	const struct ws_selection *sel = s->tab->sel;
	const struct ws_digest *d = s->tab->digest;
	size_t graphs = 0;
	int64_t graph_ns = 0;

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
	if (d->warm_up || d->setup)
		ws_table_note(t,
		              "Set-up and warm-up are in this table: %llu kernels (%.3f ms) of "
		              "set-up, %llu (%.3f ms) of warm-up. `--scope steps` leaves them out.",
		              (unsigned long long)d->setup, (double)d->setup_ns / 1e6,
		              (unsigned long long)d->warm_up, (double)d->warm_up_ns / 1e6);
	if (!ws_model_has_kernels(m))
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	else if (!sel->kernels)
		ws_table_note(t, "No kernel passes the filter.");
}

static enum ws_status fill(struct summary *s, struct ws_table *t, struct ws_err *err)
{
	WS_FORWARD(allocate(s, err));
	WS_FORWARD(gather(s, err));
	WS_FORWARD(ws_digest_group(s->tab->digest, s->group, s->names, s->groups, err));
	for (uint32_t name = 0; name < s->names; name++)
		if (s->groups[name].time.n || s->groups[name].without_time)
			s->order[s->rows++] = name;
	qsort_r(s->order, s->rows, sizeof(*s->order), by_summary_order, s);
	for (size_t i = 0; i < s->rows; i++)
		WS_FORWARD(add_row(s, t, s->order[i], err));
	add_totals(s, t);
	add_notes(s, t);
	return WS_OK;
}

enum ws_status ws_tab_kernel_summary(const struct ws_table_context *tab, struct ws_table *t,
                                     struct ws_err *err)
{
	struct summary s = {.tab = tab};
	enum ws_status status = fill(&s, t, err);

	for (int a = 0; a < ATTRIBUTES; a++) {
		ws_idmap_free(&s.seen[a].known);
		free(s.seen[a].items);
	}
	return status;
}
