/* --- a file as read-only memory --- */
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/base/system/system.h"
#include "formats/trace/internal.h"

enum ws_status ws_trace_map_take(struct ws_trace_map *map, int fd, const char *path,
                                 struct ws_err *err)
{
	struct ws_file_info file;
	const void *data = NULL;

	*map = (struct ws_trace_map){0};
	WS_FAIL_IF(ws_file_look(fd, NULL, false, &file), err, IO_READ, "cannot read %s: %s", path,
	           strerror(errno));
	WS_FAIL_IF(file.type != WS_FILE_REGULAR, err, IO_READ, "cannot read %s: not a regular file",
	           path);
	WS_FAIL_IF(file.size > SIZE_MAX, err, IO_READ, "cannot read %s: too large", path);
	if (file.size)
		data = ws_file_map(fd, (size_t)file.size);
	WS_FAIL_IF(file.size && !data, err, IO_READ, "cannot read %s: %s", path, strerror(errno));
	*map = (struct ws_trace_map){data, (size_t)file.size};
	ws_allowance_file(map->size);
	return WS_OK;
}

enum ws_status ws_trace_map_open(struct ws_trace_map *map, const char *path, struct ws_err *err)
{
	/* do not wait for the writer of a pipe */
	const int fd = ws_file_open(WS_HERE, path, WS_FILE_READ, 0);

	*map = (struct ws_trace_map){0};
	WS_FAIL_IF(fd < 0, err, IO_READ, "cannot open %s: %s", path, strerror(errno));
	enum ws_status status = ws_trace_map_take(map, fd, path, err);
	close(fd);
	return status;
}

/* The file of a map was cut: there is no memory behind its new end. */
static void end_cut(void)
{
	static const char words[] = "warpsheet: an input was cut short while it was read. Try "
	                            "again when nobody writes to it\n";
	ssize_t ignored = write(STDERR_FILENO, words, sizeof(words) - 1);

	(void)ignored;
	/* both only read memory and remove names */
	ws_outfile_remove_unfinished();         /* NOLINT(bugprone-signal-handler) */
	_exit(ws_status_exit_code(WS_IO_READ)); /* NOLINT(bugprone-signal-handler) */
}

void ws_trace_map_end_well_when_cut(void)
{
	ws_file_map_when_cut(end_cut);
}

void ws_trace_map_close(struct ws_trace_map *map)
{
	if (map->data)
		ws_file_unmap(map->data, map->size);
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

/* The kind of data at an offset. */
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

	/* The next place after pos with a right block header, or end. */
	size_t p = pos - pos % WS_ALIGN_BYTES + WS_ALIGN_BYTES;

	for (; p < end && end - p >= WS_BLOCK_HEADER_BYTES; p += WS_ALIGN_BYTES)
		if (header_at(w, p, end))
			return p;
	return end;
}

#define LET_GO_BYTES ((size_t)1 << 20)

/* Releases the pages from *begun to pos if there are many. */
static void let_go_of_many(const struct ws_walk *w, size_t *begun, size_t pos)
{
	if (!w->is_map || pos - *begun < LET_GO_BYTES)
		return;
	ws_file_map_let_go(w->data + *begun, pos - *begun);
	*begun = pos;
}

