/*
 * What an export says of itself, of the machine and of the processes; losses
 * and records without a place, as diagnostics.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "report/base/names.h"
#include "report/export/nsys/nsys.h"

/* --- tables of names and values --- */

static void put_pair(struct ws_nsys_out *o, enum ws_nsys_table table, enum ws_nsys_column name,
                     struct ws_bytes key, struct ws_bytes value)
{
	ws_nsys_set_text(o, name, key);
	ws_nsys_set_text(o, name + 1, value);
	ws_nsys_put(o, table);
}

static void write_versions(struct ws_nsys_out *o)
{
	static const struct {
		const char *name, *value;
	} rows[] = {
	        {"EXPORT_PRODUCT_NAME", "Warpsheet"},  {"EXPORT_PRODUCT_VERSION", WS_VERSION},
	        {"EXPORT_SCHEMA_VERSION", "3.17.2"},   {"EXPORT_SCHEMA_VERSION_MAJOR", "3"},
	        {"EXPORT_SCHEMA_VERSION_MINOR", "17"}, {"EXPORT_SCHEMA_VERSION_MICRO", "2"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		put_pair(o, WS_NSYS_EXPORT, WS_NSYS_EXPORT_name, ws_bytes_of(rows[i].name),
		         ws_bytes_of(rows[i].value));
}

static void put_system(struct ws_nsys_out *o, const char *name, struct ws_bytes value)
{
	ws_nsys_set_text(o, WS_NSYS_SYSTEM_devStateName, ws_bytes_of("Warpsheet"));
	ws_nsys_set_text(o, WS_NSYS_SYSTEM_name, ws_bytes_of(name));
	ws_nsys_set_text(o, WS_NSYS_SYSTEM_value, value);
	ws_nsys_put(o, WS_NSYS_SYSTEM);
}

/* Facts go where an import looks for them; all of them stand in META_DATA_CAPTURE by their key. */
static void on_meta(void *ctx, const void *data)
{
	static const struct {
		const char *table, *name, *key;
	} facts[] = {
#define FACT(table, name, key) {table, name, key},
#include "formats/nsys/nsys.def"
	};
	const struct ws_row_meta *row = data;
	struct ws_nsys_out *o = ctx;

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		if (!ws_name_is(row->key, facts[i].key))
			continue;
		if (!strcmp(facts[i].table, "TARGET_INFO_SYSTEM_ENV")) {
			put_system(o, facts[i].name, row->value);
			return;
		}
		put_pair(o, WS_NSYS_CAPTURE, WS_NSYS_CAPTURE_name, ws_bytes_of(facts[i].name),
		         row->value);
	}
	put_pair(o, WS_NSYS_CAPTURE, WS_NSYS_CAPTURE_name, row->key, row->value);
}

/* --- times --- */

static void write_session(struct ws_nsys_out *o)
{
	const struct ws_trace_summary *s = ws_trace_reader_summary(o->r);
	time_t seconds = (time_t)(s->base_ns / 1000000000);
	char text[64];
	struct tm tm;

	if (o->first_ns <= o->last_ns) {
		int64_t duration;

		if (__builtin_sub_overflow(o->last_ns, o->first_ns, &duration))
			duration = INT64_MAX;
		SET(DETAILS_globalVid, INT64_C(1) << 48);
		SET(DETAILS_duration, duration);
		SET(DETAILS_startTime, o->first_ns);
		SET(DETAILS_stopTime, o->last_ns);
		ws_nsys_put(o, WS_NSYS_DETAILS);
	}
	if (!s->base_ns)
		return;
	SET(SESSION_utcEpochNs, s->base_ns);
	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		ws_nsys_set_text(o, WS_NSYS_SESSION_utcTime, ws_bytes_of(text));
	ws_nsys_put(o, WS_NSYS_SESSION);
}

/* --- devices --- */

static void set_attr(struct ws_nsys_out *o, struct ws_bytes attr, int64_t value)
{
	static const struct {
		enum ws_nsys_column column;
		const char *attr;
	} attrs[] = {
#define GPU(column, attr) {WS_NSYS_GPU_##column, attr},
#include "formats/nsys/nsys.def"
	};
	const int64_t threads_per_warp = 32;

	for (size_t i = 0; i < sizeof(attrs) / sizeof(*attrs); i++)
		if (ws_name_is(attr, attrs[i].attr))
			ws_nsys_set(o, attrs[i].column, value);
	if (ws_name_is(attr, "max_threads_per_sm"))
		ws_nsys_set(o, WS_NSYS_GPU_maxWarpsPerSm, value / threads_per_warp);
}

static void write_device(struct ws_nsys_out *o, const struct ws_row_device *d,
                         const struct ws_records *attrs, int64_t *sm_count)
{
	const struct ws_row_device_attr *attr = attrs->rows;

	*sm_count = 0;
	SET(GPU_vmId, INT64_C(1) << 48);
	SET(GPU_id, d->id);
	ws_nsys_set_text(o, WS_NSYS_GPU_name, ws_records_text(&o->strings, d->name));
	SET(GPU_cuDevice, d->id);
	for (size_t i = 0; i < attrs->n; i++) {
		struct ws_bytes text = ws_records_text(&o->strings, attr[i].attr);

		if (attr[i].device != d->id)
			continue;
		set_attr(o, text, attr[i].value);
		if (ws_name_is(text, "sm_count"))
			*sm_count = attr[i].value;
	}
	ws_nsys_put(o, WS_NSYS_GPU);
}

/* A device of each process, by the same number: that is what a trace records. */
static void write_cuda_device(struct ws_nsys_out *o, uint64_t id, int64_t sm_count,
                              const struct ws_records *processes)
{
	const struct ws_row_process *p = processes->rows;

	for (size_t i = 0; i < processes->n; i++) {
		if (ws_records_find(processes, p[i].pid) != &p[i])
			continue;
		SET(CUDA_DEVICE_gpuId, id);
		SET(CUDA_DEVICE_cudaId, id);
		SET(CUDA_DEVICE_pid, p[i].pid);
		SET_KNOWN(CUDA_DEVICE_numMultiprocessors, sm_count);
		ws_nsys_put(o, WS_NSYS_CUDA_DEVICE);
	}
}

static enum ws_status write_devices(struct ws_nsys_out *o, const struct ws_records *processes,
                                    struct ws_err *err)
{
	struct ws_records devices, attrs = {0};
	enum ws_status status = ws_records_load_by(&devices, o->r, WS_KIND_DEVICE, 0, err);
	const struct ws_row_device *d = devices.rows;
	int64_t sm_count;

	WS_THEN(status, ws_records_load(&attrs, o->r, WS_KIND_DEVICE_ATTR, err));
	for (size_t i = 0; i < devices.n && status == WS_OK; i++) {
		if (ws_records_find(&devices, d[i].id) != &d[i])
			continue; /* a later row says more */
		write_device(o, &d[i], &attrs, &sm_count);
		write_cuda_device(o, d[i].id, sm_count, processes);
	}
	ws_records_free(&devices);
	ws_records_free(&attrs);
	return status;
}

/* --- processes and threads --- */

static void write_processes(struct ws_nsys_out *o, const struct ws_records *processes)
{
	const struct ws_row_process *p = processes->rows;
	int64_t id;

	for (size_t i = 0; i < processes->n; i++) {
		if (ws_records_find(processes, p[i].pid) != &p[i])
			continue; /* the last image's program */
		ws_nsys_global_pid(o, p[i].pid, &id);
		SET(PROCESS_globalPid, id);
		SET(PROCESS_pid, p[i].pid);
		ws_nsys_set_text(o, WS_NSYS_PROCESS_name,
		                 ws_records_text(&o->strings, p[i].program));
		ws_nsys_put(o, WS_NSYS_PROCESS);
	}
}

static void write_threads(struct ws_nsys_out *o)
{
	const struct ws_row_thread *t = o->threads.rows;
	int64_t id, name;

	/* some reports want the table even when it is empty */
	for (size_t i = 0; i < o->threads.n; i++) {
		if (!t[i].name || ws_records_find(&o->threads, t[i].id) != &t[i])
			continue;
		ws_nsys_global_tid(o, t[i].id, &id);
		ws_nsys_string_id(o, t[i].name, &name);
		SET(THREAD_nameId, name);
		SET(THREAD_globalTid, id);
		ws_nsys_put(o, WS_NSYS_THREAD);
	}
}

/* --- diagnostics --- */

static void warn(struct ws_nsys_out *o, int64_t time_ns, const char *text)
{
	enum { FROM_TARGET = 1, ANALYSIS = 3, WARNING = 2 };

	SET(DIAGNOSTIC_timestamp, time_ns);
	SET(DIAGNOSTIC_timestampType, FROM_TARGET);
	SET(DIAGNOSTIC_source, ANALYSIS);
	SET(DIAGNOSTIC_severity, WARNING);
	ws_nsys_set_text(o, WS_NSYS_DIAGNOSTIC_text, ws_bytes_of(text));
	ws_nsys_put(o, WS_NSYS_DIAGNOSTIC);
}

/* The last reading of each cause counts. */
static enum ws_status write_losses(struct ws_nsys_out *o, struct ws_err *err)
{
	struct ws_records losses;
	enum ws_status status =
	        ws_records_load_by(&losses, o->r, WS_KIND_LOSS, WS_COL_loss_cause, err);
	const struct ws_row_loss *row = losses.rows;

	for (size_t i = 0; i < losses.n && status == WS_OK; i++) {
		struct ws_bytes cause = ws_records_text(&o->strings, row[i].cause);
		char text[200];

		if (ws_records_find(&losses, row[i].cause) != &row[i] || !row[i].count)
			continue;
		snprintf(text, sizeof(text), "lost in the recording: %.*s: %" PRIu64,
		         cause.len > 100 ? 100 : (int)cause.len, (const char *)cause.ptr,
		         row[i].count);
		warn(o, row[i].time_ns, text);
	}
	ws_records_free(&losses);
	return status;
}

static void write_left_out(struct ws_nsys_out *o)
{
	char text[200];

	if (!o->stats->without_time)
		return;
	snprintf(text, sizeof(text),
	         "not in this export: kernels and copies without time: %" PRIu64,
	         o->stats->without_time);
	warn(o, 0, text);
}

static void on_process_end(void *ctx, const void *data)
{
	const struct ws_row_process_end *row = data;
	char text[100];

	if (row->how != WS_END_SIGNALED && row->code == 0)
		return;
	snprintf(text, sizeof(text), "process %" PRIu64 " %s %" PRId64, row->pid,
	         row->how == WS_END_SIGNALED ? "was ended by signal" : "ended with status",
	         row->code);
	warn(ctx, row->time_ns, text);
}

static enum ws_status write_info(struct ws_nsys_out *o, struct ws_records *processes,
                                 struct ws_err *err)
{
	WS_FORWARD(ws_records_load_by(processes, o->r, WS_KIND_PROCESS, 0, err));
	write_versions(o);
	WS_FORWARD(ws_records_each(o->r, WS_KIND_META, on_meta, o, err));
	write_session(o);
	write_processes(o, processes);
	WS_FORWARD(write_devices(o, processes, err));
	WS_FORWARD(ws_nsys_write_table(o, WS_NSYS_CONTEXT, err));
	WS_FORWARD(ws_nsys_write_table(o, WS_NSYS_STREAM, err));
	write_threads(o);
	WS_FORWARD(write_losses(o, err));
	write_left_out(o);
	return ws_records_each(o->r, WS_KIND_PROCESS_END, on_process_end, o, err);
}

enum ws_status ws_nsys_write_info(struct ws_nsys_out *o, struct ws_err *err)
{
	struct ws_records processes;
	enum ws_status status = write_info(o, &processes, err);

	ws_records_free(&processes);
	return status;
}
