/*
 * NVIDIA's own libraries, as any program uses them: each that was found when
 * this was built is asked for a handle. Without a driver that fails, but they
 * tell NVTX all the same. Ends with 77 when none was found.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "tests/support/paths.h"

/* 1 when the library is there and was asked. */
static int create(const char *library, const char *function)
{
	int (*fn)(void **handle);
	void *handle = NULL, *lib = *library ? dlopen(library, RTLD_NOW) : NULL;

	if (!lib)
		return 0;
	*(void **)&fn = dlsym(lib, function);
	if (fn)
		printf("%s: %d\n", function, fn(&handle));
	return fn != NULL;
}

int main(void)
{
	int found = create(WS_CUBLAS, "cublasCreate_v2");

	found += create(WS_CUDNN, "cudnnCreate");
	return found ? 0 : 77;
}
