/* Names by themselves: what changes from call to call. */
#include <string.h>

#include "report/base/names.h"
#include "report/names/names.h"

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

		if (ws_name_begins(p, end, numbers[i]) && skip_digits(digits, end, 0) > digits)
			return skip_digits(digits, end, 0);
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (!ws_name_begins(p, end, lists[i]))
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
		int address = ws_name_begins(p, end, "0x"), digits_at = address ? 2 : 1;

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
