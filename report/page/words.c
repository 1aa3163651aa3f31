/* Names of the model. */
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
