/*
 * The join: events to ranges, calls to ranges, kernels to calls, and from
 * there into the digest.
 */
#include <stdlib.h>
#include <string.h>

#include "report/model/label.h"
#include "report/model/steps.h"
#include "report/pass/private.h"

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory to join the records of a trace");
}

/* Adds up what the loaded model refuses when it overflows: it is the one to say so. */
static void add_bounded(struct ws_pass *p, int64_t *sum, int64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		p->declined = "sums overflow";
}

/* --- steps ------------------------------------------------------------------------------- */

static enum ws_status add_active(struct ws_pass *p, uint32_t step, struct ws_err *err)
{
	if (p->nactive == p->active_allocated) {
		size_t want = p->active_allocated ? p->active_allocated * 2 : 16;
		void *grown = reallocarray(p->active, want, sizeof(*p->active));

		if (!grown)
			return no_memory(err);
		p->active = grown;
		p->active_allocated = want;
	}
	p->active[p->nactive++] = step;
	return WS_OK;
}

static enum ws_status new_step(struct ws_pass *p, uint32_t range, int is_whole_warm_up,
                               struct ws_err *err)
{
	struct ws_live *r = &p->live.range[range];

	if (p->nsteps == p->steps_allocated) {
		size_t want = p->steps_allocated ? p->steps_allocated * 2 : 64;
		void *grown = reallocarray(p->steps, want, sizeof(*p->steps));

		if (!grown)
			return no_memory(err);
		p->steps = grown;
		p->steps_allocated = want;
	}
	p->steps[p->nsteps] = (struct ws_pass_step){
	        .step = {.range = (uint32_t)p->nsteps,
	                 .name = r->name,
	                 .thread = r->thread,
	                 .start_ns = r->start_ns,
	                 .warm_up = (r->marks & WS_IN_WARM_UP) != 0},
	        .live = range,
	        .open = 1,
	        .is_whole_warm_up = (uint8_t)is_whole_warm_up,
	};
	p->steps[p->nsteps].step.by_time = !is_whole_warm_up;
	r->step = (uint32_t)p->nsteps++;
	return is_whole_warm_up ? WS_OK : add_active(p, r->step, err);
}

/* The step that holds what another thread did from start to end, which is now; the rule is that of
 * ws_step_holding. */
static uint32_t step_holding(struct ws_pass *p, uint32_t process, int64_t start_ns, int64_t end_ns,
                             uint32_t but_thread)
{
	uint32_t best = WS_NONE;
	size_t kept = 0;

	for (size_t i = 0; i < p->nactive; i++) {
		uint32_t at = p->active[i];
		const struct ws_model_step *s = &p->steps[at].step,
		                           *b = best == WS_NONE ? NULL : &p->steps[best].step;

		if (!p->steps[at].open && s->start_ns + s->total_ns < end_ns)
			continue;
		p->active[kept++] = at;
		if (s->start_ns > start_ns || s->thread == but_thread ||
		    p->l.thread_process[s->thread] != process)
			continue;
		if (!b || s->start_ns > b->start_ns ||
		    (s->start_ns == b->start_ns && s->thread >= b->thread))
			best = at;
	}
	p->nactive = kept;
	return best;
}

static enum ws_scope scope_of(const struct ws_pass *p, uint32_t step, uint8_t marks)
{
	if (step != WS_NONE)
		return p->steps[step].step.warm_up || p->steps[step].is_whole_warm_up
		               ? WS_SCOPE_WARM_UP
		               : WS_SCOPE_STEPS;
	return marks & WS_IN_SETUP ? WS_SCOPE_SETUP : WS_SCOPE_OUTSIDE;
}

static bool counts(const struct ws_pass *p, enum ws_scope scope)
{
	return p->scope == WS_SCOPE_ALL || p->scope == scope;
}

/* What is said of each path once. */
static enum ws_status look_at_paths(struct ws_pass *p, struct ws_err *err)
{
	const struct ws_ranges r = {.paths = p->live.paths.paths, .npaths = p->live.paths.npaths};

	if (r.npaths > p->path_steps_allocated) {
		size_t want = 2 * r.npaths;
		void *grown = realloc(p->path_is_step, want);

		if (!grown)
			return no_memory(err);
		p->path_is_step = grown;
		p->path_steps_allocated = want;
	}
	for (; p->npath_steps < r.npaths; p->npath_steps++)
		WS_FORWARD(ws_step_is_path(p->m, &r, (uint32_t)p->npath_steps, p->l.opts->step,
		                           &p->path_is_step[p->npath_steps], err));
	return ws_digest_reserve_paths(p->d, r.npaths, err);
}

