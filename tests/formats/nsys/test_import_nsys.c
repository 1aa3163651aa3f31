#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <sqlite3.h>
#include <unistd.h>

#include "formats/base/bytes.h"
#include "tests/support/imported.h"

#define TID(pid, tid) "(((1 << 48) | (" #pid " << 24)) | " #tid ")"
#define PID(pid)      TID(pid, 0)

/* A database made by these statements, imported. */
static struct ws_imported *import(const char *sql)
{
	char *path, *error = NULL;
	struct ws_imported *i;
	sqlite3 *db;

	cr_assert(asprintf(&path, "%s/ws-nsys-%d.sqlite",
	                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid()) > 0);
	unlink(path);
	cr_assert(eq(int, sqlite3_open(path, &db), SQLITE_OK));
	cr_assert(eq(int, sqlite3_exec(db, sql, NULL, NULL, &error), SQLITE_OK), "%s", error);
	sqlite3_close(db);
	i = ws_imported_file(path);
	unlink(path);
	free(path);
	return i;
}

static struct ws_imported *imported(const char *sql)
{
	struct ws_imported *i = import(sql);

	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	return i;
}

static uint64_t rows(const struct ws_imported *i, enum ws_kind kind)
{
	return i->table[kind].rows;
}

#define STRINGS                                                                             \
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"                      \
	"INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'void f<int>(int)')," \
	"(3,'f'),(4,'_Z1fi'),(5,'registered'),(6,'main thread'),"                           \
	"(99,'PATH=/bin' || char(0) || 'TOKEN=hunter2');"

#define RUNTIME                                                                            \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, "   \
	"globalTid INT, correlationId INT, nameId INT, returnValue INT, callchainId INT);" \
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (-20, -5, 0, " TID(                \
	        100, 101) ", 7, 1, 0, "                                                    \
	                  "NULL),(30, 40, 1, " TID(200, 201) ", 7, 1, 700, NULL);"

#define KERNEL_COLUMNS                                                                          \
	"start INT, end INT, deviceId INT, contextId INT, greenContextId INT, streamId INT, "   \
	"correlationId INT, globalPid INT, demangledName INT, shortName INT, mangledName INT, " \
	"registersPerThread INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, "     \
	"blockZ INT, staticSharedMemory INT, dynamicSharedMemory INT, localMemoryPerThread INT"

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
	const struct ws_table_data *strings = &i->table[WS_KIND_STRING];
	const struct ws_table_data *meta = &i->table[WS_KIND_META];

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

/* --- what files lack, and what is wrong with them --- */

Test(import_nsys, text_may_be_broken_utf8_and_hold_nul)
{
	struct ws_imported *i =
	        imported("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
	                 "INSERT INTO StringIds VALUES (1, CAST(x'ff00fe41' AS TEXT));"
	                 "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid "
	                 "INT, nameId INT);"
	                 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 3, 1);");
	const struct ws_bytes *b = &i->table[WS_KIND_STRING]
	                                    .columns[WS_COL_string_text]
	                                    .b[WS_CELL(i, API, api, name, 0) - 1];

	cr_assert(eq(sz, b->len, 4));
	cr_assert(eq(int, memcmp(b->ptr, "\xff\0\xfe\x41", 4), 0));
	ws_imported_free(i);
}

Test(import_nsys, strings_without_a_key_are_found_all_the_same)
{
	struct ws_imported *i = imported("CREATE TABLE StringIds AS SELECT 7 AS id, 'seven' AS "
	                                 "value UNION SELECT 3, 'three';"
	                                 "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end "
	                                 "INT, globalTid INT, nameId INT);"
	                                 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 3, "
	                                 "7),(1, 2, 3, 3),(1, 2, 3, 5);");

	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 0), (char *)"seven"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 1), (char *)"three"));
	cr_assert(eq(i64, WS_CELL(i, API, api, name, 2), 0));
	ws_imported_free(i);
}

