#include "report/base/texts.h"

#include "formats/base/grow.h"

uint32_t ws_texts_add(struct ws_texts *t, struct ws_bytes text)
{
	const struct ws_strtab_entry *known;

	if (!text.len)
		return 0;
	WS_GROW(t->text, t->n + 2, t->capacity);
	known = ws_strtab_put(&t->known, text.ptr, text.len);
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
