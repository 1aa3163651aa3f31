#include "recorder/shared/segment_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "formats/base/outfile.h"

/* --- folders --- */

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

enum ws_status ws_segment_folder_open(const char *path, int *fd, struct ws_err *err)
{
	const char *problem = NULL;

	*fd = open(path, FOLDER_FLAGS);
	WS_FAIL_IF(*fd < 0 && errno == ENOENT, err, IO_READ, "there is no folder %s", path);
	if (*fd < 0)
		problem = errno == ENOTDIR || errno == ELOOP
		                  ? "is not a folder, or is a symbolic link"
		                  : strerror(errno);
	else
		problem = ws_own_file_problem(*fd, true, 077);
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

/* Whether a folder is in memory, has room, and is private to this user. */
static int is_usable(const char *path, uint64_t bytes)
{
	int fd = open(path, FOLDER_FLAGS), result;
	struct statfs fs;

	if (fd < 0)
		return 0;
	result = !ws_own_file_problem(fd, true, 077) && !fstatfs(fd, &fs) &&
	         fs.f_type == TMPFS_MAGIC &&
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
	/* existence and owner are checked when it is opened */
	(void)!ws_own_folder_make(out, 0700);
}

/* --- files --- */

/* Maps the first file_bytes bytes of the file, and private zeros after them. */
static enum ws_status map(struct ws_segment_file *out, int fd, uint64_t file_bytes,
                          struct ws_err *err)
{
	const int rights = PROT_READ | PROT_WRITE;
	void *mem;

	if (file_bytes >= out->size) {
		mem = mmap(NULL, out->size, rights, MAP_SHARED, fd, 0);
	} else {
		mem = mmap(NULL, out->size, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		           0);
		if (mem != MAP_FAILED &&
		    mmap(mem, file_bytes, rights, MAP_SHARED | MAP_FIXED, fd, 0) != mem) {
			munmap(mem, out->size);
			mem = MAP_FAILED;
		}
	}
	WS_FAIL_IF(mem == MAP_FAILED, err, ENVIRONMENT, "cannot map %s: %s", out->path,
	           strerror(errno));
	out->seg = mem;
	return WS_OK;
}

/* Memory for the sealed part of a header. */
static enum ws_status make_fixed(struct ws_seg_header **out, const char *path, struct ws_err *err)
{
	void *mem = mmap(NULL, WS_SEG_FIXED_SIZE, PROT_READ | PROT_WRITE,
	                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	WS_FAIL_IF(mem == MAP_FAILED, err, ENVIRONMENT, "cannot map %s: %s", path, strerror(errno));
	*out = mem;
	return WS_OK;
}

/* Maps the sealed part in place of the file's. */
static enum ws_status put_fixed(struct ws_segment_file *file, struct ws_seg_header *fixed,
                                struct ws_err *err)
{
	if (!mprotect(fixed, WS_SEG_FIXED_SIZE, PROT_READ) &&
	    mremap(fixed, WS_SEG_FIXED_SIZE, WS_SEG_FIXED_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
	           file->seg) != MAP_FAILED)
		return WS_OK;
	munmap(fixed, WS_SEG_FIXED_SIZE);
	return WS_FAIL(err, ENVIRONMENT, "cannot map %s: %s", file->path, strerror(errno));
}

enum ws_status ws_segment_file_seal(struct ws_segment_file *file, struct ws_err *err)
{
	struct ws_seg_header *fixed = NULL;

	WS_FORWARD(make_fixed(&fixed, file->path, err));
	ws_seg_seal(file->seg);
	memcpy(fixed, file->seg, WS_SEG_PAGE);
	return put_fixed(file, fixed, err);
}

/* Opens the folder of the segment at this path, which must be private to this user. *name: the
 * file's name.
 */
static enum ws_status open_folder(char *path, const char **name, int *folder, struct ws_err *err)
{
	/* changed in place, as a thread's stack may be small */
	char *slash = strrchr(path, '/');

	*name = slash ? slash + 1 : path;
	if (slash)
		*slash = 0;
	enum ws_status status = ws_segment_folder_open(!slash          ? "."
	                                               : slash == path ? "/"
	                                                               : path,
	                                               folder, err);
	if (slash)
		*slash = '/';
	return status;
}

/*
 * Opens or creates the file of a segment. Both sides use only this function. The folder and the
 * file must be private to this user, and no link is followed.
 */
static enum ws_status open_own(struct ws_segment_file *out, const char *path, int flags, int *fd,
                               struct ws_err *err)
{
	enum ws_status missing = flags & O_CREAT ? WS_ENVIRONMENT : WS_IO_READ;
	enum ws_status status = WS_OK;
	const char *problem, *name;
	int folder;

