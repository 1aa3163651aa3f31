/*
 * Time of a step by activity: each moment counts once, for the first of kernel, copy, fill,
 * communication, runtime, data loading, other CPU work that is running.
 */

#include "report/analysis/idle.h"
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
	ROLE_OTHER, /* none of these: the remainder */
	ROLES,
};
/* Communication on the host, if no device has any; it counts as ROLE_COMM. */
#define HOST_COMM ROLE_OTHER
#define LANES     (ROLE_OTHER + 1)

struct execution {
	const struct ws_table_context *tab;
	struct ws_spans spans[LANES]; /* by role, and HOST_COMM */
	struct lane {                 /* position of the sweep in non-empty lists */
		struct ws_spans *spans;
		size_t next;
		struct ws_span span; /* the previous one */
		enum role role;
		bool on_device;
	} lanes[LANES];
	int nlanes;
	const struct ws_idle *idle;
};

struct breakdown {
	int64_t ns[ROLES];
	int64_t busy_ns; /* of all devices */
	struct ws_window_use use;
};

/* Moves to the first span that ends after t; after the last span there is one at the end of time.
 * Windows ascend, so positions only advance. */
static void move_to(struct lane *l, int64_t t)
{
	enum { SOME = 256 };

	while (l->span.end_ns <= t) {
		if (l->next == l->spans->n) {
			l->span = (struct ws_span){INT64_MAX, INT64_MAX};
			return;
		}
		if (l->next % SOME == 0)
			ws_spill_used(&l->spans->file, SOME * sizeof(l->span));
		l->span = l->spans->span[l->next++];
	}
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
	for (int use = 0; use < WS_USES; use++)
		ws_cell_set_real(&row[WS_TC_execution_computing_us + use],
		                 (double)b->use.ns[use] / scale);
}
_Static_assert(WS_TC_execution_recording_us - WS_TC_execution_computing_us == WS_USES - 1,
               "order of columns");

