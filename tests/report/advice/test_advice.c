/*
 * The rules of the advice as a list, and what a diff takes of them; what each says:
 * ../scenarios/advice.scenario.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

#include "report/advice/advice.h"
#include "tests/support/doc_section.h"
#include "tests/support/trace_builder.h"

#define US 1000

/* 1 ms of one long kernel, then a range of 100 us with ten kernels of 2 us, each launched as it
 * begins. */
static struct tb *busy_run_with_a_slow_part(void)
{
	struct tb *b = tb_new();

	tb_push(b, 0, "step");
	tb_push(b, 0, "forward");
	tb_launch(b, 1 * US, "long", 10 * US, 1000 * US);
	tb_pop(b, 2 * US);
	tb_push(b, 3 * US, "optimizer");
	for (int64_t i = 0; i < 10; i++)
		tb_launch(b, (1010 + 10 * i) * US, "short", (1010 + 10 * i) * US, 2 * US);
	tb_pop(b, 1108 * US);
	tb_pop(b, 1110 * US);
	return b;
}

Test(advice, launch_bound_paths_tell_a_diff_where_dtypes_do_not_show)
{
	struct tb *b = busy_run_with_a_slow_part();
	struct joined *joined = tb_joined(b);
	struct ws_selection sel;
	const struct ws_idle *idle;
	size_t bound = 0;

	ws_select_rows(joined->m, &joined->rows, NULL, &sel);
	idle = ws_idle_find(joined->m, &sel);
	for (uint32_t p = 0; p < joined->m->ranges.npaths; p++) {
		int is_optimizer = joined->m->ranges.paths[p].name == WS_TEXT_OPTIMIZER;

		cr_expect(eq(int, ws_path_is_launch_bound(idle, p), is_optimizer));
		if (!is_optimizer)
			continue;
		bound++;
		cr_expect(eq(i64, idle->path_kernel_ns[p], 20000));
		cr_expect(eq(i64, idle->path_gap_ns[WS_USE_LAUNCH][p], 72000));
	}
	cr_expect(eq(sz, bound, 1));
	ws_selection_release(&sel);
	joined_free(joined);
	tb_free(b);
}

/* --- docs/reference/advice.md --------------------------------------------------------------- */

static void print_rules(FILE *f)
{
	fputs("| rule | looks for | fires when | what to do |\n|---|---|---|---|\n", f);
	for (int i = 0; i < WS_RULES; i++)
		fprintf(f, "| %s | %s | %s. | %s. |\n", ws_rule_defs[i].id, ws_rule_defs[i].title,
		        ws_rule_defs[i].condition, ws_rule_defs[i].advice);
}

Test(advice, the_page_has_the_rules_as_they_are)
{
	doc_section_check("reference/advice.md", "rules", print_rules);
}
