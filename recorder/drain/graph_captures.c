#include "recorder/drain/graph_captures.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"

/* Of a program that captures again and again the newest are enough. */
#define MOST 65536

void ws_graph_captures_release(struct ws_graph_captures *c)
{
	free(c->list);
	*c = (struct ws_graph_captures){0};
}

/* How many changes were at this time or before. */
static size_t changes_until(const struct ws_graph_captures *c, int64_t time_ns)
{
	size_t i;

	WS_COUNT_FIRST(i, c->n, c->list[i].time_ns <= time_ns);
	return i;
}

void ws_graph_captures_change(struct ws_graph_captures *c, int64_t time_ns, int begins)
{
	int32_t open;
	size_t at;

	if (c->n == MOST) {
		memmove(c->list, c->list + MOST / 2, MOST / 2 * sizeof(*c->list));
		c->n = MOST / 2;
	}
	WS_GROW(c->list, c->n + 1, c->size);
	at = changes_until(c, time_ns);
	memmove(&c->list[at + 1], &c->list[at], (c->n - at) * sizeof(*c->list));
	c->list[at] = (struct ws_graph_capture_change){time_ns, begins ? 1 : -1, 0};
	c->n++;
	/* an end whose begin was lost ends nothing */
	open = at ? c->list[at - 1].open : 0;
	for (; at < c->n; at++) {
		open += c->list[at].change;
		open = open < 0 ? 0 : open;
		c->list[at].open = open;
	}
}

bool ws_graph_captures_has(const struct ws_graph_captures *c, int64_t time_ns)
{
	size_t n = changes_until(c, time_ns);

	return n && c->list[n - 1].open;
}
