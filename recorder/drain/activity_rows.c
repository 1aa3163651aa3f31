/* One activity record becomes rows of the trace. */
#include <stdbool.h>
#include <stdio.h>

#include "recorder/drain/activity.h"
#include "recorder/shared/segment_slots.h"

/* --- what all records have --- */

/* Start and end as CUPTI has them; 0 and 0: not measured. 0 when they make no sense. */
static bool read_times(struct ws_drain *d, const struct ws_activity_slot *slot, uint64_t start,
                       uint64_t end, int64_t *start_ns, int64_t *dur_ns)
{
	*start_ns = 0;
	*dur_ns = 0;
	if (!start && !end)
		return 1;
	return ws_drain_gpu_times(d, slot, start, end, start_ns, dur_ns);
}

/*
 * Of work on a device. What a forced flush found running has a start and never gets an
 * end, and by somebody else's clock no time can be placed: neither is measured.
 */
static bool read_work_times(struct ws_drain *d, const struct ws_activity_slot *slot, uint64_t start,
                            uint64_t end, int64_t *start_ns, int64_t *dur_ns)
{
	if (start && !end)
		return read_times(d, slot, 0, 0, start_ns, dur_ns);
	if (read_times(d, slot, start, end, start_ns, dur_ns))
		return 1;
	return start <= end && atomic_load(&d->seg->gpu.stopped) & WS_GPU_STOP_CLOCK &&
	       read_times(d, slot, 0, 0, start_ns, dur_ns);
}

/* What all records of work on a device have. */
struct work {
	uint64_t start, end;
	uint32_t device, correlation;
};
#define WORK(r) (&(struct work){(r)->start, (r)->end, (r)->device, (r)->correlation})

/* Times of work; its device has a row from now on, and its launch has become something. */
static bool read_work(struct ws_drain *d, const struct ws_activity_slot *slot,
                      const struct work *work, int64_t *start_ns, int64_t *dur_ns)
{
	if (!read_work_times(d, slot, work->start, work->end, start_ns, dur_ns) ||
	    !ws_drain_device(d, work->device))
		return 0;
	ws_activity_note(d, slot, work->correlation, WS_ACTIVITY_WORK, 0);
	return 1;
}

/* Ids begin anew with each image of a process, and the CPU backend's have image 0. */
static uint64_t correlation_of(const struct ws_activity_slot *slot, uint32_t correlation)
{
	return correlation ? slot->image << 32 | correlation : 0;
}

/* What rows of work have in common, but kernels, which have it in their configuration. */
#define WHERE(r)                                                                          \
	.correlation = correlation_of(slot, (r)->correlation), .pid = ws_activity_pid(d), \
	.device = (r)->device, .context = (r)->context, .stream = (r)->stream

static uint64_t kernel_name(struct ws_drain *d, uint64_t address)
{
	uint32_t string;
	uint64_t id;
	char text[40];
	int known;

	id = ws_drain_text(d, address, &known);
	if (known)
		return id;
	/* its process died first, but mostly the same kernel ran before */
	string = ws_activity_kernel_at(d->activity, address);
	id = string ? ws_drain_string_id(d, string, &known) : 0;
	if (known)
		return id;
	snprintf(text, sizeof(text), "unknown kernel 0x%llx", (unsigned long long)address);
	return ws_drain_intern(d, ws_bytes_of(text));
}

/* Device of a context; 0 when the context's record was never seen. */
static uint32_t device_of(const struct ws_activity *a, const struct ws_activity_slot *slot,
                          uint32_t context)
{
	const struct ws_activity_context *c = &a->contexts[context % WS_ACTIVITY_CONTEXTS];

	return c->id == context && c->image == slot->image ? c->device : 0;
}

/* --- kernels --- */

