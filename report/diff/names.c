/* Names shared by recordings: texts, places and items as numbers. */

#include "report/diff/recording.h"

void ws_names_release(struct ws_names *names)
{
	ws_texts_release(&names->texts);
	ws_texts_release(&names->place_keys);
	ws_texts_release(&names->items);
	ws_texts_release(&names->likenesses);
	free(names->places);
	free(names->parents);
	*names = (struct ws_names){0};
}

uint32_t ws_names_add_place(struct ws_names *names, const struct ws_place *place, uint32_t parent)
{
	const uint32_t number =
	        ws_texts_add(&names->place_keys, (struct ws_bytes){place, sizeof(*place)}) - 1;

	if (number < names->nplaces)
		return number;
	WS_GROW(names->places, names->nplaces + 1, names->places_capacity);
	WS_GROW(names->parents, names->nplaces + 1, names->parents_capacity);
	names->parents[names->nplaces] = parent;
	names->places[names->nplaces++] = *place;
	return number;
}

uint32_t ws_names_add_item(struct ws_names *names, struct ws_work_item *item)
{
	const uint32_t key[WS_LIKENESSES][4] = {
	        {WS_LIKE_KIND_AND_SHAPE, item->phase, item->kind, item->shape},
	        {WS_LIKE_KIND, item->phase, item->kind, 0},
	        {WS_LIKE_CLASS, item->phase, item->class, 0},
	};

	for (int i = 0; i < WS_LIKENESSES; i++)
		item->likeness[i] =
		        ws_texts_add(&names->likenesses, (struct ws_bytes){key[i], sizeof(key[i])});
	return ws_texts_add(&names->items, (struct ws_bytes){item, sizeof(*item)});
}

uint32_t ws_reader_text(struct ws_reader *c, uint32_t text)
{
	if (!text)
		return 0;
	if (c->text_of[text] == WS_NONE)
		c->text_of[text] = ws_texts_add(&c->names->texts, c->m->texts[text]);
	return c->text_of[text];
}
