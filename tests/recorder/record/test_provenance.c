/* What a trace says about where it comes from. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "recorder/launch/launch.h"
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

TestSuite(provenance, .init = begin, .fini = end, .timeout = 600);

static struct probe open_trace(void)
{
	struct probe p;

	probe_open(&p, r.trace);
	return p;
}

/* docs/reference/keys.md */
static void read_page(char *text, size_t size)
{
	FILE *f = fopen(WS_SOURCE_DIR "/docs/reference/keys.md", "r");
	size_t n;

	cr_assert_not_null(f);
	n = fread(text, 1, size - 1, f);
	cr_assert_lt(n, size - 1);
	text[n] = 0;
	fclose(f);
}

Test(provenance, a_trace_says_where_it_comes_from_and_nothing_more)
{
	char page[16384];
	struct probe p;

	read_page(page, sizeof(page));
	setenv("SECRET_TOKEN", "hunter2", 1);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--compress", "3", "--",
	                 "/bin/sh", "-c", "exit 0", "it's", "two words"),
	             0);
	p = open_trace();
	cr_expect_str_eq(probe_meta(&p, "tool.name"), "warpsheet-record");
	cr_expect_str_eq(probe_meta(&p, "tool.version"), WS_VERSION);
	cr_expect_str_eq(probe_meta(&p, "program.path"), "/bin/sh");
	cr_expect_str_eq(probe_meta(&p, "program.arguments"), "-c 'exit 0' 'it'\\''s' 'two words'");
	cr_expect_not_null(strstr(probe_meta(&p, "record.options"), "--compress 3"));
	cr_expect_eq(strlen(probe_meta(&p, "record.start_utc")), 20);
	for (uint64_t i = 0; i < ROWS(&p, meta); i++) {
		struct ws_bytes key = BYTES(&p, meta, key, i), value = BYTES(&p, meta, value, i);
		char name[64];

		snprintf(name, sizeof(name), "| `%.*s` |", (int)key.len, (const char *)key.ptr);
		cr_expect_not_null(strstr(page, name), "%s is not documented", name);
		cr_expect_null(memmem(value.ptr, value.len, "hunter2", 7), "%s", name);
	}
	probe_close(&p);

	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--no-args", "--",
	                 "/bin/sh", "-c", "exit 0", "hunter2"),
	             0);
	p = open_trace();
	cr_expect_null(probe_meta(&p, "program.arguments"));
	probe_close(&p);
}

Test(provenance, what_an_argument_calls_a_secret_is_not_told)
{
	struct probe p;

	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/true",
	                 "--password=hunter2", "--api-key", "hunter2", "HF_TOKEN=hunter2",
	                 "--max-tokens=8", "--token", "--num-key-heads=4", "last"),
	             0);
	p = open_trace();
	cr_expect_str_eq(probe_meta(&p, "program.arguments"),
	                 "'--password=***' --api-key '***' 'HF_TOKEN=***' --max-tokens=8 --token "
	                 "--num-key-heads=4 last");
	for (uint64_t i = 0; i < ROWS(&p, meta); i++) {
		struct ws_bytes value = BYTES(&p, meta, value, i);

		cr_expect_null(memmem(value.ptr, value.len, "hunter2", 7));
	}
	probe_close(&p);
}

Test(provenance, masked_secrets_are_told_in_one_line)
{
	struct probe p;

	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/true", "-H",
	                 "Authorization: Bearer hunter2", "https://user:hunter2@host/x", "--pwd",
	                 "hunter2", "--auth", "hunter2", "--cookie", "hunter2",
	                 "{\"token\":\"hunter2\"}"),
	             0);
	cr_expect_not_null(strstr(r.text, "secrets in 6 arguments are masked"), "%s", r.text);
	p = open_trace();
	for (uint64_t i = 0; i < ROWS(&p, meta); i++) {
		struct ws_bytes value = BYTES(&p, meta, value, i);

		cr_expect_null(memmem(value.ptr, value.len, "hunter2", 7));
	}
	probe_close(&p);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/true", "-v"),
	             0);
	cr_expect_null(strstr(r.text, "masked"), "%s", r.text);
}

Test(provenance, every_loss_counter_and_variable_is_documented)
{
	char text[16384];

	read_page(text, sizeof(text));
#define X(name, meaning) cr_expect_not_null(strstr(text, "| `" #name "` |"), "%s", #name);
	WS_DROPPED_LIST(X)
#undef X
#define X(key, variable) cr_expect_not_null(strstr(text, "`" variable "`"), "%s", variable);
	WS_RANK_VARIABLES(X)
#undef X
}

/* --- GPUs, as far as they can be had without one --- */

static void cuda_environment(const char *more)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s:%s", WS_TEST_FAKES, more);
	setenv("LD_LIBRARY_PATH", path, 1);
	setenv("WARPSHEET_CUPTI_PATH", WS_TEST_FAKES "/libcupti-fake.so", 1);
}

Test(provenance, libraries_tell_their_versions)
{
	struct probe p;

	cuda_environment("");
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--flush-interval", "20",
	                 "--", WS_TEST_VICTIM_PROFILER, "10", "300"),
	             0, "%s", r.text);
	p = open_trace();
	cr_expect_str_eq(probe_meta(&p, "library.cublas"), "13.1.0");
	cr_expect_str_eq(probe_meta(&p, "library.cublaslt"), "12.8.5");
	cr_expect_str_eq(probe_meta(&p, "library.cudnn"), "8.9.7");
	cr_expect_str_eq(probe_meta(&p, "library.nccl"), "2.28.9");
	probe_close(&p);
}

Test(provenance, what_the_gpus_of_the_machine_do_is_read_at_the_start_and_at_the_end)
{
	struct probe p;

	cuda_environment(WS_TEST_FAKE_NVML);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/true"), 0,
	             "%s", r.text);
	p = open_trace();
	cr_expect_null(probe_meta(&p, "gpu.readings"));
	cr_expect_str_eq(probe_meta(&p, "gpu.driver_version"), "580.65.06");
	cr_expect_str_eq(probe_meta(&p, "gpu.0.name"), "NVIDIA H200");
	cr_expect_str_eq(probe_meta(&p, "gpu.0.pci_bus"), "27");
	cr_expect_str_eq(probe_meta(&p, "gpu.0.start.sm_clock_mhz"), "1980");
	cr_expect_str_eq(probe_meta(&p, "gpu.0.start.memory_clock_mhz"), "3201");
	cr_expect_str_eq(probe_meta(&p, "gpu.0.end.power_mw"), "123456");
	cr_expect_str_eq(probe_meta(&p, "gpu.0.end.throttle"),
	                 "sw_power_cap,hw_thermal_slowdown,other");
	cr_expect_null(probe_meta(&p, "gpu.0.end.temperature_c"), "the library lacks it");
	cr_expect_str_eq(probe_meta(&p, "gpu.1.name"), "NVIDIA other");
	cr_expect_null(probe_meta(&p, "gpu.1.start.sm_clock_mhz"), "this GPU does not tell");
	cr_expect_str_eq(probe_meta(&p, "gpu.1.start.throttle"), "none");
	probe_close(&p);

	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--gpu-buffers", "0", "--",
	                 "/bin/true"),
	             0, "%s", r.text);
	p = open_trace();
	cr_expect_null(probe_meta(&p, "gpu.0.name"), "no GPU is recorded, so none is asked");
	probe_close(&p);
}