	memset(out, 0, sizeof(*out));
	WS_FAIL_IF(strlen(path) >= sizeof(out->path), err, USAGE, "the path %s is too long", path);
	memcpy(out->path, path, strlen(path) + 1);
	WS_FORWARD(open_folder(out->path, &name, &folder, err));
	*fd = openat(folder, name, flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	problem = *fd < 0 ? strerror(errno) : ws_own_file_problem(*fd, false, 077);
	if (*fd < 0 && errno != ELOOP && errno != EACCES && errno != ENXIO)
		status = ws_fail(err, missing, __FILE__, __LINE__, "cannot %s the segment %s: %s",
		                 flags & O_CREAT ? "create" : "open", path, problem);
	else if (problem)
		status = WS_FAIL(err, ENVIRONMENT, "the file %s cannot be trusted: %s", path,
		                 problem);
	if (status != WS_OK && *fd >= 0)
		close(*fd);
	close(folder);
	return status;
}

/* Removes the file with the same checks. path is unchanged afterwards. */
static void unlink_own(char *path)
{
	const char *name;
	int folder;

	if (open_folder(path, &name, &folder, NULL) != WS_OK)
		return;
	unlinkat(folder, name, 0);
	close(folder);
}

void ws_segment_file_unlink(const char *path)
{
	char copy[PATH_MAX];

	if (snprintf(copy, sizeof(copy), "%s", path) < (int)sizeof(copy))
		unlink_own(copy);
}

#define LEAST_DEFS (UINT64_C(1) << 20)
#define LEAST_SLOT (UINT64_C(64) << 10)

/* Halves the largest part until the segment is within the limit. False: not possible. */
static bool shrink(struct ws_seg_opts *opts, uint64_t limit)
{
	while (ws_seg_size(opts) > limit) {
		const uint64_t slots = opts->slots * opts->slot_size;
		const uint64_t rings = (uint64_t)opts->thread_buffers *
		                       (WS_THREAD_BUFFER_HEADER_SIZE + opts->ring_size);

		if (opts->defs_size > LEAST_DEFS && opts->defs_size > slots &&
		    opts->defs_size > rings)
			opts->defs_size = opts->defs_size / 2 / WS_SEG_PAGE * WS_SEG_PAGE;
		else if (slots > rings && opts->slots > 2)
			opts->slots /= 2;
		else if (slots > rings && opts->slot_size > LEAST_SLOT)
			opts->slot_size = opts->slot_size / 2 / WS_SEG_PAGE * WS_SEG_PAGE;
		/* short rings for many threads suit more programs than long rings for a few */
		else if (opts->thread_buffers > 64)
			opts->thread_buffers /= 2;
		else if (opts->ring_size > 256u << 10)
			opts->ring_size /= 2;
		else if (opts->thread_buffers > 2)
			opts->thread_buffers /= 2;
		else if (opts->ring_size > WS_SEG_MIN_RING)
			opts->ring_size /= 2;
		else
			return 0;
	}
	return 1;
}

/* Maps the segment and gets memory for its first part, or for all of it if it cannot grow. */
static enum ws_status make_room(struct ws_segment_file *out, int fd, struct ws_seg_opts *opts,
                                struct ws_err *err)
{
	uint64_t whole, limit = UINT64_MAX;
	struct rlimit r;
	struct statfs fs;

