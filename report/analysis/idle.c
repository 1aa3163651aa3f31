#include "report/analysis/calibration.h"
#include "report/analysis/idle.h"
#include "report/base/names.h"
#include "report/base/stat.h"

static struct ws_idle_verdict ws_idle_judge(const struct ws_model *m,
                                            const struct ws_device_use *use, const double range[2]);

/* --- device work ------------------------------------------------------------------------ */

/* One piece of device work. */
struct piece {
	int64_t start_ns, end_ns;
	uint32_t call, path; /* WS_NONE */
	uint32_t name;       /* text of a kernel's name, WS_NONE */
	uint8_t use;         /* WS_USE_COMPUTE, _COLLECTIVE, _COPY or _PAGING */
};

/* Position of the sweep over one device's pieces. */
struct place {
	size_t kernel, kernels_end, work, work_end; /* next rows of the device */
	struct piece next;                          /* the next one by begin */
	bool has_next;
	/* it turned to one context of the trace, and away: if there were two, it may have turned
	 * from one to the other, and so a cause cannot be told by that */
	bool one_context;
	struct ws_values dur_ns;   /* of passed kernels in windows */
	int64_t until_ns[WS_USES]; /* end of the work of each use so far; INT64_MIN: none yet */
	int64_t at_ns;             /* time before this is counted */
};

struct finder {
	const struct ws_model *m;
	const struct ws_selection *sel;
	const struct ws_windows *w;
	struct ws_idle *out;
	struct ws_arena *results; /* arena of the result */
	const struct ws_host_activity *host;
	bool may_wait;                /* a recorded cause can delay launched work */
	struct ws_spans recording;    /* when threads recorded, by known costs: on_thread */
	int64_t apart_ns;             /* in these, begins of threads are so far apart */
	bool is_whole;                /* recording counts as what it delays */
	const double *measured_share; /* of ws_idle */
	struct place *place;          /* by device */
	uint32_t device;              /* the current device */
	void (*on_span)(void *ctx, const struct ws_idle_span *span); /* may be NULL */
	void *ctx;
	struct ws_arena arena;
};

/* --- pieces in order -------------------------------------------------------------------------- */

/* CUPTI's kinds of copies of managed memory, made by page faults or prefetching, not by calls. */
enum { COPY_MANAGED_FIRST = 11, COPY_MANAGED_LAST = 13 };

enum ws_use ws_use_of_work(const struct ws_work *w)
{
	return w->kind == WS_WORK_GRAPH ? WS_USE_COMPUTE
	       : w->kind == WS_WORK_MEMCPY && w->direction >= COPY_MANAGED_FIRST &&
	                       w->direction <= COPY_MANAGED_LAST
	               ? WS_USE_PAGING
	               : WS_USE_COPY;
}

/* Advances to the next piece by begin; of a kernel and other work with equal begin, to the one that
 * ends first. */
static void step_on(struct finder *c, struct place *p)
{
	struct piece kernel, work;

	while (p->kernel < p->kernels_end &&
	       !ws_kernel_ran(c->sel, ws_joined_rows_kernel(c->sel->rows, p->kernel), p->kernel))
		p->kernel++;
	bool has_kernel = p->kernel < p->kernels_end;
	if (has_kernel) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(c->sel->rows, p->kernel);

		kernel = (struct piece){k->start_ns,
		                        k->start_ns + k->dur_ns,
		                        k->call,
		                        k->kind->path,
		                        c->m->configs[k->kind->config].name,
		                        k->kind->class == WS_TEXT_COMM ? WS_USE_COLLECTIVE
		                                                       : WS_USE_COMPUTE};
	}
	while (p->work < p->work_end && !ws_work_ran(c->sel, c->m, p->work))
		p->work++;
	bool has_work = p->work < p->work_end;
	if (has_work) {
		const struct ws_work *w = &c->m->work[p->work];

		work = (struct piece){w->start_ns, w->start_ns + w->dur_ns, w->call, w->path,
		                      WS_NONE,     ws_use_of_work(w)};
	}
	bool is_work =
	        has_work && (!has_kernel || work.start_ns < kernel.start_ns ||
	                     (work.start_ns == kernel.start_ns && work.end_ns < kernel.end_ns));
	p->has_next = has_kernel || has_work;
	p->next = is_work ? work : kernel;
	p->kernel += has_kernel && !is_work;
	p->work += is_work;
}

/* --- causes --------------------------------------------------------------------------------- */

