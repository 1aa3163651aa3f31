#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>

#include "report/table/table.h"

static const struct ws_table_column columns[] = {
        {"name", "Name", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "a name", WS_RANK_NAME},
        {"time_ns", "Total Time (ns)", "ns", WS_CELL_INT, WS_DISPLAY_TIME_NS, "a time",
         WS_RANK_ANSWER},
        {"share", "Share (%)", "%", WS_CELL_REAL, WS_DISPLAY_PERCENT, "a share", WS_RANK_ANSWER},
        {"flops", "FLOPs", "", WS_CELL_INT, WS_DISPLAY_FLOPS, "operations", WS_RANK_ANSWER},
        {"bytes", "Size (bytes)", "bytes", WS_CELL_INT, WS_DISPLAY_BYTES, "a size", WS_RANK_ANSWER},
        {"count", "Instances", "", WS_CELL_INT, WS_DISPLAY_COUNT, "a count", WS_RANK_ANSWER},
        {"id", "Id", "", WS_CELL_INT, WS_DISPLAY_PLAIN, "an id", WS_RANK_ANSWER},
        {"avg_ns", "Avg (ns)", "ns", WS_CELL_REAL, WS_DISPLAY_TIME_NS, "a mean", WS_RANK_ANSWER},
};
enum { NAME, TIME, SHARE, FLOPS, BYTES, COUNT, ID, AVG };
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

/* --- numbers for people ------------------------------------------------------- */

static void assert_shown(const struct ws_table *t, size_t row, size_t column, const char *title,
                         const char *text)
{
	struct ws_shown_column shown;
	char out[WS_DISPLAY_NUMBER_MAX];

	ws_display_column(t, column, &shown);
	ws_display_number(&shown, &t->cells[row * def.ncolumns + column], out);
	cr_assert_str_eq(shown.title, title);
	cr_assert_str_eq(out, text);
}

/* A row of these times; what the columns are called. */
static void expect_titles(const struct ws_table_column *of, size_t n, const int64_t *ns,
                          const char *const *titles)
{
	const struct ws_table_def row_of = {"t", "T", "T", "A row.", of, n};
	struct ws_table *t = ws_table_new(&row_of);
	struct ws_cell *row = ws_table_row(t);

	for (size_t i = 0; i < n; i++)
		ws_cell_set_int(&row[i], ns[i]);
	for (size_t i = 0; i < n; i++) {
		struct ws_shown_column shown;

		ws_display_column(t, i, &shown);
		cr_expect_str_eq(shown.title, titles[i]);
	}
	ws_table_free(t);
}

#define COLUMN_OF(id, title, display)                                                   \
	{                                                                               \
		id, title, "ns", WS_CELL_INT, WS_DISPLAY_##display, "d", WS_RANK_ANSWER \
	}
#define TIME_OF(id, title) COLUMN_OF(id, title, TIME_NS)

Test(table, display_times_of_a_table_have_one_unit)
{
	static const struct ws_table_column compared[] = {TIME_OF("gpu_a_ns", "A (ns)"),
	                                                  TIME_OF("gpu_b_ns", "B (ns)"),
	                                                  TIME_OF("diff_ns", "B - A (ns)"),
	                                                  TIME_OF("low_ns", "Low (ns)"),
	                                                  COLUMN_OF("avg_ns", "Avg (ns)", EACH_NS),
	                                                  COLUMN_OF("std_ns", "StdDev (ns)",
	                                                            EACH_NS)};

	/* of a column of zeros, too */
	expect_titles(compared, 6, (const int64_t[]){2000000, 2000900, 900, 0, 1500, 0},
	              (const char *const[]){"A (ms)", "B (ms)", "B - A (ms)", "Low (ms)",
	                                    "Avg (µs)", "StdDev (µs)"});
}

Test(table, display_moments_have_the_unit_of_times_that_are_not_much_less)
{
	static const struct ws_table_column compared[] = {COLUMN_OF("start_ns", "Start (ns)",
	                                                            START_NS),
	                                                  TIME_OF("dur_ns", "Duration (ns)")};

	expect_titles(compared, 2, (const int64_t[]){240000000, 900000},
	              (const char *const[]){"Start (ms)", "Duration (ms)"});
	expect_titles(compared, 2, (const int64_t[]){900, 240000000},
	              (const char *const[]){"Start (ms)", "Duration (ms)"});
	expect_titles(compared, 2, (const int64_t[]){24800000000, 218000},
	              (const char *const[]){"Start (s)", "Duration (µs)"});
}

/* A part of a thousandth of the largest column keeps its digits. */
Test(table, display_small_columns_have_digits_in_the_unit_of_large_ones)
{
	static const struct ws_table_column compared[] = {TIME_OF("a_ns", "A (ns)"),
	                                                  TIME_OF("diff_ns", "B - A (ns)")};
	const struct ws_table_def of = {"t", "T", "T", "A row.", compared, 2};
	struct ws_table *t = ws_table_new(&of);
	struct ws_cell *row = ws_table_row(t);
	struct ws_shown_column shown;
	char out[WS_DISPLAY_NUMBER_MAX];

	ws_cell_set_int(&row[0], 2000000);
	ws_cell_set_int(&row[1], -945);
	ws_display_column(t, 1, &shown);
	ws_display_number(&shown, &row[1], out);
	cr_expect_str_eq(out, "-0.00095");
	ws_table_free(t);
}

Test(table, display_the_greatest_values_fit_the_buffer)
{
	struct ws_table *t = ws_table_new(&def);
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_int(&row[COUNT], INT64_MIN);
	ws_cell_set_real(&row[SHARE], 1.7e308);
	ws_cell_set_real(&row[AVG], 1e300);
	assert_shown(t, 0, COUNT, "Instances", "-9,223,372,036,854,775,808");
	assert_shown(t, 0, SHARE, "Share (%)", "1.700000e+308");
	assert_shown(t, 0, AVG, "Avg (s)", "1.000000e+300");
	ws_table_free(t);
}
