/*
 * The rules of the advice as a list, and what a diff takes of them; what each says:
 * ../scenarios/advice.scenario.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

#include "report/advice/advice.h"
#include "tests/report/advice/judged_traces.h"
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

/* "kineto/x, nsys/y": up to so many files where the rule is in the list; how many there are. */
static size_t print_files(FILE *f, const char *rule, int fires)
{
	enum { MOST = 2 };
	char wanted[8], text[256];
	size_t n = 0;

	snprintf(wanted, sizeof(wanted), " %s ", rule);
#define FILES_OF(list)                                                                           \
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {                              \
		snprintf(text, sizeof(text), " %s ", fires ? list[i].fires : list[i].quiet);     \
		if (strstr(text, wanted) && n++ < MOST)                                          \
			fprintf(f, "%s%.*s", n > 1 ? ", " : "", (int)strcspn(list[i].file, "."), \
			        list[i].file);                                                   \
	}
	FILES_OF(judged_fixtures)
	FILES_OF(judged_local)
	return n;
}

static void print_traces(FILE *f)
{
	fputs("| rule | fires on | is quiet on | by hand |\n|---|---|---|---|\n", f);
	for (size_t i = 0; i < WS_RULES; i++) {
		const struct judged_by_hand *hand = &judged_by_hand[i];

		cr_expect_str_eq(hand->rule, ws_rule_defs[i].id);
		fprintf(f, "| %s | ", hand->rule);
		print_files(f, hand->rule, 1);
		fputs(" | ", f);
		cr_expect(print_files(f, hand->rule, 0) > 0, "%s", hand->rule);
		fprintf(f, " | `%s`", hand->fires);
		if (strcmp(hand->fires, hand->quiet) != 0)
			fprintf(f, ", `%s`", hand->quiet);
		fputs(" |\n", f);
	}
}

Test(advice, each_rule_has_a_trace_where_it_fires_and_one_where_it_does_not)
{
	cr_assert(eq(sz, sizeof(judged_by_hand) / sizeof(*judged_by_hand), WS_RULES));
	doc_section_check("reference/advice.md", "traces", print_traces);
}