static int64_t min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max_ns(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A gap of a device, divided into consecutive parts with their ends. */
struct gap {
	size_t n;
	struct part {
		int64_t end_ns;
		enum ws_use use;
	} part[3];
};

static void add_part(struct gap *g, int64_t end_ns, enum ws_use use)
{
	g->part[g->n++] = (struct part){end_ns, use};
}

/* Do these spans cover more than half of the time? */
static bool is_mostly(const struct ws_spans *spans, int64_t from_ns, int64_t to_ns)
{
	return 2 * ws_spans_inside(spans, from_ns, to_ns) > to_ns - from_ns;
}

static enum ws_use launch_or_host(const struct finder *c, int64_t from_ns, int64_t to_ns)
{
	return to_ns - from_ns <= WS_IDLE_LAUNCH_US * 1000  ? WS_USE_LAUNCH
	       : is_mostly(&c->host->setup, from_ns, to_ns) ? WS_USE_SETUP
	                                                    : WS_USE_HOST;
}

/* Did the device turn from one context to another? */
static bool is_shared(const struct finder *c, int64_t from_ns, int64_t to_ns)
{
	const struct ws_context_switch *all = c->m->switches;
	size_t i;

	if (!c->place[c->device].one_context)
		return false;
	WS_COUNT_FIRST(i, c->m->nswitches,
	               all[i].device < c->device ||
	                       (all[i].device == c->device && all[i].time_ns < from_ns));
	return i < c->m->nswitches && all[i].device == c->device && all[i].time_ns <= to_ns;
}

/* Launched work began late. */
static enum ws_use wait_or_unknown(const struct finder *c, int64_t from_ns, int64_t to_ns)
{
	return is_shared(c, from_ns, to_ns) ? WS_USE_SHARED
	       : c->may_wait                ? WS_USE_WAIT
	                                    : WS_USE_UNKNOWN;
}

/* since_ns: when the device became idle, INT64_MIN: no earlier work; from_ns: since_ns or the begin
 * of the window. */
static struct gap explain(struct finder *c, int64_t since_ns, int64_t from_ns, int64_t to_ns,
                          const struct piece *next)
{
	struct gap g = {0};

	if (c->m->soundness.obstacle) {
		add_part(&g, to_ns, WS_USE_UNKNOWN);
		return g;
	}
	const struct ws_joined_call *call = since_ns == INT64_MIN || !next
	                                            ? NULL
	                                            : ws_joined_rows_call(c->sel->rows, next->call);
	if (!call) {
		const bool is_known = next && since_ns != INT64_MIN;

		add_part(&g, to_ns,
		         is_known && next->use == WS_USE_PAGING       ? WS_USE_PAGING
		         : is_known                                   ? WS_USE_UNKNOWN
		         : is_mostly(&c->host->data, from_ns, to_ns)  ? WS_USE_DATA
		         : is_mostly(&c->host->setup, from_ns, to_ns) ? WS_USE_SETUP
		         : !next                                      ? WS_USE_END
		         : c->m->kept_from_ns > INT64_MIN             ? WS_USE_UNKNOWN
		                                                      : WS_USE_START);
		return g;
	}
	int64_t call_ns = call->start_ns;
	int64_t made_ns = call->start_ns + call->dur_ns;
	if (made_ns <= from_ns) { /* it was already launched */
		add_part(&g, to_ns,
		         to_ns - from_ns <= WS_IDLE_QUEUE_US * 1000
		                 ? WS_USE_DEVICE
		                 : wait_or_unknown(c, from_ns, to_ns));
		return g;
	}
	const int64_t until_ns = min_ns(to_ns, made_ns);

	if (call_ns <= from_ns) {
		/* the launch call itself was slow */
		add_part(&g, until_ns, launch_or_host(c, from_ns, made_ns));
	} else if (is_mostly(&c->host->data, from_ns, until_ns)) {
		add_part(&g, until_ns, WS_USE_DATA);
	} else if (is_mostly(&c->host->searches, from_ns, until_ns)) {
		add_part(&g, until_ns, WS_USE_SETUP);
	} else {
		/* The host had not launched the work. Without waiting for the device, it would have
		 * launched earlier by the duration of its wait, and no more. */
		const int64_t waited_ns =
		        min_ns(ws_host_waited(c->host, from_ns, call_ns), until_ns - from_ns);

		if (waited_ns)
			add_part(&g, from_ns + waited_ns, WS_USE_SYNC);
		if (from_ns + waited_ns < until_ns)
			add_part(&g, until_ns, launch_or_host(c, from_ns + waited_ns, until_ns));
	}

	/* launched by then, and yet it began late */
	if (to_ns - made_ns > WS_IDLE_QUEUE_US * 1000)
		add_part(&g, to_ns, wait_or_unknown(c, made_ns, to_ns));
	g.part[g.n - 1].end_ns = to_ns;
	return g;
}

/* Adds a use from start to end; whole_ns: length of the whole gap, 0 for work. */
static void use_add(const struct finder *c, struct ws_device_use *use, enum ws_use what,
                    int64_t start_ns, int64_t end_ns, int64_t whole_ns)
{
	const int64_t ns = end_ns - start_ns;

	if (ns <= 0)
		return;
	if (c->on_span)
		c->on_span(c->ctx, &(struct ws_idle_span){c->device, what, start_ns, end_ns});
	use->ns[what] += ns;
	use->window_ns += ns;
	if (!whole_ns)
		return;
	use->gaps[what]++;
	use->longest_ns[what] = max_ns(use->longest_ns[what], whole_ns);
}

bool ws_use_is_of_host(enum ws_use use)
{
	return use == WS_USE_LAUNCH || use == WS_USE_HOST || use == WS_USE_SYNC ||
	       use == WS_USE_DATA || use == WS_USE_START || use == WS_USE_END;
}

/* A time of a thread in the spans of all. */
static int64_t on_thread(const struct finder *c, uint32_t thread, int64_t ns)
{
	return ns - c->m->begin_ns + (int64_t)thread * c->apart_ns;
}

/* The part of a wait for the launch of next that is recording, on the thread of that launch. */
static int64_t recording_in(const struct finder *c, enum ws_use use, int64_t from_ns, int64_t to_ns,
                            const struct piece *next)
{
	if (to_ns <= from_ns)
		return 0;
	if (c->measured_share)
		return ws_use_is_of_host(use)
		               ? (int64_t)(c->measured_share[c->device] * (double)(to_ns - from_ns))
		               : 0;
	const struct ws_joined_call *call = use == WS_USE_LAUNCH && next && c->apart_ns
	                                            ? ws_joined_rows_call(c->sel->rows, next->call)
	                                            : NULL;

	if (!call || call->kind->thread >= c->m->nthreads)
		return 0;
	return ws_spans_inside(&c->recording, on_thread(c, call->kind->thread, from_ns),
	                       on_thread(c, call->kind->thread, to_ns));
}

static void add_to_path(int64_t *of_path, const struct ws_model *m, uint32_t path, int64_t ns)
{
	for (; path != WS_NONE; path = m->ranges.paths[path].parent)
		of_path[path] += ns;
}

/* Adds a gap that began at `from`; its part [at, to] is in the window. */
static void add_gap(struct finder *c, int64_t from_ns, int64_t at_ns, int64_t to_ns,
                    const struct piece *next, struct ws_device_use *use)
{
	int64_t begin = from_ns == INT64_MIN ? at_ns : from_ns;
	int64_t end = next ? next->start_ns : to_ns;
	const struct gap g = explain(c, from_ns, begin, end, next);
	int64_t most_ns = -1;
	enum ws_use cause = WS_USE_UNKNOWN;
	struct ws_idle *idle = c->out;

	for (size_t i = 0; i < g.n; i++) {
		const enum ws_use what = g.part[i].use;
		const int64_t start = max_ns(at_ns, begin), last = min_ns(to_ns, g.part[i].end_ns),
		              recording_ns = recording_in(c, what, start, last, next),
		              first = start + recording_ns;

		use_add(c, use, WS_USE_RECORDING, start, first, recording_ns);
		use->recording_ns[what] += recording_ns;
		if (next && recording_ns)
			add_to_path(c->out->path_gap_ns[WS_USE_RECORDING], c->m, next->path,
			            recording_ns);
		use_add(c, use, what, first, last, g.part[i].end_ns - begin);
		if (next && last > first)
			add_to_path(c->out->path_gap_ns[what], c->m, next->path, last - first);
		if (last > first && what == WS_USE_LAUNCH && next && next->use == WS_USE_COPY)
			c->out->launch_before_copies_ns += last - first;
		if (last - start > most_ns) {
			most_ns = last - start;
			cause = what;
		}
		begin = g.part[i].end_ns;
	}
	/* insert it into the list of the longest; equal ones in order of time */
	size_t at = idle->nlongest;
	while (at && idle->longest[at - 1].end_ns - idle->longest[at - 1].start_ns < to_ns - at_ns)
		at--;
	if (at == WS_IDLE_LONGEST)
		return;
	idle->nlongest += idle->nlongest < WS_IDLE_LONGEST;
	for (size_t i = idle->nlongest - 1; i > at; i--)
		idle->longest[i] = idle->longest[i - 1];
	idle->longest[at] = (struct ws_idle_gap){
	        .device = c->device,
	        .start_ns = at_ns,
	        .end_ns = to_ns,
	        .cause = cause,
	        .next = next ? next->name : WS_NONE,
	        .call = next ? next->call : WS_NONE,
	};
}

/* Assigns [at, to] of a device, in which no piece begins, to the running work, most important
 * first. */
static void advance(struct finder *c, struct place *p, int64_t to_ns, const struct piece *next,
                    struct ws_device_use *use)
{
	int64_t idle_from = INT64_MIN;

	static const enum ws_use running[] = {WS_USE_COMPUTE, WS_USE_COLLECTIVE, WS_USE_COPY,
	                                      WS_USE_PAGING};

	for (size_t i = 0; i < sizeof(running) / sizeof(*running); i++) {
		const enum ws_use what = running[i];
		int64_t until = min_ns(p->until_ns[what], to_ns);

		idle_from = max_ns(idle_from, p->until_ns[what]);
		if (until > p->at_ns) {
			use_add(c, use, what, p->at_ns, until, 0);
			p->at_ns = until;
		}
	}
	if (to_ns > p->at_ns) {
		add_gap(c, idle_from, p->at_ns, to_ns, next, use);
		p->at_ns = to_ns;
	}
}

static void run(struct place *p, const struct piece *piece)
{
	p->until_ns[piece->use] = max_ns(p->until_ns[piece->use], piece->end_ns);
}

/* Passes the next piece. Stores the duration of a kernel in the windows, by device and by path. */
static void pass(struct finder *c, struct place *p)
{
	const struct piece *at = &p->next;
	const int64_t ns = at->end_ns - at->start_ns;
	size_t i = SIZE_MAX;

	if (at->use != WS_USE_COPY)
		WS_COUNT_FIRST(i, c->w->n, c->w->window[i].end_ns <= at->start_ns);
	if (i < c->w->n && c->w->window[i].start_ns <= at->start_ns) {
		ws_values_add(&p->dur_ns, ns);
		add_to_path(c->out->path_kernel_ns, c->m, at->path, ns);
	}
	step_on(c, p);
}

static void use_join(struct ws_device_use *to, const struct ws_device_use *from)
{
	to->window_ns += from->window_ns;
	to->kernels += from->kernels;
	for (int i = 0; i < WS_USES; i++) {
		to->ns[i] += from->ns[i];
		to->gaps[i] += from->gaps[i];
		to->longest_ns[i] = max_ns(to->longest_ns[i], from->longest_ns[i]);
		to->recording_ns[i] += from->recording_ns[i];
	}
}

static void add_recording(struct finder *f, uint32_t thread, int64_t start_ns, int64_t cost_ns)
{
	if (thread < f->m->nthreads)
		ws_spans_add(&f->recording, on_thread(f, thread, start_ns),
		             on_thread(f, thread, start_ns) + cost_ns);
}

/* When the host recorded, by the known costs of what it recorded. */
static void find_recording(struct finder *f)
{
	const struct ws_model *m = f->m;
	struct ws_joined_rows *rows = f->sel->rows;
	const struct ws_op_tree *ops = &m->cpu_ops.tree;
	const bool has_all_calls = ws_recording_has_all_calls(m);
	const int64_t launch_ns = ws_recording_launch_ns(m);

	f->apart_ns = m->end_ns - m->begin_ns + launch_ns;
	if (f->apart_ns > INT64_MAX / 2 / ((int64_t)m->nthreads + 1)) {
		f->apart_ns = 0; /* no run is so long */
		return;
	}
	ws_spans_open(&f->recording, rows->nkernels + m->nwork + rows->nranges + ops->n +
	                                     (has_all_calls ? rows->ncalls : 0));
	WS_EACH_KERNEL(rows, i, k) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, k->call);

		if (call)
			add_recording(f, call->kind->thread, call->start_ns, launch_ns);
	}
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, m->work[i].call);

		if (call)
			add_recording(f, call->kind->thread, call->start_ns, launch_ns);
	}
	if (has_all_calls)
		WS_EACH_CALL(rows, i, call)
			add_recording(f, call->kind->thread, call->start_ns, WS_COST_CALL_NS);
	WS_EACH_RANGE(rows, i, r)
		add_recording(f, r->context->thread, r->start_ns, WS_COST_RANGE_NS);
	for (size_t i = 0; i < ops->n; i++)
		add_recording(f, ops->thread[i], ops->start_ns[i], WS_COST_OP_NS);
	ws_spans_merge(&f->recording);
}

