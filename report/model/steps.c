/* Which ranges are steps, and what was done in them. */
#include "report/model/steps.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "report/base/names.h"

/* Names that are steps in whatever program: of PyTorch's profiler, of servers of language models,
 * of Lightning's profiler. */
static bool is_known_name(struct ws_bytes name)
{
	static const char *const patterns[] = {WS_PYTORCH_STEP "*",
	                                       "[pl][profile]run_training_batch"};

	return WS_NAME_IS_ONE_OF(name, patterns) || ws_name_is_batch(name);
}

bool ws_step_is_name(const struct ws_model *m, uint32_t name, const char *pattern)
{
	struct ws_bytes wanted = {pattern, pattern ? strlen(pattern) : 0};

	return pattern ? ws_name_matches(wanted, m->texts[name])
	               : name == WS_TEXT_STEP || is_known_name(m->texts[name]);
}

void ws_step_is_path(const struct ws_model *m, const struct ws_ranges *r, uint32_t path,
                     const char *pattern, uint8_t *is_step)
{
	struct ws_bytes wanted = {pattern, pattern ? strlen(pattern) : 0}, whole;
	char *text;

	*is_step = (uint8_t)ws_step_is_name(m, r->paths[path].name, pattern);
	if (!pattern || *is_step || !strchr(pattern, '/'))
		return;
	ws_path_text(r, path, m->texts, &text, &whole.len);
	whole.ptr = text;
	*is_step = (uint8_t)ws_name_matches(wanted, whole);
	free(text);
}

static int by_begin(const void *pa, const void *pb)
{
	const struct ws_model_step *a = pa, *b = pb;

	WS_ORDER_BY(a->start_ns, b->start_ns);
	WS_ORDER_BY(a->thread, b->thread);
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

static void count_measured(struct ws_model *m)
{
	m->nmeasured = 0;
	for (uint32_t s = 0; s < m->nsteps; s++)
		m->nmeasured += (size_t)ws_step_is_measured(m, s);
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
		step->phase_ns[WS_PHASE_OTHER] = step->total_ns;
		for (int p = 0; p < WS_PHASE_OTHER; p++)
			step->phase_ns[WS_PHASE_OTHER] -= step->phase_ns[p];
	}
	count_measured(m);
}

/* A step with less than this of the work of each other step is a part of one. */
#define LEAST_OF_A_STEP 0.8

/* Did the step launch a part only of what each other measured step launched? */
static bool is_part(const struct ws_model *m, const uint64_t *work, uint32_t step)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t s = 0; s < m->nsteps; s++)
		if (s != step && ws_step_is_measured(m, s) && work[s] < least)
			least = work[s];
	return least != UINT64_MAX && (double)work[step] < LEAST_OF_A_STEP * (double)least;
}

void ws_steps_find_unfinished(struct ws_model *m, const uint64_t *work)
{
	uint32_t first = WS_NONE, last = WS_NONE; /* with work */

	for (uint32_t s = 0; s < m->nsteps; s++) {
		if (!ws_step_is_measured(m, s) || !work[s])
			continue;
		first = first == WS_NONE ? s : first;
		last = s;
	}
	if (first == WS_NONE)
		return;
	for (uint32_t s = 0; s < m->nsteps; s++)
		if (s < first || s > last)
			m->steps[s].unfinished |= ws_step_is_measured(m, s);
	if (m->steps[last].is_pytorch && is_part(m, work, last))
		m->steps[last].unfinished = true;
	if (m->steps[first].by_marks && is_part(m, work, first))
		m->steps[first].unfinished = true;
	count_measured(m);
}

uint32_t ws_step_holding(const struct ws_model *m, uint32_t process, int64_t start_ns,
                         int64_t end_ns, uint32_t but_thread)
{
	size_t at;

	WS_COUNT_FIRST(at, m->nsteps, m->steps[at].start_ns <= start_ns);
	while (at-- > 0 && m->steps[at].reach_ns >= end_ns) {
		const struct ws_model_step *s = &m->steps[at];

		if (s->by_time && s->start_ns + s->total_ns >= end_ns &&
		    (s->by_marks || s->thread != but_thread) &&
		    m->threads[s->thread].process == process)
			return (uint32_t)at;
	}
	return WS_NONE;
}

enum ws_scope ws_scope_of(const struct ws_model *m, uint32_t step, uint8_t marks)
{
	const struct ws_model_step *s = step == WS_NONE ? NULL : &m->steps[step];

	if (s && !s->warm_up)
		return ws_step_is_left_out(s) ? WS_SCOPE_OUTSIDE : WS_SCOPE_STEPS;
	if (s || marks & WS_IN_WARM_UP)
		return WS_SCOPE_WARM_UP;
	return marks & WS_IN_SETUP ? WS_SCOPE_SETUP : WS_SCOPE_OUTSIDE;
}
