/*
 * Fused ops, losses, norms and the optimizer on the device against the CPU reference.
 */
#include "tests/cuda_host/checked.h"

#include "kernels/graph/graph.h"
#include "kernels/nn/layers.h"
#include "tests/support/precision_named.h"

static struct ws_tensor *param(struct ws_graph *graph, const char *name, int64_t rows, int64_t cols)
{
	return kernels_param(graph, name, WS_SHAPE(rows, cols));
}

/* --- softmax
 * -------------------------------------------------------------------------------------- */

/* rows matrices of cols × cols */
static struct ws_tensor *softmax(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	return ws_op_softmax(graph, kernels_param(graph, "x", WS_SHAPE(rows, cols, cols)), 0.3);
}

Test(device_fused, causal_softmax_of_rows_of_any_width)
{
	static const struct checked_case cases[] = {{"softmax", softmax, false}};
	static const int64_t sizes[][2] = {{3, 1}, {2, 7}, {2, 33}, {1, 100}, {9, 32}, {1, 200}};

	checked_run_all("softmax", cases, 1, sizes, CHECKED_COUNT(sizes));
}

/* Some rows at the end of a matrix too large to compute whole. */
static void check_wide_softmax(int64_t cols)
{
	const struct ws_precision *precision = &checked_precisions[0];
	struct checked c = checked_open(precision);
	struct checked_report report = {0};
	struct ws_tensor *x = kernels_param(c.run.graph, "x", WS_SHAPE(cols, cols));
	struct ws_tensor *y = ws_op_softmax(c.run.graph, x, 0.1);

	kernels_backward(&c.run, y);
	checked_start(&c);
	checked_step(&c, "wide softmax");
	checked_close(&c, &report);
	checked_tell("wide softmax", &report);
}

Test(device_fused, causal_softmax_of_rows_beyond_what_registers_hold)
{
	check_wide_softmax(1001);
}

/* --- RMS norm, SwiGLU
 * ------------------------------------------------------------------------------ */

static struct ws_tensor *rms_norm(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	return ws_op_rms_norm(graph, param(graph, "x", rows, cols), param(graph, "w", 1, cols),
	                      1e-5);
}

static struct ws_tensor *swiglu(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	return ws_op_swiglu(graph, param(graph, "x", rows, 2 * cols));
}

Test(device_fused, rms_norm_and_swiglu)
{
	static const struct checked_case cases[] = {{"rms norm", rms_norm, false},
	                                            {"swiglu", swiglu, false}};
	static const int64_t sizes[][2] = {{1, 1},    {3, 7},    {33, 33},  {2, 1000},
	                                   {45, 768}, {700, 20}, {2, 5000}, {3, 20011}};

	checked_run_all("rms norm, swiglu", cases, CHECKED_COUNT(cases), sizes,
	                CHECKED_COUNT(sizes));
}

/* --- cross-entropy
 * ----------------------------------------------------------------------------------- */

static struct ws_tensor *cross_entropy(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	ws_graph_phase(graph, WSNVTX_PHASE_loss);
	return ws_op_cross_entropy(graph, param(graph, "logits", rows, cols),
	                           checked_index(graph, "target", WS_SHAPE(rows), cols));
}

static struct ws_tensor *of_torch(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	ws_graph_phase(graph, WSNVTX_PHASE_loss);
	return ws_nn_cross_entropy(graph, param(graph, "logits", rows, cols),
	                           checked_index(graph, "target", WS_SHAPE(rows), cols), true);
}

Test(device_fused, cross_entropy_and_its_gradient)
{
	static const struct checked_case cases[] = {{"cross-entropy", cross_entropy, true},
	                                            {"log_softmax, nll_loss", of_torch, true}};
	static const int64_t sizes[][2] = {{1, 1},   {3, 7},    {33, 10},   {2, 1000},
	                                   {7, 257}, {600, 10}, {3, 20011}, {1, 50257}};

	checked_run_all("cross-entropy", cases, CHECKED_COUNT(cases), sizes, CHECKED_COUNT(sizes));
}

static struct ws_tensor *mse(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	struct ws_tensor *target =
	        ws_graph_tensor(graph, "target", WS_ROLE_INPUT, WS_DTYPE_F32, WS_SHAPE(rows, cols));

	target->init = (struct ws_init){WS_INIT_NORMAL, 1};
	ws_graph_phase(graph, WSNVTX_PHASE_loss);
	return ws_nn_mse(graph, param(graph, "y", rows, cols), target);
}

Test(device_fused, squared_errors_and_their_gradient)
{
	static const struct checked_case cases[] = {{"mse", mse, true}};
	static const int64_t sizes[][2] = {{1, 1}, {3, 7}, {33, 10}, {8092, 1}};

	checked_run_all("mse", cases, CHECKED_COUNT(cases), sizes, CHECKED_COUNT(sizes));
}

/* --- optimizer
 * ------------------------------------------------------------------------------------------ */

