/* Several traces in one: ids stay distinct, times and counters true. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "formats/trace/check.h"
#include "formats/trace/writer.h"
#include "formats/merge/merge.h"
#include "tests/support/recorder/probe.h"
#include "tests/support/trace_sample.h"

static char dir[64];
static char paths[3][128];
static struct ws_trace_writer *w;
static struct ws_err err;

static void begin(void)
{
	snprintf(dir, sizeof(dir), "/tmp/ws_merge.XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	for (int i = 0; i < 3; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%d.wtrace", dir, i);
}

static void end(void)
{
	for (int i = 0; i < 3; i++)
		unlink(paths[i]);
	rmdir(dir);
}

TestSuite(merge, .init = begin, .fini = end);

/* --- making traces --- */

#define ADD(KIND, kind, ...)                                                                      \
	cr_assert_eq(ws_trace_writer_add(w, WS_KIND_##KIND, &(struct ws_row_##kind){__VA_ARGS__}, \
	                                 &err),                                                   \
	             WS_OK, "%s", err.text)

static uint64_t str(const char *text)
{
	uint64_t id;

	cr_assert_eq(ws_trace_writer_intern(w, text, strlen(text), &id, &err), WS_OK);
	return id;
}

static void create(int i, int64_t base_ns)
{
	const struct ws_trace_writer_opts opts = {.base_ns = base_ns};

	cr_assert_eq(trace_file_create(&w, paths[i], &opts, &err), WS_OK, "%s", err.text);
}

static void close_trace(void)
{
	cr_assert_eq(ws_trace_writer_close(w, &err), WS_OK, "%s", err.text);
	ws_trace_writer_free(w);
}

/* A process with one thread, a GPU, a launch and its kernel, and a range with a payload. */
static void write_trace(int i, int64_t base_ns, uint64_t pid, int64_t uuid, uint64_t lost)
{
	const uint64_t schema = (UINT64_C(1) << 24) + 1;
	struct ws_row_launch_config config = {.pid = pid, .device = 0, .grid_x = 2, .block_x = 32};
	uint64_t config_id, payload;
	char first[32];

	create(i, base_ns);
	snprintf(first, sizeof(first), "only in %d", i); /* so that string ids differ */
	str(first);
	ws_trace_writer_meta(w, "tool.name", "warpsheet-record", &err);
	ws_trace_writer_meta(w, "process.rank", i ? "1" : "0", &err);
	ADD(PAYLOAD_SCHEMA, payload_schema, .id = schema, .name = str("op"), .type = 1,
	    .size_bytes = 8);
	ADD(PAYLOAD_FIELD, payload_field, .schema = schema, .name = str("flops"), .type = 18);
	ws_trace_writer_intern_payload(w, schema, "12345678", 8, &payload, &err);
	ADD(DEVICE, device, .id = 0, .kind = WS_DEVICE_CUDA);
	ADD(DEVICE, device, .id = 0, .kind = WS_DEVICE_CUDA, .name = str("H200"));
	ADD(DEVICE_ATTR, device_attr, .device = 0, .attr = str("sm_count"), .value = 132);
	/* on each machine, and in each PCI domain */
	ADD(DEVICE_ATTR, device_attr, .device = 0, .attr = str("pci_bus"), .value = 1);
	if (uuid) {
		ADD(DEVICE_ATTR, device_attr, .device = 0, .attr = str("uuid_high"), .value = -1);
		ADD(DEVICE_ATTR, device_attr, .device = 0, .attr = str("uuid_low"), .value = uuid);
	}
	ADD(RESOURCE, resource, .pid = pid, .type = WS_RESOURCE_CUDA_DEVICE, .name = str(first),
	    .number = -1);
	ADD(RESOURCE, resource, .pid = pid, .type = WS_RESOURCE_CUDA_STREAM, .name = str(first),
	    .handle = 7, .number = 7);
	ADD(PROCESS, process, .pid = pid, .image = 1, .program = str("/bin/x"), .start_ns = 5);
	ADD(THREAD, thread, .id = 1, .pid = pid, .tid = pid);
	ADD(THREAD, thread, .id = 1, .pid = pid, .tid = pid, .name = str("main"));
	config.name = str("gemm");
	ws_trace_writer_intern_config(w, &config, &config_id, &err);
	ADD(API, api, .start_ns = 100, .dur_ns = 5, .thread = 1, .name = str("cuLaunchKernel"),
	    .correlation = 7);
	ADD(KERNEL, kernel, .start_ns = 110, .dur_ns = 50, .correlation = 7, .config = config_id);
	ADD(NVTX, nvtx, .time_ns = 90, .thread = 1, .type = WS_NVTX_START, .name = str("step"),
	    .range = 3, .payload = payload);
	ADD(NVTX, nvtx, .time_ns = 190, .thread = 1, .type = WS_NVTX_END, .range = 3);
	ADD(LOSS, loss, .time_ns = 1, .cause = str("ring_overflow"));
	ADD(LOSS, loss, .time_ns = 200, .cause = str("ring_overflow"), .count = lost);
	ADD(PROCESS_END, process_end, .time_ns = 300, .pid = pid, .how = WS_END_EXITED);
	close_trace();
}

