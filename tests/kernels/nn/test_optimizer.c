#include "tests/support/kernels_run.h"

#include "kernels/nn/layers.h"
#include "tests/support/golden.h"

/*
 * A parameter p [3, 4] whose gradient is the input tensor `grad`: the gradient of
 * sum(p * grad).
 */
struct case_adamw {
	struct kernels_run run;
	struct ws_tensor *p, *grad;
	struct ws_optim optim;
	struct ws_optimizer optimizer;
};

static struct case_adamw open_case(const struct ws_precision *precision, struct ws_optimizer adamw)
{
	struct case_adamw c = {.run = kernels_open(precision), .optimizer = adamw};
	struct ws_graph *g = c.run.graph;
	struct ws_tensor *rows, *y;

	c.p = kernels_param(g, "p", WS_SHAPE(3, 4));
	c.grad = ws_graph_tensor(g, "grad", WS_ROLE_INPUT, precision->storage, WS_SHAPE(3, 4));
	rows = ws_op_reduce(g, WS_SUB_SUM, ws_op_binary(g, WS_SUB_MUL, c.p, c.grad));
	/* [3, 1] to [1, 3], to sum it as a row */
	y = ws_op_reduce(g, WS_SUB_SUM,
	                 ws_op_permute(g, rows, (int64_t[]){1, 3, 1, 1}, WS_SHAPE(1, 3), NULL));
	y->keep = true;
	KERNELS_OK(ws_graph_backward(g, y, NULL, err));
	c.optim = ws_optim_append(g, &c.optimizer, NULL);
	KERNELS_OK(ws_graph_check(g, err));
	kernels_start(&c.run);
	return c;
}

static void run_step(struct case_adamw *c, const double *grad, int64_t t)
{
	kernels_write(&c->run, c->grad, grad);
	KERNELS_OK(ws_optim_feed(c->run.exec, &c->optimizer, &c->optim, t, err));
	kernels_forward(&c->run);
	KERNELS_OK(ws_exec_phase(c->run.exec, WSNVTX_PHASE_backward, err));
	KERNELS_OK(ws_exec_phase(c->run.exec, WSNVTX_PHASE_optimizer, err));
}

Test(optimizer, first_step_by_hand)
{
	/* m = 0.1 g, v = 0.001 g^2, alpha_1 = lr sqrt(0.001) / 0.1: a step of lr in sign(g), then
	 * decay */
	struct case_adamw c = open_case(&kernels_fp64, WS_ADAMW_DEFAULT);
	double p[12], g[12], *m, *v, *after;

	for (int i = 0; i < 12; i++) {
		p[i] = i - 5;
		g[i] = i % 2 ? 0.5 : -2;
	}
	kernels_write(&c.run, c.p, p);
	run_step(&c, g, 1);
	after = kernels_read(&c.run, c.p);
	m = kernels_read(&c.run, graph_find(c.run.graph, "p.m"));
	v = kernels_read(&c.run, graph_find(c.run.graph, "p.v"));
	for (int i = 0; i < 12; i++) {
		/* eps 1e-8 beside sqrt(v) = 0.0316 |g| */
		double step = 1e-3 * g[i] / (fabs(g[i]) + 1e-8 / sqrt(1e-3));

		cr_assert_float_eq(m[i], 0.1 * g[i], 1e-15);
		cr_assert_float_eq(v[i], 0.001 * g[i] * g[i], 1e-15);
		cr_assert_float_eq(after[i], (p[i] - step) * (1 - 1e-5), 1e-14);
	}
	free(after);
	free(m);
	free(v);
	kernels_close(&c.run);
}

Test(optimizer, a_zero_gradient_only_decays)
{
	struct case_adamw c = open_case(&kernels_fp64, WS_ADAMW_DEFAULT);
	double p[12], g[12] = {0}, *after;

	for (int i = 0; i < 12; i++)
		p[i] = i - 5;
	kernels_write(&c.run, c.p, p);
	run_step(&c, g, 1);
	after = kernels_read(&c.run, c.p);
	for (int i = 0; i < 12; i++)
		cr_assert_float_eq(after[i], p[i] * (1 - 1e-3 * 0.01), 1e-15);
	free(after);
	kernels_close(&c.run);
}

/*
 * Three steps on a golden file's gradients. scale: of all parameters, ours against
 * the file's. before: what to change before step t, or NULL.
 */