/* Which step a new range lies in, or is. The rules are those of model/label.c. */
static enum ws_status begin_step(struct ws_pass *p, uint32_t range, struct ws_err *err)
{
	struct ws_live *r = &p->live.range[range];
	uint32_t step = r->parent == WS_NONE ? WS_NONE : p->live.range[r->parent].step;
	int in_step = step != WS_NONE && !p->steps[step].is_whole_warm_up;

	r->step = step;
	if (in_step)
		return WS_OK;
	if (step == WS_NONE && r->name == WS_TEXT_WARM_UP)
		return new_step(p, range, 1, err);
	if (!p->path_is_step[r->path])
		return WS_OK;
	if (step != WS_NONE)
		p->steps[step].has_step = 1;
	return new_step(p, range, 0, err);
}

static void close_step(struct ws_pass *p, const struct ws_live *r, uint32_t range, int open)
{
	struct ws_pass_step *s = &p->steps[r->step];
	const struct ws_live *parent = r->parent == WS_NONE ? NULL : &p->live.range[r->parent];
	int64_t dur = r->end_ns - r->start_ns;

	if (r->phase != WS_PHASE_OTHER &&
	    !(parent && parent->step == r->step && parent->phase != WS_PHASE_OTHER)) {
		s->step.phase_ns[r->phase] += dur;
		s->step.phases |= (uint8_t)(1u << r->phase);
	}
	if (s->live != range || !s->open)
		return;
	s->open = 0;
	s->step.total_ns = dur;
	s->step.unfinished = open;
	if (open)
		return;
	free(s->by_cell);
	s->by_cell = NULL;
}

/* A kernel launched in a measured step counts in its cell, for now. */
static enum ws_status count_in_step(struct ws_pass *p, struct ws_pass_step *s, uint32_t cell,
                                    struct ws_err *err)
{
	if (s->step.warm_up)
		return WS_OK;
	p->d->cells[cell].in_steps++;
	if (!s->open)
		return WS_OK;
	if (cell >= s->ncells) {
		size_t want = p->d->cells_allocated;
		void *grown = reallocarray(s->by_cell, want, sizeof(*s->by_cell));

		if (!grown)
			return no_memory(err);
		s->by_cell = grown;
		memset(s->by_cell + s->ncells, 0, (want - s->ncells) * sizeof(*s->by_cell));
		s->ncells = want;
	}
	s->by_cell[cell]++;
	return WS_OK;
}

static enum ws_status end_steps(struct ws_pass *p, struct ws_err *err)
{
	struct ws_model *m = p->m;
	struct ws_digest *d = p->d;
	struct ws_step_gpu *gpu;

	m->steps = calloc(p->nsteps ? p->nsteps : 1, sizeof(*m->steps));
	gpu = calloc(p->nsteps ? p->nsteps : 1, sizeof(*gpu));
	if (!m->steps || !gpu) {
		free(gpu);
		return no_memory(err);
	}
	for (size_t i = 0; i < p->nsteps; i++) {
		const struct ws_pass_step *s = &p->steps[i];

		if (!s->is_whole_warm_up || !s->has_step)
			m->steps[m->nsteps++] = s->step;
		for (size_t c = 0; s->step.unfinished && c < s->ncells && c < d->ncells; c++)
			d->cells[c].in_steps -= s->by_cell[c];
	}
	ws_steps_sort(m);
	for (size_t i = 0; i < m->nsteps; i++)
		if (m->steps[i].range < d->nsteps)
			gpu[i] = d->steps[m->steps[i].range];
	free(d->steps);
	d->steps = gpu;
	d->nsteps = d->steps_allocated = m->nsteps;
	return WS_OK;
}

/* --- ranges ------------------------------------------------------------------------------ */

static enum ws_status begin_range(void *ctx, uint32_t range, struct ws_err *err)
{
	struct ws_pass *p = ctx;
	struct ws_model *m = p->m;
	struct ws_live *r = &p->live.range[range];
	const struct ws_live *parent = r->parent == WS_NONE ? NULL : &p->live.range[r->parent];
	const struct ws_pass_name *name = &p->names[r->name];
	const struct ws_op_facts *op;

