/* The table of collectives: calls of one name, group and size together. */
#include <stdlib.h>

#include "formats/base/grow.h"
#include "formats/base/strtab.h"
#include "formats/base/xalloc.h"
#include "report/base/stat.h"
#include "report/ranks/private.h"

struct kind {
	const struct ws_rank_call *first;
	uint64_t calls; /* matched ones once, others one a rank */
	int64_t total_ns;
	double waiting_ns;
	size_t nmatched;
	uint32_t most_ranks;
};

struct kinds {
	const struct ws_ranks *r;
	struct ws_strtab ids;
	struct kind *kind;
	uint32_t n;
	uint32_t *of_meeting; /* its kind */
	int64_t *values;      /* of the meetings of one kind */
	uint32_t *last;       /* by rank, of one kind */
};

static uint32_t kind_of(struct kinds *k, const struct ws_rank_call *call)
{
	struct {
		uint32_t key, dtype;
		double bytes;
	} id = {call->key, call->kind.dtype, call->kind.bytes};
	uint64_t at;

	id.bytes = isnan(id.bytes) ? -1 : id.bytes;
	at = ws_strtab_add(&k->ids, &id, sizeof(id));
	if (at > k->n)
		k->kind[k->n++].first = call;
	return (uint32_t)at - 1;
}

static void gather(struct kinds *k)
{
	const struct ws_ranks *r = k->r;

	for (size_t i = 0; i < r->ncalls; i++) {
		struct kind *kind = &k->kind[kind_of(k, &r->calls[i])];

		kind->calls++;
		kind->total_ns += r->calls[i].end_ns - r->calls[i].start_ns;
	}
	for (size_t i = 0; i < r->nmeetings; i++) {
		const struct ws_meeting *meeting = &r->meetings[i];
		const struct ws_rank_call *call = &r->calls[meeting->first];
		struct kind *kind;

		k->of_meeting[i] = kind_of(k, call);
		kind = &k->kind[k->of_meeting[i]];
		if (meeting->n > kind->most_ranks)
			kind->most_ranks = meeting->n;
		if (meeting->n < 2)
			continue;
		kind->calls -= meeting->n - 1;
		kind->nmatched++;
		for (uint32_t c = 0; c < meeting->n; c++)
			kind->waiting_ns += call[c].waiting_ns;
	}
}

/* Median of what the matched calls of a kind have at `offset`; *most the greatest. */
static double of_meetings(struct kinds *k, uint32_t kind, bool transfer, double *most)
{
	struct ws_stat stat;
	size_t n = 0;

	for (size_t i = 0; i < k->r->nmeetings; i++) {
		const struct ws_meeting *m = &k->r->meetings[i];

		if (k->of_meeting[i] == kind && m->n > 1)
			k->values[n++] = llround(transfer ? m->transfer_ns : m->skew_ns);
	}
	ws_stat_of(k->values, n, &stat);
	*most = n ? (double)stat.max : NAN;
	return n ? stat.median : NAN;
}

/* The rank that was last most often, the lowest of several; WS_NONE. *share in percent. */
static uint32_t last_of(struct kinds *k, uint32_t kind, double *share)
{
	const struct ws_ranks *r = k->r;
	uint32_t best = WS_NONE;

	for (size_t i = 0; i < r->n; i++)
		k->last[i] = 0;
	for (size_t i = 0; i < r->nmeetings; i++)
		if (k->of_meeting[i] == kind && r->meetings[i].last_rank != WS_NONE)
			k->last[r->meetings[i].last_rank]++;
	for (uint32_t i = 0; i < r->n; i++)
		if (k->last[i] && (best == WS_NONE || k->last[i] > k->last[best]))
			best = i;
	*share = best == WS_NONE ? NAN
	                         : ws_stat_percent(k->last[best], (double)k->kind[kind].nmatched);
	return best;
}

static void set_kind(struct kinds *k, uint32_t at, struct ws_table *t)
{
	const struct kind *kind = &k->kind[at];
	const struct ws_call_kind *what = &kind->first->kind;
	struct ws_cell *row = ws_table_row(t);
	uint64_t ranks = what->group_size ? what->group_size : kind->most_ranks;
	double most, share, transfer;
	uint32_t last;

	ws_ranks_set_text(k->r, t, &row[WS_TC_collectives_name], what->name);
	ws_ranks_set_text(k->r, t, &row[WS_TC_collectives_group], what->group);
	if (ranks)
		ws_cell_set_int(&row[WS_TC_collectives_ranks], (int64_t)ranks);
	ws_ranks_set_text(k->r, t, &row[WS_TC_collectives_dtype], what->dtype);
	ws_cell_set_real(&row[WS_TC_collectives_bytes], what->bytes);
	ws_cell_set_int(&row[WS_TC_collectives_calls], (int64_t)kind->calls);
	ws_cell_set_int(&row[WS_TC_collectives_total_ns], kind->total_ns);
	if (!kind->nmatched)
		return;
	ws_cell_set_real(&row[WS_TC_collectives_waiting_ns], kind->waiting_ns);
	ws_cell_set_real(&row[WS_TC_collectives_skew_ns], of_meetings(k, at, false, &most));
	ws_cell_set_real(&row[WS_TC_collectives_skew_max_ns], most);
	transfer = of_meetings(k, at, true, &most);
	ws_cell_set_real(&row[WS_TC_collectives_transfer_ns], transfer);
	ws_cell_set_real(&row[WS_TC_collectives_bus],
	                 ws_call_bus_bandwidth(what, kind->most_ranks, transfer));
	last = last_of(k, at, &share);
	if (last == WS_NONE)
		return;
	ws_cell_set_int(&row[WS_TC_collectives_last_rank], k->r->ranks[last].number);
	ws_cell_set_real(&row[WS_TC_collectives_last], share);
}

static int by_waiting(const void *pa, const void *pb, void *arg)
{
	const struct kinds *k = arg;
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct kind *a = &k->kind[ia], *b = &k->kind[ib];

	WS_ORDER_BY(b->waiting_ns, a->waiting_ns);
	WS_ORDER_BY(b->total_ns, a->total_ns);
	return ia < ib ? -1 : 1;
}

void ws_ranks_fill_collectives(const struct ws_ranks *r, struct ws_table *t)
{
	struct kinds k = {.r = r};
	struct ws_arena temp = {0};
	uint32_t *order;

	WS_NEW(&temp, order, r->ncalls);
	WS_NEW(&temp, k.kind, r->ncalls);
	WS_NEW(&temp, k.of_meeting, r->nmeetings);
	WS_NEW(&temp, k.values, r->nmeetings);
	WS_NEW(&temp, k.last, r->n);
	gather(&k);
	for (uint32_t i = 0; i < k.n; i++)
		order[i] = i;
	qsort_r(order, k.n, sizeof(*order), by_waiting, &k);
	for (uint32_t i = 0; i < k.n; i++)
		set_kind(&k, order[i], t);
	if (!t->nrows)
		ws_table_set_not_recorded(t, "no communication kernel was recorded");
	ws_strtab_free(&k.ids);
	ws_arena_free(&temp);
}
