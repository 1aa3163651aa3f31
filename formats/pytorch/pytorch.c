/*
 * PyTorch profiler JSON. In this order: one event as it stands in the file, device work, events
 * that can be understood only at the end of the file, what each event becomes, the text of the
 * file, and the importer. docs/reference/import.md documents what becomes of every field.
 */
#include "formats/pytorch/pytorch.h"

#include "formats/op_cost/op_cost.h"
#include "formats/xla/xla.h"

/* Keys of an event's "args". */
enum arg {
#define ARG(ID, text) WS_ARG_##ID,
#include "formats/pytorch/pytorch.def"
	NARGS
};

enum dropped {
#define DROPPED(ID, words) WS_DROPPED_##ID,
#include "formats/pytorch/pytorch.def"
	NDROPPED
};

/* One element of traceEvents; slices of the text. */
struct event {
	struct ws_bytes text; /* all of it */
	struct ws_json_value ph, cat, name, pid, tid, ts, dur, id;
	struct ws_json_value arg[NARGS];
};

/* A row of device work. It waits until it is known which process launched the work. */
struct gpu_row {
	enum ws_kind kind;
	struct ws_row_launch_config config; /* of a kernel */
	union {
		uint64_t row; /* where each of them begins */
		struct ws_row_kernel kernel;
		struct ws_row_memcpy copy;
		struct ws_row_memset set;
		struct ws_row_sync sync;
		struct ws_row_gpu_range range;
		struct ws_row_external_link link;
		struct ws_row_collective collective;
	};
};

/* The begin of a flow, or its end if that came first. */
struct flow_end {
	int64_t time_ns;
	uint64_t thread;
	char phase; /* 's', 'f', or 0: both were seen */
};

/* The kind of work that a call launches, or of a piece of device work. */
enum work {
	NO_WORK,
	WORK_KERNEL,
	WORK_COPY,
	WORK_SET,
};

/* An event that can be understood only at the end of the file. */
struct deferred {
	size_t text, len; /* in `deferred_text` */
	size_t name, name_len;
	uint64_t row; /* of pid and tid */
	int64_t time_ns;
	size_t end;            /* of a begin: 1 + the place of its end */
	int64_t lost_after_ns; /* of a begin: a range around it ended then; its own end is lost */
	uint64_t external_id;  /* of one without a correlation id, */
	uint64_t correlation;  /* and the correlation id that is found for it */
	uint8_t work;          /* enum work */
	bool is_call, lacks_id;
	char phase; /* 'B', 'E', or 'X' without a correlation id */
};

/* The end of an arrow from a call to device work. */
struct arrow {
	uint64_t id; /* 0: several arrows end here */
	uint64_t events;
	bool is_used;
};

/* A correlation id of device work, and whether an External id names its operation. */
struct work_id {
	uint64_t correlation;
	bool has_operation;
};

#define DOMAIN          "pytorch" /* NVTX domain of annotations */
#define ARG_SLOTS       256u      /* of a hash table for about 50 keys */
#define MAX_NAMES_BYTES (1u << 24)
#define MAX_WAITING     262144u /* device rows; if there are more, they get process 0 */

struct ws_pytorch {
	struct ws_import_out *out;
	struct ws_json_stream *text;
	uint8_t arg_slots[ARG_SLOTS]; /* 1 + enum arg, 0 = free */

	int64_t origin_ns; /* time 0 of the trace, in the times of the file */
	bool has_origin;
	int64_t base_ns; /* baseTimeNanoseconds */
	uint64_t host_pid;
	bool has_host_pid;
	uint64_t other_host_calls; /* calls of a second process */
	struct gpu_row *waiting;
	size_t nwaiting, waiting_capacity;
	bool gave_up_waiting;

	uint64_t domain; /* of annotations */
	struct ws_import_range *ranges;
	size_t nranges, ranges_capacity;
	/* nodes of CUDA graphs that the program annotated at their capture */
	struct annotated_node {
		uint64_t node, name;
	} * nodes;
	size_t nnodes, nodes_capacity;
	struct ws_map node_known;
	int64_t first_node_ns; /* when the first of them ran */
	struct ws_strtab rows; /* key: pid and tid as written */
	struct deferred *deferred;
	size_t ndeferred, deferred_capacity;
	struct ws_buf deferred_text;
	struct ws_strtab arrow_ends; /* key: row and time; id - 1 is the index in arrows */
	struct arrow *arrows;
	size_t narrows, arrows_capacity;
	bool has_ids;             /* device work with a correlation id was seen */
	uint64_t without_id;      /* device work without one */
	struct ws_map call_ids;   /* the correlation ids of calls, 64 per entry, a bit each */
	struct work_id *work_ids; /* of device work that came before its call */
	size_t nwork_ids, work_ids_capacity;
	struct ws_strtab flow_ids; /* key: id; id - 1 is the index in flows */
	struct flow_end *flows;
	size_t nflows, flows_capacity;

	bool names_2021; /* category names of that generation were seen */
	bool fractions;  /* times with digits after the point were seen */
	bool has_span, has_events;
	uint64_t unreadable; /* places, not records */
	uint64_t at_zero;    /* events whose time the profiler lost */
	uint64_t dropped[NDROPPED];
	bool is_xla; /* the file is of XLA's profiler, which calls processes "/host:CPU" */
	struct ws_xla xla;
	uint64_t last_link;  /* correlation of the last external_link row */
	struct ws_buf names; /* of processes and threads, kept until the end */
	struct ws_buf scratch;
};

/* --- one event --- */

static const struct {
	const char *text;
	uint8_t len;
} arg_names[] = {
#define ARG(ID, text) {text, sizeof(text) - 1},
#include "formats/pytorch/pytorch.def"
};
static unsigned arg_slot(const char *text, size_t len)
{
	return (unsigned)(len * 31 + (unsigned char)text[0] * 7 + (unsigned char)text[len - 1] * 3 +
	                  (unsigned char)text[len / 2]) %
	       ARG_SLOTS;
}

/* Read the object "args". */
static enum ws_json_result parse_args(const struct ws_pytorch *p, struct ws_json_reader *j,
                                      struct event *e)
{
	struct ws_json_value key, value;
	enum ws_json_result r = ws_json_open(j, '{');
	unsigned at, arg;

	if (r != WS_JSON_OK)
		return r;
	while ((r = ws_json_member(j, &key)) == WS_JSON_OK) {
		r = ws_json_value(j, &value);
		if (r != WS_JSON_OK)
			return r;
		if (!key.len)
			continue;
		for (at = arg_slot(key.text, key.len); (arg = p->arg_slots[at]) != 0;
		     at = (at + 1) % ARG_SLOTS) {
			if (!ws_json_is(&key, arg_names[arg - 1].text, arg_names[arg - 1].len))
				continue;
			e->arg[arg - 1] = value;
			break;
		}
	}
	return r == WS_JSON_END ? WS_JSON_OK : r;
}

/* The field of an event for the value of this key; NULL: the value is not used. */
static struct ws_json_value *event_field(struct event *e, const struct ws_json_value *k)
{
	switch (k->len) {
	case 2:
		return WS_JSON_IS(k, "ph")   ? &e->ph
		       : WS_JSON_IS(k, "ts") ? &e->ts
		       : WS_JSON_IS(k, "id") ? &e->id
		                             : NULL;
	case 3:
		return WS_JSON_IS(k, "cat")   ? &e->cat
		       : WS_JSON_IS(k, "pid") ? &e->pid
		       : WS_JSON_IS(k, "tid") ? &e->tid
		       : WS_JSON_IS(k, "dur") ? &e->dur
		                              : NULL;
	case 4:
		return WS_JSON_IS(k, "name") ? &e->name : NULL;
	default:
		return NULL;
	}
}

/* Read the event object that comes next; the window must hold it whole. */
static enum ws_json_result parse(const struct ws_pytorch *p, struct ws_json_reader *j,
                                 struct event *e)
{
	struct ws_json_value key, ignored, *to;

	memset(e, 0, sizeof(*e));
	enum ws_json_result r = ws_json_open(j, '{');
	if (r != WS_JSON_OK)
		return r;
	e->text.ptr = j->pos - 1;
	while ((r = ws_json_member(j, &key)) == WS_JSON_OK) {
		while (j->pos < j->end && *j->pos == ' ')
			j->pos++;
		if (WS_JSON_IS(&key, "args") && j->pos < j->end && *j->pos == '{') {
			r = parse_args(p, j, e);
		} else {
			to = event_field(e, &key);
			r = ws_json_value(j, to ? to : &ignored);
		}
		if (r != WS_JSON_OK)
			return r;
	}
	e->text.len = (size_t)(j->pos - (const char *)e->text.ptr);
	return r == WS_JSON_END ? WS_JSON_OK : r;
}

/* A number; 0 if it is none or negative. */
static uint64_t u64_of(const struct ws_json_value *v)
{
	int64_t n;

	return ws_json_i64(v, &n) && n >= 0 ? (uint64_t)n : 0;
}

static int64_t i64_of(const struct ws_json_value *v, int64_t otherwise)
{
	int64_t n;

	return ws_json_i64(v, &n) ? n : otherwise;
}

#define ARG_U64(e, ID)       u64_of(&(e)->arg[WS_ARG_##ID])
#define ARG_I64(e, ID, none) i64_of(&(e)->arg[WS_ARG_##ID], (none))

static void text_of(struct ws_pytorch *p, const struct ws_json_value *v, uint64_t *id)
{
	struct ws_bytes text = {NULL, 0};

	if (v->type == WS_JSON_STRING)
		text = ws_json_text(v, &p->scratch);
	ws_import_text(p->out, text, id);
}

