#include "tests/cuda_host/launch_check.h"

#include <inttypes.h>

#define GRID_X_MAX  0x7fffffffu
#define GRID_YZ_MAX 65535u
#define BLOCK_Z_MAX 64u
#define SHARED_MAX  (48u << 10) /* without opting in, which no kernel does */

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
	WS_FAIL_IF(launch->shared_bytes > SHARED_MAX, err, ENVIRONMENT,
	           "kernel %s was not launched: %" PRIu64 " bytes of shared memory, of at most %u",
	           launch->kernel, launch->shared_bytes, SHARED_MAX);
	return WS_OK;
}
