/* Tables for programs: CSV, and the JSON of docs/reference/json.md. */
#include "formats/text/csv_writer.h"
#include "formats/text/json_writer.h"
#include "report/table/table.h"

/* --- CSV ------------------------------------------------------------------------------------- */

/* Without totals and notes, which a program would read as records. */
void ws_out_csv(FILE *f, const struct ws_table *table)
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
			switch (cells[i].type) {
			case WS_CELL_EMPTY:
				ws_csv_empty(&c);
				break;
			case WS_CELL_TEXT:
				ws_csv_text(&c, cells[i].text.ptr, cells[i].text.len);
				break;
			case WS_CELL_INT:
				ws_csv_i64(&c, cells[i].i);
				break;
			case WS_CELL_REAL:
				ws_csv_f64(&c, cells[i].r);
				break;
			}
		ws_csv_end_row(&c);
	}
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_cells(struct ws_json_writer *j, const struct ws_table *t,
                      const struct ws_cell *cells)
{
	ws_json_array_begin(j);
	for (size_t i = 0; i < t->def->ncolumns; i++) {
		switch (cells[i].type) {
		case WS_CELL_EMPTY:
			ws_json_null(j);
			break;
		case WS_CELL_TEXT:
			ws_json_string(j, cells[i].text.ptr, cells[i].text.len);
			break;
		case WS_CELL_INT:
			ws_json_i64(j, cells[i].i);
			break;
		case WS_CELL_REAL:
			ws_json_f64(j, cells[i].r);
			break;
		}
	}
	ws_json_array_end(j);
}

static void put_field(struct ws_json_writer *j, const char *key, const char *text)
{
	ws_json_break(j);
	ws_json_str(ws_json_key(j, key), text);
}

static void put_table(struct ws_json_writer *j, const struct ws_report *report,
                      const struct ws_table *t, size_t most)
{
	static const char *const ranks[] = {"name", "key", "answer", "detail", "full"};

	ws_json_object_begin(j);
	put_field(j, "table", t->def->name);
	put_field(j, "title", t->def->title);
	put_field(j, "what", t->def->meaning);
	put_field(j, "trace", report->trace);
	put_field(j, "scope", report->scope);
	put_field(j, "filter", report->filter);
	if (t->side[0] && t->side[1]) {
		ws_json_break(j);
		WS_JSON_EACH(j, "sides", s, 2)
			ws_json_str(j, t->side[s]);
	}
	ws_json_break(j);
	ws_json_array_begin(ws_json_key(j, "columns"));
	for (size_t i = 0; i < t->def->ncolumns; i++) {
		const struct ws_table_column *c = &t->def->columns[i];

		ws_json_break(j);
		ws_json_object_begin(j);
		ws_json_str(ws_json_key(j, "id"), c->id);
		ws_json_str(ws_json_key(j, "title"), c->title);
		ws_json_str(ws_json_key(j, "unit"), c->unit);
		ws_json_str(ws_json_key(j, "type"), (c->type == WS_CELL_INT    ? "integer"
		                                     : c->type == WS_CELL_REAL ? "number"
		                                                               : "text"));
		ws_json_str(ws_json_key(j, "rank"), ranks[c->rank - WS_RANK_NAME]);
		ws_json_str(ws_json_key(j, "definition"), c->definition);
		ws_json_object_end(j);
	}
	ws_json_array_end(j);
	ws_json_break(j);
	ws_json_array_begin(ws_json_key(j, "rows"));
	for (size_t row = 0; row < t->nrows && row < most; row++) {
		ws_json_break(j);
		put_cells(j, t, ws_table_cells(t, row));
	}
	ws_json_array_end(j);
	ws_json_break(j);
	ws_json_key(j, "totals");
	if (t->totals)
		put_cells(j, t, t->totals);
	else
		ws_json_null(j);
	put_field(j, "not_recorded", t->not_recorded);
	ws_json_break(j);
	ws_json_array_begin(ws_json_key(j, "notes"));
	for (size_t i = 0; i < t->nnotes; i++) {
		ws_json_break(j);
		ws_json_str(j, t->notes[i]);
	}
	ws_json_array_end(j);
	ws_json_break(j);
	ws_json_object_end(j);
}

enum ws_status ws_out_json_table(FILE *f, const struct ws_report *report,
                                 const struct ws_table *table, struct ws_err *err)
{
	struct ws_json_writer j;

	ws_json_begin(&j, f);
	put_table(&j, report, table, SIZE_MAX);
	return ws_json_finish(&j, err);
}

enum ws_status ws_out_json_rows(FILE *f, const struct ws_report *report, size_t most_rows,
                                struct ws_err *err)
{
	struct ws_json_writer j;

	ws_json_begin(&j, f);
	ws_json_object_begin(&j);
	put_field(&j, "title", report->title);
	put_field(&j, "trace", report->trace);
	put_field(&j, "scope", report->scope);
	put_field(&j, "filter", report->filter);
	ws_json_break(&j);
	ws_json_object_begin(ws_json_key(&j, "tables"));
	for (size_t i = 0; i < report->ntables; i++) {
		ws_json_break(&j);
		ws_json_key(&j, report->tables[i]->def->name);
		put_table(&j, report, report->tables[i], most_rows);
	}
	ws_json_object_end(&j);
	ws_json_break(&j);
	ws_json_object_end(&j);
	return ws_json_finish(&j, err);
}

enum ws_status ws_out_json(FILE *f, const struct ws_report *report, struct ws_err *err)
{
	return ws_out_json_rows(f, report, SIZE_MAX, err);
}
