/* Steps that are not recorded (--calibrate), with CUDA: docs/dev/recorder.md, 10. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/recorder/cuda/cuda_run.h"

#define STEPS    200
#define LAUNCHES 10 /* per step, and before the first */

static struct run run;
static struct probe p;

static void start(void)
{
	cuda_begin(&run);
	setenv("VICTIM_STEPS", "200", 1);
	setenv("FAKE_CUPTI_KERNEL_US", "200", 1);
}

static void stop(void)
{
	probe_close(&p);
	run_end(&run);
}

TestSuite(cuda_calibrate, .init = start, .fini = stop, .timeout = 600);

static void record(const char *version)
{
	setenv("FAKE_CUPTI_VERSION", version, 1);
	cr_assert_eq(RECORD_CUDA(&run, "steps", "10", "1", "0", "--calibrate"), 0, "%s", run.text);
	probe_open(&p, run.trace);
	cr_expect_eq(probe_losses(&p), 0, "nothing is lost: %s", run.text);
}

/* Pushes of this name, and their times if asked for. */
static uint64_t pushes(const char *name, int64_t *time_ns)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < ROWS(&p, nvtx); i++) {
		if (CELL(&p, nvtx, type, i) != WS_NVTX_PUSH ||
		    strcmp(TEXT(&p, nvtx, name, i), name) != 0)
			continue;
		if (time_ns && n < STEPS)
			time_ns[n] = (int64_t)CELL(&p, nvtx, time_ns, i);
		n++;
	}
	return n;
}

static void check_switched_steps(void)
{
	uint64_t unrecorded[STEPS + 1] = {0}, nunrecorded = 0, ncompared = 0, calls = 0;
	int64_t begin_ns[STEPS + 1];

	cr_assert_eq(pushes("step", begin_ns), STEPS, "also those that are not recorded are known");
	begin_ns[STEPS] = INT64_MAX;
	for (uint64_t i = 0; i < ROWS(&p, op_period); i++) {
		const int64_t start_ns = (int64_t)CELL(&p, op_period, start_ns, i);
		int step = 0;

		while (begin_ns[step + 1] <= start_ns)
			step++;
		cr_expect_geq(step, 20, "the first steps are recorded");
		if (CELL(&p, op_period, calibration, i) == WS_CALIBRATION_UNRECORDED)
			unrecorded[step] = 1;
		nunrecorded += CELL(&p, op_period, calibration, i) == WS_CALIBRATION_UNRECORDED;
		ncompared += CELL(&p, op_period, calibration, i) == WS_CALIBRATION_COMPARED;
	}
	cr_expect_eq(nunrecorded, 18, "one of each ten behind the first twenty: %lu",
	             (unsigned long)nunrecorded);
	cr_expect_eq(ncompared, 18);
	for (int s = 2; s < STEPS; s++)
		cr_expect(unrecorded[s] + unrecorded[s - 1] + unrecorded[s - 2] <= 1,
		          "two recorded steps lie between step %d and the one before", s);
	for (uint64_t i = 0; i < ROWS(&p, kernel); i++) {
		const uint64_t launch = CELL(&p, kernel, graph_node, i) - 1;

		cr_expect(launch < LAUNCHES || !unrecorded[launch / LAUNCHES - 1],
		          "launch %lu was not to be recorded", (unsigned long)launch);
		cr_expect_eq(CELL(&p, kernel, dur_ns, i), 200000, "no kernel was cut off");
	}
	cr_expect_eq(ROWS(&p, kernel), LAUNCHES * (1 + STEPS - nunrecorded),
	             "every other kernel is there: %lu", (unsigned long)ROWS(&p, kernel));
	calls = cuda_count_calls(&p, "cudaLaunchKernel_v7000");
	cr_expect_eq(calls, ROWS(&p, kernel), "and its call: %lu", (unsigned long)calls);
	cr_expect_eq(ROWS(&p, sync), 0, "the recorder's own waits are none of the program");
	cr_expect_eq(pushes("inner", NULL), STEPS - nunrecorded);
	cr_expect_geq(pushes("other", NULL), pushes("in other", NULL));
}

Test(cuda_calibrate, no_kernel_is_lost_where_recording_is_switched)
{
	record("130101");
	check_switched_steps();
	cr_expect_null(strstr(run.text, "--calibrate"), "%s", run.text);
}

Test(cuda_calibrate, subscribers_with_activities_of_their_own_switch_them)
{
	record("130400");
	check_switched_steps();
}

Test(cuda_calibrate, an_old_cupti_records_everything_and_says_so)
{
	record("130100");
	cr_expect_eq(ROWS(&p, op_period), 0);
	cr_expect_eq(ROWS(&p, kernel), LAUNCHES * (1 + STEPS));
	cr_expect_not_null(strstr(run.text, "--calibrate: every step of"), "%s", run.text);
	cr_expect_not_null(strstr(run.text, "CUPTI before 13.1 Update 1"), "%s", run.text);
}

Test(cuda_calibrate, twenty_steps_are_too_few)
{
	setenv("VICTIM_STEPS", "20", 1);
	record("130101");
	cr_expect_eq(ROWS(&p, op_period), 0);
	cr_expect_not_null(strstr(run.text, "the program has 20 steps or fewer"), "%s", run.text);
}
