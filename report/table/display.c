#include "report/table/display.h"

#include <inttypes.h>
#include <math.h>

#include "formats/base/utf8.h"

struct unit {
	double below; /* used when the greatest value of the column is below this */
	const char *name;
	int exponent, decimals;
};

/* Three decimals keep a thousandth of the unit, so a column loses nothing that matters. */
static const struct unit time_units[] = {
        {1e7, "us", 3, 3},
        {1e12, "ms", 6, 3},
        {INFINITY, "s", 9, 3},
};
static const struct unit byte_units[] = {
        {1e4, "bytes", 0, 0}, {1e7, "kB", 3, 3},       {1e10, "MB", 6, 3},
        {1e13, "GB", 9, 3},   {INFINITY, "TB", 12, 3},
};
static const struct unit flop_units[] = {
        {1e4, "", 0, 0},   {1e7, "k", 3, 3},   {1e10, "M", 6, 3},
        {1e13, "G", 9, 3}, {1e16, "T", 12, 3}, {INFINITY, "P", 15, 3},
};

double ws_display_greatest(const struct ws_table *t, size_t column, size_t begin, size_t end)
{
	double max = 0;

	for (size_t row = begin; row < end; row++)
		max = fmax(max, ws_cell_magnitude(&ws_table_cells(t, row)[column]));
	return max;
}

/* The greatest of a column, its total included. */
static double greatest_of(const struct ws_table *t, size_t column)
{
	const double *greatest = ws_table_greatest(t);
	double max = greatest ? greatest[column] : 0;

	return t->totals ? fmax(max, ws_cell_magnitude(&t->totals[column])) : max;
}

/* Of all columns that are shown alike: two of them compare only in one unit. */
static double greatest_alike(const struct ws_table *t, enum ws_display display)
{
	double max = 0;

	for (size_t c = 0; c < t->def->ncolumns; c++) {
		if (t->def->columns[c].display == display)
			max = fmax(max, greatest_of(t, c));
	}
	return max;
}

/* "Total Time (ns)" and "ms" make "Total Time (ms)"; a title without its unit gets one. */
static void title_with_unit(const struct ws_table_column *column, const char *unit, char *out,
                            size_t size)
{
	size_t len = strlen(column->title), ulen = strlen(column->unit);

	if (ulen && len > ulen + 2 && column->title[len - 1] == ')' &&
	    column->title[len - ulen - 2] == '(' &&
	    !strncmp(column->title + len - ulen - 1, column->unit, ulen))
		len -= ulen + 3;
	if (*unit)
		snprintf(out, size, "%.*s (%s)", (int)len, column->title, unit);
	else
		snprintf(out, size, "%.*s", (int)len, column->title);
}

static const struct unit *units_of(enum ws_display display)
{
	switch (display) {
	case WS_DISPLAY_TIME_NS:
		return time_units;
	case WS_DISPLAY_BYTES:
		return byte_units;
	case WS_DISPLAY_FLOPS:
		return flop_units;
	default:
		return NULL;
	}
}

/* The decimals and the scale; returns the unit where the display has units, else NULL. */
static const struct unit *choose_scale(struct ws_shown_column *out, int real, double max)
{
	const struct unit *unit = units_of(out->display);

	if (unit) {
		while (max >= unit->below)
			unit++;
		out->exponent = unit->exponent;
		out->decimals = unit->decimals;
		return unit;
	}
	switch (out->display) {
	case WS_DISPLAY_PERCENT:
	case WS_DISPLAY_RATIO:
		out->decimals = 2;
		break;
	case WS_DISPLAY_REAL:
		out->decimals = max < 1e4 ? 4 : 1;
		break;
	default:
		out->decimals = real;
	}
	return NULL;
}

void ws_display_sides(const struct ws_table *t, char *title, size_t size)
{
	char before[256];
	size_t n = 0;

	if (!t->side[0] || !t->side[1])
		return;
	snprintf(before, sizeof(before), "%s", title);
	for (const char *p = before; *p && n + 1 < size; p++) {
		int word = (*p == 'A' || *p == 'B') && (p == before || p[-1] == ' ') &&
		           (p[1] == ' ' || p[1] == ':' || p[1] == ',' || !p[1]);

		if (word)
			n += (size_t)snprintf(title + n, size - n, "%s", t->side[*p - 'A']);
		else
			title[n++] = *p;
	}
	title[n < size ? n : size - 1] = '\0';
}

