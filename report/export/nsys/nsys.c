/*
 * From a trace to the tables of an Nsight Systems export. docs/reference/export.md says
 * what becomes of each record.
 */
#include "report/export/nsys/nsys.h"

#include <stdbool.h>

/* The export's memory kinds begin where the trace's has "unknown", and end with it. */
static int64_t memory_kind(uint64_t kind)
{
	const int64_t unknown = 7;

	return kind && kind <= WS_MEMORY_MANAGED_STATIC ? (int64_t)kind - 1 : unknown;
}

/* Ids of streams and events that there are not. */
static int64_t id_or_max(int64_t id)
{
	return id < 0 ? UINT32_MAX : id;
}

/* Times of a hostile trace may overflow; calls that were cut off have a negative duration. */
static int64_t end_ns(int64_t start_ns, int64_t dur_ns)
{
	int64_t end;

	if (dur_ns < 0)
		return start_ns;
	return __builtin_add_overflow(start_ns, dur_ns, &end) ? INT64_MAX : end;
}

/* start: the column, before that of the end. */
static void put(struct ws_nsys_out *o, enum ws_nsys_out_table table, enum ws_nsys_out_column start,
                int64_t start_ns, int64_t dur_ns)
{
	ws_nsys_set(o, start, start_ns);
	ws_nsys_set(o, start + 1, end_ns(start_ns, dur_ns));
	ws_nsys_extend(o, start_ns, end_ns(start_ns, dur_ns));
	ws_nsys_put(o, table);
}
#define PUT(ID, row) put(o, WS_OUT_##ID, WS_OUT_##ID##_start, row->start_ns, row->dur_ns)

/* --- the host --- */

/* "cuLaunchKernel" is the driver's; "cudaLaunchKernel", and what is no CUDA call, runtime's. */
static bool event_class(struct ws_bytes name)
{
	const char *p = name.ptr;

	return name.len > 2 && p[0] == 'c' && p[1] == 'u' && p[2] >= 'A' && p[2] <= 'Z';
}

static void on_api(void *ctx, const void *data)
{
	const struct ws_row_api *row = data;
	struct ws_nsys_out *o = ctx;

	ws_nsys_set_fields(o, WS_OUT_RUNTIME, row);
	SET(RUNTIME_eventClass, event_class(ws_records_text(&o->strings, row->name)));
	PUT(RUNTIME, row);
}

static void on_overhead(void *ctx, const void *data)
{
	const struct ws_row_overhead *row = data;
	struct ws_nsys_out *o = ctx;

	ws_nsys_set_fields(o, WS_OUT_PROFILER_OVERHEAD, row);
	if (row->thread)
		ws_nsys_set_named(o, WS_OUT_PROFILER_OVERHEAD_globalTid, WS_NSYS_OWN_THREAD,
		                  row->thread);
	SET(PROFILER_OVERHEAD_returnValue, 0); /* not recorded; the schema wants a number */
	/* the export tells undefined and unknown apart, and not the parts of compiling */
	SET(PROFILER_OVERHEAD_overheadType,
	    1 + (row->kind > WS_OVERHEAD_UVM_INIT ? (uint64_t)WS_OVERHEAD_DRIVER_COMPILER
	                                          : row->kind));
	PUT(PROFILER_OVERHEAD, row);
}

/* --- the device --- */

static void on_kernel(void *ctx, const void *data)
{
	const struct ws_row_kernel *row = data;
	const struct ws_row_launch_config *c;
	const struct ws_nsys_config *names;
	struct ws_nsys_out *o = ctx;

	if (row->flags & WS_KERNEL_NO_TIME || row->dur_ns < 0) {
		o->stats->without_time++;
		return;
	}
	ws_nsys_config_of(o, row->config, &c, &names);
	ws_nsys_set_fields(o, WS_OUT_KERNEL, c);
	SET_KNOWN(KERNEL_correlationId, row->correlation);
	SET(KERNEL_demangledName, names->demangled);
	SET(KERNEL_shortName, names->base);
	SET_KNOWN(KERNEL_mangledName, names->mangled);
	/* the export has an unknown one before the trace's, and no fourth */
	SET(KERNEL_launchType, c->launch_type < 3 ? c->launch_type + 1 : 0);
	SET(KERNEL_localMemoryTotal, 0); /* not recorded; the schema wants a number */
	SET(KERNEL_gridId, 0);
	SET_KNOWN(KERNEL_graphNodeId, row->graph_node);
	SET_KNOWN(KERNEL_graphId, row->graph);
	PUT(KERNEL, row);
}

