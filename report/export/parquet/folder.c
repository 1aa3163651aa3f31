#include "report/export/parquet/folder.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "formats/base/xalloc.h"
#include "report/analysis/rank.h"

/* --- the folder ------------------------------------------------------------------------------- */

enum ws_status ws_parquet_folder_open(struct ws_parquet_folder *f, const struct ws_model *m,
                                      const struct ws_export_job *job, uint64_t total,
                                      struct ws_err *err)
{
	char name[32];

	*f = (struct ws_parquet_folder){.m = m, .job = job, .progress = {job->opts, 0, total}};
	f->rank = job->rank >= 0 ? job->rank : ws_model_rank(m);
	if (job->fleet)
		return WS_OK;
	WS_FORWARD(ws_outfolder_open(&f->out, job->to, err));
	if (f->rank < 0)
		return WS_OK;
	snprintf(name, sizeof(name), "rank=%04" PRId64, f->rank);
	return ws_outfolder_enter(&f->out, name, err);
}

/* --- a file ----------------------------------------------------------------------------------- */

static enum ws_status create(struct ws_parquet_table *t, const struct ws_outfolder *out,
                             const char *name, const struct ws_parquet_field *fields,
                             size_t nfields, const struct ws_parquet_folder *alone,
                             struct ws_err *err)
{
	size_t n = nfields;
	char text[128];

	for (size_t i = 0; i < nfields; i++)
		t->columns[i] = (struct ws_parquet_column){fields[i].name, fields[i].type,
		                                           fields[i].optional};
	if (!alone) {
		t->columns[n++] = (struct ws_parquet_column){"trace", WS_PARQUET_TEXT, 0};
		t->columns[n++] = (struct ws_parquet_column){"rank", WS_PARQUET_I64, 1};
	}
	snprintf(text, sizeof(text), "%s.parquet", name);
	WS_FORWARD(ws_outfolder_file(out, text, &t->out, err));
	t->w = ws_parquet_writer_new(t->out.f, t->columns, n, NULL);
	ws_parquet_meta(t->w, "warpsheet.table", name);
	ws_parquet_meta(t->w, "warpsheet.version", WS_VERSION);
	if (alone) {
		const struct ws_parquet_folder *f = t->folder;
		char number[32];

		snprintf(number, sizeof(number), "%016" PRIx64, f->m->file.file_hash);
		ws_parquet_meta(t->w, "trace.hash", number);
		snprintf(number, sizeof(number), "%" PRId64, f->m->file.base_ns);
		ws_parquet_meta(t->w, "trace.base_ns", number);
		if (f->rank >= 0) {
			snprintf(number, sizeof(number), "%" PRId64, f->rank);
			ws_parquet_meta(t->w, "trace.rank", number);
		}
	}
	for (size_t i = 0; i < nfields; i++) {
		if (!*fields[i].unit)
			continue;
		snprintf(text, sizeof(text), "unit.%s", fields[i].name);
		ws_parquet_meta(t->w, text, fields[i].unit);
	}
	return WS_OK;
}

/* With status WS_OK a whole file of the folder, else none. */
static enum ws_status finish(struct ws_parquet_table *t, struct ws_outfolder *out,
                             enum ws_status status, struct ws_err *err)
{
	struct ws_err cause;

	/* the writer does not know where it writes */
	if (status == WS_OK && ws_parquet_finish(t->w, &cause) != WS_OK)
		status = WS_FAIL(err, IO_WRITE, "'%s': %s", t->out.path, cause.text);
	ws_parquet_writer_free(t->w);
	if (status == WS_OK)
		ws_outfolder_add(out, &t->out);
	else
		ws_outfile_abandon(&t->out);
	return status;
}

/* --- a fleet ---------------------------------------------------------------------------------- */

/* Kernels, ranges, facts and the record kinds; or roll-ups. */
#define MAX_TABLES 16

struct ws_parquet_fleet {
	struct ws_outfolder out;
	struct fleet_table {
		char name[32];
		struct ws_parquet_table table;
	} * tables[MAX_TABLES];
	size_t n;
};

enum ws_status ws_parquet_fleet_open(struct ws_parquet_fleet **out, const char *dir,
                                     struct ws_err *err)
{
	*out = ws_xarray(1, sizeof(**out));
	return ws_outfolder_open(&(*out)->out, dir, err);
}

enum ws_status ws_parquet_fleet_close(struct ws_parquet_fleet *fleet, enum ws_status status,
                                      struct ws_err *err)
{
	if (!fleet)
		return status;
	for (size_t i = 0; i < fleet->n; i++) {
		status = finish(&fleet->tables[i]->table, &fleet->out, status, err);
		free(fleet->tables[i]);
	}
	if (status == WS_OK)
		status = ws_outfolder_commit(&fleet->out, err);
	else
		ws_outfolder_abandon(&fleet->out);
	free(fleet);
	return status;
}

