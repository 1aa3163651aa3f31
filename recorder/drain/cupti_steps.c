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

static int step_by_table(uint8_t *buffer, size_t valid, uint8_t **record)
{
	size_t at = 0, size;

	if (*record) {
		at = (size_t)(*record - buffer);
		at += size_of_kind(ws_cupti_kind(*record));
	}
	if (at >= valid)
		return WS_CUPTI_MAX_LIMIT_REACHED;
	if (valid - at < 8)
		return WS_CUPTI_INVALID_KIND;
	size = size_of_kind(ws_cupti_kind(buffer + at));
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

	if (!steps->next)
		return step_by_table(buffer, valid, record);
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
