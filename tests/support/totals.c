#include "tests/support/totals.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "report/tables/tables.h"
#include "tests/support/trace_builder.h"

static int64_t sum(const struct ws_table *t, const char *column)
{
	int64_t total = 0;

	for (size_t row = 0; row < t->nrows; row++)
		if (!tb_is_empty(t, row, column))
			total += tb_int(t, row, column);
	return total;
}

static double sum_real(const struct ws_table *t, const char *column, size_t from, size_t to)
{
	double total = 0;

	for (size_t row = from; row < to; row++)
		if (!tb_is_empty(t, row, column))
			total += tb_real(t, row, column);
	return total;
}

static void check_totals(const struct ws_table *t)
{
	for (size_t c = 0; t->totals && c < t->def->ncolumns; c++)
		if (t->totals[c].type == WS_CELL_INT)
			cr_assert(eq(i64, sum(t, t->def->columns[c].id), t->totals[c].i), "%s.%s",
			          t->def->name, t->def->columns[c].id);
}

static void check_summary_sections(const struct ws_table *t, double gpu_ns)
{
	static const char *const sections[] = {"GPU time by phase", "GPU time by class",
	                                       "Top kernels"};

	for (size_t s = 0; s < 3; s++) {
		double time = 0, share = 0;

		for (size_t row = 0; row < t->nrows; row++) {
			if (strcmp(tb_str(t, row, "section"), sections[s]) != 0)
				continue;
			time += tb_real(t, row, "time_ns");
			share += gpu_ns > 0 ? tb_real(t, row, "share") : 0;
		}
		cr_assert(eq(dbl, time, gpu_ns), "%s", sections[s]);
		cr_assert(fabs(share - (gpu_ns > 0 ? 100 : 0)) < 1e-6);
	}
}

/* A class has the same kernels and time on the first sheet and on its own. */
static void check_classes(const struct ws_table *classes, const struct ws_table *summary)
{
	for (size_t row = 0; row < summary->nrows; row++) {
		const char *class = tb_str(summary, row, "item");
		size_t c;

		if (strcmp(tb_str(summary, row, "section"), "GPU time by class") != 0)
			continue;
		/* the one name in brackets is that of no class */
		c = tb_find(classes, 0, "class", *class == '(' ? "(unclassified)" : class);
		cr_assert(eq(i64, tb_int(classes, c, "kernels"), tb_int(summary, row, "count")));
		cr_assert(eq(dbl, (double)tb_int(classes, c, "gpu_ns"),
		             tb_real(summary, row, "time_ns")));
	}
}

/* Of each direction some of the parts, then the whole. */
static void check_attention(const struct ws_table *t)
{
	static const char *const columns[] = {"kernels", "gpu_ns"},
	                         *const parts[] = {"computing attention scores",
	                                           "computing softmax", "final matmul"};

	for (size_t i = 0; i < 2; i++) {
		double part[3] = {0}, products = -1;

		for (size_t row = 0; row < t->nrows; row++) {
			const char *name = tb_str(t, row, "part");
			const double n =
			        tb_is_empty(t, row, columns[i]) ? 0 : tb_real(t, row, columns[i]);

			for (size_t p = 0; p < 3; p++)
				part[p] += !strcmp(name, parts[p]) ? n : 0;
			if (!strcmp(name, "both products"))
				products = n;
			if (strcmp(name, "whole attention") != 0)
				continue;
			cr_assert(products < 0 || fabs(part[0] + part[2] - products) < 1e-6);
			cr_assert(part[0] + part[1] + part[2] <= n + 1e-6);
			memset(part, 0, sizeof(part));
			products = -1;
		}
		cr_assert(eq(dbl, part[0] + part[1] + part[2], 0), "no whole behind its parts");
	}
}

static void check_steps(const struct ws_table *t)
{
	static const char *const phases[][2] = {
	        {"forward_ns", "gpu_forward_ns"},     {"loss_ns", "gpu_loss_ns"},
	        {"backward_ns", "gpu_backward_ns"},   {"optimizer_ns", "gpu_optimizer_ns"},
	        {"remainder_ns", "gpu_remainder_ns"},
	};

	for (size_t row = 0; row < t->nrows; row++) {
		int64_t wall = 0, gpu = 0;

		for (size_t p = 0; p < 5; p++) {
			if (!tb_is_empty(t, row, phases[p][0]))
				wall += tb_int(t, row, phases[p][0]);
			if (!tb_is_empty(t, row, phases[p][1]))
				gpu += tb_int(t, row, phases[p][1]);
		}
		/* a remainder is told beside phases only */
		if (!tb_is_empty(t, row, "remainder_ns"))
			cr_assert(eq(i64, wall, tb_int(t, row, "host_ns")));
		if (!tb_is_empty(t, row, "gpu_remainder_ns"))
			cr_assert(eq(i64, gpu, tb_int(t, row, "gpu_ns")));
	}
}

