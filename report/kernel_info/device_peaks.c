#include "report/kernel_info/device_peaks.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/base/names.h"
#include "report/kernel_info/text_lines.h"

static const char builtin_rows[] = {
#include "device_peaks.inc"
};

static const struct {
	const char *name;
	double factor;
} kinds[] = {
#define X(NAME, name, factor, unit, meaning) [WS_PEAK_##NAME] = {#name, factor},
        WS_PEAK_LIST(X)
#undef X
};

struct ws_peaks {
	struct ws_device_peaks *rows;
	size_t nrows, capacity;
	struct ws_arena texts; /* patterns and sources */
};

/* --- rows ----------------------------------------------------------------------- */

/* Take the part before the next '|', or what is left, off the front of a line, without blanks. */
static struct ws_text next_part(struct ws_text *line)
{
	const char *bar = memchr(line->pos, '|', (size_t)(line->end - line->pos));
	struct ws_text rest = {line->pos, bar ? bar : line->end};

	line->pos = bar ? bar + 1 : line->end;
	return ws_text_line(&rest);
}

/*
 * "989.4": digits, and a point with digits behind it. Correctly rounded, as
 * both parts can be held exactly; the language of the user does not matter.
 */
static bool parse_number(struct ws_text word, double *out)
{
	uint64_t digits = 0, scale = 1;
	int point = 0;
	unsigned n = 0;

	for (; word.pos < word.end; word.pos++) {
		if (*word.pos == '.' && !point && n) {
			point = 1;
			continue;
		}
		if (*word.pos < '0' || *word.pos > '9' || ++n > 15)
			return false;
		digits = digits * 10 + (uint64_t)(*word.pos - '0');
		if (point)
			scale *= 10;
	}
	*out = (double)digits / (double)scale;
	return n && word.pos[-1] != '.' && digits;
}

static int kind_of(struct ws_text word)
{
	for (int i = 0; i < WS_PEAK_COUNT; i++)
		if (ws_text_is(word, kinds[i].name))
			return i;
	return -1;
}

static enum ws_status parse_values(struct ws_text part, unsigned line, struct ws_device_peaks *out,
                                   struct ws_err *err)
{
	WS_FAIL_IF(part.pos == part.end, err, USAGE,
	           "device peaks, line %u: no quantities; a row is NAME | PEAKS | SOURCE", line);
	while (part.pos < part.end) {
		struct ws_text name = ws_text_word(&part), value = ws_text_word(&part);
		int kind = kind_of(name);
		double number;

		WS_FAIL_IF(
		        kind < 0, err, USAGE,
		        "device peaks, line %u: '%.*s' is not one of fp32, tf32, fp16, bf16, fp8, "
		        "memory",
		        line, WS_TEXT_SHOWN(name));
		WS_FAIL_IF(!parse_number(value, &number), err, USAGE,
		           "device peaks, line %u: '%.*s' is not a positive number for %s", line,
		           WS_TEXT_SHOWN(value), kinds[kind].name);
		WS_FAIL_IF(out->value[kind] > 0, err, USAGE, "device peaks, line %u: %s twice",
		           line, kinds[kind].name);
		out->value[kind] = number * kinds[kind].factor;
	}
	return WS_OK;
}

static enum ws_status parse_row(struct ws_peaks *p, struct ws_text line, unsigned number,
                                struct ws_err *err)
{
	struct ws_device_peaks *row = &p->rows[p->nrows];
	struct ws_text pattern, values, source;

	WS_FAIL_IF(memchr(line.pos, '\0', (size_t)(line.end - line.pos)), err, USAGE,
	           "device peaks, line %u: a NUL byte", number);
	pattern = next_part(&line);
	values = next_part(&line);
	source = next_part(&line);
	WS_FAIL_IF(pattern.pos == pattern.end, err, USAGE, "device peaks, line %u: no device name",
	           number);
	WS_FORWARD(parse_values(values, number, row, err));
	WS_FAIL_IF(source.pos == source.end, err, USAGE,
	           "device peaks, line %u: no source; a row is NAME | PEAKS | SOURCE", number);
	row->pattern = ws_arena_copy(&p->texts, pattern.pos, (size_t)(pattern.end - pattern.pos));
	row->source = ws_arena_copy(&p->texts, source.pos, (size_t)(source.end - source.pos));
	return WS_OK;
}

static enum ws_status add_rows(struct ws_peaks *p, const char *bytes, size_t len, int from_user,
                               struct ws_err *err)
{
	struct ws_text text = {bytes, bytes + len};

	for (unsigned n = 1; text.pos < text.end; n++) {
		struct ws_text line = ws_text_line(&text);

		if (ws_text_says_nothing(line))
			continue;
		WS_FAIL_IF(p->nrows == WS_PEAKS_MAX_ROWS, err, USAGE,
		           "device peaks, line %u: more than %u rows", n, WS_PEAKS_MAX_ROWS);
		WS_GROW(p->rows, p->nrows + 1, p->capacity);
		p->rows[p->nrows] = (struct ws_device_peaks){.from_user = from_user};
		WS_FORWARD(parse_row(p, line, n, err));
		p->nrows++;
	}
	return WS_OK;
}

enum ws_status ws_peaks_new(const char *user_rows, size_t len, struct ws_peaks **out,
                            struct ws_err *err)
{
	struct ws_peaks *p;
	enum ws_status status;

	*out = NULL;
	WS_FAIL_IF(user_rows && len > WS_PEAKS_MAX_BYTES, err, USAGE,
	           "device peaks: %zu bytes, more than %u", len, WS_PEAKS_MAX_BYTES);
	p = ws_xarray(1, sizeof(*p));
	status = user_rows ? add_rows(p, user_rows, len, 1, err) : WS_OK;
	WS_THEN(status, add_rows(p, builtin_rows, sizeof(builtin_rows), 0, err));
	if (status != WS_OK) {
		ws_peaks_free(p);
		return status;
	}
	*out = p;
	return WS_OK;
}

void ws_peaks_free(struct ws_peaks *p)
{
	if (!p)
		return;
	ws_arena_free(&p->texts);
	free(p->rows);
	free(p);
}

/* --- look-up ---------------------------------------------------------------------- */

bool ws_peaks_find(const struct ws_peaks *p, const char *name, size_t len,
                   struct ws_device_peaks *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < p->nrows; i++) {
		const char *pattern = p->rows[i].pattern;

		if (ws_name_matches(ws_bytes_of(pattern), (struct ws_bytes){name, len})) {
			*out = p->rows[i];
			return true;
		}
	}
	return false;
}

bool ws_peaks_row(const struct ws_peaks *p, size_t row, struct ws_device_peaks *out)
{
	if (row >= p->nrows)
		return false;
	*out = p->rows[row];
	return true;
}

void ws_device_peaks_measured(struct ws_device_peaks *peaks, enum ws_peak which, double value)
{
	if (!isfinite(value) || value <= 0)
		return;
	peaks->value[which] = value;
	peaks->measured |= 1u << which;
}

const char *ws_peak_name(enum ws_peak which)
{
	return kinds[which].name;
}

bool ws_device_name_is_amd(const char *name, size_t len)
{
	static const char *const words[] = {"AMD", "Radeon", "Instinct", "gfx9", "gfx1"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (memmem(name, len, words[i], strlen(words[i])))
			return true;
	return false;
}
