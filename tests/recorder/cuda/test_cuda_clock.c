/* Somebody sets the clock while a program is recorded: no time in the trace moves. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/recorder/cuda/cuda_run.h"

#define LAUNCHES 400

static struct run run;
static struct probe p;

static void start(void)
{
	static char path[RUN_PATH + 8];
	int fd;

	cuda_begin(&run);
	snprintf(path, sizeof(path), "%s/clock", run.dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	cr_assert_eq(ftruncate(fd, sizeof(int64_t)), 0);
	close(fd);
	setenv("FAKE_CLOCK", path, 1);
	run_preload(&run, WS_TEST_FAKES "/libfake_clock.so");
}

static void stop(void)
{
	probe_close(&p);
	run_end(&run);
}

TestSuite(cuda_clock, .init = start, .fini = stop, .timeout = 600);

/* Push, launches, the step, launches, pop. */
static void record(const char *step_ns)
{
	setenv("FAKE_CLOCK_STEP_NS", step_ns, 1);
	cr_assert_eq(RECORD_CUDA(&run, "step", "400", "1", "0"), 0, "%s", run.text);
	unsetenv("LD_PRELOAD");
	probe_open(&p, run.trace);
}

static int64_t time_of(enum ws_nvtx_type type)
{
	for (uint64_t i = 0; i < ROWS(&p, nvtx); i++)
		if (CELL(&p, nvtx, type, i) == (uint64_t)type)
			return (int64_t)CELL(&p, nvtx, time_ns, i);
	cr_assert_fail("no event of type %d", (int)type);
	return 0;
}

/* The kernels in the order of their launches, each after the last; those of the range inside it. */
static void check_order(void)
{
	static int64_t starts[16 * LAUNCHES]; /* by correlation id; other calls have some, too */
	int64_t begin = time_of(WS_NVTX_PUSH), end = time_of(WS_NVTX_POP), last = INT64_MIN;
	uint64_t first = UINT64_MAX;
	int inside = 0;

	cuda_check_launches(&p, 3 * LAUNCHES);
	for (uint64_t i = 0; i < ROWS(&p, kernel); i++)
		if (CELL(&p, kernel, correlation, i) < first)
			first = CELL(&p, kernel, correlation, i);
	memset(starts, 0xFF, sizeof(starts));
	for (uint64_t i = 0; i < ROWS(&p, kernel); i++) {
		uint64_t at = CELL(&p, kernel, correlation, i) - first;

		cr_assert_lt(at, 16 * LAUNCHES);
		starts[at] = (int64_t)CELL(&p, kernel, start_ns, i);
	}
	for (int i = 0; i < 16 * LAUNCHES; i++) {
		if (starts[i] == -1)
			continue;
		cr_assert_geq(starts[i], last, "launch %d", i);
		last = starts[i];
		/* a kernel begins a little after its call */
		inside += last >= begin && last <= end + 1000000;
	}
	cr_expect_eq(inside, 2 * LAUNCHES, "%d", inside);
	cr_expect_lt(end - begin, INT64_C(600000000000), "%lld ns", (long long)(end - begin));
	cr_expect_eq(probe_loss(&p, "clock_step"), 1);
}

Test(cuda_clock, set_back_by_an_hour)
{
	record("-3600000000000");
	check_order();
	cr_expect_eq(probe_loss(&p, "time_uncertain"), 0);
	cr_expect_eq(probe_loss(&p, "activity_damaged"), 0);
	/* the two clocks are read one after the other, so an hour but for what lies between */
	for (int i = 0; i < 2; i++) {
		const char *key = i ? "clock.realtime_apart_ns" : "clock.largest_step_ns";
		long long ns = strtoll(probe_meta(&p, key), NULL, 10);

		cr_expect_lt(llabs(ns + 3600000000000), 1000000000, "%s: %lld", key, ns);
	}
}

Test(cuda_clock, set_forward_by_an_hour)
{
	record("3600000000000");
	check_order();
	cr_expect_eq(probe_loss(&p, "time_uncertain"), 0);
	cr_expect_eq(probe_loss(&p, "activity_damaged"), 0);
}

/* However long CUPTI takes from the time of a record to the buffer that it goes into. */
static void check_late_buffers(const char *step_ns)
{
	static const char *const late_us[] = {"1", "1000"};

	for (size_t i = 0; i < sizeof(late_us) / sizeof(*late_us); i++) {
		probe_close(&p);
		setenv("FAKE_CUPTI_REQUEST_US", late_us[i], 1);
		run_preload(&run, WS_TEST_FAKES "/libfake_clock.so");
		record(step_ns);
		check_order();
		cr_expect_eq(probe_loss(&p, "time_uncertain"), 0, "%s us", late_us[i]);
		cr_expect_eq(probe_loss(&p, "activity_damaged"), 0, "%s us", late_us[i]);
	}
}

Test(cuda_clock, set_back_while_buffers_come_late)
{
	check_late_buffers("-3600000000000");
}

Test(cuda_clock, set_forward_while_buffers_come_late)
{
	check_late_buffers("3600000000000");
}

/* Not to be told apart for the records around it: those are counted. */
Test(cuda_clock, set_by_so_little_that_some_records_can_be_of_before_and_after)
{
	int64_t begin, end;

	record("-500000");
	begin = time_of(WS_NVTX_PUSH);
	end = time_of(WS_NVTX_POP);
	cr_expect_geq(end, begin);
	cr_expect_eq(probe_loss(&p, "clock_step"), 1);
	cr_expect_eq(probe_loss(&p, "activity_damaged"), 0);
	cr_expect_eq(ROWS(&p, kernel), 3 * LAUNCHES);
	for (uint64_t i = 0; i < ROWS(&p, kernel); i++)
		cr_expect_lt(CELL(&p, kernel, dur_ns, i), UINT64_C(1000000000));
}

/* The recorder's thread has the only buffer: without it the kernels have no names. */
Test(cuda_clock, the_end_waits_for_a_flush_by_the_clock_of_the_kernel)
{
	setenv("FAKE_CUPTI_HOLD_MS", "300", 1);
	cr_assert_eq(RECORD_CUDA(&run, "late-clock", "0", "1", "0", "--flush-interval", "20"), 0,
	             "%s", run.text);
	unsetenv("LD_PRELOAD");
	probe_open(&p, run.trace);
	cuda_check_launches(&p, LAUNCHES);
	probe_expect_no_loss(&p);
}
