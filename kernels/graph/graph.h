/*
 * A graph: the ops of one training step in the order of their execution, the
 * tensors between them and the NVTX scopes around them.
 *
 * Building never allocates tensor data, so the largest model's graph costs a
 * few MB. Once anything went wrong builders return a tensor of one number that is
 * not in the graph; the first error is kept for ws_graph_check().
 */
#pragma once

#include "formats/base/memory.h"
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

/* The ops of which models are made: --fusion NAME. */
#define WS_FUSION_LIST(X)                                           \
	X("none", NONE) /* primitives, as eager PyTorch launches */ \
	X("full", FULL) /* fused ops */

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
	int layer;                /* layer of the next op; -1 outside the layers */
	enum wsnvtx_op_kind kind; /* payload kind of ops without a kind */
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

/* --- scope of the next op ------------------------------------------------ */

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
 * result. Called by the functions of ops below, which check the shapes.
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

/* --- appending ops to a graph ---------------------------------------------------------------- */

/*
 * Each function checks its operands, makes the result tensor, appends one op
 * (and, under autocast, the casts it needs before it) and returns the result.
 * Errors: graph.h. message: of the NVTX range; NULL: the op's own name.
 */

/* --- casts ---------------------------------------------------------------------------- */

/* x in another dtype; x itself when it has that dtype. */
struct ws_tensor *ws_op_cast(struct ws_graph *graph, struct ws_tensor *x, enum ws_dtype dtype);
/* x written over a tensor of another dtype. */
struct ws_tensor *ws_op_cast_into(struct ws_graph *graph, struct ws_tensor *x,
                                  struct ws_tensor *out);

/* --- primitive ops --------------------------------------------------------------------- */

/* op(A) · op(B) for shapes as in struct ws_gemm, into a tensor of shape out. */
struct ws_tensor *ws_op_gemm(struct ws_graph *graph, struct ws_tensor *a, struct ws_tensor *b,
                             struct ws_gemm gemm, struct ws_shape out, const char *message);

/* f(x), element by element. alpha: see op.def; 0 where unused. */
struct ws_tensor *ws_op_unary(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                              double alpha);
/* a op b; the result has the shape of the larger one, over which the other is broadcast. */
struct ws_tensor *ws_op_binary(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *a,
                               struct ws_tensor *b);
/* The same, written over an existing tensor of the result's shape; it may be an operand. */
struct ws_tensor *ws_op_binary_into(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *a,
                                    struct ws_tensor *b, struct ws_tensor *out);

/* MAX, SUM, MEAN: [.., C] -> [.., 1]. COLSUM: [.., C] -> [C]. MAX has no gradient: see graph.h. */
struct ws_tensor *ws_op_reduce(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x);

/* x broadcast to a shape; x itself when it has as many elements. */
struct ws_tensor *ws_op_expand(struct ws_graph *graph, struct ws_tensor *x,
                               const struct ws_tensor *like);
struct ws_tensor *ws_op_fill(struct ws_graph *graph, enum ws_dtype dtype, struct ws_shape shape,
                             double value);

/* x, seen as [dims], with its two middle dimensions exchanged, in a tensor of shape out. */
struct ws_tensor *ws_op_permute(struct ws_graph *graph, struct ws_tensor *x, const int64_t dims[4],
                                struct ws_shape out, const char *message);

/* table: WS_INIT_ROPE_TABLE. The result has the wider dtype of x and table. */
struct ws_tensor *ws_op_rope(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                             struct ws_tensor *table, struct ws_heads head, const char *message);

/* table [V, D], index int32 [..] -> [.., D] */
struct ws_tensor *ws_op_embedding(struct ws_graph *graph, struct ws_tensor *table,
                                  struct ws_tensor *index);
/* x [.., C], index int32, one a row -> [R], element index[r] of each row r */
struct ws_tensor *ws_op_gather(struct ws_graph *graph, struct ws_tensor *x,
                               struct ws_tensor *index);

/*
 * --- ops that one fused kernel computes (`--fusion full`, `--attention fused`) -----------
 *
 * Each computes in fp32 (fp64 in graphs of fp64) from operands of any dtype and rounds once, on
 * writing. Under autocast the results that a matrix product reads are written in the low dtype:
 * the cast is part of the op.
 */

/* softmax(scale * x) over the columns up to row mod columns; 0 in the others. x [.., T, T] */
struct ws_tensor *ws_op_softmax(struct ws_graph *graph, struct ws_tensor *x, double scale);

/*
 * softmax(scale * q k^T) v over the keys up to each query: q, k, v [B, H, T, D] -> [B, H, T, D].
 * Under autocast all three are read in the low dtype. Its second result is the log of the sum
 * of each row's exponentials, [B, H, T, 1]. USAGE where a head is wider than
 * WS_ATTENTION_WIDTH_MAX.
 */
struct ws_tensor *ws_op_attention(struct ws_graph *graph, struct ws_tensor *q, struct ws_tensor *k,
                                  struct ws_tensor *v, double scale);

/* weight * (x * rsqrt(mean(x^2) + eps)) over rows; its second result is that rsqrt, [.., 1]. */
struct ws_tensor *ws_op_rms_norm(struct ws_graph *graph, struct ws_tensor *x,
                                 struct ws_tensor *weight, double eps);

