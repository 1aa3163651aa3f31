/* Which charts there are. */
#pragma once

#include "report/writers/xlsx/xlsx.h"

#define WS_XLSX_SERIES_MAX 8 /* colours that can be told apart */

/*
 * What a chart shows: the first rows of a table, of those whose cell in one column has a text.
 */
struct ws_xlsx_chart {
	const char *table;                     /* name of the table */
	const char *where_column, *where_text; /* title and text; NULL = all rows */
	const char *same_column; /* title; rows up to where its text changes; NULL = all */
	const char *title;
	const char *alt_text;                   /* for those who do not see it */
	const char *category;                   /* title of the column that names the bars */
	const char *values[WS_XLSX_SERIES_MAX + 1]; /* titles of columns, NULL behind the last */
	const char *names_axis, *values_axis;
	const char *names_format;    /* where the category is a number */
	uint32_t max_rows, min_rows; /* of fewer there is nothing to compare */
	unsigned height;             /* in rows of the sheet it lies on */
	uint8_t type;
};

extern const struct ws_xlsx_chart ws__xlsx_charts[];
extern const size_t ws__xlsx_ncharts;
