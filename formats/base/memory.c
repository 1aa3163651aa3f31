#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/options.h"
#include "formats/base/system/system.h"

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

/* By write() and _exit(), because streams and exit handlers may need memory. If several threads end
 * the program at once, only the first one prints its line. */
_Noreturn void ws_end_program(enum ws_status status, const char *text)
{
	static atomic_flag ends = ATOMIC_FLAG_INIT;
	char line[PATH_MAX + 256];
	int n = snprintf(line, sizeof(line), "%s: %s\n", ws_program_name(), text);
	void (*clean_up)(void) = first;

	while (atomic_flag_test_and_set(&ends))
		sleep(1);
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
	if (!ws_memory_has(bytes))
		ws_out_of_memory(bytes);
}

void *ws_xopened(void *opened)
{
	if (!opened && errno == ENOMEM)
		ws_out_of_memory(0);
	return opened;
}

/* More memory than loading a library needs. Without memory, loading fails as if the file did not
 * exist. */
#define LIBRARY_BYTES ((size_t)4 << 20)

void *ws_xdlopen(const char *file)
{
	ws_xroom(LIBRARY_BYTES);
	errno = 0; /* set if memory ran out, but not if the file does not exist */
	return ws_xopened(ws_library_open(file));
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
	return ws_arena_vformat(NULL, fmt, ap);
}

char *ws_xformat(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = ws_xvformat(fmt, ap);
	va_end(ap);
	return text;
}

/* The memory of a stream. open_memstream's drops bytes without an error if memory is short. */
struct memory {
	char **text;
	size_t *len, capacity;
};

static size_t memory_write(void *cookie, const char *bytes, size_t n)
{
	struct memory *m = cookie;

	if (n >= m->capacity - *m->len) {
		m->capacity = 2 * m->capacity + n;
		*m->text = ws_xreallocarray(*m->text, m->capacity, 1);
	}
	memcpy(*m->text + *m->len, bytes, n);
	*m->len += n;
	(*m->text)[*m->len] = '\0';
	return n;
}

static int memory_close(void *cookie)
{
	free(cookie);
	return 0;
}

FILE *ws_xmemstream(char **text, size_t *len)
{
	const struct ws_stream_functions functions = {memory_write, memory_close};
	struct memory *m = ws_xmalloc(sizeof(*m));

	*m = (struct memory){text, len, BUFSIZ};
	*text = ws_xmalloc(m->capacity);
	**text = '\0';
	*len = 0;
	FILE *f = ws_stream_open(&functions, m);
	if (!f)
		ws_out_of_memory(BUFSIZ);
	return f;
}

void ws_xfclose(FILE *memstream)
{
	if (ws_stream_close(memstream))
		ws_out_of_memory(BUFSIZ);
}

/* The bytes of n items; SIZE_MAX, which no memory has, if that overflows. */
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
	const size_t bytes = bytes_of(n ? n : 1, item_bytes);
	void *p = bytes <= PTRDIFF_MAX ? realloc(old, bytes) : NULL;

	if (!p)
		ws_out_of_memory(bytes_of(n, item_bytes));
	return p;
}

/* --- arrays that grow --- */

#define FIRST_ITEMS 16

void ws_grow(void *array, size_t *capacity, size_t need, size_t item_bytes)
{
	size_t want = *capacity < FIRST_ITEMS / 2 ? FIRST_ITEMS
	              : *capacity < SIZE_MAX / 2  ? *capacity * 2
	                                          : need;
	void *items;

	if (need <= *capacity)
		return;
	if (want < need)
		want = need;
	/* array may be of any type, so its pointer may only be copied */
	memcpy(&items, array, sizeof(items));
	items = ws_xreallocarray(items, want, item_bytes);
	memcpy(array, &items, sizeof(items));
	*capacity = want;
}

/* --- arenas --- */

