/*
 * Where the time of a step went: each moment counts once, for the first of
 * kernel, copy, fill, communication, runtime, data loading, other CPU work
 * that was under way.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/analysis/device_time.h"
#include "report/tables/tables.h"

/* In order of priority. */
enum role {
	ROLE_KERNEL,
	ROLE_MEMCPY,
	ROLE_MEMSET,
	ROLE_COMM,
	ROLE_RUNTIME,
	ROLE_DATA_LOADER,
	ROLE_CPU,
	ROLE_OTHER, /* none of them: the rest */
	ROLES,
};

enum idle { IDLE_HOST, IDLE_KERNEL, IDLE_OTHER, IDLES };

/* A gap that is shorter, before work that had been launched already, is the device's own. */
#define KERNEL_WAIT_NS 30000

/* One piece of device work; sorted by begin. */
struct piece {
	int64_t start_ns, end_ns;
	int64_t call_ns; /* begin of the call that launched it; INT64_MAX: not recorded */
};

struct execution {
	const struct ws_tab *tab;
	struct ws_spans spans[ROLE_OTHER];
	size_t at[ROLE_OTHER]; /* where the sweep is */
	struct piece *pieces;
	size_t npieces, piece;
	int64_t busy_until_ns; /* of the pieces before `piece` */
	uint32_t last_device;
	int many_devices;
};

struct breakdown {
	int64_t ns[ROLES];
	int64_t idle_ns[IDLES];
	int64_t busy_ns;
};

static int begins_with(struct ws_bytes name, const char *prefix)
{
	return name.len >= strlen(prefix) && !memcmp(name.ptr, prefix, strlen(prefix));
}

/* What a range or framework operation is to the breakdown. */
static enum role role_of_name(struct ws_bytes name)
{
	if (begins_with(name, "enumerate(DataLoader)#") ||
	    begins_with(name, "enumerate(DataPipe)#"))
		return ROLE_DATA_LOADER;
	if (begins_with(name, "nccl:") || begins_with(name, "gloo:"))
		return ROLE_COMM;
	return ROLE_CPU;
}

static void add_piece(struct execution *e, uint32_t device, uint32_t call, int64_t start_ns,
                      int64_t dur_ns)
{
	const struct ws_model *m = e->tab->m;

	if (e->npieces && device != e->last_device)
		e->many_devices = 1;
	e->last_device = device;
	e->pieces[e->npieces++] =
	        (struct piece){start_ns, start_ns + dur_ns,
	                       call == WS_NONE ? INT64_MAX : m->api.start_ns[call]};
}

static enum ws_status add_device_work(struct execution *e, struct ws_err *err)
{
	static const enum role roles[] = {
	        [WS_WORK_MEMCPY] = ROLE_MEMCPY,
	        [WS_WORK_MEMSET] = ROLE_MEMSET,
	        [WS_WORK_GRAPH] = ROLE_KERNEL,
	};
	const struct ws_model *m = e->tab->m;
	const struct ws_kernels *k = &m->kernels;

	for (size_t i = 0; i < k->n; i++) {
		enum role role = ws_kernel_is_comm(m, i) ? ROLE_COMM : ROLE_KERNEL;

		if (!e->tab->sel->kernel[i] || k->flags[i] & WS_KERNEL_NO_TIME)
			continue;
		add_piece(e, ws_kernel_device(m, i), k->call[i], k->start_ns[i], k->dur_ns[i]);
		WS_FORWARD(ws_spans_add(&e->spans[role], k->start_ns[i],
		                        k->start_ns[i] + k->dur_ns[i], err));
	}
	for (size_t i = 0; i < m->nworks; i++) {
		const struct ws_work *w = &m->works[i];

		if (!e->tab->sel->work[i] || w->no_time)
			continue;
		add_piece(e, w->device, w->call, w->start_ns, w->dur_ns);
		WS_FORWARD(ws_spans_add(&e->spans[roles[w->kind]], w->start_ns,
		                        w->start_ns + w->dur_ns, err));
	}
	return WS_OK;
}

