/*
 * warpsheet-record end to end: every way in which a program can end, and what
 * the user sees.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/paths.h"
#include "tests/support/recorder/run.h"

static struct run r;

static void begin(void)
{
	run_begin(&r);
}

static void end(void)
{
	run_end(&r);
}

TestSuite(record, .init = begin, .fini = end, .timeout = 600);

/* --- ways to end --- */

Test(record, cpu_times_are_rounded_when_asked_for_and_the_trace_says_so)
{
	struct probe p;

	RECORD(&r, "exit", "2000", "--cpu-time-quantum", "4096");
	p = run_open_whole(&r);
	cr_expect_str_eq(probe_meta(&p, "record.cpu_time_quantum_ns"), "4096");
	cr_assert_eq(ROWS(&p, nvtx), 6000);
	for (uint64_t i = 0; i < 6000; i++)
		cr_assert_eq(CELL(&p, nvtx, time_ns, i) % 4096, 0);
	probe_close(&p);

	RECORD(&r, "exit", "2000");
	p = run_open_whole(&r);
	cr_expect_null(probe_meta(&p, "record.cpu_time_quantum_ns"));
	probe_close(&p);
}

Test(record, forks_beside_busy_threads_neither_hang_nor_lose_a_child)
{
	enum { FORKS = 60 };
	static char paths[FORKS + 2][RUN_PATH];
	struct probe p;
	int whole = 0;

	cr_expect_eq(RECORD(&r, "fork-many", "60", "--buffers", "8", "--buffer-size", "64K"), 0,
	             "%s", r.text);
	cr_assert_eq(run_traces(&r, paths, FORKS + 2), FORKS + 1, "%s", r.text);
	for (int i = 0; i <= FORKS; i++) {
		probe_open(&p, paths[i]);
		whole += probe_count(&p, WS_NVTX_MARK, "mark of the child") == 10 &&
		         probe_count(&p, WS_NVTX_MARK, "registered by the parent") == 1;
		cr_expect_eq(probe_loss(&p, "process_not_recorded"), 0);
		probe_close(&p);
	}
	cr_expect_eq(whole, FORKS);
}

Test(record, a_program_behind_a_shell_is_recorded_until_it_ends)
{
	char command[4096];
	struct probe p;

	/* the shell is gone long before the program behind it ends */
	snprintf(command, sizeof(command), "'%s' until-killed 60000 %s & " RUN_UNTIL_A_ROUND,
	         WS_TEST_VICTIM, r.tally, r.tally);
	/* room for all of it: a starved launcher must not make this a test of overflow */
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--buffers", "2",
	                 "--buffer-size", "64M", "--", "/bin/sh", "-c", command),
	             0, "%s", r.text);
	p = run_open_whole(&r);
	cr_expect_eq(r.rounds[0], 60000);
	cr_expect_not_null(strstr(r.text, "still runs"), "%s", r.text);
	run_check_rounds(&r, &p, 0);
	cr_expect_eq(CELL(&p, process_end, how, 0), WS_END_UNKNOWN);
	probe_close(&p);
}

/* --- threads and rings --- */

Test(record, more_threads_one_after_the_other_than_there_are_rings)
{
	struct probe p;

	cr_expect_eq(RECORD(&r, "short-threads", "200", "--buffers", "64"), 0);
	p = run_open_whole(&r);
	cr_expect_eq(r.rounds[0], 200);
	/* a lost round is five events: push, pop, mark, and push and pop of the kernel */
	cr_expect_eq(ROWS(&p, kernel) * 5 + probe_loss(&p, "thread_without_ring"), 1000,
	             "what is not there is counted");
	cr_expect_geq(ROWS(&p, kernel), 64);
	probe_close(&p);
}

Test(record, with_fewer_rings_than_threads_the_others_are_counted_event_by_event)
{
	struct probe p;
	uint64_t events;

	cr_expect_eq(RECORD(&r, "threads", "500", "--buffers", "3", "--buffer-size", "4M"), 0);
	p = run_open_whole(&r);
	cr_expect_eq(r.rounds[0], 4000);
	/* a round is push, pop, mark, and a kernel that counts as push and pop when it is lost */
	events = ROWS(&p, nvtx) + 2 * ROWS(&p, kernel);
	cr_expect_eq(events + probe_loss(&p, "thread_without_ring"), 5 * 4000);
	cr_expect_geq(ROWS(&p, kernel), 3 * 500);
	probe_close(&p);
}

Test(record, while_the_launcher_is_stopped_what_does_not_fit_the_ring_is_counted_exactly)
{
	struct probe p;
	pid_t pid;
	uint64_t events;

	pid = run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
	                                          "--buffer-size", "64K", "--", WS_TEST_VICTIM,
	                                          "until-killed", "5000", r.tally, NULL});
	while (r.rounds[0] < 10)
		usleep(1000);
	kill(pid, SIGSTOP);
	while (r.rounds[0] < 4000)
		usleep(1000);
	kill(pid, SIGCONT);
	cr_expect_eq(run_wait(&r, pid), 0);
	p = run_open_whole(&r);
	cr_expect_eq(r.rounds[0], 5000);
	/* push, pop, mark; the kernel is one record */
	events = ROWS(&p, nvtx) + ROWS(&p, kernel);
	cr_expect_gt(probe_loss(&p, "ring_overflow"), 1000);
	cr_expect_eq(events + probe_loss(&p, "ring_overflow"), 4 * 5000);
	cr_expect_not_null(strstr(r.text, "lost: ring_overflow"), "%s", r.text);
	probe_close(&p);
}

/* --- signals --- */

