/* A table as a sheet, and the workbook of all of them. */
#include <ctype.h>
#include "formats/base/outfile.h"
#include "report/writers/xlsx/xlsx.h"

/* Details that a workbook of many tables does not print, and definitions. */
static const char *const not_on_paper[] = {
        "critical-path", "idle-gaps",      "steps",           "step-split",    "memory",
        "api-summary",   "ranges",         "kernel-launches", "range-kernels", "gpu",
        "execution",     "launch-latency", "memory-time",     "memory-size",   "losses",
        "method",        "gpu-samples",    "counter-samples",
};

/* Maximum number of printed rows of a table: one page. */
#define PAPER_ROWS 24

/* Characters of the default font, 11 points, on a line of paper: so many keep 7 points. */
#define WS_XLSX_PORTRAIT 145.0

/* Rows of a table that go into the workbook; the whole table is then beside it as CSV. */
#define WS_XLSX_ROWS_MAX 100000

/* --- cells that a reader must not miss ------------------------------------------------------- */

/* Blue: B is faster; orange: B is slower. Told apart with every common colour blindness. */
#define COLOUR_FASTER 0x9DC3E6
#define COLOUR_SAME   0xFFFFFF
#define COLOUR_SLOWER 0xF4B183

/* A text, or every number over 0. */
static const struct {
	const char *table, *column, *text;
} marks[] = {
        {"losses", "Count", NULL},           {"steps", "Outlier", "yes"},
        {"advice", "Severity", "strong"},    {"diff-verdict", "Grade", "SLOWER"},
        {"diff-verdict", "Grade", "UNLIKE"}, {"diff-phases", "Grade", "SLOWER"},
        {"diff-ranges", "Grade", "SLOWER"},  {"diff-ops", "Grade", "SLOWER"},
        {"diff-classes", "Grade", "SLOWER"}, {"ranks-verdict", "Subject", "ALARM"},
        {"ranks", "Straggler", "yes"},       {"rank-steps", "Straggler", "yes"},
};

static void add_format(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint16_t col,
                       lxw_conditional_format *format)
{
	const uint32_t first = WS_XLSX_ROW_DATA, last = first + (uint32_t)s->rows - 1;

	ws__xlsx_try(x,
	             worksheet_conditional_format_range(s->sheet, first, col, last, col, format));
}

/* --- a sheet --------------------------------------------------------------------------------- */

#define TEXT_WIDTH_MAX   48.0  /* longer texts wrap … */
#define PROSE_WIDTH_MAX  90.0  /* … later if there is room on the page */
#define PAGE_WIDTH       150.0 /* characters on a landscape page that is easy to read */
#define NUMBER_WIDTH_MIN 9.0
#define FILTER_BUTTON    3.0  /* characters that the filter's button covers in a header */
#define ROWS_MEASURED    2000 /* widths come from so many rows */
#define READING_LINES    15
#define HEADER_LINES     4
#define OUTLINE_LEVELS   7    /* limits of Excel */
#define OUTLINE_ROWS     80   /* that are not folded at first */
#define PARAGRAPH_MIN    90.0 /* words above and below a narrow table use this width */
#define FROZEN_MAX       60.0 /* characters of keys that may stay on the screen */

struct layout {
	const struct ws_view *view;
	double *widths;
	double *natural;             /* width of the column's widest text in one line */
	unsigned char *wraps;        /* by column: texts wider than TEXT_WIDTH_MAX */
	uint16_t n;                  /* columns */
	uint16_t seen;               /* without details */
	uint16_t last_paragraph_col; /* words above and below the table reach to here */
	double paragraph_width;
};

static const struct ws_table_column *def_of(const struct layout *l, uint16_t c)
{
	return &l->view->t->def->columns[l->view->column[c].index];
}

