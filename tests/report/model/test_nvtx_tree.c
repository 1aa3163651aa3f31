#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/model/nvtx_tree.h"

#define MAX 64

/* Events in the making. Names and domains are indexes of `texts`. */
static struct {
	int64_t time_ns[MAX];
	uint32_t thread[MAX], domain[MAX], name[MAX], payload[MAX];
	uint8_t type[MAX];
	uint64_t range_id[MAX];
	size_t n;
} in;

static struct ws_bytes texts[] = {
        {"", 0},    {"a", 1},      {"b", 1},        {"c", 1},
        {"x/y", 3}, {"domain", 6}, {"n\0l\xff", 4}, {"other", 5},
};
enum { NOTHING, A, B, C, SLASH, DOMAIN, HOSTILE, OTHER };

static void event(uint32_t thread, int64_t time_ns, enum ws_nvtx_type type, uint32_t domain,
                  uint32_t name, uint64_t range_id)
{
	in.time_ns[in.n] = time_ns;
	in.thread[in.n] = thread;
	in.type[in.n] = (uint8_t)type;
	in.domain[in.n] = domain;
	in.name[in.n] = name;
	in.range_id[in.n] = range_id;
	in.payload[in.n] = (uint32_t)in.n;
	in.n++;
}
static void push(int64_t t, uint32_t name)
{
	event(0, t, WS_NVTX_PUSH, 0, name, 0);
}
static void pop(int64_t t)
{
	event(0, t, WS_NVTX_POP, 0, 0, 0);
}

static struct ws_ranges build(int64_t end_ns)
{
	static const uint32_t process_of[] = {0, 0, 1};
	struct ws_nvtx_events ev = {.n = in.n,
	                            .time_ns = in.time_ns,
	                            .thread = in.thread,
	                            .type = in.type,
	                            .domain = in.domain,
	                            .name = in.name,
	                            .range_id = in.range_id,
	                            .payload = in.payload,
	                            .process_of = process_of,
	                            .nthreads = 3,
	                            .end_ns = end_ns};
	struct ws_ranges r;
	struct ws_err err;

	cr_assert(eq(int, ws_ranges_build(&r, &ev, &err), WS_OK));
	in.n = 0;
	return r;
}

static void path_is(const struct ws_ranges *r, uint32_t range, const char *expected)
{
	struct ws_err err;
	char *text;
	size_t len;

	cr_assert(eq(int, ws_path_text(r, r->path[range], texts, &text, &len, &err), WS_OK));
	cr_expect(eq(sz, len, strlen(text)));
	cr_expect_str_eq(text, expected);
	free(text);
}

Test(nvtx_tree, push_and_pop_nest)
{
	struct ws_ranges r;

	push(0, A);
	push(10, B);
	pop(20);
	push(30, B);
	pop(45);
	pop(50);
	r = build(50);
	cr_assert(eq(sz, r.n, 3));
	cr_expect(eq(i64, r.start_ns[0], 0));
	cr_expect(eq(i64, r.end_ns[0], 50));
	cr_expect(eq(u32, r.parent[0], WS_NONE));
	cr_expect(eq(u32, r.parent[1], 0));
	cr_expect(eq(u32, r.parent[2], 0));
	cr_expect(eq(i64, r.end_ns[1], 20));
	cr_expect(eq(i64, r.end_ns[2], 45));
	cr_expect(eq(u32, r.path[1], r.path[2]), "two instances share a path");
	cr_expect(eq(sz, r.npaths, 2));
	cr_expect(eq(u32, r.payload[2], 3), "the payload is that of the push");
	path_is(&r, 2, "a/b");
	ws_ranges_release(&r);
}

Test(nvtx_tree, recursion_makes_a_path_of_its_own)
{
	struct ws_ranges r;

	push(0, A);
	push(1, A);
	push(2, A);
	pop(3);
	pop(4);
	pop(5);
	r = build(5);
	cr_expect(eq(sz, r.npaths, 3));
	path_is(&r, 2, "a/a/a");
	cr_expect(eq(u32, r.parent[2], 1));
	cr_expect(eq(u32, r.depth[2], 2));
	ws_ranges_release(&r);
}

