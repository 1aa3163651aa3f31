/* NVTX ranges: what the kernels cost that each range path launched. */
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "report/tables/tables.h"

/* What its rows are made of. */
struct ranges {
	const struct ws_model *m;
	const struct ws_digest *digest;
	const struct ws_selection *sel; /* only while the table is made */
	struct ws_table *t;
	int64_t gpu_ns;
	struct ws_arena arena; /* of these arrays */
	struct ws_stat *times; /* of the instances of each path */
	uint32_t *order;       /* row -> path */
	size_t npaths, nrows;  /* npaths: with the two rows for kernels in no range */
	char *text;            /* path of the row that was made last */
};

/* What a row of this table is called in the digest. */
static uint32_t digest_path(const struct ws_model *m, uint32_t p)
{
	if (p < m->ranges.npaths)
		return p;
	return p == ws_path_no_range(m) ? WS_PATH_NO_RANGE : WS_PATH_NO_LAUNCH;
}

static void find_times(struct ranges *s)
{
	s->npaths = s->m->ranges.npaths + 2;
	WS_NEW(&s->arena, s->times, s->npaths);
	WS_NEW(&s->arena, s->order, s->npaths);
	for (uint32_t p = 0; p < s->m->ranges.npaths; p++)
		ws_values_stat_of(&ws_digest_path(s->digest, p)->dur_ns, &s->times[p]);
}

static void set_path(struct ranges *s, struct ws_cell *row, uint32_t p)
{
	const struct ws_model *m = s->m;
	struct ws_bytes domain;
	size_t len;

	free(s->text);
	s->text = NULL;
	if (p >= m->ranges.npaths) {
		ws_cell_share_str(&row[WS_TC_ranges_path], ws_path_outside(m, p));
		return;
	}
	ws_path_text(&m->ranges, p, m->texts, &s->text, &len);
	domain = m->texts[m->ranges.paths[p].domain];
	ws_cell_share_text(&row[WS_TC_ranges_path], s->text, len);
	ws_cell_share_text(&row[WS_TC_ranges_domain], domain.ptr, domain.len);
	ws_cell_share_str(&row[WS_TC_ranges_style], ws_path_style(m, p));
}

/* What the devices did for a path: empty where the trace has nothing of devices. */
static void set_device(const struct ranges *s, struct ws_cell *row, uint32_t p,
                       const struct ws_path_sums *sums)
{
	if (p < s->m->ranges.npaths)
		ws_cell_set_int(&row[WS_TC_ranges_projected_ns], sums->projected_ns);
	ws_cell_set_int(&row[WS_TC_ranges_busy_ns],
	                ws_digest_busy_ns(s->digest, digest_path(s->m, p)));
	ws_cell_set_int(&row[WS_TC_ranges_inclusive_ns], sums->inclusive_ns);
	ws_cell_set_int(&row[WS_TC_ranges_exclusive_ns], sums->exclusive_ns);
	ws_cell_set_int(&row[WS_TC_ranges_ops_inclusive], (int64_t)sums->ops_inclusive);
	ws_cell_set_int(&row[WS_TC_ranges_ops_exclusive], (int64_t)sums->ops_exclusive);
	ws_cell_set_share(&row[WS_TC_ranges_share], sums->inclusive_ns, s->gpu_ns);
}

static void make_row(void *ctx, size_t i, struct ws_cell *row)
{
	struct ranges *s = ctx;
	const uint32_t p = s->order[i];
	const struct ws_path_sums *sums = ws_digest_path(s->digest, digest_path(s->m, p));
	const struct ws_stat *time = &s->times[p];

	set_path(s, row, p);
	if (p < s->m->ranges.npaths) {
		ws_cell_set_int(&row[WS_TC_ranges_instances], (int64_t)time->n);
		ws_cell_set_int(&row[WS_TC_ranges_range_ns], time->sum);
		ws_cell_set_int(&row[WS_TC_ranges_open], (int64_t)sums->open);
	}
	if (time->n) {
		ws_cell_set_real(&row[WS_TC_ranges_avg_ns], time->mean);
		ws_cell_set_real(&row[WS_TC_ranges_med_ns], time->median);
		ws_cell_set_real(&row[WS_TC_ranges_std_ns], time->std);
	}
	if (ws_model_has_work(s->m))
		set_device(s, row, p, sums);
	if (sums->says_flops) {
		ws_cell_set_int(&row[WS_TC_ranges_flops], sums->flops);
		ws_cell_set_real(&row[WS_TC_ranges_tflops],
		                 ws_stat_ratio((double)sums->flops, (double)sums->inclusive_ns) /
		                         1e3);
	}
	if (sums->says_bytes)
		ws_cell_set_int(&row[WS_TC_ranges_bytes], sums->bytes);
}

