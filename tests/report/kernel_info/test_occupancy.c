#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <string.h>

#include "report/kernel_info/occupancy.h"
#include "tests/support/paths.h"

static struct ws_device_facts facts(int64_t major, int64_t minor, int64_t sm_count)
{
	struct ws_device_facts f;

	ws_device_facts_init(&f);
	f.compute_capability_major = major;
	f.compute_capability_minor = minor;
	f.sm_count = sm_count;
	return f;
}

static struct ws_sm_limits limits(int64_t major, int64_t minor, int64_t sm_count)
{
	struct ws_device_facts f = facts(major, minor, sm_count);
	struct ws_sm_limits l;

	cr_assert(eq(int, ws_sm_limits_from(&f, &l), 1));
	return l;
}

static struct ws_launch_shape shape(uint64_t grid, uint64_t threads, uint64_t registers,
                                    uint64_t shared_bytes)
{
	return (struct ws_launch_shape){grid, 1, 1, threads, 1, 1, registers, shared_bytes};
}

static struct ws_occupancy estimate(struct ws_sm_limits l, struct ws_launch_shape s)
{
	struct ws_occupancy o;

	cr_assert(eq(int, ws_occupancy_estimate(&l, &s, &o), 1));
	return o;
}

static void expect_unknown(struct ws_sm_limits l, struct ws_launch_shape s)
{
	struct ws_occupancy o;

	cr_expect(eq(int, ws_occupancy_estimate(&l, &s, &o), 0));
}

/*
 * H100, 564 blocks of 128 threads, 32 registers: 4 warps; 64/4 = 16 blocks by warps;
 * 32*32 = 1024 registers a warp, 16384/1024 = 16 warps a partition, 64/4 = 16 blocks;
 * but the grid gives each of 132 SMs only 4.27 blocks: 4.2727*128/2048 = 26.70 %.
 */
Test(occupancy, a_small_grid_limits_what_is_achieved)
{
	struct ws_occupancy o = estimate(limits(9, 0, 132), shape(564, 128, 32, 0));

	cr_expect(eq(uint, o.active_blocks, 16));
	cr_expect(eq(uint, o.limiters, WS_OCCUPANCY_WARPS | WS_OCCUPANCY_REGISTERS));
	cr_expect(ieee_ulp_eq(dbl, o.blocks_per_sm, 564.0 / 132, 1));
	cr_expect(ieee_ulp_eq(dbl, o.warps_per_sm, 564.0 / 132 * 4, 2));
	cr_expect(ieee_ulp_eq(dbl, o.percent, 100 * 564.0 / 132 * 128 / 2048, 4));
	cr_expect(eq(uint, o.kineto_percent, 27));
}

/*
 * A100, 64 threads, 168 registers: 168*32 = 5376 a warp (a multiple of 256);
 * 16384/5376 = 3 warps a partition, 12 an SM, 6 blocks of 2 warps. Rounding a
 * block up to 4 warps would give 3.
 */
Test(occupancy, registers_are_counted_by_warp_not_by_four_warps)
{
	struct ws_occupancy o = estimate(limits(8, 0, 108), shape(100000, 64, 168, 0));

	cr_expect(eq(uint, o.active_blocks, 6));
	cr_expect(eq(uint, o.limiters, WS_OCCUPANCY_REGISTERS));
	cr_expect(ieee_ulp_eq(dbl, o.percent, 18.75, 1));
	cr_expect(eq(uint, o.kineto_percent, 19));
}

/* A100, 96 KiB: 98304 + 1024 reserved = 99328 a block, 167936/99328 = 1; 128/2048 = 6.25 %. */
Test(occupancy, more_than_48_kib_of_shared_memory_counts_though_kineto_shows_0)
{
	struct ws_occupancy o = estimate(limits(8, 0, 108), shape(1000, 128, 122, 98304));

	cr_expect(eq(uint, o.active_blocks, 1));
	cr_expect(eq(uint, o.limiters, WS_OCCUPANCY_SHARED));
	cr_expect(ieee_ulp_eq(dbl, o.percent, 6.25, 1));
	cr_expect(eq(uint, o.kineto_active_blocks, 0));
	cr_expect(eq(uint, o.kineto_percent, 0));

	/* 48 KiB exactly: 50176 a block, 167936/50176 = 3 */
	o = estimate(limits(8, 0, 108), shape(1000, 128, 32, 49152));
	cr_expect(eq(uint, o.active_blocks, 3));
	cr_expect(eq(uint, o.kineto_active_blocks, 3));
	cr_expect(eq(uint, o.kineto_percent, 19));
	/* one byte more */
	o = estimate(limits(8, 0, 108), shape(1000, 128, 32, 49153));
	cr_expect(eq(uint, o.active_blocks, 3));
	cr_expect(eq(uint, o.kineto_active_blocks, 0));
}

