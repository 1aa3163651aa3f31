/* Which ranges are steps, and what was done in them. */
#include "report/model/steps.h"

#include "tests/report/loaded/private.h"

/*
 * A step is an outermost range `step` or PyTorch's ProfilerStep#N, or what the
 * user names; it is a warm-up step when it lies in a range `warm-up`. A range `warm-up` with no
 * step inside is a warm-up step. range_step[i] becomes the range that is the step around range i.
 */
static enum ws_status find_step_ranges(struct ws_arena *temp, struct loaded *l,
                                       const uint8_t *is_step, struct ws_err *err)
{
	const struct loaded_ranges *r = &l->ranges;
	uint32_t *warm; /* outermost warm-up around */
	uint32_t *step = l->range_step;
	uint8_t *has_step;

	WS_NEW(temp, warm, r->n);
	WS_NEW(temp, has_step, r->n);
	WS_FORWARD(ws_arena_check(temp, "the steps", err));
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
		l->m->nsteps += step[i] == i;
	}
	return WS_OK;
}

/* What is known of a step by its range alone. */
static struct ws_model_step step_of(const struct loaded *l, uint32_t range, int by_time)
{
	const struct loaded_ranges *r = &l->ranges;

	return (struct ws_model_step){
	        .range = range,
	        .by_time = by_time,
	        .name = r->recorded[range],
	        .thread = r->thread[range],
	        .start_ns = r->start_ns[range],
	        .total_ns = r->end_ns[range] - r->start_ns[range],
	        .warm_up = (l->range_marks[range] & WS_IN_WARM_UP) != 0,
	        .unfinished = (r->flags[range] & LOADED_OPEN) != 0,
	};
}

static bool begins_phase(const struct loaded *l, uint32_t range)
{
	uint32_t parent = l->ranges.parent[range], s = l->range_step[range];

	return s != WS_NONE && l->range_phase[range] != WS_PHASE_OTHER &&
	       (parent == WS_NONE || l->range_step[parent] != s ||
	        l->range_phase[parent] == WS_PHASE_OTHER);
}

/*
 * A range that begins a phase within its step gives the step its time.
 * step_of_range: number in l->m->steps, which is not sorted yet.
 */
static void add_phase_times(struct loaded *l, const uint32_t *step_of_range)
{
	const struct loaded_ranges *r = &l->ranges;

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t s = l->range_step[i];

		if (!begins_phase(l, i))
			continue;
		s = step_of_range[s];
		l->m->steps[s].phase_ns[l->range_phase[i]] += r->end_ns[i] - r->start_ns[i];
		l->m->steps[s].phases |= (uint8_t)(1u << l->range_phase[i]);
	}
}

/* is_step: by path. */
static enum ws_status make_steps(struct ws_arena *temp, struct loaded *l, const uint8_t *is_step,
                                 struct ws_err *err)
{
	const struct loaded_ranges *r = &l->ranges;
	uint32_t *step_of_range;
	uint32_t n = 0;

	WS_FORWARD(find_step_ranges(temp, l, is_step, err));
	WS_NEW(&l->m->arena, l->m->steps, l->m->nsteps);
	WS_NEW(temp, step_of_range, r->n);
	WS_FORWARD(ws_arena_check(&l->m->arena, "the steps", err));
	WS_FORWARD(ws_arena_check(temp, "the steps", err));
	for (uint32_t i = 0; i < r->n; i++) {
		if (l->range_step[i] != i)
			continue;
		step_of_range[i] = n;
		l->m->steps[n++] = step_of(l, i, is_step[r->path[i]]);
	}
	add_phase_times(l, step_of_range);
	ws_steps_sort(l->m);
	for (uint32_t s = 0; s < l->m->nsteps; s++)
		step_of_range[l->m->steps[s].range] = s;
	for (uint32_t i = 0; i < r->n; i++)
		if (l->range_step[i] != WS_NONE)
			l->range_step[i] = step_of_range[l->range_step[i]];
	return WS_OK;
}

static enum ws_status find_steps(struct loaded *l, const char *pattern, struct ws_err *err)
{
	struct ws_arena temp = {0};
	enum ws_status status;
	uint8_t *is_step;

	WS_NEW(&temp, is_step, l->ranges.npaths);
	status = ws_arena_check(&temp, "the steps", err);
	for (uint32_t p = 0; p < l->ranges.npaths && status == WS_OK; p++)
		status = ws_step_is_path(l->m, &l->m->ranges, p, pattern, &is_step[p], err);
	WS_THEN(status, make_steps(&temp, l, is_step, err));
	ws_arena_free(&temp);
	return status;
}

/* What its own range says; WS_NONE and *by_time = 1 where that says nothing. */
static uint32_t step_of_range(const struct loaded *l, uint32_t range, bool *by_time)
{
	*by_time = range == WS_NONE ||
	           (l->range_step[range] == WS_NONE && !(l->range_marks[range] & WS_IN_WARM_UP));
	return range == WS_NONE ? WS_NONE : l->range_step[range];
}

static uint32_t step_at(const struct loaded *l, uint32_t range, uint32_t process, int64_t start_ns,
                        int64_t end_ns)
{
	bool by_time;
	uint32_t step = step_of_range(l, range, &by_time);

	return by_time ? ws_step_holding(l->m, process, start_ns, end_ns, WS_NONE) : step;
}

uint32_t loaded_range_step(const struct loaded *l, uint32_t range)
{
	const struct loaded_ranges *r = &l->ranges;
	uint32_t thread = r->thread[range];
	bool by_time;
	uint32_t step = step_of_range(l, range, &by_time);

	if (!by_time)
		return step;
	/* what has no length and a step that begins then are in no order */
	return ws_step_holding(l->m, l->m->threads[thread].process,
	                       r->start_ns[range] - (r->start_ns[range] == r->end_ns[range]),
	                       r->end_ns[range], thread);
}

uint32_t loaded_call_step(const struct loaded *l, uint32_t call)
{
	const struct loaded_api *a = &l->api;

	return call == WS_NONE ? WS_NONE
	                       : step_at(l, a->range[call], a->process[call], a->start_ns[call],
	                                 a->end_ns[call]);
}

/* Of the range that device work was launched in, which backward inherits, else of its call. */
static uint32_t launched_step(const struct loaded *l, uint32_t range, uint32_t call)
{
	bool by_time;
	uint32_t step = step_of_range(l, range, &by_time);

	return by_time ? loaded_call_step(l, call) : step;
}

static enum ws_status find_launched_steps(struct loaded *l, struct ws_err *err)
{
	struct loaded_kernels *k = &l->kernels;

	WS_NEW(&l->arena, k->step, k->n);
	WS_FORWARD(ws_arena_check(&l->arena, "the steps of kernels", err));
	for (size_t i = 0; i < k->n; i++)
		k->step[i] = launched_step(l, k->range[i], k->call[i]);
	for (size_t i = 0; i < l->m->nwork; i++) {
		struct ws_work *w = &l->m->work[i];

		w->path = w->range == WS_NONE ? WS_NONE : l->ranges.path[w->range];
		w->step = launched_step(l, w->range, w->call);
		w->scope = (uint8_t)ws_scope_of(l->m, w->step, loaded_range_marks(l, w->range));
	}
	return WS_OK;
}

enum ws_status loaded_find_steps(struct loaded *l, const char *pattern, struct ws_err *err)
{
	WS_FORWARD(find_steps(l, pattern, err));
	return find_launched_steps(l, err);
}
