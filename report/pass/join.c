/*
 * The join: events to ranges, calls to ranges, kernels to calls, and from
 * there into the digest.
 */
#include <stdlib.h>
#include <string.h>

#include "report/model/label.h"
#include "report/model/steps.h"
#include "report/pass/private.h"

/* --- ranges ------------------------------------------------------------------------------ */

static enum ws_status look_at_family(void *ctx, struct ws_live_family *f,
                                     const struct ws_live_family *parent, struct ws_err *err)
{
	struct ws_pass *p = ctx;
	const struct ws_pass_name *name = &p->names[f->name];
	const struct ws_op_facts *op = NULL;

	f->phase = parent && parent->phase != WS_PHASE_OTHER ? parent->phase : name->phase;
	f->marks = name->marks | (parent ? parent->marks & WS_MARKS_INHERITED : 0);
	f->op = parent ? parent->op : WS_NONE;
	f->is_op = f->payload != WS_NONE && p->m->ops.is_op[f->payload];
	if (f->is_op)
		f->op = f->payload;
	if (f->op != WS_NONE)
		op = &p->m->ops.op[f->op];
	f->class = ws_label_class(op, f->marks);
	f->direction = op ? op->direction : 0;
	f->dtype = op ? op->dtype : 0;
	if (p->npath_steps < p->live.paths.npaths)
		WS_FORWARD(ws_pass_look_at_paths(p, err));
	f->is_step = p->path_is_step[f->path];
	f->begins_step = f->is_step || f->name == WS_TEXT_WARM_UP;
	/* of the ranges around it in its step, its phase is the first */
	f->tells_step = f->begins_step || (f->phase != WS_PHASE_OTHER &&
	                                   !(parent && parent->phase != WS_PHASE_OTHER));
	return WS_OK;
}

static inline enum ws_status begin_range(void *ctx, uint32_t range, struct ws_err *err)
{
	struct ws_pass *p = ctx;
	struct ws_live *r = &p->live.range[range];
	const struct ws_live_family *is = ws_live_is(&p->live, r);

	if (is->is_op) {
		/* a group of operations: the parts are counted, not the whole again */
		if (r->op != WS_NONE)
			p->live.range[r->op].counted = 0;
		r->op = range;
		r->counted = 1;
	}
	return is->begins_step ? ws_pass_begin_step(p, range, err) : WS_OK;
}

/* No sum of FLOPs or bytes may overflow: an operation that is too big for that is not counted. In
 * the order in which they end. */
static bool fits(struct ws_pass *p, const struct ws_op_facts *op)
{
	int64_t flops, bytes;

	if (__builtin_add_overflow(p->flops, op->flops > 0 ? op->flops : 0, &flops) ||
	    __builtin_add_overflow(p->bytes, op->bytes > 0 ? op->bytes : 0, &bytes))
		return false;
	p->flops = flops;
	p->bytes = bytes;
	return true;
}

static void close_op(struct ws_pass *p, struct ws_live *r)
{
	const struct ws_live_family *is = ws_live_is(&p->live, r);
	const struct ws_op_facts *op = &p->m->ops.op[is->payload];

	r->counted = fits(p, op);
	p->m->left.ops_too_big += !r->counted;
	if (r->counted && p->parts & WS_DIGEST_COSTS && r->in_scope)
		ws_digest_add_cost(p->d, p->live.paths.paths, is->path, op->flops, op->bytes);
}

/* … and is counted, or told. */
static enum ws_status close_counted(struct ws_pass *p, uint32_t range, int open, struct ws_err *err)
{
	struct ws_live *r = &p->live.range[range];
	const struct ws_live_family *is = ws_live_is(&p->live, r);
	uint32_t step = r->step;

	if ((p->scope != WS_SCOPE_ALL || p->sink) && step == WS_NONE)
		step = ws_pass_step_holding(p, is->process,
		                            r->start_ns - (r->start_ns == r->end_ns), r->end_ns,
		                            is->thread);
	r->in_scope = ws_pass_counts(p, ws_pass_scope_of(p, step, is->marks));
	if (p->parts & WS_DIGEST_PATHS && r->in_scope) {
		struct ws_pass_count *counted = ws_pass_next_count(p);

		counted->dur_ns = r->end_ns - r->start_ns;
		counted->to = is->path;
		counted->is_path = true;
		if (open)
			ws_digest_path(p->d, is->path)->open++;
	}
	if (r->op == range && r->counted)
		close_op(p, r);
	return p->sink ? ws_pass_tell_range(p, range, step, open, err) : WS_OK;
}

