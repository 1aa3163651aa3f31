/*
 * The trace of kernels is made row by row while it is written: of a pass the
 * same as of loaded rows.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/trace/reader.h"
#include "report/tables/report.h"
#include "report/tables/tables.h"
#include "tests/report/loaded/loaded.h"
#include "tests/support/joined.h"
#include "tests/support/paths.h"

static char *csv_of(const struct ws_report *report, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	cr_assert(f != NULL);
	cr_assert(eq(int, ws_out_csv(f, report->tables[0], NULL), WS_OK));
	fclose(f);
	return text;
}

static void expect_same(const struct ws_report *a, const struct ws_report *b, const char *where)
{
	const struct ws_table *ta = a->tables[0], *tb = b->tables[0];
	size_t na, nb;
	char *ca = csv_of(a, &na), *cb = csv_of(b, &nb);

	cr_expect(eq(sz, ta->nrows, tb->nrows), "%s", where);
	cr_expect(eq(str, ca, cb), "%s", where);
	cr_expect(eq(str, (char *)a->scope, (char *)b->scope), "%s", where);
	cr_expect(eq(sz, ta->nnotes, tb->nnotes), "%s", where);
	cr_assert(eq(int, ta->totals != NULL, tb->totals != NULL), "%s", where);
	if (ta->totals)
		cr_expect(eq(i64, ta->totals[WS_TC_kernel_trace_dur_ns].i,
		             tb->totals[WS_TC_kernel_trace_dur_ns].i));
	free(ca);
	free(cb);
}

/* 1 = the pass made it. */
static unsigned compare(const struct ws_trace_reader *r, const struct ws_filter *filter,
                        const char *where)
{
	const struct ws_table_def *def = &ws_def_kernel_trace;
	struct ws_report *loaded, *streamed;
	struct loaded *l;
	enum ws_status status;
	struct ws_err err;
	unsigned made;

	/* each time anew: the table takes the rows */
	cr_assert(eq(int, loaded_open_reader(&l, r, where, NULL, &err), WS_OK), "%s", err.text);
	status = ws_report_stream(r, where, NULL, filter, &def, 1, NULL, &streamed, &err);
	cr_assert(eq(int, ws_report_make_tables(l->m, &l->rows, filter, &def, 1, &loaded, NULL),
	             WS_OK));
	cr_expect(eq(int, status, status && !loaded->tables[0]->nrows ? WS_USAGE : WS_OK), "%s: %s",
	          where, err.text);
	if (streamed) {
		/* what its rows are made of goes with the report */
		cr_expect(streamed->kept != NULL, "%s", where);
		expect_same(loaded, streamed, where);
	}
	made = streamed != NULL;
	ws_report_free(streamed);
	ws_report_free(loaded);
	loaded_free(l);
	return made;
}

static unsigned compare_file(const char *path)
{
	struct ws_trace_reader *r;
	struct ws_err err;
	unsigned made = 0;

	cr_assert(eq(int, ws_trace_reader_open(&r, path, &err), WS_OK), "%s", err.text);
	for (int scope = 0; scope < WS_SCOPES; scope++) {
		struct ws_filter filter = WS_FILTER_ALL;

		filter.scope = (enum ws_scope)scope;
		made += compare(r, &filter, path);
		filter.kernel = "softmax";
		made += compare(r, &filter, path);
	}
	ws_trace_reader_free(r);
	return made;
}

Test(kernel_trace, of_a_pass_is_that_of_loaded_rows)
{
	const char *folder = WS_FIXTURES "/traces";
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned made = 0;

	cr_assert(dir != NULL, "%s", folder);
	while ((entry = readdir(dir))) {
		char path[4096];

		if (!strstr(entry->d_name, ".wtrace"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		made += compare_file(path);
	}
	closedir(dir);
	/* two whole recordings with steps and a warm-up, at least, with a filter and without */
	cr_expect(ge(u32, made, 16));
}

Test(kernel_trace, of_a_filter_has_the_rows_that_pass)
{
	const struct ws_table_def *def = &ws_def_kernel_trace;
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_report *report;
	struct joined *j;
	struct ws_err err;
	size_t expected = 0;

	cr_assert(eq(int, joined_open(&j, WS_FIXTURES "/traces/step-fp32.wtrace", &err), WS_OK));
	filter.kernel = "softmax";
	for (size_t k = 0; k < j->rows.nkernels; k++) {
		const uint32_t config = ws_joined_rows_kernel(&j->rows, k)->config;
		const struct ws_bytes name = j->m->texts[j->m->configs[config].name];

		expected += memmem(name.ptr, name.len, "softmax", 7) != NULL;
	}
	cr_assert(gt(sz, expected, 0));
	cr_assert(eq(int, ws_report_make_tables(j->m, &j->rows, &filter, &def, 1, &report, &err),
	             WS_OK));
	cr_expect(eq(sz, report->tables[0]->nrows, expected));
	for (size_t row = 0; row < report->tables[0]->nrows; row++) {
		const struct ws_cell *name =
		        &ws_table_cells(report->tables[0], row)[WS_TC_kernel_trace_name];

		cr_expect(memmem(name->text.ptr, name->text.len, "softmax", 7) != NULL);
	}
	ws_report_free(report);
	joined_free(j);
}
