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

#define CALL_LAUNCH         211 /* cudaLaunchKernel */
#define CALL_GET_DEVICE     17
#define CALL_MEMCPY         31 /* cudaMemcpy, which nobody calls */
#define CALL_GRAPH_LAUNCH   311
#define CALL_BEGIN_CAPTURE  315
#define CALL_END_CAPTURE    319
#define DRIVER_CALL_VERSION 5
#define DRIVER_CALL_LAUNCH  307
#define CALLS               520

#define KINDS  64
#define SCOPES 2 /* subscribers that have activities of their own, from 13.3 on */

/* Somebody to be told. The first is all there is before 13.3. */
struct scope {
	int is_on, is_scoped, has_chosen;
	ws_cupti_callback callback;
	ws_cupti_request request;
	ws_cupti_complete complete;
	ws_cupti_scoped_request scoped_request;
	ws_cupti_scoped_complete scoped_complete;
	int kind_on[KINDS];
	_Atomic uint8_t call_on[2][CALLS], callback_on[8][CALLS];
	/* of records with chosen fields */
	struct ws_cupti_field fields[KINDS][8];
	struct ws_cupti_record_layout layouts[KINDS], *by_kind[KINDS];
};
static struct scope scopes[SCOPES];
#define EACH_SCOPE(s)                                            \
	for (struct scope *s = scopes; s < scopes + SCOPES; s++) \
		if (s->is_on)

/* A thread's buffer. They are never freed: CUPTI's outlive the program, too. */
struct buffer {
	struct scope *scope;
	pthread_mutex_t lock;
	uint8_t *bytes;
	size_t size, used;
	int has_kernels;
	struct buffer *next;
};

struct full {
	struct scope *scope;
	uint8_t *bytes;
	size_t size, used;
	struct full *next;
};

static int system_threads;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some_full = PTHREAD_COND_INITIALIZER;
static struct buffer *buffers;
static struct full *full_first, **full_last = &full_first;
static __thread struct buffer *mine[SCOPES];

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

static void complete(struct scope *s, uint8_t *bytes, size_t size, size_t used)
{
	struct ws_cupti_complete_info info = {sizeof(info), 0, s->by_kind, KINDS};

	if (s->is_scoped)
		s->scoped_complete(bytes, size, used, &info);
	else
		s->complete(NULL, 0, bytes, size, used);
}

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
		complete(f->scope, f->bytes, f->size, f->used);
		free(f);
		pthread_mutex_lock(&lock);
	}
	return arg;
}

/* Called with the buffer locked. */
static void hand_to_worker(struct buffer *b)
{
	struct full *f = calloc(1, sizeof(*f));

	*f = (struct full){b->scope, b->bytes, b->size, b->used, NULL};
	b->bytes = NULL;
	pthread_mutex_lock(&lock);
	*full_last = f;
	full_last = &f->next;
	pthread_cond_signal(&some_full);
	pthread_mutex_unlock(&lock);
}

/* --- writing --- */

/* The thread's buffer of this scope, locked. */
static struct buffer *lock_buffer(struct scope *s)
{
	struct buffer *b = mine[s - scopes];

	if (!b) {
		b = mine[s - scopes] = calloc(1, sizeof(*b));
		b->scope = s;
		pthread_mutex_init(&b->lock, NULL);
		pthread_mutex_lock(&lock);
		b->next = buffers;
		buffers = b;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&b->lock);
	return b;
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
		if (b->scope->is_scoped)
			b->scope->scoped_request(&b->bytes, &b->size, &max_records, NULL);
		else
			b->scope->request(&b->bytes, &b->size, &max_records);
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

/* A field of a record whose fields were chosen; one that was not is left out. */
static void put_chosen(struct buffer *b, uint8_t *record, uint32_t kind, int id, uint64_t value)
{
	const struct ws_cupti_record_layout *layout = &b->scope->layouts[kind];

	for (size_t i = 0; i < layout->nfields; i++)
		if (layout->fields[i].id == id)
			memcpy(record + layout->fields[i].offset, &value, layout->fields[i].size);
}

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

