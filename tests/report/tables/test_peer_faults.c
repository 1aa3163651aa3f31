/*
 * What other tools' reports get wrong, each as a test that ours do not: kernels that vanish,
 * shares over 100 %, tables of one report that disagree, sums that a join has doubled, ratios
 * without a direction, MB that are MiB.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "report/tables/tables.h"
#include "tests/support/trace_builder.h"

#define FLASH                                                                                    \
	"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false>>(" \
	"pytorch_flash::Flash_fwd_params)"

static double sum(const struct ws_table *t, const char *column)
{
	double total = 0;

	for (size_t row = 0; row < t->nrows; row++)
		if (!tb_is_empty(t, row, column))
			total += tb_real(t, row, column);
	return total;
}

/* 30 % of the GPU time has no launch record. */
Test(peer_faults, kernels_without_a_launch_stay_and_shares_add_up_to_100)
{
	static const struct {
		const char *table, *share, *time;
	} tables[] = {
	        {"kernel-summary", "time_percent", "total_ns"},
	        {"kernel-launches", "time_percent", "total_ns"},
	        {"classes", "share", "gpu_ns"},
	};
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_launch(b, 1, "ampere_sgemm_128x64_tn", 10, 70);
	tb_kernel(b, &(struct tb_kernel){"orphan", 90, 30, 777, 0, 100, 0});
	j = tb_joined(b);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		t = tb_table(j, tables[i].table, NULL);
		cr_expect(fabs(sum(t, tables[i].share) - 100) < 1e-9, "%s", tables[i].table);
		cr_expect(sum(t, tables[i].time) == 100, "%s", tables[i].table);
		ws_table_free(t);
	}
	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "(no launch record)"), "exclusive_ns"),
	             30));
	cr_expect(sum(t, "exclusive_ns") == 100);
	ws_table_free(t);
	t = tb_table(j, "losses", NULL);
	cr_expect(eq(i64,
	             tb_int(t, tb_find(t, 0, "cause", "kernels without a launch record"), "count"),
	             1));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* Flash attention is not "other" in one table and attention in the next. */
Test(peer_faults, all_tables_of_a_report_have_one_class_for_a_kernel)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *summary, *classes, *kernels;
	size_t row;

	tb_launch(b, 1, FLASH, 10, 40);
	tb_launch(b, 3, "ampere_sgemm_128x64_tn", 60, 60);
	j = tb_joined(b);
	summary = tb_table(j, "summary", NULL);
	classes = tb_table(j, "classes", NULL);
	kernels = tb_table(j, "kernel-summary", NULL);
	for (row = 0; row < kernels->nrows; row++) {
		const char *class = tb_str(kernels, row, "op_class");
		size_t c = tb_find(classes, 0, "class", class);
		size_t s = tb_find(summary, tb_find(summary, 0, "section", "GPU time by class"),
		                   "item", class);

		cr_expect(tb_real(kernels, row, "total_ns") == tb_real(classes, c, "gpu_ns"));
		cr_expect(tb_real(kernels, row, "total_ns") == tb_real(summary, s, "time_ns"));
		cr_expect(tb_real(classes, c, "share") == tb_real(summary, s, "share"));
	}
	cr_expect_str_eq(tb_str(kernels, 1, "op_class"), "attention");
	ws_table_free(summary);
	ws_table_free(classes);
	ws_table_free(kernels);
	joined_free(j);
	tb_free(b);
}

/* One name on two devices, launched in two ranges: a join by name alone would count it twice. */
Test(peer_faults, no_time_counts_twice_where_a_name_stands_in_several_rows)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_device(b, 1, WS_DEVICE_CUDA, "Second GPU");
	tb_push(b, 0, "one");
	tb_launch(b, 1, "k", 10, 5);
	tb_pop(b, 3);
	tb_push(b, 4, "two");
	tb_launch(b, 5, "k", 20, 7);
	tb_pop(b, 8);
	tb_call(b, 9, 1, 50);
	tb_kernel(b, &(struct tb_kernel){"k", 30, 11, 50, 1, 100, 0});
	j = tb_joined(b);
	t = tb_table(j, "kernel-summary", NULL);
	cr_expect(eq(sz, t->nrows, 1));
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 23));
	ws_table_free(t);
	t = tb_table(j, "range-kernels", NULL);
	cr_expect(eq(sz, t->nrows, 3));
	cr_expect(sum(t, "total_ns") == 23);
	ws_table_free(t);
	t = tb_table(j, "launch-latency", NULL);
	cr_expect(eq(i64, t->totals[WS_TC_launch_latency_count].i, 3));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* "speedup (trace2/trace1)" that means slower: every ratio of ours says what is over what. */
Test(peer_faults, ratios_say_their_direction_and_shares_what_they_are_of)
{
	size_t n;
	const struct ws_table_def *const *diffs = ws_diff_defs(&n);

	for (size_t d = 0; d < n; d++)
		for (size_t c = 0; c < diffs[d]->ncolumns; c++)
			if (diffs[d]->columns[c].display == WS_DISPLAY_RATIO)
				/* itself, or the ends of its interval */
				cr_expect(strcmp(diffs[d]->columns[c].title, "B / A") == 0 ||
				                  strstr(diffs[d]->columns[c].definition, "B / A"),
				          "%s: %s", diffs[d]->name, diffs[d]->columns[c].title);
	diffs = ws_table_defs(&n);
	for (size_t d = 0; d < n; d++)
		for (size_t c = 0; c < diffs[d]->ncolumns; c++) {
			const struct ws_table_column *column = &diffs[d]->columns[c];

			/* an occupancy is no share of a sum */
			if (column->display != WS_DISPLAY_PERCENT ||
			    strstr(column->title, "Occupancy"))
				continue;
			cr_expect(strstr(column->definition, "over ") ||
			                  strstr(column->definition, " of ") ||
			                  strstr(column->definition, "As in") ||
			                  strstr(column->definition, "The same"),
			          "%s, %s: of what?", diffs[d]->name, column->title);
		}
}

/* MB is 10^6 and GB/s 10^9 bytes per second. */
Test(peer_faults, megabytes_are_decimal)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_add(b, WS_KIND_MEMCPY,
	       &(struct ws_row_memcpy){
	               .start_ns = 10, .dur_ns = 1000, .bytes = 1 << 20, .kind = 1});
	j = tb_joined(b);
	t = tb_table(j, "memory-size", NULL);
	cr_expect(fabs(tb_real(t, 0, "total_mb") - 1.048576) < 1e-12);
	cr_expect(fabs(tb_real(t, 0, "gbs") - 1048.576) < 1e-9);
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}
