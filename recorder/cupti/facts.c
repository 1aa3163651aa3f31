/* What no activity record carries: versions, and limits that occupancy needs. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#include "recorder/collect/libraries.h"
#include "recorder/cupti/source.h"

/* CUdevice_attribute, and the attribute of the trace. Values of 0 mean "not told any more". */
static const struct {
	int attribute;
	const char *name;
	int64_t unit;
} attributes[] = {
        {33, "pci_bus", 1}, /* tells the GPUs of a machine apart */
        {36, "memory_clock_hz", 1000},
        {37, "memory_bus_bits", 1},
        {97, "shared_per_block_optin_bytes", 1},
        {111, "shared_reserved_per_block_bytes", 1},
};

/* The version that the library's function tells. */
static void define_version(const char *key, void *library, const char *function)
{
	int (*get_version)(int *version), version = 0;
	char text[32];

	*(void **)&get_version = dlsym(library, function);
	if (!get_version || get_version(&version) || !version)
		return;
	snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
	ws_define_fact(key, text);
}

static void define_device(int (*get)(int *value, int attribute, int device), int device)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		int value = 0;

		if (!get(&value, attributes[i].attribute, device) && value > 0)
			ws_define_device_attr((uint32_t)device, attributes[i].name,
			                      value * attributes[i].unit);
	}
}

static void define_limits(void *driver)
{
	int (*get_count)(int *count), (*get_attribute)(int *value, int attribute, int device);
	int count = 0;

	*(void **)&get_count = dlsym(driver, "cuDeviceGetCount");
	*(void **)&get_attribute = dlsym(driver, "cuDeviceGetAttribute");
	if (!get_count || !get_attribute || get_count(&count))
		return;
	for (int device = 0; device < count; device++)
		define_device(get_attribute, device);
}

static void define_runtime_version(void)
{
	char path[PATH_MAX];
	void *runtime;

	if (!ws_library_path(WS_CUDART, path, sizeof(path)))
		return;
	runtime = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (!runtime)
		return;
	define_version("cuda.runtime_version", runtime, "cudaRuntimeGetVersion");
	dlclose(runtime);
}

void ws_cupti_define_facts(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	define_runtime_version();
	if (!driver)
		return;
	define_version("cuda.driver_version", driver, "cuDriverGetVersion");
	define_limits(driver);
	dlclose(driver);
}

/* --- numbers of what has a name --- */

static bool may_be_asked(void)
{
	return atomic_load(&ws_collector.seg->gpu.state) == WS_GPU_ON &&
	       !atomic_load(&ws_cupti_is_final);
}

int64_t ws_cupti_context_number(uint64_t handle)
{
	uint32_t number;

	if (!may_be_asked() || !ws_cupti.GetContextId ||
	    ws_cupti.GetContextId((void *)(uintptr_t)handle, &number) != WS_CUPTI_OK)
		return -1;
	return number;
}

int64_t ws_cupti_stream_number(uint64_t handle)
{
	uint32_t number;

	if (!may_be_asked() || !ws_cupti.GetStreamIdEx ||
	    ws_cupti.GetStreamIdEx(NULL, (void *)(uintptr_t)handle, 0, &number) != WS_CUPTI_OK)
		return -1;
	return number;
}
