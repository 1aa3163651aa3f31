/* Which work is the same: alignment against a table of all ways, then what each rule matches. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff/match.h"

static uint32_t state;

static uint32_t random_below(uint32_t n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % n;
}

#define MOST 64

/* Length of the longest common subsequence, by the definition. */
static size_t longest(const uint32_t *a, size_t na, const uint32_t *b, size_t nb)
{
	static size_t best[MOST + 1][MOST + 1];

	for (size_t i = 0; i <= na; i++)
		for (size_t j = 0; j <= nb; j++)
			best[i][j] = !i || !j                          ? 0
			             : a[i - 1] == b[j - 1]            ? best[i - 1][j - 1] + 1
			             : best[i - 1][j] > best[i][j - 1] ? best[i - 1][j]
			                                               : best[i][j - 1];
	return best[na][nb];
}

static size_t check_partners(const uint32_t *a, size_t na, const uint32_t *b, size_t nb,
                             const uint32_t *partner)
{
	size_t n = 0, next = 0;

	for (size_t i = 0; i < na; i++) {
		if (partner[i] == WS_NONE)
			continue;
		cr_assert(partner[i] >= next && partner[i] < nb);
		cr_assert(a[i] == b[partner[i]]);
		next = partner[i] + 1;
		n++;
	}
	return n;
}

Test(match, align_as_many_face_each_other_as_possible)
{
	uint32_t a[MOST], b[MOST], partner[MOST];

	state = 1;
	for (int round = 0; round < 3000; round++) {
		size_t na = random_below(MOST), nb = random_below(MOST);
		uint32_t symbols = 1 + random_below(8);

		for (size_t i = 0; i < na; i++)
			a[i] = random_below(symbols);
		for (size_t i = 0; i < nb; i++)
			b[i] = random_below(symbols);
		ws_align(a, na, b, nb, partner);
		cr_assert_eq(check_partners(a, na, b, nb, partner), longest(a, na, b, nb));
	}
}

Test(match, align_long_sequences_that_have_little_in_common_end_soon)
{
	const size_t n = 40000;
	uint32_t *a = calloc(n, sizeof(*a)), *b = calloc(n, sizeof(*b));
	uint32_t *partner = calloc(n, sizeof(*partner));

	state = 2;
	for (size_t i = 0; i < n; i++) {
		a[i] = random_below(5000);
		b[i] = random_below(5000);
	}
	/* the quadratic way takes 1.6 billion looks */
	ws_align(a, n, b, n, partner);
	check_partners(a, n, b, n, partner);
	free(a);
	free(b);
	free(partner);
}

/* --- rules ------------------------------------------------------------------------------- */

enum { NOTHING, GEMM, ADD, NORM, CAST, SMALL, LARGE };

struct work {
	struct ws_work_item item;
	uint32_t instance;
	int64_t gpu_ns;
};

/* Work in no range: "gemm", of this shape. */
static struct work op(uint32_t kind, uint32_t shape)
{
	return (struct work){.item = {.place = WS_NONE,
	                              .op = kind,
	                              .kind = kind,
	                              .class = kind,
	                              .shape = shape,
	                              .phase = 0}};
}

static struct work precision(uint32_t kind, enum ws_precision_work precision)
{
	struct work work = op(kind, 0);

	work.item.precision = (uint8_t)precision;
	return work;
}

static struct work in_range(struct work work, uint32_t place, uint32_t instance)
{
	work.item.place = place;
	work.instance = instance;
	return work;
}

static struct work bare(uint32_t class)
{
	struct work work = op(class, 0);

	work.item.op = 0;
	return work;
}

static struct ws_match match;

#define MOST_WORK 256

static void find(const struct work *a, size_t na, const struct work *b, size_t nb)
{
	const struct work *const work[2] = {a, b};
	struct ws_names names = {.nplaces = 10};
	struct ws_work_ref call[2][MOST_WORK];
	struct ws_work_list list[2] = {{call[0], na, 0}, {call[1], nb, 0}};

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < list[s].n; i++) {
			struct ws_work_item item = work[s][i].item;

			call[s][i].instance = work[s][i].instance;
			list[s].gpu_ns += work[s][i].gpu_ns;
			call[s][i].item = ws_names_add_item(&names, &item);
		}
	ws_match_find(&match, &names, &list[0], &list[1], true);
	ws_names_release(&names);
}

static enum ws_matched_by by_of(int side, size_t i)
{
	return (enum ws_matched_by)ws_match_kind(&match, match.kind[match.group[side][i]])
	        ->criterion;
}

