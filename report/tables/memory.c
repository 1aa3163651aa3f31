/*
 * Memory of devices: peaks, memory over time, allocations by operation, and the largest
 * allocations.
 */

#include "report/tables/tables.h"

#define TIME_BUCKETS 200 /* per device */
#define LARGEST      20
#define TOP_OPS      20

/* Allocated and reserved after an event. */
struct state {
	int64_t capacity, reserved; /* reserved: -1 = not recorded */
};

struct peak {
	int64_t capacity, reserved, time_ns;
	int64_t taken; /* sum of the allocations' sizes */
	uint64_t allocations, events;
};

struct memory {
	const struct ws_table_context *tab;
	struct ws_table *t;
	uint32_t *event; /* selected events of devices */
	size_t n;
	struct state *state; /* state after each event */
	bool guessed;        /* totals are sums of allocations, not recorded */
	uint64_t out_of_memory;
};

/* The range around an event, NULL. */
static const struct ws_joined_range *range_of(const struct memory *s,
                                              const struct ws_memory_event *e)
{
	return ws_joined_rows_range(s->tab->sel->rows, e->range);
}

static const struct ws_memory_event *event_of(const struct memory *s, size_t i)
{
	return &s->tab->m->memory[s->event[i]];
}

static struct ws_cell *new_row(struct memory *s, const char *section, uint32_t device)
{
	struct ws_cell *row = ws_table_row(s->t);

	ws_cell_set_str(s->t, &row[WS_TC_memory_section], section);
	if (device != WS_NONE)
		ws_cell_set_int(&row[WS_TC_memory_device], (int64_t)s->tab->m->devices[device].id);
	return row;
}

static void count(struct peak *p, const struct ws_memory_event *e, const struct state *state)
{
	if (!p->events++ || state->capacity > p->capacity) {
		p->capacity = state->capacity;
		p->time_ns = e->time_ns;
	}
	if (p->events == 1 || state->reserved > p->reserved)
		p->reserved = state->reserved;
	if (e->op != WS_MEMORY_OP_ALLOC)
		return;
	p->allocations++;
	p->taken += (int64_t)e->bytes;
}

static void set_peak(const struct memory *s, struct ws_cell *row, const struct peak *p)
{
	ws_cell_set_int(&row[WS_TC_memory_time_ns], p->time_ns - s->tab->m->begin_ns);
	ws_cell_set_int(&row[WS_TC_memory_allocated], p->capacity);
	if (p->reserved >= 0)
		ws_cell_set_int(&row[WS_TC_memory_reserved], p->reserved);
	ws_cell_set_int(&row[WS_TC_memory_size], p->taken);
	ws_cell_set_int(&row[WS_TC_memory_count], (int64_t)p->allocations);
}

/* Adds the peak of a device, or the peaks in each phase; rows of one kind are adjacent. */
static void add_device(struct memory *s, uint32_t device, bool by_phase)
{
	struct peak all = {0}, phases[WS_PHASES] = {{0}};
	struct ws_cell *row;

	for (size_t i = 0; i < s->n; i++) {
		const struct ws_memory_event *e = event_of(s, i);
		const struct ws_joined_range *r = range_of(s, e);

		if (e->device != device)
			continue;
		count(&all, e, &s->state[i]);
		count(&phases[ws_phase_of(s->tab->m, r ? r->context->phase : WS_PHASE_OTHER,
		                          e->cpu_op)],
		      e, &s->state[i]);
	}
	if (!all.events)
		return;
	if (!by_phase) {
		row = new_row(s, "peak", device);
		ws_cell_set_str(s->t, &row[WS_TC_memory_item], "whole trace");
		set_peak(s, row, &all);
	}
	for (int p = 0; p < WS_PHASES && by_phase; p++) {
		if (!phases[p].events)
			continue;
		row = new_row(s, "by phase", device);
		ws_cell_set_str(s->t, &row[WS_TC_memory_item],
		                p == WS_PHASE_OTHER ? "outside phases"
		                                    : ws_phase_name((enum ws_phase)p));
		set_peak(s, row, &phases[p]);
	}
}

/* --- by operation ------------------------------------------------------------------ */

/* The operation, else the innermost range; the empty text if there is neither. */
static uint32_t op_of_event(const struct memory *s, const struct ws_memory_event *e)
{
	const struct ws_joined_range *r = range_of(s, e);

	if (e->cpu_op != WS_NONE)
		return s->tab->m->cpu_ops.tree.name[e->cpu_op];
	return r ? r->context->name : WS_TEXT_EMPTY;
}

