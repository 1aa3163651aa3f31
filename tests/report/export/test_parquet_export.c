#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/parquet_reading.h"
#include "report/export/parquet/parquet.h"
#include "report/export/rollup.h"
#include "report/table/table.h"
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

static struct place new_place(void)
{
	struct place p = {.root = "/tmp/ws_parquet_XXXXXX"};

	cr_assert(mkdtemp(p.root) != NULL);
	snprintf(p.trace, sizeof(p.trace), "%s/t.wtrace", p.root);
	snprintf(p.out, sizeof(p.out), "%s/out", p.root);
	return p;
}

/* Names of a folder's entries; how many. */
static size_t list(const char *dir, char names[32][256])
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

static void remove_all(const char *path)
{
	char names[32][256], entry[512];
	struct stat st;

	if (lstat(path, &st) != 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		unlink(path);
		return;
	}
	for (size_t n; (n = list(path, names)) > 0;)
		for (size_t i = 0; i < n; i++) {
			snprintf(entry, sizeof(entry), "%s/%s", path, names[i]);
			remove_all(entry);
		}
	rmdir(path);
}

/* Close the trace, write it to its place and export it. */
static void export_trace(struct tb *b, const struct place *p,
                         const struct ws_export_parquet_opts *opts)
{
	struct ws_model *m = tb_model(b);
	struct ws_bytes bytes = ws_trace_writer_mem(tb_writer(b));
	FILE *f = fopen(p->trace, "wb");
	struct ws_err err;

	ws_model_free(m);
	cr_assert(f && fwrite(bytes.ptr, 1, bytes.len, f) == bytes.len && fclose(f) == 0);
	cr_assert(ws_export_parquet(p->trace, p->out, opts, &err) == WS_OK, "%s", err.text);
}

static struct pq_file *read_table(const char *dir, const char *table)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.parquet", dir, table);
	return pq_read_file(path);
}

static int is_null(const struct pq_file *f, size_t row, const char *column)
{
	return pq_cell(f, row, column)->is_null;
}

/* --- the joined tables --- */

