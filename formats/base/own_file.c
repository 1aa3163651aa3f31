#include "formats/base/outfile.h"

#include <limits.h>
#include <unistd.h>

const char *ws_own_file_problem(int fd, bool is_folder, unsigned forbidden)
{
	struct ws_file_info file;

	if (ws_file_look(fd, NULL, false, &file))
		return "cannot be examined";
	if (!is_folder && file.type != WS_FILE_REGULAR)
		return "is not a regular file";
	if (!file.is_users)
		return "belongs to another user";
	if (!is_folder && file.names > 1)
		return "has more than one name (a hard link)";
	if (file.rights & forbidden)
		return "is open to other users";
	return NULL;
}

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

enum ws_status ws_own_file_direct(int folder, const char *name, const char *path, int *fd,
                                  struct ws_err *err)
{
	const int named = ws_own_file_descriptor(path);
	struct ws_file_info seen, opened;

	*fd = -1;
	if (named >= 0) {
		*fd = ws_file_copy_handle(named, true);
		return *fd < 0 ? cannot_open(path, err) : WS_OK;
	}
	/* check it first, as opening a pipe or a device has effects */
	if (ws_file_look(folder, name, false, &seen) || seen.type == WS_FILE_REGULAR ||
	    seen.type == WS_FILE_LINK)
		return WS_OK;
	const char *problem = seen.type == WS_FILE_DEVICE   ? NULL
	                      : seen.type == WS_FILE_FOLDER ? "is a folder"
	                      : seen.type != WS_FILE_PIPE
	                              ? "is neither a file nor a pipe nor a character device"
	                      : seen.is_users ? NULL
	                                      : "is a pipe that belongs to another user";
	WS_FAIL_IF(problem, err, IO_WRITE, "cannot write to '%s': it %s; take another name", path,
	           problem);
	*fd = ws_file_open(folder, name, WS_FILE_DIRECT, 0);
	WS_FAIL_IF(*fd < 0, err, IO_WRITE, "cannot write to '%s': %s", path,
	           errno == ENXIO ? "nobody reads this pipe; start its reader first"
	                          : strerror(errno));
	if (!ws_file_look(*fd, NULL, false, &opened) && ws_file_is_same(&seen, &opened))
		return WS_OK;
	close(*fd);
	*fd = -1;
	return WS_FAIL(err, IO_WRITE, "cannot write to '%s': somebody else replaced it", path);
}

int ws_own_file_folder(const char *path, const char **name)
{
	const size_t len = (size_t)((*name = ws_path_name(path)) - path);
	char folder[PATH_MAX] = ".";

	errno = ENAMETOOLONG;
	if (len >= sizeof(folder))
		return -1;
	memcpy(folder, path, len);
	return ws_folder_open(WS_HERE, folder, true);
}

enum ws_status ws_own_file_open(int folder, const char *name, const char *path, int *fd,
                                struct ws_err *err)
{
	*fd = ws_file_open(folder, name, WS_FILE_APPEND, 0);
	WS_FAIL_IF(*fd < 0 && errno == ENOENT, err, IO_READ, "cannot open %s: %s", path,
	           strerror(errno));
	if (*fd < 0)
		return cannot_open(path, err);
	/* check the open file: its name may be another file's by now */
	const char *problem = ws_own_file_problem(*fd, false, 0);
	if (!problem)
		return WS_OK;
	close(*fd);
	*fd = -1;
	return WS_FAIL(err, IO_WRITE, "%s is not written to: it %s; take another name or folder",
	               path, problem);
}

enum ws_status ws_own_file_create(int folder, const char *name, const char *path, int *fd,
                                  struct ws_err *err)
{
	*fd = ws_file_open(folder, name, WS_FILE_NEW_APPEND, 0666);
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

/* Close a folder and keep errno. */
static int end_in(int folder, int result)
{
	const int why = errno;

	ws_folder_close(folder);
	errno = why;
	return result;
}

int ws_own_folder_make(const char *path, unsigned mode)
{
	const char *name;
	const int folder = ws_own_file_folder(path, &name);

	return folder < 0 ? -1 : end_in(folder, ws_folder_make(folder, name, mode));
}

int ws_own_folder_remove(const char *path)
{
	const char *name;
	const int folder = ws_own_file_folder(path, &name);

	return folder < 0 ? -1 : end_in(folder, ws_name_remove(folder, name, true));
}

enum ws_status ws_own_file_unnamed(int *fd, struct ws_err *err)
{
	const char *folder = ws_temporary_folder();

	*fd = ws_file_unnamed(folder);
	WS_FAIL_IF(*fd < 0, err, IO_WRITE,
	           "cannot create a file in %s: %s (TMPDIR names the folder)", folder,
	           strerror(errno));
	return WS_OK;
}
