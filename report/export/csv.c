#include "formats/base/outfile.h"
#include "formats/schema/schema.h"
#include "formats/text/csv_writer.h"
#include "report/export/csv.h"
#include "report/export/exporter.h"

#define MAX_COLUMNS 64

bool ws_export_csv_has(enum ws_kind kind)
{
	return ws_schema_kind(kind) && !ws_kind_is_made(kind) && kind != WS_KIND_STRING;
}

/* --- names --- */

/* The column that says what a row of a kind is called; -1 when none does. */
static int name_column(const struct ws_kind_def *def)
{
	for (unsigned c = 0; c < def->ncolumns; c++)
		if (def->columns[c].type == WS_TYPE_STR && !strcmp(def->columns[c].name, "name"))
			return (int)c;
	return -1;
}

/* The kind whose rows a column names and that have names; 0 for any other column. */
static enum ws_kind named_kind(const struct ws_kind_def *def, unsigned column)
{
	struct ws_ref_column ref;

	if (def->columns[column].type == WS_TYPE_STR || !ws_ref_column_at(def, column, &ref) ||
	    name_column(ws_schema_kind(ref.target)) < 0)
		return 0;
	return ref.target;
}

static struct ws_bytes name_of(const struct ws_export_csv *c, enum ws_kind kind, uint64_t id)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);
	const uint8_t *row = ws_records_find(&c->dict[kind], id);
	size_t offset = def->columns[name_column(def)].row_offset;

	return ws_records_text(&c->dict[WS_KIND_STRING], row ? ws_load_u64(row + offset) : 0);
}

enum ws_status ws_export_csv_init(struct ws_export_csv *c, const struct ws_trace_reader *r,
                                  const struct ws_export_opts *opts, struct ws_err *err)
{
	*c = (struct ws_export_csv){.r = r};
	ws_export_progress_begin(&c->progress, r, opts);
	WS_FORWARD(ws_records_load_by(&c->dict[WS_KIND_STRING], r, WS_KIND_STRING, 0, err));
	for (size_t i = 0; i < ws_ref_columns_count; i++) {
		enum ws_kind target = ws_ref_columns[i].target;

		if (!c->dict[target].rows && name_column(ws_schema_kind(target)) >= 0)
			WS_FORWARD(ws_records_load_by(&c->dict[target], r, target, 0, err));
	}
	return WS_OK;
}

void ws_export_csv_free(struct ws_export_csv *c)
{
	for (size_t i = 0; i < WS_KIND_END; i++)
		ws_records_free(&c->dict[i]);
	ws_buf_free(&c->hex);
}

/* --- header --- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* "grid_x (blocks)"; "dur_ns" tells its unit itself, and a list of names is none. */
static void put_title(struct ws_csv *csv, const struct ws_column_def *column)
{
	char text[100];

	if (!*column->unit || column->type == WS_TYPE_ENUM || ends_with(column->name, column->unit))
		snprintf(text, sizeof(text), "%s", column->name);
	else
		snprintf(text, sizeof(text), "%s (%s)", column->name, column->unit);
	ws_csv_str(csv, text);
}

/* --- rows --- */

/* A name where the value has one; else the number, which is the file's. */
static void put_enum(struct ws_csv *csv, const char *unit, uint64_t value)
{
	struct ws_bytes name = ws_enum_name(unit, value);

	if (name.len)
		ws_csv_text(csv, name.ptr, name.len);
	else
		ws_csv_u64(csv, value);
}

/* Bytes of a payload are no text: hexadecimal. */
static void put_hex(struct ws_export_csv *c, struct ws_csv *csv, struct ws_bytes bytes)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *p = bytes.ptr;

	c->hex.len = 0;
	ws_buf_reserve(&c->hex, 2 * bytes.len);
	for (size_t i = 0; i < bytes.len; i++) {
		c->hex.data[c->hex.len++] = (uint8_t)digits[p[i] >> 4];
		c->hex.data[c->hex.len++] = (uint8_t)digits[p[i] & 15];
	}
	if (bytes.len)
		ws_csv_text(csv, c->hex.data, c->hex.len);
	else
		ws_csv_empty(csv);
}

static void put_text(struct ws_csv *csv, struct ws_bytes text)
{
	if (text.len)
		ws_csv_text(csv, text.ptr, text.len);
	else
		ws_csv_empty(csv);
}

