/* What CUPTI is asked for, and the thread that makes it hand over what it has. */
#include "recorder/cupti/source.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "recorder/collect/capture_range.h"
#include "recorder/cupti/calls.h"
#include "recorder/collect/libraries.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels refuse it, which is harmless */
#endif

#define PREFAULT_SLOTS 8
#define FIRST_FLUSH_MS 10

struct ws_cupti ws_cupti;

static void *subscriber;
static _Atomic int has_context; /* so there is something to ask the driver about */
static _Atomic int exiting;
static sem_t wake;

/* --- problems --- */

/* Nothing is recorded of CUDA, for this reason. */
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

static void keep_error(const char *what, const char *words, int result)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;

	snprintf(gpu->last_error, sizeof(gpu->last_error), "%s: %d %s", what, result,
	         words ? words : "");
}

void ws_cupti_count_error(const char *function, int result)
{
	const char *words = NULL;

	ws_lost(WS_LOSS_activity_error, 1);
	if (ws_cupti.GetResultString(result, &words) != WS_CUPTI_OK)
		words = NULL;
	keep_error(function, words, result);
}

#define REQUIRE(name, ...)                                                          \
	do {                                                                        \
		int result_ = ws_cupti.name(__VA_ARGS__);                           \
		if (result_ != WS_CUPTI_OK)                                         \
			return refuse(WS_GPU_CUPTI_FAILED, "cupti" #name, result_); \
	} while (0)

/* --- handing over --- */

/*
 * Called with no lock held, as the completion callback may run inside. FlushAll
 * gives back what is complete; forced also what is not, whose kernels then have
 * no end.
 */
static void flush(uint32_t flag)
{
	size_t dropped = 0;
	int result;

	if (!atomic_load(&ws_collector.on))
		return;
	result = ws_cupti.ActivityFlushAll(flag);
	if (result != WS_CUPTI_OK)
		ws_cupti_count_error("cuptiActivityFlushAll", result);
	/* counts from 0 again each time it is read */
	if (ws_cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) == WS_CUPTI_OK && dropped)
		ws_lost(WS_LOSS_activity_dropped, dropped);
}

static void wait_ms(uint32_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	sem_clockwait(&wake, CLOCK_MONOTONIC, &until);
}

/*
 * Page faults belong here, not into the launches that fill the buffers. A few
 * slots at a time: the lowest are used first, and flushing must not wait.
 */
static uint32_t prefault(struct ws_seg_header *seg, uint32_t from)
{
	uint32_t to = from + PREFAULT_SLOTS < seg->activity.count ? from + PREFAULT_SLOTS
	                                                          : seg->activity.count;

	if (from < to)
		madvise(ws_slot_bytes(seg, from), (to - from) * seg->activity.stride,
		        MADV_POPULATE_WRITE);
	return to;
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
	uint32_t interval_ms = FIRST_FLUSH_MS, prefaulted = 0;
	int facts_known = 0;

	prctl(PR_SET_NAME, "warpsheet");
	while (!atomic_load(&exiting)) {
		prefaulted = prefault(seg, prefaulted);
		wait_ms(interval_ms < longest_ms ? interval_ms : longest_ms);
		interval_ms = interval_ms < longest_ms ? interval_ms * 2 : longest_ms;
		if (atomic_load(&exiting))
			break;
		if (!facts_known && atomic_load(&has_context)) {
			facts_known = 1;
			ws_cupti_define_facts();
		}
		if (facts_known)
			ws_libraries_define();
		flush(0);
	}
	return arg;
}

static int start_thread(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	sigfillset(&all);
	if (sem_init(&wake, 0, 0) || pthread_attr_init(&attr))
		return -1;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* the program's signals are for the program's threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attr, flush_from_time_to_time, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return error ? -1 : 0;
}

/* May run twice: CUDA's own handler must not come before ours, see context_created(). */
static void at_exit(void)
{
	if (!atomic_load(&ws_collector.on))
		return;
	atomic_store(&exiting, 1);
	sem_post(&wake);
	flush(WS_CUPTI_FLUSH_FORCED);
}

void ws_cupti_forked(void)
{
	atomic_store(&exiting, 1);
}

/* --- callbacks --- */