void ws_walk_run(struct ws_walk *w, const void *data, size_t size, bool is_map, ws_finding_fn fn,
                 void *ctx)
{
	size_t begun = 0, pos = WS_FILE_HEADER_BYTES, end = size;
	struct ws_file_header header;
	/* of a file with pieces, else 0; blocks with lower numbers repeat earlier ones */
	uint64_t kept_from = 0, repeated_below = 0;
	bool has_piece = false;

	if (ws_file_header_get(data, size, &header, NULL) == WS_OK)
		kept_from = header.kept_from;
	*w = (struct ws_walk){.data = data, .size = size, .is_map = is_map};
	w->has_trailer = ws_trailer_get(data, size, &w->trailer, &w->no_trailer) == WS_OK;
	if (w->has_trailer)
		end -= WS_TRAILER_BYTES;

	while (pos < end) {
		struct ws_block_header h;
		struct ws_err why;
		size_t next;

		let_go_of_many(w, &begun, pos);
		enum piece piece = look(w, pos, end, &h, &why);
		if (piece != PIECE_WHOLE) {
			next = end_of_damage(w, piece, pos, end, &h);
			w->damaged++;
			w->skipped_bytes += next - pos;
			ws_check_finding_emit(fn, ctx, WS_FINDING_DAMAGE, pos,
			                      "%s; %zu bytes are lost", why.text, next - pos);
			pos = next;
			continue;
		}
		next = pos + WS_BLOCK_HEADER_BYTES + h.body_size;
		if (h.sequence >= w->next_sequence)
			w->next_sequence = h.sequence + 1;
		if (kept_from && h.kind == WS_KIND_INDEX) {
			repeated_below = has_piece ? h.sequence + h.rows : 0;
			if (has_piece) {
				pos = next;
				continue;
			}
			has_piece = true;
		} else if (h.sequence < repeated_below) {
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
		/* behind the schema block, the first pieces are gone */
		pos = next < kept_from && !has_piece && kept_from < end ? kept_from : next;
	}
}

void ws_walk_free(struct ws_walk *w)
{
	free(w->blocks);
	w->blocks = NULL;
	w->nblocks = w->capacity = 0;
}

/* What block i could not be read for: a flight recorder may free it meanwhile, so that it is zeros.
 */
static enum ws_status failure_of(const struct ws_walk *w, size_t i, enum ws_status status,
                                 struct ws_err *err)
{
	struct ws_file_header now;

	/* the first block is the schema, which stays before what is kept */
	if (status != WS_OK && i && ws_file_header_get(w->data, w->size, &now, NULL) == WS_OK &&
	    w->blocks[i].offset < now.kept_from)
		return WS_FAIL(err, IO_READ, WS_DROPPED_MEANWHILE);
	return status;
}

enum ws_status ws_walk_view(const struct ws_walk *w, size_t i, struct ws_block_view *view,
                            struct ws_err *err)
{
	const struct ws_block_info *info = &w->blocks[i];
	struct ws_block_header header;
	enum ws_status status =
	        ws_block_header_get(w->data + info->offset, info->size, info->offset, &header, err);

	WS_THEN(status,
	        ws_block_view_open(view, &header, w->data + info->offset + WS_BLOCK_HEADER_BYTES,
	                           info->offset, err));
	return failure_of(w, i, status, err);
}

/* With a page, Linux also maps what it has of the aligned stretch of this size around it. */
#define MAPPED_AROUND 65536u

/* Block i was read: it need not stay in memory, but may be read again. */
static void walk_let_go(const struct ws_walk *w, size_t i)
{
	const uint64_t offset = w->blocks[i].offset, end = offset + w->blocks[i].size;
	const uint64_t from = offset < MAPPED_AROUND ? 0 : offset - MAPPED_AROUND;
	const uint64_t to = w->size - end < MAPPED_AROUND ? w->size : end + MAPPED_AROUND;

	if (w->is_map)
		ws_file_map_let_go(w->data + from, to - from);
}

/* --- rows of two kinds in blocks of kind thread_event --- */

/* The position in thread_event of each column of api and of nvtx. */
static const uint8_t of_api[WS_NCOLS_api] = {
        [WS_COL_api_start_ns] = WS_COL_thread_event_time_ns,
        [WS_COL_api_dur_ns] = WS_COL_thread_event_dur_ns,
        [WS_COL_api_thread] = WS_COL_thread_event_thread,
        [WS_COL_api_name] = WS_COL_thread_event_name,
        [WS_COL_api_correlation] = WS_COL_thread_event_correlation,
        [WS_COL_api_result] = WS_COL_thread_event_result,
};
static const uint8_t of_nvtx[WS_NCOLS_nvtx] = {
        [WS_COL_nvtx_time_ns] = WS_COL_thread_event_time_ns,
        [WS_COL_nvtx_thread] = WS_COL_thread_event_thread,
        [WS_COL_nvtx_type] = WS_COL_thread_event_type,
        [WS_COL_nvtx_domain] = WS_COL_thread_event_domain,
        [WS_COL_nvtx_name] = WS_COL_thread_event_name,
        [WS_COL_nvtx_range] = WS_COL_thread_event_range,
        [WS_COL_nvtx_category] = WS_COL_thread_event_category,
        [WS_COL_nvtx_color] = WS_COL_thread_event_color,
        [WS_COL_nvtx_payload] = WS_COL_thread_event_payload,
};

unsigned ws_thread_events_column(enum ws_kind kind, unsigned position)
{
	return kind == WS_KIND_API ? of_api[position] : of_nvtx[position];
}

static bool holds_two_kinds(const struct ws_block_info *info)
{
	return info->kind == WS_KIND_THREAD_EVENT;
}

/* The block's column with the values of this column of api or nvtx, or -1. */
static int column_of_kind(const struct ws_block_view *view, enum ws_kind kind, unsigned position)
{
	return ws_block_view_column(view, ws_thread_events_column(kind, position));
}

/* The rows of a thread_event block that are of one kind, and memory for one of its columns. */
struct ws_thread_rows {
	uint32_t n;
	uint32_t row[WS_MAX_BLOCK_ROWS];
	uint64_t values[WS_MAX_BLOCK_ROWS];
};

/* --- decoding one block --- */

/* The columns of a block as they are stored. */
static enum ws_status decode_columns(const struct ws_trace_reader *r,
                                     const struct ws_block_view *view, struct ws_block *out,
                                     struct ws_err *err)
{
	const uint32_t rows = view->header.rows;

	/* an unknown column may have any newer form; known columns are needed */
	for (unsigned c = 0; c < out->ncolumns; c++) {
		enum ws_status status = ws_block_column_check(view, c, err);

		if (status != WS_OK && (status != WS_TOO_NEW || view->columns[c].position >= 0))
			return status;
		out->columns[c] = (struct ws_column){
		        .id = view->columns[c].entry.column,
		        .type = view->columns[c].entry.type,
		        .encoding = view->columns[c].entry.encoding,
		        .stored_bytes = view->columns[c].entry.stored_size,
		        .present = status == WS_OK,
		};
	}
	for (unsigned c = 0; c < out->ncolumns; c++) {
		struct ws_column *column = &out->columns[c];

		if (!column->present)
			continue;
		if (column->type != WS_TYPE_BLOB) {
			column->v = ws_xmalloc(rows * sizeof(*column->v));
			WS_FORWARD(ws_block_column_decode(view, c, r->decoder, column->v, err));
			continue;
		}
		column->b = ws_xmalloc(rows * sizeof(*column->b));
		column->bytes = ws_xmalloc(view->columns[c].entry.encoded_size);
		WS_FORWARD(ws_block_column_decode_blobs(view, c, r->decoder, column->bytes,
		                                        column->b, err));
	}
	return WS_OK;
}

/* The columns of one kind of a thread_event block. */
static enum ws_status decode_part(const struct ws_trace_reader *r, const struct ws_block_view *view,
                                  struct ws_block *out, struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(out->info.kind);
	struct ws_thread_rows *t = r->thread_rows;

	/* Find the rows of kind api or nvtx. CORRUPT when the block has no types, or another number
	 * of such rows than its header says. */
	const uint32_t rows = view->header.rows;
	const uint32_t expected = out->info.kind == WS_KIND_API ? view->header.api_rows
	                                                        : rows - view->header.api_rows;
	int i = ws_block_view_column(view, WS_COL_thread_event_type);

	WS_FAIL_IF(i < 0, err, CORRUPT, "%s: it has no column type", view->label);
	WS_FORWARD(ws_block_column_decode(view, (unsigned)i, r->decoder, t->values, err));
	t->n = 0;
	for (uint32_t k = 0; k < rows; k++) {
		t->row[t->n] = k;
		t->n += (t->values[k] == WS_THREAD_EVENT_API) == (out->info.kind == WS_KIND_API);
	}
	WS_FAIL_IF(t->n != expected, err, CORRUPT,
	           "%s: %" PRIu32 " rows are %s rows, its header says %" PRIu32, view->label, t->n,
	           ws_schema_kind(out->info.kind)->name, expected);
	out->ncolumns = 0;
	for (unsigned p = 0; p < def->ncolumns; p++) {
		const int source = column_of_kind(view, out->info.kind, p);
		struct ws_column *column = &out->columns[out->ncolumns];

		if (source < 0)
			continue;
		out->ncolumns++;
		*column = (struct ws_column){
		        .id = def->columns[p].id,
		        .type = def->columns[p].type,
		        .present = 1,
		        .encoding = view->columns[source].entry.encoding,
		        .stored_bytes = view->columns[source].entry.stored_size,
		        .v = ws_xmalloc(out->info.rows * sizeof(*column->v)),
		};
		WS_FORWARD(
		        ws_block_column_decode(view, (unsigned)source, r->decoder, t->values, err));
		for (uint32_t k = 0; k < t->n; k++)
			column->v[k] = t->values[t->row[k]];
	}
	return WS_OK;
}

/* Decode a stored block, or the rows of one kind in it. */
static enum ws_status decode(const struct ws_trace_reader *r, size_t stored,
                             const struct ws_block_info *info, struct ws_block *out,
                             struct ws_err *err)
{
	struct ws_block_view view;

	*out = (struct ws_block){.info = *info};
	WS_FORWARD(ws_walk_view(&r->walk, stored, &view, err));
	out->ncolumns = info->kind == view.header.kind ? view.header.ncolumns
	                                               : ws_schema_kind(info->kind)->ncolumns;
	out->columns = ws_xarray(out->ncolumns, sizeof(*out->columns));
	enum ws_status status = info->kind == view.header.kind ? decode_columns(r, &view, out, err)
	                                                       : decode_part(r, &view, out, err);
	walk_let_go(&r->walk, stored);
	if (status != WS_OK)
		ws_block_release(out);
	return status;
}

enum ws_status ws_trace_reader_decode(const struct ws_trace_reader *r, size_t i,
                                      struct ws_block *out, struct ws_err *err)
{
	const size_t stored = r->parts[i].stored;

	return failure_of(&r->walk, stored, decode(r, stored, &r->parts[i].info, out, err), err);
}

void ws_block_release(struct ws_block *block)
{
	for (unsigned c = 0; c < block->ncolumns; c++) {
		free(block->columns[c].v);
		free(block->columns[c].b);
		free(block->columns[c].bytes);
	}
	free(block->columns);
	*block = (struct ws_block){0};
}

/* --- all rows of a kind --- */

enum ws_status ws_trace_reader_load(const struct ws_trace_reader *r, enum ws_kind kind,
                                    struct ws_column_data *out, struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);
	const uint64_t rows = ws_trace_reader_count(r, kind);
	enum ws_status status = WS_OK;

	*out = (struct ws_column_data){.def = def};
	out->columns = ws_xarray(def->ncolumns, sizeof(*out->columns));
	for (unsigned c = 0; c < def->ncolumns; c++) {
		out->columns[c].id = def->columns[c].id;
		out->columns[c].type = def->columns[c].type;
	}
	for (size_t i = 0; status == WS_OK && i < r->nparts; i++) {
		struct ws_block block;

		if (r->parts[i].info.kind != kind)
			continue;
		status = ws_trace_reader_decode(r, i, &block, err);
		if (status == WS_OK) {
			for (unsigned c = 0; c < block.ncolumns; c++) {
				struct ws_column *from = &block.columns[c];
				const int position = ws_schema_column(out->def, from->id);
				struct ws_column *to = &out->columns[position < 0 ? 0 : position];

				if (position < 0 || !from->present)
					continue;
				if (from->b) {
					to->b = to->b ? to->b : ws_xarray(rows, sizeof(*to->b));
					memcpy(to->b + out->rows, from->b,
					       block.info.rows * sizeof(*to->b));
					WS_GROW(out->kept, out->nkept + 1, out->capacity);
					out->kept[out->nkept++] = from->bytes;
					from->bytes = NULL;
				} else {
					to->v = to->v ? to->v : ws_xarray(rows, sizeof(*to->v));
					memcpy(to->v + out->rows, from->v,
					       block.info.rows * sizeof(*to->v));
				}
				to->encoding = from->encoding;
				to->stored_bytes += from->stored_bytes;
				to->present = 1;
			}
			out->rows += block.info.rows;
			ws_block_release(&block);
		}
	}
	if (status != WS_OK)
		ws_column_data_release(out);
	return status;
}

