#include "report/pass/joined_rows.h"

#include <stdlib.h>
#include <string.h>

#include "formats/trace/block_reader.h"
#include "report/model/steps.h"

/* --- from a loaded model ------------------------------------------------------------------- */

/* Of API calls, in the order of the file, which is the model's. */
static enum ws_status load_correlations(const struct ws_trace_reader *r, uint64_t *correlations,
                                        struct ws_err *err)
{
	struct ws_block_rows rows = {0};
	struct ws_block_reader *reader;
	enum ws_status status = WS_OK;
	size_t n = 0;

	WS_FORWARD(ws_block_reader_new(&reader, r, err));
	for (size_t i = 0; i < ws_trace_reader_block_count(r) && status == WS_OK; i++) {
		if (ws_trace_reader_block(r, i)->kind != WS_KIND_API)
			continue;
		status = ws_block_reader_read(reader, i, WS_COLUMN(api, correlation), &rows, err);
		if (status != WS_OK)
			break;
		memcpy(correlations + n, rows.v[WS_COL_api_correlation],
		       rows.info.rows * sizeof(*correlations));
		n += rows.info.rows;
	}
	ws_block_rows_release(&rows);
	ws_block_reader_free(reader);
	return status;
}

static uint32_t range_of_step(const struct ws_model *m, uint32_t step)
{
	return step == WS_NONE ? WS_NONE : m->steps[step].range;
}

/* Its call is that of the model. */
static struct ws_joined_kernel times_of_model(const struct ws_model *m, size_t i)
{
	const struct ws_kernels *k = &m->kernels;

	return (struct ws_joined_kernel){
	        .start_ns = k->start_ns[i],
	        .dur_ns = k->dur_ns[i],
	        .config = k->config[i],
	        .call = k->call[i],
	        .timed = !(k->flags[i] & WS_KERNEL_NO_TIME),
	        .cut_off = (k->flags[i] & WS_KERNEL_CUT_OFF) != 0,
	};
}

static uint8_t marks_of_model(const struct ws_model *m, uint32_t range)
{
	return ws_range_marks(m, range) & (uint8_t) ~(WS_OP_COUNTED | WS_OP_LAUNCHED);
}

static struct ws_joined_kernel kernel_of_model(const struct ws_model *m, size_t i)
{
	const uint32_t range = m->kernels.range[i];
	struct ws_joined_kernel row = times_of_model(m, i);

	row.range = range;
	row.op_range = range == WS_NONE ? WS_NONE : m->range_op[range];
	row.path = range == WS_NONE ? WS_NONE : m->ranges.path[range];
	row.range_class = ws_kernel_range_class(m, i);
	row.class = row.range_class ? row.range_class : m->configs[row.config].name_class;
	row.direction = ws_kernel_direction(m, i);
	row.dtype = ws_kernel_dtype(m, i);
	row.cpu_op = m->kernels.op[i];
	row.collective = m->kernels.collective ? m->kernels.collective[i] : WS_NONE;
	row.crossing = m->kernels.crossing ? m->kernels.crossing[i] : WS_NONE;
	row.step = range_of_step(m, ws_kernel_step(m, i));
	row.phase = (uint8_t)ws_kernel_phase(m, i);
	row.marks = marks_of_model(m, range);
	return row;
}

static struct ws_joined_call call_of_model(const struct ws_joined_rows *rows,
                                           const struct ws_model *m, uint32_t call)
{
	return (struct ws_joined_call){
	        .start_ns = m->api.start_ns[call],
	        .dur_ns = m->api.end_ns[call] - m->api.start_ns[call],
	        .correlation = rows->correlations ? rows->correlations[call] : 0,
	        .name = m->api.name[call],
	        .thread = m->api.thread[call],
	        .range = m->api.range[call],
	        .step = range_of_step(m, ws_call_step(m, call)),
	        .cpu_op = m->api.op[call],
	        .marks = marks_of_model(m, m->api.range[call]),
	        .failed = m->api.failed[call],
	};
}

