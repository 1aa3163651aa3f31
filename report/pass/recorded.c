/* Events to the ranges that exports tell. */
#include "report/pass/recorded.h"

#include <stdlib.h>

#include "report/pass/private.h"

#define ROW_BYTES sizeof(struct ws_recorded_range)

struct pairing {
	struct ws_pass *p;
	struct ws_range_pairs pairs; /* their ranges: rows of p->recorded */
};

/* Of a range that begins, or a mark. */
static void add(struct ws_spill *rows, size_t *n, const struct ws_pass_row *event)
{
	const struct ws_recorded_range row = {event->time_ns, event->time_ns, event->id,
	                                      event->recorded, WS_NONE};

	ws_spill_put(rows, ROW_BYTES, (*n)++, &row);
}

static void end(struct ws_recorded_ranges *to, uint32_t range, const struct ws_pass_row *event)
{
	struct ws_recorded_range *row;

	if (range == WS_NONE) {
		to->dangling++;
		return;
	}
	row = ws_spill_row(&to->ranges, ROW_BYTES, range);
	row->end_ns = event->time_ns;
	row->end = event->recorded;
}

static enum ws_status pair(void *ctx, const struct ws_pass_row *row, struct ws_err *err)
{
	struct pairing *pairing = ctx;
	const struct ws_event_descriptor *e = &row->description;
	struct ws_recorded_ranges *to = pairing->p->recorded;
	const uint32_t next = (uint32_t)to->nranges;

	(void)err;
	switch (e->type) {
	case WS_NVTX_PUSH:
		add(&to->ranges, &to->nranges, row);
		ws_range_push(&pairing->pairs, e->thread, e->domain, next);
		return WS_OK;
	case WS_NVTX_START:
		add(&to->ranges, &to->nranges, row);
		ws_range_start(&pairing->pairs, e->process, row->id, next);
		return WS_OK;
	case WS_NVTX_POP:
		end(to, ws_range_pop(&pairing->pairs, e->thread, e->domain), row);
		return WS_OK;
	case WS_NVTX_END:
		end(to, ws_range_end(&pairing->pairs, e->process, row->id), row);
		return WS_OK;
	default:
		add(&to->marks, &to->nmarks, row);
		return WS_OK;
	}
}

static uint32_t rank_of(const void *ranks, const void *row)
{
	const struct ws_recorded_range *range = row;

	return ((const uint32_t *)ranks)[range->begin];
}

enum ws_status ws_pass_pair_recorded(struct ws_pass *p, struct ws_err *err)
{
	const uint64_t events = ws_trace_reader_count(p->l.r, WS_KIND_NVTX);
	struct ws_recorded_ranges *to = p->recorded;
	struct pairing pairing = {.p = p};
	enum ws_status status;

	WS_FAIL_IF(events >= WS_NONE, err, NO_MEMORY,
	           "the trace has %llu NVTX events, more than an export handles",
	           (unsigned long long)events);
	ws_spill_open(&to->ranges, events * ROW_BYTES);
	ws_spill_open(&to->marks, events * ROW_BYTES);
	status = ws_pass_each_event(p, pair, &pairing, err);
	ws_range_pairs_free(&pairing.pairs);
	if (status == WS_OK) {
		/* By the ids of their threads: each event tells the rank of its thread. */
		struct ws_spill_key key = {.n = 0, .key = rank_of};
		struct ws_arena temp = {0};
		uint32_t *order, *rank;
		int64_t *thread;

		WS_NEW(&temp, order, to->nevents);
		WS_NEW(&temp, rank, to->nevents);
		WS_NEW(&temp, thread, to->nevents);
		for (size_t i = 0; i < to->nevents; i++)
			thread[i] = (int64_t)to->events[i].thread;
		ws_order_identity(order, to->nevents);
		ws_order_by(order, thread, to->nevents);
		for (size_t i = 0; i < to->nevents; i++) {
			key.n += !i || thread[order[i]] != thread[order[i - 1]];
			rank[order[i]] = (uint32_t)key.n - 1;
		}
		key.ctx = rank;
		ws_spill_partition(&to->ranges, ROW_BYTES, to->nranges, &key);
		ws_spill_partition(&to->marks, ROW_BYTES, to->nmarks, &key);
		ws_arena_free(&temp);
	}
	return status;
}

void ws_recorded_ranges_free(struct ws_recorded_ranges *ranges)
{
	ws_spill_close(&ranges->ranges);
	ws_spill_close(&ranges->marks);
	free(ranges->events);
	*ranges = (struct ws_recorded_ranges){0};
}