/* The value's position in a list that ends with NULL. Position 0 stands for "unknown" in every
 * list, and is returned for a text that is not in it. */
static unsigned position_in(const char *const *list, struct ws_bytes text)
{
	for (unsigned i = 0; list[i]; i++)
		if (ws_bytes_is(text, list[i]))
			return i;
	return 0;
}

/*
 * A time relative to the trace's origin; false if the value is no time. In the file times are
 * microseconds: relative to baseTimeNanoseconds since 2024, before that absolute. Absolute ones
 * would leave a trace little room for its times, so its origin is the second of the first of them.
 */
static bool time_of(struct ws_pytorch *p, const struct ws_json_value *v, int64_t *time_ns)
{
	const int64_t year_2001_ns = 1000000000000000000;

	if (!ws_json_scaled(v, 3, time_ns))
		return false;
	p->fractions |= memchr(v->text, '.', v->len) != NULL;
	if (!p->has_origin && *time_ns >= year_2001_ns)
		p->origin_ns = *time_ns - *time_ns % 1000000000;
	p->has_origin = true;
	return !__builtin_sub_overflow(*time_ns, p->origin_ns, time_ns);
}

/* Start and duration of an event. false, and counted, if they cannot be right. */
static bool span_of(struct ws_pytorch *p, const struct event *e, int64_t *start_ns, int64_t *dur_ns)
{
	if (!time_of(p, &e->ts, start_ns) || !ws_json_scaled(&e->dur, 3, dur_ns)) {
		p->out->lost[WS_LOST_import_bad_time]++;
		return 0;
	}
	p->at_zero += *start_ns == 0 && p->origin_ns == 0;
	return ws_import_time_ok(p->out, *start_ns, *dur_ns);
}

/* The thread of an event of the host; a thread without a number is known by its text. */
static void thread_of(struct ws_pytorch *p, const struct event *e, uint64_t *thread)
{
	struct ws_bytes label = {NULL, 0};
	int64_t tid = 0;

	if (!ws_json_i64(&e->arg[WS_ARG_ON_THREAD], &tid)) {
		if (!ws_json_i64(&e->tid, &tid) && e->tid.type == WS_JSON_STRING)
			label = ws_json_text(&e->tid, &p->scratch);
		/* a 32-bit number that was written as a signed one */
		tid = tid < 0 ? tid & 0xffffffff : tid;
	}
	ws_import_thread(p->out, u64_of(&e->pid), (uint64_t)tid, label, thread);
}

/* --- device work --- */

/*
 * Device work does not name its process. A file has one, known from the first event of the host. If
 * there is a second one, their ids collide: no process is better than a range of the wrong rank.
 */
static void put_gpu_row(struct ws_pytorch *p, struct gpu_row *g)
{
	static const size_t pid_at[WS_KIND_END] = {
	        [WS_KIND_KERNEL] = offsetof(struct gpu_row, config.pid),
	        [WS_KIND_MEMCPY] = offsetof(struct gpu_row, copy.pid),
	        [WS_KIND_MEMSET] = offsetof(struct gpu_row, set.pid),
	        [WS_KIND_SYNC] = offsetof(struct gpu_row, sync.pid),
	        [WS_KIND_GPU_RANGE] = offsetof(struct gpu_row, range.pid),
	        [WS_KIND_COLLECTIVE] = offsetof(struct gpu_row, collective.pid),
	        [WS_KIND_EXTERNAL_LINK] = offsetof(struct gpu_row, link.pid),
	};
	const bool is_work =
	        g->kind == WS_KIND_KERNEL || g->kind == WS_KIND_MEMCPY || g->kind == WS_KIND_MEMSET;

	p->out->lost[WS_LOST_import_merged_ranks] += p->other_host_calls && is_work;
	ws_store_u64((uint8_t *)g + pid_at[g->kind], p->other_host_calls ? 0 : p->host_pid);
	if (g->kind == WS_KIND_KERNEL)
		ws_trace_writer_intern_config(p->out->w, &g->config, &g->kernel.config, NULL);
	ws_import_row(p->out, g->kind, &g->row);
}

static void put_waiting(struct ws_pytorch *p)
{
	for (size_t i = 0; i < p->nwaiting; i++)
		put_gpu_row(p, &p->waiting[i]);
	p->nwaiting = 0;
}

static void add_gpu_row(struct ws_pytorch *p, struct gpu_row *g)
{
	if (g->kind != WS_KIND_COLLECTIVE && g->kind != WS_KIND_EXTERNAL_LINK)
		ws_import_keep(p->out, 1); /* these two are parts of a record */
	if (p->nwaiting == MAX_WAITING) {
		p->gave_up_waiting = true;
		put_waiting(p);
	}
	if (p->has_host_pid || p->gave_up_waiting) {
		put_gpu_row(p, g);
		return;
	}
	WS_GROW(p->waiting, p->nwaiting + 1, p->waiting_capacity);
	p->waiting[p->nwaiting++] = *g;
}

/* Take the process of device work from an event of the host. */
static void take_host_pid(struct ws_pytorch *p, const struct event *e)
{
	uint64_t pid = u64_of(&e->pid);

	p->other_host_calls += p->has_host_pid && pid != p->host_pid;
	if (p->has_host_pid)
		return;
	p->has_host_pid = true;
	p->host_pid = pid;
	put_waiting(p);
}

/* Correlation ids that this importer makes: no profiler counts that far. */
#define FIRST_MADE_ID ((uint64_t)1 << 52)

static bool has_call(const struct ws_pytorch *p, uint64_t correlation)
{
	/* key 0 of a map is slower */
	const uint64_t *ids = ws_map_get(&p->call_ids, correlation / 64 + 1);

	return ids && *ids >> correlation % 64 & 1;
}

/* The operation of device work, by its External id. Some versions write the correlation id there if
 * there is no operation. */
static void add_link(struct ws_pytorch *p, const struct event *e, uint64_t correlation)
{
	struct gpu_row g = {.kind = WS_KIND_EXTERNAL_LINK};
	uint64_t id = ARG_U64(e, EXTERNAL_ID);

	if (!id)
		id = ARG_U64(e, EXTERNAL_ID_2021);
	/* ids made here are counted by how they were found */
	if (correlation && correlation < FIRST_MADE_ID && !has_call(p, correlation)) {
		WS_GROW(p->work_ids, p->nwork_ids + 1, p->work_ids_capacity);
		p->work_ids[p->nwork_ids++] =
		        (struct work_id){correlation, id && id != correlation};
	}
	/* the kernels of one graph launch have one correlation id */
	if (!id || id == correlation || !correlation || correlation == p->last_link)
		return;
	p->last_link = correlation;
	g.link = (struct ws_row_external_link){.correlation = correlation,
	                                       .kind = WS_EXTERNAL_CUSTOM0,
	                                       .external_id = id};
	add_gpu_row(p, &g);
}

/* Adds an event's data of a collective operation, if it has any. correlation: of the event's
 * kernel; 0: the event is the call. */
static void add_collective(struct ws_pytorch *p, const struct event *e, int64_t time_ns,
                           uint64_t correlation)
{
	struct gpu_row g = {.kind = WS_KIND_COLLECTIVE};
	struct ws_row_collective *row = &g.collective;
	const struct ws_json_value *name = &e->arg[WS_ARG_COLLECTIVE];

	if (name->type != WS_JSON_STRING)
		return;
	*row = (struct ws_row_collective){.time_ns = time_ns,
	                                  .correlation = correlation,
	                                  .external_id = ARG_U64(e, EXTERNAL_ID),
	                                  .group_size = ARG_U64(e, GROUP_SIZE),
	                                  .in_elements = ARG_U64(e, IN_ELEMENTS),
	                                  .out_elements = ARG_U64(e, OUT_ELEMENTS),
	                                  .sequence = ARG_I64(e, GROUP_SEQUENCE, -1)};
	text_of(p, name, &row->name);
	text_of(p, &e->arg[WS_ARG_GROUP], &row->group);
	text_of(p, &e->arg[WS_ARG_GROUP_RANKS], &row->ranks);
	text_of(p, &e->arg[WS_ARG_DTYPE], &row->dtype);
	add_gpu_row(p, &g);
}

/* Three sizes, as "grid" and "block" have them; a missing one is 0. */
static void take_xyz(const struct ws_json_value *v, uint64_t *x, uint64_t *y, uint64_t *z)
{
	uint64_t *to[] = {x, y, z};
	struct ws_json_items items;
	struct ws_json_value size;

	ws_json_items_begin(&items, v, '[');
	for (int i = 0; i < 3 && ws_json_next_element(&items, &size); i++)
		*to[i] = u64_of(&size);
}

/* Device and stream are in the arguments; before 2021, and in rows that are only drawn, in pid and
 * tid. */
static uint64_t device_of(const struct event *e)
{
	const struct ws_json_value *v = &e->arg[WS_ARG_DEVICE];

	if (v->type == WS_JSON_ABSENT)
		v = &e->arg[WS_ARG_IN_DEVICE];
	return u64_of(v->type == WS_JSON_ABSENT ? &e->pid : v);
}

static int64_t stream_of(const struct event *e)
{
	static const char prefix[] = "stream ";
	const struct ws_json_value *v =
	        &e->arg[e->arg[WS_ARG_STREAM].type == WS_JSON_ABSENT ? WS_ARG_ON_STREAM
	                                                             : WS_ARG_STREAM];
	struct ws_json_value tid = e->tid;

	if (v->type == WS_JSON_ABSENT) {
		if (tid.len >= sizeof(prefix) &&
		    memcmp(tid.text, prefix, sizeof(prefix) - 1) == 0) {
			tid.text += sizeof(prefix) - 1;
			tid.len -= sizeof(prefix) - 1;
		}
		v = &tid;
	}
	int64_t stream = i64_of(v, -1);
	/* CUPTI's -1, as an unsigned 32-bit number */
	return stream == UINT32_MAX ? -1 : stream;
}

