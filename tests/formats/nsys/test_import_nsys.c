#include "tests/formats/nsys/import.h"

Test(import_nsys, kernels_and_calls_are_read_by_column_name)
{
	struct ws_imported *i = imported(
	        STRINGS RUNTIME
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (" KERNEL_COLUMNS ");"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 25, 0, 1, NULL, 7, 7, " PID(
	                100) ", 2, 3, 4, 38, 5, 6, 1, 256, 2, 1, 1024, 2048, 16);");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 2));
	cr_assert(eq(i64, WS_CELL(i, API, api, start_ns, 0), -20));
	cr_assert(eq(i64, WS_CELL(i, API, api, dur_ns, 0), 15));
	cr_assert(eq(i64, WS_CELL(i, API, api, result, 1), 700));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 0),
	             (char *)"cudaLaunchKernel_v7000"));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, start_ns, 0), 10));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, dur_ns, 0), 15));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, correlation, 0), 7));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, LAUNCH_CONFIG, launch_config, name, 0),
	             (char *)"void f<int>(int)"));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, pid, 0), 100));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, stream, 0), 7));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, grid_y, 0), 6));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, block_y, 0), 2));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, registers, 0), 38));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, shared_static_bytes, 0), 1024));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, shared_dynamic_bytes, 0), 2048));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, local_bytes, 0), 16));
	cr_assert(eq(u64, rows(i, WS_KIND_PROCESS), 2));
	cr_assert(eq(u64, rows(i, WS_KIND_THREAD), 2));
	ws_imported_free(i);
}

Test(import_nsys, no_text_that_no_record_names_is_carried_over)
{
	struct ws_imported *i = imported(
	        STRINGS RUNTIME
	        "CREATE TABLE TARGET_INFO_SYSTEM_ENV (devStateName TEXT, name TEXT, value TEXT);"
	        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES "
	        "('x','DeviceEnvironment','TOKEN=hunter2'),"
	        "('x','CpuDescription','a CPU'),('x','Hostname','hunter2');"
	        "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
	        "INSERT INTO META_DATA_CAPTURE VALUES "
	        "('PROCESS_0:ENVIRONMENT_VARIABLE','A=hunter2'),"
	        "('PROCESS_0:COMMAND','python'),('PROCESS_0:ARGUMENT_0','--token=hunter2');"
	        "CREATE TABLE ProcessStreams (globalPid INT, filenameId INT, contentId INT);"
	        "INSERT INTO ProcessStreams VALUES (1, 99, 99);");
	const struct ws_column_data *strings = &i->table[WS_KIND_STRING];
	const struct ws_column_data *meta = &i->table[WS_KIND_META];

	for (uint64_t row = 0; row < strings->rows; row++) {
		const struct ws_bytes *b = &strings->columns[WS_COL_string_text].b[row];

		cr_assert(memmem(b->ptr, b->len, "hunter2", 7) == NULL);
	}
	for (uint64_t row = 0; row < meta->rows; row++) {
		const struct ws_bytes *b = &meta->columns[WS_COL_meta_value].b[row];

		cr_assert(memmem(b->ptr, b->len, "hunter2", 7) == NULL);
	}
	cr_assert(eq(str, (char *)ws_imported_meta(i, "host.cpu"), (char *)"a CPU"));
	cr_assert(eq(str, (char *)ws_imported_meta(i, "program.path"), (char *)"python"));
	ws_imported_free(i);
}

Test(import_nsys, missing_columns_read_as_unknown)
{
	struct ws_imported *i =
	        imported(STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (end INT, START INT,"
	                         " mangledName INT);"
	                         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (25, 10, 4);");

	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 1));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, start_ns, 0), 10));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, LAUNCH_CONFIG, launch_config, name, 0),
	             (char *)"_Z1fi"));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, correlation, 0), 0));
	ws_imported_free(i);
}

