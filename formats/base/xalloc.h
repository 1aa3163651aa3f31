/*
 * Allocation that does not fail: without memory the program ends, with one line on standard error
 * and exit status 5. It removes temporary files of outputs first, so no output is half written.
 * Never used in code that runs inside the traced program.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

/* As malloc, strdup, strndup and asprintf; the result is for free(), never NULL. */
void *ws_xmalloc(size_t bytes) __attribute__((malloc, returns_nonnull));
char *ws_xstrdup(const char *text) __attribute__((malloc, returns_nonnull));
char *ws_xstrndup(const char *text, size_t most) __attribute__((malloc, returns_nonnull));
char *ws_xformat(const char *fmt, ...)
        __attribute__((format(printf, 1, 2), malloc, returns_nonnull));
char *ws_xvformat(const char *fmt, va_list ap)
        __attribute__((format(printf, 1, 0), malloc, returns_nonnull));
/* As open_memstream, and the end of the stream: then *text has all that was written. */
FILE *ws_xmemstream(char **text, size_t *len) __attribute__((returns_nonnull));
void ws_xfclose(FILE *memstream);
/* n items of zeros; n = 0 is not NULL. */
void *ws_xarray(size_t n, size_t item_bytes) __attribute__((malloc, returns_nonnull));
/* As reallocarray; old is NULL or from these functions. New items are not initialised. */
void *ws_xreallocarray(void *old, size_t n, size_t item_bytes) __attribute__((returns_nonnull));

/* Find out whether this process may have so many more bytes, and end the program if not. For use
 * before a call of a library that crashes, or leaves out work in silence, without memory. */
void ws_xroom(size_t bytes);

/* Pass on the result of a function of libc that opens something, such as fopen: NULL never means
 * lack of memory. */
void *ws_xopened(void *opened);
/* As dlopen: NULL if there is no such library, or it cannot be loaded. */
void *ws_xdlopen(const char *file);

/* End the program with this line on standard error; any thread may call it. For failures that no
 * caller can handle: no memory, no space for a temporary file. */
_Noreturn void ws_end_program(enum ws_status status, const char *text);
_Noreturn void ws_out_of_memory(size_t bytes);
/* Set a function to call before that, once; it must not allocate. NULL: none. */
void ws_out_of_memory_first(void (*clean_up)(void));
/* Set a function that adds a reason or a cure to the message; it may return NULL and must not
 * allocate. NULL: none. */
void ws_out_of_memory_reason(const char *(*reason)(size_t bytes));

/* --- limits --- */

/*
 * The limits of memory and processor time that this process may take for its inputs: a fixed
 * allowance, plus more for each byte and row of an input. A sound input stays far below. One that
 * was made to do harm ends the program, with exit status 5 and a line that names the limit and how
 * to raise it. docs/dev/guarantees.md, section 7.
 */

/*
 * Set the limits for this process. For programs that read files which others made; without this
 * call the other functions do nothing. USAGE: the value of WARPSHEET_MAX_MEMORY or
 * WARPSHEET_MAX_SECONDS, which replace the computed limits, is not one.
 */
enum ws_status ws_allowance_begin(struct ws_err *err);

/* Raise the limits for an input of so many bytes. Any thread may call these two. */
void ws_allowance_file(uint64_t bytes);
/* Raise the limit of time for so many rows, which an input declares. */
void ws_allowance_rows(uint64_t rows);

/* The limit of memory and how to raise it, for a message that a library had no memory. */
const char *ws_allowance_text(void);
