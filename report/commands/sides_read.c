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
	ws_trace_fn fn;
	void *ctx;
	size_t i;
	enum ws_status status;
	struct ws_err err;
	struct ws_task task;
};

static void read_rows(void *ctx)
{
	struct reading *r = ctx;

	r->status = ws_trace_file_rows(&r->rows, &r->m, &r->file, r->opts, &r->err);
}

static void read_rows_and_tell(void *ctx)
{
	struct reading *r = ctx;

	read_rows(r);
	if (r->status == WS_OK)
		r->fn(r->ctx, r->i, r->m, &r->rows);
	ws_joined_rows_free(&r->rows);
}

/* What is said of the file is said here, so in the order of the files. */
static bool begin(struct reading *r, const char *path, bool at_once)
{
	r->status = ws_trace_file_open(&r->file, path, &r->err);
	if (r->status != WS_OK)
		return false;
	ws_trace_file_print_damage(&r->file);
	ws_task_begin(&r->task, at_once ? read_rows_and_tell : read_rows, r);
	return true;
}

static enum ws_status end(struct reading *r, bool is_told, struct ws_err *err)
{
	ws_task_end(&r->task);
	if (r->status != WS_OK && err)
		*err = r->err;
	else if (r->file.auto_step)
		ws_ui_print("Steps of '%s': ranges '%s' (--step auto).", r->file.name,
		            r->file.auto_step);
	if (!is_told && r->status == WS_OK)
		r->fn(r->ctx, r->i, r->m, &r->rows);
	ws_joined_rows_free(&r->rows);
	ws_model_free(r->m);
	ws_trace_file_close(&r->file);
	return r->status;
}

/* Two are read at once, each on a thread; none after one that cannot be opened, as what is wrong
 * with that one is told first. */
enum ws_status ws_traces_read(const struct ws_trace_list *list, const struct ws_model_opts *opts,
                              bool at_once, ws_trace_fn fn, void *ctx, struct ws_err *err)
{
	struct reading *two = ws_xarray(2, sizeof(*two));
	size_t begun = 0;
	enum ws_status status = WS_OK;
	bool opened = true;

	mallopt(M_MMAP_THRESHOLD, GIVEN_BACK_BYTES);
	for (size_t i = 0; i < list->n && status == WS_OK; i++) {
		if (list->n > 1)
			ws_ui_progress("traces", i, list->n);
		for (; begun < list->n && begun < i + 2 && opened; begun++) {
			two[begun % 2] =
			        (struct reading){.opts = opts, .fn = fn, .ctx = ctx, .i = begun};
			opened = begin(&two[begun % 2], list->path[begun], at_once);
		}
		status = end(&two[i % 2], at_once, err);
		ws_ui_progress_end();
		if (status != WS_OK && begun > i + 1)
			end(&two[(i + 1) % 2], true, NULL);
	}
	free(two);
	return status;
}

struct for_sides {
	struct ws_side_trace **out;
	const size_t *shown; /* the two whose first screen is wanted; NULL: none */
};

static void read_for_side(void *ctx, size_t i, const struct ws_model *m,
                          struct ws_joined_rows *rows)
{
	const struct for_sides *to = ctx;

	to->out[i] =
	        ws_side_trace_read(m, rows, to->shown && (i == to->shown[0] || i == to->shown[1]));
}

enum ws_status ws_side_traces_read(const struct ws_trace_list *list,
                                   const struct ws_model_opts *opts, const size_t shown[2],
                                   struct ws_side_trace **out, struct ws_err *err)
{
	struct for_sides to = {out, shown};

	memset(out, 0, list->n * sizeof(*out));
	return ws_traces_read(list, opts, true, read_for_side, &to, err);
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
