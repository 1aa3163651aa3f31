/* One table on one sheet: a small block of words, a frozen header, cells, totals, notes. */
#include "report/writers/xlsx/xlsx.h"

#define TEXT_WIDTH_MAX   48.0  /* longer texts wrap … */
#define PROSE_WIDTH_MAX  90.0  /* … later where there is room on the page */
#define PAGE_WIDTH       150.0 /* characters on a landscape page that is easy to read */
#define NUMBER_WIDTH_MIN 9.0
#define FILTER_BUTTON    3.0  /* characters that the filter's button covers in a header */
#define ROWS_MEASURED    2000 /* widths come from so many rows */
#define NAME_LINES       3    /* of a row in a wide table; the rest of a name shows on editing */
#define READING_COLUMNS  10   /* a table of so few is for reading */
#define READING_LINES    15
#define HEADER_LINES     4
#define OUTLINE_LEVELS   7    /* that Excel knows */
#define OUTLINE_ROWS     80   /* that are not folded at first */
#define PARAGRAPH_MIN    90.0 /* words above and below a narrow table use this width */

struct layout {
	struct ws_shown_column *shown;
	double *widths;
	double *natural;      /* what the widest text of the column takes in one line */
	unsigned char *wraps; /* by column: texts wider than TEXT_WIDTH_MAX */
	uint16_t ncols;
	uint16_t last_paragraph_col; /* words above and below the table reach to here */
	double paragraph_width;
};

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

static double widest_cell(const struct ws_table *t, const struct layout *l, uint16_t column)
{
	size_t rows = t->nrows < ROWS_MEASURED ? t->nrows : ROWS_MEASURED;
	size_t widest =
	        t->totals ? ws_display_cell_width(&l->shown[column], &t->totals[column]) : 0;

	for (size_t r = 0; r < rows; r++) {
		size_t w = ws_display_cell_width(&l->shown[column], &ws_table_cells(t, r)[column]);

		if (w > widest)
			widest = w;
	}
	return (double)widest;
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
		double widest, header;

		ws_display_column(t, c, &l->shown[c]);
		widest = widest_cell(t, l, c);
		header = header_width(l->shown[c].title);

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
	uint32_t row = s->top + WS_XLSX_ROW_HEADER;
	size_t lines = 2;

	for (uint16_t c = 0; c < l->ncols; c++) {
		const char *title = l->shown[c].title;
		size_t n = ws__xlsx_lines(title, strlen(title), l->widths[c] * 0.9 - FILTER_BUTTON);

		lines = n > lines ? n : lines;
	}
	lines = lines < HEADER_LINES ? lines : HEADER_LINES;
	ws__xlsx_try(x, worksheet_set_row(s->sheet, row, (double)lines * WS_XLSX_ROW_POINTS + 4,
	                                  NULL));
	for (uint16_t c = 0; c < l->ncols; c++) {
		if (c < WS_XLSX_WIDTHS_MAX && s->first_on_sheet->widths[c] < l->widths[c])
			s->first_on_sheet->widths[c] = l->widths[c];
		ws__xlsx_header(x, s->sheet, row, c, l->shown[c].title, def->columns[c].type);
	}
}

/*
 * A row is as high as its longest text. In a wide table three lines of a name
 * do, so that a screen shows many rows; a narrow one is there to be read.
 */
static double row_height(const struct ws_table *t, size_t row, const struct layout *l)
{
	size_t lines = 1, most = l->ncols <= READING_COLUMNS ? READING_LINES : NAME_LINES;
	const struct ws_cell *cells = ws_table_cells(t, row);

	for (uint16_t c = 0; c < l->ncols; c++) {
		const struct ws_cell *cell = &cells[c];
		size_t n;

		if (!l->wraps[c] || cell->type != WS_CELL_TEXT)
			continue;
		n = ws__xlsx_lines(cell->text.ptr, cell->text.len, l->widths[c]);
		if (n > lines)
			lines = n;
	}
	return (double)(lines < most ? lines : most) * WS_XLSX_ROW_POINTS;
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
		ws__xlsx_cell(x, s->sheet, row, c, &t->totals[c], &l->shown[c], WS_XLSX_CELL_TOTAL);
		if (said || t->def->columns[c].type != WS_CELL_TEXT)
			continue;
		ws__xlsx_text(x, s->sheet, row, c, "Total",
		              ws__xlsx_cell_format(x, &(struct ws_shown_column){0}, WS_CELL_TEXT,
		                                   WS_XLSX_CELL_TOTAL));
		said = 1;
	}
}

/*
 * How deep a row lies in the outline: ranges by their path, single layers below
 * the sum of all. 0 in tables that are no tree.
 */
