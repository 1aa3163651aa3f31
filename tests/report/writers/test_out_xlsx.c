/* What cells hold is read back by tests/workbooks/check_xlsx.py. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <unistd.h>

#include "report/tables/tables.h"

/* The circles of a roofline, in points. */
static int circle_of(double share)
{
	struct ws_table *t = ws_table_new(&ws_def_roofline);
	struct ws_cell *row = ws_table_row(t);
	struct ws_report report = {.title = "Warpsheet report",
	                           .trace = "a.wtrace",
	                           .filter = "",
	                           .tables = &t,
	                           .ntables = 1};
	char command[400], folder[] = "/tmp/test_out_xlsx.XXXXXX", path[64];
	struct ws_err err;
	int size = -1;
	FILE *f;

	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.xlsx", folder);
	ws_cell_set_str(t, &row[WS_TC_roofline_level], "operation");
	ws_cell_set_str(t, &row[WS_TC_roofline_name], "gemm");
	ws_cell_set_real(&row[WS_TC_roofline_share], share);
	ws_cell_set_real(&row[WS_TC_roofline_intensity], 1);
	ws_cell_set_real(&row[WS_TC_roofline_tflops], 1);
	cr_assert(eq(int, ws_out_xlsx(path, &report, &err), WS_OK), "%s", err.text);
	ws_table_free(t);
	snprintf(command, sizeof(command),
	         "python3 -c \"import re, zipfile; print(re.search('<c:size val=.(.*?)./>', "
	         "zipfile.ZipFile('%s').read('xl/charts/chart1.xml').decode())[1])\"",
	         path);
	f = popen(command, "r");
	cr_assert_not_null(f);
	cr_assert(eq(int, fscanf(f, "%d", &size), 1));
	cr_assert(zero(int, pclose(f)));
	unlink(path);
	rmdir(folder);
	return size;
}

Test(out_xlsx, a_circle_of_the_roofline_is_as_large_as_the_whole_at_most)
{
	cr_expect(eq(int, circle_of(100), 30));
	cr_expect(eq(int, circle_of(25), 15));
	cr_expect(eq(int, circle_of(400), 30));
	cr_expect(eq(int, circle_of(1e147), 30));
	cr_expect(eq(int, circle_of(0.6), 5));
}
