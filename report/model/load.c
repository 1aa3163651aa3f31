/*
 * From the records of a trace to the arrays of struct ws_model: kernels,
 * calls, ranges, and the joins between them.
 */
#include "report/model/load.h"

#include <stdlib.h>
#include <string.h>

/* --- kernels ---------------------------------------------------------------------------------- */

/* What joining to calls needs and nobody needs later. */
struct kernel_keys {
	uint32_t *process;
	int64_t *start_ns;
	bool has_dur;
};

/* Into the arrays as they stand in the file; start_ns also where the time is not known. */
static enum ws_status take_kernels(struct ws_loader *l, const struct ws_block_rows *b, uint64_t row,
                                   void *to, struct ws_err *err)
{
	struct ws_kernels *k = &l->m->kernels;
	const struct kernel_keys *keys = to;

	(void)err;
	for (uint32_t i = 0; i < b->info.rows; i++, row++) {
		int64_t dur = (int64_t)b->v[WS_COL_kernel_dur_ns][i];
		uint32_t config = ws_idmap_get(&l->config_of, b->v[WS_COL_kernel_config][i]);

		k->start_ns[row] = (int64_t)b->v[WS_COL_kernel_start_ns][i];
		k->dur_ns[row] = dur;
		k->flags[row] =
		        b->v[WS_COL_kernel_flags][i] & (WS_KERNEL_NO_TIME | WS_KERNEL_CUT_OFF);
		if (dur < 0 || !keys->has_dur)
			k->flags[row] |= WS_KERNEL_NO_TIME;
		k->config[row] = config == WS_NONE ? 0 : config;
		l->m->left.no_config += config == WS_NONE;
		l->kernel_correlation[row] = b->v[WS_COL_kernel_correlation][i];
	}
	return WS_OK;
}

static enum ws_status allocate_kernels(struct ws_loader *l, struct kernel_keys *keys, size_t rows,
                                       struct ws_err *err)
{
	struct ws_kernels *k = &l->m->kernels;
	struct ws_arena *arena = &l->m->arena;

	k->n = rows;
	WS_NEW(arena, k->start_ns, rows);
	WS_NEW(arena, k->dur_ns, rows);
	WS_NEW(arena, k->config, rows);
	WS_NEW(arena, k->range, rows);
	WS_NEW(arena, k->call, rows);
	WS_NEW(arena, k->op, rows);
	WS_NEW(arena, k->flags, rows);
	WS_NEW(&l->temp, l->kernel_correlation, rows);
	WS_NEW(&l->temp, keys->process, rows);
	WS_NEW(&l->temp, keys->start_ns, rows);
	WS_FORWARD(ws_arena_check(&l->temp, "the kernels of the trace", err));
	return ws_arena_check(arena, "the kernels of the trace", err);
}

/* Rows of the file by device, then start. */
static enum ws_status kernel_order(struct ws_arena *temp, const struct ws_model *m, uint32_t *order,
                                   struct ws_err *err)
{
	const struct ws_kernels *k = &m->kernels;
	uint32_t *device;

	WS_NEW(temp, device, k->n);
	WS_FORWARD(ws_arena_check(temp, "the order of kernels", err));
	ws_order_identity(order, k->n);
	WS_FORWARD(ws_order_by(order, k->start_ns, k->n, err));
	for (size_t i = 0; i < k->n; i++)
		device[i] = m->configs[k->config[i]].device;
	return ws_order_by_u32(order, device, k->n, k->n, err);
}

/* Array of n values of `size` bytes into the order given, by way of as much room. */
static void reorder(void *array, size_t size, const uint32_t *order, size_t n, uint8_t *room)
{
	for (size_t i = 0; i < n; i++)
		memcpy(room + i * size, (const uint8_t *)array + order[i] * size, size);
	memcpy(array, room, n * size);
}

static enum ws_status sort_by(struct ws_arena *temp, struct ws_loader *l, struct ws_err *err)
{
	struct ws_kernels *k = &l->m->kernels;
	uint32_t *order;
	uint64_t *room;
	size_t i = 0;

