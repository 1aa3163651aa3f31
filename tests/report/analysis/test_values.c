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
static void check(bool packed, size_t n, uint64_t different, int64_t least, bool wide)
{
	size_t bytes = packed ? WS_VALUES_UNPACKED_BYTES : 0;
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
		cr_assert(ws_values_add(&values[i % 64 == 0], all[i], &bytes));
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
	check(true, N, 1, 7, false);
	check(false, N, 1, 7, false);
	check(true, N, 900, 1000000, false);
	check(false, N, 900, 1000000, false);
	check(true, N + 1, 900, 1000000, true);
	check(false, N + 1, 900, 1000000, true);
	check(true, N, 5, UINT32_MAX - 3, false);
	check(false, N, 5, UINT32_MAX - 3, false);
}

Test(values, those_that_do_not_repeat_have_them_too)
{
	check(true, N, UINT32_MAX, 0, false);
	check(false, N, UINT32_MAX, 0, false);
	check(true, N - 1, UINT32_MAX, 0, true);
	check(false, N - 1, UINT32_MAX, 0, true);
	check(true, 100, 5, 0, true);
	check(false, 100, 5, 0, true);
}

static size_t bytes_of(const struct ws_values *v)
{
	return v->capacity * sizeof(*v->narrow) + (v->rest ? v->rest->packed_bytes : 0);
}

Test(values, memory_follows_the_different_ones)
{
	struct ws_values v = {0};
	size_t bytes = WS_VALUES_UNPACKED_BYTES;
	uint64_t random = 1;
	size_t early = 0;

	for (size_t i = 0; i < 20 * N; i++) {
		cr_assert(ws_values_add(&v, 50000 + (int64_t)(next(&random) % 2000), &bytes));
		if (i == N)
			early = bytes_of(&v);
	}
	cr_expect(lt(sz, bytes_of(&v), early + early / 5));
	cr_expect(le(sz, bytes_of(&v), 120000));
	ws_values_free(&v);
}

/* Steps and counts of each length, values at the ends of 32 bits, and more after they were packed.
 */
Test(values, steps_and_counts_of_any_size_come_back)
{
	static const int64_t some[] = {0, 1, 63, 64, 8255, 1 << 20, UINT32_MAX - 1, UINT32_MAX};
	const size_t n = sizeof(some) / sizeof(*some);
	struct ws_values v = {0};
	const struct ws_values *one = &v;
	struct ws_values_scratch scratch = {0};
	struct ws_stat found, expected;
	struct ws_counted counted[8];
	size_t bytes = WS_VALUES_UNPACKED_BYTES;

	for (size_t k = 0; k < n; k++) {
		counted[k] = (struct ws_counted){some[k], k % 3 ? 100 * k : 1};
		for (size_t i = 0; i < counted[k].n; i++)
			cr_assert(ws_values_add(&v, some[k], &bytes));
	}
	for (size_t i = 0; i < 200000; i++)
		cr_assert(ws_values_add(&v, 64, &bytes));
	counted[3].n += 200000;
	cr_expect(gt(sz, v.rest->in_runs, 100000));
	cr_expect(eq(sz, v.rest->nruns, n));
	cr_assert(ws_values_stat(&one, 1, &scratch, &found));
	ws_stat_of_counted(counted, n, &expected);
	expect_same(&found, &expected);
	ws_values_scratch_free(&scratch);
	ws_values_free(&v);
}

/* Values that all differ take less than half of their own length. */
Test(values, those_that_differ_by_little_are_short)
{
	struct ws_values v = {0};
	size_t bytes = WS_VALUES_UNPACKED_BYTES;
	uint64_t random = 1;

	for (size_t i = 0; i < N; i++)
		cr_assert(ws_values_add(&v, (int64_t)(next(&random) % (8 * N)), &bytes));
	cr_expect(lt(sz, bytes_of(&v), N * sizeof(*v.narrow) * 3 / 4));
	cr_expect(lt(sz, v.rest->packed_bytes, N * sizeof(*v.narrow) / 2));
	ws_values_free(&v);
}
