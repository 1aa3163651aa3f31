/* Things that do not depend on each other, by two threads where the machine has two cores. */
#pragma once

#include <stddef.h>

#define WS_PARALLEL_THREADS 2u

/* fn of 0 .. n - 1, in any order; who: which thread does it, below WS_PARALLEL_THREADS. Returns
 * when all is done. Where no thread can be made, this one does all. */
void ws_parallel(size_t n, void (*fn)(void *ctx, size_t i, unsigned who), void *ctx);
