#include "report/model/payloads.def"
#include "report/pass/private.h"

/* --- the ranges that are open -------------------------------------------------------------- */

static void live_add_threads(struct ws_live_ranges *l, uint32_t thread)
{
	size_t before = l->nthreads;

	WS_GROW(l->threads, (size_t)thread + 1, l->nthreads);
	for (; before < l->nthreads; before++)
		l->threads[before] = (struct ws_live_thread){.last = WS_NONE,
		                                             .ended = WS_NONE,
		                                             .innermost = WS_NONE};
}

/* Key of a context. */
struct context_key {
	uint32_t parent; /* number of the parent, 0: none */
	uint32_t type, thread, domain, name, payload, collective;
};

/* The context of a range that begins. parent: the context around it, or NULL. */
static struct ws_range_context *find_context(struct ws_live_ranges *l,
                                             struct ws_range_context *parent,
                                             const struct ws_event_descriptor *e, int64_t time_ns)
{
	const struct context_key key = {parent ? parent->number : 0,
	                                e->type,
	                                e->thread,
	                                e->domain,
	                                e->name,
	                                e->payload,
	                                e->collective};
	const uint64_t known = ws_strtab_find(&l->context_of, &key, sizeof(key));
	struct ws_path path = {.parent = parent ? parent->path : WS_NONE,
	                       .name = e->name,
	                       .domain = e->domain,
	                       .source = e->source,
	                       .first_ns = time_ns};

	if (known)
		return l->contexts[known - 1];
	ws_strtab_add(&l->context_of, &key, sizeof(key));
	WS_GROW(l->contexts, l->ncontexts + 1, l->contexts_capacity);
	struct ws_range_context *context = ws_arena_array(l->arena, 1, sizeof(*context));
	l->contexts[l->ncontexts++] = context;
	*context = (struct ws_range_context){
	        .parent = parent,
	        .number = (uint32_t)l->ncontexts,
	        .depth = parent ? parent->depth + 1 : 0,
	        .thread = e->thread,
	        .process = e->process,
	        .name = e->name,
	        .payload = e->payload,
	        .collective = e->collective ? e->collective - 1
	                      : parent      ? parent->collective
	                                    : WS_NONE,
	        .style = e->type == WS_NVTX_START ? WS_RANGE_START_END : 0,
	};
	path.depth = context->depth;
	path.style = context->style;
	if (context->depth >= WS_RANGE_MAX_DEPTH)
		context->path = parent->path;
	else
		context->path = ws_path_intern(&l->paths, &path);
	l->events->look(l->ctx, context);
	return context;
}

static inline uint32_t live_begin(struct ws_live_ranges *l, struct ws_live_thread *t,
                                  const struct ws_pass_row *row)
{
	uint32_t parent = l->ends && !l->ends->known ? WS_NONE : t->innermost, range;

	/* If ranges cross, only the range that began last and its ancestors can contain a new
	 * range: every other open range ends before one of them does. Of these, a range that ends
	 * before the new one is skipped. */
	while (l->ends && parent != WS_NONE &&
	       ws_live_ends_before(l->ends, l->range[parent].number, l->begun))
		parent = l->range[parent].parent;
	struct ws_range_context *around = parent == WS_NONE ? NULL : l->range[parent].context;
	if (!l->nfree) {
		/* Make room for one more range. */
		size_t slots = l->capacity;

		if (l->nranges == l->capacity) {
			WS_GROW(l->free_slots, l->nranges + 1, slots);
			WS_GROW(l->range, l->nranges + 1, l->capacity);
		}
		l->free_slots[l->nfree++] = (uint32_t)l->nranges++;
	}
	range = l->free_slots[--l->nfree];
	struct ws_open_range *r = &l->range[range];
	/* field by field: this happens for every range, and not all need a value here */
	r->start_ns = row->time_ns;
	r->number = l->begun++;
	r->context = find_context(l, around, &row->description, row->time_ns);
	r->recorded = row->recorded;
	r->parent = parent;
	r->refs = 1;
	r->op = parent == WS_NONE ? WS_NONE : l->range[parent].op;
	r->step = parent == WS_NONE ? WS_NONE : l->range[parent].step;
	r->counted = 0;
	if (parent != WS_NONE)
		l->range[parent].refs++;
	r->below = t->last;
	if (t->last != WS_NONE)
		l->range[t->last].above = range;
	t->last = t->innermost = range;
	t->nlisted++;
	return range;
}

/* Take a range off the list of its thread: no later range or call lies in it. */
static inline void live_forget(struct ws_live_ranges *l, struct ws_live_thread *t, uint32_t range)
{
	const struct ws_open_range *r = &l->range[range];

	t->nlisted--;
	if (t->last == range) {
		t->last = r->below;
	} else {
		l->range[r->above].below = r->below;
		if (r->below != WS_NONE)
			l->range[r->below].above = r->above;
	}
	/* Free its slot if nothing refers to it, and those of its parents. */
	while (range != WS_NONE && !--l->range[range].refs) {
		l->free_slots[l->nfree++] = range; /* has room for every range */
		range = l->range[range].parent;
	}
}

