/*
 * From the records of a trace to arrays: kernels, calls, ranges, and the joins between them.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/order.h"
#include "tests/report/loaded/private.h"

struct loading {
	struct loaded *to;
	struct ws_loader l; /* ids of the trace to numbers of the model */
	struct ws_arena temp;
	/* of each kernel: what joining to calls needs and nobody needs later */
	uint32_t *process;
	int64_t *start_ns;
	bool has_dur;
};

/* --- kernels ---------------------------------------------------------------------------------- */

/* Into the arrays as they stand in the file; start_ns also where the time is not known. */
static enum ws_status take_kernels(struct ws_loader *l, const struct ws_block_rows *b, uint64_t row,
                                   void *to, struct ws_err *err)
{
	struct loading *c = to;
	struct loaded_kernels *k = &c->to->kernels;

	(void)l, (void)err;
	for (uint32_t i = 0; i < b->info.rows; i++, row++) {
		int64_t dur = (int64_t)b->v[WS_COL_kernel_dur_ns][i];
		uint32_t config = ws_idmap_get(&c->l.config_of, b->v[WS_COL_kernel_config][i]);

		k->start_ns[row] = (int64_t)b->v[WS_COL_kernel_start_ns][i];
		k->dur_ns[row] = dur;
		k->flags[row] =
		        b->v[WS_COL_kernel_flags][i] & (WS_KERNEL_NO_TIME | WS_KERNEL_CUT_OFF);
		if (dur < 0 || !c->has_dur)
			k->flags[row] |= WS_KERNEL_NO_TIME;
		k->config[row] = config == WS_NONE ? 0 : config;
		c->to->m->left.no_config += config == WS_NONE;
		k->correlation[row] = b->v[WS_COL_kernel_correlation][i];
	}
	return WS_OK;
}

static enum ws_status allocate_kernels(struct loading *c, size_t rows, struct ws_err *err)
{
	struct loaded_kernels *k = &c->to->kernels;
	struct ws_arena *arena = &c->to->arena;

	k->n = rows;
	WS_NEW(arena, k->start_ns, rows);
	WS_NEW(arena, k->dur_ns, rows);
	WS_NEW(arena, k->config, rows);
	WS_NEW(arena, k->range, rows);
	WS_NEW(arena, k->call, rows);
	WS_NEW(arena, k->op, rows);
	WS_NEW(arena, k->correlation, rows);
	WS_NEW(arena, k->flags, rows);
	WS_NEW(&c->temp, c->process, rows);
	WS_NEW(&c->temp, c->start_ns, rows);
	WS_FORWARD(ws_arena_check(&c->temp, "the kernels of the trace", err));
	return ws_arena_check(arena, "the kernels of the trace", err);
}

/* Rows of the file by device, then start. */
static enum ws_status kernel_order(struct loading *c, uint32_t *order, struct ws_err *err)
{
	const struct loaded_kernels *k = &c->to->kernels;
	uint32_t *device;

	WS_NEW(&c->temp, device, k->n);
	WS_FORWARD(ws_arena_check(&c->temp, "the order of kernels", err));
	ws_order_identity(order, k->n);
	WS_FORWARD(ws_order_by(order, k->start_ns, k->n, err));
	for (size_t i = 0; i < k->n; i++)
		device[i] = loaded_kernel_device(c->to, i);
	return ws_order_by_u32(order, device, k->n, k->n, err);
}

/* Array of n values of `size` bytes into the order given, by way of as much room. */
static void reorder(void *array, size_t size, const uint32_t *order, size_t n, uint8_t *room)
{
	for (size_t i = 0; i < n; i++)
		memcpy(room + i * size, (const uint8_t *)array + order[i] * size, size);
	if (n)
		memcpy(array, room, n * size);
}

static enum ws_status sort_kernels(struct loading *c, struct ws_err *err)
{
	struct loaded_kernels *k = &c->to->kernels;
	uint32_t *order;
	uint64_t *values;
	uint8_t *room;

	WS_NEW(&c->temp, order, k->n);
	WS_NEW(&c->temp, values, k->n);
	room = (uint8_t *)values;
	WS_FORWARD(ws_arena_check(&c->temp, "the order of kernels", err));
	WS_FORWARD(kernel_order(c, order, err));
	reorder(k->start_ns, sizeof(*k->start_ns), order, k->n, room);
	reorder(k->dur_ns, sizeof(*k->dur_ns), order, k->n, room);
	reorder(k->config, sizeof(*k->config), order, k->n, room);
	reorder(k->flags, sizeof(*k->flags), order, k->n, room);
	reorder(k->correlation, sizeof(*k->correlation), order, k->n, room);
	return WS_OK;
}