	WS_NEW(temp, order, k->n);
	WS_FORWARD(ws_arena_check(temp, "the order of kernels", err));
	WS_FORWARD(kernel_order(temp, l->m, order, err));
	while (i < k->n && order[i] == i)
		i++;
	if (i == k->n)
		return WS_OK;
	WS_NEW(temp, room, k->n);
	WS_FORWARD(ws_arena_check(temp, "the order of kernels", err));
	reorder(k->start_ns, sizeof(*k->start_ns), order, k->n, (uint8_t *)room);
	reorder(k->dur_ns, sizeof(*k->dur_ns), order, k->n, (uint8_t *)room);
	reorder(k->config, sizeof(*k->config), order, k->n, (uint8_t *)room);
	reorder(k->flags, sizeof(*k->flags), order, k->n, (uint8_t *)room);
	reorder(l->kernel_correlation, sizeof(*l->kernel_correlation), order, k->n,
	        (uint8_t *)room);
	return WS_OK;
}

static enum ws_status sort_kernels(struct ws_loader *l, struct ws_err *err)
{
	struct ws_arena temp = {0};
	enum ws_status status = sort_by(&temp, l, err);

	ws_arena_free(&temp);
	return status;
}

/* What is known of kernel i once it has its place. */
static enum ws_status resolve_kernel(struct ws_loader *l, size_t i, struct kernel_keys *keys,
                                     struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_kernels *k = &m->kernels;

	k->range[i] = k->call[i] = k->op[i] = WS_NONE;
	keys->process[i] = m->configs[k->config[i]].process;
	keys->start_ns[i] = INT64_MAX;
	m->devices[m->configs[k->config[i]].device].kernels++;
	if (k->flags[i] & WS_KERNEL_NO_TIME) {
		m->left.no_time++;
		k->start_ns[i] = k->dur_ns[i] = 0;
		return WS_OK;
	}
	WS_FORWARD(ws_check_time(k->start_ns[i], k->dur_ns[i], "kernel", i, err));
	m->left.cut_off += (k->flags[i] & WS_KERNEL_CUT_OFF) != 0;
	keys->start_ns[i] = k->start_ns[i];
	ws_extend_time(m, k->start_ns[i], k->start_ns[i] + k->dur_ns[i]);
	return WS_OK;
}

static enum ws_status load_kernels(struct ws_loader *l, struct kernel_keys *keys,
                                   struct ws_err *err)
{
	const ws_column_set columns = WS_COLUMN(kernel, start_ns) | WS_COLUMN(kernel, dur_ns) |
	                              WS_COLUMN(kernel, config) | WS_COLUMN(kernel, flags) |
	                              WS_COLUMN(kernel, correlation);
	struct ws_kernels *k = &l->m->kernels;
	uint64_t rows = ws_trace_reader_count(l->r, WS_KIND_KERNEL);
	int64_t total = 0;

	WS_FORWARD(ws_check_count(rows, err));
	keys->has_dur = ws_trace_reader_has_column(l->r, WS_KIND_KERNEL, WS_COL_kernel_dur_ns) != 0;
	WS_FORWARD(allocate_kernels(l, keys, rows, err));
	WS_FORWARD(ws_load_blocks(l, WS_KIND_KERNEL, columns, take_kernels, keys, err));
	WS_FORWARD(sort_kernels(l, err));
	for (size_t i = 0; i < k->n; i++) {
		WS_FORWARD(resolve_kernel(l, i, keys, err));
		WS_FAIL_IF(__builtin_add_overflow(total, k->dur_ns[i], &total), err, CORRUPT,
		           "the kernels' times add up to over 2^63 ns");
	}
	return WS_OK;
}

/* --- API calls ------------------------------------------------------------------------------ */

static enum ws_status allocate_calls(struct ws_loader *l, size_t rows, struct ws_err *err)
{
	struct ws_api *a = &l->m->api;
	struct ws_arena *arena = &l->m->arena;

