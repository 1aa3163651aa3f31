/* From a trace file to a model: its records, then what each range is. */
#include "report/model/load.h"

enum ws_status ws_model_open_reader(struct ws_model **out, const struct ws_trace_reader *r,
                                    const char *name, const struct ws_model_opts *opts,
                                    struct ws_err *err)
{
	static const struct ws_model_opts none;
	struct ws_model *m;
	enum ws_status status;

	*out = NULL;
	opts = opts ? opts : &none;
	WS_FORWARD(ws_model_begin(&m, r, name, opts, err));
	status = ws_model_load(m, r, opts, err);
	WS_THEN(status, ws_model_label(m, opts->step, err));
	if (status == WS_OK)
		*out = m;
	else
		ws_model_free(m);
	return status;
}

enum ws_status ws_model_open_mem(struct ws_model **out, const void *data, size_t size,
                                 const char *name, struct ws_err *err)
{
	struct ws_trace_reader *r = NULL;
	enum ws_status status;

	*out = NULL;
	WS_FORWARD(ws_trace_reader_open_mem(&r, data, size, err));
	status = ws_model_open_reader(out, r, name, NULL, err);
	ws_trace_reader_free(r);
	return status;
}