void ws_column_data_release(struct ws_column_data *t)
{
	for (unsigned c = 0; t->columns && c < t->def->ncolumns; c++) {
		free(t->columns[c].v);
		free(t->columns[c].b);
	}
	for (size_t i = 0; i < t->nkept; i++)
		free(t->kept[i]);
	free(t->columns);
	free(t->kept);
	*t = (struct ws_column_data){0};
}

/* --- the file's own names of kinds and columns --- */

struct ws_reader_schema {
	uint64_t kind;
	const char *kind_name;
};

const char *ws_trace_reader_kind_name(const struct ws_trace_reader *r, unsigned kind)
{
	for (size_t i = 0; i < r->nschema; i++)
		if (r->schema[i].kind == kind)
			return r->schema[i].kind_name;
	return NULL;
}

/* --- index and trailer --- */

struct verify {
	const struct ws_walk *walk;
	size_t first_index; /* block number of the first index block */
	size_t next;        /* block number that the next index row should describe */
	uint64_t last_offset;
	ws_finding_fn fn;
	void *ctx;
	int right;
};

#define WRONG(v, offset, ...)                                                         \
	do {                                                                          \
		(v)->right = 0;                                                       \
		ws_check_finding_emit((v)->fn, (v)->ctx, WS_FINDING_DAMAGE, (offset), \
		                      __VA_ARGS__);                                   \
	} while (0)
