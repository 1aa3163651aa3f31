#include "report/commands/sides_read.h"

#include "report/commands/trace_open.h"

enum ws_status ws_sides_read(struct ws_sides *sides, int side, const struct ws_trace_list *list,
                             const struct ws_model_opts *opts, struct ws_err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		struct ws_trace_file file = {0};
		struct ws_model *m = NULL;
		enum ws_status status = ws_trace_file_open(&file, list->path[i], err);

		if (status == WS_OK) {
			ws_trace_file_say_damage(&file);
			status = ws_trace_file_model(&m, &file, opts, err);
		}
		if (status == WS_OK)
			status = ws_sides_add(sides, side, m, err);
		ws_model_free(m);
		ws_trace_file_close(&file);
		WS_FORWARD(status);
	}
	return WS_OK;
}
