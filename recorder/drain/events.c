#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "kernels/nvtx/warpsheet_nvtx.h"
#include "recorder/drain/private.h"

void ws_capture_window_init(struct ws_capture_window *w, int64_t begin_ns, int64_t duration_ns,
                            int has_ranges)
{
	*w = (struct ws_capture_window){
	        .begin_ns = begin_ns,
	        .end_ns = INT64_MAX,
	        .has_ranges = has_ranges,
	};
	if (duration_ns > 0 && begin_ns < INT64_MAX - duration_ns)
		w->end_ns = begin_ns + duration_ns;
}

void ws_capture_window_release(struct ws_capture_window *w)
{
	free(w->ranges);
	w->ranges = NULL;
	w->nranges = w->size = 0;
}

void ws_window_stop(struct ws_capture_window *w, int64_t time_ns)
{
	if (time_ns < w->end_ns)
		w->end_ns = time_ns;
}

void ws_capture_window_begin_range(struct ws_capture_window *w, int64_t time_ns)
{
	if (w->open++)
		return;
	/* a thread's clock was read a little before another thread's range ended */
	if (w->nranges && time_ns <= w->ranges[w->nranges - 1].end_ns) {
		w->ranges[w->nranges - 1].end_ns = INT64_MAX;
		return;
	}
	WS_GROW(w->ranges, w->nranges + 1, w->size);
	w->ranges[w->nranges++] = (struct ws_capture_window_range){time_ns, INT64_MAX};
}

void ws_capture_window_end_range(struct ws_capture_window *w, int64_t time_ns)
{
	struct ws_capture_window_range *last = w->nranges ? &w->ranges[w->nranges - 1] : NULL;

	if (!w->open || --w->open || !last)
		return;
	last->end_ns = time_ns > last->begin_ns ? time_ns : last->begin_ns;
}

/* The first range that ends at this time or later; nranges: there is none. */
static size_t first_ending_after(const struct ws_capture_window *w, int64_t time_ns)
{
	size_t i;

	WS_COUNT_FIRST(i, w->nranges, w->ranges[i].end_ns < time_ns);
	return i;
}

bool ws_capture_window_keeps(const struct ws_capture_window *w, int64_t start_ns, int64_t end_ns)
{
	size_t i;

	if (start_ns < w->begin_ns)
		start_ns = w->begin_ns;
	if (end_ns > w->end_ns)
		end_ns = w->end_ns;
	if (start_ns > end_ns)
		return 0;
	if (!w->has_ranges)
		return 1;
	i = first_ending_after(w, start_ns);
	return i < w->nranges && w->ranges[i].begin_ns <= end_ns;
}

/* --- events --- */

/* Records of the rings become rows of the trace, as far as the window keeps them. */

#define CPU_DEVICE 0 /* id of the only device of the CPU backend */

/* A record whose parts are known to lie inside it. */
struct event {
	struct ws_rec_event rec;
	struct ws_bytes text;
	struct ws_bytes payload;
};

/* The fixed part of a record; of a short pop the rest is zeros. A copy, as the program can still
 * write into its memory. 0: it has none. */
static bool record_head(struct ws_rec_event *rec, const uint8_t *bytes, uint32_t size)
{
	struct ws_rec_pop pop;

	if (size >= sizeof(*rec)) {
		memcpy(rec, bytes, sizeof(*rec));
		return 1;
	}
	if (size != sizeof(pop))
		return 0;
	memcpy(&pop, bytes, sizeof(pop));
	*rec = (struct ws_rec_event){.head = pop.head, .domain = pop.domain};
	return pop.head.type == WS_REC_POP;
}

static bool parse(struct event *ev, const uint8_t *bytes, uint32_t size)
{
	const struct ws_rec_event *rec = &ev->rec;
	uint64_t need;

	if (!record_head(&ev->rec, bytes, size))
		return 0;
	ev->text = ev->payload = (struct ws_bytes){0};
	if (size < sizeof(*rec))
		return 1;
	if (rec->text_size > WS_MAX_TEXT || rec->payload_size > size)
		return 0;
	need = sizeof(*rec) + WS_ALIGN8(rec->text_size) + WS_ALIGN8((uint64_t)rec->payload_size);
	if (need != size)
		return 0;
	ev->text = (struct ws_bytes){bytes + sizeof(*rec), rec->text_size};
	ev->payload = (struct ws_bytes){bytes + sizeof(*rec) + WS_ALIGN8(rec->text_size),
	                                rec->payload_size};
	return 1;
}

