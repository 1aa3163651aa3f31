/*
 * libcuda.so.1 of a GPU that is only described (described_gpu.h): cuDNN compiles kernels for it and
 * finds that they load. There is no device, and nothing else works.
 */

enum { SUCCESS = 0, NO_DEVICE = 100 };

/* What makes a plan: the result through its first argument, where there is one. */
#define LOADS(X) X(cuLibraryLoadData) X(cuLibraryGetKernel)
#define ASKED(X) X(cuKernelGetAttribute) X(cuOccupancyMaxPotentialClusterSize)
#define TAKEN(X) X(cuLibraryUnload) X(cuKernelSetAttribute)
/* What cuDNN looks up besides. */
/* clang-format off */
#define REFUSED(X) \
	X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxGetLimit) X(cuCtxPopCurrent) \
	X(cuCtxPushCurrent) X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuDeviceGetCount) \
	X(cuDevicePrimaryCtxRelease) X(cuDevicePrimaryCtxReset) \
	X(cuDevicePrimaryCtxRetain) X(cuDriverGetVersion) X(cuFuncGetAttribute) \
	X(cuFuncSetAttribute) X(cuGetErrorName) X(cuGetErrorString) X(cuInit) \
	X(cuLaunchCooperativeKernel) X(cuLaunchKernel) X(cuLaunchKernelEx) \
	X(cuLibraryLoadFromFile) X(cuLinkAddData) X(cuLinkAddData_v2) \
	X(cuLinkAddFile_v2) X(cuLinkComplete) X(cuLinkCreate) X(cuLinkCreate_v2) \
	X(cuLinkDestroy) X(cuMemcpyDtoH_v2) X(cuModuleGetFunction) \
	X(cuModuleGetGlobal_v2) X(cuModuleLoadData) X(cuModuleLoadDataEx) \
	X(cuModuleLoadFatBinary) X(cuModuleUnload) \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuStreamGetCtx) \
	X(cuStreamSynchronize) X(cuTensorMapEncodeIm2col) X(cuTensorMapEncodeTiled)
/* clang-format on */

#define LOADS_X(name)             \
	int name(void **result);  \
	int name(void **result)   \
	{                         \
		*result = result; \
		return SUCCESS;   \
	}
#define ASKED_X(name)           \
	int name(int *result);  \
	int name(int *result)   \
	{                       \
		*result = 1;    \
		return SUCCESS; \
	}
#define TAKEN_X(name)           \
	int name(void);         \
	int name(void)          \
	{                       \
		return SUCCESS; \
	}
#define REFUSED_X(name)           \
	int name(void);           \
	int name(void)            \
	{                         \
		return NO_DEVICE; \
	}

LOADS(LOADS_X)
ASKED(ASKED_X)
TAKEN(TAKEN_X)
REFUSED(REFUSED_X)
