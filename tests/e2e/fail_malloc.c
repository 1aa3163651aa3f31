/*
 * A library to preload: one allocation of the program fails, as if memory were out.
 *   FAIL_MALLOC_AT=N       the Nth call from the start of the process, 1 is the first; none: no
 * call FAIL_MALLOC_LIST=FILE  instead, the numbers of the calls are written there that were the
 * first from their place: the functions that called each other up to it
 *   FAIL_MALLOC_IN=PROGRAM  in programs of this name alone
 * Places in libraries that crash without memory are no places: before these work the program looks
 * for room (ws_xroom).
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

#define FRAMES      6
#define MOST_FRAMES 48
#define PLACES      (1u << 16)

static _Atomic long calls;
static long fail_at;
static int list = -1;
static _Atomic uint64_t places[PLACES]; /* hashes, open addressing; 0 is free */
static _Thread_local int inside;

__attribute__((constructor)) static void start(void)
{
	const char *at = getenv("FAIL_MALLOC_AT"), *path = getenv("FAIL_MALLOC_LIST");
	const char *program = getenv("FAIL_MALLOC_IN");
	void *frames[FRAMES];

	if (program && strcmp(program, program_invocation_short_name) != 0)
		return;
	backtrace(frames, FRAMES); /* what it loads itself does not count */
	fail_at = at ? strtol(at, NULL, 10) : 0;
	list = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
	/* nor does what the loader and the C library asked for before */
	atomic_store(&calls, 0);
}

/* Before these the program sees to it that there is memory. */
static int is_guarded(void *frame)
{
	static const char *const reserved[] = {"regcomp", "regexec", "ws_expression_new",
	                                       "ws_expression_matches", "dlopen"};
	Dl_info info;

	if (!dladdr(frame, &info))
		return 0;
	if (info.dli_fname && strstr(info.dli_fname, "libxlsxwriter"))
		return 1;
	for (size_t i = 0; info.dli_sname && i < sizeof(reserved) / sizeof(*reserved); i++)
		if (!strcmp(info.dli_sname, reserved[i]))
			return 1;
	return 0;
}

/* The functions that called each other up to here. */
static int find_frames(void *frames[MOST_FRAMES], int *guarded)
{
	const int n = backtrace(frames, MOST_FRAMES);

	*guarded = 0;
	for (int i = 0; i < n; i++)
		*guarded |= is_guarded(frames[i]);
	return n;
}

static void list_place(long call)
{
	void *frames[MOST_FRAMES];
	uint64_t hash = 14695981039346656037u, free_place = 0;
	int guarded, n = find_frames(frames, &guarded);

	if (guarded)
		return;
	for (int i = 0; i < n && i < FRAMES; i++)
		hash = (hash ^ (uintptr_t)frames[i]) * 1099511628211u;
	hash |= 1;
	for (uint64_t i = hash >> 20;; i++, free_place = 0) {
		if (atomic_compare_exchange_strong(&places[i % PLACES], &free_place, hash))
			break;
		if (free_place == hash)
			return;
	}
	dprintf(list, "%ld\n", call);
}

static int fails(void)
{
	void *frames[MOST_FRAMES];
	int guarded;
	long call;

	if (inside)
		return 0;
	call = atomic_fetch_add(&calls, 1) + 1;
	if (list >= 0) {
		inside = 1;
		list_place(call);
		inside = 0;
	}
	if (call != fail_at)
		return 0;
	/* with two threads the calls of another run may come in another order */
	inside = 1;
	find_frames(frames, &guarded);
	inside = 0;
	if (guarded)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
	if (fails())
		return ENOMEM;
	*p = __libc_memalign(alignment, size);
	return *p ? 0 : ENOMEM;
}
