/*
 * What each range is: its phase, operation and class; and what the joins left
 * over.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/interval.h"
#include "report/base/order.h"
#include "report/model/label.h"
#include "report/model/steps.h"

/* PyTorch calls its optimizers' steps Optimizer.step#Adam.step. */
#define PYTORCH_OPTIMIZER "Optimizer.step#"

enum ws_phase ws_label_phase(const struct ws_model *m, uint32_t name)
{
	switch (name) {
	case WS_TEXT_FORWARD:
		return WS_PHASE_FORWARD;
	case WS_TEXT_LOSS:
		return WS_PHASE_LOSS;
	case WS_TEXT_BACKWARD:
		return WS_PHASE_BACKWARD;
	case WS_TEXT_OPTIMIZER:
		return WS_PHASE_OPTIMIZER;
	default:
		return ws_bytes_begin(m->texts[name], PYTORCH_OPTIMIZER) ? WS_PHASE_OPTIMIZER
		                                                         : WS_PHASE_OTHER;
	}
}

uint8_t ws_label_marks(uint32_t name)
{
	switch (name) {
	case WS_TEXT_SETUP:
		return WS_IN_SETUP;
	case WS_TEXT_WARM_UP:
		return WS_IN_WARM_UP;
	case WS_TEXT_ATTENTION:
	case WS_TEXT_SCORES:
	case WS_TEXT_FINAL_MATMUL:
		return WS_IN_ATTENTION;
	case WS_TEXT_COMPUTING_SOFTMAX:
		return WS_IN_ATTENTION | WS_IN_SOFTMAX;
	default:
		return 0;
	}
}

/* A range beats what is in it: an elementwise operation in `computing softmax` is softmax. Scale
 * and mask are told apart wherever the program put them. */
uint32_t ws_label_class(const struct ws_op_facts *op, uint8_t marks)
{
	if (op && (op->kind == WS_TEXT_SCALE || op->kind == WS_TEXT_MASK))
		return op->kind;
	if (marks & WS_IN_SOFTMAX)
		return WS_TEXT_SOFTMAX;
	return op ? op->kind : WS_TEXT_EMPTY;
}

static enum ws_status allocate_labels(struct ws_model *m, struct ws_err *err)
{
	size_t n = m->ranges.n;

	WS_NEW(&m->arena, m->range_step, n);
	WS_NEW(&m->arena, m->range_op, n);
	WS_NEW(&m->arena, m->range_class, n);
	WS_NEW(&m->arena, m->range_phase, n);
	WS_NEW(&m->arena, m->range_marks, n);
	return ws_arena_check(&m->arena, "the labels of ranges", err);
}

/* Parents stand before their children, so what is inherited is there already. */
static void inherit_labels(struct ws_model *m)
{
	const struct ws_ranges *r = &m->ranges;

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t parent = r->parent[i], payload = r->payload[i];
		int root = parent == WS_NONE;
		bool is_op = payload != WS_NONE && m->ops.is_op[payload];

		m->range_phase[i] = root ? WS_PHASE_OTHER : m->range_phase[parent];
		if (m->range_phase[i] == WS_PHASE_OTHER)
			m->range_phase[i] = (uint8_t)ws_label_phase(m, r->name[i]);
		m->range_marks[i] = ws_label_marks(r->name[i]);
		if (!root)
			m->range_marks[i] |= m->range_marks[parent] & WS_MARKS_INHERITED;
		m->range_op[i] = is_op ? i : root ? WS_NONE : m->range_op[parent];
		m->range_class[i] = ws_label_class(ws_range_op(m, i), m->range_marks[i]);

		/* a group of operations: the parts are counted, not the whole again */
		if (is_op) {
			m->range_marks[i] |= WS_OP_COUNTED;
			if (!root && m->range_op[parent] != WS_NONE)
				m->range_marks[m->range_op[parent]] &= (uint8_t)~WS_OP_COUNTED;
		}
	}
}

/* No sum of ours may overflow: not of range times, nor of FLOPs and bytes. */
static enum ws_status check_sums(struct ws_model *m, struct ws_err *err)
{
	const struct ws_ranges *r = &m->ranges;
	int64_t total = 0, flops = 0, bytes = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct ws_op_facts *op = ws_range_op(m, i);
		int64_t more_flops, more_bytes;

