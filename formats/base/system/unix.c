/* Linux and macOS. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif
#ifdef WS_SYSTEM_LINUX
#include <malloc.h>
#endif

#include "formats/base/system/folder.h"
#include "formats/base/system/system.h"

/* --- files as memory --- */

const void *ws_file_map(int fd, size_t size)
{
	void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	return data == MAP_FAILED ? NULL : data;
}

void ws_file_unmap(const void *data, size_t size)
{
	munmap((void *)(uintptr_t)data, size);
}

void ws_file_map_let_go(const void *data, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)data % page;

	madvise((uint8_t *)(uintptr_t)data - before, size + before, MADV_DONTNEED);
}

static void (*when_cut)(void);

static void on_missing_page(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code == BUS_ADRERR)
		when_cut();
	raise(number); /* as without us: SA_RESETHAND */
}

void ws_file_map_when_cut(void (*end_program)(void))
{
	struct sigaction action = {.sa_sigaction = on_missing_page,
	                           .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};

	when_cut = end_program;
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

DIR *ws_folder_entries(int folder)
{
	const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopendir(fd);
}

/* --- memory --- */

int ws_region_open(struct ws_region *r, size_t most_bytes, bool is_file)
{
	const int fd = is_file ? ws_file_unnamed(ws_temporary_folder()) : -1;

	*r = (struct ws_region){.fd = -1};
	if (is_file && fd < 0)
		return -1;
	*r = (struct ws_region){.most_bytes = most_bytes,
	                        .bytes = fd < 0 ? most_bytes : 0,
	                        .fd = fd};
	r->data = mmap(NULL, most_bytes, PROT_READ | PROT_WRITE,
	               fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (r->data == MAP_FAILED) {
		r->data = NULL;
		if (is_file)
			close(fd);
		errno = ENOMEM;
		return -1;
	}
	/* else Linux keeps the file in parts of 2 MB and maps all of one for each row far away */
	if (fd >= 0)
		madvise(r->data, most_bytes, MADV_RANDOM);
	return 0;
}

int ws_region_grow(struct ws_region *r, size_t bytes)
{
	int code = 0;

	if (bytes <= r->bytes)
		return 0;
		/* room is taken now: a full disk would end the program when a page is written */
#ifdef WS_SYSTEM_LINUX
	code = posix_fallocate(r->fd, (off_t)r->bytes, (off_t)(bytes - r->bytes));
#else
	code = ftruncate(r->fd, (off_t)bytes) ? errno : 0;
#endif
	if (!code)
		r->bytes = bytes;
	return code;
}

void ws_region_write(struct ws_region *r, size_t at, const void *bytes, size_t n)
{
	/* there is room in the file, so what is not written was interrupted: then page by page */
	if (r->fd < 0 || pwrite(r->fd, bytes, n, (off_t)at) != (ssize_t)n)
		memcpy((char *)r->data + at, bytes, n);
}

void ws_region_let_go(struct ws_region *r)
{
	if (r->fd >= 0)
		madvise(r->data, r->most_bytes, MADV_DONTNEED);
}

void ws_region_close(struct ws_region *r)
{
	if (!r->data)
		return;
	munmap(r->data, r->most_bytes);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct ws_region){0};
}

bool ws_memory_has(size_t bytes)
{
	void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return room != MAP_FAILED && !munmap(room, bytes);
}

void ws_memory_give_back(void)
{
#ifdef M_TRIM_THRESHOLD
	/* else glibc keeps what was freed once, and that for each thread: a quarter of the most
	 * memory of a workbook */
	mallopt(M_TRIM_THRESHOLD, 128 << 10);
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}

/* --- limits --- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_MEMORY false /* their shadow memory counts as data, too: terabytes */
#else
#define LIMITS_MEMORY true
#endif

static struct rlimit memory_before, cpu_before;
static void (*out_of_time)(void);

static void on_cpu_limit(int number)
{
	(void)number;
	out_of_time();
}

void ws_limits_begin(void (*on_time)(void))
{
	getrlimit(RLIMIT_DATA, &memory_before);
	getrlimit(RLIMIT_CPU, &cpu_before);
	out_of_time = on_time;
	signal(SIGXCPU, on_cpu_limit);
}

static struct rlimit lowered(const struct rlimit *before, uint64_t most)
{
	struct rlimit now = *before;

	if (now.rlim_cur > most)
		now.rlim_cur = most;
	return now;
}

void ws_limits_set(uint64_t memory, uint64_t seconds)
{
	const struct rlimit data = lowered(&memory_before, memory),
	                    cpu = lowered(&cpu_before, seconds);

	if (LIMITS_MEMORY)
		setrlimit(RLIMIT_DATA, &data);
	setrlimit(RLIMIT_CPU, &cpu);
}

/* What the C library asks for at once on behalf of something smaller, at most. */
#define SPARE_BYTES (UINT64_C(1) << 20)

/* What is in use now is not evidence enough, as other threads may have freed memory since. */
bool ws_limits_refuse(uint64_t memory, size_t bytes)
{
	/* bytes of memory that count for the limit, without asking for memory; 0: not known */
	const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	unsigned long long pages[6] = {0};
	char text[128] = "", *at = text;
	struct rlimit now;

	if (fd >= 0) {
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		close(fd);
		for (size_t i = 0; i < 6; i++)
			pages[i] = strtoull(at, &at, 10);
	}
	const uint64_t used = (uint64_t)pages[5] * (uint64_t)sysconf(_SC_PAGESIZE);

	if (!LIMITS_MEMORY || memory_before.rlim_cur < memory)
		return false;
	if (used + SPARE_BYTES > memory || bytes > memory - used - SPARE_BYTES)
		return true;
	/* can so many bytes be had under the limit that the process was started with? */
	getrlimit(RLIMIT_DATA, &now);
	setrlimit(RLIMIT_DATA, &memory_before);
	bool has = ws_memory_has(bytes + SPARE_BYTES);
	setrlimit(RLIMIT_DATA, &now);
	return has;
}

void ws_limits_end(void)
{
	if (!out_of_time)
		return;
	signal(SIGXCPU, SIG_DFL);
	setrlimit(RLIMIT_DATA, &memory_before);
	setrlimit(RLIMIT_CPU, &cpu_before);
}

void ws_limits_open_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* --- streams --- */

struct stream {
	struct ws_stream_functions functions;
	void *ctx;
};

#ifdef __APPLE__
static int put(void *cookie, const char *bytes, int n)
{
	const struct stream *s = cookie;

	return (int)s->functions.write(s->ctx, bytes, (size_t)n);
}
#else
static ssize_t put(void *cookie, const char *bytes, size_t n)
{
	const struct stream *s = cookie;

	return (ssize_t)s->functions.write(s->ctx, bytes, n);
}
#endif

static int end(void *cookie)
{
	struct stream *s = cookie;
	const int result = s->functions.close(s->ctx), why = errno;

	free(s);
	errno = why;
	return result;
}

FILE *ws_stream_open(const struct ws_stream_functions *functions, void *ctx)
{
	struct stream *s = malloc(sizeof(*s));
	FILE *f;

	if (!s)
		return NULL;
	*s = (struct stream){*functions, ctx};
#ifdef __APPLE__
	f = funopen(s, NULL, put, NULL, end);
#else
	f = fopencookie(s, "w", (cookie_io_functions_t){.write = put, .close = end});
#endif
	if (!f)
		free(s);
	return f;
}

int ws_stream_close(FILE *f)
{
	return fclose(f);
}

/* --- the terminal, other programs --- */

int ws_processors(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

const char *ws_program_name(void)
{
#ifdef __APPLE__
	return getprogname();
#else
	return program_invocation_short_name;
#endif
}

int ws_program_path(char *path, size_t size)
{
#ifdef __APPLE__
	uint32_t n = (uint32_t)size;

	errno = ENAMETOOLONG;
	return _NSGetExecutablePath(path, &n);
#else
	const ssize_t n = readlink("/proc/self/exe", path, size - 1);

	if (n >= 0)
		path[n] = '\0';
	return n < 0 ? -1 : 0;
#endif
}

bool ws_is_terminal(FILE *f)
{
	return isatty(fileno(f));
}

int ws_terminal_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

static pid_t pager;

bool ws_pager_begin(const char *command)
{
	int pipe_fds[2];

	if (pipe(pipe_fds))
		return false;
	pager = fork();
	if (!pager) {
		dup2(pipe_fds[0], STDIN_FILENO);
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		/* quit if it fits one screen, let colours through, leave the text there */
		setenv("LESS", "FRX", 0);
		ws_limits_end();
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (pager > 0)
		dup2(pipe_fds[1], STDOUT_FILENO);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return pager > 0;
}

bool ws_pager_end(void)
{
	enum { SHELL_CANNOT_RUN = 127 };
	int status = 0;

	if (pager <= 0)
		return true;
	while (waitpid(pager, &status, 0) < 0 && errno == EINTR)
		;
	pager = 0;
	return !WIFEXITED(status) || WEXITSTATUS(status) != SHELL_CANNOT_RUN;
}

bool ws_system_records(void)
{
#ifdef WS_SYSTEM_LINUX
	return true;
#else
	return false;
#endif
}

void ws_program_become(const char *path, char *const *args)
{
	execv(path, args);
}

void *ws_library_open(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void *ws_library_function(void *library, const char *name)
{
	return dlsym(library, name);
}

const char *ws_library_error(void)
{
	return dlerror();
}
