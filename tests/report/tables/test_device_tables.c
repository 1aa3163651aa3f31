/* API calls, copies, fills and whole CUDA graphs: by hand, in the manner of nsys. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "tests/support/trace_builder.h"

#define NEAR(actual, expected)                                                    \
	cr_expect(fabs((actual) - (expected)) <= 1e-9 * fabs((double)(expected)), \
	          "%.17g is not %.17g", (actual), (double)(expected))

static void call(struct tb *b, const char *name, int64_t start_ns, int64_t dur_ns, int64_t result)
{
	tb_add(b, WS_KIND_API,
	       &(struct ws_row_api){start_ns, dur_ns, 1, tb_text(b, name), 0, result});
}

static void copy(struct tb *b, uint64_t kind, int64_t start_ns, int64_t dur_ns, uint64_t bytes)
{
	tb_add(b, WS_KIND_MEMCPY,
	       &(struct ws_row_memcpy){.start_ns = start_ns,
	                               .dur_ns = dur_ns,
	                               .pid = 100,
	                               .kind = kind,
	                               .bytes = bytes});
}

Test(device_tables, api_summary_groups_by_recorded_name_and_shows_it_without_version)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	call(b, "cudaLaunchKernel_v7000", 0, 10, 0);
	call(b, "cudaLaunchKernel_v7000", 20, 30, 0);
	call(b, "cudaLaunchKernel_v7001", 60, 5, 1);
	call(b, "cudaGraphLaunch_v10000", 70, 55, 0);
	call(b, "_v1234", 130, 0, 0);
	j = tb_joined(b);
	t = tb_table(j, "api-summary", NULL);
	cr_assert(eq(sz, t->nrows, 4));
	cr_expect_str_eq(tb_str(t, 0, "name"), "cudaGraphLaunch_v10000", "five digits stay");
	cr_expect_str_eq(tb_str(t, 1, "name"), "cudaLaunchKernel");
	cr_expect_str_eq(tb_str(t, 2, "name"), "cudaLaunchKernel", "versions are not merged");
	cr_expect_str_eq(tb_str(t, 1, "recorded_name"), "cudaLaunchKernel_v7000");
	cr_expect_str_eq(tb_str(t, 3, "name"), "_v1234", "a name is more than a version");
	cr_expect(eq(i64, tb_int(t, 1, "total_ns"), 40));
	cr_expect(eq(i64, tb_int(t, 1, "calls"), 2));
	NEAR(tb_real(t, 1, "time_percent"), 40.0);
	NEAR(tb_real(t, 1, "avg_ns"), 20.0);
	NEAR(tb_real(t, 1, "med_ns"), 20.0);
	NEAR(tb_real(t, 1, "std_ns"), sqrt(200.0));
	cr_expect(eq(i64, tb_int(t, 2, "failed"), 1));
	cr_expect(eq(i64, t->totals[1].i, 100));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(device_tables, copies_are_by_direction_and_throughput_is_exact)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	copy(b, 1, 0, 3000000000, 6000000); /* longer than a second: nsys shows 0 here */
	copy(b, 1, 10, 1000000000, 2000000);
	copy(b, 11, 20, 7, 4096);
	copy(b, 200, 30, 1, 1); /* no direction that is known */
	tb_add(b, WS_KIND_MEMSET,
	       &(struct ws_row_memset){.start_ns = 40, .dur_ns = 500, .pid = 100, .bytes = 1000});
	tb_add(b, WS_KIND_MEMSET,
	       &(struct ws_row_memset){.pid = 100, .bytes = 3000, .flags = WS_COPY_NO_TIME});
	j = tb_joined(b);
	t = tb_table(j, "memory-time", NULL);
	cr_assert(eq(sz, t->nrows, 4));
	cr_expect_str_eq(tb_str(t, 0, "operation"), "[CUDA memcpy Host-to-Device]");
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 4000000000));
	NEAR(tb_real(t, 0, "gbs"), 0.002);
	cr_expect_str_eq(tb_str(t, 1, "operation"), "[CUDA memset]");
	cr_expect(eq(i64, tb_int(t, 1, "count"), 1));
	cr_expect(eq(i64, tb_int(t, 1, "bytes"), 1000), "only what has a time");
	cr_expect(eq(i64, tb_int(t, 1, "without_time"), 1));
	cr_expect_str_eq(tb_str(t, 2, "operation"), "[CUDA memcpy Unified Host-to-Device]");
	cr_expect_str_eq(tb_str(t, 3, "operation"), "[CUDA memcpy Unknown]");
	cr_expect(eq(i64, t->totals[1].i, 4000000508));
	ws_table_free(t);

	t = tb_table(j, "memory-size", NULL);
	cr_assert(eq(sz, t->nrows, 4));
	NEAR(tb_real(t, 0, "total_mb"), 8.0);
	NEAR(tb_real(t, 0, "avg_mb"), 4.0);
	NEAR(tb_real(t, 0, "med_mb"), 4.0);
	NEAR(tb_real(t, 0, "std_mb"), sqrt(8.0));
	cr_expect_str_eq(tb_str(t, 1, "operation"), "[CUDA memcpy Unified Host-to-Device]");
	cr_expect(eq(i64, tb_int(t, 2, "total_bytes"), 4000), "sizes are known without times");
	cr_expect(eq(i64, tb_int(t, 2, "total_ns"), 500));
	NEAR(tb_real(t, 2, "gbs"), 2.0);
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* ROCm's profiles have no size of a fill: 108 of them are not 0 bytes at 0 GB/s. */
Test(device_tables, sizes_that_were_not_recorded_are_empty)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	copy(b, 1, 0, 1000, 4000);
	copy(b, 1, 2000, 3000, 0);
	tb_add(b, WS_KIND_MEMSET,
	       &(struct ws_row_memset){.start_ns = 6000, .dur_ns = 500, .pid = 100});
	j = tb_joined(b);
	t = tb_table(j, "memory-time", NULL);
	cr_assert(eq(sz, t->nrows, 2));
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 4000));
	NEAR(tb_real(t, 0, "gbs"), 4.0); /* of the copy whose size is known */
	cr_expect(eq(i64, tb_int(t, 1, "count"), 1));
	cr_expect(tb_is_empty(t, 1, "bytes") && tb_is_empty(t, 1, "gbs"));
	cr_expect(tb_notes_say(t, "Of 2 copies and fills the trace does not say the size."));
	ws_table_free(t);

	t = tb_table(j, "memory-size", NULL);
	cr_assert(eq(sz, t->nrows, 2));
	cr_expect(eq(i64, tb_int(t, 0, "count"), 2));
	NEAR(tb_real(t, 0, "avg_mb"), 0.004);
	cr_expect(eq(i64, tb_int(t, 1, "count"), 1));
	cr_expect(eq(i64, tb_int(t, 1, "total_ns"), 500));
	cr_expect(tb_is_empty(t, 1, "total_mb") && tb_is_empty(t, 1, "total_bytes") &&
	          tb_is_empty(t, 1, "gbs"));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(device_tables, nothing_recorded_is_said_and_no_row_is_made_up)
{
	static const char *const names[] = {"api-summary", "memory-time", "memory-size"};
	struct tb *b = tb_new();
	struct joined *j = tb_joined(b);

	for (size_t i = 0; i < 3; i++) {
		struct ws_table *t = tb_table(j, names[i], NULL);

		cr_expect(eq(sz, t->nrows, 0));
		cr_expect(t->not_recorded != NULL, "%s", names[i]);
		ws_table_free(t);
	}
	joined_free(j);
	tb_free(b);
}

