#include "report/export/chrome/chrome.h"

#include <stdlib.h>

#include "report/export/chrome/private.h"

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

/* The first moment drawn, on a whole microsecond: readers round baseTimeNanoseconds to that. */
static void set_begin(struct ws_chrome *ch)
{
	const int64_t base_ns = ws_trace_reader_summary(ch->r)->base_ns;
	int64_t first_ns, begin_ns;

	if (ch->begin_ns > ch->end_ns)
		ch->begin_ns = ch->end_ns = 0;
	if (!__builtin_add_overflow(base_ns, ch->begin_ns, &first_ns) &&
	    !__builtin_sub_overflow(ch->begin_ns, (first_ns % 1000 + 1000) % 1000, &begin_ns))
		ch->begin_ns = begin_ns;
}

static void note_source(struct ws_chrome *ch)
{
	WS_CHROME_EACH(ch, META, meta, r)
		ch->names_as_recorded |= ws_bytes_begin(r->key, "import.source") &&
		                         ws_bytes_begin(r->value, "PyTorch");
}

static void release(struct ws_chrome *ch)
{
	for (size_t i = 0; i < WS_KIND_END; i++)
		ws_records_free(&ch->kind[i]);
	ws_recorded_ranges_free(&ch->ranges);
	ws_model_free(ch->m);
	ws_strtab_free(&ch->links);
	ws_strtab_free(&ch->collectives);
	ws_map_free(&ch->collectives_told);
	free(ch->external_ids);
	free(ch->open_ops);
	ws_strtab_free(&ch->track_keys);
	ws_map_free(&ch->json_pids);
	free(ch->track);
	ws_spill_close(&ch->slices);
	ws_spill_close(&ch->launches);
	ws_arena_free(&ch->arena);
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

static void put_tracks(struct ws_chrome *ch)
{
	for (size_t i = 0; i < ch->ntracks; i++) {
		const struct ws_chrome_track *t = &ch->track[i];
		char text[320];
		int len = track_name(ch, t, text, sizeof(text) - 16);

		for (uint32_t subtrack = 0; subtrack < t->subtracks; subtrack++) {
			int more = subtrack ? snprintf(text + len, 16, " (%u)", subtrack + 1) : 0;

			ch->form->subtrack(ch, t, subtrack,
			                   (struct ws_bytes){text, (size_t)(len + more)});
		}
	}
}

/* --- the file --- */

static enum ws_status put_file(struct ws_chrome *ch, FILE *f, struct ws_err *err)
{
	enum ws_status status = ch->form->begin(ch, f, err);

	if (status == WS_OK)
		put_processes(ch);
	if (status == WS_OK) {
		put_tracks(ch);
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
		note_source(&ch);
	}
	WS_THEN(status, ws_chrome_collect(&ch, err));
	set_begin(&ch);
	stats->dangling = ch.ranges.dangling;
	WS_THEN(status, put_file(&ch, f, err));
	release(&ch);
	return status;
}
