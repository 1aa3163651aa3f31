#include "kernels/exec/backend.h"

#include <stdio.h>

static enum ws_status open_cpu(const struct ws_backend_options *options, struct ws_pool *pool,
                               const char *reason, struct ws_backend **backend, char *why,
                               size_t why_size)
{
	*backend = ws_backend_cpu_open(pool, options->limit_bytes);
	snprintf(why, why_size, "device cpu (reference, %d threads): %s", ws_pool_threads(pool),
	         reason);
	return WS_OK;
}

enum ws_status ws_backend_open(const struct ws_backend_options *options, struct ws_pool *pool,
                               struct ws_backend **backend, char *why, size_t why_size,
                               struct ws_err *err)
{
	bool automatic = !strcmp(options->device, "auto");
	struct ws_err reason = {0};
	enum ws_status status;

	if (!strcmp(options->device, "cpu"))
		return open_cpu(options, pool, "as asked", backend, why, why_size);
	WS_FAIL_IF(!automatic && strcmp(options->device, "cuda"), err, USAGE,
	           "--device %s: it is auto, cuda or cpu", options->device);
	status = ws_backend_cuda_open(options, backend, &reason);
	if (status == WS_OK) {
		snprintf(why, why_size, "device cuda (%s; %s): %s", (*backend)->device,
		         (*backend)->libraries, automatic ? "a GPU answers" : "as asked");
		return WS_OK;
	}
	WS_FAIL_IF(status == WS_USAGE, err, USAGE, "%s", reason.text);
	WS_FAIL_IF(!automatic, err, ENVIRONMENT, "--device cuda: %s", reason.text);
	return open_cpu(options, pool, reason.text, backend, why, why_size);
}

void ws_backend_close(struct ws_backend *backend)
{
	if (backend)
		backend->ops->close(backend);
}