static void report_not_listed(struct verify *v, uint64_t before)
{
	while (v->next < v->first_index && v->walk->blocks[v->next].offset < before) {
		const struct ws_block_info *b = &v->walk->blocks[v->next++];
		char label[WS_BLOCK_LABEL_BYTES];

		WRONG(v, b->offset, "%s: the index does not list it",
		      ws_block_label(label, b->kind, b->offset));
	}
}

static uint64_t value_of(const struct ws_block *block, int position, uint32_t row)
{
	unsigned id = ws_schema_kind(WS_KIND_INDEX)->columns[position].id;

	for (unsigned c = 0; c < block->ncolumns; c++)
		if (block->columns[c].id == id && block->columns[c].present)
			return block->columns[c].v[row];
	return 0;
}

void ws_trace_index_verify(const struct ws_trace_reader *r, ws_finding_fn fn, void *ctx, int *right)
{
	const struct ws_walk *w = &r->walk;
	struct verify v = {.walk = w, .fn = fn, .ctx = ctx, .right = 1};

	*right = 0;
	if (!w->has_trailer)
		return;
	if (w->trailer.file_size != w->size)
		WRONG(&v, w->size - WS_TRAILER_BYTES,
		      "the trailer says that the file has %" PRIu64 " bytes, but it has %zu",
		      w->trailer.file_size, w->size);
	while (v.first_index < w->nblocks &&
	       w->blocks[v.first_index].offset != w->trailer.index_offset)
		v.first_index++;
	if (v.first_index == w->nblocks || w->blocks[v.first_index].kind != WS_KIND_INDEX) {
		WRONG(&v, w->size - WS_TRAILER_BYTES,
		      "the trailer points to offset %" PRIu64 ", where no whole index block is",
		      w->trailer.index_offset);
		return;
	}
	for (size_t i = v.first_index; i < w->nblocks; i++) {
		const struct ws_block_info *info = &w->blocks[i];
		struct ws_block block;
		struct ws_err cause;

		if (info->kind != WS_KIND_INDEX) {
			WRONG(&v, info->offset, "a block other than an index follows the index");
			continue;
		}
		if (decode(r, i, info, &block, &cause) != WS_OK) {
			WRONG(&v, info->offset, "%s", cause.text);
			continue;
		}
		for (uint32_t k = 0; k < block.info.rows; k++) {
			struct ws_row_index row = {
			        .offset = value_of(&block, WS_COL_index_offset, k),
			        .kind = value_of(&block, WS_COL_index_kind, k),
			        .rows = value_of(&block, WS_COL_index_rows, k),
			        .time_min_ns =
			                (int64_t)value_of(&block, WS_COL_index_time_min_ns, k),
			        .time_max_ns =
			                (int64_t)value_of(&block, WS_COL_index_time_max_ns, k),
			};

			char label[WS_BLOCK_LABEL_BYTES];

			ws_block_label(label, (unsigned)row.kind, row.offset);
			if (row.offset <= v.last_offset) {
				WRONG(&v, row.offset,
				      "the index lists offset %" PRIu64 " after %" PRIu64,
				      row.offset, v.last_offset);
				continue;
			}
			v.last_offset = row.offset;
			report_not_listed(&v, row.offset);

			const struct ws_block_info *b = &v.walk->blocks[v.next];
			if (v.next == v.first_index || b->offset != row.offset) {
				ws_check_finding_emit(
				        v.fn, v.ctx, WS_FINDING_DAMAGE, row.offset,
				        "%s: the index lists it with %" PRIu64
				        " rows, but no whole block is there; its rows are lost",
				        label, row.rows);
				continue;
			}
			v.next++;
			if (row.kind != b->kind || row.rows != b->rows)
				WRONG(&v, b->offset,
				      "%s: the index lists kind %" PRIu64 " with %" PRIu64
				      " rows, the block has kind %u with %u rows",
				      label, row.kind, row.rows, b->kind, b->rows);
			else if (row.time_min_ns != b->time_min_ns ||
			         row.time_max_ns != b->time_max_ns)
				WRONG(&v, b->offset,
				      "%s: the index lists another time range than the block has",
				      label);
		}
		ws_block_release(&block);
	}
	report_not_listed(&v, UINT64_MAX);
	*right = v.right;
}

