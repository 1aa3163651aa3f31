#include "formats/base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *ws_own_file_problem(int fd, mode_t forbidden)
{
	struct stat st;

	if (fstat(fd, &st))
		return "cannot be looked at";
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

int ws_own_file_nofollow(const char *path)
{
	static const char own[] = "/proc/self/fd/";

	return strncmp(path, own, sizeof(own) - 1) ? O_NOFOLLOW : 0;
}

static enum ws_status cannot_open(const char *path, struct ws_err *err)
{
	return WS_FAIL(err, IO_WRITE, "cannot open %s: %s", path,
	               errno == ELOOP ? "it is a symbolic link" : strerror(errno));
}

/* The checks are of what is open: the name may stand for something else by now. */
static enum ws_status take(const char *path, int *fd, int device_is_fine, struct ws_err *err)
{
	const char *problem;
	struct stat st;

	if (device_is_fine && !fstat(*fd, &st) && !S_ISREG(st.st_mode))
		return WS_OK;
	problem = ws_own_file_problem(*fd, 0);
	if (!problem)
		return WS_OK;
	close(*fd);
	*fd = -1;
	return WS_FAIL(err, IO_WRITE, "%s is not written to: it %s; take another name or folder",
	               path, problem);
}

enum ws_status ws_own_file_open(const char *path, int *fd, struct ws_err *err)
{
	*fd = open(path, FLAGS | ws_own_file_nofollow(path));
	return *fd < 0 ? cannot_open(path, err) : take(path, fd, 0, err);
}

enum ws_status ws_own_file_create(const char *path, int *fd, struct ws_err *err)
{
	struct stat st;

	*fd = open(path, FLAGS | O_CREAT | O_EXCL, 0666);
	if (*fd >= 0)
		return WS_OK;
	if (errno != EEXIST)
		return cannot_open(path, err);
	/* /dev/stdout is a link; that it still is no file once it is open is checked below */
	*fd = open(path,
	           FLAGS | (!stat(path, &st) && !S_ISREG(st.st_mode) ? 0
	                                                             : ws_own_file_nofollow(path)));
	if (*fd < 0)
		return cannot_open(path, err);
	WS_FORWARD(take(path, fd, 1, err));
	if (!fstat(*fd, &st) && S_ISREG(st.st_mode) && ftruncate(*fd, 0)) {
		enum ws_status status = cannot_open(path, err);

		close(*fd);
		*fd = -1;
		return status;
	}
	return WS_OK;
}

/* mkstemp makes files that only the owner reads; give what open() would have given. */
static void usual_mode(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	/* a file system without modes is no reason to fail */
	(void)!fchmod(fd, 0666 & ~mask);
}

enum ws_status ws_own_file_temporary(char *name, int suffix_bytes, int *fd, struct ws_err *err)
{
	int made = mkostemps(name, suffix_bytes, O_CLOEXEC);

	WS_FAIL_IF(made < 0, err, IO_WRITE, "cannot create '%s': %s", name, strerror(errno));
	usual_mode(made);
	if (fd)
		*fd = made;
	else
		close(made);
	return WS_OK;
}

enum ws_status ws_own_file_unnamed(int *fd, struct ws_err *err)
{
	const char *folder = getenv("TMPDIR");
	enum ws_status status = WS_OK;
	char *name;

	WS_FAIL_IF(asprintf(&name, "%s/warpsheet-XXXXXX", folder && *folder ? folder : "/tmp") < 0,
	           err, NO_MEMORY, "out of memory for a temporary name");
	*fd = mkostemp(name, O_CLOEXEC);
	if (*fd < 0)
		status = WS_FAIL(err, IO_WRITE, "cannot create %s: %s (TMPDIR names the folder)",
		                 name, strerror(errno));
	else
		unlink(name);
	free(name);
	return status;
}
