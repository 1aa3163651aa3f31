#include "report/model/load.h"
#include "report/model/payloads.def"
#include "report/names/names.h"

void ws_take_fact(struct ws_model *m, struct ws_strtab *keys, struct ws_bytes mark)
{
	static const char prefix[] = "workload.";
	const char *p = mark.ptr, *end = p + mark.len;

	if (mark.len < sizeof(prefix) || memcmp(p, prefix, sizeof(prefix) - 1) != 0)
		return;
	p += sizeof(prefix) - 1;
	const char *equals = memchr(p, '=', (size_t)(end - p));
	if (!equals || equals == p)
		return;
	uint64_t id = ws_strtab_add(keys, p, (size_t)(equals - p));
	m->nfacts = id > m->nfacts ? (size_t)id : m->nfacts;
	m->facts[id - 1] = (struct ws_fact){{p, (size_t)(equals - p)},
	                                    {equals + 1, (size_t)(end - equals - 1)}};
}

void ws_loader_release(struct ws_loader *l)
{
	ws_arena_free(&l->temp);
	free(l->op_times.time);
	ws_idmap_free(&l->thread_of);
	ws_idmap_free(&l->process_of);
	ws_idmap_free(&l->device_of);
	ws_idmap_free(&l->config_of);
	ws_idmap_free(&l->payload_of);
	ws_idmap_free(&l->kernel_of);
	ws_idmap_free(&l->op_config_of);
	ws_classifier_free(l->classifier);
}

/* --- dict --- */

/*
 * Dictionaries of a trace: names, processes, threads, devices, launch
 * configurations, payloads.
 */

int64_t ws_meta_number(const struct ws_column_data *meta, const char *key, int64_t absent)
{
	const struct ws_bytes value = ws_meta_value(meta, key);
	char text[32];

	if (!value.len || value.len >= sizeof(text))
		return absent;
	memcpy(text, value.ptr, value.len);
	text[value.len] = 0;
	return strtoll(text, NULL, 10);
}

/* A recorded window of --standby, from 1. One without an end lasts to the end of the trace. */
static bool find_window(const struct ws_column_data *meta, size_t number, struct ws_span *out)
{
	char begin[64], end[64];

	snprintf(begin, sizeof(begin), "record.window.%zu.begin_ns", number);
	snprintf(end, sizeof(end), "record.window.%zu.end_ns", number);
	*out = (struct ws_span){ws_meta_number(meta, begin, INT64_MAX),
	                        ws_meta_number(meta, end, INT64_MAX)};
	return ws_meta_value(meta, begin).len && out->start_ns <= out->end_ns;
}

static enum ws_status check_count(uint64_t rows, struct ws_err *err)
{
	WS_FAIL_IF(rows >= WS_NONE, err, NO_MEMORY,
	           "the trace has more records of one kind than a report handles");
	return WS_OK;
}

enum ws_status ws_load_kind(const struct ws_loader *l, enum ws_kind kind, struct ws_column_data *t,
                            struct ws_err *err)
{
	WS_FORWARD(ws_trace_reader_load(l->r, kind, t, err));
	enum ws_status status = check_count(t->rows, err);
	if (status != WS_OK)
		ws_column_data_release(t);
	return status;
}

enum ws_status ws_load_each(const struct ws_loader *l, enum ws_kind kind, ws_record_fn fn,
                            void *ctx, struct ws_err *err)
{
	WS_FORWARD(check_count(ws_trace_reader_count(l->r, kind), err));
	return ws_records_each(l->r, kind, fn, ctx, err);
}

/* --- texts ------------------------------------------------------------------------ */

/* A launch configuration adds at most: demangled name, class, direction, dtype. */
#define TEXTS_OF_CONFIG 4
/* Names of kinds, directions and dtypes of framework operations; one of devices. */
#define TEXTS_OF_OPS 65
/* Of a process; messages of further ones have no group. */
#define MOST_COMMUNICATORS 4096

/* texts[] has room for all texts. */
uint32_t ws_intern_text(struct ws_model *m, struct ws_bytes text)
{
	if (!text.len)
		return WS_TEXT_EMPTY;
	const struct ws_strtab_entry *known = ws_strtab_put(&m->interned, text.ptr, text.len);
	if (known->id >= m->ntexts)
		m->texts[m->ntexts++] = (struct ws_bytes){known->bytes, known->len};
	return (uint32_t)known->id;
}

uint32_t ws_steady_text(struct ws_model *m, uint32_t name)
{
	struct ws_bytes text = m->texts[name];
	char room[256], *steady;

	if (m->steady_of[name] || name == WS_TEXT_EMPTY)
		return m->steady_of[name];
	steady = text.len <= sizeof(room) ? room : ws_xmalloc(text.len);
	size_t n = ws_name_steady(text, steady);
	m->steady_of[name] = ws_intern_text(m, (struct ws_bytes){steady, n});
	if (steady != room)
		free(steady);
	return m->steady_of[name];
}

