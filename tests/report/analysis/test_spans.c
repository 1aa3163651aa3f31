/*
 * Unions of intervals in memory and in a file.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "report/base/spans.h"

/* Of all: some overlap, some touch, and each second one comes later than the next. */
static void add_all(struct ws_spans *s, size_t n)
{

	for (size_t i = 0; i < n; i++) {
		const int64_t start_ns = 10 * (int64_t)(i ^ 1);

		ws_spans_add(s, start_ns, start_ns + (i % 5 ? i % 11 : 0));
		if (i % 7 == 1) /* makes the last one longer */
			ws_spans_cover(s, start_ns, start_ns + 9);
	}
}

Test(spans, in_a_file_are_those_in_memory)
{
	const size_t most = WS_SPILL_SMALL_BYTES / sizeof(struct ws_span) * 5 / 4;
	const int64_t far_ns = 10 * (int64_t)most;
	struct ws_spans in_memory = {0}, in_file = {0};

	ws_spans_open(&in_file, most);
	cr_assert(in_file.file.is_file);
	add_all(&in_memory, most);
	add_all(&in_file, most);
	cr_assert(eq(sz, in_file.n, in_memory.n));
	ws_spans_merge(&in_memory);
	ws_spans_sort(&in_file);
	ws_spans_merge(&in_file);
	cr_assert(lt(sz, in_file.n, most / 4 * 3)); /* some had no length, some touched */
	cr_assert(eq(sz, in_file.n, in_memory.n));
	cr_expect(memcmp(in_file.span, in_memory.span, in_file.n * sizeof(*in_file.span)) == 0);
	cr_expect(eq(i64, ws_spans_inside(&in_file, 105, far_ns),
	             ws_spans_inside(&in_memory, 105, far_ns)));
	ws_spans_release(&in_file);
	ws_spans_release(&in_memory);
}
