/*
 * The layers that models are made of: functions that append one or a few ops to a graph, under an
 * NVTX scope; where graph->fusion is full, a fused op (ops.h) under the same scope.
 */
#pragma once

#include "kernels/graph/graph.h"

/* --- transformers -------------------------------------------------------------------------- */

/*
 * The parts that models are made of. Each is a few primitive ops under an NVTX
 * scope or, where graph->fusion is full, a fused op (ops.h) under the same scope.
 *
 * Shapes: B batch, T time (context), D width, H heads, V vocabulary.
 */

/* x [.., in] · weight^T, weight [out, in], no bias: [.., out] */
struct ws_tensor *ws_nn_linear(struct ws_graph *graph, struct ws_tensor *x,
                               struct ws_tensor *weight, const char *message);

/*
 * Weights [out, in] of up to three linear layers that read the same x: one
 * parameter each or, where the graph is fused, one for all, rows below rows.
 */
struct ws_linears {
	struct ws_tensor *weight[WS_PARTS_MAX]; /* merged: in [0] */
	int count;
	bool merged;
};

/* names must live as long as the graph; name: of the merged parameter. */
struct ws_linears ws_nn_linears(struct ws_graph *graph, const char *name, const char *const *names,
                                int count, struct ws_shape shape, struct ws_init init);

/*
 * Queries, keys and values of x [B, T, D], by weights in this order, split into
 * heads: [B, H, T, width], queries and keys rotated; under scopes `qkv
 * projection` and `rope`.
 */
void ws_nn_qkv(struct ws_graph *graph, struct ws_tensor *x, const struct ws_linears *weights,
               struct ws_tensor *rope_table, struct ws_heads head, struct ws_tensor *qkv[3]);

/* weight * (x * rsqrt(mean(x^2) + 1e-5)), over rows, under a scope of that name. */
struct ws_tensor *ws_nn_rmsnorm(struct ws_graph *graph, struct ws_tensor *x,
                                struct ws_tensor *weight, const char *scope);

/* exp(x - max) / sum(exp(x - max)) over rows: max, subtract, exp, sum, divide. */
struct ws_tensor *ws_nn_softmax(struct ws_graph *graph, struct ws_tensor *x);

/* softmax(q · k^T / sqrt(width), causal) · v; q, k, v [B, H, T, width] */
struct ws_tensor *ws_nn_causal_attention(struct ws_graph *graph, struct ws_tensor *q,
                                         struct ws_tensor *k, struct ws_tensor *v);

/* w2 · (silu(w1 · x) * (w3 · x)); silu(a) = a * sigmoid(a) */
struct ws_tensor *ws_nn_swiglu(struct ws_graph *graph, struct ws_tensor *x,
                               const struct ws_linears *w13, struct ws_tensor *w2);

/* a + b, under a scope `residual` */
struct ws_tensor *ws_nn_residual(struct ws_graph *graph, struct ws_tensor *a, struct ws_tensor *b);

/*
 * mean over rows of -log_softmax(logits)[target]: [1]. of_torch: as
 * torch.nn.functional.cross_entropy, in fp32 under autocast; else the course's own
 * function in primitives, whose max and subtract are in the logits' dtype.
 */
struct ws_tensor *ws_nn_cross_entropy(struct ws_graph *graph, struct ws_tensor *logits,
                                      struct ws_tensor *target, bool of_torch);

/* --- image networks ------------------------------------------------------------------------ */

/*
 * The layers that image networks are made of. Each is one or a few ops under an
 * NVTX scope named like the module of torchvision that it stands for
 * (`layer1.0.conv1`), with parameters named after it (`layer1.0.conv1.weight`).
 *
 * Layers pass images on as struct ws_image, by value. After an error (graph.h) the
 * sizes mean nothing.
 */

/* value of the option, enumerator */
#define WS_ACTIVATION_LIST(X)                        \
	X("relu", RELU)                              \
	X("leaky-relu", LEAKY_RELU) /* slope 0.01 */ \
	X("tanh", TANH)                              \
	X("none", NONE)

enum ws_activation {
#define X(name, id) WS_ACTIVATION_##id,
	WS_ACTIVATION_LIST(X)
#undef X
};

