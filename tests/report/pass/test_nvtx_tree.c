/* Which ranges NVTX events make, and which lies in which: by hand. */
#include <string.h>

#include "report/model/model.h"
#include "tests/report/pass/tree.h"

/* --- events in the making: threads 1 and 2 of one process, 3 of another ---------------------- */

static struct tb *b;

static void begin(void)
{
	b = tb_new();
	tb_thread(b, 2, 100);
	tb_thread(b, 3, 200);
	tb_in_domain(b, "");
}

static void push(int64_t t, const char *name)
{
	tb_push(b, t, name);
}
static void pop(int64_t t)
{
	tb_pop(b, t);
}
/* The next event happens on this thread, in this domain. */
static void at(unsigned thread, const char *domain)
{
	tb_on_thread(b, thread);
	tb_in_domain(b, domain);
}
/* What follows is of the first thread and no domain again. */
static void back(void)
{
	at(1, "");
}

static struct tree end(int64_t end_ns)
{
	tb_mark(b, end_ns, "the end");
	return tree_of(b);
}

static void done(struct tree *r)
{
	tree_free(r);
	tb_free(b);
}

static void path_is(const struct tree *r, uint32_t path, const char *expected)
{
	const struct ws_model *m = r->j->m;
	char *text;
	size_t len;

	ws_path_text(&m->ranges, path, m->texts, &text, &len);
	cr_expect(eq(sz, len, strlen(text)));
	cr_expect_str_eq(text, expected);
	free(text);
}

Test(nvtx_tree, push_and_pop_nest)
{
	const struct tb_op op = {.flops = 1, .op = "gemm"};
	struct tree r;

	begin();
	push(0, "a");
	push(10, "b");
	pop(20);
	tb_push_op(b, 30, "b", &op);
	pop(45);
	pop(50);
	r = end(50);
	cr_assert(eq(sz, r.n, 3));
	cr_expect(eq(i64, r.range[0].start_ns, 0));
	cr_expect(eq(i64, r.range[0].end_ns, 50));
	cr_expect(eq(u32, r.range[0].parent, WS_NONE));
	cr_expect(eq(u32, r.range[1].parent, 0));
	cr_expect(eq(u32, r.range[2].parent, 0));
	cr_expect(eq(i64, r.range[1].end_ns, 20));
	cr_expect(eq(i64, r.range[2].end_ns, 45));
	cr_expect(eq(u32, r.range[1].context->path, r.range[2].context->path),
	          "two instances share a path");
	cr_expect(eq(sz, r.j->m->ranges.npaths, 2));
	cr_expect(eq(u32, r.range[1].context->payload, WS_NONE));
	cr_expect(ne(u32, r.range[2].context->payload, WS_NONE), "the payload is that of the push");
	path_is(&r, r.range[2].context->path, "a/b");
	done(&r);
}

Test(nvtx_tree, recursion_makes_a_path_of_its_own)
{
	struct tree r;

	begin();
	push(0, "a");
	push(1, "a");
	push(2, "a");
	pop(3);
	pop(4);
	pop(5);
	r = end(5);
	cr_expect(eq(sz, r.j->m->ranges.npaths, 3));
	path_is(&r, r.range[2].context->path, "a/a/a");
	cr_expect(eq(u32, r.range[2].parent, 1));
	cr_expect(eq(u32, r.range[2].context->depth, 2));
	done(&r);
}

Test(nvtx_tree, identical_ranges_have_an_inside_and_an_outside)
{
	struct tree r;

	begin();
	push(5, "a");
	at(1, "domain");
	push(5, "b");
	back();
	push(5, "c");
	pop(9);
	at(1, "domain");
	pop(9);
	back();
	pop(9);
	r = end(9);
	cr_expect(eq(u32, r.range[0].parent, WS_NONE));
	cr_expect(eq(u32, r.range[1].parent, 0));
	cr_expect(eq(u32, r.range[2].parent, 1));
	path_is(&r, r.range[2].context->path, "a/b/c");
	done(&r);
}

Test(nvtx_tree, a_range_of_zero_length_nests_by_the_order_of_events)
{
	struct tree r;

	begin();
	push(0, "a");
	push(7, "b");
	pop(7);
	pop(7);
	push(7, "c"); /* after a ended, at the same time */
	pop(7);
	r = end(7);
	cr_expect(eq(u32, r.range[1].parent, 0));
	cr_expect(eq(u32, r.range[2].parent, WS_NONE));
	done(&r);
}