Test(record, a_signal_to_the_launcher_is_passed_on_and_the_trace_finished)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct probe p;
		pid_t pid = run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir",
		                                                r.segments, "--", WS_TEST_VICTIM,
		                                                "until-killed", "1000000", r.tally,
		                                                NULL});

		while (r.rounds[0] < 10)
			usleep(1000);
		kill(pid, signals[i]);
		cr_expect_eq(run_wait(&r, pid), 128 + signals[i], "%s", r.text);
		p = run_open_whole(&r);
		run_check_rounds(&r, &p, 1);
		cr_expect_eq(CELL(&p, process_end, code, 0), (uint64_t)signals[i]);
		probe_close(&p);
		run_end(&r);
		run_begin(&r);
	}
}

static void do_nothing(int number)
{
	(void)number;
}

/* As schedulers and CI runners do it: the program has got it already. */
Test(record, a_signal_to_the_process_group_reaches_the_program_once)
{
	pid_t pid;

	signal(SIGUSR1, do_nothing);
	cr_assert(getpgrp() == getpid() || !setpgid(0, 0));
	pid = run_start(&r,
	                (const char *const[]){"-o", r.trace, "--segment-dir", r.segments, "--",
	                                      WS_TEST_VICTIM, "count-signals", "1", r.tally, NULL});
	while (!r.rounds[2])
		usleep(1000);
	/* both at once, and the next as soon as they are there: the launcher reads them together,
	   and has to be ready for the next before it passes the other one on */
	for (int i = 1; i <= 200; i++) {
		cr_assert_eq(kill(0, SIGUSR1), 0);
		/* passed on in the order in which they come: another SIGUSR1 would come first */
		cr_assert_eq(kill(pid, SIGUSR2), 0);
		while (r.rounds[0] < i || r.rounds[1] < i)
			usleep(10);
		cr_assert_eq(r.rounds[0], i, "%d signals of %d", r.rounds[0], i);
	}
	kill(pid, SIGTERM);
	cr_expect_eq(run_wait(&r, pid), 128 + SIGTERM, "%s", r.text);
}

/* Whose terminal is closed: the kernel tells the leader of the session, which the launcher is. */
Test(record, a_closed_terminal_ends_the_program_and_the_trace_is_finished)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	struct probe p;
	pid_t pid;

	cr_assert(master >= 0 && !grantpt(master) && !unlockpt(master));
	pid = fork();
	if (!pid) {
		setsid();
		dup2(open(ptsname(master), O_RDWR), STDERR_FILENO); /* its terminal from now on */
		close(master);
		execl(WS_TEST_RECORD, WS_TEST_RECORD, "-o", r.trace, "--segment-dir", r.segments,
		      "--", WS_TEST_VICTIM, "until-killed", "1000000", r.tally, NULL);
		_exit(125);
	}
	while (r.rounds[0] < 10)
		usleep(1000);
	close(master);
	cr_expect_eq(run_wait(&r, pid), 128 + SIGHUP);
	p = run_open_whole(&r);
	run_check_rounds(&r, &p, 1);
	cr_expect_eq(CELL(&p, process_end, code, 0), SIGHUP);
	probe_close(&p);
}

/* --- what the user sees --- */

Test(record, a_file_that_cannot_be_executed_is_reported_when_exec_says_so)
{
	cr_assert_eq(chmod(r.tally, 0700), 0);
	/* zeros: no program, and no script either; the shell that is tried ends with 126 */
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", r.tally), 126, "%s",
	             r.text);
}

/* --- other people's programs --- */

#ifdef WS_TEST_NVIDIA_VICTIM
Test(record, a_program_built_with_the_headers_of_nvidia_is_recorded)
{
	struct probe p;

	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--",
	                 WS_TEST_NVIDIA_VICTIM),
	             0, "%s", r.text);
	p = run_open_whole(&r);
	cr_expect_eq(probe_count(&p, WS_NVTX_PUSH, "outer"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_PUSH, "wörk"), 1);
	cr_assert_eq(ROWS(&p, nvtx), 4);
	cr_expect_str_eq(TEXT(&p, nvtx, domain, 1), "theirs");
	cr_assert_eq(ROWS(&p, payload), 1);
	cr_expect_eq(CELL(&p, payload, schema, 0), CELL(&p, payload_schema, id, 0));
	cr_expect_eq(BYTES(&p, payload, bytes, 0).len, 16);
	cr_expect_str_eq(TEXT(&p, payload_schema, name, 0), "work");
	cr_expect_str_eq(TEXT(&p, payload_field, name, 1), "op");
	probe_expect_no_loss(&p);
	probe_close(&p);
}

Test(record, what_a_program_says_beside_events_is_named_or_counted)
{
	struct probe p;

	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--",
	                 WS_TEST_NVIDIA_VICTIM, "all"),
	             0, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "nvtx_not_kept_memory_regions 12"), "%s", r.text);
	p = run_open_whole(&r);
	cr_assert_eq(ROWS(&p, resource), 5);
	cr_expect_str_eq(TEXT(&p, resource, name, 0), "first device");
	cr_expect_str_eq(TEXT(&p, resource, name, 1), "context");
	cr_expect_str_eq(TEXT(&p, resource, name, 2), "copies");
	cr_expect_str_eq(TEXT(&p, resource, name, 3), "évent");
	cr_expect_str_eq(TEXT(&p, resource, name, 4), "lock");
	cr_expect_str_eq(TEXT(&p, resource, domain, 4), "theirs");
	cr_expect_eq(CELL(&p, resource, handle, 2), 0x20);
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_memory_heaps"), 2);
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_memory_regions"), 12);
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_memory_permissions"), 1);
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_sync_objects"), 5);
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_time_domains"), 2);
	cr_expect_eq(probe_losses(&p), 2 + 12 + 1 + 5 + 2);
	probe_close(&p);
}
#endif
