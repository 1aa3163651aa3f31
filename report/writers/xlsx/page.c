/* The first sheet: a report on one page, with links to the sheets and charts of their cells. */
#include "report/writers/xlsx/xlsx.h"

#include <math.h>
#include <stdbool.h>

#define WIDTH_ITEM   38.0
#define WIDTH_TEXT   38.0
#define WIDTH_TIME   13.0
#define WIDTH_NUMBER 10.0
#define WIDTH_GAP    2.0
#define WIDTH_LINK   24.0
#define WIDTH_SHEET  57.0
#define GAP_POINTS   6.0 /* between two sections */
#define CHART_PIXELS 400
#define WIDTH_CHART  (CHART_PIXELS / 7.0)
#define LINES_MAX    8

/* The columns of the table but `section`, which becomes headings. */
struct page {
	struct ws_xlsx *x;
	lxw_worksheet *sheet;
	const struct ws_table *t;
	struct ws_page_columns columns;
	const struct ws_shown_column *shown;
	double width;  /* of all cells */
	uint16_t last; /* column of the sheet */
};

static double column_width(const struct page *p, size_t column)
{
	if (column == p->columns.item)
		return WIDTH_ITEM;
	if (column == p->columns.text)
		return WIDTH_TEXT;
	return p->t->def->columns[column].display == WS_DISPLAY_TIME_NS ? WIDTH_TIME : WIDTH_NUMBER;
}

/* `section` has none: what stands behind it moves up. */
static uint16_t sheet_column(const struct page *p, size_t column)
{
	return (uint16_t)(column - (column > p->columns.section));
}

/* Where a section's details are. */
static const struct {
	const char *section, *table, *link;
} details[] = {
        {"GPU time by phase", "steps", "→ Steps"},
        {"GPU time by class", "classes", "→ Classes"},
        {"Top kernels", "kernel-summary", "→ Kernel Summary"},
        {"How long a step takes", "steps", "→ Steps"},
        {"Why the device is idle", "idle", "→ Idle"},
        {"What to do", "advice", "→ Advice"},
        {"What is missing", "losses", "→ Losses"},
};

static void set_height(const struct page *p, uint32_t row, double points)
{
	ws__xlsx_try(p->x, worksheet_set_row(p->sheet, row, points, NULL));
	if (row < WS_XLSX_HEIGHTS_MAX)
		p->x->heights[row] = points;
}

static uint32_t write_section(const struct page *p, uint32_t row, const struct ws_cell *section)
{
	lxw_format *style = p->x->styles[WS_XLSX_SECTION];

	set_height(p, row, 18);
	ws__xlsx_words(p->x, p->sheet, row, 0, section, style);
	for (uint16_t c = 1; c <= p->last; c++)
		ws__xlsx_try(p->x, worksheet_write_blank(p->sheet, row, c, style));
	for (size_t i = 0; i < sizeof(details) / sizeof(*details); i++) {
		const struct ws_xlsx_sheet *to = ws__xlsx_find_sheet(p->x, details[i].table);

		if (to && ws_cell_is(section, details[i].section))
			ws__xlsx_link(p->x, p->sheet, row, 1, to, details[i].link,
			              WS_XLSX_LINK_SECTION);
	}
	return row + 1;
}

static bool has_share(const struct page *p, const struct ws_cell *cells)
{
	for (size_t i = 0; i < p->t->def->ncolumns; i++)
		if (p->t->def->columns[i].display == WS_DISPLAY_PERCENT &&
		    cells[i].type != WS_CELL_EMPTY)
			return true;
	return false;
}

/*
 * A text that is longer than its column runs over the empty cells behind it. Returns the lines
 * that it takes.
 */
static size_t write_words(const struct page *p, uint32_t row, uint16_t col, size_t column,
                          const struct ws_cell *cells)
{
	const struct ws_cell *cell = &cells[column];
	double own = column_width(p, column), width = own;
	uint16_t last = col;

	for (size_t i = column + 1; i < p->t->def->ncolumns && cells[i].type == WS_CELL_EMPTY; i++)
		if (i != p->columns.section) {
			width += column_width(p, i);
			last++;
		}
	if (last == col || ws__xlsx_lines(cell->text.ptr, cell->text.len, own) == 1)
		width = own;
	else
		ws__xlsx_try(p->x,
		             worksheet_merge_range(p->sheet, row, col, row, last, "",
		                                   ws__xlsx_cell_format(p->x, &p->shown[column],
		                                                        WS_CELL_TEXT,
		                                                        WS_XLSX_CELL_WRAPPED)));
	ws__xlsx_cell(p->x, p->sheet, row, col, cell, &p->shown[column], WS_XLSX_CELL_WRAPPED);
	return ws__xlsx_lines(cell->text.ptr, cell->text.len, width);
}

