/*
 * Numbers and texts as people read them. Numbers: one unit a column,
 * thousands separators, ties rounded half away from zero; for the text and
 * Markdown writers. Texts: nothing that a terminal, an editor or a sheet would
 * act on; for the workbook too. Data formats give the plain value.
 */
#pragma once

#include <stdbool.h>

#include "report/table/table.h"

#define WS_DISPLAY_NUMBER_MAX 64

/*
 * How a column is shown: in one unit, of which its median cell has 1 to 999, and with so many
 * decimals that this has three digits. What is too small for them is "<0.1", never 0.
 */
struct ws_shown_column {
	char title[128];  /* the header with the unit that is shown: "Total Time (ms)" */
	const char *unit; /* "ms", "%", "" */
	enum ws_display display;
	int exponent; /* shown value = value / 10^exponent */
	int decimals;
	bool has_negative;
	bool is_mixed; /* rows have units of their own: each number has three digits */
};

#define WS_DISPLAY_TITLE 256
/* The words A and B of a title become the names of the table's sides. */
void ws_display_sides(const struct ws_table *t, char *title, size_t size);
/* The title of a table with them; returns out. */
const char *ws_display_title(const struct ws_table *t, char out[WS_DISPLAY_TITLE]);
void ws_display_column(const struct ws_table *t, size_t column, struct ws_shown_column *out);
/* The same where the first rows alone are shown. */
void ws_display_column_of(const struct ws_table *t, size_t column, size_t rows,
                          struct ws_shown_column *out);

/* Decimals of a number in this column. */
int ws_display_decimals(const struct ws_shown_column *shown, const struct ws_cell *cell);
/*
 * The cell as shown: "" for EMPTY. Only for INT and REAL cells; returns the
 * length, always less than WS_DISPLAY_NUMBER_MAX.
 */
size_t ws_display_number(const struct ws_shown_column *shown, const struct ws_cell *cell,
                         char out[WS_DISPLAY_NUMBER_MAX]);

/*
 * A table whose rows are the lines of a page instead of records: columns
 * section, item, text, and numbers of which most are empty. False when the
 * table is no such page.
 */
struct ws_page_columns {
	size_t section, item, text;
};
bool ws_display_page(const struct ws_table_def *def, struct ws_page_columns *out);
/* The row behind the last line of the section that begins at row `begin`. */
size_t ws_display_section_end(const struct ws_table *t, const struct ws_page_columns *columns,
                              size_t begin);
/* How the numbers of a column are shown in rows [begin, end): a section of a page, or part of it.
 */
void ws_display_section_column(const struct ws_table *t, size_t column, size_t begin, size_t end,
                               struct ws_shown_column *out);
/* A number with its unit: "18.2 ms", "17.3 %", "412". "" for EMPTY and TEXT. */
size_t ws_display_quantity(const struct ws_table *t, const struct ws_shown_column *shown,
                           size_t row, size_t column, char out[WS_DISPLAY_NUMBER_MAX]);

/* One character as shown. */
struct ws_glyph {
	char bytes[12];
	uint8_t len;   /* of bytes */
	uint8_t width; /* columns of a terminal: 0, 1 or 2; more for an escape */
};
/*
 * The first character of text[0..len), len > 0: as it is, or an escape where
 * it would do harm (\n, \t, \x1b, \u202e), or U+FFFD for a byte that is no
 * UTF-8. Returns the bytes taken, at least 1.
 */
size_t ws_display_glyph(const char *text, size_t len, struct ws_glyph *out);
/* All characters of a text. */
void ws_display_put(FILE *f, const char *text, size_t len);
/* The same of a name that came from outside, as those of files do. */
void ws_display_name(FILE *f, const char *name);
/* Columns that the text takes. */
size_t ws_display_width(const char *text, size_t len);
/* Columns that a cell takes as it is shown. */
size_t ws_display_cell_width(const struct ws_shown_column *shown, const struct ws_cell *cell);