Test(parquet_export, a_kernel_has_its_launch_path_step_and_configuration)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	struct ws_row_launch_config config = {.name = tb_text(b, "_Z4gemmIfEvPT_"),
	                                      .pid = 100,
	                                      .device = 0,
	                                      .context = 3,
	                                      .stream = 7,
	                                      .grid_x = 10,
	                                      .grid_y = 2,
	                                      .grid_z = 1,
	                                      .block_x = 128,
	                                      .block_y = 1,
	                                      .block_z = 1,
	                                      .registers = 0,
	                                      .shared_static_bytes = 1024,
	                                      .shared_dynamic_bytes = 2048,
	                                      .launch_type = 1};
	struct ws_err err;
	struct pq_file *f;
	uint64_t id;

	cr_assert(eq(int, ws_trace_writer_intern_config(tb_writer(b), &config, &id, &err), WS_OK));
	tb_in_domain(b, "warpsheet");
	tb_push(b, 0, "step");
	tb_push(b, 5, "forward");
	tb_push(b, 6, "a/b");
	tb_call(b, 10, 4, 77);
	tb_add(b, WS_KIND_KERNEL,
	       &(struct ws_row_kernel){
	               .start_ns = 100, .dur_ns = 250, .correlation = 77, .config = id});
	tb_pop(b, 20);
	tb_pop(b, 30);
	tb_pop(b, 400);
	export_trace(b, &p, NULL);
	f = read_table(p.out, "kernels");
	cr_assert(eq(sz, f->rows, 1));
	cr_assert(eq(i64, pq_int(f, 0, "start_ns"), 100));
	cr_assert(eq(i64, pq_int(f, 0, "dur_ns"), 250));
	cr_assert_not_null(strstr(pq_str(f, 0, "name"), "gemm"));
	cr_assert(eq(i64, pq_int(f, 0, "pid"), 100));
	cr_assert(eq(i64, pq_int(f, 0, "device"), 0));
	cr_assert_str_eq(pq_str(f, 0, "device_name"), "Test GPU");
	cr_assert(eq(i64, pq_int(f, 0, "context"), 3));
	cr_assert(eq(i64, pq_int(f, 0, "stream"), 7));
	cr_assert(eq(i64, pq_int(f, 0, "grid_x"), 10));
	cr_assert(eq(i64, pq_int(f, 0, "grid_y"), 2));
	cr_assert(eq(i64, pq_int(f, 0, "block_x"), 128));
	cr_assert(is_null(f, 0, "cluster_x") && is_null(f, 0, "registers"));
	cr_assert(eq(i64, pq_int(f, 0, "shared_static_bytes"), 1024));
	cr_assert(eq(i64, pq_int(f, 0, "shared_dynamic_bytes"), 2048));
	cr_assert(eq(i64, pq_int(f, 0, "local_bytes"), 0));
	cr_assert(eq(int, is_null(f, 0, "shared_executed_bytes"), 1));
	cr_assert_str_eq(pq_str(f, 0, "launch_type"), "cooperative");
	cr_assert(is_null(f, 0, "estimated_occupancy_percent"));
	cr_assert(eq(i64, pq_int(f, 0, "cut_off"), 0));
	cr_assert(eq(i64, pq_int(f, 0, "correlation"), 77));
	cr_assert_str_eq(pq_str(f, 0, "launch_api"), "cudaLaunchKernel");
	cr_assert(eq(i64, pq_int(f, 0, "launch_start_ns"), 10));
	cr_assert(eq(i64, pq_int(f, 0, "launch_dur_ns"), 4));
	cr_assert(eq(i64, pq_int(f, 0, "launch_tid"), 1001));
	cr_assert(is_null(f, 0, "framework_op"));
	cr_assert_str_eq(pq_str(f, 0, "nvtx_path"), "step/forward/a\\/b");
	cr_assert_str_eq(pq_str(f, 0, "phase"), "forward");
	cr_assert(eq(i64, pq_int(f, 0, "step"), 0));
	cr_assert_str_eq(pq_str(f, 0, "step_kind"), "measured");
	pq_free(f);
	tb_free(b);
	remove_all(p.root);
}

Test(parquet_export, what_a_kernel_lacks_is_null)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	struct pq_file *f;
	size_t lost = 0, timeless = 0;

	/* no call; no time; no configuration */
	tb_kernel(b, &(struct tb_kernel){"alone", 50, 60, 5, 0, 100, WS_KERNEL_CUT_OFF});
	tb_kernel(b, &(struct tb_kernel){"timeless", 0, 0, 6, 0, 100, WS_KERNEL_NO_TIME});
	tb_add(b, WS_KIND_KERNEL,
	       &(struct ws_row_kernel){
	               .start_ns = 70, .dur_ns = 80, .correlation = 7, .config = 999});
	export_trace(b, &p, NULL);
	f = read_table(p.out, "kernels");
	cr_assert(eq(sz, f->rows, 3));
	for (size_t i = 0; i < 3; i++) {
		cr_assert(is_null(f, i, "launch_start_ns") && is_null(f, i, "launch_api") &&
		          is_null(f, i, "correlation") && is_null(f, i, "nvtx_path") &&
		          is_null(f, i, "step") && is_null(f, i, "step_kind"));
		if (!strcmp(pq_str(f, i, "name"), "timeless")) {
			timeless++;
			cr_assert(is_null(f, i, "start_ns") && is_null(f, i, "dur_ns"));
		} else if (is_null(f, i, "grid_x")) {
			lost++;
			cr_assert_str_eq(pq_str(f, i, "name"), "(unknown kernel)");
			cr_assert(is_null(f, i, "pid") && is_null(f, i, "device"));
			cr_assert(eq(i64, pq_int(f, i, "dur_ns"), 80));
		} else {
			cr_assert(eq(i64, pq_int(f, i, "cut_off"), 1));
		}
	}
	cr_assert(eq(sz, lost, 1));
	cr_assert(eq(sz, timeless, 1));
	pq_free(f);
	tb_free(b);
	remove_all(p.root);
}