static struct ws_joined_range range_of_model(const struct ws_model *m, uint32_t i)
{
	const struct ws_ranges *r = &m->ranges;
	const uint32_t step = range_of_step(m, m->range_step[i]), op = m->range_op[i];

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
	        .class = m->range_class[i],
	        .step = step,
	        .holder = range_of_step(m, ws_range_step(m, i)),
	        .phase = m->range_phase[i],
	        .marks = m->range_marks[i] & (uint8_t)~WS_OP_LAUNCHED,
	        .is_step = step == i,
	        .is_start_end = (r->flags[i] & WS_RANGE_START_END) != 0,
	        .is_open = (r->flags[i] & WS_RANGE_OPEN) != 0,
	};
}

void ws_joined_rows_of_model(struct ws_joined_rows *rows, const struct ws_model *m)
{
	*rows = (struct ws_joined_rows){.loaded = m,
	                                .nkernels = m->kernels.n,
	                                .ncalls = m->api.n,
	                                .nranges = m->ranges.n};
}

/* --- reading ------------------------------------------------------------------------------- */

static uint32_t thread_of_range(const void *ctx, const void *row)
{
	const struct ws_joined_range *range = row;

	(void)ctx;
	return range->thread;
}

enum ws_status ws_joined_rows_ranges_by_thread(struct ws_joined_rows *rows,
                                               const struct ws_model *m, struct ws_err *err)
{
	const struct ws_spill_key thread = {m->nthreads, thread_of_range, NULL};

	if (rows->loaded)
		return WS_OK;
	return ws_spill_partition(&rows->ranges, sizeof(struct ws_joined_range), rows->nranges,
	                          &thread, err);
}

enum ws_status ws_joined_rows_correlate(struct ws_joined_rows *rows,
                                        const struct ws_trace_reader *r, struct ws_err *err)
{
	if (!rows->loaded)
		return WS_OK;
	rows->correlations = calloc(rows->ncalls + 1, sizeof(*rows->correlations));
	WS_FAIL_IF(!rows->correlations, err, NO_MEMORY, "out of memory for %zu calls",
	           rows->ncalls);
	return load_correlations(r, rows->correlations, err);
}

void ws_joined_rows_free(struct ws_joined_rows *rows)
{
	ws_spill_close(&rows->kernels);
	ws_spill_close(&rows->calls);
	ws_spill_close(&rows->ranges);
	free(rows->range_of);
	free(rows->step_of);
	free(rows->correlations);
	*rows = (struct ws_joined_rows){0};
}

const struct ws_joined_kernel *ws_joined_rows_kernel(struct ws_joined_rows *rows, size_t i)
{
	if (!rows->loaded)
		return ws_spill_row(&rows->kernels, sizeof(struct ws_joined_kernel), i);
	rows->kernel = kernel_of_model(rows->loaded, i);
	return &rows->kernel;
}

const struct ws_joined_kernel *ws_joined_rows_times(struct ws_joined_rows *rows, size_t i)
{
	if (!rows->loaded)
		return ws_joined_rows_kernel(rows, i);
	rows->kernel = times_of_model(rows->loaded, i);
	return &rows->kernel;
}

const struct ws_joined_range *ws_joined_rows_range(struct ws_joined_rows *rows, uint32_t i)
{
	if (i == WS_NONE)
		return NULL;
	if (!rows->loaded)
		return ws_spill_row(&rows->ranges, sizeof(struct ws_joined_range), i);
	rows->range = range_of_model(rows->loaded, i);
	return &rows->range;
}

const struct ws_joined_call *ws_joined_rows_call(struct ws_joined_rows *rows, uint32_t number)
{
	if (number == WS_NONE)
		return NULL;
	if (!rows->loaded)
		return ws_spill_row(&rows->calls, sizeof(struct ws_joined_call), number);
	rows->call = call_of_model(rows, rows->loaded, number);
	return &rows->call;
}

uint32_t ws_joined_rows_step(const struct ws_joined_rows *rows, uint32_t step)
{
	if (rows->loaded)
		return step == WS_NONE ? WS_NONE : rows->loaded->range_step[step];
	return step < rows->nsteps_of ? rows->step_of[step] : WS_NONE;
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
