/*
 * Tables of an Nsight Systems export and the rows that they become. The
 * mapping is documented in docs/reference/import.md.
 */
#include "formats/nsys/nsys.h"
#include "formats/foreign/nsys_own.h"

#define U64(r, column) ws_nsys_u64((r), WS_NSYS_##column)
#define I64(r, column) ws_nsys_i64((r), WS_NSYS_##column)

/* CUPTI's numbers begin with "unknown"; the export's end with it. */
static uint64_t memory_kind(const struct ws_nsys_rows *r, enum ws_nsys_column c)
{
	uint64_t kind = ws_nsys_u64(r, c);

	return ws_nsys_is_null(r, c) || kind >= WS_MEMORY_MANAGED_STATIC ? WS_MEMORY_UNKNOWN
	                                                                 : kind + 1;
}

/* 2^32 - 1 stands for none. */
static int64_t id_or_none(int64_t id)
{
	return id == UINT32_MAX ? -1 : id;
}

/* The columns that are fields of the row; table is a constant, so that this is no loop. */
static inline __attribute__((always_inline)) void take_fields(const struct ws_nsys_rows *r,
                                                              enum ws_nsys_table table, void *row)
{
#define FIELD(ID, column, type, READ, kind, field) \
	if (table == WS_NSYS_##ID)                 \
		((struct ws_row_##kind *)row)->field = U64(r, ID##_##column);
#include "formats/nsys/nsys.def"
}

/* --- the host --- */

static void on_runtime(const struct ws_nsys_rows *r)
{
	struct ws_row_api row = {.correlation = U64(r, RUNTIME_correlationId),
	                         .result = I64(r, RUNTIME_returnValue)};

	if (!ws_nsys_span(r, WS_NSYS_RUNTIME_start, WS_NSYS_RUNTIME_end, &row.start_ns,
	                  &row.dur_ns))
		return;
	ws_nsys_thread(r, WS_NSYS_RUNTIME_globalTid, &row.thread);
	if (!r->n->default_pid)
		r->n->default_pid = ws_nsys_pid(r, WS_NSYS_RUNTIME_globalTid);
	ws_nsys_string(r, WS_NSYS_RUNTIME_nameId, &row.name);
	ws_import_record(r->n->out, WS_KIND_API, &row);
}

/* The export counts: undefined, unknown, driver compiler, …; the trace has one unknown. */
static void put_overhead(const struct ws_nsys_rows *r, enum ws_nsys_column start,
                         enum ws_nsys_column end, enum ws_nsys_column thread,
                         enum ws_nsys_column name, enum ws_nsys_column kind)
{
	uint64_t number = ws_nsys_u64(r, kind);
	struct ws_row_overhead row = {.kind = number >= 2 && number <= 10 ? number - 1 : 0};

	if (!ws_nsys_span(r, start, end, &row.start_ns, &row.dur_ns))
		return;
	ws_nsys_thread(r, thread, &row.thread);
	ws_nsys_string(r, name, &row.name);
	ws_import_record(r->n->out, WS_KIND_OVERHEAD, &row);
}
#define OVERHEAD(ID)                                                                        \
	put_overhead(r, WS_NSYS_##ID##_start, WS_NSYS_##ID##_end, WS_NSYS_##ID##_globalTid, \
	             WS_NSYS_##ID##_nameId, WS_NSYS_##ID##_overheadType)

static void on_overhead(const struct ws_nsys_rows *r)
{
	OVERHEAD(PROFILER_OVERHEAD);
}

static void on_cupti_overhead(const struct ws_nsys_rows *r)
{
	OVERHEAD(OVERHEAD);
}

/* --- the device --- */

/* The printed name; exports without it have one of the others. */
static void kernel_name(const struct ws_nsys_rows *r, uint64_t *name)
{
	ws_nsys_string(r, WS_NSYS_KERNEL_demangledName, name);
	if (!*name)
		ws_nsys_string(r, WS_NSYS_KERNEL_shortName, name);
	if (!*name)
		ws_nsys_string(r, WS_NSYS_KERNEL_mangledName, name);
}

static void on_kernel(const struct ws_nsys_rows *r)
{
	struct ws_row_kernel row = {.correlation = U64(r, KERNEL_correlationId),
	                            .graph_node = U64(r, KERNEL_graphNodeId),
	                            .graph = U64(r, KERNEL_graphId)};
	uint64_t type = U64(r, KERNEL_launchType); /* 0 = unknown, then as in the trace */
	struct ws_row_launch_config c = {
	        .pid = ws_nsys_pid(r, WS_NSYS_KERNEL_globalPid),
	        .launch_type = type >= 1 && type <= 3 ? type - 1 : 0,
	};

	take_fields(r, WS_NSYS_KERNEL, &c);
	if (!ws_nsys_span(r, WS_NSYS_KERNEL_start, WS_NSYS_KERNEL_end, &row.start_ns, &row.dur_ns))
		return;
	kernel_name(r, &c.name);
	ws_import_device_used(r->n->out, c.device);
	ws_trace_writer_intern_config(r->n->out->w, &c, &row.config, NULL);
	ws_import_record(r->n->out, WS_KIND_KERNEL, &row);
}

static void on_memcpy(const struct ws_nsys_rows *r)
{
	struct ws_row_memcpy row = {
	        .pid = ws_nsys_pid(r, WS_NSYS_MEMCPY_globalPid),
	        .src_kind = memory_kind(r, WS_NSYS_MEMCPY_srcKind),
	        .dst_kind = memory_kind(r, WS_NSYS_MEMCPY_dstKind),
	};
	const uint64_t peer = 10;

	take_fields(r, WS_NSYS_MEMCPY, &row);
	if (!ws_nsys_span(r, WS_NSYS_MEMCPY_start, WS_NSYS_MEMCPY_end, &row.start_ns, &row.dur_ns))
		return;
	if (row.kind == peer) {
		row.src_device = U64(r, MEMCPY_srcDeviceId);
		row.dst_device = U64(r, MEMCPY_dstDeviceId);
		ws_import_device_used(r->n->out, row.src_device);
		ws_import_device_used(r->n->out, row.dst_device);
	}
	ws_import_device_used(r->n->out, row.device);
	ws_import_record(r->n->out, WS_KIND_MEMCPY, &row);
}

static void on_memset(const struct ws_nsys_rows *r)
{
	struct ws_row_memset row = {
	        .pid = ws_nsys_pid(r, WS_NSYS_MEMSET_globalPid),
	        .memory_kind = memory_kind(r, WS_NSYS_MEMSET_memKind),
	};

	take_fields(r, WS_NSYS_MEMSET, &row);
	if (!ws_nsys_span(r, WS_NSYS_MEMSET_start, WS_NSYS_MEMSET_end, &row.start_ns, &row.dur_ns))
		return;
	ws_import_device_used(r->n->out, row.device);
	ws_import_record(r->n->out, WS_KIND_MEMSET, &row);
}

static void on_sync(const struct ws_nsys_rows *r)
{
	uint64_t type = U64(r, SYNC_syncType);
	struct ws_row_sync row = {
	        .pid = ws_nsys_pid(r, WS_NSYS_SYNC_globalPid),
	        .stream = id_or_none(I64(r, SYNC_streamId)),
	        .type = type <= WS_SYNC_CONTEXT ? type : WS_SYNC_UNKNOWN,
	        .event = ws_nsys_is_null(r, WS_NSYS_SYNC_eventId)
	                         ? -1
	                         : id_or_none(I64(r, SYNC_eventId)),
	        .event_stream = -1,
	};

	take_fields(r, WS_NSYS_SYNC, &row);
	if (!ws_nsys_span(r, WS_NSYS_SYNC_start, WS_NSYS_SYNC_end, &row.start_ns, &row.dur_ns))
		return;
	ws_import_device_used(r->n->out, row.device);
	ws_import_record(r->n->out, WS_KIND_SYNC, &row);
}

static void on_graph(const struct ws_nsys_rows *r)
{
	struct ws_row_graph_launch row = {
	        .pid = ws_nsys_pid(r, WS_NSYS_GRAPH_globalPid),
	};

	take_fields(r, WS_NSYS_GRAPH, &row);
	if (!ws_nsys_span(r, WS_NSYS_GRAPH_start, WS_NSYS_GRAPH_end, &row.start_ns, &row.dur_ns))
		return;
	ws_import_device_used(r->n->out, row.device);
	ws_import_record(r->n->out, WS_KIND_GRAPH_LAUNCH, &row);
}

static void on_memory(const struct ws_nsys_rows *r)
{
	struct ws_row_memory row = {
	        .time_ns = I64(r, MEMORY_start),
	        .pid = ws_nsys_pid(r, WS_NSYS_MEMORY_globalPid),
	        .op = I64(r, MEMORY_memoryOperationType) == 1 ? WS_MEMORY_OP_FREE
	                                                      : WS_MEMORY_OP_ALLOC,
	        .memory_kind = memory_kind(r, WS_NSYS_MEMORY_memKind),
	        .stream = U64(r, MEMORY_streamId),
	        .address = (uint64_t)I64(r, MEMORY_address),
	};

	take_fields(r, WS_NSYS_MEMORY, &row);
	if (!ws_import_time_ok(r->n->out, row.time_ns, 0))
		return;
	ws_import_device_used(r->n->out, row.device);
	ws_import_record(r->n->out, WS_KIND_MEMORY, &row);
}

/* --- all of it --- */

static enum ws_status import_events(struct ws_nsys *n, struct ws_err *err)
{
	/* calls first: they tell the process where other tables do not */
	static const struct {
		enum ws_nsys_table table;
		ws_nsys_row_fn fn;
	} plan[] = {
	        {WS_NSYS_RUNTIME, on_runtime},
	        {WS_NSYS_KERNEL, on_kernel},
	        {WS_NSYS_MEMCPY, on_memcpy},
	        {WS_NSYS_MEMSET, on_memset},
	        {WS_NSYS_GRAPH, on_graph},
	        {WS_NSYS_SYNC, on_sync},
	        {WS_NSYS_PROFILER_OVERHEAD, on_overhead},
	        {WS_NSYS_OVERHEAD, on_cupti_overhead},
	        {WS_NSYS_MEMORY, on_memory},
	};

	for (size_t i = 0; i < sizeof(plan) / sizeof(*plan); i++) {
		if (plan[i].table != WS_NSYS_MEMORY ||
		    !ws_nsys_has_table(n, WS_NSYS_OWN_PREFIX "memory"))
			ws_nsys_each(n, plan[i].table, plan[i].fn);
		else
			ws_nsys_leave_out(n, "CUDA_GPU_MEMORY_USAGE_EVENTS");
	}
	WS_FORWARD(ws_nsys_import_own(n, err));
	ws_nsys_import_nvtx(n);
	return WS_OK;
}

static void tell_what_is_strange(struct ws_nsys *n)
{
	struct ws_trace_writer *w = n->out->w;
	uint64_t device_work = ws_trace_writer_rows(w, WS_KIND_KERNEL) +
	                       ws_trace_writer_rows(w, WS_KIND_GRAPH_LAUNCH) +
	                       ws_trace_writer_rows(w, WS_KIND_MEMCPY);

	if (ws_trace_writer_rows(w, WS_KIND_API) && !device_work)
		ws_import_warn(n->out, "there are API calls but no device work: the recording "
		                       "lacked it (WSL, missing permissions)");
	if (n->several_places)
		ws_import_warn(n->out, "records of several machines: processes and threads of the "
		                       "same number are taken for one");
}

/*
 * Are the pages sound? A damaged one gives plausible rows: nothing of a damaged database is
 * believed.
 */
static enum ws_status check_pages(sqlite3 *db, struct ws_err *err)
{
	enum ws_status status = WS_OK;
	sqlite3_stmt *stmt = NULL;
	const char *found = NULL;

	/* a CHECK of the schema would be executed */
	sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
	if (sqlite3_prepare_v2(db, "PRAGMA main.quick_check(1)", -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		found = (const char *)sqlite3_column_text(stmt, 0);
	if (!found)
		found = sqlite3_errmsg(db);
	if (strcmp(found, "ok") != 0)
		status = WS_FAIL(err, CORRUPT,
		                 "the database is damaged, its numbers cannot be trusted (%s); "
		                 "export the report again: nsys export --type sqlite",
		                 found);
	sqlite3_finalize(stmt);
	return status;
}

enum ws_status ws_import_nsys(struct ws_import_out *o, sqlite3 *db, struct ws_import_clock *clock,
                              struct ws_err *err)
{
	struct ws_nsys n;
	enum ws_status status;

	WS_FORWARD(check_pages(db, err));
	status = ws_nsys_init(&n, o, clock, db, err);
	if (status == WS_OK && !ws_nsys_has_table(&n, "StringIds") &&
	    !ws_nsys_has_table(&n, "CUPTI_ACTIVITY_KIND_KERNEL"))
		status = WS_FAIL(err, CORRUPT,
		                 "the database is not an Nsight Systems export: it has no "
		                 "table StringIds");
	if (status == WS_OK)
		ws_nsys_import_info(&n);
	WS_THEN(status, import_events(&n, err));
	if (status == WS_OK)
		ws_nsys_import_names(&n);
	if (status == WS_OK)
		tell_what_is_strange(&n);
	ws_nsys_free(&n);
	return status;
}
