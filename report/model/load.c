/*
 * From the records of a trace to the arrays of struct ws_model: kernels,
 * calls, ranges, and the joins between them.
 */
#include "report/model/load.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/columns.h"

static enum ws_status no_memory(struct ws_err *err, const char *what)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for the %s of the trace", what);
}

/* --- times ------------------------------------------------------------------------------------ */

void ws_see_time(struct ws_model *m, int64_t from_ns, int64_t to_ns)
{
	if (from_ns < m->begin_ns)
		m->begin_ns = from_ns;
	if (to_ns > m->end_ns)
		m->end_ns = to_ns;
}

enum ws_status ws_check_time(int64_t start_ns, int64_t dur_ns, const char *what, uint64_t row,
                             struct ws_err *err)
{
	WS_FAIL_IF(start_ns > WS_MAX_TIME_NS || start_ns < -WS_MAX_TIME_NS || dur_ns > WS_MAX_TIME_NS, err,
	           CORRUPT, "time of %s %llu is out of bounds: %lld ns, for %lld ns", what,
	           (unsigned long long)row, (long long)start_ns, (long long)dur_ns);
	return WS_OK;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* What joining to calls needs and nobody needs later. */
struct kernel_keys {
	uint32_t *process;
	int64_t *start_ns;
};

static void keys_release(struct kernel_keys *k)
{
	free(k->process);
	free(k->start_ns);
}

static enum ws_status take_kernel(struct ws_loader *l, const struct ws_table_data *t, uint64_t row,
                                  uint32_t to, struct kernel_keys *keys, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_kernels *k = &m->kernels;
	int64_t start = (int64_t)ws_value(t, WS_COL_kernel_start_ns, row);
	int64_t dur = (int64_t)ws_value(t, WS_COL_kernel_dur_ns, row);
	uint32_t config = ws_idmap_get(&l->config_of, ws_value(t, WS_COL_kernel_config, row));

	k->flags[to] =
	        ws_value(t, WS_COL_kernel_flags, row) & (WS_KERNEL_NO_TIME | WS_KERNEL_CUT_OFF);
	if (dur < 0 || !t->columns[WS_COL_kernel_dur_ns].present)
		k->flags[to] |= WS_KERNEL_NO_TIME;
	k->config[to] = config == WS_NONE ? 0 : config;
	k->range[to] = k->call[to] = k->op[to] = WS_NONE;
	l->kernel_correlation[to] = ws_value(t, WS_COL_kernel_correlation, row);
	keys->process[to] = m->configs[k->config[to]].process;
	keys->start_ns[to] = INT64_MAX;
	m->left.no_config += config == WS_NONE;
	m->devices[m->configs[k->config[to]].device].kernels++;
	if (k->flags[to] & WS_KERNEL_NO_TIME) {
		m->left.no_time++;
		return WS_OK;
	}
	WS_FORWARD(ws_check_time(start, dur, "kernel", row, err));
	m->left.cut_off += (k->flags[to] & WS_KERNEL_CUT_OFF) != 0;
	k->start_ns[to] = keys->start_ns[to] = start;
	k->dur_ns[to] = dur;
	ws_see_time(m, start, start + dur);
	return WS_OK;
}

static enum ws_status allocate_kernels(struct ws_loader *l, struct kernel_keys *keys, size_t rows,
                                       struct ws_err *err)
{
	struct ws_kernels *k = &l->m->kernels;
	size_t n = rows ? rows : 1;

	k->n = rows;
	k->start_ns = calloc(n, sizeof(*k->start_ns));
	k->dur_ns = calloc(n, sizeof(*k->dur_ns));
	k->config = calloc(n, sizeof(*k->config));
	k->range = calloc(n, sizeof(*k->range));
	k->call = calloc(n, sizeof(*k->call));
	k->op = calloc(n, sizeof(*k->op));
	k->flags = calloc(n, sizeof(*k->flags));
	l->kernel_correlation = calloc(n, sizeof(*l->kernel_correlation));
	keys->process = calloc(n, sizeof(*keys->process));
	keys->start_ns = calloc(n, sizeof(*keys->start_ns));
	if (!k->start_ns || !k->dur_ns || !k->config || !k->range || !k->call || !k->op ||
	    !k->flags || !l->kernel_correlation || !keys->process || !keys->start_ns)
		return no_memory(err, "kernels");
	return WS_OK;
}

/* Rows of the file by device, then start. */
static enum ws_status kernel_order(const struct ws_loader *l, const struct ws_table_data *t,
                                   uint32_t *order, struct ws_err *err)
{
	int64_t *key = calloc(t->rows ? t->rows : 1, sizeof(*key));
	enum ws_status status;

	if (!key)
		return no_memory(err, "kernels");
	ws_order_identity(order, t->rows);
	for (uint64_t i = 0; i < t->rows; i++)
		key[i] = (int64_t)ws_value(t, WS_COL_kernel_start_ns, i);
	status = ws_order_by(order, key, t->rows, err);
	for (uint64_t i = 0; i < t->rows; i++) {
		uint32_t c = ws_idmap_get(&l->config_of, ws_value(t, WS_COL_kernel_config, i));

		key[i] = l->m->configs[c == WS_NONE ? 0 : c].device;
	}
	if (status == WS_OK)
		status = ws_order_by(order, key, t->rows, err);
	free(key);
	return status;
}

static enum ws_status load_kernels(struct ws_loader *l, struct kernel_keys *keys,
                                   struct ws_err *err)
{
	struct ws_table_data t;
	uint32_t *order = NULL;
	int64_t total = 0;
	enum ws_status status;

