/*
 * The recorded inputs of an operation, read for op_cost.c: shapes, dtypes,
 * values. Internal to it.
 */
#pragma once

#include <stdbool.h>

#include "formats/op_cost/op_cost.h"

#define WS_OP_MAX_INPUTS 32
#define WS_OP_MAX_DIMS   8

struct ws_op_input {
	uint8_t is_tensor; /* has a dtype; a number, or nothing, otherwise */
	uint8_t is_list;   /* of tensors */
	uint8_t is_output; /* passed as out=: written, and not read */
	uint8_t bytes;     /* of an element, 0 = unknown */
	uint8_t dtype;     /* enum ws_op_dtype */
	uint8_t category;  /* for promotion: 0 none, 1 bool, 2 integer, 3 floating */
	uint8_t ndim;
	uint64_t dim[WS_OP_MAX_DIMS];
	uint64_t elements;     /* of a list: all together */
	uint64_t stored;       /* those that lie in memory: an expanded tensor has fewer */
	struct ws_bytes sizes; /* as recorded */
	struct ws_bytes value; /* of a scalar, as recorded; empty when it was not */
};

struct ws_op_inputs {
	struct ws_op_input in[WS_OP_MAX_INPUTS];
	size_t n;
	const struct ws_op_input *out; /* the first that is_out, or NULL */
	int overflow;  /* some product did not fit: whatever follows from it is unknown */
	int malformed; /* shapes that are none */
};

/* A tensor from the input out_from on is passed as out=. */
void ws_op_inputs_read(struct ws_op_inputs *op, const struct ws_op_desc *desc, size_t out_from);

/* Checked arithmetic: sets overflow. */
uint64_t ws_op_mul(struct ws_op_inputs *op, uint64_t a, uint64_t b);
uint64_t ws_op_add(struct ws_op_inputs *op, uint64_t a, uint64_t b);
uint64_t ws_op_product(struct ws_op_inputs *op, const uint64_t *dim, size_t n);

/*
 * Elements of two tensors broadcast to one shape, their last `tail` dimensions
 * left out; both have that many. 0 when the shapes do not go together.
 */
bool ws_op_broadcast(struct ws_op_inputs *op, const struct ws_op_input *x,
                     const struct ws_op_input *y, unsigned tail, uint64_t *elements);

/* Input i where it is a tensor; an empty one, is_tensor 0, where it is not. */
const struct ws_op_input *ws_op_tensor(const struct ws_op_inputs *op, int i);
/* Bytes that reading it whole takes: each stored element once. */
uint64_t ws_op_bytes(struct ws_op_inputs *op, const struct ws_op_input *in);
/* Bytes of a result of so many elements: of element_bytes, or as the tensor passed as out= has
 * them. */
uint64_t ws_op_result(struct ws_op_inputs *op, uint64_t elements, uint64_t element_bytes);

/* A recorded True or False (or 1, 2 or 0): 1, 0; -1 where it was not recorded. */
int ws_op_flag(const struct ws_op_inputs *op, int i);
/* A recorded "[1, 2]" or "3": how many numbers, at most WS_OP_MAX_DIMS; -1 when it is neither. */
int ws_op_ints(const struct ws_op_inputs *op, int i, int64_t out[WS_OP_MAX_DIMS]);
/* The same, exactly want of them; a single one is repeated. 0 when there are others. */
bool ws_op_ints_exactly(const struct ws_op_inputs *op, int i, int64_t out[WS_OP_MAX_DIMS],
                        size_t want);
/* The value of a scalar input is this text. */
bool ws_op_value_is(const struct ws_op_inputs *op, int i, const char *text);
