/*
 * What each range is: its phase, operation and class; and what the joins left
 * over.
 */
#include <stdlib.h>
#include <string.h>

#include "report/model/label.h"
#include "report/model/steps.h"

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
	WS_FORWARD(ws_steps_find(m, step, err));
	count_leftovers(m);
	return WS_OK;
}
