/*
 * One test over all fixtures and all tables, with and without filters: parts
 * add up to the total that is printed, and nothing recorded becomes 0.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <string.h>

#include "report/tables/report.h"
#include "tests/support/joined.h"
#include "tests/support/paths.h"
#include "tests/support/totals.h"

static void check(struct joined *j, const struct ws_filter *filter, const char *path)
{
	struct ws_report *report = NULL;
	struct ws_err err;

	cr_assert(eq(int, all_tables(j->m, &j->rows, filter, &report, &err), WS_OK), "%s: %s", path,
	          err.text);
	totals_check(report);
	ws_report_free(report);
}

static unsigned check_folder(const char *folder)
{
	const struct ws_filter filters[] = {
	        WS_FILTER_ALL,
	        {.nvtx = "*step*", .step_first = -1, .step_last = -1, .device = -1},
	        {.step_first = 1, .step_last = 2, .device = -1},
	        {.step_first = -1, .step_last = -1, .device = 0},
	        {.step_first = -1, .step_last = -1, .device = -1, .kernel = "gemm|elementwise"},
	        {.step_first = -1,
	         .step_last = -1,
	         .device = -1,
	         .has_time = 1,
	         .time_first_ns = 100000,
	         .time_end_ns = 900000},
	        {.nvtx = "no such range", .step_first = -1, .step_last = -1, .device = -1},
	};
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned files = 0;

	cr_assert(dir != NULL, "%s", folder);
	while ((entry = readdir(dir))) {
		char path[4096];
		struct joined *j;
		struct ws_err err;

		if (entry->d_name[0] == '.' || strstr(entry->d_name, ".md"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		cr_assert(eq(int, joined_open(&j, path, &err), WS_OK), "%s", err.text);
		for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
			check(j, &filters[i], path);
		joined_free(j);
		files++;
	}
	closedir(dir);
	return files;
}

Test(totals, parts_add_up_in_every_table_of_every_trace)
{
	cr_assert(check_folder(WS_FIXTURES "/traces") > 0);
}

Test(totals, parts_add_up_in_every_table_of_imported_traces)
{
	cr_assert(check_folder(WS_FIXTURES "/imports") > 0);
}
