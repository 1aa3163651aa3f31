#include "report/advice/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"

const struct ws_rule_def ws_rule_defs[WS_RULES] = {
#define R(function, id, gpu, title, condition, says) {id, title, condition, says, gpu},
        WS_ADVICE_RULES(R)
#undef R
};

static enum ws_status (*const rules[WS_RULES])(struct ws_advice *, struct ws_err *) = {
#define R(function, id, gpu, title, condition, says) ws_rule_##function,
        WS_ADVICE_RULES(R)
#undef R
};

const char *ws_severity_name(enum ws_severity severity)
{
	static const char *const names[] = {
#define X(NAME, name) name,
	        WS_SEVERITY_LIST(X)
#undef X
	};

	return names[severity];
}

/* --- findings ------------------------------------------------------------------------------ */

char *ws_advice_text(struct ws_advice *a, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	a->no_memory |= !text;
	return text;
}

void ws_advice_add(struct ws_advice *a, enum ws_rule rule, enum ws_severity severity,
                   double gain_ns, char *scope, char *evidence, char *advice)
{
	if (a->n == a->allocated) {
		size_t n = a->allocated ? 2 * a->allocated : 16;
		struct ws_finding *grown = realloc(a->findings, n * sizeof(*grown));

		if (!grown) {
			a->no_memory = 1;
			free(scope);
			free(evidence);
			free(advice);
			return;
		}
		a->findings = grown;
		a->allocated = n;
	}
	/* under one per cent of the time nothing is worth acting on first */
	if (severity == WS_SEVERITY_STRONG && !isnan(gain_ns) &&
	    100 * gain_ns < WS_WAIT_PERCENT * (double)a->idle.wall_ns)
		severity = WS_SEVERITY_WEAK;
	a->findings[a->n++] =
	        (struct ws_finding){rule, severity, gain_ns / a->samples, scope, evidence, advice};
	a->fired[rule] = 1;
}

const char *ws_advice_name(const struct ws_advice *a, uint32_t text, char out[WS_ADVICE_NAME_MAX])
{
	out[ws_name_brief(ws_model_short_name(a->m, text), WS_ADVICE_NAME_MAX - 4, out)] = '\0';
	return out;
}

double ws_advice_share(const struct ws_advice *a, int64_t ns)
{
	return a->gpu_ns ? 100 * (double)ns / (double)a->gpu_ns : 0;
}

int64_t ws_advice_class_ns(const struct ws_advice *a, const char *name)
{
	uint64_t id = ws_strtab_find(&a->m->interned, name, strlen(name));

	return id ? a->class_ns[id] : 0;
}

int64_t ws_advice_capability(const struct ws_advice *a, uint32_t device)
{
	const struct ws_device_facts *f;

	if (device >= a->m->ndevices)
		return -1;
	/* gfx942 calls itself 9.4, which is no compute capability of NVIDIA's */
	if (a->m->devices[device].is_amd)
		return -1;
	f = &a->m->devices[device].facts;
	if (f->compute_capability_major < 0 || f->compute_capability_major > 1000)
		return -1;
	return 10 * f->compute_capability_major +
	       (f->compute_capability_minor > 0 ? f->compute_capability_minor : 0);
}

int ws_advice_is_product(const struct ws_advice *a, size_t config)
{
	enum ws_op_class op_class = a->traits[config].op_class;

	return op_class == WS_CLASS_GEMM || op_class == WS_CLASS_CONV;
}

/* Put `candidate` among the three with most; top holds n of them. Returns the new n. */
static size_t rank_top(uint32_t *top, size_t n, const int64_t *ns, uint32_t candidate)
{
	size_t at;

	for (at = n; at && ns[top[at - 1]] < ns[candidate]; at--)
		if (at < WS_ADVICE_TOP)
			top[at] = top[at - 1];
	if (at < WS_ADVICE_TOP)
		top[at] = candidate;
	return n < WS_ADVICE_TOP ? n + 1 : n;
}

