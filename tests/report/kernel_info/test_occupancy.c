/* All recorded limits, and what the document has; occupancy by hand: scenarios/occupancy.scenario.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <string.h>

#include "report/kernel_info/occupancy.h"
#include "tests/environment/random.h"
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

/* RTX 3080 (8.6), 256 threads, 40 registers: 48/8 = 6 by warps; 1280 a warp, 12*4/8 = 6 by
 * registers. */
Test(occupancy, the_tightest_limit_sets_the_blocks_of_an_sm)
{
	const struct ws_launch_shape shape = {1 << 20, 1, 1, 256, 1, 1, 40, 0};
	const struct ws_device_facts f = facts(8, 6, 68);
	struct ws_sm_limits l;
	struct ws_occupancy o;

	cr_assert(eq(int, ws_sm_limits_from(&f, &l), 1));
	cr_assert(eq(int, ws_occupancy_estimate(&l, &shape, &o), 1));
	cr_expect(eq(uint, o.active_blocks, 6));
	cr_expect(ieee_ulp_eq(dbl, o.percent, 100, 1));
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
	uint64_t state = 1;
	unsigned known = 0;

	for (int i = 0; i < 5000; i++) {
		struct ws_device_facts f = facts(8, 9, 58);
		struct ws_sm_limits l;
		struct ws_occupancy o;
		const struct ws_launch_shape s = {random_below(&state, 5000),
		                                  1,
		                                  1,
		                                  random_below(&state, 1100),
		                                  1,
		                                  1,
		                                  random_below(&state, 300),
		                                  random_below(&state, 2) *
		                                          random_below(&state, 120000)};

		/* one or two of them */
		for (size_t k = 3; k < nattrs; k++)
			if (random_below(&state, 6) == 0)
				ws_device_facts_set(&f, attrs[k], strlen(attrs[k]),
				                    odd[random_below(&state, nodd)]);
		f.sm_count = odd[random_below(&state, nodd)];
		cr_assert(eq(int, ws_sm_limits_from(&f, &l), 1));
		if (ws_occupancy_estimate(&l, &s, &o)) {
			known++;
			cr_expect(le(dbl, o.percent, 100.0 + 1e-9));
			cr_expect(le(uint, o.kineto_percent, 100));
		}
	}
	cr_expect(known > 500 && known < 4500, "%u of 5000", known);
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
