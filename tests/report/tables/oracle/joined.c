/*
 * The rows that a pass joins beside those of a loaded trace.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/label.h"
#include "report/pass/pass.h"
#include "tests/report/tables/oracle/compare.h"

/* What a pass tells of each row, beside the arrays of a loaded trace. */
struct told {
	const struct loaded *l;
	const char *where;
	struct ws_joined_call *calls;
	size_t ncalls;
	uint32_t *kernels; /* by device: how many were told */
	struct ws_joined_kernel *of_device[4];
	struct ws_joined_range *ranges;
	size_t nranges;
	uint32_t *number_of; /* number of a told range -> that of the array */
};

static void told_nothing(void *ctx)
{
	struct told *t = ctx;

	t->ncalls = t->nranges = 0;
	memset(t->kernels, 0, 4 * sizeof(*t->kernels));
}

static enum ws_status told_call(void *ctx, const struct ws_joined_call *call, uint32_t *number,
                                struct ws_err *err)
{
	struct told *t = ctx;

	(void)err;
	cr_assert(lt(sz, t->ncalls, t->l->api.n), "%s", t->where);
	*number = (uint32_t)t->ncalls;
	t->calls[t->ncalls++] = *call;
	return WS_OK;
}

static enum ws_status told_kernel(void *ctx, const struct ws_joined_kernel *k, struct ws_err *err)
{
	struct told *t = ctx;
	uint32_t device = t->l->m->configs[k->config].device;

	(void)err;
	cr_assert(lt(u32, device, 4), "%s", t->where);
	cr_assert(lt(sz, t->kernels[device], t->l->kernels.n), "%s", t->where);
	t->of_device[device][t->kernels[device]++] = *k;
	return WS_OK;
}

static enum ws_status told_range(void *ctx, const struct ws_joined_range *range, struct ws_err *err)
{
	struct told *t = ctx;

	(void)err;
	cr_assert(lt(sz, range->number, t->l->ranges.n), "%s", t->where);
	t->ranges[range->number] = *range;
	t->nranges++;
	return WS_OK;
}

/* Steps are numbered otherwise while they come: the same when they begin alike. */
static int same_step(const struct ws_model *passed, uint32_t told, const struct ws_model *m,
                     uint32_t step)
{
	for (size_t i = 0; i < passed->nsteps; i++)
		if (told != WS_NONE && passed->steps[i].range == told)
			return i == step;
	return step == WS_NONE && m->nsteps == passed->nsteps;
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
	       same_step(p, c->step, t->l->m, loaded_call_step(t->l, call)) &&
	       same_text(p, c->name, t->l->m, a->name[call]);
}

static int same_kernel(const struct told *t, const struct ws_joined_kernel *k,
                       const struct ws_model *p, size_t i)
{
	const struct loaded *l = t->l;
	const struct ws_model *m = l->m;
	const struct ws_joined_call *c = k->call == WS_NONE ? NULL : &t->calls[k->call];
	uint32_t call = l->kernels.call[i], range = l->kernels.range[i];

	if (k->timed &&
	    (k->start_ns != l->kernels.start_ns[i] || k->dur_ns != l->kernels.dur_ns[i]))
		return 0;
	if (!c != (call == WS_NONE) || (c && !same_call(t, c, p, call)))
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
	       same_step(p, k->step, m, l->kernels.step[i]);
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
	       same_step(p, told->holder, m, loaded_range_step(l, i)) &&
	       told->start_ns == r->start_ns[i] && told->end_ns == r->end_ns[i] &&
	       told->thread == r->thread[i] && told->depth == r->depth[i] &&
	       told->payload == r->payload[i] && same_text(p, told->name, m, r->name[i]) &&
	       same_text(p, told->recorded, m, r->recorded[i]) &&
	       same_path(p, told->path, m, r->path[i]) && told->phase == l->range_phase[i] &&
	       told->is_open == ((r->flags[i] & LOADED_OPEN) != 0) &&
	       told->is_start_end == ((r->flags[i] & LOADED_START_END) != 0) &&
	       same_step(p, told->step, m, l->range_step[i]);
}

static void compare_told(const struct told *t, const struct ws_model *passed)
{
	const struct loaded *l = t->l;
	const struct ws_model *m = l->m;
	uint32_t at[4] = {0};

	cr_assert(eq(sz, t->nranges, l->ranges.n), "%s", t->where);
	/* loaded ranges stand by thread, then begin */
	for (uint32_t thread = 0, i = 0; thread < m->nthreads; thread++)
		for (size_t n = 0; n < t->nranges; n++)
			if (t->ranges[n].thread == thread)
				t->number_of[n] = i++;
	for (size_t i = 0; i < l->kernels.n; i++) {
		uint32_t device = loaded_kernel_device(l, i);

		cr_assert(lt(u32, at[device], t->kernels[device]), "%s", t->where);
		cr_assert(same_kernel(t, &t->of_device[device][at[device]++], passed, i),
		          "%s: kernel %zu", t->where, i);
	}
	for (size_t n = 0; n < t->nranges; n++)
		cr_assert(same_range(t, &t->ranges[n], passed, t->number_of[n]), "%s: range %u",
		          t->where, t->number_of[n]);
}

unsigned oracle_compare_joined(const struct ws_trace_reader *r, struct loaded *l, const char *where)
{
	uint32_t kernels[4] = {0};
	struct told t = {.l = l, .where = where, .kernels = kernels};
	const struct ws_joined_sink sink = {&t, told_nothing, told_call, told_kernel, told_range};
	struct ws_model *passed = NULL;
	struct ws_digest none;
	const char *declined;
	struct ws_err err;

	t.calls = calloc(l->api.n + 1, sizeof(*t.calls));
	t.ranges = calloc(l->ranges.n + 1, sizeof(*t.ranges));
	t.number_of = calloc(l->ranges.n + 1, sizeof(*t.number_of));
	for (size_t d = 0; d < 4; d++)
		t.of_device[d] = calloc(l->kernels.n + 1, sizeof(*t.of_device[d]));
	cr_assert(eq(int,
	             ws_pass_run(r, where, NULL, WS_SCOPE_ALL, WS_DIGEST_ROWS, &sink, &passed,
	                         &none, &declined, &err),
	             WS_OK),
	          "%s: %s", where, err.text);
	ws_digest_release(&none);
	if (!declined)
		compare_told(&t, passed);
	ws_model_free(passed);
	free(t.calls);
	free(t.ranges);
	free(t.number_of);
	for (size_t d = 0; d < 4; d++)
		free(t.of_device[d]);
	return declined == NULL;
}
