/*
 * Work that another thread does meanwhile, where the machine has a second core and a thread to
 * give. What comes out does not depend on that.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Starts as all zeros. */
struct ws_task {
	void (*fn)(void *ctx); /* NULL: nothing is under way */
	void *ctx;
	bool has_thread;
	pthread_t thread;
};

/* Begins fn(ctx); each task that was begun is ended, once. */
void ws_task_begin(struct ws_task *t, void (*fn)(void *ctx), void *ctx);
/* Returns when it is done; also of one that was not begun. */
void ws_task_end(struct ws_task *t);
