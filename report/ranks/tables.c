/* The report of several ranks: its tables, the sentences of its verdict and its first screen. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "formats/base/xalloc.h"
#include "report/analysis/rank.h"
#include "report/base/say.h"
#include "report/base/stat.h"
#include "report/page/page.h"
#include "report/query/query.h"
#include "report/ranks/private.h"
#include "report/tables/report.h"
#include "report/tables/tables.h"

/* A rank's computation explains that it is late if it takes so much longer than the median. */
#define SLOWER_PERCENT 1.0

/* --- relations -------------------------------------------------------------------------------
 *
 * Lists of columns, X(name, statement that puts its value). The queries over them are in
 * tables.def.
 */

static void put_text(struct ws_put *out, const struct ws_ranks *r, uint32_t text)
{
	ws_put_text(out, ws_texts_get(&r->texts, text));
}

static size_t count_ranks(void *ctx)
{
	return ((const struct ws_ranks *)ctx)->n;
}

#define RANK(X)                                                                           \
	X(number, ws_put_int(out, rank->number))                                          \
	X(trace, put_text(out, r, rank->name))                                            \
	X(device, put_text(out, r, rank->device))                                         \
	X(steps, ws_put_count(out, rank->has_steps ? rank->nsteps : 0))                   \
	X(step_ns, ws_put_real(out, rank->mean_ns[WS_RANK_STEP]))                         \
	X(compute_ns, ws_put_real(out, rank->mean_ns[WS_RANK_COMPUTE]))                   \
	X(slower, ws_put_real(out, 100 * rank->slower))                                   \
	X(comm_ns, ws_put_real(out, rank->mean_ns[WS_RANK_COMM]))                         \
	X(exposed_ns, ws_put_real(out, rank->mean_ns[WS_RANK_EXPOSED]))                   \
	/* the rest is unknown of a rank that shares no collective with another */        \
	X(waiting_ns, if (rank->judged) ws_put_real(out, rank->mean_ns[WS_RANK_WAITING])) \
	X(caused_ns, if (rank->judged) ws_put_real(out, rank->mean_ns[WS_RANK_CAUSED]))   \
	X(matched, if (rank->matched) ws_put_count(out, rank->matched))                   \
	X(last, ws_put_count(out, rank->last))                                            \
	X(straggler, if (rank == r->straggler) ws_put_str(out, "yes"))                    \
	X(offset_ns, if (rank->matched && rank->component == r->ranks[0].component)       \
	                     ws_put_real(out, rank->offset_ns - r->ranks[0].offset_ns))   \
	X(residual_ns, if (rank->matched) ws_put_real(out, rank->residual_ns))

static void put_rank(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_ranks *r = ctx;
	const struct ws_rank *rank = &r->ranks[row];

	WS_PUT_COLUMN(column, RANK);
}

static size_t count_steps(void *ctx)
{
	return ((const struct ws_ranks *)ctx)->nsteps;
}

#define RANK_STEP(X)                                                          \
	X(rank, ws_put_int(out, rank->number))                                \
	X(step, ws_put_int(out, s->number))                                   \
	X(step_ns, ws_put_int(out, (int64_t)s->ns[WS_RANK_STEP]))             \
	X(compute_ns, ws_put_int(out, (int64_t)s->ns[WS_RANK_COMPUTE]))       \
	X(comm_ns, ws_put_int(out, (int64_t)s->ns[WS_RANK_COMM]))             \
	X(exposed_ns, ws_put_int(out, (int64_t)s->ns[WS_RANK_EXPOSED]))       \
	X(collectives, ws_put_count(out, s->calls))                           \
	X(waiting_ns, if (s->calls) ws_put_real(out, s->ns[WS_RANK_WAITING])) \
	X(caused_ns, if (s->calls) ws_put_real(out, s->ns[WS_RANK_CAUSED]))

static void put_step(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_ranks *r = ctx;
	const struct ws_rank *rank = r->ranks;
	const struct ws_rank_step *s;

	while (row >= rank->first_step + rank->nsteps)
		rank++;
	s = &rank->steps[row - rank->first_step];
	WS_PUT_COLUMN(column, RANK_STEP);
}

static size_t count_collectives(void *ctx)
{
	return ((const struct ws_ranks *)ctx)->ncalls;
}

static void put_rank_number(struct ws_put *out, const struct ws_ranks *r, uint32_t rank)
{
	if (rank != WS_NONE)
		ws_put_int(out, r->ranks[rank].number);
}

