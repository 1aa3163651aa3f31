/* One lane for each thread: taken at its first event, given up when it ends. */
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

static pthread_key_t lane_key;

static void thread_ended(void *arg)
{
	struct ws_lane *lane = arg;

	ws_self.lane = NULL;
	ws_range_abandoned(lane);
	ws_thread_ended((uint32_t)gettid());
	atomic_store_explicit(&lane->state, WS_LANE_LEFT, memory_order_release);
}

int ws_lane_setup(void)
{
	return pthread_key_create(&lane_key, thread_ended);
}

/* Page faults belong here, at a thread's first event, not into its measured ranges. */
static void prefault(struct ws_lane *lane)
{
	madvise(lane, WS_LANE_HEADER_SIZE + ws_collector.ring_size, MADV_POPULATE_WRITE);
}

static struct ws_lane *take(struct ws_lane *lane)
{
	char name[17] = "";
	uint32_t thread;

	prctl(PR_GET_NAME, name);
	thread = ws_thread_with_lane((uint32_t)gettid(), name);
	if (!thread || pthread_setspecific(lane_key, lane)) {
		atomic_store(&lane->state, WS_LANE_FREE);
		return NULL;
	}
	prefault(lane);
	lane->thread = thread;
	lane->pops_owed = 0;
	lane->kernels = 0;
	atomic_store_explicit(&lane->writing, 0, memory_order_relaxed);
	memset(lane->domains, 0, sizeof(lane->domains));
	ws_self.lane = lane;
	return lane;
}

struct ws_lane *ws_lane_find(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	uint32_t freed = atomic_load(&seg->lanes_freed);

	/* in the middle of a range its pops would have no push; else look when it makes sense */
	if (ws_self.depth || ws_self.looked == freed + 1)
		return NULL;
	ws_self.looked = freed + 1;
	for (uint32_t i = 0; i < seg->lane_count; i++) {
		struct ws_lane *lane = ws_seg_lane(seg, i);
		uint32_t state = WS_LANE_FREE;

		if (atomic_compare_exchange_strong(&lane->state, &state, WS_LANE_OWNED))
			return take(lane);
	}
	return NULL;
}
