/* Recording a part of a run: what is inside is whole, what is outside is counted. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/paths.h"
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

TestSuite(capture_window, .init = begin, .fini = end, .timeout = 600);

static struct probe open_whole(void)
{
	struct probe p = run_open_whole(&r);

	probe_expect_no_loss(&p);
	return p;
}

static uint64_t outside(const struct probe *p)
{
	const char *text = probe_meta(p, "record.outside_window");

	return text ? strtoull(text, NULL, 10) : 0;
}

/* A round is a push, a pop, a mark and a kernel. */
static void check_sum(const struct probe *p, uint64_t extra)
{
	cr_expect_eq(ROWS(p, nvtx) + ROWS(p, kernel) + outside(p),
	             4 * (uint64_t)r.rounds[0] + extra, "%lu rows, %lu outside, of %d rounds",
	             (unsigned long)(ROWS(p, nvtx) + ROWS(p, kernel)), (unsigned long)outside(p),
	             r.rounds[0]);
}

/* The rounds first … last are there and no others. */
static void check_rounds(const struct probe *p, int first, int last)
{
	cr_assert_eq(ROWS(p, kernel), (uint64_t)(last - first + 1));
	for (int i = first; i <= last; i++) {
		char name[32];

		snprintf(name, sizeof(name), "event %d", i);
		cr_expect_eq(probe_count(p, WS_NVTX_PUSH, name), 1, "%s", name);
	}
	cr_expect_eq(probe_count(p, WS_NVTX_MARK, "mark"), (uint64_t)(last - first + 1));
}

Test(capture_window, of_the_ranges_that_match_the_instances_asked_for_are_recorded)
{
	struct probe p;

	cr_expect_eq(RECORD(&r, "exit", "5000", "--capture-range", "ev*t ?@5..7"), 3, "%s", r.text);
	p = open_whole();
	check_rounds(&p, 4, 6);
	check_sum(&p, 0);
	cr_expect_not_null(strstr(r.text, "outside the capture range"), "%s", r.text);
	cr_expect_null(strstr(r.text, "lost"), "%s", r.text);
	probe_close(&p);
}

Test(capture_window, what_lies_around_the_range_is_there_too_so_that_paths_are_whole)
{
	struct probe p;

	cr_expect_eq(RECORD(&r, "nested", "3000", "--capture-range", "event 1*@100..150"), 0, "%s",
	             r.text);
	p = open_whole();
	cr_expect_eq(ROWS(&p, kernel), 51);
	cr_expect_eq(probe_count(&p, WS_NVTX_PUSH, "epoch"), 1);
	cr_expect_str_eq(TEXT(&p, nvtx, name, 0), "epoch", "it comes before what is in it");
	cr_expect_eq(CELL(&p, nvtx, type, ROWS(&p, nvtx) - 1), WS_NVTX_POP);
	check_sum(&p, 2);
	probe_close(&p);
}

Test(capture_window, the_range_around_may_be_the_one_that_is_asked_for)
{
	struct probe p;

	cr_expect_eq(RECORD(&r, "nested", "3000", "--capture-range", "epoch@1"), 0, "%s", r.text);
	p = open_whole();
	check_rounds(&p, 0, 2999);
	check_sum(&p, 2);
	cr_expect_null(probe_meta(&p, "record.outside_window"));
	probe_close(&p);
}

Test(capture_window, with_a_delay_and_a_duration_only_what_is_between_is_recorded)
{
	/* a busy machine may give the program no time in a short window: then a longer one is tried
	 */
	static const struct {
		const char *rounds, *duration;
		int64_t end_ns;
	} windows[] = {{"40000", "0.3", 500000000},
	               {"160000", "1.2", 1400000000},
	               {"640000", "4.8", 5000000000}};
	bool both_seen = false;

	for (size_t w = 0; w < sizeof(windows) / sizeof(*windows) && !both_seen; w++) {
		struct probe p;

		cr_expect_eq(RECORD(&r, "until-killed", windows[w].rounds, "--delay", "0.2",
		                    "--duration", windows[w].duration, "--buffers", "2",
		                    "--buffer-size", "16M"),
		             0, "%s", r.text);
		p = open_whole();
		check_sum(&p, 0);
		for (uint64_t i = 0; i < ROWS(&p, kernel); i++) {
			int64_t start = (int64_t)CELL(&p, kernel, start_ns, i);

			cr_assert(start + (int64_t)CELL(&p, kernel, dur_ns, i) >= 200000000 &&
			                  start <= windows[w].end_ns,
			          "a kernel at %ld ns", (long)start);
		}
		both_seen = ROWS(&p, kernel) > 100 && outside(&p) > 100;
		probe_close(&p);
	}
	cr_expect(both_seen);
}

