#include "recorder/shared/procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Field n of the text after the program's name, which is field 2 and may hold anything. */
static const char *field(const char *after_name, int n)
{
	const char *p = after_name;

	for (int i = 3; p && i < n; i++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p;
}

int ws_proc_stat(uint32_t pid, struct ws_proc_stat *out)
{
	char path[32] = "/proc/self/stat", text[1024];
	const char *state, *threads, *start;
	ssize_t n;
	int fd;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%u/stat", (unsigned)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = 0;

	state = strrchr(text, ')');
	if (!state || state[1] != ' ')
		return -1;
	state += 2;
	threads = field(state, 20);
	start = field(state, 22);
	if (!threads || !start)
		return -1;
	out->state = *state;
	out->threads = (uint32_t)strtoul(threads, NULL, 10);
	out->start_ticks = strtoull(start, NULL, 10);
	return 0;
}

int ws_proc_alive(uint32_t pid, uint64_t start_ticks)
{
	struct ws_proc_stat stat;

	if (!pid || ws_proc_stat(pid, &stat))
		return 0;
	if (start_ticks && stat.start_ticks != start_ticks)
		return 0;
	return !((stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1);
}
