/* Operations whose cost is known, by class and by name: what they attained of what the device can
 * do. */
#pragma once

#include "report/analysis/cost_ops.h"

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

/* Longest first, then class, name and dtype: of the groups by name, or of those by class. order has
 * room for all; returns how many there are. */
size_t ws_cost_groups_order(const struct ws_model *m, const struct ws_cost_groups *all,
                            bool by_name, struct ws_row_key *order);

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