Test(nvtx_tree, identical_ranges_have_an_inside_and_an_outside)
{
	struct ws_ranges r;

	push(5, A);
	event(0, 5, WS_NVTX_PUSH, DOMAIN, B, 0);
	push(5, C);
	pop(9);
	event(0, 9, WS_NVTX_POP, DOMAIN, 0, 0);
	pop(9);
	r = build(9);
	cr_expect(eq(u32, r.parent[0], WS_NONE));
	cr_expect(eq(u32, r.parent[1], 0));
	cr_expect(eq(u32, r.parent[2], 1));
	cr_expect(eq(int, r.thread_crosses[0], 0));
	path_is(&r, 2, "a/b/c");
	ws_ranges_release(&r);
}

Test(nvtx_tree, a_range_of_zero_length_nests_by_the_order_of_events)
{
	struct ws_ranges r;

	push(0, A);
	push(7, B);
	pop(7);
	pop(7);
	push(7, C); /* after a ended, at the same time */
	pop(7);
	r = build(7);
	cr_expect(eq(u32, r.parent[1], 0));
	cr_expect(eq(u32, r.parent[2], WS_NONE));
	cr_expect(eq(int, r.thread_crosses[0], 0));
	ws_ranges_release(&r);
}

Test(nvtx_tree, a_pop_without_a_push_is_counted_and_changes_nothing)
{
	struct ws_ranges r;

	pop(1);
	push(2, A);
	pop(3);
	pop(4);
	event(0, 5, WS_NVTX_POP, DOMAIN, 0, 0);
	r = build(5);
	cr_expect(eq(u64, r.unmatched_pops, 3));
	cr_expect(eq(sz, r.n, 1));
	cr_expect(eq(i64, r.end_ns[0], 3));
	ws_ranges_release(&r);
}

Test(nvtx_tree, an_open_range_ends_with_the_trace_and_says_so)
{
	struct ws_ranges r;

	push(0, A);
	push(10, B);
	push(20, C);
	pop(30);
	r = build(99);
	cr_expect(eq(u64, r.open, 2));
	cr_expect(eq(i64, r.end_ns[0], 99));
	cr_expect(eq(i64, r.end_ns[1], 99));
	cr_expect(ne(int, r.flags[0] & WS_RANGE_OPEN, 0));
	cr_expect(eq(int, r.flags[2] & WS_RANGE_OPEN, 0));
	cr_expect(eq(u32, r.parent[1], 0), "the later of two open ranges lies inside");
	path_is(&r, 2, "a/b/c");
	ws_ranges_release(&r);
}

Test(nvtx_tree, domains_pair_apart_and_nest_together)
{
	struct ws_ranges r;

	push(0, A);
	event(0, 1, WS_NVTX_PUSH, DOMAIN, A, 0);
	push(2, B);
	event(0, 3, WS_NVTX_POP, DOMAIN, 0, 0); /* ends the domain's a, not b */
	pop(4);
	pop(5);
	r = build(5);
	cr_expect(eq(i64, r.end_ns[1], 3));
	cr_expect(eq(i64, r.end_ns[2], 4));
	cr_expect(eq(u32, r.parent[1], 0));
	cr_expect(eq(u32, r.parent[2], 0), "they cross, so neither contains the other");
	cr_expect(eq(int, r.thread_crosses[0], 1));
	cr_expect(r.path[0] != r.path[1], "the domain is part of a path");
	ws_ranges_release(&r);
}

