/* The checksum of trace files. Only checksum.c includes xxhash. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* XXH3-64 with seed 0. */
uint64_t ws_checksum(const void *data, size_t size);

/* The same for bytes that come in pieces. */
struct ws_checksum {
	_Alignas(64) unsigned char state[576];
};
void ws_checksum_begin(struct ws_checksum *c);
void ws_checksum_add(struct ws_checksum *c, const void *data, size_t size);
uint64_t ws_checksum_end(const struct ws_checksum *c);
