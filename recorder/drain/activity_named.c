/* Records of what others name: devices, contexts, streams. */
#include "recorder/drain/activity.h"

static void add_device_attr(struct ws_drain *d, uint32_t device, const char *name, int64_t value)
{
	struct ws_row_device_attr row = {
	        .device = device,
	        .attr = ws_drain_intern(d, ws_bytes_of(name)),
	        .value = value,
	};

	ws_drain_add(d, WS_KIND_DEVICE_ATTR, &row);
}

/* -1, which is no value of an attribute, when it is absurd. */
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

enum ws_activity_fate ws_activity_add_device(struct ws_drain *d,
                                             const struct ws_activity_slot *slot,
                                             const struct ws_cupti_device *c)
{
	struct ws_row_device row = {.id = c->id, .kind = WS_DEVICE_CUDA};
	int known;

	(void)slot;
	if (c->id >= WS_MAX_GPUS || !c->sm_count)
		return WS_ACTIVITY_DAMAGED;
	row.name = ws_drain_text(d, c->name, &known);
	ws_drain_add(d, WS_KIND_DEVICE, &row);
	d->gpus |= UINT64_C(1) << c->id;
#define X(attr, value)             \
	if ((int64_t)(value) >= 0) \
		add_device_attr(d, c->id, #attr, (int64_t)(value));
	DEVICE_ATTR_LIST(X)
#undef X
	return WS_ACTIVITY_ROW;
}

enum ws_activity_fate ws_activity_add_context(struct ws_drain *d,
                                              const struct ws_activity_slot *slot,
                                              const struct ws_cupti_context *c)
{
	struct ws_row_context row = {
	        .pid = ws_activity_pid(d),
	        .id = c->id,
	        .device = c->device,
	        .api = c->api <= 2 ? c->api : 0,
	        .null_stream = c->null_stream,
	        .parent = c->is_green ? c->parent : 0,
	        .sm_count = c->is_green ? c->sm_count : 0,
	};

	if (!c->id || !ws_drain_device(d, c->device))
		return WS_ACTIVITY_DAMAGED;
	d->activity->contexts[c->id % WS_ACTIVITY_CONTEXTS] =
	        (struct ws_activity_context){(uint32_t)slot->image, c->id, c->device};
	ws_drain_add(d, WS_KIND_CONTEXT, &row);
	return WS_ACTIVITY_ROW;
}

/* A part of a device's processors as a context; from 13.2 on it has a record of its own. */
enum ws_activity_fate ws_activity_add_green_context(struct ws_drain *d,
                                                    const struct ws_activity_slot *slot,
                                                    const struct ws_cupti_green *c)
{
	return ws_activity_add_context(d, slot,
	                               &(struct ws_cupti_context){
	                                       .id = c->id,
	                                       .device = c->device,
	                                       .api = 1, /* CUDA */
	                                       .parent = c->parent,
	                                       .is_green = 1,
	                                       .sm_count = c->sm_count,
	                               });
}

enum ws_activity_fate ws_activity_add_stream(struct ws_drain *d,
                                             const struct ws_activity_slot *slot,
                                             const struct ws_cupti_stream *s)
{
	struct ws_row_stream row = {
	        .pid = ws_activity_pid(d),
	        .context = s->context,
	        .id = s->id,
	        .priority = (int32_t)s->priority,
	        .flag = s->flag <= 3 ? s->flag : 0,
	};

	(void)slot;
	ws_drain_add(d, WS_KIND_STREAM, &row);
	return WS_ACTIVITY_ROW;
}
