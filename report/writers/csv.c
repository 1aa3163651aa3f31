#include "formats/text/csv_writer.h"
#include "report/table/table.h"

static void put_cell(struct ws_csv *c, const struct ws_cell *cell)
{
	switch (cell->type) {
	case WS_CELL_EMPTY:
		ws_csv_empty(c);
		break;
	case WS_CELL_TEXT:
		ws_csv_text(c, cell->text.ptr, cell->text.len);
		break;
	case WS_CELL_INT:
		ws_csv_i64(c, cell->i);
		break;
	case WS_CELL_REAL:
		ws_csv_f64(c, cell->r);
		break;
	}
}

/* Totals and notes stay out: a program would take them for records. */
enum ws_status ws_out_csv(FILE *f, const struct ws_table *table, struct ws_err *err)
{
	const struct ws_table_def *def = table->def;
	struct ws_csv c;

	ws_csv_begin(&c, f);
	for (size_t i = 0; i < def->ncolumns; i++)
		ws_csv_str(&c, def->columns[i].title);
	ws_csv_end_row(&c);
	for (size_t row = 0; row < table->nrows; row++) {
		const struct ws_cell *cells = ws_table_cells(table, row);

		for (size_t i = 0; i < def->ncolumns; i++)
			put_cell(&c, &cells[i]);
		ws_csv_end_row(&c);
	}
	return ws_csv_finish(&c, err);
}
