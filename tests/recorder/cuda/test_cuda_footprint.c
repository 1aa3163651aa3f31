/* What a recording takes of memory: what it uses, and no more; and what happens when there is none.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "recorder/drain/drain.h"
#include "tests/recorder/cuda/cuda_run.h"
#include "tests/support/paths.h"
#include "tests/environment/scratch.h"

#define MIB (UINT64_C(1) << 20)

static struct run r;

/* Segments lie in memory, as they do by default; with options that fit where that is scarce. */
static void begin(void)
{
	cuda_begin(&r);
	rmdir(r.segments);
	snprintf(r.segments, sizeof(r.segments), "%s/ws_grow.XXXXXX", scratch_memory());
	cr_assert_not_null(mkdtemp(r.segments));
}

static void end(void)
{
	run_end(&r);
}

TestSuite(cuda_footprint, .init = begin, .fini = end, .timeout = 600);

#define SMALL "--gpu-buffers", "32", "--buffers", "8"
/* In the shell that is recorded: bytes of memory behind all segments there are. */
#define SUM_UP                                                             \
	"stat -c %b \"$WARPSHEET_SEGMENT\"* | { s=0; while read -r b; do " \
	"s=$((s + b * 512)); done; echo $s; } >sum"

static uint64_t sum_of_segments(void)
{
	char path[RUN_PATH + 8], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/sum", r.dir);
	f = fopen(path, "r");
	cr_assert_not_null(f);
	cr_assert_not_null(fgets(text, sizeof(text), f));
	fclose(f);
	return strtoull(text, NULL, 10);
}

/* A promise is about the options that people use: the ones they do not give. */
static void need_room_for_defaults(void)
{
	struct statvfs room;

	cr_assert_eq(statvfs(r.segments, &room), 0);
	if (room.f_bavail * room.f_frsize < 1024 * MIB)
		cr_skip_test("/dev/shm is too small for segments of the standard size");
}

Test(cuda_footprint, a_program_that_records_nothing_takes_less_than_a_mebibyte)
{
	need_room_for_defaults();
	cr_assert_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/sh", "-c",
	                 SUM_UP),
	             0, "%s", r.text);
	cr_expect_gt(sum_of_segments(), 0);
	cr_expect_lt(sum_of_segments(), MIB, "%lu bytes", (unsigned long)sum_of_segments());
}

/*
 * Measured: 3.4 ms and 300 page faults. It took 100 ms when all of the segment was fetched first,
 * and 5.4 with 1,500 faults more when a table of launches was looked through that had never been
 * written.
 */
Test(cuda_footprint, a_start_takes_little_processor_time)
{
	long least_faults = LONG_MAX;
	double best_ms = 1e9;

	for (int i = 0; i < 5; i++) {
		long faults;

		struct rusage before, after;
		double ms;

		getrusage(RUSAGE_CHILDREN, &before);
		cr_assert_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/true"),
		             0, "%s", r.text);
		getrusage(RUSAGE_CHILDREN, &after);
#define MS(field)                                                   \
	((double)(after.field.tv_sec - before.field.tv_sec) * 1e3 + \
	 (double)(after.field.tv_usec - before.field.tv_usec) / 1e3)
		ms = MS(ru_utime) + MS(ru_stime);
		best_ms = ms < best_ms ? ms : best_ms;
		faults = after.ru_minflt - before.ru_minflt;
		least_faults = faults < least_faults ? faults : least_faults;
	}
	/* faults are the same on a busy machine, where time is not */
	cr_expect_lt(best_ms, 50, "%.1f ms", best_ms);
	cr_expect_lt(least_faults, 900, "%ld page faults", least_faults);
}

Test(cuda_footprint, ten_processes_that_launch_take_what_they_use)
{
	char command[4096];

	need_room_for_defaults();
	snprintf(command, sizeof(command),
	         "for i in 1 2 3 4 5 6 7 8 9 10; do '%s' wait 5000 1 0 & pids=\"$pids $!\"; done; "
	         "i=0; until set -- \"$WARPSHEET_SEGMENT\"*; %s; "
	         "[ $# -ge 10 ] && [ $(cat sum) -gt %lu ] || [ $((i += 1)) -gt 3000 ]; "
	         "do sleep 0.1; done; sleep 0.3; %s; kill $pids; wait",
	         WS_TEST_VICTIM_CUDA, SUM_UP, (unsigned long)(10 * MIB / 4), SUM_UP);
	RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/sh", "-c", command);
	cr_expect_gt(sum_of_segments(), 10 * MIB / 4, "they have begun");
	cr_expect_lt(sum_of_segments(), 200 * MIB, "%lu bytes, all of them 12 GiB",
	             (unsigned long)sum_of_segments());
}

