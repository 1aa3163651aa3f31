/*
 * A thread makes CUPTI hand over what it has, and notices meanwhile whether CUPTI
 * still hands records to us, and whose clock it uses.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "recorder/collect/collector.h"
#include "recorder/cupti/source.h"
#include "recorder/shared/segment.h"
#include "recorder/shared/system.h"

/* Slots that are free while there is room, so that no launch has to wait for memory. */
#define STOCK_SLOTS    4
#define FIRST_FLUSH_MS 10
/* How long the end of the program waits for a flush that is under way. */
#define LEAVE_MS 2000
/* Flushes in a row after which a call of ours that nobody told of means that others are told. */
#define MISSES 2
/* CUPTI's clock is ours to some 100 ns; a clock of somebody else's is years away. */
#define CLOCK_SLACK_NS INT64_C(1000000000)

static _Atomic int exiting;
static _Atomic int is_running;
static _Atomic int flush_now;
static _Atomic uint32_t wake, ended; /* semaphores, whose waits no change of the date reaches */

static void post(_Atomic uint32_t *semaphore)
{
	atomic_fetch_add(semaphore, 1);
	(void)syscall(SYS_futex, semaphore, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* 0 when the semaphore was posted in time. (glibc has had sem_clockwait since 2.30 only.) */
static int wait_ms(_Atomic uint32_t *semaphore, uint32_t ms)
{
	struct timespec until;
	uint32_t n;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	for (;;) {
		n = atomic_load(semaphore);
		while (n)
			if (atomic_compare_exchange_weak(semaphore, &n, n - 1))
				return 0;
		if (syscall(SYS_futex, semaphore, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, NULL,
		            FUTEX_BITSET_MATCH_ANY) &&
		    errno == ETIMEDOUT)
			return -1;
	}
}

/*
 * Called with no lock held, as the completion callback may run inside. FlushAll
 * gives back what is complete; forced also what is not, whose kernels then have
 * no end.
 */
void ws_cupti_flush(uint32_t flag)
{
	size_t dropped = 0;
	int64_t begin_ns, ns;
	int result;
	struct ws_seg_gpu *gpu;
	uint64_t longest;

	if (!ws_cupti_is_ours() || atomic_load(&ws_cupti_is_final))
		return;
	begin_ns = ws_now_ns();
	result = ws_cupti.ActivityFlushAll(flag);
	/* CUPTI has no records of flushes that it was asked for, so they are timed here. */
	ns = ws_now_ns() - begin_ns;
	gpu = &ws_collector.seg->gpu;
	longest = atomic_load(&gpu->flush_longest_ns);
	atomic_fetch_add(&gpu->flushes, 1);
	atomic_fetch_add(&gpu->flush_ns, (uint64_t)ns);
	while ((uint64_t)ns > longest &&
	       !atomic_compare_exchange_weak(&gpu->flush_longest_ns, &longest, (uint64_t)ns))
		;
	if (result != WS_CUPTI_OK)
		ws_cupti_count_error(result, "cuptiActivityFlushAll");
	/* counts from 0 again each time it is read */
	if (ws_cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) == WS_CUPTI_OK && dropped)
		ws_lost(WS_DROPPED_activity_dropped, dropped);
}

/*
 * A profiler inside the program can register its own buffers in the place of
 * ours (PyTorch's does), and nothing says so. So each flush is preceded by a
 * call of ours that CUPTI must tell of.
 */
static struct {
	int (*call)(int *version);
	uint64_t seen; /* records of our thread when last looked at */
	int is_armed;  /* one came back: so its absence means something */
	int missed;
} probe;

static void probe_begin(void)
{
	int version;

	if (probe.call)
		probe.call(&version);
}

/* Once there is a context: only with a buffer for each thread is ours complete at any time. */
static void probe_start(void)
{
	void *driver;

	if (!ws_cupti_has_thread_buffers || ws_collector.seg->capture.api == WS_CAPTURE_NO_API)
		return;
	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (!driver)
		return;
	*(void **)&probe.call = dlsym(driver, WS_CUPTI_PROBE_CALL);
	dlclose(driver);
}

/* A pool without a free buffer explains why nothing comes. */
static void flush_and_look(uint32_t flag, int misses_allowed)
{
	uint64_t refused = atomic_load(&ws_collector.seg->lost[WS_DROPPED_activity_refused]);

	ws_cupti_flush(flag);
	if (refused == atomic_load(&ws_collector.seg->lost[WS_DROPPED_activity_refused])) {
		uint64_t seen = atomic_load(&ws_cupti_own_records);

		if (probe.call) {
			if (seen != probe.seen) {
				probe.is_armed = 1;
				probe.missed = 0;
			} else if (probe.is_armed && ++probe.missed > misses_allowed) {
				probe.call = NULL;
				probe.is_armed = 0;
				ws_cupti_taken();
			}
			probe.seen = seen;
		}
	}
}

/* CUPTI 13 under WSL2 tells CLOCK_MONOTONIC_RAW: nobody can set it, and it drifts. */
static bool is_raw;

/* How far ahead CUPTI's clock will be at that time, by the last reading. */
static int64_t expected_apart(const struct ws_seg_gpu_clock *last, int64_t at_ns)
{
	return last->apart_ns + ws_clock_drift(at_ns - last->from_ns, last->drift_ppb);
}

/* Of a clock that drifts, from its last entry until now: the longer, the more exact. */
static int64_t drift_ppb(const struct ws_seg_gpu_clock *last, int64_t apart_ns, int64_t at_ns)
{
	int64_t since_ns = at_ns - last->from_ns;

	return since_ns > 0
	               ? (int64_t)((double)(apart_ns - last->apart_ns) * 1e9 / (double)since_ns)
	               : 0;
}

/* CUPTI's clock is so far ahead of ours, since the reading before this one at the earliest. It was
 * read between before_ns and now: the step may have come right behind it, or right before. */
static void note_clock(struct ws_seg_gpu *gpu, int64_t before_ns, int64_t apart_ns, int64_t at_ns)
{
	uint32_t n = atomic_load(&gpu->nclocks);
	struct ws_seg_gpu_clock *last = n ? &gpu->clocks[n - 1] : NULL;

	if (last && llabs(apart_ns - expected_apart(last, at_ns)) < WS_CLOCK_STEP_NS) {
		atomic_store(&last->until_ns, before_ns);
	} else if (n < WS_SEG_GPU_CLOCKS) {
		gpu->clocks[n].apart_ns = apart_ns;
		gpu->clocks[n].drift_ppb = is_raw && last ? drift_ppb(last, apart_ns, at_ns) : 0;
		gpu->clocks[n].from_ns = is_raw ? at_ns : ws_now_ns();
		atomic_store(&gpu->clocks[n].until_ns, before_ns);
		atomic_store_explicit(&gpu->nclocks, n + 1, memory_order_release);
	}
}

/* The first reading says which of the system's clocks it is; 0: none of them. */
static bool is_of_the_system(uint32_t nclocks, int64_t apart_ns, int64_t real_ns)
{
	int64_t raw_ns;

	if (!nclocks)
		is_raw = llabs(apart_ns - real_ns) > CLOCK_SLACK_NS &&
		         !ws_clock_apart(ws_clock_read_raw, &raw_ns) &&
		         llabs(apart_ns - raw_ns) <= CLOCK_SLACK_NS;
	return (!nclocks && is_raw) || (!is_raw && llabs(apart_ns - real_ns) <= CLOCK_SLACK_NS);
}

/*
 * Where CUPTI's clock stands beside ours: it is CLOCK_REALTIME as a rule, which somebody can set.
 * A timestamp callback of somebody else's makes times that no one can place.
 */
void ws_cupti_look_at_clock(void)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;
	uint32_t n = atomic_load(&gpu->nclocks);
	int64_t before_ns = ws_now_ns(), apart_ns, at_ns, real_ns;

	if (atomic_load(&ws_cupti_is_final) ||
	    ws_clock_apart_at(ws_cupti_time, &apart_ns, &at_ns) ||
	    ws_clock_apart(ws_clock_read_realtime, &real_ns))
		return;
	if (!is_of_the_system(n, apart_ns, real_ns) &&
	    (!n || llabs(apart_ns - expected_apart(&gpu->clocks[n - 1], at_ns)) > CLOCK_SLACK_NS)) {
		/* set between the two readings? */
		if (is_raw || ws_clock_apart_at(ws_cupti_time, &apart_ns, &at_ns) ||
		    llabs(apart_ns - ws_clock_realtime_apart()) > CLOCK_SLACK_NS)
			atomic_fetch_or(&gpu->stopped, WS_GPU_STOP_CLOCK);
		return;
	}
	real_ns = apart_ns - real_ns;
	if (!is_raw && llabs(real_ns) > llabs(atomic_load(&gpu->realtime_apart_ns)))
		atomic_store(&gpu->realtime_apart_ns, real_ns);
	note_clock(gpu, before_ns, apart_ns, at_ns);
}