/* V100, 224 blocks of 128 threads on 80 SMs: 2.8*128/2048 = 17.5 % exactly, in float just below. */
Test(occupancy, kineto_rounds_in_float_so_that_an_exact_half_may_go_down)
{
	struct ws_occupancy o = estimate(limits(7, 0, 80), shape(224, 128, 32, 0));

	cr_expect(ieee_ulp_eq(dbl, o.percent, 17.5, 2));
	cr_expect(eq(uint, o.kineto_percent, 17));
	/* 80 of 256: 12.5 % can be held exactly and goes up */
	o = estimate(limits(7, 0, 80), shape(80, 256, 32, 0));
	cr_expect(eq(uint, o.kineto_percent, 13));
}

Test(occupancy, the_number_of_resident_blocks_differs_by_capability)
{
	/* blocks of one warp: T4 16 of 32 warps, 8.6 16 of 48, 8.9 and 12.0 24 of 48, 9.0 32 of 64
	 */
	static const struct {
		int64_t major, minor;
		unsigned blocks;
		double percent;
	} cases[] = {
	        {7, 5, 16, 50}, {8, 6, 16, 100.0 / 3}, {8, 9, 24, 50},  {12, 0, 24, 50},
	        {9, 0, 32, 50}, {10, 0, 32, 50},       {11, 0, 24, 50},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ws_occupancy o = estimate(limits(cases[i].major, cases[i].minor, 40),
		                                 shape(1 << 20, 32, 16, 0));

		cr_expect(eq(uint, o.active_blocks, cases[i].blocks));
		cr_expect(eq(uint, o.limiters, WS_OCCUPANCY_BLOCKS));
		cr_expect(ieee_ulp_eq(dbl, o.percent, cases[i].percent, 4));
	}
}

/* RTX 3080 (8.6), 256 threads, 40 registers: 48/8 = 6 by warps; 1280 a warp, 12*4/8 = 6 by
 * registers. */
Test(occupancy, every_limit_that_allows_no_more_is_named)
{
	struct ws_occupancy o = estimate(limits(8, 6, 68), shape(1 << 20, 256, 40, 0));

	cr_expect(eq(uint, o.active_blocks, 6));
	cr_expect(ieee_ulp_eq(dbl, o.percent, 100, 1));
	cr_expect(eq(uint, o.limiters, WS_OCCUPANCY_WARPS | WS_OCCUPANCY_REGISTERS));
}

/* 12.0, 33 KiB: 33792 + 1024 = 34816; 102400/34816 = 2; 2*128/1536 = 16.67 %. */
Test(occupancy, the_driver_takes_1_kib_of_shared_memory_from_each_block)
{
	struct ws_occupancy o = estimate(limits(12, 0, 170), shape(1 << 20, 128, 32, 33792));

	cr_expect(eq(uint, o.active_blocks, 2));
	cr_expect(ieee_ulp_eq(dbl, o.percent, 100.0 / 6, 2));
	/* T4 reserves nothing: 65536/33792 = 1 */
	o = estimate(limits(7, 5, 40), shape(1 << 20, 128, 32, 33792));
	cr_expect(eq(uint, o.active_blocks, 1));
	/* ... and gives 32 KiB to two */
	o = estimate(limits(7, 5, 40), shape(1 << 20, 128, 32, 32768));
	cr_expect(eq(uint, o.active_blocks, 2));
}