char *ws_advice_top_kernels(struct ws_advice *a, int (*which)(const struct ws_advice *, size_t))
{
	int64_t *name_ns = calloc(a->m->ntexts + 1, sizeof(*name_ns));
	char text[WS_ADVICE_TOP * (WS_ADVICE_NAME_MAX + 16)] = "";
	uint32_t top[WS_ADVICE_TOP];
	size_t n = 0, len = 0;

	for (size_t i = 0; name_ns && i < a->m->nconfigs; i++)
		if (a->config_ns[i] && which(a, i))
			name_ns[a->m->configs[i].name] += a->config_ns[i];
	for (uint32_t t = 0; name_ns && t < a->m->ntexts; t++)
		if (name_ns[t])
			n = rank_top(top, n, name_ns, t);
	for (size_t i = 0; i < n; i++) {
		char name[WS_ADVICE_NAME_MAX];

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s (%.1f %%)",
		                        i ? ", " : "", ws_advice_name(a, top[i], name),
		                        ws_advice_share(a, name_ns[top[i]]));
	}
	a->no_memory |= !name_ns;
	free(name_ns);
	return ws_advice_text(a, "%s", text);
}

const char *ws_advice_each(const struct ws_advice *a)
{
	return a->times.nmeasured ? " a step" : "";
}

/* --- what the rules look at ---------------------------------------------------------------- */

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for the advice");
}

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

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_kind(const void *pa, const void *pb)
{
	const struct ws_work_group *ga = pa, *gb = pb;
	const struct ws_cost_op *a = ga->op, *b = gb->op;
	int c = compare(a->name, b->name);

	c = c ? c : compare(a->class, b->class);
	c = c ? c : compare(a->dtype, b->dtype);
	c = c ? c : compare(a->device, b->device);
	c = c ? c : compare(a->batch, b->batch);
	c = c ? c : compare(a->m, b->m);
	c = c ? c : compare(a->n, b->n);
	c = c ? c : compare(a->k, b->k);
	c = c ? c : compare((uint64_t)a->flops, (uint64_t)b->flops);
	return c ? c : compare((uint64_t)a->bytes, (uint64_t)b->bytes);
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
	a->work = calloc(a->costs.n + 1, sizeof(*a->work));
	if (!a->work)
		return no_memory(err);
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

	a->counts = calloc(m->kernels.n + 1, 1);
	a->traits = calloc(m->nconfigs + 1, sizeof(*a->traits));
	a->config_ns = calloc(m->nconfigs + 1, sizeof(*a->config_ns));
	a->class_ns = calloc(m->ntexts + 1, sizeof(*a->class_ns));
	if (!a->counts || !a->traits || !a->config_ns || !a->class_ns)
		return no_memory(err);
	WS_FORWARD(ws_step_times(m, a->tab->sel, NULL, &a->times, err));
	WS_FORWARD(ws_idle_find(m, a->tab->sel, true, &a->idle, err));
	a->samples = a->times.nmeasured ? (double)a->times.nmeasured : 1;
	a->step_ns = (double)a->idle.wall_ns / a->samples;
	count_kernels(a);
	WS_FORWARD(find_traits(a, err));
	return group_work(a, err);
}

/* --- all rules ----------------------------------------------------------------------------- */

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

enum ws_status ws_advice_find(const struct ws_tab *tab, struct ws_advice *out, struct ws_err *err)
{
	int on_cpu = ws_model_on_cpu(tab->m);

	*out = (struct ws_advice){.tab = tab, .m = tab->m};
	WS_FORWARD(prepare(out, err));
	for (int i = 0; i < WS_RULES; i++) {
		if (ws_rule_defs[i].gpu && on_cpu)
			out->not_judged[i] = "kernels ran on the CPU reference, whose times are no "
			                     "GPU's";
		else if (ws_rule_defs[i].gpu && !out->gpu_ns)
			out->not_judged[i] = "no kernel with a known time counts";
		else
			WS_FORWARD(rules[i](out, err));
	}
	if (out->no_memory)
		return no_memory(err);
	if (out->n)
		qsort(out->findings, out->n, sizeof(*out->findings), by_rank);
	return WS_OK;
}

void ws_advice_release(struct ws_advice *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->findings[i].scope);
		free(a->findings[i].evidence);
		free(a->findings[i].advice);
	}
	free(a->findings);
	free(a->counts);
	free(a->traits);
	free(a->config_ns);
	free(a->class_ns);
	free(a->work);
	ws_idle_release(&a->idle);
	ws_cost_ops_release(&a->costs);
	ws_step_times_release(&a->times);
	*a = (struct ws_advice){0};
}
