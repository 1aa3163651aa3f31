/*
 * Record kinds as Parquet tables: the columns of schema.def, with names in
 * the place of ids.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "formats/schema/references.h"
#include "report/export/parquet/private.h"

/* Where the values of a column come from. */
struct source {
	const struct ws_column_def *def;
	const struct ws_records *named; /* not NULL: in the row of these that a column names */
	size_t name_offset;             /* of that column in the row */
	bool is_time;                   /* may be a time that was not recorded */
	int zero_is_none;
};

struct kind_export {
	const struct ws_parquet_export *x;
	struct ws_records threads, op_configs;
	const struct ws_kind_def *def;
	struct ws_parquet_table *out;
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
	bool is_copy =
	        !source.named && (k->def->id == WS_KIND_MEMCPY || k->def->id == WS_KIND_MEMSET);

	source.is_time = is_copy && (def->type == WS_TYPE_TIME || def->type == WS_TYPE_DUR);
	/* 0 is "none recorded"; as a number it would join with all others, or be added */
	source.zero_is_none = strcmp(def->name, "correlation") == 0 ||
	                      (is_copy && strcmp(def->name, "bytes") == 0);
	k->fields[k->n] = (struct ws_parquet_field){def->name, type_of(def->type),
	                                            def->type == WS_TYPE_STR || source.named ||
	                                                    source.is_time || source.zero_is_none,
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

/* The columns of the row that this one names take its place, but those the kind has. */
static void add_columns_of(struct kind_export *k, const struct ws_records *named, enum ws_kind kind,
                           const struct ws_column_def *name)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);

	for (int i = 1; i < def->ncolumns; i++) {
		bool is_name_of_thread = kind == WS_KIND_THREAD && i == WS_COL_thread_name;

		if (!is_name_of_thread && !has_column(k->def, def->columns[i].name))
			add_column(k, (struct source){.def = &def->columns[i],
			                              .named = named,
			                              .name_offset = name->row_offset});
	}
}

static void plan(struct kind_export *k)
{
	const struct ws_kind_def *def = k->def;

	k->n = 0;
	for (int i = 0; i < def->ncolumns; i++) {
		struct ws_ref_column ref = {0};

		ws_ref_column_at(def, (unsigned)i, &ref);
		if (ref.target == WS_KIND_THREAD)
			add_columns_of(k, &k->threads, ref.target, &def->columns[i]);
		else if (ref.target == WS_KIND_OP_CONFIG)
			add_columns_of(k, &k->op_configs, ref.target, &def->columns[i]);
		else
			add_column(k, (struct source){.def = &def->columns[i]});
	}
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
                      const struct source *s, const uint8_t *row)
{
	uint64_t value;
	double real;

	if (s->named)
		row = ws_records_find(s->named, ws_load_u64(row + s->name_offset));
	if (!row) {
		ws_parquet_null(w);
		return;
	}
	value = ws_load_u64(row + s->def->row_offset);
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

static void put_row(void *ctx, const void *row)
{
	struct kind_export *k = ctx;
	const bool has_time = ws_export_has_time(k->def->id, row);

	for (size_t i = 0; i < k->n; i++) {
		if (k->sources[i].is_time && !has_time)
			ws_parquet_null(k->out->w);
		else
			put_value(k->out->w, k, &k->sources[i], row);
	}
	ws_parquet_table_end_row(k->out);
}

static enum ws_status put_rows(void *ctx, struct ws_parquet_table *out, struct ws_err *err)
{
	struct kind_export *k = ctx;

	k->out = out;
	return ws_records_each(k->x->r, k->def->id, put_row, k, err);
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
	struct kind_export *k = ws_xarray(1, sizeof(*k));
	enum ws_status status;

	k->x = x;
	status = ws_records_load_by(&k->threads, x->r, WS_KIND_THREAD, WS_COL_thread_id, err);
	WS_THEN(status, ws_records_load_by(&k->op_configs, x->r, WS_KIND_OP_CONFIG,
	                                   WS_COL_op_config_id, err));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && status == WS_OK; i++) {
		k->def = ws_schema_kind(kinds[i].kind);
		plan(k);
		WS_THEN(status, ws_parquet_table_write(&x->folder, kinds[i].table, k->fields, k->n,
		                                       put_rows, k, err));
	}
	ws_records_free(&k->threads);
	ws_records_free(&k->op_configs);
	free(k);
	return status;
}
