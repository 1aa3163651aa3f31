/* The buffers of the fake CUPTI, and who hands them over: see fake_cupti.h. */
#include "tests/recorder/cuda/fake_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct full {
	struct scope *scope;
	uint8_t *bytes;
	size_t size, used;
	struct full *next;
};

struct scope fake_scopes[SCOPES];
_Atomic int fake_has_context, fake_is_final, fake_cuda_is_gone;
_Atomic int fake_has_all_sync = 1;
int fake_system_threads;
uint64_t (*fake_timestamp)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some_full = PTHREAD_COND_INITIALIZER;
static struct buffer *buffers;
static struct full *full_first, **full_last = &full_first;
static __thread struct buffer *mine[SCOPES];
static _Atomic size_t dropped;

void fake_must(int is_legal, const char *what)
{
	if (is_legal)
		return;
	fprintf(stderr, "fake CUPTI: %s\n", what);
	abort();
}

long fake_setting(const char *name, long otherwise)
{
	const char *value = getenv(name);

	return value ? strtol(value, NULL, 10) : otherwise;
}

long fake_setting_of(enum setting which)
{
	static const char *const names[] = {
#define X(name) "FAKE_CUPTI_" #name,
	        SETTINGS(X)
#undef X
	};
	static _Atomic long values[SETTING_COUNT]; /* + 1; 0: not looked up */
	long value = atomic_load(&values[which]);

	if (!value) {
		value = fake_setting(names[which], 0) + 1;
		atomic_store(&values[which], value);
	}
	return value - 1;
}

size_t fake_kernel_size(void)
{
	static _Atomic size_t size;

	if (!atomic_load(&size))
		atomic_store(&size,
		             (size_t)fake_setting("FAKE_CUPTI_KERNEL_SIZE",
		                                  fake_setting("FAKE_CUPTI_VERSION", 130001) >=
		                                                  WS_CUPTI_VERSION_13_4
		                                          ? WS_CUPTI_SIZE_kernel_source
		                                          : WS_CUPTI_SIZE_kernel));
	return atomic_load(&size);
}

uint64_t fake_now_ns(void)
{
	struct timespec ts;

	if (fake_timestamp)
		return fake_timestamp();
	if (fake_setting_of(SETTING_RAW_PPM)) {
		static _Atomic int64_t first;
		int64_t none = 0, ns;

		clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
		ns = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
		atomic_compare_exchange_strong(&first, &none, ns);
		return (uint64_t)(ns + (ns - atomic_load(&first)) *
		                               fake_setting_of(SETTING_RAW_PPM) / 1000000);
	}
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* --- handing over --- */

void fake_call_back(uint32_t domain, uint32_t cbid, const void *data)
{
	EACH_SCOPE(s)
	{
		if (s->callback_on[domain][cbid])
			s->callback(NULL, domain, cbid, data);
	}
}

static void complete(struct scope *s, uint8_t *bytes, size_t size, size_t used)
{
	if (s->is_scoped)
		s->scoped_complete(bytes, size, used, NULL);
	else
		s->complete(NULL, 0, bytes, size, used);
}

static void *worker(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		struct full *f = full_first;

		if (!f) {
			pthread_cond_wait(&some_full, &lock);
			continue;
		}
		full_first = f->next;
		if (!full_first)
			full_last = &full_first;
		pthread_mutex_unlock(&lock);
		complete(f->scope, f->bytes, f->size, f->used);
		free(f);
		pthread_mutex_lock(&lock);
	}
	return arg;
}

/* Called with the buffer locked. */
static void hand_to_worker(struct buffer *b)
{
	struct full *f = calloc(1, sizeof(*f));

	*f = (struct full){b->scope, b->bytes, b->size, b->used, NULL};
	b->bytes = NULL;
	pthread_mutex_lock(&lock);
	*full_last = f;
	full_last = &f->next;
	pthread_cond_signal(&some_full);
	pthread_mutex_unlock(&lock);
}

int fake_start(struct scope *s)
{
	static int has_worker;
	pthread_t thread;

	s->is_on = 1;
	if (has_worker++)
		return WS_CUPTI_OK;
	return pthread_create(&thread, NULL, worker, NULL) ? 1 : WS_CUPTI_OK;
}

/* --- writing --- */

