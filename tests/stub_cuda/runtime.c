/* libcudart: see stub.h. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/stub_cuda/stub.h"

#undef cudaGetDeviceProperties
#undef cudaStreamBeginCapture

#define ALLOCATIONS 4096
#define FUNCTIONS   2048
/* Larger ones are not backed by memory until they are touched, which no-ops never do. */
#define LARGE_BYTES ((size_t)64 << 20)

/* --- the driver, as the real runtime finds it --- */

static struct {
	int is_there;
	int (*init)(unsigned flags), (*count)(int *count), (*version)(int *version);
	void (*launch)(const char *name, unsigned grid_x);
	int (*begin_capture)(void *stream, int mode), (*end_capture)(void *stream, void **graph);
	int (*instantiate)(void **exec, void *graph, unsigned long long flags);
	int (*graph_launch)(void *exec, void *stream);
} driver;

static void find_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib)
		return;
	*(void **)&driver.init = dlsym(lib, "cuInit");
	*(void **)&driver.count = dlsym(lib, "cuDeviceGetCount");
	*(void **)&driver.version = dlsym(lib, "cuDriverGetVersion");
	*(void **)&driver.launch = dlsym(lib, "stub_driver_launch");
	*(void **)&driver.begin_capture = dlsym(lib, "cuStreamBeginCapture_v2");
	*(void **)&driver.end_capture = dlsym(lib, "cuStreamEndCapture");
	*(void **)&driver.instantiate = dlsym(lib, "cuGraphInstantiateWithFlags");
	*(void **)&driver.graph_launch = dlsym(lib, "cuGraphLaunch");
	driver.is_there = driver.init && driver.launch && driver.graph_launch && !driver.init(0);
}

static int has_driver(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_driver);
	return driver.is_there;
}

/* --- the device --- */

cudaError_t cudaGetDeviceCount(int *count)
{
	if (!has_driver())
		return cudaErrorInsufficientDriver;
	return driver.count(count) ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
	int count;

	return cudaGetDeviceCount(&count) || device < 0 || device >= count ? cudaErrorInvalidDevice
	                                                                   : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	(void)device;
	memset(prop, 0, sizeof(*prop));
	snprintf(prop->name, sizeof(prop->name), "stub of an H100");
	prop->major = 9;
	prop->multiProcessorCount = STUB_SM_COUNT;
	prop->sharedMemPerBlockOptin = 232448;
	prop->totalGlobalMem = STUB_MEMORY_BYTES;
	return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
	*version = 0;
	if (has_driver())
		driver.version(version);
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = 13000;
	return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t error)
{
	return error ? "cudaErrorStub" : "cudaSuccess";
}

const char *cudaGetErrorString(cudaError_t error)
{
	return error == cudaErrorMemoryAllocation ? "out of memory"
	       : error                            ? "refused by the stub"
	                                          : "no error";
}

cudaError_t cudaGetLastError(void)
{
	return cudaSuccess;
}

/* --- memory --- */

static struct {
	void *data;
	size_t size;
} allocations[ALLOCATIONS];
static uint64_t allocated_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A place without memory; ALLOCATIONS: there is none. Called with the lock held. */
static int place_of(const void *data)
{
	int i = 0;

	while (i < ALLOCATIONS && allocations[i].data != data)
		i++;
	return i;
}

static void *map(size_t size)
{
	void *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return data == MAP_FAILED ? NULL : data;
}

cudaError_t cudaMalloc(void **data, size_t size)
{
	void *got = NULL;
	int i;

	if (!size)
		return cudaSuccess; /* and the pointer stays what it was: alpaka#1868, picongpu#1179
		                     */
	if (size > STUB_MEMORY_BYTES - allocated_bytes)
		return cudaErrorMemoryAllocation;
	if (size >= LARGE_BYTES)
		got = map(size);
	else if (posix_memalign(&got, 256, size))
		got = NULL;
	if (!got)
		return cudaErrorMemoryAllocation;
	pthread_mutex_lock(&lock);
	i = place_of(NULL);
	if (i == ALLOCATIONS)
		abort();
	allocations[i].data = got;
	allocations[i].size = size;
	allocated_bytes += size;
	pthread_mutex_unlock(&lock);
	stub_asked("cudaMalloc %zu", size);
	*data = got;
	return cudaSuccess;
}

cudaError_t cudaFree(void *data)
{
	size_t size;
	int i;

	if (!data)
		return cudaSuccess;
	pthread_mutex_lock(&lock);
	i = place_of(data);
	if (i == ALLOCATIONS) {
		pthread_mutex_unlock(&lock);
		return cudaErrorInvalidValue;
	}
	size = allocations[i].size;
	allocations[i].data = NULL;
	allocated_bytes -= size;
	pthread_mutex_unlock(&lock);
	if (size >= LARGE_BYTES)
		munmap(data, size);
	else
		free(data);
	return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	*total_bytes = STUB_MEMORY_BYTES;
	*free_bytes = STUB_MEMORY_BYTES - allocated_bytes;
	return cudaSuccess;
}

