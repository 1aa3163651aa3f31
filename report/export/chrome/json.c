/*
 * The timeline as JSON: Chrome's "Trace Event Format". Categories and names of
 * arguments are those of PyTorch's profiler where it has them, so that its
 * tools find them.
 */
#include "report/export/chrome/private.h"

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

static void arrow(struct ws_chrome *ch, const struct ws_chrome_slice *s, uint64_t id, int begins)
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

static void counter(struct ws_chrome *ch, uint64_t pid, struct ws_bytes name, int64_t time_ns,
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

static enum ws_status begin(struct ws_chrome *ch, FILE *f, struct ws_err *err)
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

static enum ws_status end(struct ws_chrome *ch, struct ws_err *err)
{
	ws_json_break(&ch->j);
	ws_json_array_end(&ch->j);
	ws_json_break(&ch->j);
	ws_json_object_end(&ch->j);
	return ws_json_finish(&ch->j, err);
}

const struct ws_chrome_form ws_chrome_json = {
        .begin = begin,
        .end = end,
        .process = process,
        .subtrack = subtrack,
        .begin_slice = begin_slice,
        .begin_mark = begin_mark,
        .name = put_name,
        .arg = put_arg,
        .end_args = end_args_and_event,
        .arrow = arrow,
        .link = link,
        .counter = counter,
};