	r->phase = parent && parent->phase != WS_PHASE_OTHER ? parent->phase : name->phase;
	r->marks = name->marks;
	if (parent) {
		r->marks |= parent->marks & WS_MARKS_INHERITED;
		r->op = parent->op;
	}
	if (r->payload != WS_NONE && m->ops.is_op[r->payload]) {
		/* a group of operations: the parts are counted, not the whole again */
		if (r->op != WS_NONE)
			p->live.range[r->op].counted = 0;
		r->op = range;
		r->counted = 1;
	}
	op = r->op == WS_NONE ? NULL : &m->ops.op[p->live.range[r->op].payload];
	r->class = ws_label_class(op, r->marks);
	r->direction = op ? op->direction : 0;
	r->dtype = op ? op->dtype : 0;
	p->d->nranges++;
	if (p->npath_steps < p->live.paths.npaths)
		WS_FORWARD(look_at_paths(p, err));
	return begin_step(p, range, err);
}

static void close_op(struct ws_pass *p, const struct ws_live *r)
{
	const struct ws_op_facts *op = &p->m->ops.op[r->payload];

	if (op->flops > 0)
		add_bounded(p, &p->flops, op->flops);
	if (op->bytes > 0)
		add_bounded(p, &p->bytes, op->bytes);
	if (!p->declined)
		ws_digest_add_cost(p->d, p->live.paths.paths, r->path, op->flops, op->bytes);
}

static bool tells_product(const struct ws_op_facts *op)
{
	return op->flops >= 0 && (op->kind == WS_TEXT_GEMM || op->kind == WS_TEXT_CONV ||
	                          op->kind == WS_TEXT_FUSED_ATTENTION);
}

static enum ws_status close_range(void *ctx, uint32_t range, int open, struct ws_err *err)
{
	struct ws_pass *p = ctx;
	struct ws_live *r = &p->live.range[range];
	uint32_t step = r->step;

	add_bounded(p, &p->range_ns, r->end_ns - r->start_ns);
	p->d->open_ranges += (uint64_t)open;
	if (p->scope != WS_SCOPE_ALL && step == WS_NONE)
		step = step_holding(p, p->l.thread_process[r->thread],
		                    r->start_ns - (r->start_ns == r->end_ns), r->end_ns, r->thread);
	r->in_scope = counts(p, scope_of(p, step, r->marks));
	if (p->parts & WS_DIGEST_PATHS && r->in_scope) {
		struct ws_path_sums *sums = ws_digest_path(p->d, r->path);

		sums->open += (uint64_t)open;
		if (!ws_values_add(&sums->dur_ns, r->end_ns - r->start_ns))
			return no_memory(err);
	}
	if (p->parts & WS_DIGEST_COSTS && r->op == range && r->counted && r->in_scope)
		close_op(p, r);
	if (p->parts & WS_DIGEST_PRODUCTS && r->op == range && r->counted && r->step != WS_NONE &&
	    tells_product(&p->m->ops.op[r->payload]))
		p->declined = "the FLOPs of a step's products are held against peaks";
	if (r->step != WS_NONE)
		close_step(p, r, range, open);
	return WS_OK;
}

static void widen(struct ws_live *r, int64_t first_ns, int64_t last_ns)
{
	r->first_ns = first_ns < r->first_ns ? first_ns : r->first_ns;
	r->last_ns = last_ns > r->last_ns ? last_ns : r->last_ns;
}

static void finish_range(void *ctx, uint32_t range)
{
	struct ws_pass *p = ctx;
	struct ws_live *r = &p->live.range[range];
	uint32_t name = r->kernel_name;

	/* what a child launched, its parent did */
	if (r->first_ns <= r->last_ns) {
		if (r->parent != WS_NONE)
			widen(&p->live.range[r->parent], r->first_ns, r->last_ns);
		if (r->in_scope)
			ws_digest_path(p->d, r->path)->projected_ns += r->last_ns - r->first_ns;
	}
	if (!(p->parts & WS_DIGEST_COSTS) || !name || name == WS_NONE)
		return;
	if (r->counted && r->in_scope)
		p->d->flops[name] += p->m->ops.op[r->payload].flops;
	else
		p->d->flops_unknown[name] = 1;
}

struct ws_live_events ws_pass_live_events(struct ws_pass *p)
{
	return (struct ws_live_events){p, begin_range, close_range, finish_range};
}

/* --- kernels ----------------------------------------------------------------------------- */

/*
 * FLOPs belong to an operation, not to a kernel. They are a kernel's where
 * all kernels of the operation have its name; a name with one instance for
 * which that does not hold has no FLOPs.
 */
