/*
 * Steps as a pass finds them: which ranges are, and what lies in them.
 */
#include <string.h>

#include "formats/base/grow.h"
#include "report/model/label.h"
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
	const int around =
	        parent && parent->step == r->step ? parent->context->phase : WS_PHASE_OTHER;
	int64_t dur = r->end_ns - r->start_ns;

	if (r->context->phase != WS_PHASE_OTHER && r->context->phase != around) {
		s->step.phase_ns[r->context->phase] += dur;
		if (around != WS_PHASE_OTHER)
			s->step.phase_ns[around] -= dur;
		s->step.phases |= (uint8_t)(1u << r->context->phase);
	}
	if (s->live != range || !s->open)
		return;
	s->open = 0;
	s->step.total_ns = dur;
	s->step.unfinished = open;
}

/* --- iterations that only their optimizer marks ----------------------------------------------- */

void ws_pass_take_iteration_mark(struct ws_pass *p, const struct ws_open_range *r)
{
	const struct ws_bytes name = p->m->texts[r->context->name];

	WS_GROW(p->iteration_marks, p->niteration_marks + 1, p->iteration_marks_capacity);
	p->iteration_marks[p->niteration_marks++] =
	        (struct ws_pass_iteration_mark){.start_ns = r->start_ns,
	                                        .end_ns = r->end_ns,
	                                        .thread = r->context->thread,
	                                        .name = r->context->name,
	                                        .steps = ws_name_is_optimizer_step(name),
	                                        .loads_data = ws_name_loads_data(name)};
}

/* The optimizers' steps of a thread, as they end, and what lies between them. */
struct iterations {
	const struct ws_model *m;
	uint32_t thread;
	const struct ws_pass_iteration_mark **mark, **load;
	uint64_t *ops;    /* operations of the framework since the mark before */
	uint8_t *is_last; /* of its iteration */
	size_t n, nloads;
	int64_t begin_ns; /* of the first mark of any kind, or of the first operation */
	struct ws_arena temp;
};

static size_t ops_begun(const struct ws_op_tree *ops, uint32_t thread, int64_t until_ns)
{
	size_t n, first;

	if (thread >= ops->nthreads)
		return 0;
	first = ops->thread_first[thread];
	WS_COUNT_FIRST(n, ops->thread_first[thread + 1] - first,
	               ops->start_ns[first + n] < until_ns);
	return n;
}

/* Of a thread; of optimizers' steps in each other the outermost, which ends last. */
static void find_marks(struct iterations *it, const struct ws_pass *p)
{
	const struct ws_op_tree *ops = &it->m->cpu_ops.tree;

	it->begin_ns = INT64_MAX;
	if (it->thread < ops->nthreads &&
	    ops->thread_first[it->thread] < ops->thread_first[it->thread + 1])
		it->begin_ns = ops->start_ns[ops->thread_first[it->thread]];
	WS_NEW(&it->temp, it->mark, p->niteration_marks);
	WS_NEW(&it->temp, it->load, p->niteration_marks);
	for (size_t i = 0; i < p->niteration_marks; i++) {
		const struct ws_pass_iteration_mark *mark = &p->iteration_marks[i];

		if (mark->thread != it->thread)
			continue;
		if (mark->start_ns < it->begin_ns)
			it->begin_ns = mark->start_ns;
		if (mark->loads_data)
			it->load[it->nloads++] = mark;
		if (!mark->steps)
			continue;
		while (it->n && it->mark[it->n - 1]->start_ns >= mark->start_ns)
			it->n--;
		it->mark[it->n++] = mark;
	}
	WS_NEW(&it->temp, it->ops, it->n);
	WS_NEW(&it->temp, it->is_last, it->n);
	for (size_t i = 0; i < it->n; i++)
		it->ops[i] = ops_begun(ops, it->thread, it->mark[i]->end_ns) -
		             (i ? ops_begun(ops, it->thread, it->mark[i - 1]->end_ns) : 0);
}

/* How many batches were asked for before a time. */
static size_t loads_before(const struct iterations *it, int64_t time_ns)
{
	size_t n;

	WS_COUNT_FIRST(n, it->nloads, it->load[n]->start_ns < time_ns);
	return n;
}

/* An iteration ends with the last step of an optimizer before the next batch is asked for. Behind the
 * last batch it ends where as many steps were made as in the iteration before. */
static bool end_with_batches(struct iterations *it)
{
	size_t in_iteration = 0, before = 0;
	bool found = false;

	for (size_t i = 0; i < it->n; i++) {
		in_iteration++;
		it->is_last[i] = i + 1 < it->n
		                         ? loads_before(it, it->mark[i]->end_ns) <
		                                   loads_before(it, it->mark[i + 1]->start_ns)
		                         : !before || in_iteration >= before;
		found |= i + 1 < it->n && it->is_last[i];
		if (it->is_last[i]) {
			before = in_iteration;
			in_iteration = 0;
		}
	}
	return found;
}

/* Programs that train several models take turns: their steps are as those a period earlier. Those of
 * two optimizers of one name differ by the operations that lead to them. */
