/*
 * Estimated occupancy of a kernel launch: how many of its blocks fit on a
 * multiprocessor (SM), and which share of the SM's thread slots they fill.
 * Formula and limits: docs/reference/occupancy.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is recorded of a device and matters here: the names of its attributes
 * in the trace (device_attr.attr; bytes where they end in _bytes), and the
 * least value that makes sense.
 */
#define WS_DEVICE_FACT_LIST(X)                \
	X(compute_capability_major, 1)        \
	X(compute_capability_minor, 0)        \
	X(sm_count, 1)                        \
	X(max_threads_per_block, 1)           \
	X(max_threads_per_sm, 1)              \
	X(max_blocks_per_sm, 1)               \
	X(registers_per_block, 1)             \
	X(registers_per_sm, 1)                \
	X(shared_per_block_bytes, 1)          \
	X(shared_per_block_optin_bytes, 1)    \
	X(shared_reserved_per_block_bytes, 0) \
	X(shared_per_sm_bytes, 1)

/* -1 = not recorded */
struct ws_device_facts {
#define X(name, least) int64_t name;
	WS_DEVICE_FACT_LIST(X)
#undef X
};

void ws_device_facts_init(struct ws_device_facts *facts); /* nothing recorded */
/*
 * Note an attribute of the trace. 0 when its name is none of the list or its
 * value is absurd; it then counts as not recorded.
 */
bool ws_device_facts_set(struct ws_device_facts *facts, const char *attr, size_t len,
                         int64_t value);

/* What an SM offers. Numbers, and bytes where the name says so. */
struct ws_sm_limits {
	uint32_t major, minor; /* compute capability */
	uint32_t sm_count;
	uint32_t threads_per_block, threads_per_sm, blocks_per_sm;
	uint32_t registers_per_block, registers_per_sm, registers_per_thread;
	uint32_t sub_partitions;               /* that share out the registers */
	uint32_t shared_per_block_bytes;       /* without the kernel's asking for more */
	uint32_t shared_per_block_optin_bytes; /* with it */
	uint32_t shared_reserved_bytes;        /* taken by the driver from each block */
	uint32_t shared_per_sm_bytes;
	uint32_t shared_granularity_bytes;
};

/*
 * The limits of a compute capability, each replaced by what is recorded of the
 * device. 0 when the number of SMs is not recorded or the capability is not
 * one that this program knows: occupancy is then unknown, not 0.
 */
bool ws_sm_limits_from(const struct ws_device_facts *facts, struct ws_sm_limits *limits);

struct ws_launch_shape {
	uint64_t grid_x, grid_y, grid_z;    /* blocks */
	uint64_t block_x, block_y, block_z; /* threads */
	uint64_t registers;                 /* a thread; 0: not a limit */
	uint64_t shared_bytes;              /* a block, static and dynamic */
};

/* What the number of blocks on an SM stops at. NAME, bit, name */
#define WS_OCCUPANCY_LIMITER_LIST(X)  \
	X(WARPS, 1, "warps")          \
	X(REGISTERS, 2, "registers")  \
	X(SHARED, 4, "shared memory") \
	X(BLOCKS, 8, "blocks")

enum ws_occupancy_limiter {
#define X(NAME, bit, name) WS_OCCUPANCY_##NAME = (bit),
	WS_OCCUPANCY_LIMITER_LIST(X)
#undef X
};

struct ws_occupancy {
	double blocks_per_sm;   /* of the grid: its blocks over all SMs; not clamped, not rounded */
	double warps_per_sm;    /* threads of those blocks / 32, not rounded up to whole warps */
	uint32_t active_blocks; /* that fit on an SM at once */
	unsigned limiters;      /* bits of ws_occupancy_limiter: all that allow no more */
	double percent;         /* estimated achieved occupancy, 0..100 */
	/*
	 * The same as PyTorch's profiler (Kineto) computes it: in float, rounded,
	 * and 0 for a block of more than 48 KiB of shared memory, because it leaves
	 * out that kernels ask for more. For comparison with its traces.
	 */
	uint32_t kineto_active_blocks;
	uint32_t kineto_percent;
};

/*
 * 0 when it cannot be told: a size is 0 or absurd, or not one block fits, so
 * that the limits are not those of the device it ran on.
 */
bool ws_occupancy_estimate(const struct ws_sm_limits *limits, const struct ws_launch_shape *shape,
                           struct ws_occupancy *out);
