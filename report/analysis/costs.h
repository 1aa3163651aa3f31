/*
 * Operations whose FLOPs or bytes are known, with the GPU time of their
 * kernels: annotated ranges, or operations of a framework that recorded shapes.
 */
#pragma once

#include "report/analysis/filter.h"

/* One call of an operation. */
struct ws_cost_op {
	uint32_t name;  /* text */
	uint32_t class; /* text, 0 = unknown */
	uint32_t dtype; /* text, 0 = unknown; of its longest kernel if known, else as recorded */
	uint32_t direction;      /* text, 0 = unknown */
	int64_t flops, bytes;    /* -1 = not known */
	int64_t flops_needed;    /* as recorded; -1: see ws_attention_flops_needed() */
	uint64_t batch, m, n, k; /* gemm: its sizes; fused attention: heads, T, T, D; 0 = unknown */
	uint64_t kernels;
	int64_t gpu_ns;
	int64_t longest_ns;     /* of its kernels */
	uint32_t range, cpu_op; /* row, or number of an operation; the other is WS_NONE */
	uint32_t
	        path; /* path of the innermost NVTX range that contains it, or of itself; WS_NONE */
	uint32_t step;   /* WS_NONE */
	uint32_t device; /* of its kernels; WS_NONE without any */
	uint8_t tensor;  /* enum ws_tensor, of its longest kernel */
};

/*
 * Operations of one selection: first ranges in their order, then operations of a framework. Their
 * data is in files. An operation that a CUDA graph captured did not run then; each replay of it is
 * an operation, after the others of its sort.
 */
struct ws_cost_ops {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	size_t n, nranges; /* nranges: how many of them are ranges */
	bool has_kernels;  /* fields that depend on kernels are filled */
	struct ws_spill ops, work, of_range;
	uint32_t *of_cpu_op; /* framework operation -> the operation that counts; WS_NONE */
	/* of captured work: number of the range, or of the framework's operation, and the call that
	 * launched the graph -> operation */
	struct ws_idmap range_replays, op_replays;
	uint32_t *counted; /* framework operation -> the one that counts, selected or not; NULL:
	                      nothing was captured */
};

/*
 * Finds the selected operations and their selected kernels by sel->rows. Computed once per
 * selection, and freed with it. Where operations nest and each has the cost of the same work
 * (aten::conv2d calls aten::cudnn_convolution), the innermost counts: an operation is left out if
 * those inside it have at least half of its FLOPs; otherwise it includes those inside it. FLOPs or
 * bytes that would overflow the total become unknown.
 */
struct ws_cost_ops *ws_cost_ops_find(const struct ws_model *m, const struct ws_selection *sel);
/* The same without fields that depend on kernels, if only FLOPs and bytes are needed. */
struct ws_cost_ops *ws_cost_ops_list(const struct ws_model *m, const struct ws_selection *sel);

/* Operation i. */
struct ws_cost_op ws_cost_ops_at(struct ws_cost_ops *c, size_t i);
/* FLOPs of operation i, -1 = unknown. */
int64_t ws_cost_ops_flops(struct ws_cost_ops *c, size_t i);
/* The operation of a selected kernel, WS_NONE. */
uint32_t ws_cost_ops_of_kernel(struct ws_cost_ops *c, const struct ws_joined_kernel *k);

/* Is the class of this text a matrix product, convolution or fused attention? */
bool ws_class_is_product(uint32_t class);

/* Peak rates of a device for one class and dtype; 0 = unknown. */
struct ws_roof {
	double flops_per_s, bytes_per_s;
	bool unconfirmed; /* the table's row was not confirmed by another source */
};
/*
 * class and dtype are texts. Tensor Core peaks count for matrix products, convolutions and fused
 * attention in a type that Tensor Cores support, unless the kernel's name shows that it does not
 * use them. Peaks measured by the program (workload.peak.<name>) have precedence over the table's.
 */
