#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"

Test(map, has_what_was_put_and_nothing_else)
{
	const uint64_t keys[] = {1, 2, 3, 10, UINT64_MAX, 5, 5, 4, 1u << 31};
	const size_t n = sizeof(keys) / sizeof(*keys);
	struct ws_map m = {0};

	cr_assert(ws_map_get(&m, 0) == NULL);
	cr_assert(ws_map_get(&m, 1) == NULL);
	for (size_t i = 0; i < n; i++)
		ws_map_put(&m, keys[i], keys[i] + i);
	cr_assert(eq(sz, m.n, n - 1));
	cr_assert(eq(u64, *ws_map_get(&m, 5), 11), "the last value stays");
	cr_assert(eq(u64, *ws_map_get(&m, UINT64_MAX), 3));
	cr_assert(ws_map_get(&m, 0) == NULL);
	cr_assert(ws_map_get(&m, 6) == NULL);
	ws_map_add(&m, 5, 99);
	cr_assert(eq(u64, *ws_map_get(&m, 5), 11), "the first value stays");
	ws_map_add(&m, 0, UINT64_MAX);
	cr_assert(eq(u64, *ws_map_get(&m, 0), UINT64_MAX));
	cr_assert(eq(sz, m.n, n));
	ws_map_free(&m);
	cr_assert(ws_map_get(&m, 0) == NULL);
	cr_assert(eq(sz, m.n, 0));
}

Test(map, many_keys_with_gaps_are_all_found)
{
	struct ws_map m = {0};

	for (uint64_t i = 0; i < 20000; i++)
		ws_map_put(&m, i * 3 + 2, i);
	for (uint64_t id = 0; id < 60000; id++) {
		const uint64_t *value = ws_map_get(&m, id);

		cr_assert(eq(int, value != NULL, id % 3 == 2));
		cr_assert(eq(u64, value ? *value : id / 3, id / 3));
	}
	ws_map_free(&m);
}
