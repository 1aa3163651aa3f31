/* Files by descriptors: Linux, macOS. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/system/files.h"

#ifdef WS_SYSTEM_LINUX
#define FOLDER O_PATH /* a folder that may be entered and not be read */
#else
#define FOLDER O_RDONLY
#endif

static int descriptor_of(int folder)
{
	return folder == WS_HERE ? AT_FDCWD : folder;
}

int ws_file_look(int folder, const char *name, bool is_followed, struct ws_file_info *info)
{
	struct stat st;

	if (name ? fstatat(descriptor_of(folder), name, &st, is_followed ? 0 : AT_SYMLINK_NOFOLLOW)
	         : fstat(folder, &st))
		return -1;
	*info = (struct ws_file_info){
	        .type = S_ISREG(st.st_mode)    ? WS_FILE_REGULAR
	                : S_ISDIR(st.st_mode)  ? WS_FILE_FOLDER
	                : S_ISLNK(st.st_mode)  ? WS_FILE_LINK
	                : S_ISFIFO(st.st_mode) ? WS_FILE_PIPE
	                : S_ISCHR(st.st_mode)  ? WS_FILE_DEVICE
	                                       : WS_FILE_OTHER,
	        .is_users = st.st_uid == geteuid(),
	        .is_roots = !st.st_uid,
	        .names = (unsigned)st.st_nlink,
	        .rights = st.st_mode & 07777,
	        .size = (uint64_t)st.st_size,
	        .device = (uint64_t)st.st_dev,
	        .number = (uint64_t)st.st_ino,
	};
	return 0;
}

bool ws_file_exists(const char *path)
{
	return !access(path, F_OK);
}

int ws_file_open(int folder, const char *name, enum ws_file_use use, unsigned rights)
{
	static const int flags[] = {
	        [WS_FILE_READ] = O_RDONLY | O_NONBLOCK,
	        [WS_FILE_APPEND] = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK,
	        [WS_FILE_NEW_APPEND] = O_WRONLY | O_APPEND | O_CREAT | O_EXCL,
	        [WS_FILE_NEW] = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
	        [WS_FILE_DIRECT] = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
	};
	const int fd = openat(descriptor_of(folder), name, flags[use] | O_CLOEXEC, (mode_t)rights);

	if (fd >= 0 && use == WS_FILE_DIRECT)
		fcntl(fd, F_SETFL, 0); /* from now on, writing to a full pipe waits */
	return fd;
}

int ws_file_copy_handle(int fd, bool is_to_write)
{
	const int flags = fcntl(fd, F_GETFL);

	if (is_to_write && flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
		errno = EBADF;
		return -1;
	}
	return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static int allocate(int fd, bool is_to_punch, uint64_t from, uint64_t bytes)
{
#ifdef WS_SYSTEM_LINUX
	const int mode = FALLOC_FL_KEEP_SIZE | (is_to_punch ? FALLOC_FL_PUNCH_HOLE : 0);
	int result;

	do
		result = fallocate(fd, mode, (off_t)from, (off_t)bytes);
	while (result && errno == EINTR);
	return result;
#else
	(void)fd, (void)is_to_punch, (void)from, (void)bytes;
	errno = EOPNOTSUPP;
	return -1;
#endif
}

int ws_file_reserve(int fd, uint64_t from, uint64_t bytes)
{
	return allocate(fd, false, from, bytes);
}

int ws_file_give_back(int fd, uint64_t from, uint64_t bytes)
{
	return allocate(fd, true, from, bytes);
}

int ws_file_sync(int fd)
{
	return fsync(fd);
}

int ws_file_write_at(int fd, uint64_t from, const void *bytes, size_t n)
{
	/* Linux appends whatever the offset if the file was opened for that */
	const int flags = fcntl(fd, F_GETFL);
	const bool appends = flags >= 0 && flags & O_APPEND;

	if (appends && fcntl(fd, F_SETFL, flags & ~O_APPEND))
		return -1;
	ssize_t written = pwrite(fd, bytes, n, (off_t)from);
	if (appends && fcntl(fd, F_SETFL, flags))
		return -1;
	return written == (ssize_t)n ? 0 : -1;
}

void ws_file_path(int fd, int folder, const char *name, char *path, size_t size)
{
	(void)folder, (void)name;
	/* a container without devices has the other name */
	snprintf(path, size, access("/dev/fd", F_OK) ? "/proc/self/fd/%d" : "/dev/fd/%d", fd);
}

int ws_folder_open(int parent, const char *name, bool is_followed)
{
	return openat(descriptor_of(parent), name,
	              FOLDER | O_DIRECTORY | O_CLOEXEC | (is_followed ? 0 : O_NOFOLLOW));
}

int ws_folder_copy_handle(int folder)
{
	return fcntl(folder, F_DUPFD_CLOEXEC, 0);
}

void ws_folder_close(int folder)
{
	close(folder);
}

int ws_folder_make(int parent, const char *name, unsigned rights)
{
	return mkdirat(descriptor_of(parent), name, (mode_t)rights);
}

void ws_folder_take_rights(int folder, int from)
{
	struct stat st;
	const int fd =
	        fstat(from, &st) ? -1 : openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!fchmod(fd, st.st_mode & 07777);
	close(fd);
}

char *ws_real_path(const char *path)
{
	return realpath(path, NULL);
}

const char *ws_temporary_folder(void)
{
	const char *path = getenv("TMPDIR");

	return path && *path ? path : "/tmp";
}

int ws_name_remove(int folder, const char *name, bool is_folder)
{
	return unlinkat(descriptor_of(folder), name, is_folder ? AT_REMOVEDIR : 0);
}

int ws_name_move(int from, const char *name, int to, const char *as, enum ws_name_move how)
{
	if (how == WS_NAME_REPLACE)
		return renameat(descriptor_of(from), name, descriptor_of(to), as);
#if defined(WS_SYSTEM_LINUX) && defined(RENAME_EXCHANGE)
	return renameat2(descriptor_of(from), name, descriptor_of(to), as,
	                 how == WS_NAME_NEW ? RENAME_NOREPLACE : RENAME_EXCHANGE);
#else
	errno = ENOSYS;
	return -1;
#endif
}

int ws_random(void *bytes, size_t n)
{
	return getentropy(bytes, n);
}
