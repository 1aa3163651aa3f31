#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/export/parquet/parquet.h"

Test(rollup, buckets_of_times_computed_by_hand)
{
	static const struct {
		uint64_t dur_ns;
		uint32_t bucket;
		uint64_t from_ns;
	} cases[] = {
	        {0, 0, 0},
	        {127, 127, 127},
	        {128, 128, 128},
	        {255, 255, 255},
	        {256, 256, 256}, /* from here on 2 ns wide */
	        {257, 256, 256},
	        {258, 257, 258},
	        {511, 383, 510},
	        {512, 384, 512}, /* 4 ns wide */
	        {1000, 2 * 128 + 250, 1000},
	        {1000000, 12 * 128 + 244, 244 * 4096},
	        {INT64_MAX, WS_ROLLUP_BUCKETS - 1, 255ull << 55},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert(eq(u32, ws_rollup_bucket(cases[i].dur_ns), cases[i].bucket), "case %zu",
		          i);
		cr_assert(eq(u64, ws_rollup_bucket_from(cases[i].bucket), cases[i].from_ns),
		          "case %zu", i);
	}
	cr_assert(eq(u64, ws_rollup_bucket_from(WS_ROLLUP_BUCKETS), 1ull << 63));
}

Test(rollup, buckets_follow_each_other_without_gap_and_are_at_most_one_128th_wide)
{
	for (uint32_t b = 0; b < WS_ROLLUP_BUCKETS; b++) {
		uint64_t from = ws_rollup_bucket_from(b), next = ws_rollup_bucket_from(b + 1);

		cr_assert(lt(u64, from, next), "bucket %u", b);
		cr_assert(eq(u32, ws_rollup_bucket(from), b));
		cr_assert(eq(u32, ws_rollup_bucket(next - 1), b));
		cr_assert(next - from == 1 || (next - from) * 128 <= from, "bucket %u", b);
	}
}
