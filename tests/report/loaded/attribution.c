#include "tests/report/loaded/attribution.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"

/* --- kernel to call -------------------------------------------------------------- */

struct launch_key {
	uint32_t process;
	uint64_t correlation;
	int64_t start_ns;
};

static struct launch_key call_key(const struct loaded_calls *calls, uint32_t i)
{
	return (struct launch_key){calls->process[i], calls->correlation[i], calls->start_ns[i]};
}

static bool same_launch(struct launch_key a, struct launch_key b)
{
	return a.process == b.process && a.correlation == b.correlation;
}

/* a <= b; correlations in the order that ws_order_by gave them: as signed numbers */
static bool not_after(struct launch_key a, struct launch_key b)
{
	if (a.process != b.process)
		return a.process < b.process;
	if (a.correlation != b.correlation)
		return (int64_t)a.correlation < (int64_t)b.correlation;
	return a.start_ns <= b.start_ns;
}

/* How many of the sorted calls are not after key. Kernels mostly come in the order of their
 * launches, so the place after the last answer is tried first. */
static size_t count_not_after(const struct loaded_calls *calls, const uint32_t *order,
                              struct launch_key key, size_t hint)
{
	size_t lo = 0, hi = calls->n;

	if (hint < calls->n && not_after(call_key(calls, order[hint]), key) &&
	    (hint + 1 == calls->n || !not_after(call_key(calls, order[hint + 1]), key)))
		return hint + 1;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (not_after(call_key(calls, order[mid]), key))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

enum ws_status loaded_join_launches(const struct loaded_launches *kernels,
                                    const struct loaded_calls *calls, uint32_t *call,
                                    struct ws_err *err)
{
	uint32_t *order = calloc(calls->n ? calls->n : 1, sizeof(*order));
	enum ws_status status;
	size_t at = 0;

	WS_FAIL_IF(!order, err, NO_MEMORY, "out of memory to join %zu launches", calls->n);
	ws_order_identity(order, calls->n);
	status = ws_order_by(order, calls->start_ns, calls->n, err);
	WS_THEN(status, ws_order_by(order, (const int64_t *)calls->correlation, calls->n, err));
	WS_THEN(status, ws_order_by_u32(order, calls->process, calls->n, calls->n, err));

	for (size_t k = 0; k < kernels->n && status == WS_OK; k++) {
		struct launch_key key = {kernels->process[k], kernels->correlation[k],
		                         kernels->start_ns[k]};

		call[k] = WS_NONE;
		if (!key.correlation)
			continue;
		at = count_not_after(calls, order, key, at);
		if (at && same_launch(call_key(calls, order[at - 1]), key))
			call[k] = order[at - 1];
		else if (at < calls->n && same_launch(call_key(calls, order[at]), key))
			call[k] = order[at]; /* clocks that disagree: began after its kernel */
	}
	free(order);
	return status;
}

/* --- call to range --------------------------------------------------------------- */

/* The ranges of one thread that have begun when a call begins. */
struct sweep {
	const struct loaded_ranges *r;
	uint32_t next, last; /* ranges of the thread not begun yet */
	uint32_t *stack;     /* ends never ascend from bottom to top */
	size_t height;
};

static void begin_ranges(struct sweep *s, int64_t until_ns)
{
	const struct loaded_ranges *r = s->r;

	while (s->next < s->last && r->start_ns[s->next] <= until_ns) {
		/* what ended earlier can hold no later call that the new one does not hold too */
		while (s->height && r->end_ns[s->stack[s->height - 1]] < r->end_ns[s->next])
			s->height--;
		s->stack[s->height++] = s->next++;
	}
}

/* The topmost range that ends no earlier than end_ns. */
static uint32_t innermost(const struct sweep *s, int64_t end_ns)
{
	size_t lo = 0, hi = s->height;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->r->end_ns[s->stack[mid]] >= end_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? s->stack[lo - 1] : WS_NONE;
}

static enum ws_status add_crossing(struct loaded_attribution *a, uint32_t call, uint32_t range,
                                   struct ws_err *err)
{
	WS_FORWARD(WS_GROW(a->crossings, a->ncrossings + 1, a->crossings_capacity, err));
	a->crossings[a->ncrossings] = (struct ws_crossing){range, a->first[call]};
	a->first[call] = (uint32_t)a->ncrossings++;
	return WS_OK;
}

/*
 * For a thread whose ranges cross: every range that holds the call and is
 * neither its innermost range nor an ancestor of that. `open` lists all
 * ranges that began and may not have ended, in order of begin. Going down
 * from its top, one can stop at an ancestor that has as many ancestors as
 * there are entries below it: those are its ancestors. Entries that have
 * ended are thrown out when met, so each is met once.
 */
static enum ws_status follow_crossings(struct loaded_attribution *a,
                                       const struct loaded_calls *calls, uint32_t call,
                                       struct sweep *open, struct ws_err *err)
{
	const struct loaded_ranges *r = open->r;
	uint32_t ancestor = a->innermost[call];
	int full = a->ncrossings >= WS_MAX_CROSSINGS;
	size_t i = open->height, kept;
	int left_out = 0;

