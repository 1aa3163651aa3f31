#include "formats/trace/reader.h"

#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "formats/trace/reader_private.h"

/* --- the file's own schema --- */

static const char *keep_name(char **pos, const struct ws_bytes *name)
{
	char *start = *pos;

	if (name->len)
		memcpy(start, name->ptr, name->len);
	start[name->len] = 0;
	*pos += name->len + 1;
	return start;
}

static void keep_names(struct ws_trace_reader *r, const struct ws_column_data *t)
{
	const struct ws_column *c = t->columns;
	size_t size = 0;
	char *pos;

	for (uint64_t i = 0; i < t->rows; i++)
		size += c[WS_COL_schema_kind_name].b[i].len + c[WS_COL_schema_unit].b[i].len +
		        c[WS_COL_schema_column_name].b[i].len + 3;
	r->schema = ws_xarray(t->rows, sizeof(*r->schema));
	r->names = ws_xmalloc(size);
	pos = r->names;
	r->nschema = t->rows;
	for (uint64_t i = 0; i < t->rows; i++)
		r->schema[i] = (struct ws_reader_schema){
		        .kind = c[WS_COL_schema_kind].v[i],
		        .column = c[WS_COL_schema_column].v[i],
		        .kind_name = keep_name(&pos, &c[WS_COL_schema_kind_name].b[i]),
		        .column_name = keep_name(&pos, &c[WS_COL_schema_column_name].b[i]),
		        .unit = keep_name(&pos, &c[WS_COL_schema_unit].b[i]),
		};
}

/* Names are a help, not a need: a schema that does not decode gives none. */
static enum ws_status load_schema(struct ws_trace_reader *r, struct ws_err *err)
{
	struct ws_column_data t;
	enum ws_status status = ws_trace_reader_load(r, WS_KIND_SCHEMA, &t, err);
	int complete = 1;

	if (status != WS_OK)
		return WS_OK;
	for (unsigned c = 0; c < t.def->ncolumns; c++)
		complete &= t.columns[c].present;
	if (complete)
		keep_names(r, &t);
	ws_column_data_release(&t);
	return status;
}

static const struct ws_reader_schema *find_name(const struct ws_trace_reader *r, unsigned kind,
                                                unsigned column, int any_column)
{
	for (size_t i = 0; i < r->nschema; i++)
		if (r->schema[i].kind == kind && (any_column || r->schema[i].column == column))
			return &r->schema[i];
	return NULL;
}

const char *ws_trace_reader_kind_name(const struct ws_trace_reader *r, unsigned kind)
{
	const struct ws_reader_schema *s = find_name(r, kind, 0, 1);

	return s ? s->kind_name : NULL;
}

const char *ws_trace_reader_column_name(const struct ws_trace_reader *r, unsigned kind,
                                        unsigned column)
{
	const struct ws_reader_schema *s = find_name(r, kind, column, 0);

	return s ? s->column_name : NULL;
}

const char *ws_trace_reader_column_unit(const struct ws_trace_reader *r, unsigned kind,
                                        unsigned column)
{
	const struct ws_reader_schema *s = find_name(r, kind, column, 0);

	return s ? s->unit : NULL;
}

/* --- opening --- */

static void summarize(struct ws_trace_reader *r, const struct ws_file_header *h)
{
	struct ws_trace_summary *s = &r->summary;

	s->file_size = r->walk.size;
	s->file_hash = ws_walk_checksum(&r->walk);
	s->base_ns = h->base_ns;
	s->version_major = h->version_major;
	s->version_minor = h->version_minor;
	s->required_features = h->required_features;
	s->optional_features = h->optional_features;
	s->blocks = r->walk.nblocks;
	s->damaged_blocks = r->walk.damaged;
	s->skipped_bytes = r->walk.skipped_bytes;
	for (size_t i = 0; i < r->walk.nblocks; i++)
		s->unknown_blocks += !ws_schema_kind(r->walk.blocks[i].kind);
}

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
	        ws_reader_holds_two_kinds(block) ? ws_schema_kind(kind)->ncolumns : block->ncolumns;
	part->info.size = block->size * rows / block->rows;
	r->nparts++;
}