Test(parquet_export, ranges_have_path_depth_and_operation)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	struct pq_file *f;

	tb_in_domain(b, "warpsheet");
	tb_push(b, 0, "step");
	tb_push_op(b, 10, "matmul",
	           &(struct tb_op){2000, 300, 40, "gemm", "forward", "bf16", .layer = 2});
	tb_pop(b, 90);
	tb_pop(b, 100);
	tb_in_domain(b, "");
	tb_start(b, 110, "never ends", 1);
	tb_launch(b, 120, "k", 130, 70);
	export_trace(b, &p, NULL);
	f = read_table(p.out, "nvtx");
	cr_assert(eq(sz, f->rows, 3));
	cr_assert_str_eq(pq_str(f, 0, "path"), "step");
	cr_assert(is_null(f, 0, "op") && is_null(f, 0, "flops"));
	cr_assert(eq(i64, pq_int(f, 0, "dur_ns"), 100));
	cr_assert_str_eq(pq_str(f, 1, "path"), "step/matmul");
	cr_assert_str_eq(pq_str(f, 1, "name"), "matmul");
	cr_assert_str_eq(pq_str(f, 1, "domain"), "warpsheet");
	cr_assert(eq(i64, pq_int(f, 1, "depth"), 1));
	cr_assert(eq(i64, pq_int(f, 1, "pid"), 100));
	cr_assert(eq(i64, pq_int(f, 1, "tid"), 1001));
	cr_assert_str_eq(pq_str(f, 1, "op"), "gemm");
	cr_assert_str_eq(pq_str(f, 1, "dtype"), "bf16");
	cr_assert(eq(i64, pq_int(f, 1, "layer"), 2));
	cr_assert(eq(i64, pq_int(f, 1, "flops"), 2000));
	cr_assert(eq(i64, pq_int(f, 1, "bytes"), 340));
	cr_assert_str_eq(pq_str(f, 2, "style"), "start-end");
	cr_assert(eq(i64, pq_int(f, 2, "open"), 1));
	cr_assert(eq(i64, pq_int(f, 2, "dur_ns"), 90));
	cr_assert(is_null(f, 2, "domain"));
	pq_free(f);
	tb_free(b);
	remove_all(p.root);
}

/* Row of the fact, or the number of rows when there is none. */
static size_t fact(const struct pq_file *f, const char *source, const char *key)
{
	for (size_t i = 0; i < f->rows; i++)
		if (!strcmp(pq_str(f, i, "source"), source) && !strcmp(pq_str(f, i, "key"), key))
			return i;
	cr_assert(0, "no fact %s of %s", key, source);
	return 0;
}

Test(parquet_export, facts_are_what_else_the_trace_says)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	struct pq_file *f;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_meta(tb_writer(b), "host.cores", "64", &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_meta(tb_writer(b), "tool.version", "1.2", &err), WS_OK));
	tb_mark(b, 0, "workload.dtype=bf16");
	tb_loss(b, "ring_overflow", 3);
	tb_loss(b, "ring_overflow", 12);
	tb_add(b, WS_KIND_DEVICE_ATTR,
	       &(struct ws_row_device_attr){0, tb_text(b, "sm_count"), 132});
	export_trace(b, &p, NULL);
	f = read_table(p.out, "facts");
	cr_assert(eq(i64, pq_int(f, fact(f, "trace", "base_ns"), "number"), 1700000000000000000));
	cr_assert(eq(i64, pq_int(f, fact(f, "meta", "host.cores"), "number"), 64));
	cr_assert(is_null(f, fact(f, "meta", "tool.version"), "number"));
	cr_assert_str_eq(pq_str(f, fact(f, "meta", "tool.version"), "value"), "1.2");
	cr_assert_str_eq(pq_str(f, fact(f, "workload", "dtype"), "value"), "bf16");
	cr_assert(eq(i64, pq_int(f, fact(f, "loss", "ring_overflow"), "number"), 12));
	cr_assert(eq(i64, pq_int(f, fact(f, "device", "sm_count"), "number"), 132));
	cr_assert(eq(i64, pq_int(f, fact(f, "device", "name"), "device"), 0));
	cr_assert(is_null(f, fact(f, "loss", "ring_overflow"), "device"));
	pq_free(f);
	tb_free(b);
	remove_all(p.root);
}

