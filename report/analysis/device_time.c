#include "report/analysis/device_time.h"

#include "report/base/names.h"

bool ws_name_is_collective(struct ws_bytes name)
{
	static const char *const patterns[] = {"nccl:*", "gloo:*", "mpi:*", "ucc:*", "xccl:*"};

	return WS_NAME_IS_ONE_OF(name, patterns);
}

/* --- windows ---------------------------------------------------------------------------- */

struct finder {
	const struct ws_model *m;
	const struct ws_selection *sel;
	struct ws_time_window *windows;
	int warm_up; /* windows of warm-up steps, whatever is selected */
	size_t n;
	int64_t *reach_ns; /* the latest end up to each window */
	int64_t *device_start,
	        *device_end; /* bounds of each window's work; start INT64_MAX: none */
	int64_t earlier_ns;  /* end of the work before all steps */
	int64_t unknown_ns;  /* … or of work without a launch record */
	struct ws_arena temp;
};

static int by_window(const void *pa, const void *pb)
{
	const struct ws_time_window *a = pa, *b = pb;

	WS_ORDER_BY(a->start_ns, b->start_ns);
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

void ws_device_work_span(const struct ws_model *m, const struct ws_selection *sel,
                         int64_t *start_ns, int64_t *end_ns)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	WS_EACH_KERNEL(sel->rows, i, k) {
		if (!ws_kernel_ran(sel, k, i))
			continue;
		first = k->start_ns < first ? k->start_ns : first;
		last = k->start_ns + k->dur_ns > last ? k->start_ns + k->dur_ns : last;
	}
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *w = &m->work[i];

		if (!ws_work_ran(sel, m, i))
			continue;
		first = w->start_ns < first ? w->start_ns : first;
		last = w->start_ns + w->dur_ns > last ? w->start_ns + w->dur_ns : last;
	}
	*start_ns = first > last ? m->begin_ns : first;
	*end_ns = first > last ? m->end_ns : last;
}

/* The window of a trace without steps. */
static struct ws_time_window whole_window(const struct ws_model *m, const struct ws_selection *sel)
{
	struct ws_time_window w = {m->begin_ns, m->end_ns, WS_NONE, 0};

	if (sel->to_device_work)
		ws_device_work_span(m, sel, &w.start_ns, &w.end_ns);
	return w;
}

/* Without the time in which the program was silent. Returns the number of windows. */
static size_t put_whole_windows(const struct ws_model *m, const struct ws_selection *sel,
                                struct ws_time_window *out)
{
	const struct ws_time_window whole = whole_window(m, sel);
	size_t n = 0;

	for (size_t i = 0; i < m->nrecorded; i++) {
		struct ws_time_window w = whole;

		if (m->recorded[i].start_ns > w.start_ns)
			w.start_ns = m->recorded[i].start_ns;
		/* work may end after the window in which it was launched */
		if (i + 1 < m->nrecorded && m->recorded[i].end_ns < w.end_ns)
			w.end_ns = m->recorded[i].end_ns;
		if (w.start_ns < w.end_ns)
			out[n++] = w;
	}
	if (!n)
		out[n++] = whole;
	return n;
}

int64_t ws_unrecorded_ns(const struct ws_model *m, int64_t start_ns, int64_t end_ns)
{
	int64_t ns = 0;

	for (size_t i = 0; i + 1 < m->nrecorded; i++) {
		const int64_t from = m->recorded[i].end_ns > start_ns ? m->recorded[i].end_ns
		                                                      : start_ns,
		              to = m->recorded[i + 1].start_ns < end_ns
		                           ? m->recorded[i + 1].start_ns
		                           : end_ns;

		ns += from < to ? to - from : 0;
	}
	return ns;
}

/* A piece of device work and the call that launched it. */
typedef void (*work_fn)(struct finder *f, const struct ws_joined_call *call, int64_t start_ns,
                        int64_t end_ns);

