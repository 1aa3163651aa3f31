/*
 * Operations whose FLOPs or bytes are known, with the GPU time of their
 * kernels: annotated ranges, or operations of a framework that recorded shapes.
 */
#pragma once

#include <stdbool.h>

#include "report/analysis/filter.h"

/* One call of an operation. */
struct ws_cost_op {
	uint32_t name;           /* text */
	uint32_t class;          /* text, 0 = unknown */
	uint32_t dtype;          /* text, 0 = unknown; its longest kernel's where that tells */
	uint32_t direction;      /* text, 0 = unknown */
	int64_t flops, bytes;    /* -1 = not known */
	int64_t flops_needed;    /* as it says itself; -1: see ws_attention_flops_needed() */
	uint64_t batch, m, n, k; /* of a gemm; of fused attention heads, T, T, D; 0 = not known */
	uint64_t kernels;
	int64_t gpu_ns;
	int64_t longest_ns;     /* of its kernels */
	uint32_t range, cpu_op; /* which of the two it is; the other WS_NONE */
	uint32_t path;          /* of the innermost NVTX range that it lies in, or is; WS_NONE */
	uint32_t step;          /* WS_NONE */
	uint32_t device;        /* of its kernels; WS_NONE without any */
	uint8_t tensor;         /* enum ws_tensor, of its longest kernel */
};

/* Operations of one selection: those of ranges in their order, then those of a framework. What is
 * kept of each lies in files. */
struct ws_cost_ops {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	size_t n, nranges; /* nranges: those that are ranges */
	bool has_kernels;  /* what their kernels tell is known */
	struct ws_spill ops, work, of_range;
	uint32_t *of_cpu_op; /* framework operation -> the one that counts for it, WS_NONE */
};

/*
 * Of the selected operations and their selected kernels, by sel->rows, found once a selection:
 * it lives as long as that. Where operations nest and
 * each has the cost of the same work (aten::conv2d calls aten::cudnn_convolution), the innermost
 * counts: one is left out when those inside it have at least half of its FLOPs,
 * and one that counts takes what is inside it. What would make a sum of all
 * FLOPs or bytes overflow is not known.
 */
struct ws_cost_ops *ws_cost_ops_find(const struct ws_model *m, const struct ws_selection *sel);
/* The same without what their kernels tell, for who needs only FLOPs and bytes. */
struct ws_cost_ops *ws_cost_ops_list(const struct ws_model *m, const struct ws_selection *sel);

/* Operation i. */
struct ws_cost_op ws_cost_ops_at(struct ws_cost_ops *c, size_t i);
/* Its FLOPs alone, -1 = not known. */
int64_t ws_cost_ops_flops(struct ws_cost_ops *c, size_t i);
/* The operation of a selected kernel, WS_NONE. */
uint32_t ws_cost_ops_of_kernel(struct ws_cost_ops *c, const struct ws_joined_kernel *k);

/* Is the class of this text a matrix product, convolution or fused attention? */
bool ws_class_is_product(uint32_t class);

/* What a device can do at most for such work; 0 = not known. */
struct ws_roof {
	double flops_per_s, bytes_per_s;
	bool unconfirmed; /* nothing that was held against the table's row confirms it */
};
/*
 * class and dtype are texts. Tensor Core peaks count for matrix products, convolutions and fused
 * attention in a type that Tensor Cores take, unless the kernel's name says that it uses none.
 * Peaks that the program measured (workload.peak.<name>) stand before the table's.
 */
void ws_roof_find(const struct ws_model *m, uint32_t device, uint32_t class, uint32_t dtype,
                  uint8_t tensor, struct ws_roof *out);
/* The same by these peaks; dtype: its name. */
void ws_roof_of(const struct ws_device_peaks *peaks, uint32_t class, struct ws_bytes dtype,
                uint8_t tensor, struct ws_roof *out);
/* "compute" or "memory": what bounds work of so many FLOPs a byte; NULL when that is not known. */
const char *ws_roof_bound(const struct ws_roof *roof, double flops, double bytes);

/* --- cost groups ----------------------------------------------------------------------------- */

/* Operations whose cost is known, by class and by name: what they attained of what the device can
 * do. */

/* All operations of one class, or of one name, in one dtype on one device. */
struct ws_cost_group {
	bool by_name;
	uint32_t class, name, dtype, device; /* name: 0 for a class */
	uint8_t tensor;                      /* of the longest kernel */
	int64_t longest_ns;
	uint64_t calls, kernels;
	int64_t gpu_ns, flops, bytes;
	bool flops_unknown, bytes_unknown;
	int64_t needed; /* FLOPs of products by the pairs that are needed; 0 of other classes */
	bool needed_unknown;
};

struct ws_cost_groups {
	struct ws_cost_group *group;
	size_t n, capacity, nops;
	int64_t counted_ns, modelled_ns; /* of operations; of those that tell their FLOPs */
};

/* Of the selected operations that launched kernels, found once a selection: they live as long. */
const struct ws_cost_groups *ws_cost_groups_find(const struct ws_model *m,
                                                 const struct ws_selection *sel);

/* The groups by name, longest first, then by class, name and dtype. order has room for all; returns
 * how many there are. */
size_t ws_cost_groups_order(const struct ws_model *m, const struct ws_cost_groups *all,
                            struct ws_row_key *order);

/* What a group attained. NaN = not known. */
struct ws_attained {
	struct ws_roof roof;
	double flops, bytes, seconds;
	double intensity;                    /* FLOP/byte */
	double flops_percent, bytes_percent; /* of the roof's rates */
	const char *bound;                   /* "compute", "memory", NULL */
	double attainable_flops_per_s;       /* at this intensity */
	double percent;                      /* of the roof that it comes nearer to */
};
struct ws_attained ws_cost_group_attained(const struct ws_model *m, const struct ws_cost_group *g);

/* --- attention ops --------------------------------------------------------------------------- */

/*
 * Self-attention among the operations of a framework: which of them is QK^T,
 * softmax or PV, told by their order and sizes alone.
 */

enum ws_attention_part {
	WS_ATTENTION_SCORES,
	WS_ATTENTION_SCALE_MASK,
	WS_ATTENTION_SOFTMAX,
	WS_ATTENTION_FINAL,
	WS_ATTENTION_FUSED, /* all of it in one operation */
	WS_ATTENTION_OTHER, /* in attention, but none of these: dropout, casts */
	WS_ATTENTION_NONE,
};

/*
 * The FLOPs of a product, convolution or fused attention by the pairs of query and key that the
 * result needs: of causal self-attention n (n + 1) / 2 of n^2. -1: its mask is not known.
 * in_attention: it is QK^T or PV of attention that is not fused.
 */
int64_t ws_attention_flops_needed(const struct ws_model *m, const struct ws_cost_op *op,
                                  bool in_attention);

/*
 * The enum ws_attention_part of each operation of a framework, in the arena; costs->nranges is the
 * first of them.
 *
 * Forward: a softmax with the batched matrix product before it on its thread,
 * at most elementwise work between, and one behind it, where the batches are
 * equal and the second sums over the columns of the first. Backward: what is
 * linked to such an operation, else a softmax gradient between two pairs of
 * batched products with equal batches. An operation of class attention is all
 * of it at once.
 */
uint8_t *ws_attention_find(const struct ws_model *m, struct ws_cost_ops *costs,
                           struct ws_arena *arena);
