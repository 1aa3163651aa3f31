/*
 * Private declarations of the workbook writer, the only code that includes libxlsxwriter. Everybody
 * else calls ws_out_xlsx() (report/table/table.h).
 *
 * libxlsxwriter 1.1.4 does not check its input: NaN, invalid UTF-8 and over-long texts make a file
 * that Excel reports as damaged, and some calls fail silently. So every cell goes through the
 * ws__xlsx_* functions below, which clean their input and remember the first failure.
 */
#pragma once

#include <xlsxwriter.h>

#include "report/page/page.h"
#include "report/table/table.h"

#define WS_XLSX_SHEET_NAME_MAX 31
#define WS_XLSX_CELL_CHARS_MAX 32767
#define WS_XLSX_ROW_POINTS     15.0 /* height of a row that nobody set */
#define WS_XLSX_PAGE_PIXELS    910  /* of the first sheet: columns A to G */
#define WS_XLSX_ROW_PIXELS     20   /* the same */

/* Rows of a sheet of a table. */
enum {
	WS_XLSX_ROW_TITLE,
	WS_XLSX_ROW_WHAT,
	WS_XLSX_ROW_SOURCE, /* the answer, else trace and filter */
	WS_XLSX_ROW_LINK,   /* back to the first sheet */
	WS_XLSX_ROW_HEADER,
	WS_XLSX_ROW_DATA,
};

enum ws_xlsx_style {
	WS_XLSX_TITLE,
	WS_XLSX_WHAT,
	WS_XLSX_SOURCE,
	WS_XLSX_LINK,
	WS_XLSX_HEADER,
	WS_XLSX_HEADER_NUMBER,
	WS_XLSX_NOTE,
	WS_XLSX_NOTE_HEAD,
	WS_XLSX_ANSWER,
	WS_XLSX_MISSING,  /* "Not recorded: …" */
	WS_XLSX_SECTION,  /* summary: heading of a block */
	WS_XLSX_LABEL,    /* summary: name of a line */
	WS_XLSX_HEADLINE, /* of the first screen */
	WS_XLSX_HEADLINE_BOLD,
	WS_XLSX_FIRST,
	WS_XLSX_FIGURE,
	WS_XLSX_ADVICE,
	WS_XLSX_EVIDENCE,
	WS_XLSX_WARNING, /* a cell that must not be missed */
	WS_XLSX_NSTYLES,
};

#define WS_XLSX_DECIMALS 15
#define WS_XLSX_INDENTS  16

enum ws_xlsx_cell_look { WS_XLSX_CELL, WS_XLSX_CELL_WRAPPED, WS_XLSX_CELL_TOTAL, WS_XLSX_NLOOKS };

/* The sheet of a table. */
struct ws_xlsx_sheet {
	const struct ws_table *table;
	lxw_worksheet *sheet; /* NULL: left out */
	char name[WS_XLSX_SHEET_NAME_MAX + 1];
	struct ws_view view; /* its columns, from A on */
	size_t rows;         /* rows written, from WS_XLSX_ROW_DATA */
	uint32_t below;      /* first row below everything */
	uint16_t nconverted; /* data columns of charts beside the table */
};

/* The column of the sheet that shows a column of the table; -1: none. */
int ws__xlsx_column(const struct ws_xlsx_sheet *s, int column);

struct ws_xlsx {
	const struct ws_report *report;
	const char *path; /* of the finished workbook */
	lxw_workbook *book;
	struct ws_xlsx_sheet *sheets; /* report->ntables of them */
	struct ws_xlsx_sheet front;   /* first sheet of a report with answers; has no table */
	lxw_format *styles[WS_XLSX_NSTYLES];
	/* made on first use: [display][decimals, 0 = integer][cell type][look][negative] */
	lxw_format *cells[WS_DISPLAY_FLOPS + 1][WS_XLSX_DECIMALS + 1][WS_CELL_REAL + 1]
	                 [WS_XLSX_NLOOKS][2];
	lxw_format *indented[WS_XLSX_INDENTS]; /* names in a tree */
	char *clean;                           /* the last cleaned text */
	size_t clean_capacity;
	lxw_error failed;      /* the first failure of the library */
	unsigned calls;        /* calls of the library since the last check of memory */
	struct ws_arena arena; /* texts */
	size_t big_integers;   /* integers written as text on the current sheet */
	size_t cut_texts;      /* texts cut on the current sheet */
};

/* The sheet that opens first. */
static inline const struct ws_xlsx_sheet *ws__xlsx_first(const struct ws_xlsx *x)
{
	return x->front.sheet ? &x->front : x->sheets;
}

/*
 * Remembers a failure of the library, and makes sure that there is memory for its next calls. The
 * library does not check allocations: without memory it crashes, or leaves cells out, and it has no
 * hooks for an allocator.
 */
void ws__xlsx_try(struct ws_xlsx *x, lxw_error error);

/* The title of a column. */
void ws__xlsx_header(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                     const char *title, enum ws_cell_type type);

/* Formats. */
void ws__xlsx_make_styles(struct ws_xlsx *x);
lxw_format *ws__xlsx_cell_format(struct ws_xlsx *x, const struct ws_shown_column *shown,
                                 enum ws_cell_type type, enum ws_xlsx_cell_look look);

/*
 * Text for a sheet: valid UTF-8, control characters as \n, \t, \x1b, at most 32,767 characters (cut
 * ends in "…"), nothing that Excel decodes (_x0041_). Borrowed until the next call.
 */
