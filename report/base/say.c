#include "report/base/say.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ws_say_add(char *text, size_t size, const char *fmt, ...)
{
	const size_t n = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + n, size - n, fmt, args);
	va_end(args);
}

/* Decimals that make three digits of it; of 0 none. */
static int decimals_of(double value)
{
	if (!(value < 0.9995) || value == 0)
		return value >= 99.95 || value == 0 ? 0 : value >= 9.995 ? 1 : 2;
	return value < 1e-9 ? 12 : 2 - (int)floor(log10(value));
}

/* 155, 2.4, 3.35; a zero behind the point says nothing. */
static const char *digits_of(double value, char out[WS_SAY_TIME])
{
	snprintf(out, WS_SAY_TIME, "%.*f", decimals_of(fabs(value)), value);
	if (strchr(out, '.')) {
		char *end = out + strlen(out);

		while (end[-1] == '0')
			*--end = '\0';
		if (end[-1] == '.')
			end[-1] = '\0';
	}
	return out;
}

static const char *three_digits(struct ws_arena *texts, double value, const char *unit)
{
	char digits[WS_SAY_TIME];

	return ws_arena_format(texts, "%s%s%s", digits_of(value, digits), *unit ? " " : "", unit);
}

struct scale {
	double unit;
	const char *prefix;
};

/* The first of the scales, which ascend, in which it stays under 1,000 as shown. */
static const struct scale *scale_of(const struct scale *scales, size_t n, double value)
{
	size_t i = 0;

	while (i + 1 < n && fabs(value) / scales[i].unit >= 999.5)
		i++;
	return &scales[i];
}

static const struct scale *scale_of_time(double ns)
{
	static const struct scale units[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}},
	                          days = {86400e9, "d"};

	return fabs(ns) < days.unit ? scale_of(units, 4, ns) : &days;
}

const char *ws_say_time_in(double ns, char out[WS_SAY_TIME])
{
	const struct scale *s = scale_of_time(ns);

	digits_of(ns / s->unit, out);
	snprintf(out + strlen(out), WS_SAY_TIME - strlen(out), " %s", s->prefix);
	return out;
}

const char *ws_say_time(struct ws_arena *texts, double ns)
{
	char out[WS_SAY_TIME];

	return ws_arena_format(texts, "%s", ws_say_time_in(ns, out));
}

const char *ws_say_time_of(struct ws_arena *texts, double ns, double whole_ns)
{
	const struct scale *s = scale_of_time(whole_ns);

	return ws_arena_format(texts, "%.2f of %.2f %s", ns / s->unit, whole_ns / s->unit,
	                       s->prefix);
}

const char *ws_say_si(struct ws_arena *texts, double value, const char *unit)
{
	static const struct scale units[] = {{1, ""},     {1e3, "k"},  {1e6, "M"}, {1e9, "G"},
	                                     {1e12, "T"}, {1e15, "P"}, {1e18, "E"}};
	const struct scale *s = scale_of(units, 7, value);

	return three_digits(texts, value / s->unit,
	                    ws_arena_format(texts, "%s%s", s->prefix, unit));
}

const char *ws_say_percent(struct ws_arena *texts, double percent)
{
	if (percent > 0 && percent < 0.05)
		return "<0.1 %";
	return ws_arena_format(texts, "%.*f %%", percent < 9.95 && percent > 0, percent);
}

const char *ws_say_number(struct ws_arena *texts, double value)
{
	char digits[32], *out;
	size_t len, at = 0;

	if (value < 999.5)
		return three_digits(texts, value, "");
	len = (size_t)snprintf(digits, sizeof(digits), "%.0f", value);
	out = ws_arena_alloc(texts, len + len / 3 + 1);
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	return out;
}

const char *ws_say_amount(struct ws_arena *texts, double ratio)
{
	const double times = ratio < 1 ? 1 / ratio : ratio;

	return times >= WS_SAY_TIMES_FROM
	               ? ws_arena_format(texts, "%s×", ws_say_number(texts, times))
	               : ws_say_percent(texts, 100 * (times - 1));
}

const char *ws_say_part_of(struct ws_arena *texts, double ns, double percent)
{
	return ws_arena_format(texts, "%s (%s)", ws_say_time(texts, ns),
	                       ws_say_percent(texts, percent));
}
