#include "report/export/parquet/folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/analysis/rank.h"

/* --- the folder ------------------------------------------------------------------------------- */

enum ws_status ws_parquet_folder_open(struct ws_parquet_folder *f, const struct ws_model *m,
                                      const char *dir, const struct ws_export_parquet_opts *opts,
                                      uint64_t total, struct ws_err *err)
{
	static const struct ws_export_parquet_opts defaults = WS_EXPORT_PARQUET_DEFAULTS;
	char name[32];

	memset(f, 0, sizeof(*f));
	f->m = m;
	f->opts = opts ? opts : &defaults;
	f->total = total;
	f->rank = f->opts->rank >= 0 ? f->opts->rank : ws_model_rank(m);
	WS_FORWARD(ws_outfolder_open(&f->out, dir, err));
	if (f->rank < 0)
		return WS_OK;
	snprintf(name, sizeof(name), "rank=%04" PRId64, f->rank);
	return ws_outfolder_enter(&f->out, name, err);
}

/* --- a file ----------------------------------------------------------------------------------- */

static void put_meta(struct ws_parquet_table *t, const char *name,
                     const struct ws_parquet_field *fields, size_t nfields)
{
	const struct ws_parquet_folder *f = t->folder;
	char number[32], key[128];

	ws_parquet_meta(t->w, "warpsheet.table", name);
	ws_parquet_meta(t->w, "warpsheet.version", WS_VERSION);
	snprintf(number, sizeof(number), "%016" PRIx64, f->m->file.file_hash);
	ws_parquet_meta(t->w, "trace.hash", number);
	snprintf(number, sizeof(number), "%" PRId64, f->m->file.base_ns);
	ws_parquet_meta(t->w, "trace.base_ns", number);
	if (f->rank >= 0) {
		snprintf(number, sizeof(number), "%" PRId64, f->rank);
		ws_parquet_meta(t->w, "trace.rank", number);
	}
	for (size_t i = 0; i < nfields; i++) {
		if (!*fields[i].unit)
			continue;
		snprintf(key, sizeof(key), "unit.%s", fields[i].name);
		ws_parquet_meta(t->w, key, fields[i].unit);
	}
}

enum ws_status ws_parquet_table_begin(struct ws_parquet_table *t, struct ws_parquet_folder *f,
                                      const char *name, const struct ws_parquet_field *fields,
                                      size_t nfields, struct ws_err *err)
{
	enum ws_status status;
	char file[64];

	memset(t, 0, sizeof(*t));
	t->folder = f;
	WS_FAIL_IF(nfields > WS_PARQUET_MAX_FIELDS, err, BUG, "table %s has too many columns",
	           name);
	for (size_t i = 0; i < nfields; i++)
		t->columns[i] = (struct ws_parquet_column){fields[i].name, fields[i].type,
		                                           fields[i].optional};
	snprintf(file, sizeof(file), "%s.parquet", name);
	status = ws_outfolder_file(&f->out, file, &t->out, err);
	if (status == WS_OK)
		status = ws_parquet_writer_new(&t->w, t->out.f, t->columns, nfields, NULL, err);
	if (status == WS_OK)
		put_meta(t, name, fields, nfields);
	return status;
}

/* A call a row would cost more than the row. */
#define PROGRESS_ROWS 65536u

enum ws_status ws_parquet_table_end_row(struct ws_parquet_table *t, struct ws_err *err)
{
	struct ws_parquet_folder *f = t->folder;

	if (f->done < f->total)
		f->done++;
	if (f->opts->progress && f->done % PROGRESS_ROWS == 0)
		f->opts->progress(f->opts->context, f->done, f->total);
	return ws_parquet_end_row(t->w, err);
}

enum ws_status ws_parquet_table_end(struct ws_parquet_table *t, enum ws_status status,
                                    struct ws_err *err)
{
	if (status == WS_OK)
		status = ws_parquet_finish(t->w, err);
	ws_parquet_writer_free(t->w);
	/* the writer does not know where it writes */
	if (status == WS_IO_WRITE && err && t->out.path) {
		struct ws_err cause = *err;

		ws_fail(err, status, cause.file, cause.line, "'%s': %s", t->out.path, cause.text);
	}
	if (status == WS_OK)
		return ws_outfolder_add(&t->folder->out, &t->out, err);
	ws_outfile_abandon(&t->out);
	return status;
}

/* --- values ----------------------------------------------------------------------------------- */

void ws_parquet_text_or_null(struct ws_parquet_writer *w, struct ws_bytes text)
{
	if (text.len)
		ws_parquet_text(w, text.ptr, text.len);
	else
		ws_parquet_null(w);
}

void ws_parquet_u64_or_null(struct ws_parquet_writer *w, uint64_t value, int known)
{
	if (known)
		ws_parquet_u64(w, value);
	else
		ws_parquet_null(w);
}

void ws_parquet_i64_or_null(struct ws_parquet_writer *w, int64_t value, int known)
{
	if (known)
		ws_parquet_i64(w, value);
	else
		ws_parquet_null(w);
}

void ws_parquet_step(struct ws_parquet_writer *w, const struct ws_model *m, uint32_t step)
{
	const struct ws_model_step *s = step == WS_NONE ? NULL : &m->steps[step];

	if (!s) {
		ws_parquet_null(w);
		ws_parquet_null(w);
		return;
	}
	ws_parquet_i64(w, s->index);
	ws_parquet_str(w, s->unfinished ? "unfinished" : s->warm_up ? "warm-up" : "measured");
}

enum ws_status ws_parquet_paths_make(struct ws_parquet_paths *p, const struct ws_model *m,
                                     struct ws_err *err)
{
	p->n = 0;
	p->text = calloc(m->ranges.npaths ? m->ranges.npaths : 1, sizeof(*p->text));
	WS_FAIL_IF(!p->text, err, NO_MEMORY, "no memory for %zu paths", m->ranges.npaths);
	for (; p->n < m->ranges.npaths; p->n++) {
		char *text;
		size_t len;

		WS_FORWARD(ws_path_text(&m->ranges, (uint32_t)p->n, m->texts, &text, &len, err));
		p->text[p->n] = (struct ws_bytes){text, len};
	}
	return WS_OK;
}

void ws_parquet_paths_free(struct ws_parquet_paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		free((void *)p->text[i].ptr);
	free(p->text);
	*p = (struct ws_parquet_paths){0};
}