static void free_ranges(void *ctx)
{
	struct ranges *s = ctx;

	ws_arena_free(&s->arena);
	free(s->text);
	free(s);
}

/* Which paths are rows, in their order. */
static void find_rows(struct ranges *s)
{
	const struct ws_model *m = s->m;
	int filtered = s->sel->has_nvtx || s->sel->has_steps;
	int64_t exclusive_ns = 0, ops_exclusive = 0;
	struct ws_cell *totals;

	ws_paths_order(&m->ranges, m->texts, s->order);
	s->order[s->npaths - 2] = ws_path_no_range(m);
	s->order[s->npaths - 1] = ws_path_no_launch(m);
	for (size_t i = 0; i < s->npaths; i++) {
		uint32_t p = s->order[i];
		const struct ws_path_sums *sums = ws_digest_path(s->digest, digest_path(m, p));

		exclusive_ns += sums->exclusive_ns;
		ops_exclusive += (int64_t)sums->ops_exclusive;
		if (s->times[p].n || sums->ops_exclusive || (p >= m->ranges.npaths && !filtered))
			s->order[s->nrows++] = p;
	}
	if (!ws_model_has_work(m))
		return;
	totals = ws_table_totals(s->t);
	ws_cell_set_int(&totals[WS_TC_ranges_exclusive_ns], exclusive_ns);
	ws_cell_set_int(&totals[WS_TC_ranges_ops_exclusive], ops_exclusive);
}

static void add_notes(const struct ws_model *m, int64_t gpu_ns, struct ws_table *t)
{
	const struct ws_ranges *r = &m->ranges;
	struct ws_arena temp = {0};

	if (!r->npaths)
		ws_table_set_not_recorded(t, "The program made no NVTX ranges, or they were not "
		                             "recorded.");
	if (!ws_model_has_work(m))
		ws_table_note(t, WS_NO_KERNELS);
	else
		ws_table_note(
		        t,
		        "Share (%%) is of %.3f ms, the GPU time of all kernels in the report. The "
		        "exclusive columns add up to all kernels; the inclusive ones count a "
		        "kernel in every range around its launch.",
		        (double)gpu_ns / 1e6);
	if (r->open)
		ws_table_note(t,
		              "Ranges still open when the trace ended, and taken to end with its "
		              "last record: %s.",
		              ws_say_number(&temp, (double)r->open));
	ws_arena_free(&temp);
}

/* Another title of a table of ranges, and of its sheet, where all ranges are modules of PyTorch. */
static void name_modules(const struct ws_model *m, struct ws_table *t, const char *title,
                         const char *sheet)
{
	bool has_modules = false;

	for (size_t p = 0; p < m->ranges.npaths; p++) {
		struct ws_bytes domain = m->texts[m->ranges.paths[p].domain];

		/* ranges of a framework's own beside them: its steps */
		if (domain.len < 7 || memcmp(domain.ptr, "pytorch", 7) != 0)
			return;
		has_modules |= m->ranges.paths[p].domain == WS_TEXT_MODULE_DOMAIN;
	}
	if (has_modules)
		ws_table_set_title(t, title, sheet);
}

void ws_tab_ranges(const struct ws_table_context *tab, struct ws_table *t)
{
	struct ranges *s = ws_xarray(1, sizeof(*s));
	const struct ws_table_source source = {make_row, free_ranges, s};

	*s = (struct ranges){.m = tab->m,
	                     .digest = tab->digest,
	                     .sel = tab->sel,
	                     .t = t,
	                     .gpu_ns = tab->sel->gpu_ns};
	find_times(s);
	find_rows(s);
	ws_table_set_source(t, &source, s->nrows);
	name_modules(s->m, t, "Modules, each by itself", "All Modules");
	add_notes(s->m, s->gpu_ns, t);
}

void ws_tab_ranges_rollup(const struct ws_table_context *tab, struct ws_table *t)
{
	name_modules(tab->m, t, "Modules", "Modules");
	if (t->nrows || !tab->m->ranges.npaths)
		add_notes(tab->m, tab->sel->gpu_ns, t);
}
