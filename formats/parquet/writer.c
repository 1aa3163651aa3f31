#include "formats/parquet/writer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "formats/text/utf8_repair.h"
#include "formats/base/xalloc.h"

static const char magic[4] = {'P', 'A', 'R', '1'};

struct ws_parquet_writer {
	struct ws_parquet_file file;
	size_t ncolumns;
	struct ws_parquet_values *values; /* of the row group in the making, one a column */
	size_t column;                    /* column that the next value is for */
	uint32_t rows, group_rows;
	size_t text_bytes;
	uint64_t all_rows;
	struct ws_buf repaired; /* a text without what is no UTF-8 */
	struct ws_parquet_chunker chunker;
	struct ws_thrift groups, meta; /* elements of the footer's lists */
	uint32_t ngroups, nmeta;
};

static void values_init(struct ws_parquet_values *c, const struct ws_parquet_column *column,
                        uint32_t rows)
{
	c->name = column->name;
	c->type = column->type;
	c->optional = column->optional;
	c->v = ws_xarray(rows, sizeof(*c->v));
	if (c->optional)
		c->present = ws_xarray(rows, sizeof(*c->present));
}

struct ws_parquet_writer *ws_parquet_writer_new(FILE *f, const struct ws_parquet_column *columns,
                                                size_t ncolumns, const struct ws_parquet_opts *opts)
{
	struct ws_parquet_writer *w = ws_xarray(1, sizeof(*w));

	w->file.f = f;
	w->group_rows = opts && opts->group_rows ? opts->group_rows : WS_PARQUET_GROUP_ROWS;
	w->values = ws_xarray(ncolumns, sizeof(*w->values));
	w->ncolumns = ncolumns;
	ws_parquet_chunker_init(&w->chunker, w->group_rows);
	for (size_t i = 0; i < ncolumns; i++)
		values_init(&w->values[i], &columns[i], w->group_rows);
	ws_parquet_append(&w->file, magic, sizeof(magic));
	return w;
}

void ws_parquet_writer_free(struct ws_parquet_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->ncolumns; i++)
		ws_parquet_values_free(&w->values[i]);
	free(w->values);
	ws_buf_free(&w->repaired);
	ws_parquet_chunker_free(&w->chunker);
	ws_buf_free(&w->groups.buf);
	ws_buf_free(&w->meta.buf);
	free(w);
}

void ws_parquet_meta(struct ws_parquet_writer *w, const char *key, const char *value)
{
	ws_thrift_element_struct(&w->meta);
	ws_thrift_str(&w->meta, 1, key);
	ws_thrift_str(&w->meta, 2, value);
	ws_thrift_struct_end(&w->meta);
	w->nmeta++;
}

/* --- values ----------------------------------------------------------------------------------- */

static void put_value(struct ws_parquet_values *c, uint64_t value)
{
	if (c->optional)
		c->present[c->rows] = 1;
	c->rows++;
	c->v[c->n++] = value;
}

void ws_parquet_i64(struct ws_parquet_writer *w, int64_t value)
{
	put_value(&w->values[w->column++], (uint64_t)value);
}

void ws_parquet_u64(struct ws_parquet_writer *w, uint64_t value)
{
	put_value(&w->values[w->column++], value);
}

void ws_parquet_f64(struct ws_parquet_writer *w, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_value(&w->values[w->column++], bits);
}

void ws_parquet_null(struct ws_parquet_writer *w)
{
	struct ws_parquet_values *c = &w->values[w->column++];

	c->present[c->rows++] = 0;
}

static void put_text(struct ws_parquet_writer *w, struct ws_parquet_values *c, struct ws_bytes text)
{
	uint64_t place;
	uint32_t len;

	text = ws_utf8_repair(&w->repaired, text, true);
	len = (uint32_t)text.len;
	place = ws_strtab_find(&c->places, text.ptr, text.len);
	if (!place) {
		place = ws_strtab_add(&c->places, text.ptr, text.len);
		ws_buf_put(&c->dict, &len, sizeof(len));
		ws_buf_put(&c->dict, text.ptr, text.len);
		w->text_bytes += sizeof(len) + len;
		c->ndict++;
	}
	put_value(c, place - 1);
}

void ws_parquet_text(struct ws_parquet_writer *w, const void *bytes, size_t len)
{
	put_text(w, &w->values[w->column++],
	         (struct ws_bytes){bytes, len < WS_PARQUET_MAX_TEXT_BYTES
	                                          ? len
	                                          : WS_PARQUET_MAX_TEXT_BYTES});
}

void ws_parquet_str(struct ws_parquet_writer *w, const char *text)
{
	ws_parquet_text(w, text, strlen(text));
}

/* --- row groups ------------------------------------------------------------------------------- */