/* --- tables of record kinds --- */

Test(parquet_export, ids_of_record_kinds_become_what_they_name)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	struct pq_file *f;

	tb_thread(b, 2, 200);
	tb_on_thread(b, 2);
	tb_call(b, -5, 4, 0);
	tb_call(b, 5, 4, 9);
	tb_add(b, WS_KIND_MEMCPY,
	       &(struct ws_row_memcpy){.start_ns = 50,
	                               .dur_ns = 7,
	                               .pid = 200,
	                               .kind = 1,
	                               .src_kind = WS_MEMORY_PINNED,
	                               .dst_kind = 99,
	                               .bytes = (uint64_t)1 << 40});
	tb_add(b, WS_KIND_MEMCPY,
	       &(struct ws_row_memcpy){.pid = 200, .kind = 2, .flags = WS_COPY_NO_TIME});
	tb_add(b, WS_KIND_OP_CONFIG,
	       &(struct ws_row_op_config){.id = 1, .name = tb_text(b, "aten::mm"), .flops = 64});
	tb_add(b, WS_KIND_CPU_OP,
	       &(struct ws_row_cpu_op){.start_ns = 1, .dur_ns = 2, .thread = 2, .config = 1});
	tb_add(b, WS_KIND_CPU_OP,
	       &(struct ws_row_cpu_op){.start_ns = 4, .thread = 77, .config = 9});
	export_trace(b, &p, NULL);

	f = read_table(p.out, "api");
	cr_assert(eq(sz, f->rows, 2));
	cr_assert(eq(i64, pq_int(f, 0, "start_ns"), -5));
	cr_assert(eq(int, is_null(f, 0, "correlation"), 1));
	cr_assert(eq(i64, pq_int(f, 1, "correlation"), 9));
	cr_assert(eq(i64, pq_int(f, 1, "pid"), 200));
	cr_assert(eq(i64, pq_int(f, 1, "tid"), 1002));
	cr_assert_str_eq(pq_str(f, 1, "name"), "cudaLaunchKernel");
	pq_free(f);

	f = read_table(p.out, "memcpy");
	cr_assert_str_eq(pq_str(f, 0, "kind"), "htod");
	cr_assert_str_eq(pq_str(f, 0, "src_kind"), "pinned");
	cr_assert_str_eq(pq_str(f, 0, "dst_kind"), "99");
	cr_assert(eq(i64, pq_int(f, 0, "bytes"), (int64_t)1 << 40));
	cr_assert(eq(i64, pq_int(f, 0, "dur_ns"), 7));
	cr_assert(is_null(f, 1, "start_ns") && is_null(f, 1, "dur_ns"));
	cr_assert(is_null(f, 1, "bytes"), "a size that was not recorded is not 0");
	pq_free(f);

	f = read_table(p.out, "cpu_op");
	cr_assert_str_eq(pq_str(f, 0, "name"), "aten::mm");
	cr_assert(eq(i64, pq_int(f, 0, "flops"), 64));
	cr_assert(eq(i64, pq_int(f, 0, "tid"), 1002));
	cr_assert(is_null(f, 1, "name") && is_null(f, 1, "tid") && is_null(f, 1, "flops"));
	cr_assert(eq(i64, pq_int(f, 1, "start_ns"), 4));
	pq_free(f);
	tb_free(b);
	remove_all(p.root);
}

/* --- files and folders --- */

