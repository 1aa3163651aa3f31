/* A launcher that is killed, and who takes up what it left. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/shared/segment_file.h"
#include "tests/support/recorder/run.h"

static struct run r;

static void begin(void)
{
	run_adopt_orphans();
	run_begin(&r);
}

static void end(void)
{
	run_end(&r);
}

TestSuite(salvage, .init = begin, .fini = end, .timeout = 600);

/* Start, let it run for a while, kill the launcher; named: when the trace has its name, which it
 * gets when the launcher first looks, and these rounds. 0: all had ended before, on a busy machine.
 */
static int try_to_kill_launcher_after(int rounds, bool named)
{
	pid_t pid =
	        run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
	                                            "--flush-interval", "3", "--buffers", "2",
	                                            "--buffer-size", "16M", "--", WS_TEST_VICTIM,
	                                            "until-killed", "6000", r.tally, NULL});

	while (r.rounds[0] < rounds || (named && access(r.trace, F_OK) != 0))
		usleep(200);
	if (named)
		run_wait_committed(&r);
	kill(pid, SIGKILL);
	/* one that had finished the trace when its turn came leaves nothing to salvage */
	return run_wait(&r, pid) == 137 && r.rounds[0] < 6000;
}

/* The program goes on. */
static void kill_launcher_after(int rounds, bool named)
{
	for (int tries = 0; !try_to_kill_launcher_after(rounds, named); tries++) {
		cr_assert_lt(tries, 20);
		run_end(&r);
		run_begin(&r);
	}
}

static void check_salvaged(void)
{
	struct probe p = run_open_whole(&r);

	cr_expect_eq(r.rounds[0], 6000);
	run_check_rounds(&r, &p, 0);
	cr_expect_eq(ROWS(&p, nvtx), 18000);
	cr_expect_eq(ROWS(&p, process_end), 1);
	cr_expect_str_eq(probe_meta(&p, "record.salvaged"), "1");
	probe_expect_no_loss(&p);
	probe_close(&p);
}

Test(salvage, a_killed_launcher_is_replaced_by_salvage_while_the_program_runs_on)
{
	char segment[600];

	kill_launcher_after(700, false);
	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	cr_expect_eq(RUN(&r, "--salvage", segment), 0, "%s", r.text);
	check_salvaged();
}

Test(salvage, salvage_after_the_program_ended_finds_everything_whenever_the_launcher_was_killed)
{
	/* commits follow each other by 3 ms, so that each kill hits another step of one */
	for (int round = 0; round < 8; round++) {
		char segment[600];

		kill_launcher_after(150 + 641 * round, false);
		run_wait_orphans();
		snprintf(segment, sizeof(segment), "%s", run_segment(&r));
		cr_expect_eq(RUN(&r, "--salvage", segment), 0, "%s", r.text);
		check_salvaged();
		run_end(&r);
		run_begin(&r);
	}
}

Test(salvage, a_killed_launcher_leaves_a_readable_trace_even_without_salvage)
{
	struct probe p;

	kill_launcher_after(3000, true);
	probe_open(&p, r.trace);
	cr_expect(!ws_trace_reader_summary(p.reader)->closed);
	cr_expect_gt(ROWS(&p, kernel), 500);
	probe_close(&p);
	while (r.rounds[0] < 6000)
		usleep(1000);
}

/* The launcher was killed and the program has ended since; its segment. */
static void leave_segment(char segment[600])
{
	kill_launcher_after(700, false);
	run_wait_orphans();
	snprintf(segment, 600, "%s", run_segment(&r));
}

Test(salvage, what_another_process_salvages_is_left_to_it)
{
	char segment[600];
	int fd;

	leave_segment(segment);
	fd = open(segment, O_RDONLY | O_CLOEXEC);
	cr_assert_eq(flock(fd, LOCK_EX), 0);
	cr_expect_eq(RUN(&r, "--salvage", segment), 5, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "is being salvaged by another process"), "%s", r.text);
	cr_expect_str_eq(run_segment(&r), segment);
	close(fd);
	cr_expect_eq(RUN(&r, "--salvage", segment), 0, "%s", r.text);
	check_salvaged();
}

Test(salvage, of_two_salvages_at_once_one_finishes_the_trace)
{
	for (int round = 0; round < 5; round++) {
		char segment[600];
		struct run other;
		int codes[2];
		pid_t pid;

		leave_segment(segment);
		run_begin(&other);
		pid = run_start(&r, (const char *const[]){"--salvage", segment, NULL});
		codes[0] = RUN(&other, "--salvage", segment);
		codes[1] = run_wait(&r, pid);
		/* the other is told that it is busy, or finds it done or gone */
		cr_expect(!codes[0] || !codes[1], "%s%s", r.text, other.text);
		for (int i = 0; i < 2; i++)
			cr_expect(!codes[i] || codes[i] == 5 || codes[i] == 3, "%d: %s%s", codes[i],
			          r.text, other.text);
		check_salvaged();
		run_end(&other);
		run_end(&r);
		run_begin(&r);
	}
}

Test(salvage, salvage_finds_a_trace_that_was_moved)
{
	char segment[600], moved[RUN_PATH + 8];

	kill_launcher_after(1000, true);
	while (r.rounds[0] < 6000)
		usleep(1000);
	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	snprintf(moved, sizeof(moved), "%s.moved", r.trace);
	cr_assert_eq(rename(r.trace, moved), 0);
	cr_expect_eq(RUN(&r, "--salvage", segment), 3, "%s", r.text);
	cr_expect_str_eq(run_segment(&r), segment, "a failed salvage keeps what there is");
	cr_expect_eq(RUN(&r, "--salvage", segment, "-o", moved), 0, "%s", r.text);
	cr_assert_eq(rename(moved, r.trace), 0);
	check_salvaged();
}

