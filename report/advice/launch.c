/* Rule A1: does the run, or a part of it, wait for its launches? */
#include <math.h>
#include <stdlib.h>

#include "report/advice/advice.h"
#include "report/analysis/device_time.h"

/* When each device was busy: merged spans, and the busy time before each. */
struct busy {
	struct ws_spans *of_device;
	int64_t **before;
	size_t ndevices;
};

static void busy_release(struct busy *b)
{
	for (size_t d = 0; d < b->ndevices; d++) {
		if (b->of_device)
			ws_spans_release(&b->of_device[d]);
		if (b->before)
			free(b->before[d]);
	}
	free(b->of_device);
	free(b->before);
}

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for the advice");
}

static enum ws_status busy_find(const struct ws_model *m, struct busy *b, struct ws_err *err)
{
	const struct ws_kernels *k = &m->kernels;

	b->ndevices = m->ndevices;
	b->of_device = calloc(m->ndevices + 1, sizeof(*b->of_device));
	b->before = calloc(m->ndevices + 1, sizeof(*b->before));
	if (!b->of_device || !b->before)
		return no_memory(err);
	for (size_t i = 0; i < k->n; i++)
		if (!(k->flags[i] & WS_KERNEL_NO_TIME))
			WS_FORWARD(ws_spans_add(&b->of_device[ws_kernel_device(m, i)],
			                        k->start_ns[i], k->start_ns[i] + k->dur_ns[i],
			                        err));
	for (size_t i = 0; i < m->nworks; i++)
		if (m->works[i].kind == WS_WORK_GRAPH && !m->works[i].no_time)
			WS_FORWARD(ws_spans_add(&b->of_device[m->works[i].device],
			                        m->works[i].start_ns,
			                        m->works[i].start_ns + m->works[i].dur_ns, err));
	for (size_t d = 0; d < m->ndevices; d++) {
		struct ws_spans *s = &b->of_device[d];

		ws_spans_merge(s);
		b->before[d] = calloc(s->n + 1, sizeof(*b->before[d]));
		if (!b->before[d])
			return no_memory(err);
		for (size_t i = 0; i < s->n; i++)
			b->before[d][i + 1] =
			        b->before[d][i] + s->span[i].end_ns - s->span[i].start_ns;
	}
	return WS_OK;
}

