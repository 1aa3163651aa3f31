/* What people read when no GPU was recorded. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "recorder/launch/launch.h"
#include "tests/support/paths.h"

Test(gpu_message, there_is_no_problem_when_it_was_recorded_or_cuda_was_not_used)
{
	struct ws_gpu_report report = {.state = WS_GPU_NONE};
	char line[1600];

	cr_expect_null(ws_gpu_problem(&report, line, sizeof(line)));
	report.state = WS_GPU_ON;
	cr_expect_null(ws_gpu_problem(&report, line, sizeof(line)));
}

Test(gpu_message, every_other_state_says_what_to_do)
{
	static const struct {
		enum ws_gpu_state state;
		const char *words, *cure;
	} cases[] = {
	        {WS_GPU_CUPTI_MISSING, "not found: TEXT", "WARPSHEET_CUPTI_PATH"},
	        {WS_GPU_CUPTI_TOO_OLD, "CUPTI 17 is too old (TEXT)", "Install a newer"},
	        {WS_GPU_CUPTI_LACKS, "CUPTI TEXT;", "install"},
	        {WS_GPU_OTHER_TOOL, "another tool uses CUPTI (TEXT)", "without that tool"},
	        {WS_GPU_NOT_PERMITTED, "does not permit profiling (TEXT)", "NVreg_"},
	        {WS_GPU_CUPTI_FAILED, "CUPTI failed (TEXT, result 999)", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ws_gpu_report report = {cases[i].state, 999, 17, 0, "TEXT", "", ""};
		char line[1600];

		cr_assert_not_null(ws_gpu_problem(&report, line, sizeof(line)));
		cr_expect_not_null(strstr(line, cases[i].words), "%s", line);
		cr_expect_not_null(strstr(line, cases[i].cure), "%s", line);
	}
}

Test(gpu_message, what_cuts_a_recording_short_is_said_with_the_cure)
{
	static const struct {
		enum ws_gpu_stop stop;
		const char *words;
	} cases[] = {
	        {WS_GPU_STOP_TAKEN, "CUPTI 13.3 or later"},
	        {WS_GPU_STOP_FATAL, "CUPTI failed (TEXT) and stopped"},
	        {WS_GPU_STOP_CLOCK, "Record without that profiler"},
	        {WS_GPU_STOP_FOREIGN, "Record without it"},
	        {WS_GPU_STOP_SECOND, "a second CUPTI (PATH)"},
	        {WS_GPU_STOP_FLAWED, "13.0 Update 1 or later"},
	};
	const struct ws_gpu_report report = {.last_error = "TEXT", .second = "PATH"};
	char line[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_assert_not_null(ws_gpu_warning(cases[i].stop, &report, line, sizeof(line)));
		cr_expect_not_null(strstr(line, cases[i].words), "%s", line);
	}
	cr_expect_null(ws_gpu_warning((enum ws_gpu_stop)(2 * WS_GPU_STOP_LAST), &report, line,
	                              sizeof(line)));
}

Test(gpu_message, text_of_the_program_ends_wherever_it_was_overwritten)
{
	struct ws_seg_gpu gpu;
	struct ws_gpu_report report;

	memset(&gpu, 'x', sizeof(gpu));
	atomic_store(&gpu.state, WS_GPU_OTHER_TOOL);
	report = ws_gpu_report(&gpu);
	cr_expect_eq(strlen(report.text), sizeof(report.text) - 1);
	cr_expect_eq(strlen(report.last_error), sizeof(report.last_error) - 1);
	cr_expect_eq(strlen(report.second), sizeof(report.second) - 1);
}

Test(gpu_message, a_state_that_is_none_is_no_problem_and_no_crash)
{
	struct ws_gpu_report report = {.state = (enum ws_gpu_state)77};
	char line[1600] = "before";

	cr_expect_null(ws_gpu_problem(&report, line, sizeof(line)));
}

/* Exit status of a process without memory, or with it, that opens this library; 3: it is not here.
 */
static int open_library(const char *file, bool has_memory)
{
	static const struct rlimit nothing = {1, 1};
	int status = 0;
	pid_t child = fork();

	if (!child) {
		if (!has_memory && setrlimit(RLIMIT_AS, &nothing))
			_exit(99);
		/* what the process has already; compilers leave out what nobody keeps */
		for (void *volatile kept = &status; !has_memory && kept; kept = malloc(16))
			;
		_exit(ws_xdlopen(file) ? 0 : 3);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* Else a lack of memory would read as "no driver here". */
Test(gpu_message, a_library_for_which_there_is_no_memory_is_none_that_is_not_here)
{
	cr_expect_eq(open_library("libnothere.so.1", true), 3);
	cr_expect_eq(open_library(WS_TEST_FAKES "/libcupti-mark.so", true), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which need much */
	cr_expect_eq(open_library(WS_TEST_FAKES "/libcupti-mark.so", false), 5);
#endif
}

Test(gpu_message, the_absence_of_a_gpu_has_a_reason)
{
	char line[1600] = "";

	setenv("CUDA_INJECTION64_PATH", "/nonexistent", 1);
	cr_expect_gt(strlen(ws_gpu_absence(line, sizeof(line))), 20);
	cr_expect_null(getenv("CUDA_INJECTION64_PATH"),
	               "the driver would load a collector into us");
}