/* Reads device and stream of device work, which always has a stream. */
static uint64_t work_stream(const struct event *e)
{
	const int64_t stream = stream_of(e);

	return stream < 0 ? 0 : (uint64_t)stream;
}

/* PyTorch writes the annotation of a capture into the replayed work: its fields, one of them
 * "name", or a text. */
static void note_annotation(struct ws_pytorch *p, const struct event *e, int64_t start_ns)
{
	const struct ws_json_value *text = &e->arg[WS_ARG_ANNOTATION];
	struct annotated_node n = {.node = ARG_U64(e, GRAPH_NODE)};

	if (text->type != WS_JSON_STRING)
		text = &e->arg[WS_ARG_NAME];
	if (!n.node || text->type != WS_JSON_STRING || ws_map_get(&p->node_known, n.node))
		return;
	text_of(p, text, &n.name);
	ws_map_put(&p->node_known, n.node, 1);
	if (!p->nnodes || start_ns < p->first_node_ns)
		p->first_node_ns = start_ns;
	WS_GROW(p->nodes, p->nnodes + 1, p->nodes_capacity);
	p->nodes[p->nnodes++] = n;
}

static void on_kernel(struct ws_pytorch *p, const struct event *e)
{
	struct gpu_row g = {.kind = WS_KIND_KERNEL};
	struct ws_row_launch_config *c = &g.config;

	if (!span_of(p, e, &g.kernel.start_ns, &g.kernel.dur_ns))
		return;
	if (g.kernel.start_ns == 0 && g.kernel.dur_ns == 0 && !p->origin_ns)
		g.kernel.flags = WS_KERNEL_NO_TIME;
	g.kernel.correlation = ARG_U64(e, CORRELATION);
	text_of(p, &e->name, &c->name);
	c->device = device_of(e);
	c->context = ARG_U64(e, CONTEXT);
	c->stream = work_stream(e);
	take_xyz(&e->arg[WS_ARG_GRID], &c->grid_x, &c->grid_y, &c->grid_z);
	take_xyz(&e->arg[WS_ARG_BLOCK], &c->block_x, &c->block_y, &c->block_z);
	c->registers = ARG_U64(e, REGISTERS);
	/* the file has the sum of static and dynamic */
	c->shared_dynamic_bytes = ARG_U64(e, SHARED);
	g.kernel.graph_node = ARG_U64(e, GRAPH_NODE);
	note_annotation(p, e, g.kernel.start_ns);
	ws_import_device_used(p->out, c->device);
	add_gpu_row(p, &g);
	add_collective(p, e, g.kernel.start_ns, g.kernel.correlation);
	add_link(p, e, g.kernel.correlation);
}

static const char *const memory_kinds[] = {"Unknown",       "Pageable",       "Pinned",
                                           "Device",        "Array",          "Managed",
                                           "Device Static", "Managed Static", NULL};
static const char *const copy_kinds[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                         "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP", NULL};

/* The text between two others; empty if they are not there. */
static struct ws_bytes text_between(const struct ws_json_value *v, const char *open,
                                    const char *close)
{
	const char *from = NULL, *to = NULL;

	if (v->type == WS_JSON_STRING)
		from = memmem(v->text, v->len, open, strlen(open));
	if (from) {
		from += strlen(open);
		to = memmem(from, v->len - (size_t)(from - v->text), close, strlen(close));
	}
	return to ? (struct ws_bytes){from, (size_t)(to - from)} : (struct ws_bytes){"", 0};
}

static void on_copy(struct ws_pytorch *p, const struct event *e)
{
	struct gpu_row g = {.kind = WS_KIND_MEMCPY};
	struct ws_row_memcpy *row = &g.copy;

	if (!span_of(p, e, &row->start_ns, &row->dur_ns))
		return;
	/* "Memcpy HtoD (Pageable -> Device)" */
	row->kind = position_in(copy_kinds, text_between(&e->name, "Memcpy ", " "));
	row->src_kind = position_in(memory_kinds, text_between(&e->name, "(", " -> "));
	row->dst_kind = position_in(memory_kinds, text_between(&e->name, "-> ", ")"));
	row->correlation = ARG_U64(e, CORRELATION);
	row->device = device_of(e);
	row->context = e->arg[WS_ARG_CONTEXT].type == WS_JSON_ABSENT ? ARG_U64(e, IN_CONTEXT)
	                                                             : ARG_U64(e, CONTEXT);
	row->stream = work_stream(e);
	row->bytes = ARG_U64(e, BYTES);
	row->src_device = ARG_U64(e, FROM_DEVICE);
	row->dst_device = ARG_U64(e, TO_DEVICE);
	row->graph_node = ARG_U64(e, GRAPH_NODE);
	note_annotation(p, e, row->start_ns);
	ws_import_device_used(p->out, row->device);
	if (row->src_device)
		ws_import_device_used(p->out, row->src_device);
	if (row->dst_device)
		ws_import_device_used(p->out, row->dst_device);
	add_gpu_row(p, &g);
	add_link(p, e, row->correlation);
}

static void on_set(struct ws_pytorch *p, const struct event *e)
{
	struct gpu_row g = {.kind = WS_KIND_MEMSET};
	struct ws_row_memset *row = &g.set;

	if (!span_of(p, e, &row->start_ns, &row->dur_ns))
		return;
	row->memory_kind = position_in(memory_kinds, text_between(&e->name, "(", ")"));
	row->correlation = ARG_U64(e, CORRELATION);
	row->device = device_of(e);
	row->context = ARG_U64(e, CONTEXT);
	row->stream = work_stream(e);
	row->bytes = ARG_U64(e, BYTES);
	row->graph_node = ARG_U64(e, GRAPH_NODE);
	note_annotation(p, e, row->start_ns);
	ws_import_device_used(p->out, row->device);
	add_gpu_row(p, &g);
	add_link(p, e, row->correlation);
}

static void on_sync(struct ws_pytorch *p, const struct event *e)
{
	static const struct {
		const char *begin;
		enum ws_sync_type type;
	} types[] = {
	        {"Event", WS_SYNC_EVENT},    {"Stream Wait", WS_SYNC_STREAM_WAIT_EVENT},
	        {"Stream", WS_SYNC_STREAM},  {"Context", WS_SYNC_CONTEXT},
	        {"Device", WS_SYNC_CONTEXT},
	};
	const struct ws_json_value *kind =
	        e->arg[WS_ARG_SYNC_KIND].len ? &e->arg[WS_ARG_SYNC_KIND] : &e->name;
	struct gpu_row g = {.kind = WS_KIND_SYNC};
	struct ws_row_sync *row = &g.sync;
	int64_t recorded_by = ARG_I64(e, WAIT_CORRELATION, 0);

	if (!span_of(p, e, &row->start_ns, &row->dur_ns))
		return;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types) && !row->type; i++)
		if (ws_bytes_begin((struct ws_bytes){kind->text, kind->len}, types[i].begin))
			row->type = types[i].type;
	row->correlation = ARG_U64(e, CORRELATION);
	row->device = device_of(e);
	row->context = ARG_U64(e, CONTEXT);
	row->stream = stream_of(e);
	row->event = ARG_I64(e, WAIT_EVENT, -1);
	row->event_stream = ARG_I64(e, WAIT_STREAM, -1);
	row->event_correlation = recorded_by < 0 ? 0 : (uint64_t)recorded_by;
	ws_import_device_used(p->out, row->device);
	add_gpu_row(p, &g);
}

static void on_gpu_annotation(struct ws_pytorch *p, const struct event *e)
{
	struct gpu_row g = {.kind = WS_KIND_GPU_RANGE};
	struct ws_row_gpu_range *row = &g.range;

	if (!span_of(p, e, &row->start_ns, &row->dur_ns))
		return;
	text_of(p, &e->name, &row->name);
	row->device = device_of(e);
	row->stream = work_stream(e);
	ws_import_device_used(p->out, row->device);
	add_gpu_row(p, &g);
}

/* --- work of the host --- */

static void on_call(struct ws_pytorch *p, const struct event *e)
{
	struct ws_row_api row = {.correlation = ARG_U64(e, CORRELATION)};
	uint64_t correlation;

	if (!span_of(p, e, &row.start_ns, &row.dur_ns))
		return;
	correlation = row.correlation;
	const uint64_t *ids = ws_map_get(&p->call_ids, correlation / 64 + 1);
	ws_map_put(&p->call_ids, correlation / 64 + 1,
	           (ids ? *ids : 0) | (uint64_t)1 << correlation % 64);
	take_host_pid(p, e);
	thread_of(p, e, &row.thread);
	text_of(p, &e->name, &row.name);
	ws_import_record(p->out, WS_KIND_API, &row);
}

static struct ws_bytes array_text(const struct ws_json_value *v)
{
	return v->type == WS_JSON_ARRAY ? (struct ws_bytes){v->text, v->len}
	                                : (struct ws_bytes){NULL, 0};
}

