/* Databases written page by page, read by SQLite itself: what was put, and sound by its own check.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/export/nsys/sqlite_file.h"

struct db {
	char path[64];
	struct ws_sqlite_file *f;
	sqlite3 *read;
};

static void setup(struct db *d)
{
	int fd;

	*d = (struct db){.path = "/tmp/ws-sqlite-XXXXXX"};
	fd = mkstemp(d->path);
	cr_assert(ge(int, fd, 0));
	close(fd);
	cr_assert(eq(int, ws_sqlite_create(&d->f, d->path, NULL), WS_OK));
}

static struct ws_sqlite_table *table(struct db *d, const char *name, const char *columns)
{
	struct ws_sqlite_table *t;

	cr_assert(eq(int, ws_sqlite_table(d->f, name, columns, &t, NULL), WS_OK));
	return t;
}

static void put(struct db *d, struct ws_sqlite_table *t, int64_t id,
                const struct ws_sqlite_value *values, unsigned n)
{
	struct ws_err err;

	cr_assert(eq(int, ws_sqlite_put(d->f, t, id, values, n, &err), WS_OK), "%s", err.text);
}

/* The single value of a query, as a number. */
static int64_t ask(const struct db *d, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t value;

	cr_assert(eq(int, sqlite3_prepare_v2(d->read, sql, -1, &stmt, NULL), SQLITE_OK), "%s: %s",
	          sql, sqlite3_errmsg(d->read));
	cr_assert(eq(int, sqlite3_step(stmt), SQLITE_ROW), "%s: %s", sql, sqlite3_errmsg(d->read));
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

static void open_written(struct db *d)
{
	cr_assert(eq(int, ws_sqlite_finish(d->f, NULL), WS_OK));
	ws_sqlite_free(d->f);
	cr_assert(
	        eq(int, sqlite3_open_v2(d->path, &d->read, SQLITE_OPEN_READONLY, NULL), SQLITE_OK));
	cr_assert(eq(int,
	             (int)ask(d, "SELECT count(*) FROM pragma_integrity_check WHERE "
	                         "integrity_check = 'ok'"),
	             1));
}

static void teardown(struct db *d)
{
	sqlite3_close(d->read);
	unlink(d->path);
}

Test(sqlite_file, numbers_of_every_size_come_back)
{
	struct ws_sqlite_table *t;
	sqlite3_stmt *stmt;
	struct db d;
	int64_t id = 0;

	setup(&d);
	t = table(&d, "numbers", "\"i\" INTEGER, \"r\" REAL, \"void\" INTEGER, \"nan\" REAL");
	for (unsigned bits = 0; bits < 63; bits++)
		for (int64_t off = -2; off <= 2; off++)
			for (int sign = -1; sign <= 1; sign += 2) {
				const int64_t v =
				        sign * (int64_t)((UINT64_C(1) << bits) + (uint64_t)off);
				const struct ws_sqlite_value row[] = {
				        {WS_SQLITE_INTEGER, .integer = v},
				        {WS_SQLITE_REAL, .real = (double)v / 3},
				        {.type = WS_SQLITE_NULL},
				        {WS_SQLITE_REAL, .real = NAN},
				};

				put(&d, t, ++id, row, 4);
			}
	open_written(&d);
	sqlite3_prepare_v2(d.read, "SELECT i, r, void, nan FROM numbers ORDER BY rowid", -1, &stmt,
	                   NULL);
	for (unsigned bits = 0; bits < 63; bits++)
		for (int64_t off = -2; off <= 2; off++)
			for (int sign = -1; sign <= 1; sign += 2) {
				const int64_t v =
				        sign * (int64_t)((UINT64_C(1) << bits) + (uint64_t)off);

				cr_assert(eq(int, sqlite3_step(stmt), SQLITE_ROW));
				cr_assert(eq(i64, sqlite3_column_int64(stmt, 0), v));
				cr_assert(sqlite3_column_double(stmt, 1) == (double)v / 3);
				cr_assert(eq(int, sqlite3_column_type(stmt, 2), SQLITE_NULL));
				cr_assert(eq(int, sqlite3_column_type(stmt, 3), SQLITE_NULL));
			}
	sqlite3_finalize(stmt);
	teardown(&d);
}

/* Around each size at which a row's form changes: one page, with one page behind it, with several.
 */
Test(sqlite_file, texts_of_every_length_come_back)
{
	static const size_t near[] = {0, 58, 120, 4061, 4096, 4580, 8140, 12230, 70000, 1 << 20};
	char *text = malloc((1 << 20) + 9);
	struct ws_sqlite_table *t, *blobs;
	sqlite3_stmt *stmt;
	struct db d;
	int64_t id = 0;

	setup(&d);
	for (size_t i = 0; i < (1 << 20) + 9; i++)
		text[i] = (char)('a' + i * i % 26);
	t = table(&d, "texts", "id INTEGER NOT NULL PRIMARY KEY, text TEXT");
	blobs = table(&d, "blobs", "bytes BLOB");
	for (size_t i = 0; i < sizeof(near) / sizeof(*near); i++)
		for (size_t n = near[i] < 9 ? 0 : near[i] - 9; n < near[i] + 9; n++) {
			const struct ws_sqlite_value row[] = {{.type = WS_SQLITE_NULL},
			                                      {WS_SQLITE_TEXT, .bytes = {text, n}}};
			const struct ws_sqlite_value blob = {WS_SQLITE_BLOB, .bytes = {text, n}};

			put(&d, t, ++id * 1000, row, 2);
			put(&d, blobs, id, &blob, 1);
		}
	open_written(&d);
	cr_assert(eq(i64,
	             ask(&d, "SELECT count(*) FROM blobs b JOIN texts t ON t.id = b.rowid * "
	                     "1000 AND CAST(b.bytes AS TEXT) = t.text"),
	             id));
	sqlite3_prepare_v2(d.read, "SELECT text FROM texts ORDER BY id", -1, &stmt, NULL);
	for (size_t i = 0; i < sizeof(near) / sizeof(*near); i++)
		for (size_t n = near[i] < 9 ? 0 : near[i] - 9; n < near[i] + 9; n++) {
			cr_assert(eq(int, sqlite3_step(stmt), SQLITE_ROW));
			cr_assert(eq(sz, (size_t)sqlite3_column_bytes(stmt, 0), n));
			cr_assert(eq(int, memcmp(sqlite3_column_text(stmt, 0), text, n), 0));
		}
	sqlite3_finalize(stmt);
	free(text);
	teardown(&d);
}

/*
 * Trees of one, two and three depths, around the numbers of rows at which one begins: rows of 1.3
 * kB, three to a page, and 370 pages to one of the next depth; each row is found by its id, too.
 */
Test(sqlite_file, trees_of_every_depth_are_sound)
{
	static const int64_t rows[] = {1, 3, 4, 6, 1090, 1110, 1120, 1130, 2200, 2230, 3500};
	static const char bytes[1300];
	struct db d;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (int64_t step = 1; step <= INT64_C(1) << 36; step += (INT64_C(1) << 36) - 1) {
			const struct ws_sqlite_value row = {WS_SQLITE_BLOB,
			                                    .bytes = {bytes, sizeof(bytes)}};
			struct ws_sqlite_table *t;

			setup(&d);
			t = table(&d, "t", "b BLOB");
			for (int64_t k = 1; k <= rows[i]; k++)
				put(&d, t, k * step, &row, 1);
			open_written(&d);
			cr_assert(eq(i64, ask(&d, "SELECT count(*) FROM t"), rows[i]));
			cr_assert(eq(i64,
			             ask(&d, "SELECT count(*) FROM t AS a JOIN t AS b ON "
			                     "b.rowid = a.rowid WHERE length(b.b) = 1300"),
			             rows[i]));
			teardown(&d);
		}
}

/* Their schema is a tree, too. */
Test(sqlite_file, many_tables_whose_rows_come_in_turn)
{
	struct ws_sqlite_table *t[200];
	char name[16], sql[96];
	struct db d;

	setup(&d);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		t[i] = table(&d, name, "\"a\" INTEGER NOT NULL");
	}
	for (int64_t k = 0; k < 1000; k++)
		for (int i = 0; i < 200; i += 1 + (int)(k % 7)) {
			const struct ws_sqlite_value row = {WS_SQLITE_INTEGER, .integer = k * i};

			put(&d, t[i], k + 1, &row, 1);
		}
	open_written(&d);
	for (int i = 0; i < 200; i++) {
		int64_t n = 0;

		for (int64_t k = 0; k < 1000; k++)
			n += i % (1 + k % 7) == 0;
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM t%d WHERE a = (rowid - 1) * %d", i,
		         i);
		cr_assert(eq(i64, ask(&d, sql), n));
	}
	teardown(&d);
}

Test(sqlite_file, rows_out_of_order_are_refused)
{
	const struct ws_sqlite_value row = {WS_SQLITE_INTEGER, .integer = 7};
	struct ws_sqlite_table *t;
	struct ws_err err;
	struct db d;

	setup(&d);
	t = table(&d, "t", "a INTEGER");
	put(&d, t, 5, &row, 1);
	cr_assert(eq(int, ws_sqlite_put(d.f, t, 5, &row, 1, &err), WS_BUG));
	open_written(&d);
	teardown(&d);
}
