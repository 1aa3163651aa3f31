#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/report/writers/writer_tables.h"

static struct made make(struct ws_table *t, int whole)
{
	struct ws_report report = {.title = "Warpsheet report",
	                           .trace = "a\"b.wtrace",
	                           .filter = "steps 1..2",
	                           .scope = "the only measured step",
	                           .tables = &t,
	                           .ntables = 1};
	struct made m = {0};
	FILE *f = open_memstream(&m.bytes, &m.len);
	struct ws_err err;

	m.rc = whole ? ws_out_json(f, &report, &err) : ws_out_json_table(f, &report, t, &err);
	fclose(f);
	return m;
}

/* The object of the spec, without its line breaks. */
static const char table_json[] =
        "{\"table\":\"kernels\",\"title\":\"Kernels\","
        "\"what\":\"One row per kernel; Time (%) is of the GPU time of all kernels.\","
        "\"trace\":\"a\\\"b.wtrace\",\"scope\":\"the only measured step\",\"filter\":\"steps "
        "1..2\",\"columns\":["
        "{\"id\":\"time_percent\",\"title\":\"Time (%)\",\"unit\":\"%\",\"type\":\"number\","
        "\"rank\":\"answer\",\"definition\":\"Share of the GPU time.\"},"
        "{\"id\":\"total_ns\",\"title\":\"Total Time (ns)\",\"unit\":\"ns\",\"type\":\"integer\","
        "\"rank\":\"answer\",\"definition\":\"Sum of times.\"},"
        "{\"id\":\"instances\",\"title\":\"Instances\",\"unit\":\"\",\"type\":\"integer\","
        "\"rank\":\"answer\",\"definition\":\"Launches.\"},"
        "{\"id\":\"name\",\"title\":\"Name\",\"unit\":\"\",\"type\":\"text\","
        "\"rank\":\"name\",\"definition\":\"Kernel name.\"},"
        "{\"id\":\"avg_ns\",\"title\":\"Avg (ns)\",\"unit\":\"ns\",\"type\":\"number\","
        "\"rank\":\"answer\",\"definition\":\"Mean.\"}],"
        "\"rows\":[[75,3000000,1200,\"gemm\",2500.5],"
        "[25,1000000,1,\"=1+1,\\\"q\\\"\\r\\n\\u001b[31m\xef\xbf\xbd|<b>*\\u0000_x0041_\",null]],"
        "\"totals\":[100,4000000,1201,null,null],\"not_recorded\":null,"
        "\"notes\":[\"2 kernels lost\"]}";

/* Blanks and line ends outside of strings. */
static void squeeze(char *json)
{
	char *out = json;
	int in_string = 0;

	for (char *p = json; *p; p++) {
		if (*p == '"' && (p == json || p[-1] != '\\'))
			in_string = !in_string;
		if (in_string || (*p != ' ' && *p != '\n'))
			*out++ = *p;
	}
	*out = '\0';
}

Test(out_json, a_table_is_the_object_of_the_spec)
{
	struct ws_table *t = kernel_table();
	struct made m = make(t, 0);

	cr_assert(eq(int, m.rc, WS_OK));
	squeeze(m.bytes);
	cr_assert_str_eq(m.bytes, table_json);
	free(m.bytes);
	ws_table_free(t);
}

Test(out_json, a_report_has_its_tables_by_name)
{
	struct ws_table *t = kernel_table();
	struct made m = make(t, 1);
	char *expected = NULL;

	cr_assert(asprintf(&expected,
	                   "{\"title\":\"Warpsheet report\",\"trace\":\"a\\\"b.wtrace\","
	                   "\"scope\":\"the only measured step\",\"filter\":\"steps "
	                   "1..2\",\"tables\":{\"kernels\":%s}}",
	                   table_json) > 0);
	cr_assert(eq(int, m.rc, WS_OK));
	squeeze(m.bytes);
	cr_assert_str_eq(m.bytes, expected);
	free(expected);
	free(m.bytes);
	ws_table_free(t);
}

Test(out_json, an_unrecorded_table_says_why)
{
	struct ws_table *t = ws_table_new(&kernel_def);
	struct made m;

	ws_table_set_not_recorded(t, "record with --api");
	m = make(t, 0);
	cr_assert_not_null(strstr(m.bytes, "\"not_recorded\": \"record with --api\""));
	squeeze(m.bytes);
	cr_assert_not_null(strstr(m.bytes, "\"rows\":[],\"totals\":null"));
	free(m.bytes);
	ws_table_free(t);
}
