/*
 * Steps that repeat others were recorded without their operations: those get the ones of a step
 * that is the same in all that was recorded of both. docs/dev/pytorch.md, 7.
 */

#include "report/model/load.h"

/* --- periods --- */

static int by_thread_and_start(const void *pa, const void *pb)
{
	const struct ws_op_period *a = pa, *b = pb;

	WS_ORDER_BY(a->thread, b->thread);
	WS_ORDER_BY(a->start_ns, b->start_ns);
	return 0;
}

static int by_start(const void *pa, const void *pb)
{
	const struct ws_calibration_step *a = pa, *b = pb;

	WS_ORDER_BY(a->start_ns, b->start_ns);
	return 0;
}

/* Each that was not recorded is like the last one of the same marks that was, or like the next of
 * them, if that has other operations. Of several with the same operations, one that follows such a
 * period as it does: what its backward operations are the backward of may lie in the period
 * before. */
static void find_alike(struct ws_model *m, struct ws_arena *temp)
{
	struct ws_strtab kinds = {0}; /* of marks, and of marks behind others */
	struct ws_op_period *p = m->op_periods;
	uint32_t *kind, *place, *last, *next, n = 0;

	WS_NEW(temp, kind, m->nop_periods);
	WS_NEW(temp, place, m->nop_periods);
	for (size_t i = 0; i < m->nop_periods; i++) {
		const bool follows = i && p[i - 1].thread == p[i].thread;
		const uint64_t key[] = {p[i].thread, p[i].marks, follows ? p[i - 1].marks : 0};

		kind[i] = (uint32_t)ws_strtab_add(&kinds, key, 2 * sizeof(*key)) - 1;
		place[i] = (uint32_t)ws_strtab_add(&kinds, key, sizeof(key)) - 1;
		n = kind[i] >= n ? kind[i] + 1 : n;
		n = place[i] >= n ? place[i] + 1 : n;
	}
	ws_strtab_free(&kinds);
	WS_NEW(temp, last, n);
	WS_NEW(temp, next, n);
	memset(last, 0xff, n * sizeof(*last));
	memset(next, 0xff, n * sizeof(*next));
	for (uint32_t i = 0; i < m->nop_periods; i++) {
		if (p[i].ops)
			last[kind[i]] = last[place[i]] = i;
		p[i].next_source = WS_NONE;
		p[i].source = p[i].is_unrecorded ? WS_NONE : last[kind[i]];
		if (p[i].source != WS_NONE && last[place[i]] != WS_NONE &&
		    p[last[place[i]]].ops == p[p[i].source].ops)
			p[i].source = last[place[i]];
	}
	for (uint32_t i = (uint32_t)m->nop_periods; i-- > 0;) {
		if (p[i].ops)
			next[kind[i]] = i;
		else if (p[i].source != WS_NONE && next[kind[i]] != WS_NONE &&
		         p[next[kind[i]]].ops != p[p[i].source].ops)
			p[i].next_source = next[kind[i]];
	}
}

/* --- what is recorded in any case --- */

/* A launch, copy or fill, a range, or a call of a module in no other, begins or ends. */
struct fixed_event {
	int64_t time_ns;
	uint32_t thread;
	bool is_module;
	uint64_t identity; /* the same: it may be the same event of another step */
};

struct fixed_events {
	struct fixed_event *event; /* by thread, then time */
	size_t n, capacity;
};

static void put(struct fixed_events *e, int64_t time_ns, uint32_t thread, uint64_t what,
                bool is_module)
{
	WS_GROW(e->event, e->n + 1, e->capacity);
	e->event[e->n++] = (struct fixed_event){time_ns, thread, is_module, what};
}

static int by_thread_and_time(const void *pa, const void *pb)
{
	const struct fixed_event *a = pa, *b = pb;

	WS_ORDER_BY(a->thread, b->thread);
	WS_ORDER_BY(a->time_ns, b->time_ns);
	return 0;
}

