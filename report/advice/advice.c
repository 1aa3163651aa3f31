/* Gathers what rules look at, and asks all of them. */
#include "report/advice/advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"

static void count_kernels(struct ws_advice *a)
{
	const struct ws_model *m = a->m;
	const struct ws_selection *sel = a->tab->sel;

	for (size_t k = 0; k < m->kernels.n; k++) {
		int64_t ns = m->kernels.dur_ns[k];

		a->counts[k] = sel->kernel[k] &&
		               (!sel->measured || ws_step_selected(m, sel, ws_kernel_step(m, k)));
		if (!a->counts[k])
			continue;
		a->kernels++;
		a->gpu_ns += ns;
		a->config_ns[m->kernels.config[k]] += ns;
		a->class_ns[ws_kernel_class(m, k)] += ns;
	}
}

/* The built-in rules: tile, alignment and architecture are no matter of taste. */
static enum ws_status find_traits(struct ws_advice *a, struct ws_err *err)
{
	struct ws_classifier *classifier = NULL;
	enum ws_status status = ws_classifier_new(NULL, 0, &classifier, err);

	for (size_t i = 0; i < a->m->nconfigs && status == WS_OK; i++) {
		struct ws_bytes name = a->m->texts[a->m->configs[i].name];

		if (a->config_ns[i])
			status = ws_classify(classifier, name.ptr, name.len, &a->traits[i], err);
	}
	ws_classifier_free(classifier);
	return status;
}

static int by_kind(const void *pa, const void *pb)
{
	const struct ws_work_group *ga = pa, *gb = pb;
	const struct ws_cost_op *a = ga->op, *b = gb->op;
	int c = ws_order_compare(a->name, b->name);

	c = c ? c : ws_order_compare(a->class, b->class);
	c = c ? c : ws_order_compare(a->dtype, b->dtype);
	c = c ? c : ws_order_compare(a->device, b->device);
	c = c ? c : ws_order_compare(a->batch, b->batch);
	c = c ? c : ws_order_compare(a->m, b->m);
	c = c ? c : ws_order_compare(a->n, b->n);
	c = c ? c : ws_order_compare(a->k, b->k);
	c = c ? c : ws_order_compare((uint64_t)a->flops, (uint64_t)b->flops);
	return c ? c : ws_order_compare((uint64_t)a->bytes, (uint64_t)b->bytes);
}

static int by_time(const void *pa, const void *pb, void *arg)
{
	const struct ws_work_group *a = pa, *b = pb;
	const struct ws_bytes *texts = arg;
	int c;

	if (a->gpu_ns != b->gpu_ns)
		return a->gpu_ns > b->gpu_ns ? -1 : 1;
	c = ws_name_compare(texts[a->op->name], texts[b->op->name]);
	return c ? c : by_kind(pa, pb);
}

static void merge_groups(struct ws_advice *a)
{
	size_t n = 0;

	if (a->nwork)
		qsort(a->work, a->nwork, sizeof(*a->work), by_kind);
	for (size_t i = 0; i < a->nwork; i++) {
		const struct ws_work_group *from = &a->work[i];
		struct ws_work_group *to = n ? &a->work[n - 1] : NULL;

		if (!to || by_kind(to, from)) {
			a->work[n++] = *from;
			continue;
		}
		to->calls += from->calls;
		to->kernels += from->kernels;
		to->gpu_ns += from->gpu_ns;
		if (from->longest_ns > to->longest_ns) {
			to->longest_ns = from->longest_ns;
			to->config = from->config;
		}
	}
	a->nwork = n;
	if (n)
		qsort_r(a->work, n, sizeof(*a->work), by_time, a->m->texts);
}

/* The operations whose cost is known, of kernels that count. */
static enum ws_status group_work(struct ws_advice *a, struct ws_err *err)
{
	const struct ws_kernels *kernels = &a->m->kernels;

	WS_FORWARD(ws_cost_ops_find(a->m, a->tab->sel, &a->costs, err));
	WS_NEW(&a->arena, a->work, a->costs.n);
	WS_FORWARD(ws_arena_check(&a->arena, "the advice", err));
	for (size_t i = 0; i < a->costs.n; i++)
		a->work[i] = (struct ws_work_group){.op = &a->costs.op[i], .longest_ns = -1};
	for (size_t k = 0; k < kernels->n; k++) {
		struct ws_work_group *g;

		if (!a->counts[k] || a->costs.of_kernel[k] == WS_NONE)
			continue;
		g = &a->work[a->costs.of_kernel[k]];
		g->calls = 1;
		g->kernels++;
		g->gpu_ns += kernels->dur_ns[k];
		if (kernels->dur_ns[k] > g->longest_ns) {
			g->longest_ns = kernels->dur_ns[k];
			g->config = kernels->config[k];
		}
	}
	for (size_t i = 0; i < a->costs.n; i++)
		if (a->work[i].kernels)
			a->work[a->nwork++] = a->work[i];
	merge_groups(a);
	return WS_OK;
}