static void on_cpu_op(struct ws_pytorch *p, const struct event *e)
{
	struct ws_op_desc op = {.dims = array_text(&e->arg[WS_ARG_DIMS]),
	                        .types = array_text(&e->arg[WS_ARG_TYPES]),
	                        .strides = array_text(&e->arg[WS_ARG_STRIDES]),
	                        .inputs = array_text(&e->arg[WS_ARG_INPUTS])};
	struct ws_row_cpu_op row = {.external_id = ARG_U64(e, EXTERNAL_ID),
	                            .record_function = ARG_U64(e, RECORD_FUNCTION),
	                            .sequence = ARG_I64(e, SEQUENCE, -1),
	                            .forward_thread = ARG_U64(e, FORWARD_THREAD)};

	if (!span_of(p, e, &row.start_ns, &row.dur_ns))
		return;
	take_host_pid(p, e);
	thread_of(p, e, &row.thread);
	if (e->name.type == WS_JSON_STRING)
		op.name = ws_json_text(&e->name, &p->scratch);
	ws_import_op(p->out, &op, &row.config);
	text_of(p, &e->arg[WS_ARG_SOURCE], &row.source);
	add_collective(p, e, row.start_ns, 0);
	ws_import_record(p->out, WS_KIND_CPU_OP, &row);
}

static void on_annotation(struct ws_pytorch *p, const struct event *e)
{
	struct ws_import_range r = {.domain = p->domain, .sequence = p->nranges};
	int64_t dur_ns;

	if (!span_of(p, e, &r.start_ns, &dur_ns))
		return;
	r.end_ns = r.start_ns + dur_ns;
	take_host_pid(p, e);
	thread_of(p, e, &r.thread);
	text_of(p, &e->name, &r.name);
	WS_GROW(p->ranges, p->nranges + 1, p->ranges_capacity);
	p->ranges[p->nranges++] = r;
	ws_import_keep(p->out, 1);
}

/* The 2021 generation calls annotations operators, too. An annotation has neither inputs nor a
 * sequence number, and its name is not of the form library::operation. */
static void on_operator_2021(struct ws_pytorch *p, const struct event *e)
{
	p->names_2021 = true;
	if (e->arg[WS_ARG_DIMS].type != WS_JSON_ABSENT ||
	    e->arg[WS_ARG_SEQUENCE].type != WS_JSON_ABSENT || !e->name.len ||
	    memmem(e->name.text, e->name.len, "::", 2))
		on_cpu_op(p, e);
	else
		on_annotation(p, e);
}

static void on_python(struct ws_pytorch *p, const struct event *e)
{
	struct ws_row_python_call row = {.id = ARG_U64(e, PYTHON_ID),
	                                 .parent = ARG_U64(e, PYTHON_PARENT),
	                                 .module = ARG_I64(e, PYTHON_MODULE, -1)};

	if (!span_of(p, e, &row.start_ns, &row.dur_ns))
		return;
	thread_of(p, e, &row.thread);
	text_of(p, &e->name, &row.name);
	text_of(p, &e->arg[WS_ARG_SOURCE], &row.source);
	ws_import_record(p->out, WS_KIND_PYTHON_CALL, &row);
}

static void on_overhead(struct ws_pytorch *p, const struct event *e)
{
	/* in the order of the column's values */
	static const char *const kinds[] = {"Unknown",
	                                    "Driver Compiler",
	                                    "Buffer Flush",
	                                    "Instrumentation",
	                                    "Resource",
	                                    "Runtime Triggered Module Loading",
	                                    "Lazy Function Loading",
	                                    "Command Buffer Full",
	                                    "Activity Buffer Request",
	                                    "UVM Activity Init",
	                                    NULL};
	struct ws_row_overhead row = {0};

	if (!span_of(p, e, &row.start_ns, &row.dur_ns))
		return;
	thread_of(p, e, &row.thread);
	text_of(p, &e->name, &row.name);
	row.kind = position_in(kinds, (struct ws_bytes){e->name.text, e->name.len});
	ws_import_record(p->out, WS_KIND_OVERHEAD, &row);
}

/* The span of the profiler itself: utilization over the whole recording refers to it. */
static void on_span(struct ws_pytorch *p, const struct event *e)
{
	int64_t start_ns, dur_ns;
	char text[32];

	if (p->has_span) {
		p->dropped[WS_DROPPED_SPAN]++;
		return;
	}
	if (!span_of(p, e, &start_ns, &dur_ns))
		return;
	p->has_span = true;
	ws_import_keep(p->out, 1);
	snprintf(text, sizeof(text), "%lld", (long long)start_ns);
	ws_trace_writer_meta(p->out->w, "pytorch.span_start_ns", text, NULL);
	snprintf(text, sizeof(text), "%lld", (long long)dur_ns);
	ws_trace_writer_meta(p->out->w, "pytorch.span_dur_ns", text, NULL);
}

/* --- moments, links, names --- */

static void on_instant(struct ws_pytorch *p, const struct event *e)
{
	const bool is_full = WS_JSON_IS(&e->name, "[OutOfMemory]");
	const int64_t bytes = ARG_I64(e, MEMORY_BYTES, 0),
	              type = ARG_I64(e, MEMORY_DEVICE_TYPE, -1);
	struct ws_row_memory row = {.op = is_full     ? WS_MEMORY_OP_OUT_OF_MEMORY
	                                  : bytes < 0 ? WS_MEMORY_OP_FREE
	                                              : WS_MEMORY_OP_ALLOC,
	                            .pid = u64_of(&e->pid),
	                            .device = ARG_U64(e, MEMORY_DEVICE),
	                            .address = ARG_U64(e, MEMORY_ADDRESS),
	                            .bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes,
	                            .total_allocated_bytes = ARG_U64(e, MEMORY_ALLOCATED),
	                            .total_reserved_bytes = ARG_U64(e, MEMORY_RESERVED)};

	if (!is_full && !WS_JSON_IS(&e->name, "[memory]")) {
		p->dropped[WS_DROPPED_SPAN]++;
		return;
	}
	if (!time_of(p, &e->ts, &row.time_ns)) {
		p->out->lost[WS_LOST_import_bad_time]++;
		return;
	}
	if (!ws_import_time_ok(p->out, row.time_ns, 0))
		return;
	/* PyTorch's device types: 0 the host, 1 CUDA, 6 HIP */
	row.memory_kind = type == 0                ? WS_MEMORY_PAGEABLE
	                  : type == 1 || type == 6 ? WS_MEMORY_DEVICE
	                                           : WS_MEMORY_UNKNOWN;
	if (row.memory_kind == WS_MEMORY_PAGEABLE)
		row.device = 0;
	else
		ws_import_device_used(p->out, row.device);
	thread_of(p, e, &row.thread);
	ws_import_record(p->out, WS_KIND_MEMORY, &row);
}

static void on_forward_backward(struct ws_pytorch *p, const struct event *e)
{
	struct ws_row_flow row = {.kind = WS_FLOW_FORWARD_BACKWARD};
	struct flow_end here = {.phase = e->ph.text[0]}, *other, from, to;
	int64_t id;

	if (!time_of(p, &e->ts, &here.time_ns) || !ws_json_i64(&e->id, &id)) {
		p->out->lost[WS_LOST_import_missing_field]++;
		return;
	}
	if (!ws_import_time_ok(p->out, here.time_ns, 0))
		return;
	thread_of(p, e, &here.thread);
	uint64_t at = ws_strtab_add(&p->flow_ids, &id, sizeof(id));
	if (at > p->nflows) {
		WS_GROW(p->flows, p->nflows + 1, p->flows_capacity);
		p->flows[p->nflows++] = (struct flow_end){0};
	}
	other = &p->flows[at - 1];
	if (!other->phase || other->phase == here.phase) {
		p->dropped[WS_DROPPED_HALF_FLOW] += other->phase != 0;
		*other = here;
		return;
	}
	from = here.phase == 's' ? here : *other;
	to = here.phase == 's' ? *other : here;
	row.from_ns = from.time_ns;
	row.from_thread = from.thread;
	row.to_ns = to.time_ns;
	row.to_thread = to.thread;
	other->phase = 0;
	ws_import_keep(p->out, 2);
	ws_import_row(p->out, WS_KIND_FLOW, &row);
}

/* Names are kept to the end: only then is it known which processes and threads have records. */
struct kept_name {
	uint64_t pid, tid;
	uint64_t of_process;
	uint64_t len; /* of the text that follows */
};

static void on_name(struct ws_pytorch *p, const struct event *e)
{
	const struct ws_json_value *name = &e->arg[WS_ARG_NAME];
	struct kept_name kept = {.pid = u64_of(&e->pid), .tid = u64_of(&e->tid)};

	if (name->type != WS_JSON_STRING) {
		p->dropped[WS_DROPPED_HINT]++;
		return;
	}
	if (p->names.len > MAX_NAMES_BYTES) {
		p->dropped[WS_DROPPED_NAME]++;
		return;
	}
	struct ws_bytes text = ws_json_text(name, &p->scratch);
	kept.of_process = WS_JSON_IS(&e->name, "process_name");
	if (kept.of_process && ws_xla_names_plane(text) && !p->is_xla) {
		p->is_xla = true;
		p->xla = (struct ws_xla){.out = p->out, .pid = kept.pid};
	}
	if (p->is_xla) {
		if (kept.of_process)
			ws_xla_name_plane(&p->xla, kept.pid, text);
		else
			ws_xla_name_line(&p->xla, kept.pid, kept.tid, text);
		if (ws_bytes_begin(text, "/host:CPU"))
			p->xla.pid = kept.pid;
		ws_import_keep(p->out, 1);
		return;
	}
	kept.len = text.len;
	ws_buf_put(&p->names, &kept, sizeof(kept));
	ws_buf_put(&p->names, text.ptr, text.len);
}

/* --- events that can be understood only at the end of the file: begins and ends, and calls and
 * device work without a correlation id, which arrows or External ids connect --- */

/* A row of the timeline is identified by the texts of pid and tid; "stream 7" is a tid, too. */
static uint64_t row_of(struct ws_pytorch *p, const struct event *e)
{
	p->scratch.len = 0;
	ws_buf_put(&p->scratch, e->pid.text ? e->pid.text : "", e->pid.len);
	ws_buf_put(&p->scratch, "", 1);
	ws_buf_put(&p->scratch, e->tid.text ? e->tid.text : "", e->tid.len);
	return ws_strtab_add(&p->rows, p->scratch.data, p->scratch.len);
}

