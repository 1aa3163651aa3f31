/*
 * Numbers as people read them: one unit a column, thousands separators,
 * ties rounded half away from zero. Used by the text and Markdown writers;
 * data formats give the plain value.
 */
#ifndef WS_REPORT_DISPLAY_H
#define WS_REPORT_DISPLAY_H

#include "report/table.h"

#define WS_DISPLAY_NUMBER_MAX 64

/* How a column is shown. Made once a column, from the greatest value in it. */
struct ws_shown_column {
	char title[128]; /* the header with the unit that is shown: "Total Time (ms)" */
	enum ws_display display;
	int exponent; /* shown value = value / 10^exponent */
	int decimals;
};

void ws_display_column(const struct ws_table *t, size_t column, struct ws_shown_column *out);

/*
 * The cell as shown: "" for EMPTY. Only for INT and REAL cells; returns the
 * length, always less than WS_DISPLAY_NUMBER_MAX.
 */
size_t ws_display_number(const struct ws_shown_column *shown, const struct ws_cell *cell,
                         char out[WS_DISPLAY_NUMBER_MAX]);

#endif
