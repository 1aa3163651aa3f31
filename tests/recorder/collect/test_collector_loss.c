/*
 * The collector library inside this process: what is lost, and that it is counted.
 * Criterion runs each test in a process of its own, so each attaches anew.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/paths.h"
#include "tests/support/recorder/in_process.h"

static void start(void)
{
	collect_start(4, 1 << 20, 1 << 20);
	cr_assert(nvtx_attach());
}

/* --- losses --- */

Test(collector_loss, a_pop_without_a_push_is_counted_and_left_out, .init = start,
     .fini = collect_stop)
{
	struct probe p;

	cr_expect_eq(nvtx.RangePop(), -1);
	nvtx.RangePushA("a");
	nvtx.RangePop();
	cr_expect_eq(nvtx.RangePop(), -1);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 2);
	cr_expect_eq(collect_lost(WS_DROPPED_unmatched_pop), 2);
	probe_close(&p);
}

Test(collector_loss, a_text_that_is_too_long_is_cut_at_a_character_and_counted, .init = start,
     .fini = collect_stop)
{
	static char text[20001];
	struct probe p;

	for (size_t i = 0; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "ä", 2);
	text[0] = 'x'; /* breaks the first character, and moves none */
	nvtx.MarkA(text);
	p = collect_finish();
	cr_expect_eq(BYTES(&p, string, text, CELL(&p, nvtx, name, 0) - 1).len, 16384);
	cr_expect_eq(collect_lost(WS_DROPPED_text_truncated), 1);
	probe_close(&p);
}

/* Small rings: 4096 bytes hold 73 records of 56 bytes. */
#define FULL 73

static void start_small(void)
{
	collect_start(1, 4096, 65536);
	cr_assert(nvtx_attach());
}

Test(collector_loss, a_full_ring_drops_and_counts_every_event_that_is_not_in_the_trace,
     .init = start_small, .fini = collect_stop)
{
	uint64_t events = 0;
	struct probe p;

	for (int i = 0; i < 1000; i++, events++)
		nvtx.MarkA(NULL);
	cr_expect_eq(collect_lost(WS_DROPPED_ring_overflow), 1000 - FULL);
	ws_drain_pass(collect_drain);
	ws_drain_commit(collect_drain);
	for (int i = 0; i < 10; i++, events++)
		nvtx.MarkA(NULL);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx) + collect_lost(WS_DROPPED_ring_overflow), events);
	cr_expect_eq(ROWS(&p, nvtx), FULL + 10);
	probe_close(&p);
}

Test(collector_loss, a_recorded_push_never_loses_its_pop_however_full_the_ring_is,
     .init = start_small, .fini = collect_stop)
{
	struct probe p;
	int level = 0;

	for (int i = 0; i < 200; i++)
		cr_expect_eq(nvtx.RangePushA("deep"), i);
	for (int i = 0; i < 50; i++)
		nvtx.MarkA("into what is kept for the pops?");
	for (int i = 199; i >= 0; i--)
		cr_expect_eq(nvtx.RangePop(), i);
	p = collect_finish();
	/* 4096 bytes; a push is 56 + 8, its pop 24: 46 of them */
	cr_expect_eq(ROWS(&p, nvtx), 2 * 46);
	for (uint64_t i = 0; i < ROWS(&p, nvtx); i++) {
		level += CELL(&p, nvtx, type, i) == WS_NVTX_PUSH ? 1 : -1;
		cr_expect_geq(level, 0);
	}
	cr_expect_eq(level, 0);
	cr_expect_eq(collect_lost(WS_DROPPED_ring_overflow), 450 - 2 * 46);
	probe_close(&p);
}

