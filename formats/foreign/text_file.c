#include "formats/foreign/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/base/xalloc.h"

#define GZ_BUFFER_BYTES (1u << 18)

enum ws_status ws_text_file_open(struct ws_text_file *f, const char *path, struct ws_err *err)
{
	/* a pipe without a writer would be waited for */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st = {0};

	*f = (struct ws_text_file){0};
	WS_FAIL_IF(fd < 0, err, IO_READ, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
		close(fd);
		return WS_FAIL(
		        err, IO_READ,
		        "cannot import %s: it is not a regular file, and it must be read twice",
		        path);
	}
	f->size_bytes = (uint64_t)st.st_size;
	f->gz = gzdopen(fd, "rb");
	if (!f->gz)
		ws_out_of_memory(GZ_BUFFER_BYTES);
	gzbuffer(f->gz, GZ_BUFFER_BYTES);
	return WS_OK;
}

enum ws_status ws_text_file_read(void *ctx, void *buf, size_t size, size_t *got, struct ws_err *err)
{
	struct ws_text_file *f = ctx;
	int n = gzread(f->gz, buf, size > INT_MAX ? (unsigned)INT_MAX : (unsigned)size);
	int code;

	gzerror(f->gz, &code);
	*got = n > 0 ? (size_t)n : 0;
	WS_FAIL_IF(n < 0 && code == Z_ERRNO, err, IO_READ, "cannot read: %s", strerror(errno));
	if (n < 0 && code == Z_MEM_ERROR)
		ws_out_of_memory(GZ_BUFFER_BYTES);
	/* what was decompressed before the damage is read all the same */
	f->damaged |= n < 0 || code == Z_BUF_ERROR;
	if (f->out)
		ws_import_tell(f->out, (uint64_t)gzoffset(f->gz), f->size_bytes);
	return WS_OK;
}

bool ws_text_file_is_gzip(struct ws_text_file *f)
{
	return !gzdirect(f->gz);
}

void ws_text_file_close(struct ws_text_file *f)
{
	gzclose_r(f->gz);
}
