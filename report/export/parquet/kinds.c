/*
 * Record kinds as Parquet tables: the columns of schema.def, with names in
 * the place of ids.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/schema/references.h"
#include "formats/trace/block_reader.h"
#include "report/model/columns.h"
#include "report/export/parquet/private.h"
#include "report/base/order.h"

/* Rows that others name, found by their id, which is column 0. */
struct dict {
	struct ws_column_data t;
	struct ws_idmap rows;
};

static enum ws_status dict_load(struct dict *d, const struct ws_trace_reader *r, enum ws_kind kind,
                                struct ws_err *err)
{
	WS_FORWARD(ws_trace_reader_load(r, kind, &d->t, err));
	for (uint64_t i = 0; i < d->t.rows; i++)
		WS_FORWARD(ws_idmap_put(&d->rows, ws_value(&d->t, 0, i), (uint32_t)i, err));
	return WS_OK;
}

static void dict_free(struct dict *d)
{
	ws_column_data_release(&d->t);
	ws_idmap_free(&d->rows);
}

/* Where the values of a column come from. */
struct source {
	const struct ws_column_def *def;
	int position;            /* of the column in its kind */
	const struct dict *dict; /* not NULL: in the row that column `reference` names */
	int reference;
	bool has_no_time; /* may be a time that was not recorded: flags tell */
	int zero_is_none;
};

struct kind_export {
	const struct ws_parquet_export *x;
	struct dict threads, op_configs;
	struct ws_column_data t;
	struct ws_parquet_field fields[WS_PARQUET_MAX_FIELDS];
	struct source sources[WS_PARQUET_MAX_FIELDS];
	size_t n;
};

static enum ws_parquet_type type_of(uint8_t type)
{
	switch (type) {
	case WS_TYPE_U64:
		return WS_PARQUET_U64;
	case WS_TYPE_F64:
		return WS_PARQUET_F64;
	case WS_TYPE_STR:
	case WS_TYPE_ENUM:
		return WS_PARQUET_TEXT;
	default:
		return WS_PARQUET_I64;
	}
}

static void add_column(struct kind_export *k, struct source source)
{
	const struct ws_column_def *def = source.def;
	bool is_time = def->type == WS_TYPE_TIME || def->type == WS_TYPE_DUR;
	bool is_copy =
	        !source.dict && (k->t.def->id == WS_KIND_MEMCPY || k->t.def->id == WS_KIND_MEMSET);

	source.has_no_time = is_time && is_copy;
	/* 0 is "none recorded"; as a number it would join with all others, or be added */
	source.zero_is_none = strcmp(def->name, "correlation") == 0 ||
	                      (is_copy && strcmp(def->name, "bytes") == 0);
	k->fields[k->n] =
	        (struct ws_parquet_field){def->name, type_of(def->type),
	                                  def->type == WS_TYPE_STR || source.dict ||
	                                          source.has_no_time || source.zero_is_none,
	                                  def->type == WS_TYPE_ENUM ? "" : def->unit};
	k->sources[k->n++] = source;
}

static bool has_column(const struct ws_kind_def *def, const char *name)
{
	for (int i = 0; i < def->ncolumns; i++)
		if (strcmp(def->columns[i].name, name) == 0)
			return 1;
	return 0;
}

/* The columns of the row that column `reference` names take its place, but those the kind has. */
static void add_columns_of(struct kind_export *k, const struct dict *dict, int reference)
{
	const struct ws_kind_def *def = dict->t.def;

	for (int i = 1; i < def->ncolumns; i++) {
		struct source source = {.def = &def->columns[i],
		                        .position = i,
		                        .dict = dict,
		                        .reference = reference};
		bool is_name_of_thread = def->id == WS_KIND_THREAD && i == WS_COL_thread_name;

		if (!is_name_of_thread && !has_column(k->t.def, def->columns[i].name))
			add_column(k, source);
	}
}

static enum ws_status plan(struct kind_export *k, struct ws_err *err)
{
	const struct ws_kind_def *def = k->t.def;
	size_t most = def->ncolumns;

	k->n = 0;
	most += k->threads.t.def->ncolumns + k->op_configs.t.def->ncolumns;
	WS_FAIL_IF(most > WS_PARQUET_MAX_FIELDS, err, BUG, "kind %s has too many columns",
	           def->name);
	for (int i = 0; i < def->ncolumns; i++) {
		struct ws_ref_column ref = {0};

		WS_FAIL_IF(def->columns[i].type == WS_TYPE_BLOB, err, BUG,
		           "column %s.%s has no place in a Parquet table", def->name,
		           def->columns[i].name);
		ws_ref_column_at(def, (unsigned)i, &ref);
		if (ref.target == WS_KIND_THREAD)
			add_columns_of(k, &k->threads, i);
		else if (ref.target == WS_KIND_OP_CONFIG)
			add_columns_of(k, &k->op_configs, i);
		else
			add_column(k, (struct source){.def = &def->columns[i], .position = i});
	}
	return WS_OK;
}

