/*
 * Commits: when ring space is given back, and that after the launcher's death
 * at any step of one every event is in the trace exactly once.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/drain_has_all.h"
#include "kernels/nvtx/abi.h"
#include "kernels/nvtx/warpsheet_nvtx.h"
#include "tests/support/recorder/by_hand.h"
#include "tests/support/trace_sample.h"

static void start(void)
{
	by_hand_start(NULL);
}

/* --- commits --- */

Test(drain_commit, ring_space_is_given_back_by_the_commit_and_not_before, .init = start,
     .fini = by_hand_stop)
{
	struct ws_ring *ring = &ws_seg_thread_buffer(seg, 0)->ring;
	struct probe p;

	put_event(0, EVENT(WS_REC_MARK, 1), "m", NULL);
	cr_expect_eq(ws_drain_pass(drain), 2, "the thread and the mark");
	cr_expect_eq(atomic_load(&ring->tail), 0);
	cr_expect_eq(ws_drain_pass(drain), 0, "nothing is read twice");
	ws_drain_commit(drain);
	cr_expect_eq(atomic_load(&ring->tail), atomic_load(&ring->head));
	cr_expect_gt(ws_drain_file_size(seg), 0);
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, nvtx), 1);
	probe_close(&p);
}

Test(drain_commit, a_ring_more_than_half_full_wants_a_commit, .init = start, .fini = by_hand_stop)
{
	while (atomic_load(&ws_seg_thread_buffer(seg, 0)->ring.head) <= RING / 2) {
		cr_expect(!ws_drain_wants_commit(drain));
		put_pop(0, 1);
	}
	ws_drain_pass(drain);
	cr_expect(ws_drain_wants_commit(drain), "reading alone gives no room");
	ws_drain_commit(drain);
	cr_expect(!ws_drain_wants_commit(drain));
}

Test(drain_commit, a_lane_is_free_again_once_its_thread_ended_and_its_ring_is_committed,
     .init = start, .fini = by_hand_stop)
{
	put_event(0, EVENT(WS_REC_MARK, 1), "m", NULL);
	ws_drain_pass(drain);
	ws_drain_commit(drain);
	cr_expect_eq(atomic_load(ws_seg_thread_state(seg, 0)), WS_THREAD_BUFFER_OWNED,
	             "its thread lives");

	put_event(0, EVENT(WS_REC_MARK, 2), "m", NULL);
	atomic_store(ws_seg_thread_state(seg, 0), WS_THREAD_BUFFER_LEFT);
	ws_drain_commit(drain);
	cr_expect_eq(atomic_load(ws_seg_thread_state(seg, 0)), WS_THREAD_BUFFER_LEFT,
	             "there is something in it");
	ws_drain_pass(drain);
	cr_expect_eq(atomic_load(ws_seg_thread_state(seg, 0)), WS_THREAD_BUFFER_LEFT,
	             "it is not in the file yet");
	ws_drain_commit(drain);
	cr_expect_eq(atomic_load(ws_seg_thread_state(seg, 0)), WS_THREAD_BUFFER_FREE);
	cr_expect_eq(atomic_load(&seg->thread_buffers_freed), 1);
}

Test(drain_commit, it_is_wanted_when_threads_that_ended_hold_most_of_the_thread_buffers,
     .init = start, .fini = by_hand_stop)
{
	/* two thread buffers: one owned, one free */
	cr_expect(!ws_drain_wants_commit(drain));
	atomic_store(ws_seg_thread_state(seg, 1), WS_THREAD_BUFFER_OWNED);
	cr_expect(!ws_drain_wants_commit(drain), "a commit would free none");
	atomic_store(ws_seg_thread_state(seg, 0), WS_THREAD_BUFFER_LEFT);
	cr_expect(ws_drain_wants_commit(drain));
	ws_drain_commit(drain);
	cr_expect(!ws_drain_wants_commit(drain));
}