/* Lines of a page have nothing in common: a small number shows its digits beside a large one. */
static void write_number(const struct page *p, uint32_t row, uint16_t col, size_t column,
                         const struct ws_cell *cell)
{
	struct ws_shown_column shown = p->shown[column];

	if (shown.display == WS_DISPLAY_REAL && cell->type == WS_CELL_REAL)
		shown.decimals = fabs(cell->r) < 1000 ? 4 : 1;
	ws__xlsx_cell(p->x, p->sheet, row, col, cell, &shown, WS_XLSX_CELL);
}

static uint32_t write_line(const struct page *p, uint32_t row, const struct ws_cell *cells)
{
	size_t lines = 1;
	/* a name beside its share takes one line: it stands whole on its own sheet */
	bool one_line = has_share(p, cells);

	for (size_t i = 0; i < p->t->def->ncolumns; i++) {
		uint16_t c = sheet_column(p, i);
		size_t n = 1;

		if (i == p->columns.section)
			continue;
		if (cells[i].type == WS_CELL_TEXT && !one_line)
			n = write_words(p, row, c, i, cells);
		else if (cells[i].type != WS_CELL_EMPTY)
			write_number(p, row, c, i, &cells[i]);
		lines = n > lines ? n : lines;
	}
	if (lines > LINES_MAX)
		lines = LINES_MAX;
	if (lines > 1)
		set_height(p, row, WS_XLSX_ROW_POINTS * (double)lines);
	return row + 1;
}

static uint32_t write_lines(const struct page *p, uint32_t row)
{
	const struct ws_table *t = p->t;

	for (size_t begin = 0, end; begin < t->nrows; begin = end) {
		const struct ws_cell *section = &ws_table_cells(t, begin)[p->columns.section];

		end = ws_display_section_end(t, &p->columns, begin);
		if (begin)
			set_height(p, row++, GAP_POINTS);
		row = write_section(p, row, section);
		if (p->x->nblocks < WS_XLSX_BLOCKS_MAX)
			p->x->blocks[p->x->nblocks++] =
			        (struct ws_xlsx_block){section, row,
			                               row + (uint32_t)(end - begin) - 1};
		for (size_t r = begin; r < end; r++)
			row = write_line(p, row, ws_table_cells(t, r));
	}
	return row;
}

/* Tables without rows have no sheet: which, and why. */
static uint32_t write_left_out(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col)
{
	for (size_t i = 0; i < x->report->ntables; i++) {
		const struct ws_table *t = x->report->tables[i];

		if (x->sheets[i].first_on_sheet)
			continue;
		ws__xlsx_text(x, sheet, row, col, t->def->sheet, x->styles[WS_XLSX_LABEL]);
		ws__xlsx_text(x, sheet, row++, col + 1,
		              t->not_recorded ? "no sheet: not recorded" : "no sheet: no rows",
		              x->styles[WS_XLSX_LABEL]);
	}
	return row;
}

uint32_t ws__xlsx_contents(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col)
{
	ws__xlsx_text(x, sheet, row, col, "Sheet", x->styles[WS_XLSX_HEADER]);
	ws__xlsx_text(x, sheet, row++, col + 1, "Content", x->styles[WS_XLSX_HEADER]);
	for (size_t i = 0; i < x->report->ntables; i++) {
		const struct ws_xlsx_sheet *s = &x->sheets[i];
		char title[WS_DISPLAY_TITLE];

		if (s->sheet == sheet || !s->first_on_sheet)
			continue;
		ws__xlsx_link(x, sheet, row, col, s, s->name, WS_XLSX_LINK_CELL);
		ws__xlsx_text(x, sheet, row++, col + 1,
		              ws__xlsx_format(x, "%s: %zu %s", ws_display_title(s->table, title),
		                              s->table->nrows,
		                              s->table->nrows == 1 ? "row" : "rows"),
		              x->styles[WS_XLSX_LABEL]);
	}
	return write_left_out(x, sheet, row, col);
}

static void write_columns(struct page *p)
{
	const struct ws_table_def *def = p->t->def;
	uint16_t c = 0;

	for (size_t i = 0; i < def->ncolumns; i++) {
		double width = column_width(p, i);

		if (i == p->columns.section)
			continue;
		ws__xlsx_try(p->x, worksheet_set_column(p->sheet, c, c, width, NULL));
		ws__xlsx_header(p->x, p->sheet, WS_XLSX_ROW_HEADER, c, p->shown[i].title,
		                def->columns[i].type);
		p->width += width;
		p->last = c++;
	}
	ws__xlsx_try(p->x, worksheet_set_column(p->sheet, c, c, WIDTH_GAP, NULL));
}

