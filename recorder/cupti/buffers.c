/*
 * The two callbacks through which CUPTI gets buffers and gives them back. A
 * request comes on a launching thread, so it pops a number and is done. What
 * comes back, mostly on CUPTI's own thread, is gone through while the pointers
 * in it are alive: names go into the definition log, and their ids into the
 * records.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "recorder/cupti/scope.h"
#include "recorder/cupti/source.h"
#include "recorder/shared/segment_slots.h"

static void request_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
	struct ws_seg_header *seg = ws_collector.seg;
	int slot = -1;

	*max_records = 0; /* as many as there is room for */
	if (WS_LIKELY(atomic_load_explicit(&ws_collector.is_recording, memory_order_relaxed))) {
		slot = ws_slot_take(seg, ws_collector.image);
		if (slot < 0)
			ws_lost(WS_DROPPED_activity_refused, 1);
		ws_cupti_slot_taken();
	}
	*buffer = slot < 0 ? NULL : ws_slot_bytes(seg, (uint32_t)slot);
	*size = slot < 0 ? 0 : seg->activity.stride;
}

/* --- kernel names --- */

/* Once three quarters are used, further names are looked up in the log each time. */
#define NAMES (1u << 15)

static struct {
	_Atomic uint64_t address; /* 0: unused */
	_Atomic uint32_t string;
	_Atomic uint32_t age; /* modules loaded when it was last compared with the text */
} names[NAMES];
static uint32_t names_used;
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t modules_loaded;

void ws_cupti_names_changed(void)
{
	atomic_fetch_add_explicit(&modules_loaded, 1, memory_order_relaxed);
}

/* Where the name is or belongs. The table is never full. */
static uint32_t name_place(uint64_t address)
{
	uint32_t i = (uint32_t)(address * UINT64_C(0x9E3779B97F4A7C15) >> 40);

	for (;; i++) {
		uint64_t found =
		        atomic_load_explicit(&names[i % NAMES].address, memory_order_acquire);

		if (!found || found == address)
			return i % NAMES;
	}
}

/* CUPTI may put another text where one was, once a module is gone. */
static bool is_same_text(uint32_t string, const char *text)
{
	uint32_t size;
	const char *known = ws_string_text(string, &size);
	size_t len = strnlen(text, WS_MAX_TEXT);

	return known && len == size && !memcmp(known, text, len);
}

/* Define a name and remember where it lies. */
static uint32_t learn_name(uint32_t place, uint64_t address, const char *text, uint32_t age)
{
	uint32_t string = ws_define_string((struct ws_event_text){.ptr = text});
	sigset_t before;

	if (string == WS_DEF_NONE)
		return WS_DEF_NONE;
	ws_lock(&names_lock, &before);
	place = name_place(address); /* another thread may have been faster */
	if (atomic_load(&names[place].address) || names_used < NAMES / 4 * 3) {
		names_used += !atomic_load(&names[place].address);
		if (atomic_load(&names[place].string) != string)
			ws_define_kernel(address, string);
		atomic_store(&names[place].string, string);
		atomic_store(&names[place].age, age);
		atomic_store_explicit(&names[place].address, address, memory_order_release);
	}
	ws_unlock(&names_lock, &before);
	return string;
}

/* The id of a kernel's name, WS_DEF_NONE when the log is full. */
static uint32_t name_string(uint64_t address)
{
	const char *text = (const char *)(uintptr_t)address; /* NOLINT: as CUPTI gave it */
	uint32_t age = atomic_load_explicit(&modules_loaded, memory_order_relaxed);
	uint32_t place = name_place(address);
	uint32_t string = atomic_load_explicit(&names[place].string, memory_order_relaxed);

	if (WS_UNLIKELY(!atomic_load_explicit(&names[place].address, memory_order_relaxed)))
		return learn_name(place, address, text, age);
	if (WS_LIKELY(atomic_load_explicit(&names[place].age, memory_order_relaxed) == age))
		return string;
	if (!is_same_text(string, text))
		return learn_name(place, address, text, age);
	atomic_store_explicit(&names[place].age, age, memory_order_relaxed);
	return string;
}

/* --- records --- */