/* The factor of the bus bandwidth, but for (n - 1) / n. */
static void put_bus_factor(struct ws_put *out, const struct ws_call_kind *kind)
{
	if (kind->op != WS_OP_ASYMMETRIC)
		ws_put_real(out, kind->op == WS_OP_ALL_REDUCE ? 2 : 1);
}

/* first: the first call of its meeting, which names all of them; met: several ranks met in it.
 * What is of a meeting stands at its first call alone. */
#define COLLECTIVE(X)                                                                         \
	X(kind, ws_put_int(out, first->kind_number))                                          \
	X(name, put_text(out, r, first->kind.name))                                           \
	X(group_name, put_text(out, r, first->kind.group))                                    \
	X(group_size, if (first->kind.group_size) ws_put_count(out, first->kind.group_size))  \
	X(dtype, put_text(out, r, first->kind.dtype))                                         \
	X(bytes, ws_put_real(out, first->kind.bytes))                                         \
	X(bus_factor, put_bus_factor(out, &first->kind))                                      \
	X(counts, ws_put_int(out, !met || call == first))                                     \
	X(gpu_ns, ws_put_int(out, call->end_ns - call->start_ns))                             \
	X(ranks, if (meeting) ws_put_int(out, meeting->n))                                    \
	X(waiting_ns, if (meeting && meeting->is_judged) ws_put_real(out, call->waiting_ns))  \
	X(step, if (met && call == first)                                                     \
	                ws_put_int(out, r->ranks[call->rank].steps[call->step].number))       \
	X(begin_ns, ws_put_int(out, call->start_ns))                                          \
	X(number, ws_put_int(out, call->has_sequence ? call->slot : (int64_t)call->ordinal))  \
	X(first_rank, if (met && call == first) put_rank_number(out, r, meeting->first_rank)) \
	X(last_rank, if (met && call == first) put_rank_number(out, r, meeting->last_rank))   \
	X(skew_ns, if (met && call == first) ws_put_real(out, meeting->skew_ns))              \
	X(transfer_ns, if (met && call == first) ws_put_real(out, meeting->transfer_ns))      \
	X(residual_ns, if (met && call == first) ws_put_real(out, meeting->residual_ns))

static void put_collective(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_ranks *r = ctx;
	const struct ws_rank_call *call = &r->calls[row], *first = call;
	const struct ws_meeting *meeting =
	        call->meeting == WS_NONE ? NULL : &r->meetings[call->meeting];
	const bool met = meeting && meeting->n > 1;

	if (met)
		first = &r->calls[meeting->first];
	WS_PUT_COLUMN(column, COLLECTIVE);
}

static const struct ws_relation relations[] = {
        {"rank", RANK(WS_COLUMN_NAME), count_ranks, put_rank},
        {"rank_step", RANK_STEP(WS_COLUMN_NAME), count_steps, put_step},
        {"collective", COLLECTIVE(WS_COLUMN_NAME), count_collectives, put_collective},
};

void ws_ranks_relations(struct ws_query *q, struct ws_ranks *r)
{
	for (size_t i = 0; i < sizeof(relations) / sizeof(*relations); i++)
		ws_query_add(q, &relations[i], r);
}

static void note_ranks(const struct ws_ranks *r, struct ws_table *t)
{
	struct ws_arena temp = {0};
	uint64_t outside = 0;
	bool steps = false, numbers = false;

	for (size_t i = 0; i < r->n; i++) {
		outside += r->ranks[i].noutside;
		steps |= r->ranks[i].has_steps;
		numbers |= r->ranks[i].has_number;
	}
	if (!steps)
		ws_table_note(t, "The traces have no finished steps: times are of all of each "
		                 "trace. --step PATTERN says which ranges are steps.");
	if (!numbers)
		ws_table_note(t, "Not every trace says its rank: they are numbered as given.");
	if (outside)
		ws_table_note(t,
		              "%s communication kernels lie in no measured step and are "
		              "left out.",
		              ws_say_number(&temp, (double)outside));
	if (r->unmatched)
		ws_table_note(t,
		              "%s calls of collectives are not matched: the ranks have "
		              "different numbers of them in a step, and no sequence numbers.",
		              ws_say_number(&temp, (double)r->unmatched));
	if (r->no_groups)
		ws_table_note(t, "Some collectives have no recorded group: those of one kernel and "
		                 "order in the step are taken for one call of all ranks.");
	ws_arena_free(&temp);
}

