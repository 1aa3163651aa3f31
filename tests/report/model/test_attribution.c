#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/model/attribution.h"

#define THREADS 3
#define MAX     400

/* --- an obviously right attribution, O(n^2), to compare with ------------------------------ */

struct naive_range {
	int64_t start_ns, end_ns;
	size_t begun, ended; /* numbers of the events */
	uint32_t thread, domain;
	uint64_t id;
	int open, start_end;
};

struct scene {
	struct ws_nvtx_events ev;
	int64_t time_ns[MAX];
	uint32_t thread[MAX], domain[MAX], name[MAX], payload[MAX];
	uint8_t type[MAX];
	uint64_t range_id[MAX];
	uint32_t process_of[THREADS];

	struct ws_calls calls;
	int64_t call_start[MAX], call_end[MAX];
	uint32_t call_thread[MAX], call_process[MAX];
	uint64_t correlation[MAX];

	struct naive_range ranges[MAX];
	size_t nranges;
};

static uint64_t seed;
static unsigned roll(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* Pair each pop or end with the latest open begin that fits, by looking at all of them. */
static void naive_pairs(struct scene *s)
{
	s->nranges = 0;
	for (size_t e = 0; e < s->ev.n; e++) {
		int begins = s->type[e] == WS_NVTX_PUSH || s->type[e] == WS_NVTX_START;

		if (begins) {
			s->ranges[s->nranges++] = (struct naive_range){s->time_ns[e],
			                                               s->ev.end_ns,
			                                               e,
			                                               SIZE_MAX,
			                                               s->thread[e],
			                                               s->domain[e],
			                                               s->range_id[e],
			                                               1,
			                                               s->type[e] == WS_NVTX_START};
			continue;
		}
		for (size_t r = s->nranges; r-- > 0;) {
			struct naive_range *range = &s->ranges[r];
			int fits = s->type[e] == WS_NVTX_POP
			                   ? !range->start_end && range->thread == s->thread[e] &&
			                             range->domain == s->domain[e]
			                   : range->start_end && range->id == s->range_id[e];

			if (!range->open || !fits)
				continue;
			range->end_ns = s->time_ns[e];
			range->ended = e;
			range->open = 0;
			break;
		}
	}
}

static int naive_holds(const struct scene *s, size_t range, size_t call)
{
	const struct naive_range *r = &s->ranges[range];

	return r->thread == s->call_thread[call] && r->start_ns <= s->call_start[call] &&
	       r->end_ns >= s->call_end[call];
}

/* --- random programs ------------------------------------------------------------------------ */

static void random_scene(struct scene *s, unsigned domains, int start_end, int ties)
{
	uint64_t live[MAX];
	size_t nlive = 0;
	int64_t now = 0;
	unsigned n = 1 + roll(MAX - 1);

	*s = (struct scene){0};
	for (unsigned i = 0; i < n; i++) {
		uint32_t thread = roll(THREADS);
		unsigned what = roll(start_end ? 10 : 7);
		size_t e = s->ev.n;

		now += ties ? roll(3) : 1 + roll(3);
		if (what < 2) {
			size_t c = s->calls.n++;

			s->call_thread[c] = thread;
			s->call_start[c] = now;
			s->call_end[c] = now + 1 + roll(4); /* may last beyond the next event */
			continue;
		}
		s->time_ns[e] = now;
		s->thread[e] = thread;
		s->domain[e] = roll(domains);
		s->name[e] = roll(4);
		s->payload[e] = WS_NONE;
		s->type[e] = what < 5 ? WS_NVTX_PUSH : WS_NVTX_POP;
		if (what == 7 || what == 8) {
			s->type[e] = WS_NVTX_START;
			s->range_id[e] = live[nlive++] = i + 1;
		} else if (what == 9) {
			if (!nlive)
				continue;
			s->type[e] = WS_NVTX_END;
			s->range_id[e] = live[roll((unsigned)nlive)]; /* now and then twice */
		}
		s->ev.n++;
	}
	s->ev.time_ns = s->time_ns;
	s->ev.thread = s->thread;
	s->ev.type = s->type;
	s->ev.domain = s->domain;
	s->ev.name = s->name;
	s->ev.range_id = s->range_id;
	s->ev.payload = s->payload;
	s->ev.process_of = s->process_of;
	s->ev.nthreads = THREADS;
	s->ev.end_ns = now + 10;
	s->calls.start_ns = s->call_start;
	s->calls.end_ns = s->call_end;
	s->calls.thread = s->call_thread;
	s->calls.process = s->call_process;
	s->calls.correlation = s->correlation;
}

/* naive number -> number in ws_ranges, which are sorted by thread, then begin */
static void numbers(const struct scene *s, uint32_t *number)
{
	uint32_t next = 0;

	for (uint32_t t = 0; t < THREADS; t++)
		for (size_t r = 0; r < s->nranges; r++)
			if (s->ranges[r].thread == t)
				number[r] = next++;
}

static void compare(const struct scene *s)
{
	struct ws_ranges ranges;
	struct ws_attribution a;
	struct ws_err err;
	uint32_t number[MAX];

	cr_assert(eq(int, ws_ranges_build(&ranges, &s->ev, &err), WS_OK));
	cr_assert(eq(int, ws_attribute(&s->calls, &ranges, &a, &err), WS_OK));
	cr_assert(eq(sz, ranges.n, s->nranges));
	numbers(s, number);
	for (size_t r = 0; r < s->nranges; r++) {
		cr_assert(eq(i64, ranges.start_ns[number[r]], s->ranges[r].start_ns));
		cr_assert(eq(i64, ranges.end_ns[number[r]], s->ranges[r].end_ns));
	}
	for (size_t c = 0; c < s->calls.n; c++) {
		uint8_t held[MAX] = {0};
		uint32_t innermost = WS_NONE;

		for (size_t r = 0; r < s->nranges; r++)
			if (naive_holds(s, r, c))
				innermost = number[r]; /* begun last */
		cr_assert(eq(u32, a.innermost[c], innermost));

		/* ancestors and crossing ranges together: each range that holds the call, once */
		for (uint32_t r = innermost; r != WS_NONE; r = ranges.parent[r])
			held[r]++;
		for (uint32_t x = a.first ? a.first[c] : WS_NONE; x != WS_NONE;
		     x = a.crossings[x].next)
			held[a.crossings[x].range]++;
		for (size_t r = 0; r < s->nranges; r++)
			cr_assert(eq(int, held[number[r]], naive_holds(s, r, c)));
	}
	cr_assert(eq(u64, a.not_followed, 0));
	ws_attribution_release(&a);
	ws_ranges_release(&ranges);
}

static void property(unsigned rounds, unsigned domains, int start_end, int ties)
{
	struct scene *s = malloc(sizeof(*s));

	for (unsigned i = 0; i < rounds; i++) {
		seed = i * 2654435761u + domains;
		random_scene(s, domains, start_end, ties);
		naive_pairs(s);
		compare(s);
	}
	free(s);
}

Test(attribution, nested_ranges_agree_with_the_slow_way)
{
	property(2000, 1, 0, 0);
}

Test(attribution, crossing_domains_agree_with_the_slow_way)
{
	property(2000, 3, 0, 0);
}

Test(attribution, start_end_ranges_across_threads_agree_with_the_slow_way)
{
	property(2000, 2, 1, 0);
}

Test(attribution, events_at_the_same_time_agree_with_the_slow_way)
{
	property(2000, 2, 1, 1);
}

/* The parent is the range that contains another and began last; also by looking at all pairs. */
Test(attribution, parents_agree_with_the_slow_way)
{
	struct scene *s = malloc(sizeof(*s));

	for (unsigned i = 0; i < 2000; i++) {
		struct ws_ranges ranges;
		struct ws_err err;
		uint32_t number[MAX];

		seed = i + 99;
		random_scene(s, 3, 0, 1);
		naive_pairs(s);
		cr_assert(eq(int, ws_ranges_build(&ranges, &s->ev, &err), WS_OK));
		numbers(s, number);
		for (size_t r = 0; r < s->nranges; r++) {
			const struct naive_range *in = &s->ranges[r];
			uint32_t parent = WS_NONE;

			/* open ranges end in the order opposite to their begin */
			for (size_t o = 0; o < r; o++)
				if (s->ranges[o].thread == in->thread &&
				    (s->ranges[o].ended > in->ended || s->ranges[o].open))
					parent = number[o];
			cr_assert(eq(u32, ranges.parent[number[r]], parent));
		}
		ws_ranges_release(&ranges);
	}
	free(s);
}

/* --- single cases ------------------------------------------------------------------------------
 */

static void one_call(struct scene *s, int64_t start_ns, int64_t end_ns)
{
	s->call_start[s->calls.n] = start_ns;
	s->call_end[s->calls.n++] = end_ns;
}

static void one_event(struct scene *s, int64_t time_ns, enum ws_nvtx_type type)
{
	s->time_ns[s->ev.n] = time_ns;
	s->type[s->ev.n++] = (uint8_t)type;
}

Test(attribution, a_call_must_lie_wholly_inside_bounds_included)
{
	static struct scene s;
	struct ws_ranges ranges;
	struct ws_attribution a;
	struct ws_err err;

	seed = 1;
	random_scene(&s, 1, 0, 0);
	s.ev.n = s.calls.n = 0;
	memset(s.thread, 0, sizeof(s.thread));
	memset(s.call_thread, 0, sizeof(s.call_thread));
	memset(s.domain, 0, sizeof(s.domain));
	one_event(&s, 10, WS_NVTX_PUSH);
	one_event(&s, 20, WS_NVTX_POP);
	one_call(&s, 10, 20); /* exactly */
	one_call(&s, 9, 15);  /* begins before */
	one_call(&s, 15, 21); /* straddles the end */
	one_call(&s, 20, 20); /* no length, at the end */
	one_call(&s, 21, 22); /* after */
	cr_assert(eq(int, ws_ranges_build(&ranges, &s.ev, &err), WS_OK));
	cr_assert(eq(int, ws_attribute(&s.calls, &ranges, &a, &err), WS_OK));
	cr_expect(eq(u32, a.innermost[0], 0));
	cr_expect(eq(u32, a.innermost[1], WS_NONE));
	cr_expect(eq(u32, a.innermost[2], WS_NONE));
	cr_expect(eq(u32, a.innermost[3], 0));
	cr_expect(eq(u32, a.innermost[4], WS_NONE));
	ws_attribution_release(&a);
	ws_ranges_release(&ranges);
}

Test(attribution, a_call_that_straddles_the_inner_range_belongs_to_the_outer)
{
	static struct scene s;
	struct ws_ranges ranges;
	struct ws_attribution a;
	struct ws_err err;

	seed = 1;
	random_scene(&s, 1, 0, 0);
	s.ev.n = s.calls.n = 0;
	memset(s.thread, 0, sizeof(s.thread));
	memset(s.call_thread, 0, sizeof(s.call_thread));
	memset(s.domain, 0, sizeof(s.domain));
	one_event(&s, 0, WS_NVTX_PUSH);
	one_event(&s, 10, WS_NVTX_PUSH);
	one_event(&s, 20, WS_NVTX_POP);
	one_event(&s, 100, WS_NVTX_POP);
	one_call(&s, 15, 25);
	cr_assert(eq(int, ws_ranges_build(&ranges, &s.ev, &err), WS_OK));
	cr_assert(eq(int, ws_attribute(&s.calls, &ranges, &a, &err), WS_OK));
	cr_expect(eq(u32, a.innermost[0], 0));
	ws_attribution_release(&a);
	ws_ranges_release(&ranges);
}

Test(attribution, a_kernel_finds_the_call_with_its_correlation_in_its_process)
{
	int64_t call_start[] = {100, 50, 10};
	uint32_t thread[] = {0, 0, 1}, process[] = {0, 0, 1};
	uint64_t correlation[] = {7, 8, 7};
	struct ws_calls calls = {3, call_start, call_start, thread, process, correlation};
	int64_t kernel_start[] = {200, 200, 200, 200, 200};
	uint32_t kernel_process[] = {1, 0, 0, 2, 0};
	uint64_t kernel_correlation[] = {7, 7, 9, 7, 0};
	struct ws_launches launches = {5, kernel_start, kernel_process, kernel_correlation};
	uint32_t call[5];
	struct ws_err err;

	cr_assert(eq(int, ws_join_launches(&launches, &calls, call, &err), WS_OK));
	cr_expect(eq(u32, call[0], 2));
	cr_expect(eq(u32, call[1], 0));
	cr_expect(eq(u32, call[2], WS_NONE), "no such correlation");
	cr_expect(eq(u32, call[3], WS_NONE), "no such process");
	cr_expect(eq(u32, call[4], WS_NONE), "0 is no correlation");
}

Test(attribution, an_id_used_twice_means_the_last_call_before_the_kernel)
{
	/* one pid, two program images after exec: ids begin at 1 again */
	int64_t call_start[] = {1000, 10, 500};
	uint32_t zeros[] = {0, 0, 0};
	uint64_t correlation[] = {1, 1, 1};
	struct ws_calls calls = {3, call_start, call_start, zeros, zeros, correlation};
	int64_t kernel_start[] = {20, 600, 5000, 5, INT64_MAX};
	uint32_t kernel_process[5] = {0};
	uint64_t kernel_correlation[] = {1, 1, 1, 1, 1};
	struct ws_launches launches = {5, kernel_start, kernel_process, kernel_correlation};
	uint32_t call[5];
	struct ws_err err;

	cr_assert(eq(int, ws_join_launches(&launches, &calls, call, &err), WS_OK));
	cr_expect(eq(u32, call[0], 1));
	cr_expect(eq(u32, call[1], 2));
	cr_expect(eq(u32, call[2], 0));
	cr_expect(eq(u32, call[3], 1),
	          "a kernel before every call: clocks disagree, the first is nearest");
	cr_expect(eq(u32, call[4], 0), "a kernel without a time: the last");
}

Test(attribution, correlations_of_all_64_bits_join)
{
	int64_t start[] = {0, 0, 0};
	uint32_t zeros[] = {0, 0, 0};
	uint64_t correlation[] = {UINT64_MAX, 1, (uint64_t)1 << 63};
	struct ws_calls calls = {3, start, start, zeros, zeros, correlation};
	struct ws_launches launches = {3, start, zeros, correlation};
	uint32_t call[3], expected[] = {0, 1, 2};
	struct ws_err err;

	cr_assert(eq(int, ws_join_launches(&launches, &calls, call, &err), WS_OK));
	cr_expect(eq(u32[3], call, expected));
}

Test(attribution, nothing_joins_to_nothing)
{
	struct ws_calls calls = {0};
	struct ws_launches launches = {0};
	struct ws_nvtx_events ev = {0};
	struct ws_ranges ranges;
	struct ws_attribution a;
	struct ws_err err;

	cr_assert(eq(int, ws_join_launches(&launches, &calls, NULL, &err), WS_OK));
	cr_assert(eq(int, ws_ranges_build(&ranges, &ev, &err), WS_OK));
	cr_assert(eq(int, ws_attribute(&calls, &ranges, &a, &err), WS_OK));
	ws_attribution_release(&a);
	ws_ranges_release(&ranges);
}
