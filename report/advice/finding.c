/* Functions with which rules make findings. */
#include "report/advice/advice.h"

#include "report/base/names.h"
#include "report/names/names.h"

#define NAME_COLUMNS 61 /* width of a name in a sentence */

const struct ws_rule_def ws_rule_defs[WS_RULES] = {
#define R(function, id, gpu, title, condition, says) {id, title, condition, says, gpu},
        WS_ADVICE_RULES(R)
#undef R
};

const char *ws_severity_name(enum ws_severity severity)
{
	static const char *const names[] = {WS_SEVERITY_LIST(WS_LIST_SECOND)};

	return names[severity];
}

const char *ws_advice_text(struct ws_advice *a, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	const char *text = ws_arena_vformat(a->texts, fmt, args);
	va_end(args);
	return text;
}

double ws_advice_roof_ns(const struct ws_work_group *g)
{
	const struct ws_cost_op *op = &g->op;

	if (g->roof.flops_per_s <= 0 || op->flops <= 0)
		return NAN;
	double seconds = (double)op->flops / g->roof.flops_per_s;
	if (op->bytes > 0 && g->roof.bytes_per_s > 0)
		seconds = fmax(seconds, (double)op->bytes / g->roof.bytes_per_s);
	return seconds * 1e9 * (double)g->calls;
}

const char *ws_advice_name(struct ws_advice *a, uint32_t text)
{
	struct ws_bytes name = ws_model_short_name(a->m, text);

	ws_names_elide(a->texts, &name, 1, NAME_COLUMNS, WS_ELIDE_HEAD(NAME_COLUMNS));
	return ws_arena_copy(a->texts, name.ptr, name.len);
}

double ws_advice_share(const struct ws_advice *a, int64_t ns)
{
	return a->gpu_ns ? 100 * (double)ns / (double)a->gpu_ns : 0;
}

int64_t ws_advice_capability(const struct ws_advice *a, uint32_t device)
{
	if (device >= a->m->ndevices)
		return -1;
	/* gfx942 reports 9.4, which is not a compute capability of NVIDIA */
	if (a->m->devices[device].is_amd)
		return -1;
	const struct ws_device_facts *f = &a->m->devices[device].facts;
	if (f->compute_capability_major < 0 || f->compute_capability_major > 1000)
		return -1;
	return 10 * f->compute_capability_major +
	       (f->compute_capability_minor > 0 ? f->compute_capability_minor : 0);
}

bool ws_advice_is_product(const struct ws_advice *a, size_t config)
{
	enum ws_op_class op_class = a->traits[config].op_class;

	return op_class == WS_CLASS_GEMM || op_class == WS_CLASS_CONV;
}

size_t ws_advice_rank(uint32_t *top, size_t n, const int64_t *ns, uint32_t candidate)
{
	size_t at;

	for (at = n; at && ns[top[at - 1]] < ns[candidate]; at--)
		if (at < WS_ADVICE_TOP)
			top[at] = top[at - 1];
	if (at < WS_ADVICE_TOP)
		top[at] = candidate;
	return n < WS_ADVICE_TOP ? n + 1 : n;
}

int64_t ws_advice_time_of(const struct ws_advice *a,
                          bool (*which)(const struct ws_advice *, size_t))
{
	int64_t ns = 0;

	for (size_t i = 0; i < a->m->nconfigs; i++)
		if (a->config_ns[i] && which(a, i))
			ns += a->config_ns[i];
	return ns;
}

const char *ws_advice_top_kernels(struct ws_advice *a,
                                  bool (*matches)(const struct ws_advice *, size_t))
{
	int64_t *name_ns = ws_arena_array(&a->arena, a->m->ntexts, sizeof(*name_ns));
	uint32_t top[WS_ADVICE_TOP];
	const char *text = "";
	size_t n = 0;

	for (size_t i = 0; i < a->m->nconfigs; i++)
		if (a->config_ns[i] && matches(a, i))
			name_ns[a->m->configs[i].name] += a->config_ns[i];
	for (uint32_t t = 0; t < a->m->ntexts; t++)
		if (name_ns[t])
			n = ws_advice_rank(top, n, name_ns, t);
	for (size_t i = 0; i < n; i++)
		text = ws_advice_text(a, "%s%s%s (%s)", text, i ? ", " : "",
		                      ws_advice_name(a, top[i]),
		                      ws_advice_kernel_time(a, name_ns[top[i]]));
	return text;
}

bool ws_advice_has_room(struct ws_advice *a, enum ws_rule rule, size_t *shown)
{
	if ((*shown)++ < WS_ADVICE_FINDINGS_MAX)
		return true;
	a->found->skipped[rule]++;
	return false;
}

const char *ws_advice_time(const struct ws_advice *a, double ns)
{
	return ws_say_time(a->texts, ns);
}

static double of_each_device(const struct ws_advice *a, int64_t ns)
{
	return (double)ns / (double)(a->idle->nworked ? a->idle->nworked : 1);
}

const char *ws_advice_part(const struct ws_advice *a, double ns)
{
	return ws_say_times(a->texts, ns, "of", a->found->step_ns);
}

const char *ws_advice_kernel_part(const struct ws_advice *a, int64_t ns)
{
	return ws_advice_part(a, of_each_device(a, ns));
}

const char *ws_advice_kernel_time(const struct ws_advice *a, int64_t ns)
{
	return ws_advice_time(a, of_each_device(a, ns));
}

const char *ws_advice_each(const struct ws_advice *a)
{
	return a->times->nmeasured ? " per step" : "";
}
