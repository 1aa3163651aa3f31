#include "report/analysis/device_time.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

bool ws_kernel_is_comm(const struct ws_model *m, size_t k)
{
	return ws_kernel_class(m, k) == WS_TEXT_COMM;
}

bool ws_name_loads_data(struct ws_bytes name)
{
	static const char *const prefixes[] = {"enumerate(DataLoader)#", "enumerate(DataPipe)#"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (name.len >= strlen(prefixes[i]) &&
		    !memcmp(name.ptr, prefixes[i], strlen(prefixes[i])))
			return 1;
	return 0;
}

/* --- windows ---------------------------------------------------------------------------- */

/* Device work that the API call [call_start, call_end] launched. */
struct launched {
	int64_t call_start_ns, call_end_ns;
	int64_t start_ns, end_ns;
};

struct finder {
	const struct ws_model *m;
	struct ws_time_window *windows;
	int warm_up; /* of the warm-up steps, whatever is selected */
	size_t n, kept;
	struct launched *work; /* by begin of the call; without a call last */
	size_t nwork;
	int64_t *device_start, *device_end; /* of each window's work; start INT64_MAX: none */
	uint8_t *matched;                   /* work -> launched in a window */
	struct ws_arena temp;
};

static int by_call(const void *pa, const void *pb)
{
	const struct launched *a = pa, *b = pb;

	if (a->call_start_ns != b->call_start_ns)
		return a->call_start_ns < b->call_start_ns ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static struct launched launched_by(const struct ws_model *m, uint32_t call, int64_t start_ns,
                                   int64_t dur_ns)
{
	struct launched l = {INT64_MAX, INT64_MAX, start_ns, start_ns + dur_ns};

	if (call != WS_NONE) {
		l.call_start_ns = m->api.start_ns[call];
		l.call_end_ns = m->api.end_ns[call];
	}
	return l;
}

static enum ws_status gather_work(struct finder *f, const struct ws_selection *sel,
                                  struct ws_err *err)
{
	const struct ws_model *m = f->m;
	const struct ws_kernels *k = &m->kernels;

	WS_NEW(&f->temp, f->work, k->n + m->nwork);
	WS_NEW(&f->temp, f->matched, k->n + m->nwork);
	WS_FORWARD(ws_arena_check(&f->temp, "the time of steps", err));
	for (size_t i = 0; i < k->n; i++)
		if (sel->any_scope[i] && !(k->flags[i] & WS_KERNEL_NO_TIME))
			f->work[f->nwork++] =
			        launched_by(m, k->call[i], k->start_ns[i], k->dur_ns[i]);
	for (size_t i = 0; i < m->nwork; i++)
		if (sel->any_work[i] && !m->work[i].no_time)
			f->work[f->nwork++] = launched_by(m, m->work[i].call, m->work[i].start_ns,
			                                  m->work[i].dur_ns);
	ws_sort(f->work, f->nwork, sizeof(*f->work), by_call);
	return WS_OK;
}

static int by_window(const void *pa, const void *pb)
{
	const struct ws_time_window *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static enum ws_status host_windows(struct finder *f, const struct ws_selection *sel,
                                   struct ws_err *err)
{
	const struct ws_model *m = f->m;

	f->windows = calloc(m->nsteps + 1, sizeof(*f->windows));
	WS_NEW(&f->temp, f->device_start, m->nsteps + 1);
	WS_NEW(&f->temp, f->device_end, m->nsteps + 1);
	f->temp.failed |= !f->windows;
	WS_FORWARD(ws_arena_check(&f->temp, "the time of steps", err));
	for (uint32_t s = 0; s < m->nsteps; s++)
		if (f->warm_up ? m->steps[s].warm_up && !m->steps[s].unfinished
		               : ws_step_selected(m, sel, s))
			f->windows[f->n++] =
			        (struct ws_time_window){m->ranges.start_ns[m->steps[s].range],
			                                m->ranges.end_ns[m->steps[s].range], s, 0};
	if (!f->n && !m->nmeasured && !sel->has_steps && !f->warm_up)
		f->windows[f->n++] = (struct ws_time_window){m->begin_ns, m->end_ns, WS_NONE, 0};
	ws_sort(f->windows, f->n, sizeof(*f->windows), by_window);
	for (size_t i = 0; i < f->n; i++) {
		f->device_start[i] = INT64_MAX;
		f->device_end[i] = INT64_MIN;
	}
	return WS_OK;
}

/* Both ascend, so one pass gives each call to the window that holds it wholly. */
static void match_work(struct finder *f)
{
	size_t w = 0;

	for (size_t i = 0; i < f->nwork && f->work[i].call_start_ns != INT64_MAX; i++) {
		const struct launched *l = &f->work[i];

		while (w < f->n && f->windows[w].end_ns <= l->call_start_ns &&
		       !(w + 1 == f->n && f->windows[w].end_ns == l->call_start_ns))
			w++;
		if (w == f->n)
			break;
		if (l->call_start_ns < f->windows[w].start_ns ||
		    l->call_end_ns > f->windows[w].end_ns)
			continue;
		f->matched[i] = 1;
		f->windows[w].device_work++;
		if (l->start_ns < f->device_start[w])
			f->device_start[w] = l->start_ns;
		if (l->end_ns > f->device_end[w])
			f->device_end[w] = l->end_ns;
	}
}

/* The first window begins no earlier than the work before all steps ends. */
static int64_t end_of_earlier_work(const struct finder *f)
{
	int64_t end = f->windows[0].start_ns;

	for (size_t i = 0; i < f->nwork && f->device_start[0] != INT64_MAX; i++)
		if (!f->matched[i] && f->work[i].end_ns < f->device_start[0] &&
		    f->work[i].end_ns > end)
			end = f->work[i].end_ns;
	return end;
}

static void move_bounds(struct finder *f)
{
	uint64_t matched = 0;
	int64_t before;

	for (size_t i = 0; i < f->n; i++)
		matched += f->windows[i].device_work;
	/* without steps all of the trace counts, what has no launch record too */
	if (!matched || f->windows[0].step == WS_NONE)
		return;
	before = end_of_earlier_work(f);
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

static size_t keep_windows(const struct finder *f)
{
	size_t kept = f->n;

	if (kept < 2 || !f->m->steps[f->windows[0].step].is_pytorch)
		return kept;
	while (kept && !f->windows[kept - 1].device_work)
		kept--;
	if (!kept)
		return f->n;
	if (kept > 1 && (double)f->windows[kept - 2].device_work * 0.8 >
	                        (double)f->windows[kept - 1].device_work)
		kept--;
	return kept;
}

static enum ws_status find_windows(const struct ws_model *m, const struct ws_selection *sel,
                                   int warm_up, struct ws_time_window **out, size_t *n, size_t *cut,
                                   struct ws_err *err)
{
	struct finder f = {.m = m, .warm_up = warm_up};
	enum ws_status status = host_windows(&f, sel, err);

	*out = NULL;
	*n = *cut = 0;
	if (status == WS_OK)
		status = gather_work(&f, sel, err);
	if (status == WS_OK) {
		match_work(&f);
		move_bounds(&f);
		*n = keep_windows(&f);
		*cut = f.n - *n;
		*out = f.windows;
		f.windows = NULL;
	}
	free(f.windows);
	ws_arena_free(&f.temp);
	return status;
}

enum ws_status ws_windows(const struct ws_model *m, const struct ws_selection *sel,
                          struct ws_time_window **out, size_t *n, size_t *cut, struct ws_err *err)
{
	return find_windows(m, sel, 0, out, n, cut, err);
}

static enum ws_status set_times(const struct ws_model *m, const struct ws_selection *sel,
                                int warm_up, int64_t *step_ns, struct ws_err *err)
{
	struct ws_time_window *windows = NULL;
	size_t n, cut;
	enum ws_status status = find_windows(m, sel, warm_up, &windows, &n, &cut, err);

	for (size_t i = 0; i < n; i++)
		if (windows[i].step != WS_NONE)
			step_ns[windows[i].step] = windows[i].end_ns - windows[i].start_ns;
	free(windows);
	return status;
}

enum ws_status ws_step_windows(const struct ws_model *m, const struct ws_selection *sel,
                               int64_t *step_ns, struct ws_err *err)
{
	int warm_up = 0;

	/* the times of ranges are rows of a loaded model, which a pass has not */
	for (uint32_t s = 0; s < m->nsteps; s++) {
		warm_up |= m->steps[s].warm_up;
		step_ns[s] = -1;
	}
	if (!m->ranges.n)
		return WS_OK;
	if (warm_up)
		WS_FORWARD(set_times(m, sel, 1, step_ns, err));
	return set_times(m, sel, 0, step_ns, err);
}