#define END_OF     (UINT64_C(1) << 63)
#define IS_KERNEL  (UINT64_C(1) << 62)
#define IS_WORK    (UINT64_C(1) << 61)
#define WORK_KIND  (UINT64_C(1) << 56)
#define WORK_BYTES (WORK_KIND - 1)

/* Calls that start kernels, copies or fills. */
static enum ws_status add_calls(struct ws_loader *l, struct fixed_events *e, struct ws_err *err)
{
	const struct ws_model *m = l->m;
	struct ws_column_data kernels = {0}, calls = {0};
	struct ws_idmap kernel_of = {0}, work_of = {0};
	enum ws_status status = ws_load_kind(l, WS_KIND_KERNEL, &kernels, err);

	WS_THEN(status, ws_load_kind(l, WS_KIND_API, &calls, err));
	for (uint64_t i = 0; i < kernels.rows && status == WS_OK; i++)
		ws_idmap_put(&kernel_of, ws_value(&kernels, WS_COL_kernel_correlation, i),
		             (uint32_t)ws_value(&kernels, WS_COL_kernel_config, i));
	for (uint32_t i = 0; i < m->nwork && status == WS_OK; i++)
		ws_idmap_put(&work_of, m->work[i].correlation, i);
	for (uint64_t i = 0; i < calls.rows && status == WS_OK; i++) {
		const uint64_t id = ws_value(&calls, WS_COL_api_correlation, i);
		const uint32_t kernel = ws_idmap_get(&kernel_of, id),
		               work = ws_idmap_get(&work_of, id),
		               thread = ws_thread_number(l, ws_value(&calls, WS_COL_api_thread, i),
		                                         0);
		const int64_t start_ns = (int64_t)ws_value(&calls, WS_COL_api_start_ns, i),
		              dur_ns = (int64_t)ws_value(&calls, WS_COL_api_dur_ns, i);

		if (!id || (kernel == WS_NONE && work == WS_NONE))
			continue;
		status = ws_check_time(start_ns, dur_ns, "call", i, err);
		if (status != WS_OK)
			break;
		uint64_t what = kernel != WS_NONE
		                        ? IS_KERNEL | kernel
		                        : (IS_WORK |
		                           (m->work[work].kind * 16u + m->work[work].direction) *
		                                   WORK_KIND |
		                           (m->work[work].bytes & WORK_BYTES));
		l->m->op_periods_launch = true;
		put(e, start_ns, thread, what, 0);
		put(e, start_ns + dur_ns, thread, what | END_OF, 0);
	}
	ws_idmap_free(&kernel_of);
	ws_idmap_free(&work_of);
	ws_column_data_release(&kernels);
	ws_column_data_release(&calls);
	return status;
}

/* An operation that did not end has no duration; hostile values wrap. */
static int64_t end_of(int64_t start_ns, int64_t dur_ns)
{
	return dur_ns < 0 ? start_ns : (int64_t)((uint64_t)start_ns + (uint64_t)dur_ns);
}

struct reading {
	struct ws_loader *l;
	struct fixed_events *events;
};

static void on_range(void *ctx, const void *row)
{
	const struct reading *reading = ctx;
	const struct ws_row_nvtx *r = row;
	struct ws_loader *l = reading->l;
	const struct ws_bytes name = l->m->texts[ws_model_text(l->m, r->name)];
	uint64_t hash = ws_model_text(l->m, r->domain);

	if (r->type != WS_NVTX_PUSH && r->type != WS_NVTX_POP)
		return;
	for (size_t i = 0; i < name.len; i++) {
		const uint8_t c = ((const uint8_t *)name.ptr)[i];

		/* ranges of one name may carry numbers of their steps */
		if (c < '0' || c > '9')
			hash = ws_op_period_hash(hash, c);
	}
	put(reading->events, r->time_ns, ws_thread_number(l, r->thread, 0),
	    (r->type == WS_NVTX_POP ? END_OF : 0) | hash >> 4, 0);
}

