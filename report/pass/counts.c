/*
 * Times of kernels and ranges on their way to the digest. Cells and paths are
 * far from each other in memory, and nothing in the join depends on what is
 * counted there: it is put aside, for a thread that has nothing else to do.
 */
#include <stdlib.h>

#include "report/pass/private.h"

enum ws_status ws_pass_counts_begin(struct ws_pass *p, struct ws_err *err)
{
	struct ws_pass_counts *c = &p->counts;

	c->items = malloc((size_t)WS_PASS_BATCHES * WS_PASS_COUNTS * sizeof(*c->items));
	if (!c->items)
		return WS_FAIL_MEMORY(err, "the sums of a trace");
	c->at = c->items;
	c->end = c->items + WS_PASS_COUNTS;
	return ws_digest_init(&c->d, p->m, 0, err);
}

void ws_pass_counts_free(struct ws_pass_counts *c)
{
	free(c->items);
	ws_digest_release(&c->d);
}

static enum ws_status count(struct ws_digest *d, const struct ws_pass_count *c)
{
	if (!c->is_path) {
		const struct ws_digest_kernel kernel = {.dur_ns = c->dur_ns,
		                                        .timed = c->timed,
		                                        .order = c->order};

		if (c->to >= d->ncells)
			WS_FORWARD(ws_digest_reserve_cells(d, (size_t)c->to + 1, NULL));
		return ws_digest_add_kernel(d, c->to, &kernel, NULL);
	}
	if (c->to + 2 >= d->npaths)
		WS_FORWARD(ws_digest_reserve_paths(d, (size_t)c->to + 1, NULL));
	return ws_values_add(&ws_digest_path(d, c->to)->dur_ns, c->dur_ns, &d->values_bytes)
	               ? WS_OK
	               : WS_NO_MEMORY;
}

static void count_some(struct ws_pass_counts *c, size_t batch, size_t n)
{
	const struct ws_pass_count *items = c->items + batch * WS_PASS_COUNTS;

	for (size_t i = 0; i < n; i++)
		WS_THEN(c->status, count(&c->d, &items[i]));
}

void ws_pass_count_batch(void *ctx, size_t n)
{
	struct ws_pass *p = ctx;

	count_some(&p->counts, n % WS_PASS_BATCHES, WS_PASS_COUNTS);
}

void ws_pass_counts_turn(struct ws_pass *p)
{
	struct ws_pass_counts *c = &p->counts;

	if (c->feed) {
		ws_feed_put_aside(c->feed, ++c->given, WS_PASS_BATCHES - 1);
		c->at = c->items + c->given % WS_PASS_BATCHES * WS_PASS_COUNTS;
	} else {
		c->at = c->end - WS_PASS_COUNTS;
		count_some(c, (size_t)(c->at - c->items) / WS_PASS_COUNTS, WS_PASS_COUNTS);
	}
	c->end = c->at + WS_PASS_COUNTS;
}

void ws_pass_counts_leave(struct ws_pass *p)
{
	if (p->counts.feed)
		ws_feed_put_aside(p->counts.feed, p->counts.given, 0);
	p->counts.feed = NULL;
}

enum ws_status ws_pass_counts_end(struct ws_pass *p, struct ws_err *err)
{
	struct ws_pass_counts *c = &p->counts;
	const size_t left = (size_t)(c->end - c->at);
	const size_t batch = (size_t)(c->end - c->items) / WS_PASS_COUNTS - 1;

	count_some(c, batch, WS_PASS_COUNTS - left);
	if (c->status != WS_OK)
		return WS_FAIL_MEMORY(err, "the sums of a trace");
	ws_digest_take_counts(p->d, &c->d);
	return WS_OK;
}