/* Stores a begin or end, or a call or device work without a correlation id together with its
 * kind. */
static void defer(struct ws_pytorch *p, const struct event *e, enum work work, bool is_call)
{
	struct deferred d = {.text = p->deferred_text.len,
	                     .len = e->text.len,
	                     .name_len = e->name.len,
	                     .external_id = ARG_U64(e, EXTERNAL_ID),
	                     .correlation = ARG_U64(e, CORRELATION),
	                     .work = (uint8_t)work,
	                     .is_call = is_call,
	                     .phase = e->ph.text[0]};

	if (!time_of(p, &e->ts, &d.time_ns)) {
		p->out->lost[WS_LOST_import_bad_time]++;
		return;
	}
	if (e->name.len)
		d.name = (size_t)(e->name.text - (const char *)e->text.ptr);
	d.lacks_id = work != NO_WORK && !d.correlation;
	if (!d.external_id)
		d.external_id = ARG_U64(e, EXTERNAL_ID_2021);
	p->without_id += d.lacks_id && !is_call;
	d.row = row_of(p, e);
	ws_buf_put(&p->deferred_text, e->text.ptr, e->text.len);
	WS_GROW(p->deferred, p->ndeferred + 1, p->deferred_capacity);
	p->deferred[p->ndeferred++] = d;
}

/* One end of an arrow from a call to device work. */
static void add_arrow(struct ws_pytorch *p, const struct event *e)
{
	struct arrow *arrow;
	int64_t time_ns, id;
	uint64_t key[2], at;

	if ((p->has_ids && !p->without_id) || !ws_json_i64(&e->id, &id) || id <= 0 ||
	    !time_of(p, &e->ts, &time_ns)) {
		p->dropped[WS_DROPPED_ARROW]++;
		return;
	}
	key[0] = row_of(p, e);
	key[1] = (uint64_t)time_ns;
	at = ws_strtab_add(&p->arrow_ends, key, sizeof(key));
	if (at > p->narrows) {
		WS_GROW(p->arrows, p->narrows + 1, p->arrows_capacity);
		p->arrows[p->narrows++] = (struct arrow){.id = (uint64_t)id};
	}
	arrow = &p->arrows[at - 1];
	arrow->events++;
	if (arrow->id != (uint64_t)id)
		arrow->id = 0;
}

static void count_arrows(struct ws_pytorch *p)
{
	for (size_t i = 0; i < p->narrows; i++) {
		if (p->arrows[i].is_used)
			ws_import_keep(p->out, p->arrows[i].events);
		else
			p->dropped[WS_DROPPED_ARROW] += p->arrows[i].events;
	}
	p->narrows = 0;
}

static int compare_external(const void *a, const void *b)
{
	const struct deferred *x = *(struct deferred *const *)a;
	const struct deferred *y = *(struct deferred *const *)b;

	WS_ORDER_BY(x->external_id, y->external_id);
	WS_ORDER_BY(x->work, y->work);
	WS_ORDER_BY(y->is_call, x->is_call);
	WS_ORDER_BY(x->time_ns, y->time_ns);
	WS_ORDER_BY(x->text, y->text);
	return 0;
}

static void find_ids(struct ws_pytorch *p)
{
	uint64_t by_arrow = 0, by_external_id = 0;

	/* counted again, without begins that have no end or whose end has an id */
	p->without_id = 0;
	for (size_t i = 0; i < p->ndeferred; i++) {
		struct deferred *d = &p->deferred[i];

		d->lacks_id &= d->phase == 'X' || d->end;
		p->without_id += d->lacks_id && !d->is_call;
	}
	if (!p->without_id)
		return;
	for (size_t i = 0; i < p->ndeferred; i++) {
		struct deferred *d = &p->deferred[i];
		const uint64_t key[2] = {d->row, (uint64_t)d->time_ns};
		const uint64_t at =
		        d->lacks_id ? ws_strtab_find(&p->arrow_ends, key, sizeof(key)) : 0;

		if (!at || !p->arrows[at - 1].id)
			continue;
		p->arrows[at - 1].is_used = true;
		d->correlation = p->arrows[at - 1].id;
		by_arrow += !d->is_call;
	}
	struct deferred **some = ws_xarray(p->ndeferred + 1, sizeof(*some));
	uint64_t made = FIRST_MADE_ID;
	size_t n = 0;
	for (size_t j = 0; j < p->ndeferred; j++)
		if (p->deferred[j].lacks_id && !p->deferred[j].correlation &&
		    p->deferred[j].external_id)
			some[n++] = &p->deferred[j];
	ws_sort(some, n, sizeof(*some), compare_external);
	for (size_t from = 0, to; from < n; from = to) {
		struct deferred *const *group = some + from;
		size_t size, calls = 0;

		for (to = from + 1; to < n && some[to]->external_id == some[from]->external_id &&
		                    some[to]->work == some[from]->work;)
			to++;
		size = to - from;
		/* Connect the calls and the work of one External id and one kind of work. If there
		 * are as many calls as pieces of work, and the work is on one stream, they match in
		 * their order. Else only the work's operation is known, not its call. */
		while (calls < size && group[calls]->is_call)
			calls++;
		bool pairs = calls * 2 == size;
		for (size_t i = calls; i < size; i++)
			pairs &= group[i]->row == group[calls]->row;
		for (size_t i = calls; i < size; i++) {
			group[i]->correlation = made++;
			if (pairs)
				group[i - calls]->correlation = group[i]->correlation;
		}
		by_external_id += pairs ? calls : 0;
	}
	free(some);
	ws_import_warn(p->out,
	               "device work without a correlation id: %" PRIu64
	               ". Its launch is found by an arrow: %" PRIu64
	               ", by an External id: %" PRIu64,
	               p->without_id, by_arrow, by_external_id);
}

static int compare_rows(const void *a, const void *b)
{
	const struct deferred *x = *(struct deferred *const *)a;
	const struct deferred *y = *(struct deferred *const *)b;

	WS_ORDER_BY(x->row, y->row);
	WS_ORDER_BY(x->time_ns, y->time_ns);
	WS_ORDER_BY(x->text, y->text); /* as they stand in the file */
	return 0;
}

/* Whether `end` can end `begin`. An end may have no name; otherwise it must be that of the
 * begin. */
static bool ends(const struct ws_pytorch *p, const struct deferred *begin,
                 const struct deferred *end)
{
	const uint8_t *text = p->deferred_text.data;

	return !end->name_len || (end->name_len == begin->name_len &&
	                          !memcmp(text + begin->text + begin->name,
	                                  text + end->text + end->name, end->name_len));
}

/* The begins and ends of one row, in order of time. Begins inside a range that ended have lost
 * their ends, unless those come at the same moment; what begins or ends with it is not inside. */
static void pair_row(struct ws_pytorch *p, struct deferred *const *event, size_t n,
                     struct deferred **open)
{
	struct deferred *begin;
	size_t depth = 0, at;

	for (size_t i = 0; i < n; i++) {
		const int64_t now_ns = event[i]->time_ns;

		while (depth && open[depth - 1]->lost_after_ns < now_ns)
			depth--;
		if (event[i]->phase == 'B') {
			event[i]->lost_after_ns = INT64_MAX;
			open[depth++] = event[i];
			continue;
		}
		/* The place of the begin that it closes, plus 1; 0: none. At one moment ranges end
		 * before others begin: an end with a name closes an earlier begin of it if there is
		 * one, else the innermost. */
		at = 0;
		for (size_t k = depth; k; k--) {
			begin = open[k - 1];
			if (begin->lost_after_ns < now_ns || !ends(p, begin, event[i]))
				continue;
			at = at ? at : k;
			if (!event[i]->name_len)
				break;
			if (begin->time_ns < now_ns) {
				at = k;
				break;
			}
		}
		if (!at) {
			p->out->lost[WS_LOST_import_end_without_begin]++;
			continue;
		}
		begin = open[at - 1];
		for (size_t k = at; k < depth; k++) {
			open[k - 1] = open[k];
			if (open[k]->time_ns > begin->time_ns && open[k]->time_ns < now_ns &&
			    open[k]->lost_after_ns > now_ns)
				open[k]->lost_after_ns = now_ns;
		}
		depth--;
		begin->end = (size_t)(event[i] - p->deferred) + 1;
		begin->lacks_id &= !event[i]->correlation;
		if (!begin->external_id)
			begin->external_id = event[i]->external_id;
	}
}

/* Read the text of a deferred event again. */
static void read_again(struct ws_pytorch *p, const struct deferred *d, struct event *e)
{
	const struct ws_json_value text = {.type = WS_JSON_OBJECT,
	                                   .text = (const char *)p->deferred_text.data + d->text,
	                                   .len = d->len};
	struct ws_json_faults counted = {0};
	struct ws_json_reader j = ws_json_inside(&text, &counted);

	parse(p, &j, e);
}

static struct ws_json_value number(const char *text)
{
	return (struct ws_json_value){.type = WS_JSON_NUMBER, .text = text, .len = strlen(text)};
}

/* --- kinds of events --- */

struct category {
	const char *text;
	void (*fn)(struct ws_pytorch *p, const struct event *e);
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
	ws_import_skip(p->out, reason, 1);
	p->out->lost[WS_LOST_import_unknown_kind]++;
}

/* Call the function of the event's category. */
static void dispatch(struct ws_pytorch *p, const struct category *list, const struct event *e,
                     const char *what)
{
	for (; list->text; list++)
		if (ws_json_is(&e->cat, list->text, strlen(list->text))) {
			list->fn(p, e);
			return;
		}
	unknown(p, what, &e->cat);
}

