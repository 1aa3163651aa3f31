/*
 * Finds steps of a program that does not name them: times to the end of an optimizer's step, or
 * calls of its root module. Also marks steps that contain other work: an evaluation or a prompt.
 * The same rules apply to recordings and imports: docs/dev/pytorch.md.
 */

#include "report/pass/private.h"

/* --- calls of root modules, and the operations in them --- */

/* An outermost call of a module. In a trace without modules: an outermost product, convolution or
 * attention. */
struct root_call {
	int64_t start_ns, end_ns;
	uint32_t thread, name; /* steady */
	uint32_t step;         /* WS_NONE */
	bool has_backward;     /* an operation in it has a backward */
};

/* Prefix sums over the operations, in their order. */
struct calls {
	struct ws_pass *p;
	struct ws_model *m;
	const struct ws_op_tree *ops;
	uint32_t *with_backward, *backward; /* forward with a backward; backward operations */
	double *flops;        /* FLOPs of operations that are not inside one with FLOPs */
	int64_t *backward_ns; /* begins of backward operations on all threads, ascending */
	size_t nbackward;
	struct root_call *call; /* by thread, then begin */
	size_t n;
	bool trains; /* a call has a backward */
	struct ws_arena temp;
};

/* Number of operations that begin before the time on this thread or an earlier one. */
static size_t ops_begun(const struct ws_op_tree *ops, uint32_t thread, int64_t until_ns)
{
	size_t n, first;

	if (thread >= ops->nthreads)
		return 0;
	first = ops->thread_first[thread];
	WS_COUNT_FIRST(n, ops->thread_first[thread + 1] - first,
	               ops->start_ns[first + n] < until_ns);
	return first + n;
}

static double sum_between(const struct calls *c, const uint32_t *sum, uint32_t thread,
                          int64_t from_ns, int64_t to_ns)
{
	return sum[ops_begun(c->ops, thread, to_ns)] - sum[ops_begun(c->ops, thread, from_ns)];
}

static size_t backward_before(const struct calls *c, int64_t time_ns)
{
	size_t n;

	WS_COUNT_FIRST(n, c->nbackward, c->backward_ns[n] < time_ns);
	return n;
}

static int by_thread_and_time(const void *pa, const void *pb)
{
	const struct ws_capture *a = pa, *b = pb;

	WS_ORDER_BY(a->thread, b->thread);
	WS_ORDER_BY(a->time_ns, b->time_ns);
	return 0;
}

void ws_pass_find_captures(struct ws_pass *p)
{
	const struct ws_model *m = p->m;

	WS_NEW(&p->m->arena, p->captures, m->ngraph_nodes);
	for (size_t i = 0; i < m->ngraph_nodes; i++)
		if (!m->graph_nodes[i].original)
			p->captures[p->ncaptures++] = (struct ws_capture){m->graph_nodes[i].time_ns,
			                                                  m->graph_nodes[i].thread};
	ws_sort(p->captures, p->ncaptures, sizeof(*p->captures), by_thread_and_time);
}

/* Does a thread capture nodes of a CUDA graph in this time? */
static bool captures(const struct ws_pass *p, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
	const struct ws_capture *all = p->captures;
	size_t i;

	WS_COUNT_FIRST(i, p->ncaptures,
	               all[i].thread < thread ||
	                       (all[i].thread == thread && all[i].time_ns < start_ns));
	return i < p->ncaptures && all[i].thread == thread && all[i].time_ns <= end_ns;
}

/* The first period of the thread that begins then or later; else the one behind those of the
 * thread. */
static size_t period_from(const struct ws_model *m, uint32_t thread, int64_t from_ns)
{
	const struct ws_op_period *p = m->op_periods;
	size_t i;

	WS_COUNT_FIRST(i, m->nop_periods,
	               p[i].thread < thread || (p[i].thread == thread && p[i].start_ns < from_ns));
	return i;
}

static void add_call(struct calls *c, const struct root_call *call)
{
	uint32_t around = ws_cpu_op_around(c->ops, call->thread, call->start_ns, call->end_ns);
	const struct ws_op_period *period = c->m->op_periods;
	const size_t i = period_from(c->m, call->thread, call->start_ns + 1);

	if (captures(c->p, call->thread, call->start_ns, call->end_ns)) /* it computes nothing */
		return;
	/* its operations were not recorded: whether it has a backward is unknown */
	if (i && period[i - 1].thread == call->thread && period[i - 1].is_begin &&
	    call->end_ns <= period[i - 1].end_ns)
		return;
	/* backward calls modules again if their activations were not kept */
	for (; around != WS_NONE; around = c->ops->parent[around])
		if (ws_op_is_backward(c->m, around))
			return;
	c->call[c->n] = *call;
	c->call[c->n].step = WS_NONE;
	c->call[c->n].has_backward =
	        sum_between(c, c->with_backward, call->thread, call->start_ns, call->end_ns) > 0;
	c->trains |= c->call[c->n++].has_backward;
}

