/* The ranges of NVIDIA's own cuBLAS and cuDNN, which need no driver. Skipped without them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/recorder/cuda/cuda_run.h"

static struct run run;

static void start(void)
{
	run_begin(&run);
}

static void stop(void)
{
	run_end(&run);
}

TestSuite(cuda_libraries, .init = start, .fini = stop, .timeout = 600);

/* 0: neither library is installed. */
static int record(struct probe *p, const char *library_ranges)
{
	int code = RUN(&run, "-o", run.trace, "--segment-dir", run.segments, "--library-ranges",
	               library_ranges, "--", WS_TEST_VICTIM_LIBRARIES);

	if (code == 77) {
		cr_log_warn("[SKIP] neither cuBLAS nor cuDNN is installed");
		return 0;
	}
	cr_assert_eq(code, 0, "%s", run.text);
	probe_open(p, run.trace);
	return 1;
}

/* Ranges of this name in this domain, and their ends. */
static uint64_t ranges(const struct probe *p, const char *domain, const char *name)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < ROWS(p, nvtx); i++)
		n += CELL(p, nvtx, type, i) == WS_NVTX_PUSH &&
		     !strcmp(TEXT(p, nvtx, domain, i), domain) &&
		     !strcmp(TEXT(p, nvtx, name, i), name);
	return n;
}

Test(cuda_libraries, creating_a_handle_is_a_range_with_the_name_of_the_function)
{
	struct probe p;
	uint64_t pushes = 0, pops = 0;

	if (!record(&p, "yes"))
		return;
	/* either may be missing; what is there must tell */
	cr_expect_eq(ranges(&p, "cuBLAS", "cublasCreate_v2"), WS_CUBLAS[0] != 0);
	cr_expect_eq(ranges(&p, "cuDNN", "cudnnCreate"), WS_CUDNN[0] != 0);
	for (uint64_t i = 0; i < ROWS(&p, nvtx); i++) {
		pushes += CELL(&p, nvtx, type, i) == WS_NVTX_PUSH;
		pops += CELL(&p, nvtx, type, i) == WS_NVTX_POP;
	}
	cr_expect_eq(pushes, pops);
	for (uint64_t i = 0; i < ROWS(&p, loss); i++)
		cr_expect_eq(CELL(&p, loss, count, i), 0, "%s", TEXT(&p, loss, cause, i));
	probe_close(&p);
}

Test(cuda_libraries, they_are_silent_when_nobody_wants_to_hear_them)
{
	struct probe p;

	if (!record(&p, "no"))
		return;
	cr_expect_eq(ranges(&p, "cuBLAS", "cublasCreate_v2"), 0);
	cr_expect_eq(ranges(&p, "cuDNN", "cudnnCreate"), 0);
	probe_close(&p);
}

Test(cuda_libraries, nvidias_own_cupti_is_found_and_says_that_there_is_no_driver)
{
	static const char library[] = WS_TEST_CUPTI "/libcupti.so.13";

	run_end(&run);
	cuda_begin(&run);
	if (access(library, R_OK)) {
		cr_log_warn("[SKIP] no %s", library);
		return;
	}
	setenv("WARPSHEET_CUPTI_PATH", library, 1);
	cr_assert_eq(RECORD_CUDA(&run, "exit", "100", "1", "0"), 3, "%s", run.text);
	cr_expect_not_null(strstr(run.text, "cuptiSubscribe: CUPTI_ERROR_UNKNOWN"), "%s", run.text);
}
