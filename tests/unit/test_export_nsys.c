/* Traces made by hand as databases in the schema of Nsight Systems, asked with SQL. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <sqlite3.h>
#include <unistd.h>

#include "formats/export.h"
#include "tests/support/imported.h"
#include "tests/support/trace_sample.h"

/* --- what an export needs of the layer above --- */

static enum ws_status demangle(const char *name, size_t len, struct ws_buf *out, struct ws_err *err)
{
	static const char mangled[] = "_Z3addIfEvPT_", readable[] = "void a::b::add<float>(float*)";

	if (len == strlen(mangled) && !memcmp(name, mangled, len))
		return ws_buf_put(out, readable, strlen(readable), err);
	return ws_buf_put(out, name, len, err);
}

static size_t shorten(struct ws_bytes name, char *out)
{
	static const char readable[] = "void a::b::add<float>(float*)";

	if (name.len == strlen(readable) && !memcmp(name.ptr, readable, name.len)) {
		memcpy(out, "a::b::add", 9);
		return 9;
	}
	memcpy(out, name.ptr, name.len);
	return name.len;
}

static const struct ws_export_names names = {demangle, shorten};

/* --- a trace, its export, and questions --- */

struct exported {
	struct ws_trace_writer *w;
	struct ws_trace_reader *r;
	struct ws_export_stats stats;
	char path[64];
	sqlite3 *db;
};

static void setup(struct exported *e)
{
	const struct ws_trace_writer_opts opts = {.base_ns = WS_SAMPLE_BASE_NS};

	*e = (struct exported){0};
	cr_assert(eq(int, ws_trace_writer_create_mem(&e->w, &opts, NULL), WS_OK));
}

static void add(struct exported *e, enum ws_kind kind, const void *row)
{
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_add(e->w, kind, row, &err), WS_OK), "%s", err.text);
}

static uint64_t text_of(struct exported *e, const char *bytes, size_t len)
{
	uint64_t id;

	cr_assert(eq(int, ws_trace_writer_intern(e->w, bytes, len, &id, NULL), WS_OK));
	return id;
}
#define TEXT(e, literal) text_of((e), "" literal, sizeof(literal) - 1)

static void new_file(char path[64])
{
	int fd;

	snprintf(path, 64, "/tmp/ws-export-XXXXXX");
	fd = mkstemp(path);
	cr_assert(ge(int, fd, 0));
	close(fd);
}

static void export(struct exported *e)
{
	const struct ws_export_opts opts = {.names = &names};
	struct ws_bytes mem;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_close(e->w, NULL), WS_OK));
	mem = ws_trace_writer_mem(e->w);
	cr_assert(eq(int, ws_trace_reader_open_mem(&e->r, mem.ptr, mem.len, NULL), WS_OK));
	new_file(e->path);
	cr_assert(eq(int, ws_export_nsys(e->r, e->path, &opts, &e->stats, &err), WS_OK), "%s",
	          err.text);
	cr_assert(eq(int, sqlite3_open_v2(e->path, &e->db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK));
}

static void teardown(struct exported *e)
{
	sqlite3_close(e->db);
	unlink(e->path);
	ws_trace_reader_free(e->r);
	ws_trace_writer_free(e->w);
}

/* The result of a query as text: columns by '|', rows by newlines. */
static const char *ask(struct exported *e, const char *sql)
{
	static char out[4096];
	sqlite3_stmt *stmt;
	size_t len = 0;

	out[0] = 0;
	cr_assert(eq(int, sqlite3_prepare_v2(e->db, sql, -1, &stmt, NULL), SQLITE_OK), "%s: %s",
	          sql, sqlite3_errmsg(e->db));
	while (sqlite3_step(stmt) == SQLITE_ROW)
		for (int c = 0; c < sqlite3_column_count(stmt); c++) {
			const char *value = (const char *)sqlite3_column_text(stmt, c);

			len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%s",
			                        c     ? "|"
			                        : len ? "\n"
			                              : "",
			                        value ? value : "-");
		}
	sqlite3_finalize(stmt);
	return out;
}
#define ASK(e, sql, want) cr_assert(eq(str, (char *)ask((e), (sql)), (char *)(want)))

/* --- tests --- */

