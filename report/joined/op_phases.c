/* Where a program names no phases, its framework's links from forward to backward tell them. */
#include "report/joined/op_phases.h"

#include <string.h>

#include "report/base/interval.h"
#include "report/base/order.h"
#include "report/model/steps.h"

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

static bool computes_loss(struct ws_bytes name)
{
	static const char *const prefixes[] = {"aten::cross_entropy", "aten::binary_cross_entropy",
	                                       "aten::kl_div"};
	static const char end[] = "_loss";

	if (ws_bytes_begin(name, "aten::") && name.len >= strlen(end) &&
	    !memcmp((const char *)name.ptr + name.len - strlen(end), end, strlen(end)))
		return 1;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (ws_bytes_begin(name, prefixes[i]))
			return 1;
	return 0;
}

struct runs {
	struct ws_model *m;
	struct ws_joined_rows *rows;
	uint8_t *has_backward; /* by operation: it or one in it */
	int64_t *backward;     /* begins of operations that are backward by links, sorted */
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

/* An optimizer that runs backward runs forward, too: in its closure. What lies in its range, as
 * calls of modules, is of it. */
static bool is_closure(const struct runs *f, const struct ws_joined_range *range)
{
	const struct ws_joined_range *around = range;

	while ((around = ws_joined_rows_range(f->rows, range->parent)) &&
	       around->context->phase == WS_PHASE_OPTIMIZER)
		range = around;
	return range->context->phase == WS_PHASE_OPTIMIZER &&
	       any_within(f->backward, f->nbackward, range->start_ns, range->end_ns);
}

static bool is_of_module(const struct ws_model *m, const struct ws_joined_range *range)
{
	return range->context->phase == WS_PHASE_OPTIMIZER &&
	       m->ranges.paths[range->context->path].domain == WS_TEXT_MODULE_DOMAIN;
}

/* What the operation itself tells, which lies in the range, NULL = in none. */
static enum ws_phase phase_of_op(const struct runs *f, uint32_t op,
                                 const struct ws_joined_range *range)
{
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
	if (computes_loss(name))
		return WS_PHASE_LOSS;
	if (f->has_backward[op] || (range && is_of_module(m, range)))
		return WS_PHASE_FORWARD;
	return range && range->context->phase != WS_PHASE_OTHER
	               ? (enum ws_phase)range->context->phase
	               : ws_label_phase(m, ops->tree.name[op]);
}

/*
 * Did the program do something else between two operations of a phase? In backward, which it waits
 * for, the step's own thread begins an operation; in another phase backward begins.
 */
static bool is_interrupted(const struct runs *f, const struct phase_span *run, int64_t until_ns)
{
	const struct ws_op_tree *r = &f->m->cpu_ops.tree;
	uint32_t own = f->m->steps[run->step].thread;
	size_t first;

	if (phase_of_rank(run->rank) != WS_PHASE_BACKWARD)
		return any_within(f->backward, f->nbackward, run->end_ns, until_ns);
	if (own >= r->nthreads)
		return false;
	first = r->thread_first[own];
	return any_within(r->start_ns + first, r->thread_first[own + 1] - first, run->end_ns,
	                  until_ns);
}

/* Both are in order of threads and begins; *at goes on. */
static bool is_in_evaluation(const struct runs *f, uint32_t op, size_t *at)
{
	const struct ws_model *m = f->m;
	const struct ws_op_tree *r = &m->cpu_ops.tree;
	const struct ws_evaluation *e;

	while (*at < m->nevaluations &&
	       (m->steps[m->evaluations[*at].step].thread < r->thread[op] ||
	        (m->steps[m->evaluations[*at].step].thread == r->thread[op] &&
	         m->evaluations[*at].end_ns <= r->start_ns[op])))
		++*at;
	e = *at < m->nevaluations ? &m->evaluations[*at] : NULL;
	return e && m->steps[e->step].thread == r->thread[op] && e->start_ns <= r->start_ns[op] &&
	       r->end_ns[op] <= e->end_ns;
}

/* Gives the operations their phases, each on its own: parents stand before their children. */
static void label_ops(struct runs *f)
{
	struct ws_cpu_ops *ops = &f->m->cpu_ops;
	size_t at = 0;

	for (uint32_t i = 0; i < ops->tree.n; i++)
		if (ops->forward[i] != WS_NONE)
			f->backward[f->nbackward++] = ops->tree.start_ns[i];
	ws_sort(f->backward, f->nbackward, sizeof(*f->backward), ws_by_time);
	for (uint32_t i = 0; i < ops->tree.n; i++)
		ops->phase[i] = is_in_evaluation(f, i, &at)
		                        ? WS_PHASE_EVALUATION
		                        : (uint8_t)phase_of_op(f, i,
		                                               ws_joined_rows_range(f->rows,
		                                                                    ops->range[i]));
}

uint32_t ws_step_of_op(const struct ws_model *m, struct ws_joined_rows *rows, uint32_t op)
{
	const struct ws_op_tree *tree = &m->cpu_ops.tree;

	return ws_joined_step_at(rows, m, ws_joined_rows_range(rows, m->cpu_ops.range[op]),
	                         m->threads[tree->thread[op]].process, tree->start_ns[op],
	                         tree->end_ns[op]);
}

/*
 * A phase lasts on a thread from an operation that tells it to the last such one, if nothing came
 * between. Other operations in it are of the phase, too.
 */
static void find_runs(struct runs *f)
{
	struct ws_model *m = f->m;
	struct ws_cpu_ops *ops = &m->cpu_ops;
	const struct ws_op_tree *r = &ops->tree;
	struct phase_span *run = NULL;
	uint32_t last = 0; /* operation of the run */

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t parent = r->parent[i], step;
		uint8_t phase = ops->phase[i];
		const struct ws_joined_range *range;

		if (phase == WS_PHASE_OTHER ||
		    (parent != WS_NONE && ops->phase[parent] != WS_PHASE_OTHER))
			continue;
		range = ws_joined_rows_range(f->rows, ops->range[i]);
		step = ws_step_of_op(m, f->rows, i);
		if (step == WS_NONE || phase == WS_PHASE_EVALUATION ||
		    (range && range->context->phase != WS_PHASE_OTHER &&
		     !(is_closure(f, range) && phase != WS_PHASE_OPTIMIZER))) {
			run = NULL; /* of no step, or the range's or evaluation's time counts */
			continue;
		}
		if (!run || run->step != step || phase_of_rank(run->rank) != phase ||
		    r->thread[i] != r->thread[last] || is_interrupted(f, run, r->start_ns[i])) {
			run = &f->spans[f->n++];
			*run = (struct phase_span){r->start_ns[i], r->end_ns[i], step,
			                           (uint8_t)(RANK_OF_CLOSURE - 1 - phase)};
		} else {
			while (++last < i)
				if (r->end_ns[last] <= r->start_ns[i] &&
				    ops->phase[last] == WS_PHASE_OTHER)
					ops->phase[last] = phase;
			run->end_ns = r->end_ns[i] > run->end_ns ? r->end_ns[i] : run->end_ns;
		}
		last = i;
	}
}

