/*
 * Tables as they were made before there were digests: simple loops over all
 * rows of a loaded trace. Tests compare the tables of the product with these.
 */
#pragma once

#include "report/tables/tables.h"
#include "tests/report/loaded/loaded.h"

/* What they work from: m is l's, and sel selects from its rows. */
struct oracle_tab {
	const struct loaded *l;
	const struct ws_model *m;
	const struct ws_selection *sel;
};

/* The path row that a kernel counts in exclusively. */
static inline uint32_t oracle_path(const struct loaded *l, size_t k)
{
	uint32_t r = l->kernels.range[k];

	if (r != WS_NONE)
		return l->ranges.path[r];
	return l->kernels.flags[k] & LOADED_NO_LAUNCH ? ws_path_no_launch(l->m)
	                                              : ws_path_no_range(l->m);
}

/* Is kernel k, call or range i of the trace in the report? */
static inline bool oracle_keeps_kernel(const struct oracle_tab *tab, size_t k)
{
	return ws_kernel_selected(tab->m, tab->sel, ws_joined_rows_kernel(tab->sel->rows, k), k);
}
static inline bool oracle_keeps_call(const struct oracle_tab *tab, size_t i)
{
	const uint32_t row = tab->l->call_row[i];

	return ws_call_selected(tab->m, tab->sel, ws_joined_rows_call(tab->sel->rows, row), row);
}
static inline bool oracle_keeps_range(const struct oracle_tab *tab, uint32_t i)
{
	return ws_range_selected(tab->m, tab->sel, ws_joined_rows_range(tab->sel->rows, i));
}

/* The order of the kernel summaries: < 0 when a comes first. */
int oracle_group_compare(const struct ws_group *a, struct ws_bytes name_a, const struct ws_group *b,
                         struct ws_bytes name_b);
/* group[k] is the group of kernel k, WS_NONE = in none. */
enum ws_status oracle_group_kernels(const struct loaded *l, const uint32_t *group, size_t ngroups,
                                    struct ws_group *out, struct ws_err *err);

typedef enum ws_status (*oracle_fn)(const struct oracle_tab *tab, struct ws_table *t,
                                    struct ws_err *err);
enum ws_status oracle_kernel_summary(const struct oracle_tab *tab, struct ws_table *t,
                                     struct ws_err *err);
enum ws_status oracle_kernel_launches(const struct oracle_tab *tab, struct ws_table *t,
                                      struct ws_err *err);
enum ws_status oracle_api_summary(const struct oracle_tab *tab, struct ws_table *t,
                                  struct ws_err *err);
enum ws_status oracle_classes(const struct oracle_tab *tab, struct ws_table *t, struct ws_err *err);
enum ws_status oracle_ranges(const struct oracle_tab *tab, struct ws_table *t, struct ws_err *err);
enum ws_status oracle_range_kernels(const struct oracle_tab *tab, struct ws_table *t,
                                    struct ws_err *err);
enum ws_status oracle_steps(const struct oracle_tab *tab, struct ws_table *t, struct ws_err *err);
enum ws_status oracle_step_statistics(const struct oracle_tab *tab, struct ws_table *t,
                                      struct ws_err *err);
enum ws_status oracle_step_split(const struct oracle_tab *tab, struct ws_table *t,
                                 struct ws_err *err);