/* --- processes, threads, devices, launch configurations ------------------------------ */

/* The same for the ids of processes and devices; undefined ids get a number, too. */
static uint32_t process_number(struct ws_loader *l, uint64_t pid)
{
	struct ws_model *m = l->m;
	uint32_t at = ws_idmap_get(&l->process_of, pid);

	if (at != WS_NONE)
		return at;
	WS_GROW(m->pids, (size_t)m->nprocesses + 1, l->processes_capacity);
	at = m->nprocesses++;
	m->pids[at] = pid;
	ws_idmap_put(&l->process_of, pid, at);
	return at;
}

uint32_t ws_thread_number(struct ws_loader *l, uint64_t id, uint64_t pid)
{
	struct ws_model *m = l->m;
	uint32_t at = ws_idmap_get(&l->thread_of, id);

	if (at != WS_NONE)
		return at;
	WS_GROW(m->threads, (size_t)m->nthreads + 1, l->threads_capacity);
	at = m->nthreads++;
	m->threads[at] = (struct ws_thread){.pid = pid, .process = process_number(l, pid)};
	ws_idmap_put(&l->thread_of, id, at);
	return at;
}

static uint32_t device_number(struct ws_loader *l, uint64_t id)
{
	struct ws_model *m = l->m;
	uint32_t at = ws_idmap_get(&l->device_of, id);

	if (at != WS_NONE)
		return at;
	WS_GROW(m->devices, m->ndevices + 1, l->devices_capacity);
	at = (uint32_t)m->ndevices++;
	m->devices[at] = (struct ws_device){.id = id, .kind = -1, .memory_bytes = -1};
	ws_device_facts_init(&m->devices[at].facts);
	ws_idmap_put(&l->device_of, id, at);
	return at;
}

static void on_device(void *loader, const void *row)
{
	const struct ws_row_device *r = row;
	struct ws_loader *l = loader;
	const uint32_t at = device_number(l, r->id);

	l->m->devices[at].kind = r->kind <= WS_DEVICE_CUDA ? (int)r->kind : -1;
	l->m->devices[at].name = ws_model_text(l->m, r->name);
}

static void on_device_attr(void *loader, const void *row)
{
	const struct ws_row_device_attr *r = row;
	const struct ws_loader *l = loader;
	struct ws_bytes name = l->m->texts[ws_model_text(l->m, r->attr)];
	uint32_t at = ws_idmap_get(&l->device_of, r->device);

	if (at == WS_NONE)
		return;
	ws_device_facts_set(&l->m->devices[at].facts, name.ptr, name.len, r->value);
	if (ws_name_is(name, "global_memory_bytes") && r->value > 0)
		l->m->devices[at].memory_bytes = r->value;
	l->m->devices[at].is_mig |= ws_name_is(name, "mig") && r->value > 0;
}

static void on_thread(void *loader, const void *row)
{
	const struct ws_row_thread *r = row;
	struct ws_loader *l = loader;
	const uint32_t at = ws_thread_number(l, r->id, r->pid); /* the array may move */

	l->m->threads[at].tid = r->tid;
	if (r->name)
		l->m->threads[at].name = ws_model_text(l->m, r->name);
}

/* Sets the attributes of a kernel from its name; `recorded` is its text in the trace. */
static void describe_kernel(struct ws_loader *l, uint32_t recorded, struct ws_config *c)
{
	struct ws_model *m = l->m;
	struct ws_buf *made = &m->made[m->nmade];
	struct ws_bytes name = m->texts[recorded];

	if (l->classifier) {
		struct ws_kernel_traits traits;

		ws_classify(l->classifier, name.ptr, name.len, &traits);
		c->tensor = (uint8_t)traits.tensor;
		c->call = (uint8_t)traits.call;
		if (traits.op_class != WS_CLASS_OTHER)
			c->name_class =
			        ws_intern_text(m, ws_bytes_of(ws_op_class_name(traits.op_class)));
		if (traits.direction == WS_NAME_DIRECTION_FWD ||
		    traits.direction == WS_NAME_DIRECTION_FPROP)
			c->name_direction = WS_TEXT_FORWARD;
		else if (traits.direction != WS_NAME_DIRECTION_UNKNOWN)
			c->name_direction = WS_TEXT_BACKWARD;
		c->dtype_is_narrow =
		        traits.dtype != WS_NAME_DTYPE_NONE && traits.dtype != WS_NAME_DTYPE_FP32 &&
		        traits.dtype != WS_NAME_DTYPE_FP64 && traits.dtype != WS_NAME_DTYPE_FP16 &&
		        traits.dtype != WS_NAME_DTYPE_BF16;
		if (traits.dtype != WS_NAME_DTYPE_NONE)
			c->name_dtype =
			        ws_intern_text(m, ws_bytes_of(ws_name_dtype_name(traits.dtype)));
	}
	c->name = recorded;
	ws_demangle(name.ptr, name.len, made);
	if (made->len == name.len && !memcmp(made->data, name.ptr, name.len)) {
		ws_buf_free(made);
		return;
	}
	m->nmade++;
	c->name = ws_intern_text(m, (struct ws_bytes){made->data, made->len});
}