static void compare_three_steps(struct ws_optimizer optimizer, const char *golden, double scale,
                                void (*before)(struct case_adamw *, int64_t t))
{
	struct case_adamw c = open_case(&kernels_fp64, optimizer);
	char name[32];
	double *p;

	snprintf(name, sizeof(name), "%s.p0", golden);
	p = golden_read("optimizers", name, 12);
	for (int i = 0; i < 12; i++)
		p[i] *= scale;
	kernels_write(&c.run, c.p, p);
	free(p);
	for (int step = 0; step < 3; step++) {
		double *grad, *want, *got;

		snprintf(name, sizeof(name), "%s.grad%d", golden, step);
		grad = golden_read("optimizers", name, 12);
		if (before)
			before(&c, step + 1);
		run_step(&c, grad, step + 1);
		snprintf(name, sizeof(name), "%s.p%d", golden, step + 1);
		want = golden_read("optimizers", name, 12);
		got = kernels_read(&c.run, c.p);
		for (int i = 0; i < 12; i++)
			cr_assert_float_eq(got[i], scale * want[i], 1e-12,
			                   "%s step %d [%d]: %.17g, not %.17g", golden, step, i,
			                   got[i], scale * want[i]);
		free(grad);
		free(want);
		free(got);
	}
	kernels_close(&c.run);
}

Test(optimizer, three_steps_of_sgd_equal_torch)
{
	struct ws_optimizer sgd = {.kind = WS_OPTIMIZER_SGD,
	                           .lr = 0.1,
	                           .momentum = 0.9,
	                           .weight_decay = 1e-2};

	for (int impl = WS_OPTIMIZER_IMPL_LOOP; impl <= WS_OPTIMIZER_IMPL_FUSED; impl++) {
		sgd.impl = (enum ws_optimizer_impl)impl;
		compare_three_steps(sgd, "sgd", 1, NULL);
	}
}

Test(optimizer, three_steps_of_adam_equal_torch)
{
	struct ws_optimizer adam = ws_optimizer_defaults(WS_OPTIMIZER_ADAM);

	adam.lr = 0.01;
	for (int impl = WS_OPTIMIZER_IMPL_LOOP; impl <= WS_OPTIMIZER_IMPL_FUSED; impl++) {
		adam.impl = (enum ws_optimizer_impl)impl;
		compare_three_steps(adam, "adam", 1, NULL);
	}
}

Test(optimizer, three_steps_of_adamw_equal_torch)
{
	struct ws_optimizer adamw = ws_optimizer_defaults(WS_OPTIMIZER_ADAMW);

	adamw.lr = 0.01;
	adamw.weight_decay = 0.1;
	for (int impl = WS_OPTIMIZER_IMPL_LOOP; impl <= WS_OPTIMIZER_IMPL_FUSED; impl++) {
		adamw.impl = (enum ws_optimizer_impl)impl;
		compare_three_steps(adamw, "adamw", 1, NULL);
	}
}

/* torch adds eps to sqrt(v / (1 - beta2^t)), the course to sqrt(v). */
static void move_eps(struct case_adamw *c, int64_t t)
{
	int moved = 0;

	for (int i = 0; i < c->run.graph->op_count; i++) {
		struct ws_op *op = c->run.graph->ops[i];

		if (op->sub == WS_SUB_ADD_CONST && op->payload.phase == WSNVTX_PHASE_optimizer) {
			op->u.alpha = 1e-8 * sqrt(1 - pow(0.999, (double)t));
			moved++;
		}
	}
	cr_assert_eq(moved, 1);
}

/*
 * torch decays before a step, the course after it. So the course's parameters,
 * begun one decay further, stay (1 - lr weight_decay) times torch's.
 */
Test(optimizer, three_steps_of_the_courses_adamw_equal_torch_but_for_the_order_of_the_decay)
{
	struct ws_optimizer adamw = WS_ADAMW_DEFAULT;

	adamw.lr = 0.01;
	adamw.weight_decay = 0.1;
	compare_three_steps(adamw, "adamw", 1 - 0.01 * 0.1, move_eps);
}

