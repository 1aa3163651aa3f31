/* Copies and fills on devices, by direction: their time and their size. */

#include "report/model/copies.h"
#include "report/analysis/digest.h"
#include "report/tables/tables.h"

#define NO_COPIES                                                                     \
	"No copy or fill was recorded: the program made none, or they were left out " \
	"(`warpsheet record --kernels-only` does)."

#define NOPERATIONS WS_COPY_NAMES

struct memory_ops {
	const struct ws_table_context *tab;
	struct ws_stat time[NOPERATIONS], size[NOPERATIONS];
	int64_t timed_bytes[NOPERATIONS], timed_ns[NOPERATIONS]; /* of those with both */
	uint64_t count[NOPERATIONS];
	uint64_t without_time[NOPERATIONS];
	uint8_t by_amd[NOPERATIONS];
	int64_t total_ns, total_bytes;
	uint64_t without_size;
	struct ws_row_key rows[NOPERATIONS];
	size_t nrows;
	bool by_size;
};

static void gather(struct memory_ops *s)
{
	const struct ws_model *m = s->tab->m;
	struct ws_values ns[NOPERATIONS] = {{0}}, bytes[NOPERATIONS] = {{0}};

	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *w = &m->work[i];
		const uint32_t which = ws_copy_name_of(w);

		if (!s->tab->sel->work[i] || w->kind == WS_WORK_GRAPH)
			continue;
		if (w->bytes) /* 0 is not recorded */
			ws_values_add(&bytes[which], (int64_t)w->bytes);
		s->without_size += !w->bytes;
		s->count[which]++;
		s->by_amd[which] |= (uint8_t)m->devices[w->device].is_amd;
		s->total_bytes += (int64_t)w->bytes;
		if (w->no_time) {
			s->without_time[which]++;
			continue;
		}
		ws_values_add(&ns[which], w->dur_ns);
		s->total_ns += w->dur_ns;
		s->timed_bytes[which] += (int64_t)w->bytes;
		s->timed_ns[which] += w->bytes ? w->dur_ns : 0;
	}
	for (uint32_t i = 0; i < NOPERATIONS; i++) {
		ws_values_stat_of(&ns[i], &s->time[i]);
		ws_values_stat_of(&bytes[i], &s->size[i]);
		ws_values_free(&ns[i]);
		ws_values_free(&bytes[i]);
	}
}

/* "[HIP memcpy …]" where an AMD device did it. */
static void set_operation(const struct memory_ops *s, struct ws_table *t, struct ws_cell *cell,
                          uint32_t which)
{
	static const char cuda[] = "[CUDA ";
	char text[64];

	snprintf(text, sizeof(text), "%s%s", s->by_amd[which] ? "[HIP " : cuda,
	         ws_copy_name(which) + sizeof(cuda) - 1);
	ws_cell_set_str(t, cell, text);
}

static void prepare(struct memory_ops *s, struct ws_table *t)
{
	const struct ws_model *m = s->tab->m;
	uint64_t copies = 0;

	gather(s);
	for (size_t i = 0; i < m->nwork; i++)
		copies += m->work[i].kind != WS_WORK_GRAPH;
	if (!copies)
		ws_table_set_not_recorded(t, NO_COPIES);
	for (uint32_t i = 0; i < NOPERATIONS; i++)
		if (s->count[i])
			s->rows[s->nrows++] = (struct ws_row_key){
			        .number = {WS_DESCENDING((s->by_size ? s->size : s->time)[i].sum),
			                   (int64_t)s->count[i]},
			        .text = {ws_bytes_of(ws_copy_name((uint32_t)i))},
			        .row = i};
	ws_row_keys_sort(s->rows, s->nrows);
	if (s->without_size)
		ws_table_note(t, "Of %s copies and fills the trace does not say the size.",
		              ws_say_number(s->tab->temp, (double)s->without_size));
}

/* Bytes a nanosecond are GB a second; of those whose time and size are known. */
static void set_throughput(const struct memory_ops *s, uint32_t which, struct ws_cell *cell)
{
	if (s->timed_bytes[which])
		ws_cell_set_real(cell, ws_stat_ratio((double)s->timed_bytes[which],
		                                     (double)s->timed_ns[which]));
}

void ws_tab_memory_time(const struct ws_table_context *tab, struct ws_table *t)
{
	struct memory_ops s = {.tab = tab};

	prepare(&s, t);
	for (size_t i = 0; i < s.nrows; i++) {
		uint32_t which = s.rows[i].row;
		struct ws_cell *row = ws_table_row(t);

		ws_cells_set_stat(row, &s.time[which], s.total_ns);
		if (s.timed_bytes[which])
			ws_cell_set_int(&row[WS_TC_memory_time_bytes], s.timed_bytes[which]);
		set_throughput(&s, which, &row[WS_TC_memory_time_gbs]);
		set_operation(&s, t, &row[WS_TC_memory_time_operation], which);
		ws_cell_set_int(&row[WS_TC_memory_time_without_time],
		                (int64_t)s.without_time[which]);
	}
	if (s.nrows)
		ws_totals_set_stat(t, s.total_ns, WS_TC_memory_time_without_time);
}

static void set_sizes(struct ws_cell *row, const struct ws_stat *size)
{
	ws_cell_set_real(&row[WS_TC_memory_size_total_mb], (double)size->sum / 1e6);
	ws_cell_set_real(&row[WS_TC_memory_size_avg_mb], size->mean / 1e6);
	ws_cell_set_real(&row[WS_TC_memory_size_med_mb], size->median / 1e6);
	ws_cell_set_real(&row[WS_TC_memory_size_min_mb], (double)size->min / 1e6);
	ws_cell_set_real(&row[WS_TC_memory_size_max_mb], (double)size->max / 1e6);
	ws_cell_set_real(&row[WS_TC_memory_size_std_mb], size->std / 1e6);
	ws_cell_set_int(&row[WS_TC_memory_size_total_bytes], size->sum);
}

void ws_tab_memory_size(const struct ws_table_context *tab, struct ws_table *t)
{
	struct memory_ops s = {.tab = tab, .by_size = true};
	struct ws_cell *row;

	prepare(&s, t);
	for (size_t i = 0; i < s.nrows; i++) {
		uint32_t which = s.rows[i].row;
		const struct ws_stat *size = &s.size[which];

		row = ws_table_row(t);
		if (size->n)
			set_sizes(row, size);
		ws_cell_set_int(&row[WS_TC_memory_size_count], (int64_t)s.count[which]);
		set_operation(&s, t, &row[WS_TC_memory_size_operation], which);
		if (s.time[which].n)
			ws_cell_set_int(&row[WS_TC_memory_size_total_ns], s.time[which].sum);
		set_throughput(&s, which, &row[WS_TC_memory_size_gbs]);
	}
	if (!s.nrows)
		return;
	row = ws_table_totals(t);
	if (s.total_bytes) {
		ws_cell_set_real(&row[WS_TC_memory_size_total_mb], (double)s.total_bytes / 1e6);
		ws_cell_set_int(&row[WS_TC_memory_size_total_bytes], s.total_bytes);
	}
	ws_totals_add_up(t, WS_TC_memory_size_count);
	ws_cell_set_int(&row[WS_TC_memory_size_total_ns], s.total_ns);
}
