#include "formats/base/xalloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *hint;
static void (*_Atomic first)(void);

void ws_out_of_memory_hint(const char *text)
{
	hint = text;
}

void ws_out_of_memory_first(void (*clean_up)(void))
{
	first = clean_up;
}

/* write() and _exit(): streams and exit handlers may need memory themselves. */
_Noreturn void ws_end_program(enum ws_status status, const char *text)
{
	char line[PATH_MAX + 256];
	int n = snprintf(line, sizeof(line), "%s: %s\n", program_invocation_short_name, text);
	void (*clean_up)(void) = first;

	if (clean_up)
		clean_up();
	if (n > 0)
		(void)!write(STDERR_FILENO, line,
		             (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
	_exit(ws_status_exit_code(status));
}

_Noreturn void ws_out_of_memory(size_t bytes)
{
	char text[PATH_MAX + 128];

	snprintf(text, sizeof(text), "out of memory for %zu bytes%s%s", bytes, hint ? "; " : "",
	         hint ? hint : "");
	ws_end_program(WS_NO_MEMORY, text);
}

void *ws_xopened(void *opened)
{
	if (!opened && errno == ENOMEM)
		ws_out_of_memory(0);
	return opened;
}

/* errno is dlopen's own of a failed allocation, and stays what it was when a file is not there. */
void *ws_xdlopen(const char *file, int flags)
{
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

FILE *ws_xmemstream(char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);

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