struct buffer *fake_lock_buffer(struct scope *s)
{
	struct buffer *b = mine[s - fake_scopes];

	if (!b) {
		b = mine[s - fake_scopes] = calloc(1, sizeof(*b));
		b->scope = s;
		pthread_mutex_init(&b->lock, NULL);
		pthread_mutex_lock(&lock);
		b->next = buffers;
		buffers = b;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&b->lock);
	return b;
}

uint8_t *fake_place(struct buffer *b, size_t size)
{
	size_t max_records;

	if (b->bytes && b->size - b->used < size)
		hand_to_worker(b);
	if (!b->bytes) {
		b->used = 0;
		b->has_kernels = 0;
		if (fake_setting_of(SETTING_REQUEST_US))
			usleep((useconds_t)fake_setting_of(SETTING_REQUEST_US));
		if (b->scope->is_scoped)
			b->scope->scoped_request(&b->bytes, &b->size, &max_records, NULL);
		else
			b->scope->request(&b->bytes, &b->size, &max_records);
		if (!b->bytes) {
			atomic_fetch_add(&dropped, 1);
			return NULL;
		}
	}
	b->used += size;
	return b->bytes + b->used - size;
}

size_t fake_take_dropped(void)
{
	return atomic_exchange(&dropped, 0);
}

/* --- flushing --- */

/* Completes on the calling thread, as the real one may. */
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityFlushAll(uint32_t flag)
{
	struct buffer *b;

	fake_must(atomic_load(&fake_has_context), "flushed before there is a context");
	fake_must(!atomic_load(&fake_is_final), "flushed after it tore itself down");
	if (atomic_load(&fake_cuda_is_gone))
		return WS_CUPTI_OK;
	if (fake_setting_of(SETTING_FLUSH_MS))
		usleep((useconds_t)fake_setting_of(SETTING_FLUSH_MS) * 1000);
	fake_must(!atomic_load(&fake_cuda_is_gone), "flushing while CUDA is torn down");
	if (fake_setting_of(SETTING_FOREIGN)) {
		static uint8_t bytes[4096];

		complete(&fake_scopes[0], bytes, sizeof(bytes), 40);
	}
	if (fake_setting_of(SETTING_OVERHEAD))
		fake_put_overhead();
	pthread_mutex_lock(&lock);
	b = buffers;
	pthread_mutex_unlock(&lock);
	for (; b; b = b->next) { /* only ever grows, at its head */
		uint8_t *bytes;
		size_t size, used;
		int has_kernels;

		pthread_mutex_lock(&b->lock);
		/* the real one hands over no buffer with a kernel that runs, unless forced */
		if (fake_setting_of(SETTING_BUSY) && b->has_kernels && !flag) {
			pthread_mutex_unlock(&b->lock);
			continue;
		}
		bytes = b->bytes;
		size = b->size;
		used = b->used;
		has_kernels = b->has_kernels;
		b->bytes = NULL;
		pthread_mutex_unlock(&b->lock);
		if (bytes && has_kernels && !flag && fake_setting_of(SETTING_HOLD_MS))
			usleep((useconds_t)fake_setting_of(SETTING_HOLD_MS) * 1000);
		if (bytes)
			complete(b->scope, bytes, size, used);
	}
	for (;;) {
		struct full *f;

		pthread_mutex_lock(&lock);
		f = full_first;
		if (f && !(full_first = f->next))
			full_last = &full_first;
		pthread_mutex_unlock(&lock);
		if (!f)
			return WS_CUPTI_OK;
		complete(f->scope, f->bytes, f->size, f->used);
		free(f);
	}
}

/* What the context has not handed over goes with it, unless the tool flushes at its entry. */
void fake_cupti_reset(void)
{
	struct ws_cupti_api_callback data = {WS_CUPTI_SITE_ENTER};
	struct buffer *b;

	fake_call_back(WS_CUPTI_DOMAIN_RUNTIME, WS_CUPTI_CBID_RUNTIME_DEVICE_RESET, &data);
	pthread_mutex_lock(&lock);
	b = buffers;
	pthread_mutex_unlock(&lock);
	for (; b; b = b->next) {
		pthread_mutex_lock(&b->lock);
		if (b->bytes)
			memset(b->bytes, 0, b->used);
		b->used = 0;
		pthread_mutex_unlock(&b->lock);
	}
}