static enum ws_status prepare(struct ws_advice *a, struct ws_err *err)
{
	const struct ws_model *m = a->m;

	WS_NEW(&a->arena, a->counts, m->kernels.n);
	WS_NEW(&a->arena, a->traits, m->nconfigs);
	WS_NEW(&a->arena, a->config_ns, m->nconfigs);
	WS_NEW(&a->arena, a->class_ns, m->ntexts);
	WS_FORWARD(ws_arena_check(&a->arena, "the advice", err));
	WS_FORWARD(ws_step_times(m, a->tab->sel, NULL, &a->times, err));
	WS_FORWARD(ws_idle_find(m, a->tab->sel, &a->idle, err));
	a->found->has_steps = a->times.nmeasured > 0;
	a->samples = a->times.nmeasured ? (double)a->times.nmeasured : 1;
	a->found->step_ns = (double)a->idle->wall_ns / a->samples;
	count_kernels(a);
	WS_FORWARD(find_traits(a, err));
	return group_work(a, err);
}

static void (*const rules[WS_RULES])(struct ws_advice *) = {
#define R(function, id, gpu, title, condition, says) ws_rule_##function,
        WS_ADVICE_RULES(R)
#undef R
};

static int by_rank(const void *pa, const void *pb)
{
	const struct ws_finding *a = pa, *b = pb;
	/* a gain that is not known comes behind those that are */
	double gain_a = isnan(a->gain_ns) ? -1 : a->gain_ns;
	double gain_b = isnan(b->gain_ns) ? -1 : b->gain_ns;
	int c;

	if (a->severity != b->severity)
		return a->severity < b->severity ? -1 : 1;
	if (gain_a != gain_b)
		return gain_a > gain_b ? -1 : 1;
	if (a->rule != b->rule)
		return a->rule < b->rule ? -1 : 1;
	c = strcmp(a->scope, b->scope);
	return c ? c : strcmp(a->evidence, b->evidence);
}

static void judge(struct ws_advice *a)
{
	int on_cpu = ws_model_on_cpu(a->m);

	for (int i = 0; i < WS_RULES; i++) {
		if (ws_rule_defs[i].gpu && on_cpu)
			a->found->not_judged[i] =
			        "kernels ran on the CPU reference, whose times are no GPU's";
		else if (ws_rule_defs[i].gpu && !a->gpu_ns)
			a->found->not_judged[i] = "no kernel with a known time counts";
		else
			rules[i](a);
	}
}

/* From an array that grew to one of the texts' arena. */
static void sort_findings(struct ws_advice *a)
{
	struct ws_finding *grown = a->found->finding;

	WS_NEW(a->texts, a->found->finding, a->found->n);
	if (a->found->n && a->found->finding) {
		memcpy(a->found->finding, grown, a->found->n * sizeof(*grown));
		qsort(a->found->finding, a->found->n, sizeof(*grown), by_rank);
	}
	free(grown);
}

enum ws_status ws_advice_find(const struct ws_table_context *tab, const struct ws_findings **out,
                              struct ws_err *err)
{
	static const char key;
	struct ws_arena *texts = &tab->sel->kept->arena;
	struct ws_advice a = {.tab = tab, .m = tab->m, .texts = texts};
	enum ws_status status;

	*out = ws_kept_result(tab->sel, &key);
	if (*out)
		return WS_OK;
	WS_NEW(texts, a.found, 1);
	WS_FORWARD(ws_arena_check(texts, "the advice", err));
	status = prepare(&a, err);
	if (status == WS_OK)
		judge(&a);
	sort_findings(&a);
	WS_THEN(status, ws_arena_check(&a.arena, "the advice", err));
	WS_THEN(status, ws_arena_check(texts, "the advice", err));
	WS_THEN(status, ws_keep_result(tab->sel, &key, a.found, err));
	*out = a.found;
	ws_arena_free(&a.arena);
	ws_utilization_release(&a.use);
	ws_cost_ops_release(&a.costs);
	ws_step_times_release(&a.times);
	return status;
}