Test(drain_commit, statistics_are_all_counters_each_time, .init = start, .fini = by_hand_stop)
{
	struct probe p;

	ws_drain_statistics(drain);
	ws_drain_statistics(drain);
	ws_seg_count(seg, WS_DROPPED_ring_overflow, 4);
	ws_drain_statistics(drain);
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, loss), 3 * WS_DROPPED_COUNT);
	cr_expect_eq(probe_loss(&p, "ring_overflow"), 4);
	cr_expect_eq(probe_loss(&p, "unmatched_pop"), 0);
	cr_expect_eq(ROWS(&p, clock), 3);
	probe_close(&p);
}

/* --- death of the launcher, at each point of a commit --- */

enum death {
	DEATH_AFTER_PASS,  /* rows only in the writer's memory */
	DEATH_AFTER_WRITE, /* rows in the file, commit slot untouched */
	DEATH_DURING_SLOT, /* the slot that is not active half written */
	DEATH_AFTER_FLIP,  /* committed, but no producer knows */
	DEATH_AFTER_COMMIT,
	DEATH_COUNT
};

static char trace_path[] = "/tmp/test_drain.XXXXXX";

static void start_file(void)
{
	int fd = mkstemp(trace_path);

	cr_assert_geq(fd, 0);
	close(fd);
	by_hand_start(trace_path);
}

static void stop_file(void)
{
	by_hand_stop();
	unlink(trace_path);
}

/* 20 events of all sorts, numbered from `first`. */
static void put_batch(int first)
{
	const struct wsnvtx_launch launch = {1, 1, 1, 1, 1, 1};
	char text[32];

	for (int i = first; i < first + 20; i++) {
		snprintf(text, sizeof(text), "event %d", i);
		put_event(0, EVENT(WS_REC_PUSH, i, .schema = WSN_ENTRY_INT32, .payload_size = 4),
		          text, &i);
		put_event(1,
		          EVENT(WS_REC_CPU_KERNEL, i, .range = (uint64_t)(BASE + i + 1),
		                .schema = WSN_SCHEMA_ID_DYNAMIC_START + 9,
		                .payload_size = sizeof(launch)),
		          text, &launch);
	}
}

static uint64_t last_commit(void)
{
	struct ws_seg_commit *commit = calloc(1, ws_seg_commit_size(seg));
	uint64_t number = ws_seg_commit_read(seg, commit) ? commit->number : 0;

	free(commit);
	return number;
}

static void die(enum death how)
{
	uint64_t tails[2];
	struct ws_err err;

	ws_drain_pass(drain);
	for (uint32_t i = 0; i < 2; i++)
		tails[i] = atomic_load(&ws_seg_thread_buffer(seg, i)->ring.tail);
	if (how == DEATH_AFTER_WRITE || how == DEATH_DURING_SLOT)
		cr_assert_eq(ws_trace_writer_flush(writer, &err), WS_OK);
	if (how == DEATH_DURING_SLOT)
		memset(ws_seg_commit_slot(seg, (last_commit() + 1) % 2), 0xA5, 24);
	if (how == DEATH_AFTER_FLIP || how == DEATH_AFTER_COMMIT)
		ws_drain_commit(drain);
	if (how == DEATH_AFTER_FLIP)
		for (uint32_t i = 0; i < 2; i++)
			ws_ring_release(&ws_seg_thread_buffer(seg, i)->ring, tails[i]);
	ws_drain_free(drain);
	ws_trace_writer_free(writer);
	drain = NULL;
	writer = NULL;
}

static void salvage(void)
{
	const struct ws_trace_writer_opts opts = {.base_ns = BASE};
	struct ws_err err;

	cr_assert_eq(trace_file_resume(&writer, trace_path, ws_drain_file_size(seg), &opts, &err),
	             WS_OK, "%s", err.text);
	drain = ws_drain_new(seg, writer);
}