static enum ws_activity_fate add_kernel(struct ws_drain *d, const struct ws_activity_slot *slot,
                                        const struct ws_cupti_kernel *k)
{
	struct ws_activity *a = d->activity;
	struct ws_row_launch_config config = {
	        .pid = ws_activity_pid(d),
	        .device = k->device,
	        .context = k->context,
	        .stream = k->stream,
	        .grid_x = k->grid_x,
	        .grid_y = k->grid_y,
	        .grid_z = k->grid_z,
	        .block_x = k->block_x,
	        .block_y = k->block_y,
	        .block_z = k->block_z,
	        .cluster_x = k->cluster_x,
	        .cluster_y = k->cluster_y,
	        .cluster_z = k->cluster_z,
	        .registers = k->registers,
	        .shared_static_bytes = k->shared_static,
	        .shared_dynamic_bytes = k->shared_dynamic,
	        .local_bytes = k->local,
	        .shared_executed_bytes = k->shared_executed,
	        .launch_type = k->launch_type,
	};
	struct ws_row_kernel row = {
	        .correlation = correlation_of(slot, k->correlation),
	        .graph_node = k->graph_node,
	        .graph = k->graph,
	};

	if (!read_work(d, slot, WORK(k), &row.start_ns, &row.dur_ns))
		return WS_ACTIVITY_DAMAGED;
	if (!ws_filter_keeps_work(d, row.correlation, row.start_ns, row.dur_ns))
		return WS_ACTIVITY_ROW;
	if (!row.start_ns) {
		row.flags = WS_KERNEL_NO_TIME;
		d->counted[WS_DROPPED_kernel_without_time]++;
	}
	config.name = kernel_name(d, k->name);
	if (!a->last_config_id || memcmp(&a->last_config, &config, sizeof(config)) != 0) {
		a->last_config_id = ws_drain_intern_config(d, &config);
		a->last_config = config;
	}
	row.config = a->last_config_id;
	ws_drain_add(d, WS_KIND_KERNEL, &row);
	d->counts.kernels++;
	d->counts.gpu_kernels++;
	return WS_ACTIVITY_ROW;
}

/* --- copies and fills --- */

static uint64_t copy_flags(int64_t start_ns, uint32_t flags)
{
	return (start_ns ? 0 : WS_COPY_NO_TIME) | (flags & WS_CUPTI_ASYNC ? WS_COPY_ASYNC : 0);
}

/* Is a copy or fill for the file: inside the window, and wanted? */
static bool keeps_copy(struct ws_drain *d, uint64_t correlation, int64_t start_ns, int64_t dur_ns)
{
	/* the filter counts what it leaves out: it is asked in any case */
	return ws_filter_keeps_work(d, correlation, start_ns, dur_ns) &&
	       !d->seg->capture.kernels_only;
}

/*
 * Between devices that do not reach each other a copy goes by way of the host, and CUPTI tells two,
 * one that reads and one that writes, both with device memory on both sides. The bytes of both
 * are the first one's.
 */
static void mark_half(struct ws_row_memcpy *row)
{
	const bool is_write = row->kind == WS_MEMCPY_HTOD;

	if ((!is_write && row->kind != WS_MEMCPY_DTOH) || row->src_kind != WS_MEMORY_DEVICE ||
	    row->dst_kind != WS_MEMORY_DEVICE)
		return;
	row->kind = WS_MEMCPY_PTOP;
	row->src_device = row->dst_device = row->device; /* the other one's is not told */
	row->flags |= WS_COPY_STAGED;
	if (is_write)
		row->bytes = 0;
}

