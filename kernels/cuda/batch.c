/* Batches of training data: tokens beside the step that runs, images as a part of it. */
#include "kernels/cuda/cuda.h"

/* What a batch is drawn from, on the device. */
static enum ws_status upload_table(struct ws_cuda *cuda, const void *table, uint64_t size_bytes,
                                   struct ws_err *err)
{
	if (cuda->table_bytes < size_bytes) {
		cudaFree(cuda->table);
		cuda->table_bytes = 0;
		WS_FORWARD(ws_cuda_malloc(&cuda->table, size_bytes, "drawing a batch", err));
		cuda->table_bytes = size_bytes;
	}
	WS_CUDA_TRY(cudaMemcpyAsync(cuda->table, table, size_bytes, cudaMemcpyHostToDevice,
	                            cuda->stream),
	            err);
	return WS_OK;
}

static enum ws_status open_tokens(struct ws_cuda_tokens *t, uint64_t size_bytes, struct ws_err *err)
{
	void *block;

	if (!t->stream) {
		WS_CUDA_TRY(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking), err);
		WS_CUDA_TRY(cudaEventCreateWithFlags(&t->staged, cudaEventDisableTiming), err);
		WS_CUDA_TRY(cudaEventCreateWithFlags(&t->taken, cudaEventDisableTiming), err);
	}
	if (t->size_bytes >= size_bytes)
		return WS_OK;
	cudaFree(t->x);
	t->x = NULL;
	t->size_bytes = 0;
	WS_FORWARD(ws_cuda_malloc(&block, 2 * size_bytes, "the next batch", err));
	t->x = block;
	t->y = t->x + size_bytes / sizeof(*t->x);
	t->size_bytes = size_bytes;
	return WS_OK;
}

enum ws_status ws_cuda_stage_tokens(struct ws_backend *backend, const struct ws_token_batch *batch,
                                    const int32_t *x, const int32_t *y, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;
	uint64_t size_bytes = (uint64_t)(batch->n * batch->context) * sizeof(*x);
	struct ws_cuda_tokens *t = &cuda->tokens;

	WS_FORWARD(open_tokens(t, size_bytes, err));
	WS_CUDA_TRY(cudaStreamWaitEvent(t->stream, t->taken, 0), err);
	/* from pageable memory: each returns once the source may change */
	WS_CUDA_TRY(cudaMemcpyAsync(t->x, x, size_bytes, cudaMemcpyHostToDevice, t->stream), err);
	WS_CUDA_TRY(cudaMemcpyAsync(t->y, y, size_bytes, cudaMemcpyHostToDevice, t->stream), err);
	WS_CUDA_TRY(cudaEventRecord(t->staged, t->stream), err);
	return WS_OK;
}

enum ws_status ws_cuda_take_tokens(struct ws_backend *backend, struct ws_tensor *x,
                                   struct ws_tensor *y, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;
	const struct ws_cuda_tokens *t = &cuda->tokens;
	cudaStream_t step = cuda->stream;

	WS_CUDA_TRY(cudaStreamWaitEvent(step, t->staged, 0), err);
	WS_CUDA_TRY(cudaMemcpyAsync(x->data, t->x, x->size_bytes, cudaMemcpyDeviceToDevice, step),
	            err);
	if (y)
		WS_CUDA_TRY(cudaMemcpyAsync(y->data, t->y, y->size_bytes, cudaMemcpyDeviceToDevice,
		                            step),
		            err);
	WS_CUDA_TRY(cudaEventRecord(t->taken, step), err);
	return WS_OK;
}

enum ws_status ws_cuda_stage_images(struct ws_backend *backend, const struct ws_image_batch *batch,
                                    const struct ws_plane *planes, struct ws_tensor *t,
                                    struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;
	struct ws_cuda_launch launch = ws_cuda_launch_on(cuda);

	WS_FORWARD(
	        upload_table(cuda, planes, (uint64_t)(batch->n * batch->c) * sizeof(*planes), err));
	return ws_cuda_draw_images(&launch, batch, cuda->table, t, err);
}

void ws_cuda_batches_close(struct ws_cuda *cuda)
{
	struct ws_cuda_tokens *t = &cuda->tokens;

	if (t->staged)
		cudaEventDestroy(t->staged);
	if (t->taken)
		cudaEventDestroy(t->taken);
	if (t->stream)
		cudaStreamDestroy(t->stream);
	cudaFree(t->x);
	cudaFree(cuda->table);
}