/* --- without room --- */

static void leave_room(const char *bytes)
{
	setenv("NO_ROOM_AFTER", bytes, 1);
	run_preload(&r, WS_TEST_FAKES "/libno_room.so");
}

/* Record the victim of NVTX, which makes this many ranges with a mark and a kernel. */
#define ROUNDS  20000
#define ROUNDS_ "20000"

static struct probe record_nvtx(void)
{
	int before = r.rounds[0];
	struct probe p;

	cr_assert_eq(RECORD(&r, "nested", ROUNDS_, SMALL, "--buffer-size", "8M"), 0, "%s", r.text);
	cr_assert_eq(r.rounds[0], before + ROUNDS);
	probe_open(&p, r.trace);
	cr_expect(ws_trace_reader_summary(p.reader)->closed);
	return p;
}

Test(cuda_footprint, a_thread_without_room_for_its_ring_drops_and_counts)
{
	/* for not even a ring's beginning, for that alone, for some of it, for all of it */
	static const char *const rooms[] = {"0", "100000", "400000", "20000000"};
	const uint64_t all = 4 * ROUNDS + 2;

	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
		struct probe p;
		uint64_t rows;

		leave_room(rooms[i]);
		p = record_nvtx();
		rows = ROWS(&p, nvtx) + ROWS(&p, kernel);
		cr_expect_geq(rows + probe_losses(&p), all, "%s of room: %lu and %lu", rooms[i],
		              (unsigned long)rows, (unsigned long)probe_losses(&p));
		cr_expect_eq(rows == 0, i == 0, "%s of room: %lu", rooms[i], (unsigned long)rows);
		cr_expect_eq(probe_loss(&p, "thread_without_ring") > 0, i == 0);
		cr_expect_eq(probe_losses(&p) == 0, i == 3, "%s of room: %lu", rooms[i],
		             (unsigned long)probe_losses(&p));
		probe_close(&p);
	}
}

Test(cuda_footprint, launches_without_room_for_a_buffer_are_counted)
{
	static const char *const rooms[] = {"0", "6000000"};

	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
		struct probe p;

		leave_room(rooms[i]);
		cr_assert_eq(RECORD_CUDA(&r, "exit", "50000", "1", "0", SMALL), 3, "%s", r.text);
		probe_open(&p, r.trace);
		cr_expect_gt(probe_loss(&p, "activity_refused"), 0);
		cr_expect_geq(ROWS(&p, kernel) + probe_loss(&p, "activity_dropped"), 50000);
		cr_expect_eq(ROWS(&p, kernel) == 0, i == 0, "%s of room: %lu", rooms[i],
		             (unsigned long)ROWS(&p, kernel));
		probe_close(&p);
	}
}

Test(cuda_footprint, a_further_process_without_room_is_not_recorded_and_counted)
{
	char command[4096];
	struct probe p;

	run_preload(&r, WS_TEST_FAKES "/libno_room.so");
	snprintf(command, sizeof(command), "'%s' exit 10 %s; NO_ROOM_AFTER=0 '%s' exit 10 %s",
	         WS_TEST_VICTIM, r.tally, WS_TEST_VICTIM, r.tally);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, SMALL, "--", "/bin/sh",
	                 "-c", command),
	             5, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "no room for its segment"), "%s", r.text);
	probe_open(&p, r.trace);
	cr_expect_eq(ROWS(&p, kernel), 10);
	cr_expect_eq(probe_loss(&p, "process_not_recorded"), 1);
	probe_close(&p);
}

Test(cuda_footprint, a_system_that_cannot_be_asked_for_pages_reserves_all_of_it)
{
	struct probe p;

	leave_room("old");
	cr_assert_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, SMALL, "--", "/bin/sh",
	                 "-c", SUM_UP),
	             0, "%s", r.text);
	cr_expect_gt(sum_of_segments(), 40 * MIB);
	p = record_nvtx();
	cr_expect_gt(ROWS(&p, kernel), 0);
	probe_close(&p);
}