static uint64_t payload_id(struct ws_drain *d, const struct event *ev)
{
	uint64_t id = 0;

	if (ev->rec.schema)
		(void)ws_trace_writer_intern_payload(d->writer, ev->rec.schema, ev->payload.ptr,
		                                     ev->payload.len, &id, NULL);
	return id;
}

/* String row of the message: registered or inline. */
static uint64_t message_id(struct ws_drain *d, const struct event *ev, int *known)
{
	if (ev->rec.string)
		return ws_drain_string_id(d, ev->rec.string, known);
	*known = 1;
	return ws_drain_intern(d, ev->text);
}

/* --- NVTX events --- */

static bool add_nvtx(struct ws_drain *d, uint32_t thread, const struct event *ev)
{
	static const uint8_t types[] = {
	        [WS_REC_PUSH] = WS_NVTX_PUSH,   [WS_REC_POP] = WS_NVTX_POP,
	        [WS_REC_START] = WS_NVTX_START, [WS_REC_END] = WS_NVTX_END,
	        [WS_REC_MARK] = WS_NVTX_MARK,
	};
	const struct ws_rec_event *rec = &ev->rec;
	int domain_known, name_known;
	struct ws_row_nvtx row = {
	        .thread = thread,
	        .type = types[rec->head.type],
	        .domain = ws_drain_domain_id(d, rec->domain, &domain_known),
	        .name = message_id(d, ev, &name_known),
	        .range = rec->range,
	        .category = rec->category,
	        .color = rec->color,
	};

	if (!domain_known || !name_known || !ws_drain_time(d, rec->head.time_ns, &row.time_ns))
		return 0;
	row.payload = payload_id(d, ev);
	ws_drain_add(d, WS_KIND_NVTX, &row);
	if (row.type == WS_NVTX_PUSH || row.type == WS_NVTX_START)
		d->counts.ranges++;
	else if (row.type == WS_NVTX_MARK)
		d->counts.marks++;
	return 1;
}

/* --- kernels of the CPU reference backend --- */

static void add_cpu_device(struct ws_drain *d)
{
	static const char name[] = "CPU reference";
	struct ws_row_device row = {.id = CPU_DEVICE, .kind = WS_DEVICE_CPU_REFERENCE};

	if (ws_drain_flag(d, WS_COMMIT_CPU_DEVICE))
		return;
	row.name = ws_drain_intern(d, (struct ws_bytes){name, sizeof(name) - 1});
	ws_drain_add(d, WS_KIND_DEVICE, &row);
	ws_drain_set_flag(d, WS_COMMIT_CPU_DEVICE);
}

static bool is_launch_schema(const struct ws_drain *d, uint64_t schema)
{
	for (size_t i = 0; i < d->nlaunch_schemas; i++)
		if (d->launch_schemas[i] == schema)
			return 1;
	return 0;
}

/*
 * The kernel ran inside the call that launched it, on the same thread, so the
 * call and the kernel have the same times.
 */
static bool add_cpu_kernel(struct ws_drain *d, uint32_t thread, const struct event *ev)
{
	static const char api_name[] = "ws_cpu_launch";
	const struct ws_drain_thread *who = ws_drain_thread(d, thread);
	struct ws_row_launch_config config = {.device = CPU_DEVICE, .pid = who->pid};
	struct ws_row_api api = {.thread = thread};
	struct ws_row_kernel kernel = {0};
	struct wsnvtx_launch launch;
	int known;

	config.name = message_id(d, ev, &known);
	if (!known || !ws_drain_time(d, ev->rec.head.time_ns, &kernel.start_ns) ||
	    !ws_drain_time(d, (int64_t)ev->rec.range, &kernel.dur_ns) ||
	    kernel.dur_ns < kernel.start_ns)
		return 0;
	kernel.dur_ns -= kernel.start_ns;
	if (ev->payload.len == sizeof(launch) && is_launch_schema(d, ev->rec.schema)) {
		memcpy(&launch, ev->payload.ptr, sizeof(launch));
		config.grid_x = launch.grid_x;
		config.grid_y = launch.grid_y;
		config.grid_z = launch.grid_z;
		config.block_x = launch.block_x;
		config.block_y = launch.block_y;
		config.block_z = launch.block_z;
	} else {
		kernel.payload = payload_id(d, ev);
	}
	add_cpu_device(d);
	kernel.config = ws_drain_intern_config(d, &config);
	if (d->seg->capture.api != WS_CAPTURE_NO_API) {
		kernel.correlation = ++d->next_correlation;
		api.start_ns = kernel.start_ns;
		api.dur_ns = kernel.dur_ns;
		api.name = ws_drain_intern(d, (struct ws_bytes){api_name, sizeof(api_name) - 1});
		api.correlation = kernel.correlation;
		ws_drain_add(d, WS_KIND_API, &api);
	}
	ws_drain_add(d, WS_KIND_KERNEL, &kernel);
	d->counts.kernels++;
	return 1;
}

