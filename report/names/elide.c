/* Names cut to a width: the middle goes, and of names that would then look alike a part in which
 * they differ stays. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/strtab.h"
#include "report/base/names.h"
#include "report/base/order.h"
#include "report/names/names.h"
#include "report/table/display.h"

#define ROUNDS  8 /* of looking for a difference; each shows names further on */
#define NOWHERE SIZE_MAX
#define DOTS    "…"

struct cut {
	struct ws_bytes name, shown;
};

struct cutter {
	struct ws_arena *arena;
	size_t width, head;
	struct cut *cuts;         /* each name once */
	struct ws_row_key *order; /* of them, those that look alike beside each other */
	size_t n;
	unsigned numbered;
};

/* Where the `width` columns from `at` on end. */
static size_t end_of(struct ws_bytes name, size_t at, size_t width)
{
	const char *text = name.ptr;
	struct ws_glyph glyph;
	size_t used = 0;

	while (at < name.len) {
		size_t n = ws_display_glyph(text + at, name.len - at, &glyph);

		used += glyph.width;
		if (used > width)
			break;
		at += n;
	}
	return at;
}

/* Where the last `width` columns begin. */
static size_t begin_of_end(struct ws_bytes name, size_t width)
{
	const char *text = name.ptr;
	size_t rest = ws_display_width(text, name.len), at = 0;
	struct ws_glyph glyph;

	while (at < name.len && rest > width) {
		at += ws_display_glyph(text + at, name.len - at, &glyph);
		rest -= glyph.width;
	}
	return at;
}

static bool in_word(unsigned char c)
{
	return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* The word or number that holds `at`, as far as it begins no more than `most` bytes before. */
static size_t word_of(struct ws_bytes name, size_t at, size_t most)
{
	const char *text = name.ptr;
	size_t begin = at;

	while (begin && at - begin < most && in_word((unsigned char)text[begin - 1]))
		begin--;
	while (begin < at && (unsigned char)text[begin] >> 6 == 2)
		begin++;
	return begin;
}

static size_t put(char *out, size_t len, const char *text, size_t n)
{
	memcpy(out + len, text, n);
	return len + n;
}

/* The name with the place `at` and a mark at its end. */
static void cut(const struct cutter *c, struct cut *name, size_t at, const char *mark)
{
	const struct ws_bytes whole = name->name;
	const char *text = whole.ptr;
	size_t room = c->width > strlen(mark) + 2 ? c->width - strlen(mark) : 2;
	size_t head = end_of(whole, 0, c->head < room ? c->head : room - 1);
	size_t rest = room - 1 - ws_display_width(text, head);
	size_t begin = head, end = head, tail = begin_of_end(whole, rest), len = 0;
	char *out;

	if (ws_display_width(text, whole.len) <= c->width)
		return;
	/* ends are alike where this is asked for: the most of the room is for the difference */
	if (at != NOWHERE && at >= head && at < tail && rest > 4) {
		begin = word_of(whole, at, rest / 6);
		begin = begin > head ? begin : head;
		end = end_of(whole, begin, (rest - 1) * 3 / 4);
		tail = begin_of_end(whole, rest - 1 - (rest - 1) * 3 / 4);
	}
	if (tail < end) { /* one piece */
		end = begin;
		tail = begin_of_end(whole, rest);
	}
	out = ws_arena_alloc(c->arena, whole.len + 2 * strlen(DOTS) + strlen(mark));
	len = put(out, len, text, head);
	if (begin > head && end > begin)
		len = put(out, len, DOTS, strlen(DOTS));
	len = put(out, len, text + begin, end - begin);
	len = put(out, len, DOTS, strlen(DOTS));
	len = put(out, len, text + tail, whole.len - tail);
	len = put(out, len, mark, strlen(mark));
	name->shown = (struct ws_bytes){out, len};
}

/* Names order[0..n) look alike; the first and the last differ most. */
static void tell_apart(struct cutter *c, const struct ws_row_key *order, size_t n, bool number)
{
	const struct ws_bytes a = order[0].text[1], b = order[n - 1].text[1];
	size_t at = 0;
	char mark[16] = "";

	while (at < a.len && at < b.len && ((const char *)a.ptr)[at] == ((const char *)b.ptr)[at])
		at++;
	for (size_t i = 0; i < n; i++) {
		if (number)
			snprintf(mark, sizeof(mark), "~%u", ++c->numbered);
		cut(c, &c->cuts[order[i].row], at, mark);
	}
}

/* Did names look alike? */
static bool one_round(struct cutter *c, bool number)
{
	bool found = false;

	for (uint32_t i = 0; i < c->n; i++)
		c->order[i] =
		        (struct ws_row_key){.text = {c->cuts[i].shown, c->cuts[i].name}, .row = i};
	ws_row_keys_sort(c->order, c->n);
	for (size_t first = 0, end; first < c->n; first = end) {
		for (end = first + 1; end < c->n; end++)
			if (ws_name_compare(c->order[first].text[0], c->order[end].text[0]))
				break;
		if (end == first + 1)
			continue;
		tell_apart(c, c->order + first, end - first, number);
		found = true;
	}
	return found;
}

/* c->cuts; number[i]: that of names[i], from 1. */
static void find_cuts(struct cutter *c, const struct ws_bytes *names, size_t n, uint32_t *number)
{
	struct ws_strtab known = {0};

	for (size_t i = 0; i < n; i++) {
		const uint64_t id = ws_strtab_add(&known, names[i].ptr, names[i].len);

		number[i] = (uint32_t)id;
		if (id > c->n)
			c->cuts[c->n++] = (struct cut){names[i], names[i]};
	}
	ws_strtab_free(&known);
	WS_NEW(c->arena, c->order, c->n);
}

void ws_names_elide(struct ws_arena *arena, struct ws_bytes *names, size_t n, size_t width,
                    size_t head)
{
	struct cutter c = {.arena = arena, .width = width, .head = head};
	uint32_t *number;
	bool alike = true;

	WS_NEW(arena, c.cuts, n);
	WS_NEW(arena, number, n);
	find_cuts(&c, names, n, number);
	for (size_t i = 0; i < c.n; i++)
		cut(&c, &c.cuts[i], NOWHERE, "");
	for (int round = 0; alike && round < ROUNDS; round++)
		alike = one_round(&c, false);
	if (alike)
		one_round(&c, true);
	for (size_t i = 0; i < n; i++)
		names[i] = c.cuts[number[i] - 1].shown;
}
