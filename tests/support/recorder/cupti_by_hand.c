#include "tests/support/recorder/cupti_by_hand.h"

#include <criterion/criterion.h>
#include <stdlib.h>

void cupti_begin(const char *path)
{
	by_hand_start(path);
	atomic_store(&seg->owner.pid, PID);
	put_cupti_sizes(&seg->gpu, IMAGE);
}

void cupti_start(void)
{
	cupti_begin(NULL);
}

int slot = -1;
uint64_t used;

uint8_t *put_record(uint32_t kind, size_t size)
{
	uint8_t *r;

	if (slot < 0) {
		slot = ws_slot_take(seg, IMAGE);
		cr_assert_geq(slot, 0);
		used = 0;
	}
	r = ws_slot_bytes(seg, (uint32_t)slot) + used;
	cr_assert_leq(used + size, SLOT_SIZE);
	memcpy(r, &kind, sizeof(kind));
	used += size;
	return r;
}

void finish_slot(void)
{
	ws_slot_finish(seg, (uint32_t)slot, used);
	slot = -1;
}

uint8_t *put_kernel(uint32_t correlation, uint64_t name)
{
	uint8_t *r = RECORD(CONCURRENT_KERNEL, kernel);

	PUT(r, kernel, start, BASE + 1000);
	PUT(r, kernel, end, BASE + 1500);
	PUT(r, kernel, grid_x, 3);
	PUT(r, kernel, block_x, 64);
	PUT(r, kernel, correlation, correlation);
	PUT(r, kernel, name, name);
	return r;
}

uint8_t *put_api(uint32_t kind, uint32_t cbid, uint32_t correlation)
{
	uint8_t *r = put_record(kind, WS_CUPTI_SIZE_api);

	PUT(r, api, cbid, cbid);
	PUT(r, api, start, BASE + 100);
	PUT(r, api, end, BASE + 300);
	PUT(r, api, thread, TID);
	PUT(r, api, correlation, correlation);
	return r;
}

void put_call_name(uint32_t domain, uint32_t cbid, const char *name)
{
	uint8_t body[64];
	struct ws_def_call fixed = {domain, cbid};

	memcpy(body, &fixed, sizeof(fixed));
	memcpy(body + sizeof(fixed), name, strlen(name));
	put_def(WS_DEF_CALL, 1, body, (uint32_t)(sizeof(fixed) + strlen(name)));
}

uint64_t put_text(const char *text)
{
	return WS_SLOT_TEXT_ID | put_def(WS_DEF_STRING, 0, text, (uint32_t)strlen(text));
}

uint64_t lost(enum ws_dropped cause)
{
	return ws_drain_lost(drain, cause);
}
