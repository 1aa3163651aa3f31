#include "report/export/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/base/own_file.h"
#include "formats/base/xalloc.h"

#define BUFFER_BYTES (1u << 17)

/* 0: nothing taken, an error. */
static ssize_t put(void *cookie, const char *bytes, size_t size)
{
	errno = 0;
	if (gzwrite(cookie, bytes, (unsigned)size) == (int)size)
		return (ssize_t)size;
	errno = errno ? errno : EIO;
	return 0;
}

static int end(void *cookie)
{
	int code;

	errno = 0;
	code = gzclose_w(cookie);
	if (code != Z_OK && !(code == Z_ERRNO && errno))
		errno = EIO;
	return code == Z_OK ? 0 : EOF;
}

enum ws_status ws_export_gzip_open(FILE **f, const char *path, struct ws_err *err)
{
	const cookie_io_functions_t functions = {.write = put, .close = end};
	gzFile gz;
	int fd;

	*f = NULL;
	WS_FORWARD(ws_own_file_create(AT_FDCWD, path, path, &fd, err));
	gz = gzdopen(fd, "wb6");
	if (!gz)
		ws_out_of_memory(BUFFER_BYTES);
	gzbuffer(gz, BUFFER_BYTES);
	*f = fopencookie(gz, "w", functions);
	if (!*f)
		ws_out_of_memory(BUFFER_BYTES);
	setvbuf(*f, NULL, _IOFBF, BUFFER_BYTES);
	return WS_OK;
}
