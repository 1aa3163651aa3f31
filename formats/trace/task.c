#include "formats/trace/task.h"

#include <unistd.h>

static void *run(void *arg)
{
	struct ws_task *t = arg;

	t->fn(t->ctx);
	return NULL;
}

void ws_task_begin(struct ws_task *t, void (*fn)(void *ctx), void *ctx)
{
	t->fn = fn;
	t->ctx = ctx;
	t->has_thread =
	        sysconf(_SC_NPROCESSORS_ONLN) > 1 && pthread_create(&t->thread, NULL, run, t) == 0;
}

void ws_task_end(struct ws_task *t)
{
	if (t->has_thread)
		pthread_join(t->thread, NULL);
	else if (t->fn)
		t->fn(t->ctx);
	*t = (struct ws_task){0};
}