static bool is_product(const struct calls *c, uint32_t op)
{
	const uint32_t kind =
	        op == WS_NONE ? 0 : c->m->cpu_ops.configs[c->m->cpu_ops.config[op]].kind;

	return kind == WS_TEXT_GEMM || kind == WS_TEXT_CONV || kind == WS_TEXT_FUSED_ATTENTION;
}

static int by_thread_and_begin(const void *pa, const void *pb)
{
	const struct root_call *a = pa, *b = pb;

	WS_ORDER_BY(a->thread, b->thread);
	return ws_by_time(&a->start_ns, &b->start_ns);
}

/* The caller frees c->temp. */
static void find_calls(struct calls *c, struct ws_pass *p)
{
	const struct ws_cpu_ops *ops = &p->m->cpu_ops;
	const size_t nops = ops->tree.n;
	uint8_t *has_backward, *is_counted;

	*c = (struct calls){.p = p, .m = p->m, .ops = &ops->tree};

	WS_NEW(&c->temp, has_backward, nops);
	WS_NEW(&c->temp, is_counted, nops);
	WS_NEW(&c->temp, c->with_backward, nops + 1);
	WS_NEW(&c->temp, c->backward, nops + 1);
	WS_NEW(&c->temp, c->flops, nops + 1);
	WS_NEW(&c->temp, c->backward_ns, nops);
	for (size_t i = 0; i < nops; i++)
		if (ops->forward[i] != WS_NONE)
			has_backward[ops->forward[i]] = 1;
	for (uint32_t i = 0; i < nops; i++) {
		const uint32_t parent = c->ops->parent[i];
		const bool is_backward = ws_op_is_backward(c->m, i);
		const int64_t flops = ops->configs[ops->config[i]].flops;
		const bool counts = flops > 0 && !(parent != WS_NONE && is_counted[parent]);

		is_counted[i] = counts || (parent != WS_NONE && is_counted[parent]);
		c->flops[i + 1] = c->flops[i] + (counts ? (double)flops : 0);
		c->with_backward[i + 1] = c->with_backward[i] + has_backward[i];
		c->backward[i + 1] = c->backward[i] + is_backward;
		if (is_backward)
			c->backward_ns[c->nbackward++] = c->ops->start_ns[i];
	}
	ws_sort(c->backward_ns, c->nbackward, sizeof(*c->backward_ns), ws_by_time);
	WS_NEW(&c->temp, c->call, c->ops->n + p->framework.nevents);
	if (p->framework.nevents) {
		struct root_call *open = ws_arena_array(&c->temp, c->m->nthreads, sizeof(*open));
		uint32_t *depth = ws_arena_array(&c->temp, c->m->nthreads, sizeof(*depth));
		for (size_t i = 0; i < p->framework.nevents; i++) {
			const struct ws_module_event *e = &p->framework.events[i];

			if (e->begins && !depth[e->thread]++)
				open[e->thread] =
				        (struct root_call){.start_ns = e->time_ns,
				                           .thread = e->thread,
				                           .name = c->m->steady_of[e->name]};
			if (!e->begins && !--depth[e->thread]) {
				open[e->thread].end_ns = e->time_ns;
				add_call(c, &open[e->thread]);
			}
		}
	} else {
		for (uint32_t i = 0; i < c->ops->n; i++)
			if (is_product(c, i) && !is_product(c, c->ops->parent[i]))
				add_call(c, &(struct root_call){.start_ns = c->ops->start_ns[i],
				                                .end_ns = c->ops->end_ns[i],
				                                .thread = c->ops->thread[i],
				                                .name = c->ops->name[i]});
	}
	ws_sort(c->call, c->n, sizeof(*c->call), by_thread_and_begin);
}

/* The root module with the most time without its longest call, which may hold set-up, among those
 * called at least twice and, if with_backward, with a backward. 0: none. */
static uint32_t root_module(struct calls *c, bool with_backward)
{
	struct sum {
		int64_t ns, longest_ns;
		size_t calls;
	} * sum;
	uint32_t best = 0;

	WS_NEW(&c->temp, sum, c->m->ntexts);
	for (size_t i = 0; i < c->n; i++) {
		struct sum *s = &sum[c->call[i].name];

		if (with_backward && !c->call[i].has_backward)
			continue;
		const int64_t ns = c->call[i].end_ns - c->call[i].start_ns;

		s->ns += ns < s->longest_ns ? ns : s->longest_ns;
		s->longest_ns = ns > s->longest_ns ? ns : s->longest_ns;
		if (++s->calls > 1 && (!best || s->ns > sum[best].ns))
			best = c->call[i].name;
	}
	return best;
}

