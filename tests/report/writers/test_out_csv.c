#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/report/writers/writer_tables.h"

static struct made make(const struct ws_table *t)
{
	struct made m = {0};
	FILE *f = open_memstream(&m.bytes, &m.len);
	struct ws_err err;

	m.rc = ws_out_csv(f, t, &err);
	fclose(f);
	return m;
}

Test(out_csv, header_and_rows_and_nothing_else)
{
	struct ws_table *t = kernel_table();
	struct made m = make(t);

	/* full precision, no separators, empty for unknown; totals and notes stay out;
	 * the name is quoted, its formula defused, its NUL and broken byte replaced */
	cr_assert(eq(int, m.rc, WS_OK));
	cr_assert_str_eq(m.bytes, "Time (%),Total Time (ns),Instances,Name,Avg (ns)\r\n"
	                          "75,3000000,1200,gemm,2500.5\r\n"
	                          "25,1000000,1,\"'=1+1,\"\"q\"\"\r\n\x1b[31m\xef\xbf\xbd|<b>*"
	                          "\xef\xbf\xbd_x0041_\",\r\n");
	free(m.bytes);
	ws_table_free(t);
}

Test(out_csv, an_empty_table_is_its_header)
{
	struct ws_table *t = ws_table_new(&kernel_def);
	struct made m;

	ws_table_set_not_recorded(t, "nothing was recorded");
	m = make(t);
	cr_assert_str_eq(m.bytes, "Time (%),Total Time (ns),Instances,Name,Avg (ns)\r\n");
	free(m.bytes);
	ws_table_free(t);
}

Test(out_csv, numbers_keep_all_their_digits)
{
	struct ws_table *t = ws_table_new(&kernel_def);
	struct made m;

	add_kernel(t, 100.0 / 3, INT64_MAX, INT64_MIN, "", 0, 0.1);
	m = make(t);
	cr_assert_str_eq(
	        strchr(m.bytes, '\n') + 1,
	        "33.333333333333336,9223372036854775807,-9223372036854775808,\"\",0.1\r\n");
	free(m.bytes);
	ws_table_free(t);
}
