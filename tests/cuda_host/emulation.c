/*
 * The machinery of the emulated GPU: fibers, barriers, warps.
 *
 * A fiber is a thread of a block; it runs until it waits, then switches straight to
 * another that can run, or to the caller of ws_host_run() when none can. Stacks are
 * made by makecontext(), once; after that the compiler's own setjmp and longjmp
 * switch, as they save nothing but two registers: a block of 256 threads that reduces
 * a row switches thousands of times.
 */
#include "tests/cuda_host/emulation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/cuda_host/launch_check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define WS_HOST_ASAN 1
#else
#define WS_HOST_ASAN 0
#endif

#define THREADS_MAX WS_HOST_THREADS_MAX
#define WARP        32
#define WARP_MASK   0xffffffffu
#define WORDS       (THREADS_MAX / 64)
#define STACK_BYTES (64 << 10)
#define GUARD_BYTES 4096
#define POISON      0xff

/* What a thread waits for. */
enum wait {
	WAIT_NOT,
	WAIT_BARRIER,
	WAIT_SHUFFLE,
	WAIT_BALLOT, /* votes and __syncwarp() */
	WAIT_OVER,   /* for nothing: it has returned */
};

struct fiber {
	void *jump[5]; /* of __builtin_setjmp() */
	struct ws_host_dim at;
	bool started;
	unsigned char *stack; /* its guard page lies below */
	enum wait wait;
	const char *file; /* where it waits */
	int line;
	unsigned mask; /* lanes it waits for */
	int from;
	uint64_t value; /* what it brought, and what it gets */
	uint64_t result;
#if WS_HOST_ASAN
	void *fake_stack;
#endif
};

static struct {
	struct ws_host_device device;
	void (*seen)(void *arg, const struct ws_host_launch *launch);
	void *seen_arg;

	struct fiber fiber[THREADS_MAX], host;
	struct fiber *running;
	uint64_t ready[WORDS]; /* bit i: thread i can run */
	int threads, at_barrier, over;
	void (*entry)(const void *arg);
	const void *arg;
	void *shared;
	uint64_t shared_bytes;
	uint64_t random;
	char blame[2][128]; /* two threads that do not fit together; empty: all is well */
} gpu;

const struct ws_host_dim *ws_host_thread;
struct ws_host_dim ws_host_block, ws_host_block_dim, ws_host_grid_dim;

extern unsigned char ws_host_shared_begin[], ws_host_shared_end[]; /* shared.ld */

void ws_host_set_device(const struct ws_host_device *device)
{
	gpu.device = *device;
}

void ws_host_on_launch(void (*seen)(void *arg, const struct ws_host_launch *launch), void *arg)
{
	gpu.seen = seen;
	gpu.seen_arg = arg;
}

static uint64_t draw(void)
{
	/* xorshift64*; the state is never 0 */
	gpu.random ^= gpu.random >> 12;
	gpu.random ^= gpu.random << 25;
	gpu.random ^= gpu.random >> 27;
	return gpu.random * 0x2545f4914f6cdd1d;
}

/* --- fibers --------------------------------------------------------------------------------- */

static void fiber_main(void);

/*
 * The first entry of a fiber: on its new stack. Like all that is left by a jump without the
 * sanitizer, which would mark red zones on the old stack that nobody takes back.
 */
__attribute__((noinline, no_sanitize("address", "undefined"))) static void
fiber_start(struct fiber *to)
{
	ucontext_t context;

	if (getcontext(&context))
		abort();
	context.uc_stack.ss_sp = to->stack;
	context.uc_stack.ss_size = STACK_BYTES;
	context.uc_link = NULL;
	makecontext(&context, fiber_main, 0);
	to->started = true;
	setcontext(&context);
	abort();
}

__attribute__((noinline, no_sanitize("address", "undefined"))) static void jump(struct fiber *to)
{
	if (!to->started)
		fiber_start(to);
	__builtin_longjmp(to->jump, 1);
}

__attribute__((noinline, no_sanitize("address", "undefined"))) static void
save_and_jump(struct fiber *from, struct fiber *to)
{
	if (__builtin_setjmp(from->jump) == 0)
		jump(to);
}

#if WS_HOST_ASAN
/* The host's stack, as the sanitizer told when it was left. */
static const void *host_stack;
static size_t host_stack_bytes;
#endif

static void arrived(struct fiber *self)
{
#if WS_HOST_ASAN
	const void *bottom;
	size_t size;

	__sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &size);
	if (!host_stack) {
		host_stack = bottom;
		host_stack_bytes = size;
	}