const char *ws__xlsx_clean(struct ws_xlsx *x, const char *text, size_t len);

/* Number of lines of the text wrapped in a column of this width. */
size_t ws__xlsx_lines(const char *text, size_t len, double width);
void ws__xlsx_text(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                   const char *text, lxw_format *format);

/* Writes the text of a cell; "" for a cell without text. */
void ws__xlsx_words(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                    const struct ws_cell *cell, lxw_format *format);

/* A text in the arena. */
const char *ws__xlsx_format(struct ws_xlsx *x, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* Writes a cell of a table in the unit of its column; EMPTY stays blank, and an integer over 2^53
 * without a unit becomes text. */
void ws__xlsx_cell(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                   const struct ws_cell *cell, const struct ws_shown_column *shown,
                   enum ws_xlsx_cell_look look);

/* A link to a table. */
void ws__xlsx_link(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                   const struct ws_xlsx_sheet *to, const char *text);

/* Text across columns 0 to last, wrapped, in a row as high as it needs. */
void ws__xlsx_paragraph(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t last,
                        double width, const char *text, enum ws_xlsx_style style);

/*
 * Writes title, meaning of a row, trace and filter, and on all sheets except the first a link to
 * it; texts extend to column `last`, `width` characters wide.
 */
void ws__xlsx_head(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, const char *title,
                   uint16_t last, double width);

/* Bars behind the percentages of a column, 0 to 100. */
void ws__xlsx_data_bars(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t first, uint32_t last,
                        uint16_t col);

/* Writes why the table is empty, in a visible row. */
void ws__xlsx_not_recorded(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row,
                           uint16_t last, double width);

/* Writes a name in a tree at this depth. */
void ws__xlsx_indented(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                       const char *text, unsigned depth);

/* Prints columns up to last_col and rows up to last_row, one page wide, in landscape. The last text
 * follows the sheet's name in the footer: ": 30 of 213 rows". */
void ws__xlsx_page_setup(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t last_row,
                         uint16_t last_col, const char *what_is_printed);
/* Excludes a sheet from printing: its print area is a cell in a hidden column. */
void ws__xlsx_leave_off_paper(struct ws_xlsx *x, lxw_worksheet *sheet);

/* Writes the first sheet of a report with a first screen, followed by the lines of its table. */
void ws__xlsx_write_front(struct ws_xlsx *x, struct ws_xlsx_sheet *s);

/* The same for a report with answers, on its own sheet before all tables. */
void ws__xlsx_write_answers(struct ws_xlsx *x, struct ws_xlsx_sheet *s);

/* A chart of a type of the library, on no sheet yet; a series of it, of no cells yet. */
lxw_chart *ws__xlsx_chart(struct ws_xlsx *x, uint8_t type);
lxw_chart_series *ws__xlsx_series(lxw_chart *chart);

/* Places a chart at the left edge of a sheet, with this width and number of rows. */
void ws__xlsx_place_chart(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, lxw_chart *chart,
                          double pixels, unsigned rows, const char *alt_text);

/* The colour of a class of kernels, by the cell with its name; the same in every picture. */
lxw_color_t ws__xlsx_class_colour(const struct ws_cell *class);

/* Adds the step's time as a stacked bar at a row, with its cells beside the page. Returns the row
 * below. */
uint32_t ws__xlsx_add_bar(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row);
/* The same with a bar for each measured step; nothing for fewer than two. */
uint32_t ws__xlsx_add_steps(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row);

/* A bar for each row of the page: configurations, runs, ranks; a chart for each group. */
uint32_t ws__xlsx_add_rows(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row);

/*
 * Puts the charts of this report on its first sheet from row on, for tables that exist and have
 * rows. Returns the row below the last chart. Call after all cells are written.
 */
uint32_t ws__xlsx_add_charts(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row);

/* Adds the charts on the sheet of their table, below *row, and moves *row below them. Returns the
 * width in pixels that they take from the left. */
double ws__xlsx_add_own_charts(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t *row);

/* The same for the roofline: rates of the largest operations over FLOP/byte, with both peaks of the
 * device.
 */
double ws__xlsx_add_roofline(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t *row);

/* The sheet of a table; NULL if the report or the workbook lacks it. */
const struct ws_xlsx_sheet *ws__xlsx_find_sheet(const struct ws_xlsx *x, const char *table);

/* Parts of first sheets. */

#define FRONT_COLUMNS 7 /* A to G: a page of paper */
#define FRONT_LAST    (FRONT_COLUMNS - 1)
#define FRONT_DATA    (FRONT_COLUMNS + 2) /* cells of the pictures, beside the page */

struct ws_xlsx_front {
	struct ws_xlsx *x;
	lxw_worksheet *sheet;
	const struct ws_table *t; /* the table `summary`; NULL: there is none */
	uint32_t row;
};

/* Adds links to the sheets of the report's tables, beginning with this one. */
void ws__xlsx_front_links(struct ws_xlsx_front *f, size_t first_table);

/* An icicle: of one side of a comparison, coloured by change, or of a page, coloured by class. */
struct ws_xlsx_icicle {
	const struct ws_page *page, *other_page; /* other: NULL if not a comparison */
	bool is_b;
	double scale; /* its part of the width */
	const char *title;
	bool is_unsure;
};

/* Adds it at the row; returns the row below. */
uint32_t ws__xlsx_add_icicle(struct ws_xlsx *x, lxw_worksheet *sheet, const char *sheet_name,
                             const struct ws_xlsx_icicle *icicle, uint32_t row);
