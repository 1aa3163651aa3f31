/*
 * A pool of threads for the CPU reference backend.
 *
 * Plain pthreads, so that the thread sanitizer understands it. The caller's
 * thread works too; a pool of 1 has no other.
 */
#pragma once

#include <stdint.h>

#include "formats/base/status.h"

struct ws_pool;

/* threads: 1 … 1024; 0: one for each CPU that this process may use. */
enum ws_status ws_pool_create(int threads, struct ws_pool **pool, struct ws_err *err);
void ws_pool_destroy(struct ws_pool *pool);
int ws_pool_threads(const struct ws_pool *pool);

/*
 * Call fn(arg, item) for every item in 0 … items - 1 and return when all are
 * done. Which thread gets which item, and when, is open: fn must not care.
 * One run at a time.
 */
void ws_pool_run(struct ws_pool *pool, int64_t items, void (*fn)(void *arg, int64_t item),
                 void *arg);
