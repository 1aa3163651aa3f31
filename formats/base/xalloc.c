#include "formats/base/xalloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *(*_Atomic reason_of)(size_t);
static void (*_Atomic first)(void);

void ws_out_of_memory_reason(const char *(*reason)(size_t bytes))
{
	reason_of = reason;
}

void ws_out_of_memory_first(void (*clean_up)(void))
{
	first = clean_up;
}

/* write() and _exit(): streams and exit handlers may need memory themselves. Of several threads
 * that end at once, the first one speaks. */
_Noreturn void ws_end_program(enum ws_status status, const char *text)
{
	static atomic_flag ends = ATOMIC_FLAG_INIT;
	char line[PATH_MAX + 256];
	int n = snprintf(line, sizeof(line), "%s: %s\n", program_invocation_short_name, text);
	void (*clean_up)(void) = first;

	while (atomic_flag_test_and_set(&ends))
		pause();
	if (clean_up)
		clean_up();
	if (n > 0)
		(void)!write(STDERR_FILENO, line,
		             (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
	_exit(ws_status_exit_code(status));
}

_Noreturn void ws_out_of_memory(size_t bytes)
{
	const char *(*ask)(size_t) = reason_of;
	const char *reason = ask ? ask(bytes) : NULL;
	char text[PATH_MAX + 128];

	snprintf(text, sizeof(text), "out of memory for %zu bytes%s%s", bytes, reason ? "; " : "",
	         reason ? reason : "");
	ws_end_program(WS_NO_MEMORY, text);
}

void ws_xroom(size_t bytes)
{
	void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		ws_out_of_memory(bytes);
	munmap(room, bytes);
}

void *ws_xopened(void *opened)
{
	if (!opened && errno == ENOMEM)
		ws_out_of_memory(0);
	return opened;
}

/* More than loading a library takes, which fails without memory as if its file were not there. */
#define LIBRARY_BYTES ((size_t)4 << 20)

/* errno is dlopen's own of a failed allocation, and stays what it was when a file is not there. */
void *ws_xdlopen(const char *file, int flags)
{
	ws_xroom(LIBRARY_BYTES);
	errno = 0;
	return ws_xopened(dlopen(file, flags));
}

void *ws_xmalloc(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	if (!p)
		ws_out_of_memory(bytes);
	return p;
}

char *ws_xstrndup(const char *text, size_t most)
{
	size_t len = strnlen(text, most);
	char *copy = ws_xmalloc(len + 1);

	memcpy(copy, text, len);
	copy[len] = 0;
	return copy;
}

char *ws_xstrdup(const char *text)
{
	return ws_xstrndup(text, strlen(text));
}

char *ws_xvformat(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		ws_out_of_memory(strlen(fmt));
	return text;
}

char *ws_xformat(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = ws_xvformat(fmt, ap);
	va_end(ap);
	return text;
}

/* The memory of a stream. That of open_memstream loses what it has no room for, and says nothing.
 */
struct memory {
	char **text;
	size_t *len, capacity;
};

static ssize_t memory_write(void *cookie, const char *bytes, size_t n)
{
	struct memory *m = cookie;

	if (n >= m->capacity - *m->len) {
		m->capacity = 2 * m->capacity + n;
		*m->text = ws_xreallocarray(*m->text, m->capacity, 1);
	}
	memcpy(*m->text + *m->len, bytes, n);
	*m->len += n;
	(*m->text)[*m->len] = '\0';
	return (ssize_t)n;
}

static int memory_close(void *cookie)
{
	free(cookie);
	return 0;
}

FILE *ws_xmemstream(char **text, size_t *len)
{
	const cookie_io_functions_t functions = {.write = memory_write, .close = memory_close};
	struct memory *m = ws_xmalloc(sizeof(*m));
	FILE *f;

	*m = (struct memory){text, len, BUFSIZ};
	*text = ws_xmalloc(m->capacity);
	**text = '\0';
	*len = 0;
	f = fopencookie(m, "w", functions);
	if (!f)
		ws_out_of_memory(BUFSIZ);
	return f;
}

void ws_xfclose(FILE *memstream)
{
	if (fclose(memstream))
		ws_out_of_memory(BUFSIZ);
}

/* The bytes of n items; a size that no memory can have where they are too many. */
static size_t bytes_of(size_t n, size_t item_bytes)
{
	size_t bytes;

	return __builtin_mul_overflow(n, item_bytes, &bytes) ? SIZE_MAX : bytes;
}

void *ws_xarray(size_t n, size_t item_bytes)
{
	void *p = calloc(n ? n : 1, item_bytes);

	if (!p)
		ws_out_of_memory(bytes_of(n, item_bytes));
	return p;
}

void *ws_xreallocarray(void *old, size_t n, size_t item_bytes)
{
	void *p = reallocarray(old, n ? n : 1, item_bytes);

	if (!p)
		ws_out_of_memory(bytes_of(n, item_bytes));
	return p;
}
