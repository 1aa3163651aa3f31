/*
 * GPU time by class of operation: as ranges and operations say, and as the
 * kernels' names do.
 */
#include <stdlib.h>

#include "report/base/names.h"
#include "tests/report/tables/oracle/oracle.h"

struct class_sum {
	uint64_t kernels, by_name_kernels;
	int64_t gpu_ns, tensor_ns, unknown_tensor_ns, by_name_ns;
};

struct classes {
	const struct oracle_tab *tab;
	struct class_sum *sums; /* by text of the class; [0] = unclassified */
	uint32_t *order;
	size_t rows;
	struct class_sum total;
	int64_t by_range_ns; /* classified by a range or operation */
};

static void add_up(struct classes *s)
{
	const struct ws_model *m = s->tab->m;
	const struct loaded *l = s->tab->l;

	for (size_t k = 0; k < l->kernels.n; k++) {
		const struct ws_config *config = &m->configs[l->kernels.config[k]];
		struct class_sum *sum = &s->sums[loaded_kernel_class(l, k)];
		struct class_sum *by_name = &s->sums[config->name_class];
		int64_t ns = l->kernels.dur_ns[k];

		if (!oracle_keeps_kernel(s->tab, k))
			continue;
		sum->kernels++;
		sum->gpu_ns += ns;
		sum->tensor_ns += config->tensor == WS_TENSOR_YES ? ns : 0;
		sum->unknown_tensor_ns += ws_config_tensor(config) == WS_TENSOR_UNKNOWN ? ns : 0;
		by_name->by_name_kernels++;
		by_name->by_name_ns += ns;
		s->by_range_ns += loaded_kernel_range_class(l, k) ? ns : 0;
	}
}

/* The unclassified last, whatever their time. */
static int by_rank(const void *pa, const void *pb, void *arg)
{
	const struct classes *s = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	const struct class_sum *sa = &s->sums[a], *sb = &s->sums[b];

	if (!a != !b)
		return a ? -1 : 1;
	if (sa->gpu_ns != sb->gpu_ns)
		return sa->gpu_ns > sb->gpu_ns ? -1 : 1;
	return ws_name_compare(s->tab->m->texts[a], s->tab->m->texts[b]);
}

static void set_row(const struct classes *s, struct ws_cell *row, const struct class_sum *sum)
{
	double all = (double)s->tab->sel->gpu_ns;

	ws_cell_set_int(&row[WS_TC_classes_kernels], (int64_t)sum->kernels);
	ws_cell_set_int(&row[WS_TC_classes_gpu_ns], sum->gpu_ns);
	ws_cell_set_real(&row[WS_TC_classes_share], ws_stat_percent((double)sum->gpu_ns, all));
	ws_cell_set_int(&row[WS_TC_classes_tensor_ns], sum->tensor_ns);
	ws_cell_set_int(&row[WS_TC_classes_tensor_unknown_ns], sum->unknown_tensor_ns);
	if (sum->tensor_ns || !sum->unknown_tensor_ns)
		ws_cell_set_real(&row[WS_TC_classes_tensor_share],
		                 ws_stat_percent((double)sum->tensor_ns, (double)sum->gpu_ns));
	ws_cell_set_int(&row[WS_TC_classes_by_name_kernels], (int64_t)sum->by_name_kernels);
	ws_cell_set_int(&row[WS_TC_classes_by_name_ns], sum->by_name_ns);
	ws_cell_set_real(&row[WS_TC_classes_by_name_share],
	                 ws_stat_percent((double)sum->by_name_ns, all));
}

static void add_rows(struct classes *s, struct ws_table *t)
{
	const struct ws_model *m = s->tab->m;
	double all = (double)s->tab->sel->gpu_ns;

	for (uint32_t c = 0; c < m->ntexts; c++)
		if (!c || s->sums[c].kernels || s->sums[c].by_name_kernels)
			s->order[s->rows++] = c;
	qsort_r(s->order, s->rows, sizeof(*s->order), by_rank, s);
	for (size_t i = 0; i < s->rows; i++) {
		struct ws_cell *row = ws_table_row(t);
		const struct class_sum *sum = &s->sums[s->order[i]];

		if (s->order[i])
			ws_cell_set_model_text(t, &row[WS_TC_classes_class], m, s->order[i]);
		else
			ws_cell_set_str(t, &row[WS_TC_classes_class], "(unclassified)");
		set_row(s, row, sum);
		s->total.kernels += sum->kernels;
		s->total.gpu_ns += sum->gpu_ns;
		s->total.tensor_ns += sum->tensor_ns;
		s->total.unknown_tensor_ns += sum->unknown_tensor_ns;
		s->total.by_name_kernels += sum->by_name_kernels;
		s->total.by_name_ns += sum->by_name_ns;
	}
	set_row(s, ws_table_totals(t), &s->total);
	if (!s->tab->sel->gpu_ns)
		return;
	ws_table_note(t,
	              "Unclassified: %.2f %% of the GPU time; by name alone %.2f %%. Ranges and "
	              "operations classify %.2f %%, names the rest.",
	              100 * (double)s->sums[0].gpu_ns / all,
	              100 * (double)s->sums[0].by_name_ns / all,
	              100 * (double)s->by_range_ns / all);
}

enum ws_status oracle_classes(const struct oracle_tab *tab, struct ws_table *t, struct ws_err *err)
{
	struct classes s = {.tab = tab};
	enum ws_status status = WS_OK;

	if (!tab->l->kernels.n) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return WS_OK;
	}
	s.sums = calloc(tab->m->ntexts, sizeof(*s.sums));
	s.order = calloc(tab->m->ntexts, sizeof(*s.order));
	if (s.sums && s.order) {
		add_up(&s);
		add_rows(&s, t);
	} else {
		status = WS_FAIL(err, NO_MEMORY, "no memory for the classes");
	}
	free(s.sums);
	free(s.order);
	return status;
}
