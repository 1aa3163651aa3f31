#include "report/commands/sides_read.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/ui.h"
#include "report/commands/trace_open.h"

/* What is larger goes back to the system when it is freed. Else glibc keeps it once it saw it
 * freed, and that for each thread. */
#define GIVEN_BACK_BYTES (256 << 10)

/* A trace that is read, on a thread of its own where it has one. */
struct reading {
	struct ws_trace_file file;
	struct ws_joined_rows rows;
	struct ws_model *m;
	const struct ws_model_opts *opts;
	enum ws_status status;
	struct ws_err err;
	bool has_thread;
	pthread_t thread;
};

static void *read_rows(void *arg)
{
	struct reading *r = arg;

	r->status = ws_trace_file_rows(&r->rows, &r->m, &r->file, r->opts, &r->err);
	return NULL;
}

/* What is said of the file is said here, so in the order of the files. */
static void begin(struct reading *r, const char *path, const struct ws_model_opts *opts)
{
	const struct ws_trace_reader *reader;

	*r = (struct reading){.opts = opts};
	r->status = ws_trace_file_open(&r->file, path, &r->err);
	if (r->status == WS_OK)
		ws_trace_file_print_damage(&r->file);
	WS_THEN(r->status, ws_trace_file_reader(&r->file, &reader, &r->err));
}

static enum ws_status end(struct reading *r, ws_trace_fn fn, void *ctx, struct ws_err *err)
{
	if (r->has_thread)
		pthread_join(r->thread, NULL);
	else if (fn && r->status == WS_OK)
		read_rows(r);
	if (r->status != WS_OK && err)
		*err = r->err;
	WS_THEN(r->status, fn ? fn(ctx, r->m, &r->rows, err) : WS_OK);
	ws_joined_rows_free(&r->rows);
	ws_model_free(r->m);
	ws_trace_file_close(&r->file);
	return r->status;
}

enum ws_status ws_trace_read(const char *path, const struct ws_model_opts *opts, ws_trace_fn fn,
                             void *ctx, struct ws_err *err)
{
	struct reading r;

	begin(&r, path, opts);
	return end(&r, fn, ctx, err);
}

/* Two are read at once, each on a thread; none after one that cannot be opened, as what is wrong
 * with that one is told first. */
enum ws_status ws_traces_read(const struct ws_trace_list *list, const struct ws_model_opts *opts,
                              ws_trace_fn fn, void *ctx, struct ws_err *err)
{
	struct reading *at_once = calloc(2, sizeof(*at_once));
	size_t begun = 0;
	enum ws_status status = WS_OK, opened = WS_OK;

	WS_FAIL_IF(!at_once, err, NO_MEMORY, "out of memory");
	mallopt(M_MMAP_THRESHOLD, GIVEN_BACK_BYTES);
	for (size_t i = 0; i < list->n && status == WS_OK; i++) {
		ws_ui_progress("traces", i, list->n);
		for (; begun < list->n && begun < i + 2 && opened == WS_OK; begun++) {
			struct reading *r = &at_once[begun % 2];

			begin(r, list->path[begun], opts);
			opened = r->status;
			r->has_thread = opened == WS_OK && list->n > 1 &&
			                pthread_create(&r->thread, NULL, read_rows, r) == 0;
		}
		status = end(&at_once[i % 2], fn, ctx, err);
		ws_ui_progress_end();
		if (status != WS_OK && begun > i + 1)
			end(&at_once[(i + 1) % 2], NULL, NULL, NULL);
	}
	free(at_once);
	return status;
}

struct of_sides {
	struct ws_sides *sides;
	size_t left[2]; /* traces that are not added */
};

static enum ws_status add_to_side(void *ctx, const struct ws_model *m, struct ws_joined_rows *rows,
                                  struct ws_err *err)
{
	struct of_sides *to = ctx;
	const int side = !to->left[0];

	to->left[side]--;
	return ws_sides_add(to->sides, side, m, rows, err);
}

enum ws_status ws_sides_read(struct ws_sides *sides, const struct ws_trace_list *a,
                             const struct ws_trace_list *b, const struct ws_model_opts *opts,
                             struct ws_err *err)
{
	struct of_sides to = {sides, {a->n, b ? b->n : 0}};
	struct ws_trace_list both = {.n = to.left[0] + to.left[1]};
	enum ws_status status;

	both.path = calloc(both.n + 1, sizeof(*both.path));
	WS_FAIL_IF(!both.path, err, NO_MEMORY, "out of memory");
	memcpy(both.path, a->path, a->n * sizeof(*a->path));
	if (b)
		memcpy(both.path + a->n, b->path, b->n * sizeof(*b->path));
	status = ws_traces_read(&both, opts, add_to_side, &to, err);
	free(both.path);
	return status;
}