static void measure(const struct ws_table *t, struct layout *l)
{
	const size_t rows = t->nrows < ROWS_MEASURED ? t->nrows : ROWS_MEASURED;
	double sum = 0;

	for (uint16_t c = 0; c < l->n; c++) {
		double widest = (double)ws_view_widest(l->view, &l->view->column[c], rows);
		/* A header may take three lines, broken at blanks. */
		double longest = 0, whole = (double)strlen(l->view->column[c].shown.title);

		for (const char *p = l->view->column[c].shown.title; *p;) {
			size_t n = strcspn(p, " ");

			if ((double)n > longest)
				longest = (double)n;
			p += n;
			p += strspn(p, " ");
		}
		/* bold letters are wider */
		if (whole / 2 > longest)
			longest = whole / 2;
		double header = longest * 1.1 + FILTER_BUTTON;

		l->natural[c] = widest + 2;
		if (widest > TEXT_WIDTH_MAX) {
			widest = TEXT_WIDTH_MAX;

			/* Names, whole or short, and paths take one line, so that a screen shows
			 * many rows. */
			const struct ws_view_column *column = &l->view->column[c];
			const char *id = def_of(l, c)->id;

			l->wraps[c] = def_of(l, c)->type == WS_CELL_TEXT && !column->is_tree &&
			              column->rank <= WS_RANK_ANSWER && strcmp(id, "path") != 0 &&
			              !strstr(id, "name") && strncmp(id, "kernel", 6) != 0;
		}
		widest += 2;
		if (widest < header)
			widest = header;
		if (widest < NUMBER_WIDTH_MIN)
			widest = NUMBER_WIDTH_MIN;
		l->widths[c] = widest;
	}

	/* Long texts share the rest of the page's width. */
	double used = 0, each;
	size_t wide = 0;

	for (uint16_t c = 0; c < l->seen; c++) {
		wide += l->wraps[c];
		used += l->wraps[c] ? 0 : l->widths[c];
	}
	if (wide) {
		each = (PAGE_WIDTH - used) / (double)wide;
		if (each > PROSE_WIDTH_MAX)
			each = PROSE_WIDTH_MAX;
		for (uint16_t c = 0; c < l->seen; c++)
			if (l->wraps[c] && l->widths[c] < each)
				l->widths[c] = each < l->natural[c] ? each : l->natural[c];
	}
	for (uint16_t c = 0; c < l->seen; c++) {
		sum += l->widths[c];
		if (sum <= PAGE_WIDTH || c == 0) {
			l->last_paragraph_col = c;
			l->paragraph_width = sum;
		}
	}
	/* of a narrow table the words run over the empty columns beside it */
	while (l->paragraph_width < PARAGRAPH_MIN && sum < PARAGRAPH_MIN && l->seen == l->n) {
		l->last_paragraph_col++;
		l->paragraph_width += 8.43;
	}
}

/* Depth of a row in the outline: for ranges by their path. 0 in tables that are not a tree. */
static unsigned row_level(const struct ws_xlsx_sheet *s, size_t row)
{
	const struct ws_cell *cells = ws_table_cells(s->table, row);
	char label[WS_VIEW_LABEL];
	unsigned level = 0;

	if (s->view.column[0].is_tree)
		ws_view_label(&s->view, cells, label, &level);
	return level < OUTLINE_LEVELS ? level : OUTLINE_LEVELS;
}

static void write_note(struct ws_xlsx *x, struct ws_xlsx_sheet *s, const struct layout *l,
                       uint32_t *row, const char *text)
{
	ws__xlsx_paragraph(x, s->sheet, (*row)++, l->last_paragraph_col, l->paragraph_width, text,
	                   WS_XLSX_NOTE);
}

