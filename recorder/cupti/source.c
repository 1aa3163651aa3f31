/*
 * Configures CUPTI and handles its callbacks. CUPTI requests buffers on launching threads, so a
 * request only takes the number of a free slot. Full buffers come back mostly on CUPTI's own
 * thread. They are read while the pointers in them are valid: names go into the definition log, and
 * their ids replace the pointers in the records.
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/prctl.h>

#include "recorder/cupti/source.h"

/* --- flush ----------------------------------------------------------------------------------- */

/*
 * A thread makes CUPTI hand over its records from time to time. It also checks whether CUPTI still
 * delivers records to us, and which clock CUPTI uses.
 */

/* Number of slots kept free, so that no launch has to wait for memory. */
#define STOCK_SLOTS 4
/* Free slots beyond this number lose their memory if they were free for this many flush intervals:
 * the launcher has read a backlog. */
#define SPARE_SLOTS     (2 * STOCK_SLOTS)
#define SPARE_INTERVALS 4
#define FIRST_FLUSH_MS  10
/* How often requests of `warpsheet ctl` are looked for. */
#define STANDBY_LOOK_NS INT64_C(50000000)
/* How long the end of the program waits for a running flush. */
#define LEAVE_MS 2000
/* After this many flushes without a record of our own call, another profiler gets the records. */
#define MISSES 2
/* CUPTI's usual clock agrees with the system's to some 100 ns; a clock set by another tool differs
 * by years. */
#define CLOCK_SLACK_NS INT64_C(1000000000)

static _Atomic int exiting;
static _Atomic int is_running;
static _Atomic int flush_now;
static _Atomic uint32_t wake, ended; /* semaphores; waiting for them does not depend on the date */

