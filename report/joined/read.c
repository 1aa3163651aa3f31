/* From a pass to its joined rows: they are kept as they are told, and completed when all are there.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "report/joined/framework.h"
#include "report/model/steps.h"
#include "report/pass/framework.h"
#include "report/pass/pass.h"

/* --- the sink ------------------------------------------------------------------------------ */

static enum ws_status take_call(void *ctx, const struct ws_joined_call *call, uint32_t *number,
                                struct ws_err *err)
{
	struct ws_joined_rows *rows = ctx;

	*number = (uint32_t)rows->ncalls;
	if (call->dur_ns > rows->longest_call_ns)
		rows->longest_call_ns = call->dur_ns;
	return ws_spill_put(&rows->calls, sizeof(*call), rows->ncalls++, call, err);
}

static enum ws_status take_kernel(void *ctx, const struct ws_joined_kernel *kernel,
                                  struct ws_err *err)
{
	struct ws_joined_rows *rows = ctx;

	return ws_spill_put(&rows->kernels, sizeof(*kernel), rows->nkernels++, kernel, err);
}

static void restart(void *ctx)
{
	struct ws_joined_rows *rows = ctx;

	rows->nkernels = rows->ncalls = rows->nranges = 0;
}

/* A range that ends has its place by its begin: those inside it stand behind. */
static enum ws_status take_range(void *ctx, const struct ws_joined_range *range, struct ws_err *err)
{
	struct ws_joined_rows *rows = ctx;

	if (range->number >= rows->nranges)
		rows->nranges = range->number + 1;
	if (range->is_step) {
		WS_FORWARD(WS_GROW(rows->range_of, (size_t)range->step + 1, rows->nsteps_of, err));
		rows->range_of[range->step] = range->number;
	}
	return ws_spill_put(&rows->ranges, sizeof(*range), range->number, range, err);
}

static enum ws_status open_rooms(struct ws_joined_rows *rows, uint64_t kernels, uint64_t calls,
                                 uint64_t ranges, struct ws_err *err)
{
	WS_FAIL_IF(kernels >= WS_NONE || calls >= WS_NONE || ranges >= WS_NONE, err, NO_MEMORY,
	           "the trace has more records of one kind than an export handles");
	WS_FORWARD(ws_spill_open(&rows->kernels, kernels * sizeof(struct ws_joined_kernel), err));
	WS_FORWARD(ws_spill_open(&rows->calls, calls * sizeof(struct ws_joined_call), err));
	return ws_spill_open(&rows->ranges, ranges * sizeof(struct ws_joined_range), err);
}

/* --- what only all rows tell ---------------------------------------------------------------- */

static enum ws_status number_steps(struct ws_joined_rows *rows, struct ws_model *m,
                                   struct ws_err *err)
{
	rows->step_of = malloc((rows->nsteps_of + 1) * sizeof(*rows->step_of));
	WS_FAIL_IF(!rows->step_of, err, NO_MEMORY, "out of memory for %zu steps", m->nsteps);
	memset(rows->step_of, 0xff, (rows->nsteps_of + 1) * sizeof(*rows->step_of));
	for (size_t i = 0; i < m->nsteps; i++) {
		rows->step_of[m->steps[i].range] = (uint32_t)i;
		m->steps[i].range = rows->range_of[m->steps[i].range];
	}
	return WS_OK;
}

static uint32_t device_of_kernel(const void *ctx, const void *row)
{
	const struct ws_joined_kernel *kernel = row;
	const struct ws_model *m = ctx;

	return m->configs[kernel->config].device;
}

/* The innermost ranges around the events of memory, which are in order of time as ranges begin. */
static enum ws_status place_memory(struct ws_joined_rows *rows, struct ws_model *m,
                                   struct ws_err *err)
{
	struct ws_arena temp = {0};
	const struct ws_joined_range *r;
	uint32_t *innermost, begun = 0; /* of each thread, when the last event happened */
	enum ws_status status;

