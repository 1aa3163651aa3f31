/*
 * Two sequences of symbols brought in line: as many equal symbols as possible
 * face each other, in order.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * partner[i] = the position in b of what faces a[i], WS_NONE = nothing; ascending.
 * Myers' greedy algorithm in linear space (Algorithmica 1 (1986) 251). Sequences
 * with thousands of differences are split where both searches have come farthest, so the time
 * is bounded by about (na + nb) × max(256, sqrt(na + nb)) and the result may miss some pairs.
 */
void ws_align(const uint32_t *a, size_t na, const uint32_t *b, size_t nb, uint32_t *partner);
