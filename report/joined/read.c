/*
 * Joins kernels and copies to their calls, and by those to ranges, operations and steps.
 */

#include "report/base/stat.h"

#include "report/joined/rows.h"
#include "report/pass/private.h"

/* Set rows, all else zero. */
struct ws_kernel_join {
	struct ws_joined_rows *rows;
	struct ws_model *m;
	struct ws_launches launches;
	uint64_t counted_ops; /* ranges with is_counted */
	uint8_t *launched;    /* by range: it is the operation of a kernel */
	/* per step: number of launched kernels, copies and fills, and of kernels alone */
	uint64_t *work_of_step, *kernels_of_step;
	int64_t *gpu_ns_of_step;
	struct ws_judge judge;
	struct ws_strtab kinds;
	struct ws_kernel_kind **kind; /* by number */
	size_t kinds_capacity;
	struct ws_kernel_kind *without_range; /* kind of the last kernel outside ranges, NULL */
	uint32_t next_node;                   /* see ws_graph_node_at */
	struct ws_arena temp;
};

/*
 * Autograd runs backward on its own thread, where no range of the program is open. Its launches
 * belong to the range of the corresponding forward operation.
 */
static uint32_t inherited_range(const struct ws_cpu_ops *ops, uint32_t op)
{
	uint32_t forward = op == WS_NONE ? WS_NONE : ops->forward[op];

	return forward == WS_NONE ? WS_NONE : ops->range[forward];
}

/* Step of a launch with an inherited range: that of the range if it is in a step or warm-up, else
 * that of its call. */
static uint32_t inherited_step(const struct ws_joined_rows *rows,
                               const struct ws_joined_range *range, uint32_t of_call)
{
	const uint32_t step = ws_joined_range_step(rows, range);

	return step != WS_NONE || range->context->marks & WS_IN_WARM_UP ? step : of_call;
}

/*
 * The range of device work that was launched in no range of its thread and inherits none: the
 * start/end range of its process around the call that began last. *step becomes that range's, if it
 * has one.
 */
static void take_range_of_process(struct ws_kernel_join *j, uint32_t call, uint32_t *number,
                                  uint32_t *step)
{
	const struct ws_joined_range *range;
	const struct ws_attribution *a = &j->m->attribution;
	uint32_t last = WS_NONE;

	for (uint32_t c = a->first ? a->first[call] : WS_NONE; c != WS_NONE;
	     c = a->crossings[c].next)
		last = last == WS_NONE || a->crossings[c].range > last ? a->crossings[c].range
		                                                       : last;
	*number = last;
	range = ws_joined_rows_range(j->rows, *number);
	if (range)
		*step = inherited_step(j->rows, range, *step);
	else if (*step != WS_NONE)
		*number = j->m->steps[*step].range;
}

/* --- captured in a graph --- */

/* Where the program captured the node of device work; NULL: it is no node of a graph, or that is
 * unknown. */
static const struct ws_graph_node *captured_node(struct ws_kernel_join *j, uint32_t process,
                                                 uint64_t id, const struct ws_joined_call *call,
                                                 int64_t start_ns)
{
	const struct ws_model *m = j->m;
	const uint32_t at = ws_graph_node_at(m, process, id, call ? call->start_ns : start_ns,
	                                     start_ns, &j->next_node);
	const uint32_t captured = at == WS_NONE ? WS_NONE : m->graph_nodes[at].captured;
	const struct ws_graph_node *node = captured == WS_NONE ? NULL : &m->graph_nodes[captured];

	return node && (node->range != WS_NONE || node->cpu_op != WS_NONE) ? node : NULL;
}

/* Lists the ranges around the launch of a graph that are not also around the capture of this node
 * of it. They hold the graph's kernels, too. */
static void list_launched(struct ws_kernel_join *j, uint32_t call, uint32_t launched,
                          const struct ws_graph_node *node)
{
	struct ws_attribution *a = &j->m->attribution;
	const struct ws_joined_range *range;
	uint32_t of_capture = WS_NONE, number = launched;

	if (a->launched[call] != WS_NONE)
		return;
	range = ws_joined_rows_range(j->rows, node->range);
	of_capture = range ? range->context->thread : node->thread;
	for (; (range = ws_joined_rows_range(j->rows, number)); number = range->parent) {
		if (range->context->thread == of_capture && range->start_ns <= node->time_ns)
			return;
		a->not_followed += a->ncrossings == WS_MAX_CROSSINGS;
		if (a->ncrossings == WS_MAX_CROSSINGS)
			return;
		WS_GROW(a->crossings, a->ncrossings + 1, a->crossings_capacity);
		a->crossings[a->ncrossings] = (struct ws_crossing){number, a->launched[call]};
		a->launched[call] = (uint32_t)a->ncrossings++;
	}
}

/* --- kinds ------------------------------------------------------------------------------- */

#define KEY_BYTES (sizeof(struct ws_kernel_kind) - offsetof(struct ws_kernel_kind, config))

