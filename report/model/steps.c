/* Which ranges are steps, and what was done in them. */
#include "report/model/steps.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"

bool ws_step_is_name(const struct ws_model *m, uint32_t name, const char *pattern)
{
	struct ws_bytes wanted = {pattern, pattern ? strlen(pattern) : 0};

	return pattern ? ws_name_matches(wanted, m->texts[name])
	               : name == WS_TEXT_STEP || ws_bytes_begin(m->texts[name], WS_PYTORCH_STEP);
}

enum ws_status ws_step_is_path(const struct ws_model *m, const struct ws_ranges *r, uint32_t path,
                               const char *pattern, uint8_t *is_step, struct ws_err *err)
{
	struct ws_bytes wanted = {pattern, pattern ? strlen(pattern) : 0}, whole;
	char *text;

	*is_step = (uint8_t)ws_step_is_name(m, r->paths[path].name, pattern);
	if (!pattern || *is_step || !strchr(pattern, '/'))
		return WS_OK;
	WS_FORWARD(ws_path_text(r, path, m->texts, &text, &whole.len, err));
	whole.ptr = text;
	*is_step = (uint8_t)ws_name_matches(wanted, whole);
	free(text);
	return WS_OK;
}

/*
 * A step is an outermost range `step` or PyTorch's ProfilerStep#N, or what the
 * user names; it is a warm-up step when it lies in a range `warm-up`. A range `warm-up` with no
 * step inside is a warm-up step. range_step[i] becomes the range that is the step around range i.
 */
static enum ws_status find_step_ranges(struct ws_arena *temp, struct ws_model *m,
                                       const uint8_t *is_step, struct ws_err *err)
{
	const struct ws_ranges *r = &m->ranges;
	uint32_t *warm; /* outermost warm-up around */
	uint32_t *step = m->range_step;
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
		m->nsteps += step[i] == i;
	}
	return WS_OK;
}

static int by_begin(const void *pa, const void *pb)
{
	const struct ws_model_step *a = pa, *b = pb;

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

	if (!ws_bytes_begin(text, WS_PYTORCH_STEP) || text.len == i || text.len > i + 9)
		return index;
	for (; i < text.len; i++) {
		if (p[i] < '0' || p[i] > '9')
			return index;
		number = number * 10 + (uint32_t)(p[i] - '0');
	}
	return number;
}

void ws_steps_sort(struct ws_model *m)
{
	uint32_t count[2] = {0, 0};
	int64_t reach_ns = INT64_MIN;

	if (m->nsteps)
		qsort(m->steps, m->nsteps, sizeof(*m->steps), by_begin);
	for (uint32_t s = 0; s < m->nsteps; s++) {
		struct ws_model_step *step = &m->steps[s];

		step->index = count[step->warm_up]++;
		step->is_pytorch = ws_bytes_begin(m->texts[step->name], WS_PYTORCH_STEP);
		if (step->by_time && step->start_ns + step->total_ns > reach_ns)
			reach_ns = step->start_ns + step->total_ns;
		step->reach_ns = reach_ns;
		step->number = number_of_step(m, step->name, step->index);
		m->nmeasured += (size_t)ws_step_is_measured(m, s);
		step->phase_ns[WS_PHASE_OTHER] = step->total_ns;
		for (int p = 0; p < WS_PHASE_OTHER; p++)
			step->phase_ns[WS_PHASE_OTHER] -= step->phase_ns[p];
	}
}

/* What is known of a step by its range alone. */
static struct ws_model_step step_of(const struct ws_model *m, uint32_t range, int by_time)
{
	const struct ws_ranges *r = &m->ranges;

	return (struct ws_model_step){
	        .range = range,
	        .by_time = by_time,
	        .name = r->recorded[range],
	        .thread = r->thread[range],
	        .start_ns = r->start_ns[range],
	        .total_ns = r->end_ns[range] - r->start_ns[range],
	        .warm_up = (m->range_marks[range] & WS_IN_WARM_UP) != 0,
	        .unfinished = (r->flags[range] & WS_RANGE_OPEN) != 0,
	};
}

bool ws_range_begins_phase(const struct ws_model *m, uint32_t range)
{
	uint32_t parent = m->ranges.parent[range], s = m->range_step[range];

	return s != WS_NONE && m->range_phase[range] != WS_PHASE_OTHER &&
	       (parent == WS_NONE || m->range_step[parent] != s ||
	        m->range_phase[parent] == WS_PHASE_OTHER);
}

/*
 * A range that begins a phase within its step gives the step its time.
 * step_of_range: number in m->steps, which is not sorted yet.
 */
static void add_phase_times(struct ws_model *m, const uint32_t *step_of_range)
{
	const struct ws_ranges *r = &m->ranges;

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t s = m->range_step[i];

		if (!ws_range_begins_phase(m, i))
			continue;
		s = step_of_range[s];
		m->steps[s].phase_ns[m->range_phase[i]] += r->end_ns[i] - r->start_ns[i];
		m->steps[s].phases |= (uint8_t)(1u << m->range_phase[i]);
	}
}

/* is_step: by path. */
static enum ws_status make_steps(struct ws_arena *temp, struct ws_model *m, const uint8_t *is_step,
                                 struct ws_err *err)
{
	const struct ws_ranges *r = &m->ranges;
	uint32_t *step_of_range;
	uint32_t n = 0;

