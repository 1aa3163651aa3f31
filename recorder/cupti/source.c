/* What CUPTI is asked for, and what it calls back for. */
#include "recorder/cupti/source.h"

#include <stdio.h>
#include <stdlib.h>

#include "recorder/collect/capture_range.h"
#include "recorder/cupti/calls.h"
#include "recorder/cupti/scope.h"

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

#define REQUIRE(name, ...)                                                          \
	do {                                                                        \
		int result_ = ws_cupti.name(__VA_ARGS__);                           \
		if (result_ != WS_CUPTI_OK)                                         \
			return refuse(WS_GPU_CUPTI_FAILED, "cupti" #name, result_); \
	} while (0)

/* --- callbacks --- */

/* Handlers of exit run in reverse order, and CUDA has registered its own by now. */
static void context_created(void)
{
	static _Atomic int has_context;

	if (atomic_exchange(&has_context, 1))
		return;
	atomic_store(&ws_cupti_may_flush, 1);
	atexit(ws_cupti_at_exit);
	ws_cupti_wake();
}

/* After a fatal error CUPTI tears itself down: nothing of it may be called any more. */
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
		/* from 12.9 on each buffer that we refuse is a warning, too */
		ws_cupti_keep_error("warning", data->message, (int)data->result);
	}
}

/* The runtime's profiler calls call the driver's; saying it twice does no harm. */
static void call_entered(uint32_t domain, uint32_t cbid)
{
	if (domain == WS_CUPTI_DOMAIN_RUNTIME && cbid == WS_CUPTI_CBID_RUNTIME_DEVICE_RESET)
		ws_cupti_flush(WS_CUPTI_FLUSH_FORCED); /* before all is gone */
	else if (ws_cupti_is_untold_launch(domain, cbid))
		ws_lost(WS_DROPPED_launch_not_told, 1);
	else
		ws_range_profiler(domain == WS_CUPTI_DOMAIN_RUNTIME
		                          ? cbid == WS_CUPTI_CBID_RUNTIME_PROFILER_START
		                          : cbid == WS_CUPTI_CBID_DRIVER_PROFILER_START);
}

static void on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct ws_cupti_api_callback *api = data;

	(void)user;
	if (!atomic_load_explicit(&ws_collector.is_recording, memory_order_relaxed))
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

/* --- attributes --- */

/* 1 when CUPTI does so. */
static bool set_attribute(int attribute)
{
	int result = ws_cupti_set(attribute);

	if (result != WS_CUPTI_OK)
		ws_cupti_count_error(result, "cuptiActivitySetAttribute(%d)", attribute);
	return result == WS_CUPTI_OK;
}

/*
 * Else CUPTI clears each buffer itself, on the thread that launches; and all threads have one
 * buffer. That attribute came with 12.3, but what flushes while others launch, as our thread does,
 * is safe with it only from 12.6 Update 2 on.
 */
static void set_attributes(void)
{
	set_attribute(WS_CUPTI_ATTR_ZEROED_OUT_BUFFER);
	ws_cupti_has_thread_buffers =
	        atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_12_8 &&
	        set_attribute(WS_CUPTI_ATTR_PER_THREAD_BUFFER);
}

/* --- subscribing --- */

static int subscribe(void)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;
	struct ws_cupti_subscription s = {
	        .callback = on_callback,
	        .buffers = &ws_cupti_buffers,
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
		int result = ws_cupti_enable_callback(wanted[i].domain, wanted[i].cbid);

		/* below 12.2 there are no notifications of its state */
		if (result != WS_CUPTI_OK && wanted[i].domain != WS_CUPTI_DOMAIN_STATE)
			ws_cupti_count_error(result, "cuptiEnableCallback");
		if (result != WS_CUPTI_OK && !i) /* nobody will say when there is a context */
			atomic_store(&ws_cupti_may_flush, 1);
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
	int result = ws_cupti_enable(kind);

	if (result != WS_CUPTI_OK)
		ws_cupti_count_error(result, "cuptiActivityEnable(%d)", kind);
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
		int result = name && is_wanted(domain, name, kernels_only)
		                     ? ws_cupti_enable_call(domain, cbid)
		                     : WS_CUPTI_OK;

		if (result == WS_CUPTI_NO_FUNCTION) { /* this version can only do all or none */
			enable_kind(runtime ? WS_CUPTI_KIND_RUNTIME : WS_CUPTI_KIND_DRIVER);
			return;
		}
		if (result != WS_CUPTI_OK)
			ws_cupti_count_error(result, "cuptiActivityEnable%sApi(%u, %.40s)",
			                     runtime ? "Runtime" : "Driver", cbid, name);
	}
}

static void enable_kinds(const struct ws_seg_capture *capture)
{
	for (size_t i = 0; i < sizeof(kernel_kinds) / sizeof(*kernel_kinds); i++)
		enable_kind(kernel_kinds[i]);
	/* else each query of a stream or an event is told as a wait, also the many that find
	   nothing done */
	if (ws_cupti.ActivityEnableAllSyncRecords)
		ws_cupti.ActivityEnableAllSyncRecords(0);
	for (size_t i = 0; !capture->kernels_only && i < sizeof(other_kinds) / sizeof(*other_kinds);
	     i++)
		enable_kind(other_kinds[i]);
	/* from 13.2 on a green context has no record of the kind of contexts */
	if (!capture->kernels_only &&
	    atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_13_2)
		enable_kind(WS_CUPTI_KIND_GREEN_CONTEXT);
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

/* All there are, before the first of them: its program can die before its buffer is handed over. */
static void define_calls(uint32_t domain)
{
	const char *name = NULL;

	for (uint32_t cbid = 1; ws_cupti.GetCallbackName(domain, cbid, &name) == WS_CUPTI_OK;
	     cbid++)
		if (name)
			ws_define_call(domain, cbid, name);
}

/*
 * No timestamp callback (kernels of 13.0 have no times then), no latency
 * timestamps (a deadlock), nothing is ever disabled or unloaded: one session a
 * process, or graph launches get wrong correlation ids.
 */
static int start(struct ws_seg_header *seg)
{
	if (ws_cupti_load(&seg->gpu) || subscribe())
		return -1;
	REQUIRE(SetThreadIdType, WS_CUPTI_THREAD_ID_SYSTEM);
	ws_cupti_tell_sizes();
	define_calls(WS_CUPTI_DOMAIN_RUNTIME);
	define_calls(WS_CUPTI_DOMAIN_DRIVER);
	ws_cupti_look_at_clock();
	enable_kinds(&seg->capture);
	enable_callbacks();
	ws_cupti_find_launches();
	if (ws_cupti_start_thread())
		ws_cupti_count_error(0, "pthread_create");
	atexit(ws_cupti_at_exit);
	return 0;
}

void ws_cupti_start(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	static _Atomic int started;

	if (atomic_exchange(&started, 1) || seg->capture.no_cupti || !seg->activity.count)
		return;
	if (start(seg))
		return;
	define_cupti_version(atomic_load(&seg->gpu.cupti_version));
	atomic_store(&seg->gpu.state, WS_GPU_ON);
}