/* What is known of kernel i once it has its place. */
static enum ws_status resolve_kernel(struct loading *c, size_t i, struct ws_err *err)
{
	struct ws_model *m = c->to->m;
	struct loaded_kernels *k = &c->to->kernels;

	k->range[i] = k->call[i] = k->op[i] = WS_NONE;
	c->process[i] = m->configs[k->config[i]].process;
	c->start_ns[i] = INT64_MAX;
	m->devices[loaded_kernel_device(c->to, i)].kernels++;
	if (k->flags[i] & WS_KERNEL_NO_TIME) {
		m->left.no_time++;
		k->start_ns[i] = k->dur_ns[i] = 0;
		return WS_OK;
	}
	WS_FORWARD(ws_check_time(k->start_ns[i], k->dur_ns[i], "kernel", i, err));
	m->left.cut_off += (k->flags[i] & WS_KERNEL_CUT_OFF) != 0;
	c->start_ns[i] = k->start_ns[i];
	ws_extend_time(m, k->start_ns[i], k->start_ns[i] + k->dur_ns[i]);
	return WS_OK;
}

static enum ws_status load_kernels(struct loading *c, struct ws_err *err)
{
	const ws_column_set columns = WS_COLUMN(kernel, start_ns) | WS_COLUMN(kernel, dur_ns) |
	                              WS_COLUMN(kernel, config) | WS_COLUMN(kernel, flags) |
	                              WS_COLUMN(kernel, correlation);
	struct loaded_kernels *k = &c->to->kernels;
	uint64_t rows = ws_trace_reader_count(c->l.r, WS_KIND_KERNEL);
	int64_t total = 0;

	WS_FAIL_IF(rows >= WS_NONE, err, NO_MEMORY, "more rows than 32 bits can number");
	c->has_dur = ws_trace_reader_has_column(c->l.r, WS_KIND_KERNEL, WS_COL_kernel_dur_ns) != 0;
	WS_FORWARD(allocate_kernels(c, rows, err));
	WS_FORWARD(ws_load_blocks(&c->l, WS_KIND_KERNEL, columns, take_kernels, c, err));
	WS_FORWARD(sort_kernels(c, err));
	for (size_t i = 0; i < k->n; i++) {
		WS_FORWARD(resolve_kernel(c, i, err));
		WS_FAIL_IF(__builtin_add_overflow(total, k->dur_ns[i], &total), err, CORRUPT,
		           "the kernels' times add up to over 2^63 ns");
	}
	return WS_OK;
}

/* --- API calls ------------------------------------------------------------------------------ */

static enum ws_status allocate_calls(struct loading *c, size_t rows, struct ws_err *err)
{
	struct loaded_api *a = &c->to->api;
	struct ws_arena *arena = &c->to->arena;

	a->n = rows;
	WS_NEW(arena, a->start_ns, rows);
	WS_NEW(arena, a->end_ns, rows);
	WS_NEW(arena, a->thread, rows);
	WS_NEW(arena, a->process, rows);
	WS_NEW(arena, a->name, rows);
	WS_NEW(arena, a->op, rows);
	WS_NEW(arena, a->correlation, rows);
	WS_NEW(arena, a->failed, rows);
	return ws_arena_check(arena, "the API calls of the trace", err);
}

static enum ws_status take_calls(struct ws_loader *l, const struct ws_block_rows *b, uint64_t row,
                                 void *to, struct ws_err *err)
{
	struct loaded_api *a = to;
	struct ws_model *m = l->m;

	for (uint32_t i = 0; i < b->info.rows; i++, row++) {
		int64_t start = (int64_t)b->v[WS_COL_api_start_ns][i];
		int64_t dur = (int64_t)b->v[WS_COL_api_dur_ns][i];

		dur = dur < 0 ? 0 : dur;
		WS_FORWARD(ws_check_time(start, dur, "API call", row, err));
		ws_extend_time(m, start, start + dur);
		a->start_ns[row] = start;
		a->end_ns[row] = start + dur;
		a->name[row] = ws_model_text(m, b->v[WS_COL_api_name][i]);
		a->op[row] = WS_NONE;
		a->failed[row] = b->v[WS_COL_api_result][i] != 0;
		a->correlation[row] = b->v[WS_COL_api_correlation][i];
		WS_FORWARD(
		        ws_thread_number(l, b->v[WS_COL_api_thread][i], 0, &a->thread[row], err));
		a->process[row] = l->thread_process[a->thread[row]];
	}
	return WS_OK;
}