/* What torch.optim launches: a tensor in a loop, or all of them (foreach), or all at once. */
Test(optimizer, launches_are_those_of_torch)
{
	static const struct {
		enum ws_optimizer_kind kind;
		double decay, momentum;
		int each;
	} want[] = {
	        {WS_OPTIMIZER_ADAM, 0, 0, 7},    {WS_OPTIMIZER_ADAM, 0.1, 0, 8},
	        {WS_OPTIMIZER_ADAMW, 0.1, 0, 8}, {WS_OPTIMIZER_SGD, 0, 0, 1},
	        {WS_OPTIMIZER_SGD, 0, 0.9, 3},   {WS_OPTIMIZER_SGD, 0.1, 0.9, 4},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		for (int impl = WS_OPTIMIZER_IMPL_LOOP; impl <= WS_OPTIMIZER_IMPL_FUSED; impl++) {
			struct kernels_run r = kernels_open(&kernels_fp32);
			struct ws_optimizer o = ws_optimizer_defaults(want[i].kind);
			struct ws_tensor *sum = NULL;
			int ops;

			for (int k = 0; k < 3; k++) {
				const char *name = ws_graph_text(r.graph, "p%d", k);
				struct ws_tensor *p = kernels_param(r.graph, name, WS_SHAPE(1, 4));
				struct ws_tensor *s = ws_op_reduce(r.graph, WS_SUB_SUM, p);

				sum = sum ? ws_op_binary(r.graph, WS_SUB_ADD, sum, s) : s;
			}
			KERNELS_OK(ws_graph_backward(r.graph, sum, NULL, err));
			ops = r.graph->op_count;
			o.impl = (enum ws_optimizer_impl)impl;
			o.weight_decay = want[i].decay;
			o.momentum = want[i].momentum;
			ws_optim_append(r.graph, &o, NULL);
			cr_assert_eq(r.graph->op_count - ops,
			             impl == WS_OPTIMIZER_IMPL_LOOP      ? 3 * want[i].each
			             : impl == WS_OPTIMIZER_IMPL_FOREACH ? want[i].each
			                                                 : 1,
			             "case %d, form %d: %d", (int)i, impl, r.graph->op_count - ops);
			kernels_close(&r);
		}
}

/* Three gradients of 1, 2 and 2: a norm of 3 in each row of four, 6 in all. */
Test(optimizer, gradients_are_scaled_to_a_norm_and_smaller_ones_left)
{
	static const double largest[] = {1.5, 100};

	for (int i = 0; i < 2; i++) {
		struct ws_optimizer sgd = {.kind = WS_OPTIMIZER_SGD,
		                           .lr = 1,
		                           .clip_norm = largest[i]};
		struct case_adamw c = open_case(&kernels_fp64, sgd);
		double p[12] = {0}, g[12], *after, factor;

		for (int k = 0; k < 12; k++)
			g[k] = k < 4 ? 1 : 2;
		kernels_write(&c.run, c.p, p);
		run_step(&c, g, 1);
		after = kernels_read(&c.run, c.p);
		factor = i ? 1 : largest[i] / (6 + 1e-6);
		for (int k = 0; k < 12; k++)
			cr_assert_float_eq(after[k], -factor * g[k], 1e-14, "%d: %g", k, after[k]);
		free(after);
		kernels_close(&c.run);
	}
}

Test(optimizer, sgd_without_momentum_keeps_no_state)
{
	struct ws_optimizer sgd = {.kind = WS_OPTIMIZER_SGD, .lr = 0.5};
	struct case_adamw c = open_case(&kernels_fp64, sgd);
	double p[12] = {1}, g[12] = {4}, *after;

	cr_assert_null(graph_find(c.run.graph, "p.momentum"));
	kernels_write(&c.run, c.p, p);
	run_step(&c, g, 1);
	after = kernels_read(&c.run, c.p);
	cr_assert_eq(after[0], -1);
	cr_assert_eq(after[1], 0);
	free(after);
	kernels_close(&c.run);
}

/* Only kept in 16 bits, a parameter of 1 does not feel steps of 2^-13; its master does. */
Test(optimizer, masters_gather_steps_that_16_bits_cannot_hold)
{
	static const struct ws_precision masters = {.name = "fp16-master",
	                                            .storage = WS_DTYPE_F16,
	                                            .low = WS_DTYPE_F16,
	                                            .masters = true};
	static const struct ws_precision plain = {.name = "fp16",
	                                          .storage = WS_DTYPE_F16,
	                                          .low = WS_DTYPE_F16};
	struct ws_optimizer sgd = {.kind = WS_OPTIMIZER_SGD, .lr = 0x1p-13};

	for (int with = 0; with < 2; with++) {
		struct case_adamw c = open_case(with ? &masters : &plain, sgd);
		double p[12], g[12], *after;

		for (int i = 0; i < 12; i++)
			p[i] = g[i] = 1;
		kernels_write(&c.run, c.p, p);
		KERNELS_OK(ws_exec_phase(c.run.exec, WSNVTX_PHASE_setup, err));
		for (int step = 1; step <= 8; step++)
			run_step(&c, g, step);
		after = kernels_read(&c.run, c.p);
		cr_assert_eq(after[0], with ? 1 - 0x1p-10 : 1, "%.17g", after[0]);
		free(after);
		if (with) {
			const struct ws_tensor *master = graph_find(c.run.graph, "p.master");

			cr_assert_not_null(master);
			cr_assert_eq(master->dtype, WS_DTYPE_F32);
			cr_assert_eq(master->role, WS_ROLE_STATE);
		} else {
			cr_assert_null(graph_find(c.run.graph, "p.master"));
		}
		kernels_close(&c.run);
	}
}

/* Decay after the step, by lr * wd of the new value: 0.1 and the order show. */
Test(optimizer, decay_is_decoupled_and_comes_last)
{
	struct ws_optimizer adamw = {
	        .lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 0, .weight_decay = 1};
	struct case_adamw c = open_case(&kernels_fp64, adamw);
	double p[12] = {2}, g[12], *after;

	for (int i = 0; i < 12; i++)
		g[i] = 1;
	kernels_write(&c.run, c.p, p);
	run_step(&c, g, 1);
	after = kernels_read(&c.run, c.p);
	/* 2 - 0.1 = 1.9, then 1.9 * 0.9; decay first would give 2 * 0.9 - 0.1 = 1.7 */
	cr_assert_float_eq(after[0], 1.71, 1e-12);
	free(after);
	kernels_close(&c.run);
}

Test(optimizer, float_follows_double_over_ten_steps)
{
	struct case_adamw f = open_case(&kernels_fp32, WS_ADAMW_DEFAULT);
	struct case_adamw d = open_case(&kernels_fp64, WS_ADAMW_DEFAULT);
	double p[12], g[12], *pf, *pd;

	for (int i = 0; i < 12; i++)
		p[i] = (float)sin(i + 1);
	kernels_write(&f.run, f.p, p);
	kernels_write(&d.run, d.p, p);
	for (int step = 1; step <= 10; step++) {
		for (int i = 0; i < 12; i++)
			g[i] = (float)cos(i * step);
		run_step(&f, g, step);
		run_step(&d, g, step);
	}
	pf = kernels_read(&f.run, f.p);
	pd = kernels_read(&d.run, d.p);
	for (int i = 0; i < 12; i++)
		cr_assert_float_eq(pf[i], pd[i], 1e-6, "[%d]: %.9g, not %.9g", i, pf[i], pd[i]);
	free(pf);
	free(pd);
	kernels_close(&f.run);
	kernels_close(&d.run);
}

Test(optimizer, step_size_corrects_the_bias_of_both_moments)
{
	struct ws_optimizer adamw = WS_ADAMW_DEFAULT;

	cr_assert_float_eq(ws_adamw_alpha(&adamw, 1), 1e-3 * sqrt(0.001) / 0.1, 1e-17);
	cr_assert_float_eq(ws_adamw_alpha(&adamw, 100000), 1e-3, 1e-12);
}

Test(optimizer, parameters_without_a_gradient_are_left_alone)
{
	struct kernels_run r = kernels_open(&kernels_fp64);
	struct ws_tensor *used = kernels_param(r.graph, "used", WS_SHAPE(1));
	struct ws_tensor *unused = kernels_param(r.graph, "unused", WS_SHAPE(1));
	struct ws_optimizer adamw = WS_ADAMW_DEFAULT;

	KERNELS_OK(ws_graph_backward(r.graph, ws_op_unary(r.graph, WS_SUB_SQUARE, used, 0), NULL,
	                             err));
	cr_assert_not_null(ws_optim_append(r.graph, &adamw, NULL).alpha);
	cr_assert_null(unused->grad);
	cr_assert_not_null(graph_find(r.graph, "used.m"));
	cr_assert_null(graph_find(r.graph, "unused.m"));
	kernels_close(&r);
}
