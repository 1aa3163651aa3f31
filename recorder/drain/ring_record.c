/* One ring record becomes rows of the trace. */
#include "kernels/nvtx/warpsheet_nvtx.h"

#include <stdbool.h>
#include "recorder/drain/private.h"

#define CPU_DEVICE 0 /* id of the only device of the CPU backend */

/* A record whose parts are known to lie inside it. */
struct event {
	struct ws_rec_event rec;
	struct ws_bytes text;
	struct ws_bytes payload;
};

bool ws_drain_record_head(struct ws_rec_event *rec, const uint8_t *bytes, uint32_t size)
{
	struct ws_rec_pop pop;

	if (size >= sizeof(*rec)) {
		memcpy(rec, bytes, sizeof(*rec));
		return 1;
	}
	if (size != sizeof(pop))
		return 0;
	memcpy(&pop, bytes, sizeof(pop));
	*rec = (struct ws_rec_event){.head = pop.head, .domain = pop.domain};
	return pop.head.type == WS_REC_POP;
}

static bool parse(struct event *ev, const uint8_t *bytes, uint32_t size)
{
	const struct ws_rec_event *rec = &ev->rec;
	uint64_t need;

	if (!ws_drain_record_head(&ev->rec, bytes, size))
		return 0;
	ev->text = ev->payload = (struct ws_bytes){0};
	if (size < sizeof(*rec))
		return 1;
	if (rec->text_size > WS_MAX_TEXT || rec->payload_size > size)
		return 0;
	need = sizeof(*rec) + WS_ALIGN8(rec->text_size) + WS_ALIGN8((uint64_t)rec->payload_size);
	if (need != size)
		return 0;
	ev->text = (struct ws_bytes){bytes + sizeof(*rec), rec->text_size};
	ev->payload = (struct ws_bytes){bytes + sizeof(*rec) + WS_ALIGN8(rec->text_size),
	                                rec->payload_size};
	return 1;
}

static uint64_t payload_id(struct ws_drain *d, const struct event *ev)
{
	uint64_t id = 0;

	if (ev->rec.schema)
		(void)ws_trace_writer_intern_payload(d->writer, ev->rec.schema, ev->payload.ptr,
		                                     ev->payload.len, &id, NULL);
	return id;
}

/* String row of the message: registered or inline. */
static uint64_t message_id(struct ws_drain *d, const struct event *ev, int *known)
{
	if (ev->rec.string)
		return ws_drain_string_id(d, ev->rec.string, known);
	*known = 1;
	return ws_drain_intern(d, ev->text);
}

/* --- NVTX events --- */

static bool add_nvtx(struct ws_drain *d, uint32_t thread, const struct event *ev)
{
	static const uint8_t types[] = {
	        [WS_REC_PUSH] = WS_NVTX_PUSH,   [WS_REC_POP] = WS_NVTX_POP,
	        [WS_REC_START] = WS_NVTX_START, [WS_REC_END] = WS_NVTX_END,
	        [WS_REC_MARK] = WS_NVTX_MARK,
	};
	const struct ws_rec_event *rec = &ev->rec;
	int domain_known, name_known;
	struct ws_row_nvtx row = {
	        .thread = thread,
	        .type = types[rec->head.type],
	        .domain = ws_drain_domain_id(d, rec->domain, &domain_known),
	        .name = message_id(d, ev, &name_known),
	        .range = rec->range,
	        .category = rec->category,
	        .color = rec->color,
	};

	if (!domain_known || !name_known || !ws_drain_time(d, rec->head.time_ns, &row.time_ns))
		return 0;
	row.payload = payload_id(d, ev);
	ws_drain_add(d, WS_KIND_NVTX, &row);
	if (row.type == WS_NVTX_PUSH || row.type == WS_NVTX_START)
		d->counts.ranges++;
	else if (row.type == WS_NVTX_MARK)
		d->counts.marks++;
	return 1;
}

/* --- kernels of the CPU reference backend --- */

static void add_cpu_device(struct ws_drain *d)
{
	static const char name[] = "CPU reference";
	struct ws_row_device row = {.id = CPU_DEVICE, .kind = WS_DEVICE_CPU_REFERENCE};

	if (ws_drain_flag(d, WS_COMMIT_CPU_DEVICE))
		return;
	row.name = ws_drain_intern(d, (struct ws_bytes){name, sizeof(name) - 1});
	ws_drain_add(d, WS_KIND_DEVICE, &row);
	ws_drain_set_flag(d, WS_COMMIT_CPU_DEVICE);
}

