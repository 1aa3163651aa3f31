/*
 * Data types of tensors and the conversions between them.
 *
 * Conversions to a narrower type round to nearest, ties to even, as the GPU's
 * conversion instructions do; overflow gives infinity; a NaN stays a NaN.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/nvtx/warpsheet_nvtx.h"

/* name, bytes, part of kernel names, name in warpsheet_nvtx.h, is it a floating-point type */
#define WS_DTYPE_LIST(X)             \
	X(F32, 4, f32, fp32, true)   \
	X(BF16, 2, bf16, bf16, true) \
	X(F16, 2, f16, fp16, true)   \
	X(F64, 8, f64, fp64, true)   \
	X(I32, 4, i32, int32, false)

enum ws_dtype {
#define X(name, size, suffix, nvtx, is_float) WS_DTYPE_##name,
	WS_DTYPE_LIST(X)
#undef X
};

size_t ws_dtype_size(enum ws_dtype dtype);
const char *ws_dtype_suffix(enum ws_dtype dtype); /* "f32": for kernel names */
const char *ws_dtype_name(enum ws_dtype dtype);   /* "fp32": for people */
enum wsnvtx_dtype ws_dtype_nvtx(enum ws_dtype dtype);
bool ws_dtype_is_float(enum ws_dtype dtype);
/* The type that PyTorch promotes two floating-point types to (bf16 with fp16 gives fp32). */
enum ws_dtype ws_dtype_promote(enum ws_dtype a, enum ws_dtype b);

/* What losses, statistics and scales beside values of a type are computed in. */
static inline enum ws_dtype ws_dtype_exact(enum ws_dtype dtype)
{
	return dtype == WS_DTYPE_F64 ? WS_DTYPE_F64 : WS_DTYPE_F32;
}

/* IEEE binary16, through its bits. */
uint16_t ws_f32_to_f16(float value);
float ws_f16_to_f32(uint16_t bits);

static inline float ws_bf16_to_f32(uint16_t bits)
{
	uint32_t word = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &word, sizeof(value));
	return value;
}

static inline uint16_t ws_f32_to_bf16(float value)
{
	uint32_t word, rounded;

	memcpy(&word, &value, sizeof(word));
	/* half of the last kept place, less one when that place is even already */
	rounded = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
	/* rounding up a NaN could turn it into infinity or zero; branch-free, so that loops
	 * vectorise */
	return (uint16_t)((word & 0x7fffffff) > 0x7f800000 ? (word >> 16) | 0x40 : rounded);
}

/*
 * TF32: what a Tensor Core reads of fp32 operands, 10 bits of mantissa beside the
 * exponent of fp32. Kept in a float.
 */
static inline float ws_f32_to_tf32(float value)
{
	uint32_t word, rounded;

	memcpy(&word, &value, sizeof(word));
	rounded = (word + 0xfff + ((word >> 13) & 1)) & ~(uint32_t)0x1fff;
	word = (word & 0x7fffffff) > 0x7f800000 ? word : rounded; /* a NaN stays one */
	memcpy(&value, &word, sizeof(value));
	return value;
}

/* What is done to an operand of a product that is read as TF32. Hardware does each of them. */
enum ws_tf32 { WS_TF32_EXACT, WS_TF32_ROUNDED, WS_TF32_CUT };

static inline float ws_f32_read(float value, enum ws_tf32 how)
{
	uint32_t word;

	if (how == WS_TF32_EXACT || isnan(value))
		return value;
	if (how == WS_TF32_ROUNDED)
		return ws_f32_to_tf32(value);
	memcpy(&word, &value, sizeof(word));
	word &= ~(uint32_t)0x1fff;
	memcpy(&value, &word, sizeof(value));
	return value;
}

/* count elements of a type, to and from double. To the 16-bit types it rounds by way of float. */
void ws_dtype_encode(enum ws_dtype dtype, const double *values, void *data, int64_t count);
void ws_dtype_decode(enum ws_dtype dtype, const void *data, double *values, int64_t count);
