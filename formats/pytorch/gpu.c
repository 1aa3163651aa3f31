/*
 * Device work of a PyTorch trace: kernels, copies, fills, waits, and the spans
 * of annotations on a stream.
 */
#include <stddef.h>

#include "formats/pytorch/pytorch.h"
#include "formats/base/grow.h"

/* --- device work waits for its process --- */

static bool is_work(enum ws_kind kind)
{
	return kind == WS_KIND_KERNEL || kind == WS_KIND_MEMCPY || kind == WS_KIND_MEMSET;
}

/*
 * Ids of several processes collide, and device work names none: where a second one
 * was seen it is nobody's, rather than in a range of the wrong rank.
 */
static uint64_t launching_process(struct ws_pytorch *p, enum ws_kind kind)
{
	if (!p->other_host_calls)
		return p->host_pid;
	p->out->lost[WS_LOST_import_merged_ranks] += is_work(kind);
	return 0;
}

static void put_gpu_row(struct ws_pytorch *p, struct ws_gpu_row *g)
{
	static const size_t pid_at[WS_KIND_END] = {
	        [WS_KIND_KERNEL] = offsetof(struct ws_gpu_row, config.pid),
	        [WS_KIND_MEMCPY] = offsetof(struct ws_gpu_row, copy.pid),
	        [WS_KIND_MEMSET] = offsetof(struct ws_gpu_row, set.pid),
	        [WS_KIND_SYNC] = offsetof(struct ws_gpu_row, sync.pid),
	        [WS_KIND_GPU_RANGE] = offsetof(struct ws_gpu_row, range.pid),
	        [WS_KIND_COLLECTIVE] = offsetof(struct ws_gpu_row, collective.pid),
	        [WS_KIND_EXTERNAL_LINK] = offsetof(struct ws_gpu_row, link.pid),
	};

	ws_store_u64((uint8_t *)g + pid_at[g->kind], launching_process(p, g->kind));
	if (g->kind == WS_KIND_KERNEL)
		ws_trace_writer_intern_config(p->out->w, &g->config, &g->kernel.config, NULL);
	ws_import_row(p->out, g->kind, &g->row);
}

void ws_pytorch_put_waiting(struct ws_pytorch *p)
{
	for (size_t i = 0; i < p->nwaiting; i++)
		put_gpu_row(p, &p->waiting[i]);
	p->nwaiting = 0;
}

static void gpu_row(struct ws_pytorch *p, struct ws_gpu_row *g)
{
	if (g->kind != WS_KIND_COLLECTIVE && g->kind != WS_KIND_EXTERNAL_LINK)
		ws_import_keep(p->out, 1); /* these two are parts of a record */
	if (p->nwaiting == WS_PYTORCH_MAX_WAITING) {
		p->gave_up_waiting = 1;
		ws_pytorch_put_waiting(p);
	}
	if (p->has_host_pid || p->gave_up_waiting) {
		put_gpu_row(p, g);
		return;
	}
	WS_GROW(p->waiting, p->nwaiting + 1, p->waiting_capacity);
	p->waiting[p->nwaiting++] = *g;
}

void ws_pytorch_host_event(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	uint64_t pid = ws_pytorch_u64(&e->pid, 0);

	if (p->has_host_pid) {
		p->other_host_calls += pid != p->host_pid;
		return;
	}
	p->has_host_pid = 1;
	p->host_pid = pid;
	ws_pytorch_put_waiting(p);
}

/*
 * External ids name the operation that launched the work. Some generations
 * write the correlation id there where they know of none.
 */
static void link_row(struct ws_pytorch *p, const struct ws_pytorch_event *e, uint64_t correlation)
{
	struct ws_gpu_row g = {.kind = WS_KIND_EXTERNAL_LINK};
	uint64_t id = ARG_U64(e, EXTERNAL_ID);

	if (!id)
		id = ARG_U64(e, EXTERNAL_ID_2021);
	ws_pytorch_work_id(p, correlation, id && id != correlation);
	/* the kernels of one graph launch have one correlation id */
	if (!id || id == correlation || !correlation || correlation == p->last_link)
		return;
	p->last_link = correlation;
	g.link = (struct ws_row_external_link){.correlation = correlation,
	                                       .kind = WS_EXTERNAL_CUSTOM0,
	                                       .external_id = id};
	gpu_row(p, &g);
}

