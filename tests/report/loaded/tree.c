#include "tests/report/loaded/tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/range_pairs.h"

/* What only the building needs. Events are numbered by `seq`, their place in (thread, time) order.
 */
struct builder {
	struct loaded_ranges *r;
	const struct loaded_events *ev;
	uint32_t *order;    /* seq -> event */
	uint32_t *of_event; /* start: its range; end: its seq */
	struct ws_range_pairs pairs;
	uint32_t *end_seq; /* range -> seq of its end; WS_NONE where that is on another thread */
	uint32_t *start_seq;
	struct ws_path_table paths;
	struct ws_arena temp;
};

void loaded_ranges_release(struct loaded_ranges *r)
{
	ws_arena_free(&r->arena);
	free(r->paths);
	*r = (struct loaded_ranges){0};
}

static enum ws_status allocate(struct builder *b, struct ws_err *err)
{
	const struct loaded_events *ev = b->ev;
	struct loaded_ranges *r = b->r;
	size_t n = 0, threads = (size_t)ev->nthreads + 1;

	for (size_t i = 0; i < ev->n; i++)
		n += ev->type[i] == WS_NVTX_PUSH || ev->type[i] == WS_NVTX_START;
	WS_NEW(&r->arena, r->start_ns, n);
	WS_NEW(&r->arena, r->end_ns, n);
	WS_NEW(&r->arena, r->thread, n);
	WS_NEW(&r->arena, r->name, n);
	WS_NEW(&r->arena, r->recorded, n);
	WS_NEW(&r->arena, r->parent, n);
	WS_NEW(&r->arena, r->depth, n);
	WS_NEW(&r->arena, r->path, n);
	WS_NEW(&r->arena, r->payload, n);
	WS_NEW(&r->arena, r->flags, n);
	WS_NEW(&r->arena, r->thread_first, threads);
	WS_NEW(&r->arena, r->thread_crosses, threads);
	WS_NEW(&b->temp, b->order, ev->n);
	WS_NEW(&b->temp, b->of_event, ev->n);
	WS_NEW(&b->temp, b->end_seq, n);
	WS_NEW(&b->temp, b->start_seq, n);
	r->nthreads = ev->nthreads;
	WS_FORWARD(ws_arena_check(&r->arena, "a tree of ranges", err));
	return ws_arena_check(&b->temp, "a tree of ranges", err);
}

static uint32_t new_range(struct builder *b, uint32_t event, uint32_t seq)
{
	struct loaded_ranges *r = b->r;
	uint32_t i = (uint32_t)r->n++;

	r->start_ns[i] = b->ev->time_ns[event];
	r->end_ns[i] = b->ev->end_ns;
	r->thread[i] = b->ev->thread[event];
	r->recorded[i] = b->ev->name[event];
	r->name[i] = b->ev->steady ? b->ev->steady[r->recorded[i]] : r->recorded[i];
	r->payload[i] = b->ev->payload[event];
	r->flags[i] = LOADED_OPEN;
	b->start_seq[i] = seq;
	b->end_seq[i] = WS_NONE; /* after every event */
	return i;
}

static void end_range(struct builder *b, uint32_t range, int64_t time_ns, uint32_t seq)
{
	b->r->end_ns[range] = time_ns;
	b->r->flags[range] &= (uint8_t)~LOADED_OPEN;
	b->end_seq[range] = seq;
}

/* Make all ranges in their final order; pair push with pop. */
static enum ws_status pair_pushes(struct builder *b, struct ws_err *err)
{
	const struct loaded_events *ev = b->ev;

	for (uint32_t seq = 0; seq < ev->n; seq++) {
		uint32_t e = b->order[seq], thread = ev->thread[e], range;

		switch (ev->type[e]) {
		case WS_NVTX_PUSH:
			range = new_range(b, e, seq);
			WS_FORWARD(ws_range_push(&b->pairs, thread, ev->domain[e], range, err));
			break;
		case WS_NVTX_POP:
			range = ws_range_pop(&b->pairs, thread, ev->domain[e]);
			if (range != WS_NONE)
				end_range(b, range, ev->time_ns[e], seq);
			b->r->unmatched_pops += range == WS_NONE;
			break;
		case WS_NVTX_START:
			b->of_event[e] = range = new_range(b, e, seq);
			b->r->flags[range] |= LOADED_START_END;
			break;
		case WS_NVTX_END:
			b->of_event[e] = seq;
			break;
		default:
			break; /* marks are no ranges */
		}
	}
	return WS_OK;
}

static enum ws_status pair_start(struct builder *b, uint32_t e, struct ws_err *err)
{
	const struct loaded_events *ev = b->ev;
	uint32_t thread = ev->thread[e], process = ev->process_of[thread], range;
	int crosses;

	if (ev->type[e] == WS_NVTX_START)
		return ws_range_start(&b->pairs, process, ev->range_id[e], b->of_event[e], err);
	range = ws_range_end(&b->pairs, process, ev->range_id[e]);
	b->r->unmatched_ends += range == WS_NONE;
	if (range == WS_NONE)
		return WS_OK;
	crosses = b->r->thread[range] != thread;
	end_range(b, range, ev->time_ns[e], crosses ? WS_NONE : b->of_event[e]);
	if (crosses)
		b->r->flags[range] |= LOADED_CROSS_THREAD;
	b->r->cross_thread += (uint64_t)crosses;
	return WS_OK;
}