/* x [.., 2 f], a the first half of each row and b the second: silu(a) * b, [.., f] */
struct ws_tensor *ws_op_swiglu(struct ws_graph *graph, struct ws_tensor *x);

/*
 * x [B, T, 3 H D]: queries, keys and values side by side. The heads of all
 * three split, [B, H, T, D], those of queries and keys rotated (ROPE).
 */
void ws_op_rope_qkv(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *table,
                    struct ws_heads head, struct ws_tensor *qkv[3]);

/*
 * act(x + bias), act: a unary op. x must be the result of a bias op, the last of the graph. That op
 * is replaced, and x no longer exists. NULL without an error: nothing to fuse, as x is no such
 * result or act is no activation.
 */
struct ws_tensor *ws_op_bias_activation(struct ws_graph *graph, struct ws_tensor *x,
                                        enum ws_sub act, double alpha);

/*
 * mean over rows of -log_softmax(logits)[target]: [1]. Its second result is the
 * gradient of the logits, in their dtype; in fp32 where that is fp16, so that a
 * loss scale can still come before the rounding.
 */
struct ws_tensor *ws_op_cross_entropy(struct ws_graph *graph, struct ws_tensor *logits,
                                      struct ws_tensor *target);

/*
 * An UPDATE of the rows of a list, which is copied. x, y: numbers of the step, [1], or NULL.
 * Returns the first tensor written; NULL if the list is empty.
 */
struct ws_tensor *ws_op_update(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                               struct ws_tensor *y, const struct ws_update_row *list, int count,
                               struct ws_update_factors factors, const char *message);
/* min(1, largest / (norm + 1e-6)), the norm being that of all of these together: [1] */
struct ws_tensor *ws_op_clip_norm(struct ws_graph *graph, const struct ws_update_row *list,
                                  int count, double largest);

/* --- image networks; geometry: struct ws_conv, ws_window and ws_channels in op.h ---------- */

/* n images of c channels of h × w, in the order of a layout. */
struct ws_shape ws_image_shape(enum ws_layout layout, int64_t n, int64_t c, int64_t h, int64_t w);

/*
 * Set the outputs p, q of a convolution or a pooling from the rest:
 * floor((size + 2 pad - window) / stride) + 1. false: the window does not fit.
 */
bool ws_conv_outputs(struct ws_conv *conv);
bool ws_window_outputs(struct ws_window *window);

/* log(softmax(x)) over whole rows */
struct ws_tensor *ws_op_log_softmax(struct ws_graph *graph, struct ws_tensor *x);
/* alpha (y - target)^2 of each element, in one row; both of one dtype */
struct ws_tensor *ws_op_squared_error(struct ws_graph *graph, struct ws_tensor *y,
                                      struct ws_tensor *target, double alpha);
/* mean over rows of -y[target]: [1] */
struct ws_tensor *ws_op_nll_loss(struct ws_graph *graph, struct ws_tensor *y,
                                 struct ws_tensor *target);
/* x and weight as conv says; the result is [n, k, p, q] in its layout. */
struct ws_tensor *ws_op_conv(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *weight,
                             struct ws_conv conv);

/* x + bias [channels] */
struct ws_tensor *ws_op_bias(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *bias,
                             struct ws_channels ch);

/*
 * gamma (x - mean) / sqrt(variance + eps) + beta, mean and (biased) variance
 * being those of the batch, in each channel. The running mean and (unbiased)
 * variance are updated in place. Statistics are computed and kept in fp32,
 * whatever x is (fp64 in graphs of fp64).
 */
struct ws_tensor *ws_op_batch_norm(struct ws_graph *graph, struct ws_tensor *x,
                                   struct ws_tensor *gamma, struct ws_tensor *beta,
                                   struct ws_tensor *running_mean, struct ws_tensor *running_var,
                                   struct ws_norm norm);

/* The maximum of each window; the first, where there are several. NaN wins. */
struct ws_tensor *ws_op_max_pool(struct ws_graph *graph, struct ws_tensor *x,
                                 struct ws_window window);
/* The mean of each window. Windows must not reach over the edge: pad 0, or adaptive. */
struct ws_tensor *ws_op_avg_pool(struct ws_graph *graph, struct ws_tensor *x,
                                 struct ws_window window);

/*
 * x with elements zeroed with probability p and the others divided by 1 - p.
 * step: int32 [1], the number of the step, so that each draws anew.
 */
struct ws_tensor *ws_op_dropout(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *step,
                                struct ws_dropout dropout);

/* sub: RELU_GRAD, LEAKY_RELU_GRAD (slope alpha), TANH_GRAD; y: the activation's result. */
struct ws_tensor *ws_op_activation_grad(struct ws_graph *graph, enum ws_sub sub,
                                        struct ws_tensor *dy, struct ws_tensor *y, double alpha);

/* --- appending ops of gradients ------------------------------------------------ */

/* Add a result to an op. */
struct ws_tensor *ws_op_add_result(struct ws_graph *graph, struct ws_op *op, const char *name,
                                   enum ws_dtype dtype, struct ws_shape shape);
/*
 * Append an op with one result, which is named after it and needs a gradient when an operand does.
 * Returns the result.
 */
struct ws_tensor *ws_op_append(struct ws_graph *graph, struct ws_op *op, enum ws_dtype dtype,
                               struct ws_shape shape);