Test(collector_loss, inside_a_range_whose_push_was_dropped_nothing_is_recorded, .init = start_small,
     .fini = collect_stop)
{
	struct probe p;

	for (int i = 0; i < FULL; i++)
		nvtx.MarkA(NULL);
	nvtx.RangePushA("dropped");
	ws_drain_pass(collect_drain);
	ws_drain_commit(collect_drain); /* there is room again */
	nvtx.RangePushA("would have the wrong path");
	nvtx.RangePop();
	nvtx.RangePop();
	nvtx.RangePushA("good");
	nvtx.RangePop();
	p = collect_finish();
	cr_expect_eq(probe_count(&p, WS_NVTX_PUSH, "good"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_PUSH, "would have the wrong path"), 0);
	cr_expect_eq(ROWS(&p, nvtx), FULL + 2);
	cr_expect_eq(collect_lost(WS_DROPPED_ring_overflow), 4);
	probe_close(&p);
}

Test(collector_loss, the_end_of_a_range_whose_start_was_dropped_is_dropped_with_it,
     .init = start_small, .fini = collect_stop)
{
	wsn_range_id id;
	struct probe p;

	for (int i = 0; i < FULL; i++)
		nvtx.MarkA(NULL);
	id = nvtx.RangeStartA("dropped");
	cr_expect_neq(id, 0);
	ws_drain_pass(collect_drain);
	ws_drain_commit(collect_drain);
	nvtx.RangeEnd(id);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), FULL);
	cr_expect_eq(collect_lost(WS_DROPPED_ring_overflow), 2);
	probe_close(&p);
}

static void *mark_and_range(void *arg)
{
	wsn_range_id id;

	nvtx.MarkA(arg);
	nvtx.RangePushA(arg);
	nvtx.RangePop();
	id = nvtx.RangeStartA(arg);
	nvtx.RangeEnd(id);
	return NULL;
}

Test(collector_loss, a_thread_for_which_no_ring_is_left_is_counted_event_by_event,
     .init = start_small, .fini = collect_stop)
{
	pthread_t thread;
	struct probe p;

	nvtx.MarkA("takes the only ring");
	pthread_create(&thread, NULL, mark_and_range, (void *)"lost");
	pthread_join(thread, NULL);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 1);
	cr_expect_eq(collect_lost(WS_DROPPED_thread_without_ring), 5);
	probe_close(&p);
}

Test(collector_loss, rings_of_threads_that_ended_serve_the_next_ones, .init = start_small,
     .fini = collect_stop)
{
	struct probe p;

	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, mark_and_range, (void *)"kept");
		pthread_join(thread, NULL);
		ws_drain_pass(collect_drain);
		ws_drain_commit(collect_drain);
	}
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 100);
	cr_expect_eq(ROWS(&p, thread), 20);
	for (uint64_t i = 0; i < 100; i++)
		cr_expect_eq(CELL(&p, nvtx, thread, i), i / 5 + 1);
	collect_expect_no_loss();
	probe_close(&p);
}

Test(collector_loss, when_the_definition_log_is_full_events_go_on_and_the_loss_is_counted,
     .init = start_small, .fini = collect_stop)
{
	char text[64];
	struct wsn_event a = collect_attr(NULL);
	struct probe p;
	wsn_string s;
	int n = 0;

	do {
		snprintf(text, sizeof(text), "string number %d", n++);
		s = nvtx.DomainRegisterStringA(NULL, text);
		cr_expect_not_null(s);
	} while (!collect_lost(WS_DROPPED_definition_overflow) && n < 10000);
	cr_expect_eq(collect_lost(WS_DROPPED_definition_overflow), 1);
	a.message_type = WSN_MESSAGE_REGISTERED;
	a.message.registered = s;
	/* the thread of this process needs a definition as well, and finds no room */
	nvtx.MarkEx(&a);
	cr_expect_eq(collect_lost(WS_DROPPED_text_truncated), 1);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx) + collect_lost(WS_DROPPED_thread_without_ring), 1);
	cr_expect_eq(collect_lost(WS_DROPPED_unknown_record), 0);
	probe_close(&p);
}