/* Process 100 with threads 1 and 2, device 3, one kernel launched by thread 1. */
static void fill(struct exported *e)
{
	const struct ws_row_process process = {100, 1, TEXT(e, "/bin/train"), 0};
	const struct ws_row_thread one = {1, 100, 101, TEXT(e, "main")}, two = {2, 100, 102, 0};
	const struct ws_row_device device = {3, WS_DEVICE_CUDA, TEXT(e, "GPU X")};
	const struct ws_row_device_attr sms = {3, TEXT(e, "sm_count"), 48};
	const struct ws_row_device_attr threads = {3, TEXT(e, "max_threads_per_sm"), 1536};
	const struct ws_row_api launch = {-1000, 20, 1, TEXT(e, "cudaLaunchKernel_v7000"), 7, 0};
	const struct ws_row_api driver = {40, 5, 2, TEXT(e, "cuLaunchKernel"), 8, 700};
	const struct ws_row_launch_config c = {
	        .name = TEXT(e, "_Z3addIfEvPT_"),
	        .pid = 100,
	        .device = 3,
	        .context = 1,
	        .stream = 7,
	        .grid_x = 10,
	        .grid_y = 2,
	        .grid_z = 1,
	        .block_x = 128,
	        .block_y = 1,
	        .block_z = 1,
	        .registers = 40,
	        .shared_static_bytes = 16,
	        .shared_dynamic_bytes = 1024,
	};
	struct ws_row_kernel kernel = {.start_ns = 100, .dur_ns = 50, .correlation = 7};
	struct ws_row_kernel timeless = {.correlation = 9, .flags = WS_KERNEL_NO_TIME};

	add(e, WS_KIND_PROCESS, &process);
	add(e, WS_KIND_THREAD, &one);
	add(e, WS_KIND_THREAD, &two);
	add(e, WS_KIND_DEVICE, &device);
	add(e, WS_KIND_DEVICE_ATTR, &sms);
	add(e, WS_KIND_DEVICE_ATTR, &threads);
	add(e, WS_KIND_API, &launch);
	add(e, WS_KIND_API, &driver);
	cr_assert(eq(int, ws_trace_writer_intern_config(e->w, &c, &kernel.config, NULL), WS_OK));
	timeless.config = kernel.config;
	add(e, WS_KIND_KERNEL, &kernel);
	add(e, WS_KIND_KERNEL, &timeless);
}

Test(export_nsys, kernels_calls_and_ids_are_those_of_the_trace)
{
	struct exported e;

	setup(&e);
	fill(&e);
	export(&e);
	ASK(&e,
	    "SELECT k.start, k.end, deviceId, contextId, streamId, correlationId, gridX, gridY, "
	    "blockX, "
	    "registersPerThread, staticSharedMemory, dynamicSharedMemory, greenContextId, d.value, "
	    "s.value, m.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds d ON d.id = "
	    "demangledName JOIN StringIds s ON s.id = shortName JOIN StringIds m ON m.id = "
	    "mangledName",
	    "100|150|3|1|7|7|10|2|128|40|16|1024|-|void "
	    "a::b::add<float>(float*)|add|_Z3addIfEvPT_");
	ASK(&e,
	    "SELECT start, end, eventClass, globalTid >> 24 & 0xffffff, globalTid & 0xffffff, "
	    "correlationId, value, returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON "
	    "id = nameId",
	    "-1000|-980|0|100|101|7|cudaLaunchKernel_v7000|0\n40|45|1|100|102|8|cuLaunchKernel|"
	    "700");
	/* the join that every attribution needs */
	ASK(&e,
	    "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
	    "ON r.correlationId = k.correlationId AND k.globalPid = r.globalTid & ~0xffffff",
	    "1");
	ASK(&e, "SELECT globalPid >> 24 & 0xffffff, pid, name FROM PROCESSES",
	    "100|100|/bin/train");
	ASK(&e, "SELECT value, globalTid & 0xffffff FROM ThreadNames JOIN StringIds ON id = nameId",
	    "main|101");
	ASK(&e, "SELECT id, name, smCount, maxWarpsPerSm, computeMajor FROM TARGET_INFO_GPU",
	    "3|GPU X|48|48|-");
	ASK(&e, "SELECT gpuId, cudaId, pid FROM TARGET_INFO_CUDA_DEVICE", "3|3|100");
	ASK(&e, "SELECT startTime, stopTime, duration FROM ANALYSIS_DETAILS", "-1000|150|1150");
	ASK(&e, "SELECT utcEpochNs, utcTime FROM TARGET_INFO_SESSION_START_TIME",
	    "1700000000000000000|2023-11-14T22:13:20");
	ASK(&e, "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_NAME'",
	    "Warpsheet");
	/* a kernel without time is no kernel of 0 ns */
	cr_assert(eq(u64, e.stats.without_time, 1));
	ASK(&e, "SELECT severity, text FROM DIAGNOSTIC_EVENT",
	    "2|not in this export: kernels and copies without time: 1");
	/* kinds without rows have no table: a report says so instead of 0 */
	ASK(&e,
	    "SELECT count(*) FROM sqlite_master WHERE name LIKE '%MEMCPY' OR name LIKE "
	    "'NVTX_EVENTS'",
	    "0");
	teardown(&e);
}

