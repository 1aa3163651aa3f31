#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "formats/text/json_writer.h"

/* What calls write; the caller frees. */
struct memory {
	FILE *f;
	char *text;
	size_t len;
};

static void begin(struct memory *m, struct ws_json_writer *j)
{
	m->f = open_memstream(&m->text, &m->len);
	ws_json_begin(j, m->f);
}

static void assert_json(struct memory *m, struct ws_json_writer *j, const char *expected)
{
	struct ws_err err;

	cr_assert(eq(int, ws_json_finish(j, &err), WS_OK), "%s", err.text);
	fclose(m->f);
	cr_assert_str_eq(m->text, expected);
	free(m->text);
}

Test(json_writer, objects_and_arrays_get_their_commas)
{
	struct ws_json_writer j;
	struct memory m;

	begin(&m, &j);
	ws_json_object_begin(&j);
	ws_json_key(&j, "a");
	ws_json_i64(&j, -1);
	ws_json_key(&j, "b");
	ws_json_array_begin(&j);
	ws_json_bool(&j, 1);
	ws_json_null(&j);
	ws_json_object_begin(&j);
	ws_json_object_end(&j);
	ws_json_array_end(&j);
	ws_json_key(&j, "c");
	ws_json_str(&j, NULL);
	ws_json_object_end(&j);
	assert_json(&m, &j, "{\"a\": -1,\"b\": [true,null,{}],\"c\": null}\n");
}

Test(json_writer, a_line_breaks_where_asked)
{
	struct ws_json_writer j;
	struct memory m;

	begin(&m, &j);
	ws_json_array_begin(&j);
	for (int i = 0; i < 2; i++) {
		ws_json_break(&j);
		ws_json_array_begin(&j);
		ws_json_i64(&j, i);
		ws_json_array_end(&j);
	}
	ws_json_break(&j);
	ws_json_array_end(&j);
	assert_json(&m, &j, "[\n[0],\n[1]\n]\n");
}

Test(json_writer, hostile_names_are_escaped)
{
	static const char name[] =
	        "a\"b\\c\n\r\t\b\f\0\x01\x7f\x1b[31m,=cmd|'/C calc'!A0\xe2\x82\xac\xc3\x28";
	struct ws_json_writer j;
	struct memory m;

	begin(&m, &j);
	ws_json_string(&j, name, sizeof(name) - 1);
	assert_json(&m, &j,
	            "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0000\\u0001\\u007f\\u001b[31m,=cmd|'/C "
	            "calc'!A0\xe2\x82\xac\xef\xbf\xbd(\"\n");
}

static void assert_array_text(const char *text, const char *expected)
{
	struct ws_json_writer j;
	struct memory m;

	begin(&m, &j);
	ws_json_array_text(&j, text, strlen(text));
	assert_json(&m, &j, expected);
}

Test(json_writer, a_text_that_is_an_array_is_written_as_one)
{
	static const char *const arrays[] = {
	        "[]\n",
	        "[[512],[141,512],[]]\n",
	        "[\"a\\\"b\\\\\",\"[1, 2]\",\"\"]\n",
	        "[-1,0,1.5,2e-3,1E+5]\n",
	        "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]\n",
	};

	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
		char text[100] = "";

		memcpy(text, arrays[i], strlen(arrays[i]) - 1);
		assert_array_text(text, arrays[i]);
	}
}

Test(json_writer, a_text_that_is_no_array_stays_a_string)
{
	assert_array_text("", "\"\"\n");
	assert_array_text("7", "\"7\"\n");
	assert_array_text("[", "\"[\"\n");
	assert_array_text("[1", "\"[1\"\n");
	assert_array_text("[1,]", "\"[1,]\"\n");
	assert_array_text("[,1]", "\"[,1]\"\n");
	assert_array_text("[1]]", "\"[1]]\"\n");
	assert_array_text("[1],\"x\":[2]", "\"[1],\\\"x\\\":[2]\"\n");
	assert_array_text("[01]", "\"[01]\"\n");
	assert_array_text("[1.]", "\"[1.]\"\n");
	assert_array_text("[1e]", "\"[1e]\"\n");
	assert_array_text("[-]", "\"[-]\"\n");
	assert_array_text("[NaN]", "\"[NaN]\"\n");
	assert_array_text("[\"a]", "\"[\\\"a]\"\n");
	assert_array_text("[\"a\\\"]", "\"[\\\"a\\\\\\\"]\"\n");
	assert_array_text("[\"\n\"]", "\"[\\\"\\n\\\"]\"\n");
	assert_array_text("[\"\\x\"]", "\"[\\\"\\\\x\\\"]\"\n");
	assert_array_text("[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]",
	                  "\"[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]\"\n");
}

Test(json_writer, integers_keep_all_their_digits)
{
	struct ws_json_writer j;
	struct memory m;

	begin(&m, &j);
	ws_json_array_begin(&j);
	ws_json_i64(&j, INT64_MIN);
	ws_json_i64(&j, INT64_MAX);
	ws_json_u64(&j, UINT64_MAX);
	ws_json_array_end(&j);
	assert_json(&m, &j, "[-9223372036854775808,9223372036854775807,18446744073709551615]\n");
}

Test(json_writer, decimals_are_exact)
{
	struct ws_json_writer j;
	struct memory m;

	begin(&m, &j);
	ws_json_array_begin(&j);
	ws_json_decimal(&j, 1234, 3);
	ws_json_decimal(&j, -5, 3);
	ws_json_decimal(&j, INT64_MAX, 3);
	ws_json_decimal(&j, INT64_MIN, 3);
	ws_json_array_end(&j);
	assert_json(&m, &j, "[1.234,-0.005,9223372036854775.807,-9223372036854775.808]\n");
}

