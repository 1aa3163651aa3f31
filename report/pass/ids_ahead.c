#include "report/pass/ids_ahead.h"

#include "report/pass/launch_order.h"

/* Ids in the making. */
struct making {
	struct ws_ids_ahead *ids;
	struct ws_launch_order calls;
	int64_t *start_ns;
	uint32_t *process;
	bool has_dur; /* kernels of the trace tell how long they took */
};

static enum ws_status take_calls(struct ws_loader *l, const struct ws_block_rows *b, uint64_t row,
                                 void *to, struct ws_err *err)
{
	struct making *make = to;
	uint32_t thread;

	for (uint32_t i = 0; i < b->info.rows; i++, row++) {
		WS_FORWARD(ws_thread_number(l, b->v[WS_COL_api_thread][i], 0, &thread, err));
		make->process[row] = l->thread_process[thread];
		make->start_ns[row] = (int64_t)b->v[WS_COL_api_start_ns][i];
		make->ids->correlation[row] = b->v[WS_COL_api_correlation][i];
	}
	return WS_OK;
}

/* No call's id is 0, and that of none is. */
static uint32_t find_id(struct making *make, uint32_t process, uint64_t correlation,
                        int64_t start_ns, bool timed)
{
	const struct ws_launch_key key = {process, correlation, timed ? start_ns : INT64_MAX};

	return ws_launch_order_find(&make->calls, key) + 1;
}

static enum ws_status take_kernels(struct ws_loader *l, const struct ws_block_rows *b, uint64_t row,
                                   void *to, struct ws_err *err)
{
	struct making *make = to;

	(void)err;
	for (uint32_t i = 0; i < b->info.rows; i++, row++) {
		uint32_t config = ws_idmap_get(&l->config_of, b->v[WS_COL_kernel_config][i]);
		bool timed = make->has_dur && (int64_t)b->v[WS_COL_kernel_dur_ns][i] >= 0 &&
		             !(b->v[WS_COL_kernel_flags][i] & WS_KERNEL_NO_TIME);

		make->ids->of_kernel[row] =
		        find_id(make, l->m->configs[config == WS_NONE ? 0 : config].process,
		                b->v[WS_COL_kernel_correlation][i],
		                (int64_t)b->v[WS_COL_kernel_start_ns][i], timed);
	}
	return WS_OK;
}

static enum ws_status allocate(struct making *make, struct ws_arena *temp, size_t ncalls,
                               const struct ws_loader *l, struct ws_err *err)
{
	struct ws_ids_ahead *ids = make->ids;
	const size_t blocks = ws_trace_reader_block_count(l->r);
	uint64_t rows[WS_KIND_END] = {0};

	WS_NEW(&ids->arena, ids->first_row, blocks);
	WS_NEW(&ids->arena, ids->correlation, ncalls);
	WS_NEW(&ids->arena, ids->of_kernel, ids->nkernels);
	WS_NEW(&ids->arena, ids->of_work, l->m->nwork);
	WS_NEW(temp, make->start_ns, ncalls);
	WS_NEW(temp, make->process, ncalls);
	WS_FORWARD(ws_arena_check(&ids->arena, "the ids of launches", err));
	WS_FORWARD(ws_arena_check(temp, "the ids of launches", err));
	for (size_t i = 0; i < blocks; i++) {
		const struct ws_block_info *b = ws_trace_reader_block(l->r, i);

		if (b->kind >= WS_KIND_END)
			continue;
		ids->first_row[i] = rows[b->kind];
		rows[b->kind] += b->rows;
	}
	return WS_OK;
}

static enum ws_status make_ids(struct making *make, struct ws_arena *temp, struct ws_loader *l,
                               struct ws_err *err)
{
	const ws_column_set of_calls =
	        WS_COLUMN(api, start_ns) | WS_COLUMN(api, thread) | WS_COLUMN(api, correlation);
	const ws_column_set of_kernels = WS_COLUMN(kernel, start_ns) | WS_COLUMN(kernel, dur_ns) |
	                                 WS_COLUMN(kernel, config) | WS_COLUMN(kernel, flags) |
	                                 WS_COLUMN(kernel, correlation);
	struct ws_ids_ahead *ids = make->ids;

	ids->ncalls = ws_trace_reader_count(l->r, WS_KIND_API);
	ids->nkernels = ws_trace_reader_count(l->r, WS_KIND_KERNEL);
	WS_FORWARD(ws_check_count(ids->ncalls, err));
	WS_FORWARD(ws_check_count(ids->nkernels, err));
	WS_FORWARD(allocate(make, temp, ids->ncalls, l, err));
	WS_FORWARD(ws_load_blocks(l, WS_KIND_API, of_calls, take_calls, make, err));
	make->calls = (struct ws_launch_order){.n = ids->ncalls,
	                                       .start_ns = make->start_ns,
	                                       .process = make->process,
	                                       .correlation = ids->correlation};
	WS_FORWARD(ws_launch_order_make(&make->calls, temp, err));
	WS_FORWARD(ws_load_blocks(l, WS_KIND_KERNEL, of_kernels, take_kernels, make, err));
	for (size_t i = 0; i < l->m->nwork; i++) {
		const struct ws_work *w = &l->m->work[i];

		ids->of_work[i] =
		        find_id(make, w->process, w->correlation, w->start_ns, !w->no_time);
	}
	return WS_OK;
}

enum ws_status ws_ids_ahead_make(struct ws_ids_ahead *ids, struct ws_loader *l, struct ws_err *err)
{
	struct making make = {.ids = ids,
	                      .has_dur = ws_trace_reader_has_column(l->r, WS_KIND_KERNEL,
	                                                            WS_COL_kernel_dur_ns)};
	struct ws_arena temp = {0};
	enum ws_status status = make_ids(&make, &temp, l, err);

	ws_arena_free(&temp);
	return status;
}

void ws_ids_ahead_free(struct ws_ids_ahead *ids)
{
	ws_arena_free(&ids->arena);
	*ids = (struct ws_ids_ahead){0};
}
