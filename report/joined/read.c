/* From a pass to joined rows: calls and ranges are kept as they are told, then kernels are joined
 * to them. */
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/joined/batches.h"
#include "report/joined/kernels.h"
#include "report/joined/op_phases.h"
#include "report/pass/framework.h"
#include "report/pass/pass.h"

/* --- the sink ------------------------------------------------------------------------------ */

struct reading {
	struct ws_joined_rows *rows;
	struct ws_kernel_join join;
	const struct ws_trace_reader *r;
	struct ws_model **m;
	uint64_t last_id; /* of calls */
};

/* A record that is equal to the one before it, which returned at the same moment. */
static bool is_equal_call(const struct ws_joined_call *call, const struct ws_joined_call *before)
{
	return before && call->correlation && call->correlation == before->correlation &&
	       call->start_ns == before->start_ns && call->dur_ns == before->dur_ns &&
	       call->kind == before->kind;
}

static void take_call(void *ctx, const struct ws_joined_call *call, uint32_t *number)
{
	struct reading *reading = ctx;
	struct ws_joined_rows *rows = reading->rows;

	if (call->correlation == reading->last_id && rows->ncalls &&
	    is_equal_call(call, ws_joined_rows_call(rows, (uint32_t)rows->ncalls - 1))) {
		*number = (uint32_t)rows->ncalls - 1;
		(*reading->m)->soundness.broken[WS_LAW_ONCE].calls++;
		return;
	}
	*number = (uint32_t)rows->ncalls;
	rows->calls_by_id &= call->correlation > reading->last_id;
	reading->last_id = call->correlation;
	if (call->dur_ns > rows->longest_call_ns)
		rows->longest_call_ns = call->dur_ns;
	ws_spill_put(&rows->calls, sizeof(*call), rows->ncalls++, call);
}

static void take_kernel(void *ctx, const struct ws_pass_kernel *kernel)
{
	struct reading *reading = ctx;

	if (ws_judge_counts(&reading->join.judge, kernel))
		ws_kernel_join_add(&reading->join, kernel);
	else
		(*reading->m)->devices[(*reading->m)->configs[kernel->config].device].kernels--;
}

/* A range that ends has its place by its begin: those inside it stand behind. */
static void take_range(void *ctx, uint32_t number, const struct ws_joined_range *range)
{
	struct reading *reading = ctx;
	struct ws_joined_rows *rows = reading->rows;

	reading->join.counted_ops += range->is_counted;
	if (number >= rows->nranges)
		rows->nranges = number + 1;
	if (range->is_step) {
		WS_GROW(rows->range_of, (size_t)range->step + 1, rows->nsteps_of);
		rows->range_of[range->step] = number;
	}
	ws_spill_put(&rows->ranges, sizeof(*range), number, range);
}

static enum ws_status open_rooms(struct reading *reading, struct ws_err *err)
{
	const struct ws_trace_reader *r = reading->r;
	const uint64_t kernels = ws_trace_reader_count(r, WS_KIND_KERNEL),
	               calls = ws_trace_reader_count(r, WS_KIND_API),
	               ranges = ws_trace_reader_count(r, WS_KIND_NVTX) +
	                        ws_trace_reader_count(r, WS_KIND_PYTHON_CALL);
	struct ws_joined_rows *rows = reading->rows;

	WS_FAIL_IF(kernels >= WS_NONE || calls >= WS_NONE || ranges >= WS_NONE, err, NO_MEMORY,
	           "the trace has more records of one kind than an export handles");
	ws_spill_open(&rows->kernels, kernels * sizeof(struct ws_joined_kernel));
	ws_spill_open(&rows->calls, calls * sizeof(struct ws_joined_call));
	ws_spill_open(&rows->ranges, ranges * sizeof(struct ws_joined_range));
	return WS_OK;
}

/* --- what only all rows tell ---------------------------------------------------------------- */

