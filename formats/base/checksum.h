/* The checksum of trace files. xxhash is known to checksum.c only. */
#ifndef WS_FORMATS_BASE_CHECKSUM_H
#define WS_FORMATS_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* XXH3-64 with seed 0. */
uint64_t ws_checksum(const void *data, size_t size);

#endif
