/* The timeline as a file: its form in JSON, the order of what is written, and the exporters. */
#include "report/export/chrome/chrome.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/outfile.h"
#include "formats/base/system/system.h"
#include "report/export/chrome/private.h"
#include "report/export/exporter.h"
#include "report/export/source.h"

/* --- JSON: the Trace Event Format ------------------------------------------------------------ */

#define NS_DIGITS 3 /* times are microseconds with three decimals: exact nanoseconds */

static void begin_event(struct ws_chrome *ch, const char *phase, uint64_t pid, uint64_t tid,
                        int64_t time_ns)
{
	struct ws_json_writer *j = &ch->j;

	ws_json_break(j);
	ws_json_object_begin(j);
	ws_json_str(ws_json_key(j, "ph"), phase);
	ws_json_u64(ws_json_key(j, "pid"), pid);
	ws_json_u64(ws_json_key(j, "tid"), tid);
	ws_json_decimal(ws_json_key(j, "ts"), ws_chrome_since_begin(ch, time_ns), NS_DIGITS);
}

/* --- names and order of processes and tracks --- */

/* An event about a process or track, which stays open inside its arguments. */
static void begin_label(struct ws_chrome *ch, const char *what, uint64_t pid, uint64_t tid)
{
	begin_event(ch, "M", pid, tid, ch->begin_ns);
	ws_json_str(ws_json_key(&ch->j, "name"), what);
	ws_json_object_begin(ws_json_key(&ch->j, "args"));
}

static void end_args_and_event(struct ws_chrome *ch)
{
	ws_json_object_end(&ch->j);
	ws_json_object_end(&ch->j);
}

static void put_label(struct ws_chrome *ch, const char *what, uint64_t pid, uint64_t tid,
                      struct ws_bytes name)
{
	begin_label(ch, what, pid, tid);
	ws_json_string(ws_json_key(&ch->j, "name"), name.ptr, name.len);
	end_args_and_event(ch);
}

static void put_sort_index(struct ws_chrome *ch, const char *what, uint64_t pid, uint64_t tid,
                           uint64_t index)
{
	begin_label(ch, what, pid, tid);
	ws_json_u64(ws_json_key(&ch->j, "sort_index"), index);
	end_args_and_event(ch);
}

static void process(struct ws_chrome *ch, uint64_t pid, struct ws_bytes name, uint64_t order)
{
	put_label(ch, "process_name", pid, 0, name);
	put_sort_index(ch, "process_sort_index", pid, 0, order);
}

static void subtrack(struct ws_chrome *ch, const struct ws_chrome_track *t, uint32_t number,
                     struct ws_bytes name)
{
	put_label(ch, "thread_name", t->pid, t->tid[number], name);
	put_sort_index(ch, "thread_sort_index", t->pid, t->tid[number],
	               (uint64_t)t->rank * 256 + number);
}

/* --- events --- */

static void begin_slice(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_chrome_track *t = &ch->track[s->track];
	int64_t dur_ns;

	if (__builtin_sub_overflow(s->end_ns, s->start_ns, &dur_ns))
		dur_ns = INT64_MAX;
	begin_event(ch, "X", t->pid, t->tid[s->subtrack], s->start_ns);
	ws_json_decimal(ws_json_key(&ch->j, "dur"), dur_ns, NS_DIGITS);
}

static void begin_mark(struct ws_chrome *ch, int64_t time_ns, uint64_t thread,
                       const struct ws_chrome_track *t)
{
	const struct ws_row_thread *row = ws_records_find(&ch->kind[WS_KIND_THREAD], thread);
	const uint64_t *pid = ws_map_get(&ch->json_pids, row ? row->pid : 0);
	uint64_t other_pid = pid ? *pid : 0, other_tid = row ? row->tid : 0;

	begin_event(ch, "i", t ? t->pid : other_pid, t ? t->tid[0] : other_tid, time_ns);
	ws_json_str(ws_json_key(&ch->j, "s"), "t");
}

