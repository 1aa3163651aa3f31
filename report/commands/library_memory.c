/*
 * Every allocation of this process, also by its libraries: without memory the program ends with
 * status 5. Libraries do not handle a NULL well. libxlsxwriter crashes at half of its allocations
 * and leaves cells out at a tenth of them; a stream that lacks memory is "cannot open" to its user.
 *
 * Libraries call the malloc that a program defines. The memory is from the next definition: that of
 * the C library, or of an allocator that was preloaded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

#include "formats/base/xalloc.h"

/* Sanitizers have an allocator of their own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* The C library's own, for what the dynamic linker asks while it looks for the next. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t item_bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);

/* Before main() there is one thread. */
__attribute__((constructor)) static void find_next(void)
{
	void *found[] = {dlsym(RTLD_NEXT, "malloc"), dlsym(RTLD_NEXT, "calloc"),
	                 dlsym(RTLD_NEXT, "realloc"), dlsym(RTLD_NEXT, "aligned_alloc")};

	/* C has no conversion of a pointer to a function: POSIX wants their bytes to be the same */
	memcpy(&next_malloc, &found[0], sizeof(next_malloc));
	memcpy(&next_calloc, &found[1], sizeof(next_calloc));
	memcpy(&next_realloc, &found[2], sizeof(next_realloc));
	memcpy(&next_aligned_alloc, &found[3], sizeof(next_aligned_alloc));
}

void *malloc(size_t bytes)
{
	void *p = next_malloc ? next_malloc(bytes) : __libc_malloc(bytes);

	if (!p)
		ws_out_of_memory(bytes);
	return p;
}

void *calloc(size_t n, size_t item_bytes)
{
	void *p = next_calloc ? next_calloc(n, item_bytes) : __libc_calloc(n, item_bytes);

	if (!p)
		ws_out_of_memory(item_bytes && n > SIZE_MAX / item_bytes ? SIZE_MAX
		                                                         : n * item_bytes);
	return p;
}

void *realloc(void *old, size_t bytes)
{
	void *p = next_realloc ? next_realloc(old, bytes) : __libc_realloc(old, bytes);

	/* without bytes it frees */
	if (!p && bytes)
		ws_out_of_memory(bytes);
	return p;
}

void *reallocarray(void *old, size_t n, size_t item_bytes)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, item_bytes, &bytes))
		ws_out_of_memory(SIZE_MAX);
	return realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *p = next_aligned_alloc ? next_aligned_alloc(alignment, bytes)
	                             : __libc_memalign(alignment, bytes);

	if (!p)
		ws_out_of_memory(bytes);
	return p;
}

int posix_memalign(void **p, size_t alignment, size_t bytes)
{
	*p = aligned_alloc(alignment, bytes);
	return 0;
}

#endif