/* Chunks double up to this, as zeros of many small arenas would take longer than their use. */
#define CHUNK_BYTES ((size_t)64 << 10)
#define FIRST_BYTES ((size_t)2 << 10)
#define ALIGNMENT   _Alignof(max_align_t)

struct ws_arena_chunk {
	struct ws_arena_chunk *next;
	size_t used, size;
	struct ws_region file; /* all zero: none */
	max_align_t data[];
};

/* Add a chunk with room for size bytes. A large piece gets a chunk of its own, behind the first
 * one, which still has room. */
static struct ws_arena_chunk *add_chunk(struct ws_arena *arena, size_t size)
{
	struct ws_arena_chunk *chunk = NULL, **at = &arena->chunks;
	size_t room = FIRST_BYTES, bytes;
	struct ws_region file;

	while (room < CHUNK_BYTES && (room < size || (*at && room <= (*at)->size)))
		room *= 2;
	if (size > CHUNK_BYTES / 4)
		room = size;
	bytes = sizeof(*chunk) + room;
	/* in a file without a name, which goes to the disk when memory is short */
	if (room >= WS_ARENA_FILE_BYTES) {
		if (!ws_region_open(&file, bytes, true) && !ws_region_grow(&file, bytes)) {
			chunk = file.data;
			chunk->file = file;
		} else {
			ws_region_close(&file);
		}
	}
	if (!chunk)
		chunk = ws_xarray(1, bytes);
	chunk->size = room;
	if (room == size && *at)
		at = &(*at)->next;
	chunk->next = *at;
	*at = chunk;
	return chunk;
}

void *ws_arena_alloc(struct ws_arena *arena, size_t size)
{
	struct ws_arena_chunk *chunk = arena->chunks;

	if (size > SIZE_MAX / 2)
		ws_out_of_memory(size);
	size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (!chunk || chunk->size - chunk->used < rounded)
		chunk = add_chunk(arena, rounded);
	chunk->used += rounded;
	return (char *)chunk->data + chunk->used - rounded;
}

void *ws_arena_array(struct ws_arena *arena, size_t n, size_t item_bytes)
{
	const size_t size = bytes_of(n, item_bytes);

	return ws_arena_alloc(arena, size ? size : 1);
}

char *ws_arena_copy(struct ws_arena *arena, const void *bytes, size_t len)
{
	char *copy = ws_arena_alloc(arena, len < SIZE_MAX ? len + 1 : len);

	if (len)
		memcpy(copy, bytes, len);
	return copy;
}

char *ws_arena_vformat(struct ws_arena *arena, const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, ap);
	if (len < 0)
		ws_out_of_memory(strlen(fmt));
	char *text = arena ? ws_arena_alloc(arena, (size_t)len + 1) : ws_xmalloc((size_t)len + 1);
	vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	return text;
}

char *ws_arena_format(struct ws_arena *arena, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = ws_arena_vformat(arena, fmt, ap);
	va_end(ap);
	return text;
}

void ws_arena_free(struct ws_arena *arena)
{
	while (arena->chunks) {
		struct ws_arena_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		if (chunk->file.data) {
			struct ws_region file = chunk->file; /* its memory holds chunk */

			ws_region_close(&file);
		} else {
			free(chunk);
		}
	}
}

/* --- limits --- */

#define MEMORY_VARIABLE  "WARPSHEET_MAX_MEMORY"
#define SECONDS_VARIABLE "WARPSHEET_MAX_SECONDS"

/* Limits for inputs of any size. */
#define ANY_BYTES   (UINT64_C(480) << 20)
#define ANY_SECONDS 10
/* Limit of memory per byte of the file, as names that compress well are many in few bytes. Rows
 * need none, as they are in files (report/base/spill.h). */
#define MEMORY_PER_BYTE 256
/* Limits of time per row and per byte. Writing a row of a table as text takes 1 µs, reading a well
 * compressed byte of JSON 1 µs. */
#define ROWS_PER_SECOND  200000
#define BYTES_PER_SECOND 100000

