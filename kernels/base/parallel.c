#include "kernels/base/tensor.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "formats/base/memory.h"

#define THREADS_MAX 1024

struct ws_pool {
	pthread_mutex_t mutex;
	pthread_cond_t work, done;
	pthread_t *threads;
	int started; /* threads beside the caller's */

	/* the current run; written under the mutex while no thread works */
	void (*fn)(void *arg, int64_t item);
	void *arg;
	int64_t items;
	atomic_int_least64_t next;

	uint64_t generation; /* number of runs begun; under the mutex, as all below */
	int busy;            /* threads that have not finished the current run */
	bool stop;
};

static void take_items(struct ws_pool *pool)
{
	for (;;) {
		int64_t item = atomic_fetch_add(&pool->next, 1);

		if (item >= pool->items)
			return;
		pool->fn(pool->arg, item);
	}
}

static void *worker(void *arg)
{
	struct ws_pool *pool = arg;
	uint64_t seen = 0;

	pthread_mutex_lock(&pool->mutex);
	for (;;) {
		while (pool->generation == seen && !pool->stop)
			pthread_cond_wait(&pool->work, &pool->mutex);
		if (pool->stop)
			break;
		seen = pool->generation;
		pthread_mutex_unlock(&pool->mutex);
		take_items(pool);
		pthread_mutex_lock(&pool->mutex);
		if (--pool->busy == 0)
			pthread_cond_signal(&pool->done);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

enum ws_status ws_pool_create(int threads, struct ws_pool **pool, struct ws_err *err)
{
	WS_FAIL_IF(threads < 0 || threads > THREADS_MAX, err, USAGE, "%d threads; 1 to %d work",
	           threads, THREADS_MAX);
	if (threads == 0) {
		cpu_set_t set;
		int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

		threads = count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : count;
	}
	struct ws_pool *p = ws_xarray(1, sizeof(*p));
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->done, NULL);
	p->threads = ws_xarray((size_t)threads, sizeof(*p->threads));
	while (p->started < threads - 1) {
		if (pthread_create(&p->threads[p->started], NULL, worker, p) != 0) {
			ws_pool_destroy(p);
			return WS_FAIL(err, ENVIRONMENT, "cannot start %d threads", threads);
		}
		p->started++;
	}
	*pool = p;
	return WS_OK;
}

void ws_pool_destroy(struct ws_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	pool->stop = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->mutex);
	for (int i = 0; i < pool->started; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->done);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->mutex);
	free(pool->threads);
	free(pool);
}

int ws_pool_threads(const struct ws_pool *pool)
{
	return pool->started + 1;
}

void ws_pool_run(struct ws_pool *pool, int64_t items, void (*fn)(void *arg, int64_t item),
                 void *arg)
{
	if (items <= 1 || pool->started == 0) {
		for (int64_t i = 0; i < items; i++)
			fn(arg, i);
		return;
	}
	pthread_mutex_lock(&pool->mutex);
	pool->fn = fn;
	pool->arg = arg;
	pool->items = items;
	atomic_store(&pool->next, 0);
	pool->busy = pool->started;
	pool->generation++;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->mutex);

	take_items(pool);

	pthread_mutex_lock(&pool->mutex);
	while (pool->busy > 0)
		pthread_cond_wait(&pool->done, &pool->mutex);
	pthread_mutex_unlock(&pool->mutex);
}