static void put_name(struct ws_chrome *ch, struct ws_bytes name, const char *category)
{
	ws_json_string(ws_json_key(&ch->j, "name"), name.ptr, name.len);
	ws_json_str(ws_json_key(&ch->j, "cat"), category);
	ws_json_object_begin(ws_json_key(&ch->j, "args"));
}

static void put_arg(struct ws_chrome *ch, const char *key, const struct ws_chrome_value *value)
{
	struct ws_json_writer *j = &ch->j;

	ws_json_key(j, key);
	switch (value->type) {
	case WS_CHROME_U64:
		ws_json_u64(j, value->u64);
		break;
	case WS_CHROME_I64:
		ws_json_i64(j, value->i64);
		break;
	case WS_CHROME_F64:
		ws_json_f64(j, value->f64);
		break;
	case WS_CHROME_YES:
		ws_json_bool(j, 1);
		break;
	case WS_CHROME_TEXT:
		ws_json_string(j, value->text.ptr, value->text.len);
		break;
	case WS_CHROME_ARRAY:
		ws_json_array_text(j, value->text.ptr, value->text.len);
		break;
	case WS_CHROME_SIZES:
		ws_json_array_begin(j);
		for (size_t i = 0; i < 3; i++)
			ws_json_u64(j, value->sizes[i]);
		ws_json_array_end(j);
		break;
	}
}

/* --- arrows --- */

static void put_arrow(struct ws_chrome *ch, const char *what, uint64_t id, uint64_t pid,
                      uint64_t tid, int64_t time_ns, int begins)
{
	begin_event(ch, begins ? "s" : "f", pid, tid, time_ns);
	ws_json_str(ws_json_key(&ch->j, "name"), what);
	ws_json_str(ws_json_key(&ch->j, "cat"), what);
	ws_json_u64(ws_json_key(&ch->j, "id"), id);
	if (!begins) {
		/* it ends at the slice around this moment, not at the next one */
		ws_json_str(ws_json_key(&ch->j, "bp"), "e");
	}
	ws_json_object_end(&ch->j);
}

static void json_arrow(struct ws_chrome *ch, const struct ws_chrome_slice *s, uint64_t id,
                       int begins)
{
	const struct ws_chrome_track *t = &ch->track[s->track];

	put_arrow(ch, "ac2g", id, t->pid, t->tid[s->subtrack], s->start_ns, begins);
}

static void link(struct ws_chrome *ch, uint64_t id, const struct ws_chrome_track *t,
                 int64_t time_ns, int begins)
{
	put_arrow(ch, "fwdbwd", id, t->pid, t->tid[0], time_ns, begins);
}

/* --- counters --- */

static void json_counter(struct ws_chrome *ch, uint64_t pid, struct ws_bytes name, int64_t time_ns,
                         const char *unit, int64_t value, unsigned digits)
{
	begin_event(ch, "C", pid, 0, time_ns);
	ws_json_string(ws_json_key(&ch->j, "name"), name.ptr, name.len);
	ws_json_object_begin(ws_json_key(&ch->j, "args"));
	ws_json_key(&ch->j, unit);
	if (digits)
		ws_json_decimal(&ch->j, value, digits);
	else
		ws_json_i64(&ch->j, value);
	end_args_and_event(ch);
}

/* --- the file --- */

static void put_meta(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	ws_json_break(&ch->j);
	ws_json_string(ws_json_key(&ch->j, key), value.ptr, value.len);
}

static enum ws_status json_begin(struct ws_chrome *ch, FILE *f, struct ws_err *err)
{
	const struct ws_trace_summary *s = ws_trace_reader_summary(ch->r);
	struct ws_json_writer *j = &ch->j;
	int64_t base_ns;

	(void)err;
	if (__builtin_add_overflow(s->base_ns, ch->begin_ns, &base_ns))
		base_ns = 0;
	ws_json_begin(j, f);
	ws_json_object_begin(j);
	ws_json_break(j);
	ws_json_i64(ws_json_key(j, "schemaVersion"), 1);
	ws_json_break(j);
	ws_json_str(ws_json_key(j, "displayTimeUnit"), "ns");
	ws_json_break(j);
	ws_json_i64(ws_json_key(j, "baseTimeNanoseconds"), base_ns);
	ws_chrome_put_devices(ch);
	ws_chrome_put_pytorch_meta(ch);
	ws_json_break(j);
	ws_json_object_begin(ws_json_key(j, "otherData"));
	ws_chrome_each_meta(ch, put_meta);
	ws_json_object_end(j);
	ws_json_break(j);
	ws_json_array_begin(ws_json_key(j, "traceEvents"));
	return WS_OK;
}

