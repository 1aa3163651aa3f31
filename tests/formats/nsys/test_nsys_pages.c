#include <fcntl.h>

#include "formats/nsys/nsys.h"
#include "tests/formats/nsys/import.h"

/* A file with a database made by these statements; free with free, after unlink. */
static char *made(const char *sql)
{
	char *path, *error = NULL;
	sqlite3 *db;

	cr_assert(asprintf(&path, "%s/ws-nsys-pages-%d.sqlite",
	                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid()) > 0);
	unlink(path);
	cr_assert(eq(int, sqlite3_open(path, &db), SQLITE_OK));
	cr_assert(eq(int, sqlite3_exec(db, sql, NULL, NULL, &error), SQLITE_OK), "%s", error);
	sqlite3_close(db);
	return path;
}

struct read {
	struct ws_trace_writer *w;
	struct ws_import_stats stats;
	uint64_t lost[WS_IMPORT_LOSSES];
};

/* The database imported, with its pages or by SQLite alone. */
static void read_it(const char *path, bool with_pages, struct read *read)
{
	const struct ws_trace_writer_opts opts = {0};
	struct ws_import_clock clock = {0};
	struct ws_import_out out;
	struct ws_err err;
	sqlite3 *db;
	int fd = with_pages ? open(path, O_RDONLY) : -1;

	cr_assert(eq(int, fd >= 0, with_pages));
	read->stats = (struct ws_import_stats){.source = "test"};
	cr_assert(eq(int, ws_trace_writer_create_mem(&read->w, &opts, &err), WS_OK));
	ws_import_out_init(&out, read->w, &read->stats);
	cr_assert(eq(int, ws_import_nsys_open(&db, path, &err), WS_OK), "%s", err.text);
	cr_assert(eq(int, ws_import_nsys(&out, db, fd, &clock, &err), WS_OK), "%s", err.text);
	sqlite3_close(db);
	if (fd >= 0)
		close(fd);
	memcpy(read->lost, out.lost, sizeof(out.lost));
	cr_assert(eq(int, ws_import_out_finish(&out, &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_close(read->w, &err), WS_OK));
	ws_import_out_free(&out);
}

/* Bytes of the trace and counts are the same either way; how many rows there are, and lost ones. */
static uint64_t same_rows(const char *sql, enum ws_kind kind, uint64_t *bad)
{
	char *path = made(sql);
	struct read pages, sqlite;
	struct ws_bytes a, b;
	uint64_t rows;

	read_it(path, 1, &pages);
	read_it(path, 0, &sqlite);
	a = ws_trace_writer_mem(pages.w);
	b = ws_trace_writer_mem(sqlite.w);
	cr_expect(eq(sz, a.len, b.len), "%s", sql);
	cr_expect(a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0, "%s", sql);
	cr_expect(eq(u64, pages.stats.events, sqlite.stats.events), "%s", sql);
	cr_expect(eq(int, memcmp(pages.lost, sqlite.lost, sizeof(pages.lost)), 0), "%s", sql);
	cr_expect(eq(sz, pages.stats.nwarnings, sqlite.stats.nwarnings), "%s", sql);
	*bad = sqlite.lost[WS_LOST_import_bad_value];
	rows = ws_trace_writer_rows(sqlite.w, kind);
	ws_trace_writer_free(pages.w);
	ws_trace_writer_free(sqlite.w);
	unlink(path);
	free(path);
	return rows;
}

#define COUNT(to) \
	"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " #to ") "
#define SMALL_PAGES      "PRAGMA page_size = 512;" STRINGS
#define KERNELS(columns) "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (" columns ");"
#define FILL(values)     COUNT(999) "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT " values " FROM n;"

Test(nsys_pages, rows_are_those_that_sqlite_gives)
{
	static const struct {
		const char *sql;
		uint64_t kernels, bad;
	} cases[] = {
	        /* integers of each width and sign, nothing, and values of wrong types */
	        {SMALL_PAGES KERNELS(
	                 "start, end, demangledName, deviceId, gridX, streamId, graphId")
	                 FILL("i << i % 50, (i << i % 50) + i, 2, CASE i % 100 WHEN 50 "
	                      "THEN -1 ELSE 0 "
	                      "END, CASE i % 70 WHEN 3 THEN 'x' WHEN 4 THEN 1.5 WHEN 5 "
	                      "THEN x'01' "
	                      "ELSE -i << i % 30 END, CASE i % 3 WHEN 1 THEN NULL ELSE i "
	                      "END, i % 2"),
	         1000 - 10 - 15 - 15 - 15, 10 + 15 + 15 + 15},
	        /* columns that were added behind rows, with a default and without one */
	        {SMALL_PAGES KERNELS("start, end")
	                 FILL("i, i + 1") "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD "
	                                  "COLUMN deviceId INT;",
	         1000, 0},
	        {SMALL_PAGES KERNELS("start, end")
	                 FILL("i, i + 1") "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD "
	                                  "COLUMN deviceId INT DEFAULT 3;",
	         1000, 0},
	        /* keys that are the row's id, and such that are not */
	        {SMALL_PAGES KERNELS("start INTEGER PRIMARY KEY, end") FILL("i * 7 - 3000, 5000"),
	         1000, 0},
	        {SMALL_PAGES KERNELS("start INTEGER PRIMARY KEY DESC, end") FILL("-i, 5000"), 1000,
	         0},
	        {SMALL_PAGES KERNELS("start INT PRIMARY KEY, end") FILL("-i, 5000"), 1000, 0},
	        {SMALL_PAGES KERNELS("start, end, PRIMARY KEY (start, end)") "" FILL("-i, 5000"),
	         1000, 0},
	        {SMALL_PAGES
	         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER PRIMARY KEY, end) "
	         "WITHOUT ROWID;" FILL("-i, 5000"),
	         1000, 0},
	        /* what turns integers into reals, what is computed, what hides the id */
	        {SMALL_PAGES KERNELS("start DOUBLE PRECISION, end") FILL("i, i + 1"), 0, 1000},
	        {SMALL_PAGES KERNELS("start, end AS (start + 1), deviceId AS (start % 2) "
	                             "STORED") "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL "
	                                       "SELECT i + 1 FROM n WHERE i < 99) "
	                                       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
	                                       "(start) SELECT i FROM n;",
	         100, 0},
	        {SMALL_PAGES KERNELS("start, end, rowid") FILL("i, i + 1, 'id'"), 1000, 0},
	        {"PRAGMA encoding = 'UTF-16le';" SMALL_PAGES KERNELS("start, end, demangledName")
	                 FILL("i, i + 1, 2"),
	         1000, 0},
	        /* rows and pages that were deleted, and a table without rows */
	        {SMALL_PAGES KERNELS("start, end")
	                 FILL("i, i + 1") "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE "
	                                  "start < 500 OR start % 3 = 0;",
	         333, 0},
	        {SMALL_PAGES KERNELS("start, end"), 0, 0},
	};
	uint64_t bad;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_expect(eq(u64, same_rows(cases[i].sql, WS_KIND_KERNEL, &bad), cases[i].kernels),
		          "%s", cases[i].sql);
		cr_expect(eq(u64, bad, cases[i].bad), "%s", cases[i].sql);
	}
}

