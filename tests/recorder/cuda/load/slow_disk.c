/* Preloaded into the launcher: a disk so slow that a write ends when the program that runs does. */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

ssize_t write(int fd, const void *bytes, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);
	siginfo_t child;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	/* who has no child, as before it is started and the program itself, goes on at once */
	if (fd > STDERR_FILENO)
		(void)waitid(P_ALL, 0, &child, WEXITED | WNOWAIT);
	return real(fd, bytes, size);
}
