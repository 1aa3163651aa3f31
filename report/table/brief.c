#include "report/table/brief.h"

#include <stdlib.h>
#include <string.h>

#include "report/table/display.h"

#define ROUNDS  8 /* of looking for a difference; each shows names further on */
#define NOWHERE SIZE_MAX
#define DOTS    "…"

struct cut {
	struct ws_brief name, brief;
	const struct cut *same; /* the one that is cut of equal names */
};

struct cutter {
	struct ws_arena *arena;
	size_t width, head;
	struct cut *cuts, **order; /* order: each name once */
	size_t n;                  /* of order */
	unsigned numbered;
};

/* Where the `width` columns from `at` on end. */
static size_t end_of(const struct ws_brief *name, size_t at, size_t width)
{
	struct ws_glyph glyph;
	size_t used = 0;

	while (at < name->len) {
		size_t n = ws_display_glyph(name->text + at, name->len - at, &glyph);

		used += glyph.width;
		if (used > width)
			break;
		at += n;
	}
	return at;
}

/* Where the last `width` columns begin. */
static size_t begin_of_end(const struct ws_brief *name, size_t width)
{
	size_t rest = ws_display_width(name->text, name->len), at = 0;
	struct ws_glyph glyph;

	while (at < name->len && rest > width) {
		at += ws_display_glyph(name->text + at, name->len - at, &glyph);
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
static size_t word_of(const struct ws_brief *name, size_t at, size_t most)
{
	size_t begin = at;

	while (begin && at - begin < most && in_word((unsigned char)name->text[begin - 1]))
		begin--;
	while (begin < at && (unsigned char)name->text[begin] >> 6 == 2)
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
	const struct ws_brief *whole = &name->name;
	size_t room = c->width > strlen(mark) + 2 ? c->width - strlen(mark) : 2;
	size_t head = end_of(whole, 0, c->head < room ? c->head : room - 1);
	size_t rest = room - 1 - ws_display_width(whole->text, head);
	size_t begin = head, end = head, tail = begin_of_end(whole, rest), len = 0;
	char *out;

	if (ws_display_width(whole->text, whole->len) <= c->width)
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
	out = ws_arena_alloc(c->arena, whole->len + 2 * strlen(DOTS) + strlen(mark));
	if (!out)
		return;
	len = put(out, len, whole->text, head);
	if (begin > head && end > begin)
		len = put(out, len, DOTS, strlen(DOTS));
	len = put(out, len, whole->text + begin, end - begin);
	len = put(out, len, DOTS, strlen(DOTS));
	len = put(out, len, whole->text + tail, whole->len - tail);
	len = put(out, len, mark, strlen(mark));
	name->brief = (struct ws_brief){out, len};
}

static int compare(const struct ws_brief *a, const struct ws_brief *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int c = n ? memcmp(a->text, b->text, n) : 0;

	return c ? c : (a->len > b->len) - (a->len < b->len);
}

static int by_name(const void *pa, const void *pb)
{
	const struct cut *a = *(struct cut *const *)pa, *b = *(struct cut *const *)pb;

	return compare(&a->name, &b->name);
}

/* Names that look alike stand together. */
static int by_brief(const void *pa, const void *pb)
{
	const struct cut *a = *(struct cut *const *)pa, *b = *(struct cut *const *)pb;
	int c = compare(&a->brief, &b->brief);

	return c ? c : by_name(pa, pb);
}

/* Names order[0..n) look alike; the first and the last differ most. */
static void tell_apart(struct cutter *c, struct cut **order, size_t n, bool number)
{
	const struct ws_brief *a = &order[0]->name, *b = &order[n - 1]->name;
	size_t at = 0;
	char mark[16] = "";

	while (at < a->len && at < b->len && a->text[at] == b->text[at])
		at++;
	for (size_t i = 0; i < n; i++) {
		if (number)
			snprintf(mark, sizeof(mark), "~%u", ++c->numbered);
		cut(c, order[i], at, mark);
	}
}

/* Did names look alike? */
static bool one_round(struct cutter *c, bool number)
{
	bool found = false;

	qsort(c->order, c->n, sizeof(struct cut *), by_brief);
	for (size_t first = 0, end; first < c->n; first = end) {
		for (end = first + 1; end < c->n; end++)
			if (compare(&c->order[first]->brief, &c->order[end]->brief))
				break;
		if (end == first + 1)
			continue;
		tell_apart(c, c->order + first, end - first, number);
		found = true;
	}
	return found;
}

/* The n names in order become each once. */
static void take_equal_ones_together(struct cutter *c, size_t n)
{
	qsort(c->order, n, sizeof(struct cut *), by_name);
	for (size_t i = 0; i < n; i++) {
		if (!c->n || compare(&c->order[c->n - 1]->name, &c->order[i]->name))
			c->order[c->n++] = c->order[i];
		c->order[i]->same = c->order[c->n - 1];
	}
}

void ws_brief_names(struct ws_arena *arena, struct ws_brief *names, size_t n, size_t width,
                    size_t head)
{
	struct cutter c = {.arena = arena, .width = width, .head = head};
	bool alike = true;

	WS_NEW(arena, c.cuts, n);
	WS_NEW(arena, c.order, n);
	if (!c.cuts || !c.order)
		return;
	for (size_t i = 0; i < n; i++) {
		c.order[i] = &c.cuts[i];
		c.cuts[i] = (struct cut){names[i], names[i], NULL};
	}
	take_equal_ones_together(&c, n);
	for (size_t i = 0; i < c.n; i++)
		cut(&c, c.order[i], NOWHERE, "");
	for (int round = 0; alike && round < ROUNDS; round++)
		alike = one_round(&c, false);
	if (alike)
		one_round(&c, true);
	for (size_t i = 0; i < n; i++)
		names[i] = c.cuts[i].same->brief;
}
