/*
 * Dictionaries of a trace: names, processes, threads, devices, launch
 * configurations, payloads.
 */
#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/model/load.h"

#include <stdlib.h>

#include "report/base/names.h"
#include "report/names/names.h"
#include "report/model/columns.h"
#include "report/kernel_info/demangle.h"

static enum ws_status check_count(uint64_t rows, struct ws_err *err)
{
	WS_FAIL_IF(rows >= WS_NONE, err, NO_MEMORY,
	           "the trace has more records of one kind than a report handles");
	return WS_OK;
}

enum ws_status ws_load_kind(const struct ws_loader *l, enum ws_kind kind, struct ws_column_data *t,
                            struct ws_err *err)
{
	enum ws_status status;

	WS_FORWARD(ws_trace_reader_load(l->r, kind, t, err));
	status = check_count(t->rows, err);
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

/* texts[] has room for every text there can be. */
uint32_t ws_intern_text(struct ws_model *m, struct ws_bytes text)
{
	const struct ws_strtab_entry *known;

	if (!text.len)
		return WS_TEXT_EMPTY;
	known = ws_strtab_put(&m->interned, text.ptr, text.len);
	if (known->id >= m->ntexts)
		m->texts[m->ntexts++] = (struct ws_bytes){known->bytes, known->len};
	return (uint32_t)known->id;
}

uint32_t ws_steady_text(struct ws_model *m, uint32_t name)
{
	struct ws_bytes text = m->texts[name];
	char room[256], *steady;
	size_t n;

	if (m->steady_of[name] || name == WS_TEXT_EMPTY)
		return m->steady_of[name];
	steady = text.len <= sizeof(room) ? room : ws_xmalloc(text.len);
	n = ws_name_steady(text, steady);
	m->steady_of[name] = ws_intern_text(m, (struct ws_bytes){steady, n});
	if (steady != room)
		free(steady);
	return m->steady_of[name];
}

static enum ws_status load_texts(struct ws_loader *l, uint64_t nconfigs, struct ws_err *err)
{
	static const char *const known[] = {
#define X(id, text) text,
	        WS_KNOWN_TEXTS(X)
#undef X
	};
	struct ws_model *m = l->m;
	size_t capacity;

	WS_FORWARD(ws_load_kind(l, WS_KIND_STRING, &m->strings, err));
	/* thrice the strings: modules are called by a part of theirs, names have a steady form */
	capacity = sizeof(known) / sizeof(*known) + 3 * m->strings.rows +
	           TEXTS_OF_CONFIG * nconfigs + TEXTS_OF_OPS;
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
	return WS_OK;
}

/* --- processes, threads, devices, launch configurations ------------------------------ */

uint32_t ws_process_number(struct ws_loader *l, uint64_t pid)
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
	m->threads[at] = (struct ws_thread){pid, 0, ws_process_number(l, pid)};
	ws_idmap_put(&l->thread_of, id, at);
	return at;
}

uint32_t ws_device_number(struct ws_loader *l, uint64_t id)
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

/* A device without a name is of the maker of the library whose functions the trace names. */
static void find_makers(struct ws_model *m)
{
	int hip = 0;

	for (size_t i = 0; i < m->ntexts && !hip; i++) {
		const char *name = m->texts[i].ptr;

		hip = m->texts[i].len > 3 && !memcmp(name, "hip", 3) && name[3] >= 'A' &&
		      name[3] <= 'Z';
	}
	for (size_t i = 0; i < m->ndevices; i++)
		m->devices[i].is_amd |= hip && m->devices[i].name == WS_TEXT_EMPTY;
}

static void on_device(void *loader, const void *row)
{
	const struct ws_row_device *r = row;
	struct ws_loader *l = loader;
	const uint32_t at = ws_device_number(l, r->id);

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
}

/*
 * ROCm describes device 0 and runs on another number: a device without a name is like AMD's named
 * ones if these all have one name.
 */
