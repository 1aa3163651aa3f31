/* A recording of several processes: a trace for each, whatever becomes of them. */
#include <criterion/criterion.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/paths.h"
#include "tests/support/recorder/run.h"

#define KIDS 3

static struct run r;         /* where warpsheet-record runs */
static struct run kid[KIDS]; /* what the processes count in */

static void begin(void)
{
	run_adopt_orphans();
	run_begin(&r);
	for (int i = 0; i < KIDS; i++)
		run_begin(&kid[i]);
}

static void end(void)
{
	run_end(&r);
	for (int i = 0; i < KIDS; i++)
		run_end(&kid[i]);
}

TestSuite(processes, .init = begin, .fini = end, .timeout = 600);

/* "'VICTIM' MODE COUNT TALLY-OF-KID", for a shell */
static const char *victim(int i, const char *mode, int count)
{
	static char slots[8][1024];
	static unsigned next;
	char *slot = slots[next++ % 8];

	snprintf(slot, sizeof(slots[0]), "'%s' %s %d %s", WS_TEST_VICTIM, mode, count,
	         kid[i].tally);
	return slot;
}

#define SHELL(output, command, ...)                                                              \
	RUN(&r, "-o", output, "--segment-dir", r.segments, ##__VA_ARGS__, "--", "/bin/sh", "-c", \
	    command)

static struct probe open_whole(const char *path)
{
	struct probe p;

	probe_open(&p, path);
	cr_expect(ws_trace_reader_summary(p.reader)->closed, "%s", path);
	cr_expect_eq(ws_trace_reader_summary(p.reader)->damaged_blocks, 0, "%s", path);
	cr_expect_eq(probe_loss(&p, "process_not_recorded"), 0, "%s", path);
	return p;
}

/* Each kid's rounds are in one of the traces, in full, and in no other. */
static void check_kids(char paths[][RUN_PATH], int n)
{
	for (int i = 0; i < n; i++) {
		int found = 0;

		for (int t = 0; t < n; t++) {
			struct probe p = open_whole(paths[t]);

			if (ROWS(&p, kernel) == (uint64_t)kid[i].rounds[0]) {
				run_check_rounds(&kid[i], &p, 0);
				found++;
			}
			probe_close(&p);
		}
		cr_expect_eq(found, 1, "kid %d is in %d traces", i, found);
	}
	cr_expect_str_empty(run_segment(&r), "a segment is left behind");
}

Test(processes, a_program_started_by_the_recorded_one_has_its_own_trace)
{
	char paths[3][RUN_PATH];
	struct probe p;

	cr_expect_eq(RECORD(&r, "fork-exec", "2000"), 0);
	cr_assert_eq(run_traces(&r, paths, 3), 2, "%s", r.text);
	p = open_whole(r.trace);
	run_check_rounds(&r, &p, 0);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "mark of the child"), 0);
	probe_close(&p);
	p = open_whole(strcmp(paths[0], r.trace) != 0 ? paths[0] : paths[1]);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "mark of the child"), 1000);
	cr_expect_not_null(strstr(probe_meta(&p, "program.path"), "victim"));
	cr_expect_not_null(strstr(probe_meta(&p, "program.arguments"), "other 1000"));
	probe_close(&p);
}

/* --- the launcher --- */

static pid_t start_two_for(const char *also, int rounds0, int rounds1)
{
	char command[4096];

	snprintf(command, sizeof(command), "%s & echo $! >pid0; %s & echo $! >pid1; wait",
	         victim(0, "until-killed", rounds0), victim(1, "until-killed", rounds1));
	return run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
	                                           "--flush-interval", "3", "--buffers", "2",
	                                           "--buffer-size", "16M", also, "--", "/bin/sh",
	                                           "-c", command, NULL});
}

static pid_t start_two(const char *also)
{
	return start_two_for(also, 6000, 7000);
}

static void wait_rounds(int i, int rounds)
{
	while (kid[i].rounds[0] < rounds)
		usleep(500);
}

Test(processes, salvage_of_a_killed_launcher_s_first_segment_finishes_all_traces)
{
	for (int running = 0; running < 2; running++) {
		char paths[3][RUN_PATH], segment[RUN_PATH] = "", *told;
		pid_t pid = start_two("--no-args");

		wait_rounds(0, 500);
		wait_rounds(1, 500);
		kill(pid, SIGKILL);
		cr_expect_eq(run_wait(&r, pid), 137);
		if (!running)
			run_wait_orphans();
		/* the next recording names the one segment that is enough */
		cr_expect_eq(RUN(&r, "-o", "/dev/null", "--segment-dir", r.segments, "--",
		                 "/bin/true"),
		             0, "%s", r.text);
		told = strstr(r.text, "--salvage ");
		cr_assert_not_null(told, "%s", r.text);
		sscanf(told, "--salvage %255s", segment);
		cr_expect_null(strstr(told + 1, "--salvage"), "%s", r.text);
		cr_expect_eq(RUN(&r, "--salvage", segment), 0, "%s", r.text);
		wait_rounds(0, 6000);
		wait_rounds(1, 7000);
		cr_assert_eq(run_traces(&r, paths, 3), 2, "%s", r.text);
		check_kids(paths, 2);
		end();
		begin();
	}
}

