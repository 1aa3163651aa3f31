/*
 * Different kernels never have the same short name: what tells apart those
 * that would.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/checksum.h"
#include "report/base/names.h"
#include "report/base/order.h"
#include "report/names/names.h"

#define PARTS_MAX 64u /* bytes of what differs; beyond that a hash says as much in less */
#define ARGUMENTS 64u /* looked at */

struct namer {
	const struct ws_bytes *names;
	size_t n;
	struct ws_buf *text;
	struct {
		size_t offset, len;
	} * label;
	struct ws_row_key *order; /* of the names, equal labels beside each other */
};

static struct ws_bytes label_of(const struct namer *s, uint32_t i)
{
	return (struct ws_bytes){s->text->data + s->label[i].offset, s->label[i].len};
}

/* --- what differs ---------------------------------------------------------------- */

static const char *chars(struct ws_bytes text)
{
	return text.ptr;
}

/* Cut what all texts begin and end with off each, never inside a word. */
static void strip_common(struct ws_bytes *texts, size_t n)
{
	size_t before = texts[0].len, behind, least = texts[0].len;

	for (size_t i = 1; i < n; i++) {
		size_t k = 0;

		least = texts[i].len < least ? texts[i].len : least;
		while (k < before && k < texts[i].len && chars(texts[0])[k] == chars(texts[i])[k])
			k++;
		before = k;
	}
	while (before && ws_name_is_word(chars(texts[0])[before - 1]))
		before--;
	behind = least - before;
	for (size_t i = 1; i < n; i++) {
		size_t k = 0;

		while (k < behind && chars(texts[0])[texts[0].len - 1 - k] ==
		                             chars(texts[i])[texts[i].len - 1 - k])
			k++;
		behind = k;
	}
	while (behind && ws_name_is_word(chars(texts[0])[texts[0].len - behind]))
		behind--;
	for (size_t i = 0; i < n; i++)
		texts[i] =
		        (struct ws_bytes){chars(texts[i]) + before, texts[i].len - before - behind};
}

/* The template arguments of the function, at most ARGUMENTS; how many. */
static size_t split_arguments(struct ws_bytes name, struct ws_bytes out[ARGUMENTS])
{
	const char *p = name.ptr, *end = p + name.len, *from = NULL;
	unsigned depth = 0;
	size_t n = 0;

	for (; p < end && n < ARGUMENTS; p++) {
		int opens = *p == '<' || *p == '(' || *p == '[' || *p == '{';
		int closes = (*p == '>' && p[-1] != '-') || *p == ')' || *p == ']' || *p == '}';

		if (opens && !depth && *p == '(' && p > chars(name))
			break; /* the parameters */
		depth += (unsigned)opens;
		if (opens && depth == 1)
			from = p + 1;
		if (from && ((*p == ',' && depth == 1) || (closes && depth == 1))) {
			while (from < p && *from == ' ')
				from++;
			out[n++] = (struct ws_bytes){from, (size_t)(p - from)};
			from = p + 1;
		}
		if (closes && depth && !--depth)
			from = NULL;
	}
	return n;
}

static bool all_equal(const struct ws_bytes *texts, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (ws_name_compare(texts[0], texts[i]))
			return false;
	return true;
}

/* A part without the namespaces that every name has; brackets that were cut off are closed. */
static void put_part(struct ws_buf *out, struct ws_bytes part)
{
	static const char *const usual[] = {"at::", "native::", "(anonymous namespace)::",
	                                    "<unnamed>::", "c10::"};
	const char *p = part.ptr, *end = p + part.len;
	size_t open = 0;

	while (p < end) {
		size_t skip = 0;

		for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
			if (!skip && ws_name_begins(p, end, usual[i]))
				skip = strlen(usual[i]);
		p += skip;
		if (skip)
			continue;
		open += *p == '<';
		open -= *p == '>' && open;
		ws_buf_put(out, p++, 1);
	}
	while (open--)
		ws_buf_put(out, ">", 1);
}

/*
 * What the names of a group differ by, joined into parts[i], "" where the
 * names have not the same number of template arguments or none differs.
 */
static void differing_arguments(struct ws_arena *temp, const struct ws_bytes *names, size_t n,
                                struct ws_buf *parts)
{
	struct ws_bytes(*arguments)[ARGUMENTS], *column;
	size_t count = 0;