Test(parquet_export, an_empty_trace_has_every_table_without_rows)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	char names[32][256];

	export_trace(b, &p, NULL);
	cr_assert(eq(sz, list(p.out, names), TABLES));
	for (size_t i = 0; i < TABLES; i++) {
		struct pq_file *f = read_table(p.out, tables[i]);

		if (strcmp(tables[i], "facts"))
			cr_assert(eq(sz, f->rows, 0), "%s", tables[i]);
		cr_assert(gt(sz, f->ncolumns, 3));
		cr_assert_str_eq(pq_meta(f, "warpsheet.table"), tables[i]);
		cr_assert_str_eq(pq_meta(f, "warpsheet.version"), WS_VERSION);
		cr_assert_str_eq(pq_meta(f, "trace.base_ns"), "1700000000000000000");
		cr_assert(eq(sz, strlen(pq_meta(f, "trace.hash")), 16));
		pq_free(f);
	}
	tb_free(b);
	remove_all(p.root);
}

static void add_meta(struct tb *b, const char *key, const char *value)
{
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_meta(tb_writer(b), key, value, &err), WS_OK));
}

/* The one entry of the output folder, or "" when the files lie in it. */
static void check_rank(const char *const meta[][2], size_t n, int64_t option, const char *expected)
{
	struct ws_export_parquet_opts opts = WS_EXPORT_PARQUET_DEFAULTS;
	struct place p = new_place();
	struct tb *b = tb_new();
	char names[32][256];
	size_t entries;

	opts.rank = option;
	for (size_t i = 0; i < n; i++)
		add_meta(b, meta[i][0], meta[i][1]);
	export_trace(b, &p, &opts);
	entries = list(p.out, names);
	if (*expected) {
		cr_assert(eq(sz, entries, 1));
		cr_assert_str_eq(names[0], expected);
	} else {
		cr_assert(eq(sz, entries, TABLES));
	}
	tb_free(b);
	remove_all(p.root);
}

Test(parquet_export, the_rank_is_a_folder_when_it_is_known)
{
	static const char *const ours[][2] = {{"process.rank", "7"}};
	static const char *const pytorch[][2] = {{"distributed.rank", "12345"}};
	static const char *const merged[][2] = {{"process.rank", "0"}, {"process.rank", "1"}};
	static const char *const twice[][2] = {{"process.rank", "3"}, {"distributed.rank", "3"}};
	static const char *const hostile[][2] = {{"process.rank", "../../7"}};
	static const char *const huge[][2] = {{"process.rank", "99999999999999999999"}};

	check_rank(ours, 1, -1, "rank=0007");
	check_rank(pytorch, 1, -1, "rank=12345");
	check_rank(merged, 2, -1, "");
	check_rank(merged, 2, 4, "rank=0004");
	check_rank(twice, 2, -1, "rank=0003");
	check_rank(hostile, 1, -1, "");
	check_rank(huge, 1, -1, "");
	check_rank(ours, 0, -1, "");
	check_rank(ours, 1, 0, "rank=0000");
}

/* A trace of so many kernels of a name; the rank's meta row where there is one. */
static void add_to_fleet(const struct place *p, const char *name, int64_t kernels, const char *rank,
                         struct ws_parquet_fleet *fleet)
{
	const struct ws_export_parquet_opts opts = {.rank = -1, .fleet = fleet};
	struct place one = *p;
	struct tb *b = tb_new();

	if (rank)
		add_meta(b, "process.rank", rank);
	for (int64_t i = 0; i < kernels; i++)
		tb_launch(b, i * 100, name, i * 100 + 50, i);
	snprintf(one.out, sizeof(one.out), "%s", name);
	export_trace(b, &one, &opts);
	tb_free(b);
}

