/*
 * A small trace, its export as a database, and questions to it. For the tests
 * of exports in the schema of Nsight Systems.
 */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <sqlite3.h>
#include <unistd.h>

#include "report/export/source.h"
#include "tests/support/imported.h"
#include "tests/support/trace_sample.h"

/* --- a trace, its export, and questions --- */

struct exported {
	struct ws_trace_writer *w;
	struct ws_trace_reader *r;
	struct ws_export_stats stats;
	char path[64];
	sqlite3 *db;
};

static inline void setup(struct exported *e)
{
	const struct ws_trace_writer_opts opts = {.base_ns = WS_SAMPLE_BASE_NS};

	*e = (struct exported){0};
	cr_assert(eq(int, ws_trace_writer_create_mem(&e->w, &opts, NULL), WS_OK));
}

static inline void add(struct exported *e, enum ws_kind kind, const void *row)
{
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_add(e->w, kind, row, &err), WS_OK), "%s", err.text);
}

static inline uint64_t text_of(struct exported *e, const char *bytes, size_t len)
{
	uint64_t id;

	cr_assert(eq(int, ws_trace_writer_intern(e->w, bytes, len, &id, NULL), WS_OK));
	return id;
}
#define TEXT(e, literal) text_of((e), "" literal, sizeof(literal) - 1)

static inline void new_file(char path[64])
{
	int fd;

	snprintf(path, 64, "/tmp/ws-export-XXXXXX");
	fd = mkstemp(path);
	cr_assert(ge(int, fd, 0));
	close(fd);
}

static inline void export(struct exported *e)
{
	static const struct ws_export_opts opts;
	struct ws_bytes mem;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_close(e->w, NULL), WS_OK));
	mem = ws_trace_writer_mem(e->w);
	cr_assert(eq(int, ws_trace_reader_open_mem(&e->r, mem.ptr, mem.len, NULL), WS_OK));
	new_file(e->path);
	cr_assert(eq(int, ws_export_nsys(e->r, e->path, &opts, &e->stats, &err), WS_OK), "%s",
	          err.text);
	cr_assert(eq(int, sqlite3_open_v2(e->path, &e->db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK));
}

static inline void teardown(struct exported *e)
{
	sqlite3_close(e->db);
	unlink(e->path);
	ws_trace_reader_free(e->r);
	ws_trace_writer_free(e->w);
}

/* The result of a query as text: columns by '|', rows by newlines. */
static const char *ask(struct exported *e, const char *sql)
{
	static char out[4096];
	sqlite3_stmt *stmt;
	size_t len = 0;

	out[0] = 0;
	cr_assert(eq(int, sqlite3_prepare_v2(e->db, sql, -1, &stmt, NULL), SQLITE_OK), "%s: %s",
	          sql, sqlite3_errmsg(e->db));
	while (sqlite3_step(stmt) == SQLITE_ROW)
		for (int c = 0; c < sqlite3_column_count(stmt); c++) {
			const char *value = (const char *)sqlite3_column_text(stmt, c);

			len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%s",
			                        c     ? "|"
			                        : len ? "\n"
			                              : "",
			                        value ? value : "-");
		}
	sqlite3_finalize(stmt);
	return out;
}
#define ASK(e, sql, want) cr_assert(eq(str, (char *)ask((e), (sql)), (char *)(want)))

/* Process 100 with threads 1 and 2, device 3, one kernel launched by thread 1. */
static inline void fill(struct exported *e)
{
	const struct ws_row_process process = {100, 1, TEXT(e, "/bin/train"), 0};
	const struct ws_row_thread one = {1, 100, 101, TEXT(e, "main")}, two = {2, 100, 102, 0};
	const struct ws_row_device device = {3, WS_DEVICE_CUDA, TEXT(e, "GPU X")};
	const struct ws_row_device_attr sms = {3, TEXT(e, "sm_count"), 48};
	const struct ws_row_device_attr threads = {3, TEXT(e, "max_threads_per_sm"), 1536};
	const struct ws_row_api launch = {-1000, 20, 1, TEXT(e, "cudaLaunchKernel_v7000"), 7, 0};
	const struct ws_row_api driver = {40, 5, 2, TEXT(e, "cuLaunchKernel"), 8, 700};
	const struct ws_row_launch_config c = {
	        .name = TEXT(e, "_ZN1a1b3addIfEEvPT_"),
	        .pid = 100,
	        .device = 3,
	        .context = 1,
	        .stream = 7,
	        .grid_x = 10,
	        .grid_y = 2,
	        .grid_z = 1,
	        .block_x = 128,
	        .block_y = 1,
	        .block_z = 1,
	        .registers = 40,
	        .shared_static_bytes = 16,
	        .shared_dynamic_bytes = 1024,
	};
	struct ws_row_kernel kernel = {.start_ns = 100, .dur_ns = 50, .correlation = 7};
	struct ws_row_kernel timeless = {.correlation = 9, .flags = WS_KERNEL_NO_TIME};

	add(e, WS_KIND_PROCESS, &process);
	add(e, WS_KIND_THREAD, &one);
	add(e, WS_KIND_THREAD, &two);
	add(e, WS_KIND_DEVICE, &device);
	add(e, WS_KIND_DEVICE_ATTR, &sms);
	add(e, WS_KIND_DEVICE_ATTR, &threads);
	add(e, WS_KIND_API, &launch);
	add(e, WS_KIND_API, &driver);
	cr_assert(eq(int, ws_trace_writer_intern_config(e->w, &c, &kernel.config, NULL), WS_OK));
	timeless.config = kernel.config;
	add(e, WS_KIND_KERNEL, &kernel);
	add(e, WS_KIND_KERNEL, &timeless);
}

static inline void nvtx(struct exported *e, int64_t time_ns, uint64_t thread,
                        enum ws_nvtx_type type, uint64_t domain, uint64_t name, uint64_t range)
{
	const struct ws_row_nvtx row = {
	        .time_ns = time_ns,
	        .thread = thread,
	        .type = type,
	        .domain = domain,
	        .name = name,
	        .range = range,
	};

	add(e, WS_KIND_NVTX, &row);
}