static void match(struct finder *f, const struct ws_joined_call *call, int64_t start_ns,
                  int64_t end_ns)
{
	size_t w;

	if (!call)
		return;
	/* the window that contains the call wholly: the first that ends after the call's begin */
	WS_COUNT_FIRST(w, f->n, f->reach_ns[w] <= call->start_ns);
	/* a call that begins at the end of all windows */
	w -= w == f->n && w && f->windows[w - 1].end_ns == call->start_ns;
	if (w == f->n || call->start_ns < f->windows[w].start_ns ||
	    call->start_ns + call->dur_ns > f->windows[w].end_ns)
		return;

	f->windows[w].device_work++;
	f->device_start[w] = start_ns < f->device_start[w] ? start_ns : f->device_start[w];
	f->device_end[w] = end_ns > f->device_end[w] ? end_ns : f->device_end[w];
}

/* The first window begins no earlier than the end of work launched before all steps. Work without a
 * launch record counts as such if it began before the steps; otherwise it may belong to the
 * step. */
static void find_earlier(struct finder *f, const struct ws_joined_call *call, int64_t start_ns,
                         int64_t end_ns)
{
	const struct ws_time_window *first = &f->windows[0];

	if (end_ns >= f->device_start[0])
		return;
	if ((call ? call->start_ns : start_ns) < first->start_ns && end_ns > f->earlier_ns)
		f->earlier_ns = end_ns;
	else if (!call && end_ns > f->unknown_ns &&
	         end_ns - first->start_ns <= (first->end_ns - first->start_ns) / 10)
		f->unknown_ns = end_ns;
}

static void look_at_work(struct finder *f, work_fn look)
{
	struct ws_joined_rows *rows = f->sel->rows;
	const struct ws_model *m = f->m;

	WS_EACH_KERNEL(rows, i, k)
		if (ws_kernel_ran(f->sel, k, i))
			look(f, ws_joined_rows_call(rows, k->call), k->start_ns,
			     k->start_ns + k->dur_ns);
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *w = &m->work[i];

		if (ws_work_ran(f->sel, m, i))
			look(f, ws_joined_rows_call(rows, w->call), w->start_ns,
			     w->start_ns + w->dur_ns);
	}
}

static void move_bounds(struct finder *f)
{
	uint64_t matched = 0;

	WS_NEW(&f->temp, f->reach_ns, f->n);
	WS_NEW(&f->temp, f->device_start, f->n);
	WS_NEW(&f->temp, f->device_end, f->n);
	for (size_t i = 0; i < f->n; i++) {
		const int64_t end_ns = f->windows[i].end_ns;

		f->reach_ns[i] = i && f->reach_ns[i - 1] > end_ns ? f->reach_ns[i - 1] : end_ns;
		f->device_start[i] = INT64_MAX;
		f->device_end[i] = INT64_MIN;
	}
	look_at_work(f, match);
	for (size_t i = 0; i < f->n; i++)
		matched += f->windows[i].device_work;
	if (!matched)
		return;
	f->earlier_ns = f->unknown_ns = f->windows[0].start_ns;
	if (f->device_start[0] != INT64_MAX)
		look_at_work(f, find_earlier);
	int64_t before = f->earlier_ns;
	for (size_t i = 0; i < f->n; i++) {
		struct ws_time_window *w = &f->windows[i];

		if (before > w->start_ns)
			w->start_ns = before;
		if (f->device_start[i] != INT64_MAX && f->device_end[i] > w->end_ns)
			w->end_ns = f->device_end[i];
		if (w->end_ns < w->start_ns)
			w->end_ns = w->start_ns;
		before = w->end_ns;
	}
}

void ws_windows_with_work(const struct ws_model *m, const struct ws_selection *sel,
                          struct ws_time_window *windows, size_t n)
{
	struct finder f = {.m = m, .sel = sel, .windows = windows, .n = n};

	ws_sort(windows, n, sizeof(*windows), by_window);
	if (n)
		move_bounds(&f);
	ws_arena_free(&f.temp);
}