static void on_module(void *ctx, const void *row)
{
	const struct reading *r = ctx;
	const struct ws_row_python_call *call = row;
	const uint32_t thread = ws_thread_number(r->l, call->thread, 0);

	put(r->events, call->start_ns, thread, call->name, 1);
	put(r->events, end_of(call->start_ns, call->dur_ns), thread, call->name | END_OF, 1);
}

static enum ws_status load_events(struct ws_loader *l, struct fixed_events *e, struct ws_err *err)
{
	struct reading r = {l, e};
	size_t n = 0, depth = 0;

	WS_FORWARD(add_calls(l, e, err));
	WS_FORWARD(ws_load_each(l, WS_KIND_NVTX, on_range, &r, err));
	WS_FORWARD(ws_load_each(l, WS_KIND_PYTHON_CALL, on_module, &r, err));
	ws_sort(e->event, e->n, sizeof(*e->event), by_thread_and_time);
	/* Of calls of modules those in no other stay. */
	for (size_t i = 0; i < e->n; i++) {
		const struct fixed_event *event = &e->event[i];
		const bool ends = event->identity & END_OF;

		if (i && event->thread != e->event[i - 1].thread)
			depth = 0;
		if (event->is_module && ends && depth)
			depth--;
		if (!event->is_module || !depth)
			e->event[n++] = *event;
		depth += event->is_module && !ends;
	}
	e->n = n;
	return WS_OK;
}

/* --- recorded periods of the same marks that differ --- */

/* An operation, or a call of a module. */
struct call {
	int64_t start_ns, least_ns; /* of the shortest of its kind, which nothing interrupted */
	uint64_t kind;
	bool is_module;
};

struct calls {
	struct ws_loader *l;
	struct call *call; /* by start */
	size_t n, capacity;
};

static void on_module_call(void *ctx, const void *row)
{
	struct calls *c = ctx;
	const struct ws_row_python_call *call = row;

	WS_GROW(c->call, c->n + 1, c->capacity);
	c->call[c->n++] = (struct call){call->start_ns, call->dur_ns < 0 ? 0 : call->dur_ns,
	                                ~(uint64_t)call->name, 1};
}

static int by_kind(const void *pa, const void *pb)
{
	const struct call *a = pa, *b = pb;

	WS_ORDER_BY(a->kind, b->kind);
	WS_ORDER_BY(a->least_ns, b->least_ns);
	return 0;
}

static int by_begin(const void *pa, const void *pb)
{
	const struct call *a = pa, *b = pb;

	WS_ORDER_BY(a->start_ns, b->start_ns);
	return 0;
}

static enum ws_status load_calls(struct calls *c, const struct ws_column_data *ops,
                                 struct ws_err *err)
{
	WS_FORWARD(ws_load_each(c->l, WS_KIND_PYTHON_CALL, on_module_call, c, err));
	for (uint64_t row = 0; row < ops->rows; row++) {
		const uint32_t config =
		        ws_idmap_get(&c->l->op_config_of, ws_value(ops, WS_COL_cpu_op_config, row));

		WS_GROW(c->call, c->n + 1, c->capacity);
		const int64_t ns = (int64_t)ws_value(ops, WS_COL_cpu_op_dur_ns, row);

		c->call[c->n++] = (struct call){
		        (int64_t)ws_value(ops, WS_COL_cpu_op_start_ns, row), ns < 0 ? 0 : ns,
		        c->l->m->cpu_ops.configs[config == WS_NONE ? 0 : config].alike, 0};
	}
	ws_sort(c->call, c->n, sizeof(*c->call), by_kind);
	for (size_t i = 1; i < c->n; i++)
		if (c->call[i].kind == c->call[i - 1].kind)
			c->call[i].least_ns = c->call[i - 1].least_ns;
	ws_sort(c->call, c->n, sizeof(*c->call), by_begin);
	return WS_OK;
}

/* The calls that begin in a period, by kind. The caller frees them. */
static struct call *calls_of(const struct calls *c, const struct ws_op_period *p, size_t *n)
{
	struct call *found;
	size_t first, end;

