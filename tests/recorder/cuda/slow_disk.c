/* Preloaded into the launcher: writing a trace takes SLOW_DISK_NS_PER_BYTE. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

ssize_t write(int fd, const void *bytes, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);
	const char *per_byte = getenv("SLOW_DISK_NS_PER_BYTE");
	uint64_t ns = per_byte ? size * strtoull(per_byte, NULL, 10) : 0;
	struct timespec pause = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	if (fd > STDERR_FILENO)
		nanosleep(&pause, NULL);
	return real(fd, bytes, size);
}
