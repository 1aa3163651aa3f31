#include "report/commands/sides_read.h"

#include "report/base/ui.h"
#include "report/commands/trace_open.h"

enum ws_status ws_trace_read(const char *path, const struct ws_model_opts *opts, ws_trace_fn fn,
                             void *ctx, struct ws_err *err)
{
	struct ws_trace_file file = {0};
	struct ws_joined_rows rows = {0};
	struct ws_model *m = NULL;
	enum ws_status status = ws_trace_file_open(&file, path, err);

	if (status == WS_OK) {
		ws_trace_file_print_damage(&file);
		status = ws_trace_file_rows(&rows, &m, &file, opts, err);
	}
	WS_THEN(status, fn(ctx, m, &rows, err));
	ws_joined_rows_free(&rows);
	ws_model_free(m);
	ws_trace_file_close(&file);
	return status;
}

enum ws_status ws_traces_read(const struct ws_trace_list *list, const struct ws_model_opts *opts,
                              ws_trace_fn fn, void *ctx, struct ws_err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		enum ws_status status;

		ws_ui_progress("traces", i, list->n);
		status = ws_trace_read(list->path[i], opts, fn, ctx, err);
		ws_ui_progress_end();
		WS_FORWARD(status);
	}
	return WS_OK;
}

struct of_side {
	struct ws_sides *sides;
	int side;
};

static enum ws_status add_to_side(void *ctx, const struct ws_model *m, struct ws_joined_rows *rows,
                                  struct ws_err *err)
{
	const struct of_side *to = ctx;

	return ws_sides_add(to->sides, to->side, m, rows, err);
}

enum ws_status ws_sides_read(struct ws_sides *sides, int side, const struct ws_trace_list *list,
                             const struct ws_model_opts *opts, struct ws_err *err)
{
	struct of_side to = {sides, side};

	return ws_traces_read(list, opts, add_to_side, &to, err);
}
