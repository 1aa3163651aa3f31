/* What to do: of each rule the finding with the largest gain, those first. */
#include <math.h>
#include <stdlib.h>

#include "report/advice/advice.h"
#include "report/base/stat.h"
#include "report/page/private.h"

static double gain_of(const struct ws_finding *f)
{
	return isnan(f->gain_ns) ? -1 : f->gain_ns;
}

/* Largest gain first; of those without one the most severe. */
static int compare(const void *a, const void *b)
{
	const struct ws_finding *x = *(const struct ws_finding *const *)a,
	                        *y = *(const struct ws_finding *const *)b;

	WS_ORDER_BY(gain_of(y), gain_of(x));
	WS_ORDER_BY(x->severity, y->severity);
	return (x > y) - (x < y); /* as the rules stand */
}

static void add_finding(struct ws_page_making *p, const struct ws_findings *all,
                        const struct ws_finding *f)
{
	const struct ws_rule_def *rule = &ws_rule_defs[f->rule];
	const char *advice = f->advice && *f->advice ? f->advice : rule->advice;

	p->page->finding[p->page->nfindings++] =
	        (struct ws_page_finding){.title = rule->title,
	                                 .advice = ws_arena_copy(p->texts, advice, strlen(advice)),
	                                 .evidence = ws_arena_copy(p->texts, f->evidence,
	                                                           strlen(f->evidence)),
	                                 .gain_ns = f->gain_ns,
	                                 .gain = ws_finding_gain(p->texts, all, f),
	                                 .gain_percent = ws_stat_percent(f->gain_ns, all->step_ns)};
}

static void note_rules(struct ws_page_making *p, const struct ws_findings *all)
{
	size_t n = all->n;
	int judged = 0;
	const bool has_gain = p->page->nfindings && p->page->finding[0].gain_ns > 0;

	for (int i = 0; i < WS_RULES; i++) {
		judged += !all->not_judged[i];
		n += all->skipped[i];
	}
	p->page->findings_note = ws_arena_format(
	        p->texts, "%d of %d rules checked; %zu %s in all; %d lacked data%s%s", judged,
	        WS_RULES, n, n == 1 ? "finding" : "findings", WS_RULES - judged,
	        !has_gain ? ""
	        : all->obstacle
	                ? ". Gains are upper bounds: "
	                : ". Gains are replayed: the step without what the finding is about",
	        has_gain && all->obstacle ? all->obstacle : "");
}

void ws_page_add_findings(struct ws_page_making *p)
{
	const struct ws_findings *all;
	const struct ws_finding **order;
	struct ws_page_finding *shown[WS_RULES] = {0};
	size_t n = 0;

	if (!ws_model_has_kernels(p->m))
		return;
	all = ws_advice_find(p->tab);
	WS_NEW(p->tab->temp, order, all->n);
	WS_NEW(p->texts, p->page->finding, WS_RULES);
	for (size_t i = 0; i < all->n; i++)
		if (!ws_finding_is_small(all, &all->finding[i]))
			order[n++] = &all->finding[i];
	qsort(order, n, sizeof(*order), compare);
	for (size_t i = 0; i < n; i++) {
		struct ws_page_finding **of_rule = &shown[order[i]->rule];

		if (*of_rule) {
			(*of_rule)->nsimilar++;
			continue;
		}
		*of_rule = &p->page->finding[p->page->nfindings];
		add_finding(p, all, order[i]);
		(*of_rule)->nsimilar = all->skipped[order[i]->rule];
	}
	note_rules(p, all);
	if (all->nrungs < 2)
		return;
	WS_NEW(p->texts, p->page->rung, all->nrungs);
	for (size_t i = 0; i < all->nrungs; i++)
		p->page->rung[p->page->nrungs++] =
		        (struct ws_page_rung){all->rung[i].name, all->rung[i].step_ns,
		                              ws_stat_percent(all->rung[i].step_ns,
		                                              all->rung[0].step_ns)};
}
