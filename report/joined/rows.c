#include "report/joined/rows.h"

#include <stdlib.h>

#include "report/model/steps.h"

static uint32_t thread_of_range(const void *ctx, const void *row)
{
	const struct ws_joined_range *range = row;

	(void)ctx;
	return range->context->thread;
}

void ws_joined_rows_ranges_by_thread(struct ws_joined_rows *rows, const struct ws_model *m)
{
	const struct ws_spill_key thread = {m->nthreads, thread_of_range, NULL};

	ws_spill_partition(&rows->ranges, sizeof(struct ws_joined_range), rows->nranges, &thread);
}

/* Of all at once, parents first: they may nest as deep as there are ranges. */
static void find_op_ranges(struct ws_joined_rows *rows)
{
	ws_spill_open(&rows->op_ranges, rows->nranges * sizeof(uint32_t));
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range *range = ws_joined_rows_range(rows, i);
		uint32_t op = WS_NONE;

		if (range->context->is_op)
			op = i;
		else if (range->context->op != WS_NONE)
			op = *(const uint32_t *)ws_spill_row(&rows->op_ranges, sizeof(op),
			                                     range->parent);
		ws_spill_put(&rows->op_ranges, sizeof(op), i, &op);
	}
}

uint32_t ws_joined_rows_op_range(struct ws_joined_rows *rows, uint32_t number)
{
	const struct ws_joined_range *range = ws_joined_rows_range(rows, number);

	if (!range || range->context->op == WS_NONE)
		return WS_NONE;
	if (range->context->is_op)
		return number;
	if (!rows->op_ranges.data)
		find_op_ranges(rows);
	return *(const uint32_t *)ws_spill_row(&rows->op_ranges, sizeof(uint32_t), number);
}

uint32_t ws_joined_step_at(const struct ws_joined_rows *rows, const struct ws_model *m,
                           const struct ws_joined_range *range, uint32_t process, int64_t start_ns,
                           int64_t end_ns)
{
	const uint32_t step = range ? ws_joined_range_step(rows, range) : WS_NONE;

	if (step != WS_NONE || (range && range->context->marks & WS_IN_WARM_UP))
		return step;
	return ws_step_holding(m, process, start_ns, end_ns, WS_NONE);
}

uint32_t ws_joined_call_step(struct ws_joined_rows *rows, const struct ws_model *m,
                             const struct ws_joined_call *call)
{
	return ws_joined_step_at(rows, m, ws_joined_rows_range(rows, call->range),
	                         m->threads[call->kind->thread].process, call->start_ns,
	                         call->start_ns + call->dur_ns);
}

void ws_joined_rows_free(struct ws_joined_rows *rows)
{
	ws_spill_close(&rows->kernels);
	ws_spill_close(&rows->op_ranges);
	ws_spill_close(&rows->calls);
	ws_spill_close(&rows->ranges);
	free(rows->range_of);
	free(rows->step_of);
	*rows = (struct ws_joined_rows){0};
}

int ws_range_begin_compare(const void *pa, const void *pb)
{
	const struct ws_range_begin *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}