/* Gradients of some parameters, of sizes that fill no block, as a graph that updates them. */
static struct checked updates_of(const struct ws_optimizer *optimizer,
                                 const struct ws_precision *precision, const int64_t *counts, int n,
                                 const struct ws_loss_scale *loss_scale, struct ws_optim *optim)
{
	struct checked c = checked_open(precision);
	struct ws_graph *g = c.run.graph;
	struct ws_tensor *loss = NULL;
	struct ws_scaler scaler;

	for (int i = 0; i < n; i++) {
		const char *name = ws_graph_text(g, "p%d", i);
		struct ws_tensor *p = kernels_param(g, name, WS_SHAPE(1, counts[i]));
		struct ws_tensor *w = ws_graph_tensor(g, ws_graph_text(g, "w%d", i), WS_ROLE_INPUT,
		                                      p->dtype, p->shape);
		struct ws_tensor *sum;

		w->init = (struct ws_init){WS_INIT_NORMAL, 1};
		sum = ws_op_reduce(g, WS_SUB_SUM, ws_op_binary(g, WS_SUB_MUL, p, w));
		loss = loss ? ws_op_binary(g, WS_SUB_ADD, loss, sum) : sum;
	}
	loss = ws_scaler_append(g, *loss_scale, loss, &scaler);
	KERNELS_OK(ws_graph_backward(g, loss, NULL, err));
	*optim = ws_optim_append(g, optimizer, scaler.scale ? &scaler : NULL);
	KERNELS_OK(ws_graph_check(g, err));
	kernels_start(&c.run);
	return c;
}

Test(device_fused, optimizers_of_parameters_of_all_sizes)
{
	static const int64_t counts[] = {1, 7, 33, 1000, 9000};
	static const char *const dtypes[] = {"fp32", "fp16", "bf16"};
	static const struct ws_loss_scale none = {.kind = WS_LOSS_SCALE_NONE};
	struct checked_report report = {0};

	for (int kind = 0; ws_optimizer_name(kind); kind++)
		for (size_t p = 0; p < CHECKED_COUNT(dtypes); p++)
			/* of the first kind there is no foreach */
			for (int impl = kind ? WS_OPTIMIZER_IMPL_FOREACH : WS_OPTIMIZER_IMPL_FUSED;
			     impl <= WS_OPTIMIZER_IMPL_FUSED; impl++) {
				struct ws_optimizer o =
				        ws_optimizer_defaults((enum ws_optimizer_kind)kind);
				struct ws_optim optim;
				struct checked c;

				o.impl = (enum ws_optimizer_impl)impl;
				o.clip_norm = 10;
				o.weight_decay = 0.01;
				o.eps = 1e-4; /* which fp16 can hold */
				c = updates_of(&o, precision_named(dtypes[p]), counts,
				               CHECKED_COUNT(counts), &none, &optim);
				KERNELS_OK(ws_optim_feed(c.run.exec, &o, &optim, 2, err));
				checked_step(&c, dtypes[p]);
				checked_close(&c, &report);
			}
	checked_tell("optimizers", &report);
}

/* More tensors than the arguments of one launch hold. */
Test(device_fused, lists_of_tensors_longer_than_a_launch)
{
	static const struct ws_loss_scale dynamic = {.kind = WS_LOSS_SCALE_DYNAMIC, .interval = 1};
	struct checked_report report = {0};
	struct ws_optim optim;
	struct checked c;
	struct ws_optimizer fused = WS_ADAMW_DEFAULT;
	int64_t counts[150];

	for (size_t i = 0; i < CHECKED_COUNT(counts); i++)
		counts[i] = 1 + (int64_t)i % 9;
	fused.impl = WS_OPTIMIZER_IMPL_FUSED;
	fused.clip_norm = 1;
	c = updates_of(&fused, precision_named("amp-fp16"), counts, CHECKED_COUNT(counts), &dynamic,
	               &optim);
	KERNELS_OK(ws_optim_feed(c.run.exec, &WS_ADAMW_DEFAULT, &optim, 1, err));
	checked_step(&c, "long lists");
	checked_close(&c, &report);
	checked_tell("long lists", &report);
}

Test(device_fused, gradients_are_unscaled_and_what_is_not_finite_is_found)
{
	static const int64_t counts[] = {1, 7, 1000, 40001};
	static const struct ws_loss_scale dynamic = {.kind = WS_LOSS_SCALE_DYNAMIC, .interval = 1};
	static const double specials[] = {INFINITY, 0, NAN};
	struct checked_report report = {0};

	for (int p = 0; ws_precision_at(p); p++) {
		struct ws_optim optim;
		struct checked c = updates_of(&WS_ADAMW_DEFAULT, ws_precision_at(p), counts,
		                              CHECKED_COUNT(counts), &dynamic, &optim);
		double scale[3];

		for (int t = 0; t < 3; t++) {
			if (t == 1)
				checked_spoil(&c, specials, 3);
			KERNELS_OK(ws_optim_feed(c.run.exec, &WS_ADAMW_DEFAULT, &optim, 1, err));
			checked_step(&c, ws_precision_at(p)->name);
			KERNELS_OK(ws_exec_read(c.run.exec,
			                        graph_find(c.run.graph, "grad scaler.scale"),
			                        &scale[t], err));
		}
		cr_assert_eq(scale[1], scale[0] / 2);
		checked_close(&c, &report);
	}
	checked_tell("loss scaling", &report);
}
