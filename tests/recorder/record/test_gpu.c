/* What is asked for of a GPU, and what is said where there is none. */
#include <criterion/criterion.h>
#include <stdlib.h>

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

TestSuite(gpu, .init = begin, .fini = end, .timeout = 600);

Test(gpu, without_a_gpu_require_gpu_ends_with_5_and_says_what_to_do)
{
	cr_expect_eq(RECORD(&r, "exit", "10"), 3, "%s", r.text);
	cr_expect_null(strstr(r.text, "GPU"), "a program without CUDA is none of our business");
	cr_expect_eq(RECORD(&r, "exit", "10", "--require-gpu"), 5, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "no kernel of a GPU was recorded"), "%s", r.text);
}

Test(gpu, the_cuda_driver_is_told_of_the_collector_unless_no_gpu_is_to_be_recorded)
{
	const char *command = "test -f \"$CUDA_INJECTION64_PATH\"";

	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/sh", "-c",
	                 command),
	             0, "%s", r.text);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--gpu-buffers", "0", "--",
	                 "/bin/sh", "-c", command),
	             1, "%s", r.text);
}

Test(gpu, without_calls_kernels_have_none)
{
	struct probe p;

	cr_expect_eq(RECORD(&r, "exit", "100", "--api", "none"), 3, "%s", r.text);
	probe_open(&p, r.trace);
	cr_expect_eq(ROWS(&p, kernel), 100);
	cr_expect_eq(ROWS(&p, api), 0);
	for (uint64_t i = 0; i < ROWS(&p, kernel); i++)
		cr_assert_eq(CELL(&p, kernel, correlation, i), 0);
	probe_close(&p);
}

Test(gpu, library_ranges_are_asked_for_and_never_against_what_is_set)
{
	const char *command = "echo \"$CUBLAS_NVTX_LEVEL,$CUDNN_NVTX_LEVEL\" >levels";
	static const struct {
		const char *option, *levels;
	} cases[] = {
	        {"--library-ranges=yes", "2,7\n"},
	        {"--library-ranges=no", ",7\n"},
	        {"--no-args", ",7\n"}, /* not for programs that are no steps of ours */
	};

	setenv("CUDNN_NVTX_LEVEL", "7", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[32] = "", path[RUN_PATH + 8];
		FILE *f;

		cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, cases[i].option,
		                 "--", "/bin/sh", "-c", command),
		             0, "%s", r.text);
		snprintf(path, sizeof(path), "%s/levels", r.dir);
		f = fopen(path, "r");
		cr_assert_not_null(f);
		fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
		cr_expect_str_eq(text, cases[i].levels, "%s", cases[i].option);
	}
}

/* Libraries of tests, whose names are those of CUDA's. */
static int record_with_cublas(const char *more)
{
	run_preload(&r, WS_TEST_FAKES "/libcublas.so.13");
	unsetenv("LD_PRELOAD"); /* for the program alone */
	return RUN(&r, "-o", r.trace, "--segment-dir", r.segments, more, "--", "/usr/bin/env",
	           "LD_PRELOAD=./" RUN_PRELOAD, "/bin/sleep", "0.5");
}

Test(gpu, a_program_of_cuda_that_never_reaches_the_driver_is_told_why)
{
	cr_expect_eq(record_with_cublas("--no-args"), 0, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "no GPU was recorded: "), "%s", r.text);
	setenv("LD_LIBRARY_PATH", WS_TEST_FAKES, 1);
	cr_expect_eq(record_with_cublas("--no-args"), 0, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "no GPU was recorded: there is a GPU, but the program "
	                                  "never initialized CUDA"),
	                   "%s", r.text);
	cr_expect_eq(record_with_cublas("--gpu-buffers=0"), 0, "%s", r.text);
	cr_expect_null(strstr(r.text, "no GPU was recorded"), "nobody wanted it: %s", r.text);
}

/* With the driver and the CUPTI of the tests there is one. */
static int record_cuda(const char *more)
{
	setenv("LD_LIBRARY_PATH", WS_TEST_FAKES, 1);
	setenv("WARPSHEET_CUPTI_PATH", WS_TEST_FAKES "/libcupti-fake.so", 1);
	return RUN(&r, "-o", r.trace, "--segment-dir", r.segments, more, "--",
	           WS_TEST_VICTIM_PROFILER, "10");
}

Test(gpu, with_a_gpu_require_gpu_passes_the_program_s_status_on)
{
	cr_expect_eq(record_cuda("--require-gpu"), 0, "%s", r.text);
	cr_expect_null(strstr(r.text, "GPU"), "%s", r.text);
}

Test(gpu, one_line_says_why_a_gpu_was_not_recorded_and_the_program_s_status_is_passed_on)
{
	setenv("FAKE_CUPTI_SUBSCRIBE", "39", 1);
	cr_expect_eq(record_cuda("--no-args"), 0, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "no GPU was recorded: another tool uses CUPTI"), "%s",
	                   r.text);
	cr_expect_eq(record_cuda("--require-gpu"), 5, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "no GPU was recorded: another tool uses CUPTI"), "%s",
	                   r.text);
}
