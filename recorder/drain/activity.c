/*
 * Turns CUPTI's buffers into rows. Slots are read once they are done, in the order in which they
 * were finished. All names in their records were defined before.
 */

#include "recorder/drain/private.h"

#define MAX_CALLS    4096 /* number of callback ids that can have a name */
#define MAX_KEPT     65536
#define MAX_PAIRS    262144
#define MAX_CONTEXTS 256

enum fate {
	ROW,     /* the record was understood */
	DAMAGED, /* the record is invalid */
	UNKNOWN, /* a kind of record that is not read */
};

/* The effect of a CUDA API call. */
enum effect {
	EFFECT_NONE,
	EFFECT_LAUNCH, /* work on a device, unless it is captured */
	EFFECT_CAPTURE_BEGINS,
	EFFECT_CAPTURE_ENDS,
};

/* Bits: records seen of a correlation id. */
enum seen {
	SEEN_LAUNCH = 1,
	SEEN_WORK = 2,
};

/*
 * Sizes of records, for going through a buffer of CUPTI. The collector found them with CUPTI's own
 * iterator. The launcher never loads a library of the traced program.
 */
struct steps {
	uint32_t image; /* image of the process whose CUPTI has these sizes; 0: none yet */
	uint16_t size[WS_SEG_KINDS]; /* 0: there are no records of this kind */
};

/*
 * Times in which launches were captured into a CUDA graph and not executed. Such a launch has a
 * record of its call but no work. Calls of one capture may come from several threads (PyTorch's
 * backward pass), so a capture applies to all threads.
 */
struct captures {
	struct capture_change {
		int64_t time_ns;
		int32_t change; /* 1: a capture begins, -1: one ends */
		int32_t open;   /* number of open captures after the change */
	} * list;               /* in the order of time */
	size_t n, size;
};

struct ws_activity {
	struct steps steps;
	uint64_t *looked; /* by slot: `done` when this pass began */

	/* names of API calls in the segment: [0] driver, [1] runtime */
	struct api_call {
		struct ws_bytes name;
		uint8_t effect; /* enum effect */
	} * calls[2];           /* by callback id; NULL: none yet */
	/* names of kernels by address, for records of a process that ended before it finished
	 * them */
	struct ws_map kernels;
	struct ws_map sources; /* node of a graph -> the node that it is a copy of, of one image */
	uint32_t sources_image;

	/* API calls: one row per correlation id, for the outermost call */
	uint32_t *kept; /* hash table of ids that have a row */
	size_t nkept;   /* a power of two, by what the segment's buffers can hold */
	uint32_t kept_image;
	struct runtime_call {
		uint32_t correlation;
		uint32_t slot; /* number of the slot, so that the table need not be cleared */
	} * runtime;           /* runtime calls of a slot */
	size_t runtime_size;   /* a power of two */
	uint32_t runtime_slot;

	/* hash table of launches and their work, by correlation id; new entries replace older
	 * ones */
	struct pair {
		uint32_t correlation; /* 0: unused */
		uint32_t image;
		uint32_t seen;    /* bits of enum seen */
		int64_t start_ns; /* start of the launch */
	} * pairs;
	size_t npairs;    /* a power of two, by what the segment's buffers can hold */
	size_t pairs_end; /* entries from here on were never used and have no memory yet */
	struct captures captures;

	struct context {
		uint32_t image, id, device;
	} contexts[MAX_CONTEXTS]; /* by id: the newest */

	struct ws_row_launch_config last_config;
	uint64_t last_config_id; /* 0: none */
};

/* --- captures of graphs --- */

/* For a program with many captures the newest changes are enough. */
#define MAX_CHANGES 65536

/* Number of changes at this time or before. */
static size_t changes_until(const struct captures *c, int64_t time_ns)
{
	size_t i;

	WS_COUNT_FIRST(i, c->n, c->list[i].time_ns <= time_ns);
	return i;
}

static void change_captures(struct captures *c, int64_t time_ns, int begins)
{
	int32_t open;

	if (c->n == MAX_CHANGES) {
		memmove(c->list, c->list + MAX_CHANGES / 2, MAX_CHANGES / 2 * sizeof(*c->list));
		c->n = MAX_CHANGES / 2;
	}
	WS_GROW(c->list, c->n + 1, c->size);
	size_t at = changes_until(c, time_ns);
	memmove(&c->list[at + 1], &c->list[at], (c->n - at) * sizeof(*c->list));
	c->list[at] = (struct capture_change){time_ns, begins ? 1 : -1, 0};
	c->n++;
	/* an end whose begin was lost is ignored */
	open = at ? c->list[at - 1].open : 0;
	for (; at < c->n; at++) {
		open += c->list[at].change;
		open = open < 0 ? 0 : open;
		c->list[at].open = open;
	}
}

/* --- create --- */

static size_t power_of_two(size_t n)
{
	size_t size = 1024;

	while (size < n)
		size *= 2;
	return size;
}

struct ws_activity *ws_activity_new(const struct ws_seg_header *seg)
{
	struct ws_activity *a = ws_xarray(1, sizeof(*a));

	/* never full, as a record has at least 8 bytes */
	a->runtime_size = power_of_two(seg->activity.stride / 8 + 1);
	/* a launch's records are two calls and a kernel: some 300 bytes */
	a->npairs = power_of_two(seg->activity.count * seg->activity.stride / 512);
	a->npairs = a->npairs < MAX_PAIRS ? a->npairs : MAX_PAIRS;
	a->pairs = ws_xarray(a->npairs, sizeof(*a->pairs));
	a->nkept = a->npairs < MAX_KEPT ? a->npairs : MAX_KEPT;
	a->kept = ws_xarray(a->nkept, sizeof(*a->kept));
	a->looked = ws_xarray(seg->activity.count, sizeof(*a->looked));
	a->runtime = ws_xarray(a->runtime_size, sizeof(*a->runtime));
	return a;
}

