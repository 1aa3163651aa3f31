#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "formats/base/options.h"

static int flag, choice;
static const char *text;
static int64_t number, range[2];
static double real;

static const struct ws_opt opts[] = {
        {"verbose", 'v', WS_OPT_FLAG, NULL, &flag, "say more"},
        {"output", 'o', WS_OPT_TEXT, "FILE", &text, "write to FILE"},
        {"device", 0, WS_OPT_INT, "N", &number, "device N only\nand no other"},
        {"threshold", 0, WS_OPT_REAL, "PCT", &real, "how much"},
        {"format", 0, WS_OPT_CHOICE, "text|csv|json", &choice, "what to write"},
        {"steps", 0, WS_OPT_RANGE, "A..B", range, "which steps"},
};
static struct ws_err err;
static char *args[16];
static int nargs;

static enum ws_status parse(const char *line)
{
	static char copy[256];
	int argc = 0;
	char *save = NULL;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		args[argc++] = w;
	flag = 0;
	choice = -1;
	text = NULL;
	number = range[0] = range[1] = -2;
	real = 0;
	err.text[0] = '\0';
	return ws_opt_parse(opts, sizeof(opts) / sizeof(*opts), argc, args, &nargs, &err);
}

static void assert_refused(const char *line, const char *message)
{
	cr_assert(eq(int, parse(line), WS_USAGE), "%s", line);
	cr_assert_str_eq(err.text, message);
}

Test(opt, options_may_stand_before_and_after_the_arguments)
{
	cr_assert(eq(int, parse("-v a.wtrace --output x.csv b.wtrace"), WS_OK));
	cr_assert(eq(int, nargs, 2));
	cr_assert_str_eq(args[0], "a.wtrace");
	cr_assert_str_eq(args[1], "b.wtrace");
	cr_assert(eq(int, flag, 1));
	cr_assert_str_eq(text, "x.csv");
}

Test(opt, every_spelling_of_a_value_is_understood)
{
	cr_assert(eq(int, parse("--output=a=b"), WS_OK));
	cr_assert_str_eq(text, "a=b");
	cr_assert(eq(int, parse("-ofile"), WS_OK));
	cr_assert_str_eq(text, "file");
	cr_assert(eq(int, parse("-vo file"), WS_OK));
	cr_assert_str_eq(text, "file");
	cr_assert(eq(int, flag, 1));
}

Test(opt, double_dash_ends_the_options_and_a_dash_is_an_argument)
{
	cr_assert(eq(int, parse("- -- --output -v"), WS_OK));
	cr_assert(eq(int, nargs, 3));
	cr_assert_str_eq(args[0], "-");
	cr_assert_str_eq(args[1], "--output");
	cr_assert_str_eq(args[2], "-v");
	cr_assert(eq(int, flag, 0));
}

Test(opt, a_flag_can_be_taken_back)
{
	cr_assert(eq(int, parse("--verbose --no-verbose"), WS_OK));
	cr_assert(eq(int, flag, 0));
	assert_refused("--no-output", "unknown option '--no-output', did you mean '--output'?");
	assert_refused("--verbose=1", "--verbose takes no value");
}

Test(opt, numbers_are_whole_and_in_range)
{
	cr_assert(eq(int, parse("--device 7"), WS_OK));
	cr_assert(eq(i64, number, 7));
	assert_refused("--device -1", "--device needs a whole number from 0, not '-1'");
	assert_refused("--device 7x", "--device needs a whole number from 0, not '7x'");
	assert_refused("--device 99999999999999999999",
	               "--device needs a whole number from 0, not '99999999999999999999'");
	assert_refused("--device", "--device needs N");
	cr_assert(eq(int, parse("--threshold 2.5"), WS_OK));
	cr_assert(eq(dbl, real, 2.5));
	assert_refused("--threshold nan", "--threshold needs a number, not 'nan'");
	assert_refused("--threshold 5%", "--threshold needs a number, not '5%'");
}

Test(opt, a_choice_takes_its_values_whole)
{
	cr_assert(eq(int, parse("--format json"), WS_OK));
	cr_assert(eq(int, choice, 2));
	assert_refused("--format js", "--format needs one of text|csv|json, not 'js'");
	assert_refused("--format", "--format needs one of text|csv|json");
}

Test(opt, a_range_may_be_open_at_one_end)
{
	cr_assert(eq(int, parse("--steps 2..5"), WS_OK));
	cr_assert(eq(i64, range[0], 2));
	cr_assert(eq(i64, range[1], 5));
	cr_assert(eq(int, parse("--steps 3"), WS_OK));
	cr_assert(eq(i64, range[0], 3));
	cr_assert(eq(i64, range[1], 3));
	cr_assert(eq(int, parse("--steps ..4"), WS_OK));
	cr_assert(eq(i64, range[0], -1));
	cr_assert(eq(i64, range[1], 4));
	cr_assert(eq(int, parse("--steps 4.."), WS_OK));
	cr_assert(eq(i64, range[0], 4));
	cr_assert(eq(i64, range[1], -1));
	assert_refused("--steps 5..2",
	               "--steps needs a range like 2..5, 2.., ..5 or 2, not '5..2'");
	assert_refused("--steps ..", "--steps needs a range like 2..5, 2.., ..5 or 2, not '..'");
	assert_refused("--steps 1-2", "--steps needs a range like 2..5, 2.., ..5 or 2, not '1-2'");
	assert_refused("--steps 1..2..3",
	               "--steps needs a range like 2..5, 2.., ..5 or 2, not '1..2..3'");
}

Test(opt, a_typing_error_gets_a_suggestion)
{
	assert_refused("--ouptut x", "unknown option '--ouptut', did you mean '--output'?");
	assert_refused("--treshold=3", "unknown option '--treshold', did you mean '--threshold'?");
	assert_refused("--colour", "unknown option '--colour'");
	assert_refused("-x", "unknown option '-x'");
}

Test(opt, help_shows_every_option_with_its_argument)
{
	char out[1024] = "";
	FILE *f = fmemopen(out, sizeof(out), "w");

	ws_opt_print_help(f, opts, sizeof(opts) / sizeof(*opts));
	fclose(f);
	cr_assert_str_eq(out, "  -v, --verbose             say more\n"
	                      "  -o, --output FILE         write to FILE\n"
	                      "      --device N            device N only\n"
	                      "                            and no other\n"
	                      "      --threshold PCT       how much\n"
	                      "      --format text|csv|json\n"
	                      "                            what to write\n"
	                      "      --steps A..B          which steps\n");
}
