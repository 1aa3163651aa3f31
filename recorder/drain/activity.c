#include "recorder/drain/activity.h"

#include <stdlib.h>
#include <time.h>

#include "recorder/shared/segment_slots.h"

/* Clocks of a GPU are fitted to ours, so times may lie a little beyond. */
#define TIME_SLACK_NS INT64_C(10000000000)

static size_t power_of_two(size_t n)
{
	size_t size = 1024;

	while (size < n)
		size *= 2;
	return size;
}

struct ws_activity *ws_activity_new(const struct ws_seg_header *seg)
{
	struct ws_activity *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	/* never full, whatever a slot holds: steps are at least 8 bytes */
	a->runtime_size = power_of_two(seg->activity.stride / 8 + 1);
	a->kernels_size = 1024;
	a->looked = calloc(seg->activity.count + 1, sizeof(*a->looked));
	a->runtime = calloc(a->runtime_size, sizeof(*a->runtime));
	a->kernels = calloc(a->kernels_size, sizeof(*a->kernels));
	if (!a->looked || !a->runtime || !a->kernels) {
		ws_activity_free(a);
		return NULL;
	}
	return a;
}

void ws_activity_free(struct ws_activity *a)
{
	if (!a)
		return;
	ws_graph_captures_release(&a->captures);
	free(a->looked);
	free(a->runtime);
	free(a->kernels);
	free(a);
}

/* --- definitions --- */

static int has(struct ws_bytes name, const char *part)
{
	return memmem(name.ptr, name.len, part, strlen(part)) != NULL;
}

/* Of kernels and graphs; cudaLaunchHostFunc launches nothing on a device. */
static enum ws_activity_effect effect_of(struct ws_bytes name)
{
	if (has(name, "Launch") && !has(name, "HostFunc"))
		return WS_EFFECT_LAUNCH;
	if (has(name, "StreamBeginCapture"))
		return WS_EFFECT_CAPTURE_BEGINS;
	return has(name, "StreamEndCapture") ? WS_EFFECT_CAPTURE_ENDS : WS_EFFECT_NONE;
}

int ws_activity_name_call(struct ws_activity *a, uint32_t domain, uint32_t cbid,
                          struct ws_bytes name)
{
	const uint32_t d = domain - WS_CUPTI_DOMAIN_DRIVER;

	if (domain != WS_CUPTI_DOMAIN_DRIVER && domain != WS_CUPTI_DOMAIN_RUNTIME)
		return 0;
	if (cbid >= WS_ACTIVITY_CALLS)
		return 1;
	a->calls[d][cbid] = name;
	a->effects[d][cbid] = effect_of(name);
	return 1;
}

/* Where the address is or belongs; there is always an unused place. */
static struct ws_activity_kernel *kernel_place(const struct ws_activity *a, uint64_t address)
{
	size_t i = (size_t)(address * UINT64_C(0x9E3779B97F4A7C15) >> 32);

	for (;; i++) {
		struct ws_activity_kernel *k = &a->kernels[i & (a->kernels_size - 1)];

		if (!k->address || k->address == address)
			return k;
	}
}

static int grow_kernels(struct ws_activity *a)
{
	struct ws_activity bigger = {.kernels_size = a->kernels_size * 2};

	bigger.kernels = calloc(bigger.kernels_size, sizeof(*bigger.kernels));
	if (!bigger.kernels)
		return 0;
	for (size_t i = 0; i < a->kernels_size; i++)
		if (a->kernels[i].address)
			*kernel_place(&bigger, a->kernels[i].address) = a->kernels[i];
	free(a->kernels);
	a->kernels = bigger.kernels;
	a->kernels_size = bigger.kernels_size;
	return 1;
}

