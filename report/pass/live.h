/*
 * The NVTX ranges that are open, or that a range inside them still waits for.
 * How many there are depends on what is open, not on the length of the trace.
 *
 * Events and calls come in order of time. A range's path is known when it
 * begins as long as ranges of a thread nest; where they do not, and where a
 * range ends on another thread, it must be known ahead when ranges end.
 */
#pragma once

#include <stdbool.h>

#include "report/model/paths.h"
#include "report/model/range_pairs.h"
#include "report/pass/joined.h"

/* What events that are alike have in common, and calls: most rows have that of another row. */
struct ws_event_descriptor {
	uint32_t type; /* enum ws_nvtx_type */
	uint32_t thread, process;
	uint32_t domain, name; /* texts */
	uint32_t payload;      /* row, WS_NONE */
	uint32_t failed;       /* of a call */
};

/* One of them. */
struct ws_live_row {
	uint32_t shape;    /* number of what it is */
	uint32_t recorded; /* text: the name of a push or a start with what its shape leaves out */
	int64_t time_ns;
	uint64_t id; /* of a start and an end */
};

struct ws_open_range {
	int64_t start_ns, end_ns; /* end_ns of a closed one */
	uint64_t number;          /* of its begin: the later, the greater */
	struct ws_range_context *context;
	uint32_t parent;       /* WS_NONE for an outermost one; lives as long as this */
	uint32_t above, below; /* those of its thread that began next, if any, and before, of
	                          those that are open or ended at this moment; below: WS_NONE */
	uint32_t ended;        /* of a closed one: which closed before, see ws_live_thread */
	uint32_t refs;         /* what still needs it: itself while it is open, children */
	uint32_t op;           /* the innermost operation around it, or itself; WS_NONE */
	uint32_t step;         /* number of the step around it, WS_NONE */
	uint32_t recorded;     /* text: its name as recorded */
	uint8_t counted;       /* an operation without one inside */
};

/* What happens to a range; the functions may change the fields from op on, which are those of the
 * range around it when it begins. */
struct ws_live_events {
	/* the first of its context begins; what is not known of the context yet is 0 */
	void (*look)(void *ctx, struct ws_range_context *context);
	/* it begins: all of its context is known */
	void (*begin)(void *ctx, uint32_t range);
	/* its end is known */
	enum ws_status (*close)(void *ctx, uint32_t range, int open, struct ws_err *err);
};

struct ws_live_thread {
	uint32_t last;      /* began last, of those that are open or ended at ended_ns: a call that
	                       ends then lies in these, too */
	uint32_t nlisted;   /* so many are of that list */
	uint32_t ended;     /* ended last, of those that ended at ended_ns */
	uint32_t innermost; /* where ranges nest: is around what begins now. Where they cross: it,
	                       or one that it is in */
	int64_t ended_ns;
	struct ws_range_context *last_context; /* of the range that began last, NULL */
	bool crosses; /* some of its ranges do, at any time, if ends are known */
};

/* When ranges end, known ahead. */
struct ws_live_ends {
	bool known; /* no: they are about to be, and parents do not matter */
	/* range -> the lower, the earlier it ends; WS_NONE: it never does, and of two of those the
	 * one that began last lies in the other */
	uint32_t *rank;
};
static inline bool ws_live_ends_before(const struct ws_live_ends *e, uint64_t a, uint64_t b)
{
	return e->rank[a] != e->rank[b] ? e->rank[a] < e->rank[b] : a > b;
}

/* Set events, their ctx and the arena of contexts, all else zero; free with ws_live_free. */
struct ws_live_ranges {
	const struct ws_live_events *events;
	void *ctx;
	struct ws_arena *arena;
	struct ws_open_range *range;
	size_t nranges, capacity;
	uint32_t *free_slots;
	size_t nfree, free_capacity;
	struct ws_range_pairs pairs;
	struct ws_path_table paths;
	struct ws_range_context **contexts; /* by number, from 1 on */
	size_t ncontexts, contexts_capacity;
	struct ws_idmap context_of; /* parent << 32 | shape -> number */
	struct ws_live_thread *threads;
	size_t nthreads;
	uint64_t begun, open_at_end;
	uint64_t unmatched_pops, unmatched_ends; /* ends without a begin */
	const struct ws_live_ends *ends;         /* NULL: ranges nest */
	/* Ended on another thread, at late_ns. They end after everything that happens on theirs at
	 * that moment. number << 32 | range */
	uint64_t *late;
	size_t nlate, late_capacity;
	int64_t late_ns;
	uint64_t cross_thread; /* so many ended so */
};

/* --- a range begins ----------------------------------------------------------------------- */

/* Room for one more thread, or range. */
void ws_live_add_threads(struct ws_live_ranges *l, uint32_t thread);
void ws_live_make_room(struct ws_live_ranges *l);
/* The context of a range that begins, in t->last_context. parent: the context around it, NULL. */
void ws_live_find_context(struct ws_live_ranges *l, struct ws_live_thread *t,
                          struct ws_range_context *parent, uint32_t shape,
                          const struct ws_event_descriptor *e, int64_t time_ns);

/* What is around the range that begins now, by when it ends. */
uint32_t ws_innermost_open_range(const struct ws_live_ranges *l, const struct ws_live_thread *t);

/* Ranges come in the same order in every layer and step, so the context that followed last time is
 * tried first. */
