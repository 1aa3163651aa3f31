#include "formats/base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

const char *ws_own_file_problem(int fd, mode_t forbidden)
{
	struct stat st;

	if (fstat(fd, &st))
		return "cannot be examined";
	if (!S_ISREG(st.st_mode))
		return "is not a regular file";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	if (st.st_nlink > 1)
		return "has more than one name (a hard link)";
	if (st.st_mode & forbidden)
		return "is open to other users";
	return NULL;
}

#define FLAGS (O_WRONLY | O_APPEND | O_CLOEXEC)

static enum ws_status cannot_open(const char *path, struct ws_err *err)
{
	return WS_FAIL(err, IO_WRITE, "cannot open %s: %s", path,
	               errno == ELOOP ? "it is a symbolic link" : strerror(errno));
}

int ws_own_file_descriptor(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		const char *number = path + strlen(folders[i]);

		if (!strncmp(path, folders[i], strlen(folders[i])) &&
		    strspn(number, "0123456789") == strlen(number) && *number && strlen(number) < 8)
			return (int)strtol(number, NULL, 10);
	}
	return -1;
}

/* Why a file that is not a regular one cannot be written to; NULL: it can. */
static const char *direct_problem(const struct stat *st)
{
	if (S_ISCHR(st->st_mode))
		return NULL;
	if (S_ISDIR(st->st_mode))
		return "is a folder";
	if (!S_ISFIFO(st->st_mode))
		return "is neither a file nor a pipe nor a character device";
	return st->st_uid == geteuid() ? NULL : "is a pipe that belongs to another user";
}

enum ws_status ws_own_file_direct(int folder, const char *name, const char *path, int *fd,
                                  struct ws_err *err)
{
	const int named = ws_own_file_descriptor(path);
	const char *problem;
	struct stat st;
	char link[32];
	int found, why;

	*fd = -1;
	if (named >= 0) {
		const int flags = fcntl(named, F_GETFL);

		if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
			errno = EBADF;
			return cannot_open(path, err);
		}
		*fd = fcntl(named, F_DUPFD_CLOEXEC, 0);
		return *fd < 0 ? cannot_open(path, err) : WS_OK;
	}
	/* opening has effects on a pipe or a device: look at it first, then open what was seen */
	found = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (found < 0 || fstat(found, &st) || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) {
		if (found >= 0)
			close(found);
		return WS_OK;
	}
	problem = direct_problem(&st);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	if (!problem)
		*fd = open(link, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	why = errno;
	close(found);
	WS_FAIL_IF(problem, err, IO_WRITE, "cannot write to '%s': it %s; take another name", path,
	           problem);
	WS_FAIL_IF(*fd < 0, err, IO_WRITE, "cannot write to '%s': %s", path,
	           why == ENXIO ? "nobody reads this pipe; start its reader first" : strerror(why));
	fcntl(*fd, F_SETFL, 0); /* from now on, writing to a full pipe waits */
	return WS_OK;
}

/* Check the open file: its name may be another file's by now. */
static enum ws_status take(const char *path, int *fd, struct ws_err *err)
{
	const char *problem = ws_own_file_problem(*fd, 0);

	if (!problem)
		return WS_OK;
	close(*fd);
	*fd = -1;
	return WS_FAIL(err, IO_WRITE, "%s is not written to: it %s; take another name or folder",
	               path, problem);
}

int ws_own_file_folder(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	const size_t len = slash ? (size_t)(slash - path) + 1 : 0;
	char folder[PATH_MAX] = ".";

	*name = path + len;
	errno = ENAMETOOLONG;
	if (len >= sizeof(folder))
		return -1;
	memcpy(folder, path, len);
	return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

enum ws_status ws_own_file_open(int folder, const char *name, const char *path, int *fd,
                                struct ws_err *err)
{
	*fd = openat(folder, name, FLAGS | O_NOFOLLOW | O_NONBLOCK);
	WS_FAIL_IF(*fd < 0 && errno == ENOENT, err, IO_READ, "cannot open %s: %s", path,
	           strerror(errno));
	return *fd < 0 ? cannot_open(path, err) : take(path, fd, err);
}

enum ws_status ws_own_file_create(int folder, const char *name, const char *path, int *fd,
                                  struct ws_err *err)
{
	*fd = openat(folder, name, FLAGS | O_CREAT | O_EXCL, 0666);
	if (*fd >= 0)
		return WS_OK;
	if (errno != EEXIST)
		return cannot_open(path, err);
	WS_FORWARD(ws_own_file_direct(folder, name, path, fd, err));
	if (*fd >= 0)
		return WS_OK;
	WS_FORWARD(ws_own_file_open(folder, name, path, fd, err));
	if (ftruncate(*fd, 0)) {
		enum ws_status status = cannot_open(path, err);

		close(*fd);
		*fd = -1;
		return status;
	}
	return WS_OK;
}

#define LETTERS 8 /* of 32: 40 bits */

/* Make a file or a folder; the XXXXXXXX that end its name become letters that nobody can guess. -1:
 * errno. */
static int make_temporary(int folder, char *name, mode_t mode, bool is_folder)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	char *end = name + strlen(name) - LETTERS;
	uint8_t random[LETTERS];
	int result;

	do {
		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -1;
		for (size_t i = 0; i < LETTERS; i++)
			end[i] = letters[random[i] % 32];
		result = is_folder
		                 ? mkdirat(folder, name, mode)
		                 : openat(folder, name,
		                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	} while (result < 0 && errno == EEXIST);
	return result;
}

int ws_own_file_temporary(int folder, char *name, mode_t mode)
{
	return make_temporary(folder, name, mode, false);
}

int ws_own_folder_temporary(int folder, char *name, mode_t mode)
{
	return make_temporary(folder, name, mode, true);
}

/* Close a folder and keep errno. */
static int end_in(int folder, int result)
{
	const int why = errno;

	close(folder);
	errno = why;
	return result;
}

int ws_own_folder_make(const char *path, mode_t mode)
{
	const char *name;
	const int folder = ws_own_file_folder(path, &name);

	return folder < 0 ? -1 : end_in(folder, mkdirat(folder, name, mode));
}

int ws_own_folder_remove(const char *path)
{
	const char *name;
	const int folder = ws_own_file_folder(path, &name);

	return folder < 0 ? -1 : end_in(folder, unlinkat(folder, name, AT_REMOVEDIR));
}

enum ws_status ws_own_file_unnamed(int *fd, struct ws_err *err)
{
	const char *path = getenv("TMPDIR");
	char name[] = "warpsheet-XXXXXXXX";
	enum ws_status status = WS_OK;
	int folder;

	if (!path || !*path)
		path = "/tmp";
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*fd = folder < 0 ? -1 : ws_own_file_temporary(folder, name, 0600);
	if (*fd < 0)
		status = WS_FAIL(err, IO_WRITE,
		                 "cannot create a file in %s: %s (TMPDIR names the folder)", path,
		                 strerror(errno));
	else
		unlinkat(folder, name, 0);
	if (folder >= 0)
		close(folder);
	return status;
}
