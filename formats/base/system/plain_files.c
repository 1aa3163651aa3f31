/* Files by their paths: Windows, WebAssembly. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef _WIN32
#include <direct.h>
#include <io.h>
#endif

#include "formats/base/system/files.h"

#ifndef O_BINARY
#define O_BINARY 0
#endif
#ifndef O_NOFOLLOW
#define O_NOFOLLOW 0
#endif
#ifndef O_NONBLOCK
#define O_NONBLOCK 0
#endif

/* --- folders: their paths, by handle --- */

#define FIRST_HANDLE (1 << 20) /* no descriptor */
#define MOST_FOLDERS 1024

static char *folders[MOST_FOLDERS];

static char *copy_of(const char *text)
{
	char *copy = malloc(strlen(text) + 1);

	if (copy)
		memcpy(copy, text, strlen(text) + 1);
	return copy;
}

static int add_folder(const char *path)
{
	for (int i = 0; i < MOST_FOLDERS; i++)
		if (!folders[i]) {
			folders[i] = copy_of(path);
			return folders[i] ? FIRST_HANDLE + i : -1;
		}
	errno = EMFILE;
	return -1;
}

static bool is_folder(int handle)
{
	return handle >= FIRST_HANDLE;
}

struct path {
	char text[PATH_MAX + 256];
};

/* A signal's handler may call this. */
static const char *path_of(int folder, const char *name, struct path *path)
{
	if (!is_folder(folder) || ws_path_separates(*name))
		return name;
	snprintf(path->text, sizeof(path->text), "%s/%s", folders[folder - FIRST_HANDLE], name);
	return path->text;
}

int ws_file_look(int folder, const char *name, bool is_followed, struct ws_file_info *info)
{
	struct path path;
	struct stat st;
	int result;

	if (!name && is_folder(folder)) {
		name = folders[folder - FIRST_HANDLE];
		folder = WS_HERE;
	}
#ifdef _WIN32
	result = name ? stat(path_of(folder, name, &path), &st) : fstat(folder, &st);
	(void)is_followed;
#else
	result = !name         ? fstat(folder, &st)
	         : is_followed ? stat(path_of(folder, name, &path), &st)
	                       : lstat(path_of(folder, name, &path), &st);
#endif
	if (result)
		return -1;
	*info = (struct ws_file_info){
	        .type = S_ISREG(st.st_mode)    ? WS_FILE_REGULAR
	                : S_ISDIR(st.st_mode)  ? WS_FILE_FOLDER
	                : S_ISFIFO(st.st_mode) ? WS_FILE_PIPE
	                : S_ISCHR(st.st_mode)  ? WS_FILE_DEVICE
	                                       : WS_FILE_OTHER,
	        .is_users = true,
	        .names = 1,
	        .rights = st.st_mode & 0777,
	        .size = (uint64_t)st.st_size,
	        .device = (uint64_t)st.st_dev,
	        .number = (uint64_t)st.st_ino,
	};
#ifdef _WIN32
	BY_HANDLE_FILE_INFORMATION by_handle;
	HANDLE file = name ? CreateFileA(path_of(folder, name, &path), 0,
	                                 FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
	                                 NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL)
	                   : (HANDLE)_get_osfhandle(folder);

	if (GetFileInformationByHandle(file, &by_handle)) {
		info->device = by_handle.dwVolumeSerialNumber;
		info->number = (uint64_t)by_handle.nFileIndexHigh << 32 | by_handle.nFileIndexLow;
	}
	if (name && file != INVALID_HANDLE_VALUE)
		CloseHandle(file);
#else
	info->names = (unsigned)st.st_nlink;
	if (S_ISLNK(st.st_mode))
		info->type = WS_FILE_LINK;
#endif
	return 0;
}

bool ws_file_exists(const char *path)
{
	return !access(path, F_OK);
}

#ifdef _WIN32
/* A file that can be removed while it is open. */
static int open_new(const char *path)
{
	HANDLE file = CreateFileA(path, GENERIC_READ | GENERIC_WRITE,
	                          FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
	                          CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);

	if (file != INVALID_HANDLE_VALUE)
		return _open_osfhandle((intptr_t)file, O_RDWR | O_BINARY);
	errno = GetLastError() == ERROR_FILE_EXISTS      ? EEXIST
	        : GetLastError() == ERROR_PATH_NOT_FOUND ? ENOENT
	                                                 : EACCES;
	return -1;
}
#endif

int ws_file_open(int folder, const char *name, enum ws_file_use use, unsigned rights)
{
	static const int flags[] = {
	        [WS_FILE_READ] = O_RDONLY | O_NONBLOCK,
	        [WS_FILE_APPEND] = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK,
	        [WS_FILE_NEW_APPEND] = O_WRONLY | O_APPEND | O_CREAT | O_EXCL,
	        [WS_FILE_NEW] = O_RDWR | O_CREAT | O_EXCL,
	        [WS_FILE_DIRECT] = O_WRONLY | O_NONBLOCK,
	};
	struct path path;
	int fd;

#ifdef _WIN32
	if (use == WS_FILE_NEW)
		return open_new(path_of(folder, name, &path));
#endif
	fd = open(path_of(folder, name, &path), flags[use] | O_BINARY, rights);
#ifdef F_SETFL
	if (fd >= 0 && use == WS_FILE_DIRECT)
		fcntl(fd, F_SETFL, 0);
#endif
	return fd;
}

