/*
 * The least that a tool can do with CUPTI: hand out the same few buffers again and again, and look
 * at nothing. What remains of the cost of recording is CUPTI's own, here the fake's. With
 * NULL_TOOL_IDLE it wants no records.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BUFFERS    8
#define SIZE_BYTES (1 << 20)

static uint8_t *buffers[BUFFERS];
static _Atomic unsigned next;

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = buffers[atomic_fetch_add(&next, 1) % BUFFERS];
	*size = SIZE_BYTES;
	*max_records = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                     size_t valid_size)
{
	(void)context, (void)stream, (void)buffer, (void)size, (void)valid_size;
}

int InitializeInjection(void);
int InitializeInjection(void)
{
	void *lib = dlopen(getenv("WARPSHEET_CUPTI_PATH"), RTLD_NOW | RTLD_LOCAL);
	int (*register_callbacks)(void *request, void *complete), (*enable)(int kind);
	int (*enable_runtime)(uint32_t cbid, uint8_t on),
	        (*enable_driver)(uint32_t cbid, uint8_t on);

	for (int i = 0; i < BUFFERS; i++) {
		buffers[i] = malloc(SIZE_BYTES);
		memset(buffers[i], 0, SIZE_BYTES);
	}
	*(void **)&register_callbacks = dlsym(lib, "cuptiActivityRegisterCallbacks");
	*(void **)&enable = dlsym(lib, "cuptiActivityEnable");
	*(void **)&enable_runtime = dlsym(lib, "cuptiActivityEnableRuntimeApi");
	*(void **)&enable_driver = dlsym(lib, "cuptiActivityEnableDriverApi");
	register_callbacks((void *)request, (void *)complete);
	if (getenv("NULL_TOOL_IDLE"))
		return 1;
	enable(10);             /* concurrent kernels */
	enable_runtime(211, 1); /* cudaLaunchKernel */
	enable_driver(307, 1);  /* cuLaunchKernel */
	return 1;
}
