/* One thread buffer for each thread: taken at its first event, given up when it ends. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "recorder/collect/capture_range.h"
#include "recorder/collect/collector.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels refuse it, which is harmless */
#endif

__thread struct ws_self ws_self;

static pthread_key_t thread_buffer_key;

static void thread_ended(void *arg)
{
	struct ws_thread_buffer *thread_buffer = arg;

	ws_self.thread_buffer = NULL;
	ws_range_abandoned(thread_buffer);
	ws_thread_ended((uint32_t)gettid());
	atomic_store_explicit(&thread_buffer->state, WS_THREAD_BUFFER_LEFT, memory_order_release);
}

int ws_thread_buffer_setup(void)
{
	return pthread_key_create(&thread_buffer_key, thread_ended);
}

/* Page faults belong here, at a thread's first event, not into its measured ranges. */
static void prefault(struct ws_thread_buffer *thread_buffer)
{
	madvise(thread_buffer, WS_THREAD_BUFFER_HEADER_SIZE + ws_collector.ring_size,
	        MADV_POPULATE_WRITE);
}

static struct ws_thread_buffer *take(struct ws_thread_buffer *thread_buffer)
{
	char name[17] = "";
	uint32_t thread;

	prctl(PR_GET_NAME, name);
	thread = ws_thread_with_buffer((uint32_t)gettid(), name);
	if (!thread || pthread_setspecific(thread_buffer_key, thread_buffer)) {
		atomic_store(&thread_buffer->state, WS_THREAD_BUFFER_FREE);
		return NULL;
	}
	prefault(thread_buffer);
	thread_buffer->thread = thread;
	thread_buffer->pops_owed = 0;
	thread_buffer->kernels = 0;
	atomic_store_explicit(&thread_buffer->writer, 0, memory_order_relaxed);
	memset(thread_buffer->domains, 0, sizeof(thread_buffer->domains));
	ws_self.thread_buffer = thread_buffer;
	return thread_buffer;
}

struct ws_thread_buffer *ws_thread_buffer_find(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	uint32_t freed = atomic_load(&seg->thread_buffers_freed);

	/* in the middle of a range its pops would have no push; else look when it makes sense */
	if (ws_self.depth || ws_self.looked == freed + 1)
		return NULL;
	ws_self.looked = freed + 1;
	for (uint32_t i = 0; i < seg->thread_buffer_count; i++) {
		struct ws_thread_buffer *thread_buffer = ws_seg_thread_buffer(seg, i);
		uint32_t state = WS_THREAD_BUFFER_FREE;

		if (atomic_compare_exchange_strong(&thread_buffer->state, &state,
		                                   WS_THREAD_BUFFER_OWNED))
			return take(thread_buffer);
	}
	return NULL;
}