Test(occupancy, threads_fill_whole_warps_on_the_sm_but_not_in_the_share)
{
	/* 100 threads take 4 warps: 64/4 = 16 blocks; 16*100/2048 = 78.125 % */
	struct ws_occupancy o = estimate(limits(9, 0, 132), shape(132, 100, 16, 0));

	cr_expect(ieee_ulp_eq(dbl, o.warps_per_sm, 3.125, 1));
	o = estimate(limits(9, 0, 132), shape(132 * 64, 100, 16, 0));
	cr_expect(ieee_ulp_eq(dbl, o.percent, 78.125, 1));
}

Test(occupancy, no_registers_recorded_is_no_limit)
{
	struct ws_occupancy o = estimate(limits(9, 0, 132), shape(1 << 20, 1024, 0, 0));

	cr_expect(eq(uint, o.active_blocks, 2));
	cr_expect(eq(uint, o.limiters, WS_OCCUPANCY_WARPS));
}

Test(occupancy, an_unknown_device_has_no_limits)
{
	static const int64_t unknown[][3] = {
	        {-1, -1, 132}, {9, -1, 132}, {9, 0, -1}, {4, 0, 8},       {3, 5, 13},
	        {9, 1, 132},   {13, 0, 200}, {0, 0, 1},  {1 << 29, 0, 1},
	};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		struct ws_device_facts f = facts(unknown[i][0], unknown[i][1], unknown[i][2]);
		struct ws_sm_limits l;

		cr_expect(eq(int, ws_sm_limits_from(&f, &l), 0));
	}
}

Test(occupancy, a_launch_that_cannot_be_is_unknown_not_0)
{
	struct ws_sm_limits h100 = limits(9, 0, 132);

	expect_unknown(h100, shape(0, 128, 32, 0));
	expect_unknown(h100, shape(1, 0, 32, 0));
	expect_unknown(h100, shape(1, 1025, 32, 0));
	expect_unknown(h100, shape(1, 128, 257, 0));
	expect_unknown(h100, shape(1, 128, UINT64_MAX, 0));
	expect_unknown(h100, shape(1, 128, 32, 232449));
	expect_unknown(h100, shape(1, 128, 32, UINT64_MAX));
	expect_unknown(h100, (struct ws_launch_shape){UINT64_MAX, 2, 1, 128, 1, 1, 32, 0});
	expect_unknown(h100, (struct ws_launch_shape){1, 1, 1, UINT64_MAX, UINT64_MAX, 4, 32, 0});
	/* 5.3 has 32 Ki registers a block: 33 registers need 1280*32 = 40960 */
	expect_unknown(limits(5, 3, 1), shape(1, 1024, 33, 0));
	/* the launch check counts 12 warps for 9: 12*6400 = 76800 */
	expect_unknown(h100, shape(1, 288, 200, 0));
}

Test(occupancy, the_largest_grid_is_no_overflow)
{
	struct ws_launch_shape s = {2147483647, 65535, 65535, 32, 32, 1, 32, 0};
	struct ws_occupancy o = estimate(limits(9, 0, 132), s);

	cr_expect(eq(uint, o.active_blocks, 2));
	cr_expect(ieee_ulp_eq(dbl, o.percent, 100, 1));
	cr_expect(eq(uint, o.kineto_percent, 100));
}

Test(occupancy, what_is_recorded_of_the_device_replaces_the_table)
{
	struct ws_device_facts f = facts(8, 0, 108);
	struct ws_sm_limits l;

	/* half of the shared memory: 83968/50176 = 1 */
	cr_expect(eq(int, ws_device_facts_set(&f, "shared_per_sm_bytes", 19, 83968), 1));
	cr_expect(eq(int, ws_device_facts_set(&f, "sm_count", 8, 14), 1));
	cr_assert(eq(int, ws_sm_limits_from(&f, &l), 1));
	cr_expect(eq(uint, estimate(l, shape(1000, 128, 32, 49152)).active_blocks, 1));
	cr_expect(ieee_ulp_eq(dbl, estimate(l, shape(28, 128, 32, 0)).blocks_per_sm, 2, 1));
	cr_expect(eq(int, ws_device_facts_set(&f, "shared_reserved_per_block_bytes", 31, 0), 1));
	cr_assert(eq(int, ws_sm_limits_from(&f, &l), 1));
	cr_expect(eq(uint, l.shared_reserved_bytes, 0));
}

