/*
 * GPU time by class of operation: as ranges and operations say, and as the
 * kernels' names do.
 */
#include "report/analysis/digest.h"
#include "report/base/order.h"
#include "report/tables/tables.h"

struct class_sum {
	uint64_t kernels, by_name_kernels;
	int64_t gpu_ns, tensor_ns, unknown_tensor_ns, by_name_ns;
};

struct classes {
	const struct ws_table_context *tab;
	struct class_sum *sums; /* by text of the class; [0] = unclassified */
	struct ws_row_key *rows;
	size_t nrows;
	struct class_sum total;
	int64_t by_range_ns; /* classified by a range or operation */
};

/* The sum of a class, or of all. */
static void add_cell(struct class_sum *sum, const struct ws_config *config, uint64_t kernels,
                     int64_t ns)
{
	sum->kernels += kernels;
	sum->gpu_ns += ns;
	sum->tensor_ns += config->tensor == WS_TENSOR_YES ? ns : 0;
	sum->unknown_tensor_ns += ws_config_tensor(config) == WS_TENSOR_UNKNOWN ? ns : 0;
}

static void add_up(struct classes *s)
{
	const struct ws_digest *d = s->tab->digest;

	for (size_t i = 0; i < d->ncells; i++) {
		const struct ws_digest_cell *cell = &d->cells[i];
		const struct ws_config *config = &s->tab->m->configs[cell->config];
		uint32_t class = ws_digest_class(s->tab->m, cell);
		struct class_sum *by_name = &s->sums[config->name_class];
		uint64_t kernels = ws_digest_cell_count(cell);

		add_cell(&s->sums[class], config, kernels, cell->total_ns);
		add_cell(&s->total, config, kernels, cell->total_ns);
		by_name->by_name_kernels += kernels;
		by_name->by_name_ns += cell->total_ns;
		s->by_range_ns += cell->place.class ? cell->total_ns : 0;
	}
	s->total.by_name_kernels = s->total.kernels;
	s->total.by_name_ns = s->total.gpu_ns;
}

static void set_row(const struct classes *s, struct ws_cell *row, const struct class_sum *sum)
{
	double all = (double)s->tab->sel->gpu_ns;

	ws_cell_set_int(&row[WS_TC_classes_kernels], (int64_t)sum->kernels);
	ws_cell_set_int(&row[WS_TC_classes_gpu_ns], sum->gpu_ns);
	ws_cell_set_real(&row[WS_TC_classes_share], ws_stat_percent((double)sum->gpu_ns, all));
	ws_cell_set_int(&row[WS_TC_classes_tensor_ns], sum->tensor_ns);
	ws_cell_set_int(&row[WS_TC_classes_tensor_unknown_ns], sum->unknown_tensor_ns);
	/* 0 of kernels that may all use them is no measurement */
	if (sum->tensor_ns || !sum->unknown_tensor_ns)
		ws_cell_set_share(&row[WS_TC_classes_tensor_share], sum->tensor_ns, sum->gpu_ns);
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
			/* the unclassified last, whatever their time */
			s->rows[s->nrows++] =
			        (struct ws_row_key){.number = {!c,
			                                       WS_DESCENDING(s->sums[c].gpu_ns)},
			                            .text = {m->texts[c]},
			                            .row = c};
	ws_row_keys_sort(s->rows, s->nrows);
	for (size_t i = 0; i < s->nrows; i++) {
		struct ws_cell *row = ws_table_row(t);
		uint32_t class = s->rows[i].row;

		if (class)
			ws_cell_set_model_text(t, &row[WS_TC_classes_class], m, class);
		else
			ws_cell_set_str(t, &row[WS_TC_classes_class], "(unclassified)");
		set_row(s, row, &s->sums[class]);
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

void ws_tab_classes(const struct ws_table_context *tab, struct ws_table *t)
{
	struct classes s = {.tab = tab};

	if (!ws_model_has_kernels(tab->m)) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	WS_NEW(tab->temp, s.sums, tab->m->ntexts);
	WS_NEW(tab->temp, s.rows, tab->m->ntexts);
	add_up(&s);
	add_rows(&s, t);
}
