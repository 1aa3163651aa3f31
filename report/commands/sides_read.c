#include "report/commands/sides_read.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"
#include "formats/trace/task.h"
#include "report/base/ui.h"
#include "report/commands/trace_open.h"

/* What is larger goes back to the system when it is freed. Else glibc keeps it once it saw it
 * freed, and that for each thread. */
#define GIVEN_BACK_BYTES (256 << 10)

/* A trace that is read. */
struct reading {
	struct ws_trace_file file;
	struct ws_joined_rows rows;
	struct ws_model *m;
	const struct ws_model_opts *opts;
	bool for_side, is_shown;
	struct ws_side_trace *of_side; /* where it is for one, nothing else stays of it */
	enum ws_status status;
	struct ws_err err;
	struct ws_task task;
};

static void read_rows(void *ctx)
{
	struct reading *r = ctx;

	r->status = ws_trace_file_rows(&r->rows, &r->m, &r->file, r->opts, &r->err);
	if (!r->for_side)
		return;
	if (r->status == WS_OK)
		r->of_side = ws_side_trace_read(r->m, &r->rows, r->is_shown);
	ws_joined_rows_free(&r->rows);
}

/* What is said of the file is said here, so in the order of the files. */
static void begin(struct reading *r, const char *path, const struct ws_model_opts *opts,
                  bool for_side)
{
	const struct ws_trace_reader *reader;

	*r = (struct reading){.opts = opts, .for_side = for_side};
	r->status = ws_trace_file_open(&r->file, path, &r->err);
	if (r->status == WS_OK)
		ws_trace_file_print_damage(&r->file);
	WS_THEN(r->status, ws_trace_file_reader(&r->file, &reader, &r->err));
}

/* Where what is read for sides goes, in order. */
struct side_traces {
	struct ws_side_trace **out;
	size_t n;
	const size_t *shown; /* the two whose first screen is wanted; NULL: none */
};

/* ctx: of fn; of a trace for a side struct side_traces. */
static enum ws_status end(struct reading *r, bool wanted, ws_trace_fn fn, void *ctx,
                          struct ws_err *err)
{
	ws_task_end(&r->task);
	if (r->status != WS_OK && err)
		*err = r->err;
	else if (r->file.auto_step)
		ws_ui_print("Steps of '%s': ranges '%s' (--step auto).", r->file.name,
		            r->file.auto_step);
	if (wanted && r->status == WS_OK) {
		if (r->for_side) {
			struct side_traces *to = ctx;

			to->out[to->n++] = r->of_side;
			r->of_side = NULL;
		} else
			r->status = fn(ctx, r->m, &r->rows, err);
	}
	ws_side_trace_free(r->of_side);
	ws_joined_rows_free(&r->rows);
	ws_model_free(r->m);
	ws_trace_file_close(&r->file);
	return r->status;
}

enum ws_status ws_trace_read(const char *path, const struct ws_model_opts *opts, ws_trace_fn fn,
                             void *ctx, struct ws_err *err)
{
	struct reading r;

	begin(&r, path, opts, false);
	if (r.status == WS_OK)
		read_rows(&r);
	return end(&r, true, fn, ctx, err);
}

/* Two are read at once, each on a thread; none after one that cannot be opened, as what is wrong
 * with that one is told first. */
static enum ws_status read_two_at_once(const struct ws_trace_list *list,
                                       const struct ws_model_opts *opts, bool for_side,
                                       ws_trace_fn fn, void *ctx, struct ws_err *err)
{
	struct reading *at_once = ws_xarray(2, sizeof(*at_once));
	size_t begun = 0;
	enum ws_status status = WS_OK, opened = WS_OK;

	mallopt(M_MMAP_THRESHOLD, GIVEN_BACK_BYTES);
	for (size_t i = 0; i < list->n && status == WS_OK; i++) {
		ws_ui_progress("traces", i, list->n);
		for (; begun < list->n && begun < i + 2 && opened == WS_OK; begun++) {
			struct reading *r = &at_once[begun % 2];

			begin(r, list->path[begun], opts, for_side);
			if (for_side) {
				const size_t *shown = ((struct side_traces *)ctx)->shown;

				r->is_shown = shown && (begun == shown[0] || begun == shown[1]);
			}
			opened = r->status;
			if (opened == WS_OK)
				ws_task_begin(&r->task, read_rows, r);
		}
		status = end(&at_once[i % 2], true, fn, ctx, err);
		ws_ui_progress_end();
		if (status != WS_OK && begun > i + 1)
			end(&at_once[(i + 1) % 2], false, NULL, NULL, NULL);
	}
	free(at_once);
	return status;
}

enum ws_status ws_traces_read(const struct ws_trace_list *list, const struct ws_model_opts *opts,
                              ws_trace_fn fn, void *ctx, struct ws_err *err)
{
	return read_two_at_once(list, opts, false, fn, ctx, err);
}

enum ws_status ws_side_traces_read(const struct ws_trace_list *list,
                                   const struct ws_model_opts *opts, const size_t shown[2],
                                   struct ws_side_trace **out, struct ws_err *err)
{
	struct side_traces to = {out, 0, shown};

	memset(out, 0, list->n * sizeof(*out));
	return read_two_at_once(list, opts, true, NULL, &to, err);
}

enum ws_status ws_sides_read(struct ws_sides *sides, const struct ws_trace_list *a,
                             const struct ws_trace_list *b, const struct ws_model_opts *opts,
                             bool are_shown, struct ws_err *err)
{
	const size_t firsts[2] = {0, a->n};
	struct ws_trace_list both = {.n = a->n + (b ? b->n : 0)};
	struct ws_side_trace **read = ws_xarray(both.n + 1, sizeof(*read));
	enum ws_status status;

	both.path = ws_xarray(both.n + 1, sizeof(*both.path));
	memcpy(both.path, a->path, a->n * sizeof(*a->path));
	if (b)
		memcpy(both.path + a->n, b->path, b->n * sizeof(*b->path));
	status = ws_side_traces_read(&both, opts, are_shown ? firsts : NULL, read, err);
	for (size_t i = 0; i < both.n; i++) {
		if (status == WS_OK)
			ws_sides_add(sides, i >= a->n, read[i]);
		ws_side_trace_free(read[i]);
	}
	free(both.path);
	free(read);
	return status;
}
