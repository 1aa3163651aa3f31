/*
 * Segments of less than 1 MB that are made to hurt, or mutated: salvage ends, in bounded time and
 * memory, with a status of the list, and says what it did not do.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/shared/procfs.h"
#include "tests/support/paths.h"
#include "tests/support/recorder/by_hand.h"
#include "tests/support/recorder/run.h"

#ifdef __SANITIZE_ADDRESS__
#define MAX_RSS_KB LONG_MAX /* it takes memory of its own, so the limit is not set under it */
#else
#define MAX_RSS_KB (500 * 1024L)
#endif
#define LAST_THREAD  ((1u << 24) - 1) /* the highest id that there can be */
#define MUTATED      100
#define CPU_SECONDS  1 /* in place of 10: the limit is there, and this test short */
#define ENDS_WITH_IT 5

static struct run r;
static char path[2 * RUN_PATH];

/* A recording has begun: an empty trace, and a segment that is committed. */
static void begin(void)
{
	run_begin(&r);
	snprintf(path, sizeof(path), "%s/segment", r.segments);
	by_hand_start(r.trace);
	snprintf(seg->plan.output, sizeof(seg->plan.output), "%s", r.trace);
	snprintf(seg->trace_path, sizeof(seg->trace_path), "%s", r.trace);
	ws_drain_commit(drain);
	atomic_store(&seg->launcher.pid, 0);
	atomic_store(&seg->owner.pid, 4194305);
	atomic_store(&seg->attached, 1);
}

static void end(void)
{
	by_hand_stop();
	run_end(&r);
}

TestSuite(salvage_bounded, .init = begin, .fini = end, .timeout = 600);

static void put_segment(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert_geq(fd, 0);
	ws_seg_seal(seg);
	cr_assert_eq(write(fd, seg, seg->total_size), (ssize_t)seg->total_size);
	cr_assert_lt(seg->total_size, 1u << 20);
	close(fd);
}

static int salvage(void)
{
	struct rusage used;
	int code = RUN(&r, "--salvage", path);

	getrusage(RUSAGE_CHILDREN, &used);
	cr_expect_lt(used.ru_maxrss, MAX_RSS_KB, "%ld KB: %s", used.ru_maxrss, r.text);
	return code;
}

/* Each name is looked for among 16 million threads. */
Test(salvage_bounded, work_without_end_meets_a_limit_that_is_told)
{
	const struct rlimit limit = {CPU_SECONDS, 60};

	put_thread(WS_DEF_THREAD, LAST_THREAD, 1, "last");
	for (uint64_t tid = 2; atomic_load(&seg->defs_head) + 64 < seg->defs_size; tid++)
		put_thread(WS_DEF_THREAD_NAME, 0, tid, "");
	put_segment();
	cr_assert_eq(setrlimit(RLIMIT_CPU, &limit), 0);
	cr_expect_eq(salvage(), ENDS_WITH_IT, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "an input of less than 1 MB"), "%s", r.text);
	cr_expect_eq(access(path, F_OK), 0, "the segment stays");
}

/* What is known of each thread up to this one, and what waits of each, would take 650 MB. */
Test(salvage_bounded, memory_without_end_meets_a_limit)
{
	seg->plan.window.begin_ns = BASE + 1000;
	put_thread(WS_DEF_THREAD, LAST_THREAD, 1, "last");
	ws_seg_thread_buffer(seg, 0)->thread = LAST_THREAD;
	put_event(0, EVENT(WS_REC_PUSH, 1), "outside of the window", NULL);
	put_segment();
	cr_expect_eq(salvage(), 0, "%s", r.text);
}

Test(salvage_bounded, nobody_is_waited_for_who_could_not_be_recorded)
{
	ws_seg_set_process(&seg->owner, ws_proc_self());
	put_segment();
	cr_expect_eq(salvage(), 0, "%s", r.text);
	cr_expect_null(strstr(r.text, "still runs"), "%s", r.text);
}

/* The same ones each time: in the header, the tables, the log, a ring, a slot. */
static unsigned draw(unsigned below)
{
	static uint64_t state = 19;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(state >> 33) % below;
}

static void mutate(void)
{
	static const uint64_t extreme[] = {0, 1, UINT32_MAX, INT64_MAX, UINT64_MAX};
	const unsigned words = (unsigned)(seg->total_size / 8);

	for (unsigned n = 1 + draw(8); n--;) {
		/* half of them where the layout and the commits lie */
		unsigned at = draw(draw(2) ? words : 8192 / 8);
		uint64_t *word = (uint64_t *)(void *)seg + at;

		*word = draw(2) ? extreme[draw(5)] : *word ^ UINT64_C(1) << draw(64);
	}
}

Test(salvage_bounded, mutated_segments_end_with_a_status_of_the_list)
{
	int statuses[8] = {0};

	for (int i = 0; i < MUTATED; i++) {
		int code;

		put_event(0, EVENT(WS_REC_PUSH, 10), "a range", NULL);
		put_pop(0, 20);
		mutate();
		put_segment();
		code = salvage();
		cr_expect_lt(code, 6, "%d: ends with %d: %s", i, code, r.text);
		statuses[code & 7]++;
		end();
		begin();
	}
	cr_expect_gt(statuses[0], 0);
	cr_expect_gt(statuses[3], 0);
}
