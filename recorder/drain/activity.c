#include "recorder/drain/activity.h"

#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "recorder/shared/segment_slots.h"

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

	/* never full, whatever a slot holds: steps are at least 8 bytes */
	a->runtime_size = power_of_two(seg->activity.stride / 8 + 1);
	/* a launch's records are two calls and a kernel: some 300 bytes */
	a->npairs = power_of_two(seg->activity.count * seg->activity.stride / 512);
	a->npairs = a->npairs < WS_ACTIVITY_PAIRS ? a->npairs : WS_ACTIVITY_PAIRS;
	a->pairs = ws_xarray(a->npairs, sizeof(*a->pairs));
	a->nkept = a->npairs < WS_ACTIVITY_KEPT ? a->npairs : WS_ACTIVITY_KEPT;
	a->kept = ws_xarray(a->nkept, sizeof(*a->kept));
	a->looked = ws_xarray(seg->activity.count, sizeof(*a->looked));
	a->runtime = ws_xarray(a->runtime_size, sizeof(*a->runtime));
	return a;
}

void ws_activity_free(struct ws_activity *a)
{
	ws_graph_captures_release(&a->captures);
	free(a->looked);
	free(a->runtime);
	ws_map_free(&a->kernels);
	free(a->pairs);
	free(a->kept);
	free(a->calls[0]);
	free(a->calls[1]);
	free(a);
}

/* --- definitions --- */

static bool contains(struct ws_bytes name, const char *part)
{
	return memmem(name.ptr, name.len, part, strlen(part)) != NULL;
}

/* Of kernels and graphs; cudaLaunchHostFunc launches nothing on a device. */
static enum ws_activity_effect effect_of(struct ws_bytes name)
{
	if (contains(name, "Launch") && !contains(name, "HostFunc"))
		return WS_EFFECT_LAUNCH;
	if (contains(name, "StreamBeginCapture"))
		return WS_EFFECT_CAPTURE_BEGINS;
	return contains(name, "StreamEndCapture") ? WS_EFFECT_CAPTURE_ENDS : WS_EFFECT_NONE;
}

bool ws_activity_name_call(struct ws_activity *a, uint32_t domain, uint32_t cbid,
                           struct ws_bytes name)
{
	const uint32_t d = domain - WS_CUPTI_DOMAIN_DRIVER;

	if (domain != WS_CUPTI_DOMAIN_DRIVER && domain != WS_CUPTI_DOMAIN_RUNTIME)
		return 0;
	if (cbid >= WS_ACTIVITY_CALLS)
		return 1;
	if (!a->calls[d])
		a->calls[d] = ws_xarray(WS_ACTIVITY_CALLS, sizeof(*a->calls[d]));
	a->calls[d][cbid] = (struct ws_activity_api){name, effect_of(name)};
	return 1;
}

bool ws_activity_name_kernel(struct ws_activity *a, uint64_t address, uint32_t string)
{
	if (address)
		ws_map_put(&a->kernels, address, string);
	return address != 0;
}

uint32_t ws_activity_kernel_at(const struct ws_activity *a, uint64_t address)
{
	const uint64_t *string = ws_map_get(&a->kernels, address);

	return string ? (uint32_t)*string : 0;
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
bool ws_activity_keep_call(struct ws_activity *a, const struct ws_activity_slot *slot, int runtime,
                           uint32_t correlation)
{
	uint32_t *kept = &a->kept[correlation & (a->nkept - 1)];

	if (!correlation)
		return 1;
	if (a->kept_image != slot->image) { /* ids begin anew */
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

/* A capture of which a later buffer tells makes its launches be none, whenever they are asked. */
static bool lacks_work(const struct ws_activity *a, const struct ws_activity_pair *pair)
{
	return pair->seen == WS_ACTIVITY_LAUNCH &&
	       !ws_graph_captures_has(&a->captures, pair->start_ns);
}

uint64_t ws_activity_waiting(const struct ws_activity *a)
{
	uint64_t n = 0;

	for (size_t i = 0; i < a->pairs_end; i++)
		n += (uint64_t)lacks_work(a, &a->pairs[i]);
	return n;
}

/*
 * Work mostly comes with its launch or soon after; so whatever has to give way
 * to a launch that much younger has waited long enough.
 */
void ws_activity_note(struct ws_drain *d, const struct ws_activity_slot *slot, uint32_t correlation,
                      enum ws_activity_seen what, int64_t start_ns)
{
	struct ws_activity *a = d->activity;
	const size_t at = correlation & (a->npairs - 1);
	struct ws_activity_pair *pair = &a->pairs[at];

	if (!correlation)
		return;
	if (at >= a->pairs_end)
		a->pairs_end = at + 1;
	if (pair->correlation != correlation || pair->image != slot->image) {
		d->counted[WS_DROPPED_launch_without_work] += (uint64_t)lacks_work(a, pair);
		*pair = (struct ws_activity_pair){correlation, (uint32_t)slot->image, 0, 0};
	}
	pair->seen |= what;
	if (what == WS_ACTIVITY_LAUNCH)
		pair->start_ns = start_ns;
}

void ws_activity_note_runtime_calls(struct ws_activity *a, const uint8_t *buffer, size_t valid)
{
	size_t size;

	a->runtime_slot++;
	for (size_t at = 0; (size = ws_cupti_record_size(&a->steps, buffer, valid, at));
	     at += size) {
		struct ws_cupti_api api;

		if (ws_cupti_kind(buffer + at) != WS_CUPTI_KIND_RUNTIME)
			continue;
		ws_cupti_read_api(&api, buffer + at, size);
		*runtime_place(a, api.correlation) =
		        (struct ws_activity_call){api.correlation, a->runtime_slot};
	}
}
