/*
 * Dictionaries of a trace: names, processes, threads, devices, launch
 * configurations, payloads.
 */
#include "formats/base/grow.h"
#include "formats/trace/feed.h"
#include "report/model/load.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"
#include "report/model/columns.h"
#include "report/kernel_info/demangle.h"
#include "report/kernel_info/short_name.h"

enum ws_status ws_check_count(uint64_t rows, struct ws_err *err)
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
	status = ws_check_count(t->rows, err);
	if (status != WS_OK)
		ws_column_data_release(t);
	return status;
}

enum ws_status ws_load_blocks(struct ws_loader *l, enum ws_kind kind, ws_column_set columns,
                              ws_block_fn fn, void *to, struct ws_err *err)
{
	ws_column_set wanted[WS_KIND_END] = {0};
	const struct ws_block_rows *b;
	struct ws_feed *feed;
	uint64_t row = 0;
	int64_t until_ns;
	enum ws_status status;

	wanted[kind] = columns;
	WS_FORWARD(ws_feed_open(&feed, l->r, wanted, WS_FEED_BY_FILE, NULL, err));
	do {
		status = ws_feed_next(feed, &b, &until_ns, err);
		if (status == WS_OK && b) {
			status = fn(l, b, row, to, err);
			row += b->info.rows;
		}
	} while (status == WS_OK && b);
	ws_feed_close(feed);
	return status;
}

/* --- texts ------------------------------------------------------------------------ */

/* A launch configuration adds at most: demangled name, class, direction, dtype. */
#define TEXTS_OF_CONFIG 4
/* Names of kinds, directions and dtypes of framework operations. */
#define TEXTS_OF_OPS 64

