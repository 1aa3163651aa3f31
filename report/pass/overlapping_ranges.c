/*
 * Ranges that cross, or end on another thread: when they end is read before
 * all else, so that their parents are known when they begin.
 */
#include <string.h>

#include "formats/base/grow.h"
#include "report/pass/private.h"

/* --- when ranges end --------------------------------------------------------------------- */

struct reading {
	struct ws_pass *p;
	struct ws_live_ranges live;
	uint32_t rank;   /* of what ends next */
	bool has_starts; /* … of ranges that hold what their process does */
	bool at_the_end; /* what ends now does so on another thread, when the trace ends */
};

static void look_at_none(void *ctx, struct ws_range_context *context)
{
	(void)ctx, (void)context;
}

static void begin_one(void *ctx, uint32_t range)
{
	(void)ctx, (void)range;
}

/* Those that never end, and what ends on another thread when they are taken to end, lie in each
 * other. */
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
	/* what lies further above and is open had crossed that one already */
	if (t->last != range && rank[e->live.range[r->above].number] == WS_NONE)
		t->crosses = true;
	return WS_OK;
}

static enum ws_status join_event(void *ctx, const struct ws_pass_row *row, struct ws_err *err)
{
	const struct ws_live_row event = ws_pass_event(row);
	struct reading *e = ctx;

	e->has_starts |= e->p->shapes.shape[row->shape].type == WS_NVTX_START;
	WS_FORWARD(ws_live_pass_time(&e->live, row->time_ns, err));
	return ws_live_event(&e->live, e->live.events, &event, &e->p->shapes.shape[row->shape],
	                     err);
}

/* Those that ended on another thread, with the last event. */
static enum ws_status end_late(struct reading *e, struct ws_err *err)
{
	struct ws_pass *p = e->p;

	if (!e->live.nlate)
		return WS_OK;
	WS_FORWARD(ws_pass_see_times(p, true, err));
	e->at_the_end = e->live.late_ns >= p->last_ns && e->live.late_ns >= p->m->end_ns;
	return ws_live_end_late(&e->live, err);
}

static void keep(struct reading *e)
{
	struct ws_pass *p = e->p;
	struct ws_attribution *a = &p->m->attribution;
	const uint64_t ncalls = ws_trace_reader_count(p->l.r, WS_KIND_API);
	bool any = e->has_starts;

	if (e->live.nthreads)
		ws_live_add_threads(&p->live, (uint32_t)e->live.nthreads - 1);
	for (size_t i = 0; i < e->live.nthreads; i++)
		any |= p->live.threads[i].crosses = e->live.threads[i].crosses;
	p->ends.known = true;
	p->live.ends = &p->ends;
	if (!any)
		return;
	WS_NEW(&p->m->arena, a->first, ncalls);
	memset(a->first, 0xff, ncalls * sizeof(*a->first));
}

static enum ws_status read_ends(struct ws_pass *p, struct ws_err *err)
{
	static const struct ws_live_events events = {look_at_none, begin_one, note_end};
	const uint64_t n = ws_trace_reader_count(p->l.r, WS_KIND_NVTX) +
	                   ws_trace_reader_count(p->l.r, WS_KIND_PYTHON_CALL);
	struct reading e = {
	        .p = p,
	        .live = {.events = &events, .ctx = &e, .arena = &p->ends_arena, .ends = &p->ends}};
	enum ws_status status;

	WS_FAIL_IF(n >= WS_NONE, err, NO_MEMORY,
	           "the trace has more records of one kind than a report handles");
	WS_NEW(&p->ends_arena, p->ends.rank, n);
	memset(p->ends.rank, 0xff, n * sizeof(*p->ends.rank));
	status = ws_pass_each_event(p, join_event, &e, err);
	WS_THEN(status, end_late(&e, err));
	if (status == WS_OK)
		keep(&e);
	ws_live_free(&e.live);
	return status;
}

/* --- may they cross? --------------------------------------------------------------------- */

