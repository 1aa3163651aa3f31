#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <time.h>

#include "report/table/table.h"
#include "tests/report/writers/writer_tables.h"

static char *make(struct ws_table *t, struct ws_text_opts opts)
{
	struct ws_report report = {.title = "Warpsheet report",
	                           .trace = "a\x1b[2J.wtrace",
	                           .filter = "",
	                           .tables = &t,
	                           .ntables = 1};
	char *bytes = NULL;
	size_t len;
	FILE *f = open_memstream(&bytes, &len);

	ws_out_text(f, &report, &opts);
	fclose(f);
	return bytes;
}

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	while (*text) {
		size_t n = strcspn(text, "\n"), w = ws_display_width(text, n);

		longest = w > longest ? w : longest;
		text += n + (text[n] == '\n');
	}
	return longest;
}

Test(out_text, colour_is_the_only_escape)
{
	struct ws_table *t = kernel_table();
	char *with = make(t, (struct ws_text_opts){.colour = 1}), *out = with;
	char *without = make(t, (struct ws_text_opts){0});

	for (const char *p = with; *p; p++) {
		if (*p == '\x1b') {
			int known = !strncmp(p, "\x1b[0m", 4) || !strncmp(p, "\x1b[1m", 4) ||
			            !strncmp(p, "\x1b[2m", 4);

			cr_assert(known);
			p += 3;
			continue;
		}
		*out++ = *p;
	}
	*out = '\0';
	cr_assert_str_eq(with, without);
	free(with);
	free(without);
	ws_table_free(t);
}

Test(out_text, a_line_is_no_wider_than_the_terminal_and_says_what_is_left_out)
{
	struct ws_table *t = kernel_table();

	for (int width = 40; width <= 120; width += 7) {
		char left[32];
		size_t shown;
		char *text = make(t, (struct ws_text_opts){.width = width});

		cr_assert(le(sz, longest_line(text), (size_t)width));
		/* each column is a column or is counted below */
		shown = 0;
		for (size_t i = 0; i < kernel_def.ncolumns; i++) {
			char word[32];

			snprintf(word, sizeof(word), "%.*s",
			         (int)strcspn(kernel_columns[i].title, " "),
			         kernel_columns[i].title);
			shown += strstr(text, word) != NULL;
		}
		snprintf(left, sizeof(left), "\n%zu column", kernel_def.ncolumns - shown);
		cr_assert(shown >= 3, "%s", text);
		cr_assert(shown == kernel_def.ncolumns || strstr(text, left), "%s", text);
		free(text);
	}
	ws_table_free(t);
}

Test(out_text, no_line_ends_in_a_blank)
{
	struct ws_table *t = kernel_table();
	char *text = make(t, (struct ws_text_opts){.width = 70});

	cr_assert_null(strstr(text, " \n"));
	free(text);
	ws_table_free(t);
}

Test(out_text, a_long_page_takes_time_by_its_lines)
{
	struct ws_table *t = long_page();
	clock_t begin = clock();
	char *text = make(t, (struct ws_text_opts){0});

	cr_assert(lt(dbl, (double)(clock() - begin) / CLOCKS_PER_SEC, 10.0));
	cr_assert_not_null(strstr(text, "99,999"));
	free(text);
	ws_table_free(t);
}

/* A page of one section: two kernels with their names, a finding. */
static struct ws_table *findings_page(void)
{
	static const char name[] = "void at::native::vectorized_elementwise_kernel<4, float>(int)";
	struct ws_table *t = ws_table_new(&page_def);
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_str(t, &row[1], "at::native::vectorized_elementwise_kern…");
	ws_cell_set_str(t, &row[2], name);
	ws_cell_set_int(&row[3], 10);
	ws_cell_set_real(&row[5], 5.35);
	row = ws_table_row(t);
	ws_cell_set_str(t, &row[1], "A3 Unaligned matrix sizes: aten::addmm 141 x 2048");
	ws_cell_set_str(t, &row[2],
	                "M 141 (282 bytes): no multiple of 16 bytes; 8.0 % of the GPU time");
	return t;
}

Test(out_text, a_narrow_terminal_gets_texts_below_their_line_and_names_that_are_cut)
{
	struct ws_table *t = findings_page();
	char *text = make(t, (struct ws_text_opts){.width = 80});

	cr_expect_not_null(strstr(text, "  at::nati…torized_elementwise_kern…  10  5.4 %  void "),
	                   "%s", text);
	cr_expect_not_null(strstr(text,
	                          "  A3 Unaligned matrix sizes: aten::addmm 141 x 2048\n"
	                          "      M 141 (282 bytes): no multiple of 16 bytes; 8.0 % of the "
	                          "GPU time\n"),
	                   "%s", text);
	free(text);
	text = make(t, (struct ws_text_opts){.width = 60});
	cr_expect_not_null(strstr(text, "  at::nati…torized_elementwise_kern…  10  5.4 %\n"), "%s",
	                   text);
	for (const char *p = text; *p; p = strchr(p, '\n') + 1)
		cr_expect(le(sz, ws_display_width(p, strcspn(p, "\n")), 60), "%s", p);
	free(text);
	/* without a width nothing is cut */
	text = make(t, (struct ws_text_opts){.width = 0});
	cr_expect_not_null(strstr(text, "vectorized_elementwise_kernel<4, float>(int)\n"));
	free(text);
	ws_table_free(t);
}