void ws_activity_free(struct ws_activity *a)
{
	free(a->captures.list);
	a->captures = (struct captures){0};
	free(a->looked);
	free(a->runtime);
	ws_map_free(&a->kernels);
	ws_map_free(&a->sources);
	free(a->pairs);
	free(a->kept);
	free(a->calls[0]);
	free(a->calls[1]);
	free(a);
}

/* --- sizes of records --- */

static bool take_steps(struct steps *steps, const struct ws_seg_gpu *gpu, uint32_t image)
{
	const struct ws_seg_sizes *sizes = &gpu->sizes[image % WS_SEG_IMAGES];

	if (steps->image && steps->image == image)
		return 1;
	if (!image || atomic_load_explicit(&sizes->image, memory_order_acquire) != image)
		return 0;
	memcpy(steps->size, sizes->of_kind, sizeof(steps->size));
	for (uint32_t kind = 0; kind < WS_SEG_KINDS; kind++)
		if (steps->size[kind] % 8 || steps->size[kind] > WS_SEG_MAX_RECORD)
			steps->size[kind] = 0;
	steps->image = image;
	return 1;
}

static size_t record_size(const struct steps *steps, const uint8_t *buffer, size_t valid, size_t at)
{
	uint32_t kind = at + 8 <= valid ? ws_cupti_kind(buffer + at) : 0;
	size_t size = kind < WS_SEG_KINDS ? steps->size[kind] : 0;

	return size <= valid - at ? size : 0;
}

/* --- definitions of the collector --- */

static bool contains(struct ws_bytes name, const char *part)
{
	return memmem(name.ptr, name.len, part, strlen(part)) != NULL;
}

/* Launches of kernels and graphs. cudaLaunchHostFunc launches nothing on a device. */
static enum effect effect_of(struct ws_bytes name)
{
	if (contains(name, "Launch") && !contains(name, "HostFunc"))
		return EFFECT_LAUNCH;
	if (contains(name, "StreamBeginCapture"))
		return EFFECT_CAPTURE_BEGINS;
	return contains(name, "StreamEndCapture") ? EFFECT_CAPTURE_ENDS : EFFECT_NONE;
}

bool ws_activity_name_call(struct ws_activity *a, uint32_t domain, uint32_t cbid,
                           struct ws_bytes name)
{
	const uint32_t d = domain - WS_CUPTI_DOMAIN_DRIVER;

	if (domain != WS_CUPTI_DOMAIN_DRIVER && domain != WS_CUPTI_DOMAIN_RUNTIME)
		return 0;
	if (cbid >= MAX_CALLS)
		return 1;
	if (!a->calls[d])
		a->calls[d] = ws_xarray(MAX_CALLS, sizeof(*a->calls[d]));
	a->calls[d][cbid] = (struct api_call){name, effect_of(name)};
	return 1;
}

bool ws_activity_name_kernel(struct ws_activity *a, uint64_t address, uint32_t string)
{
	if (address)
		ws_map_put(&a->kernels, address, string);
	return address != 0;
}

/* --- one row for each API call --- */

/* The place of the runtime call in the hash table, or the place to add it. */
static struct runtime_call *runtime_place(struct ws_activity *a, uint32_t correlation)
{
	for (size_t i = correlation;; i++) {
		struct runtime_call *call = &a->runtime[i & (a->runtime_size - 1)];

		if (call->slot != a->runtime_slot || call->correlation == correlation)
			return call;
	}
}

/*
 * Whether to keep a call. A runtime call and the driver call inside it have the same correlation id
 * and are close together, the inner one first. Of two in one slot the runtime call is kept, of two
 * in different slots the first.
 */
static bool keep_call(struct ws_activity *a, const struct ws_activity_slot *slot, int runtime,
                      uint32_t correlation)
{
	uint32_t *kept = &a->kept[correlation & (a->nkept - 1)];

	if (!correlation)
		return 1;
	if (a->kept_image != slot->image) { /* ids start again */
		memset(a->kept, 0, a->nkept * sizeof(*a->kept));
		a->kept_image = (uint32_t)slot->image;
	}
	if (*kept == correlation)
		return 0;
	if (!runtime && runtime_place(a, correlation)->slot == a->runtime_slot)
		return 0;
	*kept = correlation;
	return 1;
}

/* --- launches without work --- */

/* Whether a launch has no work although it was not captured. Captures found in later buffers count,
 * too. */
static bool lacks_work(const struct ws_activity *a, const struct pair *pair)
{
	if (pair->seen != SEEN_LAUNCH)
		return false;
	size_t n = changes_until(&a->captures, pair->start_ns);
	return !n || !a->captures.list[n - 1].open;
}

uint64_t ws_activity_waiting(const struct ws_activity *a)
{
	uint64_t n = 0;

	for (size_t i = 0; i < a->pairs_end; i++)
		n += (uint64_t)lacks_work(a, &a->pairs[i]);
	return n;
}

/*
 * Enters a launch or its work. Work usually follows its launch soon, so an entry that is replaced
 * by a much newer launch has waited long enough.
 */
static void note_pair(struct ws_drain *d, const struct ws_activity_slot *slot, uint32_t correlation,
                      enum seen what, int64_t start_ns)
{
	struct ws_activity *a = d->activity;
	const size_t at = correlation & (a->npairs - 1);
	struct pair *pair = &a->pairs[at];

	if (!correlation)
		return;
	if (at >= a->pairs_end)
		a->pairs_end = at + 1;
	if (pair->correlation != correlation || pair->image != slot->image) {
		d->counted[WS_DROPPED_launch_without_work] += (uint64_t)lacks_work(a, pair);
		*pair = (struct pair){correlation, (uint32_t)slot->image, 0, 0};
	}
	pair->seen |= what;
	if (what == SEEN_LAUNCH)
		pair->start_ns = start_ns;
}