/* By time over all threads, as any thread may end a range. */
static enum ws_status pair_starts(struct builder *b, struct ws_err *err)
{
	const struct loaded_events *ev = b->ev;
	uint32_t *rows;
	size_t n = 0;

	for (size_t i = 0; i < ev->n; i++)
		n += ev->type[i] == WS_NVTX_START || ev->type[i] == WS_NVTX_END;
	if (!n)
		return WS_OK;
	WS_NEW(&b->temp, rows, n);
	WS_FORWARD(ws_arena_check(&b->temp, "a tree of ranges", err));
	n = 0;
	for (uint32_t i = 0; i < ev->n; i++)
		if (ev->type[i] == WS_NVTX_START || ev->type[i] == WS_NVTX_END)
			rows[n++] = i;
	WS_FORWARD(ws_order_by(rows, ev->time_ns, n, err));
	for (size_t i = 0; i < n; i++)
		WS_FORWARD(pair_start(b, rows[i], err));
	return WS_OK;
}

/* Does range a end before range b does? Both lie on one thread. */
static bool ends_before(const struct builder *b, uint32_t x, uint32_t y)
{
	const int64_t *end = b->r->end_ns;

	if (end[x] != end[y])
		return end[x] < end[y];
	if (b->end_seq[x] != b->end_seq[y])
		return b->end_seq[x] < b->end_seq[y];
	return x > y; /* both end after every event: the later one lies inside */
}

/* Did range x end before range y began? */
static bool over_before(const struct builder *b, uint32_t x, uint32_t y)
{
	int64_t end = b->r->end_ns[x], start = b->r->start_ns[y];

	return end != start ? end < start : b->end_seq[x] < b->start_seq[y];
}

static enum ws_status set_path(struct builder *b, uint32_t range, uint32_t parent_path,
                               struct ws_err *err)
{
	struct loaded_ranges *r = b->r;
	const struct ws_path path = {.parent = parent_path,
	                             .name = r->name[range],
	                             .domain = b->ev->domain[b->order[b->start_seq[range]]],
	                             .depth = r->depth[range],
	                             .style = r->flags[range] & LOADED_START_END,
	                             .first_ns = r->start_ns[range]};

	return ws_path_intern(&b->paths, &path, &r->path[range], err);
}

/*
 * Parents, by a stack that holds, outermost first, only ranges that can still
 * contain a later one: each ends later than the one above it. A range that
 * ends before the new one cannot be the answer for any later range either,
 * because the new one began later and ends later. So each range goes in and
 * out once.
 */
static enum ws_status find_parents(struct builder *b, struct ws_err *err)
{
	struct loaded_ranges *r = b->r;
	size_t height = 0;
	uint32_t *stack;

	WS_NEW(&b->temp, stack, r->n);
	WS_FORWARD(ws_arena_check(&b->temp, "a tree of ranges", err));
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t parent;

		if (i && r->thread[i] != r->thread[i - 1])
			height = 0;
		while (height && ends_before(b, stack[height - 1], i)) {
			height--;
			if (!over_before(b, stack[height], i))
				r->thread_crosses[r->thread[i]] = 1;
		}
		parent = height ? stack[height - 1] : WS_NONE;
		r->parent[i] = parent;
		r->depth[i] = parent == WS_NONE ? 0 : r->depth[parent] + 1;
		stack[height++] = i;
		r->open += (r->flags[i] & LOADED_OPEN) != 0;
		if (r->depth[i] >= WS_RANGE_MAX_DEPTH) {
			r->path[i] = r->path[parent];
			r->folded++;
			continue;
		}
		WS_FORWARD(set_path(b, i, parent == WS_NONE ? WS_NONE : r->path[parent], err));
	}
	return WS_OK;
}

static void index_threads(struct loaded_ranges *r)
{
	uint32_t t = 0;

	for (uint32_t i = 0; i < r->n; i++)
		while (t <= r->thread[i])
			r->thread_first[t++] = i;
	while (t <= r->nthreads)
		r->thread_first[t++] = (uint32_t)r->n;
}

static enum ws_status build(struct builder *b, struct ws_err *err)
{
	const struct loaded_events *ev = b->ev;

	WS_FAIL_IF(ev->n >= WS_NONE, err, NO_MEMORY,
	           "%zu NVTX events are more than a report handles", ev->n);
	WS_FORWARD(allocate(b, err));
	ws_order_identity(b->order, ev->n);
	WS_FORWARD(ws_order_by(b->order, ev->time_ns, ev->n, err));
	WS_FORWARD(ws_order_by_u32(b->order, ev->thread, ev->n, ev->n, err));
	WS_FORWARD(pair_pushes(b, err));
	WS_FORWARD(pair_starts(b, err));
	WS_FORWARD(find_parents(b, err));
	index_threads(b->r);
	return WS_OK;
}

enum ws_status loaded_ranges_build(struct loaded_ranges *out, const struct loaded_events *events,
                                   struct ws_err *err)
{
	struct builder b = {.r = out, .ev = events};
	enum ws_status status;

	*out = (struct loaded_ranges){0};
	status = build(&b, err);
	ws_arena_free(&b.temp);
	ws_range_pairs_free(&b.pairs);
	ws_path_table_give(&b.paths, &out->paths, &out->npaths);
	return status;
}