Test(nvtx_tree, a_pop_without_a_push_is_counted_and_changes_nothing)
{
	struct tree r;

	begin();
	pop(1);
	push(2, "a");
	pop(3);
	pop(4);
	at(1, "domain");
	pop(5);
	r = end(5);
	cr_expect(eq(u64, r.j->m->ranges.unmatched_pops, 3));
	cr_expect(eq(sz, r.n, 1));
	cr_expect(eq(i64, r.range[0].end_ns, 3));
	done(&r);
}

Test(nvtx_tree, an_open_range_ends_with_the_trace_and_says_so)
{
	struct tree r;

	begin();
	push(0, "a");
	push(10, "b");
	push(20, "c");
	pop(30);
	r = end(99);
	cr_expect(eq(u64, r.j->m->ranges.open, 2));
	cr_expect(eq(i64, r.range[0].end_ns, 99));
	cr_expect(eq(i64, r.range[1].end_ns, 99));
	cr_expect(eq(int, r.range[0].is_open, 1));
	cr_expect(eq(int, r.range[2].is_open, 0));
	cr_expect(eq(u32, r.range[1].parent, 0), "the later of two open ranges lies inside");
	path_is(&r, r.range[2].context->path, "a/b/c");
	done(&r);
}

Test(nvtx_tree, domains_pair_apart_and_nest_together)
{
	struct tree r;

	begin();
	push(0, "a");
	at(1, "domain");
	push(1, "a");
	back();
	push(2, "b");
	at(1, "domain");
	pop(3); /* ends the domain's a, not b */
	back();
	pop(4);
	pop(5);
	r = end(5);
	cr_expect(eq(i64, r.range[1].end_ns, 3));
	cr_expect(eq(i64, r.range[2].end_ns, 4));
	cr_expect(eq(u32, r.range[1].parent, 0));
	cr_expect(eq(u32, r.range[2].parent, 0), "they cross, so neither contains the other");
	cr_expect(ne(u32, r.range[0].context->path, r.range[1].context->path),
	          "the domain is part of a path");
	done(&r);
}

Test(nvtx_tree, start_and_end_pair_by_id_in_any_order)
{
	struct tree r;

	begin();
	tb_start(b, 0, "a", 100);
	tb_start(b, 1, "b", UINT64_MAX);
	tb_end(b, 5, 100);
	tb_end(b, 9, UINT64_MAX);
	tb_end(b, 9, 100); /* ended before */
	r = end(9);
	cr_expect(eq(i64, r.range[0].end_ns, 5));
	cr_expect(eq(i64, r.range[1].end_ns, 9));
	cr_expect(eq(u64, r.j->m->ranges.unmatched_ends, 1));
	cr_expect(eq(u32, r.range[1].parent, WS_NONE), "they cross");
	cr_expect(eq(int, r.range[0].context->style, 1));
	done(&r);
}

Test(nvtx_tree, a_range_may_end_on_another_thread_of_its_process_only)
{
	struct tree r;

	begin();
	tb_start(b, 0, "a", 1);
	at(3, ""); /* another process, another range 1 */
	tb_end(b, 3, 1);
	at(2, "");
	tb_end(b, 8, 1);
	r = end(8);
	cr_assert(eq(sz, r.n, 1));
	cr_expect(eq(u32, r.range[0].context->thread, 0));
	cr_expect(eq(i64, r.range[0].end_ns, 8));
	cr_expect(eq(u64, r.j->m->ranges.cross_thread, 1));
	cr_expect(eq(u64, r.j->m->ranges.unmatched_ends, 1));
	done(&r);
}

Test(nvtx_tree, an_id_used_again_is_another_range)
{
	struct tree r;

	begin();
	tb_start(b, 0, "a", 1);
	tb_end(b, 1, 1);
	tb_start(b, 2, "a", 1);
	tb_end(b, 4, 1);
	r = end(4);
	cr_expect(eq(i64, r.range[0].end_ns, 1));
	cr_expect(eq(i64, r.range[1].end_ns, 4));
	cr_expect(eq(u64, r.j->m->ranges.unmatched_ends, 0));
	done(&r);
}

