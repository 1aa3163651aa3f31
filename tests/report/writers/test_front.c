/* The first screen in a terminal and as tables: which parts of the model, in which order, and the
 * bar. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/front/front.h"

#define NODE(up, name, inclusive, exclusive, all_of_it)                              \
	{                                                                           \
		.parent = (up), .label = (name), .inclusive_ns = (inclusive),       \
		.exclusive_ns = (exclusive), .kernels = 2, .calls = 2, .flops = -1, \
		.is_range = true, .whole = (all_of_it)                              \
	}
#define NONE WS_PAGE_ROOT

/* step > model > (embed, encoder > layer > (attention, mlp)); backward > layer */
static struct ws_page_node nodes[] = {
        NODE(WS_PAGE_ROOT, "step", 2000, 0, NONE), NODE(0, "Model", 1300, 0, NONE),
        NODE(1, "Encoder", 1200, 0, 3),            NODE(2, "Layer ×12", 1200, 100, NONE),
        NODE(3, "Attention ×12", 900, 900, NONE),  NODE(3, "Mlp ×12", 200, 200, NONE),
        NODE(1, "Embed", 100, 100, NONE),          NODE(0, "backward", 700, 0, 8),
        NODE(7, "Layer ×12", 690, 690, NONE),      NODE(0, "tiny", 2, 2, NONE),
};
static struct ws_page_segment segments[] = {
        {.name = "gemm", .ns = 1500, .percent = 50, .is_idle = false, .colour = WS_PAGE_BLUE},
        {.name = "softmax", .ns = 480, .percent = 16, .is_idle = false, .colour = WS_PAGE_RED},
        {.name = "norm", .ns = 20, .percent = 0.5, .is_idle = false, .colour = WS_PAGE_GREEN},
        {.name = "waiting for data",
         .ns = 1000,
         .percent = 33.5,
         .is_idle = true,
         .colour = WS_PAGE_IDLE},
};

static struct ws_page page(void)
{
	return (struct ws_page){
	        .title = "run",
	        .device = "H100",
	        .scope = "2 measured steps",
	        .samples = 2,
	        .step_ns = 1500,
	        .gpu_ns = 2000,
	        .whole_ns = 3000,
	        .node = nodes,
	        .nnodes = sizeof(nodes) / sizeof(*nodes),
	        .segment = segments,
	        .nsegments = sizeof(segments) / sizeof(*segments),
	        .bar_title = "Where the step goes",
	        .tree_title = "Where in the model",
	};
}

static void assert_tree(size_t rows, const char *const *names, size_t n)
{
	const struct ws_page p = page();
	struct ws_table *t = ws_front_tree(&p, rows);

	cr_assert(eq(sz, t->nrows, n));
	for (size_t i = 0; i < n; i++) {
		const struct ws_cell *name = &ws_table_cells(t, i)[0];

		cr_expect(ws_cell_is(name, names[i]), "row %zu: %.*s", i, (int)name->text.len,
		          name->text.ptr);
	}
	ws_table_free(t);
}

Test(front, parts_stand_below_what_they_are_in_and_one_that_is_all_of_another_stands_for_it)
{
	static const char *const all[] = {
	        "step",          "  Model",   "    Encoder › Layer ×12", "      Attention ×12",
	        "      Mlp ×12", "    Embed", "  backward › Layer ×12",
	};

	assert_tree(20, all, 7);
}

Test(front, where_rows_are_few_the_longest_parts_are_shown_with_all_that_they_are_in)
{
	static const char *const four[] = {
	        "step",
	        "  Model",
	        "    Encoder › Layer ×12",
	        "      Attention ×12",
	};

	assert_tree(4, four, 4);
	assert_tree(1, four, 1);
}

Test(front, times_are_those_of_a_step_and_shares_of_the_gpu_time)
{
	const struct ws_page p = page();
	struct ws_table *t = ws_front_tree(&p, 4);
	const struct ws_cell *row = ws_table_cells(t, 3);

	cr_expect(eq(dbl, row[1].r, 450));
	cr_expect(eq(dbl, row[2].r, 45));
	cr_expect(eq(dbl, row[3].r, 450));
	cr_expect(eq(dbl, row[4].r, 1));
	cr_expect(eq(uint, ws_front_depth(&row[0]), 3));
	ws_table_free(t);
}

