/* The first sheet: a report on one page, with links to the sheets and charts of their cells. */
#include "report/out_xlsx.h"

#include "report/display.h"

enum { COL_ITEM, COL_VALUE, COL_UNIT, COL_NOTE, COL_GAP, COL_CHARTS };

#define WIDTH_ITEM  30.0
#define WIDTH_VALUE 32.0
#define WIDTH_UNIT  9.0
#define WIDTH_NOTE  50.0
#define LINE_POINTS 15.0
/* A longer page would be too small to read when it is printed on one sheet of paper. */
#define ROWS_OF_ONE_PAGE 90

static void write_section(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, const char *text,
                          size_t len)
{
	lxw_format *style = x->styles[WS_XLSX_SECTION];

	ws__xlsx_try(x, worksheet_set_row(sheet, row, 18, NULL));
	ws__xlsx_try(x, worksheet_write_string(sheet, row, COL_ITEM, ws__xlsx_clean(x, text, len),
	                                       style));
	for (uint16_t c = COL_ITEM + 1; c <= COL_NOTE; c++)
		ws__xlsx_try(x, worksheet_write_blank(sheet, row, c, style));
}

static size_t lines_of(const struct ws_cell *cell, double width)
{
	if (cell->type != WS_CELL_TEXT)
		return 1;
	return ws__xlsx_lines(cell->text.ptr, cell->text.len, width);
}

static void write_line(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row,
                       const struct ws_cell *cells, const struct ws_page_columns *c)
{
	const struct ws_cell *item = &cells[c->item], *value = &cells[c->value];
	size_t lines = lines_of(item, WIDTH_ITEM);

	if (lines_of(value, WIDTH_VALUE) > lines)
		lines = lines_of(value, WIDTH_VALUE);
	if (lines_of(&cells[c->note], WIDTH_NOTE) > lines)
		lines = lines_of(&cells[c->note], WIDTH_NOTE);
	if (lines > 6)
		lines = 6;
	if (lines > 1)
		ws__xlsx_try(x, worksheet_set_row(sheet, row, LINE_POINTS * (double)lines, NULL));
	ws__xlsx_cell(x, sheet, row, COL_ITEM, item, WS_DISPLAY_PLAIN, WS_XLSX_CELL_WRAPPED);
	ws__xlsx_cell(x, sheet, row, COL_VALUE, value, ws_display_of_unit(&cells[c->unit]),
	              WS_XLSX_CELL_WRAPPED);
	ws__xlsx_cell(x, sheet, row, COL_UNIT, &cells[c->unit], WS_DISPLAY_PLAIN, WS_XLSX_CELL);
	ws__xlsx_cell(x, sheet, row, COL_NOTE, &cells[c->note], WS_DISPLAY_PLAIN,
	              WS_XLSX_CELL_WRAPPED);
}

static uint32_t write_lines(struct ws_xlsx *x, const struct ws_table *t, lxw_worksheet *sheet,
                            uint32_t row)
{
	const struct ws_cell *before = NULL;
	struct ws_page_columns c;

	ws_display_page(t->def, &c);
	for (size_t r = 0; r < t->nrows; r++) {
		const struct ws_cell *cells = &t->cells[r * t->def->ncolumns];
		const struct ws_cell *section = &cells[c.section];

		if (ws_display_new_section(section, before)) {
			row += before ? 1 : 0; /* a blank line between blocks */
			write_section(x, sheet, row++, section->text.ptr, section->text.len);
			before = section;
		}
		write_line(x, sheet, row++, cells, &c);
	}
	return row;
}

static uint32_t write_contents(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row)
{
	static const char head[] = "Sheets of this workbook";
	char rows[64];

	write_section(x, sheet, row++, head, sizeof(head) - 1);
	for (size_t i = 1; i < x->report->ntables; i++, row++) {
		const struct ws_xlsx_sheet *s = &x->sheets[i];

		ws__xlsx_link(x, sheet, row, COL_ITEM, s->name, s->name, WS_XLSX_LINK_CELL);
		ws__xlsx_text(x, sheet, row, COL_VALUE, s->table->def->title,
		              x->styles[WS_XLSX_LABEL]);
		if (s->table->not_recorded)
			snprintf(rows, sizeof(rows), "not recorded");
		else
			snprintf(rows, sizeof(rows), "%zu %s", s->table->nrows,
			         s->table->nrows == 1 ? "row" : "rows");
		ws__xlsx_text(x, sheet, row, COL_NOTE, rows, x->styles[WS_XLSX_LABEL]);
	}
	return row;
}

void ws__xlsx_write_page(struct ws_xlsx *x, struct ws_xlsx_sheet *s)
{
	static const double widths[] = {WIDTH_ITEM, WIDTH_VALUE, WIDTH_UNIT, WIDTH_NOTE, 2};
	const struct ws_table *t = s->table;
	lxw_worksheet *sheet = s->sheet;
	double width = 0;
	uint32_t row = WS_XLSX_ROW_LINK, below;
	char *source = NULL;

	s->rows = t->nrows;
	for (uint16_t c = 0; c < sizeof(widths) / sizeof(*widths); c++) {
		ws__xlsx_try(x, worksheet_set_column(sheet, c, c, widths[c], NULL));
		width += widths[c];
	}
	ws__xlsx_try(x, worksheet_set_row(sheet, WS_XLSX_ROW_TITLE, 26, NULL));
	ws__xlsx_text(x, sheet, WS_XLSX_ROW_TITLE, 0, x->report->title, x->styles[WS_XLSX_TITLE]);
	ws__xlsx_paragraph(x, sheet, WS_XLSX_ROW_WHAT, COL_ITEM, COL_NOTE, width, t->def->what,
	                   x->styles[WS_XLSX_WHAT]);
	if (asprintf(&source, "Trace: %s%s%s", x->report->trace,
	             *x->report->filter ? " · Filter: " : "", x->report->filter) < 0) {
		x->no_memory = 1;
		return;
	}
	ws__xlsx_text(x, sheet, WS_XLSX_ROW_SOURCE, 0, source, x->styles[WS_XLSX_SOURCE]);
	free(source);

	row = write_lines(x, t, sheet, row + 1);
	for (size_t i = 0; i < t->nnotes; i++)
		ws__xlsx_paragraph(x, sheet, row++, COL_ITEM, COL_NOTE, width, t->notes[i],
		                   x->styles[WS_XLSX_NOTE]);
	row = write_contents(x, sheet, row + 1);
	below = ws__xlsx_add_charts(x, sheet, WS_XLSX_ROW_HEADER, COL_CHARTS);
	if (row < below)
		row = below;
	worksheet_gridlines(sheet, LXW_HIDE_ALL_GRIDLINES);
	worksheet_set_tab_color(sheet, 0x1F3864);
	ws__xlsx_page_setup(x, sheet, 1, row <= ROWS_OF_ONE_PAGE ? 1 : 0);
}
