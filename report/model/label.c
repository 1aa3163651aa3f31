/*
 * What each range is: its phase, step, operation and class; and what the
 * joins left over.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"
#include "report/model/label.h"

static enum ws_status no_memory(struct ws_err *err, size_t n)
{
	return WS_FAIL(err, NO_MEMORY, "no memory to label %zu ranges", n);
}

static int begins_with(struct ws_bytes name, const char *prefix)
{
	return name.len >= strlen(prefix) && !memcmp(name.ptr, prefix, strlen(prefix));
}

/* PyTorch calls its optimizers' steps Optimizer.step#Adam.step. */
#define PYTORCH_OPTIMIZER "Optimizer.step#"

enum ws_status ws_label_is_step(const struct ws_model *m, const struct ws_ranges *r, uint32_t path,
                                const char *pattern, uint8_t *is_step, struct ws_err *err)
{
	struct ws_bytes wanted = {pattern, pattern ? strlen(pattern) : 0}, whole;
	uint32_t name = r->paths[path].name;
	char *text;

	*is_step = pattern ? ws_name_matches(wanted, m->texts[name])
	                   : name == WS_TEXT_STEP || begins_with(m->texts[name], WS_PYTORCH_STEP);
	if (!pattern || *is_step || !strchr(pattern, '/'))
		return WS_OK;
	WS_FORWARD(ws_path_text(r, path, m->texts, &text, &whole.len, err));
	whole.ptr = text;
	*is_step = (uint8_t)ws_name_matches(wanted, whole);
	free(text);
	return WS_OK;
}

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
		return begins_with(m->texts[name], PYTORCH_OPTIMIZER) ? WS_PHASE_OPTIMIZER
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
uint32_t ws_label_class(const struct ws_op *op, uint8_t marks)
{
	if (op && (op->kind == WS_TEXT_SCALE || op->kind == WS_TEXT_MASK))
		return op->kind;
	if (marks & WS_IN_SOFTMAX)
		return WS_TEXT_SOFTMAX;
	return op ? op->kind : WS_TEXT_EMPTY;
}

static enum ws_status allocate_labels(struct ws_model *m, struct ws_err *err)
{
	size_t n = m->ranges.n ? m->ranges.n : 1;

	m->range_step = calloc(n, sizeof(*m->range_step));
	m->range_op = calloc(n, sizeof(*m->range_op));
	m->range_class = calloc(n, sizeof(*m->range_class));
	m->range_phase = calloc(n, sizeof(*m->range_phase));
	m->range_marks = calloc(n, sizeof(*m->range_marks));
	if (!m->range_step || !m->range_op || !m->range_class || !m->range_phase || !m->range_marks)
		return no_memory(err, n);
	return WS_OK;
}

/* Parents stand before their children, so what is inherited is there already. */
static void inherit_labels(struct ws_model *m)
{
	const struct ws_ranges *r = &m->ranges;

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t parent = r->parent[i], payload = r->payload[i];
		int root = parent == WS_NONE;
		int is_op = payload != WS_NONE && m->ops.is_op[payload];

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
		const struct ws_op *op = ws_range_op(m, i);
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

/* --- steps ------------------------------------------------------------------------------- */

/*
 * A step is an outermost range `step` or PyTorch's ProfilerStep#N, or what the
 * user names; it is a warm-up step when it lies in a range `warm-up`. A range `warm-up` with no
 * step inside is a warm-up step. range_step[i] becomes the range that is the step around range i.
 */
static enum ws_status find_step_ranges(struct ws_model *m, const char *pattern, struct ws_err *err)
{
	const struct ws_ranges *r = &m->ranges;
	uint32_t *warm = calloc(r->n ? r->n : 1, sizeof(*warm)); /* outermost warm-up around */
	uint8_t *has_step = calloc(r->n ? r->n : 1, 1);
	uint8_t *is_step = calloc(r->npaths + 1, 1);
	uint32_t *step = m->range_step;
	enum ws_status status = warm && has_step && is_step ? WS_OK : no_memory(err, r->n);

	for (uint32_t p = 0; p < r->npaths && status == WS_OK; p++)
		status = ws_label_is_step(m, r, p, pattern, &is_step[p], err);
	if (status != WS_OK) {
		free(warm);
		free(has_step);
		free(is_step);
		return status;
	}
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t parent = r->parent[i];

		warm[i] = parent == WS_NONE ? WS_NONE : warm[parent];
		step[i] = parent == WS_NONE ? WS_NONE : step[parent];
		if (warm[i] == WS_NONE && r->name[i] == WS_TEXT_WARM_UP)
			warm[i] = i;
		if (step[i] == WS_NONE && is_step[r->path[i]]) {
			step[i] = i;
			if (warm[i] != WS_NONE)
				has_step[warm[i]] = 1;
		}
	}
	for (uint32_t i = 0; i < r->n; i++) {
		if (step[i] == WS_NONE && warm[i] != WS_NONE && !has_step[warm[i]])
			step[i] = warm[i];
		m->nsteps += step[i] == i;
	}
	free(warm);
	free(has_step);
	free(is_step);
	return WS_OK;
}

static int by_begin(const void *pa, const void *pb)
{
	const struct ws_step *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->range < b->range ? -1 : a->range > b->range;
}

