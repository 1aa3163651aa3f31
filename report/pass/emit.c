/* What a pass joined, as the rows that its sink is told of. */
#include "report/pass/private.h"

enum ws_status ws_pass_emit_range(const struct ws_pass *p, uint32_t range, uint32_t holder,
                                  int open, struct ws_err *err)
{
	const struct ws_open_range *r = &p->live.range[range];
	const struct ws_range_context *context = ws_live_context(&p->live, r);
	const struct ws_joined_range row = {
	        .start_ns = r->start_ns,
	        .end_ns = r->end_ns,
	        .number = (uint32_t)r->number,
	        .parent = ws_pass_range_number(p, r->parent),
	        .thread = context->thread,
	        .name = context->name,
	        .recorded = r->recorded,
	        .path = context->path,
	        .depth = context->depth,
	        .payload = context->payload,
	        .op_range = ws_pass_range_number(p, r->op),
	        .op_payload = context->op,
	        .class = context->class,
	        .step = r->step,
	        .holder = holder,
	        .phase = context->phase,
	        .marks = context->marks | (r->op == range && r->counted ? WS_OP_COUNTED : 0),
	        .is_start_end = context->style == WS_RANGE_START_END,
	        .is_open = open != 0,
	        .is_step = r->step != WS_NONE && p->steps[r->step].live == range,
	};

	return p->sink->range(p->sink->ctx, &row, err);
}

enum ws_status ws_pass_emit_call(const struct ws_pass *p, const struct ws_pass_row *c,
                                 uint32_t range, uint32_t step, uint32_t *call, struct ws_err *err)
{
	const struct ws_event_descriptor *shape = &p->shapes.shape[c->shape];
	const struct ws_joined_call row = {.start_ns = c->start_ns,
	                                   .dur_ns = c->time_ns - c->start_ns,
	                                   .correlation = c->id,
	                                   .name = shape->name,
	                                   .thread = shape->thread,
	                                   .range = ws_pass_range_number(p, range),
	                                   .step = step,
	                                   .cpu_op = ws_cpu_op_around(&p->m->cpu_ops.tree,
	                                                              shape->thread, c->start_ns,
	                                                              c->time_ns),
	                                   .marks = ws_pass_range_marks(p, range),
	                                   .failed = shape->failed != 0};

	return p->sink->call(p->sink->ctx, &row, call, err);
}
