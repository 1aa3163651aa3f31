#include "formats/trace/check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/map.h"
#include "formats/base/xalloc.h"
#include "formats/schema/references.h"
#include "formats/trace/internal.h"
#include "formats/trace/map.h"

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
	uint64_t described[WS_KIND_END];    /* bit p: the file says it has column p */
	bool is_described;                  /* it says so at all */
};

/* Counts, then hands on. */
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

static void add_id(struct id_set *set, uint64_t id)
{
	if (id > set->highest)
		set->highest = id;
	if (!id || id > set->dense + 1) {
		ws_map_put(&set->sparse, id, 1);
		return;
	}
	if (id == set->dense + 1)
		set->dense = id;
}

static void check_ids(struct check *c, const struct ws_block_view *view,
                      const struct ws_id_column *column)
{
	struct id_set *set = &c->defined[view->header.kind];
	uint64_t missing = 0, repeated = 0, first_missing = 0, first_repeated = 0;
	char label[WS_BLOCK_LABEL_BYTES];

	for (uint32_t i = 0; i < view->header.rows; i++) {
		uint64_t id = c->v[i], next = set->highest + 1;

		if (!column->may_repeat && has_id(set, id) && !repeated++)
			first_repeated = id;
		if (column->counted && id > next) {
			first_missing = missing ? first_missing : next;
			missing += id - next;
		}
		add_id(set, id);
	}
	ws_block_label(label, view->header.kind, view->offset);
	if (missing)
		FIND(c, WS_FINDING_DAMAGE, view->offset,
		     "%s: ids not defined before it: %" PRIu64 ", the first is %" PRIu64
		     "; rows that name them lost their meaning",
		     label, missing, first_missing);
	if (repeated)
		FIND(c, WS_FINDING_DAMAGE, view->offset,
		     "%s: ids defined twice: %" PRIu64 ", the first is %" PRIu64
		     "; rows that name them are ambiguous",
		     label, repeated, first_repeated);
}

static void check_refs(struct check *c, const struct ws_block_view *view,
                       const struct ws_ref_column *ref)
{
	const struct id_set *set = &c->defined[ref->target];
	uint64_t dangling = 0, first_id = 0;
	char label[WS_BLOCK_LABEL_BYTES];
	uint32_t first_row = 0;

	for (uint32_t i = 0; i < view->header.rows; i++) {
		uint64_t id = c->v[i];

		if ((id == 0 && ref->zero_is_none) || has_id(set, id))
			continue;
		if (!dangling++) {
			first_row = i;
			first_id = id;
		}
	}
	if (dangling)
		FIND(c, WS_FINDING_DAMAGE, view->offset,
		     "%s, column %s: rows name a %s that no earlier row defines: %" PRIu64 ". "
		     "The first is row %u with id %" PRIu64,
		     ws_block_label(label, view->header.kind, view->offset),
		     view->def->columns[ref->position].name, ws_schema_kind(ref->target)->name,
		     dangling, first_row, first_id);
}

/* --- one block --- */

static void check_time_range(struct check *c, const struct ws_block_view *view)
{
	int64_t least = (int64_t)c->v[0], greatest = least;
	char label[WS_BLOCK_LABEL_BYTES];

	for (uint32_t i = 1; i < view->header.rows; i++) {
		int64_t t = (int64_t)c->v[i];

		least = t < least ? t : least;
		greatest = t > greatest ? t : greatest;
	}
	if (least != view->header.time_min_ns || greatest != view->header.time_max_ns)
		FIND(c, WS_FINDING_DAMAGE, view->offset,
		     "%s: its header says times %" PRId64 " to %" PRId64
		     " ns, its rows have %" PRId64 " to %" PRId64,
		     ws_block_label(label, view->header.kind, view->offset),
		     view->header.time_min_ns, view->header.time_max_ns, least, greatest);
}

/* The types of thread_event rows against what the header says of them. */
static void check_api_rows(struct check *c, const struct ws_block_view *view)
{
	char label[WS_BLOCK_LABEL_BYTES];
	uint32_t n = 0;

	for (uint32_t i = 0; i < view->header.rows; i++)
		n += c->v[i] == WS_THREAD_EVENT_API;
	if (n != view->header.api_rows)
		FIND(c, WS_FINDING_DAMAGE, view->offset,
		     "%s: %u rows are api rows, its header says %u",
		     ws_block_label(label, view->header.kind, view->offset), n,
		     view->header.api_rows);
}

/* What the values of a column mean to the rest of the file. */
static void check_values(struct check *c, const struct ws_block_view *view, int position)
{
	const struct ws_id_column *ids = ws_id_column_at(view->header.kind, (unsigned)position);
	struct ws_ref_column ref;

	if (position == view->def->time_column)
		check_time_range(c, view);
	if (view->header.kind == WS_KIND_THREAD_EVENT && position == WS_COL_thread_event_type)
		check_api_rows(c, view);
	if (ids)
		check_ids(c, view, ids);
	if (ws_ref_column_at(view->def, (unsigned)position, &ref))
		check_refs(c, view, &ref);
}

