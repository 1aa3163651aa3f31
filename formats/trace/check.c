#include "formats/trace/internal.h"

#define K(NAME, name, id, class, meaning) \
	_Static_assert(WS_NCOLS_##name <= 64, "described[] has a bit for each column");
WS_KIND_LIST(K)
#undef K
/* Ids that mostly are 1, 2, 3 and so on: those need no memory. */
struct id_set {
	uint64_t dense; /* 1..dense are in the set */
	uint64_t highest;
	struct ws_map sparse;
};

struct check {
	struct ws_trace_reader *reader;
	const struct ws_walk *walk;
	ws_finding_fn fn;
	void *ctx;
	struct ws_check_result *result;

	/* memory for one column, kept from block to block */
	struct ws_block_decoder decoder;
	struct ws_buf blob_bytes;
	uint64_t *v;
	struct ws_bytes *b;

	struct id_set defined[WS_KIND_END]; /* ids of each dictionary so far */
	uint64_t described[WS_KIND_END]; /* bit p: the file's schema lists column p of the kind */
	bool is_described;               /* the file has a schema */
};

/* Count a finding and pass it on. */
static void count_finding(void *ctx, const struct ws_check_finding *finding)
{
	struct check *c = ctx;

	if (finding->level == WS_FINDING_DAMAGE)
		c->result->damage++;
	else
		c->result->notes++;
	if (c->fn)
		c->fn(c->ctx, finding);
}

#define FIND(c, level, offset, ...) \
	ws_check_finding_emit(count_finding, (c), (level), (offset), __VA_ARGS__)

/* --- ids --- */

static bool has_id(const struct id_set *set, uint64_t id)
{
	return (id && id <= set->dense) || ws_map_get(&set->sparse, id);
}

/* --- one block --- */

/* Sets *whole to 0 when the column is damaged. */
static void check_column(struct check *c, const struct ws_block_view *view, unsigned i, int *whole)
{
	const struct ws_block_column *column = &view->columns[i];
	const bool is_blob = column->entry.type == WS_TYPE_BLOB;
	struct ws_err cause;
	enum ws_status status = ws_block_column_check(view, i, &cause);

	if (status == WS_OK && is_blob) {
		c->blob_bytes.len = 0;
		ws_buf_reserve(&c->blob_bytes, column->entry.encoded_size);
		status = ws_block_column_decode_blobs(view, i, &c->decoder, c->blob_bytes.data,
		                                      c->b, &cause);
	} else if (status == WS_OK) {
		status = ws_block_column_decode(view, i, &c->decoder, c->v, &cause);
	}
	if (status == WS_OK && column->position >= 0 && !is_blob) {
		const struct ws_block_header *h = &view->header;
		const struct ws_id_column *ids =
		        ws_id_column_at(h->kind, (unsigned)column->position);
		int64_t least = (int64_t)c->v[0], greatest = least;
		struct ws_ref_column ref;
		uint32_t napi = 0;

		if (column->position == view->def->time_column) {
			for (uint32_t row = 1; row < h->rows; row++) {
				int64_t t = (int64_t)c->v[row];

				least = t < least ? t : least;
				greatest = t > greatest ? t : greatest;
			}
			if (least != h->time_min_ns || greatest != h->time_max_ns)
				FIND(c, WS_FINDING_DAMAGE, view->offset,
				     "%s: its header says times %" PRId64 " to %" PRId64
				     " ns, its rows have %" PRId64 " to %" PRId64,
				     view->label, h->time_min_ns, h->time_max_ns, least, greatest);
		}
		if (h->kind == WS_KIND_THREAD_EVENT &&
		    column->position == WS_COL_thread_event_type) {
			for (uint32_t row = 0; row < h->rows; row++)
				napi += c->v[row] == WS_THREAD_EVENT_API;
			if (napi != h->api_rows)
				FIND(c, WS_FINDING_DAMAGE, view->offset,
				     "%s: %u rows are api rows, its header says %u", view->label,
				     napi, h->api_rows);
		}
		if (ids) {
			struct id_set *set = &c->defined[h->kind];
			uint64_t missing = 0, repeated = 0, first_missing = 0, first_repeated = 0;

			for (uint32_t row = 0; row < h->rows; row++) {
				uint64_t id = c->v[row], next = set->highest + 1;

				if (!ids->may_repeat && has_id(set, id) && !repeated++)
					first_repeated = id;
				if (ids->counted && id > next) {
					first_missing = missing ? first_missing : next;
					missing += id - next;
				}
				if (id > set->highest)
					set->highest = id;
				if (!id || id > set->dense + 1) {
					ws_map_put(&set->sparse, id, 1);
					continue;
				}
				if (id == set->dense + 1)
					set->dense = id;
			}
			if (missing)
				FIND(c, WS_FINDING_DAMAGE, view->offset,
				     "%s: ids not defined before it: %" PRIu64
				     ", the first is %" PRIu64
				     "; rows that name them lost their meaning",
				     view->label, missing, first_missing);
			if (repeated)
				FIND(c, WS_FINDING_DAMAGE, view->offset,
				     "%s: ids defined twice: %" PRIu64 ", the first is %" PRIu64
				     "; rows that name them are ambiguous",
				     view->label, repeated, first_repeated);
		}
		if (ws_ref_column_at(view->def, (unsigned)column->position, &ref)) {
			const struct id_set *set = &c->defined[ref.target];
			uint64_t dangling = 0, first_id = 0;
			uint32_t first_row = 0;

			for (uint32_t row = 0; row < h->rows; row++) {
				uint64_t id = c->v[row];

				if ((id == 0 && ref.zero_is_none) || has_id(set, id))
					continue;
				if (!dangling++) {
					first_row = row;
					first_id = id;
				}
			}
			if (dangling)
				FIND(c, WS_FINDING_DAMAGE, view->offset,
				     "%s, column %s: rows name a %s that no earlier row defines: "
				     "%" PRIu64 ". The first is row %u with id %" PRIu64,
				     view->label, view->def->columns[ref.position].name,
				     ws_schema_kind(ref.target)->name, dangling, first_row,
				     first_id);
		}
	} else if (status == WS_TOO_NEW) {
		FIND(c, WS_FINDING_NOTE, view->offset, "%s", cause.text);
	} else if (status != WS_OK)
		FIND(c, WS_FINDING_DAMAGE, view->offset, "%s", cause.text);
	*whole &= status == WS_OK || status == WS_TOO_NEW;
}

static void check_block(struct check *c, size_t i)
{
	const struct ws_block_info *b = &c->walk->blocks[i];
	const struct ws_block_info *before = i ? b - 1 : NULL;
	uint64_t expected = before ? before->sequence + 1 : 0;
	uint64_t end = before ? before->offset + before->size : WS_FILE_HEADER_BYTES;
	char label[WS_BLOCK_LABEL_BYTES];
	struct ws_block_view view;
	struct ws_err cause;
	int whole = 1;

	/* The writer numbers blocks: a jump shows how many are missing. If they are missing where a
	 * damaged stretch lies, that was reported already. Where a piece begins, none are. */
	ws_block_label(label, b->kind, b->offset);
	if (b->sequence < expected)
		FIND(c, WS_FINDING_DAMAGE, b->offset,
		     "%s: it has number %" PRIu64 ", the block before it %" PRIu64
		     "; blocks were moved or copied",
		     label, b->sequence, before->sequence);
	if (b->sequence > expected && !(c->reader->summary.required_features & WS_FEATURE_PIECES))
		FIND(c, end == b->offset ? WS_FINDING_DAMAGE : WS_FINDING_NOTE, b->offset,
		     "%s: blocks missing before it: %" PRIu64, label, b->sequence - expected);
	if (ws_walk_view(c->walk, i, &view, &cause) != WS_OK) {
		FIND(c, WS_FINDING_DAMAGE, c->walk->blocks[i].offset, "%s", cause.text);
		return;
	}
	/* Columns that the file has and this program does not, and the other way round. */
	if (!view.def)
		FIND(c, WS_FINDING_NOTE, view.offset, "%s: %u rows that a newer program can read",
		     view.label, view.header.rows);
	for (unsigned j = 0; view.def && j < view.header.ncolumns; j++)
		if (view.columns[j].position < 0)
			FIND(c, WS_FINDING_NOTE, view.offset,
			     "%s: unknown column %u that a newer program can read", view.label,
			     view.columns[j].entry.column);
	/* a column that is not in the file's schema came with a later format; it is not missing */
	for (unsigned p = 0; view.def && p < view.def->ncolumns; p++)
		if ((!c->is_described || c->described[view.header.kind] >> p & 1) &&
		    ws_block_view_column(&view, p) < 0)
			FIND(c, WS_FINDING_NOTE, view.offset, "%s: it has no column %s", view.label,
			     view.def->columns[p].name);
	for (unsigned col = 0; col < view.header.ncolumns; col++)
		check_column(c, &view, col, &whole);
	if (whole) {
		c->result->blocks++;
		c->result->rows += view.header.rows;
	}
}

/* --- the file --- */

enum ws_status ws_trace_check_mem(const void *data, size_t size, ws_finding_fn fn, void *ctx,
                                  struct ws_check_result *result, struct ws_err *err)
{
	struct check c = {.fn = fn, .ctx = ctx, .result = result};
	struct ws_file_header header;
	struct ws_column_data t;
	struct ws_walk walk = {0};
	struct ws_err cause;

	*result = (struct ws_check_result){0};
	/* a file with a damaged header is a trace with damage if whole blocks follow, else not a
	 * trace */
	enum ws_status status = ws_file_header_get(data, size, &header, &cause);
	if (status == WS_CORRUPT)
		ws_walk_run(&walk, data, size, false, NULL, NULL);
	if (walk.nblocks) {
		FIND(&c, WS_FINDING_DAMAGE, 0, "%s; when the trace was recorded is lost",
		     cause.text);
		status = WS_OK;
	}
	ws_walk_free(&walk);
	if (status != WS_OK && err)
		*err = cause;
	WS_FORWARD(status);
	ws_trace_reader_open_damaged(&c.reader, data, size, count_finding, &c);
	c.walk = &c.reader->walk;
	c.v = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*c.v));
	c.b = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*c.b));
	ws_block_decoder_init(&c.decoder);

	const struct ws_walk *w = c.walk;

	if (!w->nblocks)
		FIND(&c, WS_FINDING_DAMAGE, WS_FILE_HEADER_BYTES, "the file has no whole block");
	else if (w->blocks[0].offset == WS_FILE_HEADER_BYTES && w->blocks[0].kind != WS_KIND_SCHEMA)
		FIND(&c, WS_FINDING_DAMAGE, w->blocks[0].offset,
		     "the first block is not a schema block; names of columns are missing");
	/* compare the columns that the file's schema lists with those of this program */
	if (ws_trace_reader_load(c.reader, WS_KIND_SCHEMA, &t, NULL) == WS_OK) {
		const struct ws_column *columns = t.columns;
		bool complete = true;

		for (unsigned col = 0; col < t.def->ncolumns; col++)
			complete &= columns[col].present;
		for (uint64_t i = 0; complete && i < t.rows; i++) {
			const struct ws_bytes *name = &columns[WS_COL_schema_column_name].b[i];
			uint64_t kind = columns[WS_COL_schema_kind].v[i];
			uint64_t id = columns[WS_COL_schema_column].v[i];
			const struct ws_kind_def *def =
			        kind < WS_KIND_END ? ws_schema_kind((unsigned)kind) : NULL;
			int p = def && id <= UINT16_MAX ? ws_schema_column(def, (unsigned)id) : -1;

			if (p < 0)
				continue;
			c.described[kind] |= UINT64_C(1) << p;
			if (columns[WS_COL_schema_type].v[i] != def->columns[p].type ||
			    !ws_bytes_is(*name, def->columns[p].name))
				FIND(&c, WS_FINDING_DAMAGE, w->blocks[0].offset,
				     "the file's schema describes column %s.%s differently than "
				     "format %u does",
				     def->name, def->columns[p].name, WS_FORMAT_MAJOR);
		}
		c.is_described = complete && t.rows;
		ws_column_data_release(&t);
	}
	for (size_t i = 0; i < c.walk->nblocks; i++)
		check_block(&c, i);
	if (w->has_trailer)
		ws_trace_index_verify(c.reader, count_finding, &c, &result->closed);
	else if (w->nblocks && w->blocks[w->nblocks - 1].kind == WS_KIND_INDEX &&
	         !c.reader->summary.required_features)
		FIND(&c, WS_FINDING_DAMAGE, w->size, "%s, though it has an index",
		     w->no_trailer.text);
	else
		FIND(&c, WS_FINDING_NOTE, w->size,
		     "the file was not closed: its recorder was killed, or is still running");

	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		ws_map_free(&c.defined[kind].sparse);
	ws_block_decoder_free(&c.decoder);
	ws_buf_free(&c.blob_bytes);
	free(c.v);
	free(c.b);
	ws_trace_reader_free(c.reader);
	return WS_OK;
}

