/* Files that are damaged; what they lack: import/scenarios/nsys.scenario. */
#include "tests/formats/nsys/import.h"

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
