#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>

#include "report/table/table.h"

static const struct ws_table_column columns[] = {
        {"name", "Name", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "a name", WS_RANK_NAME},
};
enum { NAME };
static const struct ws_table_def def = {
        "test", "Test", "test", "A row is a test.", columns, sizeof(columns) / sizeof(*columns),
};

Test(table, a_text_keeps_nul_bytes_and_any_length)
{
	struct ws_table *t = ws_table_new(&def);
	struct ws_cell *row = ws_table_row(t);
	char *big = malloc(300000);

	memset(big, 'x', 300000);
	ws_cell_set_text(t, &row[NAME], "a\0b", 3);
	cr_assert(eq(sz, row[NAME].text.len, 3));
	cr_assert(zero(int, memcmp(row[NAME].text.ptr, "a\0b", 4)));
	row = ws_table_row(t);
	ws_cell_set_text(t, &row[NAME], big, 300000);
	cr_assert(eq(sz, row[NAME].text.len, 300000));
	cr_assert(zero(int, memcmp(row[NAME].text.ptr, big, 300000)));
	row = ws_table_row(t);
	ws_cell_set_text(t, &row[NAME], NULL, 0);
	cr_assert(eq(int, row[NAME].type, WS_CELL_TEXT));
	cr_assert(eq(sz, row[NAME].text.len, 0));
	free(big);
	ws_table_free(t);
}

Test(table, nan_and_infinity_become_empty_cells)
{
	struct ws_cell cell;

	ws_cell_set_real(&cell, NAN);
	cr_assert(eq(int, cell.type, WS_CELL_EMPTY));
	ws_cell_set_real(&cell, -INFINITY);
	cr_assert(eq(int, cell.type, WS_CELL_EMPTY));
	ws_cell_set_real(&cell, 0.5);
	cr_assert(eq(int, cell.type, WS_CELL_REAL));
	cr_assert(eq(dbl, cell.r, 0.5));
}

Test(table, notes_are_formatted_and_kept_in_order)
{
	struct ws_table *t = ws_table_new(&def);

	for (int i = 0; i < 40; i++)
		ws_table_note(t, "%d launches lost (%s)", i, "ring full");
	ws_table_set_not_recorded(t, "record with --%s", "memory");
	cr_assert(eq(sz, t->nnotes, 40));
	cr_assert_str_eq(t->notes[0], "0 launches lost (ring full)");
	cr_assert_str_eq(t->notes[39], "39 launches lost (ring full)");
	cr_assert_str_eq(t->not_recorded, "record with --memory");
	ws_table_free(t);
}