#endif
	(void)self;
}

static void switch_to(struct fiber *to)
{
	struct fiber *from = gpu.running;

	if (from == to)
		return;
	gpu.running = to;
	ws_host_thread = &to->at;
#if WS_HOST_ASAN
	if (to == &gpu.host)
		__sanitizer_start_switch_fiber(&from->fake_stack, host_stack, host_stack_bytes);
	else
		__sanitizer_start_switch_fiber(&from->fake_stack, to->stack, STACK_BYTES);
#endif
	save_and_jump(from, to);
	arrived(from);
}

static bool fiber_stack_create(struct fiber *fiber)
{
	unsigned char *map = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
	                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED || mprotect(map, GUARD_BYTES, PROT_NONE))
		return false;
	fiber->stack = map + GUARD_BYTES;
	return true;
}

/* After an error fibers are in the middle of a kernel: they start anew. */
static void fibers_forget(void)
{
	for (int i = 0; i < THREADS_MAX; i++) {
		struct fiber *fiber = &gpu.fiber[i];

		fiber->started = false;
#if WS_HOST_ASAN
		fiber->fake_stack = NULL;
		if (fiber->stack)
			__asan_unpoison_memory_region(fiber->stack, STACK_BYTES);
#endif
	}
}

/* --- who runs next ---------------------------------------------------------------------------- */

static struct fiber *ready_in_word(int word, bool last)
{
	int bit = last ? 63 - __builtin_clzll(gpu.ready[word]) : __builtin_ctzll(gpu.ready[word]);

	return &gpu.fiber[word * 64 + bit];
}

static struct fiber *ready_at_random(void)
{
	int first = (int)(draw() % (uint64_t)gpu.threads);

	for (int i = 0; i < gpu.threads; i++) {
		int at = (first + i) % gpu.threads;

		if (gpu.ready[at / 64] >> (at % 64) & 1)
			return &gpu.fiber[at];
	}
	return &gpu.host;
}

/* The host when no thread can run. */
static struct fiber *next_fiber(void)
{
	if (gpu.device.threads == WS_HOST_SHUFFLED)
		return ready_at_random();
	for (int i = 0; i < WORDS; i++) {
		bool last = gpu.device.threads == WS_HOST_DESCENDING;
		int word = last ? WORDS - 1 - i : i;

		if (gpu.ready[word])
			return ready_in_word(word, last);
	}
	return &gpu.host;
}

static void set_ready(int thread)
{
	gpu.fiber[thread].wait = WAIT_NOT;
	gpu.ready[thread / 64] |= UINT64_C(1) << (thread % 64);
}

static int running_index(void)
{
	return (int)(gpu.running - gpu.fiber);
}

static void begin_wait(enum wait wait, const char *file, int line)
{
	int self = running_index();

	gpu.running->wait = wait;
	gpu.running->file = file;
	gpu.running->line = line;
	gpu.ready[self / 64] &= ~(UINT64_C(1) << (self % 64));
}

static void fiber_main(void)
{
	arrived(gpu.running);
	for (;;) {
		gpu.entry(gpu.arg);
		begin_wait(WAIT_OVER, "", 0);
		gpu.over++;
		switch_to(next_fiber());
	}
}

/* --- what is wrong ---------------------------------------------------------------------------- */

static const char *wait_name(enum wait wait)
{
	static const char *const names[] = {
	        [WAIT_NOT] = "runs",
	        [WAIT_BARRIER] = "waits at __syncthreads",
	        [WAIT_SHUFFLE] = "waits at a shuffle",
	        [WAIT_BALLOT] = "waits at a vote or __syncwarp",
	        [WAIT_OVER] = "has returned",
	};

	return names[wait];
}

static void describe_fiber(int thread, char *text, size_t size)
{
	const struct fiber *fiber = &gpu.fiber[thread];
	const char *slash = fiber->file ? strrchr(fiber->file, '/') : NULL;

	if (thread >= gpu.threads)
		snprintf(text, size, "thread %d does not exist", thread);
	else if (fiber->wait == WAIT_NOT || fiber->wait == WAIT_OVER)
		snprintf(text, size, "thread %d %s", thread, wait_name(fiber->wait));
	else
		snprintf(text, size, "thread %d %s (%s:%d)", thread, wait_name(fiber->wait),
		         slash ? slash + 1 : fiber->file, fiber->line);
}

