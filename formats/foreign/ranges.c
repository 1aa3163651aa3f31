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

static void event(struct ws_import_out *o, const struct ws_import_range *r, enum ws_nvtx_type type,
                  int64_t time_ns, uint64_t thread, uint64_t range)
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
	ws_import_row(o, WS_KIND_NVTX, &row);
}

void ws_import_start_end(struct ws_import_out *o, const struct ws_import_range *r,
                         uint64_t end_thread)
{
	uint64_t id = o->next_range++;

	event(o, r, WS_NVTX_START, r->start_ns, r->thread, id);
	if (r->end_ns == WS_IMPORT_OPEN)
		return;
	event(o, r, WS_NVTX_END, r->end_ns, end_thread, id);
}

static void pop(struct ws_import_nest *n)
{
	const struct ws_import_range *top = &n->stack[--n->depth];

	if (top->end_ns == WS_IMPORT_OPEN)
		return;
	event(n->out, top, WS_NVTX_POP, top->end_ns, top->thread, 0);
}

void ws_import_nest_add(struct ws_import_nest *n, const struct ws_import_range *r)
{
	const struct ws_import_range *top;

	while (n->depth) {
		top = &n->stack[n->depth - 1];
		if (top->thread == r->thread && top->domain == r->domain &&
		    top->end_ns > r->start_ns)
			break;
		pop(n);
	}
	if (n->depth && n->stack[n->depth - 1].end_ns < r->end_ns) {
		n->crossing++;
		ws_import_start_end(n->out, r, r->thread);
		return;
	}
	WS_GROW(n->stack, n->depth + 1, n->capacity);
	n->stack[n->depth++] = *r;
	event(n->out, r, WS_NVTX_PUSH, r->start_ns, r->thread, 0);
}

void ws_import_nest_finish(struct ws_import_nest *n)
{
	while (n->depth)
		pop(n);
	if (n->crossing)
		ws_import_warn(n->out,
		               "ranges that overlap others of their thread without nesting, kept "
		               "as start/end ranges: %llu",
		               (unsigned long long)n->crossing);
}

void ws_import_nest_free(struct ws_import_nest *n)
{
	free(n->stack);
	n->stack = NULL;
	n->depth = n->capacity = 0;
}