void ws_pytorch_collective(struct ws_pytorch *p, const struct ws_pytorch_event *e, int64_t time_ns,
                           uint64_t correlation)
{
	struct ws_gpu_row g = {.kind = WS_KIND_COLLECTIVE};
	struct ws_row_collective *row = &g.collective;
	const struct ws_json_value *name = &e->arg[WS_ARG_COLLECTIVE];

	/* "wait" is what the host does after one */
	if (name->type != WS_JSON_STRING || WS_JSON_IS(name, "wait"))
		return;
	*row = (struct ws_row_collective){.time_ns = time_ns,
	                                  .correlation = correlation,
	                                  .external_id = ARG_U64(e, EXTERNAL_ID),
	                                  .group_size = ARG_U64(e, GROUP_SIZE),
	                                  .in_elements = ARG_U64(e, IN_ELEMENTS),
	                                  .out_elements = ARG_U64(e, OUT_ELEMENTS),
	                                  .sequence = ARG_I64(e, GROUP_SEQUENCE, -1)};
	ws_pytorch_text(p, name, &row->name);
	ws_pytorch_text(p, &e->arg[WS_ARG_GROUP], &row->group);
	ws_pytorch_text(p, &e->arg[WS_ARG_GROUP_RANKS], &row->ranks);
	ws_pytorch_text(p, &e->arg[WS_ARG_DTYPE], &row->dtype);
	gpu_row(p, &g);
}

/* --- device work --- */

/* Three sizes, as "grid" and "block" have them; a missing one is 0. */
static void take_xyz(const struct ws_json_value *v, uint64_t *x, uint64_t *y, uint64_t *z)
{
	struct ws_json_faults faults = {0};
	struct ws_json_reader j = ws_json_inside(v, &faults);
	struct ws_json_value size;
	uint64_t *to[] = {x, y, z};

	if (v->type != WS_JSON_ARRAY || ws_json_open(&j, '[') != WS_JSON_OK)
		return;
	for (int i = 0;
	     i < 3 && ws_json_element(&j) == WS_JSON_OK && ws_json_value(&j, &size) == WS_JSON_OK;
	     i++)
		*to[i] = ws_pytorch_u64(&size, 0);
}

/* Device and stream stand in the arguments; before that, and as a row to draw on, in pid and tid.
 */
static uint64_t device_of(const struct ws_pytorch_event *e)
{
	const struct ws_json_value *v = &e->arg[WS_ARG_DEVICE];

	if (v->type == WS_JSON_ABSENT)
		v = &e->arg[WS_ARG_IN_DEVICE];
	return ws_pytorch_u64(v->type == WS_JSON_ABSENT ? &e->pid : v, 0);
}

static int64_t stream_of(const struct ws_pytorch_event *e)
{
	static const char prefix[] = "stream ";
	const struct ws_json_value *v =
	        &e->arg[e->arg[WS_ARG_STREAM].type == WS_JSON_ABSENT ? WS_ARG_ON_STREAM
	                                                             : WS_ARG_STREAM];
	struct ws_json_value tid = e->tid;
	int64_t stream;

	if (v->type == WS_JSON_ABSENT) {
		if (tid.len >= sizeof(prefix) &&
		    memcmp(tid.text, prefix, sizeof(prefix) - 1) == 0) {
			tid.text += sizeof(prefix) - 1;
			tid.len -= sizeof(prefix) - 1;
		}
		v = &tid;
	}
	stream = ws_pytorch_i64(v, -1);
	/* -1 as CUPTI has it, an unsigned 32-bit number */
	return stream == UINT32_MAX ? -1 : stream;
}

/* Of device work, which has one. */
static uint64_t work_stream(const struct ws_pytorch_event *e)
{
	const int64_t stream = stream_of(e);

	return stream < 0 ? 0 : (uint64_t)stream;
}

void ws_pytorch_on_kernel(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_gpu_row g = {.kind = WS_KIND_KERNEL};
	struct ws_row_launch_config *c = &g.config;

	if (!ws_pytorch_span(p, e, &g.kernel.start_ns, &g.kernel.dur_ns))
		return;
	if (g.kernel.start_ns == 0 && g.kernel.dur_ns == 0 && !p->origin_ns)
		g.kernel.flags = WS_KERNEL_NO_TIME;
	g.kernel.correlation = ARG_U64(e, CORRELATION);
	ws_pytorch_text(p, &e->name, &c->name);
	c->device = device_of(e);
	c->context = ARG_U64(e, CONTEXT);
	c->stream = work_stream(e);
	take_xyz(&e->arg[WS_ARG_GRID], &c->grid_x, &c->grid_y, &c->grid_z);
	take_xyz(&e->arg[WS_ARG_BLOCK], &c->block_x, &c->block_y, &c->block_z);
	c->registers = ARG_U64(e, REGISTERS);
	/* the file has the sum of static and dynamic */
	c->shared_dynamic_bytes = ARG_U64(e, SHARED);
	ws_import_device_used(p->out, c->device);
	gpu_row(p, &g);
	ws_pytorch_collective(p, e, g.kernel.start_ns, g.kernel.correlation);
	link_row(p, e, g.kernel.correlation);
}

static const char memory_kinds[] = "Unknown\0Pageable\0Pinned\0Device\0Array\0Managed\0"
                                   "Device Static\0Managed Static\0";
static const char copy_kinds[] = "Unknown\0HtoD\0DtoH\0HtoA\0AtoH\0AtoA\0AtoD\0DtoA\0DtoD\0HtoH\0"
                                 "PtoP\0";

