/*
 * From call to kernel: how long launching took, how long the kernel waited,
 * how long it ran; and whether the run waits for its launches.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "report/base/order.h"
#include "report/base/values.h"
#include "report/analysis/idle.h"
#include "report/tables/tables.h"

enum measure { TOTAL, API, QUEUE, KERNEL, MEASURES };

/* A row: kernels of one name, launched by one function on one thread for one device. */
struct key {
	uint32_t thread, device, api_name, kernel_name;
};

struct row {
	struct key key;
	struct ws_values ns[MEASURES];
	struct ws_stat stat[MEASURES];
};

struct latency {
	const struct ws_table_context *tab;
	struct ws_strtab keys; /* key -> row + 1 */
	uint32_t *row_of;      /* configuration -> row + 1 of the last kernel that had it */
	struct row *rows;
	size_t nrows, capacity;
	struct ws_row_key *order;
	uint64_t no_launch;
};

static struct row *row_of(struct latency *s, uint32_t config, const struct key *key)
{
	uint64_t id = s->row_of[config];

	if (!id || memcmp(&s->rows[id - 1].key, key, sizeof(*key)) != 0)
		id = ws_strtab_add(&s->keys, key, sizeof(*key));
	WS_GROW(s->rows, id, s->capacity);
	if (id > s->nrows)
		s->rows[s->nrows++] = (struct row){.key = *key};
	s->row_of[config] = (uint32_t)id;
	return &s->rows[id - 1];
}

/* Queue: only where the kernel began when its call had returned. */
static void measure(struct row *row, const struct ws_joined_kernel *k,
                    const struct ws_joined_call *call)
{
	int64_t end = k->start_ns + k->dur_ns, call_end = call->start_ns + call->dur_ns;

	ws_values_add(&row->ns[TOTAL], (end > call_end ? end : call_end) - call->start_ns);
	ws_values_add(&row->ns[API], call->dur_ns);
	ws_values_add(&row->ns[KERNEL], k->dur_ns);
	if (k->start_ns >= call_end)
		ws_values_add(&row->ns[QUEUE], k->start_ns - call_end);
}

static void gather(struct latency *s)
{
	const struct ws_selection *sel = s->tab->sel;
	const struct ws_model *m = s->tab->m;

	WS_NEW(s->tab->temp, s->row_of, m->nconfigs);
	for (size_t i = 0; i < sel->rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(sel->rows, i);
		const struct ws_joined_call *call;

		if (!k->kind->timed || !ws_kernel_selected(m, sel, k, i))
			continue;
		call = ws_joined_rows_call(sel->rows, k->call);
		if (!call) {
			s->no_launch++;
			continue;
		}
		measure(row_of(s, k->kind->config,
		               &(struct key){call->kind->thread, m->configs[k->kind->config].device,
		                             call->kind->name, m->configs[k->kind->config].name}),
		        k, call);
	}
}

static void make_statistics(struct latency *s)
{
	for (size_t i = 0; i < s->nrows; i++)
		for (int m = 0; m < MEASURES; m++)
			ws_values_stat_of(&s->rows[i].ns[m], &s->rows[i].stat[m]);
}

/* Longest mean first, as in nsys; then kernel, function, thread, device. */
static void order_rows(struct latency *s)
{
	const struct ws_bytes *texts = s->tab->m->texts;

	WS_NEW(s->tab->temp, s->order, s->nrows);
	for (uint32_t i = 0; i < s->nrows; i++) {
		const struct key *key = &s->rows[i].key;

		s->order[i] =
		        (struct ws_row_key){.number = {ws_order_real(-s->rows[i].stat[TOTAL].mean)},
		                            .text = {texts[key->kernel_name], texts[key->api_name]},
		                            .tie = {key->thread, key->device},
		                            .row = i};
	}
	ws_row_keys_sort(s->order, s->nrows);
}

static void add_row(const struct latency *s, struct ws_table *t, uint32_t at)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_stat *stat = s->rows[at].stat;
	const struct key *key = &s->rows[at].key;
	const struct ws_thread *thread = &m->threads[key->thread];
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_int(&row[WS_TC_launch_latency_pid], (int64_t)thread->pid);
	ws_cell_set_int(&row[WS_TC_launch_latency_tid], (int64_t)thread->tid);
	ws_cell_set_int(&row[WS_TC_launch_latency_device], (int64_t)m->devices[key->device].id);
	ws_cell_set_int(&row[WS_TC_launch_latency_count], (int64_t)stat[TOTAL].n);
	ws_cell_set_int(&row[WS_TC_launch_latency_queued], (int64_t)stat[QUEUE].n);
	ws_cells_set_spread(&row[WS_TC_launch_latency_total_avg_ns], &stat[TOTAL]);
	ws_cells_set_spread(&row[WS_TC_launch_latency_api_avg_ns], &stat[API]);
	ws_cells_set_spread(&row[WS_TC_launch_latency_queue_avg_ns], &stat[QUEUE]);
	ws_cells_set_spread(&row[WS_TC_launch_latency_kernel_avg_ns], &stat[KERNEL]);
	ws_cell_set_model_text(t, &row[WS_TC_launch_latency_api_name], m, key->api_name);
	ws_cell_set_model_text(t, &row[WS_TC_launch_latency_name], m, key->kernel_name);
	ws_cell_set_short_name(t, &row[WS_TC_launch_latency_short_name], m, key->kernel_name);
}

static void add_verdict(struct latency *s, struct ws_table *t)
{
	const struct ws_idle *idle;
	char words[256];

	idle = ws_idle_find(s->tab->m, s->tab->sel);
	ws_table_note(t, "%s: %s (table idle).",
	              idle->verdict.launch_bound ? "Launch-bound" : "Not launch-bound",
	              ws_idle_words(&idle->verdict, words, sizeof(words)));
	if (s->no_launch)
		ws_table_note(t,
		              "%s kernels have no record of the call "
		              "that launched them and are left out.",
		              ws_say_number(s->tab->temp, (double)s->no_launch));
	ws_table_note(t, "Total is from the start of the call to the end of the kernel or the "
	                 "call, whichever is later. Queue is from the end of the call to the start "
	                 "of the kernel, where it started later.");
}

static void fill(struct latency *s, struct ws_table *t)
{
	gather(s);
	make_statistics(s);
	order_rows(s);
	for (size_t i = 0; i < s->nrows; i++)
		add_row(s, t, s->order[i].row);
	ws_totals_add_up(t, WS_TC_launch_latency_count);
	ws_totals_add_up(t, WS_TC_launch_latency_queued);
	add_verdict(s, t);
}

void ws_tab_launch_latency(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_joined_rows *rows = tab->sel->rows;
	struct latency s = {.tab = tab};

	if (!rows->nkernels || !rows->ncalls) {
		ws_table_set_not_recorded(t, "%s",
		                          rows->nkernels
		                                  ? "No API calls were recorded, so how kernels "
		                                    "were launched is not known."
		                                  : WS_NO_KERNELS);
		return;
	}
	fill(&s, t);
	for (size_t i = 0; i < s.nrows * MEASURES; i++)
		ws_values_free(&s.rows[i / MEASURES].ns[i % MEASURES]);
	free(s.rows);
	ws_strtab_free(&s.keys);
}
