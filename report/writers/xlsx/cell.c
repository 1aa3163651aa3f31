#include "report/writers/xlsx/xlsx.h"
#include <ctype.h>
#include "report/base/elementary.h"

/* Dark blue on white and white on dark blue: contrast above 7:1 both ways. */
#define COLOUR_HEADER    0x1F3864
#define COLOUR_TITLE     0x1F3864
#define COLOUR_FIRST     0x1F5C99
#define COLOUR_QUIET     0x595959
#define COLOUR_LINE      0x8EA9DB
#define COLOUR_BAND      0xDDE6F3
#define COLOUR_BAR       0xBDD0EE
#define COLOUR_WARNING   0x7F3F00
#define COLOUR_WARN_BAND 0xFFF2CC

/* Maximum memory of a call: a text of 32,767 characters, twice, and a row. */
#define CALLS_AT_ONCE 64
#define CALLS_BYTES   ((size_t)16 << 20)

void ws__xlsx_try(struct ws_xlsx *x, lxw_error error)
{
	if (++x->calls % CALLS_AT_ONCE == 0)
		ws_xroom(CALLS_BYTES);
	if (error == LXW_ERROR_MEMORY_MALLOC_FAILED)
		ws_out_of_memory(sizeof(*x->book));
	if (error != LXW_NO_ERROR && x->failed == LXW_NO_ERROR)
		x->failed = error;
}

static lxw_format *new_format(struct ws_xlsx *x)
{
	lxw_format *f = workbook_add_format(x->book);

	if (!f)
		ws_out_of_memory(sizeof(*f));
	return f;
}

/* Differences from plain cells; 0: none. */
static const struct style {
	lxw_color_t colour, band; /* of the text, and of the background */
	bool bold, wrap, underline, is_boxed, has_line_below;
	uint8_t size, horizontal, vertical, indent;
} styles[WS_XLSX_NSTYLES] = {
#define HEADER                                                                        \
	.colour = LXW_COLOR_WHITE, .band = COLOUR_HEADER, .bold = true, .wrap = true, \
	.is_boxed = true, .vertical = LXW_ALIGN_VERTICAL_CENTER
#define PARAGRAPH .wrap = true, .vertical = LXW_ALIGN_VERTICAL_TOP
        [WS_XLSX_TITLE] = {.bold = true, .size = 16, .colour = COLOUR_TITLE},
        [WS_XLSX_WHAT] = {PARAGRAPH, .colour = LXW_COLOR_BLACK},
        [WS_XLSX_SOURCE] = {.colour = COLOUR_QUIET},
        [WS_XLSX_LINK] = {.colour = LXW_COLOR_BLUE, .underline = true},
        [WS_XLSX_HEADER] = {HEADER, .horizontal = LXW_ALIGN_LEFT, .indent = 1},
        /* not right-aligned, because the button of the filter is there */
        [WS_XLSX_HEADER_NUMBER] = {HEADER, .horizontal = LXW_ALIGN_CENTER},
        [WS_XLSX_NOTE] = {PARAGRAPH, .colour = COLOUR_QUIET},
        [WS_XLSX_ANSWER] = {PARAGRAPH, .colour = COLOUR_TITLE, .bold = true},
        [WS_XLSX_NOTE_HEAD] = {.bold = true, .colour = COLOUR_QUIET},
        [WS_XLSX_MISSING] = {PARAGRAPH, .colour = COLOUR_WARNING, .band = COLOUR_WARN_BAND},
        [WS_XLSX_SECTION] = {.bold = true,
                             .colour = COLOUR_TITLE,
                             .band = COLOUR_BAND,
                             .has_line_below = true},
        [WS_XLSX_WARNING] = {.bold = true, .colour = COLOUR_WARNING, .band = COLOUR_WARN_BAND},
        [WS_XLSX_HEADLINE] = {.size = 13},
        [WS_XLSX_HEADLINE_BOLD] = {.size = 13, .bold = true},
        [WS_XLSX_FIRST] = {PARAGRAPH, .size = 13, .bold = true, .colour = COLOUR_FIRST},
        [WS_XLSX_FIGURE] = {.size = 16,
                            .bold = true,
                            .colour = COLOUR_TITLE,
                            .horizontal = LXW_ALIGN_LEFT},
        [WS_XLSX_ADVICE] = {PARAGRAPH, .bold = true},
        [WS_XLSX_EVIDENCE] = {PARAGRAPH, .colour = COLOUR_QUIET, .indent = 2},
        [WS_XLSX_LABEL] = {PARAGRAPH, .horizontal = LXW_ALIGN_LEFT, .indent = 1},
};

