/* What first sheets are made of. */
#pragma once

#include "report/writers/xlsx/xlsx.h"

#define FRONT_COLUMNS 7 /* A to G: a page of paper */
#define FRONT_LAST    (FRONT_COLUMNS - 1)
#define FRONT_DATA    (FRONT_COLUMNS + 2) /* cells of the pictures, beside the page */

struct ws_xlsx_front {
	struct ws_xlsx *x;
	lxw_worksheet *sheet;
	const struct ws_table *t; /* the table `summary`; NULL: there is none */
	uint32_t row;
};

/* Links to the sheets of the report's tables from this one on. */
void ws__xlsx_front_links(struct ws_xlsx_front *f, size_t first_table);

/* An icicle: of one side of a comparison, painted by what changed, or of a page, by class. */
struct ws_xlsx_icicle {
	const struct ws_page *page, *other_page; /* other: NULL, it is no comparison */
	bool is_b;
	double scale; /* its part of the width */
	const char *title;
	bool is_unsure;
};

/* At the row; returns the row below. */
uint32_t ws__xlsx_add_icicle(struct ws_xlsx *x, lxw_worksheet *sheet, const char *sheet_name,
                             const struct ws_xlsx_icicle *icicle, uint32_t row);
