/* libcupti for tests: see fake.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recorder/shared/cupti_abi.h"
#include "tests/recorder/cuda/fake.h"

#define CALL_LAUNCH        211 /* cudaLaunchKernel */
#define CALL_GET_DEVICE    17
#define CALL_MEMCPY         31 /* cudaMemcpy, which nobody calls */
#define CALL_GRAPH_LAUNCH   311
#define CALL_BEGIN_CAPTURE  315
#define CALL_END_CAPTURE    319
#define DRIVER_CALL_VERSION 5
#define DRIVER_CALL_LAUNCH 307
#define CALLS              520

/* A thread's buffer. They are never freed: CUPTI's outlive the program, too. */
struct buffer {
	pthread_mutex_t lock;
	uint8_t *bytes;
	size_t size, used;
	int has_kernels;
	struct buffer *next;
};

struct full {
	uint8_t *bytes;
	size_t size, used;
	struct full *next;
};

static ws_cupti_callback callback;
static ws_cupti_request request;
static ws_cupti_complete complete;
static int kind_on[64];
static uint8_t call_on[2][CALLS], callback_on[8][CALLS];
static int system_threads;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some_full = PTHREAD_COND_INITIALIZER;
static struct buffer *buffers;
static struct full *full_first, **full_last = &full_first;
static __thread struct buffer *mine;

static _Atomic uint32_t next_correlation;
static _Atomic size_t dropped;
static _Atomic uint64_t kernels;
static _Atomic int has_context, is_final;
static _Atomic int has_all_sync = 1;
static int captures; /* open on some stream; the victim captures on one thread */
static uint64_t (*timestamp)(void);

/* What the real one would make of it, too: a program that dies of the tool. */
static void must(int is_legal, const char *what)
{
	if (is_legal)
		return;
	fprintf(stderr, "fake CUPTI: %s\n", what);
	abort();
}

static long setting(const char *name, long otherwise)
{
	const char *value = getenv(name);

	return value ? strtol(value, NULL, 10) : otherwise;
}

/* X(NAME): settings that are looked up once, as launches ask for them */
#define SETTINGS(X) X(QUERIES) X(FATAL_AT) X(FLUSH_MS) X(BUSY) X(FOREIGN)
enum setting {
#define X(name) SETTING_##name,
	SETTINGS(X)
#undef X
	        SETTING_COUNT
};

static long setting_of(enum setting which)
{
	static const char *const names[] = {
#define X(name) "FAKE_CUPTI_" #name,
	        SETTINGS(X)
#undef X
	};
	static _Atomic long values[SETTING_COUNT]; /* + 1; 0: not looked up */
	long value = atomic_load(&values[which]);

	if (!value) {
		value = setting(names[which], 0) + 1;
		atomic_store(&values[which], value);
	}
	return value - 1;
}

static size_t kernel_size(void)
{
	static _Atomic size_t size;

	if (!atomic_load(&size))
		atomic_store(&size, (size_t)setting("FAKE_CUPTI_KERNEL_SIZE", 216));
	return atomic_load(&size);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	if (timestamp)
		return timestamp();
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* --- handing over --- */

static void *worker(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		struct full *f = full_first;

		if (!f) {
			pthread_cond_wait(&some_full, &lock);
			continue;
		}
		full_first = f->next;
		if (!full_first)
			full_last = &full_first;
		pthread_mutex_unlock(&lock);
		complete(NULL, 0, f->bytes, f->size, f->used);
		free(f);
		pthread_mutex_lock(&lock);
	}
	return arg;
}

/* Called with the buffer locked. */
static void hand_to_worker(struct buffer *b)
{
	struct full *f = calloc(1, sizeof(*f));

	*f = (struct full){b->bytes, b->size, b->used, NULL};
	b->bytes = NULL;
	pthread_mutex_lock(&lock);
	*full_last = f;
	full_last = &f->next;
	pthread_cond_signal(&some_full);
	pthread_mutex_unlock(&lock);
}

/* --- writing --- */

static struct buffer *my_buffer(void)
{
	if (!mine) {
		mine = calloc(1, sizeof(*mine));
		pthread_mutex_init(&mine->lock, NULL);
		pthread_mutex_lock(&lock);
		mine->next = buffers;
		buffers = mine;
		pthread_mutex_unlock(&lock);
	}
	return mine;
}

