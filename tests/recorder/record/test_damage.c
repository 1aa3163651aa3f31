/*
 * A program writes over its own segment, whose every byte it can write: the launcher ends as
 * always, what is lost is counted, and --salvage takes what is whole.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/shared/segment_file.h"
#include "tests/environment/random.h"
#include "tests/support/recorder/run.h"

#define LIVE  80 /* recordings that are damaged while they run … */
#define AFTER 70 /* … and after their launcher was killed */

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

TestSuite(damage, .init = begin, .fini = end, .timeout = 600);

/* The same damages each time. */
static uint64_t drawn = 23;

enum part { FIXED, SPARE, HEADER, COMMIT, TABLES, LOG, RING_HEADS, RINGS, PARTS };

/* Where a part lies: of two that are there twice, one. */
static uint64_t place_of(const struct ws_seg_header *seg, enum part part, uint64_t *size)
{
	const uint32_t buffer = random_below(&drawn, seg->thread_buffer_count);

	*size = WS_SEG_PAGE;
	switch (part) {
	case FIXED:
		*size = 192; /* the layout, and the first clocks */
		return 0;
	case SPARE:
		return WS_SEG_SPARE;
	case HEADER:
		*size = sizeof(*seg) - WS_SEG_FIXED_SIZE;
		return WS_SEG_FIXED_SIZE;
	case COMMIT:
		*size = ws_seg_commit_size(seg);
		return seg->commit_offset + random_below(&drawn, 2) * seg->commit_stride;
	case TABLES:
		*size = seg->thread_buffer_count * sizeof(uint32_t);
		return seg->threads_offset;
	case LOG:
		return seg->defs_offset;
	case RING_HEADS:
		*size = 256;
		return seg->thread_buffers_offset + buffer * seg->thread_buffer_stride;
	default:
		return seg->thread_buffers_offset + buffer * seg->thread_buffer_stride +
		       WS_THREAD_BUFFER_HEADER_SIZE;
	}
}

/* A few words of the file become extreme, others, or differ by a bit. */
static void damage(const char *path, enum part part)
{
	static const uint64_t extreme[] = {0, 1, UINT32_MAX, INT64_MAX, UINT64_MAX};
	struct ws_segment_file file;
	struct ws_err err;
	int fd = open(path, O_RDWR);
	uint64_t size, begin;

	cr_assert_geq(fd, 0);
	cr_assert_eq(ws_segment_file_open(&file, path, &err), WS_OK, "%s", err.text);
	begin = place_of(file.seg, part, &size);
	for (unsigned n = 1 + random_below(&drawn, 8); n--;) {
		uint64_t word, at = begin + random_below(&drawn, (unsigned)(size / 8)) * 8;

		cr_assert_eq(pread(fd, &word, sizeof(word), (off_t)at), sizeof(word));
		word = random_below(&drawn, 2)   ? extreme[random_below(&drawn, 5)]
		       : random_below(&drawn, 2) ? (uint64_t)random_below(&drawn, UINT32_MAX) *
		                                           random_below(&drawn, UINT32_MAX)
		                                 : word ^ UINT64_C(1) << random_below(&drawn, 64);
		cr_assert_eq(pwrite(fd, &word, sizeof(word), (off_t)at), sizeof(word));
	}
	ws_segment_file_close(&file);
	close(fd);
}

/* A recording of which the trace has something; its launcher. */
static pid_t start(char segment[600])
{
	pid_t pid = run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
	                                                "--gpu-buffers", "0", "--buffers", "4",
	                                                "--buffer-size", "1M", "--flush-interval",
	                                                "1", "--", WS_TEST_VICTIM, "until-killed",
	                                                "100000", r.tally, NULL});

	while (r.rounds[0] < 50 || access(r.trace, F_OK))
		usleep(1000);
	snprintf(segment, 600, "%s", run_segment(&r));
	run_wait_committed(&r);
	return pid;
}

/* Let the program do some more, if it still can, and end it. */
static void end_program(pid_t program)
{
	usleep(5000);
	kill(program, SIGKILL);
}

/* The launcher is killed, and then its program. */
static void kill_both(pid_t pid, pid_t program)
{
	int status;

	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	end_program(program);
	waitpid(program, NULL, 0);
}

