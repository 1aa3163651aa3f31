/*
 * What the launches of a group of kernels have in common: registers, shared
 * memory, blocks, estimated occupancy.
 */
#pragma once

#include "report/model/model.h"

/* Starts as all zeros. Means are weighted by execution time, as PyTorch's TensorBoard plugin has
 * them (docs/reference/occupancy.md). */
struct ws_launch_stat {
	uint64_t registers_max, shared_max_bytes;
	uint64_t known; /* launches with an estimate */
	double weight_ns, blocks_ns, percent_ns, kineto_ns;
};

/* n launches of a configuration. weight_ns: the part of their time that counts. */
void ws_launch_stat_add(struct ws_launch_stat *s, const struct ws_config *config, uint64_t n,
                        int64_t weight_ns);

/* Weighted means; NaN when nothing is known. */
double ws_launch_stat_percent(const struct ws_launch_stat *s);
double ws_launch_stat_kineto(const struct ws_launch_stat *s);
