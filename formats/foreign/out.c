#include "formats/foreign/out.h"

#include <stdarg.h>
#include <stdlib.h>

#include "formats/text/json_reader.h"
#include "formats/op_cost/op_cost.h"
#include "formats/base/grow.h"

void ws_import_out_init(struct ws_import_out *o, struct ws_trace_writer *w,
                        struct ws_import_stats *stats)
{
	*o = (struct ws_import_out){.w = w, .stats = stats, .next_range = 1};
}

void ws_import_out_free(struct ws_import_out *o)
{
	ws_strtab_free(&o->threads);
	ws_strtab_free(&o->ops);
	ws_strtab_free(&o->processes);
	ws_strtab_free(&o->devices);
	ws_buf_free(&o->key);
	ws_buf_free(&o->compact);
	free(o->process);
	*o = (struct ws_import_out){0};
}

void ws_import_row(struct ws_import_out *o, enum ws_kind kind, const void *row)
{
	ws_trace_writer_add(o->w, kind, row, NULL);
}

/* What a trace can hold: what is left tells enough. */
static struct ws_bytes cut(struct ws_import_out *o, struct ws_bytes text)
{
	if (text.len > WS_MAX_BLOB_BYTES) {
		text.len = WS_MAX_BLOB_BYTES;
		o->lost[WS_LOST_import_cut_text]++;
	}
	return text;
}

void ws_import_text(struct ws_import_out *o, struct ws_bytes text, uint64_t *id)
{
	text = cut(o, text);
	ws_trace_writer_intern(o->w, text.ptr, text.len, id, NULL);
}

/* --- processes and threads --- */

struct ws_import_process *ws_import_process(struct ws_import_out *o, uint64_t pid)
{
	uint64_t id = ws_strtab_find(&o->processes, &pid, sizeof(pid));

	if (!id) {
		WS_GROW(o->process, o->nprocesses + 1, o->processes_capacity);
		id = ws_strtab_add(&o->processes, &pid, sizeof(pid));
		o->process[o->nprocesses++] = (struct ws_import_process){pid, 0};
	}
	return &o->process[id - 1];
}

bool ws_import_process_known(const struct ws_import_out *o, uint64_t pid)
{
	return ws_strtab_find(&o->processes, &pid, sizeof(pid)) != 0;
}

/* The bytes that a thread is known by: pid, tid, label. */
static void thread_key(struct ws_import_out *o, uint64_t pid, uint64_t tid, struct ws_bytes label)
{
	o->key.len = 0;
	ws_buf_put(&o->key, &pid, sizeof(pid));
	ws_buf_put(&o->key, &tid, sizeof(tid));
	ws_buf_put(&o->key, label.ptr, label.len);
}

void ws_import_thread(struct ws_import_out *o, uint64_t pid, uint64_t tid, struct ws_bytes label,
                      uint64_t *id)
{
	struct ws_row_thread row = {.pid = pid, .tid = tid};

	thread_key(o, pid, tid, label);
	*id = ws_strtab_find(&o->threads, o->key.data, o->key.len);
	if (*id)
		return;
	*id = ws_strtab_add(&o->threads, o->key.data, o->key.len);
	ws_import_process(o, pid);
	row.id = *id;
	ws_import_text(o, label, &row.name);
	ws_import_row(o, WS_KIND_THREAD, &row);
}

uint64_t ws_import_thread_known(const struct ws_import_out *o, uint64_t pid, uint64_t tid)
{
	uint64_t key[2] = {pid, tid};

	return ws_strtab_find(&o->threads, key, sizeof(key));
}

void ws_import_thread_name(struct ws_import_out *o, uint64_t thread, uint64_t pid, uint64_t tid,
                           struct ws_bytes name)
{
	struct ws_row_thread row = {.id = thread, .pid = pid, .tid = tid};

	ws_import_text(o, name, &row.name);
	if (row.name)
		ws_import_row(o, WS_KIND_THREAD, &row);
}

/* --- devices --- */

void ws_import_device(struct ws_import_out *o, uint64_t id, struct ws_bytes name)
{
	struct ws_row_device row = {.id = id, .kind = WS_DEVICE_CUDA};

	if (!ws_strtab_find(&o->devices, &id, sizeof(id)))
		ws_strtab_add(&o->devices, &id, sizeof(id));
	ws_import_text(o, name, &row.name);
	ws_import_row(o, WS_KIND_DEVICE, &row);
}

void ws_import_device_used(struct ws_import_out *o, uint64_t id)
{
	if (ws_strtab_find(&o->devices, &id, sizeof(id)))
		return;
	ws_import_device(o, id, (struct ws_bytes){NULL, 0});
}

void ws_import_device_attr(struct ws_import_out *o, uint64_t id, const char *attr, int64_t value)
{
	struct ws_row_device_attr row = {.device = id, .value = value};

	ws_import_text(o, ws_bytes_of(attr), &row.attr);
	ws_import_row(o, WS_KIND_DEVICE_ATTR, &row);
}

/* --- operations --- */

static void key_text(struct ws_import_out *o, struct ws_bytes text)
{
	uint64_t len = text.len;

	ws_buf_put(&o->key, &len, sizeof(len));
	ws_buf_put(&o->key, text.ptr, text.len);
}

static void compact_text(struct ws_import_out *o, struct ws_bytes text, uint64_t *id)
{
	struct ws_json_value v = {.type = WS_JSON_ARRAY, .text = text.ptr, .len = text.len};

	*id = 0;
	if (!text.len)
		return;
	ws_import_text(o, ws_json_compact(&v, &o->compact), id);
}