static void share_flops(struct ws_pass *p, const struct ws_live *r, uint32_t name)
{
	struct ws_live *op = r && r->op != WS_NONE ? &p->live.range[r->op] : NULL;
	uint8_t *unknown = p->d->flops_unknown;

	if (!op || p->m->ops.op[op->payload].flops < 0) {
		unknown[name] = 1;
	} else if (!op->kernel_name) {
		op->kernel_name = name;
	} else if (op->kernel_name != name) {
		unknown[name] = 1;
		if (op->kernel_name != WS_NONE)
			unknown[op->kernel_name] = 1;
		op->kernel_name = WS_NONE;
	}
}

/* The path of a kernel, those around it, and that of the step whose time it was launched in. */
static void add_to_paths(struct ws_pass *p, const struct ws_launch_waiting *launch, uint32_t path,
                         const struct ws_digest_kernel *kernel)
{
	int64_t end_ns = kernel->start_ns + kernel->dur_ns;

	ws_digest_add_own(p->d, path, kernel);
	ws_digest_add_to_path(p->d, p->live.paths.paths, path, kernel);
	if (launch->range != WS_NONE && kernel->timed)
		widen(&p->live.range[launch->range], kernel->start_ns, end_ns);
	if (launch->step_range == WS_NONE)
		return;
	ws_digest_add_to_path(p->d, p->live.paths.paths, p->live.range[launch->step_range].path,
	                      kernel);
	if (kernel->timed)
		widen(&p->live.range[launch->step_range], kernel->start_ns, end_ns);
}

/* With what is known of its call; no_path: WS_PATH_NO_… for one in no range. */
static enum ws_status take_kernel(struct ws_pass *p, const struct ws_pass_kernel *k,
                                  const struct ws_launch_waiting *launch, uint32_t no_path,
                                  struct ws_err *err)
{
	const struct ws_config *config = &p->m->configs[k->config];
	struct ws_live *r = launch->range == WS_NONE ? NULL : &p->live.range[launch->range];
	struct ws_kernel_place place = {r ? r->path : no_path, r ? r->class : 0,
	                                r && r->direction ? r->direction : config->name_direction,
	                                r && r->dtype ? r->dtype : config->name_dtype};
	const struct ws_digest_kernel kernel = {
	        .start_ns = k->timed ? k->start_ns : 0,
	        .dur_ns = k->dur_ns,
	        .timed = k->timed,
	        .device = config->device,
	        .order = (uint64_t)config->device << 40 | p->nkernels++,
	};
	uint32_t cell = 0;

	p->m->devices[config->device].kernels++;
	if (launch->step != WS_NONE)
		WS_FORWARD(ws_digest_add_to_step(p->d, launch->step,
		                                 r ? (enum ws_phase)r->phase : WS_PHASE_OTHER,
		                                 k->dur_ns, err));
	if (!counts(p, (enum ws_scope)launch->scope))
		return WS_OK;
	WS_FORWARD(ws_digest_cell(p->d, k->config, &place, &cell, err));
	WS_FORWARD(ws_digest_add_kernel(p->d, cell, &kernel, err));
	if (p->parts & WS_DIGEST_PATHS)
		add_to_paths(p, launch, place.path, &kernel);
	if (p->parts & WS_DIGEST_COSTS)
		share_flops(p, r, config->name);
	if (r)
		ws_digest_add_marks(p->d, r->marks, k->dur_ns);
	return launch->step == WS_NONE ? WS_OK
	                               : count_in_step(p, &p->steps[launch->step], cell, err);
}

static enum ws_status take_launched(struct ws_pass *p, const struct ws_pass_kernel *k,
                                    const struct ws_launch_waiting *launch, uint32_t no_path,
                                    struct ws_err *err)
{
	if (k->config != WS_NONE)
		return take_kernel(p, k, launch, no_path, err);
	p->m->works[k->dur_ns].scope = launch->scope;
	return WS_OK;
}

static void drop_launch(struct ws_pass *p, const struct ws_launch_waiting *launch)
{
	if (launch->range != WS_NONE)
		ws_live_drop(&p->live, launch->range);
	if (launch->step_range != WS_NONE)
		ws_live_drop(&p->live, launch->step_range);
}

