/*
 * Memory that is there or the program ends: one line on standard error and exit
 * status 5. Temporary files of outputs are removed first, so no output is half
 * written. Never in code that runs inside the traced program.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

/* --- limits --------------------------------------------------------------------------------- */

/*
 * How much memory and processor time this process may take for its inputs: so much for any, and
 * more for what they hold. A sound file stays far below; one that was made to do harm ends the
 * program there, with exit status 5 and a line that names the limit and what raises it.
 * docs/dev/guarantees.md, section 7.
 */

/*
 * From now on this process has the limits. For who reads what others made; in a program that does
 * not call it the rest does nothing. USAGE: WARPSHEET_MAX_MEMORY or WARPSHEET_MAX_SECONDS, which
 * take the place of what is worked out here, is none.
 */
enum ws_status ws_allowance_begin(struct ws_err *err);

/* An input of so many bytes is opened. Any thread may call these. */
void ws_allowance_file(uint64_t bytes);
/* … and declares so many rows. */
void ws_allowance_rows(uint64_t rows);

/* Give this process, which becomes another program, the limits that it was started with. */
void ws_allowance_end(void);

/* What the limit of memory is and what raises it, for a message that a library had none. */
const char *ws_allowance_text(void);
