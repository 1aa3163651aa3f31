/*
 * The join: events to ranges, calls to ranges, as they happened.
 */
#include <stdlib.h>
#include <string.h>

#include "report/model/label.h"
#include "report/model/steps.h"
#include "report/pass/private.h"

/* --- ranges ------------------------------------------------------------------------------ */

static void resolve_context(void *ctx, struct ws_range_context *f)
{
	struct ws_pass *p = ctx;
	const struct ws_range_context *parent = f->parent;
	const struct ws_ranges r = {.paths = p->live.paths.paths, .npaths = p->live.paths.npaths};
	const struct ws_op_facts *op = NULL;

	f->phase =
	        (uint8_t)ws_label_phase_in(p->m,
	                                   parent ? (enum ws_phase)parent->phase : WS_PHASE_OTHER,
	                                   f->name);
	f->marks =
	        ws_label_marks(p->m, f->name) | (parent ? parent->marks & WS_MARKS_INHERITED : 0);
	f->op = parent ? parent->op : WS_NONE;
	f->is_op = f->payload != WS_NONE && p->m->ops.is_op[f->payload];
	if (f->is_op)
		f->op = f->payload;
	if (f->op != WS_NONE)
		op = &p->m->ops.op[f->op];
	f->class = ws_label_class(op, f->marks);
	f->direction = op ? op->direction : 0;
	f->dtype = op ? op->dtype : 0;
	ws_step_is_path(p->m, &r, f->path, p->l.opts->step, &f->is_step);
	f->marks_iteration = !p->l.opts->step && ws_name_marks_iteration(p->m->texts[f->name]);
	f->begins_step = f->is_step || f->name == WS_TEXT_WARM_UP;
	/* the ranges around it in its step are of another phase, or of none */
	f->tells_step = f->begins_step ||
	                (f->phase != WS_PHASE_OTHER && !(parent && parent->phase == f->phase));
}

static inline void begin_range(void *ctx, uint32_t range)
{
	struct ws_pass *p = ctx;
	struct ws_open_range *r = &p->live.range[range];
	const struct ws_range_context *context = r->context;

	if (context->is_op) {
		/* a group of operations: the parts are counted, not the whole again */
		if (r->op != WS_NONE)
			p->live.range[r->op].counted = 0;
		r->op = range;
		r->counted = 1;
	}
	if (context->begins_step)
		ws_pass_begin_step(p, range);
}

/* No sum of FLOPs or bytes may overflow: an operation that is too big for that is not counted. In
 * the order in which they end. */
static bool add_cost_checked(struct ws_pass *p, const struct ws_op_facts *op)
{
	int64_t flops, bytes;

	if (__builtin_add_overflow(p->flops, op->flops > 0 ? op->flops : 0, &flops) ||
	    __builtin_add_overflow(p->bytes, op->bytes > 0 ? op->bytes : 0, &bytes))
		return false;
	p->flops = flops;
	p->bytes = bytes;
	return true;
}

static inline enum ws_status close_range(void *ctx, uint32_t range, int open, struct ws_err *err)
{
	struct ws_pass *p = ctx;
	struct ws_open_range *r = &p->live.range[range];
	const struct ws_range_context *context = r->context;

	WS_FAIL_IF(__builtin_add_overflow(p->range_ns, r->end_ns - r->start_ns, &p->range_ns), err,
	           CORRUPT, "the ranges' times add up to over 2^63 ns");
	p->m->ranges.folded += context->depth >= WS_RANGE_MAX_DEPTH;
	if (context->style == WS_RANGE_START_END)
		ws_pass_end_process_range(p, r->number, r->end_ns);
	if (r->op == range && r->counted) {
		r->counted = add_cost_checked(p, &p->m->ops.op[context->payload]);
		p->m->leftovers.ops_too_big += !r->counted;
	}
	ws_pass_emit_range(p, range, open);
	if (context->tells_step && r->step != WS_NONE)
		ws_pass_close_step(p, r, range, open);
	if (context->marks_iteration && !open)
		ws_pass_take_iteration_mark(p, r);
	return WS_OK;
}

static const struct ws_live_events live_events = {resolve_context, begin_range, close_range};

const struct ws_live_events *ws_pass_live_events(void)
{
	return &live_events;
}