Test(nvtx_tree, threads_do_not_nest_in_each_other)
{
	struct tree r;

	begin();
	push(0, "a");
	at(2, "");
	push(1, "b");
	pop(2);
	back();
	pop(9);
	r = end(9);
	cr_assert(eq(sz, r.n, 2));
	cr_expect(eq(u32, r.range[1].context->thread, 1));
	cr_expect(eq(u32, r.range[1].parent, WS_NONE));
	done(&r);
}

Test(nvtx_tree, rows_out_of_order_are_sorted_by_time)
{
	struct tree r;

	begin();
	pop(20);
	push(10, "a");
	r = end(20);
	cr_assert(eq(sz, r.n, 1));
	cr_expect(eq(i64, r.range[0].end_ns, 20));
	cr_expect(eq(u64, r.j->m->ranges.unmatched_pops, 0));
	done(&r);
}

Test(nvtx_tree, hostile_names_stay_whole_and_slashes_are_escaped)
{
	const struct ws_model *m;
	struct tree r;
	char *text;
	size_t len;

	begin();
	push(0, "x/y");
	tb_push_bytes(b, 1, "n\0l\xff", 4);
	tb_push_bytes(b, 2, "", 0);
	r = end(2);
	m = r.j->m;
	ws_path_text(&m->ranges, r.range[2].context->path, m->texts, &text, &len);
	cr_assert(eq(sz, len, 10));
	cr_expect(not(memcmp(text, "x\\/y/n\0l\xff/", 11)));
	free(text);
	done(&r);
}

Test(nvtx_tree, paths_are_read_parents_first_and_siblings_by_first_begin)
{
	static const char *const expected[] = {"c", "b", "b/c", "b/a", "a"};
	struct tree r;
	uint32_t order[8];

	begin();
	at(2, ""); /* the other thread begins first */
	push(0, "c");
	pop(1);
	back();
	push(5, "b");
	push(6, "c");
	pop(7);
	push(7, "a");
	pop(8);
	pop(9);
	push(10, "a");
	pop(11);
	r = end(11);
	cr_assert(eq(sz, r.j->m->ranges.npaths, 5));
	ws_paths_order(&r.j->m->ranges, r.j->m->texts, order);
	for (size_t i = 0; i < 5; i++)
		path_is(&r, order[i], expected[i]);
	done(&r);
}

Test(nvtx_tree, siblings_that_begin_together_go_by_name_domain_and_style)
{
	const struct ws_model *m;
	const struct ws_path *path[4];
	struct tree r;
	uint32_t order[4];

	begin();
	at(3, "");
	push(0, "b");
	at(2, "domain");
	push(0, "a");
	back();
	tb_start(b, 0, "a", 1);
	at(2, "domain");
	pop(1);
	at(2, "");
	push(2, "a"); /* a, default domain, push: first begin is 2 */
	r = end(3);
	m = r.j->m;
	cr_assert(eq(sz, m->ranges.npaths, 4));
	ws_paths_order(&m->ranges, m->texts, order);
	for (size_t i = 0; i < 4; i++)
		path[i] = &m->ranges.paths[order[i]];
	path_is(&r, order[0], "a");
	cr_expect(eq(int, path[0]->style, WS_RANGE_START_END));
	cr_expect(eq(sz, m->texts[path[0]->domain].len, 0));
	cr_expect(eq(sz, m->texts[path[1]->domain].len, strlen("domain")));
	path_is(&r, order[2], "b");
	cr_expect(eq(i64, path[3]->first_ns, 2));
	done(&r);
}

Test(nvtx_tree, no_events_make_no_ranges)
{
	struct tree r;
	uint32_t order[1];

	begin();
	r = tree_of(b);
	cr_expect(eq(sz, r.n, 0));
	cr_expect(eq(sz, r.j->m->ranges.npaths, 0));
	ws_paths_order(&r.j->m->ranges, r.j->m->texts, order);
	done(&r);
}

Test(nvtx_tree, a_program_that_never_pops_costs_no_endless_paths)
{
	enum { N = 20000 };
	struct tree r;

	begin();
	for (int64_t i = 0; i < N; i++)
		push(i, "a");
	r = tree_of(b);
	cr_expect(eq(sz, r.j->m->ranges.npaths, WS_RANGE_MAX_DEPTH));
	cr_expect(eq(u64, r.j->m->ranges.folded, N - WS_RANGE_MAX_DEPTH));
	cr_expect(eq(u32, r.range[N - 1].parent, N - 2));
	done(&r);
}