/* Forget the ranges that ended before now: no call that ends now or later lies in them. */
static inline void live_forget_ended(struct ws_live_ranges *l, struct ws_live_thread *t,
                                     int64_t now_ns)
{
	if (t->ended_ns == now_ns)
		return;
	while (t->ended != WS_NONE) {
		uint32_t range = t->ended;

		t->ended = l->range[range].ended;
		live_forget(l, t, range);
	}
}

static int began_first(const void *pa, const void *pb)
{
	return ws_order_compare(*(const uint64_t *)pa, *(const uint64_t *)pb);
}

/* End the ranges that other threads ended at late_ns. */
static enum ws_status live_end_late(struct ws_live_ranges *l, struct ws_err *err)
{
	ws_sort(l->late, l->nlate, sizeof(*l->late), began_first);
	while (l->nlate) {
		const uint32_t range = (uint32_t)l->late[--l->nlate];
		struct ws_live_thread *t = &l->threads[l->range[range].context->thread];

		if (t->innermost == range)
			t->innermost = l->range[range].parent;
		l->range[range].end_ns = l->late_ns;
		WS_FORWARD(l->events->close(l->ctx, range, 0, err));
		live_forget(l, t, range);
	}
	return WS_OK;
}

/* Call before each event and call, with its time. */
static inline enum ws_status live_pass_time(struct ws_live_ranges *l, int64_t now_ns,
                                            struct ws_err *err)
{
	return l->nlate && l->late_ns != now_ns ? live_end_late(l, err) : WS_OK;
}

/* Take an event. Marks are ignored. */
static inline enum ws_status live_event(struct ws_live_ranges *l,
                                        const struct ws_live_events *events,
                                        const struct ws_pass_row *row, struct ws_err *err)
{
	const struct ws_event_descriptor *e = &row->description;
	uint32_t range;

	if (e->thread >= l->nthreads)
		live_add_threads(l, e->thread);
	struct ws_live_thread *t = &l->threads[e->thread];
	live_forget_ended(l, t, row->time_ns);
	switch (e->type) {
	case WS_NVTX_PUSH:
	case WS_NVTX_START:
		range = live_begin(l, t, row);
		if (e->type == WS_NVTX_PUSH)
			ws_range_push(&l->pairs, e->thread, e->domain, range);
		else
			ws_range_start(&l->pairs, e->process, row->id, range);
		events->begin(l->ctx, range);
		return WS_OK;
	case WS_NVTX_POP:
		range = ws_range_pop(&l->pairs, e->thread, e->domain);
		l->unmatched_pops += range == WS_NONE;
		break;
	case WS_NVTX_END:
		range = ws_range_end(&l->pairs, e->process, row->id);
		l->unmatched_ends += range == WS_NONE;
		if (range != WS_NONE && l->range[range].context->thread != e->thread) {
			/* Note that another thread ended a range: it ends at the end of this
			 * moment. */
			WS_FAIL_IF(!l->ends, err, BUG,
			           "ranges end on other threads, which nobody saw");
			WS_GROW(l->late, l->nlate + 1, l->late_capacity);
			l->late[l->nlate++] = l->range[range].number << 32 | range;
			l->late_ns = row->time_ns;
			l->cross_thread++;
			return WS_OK;
		}
		break;
	default:
		return WS_OK;
	}

	/* End a range on its own thread. events is l->events as a constant, so that the compiler
	 * can inline its functions. */
	if (range == WS_NONE)
		return WS_OK;
	struct ws_open_range *r = &l->range[range];

	WS_FAIL_IF(t->innermost != range && !l->ends, err, BUG, "ranges cross, which nobody saw");
	if (t->innermost == range)
		t->innermost = r->parent;
	r->end_ns = t->ended_ns = row->time_ns;
	r->ended = t->ended;
	t->ended = range;
	return events->close(l->ctx, range, 0, err);
}

static uint32_t find_enclosing_range(struct ws_live_ranges *l, uint32_t thread, int64_t start_ns,
                                     int64_t end_ns)
{
	uint32_t range;

	if (thread >= l->nthreads)
		return WS_NONE;
	struct ws_live_thread *t = &l->threads[thread];
	live_forget_ended(l, t, end_ns);
	for (range = t->last; range != WS_NONE && l->range[range].start_ns > start_ns;)
		range = l->range[range].below;
	return range;
}

/* The innermost range around a call that ended now, or WS_NONE. Events up to end_ns, including
 * those at end_ns, have been taken. */
static inline uint32_t live_innermost(struct ws_live_ranges *l, uint32_t thread, int64_t start_ns,
                                      int64_t end_ns)
{
	const struct ws_live_thread *t = thread < l->nthreads ? &l->threads[thread] : NULL;

	/* nearly always it is the one that began last */
	if (t && t->last != WS_NONE && t->ended == WS_NONE &&
	    l->range[t->last].start_ns <= start_ns)
		return t->last;
	return find_enclosing_range(l, thread, start_ns, end_ns);
}

void ws_live_free(struct ws_live_ranges *l)
{
	free(l->threads);
	free(l->late);
	free(l->range);
	free(l->free_slots);
	free(l->contexts);
	ws_strtab_free(&l->context_of);
	ws_range_pairs_free(&l->pairs);
	ws_path_table_free(&l->paths);
	*l = (struct ws_live_ranges){0};
}

