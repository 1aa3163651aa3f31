#include "formats/base/xalloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "formats/base/options.h"

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

/* --- limits --------------------------------------------------------------------------------- */

#define MEMORY_VARIABLE  "WARPSHEET_MAX_MEMORY"
#define SECONDS_VARIABLE "WARPSHEET_MAX_SECONDS"

/* What any inputs may take. */
#define ANY_BYTES   (UINT64_C(480) << 20)
#define ANY_SECONDS 10
/* What each byte of a file may take in memory: names that compress well are many in few bytes. Rows
 * take none, since they lie in files (report/base/spill.h). */
#define MEMORY_PER_BYTE 256
/* What a row may take of time, and a byte: a row of a table that is written as text takes 1 µs, a
 * byte of JSON that is packed well 1 µs. */
#define ROWS_PER_SECOND  200000
#define BYTES_PER_SECOND 100000

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_MEMORY false /* their shadow memory counts as data, too: terabytes */
#else
#define LIMITS_MEMORY true
#endif

static struct {
	pthread_mutex_t lock;
	bool has_begun;
	uint64_t bytes, rows;            /* of all inputs */
	int64_t max_memory, max_seconds; /* of the environment; 0: none */
	struct rlimit memory_before, cpu_before;
	/* for a handler of a signal, and where memory ran out: made beforehand */
	uint64_t memory_limit;
	char memory_text[256], time_text[256];
} limits = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Bytes of memory that count for the limit; 0: not known. Asks for no memory. */
static uint64_t memory_in_use(void)
{
	const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	unsigned long long pages[6] = {0};
	char text[128] = "", *at = text;

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	for (size_t i = 0; i < 6; i++)
		pages[i] = strtoull(at, &at, 10);
	return (uint64_t)pages[5] * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What the C library asks for at once on behalf of something smaller, at most. */
#define SPARE_BYTES (UINT64_C(1) << 20)

/* Can so many bytes be had under the limit that the process was started with? */
static bool is_there_memory_without_limit(size_t bytes)
{
	struct rlimit now;
	void *room;

	getrlimit(RLIMIT_DATA, &now);
	setrlimit(RLIMIT_DATA, &limits.memory_before);
	room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	setrlimit(RLIMIT_DATA, &now);
	return room != MAP_FAILED && munmap(room, bytes) == 0;
}

/*
 * Why there was no memory for so many bytes more: our limit. NULL: for another reason. What is in
 * use now is not evidence enough, as other threads may have freed memory since.
 */
static const char *why_no_memory(size_t bytes)
{
	const uint64_t used = memory_in_use(), most = limits.memory_limit;

	if (!most || limits.memory_before.rlim_cur < most ||
	    (used + SPARE_BYTES <= most && bytes <= most - used - SPARE_BYTES &&
	     !is_there_memory_without_limit(bytes + SPARE_BYTES)))
		return NULL;
	return limits.memory_text;
}

const char *ws_allowance_text(void)
{
	return limits.memory_text;
}

static void on_cpu_limit(int number)
{
	ssize_t ignored = write(STDERR_FILENO, limits.time_text, strlen(limits.time_text));
	void (*clean_up)(void) = first;

	(void)ignored;
	(void)number;
	/* it only reads memory and calls unlink() */
	if (clean_up)
		clean_up();
	_exit(ws_status_exit_code(WS_NO_MEMORY)); /* NOLINT(bugprone-signal-handler) */
}

/* So high, but not higher than the process was started with. */
static void limit(__rlimit_resource_t resource, const struct rlimit *before, uint64_t most)
{
	struct rlimit now = *before;

	if (now.rlim_cur > most)
		now.rlim_cur = most;
	setrlimit(resource, &now);
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
	         program_invocation_short_name, mb, limits.rows, seconds, 10 * seconds);
	if (LIMITS_MEMORY) {
		limits.memory_limit = memory;
		limit(RLIMIT_DATA, &limits.memory_before, memory);
	}
	limit(RLIMIT_CPU, &limits.cpu_before, seconds);
}

static void add(uint64_t bytes, uint64_t rows)
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
	add(bytes, 0);
}

void ws_allowance_rows(uint64_t rows)
{
	add(0, rows);
}

/* A number above 0 of the environment; stays 0 where there is none. */
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
	getrlimit(RLIMIT_DATA, &limits.memory_before);
	getrlimit(RLIMIT_CPU, &limits.cpu_before);
	limits.has_begun = true;
	signal(SIGXCPU, on_cpu_limit);
	ws_out_of_memory_reason(why_no_memory);
	set_limits();
	return WS_OK;
}

void ws_allowance_end(void)
{
	if (!limits.has_begun)
		return;
	signal(SIGXCPU, SIG_DFL);
	setrlimit(RLIMIT_DATA, &limits.memory_before);
	setrlimit(RLIMIT_CPU, &limits.cpu_before);
}
