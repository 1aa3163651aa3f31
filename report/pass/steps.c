/*
 * Steps as a pass finds them: which ranges are, and what lies in them.
 */
#include "formats/base/grow.h"
#include "report/model/steps.h"
#include "report/pass/private.h"

static void new_step(struct ws_pass *p, uint32_t range, int is_whole_warm_up)
{
	struct ws_open_range *r = &p->live.range[range];

	WS_GROW(p->steps, p->nsteps + 1, p->steps_capacity);
	p->steps[p->nsteps] = (struct ws_pass_step){
	        .step = {.range = (uint32_t)p->nsteps,
	                 .name = r->recorded,
	                 .thread = r->context->thread,
	                 .start_ns = r->start_ns,
	                 .warm_up = (r->context->marks & WS_IN_WARM_UP) != 0},
	        .live = range,
	        .open = 1,
	        .is_whole_warm_up = (uint8_t)is_whole_warm_up,
	};
	p->steps[p->nsteps].step.by_time = !is_whole_warm_up;
	r->step = (uint32_t)p->nsteps++;
}

/*
 * Which step a new range lies in, or is. A step is an outermost range `step`
 * or PyTorch's ProfilerStep#N, or what the user names; it is a warm-up step
 * when it lies in a range `warm-up`. A range `warm-up` with no step inside is
 * a warm-up step.
 */
void ws_pass_begin_step(struct ws_pass *p, uint32_t range)
{
	struct ws_open_range *r = &p->live.range[range];
	uint32_t step = r->step;
	bool in_step = step != WS_NONE && !p->steps[step].is_whole_warm_up;

	if (in_step)
		return;
	if (step == WS_NONE && r->context->name == WS_TEXT_WARM_UP) {
		new_step(p, range, 1);
		return;
	}
	if (!r->context->is_step)
		return;
	if (step != WS_NONE)
		p->steps[step].has_step = 1;
	new_step(p, range, 0);
}

void ws_pass_close_step(struct ws_pass *p, const struct ws_open_range *r, uint32_t range, int open)
{
	struct ws_pass_step *s = &p->steps[r->step];
	const struct ws_open_range *parent =
	        r->parent == WS_NONE ? NULL : &p->live.range[r->parent];
	int64_t dur = r->end_ns - r->start_ns;

	if (r->context->phase != WS_PHASE_OTHER &&
	    !(parent && parent->step == r->step && parent->context->phase != WS_PHASE_OTHER)) {
		s->step.phase_ns[r->context->phase] += dur;
		s->step.phases |= (uint8_t)(1u << r->context->phase);
	}
	if (s->live != range || !s->open)
		return;
	s->open = 0;
	s->step.total_ns = dur;
	s->step.unfinished = open;
}

void ws_pass_end_steps(struct ws_pass *p)
{
	struct ws_model *m = p->m;

	WS_NEW(&m->arena, m->steps, p->nsteps);
	for (size_t i = 0; i < p->nsteps; i++) {
		const struct ws_pass_step *s = &p->steps[i];

		if (!s->is_whole_warm_up || !s->has_step)
			m->steps[m->nsteps++] = s->step;
	}
	ws_steps_sort(m);
}
