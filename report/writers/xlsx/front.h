/* What first sheets are made of. */
#pragma once

#include "report/writers/xlsx/xlsx.h"

#define FRONT_NAME    46.0 /* width of column A */
#define FRONT_OTHERS  12.5
#define FRONT_COLUMNS 7 /* A to G: a page of paper */
#define FRONT_LAST    (FRONT_COLUMNS - 1)
#define FRONT_DATA    (FRONT_COLUMNS + 2) /* cells of the pictures, beside the page */
#define FRONT_WIDTH   (FRONT_NAME + FRONT_LAST * FRONT_OTHERS)

struct ws_xlsx_front {
	struct ws_xlsx *x;
	lxw_worksheet *sheet;
	const struct ws_table *t; /* the table `summary`; NULL: there is none */
	uint32_t row;
};

/* The widths of the columns, the title and the grey line; "": there is none. */
void ws__xlsx_front_begin(struct ws_xlsx_front *f, const char *title, const char *source);
/* The page, when all is written. */
void ws__xlsx_front_end(struct ws_xlsx_front *f);
void ws__xlsx_front_section(struct ws_xlsx_front *f, const char *title);
/* The sentences, with what counts in bold, and what they rest on. */
void ws__xlsx_front_headline(struct ws_xlsx_front *f, const struct ws_page *page);
/* Links to the sheets of the report's tables from this one on. */
void ws__xlsx_front_links(struct ws_xlsx_front *f, size_t first_table);
/* Cells of a table whose first column may be a tree; bars behind its shares. Frees it. */
void ws__xlsx_front_table(struct ws_xlsx_front *f, struct ws_table *t);
/* An icicle: of one side of a comparison, painted by what changed, or of a page, by class. */
struct ws_xlsx_icicle {
	const struct ws_page *page, *other_page; /* other: NULL, it is no comparison */
	bool is_b;
	double scale; /* its part of the width */
	const char *title;
};
/* At the row; returns the row below. */
uint32_t ws__xlsx_add_icicle(struct ws_xlsx *x, lxw_worksheet *sheet, const char *sheet_name,
                             const struct ws_xlsx_icicle *icicle, uint32_t row);
