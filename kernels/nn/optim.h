/* Optimizers: ops that update parameters from their gradients. */
#pragma once

#include "kernels/exec/exec.h"
#include "kernels/graph/graph.h"
#include "kernels/nn/scaler.h"

/* value of the option, enumerator */
#define WS_OPTIMIZER_LIST(X) \
	X("adamw", ADAMW)    \
	X("adam", ADAM)      \
	X("sgd", SGD)

enum ws_optimizer_kind {
#define X(name, id) WS_OPTIMIZER_##id,
	WS_OPTIMIZER_LIST(X)
#undef X
};

struct ws_optimizer {
	enum ws_optimizer_kind kind;
	double lr, weight_decay;
	double beta1, beta2, eps; /* ADAMW, ADAM */
	double momentum;          /* SGD */
};

/* AdamW with the defaults of the course whose benchmark the seeds are (CS336, 2025). */
#define WS_ADAMW_DEFAULT        \
	((struct ws_optimizer){ \
	        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01})

/* The defaults of a kind: those of PyTorch, and of the course for AdamW; SGD: lr 0.01, momentum
 * 0.9. */
struct ws_optimizer ws_optimizer_defaults(enum ws_optimizer_kind kind);
/* "adamw"; the i-th name, NULL after the last */
const char *ws_optimizer_name(int i);

/* What must be written before each step: [1] each, NULL where the optimizer needs none. */
struct ws_optim {
	struct ws_tensor *alpha;      /* step size */
	struct ws_tensor *correction; /* ADAM: 1 / sqrt(1 - beta2^t) */
};

/*
 * Append the optimizer phase, for each parameter p that has a gradient g:
 *   ADAMW (14 ops): m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *     p = p - alpha m / (sqrt(v) + eps);  p = p - lr weight_decay p
 *   ADAM (13 ops, 15 with decay): g = g + weight_decay p;  m, v as above
 *     p = p - alpha (m / (sqrt(v) correction + eps))
 *   SGD (4 ops, 6 with decay; 2 without momentum): g = g + weight_decay p
 *     b = momentum b + g;  p = p - lr b
 * m, v, b: new tensors `<parameter>.m`, `.v`, `.momentum`, of p's dtype, starting
 * at 0. A product with a step size has p's dtype, as with a number in PyTorch.
 *
 * With fused ops (graph->fusion) all of ADAMW is one op.
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

/* lr sqrt(1 - beta2^t) / (1 - beta1^t), t = 1, 2, …: the alpha of ADAMW */
double ws_adamw_alpha(const struct ws_optimizer *adamw, int64_t t);