static void number_steps(struct ws_joined_rows *rows, struct ws_model *m)
{
	rows->step_of = ws_xmalloc((rows->nsteps_of + 1) * sizeof(*rows->step_of));
	memset(rows->step_of, 0xff, (rows->nsteps_of + 1) * sizeof(*rows->step_of));
	for (size_t i = 0; i < m->nsteps; i++) {
		if (m->steps[i].range == WS_NONE)
			continue;
		rows->step_of[m->steps[i].range] = (uint32_t)i;
		m->steps[i].range = rows->range_of[m->steps[i].range];
	}
}

static uint32_t device_of_kernel(const void *ctx, const void *row)
{
	const struct ws_joined_kernel *kernel = row;
	const struct ws_model *m = ctx;

	return m->configs[kernel->kind->config].device;
}

/* The innermost ranges around the events of memory, which are in order of time as ranges begin. */
static void place_memory(struct ws_joined_rows *rows, struct ws_model *m)
{
	struct ws_arena temp = {0};
	const struct ws_joined_range *r;
	uint32_t *innermost, begun = 0; /* of each thread, when the last event happened */

	WS_NEW(&temp, innermost, m->nthreads);
	for (size_t i = 0; i < m->nthreads; i++)
		innermost[i] = WS_NONE;
	for (size_t i = 0; i < m->nmemory; i++) {
		struct ws_memory_event *e = &m->memory[i];
		uint32_t *in;

		for (; begun < rows->nranges &&
		       (r = ws_joined_rows_range(rows, begun))->start_ns <= e->time_ns;
		     begun++)
			innermost[r->context->thread] = begun;
		if (e->thread == WS_NONE)
			continue;
		in = &innermost[e->thread];
		while ((r = ws_joined_rows_range(rows, *in)) && r->end_ns < e->time_ns)
			*in = r->parent;
		e->range = *in;
	}
	ws_arena_free(&temp);
}

static void join_kernels(void *ctx, struct ws_model *m)
{
	struct reading *reading = ctx;
	struct ws_joined_rows *rows = reading->rows;

	number_steps(rows, m);
	ws_batches_find_flops(rows, m);
	if (ws_framework_is_in(reading->r) || m->step_mark)
		ws_framework_find_phases(rows, m);
	for (size_t i = 0; i < m->nmemory; i++) {
		struct ws_memory_event *e = &m->memory[i];

		e->cpu_op = ws_cpu_op_around(&m->cpu_ops.tree, e->thread, e->time_ns, e->time_ns);
	}
	place_memory(rows, m);
	ws_kernel_join_begin(&reading->join, m);
}

static enum ws_status read_rows(struct reading *reading, const char *name,
                                const struct ws_model_opts *opts, struct ws_err *err)
{
	const struct ws_joined_sink sink = {reading, take_call, take_range, join_kernels,
	                                    take_kernel};
	struct ws_joined_rows *rows = reading->rows;
	struct ws_spill_key device = {.key = device_of_kernel};

	WS_FORWARD(open_rooms(reading, err));
	WS_FORWARD(ws_pass_run(reading->r, name, opts, &sink, reading->m, err));
	ws_kernel_join_end(&reading->join);
	device.n = (*reading->m)->ndevices;
	device.ctx = *reading->m;
	ws_spill_partition(&rows->kernels, sizeof(struct ws_joined_kernel), rows->nkernels,
	                   &device);
	return WS_OK;
}

enum ws_status ws_joined_rows_read(struct ws_joined_rows *rows, const struct ws_trace_reader *r,
                                   const char *name, const struct ws_model_opts *opts,
                                   struct ws_model **m, struct ws_err *err)
{
	struct reading reading = {.rows = rows, .r = r, .m = m, .join = {.rows = rows}};
	enum ws_status status;

	*m = NULL;
	rows->calls_by_id = true;
	status = read_rows(&reading, name, opts, err);
	ws_kernel_join_free(&reading.join);
	return status;
}
