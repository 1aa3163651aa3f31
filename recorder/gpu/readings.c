#include "recorder/gpu/readings.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/xalloc.h"

#define NVML_CLOCK_SM     1
#define NVML_CLOCK_MEMORY 2
#define NVML_SENSOR_GPU   0
#define MAX_GPUS          64u

/* nvmlPciInfo_t, as nvmlDeviceGetPciInfo_v3 fills it. */
struct pci_info {
	char legacy_id[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char id[32];
};

/* X(function, parameters); all return 0 when they did it. */
#define NVML_LIST(X)                                                        \
	X(nvmlInit_v2, (void))                                              \
	X(nvmlSystemGetDriverVersion, (char *text, unsigned size))          \
	X(nvmlDeviceGetCount_v2, (unsigned *n))                             \
	X(nvmlDeviceGetHandleByIndex_v2, (unsigned i, void **gpu))          \
	X(nvmlDeviceGetName, (void *gpu, char *text, unsigned size))        \
	X(nvmlDeviceGetPciInfo_v3, (void *gpu, struct pci_info *info))      \
	X(nvmlDeviceGetEnforcedPowerLimit, (void *gpu, unsigned *mw))       \
	X(nvmlDeviceGetPowerUsage, (void *gpu, unsigned *mw))               \
	X(nvmlDeviceGetClockInfo, (void *gpu, int clock, unsigned *mhz))    \
	X(nvmlDeviceGetTemperature, (void *gpu, int sensor, unsigned *deg)) \
	X(nvmlDeviceGetCurrentClocksThrottleReasons, (void *gpu, unsigned long long *bits))

static struct {
	int tried;
	const char *absent; /* why there is nothing to ask; NULL: there is */
#define X(name, parameters) int(*name) parameters;
	NVML_LIST(X)
#undef X
} nvml;

/* Functions that an older library lacks stay NULL: their values are not read. */
static const char *load(void)
{
	void *lib = ws_xdlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return "none: NVML (libnvidia-ml.so.1) is not here";
#define X(name, parameters) *(void **)&nvml.name = dlsym(lib, #name);
	NVML_LIST(X)
#undef X
	if (!nvml.nvmlInit_v2 || !nvml.nvmlDeviceGetCount_v2 || !nvml.nvmlDeviceGetHandleByIndex_v2)
		return "none: NVML is too old";
	return nvml.nvmlInit_v2() ? "none: NVML does not start" : NULL;
}

/* --- rows --- */

/* One of GPU `gpu` and of this time, "" for what is always so. */
static void add(struct ws_drain *d, unsigned gpu, const char *when, const char *key,
                const char *value)
{
	char name[96];

	snprintf(name, sizeof(name), "gpu.%u.%s%s%s", gpu, when, *when ? "." : "", key);
	ws_drain_add_meta(d, name, "%s", value);
}

static void add_number(struct ws_drain *d, unsigned gpu, const char *when, const char *key,
                       unsigned long long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", value);
	add(d, gpu, when, key, text);
}

/* By the bits of nvmlClocksThrottleReason*. */
static void add_throttle(struct ws_drain *d, unsigned gpu, const char *when,
                         unsigned long long bits)
{
	static const char *const names[] = {
	        "gpu_idle",       "applications_clocks", "sw_power_cap",        "hw_slowdown",
	        "sync_boost",     "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake",
	        "display_clocks",
	};
	char text[256] = "none";
	size_t len = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (bits >> i & 1)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
			                        len ? "," : "", names[i]);
	if (bits >> (sizeof(names) / sizeof(*names)))
		snprintf(text + len, sizeof(text) - len, "%sother", len ? "," : "");
	add(d, gpu, when, "throttle", text);
}

/* 1 when NVML has the function and it gave its answer. */
#define NVML_TELLS(function, ...) (nvml.function && !nvml.function(__VA_ARGS__))

static void add_fixed(struct ws_drain *d, unsigned i, void *gpu)
{
	struct pci_info pci = {0};
	char name[96] = "";
	unsigned value;

	if (NVML_TELLS(nvmlDeviceGetName, gpu, name, sizeof(name)))
		add(d, i, "", "name", name);
	if (NVML_TELLS(nvmlDeviceGetPciInfo_v3, gpu, &pci))
		add_number(d, i, "", "pci_bus", pci.bus);
	if (NVML_TELLS(nvmlDeviceGetEnforcedPowerLimit, gpu, &value))
		add_number(d, i, "", "power_limit_mw", value);
}

static void add_readings(struct ws_drain *d, unsigned i, void *gpu, const char *when)
{
	unsigned long long bits;
	unsigned value;

	if (NVML_TELLS(nvmlDeviceGetClockInfo, gpu, NVML_CLOCK_SM, &value))
		add_number(d, i, when, "sm_clock_mhz", value);
	if (NVML_TELLS(nvmlDeviceGetClockInfo, gpu, NVML_CLOCK_MEMORY, &value))
		add_number(d, i, when, "memory_clock_mhz", value);
	if (NVML_TELLS(nvmlDeviceGetPowerUsage, gpu, &value))
		add_number(d, i, when, "power_mw", value);
	if (NVML_TELLS(nvmlDeviceGetTemperature, gpu, NVML_SENSOR_GPU, &value))
		add_number(d, i, when, "temperature_c", value);
	if (NVML_TELLS(nvmlDeviceGetCurrentClocksThrottleReasons, gpu, &bits))
		add_throttle(d, i, when, bits);
}

void ws_gpu_readings_add(struct ws_drain *d, const char *when, int is_first)
{
	char version[96] = "";
	unsigned n = 0;
	void *gpu;

	if (!nvml.tried) {
		nvml.tried = 1;
		nvml.absent = load();
	}
	if (nvml.absent) {
		if (is_first)
			ws_drain_add_meta(d, "gpu.readings", "%s", nvml.absent);
		return;
	}
	if (is_first && NVML_TELLS(nvmlSystemGetDriverVersion, version, sizeof(version)))
		ws_drain_add_meta(d, "gpu.driver_version", "%s", version);
	if (nvml.nvmlDeviceGetCount_v2(&n) || n > MAX_GPUS)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (nvml.nvmlDeviceGetHandleByIndex_v2(i, &gpu))
			continue;
		if (is_first)
			add_fixed(d, i, gpu);
		add_readings(d, i, gpu, when);
	}
}