Test(export_nsys, copies_fills_waits_and_graphs_have_the_numbers_of_the_enums)
{
	struct exported e;
	const struct ws_row_memcpy copy = {.start_ns = 10,
	                                   .dur_ns = 4,
	                                   .pid = 100,
	                                   .device = 3,
	                                   .kind = 1,
	                                   .src_kind = WS_MEMORY_PINNED,
	                                   .dst_kind = WS_MEMORY_DEVICE,
	                                   .bytes = 4096};
	const struct ws_row_memcpy peer = {.start_ns = 20,
	                                   .dur_ns = 4,
	                                   .pid = 100,
	                                   .device = 3,
	                                   .kind = 10,
	                                   .dst_device = 3,
	                                   .bytes = 1};
	const struct ws_row_memset fill_row = {.start_ns = 30,
	                                       .dur_ns = 2,
	                                       .pid = 100,
	                                       .device = 3,
	                                       .memory_kind = WS_MEMORY_DEVICE,
	                                       .value = 255,
	                                       .bytes = 8};
	const struct ws_row_sync wait = {.start_ns = 40,
	                                 .dur_ns = 9,
	                                 .pid = 100,
	                                 .device = 3,
	                                 .stream = -1,
	                                 .type = WS_SYNC_CONTEXT,
	                                 .event = -1};
	const struct ws_row_graph_launch graph = {
	        .start_ns = 60, .dur_ns = 30, .pid = 100, .device = 3, .graph = 5, .graph_exec = 6};
	const struct ws_row_memory alloc = {.time_ns = 1,
	                                    .pid = 100,
	                                    .memory_kind = WS_MEMORY_DEVICE,
	                                    .bytes = 77};
	const struct ws_row_memory failed = {.time_ns = 2,
	                                     .pid = 100,
	                                     .op = WS_MEMORY_OP_OUT_OF_MEMORY,
	                                     .bytes = 78};

	setup(&e);
	fill(&e);
	add(&e, WS_KIND_MEMCPY, &copy);
	add(&e, WS_KIND_MEMCPY, &peer);
	add(&e, WS_KIND_MEMSET, &fill_row);
	add(&e, WS_KIND_SYNC, &wait);
	add(&e, WS_KIND_GRAPH_LAUNCH, &graph);
	add(&e, WS_KIND_MEMORY, &alloc);
	add(&e, WS_KIND_MEMORY, &failed);
	export(&e);
	ASK(&e,
	    "SELECT start, end, bytes, c.label, s.label, d.label, srcDeviceId, dstDeviceId FROM "
	    "CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER c ON c.id = copyKind JOIN "
	    "ENUM_CUDA_MEM_KIND s ON s.id = srcKind JOIN ENUM_CUDA_MEM_KIND d ON d.id = dstKind",
	    "10|14|4096|Host-to-Device|Pinned|Device|-|-\n20|24|1|Peer-to-Peer|Unknown|Unknown|0|"
	    "3");
	ASK(&e,
	    "SELECT start, end, value, bytes, label FROM CUPTI_ACTIVITY_KIND_MEMSET JOIN "
	    "ENUM_CUDA_MEM_KIND ON id = memKind",
	    "30|32|255|8|Device");
	ASK(&e,
	    "SELECT start, end, label, streamId, eventId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION "
	    "JOIN ENUM_CUPTI_SYNC_TYPE ON id = syncType",
	    "40|49|Context sync|4294967295|4294967295");
	ASK(&e, "SELECT start, end, graphId, graphExecId FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
	    "60|90|5|6");
	ASK(&e,
	    "SELECT bytes, label FROM CUDA_GPU_MEMORY_USAGE_EVENTS JOIN "
	    "ENUM_CUDA_DEV_MEM_EVENT_OPER ON id = memoryOperationType",
	    "77|Allocation");
	/* the schema has no failures */
	ASK(&e, "SELECT op, bytes FROM WARPSHEET_memory", "0|77\n2|78");
	teardown(&e);
}

