#include "tests/recorder/cuda/fake_tool.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct fake_tool tool;

static void load(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	const char *cupti_path = getenv("WARPSHEET_CUPTI_PATH");
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *cupti;
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
	*(void **)&tool.launched = dlsym(cupti, "fake_cupti_launched");
	*(void **)&tool.node = dlsym(cupti, "fake_cupti_node");
	*(void **)&tool.replayed = dlsym(cupti, "fake_cupti_replayed");
	*(void **)&tool.reset = dlsym(cupti, "fake_cupti_reset");
	*(void **)&tool.profiler = dlsym(cupti, "fake_cupti_profiler");
	*(void **)&tool.capture = dlsym(cupti, "fake_cupti_capture");
	*(void **)&tool.asked_version = dlsym(cupti, "fake_cupti_asked_version");
	*(void **)&tool.synchronized = dlsym(cupti, "fake_cupti_synchronized");
	*(void **)&context_created = dlsym(cupti, "fake_cupti_context");
	if (getenv("FAKE_CUDA_INIT_MS"))
		usleep((useconds_t)strtol(getenv("FAKE_CUDA_INIT_MS"), NULL, 10) * 1000);
	if (context_created)
		context_created();
}

const struct fake_tool *fake_tool(void)
{
	pthread_once(&once, load);
	return &tool;
}