/* --- rows for the sink ------------------------------------------------------------------- */

/* Values shared by calls with the same name, thread and result. Adds the marks of the range around
 * the call. */
static const struct ws_joined_call_kind *call_kinds(struct ws_pass *p,
                                                    const struct ws_event_descriptor *e)
{
	const uint32_t key[] = {e->name, e->thread, e->failed};
	struct ws_joined_call_kind *kinds = p->last_call_kinds;

	if (kinds && kinds->name == e->name && kinds->thread == e->thread &&
	    kinds->failed == e->failed)
		return kinds;
	uint64_t known = ws_strtab_find(&p->call_kind_of, key, sizeof(key));
	if (known)
		return p->last_call_kinds = p->call_kinds[known - 1];
	known = ws_strtab_add(&p->call_kind_of, key, sizeof(key));
	WS_NEW(&p->m->arena, kinds, WS_MARKS_OF_SCOPE + 1);
	for (unsigned marks = 0; marks <= WS_MARKS_OF_SCOPE; marks++)
		kinds[marks] = (struct ws_joined_call_kind){e->name, e->thread, (uint8_t)marks,
		                                            e->failed != 0};
	WS_GROW(p->call_kinds, known, p->call_kinds_capacity);
	return p->last_call_kinds = p->call_kinds[known - 1] = kinds;
}

void ws_pass_emit_call(struct ws_pass *p, const struct ws_pass_row *c, uint32_t range,
                       uint32_t *call)
{
	const struct ws_joined_call row = {
	        .start_ns = c->start_ns,
	        .dur_ns = c->time_ns - c->start_ns,
	        .correlation = c->id,
	        .kind = call_kinds(p, &c->description) +
	                (ws_pass_range_marks(p, range) & WS_MARKS_OF_SCOPE),
	        .range = ws_pass_range_number(p, range),
	};

	p->sink->call(p->sink->ctx, &row, call);
}

/* --- overlapping ranges --- */

/*
 * Ranges that cross, or end on another thread: their ends are read in a separate pass first, so
 * that their parents are known when they begin.
 */

/* --- when ranges end --------------------------------------------------------------------- */

struct reading {
	struct ws_pass *p;
	struct ws_live_ranges live;
	uint32_t rank;   /* rank of the next end */
	bool has_starts; /* there are starts of ranges that contain the work of their process */
	bool at_the_end; /* ranges that end now end on another thread, at the end of the trace */
};

static void look_at_none(void *ctx, struct ws_range_context *context)
{
	(void)ctx, (void)context;
}

static void begin_one(void *ctx, uint32_t range)
{
	(void)ctx, (void)range;
}

/* Ranges that never end, and ranges that end on another thread at the end of the trace, contain
 * each other. */
static enum ws_status note_end(void *ctx, uint32_t range, int open, struct ws_err *err)
{
	struct reading *e = ctx;
	const struct ws_open_range *r = &e->live.range[range];
	struct ws_live_thread *t = &e->live.threads[r->context->thread];
	uint32_t *rank = e->p->ends.rank;

	(void)open, (void)err;
	if (e->at_the_end)
		return WS_OK;
	rank[r->number] = e->rank++;
	/* open ranges further above have crossed that one already */
	if (t->last != range && rank[e->live.range[r->above].number] == WS_NONE)
		t->crosses = true;
	return WS_OK;
}

static enum ws_status join_event(void *ctx, const struct ws_pass_row *row, struct ws_err *err)
{
	struct reading *e = ctx;

	e->has_starts |= row->description.type == WS_NVTX_START;
	WS_FORWARD(live_pass_time(&e->live, row->time_ns, err));
	return live_event(&e->live, e->live.events, row, err);
}

uint64_t ws_pass_most_ranges(const struct ws_trace_reader *r)
{
	const uint64_t modules = ws_trace_reader_count(r, WS_KIND_PYTHON_CALL),
	               copies = modules * ws_trace_reader_count(r, WS_KIND_OP_PERIOD);

	return ws_trace_reader_count(r, WS_KIND_NVTX) + modules +
	       (copies < WS_MOST_OP_COPIES ? copies : WS_MOST_OP_COPIES);
}

static enum ws_status read_ends(struct ws_pass *p, struct ws_err *err)
{
	static const struct ws_live_events events = {look_at_none, begin_one, note_end};
	const uint64_t n = ws_pass_most_ranges(p->l.r),
	               ncalls = ws_trace_reader_count(p->l.r, WS_KIND_API);

	struct reading e = {
	        .p = p,
	        .live = {.events = &events, .ctx = &e, .arena = &p->ends_arena, .ends = &p->ends}};

	WS_FAIL_IF(n >= WS_NONE, err, NO_MEMORY,
	           "the trace has more records of one kind than a report handles");
	WS_NEW(&p->ends_arena, p->ends.rank, n);
	memset(p->ends.rank, 0xff, n * sizeof(*p->ends.rank));
	enum ws_status status = ws_pass_each_event(p, join_event, &e, err);
	/* ranges that ended on another thread, with the last event */
	if (e.live.nlate) {
		WS_THEN(status, ws_pass_see_times(p, true, err));
		e.at_the_end = e.live.late_ns >= p->last_ns && e.live.late_ns >= p->m->end_ns;
		WS_THEN(status, live_end_late(&e.live, err));
	}