static void on_config(void *loader, const void *row)
{
	const struct ws_row_launch_config *r = row;
	struct ws_loader *l = loader;
	struct ws_model *m = l->m;
	uint32_t at = (uint32_t)m->nconfigs++;
	struct ws_config *c = &m->configs[at];
	uint32_t name = ws_model_text(m, r->name);
	uint32_t like = ws_idmap_get(&l->kernel_of, name);

	c->name = WS_TEXT_UNKNOWN_KERNEL;
	if (like != WS_NONE) {
		*c = m->configs[like];

	} else if (name != WS_TEXT_EMPTY) {
		describe_kernel(l, name, c);
		ws_idmap_put(&l->kernel_of, name, at);
	}
	c->process = process_number(l, r->pid);
	c->device = device_number(l, r->device);
	c->stream = r->stream;
	c->shape = (struct ws_launch_shape){r->grid_x,  r->grid_y,  r->grid_z,    r->block_x,
	                                    r->block_y, r->block_z, r->registers, 0};
	/* implausible sizes are ignored by the estimate, so an overflow is harmless */
	if (__builtin_add_overflow(r->shared_static_bytes, r->shared_dynamic_bytes,
	                           &c->shape.shared_bytes))
		c->shape.shared_bytes = UINT64_MAX;
	c->has_occupancy =
	        m->devices[c->device].has_limits &&
	        ws_occupancy_estimate(&m->devices[c->device].limits, &c->shape, &c->occupancy);
	ws_idmap_put(&l->config_of, r->id, at);
}

static uint32_t text_of_string(void *model, uint64_t string_id)
{
	return ws_model_text(model, string_id);
}

/* --- process ends, losses, provenance ---------------------------------------------------- */

static void on_end(void *loader, const void *row)
{
	const struct ws_row_process_end *r = row;
	struct ws_model *m = ((struct ws_loader *)loader)->m;

	m->ends[m->nends++] = (struct ws_process_end){r->pid, (int)(r->how & 0xff), r->code};
}

static void on_process(void *loader, const void *row)
{
	(void)row;
	((struct ws_loader *)loader)->m->processes++;
}

/* A collective per message that a payload describes; its call names it: ws_collective_begun. */
static void load_messages(struct ws_model *m)
{
	size_t ncommunicators = 0;
	struct ws_idmap group_of = {0};

	for (size_t i = 0; i < m->ops.nmessages; i++) {
		const struct ws_message *message = &m->ops.messages[i];
		struct ws_collective c = {.sequence = -1,
		                          .bytes = (int64_t)message->bytes,
		                          .merged = WS_NONE};
		uint32_t ranks = WS_NONE, group = WS_TEXT_EMPTY;

		if (message->has_communicator) {
			ranks = ws_idmap_get(&m->ops.ranks_of, message->communicator);
			group = ws_idmap_get(&group_of, message->communicator);
		}
		if (group == WS_NONE && ncommunicators < MOST_COMMUNICATORS) {
			char hash[20];
			const int n = snprintf(hash, sizeof(hash), "0x%llx",
			                       (unsigned long long)message->communicator);

			ncommunicators++;
			group = ws_intern_text(m, (struct ws_bytes){hash, (size_t)n});
			ws_idmap_put(&group_of, message->communicator, group);
		}
		c.group = group == WS_NONE ? WS_TEXT_EMPTY : group;
		c.group_size = ranks == WS_NONE ? 0 : ranks;
		ws_idmap_put(&m->collective_of_payload, message->payload,
		             (uint32_t)m->ncollectives);
		WS_GROW(m->collectives, m->ncollectives + 1, m->collectives_capacity);
		m->collectives[m->ncollectives++] = c;
	}
	ws_idmap_free(&group_of);
}

