/*
 * From the record kinds of a trace to the arrays of struct ws_model: names,
 * devices, kernels, calls, ranges, and the joins between them.
 */
#include <stdlib.h>
#include <string.h>

#include "report/classify.h"
#include "report/columns.h"
#include "report/demangle.h"
#include "report/model.h"

/* Times must leave room to add and subtract: ±73 years around the trace's base. */
#define MAX_TIME_NS ((int64_t)1 << 61)

struct loader {
	struct ws_model *m;
	const struct ws_trace_reader *r;
	struct ws_idmap thread_of; /* thread id -> number */
	uint32_t *thread_process;  /* process of each */
	size_t threads_allocated;
	uint32_t nthreads;
	struct ws_idmap process_of; /* pid -> number */
	uint32_t nprocesses;
	struct ws_idmap device_of; /* device id -> number */
	size_t devices_allocated;
	struct ws_idmap config_of;  /* launch_config id -> number */
	struct ws_idmap payload_of; /* payload id -> row */
	struct ws_idmap kernel_of;  /* text of a recorded kernel name -> first config with it */
	struct ws_classifier *classifier;
};

static enum ws_status no_memory(struct ws_err *err, const char *what)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for the %s of the trace", what);
}

static enum ws_status load(const struct loader *l, enum ws_kind kind, struct ws_table_data *t,
                           struct ws_err *err)
{
	WS_FORWARD(ws_trace_reader_load(l->r, kind, t, err));
	if (t->rows < WS_NONE)
		return WS_OK;
	ws_table_data_release(t);
	return WS_FAIL(err, NO_MEMORY,
	               "the trace has more records of one kind than a report handles");
}

/* --- texts ------------------------------------------------------------------------ */

/* A launch configuration adds at most: demangled name, class, direction, dtype. */
#define TEXTS_OF_CONFIG 4

/* texts[] has room for every text there can be. */
static enum ws_status intern(struct ws_model *m, struct ws_bytes text, uint32_t *out,
                             struct ws_err *err)
{
	uint64_t id;

	*out = WS_TEXT_EMPTY;
	if (!text.len)
		return WS_OK;
	id = ws_strtab_find(&m->interned, text.ptr, text.len);
	if (!id) {
		WS_FORWARD(ws_strtab_add(&m->interned, text.ptr, text.len, &id, err));
		m->texts[id] = text;
		m->ntexts = (size_t)id + 1;
	}
	*out = (uint32_t)id;
	return WS_OK;
}

static enum ws_status load_texts(struct loader *l, uint64_t nconfigs, struct ws_err *err)
{
	static const char *const known[] = {
#define X(id, text) text,
	        WS_KNOWN_TEXTS(X)
#undef X
	};
	struct ws_model *m = l->m;
	uint32_t at;

	WS_FORWARD(load(l, WS_KIND_STRING, &m->strings, err));
	m->texts = calloc(sizeof(known) / sizeof(*known) + m->strings.rows +
	                          TEXTS_OF_CONFIG * nconfigs + 1,
	                  sizeof(*m->texts));
	m->made = calloc(nconfigs ? nconfigs : 1, sizeof(*m->made));
	if (!m->texts || !m->made)
		return no_memory(err, "names");
	m->texts[WS_TEXT_EMPTY] = (struct ws_bytes){"", 0};
	m->ntexts = 1;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		WS_FORWARD(intern(m, (struct ws_bytes){known[i], strlen(known[i])}, &at, err));
	for (uint64_t i = 0; i < m->strings.rows; i++) {
		WS_FORWARD(intern(m, ws_blob(&m->strings, WS_COL_string_text, i), &at, err));
		WS_FORWARD(ws_idmap_put(&m->text_of, ws_value(&m->strings, WS_COL_string_id, i), at,
		                        err));
	}
	return WS_OK;
}

/* --- processes, threads, devices, launch configurations ------------------------------ */

static enum ws_status process_number(struct loader *l, uint64_t pid, uint32_t *out,
                                     struct ws_err *err)
{
	*out = ws_idmap_get(&l->process_of, pid);
	if (*out != WS_NONE)
		return WS_OK;
	*out = l->nprocesses++;
	return ws_idmap_put(&l->process_of, pid, *out, err);
}

