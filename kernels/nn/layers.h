/*
 * The layers that models are made of: functions that append one or a few ops to a graph, under an
 * NVTX scope; where graph->fusion is full, a fused op (graph.h) under the same scope.
 */
#pragma once

#include "kernels/exec/exec.h"

/* --- transformers -------------------------------------------------------------------------- */

/*
 * The parts that models are made of. Each is a few primitive ops under an NVTX
 * scope or, where graph->fusion is full, a fused op (graph.h) under the same scope.
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

/* Data shared by the layers of a network. */
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
struct ws_image ws_nn_flatten(struct ws_image_net *net, struct ws_image x);
/* x · weight^T + bias for rows x: outputs numbers per row. */
struct ws_image ws_nn_dense(struct ws_image_net *net, const char *name, struct ws_image x,
                            int64_t outputs);
/* The same without a bias. */
struct ws_image ws_nn_dense_plain(struct ws_image_net *net, const char *name, struct ws_image x,
                                  int64_t outputs);
/* Layer norm of rows, of primitives: computed in fp32 in every dtype mode. eps 1e-5. */
struct ws_image ws_nn_layer_norm(struct ws_image_net *net, const char *name, struct ws_image x);

/* mean of (y - target)^2: [1]. target in fp32 (fp64 in graphs of fp64). */
struct ws_tensor *ws_nn_mse(struct ws_graph *graph, struct ws_tensor *y, struct ws_tensor *target);

/* --- loss scaling -------------------------------------------------------------------------- */

/*
 * Loss scaling: the loss is multiplied before the backward pass, so that small
 * gradients survive in fp16, and the gradients are divided before they are used.
 *
 * A dynamic scale follows torch.cuda.amp.GradScaler and apex's LossScaler, which
 * agree but for the largest scale: a step with an infinite or NaN gradient
 * changes no parameter and halves the scale, `interval` steps without one
 * double it. A static scale is a constant: nothing is checked, as in apex.
 */

enum ws_loss_scale_kind {
	WS_LOSS_SCALE_DEFAULT, /* that of the dtype mode */
	WS_LOSS_SCALE_NONE,
	WS_LOSS_SCALE_STATIC,
	WS_LOSS_SCALE_DYNAMIC,
};

struct ws_loss_scale {
	enum ws_loss_scale_kind kind;
	double value;     /* STATIC: the scale */
	int64_t interval; /* DYNAMIC: clean steps before the scale doubles; 0: 2000 */
};

/* The tensors of a scaler and the rule of its update. */
struct ws_scaler {
	bool dynamic;
	struct ws_scaler_rule rule;  /* op.h; dynamic */
	double first;                /* value of the scale in the first step */
	struct ws_tensor *scale;     /* [1], fp32 */
	struct ws_tensor *tracker;   /* int32 [1]: clean steps since the scale changed; dynamic */
	struct ws_tensor *found_inf; /* [1]: 1 after a gradient that is not finite; dynamic */
};

/* The loss scaling of a precision for the option `asked`; never DEFAULT. */
struct ws_loss_scale ws_loss_scale_resolve(const struct ws_precision *precision,
                                           struct ws_loss_scale asked);

/*
 * Append, at the end of the loss phase, the multiplication of the loss. Returns
 * the scaled loss, from which the backward pass must start; the loss itself
 * where scaling is NONE, and scaler is left zeroed then.
 */
struct ws_tensor *ws_scaler_append(struct ws_graph *graph, struct ws_loss_scale scaling,
                                   struct ws_tensor *loss, struct ws_scaler *scaler);

/* --- optimizers ------------------------------------------------------------------------------- */

/* value of the option, enumerator */
#define WS_OPTIMIZER_LIST(X)          \
	X("adamw-cs336", ADAMW_CS336) \
	X("adamw", ADAMW)             \
	X("adam", ADAM)               \
	X("sgd", SGD)

enum ws_optimizer_kind {
#define X(name, id) WS_OPTIMIZER_##id,
	WS_OPTIMIZER_LIST(X)
#undef X
};