bool ws_pass_names_steps(const struct ws_model *m)
{
	bool found = false;

	for (size_t i = 0; i < m->text_of.map.nslots && !found; i++) {
		uint32_t text = ws_idmap_get(&m->text_of, m->text_of.map.slots[i].key);

		if (text != WS_NONE)
			found = ws_step_is_name(m, text, NULL) ||
			        ws_step_is_name(m, m->steady_of[text], NULL) ||
			        ws_name_is_optimizer_step(m->texts[text]);
	}
	return found;
}

void ws_pass_find_step_module(struct ws_pass *p)
{
	struct calls c;

	if (!p->framework.nevents || p->l.opts->step || ws_pass_names_steps(p->m))
		return;
	find_calls(&c, p);
	if (!c.trains)
		p->m->step_module = root_module(&c, false);
	ws_arena_free(&c.temp);
}

/* --- iterations that only their optimizer marks ----------------------------------------------- */

/* A range ended that marks an iteration. */
void ws_pass_take_iteration_mark(struct ws_pass *p, const struct ws_open_range *r)
{
	const struct ws_bytes name = p->m->texts[r->context->name];

	WS_GROW(p->iteration_marks, p->niteration_marks + 1, p->iteration_marks_capacity);
	p->iteration_marks[p->niteration_marks++] = (struct ws_pass_iteration_mark){
	        .start_ns = r->start_ns,
	        .end_ns = r->end_ns,
	        .thread = r->context->thread,
	        .name = r->context->name,
	        .is_instance =
	                p->live.paths.paths[r->context->path].domain == WS_TEXT_OPTIMIZER_DOMAIN,
	        .steps = ws_name_is_optimizer_step(name),
	        .loads_data = ws_name_loads_data(name)};
}

/* A step of an optimizer. */
struct optimizer_step {
	const struct ws_pass_iteration_mark *mark;
	uint32_t instance; /* text; 0: the first one, or not recorded */
	uint64_t ops;      /* operations that lead to it, if instances were not recorded */
	bool is_last;      /* the last step of its iteration */
};

/* The optimizers' steps of a thread, in the order of their ends, and marks between them. */
struct iterations {
	const struct calls *calls;
	struct ws_model *m;
	uint32_t thread;
	struct optimizer_step *step;
	const struct ws_pass_iteration_mark **load;
	size_t n, nloads;
	bool knows_instances;
	int64_t begin_ns; /* of the first mark of any kind, or of the first operation */
	struct ws_arena temp;
};

/* Number of operations before a time that lead to a step of an optimizer: only backward operations,
 * which an evaluation lacks, if some are known. */
static size_t led_before(const struct calls *c, uint32_t thread, int64_t time_ns)
{
	return c->nbackward ? backward_before(c, time_ns) : ops_begun(c->ops, thread, time_ns);
}

/* Number of batches requested before a time. */
static size_t loads_before(const struct iterations *it, int64_t time_ns)
{
	size_t n;

	WS_COUNT_FIRST(n, it->nloads, it->load[n]->start_ns < time_ns);
	return n;
}

/* An iteration ends with the last step of an optimizer before the next batch is requested. After
 * the last batch it ends after as many steps as the previous iteration has. */
static bool end_with_batches(struct iterations *it)
{
	size_t in_iteration = 0, before = 0;
	bool found = false;

	for (size_t i = 0; i < it->n; i++) {
		struct optimizer_step *step = &it->step[i];

		in_iteration++;
		step->is_last = i + 1 < it->n ? loads_before(it, step->mark->end_ns) <
		                                        loads_before(it, step[1].mark->start_ns)
		                              : !before || in_iteration >= before;
		found |= i + 1 < it->n && step->is_last;
		if (step->is_last) {
			before = in_iteration;
			in_iteration = 0;
		}
	}
	return found;
}

#define LONGEST_CYCLE 16

static bool is_same_optimizer(const struct optimizer_step *a, const struct optimizer_step *b)
{
	return a->mark->name == b->mark->name && a->instance == b->instance;
}

/*
 * Optimizers that take turns: an iteration ends before the first of them steps again, however often
 * each has stepped. Two stages of a training, or an optimizer that rarely steps, do not count as
 * turns; they are recognised because most turns are short.
 */