const char *ws_display_title(const struct ws_table *t, char out[WS_DISPLAY_TITLE])
{
	snprintf(out, WS_DISPLAY_TITLE, "%s", t->def->title);
	ws_display_sides(t, out, WS_DISPLAY_TITLE);
	return out;
}

void ws_display_column(const struct ws_table *t, size_t column, struct ws_shown_column *out)
{
	const struct ws_table_column *def = &t->def->columns[column];
	const struct unit *unit;
	double own = greatest_of(t, column);

	memset(out, 0, sizeof(*out));
	out->display = def->display;
	unit = units_of(def->display);
	unit = choose_scale(out, def->type == WS_CELL_REAL,
	                    unit ? greatest_alike(t, def->display) : own);
	/* a column of small numbers keeps as many digits in the unit of the others */
	for (int e = out->exponent; unit && e >= 6 && own > 0 && own < pow(10, e); e -= 3)
		out->decimals += 3;
	if (unit)
		title_with_unit(def, unit->name, out->title, sizeof(out->title));
	else
		snprintf(out->title, sizeof(out->title), "%s", def->title);
	ws_display_sides(t, out->title, sizeof(out->title));
}

static uint64_t power_of_ten(int n)
{
	uint64_t p = 1;

	while (n-- > 0)
		p *= 10;
	return p;
}

/* digits is the value times 10^decimals */
static size_t print_digits(char *out, int negative, uint64_t digits, int decimals)
{
	char plain[24];
	size_t n = (size_t)snprintf(plain, sizeof(plain), "%0*" PRIu64, decimals + 1, digits);
	size_t whole = n - (size_t)decimals, len = 0;

	if (negative && digits)
		out[len++] = '-';
	for (size_t i = 0; i < whole; i++) {
		if (i && (whole - i) % 3 == 0)
			out[len++] = ',';
		out[len++] = plain[i];
	}
	if (decimals) {
		out[len++] = '.';
		memcpy(out + len, plain + whole, (size_t)decimals);
		len += (size_t)decimals;
	}
	out[len] = '\0';
	return len;
}

static size_t print_int(const struct ws_shown_column *shown, int64_t value, char *out)
{
	uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
	int drop = shown->exponent - shown->decimals;
	uint64_t divisor = power_of_ten(drop > 0 ? drop : 0);
	uint64_t digits = magnitude / divisor;

	/* half away from zero, without overflow in magnitude + divisor / 2 */
	if (divisor > 1 && magnitude % divisor >= divisor / 2)
		digits++;
	return print_digits(out, value < 0, digits, drop < 0 ? 0 : shown->decimals);
}

static size_t print_real(const struct ws_shown_column *shown, double value, char *out)
{
	int shift = shown->decimals - shown->exponent;
	double digits = fabs(value);

	digits = shift >= 0 ? digits * (double)power_of_ten(shift)
	                    : digits / (double)power_of_ten(-shift);
	digits = round(digits); /* half away from zero */
	/* beyond 2^53 the digits after the point mean nothing any more */
	if (digits >= 9007199254740992.0)
		return (size_t)snprintf(out, WS_DISPLAY_NUMBER_MAX, "%.6e", value);
	return print_digits(out, value < 0, (uint64_t)digits, shown->decimals);
}

size_t ws_display_number(const struct ws_shown_column *shown, const struct ws_cell *cell,
                         char out[WS_DISPLAY_NUMBER_MAX])
{
	out[0] = '\0';
	if (cell->type == WS_CELL_INT) {
		if (shown->display == WS_DISPLAY_PLAIN)
			return (size_t)snprintf(out, WS_DISPLAY_NUMBER_MAX, "%" PRId64, cell->i);
		return print_int(shown, cell->i, out);
	}
	if (cell->type == WS_CELL_REAL) {
		if (shown->display == WS_DISPLAY_PLAIN)
			return (size_t)snprintf(out, WS_DISPLAY_NUMBER_MAX, "%.10g", cell->r);
		return print_real(shown, cell->r, out);
	}
	return 0;
}

/* --- pages -------------------------------------------------------------------- */

bool ws_display_page(const struct ws_table_def *def, struct ws_page_columns *out)
{
	int section = ws_table_column_index(def, "section");
	int item = ws_table_column_index(def, "item");
	int text = ws_table_column_index(def, "text");

	if (section < 0 || item < 0 || text < 0)
		return false;
	out->section = (size_t)section;
	out->item = (size_t)item;
	out->text = (size_t)text;
	return true;
}

