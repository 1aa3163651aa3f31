/* What the driver tells the fake CUPTI, as records: see fake_cupti.h. */
#include <stdlib.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#include <string.h>
#include <unistd.h>

#include "tests/recorder/cuda/fake_cupti.h"

static _Atomic uint32_t next_correlation;
static _Atomic uint64_t kernels;
_Atomic uint64_t fake_last_end;
static int captures; /* open on some stream; the victim captures on one thread */

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

	if (!b->scope->kind_on[kind] && !b->scope->call_on[kind == WS_CUPTI_KIND_RUNTIME][cbid])
		return;
	r = fake_place(b, WS_CUPTI_SIZE_api);
	if (!r)
		return;
	PUT(r, api, cbid, cbid);
	PUT(r, api, start, start);
	PUT(r, api, end, end);
	PUT(r, api, thread, fake_system_threads ? my_tid() : 1);
	PUT(r, api, correlation, correlation);
	put_kind(r, kind);
}

/* Whether the setting, which is looked up once, names a divisor of n. */
static int is_nth(uint64_t n, const char *name, _Atomic long *every)
{
	if (atomic_load(every) < 0)
		atomic_store(every, fake_setting(name, 0));
	return atomic_load(every) && !(n % (uint64_t)atomic_load(every));
}

struct kernel {
	const char *name;
	uint64_t node;
	unsigned grid;
	uint32_t stream;
	uint64_t start, end;
	uint32_t graph;
	uint64_t source;
};

static void put_kernel(struct buffer *b, struct kernel k, uint32_t correlation)
{
	static _Atomic long zero_every = -1, lose_every = -1, run_every = -1;
	const uint64_t n = atomic_load(&kernels);
	uint8_t *r;

	if (!b->scope->kind_on[WS_CUPTI_KIND_CONCURRENT_KERNEL] ||
	    is_nth(n, "FAKE_CUPTI_LOSE_EVERY", &lose_every))
		return;
	r = fake_place(b, fake_kernel_size());
	if (!r)
		return;
	b->has_kernels = 1;
	if (!is_nth(n, "FAKE_CUPTI_ZERO_EVERY", &zero_every)) {
		PUT(r, kernel, start, k.start);
		if (!is_nth(n, "FAKE_CUPTI_RUN_EVERY", &run_every))
			PUT(r, kernel, end, k.end);
	}
	PUT(r, kernel, registers, 32);
	PUT(r, kernel, context, 1);
	PUT(r, kernel, stream, k.stream);
	PUT(r, kernel, grid_x, k.grid);
	PUT(r, kernel, grid_y, 1);
	PUT(r, kernel, grid_z, 1);
	PUT(r, kernel, block_x, 256);
	PUT(r, kernel, block_y, 1);
	PUT(r, kernel, block_z, 1);
	PUT(r, kernel, correlation, correlation);
	PUT(r, kernel, name, (uint64_t)(uintptr_t)k.name);
	PUT(r, kernel, graph_node, k.node);
	PUT(r, kernel, graph, k.graph);
	memset(r + 208, 0xEE, fake_kernel_size() - 208); /* what a reader of 13.0 does not know */
	if (fake_kernel_size() >= WS_CUPTI_SIZE_kernel_source)
		PUT(r, kernel_source, node, k.source);
	put_kind(r, WS_CUPTI_KIND_CONCURRENT_KERNEL);
}

static void put_sync(struct buffer *b, uint32_t type, uint32_t stream, uint32_t result,
                     uint64_t start, uint32_t correlation)
{
	uint8_t *r = b->scope->kind_on[WS_CUPTI_KIND_SYNCHRONIZATION]
	                     ? fake_place(b, WS_CUPTI_SIZE_sync)
	                     : NULL;

	if (!r)
		return;
	PUT(r, sync, type, type);
	PUT(r, sync, start, start);
	PUT(r, sync, end, start + 100);
	PUT(r, sync, correlation, correlation);
	PUT(r, sync, context, 1);
	PUT(r, sync, stream, stream);
	PUT(r, sync, event, WS_CUPTI_NONE);
	PUT(r, sync, result, result);
	put_kind(r, WS_CUPTI_KIND_SYNCHRONIZATION);
}

/* An allocation is given again to the next of its size as soon as its thread has freed it. */
#define DESCRIPTION_BYTES 1000
static __thread void *description;

