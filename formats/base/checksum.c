#include "formats/base/checksum.h"

#define XXH_INLINE_ALL /* header only: nothing to link */
#include <xxhash.h>

uint64_t ws_checksum(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}