Test(nvtx_tree, start_and_end_pair_by_id_in_any_order)
{
	struct ws_ranges r;

	event(0, 0, WS_NVTX_START, 0, A, 100);
	event(0, 1, WS_NVTX_START, 0, B, UINT64_MAX);
	event(0, 5, WS_NVTX_END, 0, 0, 100);
	event(0, 9, WS_NVTX_END, 0, 0, UINT64_MAX);
	event(0, 9, WS_NVTX_END, 0, 0, 100); /* ended before */
	r = build(9);
	cr_expect(eq(i64, r.end_ns[0], 5));
	cr_expect(eq(i64, r.end_ns[1], 9));
	cr_expect(eq(u64, r.unmatched_ends, 1));
	cr_expect(eq(u32, r.parent[1], WS_NONE));
	cr_expect(ne(int, r.flags[0] & WS_RANGE_START_END, 0));
	cr_expect(eq(int, r.thread_crosses[0], 1));
	ws_ranges_release(&r);
}

Test(nvtx_tree, a_range_may_end_on_another_thread_of_its_process_only)
{
	struct ws_ranges r;

	event(0, 0, WS_NVTX_START, 0, A, 1);
	event(2, 3, WS_NVTX_END, 0, 0, 1); /* another process, another range 1 */
	event(1, 8, WS_NVTX_END, 0, 0, 1);
	r = build(8);
	cr_assert(eq(sz, r.n, 1));
	cr_expect(eq(u32, r.thread[0], 0));
	cr_expect(eq(i64, r.end_ns[0], 8));
	cr_expect(ne(int, r.flags[0] & WS_RANGE_CROSS_THREAD, 0));
	cr_expect(eq(u64, r.cross_thread, 1));
	cr_expect(eq(u64, r.unmatched_ends, 1));
	ws_ranges_release(&r);
}

Test(nvtx_tree, an_id_used_again_is_another_range)
{
	struct ws_ranges r;

	event(0, 0, WS_NVTX_START, 0, A, 1);
	event(0, 1, WS_NVTX_END, 0, 0, 1);
	event(0, 2, WS_NVTX_START, 0, A, 1);
	event(0, 4, WS_NVTX_END, 0, 0, 1);
	r = build(4);
	cr_expect(eq(i64, r.end_ns[0], 1));
	cr_expect(eq(i64, r.end_ns[1], 4));
	cr_expect(eq(u64, r.unmatched_ends, 0));
	ws_ranges_release(&r);
}

Test(nvtx_tree, threads_do_not_nest_in_each_other)
{
	struct ws_ranges r;

	push(0, A);
	event(1, 1, WS_NVTX_PUSH, 0, B, 0);
	event(1, 2, WS_NVTX_POP, 0, 0, 0);
	pop(9);
	r = build(9);
	cr_expect(eq(u32, r.parent[1], WS_NONE));
	cr_expect(eq(u32, r.thread_first[1], 1));
	cr_expect(eq(u32, r.thread_first[2], 2));
	cr_expect(eq(u32, r.thread_first[3], 2));
	ws_ranges_release(&r);
}

Test(nvtx_tree, rows_out_of_order_are_sorted_by_time)
{
	struct ws_ranges r;

	pop(20);
	push(10, A);
	r = build(20);
	cr_assert(eq(sz, r.n, 1));
	cr_expect(eq(i64, r.end_ns[0], 20));
	cr_expect(eq(u64, r.unmatched_pops, 0));
	ws_ranges_release(&r);
}

Test(nvtx_tree, hostile_names_stay_whole_and_slashes_are_escaped)
{
	struct ws_ranges r;
	struct ws_err err;
	char *text;
	size_t len;

	push(0, SLASH);
	push(1, HOSTILE);
	push(2, NOTHING);
	r = build(2);
	cr_assert(eq(int, ws_path_text(&r, r.path[2], texts, &text, &len, &err), WS_OK));
	cr_assert(eq(sz, len, 10));
	cr_expect(not(memcmp(text, "x\\/y/n\0l\xff/", 11)));
	free(text);
	ws_ranges_release(&r);
}

