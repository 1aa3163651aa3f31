/*
 * Estimated occupancy of a kernel launch: how many of its blocks fit on a
 * multiprocessor (SM), and which share of the SM's thread slots they fill.
 * Formula and limits: docs/reference/occupancy.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/*
 * Peak rates of devices, for arithmetic and memory, by product name. The table is data
 * (device_peaks.txt, shown in docs/reference/devices.md); a file of the user has precedence over
 * it, and measured values over both.
 */

/* NAME, name in files, factor to base units, base unit, meaning */
#define WS_PEAK_LIST(X)                                                       \
	X(FP32, fp32, 1e12, "FLOP/s", "fp32 without Tensor Cores")            \
	X(TF32, tf32, 1e12, "FLOP/s", "TF32 on Tensor Cores")                 \
	X(FP16, fp16, 1e12, "FLOP/s", "fp16 on Tensor Cores, summed in fp32") \
	X(BF16, bf16, 1e12, "FLOP/s", "bf16 on Tensor Cores, summed in fp32") \
	X(FP8, fp8, 1e12, "FLOP/s", "fp8 on Tensor Cores, summed in fp32")    \
	X(MEMORY, memory, 1e9, "bytes/s", "device memory")

enum ws_peak {
#define X(NAME, name, factor, unit, meaning) WS_PEAK_##NAME,
	WS_PEAK_LIST(X)
#undef X
	        WS_PEAK_COUNT
};

struct ws_device_peaks {
	double value[WS_PEAK_COUNT]; /* dense FLOP/s, bytes/s; 0 = unknown */
	unsigned measured;           /* bit 1 << WS_PEAK_…: measured, not from a data sheet */
	const char *pattern;         /* pattern and source of the row, owned by the table */
	const char *source;
	int from_user;
};

struct ws_peaks;

#define WS_PEAKS_MAX_BYTES (1u << 20) /* maximum size of a user's file */
#define WS_PEAKS_MAX_ROWS  4096u

/*
 * A table with the rows of user_rows (len bytes, NULL = none) followed by the built-in rows.
 * Returns USAGE, with the line and the error, for invalid rows. Free with ws_peaks_free.
 */
enum ws_status ws_peaks_new(const char *user_rows, size_t len, struct ws_peaks **out,
                            struct ws_err *err);
void ws_peaks_free(struct ws_peaks *peaks); /* NULL is legal */

/* Finds the first row that matches a product name (any bytes). False if none does. */
bool ws_peaks_find(const struct ws_peaks *peaks, const char *name, size_t len,
                   struct ws_device_peaks *out);

/* Row number `row`, to list the table. False after the last row. */
bool ws_peaks_row(const struct ws_peaks *peaks, size_t row, struct ws_device_peaks *out);

/*
 * Replaces a data sheet's value by a measured one, in the base unit. Ignores values that are not
 * finite and positive.
 */
void ws_device_peaks_measured(struct ws_device_peaks *peaks, enum ws_peak which, double value);

/* Length of the part of a row's source that is shown: without the formula that checks its
 * numbers. */
static inline int ws_peaks_source_len(const struct ws_device_peaks *peaks)
{
	const char *check = strstr(peaks->source, "; check ");

	return check ? (int)(check - peaks->source) : (int)strlen(peaks->source);
}

/* Does the table mark the row as not compared with its source? False for measured values. */
static inline bool ws_peaks_unconfirmed(const struct ws_device_peaks *peaks)
{
	return peaks->source && !peaks->from_user && !peaks->measured &&
	       strstr(peaks->source, "not compared");
}

const char *ws_peak_name(enum ws_peak which); /* "tf32" */

/* Is this the product name of an AMD device? False for an empty name. */
bool ws_device_name_is_amd(const char *name, size_t len);

/*
 * Recorded attributes of a device that occupancy needs: names in the trace (device_attr.attr; in
 * bytes if they end in _bytes), and the smallest plausible value.
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
 * Stores an attribute of the trace. Returns false if the list lacks its name or its value is
 * implausible; it then counts as not recorded.
 */
bool ws_device_facts_set(struct ws_device_facts *facts, const char *attr, size_t len,
                         int64_t value);

/* Resources of an SM. Counts, or bytes if the name ends in _bytes. */
struct ws_sm_limits {
	uint32_t major, minor; /* compute capability */
	uint32_t sm_count;
	uint32_t threads_per_block, threads_per_sm, blocks_per_sm;
	uint32_t registers_per_block, registers_per_sm, registers_per_thread;
	uint32_t sub_partitions;               /* partitions of the register file */
	uint32_t shared_per_block_bytes;       /* without opt-in */
	uint32_t shared_per_block_optin_bytes; /* with it */
	uint32_t shared_reserved_bytes;        /* reserved by the driver per block */
	uint32_t shared_per_sm_bytes;
	uint32_t shared_granularity_bytes;
};

/*
 * The limits of a compute capability, each replaced by the recorded attribute if there is one.
 * False if the number of SMs is not recorded or the capability is unknown to this program:
 * occupancy is then unknown, not 0.
 */
bool ws_sm_limits_from(const struct ws_device_facts *facts, struct ws_sm_limits *limits);

struct ws_launch_shape {
	uint64_t grid_x, grid_y, grid_z;    /* blocks */
	uint64_t block_x, block_y, block_z; /* threads */
	uint64_t registers;                 /* per thread; 0: not a limit */
	uint64_t shared_bytes;              /* per block, static and dynamic */
};

struct ws_occupancy {
	double blocks_per_sm;   /* of the grid: its blocks over all SMs; not clamped, not rounded */
	double warps_per_sm;    /* threads of those blocks / 32, not rounded up to whole warps */
	uint32_t active_blocks; /* blocks that fit on an SM at once */
	double percent;         /* estimated achieved occupancy, 0..100 */
	/*
	 * The same as PyTorch's profiler (Kineto) computes it: in float, rounded, and 0 for a block
	 * of more than 48 KiB of shared memory, because it ignores the opt-in limit. For comparison
	 * with its traces.
	 */
	uint32_t kineto_active_blocks;
	uint32_t kineto_percent;
};

/*
 * Returns false if it cannot be computed: a size is 0 or implausible, or not one block fits, so
 * that the limits are not those of the device that ran the kernel.
 */
bool ws_occupancy_estimate(const struct ws_sm_limits *limits, const struct ws_launch_shape *shape,
                           struct ws_occupancy *out);
