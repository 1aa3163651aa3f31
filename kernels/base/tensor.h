/*
 * Data types of tensors, conversions between them, and the description of a tensor without its
 * data.
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

#include "formats/base/status.h"
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

/* The type in which losses, statistics and scales are computed for values of a type. */
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
 * TF32: the part of fp32 operands that a Tensor Core reads, 10 bits of mantissa and the exponent.
 * Kept in a float.
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

/* Ways to convert an operand of a product to TF32. Hardware uses all of them. */
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

/* --- tensors ------------------------------------------------------------------------------- */

/*
 * Tensors, without their data.
 *
 * Always contiguous and row-major. Most ops see a tensor as rows × cols, cols
 * being the last dimension.
 */

#define WS_DIMS_MAX  4
#define WS_PARTS_MAX 3

struct ws_shape {
	int ndim; /* 1 … WS_DIMS_MAX */
	int64_t dim[WS_DIMS_MAX];
};

/* WS_SHAPE(batch, time, width) */
#define WS_SHAPE(...)                                                                         \
	((struct ws_shape){.ndim = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
	                   .dim = {__VA_ARGS__}})

enum ws_role {
	WS_ROLE_INPUT,      /* written by the host before a step */
	WS_ROLE_PARAM,      /* trained */
	WS_ROLE_CONST,      /* initialised once, never written by an op */
	WS_ROLE_STATE,      /* of the optimizer or a layer: kept and updated from step to step */
	WS_ROLE_ACTIVATION, /* made and dropped within a step */
	WS_ROLE_GRAD,       /* gradient of a parameter: kept until the next step begins */
	WS_ROLE_COUNT
};

/* How a tensor gets its first values. */
enum ws_init_kind {
	WS_INIT_NONE,         /* the host or an op writes it */
	WS_INIT_FILL,         /* value */
	WS_INIT_TRUNC_NORMAL, /* mean 0, std = value, cut at 3 std by drawing again */
	WS_INIT_ROPE_TABLE,   /* [2, T, D/2]: cosines, then sines, of t * value^(-2i/D) */
	WS_INIT_NORMAL,       /* mean 0, std = value */
	WS_INIT_UNIFORM,      /* between -value and value */
};

struct ws_init {
	enum ws_init_kind kind;
	double value;
};

struct ws_tensor {
	const char *name;
	enum ws_dtype dtype;
	enum ws_role role;
	struct ws_shape shape;
	int64_t count;       /* elements */
	uint64_t size_bytes; /* count × size of dtype */
	struct ws_init init;
	const char *part[WS_PARTS_MAX]; /* names from which the initial values of its parts are
	                                   drawn; NULL: its own name */
	int parts;                      /* equal shares, one after the other; 0: not divided */
	int id;                         /* index in its graph */
	int layer;                      /* -1 outside the layers */
	bool requires_grad;             /* a parameter, or computed from one */
	bool keep;                      /* its data stays readable until the next step begins */
	bool channels_last; /* a filter [k, r, s, c]: drawn in the order of [k, c, r, s] */

	struct ws_tensor *grad; /* parameters: the gradient, once ws_graph_backward() made it */
	struct ws_tensor *low;  /* parameters: the autocast copy, once one was made */

	int last_use;    /* index of the last op that touches it, -1: none; exec.h */
	uint64_t offset; /* of its place in the block of a session; exec.h */
	void *data;      /* there, once there is a session */
	bool is_alive;   /* from its first write to its last use in a step */
};

static inline int64_t ws_min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The quotient, rounded up. */
static inline int64_t ws_div_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* How an operand spreads over a result of another shape. */
enum ws_broadcast {
	WS_BROADCAST_SAME,    /* element by element */
	WS_BROADCAST_COL,     /* one number per row */
	WS_BROADCAST_ROW,     /* one row, used for all rows */
	WS_BROADCAST_SCALAR,  /* one number */
	WS_BROADCAST_CHANNEL, /* one number a channel, which is some rows: struct ws_elementwise */
	WS_BROADCAST_NONE,    /* does not fit */
};

/* Elements and bytes of a shape. false: a dimension is not positive, or the size overflows. */
bool ws_shape_measure(const struct ws_shape *shape, enum ws_dtype dtype, int64_t *count,
                      uint64_t *size_bytes);

int64_t ws_tensor_cols(const struct ws_tensor *t);
int64_t ws_tensor_rows(const struct ws_tensor *t);
/* If several forms fit, the first of the list above. */
enum ws_broadcast ws_tensor_broadcast(const struct ws_tensor *t, const struct ws_tensor *result);

/*
 * A pool of threads for the CPU reference backend.
 *
 * Plain pthreads, so that the thread sanitizer understands it. The caller's
 * thread works too; a pool of 1 has no other.
 */

struct ws_pool;

/* threads: 1 … 1024; 0: one for each CPU that this process may use. */
enum ws_status ws_pool_create(int threads, struct ws_pool **pool, struct ws_err *err);
void ws_pool_destroy(struct ws_pool *pool);
int ws_pool_threads(const struct ws_pool *pool);

/*
 * Call fn(arg, item) for every item in 0 … items - 1 and return when all are
 * done. Which thread gets which item, and when, is open: fn must not care.
 * One run at a time.
 */
void ws_pool_run(struct ws_pool *pool, int64_t items, void (*fn)(void *arg, int64_t item),
                 void *arg);
