/*
 * What CUPTI is asked for, and what it calls back for. Buffers: a request comes on a launching
 * thread, so it pops a number and is done. What comes back, mostly on CUPTI's own thread, is gone
 * through while the pointers in it are alive: names go into the definition log, and their ids into
 * the records.
 */
#include "recorder/cupti/source.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/collect/collector.h"
#include "recorder/shared/segment.h"
#include "recorder/shared/system.h"

/* --- buffers --- */

static void request_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
	struct ws_seg_header *seg = ws_collector.seg;
	int slot = -1;

	*max_records = 0; /* as many as there is room for */
	if (WS_LIKELY(ws_cupti_is_ours())) {
		slot = ws_slot_take(seg, ws_collector.image);
		if (slot < 0)
			ws_lost(WS_DROPPED_activity_refused, 1);
		ws_cupti_slot_taken();
	}
	*buffer = slot < 0 ? NULL : ws_slot_bytes(seg, (uint32_t)slot);
	*size = slot < 0 ? 0 : seg->activity.stride;
}

/* --- kernel names --- */

/* Once three quarters are used, further names are looked up in the log each time. */
#define NAMES (1u << 15)

static struct {
	_Atomic uint64_t address; /* 0: unused */
	_Atomic uint32_t string;
	_Atomic uint32_t age; /* modules loaded when it was last compared with the text */
} names[NAMES];
static uint32_t names_used;
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t modules_loaded;

/* Where the name is or belongs. The table is never full. */
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

/* CUPTI may put another text where one was, once a module is gone. */
static bool is_same_text(uint32_t string, const char *text)
{
	uint32_t size;
	const char *known = ws_string_text(string, &size);
	size_t len = strnlen(text, WS_MAX_TEXT);

	return known && len == size && !memcmp(known, text, len);
}

/* Define a name and remember where it lies. */
static uint32_t learn_name(uint32_t place, uint64_t address, const char *text, uint32_t age)
{
	uint32_t string = ws_define_string((struct ws_event_text){.ptr = text});
	sigset_t before;

	if (string == WS_DEF_NONE)
		return WS_DEF_NONE;
	ws_lock(&names_lock, &before);
	place = name_place(address); /* another thread may have been faster */
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

/* Put the id in the place of the pointer at record + at. */
static void replace_name(uint8_t *record, size_t at)
{
	uint64_t value;
	uint32_t string;

	memcpy(&value, record + at, sizeof(value));
	if (!value || value & WS_SLOT_TEXT_ID)
		return;
	string = name_string(value);
	if (string == WS_DEF_NONE) /* counted; the launcher will say where it lay */
		return;
	value = WS_SLOT_TEXT_ID | string;
	memcpy(record + at, &value, sizeof(value));
}

/* A buffer holds the records of one thread, so the last answer is mostly right. */
static void replace_thread(uint8_t *record, size_t at, uint32_t *tid, uint32_t *thread)
{
	uint32_t value;

	memcpy(&value, record + at, sizeof(value));
	if (!value || value & WS_SLOT_THREAD_ID)
		return;
	/* what our own thread calls is for nobody to see, but that it was told */
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

static void prepare(uint8_t *buffer, size_t valid)
{
	const int has_overhead_data =
	        atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_12_4;
	uint32_t tid = 0, thread = 0;
	uint8_t *record = NULL;

	while (ws_cupti_next(buffer, valid, &record) == WS_CUPTI_OK) {
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
				/* From 12.4 on CUPTI allocates a description of this kind of
				 * overhead that is ours to free. */
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
}

static void complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid_size)
{
	struct ws_seg_header *seg = ws_collector.seg;
	/* as numbers: a buffer of another profiler's is not of this memory */
	uint64_t offset = (uintptr_t)buffer - (uintptr_t)ws_slot_bytes(seg, 0);
	uint32_t slot = (uint32_t)(offset / seg->activity.stride);

	(void)context;
	(void)stream;
	(void)size;
	/* a forked child's: that memory is its own and nobody reads it */
	if (!ws_cupti_is_ours())
		return;
	/* a buffer that another profiler gave CUPTI: we are told of it, so that one is not */
	if (offset % seg->activity.stride || slot >= seg->activity.count) {
		atomic_fetch_or(&seg->gpu.stopped, WS_GPU_STOP_FOREIGN);
		return;
	}
	if (!valid_size) {
		ws_slot_put_back(seg, slot);
		return;
	}
	ws_cupti_tell_sizes();
	prepare(buffer, valid_size);
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

/* --- starting: what CUPTI is asked for, and what it calls back for --- */

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

static void on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct ws_cupti_api_callback *api = data;

	(void)user;
	if (!ws_cupti_is_ours())
		return;
	if (domain == WS_CUPTI_DOMAIN_RESOURCE && cbid == WS_CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		context_created();
	else if (domain == WS_CUPTI_DOMAIN_RESOURCE) {
		atomic_fetch_add_explicit(&modules_loaded, 1, memory_order_relaxed);
	} else if (domain == WS_CUPTI_DOMAIN_STATE)
		state_changed(cbid, data);
	else if (api->site == WS_CUPTI_SITE_ENTER) {
		/* The runtime's profiler calls call the driver's; saying it twice does no harm. */
		if (domain == WS_CUPTI_DOMAIN_RUNTIME && cbid == WS_CUPTI_CBID_RUNTIME_DEVICE_RESET)
			ws_cupti_flush(WS_CUPTI_FLUSH_FORCED); /* before all is gone */
		else if (ws_cupti_is_untold_launch(domain, cbid))
			ws_lost(WS_DROPPED_launch_not_told, 1);
		else
			ws_range_profiler(domain == WS_CUPTI_DOMAIN_RUNTIME
			                          ? cbid == WS_CUPTI_CBID_RUNTIME_PROFILER_START
			                          : cbid == WS_CUPTI_CBID_DRIVER_PROFILER_START);
	}
}

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
	for (size_t i = 0; i < sizeof(kernel_kinds) / sizeof(*kernel_kinds); i++)
		enable_kind(kernel_kinds[i]);
	/* else each query of a stream or an event is told as a wait, also the many that find
	   nothing done */
	if (ws_cupti.ActivityEnableAllSyncRecords)
		ws_cupti.ActivityEnableAllSyncRecords(0);
	for (size_t i = 0;
	     !seg->capture.kernels_only && i < sizeof(other_kinds) / sizeof(*other_kinds); i++)
		enable_kind(other_kinds[i]);
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
	uint32_t version;
	char text[32];

	if (atomic_exchange(&started, 1) || seg->capture.no_cupti || !seg->activity.count)
		return;
	if (start(seg))
		return;
	version = atomic_load(&seg->gpu.cupti_version);
	if (version >= WS_CUPTI_VERSION_13_0)
		snprintf(text, sizeof(text), "%u.%u.%u", version / 10000, version / 100 % 100,
		         version % 100);
	else
		snprintf(text, sizeof(text), "API %u", version);
	ws_define_fact("cupti.version", text);
	atomic_store(&seg->gpu.state, WS_GPU_ON);
}
