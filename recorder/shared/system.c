#include "recorder/shared/system.h"

#include <fcntl.h>
#include <sys/stat.h>

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

bool ws_text_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

struct stat_line {
	char state;       /* R, S, D, Z … */
	uint32_t threads; /* a zombie leader is one of them until it is reaped */
	uint64_t start_ticks;
};

/* Read /proc/PID/stat (pid 0: the caller's). 0 = done, -1 = no such process. */
static int read_stat(uint32_t pid, struct stat_line *out)
{
	char path[32] = "/proc/self/stat", text[1024];

	if (pid)
		snprintf(path, sizeof(path), "/proc/%u/stat", (unsigned)pid);
	if (!ws_text_read(path, text, sizeof(text)))
		return -1;
	const char *state = strrchr(text, ')');
	if (!state || state[1] != ' ')
		return -1;
	state += 2;
	const char *threads = field(state, 20);
	const char *start = field(state, 22);
	if (!threads || !start)
		return -1;
	out->state = *state;
	out->threads = (uint32_t)strtoul(threads, NULL, 10);
	out->start_ticks = strtoull(start, NULL, 10);
	return 0;
}

/* Id of our PID namespace, valid during this boot; 0: unknown. */
static uint64_t own_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

struct ws_proc ws_proc_self(void)
{
	struct stat_line stat;

	return (struct ws_proc){(uint32_t)getpid(), read_stat(0, &stat) ? 0 : stat.start_ticks,
	                        own_namespace()};
}

bool ws_proc_alive(struct ws_proc process)
{
	struct stat_line stat;

	if (!process.pid || read_stat(process.pid, &stat))
		return 0;
	if (process.start_ticks && stat.start_ticks != process.start_ticks)
		return 0;
	return !((stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1);
}

bool ws_proc_is_elsewhere(uint64_t namespace)
{
	const uint64_t own = own_namespace();

	return namespace && own && namespace != own;
}

uint64_t ws_proc_boot(void)
{
	char text[64];
	uint64_t boot = 0;

	if (!ws_text_read("/proc/sys/kernel/random/boot_id", text, sizeof(text)))
		return 0;
	/* random except for six bits: the first sixteen digits are enough */
	for (int i = 0, digits = 0; text[i] && digits < 16; i++) {
		const char digit[2] = {text[i], 0};

		if (text[i] == '-')
			continue;
		boot = boot << 4 | strtoul(digit, NULL, 16);
		digits++;
	}
	return boot;
}
