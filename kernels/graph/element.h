/*
 * The formula of each op for one element, for the CPU kernels and the CUDA kernels. A file that
 * includes this must define ws_real, the type of arithmetic, and WS_REAL_EXP, WS_REAL_LOG,
 * WS_REAL_SQRT and WS_REAL_TANH, its functions.
 */
#pragma once

#include "kernels/graph/op.h"

/* Always inlined, so that a constant `sub` leaves one formula; but not where .cu files are compiled
 * for the host, which would take four times as long. */
#if defined(__CUDACC__)
#define WS_ELEMENT static __host__ __device__ __forceinline__
#elif defined(__cplusplus)
#define WS_ELEMENT static inline
#else
#define WS_ELEMENT static inline __attribute__((always_inline))
#endif

/* a b, rounded before it is added to anything. The CPU kernels are compiled without contraction. */
WS_ELEMENT ws_real ws_product(ws_real a, ws_real b)
{
#ifdef __CUDA_ARCH__
	return __fmul_rn(a, b);
#else
	return a * b;
#endif
}

/* The larger one; NaN if one of them is NaN. */
WS_ELEMENT ws_real ws_max_nan(ws_real a, ws_real b)
{
	return a > b || a != a ? a : b;
}

WS_ELEMENT ws_real ws_sigmoid(ws_real x)
{
	return 1 / (1 + WS_REAL_EXP(-x));
}

/*
 * An element of the result from one of each operand. alpha: of the op (op.h); of EACH_MUL and
 * EACH_ADDCDIV the number of the step. A NaN in an operand stays one. CAUSAL_MASK depends on
 * the place of an element: the kernels do it before they call this.
 */
WS_ELEMENT ws_real ws_element(enum ws_sub sub, ws_real a, ws_real b, ws_real c, ws_real alpha)
{
#define OF(SUB, formula)   \
	case WS_SUB_##SUB: \
		return formula
	switch (sub) {
		OF(FILL, alpha);
		OF(NEG, -a);
		OF(EXP, WS_REAL_EXP(a));
		OF(LOG, WS_REAL_LOG(a));
		OF(SQRT, WS_REAL_SQRT(a));
		OF(RSQRT, 1 / WS_REAL_SQRT(a));
		OF(SQUARE, a * a);
		OF(SIGMOID, ws_sigmoid(a));
		OF(SCALE, alpha * a);
		OF(ADD_CONST, a + alpha);
		OF(RELU, a < 0 ? 0 : a);
		OF(LEAKY_RELU, a < 0 ? alpha * a : a);
		OF(TANH, WS_REAL_TANH(a));
		OF(ADD, a + b);
		OF(SUB, a - b);
		OF(MUL, a * b);
		OF(DIV, a / b);
		OF(SIGMOID_GRAD, a * b * (1 - b));
		OF(RELU_GRAD, b > 0 ? a : 0);
		OF(LEAKY_RELU_GRAD, b > 0 ? a : alpha * a);
		/* a fused multiply-add would keep the digits that 1 - b^2 cancels */
		OF(TANH_GRAD, a * (1 - ws_product(b, b)));
		OF(BIAS_ADD, a + b);
		OF(BIAS_RELU, a + b < 0 ? 0 : a + b);
		OF(BIAS_LEAKY_RELU, a + b < 0 ? alpha * (a + b) : a + b);
		OF(BIAS_TANH, WS_REAL_TANH(a + b));
		OF(SQUARED_ERROR, alpha * (a - b) * (a - b));
		OF(SQUARED_ERROR_GRAD, 2 * alpha * a * (b - c));
		OF(EACH_LERP, a + alpha * (b - a));
		OF(EACH_SCALE, alpha * a);
		OF(EACH_ADD, a + alpha * b);
		OF(EACH_ADDCMUL, a + alpha * b * c);
		OF(EACH_SQRT, WS_REAL_SQRT(a));
		OF(EACH_ADD_CONST, a + alpha);
		OF(EACH_MUL, alpha * a);
		OF(EACH_ADDCDIV, a - alpha * (b / c));
	default: /* CAST, EXPAND, and CAUSAL_MASK where it does not hide */
		return a;
	}
#undef OF
}

/* --- optimizers: all of one; the formulas and their order are in layers.h --------------------- */

struct ws_optimizer_factors {
	ws_real alpha, beta1, rest1, beta2, rest2, eps, decay;
};

static inline struct ws_optimizer_factors ws_optimizer_factors_of(const struct ws_op *op)
{
	const struct ws_update_factors *f = &op->u.update.factors;
	struct ws_optimizer_factors r = {(ws_real)f->alpha,       (ws_real)f->beta1,
	                                 (ws_real)(1 - f->beta1), (ws_real)f->beta2,
	                                 (ws_real)(1 - f->beta2), (ws_real)f->eps,
	                                 (ws_real)f->decay};

	if (op->sub == WS_SUB_SGD_ALL)
		r.rest1 = 1;
	return r;
}

/*
 * One element of a parameter p and of its moments, from its gradient g. m and v are 0 where the
 * optimizer has none. x, y: the numbers of the step, its size and Adam's correction.
 */
WS_ELEMENT void ws_optimizer_step(enum ws_sub sub, const struct ws_optimizer_factors *f, ws_real x,
                                  ws_real y, ws_real *p, ws_real *m, ws_real *v, ws_real g)
{
	if ((sub == WS_SUB_SGD_ALL || sub == WS_SUB_ADAM_ALL) && f->decay != 0)
		g += f->decay * *p;
	*m = f->beta1 * *m + f->rest1 * g;
	if (sub == WS_SUB_SGD_ALL) {
		*p -= f->alpha * *m;
		return;
	}
	*v = f->beta2 * *v + f->rest2 * (g * g);
	if (sub == WS_SUB_ADAMW_CS336_ALL) {
		*p -= *m * x / (WS_REAL_SQRT(*v) + f->eps);
		*p -= f->decay * *p;
		return;
	}
	if (sub == WS_SUB_ADAMW_ALL)
		*p -= f->decay * *p;
	*p -= x * (*m / (WS_REAL_SQRT(*v) * y + f->eps));
}

/* --- fused ops -------------------------------------------------------------------------------- */

WS_ELEMENT ws_real ws_swiglu(ws_real a, ws_real b)
{
	return a * ws_sigmoid(a) * b;
}

/* With s = sigmoid(a): da = dy b s (1 + a (1 - s)), db = dy a s */
WS_ELEMENT void ws_swiglu_grad(ws_real dy, ws_real a, ws_real b, ws_real *da, ws_real *db)
{
	ws_real s = ws_sigmoid(a);

	*da = dy * b * s * (1 + a * (1 - s));
	*db = dy * a * s;
}

/* A pair of a head by an angle. No product is in a fused multiply-add: the bits are the same. */
WS_ELEMENT void ws_rotate(ws_real even, ws_real odd, ws_real cosine, ws_real sine, ws_real *to)
{
	to[0] = ws_product(even, cosine) - ws_product(odd, sine);
	to[1] = ws_product(even, sine) + ws_product(odd, cosine);
}

/* dx of softmax(scale x), from its result y and sum = sum(dy y) over the row. */
WS_ELEMENT ws_real ws_softmax_grad(ws_real dy, ws_real y, ws_real sum, ws_real scale)
{
	return scale * y * (dy - sum);
}

/* dx of x w r, r = 1 / rms of the row; back = r^3 mean(w dy x). */
WS_ELEMENT ws_real ws_rms_norm_grad(ws_real dy, ws_real x, ws_real w, ws_real r, ws_real back)
{
	return r * w * dy - x * back;
}
