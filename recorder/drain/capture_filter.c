#include "recorder/drain/capture_filter.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/drain/private.h"
#include "formats/base/grow.h"
#include "formats/base/xalloc.h"

/* --- records that wait --- */

/* Of one thread, and starts of ranges: a program that ends none must not fill our memory. */
#define MAX_HELD 4096

/* A record that waited becomes rows. */
static void emit(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size)
{
	if (!ws_drain_record(d, thread, rec, size))
		d->counted[WS_DROPPED_unknown_record]++;
}

struct ws_held_record {
	uint8_t *bytes; /* the record */
	uint32_t size;
	uint32_t thread;
	uint32_t domain;
	uint64_t range; /* of a start */
	int64_t time_ns;
};

/* 0: too many wait already. */
static bool hold(struct ws_held_records *list, uint32_t thread, const struct ws_rec_event *ev,
                 const uint8_t *rec, uint32_t size)
{
	struct ws_held_record *h;

	if (list->n == MAX_HELD)
		return 0;
	WS_GROW(list->records, list->n + 1, list->size);
	h = &list->records[list->n++];
	*h = (struct ws_held_record){ws_xmalloc(size), size,      thread,
	                             ev->domain,       ev->range, ev->head.time_ns};
	memcpy(h->bytes, rec, size);
	return 1;
}

static void drop_held(struct ws_held_records *list, size_t i)
{
	free(list->records[i].bytes);
	memmove(&list->records[i], &list->records[i + 1],
	        (list->n - i - 1) * sizeof(*list->records));
	list->n--;
}

static void drop_all(struct ws_held_records *list)
{
	while (list->n)
		drop_held(list, list->n - 1);
}

static void release(struct ws_held_records *list)
{
	drop_all(list);
	free(list->records);
}

/* All held pushes of a thread become rows: something inside of them is kept. */
static void release_pushes(struct ws_drain *d, struct ws_held_records *held)
{
	for (size_t i = 0; i < held->n; i++)
		emit(d, held->records[i].thread, held->records[i].bytes, held->records[i].size);
	drop_all(held);
}

/* --- the filter --- */

/* Where nothing is left out nobody asks for them. */
static void become_active(struct ws_capture_filter *f)
{
	if (f->is_active)
		return;
	f->is_active = 1;
	f->inside_calls = ws_xarray(WS_FILTER_CALLS, sizeof(*f->inside_calls));
	f->outside_calls = ws_xarray(WS_FILTER_CALLS, sizeof(*f->outside_calls));
}

void ws_filter_init(struct ws_capture_filter *f, const struct ws_seg_header *seg)
{
	const struct ws_seg_window *spec = &seg->plan.window;

	memset(f, 0, sizeof(*f));
	f->stop_ns = atomic_load(&seg->control.stop_ns);
	ws_capture_window_init(&f->window, spec->begin_ns ? spec->begin_ns : INT64_MIN,
	                       spec->duration_ns, spec->ranges != WS_RANGES_NONE);
	if (spec->begin_ns || spec->ranges != WS_RANGES_NONE)
		become_active(f);
}

void ws_filter_release(struct ws_drain *d)
{
	struct ws_capture_filter *f = &d->filter;

	for (size_t i = 0; i < d->nthreads; i++)
		release(&d->threads[i].held);
	release(&f->starts);
	free(f->inside_calls);
	free(f->outside_calls);
	ws_capture_window_release(&f->window);
}

void ws_filter_look(struct ws_drain *d)
{
	if (!d->filter.stop_ns)
		return;
	ws_window_stop(&d->filter.window, d->filter.stop_ns);
	become_active(&d->filter);
}

void ws_drain_stop(struct ws_drain *d, int64_t time_ns)
{
	d->filter.stop_ns = time_ns;
	atomic_store(&d->seg->control.stop_ns, time_ns); /* for a launcher after this one */
	atomic_store(&d->seg->control.has_ended, 1);
}

bool ws_drain_is_stopped(const struct ws_drain *d)
{
	return d->filter.stop_ns != 0;
}

void ws_filter_range(struct ws_drain *d, const struct ws_def_window *range)
{
	if (range->is_open)
		ws_capture_window_begin_range(&d->filter.window, range->time_ns);
	else
		ws_capture_window_end_range(&d->filter.window, range->time_ns);
}

/* --- NVTX --- */

static bool keeps(const struct ws_drain *d, int64_t start_ns, int64_t end_ns)
{
	return ws_capture_window_keeps(&d->filter.window, start_ns, end_ns);
}

static bool push(struct ws_drain *d, uint32_t thread, struct ws_held_records *held,
                 const struct ws_rec_event *ev, const uint8_t *rec, uint32_t size)
{
	if (!keeps(d, ev->head.time_ns, ev->head.time_ns) && hold(held, thread, ev, rec, size))
		return 1;
	release_pushes(d, held);
	return ws_drain_record(d, thread, rec, size);
}

