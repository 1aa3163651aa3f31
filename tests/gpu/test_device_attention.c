/*
 * Fused attention, forward and backward, on the device against the CPU reference: heads and
 * contexts of the models, and contexts that are no multiple of any tile.
 */
#include "kernels/graph/graph.h"
#include "tests/cuda_host/device.h"
#include "tests/support/kernels_run.h"

enum { Y, DQ, DK, DV, RESULTS };

/* The results of one backend, from the same first values on all. false: an older cuDNN, which has
 * nothing for a context that is no multiple of 128, refuses it. */
static bool run_on(struct ws_backend *backend, struct ws_pool *pool,
                   const struct ws_precision *precision, struct ws_shape shape,
                   double *results[RESULTS])
{
	struct kernels_run r = {.pool = pool, .backend = backend};
	struct ws_tensor *q, *k, *v, *y;
	struct ws_err problem = {0};
	bool runs;

	r.graph = ws_graph_create(precision);
	ws_graph_phase(r.graph, WSNVTX_PHASE_forward);
	q = kernels_param(r.graph, "q", shape);
	k = kernels_param(r.graph, "k", shape);
	v = kernels_param(r.graph, "v", shape);
	y = ws_op_attention(r.graph, q, k, v, 1 / sqrt((double)shape.dim[3]));
	kernels_backward(&r, y);
	q->grad->keep = k->grad->keep = v->grad->keep = true;
	runs = ws_exec_create(r.graph, r.backend, &r.exec, &problem) == WS_OK;
	cr_assert(runs || (shape.dim[2] % 128 && strstr(problem.text, "needs cuDNN 9.15.1")), "%s",
	          problem.text);
	if (runs) {
		KERNELS_OK(ws_exec_init(r.exec, r.pool, 7, err));
		kernels_forward(&r);
		KERNELS_OK(ws_exec_phase(r.exec, WSNVTX_PHASE_backward, err));
		results[Y] = kernels_read(&r, y);
		results[DQ] = kernels_read(&r, q->grad);
		results[DK] = kernels_read(&r, k->grad);
		results[DV] = kernels_read(&r, v->grad);
		ws_exec_destroy(r.exec);
	}
	ws_graph_destroy(r.graph);
	ws_backend_close(backend);
	return runs;
}

/* Shares of attention and gradients of scores are rounded to the type before their products. */
static void compare(const struct ws_precision *precision, double bound, struct ws_shape shape)
{
	static const char *const names[RESULTS] = {"y", "dq", "dk", "dv"};
	int64_t count = shape.dim[0] * shape.dim[1] * shape.dim[2] * shape.dim[3];
	double *got[RESULTS], *want[RESULTS];
	struct ws_backend *device, *cpu;
	struct ws_pool *pool;

	KERNELS_OK(ws_pool_create(2, &pool, err));
	KERNELS_OK(ws_test_device_open(pool, &device, err));
	if (!run_on(device, pool, precision, shape, got)) {
		fprintf(stderr,
		        "left out: a context of %lld, which this cuDNN has not; as 128s instead\n",
		        (long long)shape.dim[2]);
		ws_pool_destroy(pool);
		shape.dim[2] = (shape.dim[2] + 127) / 128 * 128;
		compare(precision, bound, shape);
		return;
	}
	cpu = ws_backend_cpu_open(pool, 0);
	run_on(cpu, pool, precision, shape, want);
	for (int i = 0; i < RESULTS; i++) {
		double difference = 0, size = 0;

		for (int64_t j = 0; j < count; j++) {
			difference += (got[i][j] - want[i][j]) * (got[i][j] - want[i][j]);
			size += want[i][j] * want[i][j];
		}
		cr_assert_gt(size, 0);
		cr_assert(sqrt(difference / size) <= bound, "%s of %s, %lld x %lld: %g", names[i],
		          precision->name, (long long)shape.dim[2], (long long)shape.dim[3],
		          sqrt(difference / size));
		free(got[i]);
		free(want[i]);
	}
	ws_pool_destroy(pool);
}

/* A sum of products of numbers that were rounded by 2^-(p+1) each, and then once more itself. */
static void compare_types(struct ws_shape shape)
{
	static const struct ws_precision bf16 = {.name = "bf16",
	                                         .storage = WS_DTYPE_BF16,
	                                         .low = WS_DTYPE_BF16};
	static const struct ws_precision fp16 = {.name = "fp16",
	                                         .storage = WS_DTYPE_F16,
	                                         .low = WS_DTYPE_F16};

	compare(&bf16, 2 * 0x1p-8, shape);
	compare(&fp16, 2 * 0x1p-11, shape);
}

Test(device_attention, of_small_heads_is_the_cpu_s)
{
	compare_types(WS_SHAPE(2, 4, 13, 16));
}

Test(device_attention, of_heads_of_64_is_the_cpu_s)
{
	compare_types(WS_SHAPE(1, 3, 128, 64));
	compare_types(WS_SHAPE(2, 1, 201, 64));
}

Test(device_attention, of_heads_of_80_is_the_cpu_s)
{
	compare_types(WS_SHAPE(1, 2, 97, 80));
}
