/*
 * What the events of a PyTorch trace become. The mapping is documented in
 * docs/reference/import.md.
 */
#include <stdlib.h>

#include "formats/base/grow.h"
#include "formats/pytorch/pytorch.h"
#include "formats/op_cost/op_cost.h"

/* --- work of the host ------------------------------------------------------------------------- */

static void on_call(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_row_api row = {.correlation = ARG_U64(e, CORRELATION)};

	if (!ws_pytorch_span(p, e, &row.start_ns, &row.dur_ns))
		return;
	ws_pytorch_call_id(p, row.correlation);
	ws_pytorch_host_event(p, e);
	ws_pytorch_thread(p, e, &row.thread);
	ws_pytorch_text(p, &e->name, &row.name);
	ws_import_record(p->out, WS_KIND_API, &row);
}

static struct ws_bytes array_text(const struct ws_json_value *v)
{
	return v->type == WS_JSON_ARRAY ? (struct ws_bytes){v->text, v->len}
	                                : (struct ws_bytes){NULL, 0};
}

static void on_cpu_op(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_op_desc op = {.dims = array_text(&e->arg[WS_ARG_DIMS]),
	                        .types = array_text(&e->arg[WS_ARG_TYPES]),
	                        .strides = array_text(&e->arg[WS_ARG_STRIDES]),
	                        .inputs = array_text(&e->arg[WS_ARG_INPUTS])};
	struct ws_row_cpu_op row = {.external_id = ARG_U64(e, EXTERNAL_ID),
	                            .record_function = ARG_U64(e, RECORD_FUNCTION),
	                            .sequence = ARG_I64(e, SEQUENCE, -1),
	                            .forward_thread = ARG_U64(e, FORWARD_THREAD)};

	if (!ws_pytorch_span(p, e, &row.start_ns, &row.dur_ns))
		return;
	ws_pytorch_host_event(p, e);
	ws_pytorch_thread(p, e, &row.thread);
	if (e->name.type == WS_JSON_STRING)
		op.name = ws_json_text(&e->name, &p->scratch);
	ws_import_op(p->out, &op, &row.config);
	ws_pytorch_collective(p, e, row.start_ns, 0);
	ws_import_record(p->out, WS_KIND_CPU_OP, &row);
}

static void on_annotation(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_import_range r = {.domain = p->domain, .sequence = p->nranges};
	int64_t dur_ns;

	if (!ws_pytorch_span(p, e, &r.start_ns, &dur_ns))
		return;
	r.end_ns = r.start_ns + dur_ns;
	ws_pytorch_host_event(p, e);
	ws_pytorch_thread(p, e, &r.thread);
	ws_pytorch_text(p, &e->name, &r.name);
	WS_GROW(p->ranges, p->nranges + 1, p->ranges_capacity);
	p->ranges[p->nranges++] = r;
	ws_import_keep(p->out, 1);
}

/*
 * The 2021 generation calls annotations operators too. What the program or
 * the framework annotated has neither inputs nor a sequence number, and no
 * name of the form library::operation.
 */
static void on_operator_2021(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	int operation = e->arg[WS_ARG_DIMS].type != WS_JSON_ABSENT ||
	                e->arg[WS_ARG_SEQUENCE].type != WS_JSON_ABSENT || !e->name.len ||
	                memmem(e->name.text, e->name.len, "::", 2);

	p->names_2021 = 1;
	if (operation)
		on_cpu_op(p, e);
	else
		on_annotation(p, e);
}

static void on_python(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_row_python_call row = {.id = ARG_U64(e, PYTHON_ID),
	                                 .parent = ARG_U64(e, PYTHON_PARENT),
	                                 .module = ARG_I64(e, PYTHON_MODULE, -1)};

	if (!ws_pytorch_span(p, e, &row.start_ns, &row.dur_ns))
		return;
	ws_pytorch_thread(p, e, &row.thread);
	ws_pytorch_text(p, &e->name, &row.name);
	ws_import_record(p->out, WS_KIND_PYTHON_CALL, &row);
}

