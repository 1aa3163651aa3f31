/* What the tables of the ranks say, in sentences. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/analysis/rank.h"
#include "report/base/stat.h"
#include "report/base/say.h"
#include "report/ranks/private.h"

double ws_ranks_mean(const struct ws_ranks *r, enum ws_rank_time time)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].nsteps) {
			sum += ws_rank_mean(&r->ranks[i], time);
			n++;
		}
	return ws_stat_ratio(sum, (double)n);
}

/* The greatest that a trace says; 0 when none does. */
static int64_t told_world_size(const struct ws_ranks *r)
{
	int64_t most = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].world_size > most)
			most = r->ranks[i].world_size;
	return most;
}

static int64_t world_size(const struct ws_ranks *r)
{
	int64_t told = told_world_size(r);

	return told > (int64_t)r->n ? told : (int64_t)r->n;
}

/* Several ranks, and one of them, or all, ran no communication: something was not seen. */
static void sound_alarm(struct ws_ranks *r, struct ws_table *t)
{
	size_t silent = 0;
	const struct ws_rank *first = NULL;

	for (size_t i = 0; i < r->n; i++)
		if (!r->ranks[i].comm_kernels) {
			silent++;
			first = first ? first : &r->ranks[i];
		}
	if (!silent || world_size(r) < 2)
		return;
	if (silent == r->n && !told_world_size(r))
		snprintf(r->alarm, sizeof(r->alarm),
		         "no trace has a world size or a communication kernel. If these %zu are "
		         "ranks of one run, communication was not recorded. Else compare them "
		         "with `warpsheet diff` or `warpsheet sweep`",
		         r->n);
	else if (silent == r->n)
		snprintf(r->alarm, sizeof(r->alarm),
		         "no rank ran a communication kernel, at a world size of %" PRId64
		         ": " WS_LACKS_COMM,
		         world_size(r));
	else
		snprintf(r->alarm, sizeof(r->alarm),
		         "%zu of %zu ranks ran no communication kernel (the first: rank %" PRId64
		         "), the others did: their recordings are incomplete",
		         silent, r->n, first->number);
	ws_table_add(t, "ALARM", "%s", r->alarm);
}

static void add_ranks(const struct ws_ranks *r, struct ws_table *t)
{
	int64_t world = world_size(r);

	if (world > (int64_t)r->n)
		ws_table_add(t, "ranks",
		             "%zu of %" PRId64 " ranks are here; a missing rank may be the late "
		             "one",
		             r->n, world);
	else if (told_world_size(r))
		ws_table_add(t, "ranks", "%zu ranks (complete)", r->n);
	else
		ws_table_add(t, "ranks", "%zu ranks of an unknown number", r->n);
}

double ws_ranks_residual(const struct ws_ranks *r, int64_t *rank)
{
	double worst = NAN;

	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].matched && !(r->ranks[i].residual_ns <= worst)) {
			worst = r->ranks[i].residual_ns;
			if (rank)
				*rank = r->ranks[i].number;
		}
	for (size_t i = 0; i < r->nmeetings; i++)
		if (r->meetings[i].n > 1)
			return worst;
	return NAN;
}

/* How far arrival times can be believed; NaN: nothing was aligned. */
static double add_clocks(const struct ws_ranks *r, struct ws_table *t)
{
	int64_t rank = 0;
	const double worst = ws_ranks_residual(r, &rank);
	uint64_t calls = 0;
	char time[WS_SAY_TIME];
	struct ws_cell *row;

	for (size_t i = 0; i < r->nmeetings; i++)
		calls += r->meetings[i].n > 1;
	if (!calls) {
		ws_table_add(t, "clocks",
		             "Clocks cannot be aligned (no common collective), so there is no "
		             "straggler analysis");
		return NAN;
	}
	row = ws_table_add(t, "clocks",
	                   "aligned on the ends of %" PRIu64
	                   " collectives; 95 %% of them end together within %s on every rank",
	                   calls, ws_say_time_in(worst, time));
	ws_cell_set_int(&row[WS_TC_ranks_verdict_rank], rank);
	ws_cell_set_real(&row[WS_TC_ranks_verdict_time_ns], worst);
	return worst;
}

static void set_share(struct ws_cell *row, double ns, double of_ns)
{
	ws_cell_set_real(&row[WS_TC_ranks_verdict_time_ns], ns);
	ws_cell_set_real(&row[WS_TC_ranks_verdict_share], ws_stat_percent(ns, of_ns));
}

