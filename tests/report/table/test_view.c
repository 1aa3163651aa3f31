/* Which columns of a table people see, and in which order; trees and sorted rows: scenarios/terminal.scenario. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/table/table.h"

static const struct ws_table_column columns[] = {
        {"total_ns", "Total (ns)", "ns", WS_CELL_INT, WS_DISPLAY_TIME_NS, "d", WS_RANK_ANSWER},
        {"full", "Full", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "d", WS_RANK_FULL},
        {"mfu", "MFU (%)", "%", WS_CELL_REAL, WS_DISPLAY_PERCENT, "d", WS_RANK_ANSWER},
        {"hfu", "HFU (%)", "%", WS_CELL_REAL, WS_DISPLAY_PERCENT, "d", WS_RANK_DETAIL},
        {"device", "Device", "", WS_CELL_INT, WS_DISPLAY_PLAIN, "d", WS_RANK_KEY},
        {"style", "Style", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "d", WS_RANK_DETAIL},
        {"open", "Open", "", WS_CELL_INT, WS_DISPLAY_COUNT, "d", WS_RANK_DETAIL},
        {"name", "Name", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "d", WS_RANK_NAME},
};
enum { TOTAL, FULL, MFU, HFU, DEVICE, STYLE, OPEN, NAME };
static const struct ws_table_def def = {"view", "View", "View", "A row.", columns, 8};

static void add(struct ws_table *t, const char *name, int64_t ns, double mfu, double hfu,
                int64_t device)
{
	struct ws_cell *row = ws_table_row(t);
	char full[64];

	snprintf(full, sizeof(full), "void %s(int)", name);
	ws_cell_set_str(t, &row[NAME], name);
	ws_cell_set_str(t, &row[FULL], full);
	ws_cell_set_str(t, &row[STYLE], "PushPop");
	ws_cell_set_int(&row[TOTAL], ns);
	ws_cell_set_real(&row[MFU], mfu);
	ws_cell_set_real(&row[HFU], hfu);
	ws_cell_set_int(&row[DEVICE], device);
	ws_cell_set_int(&row[OPEN], 0);
}

/* The ids of the columns that are seen, with a bar behind the keys and one behind the answers. */
static void assert_view(const struct ws_table *t, const char *ids, const char *same)
{
	struct ws_arena arena = {0};
	struct ws_view v;
	char text[256] = "";
	size_t len = 0;

	ws_view_make(&arena, t, t->nrows, &v);
	for (size_t i = 0; i < v.n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s ",
		                        i == v.nkeys || i == v.nanswers ? "| " : "",
		                        columns[v.column[i].index].id);
	cr_expect_str_eq(text, ids);
	cr_expect_str_eq(v.constants ? v.constants : "", same);
	ws_arena_free(&arena);
}

Test(view, names_come_first_then_keys_answers_details_and_the_whole_name)
{
	struct ws_table *t = ws_table_new(&def);

	add(t, "a", 1, 2, 3, 0);
	assert_view(t, "name device | total_ns mfu | hfu style open full ", "");
	add(t, "b", 2, 3, 3, 1);
	ws_cell_set_str(t, &t->cells[8 + STYLE], "StartEnd");
	ws_cell_set_int(&t->cells[8 + OPEN], 1);
	ws_cell_set_real(&t->cells[8 + HFU], 4);
	assert_view(t, "name device | total_ns mfu | hfu style open full ", "");
	ws_table_free(t);
}

/* Two rows that differ in their names alone. */
static struct ws_table *alike(void)
{
	struct ws_table *t = ws_table_new(&def);

	add(t, "a", 5, 2, 2, 0);
	add(t, "b", 5, 2, 2, 0);
	return t;
}

Test(view, columns_that_say_nothing_are_left_out_and_what_they_say_is_told_once)
{
	struct ws_table *t = alike();

	/* a time that is the same in all rows is an answer all the same */
	assert_view(t, "name | total_ns mfu | full ", "Device 0; Style PushPop");
	ws_table_free(t);
	/* the whole name is the short one */
	t = alike();
	for (size_t i = 0; i < 2; i++)
		t->cells[8 * i + FULL] = t->cells[8 * i + NAME];
	assert_view(t, "name | total_ns mfu ", "Device 0; Style PushPop");
	ws_table_free(t);
	/* nothing is known */
	t = alike();
	for (size_t i = 0; i < 2; i++)
		t->cells[8 * i + MFU].type = t->cells[8 * i + HFU].type = WS_CELL_EMPTY;
	assert_view(t, "name | total_ns | full ", "Device 0; Style PushPop");
	ws_table_free(t);
	t = alike();
	t->is_chosen = true;
	assert_view(t, "| total_ns full mfu hfu device style open name ", "");
	ws_table_free(t);
}

Test(view, a_time_of_the_host_is_no_detail_where_those_of_the_gpu_are_empty)
{
	static const struct ws_table_column times[] = {
	        {"name", "Name", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "d", WS_RANK_NAME},
	        {"avg_ns", "Avg", "ns", WS_CELL_INT, WS_DISPLAY_TIME_NS, "d", WS_RANK_DETAIL},
	        {"host_ns", "Host", "ns", WS_CELL_INT, WS_DISPLAY_TIME_NS, "d", WS_RANK_DETAIL},
	        {"gpu_ns", "GPU", "ns", WS_CELL_INT, WS_DISPLAY_TIME_NS, "d", WS_RANK_ANSWER},
	};
	static const struct ws_table_def of_times = {"times", "Times", "Times", "A row.", times, 4};

	for (int has_gpu = 0; has_gpu < 2; has_gpu++) {
		struct ws_table *t = ws_table_new(&of_times);
		struct ws_arena arena = {0};
		struct ws_view v;

		for (int row = 0; row < 2; row++) {
			struct ws_cell *cells = ws_table_row(t);

			ws_cell_set_str(t, &cells[0], row ? "a" : "b");
			ws_cell_set_int(&cells[2], 7 + row);
			if (has_gpu)
				ws_cell_set_int(&cells[3], 3 + row);
		}
		ws_view_make(&arena, t, t->nrows, &v);
		/* the mean is empty, so the sum is the first */
		cr_expect(eq(sz, v.n, has_gpu ? 3 : 2));
		cr_expect(eq(sz, v.nanswers, 2));
		cr_expect(eq(sz, v.column[1].index, has_gpu ? 3 : 2));
		ws_arena_free(&arena);
		ws_table_free(t);
	}
}