/* A kernel that comes next. *blocked = true when its call has not come, and may still. */
static enum ws_status join_kernel(struct ws_pass *p, const struct ws_pass_kernel *k, bool last,
                                  bool *blocked, struct ws_err *err)
{
	static const struct ws_launch_waiting none = {.range = WS_NONE,
	                                              .step = WS_NONE,
	                                              .step_range = WS_NONE,
	                                              .scope = WS_SCOPE_OUTSIDE};
	uint32_t process = k->config == WS_NONE ? p->m->works[k->dur_ns].process
	                                        : p->m->configs[k->config].process;
	bool has_id = k->correlation && process != WS_NONE;
	struct ws_launch_waiting *launch =
	        has_id ? ws_launches_find(&p->waiting, process, k->correlation) : NULL;

	if (!launch) {
		*blocked = has_id && !last &&
		           ws_launch_ids_get(&p->ids, process, k->correlation) & WS_LAUNCH_CALL;
		return *blocked ? WS_OK : take_launched(p, k, &none, WS_PATH_NO_LAUNCH, err);
	}
	*blocked = false;
	WS_FORWARD(take_launched(p, k, launch, WS_PATH_NO_RANGE, err));
	if (launch->stays)
		return WS_OK;
	drop_launch(p, launch);
	ws_launches_take(&p->waiting, launch);
	return WS_OK;
}

/* --- in order of time -------------------------------------------------------------------- */

static enum ws_status join_call(struct ws_pass *p, const struct ws_pass_call *c, struct ws_err *err)
{
	struct ws_launch_waiting launch = {.correlation = c->correlation,
	                                   .process = c->process,
	                                   .stays = c->stays,
	                                   .step_range = WS_NONE};
	uint32_t range;

	WS_FORWARD(ws_live_innermost(&p->live, c->thread, c->start_ns, c->end_ns, &range, err));
	launch.range = range;
	launch.step = range == WS_NONE ? WS_NONE : p->live.range[range].step;
	if (launch.step == WS_NONE) {
		launch.step = step_holding(p, c->process, c->start_ns, c->end_ns, WS_NONE);
		if (launch.step != WS_NONE)
			launch.step_range = p->steps[launch.step].live;
	}
	launch.scope = (uint8_t)scope_of(p, launch.step,
	                                 range == WS_NONE ? 0 : p->live.range[range].marks);
	if (ws_pass_calls_have_scope(p) && counts(p, (enum ws_scope)launch.scope))
		WS_FORWARD(
		        ws_digest_add_call(p->d, c->name, c->end_ns - c->start_ns, c->failed, err));
	else
		p->d->ncalls++;
	if (!c->launches)
		return WS_OK;
	if (range != WS_NONE)
		ws_live_hold(&p->live, range);
	if (launch.step_range != WS_NONE)
		ws_live_hold(&p->live, launch.step_range);
	return ws_launches_put(&p->waiting, &launch, err);
}

/* The rows that wait, and when the first of each happens; INT64_MAX without one. */
struct fronts {
	const struct ws_pass_event *event, *events_end;
	const struct ws_pass_call *call, *calls_end;
	const struct ws_pass_kernel *kernel, *kernels_end;
	int64_t event_ns, call_ns, kernel_ns;
};

static void look(struct fronts *f)
{
	f->event_ns = f->event < f->events_end ? f->event->time_ns : INT64_MAX;
	f->call_ns = f->call < f->calls_end ? f->call->end_ns : INT64_MAX;
	f->kernel_ns = f->kernel < f->kernels_end ? f->kernel->start_ns : INT64_MAX;
}

static struct fronts fronts_of(const struct ws_pass *p)
{
	struct fronts f = {
	        .event = (const struct ws_pass_event *)p->events.rows + p->events.first,
	        .events_end = (const struct ws_pass_event *)p->events.rows + p->events.n,
	        .call = (const struct ws_pass_call *)p->calls.rows + p->calls.first,
	        .calls_end = (const struct ws_pass_call *)p->calls.rows + p->calls.n,
	        .kernel = (const struct ws_pass_kernel *)p->kernels.rows + p->kernels.first,
	        .kernels_end = (const struct ws_pass_kernel *)p->kernels.rows + p->kernels.n,
	};

	look(&f);
	return f;
}

