#include "report/base/names.h"

#include <stdbool.h>
#include <string.h>

/* How demanglers call an anonymous namespace: brackets that are part of a name. */
static const char *const anonymous[] = {"(anonymous namespace)", "<unnamed>"};
#define NANONYMOUS (sizeof(anonymous) / sizeof(*anonymous))
#define OPERATOR   "operator"

static bool starts_with(const char *p, const char *end, const char *what)
{
	size_t n = strlen(what);

	return (size_t)(end - p) >= n && !memcmp(p, what, n);
}

/* Do the n bytes written so far end in the keyword, so that '<' or '(' belongs to a name? */
static bool after_operator(const char *out, size_t n)
{
	size_t k = strlen(OPERATOR);

	while (n && (out[n - 1] == '<' || out[n - 1] == '>'))
		n--;
	return n >= k && !memcmp(out + n - k, OPERATOR, k);
}

/* Length of the anonymous namespace that stands here; 0 = none does. */
static size_t anonymous_at(const char *p, const char *end)
{
	for (size_t i = 0; i < NANONYMOUS; i++)
		if (starts_with(p, end, anonymous[i]))
			return strlen(anonymous[i]);
	return 0;
}

size_t ws_name_short(struct ws_bytes name, char *out)
{
	const char *p = name.ptr, *end = p + name.len;
	size_t n = 0;
	unsigned depth = 0;

	if (starts_with(p, end, "void "))
		p += strlen("void ");
	while (p < end) {
		size_t whole = depth ? 0 : anonymous_at(p, end);

		if (whole) {
			memcpy(out + n, p, whole);
			n += whole;
			p += whole;
			continue;
		}
		if (*p == '(' && !depth && !(after_operator(out, n) && starts_with(p, end, "()")))
			break; /* the parameters */
		if (*p == '(' && !depth) {
			out[n++] = *p++; /* operator() */
			out[n++] = *p++;
			continue;
		}
		if (*p == '<' && !(!depth && after_operator(out, n)))
			depth++;
		else if (*p == '>' && depth && p > (const char *)name.ptr && p[-1] != '-')
			depth--;
		else if (!depth)
			out[n++] = *p;
		p++;
	}
	while (n && out[n - 1] == ' ')
		n--;
	if (!n && name.len) {
		memcpy(out, name.ptr, name.len);
		n = name.len;
	}
	return n;
}

static const char *skip_digits(const char *p, const char *end, int hexadecimal)
{
	while (p < end && ((*p >= '0' && *p <= '9') ||
	                   (hexadecimal && (*p | 0x20) >= 'a' && (*p | 0x20) <= 'f')))
		p++;
	return p;
}

/* Behind what emit_nvtx appends and stands here; p when nothing does. */
static const char *skip_appended(const char *p, const char *end)
{
	static const char *const numbers[] = {", op_id = ", ", seq = "};
	static const char *const lists[] = {", sizes = [", ", input_op_ids = ["};
	unsigned depth = 1;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const char *digits = p + strlen(numbers[i]);

		if (starts_with(p, end, numbers[i]) && skip_digits(digits, end, 0) > digits)
			return skip_digits(digits, end, 0);
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (!starts_with(p, end, lists[i]))
			continue;
		for (p += strlen(lists[i]); p < end && depth; p++)
			depth += (*p == '[') - (*p == ']');
		break;
	}
	return p;
}

size_t ws_name_steady(struct ws_bytes name, char *out)
{
	const char *p = name.ptr, *end = p + name.len;
	size_t n = 0;

	while (p < end) {
		const char *rest = *p == ',' ? skip_appended(p, end) : p;
		int address = starts_with(p, end, "0x"), digits_at = address ? 2 : 1;

		if (rest > p) {
			p = rest;
			continue;
		}
		rest = address || *p == '#' ? skip_digits(p + digits_at, end, address) : p;
		if (rest > p + digits_at) {
			memcpy(out + n, p, (size_t)digits_at);
			n += (size_t)digits_at;
			out[n++] = '*';
			p = rest;
		} else {
			out[n++] = *p++;
		}
	}
	if (!n && name.len) {
		memcpy(out, name.ptr, name.len);
		n = name.len;
	}
	return n;
}

static bool ends_number(char c)
{
	return strchr(" ._#/-[]()", c) != NULL;
}

size_t ws_name_roll_up(struct ws_bytes text, char *out)
{
	const char *p = text.ptr, *end = p + text.len;
	size_t n = 0;

	while (p < end) {
		const char *digits = skip_digits(p, end, 0);

		if (digits > p && n && ends_number(out[n - 1]) &&
		    (digits == end || ends_number(*digits))) {
			out[n++] = '*';
			p = digits;
		} else if (digits > p) {
			memcpy(out + n, p, (size_t)(digits - p));
			n += (size_t)(digits - p);
			p = digits;
		} else {
			out[n++] = *p++;
		}
	}
	return n;
}

/* Does a character begin here, or the text end? */
static bool is_boundary(struct ws_bytes name, size_t at)
{
	return at >= name.len || ((const unsigned char *)name.ptr)[at] >> 6 != 2;
}

size_t ws_name_brief(struct ws_bytes name, size_t most, char *out)
{
	static const char dots[] = "…";
	size_t head = most / 4, tail = name.len - (most - head), n = sizeof(dots) - 1;

	if (name.len <= most) {
		memcpy(out, name.ptr, name.len);
		return name.len;
	}
	while (head && !is_boundary(name, head))
		head--;
	while (!is_boundary(name, tail))
		tail++;
	memcpy(out, name.ptr, head);
	memcpy(out + head, dots, n);
	memcpy(out + head + n, (const char *)name.ptr + tail, name.len - tail);
	return head + n + name.len - tail;
}

bool ws_name_matches(struct ws_bytes pattern, struct ws_bytes text)
{
	const char *p = pattern.ptr, *pend = p + pattern.len;
	const char *t = text.ptr, *tend = t + text.len;
	const char *star = NULL, *star_t = NULL;

	/* on a mismatch let the last star take one byte more: no recursion, no bad case but n × m
	 */
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

bool ws_name_is(struct ws_bytes name, const char *text)
{
	return name.len == strlen(text) && !memcmp(name.ptr, text, name.len);
}