static unsigned row_level(const struct ws_table *t, size_t row)
{
	const struct ws_cell *cell = ws_table_cells(t, row); /* path or scope */
	unsigned level = 0;

	if (cell->type != WS_CELL_TEXT)
		return 0;
	if (!strcmp(t->def->name, "softmax-matmul"))
		return cell->text.len > 5 && !memcmp(cell->text.ptr, "layer", 5);
	if (strncmp(t->def->name, "ranges", 6) != 0) /* rolled up, too */
		return 0;
	for (size_t i = 0; i < cell->text.len; i++)
		level += cell->text.ptr[i] == '/' && i && cell->text.ptr[i - 1] != '\\';
	return level < OUTLINE_LEVELS ? level : OUTLINE_LEVELS;
}

/* The deepest level that is open at first: as much as a reader takes in. */
static unsigned open_level(const struct ws_xlsx_sheet *s)
{
	size_t rows[OUTLINE_LEVELS + 1] = {0}, sum = 0;
	unsigned level = 0;

	for (size_t r = 0; r < s->rows; r++)
		rows[row_level(s->table, r)]++;
	for (; level < OUTLINE_LEVELS && (sum += rows[level]) + rows[level + 1] <= OUTLINE_ROWS;)
		level++;
	return level;
}

static void set_row(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, size_t r, uint32_t row,
                    double height, unsigned open)
{
	unsigned level = row_level(s->table, r);
	unsigned next = r + 1 < s->rows ? row_level(s->table, r + 1) : 0;
	lxw_row_col_options options = {.hidden = level > open,
	                               .level = (uint8_t)level,
	                               .collapsed = level <= open && next > open};

	if (level || next)
		ws__xlsx_try(x, worksheet_set_row_opt(s->sheet, row, height, NULL, &options));
	else if (height > WS_XLSX_ROW_POINTS)
		ws__xlsx_try(x, worksheet_set_row(s->sheet, row, height, NULL));
	if (level <= open && s->first_on_sheet->printed < WS_XLSX_PAGE_ROWS)
		s->first_on_sheet->printed++;
}