static void on_overhead(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	/* in the order of the column's values */
	static const char kinds[] = "Unknown\0Driver Compiler\0Buffer Flush\0Instrumentation\0"
	                            "Resource\0Runtime Triggered Module Loading\0"
	                            "Lazy Function Loading\0Command Buffer Full\0"
	                            "Activity Buffer Request\0UVM Activity Init\0";
	struct ws_row_overhead row = {0};

	if (!ws_pytorch_span(p, e, &row.start_ns, &row.dur_ns))
		return;
	ws_pytorch_thread(p, e, &row.thread);
	ws_pytorch_text(p, &e->name, &row.name);
	if (e->name.len)
		row.kind = ws_pytorch_word(kinds, e->name.text, e->name.len);
	ws_import_record(p->out, WS_KIND_OVERHEAD, &row);
}

/* The span of the profiler itself: what utilization over the whole recording refers to. */
static void on_span(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	int64_t start_ns, dur_ns;
	char text[32];

	if (p->has_span) {
		p->dropped[WS_DROPPED_SPAN]++;
		return;
	}
	if (!ws_pytorch_span(p, e, &start_ns, &dur_ns))
		return;
	p->has_span = 1;
	ws_import_keep(p->out, 1);
	snprintf(text, sizeof(text), "%lld", (long long)start_ns);
	ws_trace_writer_meta(p->out->w, "pytorch.span_start_ns", text, NULL);
	snprintf(text, sizeof(text), "%lld", (long long)dur_ns);
	ws_trace_writer_meta(p->out->w, "pytorch.span_dur_ns", text, NULL);
}

/* --- moments, links, names --- */

static void on_memory(struct ws_pytorch *p, const struct ws_pytorch_event *e, enum ws_memory_op op)
{
	int64_t bytes = ARG_I64(e, MEMORY_BYTES, 0), type = ARG_I64(e, MEMORY_DEVICE_TYPE, -1);
	struct ws_row_memory row = {.op = op,
	                            .pid = ws_pytorch_u64(&e->pid, 0),
	                            .device = ARG_U64(e, MEMORY_DEVICE),
	                            .address = ARG_U64(e, MEMORY_ADDRESS),
	                            .total_allocated_bytes = ARG_U64(e, MEMORY_ALLOCATED),
	                            .total_reserved_bytes = ARG_U64(e, MEMORY_RESERVED)};

	if (!ws_pytorch_time(p, &e->ts, &row.time_ns)) {
		p->out->lost[WS_LOST_import_bad_time]++;
		return;
	}
	if (!ws_import_time_ok(p->out, row.time_ns, 0))
		return;
	/* PyTorch's device types: 0 the host, 1 CUDA, 6 HIP */
	row.memory_kind = type == 0                ? WS_MEMORY_PAGEABLE
	                  : type == 1 || type == 6 ? WS_MEMORY_DEVICE
	                                           : WS_MEMORY_UNKNOWN;
	if (bytes < 0 && op == WS_MEMORY_OP_ALLOC)
		row.op = WS_MEMORY_OP_FREE;
	row.bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
	if (row.memory_kind == WS_MEMORY_PAGEABLE)
		row.device = 0;
	else
		ws_import_device_used(p->out, row.device);
	ws_pytorch_thread(p, e, &row.thread);
	ws_import_record(p->out, WS_KIND_MEMORY, &row);
}

static void on_instant(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	if (WS_JSON_IS(&e->name, "[memory]"))
		on_memory(p, e, WS_MEMORY_OP_ALLOC);
	else if (WS_JSON_IS(&e->name, "[OutOfMemory]"))
		on_memory(p, e, WS_MEMORY_OP_OUT_OF_MEMORY);
	else
		p->dropped[WS_DROPPED_SPAN]++;
}

static struct ws_flow_end *flow_of(struct ws_pytorch *p, uint64_t id)
{
	uint64_t at = ws_strtab_find(&p->flow_ids, &id, sizeof(id));

	if (!at) {
		WS_GROW(p->flows, p->nflows + 1, p->flows_capacity);
		at = ws_strtab_add(&p->flow_ids, &id, sizeof(id));
		p->flows[p->nflows++] = (struct ws_flow_end){0};
	}
	return &p->flows[at - 1];
}

