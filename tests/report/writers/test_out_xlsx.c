#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/tables/tables.h"
#include "tests/report/writers/writer_tables.h"

/* What the cells hold is read back by tests/workbooks/check_xlsx.py. */

static char folder[] = "/tmp/test_out_xlsx.XXXXXX";
static char path[64];

static void make_folder(void)
{
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.xlsx", folder);
}

static void remove_folder(void)
{
	struct dirent *entry;
	DIR *d = opendir(folder);

	while (d && (entry = readdir(d))) {
		char name[512];

		snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
			unlink(name);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

TestSuite(out_xlsx, .init = make_folder, .fini = remove_folder, .timeout = 600);

static size_t files_in_folder(void)
{
	struct dirent *entry;
	DIR *d = opendir(folder);
	size_t n = 0;

	while ((entry = readdir(d)))
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(d);
	return n;
}

static enum ws_status make(const char *to, struct ws_table **tables, size_t n, struct ws_err *err)
{
	struct ws_report report = {.title = "Warpsheet report",
	                           .trace = "a.wtrace",
	                           .filter = "",
	                           .tables = tables,
	                           .ntables = n};

	return ws_out_xlsx(to, &report, err);
}

static char *slurp(const char *name, size_t *len)
{
	FILE *f = fopen(name, "rb");
	char *bytes;

	cr_assert_not_null(f);
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*len + 1);
	cr_assert(eq(sz, fread(bytes, 1, *len, f), *len));
	bytes[*len] = '\0';
	fclose(f);
	return bytes;
}

Test(out_xlsx, equal_reports_make_equal_bytes_and_nothing_else)
{
	struct ws_table *tables[] = {page_table(), kernel_table()};
	size_t n1, n2;
	struct ws_err err;
	char *first, *second;

	cr_assert(eq(int, make(path, tables, 2, &err), WS_OK));
	first = slurp(path, &n1);
	/* the clock of ZIP entries and of properties ticks in seconds; created_ns is 0 here,
	 * which libxlsxwriter would take for "now" */
	sleep(2);
	cr_assert(eq(int, make(path, tables, 2, &err), WS_OK));
	second = slurp(path, &n2);
	cr_assert(eq(sz, n1, n2));
	cr_assert(zero(int, memcmp(first, second, n1)));
	cr_assert(eq(sz, files_in_folder(), 1));
	free(first);
	free(second);
	ws_table_free(tables[0]);
	ws_table_free(tables[1]);
}

Test(out_xlsx, a_folder_that_is_not_there_is_named)
{
	struct ws_table *t = kernel_table();
	struct ws_err err;
	char expected[256], to[128];

	snprintf(to, sizeof(to), "%s/absent/a.xlsx", folder);
	snprintf(expected, sizeof(expected), "cannot create '%s': No such file or directory", to);
	cr_assert(eq(int, make(to, &t, 1, &err), WS_IO_WRITE));
	cr_assert_str_eq(err.text, expected);
	cr_assert(zero(sz, files_in_folder()));
	ws_table_free(t);
}

Test(out_xlsx, a_new_file_has_the_usual_mode)
{
	struct ws_table *t = kernel_table();
	struct ws_err err;
	struct stat st;

	umask(027);
	cr_assert(eq(int, make(path, &t, 1, &err), WS_OK));
	cr_assert(eq(int, stat(path, &st), 0));
	cr_assert(eq(uint, st.st_mode & 0777, 0640));
	ws_table_free(t);
}

Test(out_xlsx, rows_that_a_sheet_does_not_hold_are_in_a_csv_beside_it)
{
	enum { ROWS = 100001 };
	struct ws_table *t = ws_table_new(&kernel_def);
	struct ws_err err;
	char *csv, name[80];
	size_t len, lines = 0;

	for (int i = 0; i < ROWS; i++)
		ws_cell_set_int(&ws_table_row(t)[2], i);
	cr_assert(eq(int, make(path, &t, 1, &err), WS_OK));
	cr_assert(eq(sz, files_in_folder(), 2));
	snprintf(name, sizeof(name), "%s/a-kernels.csv", folder);
	csv = slurp(name, &len);
	for (const char *p = csv; (p = strchr(p, '\n')); p++)
		lines++;
	cr_assert(eq(sz, lines, ROWS + 1));
	cr_assert_not_null(strstr(csv, "\r\n,,100000,,\r\n"));
	free(csv);
	ws_table_free(t);
}

/* The circles of a roofline, in points. */
static int circle_of(double share)
{
	struct ws_table *t = ws_table_new(&ws_def_roofline);
	struct ws_cell *row = ws_table_row(t);
	char command[400];
	struct ws_err err;
	int size = -1;
	FILE *f;

	ws_cell_set_str(t, &row[WS_TC_roofline_level], "operation");
	ws_cell_set_str(t, &row[WS_TC_roofline_name], "gemm");
	ws_cell_set_real(&row[WS_TC_roofline_share], share);
	ws_cell_set_real(&row[WS_TC_roofline_intensity], 1);
	ws_cell_set_real(&row[WS_TC_roofline_tflops], 1);
	cr_assert(eq(int, make(path, &t, 1, &err), WS_OK), "%s", err.text);
	ws_table_free(t);
	snprintf(command, sizeof(command),
	         "python3 -c \"import re, zipfile; print(re.search('<c:size val=.(.*?)./>', "
	         "zipfile.ZipFile('%s').read('xl/charts/chart1.xml').decode())[1])\"",
	         path);
	f = popen(command, "r");
	cr_assert_not_null(f);
	cr_assert(eq(int, fscanf(f, "%d", &size), 1));
	cr_assert(zero(int, pclose(f)));
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