/* The kind of work that an event with a duration launches, or is itself, if such events have a
 * correlation id. */
static enum work work_of(const struct event *e, bool *is_call)
{
	static const struct {
		const char *part;
		enum work work;
	} calls[] = {{"Launch", WORK_KERNEL}, {"Memcpy", WORK_COPY}, {"Memset", WORK_SET}};
	const struct category *c = categories;

	while (c->text && !ws_json_is(&e->cat, c->text, strlen(c->text)))
		c++;
	*is_call = c->fn == on_call;
	for (size_t i = 0; *is_call && i < sizeof(calls) / sizeof(*calls); i++)
		if (e->name.len &&
		    memmem(e->name.text, e->name.len, calls[i].part, strlen(calls[i].part)))
			return calls[i].work;
	return c->fn == on_kernel ? WORK_KERNEL
	       : c->fn == on_copy ? WORK_COPY
	       : c->fn == on_set  ? WORK_SET
	                          : NO_WORK;
}

static void on_event(struct ws_pytorch *p, const struct event *e)
{
	enum work work;
	bool is_call, has_id;

	p->out->stats->events++;
	switch (e->ph.len == 1 ? e->ph.text[0] : 0) {
	case 'X':
		if (p->is_xla) {
			static const enum arg args[WS_XLA_NSTATS] = {
			        [WS_XLA_CORRELATION] = WS_ARG_XLA_CORRELATION,
			        [WS_XLA_CONTEXT] = WS_ARG_XLA_CONTEXT,
			        [WS_XLA_KERNEL] = WS_ARG_XLA_KERNEL,
			        [WS_XLA_COPY] = WS_ARG_XLA_COPY,
			        [WS_XLA_FILL] = WS_ARG_XLA_FILL,
			        [WS_XLA_HLO_OP] = WS_ARG_XLA_HLO_OP,
			        [WS_XLA_HLO_MODULE] = WS_ARG_XLA_HLO_MODULE,
			        [WS_XLA_PATH] = WS_ARG_NAME,
			        [WS_XLA_TF_OP] = WS_ARG_XLA_TF_OP,
			        [WS_XLA_STEP] = WS_ARG_XLA_STEP,
			};
			struct ws_xla_event x = {.plane = u64_of(&e->pid), .line = u64_of(&e->tid)};

			if (!time_of(p, &e->ts, &x.start_ns) ||
			    !ws_json_scaled(&e->dur, 3, &x.dur_ns)) {
				p->out->lost[WS_LOST_import_bad_time]++;
				break;
			}
			x.name = ws_json_text(&e->name, &p->scratch);
			for (unsigned i = 0; i < WS_XLA_NSTATS; i++)
				if (e->arg[args[i]].type != WS_JSON_ABSENT)
					x.stat[i] = (struct ws_bytes){e->arg[args[i]].text,
					                              e->arg[args[i]].len};
			ws_xla_add(&p->xla, &x);
			break;
		}
		has_id = ARG_U64(e, CORRELATION) != 0;
		if (!has_id || !p->has_ids) {
			work = work_of(e, &is_call);
			if (work != NO_WORK && !has_id) {
				defer(p, e, work, is_call);
				break;
			}
			/* device work has correlation ids: arrows add nothing to them */
			if (work != NO_WORK && !is_call && !p->has_ids) {
				p->has_ids = true;
				if (!p->without_id) {
					count_arrows(p);
					ws_strtab_free(&p->arrow_ends);
				}
			}
		}
		dispatch(p, categories, e, "category");
		break;
	case 'B':
		work = work_of(e, &is_call);
		defer(p, e, work, is_call);
		break;
	case 'E':
		defer(p, e, NO_WORK, false);
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
		if (p->is_xla && e->text.len == 2) { /* {}: XLA ends its list so */
			p->dropped[WS_DROPPED_HINT]++;
			break;
		}
		unknown(p, "phase", &e->ph);
		break;
	}
}

/* --- the end of the file --- */

/* Writes everything that had to wait for the last event: deferred events, rows, ranges, names,
 * counts. */
static void finish(struct ws_pytorch *p)
{
	static const char *const words[] = {
#define DROPPED(ID, words) words,
#include "formats/pytorch/pytorch.def"
	};
	struct kept_name kept;
	struct deferred **event = ws_xarray(2 * p->ndeferred + 1, sizeof(*event));
	size_t events = 0;

	for (size_t i = 0; i < p->ndeferred; i++)
		if (p->deferred[i].phase != 'X')
			event[events++] = &p->deferred[i];
	ws_sort(event, events, sizeof(*event), compare_rows);
	for (size_t from = 0, to; from < events; from = to) {
		for (to = from + 1; to < events && event[to]->row == event[from]->row;)
			to++;
		pair_row(p, event + from, to - from, event + p->ndeferred);
	}
	free(event);
	find_ids(p);
	count_arrows(p);
	for (size_t i = 0; i < p->ndeferred; i++) {
		const struct deferred *d = &p->deferred[i];
		const uint64_t records = p->out->stats->kept;
		char dur[48], id[24];
		struct event e;

		if (d->phase == 'E')
			continue; /* it is written with its begin */
		if (d->phase == 'B' && !d->end) {
			p->out->lost[WS_LOST_import_begin_without_end]++;
			continue;
		}
		read_again(p, d, &e);
		if (d->phase == 'B') {
			/* Make a begin the whole event: with its duration, and the arguments that
			 * only its end has. */
			const struct deferred *end = &p->deferred[d->end - 1];
			struct event last;
			int64_t dur_ns;

			read_again(p, end, &last);
			for (unsigned k = 0; k < NARGS; k++)
				if (e.arg[k].type == WS_JSON_ABSENT)
					e.arg[k] = last.arg[k];
			if (!__builtin_sub_overflow(end->time_ns, d->time_ns, &dur_ns)) {
				snprintf(dur, 48, "%" PRId64 ".%03" PRId64, dur_ns / 1000,
				         dur_ns % 1000);
				e.dur = number(dur);
			}
		}
		if (d->lacks_id && d->correlation) {
			snprintf(id, sizeof(id), "%" PRIu64, d->correlation);
			e.arg[WS_ARG_CORRELATION] = number(id);
		}
		dispatch(p, categories, &e, "category");
		if (d->phase != 'B')
			continue;
		if (p->out->stats->kept > records)
			ws_import_keep(p->out, 1);
		else
			p->dropped[WS_DROPPED_END_LEFT_OUT]++;
	}

	uint64_t n[2] = {0, 0};

	for (size_t i = 0; i < p->nwork_ids; i++)
		if (!has_call(p, p->work_ids[i].correlation))
			n[p->work_ids[i].has_operation]++;
	if (n[0] + n[1])
		ws_import_warn(p->out,
		               "device work with a correlation id that no call has: %" PRIu64
		               ". Its operation is known by an External id: %" PRIu64,
		               n[0] + n[1], n[1]);
	put_waiting(p);

	/* Makes each annotation a range around the capture of its node, on a thread of their own.
	 * The file does not have the time of the capture: it was before the first of them ran. */
	const struct ws_bytes label = ws_bytes_of("CUDA graph annotations");
	struct ws_row_graph_node row = {.pid = p->host_pid};

	const size_t nnodes = p->other_host_calls ? 0 : p->nnodes;
	if (nnodes)
		ws_import_thread(p->out, p->host_pid, 0, label, &row.thread);
	for (size_t i = 0; i < nnodes; i++) {
		struct ws_import_range r = {.domain = p->domain,
		                            .sequence = p->nranges,
		                            .thread = row.thread,
		                            .name = p->nodes[i].name};

		row.node = p->nodes[i].node;
		row.time_ns = r.start_ns = p->first_node_ns - 2 * (int64_t)(nnodes - i);
		r.end_ns = r.start_ns + 1;
		ws_import_row(p->out, WS_KIND_GRAPH_NODE, &row);
		WS_GROW(p->ranges, p->nranges + 1, p->ranges_capacity);
		p->ranges[p->nranges++] = r;
	}
	ws_import_ranges(p->out, p->ranges, p->nranges);
	for (size_t at = 0; at < p->names.len; at += kept.len) {
		uint64_t thread;
		char number[40]; /* the name that our exports give to one without a name */

		memcpy(&kept, p->names.data + at, sizeof(kept));
		at += sizeof(kept);
		struct ws_bytes text = {p->names.data + at, (size_t)kept.len};
		snprintf(number, sizeof(number), kept.of_process ? "process %llu" : "thread %llu",
		         (unsigned long long)(kept.of_process ? kept.pid : kept.tid));
		if (ws_bytes_is(text, number))
			text.len = 0;
		thread = ws_import_thread_known(p->out, kept.pid, kept.tid);
		if (text.len && kept.of_process && ws_import_process_known(p->out, kept.pid)) {
			struct ws_import_process *process = ws_import_process(p->out, kept.pid);
			ws_import_text(p->out, text, &process->name);
		} else if (text.len && !kept.of_process && thread) {
			ws_import_thread_name(p->out, thread, kept.pid, kept.tid, text);
		} else {
			p->dropped[WS_DROPPED_NAME]++;
			continue;
		}
		ws_import_keep(p->out, 1);
	}

	for (size_t i = 0; i < p->nflows; i++)
		p->dropped[WS_DROPPED_HALF_FLOW] += p->flows[i].phase != 0;
	for (size_t i = 0; i < NDROPPED; i++)
		ws_import_skip(p->out, words[i], p->dropped[i]);
	if (p->at_zero)
		ws_import_warn(
		        p->out,
		        "events at time 0, whose time but not duration the profiler lost: %llu",
		        (unsigned long long)p->at_zero);
	if (p->other_host_calls)
		ws_import_warn(p->out,
		               "several processes in one file: device work ahead of the second "
		               "one's first call is taken for process %llu's",
		               (unsigned long long)p->host_pid);
}

