/* Traces whose rows say anything at all: exports must end, and be whole or fail with words. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <sqlite3.h>
#include <unistd.h>

#include "formats/trace/writer.h"
#include "report/export/chrome/chrome.h"
#include "tests/environment/random.h"

#define TRACES 150
#define ROWS   6 /* of each kind */

static const struct ws_export_opts opts = {0};

/* xorshift64: the same traces each time */
static uint64_t state;

/* Small ids mostly, so that rows meet; and what breaks arithmetic. */
static uint64_t value(void)
{
	static const uint64_t bad[] = {
	        0,          INT64_MAX,         (uint64_t)INT64_MIN, UINT64_MAX,
	        UINT32_MAX, UINT64_C(1) << 24, UINT64_C(1) << 61,   (uint64_t)-1000,
	};

	return random_u64(&state) % 4 ? random_u64(&state) % 8
	                              : bad[random_u64(&state) % (sizeof(bad) / sizeof(*bad))];
}

static void fill_row(const struct ws_kind_def *def, uint8_t *row)
{
	static const char text[] = "a\0\xff\x1b[31m=\",\n</\xe2\x82";

	for (unsigned c = 0; c < def->ncolumns; c++) {
		const struct ws_bytes bytes = {text, random_u64(&state) % sizeof(text)};
		uint64_t v = value();

		if (def->columns[c].type == WS_TYPE_BLOB)
			memcpy(row + def->columns[c].row_offset, &bytes, sizeof(bytes));
		else
			memcpy(row + def->columns[c].row_offset, &v, sizeof(v));
	}
}

static struct ws_trace_writer *hostile_trace(uint64_t seed)
{
	const struct ws_trace_writer_opts defaults = {.base_ns = (int64_t)value()};
	struct ws_trace_writer *w;
	uint8_t row[1024];

	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	cr_assert(eq(int, ws_trace_writer_create_mem(&w, &defaults, NULL), WS_OK));
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		const struct ws_kind_def *def = ws_schema_kind(kind);

		if (!def || ws_kind_is_made(kind))
			continue;
		cr_assert(le(sz, def->row_size, sizeof(row)));
		for (unsigned i = 0; i < ROWS; i++) {
			fill_row(def, row);
			cr_assert(eq(int, ws_trace_writer_add(w, (enum ws_kind)kind, row, NULL),
			             WS_OK));
		}
	}
	cr_assert(eq(int, ws_trace_writer_close(w, NULL), WS_OK));
	return w;
}

/* Each hostile trace is given to a function that exports it. */
static void each(void (*fn)(const struct ws_trace_reader *r))
{
	for (uint64_t seed = 1; seed <= TRACES; seed++) {
		struct ws_trace_writer *w = hostile_trace(seed);
		struct ws_bytes mem = ws_trace_writer_mem(w);
		struct ws_trace_reader *r;

		cr_assert(eq(int, ws_trace_reader_open_mem(&r, mem.ptr, mem.len, NULL), WS_OK));
		fn(r);
		ws_trace_reader_free(r);
		ws_trace_writer_free(w);
	}
}

static void export_nsys(const struct ws_trace_reader *r)
{
	char path[] = "/tmp/ws-hostile-XXXXXX";
	struct ws_export_stats stats = {0};
	sqlite3_stmt *stmt;
	struct ws_err err;
	sqlite3 *db;

	close(mkstemp(path));
	cr_assert(eq(int, ws_export_nsys(r, path, &opts, &stats, &err), WS_OK), "%s", err.text);
	cr_assert(eq(int, sqlite3_open(path, &db), SQLITE_OK));
	cr_assert(
	        eq(int, sqlite3_prepare_v2(db, "PRAGMA quick_check", -1, &stmt, NULL), SQLITE_OK));
	cr_assert(eq(int, sqlite3_step(stmt), SQLITE_ROW));
	cr_assert_str_eq((const char *)sqlite3_column_text(stmt, 0), "ok");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	unlink(path);
}

static void export_chrome(const struct ws_trace_reader *r)
{
	struct ws_export_stats stats = {0};
	struct ws_err err;
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	cr_assert(eq(int, ws_export_timeline(&ws_chrome_json, r, f, &opts, &stats, &err), WS_OK),
	          "%s", err.text);
	fclose(f);
	cr_assert(eq(int, memcmp(text + size - 4, "]\n}\n", 4), 0));
	free(text);
}

static void export_perfetto(const struct ws_trace_reader *r)
{
	struct ws_export_stats stats = {0};
	struct ws_err err;
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	cr_assert(eq(int, ws_export_timeline(&ws_chrome_perfetto, r, f, &opts, &stats, &err),
	             WS_OK),
	          "%s", err.text);
	fclose(f);
	cr_assert(gt(sz, size, 0));
	free(text);
}

Test(export_hostile, databases)
{
	each(export_nsys);
}

Test(export_hostile, timelines)
{
	each(export_chrome);
	each(export_perfetto);
}