	WS_NEW(temp, arguments, n);
	WS_NEW(temp, column, n);
	for (size_t i = 0; i < n; i++) {
		size_t mine = split_arguments(names[i], arguments[i]);

		count = i && mine != count ? 0 : mine;
		if (!count)
			break;
	}
	for (size_t a = 0; a < count; a++) {
		for (size_t i = 0; i < n; i++)
			column[i] = arguments[i][a];
		if (all_equal(column, n))
			continue;
		strip_common(column, n);
		for (size_t i = 0; i < n; i++) {
			if (parts[i].len)
				ws_buf_put(&parts[i], ", ", 2);
			put_part(&parts[i], column[i]);
		}
	}
}

/* --- labels ----------------------------------------------------------------------- */

static void relabel(struct namer *s, uint32_t i, const char *open, struct ws_bytes part,
                    const char *close)
{
	struct ws_bytes label = label_of(s, i);
	size_t at = s->text->len;

	/* the label lies in the buffer that grows */
	ws_buf_reserve(s->text, label.len + strlen(open) + part.len + strlen(close));
	label = label_of(s, i);
	ws_buf_put(s->text, label.ptr, label.len);
	ws_buf_put(s->text, open, strlen(open));
	ws_buf_put(s->text, part.ptr, part.len);
	ws_buf_put(s->text, close, strlen(close));
	s->label[i].offset = at;
	s->label[i].len = s->text->len - at;
}

static void add_hash(struct namer *s, uint32_t i)
{
	char hash[24];
	int n = snprintf(hash, sizeof(hash), "%08x",
	                 (unsigned)ws_checksum(s->names[i].ptr, s->names[i].len));

	relabel(s, i, " #", (struct ws_bytes){hash, (size_t)n}, "");
}

/* The n names at order[first] have one label. */
static void tell_apart(struct namer *s, size_t first, size_t n)
{
	struct ws_arena temp = {0};
	struct ws_bytes *names;
	struct ws_buf *parts;

	WS_NEW(&temp, names, n);
	WS_NEW(&temp, parts, n);
	for (size_t i = 0; i < n; i++)
		names[i] = s->names[s->order[first + i].row];
	differing_arguments(&temp, names, n, parts);
	if (!parts[0].len) {
		strip_common(names, n);
		for (size_t i = 0; i < n; i++)
			ws_buf_put(&parts[i], names[i].ptr, names[i].len);
	}
	for (size_t i = 0; i < n; i++) {
		struct ws_bytes part = {parts[i].data, parts[i].len};

		if (part.len && part.len <= PARTS_MAX)
			relabel(s, s->order[first + i].row, " [", part, "]");
		else if (part.len)
			add_hash(s, s->order[first + i].row);
	}
	for (size_t i = 0; i < n; i++)
		ws_buf_free(&parts[i]);
	ws_arena_free(&temp);
}

/* One round over all groups of equal labels; with `hashes` they get one, else what differs. */
static void one_round(struct namer *s, bool hashes)
{
	for (uint32_t i = 0; i < s->n; i++)
		/* by name, too: whatever order they came in */
		s->order[i] = (struct ws_row_key){.text = {label_of(s, i), s->names[i]}, .row = i};
	ws_row_keys_sort(s->order, s->n);
	for (size_t first = 0, end; first < s->n; first = end) {
		for (end = first + 1; end < s->n; end++)
			if (ws_name_compare(label_of(s, s->order[first].row),
			                    label_of(s, s->order[end].row)))
				break;
		if (end == first + 1)
			continue;
		if (!hashes)
			tell_apart(s, first, end - first);
		for (size_t i = first; hashes && i < end; i++)
			add_hash(s, s->order[i].row);
	}
}

void ws_short_names(const struct ws_bytes *names, size_t n, struct ws_buf *text,
                    struct ws_bytes *out)
{
	struct namer s = {.names = names, .n = n, .text = text};
	struct ws_arena temp = {0};

	WS_NEW(&temp, s.label, n);
	WS_NEW(&temp, s.order, n);
	for (size_t i = 0; i < n; i++) {
		s.label[i].offset = text->len;
		ws_short_name(names[i], text);
		s.label[i].len = text->len - s.label[i].offset;
	}
	one_round(&s, false);
	one_round(&s, true);
	for (size_t i = 0; i < n; i++)
		out[i] = label_of(&s, (uint32_t)i);
	ws_arena_free(&temp);
}
