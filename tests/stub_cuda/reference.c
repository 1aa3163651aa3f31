/*
 * The project's own kernels by the CPU reference, in the place of those that nvcc compiles: all
 * else of the CUDA backend (memory, plans, scratch, streams, what the libraries are asked) is
 * itself. Device memory is the host's here, so the reference takes the very tensors.
 */
#include <stdlib.h>

#include "kernels/cuda/own/launch.h"
#include "kernels/exec/exec.h"

/* One thread: tests run beside each other. Lives as long as the program. */
static enum ws_status reference_run(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                    struct ws_err *err)
{
	const struct ws_backend_plan plan = {(struct ws_op *const *)&op, 1, 1};
	static struct ws_backend *cpu;
	static struct ws_pool *pool;
	void *block;

	WS_FAIL_IF(launch->scratch_bytes < ws_cuda_scratch_bytes(op), err, BUG,
	           "op %s needs %llu bytes of scratch and was given %llu", op->message,
	           (unsigned long long)ws_cuda_scratch_bytes(op),
	           (unsigned long long)launch->scratch_bytes);
	if (!pool)
		WS_FORWARD(ws_pool_create(1, &pool, err));
	if (!cpu)
		cpu = ws_backend_cpu_open(pool, 0);
	WS_FORWARD(cpu->ops->prepare(cpu, &plan, &block, err));
	return cpu->ops->run(cpu, op, err);
}

#define WS_OP(KIND, name, ...)                                                                     \
	enum ws_status ws_cuda_##name(const struct ws_cuda_launch *launch, const struct ws_op *op, \
	                              struct ws_err *err)                                          \
	{                                                                                          \
		return reference_run(launch, op, err);                                             \
	}
#include "kernels/graph/op.def"

enum ws_status ws_cuda_draw_images(const struct ws_cuda_launch *launch,
                                   const struct ws_image_batch *batch,
                                   const struct ws_plane *planes, struct ws_tensor *t,
                                   struct ws_err *err)
{
	double *images = calloc((size_t)t->count, sizeof(*images));

	(void)launch;
	WS_FAIL_IF(!images, err, NO_MEMORY, "no memory for a batch of images");
	ws_data_images(batch, planes, images);
	ws_dtype_encode(t->dtype, images, t->data, t->count);
	free(images);
	return WS_OK;
}