	WS_FORWARD(ws_load_kind(l, WS_KIND_KERNEL, &t, err));
	status = allocate_kernels(l, keys, t.rows, err);
	order = calloc(t.rows ? t.rows : 1, sizeof(*order));
	if (status == WS_OK && !order)
		status = no_memory(err, "kernels");
	if (status == WS_OK)
		status = kernel_order(l, &t, order, err);
	for (uint32_t i = 0; i < t.rows && status == WS_OK; i++) {
		status = take_kernel(l, &t, order[i], i, keys, err);
		if (__builtin_add_overflow(total, l->m->kernels.dur_ns[i], &total))
			status = WS_FAIL(err, CORRUPT, "the kernels' times add up to over 2^63 ns");
	}
	free(order);
	ws_table_data_release(&t);
	return status;
}

/* --- API calls ---------------------------------------------------------------------------------
 */

static enum ws_status allocate_calls(struct ws_loader *l, size_t rows, struct ws_err *err)
{
	struct ws_api *a = &l->m->api;
	size_t n = rows ? rows : 1;

	a->n = rows;
	a->start_ns = calloc(n, sizeof(*a->start_ns));
	a->end_ns = calloc(n, sizeof(*a->end_ns));
	a->thread = calloc(n, sizeof(*a->thread));
	a->process = calloc(n, sizeof(*a->process));
	a->name = calloc(n, sizeof(*a->name));
	a->op = calloc(n, sizeof(*a->op));
	a->failed = calloc(n, sizeof(*a->failed));
	l->api_correlation = calloc(n, sizeof(*l->api_correlation));
	if (!a->start_ns || !a->end_ns || !a->thread || !a->process || !a->name || !a->op ||
	    !a->failed || !l->api_correlation)
		return no_memory(err, "API calls");
	return WS_OK;
}

static enum ws_status load_calls(struct ws_loader *l, struct ws_err *err)
{
	struct ws_api *a = &l->m->api;
	struct ws_table_data t;
	enum ws_status status;

	WS_FORWARD(ws_load_kind(l, WS_KIND_API, &t, err));
	status = allocate_calls(l, t.rows, err);
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++) {
		int64_t start = (int64_t)ws_value(&t, WS_COL_api_start_ns, i);
		int64_t dur = (int64_t)ws_value(&t, WS_COL_api_dur_ns, i);

		dur = dur < 0 ? 0 : dur;
		status = ws_check_time(start, dur, "API call", i, err);
		if (status != WS_OK)
			break;
		ws_see_time(l->m, start, start + dur);
		a->start_ns[i] = start;
		a->end_ns[i] = start + dur;
		a->name[i] = ws_model_text(l->m, ws_value(&t, WS_COL_api_name, i));
		a->op[i] = WS_NONE;
		a->failed[i] = ws_value(&t, WS_COL_api_result, i) != 0;
		l->api_correlation[i] = ws_value(&t, WS_COL_api_correlation, i);
		status = ws_thread_number(l, ws_value(&t, WS_COL_api_thread, i), 0, &a->thread[i],
		                          err);
		if (status == WS_OK)
			a->process[i] = l->thread_process[a->thread[i]];
	}
	ws_table_data_release(&t);
	return status;
}

/* --- NVTX ---------------------------------------------------------------------------------------
 */

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
	m->facts = calloc(m->ntexts, sizeof(*m->facts));
	if (!m->facts)
		return no_memory(err, "marks");
	for (size_t i = 0; i < ev->n && status == WS_OK; i++)
		if (ev->type[i] == WS_NVTX_MARK && ev->domain[i] == WS_TEXT_DOMAIN)
			status = ws_take_fact(m, &keys, m->texts[ev->name[i]], err);
	ws_strtab_free(&keys);
	return status;
}

static void events_release(struct ws_event_columns *c)
{
	free(c->time_ns);
	free(c->thread);
	free(c->domain);
	free(c->name);
	free(c->payload);
	free(c->type);
	free(c->range_id);
}

static enum ws_status take_event(struct ws_loader *l, const struct ws_table_data *t, uint64_t i,
                                 struct ws_event_columns *c, struct ws_err *err)
{
	uint64_t type = ws_value(t, WS_COL_nvtx_type, i);
	uint64_t payload = ws_value(t, WS_COL_nvtx_payload, i);

