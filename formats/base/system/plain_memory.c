/* Files as memory, and regions, where a program has one piece of memory that only grows:
 * WebAssembly. A region has all the addresses that it may need, so that it grows without being
 * copied; memory that was never written costs nothing. What a region held is used again. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#ifndef __wasi__ /* Linux, for tests */
#include <sys/mman.h>
#endif

#include "formats/base/system/system.h"

#define PAGE_BYTES ((size_t)64 << 10)

/* --- stretches of pages: those that are free, by address --- */

struct stretch {
	size_t bytes;
	struct stretch *next; /* NULL: none */
};

static struct stretch *free_stretches;

static size_t whole_pages(size_t bytes)
{
	return bytes > SIZE_MAX - PAGE_BYTES ? SIZE_MAX / PAGE_BYTES * PAGE_BYTES
	                                     : (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static void give(void *at, size_t bytes)
{
	struct stretch **place = &free_stretches, *before = NULL, *given = at;

	if (!bytes)
		return;
	for (; *place && *place < given; place = &(*place)->next)
		before = *place;
	*given = (struct stretch){bytes, *place};
	*place = given;
	if (given->next && (char *)given + given->bytes == (char *)given->next) {
		given->bytes += given->next->bytes;
		given->next = given->next->next;
	}
	if (before && (char *)before + before->bytes == (char *)given) {
		before->bytes += given->bytes;
		before->next = given->next;
	}
}

/* The first free stretch that is long enough, or new memory; NULL: there is none. */
static void *take(size_t bytes, bool *is_zero)
{
	for (struct stretch **place = &free_stretches; *place; place = &(*place)->next) {
		struct stretch *found = *place;
		const struct stretch rest = {found->bytes - bytes, found->next};

		if (found->bytes < bytes)
			continue;
		*place = found->next;
		if (rest.bytes) {
			*place = (struct stretch *)(void *)((char *)found + bytes);
			**place = rest;
		}
		*is_zero = false;
		return found;
	}
	*is_zero = true;
#ifdef __wasi__
	const size_t page = __builtin_wasm_memory_grow(0, bytes / PAGE_BYTES);

	return page == SIZE_MAX ? NULL : (void *)(page * PAGE_BYTES);
#else
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
#endif
}

/* --- files --- */

const void *ws_file_map(int fd, size_t size)
{
	bool is_zero;
	char *data = take(whole_pages(size), &is_zero);
	size_t n = 0;

	if (!data) {
		errno = ENOMEM;
		return NULL;
	}
	lseek(fd, 0, SEEK_SET);
	for (ssize_t got; n < size && (got = read(fd, data + n, size - n)) > 0;)
		n += (size_t)got;
	if (n == size)
		return data;
	give(data, whole_pages(size));
	errno = EIO;
	return NULL;
}

void ws_file_unmap(const void *data, size_t size)
{
	give((void *)(uintptr_t)data, whole_pages(size));
}

/* --- regions --- */

int ws_region_open(struct ws_region *r, size_t most_bytes, bool is_file)
{
	*r = (struct ws_region){.most_bytes = most_bytes, .fd = -1};
	int why = ws_region_grow(r, is_file && most_bytes > PAGE_BYTES ? PAGE_BYTES : most_bytes);
	errno = why;
	return why ? -1 : 0;
}

int ws_region_grow(struct ws_region *r, size_t bytes)
{
	if (bytes <= r->bytes)
		return 0;
	/* move to the addresses for all that it may hold or, if there are too few, for so many
	 * bytes */
	if (bytes > r->taken_bytes) {
		size_t taken_bytes = whole_pages(r->taken_bytes ? r->most_bytes : bytes);
		bool is_zero;
		void *data = take(taken_bytes, &is_zero);

		if (!data) {
			taken_bytes = whole_pages(bytes);
			data = take(taken_bytes, &is_zero);
		}
		if (!data)
			return ENOMEM;
		if (r->data)
			memcpy(data, r->data, r->bytes);
		give(r->data, r->taken_bytes);
		r->data = data;
		r->taken_bytes = taken_bytes;
		r->is_zero = is_zero;
	}
	if (!r->is_zero)
		memset((char *)r->data + r->bytes, 0, bytes - r->bytes);
	r->bytes = bytes;
	return 0;
}

void ws_region_close(struct ws_region *r)
{
	give(r->data, r->taken_bytes);
	*r = (struct ws_region){0};
}