int ws_activity_name_kernel(struct ws_activity *a, uint64_t address, uint32_t string)
{
	struct ws_activity_kernel *k;

	if (!address)
		return 0;
	if (a->nkernels * 2 >= a->kernels_size && !grow_kernels(a))
		return 0;
	k = kernel_place(a, address);
	a->nkernels += !k->address;
	*k = (struct ws_activity_kernel){address, string};
	return 1;
}

uint32_t ws_activity_kernel_at(const struct ws_activity *a, uint64_t address)
{
	return address ? kernel_place(a, address)->string : 0;
}

/* --- one row for each API call --- */

/* Where the runtime call is noted or belongs. */
static struct ws_activity_call *runtime_place(struct ws_activity *a, uint32_t correlation)
{
	for (size_t i = correlation;; i++) {
		struct ws_activity_call *call = &a->runtime[i & (a->runtime_size - 1)];

		if (call->slot != a->runtime_slot || call->correlation == correlation)
			return call;
	}
}

/*
 * A runtime call and the driver call inside it have one correlation id and
 * lie close together, the inner one first. Of two in one slot the runtime call
 * is kept, of two in different slots the one that came first.
 */
int ws_activity_keep_call(struct ws_activity *a, const struct ws_activity_slot *slot, int runtime,
                          uint32_t correlation)
{
	uint32_t *kept = &a->kept[correlation % WS_ACTIVITY_KEPT];

	if (!correlation)
		return 1;
	if (a->kept_image != slot->image) { /* ids begin anew */
		memset(a->kept, 0, sizeof(a->kept));
		a->kept_image = (uint32_t)slot->image;
	}
	if (*kept == correlation)
		return 0;
	if (!runtime && runtime_place(a, correlation)->slot == a->runtime_slot)
		return 0;
	*kept = correlation;
	return 1;
}

/* A capture of which a later buffer tells makes its launches be none, whenever they are asked. */
static int lacks_work(const struct ws_activity *a, const struct ws_activity_pair *pair)
{
	return pair->seen == WS_ACTIVITY_LAUNCH &&
	       !ws_graph_captures_has(&a->captures, pair->start_ns);
}

uint64_t ws_activity_waiting(const struct ws_activity *a)
{
	uint64_t n = 0;

	for (size_t i = 0; i < WS_ACTIVITY_PAIRS; i++)
		n += (uint64_t)lacks_work(a, &a->pairs[i]);
	return n;
}

/*
 * Work mostly comes with its launch or soon after; so whatever has to give way
 * to a launch that much younger has waited long enough.
 */
void ws_activity_see(struct ws_drain *d, const struct ws_activity_slot *slot, uint32_t correlation,
                     enum ws_activity_seen what, int64_t start_ns)
{
	struct ws_activity *a = d->activity;
	struct ws_activity_pair *pair = &a->pairs[correlation % WS_ACTIVITY_PAIRS];

	if (!correlation)
		return;
	if (pair->correlation != correlation || pair->image != slot->image) {
		d->counted[WS_LOSS_launch_without_work] += (uint64_t)lacks_work(a, pair);
		*pair = (struct ws_activity_pair){correlation, (uint32_t)slot->image, 0, 0};
	}
	pair->seen |= what;
	if (what == WS_ACTIVITY_LAUNCH)
		pair->start_ns = start_ns;
}

static void note_runtime_calls(struct ws_activity *a, uint8_t *buffer, size_t valid)
{
	uint8_t *record = NULL;

	a->runtime_slot++;
	while (ws_cupti_step(&a->steps, buffer, valid, &record) == WS_CUPTI_OK) {
		struct ws_cupti_api api;

		if (ws_cupti_kind(record) != WS_CUPTI_KIND_RUNTIME)
			continue;
		ws_cupti_read_api(&api, record, (size_t)(buffer + valid - record));
		*runtime_place(a, api.correlation) =
		        (struct ws_activity_call){api.correlation, a->runtime_slot};
	}
}

/* --- slots --- */