Test(nvtx_tree, paths_are_read_parents_first_and_siblings_by_first_begin)
{
	struct ws_ranges r;
	struct ws_err err;
	uint32_t order[8];

	event(1, 0, WS_NVTX_PUSH, 0, C, 0); /* the other thread begins first */
	event(1, 1, WS_NVTX_POP, 0, 0, 0);
	push(5, B);
	push(6, C);
	pop(7);
	push(7, A);
	pop(8);
	pop(9);
	push(10, A);
	pop(11);
	r = build(11);
	cr_assert(eq(sz, r.npaths, 5));
	cr_assert(eq(int, ws_paths_order(&r, texts, order, &err), WS_OK));
	for (size_t i = 0; i < 5; i++) {
		static const char *const expected[] = {"c", "b", "b/c", "b/a", "a"};
		char *text;
		size_t len;

		cr_assert(eq(int, ws_path_text(&r, order[i], texts, &text, &len, &err), WS_OK));
		cr_expect_str_eq(text, expected[i]);
		free(text);
	}
	ws_ranges_release(&r);
}

Test(nvtx_tree, siblings_that_begin_together_go_by_name_domain_and_style)
{
	struct ws_ranges r;
	struct ws_err err;
	uint32_t order[4];

	event(2, 0, WS_NVTX_PUSH, 0, B, 0);
	event(1, 0, WS_NVTX_PUSH, DOMAIN, A, 0);
	event(0, 0, WS_NVTX_START, 0, A, 1);
	event(1, 1, WS_NVTX_POP, DOMAIN, 0, 0);
	event(1, 2, WS_NVTX_PUSH, 0, A, 0); /* a, default domain, push: first begin is 2 */
	r = build(3);
	cr_assert(eq(sz, r.npaths, 4));
	cr_assert(eq(int, ws_paths_order(&r, texts, order, &err), WS_OK));
	cr_expect(eq(u32, r.paths[order[0]].name, A));
	cr_expect(eq(int, r.paths[order[0]].style, WS_RANGE_START_END));
	cr_expect(eq(u32, r.paths[order[1]].domain, DOMAIN));
	cr_expect(eq(u32, r.paths[order[2]].name, B));
	cr_expect(eq(i64, r.paths[order[3]].first_ns, 2));
	ws_ranges_release(&r);
}

Test(nvtx_tree, no_events_make_no_ranges)
{
	struct ws_ranges r = build(0);
	struct ws_err err;
	uint32_t order[1];

	cr_expect(eq(sz, r.n, 0));
	cr_expect(eq(sz, r.npaths, 0));
	cr_expect(eq(int, ws_paths_order(&r, texts, order, &err), WS_OK));
	ws_ranges_release(&r);
}

Test(nvtx_tree, a_program_that_never_pops_costs_no_endless_paths)
{
	enum { N = 20000 };
	struct ws_nvtx_events ev = {.n = N, .nthreads = 1, .end_ns = N};
	int64_t *time_ns = calloc(N, sizeof(*time_ns));
	uint32_t *zeros = calloc(N, sizeof(*zeros)), *names = calloc(N, sizeof(*names));
	uint64_t *ids = calloc(N, sizeof(*ids));
	uint8_t *types = calloc(N, 1);
	struct ws_ranges r;
	struct ws_err err;

	for (size_t i = 0; i < N; i++) {
		time_ns[i] = (int64_t)i;
		names[i] = A;
		types[i] = WS_NVTX_PUSH;
	}
	ev.time_ns = time_ns;
	ev.thread = ev.domain = ev.payload = ev.process_of = zeros;
	ev.name = names;
	ev.range_id = ids;
	ev.type = types;
	cr_assert(eq(int, ws_ranges_build(&r, &ev, &err), WS_OK));
	cr_expect(eq(sz, r.npaths, WS_RANGE_MAX_DEPTH));
	cr_expect(eq(u64, r.folded, N - WS_RANGE_MAX_DEPTH));
	cr_expect(eq(u32, r.depth[N - 1], N - 1));
	cr_expect(eq(u32, r.parent[N - 1], N - 2));
	ws_ranges_release(&r);
	free(time_ns);
	free(zeros);
	free(names);
	free(ids);
	free(types);
}