/* The columns up to Other are Total, and busy with idle, and the uses of each device. */
static void check_execution(const struct ws_table *t)
{
	static const char *const roles[] = {"kernel_us", "memcpy_us",  "memset_us",
	                                    "comm_us",   "runtime_us", "data_loader_us",
	                                    "cpu_us",    "other_us"};
	static const char *const uses[] = {"computing_us", "collective_us", "copy_us", "launch_us",
	                                   "host_us",      "sync_us",       "data_us", "wait_us",
	                                   "device_us",    "start_us",      "end_us",  "unknown_us",
	                                   "setup_us",     "paging_us"};

	for (size_t row = 0; row < t->nrows; row++) {
		double total = tb_real(t, row, "total_us"), idle = tb_real(t, row, "idle_us");
		double all = 0, used = 0;

		for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
			all += tb_real(t, row, roles[i]);
		for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++)
			used += tb_real(t, row, uses[i]);
		cr_assert(fabs(all - total) <= 1e-9 * fabs(total) + 1e-9);
		cr_assert(fabs(tb_real(t, row, "busy_us") + idle - total) <= 1e-9 * total + 1e-9);
		/* once for each device that ran */
		cr_assert(total < 1e-9 ||
		          fabs(used / total - round(used / total)) <= 1e-9 * (1 + used / total));
	}
}

static void check_gpu(const struct ws_table *t)
{
	for (size_t row = 0; row < t->nrows; row++) {
		int64_t busy = tb_int(t, row, "busy_ns");

		cr_assert(eq(i64,
		             tb_int(t, row, "computation_ns") + tb_int(t, row, "comm_exposed_ns") +
		                     tb_int(t, row, "copy_exposed_ns"),
		             busy));
		cr_assert(eq(i64, busy + tb_int(t, row, "idle_ns"), tb_int(t, row, "timeline_ns")));
	}
}

/* A share column whose total is 100 adds up to it. */
static void check_shares(const struct ws_table *t)
{
	for (size_t c = 0; t->totals && c < t->def->ncolumns; c++) {
		const struct ws_table_column *column = &t->def->columns[c];

		if (t->totals[c].type == WS_CELL_REAL && column->display == WS_DISPLAY_PERCENT &&
		    t->totals[c].r == 100 && t->nrows)
			cr_assert(fabs(sum_real(t, column->id, 0, t->nrows) - 100) < 1e-6 ||
			                  !strcmp(column->id, "tensor_share"),
			          "%s.%s", t->def->name, column->id);
	}
}

/* Of a table of kernels; 0 where none was recorded, which has no totals. */
static int64_t total_of(const struct ws_report *report, const char *table, int column)
{
	const struct ws_cell *totals = tb_table_of(report, table)->totals;

	return totals ? totals[column].i : 0;
}

void totals_check(const struct ws_report *report)
{
	const int64_t gpu_ns = total_of(report, "kernel-summary", WS_TC_kernel_summary_total_ns);

	for (size_t i = 0; i < report->ntables; i++) {
		check_totals(report->tables[i]);
		check_shares(report->tables[i]);
	}
	cr_assert(eq(i64, total_of(report, "ranges", WS_TC_ranges_exclusive_ns), gpu_ns));
	cr_assert(eq(i64, total_of(report, "range-kernels", WS_TC_range_kernels_total_ns), gpu_ns));
	cr_assert(eq(i64, total_of(report, "classes", WS_TC_classes_gpu_ns), gpu_ns));
	cr_assert(eq(i64, total_of(report, "classes", WS_TC_classes_by_name_ns), gpu_ns));
	cr_assert(eq(i64, total_of(report, "kernel-launches", WS_TC_kernel_launches_total_ns),
	             gpu_ns));
	check_summary_sections(tb_table_of(report, "summary"), (double)gpu_ns);
	check_classes(tb_table_of(report, "classes"), tb_table_of(report, "summary"));
	check_attention(tb_table_of(report, "softmax-matmul"));
	check_steps(tb_table_of(report, "steps"));
	check_execution(tb_table_of(report, "execution"));
	check_gpu(tb_table_of(report, "gpu"));
}