Test(import_nsys, devices_are_those_of_cuda_with_their_numbers)
{
	struct ws_imported *i = imported(
	        STRINGS
	        "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, smCount INT, computeMajor INT,"
	        " clockRate INT);"
	        "INSERT INTO TARGET_INFO_GPU VALUES (4, 'Intel', 0, 0, 0),(2, 'A', 108, 8, "
	        "1410000000),"
	        "(1, 'B', 132, 9, NULL);"
	        "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INT, cudaId INT, pid INT);"
	        "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (2, 0, 100),(1, 1, 100),(1, 0, 200);");

	cr_assert(eq(u64, rows(i, WS_KIND_DEVICE), 2));
	cr_assert(eq(i64, WS_CELL(i, DEVICE, device, id, 0), 1));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, DEVICE, device, name, 0), (char *)"B"));
	cr_assert(eq(i64, WS_CELL(i, DEVICE, device, id, 1), 0));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, DEVICE, device, name, 1), (char *)"A"));
	cr_assert(eq(u64, rows(i, WS_KIND_DEVICE_ATTR), 5), "NULL has no row");
	cr_assert(ws_imported_warned(i, "number the devices differently"));
	ws_imported_free(i);
}

Test(import_nsys, without_that_table_gpus_of_other_makers_are_left_out)
{
	struct ws_imported *i = imported(
	        STRINGS "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, computeMajor INT);"
	                "INSERT INTO TARGET_INFO_GPU VALUES (1, 'Intel', 0),(0, 'A', 8);");

	cr_assert(eq(u64, rows(i, WS_KIND_DEVICE), 1));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, DEVICE, device, name, 0), (char *)"A"));
	ws_imported_free(i);
}

Test(import_nsys, session_version_and_names_are_read)
{
	struct ws_imported *i = imported(
	        STRINGS RUNTIME
	        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT);"
	        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1753837769774933180);"
	        "CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);"
	        "INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_SCHEMA_VERSION', '2.9.1');"
	        "CREATE TABLE ThreadNames (nameId INT, priority INT, globalTid INT);"
	        "INSERT INTO ThreadNames VALUES (6, 20, " TID(100, 101) "),(99, 20, " TID(
	                100, 109) ");"
	                          "CREATE TABLE PROCESSES (globalPid INT, pid INT, name TEXT);"
	                          "INSERT INTO PROCESSES VALUES (" PID(
	                                  100) ", 100, 'python'),(" PID(300) ", 300, 'sshd');");

	cr_assert(eq(i64, ws_trace_reader_summary(i->reader)->base_ns, 1753837769774933180));
	cr_assert(eq(str, i->stats.format, (char *)"schema 2.9.1"));
	cr_assert(eq(u64, rows(i, WS_KIND_THREAD), 3));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, THREAD, thread, name, 2), (char *)"main thread"));
	cr_assert(eq(u64, rows(i, WS_KIND_PROCESS), 2));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, PROCESS, process, program, 0), (char *)"python"));
	ws_imported_free(i);
}

Test(import_nsys, calls_without_device_work_are_remarked_upon)
{
	struct ws_imported *i = imported(STRINGS RUNTIME);

	cr_assert(ws_imported_warned(i, "API calls but no device work"));
	ws_imported_free(i);
}

Test(import_nsys, records_whose_times_cannot_be_are_counted)
{
	struct ws_imported *i = imported(
	        STRINGS
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, demangledName INT);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 5, 2),(NULL, 5, 2),(1, NULL, "
	        "2),"
	        "(-9223372036854775807, 9223372036854775807, 2),(3000000000000000000, "
	        "3000000000000000001, 2),(1, 2, 2);");

	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 1));
	cr_assert(eq(u64, ws_imported_lost(i, "times"), 5));
	ws_imported_free(i);
}

Test(import_nsys, tables_of_other_events_are_counted)
{
	struct ws_imported *i = imported(
	        STRINGS
	        "CREATE TABLE OSRT_API (start INT, end INT);"
	        "INSERT INTO OSRT_API VALUES (1, 2),(3, 4);"
	        "CREATE TABLE ENUM_X (id INT, name TEXT); INSERT INTO ENUM_X VALUES (1, 'a');");

	cr_assert(eq(u64, ws_imported_skipped(i, "table OSRT_API"), 2));
	cr_assert(eq(u64, ws_imported_skipped(i, "ENUM_X"), 0));
	ws_imported_free(i);
}