/* The number of an equal kind, which is added if new. */
static struct ws_kernel_kind *intern_kind(struct ws_kernel_join *j,
                                          const struct ws_kernel_kind *like)
{
	const size_t before = j->kinds.used;
	const uint32_t number = (uint32_t)ws_strtab_add(&j->kinds, &like->config, KEY_BYTES) - 1;
	struct ws_kernel_kind *kind;

	if (j->kinds.used == before)
		return j->kind[number];
	WS_GROW(j->kind, j->kinds.used, j->kinds_capacity);
	WS_NEW(&j->m->arena, kind, 1);
	*kind = *like;
	kind->number = number;
	j->kind[number] = kind;
	j->rows->nkinds = j->kinds.used;
	return kind;
}

/* context: of its range, NULL; node: where it was captured, NULL; call: WS_NONE if it has none. */
static struct ws_kernel_kind *find_kind(struct ws_kernel_join *j, const struct ws_pass_kernel *from,
                                        const struct ws_range_context *context,
                                        const struct ws_graph_node *node, uint8_t launch_marks,
                                        const struct ws_joined_kernel *k)
{
	const struct ws_model *m = j->m;
	const struct ws_config *config = &m->configs[from->config];
	const struct ws_op_facts *annotated =
	        context && context->op != WS_NONE ? &m->ops.op[context->op] : NULL;
	const struct ws_op_config *op = ws_cpu_op_config(m, k->cpu_op);
	struct ws_kernel_kind kind = {
	        .config = from->config,
	        .path = context ? context->path : WS_NONE,
	        .range_class = context && context->class ? context->class
	                       : op                      ? op->kind
	                                                 : WS_TEXT_EMPTY,
	        .direction = annotated && annotated->direction ? annotated->direction
	                     : k->cpu_op != WS_NONE && m->cpu_ops.forward[k->cpu_op] != WS_NONE
	                             ? WS_TEXT_BACKWARD
	                     : op && op->direction ? op->direction
	                                           : config->name_direction,
	        .marks = context ? context->marks : 0,
	        .timed = from->timed,
	        .cut_off = from->cut_off,
	        .has_call = k->call != WS_NONE,
	        .is_captured = node != NULL,
	        .collective = from->collective};

	/* the recorded type has precedence over the name if the operation is known (the first input
	 * of others may be anything, such as indexes), except that operations do not record TF32
	 * for fp32 data, or operands narrower than their tensors */
	const bool computes = op && op->kind &&
	                      (ws_bytes_begin(m->texts[op->dtype], "fp") ||
	                       ws_bytes_begin(m->texts[op->dtype], "bf"));
	kind.dtype = config->dtype_is_narrow         ? config->name_dtype
	             : annotated && annotated->dtype ? annotated->dtype
	             : computes                      ? op->dtype
	             : config->name_dtype            ? config->name_dtype
	             : op                            ? op->dtype
	                                             : WS_TEXT_EMPTY;

	/* the line of its operation, else that of the innermost module around it */
	kind.source = k->cpu_op == WS_NONE ? 0 : m->cpu_ops.source[k->cpu_op];
	for (uint32_t path = kind.path; !kind.source && path != WS_NONE;
	     path = m->ranges.paths[path].parent)
		kind.source = m->ranges.paths[path].source;

	if (kind.collective == WS_NONE && k->cpu_op != WS_NONE && m->cpu_ops.collective)
		kind.collective = m->cpu_ops.collective[k->cpu_op];
	if (kind.collective == WS_NONE && context)
		kind.collective = context->collective;
	if (node) /* a replay is no start-up, but its capture mostly is */
		kind.marks = (uint8_t)((kind.marks & ~WS_MARKS_OF_SCOPE) |
		                       (launch_marks & WS_MARKS_OF_SCOPE));
	kind.class = kind.range_class ? kind.range_class : config->name_class;
	kind.phase = (uint8_t)ws_phase_of(m, context ? context->phase : WS_PHASE_OTHER, k->cpu_op);
	return intern_kind(j, &kind);
}

/* --- kernels ----------------------------------------------------------------------------- */

/* Row of the call, WS_NONE. */
static uint32_t find_call(struct ws_kernel_join *j, uint32_t process, uint64_t correlation,
                          bool timed, int64_t start_ns)
{
	return ws_launches_find(&j->launches,
	                        (struct ws_call_key){.correlation = correlation,
	                                             .process = process,
	                                             .start_ns = timed ? start_ns : INT64_MAX});
}

/* Removes the wrong time of row i, which still counts. */
static void forget_time(void *join, size_t i)
{
	struct ws_kernel_join *j = join;
	struct ws_joined_kernel k = *ws_joined_rows_kernel(j->rows, i);
	struct ws_kernel_kind kind = *k.kind;

	j->m->leftovers.no_time++;
	j->m->leftovers.cut_off -= kind.cut_off;
	j->rows->in_scope[ws_scope_of(j->m, k.step, kind.marks)].gpu_ns -= k.dur_ns;
	if (k.step != WS_NONE)
		j->gpu_ns_of_step[k.step] -= k.dur_ns;
	kind.timed = kind.cut_off = 0;
	k.kind = intern_kind(j, &kind);
	k.dur_ns = 0;
	ws_spill_put(&j->rows->kernels, sizeof(k), i, &k);
}