uint32_t ws_collective_begun(struct ws_model *m, uint32_t payload, uint32_t name)
{
	static const char *const of_each_rank[] = {WS_PAYLOAD_CALLS(WS_LIST_SECOND)};
	const uint32_t at = payload == WS_NONE || !m->collective_of_payload.map.n
	                            ? WS_NONE
	                            : ws_idmap_get(&m->collective_of_payload, payload);
	struct ws_collective *c = at == WS_NONE ? NULL : &m->collectives[at];

	if (!c || c->name)
		return at;
	c->name = name;
	for (size_t i = 0; i < sizeof(of_each_rank) / sizeof(*of_each_rank); i++)
		if (ws_name_is(m->texts[name], of_each_rank[i]) &&
		    (!c->group_size ||
		     __builtin_mul_overflow(c->bytes, (int64_t)c->group_size, &c->bytes)))
			c->bytes = -1;
	return at;
}

uint32_t ws_collective_merged(struct ws_model *m, uint32_t one, uint32_t other)
{
	struct ws_collective *c = &m->collectives[one];

	if (c->name != m->collectives[other].name || c->group != m->collectives[other].group)
		return WS_NONE;
	if (c->merged == WS_NONE) {
		const uint32_t at = (uint32_t)m->ncollectives;
		struct ws_collective merged = *c;

		c->merged = merged.merged = at;
		merged.bytes = -1;
		WS_GROW(m->collectives, m->ncollectives + 1, m->collectives_capacity);
		m->collectives[m->ncollectives++] = merged;
		return at;
	}
	return c->merged;
}

enum ws_status ws_load_dictionaries(struct ws_loader *l, struct ws_err *err)
{
	static const char *const known[] = {WS_KNOWN_TEXTS(WS_LIST_SECOND)};
	const uint64_t nconfigs = ws_trace_reader_count(l->r, WS_KIND_LAUNCH_CONFIG);
	struct ws_model *m = l->m;
	struct ws_bytes *names, *shorts;
	uint32_t *text;
	size_t capacity, n = 0;
	const struct ws_device *named = NULL;

	WS_FORWARD(ws_load_kind(l, WS_KIND_STRING, &m->strings, err));
	/* three times the strings: modules have shortened names, and names have a form without
	 * varying numbers */
	capacity = sizeof(known) / sizeof(*known) + 3 * m->strings.rows +
	           TEXTS_OF_CONFIG * nconfigs + TEXTS_OF_OPS + MOST_COMMUNICATORS;
	WS_NEW(&m->arena, m->texts, capacity);
	WS_NEW(&m->arena, m->steady_of, capacity);
	WS_NEW(&m->arena, m->made, nconfigs);
	m->texts[WS_TEXT_EMPTY] = (struct ws_bytes){"", 0};
	m->ntexts = 1;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		ws_intern_text(m, ws_bytes_of(known[i]));
	for (uint64_t i = 0; i < m->strings.rows; i++)
		ws_idmap_put(&m->text_of, ws_value(&m->strings, WS_COL_string_id, i),
		             ws_intern_text(m, ws_blob(&m->strings, WS_COL_string_text, i)));
	WS_FORWARD(ws_load_each(l, WS_KIND_PROCESS, on_process, l, err));
	WS_FORWARD(ws_load_each(l, WS_KIND_DEVICE, on_device, l, err));
	WS_FORWARD(ws_load_each(l, WS_KIND_DEVICE_ATTR, on_device_attr, l, err));
	/* Limits of occupancy, and peaks, from recorded attributes. */
	WS_FORWARD(ws_peaks_new(l->opts->peaks, l->opts->peaks_len, &m->peaks, err));
	/* ROCm describes device 0 but may run on another number: a device without a name gets the
	 * name of AMD's named devices if these have the same name. */
	for (size_t i = 0; i < m->ndevices; i++) {
		const struct ws_device *d = &m->devices[i];

		if (d->name == WS_TEXT_EMPTY ||
		    !ws_device_name_is_amd(m->texts[d->name].ptr, m->texts[d->name].len))
			continue;
		if (named && d->name != named->name) {
			named = NULL;
			break;
		}
		named = d;
	}
	for (size_t i = 0; named && i < m->ndevices; i++)
		if (m->devices[i].name == WS_TEXT_EMPTY) {
			m->devices[i].name = named->name;
			m->devices[i].kind = named->kind;
			m->devices[i].facts = named->facts;
			m->devices[i].memory_bytes = named->memory_bytes;
		}
	for (size_t i = 0; i < m->ndevices; i++) {
		struct ws_device *d = &m->devices[i];
		struct ws_bytes device_name;

		if (d->name == WS_TEXT_EMPTY && l->opts->device_name)
			d->name = ws_intern_text(m, ws_bytes_of(l->opts->device_name));
		device_name = m->texts[d->name];
		d->is_amd = ws_device_name_is_amd(device_name.ptr, device_name.len);
		/* the rules of NVIDIA's multiprocessors for registers and memory */
		d->has_limits = !d->is_amd && ws_sm_limits_from(&d->facts, &d->limits);
		d->has_peaks = ws_peaks_find(m->peaks, device_name.ptr, device_name.len, &d->peaks);
	}
	WS_FORWARD(ws_load_each(l, WS_KIND_THREAD, on_thread, l, err));
	/* rules of the user\'s are read to say what is wrong with them */
	if (!l->plain_names || l->opts->rules)
		WS_FORWARD(
		        ws_classifier_new(l->opts->rules, l->opts->rules_len, &l->classifier, err));
	m->nconfigs = 1;
	WS_NEW(&m->arena, m->configs, nconfigs + 1);
	WS_FORWARD(ws_load_each(l, WS_KIND_LAUNCH_CONFIG, on_config, l, err));
	/* for kernels whose configuration is in a damaged part of the file */
	m->configs[0].name = WS_TEXT_UNKNOWN_KERNEL;
	m->configs[0].process = WS_NONE;
	if (!m->ndevices)
		m->configs[0].device = device_number(l, 0);

