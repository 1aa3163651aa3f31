/* Numbers of predefined types of NVTX's payload extension, as they lie in the memory of the
 * recording machine (64-bit Linux). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whole numbers. */
struct ws_nvtx_integer {
	uint8_t bytes, is_signed;
};

/* NULL: not a type of whole numbers. */
const struct ws_nvtx_integer *ws_nvtx_integer(uint64_t type);
/* Its bits, with its sign extended. False if p[0..len) is too short. */
bool ws_nvtx_integer_bits(const struct ws_nvtx_integer *n, const uint8_t *p, size_t len,
                          uint64_t *out);
/* The type of an enumeration of this size; 0: there is none. */
uint64_t ws_nvtx_type_of_enum(uint64_t size);
/* Bytes of a real number of this type; 0: not such a type. */
uint64_t ws_nvtx_real_size(uint64_t type);
/* The value of those bytes. */
double ws_nvtx_real(uint64_t type, const uint8_t *p);
/* Bytes of a number of either kind; 0: no such type. */
uint64_t ws_nvtx_number_size(uint64_t type);