static void write_sheet(struct ws_xlsx *x, struct ws_xlsx_sheet *s, const struct layout *l)
{
	const struct ws_table *t = s->table;
	char shown_title[WS_DISPLAY_TITLE];

	/* Details are folded into one group; keys stay on the screen. */
	lxw_row_col_options folded = {.hidden = LXW_TRUE, .level = 1};
	lxw_row_col_options button = {.collapsed = LXW_TRUE};
	uint16_t frozen = 0;
	double width = 0;
	char from[LXW_MAX_COL_NAME_LENGTH];

	for (uint16_t c = 0; c < l->n; c++)
		ws__xlsx_try(x, worksheet_set_column_opt(s->sheet, c, c, l->widths[c], NULL,
		                                         c >= l->seen ? &folded : NULL));
	for (; frozen < l->view->nkeys && (width += l->widths[frozen]) <= FROZEN_MAX;)
		frozen++;
	worksheet_freeze_panes(s->sheet, WS_XLSX_ROW_DATA, frozen);
	if (l->seen != l->n) {
		ws__xlsx_try(x, worksheet_set_column_opt(s->sheet, l->n, l->n, 9, NULL, &button));
		lxw_col_to_name(from, l->n, 0);
		ws__xlsx_text(x, s->sheet, WS_XLSX_ROW_LINK, 1,
		              ws__xlsx_format(x, "%u more columns: press + above column %s",
		                              (unsigned)(l->n - l->seen), from),
		              x->styles[WS_XLSX_SOURCE]);
	}
	ws__xlsx_head(x, s, ws_display_title(t, shown_title), l->last_paragraph_col,
	              l->paragraph_width);

	/* A header is as high as its longest title. */
	size_t lines = 2;

	for (uint16_t c = 0; c < l->n; c++) {
		const char *title = l->view->column[c].shown.title;
		size_t n = ws__xlsx_lines(title, strlen(title), l->widths[c] * 0.9 - FILTER_BUTTON);

		lines = n > lines ? n : lines;
	}
	lines = lines < HEADER_LINES ? lines : HEADER_LINES;
	ws__xlsx_try(x, worksheet_set_row(s->sheet, WS_XLSX_ROW_HEADER,
	                                  (double)lines * WS_XLSX_ROW_POINTS + 4, NULL));
	for (uint16_t c = 0; c < l->n; c++)
		ws__xlsx_header(x, s->sheet, WS_XLSX_ROW_HEADER, c, l->view->column[c].shown.title,
		                def_of(l, c)->type);
	/* the cells */
	const bool is_tree = s->view.column[0].is_tree;
	unsigned open = 0;

	if (is_tree) {
		/* The deepest level that is open at first: as much as a reader takes in. */
		size_t at_level[OUTLINE_LEVELS + 1] = {0}, sum = 0;

		for (size_t r = 0; r < s->rows; r++)
			at_level[row_level(s, r)]++;
		while (open < OUTLINE_LEVELS &&
		       (sum += at_level[open]) + at_level[open + 1] <= OUTLINE_ROWS)
			open++;
	}

	worksheet_outline_settings(s->sheet, LXW_TRUE, LXW_FALSE, LXW_TRUE, LXW_FALSE);
	for (size_t r = 0; r < s->rows; r++) {
		const uint32_t row = (uint32_t)(WS_XLSX_ROW_DATA + r);
		/* A row is as high as its longest text that wraps. */
		size_t nlines = 1;

		for (uint16_t c = 0; c < l->seen; c++) {
			const struct ws_cell *cell =
			        &ws_table_cells(t, r)[l->view->column[c].index];

			if (!l->wraps[c] || cell->type != WS_CELL_TEXT)
				continue;
			size_t n = ws__xlsx_lines(cell->text.ptr, cell->text.len, l->widths[c]);
			nlines = n > nlines ? n : nlines;
		}
		double height = (double)(nlines < READING_LINES ? nlines : READING_LINES) *
		                WS_XLSX_ROW_POINTS;

		if (is_tree) {
			unsigned level = row_level(s, r);
			unsigned next = r + 1 < s->rows ? row_level(s, r + 1) : 0;
			lxw_row_col_options options = {.hidden = level > open,
			                               .level = (uint8_t)level,
			                               .collapsed = level <= open && next > open};

			if (level || next)
				ws__xlsx_try(x, worksheet_set_row_opt(s->sheet, row, height, NULL,
				                                      &options));
			else if (height > WS_XLSX_ROW_POINTS)
				ws__xlsx_try(x, worksheet_set_row(s->sheet, row, height, NULL));
		} else if (height > WS_XLSX_ROW_POINTS)
			ws__xlsx_try(x, worksheet_set_row(s->sheet, row, height, NULL));

		const struct ws_cell *cells = ws_table_cells(t, r);
		char label[WS_VIEW_LABEL];
		struct ws_cell own;
		unsigned depth;

		for (uint16_t c = 0; c < l->n; c++) {
			const struct ws_view_column *column = &l->view->column[c];

			if (column->is_tree) {
				ws_view_label(l->view, cells, label, &depth);
				ws__xlsx_indented(x, s->sheet, row, c, label, depth);
				continue;
			}
			ws__xlsx_cell(x, s->sheet, row, c, ws_view_cell(column, cells, &own, label),
			              &column->shown,
			              l->wraps[c] ? WS_XLSX_CELL_WRAPPED : WS_XLSX_CELL);
		}
	}
	uint32_t below = (uint32_t)(WS_XLSX_ROW_DATA + s->rows);

	/* The first column says that it is the total, where the table does not. */
	for (uint16_t c = 0; t->totals && c < l->n; c++) {
		const struct ws_view_column *column = &l->view->column[c];
		const struct ws_cell *cell = &t->totals[column->index];

		if (!c && cell->type == WS_CELL_EMPTY)
			ws__xlsx_text(x, s->sheet, below, c, "Total",
			              ws__xlsx_cell_format(x, &(struct ws_shown_column){0},
			                                   WS_CELL_TEXT, WS_XLSX_CELL_TOTAL));
		else
			ws__xlsx_cell(x, s->sheet, below, c, cell, &column->shown,
			              WS_XLSX_CELL_TOTAL);
	}
	below += t->totals ? 1 : 0;
	if (s->rows) {
		lxw_row_t first = WS_XLSX_ROW_DATA, last = (lxw_row_t)(first + s->rows - 1);

		for (uint16_t c = 0; c < l->n; c++)
			if (def_of(l, c)->display == WS_DISPLAY_PERCENT)
				ws__xlsx_data_bars(x, s->sheet, first, last, c);
		ws__xlsx_try(x, worksheet_autofilter(s->sheet, first - 1, 0, last,
		                                     (lxw_col_t)(l->n - 1)));

		/* Cells that a reader must not miss: outliers, losses, strong advice, differences
		 * beyond noise. */
		for (uint16_t c = 0; c < s->view.n; c++) {
			const char *title = def_of(l, c)->title;

			if (!strcmp(title, "B / A")) {
				/* Around 1, from half to double. */
				lxw_conditional_format scale = {
				        .type = LXW_CONDITIONAL_3_COLOR_SCALE,
				        .min_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
				        .mid_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
				        .max_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
				        .min_value = 0.5,
				        .mid_value = 1,
				        .max_value = 2,
				        .min_color = COLOUR_FASTER,
				        .mid_color = COLOUR_SAME,
				        .max_color = COLOUR_SLOWER,
				};

				add_format(x, s, c, &scale);
			}
			for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
				if (!strcmp(marks[i].table, t->def->name) &&
				    !strcmp(marks[i].column, title)) {
					lxw_conditional_format format = {
					        .type = marks[i].text ? LXW_CONDITIONAL_TYPE_TEXT
					                              : LXW_CONDITIONAL_TYPE_CELL,
					        .criteria =
					                marks[i].text
					                        ? LXW_CONDITIONAL_CRITERIA_TEXT_CONTAINING
					                        : LXW_CONDITIONAL_CRITERIA_GREATER_THAN,
					        .value = 0,
					        .value_string = (char *)(uintptr_t)marks[i]
					                                .text, /* only read */
					        .format = x->styles[WS_XLSX_WARNING],
					};

					add_format(x, s, c, &format);
				}
		}

		/* The header and the rows under a name that formulas can use: ws_kernel_summary. */
		char name[80], corner[LXW_MAX_CELL_NAME_LENGTH], formula[128];

		snprintf(name, sizeof(name), "ws_%s", t->def->name);
		for (char *p = name; *p; p++)
			if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			      (*p >= '0' && *p <= '9')))
				*p = '_';
		lxw_rowcol_to_cell_abs(corner, (lxw_row_t)(WS_XLSX_ROW_DATA + s->rows - 1),
		                       (lxw_col_t)(l->n - 1), 1, 1);
		snprintf(formula, sizeof(formula), "='%s'!$A$%u:%s", s->name,
		         WS_XLSX_ROW_HEADER + 1u, corner);
		ws__xlsx_try(x, workbook_define_name(x->book, name, formula));
	}
	if (t->not_recorded)
		ws__xlsx_not_recorded(x, s, below++, l->last_paragraph_col, l->paragraph_width);
	else if (!t->nrows)
		ws__xlsx_text(x, s->sheet, below++, 0, "No rows.", x->styles[WS_XLSX_SOURCE]);
	below++;
	if (t->nnotes != t->nheadline_notes || x->big_integers || x->cut_texts ||
	    s->rows != t->nrows || s->view.constants)
		ws__xlsx_text(x, s->sheet, below++, 0, "Notes", x->styles[WS_XLSX_NOTE_HEAD]);
	if (s->rows < t->nrows)
		write_note(x, s, l, &below,
		           ws__xlsx_format(x,
		                           "This sheet has the first %zu of %zu rows. All rows are "
		                           "in the CSV file …-%s.csv beside this workbook.",
		                           s->rows, t->nrows, t->def->name));
	if (x->big_integers)
		write_note(x, s, l, &below,
		           ws__xlsx_format(x,
		                           "Numbers beyond 2^53 are shown as text (%zu of them): a "
		                           "spreadsheet would round them.",
		                           x->big_integers));
	if (x->cut_texts)
		write_note(x, s, l, &below,
		           ws__xlsx_format(x,
		                           "Texts over 32,767 characters, a cell's limit, end in … "
		                           "(%zu of them). CSV and JSON have them whole.",
		                           x->cut_texts));
	if (s->view.constants)
		write_note(x, s, l, &below,
		           ws__xlsx_format(x, "Same in all rows: %s.", s->view.constants));
	for (size_t i = t->nheadline_notes; i < t->nnotes; i++)
		write_note(x, s, l, &below, t->notes[i]);
	s->below = below;
	double chart = ws__xlsx_add_own_charts(x, s, &s->below);
	/* the page on paper */
	uint16_t last = (uint16_t)(l->seen - 1);
	double seen = 0;

	if (last < l->last_paragraph_col)
		last = l->last_paragraph_col;
	/* to the column in which the charts end, which stand at the left edge */
	for (uint16_t c = 0; chart > 0; c++) {
		last = last < c ? c : last;
		if (c < l->seen || c >= l->n)
			chart -= 7 * (c < l->n ? l->widths[c] : 8.43) + 5;
	}
	if (x->report->ntables > 1 &&
	    WS_NAME_IS_ONE_OF(ws_bytes_of(s->table->def->name), not_on_paper)) {
		ws__xlsx_leave_off_paper(x, s->sheet);
		return;
	}
	if (x->report->ntables > 1 && s->rows > PAPER_ROWS)
		ws__xlsx_page_setup(x, s->sheet, WS_XLSX_ROW_DATA + PAPER_ROWS - 1, last,
		                    ws__xlsx_format(x, ": %d of %zu rows", PAPER_ROWS, s->rows));
	else
		ws__xlsx_page_setup(x, s->sheet, s->below, last, "");
	for (uint16_t c = 0; c <= last; c++)
		seen += c < l->n ? (c < l->seen ? l->widths[c] : 0) : 8.43;
	if (seen <= WS_XLSX_PORTRAIT * 0.7)
		worksheet_set_portrait(s->sheet);
	ws__xlsx_try(x, worksheet_repeat_rows(s->sheet, WS_XLSX_ROW_HEADER, WS_XLSX_ROW_HEADER));
}