/* A pop ends the newest push of its domain; when that waits, both are decided now. */
static bool pop(struct ws_drain *d, uint32_t thread, struct ws_held_records *held,
                const struct ws_rec_event *ev, const uint8_t *rec, uint32_t size)
{
	for (size_t i = held->n; i--;) {
		if (held->records[i].domain != ev->domain)
			continue;
		if (keeps(d, held->records[i].time_ns, ev->head.time_ns)) {
			release_pushes(d, held);
			break;
		}
		drop_held(held, i);
		d->filter.nexcluded += 2;
		return 1;
	}
	return ws_drain_record(d, thread, rec, size);
}

static bool end(struct ws_drain *d, uint32_t thread, const struct ws_rec_event *ev,
                const uint8_t *rec, uint32_t size)
{
	struct ws_held_records *starts = &d->filter.starts;

	for (size_t i = starts->n; i--;) {
		struct ws_held_record *start = &starts->records[i];
		int kept;

		if (start->range != ev->range)
			continue;
		kept = keeps(d, start->time_ns, ev->head.time_ns);
		if (kept)
			emit(d, start->thread, start->bytes, start->size);
		else
			d->filter.nexcluded += 2;
		drop_held(starts, i);
		if (!kept)
			return 1;
		break;
	}
	return ws_drain_record(d, thread, rec, size);
}

bool ws_filter_record(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size)
{
	struct ws_drain_thread *who;
	struct ws_rec_event ev;
	int64_t end_ns;

	if (!d->filter.is_active)
		return ws_drain_record(d, thread, rec, size);
	/* what makes no sense is not to be held */
	who = ws_drain_thread(d, thread);
	if (!ws_drain_record_head(&ev, rec, size) || !who)
		return 0;
	switch (ev.head.type) {
	case WS_REC_PUSH:
		return push(d, thread, &who->held, &ev, rec, size);
	case WS_REC_POP:
		return pop(d, thread, &who->held, &ev, rec, size);
	case WS_REC_START:
		if (!keeps(d, ev.head.time_ns, ev.head.time_ns) &&
		    hold(&d->filter.starts, thread, &ev, rec, size))
			return 1;
		return ws_drain_record(d, thread, rec, size);
	case WS_REC_END:
		return end(d, thread, &ev, rec, size);
	default:
		end_ns = ev.head.type == WS_REC_CPU_KERNEL || ev.head.type == WS_REC_OP
		                 ? (int64_t)ev.range
		                 : ev.head.time_ns;
		if (!keeps(d, ev.head.time_ns, end_ns)) {
			d->filter.nexcluded++;
			return 1;
		}
		release_pushes(d, &who->held);
		return ws_drain_record(d, thread, rec, size);
	}
}

/* --- CUDA --- */

static bool keeps_row(const struct ws_drain *d, int64_t start_ns, int64_t dur_ns)
{
	int64_t start = start_ns + d->seg->base_ns;

	return keeps(d, start, start + dur_ns);
}

int ws_filter_keeps_call(struct ws_drain *d, uint64_t correlation, int64_t start_ns)
{
	struct ws_capture_filter *f = &d->filter;
	int kept;

	if (!f->is_active)
		return 1;
	kept = keeps_row(d, start_ns, 0);
	if (correlation)
		(kept ? f->inside_calls : f->outside_calls)[correlation % WS_FILTER_CALLS] =
		        correlation;
	f->nexcluded += !kept;
	return kept;
}

int ws_filter_keeps_work(struct ws_drain *d, uint64_t correlation, int64_t start_ns, int64_t dur_ns)
{
	struct ws_capture_filter *f = &d->filter;
	size_t i = correlation % WS_FILTER_CALLS;
	int kept;

	if (!f->is_active)
		return 1;
	if (correlation && f->inside_calls[i] == correlation)
		return 1;
	if (!start_ns && !dur_ns && f->outside_calls[i] != correlation)
		return 1; /* without a time nothing speaks against it */
	kept = (!correlation || f->outside_calls[i] != correlation) &&
	       keeps_row(d, start_ns, dur_ns);
	f->nexcluded += !kept;
	return kept;
}

/* --- the end --- */

/* A range that nobody ended: as if it ended now. */
static void decide(struct ws_drain *d, struct ws_held_records *list, int64_t now_ns)
{
	for (size_t i = 0; i < list->n; i++) {
		struct ws_held_record *h = &list->records[i];

		if (keeps(d, h->time_ns, now_ns))
			emit(d, h->thread, h->bytes, h->size);
		else
			d->filter.nexcluded++;
	}
	drop_all(list);
}

void ws_filter_finish(struct ws_drain *d)
{
	int64_t now_ns = ws_drain_now_ns(d);

	for (size_t i = 0; i < d->nthreads; i++)
		decide(d, &d->threads[i].held, now_ns);
	decide(d, &d->filter.starts, now_ns);
}

void ws_filter_commit(struct ws_drain *d)
{
	atomic_fetch_add_explicit(&d->seg->control.noutside, d->filter.nexcluded,
	                          memory_order_relaxed);
	d->filter.nexcluded = 0;
}