void ws__xlsx_make_styles(struct ws_xlsx *x)
{
	for (int i = 0; i < WS_XLSX_NSTYLES; i++) {
		x->styles[i] = new_format(x);
		if (styles[i].bold)
			format_set_bold(x->styles[i]);
		if (styles[i].size)
			format_set_font_size(x->styles[i], styles[i].size);
		if (styles[i].colour)
			format_set_font_color(x->styles[i], styles[i].colour);
		if (styles[i].band)
			format_set_bg_color(x->styles[i], styles[i].band);
		if (styles[i].underline)
			format_set_underline(x->styles[i], LXW_UNDERLINE_SINGLE);
		if (styles[i].wrap)
			format_set_text_wrap(x->styles[i]);
		if (styles[i].horizontal)
			format_set_align(x->styles[i], styles[i].horizontal);
		if (styles[i].vertical)
			format_set_align(x->styles[i], styles[i].vertical);
		if (styles[i].indent)
			format_set_indent(x->styles[i], styles[i].indent);
		if (styles[i].is_boxed) {
			format_set_border(x->styles[i], LXW_BORDER_THIN);
			format_set_border_color(x->styles[i], COLOUR_LINE);
		}
		if (styles[i].has_line_below) {
			format_set_bottom(x->styles[i], LXW_BORDER_THIN);
			format_set_bottom_color(x->styles[i], COLOUR_LINE);
		}
	}
}

/* Number of decimals, as displayed in all formats. */
static int decimals_of(const struct ws_shown_column *shown, enum ws_cell_type type)
{
	if (type == WS_CELL_INT && !shown->exponent)
		return 0;
	return shown->decimals < WS_XLSX_DECIMALS ? shown->decimals : WS_XLSX_DECIMALS;
}

lxw_format *ws__xlsx_cell_format(struct ws_xlsx *x, const struct ws_shown_column *shown,
                                 enum ws_cell_type type, enum ws_xlsx_cell_look look)
{
	lxw_format **slot = &x->cells[shown->display][decimals_of(shown, type)][type][look]
	                             [shown->has_negative || shown->is_mixed];
	lxw_format *f = *slot;

	if (f)
		return f;
	f = *slot = new_format(x);

	/*
	 * Values too small for the last digit are "<0.1", and 0 is exact, as in ws_display_number.
	 * A format has only two conditions, both of which columns with negative numbers need.
	 */
	static const char zeros[] = "000000000000000";
	char format[128];
	int decimals = decimals_of(shown, type);

	if (shown->display == WS_DISPLAY_PLAIN)
		format_set_num_format(f, type == WS_CELL_REAL ? "General" : "0");
	else if (!decimals)
		format_set_num_format(f, type == WS_CELL_INT || shown->has_negative
		                                 ? "#,##0"
		                                 : "[=0]0;[<0.5]\"<1\";#,##0");
	else {
		if (shown->has_negative || shown->is_mixed)
			snprintf(format, sizeof(format), "#,##0.%.*s;-#,##0.%.*s;0", decimals,
			         zeros, decimals, zeros);
		else
			snprintf(format, sizeof(format), "[=0]0;[<0.%.*s5]\"<0.%.*s1\";#,##0.%.*s",
			         decimals, zeros, decimals - 1, zeros, decimals, zeros);
		format_set_num_format(f, format);
	}
	format_set_align(f, LXW_ALIGN_VERTICAL_TOP);
	if (type == WS_CELL_TEXT) {
		/* with distance from a number that ends right before it */
		format_set_align(f, LXW_ALIGN_LEFT);
		format_set_indent(f, 1);
	} else {
		format_set_align(f, LXW_ALIGN_RIGHT);
	}
	if (look == WS_XLSX_CELL_WRAPPED)
		format_set_text_wrap(f);
	if (look == WS_XLSX_CELL_TOTAL) {
		format_set_bold(f);
		format_set_bg_color(f, COLOUR_BAND);
		format_set_top(f, LXW_BORDER_THIN);
		format_set_bottom(f, LXW_BORDER_DOUBLE);
	}
	return f;
}