static void share_name(struct ws_model *m)
{
	const struct ws_device *named = NULL;

	for (size_t i = 0; i < m->ndevices; i++) {
		const struct ws_device *d = &m->devices[i];

		if (d->name == WS_TEXT_EMPTY ||
		    !ws_device_name_is_amd(m->texts[d->name].ptr, m->texts[d->name].len))
			continue;
		if (named && d->name != named->name)
			return;
		named = d;
	}
	for (size_t i = 0; named && i < m->ndevices; i++)
		if (m->devices[i].name == WS_TEXT_EMPTY) {
			m->devices[i].name = named->name;
			m->devices[i].kind = named->kind;
			m->devices[i].facts = named->facts;
			m->devices[i].memory_bytes = named->memory_bytes;
		}
}

/* What follows from limits, clocks and sizes: occupancy's limits, peaks. */
static enum ws_status look_up_devices(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;

	WS_FORWARD(ws_peaks_new(l->opts->peaks, l->opts->peaks_len, &m->peaks, err));
	share_name(m);
	for (size_t i = 0; i < m->ndevices; i++) {
		struct ws_device *d = &m->devices[i];
		struct ws_bytes name;

		if (d->name == WS_TEXT_EMPTY && l->opts->device_name)
			d->name = ws_intern_text(m, ws_bytes_of(l->opts->device_name));
		name = m->texts[d->name];

		d->is_amd = ws_device_name_is_amd(name.ptr, name.len);
		/* how NVIDIA's multiprocessors share out registers and memory */
		d->has_limits = !d->is_amd && ws_sm_limits_from(&d->facts, &d->limits);
		d->has_peaks = ws_peaks_find(m->peaks, name.ptr, name.len, &d->peaks);
	}
	return WS_OK;
}

static void on_thread(void *loader, const void *row)
{
	const struct ws_row_thread *r = row;
	struct ws_loader *l = loader;
	const uint32_t at = ws_thread_number(l, r->id, r->pid); /* the array may move */

	l->m->threads[at].tid = r->tid;
}

static void demangle(struct ws_loader *l, uint32_t recorded, struct ws_config *c)
{
	struct ws_model *m = l->m;
	struct ws_buf *made = &m->made[m->nmade];
	struct ws_bytes name = m->texts[recorded];

	c->name = recorded;
	ws_demangle(name.ptr, name.len, made);
	if (made->len == name.len && !memcmp(made->data, name.ptr, name.len)) {
		ws_buf_free(made);
		return;
	}
	m->nmade++;
	c->name = ws_intern_text(m, (struct ws_bytes){made->data, made->len});
}

/* What a kernel name tells; `recorded` is its text in the trace. */
static void describe_kernel(struct ws_loader *l, uint32_t recorded, struct ws_config *c)
{
	struct ws_model *m = l->m;
	struct ws_kernel_traits traits;
	struct ws_bytes name = m->texts[recorded];

	if (!l->classifier) {
		demangle(l, recorded, c);
		return;
	}
	ws_classify(l->classifier, name.ptr, name.len, &traits);
	c->tensor = (uint8_t)traits.tensor;
	c->call = (uint8_t)traits.call;
	if (traits.op_class != WS_CLASS_OTHER)
		c->name_class = ws_intern_text(m, ws_bytes_of(ws_op_class_name(traits.op_class)));
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
		c->name_dtype = ws_intern_text(m, ws_bytes_of(ws_name_dtype_name(traits.dtype)));

	demangle(l, recorded, c);
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
	c->process = ws_process_number(l, r->pid);
	c->device = ws_device_number(l, r->device);
	c->stream = r->stream;
	c->shape = (struct ws_launch_shape){r->grid_x,  r->grid_y,  r->grid_z,    r->block_x,
	                                    r->block_y, r->block_z, r->registers, 0};
	/* absurd sizes are unknown to the estimate, whatever the sum wraps to */
	if (__builtin_add_overflow(r->shared_static_bytes, r->shared_dynamic_bytes,
	                           &c->shape.shared_bytes))
		c->shape.shared_bytes = UINT64_MAX;
	c->has_occupancy =
	        m->devices[c->device].has_limits &&
	        ws_occupancy_estimate(&m->devices[c->device].limits, &c->shape, &c->occupancy);
	ws_idmap_put(&l->config_of, r->id, at);
}

static enum ws_status load_configs(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;

	m->nconfigs = 1;
	WS_NEW(&m->arena, m->configs, ws_trace_reader_count(l->r, WS_KIND_LAUNCH_CONFIG) + 1);
	WS_FORWARD(ws_load_each(l, WS_KIND_LAUNCH_CONFIG, on_config, l, err));
	/* where kernels go whose configuration is in a damaged part of the file */
	m->configs[0].name = WS_TEXT_UNKNOWN_KERNEL;
	m->configs[0].process = WS_NONE;
	if (!m->ndevices) {
		m->configs[0].device = ws_device_number(l, 0);
		return WS_OK;
	}
	return WS_OK;
}

