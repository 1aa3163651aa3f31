#include "tests/formats/nsys/import.h"

/* --- what files lack, and what is wrong with them --- */

Test(damaged_nsys, text_may_be_broken_utf8_and_hold_nul)
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

Test(damaged_nsys, strings_without_a_key_are_found_all_the_same)
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

Test(damaged_nsys, devices_are_those_of_cuda_with_their_numbers)
{
	struct ws_imported *i = imported(
	        STRINGS RUNTIME
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

Test(damaged_nsys, without_that_table_gpus_of_other_makers_are_left_out)
{
	struct ws_imported *i =
	        imported(STRINGS RUNTIME
	                 "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, computeMajor INT);"
	                 "INSERT INTO TARGET_INFO_GPU VALUES (1, 'Intel', 0),(0, 'A', 8);");

	cr_assert(eq(u64, rows(i, WS_KIND_DEVICE), 1));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, DEVICE, device, name, 0), (char *)"A"));
	ws_imported_free(i);
}

Test(damaged_nsys, session_version_and_names_are_read)
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

Test(damaged_nsys, calls_without_device_work_are_remarked_upon)
{
	struct ws_imported *i = imported(STRINGS RUNTIME);

	cr_assert(ws_imported_warned(i, "API calls but no device work"));
	ws_imported_free(i);
}

Test(damaged_nsys, records_whose_times_cannot_be_are_counted)
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

Test(damaged_nsys, tables_of_other_events_are_counted)
{
	struct ws_imported *i = imported(
	        STRINGS RUNTIME
	        "CREATE TABLE OSRT_API (start INT, end INT);"
	        "INSERT INTO OSRT_API VALUES (1, 2),(3, 4);"
	        "CREATE TABLE ENUM_X (id INT, name TEXT); INSERT INTO ENUM_X VALUES (1, 'a');");

	cr_assert(eq(u64, ws_imported_skipped(i, "table OSRT_API"), 2));
	cr_assert(eq(u64, ws_imported_skipped(i, "ENUM_X"), 0));
	ws_imported_free(i);
}

Test(damaged_nsys, a_view_cannot_stand_in_for_a_table)
{
	struct ws_imported *i =
	        imported(STRINGS RUNTIME "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH "
	                                 "RECURSIVE n(start) AS (SELECT 1 UNION ALL "
	                                 "SELECT start + 1 FROM n) SELECT start, start + 1 "
	                                 "AS end, 2 AS demangledName FROM n;");

	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 0));
	ws_imported_free(i);
}

Test(damaged_nsys, names_that_are_sql_are_only_names)
{
	struct ws_imported *i = imported(
	        STRINGS RUNTIME
	        "CREATE TABLE \"a\"\"; DROP TABLE StringIds; --\" (start INT, \"en\"\"d\" INT);"
	        "INSERT INTO \"a\"\"; DROP TABLE StringIds; --\" VALUES (1, 2);");

	cr_assert(eq(u64, ws_imported_skipped(i, "DROP TABLE"), 1));
	ws_imported_free(i);
}

Test(damaged_nsys, rows_whose_integers_are_none_are_counted_and_not_coerced)
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

Test(damaged_nsys, a_negative_device_is_no_device)
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

Test(damaged_nsys, a_recording_without_cuda_and_nvtx_is_refused_with_what_to_do)
{
	struct ws_imported *i = import(STRINGS "CREATE TABLE OSRT_API (start INT, end INT);"
	                                       "INSERT INTO OSRT_API VALUES (1, 2),(3, 4);");

	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, "it seems to be a recording without CUDA and NVTX. Record "
	                              "again with 'nsys profile --trace=cuda,nvtx'") != NULL,
	          "%s", i->err.text);
	cr_assert(eq(u64, ws_imported_skipped(i, "table OSRT_API"), 2));
	ws_imported_free(i);
}

Test(damaged_nsys, databases_that_are_no_exports_are_refused)
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

	cr_assert(asprintf(&path, "%s/ws-nsys-damaged-%d.sqlite", scratch_memory(), (int)getpid()) >
	          0);
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

Test(damaged_nsys, a_page_in_the_place_of_another_is_damage_and_never_other_numbers)
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

Test(damaged_nsys, a_damaged_byte_makes_no_damaged_trace)
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

Test(damaged_nsys, changes_that_lie_beside_the_database_are_not_ignored)
{
	char *path, *beside;
	struct ws_imported *i;
	sqlite3 *db;

	cr_assert(asprintf(&path, "%s/ws-nsys-wal-%d.sqlite", scratch_memory(), (int)getpid()) > 0);
	cr_assert(asprintf(&beside, "%s-wal", path) > 0);
	unlink(path);
	cr_assert(eq(int, sqlite3_open(path, &db), SQLITE_OK));
	cr_assert(
	        eq(int,
	           sqlite3_exec(db, "PRAGMA journal_mode = WAL;" STRINGS RUNTIME, NULL, NULL, NULL),
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

/* What else is wrong with it would be told first if rows were believed before the pages. */
Test(damaged_nsys, damage_is_told_before_all_else)
{
	const char zeros[PAGE_BYTES] = {0};
	struct ws_imported *i;
	sqlite3 *db;
	long size;
	char *path = database_of_many_pages(&size);
	FILE *f = fopen(path, "rb+");

	cr_assert(eq(int, sqlite3_open(path, &db), SQLITE_OK));
	sqlite3_exec(db, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO t; DROP TABLE StringIds",
	             NULL, NULL, NULL);
	sqlite3_close(db);
	i = ws_imported_file(path);
	cr_assert(strstr(i->err.text, "no table StringIds") != NULL, "%s", i->err.text);
	ws_imported_free(i);
	replace_page(f, size / PAGE_BYTES / 2, zeros, NULL);
	i = ws_imported_file(path);
	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, "is damaged, its numbers cannot be trusted") != NULL, "%s",
	          i->err.text);
	ws_imported_free(i);
	fclose(f);
	unlink(path);
	free(path);
}