static void on_memcpy(void *ctx, const void *data)
{
	const struct ws_row_memcpy *row = data;
	const uint64_t peer = 10;
	struct ws_nsys_out *o = ctx;

	if (row->flags & WS_COPY_NO_TIME || row->dur_ns < 0) {
		o->stats->without_time++;
		return;
	}
	ws_nsys_set_fields(o, WS_OUT_MEMCPY, row);
	SET(MEMCPY_srcKind, memory_kind(row->src_kind));
	SET(MEMCPY_dstKind, memory_kind(row->dst_kind));
	if (row->kind == peer) {
		SET(MEMCPY_srcDeviceId, row->src_device);
		SET(MEMCPY_dstDeviceId, row->dst_device);
	}
	SET_KNOWN(MEMCPY_copyCount, row->copies);
	PUT(MEMCPY, row);
}

static void on_memset(void *ctx, const void *data)
{
	const struct ws_row_memset *row = data;
	struct ws_nsys_out *o = ctx;

	if (row->flags & WS_COPY_NO_TIME || row->dur_ns < 0) {
		o->stats->without_time++;
		return;
	}
	ws_nsys_set_fields(o, WS_OUT_MEMSET, row);
	SET(MEMSET_memKind, memory_kind(row->memory_kind));
	PUT(MEMSET, row);
}

static void on_sync(void *ctx, const void *data)
{
	const struct ws_row_sync *row = data;
	struct ws_nsys_out *o = ctx;

	ws_nsys_set_fields(o, WS_OUT_SYNC, row);
	SET(SYNC_streamId, id_or_max(row->stream));
	SET(SYNC_eventId, id_or_max(row->event));
	PUT(SYNC, row);
}

static void on_graph(void *ctx, const void *data)
{
	const struct ws_row_graph_launch *row = data;
	struct ws_nsys_out *o = ctx;

	ws_nsys_set_fields(o, WS_OUT_GRAPH, row);
	PUT(GRAPH, row);
}

static void on_memory(void *ctx, const void *data)
{
	const struct ws_row_memory *row = data;
	struct ws_nsys_out *o = ctx;

	/* failures and pools are in the table of our own only */
	if (row->op != WS_MEMORY_OP_ALLOC && row->op != WS_MEMORY_OP_FREE)
		return;
	ws_nsys_set_fields(o, WS_OUT_MEMORY, row);
	SET(MEMORY_pc, 0); /* not recorded; the schema wants a number */
	SET(MEMORY_memKind, memory_kind(row->memory_kind));
	ws_nsys_extend(o, row->time_ns, row->time_ns);
	ws_nsys_put(o, WS_OUT_MEMORY);
}

/* --- all of it --- */

static enum ws_status write_events(struct ws_nsys_out *o, struct ws_err *err)
{
	static const struct {
		enum ws_kind kind;
		ws_record_fn fn;
	} plan[] = {
	        {WS_KIND_API, on_api},           {WS_KIND_KERNEL, on_kernel},
	        {WS_KIND_MEMCPY, on_memcpy},     {WS_KIND_MEMSET, on_memset},
	        {WS_KIND_SYNC, on_sync},         {WS_KIND_GRAPH_LAUNCH, on_graph},
	        {WS_KIND_OVERHEAD, on_overhead}, {WS_KIND_MEMORY, on_memory},
	};

	for (size_t i = 0; i < sizeof(plan) / sizeof(*plan); i++)
		WS_FORWARD(ws_records_each(o->r, plan[i].kind, plan[i].fn, o, err));
	WS_FORWARD(ws_nsys_write_own(o, err));
	return ws_nsys_write_nvtx(o, err);
}

enum ws_status ws_export_nsys(const struct ws_trace_reader *r, const char *path,
                              const struct ws_export_opts *opts, struct ws_export_stats *stats,
                              struct ws_err *err)
{
	struct ws_nsys_out o = {.r = r,
	                        .stats = stats,
	                        .first_ns = INT64_MAX,
	                        .last_ns = INT64_MIN};
	enum ws_status status;

	ws_export_progress_begin(&o.progress, r, opts);
	status = ws_nsys_out_open(&o, path, err);
	WS_THEN(status, ws_nsys_ids_load(&o, err));
	WS_THEN(status, write_events(&o, err));
	WS_THEN(status, ws_nsys_write_info(&o, err));
	WS_THEN(status, ws_nsys_out_finish(&o, err));
	ws_nsys_out_close(&o);
	ws_nsys_ids_free(&o);
	return status;
}