#define EVENTS                                                                                    \
	"CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, " \
	"domainId INT, uint64Value INT, doubleValue REAL, floatValue, eventId INTEGER PRIMARY "   \
	"KEY);"

/* Texts in the row and beyond its page, of other types, numbers of all kinds, domains anywhere. */
Test(nsys_pages, texts_and_reals_are_those_that_sqlite_gives)
{
	static const char *const texts[] = {
	        "'range ' || i", "CASE i WHEN 700 THEN hex(zeroblob(400)) ELSE 'text' END",
	        "CASE i WHEN 300 THEN 17 WHEN 301 THEN 2.5 ELSE x'00ff41' END"};
	static const char *const values[] = {"i, i * 0.5, NULL", "NULL, i, i",
	                                     "NULL, CASE i WHEN 20 THEN 'x' ELSE 0.25 END, NULL",
	                                     "NULL, NULL, CASE i WHEN 50 THEN 'x' ELSE 1.5 END"};
	static const char *const orders[] = {"i", "999 - i"};
	uint64_t bad;
	char sql[2000];

	for (size_t t = 0; t < 3; t++)
		for (size_t v = 0; v < 4; v++)
			for (size_t o = 0; o < 2; o++) {
				snprintf(sql, sizeof(sql),
				         SMALL_PAGES EVENTS COUNT(
				                 999) "INSERT INTO NVTX_EVENTS SELECT i, i + 2, "
				                      "CASE i %% 100 "
				                      "WHEN 40 THEN 75 ELSE 59 END, %s, " TID(
				                              7, 8) ", i %% 3, %s, "
				                                    "%s FROM n;",
				         texts[t], values[v], orders[o]);
				cr_expect(gt(u64, same_rows(sql, WS_KIND_NVTX, &bad), 900));
				cr_expect(eq(u64, bad, 0));
			}
}

