#include "formats/base/system/files.h"
#include "report/base/elementary.h"
#include "report/base/names.h"
#include "report/base/ui.h"

void ws_say_add(char *text, size_t size, const char *fmt, ...)
{
	const size_t n = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + n, size - n, fmt, args);
	va_end(args);
}

/* Number of decimals for three significant digits; 0 for the value 0. */
static int decimals_of(double value)
{
	if (!(value < 0.9995) || value == 0)
		return value >= 99.95 || value == 0 ? 0 : value >= 9.995 ? 1 : 2;
	return value < 1e-9 ? 12 : 2 - ws_exponent_of_ten(value);
}

/* 155, 2.4, 3.35, without final zeros after the point. */
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

/* The first of the ascending scales in which the displayed value is under 1,000. */
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

const char *ws_say_times(struct ws_arena *texts, double a_ns, const char *between, double b_ns)
{
	const char *a = ws_say_time(texts, a_ns), *b = ws_say_time(texts, b_ns);
	const char *unit_a = strrchr(a, ' '), *unit_b = strrchr(b, ' ');

	if (unit_a && unit_b && !strcmp(unit_a, unit_b))
		a = ws_arena_copy(texts, a, (size_t)(unit_a - a));
	return ws_arena_format(texts, "%s %s %s", a, between, b);
}

const char *ws_say_time_range(struct ws_arena *texts, double ns, double least_ns, double most_ns)
{
	const struct scale *s = scale_of_time(ns);
	char least[WS_SAY_TIME], most[WS_SAY_TIME];

	if (scale_of_time(most_ns) != s)
		return ws_arena_format(texts, "%s, %s", ws_say_time(texts, ns),
		                       ws_say_times(texts, least_ns, "to", most_ns));
	return ws_arena_format(texts, "%s, %s to %s", ws_say_time(texts, ns),
	                       digits_of(least_ns / s->unit, least),
	                       digits_of(most_ns / s->unit, most));
}

const char *ws_say_mean(struct ws_arena *texts, double mean_ns, double std_ns)
{
	const struct scale *s = scale_of_time(fmax(mean_ns, std_ns));
	char mean[WS_SAY_TIME], std[WS_SAY_TIME];

	return ws_arena_format(texts, "%s ± %s %s", digits_of(mean_ns / s->unit, mean),
	                       digits_of(std_ns / s->unit, std), s->prefix);
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

/* --- texts --- */

uint32_t ws_texts_add(struct ws_texts *t, struct ws_bytes text)
{
	if (!text.len)
		return 0;
	WS_GROW(t->text, t->n + 2, t->capacity);
	const struct ws_strtab_entry *known = ws_strtab_put(&t->known, text.ptr, text.len);
	if (known->id > t->n)
		t->text[++t->n] = (struct ws_bytes){known->bytes, known->len};
	return (uint32_t)known->id;
}

uint32_t ws_texts_add_str(struct ws_texts *t, const char *text)
{
	return ws_texts_add(t, ws_bytes_of(text));
}

struct ws_bytes ws_texts_get(const struct ws_texts *t, uint32_t number)
{
	return number ? t->text[number] : (struct ws_bytes){"", 0};
}

void ws_texts_release(struct ws_texts *t)
{
	free(t->text);
	free(t->recent);
	ws_strtab_free(&t->known);
	*t = (struct ws_texts){0};
}

/* --- names --- */

bool ws_name_matches(struct ws_bytes pattern, struct ws_bytes text)
{
	const char *p = pattern.ptr, *pend = p + pattern.len;
	const char *t = text.ptr, *tend = t + text.len;
	const char *star = NULL, *star_t = NULL;

	/* on a mismatch, the last star takes one more byte: at most n × m steps */
	while (t < tend) {
		if (p < pend && *p == '*') {
			star = p++;
			star_t = t;
		} else if (p < pend && (*p == '?' || *p == *t)) {
			p++;
			t++;
		} else if (star) {
			p = star + 1;
			t = ++star_t;
		} else {
			return false;
		}
	}
	while (p < pend && *p == '*')
		p++;
	return p == pend;
}

int ws_name_compare(struct ws_bytes a, struct ws_bytes b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

bool ws_name_is_one_of(struct ws_bytes text, const char *const *patterns, size_t n)
{
	while (n && !ws_name_matches(ws_bytes_of(patterns[n - 1]), text))
		n--;
	return n > 0;
}

bool ws_name_is_batch(struct ws_bytes name)
{
	static const char *const patterns[] = {"step[* bs=*", "execute_*context_*generation_*",
	                                       "execute_new_*_cached_*", "prefill[bs=*",
	                                       "decode[bs=*"};

	return WS_NAME_IS_ONE_OF(name, patterns);
}

/* Letters alone make the word: " Warm_up 3" is "warmup". */
static bool is_warm_up_word(struct ws_bytes name)
{
	static const char *const names[] = {"warmup",          "warmupstep",  "warmupsteps",
	                                    "warmupiteration", "warmupiter",  "warmupiterations",
	                                    "warmuprun",       "warmupruns",  "warmupphase",
	                                    "warmuploop",      "warmupepoch", "warmupbatch"};
	char letters[20];
	size_t n = 0;

	for (size_t i = 0; i < name.len; i++) {
		const char c = ((const char *)name.ptr)[i];
		const bool is_digit = c >= '0' && c <= '9';

		if ((c && strchr(" -_#:.[]", c)) || (n && is_digit))
			continue;
		if (!((c | 32) >= 'a' && (c | 32) <= 'z') || n == sizeof(letters))
			return false;
		letters[n++] = (char)(c | 32);
	}
	return WS_NAME_IS_ONE_OF(((struct ws_bytes){letters, n}), names);
}

/* The whole name, or a field of one such as PARAM's "[param|net|0|warmup|forward]". */
bool ws_name_is_warm_up(struct ws_bytes name)
{
	while (name.len) {
		const char *bar = memchr(name.ptr, '|', name.len);
		const size_t n = bar ? (size_t)(bar - (const char *)name.ptr) : name.len;

		if (is_warm_up_word((struct ws_bytes){name.ptr, n}))
			return true;
		if (!bar)
			break;
		name = (struct ws_bytes){bar + 1, name.len - n - 1};
	}
	return false;
}

bool ws_name_is(struct ws_bytes name, const char *text)
{
	return name.len == strlen(text) && !memcmp(name.ptr, text, name.len);
}

struct ws_bytes ws_name_of_file(struct ws_bytes path)
{
	static const char *const endings[] = {".gz",     ".json",     ".trace", ".pt",
	                                      ".wtrace", ".nsys-rep", ".sqlite"};
	const char *end = (const char *)path.ptr + path.len, *begin = end;
	struct ws_bytes name = path;

	while (begin > (const char *)path.ptr && !ws_path_separates(begin[-1]))
		begin--;
	if (begin < end)
		name = (struct ws_bytes){begin, (size_t)(end - begin)};
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		const size_t n = strlen(endings[i]);

		if (name.len > n && !memcmp((const char *)name.ptr + name.len - n, endings[i], n))
			name.len -= n;
	}
	return name;
}