/* --- fields common to all records --- */

static uint64_t recorded_pid(const struct ws_drain *d)
{
	return atomic_load(&d->seg->owner.pid);
}

/* Converts start and end of a CUPTI record; both 0: not measured. False: invalid. */
static bool read_times(struct ws_drain *d, const struct ws_activity_slot *slot, uint64_t start,
                       uint64_t end, int64_t *start_ns, int64_t *dur_ns)
{
	*start_ns = 0;
	*dur_ns = 0;
	if (!start && !end)
		return 1;
	return ws_drain_gpu_times(d, slot, start, end, start_ns, dur_ns);
}

/*
 * The same for work on a device. Work that ran during a forced flush has a start and no end, and
 * times by another tool's clock cannot be converted. Both count as not measured.
 */
static bool read_work_times(struct ws_drain *d, const struct ws_activity_slot *slot, uint64_t start,
                            uint64_t end, int64_t *start_ns, int64_t *dur_ns)
{
	if (start && !end)
		return read_times(d, slot, 0, 0, start_ns, dur_ns);
	if (read_times(d, slot, start, end, start_ns, dur_ns))
		return 1;
	return start <= end && atomic_load(&d->seg->gpu.stopped) & WS_GPU_STOP_CLOCK &&
	       read_times(d, slot, 0, 0, start_ns, dur_ns);
}

/* Fields common to all records of work on a device. */
struct work {
	uint64_t start, end;
	uint32_t device, correlation;
};
#define WORK(r) (&(struct work){(r)->start, (r)->end, (r)->device, (r)->correlation})

/* Reads the times of work, adds a row for its device, and marks its launch as having work. */
static bool read_work(struct ws_drain *d, const struct ws_activity_slot *slot,
                      const struct work *work, int64_t *start_ns, int64_t *dur_ns)
{
	if (!read_work_times(d, slot, work->start, work->end, start_ns, dur_ns) ||
	    !ws_drain_device(d, work->device))
		return 0;
	d->gpus_used |= UINT64_C(1) << work->device;
	note_pair(d, slot, work->correlation, SEEN_WORK, 0);
	return 1;
}

/* CUPTI's ids start again in each image of a process. Ids of the CPU backend use image 0. */
static uint64_t correlation_of(const struct ws_activity_slot *slot, uint32_t correlation)
{
	return correlation ? slot->image << 32 | correlation : 0;
}

/* Columns common to rows of work except kernels, which have them in their configuration. */
#define WHERE(r)                                                                       \
	.correlation = correlation_of(slot, (r)->correlation), .pid = recorded_pid(d), \
	.device = (r)->device, .context = (r)->context, .stream = (r)->stream

static uint64_t kernel_name(struct ws_drain *d, uint64_t address)
{
	char text[40];
	int known;

	uint64_t id = ws_drain_text(d, address, &known);
	if (known)
		return id;
	/* its process ended first, but usually the same kernel ran before */
	const uint64_t *string = ws_map_get(&d->activity->kernels, address);
	id = string && *string ? ws_drain_string_id(d, (uint32_t)*string, &known) : 0;
	if (known)
		return id;
	d->counted[WS_DROPPED_kernel_without_name]++;
	snprintf(text, sizeof(text), "unknown kernel 0x%llx", (unsigned long long)address);
	return ws_drain_intern(d, ws_bytes_of(text));
}

/* Device of a context; 0: no record of the context was seen. */
static uint32_t device_of(const struct ws_activity *a, const struct ws_activity_slot *slot,
                          uint32_t context)
{
	const struct context *c = &a->contexts[context % MAX_CONTEXTS];

	return c->id == context && c->image == slot->image ? c->device : 0;
}

/* --- devices, contexts and streams --- */

static void add_device_attr(struct ws_drain *d, uint32_t device, const char *name, int64_t value)
{
	struct ws_row_device_attr row = {
	        .device = device,
	        .attr = ws_drain_intern(d, ws_bytes_of(name)),
	        .value = value,
	};

	ws_drain_add(d, WS_KIND_DEVICE_ATTR, &row);
}

/* a * b; -1, which is no valid attribute, if the result is absurd. */
static int64_t product(uint64_t a, uint64_t b)
{
	int64_t result;

	return __builtin_mul_overflow(a, b, &result) ? -1 : result;
}

/* X(attribute of the trace, value from the record c) */
#define DEVICE_ATTR_LIST(X)                                                 \
	X(compute_capability_major, c->major)                               \
	X(compute_capability_minor, c->minor)                               \
	X(sm_count, c->sm_count)                                            \
	X(warp_size, c->warp_size)                                          \
	X(max_threads_per_block, c->threads_per_block)                      \
	X(max_threads_per_sm, product(c->warps_per_sm, c->warp_size))       \
	X(max_warps_per_sm, c->warps_per_sm)                                \
	X(max_blocks_per_sm, c->blocks_per_sm)                              \
	X(registers_per_block, c->registers_per_block)                      \
	X(registers_per_sm, c->registers_per_sm)                            \
	X(shared_per_block_bytes, c->shared_per_block)                      \
	X(shared_per_sm_bytes, c->shared_per_sm)                            \
	X(global_memory_bytes, product(c->memory_size, 1))                  \
	X(constant_memory_bytes, c->constant_size)                          \
	X(l2_cache_bytes, c->l2_size)                                       \
	X(memory_bandwidth_bytes_per_s, product(c->memory_bandwidth, 1000)) \
	X(core_clock_hz, product(c->core_clock, 1000))                      \
	X(copy_engines, c->copy_engines)                                    \
	X(ecc, c->ecc)                                                      \
	X(mig, c->mig)                                                      \
	X(mig_gpu_instance, c->mig ? (int64_t)c->gpu_instance : -1)         \
	X(mig_compute_instance, c->mig ? (int64_t)c->compute_instance : -1)

