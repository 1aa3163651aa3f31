/* What a pass joined, as the rows that its sink is told of. */
#include "report/pass/private.h"

void ws_pass_emit_range(const struct ws_pass *p, uint32_t range, int open)
{
	const struct ws_open_range *r = &p->live.range[range];
	const struct ws_joined_range row = {
	        .start_ns = r->start_ns,
	        .end_ns = r->end_ns,
	        .context = r->context,
	        .parent = ws_pass_range_number(p, r->parent),
	        .recorded = r->recorded,
	        .step = r->step,
	        .is_open = open != 0,
	        .is_step = r->step != WS_NONE && p->steps[r->step].live == range,
	        .is_counted = r->op == range && r->counted,
	};

	p->sink->range(p->sink->ctx, (uint32_t)r->number, &row);
}

void ws_pass_emit_call(const struct ws_pass *p, const struct ws_pass_row *c, uint32_t range,
                       uint32_t *call)
{
	const struct ws_joined_call row = {
	        .start_ns = c->start_ns,
	        .dur_ns = c->time_ns - c->start_ns,
	        .correlation = c->id,
	        .kind = p->shapes.calls[c->shape] +
	                (ws_pass_range_marks(p, range) & WS_MARKS_OF_SCOPE),
	        .range = ws_pass_range_number(p, range),
	};

	p->sink->call(p->sink->ctx, &row, call);
}