/* Are item i of A and j of B the same work, by this rule? */
static void expect_same(size_t i, size_t j, enum ws_matched_by by)
{
	cr_assert_neq(match.group[0][i], WS_NONE, "item %zu of A", i);
	cr_expect_eq(match.group[0][i], match.group[1][j], "%zu and %zu", i, j);
	cr_expect_eq(by_of(0, i), by, "%zu and %zu: %s", i, j, ws_matched_by_name(by_of(0, i)));
}

/* Has item i of the side no counterpart? */
static void expect_alone(int side, size_t i)
{
	cr_expect_eq(match.group[side][i], WS_NONE, "item %zu of side %d", i, side);
}

#define N(array) (sizeof(array) / sizeof(*(array)))

Test(match, the_same_instance_of_a_range_is_the_same_whatever_the_order)
{
	const struct work a[] = {in_range(op(GEMM, SMALL), 1, 0), in_range(op(GEMM, SMALL), 2, 0),
	                         in_range(op(GEMM, SMALL), 2, 1)};
	const struct work b[] = {in_range(op(GEMM, LARGE), 2, 0), in_range(op(GEMM, LARGE), 1, 0),
	                         in_range(op(GEMM, LARGE), 2, 1)};

	find(a, N(a), b, N(b));
	expect_same(0, 1, WS_MATCHED_BY_RANGE);
	expect_same(1, 0, WS_MATCHED_BY_RANGE);
	expect_same(2, 2, WS_MATCHED_BY_RANGE);
	ws_match_release(&match);
}

Test(match, the_same_work_in_the_same_order_by_what_tells_it)
{
	const struct work a[] = {in_range(op(GEMM, SMALL), 1, 0), op(ADD, 0), bare(NORM),
	                         in_range(op(GEMM, SMALL), 1, 1), in_range(op(ADD, 0), 1, 0)};

	find(a, N(a), a, N(a));
	expect_same(0, 0, WS_MATCHED_BY_RANGE);
	expect_same(1, 1, WS_MATCHED_BY_OPERATION);
	expect_same(2, 2, WS_MATCHED_BY_CLASS);
	expect_same(3, 3, WS_MATCHED_BY_RANGE);
	expect_same(4, 4, WS_MATCHED_BY_RANGE);
	cr_expect_eq(match.ngroups, N(a));
	cr_expect_eq(match.kinds.n, 4, "the first and the fourth are of one kind");
	ws_match_release(&match);
}

Test(match, operations_by_kind_shape_and_order)
{
	const struct work a[] = {op(GEMM, SMALL), op(GEMM, LARGE), op(ADD, 0)};
	const struct work b[] = {op(NORM, 0), op(GEMM, LARGE), op(ADD, 0)};

	find(a, N(a), b, N(b));
	expect_same(1, 1, WS_MATCHED_BY_OPERATION);
	expect_same(2, 2, WS_MATCHED_BY_OPERATION);
	/* one kernel each before matched work, but of other classes */
	expect_alone(0, 0);
	expect_alone(1, 0);
	ws_match_release(&match);
}

Test(match, kernels_of_no_operation_by_class_and_order)
{
	const struct work a[] = {bare(GEMM), bare(ADD), bare(GEMM)};
	const struct work b[] = {bare(GEMM), op(GEMM, SMALL)};

	find(a, N(a), b, N(b));
	expect_same(0, 0, WS_MATCHED_BY_CLASS);
	expect_same(2, 1, WS_MATCHED_BY_CLASS);
	cr_expect_eq(match.group[0][1], WS_NONE);
	ws_match_release(&match);
}

/* One gemm before and one behind; between them three items of A and one of B. */
static void find_three_and_one(struct work a[5], struct work b[3])
{
	a[0] = b[0] = op(GEMM, SMALL);
	a[4] = b[2] = op(GEMM, LARGE);
	find(a, 5, b, 3);
}

Test(match, three_kernels_of_one_class_became_one)
{
	struct work a[5] = {{.instance = 0}, op(ADD, 0), op(NORM, 0), op(ADD, 0)};
	struct work b[3] = {{.instance = 0}, op(SMALL, 0)};

	for (size_t i = 1; i < 4; i++)
		a[i].item.class = SMALL;
	find_three_and_one(a, b);
	for (size_t i = 1; i < 4; i++)
		expect_same(i, 1, WS_MATCHED_BY_NEIGHBOURS);
	ws_match_release(&match);
}