/* Fills an empty result from the arena, and frees what the finder has. */
static void find_into(struct finder *f, struct ws_arena *arena, struct ws_idle *idle)
{
	const struct ws_model *m = f->m;
	bool for_event = false, for_host = m->host_functions > 0;
	size_t work = 0, busy = 0;

	*idle = (struct ws_idle){.ndevices = m->ndevices};
	WS_NEW(arena, idle->device, m->ndevices);
	for (int use = 0; use < WS_USES; use++)
		WS_NEW(arena, idle->path_gap_ns[use], m->ranges.npaths);
	WS_NEW(arena, idle->path_kernel_ns, m->ranges.npaths);
	f->out = idle;
	f->results = arena;
	if (!f->w)
		f->w = ws_windows(f->m, f->sel);
	WS_NEW(&f->arena, f->place, f->m->ndevices);
	for (uint32_t d = 0; d < m->ndevices; d++) {
		struct place *p = &f->place[d];

		*p = (struct place){.kernel = d ? p[-1].kernels_end : 0,
		                    .kernels_end = ws_first_kernel_of(m, f->sel, d + 1),
		                    .work = work,
		                    .at_ns = INT64_MIN};
		while (work < m->nwork && m->work[work].device <= d)
			work++;
		p->work_end = work;
		for (int use = 0; use < WS_USES; use++)
			p->until_ns[use] = INT64_MIN;
	}
	for (size_t i = 0; i < m->nswitches; i++) {
		const struct ws_context_switch *s = &m->switches[i];
		bool *one = &f->place[s->device].one_context;

		*one = !i || s[-1].device != s->device ||
		       (*one && s[-1].process == s->process && s[-1].context == s->context);
	}
	for (uint32_t d = 0; d < m->ndevices; d++)
		step_on(f, &f->place[d]);
	f->host = ws_host_activity_find(f->m, f->sel);
	if (!f->is_whole && !f->measured_share && ws_recording_has_costs(m))
		find_recording(f);
	/* Can launched work wait on an idle device? Only for another device, or if a call makes its
	 * stream wait. */
	for (size_t d = 0; d < m->ndevices; d++)
		busy += m->devices[d].kernels > 0;
	for (size_t i = 0; i < m->ntexts && busy < 2; i++) {
		for_event |= ws_name_has(m->texts[i], "StreamWait");
		for_host |= ws_name_has(m->texts[i], "LaunchHostFunc");
	}
	idle->waits_for_unrecorded = busy < 2 && !for_host;
	f->may_wait = busy > 1 || for_event || for_host;
	WS_NEW(f->results, f->out->of_window, f->w->n);
	WS_NEW(f->results, f->out->of_device, f->m->ndevices);
	for (size_t i = 0; i < f->w->n; i++)
		f->out->wall_ns += f->w->window[i].end_ns - f->w->window[i].start_ns;
	for (uint32_t d = 0; d < f->m->ndevices; d++) {
		struct place *p = &f->place[d];
		const bool worked = p->has_next;

		/* sweep it over all windows */
		f->device = d;
		WS_NEW(f->results, f->out->of_device[d], f->w->n);
		for (size_t i = 0; i < f->w->n; i++) {
			const bool counts = f->m->devices[d].kernels || p->has_next;
			struct ws_device_use use = {0};

			if (!worked && !counts)
				continue;
			for (; p->has_next && p->next.start_ns <= f->w->window[i].start_ns;
			     pass(f, p))
				run(p, &p->next);
			p->at_ns = f->w->window[i].start_ns;
			for (; p->has_next && p->next.start_ns < f->w->window[i].end_ns;
			     pass(f, p)) {
				advance(f, p, p->next.start_ns, &p->next, &use);
				run(p, &p->next);
			}
			advance(f, p, f->w->window[i].end_ns, p->has_next ? &p->next : NULL, &use);
			if (worked)
				use_join(&f->out->device[d], &use);
			for (int what = 0; counts && what < WS_USES; what++) {
				f->out->of_window[i].ns[what] += use.ns[what];
				f->out->of_device[d][i].ns[what] = use.ns[what];
			}
		}
		while (p->has_next)
			pass(f, p);
		f->out->nworked += worked;
	}

	/* How many kernels the windows have, and how long the typical one is. */
	const struct ws_values **of_device;
	struct ws_stat stat;

	WS_NEW(&f->arena, of_device, f->m->ndevices);
	for (size_t d = 0; d < f->m->ndevices; d++) {
		of_device[d] = &f->place[d].dur_ns;
		ws_values_stat_of(of_device[d], &stat);
		f->out->device[d].kernels = stat.n;
		f->out->device[d].kernel_median_ns = (int64_t)stat.median;
	}
	if (f->m->ndevices > 1)
		ws_values_stat(of_device, f->m->ndevices, &stat);
	if (f->m->ndevices)
		f->out->all.kernel_median_ns = (int64_t)stat.median;
	for (size_t d = 0; f->place && d < f->m->ndevices; d++)
		ws_values_free(&f->place[d].dur_ns);
	ws_spans_release(&f->recording);
	ws_arena_free(&f->arena);
}