	if (b->scope->has_chosen ? !b->scope->call_on[kind == WS_CUPTI_KIND_RUNTIME][cbid]
	                         : !b->scope->kind_on[kind] &&
	                                   !b->scope->call_on[kind == WS_CUPTI_KIND_RUNTIME][cbid])
		return;
	r = place(b,
	          b->scope->has_chosen ? b->scope->layouts[kind].record_size : WS_CUPTI_SIZE_api);
	if (!r)
		return;
	if (b->scope->has_chosen) {
		put_chosen(b, r, kind, WS_CUPTI_ID_api_cbid, cbid);
		put_chosen(b, r, kind, WS_CUPTI_ID_api_start, start);
		put_chosen(b, r, kind, WS_CUPTI_ID_api_end, end);
		put_chosen(b, r, kind, WS_CUPTI_ID_api_thread, system_threads ? my_tid() : 1);
		put_chosen(b, r, kind, WS_CUPTI_ID_api_correlation, correlation);
		put_kind(r, kind);
		return;
	}
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
	const uint64_t n = atomic_load(&kernels);
	const uint32_t kind = WS_CUPTI_KIND_CONCURRENT_KERNEL;
	uint8_t *r;

	if (!b->scope->kind_on[kind] || is_nth(n, "FAKE_CUPTI_LOSE_EVERY", &lose_every))
		return;
	r = place(b, b->scope->has_chosen ? b->scope->layouts[kind].record_size : kernel_size());
	if (!r)
		return;
	b->has_kernels = 1;
	if (b->scope->has_chosen) {
		put_chosen(b, r, kind, WS_CUPTI_ID_kernel_start, now + 2000);
		put_chosen(b, r, kind, WS_CUPTI_ID_kernel_end, now + 3000);
		put_chosen(b, r, kind, WS_CUPTI_ID_kernel_context, 1);
		put_chosen(b, r, kind, WS_CUPTI_ID_kernel_stream, 7);
		put_chosen(b, r, kind, WS_CUPTI_ID_kernel_correlation, correlation);
		put_chosen(b, r, kind, WS_CUPTI_ID_kernel_name, (uint64_t)(uintptr_t)name);
		put_kind(r, kind);
		return;
	}
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
	uint8_t *r = b->scope->kind_on[WS_CUPTI_KIND_SYNCHRONIZATION] && atomic_load(&has_all_sync)
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

/* Everybody who wants to know. */
static void call_back(uint32_t domain, uint32_t cbid, const void *data)
{
	EACH_SCOPE(s)
	{
		if (s->callback_on[domain][cbid])
			s->callback(NULL, domain, cbid, data);
	}
}

/* CUPTI tells of it, if it still can, and is gone. */
static void fail_for_good(void)
{
	struct ws_cupti_state_callback data = {999, "the device fell off the bus"};

	call_back(WS_CUPTI_DOMAIN_STATE, WS_CUPTI_CBID_STATE_FATAL_ERROR, &data);
	atomic_store(&is_final, 1);
}

/* The driver's callback for a launch, when a tool wants it. */
static void tell_launch(void)
{
	struct ws_cupti_api_callback data = {WS_CUPTI_SITE_ENTER};

	call_back(WS_CUPTI_DOMAIN_DRIVER, DRIVER_CALL_LAUNCH, &data);
}

void fake_cupti_capture(int begins)
{
	const uint32_t correlation = atomic_fetch_add(&next_correlation, 1) + 1;
	const uint64_t now = now_ns();

	captures += begins ? 1 : -1;
	EACH_SCOPE(s)
	{
		struct buffer *b = lock_buffer(s);

		put_api(b, WS_CUPTI_KIND_RUNTIME, begins ? CALL_BEGIN_CAPTURE : CALL_END_CAPTURE,
		        now, now + 40, correlation);
		pthread_mutex_unlock(&b->lock);
	}
}

void fake_cupti_asked_version(void)
{
	const uint32_t correlation = atomic_fetch_add(&next_correlation, 1) + 1;
	const uint64_t now = now_ns();

	EACH_SCOPE(s)
	{
		struct buffer *b = atomic_load(&is_final) ? NULL : lock_buffer(s);

		if (!b)
			return;
		put_api(b, WS_CUPTI_KIND_DRIVER, DRIVER_CALL_VERSION, now, now + 20, correlation);
		pthread_mutex_unlock(&b->lock);
	}
}

static void put_launch(struct buffer *b, const char *name, uint64_t node, unsigned grid,
                       uint64_t now, uint32_t correlation)
{
	put_api(b, WS_CUPTI_KIND_RUNTIME, CALL_GET_DEVICE, now, now + 50, correlation);
	/* the driver's call lies inside the runtime's and ends first */
	put_api(b, WS_CUPTI_KIND_DRIVER, DRIVER_CALL_LAUNCH, now + 100, now + 900, correlation + 1);
	put_api(b, WS_CUPTI_KIND_RUNTIME, CALL_LAUNCH, now + 60, now + 1000, correlation + 1);
	/* what is captured becomes a node, and is not done */
	if (!captures)
		put_kernel(b, name, node, grid, now, correlation + 1);
	if (setting_of(SETTING_QUERIES))
		put_query(b, now, correlation);
}

void fake_cupti_launched(const char *name, uint64_t node, unsigned grid)
{
	const uint64_t now = now_ns();
	uint32_t correlation;

	if (atomic_load(&is_final))
		return;
	tell_launch();
	correlation = atomic_fetch_add(&next_correlation, 2) + 1;
	atomic_fetch_add(&kernels, !captures);
	EACH_SCOPE(s)
	{
		struct buffer *b = lock_buffer(s);

		put_launch(b, name, node, grid, now, correlation);
		pthread_mutex_unlock(&b->lock);
	}
	if (setting_of(SETTING_FATAL_AT) &&
	    atomic_load(&kernels) == (uint64_t)setting_of(SETTING_FATAL_AT))
		fail_for_good();
}

static void put_graph(struct buffer *b, uint64_t now, uint64_t n, uint32_t correlation)
{
	uint8_t *r = place(b, WS_CUPTI_SIZE_graph);

	if (!r)
		return;
	PUT(r, graph, correlation, correlation);
	PUT(r, graph, start, now + 2000);
	PUT(r, graph, end, now + 2000 + 1000 * n);
	PUT(r, graph, id, 1);
	PUT(r, graph, context, 1);
	PUT(r, graph, stream, 7);
	put_kind(r, WS_CUPTI_KIND_GRAPH_TRACE);
}

void fake_cupti_graph_launched(const char *const *names, uint64_t n)
{
	const uint32_t correlation = atomic_fetch_add(&next_correlation, 1) + 1;
	const uint64_t now = now_ns();

	if (atomic_load(&is_final))
		return;
	tell_launch();
	atomic_fetch_add(&kernels, n);
	EACH_SCOPE(s)
	{
		struct buffer *b = lock_buffer(s);
		const int whole = s->kind_on[WS_CUPTI_KIND_GRAPH_TRACE];

		put_api(b, WS_CUPTI_KIND_RUNTIME, CALL_GRAPH_LAUNCH, now + 60, now + 1000,
		        correlation);
		if (whole)
			put_graph(b, now, n, correlation);
		for (uint64_t i = 0; i < n && !whole; i++)
			put_kernel(b, names[i], i + 1, 1, now + 1000 * i, correlation);
		pthread_mutex_unlock(&b->lock);
	}
}

/* CUDA's own handler: after it CUPTI gives nothing any more. */
static _Atomic int cuda_is_gone;

static void cuda_exits(void)
{
	atomic_store(&cuda_is_gone, 1);
}

static void put_context(struct buffer *b)
{
	uint8_t *r =
	        b->scope->kind_on[WS_CUPTI_KIND_DEVICE] ? place(b, WS_CUPTI_SIZE_device) : NULL;

	if (r) {
		PUT(r, device, sm_count, 132);
		PUT(r, device, major, 9);
		PUT(r, device, warp_size, 32);
		PUT(r, device, warps_per_sm, 64);
		PUT(r, device, core_clock, 1980000);
		PUT(r, device, name, (uint64_t)(uintptr_t) "Fake H200");
		put_kind(r, WS_CUPTI_KIND_DEVICE);
	}
	r = b->scope->kind_on[WS_CUPTI_KIND_CONTEXT] ? place(b, WS_CUPTI_SIZE_context) : NULL;
	if (r) {
		PUT(r, context, id, 1);
		PUT(r, context, api, 1);
		PUT(r, context, null_stream, 7);
		put_kind(r, WS_CUPTI_KIND_CONTEXT);
	}
}

void fake_cupti_context(void)
{
	if (!scopes[0].is_on)
		return;
	atomic_store(&has_context, 1);
	atexit(cuda_exits);
	call_back(WS_CUPTI_DOMAIN_RESOURCE, WS_CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &(uint64_t){0});
	EACH_SCOPE(s)
	{
		struct buffer *b = lock_buffer(s);

		put_context(b);
		pthread_mutex_unlock(&b->lock);
	}
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
	scopes[0].callback = fn;
	*subscriber = &scopes[0];
	return (int)setting("FAKE_CUPTI_SUBSCRIBE", WS_CUPTI_OK);
}

/* From 13.3 on, and with a driver that can: FAKE_CUPTI_SCOPES 0 is one that cannot. */
static int subscribe_scoped(void **subscriber, ws_cupti_callback fn)
{
	struct scope *s = scopes;

	while (s < scopes + SCOPES && s->callback)
		s++;
	if (!setting("FAKE_CUPTI_SCOPES", 1) || s == scopes + SCOPES)
		return 999;
	s->callback = fn;
	s->is_scoped = 1;
	*subscriber = s;
	return WS_CUPTI_OK;
}

int cuptiUnsubscribe(void *subscriber);
int cuptiUnsubscribe(void *subscriber)
{
	memset(subscriber, 0, sizeof(struct scope));
	return WS_CUPTI_OK;
}

int cuptiSubscribe_v2(void **subscriber, ws_cupti_callback fn, void *user,
                      struct ws_cupti_subscriber_params *params);
int cuptiSubscribe_v2(void **subscriber, ws_cupti_callback fn, void *user,
                      struct ws_cupti_subscriber_params *params)
{
	int result;