static void put_cell(struct ws_export_csv *c, struct ws_csv *csv, const struct ws_kind_def *def,
                     unsigned i, const struct ws_column *column, size_t row)
{
	const struct ws_column_def *d = &def->columns[i];
	enum ws_kind named = named_kind(def, i);
	double real;

	if (!column) {
		ws_csv_empty(csv);
		if (named)
			ws_csv_empty(csv);
		return;
	}
	switch (d->type) {
	case WS_TYPE_BLOB:
		if (def->id == WS_KIND_PAYLOAD) {
			put_hex(c, csv, column->b[row]);
			return;
		}
		put_text(csv, column->b[row]);
		break;
	case WS_TYPE_STR:
		put_text(csv, ws_records_text(&c->dict[WS_KIND_STRING], column->v[row]));
		break;
	case WS_TYPE_ENUM:
		put_enum(csv, d->unit, column->v[row]);
		break;
	case WS_TYPE_F64:
		memcpy(&real, &column->v[row], sizeof(real));
		ws_csv_f64(csv, real);
		break;
	case WS_TYPE_U64:
		ws_csv_u64(csv, column->v[row]);
		break;
	default:
		ws_csv_i64(csv, ws_column_i64(column, row));
	}
	if (named)
		put_text(csv, name_of(c, named, column->v[row]));
}

static void put_block(struct ws_export_csv *c, struct ws_csv *csv, const struct ws_kind_def *def,
                      const struct ws_block *block)
{
	const struct ws_column *columns[MAX_COLUMNS] = {NULL};

	for (unsigned i = 0; i < block->ncolumns; i++) {
		const struct ws_column *column = &block->columns[i];
		int at = ws_schema_column(def, column->id);

		if (at >= 0 && at < MAX_COLUMNS && column->present &&
		    column->type == def->columns[at].type)
			columns[at] = column;
	}
	for (size_t row = 0; row < block->info.rows; row++) {
		for (unsigned i = 0; i < def->ncolumns; i++)
			put_cell(c, csv, def, i, columns[i], row);
		ws_csv_end_row(csv);
	}
	ws_export_progress_tell(&c->progress, block->info.rows);
}

enum ws_status ws_export_csv_kind(struct ws_export_csv *c, enum ws_kind kind, FILE *f,
                                  struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);
	struct ws_block block;
	struct ws_csv csv;
	char text[100];

	WS_FAIL_IF(def->ncolumns > MAX_COLUMNS, err, BUG, "kind %s has too many columns",
	           def->name);
	ws_csv_begin(&csv, f);
	for (unsigned j = 0; j < def->ncolumns; j++) {
		put_title(&csv, &def->columns[j]);
		if (!named_kind(def, j))
			continue;
		snprintf(text, sizeof(text), "%s name", def->columns[j].name);
		ws_csv_str(&csv, text);
	}
	ws_csv_end_row(&csv);
	for (size_t i = 0; i < ws_trace_reader_block_count(c->r); i++) {
		if (ws_trace_reader_block(c->r, i)->kind != kind)
			continue;
		WS_FORWARD(ws_trace_reader_decode(c->r, i, &block, err));
		put_block(c, &csv, def, &block);
		ws_block_release(&block);
	}
	return ws_csv_finish(&csv, err);
}

/* --- csv exporter --- */

static void file_name(char name[80], enum ws_kind kind)
{
	snprintf(name, 80, "%s.csv", ws_schema_kind(kind)->name);
}

static enum ws_status write_kind(struct ws_outfolder *f, struct ws_export_csv *csv,
                                 enum ws_kind kind, struct ws_err *err)
{
	struct ws_outfile out;
	enum ws_status status;
	struct ws_err cause;
	char name[80];

	file_name(name, kind);
	WS_FORWARD(ws_outfolder_file(f, name, &out, err));
	status = ws_export_csv_kind(csv, kind, out.f, &cause);
	if (status == WS_OK) {
		ws_outfolder_add(f, &out);
		return WS_OK;
	}
	return ws_outfile_end(&out, status, &cause, err);
}

static enum ws_status write_export(const struct ws_trace_reader *r, const struct ws_export_job *job,
                                   struct ws_export_stats *stats, struct ws_err *err)
{
	struct ws_export_csv csv;
	struct ws_outfolder f;
	enum ws_status status = ws_outfolder_open(&f, job->to, err);

	(void)stats; /* every kind has its file */
	if (status != WS_OK)
		goto out;
	status = ws_export_csv_init(&csv, r, job->opts, err);
	for (unsigned kind = 0; kind < WS_KIND_END && status == WS_OK; kind++)
		if (ws_export_csv_has(kind) && ws_trace_reader_count(r, kind))
			status = write_kind(&f, &csv, kind, err);
	ws_export_csv_free(&csv);
	if (status == WS_OK) {
		char name[80];

		/* Files of kinds that the trace lacks are of an earlier export. */
		for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
			if (!ws_export_csv_has(kind) || ws_trace_reader_count(r, kind))
				continue;
			file_name(name, kind);
			ws_outfolder_remove(&f, name);
		}
		return ws_outfolder_commit(&f, err);
	}
out:
	ws_outfolder_abandon(&f);
	return status;
}

const struct ws_exporter ws_exporter_csv = {
        .name = "csv",
        .extensions = {".csv"},
        .write = write_export,
};
