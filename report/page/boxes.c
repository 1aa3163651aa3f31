#include "report/page/boxes.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"

/* A box of many reaches over so many times the shortest box. */
#define MOST_TIMES 4

void ws_timeline_free(struct ws_timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->nlanes; i++)
		free(timeline->lane[i].box);
	free(timeline->lane);
	free(timeline->text);
	ws_arena_free(&timeline->arena);
	free(timeline);
}

size_t ws_boxes_lane(struct ws_boxes *b, const struct ws_lane_key *key, bool *is_new)
{
	struct ws_known_lane *known =
	        &b->known[(key->kind + 5 * key->device + 3 * (key->number >> 1)) % 16];
	struct ws_timeline *out = b->out;
	uint64_t id;

	*is_new = false;
	if (known->lane && !memcmp(&known->key, key, sizeof(*key)))
		return known->lane - 1;
	id = ws_strtab_add(&b->keys, key, sizeof(*key));
	*known = (struct ws_known_lane){*key, id};
	*is_new = id > out->nlanes;
	if (*is_new) {
		WS_GROW(out->lane, id, out->lanes_capacity);
		WS_GROW(b->lane, id, b->lanes_capacity);
		out->lane[out->nlanes] =
		        (struct ws_timeline_lane){.kind = (enum ws_timeline_kind)key->kind};
		/* threads first, each with its operations; then device by device its streams,
		 * copies and idle time */
		if (key->kind == WS_TIMELINE_THREAD || key->kind == WS_TIMELINE_OPS)
			b->lane[out->nlanes] = (struct ws_boxes_lane){
			        .order = {-1, (int64_t)(key->number >> 1), key->kind}};
		else
			b->lane[out->nlanes] = (struct ws_boxes_lane){
			        .order = {key->device, key->kind, (int64_t)(key->number >> 1)}};
		out->nlanes++;
	}
	return (size_t)id - 1;
}

static void push(struct ws_boxes *b, size_t lane, const struct ws_timeline_box *box)
{
	struct ws_timeline_lane *l = &b->out->lane[lane];

	WS_GROW(l->box, l->n + 1, l->capacity);
	l->box[l->n++] = *box;
	b->nboxes++;
	if (box->depth >= l->depths)
		l->depths = (uint16_t)(box->depth + 1);
}

static void close_box(struct ws_boxes *b, size_t lane, struct ws_open_box *open)
{
	size_t most = 0;

	if (!open->box.count)
		return;
	for (size_t c = 1; c < sizeof(open->colour_ns) / sizeof(*open->colour_ns); c++)
		if (open->colour_ns[c] > open->colour_ns[most])
			most = c;
	open->box.colour = (uint8_t)most;
	push(b, lane, &open->box);
	*open = (struct ws_open_box){0};
}

static struct ws_open_box *open_at(struct ws_boxes *b, size_t lane, size_t depth)
{
	struct ws_boxes_lane *l = &b->lane[lane];

	if (depth >= l->ndepths) {
		l->open = ws_xreallocarray(l->open, depth + 1, sizeof(*l->open));
		memset(&l->open[l->ndepths], 0, (depth + 1 - l->ndepths) * sizeof(*l->open));
		l->ndepths = depth + 1;
	}
	return &l->open[depth];
}

void ws_boxes_add(struct ws_boxes *b, size_t lane, const struct ws_timeline_box *box)
{
	struct ws_open_box *open;
	const int64_t end_ns = box->start_ns + box->dur_ns;
	int64_t open_end_ns;

	if (!b->shortest_ns) {
		push(b, lane, box);
		return;
	}
	open = open_at(b, lane, box->depth);
	open_end_ns = open->box.start_ns + open->box.dur_ns;
	if (open->box.count &&
	    (!ws_boxes_is_short(b, box->dur_ns) || box->start_ns - open_end_ns >= b->shortest_ns ||
	     end_ns - open->box.start_ns > MOST_TIMES * b->shortest_ns))
		close_box(b, lane, open);
	if (!ws_boxes_is_short(b, box->dur_ns)) {
		push(b, lane, box);
		return;
	}
	if (!open->box.count)
		open->box = *box;
	else {
		/* it is of many: nothing that only one of them has may stay */
		open->box = (struct ws_timeline_box){.start_ns = open->box.start_ns,
		                                     .dur_ns = open->box.dur_ns,
		                                     .busy_ns = open->box.busy_ns + box->busy_ns,
		                                     .count = open->box.count + 1,
		                                     .call_ns = -1,
		                                     .call_dur_ns = -1,
		                                     .depth = box->depth};
		if (end_ns > open_end_ns)
			open->box.dur_ns = end_ns - open->box.start_ns;
	}
	open->colour_ns[box->colour] += box->busy_ns + 1;
}

/* --- the end ---------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct ws_timeline_box *x = a, *y = b;

	WS_ORDER_BY(x->start_ns, y->start_ns);
	WS_ORDER_BY(x->depth, y->depth);
	WS_ORDER_BY(y->dur_ns, x->dur_ns);
	return 0;
}

struct placed {
	struct ws_timeline_lane lane;
	int64_t order[3];
	size_t input;
};

static int by_order(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	for (int i = 0; i < 3; i++)
		WS_ORDER_BY(x->order[i], y->order[i]);
	WS_ORDER_BY(x->input, y->input);
	return 0;
}

static void order_lanes(struct ws_boxes *b)
{
	struct ws_timeline *out = b->out;
	struct placed *placed = ws_xarray(out->nlanes, sizeof(*placed));

	for (size_t i = 0; i < out->nlanes; i++) {
		placed[i] = (struct placed){.lane = out->lane[i], .input = i};
		memcpy(placed[i].order, b->lane[i].order, sizeof(placed[i].order));
	}
	qsort(placed, out->nlanes, sizeof(*placed), by_order);
	for (size_t i = 0; i < out->nlanes; i++)
		out->lane[i] = placed[i].lane;
	free(placed);
}

void ws_boxes_end(struct ws_boxes *b)
{
	for (size_t i = 0; i < b->out->nlanes; i++) {
		struct ws_timeline_lane *l = &b->out->lane[i];

		for (size_t depth = 0; depth < b->lane[i].ndepths; depth++)
			close_box(b, i, &b->lane[i].open[depth]);
		if (l->n)
			qsort(l->box, l->n, sizeof(*l->box), by_start);
	}
	if (b->out->nlanes)
		order_lanes(b);
}

void ws_boxes_clear(struct ws_boxes *b)
{
	for (size_t i = 0; i < b->out->nlanes; i++) {
		free(b->out->lane[i].box);
		free(b->lane[i].open);
	}
	ws_strtab_free(&b->keys);
	memset(b->known, 0, sizeof(b->known));
	b->out->nlanes = 0;
	b->nboxes = 0;
}

void ws_boxes_free(struct ws_boxes *b)
{
	for (size_t i = 0; i < b->out->nlanes; i++)
		free(b->lane[i].open);
	free(b->lane);
	ws_strtab_free(&b->keys);
}