void ws_roof_find(const struct ws_model *m, uint32_t device, uint32_t class, uint32_t dtype,
                  uint8_t tensor, struct ws_roof *out);
/* The same for given peaks; dtype: its name. */
void ws_roof_of(const struct ws_device_peaks *peaks, uint32_t class, struct ws_bytes dtype,
                uint8_t tensor, struct ws_roof *out);
/* "compute" or "memory": the bound of work with this number of FLOPs per byte; NULL if unknown. */
const char *ws_roof_bound(const struct ws_roof *roof, double flops, double bytes);

/* --- cost groups ----------------------------------------------------------------------------- */

/* Operations of known cost, grouped by class and by name, and their rates relative to the device's
 * peaks. */

/* All operations of one class, or of one name, in one dtype on one device. */
struct ws_cost_group {
	bool by_name;
	uint32_t class, name, dtype, device; /* name: 0 for a class */
	uint8_t tensor;                      /* of the longest kernel */
	int64_t longest_ns;
	uint64_t calls, kernels;
	int64_t gpu_ns, flops, bytes;
	bool flops_unknown, bytes_unknown;
	int64_t needed; /* FLOPs of products, counting only needed pairs; 0 for other classes */
	bool needed_unknown;
};

struct ws_cost_groups {
	struct ws_cost_group *group;
	size_t n, capacity, nops;
	int64_t counted_ns, modelled_ns; /* time of all operations, and of those with known FLOPs */
};

/* Groups of the selected operations that launched kernels. Computed once per selection, and freed
 * with it. */
const struct ws_cost_groups *ws_cost_groups_find(const struct ws_model *m,
                                                 const struct ws_selection *sel);

/* The groups by name, longest first, then by class, name and dtype. order has room for all; returns
 * how many there are. */
size_t ws_cost_groups_order(const struct ws_model *m, const struct ws_cost_groups *all,
                            struct ws_row_key *order);

/* Attained rates of a group. NaN = unknown. */
struct ws_attained {
	struct ws_roof roof;
	double flops, bytes, seconds;
	double intensity;                    /* FLOP/byte */
	double flops_percent, bytes_percent; /* in percent of the peak rates */
	const char *bound;                   /* "compute", "memory", NULL */
	double attainable_flops_per_s;       /* at this intensity */
	double percent;                      /* in percent of the nearer peak */
};
struct ws_attained ws_cost_group_attained(const struct ws_model *m, const struct ws_cost_group *g);

/* --- attention ops --------------------------------------------------------------------------- */

/*
 * Finds self-attention among the operations of a framework: QK^T, softmax and PV, by order and
 * sizes alone.
 */

enum ws_attention_part {
	WS_ATTENTION_SCORES,
	WS_ATTENTION_SCALE_MASK,
	WS_ATTENTION_SOFTMAX,
	WS_ATTENTION_FINAL,
	WS_ATTENTION_FUSED, /* all of attention in one operation */
	WS_ATTENTION_OTHER, /* in attention, but none of these: dropout, casts */
	WS_ATTENTION_NONE,
};

/*
 * FLOPs of a product, convolution or fused attention, counting only pairs of query and key that the
 * result needs: n (n + 1) / 2 of n^2 for causal self-attention. -1: its mask is unknown.
 * in_attention: it is QK^T or PV of unfused attention.
 */
int64_t ws_attention_flops_needed(const struct ws_model *m, const struct ws_cost_op *op,
                                  bool in_attention);

/*
 * The enum ws_attention_part of each operation of a framework, in the arena; costs->nranges is the
 * first of them.
 *
 * Forward: a softmax, the batched matrix product before it and the one after it on its thread, with
 * at most elementwise work between them, if the batches are equal and the second product sums over
 * the columns of the first. Backward: operations linked to these, else a softmax gradient between
 * two pairs of batched products with equal batches. An operation of class attention is FUSED.
 */
uint8_t *ws_attention_find(const struct ws_model *m, struct ws_cost_ops *costs,
                           struct ws_arena *arena);
