/*
 * A CUDA program that says itself what is to be recorded:
 *   victim_profiler COUNT [TIME]
 * It launches COUNT kernels outside, then four times COUNT kernels between
 * cuProfilerStart and cuProfilerStop and COUNT outside, and goes on for TIME ms. Launch i has the
 * number i + 1 as its graph node. The driver is the one of tests/recorder/cuda.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/recorder/cuda/fake.h"

static const char *const libraries[] = {"libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9",
                                        "libnccl.so.2"};

static fake_launch launch;
static long launched;

static void launches(long n)
{
	for (long i = 0; i < n; i++)
		launch("_Z4gemmPfS_i", (uint64_t)++launched, 1);
}

static void *symbol(void *lib, const char *name)
{
	void *found = lib ? dlsym(lib, name) : NULL;

	if (!found) {
		fprintf(stderr, "%s is missing\n", name);
		exit(99);
	}
	return found;
}

int main(int argc, char **argv)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	int (*start)(void), (*stop)(void);
	fake_init init;

	*(void **)&init = symbol(driver, "cuInit");
	*(void **)&launch = symbol(driver, "cuLaunchKernel");
	*(void **)&start = symbol(driver, "cuProfilerStart");
	*(void **)&stop = symbol(driver, "cuProfilerStop");
	init(0);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!dlopen(libraries[i], RTLD_NOW))
			fprintf(stderr, "%s\n", dlerror());
	launches(count);
	for (int i = 0; i < 4; i++) {
		/* the driver of the tests says when calls will have ended, and its clock is known
		 * to some microseconds on a busy machine */
		usleep(200);
		start();
		start(); /* twice is once */
		usleep(200);
		launches(count);
		usleep(200);
		stop();
		stop();
		usleep(200);
		launches(count);
	}
	if (argc > 2) /* in ms: time for what is asked now and then */
		usleep((useconds_t)strtol(argv[2], NULL, 10) * 1000);
	return 0;
}
