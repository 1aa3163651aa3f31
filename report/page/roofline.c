/* The circles and the roofs of the roofline: operations by name, nothing under half a percent. */
#include <math.h>

#include "report/analysis/cost_groups.h"
#include "report/base/order.h"
#include "report/base/stat.h"
#include "report/page/private.h"

#define LEAST_PERCENT 0.5
#define LABELS        6
#define MOST_ROOFS    4

/* One line for each rate that a device has for the operations shown. */
static void add_roof(struct ws_page_making *p, double flops_per_s, double bytes_per_s,
                     const char *name)
{
	struct ws_page *page = p->page;

	for (size_t i = 0; i < page->nroofs; i++)
		if (page->roof[i].flops_per_s == flops_per_s &&
		    page->roof[i].bytes_per_s == bytes_per_s)
			return;
	if (page->nroofs < MOST_ROOFS)
		page->roof[page->nroofs++] = (struct ws_page_roof){name, flops_per_s, bytes_per_s};
}

static void add_roofs(struct ws_page_making *p, const struct ws_cost_group *g,
                      const struct ws_roof *roof, const char *dtype)
{
	const bool tensor = ws_class_is_product(g->class) && g->tensor != WS_TENSOR_NO;

	if (roof->flops_per_s > 0 && roof->bytes_per_s > 0) {
		const char *flops = ws_say_si(p->texts, roof->flops_per_s, "FLOP/s");
		const char *bytes = ws_say_si(p->texts, roof->bytes_per_s, "B/s");

		/* of other work than products the memory is what bounds */
		if (ws_class_is_product(g->class))
			add_roof(p, roof->flops_per_s, 0,
			         ws_arena_format(p->texts, "%s %s%s%s", flops,
			                         tensor ? "dense " : "", dtype,
			                         roof->unconfirmed ? " (not confirmed)" : ""));
		add_roof(p, 0, roof->bytes_per_s, ws_arena_format(p->texts, "%s memory", bytes));
	}
}

static void add_point(struct ws_page_making *p, const struct ws_cost_group *g)
{
	const double percent = ws_stat_percent((double)g->gpu_ns, (double)p->sel->gpu_ns);
	const char *dtype = ws_page_text_of(p, g->dtype);
	struct ws_page *page = p->page;
	const struct ws_attained a = ws_cost_group_attained(p->m, g);

	if (!(percent >= LEAST_PERCENT) || !(a.intensity > 0) || !(a.seconds > 0))
		return;
	add_roofs(p, g, &a.roof, dtype);
	page->point[page->npoints] =
	        (struct ws_page_point){.name = ws_page_name_of(p, g->name ? g->name : g->class),
	                               .dtype = dtype,
	                               .intensity = a.intensity,
	                               .flops_per_s = a.flops / a.seconds,
	                               .gpu_ns = g->gpu_ns,
	                               .percent = percent,
	                               /* over its roof: data from a cache, or an error */
	                               .attained = a.percent > 100 ? NAN : a.percent,
	                               .is_labelled = page->npoints < LABELS,
	                               .colour = ws_page_colour_of_class(p, g->class)};
	page->npoints++;
}

void ws_page_add_roofline(struct ws_page_making *p)
{
	const struct ws_cost_groups *groups;
	struct ws_row_key *order;
	size_t n;

	groups = ws_cost_groups_find(p->m, p->sel);
	WS_NEW(p->tab->temp, order, groups->n);
	WS_NEW(p->texts, p->page->point, groups->n);
	WS_NEW(p->texts, p->page->roof, MOST_ROOFS);
	n = ws_cost_groups_order(p->m, groups, true, order);
	for (size_t i = 0; i < n; i++)
		add_point(p, &groups->group[order[i].row]);
}