static void check_exactly_once(int events)
{
	struct probe p;
	char text[32];

	probe_open(&p, trace_path);
	cr_expect(ws_trace_reader_summary(p.reader)->closed);
	cr_expect_eq(ws_trace_reader_summary(p.reader)->damaged_blocks, 0);
	cr_expect_eq(ROWS(&p, nvtx), (uint64_t)events);
	cr_expect_eq(ROWS(&p, kernel), (uint64_t)events);
	cr_expect_eq(ROWS(&p, api), (uint64_t)events);
	cr_expect_eq(ROWS(&p, payload), (uint64_t)events);
	cr_expect_eq(ROWS(&p, device), 1);
	cr_expect_eq(ROWS(&p, thread), 1);
	cr_expect_eq(ROWS(&p, payload_schema), 1);
	for (int i = 0; i < events; i++) {
		snprintf(text, sizeof(text), "event %d", i);
		cr_expect_eq(probe_count(&p, WS_NVTX_PUSH, text), 1, "%s", text);
		cr_expect_eq(CELL(&p, kernel, correlation, i), (uint64_t)i + 1,
		             "correlation ids go on without a gap");
		cr_expect_eq(CELL(&p, api, correlation, i), (uint64_t)i + 1);
		cr_expect_eq(CELL(&p, launch_config, grid_x, i), 1,
		             "the launch schema is known again");
	}
	probe_close(&p);
}

Test(drain_commit, after_any_death_every_event_is_in_the_trace_exactly_once, .init = start_file,
     .fini = stop_file, .timeout = 600)
{
	struct ws_err err;
	int events = 0;

	put_launch_schema();
	ws_drain_commit(drain);
	for (int how = 0; how < DEATH_COUNT; how++) {
		put_batch(events);
		ws_drain_pass(drain);
		ws_drain_commit(drain);
		put_batch(events + 20);
		die((enum death)how);
		put_batch(events + 40); /* the program goes on */
		salvage();
		events += 60;
	}
	ws_drain_pass(drain);
	cr_expect(drain_has_all(drain));
	ws_drain_commit(drain);
	cr_assert_eq(ws_trace_writer_close(writer, &err), WS_OK, "%s", err.text);
	check_exactly_once(events);
}

Test(drain_commit, what_was_committed_is_readable_without_salvage, .init = start_file,
     .fini = stop_file)
{
	struct probe p;

	put_launch_schema();
	put_batch(0);
	ws_drain_pass(drain);
	ws_drain_commit(drain);
	put_batch(20);
	die(DEATH_AFTER_PASS);
	probe_open(&p, trace_path);
	cr_expect(!ws_trace_reader_summary(p.reader)->closed);
	cr_expect_eq(ROWS(&p, nvtx), 20);
	probe_close(&p);
}

Test(drain_commit, a_full_disk_stops_the_file_but_neither_the_passes_nor_the_counting,
     .init = start_file, .fini = stop_file)
{
	struct rlimit limit;
	uint64_t rows = 0;
	struct ws_err err;
	struct probe p;

	put_launch_schema();
	put_batch(0);
	ws_drain_pass(drain);
	ws_drain_commit(drain);
	cr_assert_eq(ws_drain_error(drain, NULL), WS_OK);

	/* the file may not grow any more */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = ws_drain_file_size(seg);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int i = 1; i < 20; i++) {
		put_batch(i * 20);
		ws_drain_pass(drain);
		ws_drain_commit(drain);
		rows += 20 * 3; /* nvtx, api and kernel rows */
	}
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);

	cr_expect_eq(ws_drain_error(drain, &err), WS_IO_WRITE, "%s", err.text);
	cr_expect(drain_has_all(drain), "the program is not held up");
	cr_expect_eq(atomic_load(&ws_seg_thread_buffer(seg, 0)->ring.tail),
	             atomic_load(&ws_seg_thread_buffer(seg, 0)->ring.head));
	cr_expect_eq(ws_drain_lost(drain, WS_DROPPED_disk_full), rows);
	die(DEATH_AFTER_PASS);
	probe_open(&p, trace_path);
	cr_expect_eq(ROWS(&p, nvtx), 20);
	probe_close(&p);
}
