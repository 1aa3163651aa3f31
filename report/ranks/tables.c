/* The tables of the ranks, but for the verdict. */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/base/stat.h"
#include "report/ranks/private.h"

void ws_ranks_set_text(const struct ws_ranks *r, struct ws_table *t, struct ws_cell *cell,
                       uint32_t text)
{
	struct ws_bytes bytes = ws_texts_get(&r->texts, text);

	if (bytes.len)
		ws_cell_set_text(t, cell, bytes.ptr, bytes.len);
}

/* --- ranks and their steps --------------------------------------------------------------- */

double ws_rank_mean(const struct ws_rank *rank, enum ws_rank_time time)
{
	double sum = 0;

	for (size_t i = 0; i < rank->nsteps; i++)
		sum += rank->steps[i].ns[time];
	return ws_stat_ratio(sum, (double)rank->nsteps);
}

double ws_rank_slower(const struct ws_ranks *r, size_t rank)
{
	double *values = ws_xarray(r->n + 1, sizeof(*values)), middle;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].dtype == r->ranks[rank].dtype && r->ranks[i].nsteps)
			values[n++] = ws_rank_mean(&r->ranks[i], WS_RANK_COMPUTE);
	middle = n > 1 ? ws_stat_median(values, n) : NAN;
	free(values);
	return ws_stat_ratio(ws_rank_mean(&r->ranks[rank], WS_RANK_COMPUTE), middle) - 1;
}

static double caused_by(const struct ws_rank *rank)
{
	return rank->nsteps ? ws_rank_mean(rank, WS_RANK_CAUSED) * (double)rank->nsteps : 0;
}

struct ws_calls_judged ws_ranks_judged(const struct ws_ranks *r)
{
	struct ws_calls_judged sum = {.calls = r->ncalls};

	for (size_t i = 0; i < r->ncalls; i++) {
		sum.ns += (double)(r->calls[i].end_ns - r->calls[i].start_ns);
		sum.asymmetric += r->calls[i].kind.op == WS_OP_ASYMMETRIC;
	}
	for (size_t i = 0; i < r->nmeetings; i++)
		for (uint32_t c = 0; c < r->meetings[i].n && r->meetings[i].n > 1; c++) {
			const struct ws_rank_call *call = &r->calls[r->meetings[i].first + c];

			sum.judged++;
			sum.judged_ns += (double)(call->end_ns - call->start_ns);
		}
	return sum;
}

double ws_rank_caused_share(const struct ws_ranks *r, const struct ws_rank *rank)
{
	return ws_stat_percent(caused_by(rank), r->waiting_ns);
}

const struct ws_rank *ws_ranks_last_rank(const struct ws_ranks *r)
{
	const struct ws_rank *most = NULL;

	for (size_t i = 0; i < r->n; i++)
		if (caused_by(&r->ranks[i]) > (most ? caused_by(most) : 0))
			most = &r->ranks[i];
	return most;
}

const struct ws_rank *ws_ranks_straggler(const struct ws_ranks *r)
{
	const struct ws_calls_judged of = ws_ranks_judged(r);
	const struct ws_rank *most = ws_ranks_last_rank(r);

	return most && ws_rank_caused_share(r, most) > 50 && of.judged_ns >= of.ns / 2 ? most
	                                                                               : NULL;
}