	WS_COUNT_FIRST(first, c->n, c->call[first].start_ns < p->start_ns);
	WS_COUNT_FIRST(end, c->n, c->call[end].start_ns < p->end_ns);
	*n = end - first;
	found = ws_xarray(*n + 1, sizeof(*found));
	memcpy(found, &c->call[first], *n * sizeof(*found));
	ws_sort(found, *n, sizeof(*found), by_kind);
	return found;
}

/* Of two recorded periods the one with fewer calls, if the other one has these and more operations,
 * such as those that print a loss, or if both differ in a smaller part of their time than a person
 * reads; else WS_NONE. */
static uint32_t nearly_alike(const struct ws_model *m, const struct calls *c, uint32_t a,
                             uint32_t b)
{
	const struct ws_op_period *p = m->op_periods;
	const int64_t ns_a = p[a].end_ns - p[a].start_ns, ns_b = p[b].end_ns - p[b].start_ns,
	              ns = ns_a < ns_b ? ns_a : ns_b;
	size_t na, nb, i = 0, k = 0;
	struct call *of_a = calls_of(c, &p[a], &na), *of_b = calls_of(c, &p[b], &nb);
	double differs_ns = 0;
	size_t more_a = 0, more_b = 0, modules = 0;

	while (i < na || k < nb) {
		if (i < na && k < nb && of_a[i].kind == of_b[k].kind) {
			i++, k++;
			continue;
		}
		const bool is_a = k == nb || (i < na && of_a[i].kind < of_b[k].kind);

		const struct call *more = is_a ? &of_a[i++] : &of_b[k++];

		differs_ns += (double)more->least_ns;
		more_a += is_a;
		more_b += !is_a;
		modules += more->is_module;
	}
	free(of_a);
	free(of_b);
	if (((more_a && more_b) || modules) &&
	    differs_ns * 100 > (double)ns * WS_LEAST_UNKNOWN_PERCENT)
		return WS_NONE;
	return na < nb ? a : b;
}

/* --- matching --- */

struct matching {
	struct ws_loader *l;
	struct fixed_events events;
	struct ws_op_point *point; /* of the period that is matched */
	size_t npoints, capacity;
	const uint8_t *has_ops; /* for each period and thread: operations were recorded */
};

/* The first event of the thread at this time or later. */
static size_t first_event(const struct fixed_events *e, uint32_t thread, int64_t time_ns)
{
	size_t i;

	WS_COUNT_FIRST(i, e->n,
	               e->event[i].thread < thread ||
	                       (e->event[i].thread == thread && e->event[i].time_ns < time_ns));
	return i;
}

/* The events of a thread in both periods, in order: all are the same, but modules that only the
 * recorded one has. */
static bool match_thread(struct matching *x, const struct ws_op_period *from,
                         const struct ws_op_period *to, uint32_t thread)
{
	const struct fixed_event *e = x->events.event;
	size_t a = first_event(&x->events, thread, from->start_ns),
	       b = first_event(&x->events, thread, to->start_ns);
	const size_t end_a = first_event(&x->events, thread, from->end_ns),
	             end_b = first_event(&x->events, thread, to->end_ns);

	for (; a < end_a; a++) {
		const bool is_same = b < end_b && e[a].identity == e[b].identity &&
		                     e[a].is_module == e[b].is_module;

		if (!is_same && e[a].is_module)
			continue;
		if (!is_same)
			return 0;
		WS_GROW(x->point, x->npoints + 1, x->capacity);
		x->point[x->npoints++] = (struct ws_op_point){.from_ns = e[a].time_ns,
		                                              .to_ns = e[b++].time_ns,
		                                              .thread = thread,
		                                              .is_module = e[a].is_module};
	}
	return b == end_b;
}