/* Makes joined rows from a pass: stores calls and ranges, then joins kernels to them. */

/* --- the sink ------------------------------------------------------------------------------ */

struct reading {
	struct ws_joined_rows *rows;
	struct ws_kernel_join join;
	const struct ws_trace_reader *r;
	struct ws_model **m;
	uint64_t last_id; /* id of the last call */
};

static void take_call(void *ctx, const struct ws_joined_call *call, uint32_t *number)
{
	struct reading *reading = ctx;
	struct ws_joined_rows *rows = reading->rows;
	const struct ws_joined_call *before = NULL;

	/* is the record equal to the previous one, which returned at the same time? */
	if (call->correlation == reading->last_id && rows->ncalls)
		before = ws_joined_rows_call(rows, (uint32_t)rows->ncalls - 1);
	if (before && call->correlation && call->correlation == before->correlation &&
	    call->start_ns == before->start_ns && call->dur_ns == before->dur_ns &&
	    call->kind == before->kind) {
		*number = (uint32_t)rows->ncalls - 1;
		(*reading->m)->soundness.broken[WS_LAW_ONCE].calls++;
		return;
	}
	*number = (uint32_t)rows->ncalls;
	rows->calls_by_id &= call->correlation > reading->last_id;
	reading->last_id = call->correlation;
	if (call->dur_ns > rows->longest_call_ns)
		rows->longest_call_ns = call->dur_ns;
	ws_spill_put(&rows->calls, sizeof(*call), rows->ncalls++, call);
}

/* Adds the next kernel as a row, and counts in the model what the join could not place. */
static void take_kernel(void *ctx, const struct ws_pass_kernel *from)
{
	struct reading *reading = ctx;
	struct ws_kernel_join *j = &reading->join;

	if (!ws_judge_counts(&j->judge, from)) {
		(*reading->m)->devices[(*reading->m)->configs[from->config].device].kernels--;
		return;
	}

	const struct ws_config *config = &j->m->configs[from->config];
	const uint32_t number =
	        find_call(j, config->process, from->correlation, from->timed, from->start_ns);
	const struct ws_joined_call *call = ws_joined_rows_call(j->rows, number);
	struct ws_joined_kernel k = {.start_ns = from->start_ns,
	                             .dur_ns = from->dur_ns,
	                             .call = number,
	                             .range = call ? call->range : WS_NONE,
	                             .cpu_op = from->cpu_op,
	                             .step = call ? ws_joined_call_step(j->rows, j->m, call)
	                                          : WS_NONE};
	const struct ws_model *m = j->m;
	const struct ws_joined_range *range;

	if (k.cpu_op == WS_NONE && call)
		k.cpu_op = ws_joined_call_op(m, call);
	bool inherits = k.range == WS_NONE;
	if (inherits)
		k.range = inherited_range(&m->cpu_ops, k.cpu_op);
	range = ws_joined_rows_range(j->rows, k.range);
	if (inherits && range)
		k.step = inherited_step(j->rows, range, k.step);
	if (!range && call) {
		take_range_of_process(j, k.call, &k.range, &k.step);
		range = ws_joined_rows_range(j->rows, k.range);
	}

	const uint8_t launch_marks = range ? range->context->marks : 0;
	const struct ws_graph_node *node =
	        from->graph_node ? captured_node(j, m->configs[from->config].process,
	                                         from->graph_node, call, from->start_ns)
	                         : NULL;

	if (node) {
		if (node->range != WS_NONE && k.call != WS_NONE)
			list_launched(j, k.call, k.range, node);
		k.range = node->range != WS_NONE ? node->range : k.range;
		k.cpu_op = node->cpu_op != WS_NONE ? node->cpu_op : k.cpu_op;
		range = ws_joined_rows_range(j->rows, k.range);
	} else {
		j->m->leftovers.no_capture += from->graph_node && m->ngraph_nodes && !m->by_launch;
	}

	struct ws_range_context *context = range ? (struct ws_range_context *)range->context : NULL;
	struct ws_kernel_kind **last = context ? &context->kind : &j->without_range, *kind = *last;
	const uint32_t collective = from->collective != WS_NONE ? from->collective
	                            : context                   ? context->collective
	                                                        : WS_NONE;

	/* nearly always equal to that of the previous kernel in such a range, if these fields are
	 * equal */
	if (k.cpu_op != WS_NONE || node || !kind || kind->config != from->config ||
	    kind->timed != from->timed || kind->cut_off != from->cut_off || kind->is_captured ||
	    kind->has_call != (k.call != WS_NONE) || kind->collective != collective)
		kind = find_kind(j, from, context, node, launch_marks, &k);
	if (k.cpu_op == WS_NONE)
		*last = kind;
	k.kind = kind;

	struct ws_leftovers *left = &j->m->leftovers;
	const uint32_t op = ws_joined_rows_op_range(j->rows, k.range);

	left->no_launch += k.call == WS_NONE;
	left->no_range += k.call != WS_NONE && k.range == WS_NONE;
	left->no_time += !k.kind->timed;
	left->cut_off += k.kind->timed && k.kind->cut_off;
	left->no_config += !k.kind->config;
	left->unknown_class += !k.kind->class;
	j->m->has_comm |= k.kind->class == WS_TEXT_COMM;
	if (op != WS_NONE && !j->launched[op]) {
		j->launched[op] = 1;
		left->ops_without_kernel -= ws_joined_rows_range(j->rows, op)->is_counted;
	}

	if (k.step != WS_NONE) {
		j->work_of_step[k.step]++;
		j->kernels_of_step[k.step]++;
		j->gpu_ns_of_step[k.step] += k.dur_ns;
	}
	enum ws_scope scope = ws_scope_of(j->m, k.step, k.kind->marks);
	j->rows->in_scope[scope].kernels++;
	j->rows->in_scope[scope].gpu_ns += k.dur_ns;
	size_t overrun = ws_judge_kernel(&j->judge, from, call, &k, j->rows->nkernels);
	ws_spill_put(&j->rows->kernels, sizeof(k), j->rows->nkernels++, &k);
	if (overrun != SIZE_MAX)
		forget_time(j, overrun);
}

