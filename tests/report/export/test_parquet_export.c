/* What an export into Parquet holds. */
#include "tests/report/export/exported_parquet.h"

#include "report/export/parquet/rollup.h"
#include "report/table/table.h"

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
	tb_add(b, WS_KIND_MEMCPY,
	       &(struct ws_row_memcpy){
	               .start_ns = 90, .dur_ns = -5, .pid = 200, .kind = 2, .bytes = 8});
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
	cr_assert(is_null(f, 2, "start_ns") && is_null(f, 2, "dur_ns"), "no time is less than 0");
	cr_assert(eq(i64, pq_int(f, 2, "bytes"), 8));
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
	struct joined *j;
	struct ws_table *summary;
	struct pq_file *kernels, *rollup;
	struct ws_err err;

	snprintf(p.trace, sizeof(p.trace), "%s/traces/%s", WS_FIXTURES, fixture);
	cr_assert(joined_open(&j, p.trace, &err) == WS_OK, "%s", err.text);
	cr_assert(export_parquet(p.trace, p.out, NULL, &err) == WS_OK, "%s", err.text);
	cr_assert(ws_rollup_export(j->m, &j->rows,
	                           &(struct ws_export_job){.to = p.out,
	                                                   .opts = &(struct ws_export_opts){0},
	                                                   .rank = -1},
	                           &err) == WS_OK,
	          "%s", err.text);
	kernels = read_table(p.out, "kernels");
	rollup = read_table(p.out, "rollup");
	summary = tb_table(j, "kernel-summary", NULL);
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
	joined_free(j);
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
	cr_assert(from != NULL, "docs/reference/parquet.md has no section %s", head);
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
		cr_assert(section_has(page, table, line), "docs/reference/parquet.md, %s, lacks:%s",
		          table, line);
	}
}

Test(parquet_export, the_page_lists_every_column)
{
	static const char *const joined[] = {"kernels", "nvtx", "facts", "rollup",
	                                     "rollup_histogram"};
	static char page[1 << 16];
	struct place p = new_place();
	struct joined *j;
	struct ws_err err;
	FILE *in = fopen(WS_SOURCE_DIR "/docs/reference/parquet.md", "r");
	size_t rows = 0, columns = 0;

	cr_assert(in != NULL);
	cr_assert(lt(sz, fread(page, 1, sizeof(page) - 1, in), sizeof(page) - 1));
	fclose(in);
	snprintf(p.trace, sizeof(p.trace), "%s/traces/empty.wtrace", WS_FIXTURES);
	cr_assert(eq(int, export_parquet(p.trace, p.out, NULL, &err), WS_OK));
	cr_assert(eq(int, joined_open(&j, p.trace, &err), WS_OK));
	cr_assert(eq(int,
	             ws_rollup_export(j->m, &j->rows,
	                              &(struct ws_export_job){.to = p.out,
	                                                      .opts = &(struct ws_export_opts){0},
	                                                      .rank = -1},
	                              &err),
	             WS_OK));
	joined_free(j);
	for (size_t i = 0; i < sizeof(joined) / sizeof(joined[0]); i++) {
		struct pq_file *f = read_table(p.out, joined[i]);

		compare_section(page, f, joined[i]);
		columns += f->ncolumns;
		pq_free(f);
	}
	for (const char *at = page; (at = strstr(at, "\n| `")); at++)
		rows++;
	cr_assert(eq(sz, rows, columns),
	          "docs/reference/parquet.md lists columns that are not there");
	for (size_t i = 0; i < TABLES; i++) {
		char quoted[64];

		snprintf(quoted, sizeof(quoted), "`%s", tables[i]);
		cr_assert(strstr(page, quoted) != NULL,
		          "docs/reference/parquet.md does not name %s", tables[i]);
	}
	remove_all(p.root);
}