static enum ws_activity_fate add_memcpy(struct ws_drain *d, const struct ws_activity_slot *slot,
                                        const struct ws_cupti_memcpy *m)
{
	struct ws_row_memcpy row = {
	        WHERE(m),
	        .kind = m->kind,
	        .src_kind = m->src_kind,
	        .dst_kind = m->dst_kind,
	        .bytes = m->bytes,
	        .graph_node = m->graph_node,
	        .copies = m->copies > 1 ? m->copies : 0,
	};

	if (!read_work(d, slot, WORK(m), &row.start_ns, &row.dur_ns))
		return WS_ACTIVITY_DAMAGED;
	row.flags = copy_flags(row.start_ns, m->flags);
	mark_half(&row);
	if (keeps_copy(d, row.correlation, row.start_ns, row.dur_ns))
		ws_drain_add(d, WS_KIND_MEMCPY, &row);
	return WS_ACTIVITY_ROW;
}

static enum ws_activity_fate add_ptop(struct ws_drain *d, const struct ws_activity_slot *slot,
                                      const struct ws_cupti_ptop *m)
{
	struct ws_row_memcpy row = {
	        WHERE(m),
	        .kind = m->kind,
	        .src_kind = m->src_kind,
	        .dst_kind = m->dst_kind,
	        .bytes = m->bytes,
	        .src_device = m->src_device,
	        .dst_device = m->dst_device,
	        .graph_node = m->graph_node,
	};

	if (!read_work(d, slot, WORK(m), &row.start_ns, &row.dur_ns) ||
	    !ws_drain_device(d, m->src_device) || !ws_drain_device(d, m->dst_device))
		return WS_ACTIVITY_DAMAGED;
	row.flags = copy_flags(row.start_ns, m->flags);
	if (keeps_copy(d, row.correlation, row.start_ns, row.dur_ns))
		ws_drain_add(d, WS_KIND_MEMCPY, &row);
	return WS_ACTIVITY_ROW;
}

static enum ws_activity_fate add_memset(struct ws_drain *d, const struct ws_activity_slot *slot,
                                        const struct ws_cupti_memset *m)
{
	struct ws_row_memset row = {
	        .memory_kind = m->memory_kind,
	        .value = m->value,
	        .bytes = m->bytes,
	        .graph_node = m->graph_node,
	        WHERE(m),
	};

	if (!read_work(d, slot, WORK(m), &row.start_ns, &row.dur_ns))
		return WS_ACTIVITY_DAMAGED;
	row.flags = copy_flags(row.start_ns, m->flags);
	if (keeps_copy(d, row.correlation, row.start_ns, row.dur_ns))
		ws_drain_add(d, WS_KIND_MEMSET, &row);
	return WS_ACTIVITY_ROW;
}

static enum ws_activity_fate add_graph(struct ws_drain *d, const struct ws_activity_slot *slot,
                                       const struct ws_cupti_graph *g)
{
	struct ws_row_graph_launch row = {
	        WHERE(g),
	        .graph = g->id,
	};

	if (!read_work(d, slot, WORK(g), &row.start_ns, &row.dur_ns))
		return WS_ACTIVITY_DAMAGED;
	if (ws_filter_keeps_work(d, row.correlation, row.start_ns, row.dur_ns))
		ws_drain_add(d, WS_KIND_GRAPH_LAUNCH, &row);
	return WS_ACTIVITY_ROW;
}

/* --- calls and waits on the host --- */

/* Id in the trace of a thread: the collector's, else by the system's id of it. */
static uint64_t thread_of(struct ws_drain *d, uint32_t thread)
{
	if (thread & WS_SLOT_THREAD_ID)
		return thread & ~WS_SLOT_THREAD_ID;
	return ws_drain_thread_by_tid(d, ws_activity_pid(d), thread);
}

/* What the collector said of a call; all of it 0 when nothing. */
static struct ws_activity_api api_of(const struct ws_activity *a, uint32_t domain, uint32_t cbid)
{
	const struct ws_activity_api *calls = a->calls[domain - WS_CUPTI_DOMAIN_DRIVER];

	return calls && cbid < WS_ACTIVITY_CALLS ? calls[cbid] : (struct ws_activity_api){0};
}

