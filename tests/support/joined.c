#include "tests/support/joined.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/import/import.h"

void joined_free(struct joined *j)
{
	if (!j)
		return;
	ws_joined_rows_free(&j->rows);
	ws_model_free(j->m);
	free(j);
}

enum ws_status joined_open_reader(struct joined **out, const struct ws_trace_reader *r,
                                  const char *name, const struct ws_model_opts *opts,
                                  struct ws_err *err)
{
	struct joined *j = calloc(1, sizeof(*j));
	enum ws_status status;

	*out = NULL;
	WS_FAIL_IF(!j, err, NO_MEMORY, "out of memory");
	status = ws_joined_rows_read(&j->rows, r, name, opts, &j->m, err);
	if (status == WS_OK)
		*out = j;
	else
		joined_free(j);
	return status;
}

enum ws_status joined_open_mem(struct joined **out, const void *data, size_t size, const char *name,
                               struct ws_err *err)
{
	struct ws_trace_reader *r = NULL;
	enum ws_status status;

	*out = NULL;
	WS_FORWARD(ws_trace_reader_open_mem(&r, data, size, err));
	status = joined_open_reader(out, r, name, NULL, err);
	ws_trace_reader_free(r);
	return status;
}

static enum ws_status open_trace(struct joined **out, const char *path, const char *name,
                                 struct ws_err *err)
{
	struct ws_trace_reader *r = NULL;
	enum ws_status status;

	WS_FORWARD(ws_trace_reader_open(&r, path, err));
	status = joined_open_reader(out, r, name, NULL, err);
	ws_trace_reader_free(r);
	return status;
}

enum ws_status joined_open(struct joined **out, const char *path, struct ws_err *err)
{
	static struct ws_import_stats stats;
	const struct ws_importer *importer;
	const char *cure;
	char trace[] = "/tmp/ws-joined-XXXXXX";
	enum ws_status status;
	int fd;

	*out = NULL;
	WS_FORWARD(ws_import_find(path, &importer, &cure, err));
	if (!importer)
		return open_trace(out, path, path, err);
	fd = mkstemp(trace);
	WS_FAIL_IF(fd < 0, err, ENVIRONMENT, "no temporary file");
	close(fd);
	status = ws_import_file(path, trace, NULL, &stats, err);
	WS_THEN(status, open_trace(out, trace, path, err));
	unlink(trace);
	return status;
}

/* --- tables --------------------------------------------------------------------------------- */

static void copy_cells(struct ws_table *t, struct ws_cell *to, const struct ws_cell *from)
{
	for (size_t c = 0; c < t->def->ncolumns; c++) {
		to[c] = from[c];
		if (from[c].type == WS_CELL_TEXT)
			ws_cell_set_text(t, &to[c], from[c].text.ptr, from[c].text.len);
	}
}

/* A copy that lives without what rows with a source are made of. */
static struct ws_table *copy_of(const struct ws_table_def *def, const struct ws_table *from)
{
	struct ws_table *t = ws_table_new(def);

	/* of a title of its own the text goes with the report */
	if (t && from->def != def)
		ws_table_set_title(t, from->def->title, NULL);
	for (size_t row = 0; t && row < from->nrows; row++)
		copy_cells(t, ws_table_row(t), ws_table_cells(from, row));
	if (t && from->totals)
		copy_cells(t, ws_table_totals(t), from->totals);
	for (size_t i = 0; t && i < from->nnotes; i++) {
		if (i < from->nheadline_notes)
			ws_table_answer(t, "%s", from->notes[i]);
		else
			ws_table_note(t, "%s", from->notes[i]);
	}
	if (t && from->not_recorded)
		ws_table_set_not_recorded(t, "%s", from->not_recorded);
	return t;
}

enum ws_status one_table(const struct ws_model *m, struct ws_joined_rows *rows,
                         const struct ws_table_def *def, const struct ws_filter *filter,
                         struct ws_table **out, struct ws_err *err)
{
	struct ws_report *report;

	WS_FORWARD(ws_report_make_tables(m, rows, filter, &def, 1, &report, err));
	*out = copy_of(def, report->tables[0]);
	ws_report_free(report);
	return WS_OK;
}

enum ws_status all_tables(const struct ws_model *m, struct ws_joined_rows *rows,
                          const struct ws_filter *filter, struct ws_report **out,
                          struct ws_err *err)
{
	size_t n;
	const struct ws_table_def *const *defs = ws_table_defs(&n);

	return ws_report_make_tables(m, rows, filter, defs, n, out, err);
}

void sides_add(struct ws_sides *sides, int side, const struct ws_model *m,
               struct ws_joined_rows *rows)
{
	ws_sides_add(sides, side, m, rows, false);
}
