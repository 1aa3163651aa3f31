/* Preloaded into the launcher: the disk has FULL_DISK_BYTES for a trace, and no more. Room that was
 * reserved (fallocate) is there, as on a disk. Or FULL_DISK_AT: the n-th call that needs or frees
 * room finds none but what was reserved, nor does any after it. Or it is killed there: KILL_AT_FULL
 * is a file, and calls count once it is there. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* End of what was reserved of the trace: that is there for good. */
static off_t reserved;

/* Bytes that this file may have. Called once for each call that needs room. */
static off_t limit_of(int fd)
{
	static long calls;
	const char *at = getenv("FULL_DISK_AT"), *bytes = getenv("FULL_DISK_BYTES"),
	           *kills = getenv("KILL_AT_FULL");
	char link[40], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	const ssize_t n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	if (at && strstr(path, ".wtrace") && !access(kills ? kills : ".", F_OK) &&
	    ++calls >= strtol(at, NULL, 10))
		return kills ? raise(SIGKILL) : reserved;
	return bytes && strstr(path, ".wtrace") ? strtoll(bytes, NULL, 10) : (off_t)1 << 62;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);
	off_t room = limit_of(fd) - lseek(fd, 0, SEEK_CUR);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	if (room > 0 && (size_t)room < size) /* as much as there is room for, as a disk does */
		return real(fd, bytes, (size_t)room);
	if (room > 0 || !size)
		return real(fd, bytes, size);
	errno = ENOSPC;
	return -1;
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
	static int (*real)(int, int, off_t, off_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fallocate");
	if (offset + len <= limit_of(fd)) {
		reserved = offset + len > reserved ? offset + len : reserved;
		return real(fd, mode, offset, len);
	}
	errno = ENOSPC;
	return -1;
}