/* One short name for each kernel name. */
static void load_short_names(struct ws_loader *l)
{
	struct ws_model *m = l->m;
	struct ws_bytes *names, *shorts;
	uint32_t *text;
	size_t n = 0;

	m->nshort = m->ntexts;
	WS_NEW(&l->temp, names, m->nconfigs);
	WS_NEW(&l->temp, shorts, m->nconfigs);
	WS_NEW(&l->temp, text, m->nconfigs);
	WS_NEW(&m->arena, m->short_names, m->nshort);
	for (size_t i = 0; i < m->nconfigs; i++) {
		uint32_t name = m->configs[i].name;

		/* any length marks it as seen */
		if (m->short_names[name].len)
			continue;
		m->short_names[name] = m->texts[name];
		text[n] = name;
		names[n++] = m->texts[name];
	}
	ws_short_names(names, n, &m->short_text, shorts);
	for (size_t i = 0; i < n; i++)
		m->short_names[text[i]] = shorts[i];
}

static uint32_t text_of_string(void *model, uint64_t string_id)
{
	return ws_model_text(model, string_id);
}

static enum ws_status load_payloads(struct ws_loader *l, struct ws_err *err)
{
	struct ws_column_data schema = {0}, field = {0}, entry = {0}, payload = {0};
	struct ws_payload_tables tables = {&schema,        &field,      &entry, &payload,
	                                   text_of_string, l->m->texts, l->m};
	enum ws_status status = ws_load_kind(l, WS_KIND_PAYLOAD_SCHEMA, &schema, err);

	WS_THEN(status, ws_load_kind(l, WS_KIND_PAYLOAD_FIELD, &field, err));
	WS_THEN(status, ws_load_kind(l, WS_KIND_PAYLOAD_ENUM, &entry, err));
	WS_THEN(status, ws_load_kind(l, WS_KIND_PAYLOAD, &payload, err));
	if (status == WS_OK)
		ws_ops_decode(&tables, &l->m->ops);
	for (uint64_t i = 0; i < payload.rows && status == WS_OK; i++)
		ws_idmap_put(&l->payload_of, ws_value(&payload, WS_COL_payload_id, i), (uint32_t)i);
	ws_column_data_release(&schema);
	ws_column_data_release(&field);
	ws_column_data_release(&entry);
	ws_column_data_release(&payload);
	return status;
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

enum ws_status ws_load_dictionaries(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m;

	WS_FORWARD(load_texts(l, ws_trace_reader_count(l->r, WS_KIND_LAUNCH_CONFIG), err));
	WS_FORWARD(ws_load_each(l, WS_KIND_PROCESS, on_process, l, err));
	WS_FORWARD(ws_load_each(l, WS_KIND_DEVICE, on_device, l, err));
	WS_FORWARD(ws_load_each(l, WS_KIND_DEVICE_ATTR, on_device_attr, l, err));
	WS_FORWARD(look_up_devices(l, err));
	WS_FORWARD(ws_load_each(l, WS_KIND_THREAD, on_thread, l, err));
	/* rules of the user\'s are read to say what is wrong with them */
	if (!l->plain_names || l->opts->rules)
		WS_FORWARD(
		        ws_classifier_new(l->opts->rules, l->opts->rules_len, &l->classifier, err));
	WS_FORWARD(load_configs(l, err));
	load_short_names(l);
	find_makers(l->m);
	WS_FORWARD(load_payloads(l, err));
	m = l->m;
	WS_NEW(&m->arena, m->ends, ws_trace_reader_count(l->r, WS_KIND_PROCESS_END));
	WS_FORWARD(ws_load_each(l, WS_KIND_PROCESS_END, on_end, l, err));
	WS_FORWARD(ws_resources_load(&l->m->resources, l->r, err));
	WS_FORWARD(ws_load_kind(l, WS_KIND_META, &l->m->meta, err));
	return ws_load_kind(l, WS_KIND_LOSS, &l->m->loss, err);
}
