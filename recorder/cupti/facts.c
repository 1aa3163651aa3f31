/* What no activity record carries: versions, and limits that occupancy needs. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#include "recorder/collect/libraries.h"
#include "recorder/cupti/source.h"

/* CUdevice_attribute, and the attribute of the trace. Values of 0 mean "not told any more". */
struct device_attribute {
	int attribute;
	const char *name;
	int64_t unit;
};
static const struct device_attribute attributes[] = {
        {33, "pci_bus", 1}, /* tells the GPUs of a machine apart */
        {36, "memory_clock_hz", 1000},
        {37, "memory_bus_bits", 1},
        {97, "shared_per_block_optin_bytes", 1},
        {111, "shared_reserved_per_block_bytes", 1},
};

/* What a device's record says otherwise, where records have chosen fields and devices none. */
static const struct device_attribute attributes_of_record[] = {
        {75, "compute_capability_major", 1},
        {76, "compute_capability_minor", 1},
        {16, "sm_count", 1},
        {10, "warp_size", 1},
        {1, "max_threads_per_block", 1},
        {39, "max_threads_per_sm", 1},
        {106, "max_blocks_per_sm", 1},
        {12, "registers_per_block", 1},
        {82, "registers_per_sm", 1},
        {8, "shared_per_block_bytes", 1},
        {81, "shared_per_sm_bytes", 1},
        {38, "l2_cache_bytes", 1},
        {13, "core_clock_hz", 1000},
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

static void define_list(int (*get)(int *value, int attribute, int device), int device,
                        const struct device_attribute *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int value = 0;

		if (!get(&value, list[i].attribute, device) && value > 0)
			ws_define_device_attr((uint32_t)device, list[i].name, value * list[i].unit);
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
	for (int device = 0; device < count; device++) {
		define_list(get_attribute, device, attributes,
		            sizeof(attributes) / sizeof(*attributes));
		if (atomic_load(&ws_collector.seg->gpu.has_chosen))
			define_list(get_attribute, device, attributes_of_record,
			            sizeof(attributes_of_record) / sizeof(*attributes_of_record));
	}
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