Test(collector_loss, domains_beyond_the_last_place_are_counted_with_their_events, .init = start,
     .fini = collect_stop)
{
	struct wsn_event a = collect_attr("x");
	wsn_domain last = NULL, none = NULL;
	struct probe p;
	char name[16];

	for (int i = 1; i < WS_SEG_MAX_DOMAINS; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		last = nvtx.DomainCreateA(name);
	}
	cr_expect_eq(collect_lost(WS_DROPPED_definition_overflow), 0);
	none = nvtx.DomainCreateA("one too many");
	cr_expect_eq(collect_lost(WS_DROPPED_definition_overflow), 1);
	cr_expect(!nvtx.DomainIsEnabled(none));
	cr_expect_eq(nvtx.DomainCreateA("d255"), last, "the others are found as before");
	nvtx.DomainMarkEx(last, &a);
	nvtx.DomainRangePushEx(none, &a);
	nvtx.DomainRangePop(none);
	cr_expect_eq(collect_lost(WS_DROPPED_definition_overflow), 3);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 1);
	probe_close(&p);
}

/* --- signal handlers --- */

static volatile sig_atomic_t interruptions;

static void interrupt(int sig)
{
	(void)sig;
	nvtx.RangePushA("handler");
	nvtx.MarkA("handler");
	nvtx.RangePop();
	interruptions++;
}

Test(collector_loss, a_signal_handler_in_the_middle_of_an_event_breaks_nothing, .init = start,
     .fini = collect_stop)
{
	const struct itimerval often = {{0, 50}, {0, 50}};
	const struct itimerval never = {{0, 0}, {0, 0}};
	uint64_t events = 0;
	int level = 0;
	struct probe p;

	nvtx.MarkA("the thread has its ring now");
	signal(SIGALRM, interrupt);
	setitimer(ITIMER_REAL, &often, NULL);
	while (interruptions < 2000) {
		nvtx.RangePushA("a name of some length, so that copying takes its time");
		nvtx.RangePop();
		events += 2;
		if (events % 2000 == 0) {
			ws_drain_pass(collect_drain);
			ws_drain_commit(collect_drain);
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
	events += 1 + 3 * (uint64_t)interruptions;
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx) + collect_lost(WS_DROPPED_ring_overflow), events);
	cr_expect_eq(collect_lost(WS_DROPPED_unknown_record), 0);
	cr_expect_eq(collect_lost(WS_DROPPED_unmatched_pop), 0);
	for (uint64_t i = 0; i < ROWS(&p, nvtx); i++) {
		level += CELL(&p, nvtx, type, i) == WS_NVTX_PUSH;
		level -= CELL(&p, nvtx, type, i) == WS_NVTX_POP;
		cr_assert(level >= 0 && level <= 2);
	}
	cr_expect_eq(level, 0);
	probe_close(&p);
}

/* A handler that waited for a lock of its own thread would wait for ever. */
static void define_in_handler(int sig)
{
	char name[] = "of the handler    ", *digit = name + sizeof(name) - 1;

	(void)sig;
	for (int n = (int)interruptions++ % 200; n; n /= 10)
		*--digit = (char)('0' + n % 10);
	nvtx.DomainRegisterStringA(NULL, name);
}

Test(collector_loss, a_signal_handler_defines_names_while_its_thread_does, .init = start,
     .fini = collect_stop, .timeout = 600)
{
	const struct itimerval often = {{0, 50}, {0, 50}};
	const struct itimerval never = {{0, 0}, {0, 0}};
	struct probe p;

	signal(SIGALRM, define_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; interruptions < 2000; i++) {
		char name[48];

		snprintf(name, sizeof(name), "of the program %d", i % 200);
		nvtx.DomainRegisterStringA(NULL, name);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	nvtx.MarkA("on it goes");
	p = collect_finish();
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "on it goes"), 1);
	probe_close(&p);
}

static sigjmp_buf back;

static void jump(int sig)
{
	(void)sig;
	interruptions++;
	siglongjmp(back, 1);
}

/* From another depth of the stack each time: what was left can lie above and below. */
static __attribute__((noinline)) void mark_below(int depth)
{
	volatile char fill[64] = {0};

	if (depth)
		mark_below(depth - 1);
	else
		nvtx.MarkA("a name of some length, so that copying takes its time");
	(void)fill[0];
}