Test(out_text, a_kernel_keeps_a_telling_name_however_narrow_the_line)
{
	static const struct ws_table_column columns[] = {
	        {"total_ns", "Total Time (ns)", "ns", WS_CELL_INT, WS_DISPLAY_COUNT, "",
	         WS_RANK_ANSWER},
	        {"first", "First Number", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"second", "Second Number", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"third", "Third Number", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"fourth", "Fourth Number", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"fifth", "Fifth Number", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"name", "Name", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "", WS_RANK_FULL},
	        {"short_name", "Short Name", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "", WS_RANK_NAME},
	};
	static const struct ws_table_def def = {"wide", "Wide", "wide", "", columns, 8};
	struct ws_table *t = ws_table_new(&def);
	struct ws_cell *row = ws_table_row(t);
	char *text;

	for (int i = 0; i < 6; i++)
		ws_cell_set_int(&row[i], 1234567890123);
	ws_cell_set_str(t, &row[6], "void vectorized_elementwise_kernel<4, Functor<float> >(int)");
	ws_cell_set_str(t, &row[7], "vectorized_elementwise_kernel<MulFunctor<float>> [4, 3]");
	text = make(t, (struct ws_text_opts){.width = 140});
	cr_expect_not_null(strstr(text, "vector…ctor<float>> [4, 3]"), "%s", text);
	cr_expect_null(strstr(text, ">(int)\n"), "the whole name is left out before a number: %s",
	               text);
	cr_expect_not_null(strstr(text, "Fifth Number"), "names give way to numbers: %s", text);
	cr_expect_not_null(strstr(text, "\n1 column hidden (narrow terminal). Show it with "), "%s",
	                   text);
	free(text);
	text = make(t, (struct ws_text_opts){.width = 60});
	cr_expect_not_null(strstr(text, "vectorized…rnel<MulFunctor<float>> [4, 3]"), "%s", text);
	free(text);
	ws_table_free(t);
}

Test(out_text, names_that_are_cut_stay_different)
{
	static const struct ws_table_column columns[] = {
	        {"short_name", "Short Name", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "", WS_RANK_NAME},
	        {"total_ns", "Total Time (ns)", "ns", WS_CELL_INT, WS_DISPLAY_COUNT, "",
	         WS_RANK_ANSWER},
	        {"path", "Range Path", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "", WS_RANK_ANSWER},
	        {"a", "A", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"b", "B", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"c", "C", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"d", "D", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	};
	static const struct ws_table_def def = {"cut", "Cut", "cut", "", columns, 7};
	static const char *const sizes[] = {"64x256", "128x128"};
	struct ws_table *t = ws_table_new(&def);
	char *text, cell[120];

	for (size_t i = 0; i < 2; i++) {
		struct ws_cell *row = ws_table_row(t);

		snprintf(cell, sizeof(cell), "sm80_xmma_gemm_tilesize%sx8_stage3_aligna4_alignc4",
		         sizes[i]);
		ws_cell_set_str(t, &row[0], cell);
		snprintf(cell, sizeof(cell), "step/layer %zu/attention/scores/softmax", i);
		ws_cell_set_str(t, &row[2], cell);
	}
	text = make(t, (struct ws_text_opts){.width = 60});
	cr_expect_not_null(strstr(text,
	                          "sm80_xm…ize64x256x8_sta…ignc4  …r 0/attention/scores/softmax\n"
	                          "sm80_xm…ize128x128x8_st…ignc4  …r 1/attention/scores/softmax\n"),
	                   "%s", text);
	free(text);
	ws_table_free(t);
}

/* A row whose text lies where that of the row before did. */
static void make_path(void *ctx, size_t row, struct ws_cell *cells)
{
	char *text = ctx;

	memset(text, 'a' + (char)row, 100);
	cells[2] = (struct ws_cell){.type = WS_CELL_TEXT, .text = {text, 100}};
}

Test(out_text, rows_that_are_made_when_they_are_read_keep_their_names)
{
	static const struct ws_table_column columns[] = {
	        {"a", "A", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"b", "B", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"path", "Range Path", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "", WS_RANK_ANSWER},
	        {"c", "C", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"d", "D", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"e", "E", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	        {"f", "F", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	};
	static const struct ws_table_def def = {"made", "Made", "made", "", columns, 7};
	struct ws_table *t = ws_table_new(&def);
	char scratch[100], *text;

	ws_table_set_source(t, &(struct ws_table_source){make_path, NULL, scratch}, 3);
	text = make(t, (struct ws_text_opts){.width = 60});
	cr_expect(strstr(text, "…aaaa") && strstr(text, "…bbbb") && strstr(text, "…cccc"), "%s",
	          text);
	free(text);
	ws_table_free(t);
}

Test(out_text, names_of_a_page_that_are_cut_stay_different)
{
	static const char *const names[] = {"tiled_kernel_64x256_of_aligned_pairs",
	                                    "tiled_kernel_32x128_of_aligned_pairs"};
	struct ws_table *t = ws_table_new(&page_def);
	char *text;

	for (size_t i = 0; i < 2; i++) {
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[1], names[i]);
		ws_cell_set_str(t, &row[2], names[i]);
		ws_cell_set_int(&row[3], 10);
	}
	text = make(t, (struct ws_text_opts){.width = 30});
	cr_expect_not_null(strstr(text, "64x256"), "%s", text);
	cr_expect_not_null(strstr(text, "32x128"), "%s", text);
	free(text);
	ws_table_free(t);
}