Test(match, neighbours_of_several_classes_are_the_same_when_their_flops_add_up)
{
	struct work a[5] = {{.instance = 0}, op(GEMM, SMALL), op(NORM, 0), op(GEMM, SMALL)};
	struct work b[3] = {{.instance = 0}, op(ADD, 0)};

	find_three_and_one(a, b);
	for (size_t i = 1; i < 4; i++)
		expect_alone(0, i);
	expect_alone(1, 1);
	ws_match_release(&match);

	a[1].item.flops = a[3].item.flops = 1e9F;
	b[1].item.flops = 2.05e9F;
	find_three_and_one(a, b);
	for (size_t i = 1; i < 4; i++)
		expect_same(i, 1, WS_MATCHED_BY_NEIGHBOURS);
	ws_match_release(&match);

	b[1].item.flops = 1e9F;
	find_three_and_one(a, b);
	expect_alone(1, 1);
	ws_match_release(&match);
}

Test(match, what_is_left_in_a_small_range_is_the_same_unless_its_size_matters)
{
	struct work a[] = {in_range(op(ADD, 0), 1, 0), in_range(op(SMALL, 0), 1, 0)};
	struct work b[] = {in_range(op(NORM, 0), 1, 0)};

	find(a, N(a), b, N(b));
	expect_same(0, 0, WS_MATCHED_BY_NEIGHBOURS);
	expect_same(1, 0, WS_MATCHED_BY_NEIGHBOURS);
	ws_match_release(&match);

	/* sizes that are known and differ */
	a[0].item.volume = 64;
	b[0].item.volume = 128;
	find(a, 1, b, 1);
	expect_alone(0, 0);
	ws_match_release(&match);
	b[0].item.volume = 66;
	find(a, 1, b, 1);
	expect_same(0, 0, WS_MATCHED_BY_RANGE);
	ws_match_release(&match);
}

Test(match, a_cast_belongs_to_the_work_beside_it)
{
	const struct work a[] = {op(GEMM, SMALL)};
	const struct work cast = precision(CAST, WS_PRECISION_CAST);
	const struct work b[] = {cast, cast, op(GEMM, SMALL), op(ADD, 0), cast};

	find(a, N(a), b, N(b));
	expect_same(0, 2, WS_MATCHED_BY_OPERATION);
	for (size_t i = 0; i < 2; i++) {
		cr_assert_neq(match.group[1][i], WS_NONE);
		cr_expect_eq(by_of(1, i), WS_MATCHED_BY_CAST);
	}
	cr_expect_eq(match.group[1][3], WS_NONE);
	cr_expect_eq(match.group[1][4], WS_NONE, "beside nothing that is matched");
	ws_match_release(&match);
}

Test(match, operations_of_other_kinds_in_one_class_are_not_the_same)
{
	struct work a[] = {op(ADD, 0), op(GEMM, SMALL)}, b[] = {op(NORM, 0)};

	a[0].item.class = b[0].item.class = SMALL;
	b[0].item.phase = 1;
	a[0].item.phase = 1;
	find(a, N(a), b, N(b));
	/* the only work of its phase on both sides: neighbours of the begin */
	expect_same(0, 0, WS_MATCHED_BY_NEIGHBOURS);
	ws_match_release(&match);
}

Test(match, another_phase_is_other_work)
{
	struct work a[] = {op(GEMM, SMALL)}, b[] = {op(GEMM, SMALL)};

	b[0].item.phase = 1;
	find(a, N(a), b, N(b));
	cr_expect_eq(match.group[0][0], WS_NONE);
	cr_expect_eq(match.group[1][0], WS_NONE);
	ws_match_release(&match);
}

Test(match, everything_matches_itself_and_the_mirror_is_the_same)
{
	struct work a[200], b[150];

	state = 3;
	for (int round = 0; round < 50; round++) {
		struct ws_match back;

		for (size_t i = 0; i < N(a); i++)
			a[i] = random_below(2)
			               ? in_range(op(GEMM + random_below(4), random_below(3)),
			                          random_below(9), random_below(3))
			               : op(GEMM + random_below(4), random_below(3));
		for (size_t i = 0; i < N(a); i++)
			a[i].gpu_ns = random_below(1000);
		for (size_t i = 0; i < N(b); i++)
			b[i] = a[random_below(2) ? i : random_below(N(a))];
		find(a, N(a), a, N(a));
		for (size_t i = 0; i < N(a); i++)
			cr_assert_eq(match.group[0][i], match.group[1][i]);
		ws_match_release(&match);
		find(b, N(b), a, N(a));
		back = match;
		find(a, N(a), b, N(b));
		cr_expect_eq(match.ngroups, back.ngroups, "round %d: %zu and %zu", round,
		             match.ngroups, back.ngroups);
		ws_match_release(&match);
		ws_match_release(&back);
	}
}