/* What stands between the two texts; length 0 when they are not there. */
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

/* "Memcpy HtoD (Pageable -> Device)" */
static void take_copy_name(const struct ws_json_value *name, struct ws_row_memcpy *row)
{
	struct ws_bytes kind = text_between(name, "Memcpy ", " "),
	                from = text_between(name, "(", " -> ");
	struct ws_bytes to = text_between(name, "-> ", ")");

	row->kind = ws_pytorch_word(copy_kinds, kind.ptr, kind.len);
	row->src_kind = ws_pytorch_word(memory_kinds, from.ptr, from.len);
	row->dst_kind = ws_pytorch_word(memory_kinds, to.ptr, to.len);
}

void ws_pytorch_on_copy(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_gpu_row g = {.kind = WS_KIND_MEMCPY};
	struct ws_row_memcpy *row = &g.copy;

	if (!ws_pytorch_span(p, e, &row->start_ns, &row->dur_ns))
		return;
	take_copy_name(&e->name, row);
	row->correlation = ARG_U64(e, CORRELATION);
	row->device = device_of(e);
	row->context = e->arg[WS_ARG_CONTEXT].type == WS_JSON_ABSENT ? ARG_U64(e, IN_CONTEXT)
	                                                             : ARG_U64(e, CONTEXT);
	row->stream = work_stream(e);
	row->bytes = ARG_U64(e, BYTES);
	row->src_device = ARG_U64(e, FROM_DEVICE);
	row->dst_device = ARG_U64(e, TO_DEVICE);
	row->graph_node = ARG_U64(e, GRAPH_NODE);
	ws_import_device_used(p->out, row->device);
	if (row->src_device)
		ws_import_device_used(p->out, row->src_device);
	if (row->dst_device)
		ws_import_device_used(p->out, row->dst_device);
	gpu_row(p, &g);
	link_row(p, e, row->correlation);
}

void ws_pytorch_on_set(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_gpu_row g = {.kind = WS_KIND_MEMSET};
	struct ws_row_memset *row = &g.set;
	struct ws_bytes memory = text_between(&e->name, "(", ")");

	if (!ws_pytorch_span(p, e, &row->start_ns, &row->dur_ns))
		return;
	row->memory_kind = ws_pytorch_word(memory_kinds, memory.ptr, memory.len);
	row->correlation = ARG_U64(e, CORRELATION);
	row->device = device_of(e);
	row->context = ARG_U64(e, CONTEXT);
	row->stream = work_stream(e);
	row->bytes = ARG_U64(e, BYTES);
	row->graph_node = ARG_U64(e, GRAPH_NODE);
	ws_import_device_used(p->out, row->device);
	gpu_row(p, &g);
	link_row(p, e, row->correlation);
}

static enum ws_sync_type sync_type(const struct ws_json_value *kind)
{
	static const struct {
		const char *begin;
		enum ws_sync_type type;
	} types[] = {
	        {"Event", WS_SYNC_EVENT},    {"Stream Wait", WS_SYNC_STREAM_WAIT_EVENT},
	        {"Stream", WS_SYNC_STREAM},  {"Context", WS_SYNC_CONTEXT},
	        {"Device", WS_SYNC_CONTEXT},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (kind->len >= strlen(types[i].begin) &&
		    memcmp(kind->text, types[i].begin, strlen(types[i].begin)) == 0)
			return types[i].type;
	return WS_SYNC_UNKNOWN;
}

void ws_pytorch_on_sync(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_gpu_row g = {.kind = WS_KIND_SYNC};
	struct ws_row_sync *row = &g.sync;
	int64_t recorded_by = ARG_I64(e, WAIT_CORRELATION, 0);

	if (!ws_pytorch_span(p, e, &row->start_ns, &row->dur_ns))
		return;
	row->type = sync_type(e->arg[WS_ARG_SYNC_KIND].len ? &e->arg[WS_ARG_SYNC_KIND] : &e->name);
	row->correlation = ARG_U64(e, CORRELATION);
	row->device = device_of(e);
	row->context = ARG_U64(e, CONTEXT);
	row->stream = stream_of(e);
	row->event = ARG_I64(e, WAIT_EVENT, -1);
	row->event_stream = ARG_I64(e, WAIT_STREAM, -1);
	row->event_correlation = recorded_by < 0 ? 0 : (uint64_t)recorded_by;
	ws_import_device_used(p->out, row->device);
	gpu_row(p, &g);
}

void ws_pytorch_on_gpu_annotation(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_gpu_row g = {.kind = WS_KIND_GPU_RANGE};
	struct ws_row_gpu_range *row = &g.range;

	if (!ws_pytorch_span(p, e, &row->start_ns, &row->dur_ns))
		return;
	ws_pytorch_text(p, &e->name, &row->name);
	row->device = device_of(e);
	row->stream = work_stream(e);
	ws_import_device_used(p->out, row->device);
	gpu_row(p, &g);
}