Test(parquet_export, a_fleet_has_the_rows_of_all_traces_in_row_groups_of_many)
{
	static const char *const of[] = {"one", "one", "two", "two", "two", "four"};
	struct place p = new_place();
	struct ws_parquet_fleet *fleet;
	struct ws_err err;
	char names[32][256];
	struct pq_file *f;

	cr_assert(eq(int, ws_parquet_fleet_open(&fleet, p.out, &err), WS_OK));
	add_to_fleet(&p, "one", 2, "7", fleet);
	add_to_fleet(&p, "two", 3, NULL, fleet);
	add_to_fleet(&p, "three", 0, "8", fleet);
	add_to_fleet(&p, "four", 1, "9", fleet);
	snprintf(names[0], sizeof(names[0]), "%s/kernels.parquet", p.out);
	cr_assert(eq(int, access(names[0], F_OK), -1), "there before the fleet is closed");
	cr_assert(eq(int, ws_parquet_fleet_close(fleet, WS_OK, &err), WS_OK));
	cr_assert(eq(sz, list(p.out, names), TABLES));
	f = read_table(p.out, "kernels");
	cr_assert(eq(sz, f->rows, sizeof(of) / sizeof(*of)));
	cr_assert(eq(sz, f->ngroups, 1));
	for (size_t i = 0; i < f->rows; i++) {
		cr_assert_str_eq(pq_str(f, i, "trace"), of[i]);
		cr_assert_str_eq(pq_str(f, i, "short_name"), of[i]);
		cr_assert(eq(int, is_null(f, i, "rank"), !strcmp(of[i], "two")));
	}
	cr_assert(eq(i64, pq_int(f, 0, "rank"), 7));
	cr_assert(eq(i64, pq_int(f, 5, "rank"), 9));
	pq_free(f);
	f = read_table(p.out, "facts");
	cr_assert_str_eq(pq_str(f, f->rows - 1, "trace"), "four");
	pq_free(f);
	remove_all(p.root);
}

Test(parquet_export, a_fleet_that_fails_leaves_nothing)
{
	struct place p = new_place();
	struct ws_export_parquet_opts opts = WS_EXPORT_PARQUET_DEFAULTS;
	struct ws_parquet_fleet *fleet;
	struct ws_err err;
	enum ws_status status;

	cr_assert(eq(int, ws_parquet_fleet_open(&fleet, p.out, &err), WS_OK));
	add_to_fleet(&p, "one", 2, "7", fleet);
	opts.fleet = fleet;
	status = ws_export_parquet("/nowhere/t.wtrace", "gone", &opts, &err);
	cr_assert(eq(int, status, WS_IO_READ));
	cr_assert(eq(int, ws_parquet_fleet_close(fleet, status, &err), WS_IO_READ));
	cr_assert(eq(int, access(p.out, F_OK), -1));
	remove_all(p.root);
}

Test(parquet_export, a_failure_leaves_no_file_and_what_was_there_stays)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	struct ws_err err = {0};
	char names[32][256], in_the_way[128];

	export_trace(b, &p, NULL);
	remove_all(p.out);
	cr_assert(eq(int, mkdir(p.out, 0777), 0));
	/* a folder where the last table shall be */
	snprintf(in_the_way, sizeof(in_the_way), "%s/counter.parquet", p.out);
	cr_assert(eq(int, mkdir(in_the_way, 0777), 0));
	cr_assert(eq(int, ws_export_parquet(p.trace, p.out, NULL, &err), WS_IO_WRITE));
	cr_assert_not_null(strstr(err.text, "counter.parquet"));
	cr_assert(eq(sz, list(p.out, names), 1));
	cr_assert_str_eq(names[0], "counter.parquet");
	tb_free(b);
	remove_all(p.root);
}

Test(parquet_export, a_full_disk_names_the_file_and_leaves_nothing)
{
	struct rlimit limit;
	struct place p = new_place();
	struct tb *b = tb_new();
	struct ws_err err = {0};

	for (int64_t i = 0; i < 3000; i++)
		tb_launch(b, i * 100, "k", i * 100 + 50, i * i % 997);
	export_trace(b, &p, NULL);
	remove_all(p.out);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert(eq(int, getrlimit(RLIMIT_FSIZE, &limit), 0));
	limit.rlim_cur = 5000;
	cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &limit), 0));
	cr_assert(eq(int, ws_export_parquet(p.trace, p.out, NULL, &err), WS_IO_WRITE));
	limit.rlim_cur = limit.rlim_max;
	cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &limit), 0));
	cr_assert_not_null(strstr(err.text, "out/kernels.parquet': "));
	cr_assert_not_null(strstr(err.text, "File too large"));
	cr_assert(eq(int, access(p.out, F_OK), -1));
	tb_free(b);
	remove_all(p.root);
}