static enum ws_status json_end(struct ws_chrome *ch, struct ws_err *err)
{
	ws_json_break(&ch->j);
	ws_json_array_end(&ch->j);
	ws_json_break(&ch->j);
	ws_json_object_end(&ch->j);
	return ws_json_finish(&ch->j, err);
}

const struct ws_chrome_form ws_chrome_json = {
        .begin = json_begin,
        .end = json_end,
        .process = process,
        .subtrack = subtrack,
        .begin_slice = begin_slice,
        .begin_mark = begin_mark,
        .name = put_name,
        .arg = put_arg,
        .end_args = end_args_and_event,
        .arrow = json_arrow,
        .link = link,
        .counter = json_counter,
};

/* --- the whole timeline ---------------------------------------------------------------------- */

/* Devices stand below the processes. */
#define DEVICE_SORT_INDEX 1000000

/* --- loading --- */

static enum ws_status load_kinds(struct ws_chrome *ch, struct ws_err *err)
{
	static const enum ws_kind found_by_id[] = {WS_KIND_STRING,        WS_KIND_THREAD,
	                                           WS_KIND_LAUNCH_CONFIG, WS_KIND_DEVICE,
	                                           WS_KIND_PAYLOAD,       WS_KIND_OP_CONFIG,
	                                           WS_KIND_PROCESS};
	static const enum ws_kind rows[] = {
	        WS_KIND_DEVICE_ATTR,  WS_KIND_KERNEL,   WS_KIND_MEMCPY,        WS_KIND_MEMSET,
	        WS_KIND_GRAPH_LAUNCH, WS_KIND_SYNC,     WS_KIND_GPU_RANGE,     WS_KIND_API,
	        WS_KIND_CPU_OP,       WS_KIND_OVERHEAD, WS_KIND_PYTHON_CALL,   WS_KIND_FLOW,
	        WS_KIND_MEMORY,       WS_KIND_COUNTER,  WS_KIND_EXTERNAL_LINK, WS_KIND_META,
	        WS_KIND_COLLECTIVE,
	};

	for (size_t i = 0; i < sizeof(found_by_id) / sizeof(*found_by_id); i++)
		WS_FORWARD(ws_records_load_by(&ch->kind[found_by_id[i]], ch->r, found_by_id[i], 0,
		                              err));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		WS_FORWARD(ws_records_load(&ch->kind[rows[i]], ch->r, rows[i], err));
	return ws_recorded_ranges_read(&ch->ranges, ch->r, &ch->m, err);
}

/* --- names and order of processes and tracks --- */

/* What printf takes of a name for "%.*s". */
#define SHOWN(name, longest) \
	(name).len > (longest) ? (longest) : (int)(name).len, (const char *)(name).ptr

static void put_processes(struct ws_chrome *ch)
{
	const struct ws_records *processes = &ch->kind[WS_KIND_PROCESS];
	const struct ws_records *devices = &ch->kind[WS_KIND_DEVICE];
	uint64_t pid;

	for (size_t i = 0; i < processes->n; i++) {
		const struct ws_row_process *p = WS_CHROME_ROW(ch, PROCESS, process, i);
		struct ws_bytes name = ws_chrome_text(ch, p->program);
		char unnamed[40];

		if (ws_records_find(processes, p->pid) != p)
			continue; /* the last image's program */
		ws_chrome_process(ch, p->pid, &pid);
		snprintf(unnamed, sizeof(unnamed), "process %llu", (unsigned long long)p->pid);
		ch->form->process(ch, pid, name.len ? name : ws_bytes_of(unnamed), i);
	}
	for (size_t i = 0; i < devices->n; i++) {
		const struct ws_row_device *d = WS_CHROME_ROW(ch, DEVICE, device, i);
		struct ws_bytes name = ws_chrome_text(ch, d->name);
		char text[300];
		struct ws_bytes own =
		        ws_chrome_text(ch, ws_resources_device(&ch->m->resources, d->id));
		int len =
		        snprintf(text, sizeof(text), "device %llu%s%.*s%s%.*s%s",
		                 (unsigned long long)d->id, name.len ? ": " : "", SHOWN(name, 200),
		                 own.len ? " (" : "", SHOWN(own, 80), own.len ? ")" : "");

		if (ws_records_find(devices, d->id) != d)
			continue;
		ch->form->process(ch, ws_chrome_device(d->id), (struct ws_bytes){text, (size_t)len},
		                  DEVICE_SORT_INDEX + i);
	}
}