static uint32_t write_notes(const struct page *p, uint32_t row)
{
	for (size_t i = 0; i < p->t->nnotes; i++)
		ws__xlsx_paragraph(p->x, p->sheet, row++, 0, p->last, p->width, p->t->notes[i],
		                   p->x->styles[WS_XLSX_NOTE]);
	return row;
}

/* Behind the shares of all sections. */
static void add_bars(const struct page *p, uint32_t below)
{
	for (size_t i = 0; i < p->t->def->ncolumns; i++)
		if (p->t->def->columns[i].display == WS_DISPLAY_PERCENT && p->t->nrows)
			ws__xlsx_data_bars(p->x, p->sheet, WS_XLSX_ROW_DATA, below - 1,
			                   sheet_column(p, i));
}

/* Counts over 0 of the section of what is missing. */
static void mark_missing(const struct page *p)
{
	lxw_conditional_format over_0 = {.type = LXW_CONDITIONAL_TYPE_CELL,
	                                 .criteria = LXW_CONDITIONAL_CRITERIA_GREATER_THAN,
	                                 .value = 0,
	                                 .format = p->x->styles[WS_XLSX_WARNING]};
	int count = ws_table_column_index(p->t->def, "count");
	uint16_t col = sheet_column(p, count < 0 ? 0 : (size_t)count);

	for (size_t i = 0; i < p->x->nblocks && count >= 0; i++) {
		const struct ws_xlsx_block *b = &p->x->blocks[i];

		if (ws_cell_is(b->section, "What is missing"))
			ws__xlsx_try(p->x,
			             worksheet_conditional_format_range(p->sheet, b->first, col,
			                                                b->last, col, &over_0));
	}
}

/* The rows that a page of paper takes: up to the sections of which no reader asks first. */
static uint32_t rows_to_print(const struct ws_xlsx *x, uint32_t row)
{
	for (size_t i = 0; i < x->nblocks; i++)
		if (ws_cell_is(x->blocks[i].section, "Workload") ||
		    ws_cell_is(x->blocks[i].section, "Provenance"))
			return x->blocks[i].first - 2;
	return row;
}

/* A section that begins above this row is printed to its end. */
static uint32_t end_of_section(const struct ws_xlsx *x, uint32_t row)
{
	for (size_t i = 0; i < x->nblocks; i++)
		if (x->blocks[i].first <= row + 1 && x->blocks[i].last > row)
			return x->blocks[i].last;
	return row;
}

void ws__xlsx_write_page(struct ws_xlsx *x, struct ws_xlsx_sheet *s)
{
	static const double widths[] = {WIDTH_CHART, WIDTH_GAP, WIDTH_LINK, WIDTH_SHEET};
	struct page p = {.x = x, .sheet = s->sheet, .t = s->table};
	struct ws_shown_column *shown;
	uint32_t row, below;
	uint16_t right;

	if (!WS_NEW(&x->arena, shown, s->table->def->ncolumns))
		return;
	for (size_t c = 0; c < s->table->def->ncolumns; c++)
		ws_display_column(s->table, c, &shown[c]);
	p.shown = shown;
	s->rows = s->table->nrows;
	ws_display_page(s->table->def, &p.columns);
	write_columns(&p);
	ws__xlsx_head(x, s, x->report->title, p.last, p.width);
	right = (uint16_t)(p.last + 2);
	row = write_lines(&p, WS_XLSX_ROW_DATA);
	if (s->table->not_recorded)
		ws__xlsx_not_recorded(x, s, row++, p.last, p.width);
	add_bars(&p, row);
	mark_missing(&p);
	row = write_notes(&p, row + 1);
	/* beside the lines their charts; beside these, where nobody prints, the ways to all sheets
	 */
	for (lxw_col_t i = 0; i < (lxw_col_t)(sizeof(widths) / sizeof(*widths)); i++)
		ws__xlsx_try(x,
		             worksheet_set_column(s->sheet, right + i, right + i, widths[i], NULL));
	below = ws__xlsx_add_charts(x, s->sheet, WS_XLSX_ROW_HEADER, right, CHART_PIXELS);
	ws__xlsx_contents(x, s->sheet, WS_XLSX_ROW_HEADER, (uint16_t)(right + 2));
	worksheet_freeze_panes(s->sheet, WS_XLSX_ROW_DATA, 0);
	worksheet_gridlines(s->sheet, LXW_HIDE_ALL_GRIDLINES);
	worksheet_set_tab_color(s->sheet, 0x1F3864);
	row = rows_to_print(x, row);
	/* beside the charts, which may end lower */
	row = row > below ? row : end_of_section(x, below);
	ws__xlsx_page_setup(x, s->sheet, row, right);
	worksheet_set_portrait(s->sheet); /* many short lines */
}
