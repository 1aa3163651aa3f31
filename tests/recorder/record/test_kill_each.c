/* Launcher and salvager are killed at each of their system calls: nothing that was counted is lost.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/paths.h"
#include "tests/support/recorder/run.h"

#define ROUNDS    20
#define FIRST_TRY 250 /* a launcher's call in the middle of things */

static struct run r;

static void begin(void)
{
	run_begin(&r);
}

static void end(void)
{
	run_end(&r);
}

TestSuite(kill_each, .init = begin, .fini = end, .timeout = 900);

/* As it enters its n-th system call: NULL kills it, else this file is cut, and it goes on. */
struct blow {
	long n;
	bool at_returns; /* n counts returns from calls, too: what a call does is done there */
	const char *cut;
};

static int exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Run it up to the blow. 1; 0 when it ended before. *code: how it ended. */
static int run_until(const char *const *argv, struct blow blow, int *code)
{
	pid_t pid = run_start_traced(&r, argv);
	long entered = 0;
	int status, pass = 0, in_call = 0;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSTOPPED(status));
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (;;) {
		cr_assert_eq(ptrace(PTRACE_SYSCALL, pid, NULL, pass), 0);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		*code = exit_code(status);
		if (!WIFSTOPPED(status))
			return 0;
		pass = WSTOPSIG(status);
		if (pass == SIGTRAP || pass == SIGSTOP)
			pass = 0;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		pass = 0;
		in_call = !in_call;
		entered += in_call || blow.at_returns;
		if ((in_call || blow.at_returns) && entered == blow.n)
			break;
	}
	if (blow.cut) {
		/* in its last calls it has been removed */
		cr_assert(!truncate(blow.cut, 0) || errno == ENOENT);
		cr_assert_eq(ptrace(PTRACE_DETACH, pid, NULL, 0), 0);
	} else {
		kill(pid, SIGKILL);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	*code = exit_code(status);
	return 1;
}

/* Kill it there. 1; 0 when it ended before, as it should with `code`. */
static int kill_at(const char *const *argv, struct blow blow, int code)
{
	int ended, killed = run_until(argv, blow, &ended);

	if (!killed)
		cr_expect_eq(ended, code);
	return killed;
}

static int record_until(long n, const char *option)
{
	return kill_at((const char *const[]){WS_TEST_RECORD,
	                                     "-o",
	                                     r.trace,
	                                     "--segment-dir",
	                                     r.segments,
	                                     "--gpu-buffers",
	                                     "0",
	                                     "--buffers",
	                                     "2",
	                                     "--buffer-size",
	                                     "64K",
	                                     "--flush-interval",
	                                     "1",
	                                     option,
	                                     "--",
	                                     WS_TEST_VICTIM,
	                                     "exit",
	                                     "20",
	                                     r.tally,
	                                     NULL},
	               (struct blow){n, 0, NULL}, 3);
}

static int salvage_until(const char *segment, long n, bool at_returns)
{
	return kill_at((const char *const[]){WS_TEST_RECORD, "--salvage", segment, NULL},
	               (struct blow){n, at_returns, NULL}, 0);
}

/* All that the program did is in the trace, and the trace is whole. */
static void check_trace(long n)
{
	struct probe p;

	probe_open(&p, r.trace);
	cr_expect(ws_trace_reader_summary(p.reader)->closed, "killed at call %ld", n);
	cr_expect_eq(ws_trace_reader_summary(p.reader)->damaged_blocks, 0);
	cr_assert_eq(r.rounds[0], ROUNDS, "killed at call %ld: %d", n, r.rounds[0]);
	cr_assert_eq(ROWS(&p, kernel), ROUNDS, "killed at call %ld: %llu of %d", n,
	             (unsigned long long)ROWS(&p, kernel), ROUNDS);
	cr_expect_eq(ROWS(&p, nvtx), 3 * ROUNDS, "killed at call %ld", n);
	probe_close(&p);
}