/* Stores an ended range at the position of its begin, before those inside it. */
static void take_range(void *ctx, uint32_t number, const struct ws_joined_range *range)
{
	struct reading *reading = ctx;
	struct ws_joined_rows *rows = reading->rows;

	reading->join.counted_ops += range->is_counted;
	if (number >= rows->nranges)
		rows->nranges = number + 1;
	if (range->is_step) {
		WS_GROW(rows->range_of, (size_t)range->step + 1, rows->nsteps_of);
		rows->range_of[range->step] = number;
	}
	ws_spill_put(&rows->ranges, sizeof(*range), number, range);
}

/* --- phases by a framework's links ------------------------------------------------------------ */

/* Where a program names no phases, its framework's links from forward to backward tell them. */

/* A span of a step's time. What it takes from others is by rank, 0 first: the program's ranges,
 * then operations, of which a later phase beats an earlier one, then an optimizer around them. */
struct phase_span {
	int64_t start_ns, end_ns;
	uint32_t step;
	uint8_t rank;
};
enum { RANK_OF_OPS = WS_PHASE_OTHER, RANK_OF_CLOSURE = 2 * WS_PHASE_OTHER, RANKS };

static enum ws_phase phase_of_rank(int rank)
{
	if (rank == RANK_OF_CLOSURE)
		return WS_PHASE_OPTIMIZER;
	return (enum ws_phase)(rank < RANK_OF_OPS ? rank : RANK_OF_CLOSURE - 1 - rank);
}

struct runs {
	struct ws_model *m;
	struct ws_joined_rows *rows;
	uint8_t *has_backward; /* by operation: it, or one inside it, has a backward */
	int64_t *backward;     /* begins of linked backward operations, sorted */
	size_t nbackward;
	struct phase_span *spans;
	size_t n;
	struct ws_arena temp;
};

/* Is one of the n ascending times in [from, to)? */
static bool any_within(const int64_t *times, size_t n, int64_t from_ns, int64_t to_ns)
{
	size_t i;

	WS_COUNT_FIRST(i, n, times[i] < from_ns);
	return i < n && times[i] < to_ns;
}

/* Does the optimizer run backward, and so also forward, in its closure? Then calls of modules in
 * its range belong to the closure. */
static bool is_closure(const struct runs *f, const struct ws_joined_range *range)
{
	const struct ws_joined_range *around = range;

	while ((around = ws_joined_rows_range(f->rows, range->parent)) &&
	       around->context->phase == WS_PHASE_OPTIMIZER)
		range = around;
	return range->context->phase == WS_PHASE_OPTIMIZER &&
	       any_within(f->backward, f->nbackward, range->start_ns, range->end_ns);
}