/* Is a period like a recorded one on all threads? */
static bool match(struct matching *x, const struct ws_op_period *p, uint32_t source)
{
	const struct ws_model *m = x->l->m;

	x->npoints = 0;
	for (uint32_t thread = 0; thread < m->nthreads; thread++)
		if ((thread == p->thread || x->has_ops[source * (size_t)m->nthreads + thread]) &&
		    !match_thread(x, &m->op_periods[source], p, thread))
			return 0;
	return 1;
}

/* --- times of copies --- */

static void put_time(struct ws_op_times *times, uint32_t thread, int64_t time_ns)
{
	WS_GROW(times->time, times->n + 1, times->capacity);
	times->time[times->n++] = (struct ws_op_time){time_ns, thread};
}

static void on_module_time(void *ctx, const void *row)
{
	struct ws_loader *l = ctx;
	const struct ws_row_python_call *call = row;
	const uint32_t thread = ws_thread_number(l, call->thread, 0);

	put_time(&l->op_times, thread, call->start_ns);
	put_time(&l->op_times, thread, end_of(call->start_ns, call->dur_ns));
}

static int by_thread_then_time(const void *pa, const void *pb)
{
	const struct ws_op_time *a = pa, *b = pb;

	WS_ORDER_BY(a->thread, b->thread);
	WS_ORDER_BY(a->time_ns, b->time_ns);
	return 0;
}

/* The times at which operations and calls of modules begin or end, each once. */
static enum ws_status load_times(struct ws_loader *l, const struct ws_column_data *ops,
                                 struct ws_err *err)
{
	struct ws_op_times *times = &l->op_times;
	size_t n = 0;

	for (uint64_t row = 0; row < ops->rows; row++) {
		const int64_t start_ns = (int64_t)ws_value(ops, WS_COL_cpu_op_start_ns, row);
		const uint32_t thread =
		        ws_thread_number(l, ws_value(ops, WS_COL_cpu_op_thread, row), 0);

		put_time(times, thread, start_ns);
		put_time(times, thread,
		         end_of(start_ns, (int64_t)ws_value(ops, WS_COL_cpu_op_dur_ns, row)));
	}
	WS_FORWARD(ws_load_each(l, WS_KIND_PYTHON_CALL, on_module_time, l, err));
	ws_sort(times->time, times->n, sizeof(*times->time), by_thread_then_time);
	for (size_t i = 0; i < times->n; i++)
		if (!n || by_thread_then_time(&times->time[n - 1], &times->time[i]))
			times->time[n++] = times->time[i];
	times->n = n;
	return WS_OK;
}

/* Number of these times of a thread after one time, up to and with another one. */
static int64_t times_between(const struct ws_loader *l, uint32_t thread, int64_t after_ns,
                             int64_t until_ns)
{
	const struct ws_op_time *t = l->op_times.time;
	size_t first, end;

	WS_COUNT_FIRST(first, l->op_times.n,
	               t[first].thread < thread ||
	                       (t[first].thread == thread && t[first].time_ns <= after_ns));
	WS_COUNT_FIRST(end, l->op_times.n,
	               t[end].thread < thread ||
	                       (t[end].thread == thread && t[end].time_ns <= until_ns));
	return end > first ? (int64_t)(end - first) : 0;
}

/* Between two fixed points: is there a nanosecond for each time that is copied to between them? */
static bool has_room(const struct ws_loader *l, const struct ws_op_point *left,
                     const struct ws_op_point *right)
{
	const int64_t n =
	        right->from_ns > left->from_ns
	                ? times_between(l, right->thread, left->from_ns, right->from_ns - 1)
	                : 0;

	return !n || right->to_ns - left->to_ns > n;
}

/* Can the copies of all operations of the thread have the order of the recorded ones? */
static bool keeps_order(const struct ws_loader *l, const struct ws_op_period *from,
                        const struct ws_op_period *to, uint32_t thread,
                        const struct ws_op_point *point, size_t n)
{
	struct ws_op_point left = {from->start_ns, to->start_ns, thread, 0};
	const struct ws_op_point end = {from->end_ns, to->end_ns, thread, 0};

	for (size_t i = 0; i < n; i++) {
		if (point[i].thread != thread)
			continue;
		if (!has_room(l, &left, &point[i]))
			return 0;
		left = point[i];
	}
	return has_room(l, &left, &end);
}

