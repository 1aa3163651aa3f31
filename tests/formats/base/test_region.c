#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include "formats/base/system/system.h"

#define REGIONS 6

static bool has_only(const struct ws_region *r, size_t from, size_t to, unsigned char byte)
{
	for (size_t i = from; i < to; i++)
		if (((const unsigned char *)r->data)[i] != byte)
			return false;
	return true;
}

/* Regions that grow side by side, and are closed and opened again where others were: each one keeps
 * what was written to it, and its new bytes are 0. */
Test(region, keeps_its_bytes_and_new_ones_are_0)
{
	struct ws_region region[REGIONS] = {0};
	uint32_t random = 1;

	for (unsigned round = 0; round < 400; round++) {
		struct ws_region *r = &region[round % REGIONS];
		const unsigned char mark = (unsigned char)(1 + round % REGIONS);
		size_t had = 0;

		random = random * 1664525 + 1013904223;
		if (r->data && random >> 30 == 0)
			ws_region_close(r);
		if (!r->data)
			cr_assert(eq(int, ws_region_open(r, 1000 + (random >> 10), random & 1), 0));
		else
			had = r->bytes;
		cr_assert(has_only(r, 0, had, mark), "round %u", round);
		cr_assert(eq(int, ws_region_grow(r, had + (r->most_bytes - had) / 3), 0));
		cr_assert(has_only(r, had, r->bytes, 0), "round %u", round);
		memset(r->data, mark, r->bytes);
	}
	for (unsigned i = 0; i < REGIONS; i++)
		ws_region_close(&region[i]);
}
