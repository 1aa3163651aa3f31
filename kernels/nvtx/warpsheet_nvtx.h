/*
 * Annotate your operations, get FLOP reports.
 *
 * Any program that pushes its operations with wsnvtx_push_op() has them in
 * the trace with shape, dtype, FLOPs and bytes, and `warpsheet report` fills
 * its FLOP columns from them. The annotations are NVTX ranges with a
 * registered payload schema, so other NVTX tools read them too. With no tool
 * attached a call costs a few ns. Needs no CUDA and no NVTX package. With
 * WSNVTX_HEADER_ONLY defined, as pkg-config and the CMake package do, it needs no
 * library of ours: abi.h and client.h beside it are all. Else link
 * libwarpsheet-nvtx.a (-lwarpsheet-nvtx -ldl).
 *
 * This header is plain C99 and C++.
 */
#ifndef WARPSHEET_NVTX_H
#define WARPSHEET_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NVTX domain of the ranges below. */
#define WSNVTX_DOMAIN "warpsheet"
/*
 * NVTX domain in which a program that computes on the CPU reports its
 * "kernels": a push/pop here is one kernel run on the device `CPU reference`,
 * launched by the enclosing call. See wsnvtx_kernel_push().
 */
#define WSNVTX_CPU_DOMAIN "warpsheet.cpu"

/* Kinds of operations. name, value */
#define WSNVTX_OP_KIND_LIST(X)                \
	X(other, 0)                           \
	X(gemm, 1)                            \
	X(conv, 2)                            \
	X(attention, 3) /* fused */           \
	X(softmax, 4)                         \
	X(scale, 5) /* of attention scores */ \
	X(mask, 6)  /* of attention scores */ \
	X(norm, 7)                            \
	X(activation, 8)                      \
	X(elementwise, 9)                     \
	X(rope, 10)                           \
	X(embedding, 11)                      \
	X(loss, 12)                           \
	X(optimizer, 13)                      \
	X(reduce, 14)                         \
	X(copy, 15)                           \
	X(cast, 16)                           \
	X(pool, 17)                           \
	X(rng, 18)                            \
	X(fill, 19)

#define WSNVTX_DTYPE_LIST(X) \
	X(none, 0)           \
	X(fp32, 1)           \
	X(tf32, 2)           \
	X(fp16, 3) X(bf16, 4) X(fp64, 5) X(int8, 6) X(int32, 7) X(int64, 8) X(fp8, 9) X(bool8, 10)

#define WSNVTX_DIRECTION_LIST(X) X(none, 0) X(forward, 1) X(backward, 2)

#define WSNVTX_PHASE_LIST(X) \
	X(none, 0) X(setup, 1) X(forward, 2) X(loss, 3) X(backward, 4) X(optimizer, 5)

enum wsnvtx_op_kind {
#define X(name, value) WSNVTX_OP_##name = value,
	WSNVTX_OP_KIND_LIST(X)
#undef X
};
enum wsnvtx_dtype {
#define X(name, value) WSNVTX_DTYPE_##name = value,
	WSNVTX_DTYPE_LIST(X)
#undef X
};
enum wsnvtx_direction {
#define X(name, value) WSNVTX_DIRECTION_##name = value,
	WSNVTX_DIRECTION_LIST(X)
#undef X
};
enum wsnvtx_phase {
#define X(name, value) WSNVTX_PHASE_##name = value,
	WSNVTX_PHASE_LIST(X)
#undef X
};

/*
 * One operation. Registered as schema "warpsheet.op" with these field names.
 *
 * FLOPs: a multiply-add is 2; softmax is 5 per element (max, subtract, exp, sum, divide); 0 where
 * none are counted (casts, copies). Bytes: what the operation must move if each input is read once
 * and each output written once.
 *
 * Shape: gemm is batch × (m × k) · (k × n). conv is batch images of c × h × w,
 * k filters of (c / groups) × r × s, outputs m = p, n = q. attention is batch heads of m
 * queries by n keys of k elements. Everything else: m rows of n
 * elements in batch slices. Unused fields are 0 (batch and groups 1).
 */
struct wsnvtx_op {
	uint64_t flops;
	uint64_t bytes_read;
	uint64_t bytes_written;
	uint32_t batch, m, n, k;
	uint32_t c, h, w, r, s, stride, pad, groups;
	uint8_t op;        /* enum wsnvtx_op_kind */
	uint8_t direction; /* enum wsnvtx_direction */
	uint8_t phase;     /* enum wsnvtx_phase */
	uint8_t dtype;     /* enum wsnvtx_dtype: type of the operands */
	int32_t layer;     /* -1 outside the layers */
	/* part of flops that the result needs; 0 = unknown. For causal attention's products: the
	 * pairs that the mask keeps, half of those computed by eager attention */
	uint64_t flops_needed;
};

/* How a CPU "kernel" was launched. Registered as schema "warpsheet.launch". */
struct wsnvtx_launch {
	uint32_t grid_x, grid_y, grid_z;    /* blocks: work items of the thread pool */
	uint32_t block_x, block_y, block_z; /* threads that worked on it */
};

/* Ranges of the calling thread in domain WSNVTX_DOMAIN; they nest. message is copied. */
void wsnvtx_push(const char *message);
void wsnvtx_push_index(const char *message, uint64_t index); /* with a plain number as payload */
void wsnvtx_push_op(const char *message, const struct wsnvtx_op *op);
void wsnvtx_pop(void);

/*
 * A fact about the run, as a mark "workload.<key>=<value>" in WSNVTX_DOMAIN:
 * model, batch, context, dtype, … The report prints them on its first sheet.
 */
void wsnvtx_workload(const char *key, const char *value);
/* A sampled quantity, as a mark "counter.<name>" with the value as payload; name has its unit. */
void wsnvtx_counter(const char *name, int64_t value);
void wsnvtx_counter_real(const char *name, double value);

/* Begin and end a kernel on the CPU reference device. name: ws_<class>_<op>_<fwd|bwd>_<dtype>. */
void wsnvtx_kernel_push(const char *name, const struct wsnvtx_launch *launch);
void wsnvtx_kernel_pop(void);

/* Does a tool listen? Else annotations go nowhere. */
bool wsnvtx_attached(void);

#ifdef __cplusplus
}
#endif

#ifdef WSNVTX_HEADER_ONLY
#include "client.h"
#endif

#endif