/* Note that two threads do not fit together and leave the kernel for good. */
static void blame(int one, int other)
{
	describe_fiber(one, gpu.blame[0], sizeof(gpu.blame[0]));
	describe_fiber(other, gpu.blame[1], sizeof(gpu.blame[1]));
	switch_to(&gpu.host);
}

static bool same_wait(const struct fiber *a, const struct fiber *b)
{
	return a->wait == b->wait && a->line == b->line && a->mask == b->mask &&
	       (a->file == b->file || !strcmp(a->file, b->file));
}

/* The first thread that waits at a barrier, or elsewhere; -1: none. */
static int first_waiting(bool at_barrier)
{
	for (int i = 0; i < gpu.threads; i++)
		if (gpu.fiber[i].wait != WAIT_OVER &&
		    (gpu.fiber[i].wait == WAIT_BARRIER) == at_barrier)
			return i;
	return -1;
}

/* No thread can run, not all are over: one that waits and one that it waits for in vain. */
static void blame_deadlock(void)
{
	int one = first_waiting(false), other, first = 0, last = gpu.threads;
	unsigned mask = WARP_MASK;

	if (one < 0) {
		one = first_waiting(true);
	} else { /* whoever waits at a barrier may wait for this one */
		first = one / WARP * WARP;
		last = first + WARP;
		mask = gpu.fiber[one].mask;
	}
	for (other = first; other < last - 1; other++)
		if ((mask >> other % WARP & 1) &&
		    (other >= gpu.threads || !same_wait(&gpu.fiber[one], &gpu.fiber[other])))
			break;
	blame(one, other);
}

/* --- waiting ---------------------------------------------------------------------------------- */

void ws_host_sync_threads(const char *file, int line)
{
	struct fiber *self = gpu.running;

	self->mask = 0;
	begin_wait(WAIT_BARRIER, file, line);
	if (++gpu.at_barrier == gpu.threads) {
		gpu.at_barrier = 0;
		for (int i = 0; i < gpu.threads; i++)
			if (!same_wait(self, &gpu.fiber[i]))
				blame(running_index(), i);
		for (int i = 0; i < gpu.threads; i++)
			set_ready(i);
	}
	switch_to(next_fiber());
}

int ws_host_lane(void)
{
	return running_index() % WARP;
}

/* Wait for the lanes of mask. True: all are here, the caller came last and serves them. */
static bool meet(enum wait wait, unsigned mask, const char *file, int line)
{
	struct fiber *self = gpu.running;
	int lane = ws_host_lane(), first = running_index() - lane;

	self->mask = mask;
	begin_wait(wait, file, line);
	if (!(mask >> lane & 1))
		blame(first + lane, first + lane); /* it is not in its own mask */
	for (int i = 1; i < WARP; i++) {
		int other = (lane + i) % WARP;

		if ((mask >> other & 1) &&
		    (first + other >= gpu.threads || !same_wait(self, &gpu.fiber[first + other]))) {
			switch_to(next_fiber());
			return false;
		}
	}
	return true;
}

/* The lanes of mask, which wait with the caller, go on. */
static void release(unsigned mask)
{
	int first = running_index() / WARP * WARP;

	for (int i = 0; i < WARP; i++)
		if (mask >> i & 1)
			set_ready(first + i);
	switch_to(next_fiber());
}

void ws_host_shuffle(unsigned mask, int from, const void *value, void *result, size_t size_bytes,
                     const char *file, int line)
{
	struct fiber *self = gpu.running, *warp = self - ws_host_lane();

	self->from = from;
	memcpy(&self->value, value, size_bytes);
	if (meet(WAIT_SHUFFLE, mask, file, line)) {
		for (int i = 0; i < WARP; i++) {
			if (!(mask >> i & 1))
				continue;
			if (mask >> warp[i].from & 1)
				warp[i].result = warp[warp[i].from].value;
			else
				memset(&warp[i].result, POISON, sizeof(warp[i].result));
		}
		release(mask);
	}
	memcpy(result, &self->result, size_bytes);
}

unsigned ws_host_ballot(unsigned mask, bool value, const char *file, int line)
{
	struct fiber *self = gpu.running, *warp = self - ws_host_lane();

	self->value = value;
	if (meet(WAIT_BALLOT, mask, file, line)) {
		unsigned votes = 0;

		for (int i = 0; i < WARP; i++)
			if (mask >> i & 1)
				votes |= (unsigned)(warp[i].value != 0) << i;
		for (int i = 0; i < WARP; i++)
			if (mask >> i & 1)
				warp[i].result = votes;
		release(mask);
	}
	return (unsigned)self->result;
}

