/*
 * Values that are kept one by one or as runs have the same statistics, and
 * those that repeat take no more memory when more of them come.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "report/base/values.h"

#define N 300000

static uint64_t next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static void expect_same(const struct ws_stat *a, const struct ws_stat *b)
{
	cr_expect(eq(u64, a->n, b->n));
	cr_expect(eq(i64, a->sum, b->sum));
	cr_expect(eq(i64, a->min, b->min));
	cr_expect(eq(i64, a->max, b->max));
	cr_expect(eq(dbl, a->mean, b->mean));
	cr_expect(eq(dbl, a->median, b->median));
	cr_expect(eq(dbl, a->std, b->std));
}

/* n values of `different`, from `least` up; every 1,000th is wide where asked for. */
static void check(size_t n, uint64_t different, int64_t least, bool wide)
{
	int64_t *all = malloc(n * sizeof(*all));
	struct ws_values values[2] = {{0}, {0}};
	const struct ws_values *both[] = {&values[0], &values[1]};
	struct ws_values_scratch scratch = {0};
	uint64_t random = 88172645463325252u;
	struct ws_stat expected, found;

	for (size_t i = 0; i < n; i++) {
		all[i] = least + (int64_t)(next(&random) % different);
		if (wide && i % 1000 == 0)
			all[i] = i % 2000 ? -all[i] : all[i] << 14;
		/* a large and a small part, so that not both are folded */
		cr_assert(ws_values_add(&values[i % 64 == 0], all[i]));
	}
	cr_expect(eq(sz, ws_values_count(both[0]) + ws_values_count(both[1]), n));
	cr_assert(ws_values_stat(both, 2, &scratch, &found));
	ws_stat_of(all, n, &expected);
	expect_same(&found, &expected);
	ws_values_scratch_free(&scratch);
	ws_values_free(&values[0]);
	ws_values_free(&values[1]);
	free(all);
}

Test(values, folded_ones_have_the_same_statistics)
{
	check(N, 1, 7, false);
	check(N, 900, 1000000, false);
	check(N + 1, 900, 1000000, true);
	check(N, 5, UINT32_MAX - 3, false);
}

Test(values, those_that_do_not_repeat_have_them_too)
{
	check(N, UINT32_MAX, 0, false);
	check(N - 1, UINT32_MAX, 0, true);
	check(100, 5, 0, true);
}

static size_t bytes_of(const struct ws_values *v)
{
	return v->capacity * sizeof(*v->narrow) +
	       (v->rest ? v->rest->nruns * sizeof(*v->rest->runs) : 0);
}

Test(values, memory_follows_the_different_ones)
{
	struct ws_values v = {0};
	uint64_t random = 1;
	size_t early = 0;

	for (size_t i = 0; i < 20 * N; i++) {
		cr_assert(ws_values_add(&v, 50000 + (int64_t)(next(&random) % 2000)));
		if (i == N)
			early = bytes_of(&v);
	}
	cr_expect(le(sz, bytes_of(&v), early));
	cr_expect(le(sz, bytes_of(&v), 100000));
	ws_values_free(&v);
}

Test(values, a_count_that_32_bits_do_not_hold_is_split)
{
	struct ws_value_run *runs = calloc(1, sizeof(*runs));
	struct ws_values_rest *rest = calloc(1, sizeof(*rest));
	struct ws_values v = {.rest = rest};
	const struct ws_values *one = &v;
	struct ws_values_scratch scratch = {0};
	struct ws_stat found;

	*runs = (struct ws_value_run){3, UINT32_MAX};
	*rest = (struct ws_values_rest){.runs = runs, .nruns = 1, .in_runs = UINT32_MAX};
	for (size_t i = 0; i < 200000; i++)
		cr_assert(ws_values_add(&v, 3));
	cr_expect(gt(sz, rest->nruns, 1));
	cr_assert(ws_values_stat(&one, 1, &scratch, &found));
	cr_expect(eq(u64, found.n, (uint64_t)UINT32_MAX + 200000));
	cr_expect(eq(i64, found.sum, 3 * ((int64_t)UINT32_MAX + 200000)));
	cr_expect(eq(dbl, found.median, 3));
	cr_expect(eq(dbl, found.std, 0));
	ws_values_scratch_free(&scratch);
	ws_values_free(&v);
}
