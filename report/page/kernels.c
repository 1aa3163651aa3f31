/* The kernels that cost most, by name. */
#include <math.h>

#include "report/analysis/cost_ops.h"
#include "report/analysis/digest.h"
#include "report/base/stat.h"
#include "report/page/private.h"

#define MOST_KERNELS 10

struct kernels {
	struct ws_page_making *p;
	struct ws_ranking by_name;
	uint32_t *class, *config; /* of the cell with most time */
	int64_t *most_ns;
};

static void gather(struct kernels *s)
{
	const struct ws_digest *d = s->p->tab->digest;
	const struct ws_model *m = s->p->m;

	for (size_t i = 0; i < d->ncells; i++) {
		const struct ws_digest_cell *cell = &d->cells[i];
		const struct ws_config *config = &m->configs[cell->config];

		if (cell->total_ns < s->most_ns[config->name] && s->config[config->name])
			continue;
		s->most_ns[config->name] = cell->total_ns;
		s->config[config->name] = cell->config;
		s->class[config->name] = ws_digest_class(m, cell);
	}
}

static double flops_per_s(const struct kernels *s, uint32_t name)
{
	const struct ws_digest *d = s->p->tab->digest;
	const struct ws_group *g = &s->by_name.groups[name];

	if (!d->flops || d->flops_unknown[name] || g->without_time)
		return NAN;
	return 1e9 * ws_stat_ratio((double)d->flops[name], (double)g->time.sum);
}

/* Of a product's roof for its dtype; other kernels' bytes are not known by name. */
static double attained(const struct kernels *s, uint32_t name, double flops_per_s)
{
	const struct ws_config *config = &s->p->m->configs[s->config[name]];
	struct ws_roof roof;
	double percent;

	if (!ws_class_is_product(s->class[name]))
		return NAN;
	ws_roof_find(s->p->m, config->device, s->class[name], config -> name_dtype,
	             config -> tensor, &roof);
	percent = 100 * ws_stat_ratio(flops_per_s, roof.flops_per_s);
	return percent > 100 ? NAN : percent;
}

/* Without the namespaces before it: "at::native::(anonymous namespace)::f<…>" is "f<…>". */
static const char *without_namespaces(const char *name)
{
	const char *at = name;

	for (const char *p = name; *p && *p != '<' && *p != '['; p++)
		if (p[0] == ':' && p[1] == ':' && p[2])
			at = p + 2;
	return at;
}

static void add_kernel(struct kernels *s, uint32_t name)
{
	struct ws_page *page = s->p->page;
	const struct ws_group *g = &s->by_name.groups[name];
	const double rate = flops_per_s(s, name);

	page->kernel[page->nkernels++] = (struct ws_page_kernel){
	        .name = without_namespaces(ws_page_name_of(s->p, name)),
	        .full_name = ws_page_text_of(s->p, name),
	        .class = ws_page_class_of(s->p, s->class[name]),
	        .colour = ws_page_colour_of_class(s->p, s->class[name]),
	        .calls = g->time.n + g->without_time,
	        .ns = g->time.sum,
	        .percent = ws_stat_percent((double)g->time.sum, (double)s->p->sel->gpu_ns),
	        .mean_ns = ws_stat_ratio((double)g->time.sum, (double)g->time.n),
	        .flops_per_s = rate,
	        .attained = attained(s, name, rate)};
}

void ws_page_find_rate_unit(struct ws_page *page)
{
	double most = 0;

	for (size_t i = 0; i < page->nkernels; i++)
		most = fmax(most, page->kernel[i].flops_per_s);
	page->rate_unit = most >= 1e12 ? 1e12 : most >= 1e9 ? 1e9 : most > 0 ? 1e6 : 0;
	page->rate_name = most >= 1e12 ? "TFLOP/s" : most >= 1e9 ? "GFLOP/s" : "MFLOP/s";
}

void ws_page_add_kernels(struct ws_page_making *p)
{
	const struct ws_model *m = p->m;
	struct kernels s = {.p = p};
	size_t n;

	WS_NEW(p->tab->temp, s.class, m->ntexts);
	WS_NEW(p->tab->temp, s.config, m->ntexts);
	WS_NEW(p->tab->temp, s.most_ns, m->ntexts);
	WS_NEW(p->texts, p->page->kernel, MOST_KERNELS);
	ws_digest_rank(p->tab, ws_digest_name, &s.by_name);
	n = s.by_name.n;
	gather(&s);
	for (size_t i = 0; i < n && i < MOST_KERNELS; i++)
		add_kernel(&s, s.by_name.order[i].row);
	p->page->more_kernels = n > MOST_KERNELS ? n - MOST_KERNELS : 0;
}