/*
 * By how much recording makes the windows longer, as record --calibrate measured it, is spread over
 * what waits for the host in proportion. NULL: it is not known, or does.
 */
static double *find_measured_share(const struct finder *f, struct ws_arena *arena, double range[2])
{
	const struct ws_calibration_cost cost = ws_calibration_cost(f->m);
	const struct ws_windows *w = f->w ? f->w : ws_windows(f->m, f->sel);
	struct finder whole = {.m = f->m, .sel = f->sel, .w = w, .is_whole = 1};
	const double part = 1 - 1 / (1 + cost.percent / 100);
	struct ws_arena results = {0};
	struct ws_idle idle;

	if (!cost.is_known || !w->n || w->window[0].step == WS_NONE)
		return NULL;
	double *share = ws_arena_array(arena, f->m->ndevices, sizeof(*share));
	if (!(part > 0)) /* recorded steps are shorter */
		return share;
	range[0] = (1 - 1 / (1 + cost.low / 100)) / part;
	range[1] = (1 - 1 / (1 + cost.high / 100)) / part;
	find_into(&whole, &results, &idle);
	for (size_t d = 0; d < f->m->ndevices; d++) {
		const struct ws_device_use *use = &idle.device[d];
		double waits_ns = 0;

		for (int i = 0; i < WS_USES; i++)
			waits_ns += ws_use_is_of_host((enum ws_use)i) ? (double)use->ns[i] : 0;
		if (waits_ns > 0)
			share[d] = fmin(1, part * (double)use->window_ns / waits_ns);
	}
	ws_arena_free(&results);
	return share;
}

