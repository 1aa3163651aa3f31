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
		WS_FORWARD(ws_pass_look_at_paths(p, err));
	return ws_pass_begin_step(p, range, err);
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

static enum ws_status tell_range(const struct ws_pass *p, const struct ws_live *r, int open,
                                 struct ws_err *err)
{
	const struct ws_joined_range row = {
	        .start_ns = r->start_ns,
	        .end_ns = r->end_ns,
	        .number = r->number,
	        .thread = r->thread,
	        .name = r->name,
	        .path = r->path,
	        .depth = r->depth,
	        .payload = r->payload,
	        .step = r->step,
	        .phase = r->phase,
	        .is_start_end = r->style == WS_RANGE_START_END,
	        .is_open = (uint8_t)open,
	};

	return p->sink->range(p->sink->ctx, &row, err);
}

static enum ws_status close_range(void *ctx, uint32_t range, int open, struct ws_err *err)
{
	struct ws_pass *p = ctx;
	struct ws_live *r = &p->live.range[range];
	uint32_t step = r->step;

	add_bounded(p, &p->range_ns, r->end_ns - r->start_ns);
	p->d->open_ranges += (uint64_t)open;
	if (p->scope != WS_SCOPE_ALL && step == WS_NONE)
		step = ws_pass_step_holding(p, p->l.thread_process[r->thread],
		                            r->start_ns - (r->start_ns == r->end_ns), r->end_ns,
		                            r->thread);
	r->in_scope = ws_pass_counts(p, ws_pass_scope_of(p, step, r->marks));
	if (p->parts & WS_DIGEST_PATHS && r->in_scope) {
		struct ws_path_sums *sums = ws_digest_path(p->d, r->path);

		sums->open += (uint64_t)open;
		if (!ws_values_add(&sums->dur_ns, r->end_ns - r->start_ns))
			return no_memory(err);
	}
	if (p->parts & WS_DIGEST_COSTS && r->op == range && r->counted && r->in_scope)
		close_op(p, r);
	if (p->sink)
		WS_FORWARD(tell_range(p, r, open, err));
	if (p->parts & WS_DIGEST_PRODUCTS && r->op == range && r->counted &&
	    tells_product(&p->m->ops.op[r->payload]))
		p->declined = "the FLOPs of products are held against peaks";
	if (r->step != WS_NONE)
		ws_pass_close_step(p, r, range, open);
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

static enum ws_status tell_kernel(const struct ws_pass *p, const struct ws_pass_kernel *k,
                                  const struct ws_launch_waiting *launch,
                                  const struct ws_kernel_place *place, struct ws_err *err)
{
	const struct ws_live *r = launch->range == WS_NONE ? NULL : &p->live.range[launch->range];
	const struct ws_joined_kernel row = {
	        .start_ns = k->start_ns,
	        .dur_ns = k->dur_ns,
	        .config = k->config,
	        .call = launch->call,
	        .path = r ? r->path : WS_NONE,
	        .class = place->class ? place->class : p->m->configs[k->config].name_class,
	        .direction = place->direction,
	        .dtype = place->dtype,
	        .step = launch->step,
	        .phase = r ? r->phase : WS_PHASE_OTHER,
	        .marks = r ? r->marks : 0,
	        .timed = k->timed,
	        .cut_off = k->cut_off,
	};

	return p->sink->kernel(p->sink->ctx, &row, err);
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
	if (p->sink)
		WS_FORWARD(tell_kernel(p, k, launch, &place, err));
	if (!(p->parts & WS_DIGEST_JOINED_SUMS))
		return WS_OK;
	if (launch->step != WS_NONE)
		WS_FORWARD(ws_digest_add_to_step(p->d, launch->step,
		                                 r ? (enum ws_phase)r->phase : WS_PHASE_OTHER,
		                                 k->dur_ns, err));
	if (!ws_pass_counts(p, (enum ws_scope)launch->scope))
		return WS_OK;
	WS_FORWARD(ws_digest_cell(p->d, k->config, &place, &cell, err));
	WS_FORWARD(ws_digest_add_kernel(p->d, cell, &kernel, err));
	if (p->parts & WS_DIGEST_PATHS)
		add_to_paths(p, launch, place.path, &kernel);
	if (p->parts & WS_DIGEST_COSTS)
		share_flops(p, r, config->name);
	if (r)
		ws_digest_add_marks(p->d, r->marks, k->dur_ns);
	return launch->step == WS_NONE
	               ? WS_OK
	               : ws_pass_count_in_step(p, &p->steps[launch->step], cell, err);
}

static enum ws_status take_launched(struct ws_pass *p, const struct ws_pass_kernel *k,
                                    const struct ws_launch_waiting *launch, uint32_t no_path,
                                    struct ws_err *err)
{
	struct ws_work *w;