/* First values of the weight and bias of a convolution or a linear layer. */
enum ws_weights {
	WS_WEIGHTS_DEFAULT, /* PyTorch's: both uniform in ±1/sqrt(inputs of an output) */
	WS_WEIGHTS_HE,      /* normal, std sqrt(2 / (outputs × window)); bias 0 */
	WS_WEIGHTS_SMALL,   /* normal, std 0.01; bias 0 */
	WS_WEIGHTS_XAVIER,  /* uniform in ±sqrt(6 / (inputs + outputs)); bias 0.01 */
};

/* What the layers of one network share. */
struct ws_image_net {
	struct ws_graph *graph;
	enum ws_layout layout;
	enum ws_activation activation;
	enum ws_weights conv_weights, linear_weights;
	uint64_t seed;          /* of the dropout */
	struct ws_tensor *step; /* int32 [1], number of the step: made by the first dropout */
	int layers;             /* so far */
};

/* n images of c × h × w in the net's layout; after flatten h = w = 1. */
struct ws_image {
	struct ws_tensor *data;
	int64_t n, c, h, w;
};

struct ws_conv_shape {
	int64_t filters, r, s, stride, pad_h, pad_w, groups;
	bool bias;
	double gain; /* 0, or by how much the first weights are larger than usual */
};

/* Square filters, one group. */
#define WS_CONV_SQUARE(filters_, size, stride_, pad, bias_) \
	((struct ws_conv_shape){filters_, size, size, stride_, pad, pad, 1, bias_, 0})
/* Filters along a signal: stride 1, the output as long as the input for odd widths. */
#define WS_CONV_SIGNAL(filters_, width) \
	((struct ws_conv_shape){filters_, 1, width, 1, 0, (width) / 2, 1, true, 0})

/* Convolution, and the addition of its bias as an op of its own. */
struct ws_image ws_nn_conv(struct ws_image_net *net, const char *name, struct ws_image x,
                           struct ws_conv_shape shape);
/* Batch norm in training, eps 1e-5, momentum 0.1. */
struct ws_image ws_nn_batch_norm(struct ws_image_net *net, const char *name, struct ws_image x);
/* The net's activation; none: x itself, without a scope. */
struct ws_image ws_nn_activation(struct ws_image_net *net, const char *name, struct ws_image x);
/* tanh, whatever the net's activation is. */
struct ws_image ws_nn_tanh(struct ws_image_net *net, const char *name, struct ws_image x);
struct ws_image ws_nn_max_pool(struct ws_image_net *net, const char *name, struct ws_image x,
                               int64_t size, int64_t stride, int64_t pad);
/* Adaptive average pooling to p × p; p = 1: the mean of the whole plane. */
struct ws_image ws_nn_avg_pool(struct ws_image_net *net, const char *name, struct ws_image x,
                               int64_t p);
struct ws_image ws_nn_dropout(struct ws_image_net *net, const char *name, struct ws_image x,
                              double p);
/* a + b, of the same size */
struct ws_image ws_nn_add(struct ws_image_net *net, const char *name, struct ws_image a,
                          struct ws_image b);
/*
 * Each image as one row of c h w numbers, in this order: another view of the
 * same data, but in NHWC with h w > 1 a copy.
 */
struct ws_image ws_nn_flatten(struct ws_image_net *net, const char *name, struct ws_image x);
/* x · weight^T + bias for rows x: outputs numbers a row. */
struct ws_image ws_nn_dense(struct ws_image_net *net, const char *name, struct ws_image x,
                            int64_t outputs);
/* The same without a bias. */
struct ws_image ws_nn_dense_plain(struct ws_image_net *net, const char *name, struct ws_image x,
                                  int64_t outputs);
/* Layer norm of rows, of primitives: computed in fp32 in every dtype mode. eps 1e-5. */
struct ws_image ws_nn_layer_norm(struct ws_image_net *net, const char *name, struct ws_image x);

/* mean of (y - target)^2: [1]. target in fp32 (fp64 in graphs of fp64). */
struct ws_tensor *ws_nn_mse(struct ws_graph *graph, struct ws_tensor *y, struct ws_tensor *target);