/* The further process has told its command, and the launcher dies before it has looked. */
Test(processes, no_args_holds_after_salvage_for_a_process_whose_trace_had_not_begun)
{
	char command[4096], paths[3][RUN_PATH], segment[2 * RUN_PATH];
	glob_t found;
	pid_t pid;

	snprintf(command, sizeof(command), "%s & while ! [ -e go ]; do sleep 0.01; done; %s & wait",
	         victim(0, "until-killed", 6000), victim(1, "until-killed", 7000));
	pid = run_start(&r,
	                (const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
	                                      "--buffers", "2", "--buffer-size", "16M", "--no-args",
	                                      "--", "/bin/sh", "-c", command, NULL});
	wait_rounds(0, 500);
	kill(pid, SIGSTOP);
	snprintf(segment, sizeof(segment), "%s/go", r.dir);
	fclose(fopen(segment, "w"));
	wait_rounds(1, 500);
	kill(pid, SIGKILL);
	cr_expect_eq(run_wait(&r, pid), 137);
	snprintf(segment, sizeof(segment), "%s/*.process-*", r.segments);
	cr_assert_eq(glob(segment, 0, NULL, &found), 0);
	*strstr(found.gl_pathv[0], ".process-") = 0;
	cr_expect_eq(RUN(&r, "--salvage", found.gl_pathv[0]), 0, "%s", r.text);
	cr_assert_eq(run_traces(&r, paths, 3), 2, "%s", r.text);
	for (int t = 0; t < 2; t++) {
		struct probe p = open_whole(paths[t]);

		cr_expect_null(probe_meta(&p, "program.arguments"));
		cr_expect_not_null(probe_meta(&p, "program.path"));
		probe_close(&p);
	}
	globfree(&found);
}

Test(processes, a_signal_ends_the_program_and_a_second_one_the_recording_of_what_it_left)
{
	char paths[3][RUN_PATH], command[RUN_PATH];
	/* more rounds than there is time for, on however slow a machine */
	pid_t pid = start_two_for("--no-args", 1 << 30, 1 << 30);

	wait_rounds(0, 100);
	wait_rounds(1, 100);
	kill(pid, SIGTERM);
	/* the shell is gone, its children are not */
	for (run_read_output(&r); !*r.text; run_read_output(&r))
		usleep(1000);
	kill(pid, SIGTERM);
	cr_expect_eq(run_wait(&r, pid), 128 + SIGTERM, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "still runs"), "%s", r.text);
	cr_assert_eq(run_traces(&r, paths, 3), 2, "%s", r.text);
	for (int t = 0; t < 2; t++) {
		struct probe p = open_whole(paths[t]);

		cr_expect_gt(ROWS(&p, kernel), 99);
		cr_expect_eq(ROWS(&p, process_end), 0, "it has not ended");
		probe_close(&p);
	}
	snprintf(command, sizeof(command), "cd %s && kill -KILL $(cat pid0 pid1)", r.dir);
	cr_assert_eq(system(command), 0);
	cr_expect_str_empty(run_segment(&r), "a segment is left behind");
}

Test(processes, the_recording_goes_on_until_the_last_process_ends)
{
	char command[4096], paths[3][RUN_PATH];

	snprintf(command, sizeof(command), "%s & %s & " RUN_UNTIL_A_ROUND "; " RUN_UNTIL_A_ROUND,
	         victim(0, "until-killed", 20000), victim(1, "until-killed", 30000), kid[0].tally,
	         kid[1].tally);
	cr_expect_eq(SHELL(r.trace, command, "--buffers", "2", "--buffer-size", "16M"), 0);
	cr_assert_eq(run_traces(&r, paths, 3), 2, "%s", r.text);
	check_kids(paths, 2);
	cr_expect_eq(kid[1].rounds[0], 30000);
}

Test(processes, with_stop_on_exit_it_ends_with_the_program_and_the_others_run_on)
{
	char command[4096], paths[3][RUN_PATH];
	struct probe p;

	snprintf(command, sizeof(command),
	         "%s & " RUN_UNTIL_A_ROUND "; while ! [ -s %s/t.wtrace ]; do sleep 0.02; done",
	         victim(0, "until-killed", 100000), kid[0].tally, r.dir);
	cr_expect_eq(SHELL(r.trace, command, "--stop-on-exit", "--flush-interval", "20"), 0, "%s",
	             r.text);
	cr_expect_lt(kid[0].rounds[0], 100000);
	cr_expect_null(strstr(r.text, "still runs"), "%s", r.text);
	cr_assert_eq(run_traces(&r, paths, 3), 1, "%s", r.text);
	p = open_whole(r.trace);
	cr_expect_gt(ROWS(&p, nvtx), 0);
	cr_expect_eq(ROWS(&p, process_end), 0, "it has not ended");
	probe_close(&p);
	wait_rounds(0, 100000);
}
