#include "formats/base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"

#define FIRST_ITEMS 16

void ws_grow(void *array, size_t *capacity, size_t need, size_t item_bytes)
{
	size_t want = *capacity < FIRST_ITEMS / 2 ? FIRST_ITEMS
	              : *capacity < SIZE_MAX / 2  ? *capacity * 2
	                                          : need;
	void *items;

	if (want < need)
		want = need;
	/* an array of any type: only its bytes may be looked at through void * */
	memcpy(&items, array, sizeof(items));
	items = ws_xreallocarray(items, want, item_bytes);
	memcpy(array, &items, sizeof(items));
	*capacity = want;
}
