#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "formats/text/csv_writer.h"

/* One text cell and what it becomes. */
static void assert_text(const char *bytes, size_t len, const char *expected)
{
	struct ws_csv c;
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	ws_csv_begin(&c, f);
	ws_csv_text(&c, bytes, len);
	fclose(f);
	cr_assert_str_eq(text, expected);
	free(text);
}

static void assert_str(const char *text, const char *expected)
{
	assert_text(text, strlen(text), expected);
}

Test(csv_writer, rows_are_fields_between_commas_that_end_in_cr_lf)
{
	struct ws_csv c;
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	ws_csv_begin(&c, f);
	ws_csv_str(&c, "Name");
	ws_csv_str(&c, "Total Time (ns)");
	ws_csv_end_row(&c);
	ws_csv_str(&c, "gemm");
	ws_csv_i64(&c, -5);
	ws_csv_f64(&c, 0.1);
	ws_csv_f64(&c, NAN);
	ws_csv_empty(&c);
	ws_csv_str(&c, NULL);
	ws_csv_end_row(&c);
	ws_csv_empty(&c);
	ws_csv_i64(&c, 1);
	ws_csv_end_row(&c);
	fclose(f);
	cr_assert_str_eq(text, "Name,Total Time (ns)\r\n"
	                       "gemm,-5,0.1,,,\r\n"
	                       ",1\r\n");
	free(text);
}

Test(csv_writer, fields_are_quoted_where_rfc_4180_asks_for_it)
{
	assert_str("plain", "plain");
	assert_str("void gemm<int, 2>(Params)", "\"void gemm<int, 2>(Params)\"");
	assert_str("a \"b\"", "\"a \"\"b\"\"\"");
	assert_str("a\nb", "\"a\nb\"");
	assert_str("a\r\nb", "\"a\r\nb\"");
	assert_str(" a", "\" a\"");
	assert_str("a ", "\"a \"");
	assert_str("", "\"\"");
}

Test(csv_writer, text_that_would_run_as_a_formula_gets_an_apostrophe)
{
	assert_str("=1+1", "'=1+1");
	assert_str("+1", "'+1");
	assert_str("-1", "'-1");
	assert_str("@SUM(A1)", "'@SUM(A1)");
	assert_str("\tx", "'\tx");
	assert_str("\rx", "\"'\rx\"");
	assert_str("\nx", "\"'\nx\"");
	assert_str("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"");
	assert_str("a=1", "a=1");
}

Test(csv_writer, small_signs_hide_no_formula)
{
	assert_str("\ufe621", "'\ufe621");
	assert_str("\ufe631", "'\ufe631");
	assert_str("\ufe66A1", "'\ufe66A1");
	assert_str(" \ufe6bSUM(A1)", "\"' \ufe6bSUM(A1)\"");
	assert_str("\ufe601", "\ufe601"); /* an ampersand is none */
}

Test(csv_writer, blanks_and_full_width_signs_hide_no_formula)
{
	assert_str(" =1+1", "\"' =1+1\"");
	assert_str("   @SUM(A1)", "\"'   @SUM(A1)\"");
	assert_str(" \t=1", "\"' \t=1\"");
	assert_str("\u00a0=1", "'\u00a0=1");
	assert_str("\u3000\u200b+1", "'\u3000\u200b+1");
	assert_str("\ufeff-1", "'\ufeff-1");
	assert_str("\uff1d1", "'\uff1d1");
	assert_str("\uff0b1", "'\uff0b1");
	assert_str("\uff0d1", "'\uff0d1");
	assert_str(" \uff20A", "\"' \uff20A\"");
	assert_str(" a=1", "\" a=1\"");
	assert_str("\u3000a", "\u3000a");
	assert_str("   ", "\"   \"");
}

Test(csv_writer, bytes_that_are_no_text_are_replaced)
{
	assert_text("a\0b", 3,
	            "a\xef\xbf\xbd"
	            "b");
	assert_text("\xff\xc3", 2, "\xef\xbf\xbd\xef\xbf\xbd");
	assert_str("\xe2\x82\xac", "\xe2\x82\xac");
}

/* What reaches a terminal of this text; `is_terminal` false: a file. */
static void check_controls(bool is_terminal, const char *expected)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	struct termios raw;
	char got[64] = "";
	struct ws_csv c;
	FILE *f = tmpfile();

	cr_assert(master >= 0 && !grantpt(master) && !unlockpt(master));
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	cr_assert(tcgetattr(slave, &raw) == 0);
	cfmakeraw(&raw);
	tcsetattr(slave, TCSANOW, &raw);
	if (is_terminal) {
		fclose(f);
		f = fdopen(slave, "w");
	}
	ws_csv_begin(&c, f);
	ws_csv_str(&c, "a\x1b[2J\x07\x7f\xc2\x9b"
	               "1\xc3\xa9");
	fflush(f);
	if (is_terminal)
		cr_assert_gt(read(master, got, sizeof(got) - 1), 0);
	else
		cr_assert_gt(pread(fileno(f), got, sizeof(got) - 1, 0), 0);
	cr_expect_str_eq(got, expected);
	fclose(f);
	if (!is_terminal)
		close(slave);
	close(master);
}

Test(csv_writer, a_terminal_gets_no_control_character_and_a_file_all)
{
	const char *const no = "\xef\xbf\xbd";
	char shown[64];

	snprintf(shown, sizeof(shown), "a%s[2J%s%s%s1\u00e9", no, no, no, no);
	check_controls(true, shown);
	check_controls(false, "a\x1b[2J\x07\x7f\xc2\x9b"
	                      "1\u00e9");
}
