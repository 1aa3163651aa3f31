/*
 * Clocks of several machines, aligned on what happened at once: all ranks of
 * a symmetric collective are done with it together. Then who waited for whom.
 */
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "report/base/stat.h"
#include "report/ranks/private.h"

/* Rounds at most; each brings clocks that no collective of all ranks joins nearer. */
#define ROUNDS    200
#define ENOUGH_NS 0.5

struct aligner {
	struct ws_ranks *r;
	int64_t epoch_ns; /* times count from here, so that doubles hold them */
	double *middle;   /* of a meeting: the mean of its ends by aligned clocks */
	/* deviations of each rank, one after the other: from first[rank] on */
	size_t *first;
	int64_t *deviation;
};

static double end_of(const struct aligner *a, const struct ws_rank_call *c)
{
	return (double)(c->end_ns - a->epoch_ns) - a->r->ranks[c->rank].offset_ns;
}

static uint32_t root_of(const struct ws_ranks *r, uint32_t rank)
{
	while (r->ranks[rank].component != rank)
		rank = r->ranks[rank].component;
	return rank;
}

/* Ranks that some chain of collectives joins; only their clocks can be compared. */
static void join_ranks(struct ws_ranks *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		r->ranks[i].component = i;
	for (size_t i = 0; i < r->nmeetings; i++)
		for (uint32_t k = 1; k < r->meetings[i].n; k++) {
			uint32_t a = root_of(r, r->calls[r->meetings[i].first].rank);
			uint32_t b = root_of(r, r->calls[r->meetings[i].first + k].rank);

			r->ranks[a > b ? a : b].component = a > b ? b : a;
		}
	for (uint32_t i = 0; i < r->n; i++)
		r->ranks[i].component = root_of(r, i);
}

static void open_aligner(struct aligner *a)
{
	struct ws_ranks *r = a->r;
	size_t at = 0;

	WS_NEW(&r->arena, a->middle, r->nmeetings);
	WS_NEW(&r->arena, a->first, r->n);
	WS_NEW(&r->arena, a->deviation, r->ncalls);
	a->epoch_ns = r->ncalls ? r->calls[0].end_ns : 0;
	for (size_t i = 0; i < r->nmeetings; i++)
		for (uint32_t k = 0; k < r->meetings[i].n && r->meetings[i].n > 1; k++)
			r->ranks[r->calls[r->meetings[i].first + k].rank].matched++;
	for (size_t i = 0; i < r->n; i++) {
		a->first[i] = at;
		at += r->ranks[i].matched;
		r->ranks[i].offset_ns = 0;
	}
}

/* By how much each end is later than the mean of its meeting. */
static void find_deviations(struct aligner *a, size_t *filled)
{
	struct ws_ranks *r = a->r;

	for (size_t i = 0; i < r->n; i++)
		filled[i] = a->first[i];
	for (size_t i = 0; i < r->nmeetings; i++) {
		const struct ws_meeting *meeting = &r->meetings[i];
		const struct ws_rank_call *call = &r->calls[meeting->first];
		double sum = 0;

		if (meeting->n < 2)
			continue;
		for (uint32_t k = 0; k < meeting->n; k++)
			sum += end_of(a, &call[k]);
		a->middle[i] = sum / meeting->n;
		for (uint32_t k = 0; k < meeting->n; k++)
			a->deviation[filled[call[k].rank]++] =
			        llround(end_of(a, &call[k]) - a->middle[i]);
	}
}

/* Medians, so that a few ends that are not together move no clock. */
static double move_clocks(struct aligner *a)
{
	double most = 0;

	for (size_t i = 0; i < a->r->n; i++) {
		struct ws_rank *rank = &a->r->ranks[i];
		double by;

		if (!rank->matched)
			continue;
		by = (double)ws_stat_select(a->deviation + a->first[i], rank->matched,
		                            rank->matched / 2);
		rank->offset_ns += by;
		most = fmax(most, fabs(by));
	}
	return most;
}

static void resolve_rank(struct aligner *a, size_t i)
{
	struct ws_rank *rank = &a->r->ranks[i];
	int64_t *deviation = a->deviation + a->first[i];

	if (!rank->matched) {
		rank->offset_ns = NAN;
		return;
	}
	for (size_t k = 0; k < rank->matched; k++)
		deviation[k] = llabs(deviation[k]);
	rank->residual_ns = (double)ws_stat_select(deviation, rank->matched,
	                                           (rank->matched * 95 + 99) / 100 - 1);
}

/* The others waited for the last to arrive; where that is within the residual, for nobody surely.
 */
static void judge(struct aligner *a, size_t at)
{
	struct ws_ranks *r = a->r;
	struct ws_meeting *meeting = &r->meetings[at];
	struct ws_rank_call *call = &r->calls[meeting->first];
	double first = INFINITY, last = -INFINITY, shortest = INFINITY, residual = 0, doubt;
	uint32_t first_call = 0, last_call = 0;

	for (uint32_t k = 0; k < meeting->n; k++) {
		double dur = (double)(call[k].end_ns - call[k].start_ns);
		double end = end_of(a, &call[k]), begin = end - dur;

		shortest = fmin(shortest, dur);
		residual = fmax(residual, fabs(end - a->middle[at]));
		if (begin < first) {
			first = begin;
			first_call = k;
		}
		if (begin > last) {
			last = begin;
			last_call = k;
		}
	}
	meeting->transfer_ns = shortest;
	meeting->residual_ns = residual;
	meeting->skew_ns = last - first;
	/* ends may lie together by chance: the clocks are no better for it */
	doubt = r->ranks[call[first_call].rank].residual_ns +
	        r->ranks[call[last_call].rank].residual_ns;
	if (last - first > fmax(2 * residual, doubt)) {
		meeting->first_rank = call[first_call].rank;
		meeting->last_rank = call[last_call].rank;
		r->ranks[call[last_call].rank].last++;
	}
	for (uint32_t k = 0; k < meeting->n; k++) {
		double dur = (double)(call[k].end_ns - call[k].start_ns);
		double waited = call[k].waiting_ns = fmin(last - (end_of(a, &call[k]) - dur), dur);
		struct ws_rank_step *mine = &r->ranks[call[k].rank].steps[call[k].step];

		mine->calls++;
		mine->ns[WS_RANK_WAITING] += waited;
		r->waiting_ns += waited;
		if (meeting->last_rank != WS_NONE)
			r->ranks[meeting->last_rank]
			        .steps[call[last_call].step]
			        .ns[WS_RANK_CAUSED] += waited;
	}
}

void ws_ranks_align(struct ws_ranks *r)
{
	struct aligner a = {.r = r};
	size_t *filled;

	WS_NEW(&r->arena, filled, r->n);
	open_aligner(&a);
	join_ranks(r);
	for (int round = 0; round < ROUNDS; round++) {
		find_deviations(&a, filled);
		if (move_clocks(&a) < ENOUGH_NS)
			break;
	}
	find_deviations(&a, filled);
	for (size_t i = 0; i < r->n; i++)
		resolve_rank(&a, i);
	for (size_t i = 0; i < r->nmeetings; i++)
		if (r->meetings[i].n > 1)
			judge(&a, i);
}
