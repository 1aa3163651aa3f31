/* Rows that wait for their time. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/pass/private.h"

Test(pass_rows, what_stands_in_front_of_the_first_row_says_nothing_of_the_order)
{
	const struct ws_pass_when row = {1, 1}, late = {INT64_MAX, 1};
	struct ws_pass_rows r = {0};
	uint8_t *room = ws_pass_rows_begin(&r, sizeof(row), 2);

	cr_assert_not_null(room);
	/* no row: room in front, with whatever the memory holds */
	memcpy(room - sizeof(late), &late, sizeof(late));
	memcpy(room, &row, sizeof(row));
	ws_pass_rows_filled(&r, 1, false);
	cr_expect(!r.unsorted);
	/* but the row before is one */
	memcpy(room + sizeof(row), &(struct ws_pass_when){0, 0}, sizeof(row));
	ws_pass_rows_filled(&r, 1, false);
	cr_expect(r.unsorted);
	free(r.rows);
}