/* windows NULL: those of ws_windows. */
static const struct ws_idle *find_in(const struct ws_model *m, const struct ws_selection *sel,
                                     const struct ws_windows *windows)
{
	static const char key[2];
	const struct ws_idle *out = ws_kept_result(sel, &key[windows != NULL]);
	struct finder f = {.m = m, .sel = sel, .w = windows};

	if (out)
		return out;
	double range[2] = {1 - WS_COST_UNCERTAIN, 1 + WS_COST_UNCERTAIN};
	double *share = find_measured_share(&f, &sel->kept->arena, range);

	f.measured_share = share;
	struct ws_idle *idle = ws_arena_array(&sel->kept->arena, 1, sizeof(*idle));
	find_into(&f, &sel->kept->arena, idle);
	idle->measured_share = share;
	memcpy(idle->recording_range, range, sizeof(range));
	for (size_t d = 0; d < m->ndevices; d++)
		use_join(&idle->all, &idle->device[d]);
	idle->verdict = ws_idle_judge(m, &idle->all, range);
	ws_keep_result(sel, &key[windows != NULL], idle, NULL);
	return idle;
}

const struct ws_idle *ws_idle_find(const struct ws_model *m, const struct ws_selection *sel)
{
	return find_in(m, sel, NULL);
}