Test(collector_loss, a_handler_that_jumps_away_costs_the_event_that_it_interrupted_and_no_other,
     .init = start, .fini = collect_stop, .timeout = 600)
{
	const struct itimerval often = {{0, 70}, {0, 70}};
	const struct itimerval never = {{0, 0}, {0, 0}};
	static volatile uint64_t begun, ended;
	struct probe p;

	nvtx.MarkA("the thread has its ring now");
	signal(SIGALRM, jump);
	sigsetjmp(back, 1);
	setitimer(ITIMER_REAL, interruptions < 2000 ? &often : &never, NULL);
	while (interruptions < 2000) {
		begun++;
		mark_below((int)(begun % 7));
		ended++;
		/* The timer is stopped for the drain, which a jump would break; 4,000 events take
		 * longer than the timer, which otherwise would begin anew each time before it
		 * fires. */
		if (begun % 4000 == 0) {
			setitimer(ITIMER_REAL, &never, NULL);
			ws_drain_pass(collect_drain);
			ws_drain_commit(collect_drain);
			setitimer(ITIMER_REAL, &often, NULL);
		}
	}
	p = collect_finish();
	cr_expect_geq(ROWS(&p, nvtx) + collect_lost(WS_DROPPED_ring_overflow) +
	                      collect_lost(WS_DROPPED_event_interrupted),
	              ended);
	cr_expect_leq(collect_lost(WS_DROPPED_event_interrupted), 2000);
	cr_expect_lt(collect_lost(WS_DROPPED_ring_overflow), ended / 20, "%lu of %lu dropped",
	             (unsigned long)collect_lost(WS_DROPPED_ring_overflow), (unsigned long)ended);
	cr_expect_eq(collect_lost(WS_DROPPED_unknown_record), 0);
	probe_close(&p);
}

/* --- fork --- */

Test(collector_loss, a_forked_child_cannot_write_into_the_trace_and_is_counted_once_it_tries,
     .init = start, .fini = collect_stop)
{
	struct probe p;
	int status;
	pid_t pid;

	nvtx.RangePushA("parent");
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 1000; i++) {
			nvtx.MarkA("child");
			nvtx.DomainRegisterStringA(NULL, "child string");
		}
		nvtx.RangePop();
		_exit(nvtx.DomainIsEnabled(NULL));
	}
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	pid = fork();
	if (!pid)
		_exit(0); /* uses no NVTX: nothing is missing */
	waitpid(pid, &status, 0);
	nvtx.RangePop();
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 2);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "child"), 0);
	cr_expect_eq(collect_lost(WS_DROPPED_process_not_recorded), 1);
	probe_close(&p);
}

Test(collector_loss, without_a_segment_the_collector_declines)
{
	setenv(WSN_ENV_INJECTION, WS_TEST_COLLECTOR, 1);
	unsetenv(WS_SEG_ENV);
	cr_expect(!nvtx_attach());
	setenv(WS_SEG_ENV, "/nonexistent", 1);
	cr_expect(!nvtx_attach());
}

Test(collector_loss, a_file_that_is_no_segment_is_declined)
{
	setenv(WSN_ENV_INJECTION, WS_TEST_COLLECTOR, 1);
	setenv(WS_SEG_ENV, "/proc/self/exe", 1);
	cr_expect(!nvtx_attach());
}

Test(collector_loss, a_segment_whose_trace_is_finished_is_declined, .fini = collect_stop)
{
	collect_start(1, 4096, 4096);
	atomic_store(&collect_seg->state, WS_SEG_CLOSED);
	cr_expect(!nvtx_attach());
	cr_expect_eq(atomic_load(&collect_seg->owner.pid), 0);
}

Test(collector_loss, a_second_process_is_declined_and_counted, .fini = collect_stop)
{
	collect_start(1, 4096, 4096);
	atomic_store(&collect_seg->owner.pid, 1);
	cr_expect(!nvtx_attach());
	cr_expect_eq(collect_lost(WS_DROPPED_process_not_recorded), 1);
}
