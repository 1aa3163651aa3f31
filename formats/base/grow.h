/* Arrays that grow: one idiom for all of them. */
#pragma once

#include <stddef.h>

#include "formats/base/status.h"

/*
 * Room for `need` items in array, which is NULL or of malloc; capacity (size_t)
 * counts the items there is room for. What is added is not initialised. After
 * NO_MEMORY, which comes with a size no memory can have too, all is as before.
 *   WS_FORWARD(WS_GROW(list->items, list->n + 1, list->capacity, err));
 */
#define WS_GROW(array, need, capacity, err) \
	((need) <= (capacity) ? WS_OK       \
	                      : ws_grow(&(array), &(capacity), (need), sizeof(*(array)), (err)))

/* The same where array points to the pointer to the items; at least doubles what there was. */
enum ws_status ws_grow(void *array, size_t *capacity, size_t need, size_t item_bytes,
                       struct ws_err *err);
