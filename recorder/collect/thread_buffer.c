/* One thread buffer for each thread: taken at its first event, given up when it ends. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "recorder/collect/capture_range.h"
#include "recorder/collect/collector.h"
#include "recorder/shared/procfs.h"

/* Of a ring that grows, what a thread has from its first event on, and gets at a time later. */
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

	ws_self.thread_buffer = NULL;
	ws_range_abandoned(thread_buffer);
	ws_thread_ended(ws_thread_id());
	atomic_store_explicit(state_of(thread_buffer), WS_THREAD_BUFFER_LEFT, memory_order_release);
}

int ws_thread_buffer_setup(void)
{
	return pthread_key_create(&thread_buffer_key, thread_ended);
}

/* One that is ours by now, and has its memory. */
static struct ws_thread_buffer *begin(struct ws_thread_buffer *thread_buffer)
{
	char name[17] = "";
	uint32_t thread;

	prctl(PR_GET_NAME, name);
	thread = ws_thread_with_buffer(ws_thread_id(), name);
	if (!thread || pthread_setspecific(thread_buffer_key, thread_buffer)) {
		atomic_store(state_of(thread_buffer), WS_THREAD_BUFFER_FREE);
		return NULL;
	}
	thread_buffer->thread = thread;
	thread_buffer->pops_owed = 0;
	thread_buffer->kernels = 0;
	atomic_store_explicit(&thread_buffer->writer, 0, memory_order_relaxed);
	memset(thread_buffer->domains, 0, sizeof(thread_buffer->domains));
	ws_self.thread_buffer = thread_buffer;
	return thread_buffer;
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
 * Take a buffer in this state: FREE, which has its memory, or NONE, which gets it here. Page faults
 * belong here, at a thread's first event, not into its measured ranges. NULL: there is none.
 */
static struct ws_thread_buffer *take(enum ws_thread_buffer_state wanted)
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
		/* of a segment that cannot grow all buffers are FREE from the start, and not
		 * touched yet */
		if ((is_new || thread_buffer->ready < first) &&
		    ws_seg_populate(seg, thread_buffer, WS_THREAD_BUFFER_HEADER_SIZE + first)) {
			atomic_store(state, wanted);
			return NULL;
		}
		if (thread_buffer->ready < first)
			thread_buffer->ready = first;
		if (is_new)
			atomic_store(state, WS_THREAD_BUFFER_OWNED);
		return begin(thread_buffer);
	}
	return NULL;
}

struct ws_thread_buffer *ws_thread_buffer_find(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	struct ws_thread_buffer *found;
	uint32_t freed = atomic_load(&seg->thread_buffers_freed);

	/* in the middle of a range its pops would have no push; else look when it makes sense */
	if (ws_self.depth || ws_self.looked == freed + 1)
		return NULL;
	ws_self.looked = freed + 1;
	/* what has memory first: so a program of short threads takes no more than it must */
	found = take(WS_THREAD_BUFFER_FREE);
	return found ? found : take(WS_THREAD_BUFFER_NONE);
}
