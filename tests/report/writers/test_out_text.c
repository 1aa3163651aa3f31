#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <time.h>

#include "report/table/display.h"
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

Test(out_text, numbers_are_aligned_scaled_and_named_by_their_unit)
{
	struct ws_table *t = kernel_table();
	char *text = make(t, (struct ws_text_opts){0});

	cr_assert_str_eq(
	        text,
	        "Warpsheet report: a\\x1b[2J.wtrace\n"
	        "\n"
	        "Kernels\n"
	        "One row per kernel; Time (%) is of the GPU time of all kernels.\n"
	        "\n"
	        "                                              Total\n"
	        "                                        Time   Time               Avg\n"
	        "Name                                     (%)   (ms)  Instances   (µs)\n"
	        "-------------------------------------  -----  -----  ---------  -----\n"
	        "gemm                                    75.0   3.00      1,200   2.50\n"
	        "=1+1,\"q\"\\r\\n\\x1b[31m\xef\xbf\xbd|<b>*\\x00_x0041_   25.0   1.00          1\n"
	        "-------------------------------------  -----  -----  ---------  -----\n"
	        "Total                                  100.0   4.00      1,201\n"
	        "\n"
	        "2 kernels lost\n");
	free(text);
	ws_table_free(t);
}

Test(out_text, no_control_character_gets_through)
{
	struct ws_table *t = kernel_table();
	char *text = make(t, (struct ws_text_opts){.width = 80});

	for (const char *p = text; *p; p++)
		cr_assert_not(*p != '\n' && (unsigned char)*p < 0x20, "byte %02x", *p);
	free(text);
	ws_table_free(t);
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

Test(out_text, rows_beyond_the_limit_are_counted)
{
	struct ws_table *t = kernel_table();
	char *text = make(t, (struct ws_text_opts){.max_rows = 1});

	cr_assert_not_null(strstr(text, "\n… 1 more row (--rows 0)\n"));
	cr_assert_null(strstr(text, "=1+1"));
	cr_assert_not_null(strstr(text, "Total"));
	cr_assert_not_null(strstr(text, "1,201"));
	free(text);
	ws_table_free(t);
}

Test(out_text, prose_in_a_table_for_reading_is_wrapped_and_whole)
{
	static const struct ws_table_column columns[] = {
	        {"subject", "Subject", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "", WS_RANK_ANSWER},
	        {"verdict", "Verdict", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "", WS_RANK_ANSWER},
	        {"a", "A", "", WS_CELL_INT, WS_DISPLAY_COUNT, "", WS_RANK_ANSWER},
	};
	static const struct ws_table_def def = {"v", "Verdict", "v", "What.", columns, 3};
	struct ws_table *t = ws_table_new(&def);
	struct ws_cell *row = ws_table_row(t);
	char *text;

	ws_cell_set_str(t, &row[0], "overall");
	ws_cell_set_str(t, &row[1],
	                "B takes half as long as A, beyond noise, averylongwordindeedso");
	ws_cell_set_int(&row[2], 7);
	text = make(t, (struct ws_text_opts){.width = 36});
	cr_assert_str_eq(strstr(text, "Subject"), "Subject  Verdict                   A\n"
	                                          "-------  ------------------------  -\n"
	                                          "overall  B takes half as long as   7\n"
	                                          "         A, beyond noise,\n"
	                                          "         averylongwordindeedso\n");
	free(text);
	text = make(t, (struct ws_text_opts){.width = 22});
	cr_assert_null(strstr(text, "…"));
	cr_assert(le(sz, longest_line(strstr(text, "Subject")), 22));
	free(text);
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

Test(out_text, a_page_is_lines_under_section_headings)
{
	struct ws_table *t = page_table();
	char *text = make(t, (struct ws_text_opts){.width = 80});

	cr_assert_str_eq(
	        strstr(text, "Headline"),
	        "Headline\n"
	        "  GPU time                                   18.2 ms  100.0 %  mean of 5 steps\n"
	        "  kernels                             1,234\n"
	        "\n"
	        "Provenance\n"
	        "  program                             /bin/step\n"
	        "  nothing known\n");
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
	cr_expect_not_null(strstr(text, "ctor<float>> [4, 3]"), "%s", text);
	cr_expect_not_null(strstr(text, "Fifth Number"), "an answer stays: %s", text);
	cr_expect_null(strstr(text, ">(int)\n"), "the whole name is left out before a number: %s",
	               text);
	cr_expect_not_null(strstr(text, "column hidden (narrow terminal). Show it with "), "%s",
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

Test(out_text, an_unrecorded_table_says_why)
{
	struct ws_table *t = ws_table_new(&kernel_def);
	char *text;

	ws_table_set_not_recorded(t, "record with --api");
	text = make(t, (struct ws_text_opts){0});
	cr_assert_not_null(strstr(text, "\nnot recorded:\n  record with --api\n"));
	free(text);
	ws_table_free(t);
}

/* --- texts for people ----------------------------------------------------------- */

static void assert_glyphs(const char *in, size_t len, const char *expected)
{
	char out[256] = "";
	size_t n = 0;
	struct ws_glyph glyph;

	for (size_t pos = 0; pos < len;) {
		pos += ws_display_glyph(in + pos, len - pos, &glyph);
		memcpy(out + n, glyph.bytes, glyph.len);
		n += glyph.len;
	}
	out[n] = '\0';
	cr_assert_str_eq(out, expected);
}

Test(out_text, glyph_control_characters_are_shown_as_escapes)
{
	assert_glyphs("a\n\t\r\0\x7f\x1b", 7, "a\\n\\t\\r\\x00\\x7f\\x1b");
	assert_glyphs("\xc2\x85", 2, "\\x85");
}

Test(out_text, glyph_direction_overrides_are_shown_as_escapes)
{
	assert_glyphs("\xe2\x80\xae"
	              "evil",
	              7, "\\u202eevil");
	assert_glyphs("\xe2\x81\xa6", 3, "\\u2066");
	assert_glyphs("\xe2\x80\xa8", 3, "\\u2028");
}

Test(out_text, glyph_broken_utf8_and_noncharacters_become_the_replacement_character)
{
	assert_glyphs("\xff\xfe", 2, "\xef\xbf\xbd\xef\xbf\xbd");
	assert_glyphs("\xef\xbf\xbf", 3, "\xef\xbf\xbd");
	assert_glyphs("\xe2\x82", 2, "\xef\xbf\xbd");
	assert_glyphs("\xc3\xa4\xe2\x82\xac", 5, "\xc3\xa4\xe2\x82\xac");
}

Test(out_text, glyph_width_counts_columns_not_bytes)
{
	cr_assert(eq(sz,
	             ws_display_width("\xc3\xa4"
	                              "b",
	                              3),
	             2));
	cr_assert(eq(sz, ws_display_width("\xe6\xb5\x8b", 3), 2)); /* CJK */
	cr_assert(eq(sz, ws_display_width("a\xcc\x88", 3), 1));    /* combining diaeresis */
	cr_assert(eq(sz, ws_display_width("\n", 1), 2));
}
