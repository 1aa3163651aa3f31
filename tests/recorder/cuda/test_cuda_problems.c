/* What can be wrong with CUPTI, and what it then says and counts. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/recorder/cuda/cuda_run.h"

#define OTHER_USER 65534

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

TestSuite(cuda_problems, .init = start, .fini = stop, .timeout = 600);

/* Record 1000 launches and look at the trace. */
static void record(const char *threads, const char *option, const char *value)
{
	int code = option ? RECORD_CUDA(&run, "exit", "1000", threads, "0", option, value)
	                  : RECORD_CUDA(&run, "exit", "1000", threads, "0");

	cr_assert_eq(code, 3, "the program ends as without us: %d, %s", code, run.text);
	probe_open(&p, run.trace);
}

/* The same, in another mode. */
static void record_mode(const char *mode, int expected)
{
	int code = RECORD_CUDA(&run, mode, "1000", "1", "0", "--flush-interval", "20");

	cr_assert_eq(code, expected, "the program ends as without us: %d, %s", code, run.text);
	probe_open(&p, run.trace);
}

/* --- other versions --- */

/* As under WSL2. Read when the machine let it, the clock is off by less than 2 ms; as it was in
 * the beginning, by some 40. */
Test(cuda_problems, times_by_a_clock_that_drifts_lie_where_they_belong)
{
	uint64_t inside = 0, push = 0, pop = 0;

	setenv("FAKE_CUPTI_RAW_PPM", "100000", 1); /* far more than any: 0.1 s a second */
	cr_assert_eq(RECORD_CUDA(&run, "late-range", "1000", "1", "200000", "--flush-interval",
	                         "20"),
	             0, "%s", run.text);
	probe_open(&p, run.trace);
	cr_assert_eq(ROWS(&p, kernel), 2000);
	push = CELL(&p, nvtx, time_ns, 0);
	pop = CELL(&p, nvtx, time_ns, 1);
	for (uint64_t i = 0; i < ROWS(&p, kernel); i++)
		inside += CELL(&p, kernel, start_ns, i) + 2000000 > push &&
		          CELL(&p, kernel, start_ns, i) < pop + 2000000;
	cr_expect_eq(inside, 1000, "%lu", (unsigned long)inside);
	/* so large a drift leaves some open that lie between the first readings, which is counted
	 */
	cr_expect_eq(probe_losses(&p), probe_loss(&p, "time_uncertain"));
	cr_expect_null(strstr(run.text, "profiler"), "%s", run.text);
}

/* As Triton's Proton: a copy of its own, opened by its path. */
Test(cuda_problems, a_second_cupti_in_the_program_is_told)
{
	char path[RUN_PATH + 32], command[4096];

	snprintf(path, sizeof(path), "%s/libcupti.so.13", run.dir);
	snprintf(command, sizeof(command), "cp '" WS_TEST_FAKES "/libcupti-fake.so' '%s'", path);
	cr_assert_eq(system(command), 0);
	setenv("VICTIM_OPENS", path, 1);
	record_mode("range", 0);
	cuda_check_launches(&p, 2000);
	cr_expect_not_null(strstr(run.text, "a second CUPTI ("), "%s", run.text);
	cr_expect_not_null(strstr(run.text, path), "%s", run.text);
	/* the same file by another name is none */
	probe_close(&p);
	setenv("VICTIM_OPENS", getenv("WARPSHEET_CUPTI_PATH"), 1);
	record_mode("range", 0);
	cr_expect_null(strstr(run.text, "second"), "%s", run.text);
}

/* --- whose library --- */

/* It may have dropped the rights of the one who records. */
Test(cuda_problems, no_library_that_a_program_names_in_its_segment_is_opened)
{
	char mark[RUN_PATH + 8];

	snprintf(mark, sizeof(mark), "%s/mark", run.dir);
	setenv("MARK", mark, 1);
	setenv("VICTIM_REPLACES", "/libcupti", 1);
	setenv("VICTIM_BY", WS_TEST_FAKES "/libcupti-mark.so", 1);
	cr_assert_eq(RECORD_CUDA(&run, "exit", "1000", "1", "0"), 3, "%s", run.text);
	cr_expect_neq(access(mark, F_OK), 0, "the launcher loaded it");
	probe_open(&p, run.trace);
	cuda_check_launches(&p, 1000);
	cr_expect_eq(probe_losses(&p), 0);
}

/* As on clusters and in images of others; and of a version that came after this program. */
Test(cuda_problems, a_cupti_of_another_user_and_of_any_version_gives_all_rows)
{
	/* those of CUDA 12.0 and 12.1 say 18 */
	static const char *const versions[] = {"18", "24", "28", "130001", "130200", "140000"};
	char path[RUN_PATH + 32], command[4096];

	snprintf(path, sizeof(path), "%s/libcupti-fake.so", run.dir);
	snprintf(command, sizeof(command), "cp '" WS_TEST_FAKES "/libcupti-fake.so' '%s'", path);
	cr_assert_eq(system(command), 0);
	cr_assert_eq(chmod(run.dir, 0755), 0);
	if (!geteuid())
		cr_assert_eq(chown(path, OTHER_USER, OTHER_USER), 0);
	setenv("WARPSHEET_CUPTI_PATH", path, 1);
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		probe_close(&p);
		setenv("FAKE_CUPTI_VERSION", versions[i], 1);
		cr_assert_eq(RECORD_CUDA(&run, "exit", "1000", "1", "0"), 3, "%s", run.text);
		probe_open(&p, run.trace);
		cuda_check_launches(&p, 1000);
		probe_expect_no_loss(&p);
	}
}