static void set_rank(const struct ws_ranks *r, size_t i, struct ws_table *t)
{
	const struct ws_rank *rank = &r->ranks[i];
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_int(&row[WS_TC_ranks_rank], rank->number);
	ws_ranks_set_text(r, t, &row[WS_TC_ranks_trace], rank->name);
	ws_ranks_set_text(r, t, &row[WS_TC_ranks_device], rank->device);
	ws_cell_set_int(&row[WS_TC_ranks_steps], rank->has_steps ? (int64_t)rank->nsteps : 0);
	ws_cell_set_real(&row[WS_TC_ranks_step_ns], ws_rank_mean(rank, WS_RANK_STEP));
	ws_cell_set_real(&row[WS_TC_ranks_compute_ns], ws_rank_mean(rank, WS_RANK_COMPUTE));
	ws_cell_set_real(&row[WS_TC_ranks_slower], 100 * ws_rank_slower(r, i));
	ws_cell_set_real(&row[WS_TC_ranks_comm_ns], ws_rank_mean(rank, WS_RANK_COMM));
	ws_cell_set_real(&row[WS_TC_ranks_exposed_ns], ws_rank_mean(rank, WS_RANK_EXPOSED));
	ws_cell_set_real(&row[WS_TC_ranks_exposed],
	                 ws_stat_percent(ws_rank_mean(rank, WS_RANK_EXPOSED),
	                                 ws_rank_mean(rank, WS_RANK_STEP)));
	if (!rank->matched)
		return;
	ws_cell_set_real(&row[WS_TC_ranks_waiting_ns], ws_rank_mean(rank, WS_RANK_WAITING));
	ws_cell_set_real(&row[WS_TC_ranks_caused_ns], ws_rank_mean(rank, WS_RANK_CAUSED));
	ws_cell_set_real(&row[WS_TC_ranks_last],
	                 ws_stat_percent((double)rank->last, (double)rank->matched));
	if (rank == ws_ranks_straggler(r))
		ws_cell_set_str(t, &row[WS_TC_ranks_straggler], "yes");
	if (rank->component == r->ranks[0].component)
		ws_cell_set_real(&row[WS_TC_ranks_offset_ns],
		                 rank->offset_ns - r->ranks[0].offset_ns);
	ws_cell_set_real(&row[WS_TC_ranks_residual_ns], rank->residual_ns);
}

