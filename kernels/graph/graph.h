/*
 * A graph: the ops of one training step in the order of their execution, the
 * tensors between them and the NVTX scopes around them.
 *
 * Building never allocates tensor data, so the largest model's graph costs a
 * few MB. Once anything went wrong builders return a tensor of one number that is
 * not in the graph; the first error is kept for ws_graph_check().
 */
#pragma once

#include "formats/base/arena.h"
#include "formats/base/status.h"
#include "kernels/graph/op.h"

/* A dtype mode: precision.def. */
struct ws_precision {
	const char *name;
	enum ws_dtype storage; /* of parameters, their gradients and the optimizer's state */
	enum ws_dtype low;     /* autocast target; the same as storage: no autocast */
	bool tf32;             /* matrix products and convolutions of fp32 read TF32 */
	bool masters;          /* fp32 masters of 16-bit parameters, batch norms all fp32 */
	double scale_max;      /* largest dynamic loss scale; 0: losses are not scaled */
};

/* Which ops models are made of: --fusion NAME. */
#define WS_FUSION_LIST(X)                                           \
	X("none", NONE) /* primitives, as eager PyTorch launches */ \
	X("full", FULL) /* fused ops: ops.h */

enum ws_fusion {
#define X(name, id) WS_FUSION_##id,
	WS_FUSION_LIST(X)
#undef X
};

/* How transformers compute attention: --attention NAME. */
#define WS_ATTENTION_MODE_LIST(X)                                    \
	X("eager", EAGER) /* scores, softmax, product: each an op */ \
	X("fused", FUSED) /* one op that stores no scores */

enum ws_attention_mode {
#define X(name, id) WS_ATTENTION_MODE_##id,
	WS_ATTENTION_MODE_LIST(X)
#undef X
};

/* One NVTX range around ops. */
struct ws_scope {
	const char *name;
	struct ws_scope *parent; /* NULL: a phase */
	struct ws_scope *mirror; /* its counterpart in the backward phase, once made */
	int depth;               /* 0: a phase */
	int layer;
	int64_t causal; /* queries of the causal attention that it lies in; 0: in none */
	enum wsnvtx_phase phase;
	enum wsnvtx_op_kind outer_kind; /* to restore when it ends */
};

struct ws_graph {
	struct ws_precision precision;
	bool autocast;                    /* builders insert casts; off in backward and optimizer */
	enum ws_fusion fusion;            /* set before building; none at first */
	enum ws_attention_mode attention; /* the same; eager at first */
	struct ws_op **ops;
	int op_count;
	size_t op_capacity;
	struct ws_tensor **tensors;
	int tensor_count;
	size_t tensor_capacity;
	struct ws_scope *scope; /* the innermost open one */
	struct ws_scope *backward_root;
	int layer;                /* of what is appended next; -1 outside the layers */
	enum wsnvtx_op_kind kind; /* payload kind of ops that have none of their own */
	struct ws_tensor *unless; /* of ops: op.h */

	struct ws_arena arena;
	struct ws_err err;             /* the first; status WS_OK while none */
	struct ws_tensor error_tensor; /* what building calls return after an error: one number */
};

struct ws_graph *ws_graph_create(const struct ws_precision *precision);
void ws_graph_destroy(struct ws_graph *graph);
/* The first error of all building calls, WS_OK when there is none. */
enum ws_status ws_graph_check(const struct ws_graph *graph, struct ws_err *err);
/* Note an error, unless there is one. Returns the graph's `nothing`. */
struct ws_tensor *ws_graph_fail(struct ws_graph *graph, enum ws_status status, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
/* Zeroed memory and formatted text that live as long as the graph. */
void *ws_graph_alloc(struct ws_graph *graph, size_t size);
const char *ws_graph_text(struct ws_graph *graph, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* --- where the next op belongs ------------------------------------------------ */

/* Start a phase: a scope of its own, and autocast where the precision and the phase want it. */
void ws_graph_phase(struct ws_graph *graph, enum wsnvtx_phase phase);
/* Open a scope. kind: of the ops in it that have none of their own; WSNVTX_OP_other: none. */
void ws_graph_scope_push(struct ws_graph *graph, enum wsnvtx_op_kind kind, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
void ws_graph_scope_pop(struct ws_graph *graph);
/* Put what follows into the backward phase's counterpart of a forward scope. */
void ws_graph_scope_mirror(struct ws_graph *graph, struct ws_scope *forward);

/* --- tensors -------------------------------------------------------------------- */

/* name is copied. */
struct ws_tensor *ws_graph_tensor(struct ws_graph *graph, const char *name, enum ws_role role,
                                  enum ws_dtype dtype, struct ws_shape shape);
/* Dtype of a batch norm's parameters and statistics: the storage dtype, or fp32 beside masters. */
enum ws_dtype ws_graph_norm_dtype(const struct ws_graph *graph);
/* A trained tensor in the storage dtype. */
struct ws_tensor *ws_graph_param(struct ws_graph *graph, const char *name, struct ws_shape shape,
                                 struct ws_init init);
/*
 * Parameters of one shape, as one tensor: parts one below the other, each with
 * the first values that a parameter of its name would get. names must live as
 * long as the graph; at most WS_PARTS_MAX. init: of each part.
 */
struct ws_tensor *ws_graph_param_parts(struct ws_graph *graph, const char *name,
                                       const char *const *names, int parts, struct ws_shape shape,
                                       struct ws_init init);
/* Elements of all parameters. */
int64_t ws_graph_param_count(const struct ws_graph *graph);

/* --- ops ------------------------------------------------------------------------ */

/*
 * Append a copy of an op whose sub, operands, results and u are set: kind,
 * message (when NULL), scope and payload are filled in here. Returns its first
 * result. Called by ops.h, which checks the shapes.
 */
struct ws_tensor *ws_graph_append(struct ws_graph *graph, const struct ws_op *op);

/* --- what ops cost: FLOPs and bytes, by the conventions of warpsheet_nvtx.h
 * ------------------------ */

/*
 * Exact integers. Bytes are the least that must move when each operand is read
 * once and each result written once, in their own dtypes; a broadcast operand
 * counts at its stored size, an embedding reads only the rows it picks.
 */
struct ws_cost {
	uint64_t flops;
	uint64_t matmul_flops; /* of that: GEMM, convolution, fused attention */
	uint64_t bytes_read, bytes_written;
	int ops;
};

/* Fill the shape, FLOPs and bytes of op->payload from the op's operands and attributes. */
void ws_cost_op(struct ws_op *op);
/* Sum of the ops of a phase. */
struct ws_cost ws_cost_phase(const struct ws_graph *graph, enum wsnvtx_phase phase);

/* --- the backward pass: from the ops of a graph to the ops of their gradients
 * ----------------------- */

/*
 * Reverse-mode differentiation, op by op: each kind has a rule that appends
 * the ops of its gradient. A tensor used several times has its contributions
 * added in the order in which they arise. A gradient that is the same along
 * rows or everywhere stays broadcast ([R, 1] or [1]) until an op needs it in
 * full. Gradients have the dtype of the tensor they belong to.
 *
 * Row maxima count as constants: they only shift softmax and log-softmax,
 * which do not change under a shift.
 *
 * Append the backward phase of y: ops that leave, in param->grad of every
 * parameter that y depends on, the sum over elements of seed times dy/dparam.
 * seed: a tensor of y's shape and dtype; NULL: 1, and y has one element.
 */
enum ws_status ws_graph_backward(struct ws_graph *graph, struct ws_tensor *y,
                                 struct ws_tensor *seed, struct ws_err *err);