	if (params && params->struct_size > WS_CUPTI_PARAMS_13_0 && params->allow_multiple)
		return subscribe_scoped(subscriber, fn);
	result = cuptiSubscribe(subscriber, fn, user);
	if (result == WS_CUPTI_MULTIPLE_SUBSCRIBERS)
		snprintf(params->other_name, params->other_size, "CUPTI for somebody");
	return result;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	if ((subscriber != &scopes[0] && subscriber != &scopes[1]) || domain >= 8 || cbid >= CALLS)
		return 1;
	((struct scope *)subscriber)->callback_on[domain][cbid] = (uint8_t)enable;
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

static int start(struct scope *s)
{
	static int has_worker;
	pthread_t thread;

	s->is_on = 1;
	if (has_worker++)
		return WS_CUPTI_OK;
	return pthread_create(&thread, NULL, worker, NULL) ? 1 : WS_CUPTI_OK;
}

int cuptiActivityRegisterCallbacks(ws_cupti_request on_request, ws_cupti_complete on_complete);
int cuptiActivityRegisterCallbacks(ws_cupti_request on_request, ws_cupti_complete on_complete)
{
	/* the second registration is accepted as the first one is */
	scopes[0].request = on_request;
	scopes[0].complete = on_complete;
	return start(&scopes[0]);
}

int cuptiActivityRegisterCallbacks_v2(void *subscriber, ws_cupti_scoped_request on_request,
                                      ws_cupti_scoped_complete on_complete);
int cuptiActivityRegisterCallbacks_v2(void *subscriber, ws_cupti_scoped_request on_request,
                                      ws_cupti_scoped_complete on_complete)
{
	struct scope *s = subscriber;

	s->scoped_request = on_request;
	s->scoped_complete = on_complete;
	return start(s);
}

int cuptiActivitySetAttribute_v2(void *subscriber, int attribute, size_t *size, void *value);
int cuptiActivitySetAttribute_v2(void *subscriber, int attribute, size_t *size, void *value)
{
	if (attribute != WS_CUPTI_ATTR_USER_DEFINED_RECORDS)
		return cuptiActivitySetAttribute(attribute, size, value);
	((struct scope *)subscriber)->has_chosen = 1;
	return WS_CUPTI_OK;
}

/* Bytes of a field, by NVIDIA's numbers. */
static size_t field_size(uint32_t kind, int id)
{
	if (kind == WS_CUPTI_KIND_CONCURRENT_KERNEL)
		return id == 7 || id == 8 || id == 22 || id == 24 ? 8 : 4;
	return id == 2 || id == 3 || id == 5 || id == 6 ? 8 : 4;
}

/* The fields in the order in which they were chosen, each aligned to its size. */
static void lay_out(struct scope *s, int kind, const struct ws_cupti_field_selection *chosen)
{
	struct ws_cupti_record_layout *layout = &s->layouts[kind];
	size_t at = 0;

	*layout = (struct ws_cupti_record_layout){sizeof(*layout), s->fields[kind], 0, 0};
	for (size_t i = 0; i < chosen->nfields; i++) {
		size_t size = field_size((uint32_t)kind, chosen->ids[i]);

		at = (at + size - 1) & ~(size - 1);
		s->fields[kind][layout->nfields++] =
		        (struct ws_cupti_field){sizeof(struct ws_cupti_field), chosen->ids[i], at,
		                                size, size};
		at += size;
	}
	layout->record_size = (at + 7) & ~(size_t)7;
	s->by_kind[kind] = layout;
}

int cuptiActivityEnable_v2(void *subscriber, int kind, struct ws_cupti_activity_config *config);
int cuptiActivityEnable_v2(void *subscriber, int kind, struct ws_cupti_activity_config *config)
{
	struct scope *s = subscriber;

	if (s->has_chosen != (config != NULL) ||
	    (config && (config->selection.nfields > 8 || config->selection.ids[0])))
		return 1; /* the kind comes first */
	if (config)
		lay_out(s, kind, &config->selection);
	s->kind_on[kind] = 1;
	return WS_CUPTI_OK;
}

int cuptiActivityEnableRuntimeApi_v2(void *subscriber, uint32_t cbid, uint8_t enable);
int cuptiActivityEnableRuntimeApi_v2(void *subscriber, uint32_t cbid, uint8_t enable)
{
	((struct scope *)subscriber)->call_on[1][cbid] = enable;
	return WS_CUPTI_OK;
}

int cuptiActivityEnableDriverApi_v2(void *subscriber, uint32_t cbid, uint8_t enable);
int cuptiActivityEnableDriverApi_v2(void *subscriber, uint32_t cbid, uint8_t enable)
{
	((struct scope *)subscriber)->call_on[0][cbid] = enable;
	return WS_CUPTI_OK;
}

int cuptiGetTimestamp_v2(void *subscriber, uint64_t *now);
int cuptiGetTimestamp_v2(void *subscriber, uint64_t *now)
{
	(void)subscriber;
	*now = now_ns();
	return WS_CUPTI_OK;
}

/* Blackwell and later: FAKE_CUPTI_HW_TRACE 1. */
int cuptiActivityEnableHWTrace(uint8_t enable);
int cuptiActivityEnableHWTrace(uint8_t enable)
{
	must(!atomic_load(&has_context), "hardware trace asked for after a context was made");
	return enable && setting("FAKE_CUPTI_HW_TRACE", 0) ? WS_CUPTI_OK : 27;
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
	scopes[0].kind_on[kind] = 0;
	return WS_CUPTI_OK;
}

int cuptiActivityEnable(int kind);
int cuptiActivityEnable(int kind)
{
	scopes[0].kind_on[kind] = 1;
	return WS_CUPTI_OK;
}

int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable)
{
	if (cbid == (uint32_t)setting("FAKE_CUPTI_REFUSE_CALL", 0))
		return 1;
	scopes[0].call_on[1][cbid] = enable;
	return WS_CUPTI_OK;
}

int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable)
{
	scopes[0].call_on[0][cbid] = enable;
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

		complete(&scopes[0], bytes, sizeof(bytes), 40);
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
			complete(b->scope, bytes, size, used);
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
		complete(f->scope, f->bytes, f->size, f->used);
		free(f);
	}
}

