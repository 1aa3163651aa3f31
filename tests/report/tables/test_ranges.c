#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/trace_builder.h"

/* Names with bytes that no text can hold; all else of ranges: ../scenarios/ranges.scenario. */
Test(ranges, hostile_names_stay_what_they_are)
{
	static const char hostile[] = "=cmd|'/C calc'!A0,\"quoted\"\n\xff\xfe\0end/slash";
	struct tb *b = tb_new();
	char *long_name = malloc(5001);
	const struct ws_cell *cell;
	struct joined *j;
	struct ws_table *t;

	memset(long_name, 'x', 5000);
	long_name[5000] = '\0';
	tb_push_bytes(b, 0, hostile, sizeof(hostile) - 1);
	tb_launch(b, 1, long_name, 10, 5);
	tb_pop(b, 3);
	j = tb_joined(b);
	t = tb_table(j, "range-kernels", NULL);
	cell = tb_cell(t, 0, "path");
	/* two slashes are escaped, everything else is as it was */
	cr_assert(eq(sz, cell->text.len, sizeof(hostile) - 1 + 2));
	cr_expect(
	        not(memcmp(cell->text.ptr, "=cmd|'\\/C calc'!A0,\"quoted\"\n\xff\xfe\0end\\/slash",
	                   cell->text.len)));
	cr_expect(eq(sz, tb_cell(t, 0, "name")->text.len, 5000));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
	free(long_name);
}
