/*
 * Modules of PyTorch as ranges: what a module's call launched lies in it, and
 * so does what backward launched for it.
 */
#include <stdlib.h>

#include "report/model/columns.h"
#include "formats/base/grow.h"
#include "report/model/load.h"

struct ws_module_call {
	int64_t start_ns, end_ns;
	uint32_t thread, name;
	uint64_t row; /* of the file: tells calls of one time apart */
};

static int by_thread_and_begin(const void *pa, const void *pb)
{
	const struct ws_module_call *a = pa, *b = pb;

	WS_ORDER_BY(a->thread, b->thread);
	WS_ORDER_BY(a->start_ns, b->start_ns);
	WS_ORDER_BY(b->end_ns, a->end_ns);
	return (a->row > b->row) - (a->row < b->row);
}

/* "Linear_3" of "nn.Module: Linear_3": the domain says the rest. */
static uint32_t module_name(struct ws_model *m, uint64_t string_id)
{
	static const char prefix[] = "nn.Module: ";
	const size_t len = sizeof(prefix) - 1;
	const uint32_t text = ws_model_text(m, string_id);
	const struct ws_bytes name = m->texts[text];

	if (name.len <= len || memcmp(name.ptr, prefix, len) != 0)
		return text;
	return ws_intern_text(m, (struct ws_bytes){(const char *)name.ptr + len, name.len - len});
}

static enum ws_status take_call(struct ws_loader *l, const struct ws_column_data *t, uint64_t row,
                                struct ws_module_call *call, struct ws_err *err)
{
	int64_t start = (int64_t)ws_value(t, WS_COL_python_call_start_ns, row);
	int64_t dur = (int64_t)ws_value(t, WS_COL_python_call_dur_ns, row);

	dur = dur < 0 ? 0 : dur;
	WS_FORWARD(ws_check_time(start, dur, "call of a module", row, err));
	ws_extend_time(l->m, start, start + dur);
	call->start_ns = start;
	call->end_ns = start + dur;
	call->row = row;
	call->name = module_name(l->m, ws_value(t, WS_COL_python_call_name, row));
	call->thread = ws_thread_number(l, ws_value(t, WS_COL_python_call_thread, row), 0);
	return WS_OK;
}

static void put_event(struct ws_module_event *events, size_t *n, const struct ws_module_call *call,
                      bool begins)
{
	events[*n] = (struct ws_module_event){
	        .time_ns = begins ? call->start_ns : call->end_ns,
	        .position = (uint32_t)*n,
	        .thread = call->thread,
	        .name = begins ? call->name : WS_TEXT_EMPTY,
	        .begins = begins,
	};
	++*n;
}

static int by_time(const void *pa, const void *pb)
{
	const struct ws_module_event *a = pa, *b = pb;

	WS_ORDER_BY(a->time_ns, b->time_ns);
	return (a->position > b->position) - (a->position < b->position);
}

enum ws_status ws_load_module_events(struct ws_loader *l, struct ws_arena *arena,
                                     struct ws_module_event **out, size_t *n, struct ws_err *err)
{
	struct ws_module_call *calls;
	size_t ncalls = 0;
	struct ws_column_data t;
	enum ws_status status;
	struct ws_module_event *events;
	size_t open;

	*n = 0;
	status = WS_OK;
	WS_FORWARD(ws_load_kind(l, WS_KIND_PYTHON_CALL, &t, err));
	WS_NEW(&l->temp, calls, t.rows);
	l->m->python_calls = t.rows;
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++)
		if (t.columns[WS_COL_python_call_module].present &&
		    (int64_t)ws_value(&t, WS_COL_python_call_module, i) >= 0)
			status = take_call(l, &t, i, &calls[ncalls++], err);
	ws_column_data_release(&t);
	WS_FAIL_IF(status == WS_OK && ncalls >= WS_NONE / 2, err, NO_MEMORY,
	           "the trace has more calls of modules than a report handles");
	qsort(calls, ncalls, sizeof(*calls), by_thread_and_begin);
	WS_FORWARD(status);
	WS_NEW(arena, *out, 2 * ncalls);
	/* The calls that are open were moved to the front of the list, which was read already. */
	events = *out;
	open = 0;
	for (size_t j = 0; j < ncalls; j++) {
		struct ws_module_call call = calls[j];

		while (open && (calls[open - 1].thread != call.thread ||
		                calls[open - 1].end_ns <= call.start_ns))
			put_event(events, n, &calls[--open], false);
		if (open && calls[open - 1].end_ns < call.end_ns)
			call.end_ns = calls[open - 1].end_ns;
		put_event(events, n, &call, true);
		calls[open++] = call;
	}
	while (open)
		put_event(events, n, &calls[--open], false);
	ws_sort(*out, *n, sizeof(**out), by_time);
	return WS_OK;
}