/* The program called cuProfilerStart or cuProfilerStop. */
void fake_cupti_profiler(int start)
{
	struct ws_cupti_api_callback data = {WS_CUPTI_SITE_ENTER};
	uint32_t cbid =
	        start ? WS_CUPTI_CBID_DRIVER_PROFILER_START : WS_CUPTI_CBID_DRIVER_PROFILER_STOP;

	call_back(WS_CUPTI_DOMAIN_DRIVER, cbid, &data);
}

/* What the context has not handed over goes with it, unless the tool flushes at its entry. */
void fake_cupti_reset(void)
{
	struct ws_cupti_api_callback data = {WS_CUPTI_SITE_ENTER};
	struct buffer *b;

	call_back(WS_CUPTI_DOMAIN_RUNTIME, WS_CUPTI_CBID_RUNTIME_DEVICE_RESET, &data);
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

int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid_size,
                                  uint8_t **record);
int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid_size,
                                  uint8_t **record)
{
	const struct scope *s = subscriber;
	size_t at = 0;

	if (!s->has_chosen)
		return cuptiActivityGetNextRecord(buffer, valid_size, record);
	if (*record)
		at = (size_t)(*record - buffer) + s->layouts[ws_cupti_kind(*record)].record_size;
	if (at + 8 > valid_size)
		return WS_CUPTI_MAX_LIMIT_REACHED;
	*record = buffer + at;
	return ws_cupti_kind(*record) && ws_cupti_kind(*record) < KINDS ? WS_CUPTI_OK
	                                                                : WS_CUPTI_INVALID_KIND;
}