size_t ws_display_section_end(const struct ws_table *t, const struct ws_page_columns *columns,
                              size_t begin)
{
	const struct ws_cell section = ws_table_cells(t, begin)[columns->section];
	size_t end = begin + 1;

	while (end < t->nrows && ws_cell_same(&section, &ws_table_cells(t, end)[columns->section]))
		end++;
	return end;
}

size_t ws_display_quantity(const struct ws_table *t, double greatest, size_t row, size_t column,
                           char out[WS_DISPLAY_NUMBER_MAX])
{
	const struct ws_table_column *def = &t->def->columns[column];
	const struct ws_cell *cell = &ws_table_cells(t, row)[column];
	struct ws_shown_column shown = {.display = def->display};
	const struct unit *scale = choose_scale(&shown, cell->type == WS_CELL_REAL, greatest);
	const char *unit = scale ? scale->name : def->unit;
	size_t len = ws_display_number(&shown, cell, out);

	if (len && *unit && strlen(unit) < 16)
		len += (size_t)snprintf(out + len, WS_DISPLAY_NUMBER_MAX - len, " %s", unit);
	return len;
}

/* --- texts -------------------------------------------------------------------- */

struct code_range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t code, const struct code_range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* Marks that go over the character before them, and joiners. */
static const struct code_range zero_width[] = {
        {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
        {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
};
/* East Asian wide and full-width characters, and pictures. */
static const struct code_range double_width[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e}, {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
        {0xa960, 0xa97f},   {0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
        {0xff00, 0xff60},   {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff},
        {0x20000, 0x3fffd},
};
/* Line and paragraph ends, and what turns the direction of the text around it. */
static const struct code_range harmful[] = {
        {0x80, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
};

#define IN(code, ranges) in_ranges((code), (ranges), sizeof(ranges) / sizeof(*(ranges)))

static void glyph_escape(struct ws_glyph *out, uint32_t code)
{
	const char *format = code == '\n'   ? "\\n"
	                     : code == '\r' ? "\\r"
	                     : code == '\t' ? "\\t"
	                     : code < 0x100 ? "\\x%02x"
	                                    : "\\u%04x";

	out->len = out->width =
	        (uint8_t)snprintf(out->bytes, sizeof(out->bytes), format, (unsigned)code);
}

size_t ws_display_glyph(const char *text, size_t len, struct ws_glyph *out)
{
	uint32_t code;
	size_t taken;

	if (*text >= ' ' && *text < 0x7f) { /* most of all texts */
		*out = (struct ws_glyph){{*text}, 1, 1};
		return 1;
	}
	taken = ws_utf8_get(text, len, &code);
	/* U+FFFE and U+FFFF are no characters and make XML invalid */
	if ((code & 0xfffe) == 0xfffe)
		code = WS_UTF8_REPLACEMENT;
	if (code < 0x20 || code == 0x7f || IN(code, harmful)) {
		glyph_escape(out, code);
		return taken;
	}
	out->len = (uint8_t)ws_utf8_put(code, out->bytes);
	out->width = IN(code, zero_width) ? 0 : IN(code, double_width) ? 2 : 1;
	return taken;
}

void ws_display_put(FILE *f, const char *text, size_t len)
{
	struct ws_glyph glyph;

	for (size_t pos = 0; pos < len;) {
		pos += ws_display_glyph(text + pos, len - pos, &glyph);
		fwrite(glyph.bytes, 1, glyph.len, f);
	}
}

void ws_display_name(FILE *f, const char *name)
{
	ws_display_put(f, name, strlen(name));
}

size_t ws_display_width(const char *text, size_t len)
{
	struct ws_glyph glyph;
	size_t width = 0;

	for (size_t pos = 0; pos < len;) {
		pos += ws_display_glyph(text + pos, len - pos, &glyph);
		width += glyph.width;
	}
	return width;
}

size_t ws_display_cell_width(const struct ws_shown_column *shown, const struct ws_cell *cell)
{
	char number[WS_DISPLAY_NUMBER_MAX];

	return cell->type == WS_CELL_TEXT ? ws_display_width(cell->text.ptr, cell->text.len)
	                                  : ws_display_number(shown, cell, number);
}
