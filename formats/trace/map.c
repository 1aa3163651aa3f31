#include "formats/trace/map.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/outfile.h"

static enum ws_status map_fd(struct ws_trace_map *map, int fd, const char *path, struct ws_err *err)
{
	struct stat st;
	void *data;

	WS_FAIL_IF(fstat(fd, &st) != 0, err, IO_READ, "cannot read %s: %s", path, strerror(errno));
	WS_FAIL_IF(!S_ISREG(st.st_mode), err, IO_READ, "cannot read %s: not a regular file", path);
	WS_FAIL_IF((uint64_t)st.st_size > SIZE_MAX, err, IO_READ, "cannot read %s: too large",
	           path);
	if (st.st_size == 0)
		return WS_OK;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	WS_FAIL_IF(data == MAP_FAILED, err, IO_READ, "cannot read %s: %s", path, strerror(errno));
	map->data = data;
	map->size = (size_t)st.st_size;
	return WS_OK;
}

enum ws_status ws_trace_map_open(struct ws_trace_map *map, const char *path, struct ws_err *err)
{
	enum ws_status status;
	int fd;

	map->data = NULL;
	map->size = 0;
	/* not to hang on a pipe without a writer */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	WS_FAIL_IF(fd < 0, err, IO_READ, "cannot open %s: %s", path, strerror(errno));
	status = map_fd(map, fd, path, err);
	close(fd);
	return status;
}

void ws_trace_map_let_go(const void *data, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)data % page;

	madvise((uint8_t *)(uintptr_t)data - before, size + before, MADV_DONTNEED);
}

/* Behind the new end of a file that is cut there is no memory. */
static void on_missing_page(int number, siginfo_t *info, void *context)
{
	static const char words[] =
	        "warpsheet: an input was cut short while it was read. Try again when nobody "
	        "writes to it\n";

	(void)context;
	if (info->si_code == BUS_ADRERR) {
		ssize_t ignored = write(STDERR_FILENO, words, sizeof(words) - 1);

		(void)ignored;
		/* both only read memory and call unlink() */
		ws_outfile_remove_unfinished();         /* NOLINT(bugprone-signal-handler) */
		_exit(ws_status_exit_code(WS_IO_READ)); /* NOLINT(bugprone-signal-handler) */
	}
	raise(number); /* as without us: SA_RESETHAND */
}

void ws_trace_map_end_well_when_cut(void)
{
	struct sigaction action = {.sa_sigaction = on_missing_page,
	                           .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

void ws_trace_map_close(struct ws_trace_map *map)
{
	if (map->data)
		munmap((void *)map->data, map->size);
	map->data = NULL;
	map->size = 0;
}