/* texts[] has room for every text there can be. */
enum ws_status ws_intern_text(struct ws_model *m, struct ws_bytes text, uint32_t *out,
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

enum ws_status ws_steady_text(struct ws_model *m, uint32_t name, uint32_t *out, struct ws_err *err)
{
	struct ws_bytes text = m->texts[name];
	enum ws_status status = WS_OK;
	char room[256], *steady;
	size_t n;

	*out = m->steady_of[name];
	if (*out || name == WS_TEXT_EMPTY)
		return WS_OK;
	steady = text.len <= sizeof(room) ? room : malloc(text.len);
	WS_FAIL_IF(!steady, err, NO_MEMORY, "out of memory for a name of %zu bytes", text.len);
	m->steady_of[name] = name;
	n = ws_name_steady(text, steady);
	if (n != text.len || memcmp(steady, text.ptr, n)) {
		uint64_t id = ws_strtab_find(&m->interned, steady, n);
		char *kept = id ? NULL : ws_arena_copy(&m->arena, steady, n);

		if (id)
			m->steady_of[name] = (uint32_t)id;
		else if (kept)
			status = ws_intern_text(m, (struct ws_bytes){kept, n}, &m->steady_of[name],
			                        err);
		else
			status = ws_arena_check(&m->arena, "the names of the trace", err);
	}
	if (steady != room)
		free(steady);
	*out = m->steady_of[name];
	return status;
}

static enum ws_status load_texts(struct ws_loader *l, uint64_t nconfigs, struct ws_err *err)
{
	static const char *const known[] = {
#define X(id, text) text,
	        WS_KNOWN_TEXTS(X)
#undef X
	};
	struct ws_model *m = l->m;
	uint32_t at;
	size_t capacity;

	WS_FORWARD(ws_load_kind(l, WS_KIND_STRING, &m->strings, err));
	/* thrice the strings: modules are called by a part of theirs, names have a steady form */
	capacity = sizeof(known) / sizeof(*known) + 3 * m->strings.rows +
	           TEXTS_OF_CONFIG * nconfigs + TEXTS_OF_OPS;
	WS_NEW(&m->arena, m->texts, capacity);
	WS_NEW(&m->arena, m->steady_of, capacity);
	WS_NEW(&m->arena, m->made, nconfigs);
	WS_FORWARD(ws_arena_check(&m->arena, "the names of the trace", err));
	m->texts[WS_TEXT_EMPTY] = (struct ws_bytes){"", 0};
	m->ntexts = 1;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		WS_FORWARD(
		        ws_intern_text(m, (struct ws_bytes){known[i], strlen(known[i])}, &at, err));
	for (uint64_t i = 0; i < m->strings.rows; i++) {
		WS_FORWARD(
		        ws_intern_text(m, ws_blob(&m->strings, WS_COL_string_text, i), &at, err));
		WS_FORWARD(ws_idmap_put(&m->text_of, ws_value(&m->strings, WS_COL_string_id, i), at,
		                        err));
	}
	return WS_OK;
}

/* --- processes, threads, devices, launch configurations ------------------------------ */

enum ws_status ws_process_number(struct ws_loader *l, uint64_t pid, uint32_t *out,
                                 struct ws_err *err)
{
	struct ws_model *m = l->m;

	*out = ws_idmap_get(&l->process_of, pid);
	if (*out != WS_NONE)
		return WS_OK;
	WS_FORWARD(WS_GROW(m->pids, (size_t)m->nprocesses + 1, l->processes_capacity, err));
	*out = m->nprocesses++;
	m->pids[*out] = pid;
	return ws_idmap_put(&l->process_of, pid, *out, err);
}

enum ws_status ws_thread_number(struct ws_loader *l, uint64_t id, uint64_t pid, uint32_t *out,
                                struct ws_err *err)
{
	struct ws_model *m = l->m;
	uint32_t process;

	*out = ws_idmap_get(&l->thread_of, id);
	if (*out != WS_NONE)
		return WS_OK;
	WS_FORWARD(
	        WS_GROW(l->thread_process, (size_t)m->nthreads + 1, l->processes_of_threads, err));
	WS_FORWARD(WS_GROW(m->threads, (size_t)m->nthreads + 1, l->threads_capacity, err));
	WS_FORWARD(ws_process_number(l, pid, &process, err));
	*out = m->nthreads++;
	l->thread_process[*out] = process;
	m->threads[*out] = (struct ws_thread){pid, 0, process};
	return ws_idmap_put(&l->thread_of, id, *out, err);
}

enum ws_status ws_device_number(struct ws_loader *l, uint64_t id, uint32_t *out, struct ws_err *err)
{
	struct ws_model *m = l->m;

	*out = ws_idmap_get(&l->device_of, id);
	if (*out != WS_NONE)
		return WS_OK;
	WS_FORWARD(WS_GROW(m->devices, m->ndevices + 1, l->devices_capacity, err));
	*out = (uint32_t)m->ndevices++;
	m->devices[*out] = (struct ws_device){.id = id, .kind = -1, .memory_bytes = -1};
	ws_device_facts_init(&m->devices[*out].facts);
	return ws_idmap_put(&l->device_of, id, *out, err);
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

static enum ws_status load_devices(struct ws_loader *l, struct ws_err *err)
{
	struct ws_column_data t;
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_load_kind(l, WS_KIND_DEVICE, &t, err));
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++) {
		uint64_t kind = ws_value(&t, WS_COL_device_kind, i);
		uint32_t at;

		status = ws_device_number(l, ws_value(&t, WS_COL_device_id, i), &at, err);
		if (status != WS_OK)
			break;
		l->m->devices[at].kind = kind <= WS_DEVICE_CUDA ? (int)kind : -1;
		l->m->devices[at].name = ws_model_text(l->m, ws_value(&t, WS_COL_device_name, i));
	}
	ws_column_data_release(&t);
	return status;
}

/* Limits, clocks and sizes, and what follows from them: occupancy's limits, peaks. */
static enum ws_status load_device_attrs(struct ws_loader *l, struct ws_err *err)
{
	static const char memory[] = "global_memory_bytes";
	struct ws_model *m = l->m;
	struct ws_column_data t;

	WS_FORWARD(ws_load_kind(l, WS_KIND_DEVICE_ATTR, &t, err));
	for (uint64_t i = 0; i < t.rows; i++) {
		uint32_t at =
		        ws_idmap_get(&l->device_of, ws_value(&t, WS_COL_device_attr_device, i));
		struct ws_bytes name =
		        m->texts[ws_model_text(m, ws_value(&t, WS_COL_device_attr_attr, i))];
		int64_t value = (int64_t)ws_value(&t, WS_COL_device_attr_value, i);

		if (at == WS_NONE)
			continue;
		ws_device_facts_set(&m->devices[at].facts, name.ptr, name.len, value);
		if (name.len == sizeof(memory) - 1 && !memcmp(name.ptr, memory, name.len) &&
		    value > 0)
			m->devices[at].memory_bytes = value;
	}
	ws_column_data_release(&t);
	WS_FORWARD(ws_peaks_new(l->opts->peaks, l->opts->peaks_len, &m->peaks, err));
	for (size_t i = 0; i < m->ndevices; i++) {
		struct ws_device *d = &m->devices[i];
		struct ws_bytes name = m->texts[d->name];

		d->is_amd = ws_device_name_is_amd(name.ptr, name.len);
		/* how NVIDIA's multiprocessors share out registers and memory */
		d->has_limits = !d->is_amd && ws_sm_limits_from(&d->facts, &d->limits);
		d->has_peaks = ws_peaks_find(m->peaks, name.ptr, name.len, &d->peaks);
	}
	return WS_OK;
}