/* The number of a thread; one whose row was lost is a thread of process `pid` all the same. */
static enum ws_status thread_number(struct loader *l, uint64_t id, uint64_t pid, uint32_t *out,
                                    struct ws_err *err)
{
	uint32_t process;

	*out = ws_idmap_get(&l->thread_of, id);
	if (*out != WS_NONE)
		return WS_OK;
	if (l->nthreads == l->threads_allocated) {
		size_t want = l->threads_allocated ? l->threads_allocated * 2 : 64;
		void *grown = reallocarray(l->thread_process, want, sizeof(*l->thread_process));

		if (!grown)
			return no_memory(err, "threads");
		l->thread_process = grown;
		l->threads_allocated = want;
	}
	WS_FORWARD(process_number(l, pid, &process, err));
	*out = l->nthreads++;
	l->thread_process[*out] = process;
	return ws_idmap_put(&l->thread_of, id, *out, err);
}

static enum ws_status device_number(struct loader *l, uint64_t id, uint32_t *out,
                                    struct ws_err *err)
{
	struct ws_model *m = l->m;

	*out = ws_idmap_get(&l->device_of, id);
	if (*out != WS_NONE)
		return WS_OK;
	if (m->ndevices == l->devices_allocated) {
		size_t want = l->devices_allocated ? l->devices_allocated * 2 : 16;
		void *grown = reallocarray(m->devices, want, sizeof(*m->devices));

		if (!grown)
			return no_memory(err, "devices");
		m->devices = grown;
		l->devices_allocated = want;
	}
	*out = (uint32_t)m->ndevices++;
	m->devices[*out] = (struct ws_device){.id = id, .kind = -1};
	return ws_idmap_put(&l->device_of, id, *out, err);
}

static enum ws_status load_devices(struct loader *l, struct ws_err *err)
{
	struct ws_table_data t;
	enum ws_status status = WS_OK;

	WS_FORWARD(load(l, WS_KIND_DEVICE, &t, err));
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++) {
		uint64_t kind = ws_value(&t, WS_COL_device_kind, i);
		uint32_t at;

		status = device_number(l, ws_value(&t, WS_COL_device_id, i), &at, err);
		if (status != WS_OK)
			break;
		l->m->devices[at].kind = kind <= WS_DEVICE_CUDA ? (int)kind : -1;
		l->m->devices[at].name = ws_model_text(l->m, ws_value(&t, WS_COL_device_name, i));
	}
	ws_table_data_release(&t);
	return status;
}

static enum ws_status load_threads(struct loader *l, struct ws_err *err)
{
	struct ws_table_data t;
	enum ws_status status = WS_OK;

	WS_FORWARD(load(l, WS_KIND_THREAD, &t, err));
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++) {
		uint32_t at;

		status = thread_number(l, ws_value(&t, WS_COL_thread_id, i),
		                       ws_value(&t, WS_COL_thread_pid, i), &at, err);
	}
	ws_table_data_release(&t);
	return status;
}

static enum ws_status intern_static(struct ws_model *m, const char *text, uint32_t *out,
                                    struct ws_err *err)
{
	return intern(m, (struct ws_bytes){text, strlen(text)}, out, err);
}

/* What a kernel name tells; `recorded` is its text in the trace. */
static enum ws_status describe_kernel(struct loader *l, uint32_t recorded, struct ws_config *c,
                                      struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_buf *made = &m->made[m->nmade];
	struct ws_kernel_traits traits;
	struct ws_bytes name = m->texts[recorded];

	WS_FORWARD(ws_classify(l->classifier, name.ptr, name.len, &traits, err));
	c->tensor = (uint8_t)traits.tensor;
	if (traits.op_class != WS_CLASS_OTHER)
		WS_FORWARD(
		        intern_static(m, ws_op_class_name(traits.op_class), &c->name_class, err));
	if (traits.direction == WS_NAME_DIRECTION_FWD ||
	    traits.direction == WS_NAME_DIRECTION_FPROP)
		c->name_direction = WS_TEXT_FORWARD;
	else if (traits.direction != WS_NAME_DIRECTION_UNKNOWN)
		c->name_direction = WS_TEXT_BACKWARD;
	if (traits.dtype != WS_NAME_DTYPE_NONE)
		WS_FORWARD(intern_static(m, ws_name_dtype_name(traits.dtype), &c->name_dtype, err));

	c->name = recorded;
	WS_FORWARD(ws_demangle(name.ptr, name.len, made, err));
	if (made->len == name.len && !memcmp(made->data, name.ptr, name.len)) {
		ws_buf_free(made);
		return WS_OK;
	}
	m->nmade++;
	return intern(m, (struct ws_bytes){made->data, made->len}, &c->name, err);
}