/* Handlers of exit run in reverse order, and CUDA has registered its own by now. */
static void context_created(void)
{
	if (atomic_exchange(&has_context, 1))
		return;
	atexit(at_exit);
	sem_post(&wake);
}

static void state_changed(uint32_t cbid, const struct ws_cupti_state_callback *data)
{
	if (cbid != WS_CUPTI_CBID_STATE_WARNING)
		ws_lost(WS_LOSS_activity_error, 1);
	keep_error(cbid == WS_CUPTI_CBID_STATE_WARNING ? "warning" : "error", data->message,
	           (int)data->result);
}

/* The runtime's profiler calls call the driver's; saying it twice does no harm. */
static void call_entered(uint32_t domain, uint32_t cbid)
{
	if (domain == WS_CUPTI_DOMAIN_RUNTIME && cbid == WS_CUPTI_CBID_RUNTIME_DEVICE_RESET)
		flush(WS_CUPTI_FLUSH_FORCED); /* before all is gone */
	else
		ws_range_profiler(domain == WS_CUPTI_DOMAIN_RUNTIME
		                          ? cbid == WS_CUPTI_CBID_RUNTIME_PROFILER_START
		                          : cbid == WS_CUPTI_CBID_DRIVER_PROFILER_START);
}

static void on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct ws_cupti_api_callback *api = data;

	(void)user;
	if (!atomic_load_explicit(&ws_collector.on, memory_order_relaxed))
		return;
	if (domain == WS_CUPTI_DOMAIN_RESOURCE && cbid == WS_CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		context_created();
	else if (domain == WS_CUPTI_DOMAIN_RESOURCE)
		ws_cupti_names_changed();
	else if (domain == WS_CUPTI_DOMAIN_STATE)
		state_changed(cbid, data);
	else if (api->site == WS_CUPTI_SITE_ENTER)
		call_entered(domain, cbid);
}

static int subscribe(void)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;
	struct ws_cupti_subscriber_params params = {
	        .struct_size = sizeof(params),
	        .name = "warpsheet",
	        .other_name = gpu->text,
	        .other_size = sizeof(gpu->text),
	};
	int result;

	if (ws_cupti.Subscribe_v2)
		result = ws_cupti.Subscribe_v2(&subscriber, on_callback, NULL, &params);
	else
		result = ws_cupti.Subscribe(&subscriber, on_callback, NULL);
	if (result == WS_CUPTI_MULTIPLE_SUBSCRIBERS) {
		gpu->text[sizeof(gpu->text) - 1] = 0;
		return refuse(WS_GPU_OTHER_TOOL, "cuptiSubscribe", result);
	}
	if (result != WS_CUPTI_OK)
		return refuse(WS_GPU_CUPTI_FAILED, "cuptiSubscribe", result);
	return 0;
}

static void enable_callbacks(void)
{
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
		int result =
		        ws_cupti.EnableCallback(1, subscriber, wanted[i].domain, wanted[i].cbid);

		/* 12.x has no notifications of its state */
		if (result != WS_CUPTI_OK && wanted[i].domain != WS_CUPTI_DOMAIN_STATE)
			ws_cupti_count_error("cuptiEnableCallback", result);
	}
}

/* --- kinds --- */

/* Copies and fills always: without them CUPTI 13.0 leaks memory for graphs that hold some. */
static const int kernel_kinds[] = {WS_CUPTI_KIND_CONCURRENT_KERNEL, WS_CUPTI_KIND_MEMCPY,
                                   WS_CUPTI_KIND_MEMCPY2, WS_CUPTI_KIND_MEMSET,
                                   WS_CUPTI_KIND_DEVICE};
static const int other_kinds[] = {
        WS_CUPTI_KIND_CONTEXT,  WS_CUPTI_KIND_STREAM,  WS_CUPTI_KIND_SYNCHRONIZATION,
        WS_CUPTI_KIND_OVERHEAD, WS_CUPTI_KIND_MEMORY2, WS_CUPTI_KIND_MEMORY_POOL,
        WS_CUPTI_KIND_JIT};

static void enable_kind(int kind)
{
	int result = ws_cupti.ActivityEnable(kind);
	char function[48];

	if (result == WS_CUPTI_OK)
		return;
	snprintf(function, sizeof(function), "cuptiActivityEnable(%d)", kind);
	ws_cupti_count_error(function, result);
}