/* What says nothing of who is late, and how much of communication it is. */
static void add_not_judged(const struct ws_calls_judged *of, struct ws_table *t)
{
	const uint64_t not_judged = of->calls - of->judged;
	char time[WS_SAY_TIME];
	struct ws_cell *row;

	if (!not_judged)
		return;
	row = ws_table_add(t, "not judged",
	                   "%" PRIu64 " of %" PRIu64 " calls, %.3g %% of communication time "
	                   "(%s), cannot show who is late. %" PRIu64 " are sends, broadcasts "
	                   "or of unknown kind, %" PRIu64 " have no match on another rank",
	                   not_judged, of->calls, ws_stat_percent(of->ns - of->judged_ns, of->ns),
	                   ws_say_time_in(of->ns - of->judged_ns, time), of->asymmetric,
	                   not_judged - of->asymmetric);
	set_share(row, of->ns - of->judged_ns, of->ns);
}

/* "its computation takes +3.0 % against the median rank" */
static void compute_text(const struct ws_ranks *r, const struct ws_rank *rank, char *out,
                         size_t size)
{
	double slower = 100 * ws_rank_slower(r, (size_t)(rank - r->ranks));

	if (isnan(slower))
		snprintf(out, size, "Its computation cannot be compared.");
	else
		snprintf(out, size, "Its computation takes %+.1f %% against the median rank%s.",
		         slower, slower < 1 ? ": look at its host, data and launches" : "");
}

size_t ws_ranks_beside(const struct ws_ranks *r, const struct ws_rank *rank)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->ranks[i].component == rank->component;
	return n - 1;
}

static void add_straggler(const struct ws_ranks *r, struct ws_table *t, double step_ns)
{
	const struct ws_calls_judged of = ws_ranks_judged(r);
	const struct ws_rank *most = ws_ranks_last_rank(r);
	double caused;
	char compute[128], time[WS_SAY_TIME];
	struct ws_cell *row;

	if (!most) {
		ws_table_add(t, "straggler",
		             "cannot tell: all ranks arrive within the error of the clocks");
		return;
	}
	if (of.judged_ns < of.ns / 2) {
		ws_table_add(t, "straggler",
		             "cannot tell: %.3g %% of communication time is not judged",
		             ws_stat_percent(of.ns - of.judged_ns, of.ns));
		return;
	}
	caused = ws_rank_mean(most, WS_RANK_CAUSED) / (double)ws_ranks_beside(r, most);
	if (most != ws_ranks_straggler(r)) {
		row = ws_table_add(
		        t, "straggler",
		        "none: no single rank causes more than half of the waiting. Rank "
		        "%" PRId64 " causes most: %.3g %%, %s per step",
		        most->number, ws_rank_caused_share(r, most), ws_say_time_in(caused, time));
	} else {
		compute_text(r, most, compute, sizeof(compute));
		row = ws_table_add(
		        t, "straggler",
		        "rank %" PRId64 " causes %.3g %% of all waiting: the others wait "
		        "%s per step for it. It is the last at %.0f %% of its collectives. %s",
		        most->number, ws_rank_caused_share(r, most), ws_say_time_in(caused, time),
		        ws_stat_percent((double)most->last, (double)most->matched), compute);
	}
	ws_cell_set_int(&row[WS_TC_ranks_verdict_rank], most->number);
	set_share(row, caused, step_ns);
}

/* residual_ns: what the clocks leave open. */
static void add_waiting(const struct ws_ranks *r, struct ws_table *t, double step_ns,
                        double residual_ns)
{
	double ns = ws_ranks_mean(r, WS_RANK_WAITING);
	char time[WS_SAY_TIME];

	if (ns < residual_ns && !ws_ranks_last_rank(r))
		ws_table_add(t, "waiting", "cannot tell: the clocks agree only within %s",
		             ws_say_time_in(residual_ns, time));
	else
		set_share(ws_table_add(
		                  t, "waiting",
		                  "a rank waits %s per step in collectives for the last to arrive, "
		                  "%.1f %% of the step",
		                  ws_say_time_in(ns, time), ws_stat_percent(ns, step_ns)),
		          ns, step_ns);
}

void ws_ranks_fill_verdict(struct ws_ranks *r, struct ws_table *t)
{
	const struct ws_calls_judged of = ws_ranks_judged(r);
	double step_ns = ws_ranks_mean(r, WS_RANK_STEP), residual_ns, ns;
	char time[WS_SAY_TIME];

	sound_alarm(r, t);
	add_ranks(r, t);
	add_not_judged(&of, t);
	residual_ns = add_clocks(r, t);
	if (!isnan(residual_ns)) {
		add_straggler(r, t, step_ns);
		add_waiting(r, t, step_ns, residual_ns);
	}
	if (*r->alarm) { /* what was not recorded is not 0 */
		ws_table_add(t, "exposed communication",
		             "cannot tell: not every rank's communication was recorded");
		return;
	}
	ns = ws_ranks_mean(r, WS_RANK_EXPOSED);
	set_share(ws_table_add(t, "exposed communication",
	                       "%s per step and rank, %.1f %% of the step, in which only "
	                       "communication ran",
	                       ws_say_time_in(ns, time), ws_stat_percent(ns, step_ns)),
	          ns, step_ns);
}
