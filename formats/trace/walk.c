#include "formats/trace/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/xalloc.h"
#include "formats/base/checksum.h"
#include "formats/base/grow.h"
#include "formats/base/outfile.h"

/* --- a file as read-only memory --- */

enum ws_status ws_trace_map_open(struct ws_trace_map *map, const char *path, struct ws_err *err)
{
	enum ws_status status = WS_OK;
	void *data = NULL;
	struct stat st;
	int fd;

	*map = (struct ws_trace_map){0};
	/* O_NONBLOCK: a pipe without a writer must not block */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	WS_FAIL_IF(fd < 0, err, IO_READ, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st))
		status = WS_FAIL(err, IO_READ, "cannot read %s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		status = WS_FAIL(err, IO_READ, "cannot read %s: not a regular file", path);
	else if ((uint64_t)st.st_size > SIZE_MAX)
		status = WS_FAIL(err, IO_READ, "cannot read %s: too large", path);
	else if (st.st_size)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		status = WS_FAIL(err, IO_READ, "cannot read %s: %s", path, strerror(errno));
	else if (data)
		*map = (struct ws_trace_map){data, (size_t)st.st_size};
	ws_allowance_file(map->size);
	close(fd);
	return status;
}

/* Let go of pages of a map: they stop counting as this program's memory until they are read again.
 * In memory other than a map the data would be lost. */
static void let_go(const void *data, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)data % page;

	madvise((uint8_t *)(uintptr_t)data - before, size + before, MADV_DONTNEED);
}

/* The file of a map was cut: there is no memory behind its new end. */
static void on_missing_page(int number, siginfo_t *info, void *context)
{
	static const char words[] =
	        "warpsheet: an input was cut short while it was read. Try again when nobody "
	        "writes to it\n";

	(void)context;
	if (info->si_code == BUS_ADRERR) {
		ssize_t ignored = write(STDERR_FILENO, words, sizeof(words) - 1);

		(void)ignored;
		/* both only read memory and call unlink() */
		ws_outfile_remove_unfinished();         /* NOLINT(bugprone-signal-handler) */
		_exit(ws_status_exit_code(WS_IO_READ)); /* NOLINT(bugprone-signal-handler) */
	}
	raise(number); /* as without us: SA_RESETHAND */
}