static void put_enum(struct ws_parquet_writer *w, const char *names, uint64_t value)
{
	struct ws_bytes name = ws_enum_name(names, value);
	char number[24];

	if (name.len) {
		ws_parquet_text(w, name.ptr, name.len);
		return;
	}
	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	ws_parquet_str(w, number);
}

static void put_value(struct ws_parquet_writer *w, const struct kind_export *k,
                      const struct source *s, uint64_t row)
{
	const struct ws_column_data *t = s->dict ? &s->dict->t : &k->t;
	uint64_t value;
	double real;

	if (s->dict) {
		uint32_t at = ws_idmap_get(&s->dict->rows, ws_value(&k->t, s->reference, row));

		if (at == WS_NONE) {
			ws_parquet_null(w);
			return;
		}
		row = at;
	}
	value = ws_value(t, s->position, row);
	switch (s->def->type) {
	case WS_TYPE_STR:
		ws_parquet_text_or_null(w, k->x->m->texts[ws_model_text(k->x->m, value)]);
		break;
	case WS_TYPE_ENUM:
		put_enum(w, s->def->unit, value);
		break;
	case WS_TYPE_F64:
		memcpy(&real, &value, sizeof(real));
		ws_parquet_f64(w, real);
		break;
	case WS_TYPE_U64:
		ws_parquet_u64_or_null(w, value, value || !s->zero_is_none);
		break;
	default:
		ws_parquet_i64(w, (int64_t)value);
	}
}

static int is_without_time(const struct kind_export *k, uint64_t row)
{
	int flags = k->t.def->id == WS_KIND_MEMCPY ? WS_COL_memcpy_flags : WS_COL_memset_flags;

	return ws_value(&k->t, flags, row) & WS_COPY_NO_TIME;
}

/* The rows in k->t. */
static enum ws_status write_rows(struct kind_export *k, struct ws_parquet_table *out,
                                 struct ws_err *err)
{
	for (uint64_t row = 0; row < k->t.rows; row++) {
		for (size_t i = 0; i < k->n; i++) {
			if (k->sources[i].has_no_time && is_without_time(k, row))
				ws_parquet_null(out->w);
			else
				put_value(out->w, k, &k->sources[i], row);
		}
		WS_FORWARD(ws_parquet_table_end_row(out, err));
	}
	return WS_OK;
}

/* All rows of the kind, a block in memory at a time. */
static enum ws_status write_blocks(struct kind_export *k, struct ws_parquet_table *out,
                                   struct ws_err *err)
{
	const struct ws_trace_reader *r = k->x->r;
	struct ws_column columns[WS_PARQUET_MAX_FIELDS];
	struct ws_block_rows rows = {0};
	struct ws_block_reader *reader;
	enum ws_status status;

	WS_FORWARD(ws_block_reader_new(&reader, r, err));
	status = WS_OK;
	for (size_t i = 0; i < ws_trace_reader_block_count(r) && status == WS_OK; i++) {
		if (ws_trace_reader_block(r, i)->kind != k->t.def->id)
			continue;
		status = ws_block_reader_read(reader, i, ~(ws_column_set)0, &rows, err);
		k->t.rows = rows.info.rows;
		k->t.columns = columns;
		for (int c = 0; c < k->t.def->ncolumns; c++)
			columns[c] =
			        (struct ws_column){.present = rows.v[c] != NULL, .v = rows.v[c]};
		WS_THEN(status, write_rows(k, out, err));
	}
	ws_block_rows_release(&rows);
	ws_block_reader_free(reader);
	return status;
}

static enum ws_status export_kind(struct ws_parquet_export *x, struct kind_export *k,
                                  enum ws_kind kind, const char *name, struct ws_err *err)
{
	struct ws_parquet_table *out = calloc(1, sizeof(*out));
	enum ws_status status;

	WS_FAIL_IF(!out, err, NO_MEMORY, "out of memory");
	k->t = (struct ws_column_data){.def = ws_schema_kind(kind)};
	status = plan(k, err);
	if (status == WS_OK) {
		status = ws_parquet_table_begin(out, &x->folder, name, k->fields, k->n, err);
		WS_THEN(status, write_blocks(k, out, err));
		status = ws_parquet_table_end(out, status, err);
	}
	free(out);
	return status;
}

enum ws_status ws_parquet_export_kinds(struct ws_parquet_export *x, struct ws_err *err)
{
	static const struct {
		enum ws_kind kind;
		const char *table;
	} kinds[] = {
#define X(KIND, table) {WS_KIND_##KIND, table},
	        WS_PARQUET_KINDS(X)
#undef X
	};
	struct kind_export *k = calloc(1, sizeof(*k));
	enum ws_status status;

	WS_FAIL_IF(!k, err, NO_MEMORY, "out of memory");
	k->x = x;
	status = dict_load(&k->threads, x->r, WS_KIND_THREAD, err);
	WS_THEN(status, dict_load(&k->op_configs, x->r, WS_KIND_OP_CONFIG, err));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && status == WS_OK; i++)
		status = export_kind(x, k, kinds[i].kind, kinds[i].table, err);
	dict_free(&k->threads);
	dict_free(&k->op_configs);
	free(k);
	return status;
}
