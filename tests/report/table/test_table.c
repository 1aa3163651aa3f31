#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>

#include "report/table/display.h"
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

Test(table, a_new_table_is_empty_and_has_no_totals)
{
	struct ws_table *t = ws_table_new(&def);

	cr_assert(eq(sz, t->nrows, 0));
	cr_assert(zero(ptr, t->totals));
	cr_assert(zero(ptr, t->not_recorded));
	cr_assert(eq(sz, t->nnotes, 0));
	ws_table_free(t);
}

Test(table, free_accepts_null)
{
	ws_table_free(NULL);
}

Test(table, rows_keep_their_cells_while_the_table_grows)
{
	struct ws_table *t = ws_table_new(&def);

	for (int i = 0; i < 5000; i++) {
		struct ws_cell *row = ws_table_row(t);
		char name[32];

		snprintf(name, sizeof(name), "row %d", i);
		ws_cell_set_str(t, &row[NAME], name);
		ws_cell_set_int(&row[TIME], i);
	}
	cr_assert(eq(sz, t->nrows, 5000));
	for (int i = 0; i < 5000; i++) {
		const struct ws_cell *row = t->cells + (size_t)i * def.ncolumns;
		char name[32];

		snprintf(name, sizeof(name), "row %d", i);
		cr_assert_str_eq(row[NAME].text.ptr, name);
		cr_assert(eq(i64, row[TIME].i, i));
		cr_assert(eq(int, row[SHARE].type, WS_CELL_EMPTY));
	}
	ws_table_free(t);
}

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

Test(table, a_column_is_found_by_its_id)
{
	cr_assert(eq(int, ws_table_column_index(&def, "share"), SHARE));
	cr_assert(eq(int, ws_table_column_index(&def, "Share (%)"), -1));
}

/* --- numbers for people ------------------------------------------------------- */

static struct ws_table *with_times(const int64_t *ns, size_t n)
{
	struct ws_table *t = ws_table_new(&def);

	for (size_t i = 0; i < n; i++)
		ws_cell_set_int(&ws_table_row(t)[TIME], ns[i]);
	return t;
}

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

Test(table, display_a_time_column_has_one_unit_of_which_its_median_has_1_to_999)
{
	static const struct {
		int64_t ns[3];
		const char *title, *text[3];
	} cases[] = {
	        {{1, 999, 999999}, "Total Time (ns)", {"1", "999", "999,999"}},
	        {{1, 1234, 999999}, "Total Time (µs)", {"<0.01", "1.23", "1,000.00"}},
	        {{0, 31500, 123456}, "Total Time (µs)", {"0", "31.5", "123.5"}},
	        {{4999, 12345678, 8000000000}, "Total Time (ms)", {"<0.1", "12.3", "8,000.0"}},
	        {{1000000000000, 1000000000000, 1},
	         "Total Time (s)",
	         {"1,000.0", "1,000.0", "<0.1"}},
	        {{-4000, 0, 31500}, "Total Time (µs)", {"-4.00", "0", "31.50"}},
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct ws_table *t = with_times(cases[c].ns, 3);

		for (size_t i = 0; i < 3; i++)
			assert_shown(t, i, TIME, cases[c].title, cases[c].text[i]);
		ws_table_free(t);
	}
}

Test(table, display_totals_and_zeros_do_not_count_for_the_unit)
{
	const int64_t ns[] = {0, 0, 0, 6000000};
	struct ws_table *t = with_times(ns, 4);

	ws_cell_set_int(&ws_table_totals(t)[TIME], 12000000000);
	assert_shown(t, 3, TIME, "Total Time (ms)", "6.00");
	ws_table_free(t);
}

Test(table, display_a_small_number_is_never_0_and_0_is_exact)
{
	struct ws_table *t = ws_table_new(&def);
	static const double shares[] = {75, 0.04, -0.04, 0, 25, 25};
	static const char *const shown[] = {"75.0", "<0.1", ">-0.1", "0", "25.0", "25.0"};

	for (size_t i = 0; i < 6; i++)
		ws_cell_set_real(&ws_table_row(t)[SHARE], shares[i]);
	for (size_t i = 0; i < 6; i++)
		assert_shown(t, i, SHARE, "Share (%)", shown[i]);
	ws_table_free(t);
}

/* The data say us; people read µs. */
Test(table, display_a_title_has_the_sign_of_its_unit)
{
	static const struct ws_table_column us[] = {
	        {"kernel_us", "Kernel (us)", "us", WS_CELL_REAL, WS_DISPLAY_REAL, "d",
	         WS_RANK_NAME},
	        {"status", "Status", "", WS_CELL_REAL, WS_DISPLAY_REAL, "d", WS_RANK_ANSWER},
	};
	const struct ws_table_def of = {"t", "T", "T", "A row.", us, 2};
	struct ws_table *t = ws_table_new(&of);
	struct ws_shown_column shown;

	ws_cell_set_real(&ws_table_row(t)[0], 12.5);
	ws_display_column(t, 0, &shown);
	cr_expect_str_eq(shown.title, "Kernel (µs)");
	ws_display_column(t, 1, &shown);
	cr_expect_str_eq(shown.title, "Status");
	ws_table_free(t);
}

