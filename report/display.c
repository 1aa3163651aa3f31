#include "report/display.h"

#include <inttypes.h>
#include <math.h>

struct unit {
	double below; /* used when the greatest value of the column is below this */
	const char *name;
	int exponent, decimals;
};

/* Three decimals keep a thousandth of the unit, so a column loses nothing that matters. */
static const struct unit time_units[] = {
        {1e7, "us", 3, 3},
        {1e10, "ms", 6, 3},
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

static double cell_magnitude(const struct ws_cell *cell)
{
	switch (cell->type) {
	case WS_CELL_INT:
		return fabs((double)cell->i);
	case WS_CELL_REAL:
		return fabs(cell->r);
	default:
		return 0;
	}
}

static double greatest(const struct ws_table *t, size_t column)
{
	double max = t->totals ? cell_magnitude(&t->totals[column]) : 0;

	for (size_t row = 0; row < t->nrows; row++)
		max = fmax(max, cell_magnitude(&t->cells[row * t->def->ncolumns + column]));
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

static void choose_unit(const struct ws_table *t, size_t column, const struct unit *units,
                        struct ws_shown_column *out)
{
	double max = greatest(t, column);

	while (max >= units->below)
		units++;
	out->exponent = units->exponent;
	out->decimals = units->decimals;
	title_with_unit(&t->def->columns[column], units->name, out->title, sizeof(out->title));
}

void ws_display_column(const struct ws_table *t, size_t column, struct ws_shown_column *out)
{
	const struct ws_table_column *def = &t->def->columns[column];

	memset(out, 0, sizeof(*out));
	out->display = def->display;
	snprintf(out->title, sizeof(out->title), "%s", def->title);
	switch (def->display) {
	case WS_DISPLAY_PLAIN:
		break;
	case WS_DISPLAY_COUNT:
		out->decimals = def->type == WS_CELL_REAL;
		break;
	case WS_DISPLAY_TIME_NS:
		choose_unit(t, column, time_units, out);
		break;
	case WS_DISPLAY_PERCENT:
	case WS_DISPLAY_RATIO:
		out->decimals = 2;
		break;
	case WS_DISPLAY_REAL:
		out->decimals = 4;
		break;
	case WS_DISPLAY_BYTES:
		choose_unit(t, column, byte_units, out);
		break;
	case WS_DISPLAY_FLOPS:
		choose_unit(t, column, flop_units, out);
		break;
	}
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
