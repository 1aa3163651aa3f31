#include "tests/cuda_host/launch_check.h"

#include <inttypes.h>
#include <string.h>

#define GRID_X_MAX     0x7fffffffu
#define GRID_YZ_MAX    65535u
#define BLOCK_Z_MAX    64u
#define SHARED_DEFAULT (48u << 10)
#define SHARED_LIMIT   (227u << 10)
#define OPT_INS_MAX    64

static struct {
	const char *kernel;
	uint64_t bytes;
} opted_in[OPT_INS_MAX];
static int opted_in_count;
static uint64_t limit_bytes = SHARED_LIMIT; /* to opt in to */

void ws_host_limit_shared(uint64_t size_bytes)
{
	limit_bytes = size_bytes ? size_bytes : SHARED_LIMIT;
}

enum ws_status ws_host_opt_in(const char *kernel, uint64_t shared_bytes, struct ws_err *err)
{
	int at = 0;

	WS_FAIL_IF(shared_bytes > limit_bytes, err, ENVIRONMENT,
	           "kernel %s: its shared memory was refused: %" PRIu64 " bytes of %" PRIu64,
	           kernel, shared_bytes, limit_bytes);
	while (at < opted_in_count && strcmp(opted_in[at].kernel, kernel) != 0)
		at++;
	WS_FAIL_IF(at == OPT_INS_MAX, err, BUG, "more than %d kernels opted in", OPT_INS_MAX);
	if (at == opted_in_count)
		opted_in_count++;
	opted_in[at].kernel = kernel;
	opted_in[at].bytes = shared_bytes;
	return WS_OK;
}

static uint64_t shared_allowed(const char *kernel)
{
	for (int i = 0; i < opted_in_count; i++)
		if (!strcmp(opted_in[i].kernel, kernel))
			return opted_in[i].bytes > SHARED_DEFAULT ? opted_in[i].bytes
			                                          : SHARED_DEFAULT;
	return SHARED_DEFAULT;
}

enum ws_status ws_host_check_launch(const struct ws_host_launch *launch, struct ws_err *err)
{
	const struct ws_host_dim grid = launch->grid, block = launch->block;

	WS_FAIL_IF(!grid.x || !grid.y || !grid.z || grid.x > GRID_X_MAX || grid.y > GRID_YZ_MAX ||
	                   grid.z > GRID_YZ_MAX,
	           err, ENVIRONMENT, "kernel %s was not launched: a grid of %u × %u × %u",
	           launch->kernel, grid.x, grid.y, grid.z);
	WS_FAIL_IF(!block.x || !block.y || !block.z || block.x > WS_HOST_THREADS_MAX ||
	                   block.y > WS_HOST_THREADS_MAX || block.z > BLOCK_Z_MAX ||
	                   block.x * block.y * block.z > WS_HOST_THREADS_MAX,
	           err, ENVIRONMENT, "kernel %s was not launched: blocks of %u × %u × %u threads",
	           launch->kernel, block.x, block.y, block.z);
	WS_FAIL_IF(launch->shared_bytes > shared_allowed(launch->kernel), err, ENVIRONMENT,
	           "kernel %s was not launched: %" PRIu64 " bytes of shared memory, %" PRIu64
	           " without or after opting in",
	           launch->kernel, launch->shared_bytes, shared_allowed(launch->kernel));
	return WS_OK;
}