/* --- opening --- */

static void add_part(struct ws_trace_reader *r, size_t stored, unsigned kind, uint32_t rows)
{
	const struct ws_block_info *block = &r->walk.blocks[stored];
	struct ws_reader_part *part = &r->parts[r->nparts];

	if (!rows)
		return;
	*part = (struct ws_reader_part){*block, stored};
	part->info.kind = (uint16_t)kind;
	part->info.rows = rows;
	part->info.ncolumns =
	        holds_two_kinds(block) ? ws_schema_kind(kind)->ncolumns : block->ncolumns;
	part->info.size = block->size * rows / block->rows;
	r->nparts++;
}

/* Reads the contents of a file. h: its header, if it is not damaged. */
static struct ws_trace_reader *read_blocks(const void *data, size_t size, bool is_map,
                                           const struct ws_file_header *h, ws_finding_fn fn,
                                           void *ctx)
{
	struct ws_trace_reader *r = ws_xarray(1, sizeof(*r));
	const struct ws_walk *w = &r->walk;
	struct ws_checksum sum;
	struct ws_column_data t;
	uint64_t rows = 0;

	ws_walk_run(&r->walk, data, size, is_map, fn, ctx);
	ws_checksum_begin(&sum);
	for (size_t pos = h->kept_from, n, begun = pos; pos < w->size; pos += n) {
		n = w->size - pos < LET_GO_BYTES ? w->size - pos : LET_GO_BYTES;
		ws_checksum_add(&sum, w->data + pos, n);
		let_go_of_many(w, &begun, pos + n);
	}
	r->decoder = ws_xmalloc(sizeof(*r->decoder));
	ws_block_decoder_init(r->decoder);
	r->parts = ws_xmalloc((2 * w->nblocks + 1) * sizeof(*r->parts));
	r->summary = (struct ws_trace_summary){
	        .file_size = w->size,
	        .file_hash = ws_checksum_end(&sum),
	        .base_ns = h->base_ns,
	        .version_major = h->version_major,
	        .version_minor = h->version_minor,
	        .required_features = h->required_features,
	        .optional_features = h->optional_features,
	        .blocks = w->nblocks,
	        .damaged_blocks = w->damaged,
	        .skipped_bytes = w->skipped_bytes,
	};
	for (size_t i = 0; i < w->nblocks; i++) {
		const struct ws_block_info *block = &w->blocks[i];

		r->summary.unknown_blocks += !ws_schema_kind(block->kind);
		rows += block->rows;
		if (!holds_two_kinds(block)) {
			add_part(r, i, block->kind, block->rows);
			continue;
		}
		if (!r->thread_rows)
			r->thread_rows = ws_xmalloc(sizeof(*r->thread_rows));
		add_part(r, i, WS_KIND_API, block->api_rows);
		add_part(r, i, WS_KIND_NVTX, block->rows - block->api_rows);
	}
	ws_allowance_rows(rows);
	/* the names are useful but not needed, so a schema that cannot be decoded is ignored */
	if (ws_trace_reader_load(r, WS_KIND_SCHEMA, &t, NULL) == WS_OK) {
		const struct ws_column *c = t.columns;
		bool complete = true;

		for (unsigned i = 0; i < t.def->ncolumns; i++)
			complete &= c[i].present;
		if (complete)
			WS_NEW(&r->names, r->schema, t.rows);
		for (uint64_t i = 0; complete && i < t.rows; i++) {
			const struct ws_bytes *kind = &c[WS_COL_schema_kind_name].b[i];

			r->schema[r->nschema++] = (struct ws_reader_schema){
			        .kind = c[WS_COL_schema_kind].v[i],
			        .kind_name = ws_arena_copy(&r->names, kind->ptr, kind->len),
			};
		}
		ws_column_data_release(&t);
	}
	ws_trace_index_verify(r, NULL, NULL, &r->summary.closed);
	return r;
}