static enum ws_status load_calls(struct loading *c, struct ws_err *err)
{
	const ws_column_set columns = WS_COLUMN(api, start_ns) | WS_COLUMN(api, dur_ns) |
	                              WS_COLUMN(api, name) | WS_COLUMN(api, result) |
	                              WS_COLUMN(api, correlation) | WS_COLUMN(api, thread);
	uint64_t rows = ws_trace_reader_count(c->l.r, WS_KIND_API);

	WS_FAIL_IF(rows >= WS_NONE, err, NO_MEMORY, "more rows than 32 bits can number");
	WS_FORWARD(allocate_calls(c, rows, err));
	return ws_load_blocks(&c->l, WS_KIND_API, columns, take_calls, &c->to->api, err);
}

/* --- NVTX ------------------------------------------------------------------------------------ */

static enum ws_status take_facts(struct ws_model *m, const struct loaded_events *ev,
                                 struct ws_err *err)
{
	struct ws_strtab keys = {0};
	enum ws_status status = WS_OK;

	/* each fact is a text of its own */
	WS_NEW(&m->arena, m->facts, m->ntexts);
	WS_FORWARD(ws_arena_check(&m->arena, "the marks of the trace", err));
	for (size_t i = 0; i < ev->n && status == WS_OK; i++)
		if (ev->type[i] == WS_NVTX_MARK && ev->domain[i] == WS_TEXT_DOMAIN)
			status = ws_take_fact(m, &keys, m->texts[ev->name[i]], err);
	ws_strtab_free(&keys);
	return status;
}

/* What stays of the name of each range, in m->steady_of. */
static enum ws_status steady_names(struct ws_model *m, const struct loaded_events *ev,
                                   struct ws_err *err)
{
	uint32_t steady;

	for (size_t i = 0; i < ev->n; i++)
		WS_FORWARD(ws_steady_text(m, ev->name[i], &steady, err));
	return WS_OK;
}

static enum ws_status allocate_events(struct loading *l, struct ws_event_columns *c, size_t n,
                                      struct ws_err *err)
{
	WS_NEW(&l->temp, c->time_ns, n);
	WS_NEW(&l->temp, c->thread, n);
	WS_NEW(&l->temp, c->domain, n);
	WS_NEW(&l->temp, c->name, n);
	WS_NEW(&l->temp, c->payload, n);
	WS_NEW(&l->temp, c->type, n);
	WS_NEW(&l->temp, c->range_id, n);
	return ws_arena_check(&l->temp, "the NVTX events of the trace", err);
}

static enum ws_status take_events(struct ws_loader *l, const struct ws_block_rows *b, uint64_t row,
                                  void *to, struct ws_err *err)
{
	struct ws_event_columns *c = to;
	struct ws_model *m = l->m;

	for (uint32_t i = 0; i < b->info.rows; i++, row++) {
		uint64_t type = b->v[WS_COL_nvtx_type][i], payload = b->v[WS_COL_nvtx_payload][i];

		c->time_ns[row] = (int64_t)b->v[WS_COL_nvtx_time_ns][i];
		WS_FORWARD(ws_check_time(c->time_ns[row], 0, "NVTX event", row, err));
		ws_extend_time(m, c->time_ns[row], c->time_ns[row]);
		c->type[row] = type <= WS_NVTX_MARK ? (uint8_t)type : UINT8_MAX;
		c->domain[row] = ws_model_text(m, b->v[WS_COL_nvtx_domain][i]);
		c->name[row] = ws_model_text(m, b->v[WS_COL_nvtx_name][i]);
		c->payload[row] = payload ? ws_idmap_get(&l->payload_of, payload) : WS_NONE;
		c->range_id[row] = b->v[WS_COL_nvtx_range][i];
		WS_FORWARD(
		        ws_thread_number(l, b->v[WS_COL_nvtx_thread][i], 0, &c->thread[row], err));
	}
	return WS_OK;
}

