/* Rows for the writer, what the numbers in records stand for, and when something happened. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "recorder/drain/private.h"
#include "recorder/shared/system.h"

/* The writer remembers that it failed, and counts what it is given then. */
void ws_drain_add(struct ws_drain *d, enum ws_kind kind, const void *row)
{
	(void)ws_trace_writer_add(d->writer, kind, row, NULL);
}

void ws_drain_add_meta(struct ws_drain *d, const char *key, const char *fmt, ...)
{
	struct ws_row_meta row = {.key = {key, strlen(key)}};
	char *value;
	va_list ap;

	va_start(ap, fmt);
	value = ws_xvformat(fmt, ap);
	va_end(ap);
	row.value = ws_bytes_of(value);
	ws_drain_add(d, WS_KIND_META, &row);
	free(value);
}

uint64_t ws_drain_intern(struct ws_drain *d, struct ws_bytes text)
{
	uint64_t id = 0;

	(void)ws_trace_writer_intern(d->writer, text.ptr, text.len, &id, NULL);
	return id;
}

uint64_t ws_drain_intern_config(struct ws_drain *d, const struct ws_row_launch_config *config)
{
	uint64_t id = 0;

	(void)ws_trace_writer_intern_config(d->writer, config, &id, NULL);
	return id;
}

bool ws_drain_flag(const struct ws_drain *d, enum ws_commit_flag flag)
{
	return !!(d->flags & flag);
}

void ws_drain_set_flag(struct ws_drain *d, enum ws_commit_flag flag)
{
	d->flags |= flag;
}

/* --- what the numbers in records stand for --- */

struct ws_drain_thread *ws_drain_thread(const struct ws_drain *d, uint64_t id)
{
	const uint64_t *place = ws_map_get(&d->thread_places, id);

	return place ? &d->threads[*place] : NULL;
}

bool ws_drain_set_thread(struct ws_drain *d, uint64_t id, uint64_t pid, uint64_t tid)
{
	struct ws_drain_thread *thread = ws_drain_thread(d, id);

	if (!id || id >= WS_DRAIN_MAX_THREADS || !pid)
		return 0;
	if (!thread) {
		WS_GROW(d->threads, d->nthreads + 1, d->threads_capacity);
		ws_map_add(&d->thread_places, id, d->nthreads);
		thread = &d->threads[d->nthreads++];
		*thread = (struct ws_drain_thread){.id = id};
	}
	thread->pid = pid;
	thread->tid = tid;
	return 1;
}

uint64_t ws_drain_domain_id(struct ws_drain *d, uint32_t domain, int *known)
{
	struct ws_drain_domain *dom = &d->domains[domain % WS_SEG_MAX_DOMAINS];

	*known = !domain || (domain < WS_SEG_MAX_DOMAINS && dom->known);
	if (!domain || !*known)
		return 0;
	if (!dom->id)
		dom->id = ws_drain_intern(d, dom->name);
	return dom->id;
}

uint64_t ws_drain_string_id(struct ws_drain *d, uint32_t string, int *known)
{
	const uint64_t slots = d->seg->defs_size / 8;
	uint64_t *slot = string && string <= slots ? &d->strings[string - 1] : NULL;

	*known = slot && *slot;
	if (!*known)
		return 0;
	if (*slot == 1) {
		struct ws_def_head head;
		const uint64_t at = (uint64_t)(string - 1) * 8;
		const uint8_t *def = ws_seg_defs(d->seg) + at;

		memcpy(&head, def, sizeof(head));
		/* it fitted when it was defined; the program can have written there since */
		if (head.body_size > d->seg->defs_size - at - sizeof(head))
			head.body_size = 0;
		*slot = 1 +
		        ws_drain_intern(d, (struct ws_bytes){def + sizeof(head), head.body_size});
	}
	return *slot - 1;
}

uint64_t ws_drain_text(struct ws_drain *d, uint64_t text, int *known)
{
	if (text & WS_SLOT_TEXT_ID)
		return ws_drain_string_id(d, (uint32_t)text, known);
	*known = 0;
	return 0;
}

uint64_t ws_drain_find_thread(const struct ws_drain *d, uint64_t pid, uint64_t tid)
{
	/* the last one: thread ids of the system are used again */
	for (size_t i = d->nthreads; i--;)
		if (d->threads[i].pid == pid && d->threads[i].tid == tid)
			return d->threads[i].id;
	return 0;
}

