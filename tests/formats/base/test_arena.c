/* Arenas: what they hold, and what they do when there is no memory. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "formats/base/memory.h"

Test(arena, nothing_moves_and_all_is_zero_and_aligned)
{
	struct ws_arena arena = {0};
	char *parts[2000];

	for (size_t i = 0; i < 2000; i++) {
		/* now and then one that needs a chunk of its own */
		size_t size = i % 100 == 99 ? 100000 : i % 61;

		parts[i] = ws_arena_alloc(&arena, size ? size : 1);
		cr_assert(parts[i] != NULL);
		cr_assert(eq(sz, (uintptr_t)parts[i] % _Alignof(max_align_t), 0));
		cr_assert(eq(int, parts[i][0], 0));
		parts[i][0] = (char)(i % 100);
	}
	for (size_t i = 0; i < 2000; i++)
		cr_assert(eq(int, parts[i][0], (int)(i % 100)));
	cr_assert(eq(str, ws_arena_copy(&arena, "abcd", 3), (char *)"abc"));
	cr_assert(eq(str, ws_arena_format(&arena, "%d of %s", 3, "7"), (char *)"3 of 7"));
	ws_arena_free(&arena);
}

Test(arena, what_no_memory_can_have_ends_the_program, .exit_code = 5)
{
	struct ws_arena arena = {0};

	ws_arena_array(&arena, SIZE_MAX / 4, 8);
}

/* Where memory is short, large pieces lie on the disk. */
Test(arena, large_pieces_need_no_memory)
{
	const struct rlimit little = {WS_ARENA_FILE_BYTES, WS_ARENA_FILE_BYTES};
	const size_t n = 2 * WS_ARENA_FILE_BYTES;
	struct ws_arena arena = {0};
	void *volatile memory; /* else a compiler may leave the allocation out, as if it had worked
	                        */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	cr_skip_test("the memory of a sanitizer's own is over the limit");
#endif
	cr_assert(eq(int, setrlimit(RLIMIT_DATA, &little), 0));
	/* that is no memory which malloc may have */
	memory = malloc(n);
	cr_assert(memory == NULL);
	for (int i = 0; i < 3; i++) {
		char *large = ws_arena_alloc(&arena, n);

		cr_assert(large != NULL);
		cr_assert(eq(sz, (uintptr_t)large % _Alignof(max_align_t), 0));
		cr_expect(eq(int, large[0] | large[n / 2] | large[n - 1], 0));
		memset(large, i + 1, n);
	}
	ws_arena_free(&arena);
}
