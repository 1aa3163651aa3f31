#include "recorder/drain/cupti_steps.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of CUPTI 13.0; kinds that are not read are here too, so that they are stepped over. */
static size_t size_of_kind(uint32_t kind)
{
	switch (kind) {
#define K(KIND, number, record) \
	case (number):          \
		return WS_CUPTI_SIZE_##record;
		WS_CUPTI_KIND_LIST(K)
#undef K
	case 28: /* device attribute */
		return 24;
	case 36: /* CUDA event */
		return 56;
	case 39: /* external correlation */
		return 24;
	default:
		return 0;
	}
}

const struct ws_seg_layout *ws_cupti_steps_layout(const struct ws_cupti_steps *steps, uint32_t kind)
{
	for (uint32_t i = 0; i < steps->nlayouts; i++)
		if (steps->layouts[i].kind == kind)
			return &steps->layouts[i];
	return NULL;
}

static size_t size_of_record(const struct ws_cupti_steps *steps, uint32_t kind)
{
	const struct ws_seg_layout *layout = ws_cupti_steps_layout(steps, kind);

	if (steps->has_chosen)
		return layout ? layout->size : 0;
	return size_of_kind(kind);
}

static bool makes_sense(const struct ws_seg_layout *layout)
{
	if (layout->size < 8 || layout->size % 8 || layout->nfields > WS_SEG_LAYOUT_FIELDS)
		return 0;
	for (uint32_t i = 0; i < layout->nfields; i++)
		if (layout->fields[i].offset + layout->fields[i].size > layout->size)
			return 0;
	return 1;
}

void ws_cupti_steps_layouts(struct ws_cupti_steps *steps, const struct ws_seg_gpu *gpu)
{
	uint32_t n = atomic_load_explicit(&gpu->nlayouts, memory_order_acquire);

	steps->has_chosen = atomic_load(&gpu->has_chosen) != 0;
	steps->nlayouts = 0;
	for (uint32_t i = 0; steps->has_chosen && i < n && i < WS_SEG_LAYOUTS; i++) {
		/* a copy first: the program can write there at any time */
		const struct ws_seg_layout layout = gpu->layouts[i];

		if (makes_sense(&layout))
			steps->layouts[steps->nlayouts++] = layout;
	}
	steps->known |= steps->nlayouts > 0;
}

static int step_by_table(const struct ws_cupti_steps *steps, uint8_t *buffer, size_t valid,
                         uint8_t **record)
{
	size_t at = 0, size;

	if (*record) {
		at = (size_t)(*record - buffer);
		at += size_of_record(steps, ws_cupti_kind(*record));
	}
	if (at >= valid)
		return WS_CUPTI_MAX_LIMIT_REACHED;
	if (valid - at < 8)
		return WS_CUPTI_INVALID_KIND;
	size = size_of_record(steps, ws_cupti_kind(buffer + at));
	if (!size || size > valid - at)
		return WS_CUPTI_INVALID_KIND;
	*record = buffer + at;
	return WS_CUPTI_OK;
}

int ws_cupti_step(const struct ws_cupti_steps *steps, uint8_t *buffer, size_t valid,
                  uint8_t **record)
{
	size_t least = *record ? (size_t)(*record - buffer) + 8 : 0;
	uint8_t *next = *record;
	int result;

	if (!steps->next || steps->has_chosen)
		return step_by_table(steps, buffer, valid, record);
	if (valid < 8)
		return WS_CUPTI_MAX_LIMIT_REACHED;
	result = steps->next(buffer, valid, &next);
	if (result == WS_CUPTI_OK &&
	    (next < buffer + least || next > buffer + valid - 8 || (uintptr_t)next % 8))
		return WS_CUPTI_INVALID_KIND;
	if (result == WS_CUPTI_OK)
		*record = next;
	return result;
}

/*
 * The path comes from the traced program, or from a segment that somebody left
 * to be salvaged: only a library with CUPTI's name that root or this user
 * installed is loaded.
 */
static bool is_trusted(const char *library)
{
	const char *name = strrchr(library, '/');
	struct stat st;

	return name && !strncmp(name + 1, "libcupti", strlen("libcupti")) && !stat(library, &st) &&
	       (!st.st_uid || st.st_uid == geteuid());
}

void ws_cupti_steps_open(struct ws_cupti_steps *steps, const char *library, uint32_t version)
{
	ws_cupti_fn_GetVersion get_version;
	uint32_t found = 0;
	void *lib;

	memset(steps, 0, sizeof(*steps));
	steps->known = version >= WS_CUPTI_VERSION_13_0 && version < WS_CUPTI_VERSION_13_1;
	if (!is_trusted(library))
		return;
	lib = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!lib)
		return;
	*(void **)&get_version = dlsym(lib, "cuptiGetVersion");
	if (!get_version || get_version(&found) != WS_CUPTI_OK || found != version)
		return;
	*(void **)&steps->next = dlsym(lib, "cuptiActivityGetNextRecord");
	*(void **)&steps->callback_name = dlsym(lib, "cuptiGetCallbackName");
	steps->known |= steps->next != NULL;
}