Test(parquet_export, a_file_in_the_place_of_the_folder_is_an_error)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	struct ws_err err = {0};

	export_trace(b, &p, NULL);
	cr_assert(eq(int, ws_export_parquet(p.trace, p.trace, NULL, &err), WS_IO_WRITE));
	cr_assert_not_null(strstr(err.text, "it is not a folder"));
	cr_assert(eq(int, ws_export_parquet("/nowhere/t.wtrace", p.out, NULL, &err), WS_IO_READ));
	tb_free(b);
	remove_all(p.root);
}

static size_t read_bytes(const char *dir, const char *table, char *bytes, size_t size)
{
	char path[256];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.parquet", dir, table);
	f = fopen(path, "rb");
	cr_assert(f != NULL);
	n = fread(bytes, 1, size, f);
	fclose(f);
	return n;
}

Test(parquet_export, a_second_export_replaces_the_first_with_equal_bytes)
{
	static char first[TABLES][1 << 14], second[1 << 14];
	size_t size[TABLES];
	struct place p = new_place();
	struct ws_err err;
	char names[32][256];

	snprintf(p.trace, sizeof(p.trace), "%s/traces/step-fp32.wtrace", WS_FIXTURES);
	for (int round = 0; round < 2; round++) {
		cr_assert(ws_export_parquet(p.trace, p.out, NULL, &err) == WS_OK, "%s", err.text);
		cr_assert(eq(sz, list(p.out, names), TABLES));
		for (size_t i = 0; i < TABLES; i++) {
			if (round == 0) {
				size[i] = read_bytes(p.out, tables[i], first[i], sizeof(first[i]));
				cr_assert(lt(sz, size[i], sizeof(first[i])));
				continue;
			}
			cr_assert(eq(sz, read_bytes(p.out, tables[i], second, sizeof(second)),
			             size[i]));
			cr_assert(eq(int, memcmp(first[i], second, size[i]), 0), "%s", tables[i]);
		}
	}
	remove_all(p.root);
}

/* --- against our own report --- */

/* Sum over the rows of this kernel. */
static int64_t sum_of(const struct pq_file *f, const char *column, const char *name)
{
	int64_t sum = 0;

	for (size_t i = 0; i < f->rows; i++)
		if (!strcmp(pq_str(f, i, "name"), name) && !is_null(f, i, column))
			sum += pq_int(f, i, column);
	return sum;
}

static void compare_with_report(const char *fixture)
{
	struct place p = new_place();
	struct ws_model *m;
	struct ws_table *summary;
	struct pq_file *kernels, *rollup;
	struct ws_err err;

	snprintf(p.trace, sizeof(p.trace), "%s/traces/%s", WS_FIXTURES, fixture);
	cr_assert(ws_model_open(&m, p.trace, &err) == WS_OK, "%s", err.text);
	cr_assert(ws_export_parquet(p.trace, p.out, NULL, &err) == WS_OK, "%s", err.text);
	cr_assert(ws_rollup_export(m, p.out, NULL, &err) == WS_OK, "%s", err.text);
	kernels = read_table(p.out, "kernels");
	rollup = read_table(p.out, "rollup");
	summary = tb_table(m, "kernel-summary", NULL);
	for (size_t i = 0; i < summary->nrows; i++) {
		const char *name = tb_str(summary, i, "name");
		size_t rows = 0;

		for (size_t k = 0; k < kernels->rows; k++)
			rows += !strcmp(pq_str(kernels, k, "name"), name) &&
			        !is_null(kernels, k, "dur_ns");
		cr_assert(eq(i64, tb_int(summary, i, "instances"), (int64_t)rows), "%s", name);
		cr_assert(eq(i64, tb_int(summary, i, "instances"), sum_of(rollup, "kernels", name)),
		          "%s", name);
		if (tb_is_empty(summary, i, "total_ns"))
			continue;
		cr_assert(eq(i64, tb_int(summary, i, "total_ns"), sum_of(kernels, "dur_ns", name)),
		          "%s", name);
		cr_assert(eq(i64, tb_int(summary, i, "total_ns"), sum_of(rollup, "sum_ns", name)),
		          "%s", name);
	}
	ws_table_free(summary);
	pq_free(kernels);
	pq_free(rollup);
	ws_model_free(m);
	remove_all(p.root);
}