	if (status == WS_OK) {
		bool any = e.has_starts;

		if (e.live.nthreads)
			live_add_threads(&p->live, (uint32_t)e.live.nthreads - 1);
		for (size_t i = 0; i < e.live.nthreads; i++)
			any |= p->live.threads[i].crosses = e.live.threads[i].crosses;
		p->ends.known = true;
		p->live.ends = &p->ends;
		if (any) {
			WS_NEW(&p->m->arena, p->m->attribution.first, ncalls);
			memset(p->m->attribution.first, 0xff, ncalls * sizeof(uint32_t));
		}
	}
	ws_live_free(&e.live);
	return status;
}

/* --- may they cross? --------------------------------------------------------------------- */

enum ws_status ws_pass_read_ends(struct ws_pass *p, struct ws_err *err)
{
	const ws_column_set columns[WS_KIND_END] = {[WS_KIND_NVTX] = WS_COLUMN(nvtx, type) |
	                                                             WS_COLUMN(nvtx, thread) |
	                                                             WS_COLUMN(nvtx, domain)};
	const struct ws_framework *f = &p->framework;
	const struct ws_block_rows *rows = NULL;
	struct ws_idmap domain_of = {0};
	struct ws_feed *feed;
	bool found = false;
	int64_t until_ns;
	enum ws_status status;

	/* Pushes and pops of one domain nest. Calls of modules have their own domain. */
	for (size_t i = 0; i < f->nevents; i++)
		ws_idmap_put(&domain_of, f->events[i].thread, WS_TEXT_MODULE_DOMAIN);
	ws_feed_open(&feed, p->l.r, columns);
	do {
		status = ws_feed_next(feed, &rows, &until_ns, err);
		if (status == WS_OK && rows)
			ws_pass_look_for_crossings(p, rows, &domain_of, &found);
	} while (status == WS_OK && rows && !found);
	ws_feed_close(feed);
	ws_idmap_free(&domain_of);
	return status == WS_OK && found ? read_ends(p, err) : status;
}

/* --- ranges that cross a call ----------------------------------------------------------------- */

static void add_crossing(struct ws_attribution *a, uint32_t call, uint32_t range)
{
	WS_GROW(a->crossings, a->ncrossings + 1, a->crossings_capacity);
	a->crossings[a->ncrossings] = (struct ws_crossing){range, a->first[call]};
	a->first[call] = (uint32_t)a->ncrossings++;
}

/* Walks the list from the range that began last. It can stop at an ancestor that has as many
 * ancestors as there are ranges below it in the list: then these are its ancestors. */
static void pass_add_crossings(struct ws_pass *p, const struct ws_pass_row *c, uint32_t thread,
                               uint32_t range, uint32_t call)
{
	const struct ws_live_thread *t = &p->live.threads[thread];
	struct ws_attribution *a = &p->m->attribution;
	const bool full = a->ncrossings >= WS_MAX_CROSSINGS;
	uint32_t ancestor = range, below = t->nlisted;
	const struct ws_open_range *r;

	for (uint32_t at = t->last; at != WS_NONE; at = r->below) {
		r = &p->live.range[at];
		below--;
		if (at == ancestor) {
			if (r->context->depth == below)
				break;
			ancestor = r->parent;

		} else if (r->start_ns <= c->start_ns) {
			a->not_followed += full;
			if (full)
				break;
			add_crossing(a, call, ws_pass_range_number(p, at));
		}
	}
}

/* --- ranges that contain calls of other threads
 * --------------------------------------------------- */

/* --- steps --- */

/*
 * Finds steps during a pass: which ranges are steps, and the ranges inside them.
 */

static void new_step(struct ws_pass *p, uint32_t range, int is_whole_warm_up)
{
	struct ws_open_range *r = &p->live.range[range];

	WS_GROW(p->steps, p->nsteps + 1, p->steps_capacity);
	p->steps[p->nsteps] = (struct ws_pass_step){
	        .step = {.range = (uint32_t)p->nsteps,
	                 .name = r->recorded,
	                 .thread = r->context->thread,
	                 .start_ns = r->start_ns,
	                 .warm_up = (r->context->marks & WS_IN_WARM_UP) != 0},
	        .live = range,
	        .open = 1,
	        .is_whole_warm_up = (uint8_t)is_whole_warm_up,
	};
	p->steps[p->nsteps].step.by_time = !is_whole_warm_up;
	r->step = (uint32_t)p->nsteps++;
}

static size_t count_warm_up(const struct ws_model *m)
{
	size_t n = 0;

	for (size_t s = 0; s < m->nsteps; s++)
		n += (size_t)(m->steps[s].warm_up != 0);
	return n;
}

/* --- framework --- */

bool ws_framework_is_in(const struct ws_trace_reader *r)
{
	return ws_trace_reader_count(r, WS_KIND_CPU_OP) ||
	       ws_trace_reader_count(r, WS_KIND_PYTHON_CALL) ||
	       ws_trace_reader_count(r, WS_KIND_COLLECTIVE);
}

