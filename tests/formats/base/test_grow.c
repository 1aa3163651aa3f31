/* Arrays that grow, and what they do when there is no memory. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"

Test(grow, items_stay_and_room_at_least_doubles)
{
	uint32_t *items = NULL;
	size_t capacity = 0, changes = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		size_t before = capacity;

		WS_GROW(items, i + (size_t)1, capacity);
		changes += capacity != before;
		items[i] = i;
	}
	for (uint32_t i = 0; i < 100000; i++)
		cr_assert(eq(u32, items[i], i));
	cr_assert(le(sz, changes, 14));
	WS_GROW(items, (size_t)1000000, capacity);
	cr_assert(ge(sz, capacity, 1000000));
	free(items);
}

Test(grow, what_no_memory_can_have_ends_the_program, .exit_code = 5)
{
	uint64_t *items = NULL;
	size_t capacity = 0;

	WS_GROW(items, SIZE_MAX / 8 + 2, capacity);
}
