#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "recorder/cupti/source.h"
#include "recorder/pytorch/pytorch.h"

/* --- attaching --- */

/*
 * Work done once per process: find the segment, become its owner, handle fork and exec.
 */

struct ws_collector ws_collector;

static pthread_mutex_t attach_lock = PTHREAD_MUTEX_INITIALIZER;
static int attach_tried;
static _Atomic int forked_unseen; /* 1 in a forked child without an event so far */

/* Maps private zeroed memory at the address, or moves `filled` there unless NULL. */
static void replace(void *old, size_t size, void *filled)
{
	if (filled != MAP_FAILED)
		mremap(filled, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, old);
	else
		(void)mmap(old, size, PROT_READ | PROT_WRITE,
		           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
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
	ws_def_forked();
	ws_calibrate_forked();
	ws_cupti_forked();

	/*
	 * A forked child shares the mapping, and must not change the parent's rings. So they are
	 * replaced by private memory. MADV_DONTFORK is not used, as a callback that fork
	 * interrupted would fault. Buffers used by CUPTI keep their contents, because CUPTI's exit
	 * handlers may read them. The definitions stay shared: they are only read
	 * (ws_def_take_over), and no callback that makes one can be interrupted.
	 */
	char *threads = (char *)seg + seg->threads_offset,
	     *buffers = (char *)seg + seg->thread_buffers_offset;
	const size_t size = seg->total_size - seg->thread_buffers_offset;
	char *fresh = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	for (uint32_t i = 0; fresh != MAP_FAILED && i < seg->activity.count; i++)
		if (ws_slot_is_used(seg, i) && !atomic_load(&ws_seg_slot(seg, i)->done)) {
			const struct iovec of = {ws_slot_bytes(seg, i), seg->activity.stride},
			                   to = {fresh + ((char *)of.iov_base - buffers),
			                         of.iov_len};

			/* not memcpy: the parent may give the slot's memory back meanwhile */
			(void)!process_vm_readv(getpid(), &to, 1, &of, 1, 0);
		}
	replace(buffers, size, fresh);
	replace(threads, seg->defs_offset - seg->threads_offset, MAP_FAILED);
}

static void begin(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	char path[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = 0;
	ws_collector.image = atomic_fetch_add(&seg->images, 1) + 1;
	ws_define_process(ws_now_ns(), ws_collector.image, path);
	if (seg->capture.calibrate)
		atomic_store(&seg->control.calibrate, WS_CALIBRATE_NO_STEPS);
	ws_standby_start();
	atomic_store(&seg->attached, 1);
	atomic_store(&ws_collector.is_recording, 1);
	if (ws_is_silent())
		ws_standby_look();
}

/*
 * A forked child is recorded in a segment of its own, from its first event. The parent's segment
 * stays mapped, as CUPTI may have buffers in it.
 */
static void attach_child(void)
{
	const struct ws_seg_header *parent = ws_collector.seg;
	struct ws_seg_header *seg = ws_control_claim();

	if (!seg)
		return;
	ws_collector.seg = seg;
	ws_collector.ring_size = seg->ring_size;
	if (!ws_def_take_over(parent)) {
		ws_lost(WS_DROPPED_process_not_recorded, 1);
		return;
	}
	atomic_store(&seg->modules, atomic_load(&parent->modules));
	ws_thread_buffer_forked();
	ws_pytorch_forked();
	begin();
}

bool ws_attach_off(void)
{
	sigset_t before;

	if (WS_LIKELY(!atomic_load_explicit(&forked_unseen, memory_order_relaxed)))
		return 0;
	ws_lock(&attach_lock, &before);
	if (atomic_exchange(&forked_unseen, 0))
		attach_child();
	ws_unlock(&attach_lock, &before);
	return atomic_load(&ws_collector.is_recording);
}

static void attach(void)
{
	struct ws_seg_header *seg = ws_control_claim();

	if (!seg)
		return;
	ws_collector.seg = seg;
	ws_collector.ring_size = seg->ring_size;
	if (ws_thread_buffer_setup() || pthread_atfork(NULL, NULL, after_fork_in_child))
		return;

	/* after exec the CUPTI of the previous image writes no more */
	if (atomic_load(&seg->images))
		ws_slots_give_up(seg);
	ws_def_reload();
	for (uint32_t i = 0; i < seg->thread_buffer_count; i++)
		if (ws_seg_has_thread_buffer(seg, i))
			ws_range_abandoned(ws_seg_thread_buffer(seg, i));
	begin();
}

static bool attach_once(void)
{
	sigset_t before;

	ws_lock(&attach_lock, &before);
	if (!attach_tried) {
		attach_tried = 1;
		attach();
	}
	int on = atomic_load(&ws_collector.is_recording);
	ws_unlock(&attach_lock, &before);
	return on ? 1 : ws_attach_off();
}

/* --- NVTX callbacks: each turns its arguments into an event or a definition ------------------- */

static struct ws_event_text bytes_text(const char *text)
{
	return (struct ws_event_text){text, WS_TEXT_BYTES, 0};
}

static struct ws_event_text wide_text(const wchar_t *text)
{
	return (struct ws_event_text){text, WS_TEXT_UTF32, 0};
}

/*
 * Defines the callback NAME of an event. fill: sets ev; act: records it; off: the result if nothing
 * is recorded; skips, quiet: whether it is left out while the recording is silent, and the result.
 */
#define EVENT(ret, name, params, off, skips, quiet, fill, act) \
	static ret on_##name params                            \
	{                                                      \
		struct ws_event ev;                            \
                                                               \
		if (!ws_collector_on())                        \
			return off;                            \
		if (ws_is_silent() && (skips))                 \
			return quiet;                          \
		fill;                                          \
		act;                                           \
	}
#define MARK(name, params, fill) \
	EVENT(void, name, params, , ws_event_skips(), , fill, ws_event_mark(&ev))
#define START(name, params, fill)                                                           \
	EVENT(wsn_range_id, name, params, 0, ws_event_skips(), WS_EVENT_SILENT_RANGE, fill, \
	      return ws_event_start(&ev))
#define END(name, params, fill) EVENT(void, name, params, , 0, , fill, ws_event_end(&ev, id))
#define PUSH(name, params, skips, fill)                                                           \
	EVENT(int, name, params, WSN_NO_PUSH_POP_TRACKING, skips, WSN_NO_PUSH_POP_TRACKING, fill, \
	      return ws_event_push(&ev))
#define POP(name, params, fill)                                              \
	EVENT(int, name, params, WSN_NO_PUSH_POP_TRACKING, ws_event_skips(), \
	      WSN_NO_PUSH_POP_TRACKING, fill, return ws_event_pop(&ev))

/* As ws_event_skips_push(). */

static bool skips_text(int32_t type, const void *text)
{
	return ws_event_skips_push(type, (union wsn_message){.ascii = text});
}

static bool skips_attributes(const struct wsn_event *attr)
{
	return attr && attr->size >= sizeof(*attr)
	               ? ws_event_skips_push(attr->message_type, attr->message)
	               : ws_event_skips();
}

/*
 * Defines the callbacks NAMEA and NAMEW, whose last parameter is a text. act: makes a definition of
 * it; first: the parameters before it, each with its comma.
 */
#define PLAIN(...) __VA_ARGS__
#define TEXT_OF(ret, name, first, type, text_of, off, act)        \
	static ret on_##name(PLAIN first const type *chars)       \
	{                                                         \
		const struct ws_event_text text = text_of(chars); \
                                                                  \
		if (!ws_collector_on())                           \
			return off;                               \
		act;                                              \
	}
#define TEXT(ret, name, first, off, act)                         \
	TEXT_OF(ret, name##A, first, char, bytes_text, off, act) \
	TEXT_OF(ret, name##W, first, wchar_t, wide_text, off, act)

/* --- core: the default domain --- */

MARK(MarkEx, (const struct wsn_event *attr), ws_event_attributes(&ev, NULL, attr))
MARK(MarkA, (const char *text), ws_event_init(&ev, 0, text, WS_TEXT_BYTES))
MARK(MarkW, (const wchar_t *text), ws_event_init(&ev, 0, text, WS_TEXT_UTF32))
START(RangeStartEx, (const struct wsn_event *attr), ws_event_attributes(&ev, NULL, attr))
START(RangeStartA, (const char *text), ws_event_init(&ev, 0, text, WS_TEXT_BYTES))
START(RangeStartW, (const wchar_t *text), ws_event_init(&ev, 0, text, WS_TEXT_UTF32))
END(RangeEnd, (wsn_range_id id), ws_event_init(&ev, 0, NULL, WS_TEXT_BYTES))
PUSH(RangePushEx, (const struct wsn_event *attr), skips_attributes(attr),
     ws_event_attributes(&ev, NULL, attr))
PUSH(RangePushA, (const char *text), skips_text(WSN_MESSAGE_ASCII, text),
     ws_event_init(&ev, 0, text, WS_TEXT_BYTES))
PUSH(RangePushW, (const wchar_t *text), skips_text(WSN_MESSAGE_UNICODE, text),
     ws_event_init(&ev, 0, text, WS_TEXT_UTF32))
POP(RangePop, (void), ws_event_init(&ev, 0, NULL, WS_TEXT_BYTES))

TEXT(void, NameCategory, (uint32_t category, ), , ws_define_category(0, category, text))
TEXT(void, NameOsThread, (uint32_t tid, ), , ws_define_thread_name(tid, text))

/* --- core 2: domains --- */

MARK(DomainMarkEx, (wsn_domain domain, const struct wsn_event *attr),
     ws_event_attributes(&ev, domain, attr))
START(DomainRangeStartEx, (wsn_domain domain, const struct wsn_event *attr),
      ws_event_attributes(&ev, domain, attr))
END(DomainRangeEnd, (wsn_domain domain, wsn_range_id id),
    ws_event_init(&ev, ws_event_domain(domain), NULL, WS_TEXT_BYTES))
PUSH(DomainRangePushEx, (wsn_domain domain, const struct wsn_event *attr), skips_attributes(attr),
     ws_event_attributes(&ev, domain, attr))
POP(DomainRangePop, (wsn_domain domain),
    ws_event_init(&ev, ws_event_domain(domain), NULL, WS_TEXT_BYTES))

/* Handle for objects that are not recorded: any address but NULL. */
static char token;

/* The number of an NVTX type (a class and an index in it) in the kind `resource`. */
static uint32_t resource_type(uint32_t type)
{
	static const struct {
		uint32_t first, last, number;
	} types[] = {
	        {WSN_RESOURCE_GENERIC_POINTER, WSN_RESOURCE_GENERIC_HANDLE, WS_RESOURCE_POINTER},
	        {WSN_RESOURCE_GENERIC_THREAD_POSIX, WSN_RESOURCE_GENERIC_THREAD_POSIX,
	         WS_RESOURCE_THREAD},
	        {WSN_RESOURCE_CUDA_DEVICE, WSN_RESOURCE_CUDA_EVENT, WS_RESOURCE_CUDA_DEVICE},
	        {WSN_RESOURCE_CUDART_DEVICE, WSN_RESOURCE_CUDART_DEVICE, WS_RESOURCE_CUDA_DEVICE},
	        {WSN_RESOURCE_CUDART_STREAM, WSN_RESOURCE_CUDART_EVENT, WS_RESOURCE_CUDA_STREAM},
	        {WSN_RESOURCE_OPENCL_DEVICE, WSN_RESOURCE_OPENCL_EVENT, WS_RESOURCE_OPENCL_DEVICE},
	        {WSN_RESOURCE_PTHREAD_MUTEX, WSN_RESOURCE_PTHREAD_ONCE, WS_RESOURCE_PTHREAD_MUTEX},
	        {WSN_RESOURCE_LINUX_MUTEX, WSN_RESOURCE_LINUX_RCU, WS_RESOURCE_LINUX_MUTEX},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (type >= types[i].first && type <= types[i].last)
			return types[i].number + (type - types[i].first);
	return WS_RESOURCE_OTHER;
}

/* type: its number in the kind `resource`. */
static void name_resource(wsn_domain domain, uint32_t type, uint64_t handle,
                          struct ws_event_text name)
{
	struct ws_def_resource resource = {.handle = handle,
	                                   .number = -1,
	                                   .type = type,
	                                   .domain = ws_event_domain(domain)};

	if (type == WS_RESOURCE_CUDA_CONTEXT)
		resource.number = ws_cupti_context_number(handle);
	else if (type == WS_RESOURCE_CUDA_STREAM)
		resource.number = ws_cupti_stream_number(handle);
	ws_define_resource(&resource, name);
}

static struct ws_event_text message_text(int32_t type, union wsn_message message)
{
	uint32_t size;

	if (type == WSN_MESSAGE_ASCII)
		return bytes_text(message.ascii);
	if (type == WSN_MESSAGE_UNICODE)
		return wide_text(message.unicode);
	return bytes_text(type == WSN_MESSAGE_REGISTERED
	                          ? ws_string_text((uintptr_t)message.registered, &size)
	                          : NULL);
}

static wsn_resource on_DomainResourceCreate(wsn_domain domain, struct wsn_resource_attr *attr)
{
	uint32_t tid = 0;

	if (!ws_collector_on() || !attr || attr->size < sizeof(*attr))
		return NULL;
	struct ws_event_text name = message_text(attr->message_type, attr->message);
	if (attr->identifier_type == WSN_RESOURCE_GENERIC_THREAD_NATIVE)
		tid = (uint32_t)attr->identifier.ull;
	else if (attr->identifier_type == WSN_RESOURCE_GENERIC_THREAD_POSIX &&
	         pthread_equal((pthread_t)attr->identifier.ull, pthread_self()))
		tid = ws_thread_id();
	if (name.ptr && tid)
		ws_define_thread_name(tid, name);
	else if (name.ptr)
		name_resource(domain, resource_type((uint32_t)attr->identifier_type),
		              attr->identifier.ull, name);
	return (wsn_resource)(void *)&token;
}

/* The name is kept, as the trace covers the whole run. */
static void on_DomainResourceDestroy(wsn_resource resource)
{
	(void)resource;
}

TEXT(void, DomainNameCategory, (wsn_domain domain, uint32_t category, ), ,
     ws_define_category(ws_event_domain(domain), category, text))
TEXT(wsn_string, DomainRegisterString, (wsn_domain domain, ), NULL, (void)domain;
     return (wsn_string)(uintptr_t)ws_define_string(text))
TEXT(wsn_domain, DomainCreate, (), NULL, return (wsn_domain)(uintptr_t)ws_define_domain(text))

/* Nothing to do: a domain created again with the same name is the same domain. */
static void on_DomainDestroy(wsn_domain domain)
{
	(void)domain;
}

static void on_Initialize(const void *reserved)
{
	(void)reserved;
}

/* --- CUDA, its runtime, OpenCL: names --- */

/* Defines NAMEA and NAMEW, which give a name to a handle of this type (WS_RESOURCE_TYPE). */
#define NAME(name, type, handle_type)              \
	TEXT(void, name, (handle_type handle, ), , \
	     name_resource(NULL, WS_RESOURCE_##type, (uint64_t)(uintptr_t)handle, text))

NAME(NameCuDevice, CUDA_DEVICE, int)
NAME(NameCuContext, CUDA_CONTEXT, const void *)
NAME(NameCuStream, CUDA_STREAM, const void *)
NAME(NameCuEvent, CUDA_EVENT, const void *)
NAME(NameCudaDevice, CUDA_DEVICE, int)
NAME(NameCudaStream, CUDA_STREAM, const void *)
NAME(NameCudaEvent, CUDA_EVENT, const void *)
NAME(NameClDevice, OPENCL_DEVICE, const void *)
NAME(NameClContext, OPENCL_CONTEXT, const void *)
NAME(NameClCommandQueue, OPENCL_QUEUE, const void *)
NAME(NameClMemObject, OPENCL_MEMORY, const void *)
NAME(NameClSampler, OPENCL_SAMPLER, const void *)
NAME(NameClProgram, OPENCL_PROGRAM, const void *)
NAME(NameClEvent, OPENCL_EVENT, const void *)

/* --- payload extension --- */

static uint64_t on_PayloadSchemaRegister(wsn_domain domain, const struct wsn_schema_attr *attr)
{
	if (!ws_collector_on() || !attr)
		return 0;
	return ws_schema_register(ws_event_domain(domain), attr);
}

static uint64_t on_PayloadEnumRegister(wsn_domain domain, const struct wsn_enum_attr *attr)
{
	if (!ws_collector_on() || !attr)
		return 0;
	return ws_enum_register(ws_event_domain(domain), attr);
}

static void with_payloads(struct ws_event *ev, wsn_domain domain,
                          const struct wsn_payload_data *payload, size_t n)
{
	ws_event_init(ev, ws_event_domain(domain), NULL, WS_TEXT_BYTES);
	ws_event_payloads(ev, payload, n);
}

MARK(MarkPayload, (wsn_domain domain, const struct wsn_payload_data *payload, size_t n),
     with_payloads(&ev, domain, payload, n))
PUSH(RangePushPayload, (wsn_domain domain, const struct wsn_payload_data *payload, size_t n),
     ws_event_skips(), with_payloads(&ev, domain, payload, n))
POP(RangePopPayload, (wsn_domain domain, const struct wsn_payload_data *payload, size_t n),
    with_payloads(&ev, domain, payload, n))
START(RangeStartPayload, (wsn_domain domain, const struct wsn_payload_data *payload, size_t n),
      with_payloads(&ev, domain, payload, n))
END(RangeEndPayload,
    (wsn_domain domain, wsn_range_id id, const struct wsn_payload_data *payload, size_t n),
    with_payloads(&ev, domain, payload, n))

/* Always provided: headers of NVTX 3.2.0 and 3.2.1 take a missing callback for "no". */
static uint8_t on_DomainIsEnabled(wsn_domain domain)
{
	return ws_collector_on() && ws_event_domain(domain) != WS_DEF_NONE;
}

static int64_t on_TimestampGet(void)
{
	return ws_now_ns();
}

static uint64_t on_ScopeRegister(wsn_domain domain, const struct wsn_scope_attr *attr)
{
	return ws_collector_on() && attr ? ws_scope_register(ws_event_domain(domain), attr) : 0;
}

/* --- counters --- */

static uint64_t on_CounterRegister(wsn_domain domain, const struct wsn_counter_attr *attr)
{
	return ws_collector_on() && attr ? ws_counter_register(ws_event_domain(domain), attr) : 0;
}

/* Defines the callback NAME, which records samples. */
#define SAMPLE(name, params, act)                                               \
	static void on_##name params                                            \
	{                                                                       \
		if (ws_collector_on() && !(ws_is_silent() && ws_event_skips())) \
			act;                                                    \
	}
#define SAMPLE_OF(name, last, form, value, size)                   \
	SAMPLE(name, (wsn_domain domain, uint64_t id, PLAIN last), \
	       ws_event_sample(ws_event_domain(domain), id, WS_SAMPLE_##form, value, size))

SAMPLE_OF(CounterSampleInt64, (int64_t value), INT64, &value, sizeof(value))
SAMPLE_OF(CounterSampleFloat64, (double value), FLOAT64, &value, sizeof(value))
SAMPLE_OF(CounterSample, (const void *values, size_t size), BYTES, values, size)
SAMPLE_OF(CounterSampleNoValue, (uint8_t reason), NO_VALUE, &reason, sizeof(reason))
SAMPLE(CounterBatchSubmit, (wsn_domain domain, const struct wsn_counter_batch *batch),
       ws_event_samples(ws_event_domain(domain), batch))

/* --- calls that are only counted --- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
/* NOLINTBEGIN(misc-unused-parameters) */

/* Defines the callback NAME, which counts n more of this loss and returns `answer`. */
#define COUNT(ret, name, params, loss, n, answer)         \
	static ret on_##name params                       \
	{                                                 \
		if (ws_collector_on() && !ws_is_silent()) \
			ws_lost(WS_DROPPED_##loss, (n));  \
		return answer;                            \
	}
#define NOT_KEPT(name, params, kind) COUNT(void, name, params, nvtx_not_kept_##kind, 1, )
#define NOT_KEPT_BATCH(name, params, kind) \
	COUNT(void, name, params, nvtx_not_kept_##kind, batch ? batch->count : 0, )
/* The program needs a handle, or it makes no further calls. */
#define NOT_KEPT_HANDLE(ret, name, params, kind) \
	COUNT(ret, name, params, nvtx_not_kept_##kind, 1, (ret)(void *)&token)
#define NOT_KEPT_ID(name, params, kind, chosen)                \
	COUNT(uint64_t, name, params, nvtx_not_kept_##kind, 1, \
	      attr && attr->chosen ? attr->chosen : WSN_SCHEMA_ID_DYNAMIC_START)

#define PAYLOADS wsn_domain domain, const struct wsn_payload_data *payload, size_t n
COUNT(void, EventSubmit, (PAYLOADS), deferred_event, 1, )
COUNT(void, EventBatchSubmit, (wsn_domain domain, const void *batch), deferred_event, 1, )

NOT_KEPT_ID(TimeDomainRegister, (wsn_domain domain, const struct wsn_time_domain_attr *attr),
            time_domains, time_domain_id)
NOT_KEPT(TimerSource, (wsn_domain domain, uint64_t id, uint64_t flags, int64_t (*now)(void)),
         time_domains)
NOT_KEPT(TimerSourceWithData,
         (wsn_domain domain, uint64_t id, uint64_t flags, int64_t (*now)(void *), void *data),
         time_domains)
NOT_KEPT(TimeSyncPoint,
         (wsn_domain domain, uint64_t one, uint64_t two, int64_t time1, int64_t time2),
         time_domains)
NOT_KEPT(TimeSyncPointTable,
         (wsn_domain domain, uint64_t from, uint64_t to, const void *points, size_t n),
         time_domains)
NOT_KEPT(TimestampConversionFactor,
         (wsn_domain domain, uint64_t from, uint64_t to, double slope, int64_t time1,
          int64_t time2),
         time_domains)

NOT_KEPT_HANDLE(void *, MemHeapRegister, (wsn_domain domain, const void *heap), memory_heaps)
NOT_KEPT(MemHeapUnregister, (wsn_domain domain, void *heap), memory_heaps)
NOT_KEPT(MemHeapReset, (wsn_domain domain, void *heap), memory_heaps)
NOT_KEPT_BATCH(MemRegionsRegister, (wsn_domain domain, const struct wsn_mem_batch *batch),
               memory_regions)
NOT_KEPT_BATCH(MemRegionsResize, (wsn_domain domain, const struct wsn_mem_list *batch),
               memory_regions)
NOT_KEPT_BATCH(MemRegionsUnregister, (wsn_domain domain, const struct wsn_mem_list *batch),
               memory_regions)
NOT_KEPT_BATCH(MemRegionsName, (wsn_domain domain, const struct wsn_mem_list *batch),
               memory_regions)
NOT_KEPT_BATCH(MemCudaMarkInitialized,
               (wsn_domain domain, const void *stream, uint8_t is_per_thread,
                const struct wsn_mem_list *batch),
               memory_regions)
NOT_KEPT_BATCH(MemPermissionsAssign, (wsn_domain domain, const struct wsn_mem_batch *batch),
               memory_permissions)
NOT_KEPT_HANDLE(void *, MemPermissionsCreate, (wsn_domain domain, int32_t flags),
                memory_permissions)
NOT_KEPT(MemPermissionsDestroy, (wsn_domain domain, void *permissions), memory_permissions)
NOT_KEPT(MemPermissionsReset, (wsn_domain domain, void *permissions), memory_permissions)
NOT_KEPT(MemPermissionsBind, (wsn_domain domain, void *permissions, uint32_t scope, uint32_t flags),
         memory_permissions)
NOT_KEPT(MemPermissionsUnbind, (wsn_domain domain, uint32_t scope), memory_permissions)
NOT_KEPT_HANDLE(void *, MemCudaGetProcessWidePermissions, (wsn_domain domain), memory_permissions)
NOT_KEPT_HANDLE(void *, MemCudaGetDeviceWidePermissions, (wsn_domain domain, int device),
                memory_permissions)
NOT_KEPT(MemCudaSetPeerAccess, (wsn_domain domain, void *permissions, int device, uint32_t flags),
         memory_permissions)

NOT_KEPT_HANDLE(wsn_resource, DomainSyncUserCreate, (wsn_domain domain, const void *attr),
                sync_objects)
NOT_KEPT(DomainSyncUserDestroy, (wsn_resource object), sync_objects)
NOT_KEPT(DomainSyncUserAcquireStart, (wsn_resource object), sync_objects)
NOT_KEPT(DomainSyncUserAcquireFailed, (wsn_resource object), sync_objects)
NOT_KEPT(DomainSyncUserAcquireSuccess, (wsn_resource object), sync_objects)
NOT_KEPT(DomainSyncUserReleasing, (wsn_resource object), sync_objects)

/* NOLINTEND(misc-unused-parameters) */
#pragma GCC diagnostic pop

/* --- attaching --- */

/* A name and its callback; the assignment checks the callback's type. */
#define M(list, module)          list(X)
#define X(name, id, ret, params) static const wsn_fn_##name typed_##name = on_##name;
WSN_MODULE_LIST(M)
WSN_EXT_LIST(M)
#undef X
#undef M

static bool hook_core(wsn_get_export_table get)
{
	const struct wsn_callbacks_table *callbacks = get(WSN_ETID_CALLBACKS);
	unsigned int size;
	wsn_fn **table;

	if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
		return 0;
		/* an older NVTX has shorter tables: set only existing entries */
#define X(name, id, ret, params)    \
	if (id < size && table[id]) \
		*table[id] = (wsn_fn)typed_##name;
#define M(list, module)                                                    \
	if (callbacks->get_module_function_table(module, &table, &size)) { \
		list(X)                                                    \
	}
	WSN_MODULE_LIST(M)
#undef M
#undef X
	return 1;
}

static bool hook_extension(struct wsn_ext_module *module)
{
	struct wsn_ext_segment *segment = module->segments;

	if (!module->segments_count)
		return 0;
	switch (module->module_id) {
#define X(name, id, ret, params)      \
	if (id < segment->slot_count) \
		segment->function_slots[id] = (intptr_t)typed_##name;
#define M(list, module) \
	case module:    \
		list(X) return 1;
		WSN_EXT_LIST(M)
#undef M
#undef X
	default: /* its calls cannot be counted, only that it offers them */
		ws_lost(WS_DROPPED_nvtx_not_kept_extensions, 1);
		return 0;
	}
}

/* --- entry points --- */

/* The library's entry points. */

#define WS_EXPORT __attribute__((visibility("default")))

/* Called once by each ELF module that contains NVTX, at its first call. */
WS_EXPORT int InitializeInjectionNvtx2(wsn_get_export_table get);
WS_EXPORT int InitializeInjectionNvtxExtension(struct wsn_ext_module *module);

/* Called once by the CUDA driver while it initializes; no CUDA function may be called here. */
WS_EXPORT int InitializeInjection(void);

/* Called by our Python module to push and pop ranges of the default domain. */
WS_EXPORT void warpsheet_push(const char *name);
WS_EXPORT void warpsheet_pop(void);
WS_EXPORT void warpsheet_fact(const char *key, const char *value);

int InitializeInjection(void)
{
	if (attach_once()) {
		ws_cupti_start();
		/* For a program that removed our LD_PRELOAD: the library is loaded by now, as the
		 * CUDA driver loads it. */
		const char *value = getenv(WS_PYTORCH_ENV);
		if (value && strcmp(value, "off")) {
			void *torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
			if (torch)
				ws_pytorch_attach(torch);
		}
	}
	return 1; /* the program continues in any case */
}

int InitializeInjectionNvtx2(wsn_get_export_table get)
{
	Dl_info client;
	void *address;

	if (!attach_once() || !hook_core(get))
		return 0;
	atomic_fetch_add(&ws_collector.seg->modules, 1);
	memcpy(&address, &get, sizeof(address));
	if (dladdr(address, &client) && client.dli_fname && strstr(client.dli_fname, "/nvtx/_lib/"))
		ws_define_fact("nvtx.python", "1");
	return 1;
}

int InitializeInjectionNvtxExtension(struct wsn_ext_module *module)
{
	return attach_once() && hook_extension(module);
}

void warpsheet_push(const char *name)
{
	struct ws_event ev;

	if (!attach_once())
		return;
	/* counts as a module that calls the collector, as otherwise the recording would seem
	 * empty */
	(void)!atomic_fetch_or(&ws_collector.seg->modules, 1);
	if (ws_is_silent() && skips_text(WSN_MESSAGE_ASCII, name))
		return;
	ws_event_init(&ev, 0, name, WS_TEXT_BYTES);
	ws_event_push(&ev);
}

void warpsheet_pop(void)
{
	struct ws_event ev;

	if (!attach_once() || (ws_is_silent() && ws_event_skips()))
		return;
	ws_event_init(&ev, 0, NULL, WS_TEXT_BYTES);
	ws_event_pop(&ev);
}

/* As `record --fact`. key: with "workload." */
void warpsheet_fact(const char *key, const char *value)
{
	if (!attach_once())
		return;
	(void)!atomic_fetch_or(&ws_collector.seg->modules, 1);
	ws_define_fact(key, value);
}

/* --- preloading, for --pytorch --- */

/*
 * With --pytorch the library is loaded at the start of a program (LD_PRELOAD) and checks each
 * dlopen, because Python loads PyTorch with it. Other calls of dlopen are passed to the C library
 * with the caller's return address, which decides where libraries are searched.
 */

typedef void *(*open_fn)(const char *path, int flags);

static bool is_wanted;
static _Atomic(open_fn) next_open;

static void look(void *handle)
{
	if (ws_pytorch_is_in(handle) && attach_once())
		ws_pytorch_attach(handle);
}

/* Attaches to PyTorch in a program that is linked to it. */
__attribute__((constructor)) static void look_at_program(void)
{
	const char *value = getenv(WS_PYTORCH_ENV);

	is_wanted = value && *value && strcmp(value, "off") != 0;
	if (is_wanted)
		look(RTLD_DEFAULT);
}

static open_fn find_next(void)
{
	open_fn found = atomic_load_explicit(&next_open, memory_order_relaxed);

	if (!found) {
		void *symbol = dlsym(RTLD_NEXT, "dlopen");
		memcpy(&found, &symbol, sizeof(found));
		atomic_store_explicit(&next_open, found, memory_order_relaxed);
	}
	return found;
}

static void *open_and_look(const char *path, int flags)
{
	void *handle = find_next()(path, flags);

	if (handle)
		look(handle);
	return handle;
}

static void *open_nothing(const char *path, int flags)
{
	(void)path;
	(void)flags;
	return NULL;
}

/* Chooses the function for a dlopen of this path. An absolute path needs no search. */
__attribute__((used)) static open_fn choose(const char *path) __asm__("ws_preload_choose");
static open_fn choose(const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;

	if (!find_next())
		return open_nothing;
	if (!is_wanted || !name || strchr(path, '$') ||
	    (strncmp(name, "/_C.", 4) != 0 && strncmp(name, "/libtorch", 9) != 0))
		return find_next();
	return open_and_look;
}

/* dlopen: asks which function to use, then jumps to it as if it had been called. */
__asm__(".text\n"
        ".globl dlopen\n"
        ".type dlopen, %function\n"
        "dlopen:\n"
#if defined(__x86_64__)
        "	endbr64\n"
        "	push %rdi\n"
        "	push %rsi\n"
        "	sub $8, %rsp\n"
        "	call ws_preload_choose\n"
        "	add $8, %rsp\n"
        "	pop %rsi\n"
        "	pop %rdi\n"
        "	jmp *%rax\n"
#elif defined(__aarch64__)
        "	hint 34\n"
        "	stp x0, x1, [sp, -32]!\n"
        "	str x30, [sp, 16]\n"
        "	bl ws_preload_choose\n"
        "	mov x16, x0\n"
        "	ldr x30, [sp, 16]\n"
        "	ldp x0, x1, [sp], 32\n"
        "	br x16\n"
#else
#error "what does a tail call look like here?"
#endif
        ".size dlopen, . - dlopen\n");