static struct probe merge_all(size_t n)
{
	const char *const list[] = {paths[0], paths[1], paths[2]};
	struct ws_merge_result result;
	struct probe p;

	cr_assert_eq(ws_trace_merge(list, n, paths[0], 0, &result, &err), WS_OK, "%s", err.text);
	probe_open(&p, paths[0]);
	cr_expect(ws_trace_reader_summary(p.reader)->closed);
	cr_expect_eq(result.kernels, ROWS(&p, kernel));
	cr_expect_eq(result.file_size, ws_trace_reader_summary(p.reader)->file_size);
	return p;
}

static void tell(void *ctx, const struct ws_check_finding *finding)
{
	(void)ctx;
	cr_expect_neq(finding->level, WS_FINDING_DAMAGE, "%s", finding->text);
}

/* --- tests --- */

Test(merge, a_merged_trace_is_merged_like_any_other)
{
	struct ws_check_result result;
	uint64_t correlations[3];
	struct probe p;

	write_trace(0, 1000, 77, 3, 0);
	write_trace(1, 1000, 88, 4, 0);
	p = merge_all(2); /* in the place of the first */
	probe_close(&p);
	write_trace(1, 1000, 99, 5, 0);
	p = merge_all(2);
	cr_assert_eq(ROWS(&p, kernel), 3);
	for (uint64_t i = 0; i < 3; i++) {
		correlations[i] = CELL(&p, kernel, correlation, i);
		cr_expect_eq(CELL(&p, api, correlation, i), correlations[i]);
		for (uint64_t k = 0; k < i; k++)
			cr_expect_neq(correlations[k], correlations[i]);
	}
	probe_close(&p);
	cr_assert_eq(ws_trace_check_file(paths[0], tell, NULL, &result, &err), WS_OK);
	cr_expect_eq(result.damage, 0, "ids are defined once");
}

Test(merge, ids_that_leave_no_room_for_those_of_another_trace_are_refused)
{
	const char *const list[] = {paths[0], paths[1]};
	struct ws_merge_result result;

	create(0, 1000);
	ADD(API, api, .start_ns = 100, .dur_ns = 5, .name = str("f"),
	    .correlation = UINT64_MAX - 1);
	close_trace();
	write_trace(1, 1000, 88, 4, 0);
	cr_expect_eq(ws_trace_merge(list, 2, paths[2], 0, &result, &err), WS_USAGE);
	cr_expect_not_null(strstr(err.text, "first 1 traces"), "%s", err.text);
}

