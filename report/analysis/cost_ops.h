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
	uint64_t batch, m, n, k; /* of a gemm; of fused attention heads, T, T, D; 0 = not known */
	uint64_t kernels;
	int64_t gpu_ns;
	int64_t longest_ns; /* of its kernels */
	int64_t start_ns;   /* on the CPU */
	uint32_t thread;
	uint32_t range, cpu_op; /* which of the two it is; the other WS_NONE */
	uint32_t in_range;      /* innermost NVTX range that it lies in, or is; WS_NONE */
	uint32_t step;          /* WS_NONE */
	uint32_t device;        /* of its kernels; WS_NONE without any */
	uint8_t tensor;         /* enum ws_tensor, of its longest kernel */
};

struct ws_cost_ops {
	struct ws_cost_op *op; /* those of ranges in their order, then those of a framework */
	size_t n;
	uint32_t *of_kernel; /* kernel -> its operation, WS_NONE; selected kernels only */
	struct ws_arena arena;
};

/*
 * Of the selected operations. Where operations nest and each has the cost of
 * the same work (aten::conv2d calls aten::cudnn_convolution), the innermost
 * counts: one is left out when those inside it have at least half of its FLOPs,
 * and one that counts takes what is inside it. What would make a sum of all
 * FLOPs or bytes overflow is not known. Free with ws_cost_ops_release,
 * also after a failure.
 */
enum ws_status ws_cost_ops_find(const struct ws_model *m, const struct ws_selection *sel,
                                struct ws_cost_ops *out, struct ws_err *err);
void ws_cost_ops_release(struct ws_cost_ops *c);

/* Is the class of this text a matrix product, convolution or fused attention? */
bool ws_class_is_product(uint32_t class);

/* What a device can do at most for such work; 0 = not known. */
struct ws_roof {
	double flops_per_s, bytes_per_s;
};
/*
 * class and dtype are texts. Tensor Core peaks count for matrix products, convolutions and fused
 * attention in a type that Tensor Cores take, unless the kernel's name says that it uses none.
 * Peaks that the program measured (workload.peak.<name>) stand before the table's.
 */
void ws_roof_find(const struct ws_model *m, uint32_t device, uint32_t class, uint32_t dtype,
                  uint8_t tensor, struct ws_roof *out);
/* "compute" or "memory": what bounds work of so many FLOPs a byte; NULL when that is not known. */
const char *ws_roof_bound(const struct ws_roof *roof, double flops, double bytes);