		if (__builtin_add_overflow(total, r->end_ns[i] - r->start_ns[i], &total))
			return WS_FAIL(err, CORRUPT, "the ranges' times add up to over 2^63 ns");
		if (!(m->range_marks[i] & WS_OP_COUNTED))
			continue;
		if (__builtin_add_overflow(flops, op->flops > 0 ? op->flops : 0, &more_flops) ||
		    __builtin_add_overflow(bytes, op->bytes > 0 ? op->bytes : 0, &more_bytes)) {
			m->range_marks[i] &= (uint8_t)~WS_OP_COUNTED;
			m->left.ops_too_big++;
			continue;
		}
		flops = more_flops;
		bytes = more_bytes;
	}
	return WS_OK;
}

/* --- phases by a framework's links --------------------------------------------------------- */

/* PyTorch wraps what its autograd runs, the gradients' accumulation too, which has no forward. */
#define PYTORCH_BACKWARD "autograd::engine::evaluate_function: "

/* A span of a step's time. What it takes from others is by rank, 0 first: the program's ranges,
 * then operations, of which a later phase beats an earlier one. */
struct phase_span {
	int64_t start_ns, end_ns;
	uint32_t step;
	uint8_t rank;
};
enum { RANK_OF_OPS = WS_PHASE_OTHER, RANKS = 2 * WS_PHASE_OTHER };

static enum ws_phase phase_of_rank(int rank)
{
	return (enum ws_phase)(rank < RANK_OF_OPS ? rank : RANKS - 1 - rank);
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

/* What the operation itself tells. */
static enum ws_phase phase_of_op(const struct ws_model *m, uint32_t op, int has_backward)
{
	const struct ws_cpu_ops *ops = &m->cpu_ops;
	uint32_t parent = ops->tree.parent[op], range = ops->range[op];
	struct ws_bytes name = m->texts[ops->tree.name[op]];