static struct {
	pthread_mutex_t lock;
	bool has_begun;
	uint64_t bytes, rows;            /* of all inputs */
	int64_t max_memory, max_seconds; /* limits set in the environment; 0: none */
	/* message made in advance, for a signal handler and for the end of memory */
	uint64_t memory_limit;
	char memory_text[256], time_text[256];
} limits = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The message if our own limit refuses this many more bytes. NULL: it does not. */
static const char *why_no_memory(size_t bytes)
{
	return limits.memory_limit && ws_limits_refuse(limits.memory_limit, bytes)
	               ? limits.memory_text
	               : NULL;
}

const char *ws_allowance_text(void)
{
	return limits.memory_text;
}

static void end_in_time(void)
{
	ssize_t ignored = write(STDERR_FILENO, limits.time_text, strlen(limits.time_text));
	void (*clean_up)(void) = first;

	(void)ignored;
	/* it only reads memory and calls unlink() */
	if (clean_up)
		clean_up();
	_exit(ws_status_exit_code(WS_NO_MEMORY)); /* NOLINT(bugprone-signal-handler) */
}

static void set_limits(void)
{
	const double mb = (double)limits.bytes / 1e6;
	const uint64_t memory = limits.max_memory ? (uint64_t)limits.max_memory
	                                          : ANY_BYTES + limits.bytes * MEMORY_PER_BYTE;
	const uint64_t seconds = limits.max_seconds
	                                 ? (uint64_t)limits.max_seconds
	                                 : ANY_SECONDS + limits.bytes / BYTES_PER_SECOND +
	                                           limits.rows / ROWS_PER_SECOND;

	snprintf(limits.memory_text, sizeof(limits.memory_text),
	         "the limit for inputs of %.2f MB is %" PRIu64
	         " MB of memory. Raise it with " MEMORY_VARIABLE "=%" PRIu64 "G",
	         mb, memory >> 20, (memory >> 29) + 1);
	snprintf(limits.time_text, sizeof(limits.time_text),
	         "%s: out of time; the limit for inputs of %.2f MB and %" PRIu64 " rows is %" PRIu64
	         " s of processor time. Raise it with " SECONDS_VARIABLE "=%" PRIu64 "\n",
	         ws_program_name(), mb, limits.rows, seconds, 10 * seconds);
	limits.memory_limit = memory;
	ws_limits_set(memory, seconds);
}

static void raise_limits(uint64_t bytes, uint64_t rows)
{
	pthread_mutex_lock(&limits.lock);
	if (limits.has_begun) {
		limits.bytes += bytes;
		limits.rows += rows;
		set_limits();
	}
	pthread_mutex_unlock(&limits.lock);
}

void ws_allowance_file(uint64_t bytes)
{
	raise_limits(bytes, 0);
}

void ws_allowance_rows(uint64_t rows)
{
	raise_limits(0, rows);
}

/* Reads a number above 0 from the environment; unchanged if there is none. */
static enum ws_status read_variable(const char *name, const char *what, int64_t *number,
                                    struct ws_err *err)
{
	const char *text = getenv(name);

	if (!text || !*text)
		return WS_OK;
	WS_FAIL_IF(!ws_size_parse(text, number) || *number < 1, err, USAGE,
	           "the variable %s needs %s, not '%s'", name, what, text);
	return WS_OK;
}

enum ws_status ws_allowance_begin(struct ws_err *err)
{
	WS_FORWARD(read_variable(MEMORY_VARIABLE, "a size in bytes, such as 800M or 4G",
	                         &limits.max_memory, err));
	WS_FORWARD(
	        read_variable(SECONDS_VARIABLE, "a number of seconds", &limits.max_seconds, err));
	ws_limits_begin(end_in_time);
	limits.has_begun = true;
	ws_out_of_memory_reason(why_no_memory);
	set_limits();
	return WS_OK;
}
