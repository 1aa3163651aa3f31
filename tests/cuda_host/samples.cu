/*
 * Kernels that are right and wrong on purpose: what the emulator must let pass and
 * what it must find. Launched by test_emulation.c.
 */
#include "kernels/cuda/own/kernel.cuh"
#include "tests/cuda_host/samples.h"

/* Each thread writes where it is: x y z of block and thread, in the order of their numbers. */
static __global__ void sample_where(unsigned *out)
{
	unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	unsigned *at = out + 6 * (block * blockDim.x * blockDim.y * blockDim.z + thread);

	at[0] = blockIdx.x;
	at[1] = blockIdx.y;
	at[2] = blockIdx.z;
	at[3] = threadIdx.x;
	at[4] = threadIdx.y;
	at[5] = threadIdx.z;
}

/* The block's numbers in reverse, through shared memory. */
template <int BARRIERS> static __global__ void sample_reverse(float *x)
{
	__shared__ float tile[SAMPLE_THREADS];

	tile[threadIdx.x] = x[threadIdx.x];
	if (BARRIERS)
		__syncthreads();
	x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

/* The sum, maximum and first value of each warp, votes, and shuffles beyond the warp. */
static __global__ void sample_warp(float *x, unsigned *votes)
{
	float mine = x[threadIdx.x], down = __shfl_down_sync(WS_FULL, mine, 3);
	float first = __shfl_sync(WS_FULL, mine, 0), up = __shfl_up_sync(WS_FULL, mine, 1);
	float eighth = __shfl_xor_sync(WS_FULL, mine, 1, 8),
	      sum = ws_warp_reduce<WS_REDUCE_SUM>(mine);
	float most = ws_warp_reduce<WS_REDUCE_MAX>(mine);

	__syncwarp();
	votes[threadIdx.x] = __ballot_sync(WS_FULL, mine > 3.5f);
	x[threadIdx.x] = down + 100 * first + 10000 * up + 1e6f * eighth + sum + most;
}

/* The sum of a block, in every thread. */
static __global__ void sample_block_sum(float *x)
{
	x[threadIdx.x] = ws_block_reduce<WS_REDUCE_SUM>(x[threadIdx.x]);
}

/* What shared memory holds at first. */
static __global__ void sample_unset(unsigned *out)
{
	__shared__ unsigned fixed[4];
	WS_SHARED_DYNAMIC(unsigned, dynamic);

	out[2 * blockIdx.x] = fixed[1];
	out[2 * blockIdx.x + 1] = dynamic[2];
	fixed[1] = dynamic[2] = 7;
}

static __global__ void sample_leave_before_barrier(float *x)
{
	if (threadIdx.x == 5)
		return;
	__syncthreads();
	x[threadIdx.x] = 0;
}

static __global__ void sample_two_barriers(float *x)
{
	if (threadIdx.x < WS_WARP)
		__syncthreads();
	else
		__syncthreads();
	x[threadIdx.x] = 0;
}

static __global__ void sample_missing_lane(float *x)
{
	if (threadIdx.x % WS_WARP != 9)
		x[threadIdx.x] = __shfl_xor_sync(WS_FULL, x[threadIdx.x], 1);
}

static __global__ void sample_barrier_and_shuffle(float *x)
{
	if (threadIdx.x < 16)
		__syncthreads();
	x[threadIdx.x] = __shfl_xor_sync(WS_FULL, x[threadIdx.x], 1);
}

/* Half of a warp meets on its own; what lies outside of the mask is no number. */
static __global__ void sample_half(float *x)
{
	unsigned mask = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;

	x[threadIdx.x] = __shfl_xor_sync(mask, x[threadIdx.x], threadIdx.x == 3 ? 16 : 1);
}

static __global__ void sample_foreign_mask(float *x)
{
	x[threadIdx.x] = __shfl_xor_sync(2u, x[threadIdx.x], 0);
}

static __global__ void sample_shared_overrun(float *x, int at)
{
	__shared__ float tile[8];
	float *start = tile;

	start[at] = x[0];
	__syncthreads();
	x[1] = start[at];
}

static __global__ void sample_dynamic_overrun(float *x, int at)
{
	WS_SHARED_DYNAMIC(float, tile);

	tile[at] = x[0];
	__syncthreads();
	x[1] = tile[at];
}

static __global__ void sample_pack(float *x, int at)
{
	float pack[4];

	ws_load<float, 4>(x + at, pack);
	x[0] = pack[0] + pack[3];
}

static __global__ void sample_count(int *counter, int *last)
{
	int mine = atomicAdd(counter, 1);

	atomicMax(last, (int)threadIdx.x);
	if (mine == 0)
		last[1] = (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

static const struct ws_cuda_launch none = {};

enum ws_status ws_sample(enum ws_sample sample, void *data, int at, struct ws_err *err)
{
	float *x = (float *)data;
	unsigned *words = (unsigned *)data;

	switch (sample) {
	case WS_SAMPLE_WHERE:
		return WS_LAUNCH(&none, err, sample_where, dim3(3, 2, 2), dim3(4, 3, 2), 0, words);
	case WS_SAMPLE_REVERSE:
		return WS_LAUNCH(&none, err, sample_reverse<1>, 1, SAMPLE_THREADS, 0, x);
	case WS_SAMPLE_NO_BARRIER:
		return WS_LAUNCH(&none, err, sample_reverse<0>, 1, SAMPLE_THREADS, 0, x);
	case WS_SAMPLE_WARP:
		return WS_LAUNCH(&none, err, sample_warp, 1, 64, 0, x, words + 64);
	case WS_SAMPLE_BLOCK_SUM:
		return WS_LAUNCH(&none, err, sample_block_sum, 1, SAMPLE_THREADS, 0, x);
	case WS_SAMPLE_UNSET:
		return WS_LAUNCH(&none, err, sample_unset, 3, 1, 16, words);
	case WS_SAMPLE_LEAVE_BEFORE_BARRIER:
		return WS_LAUNCH(&none, err, sample_leave_before_barrier, 1, SAMPLE_THREADS, 0, x);
	case WS_SAMPLE_TWO_BARRIERS:
		return WS_LAUNCH(&none, err, sample_two_barriers, 1, SAMPLE_THREADS, 0, x);
	case WS_SAMPLE_MISSING_LANE:
		return WS_LAUNCH(&none, err, sample_missing_lane, 1, SAMPLE_THREADS, 0, x);
	case WS_SAMPLE_BARRIER_AND_SHUFFLE:
		return WS_LAUNCH(&none, err, sample_barrier_and_shuffle, 1, 32, 0, x);
	case WS_SAMPLE_HALF:
		return WS_LAUNCH(&none, err, sample_half, 1, 32, 0, x);
	case WS_SAMPLE_FOREIGN_MASK:
		return WS_LAUNCH(&none, err, sample_foreign_mask, 1, 32, 0, x);
	case WS_SAMPLE_PARTIAL_WARP:
		return WS_LAUNCH(&none, err, sample_block_sum, 1, 40, 0, x);
	case WS_SAMPLE_SHARED_OVERRUN:
		return WS_LAUNCH(&none, err, sample_shared_overrun, 1, 1, 0, x, at);
	case WS_SAMPLE_DYNAMIC_OVERRUN:
		return WS_LAUNCH(&none, err, sample_dynamic_overrun, 1, 1, 32, x, at);
	case WS_SAMPLE_PACK:
		return WS_LAUNCH(&none, err, sample_pack, 1, 1, 0, x, at);
	case WS_SAMPLE_COUNT:
		return WS_LAUNCH(&none, err, sample_count, 3, 32, 0, (int *)data, (int *)data + 1);
	case WS_SAMPLE_EMPTY_GRID:
		return WS_LAUNCH(&none, err, sample_block_sum, 0, 32, 0, x);
	case WS_SAMPLE_TALL_GRID:
		return WS_LAUNCH(&none, err, sample_block_sum, dim3(1, 65536), 32, 0, x);
	case WS_SAMPLE_LARGE_BLOCK:
		return WS_LAUNCH(&none, err, sample_block_sum, 1, 1056, 0, x);
	case WS_SAMPLE_MUCH_SHARED:
		return WS_LAUNCH(&none, err, sample_unset, 3, 1, (48 << 10) + 1, words);
	}
	return WS_FAIL(err, BUG, "no such sample");
}
