/* What people see of a table, its order by a column, and its tree. */
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

static void make_row(void *ctx, size_t row, struct ws_cell *cells)
{
	char *text = ctx;

	*text = (char)('a' + row);
	cells[NAME] = (struct ws_cell){.type = WS_CELL_TEXT, .text = {text, 1}};
	ws_cell_set_int(&cells[TOTAL], (int64_t)row);
}

Test(view, rows_that_are_made_when_they_are_read_are_sorted_too)
{
	struct ws_table *t = ws_table_new(&def);
	char scratch;

	ws_table_set_source(t, &(struct ws_table_source){make_row, NULL, &scratch}, 20);
	assert_view(t, "name | total_ns ", "");
	ws_table_sort(t, NAME, true);
	cr_expect(ws_cell_is(&ws_table_cells(t, 0)[NAME], "t"));
	cr_expect(ws_cell_is(&ws_table_cells(t, 19)[NAME], "a"));
	ws_table_sort(t, TOTAL, false);
	cr_expect(ws_cell_is(&ws_table_cells(t, 0)[NAME], "a"));
	ws_table_free(t);
}

Test(view, sizes_of_a_launch_are_shown_as_people_write_them)
{
	struct ws_cell cells[2] = {{0}}, own;
	struct ws_view_column c = {.index = 1, .is_size = true};
	char text[WS_VIEW_SIZE];

	ws_cell_share_str(&cells[1], "82960    1    1");
	cr_expect(ws_cell_is(ws_view_cell(&c, cells, &own, text), "82960×1×1"));
	ws_cell_share_str(&cells[1], "8 x 1");
	cr_expect(ws_cell_is(ws_view_cell(&c, cells, &own, text), "8 x 1"));
	c.is_size = false;
	ws_cell_share_str(&cells[1], "1 2 3");
	cr_expect(ws_cell_is(ws_view_cell(&c, cells, &own, text), "1 2 3"));
}

/* --- trees --------------------------------------------------------------------------------- */

static const struct ws_table_column tree_columns[] = {
        {"path", "Path", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "d", WS_RANK_NAME},
        {"paths", "Paths", "", WS_CELL_INT, WS_DISPLAY_COUNT, "d", WS_RANK_DETAIL},
};

static void assert_labels(const char *title, const char *const rows[][2], const int64_t *paths,
                          size_t n)
{
	const struct ws_table_def tree = {"ranges-rollup", title, "R", "A row.", tree_columns, 2};
	struct ws_table *t = ws_table_new(&tree);
	struct ws_arena arena = {0};
	struct ws_view v;

	for (size_t i = 0; i < n; i++) {
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[0], rows[i][0]);
		ws_cell_set_int(&row[1], paths[i]);
	}
	ws_view_make(&arena, t, n, &v);
	cr_expect(v.column[0].is_tree && v.column[v.n - 1].rank == WS_RANK_FULL);
	for (size_t i = 0; i < n; i++) {
		char label[WS_VIEW_LABEL], shown[2 * WS_VIEW_LABEL];
		unsigned depth;

		ws_view_label(&v, ws_table_cells(t, i), label, &depth);
		snprintf(shown, sizeof(shown), "%*s%s", (int)depth, "", label);
		cr_expect_str_eq(shown, rows[i][1]);
	}
	ws_arena_free(&arena);
	ws_table_free(t);
}

Test(view, modules_lose_the_number_that_the_framework_gives_each)
{
	static const char *const rows[][2] = {
	        {"ProfilerStep#*", "ProfilerStep ×3"},
	        {"ProfilerStep#*/Encoder_0", " Encoder"},
	        {"ProfilerStep#*/Encoder_0/Layer_*", "  Layer ×12"},
	        {"ProfilerStep#*/Conv2d_10", " Conv2d"},
	        {"ProfilerStep#*/Conv2d", " Conv2d"},
	        {"ProfilerStep#*/_0", " _0"},
	        {"ProfilerStep#*/123", " 123"},
	};
	const int64_t paths[] = {3, 1, 12, 1, 1, 1, 1};

	assert_labels("Modules over Layers", rows, paths, 7);
}
