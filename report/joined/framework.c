#include "report/joined/framework.h"

#include "report/model/load.h"
#include "report/model/steps.h"

struct completion {
	struct ws_joined_rows *rows;
	struct ws_model *m;
	uint8_t *launched; /* by range: it is an operation that a kernel has as its own */
	bool has_left;
};

/*
 * Autograd runs backward on a thread of its own, where no range of the
 * program's is open. What is launched there belongs to the range of the
 * forward operation that it is the backward of.
 */
static uint32_t inherited_range(const struct ws_cpu_ops *ops, uint32_t op)
{
	uint32_t forward = op == WS_NONE ? WS_NONE : ops->forward[op];

	return forward == WS_NONE ? WS_NONE : ops->range[forward];
}

/* Of what was launched in a range that it inherited: the range's, where that is of a step or of
 * warm-up, else that of its call. */
static uint32_t inherited_step(const struct ws_joined_rows *rows,
                               const struct ws_joined_range *range, uint32_t of_call)
{
	bool says =
	        ws_joined_rows_step(rows, range->step) != WS_NONE || range->marks & WS_IN_WARM_UP;

	return says ? range->step : of_call;
}

static uint32_t direction_of(const struct ws_model *m, const struct ws_joined_kernel *k,
                             const struct ws_op_facts *annotated, const struct ws_op_config *op)
{
	if (annotated && annotated->direction)
		return annotated->direction;
	if (k->cpu_op != WS_NONE && m->cpu_ops.forward[k->cpu_op] != WS_NONE)
		return WS_TEXT_BACKWARD;
	if (op && op->direction)
		return op->direction;
	return m->configs[k->config].name_direction;
}

static uint32_t dtype_of(const struct ws_model *m, const struct ws_joined_kernel *k,
                         const struct ws_op_facts *annotated, const struct ws_op_config *op)
{
	if (annotated && annotated->dtype)
		return annotated->dtype;
	/* a name that tells, tells what the kernel reads; an operation only what it was given */
	if (m->configs[k->config].name_dtype)
		return m->configs[k->config].name_dtype;
	return op ? op->dtype : WS_TEXT_EMPTY;
}

static void complete_kernel(const struct completion *c, struct ws_joined_kernel *k)
{
	const struct ws_model *m = c->m;
	const struct ws_joined_call *call = ws_joined_rows_call(c->rows, k->call);
	const struct ws_op_facts *annotated = NULL;
	const struct ws_joined_range *range;
	const struct ws_op_config *op;
	bool inherits;

	if (k->cpu_op == WS_NONE && call)
		k->cpu_op = call->cpu_op;
	if (k->collective == WS_NONE && k->cpu_op != WS_NONE && m->cpu_ops.collective)
		k->collective = m->cpu_ops.collective[k->cpu_op];
	inherits = k->range == WS_NONE;
	if (inherits)
		k->range = inherited_range(&m->cpu_ops, k->cpu_op);
	range = ws_joined_rows_range(c->rows, k->range);
	if (inherits && range) {
		k->step = inherited_step(c->rows, range, k->step);
		k->path = range->path;
		k->op_range = range->op_range;
		k->marks = range->marks & (uint8_t)~WS_OP_COUNTED;
	}
	op = ws_cpu_op_config(m, k->cpu_op);
	if (range)
		annotated = ws_joined_range_op(m, range);
	k->range_class = range && range->class ? range->class : op ? op->kind : WS_TEXT_EMPTY;
	k->class = k->range_class ? k->range_class : m->configs[k->config].name_class;
	k->direction = direction_of(m, k, annotated, op);
	k->dtype = dtype_of(m, k, annotated, op);
	k->phase = (uint8_t)ws_phase_of(m, range ? range->phase : WS_PHASE_OTHER, k->cpu_op);
}

static void complete_work(const struct completion *c, struct ws_work *w)
{
	const struct ws_model *m = c->m;
	const struct ws_joined_call *call = ws_joined_rows_call(c->rows, w->call);
	const struct ws_joined_range *range;

	if (w->op == WS_NONE && call)
		w->op = call->cpu_op;
	if (w->range != WS_NONE)
		return;
	w->range = inherited_range(&m->cpu_ops, w->op);
	range = ws_joined_rows_range(c->rows, w->range);
	if (!range)
		return;
	w->path = range->path;
	w->step = inherited_step(c->rows, range, w->step);
	w->scope = (uint8_t)ws_scope_of(m, ws_joined_rows_step(c->rows, w->step), range->marks);
}

/* The same as a pass counts. */
static void count_left(const struct completion *c, const struct ws_joined_kernel *k)
{
	struct ws_leftovers *left = &c->m->left;

	left->no_launch += k->call == WS_NONE;
	left->no_range += k->call != WS_NONE && k->range == WS_NONE;
	left->no_time += !k->timed;
	left->cut_off += k->timed && k->cut_off;
	left->no_config += !k->config;
	left->unknown_class += !k->class;
	c->m->has_comm |= k->class == WS_TEXT_COMM;
	if (k->op_range != WS_NONE)
		c->launched[k->op_range] = 1;
}

static enum ws_status complete(struct completion *c, struct ws_arena *temp, struct ws_err *err)
{
	struct ws_joined_rows *rows = c->rows;
	struct ws_leftovers *left = &c->m->left;

	WS_NEW(temp, c->launched, rows->nranges);
	WS_FORWARD(ws_arena_check(temp, "the kernels of the trace", err));
	left->ops_without_kernel = 0;
	for (size_t i = 0; i < rows->nkernels; i++) {
		struct ws_joined_kernel *k =
		        ws_spill_row(&rows->kernels, sizeof(struct ws_joined_kernel), i);

		complete_kernel(c, k);
		if (c->has_left)
			count_left(c, k);
	}
	for (uint32_t i = 0; i < rows->nranges && c->has_left; i++)
		left->ops_without_kernel +=
		        ws_joined_rows_range(rows, i)->marks & WS_OP_COUNTED && !c->launched[i];
	for (size_t i = 0; i < c->m->nwork; i++)
		complete_work(c, &c->m->work[i]);
	for (size_t i = 0; i < c->m->nmemory; i++) {
		struct ws_memory_event *e = &c->m->memory[i];

		e->cpu_op =
		        ws_cpu_op_around(&c->m->cpu_ops.tree, e->thread, e->time_ns, e->time_ns);
	}
	return WS_OK;
}

enum ws_status ws_framework_complete(struct ws_joined_rows *rows, struct ws_model *m, bool has_left,
                                     struct ws_err *err)
{
	struct completion c = {.rows = rows, .m = m, .has_left = has_left};
	struct ws_arena temp = {0};
	enum ws_status status = ws_framework_find_phases(rows, m, err);

	WS_THEN(status, complete(&c, &temp, err));
	ws_arena_free(&temp);
	return status;
}
