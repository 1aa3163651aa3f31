/* The operations that cost most on the CPU, where no kernel was recorded. */
#include <math.h>

#include "report/analysis/digest.h"
#include "report/base/stat.h"
#include "report/joined/op_phases.h"
#include "report/page/private.h"

#define MOST_OPERATIONS 10

struct operation {
	uint64_t calls;
	int64_t self_ns;
	int64_t flops;
	bool flops_unknown;
	uint32_t class;
};

struct operations {
	struct ws_page_making *p;
	struct operation *by_name; /* by text */
	int64_t *self_ns;          /* by operation */
	int64_t all_ns;
};

/* What an operation takes without those inside it: parents stand before their children. */
static void find_self_times(struct operations *s)
{
	const struct ws_op_tree *tree = &s->p->m->cpu_ops.tree;

	for (size_t i = 0; i < tree->n; i++) {
		const int64_t ns = tree->end_ns[i] - tree->start_ns[i];

		s->self_ns[i] += ns;
		if (tree->parent[i] != WS_NONE)
			s->self_ns[tree->parent[i]] -= ns;
	}
}

static bool is_in_report(const struct operations *s, uint32_t op)
{
	const struct ws_page_making *p = s->p;

	return !p->page->has_steps ||
	       ws_step_selected(p->m, p->sel, ws_step_of_op(p->m, p->sel->rows, op));
}

static void gather(struct operations *s)
{
	const struct ws_model *m = s->p->m;
	const struct ws_op_tree *tree = &m->cpu_ops.tree;

	for (uint32_t i = 0; i < tree->n; i++) {
		const struct ws_op_config *config = ws_cpu_op_config(m, i);
		struct operation *to = &s->by_name[tree->name[i]];

		if (!is_in_report(s, i))
			continue;
		to->calls++;
		to->self_ns += s->self_ns[i];
		to->class = config->kind;
		to->flops_unknown |= config->flops < 0;
		to->flops += config->flops > 0 ? config->flops : 0;
		s->all_ns += s->self_ns[i];
	}
}

static void add_operation(struct operations *s, uint32_t name)
{
	struct ws_page *page = s->p->page;
	const struct operation *from = &s->by_name[name];
	const char *text = ws_page_text_of(s->p, name);

	page->kernel[page->nkernels++] = (struct ws_page_kernel){
	        .name = text,
	        .full_name = text,
	        .class = ws_page_class_of(s->p, from->class),
	        .colour = ws_page_colour_of_class(s->p, from->class),
	        .calls = from->calls,
	        .ns = from->self_ns,
	        .percent = ws_stat_percent((double)from->self_ns, (double)s->all_ns),
	        .mean_ns = ws_stat_ratio((double)from->self_ns, (double)from->calls),
	        .flops_per_s =
	                from->flops_unknown || !from->flops
	                        ? NAN
	                        : 1e9 * ws_stat_ratio((double)from->flops, (double)from->self_ns),
	        .attained = NAN};
}

/* Mean of the measured steps, else from the first record to the last. */
static double find_step_ns(const struct ws_page_making *p)
{
	int64_t sum = 0;

	if (!p->page->has_steps)
		return (double)(p->m->end_ns - p->m->begin_ns);
	for (uint32_t i = 0; i < p->m->nsteps; i++)
		if (ws_step_selected(p->m, p->sel, i))
			sum += p->m->steps[i].total_ns;
	return (double)sum / p->page->samples;
}

void ws_page_add_operations(struct ws_page_making *p)
{
	const struct ws_model *m = p->m;
	struct operations s = {.p = p};
	struct ws_row_key *order;
	size_t n = 0;

	WS_NEW(p->tab->temp, s.by_name, m->ntexts);
	WS_NEW(p->tab->temp, s.self_ns, m->cpu_ops.tree.n);
	WS_NEW(p->tab->temp, order, m->ntexts);
	WS_NEW(p->texts, p->page->kernel, MOST_OPERATIONS);
	find_self_times(&s);
	gather(&s);
	for (uint32_t i = 0; i < m->ntexts; i++)
		if (s.all_ns > 0 && s.by_name[i].calls)
			order[n++] =
			        (struct ws_row_key){.number = {WS_DESCENDING(s.by_name[i].self_ns)},
			                            .text = {m->texts[i]},
			                            .row = i};
	ws_row_keys_sort(order, n);
	for (size_t i = 0; i < n && i < MOST_OPERATIONS; i++)
		add_operation(&s, order[i].row);
	p->page->more_kernels = n > MOST_OPERATIONS ? n - MOST_OPERATIONS : 0;
	p->page->has_operations = n > 0;
	p->page->step_ns = find_step_ns(p);
}