void fake_put_overhead(void)
{
	struct buffer *b = fake_lock_buffer(&fake_scopes[0]);
	uint8_t *r = b && b->scope->kind_on[WS_CUPTI_KIND_OVERHEAD]
	                     ? fake_place(b, WS_CUPTI_SIZE_overhead)
	                     : NULL;

	if (r) {
		uint64_t data = 0xEEEEEEEE; /* whoever frees that dies */

		if (fake_setting_of(SETTING_OVERHEAD) == 1) {
			description = malloc(DESCRIPTION_BYTES);
			data = (uint64_t)(uintptr_t)description;
		}
		PUT(r, overhead, kind, WS_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL);
		PUT(r, overhead, start, fake_now_ns());
		PUT(r, overhead, end, fake_now_ns());
		PUT(r, overhead, data, data);
		put_kind(r, WS_CUPTI_KIND_OVERHEAD);
	}
	if (b)
		pthread_mutex_unlock(&b->lock);
}

/* The C library hands out next what was freed last; the sanitizer keeps it, and knows that. */
int fake_overhead_is_freed(void)
{
#ifdef __SANITIZE_ADDRESS__
	return !description || __asan_address_is_poisoned(description);
#else
	void *next = description ? malloc(DESCRIPTION_BYTES) : NULL;
	int is_freed = next == description;

	free(next);
	description = NULL;
	return is_freed;
#endif
}

/* CUPTI tells of it, if it still can, and is gone. */
static void fail_for_good(void)
{
	struct ws_cupti_state_callback data = {999, "the device fell off the bus"};

	fake_call_back(WS_CUPTI_DOMAIN_STATE, WS_CUPTI_CBID_STATE_FATAL_ERROR, &data);
	atomic_store(&fake_is_final, 1);
}

/* The driver's callback for a launch, when a tool wants it. */
static void tell_launch(void)
{
	struct ws_cupti_api_callback data = {WS_CUPTI_SITE_ENTER};

	fake_call_back(WS_CUPTI_DOMAIN_DRIVER, DRIVER_CALL_LAUNCH, &data);
}

void fake_cupti_capture(int begins)
{
	const uint32_t correlation = atomic_fetch_add(&next_correlation, 1) + 1;
	const uint64_t now = fake_now_ns();

	captures += begins ? 1 : -1;
	EACH_SCOPE(s)
	{
		struct buffer *b = fake_lock_buffer(s);

		put_api(b, WS_CUPTI_KIND_RUNTIME, begins ? CALL_BEGIN_CAPTURE : CALL_END_CAPTURE,
		        now, now + 40, correlation);
		pthread_mutex_unlock(&b->lock);
	}
}

void fake_cupti_asked_version(void)
{
	const uint32_t correlation = atomic_fetch_add(&next_correlation, 1) + 1;
	const uint64_t now = fake_now_ns();

	EACH_SCOPE(s)
	{
		struct buffer *b = atomic_load(&fake_is_final) ? NULL : fake_lock_buffer(s);

		if (!b)
			return;
		put_api(b, WS_CUPTI_KIND_DRIVER, DRIVER_CALL_VERSION, now, now + 20, correlation);
		pthread_mutex_unlock(&b->lock);
	}
}

/* A wait for all of the context. */
void fake_cupti_synchronized(void)
{
	const uint32_t correlation = atomic_fetch_add(&next_correlation, 1) + 1;
	const uint64_t now = fake_now_ns();

	while (fake_setting_of(SETTING_KERNEL_US) && fake_now_ns() <= atomic_load(&fake_last_end))
		usleep(10);
	EACH_SCOPE(s)
	{
		struct buffer *b = atomic_load(&fake_is_final) ? NULL : fake_lock_buffer(s);

		if (!b)
			return;
		put_sync(b, 4, WS_CUPTI_NONE, 0, now, correlation);
		pthread_mutex_unlock(&b->lock);
	}
}

/* Of a kernel that is launched now. */
static uint64_t end_of(uint64_t now)
{
	const uint64_t us = (uint64_t)fake_setting_of(SETTING_KERNEL_US);

	return now + 2000 + (us ? us : 1) * 1000;
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
		put_kernel(b, (struct kernel){name, node, grid, 7, now + 2000, end_of(now), 0, 0},
		           correlation + 1);
	/* a poll, as of PyTorch's allocator: no wait, but in the form of one */
	if (fake_setting_of(SETTING_QUERIES) && atomic_load(&fake_has_all_sync))
		put_sync(b, 3, 7, WS_CUPTI_CUDA_NOT_READY, now + 1100, correlation);
}