static void set_place(struct memory *s, struct ws_cell *row, uint32_t place)
{
	if (place != WS_TEXT_EMPTY)
		ws_cell_set_model_text(s->t, &row[WS_TC_memory_item], s->tab->m, place);
	else
		ws_cell_set_str(s->t, &row[WS_TC_memory_item], "(in no operation or range)");
}

struct op_sums {
	int64_t taken, net;
	uint64_t allocations;
};

static struct ws_cell *add_sums(struct memory *s, const struct op_sums *sums)
{
	struct ws_cell *row = new_row(s, "by operation", WS_NONE);

	ws_cell_set_int(&row[WS_TC_memory_size], sums->taken);
	ws_cell_set_int(&row[WS_TC_memory_net], sums->net);
	ws_cell_set_int(&row[WS_TC_memory_count], (int64_t)sums->allocations);
	return row;
}

void ws_tab_memory(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	struct memory s = {.tab = tab, .t = t};

	if (!m->nmemory) {
		ws_table_set_not_recorded(
		        t, "No allocations were recorded. `warpsheet record` records those of CUDA "
		           "unless --kernels-only is given, PyTorch's profiler with "
		           "profile_memory=True, Nsight Systems with --cuda-memory-usage=true.");
		return;
	}

	/* Allocated memory after each event: as recorded by the framework's allocator, else the sum
	 * of allocations minus releases since recording began. */
	struct ws_idmap blocks = {0}; /* address -> event that allocated it */
	size_t at = 0;

	WS_NEW(tab->temp, s.event, m->nmemory);
	WS_NEW(tab->temp, s.state, m->nmemory);
	int64_t *sum = ws_arena_array(tab->temp, m->ndevices, sizeof(*sum));
	uint8_t *recorded = ws_arena_array(tab->temp, m->ndevices, sizeof(*recorded));
	for (size_t i = 0; i < m->nmemory; i++)
		if (m->memory[i].device != WS_NONE)
			recorded[m->memory[i].device] |= m->memory[i].allocated_bytes > 0;
	for (uint32_t i = 0; i < m->nmemory; i++) {
		const struct ws_memory_event *e = &m->memory[i];

		if (e->device == WS_NONE || e->op == WS_MEMORY_OP_OUT_OF_MEMORY) {
			s.out_of_memory += e->op == WS_MEMORY_OP_OUT_OF_MEMORY;
			continue;
		}
		uint32_t block = e->address ? ws_idmap_get(&blocks, e->address) : WS_NONE;
		if (e->op == WS_MEMORY_OP_ALLOC) {
			sum[e->device] += (int64_t)e->bytes;
			if (e->address)
				ws_idmap_put(&blocks, e->address, i);
		} else {
			/* a release may lack its size */
			sum[e->device] -= e->bytes || block == WS_NONE
			                          ? (int64_t)e->bytes
			                          : (int64_t)m->memory[block].bytes;
		}
		if (!ws_memory_selected(m, tab->sel, i))
			continue;
		s.guessed |= !recorded[e->device];
		s.event[at] = i;
		s.state[at++] = (struct state){recorded[e->device] ? (int64_t)e->allocated_bytes
		                                                   : sum[e->device],
		                               e->reserved_bytes ? (int64_t)e->reserved_bytes : -1};
	}
	s.n = at;
	ws_idmap_free(&blocks);
	for (uint32_t d = 0; d < m->ndevices; d++)
		add_device(&s, d, false);
	for (uint32_t d = 0; d < m->ndevices; d++)
		add_device(&s, d, true);

	/* Over all devices. Each allocation counts for its innermost operation. */
	struct op_sums *sums, rest = {0};
	size_t nplaces = 0;

	WS_NEW(tab->temp, sums, m->ntexts);
	struct ws_row_key *order = ws_arena_array(tab->temp, m->ntexts, sizeof(*order));
	for (size_t i = 0; i < s.n; i++) {
		const struct ws_memory_event *e = event_of(&s, i);
		struct op_sums *of = &sums[op_of_event(&s, e)];

		of->net += e->op == WS_MEMORY_OP_ALLOC ? (int64_t)e->bytes : -(int64_t)e->bytes;
		of->taken += e->op == WS_MEMORY_OP_ALLOC ? (int64_t)e->bytes : 0;
		of->allocations += e->op == WS_MEMORY_OP_ALLOC;
	}
	for (uint32_t i = 0; i < m->ntexts; i++)
		/* ids of texts change by an export and import */
		if (sums[i].taken || sums[i].net)
			order[nplaces++] =
			        (struct ws_row_key){.number = {WS_DESCENDING(sums[i].taken)},
			                            .text = {m->texts[i]},
			                            .row = i};
	ws_row_keys_sort(order, nplaces);
	for (size_t i = 0; i < nplaces; i++) {
		const struct op_sums *of = &sums[order[i].row];

		if (i < TOP_OPS) {
			set_place(&s, add_sums(&s, of), order[i].row);
			continue;
		}
		rest.taken += of->taken;
		rest.net += of->net;
		rest.allocations += of->allocations;
	}
	if (nplaces > TOP_OPS)
		ws_cell_set_str(s.t, &add_sums(&s, &rest)[WS_TC_memory_item],
		                "(all other operations)");

	/* The largest allocations; of equal ones the first, in order of time. */
	size_t largest[LARGEST], nlargest = 0;

	for (size_t i = 0; i < s.n; i++) {
		const struct ws_memory_event *e = event_of(&s, i);
		size_t place = nlargest;

		if (e->op != WS_MEMORY_OP_ALLOC)
			continue;
		while (place && event_of(&s, largest[place - 1])->bytes < e->bytes)
			place--;
		if (place == LARGEST)
			continue;
		nlargest += nlargest < LARGEST;
		memmove(&largest[place + 1], &largest[place],
		        (nlargest - 1 - place) * sizeof(*largest));
		largest[place] = i;
	}
	for (size_t i = 0; i < nlargest; i++) {
		const struct ws_memory_event *e = event_of(&s, largest[i]);
		struct ws_cell *row = new_row(&s, "largest", e->device);

		/* "aten::linear / aten::empty": the outermost operation shows the purpose of the
		 * innermost */
		const struct ws_op_tree *ops = &m->cpu_ops.tree;
		uint32_t outer = e->cpu_op;

		while (outer != WS_NONE && ops->parent[outer] != WS_NONE)
			outer = ops->parent[outer];
		if (outer == e->cpu_op) {
			set_place(&s, row, op_of_event(&s, e));
		} else {
			struct ws_bytes a = m->texts[ops->name[outer]];
			struct ws_bytes b = m->texts[ops->name[e->cpu_op]];

			ws_cell_set_str(t, &row[WS_TC_memory_item],
			                ws_arena_format(tab->temp, "%.*s / %.*s", WS_SHOWN(a),
			                                WS_SHOWN(b)));
		}
		ws_cell_set_int(&row[WS_TC_memory_time_ns], e->time_ns - s.tab->m->begin_ns);
		ws_cell_set_int(&row[WS_TC_memory_allocated], s.state[largest[i]].capacity);
		ws_cell_set_int(&row[WS_TC_memory_size], (int64_t)e->bytes);
		ws_cell_set_int(&row[WS_TC_memory_count], 1);
	}
	for (uint32_t d = 0; d < m->ndevices; d++) {
		/* The peak of each of TIME_BUCKETS equal parts of the time between first and last
		 * event. */
		int64_t first = 0, last = 0, width;
		struct peak bucket = {0};
		int64_t now = -1;
		size_t seen = 0;

		for (size_t i = 0; i < s.n; i++) {
			if (event_of(&s, i)->device != d)
				continue;
			first = seen++ ? first : event_of(&s, i)->time_ns;
			last = event_of(&s, i)->time_ns;
		}
		width = (last - first) / TIME_BUCKETS + 1;
		for (size_t i = 0; i < s.n && seen; i++) {
			const struct ws_memory_event *e = event_of(&s, i);

			if (e->device != d)
				continue;
			if (now >= 0 && (e->time_ns - first) / width != now) {
				set_peak(&s, new_row(&s, "over time", d), &bucket);
				bucket = (struct peak){0};
			}
			now = (e->time_ns - first) / width;
			count(&bucket, e, &s.state[i]);
		}
		if (bucket.events)
			set_peak(&s, new_row(&s, "over time", d), &bucket);
	}
	if (s.guessed)
		ws_table_note(t, "Allocated is summed up from the first recorded "
		                 "allocation on: what the program held before is not in it.");
	if (s.out_of_memory)
		ws_table_note(t, "%s requests for memory failed.",
		              ws_say_number(tab->temp, (double)s.out_of_memory));
	ws_table_note(t, "Memory of devices only; times count from the first record of the trace.");
}
