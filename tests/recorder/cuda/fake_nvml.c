/* libnvidia-ml.so.1 for tests: two GPUs, of which the second tells little. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pci_info {
	char legacy_id[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char id[32];
};

static int gpus[2];
static unsigned locked[2]; /* MHz; 0: free */

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
	info->bus = 0x1b;
	return gpu == &gpus[0] ? 0 : 3;
}

int nvmlDeviceGetPowerUsage(void *gpu, unsigned *mw);
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *mw)
{
	*mw = 123456;
	return gpu == &gpus[0] ? 0 : 3;
}

int nvmlDeviceGetClockInfo(void *gpu, int clock, unsigned *mhz);
int nvmlDeviceGetClockInfo(void *gpu, int clock, unsigned *mhz)
{
	*mhz = clock != 1 ? 3201 : locked[0] ? locked[0] : 1980;
	return gpu == &gpus[0] ? 0 : 3;
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