void ws_trace_reader_open_damaged(struct ws_trace_reader **out, const void *data, size_t size,
                                  ws_finding_fn fn, void *ctx)
{
	struct ws_file_header h;

	if (ws_file_header_get(data, size, &h, NULL) != WS_OK)
		memset(&h, 0, sizeof(h));
	*out = read_blocks(data, size, false, &h, fn, ctx);
}

static enum ws_status open_bytes(struct ws_trace_reader **out, const void *data, size_t size,
                                 bool is_map, struct ws_err *err)
{
	struct ws_file_header h;

	*out = NULL;
	WS_FORWARD(ws_file_header_get(data, size, &h, err));
	*out = read_blocks(data, size, is_map, &h, NULL, NULL);
	return WS_OK;
}

enum ws_status ws_trace_reader_open_mem(struct ws_trace_reader **out, const void *data, size_t size,
                                        struct ws_err *err)
{
	return open_bytes(out, data, size, false, err);
}

/* Takes ownership of the map. */
static enum ws_status open_map(struct ws_trace_reader **out, struct ws_trace_map *map,
                               const char *path, struct ws_err *err)
{
	const enum ws_status status = open_bytes(out, map->data, map->size, true, err);

	if (status != WS_OK) {
		ws_trace_map_close(map);
		return ws_err_prefix(err, status, "%s", path);
	}
	(*out)->map = *map;
	return WS_OK;
}

enum ws_status ws_trace_reader_open(struct ws_trace_reader **out, const char *path,
                                    struct ws_err *err)
{
	struct ws_trace_map map;

	*out = NULL;
	WS_FORWARD(ws_trace_map_open(&map, path, err));
	return open_map(out, &map, path, err);
}

enum ws_status ws_trace_reader_open_file(struct ws_trace_reader **out, int fd, const char *path,
                                         struct ws_err *err)
{
	struct ws_trace_map map;

	*out = NULL;
	WS_FORWARD(ws_trace_map_take(&map, fd, path, err));
	return open_map(out, &map, path, err);
}

void ws_trace_reader_free(struct ws_trace_reader *r)
{
	if (!r)
		return;
	ws_block_decoder_free(r->decoder);
	free(r->decoder);
	ws_walk_free(&r->walk);
	ws_trace_map_close(&r->map);
	ws_arena_free(&r->names);
	free(r->parts);
	free(r->thread_rows);
	free(r);
}

/* --- contents of an open trace --- */

const struct ws_trace_summary *ws_trace_reader_summary(const struct ws_trace_reader *r)
{
	return &r->summary;
}

enum ws_status ws_trace_reader_made_of(struct ws_trace_reader *r, const char *path,
                                       struct ws_err *err)
{
	const int fd = ws_file_open(WS_HERE, path, WS_FILE_READ, 0);
	struct ws_checksum sum;
	char bytes[1 << 14];
	uint64_t size = 0;
	ssize_t n;

	WS_FAIL_IF(fd < 0, err, IO_READ, "cannot open %s: %s", path, strerror(errno));
	ws_checksum_begin(&sum);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		ws_checksum_add(&sum, bytes, (size_t)n);
		size += (uint64_t)n;
	}
	close(fd);
	WS_FAIL_IF(n < 0, err, IO_READ, "cannot read %s: %s", path, strerror(errno));
	r->summary.file_size = size;
	r->summary.file_hash = ws_checksum_end(&sum);
	return WS_OK;
}
size_t ws_trace_reader_block_count(const struct ws_trace_reader *r)
{
	return r->nparts;
}

