#include "recorder/cupti/sizes.h"

/*
 * A page in which every eight bytes are the number of the kind looks like records of that kind,
 * however long they are: from the first one the iterator steps to where the next one begins.
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