/* --- texts -------------------------------------------------------------------- */

/* Excel decodes _x0041_ to A; encoding the underscore itself prevents that. */
static bool is_excel_escape(const char *p, size_t left)
{
	if (left < 7 || p[0] != '_' || p[1] != 'x' || p[6] != '_')
		return false;
	for (int i = 2; i < 6; i++)
		if (!isxdigit((unsigned char)p[i]))
			return false;
	return true;
}

const char *ws__xlsx_clean(struct ws_xlsx *x, const char *text, size_t len)
{
	size_t out = 0, chars = 0, keep_out = 0;

	if (len > WS_XLSX_CELL_CHARS_MAX * 4u)
		len = WS_XLSX_CELL_CHARS_MAX * 4u; /* the rest would be cut anyway */
	/* a byte becomes at most six ("\u202e" comes from two, "\x1b" from one) */
	WS_GROW(x->clean, len * 6 + 64, x->clean_capacity);
	for (size_t pos = 0; pos < len;) {
		struct ws_glyph glyph;
		int escape = is_excel_escape(text + pos, len - pos);

		pos += ws_display_glyph(text + pos, len - pos, &glyph);
		if (escape) {
			memcpy(x->clean + out, "_x005F", 6);
			out += 6;
			chars += 6;
		}
		memcpy(x->clean + out, glyph.bytes, glyph.len);
		out += glyph.len;
		/* Excel counts two for a character of four bytes; ASCII may be an escape */
		chars += !(glyph.bytes[0] & 0x80) ? glyph.len : glyph.len == 4 ? 2 : 1;
		if (chars < WS_XLSX_CELL_CHARS_MAX)
			keep_out = out;
		else if (chars > WS_XLSX_CELL_CHARS_MAX || pos < len)
			goto cut;
	}
	x->clean[out] = '\0';
	return x->clean;
cut:
	memcpy(x->clean + keep_out, "\xe2\x80\xa6", 4); /* … */
	x->cut_texts++;
	return x->clean;
}

void ws__xlsx_text(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                   const char *text, lxw_format *format)
{
	/* write_string always writes a string, even for "=1+1" */
	ws__xlsx_try(x, worksheet_write_string(sheet, row, col,
	                                       ws__xlsx_clean(x, text, strlen(text)), format));
}

void ws__xlsx_header(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                     const char *title, enum ws_cell_type type)
{
	ws__xlsx_text(x, sheet, row, col, title,
	              x->styles[type == WS_CELL_TEXT ? WS_XLSX_HEADER : WS_XLSX_HEADER_NUMBER]);
}

void ws__xlsx_words(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                    const struct ws_cell *cell, lxw_format *format)
{
	const struct ws_cell_text text = ws_cell_text(cell);

	ws__xlsx_try(x, worksheet_write_string(sheet, row, col,
	                                       ws__xlsx_clean(x, text.ptr, text.len), format));
}

const char *ws__xlsx_format(struct ws_xlsx *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const char *text = ws_arena_vformat(&x->arena, fmt, ap);
	va_end(ap);
	return text;
}

void ws__xlsx_cell(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                   const struct ws_cell *cell, const struct ws_shown_column *shown,
                   enum ws_xlsx_cell_look look)
{
	struct ws_shown_column own = *shown;
	double unit = ws_power_of_ten(shown->exponent);

	own.decimals = ws_display_decimals(shown, cell);
	lxw_format *format = ws__xlsx_cell_format(x, &own, cell->type, look);

	switch (cell->type) {
	case WS_CELL_EMPTY:
		if (look == WS_XLSX_CELL_TOTAL)
			ws__xlsx_try(x, worksheet_write_blank(sheet, row, col, format));
		break;
	case WS_CELL_TEXT:
		ws__xlsx_words(x, sheet, row, col, cell, format);
		break;
	case WS_CELL_INT:
		/* a sheet's numbers are doubles: exact up to 2^53 */
		if (shown->exponent)
			ws__xlsx_try(x, worksheet_write_number(sheet, row, col,
			                                       (double)cell->i / unit, format));
		else if (cell->i > (int64_t)1 << 53 || cell->i < -((int64_t)1 << 53)) {
			char text[32];

			snprintf(text, sizeof(text), "%lld", (long long)cell->i);
			ws__xlsx_try(x, worksheet_write_string(sheet, row, col, text, format));
			x->big_integers++;
		} else
			ws__xlsx_try(x, worksheet_write_number(sheet, row, col, (double)cell->i,
			                                       format));
		break;
	case WS_CELL_REAL:
		if (isfinite(cell->r))
			ws__xlsx_try(x, worksheet_write_number(sheet, row, col, cell->r / unit,
			                                       format));
		break;
	}
}