	/* One short name for each kernel name. */
	m->nshort = m->ntexts;
	WS_NEW(&l->temp, names, m->nconfigs);
	WS_NEW(&l->temp, shorts, m->nconfigs);
	WS_NEW(&l->temp, text, m->nconfigs);
	WS_NEW(&m->arena, m->short_names, m->nshort);
	for (size_t i = 0; i < m->nconfigs; i++) {
		uint32_t name = m->configs[i].name;

		/* a non-zero length marks it as seen */
		if (m->short_names[name].len)
			continue;
		m->short_names[name] = m->texts[name];
		text[n] = name;
		names[n++] = m->texts[name];
	}
	ws_short_names(names, n, &m->short_text, shorts);
	for (size_t i = 0; i < n; i++)
		m->short_names[text[i]] = shorts[i];

	/* the library whose functions are named tells the maker of a device without a name */
	int hip = 0;

	for (size_t i = 0; i < m->ntexts && !hip; i++) {
		const char *name = m->texts[i].ptr;

		hip = m->texts[i].len > 3 && !memcmp(name, "hip", 3) && name[3] >= 'A' &&
		      name[3] <= 'Z';
	}
	for (size_t i = 0; i < m->ndevices; i++)
		m->devices[i].is_amd |= hip && m->devices[i].name == WS_TEXT_EMPTY;

	struct ws_column_data schema = {0}, field = {0}, entry = {0}, payload = {0};
	struct ws_payload_tables tables = {&schema,        &field,   &entry, &payload,
	                                   text_of_string, m->texts, m};
	enum ws_status status = ws_load_kind(l, WS_KIND_PAYLOAD_SCHEMA, &schema, err);

	WS_THEN(status, ws_load_kind(l, WS_KIND_PAYLOAD_FIELD, &field, err));
	WS_THEN(status, ws_load_kind(l, WS_KIND_PAYLOAD_ENUM, &entry, err));
	WS_THEN(status, ws_load_kind(l, WS_KIND_PAYLOAD, &payload, err));
	if (status == WS_OK) {
		ws_ops_decode(&tables, &m->ops);
		load_messages(m);
	}
	for (uint64_t i = 0; i < payload.rows && status == WS_OK; i++)
		ws_idmap_put(&l->payload_of, ws_value(&payload, WS_COL_payload_id, i), (uint32_t)i);
	ws_column_data_release(&schema);
	ws_column_data_release(&field);
	ws_column_data_release(&entry);
	ws_column_data_release(&payload);
	WS_FORWARD(status);
	WS_NEW(&m->arena, m->ends, ws_trace_reader_count(l->r, WS_KIND_PROCESS_END));
	WS_FORWARD(ws_load_each(l, WS_KIND_PROCESS_END, on_end, l, err));
	WS_FORWARD(ws_resources_load(&m->resources, l->r, err));
	WS_FORWARD(ws_load_kind(l, WS_KIND_META, &m->meta, err));
	WS_NEW(&m->arena, m->recorded, m->meta.rows);
	m->kept_from_ns = ws_meta_number(&m->meta, "record.kept_from_ns", INT64_MIN);
	while (find_window(&m->meta, m->nrecorded + 1, &m->recorded[m->nrecorded]))
		m->nrecorded++;
	if (m->kept_from_ns > INT64_MIN)
		m->recorded[m->nrecorded++] = (struct ws_span){m->kept_from_ns, INT64_MAX};
	return ws_load_kind(l, WS_KIND_LOSS, &m->loss, err);
}

/* --- collective --- */

/* Collective operations recorded by a framework, joined to their kernels. */

struct taking {
	struct ws_model *m;
	struct ws_idmap by_external, *by_correlation;
};