/* What salvage makes of a recording whose launcher was killed, or was not. */
static int check_salvaged(int killed, long n)
{
	char segment[600];

	run_wait_orphans();
	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	if (!*segment) {
		/* before there was one, or after all was done */
		if (r.rounds[1])
			check_trace(n);
		return killed;
	}
	cr_expect(killed, "a segment was left");
	if (RUN(&r, "--salvage", segment)) {
		cr_expect_eq(r.rounds[1], 0, "killed at call %ld: %s", n, r.text);
		cr_expect_neq(r.text[0], 0, "killed at call %ld: not a word", n);
	} else if (r.rounds[1]) {
		check_trace(n);
		cr_expect_str_eq(run_segment(&r), "", "killed at call %ld: a segment stays", n);
	}
	return killed;
}

static void kill_launcher_at_each_call(const char *option)
{
	long n = 1;

	run_adopt_orphans();
	while (check_salvaged(record_until(n, option), n)) {
		run_end(&r);
		run_begin(&r);
		n++;
	}
	cr_expect_gt(n, 60, "%ld calls", n);
}

Test(kill_each, a_launcher_that_is_killed_at_any_call_loses_nothing)
{
	kill_launcher_at_each_call("--compress=1");
}

Test(kill_each, nor_does_a_flight_recorder)
{
	kill_launcher_at_each_call("--keep=3600");
}

/* --- between two changes of the segment --- */

#if defined(__x86_64__) /* where kill_at_write.c can do it */

/* With kill_at_write.c: killed as soon as the n-th change is made. The code that it ends with. */
static int run_until_write(const char *const *args, long n)
{
	char at[32];
	int code;

	snprintf(at, sizeof(at), "%ld", n);
	setenv("KILL_AT_WRITE", at, 1);
	run_preload(&r, WS_TEST_BIN "/libkill_at_write.so");
	code = run_wait(&r, run_start(&r, args));
	unsetenv("LD_PRELOAD");
	return code;
}

/* 1: it was killed. */
static int record_until_write(long n)
{
	const int code =
	        run_until_write((const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
	                                              "--gpu-buffers", "0", "--buffers", "2",
	                                              "--buffer-size", "64K", "--flush-interval",
	                                              "100000", "--", WS_TEST_VICTIM, "exit", "20",
	                                              r.tally, NULL},
	                        n);

	cr_expect(code == 3 || code == 128 + SIGKILL, "change %ld: ends with %d: %s", n, code,
	          r.text);
	return code == 128 + SIGKILL;
}

/* A good trace of before has the name, which the new one takes once it is whole. */
static void leave_trace_of_before(void)
{
	cr_assert_eq(RECORD(&r, "exit", "5"), 3, "%s", r.text);
	cr_assert(!truncate(r.tally, 0) && !truncate(r.tally, 4096));
}

static void kill_launcher_between_writes(bool has_trace_of_before)
{
	long n;

	run_adopt_orphans();
	for (n = 1;; n++) {
		if (has_trace_of_before)
			leave_trace_of_before();
		if (!check_salvaged(record_until_write(n), n))
			break;
		run_end(&r);
		run_begin(&r);
	}
	cr_expect_gt(n, 12, "%ld changes", n);
}

Test(kill_each, nor_does_one_that_is_killed_between_any_two_writes)
{
	kill_launcher_between_writes(0);
}

Test(kill_each, nor_where_the_name_has_a_trace_of_before)
{
	kill_launcher_between_writes(1);
}