enum ws_status ws_framework_load(struct ws_framework *f, struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;

	f->is_present = true;
	WS_FORWARD(ws_load_cpu_ops(l, err));
	WS_FORWARD(ws_load_op_links(l, &f->op_of, err));
	WS_FORWARD(ws_load_collectives(l, &f->collective_of, err));
	WS_FORWARD(ws_load_module_events(l, &f->arena, &f->events, &f->nevents, err));
	for (size_t i = 0; i < m->nwork; i++)
		if (m->work[i].correlation)
			m->work[i].op = ws_idmap_get(&f->op_of, m->work[i].correlation);
	f->nops = m->cpu_ops.tree.n;
	WS_NEW(&f->arena, f->op_order, f->nops);
	ws_order_identity(f->op_order, f->nops);
	ws_order_by(f->op_order, m->cpu_ops.tree.end_ns, f->nops);
	return WS_OK;
}

void ws_framework_free(struct ws_framework *f)
{
	ws_idmap_free(&f->op_of);
	ws_idmap_free(&f->collective_of);
	ws_arena_free(&f->arena);
	*f = (struct ws_framework){0};
}

/* --- rows of the join ---------------------------------------------------------------------- */

/* Position after rows of the file with the same time. */
#define AT_FRAMEWORK (UINT64_C(1) << 60)

/* Makes rows of the join from the framework's records before until_ns. */
static void pass_take_framework(struct ws_pass *p, int64_t until_ns, struct ws_pass_rows *to)
{
	struct ws_framework *f = &p->framework;
	const size_t first_event = f->next_event, first_op = f->next_op;
	const int64_t *end_ns = p->m->cpu_ops.tree.end_ns;

	while (f->next_event < f->nevents && f->events[f->next_event].time_ns < until_ns)
		f->next_event++;
	while (f->next_op < f->nops && end_ns[f->op_order[f->next_op]] < until_ns)
		f->next_op++;
	size_t n = f->next_event - first_event + f->next_op - first_op;
	if (!n)
		return;
	struct ws_pass_row *row = ws_pass_rows_reserve(to, n);
	memset(row, 0, n * sizeof(*row));
	for (size_t i = first_event; i < f->next_event; i++, row++) {
		const struct ws_module_event *e = &f->events[i];

		row->time_ns = e->time_ns;
		row->position = AT_FRAMEWORK | e->position;
		row->recorded = e->name;
		row->description = (struct ws_event_descriptor){
		        .type = e->begins ? WS_NVTX_PUSH : WS_NVTX_POP,
		        .thread = e->thread,
		        .process = p->m->threads[e->thread].process,
		        .domain = WS_TEXT_MODULE_DOMAIN,
		        .name = p->m->steady_of[e->name],
		        .payload = WS_NONE,
		        .source = e->source,
		};
	}
	for (size_t i = first_op; i < f->next_op; i++, row++) {
		const struct ws_op_tree *ops = &p->m->cpu_ops.tree;
		const uint32_t op = f->op_order[i];

		/* an operation is joined when it ends, like a call */
		row->time_ns = ops->end_ns[op];
		row->start_ns = ops->start_ns[op];
		row->position = WS_PASS_AT_CALL | AT_FRAMEWORK | op;
		row->id = op;
		row->description =
		        (struct ws_event_descriptor){.type = WS_PASS_CPU_OP,
		                                     .thread = ops->thread[op],
		                                     .process =
		                                             p->m->threads[ops->thread[op]].process,
		                                     .payload = WS_NONE};
	}
	ws_pass_rows_filled(to, n, true);
}

/* --- events --- */

/* Reads events alone, in order of time. */

struct events {
	struct ws_pass *p;
	struct ws_pass_rows rows; /* that wait */
	ws_pass_event_fn fn;
	void *ctx;
};

/* Emits events before until_ns. */
static enum ws_status tell_events(struct events *e, int64_t until_ns, struct ws_err *err)
{
	struct ws_pass_rows *rows = &e->rows;

	if (e->p->framework.is_present)
		pass_take_framework(e->p, until_ns, rows);
	ws_pass_rows_sort(rows);
	for (; rows->first < rows->n; rows->first++) {
		const struct ws_pass_row *row = (struct ws_pass_row *)rows->rows + rows->first;

		if (row->time_ns >= until_ns && until_ns != INT64_MAX)
			return WS_OK;
		WS_FORWARD(e->fn(e->ctx, row, err));
	}
	return WS_OK;
}

static enum ws_status take_events(void *events, const struct ws_block_rows *b, uint32_t block,
                                  int64_t until_ns, struct ws_err *err)
{
	struct events *e = events;

	WS_FORWARD(ws_pass_take_events(e->p, b, block, &e->rows, err));
	return tell_events(e, until_ns, err);
}