Test(merge, rows_of_all_are_there_and_what_they_name_is_still_theirs)
{
	struct probe p;

	write_trace(0, 5000, 77, 3, 10);
	write_trace(1, 1000, 88, 4, 5);
	p = merge_all(2);
	cr_expect_eq(ws_trace_reader_summary(p.reader)->base_ns, 1000);
	cr_assert_eq(ROWS(&p, kernel), 2);
	cr_expect_eq(CELL(&p, kernel, start_ns, 0), 4110, "time counts from the earlier base");
	cr_expect_eq(CELL(&p, kernel, start_ns, 1), 110);
	for (int i = 0; i < 2; i++) {
		uint64_t config = CELL(&p, kernel, config, i) - 1;

		cr_expect_str_eq(TEXT(&p, launch_config, name, config), "gemm");
		cr_expect_eq(CELL(&p, launch_config, pid, config), i ? 88 : 77);
		cr_expect_eq(CELL(&p, launch_config, device, config), (uint64_t)i);
		cr_expect_eq(CELL(&p, api, correlation, i), CELL(&p, kernel, correlation, i));
		cr_expect_eq(CELL(&p, api, thread, i), (uint64_t)i + 1);
		cr_expect_str_eq(TEXT(&p, api, name, i), "cuLaunchKernel");
		cr_expect_eq(CELL(&p, thread, pid, 2 * i + 1), i ? 88 : 77);
		cr_expect_eq(CELL(&p, thread, id, 2 * i + 1), (uint64_t)i + 1);
		cr_expect_eq(CELL(&p, nvtx, range, 2 * i), CELL(&p, nvtx, range, 2 * i + 1));
		cr_expect_eq(CELL(&p, payload_schema, id, i), CELL(&p, payload_field, schema, i));
		cr_expect_eq(CELL(&p, payload_field, type, i), 18, "a type that NVTX knows stays");
		cr_expect_eq(CELL(&p, payload, schema, CELL(&p, nvtx, payload, 2 * i) - 1),
		             CELL(&p, payload_schema, id, i));
	}
	cr_expect_neq(CELL(&p, kernel, correlation, 0), CELL(&p, kernel, correlation, 1));
	cr_expect_neq(CELL(&p, nvtx, range, 0), CELL(&p, nvtx, range, 2));
	cr_expect_neq(CELL(&p, payload_schema, id, 0), CELL(&p, payload_schema, id, 1));
	cr_expect_eq(ROWS(&p, process), 2);
	cr_expect_eq(ROWS(&p, process_end), 2);
	probe_close(&p);
}