/* --- in order of time -------------------------------------------------------------------- */

static void join_call(struct ws_pass *p, const struct ws_pass_row *c,
                      const struct ws_event_descriptor *shape)
{
	const uint32_t range = ws_live_innermost(&p->live, shape->thread, c->start_ns, c->time_ns);
	uint32_t call;

	ws_pass_emit_call(p, c, range, &call);
	if (p->m->attribution.first && shape->thread < p->live.nthreads &&
	    p->live.threads[shape->thread].crosses)
		ws_pass_add_crossings(p, c, shape->thread, range, call);
	if (p->nprocess_ranges)
		ws_pass_add_process_ranges(p, c, shape, call);
}

static void join_op(struct ws_pass *p, const struct ws_pass_row *op,
                    const struct ws_event_descriptor *shape)
{
	uint32_t range = ws_live_innermost(&p->live, shape->thread, op->start_ns, op->time_ns);

	p->m->cpu_ops.range[op->id] = ws_pass_range_number(p, range);
}

/* What happens first, comes first. At one time events stand before calls, as a call that ends with
 * a range lies in it. */
enum ws_status ws_pass_join(struct ws_pass *p, int64_t until_ns, struct ws_err *err)
{
	struct ws_pass_rows *rows = &p->rows;

	if (p->framework.is_present)
		ws_pass_take_framework(p, until_ns, rows);
	ws_pass_rows_sort(rows);
	for (; rows->first < rows->n; rows->first++) {
		const struct ws_pass_row *row = (struct ws_pass_row *)rows->rows + rows->first;
		const struct ws_event_descriptor *shape = &p->shapes.shape[row->shape];

		if (row->time_ns >= until_ns)
			return WS_OK;
		WS_FORWARD(ws_live_pass_time(&p->live, row->time_ns, err));
		if (shape->type == WS_THREAD_EVENT_API) {
			join_call(p, row, shape);
		} else if (shape->type == WS_PASS_CPU_OP) {
			join_op(p, row, shape);
		} else {
			const struct ws_live_row event = ws_pass_event(row);

			WS_FORWARD(ws_live_event(&p->live, &live_events, &event, shape, err));
			if (shape->type == WS_NVTX_START && p->m->attribution.first)
				ws_pass_begin_process_range(p, shape, row->id);
		}
	}
	return WS_OK;
}

/* --- the end ----------------------------------------------------------------------------- */

static void take_facts(struct ws_pass *p)
{
	struct ws_strtab keys = {0};

	WS_NEW(&p->m->arena, p->m->facts, p->m->ntexts);
	for (size_t i = 0; i < p->nmarks; i++)
		ws_take_fact(p->m, &keys, p->m->texts[p->marks[i].text]);
	ws_strtab_free(&keys);
}

/* The last mark of a key in the file wins. */
static int by_place(const void *pa, const void *pb)
{
	const struct ws_pass_mark *a = pa, *b = pb;

	return a->position < b->position ? -1 : a->position > b->position;
}

static bool any_open(const struct ws_live_ranges *live)
{
	bool any = false;

	for (size_t i = 0; i < live->nthreads; i++)
		any |= live->threads[i].last != WS_NONE;
	return any;
}

enum ws_status ws_pass_end(struct ws_pass *p, struct ws_err *err)
{
	struct ws_model *m = p->m;

	WS_FORWARD(ws_pass_join(p, INT64_MAX, err));
	/* ranges that never ended end at the last moment of any record */
	if (any_open(&p->live))
		WS_FORWARD(ws_pass_see_times(p, false, err));
	if (p->first_ns <= p->last_ns)
		ws_extend_time(m, p->first_ns, p->last_ns);
	WS_FORWARD(ws_live_end(&p->live, m->end_ns, err));
	ws_pass_end_steps(p);
	m->ranges.open = p->live.open_at_end;
	m->ranges.cross_thread = p->live.cross_thread;
	m->ranges.unmatched_pops = p->live.unmatched_pops;
	m->ranges.unmatched_ends = p->live.unmatched_ends;
	ws_path_table_give(&p->live.paths, &m->ranges.paths, &m->ranges.npaths);
	if (p->nmarks)
		qsort(p->marks, p->nmarks, sizeof(*p->marks), by_place);
	take_facts(p);
	return WS_OK;
}
