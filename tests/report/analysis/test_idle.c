/* Why a device is idle: each cause by hand, and their sum on anything. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>

#include "report/analysis/idle.h"
#include "tests/support/trace_builder.h"

#define US 1000

#define NEAR(actual, expected)                                                    \
	cr_expect(fabs((actual) - (expected)) <= 1e-9 * fabs((double)(expected)), \
	          "%.17g is not %.17g", (actual), (double)(expected))

/* Of two devices the second is an H100. */
static struct tb *h100(void)
{
	struct tb *b = tb_new();

	tb_device(b, 1, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
	return b;
}

static uint64_t ids = 1000; /* the writer counts its own from 1 */

/* A kernel on device 1, launched at call_us. */
static void kernel(struct tb *b, int64_t call_us, const char *name, int64_t start_us,
                   int64_t dur_us)
{
	struct tb_kernel k = {name, start_us * US, dur_us * US, ++ids, 1, 100, 0};

	tb_call(b, call_us * US, 1, k.correlation);
	tb_kernel(b, &k);
}

static struct joined *joined;

static struct ws_selection sel; /* of the test: it has the idle time */

static struct ws_idle idle_of(struct tb *b, const struct ws_filter *filter)
{
	const struct ws_idle *idle;

	joined = tb_joined(b);
	cr_assert(eq(int, ws_select_rows(joined->m, &joined->rows, filter, &sel, NULL), WS_OK));
	cr_assert(eq(int, ws_idle_find(joined->m, &sel, &idle, NULL), WS_OK));
	return *idle;
}

static void done(struct tb *b)
{
	ws_selection_release(&sel);
	joined_free(joined);
	tb_free(b);
}

static void api(struct tb *b, const char *name, int64_t start_us, int64_t dur_us)
{
	tb_add(b, WS_KIND_API,
	       &(struct ws_row_api){.start_ns = start_us * US,
	                            .dur_ns = dur_us * US,
	                            .thread = 1,
	                            .name = tb_text(b, name),
	                            .correlation = ++ids});
}

/* One gap of `gap_us` between two kernels, the second launched at call_us. */
static struct tb *one_gap(int64_t gap_us, int64_t call_us)
{
	struct tb *b = h100();

