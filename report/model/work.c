/*
 * Device work that is no kernel (copies, fills, graphs traced as a whole),
 * allocations, and what recording itself cost.
 */
#include <stdlib.h>

#include "report/model/columns.h"
#include "formats/base/grow.h"
#include "report/model/load.h"

/* Where the three kinds keep what a work is; -1: not at all. */
struct work_columns {
	enum ws_kind kind;
	enum ws_work_kind work;
	const char *kind_name;
	int start, dur, correlation, pid, device, stream, bytes, direction, flags;
};
static const struct work_columns work_columns_of[] = {
        {WS_KIND_MEMCPY, WS_WORK_MEMCPY, "memory copy", WS_COL_memcpy_start_ns,
         WS_COL_memcpy_dur_ns, WS_COL_memcpy_correlation, WS_COL_memcpy_pid, WS_COL_memcpy_device,
         WS_COL_memcpy_stream, WS_COL_memcpy_bytes, WS_COL_memcpy_kind, WS_COL_memcpy_flags},
        {WS_KIND_MEMSET, WS_WORK_MEMSET, "memory fill", WS_COL_memset_start_ns,
         WS_COL_memset_dur_ns, WS_COL_memset_correlation, WS_COL_memset_pid, WS_COL_memset_device,
         WS_COL_memset_stream, WS_COL_memset_bytes, -1, WS_COL_memset_flags},
        {WS_KIND_GRAPH_LAUNCH, WS_WORK_GRAPH, "graph launch", WS_COL_graph_launch_start_ns,
         WS_COL_graph_launch_dur_ns, WS_COL_graph_launch_correlation, WS_COL_graph_launch_pid,
         WS_COL_graph_launch_device, WS_COL_graph_launch_stream, -1, -1, -1},
};
#define NWORK_COLUMNS_OF (sizeof(work_columns_of) / sizeof(*work_columns_of))

static enum ws_status take_work(struct ws_loader *l, const struct work_columns *c,
                                const struct ws_column_data *t, uint64_t row, struct ws_work *w,
                                struct ws_err *err)
{
	int64_t dur = (int64_t)ws_value(t, c->dur, row);
	uint64_t flags = c->flags < 0 ? 0 : ws_value(t, c->flags, row);
	uint64_t direction = c->direction < 0 ? 0 : ws_value(t, c->direction, row);

	*w = (struct ws_work){
	        .correlation = ws_value(t, c->correlation, row),
	        .stream = ws_value(t, c->stream, row),
	        .bytes = c->bytes < 0 ? 0 : ws_value(t, c->bytes, row),
	        .call = WS_NONE,
	        .path = WS_NONE,
	        .range = WS_NONE,
	        .op = WS_NONE,
	        .kind = (uint8_t)c->work,
	        .direction = direction < UINT8_MAX ? (uint8_t)direction : 0,
	        .no_time = (flags & WS_COPY_NO_TIME) != 0 || dur < 0,
	};
	WS_FAIL_IF(w->bytes > INT64_MAX, err, CORRUPT, "%s %llu moves %llu bytes", c->kind_name,
	           (unsigned long long)row, (unsigned long long)w->bytes);
	w->process = ws_process_number(l, ws_value(t, c->pid, row));
	w->device = ws_device_number(l, ws_value(t, c->device, row));
	if (w->no_time)
		return WS_OK;
	w->start_ns = (int64_t)ws_value(t, c->start, row);
	w->dur_ns = dur;
	WS_FORWARD(ws_check_time(w->start_ns, w->dur_ns, c->kind_name, row, err));
	ws_extend_time(l->m, w->start_ns, w->start_ns + w->dur_ns);
	return WS_OK;
}

