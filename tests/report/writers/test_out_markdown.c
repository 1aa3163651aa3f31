#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <time.h>

#include "tests/report/writers/writer_tables.h"

static char *make(struct ws_table *t, const char *filter)
{
	struct ws_report report = {.title = "Warpsheet report",
	                           .trace = "a_b.wtrace",
	                           .filter = filter,
	                           .tables = &t,
	                           .ntables = 1};
	char *bytes = NULL;
	size_t len;
	FILE *f = open_memstream(&bytes, &len);

	ws_out_markdown(f, &report);
	fclose(f);
	return bytes;
}

Test(out_markdown, pipes_and_tags_of_a_name_do_no_harm)
{
	struct ws_table *t = kernel_table();
	char *md = make(t, "");

	cr_assert_str_eq(md, "# Warpsheet report\n\nTrace: a_b.wtrace\n\n## Kernels\n\n"
	                     "One row per kernel; Time (%) is of the GPU time of all kernels.\n\n"
	                     "| Name | Time (%) | Total Time (ms) | Instances | Avg (µs) |\n"
	                     "|---|---:|---:|---:|---:|\n"
	                     "| gemm | 75.0 | 3.00 | 1,200 | 2.50 |\n"
	                     "| =1+1,\"q\"\\\\r\\\\n\\\\x1b\\[31m\xef\xbf\xbd\\|"
	                     "\\<b\\>\\*\\\\x00\\_x0041\\_ | 25.0 | 1.00 | 1 |  |\n"
	                     "| **Total** | **100.0** | **4.00** | **1,201** |  |\n"
	                     "\n- 2 kernels lost\n");
	free(md);
	ws_table_free(t);
}

Test(out_markdown, a_page_has_a_heading_for_each_section)
{
	struct ws_table *t = page_table();
	char *md = make(t, "steps 1..2");

	cr_assert_str_eq(md, "# Warpsheet report\n\nTrace: a_b.wtrace · Filter: steps 1..2\n"
	                     "\n## Summary\n\nThe run on a page.\n\n"
	                     "### Headline\n\n| Item | Count | Time | Share | Text |\n"
	                     "|---|---:|---:|---:|---|\n"
	                     "| GPU time |  | 18.2 ms | 100.0 % | mean of 5 steps |\n"
	                     "| kernels | 1,234 |  |  |  |\n\n"
	                     "### Provenance\n\n| Item | Text |\n|---|---|\n"
	                     "| program | /bin/step |\n"
	                     "| nothing known |  |\n");
	free(md);
	ws_table_free(t);
}

Test(out_markdown, an_unrecorded_table_says_why)
{
	struct ws_table *t = ws_table_new(&kernel_def);
	char *md;

	ws_table_set_not_recorded(t, "record with --api");
	md = make(t, "");
	cr_assert_not_null(strstr(md, "\nNot recorded: record with --api\n"));
	free(md);
	ws_table_free(t);
}

Test(out_markdown, a_long_page_takes_time_by_its_lines)
{
	struct ws_table *t = long_page();
	clock_t begin = clock();
	char *md = make(t, "");

	cr_assert(lt(dbl, (double)(clock() - begin) / CLOCKS_PER_SEC, 10.0));
	cr_assert_not_null(strstr(md, "99,999"));
	free(md);
	ws_table_free(t);
}
