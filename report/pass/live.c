#include "report/pass/live.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "report/model/nvtx_tree.h"

static enum ws_status add_threads(struct ws_live_ranges *l, uint32_t thread, struct ws_err *err)
{
	size_t before = l->nthreads;

	WS_FORWARD(WS_GROW(l->threads, (size_t)thread + 1, l->nthreads, err));
	memset(l->threads + before, 0, (l->nthreads - before) * sizeof(*l->threads));
	return WS_OK;
}

/* --- the life of a range ----------------------------------------------------------------- */

void ws_live_hold(struct ws_live_ranges *l, uint32_t range)
{
	l->range[range].refs++;
}

void ws_live_drop(struct ws_live_ranges *l, uint32_t range)
{
	while (range != WS_NONE && !--l->range[range].refs) {
		uint32_t parent = l->range[range].parent;

		l->events.finish(l->events.ctx, range);
		l->free_slots[l->nfree++] = range; /* has room for every range */
		range = parent;
	}
}

static enum ws_status new_slot(struct ws_live_ranges *l, uint32_t *range, struct ws_err *err)
{
	if (l->nfree) {
		*range = l->free_slots[--l->nfree];
		return WS_OK;
	}
	if (l->nranges == l->capacity) {
		size_t capacity = l->capacity;

		WS_FORWARD(WS_GROW(l->free_slots, l->nranges + 1, capacity, err));
		WS_FORWARD(WS_GROW(l->range, l->nranges + 1, l->capacity, err));
	}
	*range = (uint32_t)l->nranges++;
	return WS_OK;
}

/* Ranges come in the same order in every layer and step, so the path that followed last time is
 * tried first. */
static enum ws_status find_path(struct ws_live_ranges *l, const struct ws_live *range,
                                uint32_t domain, uint32_t before, struct ws_err *err,
                                uint32_t *path)
{
	uint32_t parent = range->parent == WS_NONE ? WS_NONE : l->range[range->parent].path;
	const struct ws_path want = {parent,       range->name,  domain,
	                             range->depth, range->style, range->start_ns};
	uint32_t *guess = before < l->next_capacity ? &l->next_path[before] : NULL;
	size_t capacity;

	if (guess && *guess != WS_NONE) {
		const struct ws_path *p = &l->paths.paths[*guess];

		if (p->parent == parent && p->name == want.name && p->domain == domain &&
		    p->style == want.style && p->first_ns <= want.first_ns) {
			*path = *guess;
			return WS_OK;
		}
	}
	WS_FORWARD(ws_path_intern(&l->paths, &want, path, err));
	capacity = l->next_capacity;
	while (l->next_capacity < l->paths.npaths) {
		WS_FORWARD(WS_GROW(l->next_path, l->next_capacity + 1, capacity, err));
		memset(l->next_path + l->next_capacity, 0xff,
		       (capacity - l->next_capacity) * sizeof(*l->next_path));
		l->next_capacity = capacity;
	}
	if (before < l->next_capacity)
		l->next_path[before] = *path;
	return WS_OK;
}

static enum ws_status begin_range(struct ws_live_ranges *l, struct ws_live_thread *t,
                                  const struct ws_pass_event *e, uint32_t *out, struct ws_err *err)
{
	struct ws_live *r;
	uint32_t range = 0;

	WS_FORWARD(new_slot(l, &range, err));
	WS_FORWARD(WS_GROW(t->open, t->nopen + 1, t->open_capacity, err));
	WS_FORWARD(WS_GROW(t->ended, t->nopen + t->nended + 1, t->ended_capacity, err));
	r = &l->range[range];
	/* field by field: this happens for every range, and not all need a value here */
	r->start_ns = e->time_ns;
	r->first_ns = INT64_MAX;
	r->last_ns = INT64_MIN;
	r->number = l->begun++;
	r->parent = t->nopen ? t->open[t->nopen - 1] : WS_NONE;
	r->thread = e->thread;
	r->name = e->name;
	r->payload = e->payload;
	r->refs = 1;
	r->op = WS_NONE;
	r->step = WS_NONE;
	r->kernel_name = 0;
	r->style = e->type == WS_NVTX_START ? WS_RANGE_START_END : 0;
	r->counted = 0;
	t->open[t->nopen++] = range;
	*out = range;
	if (r->parent == WS_NONE) {
		r->depth = 0;
	} else {
		r->depth = l->range[r->parent].depth + 1;
		ws_live_hold(l, r->parent);
	}
	if (r->depth >= WS_RANGE_MAX_DEPTH)
		r->path = l->range[r->parent].path;
	else
		WS_FORWARD(find_path(l, r, e->domain, t->last_path, err, &r->path));
	t->last_path = r->path;
	return l->events.begin(l->events.ctx, range, err);
}

