/*
 * Preloaded: a recorded program gets NO_ROOM_AFTER bytes of memory for its segment; the rest must
 * not be touched. "old": the system cannot be asked. "kill": it dies at the third giving back.
 */
#include <errno.h>
#include <signal.h>
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

	if (advice == POPULATE_WRITE && room && *room == 'o')
		return errno = EINVAL, -1;
	if (advice == MADV_REMOVE && room && *room == 'k' && atomic_fetch_add(&taken, 1) == 2)
		raise(SIGKILL);
	if (advice == POPULATE_WRITE && room && *room != 'k' && size &&
	    strcmp(program_invocation_short_name, "warpsheet-record") != 0 &&
	    atomic_fetch_add(&taken, size) + size > strtoull(room, NULL, 10)) {
		mprotect(from, size, PROT_NONE);
		errno = EFAULT;
		return -1;
	}
	return (int)syscall(SYS_madvise, from, size, advice);
}
