/* Narrow and wide values have the statistics of all of them. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "report/base/stat.h"
#include "tests/environment/random.h"

#define N 300000

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
	uint64_t random = 88172645463325252u;
	struct ws_stat expected, found;

	for (size_t i = 0; i < n; i++) {
		all[i] = least + (int64_t)(random_u64(&random) % different);
		if (wide && i % 1000 == 0)
			all[i] = i % 2000 ? -all[i] : all[i] << 14;
		ws_values_add(&values[i % 64 == 0], all[i]);
	}
	cr_expect(eq(sz, ws_values_count(both[0]) + ws_values_count(both[1]), n));
	ws_values_stat(both, 2, &found);
	ws_stat_of(all, n, &expected);
	expect_same(&found, &expected);
	ws_values_free(&values[0]);
	ws_values_free(&values[1]);
	free(all);
}

Test(values, those_of_several_are_as_of_one)
{
	check(N, 1, 7, false);
	check(N + 1, 900, 1000000, true);
	check(N, 5, UINT32_MAX - 3, false);
	check(N - 1, UINT32_MAX, 0, true);
	check(100, 5, 0, true);
}

/* One kernel of a long program: its memory is that of the durations that it has, exactly. */
Test(values, memory_grows_with_the_number_of_different_values)
{
	struct ws_values v = {0};
	struct ws_stat stat;

	for (int64_t i = 0; i < 10000000; i++)
		ws_values_add(&v, 5000 + i * 7919 % 1001);
	cr_expect(eq(u64, ws_values_count(&v), 10000000));
	cr_expect(lt(u32, v.capacity, 8192));
	ws_values_stat_of(&v, &stat);
	cr_expect(eq(i64, stat.min, 5000));
	cr_expect(eq(i64, stat.max, 6000));
	cr_expect(eq(dbl, stat.median, 5500));
	ws_values_free(&v);
	/* where no two are equal, it is four bytes a value and what a growing array has free */
	for (int64_t i = 0; i < 100000; i++)
		ws_values_add(&v, i * 7919 % 100003);
	cr_expect(le(u32, v.capacity, 150000));
	ws_values_free(&v);
}
