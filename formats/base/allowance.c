#include "formats/base/allowance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "formats/base/options.h"
#include "formats/base/outfile.h"
#include "formats/base/xalloc.h"

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
	uint64_t bytes, rows; /* of all inputs */
	int64_t max_memory, max_seconds; /* of the environment; 0: none */
	struct rlimit memory_before, cpu_before;
	/* for a handler of a signal, and where memory ran out: made beforehand */
	uint64_t memory_limit;
	char memory_text[256], time_text[256];
} allowance = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

/* Why there was no memory for so many bytes more: our limit. NULL: for another reason. */
static const char *why_no_memory(size_t bytes)
{
	const uint64_t used = memory_in_use(), most = allowance.memory_limit;

	if (!most || allowance.memory_before.rlim_cur < most ||
	    (used + SPARE_BYTES <= most && bytes <= most - used - SPARE_BYTES))
		return NULL;
	return allowance.memory_text;
}

const char *ws_allowance_text(void)
{
	return allowance.memory_text;
}

static void on_cpu_limit(int number)
{
	ssize_t ignored =
	        write(STDERR_FILENO, allowance.time_text, strlen(allowance.time_text));

	(void)ignored;
	(void)number;
	/* both only read memory and call unlink() */
	ws_outfile_remove_unfinished();           /* NOLINT(bugprone-signal-handler) */
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
	const double mb = (double)allowance.bytes / 1e6;
	const uint64_t memory = allowance.max_memory ? (uint64_t)allowance.max_memory
	                                             : ANY_BYTES + allowance.bytes * MEMORY_PER_BYTE;
	const uint64_t seconds = allowance.max_seconds
	                                 ? (uint64_t)allowance.max_seconds
	                                 : ANY_SECONDS + allowance.bytes / BYTES_PER_SECOND +
	                                           allowance.rows / ROWS_PER_SECOND;

	snprintf(allowance.memory_text, sizeof(allowance.memory_text),
	         "the limit for inputs of %.2f MB is %" PRIu64 " MB of memory. Raise it with "
	         MEMORY_VARIABLE "=%" PRIu64 "G",
	         mb, memory >> 20, (memory >> 29) + 1);
	snprintf(allowance.time_text, sizeof(allowance.time_text),
	         "%s: out of time; the limit for inputs of %.2f MB and %" PRIu64 " rows is %" PRIu64
	         " s of processor time. Raise it with " SECONDS_VARIABLE "=%" PRIu64 "\n",
	         program_invocation_short_name, mb, allowance.rows, seconds, 10 * seconds);
	if (LIMITS_MEMORY) {
		allowance.memory_limit = memory;
		limit(RLIMIT_DATA, &allowance.memory_before, memory);
	}
	limit(RLIMIT_CPU, &allowance.cpu_before, seconds);
}

static void add(uint64_t bytes, uint64_t rows)
{
	pthread_mutex_lock(&allowance.lock);
	if (allowance.has_begun) {
		allowance.bytes += bytes;
		allowance.rows += rows;
		set_limits();
	}
	pthread_mutex_unlock(&allowance.lock);
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
	                         &allowance.max_memory, err));
	WS_FORWARD(read_variable(SECONDS_VARIABLE, "a number of seconds", &allowance.max_seconds,
	                         err));
	getrlimit(RLIMIT_DATA, &allowance.memory_before);
	getrlimit(RLIMIT_CPU, &allowance.cpu_before);
	allowance.has_begun = true;
	signal(SIGXCPU, on_cpu_limit);
	ws_out_of_memory_reason(why_no_memory);
	set_limits();
	return WS_OK;
}

void ws_allowance_end(void)
{
	if (!allowance.has_begun)
		return;
	signal(SIGXCPU, SIG_DFL);
	setrlimit(RLIMIT_DATA, &allowance.memory_before);
	setrlimit(RLIMIT_CPU, &allowance.cpu_before);
}
