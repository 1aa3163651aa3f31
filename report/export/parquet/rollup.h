/*
 * Roll-ups: a trace as sums that can be added to those of other traces. One
 * row for each step, launch configuration and NVTX path, and the times of its
 * kernels as count, sums, extrema and histogram. docs/reference/parquet.md has the
 * columns, docs/reference/at-scale.md how to merge them.
 */
#pragma once

#include "report/export/parquet/parquet.h"

/*
 * Write rollup.parquet and rollup_histogram.parquet into the folder. CORRUPT when a sum of squares
 * leaves its 64 bits: a kernel of over 2.3 days.
 */
enum ws_status ws_rollup_export(const struct ws_model *m, struct ws_joined_rows *rows,
                                const struct ws_export_job *job, struct ws_err *err);

/*
 * The histogram's buckets are as in HdrHistogram: times below 128 ns have one
 * each; each octave above is cut into 128 of equal width, so a bucket is at
 * most 1/128 of its times wide. Times of 0 to 2^63 - 1 ns fall into buckets 0
 * to WS_ROLLUP_BUCKETS - 1.
 */
#define WS_ROLLUP_BUCKETS 7296u
uint32_t ws_rollup_bucket(uint64_t dur_ns);
/* The least time of a bucket; of WS_ROLLUP_BUCKETS: 2^63. */
uint64_t ws_rollup_bucket_from(uint32_t bucket);