const struct ws_idle *ws_idle_find_in_scope(const struct ws_model *m,
                                            const struct ws_selection *sel)
{
	return find_in(m, sel, ws_is_of_all(sel) ? ws_windows_in_scope(m, sel) : NULL);
}

void ws_idle_spans(const struct ws_model *m, const struct ws_selection *sel,
                   const struct ws_time_window *window,
                   void (*tell)(void *ctx, const struct ws_idle_span *span), void *ctx)
{
	struct ws_time_window copy = *window;
	const struct ws_windows one = {&copy, 1, window->start_ns};
	struct finder f = {.m = m,
	                   .sel = sel,
	                   .w = &one,
	                   .measured_share = window->step == WS_NONE
	                                             ? NULL
	                                             : ws_idle_find(m, sel)->measured_share,
	                   .on_span = tell,
	                   .ctx = ctx};
	struct ws_arena results = {0};
	struct ws_idle idle;

	find_into(&f, &results, &idle);
	ws_arena_free(&results);
}

struct ws_idle_verdict ws_idle_verdict(const struct ws_model *m, const struct ws_selection *sel)
{
	return ws_model_on_cpu(m) ? ws_idle_judge(m, &(struct ws_device_use){0}, NULL)
	                          : ws_idle_find(m, sel)->verdict;
}

