/*
 * What a call of an operation costs, one function a rule of op_cost.def.
 * Internal to op_cost*.c.
 */
#pragma once

#include "formats/op_cost/inputs.h"

/* What a rule works on: it fills cost when the inputs settle it, and leaves it otherwise. */
struct ws_cost_call {
	struct ws_op_inputs *op;
	struct ws_op_cost *cost;
	int a, b;      /* columns of op_cost.def */
	bool in_place; /* the result is the first input */
};
typedef void (*ws_cost_rule_fn)(const struct ws_cost_call *c);

/* inputs of an operation without out= */
enum { NO_OUT = WS_OP_MAX_INPUTS };

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

/* Short names for what every line of a formula uses; `op` is the call's inputs. */
#define MUL(a, b)        ws_op_mul(op, (a), (b))
#define ADD(a, b)        ws_op_add(op, (a), (b))
#define PRODUCT(dims, n) ws_op_product(op, (dims), (n))
#define BYTES(input)     ws_op_bytes(op, (input))
#define RESULT(n, bytes) ws_op_result(op, (n), (bytes))

void ws_cost_rule_attention(const struct ws_cost_call *c);
void ws_cost_rule_batch_norm(const struct ws_cost_call *c);
void ws_cost_rule_concatenate(const struct ws_cost_call *c);
void ws_cost_rule_conv(const struct ws_cost_call *c);
void ws_cost_rule_conv_backward(const struct ws_cost_call *c);
void ws_cost_rule_conv_dgrad(const struct ws_cost_call *c);
void ws_cost_rule_conv_wgrad(const struct ws_cost_call *c);
void ws_cost_rule_convolution(const struct ws_cost_call *c);
void ws_cost_rule_copy(const struct ws_cost_call *c);
void ws_cost_rule_elementwise(const struct ws_cost_call *c);
void ws_cost_rule_embedding(const struct ws_cost_call *c);
void ws_cost_rule_embedding_backward(const struct ws_cost_call *c);
void ws_cost_rule_fill(const struct ws_cost_call *c);
void ws_cost_rule_gelu(const struct ws_cost_call *c);
void ws_cost_rule_gemm(const struct ws_cost_call *c);
void ws_cost_rule_like_input(const struct ws_cost_call *c);
void ws_cost_rule_linear(const struct ws_cost_call *c);
void ws_cost_rule_lists(const struct ws_cost_call *c);
void ws_cost_rule_matmul(const struct ws_cost_call *c);
void ws_cost_rule_norm(const struct ws_cost_call *c);
void ws_cost_rule_reduction(const struct ws_cost_call *c);
