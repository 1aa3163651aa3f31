#include "kernels/backend.h"

#include <stdio.h>

enum ws_status ws_backend_open(const char *device, struct ws_pool *pool, uint64_t limit_bytes,
                               struct ws_backend **backend, char *why, size_t why_size,
                               struct ws_err *err)
{
	bool automatic = !strcmp(device, "auto");

	WS_FAIL_IF(!strcmp(device, "cuda"), err, ENVIRONMENT,
	           "--device cuda: this warpsheet-step has no CUDA backend; "
	           "use --device cpu for the CPU reference");
	WS_FAIL_IF(!automatic && strcmp(device, "cpu"), err, USAGE,
	           "--device %s: it is auto, cuda or cpu", device);
	WS_FORWARD(ws_backend_cpu_open(pool, limit_bytes, backend, err));
	snprintf(why, why_size, "device cpu (reference, %d threads): %s", ws_pool_threads(pool),
	         automatic ? "built without the CUDA backend" : "as asked");
	return WS_OK;
}

void ws_backend_close(struct ws_backend *backend)
{
	if (backend)
		backend->ops->close(backend);
}