static void post(_Atomic uint32_t *semaphore)
{
	atomic_fetch_add(semaphore, 1);
	(void)syscall(SYS_futex, semaphore, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Waits for a semaphore. 0: it was posted in time. (glibc has had sem_clockwait since 2.30
 * only.) */
static int wait_ms(_Atomic uint32_t *semaphore, uint32_t ms)
{
	struct timespec until;

	/* the kernel's own clock: the C library's can be replaced, as libfaketime does */
	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	for (;;) {
		uint32_t n = atomic_load(semaphore);
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
 * Called without locks, as the completion callback may run inside. FlushAll hands over complete
 * buffers. A forced flush also hands over incomplete ones, and kernels that still run then have no
 * end.
 */
static void ws_cupti_flush(uint32_t flag)
{
	size_t dropped = 0;
	struct ws_seg_gpu *gpu;

	if (!ws_cupti_is_ours() || atomic_load(&ws_cupti_is_final))
		return;
	int64_t begin_ns = ws_now_ns();
	int result = ws_cupti.ActivityFlushAll(flag);
	/* CUPTI records no flushes requested by a tool, so they are timed here. */
	int64_t ns = ws_now_ns() - begin_ns;
	gpu = &ws_collector.seg->gpu;
	uint64_t longest = atomic_load(&gpu->flush_longest_ns);
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
 * A profiler inside the program can replace our buffers by its own without notice, as PyTorch's
 * does. So we make a CUDA call before each flush, and expect a record of it.
 */
static struct {
	int (*call)(int *version);
	uint64_t seen;    /* number of records of our thread at the last check */
	uint64_t refused; /* requests of buffers at the last check */
	int is_armed;     /* a record came back before, so a missing one is significant */
	int missed;
} probe;

static void probe_begin(void)
{
	int version;

	if (probe.call)
		probe.call(&version);
}

/* Makes the call. Only once there is a context, and only with one buffer per thread, as otherwise
 * our buffer may be incomplete. */
static void probe_start(void)
{
	if (!ws_cupti_has_thread_buffers || ws_collector.seg->capture.api == WS_CAPTURE_NO_API)
		return;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (!driver)
		return;
	*(void **)&probe.call = dlsym(driver, WS_CUPTI_PROBE_CALL);
	dlclose(driver);
}

static void ws_cupti_look_at_standby(void);

/* Records were switched off since the last look. */
static _Atomic int was_switched;

/* Flushes, and checks that the record came. If a buffer was refused, to the call or later, its
 * absence proves nothing. */
static void flush_and_look(uint32_t flag, int misses_allowed)
{
	const uint64_t before = probe.refused;

	ws_cupti_flush(flag);
	probe.refused = atomic_load(&ws_collector.seg->lost[WS_DROPPED_activity_refused]);
	/* while records are switched off, the absence of one proves nothing */
	if (ws_is_unrecorded() || atomic_exchange(&was_switched, 0))
		return;
	if (before == probe.refused) {
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

/* CUPTI 13 under WSL2 uses CLOCK_MONOTONIC_RAW, which cannot be set and drifts. */
static bool is_raw;

/* The expected difference of CUPTI's clock at this time, by the last reading. */
static int64_t expected_apart(const struct ws_seg_gpu_clock *last, int64_t at_ns)
{
	return last->apart_ns + ws_clock_drift(at_ns - last->from_ns, last->drift_ppb);
}

/* The drift since the last entry, which is more exact after a longer time. */
static int64_t drift_ppb(const struct ws_seg_gpu_clock *last, int64_t apart_ns, int64_t at_ns)
{
	int64_t since_ns = at_ns - last->from_ns;

	return since_ns > 0
	               ? (int64_t)((double)(apart_ns - last->apart_ns) * 1e9 / (double)since_ns)
	               : 0;
}

/* Finds by the first reading which clock of the system CUPTI uses. False: none. */
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
 * Reads the difference of CUPTI's clock and ours. CUPTI's clock is usually CLOCK_REALTIME, which
 * can be set. If another tool gave CUPTI its own clock, times cannot be converted.
 */
static void ws_cupti_look_at_clock(void)
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
		/* was it set between the two readings? */
		if (is_raw || ws_clock_apart_at(ws_cupti_time, &apart_ns, &at_ns) ||
		    llabs(apart_ns - ws_clock_realtime_apart()) > CLOCK_SLACK_NS)
			atomic_fetch_or(&gpu->stopped, WS_GPU_STOP_CLOCK);
		return;
	}
	real_ns = apart_ns - real_ns;
	if (!is_raw && llabs(real_ns) > llabs(atomic_load(&gpu->realtime_apart_ns)))
		atomic_store(&gpu->realtime_apart_ns, real_ns);
	/* the reading was taken between before_ns and now, so a step of the clock may have happened
	 * just before or just after */
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

/*
 * Gets memory for another free slot. Page faults then happen here and not in launches (measured: 70
 * ns per launch in a buffer without memory). False: there are enough, or no room for another.
 */
static bool stock_up(struct ws_seg_header *seg)
{
	int slot = ws_slots_free(seg) < STOCK_SLOTS ? ws_slot_grow(seg) : -1;

	if (slot >= 0)
		ws_slot_put_back(seg, (uint32_t)slot);
	return slot >= 0;
}

/* Gives memory of slots back that were free for a while. */
static void give_back_spare(struct ws_seg_header *seg, uint32_t interval_ms)
{
	static uint32_t fewest = UINT32_MAX; /* free slots since the last time */
	static int64_t since_ns;
	const uint32_t n = ws_slots_free(seg);

	fewest = n < fewest ? n : fewest;
	if (ws_now_ns() - since_ns < (int64_t)interval_ms * 1000000 * SPARE_INTERVALS)
		return;
	/* launches may take many meanwhile */
	while (fewest-- > SPARE_SLOTS && ws_slots_free(seg) > SPARE_SLOTS && ws_slot_shrink(seg))
		;
	fewest = UINT32_MAX;
	since_ns = ws_now_ns();
}

/* Defines the driver's facts once there is a context. True: done in this call. */
static bool define_facts(bool *known)
{
	if (*known || !atomic_load(&ws_cupti_may_flush))
		return false;
	*known = true;
	ws_cupti_define_facts();
	return true;
}

/* Before there is a context CUPTI has no records, and cuInit may still run. */
static void flush_once(bool *facts_known)
{
	if (!atomic_load(&ws_cupti_may_flush))
		return;
	if (define_facts(facts_known))
		probe_start();
	if (ws_libraries_define()) {
		/* A profiler with its own copy of CUPTI, such as Triton's Proton. */
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
 * The intervals start short. Flushed records have their kernels' names, so that few names are
 * missing even if a program ends early.
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
		/* Waits for the next flush. Meanwhile adds free slots when some were taken. */
		const uint32_t ms = interval_ms < longest_ms ? interval_ms : longest_ms;
		const int64_t part_ns = seg->capture.standby ? STANDBY_LOOK_NS : INT64_MAX;
		int64_t until_ns = ws_now_ns() + (int64_t)ms * 1000000, left_ns;
		bool waits_on;

		do {
			/* a program without a context needs no free slots */
			while (atomic_load(&ws_cupti_may_flush) && !atomic_load(&exiting) &&
			       stock_up(seg))
				;
			give_back_spare(seg, longest_ms);
			if (seg->capture.standby)
				ws_cupti_look_at_standby();
			left_ns = until_ns - ws_now_ns();
			waits_on = left_ns > 0 && !atomic_load(&exiting);
			if (waits_on &&
			    wait_ms(&wake,
			            (uint32_t)((left_ns < part_ns ? left_ns : part_ns) / 1000000)))
				waits_on = left_ns > part_ns;
			else if (waits_on)
				waits_on = !atomic_exchange(&flush_now, 0);
		} while (waits_on);
		interval_ms = interval_ms < longest_ms ? interval_ms * 2 : longest_ms;
		if (atomic_load(&exiting))
			break;
		flush_once(&facts_known);
	}
	define_facts(&facts_known); /* for a program that ends before the first flush */
	probe_begin();              /* the last flush must deliver its record */
	post(&ended);
	return arg;
}

/* Starts the flushing thread. 0; -1: it could not be started. */
static int ws_cupti_start_thread(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	sigfillset(&all);
	if (pthread_attr_init(&attr))
		return -1;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* signals must be handled by the program's threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(&thread, &attr, flush_from_time_to_time, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	atomic_store(&is_running, !error);
	return error ? -1 : 0;
}

/*
 * May run twice: CUDA's own handler must not come before ours, see
 * context_created(). The thread has left CUPTI before CUDA's handler tears it down.
 */
static void ws_cupti_at_exit(void)
{
	if (!ws_cupti_is_ours())
		return;
	atomic_store(&exiting, 1);
	post(&wake);
	int has_ended = atomic_exchange(&is_running, 0) && !wait_ms(&ended, LEAVE_MS);
	if (!atomic_load(&ws_cupti_may_flush))
		return;
	if (!has_ended) { /* the thread may be reading the clock */
		ws_cupti_flush(WS_CUPTI_FLUSH_FORCED);
		return;
	}
	ws_cupti_look_at_clock();
	flush_and_look(WS_CUPTI_FLUSH_FORCED, 0);
}

void ws_cupti_forked(void)
{
	/* CUDA does not work in a forked child, unless the parent had not started it */
	if (atomic_load(&ws_collector.seg->gpu.state) == WS_GPU_NONE)
		return;
	atomic_store(&ws_cupti_is_parents, 1);
	atomic_store(&exiting, 1);
	atomic_store(&is_running, 0);
}

/* --- buffers --- */

static void request_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
	struct ws_seg_header *seg = ws_collector.seg;
	int slot = -1;

	*max_records = 0; /* as many as fit */
	if (WS_LIKELY(ws_cupti_is_ours())) {
		slot = ws_slot_take(seg, ws_collector.image);
		if (slot < 0)
			ws_lost(WS_DROPPED_activity_refused, 1);

		/* Gets memory for another, when few are free. */
		if (atomic_load(&is_running) && ws_slots_free(seg) < STOCK_SLOTS &&
		    !atomic_load(&seg->slots_no_room))
			post(&wake);
	}
	*buffer = slot < 0 ? NULL : ws_slot_bytes(seg, (uint32_t)slot);
	*size = slot < 0 ? 0 : seg->activity.stride;
}

/* --- kernel names --- */

/* Once three quarters are used, further names are searched in the log each time. */
#define NAMES (1u << 15)

static struct {
	_Atomic uint64_t address; /* 0: unused */
	_Atomic uint32_t string;
	_Atomic uint32_t age; /* number of modules loaded when it was last compared with the text */
} names[NAMES];
static uint32_t names_used;
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t modules_loaded;

/* Index of the name, or of the place to add it. The table is never full. */
static uint32_t name_place(uint64_t address)
{
	uint32_t i = (uint32_t)(address * UINT64_C(0x9E3779B97F4A7C15) >> 40);

	for (;; i++) {
		uint64_t found =
		        atomic_load_explicit(&names[i % NAMES].address, memory_order_acquire);

		if (!found || found == address)
			return i % NAMES;
	}
}

/* Whether the text at an address is still the same. CUPTI may reuse the memory after a module is
 * unloaded. */
static bool is_same_text(uint32_t string, const char *text)
{
	uint32_t size;
	const char *known = ws_string_text(string, &size);
	size_t len = strnlen(text, WS_MAX_TEXT);

	return known && len == size && !memcmp(known, text, len);
}

/* Defines a name and enters its address in the table. */
static uint32_t learn_name(uint32_t place, uint64_t address, const char *text, uint32_t age)
{
	uint32_t string = ws_define_string((struct ws_event_text){.ptr = text});
	sigset_t before;

	if (string == WS_DEF_NONE)
		return WS_DEF_NONE;
	ws_lock(&names_lock, &before);
	place = name_place(address); /* another thread may have added it meanwhile */
	if (atomic_load(&names[place].address) || names_used < NAMES / 4 * 3) {
		names_used += !atomic_load(&names[place].address);
		if (atomic_load(&names[place].string) != string)
			ws_define_kernel(address, string);
		atomic_store(&names[place].string, string);
		atomic_store(&names[place].age, age);
		atomic_store_explicit(&names[place].address, address, memory_order_release);
	}
	ws_unlock(&names_lock, &before);
	return string;
}

/* The id of a kernel's name, WS_DEF_NONE when the log is full. */
static uint32_t name_string(uint64_t address)
{
	const char *text = (const char *)(uintptr_t)address; /* NOLINT: as CUPTI gave it */
	uint32_t age = atomic_load_explicit(&modules_loaded, memory_order_relaxed);
	uint32_t place = name_place(address);
	uint32_t string = atomic_load_explicit(&names[place].string, memory_order_relaxed);

	if (WS_UNLIKELY(!atomic_load_explicit(&names[place].address, memory_order_relaxed)))
		return learn_name(place, address, text, age);
	if (WS_LIKELY(atomic_load_explicit(&names[place].age, memory_order_relaxed) == age))
		return string;
	if (!is_same_text(string, text))
		return learn_name(place, address, text, age);
	atomic_store_explicit(&names[place].age, age, memory_order_relaxed);
	return string;
}

/* --- records --- */

/* Replaces the pointer at record + at by the text's id. */
static void replace_name(uint8_t *record, size_t at)
{
	uint64_t value;

	memcpy(&value, record + at, sizeof(value));
	if (!value || value & WS_SLOT_TEXT_ID)
		return;
	uint32_t string = name_string(value);
	if (string == WS_DEF_NONE) /* counted as lost; the launcher shows the address instead */
		return;
	value = WS_SLOT_TEXT_ID | string;
	memcpy(record + at, &value, sizeof(value));
}

/* A buffer usually has records of one thread, so the last result is tried first. */
static void replace_thread(uint8_t *record, size_t at, uint32_t *tid, uint32_t *thread)
{
	uint32_t value;

	memcpy(&value, record + at, sizeof(value));
	if (!value || value & WS_SLOT_THREAD_ID)
		return;
	/* calls by our own thread are only counted, for the probe */
	if (value ==
	    atomic_load_explicit(&ws_collector.seg->gpu.flush_thread, memory_order_relaxed)) {
		atomic_fetch_add(&ws_cupti_own_records, 1);
		return;
	}
	if (value != *tid) {
		*tid = value;
		*thread = ws_thread_of(value);
	}
	if (!*thread)
		return;
	value = WS_SLOT_THREAD_ID | *thread;
	memcpy(record + at, &value, sizeof(value));
}

static void complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid_size)
{
	struct ws_seg_header *seg = ws_collector.seg;
	/* computed as integers, as another profiler's buffer is outside this memory */
	uint64_t offset = (uintptr_t)buffer - (uintptr_t)ws_slot_bytes(seg, 0);
	uint32_t slot = (uint32_t)(offset / seg->activity.stride);
	uint32_t tid = 0, thread = 0;
	uint8_t *record = NULL;
	int has_overhead_data;

	(void)context;
	(void)stream;
	(void)size;
	/* in a forked child this memory is private and not read */
	if (!ws_cupti_is_ours())
		return;
	/* another profiler's buffer was handed to us, so that profiler misses it */
	if (offset % seg->activity.stride || slot >= seg->activity.count) {
		atomic_fetch_or(&seg->gpu.stopped, WS_GPU_STOP_FOREIGN);
		return;
	}
	if (!valid_size) {
		ws_slot_put_back(seg, slot);
		return;
	}
	ws_cupti_tell_sizes();
	/* replace names of kernels and devices, and numbers of threads, by ids of the log */
	has_overhead_data =
	        atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_12_4;
	while (ws_cupti_next(buffer, valid_size, &record) == WS_CUPTI_OK) {
		switch (ws_cupti_kind(record)) {
		case WS_CUPTI_KIND_KERNEL:
		case WS_CUPTI_KIND_CONCURRENT_KERNEL:
			replace_name(record, WS_CUPTI_AT_kernel_name);
			break;
		case WS_CUPTI_KIND_DRIVER:
		case WS_CUPTI_KIND_RUNTIME:
			replace_thread(record, WS_CUPTI_AT_api_thread, &tid, &thread);
			break;
		case WS_CUPTI_KIND_DEVICE:
			replace_name(record, WS_CUPTI_AT_device_name);
			break;
		case WS_CUPTI_KIND_OVERHEAD:
			if (has_overhead_data) {
				/* Since 12.4 CUPTI allocates a description for this kind of
				 * overhead, which we must free. */
				struct ws_cupti_overhead o;

				ws_cupti_read_overhead(&o, record, WS_CUPTI_SIZE_overhead);
				if (o.kind == WS_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL)
					free((void *)(uintptr_t)
					             o.data); /* NOLINT: as CUPTI gave it */
			}
			break;
		default:
			break;
		}
	}
	ws_slot_finish(seg, slot, valid_size);
}

static void request_scoped_buffer(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
	(void)info;
	request_buffer(buffer, size, max_records);
}

static void complete_scoped_buffer(uint8_t *buffer, size_t size, size_t valid_size, void *info)
{
	(void)info;
	complete_buffer(NULL, 0, buffer, size, valid_size);
}

static const struct ws_cupti_buffers buffers = {
        .request = request_buffer,
        .complete = complete_buffer,
        .request_v2 = request_scoped_buffer,
        .complete_v2 = complete_scoped_buffer,
};

/* --- start: options and callbacks --- */

/* Sets the reason why CUDA is not recorded. */
static int refuse(enum ws_gpu_state state, const char *function, int result)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;
	const char *words = NULL;

	gpu->result = result;
	if (result == WS_CUPTI_INSUFFICIENT_PRIVILEGES || result == WS_CUPTI_VIRTUALIZED_PRIVILEGES)
		state = WS_GPU_NOT_PERMITTED;
	if (ws_cupti.GetResultString(result, &words) != WS_CUPTI_OK || !words)
		words = "";
	if (state != WS_GPU_OTHER_TOOL)
		snprintf(gpu->text, sizeof(gpu->text), "%s: %s", function, words);
	atomic_store(&gpu->state, state);
	return -1;
}

#define REQUIRE(name, ...)                                                          \
	do {                                                                        \
		int result_ = ws_cupti.name(__VA_ARGS__);                           \
		if (result_ != WS_CUPTI_OK)                                         \
			return refuse(WS_GPU_CUPTI_FAILED, "cupti" #name, result_); \
	} while (0)

/* Registers our exit handler. Handlers run in reverse order, so ours runs before CUDA's, which is
 * registered by now. */
static void context_created(void)
{
	static _Atomic int has_context;

	if (atomic_exchange(&has_context, 1))
		return;
	atomic_store(&ws_cupti_may_flush, 1);
	atexit(ws_cupti_at_exit);

	/* Flush now. */
	atomic_store(&flush_now, 1);
	post(&wake);
}

/* After a fatal error CUPTI shuts itself down and must not be called any more. */
static void state_changed(uint32_t cbid, const struct ws_cupti_state_callback *data)
{
	if (cbid == WS_CUPTI_CBID_STATE_FATAL_ERROR) {
		atomic_store(&ws_cupti_is_final, 1);
		atomic_fetch_or(&ws_collector.seg->gpu.stopped, WS_GPU_STOP_FATAL);
	}
	if (cbid != WS_CUPTI_CBID_STATE_WARNING) {
		ws_lost(WS_DROPPED_activity_error, 1);
		ws_cupti_keep_error("error", data->message, (int)data->result);
	} else if (!ws_collector.seg->gpu.last_error[0]) {
		/* since 12.9 each refused buffer causes a warning, too */
		ws_cupti_keep_error("warning", data->message, (int)data->result);
	}
}

/* A node of a graph was captured or added, copied, or updated. A graph's nodes are made once, so
 * this costs a replay nothing. */
static void graph_node_made(uint32_t cbid, const struct ws_cupti_graph_callback *data)
{
	/* of a node that is no copy CUPTI promises nothing about the original */
	const bool is_copy = cbid != WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED;
	struct ws_rec_node rec = {0};

	ws_calibrate_captures();
	if (ws_collector.seg->capture.graph_level)
		return;
	if (!ws_cupti.GetGraphNodeId || atomic_load(&ws_cupti_is_final) ||
	    ws_cupti.GetGraphNodeId(data->node, &rec.node) != WS_CUPTI_OK)
		return ws_lost(WS_DROPPED_activity_error, 1);
	if (is_copy && data->original_node &&
	    ws_cupti.GetGraphNodeId(data->original_node, &rec.original) != WS_CUPTI_OK)
		return ws_lost(WS_DROPPED_activity_error, 1);
	if (ws_cupti.GetGraphId && data->graph)
		(void)ws_cupti.GetGraphId(data->graph, &rec.graph);
	ws_event_node(&rec);
}

static void on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct ws_cupti_api_callback *api = data;

	(void)user;
	if (!ws_cupti_is_ours())
		return;
	if (domain == WS_CUPTI_DOMAIN_RESOURCE && cbid == WS_CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		context_created();
	else if (domain == WS_CUPTI_DOMAIN_RESOURCE && cbid == WS_CUPTI_CBID_RESOURCE_MODULE_LOADED)
		atomic_fetch_add_explicit(&modules_loaded, 1, memory_order_relaxed);
	else if (domain == WS_CUPTI_DOMAIN_RESOURCE && cbid == WS_CUPTI_CBID_RESOURCE_INIT_FINISHED)
		ws_cupti_trace_by_hardware();
	else if (domain == WS_CUPTI_DOMAIN_RESOURCE)
		graph_node_made(cbid, data);
	else if (domain == WS_CUPTI_DOMAIN_STATE)
		state_changed(cbid, data);
	else if (api->site == WS_CUPTI_SITE_ENTER) {
		/* The runtime's profiler calls call the driver's. Handling both does no harm. */
		if (domain == WS_CUPTI_DOMAIN_RUNTIME && cbid == WS_CUPTI_CBID_RUNTIME_DEVICE_RESET)
			ws_cupti_flush(WS_CUPTI_FLUSH_FORCED); /* before the context is destroyed */
		else if (ws_cupti_is_untold_launch(domain, cbid))
			ws_lost(WS_DROPPED_launch_not_told, 1);
		else
			ws_range_profiler(domain == WS_CUPTI_DOMAIN_RUNTIME
			                          ? cbid == WS_CUPTI_CBID_RUNTIME_PROFILER_START
			                          : cbid == WS_CUPTI_CBID_DRIVER_PROFILER_START);
	}
}

/* True if CUPTI accepts the attribute. */
static bool set_attribute(int attribute)
{
	int result = ws_cupti_set(attribute);

	if (result != WS_CUPTI_OK)
		ws_cupti_count_error(result, "cuptiActivitySetAttribute(%d)", attribute);
	return result == WS_CUPTI_OK;
}

/*
 * Sets attributes so that CUPTI does not clear each buffer on the launching thread, and uses one
 * buffer per thread. The second attribute exists since 12.3, but flushing during launches, as our
 * thread does, is safe with it only since 12.6 Update 2.
 */
static void set_attributes(void)
{
	set_attribute(WS_CUPTI_ATTR_ZEROED_OUT_BUFFER);
	ws_cupti_has_thread_buffers =
	        atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_12_8 &&
	        set_attribute(WS_CUPTI_ATTR_PER_THREAD_BUFFER);
}

static int subscribe(void)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;
	struct ws_cupti_subscription s = {
	        .callback = on_callback,
	        .buffers = &buffers,
	        .set_attributes = set_attributes,
	        .other_tool = gpu->text,
	        .other_size = sizeof(gpu->text),
	        .function = "cuptiSubscribe",
	};
	int result = ws_cupti_subscribe(&s);

	if (result == WS_CUPTI_MULTIPLE_SUBSCRIBERS) {
		gpu->text[sizeof(gpu->text) - 1] = 0;
		return refuse(WS_GPU_OTHER_TOOL, s.function, result);
	}
	return result == WS_CUPTI_OK ? 0 : refuse(WS_GPU_CUPTI_FAILED, s.function, result);
}

/* Copies and fills always: without them CUPTI 13.0 leaks memory for graphs that hold some. */
static const int kernel_kinds[] = {WS_CUPTI_KIND_CONCURRENT_KERNEL, WS_CUPTI_KIND_MEMCPY,
                                   WS_CUPTI_KIND_MEMCPY2, WS_CUPTI_KIND_MEMSET,
                                   WS_CUPTI_KIND_DEVICE};
static const int other_kinds[] = {
        WS_CUPTI_KIND_CONTEXT,  WS_CUPTI_KIND_STREAM,  WS_CUPTI_KIND_SYNCHRONIZATION,
        WS_CUPTI_KIND_OVERHEAD, WS_CUPTI_KIND_MEMORY2, WS_CUPTI_KIND_MEMORY_POOL,
        WS_CUPTI_KIND_JIT};

/* --- steps that are not recorded: docs/dev/recorder.md, 10 --- */

/* Kinds of records that a step makes, enabled or not. Calls and waits first: the recorder's own
 * wait is none of the program. */
static struct {
	const int kind;
	bool is_wanted;
} switched[] = {{WS_CUPTI_KIND_RUNTIME, 0},         {WS_CUPTI_KIND_DRIVER, 0},
                {WS_CUPTI_KIND_SYNCHRONIZATION, 0}, {WS_CUPTI_KIND_CONCURRENT_KERNEL, 0},
                {WS_CUPTI_KIND_MEMCPY, 0},          {WS_CUPTI_KIND_MEMCPY2, 0},
                {WS_CUPTI_KIND_MEMSET, 0},          {WS_CUPTI_KIND_GRAPH_TRACE, 0},
                {WS_CUPTI_KIND_GRAPH_HOST_NODE, 0}, {WS_CUPTI_KIND_HOST_LAUNCH, 0}};
#define SWITCHED      (sizeof(switched) / sizeof(*switched))
#define CALLS_OR_WAIT 3

#define MAX_CALLS 512 /* that are enabled one by one */
static struct {
	uint32_t domain, cbid;
} calls[MAX_CALLS];
static size_t ncalls;

static void note_kind(int kind)
{
	for (size_t i = 0; i < SWITCHED; i++)
		switched[i].is_wanted |= switched[i].kind == kind;
}

static void switch_kinds(size_t from, size_t to, bool on)
{
	for (size_t i = from; i < to; i++) {
		int result = WS_CUPTI_OK;

		if (switched[i].is_wanted)
			result = on ? ws_cupti_enable(switched[i].kind)
			            : ws_cupti_disable(switched[i].kind);
		if (result != WS_CUPTI_OK)
			ws_cupti_count_error(result, "cuptiActivity%s(%d)",
			                     on ? "Enable" : "Disable", switched[i].kind);
	}
}

static void switch_calls(bool on)
{
	atomic_store(&was_switched, 1);
	for (size_t i = 0; i < ncalls; i++) {
		int result = ws_cupti_enable_call(calls[i].domain, calls[i].cbid, on);

		if (result != WS_CUPTI_OK)
			ws_cupti_count_error(result, "cuptiActivityEnableApi(%u, %u)",
			                     calls[i].domain, calls[i].cbid);
	}
	switch_kinds(0, CALLS_OR_WAIT, on);
}

/* Waits for the work of this thread's context. */
static void wait_for_device(void)
{
	static int (*synchronize)(void);
	void *driver;

	if (!synchronize &&
	    (driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))) {
		*(void **)&synchronize = dlsym(driver, "cuCtxSynchronize");
		dlclose(driver);
	}
	if (synchronize)
		synchronize();
}

/* Time after which launched work has surely ended. */
#define WORK_ENDS_NS INT64_C(1000000000)

static pthread_mutex_t switch_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_off, has_calls = 1; /* under the lock */
static int64_t work_ends_ns;       /* when to switch work off; 0: it stays */

/* Before 13.1 Update 1 switching off is harmful, so with --standby records stay on, and the
 * launcher leaves them out. */
static bool may_switch_off(void)
{
	return atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_13_1_1;
}

static void turn_calls(bool on)
{
	if (has_calls != on)
		switch_calls(on);
	has_calls = on;
}

static void turn_work(bool on)
{
	if (is_off == on)
		switch_kinds(CALLS_OR_WAIT, SWITCHED, on);
	is_off = !on;
}

static void turn_device(enum ws_calibrate_device what)
{
	const bool has_context = atomic_load(&ws_cupti_may_flush);
	sigset_t before;

	if (!ws_cupti_is_ours() || atomic_load(&ws_cupti_is_final) ||
	    (what != WS_DEVICE_ON && !may_switch_off()))
		return;
	ws_lock(&switch_lock, &before);
	work_ends_ns = what == WS_DEVICE_END ? ws_now_ns() + WORK_ENDS_NS : 0;
	if (what == WS_DEVICE_ON) {
		turn_work(1);
		turn_calls(1);
	} else {
		turn_calls(0);
	}
	if (has_context && (what == WS_DEVICE_OFF || what == WS_DEVICE_WAIT))
		wait_for_device();
	if (what == WS_DEVICE_OFF)
		turn_work(0);
	else if (what == WS_DEVICE_WAIT && !is_off)
		turn_calls(1);
	ws_unlock(&switch_lock, &before);
}

/* What is done for --standby on our own thread. */
static void ws_cupti_look_at_standby(void)
{
	ws_standby_look();
	/* not waited for: this thread adds slots while the owner of the lock waits for the device
	 */
	if (pthread_mutex_trylock(&switch_lock))
		return;
	if (work_ends_ns && ws_now_ns() > work_ends_ns && !atomic_load(&ws_cupti_is_final)) {
		work_ends_ns = 0;
		turn_work(0);
	}
	pthread_mutex_unlock(&switch_lock);
}

static bool is_switched(int kind)
{
	for (size_t i = 0; i < SWITCHED; i++)
		if (switched[i].kind == kind)
			return 1;
	return 0;
}

/* While the recording is silent this is done when it is switched on. */
static int enable_or_note(int kind)
{
	int result = is_off && is_switched(kind) ? WS_CUPTI_OK : ws_cupti_enable(kind);

	if (result == WS_CUPTI_OK)
		note_kind(kind);
	return result;
}

static void enable_kind(int kind)
{
	int result = enable_or_note(kind);

	if (result != WS_CUPTI_OK)
		ws_cupti_count_error(result, "cuptiActivityEnable(%d)", kind);
}

/* What 13.1 added. A driver or user without the right to one of them loses nothing else, so a
 * refusal is a fact and no loss. */
static void enable_kinds_of_13_1(void)
{
	static const struct {
		int kind;
		const char *fact;
	} kinds[] = {{WS_CUPTI_KIND_GRAPH_HOST_NODE, "cupti.host_nodes"},
	             {WS_CUPTI_KIND_HOST_LAUNCH, "cupti.host_functions"},
	             {WS_CUPTI_KIND_COMPUTE_ENGINE_CTX_SWITCH, "cupti.context_switches"}};

	if (atomic_load(&ws_collector.seg->gpu.cupti_version) < WS_CUPTI_VERSION_13_1)
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (enable_or_note(kinds[i].kind) != WS_CUPTI_OK)
			ws_define_fact(kinds[i].fact, "refused");
}

static bool is_wanted(uint32_t domain, const char *name, int kernels_only)
{
	return ws_cupti_wants_call(domain, name, kernels_only) ||
	       (domain == WS_CUPTI_DOMAIN_DRIVER && !strcmp(name, WS_CUPTI_PROBE_CALL));
}

/* One that is refused is said; the others are enabled all the same. */
static void enable_calls(uint32_t domain, int kernels_only)
{
	const int runtime = domain == WS_CUPTI_DOMAIN_RUNTIME;
	const char *name = NULL;

	for (uint32_t cbid = 1; ws_cupti.GetCallbackName(domain, cbid, &name) == WS_CUPTI_OK;
	     cbid++) {
		const bool wanted = name && is_wanted(domain, name, kernels_only);
		const bool is_probe = name && !strcmp(name, WS_CUPTI_PROBE_CALL);
		int result = WS_CUPTI_OK;

		if (wanted && !ws_cupti.ActivityEnableRuntimeApi)
			result = WS_CUPTI_NO_FUNCTION;
		else if (wanted && (has_calls || is_probe))
			result = ws_cupti_enable_call(domain, cbid, 1);
		if (result ==
		    WS_CUPTI_NO_FUNCTION) { /* this version can only record all calls or none */
			enable_kind(runtime ? WS_CUPTI_KIND_RUNTIME : WS_CUPTI_KIND_DRIVER);
			return;
		}
		if (result != WS_CUPTI_OK)
			ws_cupti_count_error(result, "cuptiActivityEnable%sApi(%u, %.40s)",
			                     runtime ? "Runtime" : "Driver", cbid, name);
		else if (wanted && ncalls < MAX_CALLS && !is_probe) {
			calls[ncalls].domain = domain;
			calls[ncalls++].cbid = cbid;
		}
	}
}

/* From 13.4 on the records of a replay have what an update changed, but not the copies of graphs
 * that were never launched, such as child graphs. */
static void enable_graph_nodes(void)
{
	static const uint32_t cbids[] = {WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
	                                 WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
	                                 WS_CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED};
	const size_t n =
	        sizeof(cbids) / sizeof(*cbids) -
	        (atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_13_4);

	for (size_t i = 0; i < n; i++) {
		int result = ws_cupti_enable_callback(WS_CUPTI_DOMAIN_RESOURCE, cbids[i]);

		/* 12.x has no callback for updates */
		if (result != WS_CUPTI_OK && cbids[i] != WS_CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED)
			ws_cupti_count_error(result, "cuptiEnableCallback(graph node)");
	}
}

/* Defines the names of all calls in advance, as the program may end before a buffer is handed
 * over. */
static void define_calls(uint32_t domain)
{
	const char *name = NULL;

	for (uint32_t cbid = 1; ws_cupti.GetCallbackName(domain, cbid, &name) == WS_CUPTI_OK;
	     cbid++)
		if (name)
			ws_define_call(domain, cbid, name);
}

/*
 * Starts CUPTI. No timestamp callback is set, because kernels of 13.0 then have no times. Latency
 * timestamps are not enabled, because of a deadlock. Nothing is unloaded, and before 13.1 Update 1
 * nothing disabled: after that graph launches get wrong correlation ids.
 */
static int start(struct ws_seg_header *seg)
{
	sigset_t signals;

	if (ws_cupti_load(&seg->gpu) || subscribe())
		return -1;
	REQUIRE(SetThreadIdType, WS_CUPTI_THREAD_ID_SYSTEM);
	ws_cupti_tell_sizes();
	define_calls(WS_CUPTI_DOMAIN_RUNTIME);
	define_calls(WS_CUPTI_DOMAIN_DRIVER);
	ws_cupti_look_at_clock();
	if (seg->capture.standby)
		atomic_store(&ws_calibrate_device, turn_device);
	ws_lock(&switch_lock, &signals);
	is_off = ws_is_silent();
	has_calls = !is_off;
	for (size_t i = 0; i < sizeof(kernel_kinds) / sizeof(*kernel_kinds); i++)
		enable_kind(kernel_kinds[i]);
	/* else each query of a stream or event is told as a wait, also those that find nothing */
	if (ws_cupti.ActivityEnableAllSyncRecords)
		ws_cupti.ActivityEnableAllSyncRecords(0);
	for (size_t i = 0;
	     !seg->capture.kernels_only && i < sizeof(other_kinds) / sizeof(*other_kinds); i++)
		enable_kind(other_kinds[i]);
	if (!seg->capture.kernels_only)
		enable_kinds_of_13_1();
	/* from 13.2 on a green context has no record of the kind of contexts */
	if (!seg->capture.kernels_only &&
	    atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_13_2)
		enable_kind(WS_CUPTI_KIND_GREEN_CONTEXT);
	if (seg->capture.graph_level)
		enable_kind(WS_CUPTI_KIND_GRAPH_TRACE);
	if (seg->capture.api == WS_CAPTURE_ALL) {
		enable_kind(WS_CUPTI_KIND_RUNTIME);
		enable_kind(WS_CUPTI_KIND_DRIVER);
	} else if (seg->capture.api == WS_CAPTURE_LAUNCHES) {
		enable_calls(WS_CUPTI_DOMAIN_RUNTIME, (int)seg->capture.kernels_only);
		enable_calls(WS_CUPTI_DOMAIN_DRIVER, (int)seg->capture.kernels_only);
	}
	ws_unlock(&switch_lock, &signals);
	/* switched on meanwhile */
	if (seg->capture.standby && !ws_is_silent())
		turn_device(WS_DEVICE_ON);

	static const struct {
		uint32_t domain, cbid;
	} wanted[] = {
	        {WS_CUPTI_DOMAIN_RESOURCE, WS_CUPTI_CBID_RESOURCE_CONTEXT_CREATED},
	        {WS_CUPTI_DOMAIN_RESOURCE, WS_CUPTI_CBID_RESOURCE_MODULE_LOADED},
	        {WS_CUPTI_DOMAIN_STATE, WS_CUPTI_CBID_STATE_FATAL_ERROR},
	        {WS_CUPTI_DOMAIN_STATE, WS_CUPTI_CBID_STATE_ERROR},
	        {WS_CUPTI_DOMAIN_STATE, WS_CUPTI_CBID_STATE_WARNING},
	        {WS_CUPTI_DOMAIN_RUNTIME, WS_CUPTI_CBID_RUNTIME_DEVICE_RESET},
	        {WS_CUPTI_DOMAIN_RUNTIME, WS_CUPTI_CBID_RUNTIME_PROFILER_START},
	        {WS_CUPTI_DOMAIN_RUNTIME, WS_CUPTI_CBID_RUNTIME_PROFILER_STOP},
	        {WS_CUPTI_DOMAIN_DRIVER, WS_CUPTI_CBID_DRIVER_PROFILER_START},
	        {WS_CUPTI_DOMAIN_DRIVER, WS_CUPTI_CBID_DRIVER_PROFILER_STOP},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		int result = ws_cupti_enable_callback(wanted[i].domain, wanted[i].cbid);

		/* below 12.2 there are no notifications of its state */
		if (result != WS_CUPTI_OK && wanted[i].domain != WS_CUPTI_DOMAIN_STATE)
			ws_cupti_count_error(result, "cuptiEnableCallback");
		if (result != WS_CUPTI_OK && !i) /* nobody will say when there is a context */
			atomic_store(&ws_cupti_may_flush, 1);
	}
	if (!seg->capture.graph_level || ws_steps_wanted())
		enable_graph_nodes();
	if (seg->capture.hw_trace)
		ws_cupti_enable_callback(WS_CUPTI_DOMAIN_RESOURCE,
		                         WS_CUPTI_CBID_RESOURCE_INIT_FINISHED);
	ws_cupti_find_launches();
	if (seg->capture.calibrate &&
	    atomic_load(&seg->gpu.cupti_version) < WS_CUPTI_VERSION_13_1_1)
		ws_calibrate_stop(WS_CALIBRATE_OLD_CUPTI);
	else if (seg->capture.calibrate)
		atomic_store(&ws_calibrate_device, turn_device);
	if (ws_cupti_start_thread())
		ws_cupti_count_error(0, "pthread_create");
	atexit(ws_cupti_at_exit);
	return 0;
}

void ws_cupti_start(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	static _Atomic int started;
	char text[32];

	if (atomic_exchange(&started, 1) || seg->capture.no_cupti || !seg->activity.count)
		return;
	if (start(seg))
		return;
	uint32_t version = atomic_load(&seg->gpu.cupti_version);
	if (version >= WS_CUPTI_VERSION_13_0)
		snprintf(text, sizeof(text), "%u.%u.%u", version / 10000, version / 100 % 100,
		         version % 100);
	else
		snprintf(text, sizeof(text), "API %u", version);
	ws_define_fact("cupti.version", text);
	atomic_store(&seg->gpu.state, WS_GPU_ON);
}