/* --- the verdict ----------------------------------------------------------------------------- */

/* The largest world size of any trace; 0: none has one. */
static int64_t recorded_world_size(const struct ws_ranks *r)
{
	int64_t most = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].world_size > most)
			most = r->ranks[i].world_size;
	return most;
}

bool ws_ranks_are_unrelated(const struct ws_ranks *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].comm_kernels || r->ranks[i].world_size)
			return false;
	return r->n > 1;
}

/* If one of several ranks, or all of them, ran no communication, the recording is incomplete. */
static void sound_alarm(struct ws_ranks *r, struct ws_table *t)
{
	const int64_t recorded = recorded_world_size(r);
	size_t silent = 0;
	const struct ws_rank *first = NULL;
	bool has_kernels = false;

	for (size_t i = 0; i < r->n; i++)
		has_kernels |= r->ranks[i].device != 0;
	/* on a CPU communication is no kernel */
	if (!has_kernels && recorded)
		return;
	for (size_t i = 0; i < r->n; i++)
		if (!r->ranks[i].comm_kernels) {
			silent++;
			first = first ? first : &r->ranks[i];
		}
	if (!silent || (r->n < 2 && recorded < 2))
		return;
	if (ws_ranks_are_unrelated(r))
		snprintf(r->alarm, sizeof(r->alarm),
		         "no trace has a world size or a communication kernel. If these %zu are "
		         "ranks of one run, communication was not recorded. Else compare them "
		         "with `warpsheet diff` or `warpsheet sweep`",
		         r->n);
	else if (silent == r->n)
		snprintf(r->alarm, sizeof(r->alarm),
		         "no rank ran a communication kernel, at a world size of %" PRId64
		         ": " WS_LACKS_COMM,
		         recorded > (int64_t)r->n ? recorded : (int64_t)r->n);
	else
		snprintf(r->alarm, sizeof(r->alarm),
		         "%zu of %zu ranks ran no communication kernel (the first: rank %" PRId64
		         "), the others did: their recordings are incomplete",
		         silent, r->n, first->number);
	ws_table_add(t, "ALARM", "%s", r->alarm);
}

/* "ranks 0, 1 and ranks 2, 3": those that a chain of common calls joins stand together. */
static const char *words_of_components(const struct ws_ranks *r, struct ws_arena *arena)
{
	const char *all = "";

	for (uint32_t component = 0; component < r->n; component++) {
		const char *one = "";
		size_t n = 0;

		for (size_t i = 0; i < r->n; i++)
			if (r->ranks[i].component == component) {
				one = ws_arena_format(arena, "%s%s%" PRId64, one, n ? ", " : "",
				                      r->ranks[i].number);
				n++;
			}
		if (n)
			all = ws_arena_format(arena, "%s%srank%s %s", all, *all ? " and " : "",
			                      n == 1 ? "" : "s", one);
	}
	return all;
}

static bool is_joined(const struct ws_ranks *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].component != r->ranks[0].component)
			return false;
	return true;
}

/* Why no call is judged, though ranks share some or could; NULL: one is. */
static const char *why_nothing_is_judged(const struct ws_ranks *r, struct ws_arena *arena)
{
	if (r->njudged_meetings || !r->lacking)
		return NULL;
	if (is_joined(r))
		return "no call was recorded by all ranks of its group";
	return ws_arena_format(arena,
	                       "no call was recorded by all ranks of its group (%s recorded "
	                       "other calls)",
	                       words_of_components(r, arena));
}

static void set_share(struct ws_cell *row, double ns, double of_ns)
{
	ws_cell_set_real(&row[WS_TC_ranks_verdict_time_ns], ns);
	ws_cell_set_real(&row[WS_TC_ranks_verdict_share], ws_stat_percent(ns, of_ns));
}

