#include "tests/support/kernels_run.h"

#include "kernels/nn/layers.h"

Test(layer_norm, by_hand)
{
	struct kernels_run r = kernels_open(&kernels_fp64);
	struct ws_image_net net = {.graph = r.graph};
	struct ws_image x = {kernels_param(r.graph, "x", WS_SHAPE(2, 4)), 2, 4, 1, 1};
	/* mean 3, deviations -2, -1, 0, 3, variance 14 / 4; and a row of no variance */
	const double values[8] = {1, 2, 3, 6, 7, 7, 7, 7}, weight[4] = {1, 2, 3, -1};
	const double bias[4] = {0, 0, 0.5, 1}, deviation = sqrt(3.5 + 1e-5);
	const double want[8] = {
	        -2 / deviation, -2 / deviation, 0.5, 1 - 3 / deviation, 0, 0, 0.5, 1};
	struct ws_image y = ws_nn_layer_norm(&net, "ln", x);
	double *got;

	cr_assert_not_null(y.data);
	y.data->keep = true;
	kernels_start(&r);
	kernels_write(&r, x.data, values);
	kernels_write(&r, graph_find(r.graph, "ln.weight"), weight);
	kernels_write(&r, graph_find(r.graph, "ln.bias"), bias);
	kernels_forward(&r);
	got = kernels_read(&r, y.data);
	for (int i = 0; i < 8; i++)
		cr_assert_float_eq(got[i], want[i], 1e-14, "[%d]: %.17g", i, got[i]);
	free(got);
	kernels_close(&r);
}
