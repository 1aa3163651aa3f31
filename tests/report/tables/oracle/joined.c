/*
 * The rows that a pass joins beside those of a loaded trace.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/label.h"
#include "tests/report/tables/oracle/compare.h"

/* The rows of a pass, beside the arrays of a loaded trace. */
struct told {
	const struct loaded *l;
	const char *where;
	struct ws_joined_rows rows;
	uint32_t *number_of; /* number of a range -> that of the array */
};

static bool same_step(const struct told *t, uint32_t told, uint32_t step)
{
	return ws_joined_rows_step(&t->rows, told) == step;
}

static int same_text(const struct ws_model *a, uint32_t x, const struct ws_model *b, uint32_t y)
{
	return a->texts[x].len == b->texts[y].len &&
	       !memcmp(a->texts[x].ptr, b->texts[y].ptr, a->texts[x].len);
}

static int same_path(const struct ws_model *a, uint32_t x, const struct ws_model *b, uint32_t y)
{
	while (x != WS_NONE && y != WS_NONE) {
		const struct ws_path *p = &a->ranges.paths[x], *q = &b->ranges.paths[y];

		if (!same_text(a, p->name, b, q->name) || !same_text(a, p->domain, b, q->domain))
			return 0;
		x = p->parent;
		y = q->parent;
	}
	return x == y;
}

/* number: of a told range, WS_NONE. */
static int same_number(const struct told *t, uint32_t number, uint32_t of_model)
{
	return number == WS_NONE ? of_model == WS_NONE : t->number_of[number] == of_model;
}

static int same_call(const struct told *t, const struct ws_joined_call *c, const struct ws_model *p,
                     uint32_t call)
{
	const struct loaded_api *a = &t->l->api;

	return c->start_ns == a->start_ns[call] && c->start_ns + c->dur_ns == a->end_ns[call] &&
	       c->thread == a->thread[call] && c->failed == a->failed[call] &&
	       c->marks == (loaded_range_marks(t->l, a->range[call]) & WS_MARKS_INHERITED) &&
	       same_number(t, c->range, a->range[call]) &&
	       same_step(t, c->step, loaded_call_step(t->l, call)) && c->cpu_op == a->op[call] &&
	       same_text(p, c->name, t->l->m, a->name[call]);
}

/* The ranges that cross a call, which lie on one thread: in both from its last on. */
static int same_crossings(const struct told *t, const struct ws_model *p, uint32_t told,
                          uint32_t of_model)
{
	const struct ws_crossing *x = p->attribution.crossings, *y = t->l->attribution.crossings;

	for (; told != WS_NONE && of_model != WS_NONE;
	     told = x[told].next, of_model = y[of_model].next)
		if (!same_number(t, x[told].range, y[of_model].range))
			return 0;
	return told == of_model;
}

static int same_kernel(struct told *t, const struct ws_joined_kernel *k, const struct ws_model *p,
                       size_t i)
{
	const struct loaded *l = t->l;
	const struct ws_model *m = l->m;
	const struct ws_joined_call *c = ws_joined_rows_call(&t->rows, k->call);
	uint32_t call = l->kernels.call[i], range = l->kernels.range[i];

	if (k->timed &&
	    (k->start_ns != l->kernels.start_ns[i] || k->dur_ns != l->kernels.dur_ns[i]))
		return 0;
	if (!c != (call == WS_NONE) || (c && !same_call(t, c, p, call)))
		return 0;
	if (!same_crossings(t, p, k->crossing,
	                    l->kernels.crossing ? l->kernels.crossing[i] : WS_NONE))
		return 0;
	return k->timed == !(l->kernels.flags[i] & WS_KERNEL_NO_TIME) &&
	       k->cut_off == ((l->kernels.flags[i] & WS_KERNEL_CUT_OFF) != 0) &&
	       same_number(t, k->range, range) &&
	       same_number(t, k->op_range, range == WS_NONE ? WS_NONE : l->range_op[range]) &&
	       k->marks == (loaded_range_marks(l, range) & WS_MARKS_INHERITED) &&
	       k->config == l->kernels.config[i] && k->phase == loaded_kernel_phase(l, i) &&
	       same_path(p, k->path, m, range == WS_NONE ? WS_NONE : l->ranges.path[range]) &&
	       same_text(p, k->class, m, loaded_kernel_class(l, i)) &&
	       same_text(p, k->direction, m, loaded_kernel_direction(l, i)) &&
	       same_text(p, k->dtype, m, loaded_kernel_dtype(l, i)) &&
	       k->cpu_op == l->kernels.op[i] &&
	       k->collective == (l->kernels.collective ? l->kernels.collective[i] : WS_NONE) &&
	       same_step(t, k->step, l->kernels.step[i]);
}

