/* A trace, and the folder of Parquet files that is made of it. */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/export/parquet/parquet.h"
#include "tests/support/parquet_reading.h"
#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

static const char *const tables[] = {"kernels",     "nvtx",      "facts",        "api",    "memcpy",
                                     "memset",      "sync",      "graph_launch", "memory", "cpu_op",
                                     "python_call", "gpu_range", "overhead",     "counter"};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

/* A folder of its own for a test: the trace, and what is exported. */
struct place {
	char root[64], trace[96], out[96];
};

static inline struct place new_place(void)
{
	struct place p = {.root = "/tmp/ws_parquet_XXXXXX"};

	cr_assert(mkdtemp(p.root) != NULL);
	snprintf(p.trace, sizeof(p.trace), "%s/t.wtrace", p.root);
	snprintf(p.out, sizeof(p.out), "%s/out", p.root);
	return p;
}

/* Names of a folder's entries; how many. */
static inline size_t list(const char *dir, char names[32][256])
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;

	cr_assert(d != NULL, "no folder %s", dir);
	while ((e = readdir(d)) && n < 32)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			snprintf(names[n++], 256, "%s", e->d_name);
	closedir(d);
	return n;
}

static inline void remove_all(const char *path)
{
	char names[32][256], *entry;
	struct stat st;

	if (lstat(path, &st) != 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		unlink(path);
		return;
	}
	for (size_t n; (n = list(path, names)) > 0;)
		for (size_t i = 0; i < n; i++) {
			cr_assert(gt(int, asprintf(&entry, "%s/%s", path, names[i]), 0));
			remove_all(entry);
			free(entry);
		}
	rmdir(path);
}

/* like: what the job says besides; NULL = nothing. */
static inline enum ws_status export_parquet(const char *trace, const char *dir,
                                            const struct ws_export_job *like, struct ws_err *err)
{
	static const struct ws_export_opts opts;
	struct ws_export_job job = {.rank = -1};
	struct ws_export_stats stats = {0};
	struct ws_trace_reader *r;
	enum ws_status status;

	if (like)
		job = *like;
	job.trace = trace;
	job.to = dir;
	job.opts = &opts;
	WS_FORWARD(ws_trace_reader_open(&r, trace, err));
	status = ws_exporter_parquet.write(r, &job, &stats, err);
	ws_trace_reader_free(r);
	return status;
}

/* Close the trace, write it to its place and export it. */
static inline void export_trace(struct tb *b, const struct place *p,
                                const struct ws_export_job *like)
{
	struct ws_bytes bytes = tb_close(b);
	FILE *f = fopen(p->trace, "wb");
	struct ws_err err;

	cr_assert(f && fwrite(bytes.ptr, 1, bytes.len, f) == bytes.len && fclose(f) == 0);
	cr_assert(export_parquet(p->trace, p->out, like, &err) == WS_OK, "%s", err.text);
}

static inline struct pq_file *read_table(const char *dir, const char *table)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.parquet", dir, table);
	return pq_read_file(path);
}

static inline int is_null(const struct pq_file *f, size_t row, const char *column)
{
	return pq_cell(f, row, column)->is_null;
}