/* Place for a record in the caller's buffer, which is locked; NULL: dropped. */
static uint8_t *place(struct buffer *b, size_t size)
{
	size_t max_records;

	if (b->bytes && b->size - b->used < size)
		hand_to_worker(b);
	if (!b->bytes) {
		b->used = 0;
		b->has_kernels = 0;
		request(&b->bytes, &b->size, &max_records);
		if (!b->bytes) {
			atomic_fetch_add(&dropped, 1);
			return NULL;
		}
	}
	b->used += size;
	return b->bytes + b->used - size;
}

#define PUT(record, what, field, value)                                              \
	do {                                                                         \
		const __typeof__(((struct ws_cupti_##what *)0)->field) v_ = (value); \
		memcpy((record) + WS_CUPTI_AT_##what##_##field, &v_, sizeof(v_));    \
	} while (0)

static uint32_t my_tid(void)
{
	static __thread uint32_t tid;

	if (!tid)
		tid = (uint32_t)gettid();
	return tid;
}

static void put_kind(uint8_t *record, uint32_t kind)
{
	memcpy(record, &kind, sizeof(kind));
}

static void put_api(struct buffer *b, uint32_t kind, uint32_t cbid, uint64_t start, uint64_t end,
                    uint32_t correlation)
{
	uint8_t *r;

	if (!kind_on[kind] && !call_on[kind == WS_CUPTI_KIND_RUNTIME][cbid])
		return;
	r = place(b, WS_CUPTI_SIZE_api);
	if (!r)
		return;
	PUT(r, api, cbid, cbid);
	PUT(r, api, start, start);
	PUT(r, api, end, end);
	PUT(r, api, thread, system_threads ? my_tid() : 1);
	PUT(r, api, correlation, correlation);
	put_kind(r, kind);
}

/* Whether the setting, which is looked up once, names a divisor of n. */
static int is_nth(uint64_t n, const char *name, _Atomic long *every)
{
	if (atomic_load(every) < 0)
		atomic_store(every, setting(name, 0));
	return atomic_load(every) && !(n % (uint64_t)atomic_load(every));
}

static void put_kernel(struct buffer *b, const char *name, uint64_t node, unsigned grid,
                       uint64_t now, uint32_t correlation)
{
	static _Atomic long zero_every = -1, lose_every = -1, run_every = -1;
	uint64_t n = atomic_fetch_add(&kernels, 1) + 1;
	uint8_t *r;

	if (is_nth(n, "FAKE_CUPTI_LOSE_EVERY", &lose_every))
		return;
	r = place(b, kernel_size());
	if (!r)
		return;
	b->has_kernels = 1;
	if (!is_nth(n, "FAKE_CUPTI_ZERO_EVERY", &zero_every)) {
		PUT(r, kernel, start, now + 2000);
		if (!is_nth(n, "FAKE_CUPTI_RUN_EVERY", &run_every))
			PUT(r, kernel, end, now + 3000);
	}
	PUT(r, kernel, registers, 32);
	PUT(r, kernel, context, 1);
	PUT(r, kernel, stream, 7);
	PUT(r, kernel, grid_x, grid);
	PUT(r, kernel, grid_y, 1);
	PUT(r, kernel, grid_z, 1);
	PUT(r, kernel, block_x, 256);
	PUT(r, kernel, block_y, 1);
	PUT(r, kernel, block_z, 1);
	PUT(r, kernel, correlation, correlation);
	PUT(r, kernel, name, (uint64_t)(uintptr_t)name);
	PUT(r, kernel, graph_node, node);
	memset(r + 208, 0xEE, kernel_size() - 208); /* what a reader of 13.0 does not know */
	put_kind(r, WS_CUPTI_KIND_CONCURRENT_KERNEL);
}

/* A poll, as of PyTorch's allocator: no wait, but in the form of one. */
static void put_query(struct buffer *b, uint64_t now, uint32_t correlation)
{
	uint8_t *r = kind_on[WS_CUPTI_KIND_SYNCHRONIZATION] && atomic_load(&has_all_sync)
	                     ? place(b, WS_CUPTI_SIZE_sync)
	                     : NULL;

	if (!r)
		return;
	PUT(r, sync, type, 3);
	PUT(r, sync, start, now + 1100);
	PUT(r, sync, end, now + 1200);
	PUT(r, sync, correlation, correlation);
	PUT(r, sync, context, 1);
	PUT(r, sync, stream, 7);
	PUT(r, sync, event, WS_CUPTI_NONE);
	PUT(r, sync, result, WS_CUPTI_CUDA_NOT_READY);
	put_kind(r, WS_CUPTI_KIND_SYNCHRONIZATION);
}

/* CUPTI tells of it, if it still can, and is gone. */
static void fail_for_good(void)
{
	struct ws_cupti_state_callback data = {999, "the device fell off the bus"};

	if (callback_on[WS_CUPTI_DOMAIN_STATE][WS_CUPTI_CBID_STATE_FATAL_ERROR])
		callback(NULL, WS_CUPTI_DOMAIN_STATE, WS_CUPTI_CBID_STATE_FATAL_ERROR, &data);
	atomic_store(&is_final, 1);
}

/* The driver's callback for a launch, when a tool wants it. */
static void tell_launch(void)
{
	struct ws_cupti_api_callback data = {WS_CUPTI_SITE_ENTER};

	if (callback_on[WS_CUPTI_DOMAIN_DRIVER][DRIVER_CALL_LAUNCH])
		callback(NULL, WS_CUPTI_DOMAIN_DRIVER, DRIVER_CALL_LAUNCH, &data);
}

void fake_cupti_capture(int begins)
{
	struct buffer *b = my_buffer();
	uint64_t now = now_ns();
	uint32_t correlation;

	captures += begins ? 1 : -1;
	pthread_mutex_lock(&b->lock);
	correlation = atomic_fetch_add(&next_correlation, 1) + 1;
	put_api(b, WS_CUPTI_KIND_RUNTIME, begins ? CALL_BEGIN_CAPTURE : CALL_END_CAPTURE, now,
	        now + 40, correlation);
	pthread_mutex_unlock(&b->lock);
}

void fake_cupti_asked_version(void)
{
	struct buffer *b = my_buffer();
	uint64_t now = now_ns();

	if (!request || atomic_load(&is_final))
		return;
	pthread_mutex_lock(&b->lock);
	put_api(b, WS_CUPTI_KIND_DRIVER, DRIVER_CALL_VERSION, now, now + 20,
	        atomic_fetch_add(&next_correlation, 1) + 1);
	pthread_mutex_unlock(&b->lock);
}

void fake_cupti_launched(const char *name, uint64_t node, unsigned grid)
{
	struct buffer *b = my_buffer();
	uint64_t now = now_ns();
	uint32_t correlation;

	if (!request || atomic_load(&is_final))
		return;
	tell_launch();
	pthread_mutex_lock(&b->lock);
	correlation = atomic_fetch_add(&next_correlation, 2) + 1;
	put_api(b, WS_CUPTI_KIND_RUNTIME, CALL_GET_DEVICE, now, now + 50, correlation);
	/* the driver's call lies inside the runtime's and ends first */
	put_api(b, WS_CUPTI_KIND_DRIVER, DRIVER_CALL_LAUNCH, now + 100, now + 900, correlation + 1);
	put_api(b, WS_CUPTI_KIND_RUNTIME, CALL_LAUNCH, now + 60, now + 1000, correlation + 1);
	/* what is captured becomes a node, and is not done */
	if (!captures && kind_on[WS_CUPTI_KIND_CONCURRENT_KERNEL])
		put_kernel(b, name, node, grid, now, correlation + 1);
	if (setting_of(SETTING_QUERIES))
		put_query(b, now, correlation);
	pthread_mutex_unlock(&b->lock);
	if (setting_of(SETTING_FATAL_AT) &&
	    atomic_load(&kernels) == (uint64_t)setting_of(SETTING_FATAL_AT))
		fail_for_good();
}

void fake_cupti_graph_launched(const char *const *names, uint64_t n)
{
	struct buffer *b = my_buffer();
	uint64_t now = now_ns();
	uint32_t correlation;
	uint8_t *r;

	if (!request || atomic_load(&is_final))
		return;
	tell_launch();
	pthread_mutex_lock(&b->lock);
	correlation = atomic_fetch_add(&next_correlation, 1) + 1;
	put_api(b, WS_CUPTI_KIND_RUNTIME, CALL_GRAPH_LAUNCH, now + 60, now + 1000, correlation);
	r = kind_on[WS_CUPTI_KIND_GRAPH_TRACE] ? place(b, WS_CUPTI_SIZE_graph) : NULL;
	if (r) {
		PUT(r, graph, correlation, correlation);
		PUT(r, graph, start, now + 2000);
		PUT(r, graph, end, now + 2000 + 1000 * n);
		PUT(r, graph, id, 1);
		PUT(r, graph, context, 1);
		PUT(r, graph, stream, 7);
		put_kind(r, WS_CUPTI_KIND_GRAPH_TRACE);
	}
	for (uint64_t i = 0; i < n && !kind_on[WS_CUPTI_KIND_GRAPH_TRACE]; i++)
		put_kernel(b, names[i], i + 1, 1, now + 1000 * i, correlation);
	pthread_mutex_unlock(&b->lock);
}

/* CUDA's own handler: after it CUPTI gives nothing any more. */
static _Atomic int cuda_is_gone;

static void cuda_exits(void)
{
	atomic_store(&cuda_is_gone, 1);
}

void fake_cupti_context(void)
{
	struct buffer *b = my_buffer();
	uint8_t *r;

	if (!request)
		return;
	atomic_store(&has_context, 1);
	atexit(cuda_exits);
	if (callback_on[WS_CUPTI_DOMAIN_RESOURCE][WS_CUPTI_CBID_RESOURCE_CONTEXT_CREATED])
		callback(NULL, WS_CUPTI_DOMAIN_RESOURCE, WS_CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
		         &(uint64_t){0});
	pthread_mutex_lock(&b->lock);
	r = kind_on[WS_CUPTI_KIND_DEVICE] ? place(b, WS_CUPTI_SIZE_device) : NULL;
	if (r) {
		PUT(r, device, sm_count, 132);
		PUT(r, device, major, 9);
		PUT(r, device, warp_size, 32);
		PUT(r, device, warps_per_sm, 64);
		PUT(r, device, core_clock, 1980000);
		PUT(r, device, name, (uint64_t)(uintptr_t) "Fake H200");
		put_kind(r, WS_CUPTI_KIND_DEVICE);
	}
	r = kind_on[WS_CUPTI_KIND_CONTEXT] ? place(b, WS_CUPTI_SIZE_context) : NULL;
	if (r) {
		PUT(r, context, id, 1);
		PUT(r, context, api, 1);
		PUT(r, context, null_stream, 7);
		put_kind(r, WS_CUPTI_KIND_CONTEXT);
	}
	pthread_mutex_unlock(&b->lock);
}

/* --- what a tool calls --- */

int cuptiGetVersion(uint32_t *version);
int cuptiGetVersion(uint32_t *version)
{
	*version = (uint32_t)setting("FAKE_CUPTI_VERSION", 130001);
	return WS_CUPTI_OK;
}

int cuptiGetResultString(int result, const char **text);
int cuptiGetResultString(int result, const char **text)
{
	*text = result == WS_CUPTI_OK ? "CUPTI_SUCCESS" : "CUPTI_ERROR_FAKE";
	return WS_CUPTI_OK;
}

int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name);
int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	const int runtime = domain == WS_CUPTI_DOMAIN_RUNTIME;

	if (!cbid || cbid >= CALLS)
		return 1;
	*name = runtime ? "cudaSomethingElse" : "cuSomethingElse";
	if (runtime && cbid == CALL_LAUNCH)
		*name = "cudaLaunchKernel_v7000";
	else if (runtime && cbid == CALL_GET_DEVICE)
		*name = "cudaGetDevice_v3020";
	else if (runtime && cbid == CALL_MEMCPY)
		*name = "cudaMemcpy_v3020";
	else if (runtime && cbid == CALL_GRAPH_LAUNCH)
		*name = "cudaGraphLaunch_v10000";
	else if (runtime && cbid == CALL_BEGIN_CAPTURE)
		*name = "cudaStreamBeginCapture_v10000";
	else if (runtime && cbid == CALL_END_CAPTURE)
		*name = "cudaStreamEndCapture_v10000";
	else if (!runtime && cbid == DRIVER_CALL_VERSION)
		*name = "cuDriverGetVersion";
	else if (!runtime && cbid == DRIVER_CALL_LAUNCH)
		*name = "cuLaunchKernel";
	return WS_CUPTI_OK;
}

int cuptiSubscribe(void **subscriber, ws_cupti_callback fn, void *user);
int cuptiSubscribe(void **subscriber, ws_cupti_callback fn, void *user)
{
	(void)user;
	callback = fn;
	*subscriber = &callback;
	return (int)setting("FAKE_CUPTI_SUBSCRIBE", WS_CUPTI_OK);
}

int cuptiSubscribe_v2(void **subscriber, ws_cupti_callback fn, void *user,
                      struct ws_cupti_subscriber_params *params);
int cuptiSubscribe_v2(void **subscriber, ws_cupti_callback fn, void *user,
                      struct ws_cupti_subscriber_params *params)
{
	int result = cuptiSubscribe(subscriber, fn, user);

	if (result == WS_CUPTI_MULTIPLE_SUBSCRIBERS)
		snprintf(params->other_name, params->other_size, "CUPTI for somebody");
	return result;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	if (subscriber != &callback || domain >= 8 || cbid >= CALLS)
		return 1;
	callback_on[domain][cbid] = (uint8_t)enable;
	return WS_CUPTI_OK;
}

#ifndef FAKE_CUPTI_LACKS_THREAD_IDS
int cuptiSetThreadIdType(int type);
int cuptiSetThreadIdType(int type)
{
	system_threads = type == WS_CUPTI_THREAD_ID_SYSTEM;
	return WS_CUPTI_OK;
}
#endif

int cuptiActivitySetAttribute(int attribute, size_t *size, void *value);
int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
	if (attribute == setting("FAKE_CUPTI_REFUSE_ATTR", -1))
		return 1;
	return *size == 1 && *(uint8_t *)value == 1 &&
	                       (attribute == WS_CUPTI_ATTR_ZEROED_OUT_BUFFER ||
	                        attribute == WS_CUPTI_ATTR_PER_THREAD_BUFFER)
	               ? WS_CUPTI_OK
	               : 1;
}

int cuptiActivityRegisterCallbacks(ws_cupti_request on_request, ws_cupti_complete on_complete);
int cuptiActivityRegisterCallbacks(ws_cupti_request on_request, ws_cupti_complete on_complete)
{
	static int has_worker;
	pthread_t thread;

	/* the second registration is accepted as the first one is */
	request = on_request;
	complete = on_complete;
	if (has_worker++)
		return WS_CUPTI_OK;
	return pthread_create(&thread, NULL, worker, NULL) ? 1 : WS_CUPTI_OK;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*fn)(void));