/* The phase known from the operation itself and its range; NULL = outside ranges. */
static enum ws_phase phase_of_op(const struct runs *f, uint32_t op,
                                 const struct ws_joined_range *range)
{
	static const char *const losses[] = {"aten::*_loss",
	                                     "aten::*_loss_nd",
	                                     "aten::*_loss2d",
	                                     "aten::cross_entropy*",
	                                     "aten::binary_cross_entropy*",
	                                     "aten::kl_div*"};
	const struct ws_model *m = f->m;
	const struct ws_cpu_ops *ops = &m->cpu_ops;
	uint32_t parent = ops->tree.parent[op];
	struct ws_bytes name = m->texts[ops->tree.name[op]];

	if (parent != WS_NONE && ops->phase[parent] != WS_PHASE_OTHER)
		return (enum ws_phase)ops->phase[parent];
	if (range && range->context->phase != WS_PHASE_OTHER && !is_closure(f, range))
		return (enum ws_phase)range->context->phase;
	if (ws_op_is_backward(m, op))
		return WS_PHASE_BACKWARD;
	if (WS_NAME_IS_ONE_OF(name, losses))
		return WS_PHASE_LOSS;
	if (f->has_backward[op] ||
	    (range && range->context->phase == WS_PHASE_OPTIMIZER &&
	     m->ranges.paths[range->context->path].domain == WS_TEXT_MODULE_DOMAIN))
		return WS_PHASE_FORWARD;
	return range && range->context->phase != WS_PHASE_OTHER
	               ? (enum ws_phase)range->context->phase
	               : ws_label_phase(m, ops->tree.name[op]);
}

/*
 * Did other work interrupt a phase between two operations? The program waits for backward, so
 * backward ends if the step's own thread begins an operation; other phases end if backward begins.
 */
static bool is_interrupted(const struct runs *f, const struct phase_span *run, int64_t until_ns)
{
	const struct ws_op_tree *r = &f->m->cpu_ops.tree;
	uint32_t own = f->m->steps[run->step].thread;

	if (phase_of_rank(run->rank) != WS_PHASE_BACKWARD)
		return any_within(f->backward, f->nbackward, run->end_ns, until_ns);
	if (own >= r->nthreads)
		return false;
	size_t first = r->thread_first[own];
	return any_within(r->start_ns + first, r->thread_first[own + 1] - first, run->end_ns,
	                  until_ns);
}

uint32_t ws_step_of_op(const struct ws_model *m, struct ws_joined_rows *rows, uint32_t op)
{
	const struct ws_op_tree *tree = &m->cpu_ops.tree;

	return ws_joined_step_at(rows, m, ws_joined_rows_range(rows, m->cpu_ops.range[op]),
	                         m->threads[tree->thread[op]].process, tree->thread[op],
	                         tree->start_ns[op], tree->end_ns[op]);
}

