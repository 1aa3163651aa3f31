#include "report/export/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/base/own_file.h"
#include "formats/base/xalloc.h"

#define BUFFER_BYTES (1u << 17)

struct gzip {
	gzFile gz;
	int first_errno; /* of the first failure: zlib tells no other */
};

/* 0: nothing taken, an error. */
static ssize_t put(void *cookie, const char *bytes, size_t size)
{
	struct gzip *g = cookie;

	int code;

	errno = 0;
	if (gzwrite(g->gz, bytes, (unsigned)size) == (int)size)
		return (ssize_t)size;
	gzerror(g->gz, &code);
	if (code == Z_MEM_ERROR)
		ws_out_of_memory(BUFFER_BYTES);
	if (!g->first_errno)
		g->first_errno = errno ? errno : EIO;
	errno = g->first_errno;
	return 0;
}

static int end(void *cookie)
{
	struct gzip *g = cookie;
	int code, why;

	errno = 0;
	code = gzclose_w(g->gz);
	why = g->first_errno ? g->first_errno : code == Z_ERRNO && errno ? errno : EIO;
	free(g);
	errno = why;
	return code == Z_OK ? 0 : EOF;
}

enum ws_status ws_export_gzip_open(FILE **f, const char *path, struct ws_err *err)
{
	const cookie_io_functions_t functions = {.write = put, .close = end};
	struct gzip *g;
	int fd;

	*f = NULL;
	WS_FORWARD(ws_own_file_create(AT_FDCWD, path, path, &fd, err));
	g = ws_xarray(1, sizeof(*g));
	g->gz = gzdopen(fd, "wb6");
	if (!g->gz)
		ws_out_of_memory(BUFFER_BYTES);
	gzbuffer(g->gz, BUFFER_BYTES);
	*f = fopencookie(g, "w", functions);
	if (!*f)
		ws_out_of_memory(BUFFER_BYTES);
	setvbuf(*f, NULL, _IOFBF, BUFFER_BYTES);
	return WS_OK;
}