static void nvtx(struct exported *e, int64_t time_ns, uint64_t thread, enum ws_nvtx_type type,
                 uint64_t domain, uint64_t name, uint64_t range)
{
	const struct ws_row_nvtx row = {
	        .time_ns = time_ns,
	        .thread = thread,
	        .type = type,
	        .domain = domain,
	        .name = name,
	        .range = range,
	};

	add(e, WS_KIND_NVTX, &row);
}

Test(export_nsys, events_become_ranges_the_outer_one_first)
{
	struct exported e;
	uint64_t lib, outer, inner;

	setup(&e);
	fill(&e);
	lib = TEXT(&e, "lib");
	outer = TEXT(&e, "outer");
	inner = TEXT(&e, "inner");
	nvtx(&e, 10, 1, WS_NVTX_PUSH, 0, outer, 0);
	nvtx(&e, 10, 1, WS_NVTX_PUSH, 0, inner, 0);
	nvtx(&e, 12, 1, WS_NVTX_PUSH, lib, inner, 0); /* a domain has a stack of its own */
	nvtx(&e, 20, 1, WS_NVTX_POP, 0, 0, 0);
	nvtx(&e, 20, 1, WS_NVTX_POP, 0, 0, 0);
	nvtx(&e, 25, 1, WS_NVTX_POP, lib, 0, 0);
	nvtx(&e, 26, 1, WS_NVTX_POP, lib, 0, 0); /* without a push */
	nvtx(&e, 30, 2, WS_NVTX_START, 0, outer, 1);
	nvtx(&e, 31, 1, WS_NVTX_END, 0, 0, 1);       /* on another thread */
	nvtx(&e, 32, 2, WS_NVTX_START, 0, inner, 1); /* the id again; never ended */
	nvtx(&e, 40, 1, WS_NVTX_MARK, lib, outer, 0);
	nvtx(&e, 50, 1, WS_NVTX_PUSH, 0, inner, 0); /* never popped */
	export(&e);
	ASK(&e,
	    "SELECT start, end, eventType, text, domainId, globalTid & 0xffffff, endGlobalTid & "
	    "0xffffff, rangeId FROM NVTX_EVENTS ORDER BY eventId",
	    "10|20|59|outer|0|101|-|-\n"
	    "10|20|59|inner|0|101|-|-\n"
	    "12|-|75|lib|1|101|-|-\n"
	    "12|25|59|inner|1|101|-|-\n"
	    "50|-|59|inner|0|101|-|-\n"
	    "30|31|60|outer|0|102|101|1\n"
	    "32|-|60|inner|0|102|-|1\n"
	    "40|-|34|outer|1|101|-|-");
	cr_assert(eq(u64, e.stats.dangling, 1));
	teardown(&e);
}

Test(export_nsys, values_of_ranges_are_columns_of_their_type)
{
	struct exported e;
	const double real = 0.1;
	const float single = 1.5F;
	const int32_t small = -3;
	struct ws_row_nvtx mark = {.thread = 1, .type = WS_NVTX_MARK};

	setup(&e);
	fill(&e);
	ws_trace_writer_intern_payload(e.w, 20, &real, 8, &mark.payload, NULL);
	add(&e, WS_KIND_NVTX, &mark);
	ws_trace_writer_intern_payload(e.w, 19, &single, 4, &mark.payload, NULL);
	add(&e, WS_KIND_NVTX, &mark);
	ws_trace_writer_intern_payload(e.w, 15, &small, 4, &mark.payload, NULL);
	add(&e, WS_KIND_NVTX, &mark);
	/* of a type of 8 bytes, but shorter: damaged, so unknown */
	ws_trace_writer_intern_payload(e.w, 17, &small, 4, &mark.payload, NULL);
	add(&e, WS_KIND_NVTX, &mark);
	export(&e);
	ASK(&e, "SELECT doubleValue, floatValue, int32Value, int64Value FROM NVTX_EVENTS",
	    "0.1|-|-|-\n-|1.5|-|-\n-|-|-3|-\n-|-|-|-");
	teardown(&e);
}

Test(export_nsys, hostile_names_become_text_that_any_reader_takes)
{
	struct exported e;
	struct ws_row_api call = {.thread = 1};

	setup(&e);
	fill(&e);
	call.name = TEXT(&e, "a\0b\xff\xc3(\xed\xa0\x80'; DROP TABLE StringIds; --");
	add(&e, WS_KIND_API, &call);
	call.name = 12345; /* a string that the trace lost */
	add(&e, WS_KIND_API, &call);
	export(&e);
	ASK(&e,
	    "SELECT value FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE "
	    "start = 0",
	    "a\xef\xbf\xbd"
	    "b\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd'; DROP TABLE "
	    "StringIds; "
	    "--\n");
	ASK(&e, "PRAGMA integrity_check", "ok");
	teardown(&e);
}