/* Do the bytes lie in one allocation of the device? */
static int is_device(const void *data, size_t size)
{
	int found = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < ALLOCATIONS && !found; i++)
		found = allocations[i].data && (const char *)data >= (char *)allocations[i].data &&
		        (const char *)data + size <=
		                (char *)allocations[i].data + allocations[i].size;
	pthread_mutex_unlock(&lock);
	return found;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
	(void)stream;
	if ((kind != cudaMemcpyDeviceToHost && !is_device(to, size)) ||
	    (kind != cudaMemcpyHostToDevice && !is_device(from, size)))
		return cudaErrorInvalidValue;
	/* what nothing was computed into need not be moved on the device */
	if (kind != cudaMemcpyDeviceToDevice || stub_setting("WS_STUB_COMPUTE"))
		memcpy(to, from, size);
	return cudaSuccess;
}

/* --- streams, events, graphs --- */

struct CUevent_st {
	struct timespec reached;
};

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	(void)flags;
	*stream = calloc(1, 1);
	return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	free(stream);
	return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	(void)stream;
	return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
	return has_driver() ? cudaSuccess : cudaErrorInsufficientDriver;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	(void)flags;
	*event = calloc(1, sizeof(**event));
	return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	(void)stream;
	clock_gettime(CLOCK_MONOTONIC, &event->reached);
	return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return event ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	*ms = (float)(end->reached.tv_sec - start->reached.tv_sec) * 1e3f +
	      (float)(end->reached.tv_nsec - start->reached.tv_nsec) * 1e-6f;
	return cudaSuccess;
}

/* A graph knows its launches by name: what is computed on the host cannot be replayed. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	if (stub_setting("WS_STUB_COMPUTE"))
		return cudaErrorNotSupported;
	return driver.begin_capture(stream, (int)mode) ? cudaErrorNotSupported : cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	return driver.end_capture(stream, (void **)graph) ? cudaErrorIllegalState : cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	return driver.instantiate((void **)exec, graph, flags) ? cudaErrorInvalidValue
	                                                       : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	return driver.graph_launch(exec, stream) ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	(void)graph; /* the executable graph is the same */
	return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	free(exec);
	return cudaSuccess;
}

/* --- launches of what nvcc compiled: its own interface, of host_runtime.h --- */

static struct {
	const void *host;
	const char *name;
} functions[FUNCTIONS];
static int nfunctions;

static __thread struct {
	dim3 grid, block;
	size_t shared_bytes;
	cudaStream_t stream;
} configuration;

void **__cudaRegisterFatBinary(void *binary);
void **__cudaRegisterFatBinary(void *binary)
{
	static void *handle;

	(void)binary;
	return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, dim3 *block, dim3 *grid, int *warp)
{
	(void)handle, (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid;
	(void)warp;
	if (nfunctions == FUNCTIONS)
		abort();
	functions[nfunctions].host = host;
	functions[nfunctions++].name = name;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     struct CUstream_st *stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     struct CUstream_st *stream)
{
	configuration.grid = grid;
	configuration.block = block;
	configuration.shared_bytes = shared_bytes;
	configuration.stream = stream;
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
	*grid = configuration.grid;
	*block = configuration.block;
	*shared_bytes = configuration.shared_bytes;
	memcpy(stream, &configuration.stream, sizeof(configuration.stream));
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	for (int i = 0; i < nfunctions; i++)
		if (functions[i].host == host) {
			*kernel = (cudaKernel_t)(uintptr_t)functions[i].name; /* NOLINT */
			return cudaSuccess;
		}
	return cudaErrorInvalidDeviceFunction;
}

/* What CUDA refuses, is refused. */
static cudaError_t launch(const char *name, dim3 grid, dim3 block, size_t shared_bytes)
{
	if (!has_driver())
		return cudaErrorInsufficientDriver;
	if (!grid.x || !grid.y || !grid.z || grid.y > 65535 || grid.z > 65535 || !block.x ||
	    !block.y || !block.z || block.x * block.y * block.z > 1024 || shared_bytes > 232448)
		return cudaErrorInvalidConfiguration;
	driver.launch(name, grid.x);
	return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared_bytes, cudaStream_t stream)
{
	(void)args;
	(void)stream;
	return launch((const char *)kernel, grid, block, shared_bytes);
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
	(void)function;
	return attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value > 232448
	               ? cudaErrorInvalidValue
	               : cudaSuccess;
}

/* --- what tests/gpu/launches.c uses --- */

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *options, void **values, unsigned int noptions,
                                enum cudaLibraryOption *loption, void **lvalues,
                                unsigned int nloptions)
{
	(void)options, (void)values, (void)noptions, (void)loption, (void)lvalues, (void)nloptions;
	*library = (cudaLibrary_t)(uintptr_t)code; /* NOLINT: only the kernel's name is asked for */
	return has_driver() ? cudaSuccess : cudaErrorInsufficientDriver;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
	(void)library;
	*kernel = (cudaKernel_t)(uintptr_t)strdup(name); /* NOLINT: as __cudaGetKernel() */
	return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args)
{
	(void)args;
	return launch(function, config->gridDim, config->blockDim, config->dynamicSmemBytes);
}
