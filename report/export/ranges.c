#include "report/export/ranges.h"

#include <stdlib.h>

#include "formats/base/grow.h"
#include "report/model/range_pairs.h"

#define FAR_RANGES 1024u /* behind the newest: their page was let go of */
#define PAGE_BYTES 4096u

struct thread {
	uint64_t id;
	int64_t last_ns;
	uint32_t rank;         /* among the threads, by id */
	size_t marks, mark_at; /* how many; where the next goes */
};

struct pairing {
	struct ws_export_ranges *out;
	const struct ws_records *threads;
	struct ws_range_pairs pairs;
	struct ws_idmap thread_numbers, domain_numbers; /* ids -> numbers */
	struct thread *thread;                          /* by number */
	size_t nthreads, threads_capacity, marks_capacity;
	int64_t last_ns; /* of starts and ends, which pair up over all threads */
	bool is_unordered;
};

static enum ws_status number_of(struct ws_idmap *numbers, uint64_t id, uint32_t *number,
                                struct ws_err *err)
{
	*number = ws_idmap_get(numbers, id);
	if (*number != WS_NONE)
		return WS_OK;
	*number = (uint32_t)numbers->map.n;
	return ws_idmap_put(numbers, id, *number, err);
}

static enum ws_status thread_of(struct pairing *p, uint64_t id, uint32_t *number,
                                struct ws_err *err)
{
	WS_FORWARD(number_of(&p->thread_numbers, id, number, err));
	if (*number < p->nthreads)
		return WS_OK;
	WS_FORWARD(WS_GROW(p->thread, p->nthreads + 1, p->threads_capacity, err));
	p->thread[p->nthreads++] = (struct thread){.id = id, .last_ns = INT64_MIN};
	return WS_OK;
}

/* --- one event after the other --- */

static enum ws_status begin_range(struct pairing *p, const struct ws_row_nvtx *e, uint8_t flags,
                                  struct ws_err *err)
{
	struct ws_export_ranges *out = p->out;

	WS_FORWARD(ws_spill_reserve(&out->room, (out->n + 1) * sizeof(*out->range), err));
	out->range[out->n++] = (struct ws_export_range){
	        .start_ns = e->time_ns,
	        .end_ns = e->time_ns,
	        .thread = e->thread,
	        .end_thread = e->thread,
	        .domain = e->domain,
	        .name = e->name,
	        .range = e->range,
	        .category = e->category,
	        .color = e->color,
	        .payload = e->payload,
	        .flags = flags | WS_EXPORT_RANGE_OPEN,
	};
	ws_spill_used(&out->room, sizeof(*out->range));
	return WS_OK;
}

/* number: of the range, WS_NONE when it has no begin. */
static void end_range(struct pairing *p, const struct ws_row_nvtx *e, uint32_t number)
{
	struct ws_export_range *range = &p->out->range[number];

	if (number == WS_NONE) {
		p->out->dangling++;
		return;
	}
	range->end_ns = e->time_ns < range->start_ns ? range->start_ns : e->time_ns;
	range->end_thread = e->thread;
	range->flags &= (uint8_t)~WS_EXPORT_RANGE_OPEN;
	if (p->out->n - number > FAR_RANGES)
		ws_spill_used(&p->out->room, PAGE_BYTES);
}

static enum ws_status on_push_pop(struct pairing *p, const struct ws_row_nvtx *e, uint32_t thread,
                                  struct ws_err *err)
{
	const uint32_t range = (uint32_t)p->out->n;
	uint32_t domain;

	WS_FORWARD(number_of(&p->domain_numbers, e->domain, &domain, err));
	if (e->type == WS_NVTX_PUSH) {
		WS_FORWARD(begin_range(p, e, 0, err));
		return ws_range_push(&p->pairs, thread, domain, range, err);
	}
	end_range(p, e, ws_range_pop(&p->pairs, thread, domain));
	return WS_OK;
}

/* Any thread may end a range, and ids may be used again. */
static enum ws_status on_start_end(struct pairing *p, const struct ws_row_nvtx *e,
                                   struct ws_err *err)
{
	const struct ws_row_thread *t = ws_records_find(p->threads, e->thread);
	const uint64_t pid = t ? t->pid : 0;
	const uint32_t range = (uint32_t)p->out->n;

	p->is_unordered |= e->time_ns < p->last_ns;
	p->last_ns = e->time_ns;
	if (e->type == WS_NVTX_START) {
		WS_FORWARD(begin_range(p, e, WS_EXPORT_RANGE_START_END, err));
		return ws_range_start(&p->pairs, pid, e->range, range, err);
	}
	end_range(p, e, ws_range_end(&p->pairs, pid, e->range));
	return WS_OK;
}

/* Events of a thread in order of time, starts and ends in that of all threads; else they wait. */
static enum ws_status on_event(void *ctx, const void *row, struct ws_err *err)
{
	const struct ws_row_nvtx *e = row;
	struct pairing *p = ctx;
	uint32_t thread;

	if (p->is_unordered)
		return WS_OK;
	WS_FORWARD(thread_of(p, e->thread, &thread, err));
	p->is_unordered = e->time_ns < p->thread[thread].last_ns;
	p->thread[thread].last_ns = e->time_ns;
	switch (e->type) {
	case WS_NVTX_PUSH:
	case WS_NVTX_POP:
		return on_push_pop(p, e, thread, err);
	case WS_NVTX_START:
	case WS_NVTX_END:
		return on_start_end(p, e, err);
	case WS_NVTX_MARK:
		WS_FORWARD(WS_GROW(p->out->mark, p->out->nmarks + 1, p->marks_capacity, err));
		p->out->mark[p->out->nmarks++] = *e;
		p->thread[thread].marks++;
	}
	return WS_OK;
}

