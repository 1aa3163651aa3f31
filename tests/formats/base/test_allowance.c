/* What inputs may cost follows what they hold. Criterion gives each test a process of its own. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/system/system.h"
#include "formats/base/memory.h"
#include "tests/support/paths.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_MEMORY_LIMIT 0
#else
#define HAS_MEMORY_LIMIT 1
#endif

static void expect(uint64_t megabytes, uint64_t seconds)
{
	struct rlimit memory, cpu;

	getrlimit(RLIMIT_DATA, &memory);
	getrlimit(RLIMIT_CPU, &cpu);
	if (HAS_MEMORY_LIMIT)
		cr_expect(eq(u64, memory.rlim_cur >> 20, megabytes));
	cr_expect(eq(u64, cpu.rlim_cur, seconds));
}

Test(allowance, limits_rise_with_bytes_and_rows)
{
	struct ws_err err;

	WS_TEST_NEEDS("linux posix"); /* limits */
	/* a program that has not begun has none */
	ws_allowance_file(1 << 20);
	cr_assert(eq(int, ws_allowance_begin(&err), WS_OK));
	expect(480, 10);
	ws_allowance_file(1 << 20);
	expect(480 + 256, 10 + 10);
	ws_allowance_file(1 << 20);
	expect(480 + 512, 10 + 20);
	/* the rows that a trace of 1 MB can declare at most are read and written in that time */
	ws_allowance_rows(32 << 20);
	expect(480 + 512, 10 + 20 + 167);
	/* what another program gets is what this one was started with */
	ws_limits_end();
	expect(RLIM_INFINITY >> 20, RLIM_INFINITY);
}

Test(allowance, the_user_chooses_and_is_never_given_more_than_the_process_had)
{
	struct rlimit before = {.rlim_cur = 30, .rlim_max = RLIM_INFINITY};
	struct ws_err err;

	WS_TEST_NEEDS("linux posix"); /* limits */
	setenv("WARPSHEET_MAX_MEMORY", "2G", 1);
	setenv("WARPSHEET_MAX_SECONDS", "600", 1);
	setrlimit(RLIMIT_CPU, &before);
	cr_assert(eq(int, ws_allowance_begin(&err), WS_OK));
	ws_allowance_file(1 << 20);
	expect(2048, 30);
}

Test(allowance, a_limit_that_is_none_is_wrong_use)
{
	static const char *const wrong[] = {"much", "0", "-1", "5X", "1.5G"};
	struct ws_err err;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		setenv("WARPSHEET_MAX_MEMORY", wrong[i], 1);
		cr_expect(eq(int, ws_allowance_begin(&err), WS_USAGE), "%s", wrong[i]);
		cr_expect(strstr(err.text, wrong[i]) != NULL, "%s", err.text);
	}
}

/* What out of memory for so many bytes says, in a process of its own with a limit of 64 MB. */
static void expect_reason(size_t bytes, const char *reason)
{
	char said[512] = "";
	int pipes[2], status;
	pid_t child;

	cr_assert(eq(int, pipe(pipes), 0));
	child = fork();
	if (!child) {
		struct ws_err err;

		dup2(pipes[1], STDERR_FILENO);
		setenv("WARPSHEET_MAX_MEMORY", "64M", 1);
		ws_allowance_begin(&err);
		ws_out_of_memory(bytes);
	}
	close(pipes[1]);
	for (size_t n = 0; n < sizeof(said) - 1; n++)
		if (read(pipes[0], said + n, 1) != 1)
			break;
	close(pipes[0]);
	waitpid(child, &status, 0);
	cr_expect(eq(int, WEXITSTATUS(status), 5));
	cr_expect(strstr(said, reason) != NULL, "%s", said);
}

/* Another thread may have freed memory since: what is in use now is no evidence. */
Test(allowance, the_limit_is_the_reason_if_without_it_there_is_memory,
     .disabled = !HAS_MEMORY_LIMIT)
{
	expect_reason(4 << 20, "Raise it with WARPSHEET_MAX_MEMORY");
}
