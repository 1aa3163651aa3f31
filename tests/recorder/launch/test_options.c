/* The command line of warpsheet-record, as it is understood. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/launch/launch.h"

static struct ws_record_command cmd;
static struct ws_err err;

static void release(void)
{
	ws_record_command_release(&cmd);
}

TestSuite(options, .fini = release);

static enum ws_status parse(const char *const *args)
{
	static char *argv[32];
	int argc = 1;

	argv[0] = (char *)"warpsheet-record";
	for (; args[argc - 1]; argc++)
		argv[argc] = (char *)args[argc - 1];
	argv[argc] = NULL;
	return ws_record_command_parse(&cmd, argc, argv, &err);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

Test(options, defaults_record_everything_with_room_for_many_threads)
{
	cr_assert_eq(PARSE("--", "prog", "-o", "x"), WS_OK);
	cr_expect_str_eq(cmd.program[0], "prog");
	cr_expect_str_eq(cmd.program[1], "-o", "what stands after -- is the program's");
	cr_expect_eq(cmd.record.segment.thread_buffers, 1024);
	cr_expect_eq(cmd.record.segment.reserved_thread_buffers, 64);
	cr_expect_eq(cmd.record.segment.ring_size, 8 << 20);
	cr_expect_eq(cmd.record.segment.reserved_ring_size, 1 << 20);
	cr_expect_eq(cmd.record.segment.slots, 128);
	cr_expect_eq(cmd.record.capture.api, WS_CAPTURE_LAUNCHES);
	cr_expect_eq(cmd.record.window.ranges, WS_RANGES_NONE);
	cr_expect_null(cmd.output);
}

Test(options, of_buffers_what_is_asked_holds_where_a_segment_cannot_grow_too)
{
	cr_assert_eq(PARSE("--buffers", "100", "--buffer-size", "64K", "--", "prog"), WS_OK);
	cr_expect_eq(cmd.record.segment.thread_buffers, 100);
	cr_expect_eq(cmd.record.segment.ring_size, 64 << 10);
	cr_expect_eq(cmd.record.segment.reserved_thread_buffers, 0);
}

Test(options, what_a_gpu_is_asked_for)
{
	cr_assert_eq(PARSE("--kernels-only", "--api=all", "--graph-level", "graph", "--gpu-buffers",
	                   "7", "--flush-interval", "250", "--", "p"),
	             WS_OK);
	cr_expect_eq(cmd.record.capture.kernels_only, 1);
	cr_expect_eq(cmd.record.capture.api, WS_CAPTURE_ALL);
	cr_expect_eq(cmd.record.capture.graph_level, 1);
	cr_expect_eq(cmd.record.capture.flush_interval_ms, 250);
	cr_expect_eq(cmd.record.segment.slots, 7);
	cr_expect_eq(cmd.record.capture.no_cupti, 0);
	release();
	cr_assert_eq(PARSE("--gpu-buffers", "0", "--api", "none", "--", "p"), WS_OK);
	cr_expect_eq(cmd.record.capture.no_cupti, 1);
	cr_expect_eq(cmd.record.capture.api, WS_CAPTURE_NO_API);
}

Test(options, instances_of_a_capture_range)
{
	static const struct {
		const char *value, *pattern;
		uint64_t first, last;
		uint32_t ranges;
	} cases[] = {
	        {"step*", "step*", 1, UINT64_MAX, WS_RANGES_NVTX},
	        {"step@3", "step", 3, 3, WS_RANGES_NVTX},
	        {"step@3..", "step", 3, UINT64_MAX, WS_RANGES_NVTX},
	        {"a@b@10..20", "a@b", 10, 20, WS_RANGES_NVTX},
	        {"a@b", "a@b", 1, UINT64_MAX, WS_RANGES_NVTX},
	        {"cudaProfilerApi@2..3", "cudaProfilerApi", 2, 3, WS_RANGES_PROFILER},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct ws_seg_window *window = &cmd.record.window;

		cr_assert_eq(PARSE("--capture-range", cases[i].value, "--", "p"), WS_OK);
		cr_expect_str_eq(window->pattern, cases[i].pattern);
		cr_expect_eq(window->first, cases[i].first, "%s", cases[i].value);
		cr_expect_eq(window->last, cases[i].last, "%s", cases[i].value);
		cr_expect_eq(window->ranges, cases[i].ranges);
		release();
	}
}

Test(options, sizes_and_times_in_the_units_of_people)
{
	cr_assert_eq(PARSE("--max-size", "3G", "--duration=0.25", "--buffer-size", "64K",
	                   "--compress", "7", "-oa.wtrace", "--", "p"),
	             WS_OK);
	cr_expect_eq(cmd.record.max_size, UINT64_C(3) << 30);
	cr_expect_eq(cmd.record.window.duration_ns, 250000000);
	cr_expect_eq(cmd.record.segment.ring_size, 65536);
	cr_expect_eq(cmd.record.zstd_level, 7);
	cr_expect_str_eq(cmd.output, "a.wtrace");
}

Test(options, the_folder_of_segments_is_that_of_the_option_else_of_the_environment)
{
	setenv("WARPSHEET_SEGMENT_DIR", "", 1);
	cr_assert_eq(PARSE("-o", "x", "--", "prog"), WS_OK);
	cr_expect_null(cmd.record.segment_dir);
	release();
	setenv("WARPSHEET_SEGMENT_DIR", "/of/the/environment", 1);
	cr_assert_eq(PARSE("-o", "x", "--", "prog"), WS_OK);
	cr_expect_str_eq(cmd.record.segment_dir, "/of/the/environment");
	release();
	cr_assert_eq(PARSE("-o", "x", "--segment-dir", "/given", "--", "prog"), WS_OK);
	cr_expect_str_eq(cmd.record.segment_dir, "/given");
}
