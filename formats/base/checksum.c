#include "formats/base/checksum.h"

#define XXH_INLINE_ALL /* header only: nothing to link */
#include <xxhash.h>

uint64_t ws_checksum(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

_Static_assert(sizeof(XXH3_state_t) <= sizeof(((struct ws_checksum *)0)->state),
               "xxhash has a larger state");

void ws_checksum_begin(struct ws_checksum *c)
{
	XXH3_64bits_reset((XXH3_state_t *)c->state);
}

void ws_checksum_add(struct ws_checksum *c, const void *data, size_t size)
{
	XXH3_64bits_update((XXH3_state_t *)c->state, data, size);
}

uint64_t ws_checksum_end(const struct ws_checksum *c)
{
	return XXH3_64bits_digest((const XXH3_state_t *)c->state);
}
