/* libcuda.so.1 for tests: see fake.h. */
#include "tests/recorder/cuda/fake_tool.h"

#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
	fake_tool();
	return (int)flags;
}

int cuLaunchKernel(const char *name, uint64_t node, unsigned grid);
int cuLaunchKernel(const char *name, uint64_t node, unsigned grid)
{
	if (fake_tool()->launched)
		fake_tool()->launched(name, node, grid);
	return 0;
}

int cuProfilerStart(void);
int cuProfilerStart(void)
{
	if (fake_tool()->profiler)
		fake_tool()->profiler(1);
	return 0;
}

int cuProfilerStop(void);
int cuProfilerStop(void)
{
	if (fake_tool()->profiler)
		fake_tool()->profiler(0);
	return 0;
}

int cuStreamBeginCapture_v2(void);
int cuStreamBeginCapture_v2(void)
{
	if (fake_tool()->capture)
		fake_tool()->capture(1);
	return 0;
}

int cuStreamEndCapture(void);
int cuStreamEndCapture(void)
{
	if (fake_tool()->capture)
		fake_tool()->capture(0);
	return 0;
}

int cudaDeviceReset(void);
int cudaDeviceReset(void)
{
	if (fake_tool()->reset)
		fake_tool()->reset();
	return 0;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
	if (fake_tool()->asked_version)
		fake_tool()->asked_version();
	*version = 13000;
	return 0;
}

int cuCtxSynchronize(void);
int cuCtxSynchronize(void)
{
	if (fake_tool()->synchronized)
		fake_tool()->synchronized();
	return 0;
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
	*count = 1;
	return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	const char *major = getenv("FAKE_CUDA_MAJOR");

	*value = attribute == 97    ? 232448
	         : attribute == 111 ? 1024
	         : attribute == 16  ? 132
	         : attribute == 50  ? 9
	         : attribute == 75  ? (int)strtol(major ? major : "0", NULL, 10)
	                            : 0;
	return device;
}

int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Fake H200");
	return device;
}

int cuDeviceGetUuid_v2(uint8_t uuid[16], int device);
int cuDeviceGetUuid_v2(uint8_t uuid[16], int device)
{
	for (int i = 0; i < 16; i++)
		uuid[i] = (uint8_t)(0xF0 + i);
	return device;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	*bytes = (size_t)141 << 30;
	return device;
}