static bool repeats(const struct iterations *it, size_t period, bool by_ops)
{
	size_t same = 0, n = 0;

	for (size_t i = period; i < it->n; i++) {
		const uint64_t a = it->ops[i], b = it->ops[i - period];
		const bool is_start = i < 2 * period && it->n > 2 * period;

		if (by_ops && is_start)
			continue;
		n++;
		same += it->mark[i]->name == it->mark[i - period]->name &&
		        (!by_ops || (a > b ? a - b : b - a) * 20 <= (a > b ? a : b));
	}
	return n && 10 * same >= 9 * n;
}

#define LONGEST_CYCLE 16

static void end_with_cycles(struct iterations *it)
{
	size_t period = 0;

	for (int by_ops = 1; by_ops >= 0 && !period; by_ops--)
		for (size_t c = 1; c <= LONGEST_CYCLE && 2 * c <= it->n && !period; c++)
			if (repeats(it, c, by_ops))
				period = c;
	for (size_t i = 0; i < it->n; i++)
		it->is_last[i] = !period || i % period == period - 1;
}

/* Where the first iteration begins: with its batches, as many as the second has; else with the first
 * that its thread did. */
static int64_t first_begin(const struct iterations *it, size_t first, size_t second)
{
	const size_t before = loads_before(it, it->mark[first]->start_ns),
	             of_second = loads_before(it, it->mark[second]->start_ns) - before;

	if (before && of_second)
		return it->load[before > of_second ? before - of_second : 0]->start_ns;
	return it->begin_ns;
}

/* PyTorch gives no time to a range that was open when it stopped: the last step of an optimizer lasts
 * as long as its thread works. */
static int64_t end_of(const struct iterations *it, size_t i)
{
	const struct ws_op_tree *ops = &it->m->cpu_ops.tree;
	int64_t end_ns = it->mark[i]->end_ns;

	if (i + 1 < it->n || end_ns > it->mark[i]->start_ns || it->thread >= ops->nthreads)
		return end_ns;
	for (size_t k = ops->thread_first[it->thread + 1];
	     k-- > ops->thread_first[it->thread] && ops->start_ns[k] >= it->mark[i]->start_ns;)
		if (ops->end_ns[k] > end_ns)
			end_ns = ops->end_ns[k];
	return end_ns;
}

static void add_iterations(struct iterations *it, struct ws_model *m)
{
	size_t second = SIZE_MAX, first = SIZE_MAX;
	int64_t begin_ns;

	for (size_t i = it->n; i-- > 0;)
		if (it->is_last[i]) {
			second = first;
			first = i;
		}
	if (second == SIZE_MAX)
		return;
	begin_ns = first_begin(it, first, second);
	for (size_t i = 0; i < it->n; i++) {
		if (!it->is_last[i])
			continue;
		m->steps[m->nsteps++] =
		        (struct ws_model_step){.range = WS_NONE,
		                               .name = it->mark[i]->name,
		                               .thread = it->thread,
		                               .start_ns = begin_ns,
		                               .total_ns = end_of(it, i) - begin_ns,
		                               .by_time = true,
		                               .by_marks = true};
		m->step_mark = it->mark[i]->name;
		begin_ns = it->mark[i]->end_ns;
	}
}

static void find_iterations(struct ws_pass *p)
{
	struct ws_model *m = p->m;

	for (uint32_t t = 0; t < m->nthreads; t++) {
		struct iterations it = {.m = m, .thread = t};

		find_marks(&it, p);
		if (it.n > 1) {
			if (!it.nloads || !end_with_batches(&it))
				end_with_cycles(&it);
			add_iterations(&it, m);
		}
		ws_arena_free(&it.temp);
	}
}

static size_t count_warm_up(const struct ws_model *m)
{
	size_t n = 0;

	for (size_t s = 0; s < m->nsteps; s++)
		n += (size_t)(m->steps[s].warm_up != 0);
	return n;
}

/* One batch of a server is no loop: nothing tells what its device did before its range began. */
static void drop_only_batch(struct ws_pass *p)
{
	struct ws_model *m = p->m;
	size_t only = 0;

	if (p->l.opts->step || m->nsteps != count_warm_up(m) + 1)
		return;
	while (m->steps[only].warm_up)
		only++;
	if (m->steps[only].name == WS_TEXT_STEP ||
	    ws_bytes_begin(m->texts[m->steps[only].name], WS_PYTORCH_STEP))
		return;
	memmove(&m->steps[only], &m->steps[only + 1], (--m->nsteps - only) * sizeof(*m->steps));
}

void ws_pass_end_steps(struct ws_pass *p)
{
	struct ws_model *m = p->m;

	WS_NEW(&m->arena, m->steps, p->nsteps + p->niteration_marks);
	for (size_t i = 0; i < p->nsteps; i++) {
		const struct ws_pass_step *s = &p->steps[i];

		if (!s->is_whole_warm_up || !s->has_step)
			m->steps[m->nsteps++] = s->step;
	}
	drop_only_batch(p);
	if (p->niteration_marks && m->nsteps == count_warm_up(m))
		find_iterations(p);
	ws_steps_sort(m);
}
