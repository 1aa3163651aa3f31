/*
 * Memory runs out at every place of the launcher where some is asked for: it ends with 5 and one
 * line, the program goes on as if nothing was, and --salvage finds all that it did. WS_EVERY: only
 * each so many-th place; run/check slow takes all.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/recorder/run.h"

#define EVERY     3
#define ROUNDS    200
#define NO_MEMORY 5

static struct run r;

static void begin(void)
{
	run_adopt_orphans();
	setenv("FAIL_MALLOC_IN", "warpsheet-record", 1);
	run_begin(&r);
}

static void end(void)
{
	run_end(&r);
}

TestSuite(no_memory, .init = begin, .fini = end, .timeout = 3600);

/* --- places --- */

/* A command that ends with `code` when there is memory, and what is made before each run of it. */
struct command {
	void (*prepare)(const char **args);
	int code;
	void (*judge)(int code, long place); /* what it left */
};

/* Run it with the library preloaded, which does this. Exit code. */
static int run_with(const char *variable, const char *value, const char *const *args)
{
	int code;

	run_preload(&r, WS_TEST_FAIL_MALLOC);
	setenv(variable, value, 1);
	code = run_wait(&r, run_start(&r, args));
	unsetenv(variable);
	unsetenv("LD_PRELOAD");
	run_wait_orphans();
	return code;
}

/* The allocations that are each the first of its place. Returns how many. */
static size_t find_places(const struct command *c, long places[], size_t most)
{
	const char *args[20];
	char list[RUN_PATH];
	size_t n = 0;
	FILE *f;

	c->prepare(args);
	snprintf(list, sizeof(list), "%s/list", r.dir);
	cr_assert_eq(run_with("FAIL_MALLOC_LIST", list, args), c->code, "%s", r.text);
	f = fopen(list, "r");
	cr_assert_not_null(f);
	while (n < most && fscanf(f, "%ld", &places[n]) == 1)
		n++;
	fclose(f);
	cr_assert(n > 20 && n < most, "%zu places", n);
	return n;
}

static int lines_about_memory(void)
{
	int n = 0;

	for (const char *line = r.text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		n += memmem(line, strcspn(line, "\n"), "memory", 6) != NULL;
	}
	return n;
}

/* One of them fails. Did it end for that? One line says so. */
static bool fail_at(const struct command *c, long place)
{
	const char *args[20];
	char number[24];
	int code;

	c->prepare(args);
	snprintf(number, sizeof(number), "%ld", place);
	code = run_with("FAIL_MALLOC_AT", number, args);
	/* how many there are depends on what a pass finds: it may not have come so far */
	cr_expect(code == NO_MEMORY || code == c->code, "allocation %ld: %d, %s", place, code,
	          r.text);
	cr_expect(code != NO_MEMORY || lines_about_memory() == 1, "allocation %ld: %s", place,
	          r.text);
	c->judge(code, place);
	return code == NO_MEMORY;
}

static void fail_each(const struct command *c)
{
	const char *every = getenv("WS_EVERY");
	const size_t step = every ? strtoul(every, NULL, 10) : EVERY;
	static long places[10000];
	size_t n = find_places(c, places, sizeof(places) / sizeof(*places)), ended = 0, tried = 0;

	for (size_t i = 0; i < n; i += step, tried++)
		ended += fail_at(c, places[i]);
	cr_log_info("%zu places of %zu, %zu times status 5", tried, n, ended);
	cr_expect_gt(ended, tried / 2, "%zu of %zu", ended, tried);
}

static void begin_anew(void)
{
	run_end(&r);
	run_begin(&r);
}

static void check_trace(long place)
{
	struct probe p = run_open_whole(&r);

	cr_expect_eq(r.rounds[0], ROUNDS, "allocation %ld: the program was hurt", place);
	cr_expect_eq(ROWS(&p, kernel), ROUNDS, "allocation %ld: %s", place, r.text);
	probe_expect_no_loss(&p);
	probe_close(&p);
}

/* Of one that ended without memory another salvage makes what it would have made. */
static void check_rest(int code, long place)
{
	char segment[RUN_PATH];

	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	if (code == NO_MEMORY && *segment)
		cr_expect_eq(RUN(&r, "--salvage", segment), 0, "allocation %ld: %s", place, r.text);
	check_trace(place);
}

/* --- record --- */

static void prepare_recording(const char **args)
{
	const char *const list[] = {"-o",
	                            r.trace,
	                            "--segment-dir",
	                            r.segments,
	                            "--gpu-buffers",
	                            "0",
	                            "--buffers",
	                            "2",
	                            "--flush-interval",
	                            "1",
	                            "--",
	                            WS_TEST_VICTIM,
	                            "exit",
	                            "200",
	                            r.tally,
	                            NULL};

	begin_anew();
	memcpy(args, list, sizeof(list));
}

static void judge_recording(int code, long place)
{
	char parts[1][RUN_PATH];

	if (r.rounds[1]) {
		if (code == NO_MEMORY && *run_segment(&r))
			cr_expect_not_null(strstr(r.text, "--salvage"), "%s", r.text);
		check_rest(code, place);
		return;
	}
	cr_expect_str_eq(run_segment(&r), "", "allocation %ld: a segment stays", place);
	cr_expect_neq(access(r.trace, F_OK), 0, "allocation %ld: a trace of nothing", place);
	cr_expect_eq(run_parts(&r, parts, 1), 0, "allocation %ld: %s stays", place, parts[0]);
}

Test(no_memory, a_launcher_without_memory_ends_with_5_and_leaves_all_to_salvage)
{
	fail_each(&(struct command){prepare_recording, 3, judge_recording});
}

/* --- salvage --- */

/* A launcher was killed while the program ran, which has ended. */
static void prepare_salvage(const char **args)
{
	static char segment[RUN_PATH];
	pid_t pid;

	do {
		begin_anew();
		pid = run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir",
		                                          r.segments, "--gpu-buffers", "0",
		                                          "--buffers", "2", "--", WS_TEST_VICTIM,
		                                          "exit", "200", r.tally, NULL});
		while (!r.rounds[1])
			usleep(100);
		kill(pid, SIGKILL);
		run_wait_orphans();
	} while (!*run_segment(&r)); /* it was done before */
	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	memcpy(args, (const char *const[]){"--salvage", segment, NULL}, 3 * sizeof(*args));
}

Test(no_memory, a_salvager_without_memory_ends_with_5_and_leaves_all_to_the_next)
{
	fail_each(&(struct command){prepare_salvage, 0, check_rest});
}