/* --- the workbook ---------------------------------------------------------------------------- */

/* Seconds since 1970 that a document property can say: until the year 9999. */
#define SECONDS_MAX INT64_C(253402300799)

static enum ws_status check(const struct ws_xlsx *x, struct ws_err *err)
{
	WS_FAIL_IF(x->failed != LXW_NO_ERROR, err, BUG, "cannot make the workbook '%s': %s",
	           x->path, lxw_strerror(x->failed));
	return WS_OK;
}

/* Excel takes 255 characters; the library checks bytes. */
#define PROPERTY_MAX 250

static char *property(struct ws_xlsx *x, const char *text)
{
	const char *clean = ws__xlsx_clean(x, text, strlen(text));
	char *copy = ws_arena_copy(&x->arena, clean, strlen(clean));
	size_t n = PROPERTY_MAX;

	if (strlen(copy) > n) {
		while ((copy[n] & 0xc0) == 0x80) /* not inside a character */
			n--;
		copy[n] = '\0';
	}
	return copy;
}

/* Maximum memory of the library besides cells: to begin, and to compress. */
#define WORKBOOK_BYTES ((size_t)16 << 20)

static enum ws_status write_book(struct ws_xlsx *x, const char *name, struct ws_err *err)
{
	ws_xroom(WORKBOOK_BYTES);
	x->book = workbook_new(name);
	if (!x->book)
		ws_out_of_memory(sizeof(*x->book));
	ws__xlsx_make_styles(x);

