#include "report/pass/live.h"

#include <stdlib.h>

#include "formats/base/grow.h"

void ws_live_add_threads(struct ws_live_ranges *l, uint32_t thread)
{
	size_t before = l->nthreads;

	WS_GROW(l->threads, (size_t)thread + 1, l->nthreads);
	for (; before < l->nthreads; before++)
		l->threads[before] = (struct ws_live_thread){.last = WS_NONE,
		                                             .ended = WS_NONE,
		                                             .innermost = WS_NONE};
}

void ws_live_make_room(struct ws_live_ranges *l)
{
	size_t slots = l->capacity;

	if (l->nranges == l->capacity) {
		WS_GROW(l->free_slots, l->nranges + 1, slots);
		WS_GROW(l->range, l->nranges + 1, l->capacity);
	}
	l->free_slots[l->nfree++] = (uint32_t)l->nranges++;
}

static struct ws_range_context *add_context(struct ws_live_ranges *l,
                                            struct ws_range_context *parent, uint32_t shape,
                                            const struct ws_event_descriptor *e, int64_t time_ns)
{
	struct ws_range_context *context;
	struct ws_path path = {.parent = parent ? parent->path : WS_NONE,
	                       .name = e->name,
	                       .domain = e->domain,
	                       .first_ns = time_ns};

	WS_GROW(l->contexts, l->ncontexts + 1, l->contexts_capacity);
	WS_NEW(l->arena, context, 1);
	l->contexts[l->ncontexts++] = context;
	*context = (struct ws_range_context){
	        .parent = parent,
	        .number = (uint32_t)l->ncontexts,
	        .shape = shape,
	        .depth = parent ? parent->depth + 1 : 0,
	        .thread = e->thread,
	        .process = e->process,
	        .name = e->name,
	        .payload = e->payload,
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

void ws_live_find_context(struct ws_live_ranges *l, struct ws_live_thread *t,
                          struct ws_range_context *parent, uint32_t shape,
                          const struct ws_event_descriptor *e, int64_t time_ns)
{
	const uint64_t key = (uint64_t)(parent ? parent->number : 0) << 32 | shape;
	const uint32_t number = ws_idmap_get(&l->context_of, key);
	struct ws_range_context *context;

	if (number == WS_NONE) {
		context = add_context(l, parent, shape, e, time_ns);
		ws_idmap_put(&l->context_of, key, context->number);
	} else {
		context = l->contexts[number - 1];
	}
	if (t->last_context)
		t->last_context->next = context;
	t->last_context = context;
}

/*
 * Those around the range that began last, outwards, are all that can hold a
 * later one: any other ended before one of these, which began after it. And
 * what ends before the new one ends cannot hold a later one either.
 */
uint32_t ws_innermost_open_range(const struct ws_live_ranges *l, const struct ws_live_thread *t)
{
	uint32_t range = l->ends->known ? t->innermost : WS_NONE;

	while (range != WS_NONE && ws_live_ends_before(l->ends, l->range[range].number, l->begun))
		range = l->range[range].parent;
	return range;
}

uint32_t ws_find_enclosing_range(struct ws_live_ranges *l, uint32_t thread, int64_t start_ns,
                                 int64_t end_ns)
{
	struct ws_live_thread *t;
	uint32_t range;

	if (thread >= l->nthreads)
		return WS_NONE;
	t = &l->threads[thread];
	ws_live_forget_ended(l, t, end_ns);
	for (range = t->last; range != WS_NONE && l->range[range].start_ns > start_ns;)
		range = l->range[range].below;
	return range;
}

enum ws_status ws_live_close_late(struct ws_live_ranges *l, uint32_t range, int64_t time_ns,
                                  struct ws_err *err)
{
	WS_FAIL_IF(!l->ends, err, BUG, "ranges end on other threads, which nobody saw");
	WS_GROW(l->late, l->nlate + 1, l->late_capacity);
	l->late[l->nlate++] = l->range[range].number << 32 | range;
	l->late_ns = time_ns;
	l->cross_thread++;
	return WS_OK;
}

static int began_first(const void *pa, const void *pb)
{
	return ws_order_compare(*(const uint64_t *)pa, *(const uint64_t *)pb);
}

enum ws_status ws_live_end_late(struct ws_live_ranges *l, struct ws_err *err)
{
	ws_sort(l->late, l->nlate, sizeof(*l->late), began_first);
	while (l->nlate) {
		const uint32_t range = (uint32_t)l->late[--l->nlate];
		struct ws_live_thread *t = &l->threads[l->range[range].context->thread];

		if (t->innermost == range)
			t->innermost = l->range[range].parent;
		l->range[range].end_ns = l->late_ns;
		WS_FORWARD(l->events->close(l->ctx, range, 0, err));
		ws_live_forget(l, t, range);
	}
	return WS_OK;
}

enum ws_status ws_live_end(struct ws_live_ranges *l, int64_t end_ns, struct ws_err *err)
{
	WS_FORWARD(ws_live_end_late(l, err));
	for (size_t i = 0; i < l->nthreads; i++) {
		struct ws_live_thread *t = &l->threads[i];

		ws_live_forget_ended(l, t, INT64_MAX);
		while (t->last != WS_NONE) {
			uint32_t range = t->last;

			l->range[range].end_ns = end_ns;
			l->open_at_end++;
			WS_FORWARD(l->events->close(l->ctx, range, 1, err));
			ws_live_forget(l, t, range);
		}
	}
	return WS_OK;
}

void ws_live_free(struct ws_live_ranges *l)
{
	free(l->threads);
	free(l->late);
	free(l->range);
	free(l->free_slots);
	free(l->contexts);
	ws_idmap_free(&l->context_of);
	ws_range_pairs_free(&l->pairs);
	ws_path_table_free(&l->paths);
	*l = (struct ws_live_ranges){0};
}
