#include "report/base/texts.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"

enum ws_status ws_texts_add(struct ws_texts *t, struct ws_bytes text, uint32_t *number,
                            struct ws_err *err)
{
	uint64_t id = text.len ? ws_strtab_find(&t->known, text.ptr, text.len) : 0;
	void *copy;

	*number = (uint32_t)id;
	if (id || !text.len)
		return WS_OK;
	WS_FORWARD(WS_GROW(t->text, t->n + 2, t->capacity, err));
	copy = malloc(text.len);
	WS_FAIL_IF(!copy, err, NO_MEMORY, "out of memory for the names of the traces");
	memcpy(copy, text.ptr, text.len);
	/* owned from here on, whatever comes */
	t->text[++t->n] = (struct ws_bytes){copy, text.len};
	WS_FORWARD(ws_strtab_add(&t->known, copy, text.len, &id, err));
	*number = (uint32_t)id;
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
	for (size_t i = 1; i <= t->n; i++)
		free((void *)t->text[i].ptr);
	free(t->text);
	free(t->recent);
	ws_strtab_free(&t->known);
	*t = (struct ws_texts){0};
}
