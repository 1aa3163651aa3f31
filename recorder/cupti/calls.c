#include "recorder/cupti/source.h"

/* Prefixes of function names, without cuda or cu. */
static const char *const launches[] = {"Launch", "GraphLaunch"};
/* Between begin and end of a capture a launch makes a graph node and no work. */
static const char *const captures[] = {"StreamBeginCapture", "StreamEndCapture"};
static const char *const others[] = {"GraphInstantiate", "GraphUpload",
                                     /* copies and fills */
                                     "Memcpy", "Memset", "MemPrefetch",
                                     /* memory */
                                     "Malloc", "Free", "HostAlloc", "HostRegister",
                                     /* waits */
                                     "StreamSynchronize", "StreamWaitEvent", "EventSynchronize",
                                     "DeviceSynchronize", "DeviceReset",
                                     /* code */
                                     "LibraryLoad"};
/* Driver functions with other names than in the runtime, for programs that call the driver
 * directly. */
static const char *const of_driver[] = {"MemAlloc",        "MemFree",        "MemHostAlloc",
                                        "MemHostRegister", "CtxSynchronize", "ModuleLoad"};

static bool begins_with_one_of(const char *name, const char *const *beginnings, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return 1;
	return 0;
}

/* The name without cuda or cu; "" if it has no such prefix. */
static const char *bare_name(const char *name)
{
	name += strspn(name, "_"); /* __cudaLaunchKernel: nvcc 13 compiles <<<>>> to this */
	if (strncmp(name, "cu", 2) != 0)
		return "";
	return name + (strncmp(name, "cuda", 4) ? strlen("cu") : strlen("cuda"));
}

bool ws_cupti_is_launch(const char *name)
{
	name = bare_name(name);
	return begins_with_one_of(name, launches, sizeof(launches) / sizeof(*launches)) &&
	       !strstr(name, "HostFunc");
}

bool ws_cupti_wants_call(uint32_t domain, const char *name, int kernels_only)
{
	name = bare_name(name);
	if (begins_with_one_of(name, launches, sizeof(launches) / sizeof(*launches)) ||
	    begins_with_one_of(name, captures, sizeof(captures) / sizeof(*captures)))
		return 1;
	if (kernels_only)
		return 0;
	return begins_with_one_of(name, others, sizeof(others) / sizeof(*others)) ||
	       (domain == WS_CUPTI_DOMAIN_DRIVER &&
	        begins_with_one_of(name, of_driver, sizeof(of_driver) / sizeof(*of_driver)));
}

/* --- sizes of records --- */

/*
 * The size of a record of this kind. A page filled with the kind's number, every 8 bytes, looks
 * like a sequence of such records of any size. CUPTI's iterator steps from the first record to the
 * second, and the distance is the size.
 */
static size_t size_of(ws_cupti_fn_ActivityGetNextRecord next, uint64_t kind)
{
	uint64_t page[2 * WS_SEG_MAX_RECORD / sizeof(uint64_t)];
	uint8_t *record = NULL, *first;

	for (size_t i = 0; i < sizeof(page) / sizeof(*page); i++)
		page[i] = kind;
	if (next((uint8_t *)page, sizeof(page), &record) != WS_CUPTI_OK)
		return 0;
	first = record;
	if (next((uint8_t *)page, sizeof(page), &record) != WS_CUPTI_OK || record <= first)
		return 0;
	return (size_t)(record - first);
}

void ws_cupti_find_sizes(ws_cupti_fn_ActivityGetNextRecord next, uint16_t sizes[WS_SEG_KINDS])
{
	for (uint32_t kind = 0; kind < WS_SEG_KINDS; kind++) {
		size_t size = kind ? size_of(next, kind) : 0;

		sizes[kind] = size <= WS_SEG_MAX_RECORD ? (uint16_t)size : 0;
	}
}
