#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

#include "tests/support/trace_builder.h"

/* The order in which a reviewer asks. */
Test(summary, sections_stand_in_the_order_of_the_questions)
{
	static const char *const order[] = {
	        "What ran",          "How long a step takes", "Where the time goes",
	        "GPU time by phase", "GPU time by class",     "Top kernels",
	        "What to do",        "What is missing",       "Workload",
	        "Provenance",
	};
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row = 0;

	tb_mark(b, 0, "workload.model=transformer-tiny");
	tb_launch(b, 10, "k", 20, 5);
	j = tb_joined(b);
	t = tb_table(j, "summary", NULL);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		size_t found = tb_find(t, 0, "section", order[i]);

		cr_expect(found >= row, "%s", order[i]);
		row = found;
	}
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* --- payloads of any program ---------------------------------------------------------------------
 */

static int64_t number(uint64_t type, const void *bytes, size_t len, int *ok)
{
	int64_t value = -77;

	*ok = ws_payload_number(type, bytes, len, &value);
	return value;
}

Test(summary, payload_numbers_have_the_sizes_and_signs_of_nvtx)
{
	static const uint8_t ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
	int ok;

	cr_expect(eq(i64, number(11, ones, 8, &ok), -1));
	cr_expect(eq(i64, number(12, ones, 8, &ok), 255));
	cr_expect(eq(i64, number(13, ones, 8, &ok), -1));
	cr_expect(eq(i64, number(14, ones, 8, &ok), 65535));
	cr_expect(eq(i64, number(15, ones, 8, &ok), -1));
	cr_expect(eq(i64, number(16, ones, 8, &ok), 4294967295));
	cr_expect(eq(i64, number(17, ones, 8, &ok), -1));
	cr_expect(ok);
	number(18, ones, 8, &ok);
	cr_expect(not(ok), "2^64 - 1 fits into no int64_t");
	number(17, ones, 7, &ok);
	cr_expect(not(ok), "the payload ends inside the number");
	number(20, ones, 8, &ok);
	cr_expect(not(ok), "a double is no whole number");
	number(999, ones, 8, &ok);
	cr_expect(not(ok));
}