/* The versions of two images of a process may differ. */
static void open_steps(struct ws_drain *d)
{
	const struct ws_seg_gpu *gpu = &d->seg->gpu;
	uint32_t version = atomic_load(&gpu->cupti_version);
	char library[sizeof(gpu->library)];

	if (version == d->activity->steps_version)
		return;
	d->activity->steps_version = version;
	memcpy(library, gpu->library, sizeof(library));
	library[sizeof(library) - 1] = 0;
	ws_cupti_steps_open(&d->activity->steps, library, version);
}

static uint64_t read_records(struct ws_drain *d, const struct ws_activity_slot *slot,
                             uint8_t *buffer, size_t valid)
{
	struct ws_activity *a = d->activity;
	uint8_t *next = NULL;
	int result = ws_cupti_step(&a->steps, buffer, valid, &next);
	size_t pos = 0;
	uint64_t n = 0;

	while (result == WS_CUPTI_OK) {
		const uint8_t *record = next;

		/* one step ahead: where the next record begins, this one ends */
		result = ws_cupti_step(&a->steps, buffer, valid, &next);
		pos = result == WS_CUPTI_OK ? (size_t)(next - buffer) : valid;
		switch (ws_activity_record(d, slot, record, (size_t)(buffer + pos - record))) {
		case WS_ACTIVITY_ROW:
			break;
		case WS_ACTIVITY_UNKNOWN:
			d->counted[WS_LOSS_activity_unknown]++;
			break;
		case WS_ACTIVITY_DAMAGED:
			/* of an unfinished slot too: others of its thread may be whole behind it */
			d->counted[WS_LOSS_activity_damaged]++;
			break;
		}
		n++;
	}
	/* a buffer that CUPTI still had in hand ends in zeros, which are no record either */
	if (result != WS_CUPTI_MAX_LIMIT_REACHED && !slot->unfinished)
		d->counted[WS_LOSS_activity_damaged]++;
	return n;
}

static uint64_t read_buffer(struct ws_drain *d, uint32_t image, int unfinished, uint8_t *buffer,
                            uint64_t valid)
{
	struct ws_activity_slot slot = {
	        .image = image,
	        .unfinished = unfinished,
	        .earliest_ns = d->seg->base_realtime_ns - TIME_SLACK_NS,
	};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	slot.latest_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + TIME_SLACK_NS;
	open_steps(d);
	if (!d->activity->steps.known) { /* how many records it holds nobody can tell */
		d->counted[WS_LOSS_activity_unknown]++;
		return 1;
	}
	note_runtime_calls(d->activity, buffer, valid);
	return read_records(d, &slot, buffer, valid);
}

static uint64_t read_slot(struct ws_drain *d, uint32_t i)
{
	const struct ws_slot *s = ws_seg_slot(d->seg, i);

	return read_buffer(d, s->image, s->unfinished != 0, ws_slot_bytes(d->seg, i),
	                   s->valid < d->seg->activity.stride ? s->valid : d->seg->activity.stride);
}

/* --- passes --- */

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
 * CUPTI writes on meanwhile, so it is a copy that is read. A slot that it finished
 * while it was copied is read as one that is done.
 */
void ws_activity_pass_in_hand(struct ws_drain *d)
{
	const uint64_t stride = d->seg->activity.stride;
	uint8_t *copy = d->seg->activity.count ? malloc(stride) : NULL;

	for (uint32_t i = 0; copy && i < d->seg->activity.count; i++) {
		const struct ws_slot *s = ws_seg_slot(d->seg, i);

		if (ws_slot_is_free(d->seg, i) ||
		    (d->slots_read[i] && atomic_load(&s->done) == d->slots_read[i]))
			continue;
		memcpy(copy, ws_slot_bytes(d->seg, i), stride);
		if (atomic_load_explicit(&s->done, memory_order_acquire))
			read_slot(d, i);
		else
			read_buffer(d, s->image, 1, copy, stride);
	}
	free(copy);
}
