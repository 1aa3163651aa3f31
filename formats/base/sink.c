#include "formats/base/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/own_file.h"
#include "formats/base/xalloc.h"

void ws_sink_open_mem(struct ws_sink *s)
{
	memset(s, 0, sizeof(*s));
	s->fd = -1;
}

/* What somebody else opened, as a shell does stdout, may hold more than ours. */
static bool can_cut(int fd, const char *path)
{
	struct stat st;

	return ws_own_file_descriptor(path) < 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
}

enum ws_status ws_sink_open_fd(struct ws_sink *s, int fd, const char *path, struct ws_err *err)
{
	int cause;

	ws_sink_open_mem(s);
	s->path = ws_xstrdup(path);
	s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	cause = errno;
	s->can_cut = can_cut(s->fd, path);
	if (s->fd >= 0)
		return WS_OK;
	ws_sink_free(s);
	return WS_FAIL(err, IO_WRITE, "cannot open %s: %s", path, strerror(cause));
}

enum ws_status ws_sink_cut(struct ws_sink *s, uint64_t size, struct ws_err *err)
{
	WS_FAIL_IF(ftruncate(s->fd, (off_t)size) || lseek(s->fd, (off_t)size, SEEK_SET) < 0, err,
	           IO_WRITE, "cannot cut %s to %llu bytes: %s", s->path, (unsigned long long)size,
	           strerror(errno));
	s->size = size;
	return WS_OK;
}

/* Room for what is appended next and the reserve behind it, before the first byte is written. */
static enum ws_status keep_room(struct ws_sink *s, size_t len, struct ws_err *err)
{
	int result;

	do {
		result = fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)s->size,
		                   (off_t)(len + s->reserve));
	} while (result && errno == EINTR);
	if (!result)
		return WS_OK;
	if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
		return WS_FAIL(err, IO_WRITE, "cannot write to %s: %s", s->path, strerror(errno));
	s->reserve = 0; /* a device, a pipe, a file system that cannot */
	return WS_OK;
}

enum ws_status ws_sink_reserve(struct ws_sink *s, uint64_t bytes, struct ws_err *err)
{
	s->reserve = s->can_cut ? bytes : 0;
	return s->reserve ? keep_room(s, 0, err) : WS_OK;
}

enum ws_status ws_sink_append(struct ws_sink *s, const void *bytes, size_t len, struct ws_err *err)
{
	const uint8_t *p = bytes;
	size_t left = len;

	if (s->fd < 0) {
		ws_buf_put(&s->mem, bytes, len);
		s->size += len;
		return WS_OK;
	}
	if (s->reserve)
		WS_FORWARD(keep_room(s, len, err));
	while (left) {
		ssize_t n = write(s->fd, p, left);
		int cause = errno;

		if (n < 0 && cause == EINTR)
			continue;
		if (n < 0) {
			/* best effort: a reader skips half a block, too */
			if (left != len && s->can_cut && !ftruncate(s->fd, (off_t)s->size))
				lseek(s->fd, (off_t)s->size, SEEK_SET);
			return WS_FAIL(err, IO_WRITE, "cannot write to %s: %s", s->path,
			               strerror(cause));
		}
		p += n;
		left -= (size_t)n;
	}
	s->size += len;
	return WS_OK;
}

enum ws_status ws_sink_close(struct ws_sink *s, struct ws_err *err)
{
	int cause = 0;

	if (s->fd < 0)
		return WS_OK;
	/* what was kept behind the end goes back */
	if (s->reserve && ftruncate(s->fd, (off_t)s->size))
		cause = errno;
	/* some files cannot be synced, /dev/null for one: no reason to fail */
	if (fsync(s->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
		cause = errno;
	if (close(s->fd) != 0 && !cause)
		cause = errno;
	s->fd = -1;
	WS_FAIL_IF(cause, err, IO_WRITE, "cannot write to %s: %s", s->path, strerror(cause));
	return WS_OK;
}

void ws_sink_free(struct ws_sink *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
	ws_buf_free(&s->mem);
	s->path = NULL;
	s->fd = -1;
}