enum ws_status ws_pass_each_event(struct ws_pass *p, ws_pass_event_fn fn, void *ctx,
                                  struct ws_err *err)
{
	const ws_column_set more = WS_COLUMN(nvtx, category) | WS_COLUMN(nvtx, color);
	const ws_column_set columns[WS_KIND_END] = {[WS_KIND_NVTX] = WS_PASS_EVENT_COLUMNS |
	                                                             (p->recorded ? more : 0)};
	struct events e = {p, {.row_size = sizeof(struct ws_pass_row)}, fn, ctx};
	enum ws_status status = ws_feed_each(p->l.r, columns, take_events, &e, err);

	WS_THEN(status, tell_events(&e, INT64_MAX,
	                            err)); /* events of a framework, if there are no blocks */
	free(e.rows.rows);
	p->framework.next_event = p->framework.next_op = 0;
	return status;
}

/* --- events to ranges, and calls to ranges, in order of time ---------------------------------- */

/* --- ranges ------------------------------------------------------------------------------ */

static void resolve_context(void *ctx, struct ws_range_context *f)
{
	struct ws_pass *p = ctx;
	const struct ws_range_context *parent = f->parent;
	const struct ws_ranges r = {.paths = p->live.paths.paths, .npaths = p->live.paths.npaths};
	const struct ws_op_facts *op = NULL;

	f->phase =
	        (uint8_t)ws_label_phase_in(p->m,
	                                   parent ? (enum ws_phase)parent->phase : WS_PHASE_OTHER,
	                                   f->name);
	f->marks =
	        ws_label_marks(p->m, f->name) | (parent ? parent->marks & WS_MARKS_INHERITED : 0);
	f->op = parent ? parent->op : WS_NONE;
	f->is_op = f->payload != WS_NONE && p->m->ops.is_op[f->payload];
	if (f->is_op)
		f->op = f->payload;
	if (f->op != WS_NONE)
		op = &p->m->ops.op[f->op];
	f->class = ws_label_class(op, f->marks);
	f->direction = op ? op->direction : 0;
	f->dtype = op ? op->dtype : 0;
	ws_step_is_path(p->m, &r, f->path, p->l.opts->step, &f->is_step);
	f->is_step |= p->m->step_module && f->name == p->m->step_module &&
	              r.paths[f->path].domain == WS_TEXT_MODULE_DOMAIN;
	f->marks_iteration =
	        !p->l.opts->step && (r.paths[f->path].domain == WS_TEXT_OPTIMIZER_DOMAIN ||
	                             ws_name_marks_iteration(p->m->texts[f->name]));
	f->is_warm_up = ws_name_is_warm_up(p->m->texts[f->name]);
	/* it is the outermost range of its phase in its step */
	f->tells_step = f->is_step || f->is_warm_up ||
	                (f->phase != WS_PHASE_OTHER && !(parent && parent->phase == f->phase));
}

static inline void begin_range(void *ctx, uint32_t range)
{
	struct ws_pass *p = ctx;
	struct ws_open_range *r = &p->live.range[range];
	const struct ws_range_context *context = r->context;

	if (context->is_op) {
		/* a group of operations: only its parts are counted */
		if (r->op != WS_NONE)
			p->live.range[r->op].counted = 0;
		r->op = range;
		r->counted = 1;
	}

	/*
	 * Sets the step of a new range, which may be a step itself. A step is an outermost range
	 * `step`, PyTorch's ProfilerStep#N, or a range that matches --step; it is a warm-up step if
	 * it lies in a range `warm-up`. A range `warm-up` without steps inside is a warm-up step.
	 */
	if ((context->is_step || context->is_warm_up) &&
	    (r->step == WS_NONE || p->steps[r->step].is_whole_warm_up)) {
		if (r->step == WS_NONE && context->is_warm_up) {
			new_step(p, range, 1);
		} else if (context->is_step) {
			if (r->step != WS_NONE)
				p->steps[r->step].has_step = 1;
			new_step(p, range, 0);
		}
	}
}

static inline enum ws_status close_range(void *ctx, uint32_t range, int open, struct ws_err *err)
{
	struct ws_pass *p = ctx;
	struct ws_open_range *r = &p->live.range[range];
	const struct ws_range_context *context = r->context;

	WS_FAIL_IF(__builtin_add_overflow(p->range_ns, r->end_ns - r->start_ns, &p->range_ns), err,
	           CORRUPT, "the ranges' times add up to over 2^63 ns");
	p->m->ranges.folded += context->depth >= WS_RANGE_MAX_DEPTH;
	for (size_t i = p->nprocess_ranges; context->style == WS_RANGE_START_END && i-- > 0;)
		if (p->process_ranges[i].number == r->number) {
			p->process_ranges[i].end_ns = r->end_ns;
			break;
		}

	if (r->op == range && r->counted) {
		/* in the order of ends; an operation with which a sum would overflow is not
		 * counted */
		const struct ws_op_facts *op = &p->m->ops.op[context->payload];
		int64_t flops, bytes;

		r->counted =
		        !__builtin_add_overflow(p->flops, op->flops > 0 ? op->flops : 0, &flops) &&
		        !__builtin_add_overflow(p->bytes, op->bytes > 0 ? op->bytes : 0, &bytes);
		if (r->counted) {
			p->flops = flops;
			p->bytes = bytes;
		}
		p->m->leftovers.ops_too_big += !r->counted;
	}

	const struct ws_joined_range row = {
	        .start_ns = r->start_ns,
	        .end_ns = r->end_ns,
	        .context = r->context,
	        .parent = ws_pass_range_number(p, r->parent),
	        .recorded = r->recorded,
	        .step = r->step,
	        .is_open = open != 0,
	        .is_step = r->step != WS_NONE && p->steps[r->step].live == range,
	        .is_counted = r->op == range && r->counted,
	};

	p->sink->range(p->sink->ctx, (uint32_t)r->number, &row);
	if (context->tells_step && r->step != WS_NONE) {
		/* A range ended that is in a step, or is a step. */
		struct ws_pass_step *s = &p->steps[r->step];
		const struct ws_open_range *parent =
		        r->parent == WS_NONE ? NULL : &p->live.range[r->parent];
		const int around =
		        parent && parent->step == r->step ? parent->context->phase : WS_PHASE_OTHER;
		int64_t dur = r->end_ns - r->start_ns;

		if (r->context->phase != WS_PHASE_OTHER && r->context->phase != around) {
			s->step.phase_ns[r->context->phase] += dur;
			if (around != WS_PHASE_OTHER)
				s->step.phase_ns[around] -= dur;
			s->step.phases |= (uint8_t)(1u << r->context->phase);
		}
		if (s->live == range && s->open) {
			s->open = 0;
			s->step.total_ns = dur;
			s->step.unfinished = open;
		}
	}
	if (context->marks_iteration && !open)
		ws_pass_take_iteration_mark(p, r);
	return WS_OK;
}