const struct ws_block_info *ws_trace_reader_block(const struct ws_trace_reader *r, size_t i)
{
	return i < r->nparts ? &r->parts[i].info : NULL;
}

uint64_t ws_trace_reader_count(const struct ws_trace_reader *r, enum ws_kind kind)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < r->nparts; i++)
		if (r->parts[i].info.kind == kind)
			rows += r->parts[i].info.rows;
	return rows;
}

bool ws_trace_reader_has_column(const struct ws_trace_reader *r, enum ws_kind kind, int column)
{
	for (size_t i = 0; i < r->nparts; i++) {
		struct ws_block_view view;

		if (r->parts[i].info.kind != kind ||
		    ws_walk_view(&r->walk, r->parts[i].stored, &view, NULL) != WS_OK)
			continue;
		if ((view.header.kind == kind ? ws_block_view_column(&view, (unsigned)column)
		                              : column_of_kind(&view, kind, (unsigned)column)) >= 0)
			return true;
	}
	return false;
}

/* --- some columns of some kinds, block after block --- */

struct ws_feed {
	const struct ws_trace_reader *r;
	ws_column_set columns[WS_KIND_END]; /* also those of thread_event, from api and nvtx */
	struct wanted {
		int64_t time_ns;
		uint32_t block;
	} * wanted;
	size_t n;
	size_t next; /* in wanted: the block that the caller wants next */
	struct ws_block_decoder decoder;
	struct ws_block_view view;
	/* the caller reads one block while the next is decoded into the other slot */
	struct slot {
		struct ws_block_rows rows;
		enum ws_status status;
		struct ws_err err;
	} slots[2];
	struct ws_task ahead; /* decodes wanted[next], once it was begun */
};

/* Decode the stored block that block i is part of. */
static enum ws_status read_block(struct ws_feed *f, size_t i, struct ws_block_rows *out,
                                 struct ws_err *err)
{
	const size_t stored = f->r->parts[i].stored;
	const struct ws_tokens *tokens = &f->decoder.tokens;
	const struct ws_kind_def *def;
	ws_column_set columns;
	size_t rows, values;
	uint16_t *token;

	WS_FORWARD(ws_walk_view(&f->r->walk, stored, &f->view, err));
	rows = f->view.header.rows;
	def = f->view.def;
	WS_FAIL_IF(!def || def->ncolumns > 64, err, BUG,
	           "blocks of kind %u are not read by columns", f->view.header.kind);
	columns = f->columns[def->id] & ~(ws_column_set)0 >> (64 - def->ncolumns);
	for (unsigned at = 0; at < def->ncolumns; at++)
		WS_FAIL_IF(columns >> at & 1 && def->columns[at].type == WS_TYPE_BLOB, err, BUG,
		           "column %s is no number", def->columns[at].name);

	/* tokens lie behind the values, four in the place of one */
	values = rows * (size_t)__builtin_popcountll(columns);
	if (values + rows / 4 + 1 > out->capacity) {
		/* the values before are of no use: new memory, no more than this takes */
		free(out->memory);
		out->memory = NULL;
		out->capacity = 0;
		WS_GROW(out->memory, values + rows / 4 + 1, out->capacity);
	}
	*out = (struct ws_block_rows){.info = f->r->parts[i].info,
	                              .memory = out->memory,
	                              .capacity = out->capacity};
	out->info.kind = f->view.header.kind;
	out->info.rows = f->view.header.rows;
	WS_FORWARD(ws_block_tokens(&f->view, &f->decoder, err));
	out->ntokens = tokens->count;
	if (tokens->count) {
		token = (uint16_t *)(out->memory + values);
		memcpy(token, tokens->of_row, rows * sizeof(*token));
		out->token = token;
	}
	for (values = 0; columns; columns &= columns - 1, values += rows) {
		unsigned at = (unsigned)__builtin_ctzll(columns);

		out->v[at] = out->memory + values;

		/* Decode a column as it is stored, into out->v[position]; zeros if the block lacks
		 * it. */
		const enum ws_type type = f->view.def->columns[at].type;
		const int c = ws_block_view_column(&f->view, at);
		bool by_token = out->token && type != WS_TYPE_TIME && type != WS_TYPE_DUR;
		uint64_t *v = out->v[at];

		if (c < 0)
			memset(v, 0, (by_token ? out->ntokens : out->info.rows) * sizeof(*v));
		else if (by_token)
			WS_FORWARD(ws_block_column_decode_stored(&f->view, (unsigned)c, &f->decoder,
			                                         v, &by_token, err));
		else
			WS_FORWARD(
			        ws_block_column_decode(&f->view, (unsigned)c, &f->decoder, v, err));
		out->by_token |= (ws_column_set)by_token << at;
	}
	walk_let_go(&f->r->walk, stored);
	return WS_OK;
}

