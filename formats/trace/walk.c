#include "formats/trace/walk.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/checksum.h"
#include "formats/base/grow.h"
#include "formats/trace/map.h"

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

/* The next place behind pos where a block header is right, or end. */
static size_t resync(const struct ws_walk *w, size_t pos, size_t end)
{
	size_t p = pos - pos % WS_ALIGN_BYTES + WS_ALIGN_BYTES;

	for (; p < end && end - p >= WS_BLOCK_HEADER_BYTES; p += WS_ALIGN_BYTES)
		if (header_at(w, p, end))
			return p;
	return end;
}

static void keep_block(struct ws_walk *w, size_t pos, const struct ws_block_header *h)
{
	WS_GROW(w->blocks, w->nblocks + 1, w->capacity);
	w->blocks[w->nblocks++] = (struct ws_block_info){
	        .offset = pos,
	        .size = h->body_size + WS_BLOCK_HEADER_BYTES,
	        .sequence = h->sequence,
	        .kind = h->kind,
	        .rows = h->rows,
	        .api_rows = h->api_rows,
	        .ncolumns = h->ncolumns,
	        .time_min_ns = h->time_min_ns,
	        .time_max_ns = h->time_max_ns,
	};
}

/*
 * The end of the damaged stretch at pos. The length in a right header of a
 * damaged body is trusted where something whole follows; else blocks may have
 * slid into this one's place, and the search begins behind its header. A file
 * made to have many such bodies inside each other is not searched for ever:
 * the length is trusted, too, once the work in vain was several file sizes.
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

/* Let go of the pages from *begun to pos when they are many. */
static void let_go(const struct ws_walk *w, size_t *begun, size_t pos)
{
	if (!w->is_map || pos - *begun < LET_GO_BYTES)
		return;
	ws_trace_map_let_go(w->data + *begun, pos - *begun);
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
		let_go(w, &begun, pos + n);
	}
	return ws_checksum_end(&sum);
}

void ws_walk_run(struct ws_walk *w, const void *data, size_t size, int is_map, ws_finding_fn fn,
                 void *ctx)
{
	size_t begun = 0, pos = WS_FILE_HEADER_BYTES, end = size;

	memset(w, 0, sizeof(*w));
	w->data = data;
	w->size = size;
	w->is_map = is_map;
	w->has_trailer = ws_trailer_get(data, size, &w->trailer, &w->no_trailer) == WS_OK;
	if (w->has_trailer)
		end -= WS_TRAILER_BYTES;

	while (pos < end) {
		struct ws_block_header h;
		struct ws_err why;
		enum piece piece;
		size_t next;

		let_go(w, &begun, pos);
		piece = look(w, pos, end, &h, &why);
		if (piece == PIECE_WHOLE) {
			keep_block(w, pos, &h);
			pos += WS_BLOCK_HEADER_BYTES + h.body_size;
			continue;
		}
		next = end_of_damage(w, piece, pos, end, &h);
		w->damaged++;
		w->skipped_bytes += next - pos;
		ws_check_finding_emit(fn, ctx, WS_FINDING_DAMAGE, pos, "%s; %zu bytes are lost",
		                      why.text, next - pos);
		pos = next;
	}
}

void ws_walk_free(struct ws_walk *w)
{
	free(w->blocks);
	w->blocks = NULL;
	w->nblocks = w->capacity = 0;
}

void ws_walk_block_header(const struct ws_walk *w, size_t i, struct ws_block_header *header)
{
	const struct ws_block_info *info = &w->blocks[i];

	/* was right when the block was found */
	ws_block_header_get(w->data + info->offset, info->size, info->offset, header, NULL);
}

const uint8_t *ws_walk_block_body(const struct ws_walk *w, size_t i)
{
	return w->data + w->blocks[i].offset + WS_BLOCK_HEADER_BYTES;
}

/* With a page Linux maps what it has of an aligned stretch of this many bytes around it. */
#define MAPPED_AROUND 65536u

void ws_walk_let_go(const struct ws_walk *w, size_t i)
{
	const uint64_t offset = w->blocks[i].offset, end = offset + w->blocks[i].size;
	const uint64_t from = offset < MAPPED_AROUND ? 0 : offset - MAPPED_AROUND;
	const uint64_t to = w->size - end < MAPPED_AROUND ? w->size : end + MAPPED_AROUND;

	if (w->is_map)
		ws_trace_map_let_go(w->data + from, to - from);
}
