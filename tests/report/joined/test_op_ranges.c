/* The annotated operation around a range, beside a walk through the ranges around it. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/joined/rows.h"
#include "tests/support/trace_builder.h"

static uint32_t find_slowly(struct ws_joined_rows *rows, uint32_t number)
{
	while (number != WS_NONE && !ws_joined_rows_range(rows, number)->context->is_op)
		number = ws_joined_rows_range(rows, number)->parent;
	return number;
}

/* Each as deep as all before it: operations, and what is none in them. Then some beside. */
Test(op_ranges, are_found_at_any_depth)
{
	const struct tb_op op = {.op = "gemm"};
	const int64_t n = 3000;
	struct tb *b = tb_new();
	struct joined *j;
	size_t of_others = 0;

	for (int64_t i = 0; i < n; i++) {
		if (i % 700 == 50)
			tb_push_op(b, i, "operation", &op);
		else
			tb_push(b, i, "range");
	}
	for (int64_t i = 0; i < n; i++)
		tb_pop(b, n + i);
	tb_push(b, 3 * n, "beside");
	tb_pop(b, 3 * n + 1);
	j = tb_joined(b);
	cr_assert(eq(sz, j->rows.nranges, (size_t)n + 1));
	for (uint32_t i = 0; i < j->rows.nranges; i++) {
		const uint32_t found = ws_joined_rows_op_range(&j->rows, i);

		cr_assert(eq(u32, found, find_slowly(&j->rows, i)));
		of_others += found != WS_NONE && found != i;
	}
	cr_expect(gt(sz, of_others, 2000));
	cr_expect(eq(u32, ws_joined_rows_op_range(&j->rows, WS_NONE), WS_NONE));
	joined_free(j);
	tb_free(b);
}