static void new_op(struct ws_import_out *o, const struct ws_op_desc *op, uint64_t id)
{
	struct ws_row_op_config row = {.id = id};

	ws_import_text(o, op->name, &row.name);
	compact_text(o, op->dims, &row.dims);
	compact_text(o, op->types, &row.types);
	compact_text(o, op->strides, &row.strides);
	compact_text(o, op->inputs, &row.inputs);
	ws_op_cost_fill(op, &row);
	ws_import_row(o, WS_KIND_OP_CONFIG, &row);
}

void ws_import_op(struct ws_import_out *o, const struct ws_op_desc *op, uint64_t *id)
{
	o->key.len = 0;
	key_text(o, op->name);
	key_text(o, op->dims);
	key_text(o, op->types);
	key_text(o, op->strides);
	key_text(o, op->inputs);
	*id = ws_strtab_find(&o->ops, o->key.data, o->key.len);
	if (*id)
		return;
	*id = ws_strtab_add(&o->ops, o->key.data, o->key.len);
	new_op(o, op, *id);
}

/* --- what is told about the import --- */

void ws_import_skip(struct ws_import_out *o, const char *reason, uint64_t count)
{
	struct ws_import_stats *s = o->stats;
	size_t i = 0;

	if (!count)
		return;
	while (i < s->nskips && strcmp(s->skips[i].reason, reason) != 0)
		i++;
	if (i == s->nskips) {
		/* the last place is for all that do not fit */
		if (s->nskips == WS_IMPORT_MAX_SKIPS - 1)
			reason = "other kinds";
		if (s->nskips < WS_IMPORT_MAX_SKIPS)
			s->nskips++;
		i = s->nskips - 1;
		snprintf(s->skips[i].reason, sizeof(s->skips[i].reason), "%s", reason);
	}
	s->skips[i].count += count;
}

uint64_t ws_import_left_out(const struct ws_import_stats *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->nskips; i++)
		sum += s->skips[i].count;
	for (size_t i = 0; i < WS_IMPORT_MAX_LOSSES; i++)
		sum += s->losses[i].is_summed ? s->losses[i].count : 0;
	return sum;
}

void ws_import_warn(struct ws_import_out *o, const char *fmt, ...)
{
	struct ws_import_stats *s = o->stats;
	char *text;
	va_list args;

	if (s->nwarnings == WS_IMPORT_MAX_WARNINGS) {
		s->warnings_more++;
		return;
	}
	text = s->warnings[s->nwarnings++];
	va_start(args, fmt);
	vsnprintf(text, WS_IMPORT_TEXT_BYTES, fmt, args);
	va_end(args);
	ws_defuse(text); /* parts of it come from the input and go to a terminal */
}

void ws_import_meta(struct ws_import_out *o, const char *key, struct ws_bytes value)
{
	struct ws_row_meta row = {.key = {key, strlen(key)}, .value = cut(o, value)};

	ws_import_row(o, WS_KIND_META, &row);
}

bool ws_import_time_ok(struct ws_import_out *o, int64_t start_ns, int64_t dur_ns)
{
	if (start_ns <= WS_IMPORT_MAX_TIME_NS && start_ns >= -WS_IMPORT_MAX_TIME_NS &&
	    dur_ns >= 0 && dur_ns <= WS_IMPORT_MAX_TIME_NS)
		return 1;
	o->lost[WS_LOST_import_bad_time]++;
	return 0;
}

/* --- the end --- */

static void finish_losses(struct ws_import_out *o)
{
	static const struct {
		const char *name, *words;
	} losses[] = {
#define X(name, meaning) {#name, meaning},
	        WS_IMPORT_LOSS_LIST(X)
#undef X
	};
	struct ws_import_stats *s = o->stats;
	struct ws_row_loss row = {0};

	for (size_t i = 0; i < WS_IMPORT_LOSSES; i++) {
		struct ws_import_skip *skip = &s->losses[i];

		snprintf(skip->reason, sizeof(skip->reason), "%s", losses[i].words);
		skip->is_summed =
		        i != WS_LOST_import_damaged_table && /* these are tables */
		        i != WS_LOST_import_unknown_kind &&  /* left out by name */
		        i != WS_LOST_import_merged_ranks &&  /* kept, but for their process */
		        i != WS_LOST_import_cut_text;        /* kept, but for the rest */
		skip->count = row.count = o->lost[i];
		if (!row.count)
			continue;
		ws_trace_writer_intern(o->w, losses[i].name, strlen(losses[i].name), &row.cause,
		                       NULL);
		ws_import_row(o, WS_KIND_LOSS, &row);
	}
}

void ws_import_out_finish(struct ws_import_out *o)
{
	for (size_t i = 0; i < o->nprocesses; i++) {
		struct ws_row_process row = {.pid = o->process[i].pid,
		                             .image = 1,
		                             .program = o->process[i].name};

		ws_import_row(o, WS_KIND_PROCESS, &row);
	}
	ws_trace_writer_meta(o->w, "tool.name", "warpsheet import", NULL);
	ws_trace_writer_meta(o->w, "tool.version", WS_VERSION, NULL);
	ws_trace_writer_meta(o->w, "import.source", o->stats->source, NULL);
	ws_trace_writer_meta(o->w, "import.format", o->stats->format, NULL);
	finish_losses(o);
	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		o->stats->rows[kind] = ws_trace_writer_rows(o->w, (enum ws_kind)kind);
}