/* --- nothing of CUDA is recorded, and why --- */

static void expect_refusal(const char *words)
{
	record("1", NULL, NULL);
	cr_expect_eq(ROWS(&p, kernel), 0);
	cr_expect_not_null(strstr(run.text, words), "%s is not in: %s", words, run.text);
}

/*
 * A toolkit with two: that of the runtime's folder, and one that says at once that it lacks
 * something. flawed: the first is of CUDA 13.0, which its file's name tells.
 */
static void make_toolkit(bool flawed)
{
	const char *first = flawed ? "lib/libcupti.so.2025.3.0" : "lib/libcupti.so.13";
	char command[8 * RUN_PATH];

	snprintf(command, sizeof(command),
	         "cd '%s' && rm -rf lib extras && mkdir -p lib extras/CUPTI/lib64 && "
	         "cp '" WS_TEST_FAKES "/libcupti-mark.so' lib/libcudart.so.13 && "
	         "cp '" WS_TEST_FAKES "/libcupti-fake.so' %s && "
	         "cp '" WS_TEST_FAKES "/libcupti-lacks.so' extras/CUPTI/lib64/libcupti.so.13 && "
	         "{ [ -e lib/libcupti.so.13 ] || ln -s libcupti.so.2025.3.0 lib/libcupti.so.13; }",
	         run.dir, first);
	cr_assert_eq(system(command), 0, "%s", command);
	snprintf(command, sizeof(command), "%s/lib/libcudart.so.13", run.dir);
	setenv("LD_PRELOAD", command, 1);
	unsetenv("WARPSHEET_CUPTI_PATH");
}

Test(cuda_problems, of_two_libraries_one_with_known_faults_is_passed_over)
{
	/* no library of the machine's */
	setenv("FAKE_CUPTI_VERSION", "139900", 1);
	make_toolkit(false);
	record("1", NULL, NULL);
	cr_expect_str_eq(probe_meta(&p, "cupti.version"), "13.99.0");
	probe_close(&p);
	make_toolkit(true);
	expect_refusal("extras/CUPTI/lib64/libcupti.so.13 lacks cuptiSetThreadIdType");
	unsetenv("LD_PRELOAD");
}

Test(cuda_problems, a_missing_library_is_told)
{
	setenv("WARPSHEET_CUPTI_PATH", "/nowhere", 1);
	expect_refusal("CUPTI");
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

/* --- what is asked for --- */

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

static int64_t device_attr(const char *name)
{
	for (uint64_t i = 0; i < ROWS(&p, device_attr); i++)
		if (!strcmp(TEXT(&p, device_attr, attr, i), name))
			return (int64_t)CELL(&p, device_attr, value, i);
	return -1;
}

Test(cuda_problems, a_device_of_which_cupti_is_silent_is_described_by_the_driver)
{
	setenv("FAKE_CUPTI_NO_DEVICE", "1", 1);
	record_mode("late-range", 0);
	cr_assert_geq(ROWS(&p, device), 1);
	cr_expect_str_eq(TEXT(&p, device, name, ROWS(&p, device) - 1), "Fake H200");
	cr_expect_eq(device_attr("sm_count"), 132);
	cr_expect_eq(device_attr("global_memory_bytes"), INT64_C(141) << 30);
	cr_expect_eq(device_attr("pci_domain"), 9);
	cr_expect_eq(device_attr("pci_bus"), 0, "which is one");
	cr_expect_eq(device_attr("core_clock_hz"), -1, "0 is none");
	cr_expect_eq((uint64_t)device_attr("uuid_high"), UINT64_C(0xF0F1F2F3F4F5F6F7));
	cr_expect_eq((uint64_t)device_attr("uuid_low"), UINT64_C(0xF8F9FAFBFCFDFEFF));
}

/* --- what CUPTI does on a GPU, and no page of its documentation says --- */

Test(cuda_problems, a_profiler_in_the_program_that_takes_the_records_is_told_and_launches_counted)
{
	uint64_t not_told;

	record_mode("profiler", 0);
	not_told = probe_loss(&p, "launch_not_told");
	/* the first thousand are whole, the last two were counted, between them it was noticed */
	cr_expect_geq(ROWS(&p, kernel), 1000);
	cr_expect_leq(ROWS(&p, kernel), 2000);
	cr_expect(not_told >= 2000 && not_told <= 3000, "%lu", (unsigned long)not_told);
	cr_expect_not_null(strstr(run.text, "a profiler inside the program"), "%s", run.text);
	cr_expect_not_null(strstr(run.text, "launch_not_told"), "%s", run.text);
}

Test(cuda_problems, after_a_fatal_error_cupti_is_left_alone_and_it_is_told)
{
	setenv("FAKE_CUPTI_FATAL_AT", "600", 1);
	record("1", NULL, NULL);
	cr_expect_geq(ROWS(&p, kernel), 5, "what was handed over before");
	cr_expect_leq(ROWS(&p, kernel), 600);
	cr_expect_eq(probe_loss(&p, "activity_error"), 1);
	cr_expect_not_null(strstr(run.text, "the device fell off the bus"), "%s", run.text);
}