Test(export_nsys, threads_that_have_no_number_get_one_each)
{
	struct exported e;
	struct ws_row_thread t = {.id = 3, .pid = 100, .tid = 101};
	struct ws_row_nvtx mark = {.type = WS_NVTX_MARK};

	setup(&e);
	fill(&e);
	add(&e, WS_KIND_THREAD, &t); /* the number of thread 1 */
	t = (struct ws_row_thread){.id = 4, .pid = 100, .tid = UINT64_C(1) << 40};
	add(&e, WS_KIND_THREAD, &t);
	t = (struct ws_row_thread){.id = 5, .pid = UINT64_C(1) << 40, .tid = 101};
	add(&e, WS_KIND_THREAD, &t);
	for (mark.thread = 1; mark.thread <= 5; mark.thread++)
		add(&e, WS_KIND_NVTX, &mark);
	export(&e);
	ASK(&e,
	    "SELECT globalTid >> 48, globalTid >> 24 & 0xffffff, globalTid & 0xffffff FROM "
	    "NVTX_EVENTS",
	    "1|100|101\n1|100|102\n1|100|8388608\n1|100|8388609\n1|8388608|101");
	teardown(&e);
}

Test(export_nsys, two_exports_have_the_same_bytes_and_losses_are_told)
{
	const struct ws_export_opts opts = {.names = &names};
	const struct ws_row_loss early = {.time_ns = 1, .cause = 1, .count = 2};
	struct ws_row_loss late = {.time_ns = 2, .count = 5};
	struct exported e;
	struct ws_export_stats stats;
	char again[64], command[200];

	setup(&e);
	late.cause = TEXT(&e, "ring_overflow");
	fill(&e);
	add(&e, WS_KIND_LOSS, &early);
	add(&e, WS_KIND_LOSS, &late);
	export(&e);
	ASK(&e, "SELECT text FROM DIAGNOSTIC_EVENT WHERE timestamp = 2",
	    "lost in the recording: ring_overflow: 5");
	new_file(again);
	cr_assert(eq(int, ws_export_nsys(e.r, again, &opts, &stats, NULL), WS_OK));
	snprintf(command, sizeof(command), "cmp %s %s", e.path, again);
	cr_assert(eq(int, system(command), 0));
	unlink(again);
	teardown(&e);
}

Test(export_nsys, a_place_that_cannot_be_written_is_told)
{
	const struct ws_export_opts opts = {.names = &names};
	struct ws_export_stats stats;
	struct exported e;
	struct ws_err err;

	setup(&e);
	fill(&e);
	export(&e);
	cr_assert(eq(int, ws_export_nsys(e.r, "/nowhere/at/all.sqlite", &opts, &stats, &err),
	             WS_IO_WRITE));
	cr_assert(ne(int, err.text[0], 0));
	teardown(&e);
}

Test(export_nsys, times_that_overflow_stay_in_bounds)
{
	struct ws_row_api call = {.thread = 1, .start_ns = INT64_MAX - 1, .dur_ns = 100};
	struct exported e;

	setup(&e);
	fill(&e);
	add(&e, WS_KIND_API, &call);
	call = (struct ws_row_api){.thread = 1, .start_ns = INT64_MIN, .dur_ns = -1};
	add(&e, WS_KIND_API, &call);
	export(&e);
	ASK(&e,
	    "SELECT end - start FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId IN (SELECT id FROM "
	    "StringIds WHERE value = '')",
	    "1\n0");
	teardown(&e);
}