Test(occupancy, absurd_or_foreign_attributes_are_not_taken)
{
	struct ws_device_facts f = facts(8, 0, 108), before = f;

	cr_expect(eq(int, ws_device_facts_set(&f, "sm_count", 8, 0), 0));
	cr_expect(eq(int, ws_device_facts_set(&f, "sm_count", 8, -5), 0));
	cr_expect(eq(int, ws_device_facts_set(&f, "sm_count", 8, INT64_MAX), 0));
	cr_expect(eq(int, ws_device_facts_set(&f, "sm_count", 7, 5), 0));
	cr_expect(eq(int, ws_device_facts_set(&f, "sm_counts", 9, 5), 0));
	cr_expect(eq(int, ws_device_facts_set(&f, "core_clock_khz", 14, 5), 0));
	cr_expect(eq(int, ws_device_facts_set(&f, "", 0, 5), 0));
	cr_expect(eq(int, memcmp(&f, &before, sizeof(f)), 0));
	cr_expect(eq(int, ws_device_facts_set(&f, "compute_capability_minor", 24, 0), 1));
}

/* Whatever a damaged trace says of its device, no division by 0 and no share over 100. */
Test(occupancy, any_recorded_limits_give_unknown_or_a_share)
{
	static const int64_t odd[] = {1, 2, 31, 32, 33, 1000, 65536, (int64_t)1 << 30};
	static const char *const attrs[] = {
#define X(name, least) #name,
	        WS_DEVICE_FACT_LIST(X)
#undef X
	};
	size_t nattrs = sizeof(attrs) / sizeof(*attrs), nodd = sizeof(odd) / sizeof(*odd);

	for (size_t seed = 0; seed < 5000; seed++) {
		struct ws_device_facts f = facts(8, 9, 58);
		struct ws_sm_limits l;
		struct ws_occupancy o;
		struct ws_launch_shape s = shape(seed, seed % 1500, seed % 300, seed * 97 % 300000);
		size_t pick = seed * 2654435761u;

		for (size_t i = 3; i < nattrs; i++, pick /= 3)
			if (pick % 3)
				ws_device_facts_set(&f, attrs[i], strlen(attrs[i]),
				                    odd[pick % nodd]);
		f.sm_count = odd[seed % nodd];
		cr_assert(eq(int, ws_sm_limits_from(&f, &l), 1));
		if (ws_occupancy_estimate(&l, &s, &o)) {
			cr_expect(le(dbl, o.percent, 100.0 + 1e-9));
			cr_expect(le(uint, o.kineto_percent, 100));
		}
	}
}

static const char *document(void)
{
	static char doc[1 << 16];
	FILE *f = fopen(WS_DOCS "/reference/occupancy.md", "r");

	cr_assert(ne(ptr, f, NULL));
	doc[fread(doc, 1, sizeof(doc) - 1, f)] = '\0';
	fclose(f);
	return doc;
}

Test(occupancy, the_document_lists_every_attribute)
{
	const char *doc = document();

#define X(name, least) cr_expect(ne(ptr, strstr(doc, "`" #name "`"), NULL), #name);
	WS_DEVICE_FACT_LIST(X)
#undef X
}

Test(occupancy, the_document_has_the_limits_that_are_used)
{
	const char *doc = document();
	unsigned rows = 0;

	for (int64_t cc = 0; cc < 200; cc++) {
		struct ws_device_facts f = facts(cc / 10, cc % 10, 1);
		struct ws_sm_limits l;
		char row[256];

		if (!ws_sm_limits_from(&f, &l))
			continue;
		rows++;
		snprintf(row, sizeof(row), "\n| %u.%u | %u | %u | %u | %u | %u | %u | %u | %u |\n",
		         l.major, l.minor, l.threads_per_sm, l.blocks_per_sm, l.registers_per_block,
		         l.sub_partitions, l.shared_per_sm_bytes / 1024,
		         l.shared_per_block_optin_bytes / 1024, l.shared_reserved_bytes / 1024,
		         l.shared_granularity_bytes);
		cr_expect(ne(ptr, strstr(doc, row), NULL), "no row%s", row);
	}
	cr_expect(eq(uint, rows, 21));
}