	WS_FORWARD(find_step_ranges(temp, m, is_step, err));
	WS_NEW(&m->arena, m->steps, m->nsteps);
	WS_NEW(temp, step_of_range, r->n);
	WS_FORWARD(ws_arena_check(&m->arena, "the steps", err));
	WS_FORWARD(ws_arena_check(temp, "the steps", err));
	for (uint32_t i = 0; i < r->n; i++) {
		if (m->range_step[i] != i)
			continue;
		step_of_range[i] = n;
		m->steps[n++] = step_of(m, i, is_step[r->path[i]]);
	}
	add_phase_times(m, step_of_range);
	ws_steps_sort(m);
	for (uint32_t s = 0; s < m->nsteps; s++)
		step_of_range[m->steps[s].range] = s;
	for (uint32_t i = 0; i < r->n; i++)
		if (m->range_step[i] != WS_NONE)
			m->range_step[i] = step_of_range[m->range_step[i]];
	return WS_OK;
}

static enum ws_status find_steps(struct ws_model *m, const char *pattern, struct ws_err *err)
{
	struct ws_arena temp = {0};
	enum ws_status status;
	uint8_t *is_step;

	WS_NEW(&temp, is_step, m->ranges.npaths);
	status = ws_arena_check(&temp, "the steps", err);
	for (uint32_t p = 0; p < m->ranges.npaths && status == WS_OK; p++)
		status = ws_step_is_path(m, &m->ranges, p, pattern, &is_step[p], err);
	WS_THEN(status, make_steps(&temp, m, is_step, err));
	ws_arena_free(&temp);
	return status;
}

uint32_t ws_step_holding(const struct ws_model *m, uint32_t process, int64_t start_ns,
                         int64_t end_ns, uint32_t but_thread)
{
	size_t lo = 0, hi = m->nsteps;

	while (lo < hi) { /* the first that begins later */
		size_t mid = lo + (hi - lo) / 2;

		if (m->steps[mid].start_ns <= start_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo-- > 0 && m->steps[lo].reach_ns >= end_ns) {
		const struct ws_model_step *s = &m->steps[lo];

		if (s->by_time && s->start_ns + s->total_ns >= end_ns && s->thread != but_thread &&
		    m->threads[s->thread].process == process)
			return (uint32_t)lo;
	}
	return WS_NONE;
}

/* What its own range says; WS_NONE and *by_time = 1 where that says nothing. */
static uint32_t step_of_range(const struct ws_model *m, uint32_t range, bool *by_time)
{
	*by_time = range == WS_NONE ||
	           (m->range_step[range] == WS_NONE && !(m->range_marks[range] & WS_IN_WARM_UP));
	return range == WS_NONE ? WS_NONE : m->range_step[range];
}

uint32_t ws_step_at(const struct ws_model *m, uint32_t range, uint32_t process, int64_t start_ns,
                    int64_t end_ns)
{
	bool by_time;
	uint32_t step = step_of_range(m, range, &by_time);

	return by_time ? ws_step_holding(m, process, start_ns, end_ns, WS_NONE) : step;
}

uint32_t ws_range_step(const struct ws_model *m, uint32_t range)
{
	const struct ws_ranges *r = &m->ranges;
	uint32_t thread = r->thread[range];
	bool by_time;
	uint32_t step = step_of_range(m, range, &by_time);

	if (!by_time)
		return step;
	/* what has no length and a step that begins then are in no order */
	return ws_step_holding(m, m->threads[thread].process,
	                       r->start_ns[range] - (r->start_ns[range] == r->end_ns[range]),
	                       r->end_ns[range], thread);
}

uint32_t ws_call_step(const struct ws_model *m, uint32_t call)
{
	const struct ws_api *a = &m->api;

	return call == WS_NONE ? WS_NONE
	                       : ws_step_at(m, a->range[call], a->process[call], a->start_ns[call],
	                                    a->end_ns[call]);
}

/* Of the range that device work was launched in, which backward inherits, else of its call. */
static uint32_t launched_step(const struct ws_model *m, uint32_t range, uint32_t call)
{
	bool by_time;
	uint32_t step = step_of_range(m, range, &by_time);

	return by_time ? ws_call_step(m, call) : step;
}

static enum ws_status find_launched_steps(struct ws_model *m, struct ws_err *err)
{
	struct ws_kernels *k = &m->kernels;

	WS_NEW(&m->arena, k->step, k->n);
	WS_FORWARD(ws_arena_check(&m->arena, "the steps of kernels", err));
	for (size_t i = 0; i < k->n; i++)
		k->step[i] = launched_step(m, k->range[i], k->call[i]);
	for (size_t i = 0; i < m->nwork; i++) {
		struct ws_work *w = &m->work[i];

		w->path = w->range == WS_NONE ? WS_NONE : m->ranges.path[w->range];
		w->step = launched_step(m, w->range, w->call);
		w->scope = (uint8_t)ws_scope_of(m, w->step, ws_range_marks(m, w->range));
	}
	return WS_OK;
}

enum ws_scope ws_scope_of(const struct ws_model *m, uint32_t step, uint8_t marks)
{
	const struct ws_model_step *s = step == WS_NONE ? NULL : &m->steps[step];

	if (s && !s->warm_up)
		return s->unfinished ? WS_SCOPE_OUTSIDE : WS_SCOPE_STEPS;
	if (s || marks & WS_IN_WARM_UP)
		return WS_SCOPE_WARM_UP;
	return marks & WS_IN_SETUP ? WS_SCOPE_SETUP : WS_SCOPE_OUTSIDE;
}

enum ws_status ws_steps_find(struct ws_model *m, const char *pattern, struct ws_err *err)
{
	WS_FORWARD(find_steps(m, pattern, err));
	return find_launched_steps(m, err);
}