static int by_step(const void *pa, const void *pb)
{
	const struct phase_span *a = pa, *b = pb;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Each moment counts once, so the phases never exceed the step. The spans are all of the step. */
static void split_step(struct ws_model_step *step, const struct phase_span *spans, size_t n)
{
	int64_t end_ns = step->start_ns + step->total_ns, covered_ns = 0;

	memset(step->phase_ns, 0, sizeof(step->phase_ns));
	for (int rank = 0; rank < RANKS; rank++) {
		enum ws_phase phase = phase_of_rank(rank);
		struct ws_union all = {0};

		for (size_t i = 0; i < n; i++) {
			const struct phase_span *s = &spans[i];
			int64_t from = s->start_ns > step->start_ns ? s->start_ns : step->start_ns;
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

/* The step that a range is, or lies in, on their thread. */
static uint32_t step_of_range(const struct runs *f, const struct ws_joined_range *r)
{
	uint32_t step = ws_joined_range_step(f->rows, r);

	if (step == WS_NONE && f->m->step_mark)
		step = ws_step_holding(f->m, r->context->process, r->start_ns, r->end_ns, WS_NONE);
	return step != WS_NONE && f->m->steps[step].thread == r->context->thread ? step : WS_NONE;
}

/* Ranges that are the outermost of a phase in their step. */
static void add_ranges(struct runs *f)
{
	for (uint32_t i = 0; i < f->rows->nranges; i++) {
		const struct ws_joined_range r = *ws_joined_rows_range(f->rows, i), *parent;
		const uint32_t step = step_of_range(f, &r);

		if (step == WS_NONE || r.context->phase == WS_PHASE_OTHER)
			continue;
		parent = ws_joined_rows_range(f->rows, r.parent);
		if (!parent || parent->context->phase != r.context->phase ||
		    step_of_range(f, parent) != step)
			f->spans[f->n++] =
			        (struct phase_span){r.start_ns, r.end_ns, step,
			                            is_closure(f, &r) ? RANK_OF_CLOSURE
			                                              : r.context->phase};
	}
}

static void add_phases(struct runs *f, bool has_links)
{
	struct ws_model *m = f->m;
	size_t nops = m->cpu_ops.tree.n;

	WS_NEW(&f->temp, f->backward, nops);
	WS_NEW(&f->temp, f->spans, nops + f->rows->nranges + m->nevaluations);
	if (has_links) {
		label_ops(f);
		find_runs(f);
	}
	add_ranges(f);
	for (size_t i = 0; i < m->nevaluations; i++)
		f->spans[f->n++] =
		        (struct phase_span){m->evaluations[i].start_ns, m->evaluations[i].end_ns,
		                            m->evaluations[i].step,
		                            RANK_OF_CLOSURE - 1 - WS_PHASE_EVALUATION};
	ws_sort(f->spans, f->n, sizeof(*f->spans), by_step);
	for (size_t i = 0, next; i < f->n; i = next) {
		for (next = i + 1; next < f->n && f->spans[next].step == f->spans[i].step;)
			next++;
		split_step(&m->steps[f->spans[i].step], &f->spans[i], next - i);
	}
}

void ws_framework_find_phases(struct ws_joined_rows *rows, struct ws_model *m)
{
	const struct ws_cpu_ops *ops = &m->cpu_ops;
	struct runs f = {.m = m, .rows = rows};
	size_t links = 0;

	WS_NEW(&f.temp, f.has_backward, ops->tree.n);
	for (uint32_t i = 0; i < ops->tree.n; i++)
		if (ops->forward[i] != WS_NONE) {
			f.has_backward[ops->forward[i]] = 1;
			links++;
		}
	for (uint32_t i = (uint32_t)ops->tree.n; i-- > 0;)
		if (f.has_backward[i] && ops->tree.parent[i] != WS_NONE)
			f.has_backward[ops->tree.parent[i]] = 1;
	/* what lies in no range of a step was not told it as it ended */
	if (links || m->step_mark)
		add_phases(&f, links > 0);
	ws_arena_free(&f.temp);
}