Test(import_nsys, copies_fills_waits_and_graphs_are_read)
{
	struct ws_imported *i = imported(
	        STRINGS
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, "
	        "deviceId INT, streamId INT,"
	        " globalPid INT, bytes INT, copyKind INT, srcKind INT, "
	        "dstKind INT, srcDeviceId INT,"
	        " dstDeviceId INT, virtualAddress INT);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 3, 0, "
	        "7, " PID(100) ", 4096, 1, 0, 2, 5, 6, NULL),(4, 9, 1, "
	                       "7, " PID(100) ", 64, 10, 2, 2, 2, 3, NULL),"
	                                      "(5, 6, 0, 7, " PID(100) ", 65536, 11, 4, 7, "
	                                                               "NULL, NULL, 8192);"
	                                                               "CREATE TABLE "
	                                                               "CUPTI_ACTIVITY_KIND_"
	                                                               "MEMSET (start INT, "
	                                                               "end INT, deviceId "
	                                                               "INT, value INT,"
	                                                               " bytes INT, memKind "
	                                                               "INT);"
	                                                               "INSERT INTO "
	                                                               "CUPTI_ACTIVITY_KIND_"
	                                                               "MEMSET VALUES (1, "
	                                                               "2, 0, 255, 512, 2);"
	                                                               "CREATE TABLE "
	                                                               "CUPTI_ACTIVITY_KIND_"
	                                                               "SYNCHRONIZATION "
	                                                               "(start INT, end "
	                                                               "INT, deviceId INT,"
	                                                               " streamId INT, "
	                                                               "syncType INT, "
	                                                               "eventId INT);"
	                                                               "INSERT INTO "
	                                                               "CUPTI_ACTIVITY_KIND_"
	                                                               "SYNCHRONIZATION "
	                                                               "VALUES (1, 2, 0, "
	                                                               "4294967295, 4,"
	                                                               " 4294967295),(3, 4, "
	                                                               "0, 7, 1, 9);"
	                                                               "CREATE TABLE "
	                                                               "CUPTI_ACTIVITY_KIND_"
	                                                               "GRAPH_TRACE (start "
	                                                               "INT, end INT, "
	                                                               "deviceId INT,"
	                                                               " streamId INT, "
	                                                               "correlationId INT, "
	                                                               "graphId INT, "
	                                                               "graphExecId INT);"
	                                                               "INSERT INTO "
	                                                               "CUPTI_ACTIVITY_KIND_"
	                                                               "GRAPH_TRACE VALUES "
	                                                               "(-5, 995, 0, 7, 33, "
	                                                               "4, 5);");

	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, kind, 0), 1));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, src_kind, 0), WS_MEMORY_PAGEABLE));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, dst_kind, 0), WS_MEMORY_DEVICE));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, src_device, 0), 0), "no peer copy");
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, src_device, 1), 2));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, dst_device, 1), 3));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, kind, 2), 11));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, src_kind, 2), WS_MEMORY_MANAGED));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, dst_kind, 2), WS_MEMORY_UNKNOWN));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, address, 2), 8192));
	cr_assert(eq(i64, WS_CELL(i, MEMSET, memset, value, 0), 255));
	cr_assert(eq(i64, WS_CELL(i, MEMSET, memset, memory_kind, 0), WS_MEMORY_DEVICE));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, type, 0), WS_SYNC_CONTEXT));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, stream, 0), -1));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, event, 0), -1));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, stream, 1), 7));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, event, 1), 9));
	cr_assert(eq(i64, WS_CELL(i, GRAPH_LAUNCH, graph_launch, start_ns, 0), -5));
	cr_assert(eq(i64, WS_CELL(i, GRAPH_LAUNCH, graph_launch, dur_ns, 0), 1000));
	cr_assert(eq(i64, WS_CELL(i, GRAPH_LAUNCH, graph_launch, graph_exec, 0), 5));
	ws_imported_free(i);
}