static enum ws_status decode_blobs(struct check *c, const struct ws_block_view *view, unsigned i,
                                   struct ws_err *err)
{
	c->blob_bytes.len = 0;
	ws_buf_reserve(&c->blob_bytes, view->columns[i].entry.encoded_size);
	return ws_block_column_decode_blobs(view, i, &c->decoder, c->blob_bytes.data, c->b, err);
}

/* *whole becomes 0 when the column is damaged. */
static void check_column(struct check *c, const struct ws_block_view *view, unsigned i, int *whole)
{
	const struct ws_block_column *column = &view->columns[i];
	struct ws_err cause;
	enum ws_status status = ws_block_column_check(view, i, &cause);

	if (status == WS_OK && column->entry.type == WS_TYPE_BLOB)
		status = decode_blobs(c, view, i, &cause);
	else if (status == WS_OK)
		status = ws_block_column_decode(view, i, &c->decoder, c->v, &cause);

	if (status == WS_TOO_NEW)
		FIND(c, WS_FINDING_NOTE, view->offset, "%s", cause.text);
	else if (status != WS_OK)
		FIND(c, WS_FINDING_DAMAGE, view->offset, "%s", cause.text);
	*whole &= status == WS_OK || status == WS_TOO_NEW;

	if (status == WS_OK && column->position >= 0 && column->entry.type != WS_TYPE_BLOB)
		check_values(c, view, column->position);
}

static void note_unknown(struct check *c, const struct ws_block_view *view)
{
	char label[WS_BLOCK_LABEL_BYTES];

	ws_block_label(label, view->header.kind, view->offset);
	if (!view->def)
		FIND(c, WS_FINDING_NOTE, view->offset, "%s: %u rows that a newer program can read",
		     label, view->header.rows);
	for (unsigned i = 0; view->def && i < view->header.ncolumns; i++)
		if (view->columns[i].position < 0)
			FIND(c, WS_FINDING_NOTE, view->offset,
			     "%s: unknown column %u that a newer program can read", label,
			     view->columns[i].entry.column);
}

/* A column that a file never had came with a later format; one that it lists is missing. */
static void note_missing_columns(struct check *c, const struct ws_block_view *view)
{
	char label[WS_BLOCK_LABEL_BYTES];

	for (unsigned p = 0; view->def && p < view->def->ncolumns; p++) {
		unsigned i = 0;

		if (c->is_described && !(c->described[view->header.kind] >> p & 1))
			continue;
		while (i < view->header.ncolumns && view->columns[i].position != (int)p)
			i++;
		if (i == view->header.ncolumns)
			FIND(c, WS_FINDING_NOTE, view->offset, "%s: it has no column %s",
			     ws_block_label(label, view->header.kind, view->offset),
			     view->def->columns[p].name);
	}
}

/* The writer numbers blocks: a jump says how many are gone, and whether that is known already. */
static void check_sequence(struct check *c, size_t i)
{
	const struct ws_block_info *b = &c->walk->blocks[i];
	const struct ws_block_info *before = i ? b - 1 : NULL;
	uint64_t expected = before ? before->sequence + 1 : 0;
	uint64_t end = before ? before->offset + before->size : WS_FILE_HEADER_BYTES;
	char label[WS_BLOCK_LABEL_BYTES];

	if (b->sequence == expected)
		return;
	ws_block_label(label, b->kind, b->offset);
	if (b->sequence < expected)
		FIND(c, WS_FINDING_DAMAGE, b->offset,
		     "%s: it has number %" PRIu64 ", the block before it %" PRIu64
		     "; blocks were moved or copied",
		     label, b->sequence, before->sequence);
	else
		FIND(c, end == b->offset ? WS_FINDING_DAMAGE : WS_FINDING_NOTE, b->offset,
		     "%s: blocks missing before it: %" PRIu64, label, b->sequence - expected);
}

static void check_block(struct check *c, size_t i)
{
	struct ws_block_view view;
	struct ws_err cause;
	int whole = 1;

	check_sequence(c, i);
	if (ws_trace_reader_view(c->reader, i, &view, &cause) != WS_OK) {
		FIND(c, WS_FINDING_DAMAGE, c->walk->blocks[i].offset, "%s", cause.text);
		return;
	}
	note_unknown(c, &view);
	note_missing_columns(c, &view);
	for (unsigned col = 0; col < view.header.ncolumns; col++)
		check_column(c, &view, col, &whole);
	if (whole) {
		c->result->blocks++;
		c->result->rows += view.header.rows;
	}
}

/* --- the file --- */

static bool same_text(const char *text, const struct ws_bytes *bytes)
{
	return strlen(text) == bytes->len && memcmp(text, bytes->ptr, bytes->len) == 0;
}

