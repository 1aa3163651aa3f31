/* Files that are damaged; what they lack: import/scenarios/nsys.scenario. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <sqlite3.h>
#include <unistd.h>

#include "tests/environment/scratch.h"
#include "tests/support/imported.h"


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
	        "PRAGMA page_size = 512; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value "
	        "TEXT); INSERT INTO StringIds VALUES (2, 'void f<int>(int)');"
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
		free(i);
		replace_page(f, page, before, NULL);
	}
	i = ws_imported_file(path);
	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->rows[WS_KIND_KERNEL], 2000));
	free(i);
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
		read += i->status == WS_OK && i->rows[WS_KIND_KERNEL] > 0;
		free(i);
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
	free(i);
	replace_page(f, size / PAGE_BYTES / 2, zeros, NULL);
	i = ws_imported_file(path);
	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, "is damaged, its numbers cannot be trusted") != NULL, "%s",
	          i->err.text);
	free(i);
	fclose(f);
	unlink(path);
	free(path);
}
