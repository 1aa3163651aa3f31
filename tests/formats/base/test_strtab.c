#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"

static uint64_t intern(struct ws_strtab *t, const void *bytes, size_t len)
{
	uint64_t known = ws_strtab_find(t, bytes, len), id;
	const struct ws_strtab_entry *kept;

	id = ws_strtab_add(t, bytes, len);
	cr_assert(eq(u64, known ? known : id, id), "what is in the table keeps its id");
	cr_assert(eq(u64, ws_strtab_find(t, bytes, len), id));
	kept = ws_strtab_put(t, bytes, len);
	cr_assert(eq(u64, kept->id, id));
	cr_assert(eq(sz, kept->len, len));
	cr_assert(eq(int, len ? memcmp(kept->bytes, bytes, len) : 0, 0));
	return id;
}

Test(strtab, ids_count_from_1_in_order_of_first_use)
{
	struct ws_strtab t = {0};

	cr_assert(eq(u64, ws_strtab_find(&t, "a", 1), 0));
	cr_assert(eq(u64, intern(&t, "a", 1), 1));
	cr_assert(eq(u64, intern(&t, "b", 1), 2));
	cr_assert(eq(u64, intern(&t, "a", 1), 1));
	ws_strtab_free(&t);
}

Test(strtab, bytes_count_not_text_so_nul_and_length_tell_apart)
{
	struct ws_strtab t = {0};

	cr_assert(eq(u64, intern(&t, "a\0b", 3), 1));
	cr_assert(eq(u64, intern(&t, "a\0c", 3), 2));
	cr_assert(eq(u64, intern(&t, "a", 1), 3));
	cr_assert(eq(u64, intern(&t, "", 0), 4));
	cr_assert(eq(u64, intern(&t, "\0", 1), 5));
	cr_assert(eq(u64, intern(&t, NULL, 0), 4));
	ws_strtab_free(&t);
}

Test(strtab, a_hundred_thousand_texts_keep_their_ids_while_the_table_grows)
{
	struct ws_strtab t = {0};
	char text[32];

	for (int round = 0; round < 2; round++)
		for (unsigned i = 0; i < 100000; i++) {
			int n = snprintf(text, sizeof(text), "op_id = %u", i);

			cr_assert(eq(u64, intern(&t, text, (size_t)n), i + 1));
		}
	ws_strtab_free(&t);
}

Test(strtab, a_text_larger_than_a_page_is_kept)
{
	size_t len = (size_t)1 << 20;
	char *text = malloc(len);
	struct ws_strtab t = {0};

	memset(text, 'x', len);
	cr_assert(eq(u64, intern(&t, text, len), 1));
	text[len - 1] = 'y';
	cr_assert(eq(u64, intern(&t, text, len), 2));
	text[len - 1] = 'x';
	cr_assert(eq(u64, intern(&t, text, len), 1));
	free(text);
	ws_strtab_free(&t);
}

Test(strtab, ids_go_on_behind_the_highest_loaded)
{
	struct ws_strtab t = {0};
	struct ws_err err;

	cr_assert(eq(int, ws_strtab_load(&t, "a", 1, 7, &err), WS_OK));
	cr_assert(eq(int, ws_strtab_load(&t, "b", 1, 3, &err), WS_OK));
	cr_assert(eq(u64, intern(&t, "b", 1), 3));
	cr_assert(eq(u64, intern(&t, "c", 1), 8));
	cr_assert(eq(int, ws_strtab_load(&t, "d", 1, 0, &err), WS_CORRUPT));
	cr_assert(eq(int, ws_strtab_load(&t, "d", 1, UINT64_MAX, &err), WS_CORRUPT));
	ws_strtab_free(&t);
}

Test(strtab, of_bytes_loaded_twice_the_first_id_stays)
{
	struct ws_strtab t = {0};
	struct ws_err err;

	cr_assert(eq(int, ws_strtab_load(&t, "a", 1, 1, &err), WS_OK));
	cr_assert(eq(int, ws_strtab_load(&t, "a", 1, 2, &err), WS_OK));
	cr_assert(eq(u64, intern(&t, "a", 1), 1));
	cr_assert(eq(u64, intern(&t, "b", 1), 3));
	ws_strtab_free(&t);
}
