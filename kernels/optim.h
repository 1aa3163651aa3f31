/*
 * Optimizers: ops that update parameters from their gradients.
 */
#ifndef WS_KERNELS_OPTIM_H
#define WS_KERNELS_OPTIM_H

#include "kernels/graph.h"

/* AdamW with the defaults of the course whose benchmark the seeds are (CS336, 2025). */
struct ws_adamw {
	double lr, beta1, beta2, eps, weight_decay;
};
#define WS_ADAMW_DEFAULT    \
	((struct ws_adamw){ \
	        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01})

/*
 * Append the optimizer phase, 14 ops for each parameter that has a gradient:
 *   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *   p = p - alpha_t m / (sqrt(v) + eps);  p = p - lr weight_decay p
 * m, v: new tensors `<parameter>.m`, `.v`, starting at 0. Returns the input
 * tensor that must hold alpha_t = ws_adamw_alpha(t) before step t; NULL on error.
 */
struct ws_tensor *ws_optim_adamw(struct ws_graph *graph, const struct ws_adamw *adamw);

/* lr sqrt(1 - beta2^t) / (1 - beta1^t), t = 1, 2, … */
double ws_adamw_alpha(const struct ws_adamw *adamw, int64_t t);

#endif
