#include "report/commands/sides_read.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"
#include "formats/trace/reader.h"
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

/* What is said of the file is said here, so in the order of the files. */
static bool begin(struct reading *r, const char *path)
{
	r->status = ws_trace_file_open(&r->file, path, &r->err);
	if (r->status != WS_OK)
		return false;
	ws_trace_file_print_damage(&r->file);
	ws_task_begin(&r->task, read_rows, r);
	return true;
}

static enum ws_status end(struct reading *r, bool is_wanted, struct ws_err *err)
{
	ws_task_end(&r->task);
	if (r->status != WS_OK && err)
		*err = r->err;
	else if (r->file.auto_step)
		ws_ui_print("Steps of '%s': ranges '%s' (--step auto).", r->file.name,
		            r->file.auto_step);
	if (is_wanted && r->status == WS_OK)
		r->fn(r->ctx, r->i, r->m, &r->rows);
	ws_joined_rows_free(&r->rows);
	ws_model_free(r->m);
	ws_trace_file_close(&r->file);
	return r->status;
}

/* The next is read on a thread of its own; none after one that cannot be opened, as what is wrong
 * with that one is told first. */
enum ws_status ws_traces_read(const struct ws_trace_list *list, const struct ws_model_opts *opts,
                              ws_trace_fn fn, ws_trace_failed_fn failed, void *ctx,
                              struct ws_err *err)
{
	struct reading *two = ws_xarray(2, sizeof(*two));
	size_t begun = 0, nfailed = 0;
	enum ws_status status = WS_OK, first = WS_OK;
	struct ws_err why, of_first;
	bool opened = true;

	mallopt(M_MMAP_THRESHOLD, GIVEN_BACK_BYTES);
	for (size_t i = 0; i < list->n && status == WS_OK; i++) {
		if (list->n > 1)
			ws_ui_progress("traces", i, list->n);
		for (; begun < list->n && begun < i + 2 && opened; begun++) {
			two[begun % 2] =
			        (struct reading){.opts = opts, .fn = fn, .ctx = ctx, .i = begun};
			opened = begin(&two[begun % 2], list->path[begun]);
		}
		status = end(&two[i % 2], true, &why);
		ws_ui_progress_end();
		if (failed && ws_is_of_file(status)) {
			if (!nfailed++) {
				first = status;
				of_first = why;
			}
			failed(ctx, i, why.text);
			status = WS_OK;
			opened = true;
		}
		if (status != WS_OK && begun > i + 1)
			end(&two[(i + 1) % 2], false, NULL);
	}
	free(two);
	if (status != WS_OK && err)
		*err = why;
	if (status == WS_OK && nfailed && nfailed == list->n) {
		status = first;
		if (err)
			*err = of_first;
	}
	return status;
}

struct for_sides {
	struct ws_sides *sides;
	size_t na; /* the first traces are of side 0 */
	bool are_shown;
};

static void add_to_side(void *ctx, size_t i, const struct ws_model *m, struct ws_joined_rows *rows)
{
	const struct for_sides *to = ctx;

	ws_sides_add(to->sides, i >= to->na, m, rows, to->are_shown);
}

enum ws_status ws_sides_read(struct ws_sides *sides, const struct ws_trace_list *a,
                             const struct ws_trace_list *b, const struct ws_model_opts *opts,
                             bool are_shown, struct ws_err *err)
{
	struct ws_trace_list both = {.n = a->n + (b ? b->n : 0)};
	struct for_sides to = {sides, a->n, are_shown};
	enum ws_status status;

	both.path = ws_xarray(both.n + 1, sizeof(*both.path));
	memcpy(both.path, a->path, a->n * sizeof(*a->path));
	if (b)
		memcpy(both.path + a->n, b->path, b->n * sizeof(*b->path));
	status = ws_traces_read(&both, opts, add_to_side, NULL, &to, err);
	free(both.path);
	return status;
}
