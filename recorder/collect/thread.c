/*
 * Threads by the system's ids. A thread is found by its first NVTX event or by CUPTI's record of a
 * call, and must get the same id in the trace by both.
 */
#include <sys/prctl.h>

#include "recorder/collect/collector.h"

/* When the table is full, CUPTI's records of further threads keep the system's ids. */
#define MAX_THREADS 3072

static struct {
	uint32_t tid; /* 0: unused; entries are never removed */
	uint32_t thread;
	uint32_t had_thread_buffer, ended;
} table[MAX_THREADS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Index of the thread, or of the place to add it; -1: not found and the table is full. */
static int slot_of_thread(uint32_t tid)
{
	for (int i = 0; i < MAX_THREADS; i++)
		if (table[i].tid == tid || !table[i].tid)
			return i;
	return -1;
}

/* Defines a thread, and adds it to the table if there is a place. 0: no room. */
static uint32_t begin_thread(uint32_t tid, const char *name, int place, uint32_t with_thread_buffer)
{
	uint32_t thread = atomic_fetch_add(&ws_collector.seg->next_thread, 1) + 1;

	if (ws_define_thread(thread, tid, name) == WS_DEF_NONE)
		return 0;
	if (place >= 0) {
		table[place].tid = tid;
		table[place].thread = thread;
		table[place].had_thread_buffer = with_thread_buffer;
		table[place].ended = 0;
	}
	return thread;
}

uint32_t ws_thread_of(uint32_t tid)
{
	uint32_t thread = 0;
	sigset_t before;
	char name[32];

	ws_lock(&lock, &before);
	int place = slot_of_thread(tid);
	if (place >= 0 && table[place].tid) {
		thread = table[place].thread;
	} else if (place >=
	           0) { /* happens once per thread, and rarely on the program's own threads */
		char path[48];

		snprintf(path, sizeof(path), "/proc/self/task/%u/comm", (unsigned)tid);
		(void)ws_text_read(path, name, sizeof(name));
		name[strcspn(name, "\n")] = 0;
		thread = begin_thread(tid, name, place, 0);
	}
	ws_unlock(&lock, &before);
	return thread;
}

static uint32_t thread_with_buffer(uint32_t tid, const char *name)
{
	uint32_t thread = 0;
	sigset_t before;

	ws_lock(&lock, &before);
	int place = slot_of_thread(tid);
	if (place >= 0 && table[place].tid && !table[place].had_thread_buffer &&
	    !table[place].ended) {
		thread = table[place].thread;
		table[place].had_thread_buffer = 1;
	}
	if (!thread)
		thread = begin_thread(tid, name, place, 1);
	ws_unlock(&lock, &before);
	return thread;
}

void ws_thread_forked(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	memset(table, 0, sizeof(table));
}

/* --- thread buffers --- */

/* Each thread has one buffer, from its first event to its end. */

/* Initial bytes of a growing ring, and the bytes by which it grows. */
#define FIRST_BYTES (UINT32_C(64) << 10)
#define MORE_BYTES  (UINT32_C(256) << 10)

__thread struct ws_self ws_self;

static pthread_key_t thread_buffer_key;

static _Atomic uint32_t *state_of(const struct ws_thread_buffer *thread_buffer)
{
	const struct ws_seg_header *seg = ws_collector.seg;
	uint64_t offset = (uint64_t)((const char *)thread_buffer - (const char *)seg) -
	                  seg->thread_buffers_offset;

	return ws_seg_thread_state(seg, (uint32_t)(offset / seg->thread_buffer_stride));
}

static void thread_ended(void *arg)
{
	struct ws_thread_buffer *thread_buffer = arg;
	sigset_t before;

	ws_calibrate_abandoned();
	ws_self.thread_buffer = NULL;
	ws_range_abandoned(thread_buffer);
	uint32_t tid = ws_thread_id();
	ws_lock(&lock, &before);
	int place = slot_of_thread(tid);
	if (place >= 0 && table[place].tid)
		table[place].ended = 1;
	ws_unlock(&lock, &before);
	atomic_store_explicit(state_of(thread_buffer), WS_THREAD_BUFFER_LEFT, memory_order_release);
}

int ws_thread_buffer_setup(void)
{
	return pthread_key_create(&thread_buffer_key, thread_ended);
}

void ws_thread_buffer_forked(void)
{
	ws_self = (struct ws_self){0};
	pthread_setspecific(thread_buffer_key, NULL);
}

int ws_thread_buffer_grow(struct ws_thread_buffer *thread_buffer)
{
	const uint32_t ready = thread_buffer->ready;
	const uint32_t more = ready < MORE_BYTES ? ready : MORE_BYTES;

	if (ready >= ws_collector.ring_size ||
	    ws_seg_populate(ws_collector.seg, ws_thread_buffer_bytes(thread_buffer) + ready, more))
		return -1;
	thread_buffer->ready = ready + more;
	return 0;
}

/*
 * Takes a buffer in this state: FREE (it has memory) or NONE (it gets memory here). Page faults
 * then happen at the thread's first event and not in its measured ranges. NULL: none.
 */
static struct ws_thread_buffer *take_buffer(enum ws_thread_buffer_state wanted)
{
	const bool is_new = wanted == WS_THREAD_BUFFER_NONE;
	struct ws_seg_header *seg = ws_collector.seg;
	const uint32_t ring_size = ws_collector.ring_size;
	const uint32_t first = seg->grows && ring_size > FIRST_BYTES ? FIRST_BYTES : ring_size;

	for (uint32_t i = 0; i < seg->thread_buffer_count; i++) {
		struct ws_thread_buffer *thread_buffer = ws_seg_thread_buffer(seg, i);
		_Atomic uint32_t *state = ws_seg_thread_state(seg, i);
		uint32_t found = wanted;

		if (atomic_load_explicit(state, memory_order_relaxed) != wanted ||
		    !atomic_compare_exchange_strong(state, &found,
		                                    is_new ? WS_THREAD_BUFFER_COMING
		                                           : WS_THREAD_BUFFER_OWNED))
			continue;
		/* in a segment that cannot grow all buffers start as FREE, with untouched memory */
		if ((is_new || thread_buffer->ready < first) &&
		    ws_seg_populate(seg, thread_buffer, WS_THREAD_BUFFER_HEADER_SIZE + first)) {
			atomic_store(state, wanted);
			return NULL;
		}
		if (thread_buffer->ready < first)
			thread_buffer->ready = first;
		if (is_new)
			atomic_store(state, WS_THREAD_BUFFER_OWNED);

		/* Prepares a taken buffer with memory. */
		char name[17] = "";

		prctl(PR_GET_NAME, name);
		uint32_t thread = thread_with_buffer(ws_thread_id(), name);
		if (!thread || pthread_setspecific(thread_buffer_key, thread_buffer)) {
			atomic_store(state_of(thread_buffer), WS_THREAD_BUFFER_FREE);
			return NULL;
		}
		thread_buffer->thread = thread;
		thread_buffer->pops_owed = 0;
		thread_buffer->kernels = 0;
		atomic_store_explicit(&thread_buffer->writer, 0, memory_order_relaxed);
		memset(thread_buffer->domains, 0, sizeof(thread_buffer->domains));
		memset(thread_buffer->unrecorded, 0, sizeof(thread_buffer->unrecorded));
		ws_self.thread_buffer = thread_buffer;
		return thread_buffer;
	}
	return NULL;
}

struct ws_thread_buffer *ws_thread_buffer_find(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	uint32_t freed = atomic_load(&seg->thread_buffers_freed);

	/* inside a range, pops would have no push; otherwise search only if buffers were freed */
	if (ws_self.depth || ws_self.looked == freed + 1)
		return NULL;
	ws_self.looked = freed + 1;
	/* buffers with memory first, so that a program with many short threads uses little
	 * memory */
	struct ws_thread_buffer *found = take_buffer(WS_THREAD_BUFFER_FREE);
	return found ? found : take_buffer(WS_THREAD_BUFFER_NONE);
}

/* --- ranges of --capture-range --- */

#define LONGEST_NAME 256 /* bytes of a name that must be converted to UTF-8 */

/* True if the pattern matches the whole text. * matches any text, ? any byte. */
static bool matches(const char *pattern, const char *text, size_t size)
{
	const char *star = NULL;
	size_t at = 0, star_at = 0;

	while (at < size) {
		if (*pattern == '*') {
			star = ++pattern;
			star_at = at;
		} else if (*pattern && (*pattern == '?' || *pattern == text[at])) {
			pattern++;
			at++;
		} else if (star) { /* the star takes one more */
			pattern = star;
			at = ++star_at;
		} else {
			return 0;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool ws_event_is_named(const struct ws_event *ev, const char *pattern)
{
	struct ws_text_cursor cursor = {ev->text.ptr, ev->text.kind, ev->text.size};
	char name[LONGEST_NAME];
	const char *text;
	uint32_t size = 0;

	if (ev->string) {
		text = ws_string_text(ev->string, &size);
		return text && matches(pattern, text, size);
	}
	if (ev->text.kind == WS_TEXT_BYTES)
		return matches(pattern, ev->text.ptr, ev->text.size);
	size = ws_text_next(&cursor, name, sizeof(name));
	return matches(pattern, name, size);
}

static bool is_wanted(const struct ws_event *ev)
{
	return ws_event_is_named(ev, ws_collector.seg->plan.window.pattern);
}

/* Begins the next instance. True: it is to be recorded. */
static bool begin_instance(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	const uint64_t instance = atomic_fetch_add(&seg->control.instances, 1) + 1;

	if (instance < seg->plan.window.first || instance > seg->plan.window.last)
		return 0;
	ws_define_window(ws_now_ns(), 1);
	return 1;
}

void ws_range_ended(int64_t time_ns)
{
	const struct ws_seg_window *window = &ws_collector.seg->plan.window;
	struct ws_seg_control *control = &ws_collector.seg->control;

	ws_define_window(time_ns, 0);
	/* all instances to be recorded have ended */
	if (atomic_fetch_add(&control->instances_ended, 1) + 1 == window->last - window->first + 1)
		atomic_store(&control->has_ended, 1);
}

void ws_range_pushed(struct ws_thread_buffer *thread_buffer, const struct ws_event *ev,
                     uint32_t level)
{
	if (thread_buffer->range.is_open || !is_wanted(ev))
		return;
	thread_buffer->range.domain = ev->domain;
	thread_buffer->range.level = level;
	thread_buffer->range.is_kept = (uint32_t)begin_instance();
	thread_buffer->range.is_open = 1;
}

void ws_range_popped(struct ws_thread_buffer *thread_buffer, uint32_t domain, uint32_t level,
                     int64_t time_ns)
{
	if (!thread_buffer->range.is_open || thread_buffer->range.domain != domain ||
	    thread_buffer->range.level != level)
		return;
	thread_buffer->range.is_open = 0;
	if (thread_buffer->range.is_kept)
		ws_range_ended(time_ns);
}

void ws_range_abandoned(struct ws_thread_buffer *thread_buffer)
{
	if (thread_buffer->range.is_open && thread_buffer->range.is_kept)
		ws_range_ended(ws_now_ns());
	thread_buffer->range.is_open = 0;
}

bool ws_range_started(const struct ws_event *ev)
{
	return is_wanted(ev) && begin_instance();
}

void ws_range_profiler(int start)
{
	struct ws_seg_control *control = &ws_collector.seg->control;

	if (ws_collector.seg->plan.window.ranges != WS_RANGES_PROFILER)
		return;
	if (!start) {
		if (atomic_exchange(&control->profiler, WS_PROFILER_OFF) == WS_PROFILER_KEPT)
			ws_range_ended(ws_now_ns());
		return;
	}
	uint32_t was = WS_PROFILER_OFF;
	if (!atomic_compare_exchange_strong(&control->profiler, &was, WS_PROFILER_ON))
		return; /* a second start has no effect */
	if (begin_instance())
		atomic_store(&control->profiler, WS_PROFILER_KEPT);
}