static bool end_with_turns(struct iterations *it)
{
	const struct optimizer_step *first = it->step;
	size_t turns = 0, since = 0, in_short = 0;

	for (size_t i = 0; i < it->n; i++) {
		struct optimizer_step *step = &it->step[i];

		since++;
		step->is_last = !is_same_optimizer(step, first) &&
		                (i + 1 == it->n || is_same_optimizer(step + 1, first));
		if (!step->is_last)
			continue;
		turns++;
		in_short += since <= LONGEST_CYCLE ? since : 0;
		since = 0;
	}
	/* the last turn may be truncated */
	return turns > 1 && 10 * in_short >= 8 * it->n;
}

/* Programs that train several models take turns: each step equals the one a period earlier. Steps
 * of two optimizers of one name differ by the operations that lead to them. */
static bool repeats(const struct iterations *it, size_t period, bool by_ops)
{
	size_t same = 0, n = 0;

	for (size_t i = period; i < it->n; i++) {
		const struct optimizer_step *a = &it->step[i], *b = &it->step[i - period];
		const bool is_start = i < 2 * period && it->n > 2 * period;
		const uint64_t most = a->ops > b->ops ? a->ops : b->ops,
		               least = a->ops > b->ops ? b->ops : a->ops;

		if (by_ops && is_start)
			continue;
		n++;
		same += a->mark->name == b->mark->name && (!by_ops || (most - least) * 20 <= most);
	}
	return n && 10 * same >= 9 * n;
}

/* PyTorch records no duration for a range that was open when profiling stopped: the last step of an
 * optimizer then ends with the last record of its thread. */
static int64_t end_of(const struct iterations *it, size_t i)
{
	const struct ws_op_tree *ops = it->calls->ops;
	const struct ws_pass_iteration_mark *mark = it->step[i].mark;
	int64_t end_ns = mark->end_ns;

	if (i + 1 < it->n || end_ns > mark->start_ns || it->thread >= ops->nthreads)
		return end_ns;
	for (size_t k = ops->thread_first[it->thread + 1];
	     k-- > ops->thread_first[it->thread] && ops->start_ns[k] >= mark->start_ns;)
		if (ops->end_ns[k] > end_ns)
			end_ns = ops->end_ns[k];
	return end_ns;
}

static void add_step(struct ws_model *m, uint32_t thread, uint32_t name, int64_t begin_ns,
                     int64_t end_ns)
{
	m->steps[m->nsteps++] = (struct ws_model_step){.range = WS_NONE,
	                                               .name = name,
	                                               .thread = thread,
	                                               .start_ns = begin_ns,
	                                               .total_ns = end_ns - begin_ns,
	                                               .by_time = true,
	                                               .by_marks = true};
	m->step_mark = name;
}

/* Where the step begins that follows a mark: behind it, and behind what the recorder did between
 * two periods, where it waited for devices and was switched. */
static int64_t begin_behind(const struct ws_model *m, uint32_t thread, int64_t mark_ns)
{
	const struct ws_op_period *p = m->op_periods;

	if (!m->ncalibration)
		return mark_ns;
	size_t i = period_from(m, thread, mark_ns);
	return i && i < m->nop_periods && p[i - 1].thread == thread && p[i].thread == thread &&
	                       p[i - 1].end_ns < p[i].start_ns && p[i - 1].end_ns >= mark_ns
	               ? p[i].start_ns
	               : mark_ns;
}

/* The first iteration of a recording is left out, because it includes set-up and its begin is
 * unknown. */
static void add_iterations(struct iterations *it, bool is_recording)
{
	size_t second = SIZE_MAX, first = SIZE_MAX;

	for (size_t i = it->n; i-- > 0;)
		if (it->step[i].is_last) {
			second = first;
			first = i;
		}
	if (second == SIZE_MAX)
		return;

	/* Begin of the first iteration: its batches, as many as the second iteration has; else the
	 * first record of its thread. */
	const size_t before = loads_before(it, it->step[first].mark->start_ns),
	             of_second = loads_before(it, it->step[second].mark->start_ns) - before;

	int64_t begin_ns = before && of_second
	                           ? it->load[before > of_second ? before - of_second : 0]->start_ns
	                           : it->begin_ns;

	for (size_t i = 0; i < it->n; i++) {
		const struct ws_pass_iteration_mark *mark = it->step[i].mark;

		if (!it->step[i].is_last)
			continue;
		if (i != first || !is_recording)
			add_step(it->m, it->thread, mark->name, begin_ns, end_of(it, i));
		begin_ns = begin_behind(it->m, it->thread, mark->end_ns);
	}
}

/* --- iterations known only from calls of the root module -------------------------------------- */

