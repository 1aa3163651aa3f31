/* Exports in the schema of Nsight Systems as others use them: reports, queries, our own import. */
#include "tests/report/export/exported_nsys.h"
#include "tests/support/paths.h"

/* Every cell of a kind, ids of texts and dictionaries apart, which an import numbers anew. */
Test(export_nsys_round, an_import_of_an_export_has_the_same_records)
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

Test(export_nsys_round, what_the_schema_lacks_comes_back_from_tables_of_our_own)
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

Test(export_nsys_round, payloads_find_their_events_in_whatever_order_they_stand)
{
	static const char *const turns[] = {
	        "SELECT 1",
	        /* events the other way round, whose payloads are in no order of theirs, ... */
	        "UPDATE NVTX_EVENTS SET eventId = 100 - eventId;"
	        "UPDATE WARPSHEET_nvtx_payload SET eventId = 100 - eventId",
	        /* ... and in order */
	        "CREATE TABLE p AS SELECT * FROM WARPSHEET_nvtx_payload ORDER BY eventId;"
	        "DROP TABLE WARPSHEET_nvtx_payload;"
	        "ALTER TABLE p RENAME TO WARPSHEET_nvtx_payload",
	};
	const struct ws_row_payload_schema schema = {.id = 1 << 24, .type = 1, .size_bytes = 8};
	struct exported e;

	setup(&e);
	fill(&e);
	add(&e, WS_KIND_PAYLOAD_SCHEMA, &schema);
	for (uint64_t k = 1; k <= 8; k++) {
		struct ws_row_nvtx push = {.time_ns = (int64_t)k,
		                           .thread = 1,
		                           .type = WS_NVTX_PUSH};

		/* the fifth has none */
		if (k != 5)
			ws_trace_writer_intern_payload(e.w, schema.id, &k, 8, &push.payload, NULL);
		add(&e, WS_KIND_NVTX, &push);
	}
	export(&e);
	sqlite3_close(e.db);
	for (size_t t = 0; t < sizeof(turns) / sizeof(*turns); t++) {
		struct ws_imported *i;

		spoil(&e, turns[t]);
		i = ws_imported_file(e.path);
		cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
		for (uint64_t row = 0; row < 8; row++)
			cr_expect(eq(i64, WS_CELL(i, NVTX, nvtx, payload, row),
			             row == 4 ? 0 : (int64_t)row + (row < 4)),
			          "turn %zu, row %d", t, (int)row);
		ws_imported_free(i);
	}
	cr_assert(eq(int, sqlite3_open_v2(e.path, &e.db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK));
	teardown(&e);
}

Test(export_nsys_round, tables_of_our_own_are_trusted_no_more_than_others)
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
	cr_assert(eq(u64, i->table[WS_KIND_CPU_OP].rows, 1), "one of six can be believed");
	cr_assert(eq(u64, i->table[WS_KIND_OP_CONFIG].rows, 1), "no part of a FLOP is one");
	cr_assert(eq(u64, i->table[WS_KIND_PAYLOAD].rows, 1));
	cr_assert(eq(u64, i->table[WS_KIND_PAYLOAD_FIELD].rows, 0));
	cr_assert(eq(u64, i->table[WS_KIND_KERNEL].rows, 1));
	cr_assert(eq(u64, i->table[WS_KIND_MEMORY].rows, 1), "of no thread, as is allowed");
	cr_assert(gt(u64, ws_imported_lost(i, "lack what their kind needs"), 0));
	/* ('x', x'00', ...) and 2.5 FLOP */
	cr_assert(eq(u64, ws_imported_lost(i, "a value of the wrong type"), 2));
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

Test(export_nsys_round, every_published_report_finds_its_tables_and_columns)
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
	FILE *f = fopen(WS_SOURCE_DIR "/docs/reference/export.md", "r");
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

Test(export_nsys_round, the_queries_of_the_documentation_give_what_they_promise)
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