int cuptiActivityRegisterTimestampCallback(uint64_t (*fn)(void))
{
	timestamp = fn;
	return WS_CUPTI_OK;
}

int cuptiGetTimestamp(uint64_t *now);
int cuptiGetTimestamp(uint64_t *now)
{
	*now = now_ns();
	return WS_CUPTI_OK;
}

int cuptiActivityEnableAllSyncRecords(uint8_t enable);
int cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
	if (setting("FAKE_CUPTI_ALL_SYNC", 0))
		return 1;
	atomic_store(&has_all_sync, enable);
	return WS_CUPTI_OK;
}

int cuptiActivityDisable(int kind);
int cuptiActivityDisable(int kind)
{
	kind_on[kind] = 0;
	return WS_CUPTI_OK;
}

int cuptiActivityEnable(int kind);
int cuptiActivityEnable(int kind)
{
	kind_on[kind] = 1;
	return WS_CUPTI_OK;
}

int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable)
{
	if (cbid == (uint32_t)setting("FAKE_CUPTI_REFUSE_CALL", 0))
		return 1;
	call_on[1][cbid] = enable;
	return WS_CUPTI_OK;
}

int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable)
{
	call_on[0][cbid] = enable;
	return WS_CUPTI_OK;
}

/* Completes on the calling thread, as the real one may. */
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityFlushAll(uint32_t flag)
{
	struct buffer *b;

	must(atomic_load(&has_context), "flushed before there is a context");
	must(!atomic_load(&is_final), "flushed after it tore itself down");
	if (atomic_load(&cuda_is_gone))
		return WS_CUPTI_OK;
	if (setting_of(SETTING_FLUSH_MS))
		usleep((useconds_t)setting_of(SETTING_FLUSH_MS) * 1000);
	must(!atomic_load(&cuda_is_gone), "flushing while CUDA is torn down");
	if (setting_of(SETTING_FOREIGN)) {
		static uint8_t bytes[4096];

		complete(NULL, 0, bytes, sizeof(bytes), 40);
	}
	pthread_mutex_lock(&lock);
	b = buffers;
	pthread_mutex_unlock(&lock);
	for (; b; b = b->next) { /* only ever grows, at its head */
		uint8_t *bytes;
		size_t size, used;

		pthread_mutex_lock(&b->lock);
		/* the real one hands over no buffer with a kernel that runs, unless forced */
		if (setting_of(SETTING_BUSY) && b->has_kernels && !flag) {
			pthread_mutex_unlock(&b->lock);
			continue;
		}
		bytes = b->bytes;
		size = b->size;
		used = b->used;
		b->bytes = NULL;
		pthread_mutex_unlock(&b->lock);
		if (bytes)
			complete(NULL, 0, bytes, size, used);
	}
	for (;;) {
		struct full *f;

		pthread_mutex_lock(&lock);
		f = full_first;
		if (f && !(full_first = f->next))
			full_last = &full_first;
		pthread_mutex_unlock(&lock);
		if (!f)
			return WS_CUPTI_OK;
		complete(NULL, 0, f->bytes, f->size, f->used);
		free(f);
	}
}

