#include "report/table/table.h"

#include <limits.h>

#include "report/base/elementary.h"

struct unit {
	const char *name;
	int exponent;
};

static const struct unit time_units[] = {{"ns", 0}, {"µs", 3}, {"ms", 6}, {"s", 9}};
static const struct unit byte_units[] = {
        {"bytes", 0}, {"kB", 3}, {"MB", 6}, {"GB", 9}, {"TB", 12},
};
static const struct unit flop_units[] = {
        {"", 0}, {"k", 3}, {"M", 6}, {"G", 9}, {"T", 12}, {"P", 15},
};

static const struct unit *units_of(enum ws_display display, size_t *n)
{
#define UNITS(of) (*n = sizeof(of) / sizeof(*(of)), (of))
	switch (display) {
	case WS_DISPLAY_TIME_NS:
	case WS_DISPLAY_EACH_NS:
	case WS_DISPLAY_START_NS:
		return UNITS(time_units);
	case WS_DISPLAY_BYTES:
		return UNITS(byte_units);
	case WS_DISPLAY_FLOPS:
		return UNITS(flop_units);
	default:
		return NULL;
	}
#undef UNITS
}

/* Columns that CSV has had in another unit than the base. */
static int exponent_of_data(const char *unit)
{
	return !strcmp(unit, "us") ? 3 : !strcmp(unit, "MB") ? 6 : 0;
}

/* Decimals that give a number of this decade three digits, but `least` at least. */
static int three_digits(int decade, int least, int most)
{
	int decimals = 2 - decade;

	return decimals < least ? least : decimals > most ? most : decimals;
}

/* Two decimals, or what gives a median that is too small for them two digits. */
static int two_digits(int decade)
{
	return decade >= -1 ? 2 : three_digits(decade + 1, 2, 9);
}

/*
 * The scale, by the decade of the largest column that is compared with this one, and decimals that
 * leave the column's own median two digits. Returns the unit where the display has units, else
 * NULL.
 */