/* How an optimizer is launched: value of the option, enumerator. */
#define WS_OPTIMIZER_IMPL_LIST(X)                                                       \
	X("as usual", USUAL)  /* no value of it: fused where ops are, ADAMW_CS336 loop, \
	                         others foreach */                                      \
	X("loop", LOOP)       /* a parameter after the other */                         \
	X("foreach", FOREACH) /* each step of all parameters in one launch */           \
	X("fused", FUSED)     /* all in one launch */

enum ws_optimizer_impl {
#define X(name, id) WS_OPTIMIZER_IMPL_##id,
	WS_OPTIMIZER_IMPL_LIST(X)
#undef X
};

struct ws_optimizer {
	enum ws_optimizer_kind kind;
	enum ws_optimizer_impl impl;
	double lr, weight_decay;
	double beta1, beta2, eps; /* all but SGD */
	double momentum;          /* SGD */
	double clip_norm;         /* the largest norm of all gradients; 0: any */
};

/* AdamW with the defaults of the course whose benchmark the seeds are (CS336, 2025). */
#define WS_ADAMW_DEFAULT        \
	((struct ws_optimizer){ \
	        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01})

/* The defaults of a kind: those of PyTorch, and of the course; SGD: lr 0.01, momentum 0.9. */
struct ws_optimizer ws_optimizer_defaults(enum ws_optimizer_kind kind);
/* "adamw"; the i-th name, NULL after the last */
const char *ws_optimizer_name(int i);
/* "loop"; values begin at 1 */
const char *ws_optimizer_impl_name(int i);
/* The given option; if none is given, the usual value for fused or unfused ops. */
enum ws_optimizer_impl ws_optimizer_impl_resolve(const struct ws_optimizer *optimizer,
                                                 enum ws_fusion fusion);

/* Tensors to be written before each step: [1] each, NULL if the optimizer does not need it. */
struct ws_optim {
	struct ws_tensor *alpha;      /* step size */
	struct ws_tensor *correction; /* ADAMW, ADAM: 1 / sqrt(1 - beta2^t) */
};

/*
 * Append the optimizer phase, for each parameter p that has a gradient g; ops of a loop:
 *   ADAMW_CS336 (14): m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *     p = p - alpha m / (sqrt(v) + eps);  p = p - lr weight_decay p
 *   ADAM (7, 8 with decay): g = g + weight_decay p;  m = lerp(m, g, 1 - beta1);  v as above
 *     p = p - alpha (m / (sqrt(v) correction + eps))
 *   ADAMW (8): p = p (1 - lr weight_decay) first, then as ADAM without decay
 *   SGD (3, 4 with decay; 1, 2 without momentum): g = g + weight_decay p
 *     b = momentum b + g;  p = p - lr b
 * These are the kernels of torch.optim (ADAMW_CS336: of the course's loop), in this order. With
 * FOREACH each is one op for all parameters; FUSED is one op. m, v, b: new tensors
 * `<parameter>.m`, `.v`, `.momentum`, of p's dtype, starting at 0. An op computes in fp32 and
 * rounds to the dtype of what it writes.
 *
 * clip_norm: all gradients are multiplied by min(1, clip_norm / (norm + 1e-6)) first, as CS336
 * and torch.nn.utils.clip_grad_norm_ do.
 *
 * In a mode with masters (precision.def) a 16-bit p has an fp32 copy
 * `<parameter>.master`, made by an op of the setup phase; it is what is updated,
 * from the gradient cast to fp32, and then copied to p.
 *
 * scaler, or NULL: gradients are unscaled first; with a dynamic scale all updates
 * depend on its found_inf, and its own update comes last.
 */
struct ws_optim ws_optim_append(struct ws_graph *graph, const struct ws_optimizer *optimizer,
                                struct ws_scaler *scaler);

/* Writes these tensors for step t = 1, 2, … t counts updates: skipped steps do not count. */
enum ws_status ws_optim_feed(struct ws_exec *exec, const struct ws_optimizer *optimizer,
                             const struct ws_optim *optim, int64_t t, struct ws_err *err);

/* lr sqrt(1 - beta2^t) / (1 - beta1^t), t = 1, 2, …: the alpha of ADAMW_CS336 */
double ws_adamw_alpha(const struct ws_optimizer *adamw, int64_t t);