static void on_forward_backward(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_row_flow row = {.kind = WS_FLOW_FORWARD_BACKWARD};
	struct ws_flow_end here = {.phase = e->ph.text[0]}, *other = NULL;
	int64_t id;

	if (!ws_pytorch_time(p, &e->ts, &here.time_ns) || !ws_json_i64(&e->id, &id)) {
		p->out->lost[WS_LOST_import_missing_field]++;
		return;
	}
	if (!ws_import_time_ok(p->out, here.time_ns, 0))
		return;
	ws_pytorch_thread(p, e, &here.thread);
	other = flow_of(p, (uint64_t)id);
	if (!other->phase || other->phase == here.phase) {
		p->dropped[WS_DROPPED_HALF_FLOW] += other->phase != 0;
		*other = here;
		return;
	}
	row.from_ns = here.phase == 's' ? here.time_ns : other->time_ns;
	row.from_thread = here.phase == 's' ? here.thread : other->thread;
	row.to_ns = here.phase == 's' ? other->time_ns : here.time_ns;
	row.to_thread = here.phase == 's' ? other->thread : here.thread;
	other->phase = 0;
	ws_import_keep(p->out, 2);
	ws_import_row(p->out, WS_KIND_FLOW, &row);
}

static void on_launch_arrow(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	ws_pytorch_arrow(p, e);
}

/* Names are kept to the end: only then it is known which processes and threads have records. */
struct kept_name {
	uint64_t pid, tid;
	uint64_t of_process;
	uint64_t len; /* of the text that follows */
};

static void on_name(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	const struct ws_json_value *name = &e->arg[WS_ARG_NAME];
	struct kept_name kept = {.pid = ws_pytorch_u64(&e->pid, 0),
	                         .tid = ws_pytorch_u64(&e->tid, 0)};
	struct ws_bytes text;

	if (name->type != WS_JSON_STRING) {
		p->dropped[WS_DROPPED_HINT]++;
		return;
	}
	text = ws_json_text(name, &p->scratch);
	kept.of_process = WS_JSON_IS(&e->name, "process_name");
	kept.len = text.len;
	if (p->names.len > WS_PYTORCH_MAX_NAMES_BYTES) {
		p->dropped[WS_DROPPED_NAME]++;
		return;
	}
	ws_buf_put(&p->names, &kept, sizeof(kept));
	ws_buf_put(&p->names, text.ptr, text.len);
}

static void apply_name(struct ws_pytorch *p, const struct kept_name *kept, struct ws_bytes text)
{
	struct ws_import_process *process;
	uint64_t thread;
	char number[40]; /* what exports of ours call one without a name */

	snprintf(number, sizeof(number), kept->of_process ? "process %llu" : "thread %llu",
	         (unsigned long long)(kept->of_process ? kept->pid : kept->tid));
	if (text.len == strlen(number) && !memcmp(text.ptr, number, text.len))
		text.len = 0;
	if (text.len && kept->of_process && ws_import_process_known(p->out, kept->pid)) {
		ws_import_keep(p->out, 1);
		process = ws_import_process(p->out, kept->pid);
		ws_import_text(p->out, text, &process->name);
		return;
	}
	thread = ws_import_thread_known(p->out, kept->pid, kept->tid);
	if (text.len && !kept->of_process && thread) {
		ws_import_keep(p->out, 1);
		ws_import_thread_name(p->out, thread, kept->pid, kept->tid, text);
		return;
	}
	p->dropped[WS_DROPPED_NAME]++;
}

static void finish_names(struct ws_pytorch *p)
{
	struct kept_name kept;

	for (size_t at = 0; at < p->names.len; at += kept.len) {
		memcpy(&kept, p->names.data + at, sizeof(kept));
		at += sizeof(kept);
		apply_name(p, &kept, (struct ws_bytes){p->names.data + at, (size_t)kept.len});
	}
}

/* --- which event is what --- */

struct category {
	const char *text;
	ws_pytorch_event_fn fn;
};

static const struct category categories[] = {
#define CATEGORY(text, name) {text, name},
#include "formats/pytorch/pytorch.def"
        {NULL, NULL},
};
static const struct category flows[] = {
#define FLOW(text, name) {text, name},
#include "formats/pytorch/pytorch.def"
        {NULL, NULL},
};