static void add_straggler(const struct ws_ranks *r, struct ws_table *t)
{
	const struct ws_rank *last = r->last;
	double caused_ns;
	char compute[128], time[WS_SAY_TIME];
	struct ws_arena arena = {0};
	const char *why = why_nothing_is_judged(r, &arena);
	struct ws_cell *row;

	if (why)
		ws_table_add(t, "straggler", "cannot tell: %s", why);
	ws_arena_free(&arena);
	if (r->lacking && !r->njudged_meetings)
		return;
	if (!last) {
		ws_table_add(t, "straggler",
		             "cannot tell: all ranks arrive within the error of the clocks");
		return;
	}
	if (r->judged_ns < r->calls_ns / 2) {
		ws_table_add(t, "straggler",
		             "cannot tell: %.3g %% of communication time is not judged",
		             ws_stat_percent(r->calls_ns - r->judged_ns, r->calls_ns));
		return;
	}
	caused_ns = last->mean_ns[WS_RANK_CAUSED] / (double)last->peers;
	if (isnan(last->slower))
		snprintf(compute, sizeof(compute), "Its computation cannot be compared.");
	else
		snprintf(compute, sizeof(compute),
		         "Its computation takes %+.1f %% against the median rank%s.",
		         100 * last->slower,
		         100 * last->slower < SLOWER_PERCENT
		                 ? ": look at its host, data and launches"
		                 : "");
	if (last == r->straggler)
		row = ws_table_add(
		        t, "straggler",
		        "rank %" PRId64 " causes %.3g %% of all waiting: the others wait "
		        "%s per step for it. It is the last at %.0f %% of its collectives. %s",
		        last->number, last->caused_share, ws_say_time_in(caused_ns, time),
		        ws_stat_percent((double)last->last, (double)last->judged), compute);
	else
		row = ws_table_add(
		        t, "straggler",
		        "none: no single rank causes more than half of the waiting. Rank "
		        "%" PRId64 " causes most: %.3g %%, %s per step",
		        last->number, last->caused_share, ws_say_time_in(caused_ns, time));
	ws_cell_set_int(&row[WS_TC_ranks_verdict_rank], last->number);
	set_share(row, caused_ns, r->mean_ns[WS_RANK_STEP]);
}

static void fill_verdict(struct ws_ranks *r, struct ws_table *t)
{
	const int64_t recorded = recorded_world_size(r);
	const uint64_t not_judged = r->ncalls - r->judged;
	const double not_judged_ns = r->all_ns - r->judged_ns;
	const double step_ns = r->mean_ns[WS_RANK_STEP], waiting_ns = r->mean_ns[WS_RANK_WAITING],
	             exposed_ns = r->mean_ns[WS_RANK_EXPOSED];
	char time[WS_SAY_TIME];
	struct ws_arena arena = {0};
	struct ws_cell *row;

	sound_alarm(r, t);
	for (size_t i = 0; i < r->nlaunchers; i++)
		ws_table_add(t, "left out",
		             "%.*s: it says no rank, and has no step, operation or device work, as "
		             "the launcher of ranks",
		             (int)r->launchers[i].len, (const char *)r->launchers[i].ptr);
	for (size_t i = 0; i < r->nfailed; i++)
		ws_table_add(t, "failed", "%s", r->failed[i]);
	if (recorded > (int64_t)r->n)
		ws_table_add(t, "ranks",
		             "%zu of %" PRId64 " ranks are here; a missing rank may be the late "
		             "one",
		             r->n, recorded);
	else
		ws_table_add(t, "ranks",
		             !recorded    ? "%zu ranks of an unknown number"
		             : r->lacking ? "%zu ranks, that did not record the same calls"
		                          : "%zu ranks (complete)",
		             r->n);
	if (not_judged)
		set_share(ws_table_add(
		                  t, "not judged",
		                  "%" PRIu64 " of %zu calls, %.3g %% of communication time "
		                  "(%s), cannot show who is late. %" PRIu64
		                  " are sends, broadcasts "
		                  "or of unknown kind, %s%" PRIu64 " have no match on another rank",
		                  not_judged, r->ncalls, ws_stat_percent(not_judged_ns, r->all_ns),
		                  ws_say_time_in(not_judged_ns, time), r->asymmetric,
		                  r->lacking ? ws_arena_format(&arena,
		                                               "%" PRIu64 " lack a rank of their "
		                                               "group, ",
		                                               r->lacking)
		                             : "",
		                  not_judged - r->asymmetric - r->lacking),
		          not_judged_ns, r->all_ns);
	if (!r->least_sure) {
		ws_table_add(t, "clocks",
		             "Clocks cannot be aligned (no common collective), so there is no "
		             "straggler analysis");
	} else {
		const double residual_ns = r->least_sure->residual_ns;

		row = ws_table_add(t, "clocks",
		                   "%s on the ends of %zu collectives; 95 %% of them end "
		                   "together within %s on every rank",
		                   is_joined(r) ? "aligned"
		                                : ws_arena_format(&arena,
		                                                  "aligned within %s, but not of "
		                                                  "one with the other,",
		                                                  words_of_components(r, &arena)),
		                   r->nmatched_meetings, ws_say_time_in(residual_ns, time));
		ws_cell_set_int(&row[WS_TC_ranks_verdict_rank], r->least_sure->number);
		ws_cell_set_real(&row[WS_TC_ranks_verdict_time_ns], residual_ns);
		add_straggler(r, t);
		if (!r->njudged_meetings)
			ws_table_add(t, "waiting", "cannot tell: no call is judged");
		else if (waiting_ns < residual_ns && !r->last)
			ws_table_add(t, "waiting", "cannot tell: the clocks agree only within %s",
			             ws_say_time_in(residual_ns, time));
		else
			set_share(ws_table_add(t, "waiting",
			                       "a rank waits %s per step in collectives for the "
			                       "last to arrive, %.1f %% of the step",
			                       ws_say_time_in(waiting_ns, time),
			                       ws_stat_percent(waiting_ns, step_ns)),
			          waiting_ns, step_ns);
	}
	if (*r->alarm) /* the unrecorded communication is not 0 */
		ws_table_add(t, "exposed communication",
		             "cannot tell: not every rank's communication was recorded");
	else
		set_share(ws_table_add(t, "exposed communication",
		                       "%s per step and rank, %.1f %% of the step, in which only "
		                       "communication ran",
		                       ws_say_time_in(exposed_ns, time),
		                       ws_stat_percent(exposed_ns, step_ns)),
		          exposed_ns, step_ns);
	ws_arena_free(&arena);
}