static int by_device_and_start(const void *pa, const void *pb)
{
	const struct ws_work *a = pa, *b = pb;

	WS_ORDER_BY(a->device, b->device);
	WS_ORDER_BY(a->start_ns, b->start_ns);
	WS_ORDER_BY(a->kind, b->kind);
	return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

static enum ws_status take_overhead(struct ws_model *m, const struct ws_row_overhead *r,
                                    struct ws_err *err)
{
	int64_t dur = r->dur_ns < 0 ? 0 : r->dur_ns;

	WS_FORWARD(ws_check_time(r->start_ns, dur, "overhead", m->overheads++, err));
	WS_FAIL_IF(__builtin_add_overflow(m->overhead_ns, dur, &m->overhead_ns), err, CORRUPT,
	           "the overheads add up to over 2^63 ns");
	return WS_OK;
}

struct overheads {
	struct ws_model *m;
	enum ws_status status;
	struct ws_err *err;
};

static void on_overhead(void *ctx, const void *row)
{
	struct overheads *o = ctx;

	WS_THEN(o->status, take_overhead(o->m, row, o->err));
}

enum ws_status ws_load_work(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct overheads overheads = {m, WS_OK, err};
	struct ws_column_data t[NWORK_COLUMNS_OF] = {{0}};
	enum ws_status status = WS_OK;
	size_t n = 0;
	int64_t ns, bytes;

	for (size_t i = 0; i < NWORK_COLUMNS_OF && status == WS_OK; i++) {
		status = ws_load_kind(l, work_columns_of[i].kind, &t[i], err);
		n += status == WS_OK ? t[i].rows : 0;
	}
	if (status == WS_OK && n >= WS_NONE)
		status = WS_FAIL(err, NO_MEMORY, "the trace has more copies than a report handles");
	if (status == WS_OK) {
		WS_NEW(&m->arena, m->work, n);
	}
	for (size_t i = 0; i < NWORK_COLUMNS_OF && status == WS_OK; i++)
		for (uint64_t row = 0; row < t[i].rows && status == WS_OK; row++)
			status = take_work(l, &work_columns_of[i], &t[i], row, &m->work[m->nwork++],
			                   err);
	for (size_t i = 0; i < NWORK_COLUMNS_OF; i++)
		ws_column_data_release(&t[i]);
	WS_FORWARD(status);
	ws_sort(m->work, m->nwork, sizeof(*m->work), by_device_and_start);
	ns = 0;
	bytes = 0;
	for (size_t j = 0; j < m->nwork; j++)
		if (__builtin_add_overflow(ns, m->work[j].dur_ns, &ns) ||
		    __builtin_add_overflow(bytes, (int64_t)m->work[j].bytes, &bytes))
			return WS_FAIL(err, CORRUPT,
			               "times or bytes of the copies add up to over 2^63");
	WS_FORWARD(ws_load_each(l, WS_KIND_OVERHEAD, on_overhead, &overheads, err));
	return overheads.status;
}

/* --- memory ------------------------------------------------------------------------------ */

static enum ws_status take_memory(struct ws_loader *l, const struct ws_column_data *t, uint64_t row,
                                  struct ws_memory_event *e, struct ws_err *err)
{
	uint64_t kind = ws_value(t, WS_COL_memory_memory_kind, row);
	int host = kind == WS_MEMORY_PAGEABLE || kind == WS_MEMORY_PINNED;

	*e = (struct ws_memory_event){
	        .time_ns = (int64_t)ws_value(t, WS_COL_memory_time_ns, row),
	        .bytes = ws_value(t, WS_COL_memory_bytes, row),
	        .address = ws_value(t, WS_COL_memory_address, row),
	        .allocated_bytes = ws_value(t, WS_COL_memory_total_allocated_bytes, row),
	        .reserved_bytes = ws_value(t, WS_COL_memory_total_reserved_bytes, row),
	        .device = WS_NONE,
	        .thread = WS_NONE,
	        .range = WS_NONE,
	        .cpu_op = WS_NONE,
	        .op = (uint8_t)(ws_value(t, WS_COL_memory_op, row) & 0xff),
	};
	WS_FORWARD(ws_check_time(e->time_ns, 0, "allocation", row, err));
	WS_FAIL_IF(e->bytes > INT64_MAX || e->allocated_bytes > INT64_MAX ||
	                   e->reserved_bytes > INT64_MAX,
	           err, CORRUPT, "allocation %llu has over 2^63 bytes", (unsigned long long)row);
	ws_extend_time(l->m, e->time_ns, e->time_ns);
	e->process = ws_process_number(l, ws_value(t, WS_COL_memory_pid, row));
	if (!host)
		e->device = ws_device_number(l, ws_value(t, WS_COL_memory_device, row));
	if (ws_value(t, WS_COL_memory_thread, row))
		e->thread = ws_thread_number(l, ws_value(t, WS_COL_memory_thread, row), 0);
	return WS_OK;
}

enum ws_status ws_load_memory(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_column_data t;
	uint32_t *order;
	int64_t *time, total = 0;
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_load_kind(l, WS_KIND_MEMORY, &t, err));
	WS_NEW(&l->temp, order, t.rows);
	WS_NEW(&l->temp, time, t.rows);
	WS_NEW(&m->arena, m->memory, t.rows);
	ws_order_identity(order, t.rows);
	for (uint64_t i = 0; i < t.rows; i++)
		time[i] = (int64_t)ws_value(&t, WS_COL_memory_time_ns, i);
	ws_order_by(order, time, t.rows);
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++, m->nmemory++) {
		status = take_memory(l, &t, order[i], &m->memory[i], err);
		if (__builtin_add_overflow(total, (int64_t)m->memory[i].bytes, &total))
			status = WS_FAIL(err, CORRUPT, "the allocations add up to over 2^63 bytes");
	}
	ws_column_data_release(&t);
	return status;
}
