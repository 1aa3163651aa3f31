/* One table on one sheet: a small block of words, a frozen header, cells, totals, notes. */
#include "report/writers/xlsx/xlsx.h"

#include "report/table/display.h"

#define TEXT_WIDTH_MAX   48.0  /* longer texts wrap … */
#define PROSE_WIDTH_MAX  90.0  /* … later where there is room on the page */
#define PAGE_WIDTH       150.0 /* characters on a landscape page that is easy to read */
#define NUMBER_WIDTH_MIN 9.0
#define FILTER_BUTTON    3.0  /* characters that the filter's button covers in a header */
#define ROWS_MEASURED    2000 /* widths come from so many rows */
#define NAME_LINES       3    /* of a row in a wide table; the rest of a name shows on editing */
#define READING_COLUMNS  8    /* a table of so few is for reading */
#define READING_LINES    15
#define LINE_POINTS      15.0
#define PARAGRAPH_MIN    90.0 /* words above and below a narrow table use this width */

struct layout {
	double *widths;
	double *natural;      /* what the widest text of the column takes in one line */
	unsigned char *wraps; /* by column: texts wider than TEXT_WIDTH_MAX */
	uint16_t ncols;
	uint16_t last_paragraph_col; /* words above and below the table reach to here */
	double paragraph_width;
};

static double number_width(const struct ws_table *t, size_t column, const struct ws_cell *cell)
{
	struct ws_shown_column shown = {.display = t->def->columns[column].display};
	char out[WS_DISPLAY_NUMBER_MAX];

	/* the sheet shows the unscaled value with separators, so no exponent here */
	switch (shown.display) {
	case WS_DISPLAY_PERCENT:
	case WS_DISPLAY_RATIO:
		shown.decimals = 2;
		break;
	case WS_DISPLAY_REAL:
		shown.decimals = 4;
		break;
	default:
		shown.decimals = cell->type == WS_CELL_REAL;
	}
	return (double)ws_display_number(&shown, cell, out);
}

static double cell_width(const struct ws_table *t, size_t column, const struct ws_cell *cell)
{
	if (cell->type == WS_CELL_TEXT)
		return (double)ws_display_width(cell->text.ptr, cell->text.len);
	return number_width(t, column, cell);
}

/* A header may take three lines, broken at blanks. */
static double header_width(const char *title)
{
	double longest = 0, whole = (double)strlen(title);

	for (const char *p = title; *p;) {
		size_t n = strcspn(p, " ");

		if ((double)n > longest)
			longest = (double)n;
		p += n;
		p += strspn(p, " ");
	}
	/* bold letters are wider */
	if (whole / 2 > longest)
		longest = whole / 2;
	return longest * 1.1 + FILTER_BUTTON;
}

static double widest_cell(const struct ws_table *t, uint16_t column)
{
	size_t rows = t->nrows < ROWS_MEASURED ? t->nrows : ROWS_MEASURED;
	double widest = t->totals ? cell_width(t, column, &t->totals[column]) : 0;

	for (size_t r = 0; r < rows; r++) {
		double w = cell_width(t, column, &t->cells[r * t->def->ncolumns + column]);

		if (w > widest)
			widest = w;
	}
	return widest;
}

/* Long texts share what the page has left. */
static void share_page(struct layout *l)
{
	double used = 0, each;
	size_t wide = 0;

	for (uint16_t c = 0; c < l->ncols; c++) {
		wide += l->wraps[c];
		used += l->wraps[c] ? 0 : l->widths[c];
	}
	if (!wide)
		return;
	each = (PAGE_WIDTH - used) / (double)wide;
	if (each > PROSE_WIDTH_MAX)
		each = PROSE_WIDTH_MAX;
	for (uint16_t c = 0; c < l->ncols; c++)
		if (l->wraps[c] && l->widths[c] < each)
			l->widths[c] = each < l->natural[c] ? each : l->natural[c];
}

static void measure(const struct ws_table *t, struct layout *l)
{
	double sum = 0;

	for (uint16_t c = 0; c < l->ncols; c++) {
		double widest = widest_cell(t, c), header = header_width(t->def->columns[c].title);

		l->natural[c] = widest + 2;
		if (widest > TEXT_WIDTH_MAX) {
			widest = TEXT_WIDTH_MAX;
			l->wraps[c] = t->def->columns[c].type == WS_CELL_TEXT;
		}
		widest += 2;
		if (widest < header)
			widest = header;
		if (widest < NUMBER_WIDTH_MIN)
			widest = NUMBER_WIDTH_MIN;
		l->widths[c] = widest;
	}
	share_page(l);
	for (uint16_t c = 0; c < l->ncols; c++) {
		sum += l->widths[c];
		if (sum <= PAGE_WIDTH || c == 0) {
			l->last_paragraph_col = c;
			l->paragraph_width = sum;
		}
	}
	/* of a narrow table the words run over the empty columns beside it */
	while (l->paragraph_width < PARAGRAPH_MIN && sum < PARAGRAPH_MIN) {
		l->last_paragraph_col++;
		l->paragraph_width += 8.43;
	}
}