Test(import_nsys, overhead_and_allocations_are_read)
{
	struct ws_imported *i = imported(
	        STRINGS
	        "CREATE TABLE PROFILER_OVERHEAD (start INT, end INT, globalTid INT, nameId INT,"
	        " returnValue INT);"
	        "INSERT INTO PROFILER_OVERHEAD VALUES (1, 3, " TID(
	                100,
	                101) ", 3, 0);"
	                     "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INT, end INT, "
	                     "globalTid INT,"
	                     " nameId INT, overheadType INT);"
	                     "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (5, 6, " TID(
	                             100,
	                             101) ", 3, 3);"
	                                  "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, "
	                                  "globalPid INT, deviceId INT,"
	                                  " address INT, bytes INT, memKind INT, "
	                                  "memoryOperationType INT);"
	                                  "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES "
	                                  "(7, " PID(100) ", 0, 4096, 100, 2, 0),"
	                                                  "(8, " PID(100) ", 0, 4096, 100, 2, 1);");

	cr_assert(eq(u64, rows(i, WS_KIND_OVERHEAD), 2));
	cr_assert(eq(i64, WS_CELL(i, OVERHEAD, overhead, kind, 0), 0));
	cr_assert(eq(i64, WS_CELL(i, OVERHEAD, overhead, kind, 1), 2), "buffer flush");
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, op, 0), WS_MEMORY_OP_ALLOC));
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, op, 1), WS_MEMORY_OP_FREE));
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, bytes, 1), 100));
	ws_imported_free(i);
}

/* --- NVTX --- */

#define NVTX_TABLE                                                                                 \
	"CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, rangeId INT, category INT, " \
	"color INT, text TEXT, globalTid INT, endGlobalTid INT, textId INT, domainId INT, "        \
	"uint64Value INT, doubleValue REAL, int32Value INT);"

static void event_is(const struct ws_imported *i, uint64_t row, int type, int64_t time,
                     const char *domain, const char *name)
{
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, row), type), "row %d", (int)row);
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, row), time), "row %d", (int)row);
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, domain, row), (char *)domain));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, row), (char *)name));
}

Test(import_nsys, push_pop_ranges_become_pushes_and_pops_again)
{
	struct ws_imported *i = imported(
	        STRINGS NVTX_TABLE
	        "INSERT INTO NVTX_EVENTS VALUES (20, 30, 59, NULL, 3, 255, 'inner', " TID(
	                1, 1) ", NULL, NULL, 0, 42, NULL, NULL),"
	                      "(10, 50, 59, NULL, NULL, NULL, 'outer', " TID(
	                              1, 1) ", NULL, NULL, 0, NULL, NULL, NULL),"
	                                    "(12, NULL, 59, NULL, NULL, NULL, NULL, " TID(
	                                            1, 2) ", NULL, 5, 0, NULL, NULL, NULL);");

	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 5));
	event_is(i, 0, WS_NVTX_PUSH, 10, "", "outer");
	event_is(i, 1, WS_NVTX_PUSH, 20, "", "inner");
	event_is(i, 2, WS_NVTX_POP, 30, "", "");
	event_is(i, 3, WS_NVTX_POP, 50, "", "");
	event_is(i, 4, WS_NVTX_PUSH, 12, "", "registered");
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, category, 1), 3));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, color, 1), 255));
	cr_assert(eq(i64, WS_CELL(i, PAYLOAD, payload, schema, 0), 18),
	          "an unsigned 64-bit number");
	cr_assert(eq(u64,
	             ws_load_u64(i->table[WS_KIND_PAYLOAD].columns[WS_COL_payload_bytes].b[0].ptr),
	             42));
	ws_imported_free(i);
}

Test(import_nsys, domains_have_the_name_of_their_first_creation)
{
	struct ws_imported *i = imported(
	        STRINGS NVTX_TABLE
	        "INSERT INTO NVTX_EVENTS VALUES "
	        "(5, NULL, 75, NULL, NULL, NULL, 'later', " TID(
	                1, 1) ", NULL, NULL, 1, NULL, NULL, NULL),"
	                      "(1, NULL, 75, NULL, NULL, NULL, 'cuBLAS', " TID(
	                              1,
	                              9) ", NULL, NULL, 1, NULL, NULL, NULL),"
	                                 "(1, NULL, 75, NULL, NULL, NULL, 'other process', " TID(
	                                         2,
	                                         9) ", NULL, NULL, 1, NULL, NULL, NULL),"
	                                            "(10, 20, 59, NULL, NULL, NULL, 'gemm', " TID(
	                                                    1,
	                                                    1) ", NULL, NULL, 1, NULL, NULL, NULL),"
	                                                       "(30, 40, 59, NULL, NULL, NULL, "
	                                                       "'x', " TID(1,
	                                                                   1) ", NULL, NULL, 7, "
	                                                                      "NULL, NULL, NULL);");

	event_is(i, 0, WS_NVTX_PUSH, 10, "cuBLAS", "gemm");
	event_is(i, 2, WS_NVTX_PUSH, 30, "domain 7", "x");
	ws_imported_free(i);
}

