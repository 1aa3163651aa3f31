#include "report/base/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

/* A thread is not worth fewer. */
#define FEW 8u

struct work {
	void (*fn)(void *ctx, size_t i, unsigned who);
	void *ctx;
	size_t n, next; /* next: of both threads */
};

static void do_some(struct work *w, unsigned who)
{
	size_t i;

	while ((i = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED)) < w->n)
		w->fn(w->ctx, i, who);
}

static void *other_thread(void *arg)
{
	do_some(arg, 1);
	return NULL;
}

void ws_parallel(size_t n, void (*fn)(void *ctx, size_t i, unsigned who), void *ctx)
{
	struct work w = {.fn = fn, .ctx = ctx, .n = n};
	pthread_t thread;
	const bool has_thread = n >= FEW && sysconf(_SC_NPROCESSORS_ONLN) > 1 &&
	                        !pthread_create(&thread, NULL, other_thread, &w);

	do_some(&w, 0);
	if (has_thread)
		pthread_join(thread, NULL);
}