static void put_group(struct ws_parquet_writer *w)
{
	struct ws_parquet_chunk_size all = {0}, size;
	uint64_t offset = w->file.size;
	struct ws_thrift *t = &w->groups;

	if (!w->rows)
		return;
	ws_thrift_element_struct(t);
	ws_thrift_list(t, 1, WS_THRIFT_STRUCT, (uint32_t)w->ncolumns);
	for (size_t i = 0; i < w->ncolumns; i++) {
		ws_parquet_chunk_write(&w->chunker, &w->values[i], &w->file, t, &size);
		all.raw += size.raw;
		all.stored += size.stored;
		ws_parquet_values_clear(&w->values[i]);
	}
	ws_thrift_i64(t, 2, (int64_t)all.raw);
	ws_thrift_i64(t, 3, w->rows);
	ws_thrift_i64(t, 5, (int64_t)offset);
	ws_thrift_i64(t, 6, (int64_t)all.stored);
	ws_thrift_struct_end(t);
	w->ngroups++;
	w->all_rows += w->rows;
	w->rows = 0;
	w->text_bytes = 0;
}

void ws_parquet_end_row(struct ws_parquet_writer *w)
{
	w->column = 0;
	w->rows++;
	if (w->rows == w->group_rows || w->text_bytes >= WS_PARQUET_GROUP_TEXT_BYTES)
		put_group(w);
}

/* --- the footer ------------------------------------------------------------------------------- */

/* Names in parquet.thrift: SchemaElement, its ConvertedType for old readers and its LogicalType. */
enum { REQUIRED = 0, OPTIONAL = 1 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_64 = 14 };
enum { LOGICAL_STRING = 1, LOGICAL_INTEGER = 10 };

static void put_schema_element(struct ws_thrift *t, const struct ws_parquet_values *c)
{
	ws_thrift_element_struct(t);
	ws_thrift_i32(t, 1, ws_parquet_physical(c->type));
	ws_thrift_i32(t, 3, c->optional ? OPTIONAL : REQUIRED);
	ws_thrift_str(t, 4, c->name);
	if (c->type == WS_PARQUET_TEXT) {
		ws_thrift_i32(t, 6, CONVERTED_UTF8);
		ws_thrift_struct_begin(t, 10);
		ws_thrift_struct_begin(t, LOGICAL_STRING);
		ws_thrift_struct_end(t);
		ws_thrift_struct_end(t);
	} else if (c->type == WS_PARQUET_U64) {
		ws_thrift_i32(t, 6, CONVERTED_UINT_64);
		ws_thrift_struct_begin(t, 10);
		ws_thrift_struct_begin(t, LOGICAL_INTEGER);
		ws_thrift_i8(t, 1, 64);
		ws_thrift_bool(t, 2, 0); /* signed */
		ws_thrift_struct_end(t);
		ws_thrift_struct_end(t);
	}
	ws_thrift_struct_end(t);
}

static void put_footer(struct ws_parquet_writer *w, struct ws_thrift *t)
{
	ws_thrift_i32(t, 1, 2); /* version: V2 pages */
	ws_thrift_list(t, 2, WS_THRIFT_STRUCT, (uint32_t)w->ncolumns + 1);
	ws_thrift_element_struct(t);
	ws_thrift_str(t, 4, "schema");
	ws_thrift_i32(t, 5, (int32_t)w->ncolumns);
	ws_thrift_struct_end(t);
	for (size_t i = 0; i < w->ncolumns; i++)
		put_schema_element(t, &w->values[i]);
	ws_thrift_i64(t, 3, (int64_t)w->all_rows);
	ws_thrift_list(t, 4, WS_THRIFT_STRUCT, w->ngroups);
	ws_thrift_elements(t, &w->groups);
	if (w->nmeta) {
		ws_thrift_list(t, 5, WS_THRIFT_STRUCT, w->nmeta);
		ws_thrift_elements(t, &w->meta);
	}
	ws_thrift_str(t, 6, "warpsheet version " WS_VERSION);
	/* column orders: without them readers must not trust the statistics */
	ws_thrift_list(t, 7, WS_THRIFT_STRUCT, (uint32_t)w->ncolumns);
	for (size_t i = 0; i < w->ncolumns; i++) {
		ws_thrift_element_struct(t);
		ws_thrift_struct_begin(t, 1);
		ws_thrift_struct_end(t);
		ws_thrift_struct_end(t);
	}
	ws_thrift_struct_end(t);
}

enum ws_status ws_parquet_finish(struct ws_parquet_writer *w, struct ws_err *err)
{
	struct ws_parquet_file *file = &w->file;
	struct ws_thrift t = {0};
	uint8_t size[4];

	put_group(w);
	put_footer(w, &t);
	ws_store_u32(size, (uint32_t)t.buf.len);
	ws_parquet_append(file, t.buf.data, t.buf.len);
	ws_parquet_append(file, size, sizeof(size));
	ws_parquet_append(file, magic, sizeof(magic));
	ws_buf_free(&t.buf);
	if (fflush(file->f) != 0 && !file->error)
		file->error = errno;
	WS_FAIL_IF(file->error, err, IO_WRITE, "cannot write Parquet: %s", strerror(file->error));
	return WS_OK;
}