	WS_NEW(&temp, innermost, m->nthreads);
	status = ws_arena_check(&temp, "the allocations of the trace", err);
	for (size_t i = 0; i < m->nthreads && status == WS_OK; i++)
		innermost[i] = WS_NONE;
	for (size_t i = 0; i < m->nmemory && status == WS_OK; i++) {
		struct ws_memory_event *e = &m->memory[i];
		uint32_t *in;

		for (; begun < rows->nranges &&
		       (r = ws_joined_rows_range(rows, begun))->start_ns <= e->time_ns;
		     begun++)
			innermost[r->thread] = begun;
		if (e->thread == WS_NONE)
			continue;
		in = &innermost[e->thread];
		while ((r = ws_joined_rows_range(rows, *in)) && r->end_ns < e->time_ns)
			*in = r->parent;
		e->range = *in;
	}
	ws_arena_free(&temp);
	return status;
}

/* Kernels by device; what names a step by its range, by its number; and what only all rows tell. */
static enum ws_status complete(struct ws_joined_rows *rows, const struct ws_trace_reader *r,
                               unsigned parts, struct ws_model *m, struct ws_err *err)
{
	const struct ws_spill_key device = {m->ndevices, device_of_kernel, m};

	WS_FORWARD(ws_spill_partition(&rows->kernels, sizeof(struct ws_joined_kernel),
	                              rows->nkernels, &device, err));
	WS_FORWARD(number_steps(rows, m, err));
	if (ws_framework_is_in(r))
		WS_FORWARD(ws_framework_complete(rows, m, parts & WS_DIGEST_LEFT, err));
	for (size_t i = 0; i < m->nwork; i++) {
		struct ws_work *w = &m->work[i];

		w->step = ws_joined_rows_step(rows, w->step);
		/* when it was joined, nobody knew that its step would not end */
		if (w->scope == WS_SCOPE_STEPS)
			w->scope = (uint8_t)ws_scope_of(m, w->step, 0);
	}
	return place_memory(rows, m, err);
}

enum ws_status ws_joined_rows_pass(struct ws_joined_rows *rows, const struct ws_trace_reader *r,
                                   const char *name, const struct ws_model_opts *opts,
                                   enum ws_scope scope, unsigned parts, struct ws_model **m,
                                   struct ws_digest *d, struct ws_err *err)
{
	const struct ws_joined_sink sink = {rows, restart, take_call, take_kernel, take_range};
	struct ws_spill *const spills[] = {&rows->kernels, &rows->calls, &rows->ranges};
	struct ws_spill_writer writer;
	enum ws_status status;

	*m = NULL;
	if (parts & WS_DIGEST_ROWS)
		WS_FORWARD(open_rooms(rows, ws_trace_reader_count(r, WS_KIND_KERNEL),
		                      ws_trace_reader_count(r, WS_KIND_API),
		                      ws_trace_reader_count(r, WS_KIND_NVTX) +
		                              ws_trace_reader_count(r, WS_KIND_PYTHON_CALL),
		                      err));
	ws_spill_writer_start(&writer, spills, sizeof(spills) / sizeof(*spills));
	status = ws_pass_run(r, name, opts, scope, parts, &sink, m, d, err);
	ws_spill_writer_stop(&writer);
	WS_FORWARD(status);
	if (!*m)
		ws_joined_rows_free(rows);
	return *m && parts & WS_DIGEST_ROWS ? complete(rows, r, parts, *m, err) : WS_OK;
}

enum ws_status ws_joined_rows_read(struct ws_joined_rows *rows, const struct ws_trace_reader *r,
                                   const char *name, const struct ws_model_opts *opts,
                                   struct ws_model **m, struct ws_err *err)
{
	struct ws_digest none = {0}; /* where there is no room for rows no pass begins */
	enum ws_status status = ws_joined_rows_pass(rows, r, name, opts, WS_SCOPE_ALL,
	                                            WS_DIGEST_ROWS, m, &none, err);

	ws_digest_release(&none);
	return status;
}