static void on_collective(void *ctx, const void *row)
{
	const struct ws_row_collective *r = row;
	struct taking *t = ctx;

	/* a wait after a collective */
	if (ws_name_is(t->m->texts[ws_model_text(t->m, r->name)], "wait"))
		return;
	uint32_t at = (uint32_t)t->m->ncollectives;
	WS_GROW(t->m->collectives, t->m->ncollectives + 1, t->m->collectives_capacity);
	t->m->collectives[t->m->ncollectives++] = (struct ws_collective){
	        .name = ws_model_text(t->m, r->name),
	        .group = ws_model_text(t->m, r->group),
	        .ranks = ws_model_text(t->m, r->ranks),
	        .dtype = ws_model_text(t->m, r->dtype),
	        .group_size = r->group_size,
	        .in_elements = r->in_elements,
	        .out_elements = r->out_elements,
	        .sequence = r->sequence,
	        .bytes = -1,
	        .merged = WS_NONE,
	        .of_host = !r->correlation && !r->external_id,
	        .time_ns = r->time_ns,
	};
	if (r->correlation) {
		ws_idmap_put(t->by_correlation, r->correlation, at);
		return;
	}
	if (r->external_id)
		ws_idmap_put(&t->by_external, r->external_id, at);
}

enum ws_status ws_load_collectives(struct ws_loader *l, struct ws_idmap *by_correlation,
                                   struct ws_err *err)
{
	const uint64_t n = ws_trace_reader_count(l->r, WS_KIND_COLLECTIVE);
	struct taking t = {.m = l->m, .by_correlation = by_correlation};

	if (!n)
		return WS_OK;
	WS_NEW(&t.m->arena, t.m->cpu_ops.collective, t.m->cpu_ops.tree.n);
	enum ws_status status = ws_load_each(l, WS_KIND_COLLECTIVE, on_collective, &t, err);
	if (status == WS_OK) {
		/* By the id of an operation, or of one around it: parents come before their
		 * children. */
		for (uint32_t i = 0; i < t.m->cpu_ops.tree.n; i++) {
			uint32_t parent = t.m->cpu_ops.tree.parent[i];

			t.m->cpu_ops.collective[i] =
			        t.m->cpu_ops.external[i]
			                ? ws_idmap_get(&t.by_external, t.m->cpu_ops.external[i])
			                : WS_NONE;
			if (t.m->cpu_ops.collective[i] == WS_NONE && parent != WS_NONE)
				t.m->cpu_ops.collective[i] = t.m->cpu_ops.collective[parent];
		}
	}
	ws_idmap_free(&t.by_external);
	return status;
}

/* --- copies --- */

/* Numbers as in memcpy.kind; the fill comes after them. Names as in Nsight Systems. */
static const char *const operations[] = {
        "[CUDA memcpy Unknown]",
        "[CUDA memcpy Host-to-Device]",
        "[CUDA memcpy Device-to-Host]",
        "[CUDA memcpy Host-to-Array]",
        "[CUDA memcpy Array-to-Host]",
        "[CUDA memcpy Array-to-Array]",
        "[CUDA memcpy Array-to-Device]",
        "[CUDA memcpy Device-to-Array]",
        "[CUDA memcpy Device-to-Device]",
        "[CUDA memcpy Host-to-Host]",
        "[CUDA memcpy Peer-to-Peer]",
        "[CUDA memcpy Unified Host-to-Device]",
        "[CUDA memcpy Unified Device-to-Host]",
        "[CUDA memcpy Unified Device-to-Device]",
        "[CUDA memset]",
};
#define MEMSET (sizeof(operations) / sizeof(*operations) - 1)
_Static_assert(MEMSET + 1 == WS_COPY_NAMES, "as many names as copies.h says");

const char *ws_copy_name(uint32_t name)
{
	return operations[name];
}

uint32_t ws_copy_name_of(const struct ws_work *w)
{
	if (w->kind == WS_WORK_MEMSET)
		return MEMSET;
	return w->direction < MEMSET ? w->direction : 0;
}

/* --- work --- */

/*
 * Device work other than kernels (copies, fills, graphs traced as a whole), allocations, and the
 * overhead of recording.
 */