/* Every cell of a kind, ids of texts and dictionaries apart, which an import numbers anew. */
Test(export_nsys, an_import_of_an_export_has_the_same_records)
{
	struct exported e;
	struct ws_imported *i;
	uint64_t outer;

	setup(&e);
	fill(&e);
	outer = TEXT(&e, "outer");
	nvtx(&e, 10, 1, WS_NVTX_PUSH, outer, outer, 0);
	nvtx(&e, 11, 1, WS_NVTX_MARK, 0, outer, 0);
	nvtx(&e, 12, 2, WS_NVTX_START, 0, outer, 9);
	nvtx(&e, 20, 1, WS_NVTX_POP, outer, 0, 0);
	export(&e);
	i = ws_imported_file(e.path);
	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	cr_assert(eq(u64, i->table[WS_KIND_KERNEL].rows, 1));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, start_ns, 0), 100));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, dur_ns, 0), 50));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, correlation, 0), 7));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, grid_y, 0), 2));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, registers, 0), 40));
	cr_assert(eq(i64, WS_CELL(i, API, api, result, 1), 700));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 0),
	             (char *)"cudaLaunchKernel_v7000"));
	cr_assert(eq(u64, i->table[WS_KIND_NVTX].rows, 4));
	cr_assert(eq(i64, ws_trace_reader_summary(i->reader)->base_ns, WS_SAMPLE_BASE_NS));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, DEVICE, device, name, 0), (char *)"GPU X"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, PROCESS, process, program, 0),
	             (char *)"/bin/train"));
	ws_imported_free(i);
	teardown(&e);
}

Test(export_nsys, what_the_schema_lacks_comes_back_from_tables_of_our_own)
{
	const struct ws_row_payload_schema schema = {.id = 1 << 24, .type = 1, .size_bytes = 8};
	struct ws_row_payload_field field = {.schema = 1 << 24, .type = 18};
	struct ws_row_op_config op = {.id = 1, .flops = 1000, .cost = WS_COST_FLOPS};
	const struct ws_row_cpu_op call = {.start_ns = 5,
	                                   .dur_ns = 6,
	                                   .thread = 2,
	                                   .config = 1,
	                                   .external_id = 77,
	                                   .sequence = -1};
	const struct ws_row_external_link link = {100, 7, WS_EXTERNAL_CUSTOM0, 77};
	const struct ws_row_device cpu = {4, WS_DEVICE_CPU_REFERENCE, 0};
	const struct ws_row_loss loss = {.time_ns = 1, .cause = 1, .count = 9};
	const uint64_t bytes = 42;
	struct ws_row_nvtx push = {.time_ns = 1, .thread = 1, .type = WS_NVTX_PUSH};
	struct ws_imported *i;
	struct exported e;

	setup(&e);
	fill(&e);
	field.name = TEXT(&e, "flops");
	op.name = TEXT(&e, "aten::mm");
	ws_trace_writer_meta(e.w, "workload.model", "tiny", NULL);
	ws_trace_writer_meta(e.w, "tool.name", "warpsheet-record", NULL);
	add(&e, WS_KIND_PAYLOAD_SCHEMA, &schema);
	add(&e, WS_KIND_PAYLOAD_FIELD, &field);
	ws_trace_writer_intern_payload(e.w, schema.id, &bytes, 8, &push.payload, NULL);
	add(&e, WS_KIND_NVTX, &push);
	add(&e, WS_KIND_OP_CONFIG, &op);
	add(&e, WS_KIND_CPU_OP, &call);
	add(&e, WS_KIND_EXTERNAL_LINK, &link);
	add(&e, WS_KIND_DEVICE, &cpu);
	add(&e, WS_KIND_LOSS, &loss);
	export(&e);
	i = ws_imported_file(e.path);
	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	cr_assert(eq(i64, WS_CELL(i, PAYLOAD_FIELD, payload_field, schema, 0), 1 << 24));
	cr_assert(eq(i64, WS_CELL(i, PAYLOAD, payload, schema, 0), 1 << 24));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, payload, 0), WS_CELL(i, PAYLOAD, payload, id, 0)));
	cr_assert(eq(i64, WS_CELL(i, OP_CONFIG, op_config, flops, 0), 1000));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, OP_CONFIG, op_config, name, 0),
	             (char *)"aten::mm"));
	cr_assert(eq(i64, WS_CELL(i, CPU_OP, cpu_op, sequence, 0), -1));
	cr_assert(eq(i64,
	             WS_CELL(i, THREAD, thread, tid,
	                     (uint64_t)WS_CELL(i, CPU_OP, cpu_op, thread, 0) - 1),
	             102));
	cr_assert(eq(i64, WS_CELL(i, EXTERNAL_LINK, external_link, pid, 0), 100));
	cr_assert(eq(i64, WS_CELL(i, LOSS, loss, count, 0), 9));
	cr_assert(eq(str, (char *)ws_imported_meta(i, "workload.model"), (char *)"tiny"));
	cr_assert(eq(str, (char *)ws_imported_meta(i, "tool.name"), (char *)"warpsheet import"));
	ws_imported_free(i);
	teardown(&e);
}

