/* libnvidia-ml.so.1 for tests: two GPUs, of which the second tells little. With FAKE_NVML_ENERGY=N
 * the second is device 0 of fake_cuda.c: its energy rises by 500 mJ a call, the first N calls of it
 * succeed, and the first GPU tells other values. With FAKE_NVML_HANG it never returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pci_info {
	char legacy_id[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char id[32];
};

static int gpus[2];
static unsigned locked[2]; /* MHz; 0: free */

static int result(void *gpu)
{
	return gpu == &gpus[0] || getenv("FAKE_NVML_ENERGY") ? 0 : 3;
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
	return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	snprintf(text, size, "580.65.06");
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **gpu);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **gpu)
{
	*gpu = &gpus[i];
	return 0;
}

int nvmlDeviceGetName(void *gpu, char *text, unsigned size);
int nvmlDeviceGetName(void *gpu, char *text, unsigned size)
{
	snprintf(text, size, gpu == &gpus[0] ? "NVIDIA H200" : "NVIDIA other");
	return 0;
}

int nvmlDeviceGetPciInfo_v3(void *gpu, struct pci_info *info);
int nvmlDeviceGetPciInfo_v3(void *gpu, struct pci_info *info)
{
	memset(info, 0, sizeof(*info));
	info->bus = gpu == &gpus[0] ? 0x1b : 0;
	info->domain = 9;
	return result(gpu);
}

int nvmlDeviceGetPowerUsage(void *gpu, unsigned *mw);
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *mw)
{
	*mw = gpu == &gpus[0] ? 123456 : 250000;
	return result(gpu);
}

int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *mj);
int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *mj)
{
	static int ncalls;
	const char *most = getenv("FAKE_NVML_ENERGY");

	if (getenv("FAKE_NVML_HANG"))
		pause();
	*mj = gpu == &gpus[0] ? 1 : 1000000 + 500 * (unsigned)ncalls++;
	return most && ncalls > strtol(most, NULL, 10) ? 15 : result(gpu);
}

int nvmlDeviceGetClockInfo(void *gpu, int clock, unsigned *mhz);
int nvmlDeviceGetClockInfo(void *gpu, int clock, unsigned *mhz)
{
	*mhz = clock != 1 ? 3201 : locked[0] ? locked[0] : 1980;
	return result(gpu);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *bits);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *bits)
{
	*bits = gpu == &gpus[0] ? 0x4 | 0x40 | 0x10000 : 0;
	return 0;
}

/* FAKE_NVML_LOCK: the result of locking; 4: not permitted. */
int nvmlDeviceGetDefaultApplicationsClock(void *gpu, int clock, unsigned *mhz);
int nvmlDeviceGetDefaultApplicationsClock(void *gpu, int clock, unsigned *mhz)
{
	(void)gpu, (void)clock;
	*mhz = 1410;
	return 0;
}

int nvmlDeviceSetGpuLockedClocks(void *gpu, unsigned least, unsigned most);
int nvmlDeviceSetGpuLockedClocks(void *gpu, unsigned least, unsigned most)
{
	const char *result = getenv("FAKE_NVML_LOCK");

	if (least != most)
		return 2;
	if (!result || gpu == &gpus[0])
		locked[gpu == &gpus[1]] = most;
	return result && gpu == &gpus[1] ? (int)strtol(result, NULL, 10) : 0;
}

int nvmlDeviceResetGpuLockedClocks(void *gpu);
int nvmlDeviceResetGpuLockedClocks(void *gpu)
{
	locked[gpu == &gpus[1]] = 0;
	fprintf(stderr, "fake NVML: the clocks of GPU %d are free\n", gpu == &gpus[1]);
	return 0;
}
