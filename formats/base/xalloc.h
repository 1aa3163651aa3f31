/*
 * Memory that is there or the program ends: one line on standard error and exit
 * status 5. Temporary files of outputs are removed first, so no output is half
 * written. Never in code that runs inside the traced program.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "formats/base/status.h"

/* As malloc, strdup, strndup and asprintf; what they return is for free(), never NULL. */
void *ws_xmalloc(size_t bytes) __attribute__((malloc, returns_nonnull));
char *ws_xstrdup(const char *text) __attribute__((malloc, returns_nonnull));
char *ws_xstrndup(const char *text, size_t most) __attribute__((malloc, returns_nonnull));
char *ws_xformat(const char *fmt, ...)
        __attribute__((format(printf, 1, 2), malloc, returns_nonnull));
char *ws_xvformat(const char *fmt, va_list ap)
        __attribute__((format(printf, 1, 0), malloc, returns_nonnull));
/* A stream into memory as of open_memstream, and its end, after which all that was written is
 * there. */
FILE *ws_xmemstream(char **text, size_t *len) __attribute__((returns_nonnull));
void ws_xfclose(FILE *memstream);
/* n items of zeros; n = 0 is not NULL. */
void *ws_xarray(size_t n, size_t item_bytes) __attribute__((malloc, returns_nonnull));
/* old, NULL or of these functions, with room for n items; what is added is not initialised. */
void *ws_xreallocarray(void *old, size_t n, size_t item_bytes) __attribute__((returns_nonnull));

/*
 * Before a library works that crashes without memory, or does without what it was to do: can this
 * process have so many bytes more? Else the program ends.
 */
void ws_xroom(size_t bytes);

/* What a function of libc that opens something returned: fopen, opendir. NULL, but not for lack of
 * memory. */
void *ws_xopened(void *opened);
/* As dlopen: NULL when the library is not here, or none that can be loaded. */
void *ws_xdlopen(const char *file, int flags);

/* End the program with this line on standard error: any thread may call it. For what nobody above
 * could do better: no memory, no room for a temporary file. */
_Noreturn void ws_end_program(enum ws_status status, const char *text);
_Noreturn void ws_out_of_memory(size_t bytes);
/* What is called before that, once; it may not ask for memory. NULL: nothing. */
void ws_out_of_memory_first(void (*clean_up)(void));
/* Who knows more for the message: why there is none for so many bytes, or a cure; it may return
 * NULL, and may not ask for memory. */
void ws_out_of_memory_reason(const char *(*reason)(size_t bytes));