/* The rows of one kind in each stored block. */
static void find_parts(struct ws_trace_reader *r)
{
	const struct ws_walk *w = &r->walk;
	int two_kinds = 0;

	r->parts = ws_xmalloc((2 * w->nblocks + 1) * sizeof(*r->parts));
	for (size_t i = 0; i < w->nblocks; i++) {
		const struct ws_block_info *block = &w->blocks[i];

		if (!ws_reader_holds_two_kinds(block)) {
			add_part(r, i, block->kind, block->rows);
			continue;
		}
		two_kinds = 1;
		add_part(r, i, WS_KIND_API, block->api_rows);
		add_part(r, i, WS_KIND_NVTX, block->rows - block->api_rows);
	}
	r->thread_rows = two_kinds ? ws_thread_rows_new() : NULL;
}

static enum ws_status open_into(struct ws_trace_reader *r, const void *data, size_t size,
                                int is_map, const struct ws_file_header *header, ws_finding_fn fn,
                                void *ctx, struct ws_err *err)
{
	ws_walk_run(&r->walk, data, size, is_map, fn, ctx);
	r->decoder = ws_xarray(1, sizeof(*r->decoder));
	ws_block_decoder_init(r->decoder);
	find_parts(r);
	summarize(r, header);
	WS_FORWARD(load_schema(r, err));
	ws_trace_index_verify(r, NULL, NULL, &r->summary.closed);
	return WS_OK;
}

static enum ws_status open_bytes(struct ws_trace_reader **out, const void *data, size_t size,
                                 int is_map, ws_finding_fn fn, void *ctx, struct ws_err *err)
{
	struct ws_trace_reader *r = ws_xarray(1, sizeof(*r));
	struct ws_file_header h;
	enum ws_status status;

	*out = NULL;
	if (ws_file_header_get(data, size, &h, NULL) != WS_OK)
		memset(&h, 0, sizeof(h));
	status = open_into(r, data, size, is_map, &h, fn, ctx, err);
	if (status != WS_OK) {
		ws_trace_reader_free(r);
		return status;
	}
	*out = r;
	return WS_OK;
}

enum ws_status ws_trace_reader_open_damaged(struct ws_trace_reader **out, const void *data,
                                            size_t size, ws_finding_fn fn, void *ctx,
                                            struct ws_err *err)
{
	return open_bytes(out, data, size, 0, fn, ctx, err);
}

/* First the header, as there is nothing to search in a file that is no trace. */
static enum ws_status open_trace(struct ws_trace_reader **out, const void *data, size_t size,
                                 int is_map, struct ws_err *err)
{
	struct ws_file_header h;

	*out = NULL;
	WS_FORWARD(ws_file_header_get(data, size, &h, err));
	return open_bytes(out, data, size, is_map, NULL, NULL, err);
}

enum ws_status ws_trace_reader_open_mem(struct ws_trace_reader **out, const void *data, size_t size,
                                        struct ws_err *err)
{
	return open_trace(out, data, size, 0, err);
}

enum ws_status ws_trace_reader_open(struct ws_trace_reader **out, const char *path,
                                    struct ws_err *err)
{
	struct ws_trace_map map;
	struct ws_err cause;
	enum ws_status status;

	*out = NULL;
	WS_FORWARD(ws_trace_map_open(&map, path, err));
	status = open_trace(out, map.data, map.size, 1, &cause);
	if (status != WS_OK) {
		ws_trace_map_close(&map);
		return ws_fail(err, status, cause.file, cause.line, "%s: %s", path, cause.text);
	}
	(*out)->map = map;
	return WS_OK;
}

void ws_trace_reader_free(struct ws_trace_reader *r)
{
	if (!r)
		return;
	if (r->decoder)
		ws_block_decoder_free(r->decoder);
	free(r->decoder);
	ws_walk_free(&r->walk);
	ws_trace_map_close(&r->map);
	free(r->parts);
	free(r->thread_rows);
	free(r->schema);
	free(r->names);
	free(r);
}