/* Busy time of a device before a moment. */
static int64_t busy_before(const struct busy *b, uint32_t device, int64_t time_ns)
{
	const struct ws_spans *s = &b->of_device[device];
	size_t lo = 0, hi = s->n;

	while (lo < hi) { /* the first span that ends behind it */
		size_t mid = lo + (hi - lo) / 2;

		if (s->span[mid].end_ns <= time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == s->n || s->span[lo].start_ns >= time_ns)
		return b->before[device][lo];
	return b->before[device][lo] + time_ns - s->span[lo].start_ns;
}

/* What an instance of a range launched, ranges in it included. */
struct instance {
	int64_t first_ns, last_ns;
	uint64_t kernels, short_kernels;
	uint32_t device; /* WS_NONE: of several devices */
};

static void instance_add(struct instance *to, const struct instance *from)
{
	if (!from->kernels)
		return;
	if (!to->kernels) {
		*to = *from;
		return;
	}
	to->first_ns = from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
	to->last_ns = from->last_ns > to->last_ns ? from->last_ns : to->last_ns;
	to->kernels += from->kernels;
	to->short_kernels += from->short_kernels;
	to->device = to->device == from->device ? to->device : WS_NONE;
}

static void gather(const struct ws_model *m, const struct ws_selection *sel, struct instance *of)
{
	const struct ws_kernels *k = &m->kernels;

	for (size_t i = 0; i < k->n; i++) {
		struct instance one = {.first_ns = k->start_ns[i],
		                       .last_ns = k->start_ns[i] + k->dur_ns[i],
		                       .kernels = 1,
		                       .short_kernels = k->dur_ns[i] < WS_A1_KERNEL_US * 1000,
		                       .device = ws_kernel_device(m, i)};

		if (!sel->kernel[i] || k->range[i] == WS_NONE || k->flags[i] & WS_KERNEL_NO_TIME ||
		    (sel->measured && !ws_step_selected(m, sel, k->step[i])))
			continue;
		instance_add(&of[k->range[i]], &one);
	}
	for (size_t r = m->ranges.n; r-- > 0;) /* children stand behind their parents */
		if (m->ranges.parent[r] != WS_NONE)
			instance_add(&of[m->ranges.parent[r]], &of[r]);
}

enum ws_status ws_advice_launch_paths(const struct ws_model *m, const struct ws_selection *sel,
                                      struct ws_path_launch *out, struct ws_err *err)
{
	struct instance *of = calloc(m->ranges.n + 1, sizeof(*of));
	struct busy busy = {0};
	enum ws_status status = of ? busy_find(m, &busy, err) : no_memory(err);

	for (size_t p = 0; p < m->ranges.npaths; p++)
		out[p] = (struct ws_path_launch){0};
	if (status != WS_OK || ws_model_on_cpu(m))
		goto out;
	gather(m, sel, of);
	for (size_t r = 0; r < m->ranges.n; r++) {
		struct ws_path_launch *to = &out[m->ranges.path[r]];

		if (!of[r].kernels || of[r].device == WS_NONE)
			continue;
		to->kernels += of[r].kernels;
		to->short_kernels += of[r].short_kernels;
		to->wall_ns += of[r].last_ns - of[r].first_ns;
		to->busy_ns += busy_before(&busy, of[r].device, of[r].last_ns) -
		               busy_before(&busy, of[r].device, of[r].first_ns);
	}
	for (size_t p = 0; p < m->ranges.npaths; p++) {
		struct ws_path_launch *to = &out[p];

		to->launch_bound =
		        (double)to->busy_ns * 100 < WS_A1_BUSY_PERCENT * (double)to->wall_ns &&
		        (to->short_kernels * 2 > to->kernels ||
		         (double)to->wall_ns > WS_A1_WALL_TIMES * (double)to->busy_ns);
	}
out:
	busy_release(&busy);
	free(of);
	return status;
}

static char *evidence_of(struct ws_advice *a, double busy_ns, double wall_ns, uint64_t kernels)
{
	return ws_advice_text(
	        a,
	        "GPU busy %.1f %% of %.3f ms%s, with %.0f kernels of %.1f us on average: %.3f ms "
	        "idle",
	        100 * busy_ns / wall_ns, wall_ns / a->samples / 1e6, ws_advice_each(a),
	        (double)kernels / a->samples, busy_ns / (double)kernels / 1e3,
	        (wall_ns - busy_ns) / a->samples / 1e6);
}

/* Is a path around it launch-bound, too? */
static int is_inside(const struct ws_advice *a, const struct ws_path_launch *launch, uint32_t p)
{
	const struct ws_path *paths = a->m->ranges.paths;

	for (p = paths[p].parent; p != WS_NONE; p = paths[p].parent)
		if (launch[p].launch_bound)
			return 1;
	return 0;
}

static enum ws_status add_paths(struct ws_advice *a, const struct ws_path_launch *launch,
                                struct ws_err *err)
{
	size_t shown = 0;

	for (uint32_t p = 0; p < a->m->ranges.npaths; p++) {
		double idle = (double)(launch[p].wall_ns - launch[p].busy_ns);
		char *path;
		size_t len;

		if (!launch[p].launch_bound || is_inside(a, launch, p) ||
		    100 * idle < WS_A1_RANGE_PERCENT * a->step_ns * a->samples)
			continue;
		if (shown++ >= WS_ADVICE_FINDINGS_MAX) {
			a->left_out[WS_RULE_launch_bound]++;
			continue;
		}
		WS_FORWARD(ws_path_text(&a->m->ranges, p, a->m->texts, &path, &len, err));
		ws_advice_add(a, WS_RULE_launch_bound, WS_SEVERITY_STRONG, idle, path,
		              evidence_of(a, (double)launch[p].busy_ns, (double)launch[p].wall_ns,
		                          launch[p].kernels),
		              NULL);
	}
	return WS_OK;
}

enum ws_status ws_rule_launch_bound(struct ws_advice *a, struct ws_err *err)
{
	const struct ws_launch_verdict *v = &a->launch;
	struct ws_path_launch *launch;
	enum ws_status status;

	if (v->launch_bound) {
		ws_advice_add(a, WS_RULE_launch_bound, WS_SEVERITY_STRONG,
		              (double)(v->wall_ns - v->busy_ns), ws_advice_text(a, "whole run"),
		              evidence_of(a, (double)v->busy_ns, (double)v->wall_ns, v->kernels),
		              NULL);
		return WS_OK;
	}
	launch = calloc(a->m->ranges.npaths + 1, sizeof(*launch));
	if (!launch)
		return no_memory(err);
	status = ws_advice_launch_paths(a->m, a->tab->sel, launch, err);
	if (status == WS_OK)
		status = add_paths(a, launch, err);
	free(launch);
	return status;
}