enum ws_status ws_load_calibration(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_column_data t;
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_load_kind(l, WS_KIND_OP_PERIOD, &t, err));
	WS_NEW(&m->arena, m->calibration, t.rows);
	for (uint64_t i = 0; i < t.rows; i++) {
		const uint64_t kind = ws_value(&t, WS_COL_op_period_calibration, i);
		const int64_t start_ns = (int64_t)ws_value(&t, WS_COL_op_period_start_ns, i),
		              dur_ns = (int64_t)ws_value(&t, WS_COL_op_period_dur_ns, i);

		if (kind == WS_CALIBRATION_NONE)
			continue;
		status = ws_check_time(start_ns, dur_ns, "step", i, err);
		if (status != WS_OK)
			break;
		m->calibration[m->ncalibration++] = (struct ws_calibration_step){
		        .start_ns = start_ns,
		        .end_ns = start_ns + (dur_ns < 0 ? 0 : dur_ns),
		        .thread = ws_thread_number(l, ws_value(&t, WS_COL_op_period_thread, i), 0),
		        .is_unrecorded = kind != WS_CALIBRATION_COMPARED,
		        .settles = kind == WS_CALIBRATION_SETTLING};
	}
	ws_column_data_release(&t);
	if (status == WS_OK && m->ncalibration)
		ws_sort(m->calibration, m->ncalibration, sizeof(*m->calibration), by_start);
	return status;
}

