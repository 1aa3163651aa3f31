/*
 * The same launches through NVIDIA's own calculator, which comes with the
 * toolkit as a header. Built only where the toolkit is.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <cuda_occupancy.h>
#include <limits.h>
#include <string.h>

#include "report/kernel_info/occupancy.h"

static cudaOccDeviceProp nvidia_device(const struct ws_sm_limits *l)
{
	cudaOccDeviceProp p;

	memset(&p, 0, sizeof(p));
	p.computeMajor = (int)l->major;
	p.computeMinor = (int)l->minor;
	p.maxThreadsPerBlock = (int)l->threads_per_block;
	p.maxThreadsPerMultiprocessor = (int)l->threads_per_sm;
	p.regsPerBlock = (int)l->registers_per_block;
	p.regsPerMultiprocessor = (int)l->registers_per_sm;
	p.warpSize = 32;
	p.numSms = (int)l->sm_count;
	p.sharedMemPerBlock = l->shared_per_block_bytes;
	p.sharedMemPerBlockOptin = l->shared_per_block_optin_bytes;
	p.reservedSharedMemPerBlock = l->shared_reserved_bytes;
	p.sharedMemPerMultiprocessor = l->shared_per_sm_bytes;
	return p;
}

/* Blocks on an SM, 0 where none fits or the calculator refuses the launch. */
static unsigned nvidia_blocks(const struct ws_sm_limits *l, const struct ws_launch_shape *s,
                              int optin)
{
	cudaOccDeviceProp p = nvidia_device(l);
	cudaOccFuncAttributes a;
	cudaOccDeviceState state;
	cudaOccResult r;

	memset(&a, 0, sizeof(a));
	memset(&state, 0, sizeof(state));
	state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
	a.maxThreadsPerBlock = INT_MAX;
	a.numRegs = (int)s->registers;
	a.partitionedGCConfig = PARTITIONED_GC_OFF;
	a.shmemLimitConfig = optin ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
	a.maxDynamicSharedSizeBytes = optin ? s->shared_bytes : 0;
	if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &state, (int)s->block_x,
	                                            s->shared_bytes) != CUDA_OCC_SUCCESS)
		return 0;
	return (unsigned)r.activeBlocksPerMultiprocessor;
}

static void compare(const struct ws_sm_limits *l, const struct ws_launch_shape *s)
{
	const unsigned optin = nvidia_blocks(l, s, 1);
	struct ws_occupancy o;

	cr_assert(eq(int, ws_occupancy_estimate(l, s, &o), optin != 0));
	if (!optin)
		return;
	cr_assert(eq(uint, o.active_blocks, optin));
	cr_assert(eq(uint, o.kineto_active_blocks, nvidia_blocks(l, s, 0)));
}

Test(occupancy_nvidia, blocks_are_those_of_nvidias_calculator)
{
	static const uint64_t registers[] = {0, 1, 24, 32, 33, 40, 48, 64, 96, 122, 168, 254, 255};
	static const uint64_t shared[] = {0,      1,      2048,   8191,   16384, 33000,
	                                  49152,  49153,  65536,  98304,  98305, 101376,
	                                  101377, 166912, 166913, 232448, 232449};
	unsigned capabilities = 0;

	for (int64_t cc = 50; cc < 130; cc++) {
		struct ws_device_facts f;
		struct ws_sm_limits l;

		ws_device_facts_init(&f);
		f.compute_capability_major = cc / 10;
		f.compute_capability_minor = cc % 10;
		f.sm_count = 1;
		if (!ws_sm_limits_from(&f, &l))
			continue;
		capabilities++;
		for (uint64_t threads = 1; threads <= 1024; threads += threads < 130 ? 3 : 31)
			for (size_t r = 0; r < sizeof(registers) / sizeof(*registers); r++)
				for (size_t b = 0; b < sizeof(shared) / sizeof(*shared); b++)
					compare(&l,
					        &(struct ws_launch_shape){1 << 20, 1, 1, threads, 1,
					                                  1, registers[r],
					                                  shared[b]});
	}
	cr_expect(eq(uint, capabilities, 21));
}