	if (parent != WS_NONE && ops->phase[parent] != WS_PHASE_OTHER)
		return (enum ws_phase)ops->phase[parent];
	if (range != WS_NONE && m->range_phase[range] != WS_PHASE_OTHER)
		return (enum ws_phase)m->range_phase[range];
	if (ops->forward[op] != WS_NONE || ws_bytes_begin(name, PYTORCH_BACKWARD))
		return WS_PHASE_BACKWARD;
	if (computes_loss(name))
		return WS_PHASE_LOSS;
	return has_backward ? WS_PHASE_FORWARD : ws_label_phase(m, ops->tree.name[op]);
}

struct runs {
	struct ws_model *m;
	const uint8_t *has_backward; /* by operation */
	int64_t *backward;           /* begins of operations that are backward by links, sorted */
	size_t nbackward;
	struct phase_span *spans;
	size_t n;
	struct ws_arena temp;
};

/* Is one of the n ascending times in [from, to)? */
static bool any_within(const int64_t *times, size_t n, int64_t from_ns, int64_t to_ns)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (times[mid] < from_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && times[lo] < to_ns;
}

/*
 * Did the program do something else between two operations of a phase? In backward, which it waits
 * for, the step's own thread begins an operation; in another phase backward begins.
 */
static bool is_interrupted(const struct runs *f, const struct phase_span *run, int64_t until_ns)
{
	const struct ws_ranges *r = &f->m->cpu_ops.tree;
	uint32_t own = f->m->steps[run->step].thread;
	size_t first = r->thread_first[own];

	if (phase_of_rank(run->rank) != WS_PHASE_BACKWARD)
		return any_within(f->backward, f->nbackward, run->end_ns, until_ns);
	return any_within(r->start_ns + first, r->thread_first[own + 1] - first, run->end_ns,
	                  until_ns);
}

static int by_time(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return (a > b) - (a < b);
}

/* Gives the operations their phases, each on its own: parents stand before their children. */
static void label_ops(struct runs *f)
{
	struct ws_cpu_ops *ops = &f->m->cpu_ops;

	for (uint32_t i = 0; i < ops->tree.n; i++) {
		ops->phase[i] = (uint8_t)phase_of_op(f->m, i, f->has_backward[i]);
		if (ops->forward[i] != WS_NONE)
			f->backward[f->nbackward++] = ops->tree.start_ns[i];
	}
	ws_sort(f->backward, f->nbackward, sizeof(*f->backward), by_time);
}

/*
 * A phase lasts on a thread from an operation that tells it to the last such one, if nothing came
 * between. Other operations in it are of the phase, too.
 */
static void find_runs(struct runs *f)
{
	struct ws_model *m = f->m;
	struct ws_cpu_ops *ops = &m->cpu_ops;
	const struct ws_ranges *r = &ops->tree;
	struct phase_span *run = NULL;
	uint32_t last = 0; /* operation of the run */

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t parent = r->parent[i], range = ops->range[i], step;
		uint8_t phase = ops->phase[i];

		if (phase == WS_PHASE_OTHER ||
		    (parent != WS_NONE && ops->phase[parent] != WS_PHASE_OTHER))
			continue;
		step = ws_step_at(m, range, m->threads[r->thread[i]].process, r->start_ns[i],
		                  r->end_ns[i]);
		if (step == WS_NONE ||
		    (range != WS_NONE && m->range_phase[range] != WS_PHASE_OTHER)) {
			run = NULL; /* of no step, or the range's time counts */
			continue;
		}
		if (!run || run->step != step || phase_of_rank(run->rank) != phase ||
		    r->thread[i] != r->thread[last] || is_interrupted(f, run, r->start_ns[i])) {
			run = &f->spans[f->n++];
			*run = (struct phase_span){r->start_ns[i], r->end_ns[i], step,
			                           (uint8_t)(RANKS - 1 - phase)};
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

static enum ws_status add_linked_phases(struct runs *f, struct ws_err *err)
{
	struct ws_model *m = f->m;
	const struct ws_ranges *r = &m->ranges;
	size_t nops = m->cpu_ops.tree.n;

	WS_NEW(&f->temp, f->backward, nops);
	WS_NEW(&f->temp, f->spans, nops + r->n);
	WS_FORWARD(ws_arena_check(&f->temp, "the phases of steps", err));
	label_ops(f);
	find_runs(f);
	for (uint32_t i = 0; i < r->n; i++)
		if (ws_range_begins_phase(m, i))
			f->spans[f->n++] = (struct phase_span){r->start_ns[i], r->end_ns[i],
			                                       m->range_step[i], m->range_phase[i]};
	ws_sort(f->spans, f->n, sizeof(*f->spans), by_step);
	for (size_t i = 0, next; i < f->n; i = next) {
		for (next = i + 1; next < f->n && f->spans[next].step == f->spans[i].step;)
			next++;
		split_step(&m->steps[f->spans[i].step], &f->spans[i], next - i);
	}
	return WS_OK;
}

/* Where a program names no phases, its framework's links from forward to backward tell them. */
static enum ws_status find_linked_phases(struct ws_model *m, struct ws_err *err)
{
	const struct ws_cpu_ops *ops = &m->cpu_ops;
	struct runs f = {.m = m};
	enum ws_status status;
	uint8_t *has_backward;
	size_t links = 0;

	WS_NEW(&f.temp, has_backward, ops->tree.n);
	f.has_backward = has_backward;
	status = ws_arena_check(&f.temp, "the phases of steps", err);
	for (uint32_t i = 0; i < ops->tree.n && status == WS_OK; i++)
		if (ops->forward[i] != WS_NONE) {
			has_backward[ops->forward[i]] = 1;
			links++;
		}
	if (links && status == WS_OK)
		status = add_linked_phases(&f, err);
	ws_arena_free(&f.temp);
	return status;
}

/* --- leftovers --------------------------------------------------------------------------- */

static void count_leftovers(struct ws_model *m)
{
	for (size_t k = 0; k < m->kernels.n; k++) {
		uint32_t r = m->kernels.range[k];
		uint32_t op = r == WS_NONE ? WS_NONE : m->range_op[r];
		int launched = !(m->kernels.flags[k] & WS_KERNEL_NO_LAUNCH);

		m->left.no_launch += !launched;
		m->left.no_range += launched && r == WS_NONE;
		m->left.unknown_class += !ws_kernel_class(m, k);
		m->has_comm |= ws_kernel_class(m, k) == WS_TEXT_COMM;
		if (op != WS_NONE)
			m->range_marks[op] |= WS_OP_LAUNCHED;
	}
	for (uint32_t i = 0; i < m->ranges.n; i++)
		m->left.ops_without_kernel += (m->range_marks[i] & WS_OP_COUNTED) &&
		                              !(m->range_marks[i] & WS_OP_LAUNCHED);
}

enum ws_status ws_model_label(struct ws_model *m, const char *step, struct ws_err *err)
{
	WS_FORWARD(allocate_labels(m, err));
	inherit_labels(m);
	WS_FORWARD(check_sums(m, err));
	WS_FORWARD(ws_steps_find(m, step, err));
	WS_FORWARD(find_linked_phases(m, err));
	count_leftovers(m);
	return WS_OK;
}
