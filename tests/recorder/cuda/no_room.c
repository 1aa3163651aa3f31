/*
 * Preloaded: for what a recorded program asks of its segment there are NO_ROOM_AFTER bytes of
 * memory, and what did not get any must not be touched. "old": a system that does not know how to
 * ask.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POPULATE_WRITE 23

int madvise(void *from, size_t size, int advice)
{
	static _Atomic unsigned long long taken;
	const char *room = getenv("NO_ROOM_AFTER");

	if (advice == POPULATE_WRITE && room && *room == 'o') {
		errno = EINVAL;
		return -1;
	}
	if (advice == POPULATE_WRITE && room && size &&
	    strcmp(program_invocation_short_name, "warpsheet-record") != 0 &&
	    atomic_fetch_add(&taken, size) + size > strtoull(room, NULL, 10)) {
		mprotect(from, size, PROT_NONE);
		errno = EFAULT;
		return -1;
	}
	return (int)syscall(SYS_madvise, from, size, advice);
}
