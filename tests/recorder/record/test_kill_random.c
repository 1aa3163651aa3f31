/*
 * Program, launcher and salvager are killed at random instants: nothing that the program counted is
 * missing or there twice. WS_KILLS: how many recordings; run/check slow makes 1,000.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/paths.h"
#include "tests/environment/random.h"
#include "tests/support/recorder/run.h"

#define KILLS  24
#define ROUNDS 400

static struct run r;
/* Events: that the programs had done, that are in the traces, and that are counted as lost. */
static struct {
	uint64_t done, rows, counted;
} sum;

TestSuite(kill_random, .timeout = 3600);

/* The same kills each time, at instants that are never the same. */
static uint64_t drawn = 19;

static pid_t start_recording(const char *ring)
{
	return run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
	                                           "--gpu-buffers", "0", "--buffers", "2",
	                                           "--buffer-size", ring, "--flush-interval", "1",
	                                           "--", WS_TEST_VICTIM, "until-killed", "400",
	                                           r.tally, NULL});
}

/* Salvagers are killed, too, until one is not. */
static void salvage(int kills)
{
	char segment[600];

	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	for (int i = 0; i < kills && *run_segment(&r); i++) {
		pid_t pid = run_start(&r, (const char *const[]){"--salvage", segment, NULL});

		usleep(random_below(&drawn, 15000));
		kill(pid, SIGKILL);
		cr_assert_eq(waitpid(pid, NULL, 0), pid);
	}
	if (!*run_segment(&r))
		return;
	/* it can have been killed before the program was started */
	if (RUN(&r, "--salvage", segment))
		cr_expect_eq(r.rounds[1], 0, "%s", r.text);
}

/* What the program did is in the trace once, or counted. */
static void check(int killed_program, int has_room)
{
	struct probe p;
	uint64_t rows;

	if (!r.rounds[0])
		return;
	probe_open(&p, r.trace);
	cr_expect(ws_trace_reader_summary(p.reader)->closed);
	cr_expect_eq(ws_trace_reader_summary(p.reader)->damaged_blocks, 0);
	rows = ROWS(&p, nvtx) + ROWS(&p, kernel);
	sum.done += 4 * (uint64_t)r.rounds[0];
	sum.rows += rows;
	sum.counted += probe_losses(&p);
	cr_expect_geq(rows + probe_losses(&p), 4 * (uint64_t)r.rounds[0]);
	cr_expect_leq(rows, 4 * (uint64_t)r.rounds[1]);
	if (has_room) {
		cr_expect_eq(probe_losses(&p), 0);
		run_check_rounds(&r, &p, killed_program);
	}
	if (!killed_program)
		cr_expect_eq(r.rounds[0], ROUNDS);
	probe_close(&p);
}

/* The program, or the launcher, which is salvaged when the program has ended or at once. */
enum way { PROGRAM, LAUNCHER, LAUNCHER_AT_ONCE, WAYS };

static void kill_one(enum way way, int has_room)
{
	pid_t pid = start_recording(has_room ? "1M" : "4K"), program;

	usleep(random_below(&drawn, 25000));
	program = way == PROGRAM ? run_child_of(pid) : 0;
	if (way == PROGRAM && program)
		kill(program, SIGKILL);
	else if (way != PROGRAM)
		kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	if (way == LAUNCHER)
		run_wait_orphans();
	if (*run_segment(&r))
		salvage((int)random_below(&drawn, 3));
	run_wait_orphans();
	cr_expect(!*run_segment(&r) || !r.rounds[1], "a segment is left");
	if (r.rounds[0])
		cr_expect_eq(access(r.trace, F_OK), 0, "way %d, parts %zu: %s", (int)way,
		             run_parts(&r, NULL, 0), r.text);
	check(way == PROGRAM, has_room);
}

Test(kill_random, nothing_is_missing_or_there_twice)
{
	const char *kills = getenv("WS_KILLS");
	int n = kills ? (int)strtol(kills, NULL, 10) : KILLS;

	run_adopt_orphans();
	for (int i = 0; i < n; i++) {
		run_begin(&r);
		kill_one((enum way)(i % WAYS), i / WAYS % 2);
		run_end(&r);
	}
	cr_log_info("%d kills: %lu events done, %lu in the traces, %lu counted as lost", n,
	            (unsigned long)sum.done, (unsigned long)sum.rows, (unsigned long)sum.counted);
}

static void touch(const char *name)
{
	char path[RUN_PATH];

	snprintf(path, sizeof(path), "%s/%s", r.dir, name);
	fclose(fopen(path, "w"));
}

static bool is_there(const char *name)
{
	char path[RUN_PATH];

	snprintf(path, sizeof(path), "%s/%s", r.dir, name);
	return access(path, F_OK) == 0;
}

/* Has the command that runs said this? */
static bool has_said(const char *words)
{
	run_read_output(&r);
	return strstr(r.text, words) != NULL;
}

/* Its launcher is gone, and it attaches when salvage has begun long ago. */
Test(kill_random, salvage_waits_for_a_program_that_has_not_attached)
{
	char command[4096], segment[600];
	struct probe p;
	pid_t pid;

	run_adopt_orphans();
	run_begin(&r);
	snprintf(command, sizeof(command),
	         ": >%s/begun; while ! [ -e %s/go ]; do sleep 0.05; done; exec '%s' exit 20 %s",
	         r.dir, r.dir, WS_TEST_VICTIM, r.tally);
	pid = run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir", r.segments, "--",
	                                          "/bin/sh", "-c", command, NULL});
	while (!is_there("begun"))
		usleep(1000);
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	pid = run_start(&r, (const char *const[]){"--salvage", segment, NULL});
	while (!has_said("still runs") && !waitpid(pid, NULL, WNOHANG))
		usleep(1000);
	cr_expect(has_said("still runs"), "it did not wait: %s", r.text);
	touch("go");
	cr_expect_eq(run_wait(&r, pid), 0, "%s", r.text);
	run_wait_orphans();
	probe_open(&p, r.trace);
	cr_expect_eq(ROWS(&p, kernel), 20, "%s", r.text);
	probe_close(&p);
	run_end(&r);
}