	a->n = rows;
	WS_NEW(arena, a->start_ns, rows);
	WS_NEW(arena, a->end_ns, rows);
	WS_NEW(arena, a->thread, rows);
	WS_NEW(arena, a->process, rows);
	WS_NEW(arena, a->name, rows);
	WS_NEW(arena, a->op, rows);
	WS_NEW(arena, a->failed, rows);
	WS_NEW(&l->temp, l->api_correlation, rows);
	WS_FORWARD(ws_arena_check(&l->temp, "the API calls of the trace", err));
	return ws_arena_check(arena, "the API calls of the trace", err);
}

static enum ws_status take_calls(struct ws_loader *l, const struct ws_block_rows *b, uint64_t row,
                                 void *to, struct ws_err *err)
{
	struct ws_api *a = to;

	for (uint32_t i = 0; i < b->info.rows; i++, row++) {
		int64_t start = (int64_t)b->v[WS_COL_api_start_ns][i];
		int64_t dur = (int64_t)b->v[WS_COL_api_dur_ns][i];

		dur = dur < 0 ? 0 : dur;
		WS_FORWARD(ws_check_time(start, dur, "API call", row, err));
		ws_extend_time(l->m, start, start + dur);
		a->start_ns[row] = start;
		a->end_ns[row] = start + dur;
		a->name[row] = ws_model_text(l->m, b->v[WS_COL_api_name][i]);
		a->op[row] = WS_NONE;
		a->failed[row] = b->v[WS_COL_api_result][i] != 0;
		l->api_correlation[row] = b->v[WS_COL_api_correlation][i];
		WS_FORWARD(
		        ws_thread_number(l, b->v[WS_COL_api_thread][i], 0, &a->thread[row], err));
		a->process[row] = l->thread_process[a->thread[row]];
	}
	return WS_OK;
}

static enum ws_status load_calls(struct ws_loader *l, struct ws_err *err)
{
	const ws_column_set columns = WS_COLUMN(api, start_ns) | WS_COLUMN(api, dur_ns) |
	                              WS_COLUMN(api, name) | WS_COLUMN(api, result) |
	                              WS_COLUMN(api, correlation) | WS_COLUMN(api, thread);
	uint64_t rows = ws_trace_reader_count(l->r, WS_KIND_API);

	WS_FORWARD(ws_check_count(rows, err));
	WS_FORWARD(allocate_calls(l, rows, err));
	return ws_load_blocks(l, WS_KIND_API, columns, take_calls, &l->m->api, err);
}

/* --- NVTX ------------------------------------------------------------------------------------ */

enum ws_status ws_take_fact(struct ws_model *m, struct ws_strtab *keys, struct ws_bytes mark,
                            struct ws_err *err)
{
	static const char prefix[] = "workload.";
	const char *p = mark.ptr, *end = p + mark.len;
	const char *equals;
	uint64_t id;

	if (mark.len < sizeof(prefix) || memcmp(p, prefix, sizeof(prefix) - 1) != 0)
		return WS_OK;
	p += sizeof(prefix) - 1;
	equals = memchr(p, '=', (size_t)(end - p));
	if (!equals || equals == p)
		return WS_OK;
	id = ws_strtab_find(keys, p, (size_t)(equals - p));
	if (!id) {
		WS_FORWARD(ws_strtab_add(keys, p, (size_t)(equals - p), &id, err));
		m->nfacts = (size_t)id;
	}
	m->facts[id - 1] = (struct ws_fact){{p, (size_t)(equals - p)},
	                                    {equals + 1, (size_t)(end - equals - 1)}};
	return WS_OK;
}