static const struct ws_live_events live_events = {resolve_context, begin_range, close_range};

const struct ws_live_events *ws_pass_live_events(void)
{
	return &live_events;
}

/* --- in order of time -------------------------------------------------------------------- */

/*
 * A library launches the kernels of grouped calls when the group ends, so the range of that end
 * calls the collective of the group. Several calls of one name and communicator are one collective
 * of unknown size, others are none.
 */
static void pass_follow_group(struct ws_pass *p, struct ws_pass_row *row)
{
	static const struct {
		const char *domain, *begin, *end;
	} groups[] = {WS_PAYLOAD_GROUPS(WS_LIST_ROW)};
	struct ws_event_descriptor *e = &row->description;

	if (e->thread >= p->ngroups) {
		WS_GROW(p->groups, (size_t)e->thread + 1, p->groups_capacity);
		memset(p->groups + p->ngroups, 0,
		       (e->thread + 1 - p->ngroups) * sizeof(*p->groups));
		p->ngroups = (size_t)e->thread + 1;
	}
	struct ws_call_group *g = &p->groups[e->thread];
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (!ws_is_domain(p->m->texts[e->domain], groups[i].domain))
			continue;
		if (ws_name_is(p->m->texts[e->name], groups[i].begin)) {
			g->calls = g->depth++ ? g->calls : 0;
		} else if (ws_name_is(p->m->texts[e->name], groups[i].end)) {
			if (g->depth && !--g->depth && g->calls)
				e->collective = g->collective + 1;
		} else if (e->collective && g->depth) {
			const uint32_t own = e->collective - 1;

			g->collective = !g->calls++ ? own
			                : g->collective == WS_NONE
			                        ? WS_NONE
			                        : ws_collective_merged(p->m, g->collective, own);
		}
	}
}

/* Joins in order of time. At equal times events precede calls, because a call that ends together
 * with a range lies in it. */
enum ws_status ws_pass_join(struct ws_pass *p, int64_t until_ns, struct ws_err *err)
{
	struct ws_attribution *a = &p->m->attribution;
	struct ws_pass_rows *rows = &p->rows;

	if (p->framework.is_present)
		pass_take_framework(p, until_ns, rows);
	ws_pass_rows_sort(rows);
	for (; rows->first < rows->n; rows->first++) {
		struct ws_pass_row *row = (struct ws_pass_row *)rows->rows + rows->first;

		if (row->time_ns >= until_ns)
			return WS_OK;
		WS_FORWARD(live_pass_time(&p->live, row->time_ns, err));
		if (row->description.type == WS_THREAD_EVENT_API) {
			const uint32_t range = live_innermost(&p->live, row->description.thread,
			                                      row->start_ns, row->time_ns);
			size_t kept = 0;
			uint32_t call;

			ws_pass_emit_call(p, row, range, &call);
			if (a->first && row->description.thread < p->live.nthreads &&
			    p->live.threads[row->description.thread].crosses)
				pass_add_crossings(p, row, row->description.thread, range, call);
			/* the ranges of other threads around it */
			for (size_t i = 0; i < p->nprocess_ranges; i++) {
				const struct ws_process_range r = p->process_ranges[i];

				if (r.end_ns < row->time_ns)
					continue; /* no later call ends in it */
				p->process_ranges[kept++] = r;
				if (r.thread == row->description.thread ||
				    r.process != row->description.process ||
				    r.start_ns > row->start_ns)
					continue;
				if (a->ncrossings < WS_MAX_CROSSINGS)
					add_crossing(a, call, (uint32_t)r.number);
				else
					a->not_followed++;
			}
			p->nprocess_ranges = kept;
		} else if (row->description.type == WS_PASS_CPU_OP) {
			uint32_t range = live_innermost(&p->live, row->description.thread,
			                                row->start_ns, row->time_ns);

			p->m->cpu_ops.range[row->id] = ws_pass_range_number(p, range);
		} else {
			if (p->m->ops.nmessages && row->description.type == WS_NVTX_PUSH)
				pass_follow_group(p, row);
			WS_FORWARD(live_event(&p->live, &live_events, row, err));
			if (row->description.type != WS_NVTX_START || !a->first ||
			    row->id & WS_RANGE_OF_THREAD)
				continue;

			/* it may contain calls of other threads */
			const struct ws_open_range *r =
			        &p->live.range[p->live.threads[row->description.thread].last];

			WS_GROW(p->process_ranges, p->nprocess_ranges + 1,
			        p->process_ranges_capacity);
			p->process_ranges[p->nprocess_ranges++] =
			        (struct ws_process_range){r->number, r->start_ns, INT64_MAX,
			                                  row->description.thread,
			                                  row->description.process};
		}
	}
	return WS_OK;
}