/* --- the text: reading on when the window ends --- */

/* The text ends inside something. */
static void cut_off(struct ws_pytorch *p, uint64_t records)
{
	ws_import_lose(p->out, WS_LOST_import_cut_off, records);
	ws_import_warn(p->out, "the file ends in the middle, after %llu bytes of text",
	               (unsigned long long)ws_json_stream_offset(p->text, p->text->j.end));
}

static enum ws_json_result next_value(struct ws_pytorch *p, void *value)
{
	return ws_json_value(&p->text->j, value);
}
static enum ws_json_result next_member(struct ws_pytorch *p, void *key)
{
	return ws_json_member(&p->text->j, key);
}

/* Opens an object or array, as *(char *)bracket says. */
static enum ws_json_result next_bracket(struct ws_pytorch *p, void *bracket)
{
	struct ws_json_reader *j = &p->text->j;
	enum ws_json_result r = ws_json_open(j, '{');

	if (r == WS_JSON_BAD)
		r = ws_json_open(j, '[');
	if (r == WS_JSON_OK)
		*(char *)bracket = j->pos[-1];
	return r;
}

static enum ws_json_result next_event(struct ws_pytorch *p, void *event)
{
	struct ws_json_reader *j = &p->text->j;
	enum ws_json_result r = ws_json_element(j);
	struct ws_json_value other;

	if (r != WS_JSON_OK || *j->pos == '{')
		return r == WS_JSON_OK ? parse(p, j, event) : r;
	/* another value is no event: it counts as one without a phase */
	memset(event, 0, sizeof(struct event));
	return ws_json_value(j, &other);
}

/*
 * Read with one of the functions above, with as much text as that takes: when the window ends, the
 * attempt is repeated from its begin. *from: the begin, in the window as it is now. *r is MORE if
 * the text ends, or what is read exceeds the greatest window.
 */
static enum ws_status attempt(struct ws_pytorch *p,
                              enum ws_json_result (*next)(struct ws_pytorch *p, void *out),
                              void *out, enum ws_json_result *r, const char **from,
                              struct ws_err *err)
{
	int full = 0;

	for (;;) {
		const struct ws_json_faults faults = p->text->faults;
		const bool was_complete = p->text->j.complete;

		*from = p->text->j.pos;
		*r = next(p, out);
		if (*r != WS_JSON_MORE)
			return WS_OK;
		p->text->faults = faults;
		p->text->j.pos = *from;
		if (was_complete)
			return WS_OK;
		WS_FORWARD(ws_json_stream_fill(p->text, *from, &full, err));
		*from = p->text->j.pos;
		if (full)
			return WS_OK;
	}
}

/* --- metadata --- */

/* A key in the file and the key of its `meta` row. A list of them ends with an entry without
 * text. */
struct name {
	const char *text, *becomes;
};

static const char *name_of(const struct name *list, const struct ws_json_value *key)
{
	for (; list->text; list++)
		if (ws_json_is(key, list->text, strlen(list->text)))
			return list->becomes;
	return NULL;
}

static void meta_scalar(struct ws_pytorch *p, const char *key, const struct ws_json_value *v)
{
	if (v->type != WS_JSON_NUMBER && v->type != WS_JSON_STRING && v->type != WS_JSON_TRUE &&
	    v->type != WS_JSON_FALSE)
		return;
	struct ws_bytes text = ws_json_text(v, &p->scratch);
	ws_import_meta(p->out, key, text);
}

/* The members of the top level that are used; others may have any size. */
static const struct name wanted[] = {{"traceEvents", "traceEvents"},
                                     {"deviceProperties", "deviceProperties"},
                                     {"distributedInfo", "distributedInfo"},
                                     {"baseTimeNanoseconds", "baseTimeNanoseconds"},
                                     {"otherData", "otherData"},
#define META(text, key) {text, key},
#include "formats/pytorch/pytorch.def"
                                     {NULL, NULL}};

/* A member of the top level. */
static void on_metadata(struct ws_pytorch *p, const char *name, const struct ws_json_value *value)
{
	static const struct name distributed[] = {{"rank", "distributed.rank"},
	                                          {"world_size", "distributed.world_size"},
	                                          {"backend", "distributed.backend"},
	                                          {"nccl_version", "distributed.nccl_version"},
	                                          {NULL, NULL}};
	static const char *const elsewhere[] = {"tool.", "import.", "distributed."};
	struct ws_json_items items;
	struct ws_json_value key, v;
	char own[200];

	if (strcmp(name, "deviceProperties") == 0) {
		ws_json_items_begin(&items, value, '[');
		while (ws_json_next_element(&items, &v)) {
			/* id and name first, because the rest refers to them */
			static const struct name attrs[] = {
#define DEVICE(text, attr) {text, attr},
#include "formats/pytorch/pytorch.def"
			        {NULL, NULL}};
			struct ws_json_items fields;
			struct ws_json_value field;
			struct ws_bytes device = {NULL, 0};
			int64_t id = -1, number;

			ws_json_items_begin(&fields, &v, '{');
			while (ws_json_next_member(&fields, &key, &field)) {
				if (WS_JSON_IS(&key, "id") && !ws_json_i64(&field, &id))
					id = -1;
				if (WS_JSON_IS(&key, "name"))
					device = ws_json_text(&field, &p->scratch);
			}
			if (id < 0)
				continue;
			ws_import_device(p->out, (uint64_t)id, device);
			ws_json_items_begin(&fields, &v, '{');
			while (ws_json_next_member(&fields, &key, &field)) {
				const char *attr = name_of(attrs, &key);

				if (attr && ws_json_i64(&field, &number))
					ws_import_device_attr(p->out, (uint64_t)id, attr, number);
			}
		}
	} else if (strcmp(name, "distributedInfo") == 0) {
		ws_json_items_begin(&items, value, '{');
		while (ws_json_next_member(&items, &key, &v))
			if (name_of(distributed, &key))
				meta_scalar(p, name_of(distributed, &key), &v);
	} else if (strcmp(name, "otherData") == 0) {
		/* meta rows of our own exported traces, except those that the import writes itself,
		 * and those that are top-level members as in PyTorch's files */
		ws_json_items_begin(&items, value, '{');
		while (ws_json_next_member(&items, &key, &v)) {
			bool is_wanted = key.len && key.len < sizeof(own) && !key.escaped &&
			                 memchr(key.text, '.', key.len) && v.type == WS_JSON_STRING;

			for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere) && is_wanted;
			     i++)
				is_wanted = !ws_bytes_begin((struct ws_bytes){key.text, key.len},
				                            elsewhere[i]);
			for (size_t i = 0; wanted[i].text && is_wanted; i++)
				is_wanted = !ws_json_is(&key, wanted[i].becomes,
				                        strlen(wanted[i].becomes));
			if (!is_wanted)
				continue;
			memcpy(own, key.text, key.len);
			own[key.len] = '\0';
			ws_import_meta(p->out, own, ws_json_text(&v, &p->scratch));
		}
	} else if (strcmp(name, "baseTimeNanoseconds") != 0) {
		meta_scalar(p, name, value);
	} else if (!ws_json_i64(value, &p->base_ns)) {
		p->base_ns = 0;
	}
}

/* --- damage --- */

static uint64_t count_phases(const char *p, const char *end)
{
	static const char mark[] = "\"ph\"";
	uint64_t n = 0;

	while ((p = memmem(p, (size_t)(end - p), mark, sizeof(mark) - 1)) != NULL) {
		n++;
		p += sizeof(mark) - 1;
	}
	return n;
}

/* The '{' of the next event, after "}," from p on. NULL: not in this text; *last: search again from
 * here when there is more. */
static const char *event_begin(const char *p, const char *end, const char **last)
{
	while ((p = memchr(p, '}', (size_t)(end - p))) != NULL) {
		const char *q = p + 1;
		int comma = 0;

		*last = p;
		while (q < end &&
		       (*q == ' ' || *q == '\n' || *q == '\r' || *q == '\t' || *q == ','))
			comma |= *q++ == ',';
		if (q == end)
			return NULL;
		if (*q == '{' && comma)
			return q;
		p++;
	}
	*last = end;
	return NULL;
}

/* Count the events in the rest of the text, which cannot be read: a second document in the file, or
 * text after a surplus bracket. */
static enum ws_status count_rest(struct ws_pytorch *p, const char *what, struct ws_err *err)
{
	struct ws_json_reader *j = &p->text->j;
	const uint64_t place = ws_json_stream_offset(p->text, j->pos);
	const ptrdiff_t part_of_mark = sizeof("\"ph\"") - 2;
	uint64_t lost = 0;
	int full;

	for (;;) {
		lost += count_phases(j->pos, j->end);
		if (j->complete)
			break;
		WS_FORWARD(ws_json_stream_fill(
		        p->text, j->end - j->pos > part_of_mark ? j->end - part_of_mark : j->pos,
		        &full, err));
	}
	j->pos = j->end;
	ws_import_lose(p->out, WS_LOST_import_unreadable, lost ? lost : 1);
	ws_import_warn(p->out, "%s at byte %llu, and what follows is not read", what,
	               (unsigned long long)place);
	return WS_OK;
}

/* Only space may follow the end of the document. */
static enum ws_status expect_end(struct ws_pytorch *p, struct ws_err *err)
{
	struct ws_json_reader *j = &p->text->j;
	int full;