/* What the host did, whatever filter of device work there is. */
static enum ws_status add_host_work(struct execution *e, struct ws_err *err)
{
	const struct ws_model *m = e->tab->m;
	const struct ws_ranges *r = &m->ranges, *ops = &m->cpu_ops.tree;

	for (size_t i = 0; i < m->api.n; i++)
		WS_FORWARD(ws_spans_add(&e->spans[ROLE_RUNTIME], m->api.start_ns[i],
		                        m->api.end_ns[i], err));
	for (uint32_t i = 0; i < ops->n; i++)
		WS_FORWARD(ws_spans_add(&e->spans[role_of_name(m->texts[ops->name[i]])],
		                        ops->start_ns[i], ops->end_ns[i], err));
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t step = m->range_step[i];

		if ((step != WS_NONE && m->steps[step].range == i) ||
		    r->name[i] == WS_TEXT_WARM_UP || r->name[i] == WS_TEXT_SETUP ||
		    r->paths[r->path[i]].domain == WS_TEXT_MODULE_DOMAIN)
			continue; /* says when or for what, not that the CPU works */
		WS_FORWARD(ws_spans_add(&e->spans[role_of_name(m->texts[r->name[i]])],
		                        r->start_ns[i], r->end_ns[i], err));
	}
	return WS_OK;
}

