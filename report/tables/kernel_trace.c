/* Every execution of every kernel: made only when it is asked for by name. */
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "report/tables/tables.h"

/* Rows are made of it when they are written, when the selection is gone. */
struct kept {
	struct ws_relations relations; /* first: it is what free_kept gets */
	struct ws_joined_rows rows;
};

static void free_kept(void *ctx)
{
	struct kept *k = ctx;

	ws_relations_release(&k->relations);
	ws_joined_rows_free(&k->rows);
	free(k);
}

void ws_tab_kernel_trace(const struct ws_table_context *tab, struct ws_table *t)
{
	struct kept *k = ws_xarray(1, sizeof(*k));
	size_t n;

	k->relations.tab = tab;
	n = ws_relation_kernel.count(&k->relations);
	k->rows = *tab->sel->rows;
	*tab->sel->rows = (struct ws_joined_rows){0};
	k->relations.kernels.rows = &k->rows;
	ws_table_show_relation(t,
	                       &(struct ws_relation_rows){&ws_relation_kernel, &k->relations, NULL,
	                                                  free_kept},
	                       n);
	if (!ws_model_has_kernels(tab->m))
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	if (tab->sel->kernels)
		ws_cell_set_int(&ws_table_totals(t)[WS_TC_kernel_trace_dur_ns], tab->sel->gpu_ns);
}