static enum ws_status load_threads(struct ws_loader *l, struct ws_err *err)
{
	struct ws_column_data t;
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_load_kind(l, WS_KIND_THREAD, &t, err));
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++) {
		uint32_t at;

		status = ws_thread_number(l, ws_value(&t, WS_COL_thread_id, i),
		                          ws_value(&t, WS_COL_thread_pid, i), &at, err);
		if (status == WS_OK)
			l->m->threads[at].tid = ws_value(&t, WS_COL_thread_tid, i);
	}
	ws_column_data_release(&t);
	return status;
}

static enum ws_status intern_static(struct ws_model *m, const char *text, uint32_t *out,
                                    struct ws_err *err)
{
	return ws_intern_text(m, (struct ws_bytes){text, strlen(text)}, out, err);
}

static enum ws_status demangle(struct ws_loader *l, uint32_t recorded, struct ws_config *c,
                               struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_buf *made = &m->made[m->nmade];
	struct ws_bytes name = m->texts[recorded];

	c->name = recorded;
	WS_FORWARD(ws_demangle(name.ptr, name.len, made, err));
	if (made->len == name.len && !memcmp(made->data, name.ptr, name.len)) {
		ws_buf_free(made);
		return WS_OK;
	}
	m->nmade++;
	return ws_intern_text(m, (struct ws_bytes){made->data, made->len}, &c->name, err);
}

/* What a kernel name tells; `recorded` is its text in the trace. */
static enum ws_status describe_kernel(struct ws_loader *l, uint32_t recorded, struct ws_config *c,
                                      struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_kernel_traits traits;
	struct ws_bytes name = m->texts[recorded];

	if (!l->classifier)
		return demangle(l, recorded, c, err);
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

	return demangle(l, recorded, c, err);
}

static enum ws_status add_config(struct ws_loader *l, const struct ws_column_data *t, uint64_t row,
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
	WS_FORWARD(
	        ws_process_number(l, ws_value(t, WS_COL_launch_config_pid, row), &c->process, err));
	WS_FORWARD(ws_device_number(l, ws_value(t, WS_COL_launch_config_device, row), &c->device,
	                            err));
	c->stream = ws_value(t, WS_COL_launch_config_stream, row);
	c->shape = (struct ws_launch_shape){
	        .grid_x = ws_value(t, WS_COL_launch_config_grid_x, row),
	        .grid_y = ws_value(t, WS_COL_launch_config_grid_y, row),
	        .grid_z = ws_value(t, WS_COL_launch_config_grid_z, row),
	        .block_x = ws_value(t, WS_COL_launch_config_block_x, row),
	        .block_y = ws_value(t, WS_COL_launch_config_block_y, row),
	        .block_z = ws_value(t, WS_COL_launch_config_block_z, row),
	        .registers = ws_value(t, WS_COL_launch_config_registers, row),
	};
	/* absurd sizes are unknown to the estimate, whatever the sum wraps to */
	if (__builtin_add_overflow(ws_value(t, WS_COL_launch_config_shared_static_bytes, row),
	                           ws_value(t, WS_COL_launch_config_shared_dynamic_bytes, row),
	                           &c->shape.shared_bytes))
		c->shape.shared_bytes = UINT64_MAX;
	c->has_occupancy =
	        m->devices[c->device].has_limits &&
	        ws_occupancy_estimate(&m->devices[c->device].limits, &c->shape, &c->occupancy);
	return ws_idmap_put(&l->config_of, ws_value(t, WS_COL_launch_config_id, row), at, err);
}

static enum ws_status load_configs(struct ws_loader *l, const struct ws_column_data *t,
                                   struct ws_err *err)
{
	struct ws_model *m = l->m;

