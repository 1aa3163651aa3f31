/*
 * Segments of less than 1 MB that are made to hurt, or mutated: salvage ends, in bounded time and
 * memory, with a status of the list, and says what it did not do.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "recorder/shared/system.h"
#include "tests/support/paths.h"
#include "tests/environment/random.h"
#include "tests/support/recorder/by_hand.h"
#include "tests/support/recorder/run.h"

#ifdef __SANITIZE_ADDRESS__
#define MAX_RSS_KB LONG_MAX /* it takes memory of its own, so the limit is not set under it */
#else
#define MAX_RSS_KB (500 * 1024L)
#endif
#define LAST_THREAD ((1u << 24) - 1) /* the highest id that there can be */
#define MUTATED     100
#define NO_MEMORY   5

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

/* The first bytes of it, in a file. */
static void write_segment(uint64_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert_geq(fd, 0);
	ws_seg_seal(seg);
	cr_assert_eq(write(fd, seg, size), (ssize_t)size);
	cr_assert_lt(size, 1u << 20);
	close(fd);
}

static void put_segment(void)
{
	write_segment(seg->total_size);
}

static long max_rss_kb;

static int salvage(void)
{
	struct rusage used;
	int code = RUN(&r, "--salvage", path);

	getrusage(RUSAGE_CHILDREN, &used);
	max_rss_kb = used.ru_maxrss;
	cr_expect_lt(max_rss_kb, MAX_RSS_KB, "%ld KB: %s", max_rss_kb, r.text);
	return code;
}

/* Threads up to this one, and what waits of each, would take 650 MB, to look for each name there
 * minutes. */
Test(salvage_bounded, a_thread_takes_memory_and_time_for_itself_alone)
{
	seg->plan.window.begin_ns = BASE + 1000;
	put_thread(WS_DEF_THREAD, LAST_THREAD, 1, "last");
	for (uint64_t tid = 2; atomic_load(&seg->defs_head) + 64 < seg->defs_size; tid++)
		put_thread(WS_DEF_THREAD_NAME, 0, tid, "");
	ws_seg_thread_buffer(seg, 0)->thread = LAST_THREAD;
	put_event(0, EVENT(WS_REC_PUSH, 1), "outside of the window", NULL);
	put_segment();
	cr_expect_eq(salvage(), 0, "%s", r.text);
	cr_expect_lt(max_rss_kb, MAX_RSS_KB / 5, "%ld KB", max_rss_kb);
}

#if !defined(__SANITIZE_ADDRESS__) && \
        !defined(__SANITIZE_THREAD__) /* under them there is no limit */
/* Of rings of 1 GiB the file has the beginning, which is enough to have all of them mapped. */
Test(salvage_bounded, memory_without_end_meets_a_limit)
{
	struct ws_seg_opts opts = ws_seg_opts_of(seg);
	const uint64_t size = seg->total_size;
	struct ws_seg_header *large;

	opts.ring_size = WS_SEG_MAX_RING;
	opts.grows = 1;
	large = calloc(1, ws_seg_first_size(&opts));
	ws_seg_init(large, &opts);
	seg->layout = large->layout;
	seg->grows = 1;
	write_segment(size);
	free(large);
	cr_expect_eq(salvage(), NO_MEMORY, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "memory"), "%s", r.text);
	cr_expect_eq(access(path, F_OK), 0, "the segment stays");
}
#endif

Test(salvage_bounded, nobody_is_waited_for_who_could_not_be_recorded)
{
	ws_seg_set_process(&seg->owner, ws_proc_self());
	put_segment();
	cr_expect_eq(salvage(), 0, "%s", r.text);
	cr_expect_null(strstr(r.text, "still runs"), "%s", r.text);
}

/* The same ones each time: in the header, the tables, the log, a ring, a slot. */
static uint64_t drawn = 19;

static void mutate(void)
{
	static const uint64_t extreme[] = {0, 1, UINT32_MAX, INT64_MAX, UINT64_MAX};
	const unsigned words = (unsigned)(seg->total_size / 8);

	for (unsigned n = 1 + random_below(&drawn, 8); n--;) {
		/* half of them where the layout and the commits lie */
		unsigned at = random_below(&drawn, random_below(&drawn, 2) ? words : 8192 / 8);
		uint64_t *word = (uint64_t *)(void *)seg + at;

		*word = random_below(&drawn, 2) ? extreme[random_below(&drawn, 5)]
		                                : *word ^ UINT64_C(1) << random_below(&drawn, 64);
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