enum ws_status ws_load_op_periods(struct ws_loader *l, const struct ws_column_data *ops,
                                  struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct matching x = {.l = l};
	struct calls calls = {.l = l};
	uint32_t pair[2] = {WS_NONE, WS_NONE}, near = WS_NONE; /* of the last two that differ */
	const uint32_t nthreads = m->nthreads; /* those of operations are among them */
	struct ws_column_data t;
	enum ws_status status = WS_OK;
	uint64_t row = 0;
	int64_t *start_ns;
	uint32_t *order;
	uint8_t *has;

	WS_FORWARD(ws_load_kind(l, WS_KIND_OP_PERIOD, &t, err));
	WS_NEW(&m->arena, m->op_periods, t.rows + 1);
	for (uint64_t i = 0; i < t.rows; i++) {
		const int64_t from_ns = (int64_t)ws_value(&t, WS_COL_op_period_start_ns, i),
		              dur_ns = (int64_t)ws_value(&t, WS_COL_op_period_dur_ns, i);
		const uint64_t calibration = ws_value(&t, WS_COL_op_period_calibration, i);

		status = ws_check_time(from_ns, dur_ns, "period", i, err);
		if (status != WS_OK)
			break;
		const struct ws_op_period period = {
		        .start_ns = from_ns,
		        .end_ns = from_ns + (dur_ns < 0 ? 0 : dur_ns),
		        .marks = ws_value(&t, WS_COL_op_period_marks, i),
		        .ops = ws_value(&t, WS_COL_op_period_ops, i),
		        .is_begin = ws_value(&t, WS_COL_op_period_part, i) == WS_OP_PERIOD_BEGIN,
		        .is_unrecorded = calibration == WS_CALIBRATION_UNRECORDED ||
		                         calibration == WS_CALIBRATION_SETTLING,
		        .thread = ws_thread_number(l, ws_value(&t, WS_COL_op_period_thread, i), 0)};

		/* a step that is a range is no period of a framework */
		if (calibration == WS_CALIBRATION_NONE || period.marks)
			m->op_periods[m->nop_periods++] = period;
	}
	ws_column_data_release(&t);
	if (!m->nop_periods || status != WS_OK)
		return status;
	ws_sort(m->op_periods, m->nop_periods, sizeof(*m->op_periods), by_thread_and_start);
	/* The time behind the last one, where the program was killed: if no operation was recorded
	 * in it, it may have had some. */
	struct ws_op_period rest = m->op_periods[m->nop_periods - 1];
	while (row < ops->rows && (int64_t)ws_value(ops, WS_COL_cpu_op_start_ns, row) < rest.end_ns)
		row++;
	if (row == ops->rows)
		m->op_periods[m->nop_periods++] = (struct ws_op_period){.start_ns = rest.end_ns,
		                                                        .end_ns = WS_MAX_TIME_NS,
		                                                        .thread = rest.thread};
	find_alike(m, &l->temp);
	/* which threads have operations in each recorded period */
	WS_NEW(&l->temp, has, m->nop_periods * nthreads);
	WS_NEW(&l->temp, order, m->nop_periods);
	WS_NEW(&l->temp, start_ns, m->nop_periods);
	for (size_t i = 0; i < m->nop_periods; i++)
		start_ns[i] = m->op_periods[i].start_ns;
	ws_order_identity(order, m->nop_periods);
	ws_order_by(order, start_ns, m->nop_periods);
	for (row = 0; row < ops->rows; row++) {
		const int64_t at_ns = (int64_t)ws_value(ops, WS_COL_cpu_op_start_ns, row);
		const uint32_t thread =
		        ws_thread_number(l, ws_value(ops, WS_COL_cpu_op_thread, row), 0);
		size_t n;

		WS_COUNT_FIRST(n, m->nop_periods, start_ns[order[n]] <= at_ns);
		if (n && thread < nthreads)
			has[order[n - 1] * nthreads + thread] = 1;
	}

	WS_NEW(&l->temp, l->op_points, m->nop_periods);
	WS_FORWARD(load_times(l, ops, err));
	status = load_events(l, &x.events, err);
	x.has_ops = has;
	for (size_t i = 0; i < m->nop_periods && status == WS_OK; i++) {
		struct ws_op_period *p = &m->op_periods[i];
		struct ws_op_points *points = &l->op_points[i];

		p->known_until_ns = p->end_ns;
		if (p->ops || p->source == WS_NONE)
			continue;
		/* Both recorded ones may be like it: then they have to be nearly alike. */
		if (p->next_source != WS_NONE && match(&x, p, p->next_source)) {
			if (!calls.n)
				status = load_calls(&calls, ops, err);
			if (!match(&x, p, p->source)) {
				p->source = p->next_source;
			} else {
				if (pair[0] != p->source || pair[1] != p->next_source)
					near = nearly_alike(m, &calls, p->source, p->next_source);
				pair[0] = p->source;
				pair[1] = p->next_source;
				p->source = near;
				m->op_periods_differ |= near != WS_NONE;
			}
		}
		if (status != WS_OK || p->source == WS_NONE || !match(&x, p, p->source)) {
			p->source = WS_NONE;
			continue;
		}
		if (i + 1 == m->nop_periods || p[1].end_ns == WS_MAX_TIME_NS) {
			struct ws_op_point last = {.from_ns = m->op_periods[p->source].start_ns,
			                           .to_ns = p->start_ns};

			/* The program ended in its last period, some time behind its last
			 * operation: as long as the other lasted behind the last event of both.
			 * Not all of these operations may have run: what prepares the next call
			 * did not. */
			for (size_t k = 0; k < x.npoints; k++)
				if (x.point[k].to_ns > last.to_ns)
					last = x.point[k];
			if (p->end_ns - last.to_ns > m->op_periods[p->source].end_ns - last.from_ns)
				p->end_ns = last.to_ns +
				            (m->op_periods[p->source].end_ns - last.from_ns);
			p->known_until_ns = last.to_ns;
		}
		for (uint32_t thread = 0; thread < nthreads && p->source != WS_NONE; thread++)
			if (has[p->source * nthreads + thread] &&
			    !keeps_order(l, &m->op_periods[p->source], p, thread, x.point,
			                 x.npoints))
				p->source = WS_NONE;
		if (p->source == WS_NONE)
			continue;
		WS_NEW(&l->temp, points->point, x.npoints);
		if (x.npoints)
			memcpy(points->point, x.point, x.npoints * sizeof(*x.point));
		points->n = x.npoints;
	}
	free(x.events.event);
	free(x.point);
	free(calls.call);
	return status;
}

