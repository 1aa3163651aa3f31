/*
 * Which calls of several ranks are one collective. By the sequence number in
 * the group where it is recorded; else by step and order in it, where all
 * ranks have as many of the kind. Ranks begin and end recording at times of
 * their own, so order alone says nothing.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/ranks/private.h"

static int by_number(const void *pa, const void *pb)
{
	const struct ws_rank *a = pa, *b = pb;

	WS_ORDER_BY(a->number, b->number);
	return (a->given > b->given) - (a->given < b->given);
}

/* Ranks by number; without numbers in all traces, as they were given. */
static enum ws_status number_ranks(struct ws_ranks *r, struct ws_err *err)
{
	uint32_t *place; /* rank as given -> by number */
	bool known = true;

	WS_NEW(&r->arena, place, r->n);
	for (size_t i = 0; i < r->n; i++)
		known &= r->ranks[i].has_number;
	for (uint32_t i = 0; i < r->n; i++) {
		r->ranks[i].given = i;
		if (!known)
			r->ranks[i].number = i;
		r->ranks[i].has_number = known;
	}
	ws_sort(r->ranks, r->n, sizeof(*r->ranks), by_number);
	for (uint32_t i = 0; i < r->n; i++)
		place[r->ranks[i].given] = i;
	for (size_t i = 0; i < r->ncalls; i++)
		r->calls[i].rank = place[r->calls[i].rank];
	for (size_t i = 1; i < r->n; i++) {
		const struct ws_bytes a = ws_texts_get(&r->texts, r->ranks[i - 1].name);
		const struct ws_bytes b = ws_texts_get(&r->texts, r->ranks[i].name);

		WS_FAIL_IF(r->ranks[i].number == r->ranks[i - 1].number, err, USAGE,
		           "'%.*s' and '%.*s' are both of rank %" PRId64
		           ": give one trace per rank, of one run",
		           (int)a.len, (const char *)a.ptr, (int)b.len, (const char *)b.ptr,
		           r->ranks[i].number);
	}
	return WS_OK;
}

/* All but the ordinal: calls that are equal in this may face each other. */
static int compare_slots(const struct ws_rank_call *a, const struct ws_rank_call *b)
{
	WS_ORDER_BY(a->key, b->key);
	if (a->has_sequence != b->has_sequence)
		return a->has_sequence ? -1 : 1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

static int by_rank(const void *pa, const void *pb)
{
	const struct ws_rank_call *a = pa, *b = pb;

	WS_ORDER_BY(compare_slots(a, b), 0);
	WS_ORDER_BY(a->rank, b->rank);
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int by_ordinal(const void *pa, const void *pb)
{
	const struct ws_rank_call *a = pa, *b = pb;

	WS_ORDER_BY(compare_slots(a, b), 0);
	WS_ORDER_BY(a->ordinal, b->ordinal);
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static void add_meetings(struct ws_ranks *r, size_t from, size_t to)
{
	for (size_t i = from, next; i < to; i = next) {
		struct ws_meeting *meeting;

		for (next = i + 1; next < to && r->calls[next].ordinal == r->calls[i].ordinal;)
			next++;
		WS_GROW(r->meetings, r->nmeetings + 1, r->meetings_capacity);
		meeting = &r->meetings[r->nmeetings++];
		*meeting = (struct ws_meeting){.first = i,
		                               .n = (uint32_t)(next - i),
		                               .first_rank = WS_NONE,
		                               .last_rank = WS_NONE,
		                               .skew_ns = NAN,
		                               .residual_ns = NAN,
		                               .transfer_ns = NAN};
	}
}

/* Calls [from, to) of one slot, by ordinal: do all of its ranks have as many? */
static bool is_even(const struct ws_ranks *r, size_t from, size_t to)
{
	size_t ranks = 0;

	while (from + ranks < to && r->calls[from + ranks].ordinal == 0)
		ranks++;
	return ranks && (to - from) % ranks == 0 &&
	       r->calls[to - 1].ordinal + 1 == (to - from) / ranks;
}

enum ws_status ws_ranks_match(struct ws_ranks *r, struct ws_err *err)
{
	WS_FORWARD(number_ranks(r, err));
	if (r->ncalls)
		qsort(r->calls, r->ncalls, sizeof(*r->calls), by_rank);
	for (size_t i = 0; i < r->ncalls; i++) {
		const struct ws_rank_call *before = i ? &r->calls[i - 1] : NULL;

		if (before && !compare_slots(before, &r->calls[i]) &&
		    before->rank == r->calls[i].rank)
			r->calls[i].ordinal = before->ordinal + 1;
	}
	if (r->ncalls)
		qsort(r->calls, r->ncalls, sizeof(*r->calls), by_ordinal);
	for (size_t i = 0, next; i < r->ncalls; i = next) {
		for (next = i + 1;
		     next < r->ncalls && !compare_slots(&r->calls[i], &r->calls[next]);)
			next++;
		if (r->calls[i].kind.op == WS_OP_ASYMMETRIC)
			continue;
		if (is_even(r, i, next))
			add_meetings(r, i, next);
		else
			r->unmatched += next - i;
	}
	return WS_OK;
}
