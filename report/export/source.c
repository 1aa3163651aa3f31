#include <zlib.h>

#include "formats/base/system/system.h"
#include "report/export/exporter.h"

#define TELL_ROWS 65536u /* reporting every row would be slower than the row */

void ws_export_progress_begin(struct ws_export_progress *p, const struct ws_trace_reader *r,
                              const struct ws_export_opts *opts)
{
	*p = (struct ws_export_progress){.opts = opts};
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++)
		p->total += ws_trace_reader_block(r, i)->rows;
}

void ws_export_progress_tell(struct ws_export_progress *p, uint64_t rows)
{
	const uint64_t before = p->done, left = p->total - before;

	p->done += rows < left ? rows : left;
	if (p->opts->progress && before / TELL_ROWS != p->done / TELL_ROWS)
		p->opts->progress(p->opts->progress_ctx, p->done, p->total);
}

bool ws_export_has_time(enum ws_kind kind, const void *row)
{
	const struct ws_row_kernel *kernel = row;
	const struct ws_row_memcpy *copy = row;
	const struct ws_row_memset *fill = row;

	switch (kind) {
	case WS_KIND_KERNEL:
		return !(kernel->flags & WS_KERNEL_NO_TIME) && kernel->dur_ns >= 0;
	case WS_KIND_MEMCPY:
		return !(copy->flags & WS_COPY_NO_TIME) && copy->dur_ns >= 0;
	case WS_KIND_MEMSET:
		return !(fill->flags & WS_COPY_NO_TIME) && fill->dur_ns >= 0;
	default:
		return true;
	}
}

bool ws_export_is_driver_call(struct ws_bytes name)
{
	const char *p = name.ptr;

	return name.len > 2 && p[0] == 'c' && p[1] == 'u' && p[2] >= 'A' && p[2] <= 'Z';
}

uint64_t ws_export_unique(struct ws_strtab *used, uint64_t group, uint64_t wanted, uint64_t from,
                          uint64_t *made)
{
	uint64_t key[2] = {group, wanted};
	bool is_free = wanted < from;

	while (!is_free || ws_strtab_find(used, key, sizeof(key))) {
		key[1] = (*made)++;
		is_free = true;
	}
	ws_strtab_add(used, key, sizeof(key));
	return key[1];
}

/* --- gzip --- */

#define BUFFER_BYTES (1u << 17)

struct gzip {
	gzFile gz;
	int first_errno; /* of the first failure, which zlib does not report */
};

/* Returns 0 on error. */
static size_t write_gzip(void *cookie, const char *bytes, size_t size)
{
	struct gzip *g = cookie;
	int code;

	errno = 0;
	if (gzwrite(g->gz, bytes, (unsigned)size) == (int)size)
		return size;
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

	errno = 0;
	int code = gzclose_w(g->gz);
	int why = g->first_errno ? g->first_errno : code == Z_ERRNO && errno ? errno : EIO;
	free(g);
	errno = why;
	return code == Z_OK ? 0 : EOF;
}

enum ws_status ws_export_gzip_open(FILE **f, FILE *to, struct ws_err *err)
{
	const struct ws_stream_functions functions = {write_gzip, end};
	const int fd = ws_file_copy_handle(fileno(to), true);

	*f = NULL;
	WS_FAIL_IF(fd < 0, err, IO_WRITE, "%s", strerror(errno));
	struct gzip *g = ws_xarray(1, sizeof(*g));
	g->gz = gzdopen(fd, "wb6");
	if (!g->gz)
		ws_out_of_memory(BUFFER_BYTES);
	gzbuffer(g->gz, BUFFER_BYTES);
	*f = ws_stream_open(&functions, g);
	if (!*f)
		ws_out_of_memory(BUFFER_BYTES);
	setvbuf(*f, NULL, _IOFBF, BUFFER_BYTES);
	return WS_OK;
}