static int by_step(const void *pa, const void *pb)
{
	const struct phase_span *a = pa, *b = pb;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The step that a range is, or in which it lies on its thread. */
static uint32_t step_of_range(const struct runs *f, const struct ws_joined_range *r)
{
	uint32_t step = ws_joined_range_step(f->rows, r);

	if (step == WS_NONE && f->m->step_mark)
		step = ws_step_holding(f->m, r->context->process, r->context->thread, r->start_ns,
		                       r->end_ns, false);
	return step != WS_NONE && f->m->steps[step].thread == r->context->thread ? step : WS_NONE;
}

static void ws_framework_find_phases(struct ws_joined_rows *rows, struct ws_model *m)
{
	struct ws_cpu_ops *ops = &m->cpu_ops;
	const struct ws_op_tree *tree = &ops->tree;
	struct runs f = {.m = m, .rows = rows};
	size_t links = 0, at = 0;

	WS_NEW(&f.temp, f.has_backward, tree->n);
	for (uint32_t i = 0; i < tree->n; i++)
		if (ops->forward[i] != WS_NONE) {
			f.has_backward[ops->forward[i]] = 1;
			links++;
		}
	for (uint32_t i = (uint32_t)tree->n; i-- > 0;)
		if (f.has_backward[i] && tree->parent[i] != WS_NONE)
			f.has_backward[tree->parent[i]] = 1;
	/* ranges outside ranges of a step got no step when they ended */
	if (!links && !m->step_mark) {
		ws_arena_free(&f.temp);
		return;
	}
	WS_NEW(&f.temp, f.backward, tree->n);
	WS_NEW(&f.temp, f.spans, tree->n + rows->nranges + m->nevaluations);
	/* The phase of each operation by itself; parents come before their children. */
	for (uint32_t i = 0; i < tree->n && links; i++)
		if (ops->forward[i] != WS_NONE)
			f.backward[f.nbackward++] = tree->start_ns[i];
	ws_sort(f.backward, f.nbackward, sizeof(*f.backward), ws_by_time);
	for (uint32_t i = 0; i < tree->n && links; i++) {
		const int64_t start_ns = tree->start_ns[i];
		const uint32_t thread = tree->thread[i];

		/* both are in order of threads and begins */
		while (at < m->nevaluations &&
		       (m->steps[m->evaluations[at].step].thread < thread ||
		        (m->steps[m->evaluations[at].step].thread == thread &&
		         m->evaluations[at].end_ns <= start_ns)))
			at++;
		const struct ws_evaluation *e = at < m->nevaluations ? &m->evaluations[at] : NULL;
		ops->phase[i] =
		        e && m->steps[e->step].thread == thread && e->start_ns <= start_ns &&
		                        tree->end_ns[i] <= e->end_ns
		                ? WS_PHASE_EVALUATION
		                : (uint8_t)phase_of_op(&f, i,
		                                       ws_joined_rows_range(rows, ops->range[i]));
	}

	/* On a thread, a phase lasts from an operation with known phase to the last such one, if it
	 * is not interrupted. Other operations between them belong to the phase, too. */
	struct phase_span *run = NULL;
	uint32_t last_op = 0; /* operation of the run */

	for (uint32_t i = 0; i < tree->n && links; i++) {
		uint32_t parent = tree->parent[i], step;
		uint8_t phase = ops->phase[i];
		const struct ws_joined_range *range;

		if (phase == WS_PHASE_OTHER ||
		    (parent != WS_NONE && ops->phase[parent] != WS_PHASE_OTHER))
			continue;
		range = ws_joined_rows_range(f.rows, ops->range[i]);
		step = ws_step_of_op(m, f.rows, i);
		if (step == WS_NONE || phase == WS_PHASE_EVALUATION ||
		    (range && range->context->phase != WS_PHASE_OTHER &&
		     !(is_closure(&f, range) && phase != WS_PHASE_OPTIMIZER))) {
			run = NULL; /* not in a step, or a range's or evaluation's time counts */
			continue;
		}
		if (!run || run->step != step || phase_of_rank(run->rank) != phase ||
		    tree->thread[i] != tree->thread[last_op] ||
		    is_interrupted(&f, run, tree->start_ns[i])) {
			run = &f.spans[f.n++];
			*run = (struct phase_span){tree->start_ns[i], tree->end_ns[i], step,
			                           (uint8_t)(RANK_OF_CLOSURE - 1 - phase)};
		} else {
			while (++last_op < i)
				if (tree->end_ns[last_op] <= tree->start_ns[i] &&
				    ops->phase[last_op] == WS_PHASE_OTHER)
					ops->phase[last_op] = phase;
			run->end_ns = tree->end_ns[i] > run->end_ns ? tree->end_ns[i] : run->end_ns;
		}
		last_op = i;
	}

	/* Ranges that are the outermost of a phase in their step. */
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range r = *ws_joined_rows_range(rows, i), *parent;
		const uint32_t step = step_of_range(&f, &r);

		if (step == WS_NONE || r.context->phase == WS_PHASE_OTHER)
			continue;
		parent = ws_joined_rows_range(rows, r.parent);
		if (!parent || parent->context->phase != r.context->phase ||
		    step_of_range(&f, parent) != step)
			f.spans[f.n++] = (struct phase_span){r.start_ns, r.end_ns, step,
			                                     is_closure(&f, &r) ? RANK_OF_CLOSURE
			                                                        : r.context->phase};
	}
	for (size_t i = 0; i < m->nevaluations; i++)
		f.spans[f.n++] =
		        (struct phase_span){m->evaluations[i].start_ns, m->evaluations[i].end_ns,
		                            m->evaluations[i].step,
		                            RANK_OF_CLOSURE - 1 - WS_PHASE_EVALUATION};
	ws_sort(f.spans, f.n, sizeof(*f.spans), by_step);
	for (size_t i = 0, next; i < f.n; i = next) {
		for (next = i + 1; next < f.n && f.spans[next].step == f.spans[i].step;)
			next++;
		/* Each moment counts once, so the phases never exceed the step. All spans are
		 * inside the step. */
		struct ws_model_step *step = &m->steps[f.spans[i].step];
		int64_t end_ns = step->start_ns + step->total_ns, covered_ns = 0;

		memset(step->phase_ns, 0, sizeof(step->phase_ns));
		for (int rank = 0; rank < RANKS; rank++) {
			enum ws_phase phase = phase_of_rank(rank);
			struct ws_union all = {0};

			for (size_t k = i; k < next; k++) {
				const struct phase_span *s = &f.spans[k];
				int64_t from =
				        s->start_ns > step->start_ns ? s->start_ns : step->start_ns;
				int64_t to = s->end_ns < end_ns ? s->end_ns : end_ns;

				if (s->rank == rank)
					step->phases |= (uint8_t)(1u << phase);
				if (s->rank <= rank && to > from)
					ws_union_add(&all, from, to);
			}
			step->phase_ns[phase] += all.busy_ns - covered_ns;
			covered_ns = all.busy_ns;
		}
		step->phase_ns[WS_PHASE_OTHER] = step->total_ns - covered_ns;
	}
	ws_arena_free(&f.temp);
}

/* --- results that need all rows
 * ---------------------------------------------------------------- */

static uint32_t device_of_kernel(const void *ctx, const void *row)
{
	const struct ws_joined_kernel *kernel = row;
	const struct ws_model *m = ctx;

	return m->configs[kernel->kind->config].device;
}

/* Finds the innermost range around moments, which come in order of time. */
struct range_finder {
	struct ws_joined_rows *rows;
	uint32_t *innermost, begun; /* per thread, at the time of the last moment */
};