void ws__xlsx_indented(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                       const char *text, unsigned depth)
{
	depth = depth < WS_XLSX_INDENTS ? depth : WS_XLSX_INDENTS - 1;
	lxw_format **slot = &x->indented[depth];
	if (!*slot) {
		*slot = new_format(x);
		format_set_align(*slot, LXW_ALIGN_VERTICAL_TOP);
		format_set_align(*slot, LXW_ALIGN_LEFT);
		format_set_indent(*slot, (uint8_t)(depth + 1));
		format_set_text_wrap(*slot);
	}
	ws__xlsx_text(x, sheet, row, col, text, *slot);
}

void ws__xlsx_link(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                   const struct ws_xlsx_sheet *to, const char *text)
{
	char url[WS_XLSX_SHEET_NAME_MAX + 32];

	snprintf(url, sizeof(url), "internal:'%s'!A1", to->name);
	ws__xlsx_try(x, worksheet_write_url_opt(sheet, row, col, url, x->styles[WS_XLSX_LINK], text,
	                                        NULL));
}

size_t ws__xlsx_lines(const char *text, size_t len, double width)
{
	/* widths are in digits, and letters are narrower on average */
	size_t room = width < 4 ? 4 : (size_t)(width * 1.02), lines = 1, used = 0;
	const char *end = text + len;

	while (text < end) {
		const char *blank = memchr(text, ' ', (size_t)(end - text));
		size_t bytes = blank ? (size_t)(blank - text) : (size_t)(end - text);
		size_t w = ws_display_width(text, bytes);

		if (used && used + 1 + w > room) {
			lines++;
			used = 0;
		}
		used += (used ? 1 : 0) + w;
		while (used > room) { /* a word longer than the line is broken */
			lines++;
			used -= room;
		}
		text += bytes + (blank ? 1 : 0);
	}
	return lines;
}

void ws__xlsx_paragraph(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t last,
                        double width, const char *text, enum ws_xlsx_style style)
{
	lxw_format *format = x->styles[style];
	const char *clean = ws__xlsx_clean(x, text, strlen(text));
	size_t lines = ws__xlsx_lines(clean, strlen(clean), width);

	if (lines > 25)
		lines = 25; /* a row is 409 points high at most */
	ws__xlsx_try(x, worksheet_set_row(sheet, row, WS_XLSX_ROW_POINTS * (double)lines, NULL));
	if (last > 0)
		ws__xlsx_try(x, worksheet_merge_range(sheet, row, 0, row, last, clean, format));
	else
		ws__xlsx_try(x, worksheet_write_string(sheet, row, 0, clean, format));
}

void ws__xlsx_data_bars(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t first, uint32_t last,
                        uint16_t col)
{
	lxw_conditional_format bars = {
	        .type = LXW_CONDITIONAL_DATA_BAR,
	        .min_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
	        .min_value = 0,
	        .max_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
	        .max_value = 100, /* a full cell is 100 %, so bars of two sheets are comparable */
	        .data_bar_2010 = LXW_TRUE,
	        .bar_solid = LXW_TRUE,
	        .bar_no_border = LXW_TRUE,
	        .bar_color = COLOUR_BAR,
	};

	ws__xlsx_try(x, worksheet_conditional_format_range(sheet, first, col, last, col, &bars));
}