void fake_cupti_launched(const char *name, uint64_t node, unsigned grid)
{
	const uint64_t now = fake_now_ns();
	uint32_t correlation;

	if (atomic_load(&fake_is_final))
		return;
	tell_launch();
	correlation = atomic_fetch_add(&next_correlation, 2) + 1;
	atomic_fetch_add(&kernels, !captures);
	atomic_store(&fake_last_end, end_of(now));
	EACH_SCOPE(s)
	{
		struct buffer *b = fake_lock_buffer(s);

		put_launch(b, name, node, grid, now, correlation);
		pthread_mutex_unlock(&b->lock);
	}
	if (fake_setting_of(SETTING_FATAL_AT) &&
	    atomic_load(&kernels) == (uint64_t)fake_setting_of(SETTING_FATAL_AT))
		fail_for_good();
}

static void put_graph(struct buffer *b, uint64_t now, uint64_t n, uint32_t correlation)
{
	uint8_t *r = fake_place(b, WS_CUPTI_SIZE_graph);

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

void fake_cupti_node(uint32_t cbid, struct fake_graph *graph, struct fake_node *node,
                     struct fake_node *original)
{
	/* of a node that is no copy the original is any address */
	struct ws_cupti_graph_callback data = {graph, NULL, node,
	                                       original ? (void *)original : (void *)8};

	if (!atomic_load(&fake_is_final))
		fake_call_back(WS_CUPTI_DOMAIN_RESOURCE, cbid, &data);
}

static uint8_t *place_of(struct buffer *b, uint32_t kind, size_t size)
{
	uint8_t *r = b->scope->kind_on[kind] ? fake_place(b, size) : NULL;

	if (r)
		put_kind(r, kind);
	return r;
}

static void put_host_node(struct buffer *b, uint64_t node, uint64_t start, uint64_t end,
                          uint32_t correlation)
{
	uint8_t *r = place_of(b, WS_CUPTI_KIND_GRAPH_HOST_NODE, WS_CUPTI_SIZE_host_node);

	if (!r)
		return;
	PUT(r, host_node, stream, 7);
	PUT(r, host_node, context, 1);
	PUT(r, host_node, correlation, correlation);
	PUT(r, host_node, graph_node, node);
	PUT(r, host_node, thread, my_tid());
	PUT(r, host_node, start, start);
	PUT(r, host_node, end, end);
}

void fake_cupti_replayed(struct fake_graph *exec, struct fake_node *const *nodes, size_t n)
{
	const uint32_t correlation = atomic_fetch_add(&next_correlation, 1) + 1;
	const uint64_t now = fake_now_ns();

	if (atomic_load(&fake_is_final))
		return;
	tell_launch();
	atomic_fetch_add(&kernels, n);
	EACH_SCOPE(s)
	{
		struct buffer *b = fake_lock_buffer(s);
		const int whole = s->kind_on[WS_CUPTI_KIND_GRAPH_TRACE];
		uint64_t at = now + 2000;

		put_api(b, WS_CUPTI_KIND_RUNTIME, CALL_GRAPH_LAUNCH, now, now + 1000, correlation);
		if (whole)
			put_graph(b, now, n, correlation);
		for (size_t i = 0; i < n && !whole; at += nodes[i++]->dur_ns)
			if (!strcmp(nodes[i]->name, "host"))
				put_host_node(b, nodes[i]->id, at, at + nodes[i]->dur_ns,
				              correlation);
			else
				put_kernel(b,
				           (struct kernel){nodes[i]->name, nodes[i]->id, 1, 7, at,
				                           at + nodes[i]->dur_ns, exec->id,
				                           nodes[i]->source},
				           correlation);
		pthread_mutex_unlock(&b->lock);
	}
}

void fake_cupti_planted(const char *name, uint32_t stream, uint64_t call_ns, uint64_t later_ns,
                        uint64_t dur_ns)
{
	const uint32_t correlation = atomic_fetch_add(&next_correlation, 1) + 1;
	const uint64_t now = fake_now_ns(), start = now + later_ns;

	EACH_SCOPE(s)
	{
		struct buffer *b = fake_lock_buffer(s);

		put_api(b, WS_CUPTI_KIND_RUNTIME, name ? CALL_LAUNCH : CALL_SYNCHRONIZE, now,
		        now + call_ns, correlation);
		if (name)
			put_kernel(b,
			           (struct kernel){name, 0, 132, stream, start, start + dur_ns, 0,
			                           0},
			           correlation);
		pthread_mutex_unlock(&b->lock);
	}
}

void fake_cupti_function(uint64_t dur_ns)
{
	const uint64_t now = fake_now_ns();

	EACH_SCOPE(s)
	{
		struct buffer *b = fake_lock_buffer(s);
		uint8_t *r = place_of(b, WS_CUPTI_KIND_HOST_LAUNCH, WS_CUPTI_SIZE_host_launch);

		if (r) {
			PUT(r, host_launch, stream, 7);
			PUT(r, host_launch, context, 1);
			PUT(r, host_launch, thread, my_tid());
			PUT(r, host_launch, start, now);
			PUT(r, host_launch, end, now + dur_ns);
		}
		pthread_mutex_unlock(&b->lock);
	}
}

void fake_cupti_turned(uint64_t away_ns)
{
	const uint64_t now = fake_now_ns();

	EACH_SCOPE(s)
	{
		struct buffer *b = fake_lock_buffer(s);

		for (uint32_t op = 1; op <= 2; op++) {
			uint8_t *r = place_of(b, WS_CUPTI_KIND_COMPUTE_ENGINE_CTX_SWITCH,
			                      WS_CUPTI_SIZE_engine_switch);

			if (!r)
				break;
			PUT(r, engine_switch, context, 1);
			PUT(r, engine_switch, time, op == 1 ? now : now + away_ns);
			PUT(r, engine_switch, op, op);
		}
		pthread_mutex_unlock(&b->lock);
	}
}

/* CUDA's own handler: after it CUPTI gives nothing any more. */
static void cuda_exits(void)
{
	atomic_store(&fake_cuda_is_gone, 1);
}

static void put_context(struct buffer *b)
{
	uint8_t *r =
	        b->scope->kind_on[WS_CUPTI_KIND_DEVICE] && !fake_setting("FAKE_CUPTI_NO_DEVICE", 0)
	                ? fake_place(b, WS_CUPTI_SIZE_device)
	                : NULL;

	if (r) {
		PUT(r, device, sm_count, 132);
		PUT(r, device, major, 9);
		PUT(r, device, warp_size, 32);
		PUT(r, device, warps_per_sm, 64);
		PUT(r, device, core_clock, 1980000);
		PUT(r, device, name, (uint64_t)(uintptr_t) "Fake H200");
		put_kind(r, WS_CUPTI_KIND_DEVICE);
	}
	r = b->scope->kind_on[WS_CUPTI_KIND_CONTEXT] ? fake_place(b, WS_CUPTI_SIZE_context) : NULL;
	if (r) {
		PUT(r, context, id, 1);
		PUT(r, context, api, 1);
		PUT(r, context, null_stream, 7);
		put_kind(r, WS_CUPTI_KIND_CONTEXT);
	}
	/* of 13.2 on, where it is asked for: a part of the same device */
	r = b->scope->kind_on[WS_CUPTI_KIND_GREEN_CONTEXT] ? fake_place(b, WS_CUPTI_SIZE_green)
	                                                   : NULL;
	if (r) {
		PUT(r, green, id, 2);
		PUT(r, green, parent, 1);
		PUT(r, green, sm_count, 16);
		put_kind(r, WS_CUPTI_KIND_GREEN_CONTEXT);
	}
}

void fake_cupti_context(void)
{
	if (!fake_scopes[0].is_on)
		return;
	fake_call_back(WS_CUPTI_DOMAIN_RESOURCE, WS_CUPTI_CBID_RESOURCE_INIT_FINISHED,
	               &(uint64_t){0});
	atomic_store(&fake_has_context, 1);
	atexit(cuda_exits);
	fake_call_back(WS_CUPTI_DOMAIN_RESOURCE, WS_CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
	               &(uint64_t){0});
	EACH_SCOPE(s)
	{
		struct buffer *b = fake_lock_buffer(s);

		put_context(b);
		pthread_mutex_unlock(&b->lock);
	}
}

/* The program called cuProfilerStart or cuProfilerStop. */
void fake_cupti_profiler(int start)
{
	struct ws_cupti_api_callback data = {WS_CUPTI_SITE_ENTER};
	uint32_t cbid =
	        start ? WS_CUPTI_CBID_DRIVER_PROFILER_START : WS_CUPTI_CBID_DRIVER_PROFILER_STOP;

	fake_call_back(WS_CUPTI_DOMAIN_DRIVER, cbid, &data);
}