static void write_cells(struct ws_xlsx *x, struct ws_xlsx_sheet *s, const struct layout *l)
{
	const struct ws_table *t = s->table;
	uint32_t row = ws__xlsx_data_row(s);
	unsigned open = open_level(s);

	worksheet_outline_settings(s->sheet, LXW_TRUE, LXW_FALSE, LXW_TRUE, LXW_FALSE);
	for (size_t r = 0; r < s->rows; r++, row++) {
		const struct ws_cell *cells;

		set_row(x, s, r, row, row_height(t, r, l), open);
		cells = ws_table_cells(t, r);
		for (uint16_t c = 0; c < l->ncols; c++)
			ws__xlsx_cell(x, s->sheet, row, c, &cells[c], &l->shown[c],
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

	if (t->nnotes == t->nheadline_notes && !x->big_integers && !x->cut_texts &&
	    s->rows == t->nrows)
		return row;
	ws__xlsx_text(x, s->sheet, row++, 0, "Notes", x->styles[WS_XLSX_NOTE_HEAD]);
	if (s->rows < t->nrows) {
		snprintf(text, sizeof(text),
		         "This sheet has the first %zu of %zu rows. All rows are in the CSV file "
		         "…-%s.csv beside this workbook.",
		         s->rows, t->nrows, t->def->name);
		row = write_note(x, s, l, row, text);
	}
	if (x->big_integers) {
		snprintf(text, sizeof(text),
		         "Numbers beyond 2^53 are shown as text (%zu of them): a spreadsheet "
		         "would round them.",
		         x->big_integers);
		row = write_note(x, s, l, row, text);
	}
	if (x->cut_texts) {
		snprintf(text, sizeof(text),
		         "Texts over 32,767 characters, a cell's limit, end in … (%zu of them). "
		         "CSV and JSON have them whole.",
		         x->cut_texts);
		row = write_note(x, s, l, row, text);
	}
	for (size_t i = t->nheadline_notes; i < t->nnotes; i++)
		row = write_note(x, s, l, row, t->notes[i]);
	return row;
}

/* The header and the rows under a name that formulas can use: ws_kernel_summary. */
static void define_name(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, const struct layout *l)
{
	char name[WS_XLSX_SHEET_NAME_MAX + 8], last[LXW_MAX_CELL_NAME_LENGTH], formula[128];

	snprintf(name, sizeof(name), "ws_%.*s", WS_XLSX_SHEET_NAME_MAX, s->table->def->sheet);
	for (char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9')))
			*p = '_';
	lxw_rowcol_to_cell_abs(last, (lxw_row_t)(ws__xlsx_data_row(s) + s->rows - 1),
	                       (lxw_col_t)(l->ncols - 1), 1, 1);
	snprintf(formula, sizeof(formula), "='%s'!$A$%u:%s", s->name,
	         (unsigned)(s->top + WS_XLSX_ROW_HEADER + 1), last);
	ws__xlsx_try(x, workbook_define_name(x->book, name, formula));
}

static void style_rows(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, const struct layout *l)
{
	const struct ws_table *t = s->table;
	lxw_row_t first = ws__xlsx_data_row(s), last = (lxw_row_t)(first + s->rows - 1);

	for (uint16_t c = 0; c < l->ncols; c++)
		if (t->def->columns[c].display == WS_DISPLAY_PERCENT)
			ws__xlsx_data_bars(x, s->sheet, first, last, c);
	if (s == s->first_on_sheet) /* a sheet has one filter */
		ws__xlsx_try(x, worksheet_autofilter(s->sheet, first - 1, 0, last,
		                                     (lxw_col_t)(l->ncols - 1)));
	ws__xlsx_add_marks(x, s);
	define_name(x, s, l);
}

static void write_sheet(struct ws_xlsx *x, struct ws_xlsx_sheet *s, const struct layout *l)
{
	const struct ws_table *t = s->table;
	uint32_t row = (uint32_t)(ws__xlsx_data_row(s) + s->rows + (t->totals ? 1 : 0));
	char title[WS_DISPLAY_TITLE];

	ws__xlsx_head(x, s, ws_display_title(t, title), l->last_paragraph_col, l->paragraph_width);
	write_header(x, s, l);
	s->first_on_sheet->printed += WS_XLSX_ROW_DATA;
	write_cells(x, s, l);
	if (s->rows)
		style_rows(x, s, l);
	if (t->not_recorded)
		ws__xlsx_not_recorded(x, s, row++, l->last_paragraph_col, l->paragraph_width);
	else if (!t->nrows)
		ws__xlsx_text(x, s->sheet, row++, 0, "No rows.", x->styles[WS_XLSX_SOURCE]);
	s->below = write_notes(x, s, l, row + 1);
	s->first_on_sheet->printed += s->below - row;
	row = s->below;
	s->below = ws__xlsx_add_own_charts(x, s, s->below + 1);
	s->first_on_sheet->printed += s->below - row;
	s->first_on_sheet->below = s->below;
	if (s->first_on_sheet->ncols < l->ncols)
		s->first_on_sheet->ncols = l->ncols;
	if (s->first_on_sheet->page_cols <= l->last_paragraph_col)
		s->first_on_sheet->page_cols = (uint16_t)(l->last_paragraph_col + 1);
}

/* The row of the sheet below so many rows that are not folded away. */
static uint32_t last_printed(const struct ws_xlsx_sheet *s)
{
	unsigned open = open_level(s);
	uint32_t row = ws__xlsx_data_row(s), left = WS_XLSX_PAGE_ROWS - WS_XLSX_ROW_DATA;

	if (s->first_on_sheet->printed < WS_XLSX_PAGE_ROWS)
		return s->below;
	for (size_t r = 0; r < s->rows && left; r++, row++)
		left -= row_level(s->table, r) <= open;
	return left ? row + left - 1 : row - 1;
}

void ws__xlsx_finish_sheet(struct ws_xlsx *x, struct ws_xlsx_sheet *s)
{
	lxw_row_col_options folded = {.hidden = LXW_TRUE, .level = 1};
	lxw_row_col_options button = {.collapsed = LXW_TRUE};
	uint16_t last = s->page_cols;
	int folds = s->ncols > last + 1;

	for (uint16_t c = 0; c < s->ncols && c < WS_XLSX_WIDTHS_MAX; c++)
		ws__xlsx_try(x, worksheet_set_column_opt(s->sheet, c, c, s->widths[c], NULL,
		                                         folds && c >= last ? &folded : NULL));
	if (folds)
		ws__xlsx_try(x, worksheet_set_column_opt(s->sheet, s->ncols, s->ncols, 9, NULL,
		                                         &button));
	if (!s->shared)
		worksheet_freeze_panes(s->sheet, WS_XLSX_ROW_DATA, 0);
	ws__xlsx_page_setup(x, s->sheet, last_printed(s),
	                    (uint16_t)((folds || last > s->ncols ? last : s->ncols) - 1));
	if (!s->shared)
		ws__xlsx_try(x, worksheet_repeat_rows(s->sheet, WS_XLSX_ROW_HEADER,
		                                      WS_XLSX_ROW_HEADER));
}

enum ws_status ws__xlsx_write_table(struct ws_xlsx *x, struct ws_xlsx_sheet *s, struct ws_err *err)
{
	const struct ws_table *t = s->table;
	struct layout l = {.ncols = (uint16_t)t->def->ncolumns};

	WS_FAIL_IF(!t->def->ncolumns || t->def->ncolumns > LXW_COL_MAX, err, BUG,
	           "table %s has %zu columns", t->def->name, t->def->ncolumns);
	s->rows = t->nrows < WS_XLSX_ROWS_MAX ? t->nrows : WS_XLSX_ROWS_MAX;
	x->big_integers = x->cut_texts = 0;
	WS_NEW(&x->arena, l.widths, l.ncols);
	WS_NEW(&x->arena, l.natural, l.ncols);
	WS_NEW(&x->arena, l.wraps, l.ncols);
	WS_NEW(&x->arena, l.shown, l.ncols);
	measure(t, &l);
	write_sheet(x, s, &l);
	return WS_OK;
}