void ws_uses_by_time(const struct ws_device_use *use, enum ws_use order[WS_USES])
{
	for (int i = 0; i < WS_USES; i++) {
		int at = i;

		for (; at > 1 && use->ns[order[at - 1]] < use->ns[i]; at--)
			order[at] = order[at - 1];
		order[at] = (enum ws_use)i;
	}
}

/* --- the longest gaps ------------------------------------------------------------------------- */

void ws_idle_find_hosts(const struct ws_model *m, struct ws_joined_rows *rows,
                        const struct ws_idle *idle, uint32_t names[WS_IDLE_LONGEST])
{
	uint32_t ranges[WS_IDLE_LONGEST], depth[WS_IDLE_LONGEST] = {0}, thread[WS_IDLE_LONGEST];
	const struct ws_op_tree *ops = &m->cpu_ops.tree;
	int64_t most[WS_IDLE_LONGEST];

	for (size_t i = 0; i < WS_IDLE_LONGEST; i++)
		ranges[i] = WS_NONE;

	/* The call that covers most of each gap, and at least half of it; WS_NONE. */
	for (size_t g = 0; g < idle->nlongest; g++) {
		most[g] = (idle->longest[g].end_ns - idle->longest[g].start_ns) / 2;
		names[g] = WS_NONE;
	}
	WS_EACH_CALL(rows, i, call)
		for (size_t g = 0; g < idle->nlongest; g++) {
			const int64_t ns =
			        ws_span_overlap(idle->longest[g].start_ns, idle->longest[g].end_ns,
			                        call->start_ns, call->start_ns + call->dur_ns);

			if (ns <= most[g])
				continue;
			most[g] = ns;
			names[g] = call->kind->name;
		}

	/*
	 * The deepest range in the middle of each gap on the thread of the next launch; WS_NONE.
	 * Threads are read once: calls are in a file, far from each other.
	 */
	for (size_t g = 0; g < idle->nlongest; g++) {
		const struct ws_joined_call *call =
		        ws_joined_rows_call(rows, idle->longest[g].call);

		thread[g] = call ? call->kind->thread : WS_NONE;
	}
	WS_EACH_RANGE(rows, i, r)
		for (size_t g = 0; g < idle->nlongest; g++) {
			const struct ws_idle_gap *gap = &idle->longest[g];
			const int64_t middle_ns = gap->start_ns + (gap->end_ns - gap->start_ns) / 2;

			if (thread[g] == WS_NONE || thread[g] != r->context->thread ||
			    r->start_ns > middle_ns || r->end_ns < middle_ns ||
			    r->context->depth + 1 <= depth[g])
				continue;
			depth[g] = r->context->depth + 1;
			ranges[g] = r->context->name;
		}
	for (size_t i = 0; i < idle->nlongest; i++) {
		const struct ws_idle_gap *gap = &idle->longest[i];
		const int64_t ns = gap->end_ns - gap->start_ns, middle_ns = gap->start_ns + ns / 2;
		uint32_t op = names[i] == WS_NONE && thread[i] != WS_NONE
		                      ? ws_cpu_op_around(ops, thread[i], middle_ns, middle_ns)
		                      : WS_NONE;

		/* the innermost operation that covers at least half of it */
		while (op != WS_NONE && 2 * ws_span_overlap(gap->start_ns, gap->end_ns,
		                                            ops->start_ns[op], ops->end_ns[op]) <
		                                ns)
			op = ops->parent[op];
		if (op != WS_NONE)
			names[i] = ops->name[op];

		if (names[i] == WS_NONE)
			names[i] = ranges[i];
	}
}

/* --- the verdict ------------------------------------------------------------------------------ */

const struct ws_use_def ws_use_defs[WS_USES] = {WS_USE_LIST(WS_LIST_REST)};