Test(front, what_is_not_known_is_empty_and_names_of_kernels_are_those_of_the_page)
{
	struct ws_page p = page();
	struct ws_page_kernel kernel = {.name = "copy [at::Half]",
	                                .calls = 2,
	                                .ns = 100,
	                                .percent = 5,
	                                .mean_ns = 50,
	                                .flops_per_s = NAN,
	                                .attained = NAN};
	struct ws_table *t;

	p.kernel = &kernel;
	p.nkernels = 1;
	t = ws_front_kernels(&p, 5);
	cr_expect(ws_cell_is(&t->cells[0], "copy [at::Half]"));
	cr_expect(eq(int, t->cells[1].type, WS_CELL_EMPTY));
	cr_expect(eq(int, t->cells[6].type, WS_CELL_EMPTY));
	ws_table_free(t);
}

Test(front, rates_have_one_unit_and_times_of_the_cpu_are_no_gpu_s)
{
	struct ws_page p = page();
	struct ws_page_kernel kernel[] = {{.name = "a", .calls = 1, .ns = 9, .flops_per_s = 2.5e9},
	                                  {.name = "b", .calls = 1, .ns = 5, .flops_per_s = 0}};
	struct ws_shown_column shown;
	struct ws_table *t;

	p.kernel = kernel;
	p.nkernels = 2;
	p.on_cpu = true;
	p.rate_unit = 1e9;
	p.rate_name = "GFLOP/s";
	t = ws_front_kernels(&p, 5);
	ws_display_column(t, 6, &shown);
	cr_expect_str_eq(shown.title, "GFLOP/s");
	cr_expect(eq(dbl, ws_table_cells(t, 0)[6].r, 2.5));
	cr_expect(eq(int, ws_table_cells(t, 1)[6].type, WS_CELL_EMPTY)); /* a copy has no rate */
	ws_display_column(t, 3, &shown);
	cr_expect_str_eq(shown.title, "Kernel Time (ns)");
	ws_table_free(t);
}

static void show(const struct ws_page *p, int width, char *out, size_t size)
{
	struct ws_page first = *p;
	const struct ws_report report = {.title = "T", .trace = "t", .filter = "", .page = &first};
	const struct ws_text_opts opts = {.width = width, .has_front = true};
	FILE *f = fmemopen(out, size, "w");

	ws_out_text(f, &report, &opts);
	fclose(f);
}

Test(front, the_bar_is_as_wide_as_the_terminal_and_its_parts_have_their_share)
{
	static const int widths[] = {80, 100, 160};
	const struct ws_page p = page();

	for (size_t i = 0; i < 3; i++) {
		int glyphs[3] = {0};
		char text[8192] = "";
		const char *bar;

		show(&p, widths[i], text, sizeof(text));
		bar = strstr(text, "Where the step goes\n") + 20;
		for (const char *c = bar; *c != '\n'; c++) {
			glyphs[0] += *c == 'g';
			glyphs[1] += *c == 's';
			glyphs[2] += !strncmp(c, "·", 2);
		}
		cr_expect(eq(int, glyphs[0], widths[i] / 2), "%s", text);
		cr_expect(glyphs[1] >= widths[i] * 15 / 100 && glyphs[1] <= widths[i] * 17 / 100);
		cr_expect(glyphs[2] >= widths[i] * 33 / 100 && glyphs[2] <= widths[i] * 34 / 100);
		/* what has under 1 % has no name below the bar */
		cr_expect(strstr(text, "waiting for data 500 ns (34 %)") != NULL, "%s", text);
		cr_expect_null(strstr(text, "norm"));
	}
}

/* Two devices beside each other: a run of 1,500 ns, of which each waits 500. */
Test(front, times_of_the_bar_are_those_of_one_device)
{
	struct ws_page p = page();

	p.samples = 1;
	cr_expect(eq(dbl, ws_page_segment_ns(&p, &p.segment[3]), 500));
}
