/* Ranges that no text can hold; all else of them: ../scenarios/nesting.scenario. */
#include <string.h>

#include "tests/report/pass/tree.h"

Test(nvtx_tree, hostile_names_stay_whole_and_slashes_are_escaped)
{
	struct tb *b = tb_new();
	const struct ws_model *m;
	struct tree r;
	char *text;
	size_t len;

	tb_push(b, 0, "x/y");
	tb_push_bytes(b, 1, "n\0l\xff", 4);
	tb_push_bytes(b, 2, "", 0);
	r = tree_of(b);
	m = r.j->m;
	ws_path_text(&m->ranges, r.range[2].context->path, m->texts, &text, &len);
	cr_assert(eq(sz, len, 10));
	cr_expect(not(memcmp(text, "x\\/y/n\0l\xff/", 11)));
	free(text);
	tree_free(&r);
	tb_free(b);
}

Test(nvtx_tree, a_program_that_never_pops_costs_no_endless_paths)
{
	enum { N = 20000 };
	struct tb *b = tb_new();
	struct tree r;

	for (int64_t i = 0; i < N; i++)
		tb_push(b, i, "a");
	r = tree_of(b);
	cr_expect(eq(sz, r.j->m->ranges.npaths, WS_RANGE_MAX_DEPTH));
	cr_expect(eq(u64, r.j->m->ranges.folded, N - WS_RANGE_MAX_DEPTH));
	cr_expect(eq(u32, r.range[N - 1].parent, N - 2));
	tree_free(&r);
	tb_free(b);
}