static uint64_t call_name(struct ws_drain *d, uint32_t domain, uint32_t cbid)
{
	const struct ws_bytes defined = api_of(d->activity, domain, cbid).name;
	char text[32];

	if (defined.len)
		return ws_drain_intern(d, defined);
	snprintf(text, sizeof(text), "%s call %u",
	         domain == WS_CUPTI_DOMAIN_DRIVER ? "driver" : "runtime", cbid);
	return ws_drain_intern(d, ws_bytes_of(text));
}

static enum ws_activity_fate add_api(struct ws_drain *d, const struct ws_activity_slot *slot,
                                     uint32_t domain, const struct ws_cupti_api *c)
{
	struct ws_row_api row = {
	        .correlation = correlation_of(slot, c->correlation),
	        .result = (int32_t)c->result,
	};
	enum ws_activity_effect effect;

	/* what our own thread asked of the driver is no doing of the program */
	if (c->thread && c->thread == atomic_load(&d->seg->gpu.flush_thread))
		return WS_ACTIVITY_ROW;
	if (!read_times(d, slot, c->start, c->end, &row.start_ns, &row.dur_ns))
		return WS_ACTIVITY_DAMAGED;
	row.thread = thread_of(d, c->thread);
	if (!row.thread)
		return WS_ACTIVITY_DAMAGED;
	effect = api_of(d->activity, domain, c->cbid).effect;
	if (!c->result && effect == WS_EFFECT_LAUNCH)
		ws_activity_note(d, slot, c->correlation, WS_ACTIVITY_LAUNCH, row.start_ns);
	if (!ws_activity_keep_call(d->activity, slot, domain == WS_CUPTI_DOMAIN_RUNTIME,
	                           c->correlation))
		return WS_ACTIVITY_ROW;
	/* an end that failed, as a capture was invalid, is one all the same */
	if (effect == WS_EFFECT_CAPTURE_ENDS)
		ws_graph_captures_change(&d->activity->captures, row.start_ns + row.dur_ns, 0);
	else if (effect == WS_EFFECT_CAPTURE_BEGINS && !c->result)
		ws_graph_captures_change(&d->activity->captures, row.start_ns, 1);
	if (!ws_filter_keeps_call(d, row.correlation, row.start_ns))
		return WS_ACTIVITY_ROW;
	row.name = call_name(d, domain, c->cbid);
	ws_drain_add(d, WS_KIND_API, &row);
	return WS_ACTIVITY_ROW;
}

/* CUPTI's "no such", which the trace has as 0. */
static uint32_t or_zero(uint32_t id)
{
	return id == WS_CUPTI_NONE ? 0 : id;
}

static int64_t id_or_none(uint32_t id)
{
	return id == WS_CUPTI_NONE ? -1 : (int64_t)id;
}

static enum ws_activity_fate add_sync(struct ws_drain *d, const struct ws_activity_slot *slot,
                                      const struct ws_cupti_sync *s)
{
	struct ws_row_sync row = {
	        .correlation = correlation_of(slot, s->correlation),
	        .pid = ws_activity_pid(d),
	        .device = device_of(d->activity, slot, s->context),
	        .context = or_zero(s->context),
	        .stream = id_or_none(s->stream),
	        .type = s->type <= WS_SYNC_CONTEXT ? s->type : WS_SYNC_UNKNOWN,
	        .event = id_or_none(s->event),
	        .event_stream = -1,
	};

	/* a query that found work undone waited for nothing */
	if (s->result == WS_CUPTI_CUDA_NOT_READY)
		return WS_ACTIVITY_ROW;
	if (!read_times(d, slot, s->start, s->end, &row.start_ns, &row.dur_ns))
		return WS_ACTIVITY_DAMAGED;
	if (!ws_filter_keeps_work(d, row.correlation, row.start_ns, row.dur_ns))
		return WS_ACTIVITY_ROW;
	ws_drain_device(d, (uint32_t)row.device);
	ws_drain_add(d, WS_KIND_SYNC, &row);
	return WS_ACTIVITY_ROW;
}