/* Windows of the report and of warm-up steps are cached separately. */
static const struct ws_windows *find_windows(const struct ws_model *m,
                                             const struct ws_selection *sel, int warm_up)
{
	static const char keys[2];
	struct finder f = {.m = m, .sel = sel, .warm_up = warm_up};
	struct ws_windows *windows = ws_kept_result(sel, &keys[warm_up]);

	if (windows)
		return windows;
	WS_NEW(&sel->kept->arena, windows, 1);
	if (sel->whole) {
		const struct ws_windows *all = find_windows(m, sel->whole, warm_up);
		struct ws_windows one = {NULL, 0, 0};

		for (size_t i = 0; i < all->n && !one.n; i++)
			if (all->window[i].step == sel->step)
				one = (struct ws_windows){&all->window[i], 1,
				                          i ? all->window[i].start_ns
				                            : all->gpu_begin_ns};
		*windows = one;
		ws_keep_result(sel, &keys[warm_up], windows, NULL);
		return windows;
	}
	WS_NEW(&sel->kept->arena, f.windows, m->nsteps + m->nrecorded + 1);
	for (uint32_t s = 0; s < m->nsteps; s++)
		if (f.warm_up ? m->steps[s].warm_up && !ws_step_is_left_out(&m->steps[s])
		              : ws_step_selected(m, sel, s))
			f.windows[f.n++] =
			        (struct ws_time_window){m->steps[s].start_ns,
			                                m->steps[s].start_ns + m->steps[s].total_ns,
			                                s, 0};
	if (!f.n && !m->nmeasured && !sel->has_steps && !f.warm_up)
		f.n = put_whole_windows(m, sel, f.windows);
	ws_sort(f.windows, f.n, sizeof(*f.windows), by_window);
	/* without steps the whole trace counts, including work without a launch record */
	if (f.n && f.windows[0].step != WS_NONE)
		move_bounds(&f);
	windows->window = f.windows;
	windows->n = f.n;
	windows->gpu_begin_ns = f.n && f.unknown_ns > f.windows[0].start_ns ? f.unknown_ns
	                        : f.n                                       ? f.windows[0].start_ns
	                                                                    : 0;
	ws_keep_result(sel, &keys[warm_up], windows, NULL);
	ws_arena_free(&f.temp);
	return windows;
}

static int by_length(const void *pa, const void *pb)
{
	const struct ws_time_window *a = *(const struct ws_time_window *const *)pa,
	                            *b = *(const struct ws_time_window *const *)pb;

	WS_ORDER_BY(a->end_ns - a->start_ns, b->end_ns - b->start_ns);
	WS_ORDER_BY(b->start_ns, a->start_ns);
	return 0;
}

const struct ws_time_window *ws_windows_median(const struct ws_windows *w)
{
	const struct ws_time_window **order = ws_xarray(w->n, sizeof(*order)), *median;

	for (size_t i = 0; i < w->n; i++)
		order[i] = &w->window[i];
	ws_sort(order, w->n, sizeof(*order), by_length);
	median = order[(w->n - 1) / 2];
	free(order);
	return median;
}

const struct ws_windows *ws_windows(const struct ws_model *m, const struct ws_selection *sel)
{
	return find_windows(m, sel, 0);
}

const struct ws_windows *ws_warm_up_windows(const struct ws_model *m,
                                            const struct ws_selection *sel)
{
	return find_windows(m, sel, 1);
}

const struct ws_windows *ws_windows_in_scope(const struct ws_model *m,
                                             const struct ws_selection *sel)
{
	static const char key;
	struct ws_windows *windows = ws_kept_result(sel, &key);

	if (!ws_is_of_all(sel))
		return ws_windows(m, sel);
	if (windows)
		return windows;
	WS_NEW(&sel->kept->arena, windows, 1);
	WS_NEW(&sel->kept->arena, windows->window, m->nrecorded + 1);
	windows->n = put_whole_windows(m, sel, windows->window);
	ws_keep_result(sel, &key, windows, NULL);
	return windows;
}
