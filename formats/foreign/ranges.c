/* From intervals to NVTX events. */
#include <stdlib.h>

#include "formats/foreign/out.h"
#include "formats/base/grow.h"

int ws_import_range_compare(const void *a, const void *b)
{
	const struct ws_import_range *x = a, *y = b;

	WS_ORDER_BY(x->thread, y->thread);
	WS_ORDER_BY(x->domain, y->domain);
	WS_ORDER_BY(x->start_ns, y->start_ns);
	WS_ORDER_BY(y->end_ns, x->end_ns); /* the longer one is outside */
	WS_ORDER_BY(x->sequence, y->sequence);
	return 0;
}

static enum ws_status event(struct ws_import_out *o, const struct ws_import_range *r,
                            enum ws_nvtx_type type, int64_t time_ns, uint64_t thread,
                            uint64_t range, struct ws_err *err)
{
	int begins = type == WS_NVTX_PUSH || type == WS_NVTX_START;
	struct ws_row_nvtx row = {
	        .time_ns = time_ns,
	        .thread = thread,
	        .type = type,
	        .domain = r->domain,
	        .range = range,
	};

	if (begins) {
		row.name = r->name;
		row.category = r->category;
		row.color = r->color;
		row.payload = r->payload;
	}
	return ws_import_row(o, WS_KIND_NVTX, &row, err);
}

enum ws_status ws_import_start_end(struct ws_import_out *o, const struct ws_import_range *r,
                                   uint64_t end_thread, struct ws_err *err)
{
	uint64_t id = o->next_range++;

	WS_FORWARD(event(o, r, WS_NVTX_START, r->start_ns, r->thread, id, err));
	if (r->end_ns == WS_IMPORT_OPEN)
		return WS_OK;
	return event(o, r, WS_NVTX_END, r->end_ns, end_thread, id, err);
}

static enum ws_status pop(struct ws_import_nest *n, struct ws_err *err)
{
	const struct ws_import_range *top = &n->stack[--n->depth];

	if (top->end_ns == WS_IMPORT_OPEN)
		return WS_OK;
	return event(n->out, top, WS_NVTX_POP, top->end_ns, top->thread, 0, err);
}

enum ws_status ws_import_nest_add(struct ws_import_nest *n, const struct ws_import_range *r,
                                  struct ws_err *err)
{
	const struct ws_import_range *top;

	while (n->depth) {
		top = &n->stack[n->depth - 1];
		if (top->thread == r->thread && top->domain == r->domain &&
		    top->end_ns > r->start_ns)
			break;
		WS_FORWARD(pop(n, err));
	}
	if (n->depth && n->stack[n->depth - 1].end_ns < r->end_ns) {
		n->crossing++;
		return ws_import_start_end(n->out, r, r->thread, err);
	}
	WS_GROW(n->stack, n->depth + 1, n->capacity);
	n->stack[n->depth++] = *r;
	return event(n->out, r, WS_NVTX_PUSH, r->start_ns, r->thread, 0, err);
}

enum ws_status ws_import_nest_finish(struct ws_import_nest *n, struct ws_err *err)
{
	while (n->depth)
		WS_FORWARD(pop(n, err));
	if (n->crossing)
		ws_import_warn(n->out,
		               "ranges that overlap others of their thread without nesting, kept "
		               "as start/end ranges: %llu",
		               (unsigned long long)n->crossing);
	return WS_OK;
}

void ws_import_nest_free(struct ws_import_nest *n)
{
	free(n->stack);
	n->stack = NULL;
	n->depth = n->capacity = 0;
}