static void find_ranges_begin(struct range_finder *f, struct ws_joined_rows *rows,
                              const struct ws_model *m, struct ws_arena *temp)
{
	*f = (struct range_finder){.rows = rows};
	WS_NEW(temp, f->innermost, m->nthreads);
	memset(f->innermost, 0xff, m->nthreads * sizeof(*f->innermost));
}

static uint32_t find_range(struct range_finder *f, uint32_t thread, int64_t time_ns)
{
	const struct ws_joined_range *r;

	for (; f->begun < f->rows->nranges &&
	       (r = ws_joined_rows_range(f->rows, f->begun))->start_ns <= time_ns;
	     f->begun++)
		f->innermost[r->context->thread] = f->begun;
	if (thread == WS_NONE)
		return WS_NONE;
	uint32_t *in = &f->innermost[thread];
	while ((r = ws_joined_rows_range(f->rows, *in)) && r->end_ns < time_ns)
		*in = r->parent;
	return *in;
}

static void join_kernels(void *ctx, struct ws_model *m)
{
	struct reading *reading = ctx;
	struct ws_kernel_join *j = &reading->join;
	struct ws_joined_rows *rows = reading->rows;
	struct ws_arena temp = {0};
	struct range_finder finder;

	rows->step_of = ws_xmalloc((rows->nsteps_of + 1) * sizeof(*rows->step_of));
	memset(rows->step_of, 0xff, (rows->nsteps_of + 1) * sizeof(*rows->step_of));
	for (size_t i = 0; i < m->nsteps; i++) {
		if (m->steps[i].range == WS_NONE)
			continue;
		rows->step_of[m->steps[i].range] = (uint32_t)i;
		m->steps[i].range = rows->range_of[m->steps[i].range];
	}
	ws_batches_find_flops(rows, m);
	if (ws_framework_is_in(reading->r) || m->step_mark)
		ws_framework_find_phases(rows, m);
	/* the range and operation around each memory event, which are in order of time */
	find_ranges_begin(&finder, rows, m, &temp);
	for (size_t i = 0; i < m->nmemory; i++) {
		struct ws_memory_event *e = &m->memory[i];

		e->cpu_op = ws_cpu_op_around(&m->cpu_ops.tree, e->thread, e->time_ns, e->time_ns);
		e->range = find_range(&finder, e->thread, e->time_ns);
	}
	ws_arena_free(&temp);
	/* … and each captured node of a graph */
	if (m->ngraph_nodes) {
		find_ranges_begin(&finder, rows, m, &temp);
		uint32_t *order = ws_arena_array(&temp, m->ngraph_nodes, sizeof(*order));
		int64_t *time_ns = ws_arena_array(&temp, m->ngraph_nodes, sizeof(*time_ns));
		for (size_t i = 0; i < m->ngraph_nodes; i++)
			time_ns[i] = m->graph_nodes[i].time_ns;
		ws_order_identity(order, m->ngraph_nodes);
		ws_order_by(order, time_ns, m->ngraph_nodes);
		for (size_t i = 0; i < m->ngraph_nodes; i++) {
			struct ws_graph_node *node = &m->graph_nodes[order[i]];

			if (node->captured != order[i])
				continue;
			uint32_t innermost = find_range(&finder, node->thread, node->time_ns);

			/* it belongs to the range and operation in which the program captured it,
			 * by the rules for a launch at that time */
			node->cpu_op = ws_cpu_op_around(&m->cpu_ops.tree, node->thread,
			                                node->time_ns, node->time_ns);
			node->range = innermost != WS_NONE
			                      ? innermost
			                      : inherited_range(&m->cpu_ops, node->cpu_op);
		}
		ws_arena_free(&temp);
		WS_NEW(&m->arena, m->attribution.launched, rows->ncalls);
		memset(m->attribution.launched, 0xff,
		       rows->ncalls * sizeof(*m->attribution.launched));
	}

	/* After all calls and ranges are rows, and steps and the framework's phases are known:
	 * joins the model's copies. */
	j->m = m;
	WS_NEW(&j->temp, j->launched, rows->nranges);
	WS_NEW(&j->temp, j->work_of_step, m->nsteps);
	WS_NEW(&j->temp, j->kernels_of_step, m->nsteps);
	WS_NEW(&j->temp, j->gpu_ns_of_step, m->nsteps);
	m->leftovers.ops_without_kernel = j->counted_ops;
	ws_launches_of_rows(&j->launches, rows, m);
	j->judge.rows = rows;
	j->judge.m = m;
	j->judge.forget_time = forget_time;
	j->judge.ctx = j;
	ws_judge_begin(&j->judge);
	ws_judge_drop_equal_work(&j->judge);
	for (size_t i = 0; i < m->nwork; i++) {
		struct ws_work *w = &m->work[i];
		const struct ws_joined_call *call;
		const struct ws_joined_range *range;

		w->call = find_call(j, w->process, w->correlation, !w->no_time, w->start_ns);
		call = ws_joined_rows_call(rows, w->call);
		w->range = call ? call->range : WS_NONE;
		w->step = call ? ws_joined_call_step(rows, m, call) : WS_NONE;
		if (w->op == WS_NONE && call)
			w->op = ws_joined_call_op(m, call);
		if (w->range == WS_NONE) {
			w->range = inherited_range(&m->cpu_ops, w->op);
			range = ws_joined_rows_range(rows, w->range);
			w->step = range ? inherited_step(rows, range, w->step) : w->step;
		}
		if (w->range == WS_NONE && call)
			take_range_of_process(j, w->call, &w->range, &w->step);
		range = ws_joined_rows_range(rows, w->range);
		w->scope = (uint8_t)ws_scope_of(m, w->step, range ? range->context->marks : 0);
		const struct ws_graph_node *node =
		        captured_node(j, w->process, w->graph_node, call, w->start_ns);
		if (node) {
			if (node->range != WS_NONE && call)
				list_launched(j, w->call, w->range, node);
			w->is_captured = true;
			w->range = node->range != WS_NONE ? node->range : w->range;
			w->op = node->cpu_op != WS_NONE ? node->cpu_op : w->op;
			range = ws_joined_rows_range(rows, w->range);
		}
		w->path = range ? range->context->path : WS_NONE;
		if (w->step != WS_NONE)
			j->work_of_step[w->step]++;
		ws_judge_work(&j->judge, w);
	}
}