/* Two processes of one machine between whose beginnings the real time was set back by an hour. */
Test(merge, traces_of_one_boot_lie_on_its_clock_whatever_became_of_the_real_time)
{
	static const struct {
		int64_t base_ns;
		const char *boot_ns, *boot;
	} traces[] = {
	        {10000, "500", "00000000000000ab"},
	        {4000, "1700", "00000000000000ab"},
	        {10300, "700", "00000000000000cd"},
	};
	struct probe p;

	for (int i = 0; i < 3; i++) {
		create(i, traces[i].base_ns);
		ws_trace_writer_meta(w, "clock.base_ns", traces[i].boot_ns, &err);
		ws_trace_writer_meta(w, "clock.boot", traces[i].boot, &err);
		ADD(PROCESS_END, process_end, .time_ns = 1, .pid = (uint64_t)i);
		close_trace();
	}
	p = merge_all(3);
	cr_expect_eq(ws_trace_reader_summary(p.reader)->base_ns, 10000);
	cr_assert_eq(ROWS(&p, process_end), 3);
	cr_expect_eq(CELL(&p, process_end, time_ns, 0), 1);
	cr_expect_eq(CELL(&p, process_end, time_ns, 1), 1201, "by the clock of the boot");
	cr_expect_eq(CELL(&p, process_end, time_ns, 2), 301, "another machine: by the real time");
	probe_close(&p);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT RLIM_INFINITY /* a sanitizer's own memory is more */
#else
#define LIMIT (UINT64_C(1) << 29)
#endif

/* 1 KB must not ask for gigabytes. */
Test(merge, an_id_far_beyond_the_rows_costs_no_memory)
{
	const struct rlimit limit = {LIMIT, LIMIT};
	struct probe p;

	create(0, 0);
	ADD(STRING, string, .id = 1000000000, .text = {"far", 3});
	ADD(DEVICE, device, .id = 1000000001, .name = 1000000000);
	close_trace();
	cr_assert_eq(setrlimit(RLIMIT_DATA, &limit), 0);
	p = merge_all(1);
	cr_assert_eq(ROWS(&p, device), 1);
	cr_expect_str_eq(TEXT(&p, device, name, 0), "far");
	probe_close(&p);
}

Test(merge, times_that_no_64_bits_hold_are_refused)
{
	const char *const list[] = {paths[0], paths[1]};
	struct ws_merge_result result;

	write_trace(0, INT64_MIN + 5, 77, 3, 0);
	write_trace(1, INT64_C(1700000000000000000), 88, 3, 0);
	cr_assert_eq(ws_trace_merge(list, 2, paths[2], 0, &result, &err), WS_CORRUPT);
	cr_expect_eq(access(paths[2], F_OK), -1);
}

Test(merge, the_merged_trace_has_no_damage)
{
	struct ws_check_result result;
	struct probe p;

	write_trace(0, 5000, 77, 3, 10);
	write_trace(1, 1000, 88, 3, 5);
	write_trace(2, 1000, 99, 0, 5);
	p = merge_all(3);
	probe_close(&p);
	cr_assert_eq(ws_trace_check_file(paths[0], tell, NULL, &result, &err), WS_OK);
	cr_expect_eq(result.damage, 0);
	cr_expect_gt(result.rows, 30);
}

Test(merge, a_gpu_of_two_processes_is_one_device_when_its_uuid_is_known)
{
	struct probe p;

	write_trace(0, 1000, 77, 3, 0);
	write_trace(1, 1000, 88, 3, 0);
	p = merge_all(2);
	cr_expect_eq(ROWS(&p, device), 2, "the rows of the first, nameless and named");
	cr_expect_eq(ROWS(&p, device_attr), 4);
	cr_expect_eq(CELL(&p, launch_config, device, 1), 0);
	probe_close(&p);
}

Test(merge, gpus_that_nothing_tells_apart_are_taken_for_two)
{
	struct probe p;

	write_trace(0, 1000, 77, 0, 0);
	write_trace(1, 1000, 88, 0, 0);
	p = merge_all(2);
	cr_expect_eq(ROWS(&p, device), 4);
	cr_expect_eq(CELL(&p, device, id, 3), 1);
	cr_expect_str_eq(TEXT(&p, device, name, 3), "H200");
	cr_expect_eq(CELL(&p, launch_config, device, 1), 1);
	cr_assert_eq(ROWS(&p, resource), 4);
	cr_expect_eq(CELL(&p, resource, device, 0), 0);
	cr_expect_eq(CELL(&p, resource, device, 2), 1, "the name goes with its device");
	cr_expect_str_eq(TEXT(&p, resource, name, 2), "only in 1");
	cr_expect_eq(CELL(&p, resource, device, 3), 0, "a stream is no device");
	cr_expect_eq(CELL(&p, resource, pid, 3), 88);
	cr_expect_eq(CELL(&p, resource, number, 3), 7);
	probe_close(&p);
}

Test(merge, loss_counters_are_sums_that_never_fall)
{
	struct probe p;
	uint64_t last = 0;

	write_trace(0, 1100, 77, 3, 10); /* read at 1101 and 1300 */
	write_trace(1, 1000, 88, 4, 5);  /* read at 1001 and 1200 */
	p = merge_all(2);
	cr_assert_eq(ROWS(&p, loss), 4);
	for (int i = 0; i < 4; i++) {
		cr_expect_geq(CELL(&p, loss, count, i), last);
		last = CELL(&p, loss, count, i);
	}
	cr_expect_eq(CELL(&p, loss, count, 2), 5, "only the second's, at 200");
	cr_expect_eq(probe_loss(&p, "ring_overflow"), 15);
	probe_close(&p);
}

Test(merge, what_differs_is_kept_under_its_process)
{
	struct probe p;

	write_trace(0, 1000, 77, 3, 0);
	write_trace(1, 1000, 88, 4, 0);
	p = merge_all(2);
	cr_expect_str_eq(probe_meta(&p, "tool.name"), "warpsheet-record");
	cr_expect_str_eq(probe_meta(&p, "process.77.rank"), "0");
	cr_expect_str_eq(probe_meta(&p, "process.88.rank"), "1");
	cr_expect_null(probe_meta(&p, "process.rank"));
	cr_expect_str_eq(probe_meta(&p, "record.merged"), "2");
	probe_close(&p);
}

Test(merge, one_trace_merged_is_itself)
{
	struct probe p;

	write_trace(0, 1000, 77, 3, 9);
	p = merge_all(1);
	cr_expect_eq(CELL(&p, kernel, correlation, 0), 7);
	cr_expect_eq(probe_loss(&p, "ring_overflow"), 9);
	cr_expect_str_eq(probe_meta(&p, "process.rank"), "0");
	probe_close(&p);
}

Test(merge, a_trace_that_was_not_closed_gives_what_is_whole)
{
	struct probe p;
	off_t size;

	write_trace(0, 1000, 77, 3, 0);
	write_trace(1, 1000, 88, 4, 0);
	size = (off_t)ws_trace_reader_summary((probe_open(&p, paths[1]), p.reader))->file_size;
	probe_close(&p);
	cr_assert_eq(truncate(paths[1], size - 8), 0);
	p = merge_all(2);
	cr_expect_eq(ROWS(&p, kernel), 2);
	probe_close(&p);
}

Test(merge, what_cannot_be_read_or_written_leaves_everything_as_it_was)
{
	const char *const list[] = {paths[0], "/nonexistent/t.wtrace"};
	const char *const self[] = {paths[0]};
	struct ws_merge_result result;
	char part[160];
	struct probe p;
	glob_t found;

	write_trace(0, 1000, 77, 3, 0);
	cr_expect_eq(ws_trace_merge(list, 2, paths[0], 0, &result, &err), WS_IO_READ);
	cr_expect_eq(ws_trace_merge(self, 1, "/nonexistent/m.wtrace", 0, &result, &err),
	             WS_IO_WRITE);
	cr_expect_eq(ws_trace_merge(self, 0, paths[0], 0, &result, &err), WS_USAGE);
	probe_open(&p, paths[0]);
	cr_expect_eq(ROWS(&p, kernel), 1);
	probe_close(&p);
	snprintf(part, sizeof(part), "%s.*part", paths[0]);
	cr_expect_eq(glob(part, 0, NULL, &found), GLOB_NOMATCH);
}

Test(merge, a_link_at_a_name_that_can_be_guessed_is_not_followed)
{
	const char *const list[] = {paths[0]};
	struct ws_merge_result result;
	char guessed[160];
	struct probe p;

	write_trace(0, 1000, 77, 3, 0);
	write_trace(1, 1000, 78, 3, 0);
	snprintf(guessed, sizeof(guessed), "%s.part", paths[2]);
	cr_assert_eq(symlink(paths[1], guessed), 0);
	cr_expect_eq(ws_trace_merge(list, 1, paths[2], 0, &result, &err), WS_OK, "%s", err.text);
	probe_open(&p, paths[1]);
	cr_expect_null(probe_meta(&p, "record.merged"), "the victim was written to");
	probe_close(&p);
	unlink(guessed);
}
