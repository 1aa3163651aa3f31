#include "kernels/exec/backend.h"

#include <stdio.h>

#ifndef WS_HAVE_CUDA /* in the place of kernels/cuda/ */
enum ws_status ws_backend_cuda_open(const struct ws_backend_options *options,
                                    struct ws_backend **backend, struct ws_err *err)
{
	(void)options;
	(void)backend;
	return WS_FAIL(err, ENVIRONMENT,
	               "built without the CUDA toolkit; build with "
	               "-DWARPSHEET_CUDA=ON, or use --device cpu");
}
#endif

enum ws_status ws_backend_open(const struct ws_backend_options *options, struct ws_pool *pool,
                               struct ws_backend **backend, char *why, size_t why_size,
                               struct ws_err *err)
{
	bool automatic = !strcmp(options->device, "auto"), cpu = !strcmp(options->device, "cpu");
	struct ws_err reason = {.text = "as asked"};
	enum ws_status status;

	WS_FAIL_IF(!automatic && !cpu && strcmp(options->device, "cuda"), err, USAGE,
	           "--device %s: it is auto, cuda or cpu", options->device);
	if (!cpu) {
		status = ws_backend_cuda_open(options, backend, &reason);
		if (status == WS_OK) {
			snprintf(why, why_size, "device cuda (%s; %s): %s", (*backend)->device,
			         (*backend)->libraries, automatic ? "a GPU answers" : "as asked");
			return WS_OK;
		}
		WS_FAIL_IF(status == WS_USAGE, err, USAGE, "%s", reason.text);
		WS_FAIL_IF(!automatic, err, ENVIRONMENT, "--device cuda: %s", reason.text);
	}
	*backend = ws_backend_cpu_open(pool, options->limit_bytes);
	snprintf(why, why_size, "device cpu (reference, %d threads): %s", ws_pool_threads(pool),
	         reason.text);
	return WS_OK;
}

void ws_backend_close(struct ws_backend *backend)
{
	if (backend)
		backend->ops->close(backend);
}