/* Would it be launch-bound if recording took so long, all of it in waits for launches? */
static bool is_launch_bound(const struct ws_device_use *use, double recording_ns)
{
	const double whole_ns = (double)use->window_ns - recording_ns,
	             launch_ns =
	                     (double)(use->ns[WS_USE_LAUNCH] + use->recording_ns[WS_USE_LAUNCH]) -
	                     recording_ns;

	if (100 * (double)use->ns[WS_USE_COMPUTE] > WS_IDLE_BUSY_PERCENT * whole_ns ||
	    !(100 * launch_ns >= WS_IDLE_LAUNCH_PERCENT * whole_ns))
		return false;
	for (int cause = WS_USE_COLLECTIVE; cause < WS_USE_RECORDING; cause++)
		if (cause != WS_USE_LAUNCH && (double)use->ns[cause] >= launch_ns &&
		    ((double)use->ns[cause] > launch_ns || cause < WS_USE_LAUNCH))
			return false;
	return true;
}

/* The verdict on the uses of one device or of all; known = false and an obstacle if it cannot be
 * determined.
 */
static struct ws_idle_verdict ws_idle_judge(const struct ws_model *m,
                                            const struct ws_device_use *use, const double range[2])
{
	const double recording_ns = (double)use->ns[WS_USE_RECORDING],
	             whole_ns = (double)use->window_ns - recording_ns;
	struct ws_idle_verdict v = {.cause = WS_USE_COLLECTIVE};

	if (ws_model_on_cpu(m))
		v.obstacle = "the CPU reference is not a device that waits";
	else if (m->soundness.obstacle)
		v.obstacle = m->soundness.obstacle;
	else if (!use->window_ns || !use->kernels)
		v.obstacle = "no kernel with a time";
	if (v.obstacle)
		return v;
	for (int cause = WS_USE_COLLECTIVE; cause < WS_USE_RECORDING; cause++)
		if (use->ns[cause] > use->ns[v.cause])
			v.cause = (enum ws_use)cause;
	v.busy_percent = ws_stat_percent((double)use->ns[WS_USE_COMPUTE], whole_ns);
	v.percent = ws_stat_percent((double)use->ns[v.cause], whole_ns);
	v.recording_percent = ws_stat_percent(recording_ns, (double)use->window_ns);
	v.busy = v.busy_percent > WS_IDLE_BUSY_PERCENT;
	v.known = true;
	v.launch_bound = is_launch_bound(use, range[1] * recording_ns);
	v.may_be_bound = !v.launch_bound && is_launch_bound(use, range[0] * recording_ns);
	return v;
}

const char *ws_idle_words(const struct ws_idle_verdict *v, char *out, size_t size)
{
	/* shares are of the time without recording, where it makes a difference */
	const char *without = v->recording_percent >= 0.05 ? "without recording " : "";

	if (!v->known)
		snprintf(out, size, "cannot tell: %s", v->obstacle);
	else if (v->may_be_bound)
		snprintf(out, size,
		         "cannot tell whether the GPU waits for launches without recording, which "
		         "takes about %.1f %% of the time",
		         v->recording_percent);
	else if (v->busy)
		snprintf(out, size, "%sthe GPU computes %.1f %% of the time", without,
		         v->busy_percent);
	else
		snprintf(out, size,
		         "%sthe GPU computes %.1f %% of the time; the largest other part is %s "
		         "(%.1f %%)",
		         without, v->busy_percent, ws_use_defs[v->cause].name, v->percent);
	return out;
}

const char *ws_idle_recording_words(const struct ws_model *m, const struct ws_idle *idle,
                                    struct ws_arena *texts)
{
	const double percent = idle->verdict.recording_percent;

	if (!idle->all.ns[WS_USE_RECORDING])
		return "";
	const char *range = ws_arena_format(texts, "%.1f %% of the time (%.1f to %.1f)", percent,
	                                    percent * idle->recording_range[0],
	                                    percent * idle->recording_range[1]);
	return idle->measured_share
	               ? ws_arena_format(texts,
	                                 "Recording takes %s, by steps that were not recorded; it "
	                                 "is taken out of all waits for the host alike.",
	                                 range)
	               : ws_arena_format(texts,
	                                 "Recording takes about %s, taken out of the waits for "
	                                 "launches: %g µs per launch, %s%g per range, %g per "
	                                 "operation, ± %g %%. record --calibrate measures it.",
	                                 range, (double)ws_recording_launch_ns(m) / 1e3,
	                                 ws_recording_has_all_calls(m)
	                                         ? ws_arena_format(texts, "%g per other call, ",
	                                                           WS_COST_CALL_NS / 1e3)
	                                         : "",
	                                 WS_COST_RANGE_NS / 1e3, WS_COST_OP_NS / 1e3,
	                                 100 * WS_COST_UNCERTAIN);
}
