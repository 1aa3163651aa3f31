/* Arrays that grow, their order, and places in those that are in order: one idiom for all. */
#pragma once

#include <stddef.h>

/*
 * Room for `need` items in array, which is NULL or of malloc; capacity (size_t)
 * counts the items there is room for. What is added is not initialised.
 * Without memory the program ends (xalloc.h).
 *   WS_GROW(list->items, list->n + 1, list->capacity);
 */
#define WS_GROW(array, need, capacity) \
	((need) <= (capacity) ? (void)0 : ws_grow(&(array), &(capacity), (need), sizeof(*(array))))

/* The same where array points to the pointer to the items; at least doubles what there was. */
void ws_grow(void *array, size_t *capacity, size_t need, size_t item_bytes);

/* In a function that compares: says which comes first; where they are equal, what follows does. */
#define WS_ORDER_BY(a, b)                          \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/*
 * at = how many of the n first items fit, when those that do come first; fits: of the item at.
 *   WS_COUNT_FIRST(i, list->n, list->items[i].time_ns < time_ns);
 */
#define WS_COUNT_FIRST(at, n, fits)                                \
	do {                                                       \
		size_t ws_low_ = 0, ws_high_ = (n);                \
		while (ws_low_ < ws_high_) {                       \
			(at) = ws_low_ + (ws_high_ - ws_low_) / 2; \
			if (fits)                                  \
				ws_low_ = (at) + 1;                \
			else                                       \
				ws_high_ = (at);                   \
		}                                                  \
		(at) = ws_low_;                                    \
	} while (0)
