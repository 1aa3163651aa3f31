/*
 * Allocation that does not fail: without memory the program ends, with one line on standard error
 * and exit status 5. It removes temporary files of outputs first, so no output is half written.
 * Never used in code that runs inside the traced program.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
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
void ws_end_program(enum ws_status status, const char *text) __attribute__((noreturn));
void ws_out_of_memory(size_t bytes) __attribute__((noreturn));
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

/* Arrays that grow, sorting, and searching in sorted arrays. */

/*
 * Makes room for `need` items in array, which is NULL or from malloc. capacity (a size_t) is the
 * number of items that it has room for; it at least doubles when it is too small. New items are not
 * initialised. Without memory the program ends (above).
 *   WS_GROW(list->items, list->n + 1, list->capacity);
 */
#define WS_GROW(array, need, capacity) \
	((need) <= (capacity) ? (void)0 : ws_grow(&(array), &(capacity), (need), sizeof(*(array))))

/* The same; array points to the pointer to the items. */
void ws_grow(void *array, size_t *capacity, size_t need, size_t item_bytes);

/* Sorting that keeps the order of equal items, so that it is the same on every system. */
void ws_sort(void *items, size_t n, size_t size, int (*compare)(const void *a, const void *b));
/* The same; ctx is given to compare. */
void ws_sort_by(void *items, size_t n, size_t size,
                int (*compare)(const void *a, const void *b, void *ctx), void *ctx);

/* In a comparison function: returns the order of a and b, unless they are equal. */
#define WS_ORDER_BY(a, b)                          \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/*
 * Sets `at` to the number of the first items for which `fits` is true, an expression of `at`. It
 * must be false for all items after those. WS_COUNT_FIRST(i, list->n, list->items[i].time_ns <
 * time_ns);
 */
#define WS_COUNT_FIRST(at, n, fits)                                \
	do {                                                       \
		size_t ws_low_ = 0, ws_high_ = (n);                \
		while (ws_low_ < ws_high_) {                       \
			(at) = ws_low_ + (ws_high_ - ws_low_) / 2; \
			if (fits)                                  \
				ws_low_ = (at) + 1;                \
			else                                       \
				ws_high_ = (at);                   \
		}                                                  \
		(at) = ws_low_;                                    \
	} while (0)

/* Memory that is freed all at once. Nothing in it moves. Without memory the program ends
 * (above). */

struct ws_arena_chunk;

/* All zero is an empty arena. Free with ws_arena_free. */
struct ws_arena {
	struct ws_arena_chunk *chunks;
};

/* Pieces of this size or more lie in files without names (in $TMPDIR or /tmp), if there is space:
 * so the arrays of an hour's trace need not fit into memory. */
#define WS_ARENA_FILE_BYTES ((size_t)32 << 20)

/* size zero bytes, aligned for any type. */
void *ws_arena_alloc(struct ws_arena *arena, size_t size) __attribute__((returns_nonnull));
/* n items of zeros; n = 0 is not NULL. */
void *ws_arena_array(struct ws_arena *arena, size_t n, size_t item_bytes)
        __attribute__((returns_nonnull));
/* p = n zero items of what p points to. */
#define WS_NEW(arena, p, n) ((p) = ws_arena_array((arena), (n), sizeof(*(p))))
/* A copy of len bytes, followed by a NUL. */
char *ws_arena_copy(struct ws_arena *arena, const void *bytes, size_t len)
        __attribute__((returns_nonnull));
char *ws_arena_format(struct ws_arena *arena, const char *fmt, ...)
        __attribute__((format(printf, 2, 3), returns_nonnull));
char *ws_arena_vformat(struct ws_arena *arena, const char *fmt, va_list ap) /* NULL: for free() */
        __attribute__((format(printf, 2, 0), returns_nonnull));

void ws_arena_free(struct ws_arena *arena); /* empties it */

/* Interning: equal bytes get the same id. For texts, payloads and launch configurations alike: a
 * struct is interned as its bytes. */

struct ws_strtab_entry {
	uint64_t hash;
	uint64_t id;
	const void *bytes; /* in the arena; they never move */
	size_t len;
};

/* All zero is an empty table. Free with ws_strtab_free. */
struct ws_strtab {
	struct ws_strtab_entry *slots; /* open addressing; id 0 = free */
	size_t nslots;                 /* a power of two, or 0 */
	size_t used;
	uint64_t next_id;      /* 0 in an empty table means 1 */
	struct ws_arena arena; /* of the bytes */
};

/* The id of these bytes, 0 if they are not in the table. */
uint64_t ws_strtab_find(const struct ws_strtab *t, const void *bytes, size_t len);
/* The id of these bytes. New ones are copied into the table and get the next id. */
uint64_t ws_strtab_add(struct ws_strtab *t, const void *bytes, size_t len);
/* The same, as the table's entry, which is valid until the next bytes are added; its bytes are
 * valid as long as the table. */
const struct ws_strtab_entry *ws_strtab_put(struct ws_strtab *t, const void *bytes, size_t len);
/* Add bytes with the id that they have in a file that is being continued; new ids follow the
 * highest. Of equal bytes, the first id stays. */
enum ws_status ws_strtab_load(struct ws_strtab *t, const void *bytes, size_t len, uint64_t id,
                              struct ws_err *err);
void ws_strtab_free(struct ws_strtab *t); /* empties it */

/* A hash map from 64-bit keys to 64-bit values, such as ids in files to indices of our arrays. */

struct ws_map_entry {
	uint64_t key, value;
};

/* All zero is an empty map. Free with ws_map_free. */
struct ws_map {
	struct ws_map_entry *slots; /* open addressing; key 0 = free */
	size_t nslots;              /* a power of two, or 0 */
	size_t n;                   /* keys in the map */
	bool has_zero;              /* key 0 has no slot */
	uint64_t zero;              /* its value */
};

/* NULL if the key is not in the map; borrowed until the map changes. */
const uint64_t *ws_map_get(const struct ws_map *m, uint64_t key);
/* Add a key; if it is in the map already, its value stays. */
void ws_map_add(struct ws_map *m, uint64_t key, uint64_t value);
/* Set the value of a key. */
void ws_map_put(struct ws_map *m, uint64_t key, uint64_t value);
void ws_map_free(struct ws_map *m); /* empties it */