uint64_t ws_drain_thread_by_tid(struct ws_drain *d, uint64_t pid, uint64_t tid)
{
	struct ws_row_thread row = {.pid = pid, .tid = tid};
	uint64_t known = ws_drain_find_thread(d, pid, tid);

	if (!pid || !tid || known)
		return known;
	row.id = (uint64_t)atomic_fetch_add(&d->seg->next_thread, 1) + 1;
	if (!ws_drain_set_thread(d, row.id, pid, tid))
		return 0;
	ws_drain_add(d, WS_KIND_THREAD, &row);
	return row.id;
}

bool ws_drain_device(struct ws_drain *d, uint32_t device)
{
	struct ws_row_device row = {.id = device, .kind = WS_DEVICE_CUDA};

	if (device >= WS_MAX_GPUS)
		return 0;
	if (!(d->gpus >> device & 1))
		ws_drain_add(d, WS_KIND_DEVICE, &row);
	d->gpus |= UINT64_C(1) << device;
	return 1;
}

/* --- clocks --- */

/* Clocks of a GPU are fitted to CUPTI's, so times may lie a little beyond. */
#define SLACK_NS INT64_C(10000000000)

int64_t ws_drain_now_ns(const struct ws_drain *d)
{
	const struct ws_seg_header *seg = d->seg;

	/* a segment on a disk can outlive the boot whose clock its times are of */
	if (d->is_other_boot)
		return seg->base_ns + (ws_clock_ns(CLOCK_REALTIME) - seg->base_realtime_ns);
	return ws_clock_ns(CLOCK_MONOTONIC);
}

void ws_drain_start_clocks(struct ws_drain *d)
{
	const struct ws_seg_header *seg = d->seg;

	d->is_other_boot = seg->boot && seg->boot != ws_proc_boot();
	d->real_time =
	        (struct ws_drain_real_time){seg->realtime_apart_ns, seg->realtime_largest_step_ns};
	if (!ws_seg_is_time(d->real_time.apart_ns) || !ws_seg_is_time(d->real_time.largest_step_ns))
		d->real_time = (struct ws_drain_real_time){0};
}

struct ws_drain_real_time ws_drain_real_time(const struct ws_drain *d)
{
	return d->real_time;
}

void ws_drain_read_clock(struct ws_drain *d)
{
	d->earliest_ns = d->seg->base_ns - SLACK_NS;
	d->latest_ns = ws_drain_now_ns(d) + SLACK_NS;
}

bool ws_drain_time(const struct ws_drain *d, int64_t ns, int64_t *time_ns)
{
	*time_ns = 0;
	if (ns < d->earliest_ns || ns > d->latest_ns)
		return 0;
	*time_ns = ns - d->seg->base_ns;
	return 1;
}

/* A time that the collector told, as one with which can be reckoned. */
static int64_t bounded(int64_t ns)
{
	return ws_seg_is_time(ns) ? ns : ns < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
}

/* A time of CUPTI's as it is while its clock is this far ahead. 0: out of every bound. */
static int by_distance(uint64_t gpu_ns, int64_t apart_ns, int64_t *ns)
{
	return gpu_ns <= INT64_MAX && !__builtin_sub_overflow((int64_t)gpu_ns, apart_ns, ns);
}

/* The same, where the distance grows. */
static int by_clock(uint64_t gpu_ns, const struct ws_seg_gpu_clock *clock, int64_t *ns)
{
	int64_t since_ns;

	if (!by_distance(gpu_ns, clock->apart_ns, ns))
		return 0;
	if (!clock->drift_ppb)
		return 1;
	if (__builtin_sub_overflow(*ns, clock->from_ns, &since_ns))
		return 0;
	since_ns = ws_clock_without_drift(since_ns, clock->drift_ppb);
	return !__builtin_add_overflow(clock->from_ns, since_ns, ns);
}

/*
 * The latest clock below `clocks` by which the time lies where that clock was the one, and not
 * outside the bounds; -1: there is none. Where one ended and the next began is known as well as
 * the two last readings tell, and each by less than WS_CLOCK_STEP_NS.
 */
