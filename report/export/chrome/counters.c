/*
 * Counters of the timeline: memory in use, sampled quantities, and how full
 * the kernels that run keep each device.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "report/export/chrome/private.h"

#include "formats/base/grow.h"

/* --- sampled quantities --- */

static void put_samples(struct ws_chrome *ch)
{
	WS_CHROME_EACH(ch, COUNTER, counter, r)
		ch->form->counter(ch, ws_chrome_device(r->device), ws_chrome_text(ch, r->name),
		                  r->time_ns, "value", r->value, 0);
}

/* --- memory --- */

static bool is_on_device(uint64_t memory_kind)
{
	return memory_kind == WS_MEMORY_DEVICE || memory_kind == WS_MEMORY_DEVICE_STATIC ||
	       memory_kind == WS_MEMORY_ARRAY;
}

struct by_time {
	int64_t time_ns;
	uint64_t key; /* row, or device */
	int64_t change;
};

static int compare_by_time(const void *a, const void *b, void *ctx)
{
	const struct by_time *x = a, *y = b;

	(void)ctx;
	WS_ORDER_BY(x->time_ns, y->time_ns);
	return x->key < y->key ? -1 : x->key > y->key;
}

static void put_memory(struct ws_chrome *ch, const struct ws_row_memory *r,
                       const struct ws_map *in_use)
{
	int on_device = is_on_device(r->memory_kind);
	uint64_t pid =
	        on_device ? ws_chrome_device(r->device) : *ws_map_get(&ch->json_pids, r->pid);
	const uint64_t *sum = ws_map_get(in_use, pid);

	if (r->total_allocated_bytes || r->total_reserved_bytes) {
		ch->form->counter(ch, pid, ws_bytes_of("memory allocated by the framework"),
		                  r->time_ns, "bytes", (int64_t)r->total_allocated_bytes, 0);
		ch->form->counter(ch, pid, ws_bytes_of("memory reserved by the framework"),
		                  r->time_ns, "bytes", (int64_t)r->total_reserved_bytes, 0);
	} else {
		ch->form->counter(ch, pid,
		                  ws_bytes_of(on_device ? "device memory allocated since the begin"
		                                        : "host memory allocated since the begin"),
		                  r->time_ns, "bytes", (int64_t)*sum, 0);
	}
}

/* Allocations add, releases subtract; what was allocated before the recording is not known. */
static void put_memories(struct ws_chrome *ch)
{
	size_t n = ch->kind[WS_KIND_MEMORY].n;
	struct ws_map in_use = {0};
	struct by_time *order;

	WS_NEW(&ch->arena, order, n);
	for (size_t i = 0; i < n; i++)
		order[i] = (struct by_time){WS_CHROME_ROW(ch, MEMORY, memory, i)->time_ns, i, 0};
	qsort_r(order, n, sizeof(*order), compare_by_time, NULL);
	for (size_t i = 0; i < n; i++) {
		const struct ws_row_memory *r = WS_CHROME_ROW(ch, MEMORY, memory, order[i].key);
		const uint64_t *before;
		uint64_t pid, sum;

		/* of a thread: what a framework says of its allocator, as it says it */
		if (r->thread && r->op <= WS_MEMORY_OP_OUT_OF_MEMORY)
			ws_chrome_put_memory_mark(ch, r);
		if (r->thread && r->op == WS_MEMORY_OP_OUT_OF_MEMORY)
			continue;
		if (r->op != WS_MEMORY_OP_ALLOC && r->op != WS_MEMORY_OP_FREE) {
			ch->stats->skipped[WS_KIND_MEMORY]++;
			continue;
		}
		ws_chrome_process(ch, r->pid, &pid);
		if (is_on_device(r->memory_kind))
			pid = ws_chrome_device(r->device);
		before = ws_map_get(&in_use, pid);
		sum = before ? *before : 0;
		sum = r->op == WS_MEMORY_OP_ALLOC ? sum + r->bytes : sum - r->bytes;
		ws_map_put(&in_use, pid, sum);
		put_memory(ch, r, &in_use);
	}
	ws_map_free(&in_use);
}

/* --- occupancy --- */

#define PERCENT_DIGITS 3 /* of which sums are exact */
#define PERCENT_ONE    1000

static void collect_changes(struct ws_chrome *ch, struct ws_spill *changes, size_t *n)
{
	for (size_t i = 0; i < ch->nslices; i++) {
		const struct ws_chrome_slice *s = ws_chrome_slice(ch, i);
		const struct ws_config *c;
		struct by_time change;
		int64_t share;

		if (s->kind != WS_KIND_KERNEL || s->end_ns <= s->start_ns)
			continue;
		ws_chrome_config(ch, WS_CHROME_ROW(ch, KERNEL, kernel, s->row)->config, &c);
		if (!c->has_occupancy)
			continue;
		share = (int64_t)(c->occupancy.percent * PERCENT_ONE + 0.5);
		change = (struct by_time){s->start_ns, ch->track[s->track].a, share};
		ws_spill_put(changes, sizeof(change), (*n)++, &change);
		change = (struct by_time){s->end_ns, ch->track[s->track].a, -share};
		ws_spill_put(changes, sizeof(change), (*n)++, &change);
	}
}

/* The kernels' estimates added up, at most 100: kernels side by side fill the device together. */
static void put_changes(struct ws_chrome *ch, struct ws_spill *changes, size_t n,
                        struct ws_map *sums)
{
	const int64_t full = 100 * PERCENT_ONE;

	for (size_t i = 0; i < n; i++) {
		const struct by_time *change = ws_spill_row(changes, sizeof(*change), i);
		const uint64_t *before = ws_map_get(sums, change->key);
		int64_t sum = (before ? (int64_t)*before : 0) + change->change;

		ws_map_put(sums, change->key, (uint64_t)sum);
		/* all changes of a moment make one value */
		if (i + 1 < n && change[1].time_ns == change->time_ns &&
		    change[1].key == change->key)
			continue;
		ch->form->counter(ch, ws_chrome_device(change->key),
		                  ws_bytes_of("est. achieved occupancy of running kernels"),
		                  change->time_ns, "%", sum > full ? full : sum, PERCENT_DIGITS);
	}
}

static void put_occupancy(struct ws_chrome *ch)
{
	struct ws_spill changes;
	struct ws_map sums = {0};
	size_t n = 0;

	ws_spill_open(&changes, 2 * ch->kind[WS_KIND_KERNEL].n * sizeof(struct by_time));
	collect_changes(ch, &changes, &n);
	ws_spill_sort(&changes, sizeof(struct by_time), n, compare_by_time, NULL);
	put_changes(ch, &changes, n, &sums);
	ws_map_free(&sums);
	ws_spill_close(&changes);
}

void ws_chrome_put_counters(struct ws_chrome *ch)
{
	put_samples(ch);
	put_memories(ch);
	put_occupancy(ch);
}