#ifdef __wasi__
/* Of whoever runs this program: WASI itself cannot open what is open once more. */
__attribute__((import_module("warpsheet"), import_name("dup"))) int ws_host_dup(int fd);
#define dup ws_host_dup
#endif

int ws_file_copy_handle(int fd, bool is_to_write)
{
	(void)is_to_write;
#ifdef F_GETFL
	const int flags = fcntl(fd, F_GETFL);

	if (is_to_write && flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
		errno = EBADF;
		return -1;
	}
#endif
	return dup(fd);
}

int ws_file_reserve(int fd, uint64_t from, uint64_t bytes)
{
	(void)fd, (void)from, (void)bytes;
	errno = EOPNOTSUPP;
	return -1;
}

int ws_file_give_back(int fd, uint64_t from, uint64_t bytes)
{
	return ws_file_reserve(fd, from, bytes);
}

int ws_file_sync(int fd)
{
#ifdef _WIN32
	return _commit(fd);
#else
	return fsync(fd);
#endif
}

int ws_file_write_at(int fd, uint64_t from, const void *bytes, size_t n)
{
	return lseek(fd, (off_t)from, SEEK_SET) == (off_t)from && write(fd, bytes, n) == (ssize_t)n
	               ? 0
	               : -1;
}

void ws_file_path(int fd, int folder, const char *name, char *path, size_t size)
{
	struct path whole;

	(void)fd;
	snprintf(path, size, "%s", path_of(folder, name, &whole));
}

int ws_folder_open(int parent, const char *name, bool is_followed)
{
	struct ws_file_info info;
	struct path path;

	if (ws_file_look(parent, name, is_followed, &info))
		return -1;
	errno = ENOTDIR;
	return info.type == WS_FILE_FOLDER ? add_folder(path_of(parent, name, &path)) : -1;
}

int ws_folder_copy_handle(int folder)
{
	return add_folder(folders[folder - FIRST_HANDLE]);
}

void ws_folder_close(int folder)
{
	free(folders[folder - FIRST_HANDLE]);
	folders[folder - FIRST_HANDLE] = NULL;
}

int ws_folder_make(int parent, const char *name, unsigned rights)
{
	struct path path;

#ifdef _WIN32
	(void)rights;
	return _mkdir(path_of(parent, name, &path));
#else
	return mkdir(path_of(parent, name, &path), rights);
#endif
}

void ws_folder_take_rights(int folder, int from)
{
#if !defined(_WIN32) && !defined(__wasi__)
	struct stat st;

	if (!stat(folders[from - FIRST_HANDLE], &st))
		(void)!chmod(folders[folder - FIRST_HANDLE], st.st_mode & 07777);
#else
	(void)folder, (void)from;
#endif
}

char *ws_real_path(const char *path)
{
#ifdef _WIN32
	char *whole = _fullpath(NULL, path, 0);

	/* it keeps a separator at the end */
	for (size_t n = whole ? strlen(whole) : 0; n > 3 && ws_path_separates(whole[n - 1]);)
		whole[--n] = '\0';
	return whole;
#else
	return realpath(path, NULL);
#endif
}

const char *ws_temporary_folder(void)
{
	static const char *const variables[] = {"TMPDIR", "TMP", "TEMP"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *path = getenv(variables[i]);

		if (path && *path)
			return path;
	}
	return "/tmp";
}

int ws_name_remove(int folder, const char *name, bool is_dir)
{
	struct path path;

	return is_dir ? rmdir(path_of(folder, name, &path)) : unlink(path_of(folder, name, &path));
}

/* Handles of a folder that got another path, and of those in it, stay its handles. */
static void follow(const char *path, const char *to)
{
	const size_t len = strlen(path);

	for (int i = 0; i < MOST_FOLDERS; i++) {
		if (!folders[i] || strncmp(folders[i], path, len) ||
		    (folders[i][len] && folders[i][len] != '/'))
			continue;
		char *moved = malloc(strlen(to) + strlen(folders[i] + len) + 1);
		if (!moved)
			continue;
		memcpy(moved, to, strlen(to));
		memcpy(moved + strlen(to), folders[i] + len, strlen(folders[i] + len) + 1);
		free(folders[i]);
		folders[i] = moved;
	}
}

int ws_name_move(int from, const char *name, int to, const char *as, enum ws_name_move how)
{
	struct path a, b;
	const char *path = path_of(from, name, &a), *other = path_of(to, as, &b);

	if (how != WS_NAME_REPLACE) {
		errno = ENOSYS;
		return -1;
	}
#ifdef _WIN32
	const DWORD kind = GetFileAttributesA(path);

	if (kind != INVALID_FILE_ATTRIBUTES && kind & FILE_ATTRIBUTE_DIRECTORY)
		RemoveDirectoryA(other); /* an empty one gives way, as elsewhere */
	if (!MoveFileExA(path, other, MOVEFILE_REPLACE_EXISTING)) {
		errno = GetLastError() == ERROR_FILE_NOT_FOUND ? ENOENT : EACCES;
		return -1;
	}
#else
	if (rename(path, other))
		return -1;
#endif
	follow(path, other);
	return 0;
}

int ws_random(void *bytes, size_t n)
{
#ifdef _WIN32
	unsigned char *to = bytes;

	for (size_t i = 0; i < n; i++) {
		unsigned value;

		if (rand_s(&value))
			return -1;
		to[i] = (unsigned char)value;
	}
	return 0;
#else
	return getentropy(bytes, n);
#endif
}