/* A launcher that ended as it should, and what it made. */
static void check(int status, enum part part)
{
	struct probe p;
	uint64_t rows;

	cr_assert(WIFEXITED(status), "part %d: killed by %d", (int)part, WTERMSIG(status));
	probe_open(&p, r.trace);
	cr_expect(ws_trace_reader_summary(p.reader)->closed, "part %d", (int)part);
	cr_expect_eq(ws_trace_reader_summary(p.reader)->damaged_blocks, 0, "part %d", (int)part);
	rows = ROWS(&p, nvtx) + ROWS(&p, kernel);
	cr_expect_gt(rows, 100, "part %d: what was committed stays", (int)part);
	/* a program that damages its counters of losses has none to tell */
	if (rows < 4 * (uint64_t)r.rounds[0] && part != HEADER)
		cr_expect_gt(probe_losses(&p), 0, "part %d: %lu of %d", (int)part,
		             (unsigned long)rows, 4 * r.rounds[0]);
	probe_close(&p);
	cr_expect_str_eq(run_segment(&r), "", "a segment stays");
}

Test(damage, a_launcher_survives_whatever_its_program_writes)
{
	for (int i = 0; i < LIVE; i++) {
		enum part part = (enum part)(i % PARTS);
		pid_t pid, program;
		char segment[600];
		int status;

		pid = start(segment);
		program = run_child_of(pid);
		damage(segment, part);
		end_program(program);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		check(status, part);
		run_end(&r);
		run_begin(&r);
	}
}

static int salvage(const char *segment, const char *trace)
{
	pid_t pid = trace ? run_start(&r, (const char *const[]){"--salvage", segment, "-o", trace,
	                                                        NULL})
	                  : run_start(&r, (const char *const[]){"--salvage", segment, NULL});
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

Test(damage, salvage_takes_what_is_whole)
{
	int named = 0;

	for (int i = 0; i < AFTER; i++) {
		enum part part = (enum part)(i % PARTS);
		pid_t pid, program;
		char segment[600];
		int status;

		pid = start(segment);
		program = run_child_of(pid);
		kill_both(pid, program);
		damage(segment, part);
		status = salvage(segment, NULL);
		if (part == HEADER && WIFEXITED(status) && WEXITSTATUS(status)) {
			named++; /* what it says of the trace is damaged */
			status = salvage(segment, r.trace);
		}
		cr_expect_eq(WEXITSTATUS(status), 0, "part %d", (int)part);
		check(status, part);
		run_end(&r);
		run_begin(&r);
	}
	cr_expect_lt(named, AFTER / PARTS, "%d", named);
}

/* Its memory is gone then, under the launcher, which reads and writes there. */
Test(damage, a_program_that_cuts_its_segment_short_is_told_and_ends_nothing_else)
{
	static const off_t sizes[] = {0, 70000, 200000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		pid_t pid, program;
		char segment[600];
		int code;

		pid = start(segment);
		program = run_child_of(pid);
		cr_assert_eq(truncate(segment, sizes[i]), 0);
		end_program(program);
		code = run_wait(&r, pid);
		cr_expect(code == 128 + SIGKILL || code == 128 + SIGBUS, "%d: the program's", code);
		cr_expect_not_null(strstr(r.text, "cut the segment short"), "%s", r.text);
		check(0, FIXED);
		run_end(&r);
		run_begin(&r);
	}
}

Test(damage, of_a_segment_that_was_cut_short_salvage_takes_what_is_left)
{
	pid_t pid, program;
	char segment[600];
	int status;

	pid = start(segment);
	program = run_child_of(pid);
	kill_both(pid, program);
	cr_assert_eq(truncate(segment, WS_SEG_HEADER_SIZE + 65536 + 12345), 0);
	status = salvage(segment, NULL);
	cr_expect_eq(WEXITSTATUS(status), 0);
	check(status, HEADER);
}

/* What the launcher writes last, from the program's hand, whose records have no rows by then. */
Test(damage, a_program_that_says_its_trace_is_finished_loses_nothing)
{
	struct ws_segment_file file;
	pid_t pid, program;
	char segment[600];
	struct ws_err err;
	int status;

	pid = start(segment);
	program = run_child_of(pid);
	kill_both(pid, program);
	cr_assert_eq(ws_segment_file_open(&file, segment, &err), WS_OK, "%s", err.text);
	atomic_store(&file.seg->state, WS_SEG_CLOSED);
	ws_segment_file_close(&file);
	cr_expect_eq(RUN(&r, "-o", "/dev/null", "--segment-dir", r.segments, "--", "/bin/true"), 0);
	cr_expect_not_null(strstr(r.text, segment), "the next recording tells of it: %s", r.text);
	status = salvage(segment, NULL);
	cr_expect_eq(WEXITSTATUS(status), 0);
	check(status, FIXED);
	run_read_output(&r);
	cr_expect_not_null(strstr(r.text, "rescued"), "%s", r.text);
}
