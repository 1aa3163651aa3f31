
#include "kernels/base/tensor.h"

struct dtype_info {
	size_t size;
	const char *suffix;
	const char *name;
	enum wsnvtx_dtype nvtx;
	bool is_float;
};

static const struct dtype_info infos[] = {
#define X(name, size, suffix, nvtx, is_float) \
	[WS_DTYPE_##name] = {size, #suffix, #nvtx, WSNVTX_DTYPE_##nvtx, is_float},
        WS_DTYPE_LIST(X)
#undef X
};

size_t ws_dtype_size(enum ws_dtype dtype)
{
	return infos[dtype].size;
}

const char *ws_dtype_suffix(enum ws_dtype dtype)
{
	return infos[dtype].suffix;
}

const char *ws_dtype_name(enum ws_dtype dtype)
{
	return infos[dtype].name;
}

enum wsnvtx_dtype ws_dtype_nvtx(enum ws_dtype dtype)
{
	return infos[dtype].nvtx;
}

bool ws_dtype_is_float(enum ws_dtype dtype)
{
	return infos[dtype].is_float;
}

enum ws_dtype ws_dtype_promote(enum ws_dtype a, enum ws_dtype b)
{
	if (a == b)
		return a;
	if (infos[a].size == infos[b].size) /* bf16 and fp16: neither holds the other */
		return WS_DTYPE_F32;
	return infos[a].size > infos[b].size ? a : b;
}

uint16_t ws_f32_to_f16(float value)
{
	uint32_t word, sign, mag, half;

	memcpy(&word, &value, sizeof(word));
	sign = (word >> 16) & 0x8000;
	mag = word & 0x7fffffff;

	if (mag > 0x7f800000) /* NaN: keep it quiet */
		return (uint16_t)(sign | 0x7e00 | ((mag >> 13) & 0x3ff));
	if (mag >= 0x477ff000) /* 65520 and up round to infinity */
		return (uint16_t)(sign | 0x7c00);
	if (mag < 0x38800000) {
		/* below 2^-14: subnormal. Adding 0.5 has the FPU round at 2^-24, the step there */
		float shifted = fabsf(value) + 0.5f;

		memcpy(&half, &shifted, sizeof(half));
		return (uint16_t)(sign | (half - 0x3f000000));
	}
	/* rebias the exponent from 127 to 15 and round off 13 bits, ties to even */
	half = mag - 0x38000000;
	half = (half + 0xfff + ((half >> 13) & 1)) >> 13;
	return (uint16_t)(sign | half);
}

float ws_f16_to_f32(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
	uint32_t mag = bits & 0x7fff;
	uint32_t word;
	float value;

	if (mag >= 0x7c00) { /* infinity, NaN */
		word = sign | 0x7f800000 | ((mag & 0x3ff) << 13);
	} else if (mag < 0x400) { /* zero, subnormal: mag units of 2^-24, exact in float */
		value = (float)mag * 0x1p-24f;
		memcpy(&word, &value, sizeof(word));
		word |= sign;
	} else {
		word = sign | ((mag << 13) + 0x38000000);
	}
	memcpy(&value, &word, sizeof(value));
	return value;
}

#define EACH_OF(DTYPE, to, value)                   \
	case WS_DTYPE_##DTYPE:                      \
		for (int64_t i = 0; i < count; i++) \
			(to)[i] = (value);          \
		break

void ws_dtype_encode(enum ws_dtype dtype, const double *values, void *data, int64_t count)
{
	switch (dtype) {
		EACH_OF(F32, (float *)data, (float)values[i]);
		EACH_OF(BF16, (uint16_t *)data, ws_f32_to_bf16((float)values[i]));
		EACH_OF(F16, (uint16_t *)data, ws_f32_to_f16((float)values[i]));
		EACH_OF(F64, (double *)data, values[i]);
		EACH_OF(I32, (int32_t *)data, (int32_t)values[i]);
	}
}

void ws_dtype_decode(enum ws_dtype dtype, const void *data, double *values, int64_t count)
{
	switch (dtype) {
		EACH_OF(F32, values, ((const float *)data)[i]);
		EACH_OF(BF16, values, ws_bf16_to_f32(((const uint16_t *)data)[i]));
		EACH_OF(F16, values, ws_f16_to_f32(((const uint16_t *)data)[i]));
		EACH_OF(F64, values, ((const double *)data)[i]);
		EACH_OF(I32, values, ((const int32_t *)data)[i]);
	}
}

/* --- shapes -------------------------------------------------------------------------------- */

bool ws_shape_measure(const struct ws_shape *shape, enum ws_dtype dtype, int64_t *count,
                      uint64_t *size_bytes)
{
	int64_t n = 1, bytes;

	if (shape->ndim < 1 || shape->ndim > WS_DIMS_MAX)
		return false;
	for (int i = 0; i < shape->ndim; i++)
		if (shape->dim[i] < 1 || __builtin_mul_overflow(n, shape->dim[i], &n))
			return false;
	if (__builtin_mul_overflow(n, (int64_t)ws_dtype_size(dtype), &bytes))
		return false;
	*count = n;
	*size_bytes = (uint64_t)bytes;
	return true;
}

int64_t ws_tensor_cols(const struct ws_tensor *t)
{
	return t->shape.dim[t->shape.ndim - 1];
}

int64_t ws_tensor_rows(const struct ws_tensor *t)
{
	return t->count / ws_tensor_cols(t);
}

enum ws_broadcast ws_tensor_broadcast(const struct ws_tensor *t, const struct ws_tensor *result)
{
	if (t->count == result->count)
		return WS_BROADCAST_SAME;
	if (ws_tensor_cols(t) == 1 && t->count == ws_tensor_rows(result))
		return WS_BROADCAST_COL;
	if (ws_tensor_rows(t) == 1 && t->count == ws_tensor_cols(result))
		return WS_BROADCAST_ROW;
	return t->count == 1 ? WS_BROADCAST_SCALAR : WS_BROADCAST_NONE;
}