	c->time_ns[i] = (int64_t)ws_value(t, WS_COL_nvtx_time_ns, i);
	WS_FORWARD(ws_check_time(c->time_ns[i], 0, "NVTX event", i, err));
	ws_see_time(l->m, c->time_ns[i], c->time_ns[i]);
	c->type[i] = type <= WS_NVTX_MARK ? (uint8_t)type : UINT8_MAX;
	c->domain[i] = ws_model_text(l->m, ws_value(t, WS_COL_nvtx_domain, i));
	c->name[i] = ws_model_text(l->m, ws_value(t, WS_COL_nvtx_name, i));
	c->payload[i] = payload ? ws_idmap_get(&l->payload_of, payload) : WS_NONE;
	c->range_id[i] = ws_value(t, WS_COL_nvtx_range, i);
	return ws_thread_number(l, ws_value(t, WS_COL_nvtx_thread, i), 0, &c->thread[i], err);
}

static enum ws_status load_ranges(struct ws_loader *l, struct ws_err *err)
{
	struct ws_table_data t;
	struct ws_event_columns c = {0};
	struct ws_modules modules;
	struct ws_nvtx_events ev;
	enum ws_status status;
	size_t n;

	WS_FORWARD(ws_modules_find(l, &modules, err));
	status = ws_load_kind(l, WS_KIND_NVTX, &t, err);
	if (status != WS_OK) {
		ws_modules_release(&modules);
		return status;
	}
	n = t.rows + 2 * modules.n + 1;
	c.time_ns = calloc(n, sizeof(*c.time_ns));
	c.thread = calloc(n, sizeof(*c.thread));
	c.domain = calloc(n, sizeof(*c.domain));
	c.name = calloc(n, sizeof(*c.name));
	c.payload = calloc(n, sizeof(*c.payload));
	c.type = calloc(n, sizeof(*c.type));
	c.range_id = calloc(n, sizeof(*c.range_id));
	if (!c.time_ns || !c.thread || !c.domain || !c.name || !c.payload || !c.type || !c.range_id)
		status = no_memory(err, "NVTX events");
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++)
		status = take_event(l, &t, i, &c, err);
	l->m->nvtx_events = n = t.rows;
	ws_table_data_release(&t);
	if (status == WS_OK)
		n += ws_modules_add_events(&modules, &c, n);
	ws_modules_release(&modules);

	ev = (struct ws_nvtx_events){
	        n,          c.time_ns, c.thread,          c.type,         c.domain,    c.name,
	        c.range_id, c.payload, l->thread_process, l->m->nthreads, l->m->end_ns};
	if (status == WS_OK)
		status = take_facts(l->m, &ev, err);
	if (status == WS_OK)
		status = ws_ranges_build(&l->m->ranges, &ev, err);
	events_release(&c);
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
		k->crossing = calloc(k->n ? k->n : 1, sizeof(*k->crossing));
		if (!k->crossing)
			return no_memory(err, "kernels");
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

static enum ws_status join(struct ws_loader *l, const struct kernel_keys *keys, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_api *a = &m->api;
	struct ws_calls calls = {a->n,      a->start_ns, a->end_ns,
	                         a->thread, a->process,  l->api_correlation};

	WS_FORWARD(ws_attribute(&calls, &m->ranges, &m->attribution, err));
	a->range = m->attribution.innermost;
	m->attribution.innermost = NULL;
	WS_FORWARD(join_kernels(l, keys, &calls, err));
	WS_FORWARD(ws_join_works(l, &calls, err));
	return ws_join_cpu_ops(l, err);
}

void ws_loader_release(struct ws_loader *l)
{
	free(l->kernel_correlation);
	free(l->api_correlation);
	free(l->memory_thread);
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

enum ws_status ws_model_load(struct ws_model *m, const struct ws_trace_reader *r,
                             const struct ws_model_opts *opts, struct ws_err *err)
{
	struct ws_loader l = {.m = m, .r = r, .opts = opts};
	struct kernel_keys keys = {0};
	enum ws_status status;

	status = ws_load_dictionaries(&l, err);
	if (status == WS_OK)
		status = load_kernels(&l, &keys, err);
	if (status == WS_OK)
		status = load_calls(&l, err);
	if (status == WS_OK)
		status = ws_load_works(&l, err);
	if (status == WS_OK)
		status = ws_load_cpu_ops(&l, err);
	if (status == WS_OK)
		status = ws_load_memory(&l, err);
	/* after everything else: ranges that never ended end at the last moment of them all */
	if (status == WS_OK)
		status = load_ranges(&l, err);
	if (status == WS_OK)
		status = join(&l, &keys, err);
	if (m->begin_ns > m->end_ns)
		m->begin_ns = m->end_ns = 0;

	keys_release(&keys);
	ws_loader_release(&l);
	return status;
}