void ws_pass_find_iterations(struct ws_pass *p)
{
	struct ws_model *m = p->m;
	const bool is_recording = ws_meta_value(&m->meta, "pytorch.operations").len &&
	                          !ws_meta_value(&m->meta, "import.source").len;
	struct calls c;

	if (!p->niteration_marks && !p->framework.nevents)
		return;
	find_calls(&c, p);
	for (uint32_t t = 0; t < m->nthreads && p->niteration_marks; t++) {
		struct iterations it = {.calls = &c,
		                        .m = m,
		                        .thread = t,
		                        .knows_instances = is_recording && m->python_calls};
		const struct ws_pass_iteration_mark *instance = NULL;

		/* Find the marks of a thread; of nested optimizers' steps only the outermost, which
		 * ends last. */
		it.begin_ns = INT64_MAX;
		if (it.thread < c.ops->nthreads &&
		    c.ops->thread_first[it.thread] < c.ops->thread_first[it.thread + 1])
			it.begin_ns = c.ops->start_ns[c.ops->thread_first[it.thread]];
		WS_NEW(&it.temp, it.step, p->niteration_marks);
		WS_NEW(&it.temp, it.load, p->niteration_marks);
		for (size_t i = 0; i < p->niteration_marks; i++) {
			const struct ws_pass_iteration_mark *mark = &p->iteration_marks[i];

			if (mark->thread != it.thread)
				continue;
			if (mark->start_ns < it.begin_ns)
				it.begin_ns = mark->start_ns;
			if (mark->loads_data)
				it.load[it.nloads++] = mark;
			if (mark->is_instance)
				instance = mark;
			if (!mark->steps)
				continue;
			while (it.n && it.step[it.n - 1].mark->start_ns >= mark->start_ns)
				it.n--;
			it.step[it.n++] = (struct optimizer_step){
			        .mark = mark,
			        .instance = instance && instance->start_ns >= mark->start_ns
			                            ? instance->name
			                            : 0};
		}
		for (size_t i = 0; i < it.n; i++)
			it.step[i].ops = led_before(&c, it.thread, it.step[i].mark->end_ns) -
			                 led_before(&c, it.thread,
			                            i ? it.step[i - 1].mark->end_ns : INT64_MIN);
		if (it.n > 1) {
			const bool are_ended = (it.knows_instances && end_with_turns(&it)) ||
			                       (it.nloads && end_with_batches(&it));
			size_t period = 0;

			for (int by_ops = 1;
			     by_ops >= 0 && !are_ended && !it.knows_instances && !period; by_ops--)
				for (size_t k = 1; k <= LONGEST_CYCLE && 2 * k <= it.n && !period;
				     k++)
					period = repeats(&it, k, by_ops) ? k : 0;
			for (size_t i = 0; i < it.n && !are_ended; i++)
				it.step[i].is_last = !period || i % period == period - 1;
			add_iterations(&it, is_recording);
		}
		ws_arena_free(&it.temp);
	}
	if (!m->step_mark && c.trains && p->framework.nevents && !p->l.opts->step &&
	    !ws_pass_names_steps(m)) {
		const uint32_t root = root_module(&c, true);
		size_t backward = SIZE_MAX;
		bool is_open = false;

		/* Without an optimizer of PyTorch, an iteration begins with the first call of the
		 * root module after a backward. */
		for (size_t i = 0; i < c.n; i++) {
			const struct root_call *call = &c.call[i];
			struct ws_model_step *last = is_open ? &m->steps[m->nsteps - 1] : NULL;
			const size_t before = backward_before(&c, call->start_ns);

			if (call->name != root || !call->has_backward ||
			    (last && last->thread == call->thread && before == backward))
				continue;
			backward = before;
			if (last && last->thread == call->thread)
				last->total_ns = call->start_ns - last->start_ns;
			add_step(m, call->thread, root, call->start_ns,
			         c.ops->end_ns[c.ops->thread_first[call->thread + 1] - 1]);
			is_open = true;
		}
	}
	ws_arena_free(&c.temp);
}

/* --- steps that contain other work ------------------------------------------------------------ */

/* Shorter evaluations, in percent of the step, do not change displayed numbers. */
#define LEAST_EVALUATION_PERCENT 5
/* A step with this many times the calls of other steps, or with more calls and this many times
 * their FLOPs, contains other work. */
#define MORE_THAN_USUAL 2

/* Fewer steps that train the same modules are compared with all steps. */
#define LEAST_STAGE 3

/* The measured steps of a thread, by begin. */
struct steps_of_thread {
	uint32_t *step;
	size_t n;
	uint64_t *trained; /* per step: hash of the optimizer and of the modules that it trains */
	uint32_t *order;   /* by these */
	uint32_t *calls;   /* per step: calls of one module without a backward */
	double *flops;     /* their FLOPs */
	uint32_t *usual_calls; /* per step: of most steps that train the same modules */
	double *usual_flops;
	int64_t *sorted;
	int64_t *extra_ns; /* per step: time of its evaluations */
	int64_t median_ns;
};

