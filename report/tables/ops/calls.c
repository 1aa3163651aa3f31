/* API calls: their own time, and what they take from the operations around them. */
#include "report/tables/ops/ops.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"

/* Of an operation and a range around a call the inner one stands behind the other. */
static uint32_t node_of_call(const struct ws_ops_table *s, const struct ws_joined_call *call)
{
	uint32_t a = ws_ops_node_of(s, ws_joined_call_op(s->tab->m, call), call->range), b;

	if (s->are_ranges)
		return a;
	b = ws_ops_node_of(s, WS_NONE, call->range);
	return a == WS_NONE || (b != WS_NONE && b > a) ? b : a;
}

/* A call that returned, and may yet lie in another. */
struct returned {
	int64_t start_ns, end_ns;
	struct ws_ops_sums *sums;  /* of its name; NULL: it is not in the report */
	struct ws_ops_sums *owner; /* of the operation that it takes its time from; NULL */
};

struct calls {
	struct ws_ops_table *s;
	struct returned_of {
		struct returned *call; /* in the order in which they returned, and began */
		size_t n, capacity;
	} * threads;
};

/* What began before the longest call could have begun lies in none that is still to return. */
static void push(const struct calls *c, struct returned_of *t, struct returned call)
{
	const int64_t longest_ns = c->s->tab->sel->rows->longest_call_ns;
	size_t old = 0;

	if (t->n == t->capacity) {
		while (old < t->n && t->call[old].start_ns < call.end_ns - longest_ns)
			old++;
		t->n -= old;
		if (old)
			memmove(t->call, t->call + old, t->n * sizeof(*t->call));
		WS_GROW(t->call, 2 * t->n + 1, t->capacity);
	}
	t->call[t->n++] = call;
}

/*
 * Calls take their time from the operation around them, but a call inside a
 * call (a driver function in a runtime function) from that call. Of two that
 * begin and return together the first is around the other.
 */
static void share_out(struct calls *c, const struct ws_joined_call *call, bool selected)
{
	struct ws_ops_table *s = c->s;
	struct returned_of *t = &c->threads[call->kind->thread];
	struct returned new = {.start_ns = call->start_ns,
	                       .end_ns = call->start_ns + call->dur_ns,
	                       .sums = selected ? &s->sums[WS_OPS_CALL][call->kind->name] : NULL,
	                       .owner =
	                               ws_ops_sums_of(s, ws_ops_node_at(s, node_of_call(s, call)))};
	int64_t self_ns = call->dur_ns;

	for (; t->n; t->n--) {
		const struct returned *in = &t->call[t->n - 1];

		if (in->start_ns < new.start_ns ||
		    (in->start_ns == new.start_ns && in->end_ns == new.end_ns))
			break;
		self_ns -= in->end_ns - in->start_ns;
		if (in->owner)
			in->owner->self_cpu_ns += in->end_ns - in->start_ns;
	}
	if (new.sums) {
		new.sums->calls++;
		new.sums->flops_unknown = 1;
		new.sums->self_cpu_ns += self_ns;
		new.sums->cpu_ns += call->dur_ns;
	}
	if (t->n && t->call[t->n - 1].end_ns == new.end_ns) {
		if (t->call[t->n - 1].sums)
			t->call[t->n - 1].sums->self_cpu_ns -= call->dur_ns;
		return;
	}
	if (new.owner)
		new.owner->self_cpu_ns -= call->dur_ns;
	push(c, t, new);
}

void ws_ops_share_out_calls(struct ws_ops_table *s)
{
	struct ws_joined_rows *rows = s->tab->sel->rows;
	struct calls c = {.s = s};

	WS_NEW(s->tab->temp, c.threads, s->tab->m->nthreads);
	for (uint32_t i = 0; i < rows->ncalls; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, i);

		share_out(&c, call, ws_call_selected(s->tab->m, s->tab->sel, call, i));
	}
	for (size_t i = 0; i < s->tab->m->nthreads; i++)
		free(c.threads[i].call);
}