static int by_start(const void *pa, const void *pb)
{
	const struct piece *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static enum ws_status prepare(struct execution *e, struct ws_err *err)
{
	const struct ws_model *m = e->tab->m;

	e->pieces = calloc(m->kernels.n + m->nworks + 1, sizeof(*e->pieces));
	if (!e->pieces)
		return WS_FAIL(err, NO_MEMORY, "no memory for the execution breakdown");
	WS_FORWARD(add_device_work(e, err));
	WS_FORWARD(add_host_work(e, err));
	for (int role = 0; role < ROLE_OTHER; role++)
		ws_spans_merge(&e->spans[role]);
	if (e->npieces)
		qsort(e->pieces, e->npieces, sizeof(*e->pieces), by_start);
	e->busy_until_ns = INT64_MIN;
	return WS_OK;
}

/* Windows ascend, so the places in the spans only move on. */
static void split_by_role(struct execution *e, const struct ws_window *w, struct breakdown *b)
{
	for (int64_t t = w->start_ns, next; t < w->end_ns; t = next) {
		enum role top = ROLE_OTHER;

		next = w->end_ns;
		for (int role = ROLE_OTHER - 1; role >= 0; role--) {
			const struct ws_spans *s = &e->spans[role];
			const struct ws_span *span;

			while (e->at[role] < s->n && s->span[e->at[role]].end_ns <= t)
				e->at[role]++;
			if (e->at[role] == s->n)
				continue;
			span = &s->span[e->at[role]];
			if (span->start_ns <= t) {
				top = (enum role)role;
				next = span->end_ns < next ? span->end_ns : next;
			} else if (span->start_ns < next) {
				next = span->start_ns;
			}
		}
		b->ns[top] += next - t;
	}
}

static enum idle cause_of_gap(int64_t from_ns, const struct piece *then)
{
	if (!then || (then->call_ns != INT64_MAX && then->call_ns > from_ns))
		return IDLE_HOST;
	if (then->call_ns != INT64_MAX && then->start_ns - from_ns < KERNEL_WAIT_NS)
		return IDLE_KERNEL;
	return IDLE_OTHER;
}

static int64_t clip(int64_t from, int64_t to, const struct ws_window *w)
{
	from = from > w->start_ns ? from : w->start_ns;
	to = to < w->end_ns ? to : w->end_ns;
	return to > from ? to - from : 0;
}

/* A gap counts for the cause that its end tells, as far as it lies in the window. */
static void split_idle(struct execution *e, const struct ws_window *w, struct breakdown *b)
{
	int64_t from = e->busy_until_ns > w->start_ns ? e->busy_until_ns : w->start_ns;
	size_t i = e->piece;
	int64_t idle = 0;

	for (; i < e->npieces && e->pieces[i].start_ns < w->end_ns; i++) {
		const struct piece *p = &e->pieces[i];

		if (p->start_ns > from)
			b->idle_ns[cause_of_gap(from, p)] += clip(from, p->start_ns, w);
		if (p->end_ns > from)
			from = p->end_ns;
	}
	if (from < w->end_ns)
		b->idle_ns[cause_of_gap(from, i < e->npieces ? &e->pieces[i] : NULL)] +=
		        clip(from, w->end_ns, w);
	e->piece = i;
	e->busy_until_ns = from > e->busy_until_ns ? from : e->busy_until_ns;
	for (int cause = 0; cause < IDLES; cause++)
		idle += b->idle_ns[cause];
	b->busy_ns = w->end_ns - w->start_ns - idle;
}

/* values are sums over n windows. */
static void set_row(struct ws_cell *row, const struct breakdown *b, size_t n)
{
	double scale = 1e3 * (double)n;
	int64_t total = 0;

	for (int role = 0; role < ROLES; role++) {
		total += b->ns[role];
		ws_cell_set_real(&row[WS_TC_execution_kernel_us + role],
		                 (double)b->ns[role] / scale);
	}
	ws_cell_set_real(&row[WS_TC_execution_total_us], (double)total / scale);
	ws_cell_set_real(&row[WS_TC_execution_busy_us], (double)b->busy_ns / scale);
	ws_cell_set_real(&row[WS_TC_execution_idle_us], (double)(total - b->busy_ns) / scale);
	for (int cause = 0; cause < IDLES; cause++)
		ws_cell_set_real(&row[WS_TC_execution_idle_host_us + cause],
		                 (double)b->idle_ns[cause] / scale);
}

static void add_rows(struct execution *e, struct ws_table *t, const struct ws_window *windows,
                     size_t n)
{
	const struct ws_model *m = e->tab->m;
	struct breakdown sum = {{0}, {0}, 0};
	struct ws_cell *row;

	for (size_t i = 0; i < n; i++) {
		struct breakdown b = {{0}, {0}, 0};
		char name[16] = "all";

		split_by_role(e, &windows[i], &b);
		split_idle(e, &windows[i], &b);
		if (windows[i].step != WS_NONE)
			snprintf(name, sizeof(name), "%" PRIu32, m->steps[windows[i].step].number);
		row = ws_table_row(t);
		ws_cell_set_str(t, &row[WS_TC_execution_step], name);
		set_row(row, &b, 1);
		for (int role = 0; role < ROLES; role++)
			sum.ns[role] += b.ns[role];
		for (int cause = 0; cause < IDLES; cause++)
			sum.idle_ns[cause] += b.idle_ns[cause];
		sum.busy_ns += b.busy_ns;
	}
	if (!n)
		return;
	row = ws_table_row(t);
	ws_cell_set_str(t, &row[WS_TC_execution_step], "Average");
	set_row(row, &sum, n);
}

static void add_notes(const struct execution *e, struct ws_table *t,
                      const struct ws_window *windows, size_t n, size_t cut)
{
	if (n && windows[0].step == WS_NONE)
		ws_table_note(t, "The trace has no finished step: the row `all` is the time from "
		                 "the first to the last operation or call, and what they "
		                 "launched.");
	if (cut)
		ws_table_note(t,
		              "%zu steps at the end are left out: their device work was cut off.",
		              cut);
	if (e->many_devices)
		ws_table_note(t, "Several devices ran: their work is taken together; `--device N` "
		                 "shows one.");
}

enum ws_status ws_tab_execution(const struct ws_tab *tab, struct ws_table *t, struct ws_err *err)
{
	const struct ws_model *m = tab->m;
	struct execution e = {.tab = tab};
	struct ws_window *windows = NULL;
	size_t n = 0, cut = 0;
	enum ws_status status = WS_OK;

	if (!m->kernels.n && !m->nworks) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return WS_OK;
	}
	status = ws_windows(m, tab->sel, &windows, &n, &cut, err);
	if (status == WS_OK)
		status = prepare(&e, err);
	if (status == WS_OK) {
		add_rows(&e, t, windows, n);
		add_notes(&e, t, windows, n, cut);
	}
	free(windows);
	free(e.pieces);
	for (int role = 0; role < ROLE_OTHER; role++)
		ws_spans_release(&e.spans[role]);
	return status;
}
