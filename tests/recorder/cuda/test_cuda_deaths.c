/* Every death of a CUDA program, with a driver and a CUPTI for tests: no launch is lost. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/shared/system.h"
#include "tests/recorder/cuda/cuda_run.h"

static struct run run;

static void start(void)
{
	cuda_begin(&run);
}

static void stop(void)
{
	run_end(&run);
}

TestSuite(cuda_deaths, .init = start, .fini = stop, .timeout = 600);

/* Every launch is there, and nothing was lost. */
static void check(uint64_t launches)
{
	struct probe p;
	uint64_t calls = 0;

	probe_open(&p, run.trace);
	cuda_check_launches(&p, launches);
	for (uint64_t i = 0; i < ROWS(&p, api); i++)
		calls += !strcmp(TEXT(&p, api, name, i), "cudaLaunchKernel_v7000");
	cr_expect_eq(calls, launches, "one call a launch, the outer one");
	cr_expect_eq(ROWS(&p, api), launches, "cudaGetDevice is none of the calls that matter");
	probe_expect_no_loss(&p);
	probe_close(&p);
}

Test(cuda_deaths, exec_of_a_program_that_is_recorded_again)
{
	struct probe p;
	uint64_t images[3] = {0};

	cr_assert_eq(RECORD_CUDA(&run, "again", "5000", "1", "0"), 3, "%s", run.text);
	probe_open(&p, run.trace);
	cr_expect_eq(ROWS(&p, process), 2);
	cr_expect_eq(ROWS(&p, kernel), 10000);
	for (uint64_t i = 0; i < ROWS(&p, kernel); i++)
		images[CELL(&p, kernel, correlation, i) >> 32 & 3]++;
	cr_expect_eq(images[1], 5000, "ids of one image are not those of the next");
	cr_expect_eq(images[2], 5000);
	probe_expect_no_loss(&p);
	probe_close(&p);
}

Test(cuda_deaths, threads_calls_and_ranges_are_of_the_same_threads)
{
	struct probe p;
	uint64_t threads = 0;

	cr_assert_eq(RECORD_CUDA(&run, "exit", "100", "5", "0"), 3);
	probe_open(&p, run.trace);
	for (uint64_t t = 1; t <= ROWS(&p, thread); t++) {
		uint64_t calls = 0;

		if (CELL(&p, thread, tid, t - 1) == CELL(&p, thread, pid, t - 1))
			cr_expect_str_eq(TEXT(&p, thread, name, t - 1), "victim_cuda",
			                 "as the system names it");

		for (uint64_t i = 0; i < ROWS(&p, api); i++)
			calls += CELL(&p, api, thread, i) == CELL(&p, thread, id, t - 1);
		cr_expect(calls == 100 || !calls);
		threads += calls == 100;
	}
	cr_expect_eq(threads, 5);
	probe_close(&p);
}

/* The second half of the launches lies in the range and the first half before it, as exactly as
 * CUPTI's clock is known. */
static void check_one_thread(const char *mode)
{
	const int64_t slack_ns = WS_CLOCK_STEP_NS / 2;
	int64_t push_ns, pop_ns;
	struct probe p;

	cr_assert_eq(RECORD_CUDA(&run, mode, "500", "1", "0", "--flush-interval", "20"), 0);
	probe_open(&p, run.trace);
	cuda_check_launches(&p, 1000);
	cr_expect_eq(ROWS(&p, thread), 1, "the same thread for NVTX and for CUPTI");
	cr_assert_eq(ROWS(&p, nvtx), 2);
	push_ns = (int64_t)CELL(&p, nvtx, time_ns, 0);
	pop_ns = (int64_t)CELL(&p, nvtx, time_ns, 1);
	for (uint64_t i = 0; i < ROWS(&p, api); i++)
		cr_expect_eq(CELL(&p, api, thread, i), CELL(&p, nvtx, thread, 0));
	for (uint64_t i = 0; i < ROWS(&p, kernel); i++) {
		int64_t call_ns = (int64_t)CELL(&p, kernel, start_ns, i) - CUDA_CALL_TO_KERNEL_NS;
		long launch = (long)CELL(&p, kernel, graph_node, i);

		if (CELL(&p, kernel, flags, i))
			continue; /* it had no times yet */
		if (launch <= 500)
			cr_expect(call_ns < push_ns + slack_ns, "launch %ld: %ld ns behind push",
			          launch, (long)(call_ns - push_ns));
		else
			cr_expect(call_ns > push_ns - slack_ns && call_ns < pop_ns + slack_ns,
			          "launch %ld: %ld ns behind push, %ld ns behind pop", launch,
			          (long)(call_ns - push_ns), (long)(call_ns - pop_ns));
	}
	probe_expect_no_loss(&p);
	probe_close(&p);
}

Test(cuda_deaths, launches_lie_in_the_ranges_of_their_thread)
{
	check_one_thread("range");
}

Test(cuda_deaths, also_when_cupti_met_the_thread_first)
{
	check_one_thread("late-range");
}

/* --- the launcher dies --- */

/* Some thousand launches: what is left is more than a commit. */
static void wait_for_commits(void)
{
	struct stat st = {0};

	for (int i = 0; i < 300000 && (stat(run.trace, &st) || st.st_size < 16384); i++)
		usleep(1000);
}

/* Each interval takes a buffer a thread, and the launcher may get no time to empty one: there are
 * enough for ten seconds. */
Test(cuda_deaths, the_launcher_is_killed_and_salvage_goes_on_where_it_stopped)
{
	pid_t launcher = run_start(&run, (const char *const[]){"-o", run.trace, "--segment-dir",
	                                                       run.segments, "--flush-interval",
	                                                       "20", "--gpu-buffers", "1024", "--",
	                                                       WS_TEST_VICTIM_CUDA, "exit", "30000",
	                                                       "2", "30000", NULL});
	char segment[600];

	wait_for_commits();
	snprintf(segment, sizeof(segment), "%s", run_segment(&run));
	kill(launcher, SIGKILL);
	cr_assert_eq(run_wait(&run, launcher), 128 + SIGKILL);
	cr_assert_eq(RUN(&run, "--salvage", segment), 0, "%s", run.text);
	check(60000);
}