	/* properties of the document */
	int64_t seconds = x->report->created_ns / 1000000000;
	lxw_doc_properties p = {0};
	char author[] = "Warpsheet " WS_VERSION;

	/* 0 would mean now, and the same trace shall make the same bytes */
	p.created = seconds < 1 ? 1 : seconds > SECONDS_MAX ? SECONDS_MAX : seconds;
	p.title = property(x, x->report->title);
	p.subject = property(x, x->report->trace);
	p.author = author;
	ws__xlsx_try(x, workbook_set_properties(x->book, &p));
	WS_FORWARD(check(x, err));
	if (x->report->page && x->report->page->is_comparison) {
		snprintf(x->front.name, sizeof(x->front.name), "Summary");
		x->front.sheet = workbook_add_worksheet(x->book, x->front.name);
		WS_FAIL_IF(!x->front.sheet, err, BUG, "cannot add the first sheet");
	}
	for (size_t i = 0; i < x->report->ntables; i++) {
		struct ws_xlsx_sheet *s = &x->sheets[i];

		s->table = x->report->tables[i];
		if ((i || x->front.sheet) && !s->table->nrows)
			continue; /* the first sheet names it */
		/*
		 * A name that libxlsxwriter takes for sure: its own check has memory faults in
		 * 1.1.4, so nothing doubtful must reach it.
		 */
		const char *wanted = x->report->tables[i]->def->sheet;
		size_t len = 0;

		for (const char *c = wanted; *c && len < WS_XLSX_SHEET_NAME_MAX; c++)
			s->name[len++] =
			        isalnum((unsigned char)*c) || strchr("-_ .", *c) ? *c : '_';
		s->name[len] = '\0';
		if (!len)
			len = (size_t)snprintf(s->name, WS_XLSX_SHEET_NAME_MAX + 1, "sheet");
		for (unsigned n = 2;; n++) {
			bool is_taken = !strcasecmp(x->front.name, s->name);

			for (size_t k = 0; k < i; k++)
				is_taken |= !strcasecmp(x->sheets[k].name, s->name);
			if (!is_taken)
				break;

			char number[12];
			size_t digits = (size_t)snprintf(number, sizeof(number), "~%u", n);
			size_t keep = len + digits > WS_XLSX_SHEET_NAME_MAX
			                      ? WS_XLSX_SHEET_NAME_MAX - digits
			                      : len;

			memcpy(s->name + keep, number, digits + 1);
		}
		s->sheet = workbook_add_worksheet(x->book, s->name);
		WS_FAIL_IF(!s->sheet, err, BUG, "cannot add sheet '%s' to the workbook", s->name);
	}