void ws_tab_execution(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	struct execution e = {.tab = tab};
	const struct ws_windows *w = NULL;

	if (!tab->sel->rows->nkernels && !m->nwork) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	w = ws_windows(m, tab->sel);
	e.idle = ws_idle_find(m, tab->sel);

	const struct ws_selection *sel = tab->sel;
	struct ws_joined_rows *rows = sel->rows;
	const size_t on_device = rows->nkernels + m->nwork;
	const size_t on_host = rows->nranges + rows->ncalls + m->cpu_ops.tree.n;

	for (int lane = 0; lane < LANES; lane++)
		ws_spans_open(&e.spans[lane], lane <= ROLE_COMM ? on_device : on_host);

	static const enum role roles[] = {
	        [WS_WORK_MEMCPY] = ROLE_MEMCPY,
	        [WS_WORK_MEMSET] = ROLE_MEMSET,
	        [WS_WORK_GRAPH] = ROLE_KERNEL,
	};
	WS_EACH_KERNEL(rows, i, k) {
		enum role role = k->kind->class == WS_TEXT_COMM ? ROLE_COMM : ROLE_KERNEL;

		if (ws_kernel_ran(sel, k, i))
			ws_spans_cover(&e.spans[role], k->start_ns, k->start_ns + k->dur_ns);
	}
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *work = &m->work[i];

		if (ws_work_ran(sel, m, i))
			ws_spans_cover(&e.spans[roles[work->kind]], work->start_ns,
			               work->start_ns + work->dur_ns);
	}
	/* What the host did, whatever filter of device work there is. */
	const struct ws_op_tree *ops = &m->cpu_ops.tree;
	uint8_t *role_of; /* by text: the role of a range or framework operation of this name */

	WS_NEW(tab->temp, role_of, m->ntexts);
	for (size_t i = 0; i < m->ntexts; i++)
		role_of[i] = ws_name_loads_data(m->texts[i])      ? ROLE_DATA_LOADER
		             : ws_name_is_collective(m->texts[i]) ? HOST_COMM
		                                                  : ROLE_CPU;
	WS_EACH_CALL(rows, i, call)
		ws_spans_cover(&e.spans[ROLE_RUNTIME], call->start_ns,
		               call->start_ns + call->dur_ns);
	for (uint32_t i = 0; i < ops->n; i++)
		ws_spans_cover(&e.spans[role_of[ops->name[i]]], ops->start_ns[i], ops->end_ns[i]);
	WS_EACH_RANGE(rows, i, r) {
		if (r->is_step || r->context->is_warm_up || r->context->name == WS_TEXT_SETUP ||
		    m->ranges.paths[r->context->path].domain == WS_TEXT_MODULE_DOMAIN)
			continue; /* says when or for what, not that the CPU works */
		ws_spans_cover(&e.spans[role_of[r->context->name]], r->start_ns, r->end_ns);
	}
	for (int lane = 0; lane < LANES; lane++) {
		struct ws_spans *spans = &e.spans[lane];

		ws_spans_merge(spans);
		if (spans->n)
			e.lanes[e.nlanes++] =
			        (struct lane){.spans = spans,
			                      .span = {INT64_MIN, INT64_MIN},
			                      .role = lane == HOST_COMM ? ROLE_COMM
			                                                : (enum role)lane,
			                      .on_device = lane <= ROLE_COMM};
	}
	struct breakdown sum = {0};
	struct ws_cell *row;

	for (size_t i = 0; i < w->n; i++) {
		struct breakdown b = {0};
		char name[32] = "all";

		for (int64_t at = w->window[i].start_ns, next; at < w->window[i].end_ns;
		     at = next) {
			enum role top = ROLE_OTHER;
			bool is_busy = false;

			next = w->window[i].end_ns;
			for (int lane = 0; lane < e.nlanes; lane++) {
				struct lane *l = &e.lanes[lane];

				move_to(l, at);
				/* branch-free, because the next lane is unpredictable */
				const bool is_on = l->span.start_ns <= at;
				const int64_t change_ns = is_on ? l->span.end_ns : l->span.start_ns;
				const enum role role = is_on ? l->role : ROLE_OTHER;

				top = role < top ? role : top;
				is_busy |= is_on & l->on_device;
				next = change_ns < next ? change_ns : next;
			}
			b.ns[top] += next - at;
			b.busy_ns += is_busy ? next - at : 0;
		}
		b.use = e.idle->of_window[i];
		if (w->window[i].step != WS_NONE)
			snprintf(name, sizeof(name), "%" PRIu32,
			         m->steps[w->window[i].step].number);
		else if (w->n > 1)
			snprintf(name, sizeof(name), "window %zu", i + 1);
		row = ws_table_row(t);
		ws_cell_set_str(t, &row[WS_TC_execution_step], name);
		set_row(row, &b, 1);
		for (int role = 0; role < ROLES; role++)
			sum.ns[role] += b.ns[role];
		sum.busy_ns += b.busy_ns;
		for (int use = 0; use < WS_USES; use++)
			sum.use.ns[use] += b.use.ns[use];
	}
	if (w->n) {
		row = ws_table_row(t);
		ws_cell_set_str(t, &row[WS_TC_execution_step], "Average");
		set_row(row, &sum, w->n);

		/* The sentence about the parts of the step. */
		static const char *const names[ROLES] = {
		        "kernels", "copies",       "fills",          "communication",
		        "runtime", "data loading", "other CPU work", "none of these",
		};
		char parts[ROLES * 32];
		double total = 0;
		size_t len = 0;

		for (int role = 0; role < ROLES; role++)
			total += (double)sum.ns[role];
		for (int role = 0; role < ROLES; role++) {
			double share = ws_stat_percent((double)sum.ns[role], total);

			if (share >= 0.05) /* shown as 0.1 */
				len += (size_t)snprintf(parts + len, sizeof(parts) - len,
				                        "%s%s %.1f %%", len ? ", " : "",
				                        names[role], share);
		}
		if (len)
			ws_table_answer(t, "Of %s: %s; any device was busy %.1f %%.",
			                w->window[0].step != WS_NONE ? "an average step"
			                                             : "the whole time",
			                parts, ws_stat_percent((double)sum.busy_ns, total));
	}
	if (w->n && w->window[0].step == WS_NONE)
		ws_table_note(t, "The trace has no finished step: the row `all` is the time from "
		                 "its first record to its last.");
	if (m->ndevices > 1)
		ws_table_note(t, "Up to Total, all devices count together; the columns after it "
		                 "add up over devices. `--device N` shows one.");
	for (int lane = 0; lane < LANES; lane++)
		ws_spans_release(&e.spans[lane]);
}
