/* What no activity record carries: versions, and limits that occupancy needs. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#include "recorder/collect/libraries.h"
#include "recorder/cupti/source.h"

/* What the driver calls an attribute, and the trace; some can be 0, of others it says "not told".
 */
static const struct {
	int attribute;
	const char *name;
	int64_t unit, minimum;
} attributes[] = {
#define A(number, NAME, name, unit, least) {number, #name, unit, least},
        WS_CUDA_ATTRIBUTE_LIST(A)
#undef A
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

/* Functions of the driver; what one lacks is not told. */
struct driver {
	int (*get_count)(int *count);
	int (*get_attribute)(int *value, int attribute, int device);
	int (*get_name)(char *name, int size, int device);
	int (*get_uuid)(uint8_t uuid[16], int device);
	int (*get_memory)(size_t *bytes, int device);
};

/* The number that eight bytes are, the first one on top: as a UUID is written. */
static int64_t half_of(const uint8_t *bytes)
{
	uint64_t half = 0;

	for (int i = 0; i < 8; i++)
		half = half << 8 | bytes[i];
	return (int64_t)half;
}

/* By what the driver calls it: CUPTI's record of a device need not come. */
static void define_device(const struct driver *driver, int device)
{
	uint8_t uuid[16];
	char name[256];
	size_t memory;

	if (driver->get_name && !driver->get_name(name, sizeof(name), device))
		ws_define_device((uint32_t)device, name);
	if (driver->get_uuid && !driver->get_uuid(uuid, device)) {
		ws_define_device_attr((uint32_t)device, "uuid_high", half_of(uuid));
		ws_define_device_attr((uint32_t)device, "uuid_low", half_of(uuid + 8));
	}
	if (driver->get_memory && !driver->get_memory(&memory, device) && memory <= INT64_MAX)
		ws_define_device_attr((uint32_t)device, "global_memory_bytes", (int64_t)memory);
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		int value = -1;

		if (!driver->get_attribute(&value, attributes[i].attribute, device) &&
		    value >= attributes[i].minimum)
			ws_define_device_attr((uint32_t)device, attributes[i].name,
			                      value * attributes[i].unit);
	}
}

static void define_devices(void *library)
{
	struct driver driver;
	int count = 0;

	*(void **)&driver.get_count = dlsym(library, "cuDeviceGetCount");
	*(void **)&driver.get_attribute = dlsym(library, "cuDeviceGetAttribute");
	*(void **)&driver.get_name = dlsym(library, "cuDeviceGetName");
	*(void **)&driver.get_uuid = dlsym(library, "cuDeviceGetUuid_v2");
	*(void **)&driver.get_memory = dlsym(library, "cuDeviceTotalMem_v2");
	if (!driver.get_count || !driver.get_attribute || driver.get_count(&count))
		return;
	for (int device = 0; device < count; device++)
		define_device(&driver, device);
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
	define_devices(driver);
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
