/*
 * Ranges that are asked for, through every way in which NVTX makes one: the
 * collector and the drain in this process. Each test attaches anew.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "kernels/nvtx/warpsheet_nvtx.h"
#include "tests/support/recorder/in_process.h"

TestSuite(capture_range, .fini = collect_stop, .timeout = 600);

static void start(const char *pattern, uint64_t first, uint64_t last)
{
	collect_window.ranges = WS_RANGES_NVTX;
	collect_window.first = first;
	collect_window.last = last;
	cr_assert_lt(strlen(pattern), sizeof(collect_window.pattern));
	memcpy(collect_window.pattern, pattern, strlen(pattern) + 1);
	collect_start(4, 1 << 20, 1 << 20);
	cr_assert(nvtx_attach());
}

static uint64_t outside(void)
{
	return atomic_load(&collect_seg->control.noutside);
}

/* One mark inside a range of this name, one behind it. */
static void range_with_mark(const char *name)
{
	nvtx.RangePushA(name);
	nvtx.MarkA(name);
	nvtx.RangePop();
	nvtx.MarkA("between");
}

/* Patterns as the traced program applies them. */
Test(capture_range, a_pattern_is_that_of_the_whole_name)
{
	static const char *const names[] = {"step",  "step 1", "a step", "stepp",
	                                    "sstep", "st*p",   "",       "steP"};
	struct probe p;

	start("s*e?", 1, UINT64_MAX);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		range_with_mark(names[i]);
	p = collect_finish();
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "step"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "sstep"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "steP"), 1);
	cr_expect_eq(ROWS(&p, nvtx), 9, "three ranges with their marks");
	cr_expect_eq(ROWS(&p, nvtx) + outside(), 8 * 4);
	collect_expect_no_loss();
	probe_close(&p);
}

Test(capture_range, stars_take_as_much_as_it_needs)
{
	struct probe p;

	start("*ab*abc", 1, UINT64_MAX);
	range_with_mark("ababc");
	range_with_mark("abab abc abc");
	range_with_mark("abc");
	range_with_mark("ababcd");
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 6);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "ababc"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "abab abc abc"), 1);
	probe_close(&p);
}

Test(capture_range, registered_and_wide_names_and_those_of_any_domain_match)
{
	wsn_domain domain;
	struct wsn_event registered = collect_attr(NULL);
	struct probe p;

	start("wörk*", 1, UINT64_MAX);
	domain = nvtx.DomainCreateA("theirs");
	registered.message_type = WSN_MESSAGE_REGISTERED;
	registered.message.registered = nvtx.DomainRegisterStringA(domain, "wörk registered");
	nvtx.DomainRangePushEx(domain, &registered);
	nvtx.MarkA("in the registered");
	nvtx.DomainRangePop(domain);
	nvtx.MarkA("out");
	nvtx.RangePushW(L"wörk wide");
	nvtx.MarkA("in the wide");
	nvtx.RangePop();
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 6);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "in the registered"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "in the wide"), 1);
	cr_expect_eq(outside(), 1);
	collect_expect_no_loss();
	probe_close(&p);
}

static void *end_range(void *arg)
{
	nvtx.MarkA("on the other thread");
	nvtx.RangeEnd(*(wsn_range_id *)arg);
	nvtx.MarkA("behind it");
	return NULL;
}

Test(capture_range, a_range_that_ends_on_another_thread_is_one)
{
	pthread_t thread;
	struct probe p;
	wsn_range_id id, other;

	start("step", 2, 2);
	id = nvtx.RangeStartA("step");
	nvtx.MarkA("in the first");
	nvtx.RangeEnd(id);
	other = nvtx.RangeStartA("around");
	id = nvtx.RangeStartA("step");
	pthread_create(&thread, NULL, end_range, &id);
	pthread_join(thread, NULL);
	nvtx.RangeEnd(other);
	p = collect_finish();
	cr_expect_eq(probe_count(&p, WS_NVTX_START, "step"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_START, "around"), 1, "it lies around the second");
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "on the other thread"), 1);
	cr_expect_eq(ROWS(&p, nvtx), 5);
	for (uint64_t i = 0; i < ROWS(&p, nvtx); i++)
		cr_expect_lt(CELL(&p, nvtx, range, i), 16, "ids are not what the program sees");
	cr_expect_eq(ROWS(&p, nvtx) + outside(), 9);
	collect_expect_no_loss();
	probe_close(&p);
}

Test(capture_range, inside_a_range_that_matches_no_other_one_counts)
{
	struct probe p;

	start("step*", 1, 1);
	nvtx.RangePushA("step");
	nvtx.RangePushA("step inside");
	nvtx.RangePop();
	nvtx.MarkA("still in the first");
	nvtx.RangePop();
	range_with_mark("step 2");
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 5);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "still in the first"), 1);
	cr_expect_eq(outside(), 4);
	probe_close(&p);
}

static void *leave_it_open(void *arg)
{
	nvtx.RangePushA("step");
	nvtx.MarkA("in it");
	return arg;
}

Test(capture_range, a_range_that_its_thread_never_ends_ends_with_the_thread)
{
	pthread_t thread;
	struct probe p;

	start("step", 1, UINT64_MAX);
	pthread_create(&thread, NULL, leave_it_open, NULL);
	pthread_join(thread, NULL);
	nvtx.MarkA("later");
	p = collect_finish();
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "in it"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "later"), 0);
	cr_expect_eq(outside(), 1);
	probe_close(&p);
}

Test(capture_range, once_all_instances_are_over_open_ranges_still_get_their_end)
{
	struct probe p;

	start("step", 1, 1);
	nvtx.RangePushA("around");
	range_with_mark("step");
	cr_expect_eq(atomic_load(&collect_seg->control.has_ended), 1);
	nvtx.RangePushA("too late");
	nvtx.RangePop();
	nvtx.RangeEnd(nvtx.RangeStartA("too late"));
	cr_expect_eq(nvtx.RangePop(), 0);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 5, "around, step, mark, and their ends");
	cr_expect_eq(CELL(&p, nvtx, type, 4), WS_NVTX_POP);
	cr_expect_eq(outside(), 5);
	collect_expect_no_loss();
	probe_close(&p);
}

Test(capture_range, cpu_kernels_go_with_the_range_they_are_in)
{
	struct wsn_event kernel = collect_attr("kernel");
	wsn_domain cpu;
	struct probe p;

	start("step", 2, 2);
	cpu = nvtx.DomainCreateA(WSNVTX_CPU_DOMAIN);
	for (int i = 0; i < 3; i++) {
		nvtx.RangePushA("step");
		nvtx.DomainRangePushEx(cpu, &kernel);
		nvtx.DomainRangePop(cpu);
		nvtx.RangePop();
	}
	p = collect_finish();
	cr_expect_eq(ROWS(&p, kernel), 1);
	cr_expect_eq(ROWS(&p, nvtx), 2);
	cr_expect_eq(outside(), 6, "two rounds of push, pop and kernel");
	probe_close(&p);
}

/* More than wait for their end: they are kept, and the launcher's memory stays small. */
Test(capture_range, a_thread_that_ends_none_of_its_ranges_has_them_kept)
{
	struct probe p;

	start("step", 1, UINT64_MAX);
	for (int i = 0; i < 5000; i++)
		nvtx.RangePushA("never ended");
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 4097, "all that waited, and the one that was too many");
	cr_expect_eq(outside(), 5000 - 4097);
	collect_expect_no_loss();
	probe_close(&p);
}