static const struct unit *choose_scale(struct ws_shown_column *out,
                                       const struct ws_table_column *def,
                                       const struct ws_column_profile *p, int largest)
{
	const int data = exponent_of_data(def->unit);
	const int decade = p->decade == INT_MIN ? 0 : p->decade;
	size_t n = 0;
	const struct unit *unit = units_of(out->display, &n);

	if (unit) {
		if (largest == INT_MIN)
			largest = 0;
		while (n > 1 && largest >= unit[1].exponent) {
			unit++;
			n--;
		}
		out->exponent = unit->exponent - data;
		/* times that are parts of one another have the same */
		out->decimals = out->display == WS_DISPLAY_TIME_NS
		                        ? three_digits(largest - unit->exponent, 1, 2)
		                        : three_digits(decade - out->exponent, 1, 2);
		if (p->decade != INT_MIN && decade - out->exponent + out->decimals < 1)
			out->decimals = two_digits(decade - out->exponent);
		if (!unit->exponent && !p->has_fraction)
			out->decimals = 0;
		return unit;
	}
	switch (out->display) {
	case WS_DISPLAY_PERCENT:
		out->decimals = decade >= 0 ? 1 : two_digits(decade);
		break;
	case WS_DISPLAY_RATIO:
		out->decimals = two_digits(decade);
		break;
	case WS_DISPLAY_REAL:
		out->decimals = p->has_fraction ? three_digits(decade, 0, 9) : 0;
		break;
	default:
		out->decimals = p->has_fraction;
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

/* The column of side B for one of side A, and the other way round; -1: it has none. */
static int other_side(const struct ws_table_def *def, const char *id)
{
	char other[128];
	size_t len = strlen(id);

	if (len >= sizeof(other))
		return -1;
	memcpy(other, id, len + 1);
	for (char *p = other; *p; p++) {
		if (p[0] != '_' || (p[1] != 'a' && p[1] != 'b') || (p[2] && p[2] != '_'))
			continue;
		p[1] = p[1] == 'a' ? 'b' : 'a';
		return ws_table_column_index(def, other);
	}
	return -1;
}

/* A column of a pivot, whose id ends in the number of its group. */
static bool is_of_group(const struct ws_table_column *column)
{
	const char *end = strrchr(column->id, '_');

	return end && end[1] >= '0' && end[1] <= '9';
}

/* The decade of a column's median in base units; INT_MIN: it has none. */
static int base_decade(const struct ws_table_column *column, const struct ws_column_profile *p)
{
	return p->decade == INT_MIN ? INT_MIN : p->decade + exponent_of_data(column->unit);
}

/*
 * The decade by which the column's unit is chosen: that of the largest column of its display.
 * Moments and times have one unit, unless that would make the times less than its thousandth.
 */
static int largest_decade(const struct ws_table_def *def, const struct ws_column_profile *all,
                          size_t column)
{
	const enum ws_display own = def->columns[column].display;
	int found[WS_DISPLAY_FLOPS + 1];

	for (size_t i = 0; i <= WS_DISPLAY_FLOPS; i++)
		found[i] = INT_MIN;
	for (size_t i = 0; i < def->ncolumns; i++) {
		const int decade = base_decade(&def->columns[i], &all[i]);

		if (decade > found[def->columns[i].display])
			found[def->columns[i].display] = decade;
	}
	if ((own == WS_DISPLAY_START_NS || own == WS_DISPLAY_TIME_NS) &&
	    found[WS_DISPLAY_TIME_NS] != INT_MIN &&
	    found[WS_DISPLAY_START_NS] <= found[WS_DISPLAY_TIME_NS] + 3)
		return found[WS_DISPLAY_START_NS] > found[WS_DISPLAY_TIME_NS]
		               ? found[WS_DISPLAY_START_NS]
		               : found[WS_DISPLAY_TIME_NS];
	return found[own];
}

static void show_column(const struct ws_table *t, size_t column, const struct ws_column_profile *p,
                        int largest, struct ws_shown_column *out)
{
	struct ws_table_column shown = t->def->columns[column];
	const struct ws_table_column *def = &shown;

	if (t->shown_titles && t->shown_titles[column])
		shown.title = t->shown_titles[column];
	memset(out, 0, sizeof(*out));
	out->display = def->display;
	out->has_negative = p->has_negative;
	out->is_mixed = def->display == WS_DISPLAY_REAL &&
	                (!strcmp(def->id, "value") || ws_table_column_index(t->def, "unit") >= 0);
	const struct unit *unit = choose_scale(out, def, p, largest);
	out->unit = unit ? unit->name : def->unit;
	if (unit) {
		/* "Total Time (ns)" and "ms" make "Total Time (ms)"; a title without its unit gets
		 * one. */
		const size_t size = sizeof(out->title);
		size_t len = strlen(def->title), ulen = strlen(def->unit);

		if (ulen && len > ulen + 2 && def->title[len - 1] == ')' &&
		    def->title[len - ulen - 2] == '(' &&
		    !strncmp(def->title + len - ulen - 1, def->unit, ulen))
			len -= ulen + 3;
		if (*unit->name)
			snprintf(out->title, size, "%.*s (%s)", (int)len, def->title, unit->name);
		else
			snprintf(out->title, size, "%.*s", (int)len, def->title);
	} else {
		/* "Kernel (us)" of the data is "Kernel (µs)" to people. */
		size_t size = sizeof(out->title);
		static const char ascii[] = "(us)";
		const size_t len = strlen(def->title), n = sizeof(ascii) - 1;

		if (len > n && !strcmp(def->title + len - n, ascii))
			snprintf(out->title, size, "%.*s(µs)", (int)(len - n), def->title);
		else
			snprintf(out->title, size, "%s", def->title);
	}
	ws_display_sides(t, out->title, sizeof(out->title));
	if (t->without_gpu) {
		/* "Kernel Time (ms)" for "GPU Time (ms)". */
		const size_t size = sizeof(out->title);
		const size_t longer = strlen("Kernel") - strlen("GPU"), len = strlen(out->title);

		if (strncmp(out->title, "GPU ", 4) != 0 || len + longer >= size)
			return;
		memmove(out->title + longer, out->title, len + 1);
		memcpy(out->title, "Kernel", strlen("Kernel"));
	}
}

void ws_display_column_of(const struct ws_table *t, size_t column, size_t rows,
                          struct ws_shown_column *out)
{
	const struct ws_column_profile *all = ws_table_profile(t, rows);
	const int other = other_side(t->def, t->def->columns[column].id);
	struct ws_column_profile p = all[column];

	/* the decimals are those of the larger side, or group */
	if (other >= 0 && all[other].decade > p.decade)
		p.decade = all[other].decade;
	for (size_t i = 0; is_of_group(&t->def->columns[column]) && i < t->def->ncolumns; i++)
		if (is_of_group(&t->def->columns[i]) && all[i].decade > p.decade &&
		    t->def->columns[i].display == t->def->columns[column].display)
			p.decade = all[i].decade;
	show_column(t, column, &p, largest_decade(t->def, all, column), out);
}

void ws_display_column(const struct ws_table *t, size_t column, struct ws_shown_column *out)
{
	ws_display_column_of(t, column, t->nrows, out);
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

	if (negative)
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

/* What is too small for the last digit is not 0, and 0 is exact. */
static size_t print_small(char *out, double value, int decimals)
{
	if (value == 0)
		return (size_t)snprintf(out, WS_DISPLAY_NUMBER_MAX, "0");
	return (size_t)snprintf(out, WS_DISPLAY_NUMBER_MAX, "%s%.*f", value < 0 ? ">-" : "<",
	                        decimals, ws_power_of_ten(-decimals));
}

int ws_display_decimals(const struct ws_shown_column *shown, const struct ws_cell *cell)
{
	double magnitude = ws_cell_magnitude(cell);

	if (!shown->is_mixed)
		return shown->decimals;
	return magnitude == rint(magnitude) ? 0 : three_digits(ws_exponent_of_ten(magnitude), 0, 9);
}

size_t ws_display_number(const struct ws_shown_column *shown, const struct ws_cell *cell,
                         char out[WS_DISPLAY_NUMBER_MAX])
{
	struct ws_shown_column own = *shown;

	out[0] = '\0';
	own.decimals = ws_display_decimals(shown, cell);
	shown = &own;
	if (cell->type == WS_CELL_INT) {
		if (shown->display == WS_DISPLAY_PLAIN)
			return (size_t)snprintf(out, WS_DISPLAY_NUMBER_MAX, "%" PRId64, cell->i);

		uint64_t magnitude = cell->i < 0 ? -(uint64_t)cell->i : (uint64_t)cell->i;
		int drop = shown->exponent - shown->decimals;
		uint64_t divisor = power_of_ten(drop > 0 ? drop : 0);
		uint64_t digits = magnitude / divisor;

		/* half away from zero, without overflow in magnitude + divisor / 2 */
		if (divisor > 1 && magnitude % divisor >= divisor / 2)
			digits++;
		if (!digits)
			return print_small(out, (double)cell->i, shown->decimals);
		return print_digits(out, cell->i < 0, digits, drop < 0 ? 0 : shown->decimals);
	}
	if (cell->type == WS_CELL_REAL) {
		if (shown->display == WS_DISPLAY_PLAIN)
			return (size_t)snprintf(out, WS_DISPLAY_NUMBER_MAX, "%.10g", cell->r);
		double value = cell->r;
		int shift = shown->decimals - shown->exponent;
		double digits = fabs(value);
		digits = shift >= 0 ? digits * (double)power_of_ten(shift)
		                    : digits / (double)power_of_ten(-shift);
		digits = round(digits); /* half away from zero */
		/* beyond 2^53 the digits after the point mean nothing any more */
		if (digits >= 9007199254740992.0)
			return (size_t)snprintf(out, WS_DISPLAY_NUMBER_MAX, "%.6e", value);
		if (digits == 0)
			return print_small(out, value, shown->decimals);
		return print_digits(out, value < 0, (uint64_t)digits, shown->decimals);
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

void ws_display_section_column(const struct ws_table *t, size_t column, size_t begin, size_t end,
                               struct ws_shown_column *out)
{
	struct ws_column_profile p;

	ws_table_profile_column(t, column, begin, end, &p);
	show_column(t, column, &p, base_decade(&t->def->columns[column], &p), out);
}

size_t ws_display_quantity(const struct ws_table *t, const struct ws_shown_column *shown,
                           size_t row, size_t column, char out[WS_DISPLAY_NUMBER_MAX])
{
	size_t len = ws_display_number(shown, &ws_table_cells(t, row)[column], out);

	if (len && *shown->unit && strlen(shown->unit) < 16)
		len += (size_t)snprintf(out + len, WS_DISPLAY_NUMBER_MAX - len, " %s", shown->unit);
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

size_t ws_display_glyph(const char *text, size_t len, struct ws_glyph *out)
{
	uint32_t code;

	if (*text >= ' ' && *text < 0x7f) { /* most of all texts */
		*out = (struct ws_glyph){{*text}, 1, 1};
		return 1;
	}
	size_t taken = ws_utf8_get(text, len, &code);
	/* U+FFFE and U+FFFF are no characters and make XML invalid */
	if ((code & 0xfffe) == 0xfffe)
		code = WS_UTF8_REPLACEMENT;
	if (code < 0x20 || code == 0x7f || IN(code, harmful)) {
		const char *format = code == '\n'   ? "\\n"
		                     : code == '\r' ? "\\r"
		                     : code == '\t' ? "\\t"
		                     : code < 0x100 ? "\\x%02x"
		                                    : "\\u%04x";

		out->len = out->width =
		        (uint8_t)snprintf(out->bytes, sizeof(out->bytes), format, (unsigned)code);
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

struct ws_bytes ws_display_class(struct ws_bytes name)
{
	const bool is_short = name.len == 4 && !memcmp(name.ptr, "comm", 4);

	return is_short ? (struct ws_bytes){"communication", 13} : name;
}
