/* What recordings share: texts, places and items as numbers. */
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/diff/reader.h"

void ws_names_release(struct ws_names *names)
{
	ws_texts_release(&names->texts);
	ws_texts_release(&names->place_keys);
	ws_texts_release(&names->items);
	ws_texts_release(&names->likenesses);
	free(names->places);
	*names = (struct ws_names){0};
}

void ws_names_add_place(struct ws_names *names, const struct ws_place *place, uint32_t *number)
{
	*number = ws_texts_add(&names->place_keys, (struct ws_bytes){place, sizeof(*place)});
	--*number;
	if (*number < names->nplaces)
		return;
	WS_GROW(names->places, names->nplaces + 1, names->places_capacity);
	names->places[names->nplaces++] = *place;
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

/* Texts, places and items as the comparison numbers them, in the order of their own numbers: so the
 * numbers do not depend on who read it when. text: one entry for each of its own. */
static void take(struct ws_names *names, const struct ws_names *own, struct ws_recording *r,
                 uint32_t *text)
{
	for (uint32_t i = 1; i <= own->texts.n; i++)
		text[i] = ws_texts_add(&names->texts, own->texts.text[i]);
	for (uint32_t i = 0; i < own->nplaces; i++) {
		struct ws_place place;

		memcpy(&place, own->place_keys.text[i + 1].ptr, sizeof(place)); /* and its holes */
		place.text = text[place.text];
		place.domain = text[place.domain];
		ws_names_add_place(names, &place, &r->place_of[i]);
	}
	for (uint32_t i = 1; i <= own->items.n; i++) {
		struct ws_work_item item = *ws_names_item(own, i);
		uint32_t *const texts[] = {&item.op,    &item.kind,  &item.shape,
		                           &item.class, &item.dtype, &item.kernels};

		for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
			*texts[k] = text[*texts[k]];
		if (item.place != WS_NONE)
			item.place = r->place_of[item.place];
		r->item_of[i] = ws_names_add_item(names, &item);
	}
}

void ws_names_take(struct ws_names *names, const struct ws_names *own, struct ws_recording *r)
{
	struct ws_arena temp = {0};
	uint32_t *text;

	WS_NEW(&temp, text, own->texts.n + 1);
	r->item_of = ws_xarray(own->items.n + 1, sizeof(*r->item_of));
	r->place_of = ws_xarray(own->nplaces + 1, sizeof(*r->place_of));
	take(names, own, r, text);
	r->name = text[r->name];
	for (size_t i = 0; i < r->nfacts; i++)
		r->facts[i] =
		        (struct ws_recorded_fact){text[r->facts[i].key], text[r->facts[i].value]};
	for (size_t i = 0; i < r->ndtypes; i++)
		r->dtypes[i] = (struct ws_recorded_fact){r->place_of[r->dtypes[i].key],
		                                         text[r->dtypes[i].value]};
	for (size_t i = 0; i < r->nclasses; i++)
		r->classes[i].class = text[r->classes[i].class];
	ws_arena_free(&temp);
}

uint32_t ws_reader_text(struct ws_reader *c, uint32_t text)
{
	if (!text)
		return 0;
	if (c->text_of[text] == WS_NONE)
		c->text_of[text] = ws_texts_add(&c->names->texts, c->m->texts[text]);
	return c->text_of[text];
}