Test(parquet_export, kernels_and_rollups_add_up_to_the_kernel_summary)
{
	compare_with_report("step-fp32.wtrace");
	compare_with_report("step-bf16.wtrace");
	compare_with_report("killed.wtrace");
	compare_with_report("empty.wtrace");
}

/* --- the page about it --- */

/* How often does the section of a table have this line? */
static int section_has(const char *page, const char *table, const char *line)
{
	char head[96];
	const char *from, *to, *at;

	snprintf(head, sizeof(head), "### `%s.parquet`", table);
	from = strstr(page, head);
	cr_assert(from != NULL, "docs/parquet.md has no section %s", head);
	to = strstr(from + 1, "\n#");
	at = strstr(from, line);
	return at && (!to || at < to);
}

static void compare_section(const char *page, const struct pq_file *f, const char *table)
{
	char line[256], unit[96];

	for (size_t i = 0; i < f->ncolumns; i++) {
		const struct pq_column *c = &f->columns[i];

		*unit = 0;
		for (size_t k = 0; k < f->nmeta; k++)
			if (!strncmp(f->keys[k], "unit.", 5) && !strcmp(f->keys[k] + 5, c->name))
				snprintf(unit, sizeof(unit), "%s", f->values[k]);
		snprintf(line, sizeof(line), "\n| `%s` | %s%s | %s | ", c->name,
		         c->is_text         ? "text"
		         : c->is_unsigned   ? "unsigned"
		         : c->physical == 5 ? "real"
		                            : "integer",
		         c->optional ? ", null" : "", unit);
		cr_assert(section_has(page, table, line), "docs/parquet.md, %s, lacks:%s", table,
		          line);
	}
}

Test(parquet_export, the_page_lists_every_column)
{
	static const char *const joined[] = {"kernels", "nvtx", "facts", "rollup",
	                                     "rollup_histogram"};
	static char page[1 << 16];
	struct place p = new_place();
	struct ws_model *m;
	struct ws_err err;
	FILE *in = fopen(WS_SOURCE_DIR "/docs/parquet.md", "r");
	size_t rows = 0, columns = 0;

	cr_assert(in != NULL);
	cr_assert(lt(sz, fread(page, 1, sizeof(page) - 1, in), sizeof(page) - 1));
	fclose(in);
	snprintf(p.trace, sizeof(p.trace), "%s/traces/empty.wtrace", WS_FIXTURES);
	cr_assert(eq(int, ws_export_parquet(p.trace, p.out, NULL, &err), WS_OK));
	cr_assert(eq(int, ws_model_open(&m, p.trace, &err), WS_OK));
	cr_assert(eq(int, ws_rollup_export(m, p.out, NULL, &err), WS_OK));
	ws_model_free(m);
	for (size_t i = 0; i < sizeof(joined) / sizeof(joined[0]); i++) {
		struct pq_file *f = read_table(p.out, joined[i]);

		compare_section(page, f, joined[i]);
		columns += f->ncolumns;
		pq_free(f);
	}
	for (const char *at = page; (at = strstr(at, "\n| `")); at++)
		rows++;
	cr_assert(eq(sz, rows, columns), "docs/parquet.md lists columns that are not there");
	for (size_t i = 0; i < TABLES; i++) {
		char quoted[64];

		snprintf(quoted, sizeof(quoted), "`%s", tables[i]);
		cr_assert(strstr(page, quoted) != NULL, "docs/parquet.md does not name %s",
		          tables[i]);
	}
	remove_all(p.root);
}