/* --- the end ----------------------------------------------------------------------------- */

/* The last mark of a key in the file wins. */
static int by_place(const void *pa, const void *pb)
{
	const struct ws_pass_mark *a = pa, *b = pb;

	return a->position < b->position ? -1 : a->position > b->position;
}

enum ws_status ws_pass_end(struct ws_pass *p, struct ws_err *err)
{
	struct ws_model *m = p->m;
	const struct ws_column_data *meta = &m->meta;
	struct ws_strtab fact_keys = {0};
	bool any_open = false;

	WS_FORWARD(ws_pass_join(p, INT64_MAX, err));
	/* ranges that never ended end at the last moment of any record */
	for (size_t i = 0; i < p->live.nthreads; i++)
		any_open |= p->live.threads[i].last != WS_NONE;
	if (any_open)
		WS_FORWARD(ws_pass_see_times(p, false, err));
	if (p->first_ns <= p->last_ns)
		ws_extend_time(m, p->first_ns, p->last_ns);

	/* End the ranges that are open when the trace ends. */
	const int64_t end_ns = m->end_ns;

	WS_FORWARD(live_end_late(&p->live, err));
	for (size_t i = 0; i < p->live.nthreads; i++) {
		struct ws_live_thread *t = &p->live.threads[i];

		live_forget_ended(&p->live, t, INT64_MAX);
		while (t->last != WS_NONE) {
			uint32_t range = t->last;

			p->live.range[range].end_ns = end_ns;
			p->live.open_at_end++;
			WS_FORWARD(p->live.events->close(p->live.ctx, range, 1, err));
			live_forget(&p->live, t, range);
		}
	}

	/* The steps get their numbers, in the model. Without any they are the times to the end of
	 * an optimizer's step. */
	WS_NEW(&m->arena, m->steps, p->nsteps + p->niteration_marks + p->framework.nevents);
	for (size_t i = 0; i < p->nsteps; i++) {
		const struct ws_pass_step *s = &p->steps[i];

		if (!s->is_whole_warm_up || !s->has_step)
			m->steps[m->nsteps++] = s->step;
	}
	/* A single batch of a server does not count as steps, because the device work before its
	 * range is unknown. */
	if (!p->l.opts->step && m->nsteps == count_warm_up(m) + 1) {
		size_t only = 0;

		while (m->steps[only].warm_up)
			only++;
		if (m->steps[only].name != WS_TEXT_STEP &&
		    !ws_bytes_begin(m->texts[m->steps[only].name], WS_PYTORCH_STEP))
			memmove(&m->steps[only], &m->steps[only + 1],
			        (--m->nsteps - only) * sizeof(*m->steps));
	}

	if (m->nsteps == count_warm_up(m))
		ws_pass_find_iterations(p);
	ws_steps_sort(m);
	ws_pass_set_steps_apart(p);
	m->ranges.open = p->live.open_at_end;
	m->ranges.cross_thread = p->live.cross_thread;
	m->ranges.unmatched_pops = p->live.unmatched_pops;
	m->ranges.unmatched_ends = p->live.unmatched_ends;
	ws_path_table_give(&p->live.paths, &m->ranges.paths, &m->ranges.npaths);
	if (p->nmarks)
		ws_sort(p->marks, p->nmarks, sizeof(*p->marks), by_place);
	WS_NEW(&m->arena, m->facts, m->ntexts + meta->rows);
	for (size_t i = 0; i < p->nmarks; i++)
		ws_take_fact(m, &fact_keys, m->texts[p->marks[i].text]);
	/* facts of the recorder have precedence over marks */
	for (uint64_t i = 0; i < meta->rows; i++) {
		const struct ws_bytes key = ws_blob(meta, WS_COL_meta_key, i),
		                      value = ws_blob(meta, WS_COL_meta_value, i);

		if (!ws_bytes_begin(key, "workload."))
			continue;
		char *mark =
		        ws_arena_format(&p->m->arena, "%.*s=%.*s", WS_SHOWN(key), WS_SHOWN(value));
		ws_take_fact(m, &fact_keys, ws_bytes_of(mark));
	}
	ws_strtab_free(&fact_keys);
	return WS_OK;
}
