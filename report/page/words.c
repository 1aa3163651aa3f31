/* Names of the model, and numbers in sentences: three significant digits, always with a unit, never
 * an exponent. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "report/page/private.h"

const char *ws_page_copy(struct ws_arena *arena, const void *text, size_t len)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	const char *from = text;
	char *copy, *to;

	if (!memchr(text, '\0', len))
		return ws_arena_copy(arena, text, len);
	to = copy = ws_arena_alloc(arena, 3 * len + 1);
	for (size_t i = 0; i < len; i++) {
		const char *one = from[i] ? &from[i] : replacement;
		const size_t n = from[i] ? 1 : 3;

		memcpy(to, one, n);
		to += n;
	}
	return copy;
}

const char *ws_page_text_of(const struct ws_page_making *p, uint32_t text)
{
	return ws_page_copy(p->texts, p->m->texts[text].ptr, p->m->texts[text].len);
}

const char *ws_page_name_of(const struct ws_page_making *p, uint32_t text)
{
	const struct ws_bytes name = ws_model_short_name(p->m, text);

	return ws_page_copy(p->texts, name.ptr, name.len);
}

const char *ws_page_class_of(const struct ws_page_making *p, uint32_t class)
{
	return class ? ws_page_text_of(p, class) : "unclassified";
}

enum ws_page_colour ws_page_colour_of_class(const struct ws_page_making *p, uint32_t class)
{
	return ws_page_class_colour(p->m->texts[class].ptr, p->m->texts[class].len);
}

/* Decimals that make three digits of it. */
static int decimals_of(double value)
{
	return value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
}

/* 155, 2.4, 3.35; a zero behind the point says nothing. */
static const char *three_digits(const struct ws_page_making *p, double value, const char *unit)
{
	char *text = ws_arena_format(p->texts, "%.*f", decimals_of(fabs(value)), value);

	if (strchr(text, '.')) {
		char *end = text + strlen(text);

		while (end[-1] == '0')
			*--end = '\0';
		if (end[-1] == '.')
			end[-1] = '\0';
	}
	return *unit ? ws_arena_format(p->texts, "%s %s", text, unit) : text;
}

struct scale {
	double by;
	const char *prefix;
};

/* The first of the scales, which ascend, in which it stays under 1,000 as shown. */
static const struct scale *scale_of(const struct scale *scales, size_t n, double value)
{
	size_t i = 0;

	while (i + 1 < n && fabs(value) / scales[i].by >= 999.5)
		i++;
	return &scales[i];
}

const char *ws_say_time(const struct ws_page_making *p, double ns)
{
	static const struct scale units[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
	const struct scale *s = scale_of(units, 4, ns);

	return three_digits(p, ns / s->by, s->prefix);
}

const char *ws_say_si(const struct ws_page_making *p, double value, const char *unit)
{
	static const struct scale units[] = {{1, ""},     {1e3, "k"},  {1e6, "M"}, {1e9, "G"},
	                                     {1e12, "T"}, {1e15, "P"}, {1e18, "E"}};
	const struct scale *s = scale_of(units, 7, value);

	return three_digits(p, value / s->by, ws_arena_format(p->texts, "%s%s", s->prefix, unit));
}

const char *ws_say_percent(const struct ws_page_making *p, double percent)
{
	return ws_arena_format(p->texts, "%.*f %%", percent < 9.95 && percent >= 0.05, percent);
}

const char *ws_say_number(const struct ws_page_making *p, double value)
{
	char digits[32], *out;
	size_t len, at = 0;

	if (value < 999.5)
		return three_digits(p, value, "");
	len = (size_t)snprintf(digits, sizeof(digits), "%.0f", value);
	out = ws_arena_alloc(p->texts, len + len / 3 + 1);
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	return out;
}

const char *ws_say_part_of(const struct ws_page_making *p, double ns, double percent)
{
	return ws_arena_format(p->texts, "%s (%s)", ws_say_time(p, ns), ws_say_percent(p, percent));
}

void ws_say_line(struct ws_page_line *line, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, line);
	for (bool bold = false; (text = va_arg(ap, const char *)) && line->nparts < WS_PAGE_PARTS;
	     bold = !bold)
		if (*text)
			line->part[line->nparts++] = (struct ws_page_part){text, bold};
	va_end(ap);
}
