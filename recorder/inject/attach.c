/*
 * What happens once in each process: find the segment, become its owner,
 * survive fork and exec.
 */
#include "recorder/inject/attach.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/collect/collector.h"
#include "recorder/collect/capture_range.h"
#include "recorder/collect/control.h"
#include "recorder/cupti/source.h"
#include "recorder/shared/segment_slots.h"

struct ws_collector ws_collector;

static pthread_mutex_t attach_lock = PTHREAD_MUTEX_INITIALIZER;
static int attach_tried;
static _Atomic int forked_unseen; /* a forked child that has not used NVTX so far */

/*
 * A forked child shares the mapping; nothing it does may reach the parent's
 * rings. Not MADV_DONTFORK: a callback that fork interrupted would fault. Rings
 * are not used any more; the buffers that CUPTI has in hand keep what is in
 * them, as its handlers of exit may go through them.
 */
static void make_private(struct ws_seg_header *seg)
{
	char *old = (char *)seg + seg->threads_offset;
	size_t size = seg->total_size - seg->threads_offset;
	char *fresh = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fresh == MAP_FAILED) {
		(void)mmap(old, size, PROT_READ | PROT_WRITE,
		           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		return;
	}
	for (uint32_t i = 0; i < seg->activity.count; i++)
		if (ws_slot_is_used(seg, i) && !atomic_load(&ws_seg_slot(seg, i)->done))
			memcpy(fresh + (ws_slot_bytes(seg, i) - (uint8_t *)old),
			       ws_slot_bytes(seg, i), seg->activity.stride);
	mremap(fresh, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, old);
}

static void after_fork_in_child(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	if (!seg)
		return;
	attach_lock = unlocked;
	if (!atomic_exchange(&ws_collector.is_recording, 0))
		return;
	atomic_store(&forked_unseen, 1);
	ws_thread_forked();
	ws_cupti_forked();
	make_private(seg);
}

bool ws_attach_off(void)
{
	if (WS_UNLIKELY(atomic_load_explicit(&forked_unseen, memory_order_relaxed)) &&
	    atomic_exchange(&forked_unseen, 0))
		ws_lost(WS_DROPPED_process_not_recorded, 1);
	return 0;
}

static void attach(void)
{
	struct ws_seg_header *seg = ws_control_claim();
	char path[PATH_MAX];
	ssize_t n;

	if (!seg)
		return;
	ws_collector.seg = seg;
	ws_collector.ring_size = seg->ring_size;
	if (ws_thread_buffer_setup() || pthread_atfork(NULL, NULL, after_fork_in_child))
		return;

	/* after an exec: the CUPTI of the image before writes no more */
	if (atomic_load(&seg->images))
		ws_slots_give_up(seg);
	ws_def_reload();
	for (uint32_t i = 0; i < seg->thread_buffer_count; i++)
		if (ws_seg_has_thread_buffer(seg, i))
			ws_range_abandoned(ws_seg_thread_buffer(seg, i));
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	ws_collector.image = atomic_fetch_add(&seg->images, 1) + 1;
	ws_define_process(ws_now_ns(), ws_collector.image, path);
	atomic_store(&seg->attached, 1);
	atomic_store(&ws_collector.is_recording, 1);
}

bool ws_attach_once(void)
{
	sigset_t before;
	int on;

	ws_lock(&attach_lock, &before);
	if (!attach_tried) {
		attach_tried = 1;
		attach();
	}
	on = atomic_load(&ws_collector.is_recording);
	ws_unlock(&attach_lock, &before);
	return on ? 1 : ws_attach_off();
}
