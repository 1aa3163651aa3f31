/*
 * Steps of work beside ranges and, where the tests' driver is found, launches, for
 * unrecorded_steps.py: launching_steps STEPS TURNS. For each line that it reads it makes STEPS
 * steps and writes a line. Last it prints of each step when it began, and what it took of the
 * clock's and the thread's processor time, in ns.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WSNVTX_HEADER_ONLY
#include "kernels/nvtx/warpsheet_nvtx.h"
#include "tests/recorder/cuda/fake.h"

#define LAUNCHES 200
#define FLOATS   16384 /* of a part of the work */

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	static float x[16][FLOATS];
	const long steps = argc == 3 ? strtol(argv[1], NULL, 10) : 0,
	           turns = steps ? strtol(argv[2], NULL, 10) : 0;
	int64_t(*took)[3] = calloc((size_t)(steps * turns) + 1, sizeof(*took)), (*t)[3] = took;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	fake_init init;
	fake_launch launch = NULL;

	if (driver) {
		*(void **)&init = dlsym(driver, "cuInit");
		*(void **)&launch = dlsym(driver, "cuLaunchKernel");
		init(0);
	}
	for (long turn = 0; turn < turns && getchar() != EOF; turn++) {
		for (long s = 0; s < steps; s++, t++) {
			wsnvtx_push("step");
			t[0][0] = now(CLOCK_MONOTONIC);
			t[0][2] = now(CLOCK_THREAD_CPUTIME_ID);
			for (int i = 0; i < LAUNCHES; i++) {
				float *part = x[i % 16];

				wsnvtx_push("part");
				for (int again = 0; again < 20; again++)
					for (int j = 0; j < FLOATS; j++)
						part[j] = part[j] * 0.99F + 1;
				if (launch)
					launch("_Z4gemmPfS_i", (uint64_t)i + 1, 1);
				wsnvtx_pop();
			}
			t[0][2] = now(CLOCK_THREAD_CPUTIME_ID) - t[0][2];
			t[0][1] = now(CLOCK_MONOTONIC) - t[0][0];
			wsnvtx_pop();
		}
		puts("");
		fflush(stdout);
	}
	for (int64_t(*of)[3] = took; of < t; of++)
		printf("%lld,%lld,%lld ", (long long)of[0][0], (long long)of[0][1],
		       (long long)of[0][2]);
	free(took);
	return x[1][1] < 0;
}