static inline bool ws_live_guess_context(struct ws_live_thread *t,
                                         const struct ws_range_context *parent, uint32_t shape)
{
	struct ws_range_context *next = t->last_context ? t->last_context->next : NULL;

	if (!next || next->parent != parent || next->shape != shape)
		return false;
	t->last_context = next;
	return true;
}

static inline uint32_t ws_live_begin(struct ws_live_ranges *l, struct ws_live_thread *t,
                                     const struct ws_live_row *row,
                                     const struct ws_event_descriptor *e)
{
	uint32_t parent = l->ends ? ws_innermost_open_range(l, t) : t->innermost, range;
	struct ws_range_context *around = parent == WS_NONE ? NULL : l->range[parent].context;
	struct ws_open_range *r;

	if (!ws_live_guess_context(t, around, row->shape))
		ws_live_find_context(l, t, around, row->shape, e, row->time_ns);
	if (!l->nfree)
		ws_live_make_room(l);
	range = l->free_slots[--l->nfree];
	r = &l->range[range];
	/* field by field: this happens for every range, and not all need a value here */
	r->start_ns = row->time_ns;
	r->number = l->begun++;
	r->context = t->last_context;
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

/* --- … ends, and is forgotten --------------------------------------------------------------- */

static inline void ws_live_drop(struct ws_live_ranges *l, uint32_t range)
{
	while (range != WS_NONE && !--l->range[range].refs) {
		l->free_slots[l->nfree++] = range; /* has room for every range */
		range = l->range[range].parent;
	}
}

/* Nothing begins in it any more, and no call ends in it. */
static inline void ws_live_forget(struct ws_live_ranges *l, struct ws_live_thread *t,
                                  uint32_t range)
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
	ws_live_drop(l, range);
}

/* What ended before now holds no later call. */
static inline void ws_live_forget_ended(struct ws_live_ranges *l, struct ws_live_thread *t,
                                        int64_t now_ns)
{
	if (t->ended_ns == now_ns)
		return;
	while (t->ended != WS_NONE) {
		uint32_t range = t->ended;

		t->ended = l->range[range].ended;
		ws_live_forget(l, t, range);
	}
}

/* events: l->events, as the compiler knows them. */
static inline enum ws_status ws_live_close(struct ws_live_ranges *l,
                                           const struct ws_live_events *events,
                                           struct ws_live_thread *t, uint32_t range,
                                           int64_t time_ns, struct ws_err *err)
{
	struct ws_open_range *r = &l->range[range];

	WS_FAIL_IF(t->innermost != range && !l->ends, err, BUG, "ranges cross, which nobody saw");
	if (t->innermost == range)
		t->innermost = r->parent;
	r->end_ns = t->ended_ns = time_ns;
	r->ended = t->ended;
	t->ended = range;
	return events->close(l->ctx, range, 0, err);
}

/* … on another thread. */
enum ws_status ws_live_close_late(struct ws_live_ranges *l, uint32_t range, int64_t time_ns,
                                  struct ws_err *err);
enum ws_status ws_live_end_late(struct ws_live_ranges *l, struct ws_err *err);

/* It is now, for events and calls. */
static inline enum ws_status ws_live_pass_time(struct ws_live_ranges *l, int64_t now_ns,
                                               struct ws_err *err)
{
	return l->nlate && l->late_ns != now_ns ? ws_live_end_late(l, err) : WS_OK;
}

/* --- the whole ------------------------------------------------------------------------------ */

/* e: the shape of the row. Marks are ignored. */
static inline enum ws_status ws_live_event(struct ws_live_ranges *l,
                                           const struct ws_live_events *events,
                                           const struct ws_live_row *row,
                                           const struct ws_event_descriptor *e, struct ws_err *err)
{
	struct ws_live_thread *t;
	uint32_t range;

	if (e->thread >= l->nthreads)
		ws_live_add_threads(l, e->thread);
	t = &l->threads[e->thread];
	ws_live_forget_ended(l, t, row->time_ns);
	switch (e->type) {
	case WS_NVTX_PUSH:
	case WS_NVTX_START:
		range = ws_live_begin(l, t, row, e);
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
		if (range != WS_NONE && l->range[range].context->thread != e->thread)
			return ws_live_close_late(l, range, row->time_ns, err);
		break;
	default:
		return WS_OK;
	}
	return range == WS_NONE ? WS_OK : ws_live_close(l, events, t, range, row->time_ns, err);
}

/* The innermost range around a call that ended now, WS_NONE = none. Events up to end_ns, this
 * included, have been given. */
uint32_t ws_find_enclosing_range(struct ws_live_ranges *l, uint32_t thread, int64_t start_ns,
                                 int64_t end_ns);
static inline uint32_t ws_live_innermost(struct ws_live_ranges *l, uint32_t thread,
                                         int64_t start_ns, int64_t end_ns)
{
	const struct ws_live_thread *t = thread < l->nthreads ? &l->threads[thread] : NULL;

	/* nearly always it is the one that began last */
	if (t && t->last != WS_NONE && t->ended == WS_NONE &&
	    l->range[t->last].start_ns <= start_ns)
		return t->last;
	return ws_find_enclosing_range(l, thread, start_ns, end_ns);
}
/* The trace ends: so do the ranges that are open. */
enum ws_status ws_live_end(struct ws_live_ranges *l, int64_t end_ns, struct ws_err *err);
void ws_live_free(struct ws_live_ranges *l);
