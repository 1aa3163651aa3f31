#include "kernels/base/tensor.h"

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