static inline enum ws_status close_range(void *ctx, uint32_t range, int open, struct ws_err *err)
{
	struct ws_pass *p = ctx;
	struct ws_live *r = &p->live.range[range];
	const struct ws_live_family *is = ws_live_is(&p->live, r);

	WS_FAIL_IF(__builtin_add_overflow(p->range_ns, r->end_ns - r->start_ns, &p->range_ns), err,
	           CORRUPT, "the ranges' times add up to over 2^63 ns");
	p->m->ranges.folded += is->depth >= WS_RANGE_MAX_DEPTH;
	/* most are of no interest but for what is in them */
	if (p->parts & WS_DIGEST_PATHS || p->sink || r->op == range)
		WS_FORWARD(close_counted(p, range, open, err));
	if (is->tells_step && r->step != WS_NONE)
		ws_pass_close_step(p, r, range, open);
	return WS_OK;
}

static void widen(struct ws_live *r, int64_t first_ns, int64_t last_ns)
{
	r->first_ns = first_ns < r->first_ns ? first_ns : r->first_ns;
	r->last_ns = last_ns > r->last_ns ? last_ns : r->last_ns;
}

static void finish_counted(struct ws_pass *p, uint32_t range)
{
	struct ws_live *r = &p->live.range[range];
	const struct ws_live_family *is = ws_live_is(&p->live, r);
	uint32_t name = r->kernel_name;

	/* what a child launched, its parent did */
	if (r->first_ns <= r->last_ns) {
		if (r->parent != WS_NONE)
			widen(&p->live.range[r->parent], r->first_ns, r->last_ns);
		if (r->in_scope)
			ws_digest_path(p->d, is->path)->projected_ns += r->last_ns - r->first_ns;
	}
	p->m->left.ops_without_kernel += r->op == range && r->counted && !r->launched;
	if (!(p->parts & WS_DIGEST_COSTS) || !name || name == WS_NONE)
		return;
	if (r->counted && r->in_scope)
		p->d->flops[name] += p->m->ops.op[is->payload].flops;
	else
		p->d->flops_unknown[name] = 1;
}

static inline void finish_range(void *ctx, uint32_t range)
{
	struct ws_pass *p = ctx;

	if (p->parts & WS_DIGEST_PATHS || p->live.range[range].op == range)
		finish_counted(p, range);
}

static const struct ws_live_events live_events = {look_at_family, begin_range, close_range,
                                                  finish_range};