	for (;;) {
		while (j->pos < j->end && memchr(" \t\r\n", *j->pos, 4))
			j->pos++;
		if (j->pos < j->end)
			return count_rest(p, "the document ends", err);
		if (j->complete)
			return WS_OK;
		WS_FORWARD(ws_json_stream_fill(p->text, j->pos, &full, err));
	}
}

/* --- events --- */

/* Read the elements of traceEvents, from behind its '['. *ended: the text ended, too. */
static enum ws_status read_events(struct ws_pytorch *p, int *ended, struct ws_err *err)
{
	struct ws_json_reader *j = &p->text->j;
	struct event e;
	enum ws_json_result r;
	const char *from;
	int full = 0;

	*ended = 0;
	p->has_events = 1;
	while (!*ended) {
		WS_FORWARD(attempt(p, next_event, &e, &r, &from, err));
		if (r == WS_JSON_END)
			return WS_OK;
		if (r == WS_JSON_OK) {
			on_event(p, &e);
		} else if (r == WS_JSON_BAD || !p->text->j.complete) {
			/* Skip the unreadable event that began at `from`, and events merged with
			 * it, up to the probable begin of the next one. An event larger than the
			 * largest window is skipped, too. */
			uint64_t lost = 0, place = ws_json_stream_offset(p->text, from);
			const char *look = from, *last = from, *next;

			for (;;) {
				next = event_begin(look, j->end, &last);
				lost += count_phases(look, next ? next : last);
				if (next || j->complete)
					break;
				WS_FORWARD(ws_json_stream_fill(p->text, last, &full, err));
				look = j->pos;
			}
			j->pos = next ? next : j->end;
			*ended = !next;
			ws_import_lose(p->out, WS_LOST_import_unreadable, lost ? lost : 1);
			if (p->unreadable++ == 0)
				ws_import_warn(p->out,
				               "invalid JSON at byte %llu: continuing with the "
				               "next event",
				               (unsigned long long)place);
		} else {
			cut_off(p, count_phases(from, p->text->j.end));
			*ended = 1;
		}
	}
	return WS_OK;
}

/* --- the top level --- */

/* Read the members of the top-level object, from behind its '{'. */
static enum ws_status members(struct ws_pytorch *p, struct ws_err *err)
{
	static const char mark[] = "\"traceEvents\"";
	const size_t overlap = sizeof(mark) + 16;
	struct ws_json_reader *j = &p->text->j;
	struct ws_json_value v;
	enum ws_json_result r;
	const char *from, *at, *name;
	int ended = 0, full = 0, bad;
	char bracket;

	while (!ended) {
		WS_FORWARD(attempt(p, next_member, &v, &r, &from, err));
		if (r == WS_JSON_END)
			return expect_end(p, err);
		name = r == WS_JSON_OK ? name_of(wanted, &v) : NULL;
		if (r == WS_JSON_OK && !name) { /* the member is not used */
			WS_FORWARD(ws_json_stream_skip(p->text, &bad, err));
			r = bad ? WS_JSON_BAD : WS_JSON_OK;
		} else if (name && strcmp(name, "traceEvents") == 0) {
			WS_FORWARD(attempt(p, next_bracket, &bracket, &r, &from, err));
			if (r == WS_JSON_OK)
				WS_FORWARD(read_events(p, &ended, err));
		} else if (name) {
			WS_FORWARD(attempt(p, next_value, &v, &r, &from, err));
			if (r == WS_JSON_OK)
				on_metadata(p, name, &v);
		}
		if (r == WS_JSON_OK)
			continue;
		if (p->has_events && r == WS_JSON_MORE && p->text->j.complete) {
			cut_off(p, 0); /* only metadata is behind them */
			return WS_OK;
		}
		if (p->has_events)
			return count_rest(p, "invalid JSON after the events", err);
		/* The metadata before the events is invalid JSON, as users add their own: search
		 * the key traceEvents from here on. */
		ws_import_warn(p->out, "invalid JSON at byte %llu, before the events",
		               (unsigned long long)ws_json_stream_offset(p->text, j->pos));
		j->pos += j->pos < j->end; /* not the same key again */
		while (!(at = memmem(j->pos, (size_t)(j->end - j->pos), mark, sizeof(mark) - 1)) &&
		       !j->complete) {
			const char *keep =
			        (size_t)(j->end - j->pos) > overlap ? j->end - overlap : j->pos;

			WS_FORWARD(ws_json_stream_fill(p->text, keep, &full, err));
		}
		ended = !at;
		if (at)
			j->pos = at;
	}
	return WS_OK;
}

static enum ws_status top_level(struct ws_pytorch *p, struct ws_err *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct ws_json_reader *j = &p->text->j;
	enum ws_json_result r;
	const char *from;
	char bracket;
	int ended, full;

	WS_FORWARD(ws_json_stream_fill(p->text, j->pos, &full, err));
	if (j->end - j->pos >= 3 && memcmp(j->pos, bom, 3) == 0)
		j->pos += 3;
	WS_FORWARD(attempt(p, next_bracket, &bracket, &r, &from, err));
	WS_FAIL_IF(r != WS_JSON_OK, err, CORRUPT, "it is not a JSON object or array");
	if (bracket == '{')
		return members(p, err);
	WS_FORWARD(read_events(p, &ended, err));
	return ended ? WS_OK : expect_end(p, err);
}

enum ws_status ws_import_pytorch(struct ws_import_out *o, struct ws_json_stream *text,
                                 struct ws_import_clock *clock, struct ws_err *err)
{
	struct ws_pytorch p = {.out = o, .text = text};
	const struct {
		const uint64_t *count;
		const char *words;
	} faults[] = {
	        {&text->faults.control_chars,
	         "texts with raw control characters, kept as they are"},
	        {&text->faults.bad_escapes,
	         "texts with escapes that JSON does not know, kept as they are"},
	        {&text->faults.not_numbers,
	         "values that are not numbers (NaN or infinite), taken as unknown"},
	};

	for (unsigned i = 0; i < NARGS; i++) {
		unsigned at = arg_slot(arg_names[i].text, arg_names[i].len);

		while (p.arg_slots[at])
			at = (at + 1) % ARG_SLOTS;
		p.arg_slots[at] = (uint8_t)(i + 1);
	}
	ws_import_text(o, ws_bytes_of(DOMAIN), &p.domain);

	enum ws_status status = top_level(&p, err);
	if (status == WS_OK && !p.has_events)
		status = WS_FAIL(err, CORRUPT, "it has no traceEvents");
	if (status == WS_OK)
		finish(&p);
	snprintf(o->stats->format, sizeof(o->stats->format), "generation of %s",
	         p.names_2021               ? "2021"
	         : p.base_ns || p.fractions ? "2024 or later"
	                                    : "2022 or 2023");
	if (p.is_xla && status == WS_OK) {
		o->stats->source = "XLA profile (trace.json)";
		ws_xla_finish(&p.xla);
	}
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (*faults[i].count)
			ws_import_warn(o, "%s: %llu", faults[i].words,
			               (unsigned long long)*faults[i].count);
	if (__builtin_add_overflow(p.base_ns, p.origin_ns, &clock->base_ns))
		clock->base_ns = p.origin_ns;

	ws_xla_free(&p.xla);
	free(p.waiting);
	free(p.ranges);
	free(p.nodes);
	ws_map_free(&p.node_known);
	free(p.flows);
	free(p.deferred);
	free(p.work_ids);
	free(p.arrows);
	ws_map_free(&p.call_ids);
	ws_strtab_free(&p.rows);
	ws_strtab_free(&p.arrow_ends);
	ws_strtab_free(&p.flow_ids);
	ws_buf_free(&p.deferred_text);
	ws_buf_free(&p.scratch);
	ws_buf_free(&p.names);
	return status;
}

/* --- the importer --- */

static bool contains(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

/* Whether the JSON has the first keys of a PyTorch trace. Other JSON is not imported. */
static bool recognises(const char *text, size_t len)
{
	size_t at = 0;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		at = 3;
	while (at < len &&
	       (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t'))
		at++;
	if (at == len || (text[at] != '{' && text[at] != '['))
		return false;
	return contains(text, len, "\"traceEvents\"") ||
	       (contains(text, len, "\"schemaVersion\"") &&
	        contains(text, len, "\"deviceProperties\"")) ||
	       (text[at] == '[' && contains(text, len, "\"ph\""));
}

static enum ws_status run(struct ws_import_out *o, const char *path, struct ws_import_clock *clock,
                          struct ws_err *err)
{
	struct ws_json_stream text = {0};
	struct ws_text_file f;

	WS_FORWARD(ws_text_file_open(&f, path, err));
	f.out = o;
	ws_json_stream_init(&text, ws_text_file_read, &f);
	enum ws_status status = ws_import_pytorch(o, &text, clock, err);
	if (f.damaged)
		ws_import_warn(o, "the compressed data are damaged or end early");
	ws_json_stream_free(&text);
	ws_text_file_close(&f);
	return status;
}

/* Other programs write the same format with categories of their own. */
static void empty(const struct ws_import_stats *s, char *text, size_t size)
{
	const struct ws_import_skip *most = ws_import_most_skipped(s, "category '", "phase '");

	if (most)
		snprintf(text, size,
		         "it seems to be another program's Chrome trace (%llu records of %s). "
		         "Open it in ui.perfetto.dev; import what torch.profiler writes",
		         (unsigned long long)most->count,
		         strcmp(most->reason, "category ''") ? most->reason : "no category");
	else
		snprintf(text, size,
		         "it seems to be a PyTorch profile without work. Run at least one step "
		         "while torch.profiler is on");
}

const struct ws_importer ws_importer_pytorch = {
        .name = "PyTorch profiler JSON",
        .recognises = recognises,
        .reads_gzip = true,
        .run = run,
        .empty = empty,
};
