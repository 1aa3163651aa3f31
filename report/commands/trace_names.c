#include "report/commands/trace_names.h"

#include "report/model/columns.h"

enum ws_status ws_trace_names_load(struct ws_trace_names *names, const struct ws_trace_reader *r,
                                   struct ws_err *err)
{
	memset(names, 0, sizeof(*names));
	WS_FORWARD(ws_trace_reader_load(r, WS_KIND_STRING, &names->strings, err));
	for (uint64_t row = 0; row < names->strings.rows && row < WS_NONE; row++) {
		uint64_t id = ws_value(&names->strings, WS_COL_string_id, row);

		WS_FORWARD(ws_idmap_put(&names->rows, id, (uint32_t)row, err));
	}
	return WS_OK;
}

void ws_trace_names_release(struct ws_trace_names *names)
{
	ws_column_data_release(&names->strings);
	ws_idmap_free(&names->rows);
}

struct ws_bytes ws_trace_name(const struct ws_trace_names *names, uint64_t id)
{
	uint32_t row = ws_idmap_get(&names->rows, id);

	if (!id || row == WS_NONE)
		return (struct ws_bytes){NULL, 0};
	return ws_blob(&names->strings, WS_COL_string_text, row);
}