/* --- memory of a block ------------------------------------------------------------------------ */

void *ws_host_shared(void)
{
	return gpu.shared;
}

/* Word by word, as the sanitizer's memset() refuses the red zones between the variables. */
__attribute__((noinline, no_sanitize("address", "undefined"))) static void poison_shared(void)
{
	for (unsigned char *at = ws_host_shared_begin; at < ws_host_shared_end; at++) {
		*at = POISON;
		__asm__ volatile("" ::: "memory"); /* or it becomes a memset() again */
	}
}

/* --- launching -------------------------------------------------------------------------------- */

/* All threads of a block from their start to their end; false: see gpu.blame. */
static bool run_block(void)
{
	gpu.at_barrier = gpu.over = 0;
	gpu.blame[0][0] = '\0';
	poison_shared();
	if (gpu.shared)
		memset(gpu.shared, POISON, gpu.shared_bytes);
	for (int i = 0; i < gpu.threads; i++)
		set_ready(i);
	switch_to(next_fiber());
	if (!gpu.blame[0][0] && gpu.over < gpu.threads)
		blame_deadlock();
	return !gpu.blame[0][0];
}

static enum ws_status prepare_fibers(const struct ws_host_dim *block, struct ws_err *err)
{
	gpu.threads = (int)(block->x * block->y * block->z);
	for (int i = 0; i < gpu.threads; i++) {
		struct fiber *fiber = &gpu.fiber[i];
		unsigned at = (unsigned)i;

		WS_FAIL_IF(!fiber->stack && !fiber_stack_create(fiber), err, NO_MEMORY,
		           "no memory for the stack of thread %d", i);
		fiber->at.x = at % block->x;
		fiber->at.y = at / block->x % block->y;
		fiber->at.z = at / block->x / block->y;
	}
	return WS_OK;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The i-th of count blocks to run is number first + i step, modulo count. */
static void block_order(uint64_t count, uint64_t *first, uint64_t *step)
{
	*first = 0;
	*step = 1;
	if (gpu.device.blocks == WS_HOST_DESCENDING) {
		*first = count - 1;
		*step = count - 1; /* -1 */
	} else if (gpu.device.blocks == WS_HOST_SHUFFLED) {
		*first = draw() % count;
		*step = draw() % count;
		while (common_divisor(*step, count) != 1)
			*step = (*step + 1) % count;
	}
}

static enum ws_status run_blocks(const struct ws_host_launch *launch, struct ws_err *err)
{
	uint64_t count = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z, first, step;

	block_order(count, &first, &step);
	for (uint64_t i = 0, at = first; i < count; i++, at = (at + step) % count) {
		ws_host_block.x = (unsigned)(at % launch->grid.x);
		ws_host_block.y = (unsigned)(at / launch->grid.x % launch->grid.y);
		ws_host_block.z = (unsigned)(at / launch->grid.x / launch->grid.y);
		if (!run_block()) {
			fibers_forget();
			return WS_FAIL(err, BUG, "kernel %s, block %u,%u,%u: %s, %s",
			               launch->kernel, ws_host_block.x, ws_host_block.y,
			               ws_host_block.z, gpu.blame[0], gpu.blame[1]);
		}
	}
	return WS_OK;
}

enum ws_status ws_host_run(const struct ws_host_launch *launch, void (*entry)(const void *arg),
                           const void *arg, struct ws_err *err)
{
	enum ws_status status;

	WS_FORWARD(ws_host_check_launch(launch, err));
	WS_FORWARD(prepare_fibers(&launch->block, err));
	if (gpu.seen)
		gpu.seen(gpu.seen_arg, launch);
	gpu.random = gpu.device.seed * 2 + 1;
	gpu.entry = entry;
	gpu.arg = arg;
	gpu.running = &gpu.host;
	gpu.host.started = true;
	memset(gpu.ready, 0, sizeof(gpu.ready)); /* an error may have left some */
	gpu.shared = NULL;
	gpu.shared_bytes = launch->shared_bytes;
	ws_host_block_dim = launch->block;
	ws_host_grid_dim = launch->grid;
	if (launch->shared_bytes)
		WS_FAIL_IF(posix_memalign(&gpu.shared, 16, launch->shared_bytes), err, NO_MEMORY,
		           "no memory for %" PRIu64 " bytes of shared memory",
		           launch->shared_bytes);
	status = run_blocks(launch, err);
	free(gpu.shared);
	gpu.shared = NULL;
	ws_host_thread = NULL;
	return status;
}