/* Columns of the three kinds of work; -1: none. */
struct work_columns {
	enum ws_kind kind;
	enum ws_work_kind work;
	const char *kind_name;
	int start, dur, correlation, pid, device, stream, bytes, direction, flags, graph_node;
};
static const struct work_columns work_columns_of[] = {
        {WS_KIND_MEMCPY, WS_WORK_MEMCPY, "memory copy", WS_COL_memcpy_start_ns,
         WS_COL_memcpy_dur_ns, WS_COL_memcpy_correlation, WS_COL_memcpy_pid, WS_COL_memcpy_device,
         WS_COL_memcpy_stream, WS_COL_memcpy_bytes, WS_COL_memcpy_kind, WS_COL_memcpy_flags,
         WS_COL_memcpy_graph_node},
        {WS_KIND_MEMSET, WS_WORK_MEMSET, "memory fill", WS_COL_memset_start_ns,
         WS_COL_memset_dur_ns, WS_COL_memset_correlation, WS_COL_memset_pid, WS_COL_memset_device,
         WS_COL_memset_stream, WS_COL_memset_bytes, -1, WS_COL_memset_flags,
         WS_COL_memset_graph_node},
        {WS_KIND_GRAPH_LAUNCH, WS_WORK_GRAPH, "graph launch", WS_COL_graph_launch_start_ns,
         WS_COL_graph_launch_dur_ns, WS_COL_graph_launch_correlation, WS_COL_graph_launch_pid,
         WS_COL_graph_launch_device, WS_COL_graph_launch_stream, -1, -1, -1, -1},
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
	        .graph_node = c->graph_node < 0 ? 0 : ws_value(t, c->graph_node, row),
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
	w->process = process_number(l, ws_value(t, c->pid, row));
	w->device = device_number(l, ws_value(t, c->device, row));
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

struct overheads {
	struct ws_model *m;
	enum ws_status status;
	struct ws_err *err;
};

static void on_overhead(void *ctx, const void *row)
{
	const struct ws_row_overhead *r = row;
	struct overheads *o = ctx;
	int64_t dur = r->dur_ns < 0 ? 0 : r->dur_ns;

	if (o->status != WS_OK)
		return;
	o->status = ws_check_time(r->start_ns, dur, "overhead", o->m->overheads++, o->err);
	if (o->status == WS_OK &&
	    __builtin_add_overflow(o->m->overhead_ns, dur, &o->m->overhead_ns))
		o->status = WS_FAIL(o->err, CORRUPT, "the overheads add up to over 2^63 ns");
}

static void on_switch(void *loader, const void *row)
{
	const struct ws_row_context_switch *r = row;
	struct ws_loader *l = loader;

	l->m->switches[l->m->nswitches++] =
	        (struct ws_context_switch){r->time_ns, device_number(l, r->device),
	                                   process_number(l, r->pid), r->context};
}

static int by_device_and_time(const void *pa, const void *pb)
{
	const struct ws_context_switch *a = pa, *b = pb;

	WS_ORDER_BY(a->device, b->device);
	WS_ORDER_BY(a->time_ns, b->time_ns);
	WS_ORDER_BY(a->process, b->process);
	return (a->context > b->context) - (a->context < b->context);
}

static void on_gpu_sample(void *loader, const void *row)
{
	struct ws_loader *l = loader;
	struct ws_row_gpu_sample *sample = &l->m->gpu_samples[l->m->ngpu_samples++];

	*sample = *(const struct ws_row_gpu_sample *)row;
	sample->device = device_number(l, sample->device);
}

static int by_device_and_instant(const void *pa, const void *pb)
{
	const struct ws_row_gpu_sample *a = pa, *b = pb;

	WS_ORDER_BY(a->device, b->device);
	WS_ORDER_BY(a->time_ns, b->time_ns);
	return (a->energy_mj > b->energy_mj) - (a->energy_mj < b->energy_mj);
}

enum ws_status ws_load_work(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct overheads overheads = {m, WS_OK, err};
	struct ws_column_data t[NWORK_COLUMNS_OF] = {{0}};
	enum ws_status status = WS_OK;
	size_t n = 0;

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
	int64_t ns = 0;
	int64_t bytes = 0;
	for (size_t j = 0; j < m->nwork; j++)
		if (__builtin_add_overflow(ns, m->work[j].dur_ns, &ns) ||
		    __builtin_add_overflow(bytes, (int64_t)m->work[j].bytes, &bytes))
			return WS_FAIL(err, CORRUPT,
			               "times or bytes of the copies add up to over 2^63");
	m->host_functions = ws_trace_reader_count(l->r, WS_KIND_HOST_FUNCTION);
	WS_NEW(&m->arena, m->switches, ws_trace_reader_count(l->r, WS_KIND_CONTEXT_SWITCH));
	WS_FORWARD(ws_load_each(l, WS_KIND_CONTEXT_SWITCH, on_switch, l, err));
	ws_sort(m->switches, m->nswitches, sizeof(*m->switches), by_device_and_time);
	WS_NEW(&m->arena, m->gpu_samples, ws_trace_reader_count(l->r, WS_KIND_GPU_SAMPLE));
	WS_FORWARD(ws_load_each(l, WS_KIND_GPU_SAMPLE, on_gpu_sample, l, err));
	ws_sort(m->gpu_samples, m->ngpu_samples, sizeof(*m->gpu_samples), by_device_and_instant);
	for (size_t i = 0; i < m->ngpu_samples; i++)
		WS_FORWARD(ws_check_time(m->gpu_samples[i].time_ns, 0, "sample of a GPU", i, err));
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
	e->process = process_number(l, ws_value(t, WS_COL_memory_pid, row));
	if (!host)
		e->device = device_number(l, ws_value(t, WS_COL_memory_device, row));
	if (ws_value(t, WS_COL_memory_thread, row))
		e->thread = ws_thread_number(l, ws_value(t, WS_COL_memory_thread, row), 0);
	return WS_OK;
}

enum ws_status ws_load_memory(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_column_data t;
	int64_t *time, total = 0;
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_load_kind(l, WS_KIND_MEMORY, &t, err));
	uint32_t *order = ws_arena_array(&l->temp, t.rows, sizeof(*order));
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

/* --- nodes of CUDA graphs ------------------------------------------------------------------- */

/* A copy of a copy is rare, and of a malicious trace only are there many in a row. */
#define MAX_COPIES 64

static int by_id_and_time(const void *pa, const void *pb)
{
	const struct ws_graph_node *a = pa, *b = pb;

	WS_ORDER_BY(a->id, b->id);
	WS_ORDER_BY(a->process, b->process);
	WS_ORDER_BY(a->time_ns, b->time_ns);
	WS_ORDER_BY(a->original, b->original);
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static void on_graph_node(void *loader, const void *row)
{
	const struct ws_row_graph_node *r = row;
	struct ws_loader *l = loader;

	l->m->graph_nodes[l->m->ngraph_nodes++] = (struct ws_graph_node){
	        .id = r->node,
	        .original = r->original,
	        .time_ns = r->time_ns,
	        .process = process_number(l, r->pid),
	        .thread = r->thread ? ws_thread_number(l, r->thread, r->pid) : WS_NONE,
	        .range = WS_NONE,
	        .cpu_op = WS_NONE,
	};
}

/* Is this row of the node with this id? */
static bool is_version(const struct ws_model *m, size_t at, uint32_t process, uint64_t id)
{
	return at < m->ngraph_nodes && m->graph_nodes[at].id == id &&
	       m->graph_nodes[at].process == process;
}

uint32_t ws_graph_node_at(const struct ws_model *m, uint32_t process, uint64_t id,
                          int64_t launched_ns, int64_t start_ns, uint32_t *next)
{
	const struct ws_graph_node *n = m->graph_nodes;
	const int64_t both_ns = launched_ns < start_ns ? launched_ns : start_ns;
	size_t at = *next;

	if (!id || !m->ngraph_nodes)
		return WS_NONE;
	if (!is_version(m, at, process, id) || is_version(m, at - 1, process, id) ||
	    is_version(m, at + 1, process, id)) {
		WS_COUNT_FIRST(at, m->ngraph_nodes,
		               n[at].id < id || (n[at].id == id && (n[at].process < process ||
		                                                    (n[at].process == process &&
		                                                     n[at].time_ns <= both_ns))));
		at -= is_version(m, at - 1, process, id);
	}
	if (!is_version(m, at, process, id))
		return WS_NONE;
	while (is_version(m, at + 1, process, id) &&
	       n[at + 1].time_ns <= (n[at + 1].thread == WS_NONE ? start_ns : launched_ns))
		at++;
	*next = (uint32_t)at + 1;
	return (uint32_t)at;
}

enum ws_status ws_load_graph_nodes(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;
	const uint64_t n = ws_trace_reader_count(l->r, WS_KIND_GRAPH_NODE);
	uint32_t next = 0;

	if (!n)
		return WS_OK;
	WS_FAIL_IF(n >= WS_NONE, err, NO_MEMORY,
	           "the trace has more nodes of CUDA graphs than a report handles");
	WS_NEW(&m->arena, m->graph_nodes, n);
	WS_FORWARD(ws_load_each(l, WS_KIND_GRAPH_NODE, on_graph_node, l, err));
	ws_sort(m->graph_nodes, m->ngraph_nodes, sizeof(*m->graph_nodes), by_id_and_time);
	for (uint32_t i = 0; i < m->ngraph_nodes; i++) {
		const struct ws_graph_node *node = &m->graph_nodes[i];
		uint32_t at = i;

		WS_FORWARD(ws_check_time(node->time_ns, 0, "node of a CUDA graph", i, err));
		for (int copies = 0; at != WS_NONE && m->graph_nodes[at].original; copies++)
			at = copies == MAX_COPIES
			             ? WS_NONE
			             : ws_graph_node_at(m, node->process,
			                                m->graph_nodes[at].original,
			                                m->graph_nodes[at].time_ns,
			                                m->graph_nodes[at].time_ns, &next);
		m->graph_nodes[i].captured =
		        !l->opts->by_launch && at != WS_NONE && m->graph_nodes[at].thread != WS_NONE
		                ? at
		                : WS_NONE;
	}
	return WS_OK;
}