/* Put the id in the place of the pointer at record + at. */
static void replace_name(uint8_t *record, size_t at)
{
	uint64_t value;
	uint32_t string;

	memcpy(&value, record + at, sizeof(value));
	if (!value || value & WS_SLOT_TEXT_ID)
		return;
	string = name_string(value);
	if (string == WS_DEF_NONE) /* counted; the launcher will say where it lay */
		return;
	value = WS_SLOT_TEXT_ID | string;
	memcpy(record + at, &value, sizeof(value));
}

/* A buffer holds the records of one thread, so the last answer is mostly right. */
static void replace_thread(uint8_t *record, size_t at, uint32_t *tid, uint32_t *thread)
{
	uint32_t value;

	memcpy(&value, record + at, sizeof(value));
	if (!value || value & WS_SLOT_THREAD_ID)
		return;
	/* what our own thread calls is for nobody to see, but that it was told */
	if (value ==
	    atomic_load_explicit(&ws_collector.seg->gpu.flush_thread, memory_order_relaxed)) {
		atomic_fetch_add(&ws_cupti_own_records, 1);
		return;
	}
	if (value != *tid) {
		*tid = value;
		*thread = ws_thread_of(value);
	}
	if (!*thread)
		return;
	value = WS_SLOT_THREAD_ID | *thread;
	memcpy(record + at, &value, sizeof(value));
}

/* From 12.4 on CUPTI allocates a description of this kind of overhead that is ours to free. */
static void free_overhead_data(const uint8_t *record)
{
	struct ws_cupti_overhead o;

	ws_cupti_read_overhead(&o, record, WS_CUPTI_SIZE_overhead);
	if (o.kind == WS_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL)
		free((void *)(uintptr_t)o.data); /* NOLINT: as CUPTI gave it */
}

static void prepare(uint8_t *buffer, size_t valid)
{
	const int has_overhead_data =
	        atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_12_4;
	uint32_t tid = 0, thread = 0;
	uint8_t *record = NULL;

	while (ws_cupti_next(buffer, valid, &record) == WS_CUPTI_OK) {
		switch (ws_cupti_kind(record)) {
		case WS_CUPTI_KIND_KERNEL:
		case WS_CUPTI_KIND_CONCURRENT_KERNEL:
			replace_name(record, WS_CUPTI_AT_kernel_name);
			break;
		case WS_CUPTI_KIND_DRIVER:
		case WS_CUPTI_KIND_RUNTIME:
			replace_thread(record, WS_CUPTI_AT_api_thread, &tid, &thread);
			break;
		case WS_CUPTI_KIND_DEVICE:
			replace_name(record, WS_CUPTI_AT_device_name);
			break;
		case WS_CUPTI_KIND_OVERHEAD:
			if (has_overhead_data)
				free_overhead_data(record);
			break;
		default:
			break;
		}
	}
}

static void complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid_size)
{
	struct ws_seg_header *seg = ws_collector.seg;
	/* as numbers: a buffer of another profiler's is not of this memory */
	uint64_t offset = (uintptr_t)buffer - (uintptr_t)ws_slot_bytes(seg, 0);
	uint32_t slot = (uint32_t)(offset / seg->activity.stride);

	(void)context;
	(void)stream;
	(void)size;
	/* a forked child's: that memory is its own and nobody reads it */
	if (!atomic_load_explicit(&ws_collector.is_recording, memory_order_relaxed))
		return;
	/* a buffer that another profiler gave CUPTI: we are told of it, so that one is not */
	if (offset % seg->activity.stride || slot >= seg->activity.count) {
		atomic_fetch_or(&seg->gpu.stopped, WS_GPU_STOP_FOREIGN);
		return;
	}
	if (!valid_size) {
		ws_slot_put_back(seg, slot);
		return;
	}
	ws_cupti_tell_sizes();
	prepare(buffer, valid_size);
	ws_slot_finish(seg, slot, valid_size);
}

static void request_scoped_buffer(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
	(void)info;
	request_buffer(buffer, size, max_records);
}

static void complete_scoped_buffer(uint8_t *buffer, size_t size, size_t valid_size, void *info)
{
	(void)info;
	complete_buffer(NULL, 0, buffer, size, valid_size);
}

const struct ws_cupti_buffers ws_cupti_buffers = {
        .request = request_buffer,
        .complete = complete_buffer,
        .request_v2 = request_scoped_buffer,
        .complete_v2 = complete_scoped_buffer,
};
