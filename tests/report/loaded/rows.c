/*
 * The arrays as joined rows, which the product's functions read. Kernels and ranges are numbered as
 * here: by device, then start; by thread, then begin. A step is named by its range.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/order.h"
#include "report/model/label.h"
#include "report/model/steps.h"
#include "report/joined/op_phases.h"
#include "tests/report/loaded/private.h"

static uint32_t range_of_step(const struct ws_model *m, uint32_t step)
{
	return step == WS_NONE ? WS_NONE : m->steps[step].range;
}

static uint32_t row_of_call(const struct loaded *l, uint32_t call)
{
	return call == WS_NONE ? WS_NONE : l->call_row[call];
}

static struct ws_joined_kernel kernel_row(const struct loaded *l, size_t i)
{
	const struct loaded_kernels *k = &l->kernels;
	const uint32_t range = k->range[i];

	return (struct ws_joined_kernel){
	        .start_ns = k->start_ns[i],
	        .dur_ns = k->dur_ns[i],
	        .config = k->config[i],
	        .call = row_of_call(l, k->call[i]),
	        .range = range,
	        .op_range = range == WS_NONE ? WS_NONE : l->range_op[range],
	        .path = range == WS_NONE ? WS_NONE : l->ranges.path[range],
	        .class = loaded_kernel_class(l, i),
	        .direction = loaded_kernel_direction(l, i),
	        .dtype = loaded_kernel_dtype(l, i),
	        .range_class = loaded_kernel_range_class(l, i),
	        .cpu_op = k->op[i],
	        .collective = k->collective ? k->collective[i] : WS_NONE,
	        .crossing = k->crossing ? k->crossing[i] : WS_NONE,
	        .step = range_of_step(l->m, k->step[i]),
	        .phase = (uint8_t)loaded_kernel_phase(l, i),
	        .marks = loaded_range_marks(l, range) & WS_MARKS_INHERITED,
	        .timed = !(k->flags[i] & WS_KERNEL_NO_TIME),
	        .cut_off = (k->flags[i] & WS_KERNEL_CUT_OFF) != 0,
	};
}

static struct ws_joined_call call_row(const struct loaded *l, uint32_t i)
{
	const struct loaded_api *a = &l->api;

	return (struct ws_joined_call){
	        .start_ns = a->start_ns[i],
	        .dur_ns = a->end_ns[i] - a->start_ns[i],
	        .correlation = a->correlation[i],
	        .name = a->name[i],
	        .thread = a->thread[i],
	        .range = a->range[i],
	        .step = range_of_step(l->m, loaded_call_step(l, i)),
	        .cpu_op = a->op[i],
	        .marks = loaded_range_marks(l, a->range[i]) & WS_MARKS_INHERITED,
	        .failed = a->failed[i],
	};
}

static struct ws_joined_range range_row(const struct loaded *l, uint32_t i)
{
	const struct loaded_ranges *r = &l->ranges;
	const uint32_t step = range_of_step(l->m, l->range_step[i]), op = l->range_op[i];

	return (struct ws_joined_range){
	        .start_ns = r->start_ns[i],
	        .end_ns = r->end_ns[i],
	        .number = i,
	        .parent = r->parent[i],
	        .thread = r->thread[i],
	        .name = r->name[i],
	        .recorded = r->recorded[i],
	        .path = r->path[i],
	        .depth = r->depth[i],
	        .payload = r->payload[i],
	        .op_range = op,
	        .op_payload = op == WS_NONE ? WS_NONE : r->payload[op],
	        .class = l->range_class[i],
	        .step = step,
	        .holder = range_of_step(l->m, loaded_range_step(l, i)),
	        .phase = l->range_phase[i],
	        .marks = l->range_marks[i] & (uint8_t)~LOADED_OP_LAUNCHED,
	        .is_start_end = (r->flags[i] & LOADED_START_END) != 0,
	        .is_open = (r->flags[i] & LOADED_OPEN) != 0,
	        .is_step = step == i,
	};
}

/* Calls stand in the order in which they returned, and so does what names them. */
static enum ws_status number_calls(struct loaded *l, struct ws_err *err)
{
	struct ws_model *m = l->m;
	uint32_t *order, *first;

	WS_NEW(&l->arena, l->call_row, l->api.n);
	WS_NEW(&l->arena, order, l->api.n);
	WS_NEW(&l->arena, first, l->api.n);
	WS_FORWARD(ws_arena_check(&l->arena, "the rows of calls", err));
	ws_order_identity(order, l->api.n);
	WS_FORWARD(ws_order_by(order, l->api.end_ns, l->api.n, err));
	for (uint32_t i = 0; i < l->api.n; i++) {
		l->call_row[order[i]] = i;
		if (l->attribution.first)
			first[i] = l->attribution.first[order[i]];
	}
	m->attribution.first = l->attribution.first ? first : NULL;
	for (size_t i = 0; i < m->nwork; i++)
		m->work[i].call = row_of_call(l, m->work[i].call);
	return WS_OK;
}

enum ws_status loaded_fill_rows(struct loaded *l, struct ws_err *err)
{
	struct ws_joined_rows *rows = &l->rows;

	WS_FORWARD(number_calls(l, err));
	*rows = (struct ws_joined_rows){.nkernels = l->kernels.n,
	                                .ncalls = l->api.n,
	                                .nranges = l->ranges.n,
	                                .nsteps_of = l->ranges.n};
	rows->step_of = calloc(l->ranges.n + 1, sizeof(*rows->step_of));
	WS_FAIL_IF(!rows->step_of, err, NO_MEMORY, "out of memory");
	for (size_t i = 0; i < l->ranges.n; i++)
		rows->step_of[i] = l->range_step[i];
	WS_FORWARD(
	        ws_spill_open(&rows->kernels, l->kernels.n * sizeof(struct ws_joined_kernel), err));
	WS_FORWARD(ws_spill_open(&rows->calls, l->api.n * sizeof(struct ws_joined_call), err));
	WS_FORWARD(ws_spill_open(&rows->ranges, l->ranges.n * sizeof(struct ws_joined_range), err));
	for (uint32_t i = 0; i < l->api.n; i++) {
		const struct ws_joined_call row = call_row(l, i);

		WS_FORWARD(ws_spill_put(&rows->calls, sizeof(row), l->call_row[i], &row, err));
	}
	for (uint32_t i = 0; i < l->ranges.n; i++) {
		const struct ws_joined_range row = range_row(l, i);

		WS_FORWARD(ws_spill_put(&rows->ranges, sizeof(row), i, &row, err));
	}
	/* a second program for this would be a copy: operation_tables holds phases by hand */
	WS_FORWARD(ws_framework_find_phases(rows, l->m, err));
	for (size_t i = 0; i < l->kernels.n; i++) {
		const struct ws_joined_kernel row = kernel_row(l, i);
		const enum ws_scope scope =
		        ws_scope_of(l->m, ws_joined_rows_step(rows, row.step), row.marks);

		rows->in_scope[scope].kernels++;
		rows->in_scope[scope].gpu_ns += row.dur_ns;
		WS_FORWARD(ws_spill_put(&rows->kernels, sizeof(row), i, &row, err));
	}
	return WS_OK;
}