/* Run SQL on the export, as someone who means ill would. */
static void spoil(struct exported *e, const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	cr_assert(eq(int, sqlite3_open(e->path, &db), SQLITE_OK));
	cr_assert(eq(int, sqlite3_exec(db, sql, NULL, NULL, &why), SQLITE_OK), "%s", why);
	sqlite3_close(db);
}

Test(export_nsys, tables_of_our_own_are_trusted_no_more_than_others)
{
	struct ws_imported *i;
	struct exported e;

	setup(&e);
	fill(&e);
	export(&e);
	spoil(&e,
	      "CREATE TABLE WARPSHEET_cpu_op (start_ns, dur_ns, thread, config);"
	      "INSERT INTO WARPSHEET_cpu_op VALUES (1, 2, 3, 99), (1, 2, NULL, 1), (1, -2, 3, 1),"
	      " (9223372036854775807, 1, 3, 1), ('x', x'00', 3, 1), (5, 6, 7, 1);"
	      "CREATE TABLE WARPSHEET_op_config (id INTEGER, name, flops);"
	      "INSERT INTO WARPSHEET_op_config VALUES (1, 424242, -1), (1, 1, 1), (50, NULL, 2.5);"
	      "CREATE TABLE WARPSHEET_payload (id, schema, bytes);"
	      "INSERT INTO WARPSHEET_payload VALUES (1, 7, zeroblob(17000000)), (2, 7, 'text');"
	      "CREATE TABLE WARPSHEET_nvtx_payload (eventId, payload);"
	      "INSERT INTO WARPSHEET_nvtx_payload VALUES (1, 1), (1, 2), (NULL, NULL);"
	      "CREATE TABLE WARPSHEET_payload_field (schema);"
	      "INSERT INTO WARPSHEET_payload_field VALUES (12345), (NULL);"
	      "CREATE TABLE WARPSHEET_memory (nothing_known, time_ns);"
	      "INSERT INTO WARPSHEET_memory VALUES (1, 5);"
	      "CREATE TABLE WARPSHEET_kernel (start_ns);"
	      "INSERT INTO WARPSHEET_kernel VALUES (1)");
	i = ws_imported_file(e.path);
	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	cr_assert(eq(u64, i->table[WS_KIND_CPU_OP].rows, 2), "two of six can be believed");
	cr_assert(eq(u64, i->table[WS_KIND_OP_CONFIG].rows, 2));
	cr_assert(eq(u64, i->table[WS_KIND_PAYLOAD].rows, 1));
	cr_assert(eq(u64, i->table[WS_KIND_PAYLOAD_FIELD].rows, 0));
	cr_assert(eq(u64, i->table[WS_KIND_KERNEL].rows, 1));
	cr_assert(eq(u64, i->table[WS_KIND_MEMORY].rows, 1), "of no thread, as is allowed");
	cr_assert(gt(u64, ws_imported_lost(i, "lack what their kind needs"), 0));
	ws_imported_free(i);
	teardown(&e);
}

/*
 * The tables and columns that the published definitions of Nsight Systems'
 * reports ask for, by report. Those of page faults and of operating system
 * calls are not recorded.
 */
static const char *const wanted[][2] = {
        {"cuda_gpu_kern_sum", "SELECT start, end, demangledName, shortName, mangledName FROM "
                              "CUPTI_ACTIVITY_KIND_KERNEL, StringIds"},
        {"cuda_gpu_kern_gb_sum", "SELECT gridX, gridY, gridZ, blockX, blockY, blockZ FROM "
                                 "CUPTI_ACTIVITY_KIND_KERNEL"},
        {"cuda_api_sum", "SELECT start, end, nameId, id, value FROM "
                         "CUPTI_ACTIVITY_KIND_RUNTIME, StringIds"},
        {"cuda_api_trace", "SELECT returnValue, correlationId, r.globalTid, t.nameId, priority "
                           "FROM CUPTI_ACTIVITY_KIND_RUNTIME r, ThreadNames t"},
        {"cuda_gpu_mem_sum", "SELECT c.start, c.end, copyKind, c.bytes, label, s.start, s.bytes "
                             "FROM CUPTI_ACTIVITY_KIND_MEMCPY c, CUPTI_ACTIVITY_KIND_MEMSET s, "
                             "ENUM_CUDA_MEMCPY_OPER"},
        {"cuda_gpu_trace",
         "SELECT k.greenContextId, c.greenContextId, s.greenContextId, registersPerThread, "
         "staticSharedMemory, dynamicSharedMemory, k.deviceId, k.contextId, k.streamId, "
         "c.srcKind, c.dstKind, s.memKind, s.value, g.id, g.name, m.label FROM "
         "CUPTI_ACTIVITY_KIND_KERNEL k, CUPTI_ACTIVITY_KIND_MEMCPY c, "
         "CUPTI_ACTIVITY_KIND_MEMSET s, TARGET_INFO_GPU g, ENUM_CUDA_MEM_KIND m"},
        {"cuda_kern_exec_sum", "SELECT k.correlationId, k.globalPid, k.deviceId, r.globalTid "
                               "FROM CUPTI_ACTIVITY_KIND_KERNEL k, CUPTI_ACTIVITY_KIND_RUNTIME r"},
        {"nvtx_sum", "SELECT start, end, eventType, text, textId, domainId, globalTid, "
                     "endGlobalTid, rangeId, eventId FROM NVTX_EVENTS"},
        {"nvtx_gpu_proj_trace", "SELECT start, end, correlationId, globalPid FROM "
                                "CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL SELECT start, end, "
                                "correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_MEMSET"},
        {"versions", "SELECT name, value FROM META_DATA_EXPORT"},
        {"names of types", "SELECT e.label, t.label FROM ENUM_NSYS_EVENT_CLASS e, "
                           "ENUM_NSYS_EVENT_TYPE t"},
};

