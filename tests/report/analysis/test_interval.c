#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/base/interval.h"

Test(interval, gaps_do_not_count)
{
	struct ws_union u = {0};

	ws_union_add(&u, 10, 20);
	ws_union_add(&u, 30, 45);
	cr_expect(eq(i64, u.busy_ns, 25));
}

Test(interval, overlap_counts_once)
{
	struct ws_union u = {0};

	ws_union_add(&u, 10, 20);
	ws_union_add(&u, 15, 30);
	ws_union_add(&u, 16, 18); /* inside */
	ws_union_add(&u, 30, 31); /* touches */
	cr_expect(eq(i64, u.busy_ns, 21));
}

Test(interval, empty_intervals_and_equal_ones_add_nothing)
{
	struct ws_union u = {0};

	ws_union_add(&u, 0, 0);
	cr_expect(eq(i64, u.busy_ns, 0));
	ws_union_add(&u, 5, 9);
	ws_union_add(&u, 5, 9);
	cr_expect(eq(i64, u.busy_ns, 4));
}

Test(interval, negative_times_are_times)
{
	struct ws_union u = {0};

	ws_union_add(&u, -100, -90);
	ws_union_add(&u, -95, 5);
	cr_expect(eq(i64, u.busy_ns, 105));
}

Test(interval, another_device_begins_anew)
{
	struct ws_union u = {0};

	ws_union_add(&u, 10, 20);
	ws_union_next_device(&u);
	ws_union_add(&u, 12, 15); /* at the same time elsewhere: counts, too */
	cr_expect(eq(i64, u.busy_ns, 13));
}

Test(interval, agrees_with_a_bitmap_on_many_inputs)
{
	uint64_t seed = 7;

	for (int round = 0; round < 300; round++) {
		char covered[400] = {0};
		struct ws_union u = {0};
		int64_t start = 0, expected = 0;

		for (int i = 0; i < 40; i++) {
			int64_t len;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			start += (int64_t)(seed >> 61);
			len = (int64_t)(seed >> 40 & 15);
			ws_union_add(&u, start, start + len);
			memset(covered + start, 1, (size_t)len);
		}
		for (size_t i = 0; i < sizeof(covered); i++)
			expected += covered[i];
		cr_assert(eq(i64, u.busy_ns, expected));
	}
}