Test(import_nsys, a_view_cannot_stand_in_for_a_table)
{
	struct ws_imported *i = imported(STRINGS "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH "
	                                         "RECURSIVE n(start) AS (SELECT 1 UNION ALL "
	                                         "SELECT start + 1 FROM n) SELECT start, start + 1 "
	                                         "AS end, 2 AS demangledName FROM n;");

	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 0));
	ws_imported_free(i);
}

Test(import_nsys, names_that_are_sql_are_only_names)
{
	struct ws_imported *i = imported(
	        STRINGS
	        "CREATE TABLE \"a\"\"; DROP TABLE StringIds; --\" (start INT, \"en\"\"d\" INT);"
	        "INSERT INTO \"a\"\"; DROP TABLE StringIds; --\" VALUES (1, 2);");

	cr_assert(eq(u64, ws_imported_skipped(i, "DROP TABLE"), 1));
	ws_imported_free(i);
}

Test(import_nsys, rows_whose_integers_are_none_are_counted_and_not_coerced)
{
	struct ws_imported *i = imported(
	        STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, demangledName, "
	                "deviceId, gridX, globalPid);"
	                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
	                "('10', 25, 2, 0, 1, NULL), (10, 25.9, 2, 0, 1, NULL), "
	                "(10, x'3930', 2, 0, 1, NULL), (10, 25, 'x', 0, 1, NULL), "
	                "(10, 25, 2, 0, x'00ff', NULL), (10, 25, 2, 0, 1, 'y'), "
	                "(40, 45, 2, 0, 1, NULL);"
	                "CREATE TABLE NVTX_EVENTS (start, eventType, text, doubleValue);"
	                "INSERT INTO NVTX_EVENTS VALUES (1, 34, 'mark', 0.5), "
	                "(2.5, 34, 'late', NULL), (x'31', 75, 'domain', NULL);");

	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 1));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, start_ns, 0), 40));
	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 1));
	cr_assert(eq(u64, ws_imported_lost(i, "wrong type"), 6 + 2));
	ws_imported_free(i);
}

Test(import_nsys, a_negative_device_is_no_device)
{
	struct ws_imported *i = imported(
	        STRINGS
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, -1), (3, 5, 0);"
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, "
	        "copyKind INT, srcDeviceId INT, dstDeviceId INT);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 10, 0, -7);");

	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 1));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, start_ns, 0), 3));
	cr_assert(eq(u64, rows(i, WS_KIND_MEMCPY), 0));
	cr_assert(eq(u64, ws_imported_lost(i, "negative device"), 2));
	ws_imported_free(i);
}

Test(import_nsys, databases_that_are_no_exports_are_refused)
{
	struct ws_imported *i = import("CREATE TABLE t (a INT);");

	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, "no table StringIds") != NULL);
	ws_imported_free(i);
}

#define PAGE_BYTES 512L

/* 2,000 kernels of 5 ns on pages of 512 bytes. Free with free. */
static char *database_of_many_pages(long *size)
{
	char *path, sql[400];
	sqlite3 *db;
	FILE *f;

	cr_assert(asprintf(&path, "%s/ws-nsys-damaged-%d.sqlite",
	                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid()) > 0);
	unlink(path);
	cr_assert(eq(int, sqlite3_open(path, &db), SQLITE_OK));
	snprintf(
	        sql, sizeof(sql),
	        "PRAGMA page_size = 512; " STRINGS
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, demangledName INT);");
	cr_assert(eq(int, sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK));
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	for (int k = 0; k < 2000; k++) {
		snprintf(sql, sizeof(sql),
		         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, 2)", k * 10,
		         k * 10 + 5);
		sqlite3_exec(db, sql, NULL, NULL, NULL);
	}
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
	f = fopen(path, "rb");
	fseek(f, 0, SEEK_END);
	*size = ftell(f);
	fclose(f);
	return path;
}

