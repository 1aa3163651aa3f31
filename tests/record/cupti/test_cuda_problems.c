/* What can be wrong with CUPTI, and what it then says and counts. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/record/cupti/cuda_run.h"

static struct run run;
static struct probe p;

static void start(void)
{
	cuda_begin(&run);
}

static void stop(void)
{
	probe_close(&p);
	run_end(&run);
}

TestSuite(cuda_problems, .init = start, .fini = stop, .timeout = 120);

/* Record 1000 launches and look at the trace. */
static void record(const char *threads, const char *option, const char *value)
{
	int code = option ? RECORD_CUDA(&run, "exit", "1000", threads, "0", option, value)
	                  : RECORD_CUDA(&run, "exit", "1000", threads, "0");

	cr_assert_eq(code, 3, "the program ends as without us: %d, %s", code, run.text);
	probe_open(&p, run.trace);
}

/* --- other versions --- */

Test(cuda_problems, larger_records_of_a_later_version_are_read_as_far_as_they_are_known)
{
	setenv("FAKE_CUPTI_VERSION", "130100", 1);
	setenv("FAKE_CUPTI_KERNEL_SIZE", "232", 1);
	record("1", NULL, NULL);
	cuda_check_launches(&p, 1000);
	cr_expect_eq(probe_loss(&p, "activity_damaged"), 0);
	cr_expect_str_eq(probe_meta(&p, "cupti.version"), "13.1.0");
}

Test(cuda_problems, smaller_records_of_an_older_version_too)
{
	setenv("FAKE_CUPTI_VERSION", "26", 1);
	setenv("FAKE_CUPTI_KERNEL_SIZE", "208", 1);
	record("1", NULL, NULL);
	cuda_check_launches(&p, 1000);
	cr_expect_eq(probe_loss(&p, "activity_damaged"), 0);
	cr_expect_str_eq(probe_meta(&p, "cupti.version"), "API 26");
}

/* --- nothing of CUDA is recorded, and why --- */

static void expect_refusal(const char *words)
{
	record("1", NULL, NULL);
	cr_expect_eq(ROWS(&p, kernel), 0);
	cr_expect_not_null(strstr(run.text, words), "%s is not in: %s", words, run.text);
}

Test(cuda_problems, a_version_that_is_too_old_is_named)
{
	setenv("FAKE_CUPTI_VERSION", "18", 1);
	expect_refusal("too old");
}

Test(cuda_problems, another_tool_is_named)
{
	setenv("FAKE_CUPTI_SUBSCRIBE", "39", 1);
	expect_refusal("CUPTI for somebody");
}

Test(cuda_problems, a_missing_function_is_named)
{
	setenv("WARPSHEET_CUPTI_PATH", WS_TEST_FAKES "/libcupti-lacks.so", 1);
	expect_refusal("cuptiSetThreadIdType");
}

Test(cuda_problems, a_missing_library_is_told)
{
	setenv("WARPSHEET_CUPTI_PATH", "/nowhere", 1);
	expect_refusal("CUPTI");
}

Test(cuda_problems, lacking_permission_is_told)
{
	setenv("FAKE_CUPTI_SUBSCRIBE", "35", 1);
	expect_refusal("permi");
}

Test(cuda_problems, any_other_failure_names_function_and_result)
{
	setenv("FAKE_CUPTI_SUBSCRIBE", "999", 1);
	expect_refusal("cuptiSubscribe");
}

/* --- losses --- */

Test(cuda_problems, a_pool_of_one_buffer_drops_counts_and_never_blocks)
{
	uint64_t refused, dropped;

	record("4", "--gpu-buffers", "1");
	refused = probe_loss(&p, "activity_refused");
	dropped = probe_loss(&p, "activity_dropped");
	cr_expect_gt(refused, 0);
	cr_expect_gt(dropped, 0);
	/* each launch is a kernel and its calls of runtime and driver; all three may be dropped */
	cr_expect_geq(ROWS(&p, kernel) + dropped, 4000);
	cr_expect_lt(ROWS(&p, kernel), 4000);
}

Test(cuda_problems, kernels_without_times_are_kept_and_counted)
{
	uint64_t without = 0;

	setenv("FAKE_CUPTI_ZERO_EVERY", "10", 1);
	record("1", NULL, NULL);
	cuda_check_launches(&p, 1000);
	for (uint64_t i = 0; i < ROWS(&p, kernel); i++)
		without += CELL(&p, kernel, flags, i) == WS_KERNEL_NO_TIME;
	cr_expect_eq(without, 100);
	cr_expect_eq(probe_loss(&p, "kernel_without_time"), 100);
}