/* Where the table of kernels begins. */
static uint32_t root_of_kernels(const char *path)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	uint32_t root;

	cr_assert(eq(int, sqlite3_open(path, &db), SQLITE_OK));
	sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_master WHERE name LIKE '%KERNEL'", -1,
	                   &stmt, NULL);
	cr_assert(eq(int, sqlite3_step(stmt), SQLITE_ROW));
	root = (uint32_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return root;
}

/* Rows from the pages alone, and the sum of the first column; *last: what came behind them. */
static uint64_t walk(int fd, uint32_t root, int64_t *sum, enum ws_nsys_pages_next *last)
{
	static const int8_t slot[] = {0, -1};
	struct ws_nsys_values values;
	struct ws_nsys_pages *p;
	struct ws_bytes record;
	struct ws_err err;
	uint64_t n = 0;
	int64_t id;

	*sum = 0;
	cr_assert(eq(int, ws_nsys_pages_open(&p, fd, &err), WS_OK));
	cr_assert(p != NULL);
	ws_nsys_pages_begin(p, root);
	for (; (*last = ws_nsys_pages_next(p, &id, &record)) == WS_NSYS_PAGES_ROW; n++) {
		cr_assert(ws_nsys_pages_record(record, slot, 2, &values));
		*sum += values.integer[0];
	}
	ws_nsys_pages_free(p);
	return n;
}

Test(nsys_pages, a_tree_is_walked_to_its_end_and_one_in_circles_no_further_than_the_file)
{
	char *path = made(SMALL_PAGES KERNELS("start, end") COUNT(
	        19999) "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i FROM n;");
	const uint32_t root = root_of_kernels(path);
	enum ws_nsys_pages_next last;
	uint8_t head[12], self[4] = {0, 0, 0, (uint8_t)root};
	int fd = open(path, O_RDWR);
	int64_t sum;

	cr_assert(eq(u64, walk(fd, root, &sum, &last), 20000));
	cr_assert(eq(i64, sum, 19999L * 10000));
	cr_assert(eq(int, last, WS_NSYS_PAGES_END));

	cr_assert(eq(int, (int)pread(fd, head, 12, (off_t)(root - 1) * 512), 12));
	cr_assert(eq(int, head[0], 5), "the root names other pages");
	cr_assert(eq(int, (int)pwrite(fd, self, 4, (off_t)(root - 1) * 512 + 8), 4));
	cr_assert(lt(u64, walk(fd, root, &sum, &last), 20000));
	cr_assert(eq(int, last, WS_NSYS_PAGES_UNREAD));
	close(fd);
	unlink(path);
	free(path);
}

/* What else is wrong with it would be told first if rows were believed before the pages. */
Test(nsys_pages, damage_is_told_before_all_else)
{
	char *path = made("PRAGMA page_size = 512; CREATE TABLE t (a);" COUNT(
	        4999) "INSERT INTO t SELECT 'a text of some length ' || i FROM n;");
	struct ws_imported *i = ws_imported_file(path);
	const char zeros[512] = {0};
	int fd = open(path, O_WRONLY);

	cr_assert(strstr(i->err.text, "no table StringIds") != NULL, "%s", i->err.text);
	ws_imported_free(i);
	cr_assert(eq(int, (int)pwrite(fd, zeros, 512, 512L * 200), 512));
	i = ws_imported_file(path);
	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, "is damaged, its numbers cannot be trusted") != NULL, "%s",
	          i->err.text);
	ws_imported_free(i);
	close(fd);
	unlink(path);
	free(path);
}