static enum ws_status add_config(struct loader *l, const struct ws_table_data *t, uint64_t row,
                                 struct ws_err *err)
{
	struct ws_model *m = l->m;
	uint32_t at = (uint32_t)row + 1;
	struct ws_config *c = &m->configs[at];
	uint32_t name = ws_model_text(m, ws_value(t, WS_COL_launch_config_name, row));
	uint32_t like = ws_idmap_get(&l->kernel_of, name);

	c->name = WS_TEXT_UNKNOWN_KERNEL;
	if (like != WS_NONE) {
		*c = m->configs[like];
	} else if (name != WS_TEXT_EMPTY) {
		WS_FORWARD(describe_kernel(l, name, c, err));
		WS_FORWARD(ws_idmap_put(&l->kernel_of, name, at, err));
	}
	WS_FORWARD(process_number(l, ws_value(t, WS_COL_launch_config_pid, row), &c->process, err));
	WS_FORWARD(
	        device_number(l, ws_value(t, WS_COL_launch_config_device, row), &c->device, err));
	return ws_idmap_put(&l->config_of, ws_value(t, WS_COL_launch_config_id, row), at, err);
}

static enum ws_status load_configs(struct loader *l, const struct ws_table_data *t,
                                   struct ws_err *err)
{
	struct ws_model *m = l->m;

	m->nconfigs = (size_t)t->rows + 1;
	m->configs = calloc(m->nconfigs, sizeof(*m->configs));
	if (!m->configs)
		return no_memory(err, "launch configurations");
	for (uint64_t i = 0; i < t->rows; i++)
		WS_FORWARD(add_config(l, t, i, err));
	/* where kernels go whose configuration is in a damaged part of the file */
	m->configs[0].name = WS_TEXT_UNKNOWN_KERNEL;
	m->configs[0].process = WS_NONE;
	if (!m->ndevices)
		return device_number(l, 0, &m->configs[0].device, err);
	return WS_OK;
}

static uint32_t text_of_string(void *model, uint64_t string_id)
{
	return ws_model_text(model, string_id);
}

static enum ws_status load_payloads(struct loader *l, struct ws_err *err)
{
	struct ws_table_data schema = {0}, field = {0}, entry = {0}, payload = {0};
	struct ws_payload_tables tables = {&schema,        &field,      &entry, &payload,
	                                   text_of_string, l->m->texts, l->m};
	enum ws_status status = load(l, WS_KIND_PAYLOAD_SCHEMA, &schema, err);

	if (status == WS_OK)
		status = load(l, WS_KIND_PAYLOAD_FIELD, &field, err);
	if (status == WS_OK)
		status = load(l, WS_KIND_PAYLOAD_ENUM, &entry, err);
	if (status == WS_OK)
		status = load(l, WS_KIND_PAYLOAD, &payload, err);
	if (status == WS_OK)
		status = ws_ops_decode(&tables, &l->m->ops, err);
	for (uint64_t i = 0; i < payload.rows && status == WS_OK; i++)
		status = ws_idmap_put(&l->payload_of, ws_value(&payload, WS_COL_payload_id, i),
		                      (uint32_t)i, err);
	ws_table_data_release(&schema);
	ws_table_data_release(&field);
	ws_table_data_release(&entry);
	ws_table_data_release(&payload);
	return status;
}

/* --- process ends, losses, provenance ---------------------------------------------------- */

static enum ws_status load_ends(struct loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_table_data t;

	WS_FORWARD(load(l, WS_KIND_PROCESS_END, &t, err));
	m->ends = calloc(t.rows ? t.rows : 1, sizeof(*m->ends));
	if (!m->ends) {
		ws_table_data_release(&t);
		return no_memory(err, "ends of processes");
	}
	m->nends = t.rows;
	for (uint64_t i = 0; i < t.rows; i++)
		m->ends[i] = (struct ws_process_end){
		        ws_value(&t, WS_COL_process_end_pid, i),
		        (int)(ws_value(&t, WS_COL_process_end_how, i) & 0xff),
		        (int64_t)ws_value(&t, WS_COL_process_end_code, i),
		};
	ws_table_data_release(&t);
	return WS_OK;
}

