/* One table of joined rows, by itself; or all of them. rows NULL: those of m, which is loaded. */
#pragma once

#include "report/tables/report.h"

static inline void copy_cells(struct ws_table *t, struct ws_cell *to, const struct ws_cell *from)
{
	for (size_t c = 0; c < t->def->ncolumns; c++) {
		to[c] = from[c];
		if (from[c].type == WS_CELL_TEXT)
			ws_cell_set_text(t, &to[c], from[c].text.ptr, from[c].text.len);
	}
}

/* A copy that lives without what rows with a source are made of. */
static inline struct ws_table *copy_of(const struct ws_table_def *def, const struct ws_table *from)
{
	struct ws_table *t = ws_table_new(def);

	/* of a title of its own the text goes with the report */
	if (t && from->def != def)
		ws_table_set_title(t, from->def->title);
	for (size_t row = 0; t && row < from->nrows; row++)
		copy_cells(t, ws_table_row(t), ws_table_cells(from, row));
	if (t && from->totals)
		copy_cells(t, ws_table_totals(t), from->totals);
	for (size_t i = 0; t && i < from->nnotes; i++) {
		if (i < from->nanswers)
			ws_table_answer(t, "%s", from->notes[i]);
		else
			ws_table_note(t, "%s", from->notes[i]);
	}
	if (t && from->not_recorded)
		ws_table_set_not_recorded(t, "%s", from->not_recorded);
	return t;
}

/* The filter may be NULL. Free with ws_table_free. */
static inline enum ws_status one_table(const struct ws_model *m, struct ws_joined_rows *rows,
                                       const struct ws_table_def *def,
                                       const struct ws_filter *filter, struct ws_table **out,
                                       struct ws_err *err)
{
	struct ws_report *report;

	WS_FORWARD(ws_report_make_tables(m, rows, filter, &def, 1, &report, err));
	*out = copy_of(def, report->tables[0]);
	ws_report_free(report);
	return *out ? WS_OK : WS_FAIL(err, NO_MEMORY, "no memory for a copy");
}

/* A report of all tables. The filter may be NULL. Free with ws_report_free. */
static inline enum ws_status all_tables(const struct ws_model *m, struct ws_joined_rows *rows,
                                        const struct ws_filter *filter, struct ws_report **out,
                                        struct ws_err *err)
{
	size_t n;
	const struct ws_table_def *const *defs = ws_table_defs(&n);

	return ws_report_make_tables(m, rows, filter, defs, n, out, err);
}