	/* It can grow if a page written once can be written again even when the disk is full, and
	 * the system supports it, which a call for zero bytes tests. */
	opts->grows = !fstatfs(fd, &fs) &&
	              (fs.f_type == TMPFS_MAGIC || fs.f_type == EXT4_SUPER_MAGIC ||
	               fs.f_type == XFS_SUPER_MAGIC) &&
	              !ws_seg_populate_pages(NULL, 0);
	if (!opts->grows && opts->reserved_thread_buffers)
		opts->thread_buffers = opts->reserved_thread_buffers;
	if (!opts->grows && opts->reserved_ring_size)
		opts->ring_size = opts->reserved_ring_size;
	whole = ws_seg_size(opts);
	/* The largest segment within the limits of this process: a larger file would end it
	 * (SIGXFSZ). It uses at most an eighth of the address space, because the program has the
	 * same limit and needs the rest. */
	if (!getrlimit(RLIMIT_FSIZE, &r) && r.rlim_cur != RLIM_INFINITY)
		limit = r.rlim_cur;
	if (!getrlimit(RLIMIT_AS, &r) && r.rlim_cur != RLIM_INFINITY && r.rlim_cur / 8 < limit)
		limit = r.rlim_cur / 8;
	WS_FAIL_IF(!shrink(opts, limit), err, ENVIRONMENT,
	           "ulimit -f or ulimit -v leaves no room for shared memory; 2 MiB are enough");
	out->size = ws_seg_size(opts);
	out->is_shrunk = out->size < whole;
	int error = ftruncate(fd, (off_t)out->size) ? errno : 0;
	if (!error)
		WS_FORWARD(map(out, fd, out->size, err));
	/* reserved now: a page that is missing later would kill the program with SIGBUS */
	if (!error && !opts->grows)
		error = posix_fallocate(fd, 0, (off_t)out->size);
	/* of the two copies of the fixed part only one page each */
	char *begin = (char *)out->seg;
	if (!error &&
	    (!opts->grows || (!ws_seg_populate_pages(begin, WS_SEG_PAGE) &&
	                      !ws_seg_populate_pages(begin + WS_SEG_SPARE, WS_SEG_PAGE) &&
	                      !ws_seg_populate_pages(begin + WS_SEG_FIXED_SIZE,
	                                             ws_seg_first_size(opts) - WS_SEG_FIXED_SIZE))))
		return WS_OK;
	ws_segment_file_close(out);
	return WS_FAIL(err, ENVIRONMENT, "no room for %s of %llu MiB: %s", out->path,
	               (unsigned long long)(out->size >> 20), strerror(error ? error : ENOSPC));
}

enum ws_status ws_segment_file_create_at(struct ws_segment_file *out, const char *path,
                                         const struct ws_seg_opts *opts, struct ws_err *err)
{
	struct ws_seg_opts made = *opts;
	int fd;

	WS_FAIL_IF(!ws_seg_size(opts), err, BUG, "a segment cannot have these sizes");
	WS_FORWARD(open_own(out, path, O_CREAT | O_EXCL, &fd, err));
	enum ws_status status = make_room(out, fd, &made, err);
	close(fd);
	if (status != WS_OK) {
		unlink_own(out->path);
		return status;
	}
	ws_seg_init(out->seg, &made);
	return WS_OK;
}

enum ws_status ws_segment_file_create(struct ws_segment_file *out, const char *dir,
                                      const struct ws_seg_opts *opts, struct ws_err *err)
{
	char path[PATH_MAX];
	struct statfs fs;
	uint64_t random;

	memset(out, 0, sizeof(*out));
	WS_FAIL_IF(getrandom(&random, sizeof(random), 0) != sizeof(random), err, ENVIRONMENT,
	           "no random numbers: %s", strerror(errno));
	/* Other problems of the folder are found when it is opened. A tmpfs without a limit has 0
	 * blocks. */
	WS_FAIL_IF(!statfs(dir, &fs) && fs.f_blocks &&
	                   (uint64_t)fs.f_bavail < ws_seg_room(opts) / (uint64_t)fs.f_bsize + 1,
	           err, ENVIRONMENT, "%s has no room for a segment of %llu MiB", dir,
	           (unsigned long long)(ws_seg_room(opts) >> 20));
	int n = snprintf(path, sizeof(path), "%s/" WS_SEG_PREFIX "%ld-%016llx", dir, (long)getpid(),
	                 (unsigned long long)random);
	WS_FAIL_IF(n < 0 || (size_t)n >= sizeof(path), err, USAGE, "the path %s is too long", dir);
	return ws_segment_file_create_at(out, path, opts, err);
}

/* Reads whether a process has attached first: the fixed part is complete by then. */
static enum ws_status map_own(struct ws_segment_file *out, int fd, struct ws_err *err)
{
	static const off_t copies[] = {0, WS_SEG_SPARE};
	const char *problem = "not a segment of a recording";
	struct ws_seg_header *fixed = NULL;
	uint32_t attached = 0;
	struct stat st;