Test(export_nsys, every_published_report_finds_its_tables_and_columns)
{
	const struct ws_row_memcpy copy = {.pid = 100, .device = 3, .kind = 1};
	const struct ws_row_memset set = {.pid = 100, .device = 3};
	struct exported e;

	setup(&e);
	fill(&e);
	add(&e, WS_KIND_MEMCPY, &copy);
	add(&e, WS_KIND_MEMSET, &set);
	nvtx(&e, 10, 1, WS_NVTX_PUSH, 0, TEXT(&e, "range"), 0);
	export(&e);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		sqlite3_stmt *stmt;

		cr_assert(eq(int, sqlite3_prepare_v2(e.db, wanted[i][1], -1, &stmt, NULL),
		             SQLITE_OK),
		          "%s: %s", wanted[i][0], sqlite3_errmsg(e.db));
		cr_assert(eq(int, sqlite3_step(stmt), SQLITE_ROW), "%s: no rows", wanted[i][0]);
		sqlite3_finalize(stmt);
	}
	teardown(&e);
}

/* --- the queries of the documentation --- */

static char *page(void)
{
	FILE *f = fopen(WS_SOURCE_DIR "/docs/export.md", "r");
	char *text = NULL;
	size_t size = 0;

	cr_assert(f != NULL);
	cr_assert(gt(i64, getdelim(&text, &size, 0, f), 0));
	fclose(f);
	return text;
}

/* The n-th block of SQL of the page, from 0; the caller frees it. NULL: there are not so many. */
static char *query(const char *text, unsigned n)
{
	static const char fence[] = "```sql\n";
	const char *at = text;

	for (unsigned i = 0; at && i <= n; i++)
		at = strstr(i ? at + 1 : at, fence);
	if (!at)
		return NULL;
	at += sizeof(fence) - 1;
	return strndup(at, (size_t)(strstr(at, "```") - at));
}

Test(export_nsys, the_queries_of_the_documentation_give_what_they_promise)
{
	static const char *const want[] = {
	        "100.0|50|1|add",   "20.0|1080.0|50.0|1|cudaLaunchKernel_v7000",
	        "outer|1|1|50",     "Host-to-Device|1|4096|4|1024.0",
	        "3|GPU X|48|-|-|-",
	};
	const struct ws_row_memcpy copy = {
	        .start_ns = 10, .dur_ns = 4, .pid = 100, .device = 3, .kind = 1, .bytes = 4096};
	const size_t queries = sizeof(want) / sizeof(*want);
	char *text = page(), *sql;
	struct exported e;
	uint64_t outer;

	setup(&e);
	fill(&e);
	add(&e, WS_KIND_MEMCPY, &copy);
	outer = TEXT(&e, "outer");
	nvtx(&e, -1000, 1, WS_NVTX_PUSH, 0, outer, 0);
	nvtx(&e, -980, 1, WS_NVTX_POP, 0, 0, 0);
	export(&e);
	for (unsigned i = 0; i < queries; i++) {
		sql = query(text, i);
		cr_assert(sql != NULL, "query %u is not on the page", i);
		ASK(&e, sql, want[i]);
		free(sql);
	}
	sql = query(text, (unsigned)queries);
	cr_assert(sql == NULL, "a query that no test runs");
	free(text);
	teardown(&e);
}
