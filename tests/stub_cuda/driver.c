/* libcuda.so.1: see stub.h. A device that takes launches and does nothing. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/shared/cupti_abi.h"
#include "tests/recorder/cuda/fake_tool.h"
#include "tests/stub_cuda/stub.h"

#undef cuCtxSynchronize
#undef cuDevicePrimaryCtxRetain

#define NODES_MAX 4096

/* Launches of the one stream that is captured at a time, or their copies. */
struct CUgraph_st {
	struct fake_graph fake;
	uint64_t n;
	struct fake_node *nodes[NODES_MAX];
};
struct CUfunc_st {
	char name[256];
};

static struct CUgraph_st *captured;
static uint64_t launches;

CUresult cuInit(unsigned int flags)
{
	(void)flags;
	fake_tool();
	return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
	if (fake_tool()->asked_version)
		fake_tool()->asked_version();
	*version = 13000;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = getenv("WS_STUB_GPUS") ? (int)stub_setting("WS_STUB_GPUS") : 1;
	return *count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	int count;

	*device = ordinal;
	cuDeviceGetCount(&count);
	return ordinal < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	snprintf(name, (size_t)size, "Stub GPU %d", device);
	return CUDA_SUCCESS;
}

/* cuda.h calls it cuDeviceGetUuid_v2 */
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	memset(uuid, 0x55 + device, sizeof(*uuid));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 232448 : 0;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	static int only;

	(void)device;
	*context = (CUcontext)(void *)&only;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxSynchronize(void)
{
	if (fake_tool()->synchronized)
		fake_tool()->synchronized();
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	*total_bytes = STUB_MEMORY_BYTES;
	*free_bytes = STUB_MEMORY_BYTES / 2;
	return CUDA_SUCCESS;
}

/* --- code --- */

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	*module = (CUmodule)(uintptr_t)image; /* NOLINT: only its functions' names are asked for */
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	if (!module || !(*function = calloc(1, sizeof(**function))))
		return CUDA_ERROR_INVALID_VALUE;
	snprintf((*function)->name, sizeof((*function)->name), "%s", name);
	return CUDA_SUCCESS;
}

/* --- launching; also by the runtime's look-alike --- */

static void add_node(struct CUgraph_st *graph, const char *name, struct fake_node *original)
{
	static uint64_t nodes;
	struct fake_node *node = calloc(1, sizeof(*node));

	if (!node || graph->n == NODES_MAX)
		abort();
	*node = (struct fake_node){.id = ++nodes,
	                           .source = original ? original->id : 0,
	                           .name = name,
	                           .dur_ns = 1000};
	graph->nodes[graph->n++] = node;
	if (fake_tool()->node)
		fake_tool()->node(original ? WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED
		                           : WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
		                  &graph->fake, node, original);
}

void stub_driver_launch(const char *name, unsigned grid_x);
void stub_driver_launch(const char *name, unsigned grid_x)
{
	const struct fake_tool *tool = fake_tool();

	if (captured)
		add_node(captured, name, NULL);
	if (tool->launched)
		tool->launched(name, ++launches, grid_x);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void **params, void **extra)
{
	(void)shared_bytes, (void)stream, (void)params, (void)extra;
	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z ||
	    block_x * block_y * block_z > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	stub_driver_launch(function->name, grid_x);
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	(void)flags;
	*stream = calloc(1, 1);
	return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	(void)stream, (void)mode;
	if (captured)
		return CUDA_ERROR_NOT_SUPPORTED;
	captured = calloc(1, sizeof(*captured));
	if (fake_tool()->capture)
		fake_tool()->capture(1);
	return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	(void)stream;
	*graph = captured;
	captured = NULL;
	if (fake_tool()->capture)
		fake_tool()->capture(0);
	return *graph ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct CUgraph_st *copy = calloc(1, sizeof(*copy));

	(void)flags;
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint64_t i = 0; i < graph->n; i++)
		add_node(copy, graph->nodes[i]->name, graph->nodes[i]);
	*exec = (CUgraphExec)(void *)copy;
	return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct CUgraph_st *graph = (void *)exec;

	(void)stream;
	if (fake_tool()->replayed)
		fake_tool()->replayed(&graph->fake, graph->nodes, graph->n);
	return CUDA_SUCCESS;
}

/* --- buffers of a profiler in the program: torch.py registers them with CUPTI --- */

void stub_profiler_request(uint8_t **buffer, size_t *size, size_t *max_records);
void stub_profiler_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 1 << 20;
	*buffer = calloc(1, *size);
	*max_records = 0;
}

/* Of whoever had registered before it gets buffers, too: it frees none. */
void stub_profiler_complete(void);
void stub_profiler_complete(void)
{
}
