#include "report/base/texts.h"

#include <stdlib.h>

#include "formats/base/grow.h"

enum ws_status ws_texts_add(struct ws_texts *t, struct ws_bytes text, uint32_t *number,
                            struct ws_err *err)
{
	const struct ws_strtab_entry *known;

	*number = 0;
	if (!text.len)
		return WS_OK;
	WS_FORWARD(WS_GROW(t->text, t->n + 2, t->capacity, err));
	WS_FORWARD(ws_strtab_put(&t->known, text.ptr, text.len, &known, err));
	*number = (uint32_t)known->id;
	if (known->id > t->n)
		t->text[++t->n] = (struct ws_bytes){known->bytes, known->len};
	return WS_OK;
}

enum ws_status ws_texts_add_str(struct ws_texts *t, const char *text, uint32_t *number,
                                struct ws_err *err)
{
	return ws_texts_add(t, ws_bytes_of(text), number, err);
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