static enum ws_status load_processes(struct loader *l, struct ws_err *err)
{
	struct ws_table_data t;

	WS_FORWARD(load(l, WS_KIND_PROCESS, &t, err));
	l->m->processes = t.rows;
	ws_table_data_release(&t);
	return WS_OK;
}

/* --- times ------------------------------------------------------------------------------------ */

static void see_time(struct ws_model *m, int64_t from_ns, int64_t to_ns)
{
	if (from_ns < m->begin_ns)
		m->begin_ns = from_ns;
	if (to_ns > m->end_ns)
		m->end_ns = to_ns;
}

static enum ws_status check_time(int64_t start_ns, int64_t dur_ns, const char *what, uint64_t row,
                                 struct ws_err *err)
{
	WS_FAIL_IF(start_ns > MAX_TIME_NS || start_ns < -MAX_TIME_NS || dur_ns > MAX_TIME_NS, err,
	           CORRUPT, "time of %s %llu is out of bounds: %lld ns, for %lld ns", what,
	           (unsigned long long)row, (long long)start_ns, (long long)dur_ns);
	return WS_OK;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* What joining to calls needs and nobody needs later. */
struct kernel_keys {
	uint64_t *correlation;
	uint32_t *process;
	int64_t *start_ns;
};

static void keys_release(struct kernel_keys *k)
{
	free(k->correlation);
	free(k->process);
	free(k->start_ns);
}

static enum ws_status take_kernel(struct loader *l, const struct ws_table_data *t, uint64_t row,
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
	k->range[to] = WS_NONE;
	keys->correlation[to] = ws_value(t, WS_COL_kernel_correlation, row);
	keys->process[to] = m->configs[k->config[to]].process;
	keys->start_ns[to] = INT64_MAX;
	m->left.no_config += config == WS_NONE;
	m->devices[m->configs[k->config[to]].device].kernels++;
	if (k->flags[to] & WS_KERNEL_NO_TIME) {
		m->left.no_time++;
		return WS_OK;
	}
	WS_FORWARD(check_time(start, dur, "kernel", row, err));
	m->left.cut_off += (k->flags[to] & WS_KERNEL_CUT_OFF) != 0;
	k->start_ns[to] = keys->start_ns[to] = start;
	k->dur_ns[to] = dur;
	see_time(m, start, start + dur);
	return WS_OK;
}

static enum ws_status allocate_kernels(struct ws_kernels *k, struct kernel_keys *keys, size_t rows,
                                       struct ws_err *err)
{
	size_t n = rows ? rows : 1;