/*
 * Page faults belong here, not into the launches that fill the buffers (measured: 70 ns a launch
 * in a buffer without memory). 0: there are enough, or there is no room for one more.
 */
static bool stock_up(struct ws_seg_header *seg)
{
	int slot = ws_slots_free(seg) < STOCK_SLOTS ? ws_slot_grow(seg) : -1;

	if (slot >= 0)
		ws_slot_put_back(seg, (uint32_t)slot);
	return slot >= 0;
}

/* Once there is a context. True the first time. */
static bool define_facts(bool *known)
{
	if (*known || !atomic_load(&ws_cupti_may_flush))
		return false;
	*known = true;
	ws_cupti_define_facts();
	return true;
}

/* Before there is a context CUPTI has nothing, and cuInit may still be at work. */
static void flush_once(bool *facts_known)
{
	if (!atomic_load(&ws_cupti_may_flush))
		return;
	if (define_facts(facts_known))
		probe_start();
	if (ws_libraries_define()) {
		/* A profiler that brings a CUPTI of its own, as Triton's Proton does. */
		struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;
		static const char file[] = "libcupti";

		if (!(atomic_load(&gpu->stopped) & WS_GPU_STOP_SECOND)) {
			if (ws_library_second(file, *(void **)&ws_cupti.GetVersion, gpu->second,
			                      sizeof(gpu->second)))
				atomic_fetch_or(&gpu->stopped, WS_GPU_STOP_SECOND);
		}
	}
	probe_begin();
	ws_cupti_look_at_clock();
	flush_and_look(0, MISSES - 1);
	ws_cupti_look_at_clock();
}