/* 5 of ProfilerStep#5; a step without a number in its name has its index. */
static uint32_t number_of_step(const struct ws_model *m, uint32_t name, uint32_t index)
{
	struct ws_bytes text = m->texts[name];
	const char *p = text.ptr;
	size_t i = strlen(WS_PYTORCH_STEP);
	uint32_t number = 0;

	if (!begins_with(text, WS_PYTORCH_STEP) || text.len == i || text.len > i + 9)
		return index;
	for (; i < text.len; i++) {
		if (p[i] < '0' || p[i] > '9')
			return index;
		number = number * 10 + (uint32_t)(p[i] - '0');
	}
	return number;
}

void ws_label_steps(struct ws_model *m)
{
	uint32_t count[2] = {0, 0};

	if (m->nsteps)
		qsort(m->steps, m->nsteps, sizeof(*m->steps), by_begin);
	for (uint32_t s = 0; s < m->nsteps; s++) {
		struct ws_step *step = &m->steps[s];

		step->index = count[step->warm_up]++;
		step->by_time = begins_with(m->texts[step->name], WS_PYTORCH_STEP);
		step->number = number_of_step(m, step->name, step->index);
		m->nmeasured += (size_t)ws_step_is_measured(m, s);
		step->phase_ns[WS_PHASE_OTHER] = step->total_ns;
		for (int p = 0; p < WS_PHASE_OTHER; p++)
			step->phase_ns[WS_PHASE_OTHER] -= step->phase_ns[p];
	}
}

/* What is known of a step by its range alone. */
static struct ws_step step_of(const struct ws_model *m, uint32_t range)
{
	const struct ws_ranges *r = &m->ranges;

	return (struct ws_step){
	        .range = range,
	        .name = r->recorded[range],
	        .thread = r->thread[range],
	        .start_ns = r->start_ns[range],
	        .total_ns = r->end_ns[range] - r->start_ns[range],
	        .warm_up = (m->range_marks[range] & WS_IN_WARM_UP) != 0,
	        .unfinished = (r->flags[range] & WS_RANGE_OPEN) != 0,
	};
}

/*
 * A range that begins a phase within its step gives the step its time.
 * step_of_range: number in m->steps, which is not sorted yet.
 */
static void add_phase_times(struct ws_model *m, const uint32_t *step_of_range)
{
	const struct ws_ranges *r = &m->ranges;

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t parent = r->parent[i], s = m->range_step[i];

		if (s == WS_NONE || m->range_phase[i] == WS_PHASE_OTHER)
			continue;
		if (parent != WS_NONE && m->range_step[parent] == s &&
		    m->range_phase[parent] != WS_PHASE_OTHER)
			continue;
		s = step_of_range[s];
		m->steps[s].phase_ns[m->range_phase[i]] += r->end_ns[i] - r->start_ns[i];
		m->steps[s].phases |= (uint8_t)(1u << m->range_phase[i]);
	}
}

static enum ws_status find_steps(struct ws_model *m, const char *pattern, struct ws_err *err)
{
	const struct ws_ranges *r = &m->ranges;
	uint32_t *step_of_range;
	uint32_t n = 0;

	WS_FORWARD(find_step_ranges(m, pattern, err));
	m->steps = calloc(m->nsteps ? m->nsteps : 1, sizeof(*m->steps));
	step_of_range = calloc(r->n ? r->n : 1, sizeof(*step_of_range));
	if (!m->steps || !step_of_range) {
		free(step_of_range);
		return no_memory(err, r->n);
	}
	for (uint32_t i = 0; i < r->n; i++) {
		if (m->range_step[i] != i)
			continue;
		step_of_range[i] = n;
		m->steps[n++] = step_of(m, i);
	}
	add_phase_times(m, step_of_range);
	ws_label_steps(m);
	for (uint32_t s = 0; s < m->nsteps; s++)
		step_of_range[m->steps[s].range] = s;
	for (uint32_t i = 0; i < r->n; i++)
		if (m->range_step[i] != WS_NONE)
			m->range_step[i] = step_of_range[m->range_step[i]];
	free(step_of_range);
	return WS_OK;
}

/* The step by time that holds the call, of a process whose steps are `by_time`; WS_NONE. */
static uint32_t step_by_time(const struct ws_model *m, uint32_t call)
{
	size_t lo = 0, hi = m->nsteps;
	const struct ws_ranges *r = &m->ranges;
	uint32_t range;

	/* the last step that begins no later */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->start_ns[m->steps[mid].range] <= m->api.start_ns[call])
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || !m->steps[lo - 1].by_time)
		return WS_NONE;
	range = m->steps[lo - 1].range;
	return r->end_ns[range] >= m->api.end_ns[call] &&
	                       m->threads[r->thread[range]].process == m->api.process[call]
	               ? (uint32_t)(lo - 1)
	               : WS_NONE;
}

/* Of the range that launched it; PyTorch's steps also hold what other threads launched, because
 * backward runs on one. */
static enum ws_status find_kernel_steps(struct ws_model *m, struct ws_err *err)
{
	struct ws_kernels *k = &m->kernels;

	k->step = calloc(k->n ? k->n : 1, sizeof(*k->step));
	if (!k->step)
		return WS_FAIL(err, NO_MEMORY, "no memory for the steps of %zu kernels", k->n);
	for (size_t i = 0; i < k->n; i++) {
		k->step[i] = k->range[i] == WS_NONE ? WS_NONE : m->range_step[k->range[i]];
		if (k->step[i] == WS_NONE && k->call[i] != WS_NONE)
			k->step[i] = step_by_time(m, k->call[i]);
	}
	return WS_OK;
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
	WS_FORWARD(find_steps(m, step, err));
	WS_FORWARD(find_kernel_steps(m, err));
	count_leftovers(m);
	return WS_OK;
}