/* Both kinds of record of what took time and was no work of the program's. */
static enum ws_activity_fate add_lost_time(struct ws_drain *d, const struct ws_activity_slot *slot,
                                           struct ws_row_overhead row, uint64_t start, uint64_t end,
                                           uint32_t thread)
{
	if (!read_times(d, slot, start, end, &row.start_ns, &row.dur_ns))
		return WS_ACTIVITY_DAMAGED;
	if (!ws_filter_keeps_work(d, 0, row.start_ns, row.dur_ns))
		return WS_ACTIVITY_ROW;
	row.thread = thread ? thread_of(d, thread) : 0;
	ws_drain_add(d, WS_KIND_OVERHEAD, &row);
	return WS_ACTIVITY_ROW;
}

static enum ws_activity_fate add_overhead(struct ws_drain *d, const struct ws_activity_slot *slot,
                                          const struct ws_cupti_overhead *o)
{
	struct ws_row_overhead row = {.kind = o->kind};

	/* 1, then 1 << 16, 2 << 16 … */
	if (o->kind > WS_OVERHEAD_DRIVER_COMPILER)
		row.kind = (o->kind >> 16) + 1;
	if (row.kind > WS_OVERHEAD_UVM_INIT)
		row.kind = WS_OVERHEAD_UNKNOWN;
	return add_lost_time(d, slot, row, o->start, o->end,
	                     o->object_kind == WS_CUPTI_OBJECT_THREAD ? o->thread : 0);
}

static enum ws_activity_fate add_jit(struct ws_drain *d, const struct ws_activity_slot *slot,
                                     const struct ws_cupti_jit *j)
{
	const struct ws_row_overhead row = {
	        .kind = j->op >= 1 && j->op <= 3 ? WS_OVERHEAD_JIT_CACHE_LOAD + j->op - 1
	                                         : WS_OVERHEAD_UNKNOWN,
	};

	return add_lost_time(d, slot, row, j->start, j->end, j->thread);
}

/* --- memory --- */

/* Both kinds of record that concern memory, in the form of one. */
static enum ws_activity_fate add_memory(struct ws_drain *d, const struct ws_activity_slot *slot,
                                        struct ws_row_memory *row, uint64_t time)
{
	int64_t dur_ns;

	if (!time || !read_times(d, slot, time, time, &row->time_ns, &dur_ns) ||
	    !ws_drain_device(d, (uint32_t)row->device))
		return WS_ACTIVITY_DAMAGED;
	if (!ws_filter_keeps_work(d, row->correlation, row->time_ns, 0))
		return WS_ACTIVITY_ROW;
	row->pid = ws_activity_pid(d);
	ws_drain_add(d, WS_KIND_MEMORY, row);
	return WS_ACTIVITY_ROW;
}

/* Memory of the host has no device in CUPTI, and 0 in the trace. */
static uint32_t known_device(uint32_t device)
{
	return device < WS_MAX_GPUS ? device : 0;
}

static enum ws_activity_fate add_allocation(struct ws_drain *d, const struct ws_activity_slot *slot,
                                            const struct ws_cupti_memory *m)
{
	struct ws_row_memory row = {
	        .op = m->op - 1,
	        .memory_kind = m->kind <= WS_MEMORY_MANAGED_STATIC ? m->kind : WS_MEMORY_UNKNOWN,
	        .device = known_device(m->device),
	        .context = or_zero(m->context),
	        .stream = or_zero(m->stream),
	        .correlation = correlation_of(slot, m->correlation),
	        .address = m->address,
	        .bytes = m->bytes,
	};

	if (m->op < 1 || m->op > 2)
		return WS_ACTIVITY_DAMAGED;
	if (m->pool_type) {
		row.total_allocated_bytes = m->pool_used;
		row.total_reserved_bytes = m->pool_size;
	}
	return add_memory(d, slot, &row, m->time);
}