/* One row, before until_ns, or any in the end; *done = true when there is none. */
static enum ws_status join_next(struct ws_pass *p, struct fronts *f, int64_t until_ns,
                                bool *blocked, bool *done, struct ws_err *err)
{
	int64_t least_ns = f->event_ns < f->call_ns ? f->event_ns : f->call_ns;

	if (f->kernel_ns < least_ns && !*blocked && f->kernel_ns < until_ns) {
		WS_FORWARD(join_kernel(p, f->kernel, false, blocked, err));
		f->kernel += !*blocked;
		f->kernel_ns = f->kernel < f->kernels_end ? f->kernel->start_ns : INT64_MAX;
		return WS_OK;
	}
	*done = least_ns >= until_ns;
	if (*done)
		return WS_OK;
	if (f->event_ns <= f->call_ns) {
		WS_FORWARD(ws_live_event(&p->live, f->event++, err));
		f->event_ns = f->event < f->events_end ? f->event->time_ns : INT64_MAX;
		return WS_OK;
	}
	*blocked = false;
	WS_FORWARD(join_call(p, f->call++, err));
	f->call_ns = f->call < f->calls_end ? f->call->end_ns : INT64_MAX;
	return WS_OK;
}

/*
 * What happens first, comes first. At one time events stand before calls, as
 * a call that ends with a range lies in it; a kernel waits for its call,
 * which may return after the kernel began, and with it all kernels behind it.
 */
enum ws_status ws_pass_join(struct ws_pass *p, int64_t until_ns, struct ws_err *err)
{
	bool blocked = false, done = false;
	enum ws_status status = WS_OK;
	struct fronts f;

	WS_FORWARD(ws_pass_rows_sort(&p->events, err));
	WS_FORWARD(ws_pass_rows_sort(&p->calls, err));
	WS_FORWARD(ws_pass_rows_sort(&p->kernels, err));
	f = fronts_of(p);
	while (!done && status == WS_OK && !p->declined && !p->live.declined)
		status = join_next(p, &f, until_ns, &blocked, &done, err);
	if (!p->declined)
		p->declined = p->live.declined;
	for (; until_ns == INT64_MAX && f.kernel < f.kernels_end && status == WS_OK && !p->declined;
	     f.kernel++)
		status = join_kernel(p, f.kernel, true, &blocked, err);
	p->events.first = p->events.n - (size_t)(f.events_end - f.event);
	p->calls.first = p->calls.n - (size_t)(f.calls_end - f.call);
	p->kernels.first = p->kernels.n - (size_t)(f.kernels_end - f.kernel);
	return status;
}

/* --- the end ----------------------------------------------------------------------------- */

static enum ws_status take_facts(struct ws_pass *p, struct ws_err *err)
{
	struct ws_strtab keys = {0};
	enum ws_status status = WS_OK;

	p->m->facts = calloc(p->m->ntexts, sizeof(*p->m->facts));
	if (!p->m->facts)
		return no_memory(err);
	for (size_t i = 0; i < p->nmarks && status == WS_OK; i++)
		status = ws_take_fact(p->m, &keys, p->m->texts[p->marks[i].text], err);
	ws_strtab_free(&keys);
	return status;
}

/* The last mark of a key in the file wins. */
static int by_place(const void *pa, const void *pb)
{
	const struct ws_pass_mark *a = pa, *b = pb;

	return a->at < b->at ? -1 : a->at > b->at;
}

enum ws_status ws_pass_end(struct ws_pass *p, struct ws_err *err)
{
	struct ws_model *m = p->m;

	WS_FORWARD(ws_pass_join(p, INT64_MAX, err));
	if (p->declined)
		return WS_OK;
	/* ranges that never ended end at the last moment of any record */
	if (p->live.begun) {
		WS_FORWARD(ws_load_memory(&p->l, err));
		ws_see_time(m, p->last_ns, p->last_ns);
	}
	for (size_t i = 0; i < p->waiting.nslots; i++)
		if (p->waiting.slots[i].used)
			drop_launch(p, &p->waiting.slots[i]);
	WS_FORWARD(ws_live_end(&p->live, m->end_ns, err));
	WS_FORWARD(end_steps(p, err));
	/* what was counted of it as measured is not */
	for (size_t i = 0; i < m->nsteps && p->scope != WS_SCOPE_ALL; i++)
		if (m->steps[i].unfinished && !m->steps[i].warm_up &&
		    (m->nmeasured || p->scope != WS_SCOPE_STEPS))
			p->declined = "a step did not end";
	if (p->declined)
		return WS_OK;
	ws_path_table_give(&p->live.paths, &m->ranges.paths, &m->ranges.npaths);
	if (p->nmarks)
		qsort(p->marks, p->nmarks, sizeof(*p->marks), by_place);
	return take_facts(p, err);
}
