/* Sorting that keeps the order of equal items, so that it is the same on every system. */
#pragma once

#include <stddef.h>

void ws_sort(void *items, size_t n, size_t size, int (*compare)(const void *a, const void *b));
/* The same; ctx is given to compare. */
void ws_sort_by(void *items, size_t n, size_t size,
                int (*compare)(const void *a, const void *b, void *ctx), void *ctx);