struct kept_findings {
	struct ws_check_finding *findings;
	size_t n, capacity;
};

static void keep_finding(void *ctx, const struct ws_check_finding *finding)
{
	struct kept_findings *kept = ctx;

	WS_GROW(kept->findings, kept->n + 1, kept->capacity);
	kept->findings[kept->n++] = *finding;
}

#define MOST_TRIES 8

/* Pieces that a flight recorder drops meanwhile are no damage, nor are rows that need them: then
 * everything is checked again, from the pieces that are left. */
enum ws_status ws_trace_check_file(const char *path, ws_finding_fn fn, void *ctx,
                                   struct ws_check_result *result, struct ws_err *err)
{
	struct kept_findings kept = {0};
	enum ws_status status = WS_OK;
	bool has_dropped = true;

	for (int tries = 0; has_dropped && tries < MOST_TRIES; tries++) {
		struct ws_file_header header = {0}, now;
		struct ws_trace_map map;

		kept.n = 0;
		status = ws_trace_map_open(&map, path, err);
		if (status != WS_OK)
			break;
		ws_file_header_get(map.data, map.size, &header, NULL);
		const bool has_pieces = header.kept_from != 0;
		status = ws_trace_check_mem(map.data, map.size, has_pieces ? keep_finding : fn,
		                            has_pieces ? &kept : ctx, result, err);
		has_dropped = has_pieces && result->damage &&
		              ws_file_header_get(map.data, map.size, &now, NULL) == WS_OK &&
		              now.kept_from != header.kept_from;
		ws_trace_map_close(&map);
		if (status != WS_OK)
			status = ws_err_prefix(err, status, "%s", path);
	}
	if (status == WS_OK && has_dropped)
		status = WS_FAIL(err, IO_READ, "%s: " WS_DROPPED_MEANWHILE, path);
	for (size_t i = 0; status == WS_OK && i < kept.n; i++)
		fn(ctx, &kept.findings[i]);
	free(kept.findings);
	return status;
}
