/*
 * A GPU on the host, for tests: the .cu files of kernels/cuda/ compiled with
 * cuda_host.h run here block by block, each thread of a block as a fiber with a
 * stack of its own, so that barriers, shuffles and what lies between them behave
 * as on a device. docs/dev/kernels.md says why, and what it cannot show.
 *
 * What is an error: a barrier that not all threads of the block reach, a shuffle
 * or vote that misses a lane of its mask, a launch that CUDA would refuse. Shared
 * memory holds 0xff bytes (NaN) when a block starts, so that a read before a write
 * shows. The order of threads and of blocks is chosen by the test: a kernel is
 * right when it yields the same bits in all of them.
 *
 * One launch at a time: not for several host threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ws_host_order {
	WS_HOST_ASCENDING,  /* of those that can run, the first goes on as far as it gets */
	WS_HOST_DESCENDING, /* the last */
	WS_HOST_SHUFFLED,   /* any, drawn anew whenever one waits */
	WS_HOST_ORDER_COUNT
};

/* What the emulated device is. All zero: the defaults. */
struct ws_host_device {
	enum ws_host_order threads, blocks;
	uint64_t seed; /* of SHUFFLED */
};
void ws_host_set_device(const struct ws_host_device *device);

struct ws_host_dim {
	unsigned x, y, z;
};

/* A launch as the emulator saw it. */
struct ws_host_launch {
	const char *kernel;
	struct ws_host_dim grid, block;
	uint64_t shared_bytes; /* dynamic */
};

/* Called at each launch that is not refused, before it runs. NULL: nobody. */
void ws_host_on_launch(void (*seen)(void *arg, const struct ws_host_launch *launch), void *arg);

/* --- what cuda_host.h is made of ------------------------------------------------------------ */

/*
 * Run entry(arg) once for each thread. ENVIRONMENT: CUDA would refuse the launch.
 * BUG: threads wait for what never comes; err names kernel, block, threads and places.
 */
enum ws_status ws_host_run(const struct ws_host_launch *launch, void (*entry)(const void *arg),
                           const void *arg, struct ws_err *err);
void *ws_host_shared(void); /* dynamic shared memory of the running block */

/* Where the running thread is; valid while a kernel runs. */
extern const struct ws_host_dim *ws_host_thread; /* threadIdx: changes with the fiber */
extern struct ws_host_dim ws_host_block, ws_host_block_dim, ws_host_grid_dim;

int ws_host_lane(void);
void ws_host_sync_threads(const char *file, int line);
/* Meet the lanes of mask; see from each the size_bytes ≤ 8 that it brought. from: the lane that
 * the caller reads. The value of a lane outside of mask is 0xff bytes. */
void ws_host_shuffle(unsigned mask, int from, const void *value, void *result, size_t size_bytes,
                     const char *file, int line);
/* Meet the lanes of mask; bit i of the result: lane i came with a value that is not 0. */
unsigned ws_host_ballot(unsigned mask, bool value, const char *file, int line);

#ifdef __cplusplus
}
#endif
