/* Arrays that grow, sorting, and searching in sorted arrays. */
#pragma once

#include <stddef.h>

/*
 * Makes room for `need` items in array, which is NULL or from malloc. capacity (a size_t) is the
 * number of items that it has room for; it at least doubles when it is too small. New items are not
 * initialised. Without memory the program ends (xalloc.h).
 *   WS_GROW(list->items, list->n + 1, list->capacity);
 */
#define WS_GROW(array, need, capacity) \
	((need) <= (capacity) ? (void)0 : ws_grow(&(array), &(capacity), (need), sizeof(*(array))))

/* The same; array points to the pointer to the items. */
void ws_grow(void *array, size_t *capacity, size_t need, size_t item_bytes);

/* In a comparison function: returns the order of a and b, unless they are equal. */
#define WS_ORDER_BY(a, b)                          \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/*
 * Sets `at` to the number of the first items for which `fits` is true, an expression of `at`. It
 * must be false for all items after those. WS_COUNT_FIRST(i, list->n, list->items[i].time_ns <
 * time_ns);
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