static enum ws_status read_rows(struct reading *reading, const char *name,
                                const struct ws_model_opts *opts, struct ws_err *err)
{
	const struct ws_joined_sink sink = {reading, take_call, take_range, join_kernels,
	                                    take_kernel};
	struct ws_kernel_join *j = &reading->join;
	struct ws_joined_rows *rows = reading->rows;
	struct ws_spill_key device = {.key = device_of_kernel};

	const struct ws_trace_reader *r = reading->r;
	const uint64_t kernels = ws_trace_reader_count(r, WS_KIND_KERNEL),
	               calls = ws_trace_reader_count(r, WS_KIND_API),
	               ranges = ws_pass_most_ranges(r);

	WS_FAIL_IF(kernels >= WS_NONE || calls >= WS_NONE || ranges >= WS_NONE, err, NO_MEMORY,
	           "the trace has more records of one kind than an export handles");
	ws_spill_open(&rows->kernels, kernels * sizeof(struct ws_joined_kernel));
	ws_spill_open(&rows->calls, calls * sizeof(struct ws_joined_call));
	ws_spill_open(&rows->ranges, ranges * sizeof(struct ws_joined_range));
	WS_FORWARD(ws_pass_run(reading->r, name, opts, &sink, reading->m, err));

	/* All kernels are rows: the steps in which recording ended are no measured ones. */
	struct ws_model *m = j->m;

	uint8_t *was_measured = ws_arena_array(&j->temp, m->nsteps, sizeof(*was_measured));
	for (uint32_t s = 0; s < m->nsteps; s++)
		was_measured[s] = ws_step_is_measured(m, s);
	ws_judge_end(&j->judge);
	ws_steps_find_unfinished(m, j->work_of_step);
	for (uint32_t s = 0; s < m->nsteps; s++) {
		if (!was_measured[s] || ws_step_is_measured(m, s))
			continue;
		rows->in_scope[WS_SCOPE_STEPS].kernels -= j->kernels_of_step[s];
		rows->in_scope[WS_SCOPE_STEPS].gpu_ns -= j->gpu_ns_of_step[s];
		rows->in_scope[WS_SCOPE_OUTSIDE].kernels += j->kernels_of_step[s];
		rows->in_scope[WS_SCOPE_OUTSIDE].gpu_ns += j->gpu_ns_of_step[s];
	}
	for (size_t i = 0; i < m->nwork; i++)
		if (m->work[i].scope == WS_SCOPE_STEPS && !ws_step_is_measured(m, m->work[i].step))
			m->work[i].scope = WS_SCOPE_OUTSIDE;
	device.n = m->ndevices;
	device.ctx = m;
	ws_spill_partition(&rows->kernels, sizeof(struct ws_joined_kernel), rows->nkernels,
	                   &device);
	return WS_OK;
}

enum ws_status ws_joined_rows_read(struct ws_joined_rows *rows, const struct ws_trace_reader *r,
                                   const char *name, const struct ws_model_opts *opts,
                                   struct ws_model **m, struct ws_err *err)
{
	struct reading reading = {.rows = rows, .r = r, .m = m, .join = {.rows = rows}};

	*m = NULL;
	rows->calls_by_id = true;
	enum ws_status status = read_rows(&reading, name, opts, err);

	/* All kernels are rows: the steps in which recording ended are no measured ones. */
	ws_launches_free(&reading.join.launches);
	ws_strtab_free(&reading.join.kinds);
	free(reading.join.kind);
	ws_arena_free(&reading.join.temp);
	ws_judge_free(&reading.join.judge);
	return status;
}