static void enable_calls(uint32_t domain, int kernels_only)
{
	const int runtime = domain == WS_CUPTI_DOMAIN_RUNTIME;
	ws_cupti_fn_ActivityEnableRuntimeApi enable =
	        runtime ? ws_cupti.ActivityEnableRuntimeApi : ws_cupti.ActivityEnableDriverApi;
	const char *name = NULL;
	int result = WS_CUPTI_OK;

	if (!enable) { /* this version can only do all or none */
		enable_kind(runtime ? WS_CUPTI_KIND_RUNTIME : WS_CUPTI_KIND_DRIVER);
		return;
	}
	for (uint32_t cbid = 1; ws_cupti.GetCallbackName(domain, cbid, &name) == WS_CUPTI_OK;
	     cbid++) {
		if (name && ws_cupti_wants_call(domain, name, kernels_only))
			result = enable(cbid, 1);
		if (result != WS_CUPTI_OK)
			break;
	}
	if (result != WS_CUPTI_OK)
		ws_cupti_count_error(runtime ? "cuptiActivityEnableRuntimeApi"
		                             : "cuptiActivityEnableDriverApi",
		                     result);
}

static void enable_kinds(const struct ws_seg_capture *capture)
{
	for (size_t i = 0; i < sizeof(kernel_kinds) / sizeof(*kernel_kinds); i++)
		enable_kind(kernel_kinds[i]);
	for (size_t i = 0; !capture->kernels_only && i < sizeof(other_kinds) / sizeof(*other_kinds);
	     i++)
		enable_kind(other_kinds[i]);
	if (capture->graph_level)
		enable_kind(WS_CUPTI_KIND_GRAPH_TRACE);
	if (capture->api == WS_CAPTURE_ALL) {
		enable_kind(WS_CUPTI_KIND_RUNTIME);
		enable_kind(WS_CUPTI_KIND_DRIVER);
	} else if (capture->api == WS_CAPTURE_LAUNCHES) {
		enable_calls(WS_CUPTI_DOMAIN_RUNTIME, (int)capture->kernels_only);
		enable_calls(WS_CUPTI_DOMAIN_DRIVER, (int)capture->kernels_only);
	}
}

/* --- once --- */

static void define_cupti_version(uint32_t version)
{
	char text[32];

	if (version >= WS_CUPTI_VERSION_13_0)
		snprintf(text, sizeof(text), "%u.%u.%u", version / 10000, version / 100 % 100,
		         version % 100);
	else
		snprintf(text, sizeof(text), "API %u", version);
	ws_define_fact("cupti.version", text);
}

/*
 * No timestamp callback (kernels of 13.0 have no times then), no latency
 * timestamps (a deadlock), nothing is ever disabled or unloaded: one session a
 * process, or graph launches get wrong correlation ids.
 */
static int start(struct ws_seg_header *seg)
{
	uint8_t yes = 1;
	size_t size = sizeof(yes);

	if (ws_cupti_load(&seg->gpu) || subscribe())
		return -1;
	REQUIRE(SetThreadIdType, WS_CUPTI_THREAD_ID_SYSTEM);
	/* else CUPTI clears each buffer itself, on the thread that launches */
	ws_cupti.ActivitySetAttribute(WS_CUPTI_ATTR_ZEROED_OUT_BUFFER, &size, &yes);
	size = sizeof(yes);
	ws_cupti.ActivitySetAttribute(WS_CUPTI_ATTR_PER_THREAD_BUFFER, &size, &yes);
	REQUIRE(ActivityRegisterCallbacks, ws_cupti_request_buffer, ws_cupti_complete_buffer);
	enable_kinds(&seg->capture);
	enable_callbacks();
	if (start_thread())
		ws_cupti_count_error("pthread_create", 0);
	atexit(at_exit);
	return 0;
}

void ws_cupti_start(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	static _Atomic int started;

	if (atomic_exchange(&started, 1) || seg->capture.off || !seg->activity.count)
		return;
	if (start(seg))
		return;
	define_cupti_version(atomic_load(&seg->gpu.cupti_version));
	atomic_store(&seg->gpu.state, WS_GPU_ON);
}