/* What ended before now holds no later call. */
static void forget_ended(struct ws_live_ranges *l, struct ws_live_thread *t)
{
	for (size_t i = 0; i < t->nended; i++)
		ws_live_drop(l, t->ended[i]);
	t->nended = 0;
}

static enum ws_status close_range(struct ws_live_ranges *l, struct ws_live_thread *t,
                                  uint32_t range, int64_t time_ns, struct ws_err *err)
{
	struct ws_live *r = &l->range[range];

	if (t->open[t->nopen - 1] != range) {
		l->declined = "ranges of a thread cross";
		return WS_OK;
	}
	t->nopen--;
	r->end_ns = time_ns;
	t->ended_ns = time_ns;
	t->ended[t->nended++] = range;
	return l->events.close(l->events.ctx, range, 0, err);
}

enum ws_status ws_live_event(struct ws_live_ranges *l, const struct ws_pass_event *e,
                             struct ws_err *err)
{
	struct ws_live_thread *t;
	uint32_t range;

	if (e->thread >= l->nthreads)
		WS_FORWARD(add_threads(l, e->thread, err));
	t = &l->threads[e->thread];
	if (t->nended && t->ended_ns != e->time_ns)
		forget_ended(l, t);
	switch (e->type) {
	case WS_NVTX_PUSH:
		WS_FORWARD(begin_range(l, t, e, &range, err));
		return ws_range_push(&l->pairs, e->thread, e->domain, range, err);
	case WS_NVTX_START:
		WS_FORWARD(begin_range(l, t, e, &range, err));
		return ws_range_start(&l->pairs, e->process, e->range_id, range, err);
	case WS_NVTX_POP:
		range = ws_range_pop(&l->pairs, e->thread, e->domain);
		break;
	case WS_NVTX_END:
		range = ws_range_end(&l->pairs, e->process, e->range_id);
		if (range != WS_NONE && l->range[range].thread != e->thread) {
			l->declined = "a range ends on another thread";
			return WS_OK;
		}
		break;
	default:
		return WS_OK;
	}
	return range == WS_NONE ? WS_OK : close_range(l, t, range, e->time_ns, err);
}

enum ws_status ws_live_innermost(struct ws_live_ranges *l, uint32_t thread, int64_t start_ns,
                                 int64_t end_ns, uint32_t *range, struct ws_err *err)
{
	struct ws_live_thread *t;

	*range = WS_NONE;
	if (thread >= l->nthreads)
		WS_FORWARD(add_threads(l, thread, err));
	t = &l->threads[thread];
	for (size_t i = t->nopen; i-- > 0 && *range == WS_NONE;)
		if (l->range[t->open[i]].start_ns <= start_ns)
			*range = t->open[i];
	if (t->nended && t->ended_ns != end_ns)
		forget_ended(l, t);
	for (size_t i = 0; i < t->nended; i++) {
		const struct ws_live *r = &l->range[t->ended[i]];

		if (r->start_ns <= start_ns &&
		    (*range == WS_NONE || r->number > l->range[*range].number))
			*range = t->ended[i];
	}
	return WS_OK;
}

enum ws_status ws_live_end(struct ws_live_ranges *l, int64_t end_ns, struct ws_err *err)
{
	for (size_t i = 0; i < l->nthreads; i++) {
		struct ws_live_thread *t = &l->threads[i];

		forget_ended(l, t);
		while (t->nopen) {
			uint32_t range = t->open[--t->nopen];

			l->range[range].end_ns = end_ns;
			l->open_at_end++;
			WS_FORWARD(l->events.close(l->events.ctx, range, 1, err));
			ws_live_drop(l, range);
		}
	}
	return WS_OK;
}

void ws_live_free(struct ws_live_ranges *l)
{
	for (size_t i = 0; i < l->nthreads; i++) {
		free(l->threads[i].open);
		free(l->threads[i].ended);
	}
	free(l->threads);
	free(l->range);
	free(l->free_slots);
	free(l->next_path);
	ws_range_pairs_free(&l->pairs);
	ws_path_table_free(&l->paths);
	*l = (struct ws_live_ranges){0};
}