	tb_push(b, 0, "step");
	kernel(b, 0, "k", 0, 100);
	kernel(b, call_us, "k", 100 + gap_us, 100);
	tb_pop(b, (200 + gap_us) * US);
	return b;
}

static void expect_gap(struct tb *b, enum ws_use cause, int64_t gap_us)
{
	struct ws_idle idle = idle_of(b, NULL);

	cr_expect(eq(i64, idle.all.ns[WS_USE_COMPUTE], 200 * US));
	cr_expect(eq(i64, idle.all.ns[cause], gap_us * US), "%s", ws_use_defs[cause].name);
	cr_expect(eq(i64, idle.all.longest_ns[cause], gap_us * US));
	cr_expect(eq(u64, idle.all.gaps[cause], 1));
	cr_expect(eq(i64, idle.all.window_ns, (200 + gap_us) * US));
	done(b);
}

Test(idle, a_launch_that_comes_late)
{
	expect_gap(one_gap(50, 149), WS_USE_LAUNCH, 50);
}

Test(idle, a_host_that_does_other_things)
{
	expect_gap(one_gap(5000, 5099), WS_USE_HOST, 5000);
}

Test(idle, queued_work_that_begins_soon)
{
	expect_gap(one_gap(20, 50), WS_USE_DEVICE, 20);
}

Test(idle, queued_work_that_begins_late)
{
	expect_gap(one_gap(700, 50), WS_USE_WAIT, 700);
}

Test(idle, a_host_that_waited_for_the_device)
{
	struct tb *b = one_gap(60, 159);

	api(b, "cudaStreamSynchronize", 10, 95);
	expect_gap(b, WS_USE_SYNC, 60);
}

Test(idle, a_blocking_copy_is_a_wait_and_an_asynchronous_one_is_not)
{
	struct tb *b = one_gap(60, 159);

	api(b, "cudaMemcpy_v3020", 10, 95);
	expect_gap(b, WS_USE_SYNC, 60);
	b = one_gap(60, 159);
	api(b, "cudaMemcpyAsync_v3020", 10, 95);
	expect_gap(b, WS_USE_LAUNCH, 60);
}

/* A wait that ended long before the device became idle, or after the launch, explains nothing. */
Test(idle, other_waits_are_no_cause)
{
	struct tb *b = one_gap(60, 159);

	api(b, "cudaStreamSynchronize", 10, 20);
	api(b, "cudaStreamSynchronize", 50, 500);
	expect_gap(b, WS_USE_LAUNCH, 60);
}

Test(idle, data_loading)
{
	struct tb *b = one_gap(5000, 5099);

	tb_push(b, 150 * US, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
	tb_pop(b, 5000 * US);
	expect_gap(b, WS_USE_DATA, 5000);
}

Test(idle, a_kernel_without_a_launch_record)
{
	struct tb *b = h100();

	tb_push(b, 0, "step");
	kernel(b, 0, "k", 0, 100);
	tb_kernel(b, &(struct tb_kernel){"k", 150 * US, 100 * US, 0, 1, 100, 0});
	tb_pop(b, 250 * US);
	expect_gap(b, WS_USE_UNKNOWN, 50);
}

/* Launched late, and late to begin: both are told. */
Test(idle, a_gap_with_two_causes_is_divided)
{
	struct tb *b = one_gap(1000, 149);
	struct ws_idle idle = idle_of(b, NULL);

	/* the call ends 1 ns behind 149 us */
	cr_expect(eq(i64, idle.all.ns[WS_USE_LAUNCH], 49 * US + 1));
	cr_expect(eq(i64, idle.all.ns[WS_USE_WAIT], 951 * US - 1));
	done(b);
}

/* 221 ms before the first kernel are no launch-bound run. */
Test(idle, before_the_first_and_after_the_last_work)
{
	struct tb *b = h100();
	struct ws_idle idle;

	tb_push(b, 0, "step");
	kernel(b, 10, "k", 1000, 300);
	tb_pop(b, 1500 * US);
	idle = idle_of(b, NULL);
	cr_expect(eq(i64, idle.all.ns[WS_USE_START], 1000 * US));
	cr_expect(eq(i64, idle.all.ns[WS_USE_END], 200 * US));
	cr_expect(eq(int, idle.verdict.cause, WS_USE_START));
	cr_expect(not(idle.verdict.launch_bound));
	done(b);
}

Test(idle, copies_and_communication_are_no_idle_time_where_kernels_run)
{
	struct tb *b = h100();
	struct ws_idle idle;

	tb_push(b, 0, "step");
	tb_add(b, WS_KIND_MEMCPY,
	       &(struct ws_row_memcpy){.start_ns = 0, .dur_ns = 900 * US, .device = 1, .pid = 100});
	kernel(b, 0, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, 400);
	kernel(b, 0, "k", 200, 100);
	tb_pop(b, 900 * US);
	idle = idle_of(b, NULL);
	cr_expect(eq(i64, idle.all.ns[WS_USE_COMPUTE], 100 * US));
	cr_expect(eq(i64, idle.all.ns[WS_USE_COLLECTIVE], 300 * US));
	cr_expect(eq(i64, idle.all.ns[WS_USE_COPY], 500 * US));
	cr_expect(eq(int, idle.verdict.cause, WS_USE_COPY));
	done(b);
}

/* Two devices at 36 % each are not one at 72 %. */
Test(idle, devices_are_judged_one_by_one)
{
	struct tb *b = h100();
	struct ws_idle idle;

	tb_device(b, 2, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
	tb_push(b, 0, "step");
	for (int64_t i = 0; i < 10; i++) {
		for (uint64_t device = 1; device <= 2; device++) {
			struct tb_kernel k = {"k", 100 * i * US + 1, 36 * US, ++ids, device, 100,
			                      0};

			tb_call(b, 100 * i * US, 1, k.correlation);
			tb_kernel(b, &k);
		}
	}
	tb_pop(b, 1000 * US);
	idle = idle_of(b, NULL);
	cr_expect(eq(sz, idle.nworked, 2));
	cr_expect(eq(i64, idle.wall_ns, 1000 * US));
	for (size_t d = 0; d < idle.ndevices; d++)
		if (idle.device[d].window_ns)
			cr_expect(eq(i64, idle.device[d].ns[WS_USE_COMPUTE], 360 * US));
	NEAR(idle.verdict.busy_percent, 36);
	cr_expect(idle.verdict.launch_bound);
	done(b);
}

Test(idle, the_cpu_reference_does_not_wait)
{
	struct tb *b = tb_new();
	struct ws_idle idle;
	char words[128];

	tb_device(b, 7, WS_DEVICE_CPU_REFERENCE, "CPU reference");
	tb_push(b, 0, "step");
	tb_kernel(b, &(struct tb_kernel){"k", 0, 100, 0, 7, 100, 0});
	tb_pop(b, 1000);
	idle = idle_of(b, NULL);
	cr_expect(not(idle.verdict.known));
	cr_expect_str_eq(ws_idle_words(&idle.verdict, words, sizeof(words)),
	                 "cannot tell: the CPU reference is not a device that waits");
	done(b);
}

/* Whatever happens, each device's uses add up to the windows, and no use is negative. */
Test(idle, uses_add_up_on_random_traces)
{
	static const char *const names[] = {"k", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};

	srand(20261122);
	for (int round = 0; round < 300; round++) {
		struct tb *b = h100();
		struct ws_idle idle;
		int64_t at = 0;

		tb_device(b, 2, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
		for (int s = 0; s < 1 + round % 4; s++) {
			int64_t begin = at;

			tb_push(b, at * US, round % 5 ? "step" : "other");
			for (int i = 0; i < rand() % 20; i++) {
				uint64_t device = 1 + (uint64_t)(rand() % 2);
				int64_t start = begin + rand() % 900;

				if (rand() % 4 == 0) {
					tb_add(b, WS_KIND_MEMCPY,
					       &(struct ws_row_memcpy){.start_ns = start * US,
					                               .dur_ns = rand() % 300 * US,
					                               .device = device,
					                               .pid = 100});
				} else {
					struct tb_kernel k = {names[rand() % 2],
					                      start * US,
					                      rand() % 200 * US,
					                      ++ids,
					                      device,
					                      100,
					                      0};

					if (rand() % 3)
						tb_call(b, (start - rand() % 200) * US,
						        rand() % 2000, k.correlation);
					tb_kernel(b, &k);
				}
				if (rand() % 6 == 0)
					api(b, "cudaDeviceSynchronize", begin + rand() % 900,
					    rand() % 90);
			}
			at += 1000;
			tb_pop(b, at * US);
		}
		idle = idle_of(b, NULL);
		for (size_t d = 0; d < idle.ndevices; d++) {
			int64_t sum = 0;

			for (int use = 0; use < WS_USES; use++) {
				cr_assert(ge(i64, idle.device[d].ns[use], 0));
				sum += idle.device[d].ns[use];
			}
			cr_assert(eq(i64, sum, idle.device[d].window_ns));
			cr_assert(sum == 0 || sum == idle.wall_ns, "round %d: %lld of %lld", round,
			          (long long)sum, (long long)idle.wall_ns);
		}
		done(b);
	}
}