Test(import_nsys, two_domains_of_one_name_stay_two)
{
	struct ws_imported *i = imported(
	        STRINGS NVTX_TABLE
	        "INSERT INTO NVTX_EVENTS VALUES "
	        "(1, NULL, 75, NULL, NULL, NULL, 'lib', " TID(
	                1,
	                1) ", NULL, NULL, 1, NULL, NULL, NULL),"
	                   "(2, NULL, 75, NULL, NULL, NULL, 'lib', " TID(
	                           1,
	                           1) ", NULL, NULL, 2, NULL, NULL, NULL),"
	                              "(10, 30, 59, NULL, NULL, NULL, 'a', " TID(
	                                      1,
	                                      1) ", NULL, NULL, 1, NULL, NULL, NULL),"
	                                         "(20, 40, 59, NULL, NULL, NULL, 'b', " TID(
	                                                 1,
	                                                 1) ", NULL, NULL, 2, NULL, NULL, NULL);");

	event_is(i, 0, WS_NVTX_PUSH, 10, "lib", "a");
	event_is(i, 2, WS_NVTX_PUSH, 20, "lib (2)", "b");
	ws_imported_free(i);
}

Test(import_nsys, start_end_ranges_marks_and_names_are_read)
{
	struct ws_imported *i = imported(
	        STRINGS NVTX_TABLE
	        "INSERT INTO NVTX_EVENTS VALUES "
	        "(10, 90, 60, 1, NULL, NULL, 'a', " TID(1, 1) ", " TID(
	                1,
	                2) ", NULL, 0, NULL, NULL, NULL),"
	                   "(20, NULL, 71, 1, NULL, NULL, 'b', " TID(
	                           1,
	                           1) ", NULL, NULL, 0, NULL, 2.5, NULL),"
	                              "(30, NULL, 34, NULL, NULL, NULL, 'mark', " TID(
	                                      1,
	                                      1) ", NULL, NULL, 0, NULL, NULL, -3),"
	                                         "(0, NULL, 33, NULL, 8, NULL, 'category', " TID(
	                                                 1,
	                                                 1) ", NULL, NULL, 0, NULL, NULL, NULL),"
	                                                    "(0, NULL, 39, NULL, NULL, NULL, "
	                                                    "'worker', " TID(
	                                                            1,
	                                                            2) ", NULL, NULL, 0, NULL, "
	                                                               "NULL, NULL),"
	                                                               "(0, NULL, 12, NULL, NULL, "
	                                                               "NULL, 'new', " TID(
	                                                                       1,
	                                                                       2) ", NULL, NULL, "
	                                                                          "0, NULL, NULL, "
	                                                                          "NULL);");

	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 4));
	event_is(i, 0, WS_NVTX_START, 10, "", "a");
	event_is(i, 1, WS_NVTX_END, 90, "", "");
	event_is(i, 2, WS_NVTX_START, 20, "", "b");
	event_is(i, 3, WS_NVTX_MARK, 30, "", "mark");
	cr_assert(ne(i64, WS_CELL(i, NVTX, nvtx, range, 0), WS_CELL(i, NVTX, nvtx, range, 2)));
	cr_assert(ne(i64, WS_CELL(i, NVTX, nvtx, thread, 0), WS_CELL(i, NVTX, nvtx, thread, 1)));
	cr_assert(eq(i64, WS_CELL(i, CATEGORY, category, id, 0), 8));
	cr_assert(
	        eq(str, (char *)WS_CELL_TEXT(i, CATEGORY, category, name, 0), (char *)"category"));
	cr_assert(eq(u64, ws_imported_skipped(i, "NVTX events of other types"), 1));
	ws_imported_free(i);
}