/* Rates of small work, shares of a long run, ratios of nothing: the median has digits. */
Test(table, display_a_column_of_small_numbers_has_digits)
{
	static const struct ws_table_column small[] = {
	        {"tflops", "TFLOP/s", "TFLOP/s", WS_CELL_REAL, WS_DISPLAY_REAL, "d", WS_RANK_NAME},
	        {"share", "Share (%)", "%", WS_CELL_REAL, WS_DISPLAY_PERCENT, "d", WS_RANK_ANSWER},
	        {"ratio", "B / A", "", WS_CELL_REAL, WS_DISPLAY_RATIO, "d", WS_RANK_ANSWER},
	        {"large", "GB/s", "GB/s", WS_CELL_REAL, WS_DISPLAY_REAL, "d", WS_RANK_ANSWER},
	};
	static const double values[][4] = {{0.0000123, 0.0021, 0.0042, 0.12},
	                                   {0.0000456, 0.0056, 0.0012, 456.7},
	                                   {0, 0, 0, 345.6}};
	static const char *const shown[][4] = {{"0.0000123", "0.0021", "0.0042", "<1"},
	                                       {"0.0000456", "0.0056", "0.0012", "457"},
	                                       {"0", "0", "0", "346"}};
	const struct ws_table_def of = {"t", "T", "T", "A row.", small, 4};
	struct ws_table *t = ws_table_new(&of);

	for (size_t row = 0; row < 3; row++) {
		struct ws_cell *cells = ws_table_row(t);

		for (size_t i = 0; i < 4; i++)
			ws_cell_set_real(&cells[i], values[row][i]);
	}
	for (size_t row = 0; row < 3; row++)
		for (size_t i = 0; i < 4; i++) {
			struct ws_shown_column how;
			char out[WS_DISPLAY_NUMBER_MAX];

			ws_display_column(t, i, &how);
			ws_display_number(&how, &ws_table_cells(t, row)[i], out);
			cr_expect_str_eq(out, shown[row][i]);
		}
	ws_table_free(t);
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

Test(table, display_times_without_a_gpu_are_those_of_kernels)
{
	static const struct ws_table_column column[] = {TIME_OF("gpu_ns", "GPU Time (ns)")};
	static const struct ws_table_def def_of = {"t", "GPU Time by Class", "T", "A row.", column,
	                                           1};
	struct ws_table *t = ws_table_new(&def_of);
	struct ws_shown_column shown;

	ws_cell_set_int(&ws_table_row(t)[0], 2000000);
	for (int cpu = 0; cpu < 2; cpu++) {
		t->without_gpu = cpu;
		ws_display_column(t, 0, &shown);
		cr_expect_str_eq(shown.title, cpu ? "Kernel Time (ms)" : "GPU Time (ms)");
	}
	cr_expect_str_eq(t->def->columns[0].title, "GPU Time (ns)"); /* of CSV */
	ws_table_free(t);
}

Test(table, display_half_is_rounded_away_from_zero_on_both_sides)
{
	struct ws_table *t = ws_table_new(&def);
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_real(&row[SHARE], 0.125);
	ws_cell_set_int(&row[TIME], -10000500);
	ws_cell_set_real(&row[AVG], -2.5e7);
	row = ws_table_row(t);
	ws_cell_set_real(&row[SHARE], -0.125);
	ws_cell_set_int(&row[TIME], INT64_MIN);
	row = ws_table_row(t);
	ws_cell_set_real(&row[SHARE], -0.001);
	assert_shown(t, 0, SHARE, "Share (%)", "0.13");
	assert_shown(t, 1, SHARE, "Share (%)", "-0.13");
	assert_shown(t, 2, SHARE, "Share (%)", ">-0.01");
	assert_shown(t, 0, AVG, "Avg (ms)", "-25.0");
	assert_shown(t, 1, TIME, "Total Time (ms)", "-9,223,372,036,854.8");
	ws_table_free(t);
}

Test(table, display_sizes_and_operations_use_si_units)
{
	struct ws_table *t = ws_table_new(&def);
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_int(&row[FLOPS], 51539607552);
	ws_cell_set_int(&row[BYTES], 16777216);
	ws_cell_set_int(&row[COUNT], 1234567);
	ws_cell_set_int(&row[ID], 1234567);
	assert_shown(t, 0, FLOPS, "FLOPs (G)", "51.5");
	assert_shown(t, 0, BYTES, "Size (MB)", "16.8");
	assert_shown(t, 0, COUNT, "Instances", "1,234,567");
	assert_shown(t, 0, ID, "Id", "1234567");
	assert_shown(t, 0, NAME, "Name", "");
	assert_shown(t, 0, SHARE, "Share (%)", "");
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
