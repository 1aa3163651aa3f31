#include "report/commands/trace_open.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/xalloc.h"
#include "report/base/ui.h"
#include "report/joined/step_candidates.h"

void ws_progress_show(void *path, uint64_t done, uint64_t total)
{
	ws_ui_progress(path, done, total);
}

struct ws_import_opts ws_import_opts_watched(const char *path)
{
	return (struct ws_import_opts){.progress = ws_progress_show, .progress_ctx = (void *)path};
}

void ws_import_print_damage(const struct ws_import_stats *s)
{
	for (size_t i = 0; i < WS_IMPORT_LOSSES; i++)
		if (s->losses[i].count)
			ws_ui_print("warning: lost %s: %" PRIu64, s->losses[i].reason,
			            s->losses[i].count);
	for (size_t i = 0; i < s->nwarnings; i++)
		ws_ui_print("warning: %s", s->warnings[i]);
	if (s->warnings_more)
		ws_ui_print("warning: and %" PRIu64 " more", s->warnings_more);
}

bool ws_trace_is_foreign(const char *path)
{
	const struct ws_importer *importer;

	return ws_import_find(path, &importer, NULL) == WS_OK && importer;
}

static enum ws_status import(struct ws_trace_file *f, struct ws_err *err)
{
	const struct ws_import_opts opts = ws_import_opts_watched(f->name);
	char path[32];
	enum ws_status status;
	int fd;

	f->stats = ws_xarray(1, sizeof(*f->stats));
	status = ws_import_unnamed(f->name, &opts, &fd, f->stats, err);
	ws_ui_progress_end();
	WS_FORWARD(status);
	ws_ui_print("reading '%s' as %s. Run 'warpsheet import' once to skip this next time",
	            f->name, f->stats->source);
	ws_import_print_damage(f->stats);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = ws_trace_reader_open(&f->reader, path, err);
	close(fd);
	return status;
}

enum ws_status ws_trace_file_open(struct ws_trace_file *f, const char *name, struct ws_err *err)
{
	enum ws_status status;
	const char *other;

	*f = (struct ws_trace_file){.name = name};
	if (ws_trace_is_foreign(name))
		return import(f, err);
	status = ws_trace_reader_open(&f->reader, name, err);
	other = status == WS_CORRUPT ? ws_import_cure(name) : NULL;
	return other ? WS_FAIL(err, CORRUPT, "%s: %s", name, other) : status;
}

void ws_trace_file_close(struct ws_trace_file *f)
{
	ws_trace_reader_free(f->reader);
	free(f->auto_step);
	free(f->stats);
	*f = (struct ws_trace_file){0};
}

enum ws_status ws_trace_file_opts(struct ws_trace_file *f, const struct ws_model_opts *opts,
                                  struct ws_model_opts *out, struct ws_err *err)
{
	struct ws_joined_rows rows = {0};
	struct ws_step_candidates found;
	struct ws_arena arena = {0};
	struct ws_model *m = NULL;
	enum ws_status status;

	*out = opts ? *opts : (struct ws_model_opts){0};
	if (!out->step || strcmp(out->step, "auto") != 0)
		return WS_OK;
	out->step = NULL;
	status = ws_joined_rows_read(&rows, f->reader, f->name, out, &m, err);
	if (status == WS_OK && !m->nmeasured) {
		ws_step_candidates_find(m, &rows, &arena, &found);
		if (found.n) {
			free(f->auto_step);
			f->auto_step = ws_xstrdup(found.best[0].pattern);
			out->step = f->auto_step;
			out->step_is_auto = true;
		} else {
			status = WS_FAIL(
			        err, USAGE,
			        "--step auto: no range of '%s' repeats; --table ranges lists all",
			        f->name);
		}
	}
	ws_arena_free(&arena);
	ws_joined_rows_free(&rows);
	ws_model_free(m);
	return status;
}

enum ws_status ws_trace_file_rows(struct ws_joined_rows *rows, struct ws_model **m,
                                  struct ws_trace_file *f, const struct ws_model_opts *opts,
                                  struct ws_err *err)
{
	struct ws_model_opts of_file;

	*m = NULL;
	WS_FORWARD(ws_trace_file_opts(f, opts, &of_file, err));
	return ws_joined_rows_read(rows, f->reader, f->name, &of_file, m, err);
}

void ws_trace_file_print_damage(const struct ws_trace_file *f)
{
	const struct ws_trace_summary *s = ws_trace_reader_summary(f->reader);

	if (s->damaged_blocks || s->skipped_bytes)
		ws_ui_print("warning: '%s' is damaged: %llu bytes are lost; 'warpsheet check' says "
		            "where",
		            f->name, (unsigned long long)s->skipped_bytes);
	else if (!s->closed)
		ws_ui_print(
		        "note: '%s' was not closed: the recorder was stopped; all that it wrote "
		        "is here",
		        f->name);
}