static enum ws_status take_facts(struct ws_model *m, const struct ws_nvtx_events *ev,
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
static enum ws_status steady_names(struct ws_model *m, const struct ws_nvtx_events *ev,
                                   struct ws_err *err)
{
	uint32_t steady;

	for (size_t i = 0; i < ev->n; i++)
		WS_FORWARD(ws_steady_text(m, ev->name[i], &steady, err));
	return WS_OK;
}

static enum ws_status allocate_events(struct ws_arena *temp, struct ws_event_columns *c, size_t n,
                                      struct ws_err *err)
{
	WS_NEW(temp, c->time_ns, n);
	WS_NEW(temp, c->thread, n);
	WS_NEW(temp, c->domain, n);
	WS_NEW(temp, c->name, n);
	WS_NEW(temp, c->payload, n);
	WS_NEW(temp, c->type, n);
	WS_NEW(temp, c->range_id, n);
	return ws_arena_check(temp, "the NVTX events of the trace", err);
}

static enum ws_status take_events(struct ws_loader *l, const struct ws_block_rows *b, uint64_t row,
                                  void *to, struct ws_err *err)
{
	struct ws_event_columns *c = to;

	for (uint32_t i = 0; i < b->info.rows; i++, row++) {
		uint64_t type = b->v[WS_COL_nvtx_type][i], payload = b->v[WS_COL_nvtx_payload][i];

		c->time_ns[row] = (int64_t)b->v[WS_COL_nvtx_time_ns][i];
		WS_FORWARD(ws_check_time(c->time_ns[row], 0, "NVTX event", row, err));
		ws_extend_time(l->m, c->time_ns[row], c->time_ns[row]);
		c->type[row] = type <= WS_NVTX_MARK ? (uint8_t)type : UINT8_MAX;
		c->domain[row] = ws_model_text(l->m, b->v[WS_COL_nvtx_domain][i]);
		c->name[row] = ws_model_text(l->m, b->v[WS_COL_nvtx_name][i]);
		c->payload[row] = payload ? ws_idmap_get(&l->payload_of, payload) : WS_NONE;
		c->range_id[row] = b->v[WS_COL_nvtx_range][i];
		WS_FORWARD(
		        ws_thread_number(l, b->v[WS_COL_nvtx_thread][i], 0, &c->thread[row], err));
	}
	return WS_OK;
}

static enum ws_status build_ranges(struct ws_arena *temp, struct ws_loader *l, struct ws_err *err)
{
	const ws_column_set columns = WS_COLUMN(nvtx, time_ns) | WS_COLUMN(nvtx, type) |
	                              WS_COLUMN(nvtx, domain) | WS_COLUMN(nvtx, name) |
	                              WS_COLUMN(nvtx, payload) | WS_COLUMN(nvtx, range) |
	                              WS_COLUMN(nvtx, thread);
	uint64_t rows = ws_trace_reader_count(l->r, WS_KIND_NVTX);
	struct ws_event_columns c;
	struct ws_modules modules;
	struct ws_nvtx_events ev;
	size_t n = rows;

	WS_FORWARD(ws_check_count(rows, err));
	WS_FORWARD(ws_modules_find(temp, l, &modules, err));
	WS_FORWARD(allocate_events(temp, &c, rows + 2 * modules.n, err));
	WS_FORWARD(ws_load_blocks(l, WS_KIND_NVTX, columns, take_events, &c, err));
	l->m->nvtx_events = rows;
	n += ws_modules_add_events(&modules, &c, n);
	ev = (struct ws_nvtx_events){.n = n,
	                             .time_ns = c.time_ns,
	                             .thread = c.thread,
	                             .type = c.type,
	                             .domain = c.domain,
	                             .name = c.name,
	                             .steady = l->m->steady_of,
	                             .range_id = c.range_id,
	                             .payload = c.payload,
	                             .process_of = l->thread_process,
	                             .nthreads = l->m->nthreads,
	                             .end_ns = l->m->end_ns};
	WS_FORWARD(take_facts(l->m, &ev, err));
	WS_FORWARD(steady_names(l->m, &ev, err));
	return ws_ranges_build(&l->m->ranges, &ev, err);
}

static enum ws_status load_ranges(struct ws_loader *l, struct ws_err *err)
{
	struct ws_arena temp = {0};
	enum ws_status status = build_ranges(&temp, l, err);

	ws_arena_free(&temp);
	return status;
}

/* --- the joins ------------------------------------------------------------------------------- */

static enum ws_status join_kernels(struct ws_loader *l, const struct kernel_keys *keys,
                                   const struct ws_calls *calls, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_kernels *k = &m->kernels;
	struct ws_launches launches = {k->n, keys->start_ns, keys->process, l->kernel_correlation};

	WS_FORWARD(ws_join_launches(&launches, calls, k->call, err));
	if (m->attribution.first) {
		WS_NEW(&m->arena, k->crossing, k->n);
		WS_FORWARD(ws_arena_check(&m->arena, "the ranges of kernels", err));
	}
	for (size_t i = 0; i < k->n; i++) {
		uint32_t call = k->call[i];

		if (k->crossing)
			k->crossing[i] = call == WS_NONE ? WS_NONE : m->attribution.first[call];
		if (call == WS_NONE)
			k->flags[i] |= WS_KERNEL_NO_LAUNCH;
		else
			k->range[i] = m->api.range[call];
	}
	return WS_OK;
}

static enum ws_status join_collectives(struct ws_loader *l, struct ws_err *err)
{
	struct ws_idmap by_correlation = {0};
	struct ws_model *m = l->m;
	struct ws_kernels *k = &m->kernels;
	enum ws_status status = ws_load_collectives(l, &by_correlation, err);

	if (status == WS_OK && m->ncollectives) {
		WS_NEW(&m->arena, k->collective, k->n);
		status = ws_arena_check(&m->arena, "the collectives of the trace", err);
	}
	for (size_t i = 0; i < k->n && status == WS_OK && m->ncollectives; i++) {
		k->collective[i] = l->kernel_correlation[i]
		                           ? ws_idmap_get(&by_correlation, l->kernel_correlation[i])
		                           : WS_NONE;
		if (k->collective[i] == WS_NONE && k->op[i] != WS_NONE)
			k->collective[i] = m->cpu_ops.collective[k->op[i]];
	}
	ws_idmap_free(&by_correlation);
	return status;
}

static enum ws_status join(struct ws_loader *l, const struct kernel_keys *keys, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_api *a = &m->api;
	struct ws_calls calls = {a->n,      a->start_ns, a->end_ns,
	                         a->thread, a->process,  l->api_correlation};

	WS_FORWARD(ws_attribute(&calls, &m->ranges, &m->attribution, err));
	a->range = m->attribution.innermost;
	WS_FORWARD(join_kernels(l, keys, &calls, err));
	WS_FORWARD(ws_join_work(l, &calls, err));
	WS_FORWARD(ws_join_cpu_ops(l, err));
	return join_collectives(l, err);
}

void ws_loader_release(struct ws_loader *l)
{
	ws_arena_free(&l->temp);
	free(l->thread_process);
	ws_idmap_free(&l->thread_of);
	ws_idmap_free(&l->process_of);
	ws_idmap_free(&l->device_of);
	ws_idmap_free(&l->config_of);
	ws_idmap_free(&l->payload_of);
	ws_idmap_free(&l->kernel_of);
	ws_idmap_free(&l->op_config_of);
	ws_classifier_free(l->classifier);
}

static enum ws_status load(struct ws_loader *l, struct ws_err *err)
{
	struct kernel_keys keys;

	WS_FORWARD(ws_load_dictionaries(l, err));
	WS_FORWARD(load_kernels(l, &keys, err));
	WS_FORWARD(load_calls(l, err));
	WS_FORWARD(ws_load_work(l, err));
	WS_FORWARD(ws_load_cpu_ops(l, err));
	WS_FORWARD(ws_load_memory(l, err));
	/* after everything else: ranges that never ended end at the last moment of them all */
	WS_FORWARD(load_ranges(l, err));
	return join(l, &keys, err);
}

enum ws_status ws_model_load(struct ws_model *m, const struct ws_trace_reader *r,
                             const struct ws_model_opts *opts, struct ws_err *err)
{
	struct ws_loader l = {.m = m, .r = r, .opts = opts};
	enum ws_status status = load(&l, err);

	if (m->begin_ns > m->end_ns)
		m->begin_ns = m->end_ns = 0;
	ws_loader_release(&l);
	return status;
}