/* --- operations of a framework --- */

/* As PyTorch's profiler records them with_modules: one that it does not number. */
static void add_module_call(struct ws_drain *d, const struct ws_row_cpu_op *op)
{
	const struct ws_row_python_call row = {
	        .start_ns = op->start_ns,
	        .dur_ns = op->dur_ns,
	        .thread = op->thread,
	        .name = op->config & ~WS_DRAIN_MODULE,
	};

	ws_drain_add(d, WS_KIND_PYTHON_CALL, &row);
}

static bool add_op(struct ws_drain *d, uint32_t thread, const uint8_t *bytes)
{
	struct ws_row_cpu_op row = {.thread = thread};
	struct ws_rec_op rec;

	memcpy(&rec, bytes, sizeof(rec));
	if (!rec.config || rec.config > d->seg->defs_size / 8 || rec.end_ns < rec.head.time_ns)
		return 0;
	row.config = d->ops[rec.config - 1];
	row.sequence = rec.sequence;
	row.forward_thread = rec.forward_thread;
	row.dur_ns = rec.end_ns - rec.head.time_ns;
	if (!row.config || !ws_drain_time(d, rec.head.time_ns, &row.start_ns) ||
	    !ws_drain_time(d, rec.end_ns, &rec.end_ns))
		return 0;
	if (row.config & WS_DRAIN_MODULE) {
		add_module_call(d, &row);
		return 1;
	}
	d->counts.operations++;
	ws_drain_add(d, WS_KIND_CPU_OP, &row);
	return 1;
}

/* Turn one record of a thread into rows. 0 when it makes no sense. */
static bool add_record(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size)
{
	struct event ev;

	if (!ws_drain_thread(d, thread) || !record_head(&ev.rec, rec, size))
		return 0;
	if (ev.rec.head.type == WS_REC_OP)
		return size == sizeof(struct ws_rec_op) && add_op(d, thread, rec);
	if (!parse(&ev, rec, size))
		return 0;
	switch (ev.rec.head.type) {
	case WS_REC_PUSH:
	case WS_REC_POP:
	case WS_REC_START:
	case WS_REC_END:
	case WS_REC_MARK:
		return add_nvtx(d, thread, &ev);
	case WS_REC_CPU_KERNEL:
		return add_cpu_kernel(d, thread, &ev);
	default:
		return 0;
	}
}

/* --- records that wait --- */

/* Of one thread, and starts of ranges: a program that ends none must not fill our memory. */
#define MAX_HELD 4096

/* A record that waited becomes rows. */
static void emit(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size)
{
	if (!add_record(d, thread, rec, size))
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

/* --- the filter: the window, applied to records --- */

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
	return add_record(d, thread, rec, size);
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
	return add_record(d, thread, rec, size);
}

bool ws_filter_record(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size)
{
	struct ws_drain_thread *who;
	struct ws_rec_event ev;
	int64_t end_ns;

	if (!d->filter.is_active)
		return add_record(d, thread, rec, size);
	/* what makes no sense is not to be held */
	who = ws_drain_thread(d, thread);
	if (!record_head(&ev, rec, size) || !who)
		return 0;
	switch (ev.head.type) {
	case WS_REC_PUSH:
		if (!keeps(d, ev.head.time_ns, ev.head.time_ns) &&
		    hold(&who->held, thread, &ev, rec, size))
			return 1;
		release_pushes(d, &who->held);
		return add_record(d, thread, rec, size);
	case WS_REC_POP:
		return pop(d, thread, &who->held, &ev, rec, size);
	case WS_REC_START:
		if (!keeps(d, ev.head.time_ns, ev.head.time_ns) &&
		    hold(&d->filter.starts, thread, &ev, rec, size))
			return 1;
		return add_record(d, thread, rec, size);
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
		return add_record(d, thread, rec, size);
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