/* Pushes and pops of a domain nest. Calls of modules are of one. */
static enum ws_status look_for_crossings(struct ws_pass *p, struct ws_idmap *domain_of, bool *found,
                                         struct ws_err *err)
{
	const ws_column_set columns[WS_KIND_END] = {[WS_KIND_NVTX] = WS_COLUMN(nvtx, type) |
	                                                             WS_COLUMN(nvtx, thread) |
	                                                             WS_COLUMN(nvtx, domain)};
	const struct ws_framework *f = &p->framework;
	const struct ws_block_rows *rows = NULL;
	struct ws_feed *feed;
	int64_t until_ns;
	enum ws_status status;

	for (size_t i = 0; i < f->nevents; i++)
		ws_idmap_put(domain_of, f->events[i].thread, WS_TEXT_MODULE_DOMAIN);
	ws_feed_open(&feed, p->l.r, columns);
	do {
		status = ws_feed_next(feed, &rows, &until_ns, err);
		if (status == WS_OK && rows)
			ws_pass_look_for_crossings(p, rows, domain_of, found);

	} while (status == WS_OK && rows && !*found);
	ws_feed_close(feed);
	return status;
}

enum ws_status ws_pass_read_ends(struct ws_pass *p, struct ws_err *err)
{
	struct ws_idmap domain_of = {0};
	bool found = false;
	enum ws_status status = look_for_crossings(p, &domain_of, &found, err);

	ws_idmap_free(&domain_of);
	return status == WS_OK && found ? read_ends(p, err) : status;
}

/* --- what crosses a call ----------------------------------------------------------------- */

static void add_crossing(struct ws_attribution *a, uint32_t call, uint32_t range)
{
	WS_GROW(a->crossings, a->ncrossings + 1, a->crossings_capacity);
	a->crossings[a->ncrossings] = (struct ws_crossing){range, a->first[call]};
	a->first[call] = (uint32_t)a->ncrossings++;
}

/* From the range that began last on, one can stop at an ancestor that has as many ancestors as
 * there are ranges below it: those are its ancestors. */
void ws_pass_add_crossings(struct ws_pass *p, const struct ws_pass_row *c, uint32_t thread,
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

/* --- what holds calls of other threads --------------------------------------------------- */

void ws_pass_begin_process_range(struct ws_pass *p, const struct ws_event_descriptor *shape,
                                 uint64_t id)
{
	const struct ws_open_range *r = &p->live.range[p->live.threads[shape->thread].last];

	if (id & WS_RANGE_OF_THREAD)
		return;
	WS_GROW(p->process_ranges, p->nprocess_ranges + 1, p->process_ranges_capacity);
	p->process_ranges[p->nprocess_ranges++] =
	        (struct ws_process_range){r->number, r->start_ns, INT64_MAX, shape->thread,
	                                  shape->process};
}

void ws_pass_end_process_range(struct ws_pass *p, uint64_t number, int64_t end_ns)
{
	for (size_t i = p->nprocess_ranges; i-- > 0;)
		if (p->process_ranges[i].number == number) {
			p->process_ranges[i].end_ns = end_ns;
			return;
		}
}

void ws_pass_add_process_ranges(struct ws_pass *p, const struct ws_pass_row *c,
                                const struct ws_event_descriptor *shape, uint32_t call)
{
	struct ws_attribution *a = &p->m->attribution;
	size_t kept = 0;

	for (size_t i = 0; i < p->nprocess_ranges; i++) {
		const struct ws_process_range r = p->process_ranges[i];

		if (r.end_ns < c->time_ns)
			continue; /* no later call ends in it */
		p->process_ranges[kept++] = r;
		if (r.thread == shape->thread || r.process != shape->process ||
		    r.start_ns > c->start_ns)
			continue;
		if (a->ncrossings < WS_MAX_CROSSINGS)
			add_crossing(a, call, (uint32_t)r.number);
		else
			a->not_followed++;
	}
	p->nprocess_ranges = kept;
}
