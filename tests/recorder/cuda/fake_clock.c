/*
 * Preloaded into launcher and program: CLOCK_REALTIME is ahead by what the file FAKE_CLOCK holds,
 * and whoever calls fake_clock_step sets it for all of them, as an administrator would. With
 * FAKE_CLOCK_TICK_MS every look at CLOCK_MONOTONIC is so much later than the one before: work
 * takes as long as a test wants, however fast the machine is. For a thread that calls
 * fake_clock_move the time is some seconds ago, and stands still but for what it moves.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t none, *ahead_ns = &none;
static _Atomic int64_t ticks_ns;
static int64_t tick_ns;
/* What this thread's clocks show; 0: they go on. */
static __thread int64_t still_ns, still_realtime_ns;

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ns / 1000000000, ns % 1000000000};
}

static int64_t ns_of(struct timespec ts)
{
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

__attribute__((constructor)) static void open_clock(void)
{
	const char *path = getenv("FAKE_CLOCK");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *mem =
	        fd < 0 ? MAP_FAILED
	               : mmap(NULL, sizeof(*ahead_ns), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const char *tick_ms = getenv("FAKE_CLOCK_TICK_MS");

	if (tick_ms)
		tick_ns = strtol(tick_ms, NULL, 10) * 1000000;
	if (mem != MAP_FAILED)
		ahead_ns = mem;
	if (fd >= 0)
		close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int result = (int)syscall(SYS_clock_gettime, clock, ts);
	int64_t ns = 0;

	if (still_ns && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)) {
		*ts = timespec_of(clock == CLOCK_REALTIME ? still_realtime_ns : still_ns);
		return 0;
	}
	if (clock == CLOCK_REALTIME)
		ns = atomic_load(ahead_ns);
	else if (clock == CLOCK_MONOTONIC)
		ns = atomic_fetch_add(&ticks_ns, tick_ns) + tick_ns;
	if (result || !ns)
		return result;
	*ts = timespec_of(ns + ns_of(*ts));
	return 0;
}

void fake_clock_step(int64_t ns);
void fake_clock_step(int64_t ns)
{
	atomic_fetch_add(ahead_ns, ns);
}

int64_t fake_clock_move(int64_t ns);
int64_t fake_clock_move(int64_t ns)
{
	const int64_t ago_ns = 5000000000; /* CUPTI gives no record of what is still to come */
	struct timespec now, realtime, again;

	/* both at one moment: whoever was interrupted between them reads them again */
	while (!still_ns) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		clock_gettime(CLOCK_REALTIME, &realtime);
		clock_gettime(CLOCK_MONOTONIC, &again);
		if (ns_of(again) - ns_of(now) > 1000)
			continue;
		still_realtime_ns = ns_of(realtime) - ago_ns;
		still_ns = (ns_of(now) + ns_of(again)) / 2 - ago_ns;
	}
	still_ns += ns;
	still_realtime_ns += ns;
	return still_ns;
}
