/* What WebAssembly lacks: files of SQLite, a temporary file, the current folder. One program, so
 * lock_nothing is locked. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/base/system/files.h"

struct file {
	sqlite3_file base;
	int fd;
};

static int descriptor_of(sqlite3_file *f)
{
	return ((struct file *)f)->fd;
}

static int close_file(sqlite3_file *f)
{
	return close(descriptor_of(f)) ? SQLITE_IOERR_CLOSE : SQLITE_OK;
}

static int read_file(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	size_t done = 0;

	for (ssize_t got; done < (size_t)n; done += (size_t)got) {
		got = pread(descriptor_of(f), (char *)to + done, (size_t)n - done,
		            (off_t)at + (off_t)done);
		if (got < 0)
			return SQLITE_IOERR_READ;
		if (!got)
			break;
	}
	memset((char *)to + done, 0, (size_t)n - done);
	return done == (size_t)n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int write_file(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	return pwrite(descriptor_of(f), from, (size_t)n, (off_t)at) == n ? SQLITE_OK
	                                                                 : SQLITE_IOERR_WRITE;
}

static int truncate_file(sqlite3_file *f, sqlite3_int64 size)
{
	return ftruncate(descriptor_of(f), (off_t)size) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int size_of_file(sqlite3_file *f, sqlite3_int64 *size)
{
	struct ws_file_info info;

	if (ws_file_look(descriptor_of(f), NULL, false, &info))
		return SQLITE_IOERR_FSTAT;
	*size = (sqlite3_int64)info.size;
	return SQLITE_OK;
}

static int lock_nothing(sqlite3_file *f, int flags)
{
	(void)f, (void)flags;
	return SQLITE_OK;
}

static int is_reserved(sqlite3_file *f, int *reserved)
{
	(void)f;
	*reserved = 0;
	return SQLITE_OK;
}

static int control(sqlite3_file *f, int op, void *arg)
{
	(void)f, (void)op, (void)arg;
	return SQLITE_NOTFOUND;
}

static int zero(sqlite3_file *f)
{
	(void)f;
	return 0;
}

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *flags_out)
{
	static const sqlite3_io_methods methods = {
	        1,
	        close_file,
	        read_file,
	        write_file,
	        truncate_file,
	        lock_nothing,
	        size_of_file,
	        lock_nothing,
	        lock_nothing,
	        is_reserved,
	        control,
	        zero,
	        zero,
	};
	char name[] = "/tmp/warpsheet-XXXXXXXX";

	(void)vfs;
	((struct file *)f)->fd =
	        path ? open(path, flags & SQLITE_OPEN_READWRITE ? O_RDWR | O_CREAT : O_RDONLY, 0666)
	             : ws_name_temporary(WS_HERE, name, 0600, false);
	if (descriptor_of(f) < 0)
		return SQLITE_CANTOPEN;
	if (!path)
		unlink(name);
	f->pMethods = &methods;
	if (flags_out)
		*flags_out = flags;
	return SQLITE_OK;
}

static int remove_file(sqlite3_vfs *vfs, const char *path, int sync)
{
	(void)vfs, (void)sync;
	return unlink(path) ? SQLITE_IOERR_DELETE_NOENT : SQLITE_OK;
}

static int has_access(sqlite3_vfs *vfs, const char *path, int flags, int *has)
{
	(void)vfs, (void)flags;
	*has = ws_file_exists(path);
	return SQLITE_OK;
}

static int full_path(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
	(void)vfs;
	return snprintf(out, (size_t)size, "%s", path) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int random_bytes(sqlite3_vfs *vfs, int n, char *out)
{
	(void)vfs;
	ws_random(out, (size_t)n);
	return n;
}

static int wait_some(sqlite3_vfs *vfs, int microseconds)
{
	(void)vfs;
	return microseconds;
}

static int days_now(sqlite3_vfs *vfs, double *days)
{
	(void)vfs;
	*days = (double)time(NULL) / 86400 + 2440587.5;
	return SQLITE_OK;
}

static int no_error(sqlite3_vfs *vfs, int size, char *out)
{
	(void)vfs, (void)size, (void)out;
	return 0;
}

int sqlite3_os_init(void)
{
	static sqlite3_vfs vfs = {.iVersion = 1,
	                          .szOsFile = sizeof(struct file),
	                          .mxPathname = 512,
	                          .zName = "wasi",
	                          .xOpen = open_file,
	                          .xDelete = remove_file,
	                          .xAccess = has_access,
	                          .xFullPathname = full_path,
	                          .xRandomness = random_bytes,
	                          .xSleep = wait_some,
	                          .xCurrentTime = days_now,
	                          .xGetLastError = no_error};

	return sqlite3_vfs_register(&vfs, 1);
}

int sqlite3_os_end(void)
{
	return SQLITE_OK;
}

/* Paths begin where the program was started, as on other systems. */
__attribute__((constructor)) static void begin_in_folder(void)
{
	const char *folder = getenv("PWD");

	if (folder)
		(void)!chdir(folder);
}

/* libxlsxwriter's files of parts. */
FILE *tmpfileplus(const char *folder, const char *prefix, char **path, int is_kept);
FILE *tmpfileplus(const char *folder, const char *prefix, char **path, int is_kept)
{
	const int fd = ws_file_unnamed(ws_temporary_folder());

	(void)folder, (void)prefix, (void)path, (void)is_kept;
	return fd < 0 ? NULL : fdopen(fd, "w+");
}