/* The program called cuProfilerStart or cuProfilerStop. */
void fake_cupti_profiler(int start)
{
	struct ws_cupti_api_callback data = {WS_CUPTI_SITE_ENTER};
	uint32_t cbid =
	        start ? WS_CUPTI_CBID_DRIVER_PROFILER_START : WS_CUPTI_CBID_DRIVER_PROFILER_STOP;

	if (callback_on[WS_CUPTI_DOMAIN_DRIVER][cbid])
		callback(NULL, WS_CUPTI_DOMAIN_DRIVER, cbid, &data);
}

/* What the context has not handed over goes with it, unless the tool flushes at its entry. */
void fake_cupti_reset(void)
{
	struct ws_cupti_api_callback data = {WS_CUPTI_SITE_ENTER};
	struct buffer *b;

	if (callback_on[WS_CUPTI_DOMAIN_RUNTIME][WS_CUPTI_CBID_RUNTIME_DEVICE_RESET])
		callback(NULL, WS_CUPTI_DOMAIN_RUNTIME, WS_CUPTI_CBID_RUNTIME_DEVICE_RESET, &data);
	pthread_mutex_lock(&lock);
	b = buffers;
	pthread_mutex_unlock(&lock);
	for (; b; b = b->next) {
		pthread_mutex_lock(&b->lock);
		if (b->bytes)
			memset(b->bytes, 0, b->used);
		b->used = 0;
		pthread_mutex_unlock(&b->lock);
	}
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_size, uint8_t **record);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_size, uint8_t **record)
{
	static const size_t sizes[64] = {
#define K(KIND, number, name) [number] = WS_CUPTI_SIZE_##name,
	        WS_CUPTI_KIND_LIST(K)
#undef K
	};
	size_t at = 0;
	uint32_t kind;

	if (*record) {
		kind = ws_cupti_kind(*record);
		at = (size_t)(*record - buffer) +
		     (kind == WS_CUPTI_KIND_CONCURRENT_KERNEL ? kernel_size() : sizes[kind]);
	}
	if (at + 8 > valid_size)
		return WS_CUPTI_MAX_LIMIT_REACHED;
	kind = ws_cupti_kind(buffer + at);
	if (kind >= 64 || !sizes[kind])
		return WS_CUPTI_INVALID_KIND;
	*record = buffer + at;
	return WS_CUPTI_OK;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	(void)context;
	(void)stream;
	*n = atomic_exchange(&dropped, 0);
	return WS_CUPTI_OK;
}