/* --- events in any order --- */

/* What happened at one time stays in the order recorded. */
static int compare_time(const void *a, const void *b)
{
	const struct ws_row_nvtx *const *x = a, *const *y = b;

	WS_ORDER_BY((*x)->time_ns, (*y)->time_ns);
	return *x < *y ? -1 : *x > *y;
}

static enum ws_status pair_sorted(struct pairing *p, const struct ws_trace_reader *r,
                                  struct ws_err *err)
{
	const struct ws_row_nvtx **order = NULL;
	struct ws_records events;
	enum ws_status status = ws_records_load(&events, r, WS_KIND_NVTX, err);

	if (status == WS_OK) {
		order = calloc(events.n + 1, sizeof(*order));
		if (!order)
			status = WS_FAIL_MEMORY(err, "%zu NVTX events", events.n);
	}
	for (size_t i = 0; i < events.n && status == WS_OK; i++)
		order[i] = (const struct ws_row_nvtx *)events.rows + i;
	if (status == WS_OK)
		qsort(order, events.n, sizeof(*order), compare_time);
	for (size_t i = 0; i < events.n && status == WS_OK; i++)
		status = on_event(p, order[i], err);
	free(order);
	ws_records_free(&events);
	return status;
}

static void release(struct pairing *p)
{
	ws_range_pairs_free(&p->pairs);
	ws_idmap_free(&p->thread_numbers);
	ws_idmap_free(&p->domain_numbers);
	free(p->thread);
}

static void forget(struct pairing *p)
{
	release(p);
	free(p->out->mark);
	p->out->mark = NULL;
	p->out->n = p->out->nmarks = p->out->dangling = 0;
	*p = (struct pairing){.out = p->out, .threads = p->threads, .last_ns = INT64_MIN};
}

/* --- by thread --- */

static int compare_threads(const void *a, const void *b)
{
	const struct thread *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

/* Where marks of each thread go: threads by id. One thread's are in order. */
static enum ws_status place_threads(struct pairing *p, struct ws_err *err)
{
	struct thread **order = calloc(p->nthreads + 1, sizeof(*order));
	size_t mark_at = 0;

	WS_FAIL_IF(!order, err, NO_MEMORY, "out of memory for %zu threads", p->nthreads);
	for (size_t i = 0; i < p->nthreads; i++)
		order[i] = &p->thread[i];
	qsort(order, p->nthreads, sizeof(struct thread *), compare_threads);
	for (size_t i = 0; i < p->nthreads; i++) {
		order[i]->rank = (uint32_t)i;
		order[i]->mark_at = mark_at;
		mark_at += order[i]->marks;
	}
	free(order);
	return WS_OK;
}

static uint32_t rank_of(const void *ctx, const void *row)
{
	const struct ws_export_range *range = row;
	const struct pairing *p = ctx;

	return p->thread[ws_idmap_get(&p->thread_numbers, range->thread)].rank;
}

static enum ws_status order_ranges(struct pairing *p, struct ws_err *err)
{
	struct ws_export_ranges *out = p->out;
	const struct ws_spill_key key = {p->nthreads, rank_of, p};

	WS_FORWARD(ws_spill_partition(&out->room, sizeof(*out->range), out->n, &key, err));
	out->range = out->room.data;
	return WS_OK;
}

static enum ws_status order_marks(struct pairing *p, struct ws_err *err)
{
	struct ws_export_ranges *out = p->out;
	struct ws_row_nvtx *to = calloc(out->nmarks + 1, sizeof(*to));

	WS_FAIL_IF(!to, err, NO_MEMORY, "out of memory for %zu marks", out->nmarks);
	for (size_t i = 0; i < out->nmarks; i++) {
		const uint32_t thread = ws_idmap_get(&p->thread_numbers, out->mark[i].thread);

		to[p->thread[thread].mark_at++] = out->mark[i];
	}
	free(out->mark);
	out->mark = to;
	return WS_OK;
}

enum ws_status ws_export_ranges_load(struct ws_export_ranges *out, const struct ws_trace_reader *r,
                                     const struct ws_records *threads, struct ws_err *err)
{
	const uint64_t events = ws_trace_reader_count(r, WS_KIND_NVTX);
	struct pairing p = {.out = out, .threads = threads, .last_ns = INT64_MIN};
	enum ws_status status;

	*out = (struct ws_export_ranges){0};
	WS_FAIL_IF(events >= WS_NONE, err, NO_MEMORY,
	           "%llu NVTX events are more than an export handles", (unsigned long long)events);
	WS_FORWARD(ws_spill_open(&out->room, events * sizeof(*out->range), err));
	out->range = out->room.data;
	status = ws_records_each(r, WS_KIND_NVTX, on_event, &p, err);
	if (status == WS_OK && p.is_unordered) {
		forget(&p);
		status = pair_sorted(&p, r, err);
	}
	WS_THEN(status, place_threads(&p, err));
	if (status == WS_OK && p.nthreads > 1)
		status = order_ranges(&p, err);
	if (status == WS_OK && p.nthreads > 1)
		status = order_marks(&p, err);
	release(&p);
	return status;
}

const struct ws_export_range *ws_export_ranges_next(struct ws_export_ranges *ranges, size_t *i)
{
	if (*i == ranges->n)
		return NULL;
	ws_spill_used(&ranges->room, sizeof(*ranges->range));
	return &ranges->range[(*i)++];
}

void ws_export_ranges_free(struct ws_export_ranges *ranges)
{
	ws_spill_close(&ranges->room);
	free(ranges->mark);
	*ranges = (struct ws_export_ranges){0};
}