static void write_header(struct ws_xlsx *x, struct ws_xlsx_sheet *s, const struct layout *l)
{
	const struct ws_table_def *def = s->table->def;

	ws__xlsx_try(x, worksheet_set_row(s->sheet, WS_XLSX_ROW_HEADER, 2 * LINE_POINTS + 4, NULL));
	for (uint16_t c = 0; c < l->ncols; c++) {
		ws__xlsx_try(x, worksheet_set_column(s->sheet, c, c, l->widths[c], NULL));
		ws__xlsx_text(
		        x, s->sheet, WS_XLSX_ROW_HEADER, c, def->columns[c].title,
		        x->styles[def->columns[c].type == WS_CELL_TEXT ? WS_XLSX_HEADER
		                                                       : WS_XLSX_HEADER_NUMBER]);
	}
}

/*
 * A row is as high as its longest text. In a wide table three lines of a name
 * do, so that a screen shows many rows; a narrow one is there to be read.
 */
static double row_height(const struct ws_table *t, size_t row, const struct layout *l)
{
	size_t lines = 1, most = l->ncols <= READING_COLUMNS ? READING_LINES : NAME_LINES;

	for (uint16_t c = 0; c < l->ncols; c++) {
		const struct ws_cell *cell = &t->cells[row * l->ncols + c];
		size_t n;

		if (!l->wraps[c] || cell->type != WS_CELL_TEXT)
			continue;
		n = ws__xlsx_lines(cell->text.ptr, cell->text.len, l->widths[c]);
		if (n > lines)
			lines = n;
	}
	return (double)(lines < most ? lines : most) * LINE_POINTS;
}

/* The first text says that it is the total, where the table does not. */
static void write_totals(struct ws_xlsx *x, struct ws_xlsx_sheet *s, const struct layout *l,
                         uint32_t row)
{
	const struct ws_table *t = s->table;
	int said = 0;

	for (uint16_t c = 0; c < l->ncols; c++)
		said |= t->totals[c].type == WS_CELL_TEXT;
	for (uint16_t c = 0; c < l->ncols; c++) {
		ws__xlsx_cell(x, s->sheet, row, c, &t->totals[c], t->def->columns[c].display,
		              WS_XLSX_CELL_TOTAL);
		if (said || t->def->columns[c].type != WS_CELL_TEXT)
			continue;
		ws__xlsx_text(x, s->sheet, row, c, "Total",
		              ws__xlsx_cell_format(x, WS_DISPLAY_PLAIN, WS_CELL_TEXT,
		                                   WS_XLSX_CELL_TOTAL));
		said = 1;
	}
}

static void write_cells(struct ws_xlsx *x, struct ws_xlsx_sheet *s, const struct layout *l)
{
	const struct ws_table *t = s->table;
	uint32_t row = WS_XLSX_ROW_DATA;

	for (size_t r = 0; r < s->rows; r++, row++) {
		double height = row_height(t, r, l);

		if (height > LINE_POINTS)
			ws__xlsx_try(x, worksheet_set_row(s->sheet, row, height, NULL));
		for (uint16_t c = 0; c < l->ncols; c++)
			ws__xlsx_cell(x, s->sheet, row, c, &t->cells[r * l->ncols + c],
			              t->def->columns[c].display,
			              l->wraps[c] ? WS_XLSX_CELL_WRAPPED : WS_XLSX_CELL);
	}
	if (t->totals)
		write_totals(x, s, l, row);
}

static uint32_t write_note(struct ws_xlsx *x, struct ws_xlsx_sheet *s, const struct layout *l,
                           uint32_t row, const char *text)
{
	ws__xlsx_paragraph(x, s->sheet, row, 0, l->last_paragraph_col, l->paragraph_width, text,
	                   x->styles[WS_XLSX_NOTE]);
	return row + 1;
}