Test(json_writer, numbers_that_json_lacks_are_null)
{
	struct ws_json_writer j;
	struct memory m;

	begin(&m, &j);
	ws_json_array_begin(&j);
	ws_json_f64(&j, NAN);
	ws_json_f64(&j, INFINITY);
	ws_json_f64(&j, -INFINITY);
	ws_json_f64(&j, 0.1);
	ws_json_array_end(&j);
	assert_json(&m, &j, "[null,null,null,0.1]\n");
}

Test(json_writer, calls_that_make_no_json_are_a_bug_told_at_the_end)
{
	struct ws_json_writer j;
	struct memory m;
	struct ws_err err;

	begin(&m, &j); /* nothing */
	cr_assert(eq(int, ws_json_finish(&j, &err), WS_BUG));
	fclose(m.f);
	free(m.text);

	begin(&m, &j); /* a value without a key */
	ws_json_object_begin(&j);
	ws_json_i64(&j, 1);
	ws_json_object_end(&j);
	cr_assert(eq(int, ws_json_finish(&j, &err), WS_BUG));
	cr_assert_str_eq(err.text, "number does not fit here in JSON");
	fclose(m.f);
	free(m.text);

	begin(&m, &j); /* a key without a value */
	ws_json_object_begin(&j);
	ws_json_key(&j, "a");
	ws_json_object_end(&j);
	cr_assert(eq(int, ws_json_finish(&j, &err), WS_BUG));
	fclose(m.f);
	free(m.text);

	begin(&m, &j); /* an array ended as an object */
	ws_json_array_begin(&j);
	ws_json_object_end(&j);
	cr_assert(eq(int, ws_json_finish(&j, &err), WS_BUG));
	fclose(m.f);
	free(m.text);

	begin(&m, &j); /* two values */
	ws_json_null(&j);
	ws_json_null(&j);
	cr_assert(eq(int, ws_json_finish(&j, &err), WS_BUG));
	fclose(m.f);
	free(m.text);

	begin(&m, &j); /* never closed */
	ws_json_array_begin(&j);
	cr_assert(eq(int, ws_json_finish(&j, &err), WS_BUG));
	fclose(m.f);
	free(m.text);
}

Test(json_writer, nesting_has_a_limit_that_is_told)
{
	struct ws_json_writer j;
	struct memory m;
	struct ws_err err;

	begin(&m, &j);
	for (unsigned i = 0; i <= WS_JSON_MAX_DEPTH; i++)
		ws_json_array_begin(&j);
	cr_assert(eq(int, ws_json_finish(&j, &err), WS_BUG));
	fclose(m.f);
	free(m.text);
}

/* --- numbers as text --- */

Test(json_writer, number_real_numbers_have_as_few_digits_as_they_need)
{
	char buf[WS_NUMBER_BYTES];

	cr_assert_str_eq(ws_number_real(buf, 0.1), "0.1");
	cr_assert_str_eq(ws_number_real(buf, 1), "1");
	cr_assert_str_eq(ws_number_real(buf, -0.0), "-0");
	cr_assert_str_eq(ws_number_real(buf, 1e300), "1e+300");
	cr_assert_str_eq(ws_number_real(buf, 0.1 + 0.2), "0.30000000000000004");
	cr_assert_str_eq(ws_number_real(buf, 1.0 / 3), "0.3333333333333333");
	cr_assert_str_eq(ws_number_real(buf, 123456789012345680.0), "1.2345678901234568e+17");
}

Test(json_writer, number_every_real_number_reads_back_equal)
{
	uint64_t x = 88172645463325252u;
	char buf[WS_NUMBER_BYTES];
	const double extremes[] = {DBL_MAX, DBL_MIN, DBL_TRUE_MIN, -DBL_MAX, DBL_EPSILON};

	for (size_t i = 0; i < 5; i++)
		cr_assert(strtod(ws_number_real(buf, extremes[i]), NULL) == extremes[i]);
	for (int i = 0; i < 100000; i++) {
		double v;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(&v, &x, sizeof(v));
		if (isfinite(v) && strtod(ws_number_real(buf, v), NULL) != v)
			cr_fatal("%s does not read back equal", buf);
	}
}

/* A locale with a decimal comma, made for this test; 0 when the machine cannot make one. */
static int use_decimal_comma(void)
{
	char dir[] = "/tmp/ws_test_locale_XXXXXX", command[128];
	int made;

	cr_assert(mkdtemp(dir) != NULL);
	snprintf(command, sizeof(command),
	         "localedef --no-archive -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", dir);
	made = system(command) == 0;
	setenv("LOCPATH", dir, 1);
	made = made && setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_assert(eq(int, system(command), 0));
	return made;
}

Test(json_writer, number_a_locale_with_a_decimal_comma_changes_nothing)
{
	char buf[WS_NUMBER_BYTES];

	if (!use_decimal_comma())
		cr_skip_test("localedef cannot make a locale with a decimal comma here");
	snprintf(buf, sizeof(buf), "%g", 0.5);
	cr_assert_str_eq(buf, "0,5"); /* so the locale is at work */
	cr_assert_str_eq(ws_number_real(buf, 1234.5), "1234.5");
	cr_assert_str_eq(ws_number_real(buf, 0.1 + 0.2), "0.30000000000000004");
	cr_assert_str_eq(ws_number_real(buf, -1e300), "-1e+300");
}
