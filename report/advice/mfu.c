/* A22: products far below the device's peak. */

#include "report/advice/advice.h"

/* Saving of a product at WS_A22_ROOF_PERCENT of its roof; 0: none, unknown, or not a product. */
static double saved_near_the_roof(const struct ws_work_group *g)
{
	const double saved = (double)g->gpu_ns - ws_advice_roof_ns(g) * 100 / WS_A22_ROOF_PERCENT;

	return ws_class_is_product(g->op.class) && saved > 0 ? saved : 0;
}

static double rate_near_the_roof(const struct ws_advice *a, const struct ws_advice_cell *cell,
                                 const struct ws_claim *claim)
{
	const struct ws_work_group *g = cell->work == WS_NONE ? NULL : &a->work[cell->work];
	const double saved = g ? saved_near_the_roof(g) : 0;

	(void)claim;
	return saved > 0 ? saved / (double)g->gpu_ns : -1;
}

void ws_rule_low_mfu(struct ws_advice *a)
{
	a->use = ws_utilization_find(a->m, a->tab->sel);
	const struct ws_utilization *u = a->use;
	double wall_ns = (double)u->step_sum_ns;
	double mfu = 100 * u->model_sum_ns / wall_ns;
	if (u->obstacle[0])
		a->found->not_judged[WS_RULE_low_mfu] = u->obstacle;
	/* if the host sets the pace, faster kernels have no effect */
	if (u->obstacle[0] || mfu >= WS_A22_PERCENT || a->idle->verdict.launch_bound)
		return;
	double saved_ns = 0; /* in the products of a device */
	for (size_t i = 0; i < a->nwork; i++)
		saved_ns += saved_near_the_roof(&a->work[i]);
	saved_ns /= (double)u->devices;
	if (100 * saved_ns < WS_WAIT_PERCENT * wall_ns)
		return;
	double idle_ns = (double)(a->idle->all.window_ns - a->idle->all.ns[WS_USE_COMPUTE]) /
	                 (double)a->idle->nworked;
	ws_advice_add_claim(
	        a, WS_RULE_low_mfu,
	        100 * saved_ns >= WS_WAIT_STRONG_PERCENT * wall_ns ? WS_SEVERITY_STRONG
	                                                           : WS_SEVERITY_WEAK,
	        (struct ws_claim){.rate = rate_near_the_roof}, "matrix products",
	        ws_advice_text(a,
	                       "MFU %.1f %%. At the peak, matmuls and convolutions need %s of a "
	                       "step of %s. Their kernels took %s. The GPU computed nothing for %s",
	                       mfu, ws_advice_time(a, u->ran_sum_ns), ws_advice_time(a, wall_ns),
	                       ws_advice_time(a, (double)u->product_ns / (double)u->devices),
	                       ws_advice_time(a, idle_ns)),
	        NULL);
}
