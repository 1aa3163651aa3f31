/* Interning: equal bytes get the same id. For texts, payloads and launch configurations alike: a
 * struct is interned as its bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/base/arena.h"
#include "formats/base/status.h"

struct ws_strtab_entry {
	uint64_t hash;
	uint64_t id;
	const void *bytes; /* in the arena; they never move */
	size_t len;
};

/* All zero is an empty table. Free with ws_strtab_free. */
struct ws_strtab {
	struct ws_strtab_entry *slots; /* open addressing; id 0 = free */
	size_t nslots;                 /* a power of two, or 0 */
	size_t used;
	uint64_t next_id;      /* 0 in an empty table means 1 */
	struct ws_arena arena; /* of the bytes */
};

/* The id of these bytes, 0 if they are not in the table. */
uint64_t ws_strtab_find(const struct ws_strtab *t, const void *bytes, size_t len);
/* The id of these bytes. New ones are copied into the table and get the next id. */
uint64_t ws_strtab_add(struct ws_strtab *t, const void *bytes, size_t len);
/* The same, as the table's entry, which is valid until the next bytes are added; its bytes are
 * valid as long as the table. */
const struct ws_strtab_entry *ws_strtab_put(struct ws_strtab *t, const void *bytes, size_t len);
/* Add bytes with the id that they have in a file that is being continued; new ids follow the
 * highest. Of equal bytes, the first id stays. */
enum ws_status ws_strtab_load(struct ws_strtab *t, const void *bytes, size_t len, uint64_t id,
                              struct ws_err *err);
void ws_strtab_free(struct ws_strtab *t); /* empties it */
