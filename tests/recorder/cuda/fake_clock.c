/*
 * Preloaded into launcher and program: CLOCK_REALTIME is ahead by what the file FAKE_CLOCK holds,
 * and whoever calls fake_clock_step sets it for all of them, as an administrator would. With
 * FAKE_CLOCK_TICK_MS every look at CLOCK_MONOTONIC is so much later than the one before: work
 * takes as long as a test wants, however fast the machine is.
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

	if (clock == CLOCK_REALTIME)
		ns = atomic_load(ahead_ns);
	else if (clock == CLOCK_MONOTONIC)
		ns = atomic_fetch_add(&ticks_ns, tick_ns) + tick_ns;
	if (result || !ns)
		return result;
	ns += (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
	ts->tv_sec = ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	return 0;
}

void fake_clock_step(int64_t ns);
void fake_clock_step(int64_t ns)
{
	atomic_fetch_add(ahead_ns, ns);
}