static int same_range(const struct told *t, const struct ws_joined_range *told,
                      const struct ws_model *p, uint32_t i)
{
	const struct loaded *l = t->l;
	const struct ws_model *m = l->m;
	const struct loaded_ranges *r = &l->ranges;
	const uint32_t op = l->range_op[i];

	return same_number(t, told->parent, r->parent[i]) && same_number(t, told->op_range, op) &&
	       told->op_payload == (op == WS_NONE ? WS_NONE : r->payload[op]) &&
	       same_text(p, told->class, m, l->range_class[i]) &&
	       told->marks == (l->range_marks[i] & ~LOADED_OP_LAUNCHED) &&
	       same_step(t, told->holder, loaded_range_step(l, i)) &&
	       told->start_ns == r->start_ns[i] && told->end_ns == r->end_ns[i] &&
	       told->thread == r->thread[i] && told->depth == r->depth[i] &&
	       told->payload == r->payload[i] && same_text(p, told->name, m, r->name[i]) &&
	       same_text(p, told->recorded, m, r->recorded[i]) &&
	       same_path(p, told->path, m, r->path[i]) && told->phase == l->range_phase[i] &&
	       told->is_open == ((r->flags[i] & LOADED_OPEN) != 0) &&
	       told->is_start_end == ((r->flags[i] & LOADED_START_END) != 0) &&
	       same_step(t, told->step, l->range_step[i]);
}

/* Framework operations, and what a model has besides rows that names ranges. */
static void compare_others(const struct told *t, const struct ws_model *passed)
{
	const struct ws_model *m = t->l->m;

	cr_assert(eq(sz, passed->cpu_ops.tree.n, m->cpu_ops.tree.n), "%s", t->where);
	for (size_t i = 0; i < m->cpu_ops.tree.n; i++) {
		cr_assert(same_number(t, passed->cpu_ops.range[i], m->cpu_ops.range[i]),
		          "%s: operation %zu", t->where, i);
		cr_assert(eq(u8, passed->cpu_ops.phase[i], m->cpu_ops.phase[i]),
		          "%s: operation %zu", t->where, i);
	}
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *a = &passed->work[i], *b = &m->work[i];

		cr_assert(a->op == b->op && same_number(t, a->range, b->range) &&
		                  a->step == b->step && a->scope == b->scope,
		          "%s: copy %zu", t->where, i);
	}
	for (size_t i = 0; i < m->nmemory; i++)
		cr_assert(passed->memory[i].cpu_op == m->memory[i].cpu_op &&
		                  same_number(t, passed->memory[i].range, m->memory[i].range),
		          "%s: allocation %zu", t->where, i);
}

static void compare_told(struct told *t, const struct ws_model *passed)
{
	const struct loaded *l = t->l;

	cr_assert(eq(sz, t->rows.nranges, l->ranges.n), "%s", t->where);
	cr_assert(eq(sz, t->rows.ncalls, l->api.n), "%s", t->where);
	cr_assert(eq(sz, t->rows.nkernels, l->kernels.n), "%s", t->where);
	cr_assert(eq(u64, passed->ranges.open, l->ranges.open), "%s", t->where);
	cr_assert(eq(u64, passed->ranges.cross_thread, l->ranges.cross_thread), "%s", t->where);
	cr_assert(eq(u64, passed->ranges.unmatched_pops, l->ranges.unmatched_pops), "%s", t->where);
	cr_assert(eq(u64, passed->ranges.unmatched_ends, l->ranges.unmatched_ends), "%s", t->where);
	cr_assert(eq(u64, passed->ranges.folded, l->ranges.folded), "%s", t->where);
	/* loaded ranges stand by thread, then begin */
	for (uint32_t thread = 0, i = 0; thread < l->m->nthreads; thread++)
		for (uint32_t n = 0; n < t->rows.nranges; n++)
			if (ws_joined_rows_range(&t->rows, n)->thread == thread)
				t->number_of[n] = i++;
	for (size_t i = 0; i < l->kernels.n; i++)
		cr_assert(same_kernel(t, ws_joined_rows_kernel(&t->rows, i), passed, i),
		          "%s: kernel %zu", t->where, i);
	for (uint32_t i = 0; i < l->api.n; i++)
		cr_assert(same_call(t, ws_joined_rows_call(&t->rows, l->call_row[i]), passed, i),
		          "%s: call %u", t->where, i);
	for (uint32_t n = 0; n < t->rows.nranges; n++)
		cr_assert(same_range(t, ws_joined_rows_range(&t->rows, n), passed, t->number_of[n]),
		          "%s: range %u", t->where, t->number_of[n]);
	compare_others(t, passed);
}

void oracle_compare_joined(const struct ws_trace_reader *r, struct loaded *l, const char *where)
{
	struct told t = {.l = l, .where = where};
	struct ws_model *passed = NULL;
	struct ws_err err;

	t.number_of = calloc(l->ranges.n + 1, sizeof(*t.number_of));
	cr_assert(eq(int, ws_joined_rows_read(&t.rows, r, where, NULL, &passed, &err), WS_OK),
	          "%s: %s", where, err.text);
	compare_told(&t, passed);
	ws_model_free(passed);
	ws_joined_rows_free(&t.rows);
	free(t.number_of);
}
