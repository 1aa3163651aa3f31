/* Optimizers: ops that update parameters from their gradients; and the scaling of the loss. */
#pragma once

#include "kernels/exec/exec.h"
#include "kernels/graph/graph.h"

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

/* What a precision does when it is asked for `asked`: never DEFAULT. */
struct ws_loss_scale ws_loss_scale_resolve(const struct ws_precision *precision,
                                           struct ws_loss_scale asked);

/*
 * Append, at the end of the loss phase, the multiplication of the loss. Returns
 * the scaled loss, from which the backward pass must start; the loss itself
 * where scaling is NONE, and scaler is left zeroed then.
 */
struct ws_tensor *ws_scaler_append(struct ws_graph *graph, struct ws_loss_scale scaling,
                                   struct ws_tensor *loss, struct ws_scaler *scaler);

/* --- optimizers ---------------------------------------------------------------------------- */

/* Optimizers: ops that update parameters from their gradients. */

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
/* What is usual where ops are fused or not; as asked for where something is. */
enum ws_optimizer_impl ws_optimizer_impl_resolve(const struct ws_optimizer *optimizer,
                                                 enum ws_fusion fusion);

/* What must be written before each step: [1] each, NULL where the optimizer needs none. */
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

/* Write what step t = 1, 2, … needs. t counts updates: skipped steps do not count. */
enum ws_status ws_optim_feed(struct ws_exec *exec, const struct ws_optimizer *optimizer,
                             const struct ws_optim *optim, int64_t t, struct ws_err *err);

/* lr sqrt(1 - beta2^t) / (1 - beta1^t), t = 1, 2, …: the alpha of ADAMW_CS336 */
double ws_adamw_alpha(const struct ws_optimizer *adamw, int64_t t);