void ws_ranks_fill_ranks(const struct ws_ranks *r, struct ws_table *t)
{
	struct ws_arena temp = {0};
	uint64_t outside = 0;
	bool steps = false, numbers = false;

	for (size_t i = 0; i < r->n; i++) {
		set_rank(r, i, t);
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

struct step_ref {
	const struct ws_rank *rank;
	const struct ws_rank_step *step;
};

static int by_step(const void *pa, const void *pb)
{
	const struct step_ref *a = pa, *b = pb;

	WS_ORDER_BY(a->step->number, b->step->number);
	return (a->rank->number > b->rank->number) - (a->rank->number < b->rank->number);
}

static void set_step(const struct step_ref *ref, double waiting_of_all, struct ws_table *t)
{
	static const int columns[] = {
	        [WS_RANK_STEP] = WS_TC_rank_steps_step_ns,
	        [WS_RANK_COMPUTE] = WS_TC_rank_steps_compute_ns,
	        [WS_RANK_COMM] = WS_TC_rank_steps_comm_ns,
	        [WS_RANK_EXPOSED] = WS_TC_rank_steps_exposed_ns,
	};
	const struct ws_rank_step *s = ref->step;
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_int(&row[WS_TC_rank_steps_step], s->number);
	ws_cell_set_int(&row[WS_TC_rank_steps_rank], ref->rank->number);
	for (int i = 0; i < 4; i++)
		ws_cell_set_int(&row[columns[i]], (int64_t)s->ns[i]);
	ws_cell_set_int(&row[WS_TC_rank_steps_collectives], s->calls);
	if (!s->calls)
		return;
	ws_cell_set_real(&row[WS_TC_rank_steps_waiting_ns], s->ns[WS_RANK_WAITING]);
	ws_cell_set_real(&row[WS_TC_rank_steps_caused_ns], s->ns[WS_RANK_CAUSED]);
	if (s->ns[WS_RANK_CAUSED] > waiting_of_all / 2)
		ws_cell_set_str(t, &row[WS_TC_rank_steps_straggler], "yes");
}

void ws_ranks_fill_steps(const struct ws_ranks *r, struct ws_table *t)
{
	struct step_ref *refs;
	size_t n = 0, all = 0;

	for (size_t i = 0; i < r->n; i++)
		all += r->ranks[i].nsteps;
	refs = ws_xarray(all + 1, sizeof(*refs));
	for (size_t i = 0; i < r->n; i++)
		for (size_t s = 0; s < r->ranks[i].nsteps; s++)
			refs[n++] = (struct step_ref){&r->ranks[i], &r->ranks[i].steps[s]};
	ws_sort(refs, n, sizeof(*refs), by_step);
	for (size_t i = 0, next; i < n; i = next) {
		double waiting = 0;

		for (next = i; next < n && refs[next].step->number == refs[i].step->number; next++)
			waiting += refs[next].step->ns[WS_RANK_WAITING];
		for (size_t k = i; k < next; k++)
			set_step(&refs[k], waiting, t);
	}
	free(refs);
}

/* --- collectives ------------------------------------------------------------------------- */

double ws_call_bus_bandwidth(const struct ws_call_kind *kind, uint32_t nranks, double ns)
{
	double n = kind->group_size ? (double)kind->group_size : nranks;
	double share = (n - 1) / n;

	if (kind->op == WS_OP_ASYMMETRIC || n < 2 || !(ns > 0) || !(kind->bytes > 0))
		return NAN;
	return kind->bytes * (kind->op == WS_OP_ALL_REDUCE ? 2 * share : share) / ns;
}

static void set_rank_number(const struct ws_ranks *r, struct ws_cell *cell, uint32_t rank)
{
	if (rank != WS_NONE)
		ws_cell_set_int(cell, r->ranks[rank].number);
}

static int64_t step_of(const struct ws_ranks *r, const struct ws_rank_call *call)
{
	return r->ranks[call->rank].steps[call->step].number;
}

static void set_call(const struct ws_ranks *r, const struct ws_meeting *meeting, struct ws_table *t)
{
	const struct ws_rank_call *call = &r->calls[meeting->first];
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_int(&row[WS_TC_collective_calls_step], step_of(r, call));
	ws_ranks_set_text(r, t, &row[WS_TC_collective_calls_name], call->kind.name);
	ws_ranks_set_text(r, t, &row[WS_TC_collective_calls_group], call->kind.group);
	ws_cell_set_int(&row[WS_TC_collective_calls_number],
	                call->has_sequence ? call->slot : (int64_t)call->ordinal);
	ws_cell_set_int(&row[WS_TC_collective_calls_ranks], meeting->n);
	ws_cell_set_real(&row[WS_TC_collective_calls_bytes], call->kind.bytes);
	set_rank_number(r, &row[WS_TC_collective_calls_first_rank], meeting->first_rank);
	set_rank_number(r, &row[WS_TC_collective_calls_last_rank], meeting->last_rank);
	ws_cell_set_real(&row[WS_TC_collective_calls_skew_ns], meeting->skew_ns);
	ws_cell_set_real(&row[WS_TC_collective_calls_transfer_ns], meeting->transfer_ns);
	ws_cell_set_real(&row[WS_TC_collective_calls_bus],
	                 ws_call_bus_bandwidth(&call->kind, meeting->n, meeting->transfer_ns));
	ws_cell_set_real(&row[WS_TC_collective_calls_residual_ns], meeting->residual_ns);
}

static int by_step_and_begin(const void *pa, const void *pb, void *arg)
{
	const struct ws_ranks *r = arg;
	const struct ws_meeting *a = &r->meetings[*(const size_t *)pa],
	                        *b = &r->meetings[*(const size_t *)pb];
	const struct ws_rank_call *ca = &r->calls[a->first], *cb = &r->calls[b->first];

	WS_ORDER_BY(step_of(r, ca), step_of(r, cb));
	WS_ORDER_BY(ca->start_ns, cb->start_ns);
	return (a->first > b->first) - (a->first < b->first);
}

void ws_ranks_fill_calls(const struct ws_ranks *r, struct ws_table *t)
{
	size_t *order = ws_xarray(r->nmeetings + 1, sizeof(*order));

	for (size_t i = 0; i < r->nmeetings; i++)
		order[i] = i;
	qsort_r(order, r->nmeetings, sizeof(*order), by_step_and_begin, (void *)r);
	for (size_t i = 0; i < r->nmeetings; i++)
		if (r->meetings[order[i]].n > 1)
			set_call(r, &r->meetings[order[i]], t);
	free(order);
	if (!t->nrows)
		ws_table_set_not_recorded(t, "no collective was found on two ranks or more");
}
