/*
 * What each range is: its phase, operation and class; and what the joins left
 * over.
 */
#include "report/model/label.h"

#include "tests/report/loaded/private.h"

static enum ws_status allocate_labels(struct loaded *l, struct ws_err *err)
{
	size_t n = l->ranges.n;

	WS_NEW(&l->arena, l->range_step, n);
	WS_NEW(&l->arena, l->range_op, n);
	WS_NEW(&l->arena, l->range_class, n);
	WS_NEW(&l->arena, l->range_phase, n);
	WS_NEW(&l->arena, l->range_marks, n);
	return ws_arena_check(&l->arena, "the labels of ranges", err);
}

static const struct ws_op_facts *op_of_range(const struct loaded *l, uint32_t range)
{
	const uint32_t op = l->range_op[range];

	return op == WS_NONE ? NULL : &l->m->ops.op[l->ranges.payload[op]];
}

/* Parents stand before their children, so what is inherited is there already. */
static void inherit_labels(struct loaded *l)
{
	const struct loaded_ranges *r = &l->ranges;

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t parent = r->parent[i], payload = r->payload[i];
		int root = parent == WS_NONE;
		bool is_op = payload != WS_NONE && l->m->ops.is_op[payload];

		l->range_phase[i] = root ? WS_PHASE_OTHER : l->range_phase[parent];
		if (l->range_phase[i] == WS_PHASE_OTHER)
			l->range_phase[i] = (uint8_t)ws_label_phase(l->m, r->name[i]);
		l->range_marks[i] = ws_label_marks(r->name[i]);
		if (!root)
			l->range_marks[i] |= l->range_marks[parent] & WS_MARKS_INHERITED;
		l->range_op[i] = is_op ? i : root ? WS_NONE : l->range_op[parent];
		l->range_class[i] = ws_label_class(op_of_range(l, i), l->range_marks[i]);

		/* a group of operations: the parts are counted, not the whole again */
		if (is_op) {
			l->range_marks[i] |= WS_OP_COUNTED;
			if (!root && l->range_op[parent] != WS_NONE)
				l->range_marks[l->range_op[parent]] &= (uint8_t)~WS_OP_COUNTED;
		}
	}
}

/* No sum of ours may overflow: not of range times, nor of FLOPs and bytes. */
static enum ws_status check_sums(struct loaded *l, struct ws_err *err)
{
	const struct loaded_ranges *r = &l->ranges;
	int64_t total = 0, flops = 0, bytes = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct ws_op_facts *op = op_of_range(l, i);
		int64_t more_flops, more_bytes;

		if (__builtin_add_overflow(total, r->end_ns[i] - r->start_ns[i], &total))
			return WS_FAIL(err, CORRUPT, "the ranges' times add up to over 2^63 ns");
		if (!(l->range_marks[i] & WS_OP_COUNTED))
			continue;
		if (__builtin_add_overflow(flops, op->flops > 0 ? op->flops : 0, &more_flops) ||
		    __builtin_add_overflow(bytes, op->bytes > 0 ? op->bytes : 0, &more_bytes)) {
			l->range_marks[i] &= (uint8_t)~WS_OP_COUNTED;
			l->m->left.ops_too_big++;
			continue;
		}
		flops = more_flops;
		bytes = more_bytes;
	}
	return WS_OK;
}

/* --- leftovers --------------------------------------------------------------------------- */

static void count_leftovers(struct loaded *l)
{
	for (size_t k = 0; k < l->kernels.n; k++) {
		uint32_t r = l->kernels.range[k];
		uint32_t op = r == WS_NONE ? WS_NONE : l->range_op[r];
		int launched = !(l->kernels.flags[k] & LOADED_NO_LAUNCH);

		l->m->left.no_launch += !launched;
		l->m->left.no_range += launched && r == WS_NONE;
		l->m->left.unknown_class += !loaded_kernel_class(l, k);
		l->m->has_comm |= loaded_kernel_class(l, k) == WS_TEXT_COMM;
		if (op != WS_NONE)
			l->range_marks[op] |= LOADED_OP_LAUNCHED;
	}
	for (uint32_t i = 0; i < l->ranges.n; i++)
		l->m->left.ops_without_kernel += (l->range_marks[i] & WS_OP_COUNTED) &&
		                                 !(l->range_marks[i] & LOADED_OP_LAUNCHED);
}

enum ws_status loaded_label(struct loaded *l, const char *step, struct ws_err *err)
{
	WS_FORWARD(allocate_labels(l, err));
	inherit_labels(l);
	WS_FORWARD(check_sums(l, err));
	WS_FORWARD(loaded_find_steps(l, step, err));
	count_leftovers(l);
	return WS_OK;
}