Test(cuda_problems, launches_whose_kernels_are_missing_are_counted)
{
	setenv("FAKE_CUPTI_LOSE_EVERY", "10", 1);
	record("1", NULL, NULL);
	cr_expect_eq(ROWS(&p, kernel), 900);
	cr_expect_eq(probe_loss(&p, "launch_without_work"), 100);
}

/* --- what people see of it --- */

/* The lines of `warpsheet dump` for the blocks of a kind; to be freed. */
static char *dump_of(const char *kind)
{
	char command[2 * RUN_PATH], line[8192], begin[64];
	char *text = calloc(1, 1 << 20);
	size_t len = 0;
	int inside = 0;
	FILE *f;

	snprintf(command, sizeof(command), "%s dump %s", WS_TEST_WARPSHEET, run.trace);
	snprintf(begin, sizeof(begin), ": %s (", kind);
	f = popen(command, "re");
	cr_assert(f && text);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "block ", 6))
			inside = strstr(line, begin) != NULL;
		if (inside && len + strlen(line) < 1 << 20)
			len += (size_t)snprintf(text + len, (1 << 20) - len, "%s", line);
	}
	cr_assert_eq(pclose(f), 0);
	return text;
}

Test(cuda_problems, the_dump_shows_every_column_of_what_was_recorded)
{
	static const enum ws_kind kinds[] = {WS_KIND_KERNEL,      WS_KIND_LAUNCH_CONFIG,
	                                     WS_KIND_API,         WS_KIND_DEVICE,
	                                     WS_KIND_DEVICE_ATTR, WS_KIND_CONTEXT};

	record("1", NULL, NULL);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		const struct ws_kind_def *def = ws_schema_kind(kinds[k]);
		char *text = dump_of(def->name), wanted[64];

		for (unsigned c = 0; c < def->ncolumns; c++) {
			snprintf(wanted, sizeof(wanted), " %s=", def->columns[c].name);
			cr_expect_not_null(strstr(text, wanted), "%s.%s", def->name,
			                   def->columns[c].name);
		}
		free(text);
	}
}

/* --- what is asked for --- */

Test(cuda_problems, all_calls_are_there_when_all_are_wanted)
{
	record("1", "--api", "all");
	cr_expect_eq(cuda_count_calls(&p, "cudaGetDevice_v3020"), 1000);
	cr_expect_eq(cuda_count_calls(&p, "cudaLaunchKernel_v7000"), 1000);
	cr_expect_eq(cuda_count_calls(&p, "cuLaunchKernel"), 0, "it is inside the runtime's call");
}

Test(cuda_problems, no_call_is_there_when_none_is_wanted)
{
	record("1", "--api", "none");
	cr_expect_eq(ROWS(&p, api), 0);
	cr_expect_eq(ROWS(&p, kernel), 1000);
}

Test(cuda_problems, the_device_has_its_name_limits_and_versions)
{
	static const struct {
		const char *attr;
		uint64_t value;
	} wanted[] = {
	        {"sm_count", 132},
	        {"compute_capability_major", 9},
	        {"max_threads_per_sm", 2048},
	        {"core_clock_hz", 1980000000},
	        {"shared_per_block_optin_bytes", 232448},
	        {"shared_reserved_per_block_bytes", 1024},
	};

	/* long enough for a flush: the driver is asked by the thread that makes it */
	cr_assert_eq(RECORD_CUDA(&run, "exit", "1000", "1", "300000", "--flush-interval", "20"), 3);
	probe_open(&p, run.trace);
	cr_assert_geq(ROWS(&p, device), 1);
	cr_expect_str_eq(TEXT(&p, device, name, ROWS(&p, device) - 1), "Fake H200");
	cr_expect_eq(CELL(&p, device, kind, 0), WS_DEVICE_CUDA);
	for (size_t w = 0; w < sizeof(wanted) / sizeof(*wanted); w++) {
		uint64_t found = 0;

		for (uint64_t i = 0; i < ROWS(&p, device_attr); i++)
			if (!strcmp(TEXT(&p, device_attr, attr, i), wanted[w].attr))
				found = CELL(&p, device_attr, value, i);
		cr_expect_eq(found, wanted[w].value, "%s", wanted[w].attr);
	}
	cr_expect_eq(ROWS(&p, context), 1);
	cr_expect_str_eq(probe_meta(&p, "cuda.driver_version"), "13.0");
	cr_expect_str_eq(probe_meta(&p, "cupti.version"), "13.0.1");
}