static void check_schema_row(struct check *c, const struct ws_column *columns, uint64_t i)
{
	const struct ws_bytes *name = &columns[WS_COL_schema_column_name].b[i];
	uint64_t kind = columns[WS_COL_schema_kind].v[i];
	uint64_t id = columns[WS_COL_schema_column].v[i];
	const struct ws_kind_def *def = kind < WS_KIND_END ? ws_schema_kind((unsigned)kind) : NULL;
	int p = def && id <= UINT16_MAX ? ws_schema_column(def, (unsigned)id) : -1;

	if (p < 0)
		return;
	c->described[kind] |= UINT64_C(1) << p;
	if (columns[WS_COL_schema_type].v[i] != def->columns[p].type ||
	    !same_text(def->columns[p].name, name))
		FIND(c, WS_FINDING_DAMAGE, c->walk->blocks[0].offset,
		     "the file's schema describes column %s.%s differently than format %u does",
		     def->name, def->columns[p].name, WS_FORMAT_MAJOR);
}

/* What the file says of its columns against what this program knows of them. */
static void check_schema(struct check *c)
{
	struct ws_column_data t;
	enum ws_status status = ws_trace_reader_load(c->reader, WS_KIND_SCHEMA, &t, NULL);
	int complete = 1;

	if (status != WS_OK)
		return;
	for (unsigned col = 0; col < t.def->ncolumns; col++)
		complete &= t.columns[col].present;
	for (uint64_t i = 0; complete && i < t.rows; i++)
		check_schema_row(c, t.columns, i);
	c->is_described = complete && t.rows;
	ws_column_data_release(&t);
}

static void check_first_block(struct check *c)
{
	const struct ws_walk *w = c->walk;

	if (!w->nblocks)
		FIND(c, WS_FINDING_DAMAGE, WS_FILE_HEADER_BYTES, "the file has no whole block");
	else if (w->blocks[0].offset == WS_FILE_HEADER_BYTES && w->blocks[0].kind != WS_KIND_SCHEMA)
		FIND(c, WS_FINDING_DAMAGE, w->blocks[0].offset,
		     "the first block is not a schema block; names of columns are missing");
}

static void check_end(struct check *c)
{
	const struct ws_walk *w = c->walk;
	bool has_index = w->nblocks && w->blocks[w->nblocks - 1].kind == WS_KIND_INDEX;

	if (w->has_trailer) {
		ws_trace_index_verify(c->reader, count_finding, c, &c->result->closed);
		return;
	}
	if (has_index)
		FIND(c, WS_FINDING_DAMAGE, w->size, "%s, though it has an index",
		     w->no_trailer.text);
	else
		FIND(c, WS_FINDING_NOTE, w->size,
		     "the file was not closed: its recorder was killed, or is still running");
}

static void check_all(struct check *c)
{
	c->v = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*c->v));
	c->b = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*c->b));
	ws_block_decoder_init(&c->decoder);

	check_first_block(c);
	check_schema(c);
	for (size_t i = 0; i < c->walk->nblocks; i++)
		check_block(c, i);
	check_end(c);
}

/* A damaged file header is a finding when there are blocks behind it, else the file is no trace. */
static enum ws_status check_header(struct check *c, const void *data, size_t size,
                                   struct ws_err *err)
{
	struct ws_file_header header;
	struct ws_walk walk;
	enum ws_status status = ws_file_header_get(data, size, &header, err);
	size_t nblocks;

	if (status != WS_CORRUPT)
		return status;
	ws_walk_run(&walk, data, size, 0, NULL, NULL);
	nblocks = walk.nblocks;
	ws_walk_free(&walk);
	if (!nblocks)
		return ws_file_header_get(data, size, &header, err);
	FIND(c, WS_FINDING_DAMAGE, 0, "%s; when the trace was recorded is lost", err->text);
	return WS_OK;
}

enum ws_status ws_trace_check_mem(const void *data, size_t size, ws_finding_fn fn, void *ctx,
                                  struct ws_check_result *result, struct ws_err *err)
{
	struct check c = {.fn = fn, .ctx = ctx, .result = result};
	struct ws_err unused;

	memset(result, 0, sizeof(*result));
	WS_FORWARD(check_header(&c, data, size, err ? err : &unused));
	WS_FORWARD(ws_trace_reader_open_damaged(&c.reader, data, size, count_finding, &c, err));
	c.walk = ws_trace_reader_walk(c.reader);
	check_all(&c);

	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		ws_map_free(&c.defined[kind].sparse);
	ws_block_decoder_free(&c.decoder);
	ws_buf_free(&c.blob_bytes);
	free(c.v);
	free(c.b);
	ws_trace_reader_free(c.reader);
	return WS_OK;
}

enum ws_status ws_trace_check_file(const char *path, ws_finding_fn fn, void *ctx,
                                   struct ws_check_result *result, struct ws_err *err)
{
	struct ws_trace_map map;
	struct ws_err cause;
	enum ws_status status;

	WS_FORWARD(ws_trace_map_open(&map, path, err));
	status = ws_trace_check_mem(map.data, map.size, fn, ctx, result, &cause);
	ws_trace_map_close(&map);
	if (status != WS_OK)
		return ws_fail(err, status, cause.file, cause.line, "%s: %s", path, cause.text);
	return WS_OK;
}