/* Elsewhere a step of one CUDA graph is a quarter idle, for its kernels were not recorded. */
Test(device_tables, a_graph_traced_as_a_whole_keeps_its_device_busy)
{
	struct tb *b = tb_new();
	struct ws_table *t;
	struct joined *j;
	int64_t at;

	for (int step = 0; step < 3; step++) {
		at = 1000 * step;
		tb_push(b, at, "step");
		tb_call(b, at + 1, 1, 50 + (uint64_t)step);
		tb_add(b, WS_KIND_GRAPH_LAUNCH,
		       &(struct ws_row_graph_launch){.start_ns = at + 10,
		                                     .dur_ns = 980,
		                                     .pid = 100,
		                                     .correlation = 50 + (uint64_t)step});
		tb_launch(b, at + 3, "after", at + 991, 4);
		tb_pop(b, at + 1000);
	}
	j = tb_joined(b);
	t = tb_table(j, "execution", NULL);
	for (size_t row = 0; row < t->nrows; row++) {
		NEAR(tb_real(t, row, "busy_us"), 0.984);
		NEAR(tb_real(t, row, "idle_us"), 0.016);
	}
	ws_table_free(t);
	t = tb_table(j, "gpu", NULL);
	cr_expect(eq(i64, tb_int(t, 0, "busy_ns"), 3 * 984));
	/* what their kernels are is not known: no communication, and no SM efficiency */
	cr_expect(eq(i64, tb_int(t, 0, "graph_ns"), 3 * 980));
	cr_expect(eq(i64, tb_int(t, 0, "comm_exposed_ns"), 0));
	cr_expect(eq(i64, tb_int(t, 0, "computation_ns"), 3 * 4));
	cr_expect(tb_is_empty(t, 0, "sm_efficiency"));
	ws_table_free(t);
	t = tb_table(j, "summary", NULL);
	cr_expect_str_eq(tb_str(t, tb_find(t, 0, "item", "why the device is idle"), "text"),
	                 "the GPU computes 98.4 % of the time");
	ws_table_free(t);
	t = tb_table(j, "losses", NULL);
	cr_expect(eq(i64,
	             tb_int(t, tb_find(t, 0, "cause", "CUDA graphs traced as a whole"), "count"),
	             3));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* gfx942 calls itself 9.4, as a Hopper GPU would 9.0. */
static void add_compute_capability(struct tb *b, uint64_t device)
{
	static const struct {
		const char *name;
		int64_t value;
	} attributes[] = {{"compute_capability_major", 9}, {"compute_capability_minor", 4}};

	for (size_t i = 0; i < 2; i++)
		tb_add(b, WS_KIND_DEVICE_ATTR,
		       &(struct ws_row_device_attr){.device = device,
		                                    .attr = tb_text(b, attributes[i].name),
		                                    .value = attributes[i].value});
}

static void add_work(struct tb *b, uint64_t device, const char *kernel)
{
	tb_kernel(b, &(struct tb_kernel){.name = kernel,
	                                 .start_ns = 100,
	                                 .dur_ns = 50,
	                                 .device = device,
	                                 .pid = 100});
	tb_add(b, WS_KIND_MEMCPY,
	       &(struct ws_row_memcpy){.start_ns = 200,
	                               .dur_ns = 10,
	                               .bytes = 64,
	                               .kind = 1,
	                               .pid = 100,
	                               .device = device});
}

Test(device_tables, an_amd_device_has_amd_words_and_none_of_nvidias_numbers)
{
	struct tb *b = tb_new();
	struct ws_table *t;
	struct joined *j;
	size_t row;

	tb_device(b, 1, WS_DEVICE_CUDA, "AMD Instinct MI300X");
	add_compute_capability(b, 1);
	add_work(b, 1, "Cijk_Alik_Bljk_BBS_BH_MT128x256x32_MI16x16x1_SN");
	j = tb_joined(b);

	t = tb_table(j, "gpu", NULL);
	row = tb_find(t, 0, "name", "AMD Instinct MI300X");
	cr_expect(tb_is_empty(t, row, "capability"));
	cr_expect(tb_is_empty(t, row, "sm_efficiency"));
	NEAR(tb_real(t, row, "tensor"), 100);
	ws_table_free(t);
	t = tb_table(j, "memory-time", NULL);
	cr_expect_str_eq(tb_str(t, 0, "operation"), "[HIP memcpy Host-to-Device]");
	ws_table_free(t);
	t = tb_table(j, "memory-size", NULL);
	cr_expect_str_eq(tb_str(t, 0, "operation"), "[HIP memcpy Host-to-Device]");
	cr_expect_str_eq(t->def->title, "HIP GPU Memory Operations by Size");
	ws_table_free(t);
	t = tb_table(j, "summary", NULL);
	tb_find(t, 0, "item", "kernels on matrix cores, by their names");
	cr_expect(eq(sz, tb_count(t, "item", "kernels on Tensor Cores, by their names"), 0));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(device_tables, a_device_without_a_name_is_amds_where_the_program_called_hip)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_device(b, 1, WS_DEVICE_CUDA, "");
	add_work(b, 1, "k");
	tb_add(b, WS_KIND_API,
	       &(struct ws_row_api){.start_ns = 1,
	                            .dur_ns = 2,
	                            .thread = 1,
	                            .name = tb_text(b, "hipMemcpyAsync")});
	j = tb_joined(b);
	t = tb_table(j, "memory-time", NULL);
	cr_expect_str_eq(tb_str(t, 0, "operation"), "[HIP memcpy Host-to-Device]");
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(device_tables, what_no_name_tells_is_no_measurement_of_zero)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_launch(b, 10, "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", 20, 30);
	tb_launch(b, 60, "somebodys_own", 70, 10);
	j = tb_joined(b);
	t = tb_table(j, "gpu", NULL);
	cr_expect(tb_is_empty(t, 0, "tensor"));
	NEAR(tb_real(t, 0, "tensor_unknown"), 100);
	ws_table_free(t);
	t = tb_table(j, "classes", NULL);
	cr_expect(tb_is_empty(t, tb_find(t, 0, "class", "gemm"), "tensor_share"));
	cr_expect(tb_is_empty(t, tb_find(t, 0, "class", "(unclassified)"), "tensor_share"));
	ws_table_free(t);
	t = tb_table(j, "summary", NULL);
	cr_expect(eq(sz, tb_count(t, "item", "kernels on Tensor Cores, by their names"), 0));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}
