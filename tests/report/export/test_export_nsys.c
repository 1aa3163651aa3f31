/* Traces made by hand as databases in the schema of Nsight Systems, asked with SQL. */
#include <sys/stat.h>

#include "tests/report/demangles.h"
#include "tests/report/export/exported_nsys.h"

Test(export_nsys, kernels_calls_and_ids_are_those_of_the_trace)
{
	struct exported e;

	setup(&e);
	fill(&e);
	export(&e);
	/* a build without libiberty has no readable names to ask for */
	if (demangles())
		ASK(&e,
		    "SELECT k.start, k.end, deviceId, contextId, streamId, correlationId, gridX, "
		    "gridY, "
		    "blockX, "
		    "registersPerThread, staticSharedMemory, dynamicSharedMemory, greenContextId, "
		    "d.value, "
		    "s.value, m.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds d ON d.id = "
		    "demangledName JOIN StringIds s ON s.id = shortName JOIN StringIds m ON m.id = "
		    "mangledName",
		    "100|150|3|1|7|7|10|2|128|40|16|1024|-|void "
		    "a::b::add<float>(float*)|add|_ZN1a1b3addIfEEvPT_");
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

Test(export_nsys, overhead_is_where_the_schema_has_it)
{
	struct exported e;
	struct ws_row_overhead row = {.start_ns = 5, .dur_ns = 3, .kind = 2}; /* buffer flush */

	setup(&e);
	fill(&e);
	row.name = TEXT(&e, "Flush");
	row.thread = 1;
	add(&e, WS_KIND_OVERHEAD, &row);
	export(&e);
	ASK(&e,
	    "SELECT start, end, value, returnValue, overheadType FROM PROFILER_OVERHEAD JOIN "
	    "StringIds "
	    "s ON s.id = nameId",
	    "5|8|Flush|0|3");
	ASK(&e, "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_OVERHEAD'",
	    "0");
	teardown(&e);
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
	static const struct ws_export_opts opts;
	const struct ws_row_loss early = {.time_ns = 1, .cause = 1, .count = 2};
	struct ws_row_loss late = {.time_ns = 2, .count = 5};
	struct exported e;
	struct ws_export_stats stats = {0};
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

Test(export_nsys, tables_that_queries_join_are_there_without_rows)
{
	struct exported e;

	setup(&e);
	export(&e);
	ASK(&e,
	    "SELECT group_concat(name) FROM sqlite_master WHERE name IN ('StringIds', "
	    "'ThreadNames', 'CUPTI_ACTIVITY_KIND_KERNEL')",
	    "StringIds,ThreadNames");
	teardown(&e);
}

Test(export_nsys, a_place_that_cannot_be_written_is_told)
{
	static const struct ws_export_opts opts;
	struct ws_export_stats stats = {0};
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

Test(export_nsys, nothing_is_written_through_a_link_or_into_a_pipe)
{
	static const struct ws_export_opts opts;
	struct ws_export_stats stats = {0};
	struct exported e;
	char target[64], link[80], pipe[80];
	struct ws_err err;
	struct stat st;

	setup(&e);
	fill(&e);
	export(&e);
	new_file(target);
	snprintf(link, sizeof(link), "%s.link", target);
	snprintf(pipe, sizeof(pipe), "%s.pipe", target);
	cr_assert(eq(int, symlink(target, link), 0));
	cr_assert(eq(int, mkfifo(pipe, 0600), 0));
	cr_assert(eq(int, ws_export_nsys(e.r, link, &opts, &stats, &err), WS_IO_WRITE));
	cr_assert(eq(int, stat(target, &st), 0));
	cr_assert(eq(i64, st.st_size, 0));
	cr_assert(eq(int, ws_export_nsys(e.r, pipe, &opts, &stats, &err), WS_IO_WRITE));
	cr_assert(strstr(err.text, "regular file") != NULL, "%s", err.text);
	unlink(pipe);
	unlink(link);
	unlink(target);
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