void ws__xlsx_head(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, const char *title,
                   uint16_t last, double width)
{
	const struct ws_report *r = x->report;

	ws__xlsx_try(x, worksheet_set_row(s->sheet, WS_XLSX_ROW_TITLE, 24, NULL));
	ws__xlsx_text(x, s->sheet, WS_XLSX_ROW_TITLE, 0, title, x->styles[WS_XLSX_TITLE]);
	ws__xlsx_paragraph(x, s->sheet, WS_XLSX_ROW_WHAT, last, width, s->table->def->meaning,
	                   WS_XLSX_WHAT);
	if (s != ws__xlsx_first(x))
		ws__xlsx_link(x, s->sheet, WS_XLSX_ROW_LINK, 0, ws__xlsx_first(x),
		              "← back to the first sheet");
	if (s->table->nheadline_notes) {
		/* The answers of the table, at the top. */
		const char *text = "";

		for (size_t i = 0; i < s->table->nheadline_notes; i++)
			text = ws__xlsx_format(x, "%s%s%s", text, i ? " " : "", s->table->notes[i]);
		ws__xlsx_paragraph(x, s->sheet, WS_XLSX_ROW_SOURCE, last, width, text,
		                   WS_XLSX_ANSWER);
		return;
	}
	ws__xlsx_paragraph(x, s->sheet, WS_XLSX_ROW_SOURCE, last, width,
	                   ws__xlsx_format(x, "Trace: %s%s%s%s%s", r->trace,
	                                   r->scope ? " · Scope: " : "", r->scope ? r->scope : "",
	                                   *r->filter ? " · Filter: " : "", r->filter),
	                   WS_XLSX_NOTE);
}

void ws__xlsx_not_recorded(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row,
                           uint16_t last, double width)
{
	ws__xlsx_paragraph(x, s->sheet, row, last, width,
	                   ws__xlsx_format(x, "Not recorded: %s", s->table->not_recorded),
	                   WS_XLSX_MISSING);
}

void ws__xlsx_page_setup(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t last_row,
                         uint16_t last_col, const char *what_is_printed)
{
	enum { PAPER_A4 = 9 };

	worksheet_set_landscape(sheet);
	ws__xlsx_try(x, worksheet_print_area(sheet, 0, 0, last_row, last_col));
	worksheet_set_paper(sheet, PAPER_A4);
	worksheet_fit_to_pages(sheet, 1, 0); /* as many pages high as needed */
	worksheet_set_margins(sheet, 0.4, 0.4, 0.5, 0.6);
	ws__xlsx_try(x, worksheet_set_footer(sheet, ws__xlsx_format(x, "&L&F&C&A%s&Rpage &P of &N",
	                                                            what_is_printed)));
}

void ws__xlsx_leave_off_paper(struct ws_xlsx *x, lxw_worksheet *sheet)
{
	lxw_row_col_options hidden = {.hidden = LXW_TRUE};
	const lxw_col_t far = LXW_COL_MAX - 1;

	ws__xlsx_try(x, worksheet_set_column_opt(sheet, far, far, 1, NULL, &hidden));
	ws__xlsx_try(x, worksheet_print_area(sheet, 0, far, 0, far));
}

lxw_chart *ws__xlsx_chart(struct ws_xlsx *x, uint8_t type)
{
	lxw_chart *chart = workbook_add_chart(x->book, type);

	if (!chart)
		ws_out_of_memory(sizeof(*chart));
	return chart;
}

lxw_chart_series *ws__xlsx_series(lxw_chart *chart)
{
	lxw_chart_series *series = chart_add_series(chart, NULL, NULL);

	if (!series)
		ws_out_of_memory(sizeof(*series));
	return series;
}

int ws__xlsx_column(const struct ws_xlsx_sheet *s, int column)
{
	for (size_t i = 0; i < s->view.n && column >= 0; i++)
		if (s->view.column[i].index == (size_t)column)
			return (int)i;
	return -1;
}

const struct ws_xlsx_sheet *ws__xlsx_find_sheet(const struct ws_xlsx *x, const char *table)
{
	for (size_t i = 0; i < x->report->ntables; i++)
		if (!strcmp(x->report->tables[i]->def->name, table))
			return x->sheets[i].sheet ? &x->sheets[i] : NULL;
	return NULL;
}

lxw_color_t ws__xlsx_class_colour(const struct ws_cell *class)
{
	const struct ws_cell_text name = ws_cell_text(class);

	return ws_page_colour_def(ws_page_class_colour(name.ptr, name.len)).light;
}

void ws__xlsx_place_chart(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, lxw_chart *chart,
                          double pixels, unsigned rows, const char *alt_text)
{
	lxw_chart_options options = {
	        .description = (char *)(uintptr_t)alt_text, /* only read */
	        .x_scale = pixels / 480.0,
	        .y_scale = rows * WS_XLSX_ROW_PIXELS / 288.0,
	        .object_position = LXW_OBJECT_MOVE_DONT_SIZE,
	};

	ws__xlsx_try(x, worksheet_insert_chart_opt(sheet, row, 0, chart, &options));
}
