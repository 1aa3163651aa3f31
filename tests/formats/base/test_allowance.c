/* What inputs may cost follows what they hold. Criterion gives each test a process of its own. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "formats/base/xalloc.h"

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
	ws_allowance_end();
	expect(RLIM_INFINITY >> 20, RLIM_INFINITY);
}

Test(allowance, the_user_chooses_and_is_never_given_more_than_the_process_had)
{
	struct rlimit before = {.rlim_cur = 30, .rlim_max = RLIM_INFINITY};
	struct ws_err err;

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