/* The fleet's table of this name, new where there is none yet. */
static enum ws_status table_of_fleet(struct ws_parquet_fleet *fleet, const char *name,
                                     const struct ws_parquet_field *fields, size_t nfields,
                                     struct ws_parquet_table **out, struct ws_err *err)
{
	struct fleet_table *t;

	for (size_t i = 0; i < fleet->n; i++) {
		*out = &fleet->tables[i]->table;
		if (!strcmp(fleet->tables[i]->name, name))
			return WS_OK;
	}
	t = ws_xarray(1, sizeof(*t));
	fleet->tables[fleet->n++] = t;
	snprintf(t->name, sizeof(t->name), "%s", name);
	*out = &t->table;
	return create(*out, &fleet->out, name, fields, nfields, NULL, err);
}

/* --- a table of the one or the other ---------------------------------------------------------- */

static enum ws_status begin(struct ws_parquet_table *t, struct ws_parquet_folder *f,
                            const char *name, const struct ws_parquet_field *fields, size_t nfields,
                            struct ws_err *err)
{
	t->folder = f;
	if (!f->job->fleet)
		return create(t, &f->out, name, fields, nfields, f, err);
	WS_FORWARD(table_of_fleet(f->job->fleet, name, fields, nfields, &t->of_fleet, err));
	t->w = t->of_fleet->w;
	return WS_OK;
}

void ws_parquet_table_end_row(struct ws_parquet_table *t)
{
	struct ws_parquet_folder *f = t->folder;

	ws_export_progress_tell(&f->progress, 1);
	if (t->of_fleet) {
		ws_parquet_str(t->w, f->job->to);
		ws_parquet_i64_or_null(t->w, f->rank, f->rank >= 0);
	}
	ws_parquet_end_row(t->w);
}

enum ws_status ws_parquet_table_write(struct ws_parquet_folder *f, const char *name,
                                      const struct ws_parquet_field *fields, size_t nfields,
                                      ws_parquet_fill_fn fill, void *ctx, struct ws_err *err)
{
	struct ws_parquet_table *t = ws_xarray(1, sizeof(*t));
	enum ws_status status;

	status = begin(t, f, name, fields, nfields, err);
	WS_THEN(status, fill(ctx, t, err));
	if (!t->of_fleet)
		status = finish(t, &f->out, status, err);
	free(t);
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

void ws_parquet_path_or_null(struct ws_parquet_writer *w, const struct ws_parquet_paths *paths,
                             uint32_t path)
{
	if (path == WS_NONE)
		ws_parquet_null(w);
	else
		ws_parquet_text(w, paths->text[path].ptr, paths->text[path].len);
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

void ws_parquet_f64_or_null(struct ws_parquet_writer *w, double value, int known)
{
	if (known)
		ws_parquet_f64(w, value);
	else
		ws_parquet_null(w);
}

void ws_parquet_known(struct ws_parquet_writer *w, uint64_t value)
{
	ws_parquet_u64_or_null(w, value, value != 0);
}

void ws_parquet_not_negative(struct ws_parquet_writer *w, int64_t value)
{
	ws_parquet_i64_or_null(w, value, value >= 0);
}

void ws_parquet_step(struct ws_parquet_writer *w, const struct ws_model *m, uint32_t step)
{
	const bool known = step != WS_NONE;

	ws_parquet_i64_or_null(w, known ? m->steps[step].index : 0, known);
}

void ws_parquet_step_kind(struct ws_parquet_writer *w, const struct ws_model *m, uint32_t step)
{
	const struct ws_model_step *s = step == WS_NONE ? NULL : &m->steps[step];

	if (!s)
		ws_parquet_null(w);
	else
		ws_parquet_str(w, s->unfinished ? "unfinished"
		                  : s->unsound  ? "unsound"
		                  : s->warm_up  ? "warm-up"
		                                : "measured");
}

void ws_parquet_paths_make(struct ws_parquet_paths *p, const struct ws_model *m)
{
	p->n = 0;
	p->text = ws_xarray(m->ranges.npaths ? m->ranges.npaths : 1, sizeof(*p->text));
	for (; p->n < m->ranges.npaths; p->n++) {
		char *text;
		size_t len;

		ws_path_text(&m->ranges, (uint32_t)p->n, m->texts, &text, &len);
		p->text[p->n] = (struct ws_bytes){text, len};
	}
}

void ws_parquet_paths_free(struct ws_parquet_paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		free((void *)p->text[i].ptr);
	free(p->text);
	*p = (struct ws_parquet_paths){0};
}