/* What a track is called; its further subtracks are numbered. */
static int track_name(const struct ws_chrome *ch, const struct ws_chrome_track *t, char *text,
                      size_t size)
{
	static const char *const words[] = {
	        [WS_CHROME_STREAM] = "stream",
	        [WS_CHROME_WAITS] = "waits for stream",
	        [WS_CHROME_RANGES] = "annotations on stream",
	};
	const struct ws_row_thread *row;
	struct ws_bytes name, context;

	if (t->type == WS_CHROME_THREAD) {
		row = ws_records_find(&ch->kind[WS_KIND_THREAD], t->b);
		name = ws_chrome_text(ch, row ? row->name : 0);
		if (ws_bytes_begin(name, "thread ")) /* as PyTorch names them, with the number */
			return snprintf(text, size, "%.*s", SHOWN(name, 200));
		return snprintf(text, size, "thread %llu%s%.*s",
		                (unsigned long long)(row ? row->tid : 0), name.len ? ": " : "",
		                SHOWN(name, 200));
	}
	context = ws_chrome_text(ch, ws_resources_context(&ch->m->resources, t->b, t->c));
	if (t->type == WS_CHROME_WAITS && (int64_t)t->d < 0)
		return snprintf(text, size, "waits for context %llu%s%.*s",
		                (unsigned long long)t->c, context.len ? ": " : "",
		                SHOWN(context, 80));
	name = ws_chrome_text(ch, ws_resources_stream(&ch->m->resources, t->b, t->d));
	return snprintf(text, size, "%s %llu%s%.*s (context %llu%s%.*s of process %llu)",
	                words[t->type], (unsigned long long)t->d, name.len ? ": " : "",
	                SHOWN(name, 80), (unsigned long long)t->c, context.len ? ": " : "",
	                SHOWN(context, 80), (unsigned long long)t->b);
}

/* --- the file --- */

static enum ws_status put_file(struct ws_chrome *ch, FILE *f, struct ws_err *err)
{
	enum ws_status status = ch->form->begin(ch, f, err);

	if (status == WS_OK)
		put_processes(ch);
	if (status == WS_OK) {
		for (size_t i = 0; i < ch->ntracks; i++) {
			const struct ws_chrome_track *t = &ch->track[i];
			char text[320];
			int len = track_name(ch, t, text, sizeof(text) - 16);

			for (uint32_t subtrack = 0; subtrack < t->subtracks; subtrack++) {
				int more = subtrack
				                   ? snprintf(text + len, 16, " (%u)", subtrack + 1)
				                   : 0;

				ch->form->subtrack(ch, t, subtrack,
				                   (struct ws_bytes){text, (size_t)(len + more)});
			}
		}
		ws_chrome_put_slices(ch);
		ch->stats->skipped[WS_KIND_COLLECTIVE] =
		        ch->kind[WS_KIND_COLLECTIVE].n - ch->collectives_told.n;
		ws_chrome_put_marks(ch);
		ws_chrome_put_forward_backward(ch);
		ws_chrome_put_counters(ch);
	}
	/* it frees, too */
	return status == WS_OK ? ch->form->end(ch, err) : (ch->form->end(ch, NULL), status);
}