	m->nconfigs = (size_t)t->rows + 1;
	WS_NEW(&m->arena, m->configs, m->nconfigs);
	WS_FORWARD(ws_arena_check(&m->arena, "the launch configurations", err));
	for (uint64_t i = 0; i < t->rows; i++)
		WS_FORWARD(add_config(l, t, i, err));
	/* where kernels go whose configuration is in a damaged part of the file */
	m->configs[0].name = WS_TEXT_UNKNOWN_KERNEL;
	m->configs[0].process = WS_NONE;
	if (!m->ndevices)
		return ws_device_number(l, 0, &m->configs[0].device, err);
	return WS_OK;
}

/* One short name for each kernel name. */
static enum ws_status load_short_names(struct ws_loader *l, struct ws_err *err)
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
	WS_FORWARD(ws_arena_check(&l->temp, "the kernel names", err));
	WS_FORWARD(ws_arena_check(&m->arena, "the kernel names", err));
	for (size_t i = 0; i < m->nconfigs; i++) {
		uint32_t name = m->configs[i].name;

		/* any length marks it as seen */
		if (m->short_names[name].len)
			continue;
		m->short_names[name] = m->texts[name];
		text[n] = name;
		names[n++] = m->texts[name];
	}
	WS_FORWARD(ws_short_names(names, n, &m->short_text, shorts, err));
	for (size_t i = 0; i < n; i++)
		m->short_names[text[i]] = shorts[i];
	return WS_OK;
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
	WS_THEN(status, ws_ops_decode(&tables, &l->m->ops, err));
	for (uint64_t i = 0; i < payload.rows && status == WS_OK; i++)
		status = ws_idmap_put(&l->payload_of, ws_value(&payload, WS_COL_payload_id, i),
		                      (uint32_t)i, err);
	ws_column_data_release(&schema);
	ws_column_data_release(&field);
	ws_column_data_release(&entry);
	ws_column_data_release(&payload);
	return status;
}

/* --- process ends, losses, provenance ---------------------------------------------------- */

static enum ws_status load_ends(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_column_data t;

	WS_FORWARD(ws_load_kind(l, WS_KIND_PROCESS_END, &t, err));
	WS_NEW(&m->arena, m->ends, t.rows);
	m->nends = m->ends ? t.rows : 0;
	for (uint64_t i = 0; i < m->nends; i++)
		m->ends[i] = (struct ws_process_end){
		        ws_value(&t, WS_COL_process_end_pid, i),
		        (int)(ws_value(&t, WS_COL_process_end_how, i) & 0xff),
		        (int64_t)ws_value(&t, WS_COL_process_end_code, i),
		};
	ws_column_data_release(&t);
	return ws_arena_check(&m->arena, "the ends of processes", err);
}

static enum ws_status load_processes(struct ws_loader *l, struct ws_err *err)
{
	struct ws_column_data t;

	WS_FORWARD(ws_load_kind(l, WS_KIND_PROCESS, &t, err));
	l->m->processes = t.rows;
	ws_column_data_release(&t);
	return WS_OK;
}

enum ws_status ws_load_dictionaries(struct ws_loader *l, struct ws_err *err)
{
	struct ws_column_data configs;
	enum ws_status status;

	WS_FORWARD(ws_load_kind(l, WS_KIND_LAUNCH_CONFIG, &configs, err));
	status = load_texts(l, configs.rows, err);
	WS_THEN(status, load_processes(l, err));
	WS_THEN(status, load_devices(l, err));
	WS_THEN(status, load_device_attrs(l, err));
	WS_THEN(status, load_threads(l, err));
	/* rules of the user\'s are read to say what is wrong with them */
	if (status == WS_OK && (!l->plain_names || l->opts->rules))
		status = ws_classifier_new(l->opts->rules, l->opts->rules_len, &l->classifier, err);
	WS_THEN(status, load_configs(l, &configs, err));
	ws_column_data_release(&configs);
	WS_THEN(status, load_short_names(l, err));
	find_makers(l->m);
	WS_THEN(status, load_payloads(l, err));
	WS_THEN(status, load_ends(l, err));
	WS_THEN(status, ws_load_kind(l, WS_KIND_META, &l->m->meta, err));
	WS_THEN(status, ws_load_kind(l, WS_KIND_LOSS, &l->m->loss, err));
	return status;
}
