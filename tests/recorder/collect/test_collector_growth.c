/* A segment has memory for what is used of it: threads and what they write, not rings. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "tests/support/paths.h"
#include "tests/support/recorder/in_process.h"
#include "tests/environment/scratch.h"

#define THREADS 1000
#define FEW     24 /* where /dev/shm is small */
#define RING    (1 << 20)
/* Of each thread: its bookkeeping and the beginning of its ring. */
#define BEGINNING (8192 + 65536)

static pthread_barrier_t all_have_marked, may_end;
static int threads = THREADS;

static void start(void)
{
	const struct ws_seg_opts opts = {.thread_buffers = THREADS,
	                                 .ring_size = RING,
	                                 .defs_size = 1 << 20};
	struct statvfs room;

	cr_assert_eq(statvfs(scratch_memory(), &room), 0);
	if ((uint64_t)room.f_bavail * room.f_frsize < 2 * ws_seg_room(&opts))
		threads = FEW;
	collect_start((uint32_t)threads + 1, RING, 1 << 20);
	cr_assert(nvtx_attach());
}

/* Bytes of memory behind the segment. */
static uint64_t taken(void)
{
	struct stat st;

	cr_assert_eq(stat(getenv(WS_SEG_ENV), &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void *mark_once(void *unused)
{
	(void)unused;
	nvtx.MarkA("one of many");
	pthread_barrier_wait(&all_have_marked);
	pthread_barrier_wait(&may_end);
	return NULL;
}

static void run_threads(uint64_t *while_they_live)
{
	pthread_t thread[THREADS];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	pthread_barrier_init(&all_have_marked, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&may_end, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		cr_assert_eq(pthread_create(&thread[i], &attr, mark_once, NULL), 0);
	pthread_barrier_wait(&all_have_marked);
	*while_they_live = taken();
	pthread_barrier_wait(&may_end);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

Test(collector_growth, a_thousand_threads_are_recorded_and_take_their_beginnings, .init = start,
     .fini = collect_stop)
{
	uint64_t before = taken(), first, second;
	struct probe p;

	cr_assert(collect_seg->grows);
	cr_expect_lt(before, 1 << 20, "nothing is recorded so far: %lu bytes",
	             (unsigned long)before);
	run_threads(&first);
	cr_expect_geq(first - before, (uint64_t)threads * BEGINNING);
	cr_expect_lt(first - before, (uint64_t)threads * BEGINNING + (2 << 20), "%lu bytes",
	             (unsigned long)(first - before));

	/* others after them use what is there */
	ws_drain_pass(collect_drain);
	ws_drain_commit(collect_drain);
	run_threads(&second);
	cr_expect_lt(second - first, 1 << 20, "%lu bytes", (unsigned long)(second - first));
	p = collect_finish();
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "one of many"), 2 * (uint64_t)threads);
	collect_expect_no_loss();
	probe_close(&p);
}

Test(collector_growth, a_ring_takes_memory_as_it_fills_and_no_more_than_its_size, .init = start,
     .fini = collect_stop)
{
	uint64_t before, after;
	int marks = 0;
	struct probe p;

	nvtx.MarkA("m");
	before = taken();
	for (; marks < RING / 64 - 1 - 1000; marks++) /* a mark is 56 bytes and its text 8 */
		nvtx.MarkA("m");
	cr_expect_geq(taken() - before, RING - 65536 - (256 << 10));
	for (int round = 0; round < 4; round++) { /* again and again, now that all of it is there */
		ws_drain_pass(collect_drain);
		ws_drain_commit(collect_drain);
		for (int i = 0; i < RING / 64; i++, marks++)
			nvtx.MarkA("m");
	}
	after = taken();
	cr_expect_eq(after - before, RING - 65536);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), (uint64_t)marks + 1);
	collect_expect_no_loss();
	probe_close(&p);
}

Test(collector_growth, definitions_take_memory_as_they_come, .init = start, .fini = collect_stop)
{
	uint64_t before = taken();
	char name[1000];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (int i = 0; i < 900; i++) {
		snprintf(name, sizeof(name), "%d", i);
		name[strlen(name)] = 'n'; /* long, and each another one */
		nvtx.DomainRegisterStringA(NULL, name);
	}
	cr_expect_geq(taken() - before, 600 * 1000);
	cr_expect_eq(collect_lost(WS_DROPPED_definition_overflow), 0);
	for (int i = 900; i < 1200; i++) {
		snprintf(name, sizeof(name), "%d", i);
		name[strlen(name)] = 'n';
		nvtx.DomainRegisterStringA(NULL, name);
	}
	cr_expect_gt(collect_lost(WS_DROPPED_definition_overflow), 0, "the log is full");
	cr_expect_leq(taken() - before, 1 << 20);
}