/* --- the first screen ------------------------------------------------------------------------ */

static void say_late_rank(const struct ws_rank *late, struct ws_page *out)
{
	struct ws_arena *t = &out->arena;
	const size_t others = late->peers;
	const double slower = 100 * late->slower;

	ws_page_say(out, "", "", ws_arena_format(t, "Rank %" PRId64, late->number),
	            ws_arena_format(t, " makes %zu other%s wait ", others, others == 1 ? "" : "s"),
	            ws_arena_format(t, "%s per step",
	                            ws_say_time(t, late->mean_ns[WS_RANK_CAUSED] / (double)others)),
	            others == 1 ? ": " : " each: ", ws_say_percent(t, late->caused_share),
	            " of all waiting.", NULL);
	if (slower >= SLOWER_PERCENT)
		ws_page_say(out, "", "Its computation takes ",
		            ws_arena_format(t, "%s longer", ws_say_percent(t, slower)),
		            " than that of the median rank.", NULL);
	else if (!isnan(slower))
		ws_page_say(out, "",
		            "Its computation is not slower: look at its host, data and launches.",
		            NULL);
}

static void say_waiting(const struct ws_ranks *r, struct ws_page *out)
{
	struct ws_arena *t = &out->arena;
	const char *why = why_nothing_is_judged(r, t);

	if (why)
		ws_page_say(out, "", "Cannot tell who waits for whom: ", why, ".", NULL);
	else if (!r->least_sure)
		ws_page_say(out, "",
		            "Nobody can tell who waits for whom: the ranks share no collective.",
		            NULL);
	else if (r->straggler)
		say_late_rank(r->straggler, out);
	else if (r->judged_ns < r->calls_ns / 2)
		ws_page_say(out, "", "Nobody can tell who waits for whom: ",
		            ws_say_percent(t, ws_stat_percent(r->calls_ns - r->judged_ns,
		                                              r->calls_ns)),
		            " of communication has no match.", NULL);
	else if (!r->last)
		ws_page_say(out, "", "Cannot tell which rank is late: the clocks agree only to ",
		            ws_say_time(t, r->least_sure->residual_ns), ".", NULL);
	else
		ws_page_say(out, "", "No single rank is late: each waits ",
		            ws_arena_format(t, "%s per step",
		                            ws_say_time(t, r->mean_ns[WS_RANK_WAITING])),
		            ws_arena_format(t, "; rank %" PRId64 " causes most, ", r->last->number),
		            ws_say_percent(t, r->last->caused_share), ".", NULL);
}

#define IDLE_PERCENT 10 /* of a step: from here on it is the first thing to look at */