static void read_trace(const char *path, char bytes[1 << 20], size_t *size)
{
	FILE *f = fopen(path, "r");

	cr_assert_not_null(f);
	*size = fread(bytes, 1, 1 << 20, f);
	fclose(f);
}

/* Who forgets a killed recording and makes another under its name has that one, whole, in any case.
 */
Test(salvage, a_trace_that_another_recording_replaced_is_not_touched)
{
	static char before[1 << 20], after[1 << 20];
	char segment[600], moved[RUN_PATH + 8], copy[2 * RUN_PATH + 700];
	size_t size, size_after;

	kill_launcher_after(1000, true);
	while (r.rounds[0] < 6000)
		usleep(1000);
	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	snprintf(moved, sizeof(moved), "%s.moved", r.trace);
	snprintf(copy, sizeof(copy), "cp %s %s; cp %s %s/copy", r.trace, moved, segment, r.dir);
	cr_assert_eq(system(copy), 0);
	cr_assert_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/true"), 0);
	read_trace(r.trace, before, &size);

	/* it may be that he moved this one's trace, and names the wrong file */
	cr_expect_eq(RUN(&r, "--salvage", segment, "-o", r.trace), 3, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "another recording"), "%s", r.text);
	cr_expect_str_eq(run_segment(&r), segment, "a failed salvage keeps what there is");
	cr_expect_eq(RUN(&r, "--salvage", segment), 0, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "replaced"), "%s", r.text);
	cr_expect_str_eq(run_segment(&r), "", "nothing can be made of it");
	read_trace(r.trace, after, &size_after);
	cr_expect(size == size_after && !memcmp(before, after, size), "the good trace was changed");

	/* with the right one all is there */
	snprintf(copy, sizeof(copy), "mv %s/copy %s", r.dir, segment);
	cr_assert_eq(system(copy), 0);
	cr_expect_eq(RUN(&r, "--salvage", segment, "-o", moved), 0, "%s", r.text);
	cr_assert_eq(rename(moved, r.trace), 0);
	check_salvaged();
}

/* Its last commit is lost, and so where the trace ended; but that is closed and whole. */
Test(salvage, the_segment_of_a_finished_trace_is_removed)
{
	struct ws_segment_file file;
	struct ws_seg_commit *commit;
	char segment[600], copy[700];
	struct ws_err err;

	leave_segment(segment);
	snprintf(copy, sizeof(copy), "cp %s %s/copy", segment, r.dir);
	cr_assert_eq(system(copy), 0);
	cr_expect_eq(RUN(&r, "--salvage", segment), 0, "%s", r.text);
	snprintf(copy, sizeof(copy), "mv %s/copy %s", r.dir, segment);
	cr_assert_eq(system(copy), 0);
	cr_assert_eq(ws_segment_file_open(&file, segment, &err), WS_OK, "%s", err.text);
	commit = calloc(1, ws_seg_commit_size(file.seg));
	cr_assert(ws_seg_commit_read(file.seg, commit));
	commit->number++;
	commit->file_size -= 8;
	ws_seg_commit_write(file.seg, commit);
	free(commit);
	ws_segment_file_close(&file);
	cr_expect_eq(RUN(&r, "--salvage", segment), 0, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "was finished"), "%s", r.text);
	check_salvaged();
}

Test(salvage, salvage_without_room_keeps_the_segment_for_another_try)
{
	struct rlimit limit, small;
	char segment[600];
	struct stat st;

	kill_launcher_after(700, false);
	run_wait_orphans();
	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	cr_assert_eq(stat(r.trace, &st), 0);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = (rlim_t)st.st_size + 1000;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	cr_expect_eq(RUN(&r, "--salvage", segment), 4, "%s", r.text);
	cr_expect_str_eq(run_segment(&r), segment, "%s", r.text);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect_eq(RUN(&r, "--salvage", segment), 0, "%s", r.text);
	check_salvaged();
}

Test(salvage, salvage_refuses_a_segment_in_use_and_what_is_no_segment)
{
	pid_t pid = run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
	                                                "--", WS_TEST_VICTIM, "until-killed",
	                                                "100000", r.tally, NULL});
	struct run other;

	while (r.rounds[0] < 10)
		usleep(1000);
	run_begin(&other);
	cr_expect_eq(RUN(&other, "--salvage", run_segment(&r)), 2, "%s", other.text);
	cr_expect_not_null(strstr(other.text, "in use"), "%s", other.text);
	cr_expect_eq(RUN(&other, "--salvage", r.tally), 3, "%s", other.text);
	cr_expect_eq(RUN(&other, "--salvage", "/nonexistent"), 3, "%s", other.text);
	run_end(&other);
	kill(pid, SIGTERM);
	cr_expect_eq(run_wait(&r, pid), 143);
}

Test(salvage, the_next_recording_tells_of_a_segment_that_was_left_behind)
{
	kill_launcher_after(100, false);
	while (r.rounds[0] < 6000)
		usleep(1000);
	cr_expect_eq(RUN(&r, "-o", "second.wtrace", "--segment-dir", r.segments, "--", "/bin/true"),
	             0);
	cr_expect_not_null(strstr(r.text, "--salvage"), "%s", r.text);
	cr_expect_not_null(strstr(r.text, run_segment(&r)), "%s", r.text);
}