enum ws_status ws_export_timeline(const struct ws_chrome_form *form,
                                  const struct ws_trace_reader *r, FILE *f,
                                  const struct ws_export_opts *opts, struct ws_export_stats *stats,
                                  struct ws_err *err)
{
	struct ws_chrome ch = {.form = form,
	                       .r = r,
	                       .opts = opts,
	                       .stats = stats,
	                       .begin_ns = INT64_MAX,
	                       .end_ns = INT64_MIN};
	enum ws_status status = load_kinds(&ch, err);

	if (status == WS_OK) {
		ws_chrome_load_links(&ch);
		WS_CHROME_EACH(&ch, META, meta, m)
			ch.names_as_recorded |= ws_bytes_begin(m->key, "import.source") &&
			                        ws_bytes_begin(m->value, "PyTorch");
	}
	WS_THEN(status, ws_chrome_collect(&ch, err));
	/* The first moment drawn, on a whole microsecond: readers round baseTimeNanoseconds to
	 * that. */
	const int64_t base_ns = ws_trace_reader_summary(ch.r)->base_ns;
	int64_t first_ns, begin_ns;

	if (ch.begin_ns > ch.end_ns)
		ch.begin_ns = ch.end_ns = 0;
	if (!__builtin_add_overflow(base_ns, ch.begin_ns, &first_ns) &&
	    !__builtin_sub_overflow(ch.begin_ns, (first_ns % 1000 + 1000) % 1000, &begin_ns))
		ch.begin_ns = begin_ns;
	stats->dangling = ch.ranges.dangling;
	WS_THEN(status, put_file(&ch, f, err));
	for (size_t i = 0; i < WS_KIND_END; i++)
		ws_records_free(&ch.kind[i]);
	ws_recorded_ranges_free(&ch.ranges);
	ws_model_free(ch.m);
	ws_strtab_free(&ch.links);
	ws_strtab_free(&ch.collectives);
	ws_map_free(&ch.collectives_told);
	free(ch.external_ids);
	free(ch.open_ops);
	ws_strtab_free(&ch.track_keys);
	ws_map_free(&ch.json_pids);
	free(ch.track);
	ws_spill_close(&ch.slices);
	ws_spill_close(&ch.launches);
	ws_arena_free(&ch.arena);
	return status;
}

/* --- the exporters --------------------------------------------------------------------------- */

static bool is_compressed(const char *path)
{
	size_t len = strlen(path);

	return len > 3 && !strcasecmp(path + len - 3, ".gz");
}

static enum ws_status write(const struct ws_chrome_form *form, const struct ws_trace_reader *r,
                            const struct ws_export_job *job, struct ws_export_stats *stats,
                            struct ws_err *err)
{
	enum ws_status status = WS_OK;
	struct ws_outfile out;
	struct ws_err cause;
	FILE *gz = NULL;

	WS_FORWARD(ws_outfile_open(&out, job->to, err));
	if (is_compressed(job->to))
		status = ws_export_gzip_open(&gz, out.f, &cause);
	WS_THEN(status, ws_export_timeline(form, r, gz ? gz : out.f, job->opts, stats, &cause));
	if (gz && ws_stream_close(gz) != 0 && status == WS_OK)
		status = WS_FAIL(&cause, IO_WRITE, "%s", strerror(errno));
	return ws_outfile_end(&out, status, &cause, err);
}

static enum ws_status write_json(const struct ws_trace_reader *r, const struct ws_export_job *job,
                                 struct ws_export_stats *stats, struct ws_err *err)
{
	return write(&ws_chrome_json, r, job, stats, err);
}

static enum ws_status write_perfetto(const struct ws_trace_reader *r,
                                     const struct ws_export_job *job, struct ws_export_stats *stats,
                                     struct ws_err *err)
{
	return write(&ws_chrome_perfetto, r, job, stats, err);
}

const struct ws_exporter ws_exporter_json = {
        .name = "json",
        .extensions = {".json", ".json.gz"},
        .write = write_json,
};

const struct ws_exporter ws_exporter_perfetto = {
        .name = "perfetto",
        .extensions = {".perfetto-trace", ".pftrace"},
        .write = write_perfetto,
};