static uint32_t write_notes(struct ws_xlsx *x, struct ws_xlsx_sheet *s, const struct layout *l,
                            uint32_t row)
{
	const struct ws_table *t = s->table;
	char text[512];

	if (!t->nnotes && !x->big_integers && !x->cut_texts && s->rows == t->nrows)
		return row;
	ws__xlsx_text(x, s->sheet, row++, 0, "Notes", x->styles[WS_XLSX_NOTE_HEAD]);
	if (s->rows < t->nrows) {
		snprintf(
		        text, sizeof(text),
		        "This sheet has the first %zu of %zu rows; all of them are in the CSV file "
		        "…-%s.csv beside this workbook.",
		        s->rows, t->nrows, t->def->name);
		row = write_note(x, s, l, row, text);
	}
	if (x->big_integers) {
		snprintf(text, sizeof(text),
		         "Numbers beyond 9,007,199,254,740,992 (2^53) stand here as text (%zu of "
		         "them): the numbers of a sheet are not exact beyond it.",
		         x->big_integers);
		row = write_note(x, s, l, row, text);
	}
	if (x->cut_texts) {
		snprintf(
		        text, sizeof(text),
		        "Texts of more than 32,767 characters, the most that a cell holds, are cut "
		        "and end in … (%zu of them); CSV and JSON have them whole.",
		        x->cut_texts);
		row = write_note(x, s, l, row, text);
	}
	for (size_t i = 0; i < t->nnotes; i++)
		row = write_note(x, s, l, row, t->notes[i]);
	return row;
}

/* The header and the rows under a name that formulas can use: ws_kernel_summary. */
static void define_name(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, const struct layout *l)
{
	char name[WS_XLSX_SHEET_NAME_MAX + 8], last[LXW_MAX_CELL_NAME_LENGTH], formula[128];

	snprintf(name, sizeof(name), "ws_%s", s->name);
	for (char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9')))
			*p = '_';
	lxw_rowcol_to_cell_abs(last, (lxw_row_t)(WS_XLSX_ROW_DATA + s->rows - 1),
	                       (lxw_col_t)(l->ncols - 1), 1, 1);
	snprintf(formula, sizeof(formula), "='%s'!$A$%d:%s", s->name, WS_XLSX_ROW_HEADER + 1, last);
	ws__xlsx_try(x, workbook_define_name(x->book, name, formula));
}

static void write_sheet(struct ws_xlsx *x, struct ws_xlsx_sheet *s, const struct layout *l)
{
	const struct ws_table *t = s->table;
	uint32_t row = (uint32_t)(WS_XLSX_ROW_DATA + s->rows + (t->totals ? 1 : 0));

	ws__xlsx_head(x, s, t->def->title, l->last_paragraph_col, l->paragraph_width);
	write_header(x, s, l);
	write_cells(x, s, l);
	if (s->rows) {
		for (uint16_t c = 0; c < l->ncols; c++)
			if (t->def->columns[c].display == WS_DISPLAY_PERCENT)
				ws__xlsx_data_bars(x, s->sheet, WS_XLSX_ROW_DATA,
				                   (uint32_t)(WS_XLSX_ROW_DATA + s->rows - 1), c);
		ws__xlsx_try(x, worksheet_autofilter(s->sheet, WS_XLSX_ROW_HEADER, 0,
		                                     (lxw_row_t)(WS_XLSX_ROW_DATA + s->rows - 1),
		                                     (lxw_col_t)(l->ncols - 1)));
		ws__xlsx_add_marks(x, s);
		define_name(x, s, l);
	}
	if (t->not_recorded)
		ws__xlsx_not_recorded(x, s, row++, l->last_paragraph_col, l->paragraph_width);
	else if (!t->nrows)
		ws__xlsx_text(x, s->sheet, row++, 0, "No rows.", x->styles[WS_XLSX_SOURCE]);
	s->below = write_notes(x, s, l, row + 1);
	s->below = ws__xlsx_add_own_charts(x, s, s->below + 1);
	worksheet_freeze_panes(s->sheet, WS_XLSX_ROW_DATA, 0);
	ws__xlsx_page_setup(x, s->sheet, 1, 0);
	ws__xlsx_try(x, worksheet_repeat_rows(s->sheet, WS_XLSX_ROW_HEADER, WS_XLSX_ROW_HEADER));
}

enum ws_status ws__xlsx_write_table(struct ws_xlsx *x, struct ws_xlsx_sheet *s, struct ws_err *err)
{
	const struct ws_table *t = s->table;
	struct layout l = {.ncols = (uint16_t)t->def->ncolumns};

	WS_FAIL_IF(!t->def->ncolumns || t->def->ncolumns > LXW_COL_MAX, err, BUG,
	           "table %s has %zu columns", t->def->name, t->def->ncolumns);
	s->rows = t->nrows < WS_XLSX_ROWS_MAX ? t->nrows : WS_XLSX_ROWS_MAX;
	x->big_integers = x->cut_texts = 0;
	l.widths = calloc(l.ncols, sizeof(*l.widths));
	l.natural = calloc(l.ncols, sizeof(*l.natural));
	l.wraps = calloc(l.ncols, 1);
	if (l.widths && l.natural && l.wraps) {
		measure(t, &l);
		write_sheet(x, s, &l);
	} else {
		x->no_memory = 1;
	}
	free(l.widths);
	free(l.natural);
	free(l.wraps);
	return WS_OK;
}