static int64_t lower_median(int64_t *values, size_t n)
{
	ws_sort(values, n, sizeof(*values), ws_by_time);
	return values[(n - 1) / 2];
}

/* Stages of a training are compared each with itself: a backbone that one trains and the next only
 * calls is no evaluation. */
static void find_stages(struct steps_of_thread *s, const struct calls *c, size_t first, size_t last,
                        uint32_t *seen_in)
{
	for (size_t i = 0; i < s->n; i++)
		s->trained[i] = c->m->steps[s->step[i]].name;
	memset(seen_in, 0xff, c->m->ntexts * sizeof(*seen_in));
	for (size_t i = first; i < last; i++) {
		const struct root_call *call = &c->call[i];

		if (call->step == WS_NONE || !call->has_backward ||
		    seen_in[call->name] == call->step)
			continue;
		seen_in[call->name] = call->step;
		/* in any order */
		s->trained[call->step] += call->name * UINT64_C(0x9E3779B97F4A7C15);
	}
	for (size_t i = 0; i < s->n; i++)
		s->sorted[i] = (int64_t)s->trained[i];
	ws_order_identity(s->order, s->n);
	ws_order_by(s->order, s->sorted, s->n);
}

/* Sets what is usual of the steps [first, last) of the order. */
static void set_usual(struct steps_of_thread *s, size_t first, size_t last)
{
	const bool is_stage = last - first >= LEAST_STAGE;
	const size_t from = is_stage ? first : 0, n = is_stage ? last - first : s->n;

	for (size_t i = 0; i < n; i++)
		s->sorted[i] = s->calls[s->order[from + i]];
	const int64_t calls = lower_median(s->sorted, n);
	for (size_t i = 0; i < n; i++)
		s->sorted[i] = (int64_t)s->flops[s->order[from + i]];
	const double flops = (double)lower_median(s->sorted, n);
	for (size_t i = first; i < last; i++) {
		s->usual_calls[s->order[i]] = (uint32_t)calls;
		s->usual_flops[s->order[i]] = flops;
	}
}

/* For one module: keeps the step only of calls without a backward that most steps do not have.
 * Calls that each step has, such as those of a teacher model, belong to the step itself. */
static void keep_extra(struct steps_of_thread *s, const struct calls *c, size_t first, size_t last,
                       uint32_t name)
{
	uint32_t at = WS_NONE, seen = 0;

	memset(s->calls, 0, s->n * sizeof(*s->calls));
	memset(s->flops, 0, s->n * sizeof(*s->flops));
	for (size_t i = first; i < last; i++) {
		const struct root_call *call = &c->call[i];

		if (call->name != name || call->step == WS_NONE || call->has_backward)
			continue;
		s->calls[call->step]++;
		s->flops[call->step] += c->flops[ops_begun(c->ops, call->thread, call->end_ns)] -
		                        c->flops[ops_begun(c->ops, call->thread, call->start_ns)];
	}
	for (size_t i = 0, next; i < s->n; i = next) {
		for (next = i;
		     next < s->n && s->trained[s->order[next]] == s->trained[s->order[i]];)
			next++;
		set_usual(s, i, next);
	}
	for (size_t i = first; i < last; i++) {
		struct root_call *call = &c->call[i];

		if (call->name != name || call->step == WS_NONE)
			continue;
		seen = call->step == at ? seen : 0;
		at = call->step;
		const uint32_t usual = s->usual_calls[at];

		if (call->has_backward || s->calls[at] <= usual ||
		    (s->calls[at] <= MORE_THAN_USUAL * usual &&
		     s->flops[at] <= MORE_THAN_USUAL * s->usual_flops[at]) ||
		    seen++ >= s->calls[at] - usual)
			call->step = WS_NONE;
	}
}

