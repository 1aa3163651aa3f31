/*
 * What a call of an operation costs, one function a rule of op_cost.def.
 * Internal to op_cost*.c.
 */
#pragma once

#include "formats/op_cost/inputs.h"

/* What a rule works on besides the inputs: it fills cost when they settle it, and leaves it
 * otherwise. */
struct ws_cost_call {
	struct ws_op_cost *cost;
	int a, b;      /* columns of op_cost.def */
	bool in_place; /* the result is the first input */
};
typedef void (*ws_cost_rule_fn)(struct ws_op_inputs *op, const struct ws_cost_call *c);

/* inputs of an operation without out= */
enum { NO_OUT = WS_OP_MAX_INPUTS };
/* no such input */
enum { NO_INPUT = -1 };

/* b of elementwise operations */
enum { BOOL_RESULT = 1, FLOAT_RESULT = 2 };

static inline void ws_cost_flops(struct ws_op_cost *cost, uint64_t flops)
{
	cost->known = WS_COST_FLOPS;
	cost->flops = flops;
}

static inline void ws_cost_flops_and_bytes(struct ws_op_cost *cost, uint64_t flops,
                                           uint64_t bytes_read, uint64_t bytes_written)
{
	cost->known = WS_COST_FLOPS_AND_BYTES;
	cost->flops = flops;
	cost->bytes_read = bytes_read;
	cost->bytes_written = bytes_written;
}

/* Short names for what every line of a formula uses. */
#define MUL(a, b)        ws_op_mul(op, (a), (b))
#define ADD(a, b)        ws_op_add(op, (a), (b))
#define PRODUCT(dims, n) ws_op_product(op, (dims), (n))
#define BYTES(input)     ws_op_bytes(op, (input))
#define RESULT(n, bytes) ws_op_result(op, (n), (bytes))

/* ws_cost_rule_gemm and all others. */
#define OP(name, rule, ...) \
	void ws_cost_rule_##rule(struct ws_op_inputs *op, const struct ws_cost_call *c);
#include "formats/op_cost/op_cost.def"
#undef OP
