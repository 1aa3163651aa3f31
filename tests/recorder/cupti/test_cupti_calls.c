/* Which calls are recorded. What of all names that NVIDIA's CUPTI has: test_cupti_abi.c. */
#include <criterion/criterion.h>

#include "recorder/cupti/source.h"
#include "recorder/shared/cupti_abi.h"

#define RUNTIME WS_CUPTI_DOMAIN_RUNTIME
#define DRIVER  WS_CUPTI_DOMAIN_DRIVER

static void expect(uint32_t domain, const char *name, int by_default, int kernels_only)
{
	cr_expect_eq(ws_cupti_wants_call(domain, name, 0), by_default, "%s", name);
	cr_expect_eq(ws_cupti_wants_call(domain, name, 1), kernels_only, "%s, kernels only", name);
}

Test(cupti_calls, of_runtime_and_driver_those_that_launch_copy_wait_allocate_or_load)
{
	expect(RUNTIME, "cudaLaunchKernel_v7000", 1, 1);
	expect(RUNTIME, "cudaLaunchKernel_ptsz_v7000", 1, 1);
	expect(RUNTIME, "cudaLaunchKernelExC_v11060", 1, 1);
	expect(RUNTIME, "__cudaLaunchKernel_v13000", 1, 1);
	expect(RUNTIME, "cudaLaunchCooperativeKernel_v9000", 1, 1);
	expect(RUNTIME, "cudaGraphLaunch_v10000", 1, 1);
	expect(DRIVER, "cuLaunchKernel", 1, 1);
	expect(DRIVER, "cuLaunchKernelEx_ptsz", 1, 1);
	expect(DRIVER, "cuGraphLaunch", 1, 1);
	/* they say which launches make a graph and no work */
	expect(RUNTIME, "cudaStreamBeginCapture_v10000", 1, 1);
	expect(RUNTIME, "cudaStreamBeginCaptureToGraph_ptsz_v12030", 1, 1);
	expect(RUNTIME, "cudaStreamEndCapture_v10000", 1, 1);
	expect(DRIVER, "cuStreamBeginCapture_v2_ptsz", 1, 1);
	expect(DRIVER, "cuStreamEndCapture", 1, 1);
	expect(RUNTIME, "cudaMemcpyAsync_v3020", 1, 0);
	expect(RUNTIME, "cudaMemsetAsync_ptsz_v7000", 1, 0);
	expect(RUNTIME, "cudaMallocAsync_v11020", 1, 0);
	expect(RUNTIME, "cudaFree_v3020", 1, 0);
	expect(RUNTIME, "cudaStreamSynchronize_v3020", 1, 0);
	expect(RUNTIME, "cudaGraphInstantiateWithFlags_v11040", 1, 0);
	expect(RUNTIME, "cudaLibraryLoadData_v12060", 1, 0);
	/* JAX, Numba and others call the driver alone */
	expect(DRIVER, "cuMemcpyHtoDAsync_v2", 1, 0);
	expect(DRIVER, "cuMemsetD8Async", 1, 0);
	expect(DRIVER, "cuMemAlloc_v2", 1, 0);
	expect(DRIVER, "cuMemFreeAsync", 1, 0);
	expect(DRIVER, "cuStreamSynchronize", 1, 0);
	expect(DRIVER, "cuCtxSynchronize", 1, 0);
	expect(DRIVER, "cuModuleLoadDataEx", 1, 0);
	expect(DRIVER, "cuLibraryLoadData", 1, 0);
}

Test(cupti_calls, chatty_calls_and_others_are_not)
{
	expect(RUNTIME, "cudaGetDevice_v3020", 0, 0);
	expect(RUNTIME, "cudaSetDevice_v3020", 0, 0);
	expect(RUNTIME, "cudaGetLastError_v3020", 0, 0);
	expect(RUNTIME, "cudaEventRecord_v3020", 0, 0);
	expect(RUNTIME, "__cudaPushCallConfiguration_v13000", 0, 0);
	expect(RUNTIME, "cudaGraphAddKernelNode_v10000", 0, 0);
	expect(RUNTIME, "cudaStreamIsCapturing_v10000", 0, 0);
	expect(DRIVER, "cuCtxGetCurrent", 0, 0);
	expect(DRIVER, "cuKernelGetAttribute", 0, 0);
	expect(DRIVER, "cuMemGetInfo_v2", 0, 0);
	expect(DRIVER, "cuModuleGetFunction", 0, 0);
	expect(RUNTIME, "", 0, 0);
	expect(RUNTIME, "Launch", 0, 0);
}

Test(cupti_calls, launches_of_work_on_a_device_are_told_from_others)
{
	cr_expect(ws_cupti_is_launch("cuLaunchKernelEx_ptsz"));
	cr_expect(ws_cupti_is_launch("cuGraphLaunch"));
	cr_expect(ws_cupti_is_launch("cudaLaunchCooperativeKernel_v9000"));
	cr_expect(!ws_cupti_is_launch("cuLaunchHostFunc"));
	cr_expect(!ws_cupti_is_launch("cuStreamBeginCapture"));
	cr_expect(!ws_cupti_is_launch("Launch"));
}