static enum ws_status load_ranges(struct loading *l, struct ws_err *err)
{
	const ws_column_set columns = WS_COLUMN(nvtx, time_ns) | WS_COLUMN(nvtx, type) |
	                              WS_COLUMN(nvtx, domain) | WS_COLUMN(nvtx, name) |
	                              WS_COLUMN(nvtx, payload) | WS_COLUMN(nvtx, range) |
	                              WS_COLUMN(nvtx, thread);
	uint64_t rows = ws_trace_reader_count(l->l.r, WS_KIND_NVTX);
	struct ws_model *m = l->to->m;
	struct ws_event_columns c;
	struct ws_modules modules;
	struct loaded_events ev;
	size_t n = rows;

	WS_FAIL_IF(rows >= WS_NONE, err, NO_MEMORY, "more rows than 32 bits can number");
	WS_FORWARD(ws_modules_find(&l->temp, &l->l, &modules, err));
	WS_FORWARD(allocate_events(l, &c, rows + 2 * modules.n, err));
	WS_FORWARD(ws_load_blocks(&l->l, WS_KIND_NVTX, columns, take_events, &c, err));
	n += ws_modules_add_events(&modules, &c, n);
	ev = (struct loaded_events){.n = n,
	                            .time_ns = c.time_ns,
	                            .thread = c.thread,
	                            .type = c.type,
	                            .domain = c.domain,
	                            .name = c.name,
	                            .range_id = c.range_id,
	                            .payload = c.payload,
	                            .process_of = l->l.thread_process,
	                            .nthreads = m->nthreads,
	                            .end_ns = m->end_ns};
	WS_FORWARD(take_facts(m, &ev, err));
	WS_FORWARD(steady_names(m, &ev, err));
	ev.steady = m->steady_of;
	return loaded_ranges_build(&l->to->ranges, &ev, err);
}

/* --- the joins ------------------------------------------------------------------------------- */

static enum ws_status join_kernels(struct loading *c, const struct loaded_calls *calls,
                                   struct ws_err *err)
{
	struct loaded *l = c->to;
	struct loaded_kernels *k = &l->kernels;
	const struct loaded_launches launches = {k->n, c->start_ns, c->process, k->correlation};

	WS_FORWARD(loaded_join_launches(&launches, calls, k->call, err));
	if (l->attribution.first) {
		WS_NEW(&l->arena, k->crossing, k->n);
		WS_FORWARD(ws_arena_check(&l->arena, "the ranges of kernels", err));
	}
	for (size_t i = 0; i < k->n; i++) {
		uint32_t call = k->call[i];

		if (k->crossing)
			k->crossing[i] = call == WS_NONE ? WS_NONE : l->attribution.first[call];
		if (call == WS_NONE)
			k->flags[i] |= LOADED_NO_LAUNCH;
		else
			k->range[i] = l->api.range[call];
	}
	return WS_OK;
}

static enum ws_status join(struct loading *c, struct ws_err *err)
{
	struct loaded *l = c->to;
	struct loaded_api *a = &l->api;
	struct loaded_calls calls = {a->n,      a->start_ns, a->end_ns,
	                             a->thread, a->process,  a->correlation};

	WS_FORWARD(loaded_attribute(&calls, &l->ranges, &l->attribution, err));
	a->range = l->attribution.innermost;
	WS_FORWARD(join_kernels(c, &calls, err));
	WS_FORWARD(loaded_join_work(l, &calls, err));
	return loaded_join_cpu_ops(l, &c->l, err);
}

static enum ws_status load(struct loading *c, struct ws_err *err)
{
	WS_FORWARD(ws_load_dictionaries(&c->l, err));
	WS_FORWARD(load_kernels(c, err));
	WS_FORWARD(load_calls(c, err));
	WS_FORWARD(ws_load_work(&c->l, err));
	WS_FORWARD(ws_load_cpu_ops(&c->l, err));
	WS_FORWARD(ws_load_memory(&c->l, err));
	/* after everything else: ranges that never ended end at the last moment of them all */
	WS_FORWARD(load_ranges(c, err));
	return join(c, err);
}

enum ws_status loaded_read(struct loaded *l, const struct ws_trace_reader *r,
                           const struct ws_model_opts *opts, struct ws_err *err)
{
	struct loading c = {.to = l, .l = {.m = l->m, .r = r, .opts = opts}};
	enum ws_status status = load(&c, err);

	if (l->m->begin_ns > l->m->end_ns)
		l->m->begin_ns = l->m->end_ns = 0;
	ws_loader_release(&c.l);
	ws_arena_free(&c.temp);
	return status;
}