static void find_evaluations(struct calls *c)
{
	const size_t nsteps = c->m->nsteps;
	struct steps_of_thread s;
	uint8_t *is_done;  /* by name */
	uint32_t *seen_in; /* by name: a step */

	WS_NEW(&c->m->arena, c->m->evaluations, c->n);
	WS_NEW(&c->temp, s.step, nsteps);
	WS_NEW(&c->temp, s.calls, nsteps);
	WS_NEW(&c->temp, s.flops, nsteps);
	WS_NEW(&c->temp, s.trained, nsteps);
	WS_NEW(&c->temp, s.order, nsteps);
	WS_NEW(&c->temp, s.usual_calls, nsteps);
	WS_NEW(&c->temp, s.usual_flops, nsteps);
	WS_NEW(&c->temp, seen_in, c->m->ntexts);
	WS_NEW(&c->temp, s.sorted, nsteps);
	WS_NEW(&c->temp, s.extra_ns, nsteps);
	WS_NEW(&c->temp, is_done, c->m->ntexts);
	for (size_t i = 0, next; i < c->n; i = next) {
		struct ws_evaluation *e = NULL;

		for (next = i; next < c->n && c->call[next].thread == c->call[i].thread;)
			next++;
		s.n = 0;
		for (uint32_t k = 0; k < c->m->nsteps; k++)
			if (c->m->steps[k].thread == c->call[i].thread &&
			    ws_step_is_measured(c->m, k)) {
				s.extra_ns[s.n] = 0;
				s.sorted[s.n] = c->m->steps[k].total_ns;
				s.step[s.n++] = k;
			}
		s.median_ns = s.n ? lower_median(s.sorted, s.n) : 0;
		if (!s.n)
			continue;
		/* Set the step of each call of the thread, as an index of s. */
		for (size_t k = i, at = 0; k < next; k++) {
			struct root_call *call = &c->call[k];

			while (at < s.n &&
			       c->m->steps[s.step[at]].start_ns + c->m->steps[s.step[at]].total_ns <
			               call->end_ns)
				at++;
			if (at < s.n && c->m->steps[s.step[at]].start_ns <= call->start_ns)
				call->step = (uint32_t)at;
		}
		find_stages(&s, c, i, next, seen_in);
		memset(is_done, 0, c->m->ntexts);
		for (size_t k = i; k < next; k++)
			if (!is_done[c->call[k].name]) {
				is_done[c->call[k].name] = 1;
				keep_extra(&s, c, i, next, c->call[k].name);
			}
		/* The remaining calls are evaluations; consecutive calls without training between
		 * them are one evaluation, with the batches that it loads and its metrics. */
		const size_t before = c->m->nevaluations;

		for (size_t k = i; k < next; k++) {
			const struct root_call *call = &c->call[k];

			if (call->step == WS_NONE)
				continue;
			if (e && e->step == call->step &&
			    sum_between(c, c->with_backward, call->thread, e->end_ns,
			                call->start_ns) == 0 &&
			    sum_between(c, c->backward, call->thread, e->end_ns, call->start_ns) ==
			            0) {
				s.extra_ns[e->step] += call->end_ns - e->end_ns;
				e->end_ns = call->end_ns;
				continue;
			}
			e = &c->m->evaluations[c->m->nevaluations++];
			*e = (struct ws_evaluation){call->start_ns, call->end_ns, call->step};
			s.extra_ns[e->step] += call->end_ns - call->start_ns;
		}
		const size_t end = c->m->nevaluations;

		c->m->nevaluations = before;
		for (size_t k = before; k < end; k++) {
			struct ws_evaluation found = c->m->evaluations[k];

			if (s.extra_ns[found.step] * 100 < s.median_ns * LEAST_EVALUATION_PERCENT)
				continue;
			found.step = s.step[found.step];
			c->m->steps[found.step].apart = WS_STEP_EVALUATES;
			c->m->evaluations[c->m->nevaluations++] = found;
		}
	}
}

/* Calls that generate compute one token per text: all have equal FLOPs, at most 1 / PROMPT_FACTOR
 * of a call that reads a prompt. */
#define PROMPT_FACTOR 2
#define TOKEN_SPREAD  1.3

static void find_prompts(struct calls *c)
{
	struct ws_model *m = c->m;
	int64_t *flops, *sorted, usual;
	size_t n = 0, alike = 0, prompts = 0;

	WS_NEW(&c->temp, flops, m->nsteps);
	WS_NEW(&c->temp, sorted, m->nsteps);
	for (uint32_t i = 0; i < m->nsteps; i++) {
		const struct ws_model_step *s = &m->steps[i];

		if (!ws_step_is_measured(m, i))
			continue;
		flops[i] = (int64_t)(c->flops[ops_begun(c->ops, s->thread,
		                                        s->start_ns + s->total_ns)] -
		                     c->flops[ops_begun(c->ops, s->thread, s->start_ns)]);
		sorted[n++] = flops[i];
	}
	usual = n ? lower_median(sorted, n) : 0;
	for (uint32_t i = 0; i < m->nsteps && usual; i++) {
		if (!ws_step_is_measured(m, i))
			continue;
		alike += (double)flops[i] < TOKEN_SPREAD * (double)usual;

		if (flops[i] > PROMPT_FACTOR * usual) {
			const struct ws_model_step *s = &m->steps[i];
			const size_t end = ops_begun(c->ops, s->thread, s->start_ns + s->total_ns);
			bool embeds = false;

			for (size_t k = ops_begun(c->ops, s->thread, s->start_ns);
			     k < end && !embeds; k++)
				embeds = ws_bytes_begin(m->texts[c->ops->name[k]],
				                        "aten::embedding");
			prompts += embeds;
		}
	}
	if (!prompts || alike + prompts < n)
		return;
	for (uint32_t i = 0; i < m->nsteps; i++)
		if (ws_step_is_measured(m, i) && flops[i] > PROMPT_FACTOR * usual)
			m->steps[i].apart = WS_STEP_PREFILLS;
}