static void replace_page(FILE *f, long page, const char *bytes, char *before)
{
	fseek(f, page * PAGE_BYTES, SEEK_SET);
	if (before)
		cr_assert(eq(sz, fread(before, PAGE_BYTES, 1, f), 1));
	fseek(f, page * PAGE_BYTES, SEEK_SET);
	cr_assert(eq(sz, fwrite(bytes, PAGE_BYTES, 1, f), 1));
	fflush(f);
}

Test(import_nsys, a_page_in_the_place_of_another_is_damage_and_never_other_numbers)
{
	char copy[PAGE_BYTES], before[PAGE_BYTES];
	uint64_t believed = 0, pages = 0;
	long size;
	char *path = database_of_many_pages(&size);
	FILE *f = fopen(path, "rb+");
	struct ws_imported *i;

	fseek(f, size / PAGE_BYTES / 2 * PAGE_BYTES, SEEK_SET);
	cr_assert(eq(sz, fread(copy, PAGE_BYTES, 1, f), 1));
	for (long page = 3; page < size / PAGE_BYTES; page += 2) {
		if (page == size / PAGE_BYTES / 2)
			continue;
		replace_page(f, page, copy, before);
		i = ws_imported_file(path);
		pages++;
		believed += i->status != WS_CORRUPT || !strstr(i->err.text, "is damaged") ||
		            !strstr(i->err.text, "nsys export");
		ws_imported_free(i);
		replace_page(f, page, before, NULL);
	}
	i = ws_imported_file(path);
	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 2000));
	ws_imported_free(i);
	fclose(f);
	unlink(path);
	free(path);
	cr_assert(gt(u64, pages, 20));
	cr_assert(eq(u64, believed, 0));
}

Test(import_nsys, a_damaged_byte_makes_no_damaged_trace)
{
	uint64_t damage = 0, refused = 0, read = 0;
	long size;
	char *path = database_of_many_pages(&size);
	FILE *f = fopen(path, "rb+");

	for (long at = 100; at < size; at += 97) {
		struct ws_imported *i;
		int was;

		fseek(f, at, SEEK_SET);
		was = fgetc(f);
		fseek(f, at, SEEK_SET);
		fputc(was ^ (1 << (at % 8)), f);
		fflush(f);
		i = ws_imported_file(path);
		damage += i->damage;
		refused += i->status == WS_CORRUPT;
		read += i->status == WS_OK && rows(i, WS_KIND_KERNEL) > 0;
		ws_imported_free(i);
		fseek(f, at, SEEK_SET);
		fputc(was, f);
		fflush(f);
	}
	fclose(f);
	unlink(path);
	free(path);
	cr_assert(eq(u64, damage, 0));
	cr_assert(gt(u64, refused, 0));
	cr_assert(gt(u64, read, 0), "a changed value is no damage that shows");
}

Test(import_nsys, changes_that_lie_beside_the_database_are_not_ignored)
{
	char *path, *beside;
	struct ws_imported *i;
	sqlite3 *db;

	cr_assert(asprintf(&path, "%s/ws-nsys-wal-%d.sqlite",
	                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid()) > 0);
	cr_assert(asprintf(&beside, "%s-wal", path) > 0);
	unlink(path);
	cr_assert(eq(int, sqlite3_open(path, &db), SQLITE_OK));
	cr_assert(eq(int, sqlite3_exec(db, "PRAGMA journal_mode = WAL;" STRINGS, NULL, NULL, NULL),
	             SQLITE_OK));
	cr_assert(eq(int, access(beside, R_OK), 0));
	i = ws_imported_file(path);
	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, beside) != NULL, "%s", i->err.text);
	cr_assert(strstr(i->err.text, "wal_checkpoint") != NULL, "%s", i->err.text);
	ws_imported_free(i);

	cr_assert(eq(int, sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL),
	             SQLITE_OK));
	cr_assert(eq(int, access(beside, R_OK), 0), "an empty one holds nothing");
	i = ws_imported_file(path);
	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	ws_imported_free(i);
	sqlite3_close(db);
	unlink(path);
	free(path);
	free(beside);
}