static void say_cure(const struct ws_ranks *r, struct ws_page *out)
{
	struct ws_arena *t = &out->arena;
	const double step_ns = r->mean_ns[WS_RANK_STEP], exposed_ns = r->mean_ns[WS_RANK_EXPOSED];
	const double idle_ns = step_ns - r->mean_ns[WS_RANK_COMPUTE] - exposed_ns;

	if (isnan(idle_ns) || out->nheadline == WS_PAGE_LINES)
		return;
	if (ws_stat_percent(idle_ns, step_ns) >= IDLE_PERCENT && idle_ns >= exposed_ns)
		ws_page_say(out, "", "What to do: the devices idle for ",
		            ws_say_part_of(t, idle_ns, ws_stat_percent(idle_ns, step_ns)),
		            "; a report of one rank says what they wait for.", NULL);
	else if (ws_stat_percent(exposed_ns, step_ns) >= IDLE_PERCENT)
		ws_page_say(out, "",
		            "What to do: let communication run beside computation, which would "
		            "save up to ",
		            ws_say_time(t, exposed_ns), " per step.", NULL);
}

static void make_first_screen(const struct ws_ranks *r, struct ws_report *report)
{
	struct ws_page *out = report->page = ws_xarray(1, sizeof(*out));
	struct ws_arena *t = &out->arena;
	const double step_ns = r->mean_ns[WS_RANK_STEP], exposed_ns = r->mean_ns[WS_RANK_EXPOSED];

	out->is_comparison = true;
	out->title = ws_arena_format(t, "%zu ranks", r->n);
	if (*r->alarm)
		ws_page_say(out, "ALARM",
		            ws_arena_format(t, "%c%s.", toupper(*r->alarm), r->alarm + 1), NULL);
	if (r->nfailed)
		ws_page_say(out, "", "",
		            ws_arena_format(t, "%zu trace%s", r->nfailed,
		                            r->nfailed == 1 ? "" : "s"),
		            " cannot be read: ", r->failed[0], ".", NULL);
	say_waiting(r, out);
	if (r->lacking && r->njudged_meetings)
		ws_page_say(out, "", "",
		            ws_arena_format(t, "%s of %s calls",
		                            ws_say_number(t, (double)r->lacking_meetings),
		                            ws_say_number(t, (double)r->nmeetings)),
		            " were not recorded by all ranks of their group and are not judged.",
		            NULL);
	if (!isnan(step_ns) && *r->alarm)
		ws_page_say(out, "", "A step takes ", ws_say_time(t, step_ns), ".", NULL);
	else if (!isnan(step_ns))
		ws_page_say(out, "", "A step takes ", ws_say_time(t, step_ns), "; for ",
		            ws_say_part_of(t, exposed_ns, ws_stat_percent(exposed_ns, step_ns)),
		            " of it only communication runs.", NULL);
	say_cure(r, out);
}

/* The rows of a query are there already: what is left are sentences. */
static enum ws_status fill(void *ctx, size_t which, struct ws_table **table, struct ws_err *err)
{
	struct ws_ranks *r = ctx;
	struct ws_table *t = *table;

	(void)which, (void)err;
	if (t->def == &ws_def_ranks_verdict)
		fill_verdict(r, t);
	else if (t->def == &ws_def_ranks)
		note_ranks(r, t);
	else if (t->def == &ws_def_collectives && !t->nrows)
		ws_table_set_not_recorded(t, "no communication kernel was recorded");
	else if (t->def == &ws_def_collective_calls && !t->nrows)
		ws_table_set_not_recorded(t, "no collective was found on two ranks or more");
	return WS_OK;
}

enum ws_status ws_ranks_report(struct ws_ranks *r, struct ws_report **out, struct ws_err *err)
{
	struct ws_report_plan plan = {.title = "Warpsheet report of ranks", .fill = fill, .ctx = r};
	enum ws_status status;
	char trace[32];

	snprintf(trace, sizeof(trace), "%zu ranks", r->n);
	plan.trace = trace;
	plan.created_ns = r->n ? r->ranks[0].base_ns : 0;
	plan.defs = ws_ranks_defs(&plan.ndefs);
	WS_FORWARD(ws_query_open(&plan.query, err));
	ws_ranks_relations(plan.query, r);
	status = ws_report_of_plan(&plan, out, err);
	ws_query_close(plan.query);
	WS_FORWARD(status);
	make_first_screen(r, *out);
	return WS_OK;
}
