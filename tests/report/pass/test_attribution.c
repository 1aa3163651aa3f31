/* Which call launched a kernel, and which ranges lie around that: by looking at all of them. */
#include "tests/report/pass/tree.h"
#include "tests/report/random_traces.h"
#include "tests/environment/random.h"

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
	size_t nevents;
	int64_t time_ns[MAX], end_ns;
	uint32_t thread[MAX], domain[MAX];
	uint8_t type[MAX];
	uint64_t range_id[MAX];

	size_t ncalls;
	int64_t call_start[MAX], call_end[MAX];
	uint32_t call_thread[MAX];

	struct naive_range ranges[MAX];
	size_t nranges;
	struct tb
	        *b; /* the same as a trace: each call has a kernel, which begins when it returns */
	bool crosses; /* a call lay in ranges that cross */
};

static uint64_t seed;
/* Pair each pop or end with the latest open begin that fits, by looking at all of them. */
static void naive_pairs(struct scene *s)
{
	s->nranges = 0;
	for (size_t e = 0; e < s->nevents; e++) {
		int begins = s->type[e] == WS_NVTX_PUSH || s->type[e] == WS_NVTX_START;

		if (begins) {
			s->ranges[s->nranges++] = (struct naive_range){s->time_ns[e],
			                                               s->end_ns,
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

static void add_call(struct scene *s, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
	size_t c = s->ncalls++;
	struct tb_kernel kernel = {"k", end_ns, 1, c + 1, 0, 100, 0};

	s->call_thread[c] = thread;
	s->call_start[c] = start_ns;
	s->call_end[c] = end_ns;
	tb_on_thread(s->b, thread + 1);
	tb_call(s->b, start_ns, end_ns - start_ns, c + 1);
	tb_kernel(s->b, &kernel);
}

static void add_event(struct scene *s, uint32_t thread, uint32_t domain, int64_t time_ns,
                      enum ws_nvtx_type type, uint64_t id)
{
	static const char *const domains[] = {"", "one", "two"};
	static const char *const names[] = {"a", "b", "c", "d"};
	size_t e = s->nevents++;

	s->time_ns[e] = time_ns;
	s->thread[e] = thread;
	s->domain[e] = domain;
	s->type[e] = (uint8_t)type;
	s->range_id[e] = id;
	tb_on_thread(s->b, thread + 1);
	tb_in_domain(s->b, domains[domain]);
	switch (type) {
	case WS_NVTX_PUSH:
		tb_push(s->b, time_ns, names[random_below(&seed, 4)]);
		break;
	case WS_NVTX_START:
		tb_start(s->b, time_ns, names[random_below(&seed, 4)], id);
		break;
	case WS_NVTX_END:
		tb_end(s->b, time_ns, id);
		break;
	default:
		tb_pop(s->b, time_ns);
	}
}

static void begin_scene(struct scene *s)
{
	*s = (struct scene){.b = tb_new()};
	tb_thread(s->b, 2, 100);
	tb_thread(s->b, 3, 100);
}

static void random_scene(struct scene *s, unsigned domains, int start_end, int ties)
{
	uint64_t live[MAX];
	size_t nlive = 0;
	int64_t now = 0;
	unsigned n = 1 + random_below(&seed, MAX - 1);

	begin_scene(s);
	for (unsigned i = 0; i < n; i++) {
		uint32_t thread = random_below(&seed, THREADS);
		unsigned what = random_below(&seed, start_end ? 10 : 7);

		now += ties ? random_below(&seed, 3) : 1 + random_below(&seed, 3);
		/* a call may last beyond the next event */
		if (what < 2) {
			add_call(s, thread, now, now + 1 + random_below(&seed, 4));
		} else if (what < 7) {
			add_event(s, thread, random_below(&seed, domains), now,
			          what < 5 ? WS_NVTX_PUSH : WS_NVTX_POP, 0);
		} else if (what < 9) {
			live[nlive++] = i + 1;
			add_event(s, thread, random_below(&seed, domains), now, WS_NVTX_START,
			          i + 1);
		} else if (nlive) { /* now and then twice */
			add_event(s, thread, 0, now, WS_NVTX_END,
			          live[random_below(&seed, (unsigned)nlive)]);
		}
	}
	s->end_ns = now + 10;
	tb_mark(s->b, s->end_ns, "the end");
	naive_pairs(s);
}

/* naive number -> number in the tree, which is sorted by thread, then begin */
static void numbers(const struct scene *s, uint32_t *number)
{
	uint32_t next = 0;

	for (uint32_t t = 0; t < THREADS; t++)
		for (size_t r = 0; r < s->nranges; r++)
			if (s->ranges[r].thread == t)
				number[r] = next++;
}

/* Start/end ranges hold what other threads of the process do. */
static bool process_holds(const struct scene *s, size_t r, size_t c)
{
	const struct naive_range *range = &s->ranges[r];

	return range->start_end && range->thread != s->call_thread[c] &&
	       range->start_ns <= s->call_start[c] &&
	       (range->open || range->end_ns >= s->call_end[c]);
}

/* Of a kernel: its call, the innermost range, and ancestors and crossing ranges together, which are
 * each range that holds the call, once. What lies in no range of its thread is launched in the
 * range of its process that began last; ranges around that are of another thread. */
static void compare_kernel(struct scene *s, struct tree *t, const uint32_t *number,
                           const struct ws_joined_kernel *k)
{
	const struct ws_attribution *a = &t->j->m->attribution;
	const struct ws_joined_call *call = ws_joined_rows_call(&t->j->rows, k->call);
	const uint32_t innermost = k->range == WS_NONE ? WS_NONE : t->place[k->range];
	uint32_t expected = WS_NONE;
	uint8_t held[MAX] = {0};
	size_t c = 0, last = SIZE_MAX;
	bool has_own;

	cr_assert(call != NULL);
	cr_assert(eq(i64, k->start_ns, call->start_ns + call->dur_ns));
	/* calls that are alike lie in the same ranges */
	while (c < s->ncalls &&
	       (s->call_thread[c] != call->kind->thread || s->call_start[c] != call->start_ns ||
	        s->call_end[c] != k->start_ns))
		c++;
	cr_assert(lt(sz, c, s->ncalls));
	for (size_t r = 0; r < s->nranges; r++)
		if (naive_holds(s, r, c))
			expected = number[r]; /* begun last */
	has_own = expected != WS_NONE;
	cr_assert(eq(u32, call->range, has_own ? k->range : WS_NONE));
	for (size_t r = 0; r < s->nranges && !has_own; r++)
		if (process_holds(s, r, c) &&
		    (last == SIZE_MAX || s->ranges[r].begun > s->ranges[last].begun)) {
			last = r;
			expected = number[r];
		}
	cr_assert(eq(u32, innermost, expected));
	for (uint32_t r = innermost; r != WS_NONE; r = t->range[r].parent)
		held[r]++;
	for (uint32_t x = ws_joined_crossing(t->j->m, k); x != WS_NONE; x = a->crossings[x].next)
		held[t->place[a->crossings[x].range]]++;
	for (size_t r = 0; r < s->nranges; r++)
		if (has_own)
			cr_assert(eq(int, held[number[r]],
			             naive_holds(s, r, c) || process_holds(s, r, c)));
		else if (process_holds(s, r, c))
			cr_assert(ge(int, held[number[r]], 1));
	s->crosses |= ws_joined_crossing(t->j->m, k) != WS_NONE;
}

static void compare(struct scene *s)
{
	struct tree t = tree_of(s->b);
	uint32_t number[MAX];

	cr_assert(eq(sz, t.n, s->nranges));
	cr_assert(eq(sz, t.j->rows.nkernels, s->ncalls));
	numbers(s, number);
	for (size_t r = 0; r < s->nranges; r++) {
		cr_assert(eq(i64, t.range[number[r]].start_ns, s->ranges[r].start_ns));
		cr_assert(eq(i64, t.range[number[r]].end_ns, s->ranges[r].end_ns));
	}
	for (size_t i = 0; i < s->ncalls; i++) {
		const struct ws_joined_kernel k = *ws_joined_rows_kernel(&t.j->rows, i);

		compare_kernel(s, &t, number, &k);
	}
	cr_assert(eq(u64, t.j->m->attribution.not_followed, 0));
	tree_free(&t);
}

#define ROUNDS RANDOM_TRACES(500)

/* How many programs had calls in ranges that cross. */
static unsigned property(unsigned domains, int start_end, int ties)
{
	struct scene *s = malloc(sizeof(*s));
	unsigned crossed = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		seed = i * 2654435761u + domains;
		random_scene(s, domains, start_end, ties);
		compare(s);
		crossed += s->crosses;
		tb_free(s->b);
	}
	free(s);
	return crossed;
}

Test(attribution, nested_ranges_agree_with_the_slow_way)
{
	cr_expect(eq(u32, property(1, 0, 0), 0));
}

Test(attribution, crossing_domains_agree_with_the_slow_way)
{
	cr_expect(gt(u32, property(3, 0, 0), ROUNDS / 4));
}

Test(attribution, start_end_ranges_across_threads_agree_with_the_slow_way)
{
	cr_expect(gt(u32, property(2, 1, 0), ROUNDS / 4));
}

Test(attribution, events_at_the_same_time_agree_with_the_slow_way)
{
	cr_expect(gt(u32, property(2, 1, 1), ROUNDS / 4));
}

/* The parent is the range that contains another and began last; also by looking at all pairs. */
Test(attribution, parents_agree_with_the_slow_way)
{
	struct scene *s = malloc(sizeof(*s));

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t number[MAX];
		struct tree t;

		seed = i + 99;
		random_scene(s, 3, 0, 1);
		t = tree_of(s->b);
		numbers(s, number);
		for (size_t r = 0; r < s->nranges; r++) {
			const struct naive_range *in = &s->ranges[r];
			uint32_t parent = WS_NONE;

			/* open ranges end in the order opposite to their begin */
			for (size_t o = 0; o < r; o++)
				if (s->ranges[o].thread == in->thread &&
				    (s->ranges[o].ended > in->ended || s->ranges[o].open))
					parent = number[o];
			cr_assert(eq(u32, t.range[number[r]].parent, parent));
		}
		tree_free(&t);
		tb_free(s->b);
	}
	free(s);
}