Test(kill_each, a_salvager_that_is_killed_between_any_two_writes_leaves_everything_to_the_next)
{
	char segment[600];
	long n, code;

	run_adopt_orphans();
	for (n = 1;; n++) {
		/* after the first commit, as the program ran, and before the end */
		for (long at = 6 + n % 8; r.rounds[0] != ROUNDS || !*run_segment(&r); at++) {
			cr_assert_lt(at, 100);
			run_end(&r);
			run_begin(&r);
			record_until_write(at);
			run_wait_orphans();
		}
		snprintf(segment, sizeof(segment), "%s", run_segment(&r));
		code = run_until_write((const char *const[]){"--salvage", segment, NULL}, n);
		if (*run_segment(&r))
			cr_expect_eq(RUN(&r, "--salvage", segment), 0, "change %ld: %s", n, r.text);
		check_trace(n);
		cr_expect_str_eq(run_segment(&r), "", "change %ld: a segment stays", n);
		if (code != 128 + SIGKILL)
			break;
		run_end(&r);
		run_begin(&r);
	}
	cr_expect_eq(code, 0);
	cr_expect_gt(n, 6, "%ld changes", n);
}

#endif

/* --- salvagers, at their calls --- */

/* is_unnamed: only where the launcher was killed before it gave the trace its name. */
static void kill_salvagers(bool is_unnamed)
{
	const long step = is_unnamed ? 1 : 10;
	long begun = 0, at = FIRST_TRY, n;

	run_adopt_orphans();
	for (n = 1;; n++) {
		char segment[600];
		int killed;

		/* a launcher killed while the program runs: its later calls are passes */
		for (int tries = 0; !*run_segment(&r) || !r.rounds[1] ||
		                    (is_unnamed && access(r.trace, F_OK) == 0);
		     tries++) {
			cr_assert_lt(tries, 300);
			run_end(&r);
			run_begin(&r);
			record_until(at, "--compress=1");
			run_wait_orphans();
			at = at > step ? at - step : FIRST_TRY;
		}
		at += at > step ? step : 0; /* the next one is found there, too */
		begun++;
		snprintf(segment, sizeof(segment), "%s", run_segment(&r));
		killed = salvage_until(segment, n, is_unnamed);
		if (killed && *run_segment(&r))
			cr_expect_eq(RUN(&r, "--salvage", segment), 0, "killed at call %ld: %s", n,
			             r.text);
		check_trace(n);
		cr_expect_str_eq(run_segment(&r), "", "killed at call %ld: a segment stays", n);
		run_end(&r);
		run_begin(&r);
		if (!killed)
			break;
	}
	cr_expect_gt(n, 40, "%ld calls", n);
	cr_expect_eq(begun, n);
}

Test(kill_each, a_salvager_that_is_killed_at_any_call_leaves_everything_to_the_next)
{
	kill_salvagers(0);
}

/* Killed as the renaming returned, the next one took the trace's own name for somebody else's. */
Test(kill_each, also_one_that_gives_the_trace_its_name)
{
	kill_salvagers(1);
}

/* --- files that are cut under a reader --- */

/* It ends as if all was well, or says that it cannot read: no signal ends it. */
static int cut_at(const char *const *argv, long n, const char *file)
{
	int code, cut = run_until(argv, (struct blow){n, 0, file}, &code);

	cr_expect(code == 0 || code == 3, "cut at call %ld: ends with %d", n, code);
	return cut;
}

Test(kill_each, a_segment_that_is_cut_at_any_call_of_a_salvage_ends_it_with_3)
{
	char segment[600], command[4 * 600];
	long n = 1;
	int cut;

	run_adopt_orphans();
	record_until(150, "--compress=1");
	run_wait_orphans();
	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	cr_assert_neq(*segment, 0);
	snprintf(command, sizeof(command), "cp -r %s %s.before", r.dir, r.dir);
	cr_assert_eq(system(command), 0);
	do {
		cut = cut_at((const char *const[]){WS_TEST_RECORD, "--salvage", segment, NULL}, n++,
		             segment);
		snprintf(command, sizeof(command), "rm -rf %s/*; cp -r %s.before/. %s", r.dir,
		         r.dir, r.dir);
		cr_assert_eq(system(command), 0);
	} while (cut);
	cr_expect_gt(n, 40, "%ld calls", n);
	snprintf(command, sizeof(command), "rm -rf %s.before", r.dir);
	cr_assert_eq(system(command), 0);
}