/* Which steps repeat another one, and which have no operations. */
static void find_repeats(struct ws_model *m)
{
	const struct ws_op_period *p = m->op_periods;
	size_t next;

	for (size_t first = 0; first < m->nop_periods; first = next) {
		for (next = first; next < m->nop_periods && p[next].thread == p[first].thread;)
			next++;
		for (uint32_t s = 0; s < m->nsteps; s++) {
			struct ws_model_step *step = &m->steps[s];
			const int64_t end_ns = step->start_ns + step->total_ns;
			int64_t unknown_ns = 0, copied_ns = 0;
			size_t i;

			WS_COUNT_FIRST(i, next - first, p[first + i].end_ns <= step->start_ns);
			for (i += first; i < next && p[i].start_ns < end_ns; i++) {
				const int64_t from_ns = p[i].start_ns > step->start_ns
				                                ? p[i].start_ns
				                                : step->start_ns,
				              to_ns = p[i].end_ns < end_ns ? p[i].end_ns : end_ns;
				int64_t known_ns =
				        p[i].source == WS_NONE ? from_ns : p[i].known_until_ns;

				if (p[i].ops || p[i].is_begin || p[i].is_unrecorded)
					continue;
				known_ns = known_ns < from_ns ? from_ns
				           : known_ns > to_ns ? to_ns
				                              : known_ns;
				copied_ns += known_ns - from_ns;
				unknown_ns += to_ns - known_ns;
			}
			step->repeats |= copied_ns > step->total_ns / 2;
			if (ws_step_is_measured(m, s) &&
			    unknown_ns > step->total_ns / 100 * WS_LEAST_UNKNOWN_PERCENT)
				step->apart = WS_STEP_NO_OPS;
		}
	}
}

void ws_pass_set_steps_apart(struct ws_pass *p)
{
	struct calls c;

	/* Steps of which most was not recorded. */
	for (size_t i = 0; i < p->m->ncalibration; i++) {
		const struct ws_calibration_step *period = &p->m->calibration[i];
		size_t n;

		if (!period->is_unrecorded)
			continue;
		WS_COUNT_FIRST(n, p->m->nsteps, p->m->steps[n].start_ns < period->end_ns);
		for (size_t s = n; s-- > 0;) {
			struct ws_model_step *step = &p->m->steps[s];
			const int64_t end_ns = step->start_ns + step->total_ns;

			if (step->thread != period->thread)
				continue;
			if (end_ns <= period->start_ns)
				break;
			if (ws_span_overlap(step->start_ns, end_ns, period->start_ns,
			                    period->end_ns) >
			    step->total_ns / 100 * WS_LEAST_UNKNOWN_PERCENT)
				step->apart = WS_STEP_UNRECORDED;
		}
	}
	if (p->framework.is_present && p->m->nsteps) {
		find_repeats(p->m);
		find_calls(&c, p);
		if (c.trains)
			find_evaluations(&c);
		else
			find_prompts(&c);
		/* The others that lack operations: those before the place where they were seen to
		 * differ. */
		for (size_t i = 0; i < p->m->nop_periods; i++) {
			const struct ws_op_period *period = &p->m->op_periods[i];
			size_t n;

			WS_COUNT_FIRST(n, p->m->nsteps, p->m->steps[n].start_ns < period->end_ns);
			for (size_t s = n; s-- > 0 && period->is_begin;) {
				struct ws_model_step *step = &p->m->steps[s];

				if (step->thread != period->thread)
					continue;
				if (step->start_ns + step->total_ns <= period->start_ns)
					break;
				if (ws_step_is_measured(p->m, (uint32_t)s))
					step->apart = WS_STEP_NO_OPS;
			}
		}
		ws_arena_free(&c.temp);
	}
	for (size_t i = 0; i < p->m->nsteps && p->ncaptures; i++) {
		struct ws_model_step *s = &p->m->steps[i];

		if (captures(p, s->thread, s->start_ns, s->start_ns + s->total_ns))
			s->apart = WS_STEP_CAPTURES;
	}
	ws_steps_count_measured(p->m);
}
