#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "formats/base/options.h"

static int choice;
static bool flag;
static const char *text;
static int64_t number, range[2];
static double real;

static const struct ws_opt opts[] = {
        WS_OPT("verbose", 'v', FLAG, NULL, &flag, "say more"),
        WS_OPT("output", 'o', TEXT, "FILE", &text, "write to FILE"),
        WS_OPT("device", 0, INT, "N", &number, "device N only\nand no other"),
        WS_OPT("threshold", 0, REAL, "PCT", &real, "how much"),
        WS_OPT("format", 0, CHOICE, "text|csv|json", &choice, "what to write"),
        WS_OPT("steps", 0, RANGE, "A..B", range, "which steps"),
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
	flag = false;
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
	cr_assert(flag);
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
	cr_assert(flag);
}

Test(opt, double_dash_ends_the_options_and_a_dash_is_an_argument)
{
	cr_assert(eq(int, parse("- -- --output -v"), WS_OK));
	cr_assert(eq(int, nargs, 3));
	cr_assert_str_eq(args[0], "-");
	cr_assert_str_eq(args[1], "--output");
	cr_assert_str_eq(args[2], "-v");
	cr_assert(not(flag));
}

Test(opt, a_flag_can_be_taken_back)
{
	cr_assert(eq(int, parse("--verbose --no-verbose"), WS_OK));
	cr_assert(not(flag));
	assert_refused("--no-output", "unknown option --no-output (did you mean --output?)");
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
	assert_refused("--device", "--device needs a value: N");
	cr_assert(eq(int, parse("--threshold 2.5"), WS_OK));
	cr_assert(eq(dbl, real, 2.5));
	assert_refused("--threshold nan", "--threshold needs a number, not 'nan'");
	assert_refused("--threshold 5%", "--threshold needs a number, not '5%'");
}

Test(opt, a_choice_takes_its_values_whole)
{
	cr_assert(eq(int, parse("--format json"), WS_OK));
	cr_assert(eq(int, choice, 2));
	assert_refused("--format js", "--format needs text, csv or json, not 'js'");
	assert_refused("--format", "--format needs a value: text, csv or json");
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
	assert_refused("--ouptut x", "unknown option --ouptut (did you mean --output?)");
	assert_refused("--treshold=3", "unknown option --treshold (did you mean --threshold?)");
	assert_refused("--colour", "unknown option --colour");
	assert_refused("-x", "unknown option -x");
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

/* --- what few options use --------------------------------------------------------- */

static int64_t size_bytes, dur_ns, level;
static int kind;
static bool given[2];

static const char *kind_name(int i)
{
	return i == 3 ? "small" : i == 4 ? "large" : NULL;
}

static const struct ws_opt more[] = {
        WS_OPT("size", 0, SIZE, "SIZE", &size_bytes, "bytes", .min = 1, .max = 1 << 20),
        WS_OPT("for", 0, SECONDS, "S", &dur_ns, "a time", .min = 1),
        WS_OPT("level", 'l', INT, "N", &level, "1 to 19", .min = 1, .max = 19, .given = &given[0]),
        WS_OPT("kind", 0, CHOICE, "KIND", &kind, "how large", .choice = kind_name, .min = 3,
               .given = &given[1]),
};

static enum ws_status parse_more(const char *name, const char *value)
{
	char *words[] = {(char *)name, (char *)value};

	given[0] = given[1] = false;
	return ws_opt_parse(more, sizeof(more) / sizeof(*more), 2, words, &nargs, &err);
}

Test(opt, bounds_units_and_named_choices_hold)
{
	cr_assert(eq(int, parse_more("--size", "64K"), WS_OK));
	cr_assert(eq(i64, size_bytes, 65536));
	cr_assert(eq(int, parse_more("--size", "2M"), WS_USAGE));
	cr_assert_str_eq(err.text, "--size needs a size in bytes from 1 to 1048576, such as 4096, "
	                           "64K or 1M, not '2M'");
	cr_assert(eq(int, parse_more("--size", "99999999999G"), WS_USAGE));
	cr_assert(eq(int, parse_more("--for", "0.5"), WS_OK));
	cr_assert(eq(i64, dur_ns, 500000000));
	cr_assert(eq(int, parse_more("--for", "0"), WS_USAGE));
	cr_assert_str_eq(err.text, "--for needs seconds above 0, at most 1e+09, not '0'");
	cr_assert(eq(int, parse_more("-l", "19"), WS_OK));
	cr_assert(given[0] && !given[1]);
	cr_assert(eq(int, parse_more("--level", "20"), WS_USAGE));
	cr_assert_str_eq(err.text, "--level needs a whole number from 1 to 19, not '20'");
	cr_assert(eq(int, parse_more("--kind", "large"), WS_OK));
	cr_assert(eq(int, kind, 4));
	cr_assert(given[1]);
	cr_assert(eq(int, parse_more("--kind", "huge"), WS_USAGE));
	cr_assert_str_eq(err.text, "--kind needs small or large, not 'huge'");
}

Test(opt, words_of_others_are_left_alone)
{
	char *words[] = {(char *)"--steps", (char *)"--level", (char *)"3"};
	struct ws_opt_parser p = {more, sizeof(more) / sizeof(*more), words, 3, 0};
	const struct ws_opt *taken;

	cr_assert(eq(int, ws_opt_take(&p, &taken, &err), WS_OK));
	cr_assert(taken == NULL && p.pos == 0);
	p.pos++;
	cr_assert(eq(int, ws_opt_take(&p, &taken, &err), WS_OK));
	cr_assert(taken == &more[2] && p.pos == 3);
	cr_assert(eq(i64, level, 3));
}

Test(opt, long_help_is_wrapped)
{
	const struct ws_opt opt = WS_OPT("x", 0, FLAG, NULL, &flag,
	                                 "one two three four five six seven eight nine ten eleven "
	                                 "twelve");
	char out[256] = "";
	FILE *f = fmemopen(out, sizeof(out), "w");

	ws_opt_print_help(f, &opt, 1);
	fclose(f);
	cr_assert_str_eq(out, "      --x                   one two three four five six seven eight "
	                      "nine ten eleven\n"
	                      "                            twelve\n");
}

Test(opt, some_options_may_be_given_several_times)
{
	struct ws_opt_texts texts = {.n = 0};
	const struct ws_opt words[] = {WS_OPT("word", 0, TEXTS, "WORD", &texts, "a word")};
	char option[] = "--word", joined[] = "--word=b", a[] = "a", c[] = "c";
	char *few[] = {option, a, joined, option, c};
	char *many[2 * (WS_OPT_TEXTS_MOST + 1)];

	cr_assert(eq(int, ws_opt_parse(words, 1, 5, few, &nargs, &err), WS_OK));
	cr_assert(eq(sz, texts.n, 3));
	cr_assert_str_eq(texts.text[0], "a");
	cr_assert_str_eq(texts.text[1], "b");
	cr_assert_str_eq(texts.text[2], "c");

	texts.n = 0;
	for (int i = 0; i <= WS_OPT_TEXTS_MOST; i++) {
		many[2 * i] = option;
		many[2 * i + 1] = a;
	}
	cr_assert(eq(int, ws_opt_parse(words, 1, 2 * WS_OPT_TEXTS_MOST + 2, many, &nargs, &err),
	             WS_USAGE));
	cr_assert_str_eq(err.text, "--word is given over 16 times");
}