/*
 * At first in short intervals: what was flushed has its kernels' names, so even
 * a program that dies young leaves few kernels without.
 */
static void *flush_from_time_to_time(void *arg)
{
	struct ws_seg_header *seg = ws_collector.seg;
	const uint32_t wanted_ms = seg->capture.flush_interval_ms;
	const uint32_t longest_ms = wanted_ms ? wanted_ms : WS_CAPTURE_FLUSH_MS;
	uint32_t interval_ms = FIRST_FLUSH_MS;
	bool facts_known = false;

	prctl(PR_SET_NAME, "warpsheet");
	atomic_store(&seg->gpu.flush_thread, ws_thread_id());
	while (!atomic_load(&exiting)) {
		/* Wait for the time of the next flush, and meanwhile for slots that are taken. */
		const uint32_t ms = interval_ms < longest_ms ? interval_ms : longest_ms;
		int64_t until_ns = ws_now_ns() + (int64_t)ms * 1000000, left_ns;

		do {
			/* a program that never has a context needs none */
			while (atomic_load(&ws_cupti_may_flush) && !atomic_load(&exiting) &&
			       stock_up(seg))
				;
			left_ns = until_ns - ws_now_ns();
		} while (left_ns > 0 && !atomic_load(&exiting) &&
		         !wait_ms(&wake, (uint32_t)(left_ns / 1000000)) &&
		         !atomic_exchange(&flush_now, 0));
		interval_ms = interval_ms < longest_ms ? interval_ms * 2 : longest_ms;
		if (atomic_load(&exiting))
			break;
		flush_once(&facts_known);
	}
	define_facts(&facts_known); /* of a program that ends before the first flush */
	probe_begin();              /* what the last flush must bring */
	post(&ended);
	return arg;
}

int ws_cupti_start_thread(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	sigfillset(&all);
	if (pthread_attr_init(&attr))
		return -1;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* the program's signals are for the program's threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attr, flush_from_time_to_time, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	atomic_store(&is_running, !error);
	return error ? -1 : 0;
}

void ws_cupti_wake(void)
{
	atomic_store(&flush_now, 1);
	post(&wake);
}

void ws_cupti_slot_taken(void)
{
	const struct ws_seg_header *seg = ws_collector.seg;

	if (atomic_load(&is_running) && ws_slots_free(seg) < STOCK_SLOTS &&
	    !atomic_load(&seg->slots_no_room))
		post(&wake);
}

/*
 * May run twice: CUDA's own handler must not come before ours, see
 * context_created(). The thread has left CUPTI before CUDA's handler tears it down.
 */
void ws_cupti_at_exit(void)
{
	int has_ended;

	if (!ws_cupti_is_ours())
		return;
	atomic_store(&exiting, 1);
	post(&wake);
	has_ended = atomic_exchange(&is_running, 0) && !wait_ms(&ended, LEAVE_MS);
	if (!atomic_load(&ws_cupti_may_flush))
		return;
	if (!has_ended) { /* the thread may be looking at the clock */
		ws_cupti_flush(WS_CUPTI_FLUSH_FORCED);
		return;
	}
	ws_cupti_look_at_clock();
	flush_and_look(WS_CUPTI_FLUSH_FORCED, 0);
}

void ws_cupti_forked(void)
{
	/* CUDA does not outlive a fork; a child of a process without it may start it */
	if (atomic_load(&ws_collector.seg->gpu.state) == WS_GPU_NONE)
		return;
	atomic_store(&ws_cupti_is_parents, 1);
	atomic_store(&exiting, 1);
	atomic_store(&is_running, 0);
}