void ws_trace_map_end_well_when_cut(void)
{
	struct sigaction action = {.sa_sigaction = on_missing_page,
	                           .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

void ws_trace_map_close(struct ws_trace_map *map)
{
	if (map->data)
		munmap((void *)map->data, map->size);
	*map = (struct ws_trace_map){0};
}

/* --- from block to block --- */

void ws_check_finding_emit(ws_finding_fn fn, void *ctx, enum ws_finding_level level,
                           uint64_t offset, const char *fmt, ...)
{
	struct ws_check_finding finding = {.level = level, .offset = offset};
	va_list ap;

	if (!fn)
		return;
	va_start(ap, fmt);
	vsnprintf(finding.text, sizeof(finding.text), fmt, ap);
	va_end(ap);
	fn(ctx, &finding);
}

/* What lies at an offset. */
enum piece {
	PIECE_WHOLE,    /* a block, body checksum right */
	PIECE_BAD_BODY, /* a right header, a wrong body */
	PIECE_CUT,      /* a right header, but the file ends before the body does */
	PIECE_NO_BLOCK, /* no right header */
};

static enum piece look(const struct ws_walk *w, size_t pos, size_t end, struct ws_block_header *h,
                       struct ws_err *why)
{
	const uint8_t *block = w->data + pos;
	char label[WS_BLOCK_LABEL_BYTES];
	size_t left = end - pos;

	if (ws_block_header_get(block, left, pos, h, why) != WS_OK)
		return PIECE_NO_BLOCK;
	ws_block_label(label, h->kind, pos);
	left -= WS_BLOCK_HEADER_BYTES;
	if (h->body_size > left) {
		WS_FAIL(why, CORRUPT, "%s: cut off, %zu of its %" PRIu64 " bytes are there", label,
		        left + WS_BLOCK_HEADER_BYTES, h->body_size + WS_BLOCK_HEADER_BYTES);
		return PIECE_CUT;
	}
	if (ws_checksum(block + WS_BLOCK_HEADER_BYTES, h->body_size) != h->body_checksum) {
		WS_FAIL(why, CORRUPT, "%s: the checksum of its body is wrong", label);
		return PIECE_BAD_BODY;
	}
	return PIECE_WHOLE;
}

static bool header_at(const struct ws_walk *w, size_t pos, size_t end)
{
	struct ws_block_header h;

	return ws_block_header_get(w->data + pos, end - pos, pos, &h, NULL) == WS_OK;
}

/* The next place after pos with a right block header, or end. */
static size_t resync(const struct ws_walk *w, size_t pos, size_t end)
{
	size_t p = pos - pos % WS_ALIGN_BYTES + WS_ALIGN_BYTES;

	for (; p < end && end - p >= WS_BLOCK_HEADER_BYTES; p += WS_ALIGN_BYTES)
		if (header_at(w, p, end))
			return p;
	return end;
}

/*
 * The end of the damaged stretch at pos. If the header is right and the body is not, the length in
 * the header is trusted when something right follows the body. Otherwise bytes may be missing from
 * the body, so that later blocks begin within its length: the search begins behind the header. A
 * file can be made to hold many such bodies one inside the other; once the bodies that were wrong
 * add up to several times its size, lengths are trusted, so that the search ends.
 */
static size_t end_of_damage(struct ws_walk *w, enum piece piece, size_t pos, size_t end,
                            const struct ws_block_header *h)
{
	if (piece == PIECE_BAD_BODY) {
		size_t next = pos + WS_BLOCK_HEADER_BYTES + h->body_size;

		w->hashed_in_vain += h->body_size;
		if (next == end || header_at(w, next, end) || w->hashed_in_vain / 8 > w->size)
			return next;
	}
	return resync(w, pos, end);
}

#define LET_GO_BYTES ((size_t)1 << 20)

/* Let go of the pages from *begun to pos if they are many. */
static void let_go_of_many(const struct ws_walk *w, size_t *begun, size_t pos)
{
	if (!w->is_map || pos - *begun < LET_GO_BYTES)
		return;
	let_go(w->data + *begun, pos - *begun);
	*begun = pos;
}

uint64_t ws_walk_checksum(const struct ws_walk *w)
{
	struct ws_checksum sum;
	size_t begun = 0;

	ws_checksum_begin(&sum);
	for (size_t pos = 0, n; pos < w->size; pos += n) {
		n = w->size - pos < LET_GO_BYTES ? w->size - pos : LET_GO_BYTES;
		ws_checksum_add(&sum, w->data + pos, n);
		let_go_of_many(w, &begun, pos + n);
	}
	return ws_checksum_end(&sum);
}

void ws_walk_run(struct ws_walk *w, const void *data, size_t size, bool is_map, ws_finding_fn fn,
                 void *ctx)
{
	size_t begun = 0, pos = WS_FILE_HEADER_BYTES, end = size;

	*w = (struct ws_walk){.data = data, .size = size, .is_map = is_map};
	w->has_trailer = ws_trailer_get(data, size, &w->trailer, &w->no_trailer) == WS_OK;
	if (w->has_trailer)
		end -= WS_TRAILER_BYTES;

	while (pos < end) {
		struct ws_block_header h;
		struct ws_err why;
		enum piece piece;
		size_t next;

		let_go_of_many(w, &begun, pos);
		piece = look(w, pos, end, &h, &why);
		if (piece != PIECE_WHOLE) {
			next = end_of_damage(w, piece, pos, end, &h);
			w->damaged++;
			w->skipped_bytes += next - pos;
			ws_check_finding_emit(fn, ctx, WS_FINDING_DAMAGE, pos,
			                      "%s; %zu bytes are lost", why.text, next - pos);
			pos = next;
			continue;
		}
		WS_GROW(w->blocks, w->nblocks + 1, w->capacity);
		w->blocks[w->nblocks++] = (struct ws_block_info){
		        .offset = pos,
		        .size = h.body_size + WS_BLOCK_HEADER_BYTES,
		        .sequence = h.sequence,
		        .kind = h.kind,
		        .rows = h.rows,
		        .api_rows = h.api_rows,
		        .ncolumns = h.ncolumns,
		        .time_min_ns = h.time_min_ns,
		        .time_max_ns = h.time_max_ns,
		};
		pos += WS_BLOCK_HEADER_BYTES + h.body_size;
	}
}

void ws_walk_free(struct ws_walk *w)
{
	free(w->blocks);
	w->blocks = NULL;
	w->nblocks = w->capacity = 0;
}

enum ws_status ws_walk_view(const struct ws_walk *w, size_t i, struct ws_block_view *view,
                            struct ws_err *err)
{
	const struct ws_block_info *info = &w->blocks[i];
	struct ws_block_header header;

	/* the header was right when the block was found */
	ws_block_header_get(w->data + info->offset, info->size, info->offset, &header, NULL);
	return ws_block_view_open(view, &header, w->data + info->offset + WS_BLOCK_HEADER_BYTES,
	                          info->offset, err);
}

/* When a page is read, Linux also maps what it has of the aligned stretch of this size around it.
 */
#define MAPPED_AROUND 65536u

void ws_walk_let_go(const struct ws_walk *w, size_t i)
{
	const uint64_t offset = w->blocks[i].offset, end = offset + w->blocks[i].size;
	const uint64_t from = offset < MAPPED_AROUND ? 0 : offset - MAPPED_AROUND;
	const uint64_t to = w->size - end < MAPPED_AROUND ? w->size : end + MAPPED_AROUND;

	if (w->is_map)
		let_go(w->data + from, to - from);
}