const struct ws_live_events *ws_pass_live_events(void)
{
	return &live_events;
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

	if (!op || p->m->ops.op[ws_live_is(&p->live, op)->payload].flops < 0) {
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
	ws_digest_add_to_path(p->d, p->live.paths.paths,
	                      ws_live_is(&p->live, &p->live.range[launch->step_range])->path,
	                      kernel);
	if (kernel->timed)
		widen(&p->live.range[launch->step_range], kernel->start_ns, end_ns);
}

/* Where a kernel of a range counts, or of none. no_path: WS_PATH_NO_… for one in no range. */
static struct ws_kernel_place place_of(const struct ws_config *config,
                                       const struct ws_live_family *is, uint32_t no_path)
{
	return (struct ws_kernel_place){
	        is ? is->path : no_path,
	        is ? is->class : 0,
	        is && is->direction ? is->direction : config->name_direction,
	        is && is->dtype ? is->dtype : config->name_dtype,
	};
}

/* Its cell. Ranges of a family launch the same again. */
static enum ws_status find_cell(struct ws_pass *p, uint32_t config, struct ws_live_family *is,
                                uint32_t no_path, uint32_t *cell, struct ws_err *err)
{
	struct ws_kernel_place place;

	if (is && is->config == config) {
		*cell = is->cell;
		return WS_OK;
	}
	place = place_of(&p->m->configs[config], is, no_path);
	WS_FORWARD(ws_digest_cell(p->d, config, &place, cell, err));
	if (is) {
		is->config = config;
		is->cell = *cell;
	}
	return WS_OK;
}

/* What the join left over, whatever the scope. */
static void count_left(struct ws_pass *p, const struct ws_pass_kernel *k, const struct ws_live *r,
                       uint32_t no_path)
{
	const struct ws_config *config = &p->m->configs[k->config];
	const uint32_t by_range = r ? ws_live_is(&p->live, r)->class : 0;
	const uint32_t class = by_range ? by_range : config->name_class;
	struct ws_leftovers *left = &p->m->left;

	left->no_launch += !r && no_path == WS_PATH_NO_LAUNCH;
	left->no_range += !r && no_path == WS_PATH_NO_RANGE;
	left->no_time += !k->timed;
	left->cut_off += k->timed && k->cut_off;
	left->no_config += !k->config;
	left->unknown_class += !class;
	p->m->has_comm |= class == WS_TEXT_COMM;
	if (r && r->op != WS_NONE)
		p->live.range[r->op].launched = 1;
}

/* With what is known of its call. */
static enum ws_status take_kernel(struct ws_pass *p, const struct ws_pass_kernel *k,
                                  const struct ws_launch_waiting *launch, uint32_t no_path,
                                  struct ws_err *err)
{
	const struct ws_config *config = &p->m->configs[k->config];
	struct ws_live *r = launch->range == WS_NONE ? NULL : &p->live.range[launch->range];
	struct ws_live_family *is = r ? ws_live_is(&p->live, r) : NULL;
	const struct ws_digest_kernel kernel = {
	        .start_ns = k->timed ? k->start_ns : 0,
	        .dur_ns = k->dur_ns,
	        .timed = k->timed,
	        .device = config->device,
	        .order = (uint64_t)config->device << 40 | p->nkernels++,
	};
	struct ws_pass_count *counted;
	uint32_t cell = 0;

	p->m->devices[config->device].kernels++;
	if (p->parts & WS_DIGEST_LEFT)
		count_left(p, k, r, no_path);
	if (p->sink) {
		const struct ws_kernel_place place = place_of(config, is, no_path);

		WS_FORWARD(ws_pass_tell_kernel(p, k, launch, &place, err));
	}
	if (!(p->parts & WS_DIGEST_JOINED_SUMS))
		return WS_OK;
	if (launch->step != WS_NONE)
		WS_FORWARD(ws_digest_add_to_step(p->d, launch->step,
		                                 is ? (enum ws_phase)is->phase : WS_PHASE_OTHER,
		                                 k->dur_ns, err));
	if (!ws_pass_counts(p, (enum ws_scope)launch->scope))
		return WS_OK;
	WS_FORWARD(find_cell(p, k->config, is, no_path, &cell, err));
	counted = ws_pass_next_count(p);
	counted->dur_ns = k->dur_ns;
	counted->order = kernel.order;
	counted->to = cell;
	counted->is_path = false;
	counted->timed = k->timed;
	if (p->parts & WS_DIGEST_PATHS)
		add_to_paths(p, launch, is ? is->path : no_path, &kernel);
	if (p->parts & WS_DIGEST_COSTS)
		share_flops(p, r, config->name);
	if (is && is->marks & (WS_IN_WARM_UP | WS_IN_SETUP))
		ws_digest_add_marks(p->d, is->marks, k->dur_ns);
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
	w->range = ws_pass_range_number(p, launch->range);
	w->step = launch->step;
	w->path = launch->range == WS_NONE
	                  ? WS_NONE
	                  : ws_live_is(&p->live, &p->live.range[launch->range])->path;
	return WS_OK;
}

static void drop_launch(struct ws_pass *p, const struct ws_launch_waiting *launch)
{
	if (launch->range != WS_NONE)
		ws_live_drop(&p->live, &live_events, launch->range);
	if (launch->step_range != WS_NONE)
		ws_live_drop(&p->live, &live_events, launch->step_range);
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
	struct ws_launch_waiting *launch;
	bool has_id;

	process = ws_pass_id_process(p, process);
	has_id = k->correlation && process != WS_NONE;
	launch = has_id ? ws_launches_find(&p->waiting, process, k->correlation) : NULL;

	if (!launch) {
		/* every call that began before the kernel was read, if it did not return yet; of
		 * ids that were joined ahead each has one */
		*blocked = has_id && !last &&
		           (p->ahead || ws_launch_ids_get(&p->called, process, k->correlation) &
		                                WS_LAUNCH_ONCE);
		if (*blocked)
			return WS_OK;
		if (has_id)
			WS_FORWARD(ws_launch_ids_note(&p->called, process, k->correlation,
			                              WS_LAUNCH_AGAIN, err));
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

/* What waits, if anything does, is written where it waits: it would go through memory twice. */
static enum ws_status join_call(struct ws_pass *p, const struct ws_pass_row *c,
                                const struct ws_live_shape *shape, struct ws_err *err)
{
	const uint32_t range = ws_live_innermost(&p->live, shape->thread, c->start_ns, c->time_ns);
	struct ws_launch_waiting none, *launch = &none;

	if (c->launches)
		WS_FORWARD(ws_launches_put(&p->waiting, ws_pass_id_process(p, shape->process),
		                           c->id, &launch, err));
	launch->stays = c->stays;
	launch->call = launch->step_range = WS_NONE;
	launch->range = range;
	launch->step = range == WS_NONE ? WS_NONE : p->live.range[range].step;
	if (launch->step == WS_NONE && p->nactive) {
		launch->step =
		        ws_pass_step_holding(p, shape->process, c->start_ns, c->time_ns, WS_NONE);
		if (launch->step != WS_NONE)
			launch->step_range = p->steps[launch->step].live;
	}
	launch->scope = (uint8_t)ws_pass_scope_of(p, launch->step, ws_pass_range_marks(p, range));
	if (ws_pass_calls_have_scope(p) && ws_pass_counts(p, (enum ws_scope)launch->scope))
		WS_FORWARD(ws_digest_add_call(p->d, shape->name, c->time_ns - c->start_ns,
		                              (int)shape->failed, err));
	else
		p->d->ncalls++;
	if (p->sink) {
		WS_FORWARD(ws_pass_tell_call(p, c, launch, err));
		if (p->m->attribution.first && shape->thread < p->live.nthreads &&
		    p->live.threads[shape->thread].crosses)
			WS_FORWARD(ws_pass_add_crossings(p, c, shape->thread, launch, err));
	}
	if (!c->launches)
		return WS_OK;
	if (range != WS_NONE)
		ws_live_hold(&p->live, range);
	if (launch->step_range != WS_NONE)
		ws_live_hold(&p->live, launch->step_range);
	return WS_OK;
}

static void join_op(struct ws_pass *p, const struct ws_pass_row *op,
                    const struct ws_live_shape *shape)
{
	uint32_t range = ws_live_innermost(&p->live, shape->thread, op->start_ns, op->time_ns);

	p->m->cpu_ops.range[op->id] = ws_pass_range_number(p, range);
}

/* The rows that wait. */
struct fronts {
	const struct ws_pass_row *row, *rows_end;
	const struct ws_pass_kernel *kernel, *kernels_end;
};

static struct fronts fronts_of(const struct ws_pass *p)
{
	const struct ws_pass_row *rows = (const struct ws_pass_row *)p->rows.rows;
	const struct ws_pass_kernel *kernels = (const struct ws_pass_kernel *)p->kernels.rows;

	return (struct fronts){rows + p->rows.first, rows + p->rows.n, kernels + p->kernels.first,
	                       kernels + p->kernels.n};
}

/* What waited long is far from the core: it is asked for so many kernels before it is needed. */
#define AHEAD 6

/* Kernels that began before until_ns, up to one that is blocked. */
static enum ws_status join_kernels(struct ws_pass *p, struct fronts *f, int64_t until_ns,
                                   bool *blocked, struct ws_err *err)
{
	while (f->kernel < f->kernels_end && f->kernel->start_ns < until_ns && !*blocked) {
		if (f->kernels_end - f->kernel > AHEAD)
			ws_launches_ahead(&p->waiting, f->kernel[AHEAD].correlation);
		WS_FORWARD(join_kernel(p, f->kernel, false, blocked, err));
		f->kernel += !*blocked;
	}
	return WS_OK;
}

static enum ws_status join_rows(struct ws_pass *p, struct fronts *f, int64_t until_ns,
                                struct ws_err *err)
{
	bool blocked = false;

	while (f->row < f->rows_end && f->row->time_ns < until_ns && !p->live.stopped) {
		const struct ws_pass_row *row = f->row++;
		const struct ws_live_shape *shape = &p->shapes.shape[row->shape];

		if (f->kernel < f->kernels_end && f->kernel->start_ns < row->time_ns && !blocked)
			WS_FORWARD(join_kernels(p, f, row->time_ns, &blocked, err));
		WS_FORWARD(ws_live_pass_time(&p->live, row->time_ns, err));
		if (shape->type == WS_THREAD_EVENT_API) {
			blocked = false;
			WS_FORWARD(join_call(p, row, shape, err));
		} else if (shape->type == WS_PASS_CPU_OP) {
			join_op(p, row, shape);
		} else {
			const struct ws_live_row event = ws_pass_event(row);

			WS_FORWARD(ws_live_event(&p->live, &live_events, &event, shape, err));
		}
	}
	return join_kernels(p, f, until_ns, &blocked, err);
}

/*
 * What happens first, comes first. At one time events stand before calls, as
 * a call that ends with a range lies in it; a kernel waits for its call,
 * which may return after the kernel began, and with it all kernels behind it.
 */
enum ws_status ws_pass_join(struct ws_pass *p, int64_t until_ns, struct ws_err *err)
{
	bool blocked = false;
	enum ws_status status;
	struct fronts f;

	if (p->framework.is_there) {
		WS_FORWARD(ws_pass_take_framework(p, until_ns, &p->rows, err));
		WS_FORWARD(ws_pass_add_shapes(&p->shapes, &p->found, p->shapes.n, err));
	}
	WS_FORWARD(ws_pass_rows_sort(&p->rows, err));
	WS_FORWARD(ws_pass_rows_sort(&p->kernels, err));
	f = fronts_of(p);
	status = join_rows(p, &f, until_ns, err);
	if (!p->stopped && p->live.stopped) {
		p->stopped = true;
		p->again->ranges_cross = p->again->knows_more = !(p->parts & WS_DIGEST_JOINED_SUMS);
	}
	for (; until_ns == INT64_MAX && f.kernel < f.kernels_end && status == WS_OK && !p->stopped;
	     f.kernel++)
		status = join_kernel(p, f.kernel, true, &blocked, err);
	p->rows.first = p->rows.n - (size_t)(f.rows_end - f.row);
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
		return WS_FAIL_MEMORY(err, "joining the records of a trace");
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
	bool counted = false;

	WS_FORWARD(ws_pass_join(p, INT64_MAX, err));
	if (p->stopped)
		return WS_OK;
	/* ranges that never ended end at the last moment of any record */
	if (p->live.begun || p->sink) {
		WS_FORWARD(ws_load_memory(&p->l, err));
		if (p->first_ns <= p->last_ns)
			ws_extend_time(m, p->first_ns, p->last_ns);
		if (m->begin_ns > m->end_ns)
			m->begin_ns = m->end_ns = 0;
	}
	for (size_t i = 0; i < p->waiting.nslots; i++)
		if (p->waiting.slots[i].used)
			drop_launch(p, &p->waiting.slots[i]);
	WS_FORWARD(ws_live_end(&p->live, m->end_ns, err));
	if (ws_pass_ends_are_wrong(p)) {
		p->stopped = true;
		return WS_OK;
	}
	WS_FORWARD(ws_pass_counts_end(p, err));
	WS_FORWARD(ws_pass_end_steps(p, err));
	if (p->scope != WS_SCOPE_ALL && (m->nmeasured || p->scope != WS_SCOPE_STEPS))
		WS_FORWARD(ws_pass_find_unended(p, &counted, err));
	if (counted) {
		p->stopped = true;
		return WS_OK;
	}
	m->ranges.open = p->live.open_at_end;
	m->ranges.cross_thread = p->live.cross_thread;
	m->ranges.unmatched_pops = p->live.unmatched_pops;
	m->ranges.unmatched_ends = p->live.unmatched_ends;
	ws_path_table_give(&p->live.paths, &m->ranges.paths, &m->ranges.npaths);
	if (p->nmarks)
		qsort(p->marks, p->nmarks, sizeof(*p->marks), by_place);
	return take_facts(p, err);
}
