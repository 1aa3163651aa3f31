#include "report/pass/live.h"

#include <stdlib.h>

#include "formats/base/grow.h"
#include "report/model/nvtx_tree.h"

enum ws_status ws_live_add_threads(struct ws_live_ranges *l, uint32_t thread, struct ws_err *err)
{
	size_t before = l->nthreads;

	WS_FORWARD(WS_GROW(l->threads, (size_t)thread + 1, l->nthreads, err));
	for (; before < l->nthreads; before++)
		l->threads[before] = (struct ws_live_thread){.last_family = WS_NONE};
	return WS_OK;
}

enum ws_status ws_live_make_room(struct ws_live_ranges *l, struct ws_live_thread *t,
                                 struct ws_err *err)
{
	size_t slots = l->capacity, n = t->nopen + t->nended + 1;

	WS_FORWARD(WS_GROW(t->ended, n, t->ended_capacity, err));
	WS_FORWARD(WS_GROW(t->open, n, t->open_capacity, err));
	if (l->nfree)
		return WS_OK;
	if (l->nranges == l->capacity) {
		WS_FORWARD(WS_GROW(l->free_slots, l->nranges + 1, slots, err));
		WS_FORWARD(WS_GROW(l->range, l->nranges + 1, l->capacity, err));
	}
	l->free_slots[l->nfree++] = (uint32_t)l->nranges++;
	return WS_OK;
}

static enum ws_status add_family(struct ws_live_ranges *l, uint32_t parent, uint32_t shape,
                                 const struct ws_live_shape *e, int64_t time_ns, uint32_t *number,
                                 struct ws_err *err)
{
	const struct ws_live_family *around = parent == WS_NONE ? NULL : &l->known[parent].family;
	struct ws_live_family is = {.depth = around ? around->depth + 1 : 0,
	                            .thread = e->thread,
	                            .name = e->name,
	                            .payload = e->payload,
	                            .config = WS_NONE,
	                            .style = e->type == WS_NVTX_START ? WS_RANGE_START_END : 0};
	const struct ws_path path = {
	        around ? around->path : WS_NONE, e->name, e->domain, is.depth, is.style, time_ns};

	if (is.depth >= WS_RANGE_MAX_DEPTH)
		is.path = around->path;
	else
		WS_FORWARD(ws_path_intern(&l->paths, &path, &is.path, err));
	WS_FORWARD(l->events->look(l->ctx, &is, around, err));
	WS_FORWARD(WS_GROW(l->known, l->nknown + 1, l->known_capacity, err));
	*number = (uint32_t)l->nknown++;
	l->known[*number] = (struct ws_live_known){parent, shape, WS_NONE, is};
	return ws_idmap_put(&l->family_of, (uint64_t)parent << 32 | shape, *number, err);
}

enum ws_status ws_live_find_family(struct ws_live_ranges *l, struct ws_live_thread *t,
                                   uint32_t parent, uint32_t shape, const struct ws_live_shape *e,
                                   int64_t time_ns, struct ws_err *err)
{
	uint32_t before = t->last_family;
	uint32_t number = ws_idmap_get(&l->family_of, (uint64_t)parent << 32 | shape);

	if (number == WS_NONE)
		WS_FORWARD(add_family(l, parent, shape, e, time_ns, &number, err));
	if (before != WS_NONE)
		l->known[before].next = number;
	t->last_family = number;
	return WS_OK;
}

uint32_t ws_live_search(struct ws_live_ranges *l, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
	struct ws_live_thread *t;
	uint32_t range = WS_NONE;

	if (thread >= l->nthreads)
		return WS_NONE;
	t = &l->threads[thread];
	for (size_t i = t->nopen; i-- > 0 && range == WS_NONE;)
		if (l->range[t->open[i]].start_ns <= start_ns)
			range = t->open[i];
	ws_live_forget_ended(l, l->events, t, end_ns);
	for (size_t i = 0; i < t->nended; i++) {
		const struct ws_live *r = &l->range[t->ended[i]];

		if (r->start_ns <= start_ns &&
		    (range == WS_NONE || r->number > l->range[range].number))
			range = t->ended[i];
	}
	return range;
}

enum ws_status ws_live_end(struct ws_live_ranges *l, int64_t end_ns, struct ws_err *err)
{
	for (size_t i = 0; i < l->nthreads; i++) {
		struct ws_live_thread *t = &l->threads[i];

		while (t->nended)
			ws_live_drop(l, l->events, t->ended[--t->nended]);
		while (t->nopen) {
			uint32_t range = t->open[--t->nopen];

			l->range[range].end_ns = end_ns;
			l->open_at_end++;
			WS_FORWARD(l->events->close(l->ctx, range, 1, err));
			ws_live_drop(l, l->events, range);
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
	free(l->known);
	ws_idmap_free(&l->family_of);
	ws_range_pairs_free(&l->pairs);
	ws_path_table_free(&l->paths);
	*l = (struct ws_live_ranges){0};
}
