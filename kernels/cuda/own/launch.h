/*
 * Launchers of the project's own CUDA kernels: one for each kind of op that neither cuBLAS nor
 * cuDNN computes.
 *
 * A launcher reads shapes, dtypes and device pointers from the op, launches on the
 * given stream and returns without waiting. It allocates nothing: what a kernel
 * needs beside its tensors lies in scratch. Plain C, so that the same launchers run
 * on the host in tests, where the .cu files are compiled with a header that emulates
 * a GPU (docs/dev/kernels.md).
 *
 * dtypes: fp32, bf16, fp16 and int32 indices; ws_cuda_op_problem() finds ops that cannot run.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include "formats/base/status.h"
#include "kernels/exec/exec.h"
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
/* By kind; NULL: a library computes it. */
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

/* --- shared by launchers and ws_cuda_scratch_bytes() ----------------------------------------- */

/* Depends only on shapes and not on the device, so that every GPU adds in the same order. */

/* Blocks per tensor that sum the norm of all gradients. */
#define WS_CLIP_BLOCKS 64

/*
 * How sums over channels of [outer, channels, inner], or over the columns of [rows, cols], are
 * divided among blocks: each block sums a slice of some channels into scratch, a second kernel
 * adds the slices.
 */
#define WS_COLUMNS_THREADS 256
#define WS_COLUMNS_ITEMS   8    /* of a thread and slice, at least */
#define WS_COLUMNS_BLOCKS  2048 /* enough to fill a GPU of 132 multiprocessors */
#define WS_ROW_SLICES      1024
#define WS_COLUMNS_SLICES  512 /* one block of the second kernel adds them in a few turns */

struct ws_columns {
	int64_t channels;
	int64_t items; /* rows of channels side by side or, of stretches, packs of a channel */
	int64_t slice_items; /* the last slice may have less */
	int64_t run;         /* packs of a stretch of one channel; 0: channels lie side by side */
	int width; /* elements of a pack: 16 bytes, where rows or stretches are whole such */
	int lanes; /* threads side by side, a power of two; 1 of stretches */
	int tiles, slices; /* blocks: of channels, of items */
};

/* Of a REDUCE or a BIAS_GRAD. */
struct ws_columns ws_cuda_columns(const struct ws_op *op);
/* Slices of the rows of an RMS_NORM_GRAD; each slice has one sum per column. */
int64_t ws_cuda_row_slices(int64_t rows);

#ifdef __cplusplus
}
#endif