	if (k->config != WS_NONE)
		return take_kernel(p, k, launch, no_path, err);
	w = &p->m->work[k->dur_ns];
	w->scope = launch->scope;
	w->call = launch->call;
	w->path = launch->range == WS_NONE ? WS_NONE : p->live.range[launch->range].path;
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
	static const struct ws_launch_waiting none = {.call = WS_NONE,
	                                              .range = WS_NONE,
	                                              .step = WS_NONE,
	                                              .step_range = WS_NONE,
	                                              .scope = WS_SCOPE_OUTSIDE};
	uint32_t process = k->config == WS_NONE ? p->m->work[k->dur_ns].process
	                                        : p->m->configs[k->config].process;
	bool has_id = k->correlation && process != WS_NONE;
	struct ws_launch_waiting *launch =
	        has_id ? ws_launches_find(&p->waiting, process, k->correlation) : NULL;

	if (!launch) {
		/* every call that began before the kernel was read, if it did not return yet */
		*blocked = has_id && !last &&
		           ws_launch_ids_get(&p->ids, process, k->correlation) & WS_LAUNCH_CALL;
		if (*blocked)
			return WS_OK;
		if (has_id)
			WS_FORWARD(ws_launch_ids_note(&p->ids, process, k->correlation,
			                              WS_LAUNCH_ORPHAN, err));
		return take_launched(p, k, &none, WS_PATH_NO_LAUNCH, err);
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

static enum ws_status tell_call(const struct ws_pass *p, const struct ws_pass_call *c,
                                uint32_t *number, struct ws_err *err)
{
	const struct ws_joined_call row = {.start_ns = c->start_ns,
	                                   .dur_ns = c->end_ns - c->start_ns,
	                                   .correlation = c->correlation,
	                                   .name = c->name,
	                                   .thread = c->thread};

	return p->sink->call(p->sink->ctx, &row, number, err);
}

static enum ws_status join_call(struct ws_pass *p, const struct ws_pass_call *c, struct ws_err *err)
{
	struct ws_launch_waiting launch = {.correlation = c->correlation,
	                                   .process = c->process,
	                                   .stays = c->stays,
	                                   .call = WS_NONE,
	                                   .step_range = WS_NONE};
	uint32_t range;

	WS_FORWARD(ws_live_innermost(&p->live, c->thread, c->start_ns, c->end_ns, &range, err));
	launch.range = range;
	launch.step = range == WS_NONE ? WS_NONE : p->live.range[range].step;
	if (launch.step == WS_NONE) {
		launch.step = ws_pass_step_holding(p, c->process, c->start_ns, c->end_ns, WS_NONE);
		if (launch.step != WS_NONE)
			launch.step_range = p->steps[launch.step].live;
	}
	launch.scope = (uint8_t)ws_pass_scope_of(p, launch.step,
	                                         range == WS_NONE ? 0 : p->live.range[range].marks);
	if (ws_pass_calls_have_scope(p) && ws_pass_counts(p, (enum ws_scope)launch.scope))
		WS_FORWARD(
		        ws_digest_add_call(p->d, c->name, c->end_ns - c->start_ns, c->failed, err));
	else
		p->d->ncalls++;
	if (p->sink)
		WS_FORWARD(tell_call(p, c, &launch.call, err));
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

	WS_NEW(&p->m->arena, p->m->facts, p->m->ntexts);
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
	if (p->live.begun || p->sink) {
		WS_FORWARD(ws_load_memory(&p->l, err));
		if (p->first_ns <= p->last_ns)
			ws_extend_time(m, p->first_ns, p->last_ns);
	}
	for (size_t i = 0; i < p->waiting.nslots; i++)
		if (p->waiting.slots[i].used)
			drop_launch(p, &p->waiting.slots[i]);
	WS_FORWARD(ws_live_end(&p->live, m->end_ns, err));
	WS_FORWARD(ws_pass_end_steps(p, err));
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