/* Events may stand in the database as they are pushed, so that they need no sorting, or not. */
Test(import_nsys, ranges_are_the_same_in_whatever_order_they_stand)
{
	static const char *const events[] = {
	        "10, NULL, 59, 'a', " TID(100, 101) ", 0, 1",
	        "10, 100, 59, 'b', " TID(100, 101) ", 0, 2",
	        "10, 50, 59, 'c', " TID(100, 101) ", 0, 3",
	        "10, 50, 59, 'd', " TID(100, 101) ", 0, 4",
	        "20, 30, 59, 'e', " TID(100, 101) ", 0, 5",
	        "5, 6, 59, 'f', " TID(100, 101) ", 1, 6",
	        "1, 9, 59, 'g', " TID(100, 102) ", 0, 7",
	        "2, 3, 59, 'h', " TID(100, 102) ", 0, 8",
	};
	const int n = sizeof(events) / sizeof(*events);
	struct ws_imported *ordered = NULL;

	for (int swapped = -1; swapped < n - 1; swapped++) {
		char sql[4096] = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
		                 "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, "
		                 "text TEXT, globalTid INT, domainId INT, eventId INT);";
		struct ws_imported *i;

		for (int k = 0; k < n; k++) {
			const int at = swapped < 0        ? k
			               : k == swapped     ? k + 1
			               : k == swapped + 1 ? k - 1
			                                  : k;

			snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql),
			         "INSERT INTO NVTX_EVENTS VALUES (%s);", events[at]);
		}
		i = imported(sql);
		cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 15));
		if (!ordered) {
			ordered = i;
			continue;
		}
		for (uint64_t row = 0; row < 15; row++) {
			event_is(i, row, (int)WS_CELL(ordered, NVTX, nvtx, type, row),
			         WS_CELL(ordered, NVTX, nvtx, time_ns, row),
			         WS_CELL_TEXT(ordered, NVTX, nvtx, domain, row),
			         WS_CELL_TEXT(ordered, NVTX, nvtx, name, row));
			cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, thread, row),
			             WS_CELL(ordered, NVTX, nvtx, thread, row)));
		}
		ws_imported_free(i);
	}
	ws_imported_free(ordered);
}

Test(import_nsys, contexts_and_streams_are_read_and_what_has_no_place_is_counted)
{
	struct ws_imported *i = imported(
	        STRINGS RUNTIME
	        "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INT, hwId INT, vmId INT,"
	        " processId INT, deviceId INT, contextId INT, parentContextId INT,"
	        " isGreenContext INT);"
	        "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 0, 1, 100, 2, 1, NULL, 0);"
	        "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INT, hwId INT, vmId INT,"
	        " processId INT, contextId INT, priority INT, flag INT);"
	        "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (12, 0, 1, 100, 1, 4294967291, 2),"
	        "(13, 0, 1, 100, 1, 0, 9);"
	        "CREATE TABLE ProcessStreams (globalPid INT, filenameId INT, contentId INT);"
	        "INSERT INTO ProcessStreams VALUES (1, 2, 99);"
	        "CREATE TABLE NVTX_PAYLOAD_SCHEMAS (domainId INT, schemaId INT);"
	        "INSERT INTO NVTX_PAYLOAD_SCHEMAS VALUES (1, 2), (1, 3);");

	cr_assert(eq(u64, rows(i, WS_KIND_CONTEXT), 1));
	cr_assert(eq(i64, WS_CELL(i, CONTEXT, context, null_stream, 0), 7));
	cr_assert(eq(i64, WS_CELL(i, CONTEXT, context, device, 0), 2));
	cr_assert(eq(u64, rows(i, WS_KIND_STREAM), 2));
	cr_assert(eq(i64, WS_CELL(i, STREAM, stream, priority, 0), -5), "an urgent one");
	cr_assert(eq(i64, WS_CELL(i, STREAM, stream, flag, 0), 2));
	cr_assert(eq(i64, WS_CELL(i, STREAM, stream, flag, 1), 0), "a flag nobody knows");
	cr_assert(eq(u64, ws_imported_skipped(i, "table ProcessStreams"), 1));
	cr_assert(eq(u64, ws_imported_skipped(i, "table NVTX_PAYLOAD_SCHEMAS"), 2));
	ws_imported_free(i);
}
