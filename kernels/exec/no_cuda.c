/* In the place of kernels/cuda/ where there is no toolkit. */
#include "kernels/exec/backend.h"

#ifndef WS_HAVE_CUDA
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
