/*
 * Launchers of the project's own CUDA kernels: one for each kind of op that is no matrix
 * product, convolution or fused attention (those are cuBLAS's and cuDNN's).
 *
 * A launcher reads shapes, dtypes and device pointers from the op, launches on the
 * given stream and returns without waiting. It allocates nothing: what a kernel
 * needs beside its tensors lies in scratch. Plain C, so that the same launchers run
 * on the host in tests, where the .cu files are compiled with a header that emulates
 * a GPU (docs/dev/kernels.md).
 *
 * dtypes: fp32, bf16, fp16 and int32 indices; ws_cuda_op_problem() says what cannot run.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include "formats/base/status.h"
#include "kernels/data/images.h"
#include "kernels/graph/op.h"

struct ws_cuda_launch {
	void *stream;           /* cudaStream_t */
	void *scratch;          /* device memory, aligned to 256 bytes; NULL when none is needed */
	uint64_t scratch_bytes; /* at least ws_cuda_scratch_bytes() of the op */
	int sm_count;           /* multiprocessors of the device: how many blocks fill it */
};

/* ENVIRONMENT with CUDA's own words when the launch is refused. */
typedef enum ws_status ws_cuda_launcher(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                        struct ws_err *err);

/* ws_cuda_unary, ws_cuda_softmax, ... */
#define WS_OP(KIND, name, ...) ws_cuda_launcher ws_cuda_##name;
#include "kernels/graph/op.def"
/* By kind; NULL: products, convolutions and fused attention, which libraries compute. */
ws_cuda_launcher *ws_cuda_launcher_of(enum ws_op_kind kind);

/* Bytes of scratch that the launcher of an op needs; 0 for most. Bounds: each .cu file's own. */
uint64_t ws_cuda_scratch_bytes(const struct ws_op *op);

/*
 * Synthetic images, a thousand times as large as tokens. planes [n, c] lie on the device; the
 * host's numbers but for the sine's last bits.
 */
enum ws_status ws_cuda_draw_images(const struct ws_cuda_launch *launch,
                                   const struct ws_image_batch *batch,
                                   const struct ws_plane *planes, struct ws_tensor *t,
                                   struct ws_err *err);

/* Blocks of a tensor that the norm of all gradients is summed by. */
#define WS_CLIP_BLOCKS 64

#ifdef __cplusplus
}
#endif