	/* what is on them */
	struct ws_page_columns columns;
	int page = x->report->ntables && ws_display_page(x->report->tables[0]->def, &columns);

	for (size_t i = page ? 1 : 0; i < x->report->ntables; i++) {
		struct ws_xlsx_sheet *s = &x->sheets[i];

		if (!s->sheet)
			continue;
		/* The table on its sheet. */
		const struct ws_table *t = s->table;
		struct layout l = {.view = &s->view};

		WS_FAIL_IF(!t->def->ncolumns || t->def->ncolumns > LXW_COL_MAX / 2, err, BUG,
		           "table %s has %zu columns", t->def->name, t->def->ncolumns);
		s->rows = t->nrows < WS_XLSX_ROWS_MAX ? t->nrows : WS_XLSX_ROWS_MAX;
		ws_view_make(&x->arena, t, s->rows, &s->view);
		l.n = (uint16_t)s->view.n;
		/* a table of nothing but details shows them */
		l.seen = (uint16_t)(s->view.nanswers ? s->view.nanswers : s->view.n);
		x->big_integers = x->cut_texts = 0;
		WS_NEW(&x->arena, l.widths, l.n);
		WS_NEW(&x->arena, l.natural, l.n);
		WS_NEW(&x->arena, l.wraps, l.n);
		measure(t, &l);
		write_sheet(x, s, &l);
		WS_FORWARD(check(x, err));
		if (s->rows < t->nrows) {
			/* report.xlsx has report-NAME.csv beside it, with all rows */
			struct ws_outfile out;
			size_t len = strlen(x->path);

			if (len > 5 && !strcasecmp(x->path + len - 5, ".xlsx"))
				len -= 5;
			const char *path =
			        ws__xlsx_format(x, "%.*s-%s.csv", (int)len, x->path, t->def->name);
			WS_FORWARD(check(x, err));
			WS_FORWARD(ws_outfile_open(&out, path, err));
			ws_out_csv(out.f, t);
			WS_FORWARD(ws_outfile_commit(&out, err));
		}
	}
	if (page)
		ws__xlsx_write_front(x, &x->sheets[0]);
	else if (x->front.sheet)
		ws__xlsx_write_answers(x, &x->front);
	else if (x->report->ntables > 1) {
		/* A first sheet that is a table has links below it. */
		struct ws_xlsx_front f = {.x = x,
		                          .sheet = x->sheets[0].sheet,
		                          .row = x->sheets[0].below + 1};
		const size_t seen = x->sheets[0].view.nanswers;

		ws__xlsx_front_links(&f, 1);
		ws__xlsx_page_setup(x, x->sheets[0].sheet, f.row,
		                    seen > FRONT_LAST ? (uint16_t)(seen - 1) : FRONT_LAST, "");
	}
	if (x->report->ntables) {
		worksheet_activate(ws__xlsx_first(x)->sheet);
		worksheet_set_first_sheet(ws__xlsx_first(x)->sheet);
	}
	WS_FORWARD(check(x, err));
	ws_xroom(WORKBOOK_BYTES);
	errno = 0;
	lxw_error error = workbook_close(x->book);
	x->book = NULL;
	WS_FAIL_IF(error != LXW_NO_ERROR, err, IO_WRITE, "cannot write '%s': %s", x->path,
	           errno ? strerror(errno) : lxw_strerror(error));
	return WS_OK;
}

enum ws_status ws_xlsx_write(const char *path, const struct ws_report *report, struct ws_err *err)
{
	struct ws_xlsx x = {.report = report, .path = path};
	struct ws_outfile out;

	WS_FORWARD(ws_outfile_open(&out, path, err));
	WS_NEW(&x.arena, x.sheets, report->ntables);
	enum ws_status status = write_book(&x, ws_outfile_name(&out), err);
	if (status == WS_OK)
		status = ws_outfile_commit(&out, err);
	else
		ws_outfile_abandon(&out);
	lxw_workbook_free(x.book); /* NULL is legal; only after a failure */
	ws_arena_free(&x.arena);
	free(x.clean);
	return status;
}