	while (i-- > 0) {
		uint32_t range = open->stack[i];

		if (range == ancestor) {
			if (r->depth[range] == i)
				break;
			ancestor = r->parent[range];
		} else if (r->end_ns[range] >= calls->end_ns[call]) {
			if (full)
				left_out = 1;
			else
				WS_FORWARD(add_crossing(a, call, range, err));
		}
	}
	a->not_followed += (uint64_t)left_out;

	/* i is where it stopped, or "minus one"; either way what lies above may have ended */
	kept = i + 1;
	for (size_t j = kept; j < open->height; j++)
		if (r->end_ns[open->stack[j]] >= calls->start_ns[call])
			open->stack[kept++] = open->stack[j];
	open->height = kept;
	return WS_OK;
}

/* The calls of one thread, in order of begin. */
static enum ws_status attribute_thread(struct loaded_attribution *a,
                                       const struct loaded_calls *calls, const uint32_t *order,
                                       size_t n, struct sweep *s, struct sweep *open,
                                       struct ws_err *err)
{
	const struct loaded_ranges *r = s->r;
	uint32_t thread = calls->thread[order[0]];
	int crosses = thread < r->nthreads && r->thread_crosses && r->thread_crosses[thread];

	s->height = open->height = 0;
	s->next = thread < r->nthreads ? r->thread_first[thread] : 0;
	s->last = thread < r->nthreads ? r->thread_first[thread + 1] : 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t call = order[i], before = s->next;

		begin_ranges(s, calls->start_ns[call]);
		a->innermost[call] = innermost(s, calls->end_ns[call]);
		if (!crosses)
			continue;
		while (before < s->next)
			open->stack[open->height++] = before++;
		WS_FORWARD(follow_crossings(a, calls, call, open, err));
	}
	return WS_OK;
}

static enum ws_status prepare(struct loaded_attribution *out, const struct loaded_calls *calls,
                              const struct loaded_ranges *ranges, struct ws_err *err)
{
	int crosses = 0;

	*out = (struct loaded_attribution){0};
	for (size_t t = 0; t < ranges->nthreads && ranges->thread_crosses; t++)
		crosses |= ranges->thread_crosses[t];
	WS_NEW(&out->arena, out->innermost, calls->n);
	if (crosses)
		WS_NEW(&out->arena, out->first, calls->n);
	WS_FORWARD(ws_arena_check(&out->arena, "the ranges of launches", err));
	if (crosses)
		memset(out->first, 0xff, calls->n * sizeof(*out->first));
	return WS_OK;
}

static enum ws_status attribute(struct ws_arena *temp, const struct loaded_calls *calls,
                                const struct loaded_ranges *ranges, struct loaded_attribution *out,
                                struct ws_err *err)
{
	struct sweep s = {.r = ranges}, open = {.r = ranges};
	size_t n = calls->n;
	uint32_t *order;

	WS_NEW(temp, order, n);
	WS_NEW(temp, s.stack, ranges->n);
	WS_NEW(temp, open.stack, ranges->n);
	WS_FORWARD(ws_arena_check(temp, "the ranges of launches", err));
	ws_order_identity(order, n);
	WS_FORWARD(ws_order_by(order, calls->start_ns, n, err));
	WS_FORWARD(ws_order_by_u32(order, calls->thread, n, n, err));
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from; to < n && calls->thread[order[to]] == calls->thread[order[from]];)
			to++;
		WS_FORWARD(attribute_thread(out, calls, order + from, to - from, &s, &open, err));
	}
	return WS_OK;
}

enum ws_status loaded_attribute(const struct loaded_calls *calls,
                                const struct loaded_ranges *ranges, struct loaded_attribution *out,
                                struct ws_err *err)
{
	struct ws_arena temp = {0};
	enum ws_status status = prepare(out, calls, ranges, err);

	WS_THEN(status, attribute(&temp, calls, ranges, out, err));
	ws_arena_free(&temp);
	return status;
}

void loaded_attribution_release(struct loaded_attribution *a)
{
	ws_arena_free(&a->arena);
	free(a->crossings);
	*a = (struct loaded_attribution){0};
}
