/*
 * From call to kernel: how long launching took, how long the kernel waited,
 * how long it ran; and whether the run waits for its launches.
 */
#include <stdlib.h>

#include "report/analysis/group.h"
#include "report/base/names.h"
#include "report/analysis/idle.h"
#include "report/tables/tables.h"

enum measure { TOTAL, API, QUEUE, KERNEL, MEASURES };

/* A row: kernels of one name, launched by one function on one thread for one device. */
struct key {
	uint32_t thread, device, api_name, kernel_name;
};

struct latency {
	const struct ws_table_context *tab;
	uint32_t *kernels; /* with call and time, equal keys beside each other */
	size_t n;
	struct key *keys; /* of each row */
	size_t nrows;
	uint32_t *group;  /* entry of kernels -> row */
	uint32_t *queued; /* the same, WS_NONE where the kernel began before its call returned */
	int64_t *ns[MEASURES];
	struct ws_stat *stat[MEASURES];
	uint32_t *order;
	uint64_t no_launch;
};

static struct key key_of(const struct ws_model *m, uint32_t k)
{
	uint32_t call = m->kernels.call[k];

	return (struct key){m->api.thread[call], ws_kernel_device(m, k), m->api.name[call],
	                    ws_kernel_name(m, k)};
}

static int compare(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_keys(const struct key *a, const struct key *b)
{
	int c = compare(a->kernel_name, b->kernel_name);

	c = c ? c : compare(a->api_name, b->api_name);
	c = c ? c : compare(a->thread, b->thread);
	return c ? c : compare(a->device, b->device);
}

/* Parts of a key, the last to count first. */
enum part { DEVICE, THREAD, API_NAME, KERNEL_NAME, PARTS };

static uint32_t part_of(const struct key *key, enum part part)
{
	switch (part) {
	case DEVICE:
		return key->device;
	case THREAD:
		return key->thread;
	case API_NAME:
		return key->api_name;
	default:
		return key->kernel_name;
	}
}

/* Kernels by key; those of one key stay in their order. */
static enum ws_status sort_kernels(struct latency *s, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	uint32_t *part;

	WS_NEW(s->tab->temp, part, m->kernels.n);
	WS_FORWARD(ws_arena_check(s->tab->temp, "the launch latencies", err));
	for (int p = 0; p < PARTS; p++) {
		for (size_t i = 0; i < s->n; i++) {
			struct key key = key_of(m, s->kernels[i]);

			part[s->kernels[i]] = part_of(&key, (enum part)p);
		}
		WS_FORWARD(ws_order_by_u32(s->kernels, part, s->n, m->kernels.n, err));
	}
	return WS_OK;
}

static enum ws_status allocate(struct latency *s, struct ws_err *err)
{
	struct ws_arena *temp = s->tab->temp;
	size_t n = s->tab->m->kernels.n;

	WS_NEW(temp, s->kernels, n);
	WS_NEW(temp, s->keys, n);
	WS_NEW(temp, s->group, n);
	WS_NEW(temp, s->queued, n);
	WS_NEW(temp, s->order, n);
	for (int i = 0; i < MEASURES; i++) {
		WS_NEW(temp, s->ns[i], n);
		WS_NEW(temp, s->stat[i], n);
	}
	return ws_arena_check(temp, "the launch latencies", err);
}

static void measure(struct latency *s, size_t i)
{
	const struct ws_model *m = s->tab->m;
	uint32_t k = s->kernels[i], call = m->kernels.call[k];
	int64_t start = m->kernels.start_ns[k], end = start + m->kernels.dur_ns[k];
	int64_t call_start = m->api.start_ns[call], call_end = m->api.end_ns[call];

	s->ns[TOTAL][i] = (end > call_end ? end : call_end) - call_start;
	s->ns[API][i] = call_end - call_start;
	s->ns[QUEUE][i] = start - call_end;
	s->ns[KERNEL][i] = end - start;
	s->queued[i] = start >= call_end ? s->group[i] : WS_NONE;
}

static enum ws_status gather(struct latency *s, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;

	for (uint32_t k = 0; k < m->kernels.n; k++) {
		if (!s->tab->sel->kernel[k] || m->kernels.flags[k] & WS_KERNEL_NO_TIME)
			continue;
		if (m->kernels.call[k] == WS_NONE)
			s->no_launch++;
		else
			s->kernels[s->n++] = k;
	}
	WS_FORWARD(sort_kernels(s, err));
	for (size_t i = 0; i < s->n; i++) {
		struct key key = key_of(m, s->kernels[i]);

		if (!i || compare_keys(&key, &s->keys[s->nrows - 1]))
			s->keys[s->nrows++] = key;
		s->group[i] = (uint32_t)s->nrows - 1;
		measure(s, i);
	}
	for (int i = 0; i < MEASURES; i++)
		WS_FORWARD(ws_group_values(s->ns[i], i == QUEUE ? s->queued : s->group, s->n,
		                           s->nrows, s->stat[i], err));
	return WS_OK;
}

/* Longest mean first, as in nsys; then kernel, function, thread, device. */
static int by_rank(const void *pa, const void *pb, void *arg)
{
	const struct latency *s = arg;
	const struct ws_bytes *texts = s->tab->m->texts;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	double ma = s->stat[TOTAL][a].mean, mb = s->stat[TOTAL][b].mean;
	int c;

	if (ma != mb)
		return ma > mb ? -1 : 1;
	c = ws_name_compare(texts[s->keys[a].kernel_name], texts[s->keys[b].kernel_name]);
	c = c ? c : ws_name_compare(texts[s->keys[a].api_name], texts[s->keys[b].api_name]);
	c = c ? c : compare(s->keys[a].thread, s->keys[b].thread);
	return c ? c : compare(s->keys[a].device, s->keys[b].device);
}

static void set_stat(struct ws_cell *cells, const struct ws_stat *stat)
{
	if (!stat->n)
		return;
	ws_cell_set_real(&cells[0], stat->mean);
	ws_cell_set_real(&cells[1], stat->median);
	ws_cell_set_int(&cells[2], stat->min);
	ws_cell_set_int(&cells[3], stat->max);
	ws_cell_set_real(&cells[4], stat->std);
}

static void add_row(const struct latency *s, struct ws_table *t, uint32_t at)
{
	const struct ws_model *m = s->tab->m;
	const struct key *key = &s->keys[at];
	const struct ws_thread *thread = &m->threads[key->thread];
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_int(&row[WS_TC_launch_latency_pid], (int64_t)thread->pid);
	ws_cell_set_int(&row[WS_TC_launch_latency_tid], (int64_t)thread->tid);
	ws_cell_set_int(&row[WS_TC_launch_latency_device], (int64_t)m->devices[key->device].id);
	ws_cell_set_int(&row[WS_TC_launch_latency_count], (int64_t)s->stat[TOTAL][at].n);
	ws_cell_set_int(&row[WS_TC_launch_latency_queued], (int64_t)s->stat[QUEUE][at].n);
	set_stat(&row[WS_TC_launch_latency_total_avg_ns], &s->stat[TOTAL][at]);
	set_stat(&row[WS_TC_launch_latency_api_avg_ns], &s->stat[API][at]);
	set_stat(&row[WS_TC_launch_latency_queue_avg_ns], &s->stat[QUEUE][at]);
	set_stat(&row[WS_TC_launch_latency_kernel_avg_ns], &s->stat[KERNEL][at]);
	ws_cell_set_model_text(t, &row[WS_TC_launch_latency_api_name], m, key->api_name);
	ws_cell_set_model_text(t, &row[WS_TC_launch_latency_name], m, key->kernel_name);
	ws_cell_set_short_name(t, &row[WS_TC_launch_latency_short_name], m, key->kernel_name);
}

static void add_totals(const struct latency *s, struct ws_table *t)
{
	struct ws_cell *row = ws_table_totals(t);
	uint64_t queued = 0;

	for (size_t i = 0; i < s->nrows; i++)
		queued += s->stat[QUEUE][i].n;
	ws_cell_set_int(&row[WS_TC_launch_latency_count], (int64_t)s->n);
	ws_cell_set_int(&row[WS_TC_launch_latency_queued], (int64_t)queued);
}

static enum ws_status add_verdict(struct latency *s, struct ws_table *t, struct ws_err *err)
{
	struct ws_idle idle;
	enum ws_status status = ws_idle_find(s->tab->m, s->tab->sel, false, &idle, err);
	char words[256];

	if (status == WS_OK)
		ws_table_note(t, "%s: %s (table idle).",
		              idle.verdict.launch_bound ? "Launch-bound" : "Not launch-bound",
		              ws_idle_words(&idle.verdict, words, sizeof(words)));
	ws_idle_release(&idle);
	WS_FORWARD(status);
	if (s->no_launch)
		ws_table_note(t,
		              "%llu kernels have no record of the call "
		              "that launched them and are left out.",
		              (unsigned long long)s->no_launch);
	ws_table_note(t,
	              "Total is from the start of the call to the end of the kernel or the call, "
	              "whichever is later. Queue is from the end of the call to the start of "
	              "the kernel; kernels that started earlier are left out.");
	return WS_OK;
}

enum ws_status ws_tab_launch_latency(const struct ws_table_context *tab, struct ws_table *t,
                                     struct ws_err *err)
{
	struct latency s = {.tab = tab};

	if (!tab->m->kernels.n || !tab->m->api.n) {
		ws_table_set_not_recorded(t, "%s",
		                          tab->m->kernels.n
		                                  ? "No API calls were recorded, so how kernels "
		                                    "were launched is not known."
		                                  : WS_NO_KERNELS);
		return WS_OK;
	}
	WS_FORWARD(allocate(&s, err));
	WS_FORWARD(gather(&s, err));
	ws_order_identity(s.order, s.nrows);
	qsort_r(s.order, s.nrows, sizeof(*s.order), by_rank, &s);
	for (size_t i = 0; i < s.nrows; i++)
		add_row(&s, t, s.order[i]);
	add_totals(&s, t);
	return add_verdict(&s, t, err);
}