/* --- copies --- */

int64_t ws_op_copy_time(const struct ws_loader *l, uint32_t period, uint32_t thread,
                        int64_t time_ns, bool *is_module)
{
	const struct ws_op_points *points = &l->op_points[period];
	const struct ws_op_period *to = &l->m->op_periods[period],
	                          *from = &l->m->op_periods[to->source];
	struct ws_op_point left = {from->start_ns, to->start_ns, thread, 0},
	                   right = {from->end_ns, to->end_ns, thread, 0};
	size_t i;

	WS_COUNT_FIRST(i, points->n,
	               points->point[i].thread < thread || (points->point[i].thread == thread &&
	                                                    points->point[i].from_ns <= time_ns));
	if (i && points->point[i - 1].thread == thread)
		left = points->point[i - 1];
	if (i < points->n && points->point[i].thread == thread)
		right = points->point[i];
	if (is_module)
		*is_module = left.is_module && left.from_ns == time_ns;
	if (time_ns >= from->end_ns)
		return to->end_ns + (time_ns - from->end_ns);
	if (right.from_ns <= left.from_ns || time_ns <= left.from_ns)
		return left.to_ns;
	/* A nanosecond for each of the times between the points, so that two of them are never the
	 * same; the rest in proportion. */
	const int64_t n = times_between(l, thread, left.from_ns, right.from_ns - 1),
	              before = times_between(l, thread, left.from_ns, time_ns),
	              rest_ns = right.to_ns - left.to_ns - n - 1;

	return left.to_ns + before +
	       (int64_t)((double)(time_ns - left.from_ns) * (double)rest_ns /
	                 (double)(right.from_ns - left.from_ns));
}

/* The rows [first, end) of the order that a period has, or that it has copies of; none: false. */
static bool rows_of(const struct ws_model *m, uint32_t period, const uint32_t *order,
                    const int64_t *start_ns, size_t n, size_t *first, size_t *end)
{
	const struct ws_op_period *p = &m->op_periods[period];

	if (p->source == WS_NONE)
		return 0;
	p = &m->op_periods[p->source];
	WS_COUNT_FIRST(*first, n, start_ns[order[*first]] < p->start_ns);
	WS_COUNT_FIRST(*end, n, start_ns[order[*end]] < p->end_ns);
	return 1;
}

size_t ws_op_copies(const struct ws_loader *l, const uint32_t *order, const int64_t *start_ns,
                    size_t n, struct ws_arena *arena, struct ws_op_copy **out)
{
	struct ws_model *m = l->m;
	size_t ncopies = 0, at = n, first, end;

	for (uint32_t i = 0; i < m->nop_periods; i++) {
		struct ws_op_period *p = &m->op_periods[i];

		if (p->ops || !rows_of(m, i, order, start_ns, n, &first, &end))
			continue;
		if (ncopies + (end - first) > WS_MOST_OP_COPIES)
			p->source = WS_NONE;
		else
			ncopies += end - first;
	}
	WS_NEW(arena, *out, n + ncopies);
	for (size_t i = 0; i < n; i++)
		(*out)[i] = (struct ws_op_copy){.row = order[i], .period = WS_NONE};
	for (uint32_t i = 0; i < m->nop_periods; i++) {
		const bool is_copy = !m->op_periods[i].ops;

		if (!rows_of(m, i, order, start_ns, n, &first, &end))
			continue;
		for (size_t k = first; k < end; k++)
			(*out)[is_copy ? at++ : k] =
			        (struct ws_op_copy){.row = order[k],
			                            .period = i,
			                            .place = (uint32_t)(k - first),
			                            .is_copy = is_copy};
	}
	return at;
}
