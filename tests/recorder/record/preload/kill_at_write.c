/*
 * Preloaded into a launcher: it is killed as soon as it has made its n-th change to the segment
 * (KILL_AT_WRITE=n). The segment's pages are read-only, so each write faults; then the instruction
 * alone runs with the pages writable (the processor's trap flag). Only on x86-64.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "recorder/shared/segment.h"

#if defined(__x86_64__)
#define TRAP_FLAG 0x100
#define SEEN      64 /* bytes that one instruction changes at most */

static struct {
	long at, changes;
	pid_t launcher;
	uint8_t *from, *to; /* pages of the segment that are watched; NULL: not yet */
	uint8_t *segment;   /* as it was mapped */
	size_t size;
	uint8_t *place, before[SEEN]; /* of the write in hand */
} watch;

static void protect(int rights)
{
	(void)mprotect(watch.from, (size_t)(watch.to - watch.from), rights);
}

static void on_write(int number, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr;

	if (!watch.from || at < watch.from || at >= watch.to) {
		signal(number, SIG_DFL);
		return;
	}
	protect(PROT_READ | PROT_WRITE);
	if (getpid() != watch.launcher) { /* the child, before it runs the program */
		watch.from = NULL;
		return;
	}
	watch.place = at + SEEN > watch.to ? watch.to - SEEN : at;
	memcpy(watch.before, watch.place, SEEN);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_step(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (!watch.from)
		return;
	if (memcmp(watch.before, watch.place, SEEN) != 0 && ++watch.changes == watch.at)
		kill(getpid(), SIGKILL);
	protect(PROT_READ);
}

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("KILL_AT_WRITE");
	struct sigaction action = {.sa_flags = SA_SIGINFO};

	if (!at || strcmp(program_invocation_short_name, "warpsheet-record") != 0)
		return;
	watch.at = strtol(at, NULL, 10);
	watch.launcher = getpid();
	sigfillset(&action.sa_mask);
	action.sa_sigaction = on_write;
	sigaction(SIGSEGV, &action, NULL);
	action.sa_sigaction = on_step;
	sigaction(SIGTRAP, &action, NULL);
}

void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
	void *made = (void *)syscall(SYS_mmap, at, size, rights, flags, fd, offset);

	if (watch.at && made != MAP_FAILED && flags & MAP_SHARED && fd >= 0 &&
	    size > WS_SEG_HEADER_SIZE) {
		watch.segment = made;
		watch.size = size;
	}
	return made;
}

int munmap(void *at, size_t size)
{
	if (at == watch.segment)
		watch.from = watch.segment = NULL;
	return (int)syscall(SYS_munmap, at, size);
}

/* Its fixed part is put in place: from now on it is complete, and others can find it. */
void *mremap(void *from, size_t size, size_t new_size, int flags, ...)
{
	va_list ap;
	void *to, *made;

	va_start(ap, flags);
	to = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
	va_end(ap);
	made = (void *)syscall(SYS_mremap, from, size, new_size, flags, to);
	if (watch.segment && made == watch.segment) {
		watch.from = watch.segment + WS_SEG_FIXED_SIZE;
		watch.to = watch.segment + watch.size;
		protect(PROT_READ);
	}
	return made;
}
#endif
