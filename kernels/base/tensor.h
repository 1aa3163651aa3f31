/*
 * Tensors: what is known of one before it has any data.
 *
 * Always contiguous and row-major. Most ops see a tensor as rows × cols, cols
 * being the last dimension.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/dtype.h"

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
	const char *part[WS_PARTS_MAX]; /* names whose first values its parts have; NULL: its own */
	int parts;                      /* equal shares, one after the other; 0: not divided */
	int id;                         /* index in its graph */
	int layer;                      /* -1 outside the layers */
	bool requires_grad;             /* a parameter, or computed from one */
	bool keep;                      /* its data stays readable until the next step begins */
	bool channels_last; /* a filter [k, r, s, c]: drawn in the order of [k, c, r, s] */

	struct ws_tensor *grad; /* parameters: the gradient, once ws_graph_backward() made it */
	struct ws_tensor *low;  /* parameters: the autocast copy, once one was made */

	int last_use;    /* index of the last op that touches it, -1: none; memory_plan.h */
	uint64_t offset; /* of its place in the block of a session; memory_plan.h */
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
	WS_BROADCAST_SAME,   /* element by element */
	WS_BROADCAST_COL,    /* one number a row */
	WS_BROADCAST_ROW,    /* one row, used for all rows */
	WS_BROADCAST_SCALAR, /* one number */
	WS_BROADCAST_CHANNEL, /* one number a channel, which is some rows: struct ws_elementwise */
	WS_BROADCAST_NONE,   /* does not fit */
};

/* Elements and bytes of a shape. false: a dimension is not positive, or the size overflows. */
bool ws_shape_measure(const struct ws_shape *shape, enum ws_dtype dtype, int64_t *count,
                      uint64_t *size_bytes);

int64_t ws_tensor_cols(const struct ws_tensor *t);
int64_t ws_tensor_rows(const struct ws_tensor *t);
/* Where several forms fit, the first of the list above. */
enum ws_broadcast ws_tensor_broadcast(const struct ws_tensor *t, const struct ws_tensor *result);