	WS_FAIL_IF(fstat(fd, &st), err, IO_READ, "cannot read %s: %s", out->path, strerror(errno));
	WS_FAIL_IF(st.st_size < WS_SEG_HEADER_SIZE, err, CORRUPT, "%s is %s", out->path, problem);
	out->is_attached = pread(fd, &attached, sizeof(attached),
	                         offsetof(struct ws_seg_header, attached)) == sizeof(attached) &&
	                   attached;
	WS_FORWARD(make_fixed(&fixed, out->path, err));
	for (size_t i = 0; problem && i < sizeof(copies) / sizeof(*copies); i++) {
		const char *wrong = problem;

		if (pread(fd, fixed, WS_SEG_PAGE, copies[i]) == WS_SEG_PAGE)
			wrong = ws_seg_problem(fixed, (uint64_t)st.st_size);
		problem = !wrong || !i
		                  ? wrong
		                  : problem; /* the message about the first copy is more useful */
	}
	out->size = fixed->total_size;
	enum ws_status status =
	        problem ? WS_FAIL(err, CORRUPT, "%s cannot be salvaged: %s", out->path, problem)
	                : map(out, fd, (uint64_t)st.st_size, err);
	if (status != WS_OK) {
		munmap(fixed, WS_SEG_FIXED_SIZE);
		return status;
	}
	status = put_fixed(out, fixed, err);
	if (status != WS_OK)
		ws_segment_file_close(out);
	return status;
}

enum ws_status ws_segment_file_open(struct ws_segment_file *out, const char *path,
                                    struct ws_err *err)
{
	struct stat st;
	int fd;

	memset(out, 0, sizeof(*out));
	WS_FAIL_IF(lstat(path, &st), err, IO_READ, "cannot open the segment %s: %s", path,
	           strerror(errno));
	WS_FORWARD(open_own(out, path, 0, &fd, err));
	enum ws_status status = map_own(out, fd, err);
	close(fd);
	return status;
}

enum ws_status ws_segment_file_lock(struct ws_segment_file *file, struct ws_err *err)
{
	const struct ws_proc launcher = ws_seg_process(&file->seg->launcher);
	struct ws_segment_file opened;
	char holder[32] = "another process";
	int fd;

	WS_FORWARD(open_own(&opened, file->path, 0, &fd, err));
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		file->lock = fd + 1;
		return WS_OK;
	}
	close(fd);
	if (ws_proc_alive(launcher))
		snprintf(holder, sizeof(holder), "process %u", (unsigned)launcher.pid);
	return WS_FAIL(err, ENVIRONMENT, "%s is being salvaged by %s; wait for it to end",
	               file->path, holder);
}

void ws_segment_file_leave_word(const char *first_path)
{
	static char path[PATH_MAX]; /* the thread's stack may be small */
	int n = snprintf(path, sizeof(path), "%s" WS_SEG_FURTHER "%u-0", first_path,
	                 (unsigned)getpid());

	if (n > 0 && (size_t)n < sizeof(path))
		(void)!mknod(path, S_IFREG, 0);
}

bool ws_segment_file_is_word(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && !(st.st_mode & 0777) &&
	       st.st_uid == geteuid();
}

void ws_segment_file_close(struct ws_segment_file *file)
{
	if (file->seg && file->lock)
		close(file->lock - 1);
	if (file->seg)
		munmap(file->seg, file->size);
	file->seg = NULL;
}

void ws_segment_file_remove(struct ws_segment_file *file)
{
	if (file->seg) {
		char *path = file->path, *slash;

		unlink_own(path);
		/* A folder made beside a trace has only its segments. It is kept while one of them
		 * exists. */
		slash = strrchr(path, '/');
		if (slash) {
			*slash = 0;
			if (!strncmp(ws_path_name(path), WS_SEG_BESIDE, strlen(WS_SEG_BESIDE)))
				ws_own_folder_remove(path);
			*slash = '/';
		}
	}
	ws_segment_file_close(file);
}

enum ws_status ws_segment_file_create_beside(struct ws_segment_file *out, const char *file,
                                             const struct ws_seg_opts *opts, struct ws_err *err)
{
	char dir[PATH_MAX];

	/* Makes a folder beside this file. It is removed with its last segment. ENVIRONMENT. */
	const char *name;
	const int before = (int)(ws_path_name(file) - file);
	int n = snprintf(dir, PATH_MAX, "%.*s" WS_SEG_BESIDE "XXXXXXXX", before, file);

	WS_FAIL_IF(n < 0 || n >= PATH_MAX, err, USAGE, "the path %s is too long", file);
	int folder = ws_own_file_folder(dir, &name);
	int result = folder < 0 ? -1 : ws_name_temporary(folder, dir + before, 0700, true);
	if (result)
		WS_FAIL(err, ENVIRONMENT, "cannot make the folder %s: %s", dir, strerror(errno));
	if (folder >= 0)
		close(folder);
	WS_FORWARD(result ? WS_ENVIRONMENT : WS_OK);
	enum ws_status status = ws_segment_file_create(out, dir, opts, err);
	if (status != WS_OK)
		ws_own_folder_remove(dir);
	return status;
}
