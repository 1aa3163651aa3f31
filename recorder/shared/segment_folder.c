#include "recorder/shared/segment_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "formats/base/own_file.h"

#define FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* NULL when nobody but this user can reach into it. */
static const char *problem_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return "cannot be examined";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	if (st.st_mode & 077)
		return "is open to other users";
	return NULL;
}

enum ws_status ws_segment_folder_open(const char *path, int *fd, struct ws_err *err)
{
	const char *problem = NULL;

	*fd = open(path, FLAGS);
	WS_FAIL_IF(*fd < 0 && errno == ENOENT, err, IO_READ, "there is no folder %s", path);
	if (*fd < 0)
		problem = errno == ENOTDIR || errno == ELOOP
		                  ? "is not a folder, or is a symbolic link"
		                  : strerror(errno);
	else
		problem = problem_of(*fd);
	if (!problem)
		return WS_OK;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return WS_FAIL(err, ENVIRONMENT,
	               "the folder %s is not safe: %s. Remove it, or give --segment-dir a "
	               "folder of your own with mode 0700",
	               path, problem);
}

/* In memory, with room, and nobody else's. */
static int is_usable(const char *path, uint64_t bytes)
{
	int fd = open(path, FLAGS), result;
	struct statfs fs;

	if (fd < 0)
		return 0;
	result = !problem_of(fd) && !fstatfs(fd, &fs) && fs.f_type == TMPFS_MAGIC &&
	         (uint64_t)fs.f_bavail >= bytes / (uint64_t)fs.f_bsize + 1;
	close(fd);
	return result;
}

bool ws_segment_folder_default(unsigned number, uint64_t bytes, char out[PATH_MAX])
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int n;

	if (number)
		n = snprintf(out, PATH_MAX, WS_SEG_DIR "/warpsheet-%u", (unsigned)geteuid());
	else if (runtime && *runtime == '/' && is_usable(runtime, bytes))
		n = snprintf(out, PATH_MAX, "%s/warpsheet", runtime);
	else
		return 0;
	return n > 0 && n < PATH_MAX;
}

void ws_segment_folder_make(uint64_t bytes, char out[PATH_MAX])
{
	for (unsigned i = 0; i < WS_SEG_FOLDERS; i++)
		if (ws_segment_folder_default(i, bytes, out))
			break;
	/* whether it is there now, and whose it is, is seen when it is opened */
	(void)!ws_own_folder_make(out, 0700);
}

enum ws_status ws_segment_folder_beside(const char *file, char out[PATH_MAX], struct ws_err *err)
{
	const char *slash = strrchr(file, '/'), *name;
	const int before = slash ? (int)(slash - file) + 1 : 0;
	int n = snprintf(out, PATH_MAX, "%.*s" WS_SEG_BESIDE "XXXXXXXX", before, file);
	int folder, result;

	WS_FAIL_IF(n < 0 || n >= PATH_MAX, err, USAGE, "the path %s is too long", file);
	folder = ws_own_file_folder(out, &name);
	result = folder < 0 ? -1 : ws_own_folder_temporary(folder, out + before, 0700);
	if (result)
		WS_FAIL(err, ENVIRONMENT, "cannot make the folder %s: %s", out, strerror(errno));
	if (folder >= 0)
		close(folder);
	return result ? WS_ENVIRONMENT : WS_OK;
}