static void unknown(struct ws_pytorch *p, const char *what, const struct ws_json_value *v)
{
	char reason[WS_IMPORT_TEXT_BYTES];
	int len = v->len > 64 ? 64 : (int)v->len;

	snprintf(reason, sizeof(reason), "%s '%.*s'", what, len, len ? v->text : "");
	for (char *c = reason; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
			*c = '?';
	ws_import_skip(p->out, reason, 1);
	p->out->lost[WS_LOST_import_unknown_kind]++;
}

static void dispatch(struct ws_pytorch *p, const struct category *list,
                     const struct ws_pytorch_event *e, const char *what)
{
	for (; list->text; list++)
		if (ws_json_is(&e->cat, list->text, strlen(list->text))) {
			list->fn(p, e);
			return;
		}
	unknown(p, what, &e->cat);
}

/* An event with a duration. */
static void complete(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	dispatch(p, categories, e, "category");
}

/* Of calls and device work, for which correlation ids are. */
static enum ws_pytorch_work work_of(const struct ws_pytorch_event *e, bool *is_call)
{
	static const struct {
		const char *part;
		enum ws_pytorch_work work;
	} calls[] = {{"Launch", WS_PYTORCH_KERNEL},
	             {"Memcpy", WS_PYTORCH_COPY},
	             {"Memset", WS_PYTORCH_SET}};
	const struct category *c = categories;

	while (c->text && !ws_json_is(&e->cat, c->text, strlen(c->text)))
		c++;
	*is_call = c->fn == on_call;
	for (size_t i = 0; *is_call && i < sizeof(calls) / sizeof(*calls); i++)
		if (e->name.len &&
		    memmem(e->name.text, e->name.len, calls[i].part, strlen(calls[i].part)))
			return calls[i].work;
	return c->fn == ws_pytorch_on_kernel ? WS_PYTORCH_KERNEL
	       : c->fn == ws_pytorch_on_copy ? WS_PYTORCH_COPY
	       : c->fn == ws_pytorch_on_set  ? WS_PYTORCH_SET
	                                     : WS_PYTORCH_NO_WORK;
}

static void on_complete(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	bool is_call, has_id = ARG_U64(e, CORRELATION) != 0;
	enum ws_pytorch_work work;

	if (!has_id || !p->has_ids) {
		work = work_of(e, &is_call);
		if (work != WS_PYTORCH_NO_WORK && !has_id) {
			ws_pytorch_defer(p, e, work, is_call);
			return;
		}
		if (work != WS_PYTORCH_NO_WORK && !is_call)
			ws_pytorch_forget_arrows(p);
	}
	complete(p, e);
}

void ws_pytorch_event(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	enum ws_pytorch_work work;
	bool is_call;

	p->out->stats->events++;
	switch (e->ph.len == 1 ? e->ph.text[0] : 0) {
	case 'X':
		on_complete(p, e);
		break;
	case 'B':
		work = work_of(e, &is_call);
		ws_pytorch_defer(p, e, work, is_call);
		break;
	case 'E':
		ws_pytorch_defer(p, e, WS_PYTORCH_NO_WORK, false);
		break;
	case 's':
	case 'f':
		dispatch(p, flows, e, "flow category");
		break;
	case 'i':
	case 'I':
		on_instant(p, e);
		break;
	case 'M':
		on_name(p, e);
		break;
	case 'C':
		p->dropped[WS_DROPPED_COUNTER]++;
		break;
	default:
		unknown(p, "phase", &e->ph);
		break;
	}
}

/* --- the end --- */

static void finish_ranges(struct ws_pytorch *p)
{
	struct ws_import_nest nest = {.out = p->out};

	if (p->nranges)
		qsort(p->ranges, p->nranges, sizeof(*p->ranges), ws_import_range_compare);
	for (size_t i = 0; i < p->nranges; i++)
		ws_import_nest_add(&nest, &p->ranges[i]);
	ws_import_nest_finish(&nest);
	ws_import_nest_free(&nest);
}

static void finish_counts(struct ws_pytorch *p)
{
	static const char *const words[] = {
#define DROPPED(ID, words) words,
#include "formats/pytorch/pytorch.def"
	};

	for (size_t i = 0; i < p->nflows; i++)
		p->dropped[WS_DROPPED_HALF_FLOW] += p->flows[i].phase != 0;
	for (size_t i = 0; i < WS_PYTORCH_DROPPED; i++)
		ws_import_skip(p->out, words[i], p->dropped[i]);
	if (p->at_zero)
		ws_import_warn(
		        p->out,
		        "events at time 0, whose time but not duration the profiler lost: %llu",
		        (unsigned long long)p->at_zero);
	if (p->other_host_calls)
		ws_import_warn(
		        p->out,
		        "several processes in one file: device work ahead of the second one's "
		        "first call is taken for process %llu's",
		        (unsigned long long)p->host_pid);
}

void ws_pytorch_finish(struct ws_pytorch *p)
{
	ws_pytorch_put_deferred(p, complete);
	ws_pytorch_count_work_without_call(p);
	ws_pytorch_put_waiting(p);
	finish_ranges(p);
	finish_names(p);
	finish_counts(p);
}