static void decode_next(void *ctx)
{
	struct ws_feed *f = ctx;
	struct slot *slot = &f->slots[f->next % 2];

	const size_t i = f->wanted[f->next].block;

	slot->status = failure_of(&f->r->walk, f->r->parts[i].stored,
	                          read_block(f, i, &slot->rows, &slot->err), &slot->err);
}

static int by_time(const void *pa, const void *pb)
{
	const struct wanted *a = pa, *b = pb;

	WS_ORDER_BY(a->time_ns, b->time_ns);
	WS_ORDER_BY(a->block, b->block);
	return 0;
}

void ws_feed_open(struct ws_feed **out, const struct ws_trace_reader *r,
                  const ws_column_set columns[WS_KIND_END])
{
	struct ws_feed *f = ws_xarray(1, sizeof(*f));

	*out = f;
	f->r = r;
	memcpy(f->columns, columns, sizeof(f->columns));
	f->columns[WS_KIND_THREAD_EVENT] = WS_COLUMN(thread_event, type);
	for (unsigned at = 0; at < WS_NCOLS_api; at++)
		if (columns[WS_KIND_API] >> at & 1)
			f->columns[WS_KIND_THREAD_EVENT] |=
			        (ws_column_set)1 << ws_thread_events_column(WS_KIND_API, at);
	for (unsigned at = 0; at < WS_NCOLS_nvtx; at++)
		if (columns[WS_KIND_NVTX] >> at & 1)
			f->columns[WS_KIND_THREAD_EVENT] |=
			        (ws_column_set)1 << ws_thread_events_column(WS_KIND_NVTX, at);
	f->wanted = ws_xarray(r->nparts, sizeof(*f->wanted));
	for (size_t i = 0; i < r->nparts; i++) {
		const struct ws_block_info *info = &r->parts[i].info;

		if (info->kind >= WS_KIND_END || !columns[info->kind])
			continue;
		/* the two kinds of a stored block lie next to each other: it is read once */
		if (f->n && r->parts[f->wanted[f->n - 1].block].stored == r->parts[i].stored)
			continue;
		f->wanted[f->n++] = (struct wanted){info->time_min_ns, (uint32_t)i};
	}
	ws_sort(f->wanted, f->n, sizeof(*f->wanted), by_time);
	ws_block_decoder_init(&f->decoder);
}

void ws_feed_close(struct ws_feed *f)
{
	if (!f)
		return;
	ws_task_end(&f->ahead);
	ws_block_decoder_free(&f->decoder);
	for (size_t i = 0; i < 2; i++)
		free(f->slots[i].rows.memory);
	free(f->wanted);
	free(f);
}

/* A block of fewer rows is not worth a thread. */
#define FEW_ROWS 8192u

enum ws_status ws_feed_next(struct ws_feed *f, const struct ws_block_rows **rows, int64_t *until_ns,
                            struct ws_err *err)
{
	struct slot *slot = &f->slots[f->next % 2];

	*rows = NULL;
	*until_ns = INT64_MAX;
	if (f->next == f->n)
		return WS_OK;
	if (f->ahead.fn)
		ws_task_end(&f->ahead);
	else
		decode_next(f);
	f->next++;
	if (slot->status != WS_OK) {
		if (err)
			*err = slot->err;
		return slot->status;
	}
	*rows = &slot->rows;
	if (f->next == f->n)
		return WS_OK;
	*until_ns = f->wanted[f->next].time_ns;
	if (f->r->parts[f->wanted[f->next].block].info.rows >= FEW_ROWS)
		ws_task_begin(&f->ahead, decode_next, f);
	return WS_OK;
}

enum ws_status ws_feed_each(const struct ws_trace_reader *r,
                            const ws_column_set columns[WS_KIND_END], ws_feed_fn take, void *ctx,
                            struct ws_err *err)
{
	const struct ws_block_rows *rows;
	struct ws_feed *feed;
	int64_t until_ns;
	enum ws_status status;

	ws_feed_open(&feed, r, columns);
	do {
		status = ws_feed_next(feed, &rows, &until_ns, err);
		if (status == WS_OK && rows)
			status = take(ctx, rows, feed->wanted[feed->next - 1].block, until_ns, err);
	} while (status == WS_OK && rows);
	ws_feed_close(feed);
	return status;
}

/* --- work for another thread --- */

static void *run_task(void *arg)
{
	struct ws_task *t = arg;

	t->fn(t->ctx);
	return NULL;
}

void ws_task_begin(struct ws_task *t, void (*fn)(void *ctx), void *ctx)
{
	t->fn = fn;
	t->ctx = ctx;
	t->has_thread = ws_processors() > 1 && pthread_create(&t->thread, NULL, run_task, t) == 0;
}
void ws_task_end(struct ws_task *t)
{
	if (t->has_thread)
		pthread_join(t->thread, NULL);
	else if (t->fn)
		t->fn(t->ctx);
	*t = (struct ws_task){0};
}