static bool is_launch_schema(const struct ws_drain *d, uint64_t schema)
{
	for (size_t i = 0; i < d->nlaunch_schemas; i++)
		if (d->launch_schemas[i] == schema)
			return 1;
	return 0;
}

/*
 * The kernel ran inside the call that launched it, on the same thread, so the
 * call and the kernel have the same times.
 */
static bool add_cpu_kernel(struct ws_drain *d, uint32_t thread, const struct event *ev)
{
	static const char api_name[] = "ws_cpu_launch";
	const struct ws_drain_thread *who = ws_drain_thread(d, thread);
	struct ws_row_launch_config config = {.device = CPU_DEVICE, .pid = who->pid};
	struct ws_row_api api = {.thread = thread};
	struct ws_row_kernel kernel = {0};
	struct wsnvtx_launch launch;
	int known;

	config.name = message_id(d, ev, &known);
	if (!known || !ws_drain_time(d, ev->rec.head.time_ns, &kernel.start_ns) ||
	    !ws_drain_time(d, (int64_t)ev->rec.range, &kernel.dur_ns) ||
	    kernel.dur_ns < kernel.start_ns)
		return 0;
	kernel.dur_ns -= kernel.start_ns;
	if (ev->payload.len == sizeof(launch) && is_launch_schema(d, ev->rec.schema)) {
		memcpy(&launch, ev->payload.ptr, sizeof(launch));
		config.grid_x = launch.grid_x;
		config.grid_y = launch.grid_y;
		config.grid_z = launch.grid_z;
		config.block_x = launch.block_x;
		config.block_y = launch.block_y;
		config.block_z = launch.block_z;
	} else {
		kernel.payload = payload_id(d, ev);
	}
	add_cpu_device(d);
	kernel.config = ws_drain_intern_config(d, &config);
	if (d->seg->capture.api != WS_CAPTURE_NO_API) {
		kernel.correlation = ++d->next_correlation;
		api.start_ns = kernel.start_ns;
		api.dur_ns = kernel.dur_ns;
		api.name = ws_drain_intern(d, (struct ws_bytes){api_name, sizeof(api_name) - 1});
		api.correlation = kernel.correlation;
		ws_drain_add(d, WS_KIND_API, &api);
	}
	ws_drain_add(d, WS_KIND_KERNEL, &kernel);
	d->counts.kernels++;
	return 1;
}

/* --- operations of a framework --- */

/* As PyTorch's profiler records them with_modules: one that it does not number. */
static void add_module_call(struct ws_drain *d, const struct ws_row_cpu_op *op)
{
	const struct ws_row_python_call row = {
	        .start_ns = op->start_ns,
	        .dur_ns = op->dur_ns,
	        .thread = op->thread,
	        .name = op->config & ~WS_DRAIN_MODULE,
	};

	ws_drain_add(d, WS_KIND_PYTHON_CALL, &row);
}

static bool add_op(struct ws_drain *d, uint32_t thread, const uint8_t *bytes)
{
	struct ws_row_cpu_op row = {.thread = thread};
	struct ws_rec_op rec;

	memcpy(&rec, bytes, sizeof(rec));
	if (!rec.config || rec.config > d->seg->defs_size / 8 || rec.end_ns < rec.head.time_ns)
		return 0;
	row.config = d->ops[rec.config - 1];
	row.sequence = rec.sequence;
	row.forward_thread = rec.forward_thread;
	row.dur_ns = rec.end_ns - rec.head.time_ns;
	if (!row.config || !ws_drain_time(d, rec.head.time_ns, &row.start_ns) ||
	    !ws_drain_time(d, rec.end_ns, &rec.end_ns))
		return 0;
	if (row.config & WS_DRAIN_MODULE) {
		add_module_call(d, &row);
		return 1;
	}
	d->counts.operations++;
	ws_drain_add(d, WS_KIND_CPU_OP, &row);
	return 1;
}

bool ws_drain_record(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size)
{
	struct event ev;

	if (!ws_drain_thread(d, thread) || !ws_drain_record_head(&ev.rec, rec, size))
		return 0;
	if (ev.rec.head.type == WS_REC_OP)
		return size == sizeof(struct ws_rec_op) && add_op(d, thread, rec);
	if (!parse(&ev, rec, size))
		return 0;
	switch (ev.rec.head.type) {
	case WS_REC_PUSH:
	case WS_REC_POP:
	case WS_REC_START:
	case WS_REC_END:
	case WS_REC_MARK:
		return add_nvtx(d, thread, &ev);
	case WS_REC_CPU_KERNEL:
		return add_cpu_kernel(d, thread, &ev);
	default:
		return 0;
	}
}