static int find_clock(const struct ws_drain *d, uint32_t clocks, uint64_t gpu_ns, int64_t from_ns,
                      int64_t until_ns, int64_t *ns)
{
	const struct ws_seg_gpu *gpu = &d->seg->gpu;
	uint32_t n = atomic_load_explicit(&gpu->nclocks, memory_order_acquire);

	if (!n && clocks)
		return by_distance(gpu_ns, d->seg->base_realtime_ns - d->seg->base_ns, ns) &&
		                       *ns >= from_ns && *ns <= until_ns
		               ? 0
		               : -1;
	if (n > WS_SEG_GPU_CLOCKS)
		n = WS_SEG_GPU_CLOCKS;
	for (uint32_t i = clocks < n ? clocks : n; i--;) {
		if (by_clock(gpu_ns, &gpu->clocks[i], ns) && *ns >= from_ns && *ns <= until_ns &&
		    (!i || *ns >= bounded(atomic_load(&gpu->clocks[i - 1].until_ns)) -
		                           WS_CLOCK_STEP_NS) &&
		    (i + 1 == n || *ns <= bounded(gpu->clocks[i + 1].from_ns) + WS_CLOCK_STEP_NS))
			return (int)i;
	}
	return -1;
}

/*
 * While one clock holds, that is a subtraction. A record that ends in a time that was there twice
 * (the clock was set back), or that no reading separates from a step, can be meant by two clocks:
 * then it counts as uncertain, and the later one is taken. Where a clock only drifts the two agree.
 */
bool ws_drain_gpu_times(struct ws_drain *d, const struct ws_activity_slot *slot, uint64_t start,
                        uint64_t end, int64_t *start_ns, int64_t *dur_ns)
{
	int64_t from_ns = d->earliest_ns, until_ns = d->latest_ns, end_ns, other_ns;
	int clock, begun;

	if (atomic_load(&d->seg->gpu.nclocks) > 1) {
		if (slot->taken_ns)
			from_ns = bounded(slot->taken_ns) - WS_CLOCK_STEP_NS;
		if (slot->done_ns)
			until_ns = bounded(slot->done_ns) + WS_CLOCK_STEP_NS;
	}
	clock = find_clock(d, UINT32_MAX, end, from_ns, until_ns, &end_ns);
	if (clock < 0) { /* CUPTI can read times long before it asks for the buffer they go into */
		from_ns = d->earliest_ns;
		clock = find_clock(d, UINT32_MAX, end, from_ns, until_ns, &end_ns);
	}
	if (clock < 0)
		return 0;
	/* mostly by the same clock: what began before a step is rare */
	begun = find_clock(d, (uint32_t)clock + 1, start, d->earliest_ns, end_ns, start_ns);
	if (begun < 0)
		return 0;
	if (find_clock(d, (uint32_t)clock, end, from_ns, until_ns, &other_ns) >= 0 &&
	    llabs(other_ns - end_ns) >= WS_CLOCK_STEP_NS)
		d->counted[WS_DROPPED_time_uncertain]++;
	*dur_ns = end_ns - *start_ns;
	*start_ns -= d->seg->base_ns;
	return 1;
}

/* Somebody set the real-time clock: no time of the trace moves, but UTC times are off by it. */
void ws_drain_look_for_step(struct ws_drain *d)
{
	struct ws_drain_real_time *real = &d->real_time;
	int64_t apart_ns, step_ns;

	if (d->is_other_boot || ws_clock_apart(ws_clock_read_realtime, &apart_ns))
		return;
	step_ns = real->apart_ns ? apart_ns - real->apart_ns : 0;
	real->apart_ns = d->seg->realtime_apart_ns = apart_ns;
	if (llabs(step_ns) < WS_CLOCK_STEP_NS)
		return;
	d->counted[WS_DROPPED_clock_step]++;
	if (llabs(step_ns) > llabs(real->largest_step_ns))
		real->largest_step_ns = d->seg->realtime_largest_step_ns = step_ns;
}

int64_t ws_drain_add_clock_row(struct ws_drain *d)
{
	const struct ws_seg_header *seg = d->seg;
	uint32_t n = atomic_load_explicit(&seg->gpu.nclocks, memory_order_acquire);
	int64_t now_ns = ws_drain_now_ns(d);
	struct ws_row_clock clock = {
	        .realtime_ns = ws_clock_ns(CLOCK_REALTIME) - seg->base_realtime_ns,
	        .monotonic_ns = ws_clock_ns(CLOCK_MONOTONIC_RAW),
	        .time_ns = now_ns - seg->base_ns,
	};

	if (n && n <= WS_SEG_GPU_CLOCKS)
		clock.gpu_apart_ns = (int64_t)((uint64_t)seg->gpu.clocks[n - 1].apart_ns -
		                               (uint64_t)(seg->base_realtime_ns - seg->base_ns));
	ws_drain_look_for_step(d);
	ws_drain_add(d, WS_KIND_CLOCK, &clock);
	return clock.time_ns;
}