static enum fate add_device(struct ws_drain *d, const struct ws_activity_slot *slot,
                            const struct ws_cupti_device *c)
{
	struct ws_row_device row = {.id = c->id, .kind = WS_DEVICE_CUDA};
	int known;

	(void)slot;
	if (c->id >= WS_MAX_GPUS || !c->sm_count)
		return DAMAGED;
	row.name = ws_drain_text(d, c->name, &known);
	ws_drain_add(d, WS_KIND_DEVICE, &row);
	d->gpus |= UINT64_C(1) << c->id;
#define X(attr, value)             \
	if ((int64_t)(value) >= 0) \
		add_device_attr(d, c->id, #attr, (int64_t)(value));
	DEVICE_ATTR_LIST(X)
#undef X
	return ROW;
}

static enum fate add_context(struct ws_drain *d, const struct ws_activity_slot *slot,
                             const struct ws_cupti_context *c)
{
	struct ws_row_context row = {
	        .pid = recorded_pid(d),
	        .id = c->id,
	        .device = c->device,
	        .api = c->api <= 2 ? c->api : 0,
	        .null_stream = c->null_stream,
	        .parent = c->is_green ? c->parent : 0,
	        .sm_count = c->is_green ? c->sm_count : 0,
	};

	if (!c->id || !ws_drain_device(d, c->device))
		return DAMAGED;
	d->activity->contexts[c->id % MAX_CONTEXTS] =
	        (struct context){(uint32_t)slot->image, c->id, c->device};
	ws_drain_add(d, WS_KIND_CONTEXT, &row);
	return ROW;
}

/* A green context: a context with a part of a device's processors. Since 13.2 it has its own kind
 * of record. */
static enum fate add_green_context(struct ws_drain *d, const struct ws_activity_slot *slot,
                                   const struct ws_cupti_green *c)
{
	return add_context(d, slot,
	                   &(struct ws_cupti_context){
	                           .id = c->id,
	                           .device = c->device,
	                           .api = 1, /* CUDA */
	                           .parent = c->parent,
	                           .is_green = 1,
	                           .sm_count = c->sm_count,
	                   });
}

static enum fate add_stream(struct ws_drain *d, const struct ws_activity_slot *slot,
                            const struct ws_cupti_stream *s)
{
	struct ws_row_stream row = {
	        .pid = recorded_pid(d),
	        .context = s->context,
	        .id = s->id,
	        .priority = (int32_t)s->priority,
	        .flag = s->flag <= 3 ? s->flag : 0,
	};

	(void)slot;
	ws_drain_add(d, WS_KIND_STREAM, &row);
	return ROW;
}

/* --- kernels --- */

static enum fate add_kernel(struct ws_drain *d, const struct ws_activity_slot *slot,
                            const struct ws_cupti_kernel *k)
{
	struct ws_activity *a = d->activity;
	struct ws_row_launch_config config = {
	        .pid = recorded_pid(d),
	        .device = k->device,
	        .context = k->context,
	        .stream = k->stream,
	        .grid_x = k->grid_x,
	        .grid_y = k->grid_y,
	        .grid_z = k->grid_z,
	        .block_x = k->block_x,
	        .block_y = k->block_y,
	        .block_z = k->block_z,
	        .cluster_x = k->cluster_x,
	        .cluster_y = k->cluster_y,
	        .cluster_z = k->cluster_z,
	        .registers = k->registers,
	        .shared_static_bytes = k->shared_static,
	        .shared_dynamic_bytes = k->shared_dynamic,
	        .local_bytes = k->local,
	        .shared_executed_bytes = k->shared_executed,
	        .launch_type = k->launch_type,
	};
	struct ws_row_kernel row = {
	        .correlation = correlation_of(slot, k->correlation),
	        .graph_node = k->graph_node,
	        .graph = k->graph,
	};

	if (!read_work(d, slot, WORK(k), &row.start_ns, &row.dur_ns))
		return DAMAGED;
	if (!ws_filter_keeps_work(d, row.correlation, row.start_ns, row.dur_ns))
		return ROW;
	if (!row.start_ns) {
		row.flags = WS_KERNEL_NO_TIME;
		d->counted[WS_DROPPED_kernel_without_time]++;
	}
	config.name = kernel_name(d, k->name);
	if (!a->last_config_id || memcmp(&a->last_config, &config, sizeof(config)) != 0) {
		a->last_config_id = ws_drain_intern_config(d, &config);
		a->last_config = config;
	}
	row.config = a->last_config_id;
	ws_drain_add(d, WS_KIND_KERNEL, &row);
	d->counts.kernels++;
	d->counts.gpu_kernels++;
	return ROW;
}

/* --- copies and fills --- */

static uint64_t copy_flags(int64_t start_ns, uint32_t flags)
{
	return (start_ns ? 0 : WS_COPY_NO_TIME) | (flags & WS_CUPTI_ASYNC ? WS_COPY_ASYNC : 0);
}

/* Whether to write a copy or fill: it is inside the window, and not excluded by an option. */
static bool keeps_copy(struct ws_drain *d, uint64_t correlation, int64_t start_ns, int64_t dur_ns)
{
	/* the filter must be called in any case, as it counts what it leaves out */
	return ws_filter_keeps_work(d, correlation, start_ns, dur_ns) &&
	       !d->seg->capture.kernels_only;
}

static enum fate add_memcpy(struct ws_drain *d, const struct ws_activity_slot *slot,
                            const struct ws_cupti_memcpy *m)
{
	struct ws_row_memcpy row = {
	        WHERE(m),
	        .kind = m->kind,
	        .src_kind = m->src_kind,
	        .dst_kind = m->dst_kind,
	        .bytes = m->bytes,
	        .graph_node = m->graph_node,
	        .copies = m->copies > 1 ? m->copies : 0,
	};

	if (!read_work(d, slot, WORK(m), &row.start_ns, &row.dur_ns))
		return DAMAGED;
	row.flags = copy_flags(row.start_ns, m->flags);
	/* A copy between devices without direct access goes through the host. CUPTI then records
	 * two copies, one that reads and one that writes, both with device memory on both sides.
	 * The bytes are counted for the first one only. */
	if ((row.kind == WS_MEMCPY_HTOD || row.kind == WS_MEMCPY_DTOH) &&
	    row.src_kind == WS_MEMORY_DEVICE && row.dst_kind == WS_MEMORY_DEVICE) {
		if (row.kind == WS_MEMCPY_HTOD)
			row.bytes = 0;
		row.kind = WS_MEMCPY_PTOP;
		row.src_device = row.dst_device = row.device; /* the other one is not recorded */
		row.flags |= WS_COPY_STAGED;
	}
	if (keeps_copy(d, row.correlation, row.start_ns, row.dur_ns))
		ws_drain_add(d, WS_KIND_MEMCPY, &row);
	return ROW;
}

static enum fate add_ptop(struct ws_drain *d, const struct ws_activity_slot *slot,
                          const struct ws_cupti_ptop *m)
{
	struct ws_row_memcpy row = {
	        WHERE(m),
	        .kind = m->kind,
	        .src_kind = m->src_kind,
	        .dst_kind = m->dst_kind,
	        .bytes = m->bytes,
	        .src_device = m->src_device,
	        .dst_device = m->dst_device,
	        .graph_node = m->graph_node,
	};

	if (!read_work(d, slot, WORK(m), &row.start_ns, &row.dur_ns) ||
	    !ws_drain_device(d, m->src_device) || !ws_drain_device(d, m->dst_device))
		return DAMAGED;
	row.flags = copy_flags(row.start_ns, m->flags);
	if (keeps_copy(d, row.correlation, row.start_ns, row.dur_ns))
		ws_drain_add(d, WS_KIND_MEMCPY, &row);
	return ROW;
}

static enum fate add_memset(struct ws_drain *d, const struct ws_activity_slot *slot,
                            const struct ws_cupti_memset *m)
{
	struct ws_row_memset row = {
	        .memory_kind = m->memory_kind,
	        .value = m->value,
	        .bytes = m->bytes,
	        .graph_node = m->graph_node,
	        WHERE(m),
	};

	if (!read_work(d, slot, WORK(m), &row.start_ns, &row.dur_ns))
		return DAMAGED;
	row.flags = copy_flags(row.start_ns, m->flags);
	if (keeps_copy(d, row.correlation, row.start_ns, row.dur_ns))
		ws_drain_add(d, WS_KIND_MEMSET, &row);
	return ROW;
}

static enum fate add_graph(struct ws_drain *d, const struct ws_activity_slot *slot,
                           const struct ws_cupti_graph *g)
{
	struct ws_row_graph_launch row = {
	        WHERE(g),
	        .graph = g->id,
	};

	if (!read_work(d, slot, WORK(g), &row.start_ns, &row.dur_ns))
		return DAMAGED;
	if (ws_filter_keeps_work(d, row.correlation, row.start_ns, row.dur_ns))
		ws_drain_add(d, WS_KIND_GRAPH_LAUNCH, &row);
	return ROW;
}

/* --- calls and waits on the host --- */

/* Id in the trace of a thread: given by the collector, or found by the system's id. */
static uint64_t thread_of(struct ws_drain *d, uint32_t thread)
{
	if (thread & WS_SLOT_THREAD_ID)
		return thread & ~WS_SLOT_THREAD_ID;
	return ws_drain_thread_by_tid(d, recorded_pid(d), thread);
}

/* The collector's definition of a call; all 0 if there is none. */
static struct api_call api_of(const struct ws_activity *a, uint32_t domain, uint32_t cbid)
{
	const struct api_call *calls = a->calls[domain - WS_CUPTI_DOMAIN_DRIVER];

	return calls && cbid < MAX_CALLS ? calls[cbid] : (struct api_call){0};
}

static enum fate add_api(struct ws_drain *d, const struct ws_activity_slot *slot, uint32_t domain,
                         const struct ws_cupti_api *c)
{
	struct ws_row_api row = {
	        .correlation = correlation_of(slot, c->correlation),
	        .result = (int32_t)c->result,
	};
	struct ws_bytes name;
	enum effect effect;
	char text[32];

	/* calls by our own thread are not part of the program */
	if (c->thread && c->thread == atomic_load(&d->seg->gpu.flush_thread))
		return ROW;
	if (!read_times(d, slot, c->start, c->end, &row.start_ns, &row.dur_ns))
		return DAMAGED;
	row.thread = thread_of(d, c->thread);
	if (!row.thread)
		return DAMAGED;
	effect = api_of(d->activity, domain, c->cbid).effect;
	if (!c->result && effect == EFFECT_LAUNCH)
		note_pair(d, slot, c->correlation, SEEN_LAUNCH, row.start_ns);
	if (!keep_call(d->activity, slot, domain == WS_CUPTI_DOMAIN_RUNTIME, c->correlation))
		return ROW;
	/* a failed end of a capture (of an invalid one) is still an end */
	if (effect == EFFECT_CAPTURE_ENDS)
		change_captures(&d->activity->captures, row.start_ns + row.dur_ns, 0);
	else if (effect == EFFECT_CAPTURE_BEGINS && !c->result)
		change_captures(&d->activity->captures, row.start_ns, 1);
	if (!ws_filter_keeps_call(d, row.correlation, row.start_ns))
		return ROW;
	name = api_of(d->activity, domain, c->cbid).name;
	if (!name.len) {
		snprintf(text, sizeof(text), "%s call %u",
		         domain == WS_CUPTI_DOMAIN_DRIVER ? "driver" : "runtime", c->cbid);
		name = ws_bytes_of(text);
	}
	row.name = ws_drain_intern(d, name);
	ws_drain_add(d, WS_KIND_API, &row);
	return ROW;
}

/* Converts CUPTI's "none" to 0, which the trace uses. */
static uint32_t or_zero(uint32_t id)
{
	return id == WS_CUPTI_NONE ? 0 : id;
}

static int64_t id_or_none(uint32_t id)
{
	return id == WS_CUPTI_NONE ? -1 : (int64_t)id;
}

static enum fate add_sync(struct ws_drain *d, const struct ws_activity_slot *slot,
                          const struct ws_cupti_sync *s)
{
	struct ws_row_sync row = {
	        .correlation = correlation_of(slot, s->correlation),
	        .pid = recorded_pid(d),
	        .device = device_of(d->activity, slot, s->context),
	        .context = or_zero(s->context),
	        .stream = id_or_none(s->stream),
	        .type = s->type <= WS_SYNC_CONTEXT ? s->type : WS_SYNC_UNKNOWN,
	        .event = id_or_none(s->event),
	        .event_stream = -1,
	};

	/* a query that found unfinished work did not wait */
	if (s->result == WS_CUPTI_CUDA_NOT_READY)
		return ROW;
	if (!read_times(d, slot, s->start, s->end, &row.start_ns, &row.dur_ns))
		return DAMAGED;
	if (!ws_filter_keeps_work(d, row.correlation, row.start_ns, row.dur_ns))
		return ROW;
	ws_drain_device(d, (uint32_t)row.device);
	ws_drain_add(d, WS_KIND_SYNC, &row);
	return ROW;
}

/* A function of the host in the order of a stream: launched, or of a graph (node 0: none). */
static enum fate add_host_function(struct ws_drain *d, const struct ws_activity_slot *slot,
                                   struct ws_row_host_function row, const struct work *work,
                                   uint32_t thread)
{
	if (!read_times(d, slot, work->start, work->end, &row.start_ns, &row.dur_ns) ||
	    !ws_drain_device(d, work->device))
		return DAMAGED;
	if (!row.start_ns || !ws_filter_keeps_work(d, row.correlation, row.start_ns, row.dur_ns))
		return ROW;
	row.thread = thread ? thread_of(d, thread) : 0;
	ws_drain_add(d, WS_KIND_HOST_FUNCTION, &row);
	return ROW;
}

static enum fate add_host_node(struct ws_drain *d, const struct ws_activity_slot *slot,
                               const struct ws_cupti_host_node *h)
{
	return add_host_function(d, slot,
	                         (struct ws_row_host_function){WHERE(h),
	                                                       .graph_node = h->graph_node},
	                         WORK(h), h->thread);
}

static enum fate add_host_launch(struct ws_drain *d, const struct ws_activity_slot *slot,
                                 const struct ws_cupti_host_launch *h)
{
	return add_host_function(d, slot, (struct ws_row_host_function){WHERE(h)}, WORK(h),
	                         h->thread);
}

static enum fate add_engine_switch(struct ws_drain *d, const struct ws_activity_slot *slot,
                                   const struct ws_cupti_engine_switch *s)
{
	struct ws_row_context_switch row = {
	        .pid = recorded_pid(d),
	        .device = device_of(d->activity, slot, s->context),
	        .context = s->context,
	        .op = s->op <= WS_CONTEXT_SWITCH_END ? s->op : WS_CONTEXT_SWITCH_UNKNOWN,
	};
	int64_t dur_ns;

	if (!s->time || !read_times(d, slot, s->time, s->time, &row.time_ns, &dur_ns) ||
	    !ws_drain_device(d, (uint32_t)row.device))
		return DAMAGED;
	if (ws_filter_keeps_work(d, 0, row.time_ns, 0))
		ws_drain_add(d, WS_KIND_CONTEXT_SWITCH, &row);
	return ROW;
}

/* Adds overhead: time that is not the program's own work. There are two kinds of such records. */
static enum fate add_lost_time(struct ws_drain *d, const struct ws_activity_slot *slot,
                               struct ws_row_overhead row, uint64_t start, uint64_t end,
                               uint32_t thread)
{
	if (!read_times(d, slot, start, end, &row.start_ns, &row.dur_ns))
		return DAMAGED;
	if (!ws_filter_keeps_work(d, 0, row.start_ns, row.dur_ns))
		return ROW;
	row.thread = thread ? thread_of(d, thread) : 0;
	ws_drain_add(d, WS_KIND_OVERHEAD, &row);
	return ROW;
}

static enum fate add_overhead(struct ws_drain *d, const struct ws_activity_slot *slot,
                              const struct ws_cupti_overhead *o)
{
	struct ws_row_overhead row = {.kind = o->kind};

	/* 1, then 1 << 16, 2 << 16 … */
	if (o->kind > WS_OVERHEAD_DRIVER_COMPILER)
		row.kind = (o->kind >> 16) + 1;
	if (row.kind > WS_OVERHEAD_UVM_INIT)
		row.kind = WS_OVERHEAD_UNKNOWN;
	return add_lost_time(d, slot, row, o->start, o->end,
	                     o->object_kind == WS_CUPTI_OBJECT_THREAD ? o->thread : 0);
}

static enum fate add_jit(struct ws_drain *d, const struct ws_activity_slot *slot,
                         const struct ws_cupti_jit *j)
{
	const struct ws_row_overhead row = {
	        .kind = j->op >= 1 && j->op <= 3 ? WS_OVERHEAD_JIT_CACHE_LOAD + j->op - 1
	                                         : WS_OVERHEAD_UNKNOWN,
	};

	return add_lost_time(d, slot, row, j->start, j->end, j->thread);
}

/* --- memory --- */

/* Both kinds of memory records, converted to one form. */
static enum fate add_memory(struct ws_drain *d, const struct ws_activity_slot *slot,
                            struct ws_row_memory *row, uint64_t time)
{
	int64_t dur_ns;

	if (!time || !read_times(d, slot, time, time, &row->time_ns, &dur_ns) ||
	    !ws_drain_device(d, (uint32_t)row->device))
		return DAMAGED;
	if (!ws_filter_keeps_work(d, row->correlation, row->time_ns, 0))
		return ROW;
	row->pid = recorded_pid(d);
	ws_drain_add(d, WS_KIND_MEMORY, row);
	return ROW;
}

/* Memory of the host has no device in CUPTI's records, and device 0 in the trace. */
static uint32_t known_device(uint32_t device)
{
	return device < WS_MAX_GPUS ? device : 0;
}

static enum fate add_allocation(struct ws_drain *d, const struct ws_activity_slot *slot,
                                const struct ws_cupti_memory *m)
{
	struct ws_row_memory row = {
	        .op = m->op - 1,
	        .memory_kind = m->kind <= WS_MEMORY_MANAGED_STATIC ? m->kind : WS_MEMORY_UNKNOWN,
	        .device = known_device(m->device),
	        .context = or_zero(m->context),
	        .stream = or_zero(m->stream),
	        .correlation = correlation_of(slot, m->correlation),
	        .address = m->address,
	        .bytes = m->bytes,
	};

	if (m->op < 1 || m->op > 2)
		return DAMAGED;
	if (m->pool_type) {
		row.total_allocated_bytes = m->pool_used;
		row.total_reserved_bytes = m->pool_size;
	}
	return add_memory(d, slot, &row, m->time);
}

static enum fate add_pool(struct ws_drain *d, const struct ws_activity_slot *slot,
                          const struct ws_cupti_pool *p)
{
	struct ws_row_memory row = {
	        .op = WS_MEMORY_OP_POOL_CREATE + p->op - 1,
	        .memory_kind = WS_MEMORY_DEVICE,
	        .device = known_device(p->device),
	        .correlation = correlation_of(slot, p->correlation),
	        .address = p->address,
	        .bytes = p->size,
	        .total_allocated_bytes = p->used,
	        .total_reserved_bytes = p->size,
	};

	if (p->op < 1 || p->op > 3)
		return DAMAGED;
	return add_memory(d, slot, &row, p->time);
}

/* --- nodes of graphs --- */

/*
 * From 13.4 on, the record of a graph node's work has the id of the node that it is a copy of. One
 * row per node, and one more when an update of the graph changed that. The row has the time of the
 * work and no thread.
 */
static void note_source(struct ws_drain *d, const struct ws_activity_slot *slot, uint64_t node,
                        uint32_t graph, uint64_t source, uint64_t start, uint64_t end)
{
	struct ws_activity *a = d->activity;
	struct ws_row_graph_node row = {.pid = recorded_pid(d),
	                                .node = node,
	                                .original = source,
	                                .graph = graph};
	int64_t dur_ns;

	if (!node || !source || source == node)
		return;
	if (a->sources_image != slot->image) { /* ids start again */
		ws_map_free(&a->sources);
		a->sources_image = (uint32_t)slot->image;
	}
	const uint64_t *known = ws_map_get(&a->sources, node);
	if ((known && *known == source) ||
	    !read_work_times(d, slot, start, end, &row.time_ns, &dur_ns) || !row.time_ns)
		return; /* work without times cannot date an update */
	ws_map_put(&a->sources, node, source);
	ws_drain_add(d, WS_KIND_GRAPH_NODE, &row);
}

/* --- by kind --- */

static enum fate add_record(struct ws_drain *d, const struct ws_activity_slot *slot,
                            const uint8_t *record, size_t size)
{
	union {
#define R(NAME, name, type, full, least) struct ws_cupti_##name name;
		WS_CUPTI_RECORD_LIST(R)
		WS_CUPTI_LATER_RECORD_LIST(R)
#undef R
	} u;
	union {
#define R(NAME, name, type, full, least) struct ws_cupti_##name name;
		WS_CUPTI_SOURCE_RECORD_LIST(R)
#undef R
	} source;
	const uint32_t kind = ws_cupti_kind(record);

#define NOTE_SOURCE(name, graph)                                                                  \
	ws_cupti_read_##name##_source(&source.name##_source, record, size);                       \
	note_source(d, slot, u.name.graph_node, (graph), source.name##_source.node, u.name.start, \
	            u.name.end)
#define READ(name)                        \
	if (size < WS_CUPTI_LEAST_##name) \
		return DAMAGED;           \
	ws_cupti_read_##name(&u.name, record, size)
#define ADD(KIND, name, add)       \
	case WS_CUPTI_KIND_##KIND: \
		READ(name);        \
		return add(d, slot, &u.name);
	switch (kind) {
	case WS_CUPTI_KIND_KERNEL:
	case WS_CUPTI_KIND_CONCURRENT_KERNEL:
		READ(kernel);
		if (!u.kernel.grid_x || !u.kernel.block_x)
			return DAMAGED;
		NOTE_SOURCE(kernel, u.kernel.graph);
		return add_kernel(d, slot, &u.kernel);
	case WS_CUPTI_KIND_DRIVER:
	case WS_CUPTI_KIND_RUNTIME:
		READ(api);
		return add_api(d, slot,
		               kind == WS_CUPTI_KIND_DRIVER ? WS_CUPTI_DOMAIN_DRIVER
		                                            : WS_CUPTI_DOMAIN_RUNTIME,
		               &u.api);
	case WS_CUPTI_KIND_CONTEXT:
		READ(context);
		if (size == WS_CUPTI_SIZE_context_12_4) /* other fields at these offsets */
			u.context.sm_count = 0;
		return add_context(d, slot, &u.context);
	case WS_CUPTI_KIND_MEMCPY:
		READ(memcpy);
		NOTE_SOURCE(memcpy, 0);
		return add_memcpy(d, slot, &u.memcpy);
	case WS_CUPTI_KIND_MEMSET:
		READ(memset);
		NOTE_SOURCE(memset, 0);
		return add_memset(d, slot, &u.memset);
		ADD(MEMCPY2, ptop, add_ptop)
		ADD(GRAPH_TRACE, graph, add_graph)
		ADD(DEVICE, device, add_device)
		ADD(GREEN_CONTEXT, green, add_green_context)
		ADD(GRAPH_HOST_NODE, host_node, add_host_node)
		ADD(HOST_LAUNCH, host_launch, add_host_launch)
		ADD(COMPUTE_ENGINE_CTX_SWITCH, engine_switch, add_engine_switch)
		ADD(STREAM, stream, add_stream)
		ADD(SYNCHRONIZATION, sync, add_sync)
		ADD(OVERHEAD, overhead, add_overhead)
		ADD(JIT, jit, add_jit)
		ADD(MEMORY2, memory, add_allocation)
		ADD(MEMORY_POOL, pool, add_pool)
	default:
		return UNKNOWN;
	}
#undef ADD
#undef READ
#undef NOTE_SOURCE
}

/* --- slots --- */

static uint64_t read_buffer(struct ws_drain *d, const struct ws_slot *s, int unfinished,
                            const uint8_t *buffer, uint64_t valid)
{
	const uint32_t image = s->image;
	struct ws_activity_slot slot = {
	        .image = image,
	        .unfinished = unfinished,
	        .taken_ns = s->taken_ns,
	        .done_ns = s->done_ns,
	};
	struct ws_activity *a = d->activity;
	size_t at, size;
	uint64_t n = 0;

	/* the number of its records is unknown */
	if (!take_steps(&a->steps, &d->seg->gpu, image)) {
		d->counted[WS_DROPPED_activity_unknown]++;
		return 1;
	}
	a->runtime_slot++;
	for (at = 0; (size = record_size(&a->steps, buffer, valid, at)); at += size) {
		struct ws_cupti_api api;

		if (ws_cupti_kind(buffer + at) != WS_CUPTI_KIND_RUNTIME)
			continue;
		ws_cupti_read_api(&api, buffer + at, size);
		*runtime_place(a, api.correlation) =
		        (struct runtime_call){api.correlation, a->runtime_slot};
	}
	for (at = 0; (size = record_size(&a->steps, buffer, valid, at)); at += size, n++) {
		switch (add_record(d, &slot, buffer + at, size)) {
		case ROW:
			break;
		case UNKNOWN:
			d->counted[WS_DROPPED_activity_unknown]++;
			break;
		case DAMAGED:
			/* counted also in an unfinished slot, as complete records may follow */
			d->counted[WS_DROPPED_activity_damaged]++;
			break;
		}
	}
	/* a buffer that CUPTI was still filling ends with zeros, which are no record */
	if (at != valid && !slot.unfinished)
		d->counted[WS_DROPPED_activity_damaged]++;
	return n;
}

static uint64_t read_slot(struct ws_drain *d, uint32_t i)
{
	const struct ws_slot *s = ws_seg_slot(d->seg, i);

	return read_buffer(d, s, s->unfinished != 0, ws_slot_bytes(d->seg, i),
	                   ws_slot_valid(d->seg, i));
}

void ws_activity_look(struct ws_drain *d)
{
	for (uint32_t i = 0; i < d->seg->activity.count; i++)
		d->activity->looked[i] =
		        atomic_load_explicit(&ws_seg_slot(d->seg, i)->done, memory_order_acquire);
}

struct todo {
	uint64_t done;
	uint32_t slot;
};

static int by_number(const void *a, const void *b)
{
	const struct todo *x = a, *y = b;

	return x->done < y->done ? -1 : x->done > y->done;
}

uint64_t ws_activity_pass(struct ws_drain *d)
{
	struct todo todo[WS_SEG_MAX_SLOTS];
	size_t ntodo = 0;
	uint64_t n = 0;

	for (uint32_t i = 0; i < d->seg->activity.count; i++)
		if (d->activity->looked[i] && d->activity->looked[i] != d->slots_read[i])
			todo[ntodo++] = (struct todo){d->activity->looked[i], i};
	qsort(todo, ntodo, sizeof(*todo), by_number);
	for (size_t k = 0; k < ntodo; k++) {
		n += read_slot(d, todo[k].slot);
		d->slots_read[todo[k].slot] = todo[k].done;
	}
	return n;
}

/*
 * Reads a copy of the slot, because CUPTI may still write to it. A slot that was finished during
 * the copy is read as done.
 */
void ws_activity_pass_in_hand(struct ws_drain *d)
{
	const uint64_t stride = d->seg->activity.stride;
	uint8_t *copy = ws_xmalloc(stride);

	for (uint32_t i = 0; i < d->seg->activity.count; i++) {
		const struct ws_slot *s = ws_seg_slot(d->seg, i);

		if (!ws_slot_is_used(d->seg, i) ||
		    (d->slots_read[i] && atomic_load(&s->done) == d->slots_read[i]))
			continue;
		memcpy(copy, ws_slot_bytes(d->seg, i), stride);
		if (atomic_load_explicit(&s->done, memory_order_acquire))
			read_slot(d, i);
		else
			read_buffer(d, s, 1, copy, stride);
	}
	free(copy);
}
