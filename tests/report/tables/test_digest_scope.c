/*
 * Which part of a run a digest counts: the steps that the user names, and scopes.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "tests/report/tables/oracle/compare.h"
#include "tests/support/trace_builder.h"

/* --- steps that the user names ------------------------------------------------------------- */

Test(digest_scope, steps_are_what_the_user_names)
{
	static const char *const patterns[] = {"iter*", "loop/iter 1", "nothing"};
	struct tb *b = tb_new();
	struct ws_trace_reader *r = NULL;
	struct ws_bytes bytes;
	struct ws_err err;

	tb_push(b, 0, "loop");
	for (int i = 0; i < 3; i++) {
		tb_push(b, 1000 * i + 10, i % 2 ? "iter 1" : "iter 0");
		tb_launch(b, 1000 * i + 20, "k", 1000 * i + 30, 100 + i);
		tb_pop(b, 1000 * i + 500);
	}
	tb_pop(b, 4000);
	bytes = tb_close(b);
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK));
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		const struct ws_model_opts opts = {.step = patterns[i]};
		const struct ws_filter filter = WS_FILTER_ALL;
		const struct ws_table_def *def = ws_table_def_by_name("steps");
		struct ws_report *report = NULL;
		struct loaded *l = NULL;
		struct ws_table *t;

		cr_assert(eq(int, loaded_open_reader(&l, r, "t", &opts, &err), WS_OK));
		t = oracle_product_table(l, "steps", NULL);
		cr_expect(eq(sz, t->nrows, i == 0 ? 3 : i == 1));
		/* a pattern that names nothing is told */
		cr_assert(eq(int,
		             ws_report_stream(r, "t", &opts, &filter, &def, 1, NULL, &report, &err),
		             t->nrows || !patterns[i] ? WS_OK : WS_USAGE));
		if (report)
			oracle_same_rows(t, report->tables[0], patterns[i]);
		ws_table_free(t);
		ws_report_free(report);
		loaded_free(l);
	}
	ws_trace_reader_free(r);
	tb_free(b);
}

/* --- scope ------------------------------------------------------------------------------- */

/* Setup, a warm-up, and two steps, in which another thread launches `bwd`, as autograd does. */
static struct tb *scoped_trace(void)
{
	struct tb *b = tb_new();

	tb_thread(b, 2, 100);
	tb_push(b, 0, "setup");
	tb_launch(b, 1, "init", 10, 7);
	tb_pop(b, 20);
	tb_push(b, 100, "warm-up");
	tb_push(b, 110, "step");
	tb_launch(b, 120, "fwd", 130, 1000);
	tb_pop(b, 900);
	tb_pop(b, 950);
	for (int i = 0; i < 2; i++) {
		int64_t t = 2000 + 1000 * i;

		tb_on_thread(b, 1);
		tb_push(b, t, "step");
		tb_launch(b, t + 10, "fwd", t + 100, 30);
		tb_on_thread(b, 2);
		tb_launch(b, t + 200, "bwd", t + 300, 50);
		tb_on_thread(b, 1);
		tb_pop(b, t + 500);
		tb_launch(b, t + 600, "between", t + 650, 5);
	}
	return b;
}

static int64_t sum_in_scope(struct joined *j, enum ws_scope scope)
{
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_selection sel;
	struct ws_err err;
	int64_t ns;

	filter.scope = scope;
	cr_assert(eq(int, ws_select_rows(j->m, &j->rows, &filter, &sel, &err), WS_OK));
	ns = sel.gpu_ns;
	ws_selection_release(&sel);
	return ns;
}

Test(digest_scope, scopes_are_the_parts_of_a_run)
{
	struct tb *b = scoped_trace();
	struct joined *j = tb_joined(b);
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_table *t;

	cr_expect(eq(i64, sum_in_scope(j, WS_SCOPE_STEPS), 160));
	cr_expect(eq(i64, sum_in_scope(j, WS_SCOPE_WARM_UP), 1000));
	cr_expect(eq(i64, sum_in_scope(j, WS_SCOPE_SETUP), 7));
	cr_expect(eq(i64, sum_in_scope(j, WS_SCOPE_OUTSIDE), 10));
	cr_expect(eq(i64, sum_in_scope(j, WS_SCOPE_ALL), 1177));

	/* one number of kernels and one time of the steps, in `ranges` as in `steps` */
	filter.scope = WS_SCOPE_STEPS;
	t = tb_table(j, "ranges", &filter);
	cr_assert(eq(sz, t->nrows, 3));
	cr_expect(eq(i64, ws_table_cells(t, 0)[WS_TC_ranges_inclusive_ns].i, 160));
	cr_expect(eq(i64, ws_table_cells(t, 0)[WS_TC_ranges_ops_inclusive].i, 4));
	ws_table_free(t);
	t = tb_table(j, "steps", &filter);
	cr_assert(eq(sz, t->nrows, 3), "the warm-up is shown, once");
	for (size_t row = 1; row < 3; row++) {
		cr_expect(eq(i64, ws_table_cells(t, row)[WS_TC_steps_kernels].i, 2));
		cr_expect(eq(i64, ws_table_cells(t, row)[WS_TC_steps_gpu_ns].i, 80));
	}
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(digest_scope, without_work_in_steps_the_scope_is_the_whole_trace)
{
	struct tb *b = tb_new();
	struct joined *j;

	/* no launch is recorded: nobody knows what belongs to the step */
	tb_push(b, 10, "step");
	tb_pop(b, 100);
	tb_kernel(b, &(struct tb_kernel){"k", 20, 40, 0, 0, 100, 0});
	j = tb_joined(b);
	cr_expect(eq(i64, sum_in_scope(j, WS_SCOPE_STEPS), 40));
	joined_free(j);
	tb_free(b);
}
