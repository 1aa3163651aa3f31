/* libcuda.so.1 for tests: see fake.h. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/record/cupti/fake.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static __typeof__(&fake_cupti_launched) launched;
static __typeof__(&fake_cupti_reset) reset;
static __typeof__(&fake_cupti_profiler) profiler;
static __typeof__(&fake_cupti_capture) capture;
static __typeof__(&fake_cupti_asked_version) asked_version;

/* As the driver does: the tool is loaded while cuInit runs. */
static void load_tool(void)
{
	const char *tool = getenv("CUDA_INJECTION64_PATH");
	const char *cupti_path = getenv("WARPSHEET_CUPTI_PATH");
	void *lib = tool ? dlopen(tool, RTLD_NOW | RTLD_LOCAL) : NULL, *cupti;
	__typeof__(&fake_cupti_context) context_created;
	int (*initialize)(void);

	if (lib) {
		*(void **)&initialize = dlsym(lib, "InitializeInjection");
		if (initialize)
			initialize();
	}
	cupti = cupti_path ? dlopen(cupti_path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
	if (!cupti)
		return;
	*(void **)&launched = dlsym(cupti, "fake_cupti_launched");
	*(void **)&reset = dlsym(cupti, "fake_cupti_reset");
	*(void **)&profiler = dlsym(cupti, "fake_cupti_profiler");
	*(void **)&capture = dlsym(cupti, "fake_cupti_capture");
	*(void **)&asked_version = dlsym(cupti, "fake_cupti_asked_version");
	*(void **)&context_created = dlsym(cupti, "fake_cupti_context");
	if (getenv("FAKE_CUDA_INIT_MS"))
		usleep((useconds_t)strtol(getenv("FAKE_CUDA_INIT_MS"), NULL, 10) * 1000);
	if (context_created)
		context_created();
}

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
	pthread_once(&once, load_tool);
	return (int)flags;
}

int cuLaunchKernel(const char *name, uint64_t node, unsigned grid);
int cuLaunchKernel(const char *name, uint64_t node, unsigned grid)
{
	if (launched)
		launched(name, node, grid);
	return 0;
}

int cuProfilerStart(void);
int cuProfilerStart(void)
{
	if (profiler)
		profiler(1);
	return 0;
}

int cuProfilerStop(void);
int cuProfilerStop(void)
{
	if (profiler)
		profiler(0);
	return 0;
}

int cuStreamBeginCapture_v2(void);
int cuStreamBeginCapture_v2(void)
{
	if (capture)
		capture(1);
	return 0;
}

int cuStreamEndCapture(void);
int cuStreamEndCapture(void)
{
	if (capture)
		capture(0);
	return 0;
}

int cudaDeviceReset(void);
int cudaDeviceReset(void)
{
	if (reset)
		reset();
	return 0;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
	if (asked_version)
		asked_version();
	*version = 13000;
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
	*value = attribute == 97 ? 232448 : attribute == 111 ? 1024 : 0;
	return device;
}