static enum ws_activity_fate add_pool(struct ws_drain *d, const struct ws_activity_slot *slot,
                                      const struct ws_cupti_pool *p)
{
	struct ws_row_memory row = {
	        .op = WS_MEMORY_OP_POOL_CREATE + p->op - 1,
	        .memory_kind = WS_MEMORY_DEVICE,
	        .device = known_device(p->device),
	        .correlation = correlation_of(slot, p->correlation),
	        .address = p->address,
	        .bytes = p->size,
	        .total_allocated_bytes = p->used,
	        .total_reserved_bytes = p->size,
	};

	if (p->op < 1 || p->op > 3)
		return WS_ACTIVITY_DAMAGED;
	return add_memory(d, slot, &row, p->time);
}

/* --- by kind --- */

enum ws_activity_fate ws_activity_record(struct ws_drain *d, const struct ws_activity_slot *slot,
                                         const uint8_t *record, size_t size)
{
	union {
#define R(NAME, name, type, full, least) struct ws_cupti_##name name;
		WS_CUPTI_RECORD_LIST(R)
		WS_CUPTI_LATER_RECORD_LIST(R)
#undef R
	} u;
	const uint32_t kind = ws_cupti_kind(record);

	switch (kind) {
	case WS_CUPTI_KIND_KERNEL:
	case WS_CUPTI_KIND_CONCURRENT_KERNEL:
		if (size < WS_CUPTI_LEAST_kernel)
			return WS_ACTIVITY_DAMAGED;
		ws_cupti_read_kernel(&u.kernel, record, size);
		if (!u.kernel.grid_x || !u.kernel.block_x)
			return WS_ACTIVITY_DAMAGED;
		return add_kernel(d, slot, &u.kernel);
	case WS_CUPTI_KIND_DRIVER:
	case WS_CUPTI_KIND_RUNTIME:
		if (size < WS_CUPTI_LEAST_api)
			return WS_ACTIVITY_DAMAGED;
		ws_cupti_read_api(&u.api, record, size);
		return add_api(d, slot,
		               kind == WS_CUPTI_KIND_DRIVER ? WS_CUPTI_DOMAIN_DRIVER
		                                            : WS_CUPTI_DOMAIN_RUNTIME,
		               &u.api);
	case WS_CUPTI_KIND_CONTEXT:
		if (size < WS_CUPTI_LEAST_context)
			return WS_ACTIVITY_DAMAGED;
		ws_cupti_read_context(&u.context, record, size);
		if (size == WS_CUPTI_SIZE_context_12_4) /* has other bytes there */
			u.context.sm_count = 0;
		return ws_activity_add_context(d, slot, &u.context);
#define ADD(KIND, name, add)                                 \
	case WS_CUPTI_KIND_##KIND:                           \
		if (size < WS_CUPTI_LEAST_##name)            \
			return WS_ACTIVITY_DAMAGED;          \
		ws_cupti_read_##name(&u.name, record, size); \
		return add(d, slot, &u.name);
		ADD(MEMCPY, memcpy, add_memcpy)
		ADD(MEMCPY2, ptop, add_ptop)
		ADD(MEMSET, memset, add_memset)
		ADD(GRAPH_TRACE, graph, add_graph)
		ADD(DEVICE, device, ws_activity_add_device)
		ADD(GREEN_CONTEXT, green, ws_activity_add_green_context)
		ADD(STREAM, stream, ws_activity_add_stream)
		ADD(SYNCHRONIZATION, sync, add_sync)
		ADD(OVERHEAD, overhead, add_overhead)
		ADD(JIT, jit, add_jit)
		ADD(MEMORY2, memory, add_allocation)
		ADD(MEMORY_POOL, pool, add_pool)
#undef ADD
	default:
		return WS_ACTIVITY_UNKNOWN;
	}
}