	k->n = rows;
	k->start_ns = calloc(n, sizeof(*k->start_ns));
	k->dur_ns = calloc(n, sizeof(*k->dur_ns));
	k->config = calloc(n, sizeof(*k->config));
	k->range = calloc(n, sizeof(*k->range));
	k->flags = calloc(n, sizeof(*k->flags));
	keys->correlation = calloc(n, sizeof(*keys->correlation));
	keys->process = calloc(n, sizeof(*keys->process));
	keys->start_ns = calloc(n, sizeof(*keys->start_ns));
	if (!k->start_ns || !k->dur_ns || !k->config || !k->range || !k->flags ||
	    !keys->correlation || !keys->process || !keys->start_ns)
		return no_memory(err, "kernels");
	return WS_OK;
}

/* Rows of the file by device, then start. */
static enum ws_status kernel_order(const struct loader *l, const struct ws_table_data *t,
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

static enum ws_status load_kernels(struct loader *l, struct kernel_keys *keys, struct ws_err *err)
{
	struct ws_table_data t;
	uint32_t *order = NULL;
	int64_t total = 0;
	enum ws_status status;

	WS_FORWARD(load(l, WS_KIND_KERNEL, &t, err));
	status = allocate_kernels(&l->m->kernels, keys, t.rows, err);
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

struct call_columns {
	size_t n;
	int64_t *start_ns, *end_ns;
	uint32_t *thread, *process;
	uint64_t *correlation;
};

static void calls_release(struct call_columns *c)
{
	free(c->start_ns);
	free(c->end_ns);
	free(c->thread);
	free(c->process);
	free(c->correlation);
}

static enum ws_status load_calls(struct loader *l, struct call_columns *c, struct ws_err *err)
{
	struct ws_table_data t;
	enum ws_status status = WS_OK;
	size_t n;

	WS_FORWARD(load(l, WS_KIND_API, &t, err));
	n = t.rows ? t.rows : 1;
	l->m->api_calls = c->n = t.rows;
	c->start_ns = calloc(n, sizeof(*c->start_ns));
	c->end_ns = calloc(n, sizeof(*c->end_ns));
	c->thread = calloc(n, sizeof(*c->thread));
	c->process = calloc(n, sizeof(*c->process));
	c->correlation = calloc(n, sizeof(*c->correlation));
	if (!c->start_ns || !c->end_ns || !c->thread || !c->process || !c->correlation)
		status = no_memory(err, "API calls");
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++) {
		int64_t start = (int64_t)ws_value(&t, WS_COL_api_start_ns, i);
		int64_t dur = (int64_t)ws_value(&t, WS_COL_api_dur_ns, i);

		dur = dur < 0 ? 0 : dur;
		status = check_time(start, dur, "API call", i, err);
		if (status != WS_OK)
			break;
		see_time(l->m, start, start + dur);
		c->start_ns[i] = start;
		c->end_ns[i] = start + dur;
		c->correlation[i] = ws_value(&t, WS_COL_api_correlation, i);
		status =
		        thread_number(l, ws_value(&t, WS_COL_api_thread, i), 0, &c->thread[i], err);
		if (status == WS_OK)
			c->process[i] = l->thread_process[c->thread[i]];
	}
	ws_table_data_release(&t);
	return status;
}

/* --- NVTX ---------------------------------------------------------------------------------------
 */

/*
 * "workload.batch=4": the key is what stands between the dot and the first
 * '='. keys gives each key a number: its place in facts, plus 1.
 */
static enum ws_status take_fact(struct ws_model *m, struct ws_strtab *keys, struct ws_bytes mark,
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
			status = take_fact(m, &keys, m->texts[ev->name[i]], err);
	ws_strtab_free(&keys);
	return status;
}

struct event_columns {
	int64_t *time_ns;
	uint32_t *thread, *domain, *name, *payload;
	uint8_t *type;
	uint64_t *range_id;
};

static void events_release(struct event_columns *c)
{
	free(c->time_ns);
	free(c->thread);
	free(c->domain);
	free(c->name);
	free(c->payload);
	free(c->type);
	free(c->range_id);
}

static enum ws_status take_event(struct loader *l, const struct ws_table_data *t, uint64_t i,
                                 struct event_columns *c, struct ws_err *err)
{
	uint64_t type = ws_value(t, WS_COL_nvtx_type, i);
	uint64_t payload = ws_value(t, WS_COL_nvtx_payload, i);

	c->time_ns[i] = (int64_t)ws_value(t, WS_COL_nvtx_time_ns, i);
	WS_FORWARD(check_time(c->time_ns[i], 0, "NVTX event", i, err));
	see_time(l->m, c->time_ns[i], c->time_ns[i]);
	c->type[i] = type <= WS_NVTX_MARK ? (uint8_t)type : UINT8_MAX;
	c->domain[i] = ws_model_text(l->m, ws_value(t, WS_COL_nvtx_domain, i));
	c->name[i] = ws_model_text(l->m, ws_value(t, WS_COL_nvtx_name, i));
	c->payload[i] = payload ? ws_idmap_get(&l->payload_of, payload) : WS_NONE;
	c->range_id[i] = ws_value(t, WS_COL_nvtx_range, i);
	return thread_number(l, ws_value(t, WS_COL_nvtx_thread, i), 0, &c->thread[i], err);
}

static enum ws_status load_ranges(struct loader *l, struct ws_err *err)
{
	struct ws_table_data t;
	struct event_columns c = {0};
	struct ws_nvtx_events ev;
	enum ws_status status = WS_OK;
	size_t n;

	WS_FORWARD(load(l, WS_KIND_NVTX, &t, err));
	n = t.rows ? t.rows : 1;
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

	ev = (struct ws_nvtx_events){n,           c.time_ns,   c.thread,
	                             c.type,      c.domain,    c.name,
	                             c.range_id,  c.payload,   l->thread_process,
	                             l->nthreads, l->m->end_ns};
	if (status == WS_OK)
		status = take_facts(l->m, &ev, err);
	if (status == WS_OK)
		status = ws_ranges_build(&l->m->ranges, &ev, err);
	events_release(&c);
	return status;
}

/* --- the joins ------------------------------------------------------------------------------- */

static enum ws_status join(struct loader *l, const struct kernel_keys *keys,
                           const struct call_columns *c, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_kernels *k = &m->kernels;
	struct ws_calls calls = {c->n,      c->start_ns, c->end_ns,
	                         c->thread, c->process,  c->correlation};
	struct ws_launches launches = {k->n, keys->start_ns, keys->process, keys->correlation};
	uint32_t *call = calloc(k->n ? k->n : 1, sizeof(*call));
	enum ws_status status;

	if (!call)
		return no_memory(err, "kernels");
	status = ws_join_launches(&launches, &calls, call, err);
	if (status == WS_OK)
		status = ws_attribute(&calls, &m->ranges, &m->attribution, err);
	if (status == WS_OK && m->attribution.first) {
		k->crossing = calloc(k->n ? k->n : 1, sizeof(*k->crossing));
		if (!k->crossing)
			status = no_memory(err, "kernels");
	}
	for (size_t i = 0; i < k->n && status == WS_OK; i++) {
		if (k->crossing)
			k->crossing[i] =
			        call[i] == WS_NONE ? WS_NONE : m->attribution.first[call[i]];
		if (call[i] == WS_NONE)
			k->flags[i] |= WS_KERNEL_NO_LAUNCH;
		else
			k->range[i] = m->attribution.innermost[call[i]];
	}
	free(m->attribution.innermost);
	free(m->attribution.first);
	m->attribution.innermost = m->attribution.first = NULL;
	free(call);
	return status;
}

static enum ws_status load_dictionaries(struct loader *l, struct ws_err *err)
{
	struct ws_table_data configs;
	enum ws_status status;

	WS_FORWARD(load(l, WS_KIND_LAUNCH_CONFIG, &configs, err));
	status = load_texts(l, configs.rows, err);
	if (status == WS_OK)
		status = load_processes(l, err);
	if (status == WS_OK)
		status = load_devices(l, err);
	if (status == WS_OK)
		status = load_threads(l, err);
	if (status == WS_OK)
		status = ws_classifier_new(NULL, 0, &l->classifier, err);
	if (status == WS_OK)
		status = load_configs(l, &configs, err);
	ws_table_data_release(&configs);
	if (status == WS_OK)
		status = load_payloads(l, err);
	if (status == WS_OK)
		status = load_ends(l, err);
	if (status == WS_OK)
		status = load(l, WS_KIND_META, &l->m->meta, err);
	if (status == WS_OK)
		status = load(l, WS_KIND_LOSS, &l->m->loss, err);
	return status;
}

enum ws_status ws_model_load(struct ws_model *m, const struct ws_trace_reader *r,
                             struct ws_err *err)
{
	struct loader l = {.m = m, .r = r};
	struct kernel_keys keys = {0};
	struct call_columns calls = {0};
	enum ws_status status;

	m->begin_ns = INT64_MAX;
	m->end_ns = INT64_MIN;
	status = load_dictionaries(&l, err);
	if (status == WS_OK)
		status = load_kernels(&l, &keys, err);
	if (status == WS_OK)
		status = load_calls(&l, &calls, err);
	/* after kernels and calls: ranges that never ended end at the last moment of them all */
	if (status == WS_OK)
		status = load_ranges(&l, err);
	if (status == WS_OK)
		status = join(&l, &keys, &calls, err);
	if (m->begin_ns > m->end_ns)
		m->begin_ns = m->end_ns = 0;

	keys_release(&keys);
	calls_release(&calls);
	free(l.thread_process);
	ws_idmap_free(&l.thread_of);
	ws_idmap_free(&l.process_of);
	ws_idmap_free(&l.device_of);
	ws_idmap_free(&l.config_of);
	ws_idmap_free(&l.payload_of);
	ws_idmap_free(&l.kernel_of);
	ws_classifier_free(l.classifier);
	return status;
}