Test(capture_window, a_trace_ends_at_its_greatest_size_and_the_program_goes_on)
{
	struct stat st;
	struct probe p;

	cr_expect_eq(RECORD(&r, "until-killed", "60000", "--max-size", "64K", "--flush-interval",
	                    "5", "--buffers", "2", "--buffer-size", "16M"),
	             0, "%s", r.text);
	cr_expect_eq(r.rounds[0], 60000);
	cr_expect_not_null(strstr(r.text, "has reached --max-size"), "%s", r.text);
	p = open_whole();
	check_sum(&p, 0);
	cr_expect_gt(outside(&p), 0);
	probe_close(&p);
	cr_assert_eq(stat(r.trace, &st), 0);
	cr_expect_geq(st.st_size, 64 << 10);
}

Test(capture_window, salvage_goes_on_with_the_instances_where_the_killed_launcher_stopped)
{
	for (int round = 0; round < 4; round++) {
		char segment[600];
		struct probe p;
		pid_t pid =
		        run_start(&r,
		                  (const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
		                                        "--flush-interval", "3", "--buffers", "2",
		                                        "--buffer-size", "16M", "--capture-range",
		                                        "event *@2000..4000", "--", WS_TEST_VICTIM,
		                                        "until-killed", "6000", r.tally, NULL});

		while (r.rounds[0] < 1000 + 1300 * round)
			usleep(200);
		kill(pid, SIGKILL);
		cr_expect_eq(run_wait(&r, pid), 137);
		run_wait_orphans();
		snprintf(segment, sizeof(segment), "%s", run_segment(&r));
		cr_expect_eq(RUN(&r, "--salvage", segment), 0, "%s", r.text);
		p = open_whole();
		check_rounds(&p, 1999, 3999);
		probe_close(&p);
		end();
		begin();
	}
}

/* Launches of CUDA, of which the program chooses some: see victim_profiler.c. */
static void check_profiler(const char *range, uint64_t first, uint64_t last)
{
	struct probe p;

	setenv("LD_LIBRARY_PATH", WS_TEST_FAKES, 1);
	setenv("WARPSHEET_CUPTI_PATH", WS_TEST_FAKES "/libcupti-fake.so", 1);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--capture-range", range,
	                 "--", WS_TEST_VICTIM_PROFILER, "500"),
	             0, "%s", r.text);
	p = open_whole();
	cr_expect_eq(ROWS(&p, kernel), (last - first + 1) * 500);
	/* of each launch kernel and call, and no kernel without its call */
	cr_expect_eq(ROWS(&p, api), ROWS(&p, kernel));
	cr_expect_geq(outside(&p), 2 * (9 * 500 - ROWS(&p, kernel)));
	for (uint64_t i = 0; i < ROWS(&p, kernel); i++) {
		uint64_t part = (CELL(&p, kernel, graph_node, i) - 1) / 500;

		cr_assert(part % 2 == 1 && part / 2 + 1 >= first && part / 2 + 1 <= last,
		          "launch %lu", (unsigned long)CELL(&p, kernel, graph_node, i));
	}
	probe_close(&p);
}

Test(capture_window, kernels_between_profiler_start_and_stop_are_recorded)
{
	check_profiler("cudaProfilerApi", 1, 4);
}

Test(capture_window, of_the_profiler_s_ranges_the_instances_asked_for_are_recorded)
{
	check_profiler("cudaProfilerApi@2..3", 2, 3);
}

Test(capture_window, command_lines_that_make_no_sense_end_with_2)
{
	static const char *const wrong[] = {
	        "--delay=-1",
	        "--delay=x",
	        "--delay=1e300",
	        "--duration=0",
	        "--duration=nan",
	        "--max-size=0",
	        "--max-size=x",
	        "--capture-range=",
	        "--capture-range=@1..2",
	        "--capture-range=a@0",
	        "--capture-range=a@3..2",
	        "--capture-range=a@1..x",
	        "--capture-range=a@99999999999999999999",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		cr_expect_eq(RUN(&r, wrong[i], "--", "/bin/true"), 2, "%s", wrong[i]);
	/* an @ may be part of a name */
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--capture-range",
	                 "me@home", "--", "/bin/true"),
	             0, "%s", r.text);
}
